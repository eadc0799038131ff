/*
 * auth.h - bearer tokens: which grant (access.h) a request has.
 *
 * While no token is stored, requests need none, and the server listens on this machine only unless
 * its options say otherwise (server.h). As soon as there is a token, every request needs one. On an
 * address that other machines can reach, it still does after the last token was revoked.
 *
 *   A1  The server has only hashes of tokens, and compares them in constant time.
 *   A2  A grant is a copy: access is decided once, at the head of the request. A waiting claim or a
 *       stream ends when its token becomes invalid.
 *   A3  The scope `admin` includes the others.
 *
 * Threads: any.
 */
#ifndef FA_SERVER_AUTH_H
#define FA_SERVER_AUTH_H

#include "service/access.h"

struct fa_auth;

/* What identifies the caller of a request. */
struct fa_credentials {
    const char *authorization; /* the header; NULL: none */
    const char *token_id;      /* of its session, "" when that has ended; NULL: there is none. Used
                                  without the header */
};

struct fa_auth *fa_auth_create(void);
void fa_auth_destroy(struct fa_auth *auth); /* NULL is fine */

/* Loads the tokens and the setting `redact`. On failure the old ones stay in use. */
FA_MUST_CHECK enum faina_code fa_auth_load(struct fa_auth *auth, struct fa_service *service,
                                           struct faina_error *err);
bool fa_auth_has_tokens(struct fa_auth *auth);

/* The grant of a request for `what` (access.h). With `is_guarded` a token is needed even if none is
 * stored. UNAUTHORIZED, FORBIDDEN. */
FA_MUST_CHECK enum faina_code fa_auth_check(struct fa_auth *auth, bool is_guarded,
                                            const struct fa_credentials *credentials, unsigned what,
                                            struct fa_arena *arena, struct fa_grant *out,
                                            struct faina_error *err);
/* The token with this secret, without its hash. UNAUTHORIZED. */
FA_MUST_CHECK enum faina_code fa_auth_find(struct fa_auth *auth, const char *secret,
                                           struct fa_arena *arena, struct fa_token *out,
                                           struct faina_error *err);
/* The same by its id. False: there is none. */
bool fa_auth_describe(struct fa_auth *auth, const char *token_id, struct fa_arena *arena,
                      struct fa_token *out);

/* Whether a request for `what` needs a token. */
bool fa_auth_is_needed(struct fa_auth *auth, bool is_guarded, unsigned what);

/* For long requests: whether an earlier grant of this token (NULL: without a token) is still valid.
 */
bool fa_auth_is_valid(struct fa_auth *auth, bool is_guarded, const char *token_id);

#endif
