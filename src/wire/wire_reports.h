/*
 * wire_reports.h - the history, groups of failures and the audit as JSON (model/history.h,
 * failure_group.h, audit_entry.h).
 */
#ifndef FA_WIRE_WIRE_REPORTS_H
#define FA_WIRE_WIRE_REPORTS_H

#include "wire/shape.h"

/* Of a struct fa_history_answer, and a struct fa_failure_groups. */
extern const struct fa_shape fa_shape_history, fa_shape_failures;
/* Of a struct fa_audit_list, and of one of its entries. */
extern const struct fa_shape fa_shape_audit, fa_shape_audit_entry;

#endif
