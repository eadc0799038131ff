/*
 * target.h - where a PostgreSQL store is and how to reach it: the parsed URL.
 *
 * libpq gets all parameters of the URL but these:
 *
 *     schema=NAME         where the tables are (default: faina)
 *     pooled=true         the server is behind pgbouncer in transaction mode: no named statements,
 *                         no settings that outlive a transaction
 *     listen_host=HOST    with pooled: a direct connection to the server, for LISTEN; the
 *     listen_port=PORT    default is the host or port of the other connections
 *
 * All connections of an engine share one target. It also holds the offset of the database's clock.
 *
 * Threads: any; only the offset changes.
 */
#ifndef FA_STORE_DB_POSTGRES_TARGET_H
#define FA_STORE_DB_POSTGRES_TARGET_H

#include "base/bytes.h"
#include "base/error.h"

#include <libpq-fe.h>
#include <stdatomic.h>

#define FA_PG_PARAMS_MAX 48
/* Begins a writing transaction, whatever the database's default isolation level is. */
#define FA_PG_BEGIN "BEGIN ISOLATION LEVEL READ COMMITTED"

/* The purpose of a connection, which determines the settings of its session. */
enum fa_pg_role { FA_PG_WRITER, FA_PG_READER, FA_PG_NOTIFIER, FA_PG_ROLE_COUNT };

struct fa_pg_target {
    struct fa_arena arena;
    const char *keywords[FA_PG_PARAMS_MAX],
        *values[FA_PG_PARAMS_MAX]; /* of libpq; NULL ends them */
    size_t count;
    const char *schema;
    const char *listen_host, *listen_port;
    const char *pooled; /* the parameter's text */
    bool is_pooled;
    const char *location; /* for messages: no secrets */
    /* A statement that sets the role's settings for one transaction: the first one behind a
     * connection pooler. */
    const char *local_settings[FA_PG_ROLE_COUNT];
    atomic_llong clock_offset_us; /* the database's clock minus the time since boot */
};

/* INVALID_REQUEST: the URL is wrong; the message tells where, without the password. */
FA_MUST_CHECK enum faina_code fa_pg_target_parse(struct fa_pg_target *out, const char *url,
                                                 struct faina_error *err);
void fa_pg_target_finish(struct fa_pg_target *target);

/* Whether such a connection has a session of its own; otherwise it is pooled, and settings last for
 * a transaction. */
bool fa_pg_is_direct(const struct fa_pg_target *target, enum fa_pg_role role);
/* Connects. UNAVAILABLE: the server can't be reached, or refuses the login. */
FA_MUST_CHECK enum faina_code fa_pg_connect(struct fa_pg_target *target, enum fa_pg_role role,
                                            PGconn **out, struct faina_error *err);
/*
 * The result that PQexec would return, after a PQsend... that succeeded. When it doesn't arrive
 * within `ms`, or two seconds once *is_forced (NULL: never) is true, the socket is shut down: this
 * and all later calls then report a lost connection.
 */
PGresult *fa_pg_receive(PGconn *conn, int is_sent, int ms, const atomic_bool *is_forced);
/* Sets the offset by a server time that was requested at `before` and has just arrived. */
void fa_pg_set_clock(struct fa_pg_target *target, int64_t before, int64_t server_us);
/* Sets the offset by reading the server's clock, again until a result arrives fast enough. */
void fa_pg_read_clock(struct fa_pg_target *target, PGconn *conn);
int64_t fa_pg_now(struct fa_pg_target *target);

/* The first line of a message of libpq, without the line break. */
const char *fa_pg_message(const char *message, char *out, size_t size);

#endif
