/*
 * route_tasks.c - routes that submit, read and remove tasks.
 */
#include "server/routes/route.h"

#include "base/clock.h"
#include "model/check.h"
#include "model/codes.h"
#include "model/limits.h"
#include "model/states.h"
#include "model/trace.h"
#include "server/server_inner.h"
#include "wire/filter.h"
#include "wire/wire.h"

#include <ctype.h>
#include <stdio.h>

#define WAIT_MS_DEFAULT 30000
#define TRACE_MEMBER_SIZE 80 /* of a traceparent in the metadata, at most */

/* ------------------------------------------------------------------------------------------
 * Submitting
 */

/* The header `traceparent` is used when the task has none. Proxies add it, so that it never makes a
 * submit invalid. */
static void read_trace(struct fa_request *req, struct faina_submit *submit)
{
    const char *trace = fa_request_trace(req);
    struct fa_json object, member;

    if (!trace || submit->traceparent)
        return;
    object = fa_json_value(fa_str(submit->metadata));
    if (submit->metadata &&
        (object.type != FA_JSON_OBJECT || fa_json_member(object, "traceparent", &member)))
        return;
    if (!submit->metadata || strlen(submit->metadata) + TRACE_MEMBER_SIZE <= FA_METADATA_SIZE_MAX)
        submit->traceparent = fa_arena_strdup(&req->arena, trace);
}

/* The header Idempotency-Key is an alternative to the field, and must not contradict it. */
static enum faina_code read_key(struct fa_request *req, struct faina_submit *submit,
                                struct faina_error *err)
{
    const char *key = fa_request_header(req, "Idempotency-Key");

    if (!key)
        return FAINA_OK;
    if (submit->idempotency_key && strcmp(submit->idempotency_key, key) != 0)
        return fa_error_field(err, FAINA_INVALID_TASK, "idempotencyKey",
                              "the header Idempotency-Key and the field idempotencyKey differ");
    submit->idempotency_key = fa_arena_strdup(&req->arena, key);
    return FAINA_OK;
}

static void after_submit(struct fa_request *req)
{
    static const char folder[] = FA_API "/tasks/";
    const struct fa_op *op = &req->posted.ops[0];
    char *location;

    if (fa_request_refused(req))
        return;
    location = fa_arena_take(&req->arena, sizeof(folder) + FAINA_ID_SIZE);
    memcpy(location, folder, sizeof(folder) - 1);
    memcpy(location + sizeof(folder) - 1, op->task_id, FAINA_ID_SIZE);
    fa_response_header(req, "Location", location);
    fa_respond_task(req, op->existing ? 200 : 201, op->task);
}

/* NULL: it was refused. */
static struct faina_submit *read_submit(struct fa_request *req)
{
    struct faina_submit *submit = fa_arena_zero(&req->arena, 1, sizeof(*submit));
    struct faina_error err;
    enum faina_code code;

    fa_error_clear(&err);
    code = fa_wire_read_submit(fa_request_body(req), &req->arena, submit, &err);
    if (code == FAINA_OK)
        code = read_key(req, submit, &err);
    if (code != FAINA_OK) {
        fa_respond_problem(req, &err);
        return NULL;
    }
    submit->ns = fa_request_namespace(req, submit->ns);
    read_trace(req, submit);
    return submit;
}

void fa_handle_submit(struct fa_request *req)
{
    struct faina_submit *submit = read_submit(req);
    struct fa_op *op;

    if (!submit)
        return;
    op = fa_request_op(req, FA_OP_SUBMIT);
    op->submit = submit;
    op->wants_task = true;
    fa_request_run(req, after_submit);
}

/* The task that a submit would create, without the fields that need the store. */
static struct faina_task preview(const struct faina_submit *submit, struct fa_arena *arena)
{
    int64_t now_us = fa_clock_now_us();
    const char *type = submit->type ? submit->type : "default";
    struct faina_task task = {
        .ns = submit->ns ? submit->ns : "default",
        .type = type,
        .name = submit->name ? submit->name : type,
        .status = submit->depends_on_count > 0 ? FAINA_BLOCKED : FAINA_PENDING,
        .state = "Queued",
        .priority = submit->priority,
        .input = submit->input,
        .metadata = submit->metadata ? submit->metadata : "{}",
        .spec = submit->spec ? submit->spec : "{}",
        .idempotency_key = submit->idempotency_key,
        .max_attempts = submit->max_attempts == 0                 ? FA_ATTEMPTS_DEFAULT
                        : submit->max_attempts == FAINA_UNLIMITED ? 0
                                                                  : submit->max_attempts,
        .retry = submit->retry,
        .group = submit->group,
        .run_at_us = submit->delay_ms > 0 ? now_us + submit->delay_ms * 1000 : submit->run_at_us,
        .depends_on = submit->depends_on,
        .depends_on_count = submit->depends_on_count,
        .resources = submit->resources,
        .resource_count = submit->resource_count,
        .created_by = submit->created_by,
        .version = 1,
        .created_us = now_us,
        .updated_us = now_us,
    };
    struct fa_trace trace;

