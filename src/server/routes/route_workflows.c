/*
 * route_workflows.c - routes for events, workflows and joins.
 */
#include "server/routes/route.h"

#include "model/limits.h"
#include "model/workflow.h"
#include "server/server_inner.h"
#include "wire/wire.h"
#include "wire/wire_workflow.h"

/* ------------------------------------------------------------------------------------------
 * Events
 */

static void after_emit(struct fa_request *req)
{
    fa_respond_answer(req, 200, &fa_shape_emitted);
}

void fa_handle_emit(struct fa_request *req)
{
    struct faina_emit *emit = fa_arena_zero(&req->arena, 1, sizeof(*emit));

    if (!fa_request_read(req, &fa_body_emit, emit))
        return;
    emit->ns = fa_request_namespace(req, emit->ns);
    fa_request_op(req, FA_OP_EMIT)->emit = emit;
    fa_request_run(req, after_emit);
}

static void after_emitted_events(struct fa_request *req)
{
    fa_respond_answer(req, 200, &fa_shape_emitted_events);
}

void fa_handle_emitted_events(struct fa_request *req)
{
    struct fa_emitted_query *query = fa_arena_zero(&req->arena, 1, sizeof(*query));
    int64_t limit = 0;

    query->ns = fa_request_namespace(req, fa_url_param(&req->url, "namespace"));
    query->type = fa_url_param(&req->url, "type");
    query->cursor = fa_url_param(&req->url, "cursor");
    if (!fa_request_int(req, "limit", 1, FA_LIST_LIMIT_MAX, &limit) ||
        !fa_request_time(req, "since", &query->since_us) ||
        !fa_request_order(req, &query->descending))
        return;
    query->limit = (int)limit;
    fa_request_op(req, FA_OP_EMITTED_LIST)->emitted_query = query;
    fa_request_run(req, after_emitted_events);
}

static void after_emitted_event(struct fa_request *req)
{
    fa_respond_only_item(req, &fa_shape_emitted_events);
}

void fa_handle_emitted_event(struct fa_request *req)
{
    struct fa_emitted_query *query = fa_arena_zero(&req->arena, 1, sizeof(*query));

    query->ns = fa_request_namespace(req, fa_url_param(&req->url, "namespace"));
    query->id = req->part;
    fa_request_op(req, FA_OP_EMITTED_LIST)->emitted_query = query;
    fa_request_run(req, after_emitted_event);
}

/* ------------------------------------------------------------------------------------------
 * Workflows
 */

static void after_workflows(struct fa_request *req)
{
    fa_respond_items(req, &fa_shape_workflows);
}

/* An operation on a workflow (NULL: on all) of the request's namespace. */
static struct fa_op *make_op(struct fa_request *req, enum fa_op_kind kind, const char *name)
{
    struct fa_op *op = fa_request_op(req, kind);

    op->workflow.ns = fa_request_namespace(req, fa_url_param(&req->url, "namespace"));
    op->workflow.name = name;
    return op;
}

void fa_handle_workflows(struct fa_request *req)
{
    struct fa_op *op = make_op(req, FA_OP_WORKFLOW_LIST, NULL);

    if (fa_request_part(req, &op->part))
        fa_request_run(req, after_workflows);
}

static void after_workflow(struct fa_request *req)
{
    const struct fa_stored_workflows *workflows = req->posted.ops[0].workflows;

    if (fa_request_refused(req))
        return;
    fa_response_workflow_version(req, &workflows->items[0]);
    fa_wire_put_workflow(fa_response_begin(req, 200), &workflows->items[0]);
    fa_response_end(req);
}

void fa_handle_workflow(struct fa_request *req)
{
    make_op(req, FA_OP_WORKFLOW_LIST, req->part);
    fa_request_run(req, after_workflow);
}

static void after_workflow_change(struct fa_request *req)
{
    const struct fa_op *op = &req->posted.ops[0];
    struct fa_json_writer *w;

    if (fa_request_refused(req))
        return;
    fa_response_workflow_version(req, op->workflow_answer);
    w = fa_response_begin(req, 200);
    fa_json_begin_object(w);
    fa_shape_put_members(w, &fa_shape_workflow, op->workflow_answer);
    if (op->existing)
        fa_json_set_bool(w, "existing", true);
    fa_json_end_object(w);
    fa_response_end(req);
}

