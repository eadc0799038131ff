/*
 * encode.c - operations as requests.
 *
 * A new kind of operation is a row in `request_formats`: method, path, query, body, and whether it
 * may be sent twice; and one in decode.c, for what comes back.
 */
#include "client/encode.h"

#include "model/audit_entry.h"
#include "model/failure_group.h"
#include "model/history.h"
#include "model/limits.h"
#include "model/times.h"
#include "model/workflow.h"
#include "service/audit_act.h"
#include "service/token.h"
#include "wire/body.h"
#include "wire/filter.h"
#include "wire/schedule_body.h"
#include "wire/type_body.h"
#include "wire/wire.h"
#include "wire/wire_bulk.h"

#include <assert.h>
#include <stdio.h>

#define APART_MAX 64                             /* requests sent at once */
#define MANY_SIZE_MAX ((size_t)32 * 1024 * 1024) /* of one body; the server takes twice that */

/* ------------------------------------------------------------------------------------------
 * Queries
 */

static void add_param(struct fa_call *call, const char *name, const char *value)
{
    if (!value)
        return;
    fa_buf_add_char(&call->path, strchr(call->path.ptr, '?') ? '&' : '?');
    fa_buf_add_str(&call->path, name);
    fa_buf_add_char(&call->path, '=');
    fa_call_escape(call, value);
}

static void add_int_param(struct fa_call *call, const char *name, int64_t value)
{
    char text[32];

    if (value == 0)
        return;
    snprintf(text, sizeof(text), "%lld", (long long)value);
    add_param(call, name, text);
}

static void add_time_param(struct fa_call *call, const char *name, int64_t us)
{
    char text[FA_TIME_SIZE];

    if (us == 0)
        return;
    fa_time_format(us, text);
    add_param(call, name, text);
}

static void add_ms_param(struct fa_call *call, const char *name, int64_t ms)
{
    char text[32];

    if (ms == 0)
        return;
    snprintf(text, sizeof(text), "%lldms", (long long)ms);
    add_param(call, name, text);
}

static void add_flag_param(struct fa_call *call, const char *name, bool is_set)
{
    if (is_set)
        add_param(call, name, "true");
}

static void add_condition(void *ctx, const char *name, const char *value)
{
    struct fa_call *call = ctx;

    fa_buf_add_char(&call->path, strchr(call->path.ptr, '?') ? '&' : '?');
    fa_call_escape(call, name);
    fa_buf_add_char(&call->path, '=');
    fa_call_escape(call, value);
}

static void query_list(const struct fa_op *op, struct fa_call *call)
{
    static const char *const sorts[] = {NULL, "updatedAt", "priority", "runAt"};
    const struct faina_query *query = op->query;

    fa_filter_each(query, add_condition, call);
    add_param(call, "sort", sorts[query->sort]);
    add_param(call, "order", query->ascending ? "asc" : NULL);
    add_int_param(call, "limit", query->limit);
    add_param(call, "cursor", query->cursor);
    add_flag_param(call, "brief", query->brief);
}

static void query_key(const struct fa_op *op, struct fa_call *call)
{
    add_param(call, "namespace", op->name.ns);
    add_param(call, "type", op->name.type);
    add_param(call, "idempotencyKey", op->name.key);
    add_param(call, "limit", "1");
}

static void query_page(const struct fa_op *op, struct fa_call *call)
{
    add_int_param(call, "limit", op->page.limit);
    add_param(call, "cursor", op->page.cursor);
}

static void query_log(const struct fa_op *op, struct fa_call *call)
{
    add_param(call, "format", "json");
    add_int_param(call, "attempt", op->log.attempt);
}

static void body_log(const struct fa_op *op, struct fa_json_writer *w)
{
    const struct fa_log_body body = {.worker_id = op->by.worker_id,
                                     .fence = op->by.fence,
                                     .has_fence = op->by.fence != 0,
                                     .text = op->log.text,
                                     .is_over = op->log.is_over};

    fa_shape_put(w, &fa_body_log, &body);
}

static void query_graph(const struct fa_op *op, struct fa_call *call)
{
    add_int_param(call, "depth", op->graph.depth);
}