    if (fa_trace_parse(submit->traceparent, &trace))
        task.metadata = fa_trace_store(submit->metadata, &trace, arena);
    if (submit->team_id)
        snprintf(task.team_id, sizeof(task.team_id), "%s", submit->team_id);
    return task;
}

void fa_handle_check(struct fa_request *req)
{
    const struct faina_submit *submit = read_submit(req);
    struct faina_task task;
    struct fa_op *op;

    if (!submit)
        return;
    op = fa_request_op(req, FA_OP_SUBMIT);
    op->submit = submit;
    fa_service_check(req->server->service, op, 1);
    if (fa_request_refused(req))
        return;
    task = preview(submit, &req->arena);
    fa_wire_put_task(fa_response_begin(req, 200), &task);
    fa_response_end(req);
}

/* ------------------------------------------------------------------------------------------
 * Submitting many
 */

/* The items in the order of the body: each is refused, or is the next operation. */
struct batch {
    size_t count;
    struct faina_error **refused; /* NULL: it is an operation */
};

/* Turns a position within a line of the body into a position in the body. */
static void move_position(struct faina_error *err, int line)
{
    char *position = strstr(err->message, " at line ");
    struct faina_error original = *err;

    if (err->line == 0)
        return;
    err->line += line - 1;
    if (position)
        snprintf(err->message, sizeof(err->message), "%.*s at line %d, column %d",
                 (int)(position - err->message), original.message, err->line, err->column);
}

/* Adds line `number` of the body, or without a line an item of a parsed body. */
static void add_item(struct fa_request *req, struct batch *batch, const struct fa_bytes *line,
                     int number, const struct fa_json *item, struct fa_op *ops, size_t *op_count)
{
    struct faina_submit *submit = fa_arena_zero(&req->arena, 1, sizeof(*submit));
    struct faina_error err;
    enum faina_code code;

    fa_error_clear(&err);
    code = line ? fa_wire_read_submit(*line, &req->arena, submit, &err)
                : fa_wire_read_submit_part(*item, &req->arena, submit, &err);
    if (line && code != FAINA_OK)
        move_position(&err, number);
    if (code == FAINA_OK) {
        submit->ns = fa_request_namespace(req, submit->ns);
        read_trace(req, submit);
        ops[*op_count].kind = FA_OP_SUBMIT;
        ops[(*op_count)++].submit = submit;
    } else {
        struct faina_error *copy = fa_arena_take(&req->arena, sizeof(*copy));

        *copy = err;
        batch->refused[batch->count] = copy;
    }
    batch->count++;
}

static void after_batch(struct fa_request *req)
{
    const struct batch *batch = req->data;
    struct fa_json_writer *w = fa_response_begin(req, 200);
    const struct fa_op *op = req->posted.ops;

    fa_json_begin_object(w);
    fa_json_key(w, "items");
    fa_json_begin_array(w);
    for (size_t i = 0; i < batch->count; i++) {
        const struct faina_error *refused = batch->refused[i];

        if (!refused && op->code != FAINA_OK)
            refused = &op->error;
        if (refused) {
            fa_wire_put_problem(w, refused);
        } else {
            fa_json_begin_object(w);
            fa_json_set_str(w, "id", op->task_id);
            fa_json_set_bool(w, "existing", op->existing);
            if (op->input_mismatch)
                fa_json_set_bool(w, "inputMismatch", true);
            fa_json_end_object(w);
        }
        op += !batch->refused[i];
    }
    fa_json_end_array(w);
    fa_json_end_object(w);
    fa_response_end(req);
}

static void run_batch(struct fa_request *req, struct batch *batch, size_t op_count)
{
    req->data = batch;
    req->posted.count = op_count;
    if (op_count > 0)
        fa_request_run(req, after_batch);
    else
        after_batch(req);
}

