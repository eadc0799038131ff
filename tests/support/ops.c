/*
 * ops.c - each operation of service.h as one call.
 */
#include "support/ops.h"

#include "base/clock.h"
#include "model/id.h"
#include "model/limits.h"

#include <strings.h>
#include <time.h>

/* ------------------------------------------------------------------------------------------
 * What holds for every result
 */

static bool has_ended(enum faina_status status)
{
    return status == FAINA_COMPLETED || status == FAINA_FAILED || status == FAINA_DEAD_LETTER ||
           status == FAINA_CANCELLED;
}

static void check_holder(const struct faina_task *task)
{
    bool may_hold = task->status == FAINA_CLAIMED || task->status == FAINA_RUNNING;

    CHECK(may_hold || task->worker_id == NULL, "%s: a %s task has the worker %s", task->id,
          faina_status_name(task->status), task->worker_id);
    CHECK(task->worker_id == NULL || task->lease_expires_us != 0,
          "%s: worker %s with a lease until %lld", task->id,
          task->worker_id ? task->worker_id : "(none)", (long long)task->lease_expires_us);
    CHECK(task->status != FAINA_CLAIMED || task->worker_id, "%s: claimed without a worker",
          task->id);
    CHECK((task->status == FAINA_BACKGROUND) == (task->expires_us != 0),
          "%s: %s with the deadline %lld", task->id, faina_status_name(task->status),
          (long long)task->expires_us);
}

static void check_times(const struct faina_task *task)
{
    CHECK(task->created_us > 0, "%s: no time of creation", task->id);
    CHECK(task->updated_us >= task->created_us, "%s: updated before it was created", task->id);
    CHECK(has_ended(task->status) == (task->completed_us != 0), "%s: %s with the end %lld",
          task->id, faina_status_name(task->status), (long long)task->completed_us);
    CHECK(task->deleted_us == 0, "%s: deleted, and yet handed out", task->id);
    CHECK(task->version >= 1, "%s: version %lld", task->id, (long long)task->version);
}

void fa_t_check_task(const struct faina_task *task)
{
    struct fa_id parsed;

    CHECK(fa_id_parse(task->id, &parsed), "not a task id: \"%s\"", task->id);
    CHECK(task->ns && task->type && task->name, "%s: no namespace, type or name", task->id);
    CHECK((unsigned)task->status < FAINA_STATUS_COUNT, "%s: status %d", task->id,
          (int)task->status);
    CHECK(task->progress >= 0 && task->progress <= 100, "%s: progress %d", task->id,
          task->progress);
    CHECK(task->state != NULL, "%s: no state", task->id);
    CHECK(task->attempts >= 0 && task->max_attempts >= 0, "%s: attempts below 0", task->id);
    CHECK(task->max_attempts == 0 || task->attempts <= task->max_attempts,
          "%s: attempt %lld of %lld", task->id, (long long)task->attempts,
          (long long)task->max_attempts);
    for (size_t i = 1; i < task->resource_count; i++)
        CHECK(strcasecmp(task->resources[i - 1], task->resources[i]) < 0,
              "%s: resources are not sorted, or repeat: %s, %s", task->id, task->resources[i - 1],
              task->resources[i]);
    check_holder(task);
    check_times(task);
}

static bool answers_task(const struct fa_op *op)
{
    switch (op->kind) {
    case FA_OP_SUBMIT:
    case FA_OP_CLAIM:
    case FA_OP_START:
    case FA_OP_PROGRESS:
    case FA_OP_COMPLETE:
    case FA_OP_FAIL:
    case FA_OP_SUBTASK:
    case FA_OP_BLOCK:
    case FA_OP_BACKGROUND:
    case FA_OP_RELEASE:
    case FA_OP_SNOOZE:
    case FA_OP_UPDATE:
    case FA_OP_CANCEL:
    case FA_OP_RETRY:
        return op->wants_task;
    case FA_OP_GET:
    case FA_OP_GET_BY_KEY:
        return true;
    default:
        return false;
    }
}