static void query_find(const struct fa_op *op, struct fa_call *call)
{
    add_param(call, "id", op->id);
    add_flag_param(call, "recent", op->wants_recent);
}

static void query_limit(const struct fa_op *op, struct fa_call *call)
{
    add_int_param(call, "limit", op->page.limit);
}

static void query_removal(const struct fa_op *op, struct fa_call *call)
{
    add_flag_param(call, "cancel", op->removal.cancel);
    add_flag_param(call, "purge", op->removal.purge);
}

static void query_count(const struct fa_op *op, struct fa_call *call)
{
    (void)op;
    add_flag_param(call, "count", true);
}

static void query_force(const struct fa_op *op, struct fa_call *call)
{
    add_flag_param(call, "force", op->force);
}

static void query_namespace(const struct fa_op *op, struct fa_call *call)
{
    if (!op->id)
        add_param(call, "namespace", op->name.ns);
}

static void query_failures(const struct fa_op *op, struct fa_call *call)
{
    const struct fa_failure_query *query = op->failure_query;

    add_param(call, "namespace", query->ns);
    add_param(call, "type", query->type);
    add_time_param(call, "since", query->since_us);
    add_int_param(call, "limit", query->limit);
}

static void query_audit(const struct fa_op *op, struct fa_call *call)
{
    const struct fa_audit_query *query = op->audit_query;

    add_param(call, "who", query->who);
    add_param(call, "act", query->act);
    add_param(call, "target", query->target);
    add_time_param(call, "from", query->from_us);
    add_time_param(call, "to", query->to_us);
    add_param(call, "order", query->ascending ? "asc" : NULL);
    add_int_param(call, "limit", query->limit);
    add_param(call, "cursor", query->cursor);
}

static void query_history(const struct fa_op *op, struct fa_call *call)
{
    const struct fa_history_query *query = op->history_query;

    add_param(call, "namespace", query->ns);
    add_param(call, "type", query->type);
    add_time_param(call, "from", query->from_us);
    add_time_param(call, "to", query->to_us);
    add_ms_param(call, "step", query->step_ms);
}

static void query_stats(const struct fa_op *op, struct fa_call *call)
{
    add_param(call, "namespace", op->name.ns);
    add_param(call, "type", op->name.type);
}

static void query_cron(const struct fa_op *op, struct fa_call *call)
{
    add_param(call, "namespace", op->name.ns);
}

static void body_type(const struct fa_op *op, struct fa_json_writer *w)
{
    const struct fa_type_body body = {.policy = *op->type_policy};

    fa_shape_put(w, &fa_body_type, &body);
}

static void query_workflow(const struct fa_op *op, struct fa_call *call)
{
    add_param(call, "namespace", op->workflow.ns);
}

/* The verb is the end of the path. */
static void query_enable(const struct fa_op *op, struct fa_call *call)
{
    fa_buf_add_str(&call->path, op->workflow.enable ? ":enable" : ":disable");
    query_workflow(op, call);
}

/* The kind is the end of the path. */
static void query_bulk(const struct fa_op *op, struct fa_call *call)
{
    fa_buf_printf(&call->path, ":%s", fa_bulk_kind_word((int)op->bulk.request->kind));
}

static void query_definition(const struct fa_op *op, struct fa_call *call)
{
    add_param(call, "namespace", op->definition->ns);
}

static void query_emitted_events(const struct fa_op *op, struct fa_call *call)
{
    const struct fa_emitted_query *query = op->emitted_query;

    add_param(call, "namespace", query->ns);
    if (query->id)
        return;
    add_param(call, "type", query->type);
    add_time_param(call, "since", query->since_us);
    add_param(call, "order", query->descending ? "desc" : NULL);
    add_int_param(call, "limit", query->limit);
    add_param(call, "cursor", query->cursor);
}

static void query_joins(const struct fa_op *op, struct fa_call *call)
{
    add_param(call, "namespace", op->join.ns);
    add_param(call, "key", op->join.key);
    add_int_param(call, "limit", op->join.limit);
    add_param(call, "cursor", op->join.cursor);
}

/* ------------------------------------------------------------------------------------------
 * Bodies
 */

static void body_submit(const struct fa_op *op, struct fa_json_writer *w)
{
    fa_wire_put_submit(w, op->submit);
}

