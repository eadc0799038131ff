/*
 * target.h - where a PostgreSQL store is and how to reach it: the URL taken apart.
 *
 * Everything that libpq understands is handed to it. Ours are, as parameters of the URL:
 *
 *     schema=NAME         where the tables are (default: faina)
 *     pooled=true         the server is behind pgbouncer in transaction mode: no named statements,
 *                         no settings that outlive a transaction
 *     listen_host=HOST    with pooled: a direct way to the server, for LISTEN; what is not given
 *     listen_port=PORT    is as for the rest
 *
 * One target serves all connections of an engine. It also keeps what they share: how far the
 * database's clock is from ours.
 *
 * Threads: any; only the offset changes.
 */
#ifndef FA_PG_TARGET_H
#define FA_PG_TARGET_H

#include "base/bytes.h"
#include "base/error.h"

#include <libpq-fe.h>
#include <stdatomic.h>

#define FA_PG_PARAMS_MAX 48
/* How a transaction that changes something begins, whatever the database's default is. */
#define FA_PG_BEGIN "BEGIN ISOLATION LEVEL READ COMMITTED"

/* What a connection is for; it decides the settings of its session. */
enum fa_pg_role { FA_PG_WRITER, FA_PG_READER, FA_PG_HERALD, FA_PG_ROLE_COUNT };

struct fa_pg_target {
    struct fa_arena arena;
    const char *keywords[FA_PG_PARAMS_MAX],
        *values[FA_PG_PARAMS_MAX]; /* of libpq; NULL ends them */
    size_t count;
    const char *schema;
    const char *listen_host, *listen_port;
    const char *pooled; /* as it is written */
    bool is_pooled;
    const char *location; /* for people: no secrets */
    /* The same settings for one transaction: a statement to run first where the session is not
     * ours. */
    const char *local_settings[FA_PG_ROLE_COUNT];
    atomic_llong clock_offset_us; /* the database's clock minus ours since the boot */
};

/* INVALID_REQUEST: the URL is wrong; the sentence says where, and shows no password. */
FA_MUST_CHECK enum faina_code fa_pg_target_parse(struct fa_pg_target *out, const char *url,
                                                 struct faina_error *err);
void fa_pg_target_finish(struct fa_pg_target *target);

/* Whether the session of such a connection is ours; else only its transactions are. */
bool fa_pg_is_direct(const struct fa_pg_target *target, enum fa_pg_role role);
/* Connects. UNAVAILABLE: it can't be reached, or doesn't let us in. */
FA_MUST_CHECK enum faina_code fa_pg_connect(struct fa_pg_target *target, enum fa_pg_role role,
                                            PGconn **out, struct faina_error *err);
/*
 * What PQexec would answer, after a PQsend... that went well. When it doesn't come within `ms`, or
 * two seconds once *hurry (NULL: never) is true, the connection is closed to all traffic: what is
 * answered then, and from then on, is that it was lost.
 */
PGresult *fa_pg_receive(PGconn *conn, int is_sent, int ms, const atomic_bool *hurry);
/* Sets the offset by an answer that has just come to a question of the time `before`. */
void fa_pg_set_clock(struct fa_pg_target *target, int64_t before, int64_t server_us);
/* Sets the offset by asking the server's clock, again until an answer is quick enough. */
void fa_pg_read_clock(struct fa_pg_target *target, PGconn *conn);
int64_t fa_pg_now(struct fa_pg_target *target);

/* The first line of what libpq says, without its ending. */
const char *fa_pg_message(const char *message, char *out, size_t size);

#endif
