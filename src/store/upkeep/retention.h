/*
 * retention.h - the chore of removing tasks that ended long ago, as far as the tables go.
 *
 * runtime/keeper.h decides what is old, and writes it to the archive between the two steps.
 *
 *   T1  A task is removed only in the version that was found: one that was changed since stays.
 *   T2  A subtask stays while its parent stays: the parent's handler may ask for its result.
 *   T3  Finding holds up nobody. Removing a few hundred tasks is one job of the batch.
 */
#ifndef FA_RETENTION_H
#define FA_RETENTION_H

#include "service/service.h"
#include "sql/unit.h"

FA_MUST_CHECK enum faina_code fa_retention_find(struct fa_source *source,
                                                const struct fa_old_query *query, int64_t now_us,
                                                struct fa_arena *arena, struct fa_old *out,
                                                struct faina_error *err);
/* Inside a transaction. */
FA_MUST_CHECK enum faina_code fa_retention_remove(struct fa_unit *unit, const struct fa_old *what,
                                                  bool events_only, size_t *removed,
                                                  struct faina_error *err);

/* Days, where they are tables of their own (db->is_shared). */
FA_MUST_CHECK enum faina_code fa_retention_find_day(struct fa_db *db,
                                                    const struct fa_old_query *query,
                                                    struct fa_old_day *out,
                                                    struct faina_error *err);
/* Inside a transaction of its own: its locks stop the queue. */
FA_MUST_CHECK enum faina_code fa_retention_drop_day(struct fa_db *db, const struct fa_old_day *day,
                                                    struct faina_error *err);

#endif
