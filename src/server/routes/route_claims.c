/*
 * route_claims.c - routes for workers: claims, transitions, outcomes.
 */
#include "server/routes/route.h"

#include "model/codes.h"
#include "model/other_names.h"
#include "model/trace.h"
#include "server/server_inner.h"
#include "wire/wire.h"

#include <stdio.h>

#define UNKNOWN_ERROR "Unknown error" /* for `failed` without an error */

/* ------------------------------------------------------------------------------------------
 * One task
 */

const struct fa_act_kind fa_act_claim = {&fa_body_claim, FA_OP_CLAIM},
                         fa_act_start = {&fa_body_start, FA_OP_START},
                         fa_act_complete = {&fa_body_complete, FA_OP_COMPLETE},
                         fa_act_fail = {&fa_body_fail, FA_OP_FAIL},
                         fa_act_progress = {&fa_body_progress, FA_OP_PROGRESS},
                         fa_act_heartbeat = {&fa_body_heartbeat, FA_OP_HEARTBEAT},
                         fa_act_subtask = {&fa_body_subtask, FA_OP_SUBTASK},
                         fa_act_block = {&fa_body_block, FA_OP_BLOCK},
                         fa_act_background = {&fa_body_background, FA_OP_BACKGROUND},
                         fa_act_release = {&fa_body_release, FA_OP_RELEASE},
                         fa_act_snooze = {&fa_body_snooze, FA_OP_SNOOZE},
                         fa_act_note = {&fa_body_note, FA_OP_NOTE},
                         fa_act_amend = {&fa_body_amend, FA_OP_AMEND},
                         fa_act_cancel = {&fa_body_cancel, FA_OP_CANCEL},
                         fa_act_retry = {&fa_body_retry, FA_OP_RETRY};

/* Adds the trace context for the handler of a claimed task. */
static void add_trace(struct fa_request *req, struct faina_task *task)
{
    char text[FA_TRACE_SIZE];

    if (fa_trace_of_claim(req->server->options.sampler, task, text))
        task->traceparent = fa_arena_strdup(&req->arena, text);
}

static void after_act(struct fa_request *req)
{
    const struct fa_op *op = &req->posted.ops[0];

    if (op->code == FAINA_OK && (op->kind == FA_OP_CLAIM || op->kind == FA_OP_START))
        add_trace(req, op->task);
    if (!fa_request_refused(req))
        fa_respond_task(req, 200, req->posted.ops[0].task);
}

static struct faina_report *make_report(struct fa_request *req, const struct fa_act *act)
{
    struct faina_report *report = fa_arena_zero(&req->arena, 1, sizeof(*report));

    report->has_progress = act->has_progress;
    report->progress = (int)act->progress;
    report->state = act->state;
    report->metadata = act->metadata;
    return report;
}

/* Fills in the operation from the body. False: the request was refused. */
static bool fill(struct fa_request *req, enum fa_op_kind kind, struct fa_act *act, struct fa_op *op)
{
    op->kind = kind;
    op->by = act->by;
    op->has_fence = act->has_fence;
    op->wants_task = true;
    switch ((int)kind) {
    case FA_OP_CLAIM:
        op->is_strict = act->is_strict;
        op->lease_ms = act->lease_ms;
        return true;
    case FA_OP_START:
    case FA_OP_HEARTBEAT:
        op->lease_ms = act->lease_ms;
        return true;
    case FA_OP_COMPLETE:
        op->output = act->output;
        return true;
    case FA_OP_FAIL:
        op->failure = &act->failure;
        return act->has_error || fa_respond_missing(req, "error");
    case FA_OP_PROGRESS:
        op->report = make_report(req, act);
        return true;
    case FA_OP_SUBTASK:
    case FA_OP_BLOCK:
        op->block.subtasks = act->subtasks;
        op->block.count = act->subtask_count;
        op->block.fail_fast = act->fail_fast;
        return true;
    case FA_OP_BACKGROUND:
        op->background.reason = act->reason;
        op->background.timeout_ms = act->timeout_ms;
        return true;
    case FA_OP_SNOOZE:
        op->snooze_ms = act->timeout_ms;
        return act->has_for || fa_respond_missing(req, "for");
    case FA_OP_NOTE:
        op->note.what = act->event ? act->event : "";
        op->note.detail = act->detail;
        return true;
    case FA_OP_AMEND:
        op->submit = act->amendment;
        return act->amendment || fa_respond_missing(req, "task");
    case FA_OP_RETRY:
        op->keep_attempts = act->has_reset && !act->reset_attempts;
        return true;
    default: /* RELEASE and CANCEL have no more fields */
        return true;
    }
}

