/*
 * wire_reports.h - the history as JSON (model/history.h).
 */
#ifndef FA_WIRE_WIRE_REPORTS_H
#define FA_WIRE_WIRE_REPORTS_H

#include "wire/shape.h"

/* Of a struct fa_history_answer. */
extern const struct fa_shape fa_shape_history;

#endif
