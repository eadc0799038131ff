/* permit.c - whether the caller may change the task and act as the worker it names (access.h, X2).
 * */
#include "store/queue/ops.h"

#include "service/access.h"

struct owner {
    struct fa_arena *arena;
    const char *namespaces;
    bool is_found;
};

static void sink_owner(void *ctx, size_t row, const struct fa_value *columns)
{
    struct owner *owner = ctx;

    (void)row;
    owner->is_found = true;
    owner->namespaces = fa_value_dup(&columns[0], owner->arena);
}

enum faina_code fa_worker_owner(struct fa_unit *unit, const char *worker, bool *is_found,
                                const char **namespaces, struct faina_error *err)
{
    struct owner owner = {.arena = &unit->arena};
    struct fa_value id = fa_value_text(worker);
    enum faina_code code =
        fa_db_one(unit->source.db, FA_SQL_WORKER_OWNER, &id, 1, sink_owner, &owner, err);

    *is_found = owner.is_found;
    *namespaces = owner.namespaces;
    return code;
}

enum faina_code fa_refuse_worker(const char *worker, struct faina_error *err)
{
    return fa_error_set(err, FAINA_NOT_FOUND,
                        "there is no worker %.200s for this token: the id belongs to others",
                        worker);
}

/* A worker that is not registered belongs to no namespace; only its tasks' namespaces are checked.
 * */
static enum faina_code permit_worker(struct fa_unit *unit, struct fa_op *op, const char *worker)
{
    const char *namespaces;
    bool is_found;
    enum faina_code code;

    if (unit->actor.worker != NULL && unit->actor.grant == op->grant &&
        strcmp(unit->actor.worker, worker) == 0)
        return FAINA_OK;
    code = fa_worker_owner(unit, worker, &is_found, &namespaces, &op->error);
    if (code == FAINA_OK && is_found && !fa_access_owns(op->grant, namespaces))
        code = fa_refuse_worker(worker, &op->error);
    if (code == FAINA_OK) {
        unit->actor.grant = op->grant;
        unit->actor.worker = worker;
    }
    return code;
}

static enum faina_code permit_task(struct fa_unit *unit, struct fa_op *op)
{
    struct fa_row *row = NULL;
    enum faina_code code = fa_unit_find_any(unit, op->id, &row, &op->error);

    if (code == FAINA_OK && !fa_access_reaches(op->grant, row->lane->ns))
        code = fa_error_set(&op->error, FAINA_TASK_NOT_FOUND, "there is no task %s", op->id);
    return code;
}

/* The task must have been submitted with the caller's token. */
static enum faina_code permit_own_row(struct fa_unit *unit, struct fa_op *op,
                                      const struct fa_row *row)
{
    int64_t submitter = 0;
    enum faina_code code = FAINA_OK;

    if (row->is_new) {
        submitter = row->submitter;
    } else {
        struct fa_value key = fa_value_int(row->id.key);

        code = fa_db_one(unit->source.db, FA_SQL_TASK_SUBMITTER, &key, 1, fa_db_sink_int,
                         &submitter, &op->error);
    }
    if (code == FAINA_OK && (submitter == 0 || submitter != fa_access_submitter(op->grant)))
        code = fa_error_set(&op->error, FAINA_FORBIDDEN,
                            "the token may %s only what it has submitted itself; for other tasks "
                            "it needs the scope \"operate\"",
                            op->kind == FA_OP_SUBMIT ? "replace" : fa_op_name(op->kind));
    return code;
}

static enum faina_code permit_own(struct fa_unit *unit, struct fa_op *op)
{
    struct fa_row *row = NULL;
    enum faina_code code = fa_unit_find_any(unit, op->id, &row, &op->error);

    return code == FAINA_OK ? permit_own_row(unit, op, row) : code;
}

enum faina_code fa_permit_replace(struct fa_unit *unit, struct fa_op *op, const struct fa_row *row)
{
    return fa_access_submitter(op->grant) == 0 ? FAINA_OK : permit_own_row(unit, op, row);
}

enum faina_code fa_permit(struct fa_unit *unit, struct fa_op *op)
{
    const char *worker;
    enum faina_code code = FAINA_OK;

    if (fa_access_is_limited(op->grant) && fa_access_is_of_task(op->kind))
        code = permit_task(unit, op);
    if (code == FAINA_OK && fa_access_needs_own(op))
        code = permit_own(unit, op);
    if (code != FAINA_OK || !fa_access_is_limited(op->grant))
        return code;
    worker = fa_access_worker(op);
    if (worker != NULL)
        code = permit_worker(unit, op, worker);
    return code;
}
