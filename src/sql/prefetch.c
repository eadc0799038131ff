/* prefetch.c - see prefetch.h. */
#include "sql/prefetch.h"

#include "sql/show.h"
#include "sql/flows.h"

static void add(struct fa_prefetch *wants, struct fa_keys *list, int64_t key)
{
    struct fa_value value = fa_value_int(key);

    list->arena = &wants->unit->arena;
    fa_keys_sink(list, 0, &value);
}

static void add_id(struct fa_prefetch *wants, struct fa_keys *list, const char *text)
{
    struct fa_id id;

    if (text != NULL && fa_id_parse(text, &id))
        add(wants, list, id.key);
}

static void add_submit(struct fa_prefetch *wants, const struct faina_submit *submit)
{
    const char *ns = submit->ns ? submit->ns : "default";
    const char *type = submit->type ? submit->type : "default";

    if (submit->idempotency_key != NULL)
        add(wants, &wants->hashes, fa_key_hash(ns, type, submit->idempotency_key).hash);
    for (size_t i = 0; i < submit->depends_on_count; i++)
        add_id(wants, &wants->tasks, submit->depends_on[i]);
}

/* A task that is going to end: workflows may want to know. */
static void add_end(struct fa_prefetch *wants, bool whole, const char *id)
{
    wants->has_ends = true;
    add_id(wants, whole ? &wants->whole : &wants->tasks, id);
}

void fa_prefetch_add(struct fa_prefetch *wants, const struct fa_op *op)
{
    switch ((int)op->kind) {
    case FA_OP_SUBMIT:
        add_submit(wants, op->submit);
        break;
    case FA_OP_CLAIM:
    case FA_OP_START:
    case FA_OP_PROGRESS:
    case FA_OP_HEARTBEAT:
    case FA_OP_BACKGROUND:
        add_id(wants, op->wants_task ? &wants->whole : &wants->tasks, op->id);
        break;
    case FA_OP_COMPLETE:
        add_end(wants, op->wants_task || fa_flows_hear_ends(wants->unit->flows), op->id);
        break;
    case FA_OP_CANCEL:
    case FA_OP_DELETE:
        if (op->kind == FA_OP_CANCEL || op->removal.cancel)
            add_id(wants, &wants->roots, op->id);
        add_end(wants, true, op->id);
        break;
    case FA_OP_FAIL:
        add_end(wants, true, op->id);
        break;
    case FA_OP_BLOCK:
        add_id(wants, &wants->blocks, op->id);
        break;
    case FA_OP_RELEASE:
    case FA_OP_RETRY:
        add_id(wants, &wants->whole, op->id);
        break;
    default:
        break;
    }
}

static void add_all(struct fa_prefetch *wants, struct fa_keys *list, const struct fa_keys *more)
{
    for (size_t i = 0; i < more->count; i++)
        add(wants, list, more->keys[i]);
}

/* What else is going to be asked of tasks that were read. */
static enum faina_code read_whole(struct fa_unit *unit, const struct fa_keys *keys,
                                  struct faina_error *err)
{
    struct fa_row **rows = fa_arena_take(&unit->arena, (keys->count + 1) * sizeof(struct fa_row *));
    enum faina_code code = FAINA_OK;
    size_t count = 0;

    if (keys->count > 0)
        code = fa_unit_whole_many(unit, keys->keys, keys->count, err);
    for (size_t i = 0; i < keys->count; i++) {
        rows[count] = fa_unit_known(unit, keys->keys[i]);
        count += rows[count] != NULL && rows[count]->has_task;
    }
    return code == FAINA_OK ? fa_rows_expect(&unit->source, rows, count, false, &unit->arena, err)
                            : code;
}

/* The parents of held tasks that the batch is about to end: they are going to count. And those that
 * block once more. */
