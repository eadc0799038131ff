/*
 * bench_fill_postgres.h - inserts many tasks into the engine's tables with SQL on the PostgreSQL
 * server: a million take seconds, not a minute.
 *
 * The engine must have stored one such task first; the others are copies of it, an hour older.
 *
 * Threads: as its session.
 */
#ifndef FA_BENCH_BENCH_FILL_POSTGRES_H
#define FA_BENCH_BENCH_FILL_POSTGRES_H

#include "bench/bench_raw_postgres.h"

/* Inserts waiting copies of the first waiting task with this priority. */
FA_MUST_CHECK enum faina_code fa_bench_fill_waiting(const struct fa_bench *bench,
                                                    struct fa_bench_session *session, int priority,
                                                    int64_t count, const char *what,
                                                    struct faina_error *err);
/* Inserts copies of the first ended task. */
FA_MUST_CHECK enum faina_code fa_bench_fill_ended(const struct fa_bench *bench,
                                                  struct fa_bench_session *session, int64_t count,
                                                  const char *what, struct faina_error *err);
/* Vacuums and analyzes the tables, so that autovacuum doesn't run during the measurement. */
FA_MUST_CHECK enum faina_code fa_bench_fill_settle(struct fa_bench_session *session,
                                                   struct faina_error *err);

#endif
