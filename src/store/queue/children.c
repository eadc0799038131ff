/* children.c - see children.h. */
#include "store/queue/children.h"

#include "store/queue/ops.h"
#include "base/random.h"

#include <assert.h>
#include <stdlib.h>

#define POSITION_MAX 1000000000000000000u /* a greater number is a plain name */

struct fa_child_name {
    const char *name;   /* NULL: a free slot */
    int64_t key;        /* of the task; 0: it is about to be created */
    bool is_read;       /* the next two are valid: */
    bool exists;        /* it is not deleted */
    struct fa_key work; /* 0: matches no request */
    bool is_taken;
    size_t taken; /* in the first of those with the same work: how many of them are taken */
};

static size_t slot_of(const struct fa_children *children, const char *name)
{
    uint64_t hash = children->seed;

    for (; *name != '\0'; name++)
        hash = (hash ^ (unsigned char)*name) * 0x9e3779b97f4a7c15u;
    return (size_t)(hash >> 32) & (children->size - 1);
}

static void put(struct fa_children *children, const char *name, int64_t key)
{
    size_t at = slot_of(children, name);

    assert(children->count * 2 < children->size);
    while (children->names[at].name != NULL)
        at = (at + 1) & (children->size - 1);
    children->names[at] = (struct fa_child_name){.name = name, .key = key};
    children->count++;
}

/* "#7" is position 7. */
static bool is_position(const char *name, size_t *out)
{
    char *end;

    if (name[0] != '#' || name[1] < '0' || name[1] > '9')
        return false;
    *out = strtoull(name + 1, &end, 10);
    return *end == '\0' && *out < POSITION_MAX;
}

/* The next subtask of this name, from *at on. */
static struct fa_child_name *next_of(const struct fa_children *children, const char *name,
                                     size_t *at)
{
    for (;;) {
        struct fa_child_name *found = &children->names[*at];

        *at = (*at + 1) & (children->size - 1);
        if (found->name == NULL)
            return NULL;
        if (strcmp(found->name, name) == 0)
            return found;
    }
}

struct list {
    struct fa_arena *arena;
    struct fa_child_name *items;
    size_t count, size;
};

static void sink_name(void *ctx, size_t n, const struct fa_value *columns)
{
    struct list *list = ctx;
    const char *name = fa_value_dup(&columns[1], list->arena);

    (void)n;
    list->items =
        fa_arena_grow(list->arena, list->items, list->count, &list->size, sizeof(*list->items));
    list->items[list->count++] =
        (struct fa_child_name){.name = name ? name : "", .key = columns[0].i};
}

enum faina_code fa_children_open(struct fa_unit *unit, struct fa_row *parent, size_t more,
                                 struct fa_children *out, struct faina_error *err)
{
    struct list list = {.arena = &unit->arena};
    struct fa_value key = fa_value_int(parent->id.key);
    enum faina_code code = FAINA_OK;

    if (parent->flags & FA_FLAG_HAS_CHILDREN) {
        code = fa_unit_flush(unit, err); /* includes subtasks of this batch */
        if (code == FAINA_OK)
            code = fa_db_one(unit->source.db, FA_SQL_CHILD_NAMES, &key, 1, sink_name, &list, err);
    }
    *out = (struct fa_children){.unit = unit, .parent = parent, .stored = list.count, .size = 16};
    out->seed = fa_random_next(unit->random);
    while (out->size <= 2 * (list.count + more))
        out->size *= 2;
    out->names = fa_arena_zero(&unit->arena, out->size, sizeof(*out->names));
    for (size_t i = 0; i < list.count; i++) {
        size_t position;

        put(out, list.items[i].name, list.items[i].key);
        if (is_position(list.items[i].name, &position) && position >= out->next_position)
            out->next_position = position + 1;
    }
    return code;
}

enum faina_code fa_children_expect(struct fa_children *children, const char *const *names,
                                   size_t count, struct faina_error *err)
{
    struct fa_unit *unit = children->unit;
    struct fa_keys keys = {.arena = &unit->arena};

    if (!fa_db_has(unit->source.db, FA_DB_ROUND_TRIPS) || children->stored == 0)
        return FAINA_OK;
    for (size_t i = 0; i < count; i++) {
        size_t at = slot_of(children, names[i]);

        for (const struct fa_child_name *child; (child = next_of(children, names[i], &at));) {
            struct fa_value key = fa_value_int(child->key);

            fa_keys_sink(&keys, 0, &key);
        }
    }
    return fa_unit_prefetch(unit, keys.keys, keys.count,
                            (struct fa_rows_options){.with_task = true}, err);
}

/* *is_taken: a subtask of this name is about to be created. */
static enum faina_code find_row(struct fa_children *children, const char *name, struct fa_row **out,
                                bool *is_taken, struct faina_error *err)
{
    size_t at = slot_of(children, name);

    *out = NULL;
    *is_taken = false;
    for (const struct fa_child_name *child; (child = next_of(children, name, &at));) {
        enum faina_code code;

        *is_taken = child->key == 0;
        if (*is_taken)
            return FAINA_OK;
        code = fa_unit_get(children->unit, child->key, true, out, err);
        if (code != FAINA_TASK_NOT_FOUND) /* not found: it is deleted */
            return code;
    }
    return FAINA_OK;
}

