/* prefetch.c - see prefetch.h. */
#include "store/txn/prefetch.h"

#include "store/read/show.h"
#include "store/workflow/definitions.h"

static void add(struct fa_prefetch *prefetch, struct fa_keys *list, int64_t key)
{
    list->arena = &prefetch->unit->arena;
    fa_keys_add(list, key);
}

static void add_id(struct fa_prefetch *prefetch, struct fa_keys *list, const char *text)
{
    struct fa_id id;

    if (text != NULL && fa_id_parse(text, &id))
        add(prefetch, list, id.key);
}

static void add_submit(struct fa_prefetch *prefetch, const struct faina_submit *submit)
{
    const char *ns = submit->ns ? submit->ns : "default";
    const char *type = submit->type ? submit->type : "default";

    if (submit->idempotency_key != NULL)
        add(prefetch, &prefetch->hashes, fa_key_hash(ns, type, submit->idempotency_key).hash);
    for (size_t i = 0; i < submit->depends_on_count; i++)
        add_id(prefetch, &prefetch->tasks, submit->depends_on[i]);
}

/* A task that will end: workflows may have triggers on its end. */
static void add_end(struct fa_prefetch *prefetch, bool full, const char *id)
{
    prefetch->has_ends = true;
    add_id(prefetch, full ? &prefetch->full : &prefetch->tasks, id);
}

void fa_prefetch_add(struct fa_prefetch *prefetch, const struct fa_op *op)
{
    switch ((int)op->kind) {
    case FA_OP_SUBMIT:
        add_submit(prefetch, op->submit);
        break;
    case FA_OP_CLAIM:
    case FA_OP_START:
    case FA_OP_PROGRESS:
    case FA_OP_HEARTBEAT:
    case FA_OP_BACKGROUND:
        add_id(prefetch, op->wants_task ? &prefetch->full : &prefetch->tasks, op->id);
        break;
    case FA_OP_COMPLETE:
        add_end(prefetch, op->wants_task || fa_flows_need_ends(prefetch->unit->flows), op->id);
        break;
    case FA_OP_CANCEL:
    case FA_OP_DELETE:
        if (op->kind == FA_OP_CANCEL || op->removal.cancel)
            add_id(prefetch, &prefetch->roots, op->id);
        add_end(prefetch, true, op->id);
        break;
    case FA_OP_FAIL:
        add_end(prefetch, true, op->id);
        break;
    case FA_OP_BLOCK:
        add_id(prefetch, &prefetch->blocks, op->id);
        break;
    case FA_OP_SUBTASK:
    case FA_OP_RELEASE:
    case FA_OP_SNOOZE:
    case FA_OP_REQUEUE:
    case FA_OP_UPDATE:
    case FA_OP_RETRY:
        add_id(prefetch, &prefetch->full, op->id);
        break;
    default:
        break;
    }
}

static void add_all(struct fa_prefetch *prefetch, struct fa_keys *list, const struct fa_keys *more)
{
    for (size_t i = 0; i < more->count; i++)
        add(prefetch, list, more->keys[i]);
}

/* The rows in `task` of tasks whose state rows were read. */
static enum faina_code read_full(struct fa_unit *unit, const struct fa_keys *keys,
                                 struct faina_error *err)
{
    struct fa_row **rows = fa_arena_take(&unit->arena, (keys->count + 1) * sizeof(struct fa_row *));
    enum faina_code code = FAINA_OK;
    size_t count = 0;

    if (keys->count > 0)
        code = fa_unit_load_tasks(unit, keys->keys, keys->count, err);
    for (size_t i = 0; i < keys->count; i++) {
        rows[count] = fa_unit_cached(unit, keys->keys[i]);
        count += rows[count] != NULL && rows[count]->has_task;
    }
    return code == FAINA_OK
               ? fa_rows_read_ahead(&unit->source, rows, count, false, &unit->arena, err)
               : code;
}

/* The parents of tasks that the batch is about to end, whose counts change; and the tasks that
 * block again. */