void fa_handle_act(struct fa_request *req)
{
    const struct fa_act_kind *kind = req->route->data;
    struct fa_act *act = fa_arena_zero(&req->arena, 1, sizeof(*act));
    struct fa_op *op;

    if (!fa_request_read(req, kind->body, act) || !fa_request_version(req, &act->by.version))
        return;
    op = fa_request_part_op(req, kind->kind);
    if (fill(req, kind->kind, act, op))
        fa_request_run(req, after_act);
}

void fa_handle_update(struct fa_request *req)
{
    struct fa_update_body *body = fa_arena_zero(&req->arena, 1, sizeof(*body));
    struct fa_op *op;
    int64_t version = 0;

    if (!fa_request_read(req, &fa_body_update, body) || !fa_request_version(req, &version))
        return;
    op = fa_request_part_op(req, FA_OP_UPDATE);
    op->by.version = version;
    op->update = &body->update;
    op->wants_task = true;
    fa_request_reason(req, body->reason);
    fa_request_run(req, after_act);
}

/* ------------------------------------------------------------------------------------------
 * PATCH /tasks/{id}/status
 */

static const struct {
    const char *status;
    enum fa_op_kind kind;
} transitions[] = {
    {"running", FA_OP_START},
    {"completed", FA_OP_COMPLETE},
    {"failed", FA_OP_FAIL},
    {"cancelled", FA_OP_CANCEL},
};

static bool is_pending(const char *word)
{
    const char *ours = fa_other_status(word);

    return ours && strcmp(ours, faina_status_name(FAINA_PENDING)) == 0;
}

static void run_transition(struct fa_request *req)
{
    struct fa_act *act = req->data;
    struct faina_error err;
    struct fa_op *op;

    for (size_t i = 0; i < FA_COUNT(transitions); i++) {
        if (strcmp(act->status, transitions[i].status) != 0)
            continue;
        op = fa_request_part_op(req, transitions[i].kind);
        op->for_holder = act->for_holder;
        op->by_status = true;
        if (fill(req, transitions[i].kind, act, op))
            fa_request_run(req, after_act);
        return;
    }
    fa_error_field(&err, FAINA_INVALID_REQUEST, "status",
                   "status must be running, completed, failed or cancelled%s%s",
                   fa_request_status_hint(req, act->status),
                   is_pending(act->status) ? "; POST :retry makes a task pending again" : "");
    fa_respond_problem(req, &err);
}

/* An administrator may act for the worker that holds the task; but a start of a task that runs is
 * no repeated request of that worker. Without tokens every caller is an administrator. */
static void after_holder(struct fa_request *req)
{
    const struct faina_task *task = req->posted.ops[0].task;
    struct fa_act *act = req->data;

    if (fa_request_refused(req))
        return;
    if (task->worker_id &&
        !(task->status == FAINA_RUNNING && strcmp(act->status, "running") == 0)) {
        act->by.worker_id = task->worker_id;
        act->for_holder = true;
        if (!act->has_fence)
            act->by.fence = task->fence;
    }
    run_transition(req);
}

