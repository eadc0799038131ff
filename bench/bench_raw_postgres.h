/*
 * bench_raw_postgres.h - raw statements through libpq: what the engine on PostgreSQL is compared
 * with, and what the benchmark itself asks the server.
 *
 *   session  a connection, for whatever must be said in SQL
 *   lean     one table with a bigint id, a partial index of what is ready, and the row deleted in
 *            the end; one connection for each caller. No key, no history, no lanes
 *   bell     two connections: one notifies, the other hears it and claims a row of a lean table
 *
 * Statements are prepared once, a batch is one statement and one transaction, values go as arrays
 * in binary form, and a claim reads the input back.
 *
 * Threads: a session and a bell belong to one thread; a lean subject's callers are its own affair.
 */
#ifndef FA_BENCH_RAW_POSTGRES_H
#define FA_BENCH_RAW_POSTGRES_H

#include "cli/bench_run.h"

struct fa_bench_session;

/* `schema` NULL: whatever the database gives. It is made when it isn't there. */
FA_MUST_CHECK enum faina_code fa_bench_session_open(struct fa_bench_session **out,
                                                    const struct fa_bench *bench,
                                                    const char *schema, struct faina_error *err);
void fa_bench_session_close(struct fa_bench_session *session); /* NULL is fine */

/* Runs one statement or several; *number (may be NULL) is the first value of the last answer. */
FA_MUST_CHECK enum faina_code fa_bench_session_run(struct fa_bench_session *session,
                                                   const char *sql, int64_t *number,
                                                   struct faina_error *err);

/* Reads where the server is and what it is, into the report. */
FA_MUST_CHECK enum faina_code fa_bench_server_read(struct fa_bench *bench, struct faina_error *err);
/* Ends our sessions that are left (with_sessions), drops the schemas that begin with `prefix`. */
FA_MUST_CHECK enum faina_code fa_bench_schemas_drop(const struct fa_bench *bench,
                                                    const char *prefix, bool with_sessions,
                                                    struct faina_error *err);

struct fa_bench_lean;

FA_MUST_CHECK enum faina_code fa_bench_lean_open(struct fa_bench_lean **out,
                                                 const struct fa_bench *bench, const char *place,
                                                 const char *name,
                                                 const struct fa_bench_speed *speed,
                                                 struct faina_error *err);
void fa_bench_lean_close(struct fa_bench_lean *lean); /* NULL is fine */
/* Lets speed->tasks tasks live through all their steps; writes how long each step took. */
FA_MUST_CHECK enum faina_code fa_bench_lean_round(struct fa_bench_lean *lean,
                                                  int64_t out_ns[FA_BENCH_STEPS],
                                                  struct faina_error *err);

struct fa_bench_bell;

/* How long it took, from the beginning of the NOTIFY. */
struct fa_bench_ring {
    int64_t there_ns; /* until the other connection has heard it */
    int64_t back_ns;  /* until the first one has heard that one's answer */
    int64_t claim_ns; /* one claim statement, by itself */
};

FA_MUST_CHECK enum faina_code fa_bench_bell_open(struct fa_bench_bell **out,
                                                 const struct fa_bench *bench, const char *place,
                                                 const char *name, struct faina_error *err);
void fa_bench_bell_close(struct fa_bench_bell *bell); /* NULL is fine */
FA_MUST_CHECK enum faina_code fa_bench_bell_ring(struct fa_bench_bell *bell,
                                                 struct fa_bench_ring *out,
                                                 struct faina_error *err);

#endif