/* The next line that isn't blank, and its number. False: there is none. */
static bool next_line(struct fa_bytes *rest, struct fa_bytes *line, int *number)
{
    while (rest->len > 0) {
        const char *end = memchr(rest->ptr, '\n', rest->len);
        size_t len = end ? (size_t)(end - rest->ptr) : rest->len;

        (*number)++;
        *line = (struct fa_bytes){rest->ptr, len};
        rest->ptr += len + (end != NULL);
        rest->len -= len + (end != NULL);
        for (size_t i = 0; i < line->len; i++)
            if (!isspace((unsigned char)line->ptr[i]))
                return true;
    }
    return false;
}

static void handle_lines(struct fa_request *req)
{
    struct fa_bytes rest = fa_request_body(req), line;
    struct batch *batch = fa_arena_zero(&req->arena, 1, sizeof(*batch));
    size_t count = 0, op_count = 0;
    struct fa_op *ops;
    int number = 0;

    while (next_line(&rest, &line, &number))
        count++;
    if (count > FA_BATCH_MAX) {
        fa_respond_refusal(req, 400, FAINA_INVALID_REQUEST,
                           "one call takes at most %d tasks, not %zu", FA_BATCH_MAX, count);
        return;
    }
    ops = fa_request_ops(req, count);
    batch->refused = fa_arena_zero(&req->arena, count + 1, sizeof(*batch->refused));
    number = 0;
    for (rest = fa_request_body(req); next_line(&rest, &line, &number);)
        add_item(req, batch, &line, number, NULL, ops, &op_count);
    run_batch(req, batch, op_count);
}

void fa_handle_batch(struct fa_request *req)
{
    struct batch *batch;
    struct fa_batch_body body = {0};
    size_t op_count = 0;
    struct fa_op *ops;

    if (fa_request_header(req, "Content-Type") && !fa_request_is_type(req, "application/json")) {
        handle_lines(req);
        return;
    }
    if (!fa_request_read(req, &fa_body_batch, &body))
        return;
    if (!body.has_tasks) {
        fa_respond_missing(req, "tasks");
        return;
    }
    batch = fa_arena_zero(&req->arena, 1, sizeof(*batch));
    batch->refused = fa_arena_zero(&req->arena, body.count + 1, sizeof(*batch->refused));
    ops = fa_request_ops(req, body.count);
    for (size_t i = 0; i < body.count; i++)
        add_item(req, batch, NULL, 0, &body.tasks[i], ops, &op_count);
    run_batch(req, batch, op_count);
}

/* ------------------------------------------------------------------------------------------
 * Reading
 */

static void after_tasks(struct fa_request *req)
{
    fa_respond_answer(req, 200, &fa_shape_tasks);
}

/* A UUID of another version: no task has such an id. */
static bool is_foreign_id(const char *text)
{
    char any[FAINA_ID_SIZE];
    struct fa_id id;

    return text && !fa_id_parse(text, &id) && fa_uuid_parse(text, any);
}

/* The filters of /tasks and /stream: the route has checked which ones there may be. */
static bool read_filters(struct fa_request *req, struct faina_query *query)
{
    const struct fa_url *url = &req->url;
    struct faina_error err;

    fa_error_clear(&err);
    for (size_t i = 0; i < url->param_count; i++) {
        if (fa_filter_has_name(url->params[i].name) &&
            fa_filter_add(query, url->params[i].name, url->params[i].value, &req->arena, &err) !=
                FAINA_OK) {
            fa_respond_problem(req, &err);
            return false;
        }
    }
    query->ns = fa_request_namespace(req, query->ns);
    return true;
}

/* A parameter with one of some values, the first by default; false: it was refused. */
static bool read_choice(struct fa_request *req, const char *name, const char *const *choices,
                        int *out)
{
    const char *text = fa_url_param(&req->url, name);
    struct faina_error err;
    struct fa_buf names;

    for (*out = 0; text && choices[*out]; ++*out)
        if (strcmp(text, choices[*out]) == 0)
            return true;
    if (!text)
        return true;
    fa_buf_init(&names, 256);
    for (size_t i = 0; choices[i]; i++)
        fa_buf_printf(&names, "%s%s", i == 0 ? "" : choices[i + 1] ? ", " : " or ", choices[i]);
    fa_error_field(&err, FAINA_INVALID_REQUEST, name, "%s must be %s, not \"%.40s\"", name,
                   names.ptr, text);
    fa_buf_finish(&names);
    fa_respond_problem(req, &err);
    return false;
}