void fa_handle_status(struct fa_request *req)
{
    struct fa_act *act = fa_arena_zero(&req->arena, 1, sizeof(*act));

    if (!fa_request_read(req, &fa_body_status, act) || !fa_request_version(req, &act->by.version))
        return;
    if (!act->status) {
        fa_respond_missing(req, "status");
        return;
    }
    if (!act->has_error)
        act->failure.message = UNKNOWN_ERROR;
    act->has_error = true;
    act->failure.permanent = true; /* here `failed` is final, even if attempts are left */
    req->data = act;
    if (!(req->grant.scopes & FA_SCOPE_ADMIN) || act->by.worker_id) {
        run_transition(req);
        return;
    }
    fa_request_part_op(req, FA_OP_GET);
    fa_request_run(req, after_holder);
}

/* ------------------------------------------------------------------------------------------
 * Claims
 */

static void after_claims(struct fa_request *req)
{
    const struct faina_tasks *tasks = req->posted.ops[0].tasks;
    struct fa_json_writer *w;

    if (fa_request_refused(req))
        return;
    w = fa_response_begin(req, 200);
    fa_json_begin_object(w);
    fa_json_key(w, "tasks");
    fa_json_begin_array(w);
    for (size_t i = 0; i < tasks->count; i++) {
        add_trace(req, &tasks->items[i]);
        fa_wire_put_task(w, &tasks->items[i]);
    }
    fa_json_end_array(w);
    fa_json_end_object(w);
    fa_response_end(req);
}

void fa_handle_claims(struct fa_request *req)
{
    struct faina_claim *claim = fa_arena_zero(&req->arena, 1, sizeof(*claim));
    struct fa_claims body = {.limit = 1};

    if (!fa_request_read(req, &fa_body_claims, &body))
        return;
    if (!body.namespaces.items)
        body.namespaces = req->grant.namespaces;
    *claim = (struct faina_claim){
        .worker_id = body.worker_id,
        .types = body.types.count > 0 ? body.types.items : NULL, /* []: any */
        .type_count = body.types.count,
        .namespaces = body.namespaces.items,
        .namespace_count = body.namespaces.count,
        .services = body.services.items,
        .service_count = body.services.count,
        .limit = (int)body.limit,
        .lease_ms = body.lease_ms,
        .wait_ms = body.wait_ms < FA_SERVER_WAIT_MS_MAX ? body.wait_ms : FA_SERVER_WAIT_MS_MAX,
    };
    fa_request_op(req, FA_OP_CLAIM_NEXT)->claim = claim;
    if (claim->wait_ms > 0)
        fa_request_claim_wait(req, after_claims);
    else
        fa_request_run(req, after_claims);
}

/* ------------------------------------------------------------------------------------------
 * Many at once
 */

/* {items: [{id} | problem]} in the order of the request. */
static void after_many(struct fa_request *req)
{
    const struct fa_many *many = req->data;
    const struct fa_op *op = req->posted.ops; /* one for each valid item */
    struct fa_json_writer *w = fa_response_begin(req, 200);

    fa_json_begin_object(w);
    fa_json_key(w, "items");
    fa_json_begin_array(w);
    for (size_t i = 0; i < many->count; i++) {
        const struct fa_act *act = &many->items[i];

        if (act->bad) {
            fa_wire_put_problem_as(w, act->bad, fa_code_http(act->bad->code), act->id);
            continue;
        }
        if (op->code != FAINA_OK) {
            fa_wire_put_problem_as(w, &op->error, fa_code_http(op->code), act->id);
            op++;
            continue;
        }
        fa_json_begin_object(w);
        fa_json_set_str(w, "id", op->task_id);
        fa_json_end_object(w);
        op++;
    }
    fa_json_end_array(w);
    fa_json_end_object(w);
    fa_response_end(req);
}

static size_t count_valid(const struct fa_many *many)
{
    size_t count = 0;

    for (size_t i = 0; i < many->count; i++)
        count += many->items[i].bad == NULL;
    return count;
}

