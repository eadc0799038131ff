/*
 * task_rules.h - rules about single fields of a task that every engine applies.
 *
 * Pure: texts are made in the caller's arena.
 */
#ifndef FA_MODEL_TASK_RULES_H
#define FA_MODEL_TASK_RULES_H

#include "base/bytes.h"
#include "base/hash.h"

#include <faina.h>

/* The text for people of a task that has no text of its own: "Queued", "Running" ... */
const char *fa_task_state(enum faina_status status);

/* `max_attempts` of a submit as the task has it: 0 is no limit. */
int64_t fa_task_max_attempts(int submitted);

/* A lease or time-out in microseconds; 0: the default of leases. */
int64_t fa_lease_us(int64_t lease_ms);

/* The hash of an input by which `dedupe: input` finds equal ones. NULL is the input null. */
void fa_input_hash(const char *input, char out[FA_SHA256_HEX_SIZE]);

/* How long a task keeps its key, as it is stored: one of these, or milliseconds since its creation.
 */
#define FA_KEY_SCOPE_EXISTS 0
#define FA_KEY_SCOPE_ACTIVE (-1)

/* "exists", "active" or a duration; NULL is "exists". */
FA_MUST_CHECK enum faina_code fa_key_scope_parse(const char *text, int64_t *out,
                                                 struct faina_error *err);
/* The text of a scope: constant, or in `arena`. */
const char *fa_key_scope_text(int64_t scope, struct fa_arena *arena);
/* Whether a task still has its key. */
bool fa_key_scope_holds(int64_t scope, enum faina_status status, int64_t created_us,
                        int64_t now_us);

/* The error of a task: {message, kind, detail, retryable}. */
const char *fa_failure_json(const struct faina_failure *failure, struct fa_arena *arena);
/* When a failed task is due again, by its failure; 0: by its backoff. */
int64_t fa_failure_retry_us(const struct faina_failure *failure, int64_t now_us);
/* The detail of the event `snoozed`. */
const char *fa_snooze_json(int64_t for_ms, struct fa_arena *arena);

/* The submit in short, for the event "created". */
const char *fa_created_json(const struct faina_task *task, struct fa_arena *arena);

/* The detail of the event "late_result": an outcome that was refused. */
const char *fa_late_json(const char *outcome, bool has_fence, int64_t fence, enum faina_code code,
                         struct fa_arena *arena);

#endif
