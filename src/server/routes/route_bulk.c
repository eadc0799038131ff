/*
 * route_bulk.c - operations on many tasks.
 */
#include "server/routes/route.h"

#include "wire/wire_bulk.h"

const enum fa_bulk_kind fa_bulk_kinds[FA_BULK_KIND_COUNT] = {
    [FA_BULK_CANCEL] = FA_BULK_CANCEL,
    [FA_BULK_RETRY] = FA_BULK_RETRY,
    [FA_BULK_DELETE] = FA_BULK_DELETE,
    [FA_BULK_UPDATE] = FA_BULK_UPDATE,
};

/* ------------------------------------------------------------------------------------------
 * Starting and counting
 */

struct bulk {
    struct fa_bulk_request request;
    int64_t matched;
};

static void after_start(struct fa_request *req)
{
    struct fa_json_writer *w;

    if (fa_request_refused(req))
        return;
    fa_response_header(
        req, "Location",
        fa_arena_printf(&req->arena, FA_API "/operations/%s", req->posted.ops[0].bulk_answer->id));
    w = fa_response_begin(req, 202);
    fa_json_begin_object(w);
    fa_json_key(w, "operation");
    fa_shape_put(w, &fa_shape_bulk, req->posted.ops[0].bulk_answer);
    fa_json_end_object(w);
    fa_response_end(req);
}

/* Each part is a read of its own, so that other reads go between them. */
static void after_count(struct fa_request *req)
{
    struct fa_op *op = &req->posted.ops[0];
    struct bulk *bulk = req->data;
    struct fa_json_writer *w;

    if (fa_request_refused(req))
        return;
    bulk->matched += op->count;
    if (op->next_cursor && req->peer) {
        op->bulk.cursor = op->next_cursor;
        fa_request_run(req, after_count);
        return;
    }
    w = fa_response_begin(req, 200);
    fa_json_begin_object(w);
    fa_json_set_int(w, "matched", bulk->matched);
    fa_json_end_object(w);
    fa_response_end(req);
}

void fa_handle_bulk(struct fa_request *req)
{
    const enum fa_bulk_kind *kind = req->route->data;
    struct bulk *bulk = fa_arena_zero(&req->arena, 1, sizeof(*bulk));
    struct fa_bulk_request *request = &bulk->request;
    struct fa_op *op;

    if (!fa_request_read(req, fa_body_bulk[*kind], request))
        return;
    request->kind = *kind;
    request->query.ns = fa_request_namespace(req, request->query.ns);
    req->data = bulk;
    op = fa_request_op(req, request->dry_run ? FA_OP_BULK_COUNT : FA_OP_BULK);
    op->bulk.request = request;
    op->by.reason = request->reason;
    fa_request_run(req, request->dry_run ? after_count : after_start);
}

/* ------------------------------------------------------------------------------------------
 * Reading and cancelling
 */

static void after_bulks(struct fa_request *req)
{
    fa_respond_items(req, &fa_shape_bulks);
}

void fa_handle_bulks(struct fa_request *req)
{
    if (fa_request_part(req, &fa_request_part_op(req, FA_OP_BULK_LIST)->part))
        fa_request_run(req, after_bulks);
}

static void after_bulk_get(struct fa_request *req)
{
    fa_respond_only_item(req, &fa_shape_bulks);
}

void fa_handle_bulk_get(struct fa_request *req)
{
    fa_request_part_op(req, FA_OP_BULK_LIST);
    fa_request_run(req, after_bulk_get);
}

static void after_bulk_cancel(struct fa_request *req)
{
    fa_respond_answer(req, 200, &fa_shape_bulk);
}

void fa_handle_bulk_cancel(struct fa_request *req)
{
    fa_request_part_op(req, FA_OP_BULK_CANCEL);
    fa_request_run(req, after_bulk_cancel);
}
