/*
 * psql.h - plain PostgreSQL sessions beside the engine: they read, hold locks, and change rows
 * without the engine.
 *
 * A URL here is an engine's: `?schema=` becomes the session's search_path.
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
/* Skips the cmocka test when there is no server; or no engine for PostgreSQL. */
void fa_psql_need(void);
void fa_psql_need_engine(void);

/* `url` in libpq's format, without the schema; `schema` gets the schema, or "". */
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
/* "" on success, else the SQLSTATE, or "lost" when the connection broke. */
const char *fa_psql_try(PGconn *conn, char state[8], const char *format, ...) FA_PRINTF(3, 4);
void fa_psql_drop_database(PGconn *conn, const char *name);
/* The first column of the first row; -1 and "" when there is none. */
int64_t fa_psql_int(PGconn *conn, const char *format, ...) FA_PRINTF(2, 3);
void fa_psql_text(PGconn *conn, char out[FA_PSQL_TEXT_SIZE], const char *format, ...)
    FA_PRINTF(3, 4);

/* A step that may have to wait for a lock: sent now, its end awaited later. */
void fa_psql_send(PGconn *conn, const char *sql);
void fa_psql_await(PGconn *conn);
/* Waits until `watch` finds that `conn` waits for a lock. */
void fa_psql_await_blocked(PGconn *watch, PGconn *conn);

/* Drops the schema of `url` and everything in it. */
void fa_psql_drop_schema(const char *url);

#endif