/* What the tables of requests (wire/body.h) write. Each has the members that its request takes. */
static struct fa_act act_of(const struct fa_op *op)
{
    static const struct faina_submit none;
    struct fa_act act = {
        .id = op->id, .by = op->by, .has_fence = op->has_fence || op->by.fence != 0};

    switch ((int)op->kind) {
    case FA_OP_CLAIM:
        act.is_strict = op->is_strict;
        act.lease_ms = op->lease_ms;
        break;
    case FA_OP_START:
    case FA_OP_HEARTBEAT:
        act.lease_ms = op->lease_ms;
        break;
    case FA_OP_COMPLETE:
        act.status = "completed";
        act.output = op->output;
        break;
    case FA_OP_FAIL:
        act.status = "failed";
        act.has_error = true;
        act.failure = *op->failure;
        break;
    case FA_OP_PROGRESS:
        act.has_progress = op->report->has_progress;
        act.progress = op->report->progress;
        act.state = op->report->state;
        act.metadata = op->report->metadata;
        break;
    case FA_OP_SUBTASK:
        act.subtasks = op->block.subtasks;
        act.subtask_count = 1;
        break;
    case FA_OP_BLOCK:
        act.fail_fast = op->block.fail_fast;
        act.subtasks = op->block.subtasks ? op->block.subtasks : &none;
        act.subtask_count = op->block.count;
        break;
    case FA_OP_BACKGROUND:
        act.reason = op->background.reason;
        act.timeout_ms = op->background.timeout_ms;
        break;
    case FA_OP_SNOOZE:
        act.has_for = true;
        act.timeout_ms = op->snooze_ms;
        break;
    case FA_OP_RETRY:
        act.has_reset = true;
        act.reset_attempts = !op->keep_attempts;
        break;
    case FA_OP_NOTE:
        act.event = op->note.what;
        act.detail = op->note.detail;
        break;
    case FA_OP_AMEND:
        act.amendment = op->submit;
        break;
    default: /* RELEASE and CANCEL have nothing more */
        break;
    }
    return act;
}

static void put_claim(const struct faina_claim *claim, int64_t wait_ms, struct fa_json_writer *w)
{
    const struct fa_claims body = {
        .worker_id = claim->worker_id,
        .types = {claim->types, claim->type_count},
        .namespaces = {claim->namespaces, claim->namespace_count},
        .services = {claim->services, claim->service_count},
        .limit = claim->limit,
        .lease_ms = claim->lease_ms,
        .wait_ms = wait_ms,
    };

    fa_shape_put(w, &fa_body_claims, &body);
}

static void body_claim(const struct fa_op *op, struct fa_json_writer *w)
{
    put_claim(op->claim, 0, w);
}

static void body_update(const struct fa_op *op, struct fa_json_writer *w)
{
    const struct fa_update_body body = {.update = *op->update};

    fa_shape_put(w, &fa_body_update, &body);
}

static void body_bulk(const struct fa_op *op, struct fa_json_writer *w)
{
    fa_bulk_put(w, op->bulk.request);
}

static void body_bulk_count(const struct fa_op *op, struct fa_json_writer *w)
{
    struct fa_bulk_request request = *op->bulk.request;

    request.dry_run = true;
    fa_bulk_put(w, &request);
}

static void body_purge(const struct fa_op *op, struct fa_json_writer *w)
{
    const struct faina_purge *purge = op->purge;
    const char *statuses[FAINA_STATUS_COUNT];
    struct fa_purge_body body = {
        .ns = purge->ns,
        .type = purge->type,
        .before_us = purge->ended_before_us,
        .deleted_only = purge->deleted_only,
        .limit = purge->limit < FA_BATCH_MAX ? purge->limit : FA_BATCH_MAX,
    };

    for (enum faina_status status = 0; status < FAINA_STATUS_COUNT; status++)
        if (purge->statuses & 1u << status)
            statuses[body.status.count++] = faina_status_name(status);
    if (body.status.count > 0)
        body.status.items = statuses;
    fa_shape_put(w, &fa_body_purge, &body);
}

