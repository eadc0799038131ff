/*
 * states.c - the table.
 *
 * Effects are what the store does besides writing the new status. An effect with nothing to do is
 * harmless: a pending task has no lease to drop. One effect depends on the old status: START takes
 * a lease and counts an attempt from pending only; a claimed task has both already.
 */
#include "model/states.h"

#include <assert.h>
#include <string.h>

#define IN(status) (1u << FAINA_##status)
#define HELD (IN(CLAIMED) | IN(RUNNING))
#define USING (HELD | IN(BACKGROUND))
#define LIVE (IN(PENDING) | USING | IN(BLOCKED))
#define BAD_END (IN(FAILED) | IN(DEAD_LETTER) | IN(CANCELLED))
#define ENDED (IN(COMPLETED) | BAD_END)

#define DROP_ALL (FA_DROP_LEASE | FA_DROP_RESOURCES)
#define REPEAT (DROP_ALL | FA_REPEAT)
#define TAKE (FA_TAKE_LEASE | FA_COUNT_ATTEMPT)
#define FINISH (DROP_ALL | FA_WAKE | FA_END)
#define SAME FAINA_STATUS_COUNT /* for rules with FA_KEEP_STATUS: it must not be stored */

static const struct fa_rule rules[FA_TRIGGER_COUNT] = {
    /* clang-format off */
    /* trigger         allowed from                to                 effects */
    [FA_CLAIM]      = {IN(PENDING),                FAINA_CLAIMED,     TAKE},
    [FA_START]      = {IN(PENDING) | IN(CLAIMED),  FAINA_RUNNING,     TAKE},
    [FA_PROGRESS]   = {USING,                      SAME,              FA_KEEP_STATUS},
    [FA_RELEASE]    = {IN(CLAIMED),                FAINA_PENDING,     DROP_ALL | FA_UNCOUNT},
    [FA_REQUEUE]    = {HELD,                       FAINA_PENDING,     DROP_ALL | FA_UNCOUNT},
    [FA_SNOOZE]     = {HELD,                       FAINA_PENDING,     DROP_ALL | FA_UNCOUNT},
    [FA_COMPLETE]   = {USING,                      FAINA_COMPLETED,   FINISH},
    [FA_FAIL_RETRY] = {USING,                      FAINA_PENDING,     REPEAT | FA_BACK_OFF},
    [FA_FAIL_LAST]  = {USING,                      FAINA_DEAD_LETTER, FINISH},
    [FA_FAIL_FINAL] = {IN(PENDING) | USING,        FAINA_FAILED,      FINISH},
    [FA_BLOCK]      = {IN(RUNNING),                FAINA_BLOCKED,     DROP_ALL},
    [FA_WAIT]       = {IN(PENDING),                FAINA_BLOCKED,     0},
    [FA_UNBLOCK]    = {IN(BLOCKED),                FAINA_PENDING,     0},
    [FA_BACKGROUND] = {IN(RUNNING),                FAINA_BACKGROUND,  FA_DROP_LEASE},
    [FA_LOSE_RETRY] = {USING,                      FAINA_PENDING,     REPEAT},
    [FA_LOSE_LAST]  = {USING,                      FAINA_DEAD_LETTER, FINISH},
    [FA_CANCEL]     = {LIVE,                       FAINA_CANCELLED,   FINISH},
    [FA_RETRY]      = {HELD | BAD_END,             FAINA_PENDING,     REPEAT | FA_REOPEN},
    [FA_DELETE]     = {IN(COMPLETED) | BAD_END,    SAME,              FA_KEEP_STATUS},
    /* clang-format on */
};

static const char *const trigger_names[FA_TRIGGER_COUNT] = {
#define ROW(id, text) [FA_##id] = text,
    FA_TRIGGER_LIST(ROW)
#undef ROW
};

static_assert(FAINA_STATUS_COUNT <= 32, "a set of statuses must fit in one unsigned");
static_assert((LIVE | ENDED) == (1u << FAINA_STATUS_COUNT) - 1,
              "a new status must live or have ended");

static bool is_in(enum faina_status status, unsigned set)
{
    assert((unsigned)status < FAINA_STATUS_COUNT);
    return set & 1u << status;
}

const struct fa_rule *fa_rule_find(enum faina_status from, enum fa_trigger trigger)
{
    assert((unsigned)trigger < FA_TRIGGER_COUNT);
    return is_in(from, rules[trigger].from) ? &rules[trigger] : NULL;
}

/* A trigger of a worker, or of a caller that ends background work. */
static bool is_work(enum fa_trigger trigger)
{
    switch (trigger) {
    case FA_CLAIM:
    case FA_START:
    case FA_PROGRESS:
    case FA_RELEASE:
    case FA_REQUEUE:
    case FA_SNOOZE:
    case FA_COMPLETE:
    case FA_FAIL_RETRY:
    case FA_FAIL_LAST:
    case FA_FAIL_FINAL:
    case FA_BLOCK:
    case FA_BACKGROUND:
        return true;
    case FA_WAIT:
    case FA_UNBLOCK:
    case FA_LOSE_RETRY:
    case FA_LOSE_LAST:
    case FA_CANCEL:
    case FA_RETRY:
    case FA_DELETE:
    case FA_TRIGGER_COUNT:
        return false;
    }
    return false;
}

enum faina_code fa_rule_refusal(enum faina_status from, enum fa_trigger trigger)
{
    assert(!fa_rule_find(from, trigger));

    if (trigger == FA_DELETE)
        return FAINA_TASK_ACTIVE;
    if (from == FAINA_COMPLETED &&
        (is_work(trigger) || trigger == FA_CANCEL || trigger == FA_RETRY))
        return FAINA_TASK_COMPLETED;
    if (is_in(from, IN(FAILED) | IN(DEAD_LETTER)) && (is_work(trigger) || trigger == FA_CANCEL))
        return FAINA_TASK_FAILED;
    if (trigger == FA_CLAIM && is_in(from, USING))
        return FAINA_TASK_ALREADY_CLAIMED;
    if (from == FAINA_PENDING && is_work(trigger))
        return FAINA_TASK_NOT_CLAIMED;
    return FAINA_INVALID_TRANSITION;
}

const char *fa_trigger_name(enum fa_trigger trigger)
{
    assert((unsigned)trigger < FA_TRIGGER_COUNT);
    return trigger_names[trigger];
}

bool fa_status_is_ended(enum faina_status status)
{
    return is_in(status, ENDED);
}

bool fa_status_is_held(enum faina_status status)
{
    return is_in(status, HELD);
}

bool fa_status_uses_resources(enum faina_status status)
{
    return is_in(status, USING);
}

bool fa_status_parse(const char *name, enum faina_status *out)
{
    for (int i = 0; name && i < FAINA_STATUS_COUNT; i++) {
        if (strcmp(faina_status_name((enum faina_status)i), name) == 0) {
            *out = (enum faina_status)i;
            return true;
        }
    }
    return false;
}
