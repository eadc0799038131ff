/*
 * route_workers.c - routes for workers and tokens.
 */
#include "server/routes/route.h"

#include "base/clock.h"
#include "server/server_inner.h"
#include "service/token.h"
#include "wire/wire.h"

/* ------------------------------------------------------------------------------------------
 * Workers
 */

static void after_workers(struct fa_request *req)
{
    fa_respond_items(req, &fa_shape_workers);
}

void fa_handle_workers(struct fa_request *req)
{
    if (fa_request_part(req, &fa_request_part_op(req, FA_OP_WORKER_LIST)->part))
        fa_request_run(req, after_workers);
}

static void after_worker(struct fa_request *req)
{
    fa_respond_only_item(req, &fa_shape_workers);
}

void fa_handle_worker(struct fa_request *req)
{
    fa_request_part_op(req, FA_OP_WORKER_LIST);
    fa_request_run(req, after_worker);
}

static void after_heartbeat_read(struct fa_request *req)
{
    const struct faina_beat *beat = req->data;

    if (fa_request_refused(req))
        return;
    fa_wire_put_heartbeat(fa_response_begin(req, 200), &req->posted.ops[0].workers->items[0], beat);
    fa_response_end(req);
}

/* The response contains the worker, even for a token without the scope read. */
static void after_heartbeat(struct fa_request *req)
{
    struct fa_grant *grant = fa_arena_take(&req->arena, sizeof(*grant));

    if (fa_request_refused(req))
        return;
    *grant = req->grant;
    grant->scopes |= FA_SCOPE_READ;
    req->data = req->posted.ops[0].beat;
    fa_request_part_op(req, FA_OP_WORKER_LIST)->grant = grant;
    fa_request_run(req, after_heartbeat_read);
}

void fa_handle_worker_put(struct fa_request *req)
{
    struct fa_wire_heartbeat *beat = fa_arena_zero(&req->arena, 1, sizeof(*beat));
    struct fa_bytes body = fa_request_body(req);
    struct faina_error err;
    struct fa_op *op;

    fa_error_clear(&err);
    if (body.len == 0)
        body = FA_LIT("{}");
    if (fa_wire_read_heartbeat(body, &req->arena, beat, &err) != FAINA_OK) {
        fa_respond_problem(req, &err);
        return;
    }
    if (beat->worker.id && strcmp(beat->worker.id, req->part) != 0) {
        fa_error_field(&err, FAINA_INVALID_REQUEST, "id", "id is not the one in the path");
        fa_respond_problem(req, &err);
        return;
    }
    beat->worker.id = req->part;
    op = fa_request_part_op(req, FA_OP_WORKER_PUT);
    op->worker.self = &beat->worker;
    op->worker.held = beat->held;
    op->worker.held_count = beat->held_count;
    op->worker.lease_ms = beat->lease_ms;
    op->worker.renews_all = beat->renews_all;
    fa_request_run(req, after_heartbeat);
}

static void after_counting(struct fa_request *req)
{
    struct fa_json_writer *w;

    if (fa_request_refused(req))
        return;
    w = fa_response_begin(req, 200);
    fa_json_begin_object(w);
    fa_json_set_int(w, "released", req->posted.ops[0].count);
    fa_json_end_object(w);
    fa_response_end(req);
}

void fa_handle_worker_delete(struct fa_request *req)
{
    bool wants_count = false;

    if (!fa_request_bool(req, "count", &wants_count))
        return;
    fa_request_part_op(req, FA_OP_WORKER_REMOVE);
    fa_request_run(req, wants_count ? after_counting : fa_respond_removed);
}

/* ------------------------------------------------------------------------------------------
 * Tokens
 */

static void after_tokens(struct fa_request *req)
{
    fa_respond_items(req, &fa_shape_tokens);
}

void fa_handle_tokens(struct fa_request *req)
{
    if (fa_request_part(req, &fa_request_part_op(req, FA_OP_TOKEN_LIST)->part))
        fa_request_run(req, after_tokens);
}