static void body_lane(const struct fa_op *op, struct fa_json_writer *w)
{
    fa_shape_put(w, &fa_body_lane, &(struct fa_lane_body){op->name.ns, op->name.type});
}

static void body_limit(const struct fa_op *op, struct fa_json_writer *w)
{
    fa_shape_put(w, &fa_body_limit,
                 &(struct fa_limit_body){.has_limit = true,
                                         .max_concurrency = op->resource.max_concurrency,
                                         .has_rate = op->resource.rate.count != 0,
                                         .rate = op->resource.rate});
}

static void body_broker(const struct fa_op *op, struct fa_json_writer *w)
{
    fa_shape_put(w, &fa_body_broker,
                 &(struct fa_broker_body){
                     .has_on = true, .is_on = op->broker.is_on, .size_max = op->broker.size_max});
}

static void body_settings(const struct fa_op *op, struct fa_json_writer *w)
{
    struct fa_settings_body body = {.redact = op->settings.redact};

    if (body.redact.count == 0) /* none is [], and not nothing */
        body.redact.items = (const char *const[]){NULL};
    fa_shape_put(w, &fa_body_settings, &body);
}

static void body_team(const struct fa_op *op, struct fa_json_writer *w)
{
    fa_shape_put(
        w, &fa_body_new_team,
        &(struct fa_team_body){.name = op->team->name, .ns = op->team->ns, .spec = op->team->spec});
}

static void body_worker(const struct fa_op *op, struct fa_json_writer *w)
{
    static const struct faina_held none;
    const struct faina_held *held = op->worker.held ? op->worker.held : &none;
    const struct fa_wire_heartbeat beat = {.worker = *op->worker.self,
                                           .held = op->worker.renews_all ? NULL : held,
                                           .held_count = op->worker.held_count,
                                           .lease_ms = op->worker.lease_ms};

    fa_shape_put(w, &fa_body_worker, &beat);
}

static void body_token(const struct fa_op *op, struct fa_json_writer *w)
{
    const struct fa_token *token = op->token;
    struct fa_arena arena = {0};
    const char *scopes[8];
    struct fa_token_body body = {
        .name = token->name,
        .hash = token->hash,
        .scopes = {scopes, 0},
        .expires_us = token->expires_us,
    };

    for (size_t i = 0; fa_scope_name(i); i++)
        if (token->scopes & 1u << i)
            scopes[body.scopes.count++] = fa_scope_name(i);
    if (token->namespaces && !fa_json_texts(fa_json_value(fa_str(token->namespaces)), &arena,
                                            &body.namespaces.items, &body.namespaces.count))
        assert(!"the namespaces of a token are an array of names");
    fa_shape_put(w, &fa_body_token, &body);
    fa_arena_finish(&arena);
}

static void body_emit(const struct fa_op *op, struct fa_json_writer *w)
{
    fa_shape_put(w, &fa_body_emit, op->emit);
}

static void body_cron(const struct fa_op *op, struct fa_json_writer *w)
{
    const struct fa_cron_job *job = op->cron;
    const struct fa_cron_body body = {
        .ns = job->ns,
        .schedule = job->schedule,
        .timezone = job->timezone,
        .task = job->task,
        .catch_up = fa_catch_up_name(job->catch_up),
        .overlap = fa_overlap_name(job->overlap),
        .jitter_ms = job->jitter_ms,
        .is_paused = job->is_paused,
    };

    fa_shape_put(w, &fa_body_cron, &body);
}

/* The definition was checked on this side, so that mistakes have their positions in its text. */
static void body_definition(const struct fa_op *op, struct fa_json_writer *w)
{
    fa_buf_add(w->out, op->checked->json.ptr, op->checked->json.len);
}

/* ------------------------------------------------------------------------------------------
 * What may be sent twice: the second time nothing changes, and the answer is as good
 */

static bool always(const struct fa_op *op)
{
    (void)op;
    return true;
}

static bool never(const struct fa_op *op)
{
    (void)op;
    return false;
}

static bool with_key(const struct fa_op *op)
{
    return (op->submit->idempotency_key != NULL || op->submit->dedupe_input) &&
           op->submit->on_duplicate != FAINA_ON_DUPLICATE_REJECT;
}

