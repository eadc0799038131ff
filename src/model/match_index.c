/*
 * match_index.c - selects the expressions that may match.
 *
 * A group has the needs of one field and part: the whole value, its first n bytes, or its last n
 * bytes. An event is looked up once in each group. The table has hashes only: a collision selects
 * an expression too many, which does no harm.
 */
#include "model/match_index.h"

#include "model/limits.h"
#include "model/match_inner.h"

#include <assert.h>

#define GROUPS_MAX 32 /* look-ups per event; an expression that needs another is always selected */

struct group {
    const struct fa_path *path;
    enum fa_match_part part;
    size_t len;     /* of the beginning or the end */
    size_t len_max; /* of whole texts: longer ones are not looked up */
    uint64_t *all;  /* the expressions with a need in this group */
};

struct entry {
    uint32_t hash;
    uint32_t which;           /* expression */
    const struct entry *next; /* in its bucket */
};

struct fa_match_index {
    size_t count;
    size_t size_max; /* of data: with more, running might be refused (I1) */
    struct group groups[GROUPS_MAX];
    size_t group_count;
    uint64_t *always; /* the expressions without a need */
    struct entry *entries;
    size_t entry_count;
    const struct entry **buckets;
    size_t bucket_count; /* a power of two */
};

static uint32_t mix(uint32_t hash, size_t group)
{
    hash ^= (uint32_t)(group + 1) * UINT32_C(0x9e3779b1);
    return hash ^ hash >> 15;
}

static uint32_t hash_text(size_t group, struct fa_bytes text)
{
    return mix(fa_json_chars_hash(fa_json_chars_plain(text)), group);
}

static uint32_t hash_number(size_t group, int64_t number)
{
    return mix((uint32_t)((uint64_t)number * UINT64_C(0x9e3779b97f4a7c15) >> 32), group);
}

static void set_bit(uint64_t *bits, size_t which)
{
    bits[which / 64] |= UINT64_C(1) << which % 64;
}

/* ------------------------------------------------------------------------------------------
 * Making
 */

static bool is_same_path(const struct fa_path *a, const struct fa_path *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        const struct fa_path_step *x = &a->steps[i], *y = &b->steps[i];

        if (x->is_index != y->is_index ||
            (x->is_index ? x->index != y->index : !fa_bytes_equal(x->name, y->name)))
            return false;
    }
    return true;
}

/* The group of a need; GROUPS_MAX when there is no room for another. */
static size_t find_group(struct fa_match_index *index, const struct fa_match_need *need,
                         struct fa_arena *arena)
{
    size_t len = need->part == FA_MATCH_WHOLE ? 0 : need->text.len, i;

    for (i = 0; i < index->group_count; i++) {
        const struct group *group = &index->groups[i];

        if (group->part == need->part && group->len == len && is_same_path(group->path, need->path))
            return i;
    }
    if (i < GROUPS_MAX)
        index->groups[index->group_count++] = (struct group){
            .path = need->path,
            .part = need->part,
            .len = len,
            .all = fa_arena_zero(arena, FA_MATCH_WORDS(index->count), sizeof(uint64_t))};
    return i;
}

/* False: it has no need, or one that doesn't fit. */
static bool add_needs(struct fa_match_index *index, const struct fa_match *match, size_t which,
                      struct fa_arena *arena)
{
    size_t first = index->entry_count;

    for (size_t i = 0; match && i < match->need_count; i++) {
        const struct fa_match_need *need = &match->needs[i];
        size_t group = find_group(index, need, arena);
        struct entry *entry = &index->entries[index->entry_count];

        if (group == GROUPS_MAX) {
            index->entry_count = first;
            return false;
        }
        if (need->text.len > index->groups[group].len_max)
            index->groups[group].len_max = need->text.len;
        set_bit(index->groups[group].all, which);
        index->entry_count++;
        *entry = (struct entry){.which = (uint32_t)which,
                                .hash = need->is_number ? hash_number(group, need->number)
                                                        : hash_text(group, need->text)};
    }
    return index->entry_count > first;
}

