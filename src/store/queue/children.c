/* children.c - see children.h. */
#include "sql/children.h"

#include "sql/ops.h"
#include "base/random.h"

#include <assert.h>
#include <stdlib.h>

#define PLACE_MAX 1000000000000000000u /* what a name may look like; no list comes this far */

struct fa_child_name {
    const char *name;   /* NULL: a free place */
    int64_t key;        /* of the task; 0: it is about to be made */
    bool is_read;       /* so the following is known: */
    bool is_there;      /* it is not deleted, */
    struct fa_key work; /* and is to do this; 0: what no list asks for */
    bool is_taken;
    size_t taken; /* of the first of those that are to do the same: how many of them are */
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
    children->names[at] = (struct fa_child_name){.name = name, .key = key};
    children->count++;
}

/* "#7" is the place 7. */
static bool is_place(const char *name, size_t *out)
{
    char *end;

    if (name[0] != '#' || name[1] < '0' || name[1] > '9')
        return false;
    *out = strtoull(name + 1, &end, 10);
    return *end == '\0' && *out < PLACE_MAX;
}

/* The next of this name, from *at on. */
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
        code = fa_unit_flush(unit, err); /* those of this batch count too */
        if (code == FAINA_OK)
            code = fa_db_one(unit->source.db, FA_SQL_CHILD_NAMES, &key, 1, sink_name, &list, err);
    }
    *out = (struct fa_children){.unit = unit, .parent = parent, .stored = list.count, .size = 16};
    out->seed = fa_random_next(unit->random);
    while (out->size <= 2 * (list.count + more))
        out->size *= 2;
    out->names = fa_arena_zero(&unit->arena, out->size, sizeof(*out->names));
    for (size_t i = 0; i < list.count; i++) {
        size_t place;

        put(out, list.items[i].name, list.items[i].key);
        if (is_place(list.items[i].name, &place) && place >= out->next_place)
            out->next_place = place + 1;
    }
    return code;
}

enum faina_code fa_children_expect(struct fa_children *children, const char *const *names,
                                   size_t count, struct faina_error *err)
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
    return fa_unit_prefetch(unit, keys.keys, keys.count, (struct fa_rows_wish){.whole = true}, err);
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

enum faina_code fa_children_find(struct fa_children *children, const char *name,
                                 struct fa_row **out, bool *is_taken, struct faina_error *err)
{
    enum faina_code code = look(children, name, out, is_taken, err);

    if (code == FAINA_OK && *out == NULL && !*is_taken)
        put(children, name, 0);
    return code;
}

/* By what they are to do -------------------------------------------------------------------- */

/* Subtasks about which is asked. */
struct question {
    struct fa_child_name **children;
    size_t count, size;
};

static void ask(struct fa_children *children, struct question *question,
                struct fa_child_name *child)
{
    if (child->is_read || child->key == 0)
        return;
    child->is_read = true;
    question->children = fa_arena_grow(&children->unit->arena, question->children, question->count,
                                       &question->size, sizeof(struct fa_child_name *));
    question->children[question->count++] = child;
}

static void bind_child(void *ctx, size_t n, struct fa_value *params)
{
    params[0] = fa_value_int(((const struct question *)ctx)->children[n]->key);
}

static void sink_work(void *ctx, size_t n, const struct fa_value *columns)
{
    struct fa_child_name *child = ((const struct question *)ctx)->children[n];

    child->is_there = true;
    child->work = fa_work_hash(columns[0].text,
                               columns[1].kind == FA_NULL ? fa_str("null") : columns[1].text);
}

static enum faina_code answer(struct fa_children *children, struct question *question,
                              struct faina_error *err)
{
    struct fa_db_call call = {.sql = FA_SQL_TASK_WORK,
                              .rows = question->count,
                              .param_count = 1,
                              .bind = bind_child,
                              .bind_ctx = question,
                              .sink = sink_work,
                              .sink_ctx = question};

    return question->count > 0 ? fa_db_run(children->unit->source.db, &call, err) : FAINA_OK;
}

enum faina_code fa_children_read(struct fa_children *children, const char *const *names,
                                 size_t count, struct faina_error *err)
{
    struct question question = {0};

    for (size_t i = 0; i < count; i++) {
        size_t at = place_of(children, names[i]);

        for (struct fa_child_name *child; (child = next_of(children, names[i], &at));)
            ask(children, &question, child);
    }
    return answer(children, &question, err);
}

/* The one of this name that is not deleted (C1), or NULL. */
static struct fa_child_name *there(const struct fa_children *children, const char *name)
{
    size_t at = place_of(children, name);
    struct fa_child_name *child;

    while ((child = next_of(children, name, &at)) != NULL && !child->is_there)
        assert(child->is_read || child->key == 0);
    return child;
}

static bool is_same(struct fa_key a, struct fa_key b)
{
    return a.hash == b.hash && a.more == b.more && a.hash != 0;
}

bool fa_children_has(const struct fa_children *children, const char *name)
{
    return there(children, name) != NULL;
}

bool fa_children_is_like(const struct fa_children *children, const char *name, struct fa_key work)
{
    const struct fa_child_name *child = there(children, name);

    return child != NULL && is_same(child->work, work);
}

void fa_children_take(struct fa_children *children, const char *name)
{
    there(children, name)->is_taken = true;
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

    if (order != 0 || !is_place(x->name, &left) || !is_place(y->name, &right))
        return order;
    return (left > right) - (left < right);
}

enum faina_code fa_children_read_free(struct fa_children *children, size_t first,
                                      struct faina_error *err)
{
    struct question question = {0};
    enum faina_code code;
    size_t count = 0, place;

    children->free =
        fa_arena_take(&children->unit->arena, (children->stored + 1) * sizeof(*children->free));
    for (size_t i = 0; i < children->size; i++) {
        struct fa_child_name *child = &children->names[i];

        if (child->name == NULL || child->is_taken || !is_place(child->name, &place) ||
            place < first)
            continue;
        ask(children, &question, child);
        children->free[count++] = child;
    }
    code = answer(children, &question, err);
    for (size_t i = 0; i < count; i++) {
        if (children->free[i]->is_there)
            children->free[children->free_count++] = children->free[i];
    }
    if (children->free_count > 0)
        qsort(children->free, children->free_count, sizeof(*children->free), compare_free);
    return code;
}

const char *fa_children_take_like(struct fa_children *children, struct fa_key work)
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