struct new_token {
    struct fa_token token;
    char secret[FA_TOKEN_SIZE], hash[FA_SHA256_HEX_SIZE];
    bool has_secret;
    const struct fa_token *stored;
};

static void answer_token(struct fa_request *req)
{
    struct new_token *new = req->data;

    fa_token_put(fa_response_begin(req, 201), new->stored, new->has_secret ? new->secret : NULL);
    explicit_bzero(new->secret, sizeof(new->secret));
    fa_response_end(req);
}

static void after_token_post(struct fa_request *req)
{
    struct new_token *new = req->data;

    if (fa_request_refused(req))
        return;
    new->stored = req->posted.ops[0].token_answer;
    fa_request_reload_access(req, answer_token);
}

static const char *names_json(struct fa_request *req, const struct fa_texts *names)
{
    struct fa_json_writer w;
    struct fa_buf text;
    const char *json;

    if (!names->items)
        return NULL;
    fa_buf_init(&text, FA_SERVER_BATCH_SIZE_MAX);
    fa_json_writer_init(&w, &text, 0);
    fa_json_begin_array(&w);
    for (size_t i = 0; i < names->count; i++)
        fa_json_put_str(&w, names->items[i]);
    fa_json_end_array(&w);
    json = fa_arena_copy(&req->arena, text.ptr, text.len);
    fa_buf_finish(&text);
    return json;
}

/* Sets expires_us. body->expires_ms is -1 if the body has no `expires`. */
static enum faina_code read_expiry(const struct fa_token_body *body, struct fa_token *token,
                                   struct faina_error *err)
{
    if (body->expires_ms == 0)
        return fa_error_field(err, FAINA_INVALID_REQUEST, "expires",
                              "expires must be longer than 0; without it a token never expires");
    if (body->expires_ms > 0 && body->expires_us != 0)
        return fa_error_field(err, FAINA_INVALID_REQUEST, "expires",
                              "give expires or expiresAt, not both");
    token->expires_us = body->expires_us;
    if (body->expires_ms > 0)
        token->expires_us = fa_clock_now_us() + body->expires_ms * 1000;
    return FAINA_OK;
}

void fa_handle_token_post(struct fa_request *req)
{
    struct new_token *new = fa_arena_zero(&req->arena, 1, sizeof(*new));
    struct fa_token_body body = {.expires_ms = -1};
    struct faina_error err;
    enum faina_code code;

    if (!fa_request_read(req, &fa_body_token, &body))
        return;
    fa_error_clear(&err);
    code = read_expiry(&body, &new->token, &err);
    if (code == FAINA_OK)
        code = fa_scope_parse(body.scopes.items, body.scopes.count, &new->token.scopes, &err);
    if (code == FAINA_OK && !body.hash) {
        code = fa_token_make(new->secret, new->hash, &err);
        new->has_secret = true;
        body.hash = new->hash;
    }
    if (code != FAINA_OK) {
        fa_respond_problem(req, &err);
        return;
    }
    new->token.name = body.name ? body.name : "token";
    new->token.hash = body.hash;
    new->token.namespaces = names_json(req, &body.namespaces);
    req->data = new;
    fa_request_part_op(req, FA_OP_TOKEN_PUT)->token = &new->token;
    fa_request_reason(req, body.reason);
    fa_request_run(req, after_token_post);
}

static void answer_revoked(struct fa_request *req)
{
    fa_respond_empty(req, 204);
}

static void after_token_delete(struct fa_request *req)
{
    if (!fa_request_refused(req))
        fa_request_reload_access(req, answer_revoked);
}

void fa_handle_token_delete(struct fa_request *req)
{
    bool force = false;

    if (!fa_request_bool(req, "force", &force))
        return;
    /* If only this machine can reach the server, the file's owner needs no token. */
    fa_request_part_op(req, FA_OP_TOKEN_REMOVE)->force = force || !req->server->is_open;
    fa_request_run(req, after_token_delete);
}
