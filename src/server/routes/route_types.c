/*
 * route_types.c - routes for the policies of types.
 */
#include "server/routes/route.h"

#include "server/server_inner.h"
#include "wire/type_body.h"

/* An operation on the type in the path, or without one on those of a namespace. */
static struct fa_op *make_op(struct fa_request *req, enum fa_op_kind kind)
{
    struct fa_op *op = fa_request_op(req, kind);

    op->name.type = req->part;
    op->name.ns = fa_request_namespace(req, fa_url_param(&req->url, "namespace"));
    return op;
}

static void after_types(struct fa_request *req)
{
    fa_respond_items(req, &fa_shape_types);
}

void fa_handle_types(struct fa_request *req)
{
    struct fa_op *op = make_op(req, FA_OP_TYPE_LIST);

    if (fa_request_part(req, &op->part))
        fa_request_run(req, after_types);
}

static void answer(struct fa_request *req, const struct faina_type_policy *policy)
{
    fa_response_version(req, policy->version);
    fa_shape_put(fa_response_begin(req, 200), &fa_shape_type, policy);
    fa_response_end(req);
}

static void after_type(struct fa_request *req)
{
    if (!fa_request_refused(req))
        answer(req, &req->posted.ops[0].types->items[0]);
}

void fa_handle_type(struct fa_request *req)
{
    make_op(req, FA_OP_TYPE_LIST);
    fa_request_run(req, after_type);
}

static void after_put(struct fa_request *req)
{
    if (!fa_request_refused(req))
        answer(req, req->posted.ops[0].type_answer);
}

void fa_handle_type_put(struct fa_request *req)
{
    struct fa_type_body *body = fa_arena_zero(&req->arena, 1, sizeof(*body));
    struct faina_type_policy *policy = &body->policy;
    struct fa_op *op;
    int64_t version;

    if (!fa_request_read(req, &fa_body_type, body) || !fa_request_version(req, &version))
        return;
    if ((policy->type == NULL || !fa_name_is_same(policy->type, req->part)) &&
        !fa_request_matches_path(req, "type", policy->type))
        return;
    policy->type = req->part;
    policy->ns = fa_request_namespace(
        req, policy->ns != NULL ? policy->ns : fa_url_param(&req->url, "namespace"));
    op = fa_request_op(req, FA_OP_TYPE_PUT);
    op->type_policy = policy;
    op->by.version = version;
    fa_request_reason(req, body->reason);
    fa_request_run(req, after_put);
}

void fa_handle_type_delete(struct fa_request *req)
{
    struct fa_op *op;
    int64_t version;

    if (!fa_request_version(req, &version))
        return;
    op = make_op(req, FA_OP_TYPE_REMOVE);
    op->by.version = version;
    fa_request_run(req, fa_respond_removed);
}
