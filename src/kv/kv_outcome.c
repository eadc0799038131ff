/*
 * kv_outcome.c - claims, and what workers report about the tasks they hold.
 *
 * An outcome that arrives too late is refused and stored as the event `late_result`, so that users
 * see why the work was lost.
 */
#include "kv/kv_ops.h"

#include "json/merge.h"
#include "model/limits.h"
#include "model/task_rules.h"
#include "service/access.h"

#include <stdlib.h>

struct fa_holding fa_kv_holding(const struct fa_kv_record *record)
{
    return (struct fa_holding){record->task.status, record->worker, record->task.fence,
                               record->task.version};
}

enum faina_code fa_kv_enter(const struct fa_kv_record *record, struct fa_op *op)
{
    struct fa_holding holding = fa_kv_holding(record);
    enum faina_code code = fa_kv_permit(op, record);

    return code == FAINA_OK ? fa_holding_check_version(&holding, op) : code;
}

static enum faina_actor actor_of(const struct fa_op *op)
{
    return op->by.worker_id != NULL ? FAINA_ACTOR_WORKER : FAINA_ACTOR_API;
}

static enum fa_kv_verdict keep(struct fa_kv_change *change, enum faina_code code)
{
    change->code = code;
    return FA_KV_KEEP;
}

static enum fa_kv_verdict refuse(struct fa_kv_change *change, const struct fa_kv_record *record,
                                 enum fa_trigger trigger)
{
    struct fa_holding holding = fa_kv_holding(record);

    return keep(change, fa_holding_refuse(&holding, trigger, change->op));
}

static enum faina_code check_holder(const struct fa_kv_record *record, struct fa_op *op)
{
    struct fa_holding holding = fa_kv_holding(record);

    return fa_holding_check(&holding, op);
}

static bool is_allowed(const struct fa_kv_record *record, enum fa_trigger trigger)
{
    return fa_rule_find(record->task.status, trigger) != NULL;
}