static bool with_worker(const struct fa_op *op)
{
    return op->by.worker_id != NULL;
}

static bool with_event_id(const struct fa_op *op)
{
    return op->emit->id != NULL;
}

static bool with_id(const struct fa_op *op)
{
    return op->team->id[0] != '\0';
}

/* ------------------------------------------------------------------------------------------
 * The table
 */

struct request_format {
    const char *method, *path; /* {} is the task, the resource, the team, ... */
    const char *path_of_all;   /* when it names none; a PUT is a POST then */
    void (*query)(const struct fa_op *op, struct fa_call *call);
    void (*body)(const struct fa_op *op, struct fa_json_writer *w);
    bool (*is_repeatable)(const struct fa_op *op);
    const struct fa_shape *act; /* the body of a request about one task */
};

#define TASK "/tasks/{}"
#define ACT(verb, repeatable)                                                                      \
    {                                                                                              \
        "POST", TASK ":" #verb, NULL, NULL, NULL, repeatable, &fa_body_##verb                      \
    }
#define READ(path, all, query)                                                                     \
    {                                                                                              \
        "GET", path, all, query, NULL, always                                                      \
    }

static const struct request_format request_formats[FA_OP_COUNT] = {
    [FA_OP_SUBMIT] = {"POST", "/tasks", NULL, NULL, body_submit, with_key},
    [FA_OP_CLAIM] = ACT(claim, always),
    [FA_OP_CLAIM_NEXT] = {"POST", "/claims", NULL, NULL, body_claim, never},
    [FA_OP_START] = ACT(start, with_worker),
    [FA_OP_PROGRESS] = ACT(progress, always),
    [FA_OP_HEARTBEAT] = ACT(heartbeat, always),
    [FA_OP_COMPLETE] = ACT(complete, with_worker),
    [FA_OP_FAIL] = ACT(fail, with_worker),
    [FA_OP_SUBTASK] = ACT(subtask, always),
    [FA_OP_BLOCK] = ACT(block, never),
    [FA_OP_BACKGROUND] = ACT(background, never),
    [FA_OP_RELEASE] = ACT(release, never),
    [FA_OP_SNOOZE] = ACT(snooze, never),
    [FA_OP_NOTE] = ACT(note, never),
    [FA_OP_LOG_ADD] = {"POST", TASK "/log", NULL, NULL, body_log, never},
    [FA_OP_AMEND] = ACT(amend, never),
    [FA_OP_UPDATE] = {"PATCH", TASK, NULL, NULL, body_update, never},
    [FA_OP_CANCEL] = ACT(cancel, always),
    [FA_OP_RETRY] = ACT(retry, never),
    [FA_OP_DELETE] = {"DELETE", TASK, NULL, query_removal, NULL, never},
    [FA_OP_PURGE] = {"POST", "/tasks:purge", NULL, NULL, body_purge, never},
    [FA_OP_PAUSE] = {"POST", "/lanes:pause", NULL, NULL, body_lane, always},
    [FA_OP_RESUME] = {"POST", "/lanes:resume", NULL, NULL, body_lane, always},
    [FA_OP_RESOURCE_SET] = {"PUT", "/resources/{}", NULL, NULL, body_limit, always},
    [FA_OP_RESOURCE_REMOVE] = {"DELETE", "/resources/{}", NULL, NULL, NULL, never},
    [FA_OP_TYPE_PUT] = {"PUT", "/types/{}", NULL, NULL, body_type, always},
    [FA_OP_TYPE_REMOVE] = {"DELETE", "/types/{}", NULL, query_cron, NULL, never},
    [FA_OP_TYPE_LIST] = READ("/types/{}", "/types", query_cron),
    [FA_OP_TEAM_PUT] = {"PUT", "/teams/{}", "/teams", NULL, body_team, with_id},
    [FA_OP_TEAM_REMOVE] = {"DELETE", "/teams/{}", NULL, NULL, NULL, never},
    [FA_OP_WORKER_PUT] = {"PUT", "/workers/{}", NULL, NULL, body_worker, always},
    [FA_OP_WORKER_REMOVE] = {"DELETE", "/workers/{}", NULL, query_count, NULL, never},
    [FA_OP_TOKEN_PUT] = {"POST", "/tokens", NULL, NULL, body_token, never},
    [FA_OP_TOKEN_REMOVE] = {"DELETE", "/tokens/{}", NULL, query_force, NULL, never},
    [FA_OP_EMIT] = {"POST", "/events", NULL, NULL, body_emit, with_event_id},
    [FA_OP_WORKFLOW_PUT] = {"PUT", "/workflows/{}", NULL, query_definition, body_definition,
                            always},
    [FA_OP_WORKFLOW_ENABLE] = {"POST", "/workflows/{}", NULL, query_enable, NULL, always},
    [FA_OP_WORKFLOW_REMOVE] = {"DELETE", "/workflows/{}", NULL, query_workflow, NULL, never},
    [FA_OP_CRON_PUT] = {"PUT", "/crons/{}", NULL, NULL, body_cron, always},
    [FA_OP_CRON_REMOVE] = {"DELETE", "/crons/{}", NULL, query_cron, NULL, never},
    [FA_OP_CRON_RUN] = {"POST", "/crons/{}:run", NULL, query_cron, NULL, never},
    [FA_OP_CRON_LIST] = READ("/crons/{}", "/crons", query_cron),
    [FA_OP_WORKFLOW_LIST] = READ("/workflows/{}", "/workflows", query_workflow),
    [FA_OP_EMITTED_LIST] = READ("/events/{}", "/events", query_emitted_events),
    [FA_OP_JOIN_LIST] = READ("/workflows/{}/joins", "/joins", query_joins),
    [FA_OP_GET] = READ(TASK, NULL, NULL),
    [FA_OP_GET_BY_KEY] = READ("/tasks", NULL, query_key),
    [FA_OP_FIND] = READ("/tasks:find", NULL, query_find),
    [FA_OP_LIST] = READ("/tasks", NULL, query_list),
    [FA_OP_CHILDREN] = READ(TASK "/children", NULL, query_page),
    [FA_OP_EVENTS] = READ(TASK "/events", NULL, query_limit),
    [FA_OP_EXPLAIN] = READ(TASK "/explain", NULL, NULL),
    [FA_OP_LOG] = READ(TASK "/log", NULL, query_log),
    [FA_OP_GRAPH] = READ(TASK "/graph", NULL, query_graph),
    [FA_OP_FOLLOW] = READ("/log", NULL, query_page),
    [FA_OP_RESOURCE_LIST] = READ("/resources/{}", "/resources", NULL),
    [FA_OP_TEAM_LIST] = READ("/teams/{}", "/teams", query_namespace),
    [FA_OP_WORKER_LIST] = READ("/workers/{}", "/workers", NULL),
    [FA_OP_TOKEN_LIST] = READ("/tokens", NULL, NULL),
    [FA_OP_STATS] = READ("/stats", NULL, query_stats),
    [FA_OP_NAMESPACE_LIST] = READ("/namespaces", NULL, NULL),
    [FA_OP_BROKER_SET] = {"PUT", "/broker", NULL, NULL, body_broker, always},
    [FA_OP_BROKER_GET] = READ("/broker", NULL, NULL),
    [FA_OP_SETTINGS_SET] = {"PUT", "/settings", NULL, NULL, body_settings, always},
    [FA_OP_SETTINGS_GET] = READ("/settings", NULL, NULL),
    [FA_OP_FAILURES] = READ("/failures", NULL, query_failures),
    [FA_OP_AUDIT_LIST] = READ("/audit", NULL, query_audit),
    [FA_OP_BULK] = {"POST", "/tasks", NULL, query_bulk, body_bulk, never},
    [FA_OP_BULK_CANCEL] = {"POST", "/operations/{}:cancel", NULL, NULL, NULL, always},
    [FA_OP_BULK_COUNT] = {"POST", "/tasks", NULL, query_bulk, body_bulk_count, always},
    [FA_OP_BULK_LIST] = READ("/operations/{}", "/operations", NULL),
    [FA_OP_HISTORY] = READ("/stats/history", NULL, query_history),
};

