/*
 * states.h - the states of a task and their transitions, in one table.
 *
 *   S1  A status changes only by a trigger that this table allows from the old status.
 *   S2  An ended task (completed, failed, dead_letter, cancelled) leaves that status by retry only,
 *       and a completed one never.
 *   S3  Only claimed, running and background tasks hold resources; only claimed and running ones
 *       have a worker and a lease.
 *
 * docs/states.md is printed from this table by tools/, and a test walks every pair.
 */
#ifndef FA_MODEL_STATES_H
#define FA_MODEL_STATES_H

#include <faina.h>

/* X(NAME, name for people). */
#define FA_TRIGGER_LIST(X)                                                                         \
    X(CLAIM, "claim")                                                                              \
    X(START, "start")                                                                              \
    X(PROGRESS, "progress")                                                                        \
    X(RELEASE, "release")                                                                          \
    X(REQUEUE, "require a resource")                                                               \
    X(SNOOZE, "snooze")                                                                            \
    X(COMPLETE, "complete")                                                                        \
    X(FAIL_RETRY, "fail, attempts left")                                                           \
    X(FAIL_LAST, "fail, none left")                                                                \
    X(FAIL_FINAL, "fail, not retryable")                                                           \
    X(BLOCK, "block")                                                                              \
    X(WAIT, "retry, dependencies unmet")                                                           \
    X(UNBLOCK, "unblock")                                                                          \
    X(BACKGROUND, "go background")                                                                 \
    X(LOSE_RETRY, "lease lost or expired, attempts left")                                          \
    X(LOSE_LAST, "lease lost or expired, none left")                                               \
    X(CANCEL, "cancel")                                                                            \
    X(RETRY, "retry")                                                                              \
    X(DELETE, "delete")

enum fa_trigger {
#define FA_TRIGGER_ENUM(name, text) FA_##name,
    FA_TRIGGER_LIST(FA_TRIGGER_ENUM)
#undef FA_TRIGGER_ENUM
        FA_TRIGGER_COUNT
};

/* What a transition does besides changing the status. */
enum fa_effect {
    FA_TAKE_LEASE = 1 << 0, /* worker, lease and a new fence; takes the resources */
    FA_COUNT_ATTEMPT = 1 << 1,
    FA_UNCOUNT = 1 << 2,    /* subtracts the attempt */
    FA_DROP_LEASE = 1 << 3, /* no worker, no lease */
    FA_DROP_RESOURCES = 1 << 4,
    FA_BACK_OFF = 1 << 5,    /* run_at = now + backoff */
    FA_WAKE = 1 << 6,        /* notify the parent, the dependents and waiting callers */
    FA_END = 1 << 7,         /* completed_at = now */
    FA_REOPEN = 1 << 8,      /* reset completed_at, error, progress and state */
    FA_KEEP_STATUS = 1 << 9, /* the status stays as it is */
    FA_REPEAT = 1 << 10,     /* the next attempt starts from the beginning */
};

struct fa_rule {
    unsigned from; /* set of (1u << status) */
    enum faina_status to;
    unsigned effects;
};

/* NULL: this trigger is not allowed from this status, and nothing may change. */
const struct fa_rule *fa_rule_find(enum faina_status from, enum fa_trigger trigger);

/* The error code for `trigger` from `from`. The pair must be refused. */
enum faina_code fa_rule_refusal(enum faina_status from, enum fa_trigger trigger);

const char *fa_trigger_name(enum fa_trigger trigger);
bool fa_status_is_ended(enum faina_status status);
bool fa_status_is_held(enum faina_status status);        /* claimed, running */
bool fa_status_uses_resources(enum faina_status status); /* has resources: held, background */
bool fa_status_parse(const char *name, enum faina_status *out);

#endif
