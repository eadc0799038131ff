/*
 * audit_act.h - which operations get an entry in the audit (model/audit_entry.h), and what it says.
 *
 *   AA1  What the scopes operate or admin allow, and changes something, gets an entry. So does a
 *        change of a task's status that no worker has made. A new kind of operation with such a
 *        scope (access.c) gets one without a change here.
 *   AA2  Operations of workers, submits and events get none, and cost one comparison.
 *
 * Threads: pure functions.
 */
#ifndef FA_SERVICE_AUDIT_ACT_H
#define FA_SERVICE_AUDIT_ACT_H

#include "service/service.h"

#define FA_AUDIT_TARGET_SIZE_MAX 600 /* a longer target is cut */

/* Whether the operation, which has succeeded, gets an entry. */
bool fa_audit_takes(const struct fa_op *op);
/* The entry's act, and its target in the arena; NULL: it has none. */
const char *fa_audit_act(const struct fa_op *op);
const char *fa_audit_target(const struct fa_op *op, struct fa_arena *arena);

#endif