/* The name or id that replaces {} in the path. */
static const char *part_of(const struct fa_op *op)
{
    switch ((int)op->kind) {
    case FA_OP_RESOURCE_SET:
    case FA_OP_RESOURCE_REMOVE:
    case FA_OP_RESOURCE_LIST:
        return op->resource.name;
    case FA_OP_TYPE_PUT:
        return op->type_policy->type;
    case FA_OP_TYPE_REMOVE:
    case FA_OP_TYPE_LIST:
        return op->name.type;
    case FA_OP_TEAM_PUT:
        return op->team->id[0] ? op->team->id : NULL;
    case FA_OP_WORKER_PUT:
        return op->worker.self->id;
    case FA_OP_CRON_PUT:
        return op->cron->name;
    case FA_OP_WORKFLOW_PUT:
        return op->checked->name;
    case FA_OP_WORKFLOW_ENABLE:
    case FA_OP_WORKFLOW_REMOVE:
    case FA_OP_WORKFLOW_LIST:
        return op->workflow.name;
    case FA_OP_EMITTED_LIST:
        return op->emitted_query->id;
    case FA_OP_JOIN_LIST:
        return op->join.workflow;
    default:
        return op->id;
    }
}

static void add_path(struct fa_call *call, const char *path, const char *part)
{
    const char *hole = strstr(path, "{}");

    fa_buf_add_str(&call->path, FA_CLIENT_API);
    if (!hole) {
        fa_buf_add_str(&call->path, path);
        return;
    }
    fa_buf_add(&call->path, path, (size_t)(hole - path));
    fa_call_escape(call, part);
    fa_buf_add_str(&call->path, hole + 2);
}

