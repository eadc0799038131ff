/*
 * route_reports.c - the history, groups of failures, and the audit.
 */
#include "server/routes/route.h"

#include "model/audit_entry.h"
#include "model/failure_group.h"
#include "model/history.h"
#include "model/limits.h"
#include "wire/wire_reports.h"

static void after_history(struct fa_request *req)
{
    fa_respond_answer(req, 200, &fa_shape_history);
}

void fa_handle_history(struct fa_request *req)
{
    struct fa_history_query *query = fa_arena_zero(&req->arena, 1, sizeof(*query));
    struct fa_op *op;

    if (!fa_request_time(req, "from", &query->from_us) ||
        !fa_request_time(req, "to", &query->to_us) ||
        !fa_request_duration(req, "step", &query->step_ms))
        return;
    op = fa_request_op(req, FA_OP_HISTORY);
    query->ns = fa_request_namespace(req, fa_url_param(&req->url, "namespace"));
    query->type = fa_url_param(&req->url, "type");
    op->history_query = query;
    fa_request_run(req, after_history);
}

static void after_failures(struct fa_request *req)
{
    fa_respond_answer(req, 200, &fa_shape_failures);
}

void fa_handle_failures(struct fa_request *req)
{
    struct fa_failure_query *query = fa_arena_zero(&req->arena, 1, sizeof(*query));
    int64_t limit = 0;

    if (!fa_request_time(req, "since", &query->since_us) ||
        !fa_request_int(req, "limit", 1, FA_LIST_LIMIT_MAX, &limit))
        return;
    query->ns = fa_request_namespace(req, fa_url_param(&req->url, "namespace"));
    query->type = fa_url_param(&req->url, "type");
    query->limit = (int)limit;
    fa_request_op(req, FA_OP_FAILURES)->failure_query = query;
    fa_request_run(req, after_failures);
}

static void after_audit(struct fa_request *req)
{
    fa_respond_answer(req, 200, &fa_shape_audit);
}

void fa_handle_audit(struct fa_request *req)
{
    struct fa_audit_query *query = fa_arena_zero(&req->arena, 1, sizeof(*query));
    bool is_descending = true;
    int64_t limit = 0;

    if (!fa_request_time(req, "from", &query->from_us) ||
        !fa_request_time(req, "to", &query->to_us) ||
        !fa_request_int(req, "limit", 1, FA_LIST_LIMIT_MAX, &limit) ||
        !fa_request_order(req, &is_descending))
        return;
    query->ascending = !is_descending;
    query->who = fa_url_param(&req->url, "who");
    query->act = fa_url_param(&req->url, "act");
    query->target = fa_url_param(&req->url, "target");
    query->cursor = fa_url_param(&req->url, "cursor");
    query->limit = (int)limit;
    fa_request_op(req, FA_OP_AUDIT_LIST)->audit_query = query;
    fa_request_run(req, after_audit);
}