static bool read_order(struct fa_request *req, struct faina_query *query)
{
    static const char *const sorts[] = {"createdAt", "updatedAt", "priority", "runAt", NULL};
    static const char *const orders[] = {"desc", "asc", NULL};
    int sort = 0, order = 0;

    if (!read_choice(req, "sort", sorts, &sort) || !read_choice(req, "order", orders, &order))
        return false;
    query->sort = (enum faina_sort)sort; /* in this order */
    query->ascending = order == 1;
    return true;
}

static bool has_foreign_id(const struct faina_query *query)
{
    return is_foreign_id(query->parent_id);
}

void fa_handle_list(struct fa_request *req)
{
    static const struct faina_tasks none;
    struct faina_query *query = fa_arena_zero(&req->arena, 1, sizeof(*query));
    int64_t limit = 0;
    struct fa_op *op;

    query->cursor = fa_url_param(&req->url, "cursor");
    if (!read_filters(req, query) || !read_order(req, query) ||
        !fa_request_int(req, "limit", 1, FA_LIST_LIMIT_MAX, &limit) ||
        !fa_request_bool(req, "brief", &query->brief))
        return;
    query->limit = (int)limit;
    op = fa_request_op(req, FA_OP_LIST);
    op->query = query;
    if (has_foreign_id(query) && fa_access_check(op, &op->error) == FAINA_OK) {
        fa_shape_put(fa_response_begin(req, 200), &fa_shape_tasks, &none);
        fa_response_end(req);
        return;
    }
    fa_request_run(req, after_tasks);
}

static void after_get(struct fa_request *req)
{
    if (!fa_request_refused(req))
        fa_respond_task(req, 200, req->posted.ops[0].task);
}

void fa_handle_get(struct fa_request *req)
{
    fa_request_part_op(req, FA_OP_GET);
    fa_request_run(req, after_get);
}

void fa_handle_wait(struct fa_request *req)
{
    int64_t wait_ms = WAIT_MS_DEFAULT;

    if (!fa_request_duration(req, "timeout", &wait_ms))
        return;
    fa_request_part_op(req, FA_OP_GET);
    fa_request_task_wait(req, wait_ms < FA_SERVER_WAIT_MS_MAX ? wait_ms : FA_SERVER_WAIT_MS_MAX,
                         after_get);
}

static void after_events(struct fa_request *req)
{
    const struct faina_events *events = req->posted.ops[0].events;
    char task_id[FAINA_ID_SIZE];
    struct fa_json_writer *w;
    struct fa_id id;

    if (fa_request_refused(req))
        return;
    fa_id_parse(req->part, &id); /* succeeds: the operation has checked it */
    fa_id_format(id, task_id);
    w = fa_response_items_begin(req);
    for (size_t i = 0; i < events->count; i++)
        fa_wire_put_event(w, &events->items[i], task_id);
    fa_response_items_end(req, req->posted.ops[0].next_cursor);
}

void fa_handle_events(struct fa_request *req)
{
    struct fa_op *op = fa_request_part_op(req, FA_OP_EVENTS);

    if (!fa_request_part(req, &op->part))
        return;
    op->page.limit = op->part.limit;
    fa_request_run(req, after_events);
}

void fa_handle_children(struct fa_request *req)
{
    int64_t limit = 0;
    struct fa_op *op;

    if (!fa_request_int(req, "limit", 1, FA_LIST_LIMIT_MAX, &limit))
        return;
    op = fa_request_part_op(req, FA_OP_CHILDREN);
    op->page.limit = (int)limit;
    op->page.cursor = fa_url_param(&req->url, "cursor");
    fa_request_run(req, after_tasks);
}

static void after_result(struct fa_request *req)
{
    const struct faina_task *task = req->posted.ops[0].task;

    if (fa_request_refused(req))
        return;
    if (!fa_status_is_ended(task->status)) {
        fa_respond_refusal(req, 409, FAINA_TASK_ACTIVE, "task %s has no result yet: it is %s",
                           task->id, faina_status_name(task->status));
    } else if (task->status != FAINA_COMPLETED) {
        fa_respond_refusal(req, 409, FAINA_TASK_FAILED, "task %s has no result: it ended as %s",
                           task->id, faina_status_name(task->status));
    } else {
        fa_json_put_raw(fa_response_begin(req, 200), task->output);
        fa_response_end(req);
    }
}

