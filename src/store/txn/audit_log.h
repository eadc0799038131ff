/*
 * audit_log.h - stores the entries of the audit (model/audit_entry.h).
 *
 *   L1  An entry is stored in the transaction of its act, right before the commit. A transaction
 *       without acts reads and writes nothing here.
 *   L2  The row of audit_head has the number of entries and the last hash. It is locked while an
 *       entry is added, so that entries of all nodes are one chain. It is the last lock that a
 *       transaction takes, and is held for the time of the commit only.
 *   L3  Nothing removes or changes an entry.
 *
 * Threads: the batch leader; reading: a reader's thread.
 */
#ifndef FA_STORE_TXN_AUDIT_LOG_H
#define FA_STORE_TXN_AUDIT_LOG_H

#include "store/txn/unit.h"

struct fa_op;

/* An operation has succeeded. Notes its entry, if it gets one (service/audit_act.h). */
void fa_audit_note(struct fa_unit *unit, const struct fa_op *op);
/* Before the commit. */
FA_MUST_CHECK enum faina_code fa_audit_write(struct fa_unit *unit, struct faina_error *err);

/* AUDIT_LIST. */
enum faina_code fa_read_audit(struct fa_source *source, struct fa_op *op);

#endif