static void run_many(struct fa_request *req)
{
    const struct fa_many *many = req->data;
    size_t valid = count_valid(many);
    struct fa_op *op = fa_request_ops(req, valid);

    for (size_t i = 0; i < many->count; i++) {
        struct fa_act *act = &many->items[i];

        if (act->bad)
            continue;
        op->id = act->id;
        op->by = (struct faina_by){.worker_id = many->worker_id, .fence = act->by.fence};
        op->has_fence = act->has_fence;
        if (!act->status) {
            op->kind = FA_OP_HEARTBEAT;
            op->lease_ms = many->lease_ms;
        } else if (strcmp(act->status, "completed") == 0) {
            op->kind = FA_OP_COMPLETE;
            op->output = act->output;
        } else {
            op->kind = FA_OP_FAIL;
            op->failure = &act->failure;
        }
        op++;
    }
    if (valid > 0)
        fa_request_run(req, after_many);
    else
        after_many(req);
}

/* Refuses one item. */
static void refuse_one(struct fa_request *req, struct fa_act *act, const char *field,
                       const char *what)
{
    struct faina_error *err = fa_arena_zero(&req->arena, 1, sizeof(*err));

    if (act->bad)
        return;
    fa_error_field(err, FAINA_INVALID_REQUEST, field, "%s %s", field, what);
    act->bad = err;
}

static void check_outcome(struct fa_request *req, struct fa_act *act)
{
    if (!act->id)
        refuse_one(req, act, "id", "is missing");
    else if (!act->status ||
             (strcmp(act->status, "completed") != 0 && strcmp(act->status, "failed") != 0))
        refuse_one(req, act, "status",
                   fa_arena_printf(&req->arena, "must be completed or failed%s",
                                   act->status ? fa_request_status_hint(req, act->status) : ""));
    else if (!act->has_error)
        act->failure.message = UNKNOWN_ERROR;
}

static void check_held(struct fa_request *req, struct fa_act *act)
{
    if (!act->id)
        refuse_one(req, act, "id", "is missing");
}

static void handle_many(struct fa_request *req, const struct fa_shape *body,
                        void (*check)(struct fa_request *req, struct fa_act *act))
{
    struct fa_many *many = fa_arena_zero(&req->arena, 1, sizeof(*many));

    if (!fa_request_read(req, body, many))
        return;
    if (!many->items) {
        fa_respond_missing(req, "items");
        return;
    }
    for (size_t i = 0; i < many->count; i++)
        check(req, &many->items[i]);
    req->data = many;
    run_many(req);
}

void fa_handle_outcomes(struct fa_request *req)
{
    handle_many(req, &fa_body_outcomes, check_outcome);
}

void fa_handle_heartbeats(struct fa_request *req)
{
    handle_many(req, &fa_body_heartbeats, check_held);
}

static enum fa_op_kind kind_of(const char *verb)
{
    static const struct {
        const char *verb;
        const struct fa_act_kind *kind;
    } rows[] = {
        {"claim", &fa_act_claim},       {"start", &fa_act_start},
        {"complete", &fa_act_complete}, {"fail", &fa_act_fail},
        {"progress", &fa_act_progress}, {"heartbeat", &fa_act_heartbeat},
        {"block", &fa_act_block},       {"background", &fa_act_background},
        {"release", &fa_act_release},   {"snooze", &fa_act_snooze},
        {"note", &fa_act_note},         {"amend", &fa_act_amend},
        {"subtask", &fa_act_subtask},
    };
    size_t i = 0;

    while (strcmp(rows[i].verb, verb) != 0) /* the body's reader accepts only these */
        i++;
    return rows[i].kind->kind;
}

static void run_acts(struct fa_request *req)
{
    const struct fa_many *many = req->data;
    size_t valid = count_valid(many);
    struct fa_op *op = fa_request_ops(req, valid);

    for (size_t i = 0; i < many->count; i++) {
        struct fa_act *act = &many->items[i];

        if (act->bad)
            continue;
        if (!fill(req, kind_of(act->verb), act, op))
            return;
        op->id = act->id;
        op->wants_task = false;
        op++;
    }
    if (valid > 0)
        fa_request_run(req, after_many);
    else
        after_many(req);
}

void fa_handle_acts(struct fa_request *req)
{
    struct fa_many *many = fa_arena_zero(&req->arena, 1, sizeof(*many));

    if (!fa_request_read(req, &fa_body_acts, many))
        return;
    req->data = many;
    run_acts(req);
}
