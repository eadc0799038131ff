/*
 * journal.h - what happened, in the order it was committed.
 *
 * While a transaction runs, its unit gathers a line for each event (fa_unit_journal); the commit
 * stores them as one row. Whoever follows the log reads on from a place: a cursor of three numbers
 * (transaction, row, line), opaque to users.
 *
 *   J1  Nothing ever appears before a place that a reader was given.
 *   J2  A place that is older than what is kept is told as a gap, never skipped silently.
 *   J3  A row's number is never used again. On SQLite the newest row is never forgotten, and the
 *       next one is one more.
 */
#ifndef FA_JOURNAL_H
#define FA_JOURNAL_H

#include "service/service.h"
#include "sql/unit.h"

/* Stores what the unit has gathered. Part of a commit. */
FA_MUST_CHECK enum faina_code fa_journal_write(struct fa_unit *unit, struct faina_error *err);
/* A chore: forgets what is old. */
FA_MUST_CHECK enum faina_code fa_journal_forget(struct fa_unit *unit, struct faina_error *err);

/* FOLLOW: reads on. */
FA_MUST_CHECK enum faina_code fa_look_follow(struct fa_source *source, struct fa_op *op);

#endif