static void check_answer(const struct fa_op *op)
{
    const char *what = fa_op_name(op->kind);

    CHECK((unsigned)op->code < FAINA_CODE_COUNT, "%s: code %d", what, (int)op->code);
    if (op->code != FAINA_OK) {
        CHECK(op->error.code == op->code, "%s: %s, but the error has %s", what,
              faina_code_name(op->code), faina_code_name(op->error.code));
        CHECK(op->error.message[0] != '\0', "%s: %s without a sentence", what,
              faina_code_name(op->code));
        return;
    }
    if (answers_task(op)) {
        CHECK(op->task != NULL, "%s: no task in the answer", what);
        fa_t_check_task(op->task);
    }
    if (op->kind == FA_OP_CLAIM_NEXT || op->kind == FA_OP_LIST || op->kind == FA_OP_CHILDREN) {
        CHECK(op->tasks != NULL, "%s: no list in the answer", what);
        for (size_t i = 0; i < op->tasks->count; i++)
            fa_t_check_task(&op->tasks->items[i]);
    }
}

void fa_t_run_all(struct fa_t *t, struct fa_op *ops, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ops[i].arena = &t->arena;
    fa_service_run(t->svc, ops, count);
    for (size_t i = 0; i < count; i++)
        check_answer(&ops[i]);
}

static enum faina_code keep_answer(struct fa_t *t)
{
    check_answer(&t->op);
    t->task = t->op.code == FAINA_OK && answers_task(&t->op) ? t->op.task : NULL;
    return t->op.code;
}

enum faina_code fa_t_run(struct fa_t *t, const struct fa_op *op)
{
    t->op = *op;
    t->op.arena = &t->arena;
    fa_service_run(t->svc, &t->op, 1);
    return keep_answer(t);
}

/* ------------------------------------------------------------------------------------------
 * Changes
 */

enum faina_code fa_t_submit_code(struct fa_t *t, const struct faina_submit *submit)
{
    return fa_t_run(t, &(struct fa_op){.kind = FA_OP_SUBMIT, .wants_task = true, .submit = submit});
}

const char *fa_t_submit_ok(struct fa_t *t, const struct faina_submit *submit, const char *file,
                           int line)
{
    fa_t_check_code(t, fa_t_submit_code(t, submit), FAINA_OK, "submit", file, line);
    return fa_arena_strdup(&t->arena, t->op.task_id);
}

enum faina_code fa_t_claim_for(struct fa_t *t, const char *id, const char *worker_id,
                               int64_t lease_ms)
{
    return fa_t_run(t, &(struct fa_op){.kind = FA_OP_CLAIM,
                                       .id = id,
                                       .by = BY(worker_id),
                                       .wants_task = true,
                                       .lease_ms = lease_ms});
}

enum faina_code fa_t_claim(struct fa_t *t, const char *id, const char *worker_id)
{
    return fa_t_claim_for(t, id, worker_id, 0);
}

enum faina_code fa_t_claim_next_code(struct fa_t *t, const struct faina_claim *claim)
{
    return fa_t_run(t, &(struct fa_op){.kind = FA_OP_CLAIM_NEXT,
                                       .by = BY(claim->worker_id),
                                       .wants_task = true,
                                       .claim = claim});
}

enum faina_code fa_t_claim_wait(struct fa_t *t, const struct faina_claim *claim)
{
    t->op = (struct fa_op){.kind = FA_OP_CLAIM_NEXT,
                           .by = BY(claim->worker_id),
                           .wants_task = true,
                           .claim = claim,
                           .arena = &t->arena};
    t->op.code = fa_service_claim_wait(t->svc, &t->op, &t->op.error);
    return keep_answer(t);
}

/* A change of one task without parameters other than `by`. */
static enum faina_code change(struct fa_t *t, enum fa_op_kind kind, const char *id,
                              struct faina_by by)
{
    return fa_t_run(t, &(struct fa_op){.kind = kind, .id = id, .by = by, .wants_task = true});
}

enum faina_code fa_t_start(struct fa_t *t, const char *id, struct faina_by by)
{
    return change(t, FA_OP_START, id, by);
}

enum faina_code fa_t_report(struct fa_t *t, const char *id, struct faina_by by,
                            const struct faina_report *report)
{
    return fa_t_run(
        t, &(struct fa_op){
               .kind = FA_OP_PROGRESS, .id = id, .by = by, .wants_task = true, .report = report});
}

