/*
 * ask.c - operations as requests.
 *
 * A new kind of operation is a row in `recipes`: method, path, query, body, and whether it may be
 * sent twice; and one in answer.c, for what comes back.
 */
#include "remote/ask.h"

#include "model/limits.h"
#include "model/times.h"
#include "model/workflow.h"
#include "service/crons.h"
#include "service/token.h"
#include "service/wire.h"

#include <assert.h>
#include <stdio.h>

#define APART_MAX 64                             /* operations asked at once */
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

static void add_flag_param(struct fa_call *call, const char *name, bool is_set)
{
    if (is_set)
        add_param(call, name, "true");
}

static void query_list(const struct fa_op *op, struct fa_call *call)
{
    const struct faina_query *query = op->query;
    struct fa_buf statuses;

    fa_buf_init(&statuses, 256);
    for (enum faina_status status = 0; status < FAINA_STATUS_COUNT; status++)
        if (query->statuses & 1u << status)
            fa_buf_printf(&statuses, "%s%s", statuses.len > 0 ? "," : "",
                          faina_status_name(status));
    add_param(call, "namespace", query->ns);
    add_param(call, "status", statuses.len > 0 ? statuses.ptr : NULL);
    add_param(call, "type", query->type);
    add_param(call, "teamId", query->team_id);
    add_param(call, "parentId", query->parent_id);
    add_param(call, "createdBy", query->created_by);
    add_param(call, "idempotencyKey", query->idempotency_key);
    add_time_param(call, "createdAfter", query->created_after_us);
    add_time_param(call, "createdBefore", query->created_before_us);
    add_int_param(call, "limit", query->limit);
    add_param(call, "cursor", query->cursor);
    add_flag_param(call, "brief", query->brief);
    fa_buf_finish(&statuses);
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

static void query_stats(const struct fa_op *op, struct fa_call *call)
{
    add_param(call, "namespace", op->name.ns);
    add_param(call, "type", op->name.type);
}

static void query_cron(const struct fa_op *op, struct fa_call *call)
{
    add_param(call, "namespace", op->name.ns);
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

static void query_definition(const struct fa_op *op, struct fa_call *call)
{
    add_param(call, "namespace", op->definition->ns);
}

static void query_happened(const struct fa_op *op, struct fa_call *call)
{
    const struct fa_happened_query *query = op->happened_query;

    add_param(call, "namespace", query->ns);
    if (query->id)
        return;
    add_param(call, "type", query->type);
    add_time_param(call, "since", query->since_us);
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

static void put_int(struct fa_json_writer *w, const char *key, int64_t value)
{
    if (value == 0)
        return;
    fa_json_key(w, key);
    fa_json_put_int(w, value);
}

static void put_duration(struct fa_json_writer *w, const char *key, int64_t ms)
{
    if (ms == 0)
        return;
    fa_json_key(w, key);
    fa_wire_put_duration(w, ms);
}

static void put_time(struct fa_json_writer *w, const char *key, int64_t us)
{
    if (us == 0)
        return;
    fa_json_key(w, key);
    fa_wire_put_time(w, us);
}

/* An empty list says something else than none. */
static void put_texts(struct fa_json_writer *w, const char *key, const char *const *texts,
                      size_t count)
{
    if (texts != NULL)
        fa_json_set_strs(w, key, texts, count);
}

static void put_failure(struct fa_json_writer *w, const struct faina_failure *failure)
{
    fa_json_key(w, "error");
    fa_json_begin_object(w);
    fa_json_opt_str(w, "message", failure->message);
    fa_json_opt_str(w, "kind", failure->kind);
    fa_json_opt_raw(w, "detail", failure->detail);
    fa_json_set_bool(w, "retryable", !failure->permanent);
    fa_json_end_object(w);
}

static void put_output(struct fa_json_writer *w, const char *output)
{
    static const char *const nulls[] = {"output"};

    fa_json_opt_raw(w, "output", output);
    if (output && fa_json_value(fa_str(output)).type == FA_JSON_NULL)
        put_texts(w, "nulls", nulls, 1);
}

static void body_submit(const struct fa_op *op, struct fa_json_writer *w)
{
    fa_wire_put_submit(w, op->submit);
}

static void put_fence(const struct fa_op *op, struct fa_json_writer *w)
{
    if (!op->has_fence && op->by.fence == 0)
        return;
    fa_json_key(w, "fence");
    fa_json_put_int(w, op->by.fence);
}

/* What an act says besides the worker and the fence. */
static void put_act(const struct fa_op *op, struct fa_json_writer *w)
{
    switch ((int)op->kind) {
    case FA_OP_CLAIM:
    case FA_OP_START:
    case FA_OP_HEARTBEAT:
        put_duration(w, "leaseSeconds", op->lease_ms);
        return;
    case FA_OP_COMPLETE:
        put_output(w, op->output);
        return;
    case FA_OP_FAIL:
        put_failure(w, op->failure);
        return;
    case FA_OP_PROGRESS:
        if (op->report->has_progress) {
            fa_json_key(w, "progress");
            fa_json_put_int(w, op->report->progress);
        }
        fa_json_opt_str(w, "state", op->report->state);
        fa_json_opt_raw(w, "metadata", op->report->metadata);
        return;
    case FA_OP_BLOCK:
        fa_json_set_bool(w, "failFast", op->block.fail_fast);
        fa_json_key(w, "subtasks");
        fa_json_begin_array(w);
        for (size_t i = 0; i < op->block.count; i++)
            fa_wire_put_submit(w, &op->block.subtasks[i]);
        fa_json_end_array(w);
        return;
    case FA_OP_BACKGROUND:
        fa_json_opt_str(w, "reason", op->background.reason);
        put_duration(w, "timeout", op->background.timeout_ms);
        return;
    case FA_OP_RETRY:
        fa_json_set_bool(w, "resetAttempts", !op->keep_attempts);
        return;
    case FA_OP_NOTE:
        fa_json_opt_str(w, "event", op->note.what);
        fa_json_opt_raw(w, "detail", op->note.detail);
        return;
    case FA_OP_AMEND:
        fa_json_key(w, "task");
        fa_wire_put_submit(w, &(struct faina_submit){.max_attempts = op->submit->max_attempts,
                                                     .retry = op->submit->retry,
                                                     .resources = op->submit->resources,
                                                     .resource_count = op->submit->resource_count});
        return;
    default: /* RELEASE and CANCEL say nothing more */
        return;
    }
}

/* Claims, cancels and retries look at no fence. */
static bool takes_fence(enum fa_op_kind kind)
{
    return kind != FA_OP_CLAIM && kind != FA_OP_CANCEL && kind != FA_OP_RETRY;
}

static void body_act(const struct fa_op *op, struct fa_json_writer *w)
{
    fa_json_begin_object(w);
    fa_json_opt_str(w, "workerId", op->by.worker_id);
    if (takes_fence(op->kind))
        put_fence(op, w);
    put_act(op, w);
    fa_json_end_object(w);
}

static void put_claim(const struct faina_claim *claim, int64_t wait_ms, struct fa_json_writer *w)
{
    fa_json_begin_object(w);
    fa_json_opt_str(w, "workerId", claim->worker_id);
    put_texts(w, "types", claim->types, claim->type_count);
    put_texts(w, "namespaces", claim->namespaces, claim->namespace_count);
    put_texts(w, "services", claim->services, claim->service_count);
    put_int(w, "limit", claim->limit);
    put_duration(w, "leaseSeconds", claim->lease_ms);
    put_duration(w, "waitSeconds", wait_ms);
    fa_json_end_object(w);
}

static void body_claim(const struct fa_op *op, struct fa_json_writer *w)
{
    put_claim(op->claim, 0, w);
}

static void body_purge(const struct fa_op *op, struct fa_json_writer *w)
{
    const struct faina_purge *purge = op->purge;
    const char *statuses[FAINA_STATUS_COUNT];
    size_t count = 0;

    for (enum faina_status status = 0; status < FAINA_STATUS_COUNT; status++)
        if (purge->statuses & 1u << status)
            statuses[count++] = faina_status_name(status);
    fa_json_begin_object(w);
    fa_json_opt_str(w, "namespace", purge->ns);
    fa_json_opt_str(w, "type", purge->type);
    if (count > 0)
        put_texts(w, "status", statuses, count);
    put_time(w, "endedBefore", purge->ended_before_us);
    fa_json_set_bool(w, "deletedOnly", purge->deleted_only);
    put_int(w, "limit", purge->limit < FA_BATCH_MAX ? purge->limit : FA_BATCH_MAX);
    fa_json_end_object(w);
}

static void body_lane(const struct fa_op *op, struct fa_json_writer *w)
{
    fa_json_begin_object(w);
    fa_json_opt_str(w, "namespace", op->name.ns);
    fa_json_opt_str(w, "type", op->name.type);
    fa_json_end_object(w);
}

static void body_limit(const struct fa_op *op, struct fa_json_writer *w)
{
    fa_json_begin_object(w);
    fa_json_key(w, "maxConcurrency");
    if (op->resource.max_concurrency < 0)
        fa_json_put_null(w);
    else
        fa_json_put_int(w, op->resource.max_concurrency);
    fa_json_end_object(w);
}

static void body_team(const struct fa_op *op, struct fa_json_writer *w)
{
    fa_json_begin_object(w);
    fa_json_opt_str(w, "name", op->team->name);
    fa_json_opt_str(w, "namespace", op->team->ns);
    fa_json_opt_raw(w, "spec", op->team->spec);
    fa_json_end_object(w);
}

static void body_worker(const struct fa_op *op, struct fa_json_writer *w)
{
    struct fa_wire_beat beat = {.worker = *op->worker.self,
                                .held = op->worker.held,
                                .held_count = op->worker.held_count,
                                .lease_ms = op->worker.lease_ms,
                                .renews_all = op->worker.renews_all};

    fa_wire_put_beat_body(w, &beat);
}

static void body_token(const struct fa_op *op, struct fa_json_writer *w)
{
    const char *scopes[8];
    size_t count = 0;

    for (size_t i = 0; fa_scope_name(i); i++)
        if (op->token->scopes & 1u << i)
            scopes[count++] = fa_scope_name(i);
    fa_json_begin_object(w);
    fa_json_opt_str(w, "name", op->token->name);
    fa_json_opt_str(w, "hash", op->token->hash);
    put_texts(w, "scopes", scopes, count);
    fa_json_opt_raw(w, "namespaces", op->token->namespaces);
    put_time(w, "expiresAt", op->token->expires_us);
    fa_json_end_object(w);
}

static void body_emit(const struct fa_op *op, struct fa_json_writer *w)
{
    fa_json_begin_object(w);
    fa_json_opt_str(w, "namespace", op->emit->ns);
    fa_json_opt_str(w, "type", op->emit->type);
    fa_json_opt_raw(w, "data", op->emit->data);
    fa_json_opt_str(w, "id", op->emit->id);
    fa_json_end_object(w);
}

static void body_cron(const struct fa_op *op, struct fa_json_writer *w)
{
    const struct fa_cron_job *job = op->cron;

    fa_json_begin_object(w);
    fa_json_opt_str(w, "namespace", job->ns);
    fa_json_opt_str(w, "schedule", job->schedule);
    fa_json_opt_str(w, "timezone", job->timezone);
    fa_json_opt_raw(w, "task", job->task);
    fa_json_opt_str(w, "catchUp", fa_catch_up_name(job->catch_up));
    fa_json_opt_str(w, "overlap", fa_overlap_name(job->overlap));
    put_duration(w, "jitter", job->jitter_ms);
    fa_json_set_bool(w, "paused", job->is_paused);
    fa_json_end_object(w);
}

/* It was understood here already, so that mistakes have their places in the text as it is. */
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
    return op->submit->idempotency_key != NULL || op->submit->dedupe_input;
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

struct recipe {
    const char *method, *path; /* {} is the task, the resource, the team, ... */
    const char *path_of_all;   /* when it names none; a PUT is a POST then */
    void (*query)(const struct fa_op *op, struct fa_call *call);
    void (*body)(const struct fa_op *op, struct fa_json_writer *w);
    bool (*is_repeatable)(const struct fa_op *op);
};

#define TASK "/tasks/{}"
#define ACT(verb, repeatable)                                                                      \
    {                                                                                              \
        "POST", TASK ":" verb, NULL, NULL, body_act, repeatable                                    \
    }
#define READ(path, all, query)                                                                     \
    {                                                                                              \
        "GET", path, all, query, NULL, always                                                      \
    }

static const struct recipe recipes[FA_OP_COUNT] = {
    [FA_OP_SUBMIT] = {"POST", "/tasks", NULL, NULL, body_submit, with_key},
    [FA_OP_CLAIM] = ACT("claim", always),
    [FA_OP_CLAIM_NEXT] = {"POST", "/claims", NULL, NULL, body_claim, never},
    [FA_OP_START] = ACT("start", with_worker),
    [FA_OP_PROGRESS] = ACT("progress", always),
    [FA_OP_HEARTBEAT] = ACT("heartbeat", always),
    [FA_OP_COMPLETE] = ACT("complete", with_worker),
    [FA_OP_FAIL] = ACT("fail", with_worker),
    [FA_OP_BLOCK] = ACT("block", never),
    [FA_OP_BACKGROUND] = ACT("background", never),
    [FA_OP_RELEASE] = ACT("release", never),
    [FA_OP_NOTE] = ACT("note", never),
    [FA_OP_AMEND] = ACT("amend", never),
    [FA_OP_CANCEL] = ACT("cancel", always),
    [FA_OP_RETRY] = ACT("retry", never),
    [FA_OP_DELETE] = {"DELETE", TASK, NULL, query_removal, NULL, never},
    [FA_OP_PURGE] = {"POST", "/tasks:purge", NULL, NULL, body_purge, never},
    [FA_OP_PAUSE] = {"POST", "/lanes:pause", NULL, NULL, body_lane, always},
    [FA_OP_RESUME] = {"POST", "/lanes:resume", NULL, NULL, body_lane, always},
    [FA_OP_RESOURCE_SET] = {"PUT", "/resources/{}", NULL, NULL, body_limit, always},
    [FA_OP_RESOURCE_REMOVE] = {"DELETE", "/resources/{}", NULL, NULL, NULL, never},
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
    [FA_OP_HAPPENED_LIST] = READ("/events/{}", "/events", query_happened),
    [FA_OP_JOIN_LIST] = READ("/workflows/{}/joins", "/joins", query_joins),
    [FA_OP_GET] = READ(TASK, NULL, NULL),
    [FA_OP_GET_BY_KEY] = READ("/tasks", NULL, query_key),
    [FA_OP_LIST] = READ("/tasks", NULL, query_list),
    [FA_OP_CHILDREN] = READ(TASK "/children", NULL, query_page),
    [FA_OP_EVENTS] = READ(TASK "/events", NULL, query_limit),
    [FA_OP_EXPLAIN] = READ(TASK "/explain", NULL, NULL),
    [FA_OP_FOLLOW] = READ("/log", NULL, query_page),
    [FA_OP_RESOURCE_LIST] = READ("/resources/{}", "/resources", NULL),
    [FA_OP_TEAM_LIST] = READ("/teams/{}", "/teams", query_namespace),
    [FA_OP_WORKER_LIST] = READ("/workers/{}", "/workers", NULL),
    [FA_OP_TOKEN_LIST] = READ("/tokens", NULL, NULL),
    [FA_OP_STATS] = READ("/stats", NULL, query_stats),
};

/* What stands for {} in the path. */
static const char *part_of(const struct fa_op *op)
{
    switch ((int)op->kind) {
    case FA_OP_RESOURCE_SET:
    case FA_OP_RESOURCE_REMOVE:
    case FA_OP_RESOURCE_LIST:
        return op->resource.name;
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
    case FA_OP_HAPPENED_LIST:
        return op->happened_query->id;
    case FA_OP_JOIN_LIST:
        return op->join.workflow;
    default:
        return op->id;
    }
}

static void add_path(struct fa_call *call, const char *path, const char *part)
{
    const char *hole = strstr(path, "{}");

    fa_buf_add_str(&call->path, FA_ASK_API);
    if (!hole) {
        fa_buf_add_str(&call->path, path);
        return;
    }
    fa_buf_add(&call->path, path, (size_t)(hole - path));
    fa_call_escape(call, part);
    fa_buf_add_str(&call->path, hole + 2);
}

void fa_ask_one(const struct fa_op *op, struct fa_call *call)
{
    const struct recipe *recipe = &recipes[op->kind];
    const char *part = part_of(op);
    bool is_of_all = !part && recipe->path_of_all;
    struct fa_json_writer w;

    assert(recipe->method);
    fa_call_init(call, is_of_all && recipe->body ? "POST" : recipe->method);
    add_path(call, is_of_all ? recipe->path_of_all : recipe->path, part);
    if (recipe->query)
        recipe->query(op, call);
    add_int_param(call, "limit", op->part.limit);
    add_param(call, "cursor", op->part.cursor);
    if (recipe->body) {
        fa_json_writer_init(&w, &call->body, 0);
        recipe->body(op, &w);
    }
    call->is_read = !fa_op_writes(op->kind);
    call->if_match = fa_op_writes(op->kind) ? op->by.version : 0;
    call->is_repeatable = call->if_match == 0 && recipe->is_repeatable(op);
}

void fa_ask_claim(const struct fa_op *op, int64_t wait_ms, struct fa_call *call)
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
    const char *path = recipes[kind].path;

    if (recipes[kind].body != body_act || kind == FA_OP_CANCEL || kind == FA_OP_RETRY)
        return NULL;
    return strchr(path, ':') + 1;
}

/* Whether it can be asked together with others: nothing is wanted but its end. */
static bool may_be_many(const struct fa_op *op)
{
    return !op->wants_task && op->by.version == 0 &&
           (op->kind == FA_OP_SUBMIT || verb_of(op->kind));
}

static bool fits(const struct fa_op *first, const struct fa_op *op)
{
    return may_be_many(op) && (op->kind == FA_OP_SUBMIT) == (first->kind == FA_OP_SUBMIT);
}

/* Removals and the like of different tasks don't mind each other. */
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

enum fa_ask_how fa_ask_group(const struct fa_op *ops, size_t count, size_t *group)
{
    size_t n = 1;

    assert(count > 0);
    if (may_be_many(&ops[0])) {
        while (n < count && n < FA_BATCH_MAX && fits(&ops[0], &ops[n]))
            n++;
        *group = n;
        return FA_ASK_MANY;
    }
    while (n < count && n < APART_MAX && may_be_apart(ops, n))
        n++;
    *group = n;
    return n > 1 ? FA_ASK_APART : FA_ASK_ONE;
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
    if (many == SUBMITS) {
        fa_wire_put_submit(w, op->submit);
        return;
    }
    fa_json_begin_object(w);
    fa_json_opt_str(w, "id", op->id);
    if (many == ACTS) {
        fa_json_opt_str(w, "act", verb_of(op->kind));
        fa_json_key(w, "body");
        body_act(op, w);
        fa_json_end_object(w);
        return;
    }
    put_fence(op, w);
    if (op->kind == FA_OP_COMPLETE) {
        fa_json_opt_str(w, "status", "completed");
        put_output(w, op->output);
    } else if (op->kind == FA_OP_FAIL) {
        fa_json_opt_str(w, "status", "failed");
        put_failure(w, op->failure);
    }
    fa_json_end_object(w);
}

size_t fa_ask_many(const struct fa_op *ops, size_t count, struct fa_call *call)
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
    if (many == HEARTBEATS)
        put_duration(&w, "leaseSeconds", ops[0].lease_ms);
    fa_json_key(&w, many == SUBMITS ? "tasks" : "items");
    fa_json_begin_array(&w);
    while (n < count && (n == 0 || call->body.len < MANY_SIZE_MAX)) {
        put_item(&ops[n], many, &w);
        call->is_repeatable = call->is_repeatable && recipes[ops[n].kind].is_repeatable(&ops[n]);
        n++;
    }
    fa_json_end_array(&w);
    fa_json_end_object(&w);
    return n;
}
