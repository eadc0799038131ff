/*
 * wire_reports.h - the history and groups of failures as JSON (model/history.h, failure_group.h).
 */
#ifndef FA_WIRE_WIRE_REPORTS_H
#define FA_WIRE_WIRE_REPORTS_H

#include "wire/shape.h"

/* Of a struct fa_history_answer, and a struct fa_failure_groups. */
extern const struct fa_shape fa_shape_history, fa_shape_failures;

#endif
