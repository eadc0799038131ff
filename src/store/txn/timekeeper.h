/*
 * timekeeper.h - the clock of a store that uses the machine's clock: SQLite, or memory.
 *
 * Such a store has a steady clock (base/steady.h). Every time that the engine stores is read from
 * it, and every due time is compared with it.
 *
 *   K1  A lease, a background time-out, a backoff, the deadline of a join, the time-out of a worker
 *       and the time since a rate's token was taken are spans. When the clock makes a step, their
 *       ends are moved by the same step, in a transaction before it. So no jump of the wall clock
 *       shortens or lengthens them; a correction changes them by a tenth at most.
 *   K2  The runAt of a task and the times of a schedule are times of day. They follow the clock.
 *   K3  When the wall clock is set forward, the engine's clock follows at once. What is due by then
 *       is done, and schedules treat the times between as missed (schedules.c).
 *   K4  When the wall clock is set back by up to a day, the engine's clock only runs slower:
 *       nothing waits for the wall clock to catch up, and no time of a schedule occurs twice.
 *   K5  When the wall clock is set back by more than a day, the time before was wrong, and the
 *       engine's clock makes a step back. Schedules compute their next time again; a time that has
 *       made its task makes no second one.
 *   K6  A store that is opened continues from the latest time at which the engine worked, if K4
 *       applies to the difference; else K5 applies.
 *
 * Where the database has its own clock (PostgreSQL) these functions do nothing.
 */
#ifndef FA_STORE_TXN_TIMEKEEPER_H
#define FA_STORE_TXN_TIMEKEEPER_H

#include "store/txn/writer.h"

/* When a store is opened, after the migrations (K6). */
FA_MUST_CHECK enum faina_code fa_timekeeper_resume(struct fa_writer *writer,
                                                   struct faina_error *err);
/* Before a transaction: makes a step of the clock that is due. If the store can't be written, the
 * step stays due. */
void fa_timekeeper_follow(struct fa_writer *writer);
/* All zero where the database has its own clock. */
void fa_timekeeper_show(struct fa_engine *engine, struct fa_service_clock *out);
/* Whether fa_timekeeper_follow has work to do. */
bool fa_timekeeper_is_due(struct fa_engine *engine);

#endif