static bool is_same_text(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static bool is_same_json(const char *a, const char *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    return fa_json_same(fa_str(a), fa_str(b));
}

/* Adds an event that is no change of the task; not if the newest one is the same, because a client
 * that repeats a request must not push out the others. False: it was there. */
static bool add_note(struct fa_kv_engine *engine, struct fa_kv_change *change,
                     struct fa_kv_record *record, const char *what, const char *detail)
{
    const struct fa_op *op = change->op;

    if (record->event_count > 0) {
        const struct faina_event *last = &record->events[record->event_count - 1];

        if (strcmp(last->what, what) == 0 && is_same_text(last->worker_id, op->by.worker_id) &&
            is_same_text(last->detail, detail))
            return false;
    }
    fa_kv_record_event(
        record, change->arena,
        &(struct faina_event){.at_us = fa_kv_record_time(record, fa_kv_now(engine)),
                              .what = fa_arena_strdup(change->arena, what),
                              .status = record->task.status,
                              .actor = actor_of(op),
                              .worker_id = fa_arena_strdup(change->arena, op->by.worker_id),
                              .detail = fa_arena_strdup(change->arena, detail)});
    return true;
}

/* Adds a late_result event, unless the task was never claimed. */
static enum fa_kv_verdict refuse_late(struct fa_kv_engine *engine, struct fa_kv_change *change,
                                      struct fa_kv_record *record, enum faina_code code)
{
    const struct fa_op *op = change->op;
    const char *detail;

    if (record->task.fence == 0)
        return keep(change, code);
    detail =
        fa_late_json(fa_op_name(op->kind), fa_gives_fence(op), op->by.fence, code, change->arena);
    change->code = code;
    return add_note(engine, change, record, "late_result", detail) ? FA_KV_WRITE : FA_KV_KEEP;
}

/* ------------------------------------------------------------------------------------------
 * Claiming
 */

static void claim(struct fa_kv_engine *engine, struct fa_kv_change *change,
                  struct fa_kv_record *record, const char *worker, int64_t lease_ms)
{
    fa_kv_record_apply(record,
                       &(struct fa_kv_step){.trigger = FA_CLAIM,
                                            .actor = FAINA_ACTOR_WORKER,
                                            .worker = worker,
                                            .lease_us = fa_lease_us(lease_ms),
                                            .permit = change->permit},
                       fa_kv_now(engine), change->arena);
}

static bool is_held_by(const struct fa_kv_record *record, const char *worker)
{
    return fa_status_is_held(record->task.status) && worker != NULL &&
           is_same_text(record->worker, worker);
}

enum fa_kv_verdict fa_kv_decide_claim(struct fa_kv_engine *engine, struct fa_kv_change *change,
                                      struct fa_kv_record *record)
{
    struct fa_op *op = change->op;
    enum faina_code code = fa_kv_enter(record, op);

    if (code == FAINA_OK && op->is_strict)
        code = fa_error_set(&op->error, FAINA_NOT_SUPPORTED,
                            "an engine on NATS has no claims with ifReady; SQLite and PostgreSQL "
                            "have them");
    if (code != FAINA_OK || is_held_by(record, op->by.worker_id))
        return keep(change, code);
    if (!is_allowed(record, FA_CLAIM))
        return refuse(change, record, FA_CLAIM);
    claim(engine, change, record, op->by.worker_id, op->lease_ms);
    return FA_KV_WRITE;
}

/* CLAIM_NEXT. The task is still ready, because it has the revision that the index had. */
enum fa_kv_verdict fa_kv_decide_take(struct fa_kv_engine *engine, struct fa_kv_change *change,
                                     struct fa_kv_record *record)
{
    const struct fa_op *op = change->op;

    if (!is_allowed(record, FA_CLAIM))
        return keep(change, FAINA_CONFLICT);
    claim(engine, change, record, op->claim->worker_id, op->claim->lease_ms);
    return FA_KV_WRITE;
}

enum fa_kv_verdict fa_kv_decide_start(struct fa_kv_engine *engine, struct fa_kv_change *change,
                                      struct fa_kv_record *record)
{
    struct fa_op *op = change->op;
    enum faina_code code = fa_kv_enter(record, op);

    if (code != FAINA_OK)
        return keep(change, code);
    if (record->task.status == FAINA_RUNNING && record->worker != NULL &&
        (!op->by_status ||
         (op->by.worker_id != NULL && strcmp(op->by.worker_id, record->worker) == 0)))
        return keep(change, check_holder(record, op)); /* a repeated request */
    if (!is_allowed(record, FA_START))
        return refuse(change, record, FA_START);
    if (record->task.status == FAINA_CLAIMED)
        code = check_holder(record, op);
    else if (fa_gives_fence(op) && (op->by.fence != 0 || record->task.fence != 0))
        code = fa_error_set(&op->error, FAINA_TASK_NOT_CLAIMED,
                            "the task is no longer claimed: the claim with fence %lld has ended",
                            (long long)op->by.fence);
    if (code != FAINA_OK)
        return keep(change, code);
    fa_kv_record_apply(record,
                       &(struct fa_kv_step){.trigger = FA_START,
                                            .actor = actor_of(op),
                                            .worker = op->by.worker_id,
                                            .lease_us = fa_lease_us(op->lease_ms)},
                       fa_kv_now(engine), change->arena);
    return FA_KV_WRITE;
}

static void give_back(struct fa_kv_engine *engine, struct fa_kv_change *change,
                      struct fa_kv_record *record, enum fa_trigger trigger, const char *worker)
{
    fa_kv_record_apply(
        record,
        &(struct fa_kv_step){
            .trigger = trigger, .actor = FAINA_ACTOR_WORKER, .worker = worker, .what = "released"},
        fa_kv_now(engine), change->arena);
}

enum fa_kv_verdict fa_kv_decide_release(struct fa_kv_engine *engine, struct fa_kv_change *change,
                                        struct fa_kv_record *record)
{
    struct fa_op *op = change->op;
    enum faina_code code = fa_kv_enter(record, op);

    if (code != FAINA_OK)
        return keep(change, code);
    if (!is_allowed(record, FA_RELEASE))
        return refuse(change, record, FA_RELEASE);
    code = check_holder(record, op);
    if (code != FAINA_OK)
        return keep(change, code);
    give_back(engine, change, record, FA_RELEASE, op->by.worker_id);
    return FA_KV_WRITE;
}

enum fa_kv_verdict fa_kv_decide_snooze(struct fa_kv_engine *engine, struct fa_kv_change *change,
                                       struct fa_kv_record *record)
{
    struct fa_op *op = change->op;
    enum faina_code code = fa_kv_enter(record, op);
    int64_t now = fa_kv_now(engine);

    if (code != FAINA_OK)
        return keep(change, code);
    if (!is_allowed(record, FA_SNOOZE))
        return refuse(change, record, FA_SNOOZE);
    code = check_holder(record, op);
    if (code != FAINA_OK)
        return keep(change, code);
    fa_kv_record_apply(record,
                       &(struct fa_kv_step){.trigger = FA_SNOOZE,
                                            .actor = actor_of(op),
                                            .worker = op->by.worker_id,
                                            .what = "snoozed",
                                            .detail = fa_snooze_json(op->snooze_ms, change->arena),
                                            .until_us = now + op->snooze_ms * 1000},
                       now, change->arena);
    return FA_KV_WRITE;
}

enum fa_kv_verdict fa_kv_decide_return(struct fa_kv_engine *engine, struct fa_kv_change *change,
                                       struct fa_kv_record *record)
{
    const char *worker = change->ctx;

    if (record->task.status != FAINA_CLAIMED || !is_same_text(record->worker, worker) ||
        !fa_access_reaches(change->op->grant, record->task.ns))
        return keep(change, FAINA_CONFLICT);
    give_back(engine, change, record, FA_RELEASE, worker);
    return FA_KV_WRITE;
}

/* ------------------------------------------------------------------------------------------
 * Leases
 */

static void renew(struct fa_kv_engine *engine, struct fa_kv_record *record, int64_t lease_ms)
{
    int64_t now = fa_kv_now(engine), until = now + fa_lease_us(lease_ms);

    if (!fa_status_is_held(record->task.status) || record->worker == NULL)
        return;
    if (lease_ms == 0) { /* as claimed; never shortens it */
        until = now + fa_lease_us(record->lease_ms);
        if (until < record->at_us)
            return;
    }
    record->at_us = until;
}

enum fa_kv_verdict fa_kv_decide_heartbeat(struct fa_kv_engine *engine, struct fa_kv_change *change,
                                          struct fa_kv_record *record)
{
    struct fa_holding holding = fa_kv_holding(record);
    struct fa_op *op = change->op;
    enum faina_code code = fa_kv_enter(record, op);

    if (code != FAINA_OK)
        return keep(change, code);
    if (fa_status_is_ended(record->task.status))
        return refuse(change, record, FA_PROGRESS);
    if (!fa_status_is_held(record->task.status) || record->worker == NULL)
        return keep(change, fa_holding_refuse_unheld(&holding, op));
    code = fa_holding_check(&holding, op);
    if (code != FAINA_OK)
        return keep(change, code);
    renew(engine, record, op->lease_ms);
    return FA_KV_WRITE;
}

enum fa_kv_verdict fa_kv_decide_renew(struct fa_kv_engine *engine, struct fa_kv_change *change,
                                      struct fa_kv_record *record)
{
    const struct fa_kv_renewal *renewal = change->ctx;

    if (!is_held_by(record, renewal->worker) ||
        (renewal->fence != 0 && renewal->fence != record->task.fence) ||
        !fa_access_reaches(renewal->grant, record->task.ns))
        return keep(change, FAINA_WRONG_WORKER);
    renew(engine, record, renewal->lease_ms);
    return FA_KV_WRITE;
}

/* How an attempt failed. */
struct attempt_end {
    const char *what; /* the event */
    bool is_lost;     /* the lease has expired: it is retried without backoff */
    bool by_engine;   /* the engine ends it, by the clock */
    enum faina_actor actor;
    const char *worker, *error;
    int64_t retry_at_us; /* when it is retried; 0: by its backoff */
};

/* Ends a failed attempt: the task is retried or, with no attempts left, becomes a dead letter. */
static void end_attempt(struct fa_kv_engine *engine, struct fa_kv_change *change,
                        struct fa_kv_record *record, const struct attempt_end *end)
{
    struct faina_task *task = &record->task;
    bool has_left = task->max_attempts == 0 || task->attempts < task->max_attempts;
    struct fa_kv_step step = {.actor = end->actor,
                              .worker = end->worker,
                              .detail = has_left ? end->error : NULL,
                              .until_us = has_left ? end->retry_at_us : 0};
    int64_t now = fa_kv_now(engine);

    task->error = end->error;
    if (has_left) {
        step.trigger = end->is_lost ? FA_LOSE_RETRY : FA_FAIL_RETRY;
        step.what = end->what;
        step.backoff_us = fa_kv_engine_backoff_us(engine, task);
    } else {
        step.trigger = end->is_lost ? FA_LOSE_LAST : FA_FAIL_LAST;
        if (end->by_engine) /* the last event is dead_letter; its cause is an event of its own */
            fa_kv_record_event(
                record, change->arena,
                &(struct faina_event){.at_us = fa_kv_record_time(record, now),
                                      .what = end->what,
                                      .status = task->status,
                                      .actor = end->actor,
                                      .worker_id = fa_arena_strdup(change->arena, end->worker),
                                      .detail = end->error});
    }
    fa_kv_record_apply(record, &step, now, change->arena);
}

enum fa_kv_verdict fa_kv_decide_expire(struct fa_kv_engine *engine, struct fa_kv_change *change,
                                       struct fa_kv_record *record)
{
    bool is_background = record->task.status == FAINA_BACKGROUND;
    struct faina_failure failure = {.kind = is_background ? "expired" : "lease_lost",
                                    .message = "the background work was not finished in time"};
    const char *worker = is_background ? NULL : record->worker;

    if (!is_allowed(record, FA_LOSE_RETRY) || record->at_us == 0 ||
        record->at_us + (is_background ? 0 : FA_KV_CLOCK_SLACK_US) > fa_kv_now(engine))
        return keep(change, FAINA_OK); /* it was renewed, or has ended */
    if (!is_background)
        failure.message = fa_arena_printf(change->arena, "worker %s did not renew its lease",
                                          worker != NULL ? worker : "(none)");
    change->is_lost = !is_background;
    end_attempt(engine, change, record,
                &(struct attempt_end){.what = failure.kind,
                                      .is_lost = !is_background,
                                      .by_engine = true,
                                      .actor = FAINA_ACTOR_SYSTEM,
                                      .worker = worker,
                                      .error = fa_failure_json(&failure, change->arena)});
    return FA_KV_WRITE;
}

/* ------------------------------------------------------------------------------------------
 * While it runs
 */

enum fa_kv_verdict fa_kv_decide_progress(struct fa_kv_engine *engine, struct fa_kv_change *change,
                                         struct fa_kv_record *record)
{
    struct fa_op *op = change->op;
    const struct faina_report *report = op->report;
    struct faina_task *task = &record->task;
    const char *metadata = NULL;
    enum faina_code code = fa_kv_enter(record, op);

    if (code == FAINA_OK && !is_allowed(record, FA_PROGRESS))
        return refuse(change, record, FA_PROGRESS);
    if (code == FAINA_OK)
        code = check_holder(record, op);
    if (code == FAINA_OK && report->metadata != NULL) {
        metadata = fa_json_merge(task->metadata, report->metadata, change->arena);
        if (strlen(metadata) > FA_METADATA_SIZE_MAX)
            code = fa_error_field(&op->error, FAINA_PAYLOAD_TOO_LARGE, "metadata",
                                  "metadata would be %zu bytes long; the limit is %d",
                                  strlen(metadata), FA_METADATA_SIZE_MAX);
    }
    if (code != FAINA_OK)
        return keep(change, code);
    task->updated_us = fa_kv_record_time(record, fa_kv_now(engine));
    if (report->has_progress)
        task->progress = report->progress;
    if (report->state != NULL)
        record->state = fa_arena_strdup(change->arena, report->state);
    if (metadata != NULL)
        task->metadata = metadata;
    renew(engine, record, 0);
    fa_kv_record_event(
        record, change->arena,
        &(struct faina_event){
            .at_us = task->updated_us,
            .what = "progress",
            .status = task->status,
            .actor = actor_of(op),
            .state = record->state,
            .worker_id = fa_arena_strdup(change->arena, op->by.worker_id),
            .detail = report->has_progress
                          ? fa_arena_printf(change->arena, "{\"progress\":%d}", report->progress)
                          : NULL});
    return FA_KV_WRITE;
}

/* Whether the note comes from an attempt that is over: its fence is that of an earlier claim, or of
 * the last one and the task isn't held any more. */
static bool is_of_past_attempt(const struct fa_kv_record *record, const struct fa_op *op)
{
    if (op->by.fence <= 0 || op->by.fence > record->task.fence)
        return false;
    return op->by.fence < record->task.fence || !fa_status_uses_resources(record->task.status);
}

enum fa_kv_verdict fa_kv_decide_note(struct fa_kv_engine *engine, struct fa_kv_change *change,
                                     struct fa_kv_record *record)
{
    struct fa_op *op = change->op;
    enum faina_code code = fa_kv_enter(record, op);

    if (code == FAINA_OK && !is_of_past_attempt(record, op)) {
        if (!is_allowed(record, FA_PROGRESS))
            return refuse(change, record, FA_PROGRESS);
        code = check_holder(record, op);
    }
    if (code != FAINA_OK)
        return keep(change, code);
    return add_note(engine, change, record, op->note.what, op->note.detail) ? FA_KV_WRITE
                                                                            : FA_KV_KEEP;
}

static bool has_no_retry(const struct faina_retry_policy *retry)
{
    return retry->base_ms == 0 && retry->max_ms == 0 && retry->factor <= 0;
}

static int by_text(const void *a, const void *b)
{
    return fa_name_compare(*(const char *const *)a, *(const char *const *)b);
}

/* The task's resources and further ones, sorted and without repeats. */
static const char **join_resources(const struct faina_task *task, const struct faina_submit *more,
                                   struct fa_arena *arena, size_t *count)
{
    size_t all = task->resource_count + more->resource_count, kept = 0;
    const char **names = fa_arena_zero(arena, all + 1, sizeof(char *));

    for (size_t i = 0; i < all; i++)
        names[i] = i < task->resource_count
                       ? task->resources[i]
                       : fa_arena_strdup(arena, more->resources[i - task->resource_count]);
    if (all > 1)
        qsort(names, all, sizeof(char *), by_text);
    for (size_t i = 0; i < all; i++)
        if (kept == 0 || !fa_name_is_same(names[kept - 1], names[i]))
            names[kept++] = names[i];
    *count = kept;
    return names;
}

/* Sets what the submit has left open, from the settings of the type. For more resources the task
 * goes back in line without spending an attempt, and the next claim applies their limits. */
enum fa_kv_verdict fa_kv_decide_amend(struct fa_kv_engine *engine, struct fa_kv_change *change,
                                      struct fa_kv_record *record)
{
    struct fa_op *op = change->op;
    const struct faina_submit *defaults = op->submit;
    struct faina_task *task = &record->task;
    size_t count;
    const char **names = join_resources(task, defaults, change->arena, &count);
    bool is_wider = count > task->resource_count;
    bool wants_attempts = defaults->max_attempts != 0 &&
                          task->max_attempts == FA_ATTEMPTS_DEFAULT &&
                          defaults->max_attempts != FA_ATTEMPTS_DEFAULT;
    bool wants_retry = has_no_retry(&task->retry) && !has_no_retry(&defaults->retry);
    enum fa_trigger trigger = is_wider ? FA_REQUEUE : FA_PROGRESS;
    enum faina_code code = fa_kv_enter(record, op);
    struct fa_buf detail;

    if (code == FAINA_OK && !is_allowed(record, trigger))
        return refuse(change, record, trigger);
    if (code == FAINA_OK && count > FA_RESOURCES_MAX)
        code = fa_error_field(&op->error, FAINA_INVALID_REQUEST, "resources",
                              "a task can use at most %d resources", FA_RESOURCES_MAX);
    if (code == FAINA_OK)
        code = check_holder(record, op);
    if (code != FAINA_OK || !(is_wider || wants_attempts || wants_retry))
        return keep(change, code);
    if (wants_attempts)
        task->max_attempts = fa_task_max_attempts(defaults->max_attempts);
    if (wants_retry)
        task->retry = defaults->retry;
    fa_buf_init(&detail, SIZE_MAX / 2);
    fa_buf_printf(&detail, "{\"maxAttempts\":%lld,\"resources\":[", (long long)task->max_attempts);
    for (size_t i = 0; i < count; i++) {
        struct fa_json_writer w;

        if (i > 0)
            fa_buf_add_char(&detail, ',');
        fa_json_writer_init(&w, &detail, 0);
        fa_json_put_str(&w, names[i]);
    }
    fa_buf_add_str(&detail, "]}");
    add_note(engine, change, record, "amended", detail.ptr);
    fa_buf_finish(&detail);
    if (is_wider) {
        give_back(engine, change, record, FA_REQUEUE, op->by.worker_id);
        task->resources = names;
        task->resource_count = count;
    }
    return FA_KV_WRITE;
}

/* ------------------------------------------------------------------------------------------
 * Ends
 */

/* The worker that ends a task which no worker holds: it may repeat the request. */
static void set_reporting_worker(struct fa_kv_change *change, struct fa_kv_record *record)
{
    if (record->worker == NULL)
        record->worker = fa_arena_strdup(change->arena, change->op->by.worker_id);
}

enum fa_kv_verdict fa_kv_decide_complete(struct fa_kv_engine *engine, struct fa_kv_change *change,
                                         struct fa_kv_record *record)
{
    struct fa_holding holding = fa_kv_holding(record);
    struct fa_op *op = change->op;
    enum faina_code code = fa_kv_enter(record, op);

    if (code != FAINA_OK)
        return keep(change, code);
    if (record->task.status == FAINA_COMPLETED && fa_holding_is_by(&holding, op) &&
        is_same_json(record->task.output, op->output))
        return keep(change, FAINA_OK); /* a repeated request */
    if (!is_allowed(record, FA_COMPLETE))
        return refuse_late(engine, change, record, fa_holding_refuse(&holding, FA_COMPLETE, op));
    code = fa_holding_check(&holding, op);
    if (code != FAINA_OK)
        return refuse_late(engine, change, record, code);
    record->task.output = fa_arena_strdup(change->arena, op->output);
    record->task.error = NULL;
    record->task.progress = 100;
    set_reporting_worker(change, record);
    fa_kv_record_apply(record, &(struct fa_kv_step){.trigger = FA_COMPLETE, .actor = actor_of(op)},
                       fa_kv_now(engine), change->arena);
    return FA_KV_WRITE;
}

/* Whether the request repeats the failure that was the task's last change. */
static bool is_repeated(const struct fa_kv_record *record, const struct fa_op *op,
                        const char *error)
{
    struct fa_holding holding = fa_kv_holding(record);
    enum faina_status status = record->task.status;
    size_t at = record->event_count;

    if (fa_holding_other_fence(&holding, op) || !is_same_json(record->task.error, error))
        return false;
    if (status == FAINA_FAILED || status == FAINA_DEAD_LETTER)
        return fa_holding_is_by(&holding, op);
    if (status != FAINA_PENDING || op->by.worker_id == NULL)
        return false;
    while (at > 0 && strcmp(record->events[at - 1].what, "late_result") == 0)
        at--; /* of other workers */
    return at > 0 && strcmp(record->events[at - 1].what, "retry_scheduled") == 0 &&
           is_same_text(record->events[at - 1].worker_id, op->by.worker_id);
}

enum fa_kv_verdict fa_kv_decide_fail(struct fa_kv_engine *engine, struct fa_kv_change *change,
                                     struct fa_kv_record *record)
{
    struct fa_op *op = change->op;
    enum fa_trigger trigger = op->failure->permanent ? FA_FAIL_FINAL : FA_FAIL_RETRY;
    struct fa_holding holding = fa_kv_holding(record);
    enum faina_code code = fa_kv_enter(record, op);
    bool is_back = record->task.status == FAINA_PENDING && record->task.fence > 0;
    const char *error;

    if (code != FAINA_OK)
        return keep(change, code);
    error = fa_failure_json(op->failure, change->arena);
    if ((!is_allowed(record, trigger) || fa_status_is_ended(record->task.status) || is_back) &&
        is_repeated(record, op, error))
        return keep(change, FAINA_OK);
    /* A pending task can be failed by a user, but not by a worker whose lease has expired. */
    if (is_back && (op->by.worker_id != NULL || fa_gives_fence(op)))
        return refuse_late(engine, change, record, fa_holding_refuse(&holding, FA_FAIL_RETRY, op));
    if (!is_allowed(record, trigger))
        return refuse_late(engine, change, record, fa_holding_refuse(&holding, trigger, op));
    code = fa_holding_check(&holding, op);
    if (code != FAINA_OK)
        return refuse_late(engine, change, record, code);
    set_reporting_worker(change, record);
    if (op->failure->permanent) {
        record->task.error = error;
        fa_kv_record_apply(record,
                           &(struct fa_kv_step){.trigger = FA_FAIL_FINAL, .actor = actor_of(op)},
                           fa_kv_now(engine), change->arena);
    } else {
        end_attempt(engine, change, record,
                    &(struct attempt_end){.what = "retry_scheduled",
                                          .actor = actor_of(op),
                                          .worker = op->by.worker_id,
                                          .error = error,
                                          .retry_at_us =
                                              fa_failure_retry_us(op->failure, fa_kv_now(engine))});
    }
    return FA_KV_WRITE;
}

enum fa_kv_verdict fa_kv_decide_background(struct fa_kv_engine *engine, struct fa_kv_change *change,
                                           struct fa_kv_record *record)
{
    struct fa_op *op = change->op;
    int64_t timeout_ms = op->background.timeout_ms;
    enum faina_code code = fa_kv_enter(record, op);

    if (code == FAINA_OK && !is_allowed(record, FA_BACKGROUND))
        return refuse(change, record, FA_BACKGROUND);
    if (code == FAINA_OK)
        code = check_holder(record, op);
    if (code != FAINA_OK)
        return keep(change, code);
    if (timeout_ms <= 0)
        timeout_ms = FA_BACKGROUND_MS_DEFAULT;
    fa_kv_record_apply(record,
                       &(struct fa_kv_step){.trigger = FA_BACKGROUND,
                                            .actor = actor_of(op),
                                            .worker = op->by.worker_id,
                                            .what = "background",
                                            .lease_us = timeout_ms * 1000,
                                            .state = op->background.reason},
                       fa_kv_now(engine), change->arena);
    return FA_KV_WRITE;
}
