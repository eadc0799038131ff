/*
 * route_session.c - logging in with a cookie, and what the caller may do.
 */
#include "server/routes/route.h"

#include "base/clock.h"
#include "server/server_inner.h"
#include "service/token.h"
#include "wire/wire.h"

#include <stdio.h>
#include <strings.h>

/* {name, tokenId, scopes, namespaces, expiresAt}; without a token: everything is allowed. */
static void respond(struct fa_request *req, const struct fa_token *token, int64_t expires_us)
{
    struct fa_json_writer *w = fa_response_begin(req, 200);

    fa_json_begin_object(w);
    fa_json_set_str(w, "name", token ? token->name : NULL);
    fa_json_set_str(w, "tokenId", token ? token->id : NULL);
    fa_json_key(w, "scopes");
    fa_scopes_put(w, token ? token->scopes : FA_SCOPE_ALL);
    fa_json_key(w, "namespaces");
    fa_json_put_raw(w, token && token->namespaces ? token->namespaces : "null");
    fa_json_key(w, "expiresAt");
    fa_wire_put_time(w, expires_us);
    fa_json_end_object(w);
    fa_response_header(req, "Cache-Control", "no-store");
    fa_response_end(req);
}

/* A proxy that ends TLS says so. */
static bool is_encrypted(const struct fa_request *req)
{
    const char *protocol = fa_request_header(req, "X-Forwarded-Proto");

    return (req->server->tls && !req->listener->is_unix) ||
           (protocol && strcasecmp(protocol, "https") == 0);
}

static void set_cookie(struct fa_request *req, const char *value, int64_t seconds)
{
    fa_response_header(
        req, "Set-Cookie",
        fa_arena_printf(&req->arena,
                        FA_SESSION_COOKIE "=%s; Path=/; Max-Age=%lld; HttpOnly; SameSite=Strict%s",
                        value, (long long)seconds, is_encrypted(req) ? "; Secure" : ""));
}

void fa_handle_session_post(struct fa_request *req)
{
    int64_t now_us = fa_clock_now_us();
    char secret[FA_SESSION_SECRET_SIZE];
    struct fa_session_body body = {0};
    struct fa_session session;
    const char *known = fa_login_cookie(req);
    struct fa_token token;
    struct faina_error err;

    if (!fa_request_read(req, &fa_body_session, &body))
        return;
    if (!body.token) {
        fa_respond_missing(req, "token");
        return;
    }
    if (!fa_login_compare(req, body.token, &token))
        return;
    if (known) /* the browser replaces its cookie */
        fa_sessions_end(req->server->sessions, known);
    if (fa_sessions_open(req->server->sessions, token.id, token.expires_us, now_us, secret,
                         &session, &err) != FAINA_OK) {
        fa_respond_problem(req, &err);
        return;
    }
    set_cookie(req, secret, (session.expires_us - now_us) / 1000000);
    respond(req, &token, session.expires_us);
}

void fa_handle_session_get(struct fa_request *req)
{
    const char *cookie = fa_login_cookie(req);
    struct fa_session session;
    struct fa_token token;

    if (!req->grant.token_id)
        respond(req, NULL, 0);
    else if (!fa_auth_describe(req->server->auth, req->grant.token_id, &req->arena, &token))
        fa_respond_refusal(req, 401, FAINA_UNAUTHORIZED, "the token was revoked");
    else if (req->session != 0 && cookie &&
             fa_sessions_find(req->server->sessions, cookie, fa_clock_now_us(), &session))
        respond(req, &token, session.expires_us);
    else
        respond(req, &token, token.expires_us);
}

void fa_handle_session_delete(struct fa_request *req)
{
    const char *cookie = fa_login_cookie(req);

    if (cookie) {
        fa_sessions_end(req->server->sessions, cookie);
        fa_server_check_streams(req->server);
        set_cookie(req, "", 0);
    }
    fa_respond_empty(req, 204);
}

static void after_namespaces(struct fa_request *req)
{
    fa_respond_items(req, &fa_shape_namespaces);
}

/* A token of some namespaces reaches those, used or not. */
static void respond_reached(struct fa_request *req)
{
    struct fa_json_writer *w = fa_response_items_begin(req);

    for (size_t i = 0; i < req->grant.namespaces.count; i++) {
        fa_json_begin_object(w);
        fa_json_set_str(w, "name", req->grant.namespaces.items[i]);
        fa_json_end_object(w);
    }
    fa_response_items_end(req, NULL);
}

void fa_handle_namespaces(struct fa_request *req)
{
    if (fa_access_is_limited(&req->grant))
        respond_reached(req);
    else if (fa_request_part(req, &fa_request_op(req, FA_OP_NAMESPACE_LIST)->part))
        fa_request_run(req, after_namespaces);
}
