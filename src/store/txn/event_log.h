/*
 * event_log.h - the log of all events of tasks, in the order of their commits.
 *
 * While a transaction runs, its unit collects a line for each event (fa_unit_log_event); the commit
 * stores them as one row. Readers of the log continue from a position: a cursor of three numbers
 * (transaction, row, line), opaque to users.
 *
 *   J1  No event ever appears before a position that a reader was given.
 *   J2  A position older than the oldest row that is kept is reported as a gap, never skipped
 *       silently.
 *   J3  A row's number is never used again. On SQLite the newest row is never purged, and the next
 *       number is one more.
 */
#ifndef FA_STORE_TXN_EVENT_LOG_H
#define FA_STORE_TXN_EVENT_LOG_H

#include "service/service.h"
#include "store/txn/unit.h"

/*
 * A line: the key of the task and the time in hexadecimal, the status as a digit and the event,
 * with spaces between. Then, if the task has been claimed, a tab, the attempt in hexadecimal, `+`
 * or (when the status has not changed) `-`, the progress in hexadecimal, a tab and the worker;
 * `=` is that of the last line of the row that names one.
 */

/* Stores the lines that the unit has collected. Part of a commit. */
FA_MUST_CHECK enum faina_code fa_event_log_write(struct fa_unit *unit, struct faina_error *err);
/* A chore: removes rows past retention. */
FA_MUST_CHECK enum faina_code fa_event_log_purge(struct fa_unit *unit, struct faina_error *err);

/* FOLLOW: reads the events after a position. */
FA_MUST_CHECK enum faina_code fa_read_follow(struct fa_source *source, struct fa_op *op);

#endif