void fa_handle_result(struct fa_request *req)
{
    fa_request_part_op(req, FA_OP_GET);
    fa_request_run(req, after_result);
}

static void after_find(struct fa_request *req)
{
    fa_respond_answer(req, 200, &fa_shape_found);
}

void fa_handle_find(struct fa_request *req)
{
    struct fa_op *op;
    bool wants_recent = false;

    if (!fa_request_bool(req, "recent", &wants_recent))
        return;
    op = fa_request_op(req, FA_OP_FIND);
    op->id = fa_url_param(&req->url, "id");
    op->wants_recent = wants_recent;
    fa_request_run(req, after_find);
}

static void after_explain(struct fa_request *req)
{
    fa_respond_answer(req, 200, &fa_shape_explanation);
}

void fa_handle_explain(struct fa_request *req)
{
    fa_request_part_op(req, FA_OP_EXPLAIN);
    fa_request_run(req, after_explain);
}

static void after_graph(struct fa_request *req)
{
    fa_respond_answer(req, 200, &fa_shape_graph);
}

void fa_handle_graph(struct fa_request *req)
{
    int64_t depth = 0;

    if (!fa_request_int(req, "depth", 1, FA_GRAPH_DEPTH_MAX, &depth))
        return;
    fa_request_part_op(req, FA_OP_GRAPH)->graph.depth = (int)depth;
    fa_request_run(req, after_graph);
}

/* ------------------------------------------------------------------------------------------
 * Streaming
 */

/* The event id after which to continue, or NULL, and the name of its header or parameter. */
static const char *find_position(const struct fa_request *req, const char **name)
{
    const char *position = fa_request_header(req, "Last-Event-ID");

    *name = "Last-Event-ID";
    if (position && position[0] != '\0')
        return position;
    *name = "lastEventId";
    return fa_url_param(&req->url, *name);
}

static void after_stream(struct fa_request *req)
{
    struct fa_op *op = &req->posted.ops[0];
    const char *name;
    const char *position = op->page.cursor;
    struct fa_stream_client client = {.is_trusted = req->listener->is_trusted,
                                      .is_guarded = req->listener->is_guarded,
                                      .session = req->session};

    if (op->code == FAINA_INVALID_REQUEST) {
        find_position(req, &name);
        fa_error_field(&op->error, op->code, name, "%s is not the id of an event of the stream",
                       name);
    }
    if (fa_request_refused(req))
        return;
    if (req->is_head) {
        fa_respond_text(req, 200, "text/event-stream", "");
        return;
    }
    if (!fa_admission_hold_request(req))
        return;
    if (req->grant.token_id)
        snprintf(client.token_id, sizeof(client.token_id), "%s", req->grant.token_id);
    fa_response_header(req, "X-Accel-Buffering", "no"); /* a proxy must not buffer the stream */
    fa_respond_stream(req, fa_stream_open(req->server->streams, req->data, &client,
                                          position ? position : op->followed->next,
                                          &fa_http_stream_calls, req));
}

/* A filter that matches the same tasks as the query. */
static struct fa_stream_filter *make_filter(struct fa_request *req, const struct faina_query *query)
{
    struct fa_stream_filter *filter = fa_arena_take(&req->arena, sizeof(*filter));
    struct fa_id parent;

    *filter = (struct fa_stream_filter){
        .ns = strcmp(query->ns, "*") == 0 ? NULL : query->ns,
        .namespaces = req->grant.namespaces,
        .statuses = query->statuses,
        .type = query->type,
        .name = query->name,
        .team_id = query->team_id,
        .created_by = query->created_by,
        .idempotency_key = query->idempotency_key,
        .has_parent = query->parent_id != NULL,
        .parent_key = -1, /* of no task */
        .created_after_us = query->created_after_us,
        .created_before_us = query->created_before_us,
    };
    if (query->parent_id && fa_id_parse(query->parent_id, &parent))
        filter->parent_key = parent.key;
    return filter;
}

