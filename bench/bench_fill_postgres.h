/*
 * bench_fill_postgres.h - many tasks in the engine's own tables on PostgreSQL, made by the server
 * itself: a million take seconds, not a minute.
 *
 * The engine must have made one task of the kind first; the others are copies of it, an hour older.
 *
 * Threads: as its session.
 */
#ifndef FA_BENCH_FILL_POSTGRES_H
#define FA_BENCH_FILL_POSTGRES_H

#include "cli/bench_raw_postgres.h"

/* Copies of the first waiting task with this priority, waiting too. */
FA_MUST_CHECK enum faina_code fa_bench_fill_waiting(const struct fa_bench *bench,
                                                    struct fa_bench_session *session, int priority,
                                                    int64_t count, const char *what,
                                                    struct faina_error *err);
/* Copies of the first task that has ended. */
FA_MUST_CHECK enum faina_code fa_bench_fill_ended(const struct fa_bench *bench,
                                                  struct fa_bench_session *session, int64_t count,
                                                  const char *what, struct faina_error *err);
/* Lets the server learn what it has, so that it doesn't while others are measured. */
FA_MUST_CHECK enum faina_code fa_bench_fill_settle(struct fa_bench_session *session,
                                                   struct faina_error *err);

#endif