enum faina_code fa_t_progress(struct fa_t *t, const char *id, struct faina_by by, int progress)
{
    return fa_t_report(t, id, by,
                       &(struct faina_report){.has_progress = true, .progress = progress});
}

enum faina_code fa_t_heartbeat(struct fa_t *t, const char *id, struct faina_by by, int64_t lease_ms)
{
    return fa_t_run(
        t, &(struct fa_op){.kind = FA_OP_HEARTBEAT, .id = id, .by = by, .lease_ms = lease_ms});
}

enum faina_code fa_t_complete(struct fa_t *t, const char *id, struct faina_by by,
                              const char *output)
{
    return fa_t_run(
        t, &(struct fa_op){
               .kind = FA_OP_COMPLETE, .id = id, .by = by, .wants_task = true, .output = output});
}

enum faina_code fa_t_fail_with(struct fa_t *t, const char *id, struct faina_by by,
                               const struct faina_failure *failure)
{
    return fa_t_run(
        t, &(struct fa_op){
               .kind = FA_OP_FAIL, .id = id, .by = by, .wants_task = true, .failure = failure});
}

enum faina_code fa_t_fail_attempt(struct fa_t *t, const char *id, struct faina_by by,
                                  const char *message)
{
    return fa_t_fail_with(t, id, by, &(struct faina_failure){.message = message});
}

enum faina_code fa_t_fail_final(struct fa_t *t, const char *id, struct faina_by by,
                                const char *message)
{
    return fa_t_fail_with(t, id, by,
                          &(struct faina_failure){.message = message, .permanent = true});
}

static enum faina_code block(struct fa_t *t, const char *id, struct faina_by by,
                             const struct faina_submit *subtasks, size_t count, bool fail_fast)
{
    return fa_t_run(t, &(struct fa_op){.kind = FA_OP_BLOCK,
                                       .id = id,
                                       .by = by,
                                       .wants_task = true,
                                       .block = {subtasks, count, fail_fast}});
}

enum faina_code fa_t_block(struct fa_t *t, const char *id, struct faina_by by,
                           const struct faina_submit *subtasks, size_t count)
{
    return block(t, id, by, subtasks, count, false);
}

enum faina_code fa_t_block_fast(struct fa_t *t, const char *id, struct faina_by by,
                                const struct faina_submit *subtasks, size_t count)
{
    return block(t, id, by, subtasks, count, true);
}

enum faina_code fa_t_background(struct fa_t *t, const char *id, struct faina_by by,
                                int64_t timeout_ms)
{
    return fa_t_run(t, &(struct fa_op){.kind = FA_OP_BACKGROUND,
                                       .id = id,
                                       .by = by,
                                       .wants_task = true,
                                       .background = {"somewhere else", timeout_ms}});
}

enum faina_code fa_t_release(struct fa_t *t, const char *id, struct faina_by by)
{
    return change(t, FA_OP_RELEASE, id, by);
}

enum faina_code fa_t_cancel(struct fa_t *t, const char *id, struct faina_by by)
{
    return change(t, FA_OP_CANCEL, id, by);
}

enum faina_code fa_t_retry(struct fa_t *t, const char *id, struct faina_by by)
{
    return change(t, FA_OP_RETRY, id, by);
}

enum faina_code fa_t_retry_keep(struct fa_t *t, const char *id, struct faina_by by)
{
    return fa_t_run(
        t, &(struct fa_op){
               .kind = FA_OP_RETRY, .id = id, .by = by, .wants_task = true, .keep_attempts = true});
}

enum faina_code fa_t_delete_with(struct fa_t *t, const char *id, struct faina_by by,
                                 struct faina_removal removal)
{
    return fa_t_run(t,
                    &(struct fa_op){.kind = FA_OP_DELETE, .id = id, .by = by, .removal = removal});
}

enum faina_code fa_t_delete(struct fa_t *t, const char *id)
{
    return fa_t_delete_with(t, id, NOBODY, (struct faina_removal){0});
}

enum faina_code fa_t_purge_code(struct fa_t *t, const struct faina_purge *purge)
{
    return fa_t_run(t, &(struct fa_op){.kind = FA_OP_PURGE, .purge = purge});
}

enum faina_code fa_t_pause(struct fa_t *t, const char *ns, const char *type)
{
    return fa_t_run(t, &(struct fa_op){.kind = FA_OP_PAUSE, .name = {ns, type, NULL}});
}

