/*
 * chores.h - what the clock asks for, one file for each chore; chores.c runs them.
 *
 *   promote.c   tasks that are due go in line
 *   recover.c   tasks whose worker did not renew its lease come back
 *   expire.c    background work that is over its time has failed
 *   link.c      tasks submitted in SQL learn what became of those that they wait for
 *   fold.c      counts of submits in SQL are added up
 *   empty.c     lanes without tasks are removed
 *
 * Others are with what they are about: schedules in crons.c, silent workers in workers.c, joins
 * that have waited long enough in joins.c, old events in flows.c, old tasks in retention.c.
 *
 *   C1  Only the node that leads runs them, inside its transaction, and proves there that it leads.
 *   C2  Each looks at the row again before it changes it, so that twice is once.
 *   C3  None scans the backlog.
 */
#ifndef FA_CHORES_H
#define FA_CHORES_H

#include "sql/ops.h"

/* One task whose time has come; the row is whole. */
typedef enum faina_code fa_chore_fn(struct fa_unit *unit, struct fa_row *row,
                                    struct faina_error *err);
fa_chore_fn fa_chore_promote, fa_chore_recover, fa_chore_expire, fa_chore_link;

/* How long after its end a lease is taken back: no node may think that it still runs. */
int64_t fa_chore_grace_us(const struct fa_unit *unit);
FA_MUST_CHECK enum faina_code fa_chore_fold(struct fa_unit *unit, struct faina_error *err);
FA_MUST_CHECK enum faina_code fa_chore_empty(struct fa_unit *unit, int64_t *next_us,
                                             struct faina_error *err);

/* The error of an attempt that nobody ended, as JSON. */
const char *fa_chore_error(struct fa_unit *unit, const char *kind, const char *message);

#endif
