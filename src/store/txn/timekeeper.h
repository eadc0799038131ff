/*
 * timekeeper.h - the time of a store whose clock is the machine's: SQLite, or memory.
 *
 * Such a store has a steady clock (base/steady.h). Every time that the engine stores is read from
 * it, and everything that is due is compared with it.
 *
 *   K1  A lease, a time-out in the background, a pause before a retry, the deadline of a join, the
 *       silence of a worker: these are spans. When the clock makes a step, their ends are moved by
 *       the same step, in a transaction before it. So no jump of the wall clock shortens or
 *       lengthens them; a correction changes them by a tenth at most.
 *   K2  The time that a task was submitted for, and the times of a schedule, are times of day. They
 *       follow the clock.
 *   K3  Set forward, the wall clock is followed at once. What is due by then is done, and schedules
 *       treat the times between as missed (crons.c).
 *   K4  Set back by up to a day, the engine's clock goes on and only runs slower: nothing waits for
 *       the wall clock to catch up, and no time of a schedule comes twice.
 *   K5  Set back by more than a day, the time before was wrong, and the clock makes a step back.
 *       Schedules find their next time anew; a task that a time has already made is not made again.
 *   K6  A store that is opened goes on from the latest time at which the engine worked, when K4
 *       applies to the difference; else K5 does.
 *
 * Where the database has its own clock (PostgreSQL) these functions do nothing.
 */
#ifndef FA_TIMEKEEPER_H
#define FA_TIMEKEEPER_H

#include "sql/writer.h"

/* When a store is opened, after its schema was brought forward (K6). */
FA_MUST_CHECK enum faina_code fa_timekeeper_resume(struct fa_writer *writer,
                                                   struct faina_error *err);
/* Before a transaction: makes a step of the clock that is due. When the store can't be written, the
 * step stays due. */
void fa_timekeeper_follow(struct fa_writer *writer);
/* All zero where the database has its own clock. */
void fa_timekeeper_show(struct fa_engine *engine, struct fa_service_clock *out);
/* Whether fa_timekeeper_follow has something to do. */
bool fa_timekeeper_is_due(struct fa_engine *engine);

#endif
