/*
 * isolate.h - finds the items that make the chores fail, and sets them aside.
 *
 *   I1  An item is set aside only when it fails alone, in a transaction of its own (set_aside.h,
 *       A1).
 *   I2  Afterwards all other due items have been processed, unless the time was over (ISOLATE_US):
 *       then the next failure continues with the rest.
 *   I3  When several items fail and none succeeds, the items are not the cause: none is set aside.
 *   I4  An item that waits for a key (writer.h, E10) is tried again soon.
 */
#ifndef FA_STORE_UPKEEP_ISOLATE_H
#define FA_STORE_UPKEEP_ISOLATE_H

#include "store/txn/writer.h"

/* After the chores have failed with a code that may concern a single item. */
void fa_isolate_chores(struct fa_writer *writer);

#endif