enum faina_code fa_children_find(struct fa_children *children, const char *name,
                                 struct fa_row **out, bool *is_taken, struct faina_error *err)
{
    enum faina_code code = find_row(children, name, out, is_taken, err);

    if (code == FAINA_OK && *out == NULL && !*is_taken)
        put(children, name, 0);
    return code;
}

/* By their work -------------------------------------------------------------------- */

/* Subtasks whose work is read. */
struct work_read {
    struct fa_child_name **children;
    size_t count, size;
};

static void add_read(struct fa_children *children, struct work_read *read,
                     struct fa_child_name *child)
{
    if (child->is_read || child->key == 0)
        return;
    child->is_read = true;
    read->children = fa_arena_grow(&children->unit->arena, read->children, read->count, &read->size,
                                   sizeof(struct fa_child_name *));
    read->children[read->count++] = child;
}

static void bind_child(void *ctx, size_t n, struct fa_value *params)
{
    params[0] = fa_value_int(((const struct work_read *)ctx)->children[n]->key);
}

static void sink_work(void *ctx, size_t n, const struct fa_value *columns)
{
    struct fa_child_name *child = ((const struct work_read *)ctx)->children[n];

    child->exists = true;
    child->work = fa_work_hash(columns[0].text,
                               columns[1].kind == FA_NULL ? fa_str("null") : columns[1].text);
}

static enum faina_code read_work(struct fa_children *children, struct work_read *read,
                                 struct faina_error *err)
{
    struct fa_db_call call = {.sql = FA_SQL_TASK_WORK,
                              .rows = read->count,
                              .param_count = 1,
                              .bind = bind_child,
                              .bind_ctx = read,
                              .sink = sink_work,
                              .sink_ctx = read};

    return read->count > 0 ? fa_db_run(children->unit->source.db, &call, err) : FAINA_OK;
}

enum faina_code fa_children_read(struct fa_children *children, const char *const *names,
                                 size_t count, struct faina_error *err)
{
    struct work_read read = {0};

    for (size_t i = 0; i < count; i++) {
        size_t at = slot_of(children, names[i]);

        for (struct fa_child_name *child; (child = next_of(children, names[i], &at));)
            add_read(children, &read, child);
    }
    return read_work(children, &read, err);
}

/* The subtask of this name that is not deleted (C1), or NULL. */
static struct fa_child_name *existing(const struct fa_children *children, const char *name)
{
    size_t at = slot_of(children, name);
    struct fa_child_name *child;

    while ((child = next_of(children, name, &at)) != NULL && !child->exists)
        assert(child->is_read || child->key == 0);
    return child;
}

static bool is_same(struct fa_key a, struct fa_key b)
{
    return a.hash == b.hash && a.more == b.more && a.hash != 0;
}

bool fa_children_has(const struct fa_children *children, const char *name)
{
    return existing(children, name) != NULL;
}

bool fa_children_match(const struct fa_children *children, const char *name, struct fa_key work)
{
    const struct fa_child_name *child = existing(children, name);

    return child != NULL && is_same(child->work, work);
}

void fa_children_take(struct fa_children *children, const char *name)
{
    existing(children, name)->is_taken = true;
}

static int compare_works(struct fa_key a, struct fa_key b)
{
    if (a.hash != b.hash)
        return a.hash < b.hash ? -1 : 1;
    return (a.more > b.more) - (a.more < b.more);
}

static int compare_free(const void *a, const void *b)
{
    const struct fa_child_name *x = *(struct fa_child_name *const *)a;
    const struct fa_child_name *y = *(struct fa_child_name *const *)b;
    int order = compare_works(x->work, y->work);
    size_t left = 0, right = 0;

    if (order != 0 || !is_position(x->name, &left) || !is_position(y->name, &right))
        return order;
    return (left > right) - (left < right);
}

enum faina_code fa_children_read_free(struct fa_children *children, size_t first,
                                      struct faina_error *err)
{
    struct work_read read = {0};
    enum faina_code code;
    size_t count = 0, position;

    children->free =
        fa_arena_take(&children->unit->arena, (children->stored + 1) * sizeof(*children->free));
    for (size_t i = 0; i < children->size; i++) {
        struct fa_child_name *child = &children->names[i];

        if (child->name == NULL || child->is_taken || !is_position(child->name, &position) ||
            position < first)
            continue;
        add_read(children, &read, child);
        children->free[count++] = child;
    }
    code = read_work(children, &read, err);
    for (size_t i = 0; i < count; i++) {
        if (children->free[i]->exists)
            children->free[children->free_count++] = children->free[i];
    }
    if (children->free_count > 0)
        qsort(children->free, children->free_count, sizeof(*children->free), compare_free);
    return code;
}

const char *fa_children_take_match(struct fa_children *children, struct fa_key work)
{
    size_t low = 0, high = children->free_count;
    struct fa_child_name *first;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (compare_works(children->free[middle]->work, work) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == children->free_count)
        return NULL;
    first = children->free[low];
    low += first->taken;
    if (low >= children->free_count || !is_same(children->free[low]->work, work))
        return NULL;
    first->taken++;
    return children->free[low]->name;
}
