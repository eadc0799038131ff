/*
 * sessions.h - logins of browsers: a cookie instead of a token.
 *
 * A session is opened with a token (POST /session) and may do what the token allows at the time of
 * each request. Its secret is the value of a cookie; the server has its SHA-256.
 *
 *   L1  Sessions are in memory, so they end when the server is restarted, and each server has its
 *       own.
 *   L2  A session ends after FA_SESSION_SECONDS, with its token, or when it is closed.
 *   L3  Memory is fixed: of more than FA_SESSIONS_MAX sessions, or FA_SESSIONS_TOKEN_MAX of one
 *       token, the oldest is closed.
 *   L4  Secrets are compared in constant time, and never logged.
 *
 * Threads: any; the functions lock.
 */
#ifndef FA_SERVER_SESSIONS_H
#define FA_SERVER_SESSIONS_H

#include "base/error.h"

#include <stdint.h>

#define FA_SESSIONS_MAX 4096
#define FA_SESSIONS_TOKEN_MAX 64
#define FA_SESSION_SECONDS (7 * 24 * 3600)
#define FA_SESSION_COOKIE "faina_session"
#define FA_SESSION_SECRET_SIZE (4 + 64 + 1) /* its place, random bits, NUL */

struct fa_sessions;

struct fa_session {
    uint64_t number; /* that no other session of this process has; never 0 */
    char token_id[FAINA_ID_SIZE];
    int64_t expires_us;
};

struct fa_sessions *fa_sessions_create(void);
void fa_sessions_destroy(struct fa_sessions *sessions); /* NULL is fine */

/* Opens a session of the token, which expires at token_expires_us (0: never). UNAVAILABLE: the
 * system has no randomness. */
FA_MUST_CHECK enum faina_code fa_sessions_open(struct fa_sessions *sessions, const char *token_id,
                                               int64_t token_expires_us, int64_t now_us,
                                               char secret[FA_SESSION_SECRET_SIZE],
                                               struct fa_session *out, struct faina_error *err);
/* False: there is no such session, or it has expired. */
bool fa_sessions_find(struct fa_sessions *sessions, const char *secret, int64_t now_us,
                      struct fa_session *out);
/* Whether the session with this number is open. */
bool fa_sessions_is_open(struct fa_sessions *sessions, uint64_t number, int64_t now_us);
void fa_sessions_end(struct fa_sessions *sessions, const char *secret);

#endif
