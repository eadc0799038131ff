/* failures.c - see failures.h. */
#include "store/txn/failures.h"

#include "model/failure_group.h"
#include "model/operation.h"

#include <stdlib.h>

#define TASKS_STORED 20 /* the last ones; a task may be among them several times */
#define TASKS_SIZE (TASKS_STORED * FAINA_ID_SIZE)
#define TRIM_EVERY 200      /* failures, after which a namespace's groups are counted */
#define GROUPS_AT_ONCE 5000 /* of one read */

/* A group's failures in the open transaction. */
struct group {
    struct fa_failure_key key;
    const char *ns, *type;
    int64_t count, first_us, last_us;
    char tasks[TASKS_SIZE];
    size_t tasks_len;
};

void fa_failures_note(struct fa_unit *unit, const struct fa_row *row)
{
    struct fa_unit_failure *failure;

    unit->failures =
        fa_grow(unit->failures, unit->failure_count, &unit->failure_size, sizeof(*unit->failures));
    failure = &unit->failures[unit->failure_count++];
    *failure = (struct fa_unit_failure){row->lane, row->id, row->error, row->updated_us};
}

/* Writing ---------------------------------------------------------------------------------- */

static int by_id(const void *a, const void *b)
{
    const struct group *x = a, *y = b;

    return (x->key.id > y->key.id) - (x->key.id < y->key.id);
}

/* Puts the task in front of the others. */
static void add_task(struct group *group, struct fa_id id)
{
    size_t len = group->tasks_len < TASKS_SIZE - FAINA_ID_SIZE ? group->tasks_len
                                                               : TASKS_SIZE - FAINA_ID_SIZE;

    memmove(group->tasks + FAINA_ID_SIZE, group->tasks, len);
    fa_id_format(id, group->tasks); /* ends with a NUL, where a space has to be */
    group->tasks[FAINA_ID_SIZE - 1] = ' ';
    group->tasks_len = len + FAINA_ID_SIZE;
}

static void add_failure(struct group *group, const struct fa_unit_failure *failure)
{
    group->count++;
    if (group->first_us == 0 || failure->at_us < group->first_us)
        group->first_us = failure->at_us;
    if (failure->at_us > group->last_us)
        group->last_us = failure->at_us;
    add_task(group, failure->id);
}

/* Failures that follow each other are often of one group. */
static size_t gather(struct fa_unit *unit, struct group *groups)
{
    size_t count = 0;

    for (size_t i = 0; i < unit->failure_count; i++) {
        const struct fa_unit_failure *failure = &unit->failures[i];
        struct fa_failure_key key =
            fa_failure_key_of(failure->lane->ns, failure->lane->type, failure->error, &unit->arena);
        size_t at = count;

        while (at > 0 && groups[at - 1].key.id != key.id)
            at--;
        if (at == 0) {
            groups[count] =
                (struct group){.key = key, .ns = failure->lane->ns, .type = failure->lane->type};
            at = ++count;
        }
        add_failure(&groups[at - 1], failure);
    }
    qsort(groups, count, sizeof(*groups), by_id);
    return count;
}

static void bind_group(void *ctx, size_t n, struct fa_value *v)
{
    const struct group *group = &((const struct group *)ctx)[n];

    v[0] = fa_value_int(group->key.id);
    v[1] = fa_value_text(group->ns);
    v[2] = fa_value_text(group->type);
    v[3] = fa_value_text(group->key.kind);
    v[4] = fa_value_text(group->key.message);
    v[5] = fa_value_int(group->count);
    v[6] = fa_value_int(group->first_us);
    v[7] = fa_value_int(group->last_us);
    v[8] = (struct fa_value){.kind = FA_TEXT, .text = {group->tasks, group->tasks_len}};
}

/* J2. */
static enum faina_code trim(struct fa_unit *unit, const struct group *groups, size_t count,
                            struct faina_error *err)
{
    enum faina_code code = FAINA_OK;

    unit->failures_until_trim += (int64_t)count;
    if (unit->failures_until_trim < TRIM_EVERY)
        return FAINA_OK;
    unit->failures_until_trim = 0;
    for (size_t i = 0; code == FAINA_OK && i < count; i++) {
        struct fa_value params[2] = {fa_value_text(groups[i].ns),
                                     fa_value_int(FA_FAILURE_GROUPS_MAX)};
        bool is_done = false;

        for (size_t k = 0; k < i && !is_done; k++)
            is_done = strcmp(groups[k].ns, groups[i].ns) == 0;
        if (!is_done)
            code = fa_db_one(unit->source.db, FA_SQL_FAILURE_TRIM, params, 2, NULL, NULL, err);
    }
    return code;
}

