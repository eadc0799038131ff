/*
 * id_range.h - the keys of new tasks where several nodes share a store.
 *
 * A writer makes ids from a range of keys of its own: the keys of one slot (the last bits of a key)
 * from one time to another. A store with one writer has no ranges.
 *
 *   K1  No two ranges share a key. The database ensures it: a slot's row holds the end of its last
 *       range, and the next range begins there or later. This depends on no clock and on no lease:
 *       a writer that was paused finds its range in the past and takes another one.
 *   K2  The range of a slot is taken in the transaction that first uses it. It is dropped when that
 *       transaction fails, and when the connection is lost: a standby that takes over may not have
 *       it.
 *   K3  A range is always available. The first range of a writer that was idle, and every range
 *       while all slots are taken, is a few keys of the sequence that submits in SQL use. So a
 *       program that submits once and ends takes no slot, and the number of writers is unlimited.
 *   K4  After a failed transaction the next one takes its keys from the sequence, too: a node of an
 *       earlier version ignores ranges, and may have used a key of this one.
 *
 * Threads: as the unit.
 */
#ifndef FA_STORE_TXN_ID_RANGE_H
#define FA_STORE_TXN_ID_RANGE_H

#include "store/txn/unit.h"

/* An id for a new task. Any code of the database. */
FA_MUST_CHECK enum faina_code fa_id_range_next(struct fa_unit *unit, struct fa_id *out,
                                               struct faina_error *err);
/* After each transaction with its code, and once before the first one with UNAVAILABLE. */
void fa_id_range_settle(struct fa_unit *unit, enum faina_code code);

#endif
