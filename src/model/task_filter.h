/*
 * task_filter.h - the conditions of a filter of tasks that are checked in a text of the task.
 *
 * Engines use them on what they have read. The rest of a filter compares columns.
 *
 * Threads: pure functions.
 */
#ifndef FA_MODEL_TASK_FILTER_H
#define FA_MODEL_TASK_FILTER_H

#include "base/error.h"

#include <faina.h>

/* INVALID_REQUEST: the path is no path, or the value is too long. */
FA_MUST_CHECK enum faina_code fa_filter_check_metadata(const struct faina_metadata_is *condition,
                                                       struct faina_error *err);
/* Whether metadata (JSON; NULL: none) meets all conditions of the filter. */
bool fa_filter_has_metadata(const struct faina_query *query, const char *metadata);
/* Whether an error (JSON; NULL: none) is of this kind. */
bool fa_filter_is_error_kind(const char *error, const char *kind);
/* Whether an error (JSON; NULL: none) of a task of this namespace and type is in the group of
 * failures with this id (failure_group.h). */
bool fa_filter_is_of_failure_group(const char *ns, const char *type, const char *error,
                                   const char *group);
/* Whether a key is that of a task which a time of this schedule has created: cron:NAME:TIME. */
bool fa_filter_is_of_schedule(const char *key, const char *schedule);

#endif
