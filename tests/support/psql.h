/*
 * psql.h - PostgreSQL as a test sees it beside the engine: plain sessions that look, hold locks
 * and change things behind the engine's back.
 *
 * A URL here is an engine's: `?schema=` is understood, and becomes the session's search_path.
 * A statement that fails ends the test, unless the function says otherwise.
 *
 * Threads: a session belongs to one thread at a time.
 */
#ifndef FA_TEST_PSQL_H
#define FA_TEST_PSQL_H

#include "support/support.h"

typedef struct pg_conn PGconn; /* libpq's */

#define FA_PSQL_TEXT_SIZE 1024

/* FA_POSTGRES_URL (or the superuser's), or NULL when there is no server. */
const char *fa_psql_url(void);
const char *fa_psql_admin_url(void);
/* Skips the cmocka test when there is no server; or no engine that speaks to it. */
void fa_psql_need(void);
void fa_psql_need_engine(void);

/* `url` as libpq wants it, without the schema; `schema` gets that, or "". */
void fa_psql_split(const char *url, char out[FA_T_PATH_SIZE], char schema[64]);
int fa_psql_port(const char *url);
/* `url` with another host and port: through a proxy, for example. */
void fa_psql_through(const char *url, int port, char out[FA_T_PATH_SIZE]);
/* Adds ?key=value or &key=value. `out` may be `url`. */
void fa_psql_with(const char *url, const char *key, const char *value, char out[FA_T_PATH_SIZE]);

PGconn *fa_psql_connect(const char *url);
PGconn *fa_psql_try_connect(const char *url); /* NULL when it can't */
void fa_psql_close(PGconn *conn);             /* NULL is fine */

/* Statements, printf-style. `exec` runs one or several. */
void fa_psql_exec(PGconn *conn, const char *format, ...) FA_PRINTF(2, 3);
/* "" when it went well, else the five characters of its error, or "lost" with the connection. */
const char *fa_psql_try(PGconn *conn, char state[8], const char *format, ...) FA_PRINTF(3, 4);
/* The first column of the first row; -1 and "" when there is none. */
int64_t fa_psql_int(PGconn *conn, const char *format, ...) FA_PRINTF(2, 3);
void fa_psql_text(PGconn *conn, char out[FA_PSQL_TEXT_SIZE], const char *format, ...)
    FA_PRINTF(3, 4);

/* A step that may have to wait for a lock: sent now, its end awaited later. */
void fa_psql_send(PGconn *conn, const char *sql);
void fa_psql_await(PGconn *conn);
/* Waits until `conn` is stopped by a lock, as `watch` sees it. */
void fa_psql_await_blocked(PGconn *watch, PGconn *conn);

/* Removes the schema of `url` with all in it. */
void fa_psql_drop_schema(const char *url);

#endif