static enum faina_code read_parents(struct fa_prefetch *wants, struct faina_error *err)
{
    struct fa_unit *unit = wants->unit;
    struct fa_keys children = {.arena = &unit->arena}, parents = {.arena = &unit->arena};
    enum faina_code code = FAINA_OK;

    for (size_t i = 0; i < wants->tasks.count + wants->whole.count; i++) {
        int64_t key = i < wants->tasks.count ? wants->tasks.keys[i]
                                             : wants->whole.keys[i - wants->tasks.count];
        const struct fa_row *row = fa_unit_known(unit, key);

        if (row != NULL && row->flags & FA_FLAG_HAS_PARENT)
            add(wants, row->has_task ? &parents : &children, row->has_task ? row->parent : key);
    }
    if (children.count > 0)
        code = fa_unit_whole_many(unit, children.keys, children.count, err);
    for (size_t i = 0; code == FAINA_OK && i < children.count; i++)
        add(wants, &parents, fa_unit_known(unit, children.keys[i])->parent);
    add_all(wants, &parents, &wants->blocks);
    if (code == FAINA_OK && parents.count > 0)
        code = fa_unit_expect(unit, parents.keys, parents.count, err);
    return code == FAINA_OK ? read_whole(unit, &wants->blocks, err) : code;
}

static void bind_key(void *ctx, size_t row, struct fa_value *params)
{
    params[0] = fa_value_int(((struct fa_keys *)ctx)->keys[row]);
}

/* Adds to `out` who is below some tasks, as the statement says. Nothing is locked yet. */
static enum faina_code read_below(struct fa_prefetch *wants, enum fa_sql sql, struct fa_keys *tasks,
                                  struct fa_keys *out, struct faina_error *err)
{
    struct fa_db_call call = {.sql = sql,
                              .rows = tasks->count,
                              .param_count = 1,
                              .bind = bind_key,
                              .bind_ctx = tasks,
                              .sink = fa_keys_sink,
                              .sink_ctx = out};

    out->arena = &wants->unit->arena;
    return tasks->count > 0 ? fa_db_run(wants->unit->source.db, &call, err) : FAINA_OK;
}

/* Who blocks for the first time is read like any other task; who has subtasks already, after
 * them. */
static enum faina_code read_subtasks(struct fa_prefetch *wants, struct fa_keys *out,
                                     struct faina_error *err)
{
    size_t before = out->count;
    enum faina_code code = read_below(wants, FA_SQL_CHILD_UNSETTLED, &wants->blocks, out, err);

    if (out->count == before) {
        add_all(wants, &wants->whole, &wants->blocks);
        wants->blocks.count = 0;
    }
    return code;
}

/* All tasks at once, and then what is wanted of some of them. */
static enum faina_code read_tasks(struct fa_prefetch *wants, struct faina_error *err)
{
    struct fa_unit *unit = wants->unit;
    struct fa_keys all = {.arena = &unit->arena};
    enum faina_code code = read_below(wants, FA_SQL_CHILD_TREE, &wants->roots, &all, err);

    if (code == FAINA_OK)
        code = read_subtasks(wants, &all, err);
    add_all(wants, &all, &wants->whole);
    add_all(wants, &all, &wants->tasks);
    if (code == FAINA_OK && all.count > 0)
        code = fa_unit_prefetch(unit, all.keys, all.count, (struct fa_rows_wish){0}, err);
    return code == FAINA_OK ? read_whole(unit, &wants->whole, err) : code;
}

enum faina_code fa_prefetch_run(struct fa_prefetch *wants, struct faina_error *err)
{
    struct fa_unit *unit = wants->unit;
    enum faina_code code = FAINA_OK;

    if (wants->has_ends)
        unit->source.also = fa_flows_ask(unit);
    if (wants->hashes.count > 0)
        code = fa_unit_look_up(unit, wants->hashes.keys, wants->hashes.count, true, err);
    if (code == FAINA_OK)
        code = read_tasks(wants, err);
    return code == FAINA_OK ? read_parents(wants, err) : code;
}
