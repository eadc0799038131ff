/* children.c - see children.h. */
#include "sql/children.h"

#include "base/random.h"

#include <assert.h>

struct fa_child_name {
    const char *name; /* NULL: a free place */
    int64_t key;      /* of the task; 0: it is about to be made */
};

static size_t place_of(const struct fa_children *children, const char *name)
{
    uint64_t hash = children->seed;

    for (; *name != '\0'; name++)
        hash = (hash ^ (unsigned char)*name) * 0x9e3779b97f4a7c15u;
    return (size_t)(hash >> 32) & (children->size - 1);
}

static void put(struct fa_children *children, const char *name, int64_t key)
{
    size_t at = place_of(children, name);

    assert(children->count * 2 < children->size);
    while (children->names[at].name != NULL)
        at = (at + 1) & (children->size - 1);
    children->names[at] = (struct fa_child_name){name, key};
    children->count++;
}

/* The next of this name, from *at on. */
static const struct fa_child_name *next_of(const struct fa_children *children, const char *name,
                                           size_t *at)
{
    for (;;) {
        const struct fa_child_name *found = &children->names[*at];

        *at = (*at + 1) & (children->size - 1);
        if (found->name == NULL)
            return NULL;
        if (strcmp(found->name, name) == 0)
            return found;
    }
}

/* Subtasks as they are read. */
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
    list->items[list->count++] = (struct fa_child_name){name ? name : "", columns[0].i};
}

enum faina_code fa_children_open(struct fa_unit *unit, struct fa_row *parent, size_t more,
                                 struct fa_children *out, struct faina_error *err)
{
    struct list list = {.arena = &unit->arena};
    struct fa_value key = fa_value_int(parent->id.key);
    enum faina_code code = FAINA_OK;

    if (parent->flags & FA_FLAG_HAS_CHILDREN) {
        code = fa_unit_flush(unit, err); /* those of this batch count too */
        if (code == FAINA_OK)
            code = fa_db_one(unit->source.db, FA_SQL_CHILD_NAMES, &key, 1, sink_name, &list, err);
    }
    *out = (struct fa_children){.unit = unit, .parent = parent, .stored = list.count, .size = 16};
    out->seed = fa_random_next(unit->random);
    while (out->size <= 2 * (list.count + more))
        out->size *= 2;
    out->names = fa_arena_zero(&unit->arena, out->size, sizeof(*out->names));
    for (size_t i = 0; i < list.count; i++)
        put(out, list.items[i].name, list.items[i].key);
    return code;
}

enum faina_code fa_children_expect(struct fa_children *children, const char *const *names,
                                   size_t count, bool payload, struct faina_error *err)
{
    struct fa_unit *unit = children->unit;
    struct fa_keys keys = {.arena = &unit->arena};

    if (!unit->source.db->is_shared || children->stored == 0)
        return FAINA_OK;
    for (size_t i = 0; i < count; i++) {
        size_t at = place_of(children, names[i]);

        for (const struct fa_child_name *child; (child = next_of(children, names[i], &at));) {
            struct fa_value key = fa_value_int(child->key);

            fa_keys_sink(&keys, 0, &key);
        }
    }
    return fa_unit_prefetch(unit, keys.keys, keys.count,
                            (struct fa_rows_wish){.whole = true, .payload = payload}, err);
}

/* *is_taken: one of this name is about to be made. */
static enum faina_code look(struct fa_children *children, const char *name, struct fa_row **out,
                            bool *is_taken, struct faina_error *err)
{
    size_t at = place_of(children, name);

    *out = NULL;
    *is_taken = false;
    for (const struct fa_child_name *child; (child = next_of(children, name, &at));) {
        enum faina_code code;

        *is_taken = child->key == 0;
        if (*is_taken)
            return FAINA_OK;
        code = fa_unit_get(children->unit, child->key, true, out, err);
        if (code != FAINA_TASK_NOT_FOUND) /* else it is deleted */
            return code;
    }
    return FAINA_OK;
}

enum faina_code fa_children_look(struct fa_children *children, const char *name,
                                 struct fa_row **out, struct faina_error *err)
{
    bool is_taken;

    return look(children, name, out, &is_taken, err);
}

enum faina_code fa_children_find(struct fa_children *children, const char *name,
                                 struct fa_row **out, bool *is_taken, struct faina_error *err)
{
    enum faina_code code = look(children, name, out, is_taken, err);

    if (code == FAINA_OK && *out == NULL && !*is_taken)
        put(children, name, 0);
    return code;
}
