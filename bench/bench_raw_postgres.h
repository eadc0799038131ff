/*
 * bench_raw_postgres.h - raw statements through libpq: the baseline of the engine on PostgreSQL,
 * and the benchmark's own statements.
 *
 *   session  a connection for any SQL
 *   minimal  one table with a bigint id and a partial index of the ready rows; complete deletes the
 *            row. One connection for each caller. No key, no history, no lanes
 *   pair     two connections: one sends a NOTIFY, the other receives it and claims a row of a
 *            minimal table
 *
 * Statements are prepared once, a batch is one statement and one transaction, values are sent as
 * binary arrays, and a claim reads the input.
 *
 * Threads: a session and a pair belong to one thread; a minimal subject starts its own.
 */
#ifndef FA_BENCH_BENCH_RAW_POSTGRES_H
#define FA_BENCH_BENCH_RAW_POSTGRES_H

#include "bench/bench_run.h"

struct fa_bench_session;

/* `schema` NULL: the default of the database. A missing schema is created. */
FA_MUST_CHECK enum faina_code fa_bench_session_open(struct fa_bench_session **out,
                                                    const struct fa_bench *bench,
                                                    const char *schema, struct faina_error *err);
void fa_bench_session_close(struct fa_bench_session *session); /* NULL is fine */

/* Runs one or more statements; *number (may be NULL) is the first value of the last result. */
FA_MUST_CHECK enum faina_code fa_bench_session_run(struct fa_bench_session *session,
                                                   const char *sql, int64_t *number,
                                                   struct faina_error *err);

/* Reads the server's location, version and settings into the report. */
FA_MUST_CHECK enum faina_code fa_bench_server_read(struct fa_bench *bench, struct faina_error *err);
/* Drops the schemas that begin with `prefix`; with_sessions: after ending the run's sessions. */
FA_MUST_CHECK enum faina_code fa_bench_schemas_drop(const struct fa_bench *bench,
                                                    const char *prefix, bool with_sessions,
                                                    struct faina_error *err);

struct fa_bench_minimal;

FA_MUST_CHECK enum faina_code fa_bench_minimal_open(struct fa_bench_minimal **out,
                                                    const struct fa_bench *bench,
                                                    const char *location, const char *name,
                                                    const struct fa_bench_speed *speed,
                                                    struct faina_error *err);
void fa_bench_minimal_close(struct fa_bench_minimal *minimal); /* NULL is fine */
/* Submits, claims and completes speed->tasks tasks; writes how long each step took. */
FA_MUST_CHECK enum faina_code fa_bench_minimal_round(struct fa_bench_minimal *minimal,
                                                     int64_t out_ns[FA_BENCH_STEPS],
                                                     struct faina_error *err);

struct fa_bench_notify_pair;

/* The times of a notification. */
struct fa_bench_notify_times {
    int64_t there_ns; /* from the NOTIFY until the other connection has received it */
    int64_t back_ns;  /* ... and until the first one has received the NOTIFY of the other */
    int64_t claim_ns; /* of one claim statement */
};

FA_MUST_CHECK enum faina_code fa_bench_notify_pair_open(struct fa_bench_notify_pair **out,
                                                        const struct fa_bench *bench,
                                                        const char *location, const char *name,
                                                        struct faina_error *err);
void fa_bench_notify_pair_close(struct fa_bench_notify_pair *pair); /* NULL is fine */
FA_MUST_CHECK enum faina_code fa_bench_notify_pair_measure(struct fa_bench_notify_pair *pair,
                                                           struct fa_bench_notify_times *out,
                                                           struct faina_error *err);

#endif
