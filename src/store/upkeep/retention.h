/*
 * retention.h - finds and removes ended tasks past retention.
 *
 * worker/retention_thread.h decides what is past retention, and writes it to the archive between
 * the two steps.
 *
 *   T1  A task is removed only in the version that was found: one that was changed since stays.
 *   T2  A subtask stays while its parent stays: the parent's handler may read its result.
 *   T3  Finding blocks no other transaction. Removing a few hundred tasks is one job of the batch.
 */
#ifndef FA_STORE_UPKEEP_RETENTION_H
#define FA_STORE_UPKEEP_RETENTION_H

#include "service/service.h"
#include "store/txn/unit.h"

FA_MUST_CHECK enum faina_code fa_retention_find(struct fa_source *source,
                                                const struct fa_expired_query *query,
                                                int64_t now_us, struct fa_arena *arena,
                                                struct fa_expired *out, struct faina_error *err);
/* Inside a transaction. */
FA_MUST_CHECK enum faina_code fa_retention_remove(struct fa_unit *unit,
                                                  const struct fa_expired *what, bool events_only,
                                                  size_t *removed, struct faina_error *err);

/* Days, where each has tables of its own (fa_db_has(db, FA_DB_PARTITIONED_DAYS)). */
FA_MUST_CHECK enum faina_code fa_retention_find_day(struct fa_db *db,
                                                    const struct fa_expired_query *query,
                                                    struct fa_expired_day *out,
                                                    struct faina_error *err);
/* Inside a transaction of its own: its locks block the queue. */
FA_MUST_CHECK enum faina_code fa_retention_drop_day(struct fa_db *db,
                                                    const struct fa_expired_day *day,
                                                    struct faina_error *err);

#endif
