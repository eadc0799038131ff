/* merge.c - see merge.h. */
#include "json/merge.h"

#include <stdlib.h>
#include <string.h>

struct member {
    const char *key;
    struct fa_json value;
};

struct members {
    struct member *items;
    size_t count;
};

struct merge {
    struct fa_json_writer writer;
    struct fa_arena scratch;
    bool keeps_nulls;
};

static int by_key(const void *a, const void *b)
{
    return strcmp(((const struct member *)a)->key, ((const struct member *)b)->key);
}

static struct members read_members(struct merge *merge, struct fa_json object)
{
    struct fa_json_iter it = fa_json_iter(object);
    struct members list = {0};
    struct fa_json value;
    struct fa_bytes key;
    size_t size = 0;

    while (fa_json_next(&it, &key, &value)) {
        list.items =
            fa_arena_grow(&merge->scratch, list.items, list.count, &size, sizeof(*list.items));
        list.items[list.count++] = (struct member){fa_json_unescape(key, &merge->scratch), value};
    }
    return list;
}

static void put_raw(struct merge *merge, struct fa_json value)
{
    fa_json_put_raw(&merge->writer, fa_arena_copy(&merge->scratch, value.raw.ptr, value.raw.len));
}

/* Writes the target with the patch applied. The depth of both is limited by fa_json_check. */
static void put_merged(struct merge *merge, struct fa_json target, struct fa_json patch)
{
    struct members old = {0}, new;

    if (patch.type != FA_JSON_OBJECT) {
        put_raw(merge, patch);
        return;
    }
    if (target.type == FA_JSON_OBJECT)
        old = read_members(merge, target);
    new = read_members(merge, patch);
    if (new.count > 0)
        qsort(new.items, new.count, sizeof(*new.items), by_key);
    fa_json_begin_object(&merge->writer);
    for (size_t i = 0; i < old.count; i++) {
        const struct member *change =
            new.count > 0 ? bsearch(&old.items[i], new.items, new.count, sizeof(*new.items), by_key)
                          : NULL;

        if (change == NULL) {
            fa_json_key(&merge->writer, old.items[i].key);
            put_raw(merge, old.items[i].value);
        } else if (change->value.type != FA_JSON_NULL || merge->keeps_nulls) {
            fa_json_key(&merge->writer, old.items[i].key);
            put_merged(merge, old.items[i].value, change->value);
        }
    }
    if (old.count > 0)
        qsort(old.items, old.count, sizeof(*old.items), by_key);
    for (size_t i = 0; i < new.count; i++) {
        if ((new.items[i].value.type == FA_JSON_NULL && !merge->keeps_nulls) ||
            (old.count > 0 &&
             bsearch(&new.items[i], old.items, old.count, sizeof(*old.items), by_key) != NULL))
            continue;
        fa_json_key(&merge->writer, new.items[i].key);
        put_merged(merge, (struct fa_json){.type = FA_JSON_NULL}, new.items[i].value);
    }
    fa_json_end_object(&merge->writer);
}

static const char *merge_texts(const char *target, const char *patch, bool keeps_nulls,
                               struct fa_arena *arena)
{
    struct merge merge = {.keeps_nulls = keeps_nulls};
    struct fa_buf out;
    const char *text;

    fa_buf_init(&out, SIZE_MAX / 2);
    fa_json_writer_init(&merge.writer, &out, 0);
    put_merged(&merge, fa_json_value(fa_str(target != NULL ? target : "{}")),
               fa_json_value(fa_str(patch)));
    text = fa_arena_copy(arena, out.ptr, out.len);
    fa_buf_finish(&out);
    fa_arena_finish(&merge.scratch);
    return text;
}

const char *fa_json_merge(const char *target, const char *patch, struct fa_arena *arena)
{
    return merge_texts(target, patch, false, arena);
}

const char *fa_json_merge_patches(const char *first, const char *second, struct fa_arena *arena)
{
    return merge_texts(first, second, true, arena);
}