/* `ids`: tasks, with commas between. */
static bool read_ids(struct fa_request *req, struct fa_stream_filter *filter)
{
    const char *text = fa_url_param(&req->url, "ids");
    struct faina_error err;
    struct fa_id id;
    int64_t *keys;

    if (!text)
        return true;
    filter->keys = keys = fa_arena_take(&req->arena, FA_STREAM_IDS_MAX * sizeof(*keys));
    for (;; text++) {
        size_t len = strcspn(text, ",");

        if (filter->key_count == FA_STREAM_IDS_MAX ||
            !fa_id_parse(fa_arena_copy(&req->arena, text, len), &id)) {
            fa_error_field(&err, FAINA_INVALID_REQUEST, "ids",
                           filter->key_count == FA_STREAM_IDS_MAX
                               ? "ids has more than %d tasks"
                               : "ids must be up to %d ids of tasks, separated by commas",
                           FA_STREAM_IDS_MAX);
            fa_respond_problem(req, &err);
            return false;
        }
        keys[filter->key_count++] = id.key;
        text += len;
        if (*text == '\0')
            return true;
    }
}

void fa_handle_stream(struct fa_request *req)
{
    const char *name, *position = find_position(req, &name);
    struct faina_query query = {0};
    struct fa_op like = {.kind = FA_OP_LIST, .query = &query, .grant = &req->grant};
    struct fa_stream_filter *filter;
    int64_t aggregate_ms = -1;
    struct faina_error err;
    enum faina_code code;
    struct fa_op *op;

    if (!read_filters(req, &query))
        return;
    fa_error_clear(&err);
    code = fa_access_check(&like, &err); /* the same access as a list of these tasks */
    if (code == FAINA_OK && !has_foreign_id(&query))
        code = fa_check_query(&query, &err);
    if (code != FAINA_OK) {
        fa_respond_problem(req, &err);
        return;
    }
    filter = make_filter(req, &query);
    if (!read_ids(req, filter) || !fa_request_duration(req, "aggregate", &aggregate_ms))
        return;
    if (aggregate_ms != -1 && aggregate_ms != 1000) {
        fa_error_field(&err, FAINA_INVALID_REQUEST, "aggregate", "aggregate must be 1s");
        fa_respond_problem(req, &err);
        return;
    }
    filter->aggregate_us = aggregate_ms == 1000 ? 1000000 : 0;
    req->data = filter;
    req->stays = true; /* the stream's thread resumes the connection in its loop */
    op = fa_request_op(req, FA_OP_FOLLOW); /* also checks the position */
    op->page.cursor = position ? fa_arena_strdup(&req->arena, position) : NULL;
    op->page.limit = 1;
    fa_request_run(req, after_stream);
}

/* ------------------------------------------------------------------------------------------
 * Removing
 */

void fa_handle_delete(struct fa_request *req)
{
    struct faina_removal removal = {0};
    int64_t version;
    struct fa_op *op;

    if (!fa_request_bool(req, "cancel", &removal.cancel) ||
        !fa_request_bool(req, "purge", &removal.purge) || !fa_request_version(req, &version))
        return;
    op = fa_request_part_op(req, FA_OP_DELETE);
    op->removal = removal;
    op->by.version = version;
    fa_request_run(req, fa_respond_removed);
}

static void after_purge(struct fa_request *req)
{
    struct fa_json_writer *w;

    if (fa_request_refused(req))
        return;
    w = fa_response_begin(req, 200);
    fa_json_begin_object(w);
    fa_json_set_int(w, "removed", req->posted.ops[0].count);
    fa_json_end_object(w);
    fa_response_end(req);
}

void fa_handle_purge(struct fa_request *req)
{
    struct faina_purge *purge = fa_arena_zero(&req->arena, 1, sizeof(*purge));
    struct fa_purge_body body = {0};

    if (!fa_request_read(req, &fa_body_purge, &body))
        return;
    for (size_t i = 0; i < body.status.count; i++)
        if (!fa_request_statuses(req, body.status.items[i], &purge->statuses))
            return;
    /* All namespaces, unless the body names one or the token is limited to some. */
    if (body.ns && strcmp(body.ns, "*") == 0)
        body.ns = NULL;
    else if (fa_access_is_limited(&req->grant))
        body.ns = fa_request_namespace(req, body.ns);
    purge->ns = body.ns;
    purge->type = body.type;
    purge->ended_before_us = body.before_us;
    purge->deleted_only = body.deleted_only;
    purge->limit = body.limit;
    fa_request_op(req, FA_OP_PURGE)->purge = purge;
    fa_request_reason(req, body.reason);
    fa_request_run(req, after_purge);
}