static void put_act(const struct fa_op *op, struct fa_json_writer *w)
{
    const struct fa_act act = act_of(op);

    fa_shape_put(w, request_formats[op->kind].act, &act);
}

void fa_encode_one(const struct fa_op *op, struct fa_call *call)
{
    const struct request_format *format = &request_formats[op->kind];
    const char *part = part_of(op);
    bool is_of_all = !part && format->path_of_all;
    struct fa_json_writer w;

    assert(format->method);
    fa_call_init(call, is_of_all && format->body ? "POST" : format->method);
    add_path(call, is_of_all ? format->path_of_all : format->path, part);
    if (format->query)
        format->query(op, call);
    add_int_param(call, "limit", op->part.limit);
    add_param(call, "cursor", op->part.cursor);
    if (fa_audit_takes(op))
        add_param(call, "reason", op->by.reason);
    fa_json_writer_init(&w, &call->body, 0);
    if (format->act)
        put_act(op, &w);
    else if (format->body)
        format->body(op, &w);
    call->is_read = !fa_op_writes(op->kind);
    call->if_match = fa_op_writes(op->kind) ? op->by.version : 0;
    call->is_repeatable = call->if_match == 0 && format->is_repeatable(op);
}

void fa_encode_claim(const struct fa_op *op, int64_t wait_ms, struct fa_call *call)
{
    struct fa_json_writer w;

    fa_call_init(call, "POST");
    add_path(call, "/claims", NULL);
    fa_json_writer_init(&w, &call->body, 0);
    put_claim(op->claim, wait_ms, &w);
    call->wait_ms = wait_ms;
}

/* ------------------------------------------------------------------------------------------
 * Many in one request
 */

static bool is_same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool is_outcome(const struct fa_op *op)
{
    return op->kind == FA_OP_COMPLETE || op->kind == FA_OP_FAIL;
}

/* The word that its route ends with; NULL: it is no act of a worker. */
static const char *verb_of(enum fa_op_kind kind)
{
    const char *path = request_formats[kind].path;

    if (!request_formats[kind].act || kind == FA_OP_CANCEL || kind == FA_OP_RETRY)
        return NULL;
    return strchr(path, ':') + 1;
}

/* Whether it can be sent with others: of its answer only the code is needed. */
static bool may_be_many(const struct fa_op *op)
{
    return !op->wants_task && op->by.version == 0 &&
           (op->kind == FA_OP_SUBMIT || verb_of(op->kind));
}

static bool fits(const struct fa_op *first, const struct fa_op *op)
{
    return may_be_many(op) && (op->kind == FA_OP_SUBMIT) == (first->kind == FA_OP_SUBMIT);
}

