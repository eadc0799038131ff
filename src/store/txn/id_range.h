/*
 * id_range.h - the keys of new tasks where several nodes share a store.
 *
 * A writer makes ids from a range of keys of its own: those of one slot (the last bits of a key)
 * from one time to another. On a store with one writer there is no limit, and none of this happens.
 *
 *   K1  No two ranges share a key. What says so is in the database: a slot's row has the end of its
 *       last range, and the next one begins there or later. No clock has to be right for it, and no
 *       lease can be outlived: a writer that was paused finds its range in the past and takes
 *       another.
 *   K2  The range of a slot is taken in the transaction that first uses it. It is dropped when that
 *       fails, and when the connection is lost: a standby that takes over may not know of it.
 *   K3  There is always a range. The first one of a writer that was idle, and every one while all
 *       slots are taken, is a few keys of the sequence that submit in SQL uses; so a program that
 *       submits once and ends takes no slot, and there can be any number of writers.
 *   K4  After a failed transaction the next one takes its keys from the sequence, too: a node of an
 *       earlier version doesn't know of ranges, and can make a key of ours.
 *
 * Threads: as the unit.
 */
#ifndef FA_ID_RANGE_H
#define FA_ID_RANGE_H

#include "sql/unit.h"

/* An id for a new task. Any code of the database. */
FA_MUST_CHECK enum faina_code fa_id_range_next(struct fa_unit *unit, struct fa_id *out,
                                               struct faina_error *err);
/* After each transaction with its code, and once before the first one with STORE_CLOSED. */
void fa_id_range_settle(struct fa_unit *unit, enum faina_code code);

#endif