static enum faina_code read_parents(struct fa_prefetch *prefetch, struct faina_error *err)
{
    struct fa_unit *unit = prefetch->unit;
    struct fa_keys children = {.arena = &unit->arena}, parents = {.arena = &unit->arena};
    enum faina_code code = FAINA_OK;

    for (size_t i = 0; i < prefetch->tasks.count + prefetch->full.count; i++) {
        int64_t key = i < prefetch->tasks.count ? prefetch->tasks.keys[i]
                                                : prefetch->full.keys[i - prefetch->tasks.count];
        const struct fa_row *row = fa_unit_cached(unit, key);

        if (row != NULL && row->flags & FA_FLAG_HAS_PARENT)
            add(prefetch, row->has_task ? &parents : &children, row->has_task ? row->parent : key);
    }
    if (children.count > 0)
        code = fa_unit_load_tasks(unit, children.keys, children.count, err);
    for (size_t i = 0; code == FAINA_OK && i < children.count; i++)
        add(prefetch, &parents, fa_unit_cached(unit, children.keys[i])->parent);
    add_all(prefetch, &parents, &prefetch->blocks);
    if (code == FAINA_OK && parents.count > 0)
        code = fa_unit_read_ahead(unit, parents.keys, parents.count, err);
    return code == FAINA_OK ? read_full(unit, &prefetch->blocks, err) : code;
}

/* Adds descendants of some tasks to `out`, as the statement selects them. Locks nothing. */
static enum faina_code read_below(struct fa_prefetch *prefetch, enum fa_sql sql,
                                  struct fa_keys *tasks, struct fa_keys *out,
                                  struct faina_error *err)
{
    struct fa_db_call call = {.sql = sql,
                              .rows = tasks->count,
                              .param_count = 1,
                              .bind = fa_keys_bind,
                              .bind_ctx = tasks,
                              .sink = fa_keys_sink,
                              .sink_ctx = out};

    out->arena = &prefetch->unit->arena;
    return tasks->count > 0 ? fa_db_run(prefetch->unit->source.db, &call, err) : FAINA_OK;
}

/* A task that blocks for the first time is read like any other task; one with subtasks is read
 * after them. */
static enum faina_code read_subtasks(struct fa_prefetch *prefetch, struct fa_keys *out,
                                     struct faina_error *err)
{
    size_t before = out->count;
    enum faina_code code =
        read_below(prefetch, FA_SQL_CHILD_UNSETTLED, &prefetch->blocks, out, err);

    if (out->count == before) {
        add_all(prefetch, &prefetch->full, &prefetch->blocks);
        prefetch->blocks.count = 0;
    }
    return code;
}

/* The state rows of all tasks at once, then the rows in `task` of some of them. */
static enum faina_code read_tasks(struct fa_prefetch *prefetch, struct faina_error *err)
{
    struct fa_unit *unit = prefetch->unit;
    struct fa_keys all = {.arena = &unit->arena};
    enum faina_code code = read_below(prefetch, FA_SQL_CHILD_TREE, &prefetch->roots, &all, err);

    if (code == FAINA_OK)
        code = read_subtasks(prefetch, &all, err);
    add_all(prefetch, &all, &prefetch->full);
    add_all(prefetch, &all, &prefetch->tasks);
    if (code == FAINA_OK && all.count > 0)
        code = fa_unit_prefetch(unit, all.keys, all.count, (struct fa_rows_options){0}, err);
    return code == FAINA_OK ? read_full(unit, &prefetch->full, err) : code;
}

enum faina_code fa_prefetch_run(struct fa_prefetch *prefetch, struct faina_error *err)
{
    struct fa_unit *unit = prefetch->unit;
    enum faina_code code = FAINA_OK;

    if (prefetch->has_ends)
        unit->source.also = fa_flows_generation_call(unit);
    if (prefetch->hashes.count > 0)
        code = fa_unit_read_keys(unit, prefetch->hashes.keys, prefetch->hashes.count, true, err);
    if (code == FAINA_OK)
        code = read_tasks(prefetch, err);
    return code == FAINA_OK ? read_parents(prefetch, err) : code;
}