/* A refused definition: lists every error with its position in the body. */
static void after_workflow_put(struct fa_request *req)
{
    const struct fa_op *op = &req->posted.ops[0];
    struct fa_json_writer w;
    struct fa_buf text;

    if (op->code != FAINA_INVALID_REQUEST || !op->mistakes || op->mistakes->count == 0) {
        after_workflow_change(req);
        return;
    }
    fa_buf_init(&text, SIZE_MAX / 2);
    fa_json_writer_init(&w, &text, 0);
    fa_wire_put_mistakes(&w, &op->error, op->mistakes);
    fa_respond_text(req, 400, "application/problem+json",
                    fa_arena_copy(&req->arena, text.ptr, text.len));
    fa_buf_finish(&text);
}

void fa_handle_workflow_put(struct fa_request *req)
{
    struct fa_definition *definition = fa_arena_zero(&req->arena, 1, sizeof(*definition));
    struct fa_op *op;
    int64_t version;

    definition->ns = fa_request_namespace(req, fa_url_param(&req->url, "namespace"));
    if (!fa_request_workflow_version(req, &version))
        return;
    definition->name = req->part;
    definition->text = fa_request_body(req);
    definition->is_yaml = !fa_request_is_type(req, "application/json");
    op = fa_request_op(req, FA_OP_WORKFLOW_PUT);
    op->definition = definition;
    op->by.version = version;
    fa_request_run(req, after_workflow_put);
}

void fa_handle_workflow_delete(struct fa_request *req)
{
    struct fa_op *op;
    int64_t version;

    if (!fa_request_workflow_version(req, &version))
        return;
    op = make_op(req, FA_OP_WORKFLOW_REMOVE, req->part);
    op->by.version = version;
    fa_request_run(req, fa_respond_removed);
}

static void set_enabled(struct fa_request *req, bool is_on)
{
    struct fa_op *op;
    int64_t version;

    if (!fa_request_workflow_version(req, &version))
        return;
    op = make_op(req, FA_OP_WORKFLOW_ENABLE, req->part);
    op->workflow.enable = is_on;
    op->by.version = version;
    fa_request_run(req, after_workflow_change);
}

void fa_handle_workflow_enable(struct fa_request *req)
{
    set_enabled(req, true);
}

void fa_handle_workflow_disable(struct fa_request *req)
{
    set_enabled(req, false);
}

/* Runs without the engine. */
void fa_handle_workflow_test(struct fa_request *req)
{
    struct fa_match_body body = {.data = "{}"};
    const struct fa_match *match = NULL;
    struct fa_match_verdict verdict;
    struct fa_match_data data;
    struct faina_error err = {0};
    enum faina_code code;

    if (!fa_request_read(req, &fa_body_match, &body))
        return;
    code = body.match ? fa_match_compile(fa_str(body.match), &req->arena, &match, &err)
                      : fa_error_field(&err, FAINA_INVALID_REQUEST, "match", "match is missing");
    if (code == FAINA_OK) {
        fa_match_data_init(&data, fa_str(body.data));
        code = fa_match_run(match, &data, &verdict, &err);
    }
    if (code != FAINA_OK) {
        fa_respond_problem(req, &err);
        return;
    }
    fa_wire_put_verdict(fa_response_begin(req, 200), match, &verdict);
    fa_response_end(req);
}

/* ------------------------------------------------------------------------------------------
 * Joins
 */

static void after_joins(struct fa_request *req)
{
    fa_respond_answer(req, 200, &fa_shape_joins);
}

void fa_handle_joins(struct fa_request *req)
{
    int64_t limit = 0;
    struct fa_op *op;

    if (!fa_request_int(req, "limit", 1, FA_LIST_LIMIT_MAX, &limit))
        return;
    op = fa_request_op(req, FA_OP_JOIN_LIST);
    op->join.ns = fa_request_namespace(req, fa_url_param(&req->url, "namespace"));
    op->join.workflow = req->part;
    op->join.key = fa_url_param(&req->url, "key");
    op->join.limit = (int)limit;
    op->join.cursor = fa_url_param(&req->url, "cursor");
    fa_request_run(req, after_joins);
}