enum faina_code fa_t_resume(struct fa_t *t, const char *ns, const char *type)
{
    return fa_t_run(t, &(struct fa_op){.kind = FA_OP_RESUME, .name = {ns, type, NULL}});
}

/* ------------------------------------------------------------------------------------------
 * Reading
 */

enum faina_code fa_t_get(struct fa_t *t, const char *id)
{
    return fa_t_run(t, &(struct fa_op){.kind = FA_OP_GET, .id = id});
}

enum faina_code fa_t_get_by_key(struct fa_t *t, const char *ns, const char *type, const char *key)
{
    return fa_t_run(t, &(struct fa_op){.kind = FA_OP_GET_BY_KEY, .name = {ns, type, key}});
}

enum faina_code fa_t_list_code(struct fa_t *t, const struct faina_query *query)
{
    return fa_t_run(t, &(struct fa_op){.kind = FA_OP_LIST, .query = query});
}

enum faina_code fa_t_children(struct fa_t *t, const char *id, int limit, const char *cursor)
{
    return fa_t_run(t, &(struct fa_op){.kind = FA_OP_CHILDREN, .id = id, .page = {limit, cursor}});
}

enum faina_code fa_t_events(struct fa_t *t, const char *id, int limit)
{
    return fa_t_run(t, &(struct fa_op){.kind = FA_OP_EVENTS, .id = id, .page = {limit, NULL}});
}

enum faina_code fa_t_explain(struct fa_t *t, const char *id)
{
    return fa_t_run(t, &(struct fa_op){.kind = FA_OP_EXPLAIN, .id = id});
}

enum faina_code fa_t_wait(struct fa_t *t, const char *id, int64_t timeout_ms)
{
    t->op = (struct fa_op){.kind = FA_OP_GET, .id = id, .arena = &t->arena};
    t->op.code = fa_service_wait(t->svc, &t->op, timeout_ms, &t->op.error);
    if (t->op.code == FAINA_OK || t->op.code == FAINA_TIMEOUT) {
        CHECK(t->op.task != NULL, "wait: no task in the answer");
        fa_t_check_task(t->op.task);
        t->task = t->op.task;
    }
    return t->op.code;
}

/* ------------------------------------------------------------------------------------------
 * Resources, teams, numbers
 */

enum faina_code fa_t_resource_set(struct fa_t *t, const char *name, int64_t max_concurrency)
{
    return fa_t_run(
        t, &(struct fa_op){.kind = FA_OP_RESOURCE_SET, .resource = {name, max_concurrency}});
}

enum faina_code fa_t_resource_remove(struct fa_t *t, const char *name)
{
    return fa_t_run(t, &(struct fa_op){.kind = FA_OP_RESOURCE_REMOVE, .resource = {name, 0}});
}

enum faina_code fa_t_resource_list(struct fa_t *t, const char *name)
{
    return fa_t_run(t, &(struct fa_op){.kind = FA_OP_RESOURCE_LIST, .resource = {name, 0}});
}

int64_t fa_t_in_use(struct fa_t *t, const char *name)
{
    CHECK_OK(t, fa_t_resource_list(t, name));
    CHECK_INT(t->op.resources->count, 1);
    CHECK_STR(t->op.resources->items[0].name, name);
    return t->op.resources->items[0].in_use;
}

enum faina_code fa_t_team_put(struct fa_t *t, const struct faina_team *team)
{
    return fa_t_run(t, &(struct fa_op){.kind = FA_OP_TEAM_PUT, .team = team});
}

enum faina_code fa_t_team_remove(struct fa_t *t, const char *id)
{
    return fa_t_run(t, &(struct fa_op){.kind = FA_OP_TEAM_REMOVE, .id = id});
}

enum faina_code fa_t_team_list(struct fa_t *t, const char *ns, const char *id)
{
    return fa_t_run(t,
                    &(struct fa_op){.kind = FA_OP_TEAM_LIST, .id = id, .name = {ns, NULL, NULL}});
}

enum faina_code fa_t_stats(struct fa_t *t, const char *ns)
{
    return fa_t_run(t, &(struct fa_op){.kind = FA_OP_STATS, .name = {ns, NULL, NULL}});
}