/* Removals and other changes of different tasks are independent of each other. */
static bool may_be_apart(const struct fa_op *ops, size_t at)
{
    if (!fa_op_writes(ops[0].kind))
        return !fa_op_writes(ops[at].kind);
    if ((ops[0].kind != FA_OP_CANCEL && ops[0].kind != FA_OP_RETRY &&
         ops[0].kind != FA_OP_DELETE) ||
        ops[at].kind != ops[0].kind)
        return false;
    for (size_t i = 0; i < at; i++)
        if (strcmp(ops[i].id, ops[at].id) == 0)
            return false;
    return true;
}

enum fa_encode_how fa_encode_group(const struct fa_op *ops, size_t count, size_t *group)
{
    size_t n = 1;

    assert(count > 0);
    if (may_be_many(&ops[0])) {
        while (n < count && n < FA_BATCH_MAX && fits(&ops[0], &ops[n]))
            n++;
        *group = n;
        return FA_ENCODE_MANY;
    }
    while (n < count && n < APART_MAX && may_be_apart(ops, n))
        n++;
    *group = n;
    return n > 1 ? FA_ENCODE_PARALLEL : FA_ENCODE_ONE;
}

/* Which request takes them all. */
enum many { SUBMITS, OUTCOMES, HEARTBEATS, ACTS };

static enum many many_of(const struct fa_op *ops, size_t count)
{
    enum many many = is_outcome(&ops[0])              ? OUTCOMES
                     : ops[0].kind == FA_OP_HEARTBEAT ? HEARTBEATS
                                                      : ACTS;

    if (ops[0].kind == FA_OP_SUBMIT)
        return SUBMITS;
    for (size_t i = 1; i < count; i++)
        if (!is_same_text(ops[0].by.worker_id, ops[i].by.worker_id) ||
            is_outcome(&ops[i]) != (many == OUTCOMES) ||
            (many == HEARTBEATS &&
             (ops[i].kind != FA_OP_HEARTBEAT || ops[i].lease_ms != ops[0].lease_ms)))
            return ACTS;
    return many;
}

static void put_item(const struct fa_op *op, enum many many, struct fa_json_writer *w)
{
    const struct fa_act act = many == SUBMITS ? (struct fa_act){0} : act_of(op);

    if (many == SUBMITS) {
        fa_wire_put_submit(w, op->submit);
        return;
    }
    if (many != ACTS) {
        fa_shape_put(w, many == OUTCOMES ? &fa_body_outcome : &fa_body_held, &act);
        return;
    }
    fa_json_begin_object(w);
    fa_json_opt_str(w, "id", op->id);
    fa_json_opt_str(w, "act", verb_of(op->kind));
    fa_json_key(w, "body");
    put_act(op, w);
    fa_json_end_object(w);
}

size_t fa_encode_many(const struct fa_op *ops, size_t count, struct fa_call *call)
{
    static const char *const paths[] = {
        [SUBMITS] = "/tasks:batch",
        [OUTCOMES] = "/outcomes",
        [HEARTBEATS] = "/heartbeats",
        [ACTS] = "/acts",
    };
    enum many many = many_of(ops, count);
    struct fa_json_writer w;
    size_t n = 0;

    fa_call_init(call, "POST");
    add_path(call, paths[many], NULL);
    call->is_repeatable = true;
    fa_json_writer_init(&w, &call->body, 0);
    fa_json_begin_object(&w);
    if (many == OUTCOMES || many == HEARTBEATS)
        fa_json_opt_str(&w, "workerId", ops[0].by.worker_id);
    if (many == HEARTBEATS && ops[0].lease_ms != 0) {
        fa_json_key(&w, "leaseSeconds");
        fa_wire_put_duration(&w, ops[0].lease_ms);
    }
    fa_json_key(&w, many == SUBMITS ? "tasks" : "items");
    fa_json_begin_array(&w);
    while (n < count && (n == 0 || call->body.len < MANY_SIZE_MAX)) {
        put_item(&ops[n], many, &w);
        call->is_repeatable =
            call->is_repeatable && request_formats[ops[n].kind].is_repeatable(&ops[n]);
        n++;
    }
    fa_json_end_array(&w);
    fa_json_end_object(&w);
    return n;
}
