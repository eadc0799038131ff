/*
 * auth.h - bearer tokens: which grant (access.h) a request has.
 *
 * Without any token stored, the server trusts whoever reaches it, and listens on this machine alone
 * unless told otherwise (server.h). As soon as there is one, every request needs one. Where others
 * can reach it, a request needs one also after the last was revoked.
 *
 *   A1  The server knows hashes of tokens only, and compares them in constant time.
 *   A2  A grant is a copy: what a request may do is decided once, at its head. One that waits for
 *       work, or listens, ends with its token.
 *   A3  The scope `admin` includes the others.
 *
 * Threads: any.
 */
#ifndef FA_AUTH_H
#define FA_AUTH_H

#include "service/access.h"

struct fa_auth;

struct fa_auth *fa_auth_create(void);
void fa_auth_destroy(struct fa_auth *auth); /* NULL is fine */

/* Reads the tokens anew. On failure the old ones stay. */
FA_MUST_CHECK enum faina_code fa_auth_load(struct fa_auth *auth, struct fa_service *service,
                                           struct faina_error *err);
bool fa_auth_has_tokens(struct fa_auth *auth);

/* What the header `Authorization` (NULL: none) grants to a request for `what` (access.h); with
 * `is_guarded`, nothing as long as no token is stored. UNAUTHORIZED, FORBIDDEN. */
FA_MUST_CHECK enum faina_code fa_auth_check(struct fa_auth *auth, bool is_guarded,
                                            const char *authorization, unsigned what,
                                            struct fa_arena *arena, struct fa_grant *out,
                                            struct faina_error *err);

/* Whether a request for `what` needs a token. */
bool fa_auth_is_needed(struct fa_auth *auth, bool is_guarded, unsigned what);

/* Whether what was granted to a token (NULL: to nobody in particular) some time ago would be
 * granted now: for requests that take long. */
bool fa_auth_still_knows(struct fa_auth *auth, bool is_guarded, const char *token_id);

#endif
