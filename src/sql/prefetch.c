/* prefetch.c - see prefetch.h. */
#include "sql/prefetch.h"

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
    case FA_OP_FAIL:
    case FA_OP_CANCEL:
    case FA_OP_DELETE:
        add_end(wants, true, op->id);
        break;
    case FA_OP_BLOCK:
    case FA_OP_RELEASE:
    case FA_OP_RETRY:
        add_id(wants, &wants->whole, op->id);
        break;
    default:
        break;
    }
}

/* The parents of held tasks that the batch is about to end: they are going to count. */
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
    if (code == FAINA_OK && parents.count > 0)
        code = fa_unit_expect(unit, parents.keys, parents.count, err);
    return code;
}

enum faina_code fa_prefetch_run(struct fa_prefetch *wants, struct faina_error *err)
{
    struct fa_unit *unit = wants->unit;
    enum faina_code code = FAINA_OK;

    if (wants->has_ends)
        unit->source.also = fa_flows_ask(unit);
    if (wants->hashes.count > 0)
        code = fa_unit_look_up(unit, wants->hashes.keys, wants->hashes.count, true, err);
    if (code == FAINA_OK && wants->whole.count > 0)
        code = fa_unit_prefetch(unit, wants->whole.keys, wants->whole.count,
                                (struct fa_rows_wish){.whole = true, .payload = true}, err);
    if (code == FAINA_OK && wants->tasks.count > 0)
        code = fa_unit_prefetch(unit, wants->tasks.keys, wants->tasks.count,
                                (struct fa_rows_wish){0}, err);
    return code == FAINA_OK ? read_parents(wants, err) : code;
}
