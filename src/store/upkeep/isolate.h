/*
 * isolate.h - finds the items that keep the chores from running, and sets them aside.
 *
 *   I1  An item is set aside only when it fails alone, in a transaction of its own (set_aside.h,
 *       A1).
 *   I2  Everything else that was due has been done afterwards, unless the time was over
 *       (ISOLATE_US): then the next failure goes on with what is left.
 *   I3  When several items fail and none succeeds, the cause is not theirs: none is set aside.
 */
#ifndef FA_ISOLATE_H
#define FA_ISOLATE_H

#include "sql/writer.h"

/* The chores have failed with an answer that may concern a single item. */
void fa_isolate_chores(struct fa_writer *writer);

#endif