enum faina_code fa_failures_write(struct fa_unit *unit, struct faina_error *err)
{
    struct group *groups;
    struct fa_db_call call = {.sql = FA_SQL_FAILURE_PUT, .param_count = 9, .bind = bind_group};
    enum faina_code code;

    if (unit->failure_count == 0)
        return FAINA_OK;
    groups = fa_alloc_zero(unit->failure_count, sizeof(*groups));
    call.rows = gather(unit, groups);
    call.bind_ctx = groups;
    unit->failure_count = 0;
    code = fa_db_run(unit->source.db, &call, err);
    if (code == FAINA_OK)
        code = trim(unit, groups, call.rows, err);
    free(groups);
    return code;
}

/* Reading ---------------------------------------------------------------------------------- */

struct reading {
    struct fa_arena *arena;
    struct fa_failure_groups *groups;
    const char *type; /* NULL: all */
    size_t size;
};

static bool has_task(const struct fa_failure_group *group, const char *id)
{
    for (size_t i = 0; i < group->task_count; i++) {
        if (strcmp(group->task_ids[i], id) == 0)
            return true;
    }
    return false;
}

/* The ids of the column, each once. */
static void read_tasks(struct fa_failure_group *group, struct fa_bytes text, struct fa_arena *arena)
{
    const char **ids = fa_arena_zero(arena, FA_FAILURE_TASKS_MAX + 1, sizeof(*ids));

    group->task_ids = ids;
    for (size_t at = 0; at + FAINA_ID_SIZE - 1 <= text.len; at += FAINA_ID_SIZE) {
        const char *id = fa_arena_copy(arena, text.ptr + at, FAINA_ID_SIZE - 1);

        if (group->task_count < FA_FAILURE_TASKS_MAX && !has_task(group, id))
            ids[group->task_count++] = id;
    }
}

static void sink_group(void *ctx, size_t n, const struct fa_value *c)
{
    struct reading *reading = ctx;
    struct fa_failure_groups *groups = reading->groups;
    struct fa_failure_group *group;
    const char *type = fa_value_dup(&c[2], reading->arena);

    (void)n;
    if (type == NULL || (reading->type != NULL && !fa_name_is_same(type, reading->type)))
        return;
    groups->items = fa_arena_grow(reading->arena, groups->items, groups->count, &reading->size,
                                  sizeof(*groups->items));
    group = &groups->items[groups->count++];
    *group = (struct fa_failure_group){.ns = fa_value_dup(&c[1], reading->arena),
                                       .type = type,
                                       .message = fa_value_dup(&c[4], reading->arena),
                                       .count = fa_value_as_int(&c[5]),
                                       .first_us = fa_value_as_int(&c[6]),
                                       .last_us = fa_value_as_int(&c[7])};
    fa_failure_id_format(fa_value_as_int(&c[0]) & INT64_MAX, group->id);
    if (c[3].text.len > 0)
        group->kind = fa_value_dup(&c[3], reading->arena);
    read_tasks(group, c[8].text, reading->arena);
}

static int by_count(const void *a, const void *b)
{
    const struct fa_failure_group *x = a, *y = b;

    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    return (x->last_us < y->last_us) - (x->last_us > y->last_us);
}

enum faina_code fa_read_failures(struct fa_source *source, struct fa_op *op)
{
    const struct fa_failure_query *query = op->failure_query;
    const char *ns = query->ns != NULL ? query->ns : "default";
    struct reading reading = {.arena = op->arena, .type = query->type};
    struct fa_value all[2] = {fa_value_int(query->since_us), fa_value_int(GROUPS_AT_ONCE)};
    struct fa_value one[3] = {all[0], all[1], fa_value_text(ns)};
    struct fa_failure_groups *groups = fa_arena_zero(op->arena, 1, sizeof(*groups));
    enum faina_code code;

    reading.groups = groups;
    if (strcmp(ns, "*") == 0)
        code = fa_db_one(source->db, FA_SQL_FAILURE_LIST_ALL, all, 2, sink_group, &reading,
                         &op->error);
    else
        code = fa_db_one(source->db, FA_SQL_FAILURE_LIST, one, 3, sink_group, &reading, &op->error);
    if (code != FAINA_OK)
        return code;
    if (groups->count > 1)
        qsort(groups->items, groups->count, sizeof(*groups->items), by_count);
    if (query->limit > 0 && groups->count > (size_t)query->limit)
        groups->count = (size_t)query->limit;
    op->failures = groups;
    return FAINA_OK;
}
