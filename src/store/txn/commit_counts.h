/*
 * facts.h - what a transaction has done, told to those who count (service.h).
 */
#ifndef FA_FACTS_H
#define FA_FACTS_H

#include "sql/unit.h"
#include "sql/waiters.h"

/* After the commit, in the leader's thread. Costs nothing when nobody counts. */
void fa_facts_tell(struct fa_waiters *waiters, struct fa_unit *unit);
/* What was set aside and stored since the last call. */
void fa_facts_publish_aside(struct fa_waiters *waiters, struct fa_aside *aside);
/* The chores have failed for long. */
void fa_facts_publish_stalled(struct fa_waiters *waiters, const char *reason);

#endif