static void fill_buckets(struct fa_match_index *index, struct fa_arena *arena)
{
    index->bucket_count = 16;
    while (index->bucket_count < index->entry_count * 2)
        index->bucket_count *= 2;
    index->buckets = fa_arena_zero(arena, index->bucket_count, sizeof(struct entry *));
    for (size_t i = 0; i < index->entry_count; i++) {
        struct entry *entry = &index->entries[i];
        const struct entry **bucket = &index->buckets[entry->hash & (index->bucket_count - 1)];

        entry->next = *bucket;
        *bucket = entry;
    }
}

const struct fa_match_index *fa_match_index_make(const struct fa_match *const *matches,
                                                 size_t count, struct fa_arena *arena)
{
    struct fa_match_index *index = fa_arena_zero(arena, 1, sizeof(*index));
    size_t needs = 0, weight_max = 1;

    assert(count <= UINT32_MAX);
    for (size_t i = 0; i < count; i++) {
        needs += matches[i] ? matches[i]->need_count : 0;
        if (matches[i] && matches[i]->weight > weight_max)
            weight_max = matches[i]->weight;
    }
    index->count = count;
    index->size_max = FA_MATCH_STEPS_MAX / weight_max - 3;
    index->always = fa_arena_zero(arena, FA_MATCH_WORDS(count) + 1, sizeof(uint64_t));
    index->entries = fa_arena_zero(arena, needs + 1, sizeof(*index->entries));
    for (size_t i = 0; i < count; i++)
        if (!add_needs(index, matches[i], i, arena))
            set_bit(index->always, i);
    fill_buckets(index, arena);
    return index;
}

/* ------------------------------------------------------------------------------------------
 * Selecting
 */

static void select_hash(const struct fa_match_index *index, uint32_t hash, uint64_t *out)
{
    const struct entry *entry = index->buckets[hash & (index->bucket_count - 1)];

    for (; entry; entry = entry->next)
        if (entry->hash == hash)
            set_bit(out, entry->which);
}

/* The value has several spellings, so its hash can't be looked up. */
static void select_group(const struct fa_match_index *index, const struct group *group,
                         uint64_t *out)
{
    for (size_t i = 0; i < FA_MATCH_WORDS(index->count); i++)
        out[i] |= group->all[i];
}

static void select_text(const struct fa_match_index *index, size_t number, struct fa_bytes text,
                        uint64_t *out)
{
    const struct group *group = &index->groups[number];

    if (group->part == FA_MATCH_WHOLE ? text.len > group->len_max : text.len < group->len)
        return;
    if (group->part == FA_MATCH_END)
        text.ptr += text.len - group->len;
    if (group->part != FA_MATCH_WHOLE)
        text.len = group->len;
    select_hash(index, hash_text(number, text), out);
}

static void select_value(const struct fa_match_index *index, size_t number,
                         const struct fa_match_operand *value, uint64_t *out)
{
    int64_t integer;

    if (value->value.type == FA_JSON_NUMBER) {
        if (fa_json_int(value->value, &integer))
            select_hash(index, hash_number(number, integer), out);
        else
            select_group(index, &index->groups[number], out);
    } else if (value->value.type == FA_JSON_STRING) {
        if (value->text.has_escapes)
            select_group(index, &index->groups[number], out);
        else
            select_text(index, number, value->text.bytes, out);
    }
}

void fa_match_index_select(const struct fa_match_index *index, const struct fa_match_data *data,
                           uint64_t *out)
{
    size_t words = FA_MATCH_WORDS(index->count);

    if (data->root.raw.len > index->size_max) {
        memset(out, 0xff, words * sizeof(*out));
        if (index->count % 64 != 0)
            out[words - 1] = (UINT64_C(1) << index->count % 64) - 1;
        return;
    }
    memcpy(out, index->always, words * sizeof(*out));
    for (size_t i = 0; i < index->group_count; i++) {
        struct fa_match_operand scratch;

        select_value(index, i, fa_match_find(data, index->groups[i].path, &scratch), out);
    }
}
