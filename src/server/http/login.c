/*
 * login.c - the caller of a request, by its token or by the session that its cookie names.
 *
 * A browser adds the cookie to every request to the server, whichever page makes it. Therefore a
 * request with the cookie is refused when a page of another site has sent it. Browsers send
 * Sec-Fetch-Site for this, and older ones Origin. A public page may be opened from elsewhere.
 */
#include "server/http/request.h"

#include "base/clock.h"
#include "server/server_inner.h"
#include "server/routes/route.h"

#include <string.h>
#include <strings.h>

#define CHALLENGE "Bearer realm=\"faina\""

bool fa_request_is_own_origin(const struct fa_request *req)
{
    const char *origin = fa_request_header(req, "Origin"), *name;

    if (!origin)
        return true;
    name = strstr(origin, "://");
    return name && req->host && strcasecmp(name + 3, req->host) == 0;
}

/* ------------------------------------------------------------------------------------------
 * Failed logins
 */

static void find_client(const struct fa_request *req, struct fa_login_address *out)
{
    fa_login_address_of((const struct sockaddr *)&req->peer->address, out);
}

/* Counts a bad token. With `is_compared` unset the token was not checked. */
static void fail_login(struct fa_request *req, const struct fa_login_address *from,
                       bool is_compared, const struct faina_error *err)
{
    const char *reason = is_compared ? err->message : "too many failed logins from this address";
    bool is_allowed = fa_logins_fail(req->server->logins, from, req->route->method,
                                     req->route->path, reason, fa_clock_mono_us());

    if (is_allowed && is_compared) {
        fa_response_header(req, "WWW-Authenticate", CHALLENGE);
        fa_respond_problem(req, err);
        return;
    }
    fa_respond_refusal(req, 429, FAINA_OVERLOADED,
                       "there were too many requests with a bad token from this address; try again "
                       "later");
}

bool fa_login_compare(struct fa_request *req, const char *secret, struct fa_token *out)
{
    struct fa_login_address from;
    struct faina_error err;

    find_client(req, &from);
    if (!fa_logins_may_try(req->server->logins, &from, fa_clock_mono_us())) {
        fail_login(req, &from, false, NULL);
        return false;
    }
    if (fa_auth_find(req->server->auth, secret, &req->arena, out, &err) != FAINA_OK) {
        fail_login(req, &from, true, &err);
        return false;
    }
    fa_logins_pass(req->server->logins, &from);
    return true;
}

/* ------------------------------------------------------------------------------------------
 * The cookie
 */

const char *fa_login_cookie(struct fa_request *req)
{
    const char *at = fa_request_header(req, "Cookie");
    size_t len = strlen(FA_SESSION_COOKIE);

    while (at && *at) {
        size_t size;

        at += strspn(at, " ;\t");
        size = strcspn(at, ";");
        if (size > len && strncmp(at, FA_SESSION_COOKIE "=", len + 1) == 0)
            return fa_arena_copy(&req->arena, at + len + 1, size - len - 1);
        at += size;
    }
    return NULL;
}

static bool is_from_elsewhere(const struct fa_request *req)
{
    const char *site = fa_request_header(req, "Sec-Fetch-Site");

    if (site)
        return strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0;
    return !fa_request_is_own_origin(req);
}

static bool is_public_page(const struct fa_request *req)
{
    return strcmp(req->route->method, "GET") == 0 &&
           fa_access_scopes(req->route->what) == FA_SCOPE_NONE;
}

/* Reads the cookie. */
static bool find_session(struct fa_request *req, struct fa_credentials *credentials)
{
    const char *cookie = fa_login_cookie(req);
    struct fa_session session;

    if (!cookie || is_public_page(req))
        return true;
    if (is_from_elsewhere(req)) {
        fa_respond_refusal(req, 403, FAINA_FORBIDDEN,
                           "requests with a session from pages of other sites are refused");
        return false;
    }
    credentials->token_id = "";
    if (!credentials->authorization &&
        fa_sessions_find(req->server->sessions, cookie, fa_clock_now_us(), &session)) {
        credentials->token_id = fa_arena_strdup(&req->arena, session.token_id);
        req->session = session.number;
    }
    return true;
}

/* ------------------------------------------------------------------------------------------
 * The grant
 */

static bool check_grant(struct fa_request *req, const struct fa_credentials *credentials)
{
    bool has_token =
        credentials->authorization &&
        fa_auth_is_needed(req->server->auth, req->listener->is_guarded, req->route->what);
    struct fa_login_address from;
    struct faina_error err;
    enum faina_code code;

    if (has_token) {
        find_client(req, &from);
        if (!fa_logins_may_try(req->server->logins, &from, fa_clock_mono_us())) {
            fail_login(req, &from, false, NULL);
            return false;
        }
    }
    code = fa_auth_check(req->server->auth, req->listener->is_guarded, credentials,
                         req->route->what, &req->arena, &req->grant, &err);
    if (has_token && code == FAINA_UNAUTHORIZED) {
        fail_login(req, &from, true, &err);
        return false;
    }
    if (has_token)
        fa_logins_pass(req->server->logins, &from);
    if (code == FAINA_OK)
        return true;
    if (code == FAINA_UNAUTHORIZED) /* a request without a token is not a failed login */
        fa_response_header(req, "WWW-Authenticate", CHALLENGE);
    fa_respond_problem(req, &err);
    return false;
}

bool fa_login_check(struct fa_request *req)
{
    struct fa_credentials credentials = {.authorization = fa_request_header(req, "Authorization")};

    if (!find_session(req, &credentials))
        return false;
    /* Only the server's own user can connect to this socket, and that user can read the file. */
    if (req->listener->is_trusted) {
        req->grant = (struct fa_grant){.scopes = FA_SCOPE_ALL, .name = req->server->service->user};
        return true;
    }
    return check_grant(req, &credentials);
}

bool fa_request_is_still_authorized(const struct fa_request *req)
{
    if (req->session != 0 &&
        !fa_sessions_is_open(req->server->sessions, req->session, fa_clock_now_us()))
        return false;
    return req->listener->is_trusted ||
           fa_auth_is_valid(req->server->auth, req->listener->is_guarded, req->grant.token_id);
}

void fa_request_check_still_authorized(struct fa_request *req)
{
    if (fa_request_is_still_authorized(req))
        return;
    fa_response_header(req, "WWW-Authenticate", CHALLENGE);
    fa_respond_refusal(req, 401, FAINA_UNAUTHORIZED,
                       "the token was revoked or has expired while the request waited");
}
