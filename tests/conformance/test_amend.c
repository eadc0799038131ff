/*
 * test_amend.c - what a worker's pool needs besides claims and outcomes: notes among the events,
 * what a type's settings add to a task, and a wait for work that can be cut short.
 */
#include "support/crew.h"
#include "support/ops.h"

#include "base/clock.h"
#include "model/limits.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static enum faina_code amend(struct fa_t *t, const char *id, struct faina_by by,
                             struct faina_submit wish)
{
    struct fa_op op = {.kind = FA_OP_AMEND, .id = id, .by = by, .submit = &wish};
    enum faina_code code = fa_t_run(t, &op);

    t->task = fa_t_task(t, id);
    return code;
}

static enum faina_code note(struct fa_t *t, const char *id, struct faina_by by, const char *what,
                            const char *detail)
{
    struct fa_op op = {.kind = FA_OP_NOTE, .id = id, .by = by};

    op.note.what = what;
    op.note.detail = detail;
    return fa_t_run(t, &op);
}

/* ------------------------------------------------------------------------------------------
 * Notes
 */

static void test_amend__a_note_changes_nothing_else(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "a");
    int64_t version;

    fa_t_take(t, id, "w");
    version = fa_t_task(t, id)->version;
    CHECK_OK(t, note(t, id, BY("w"), "attempt", "{\"log\":\"x\"}"));
    CHECK_OK(t, note(t, id, BY("w"), "attempt", NULL));
    CHECK_INT(fa_t_task(t, id)->version, version);
    CHECK_OK(t, fa_t_complete(t, id, BY("w"), NULL));
    CHECK_STORY(t, id, "created claimed started attempt attempt completed");
    CHECK_OK(t, fa_t_events(t, id, 100));
    CHECK_STR(t->op.events->items[1].detail, NULL);
    CHECK_STR(t->op.events->items[2].detail, "{\"log\":\"x\"}");
}

static void test_amend__a_note_with_the_end_in_one_call(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "a");
    struct fa_op ops[2] = {
        {.kind = FA_OP_NOTE, .id = id, .by = BY("w")},
        {.kind = FA_OP_COMPLETE, .id = id, .by = BY("w"), .output = "1"},
    };

    fa_t_take(t, id, "w");
    ops[0].note.what = "attempt";
    fa_t_run_all(t, ops, 2);
    CHECK_INT(ops[0].code, FAINA_OK);
    CHECK_INT(ops[1].code, FAINA_OK);
    CHECK_STORY(t, id, "created claimed started attempt completed");
}

/* A worker whose task was cancelled, or that was too late, can still add a note. */
static void test_amend__a_note_when_it_is_over(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "a");
    struct faina_by first = BY("w", .fence = 1), second = BY("v", .fence = 2);

    fa_t_take(t, id, "w");
    CHECK_OK(t, fa_t_retry(t, id, NOBODY));
    CHECK_OK(t, note(t, id, first, "attempt", "1"));
    fa_t_take(t, id, "v");
    CHECK_OK(t, note(t, id, first, "attempt", "2"));
    CHECK_OK(t, fa_t_cancel(t, id, NOBODY));
    CHECK_OK(t, note(t, id, second, "attempt", "3"));
    CHECK_OK(t, note(t, id, second, "attempt", "3")); /* repeated, stored once */
    CHECK_CODE(t, note(t, id, BY("v", .fence = 3), "attempt", "4"), FAINA_INVALID_TRANSITION);
    CHECK_STORY(t, id,
                "created claimed started retried attempt claimed started attempt cancelled "
                "attempt");
}

static void test_amend__notes_that_are_refused(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "a");
    char *large = fa_alloc_zero(1, FA_NOTE_SIZE_MAX + 3);

    CHECK_CODE(t, note(t, id, BY("w"), "attempt", NULL), FAINA_TASK_NOT_CLAIMED);
    fa_t_take(t, id, "w");
    CHECK_CODE(t, note(t, id, NOBODY, "attempt", NULL), FAINA_INVALID_WORKER_ID);
    CHECK_CODE(t, note(t, id, BY("other"), "attempt", NULL), FAINA_WRONG_WORKER);
    CHECK_CODE(t, note(t, id, BY("w", .fence = 9), "attempt", NULL), FAINA_WRONG_WORKER);
    CHECK_CODE(t, note(t, id, BY("w"), "", NULL), FAINA_INVALID_REQUEST);
    CHECK_CODE(t, note(t, id, BY("w"), NULL, NULL), FAINA_INVALID_REQUEST);
    CHECK_CODE(t, note(t, id, BY("w"), "attempt", "{"), FAINA_INVALID_REQUEST);
    memset(large, 'x', FA_NOTE_SIZE_MAX + 1);
    large[0] = large[FA_NOTE_SIZE_MAX] = '"';
    CHECK_CODE(t, note(t, id, BY("w"), "attempt", large), FAINA_PAYLOAD_TOO_LARGE);
    large[FA_NOTE_SIZE_MAX] = '\0';
    large[FA_NOTE_SIZE_MAX - 1] = '"';
    CHECK_OK(t, note(t, id, BY("w"), "attempt", large));
    free(large);
    CHECK_OK(t, fa_t_complete(t, id, BY("w"), NULL));
    CHECK_CODE(t, note(t, id, BY("w"), "attempt", NULL), FAINA_TASK_COMPLETED);
}

/* ------------------------------------------------------------------------------------------
 * What a type's settings say
 */

static void test_amend__attempts_and_retries(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "a");
    const char *own = fa_t_submit(t, .type = "a", .max_attempts = 7, .retry.base_ms = 50);
    struct faina_submit wish = {.max_attempts = 2, .retry = {.base_ms = 10, .max_ms = 20}};

    fa_t_take(t, id, "w");
    fa_t_take(t, own, "w");
    CHECK_OK(t, amend(t, id, BY("w"), wish));
    CHECK_INT(t->task->max_attempts, 2);
    CHECK_INT(t->task->retry.base_ms, 10);
    CHECK_STATUS(t->task->status, FAINA_RUNNING);
    CHECK_OK(t, amend(t, id, BY("w"), wish)); /* again: nothing */
    CHECK_STORY(t, id, "created claimed started amended");
    CHECK_OK(t, amend(t, own, BY("w"), wish));
    CHECK_INT(t->task->max_attempts, 7);
    CHECK_INT(t->task->retry.base_ms, 50);
    CHECK_STORY(t, own, "created claimed started");

    /* It is kept: the second failure is the last. */
    CHECK_OK(t, fa_t_fail_attempt(t, id, BY("w"), "no"));
    CHECK_NOW(t, id, FAINA_PENDING);
    fa_t_take(t, id, "w");
    CHECK_OK(t, fa_t_fail_attempt(t, id, BY("w"), "no"));
    CHECK_NOW(t, id, FAINA_DEAD_LETTER);
}

static void test_amend__no_limit(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "a");

    fa_t_take(t, id, "w");
    CHECK_OK(t, amend(t, id, BY("w"), (struct faina_submit){.max_attempts = FAINA_UNLIMITED}));
    CHECK_INT(fa_t_task(t, id)->max_attempts, 0);
}

static void test_amend__resources_make_it_pending_again(struct fa_t *t)
{
    static const char *const more[] = {"gpu", "disk"}, *const has[] = {"disk"};
    const char *id = fa_t_submit(t, .type = "a", .resources = has, .resource_count = 1);
    struct faina_submit wish = {.resources = more, .resource_count = 2};
    const char *other;

    CHECK_OK(t, fa_t_resource_set(t, "gpu", 1));
    CHECK_OK(t, fa_t_claim(t, id, "w"));
    CHECK_OK(t, amend(t, id, BY("w"), wish));
    CHECK_STATUS(t->task->status, FAINA_PENDING);
    CHECK_INT(t->task->attempts, 0);
    CHECK_INT(t->task->resource_count, 2);
    CHECK_STR(t->task->resources[0], "disk");
    CHECK_STR(t->task->resources[1], "gpu");
    CHECK_OK(t, fa_t_resource_set(t, "disk", 5));
    CHECK_INT(fa_t_in_use(t, "disk"), 0);

    /* The limit holds from now on. */
    other = fa_t_submit(t, .type = "b", .resources = more, .resource_count = 1);
    CHECK_OK(t, fa_t_claim(t, other, "w"));
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w", .limit = 10));
    CHECK_INT(t->op.tasks->count, 0);
    CHECK_OK(t, fa_t_complete(t, other, BY("w"), NULL));
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w", .limit = 10));
    CHECK_INT(t->op.tasks->count, 1);
    CHECK_STR(t->op.tasks->items[0].id, id);
    CHECK_INT(fa_t_in_use(t, "gpu"), 1);
    CHECK_OK(t, amend(t, id, BY("w"), wish)); /* it has them: it stays */
    CHECK_STATUS(t->task->status, FAINA_CLAIMED);
    CHECK_OK(t, fa_t_complete(t, id, BY("w"), NULL));
    CHECK_OK(t, fa_t_stats(t, NULL));
    CHECK_INT(t->op.stats->by_status[FAINA_COMPLETED], 2);
    CHECK_INT(t->op.stats->by_status[FAINA_PENDING], 0);
}

/* Held, ready in another lane, and held again, all in one transaction. */
static void test_amend__claimed_again_in_the_same_call(struct fa_t *t)
{
    static const char *const more[] = {"gpu"};
    const char *id = fa_t_submit(t, .type = "a");
    const struct faina_submit wish = {.resources = more, .resource_count = 1};
    struct fa_op ops[2] = {
        {.kind = FA_OP_AMEND, .id = id, .by = BY("w"), .submit = &wish, .arena = &t->arena},
        {.kind = FA_OP_CLAIM, .id = id, .by = BY("v"), .arena = &t->arena},
    };

    CHECK_OK(t, fa_t_resource_set(t, "gpu", 1));
    CHECK_OK(t, fa_t_claim(t, id, "w"));
    fa_service_run(t->svc, ops, 2);
    CHECK_INT(ops[0].code, FAINA_OK);
    CHECK_INT(ops[1].code, FAINA_OK);
    CHECK_INT(fa_t_in_use(t, "gpu"), 1);
    CHECK_STR(fa_t_task(t, id)->worker_id, "v");
    CHECK_INT(fa_t_task(t, id)->resource_count, 1);
    fa_t_check_sound(t);
    CHECK_OK(t, fa_t_complete(t, id, BY("v"), NULL));
    CHECK_INT(fa_t_in_use(t, "gpu"), 0);
}

static void test_amend__survives_a_restart(struct fa_t *t)
{
    static const char *const more[] = {"gpu"};
    const char *id = fa_t_submit(t, .type = "a");
    struct faina_submit wish = {.max_attempts = 9, .resources = more, .resource_count = 1};

    CHECK_OK(t, fa_t_claim(t, id, "w"));
    CHECK_OK(t, amend(t, id, BY("w"), wish));
    fa_t_reopen(t);
    CHECK_INT(fa_t_task(t, id)->max_attempts, 9);
    CHECK_STR(fa_t_task(t, id)->resources[0], "gpu");
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w", .limit = 1));
    CHECK_INT(t->op.tasks->count, 1);
    CHECK_INT(fa_t_in_use(t, "gpu"), 1);
}

/* Also from the middle of an attempt, which then doesn't count. */
static void test_amend__a_running_task_becomes_pending_again(struct fa_t *t)
{
    static const char *const more[] = {"gpu"};
    const char *id = fa_t_submit(t, .type = "a", .max_attempts = 1);
    int64_t fence;

    CHECK_OK(t, fa_t_resource_set(t, "gpu", 1));
    fa_t_take(t, id, "w");
    fence = fa_t_task(t, id)->fence;
    CHECK_OK(t,
             amend(t, id, BY("w"), (struct faina_submit){.resources = more, .resource_count = 1}));
    CHECK_STATUS(t->task->status, FAINA_PENDING);
    CHECK_INT(t->task->attempts, 0);
    CHECK_INT(t->task->resource_count, 1);
    CHECK_CODE(t, fa_t_complete(t, id, BY("w", .fence = fence), NULL), FAINA_TASK_NOT_CLAIMED);
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "v"));
    CHECK_INT(t->op.tasks->count, 1);
    CHECK_INT(fa_t_in_use(t, "gpu"), 1);
    CHECK_TRUE(fa_t_task(t, id)->fence > fence);
    CHECK_OK(t, fa_t_complete(t, id, BY("v"), "1"));
    CHECK_INT(fa_t_task(t, id)->attempts, 1);
    CHECK_STORY(t, id, "created claimed started amended released late_result claimed completed");
}

static void test_amend__refused(struct fa_t *t)
{
    static const char *const more[] = {"gpu"}, *const bad[] = {""};
    const char *many[FA_RESOURCES_MAX], *id = fa_t_submit(t, .type = "a");
    struct faina_submit resources = {.resources = more, .resource_count = 1};

    CHECK_CODE(t, amend(t, id, BY("w"), resources), FAINA_TASK_NOT_CLAIMED);
    CHECK_OK(t, fa_t_claim(t, id, "w"));
    CHECK_CODE(t, amend(t, id, BY("other"), resources), FAINA_WRONG_WORKER);
    CHECK_CODE(t, amend(t, id, NOBODY, resources), FAINA_INVALID_WORKER_ID);
    CHECK_CODE(t,
               amend(t, id, BY("w"), (struct faina_submit){.resources = bad, .resource_count = 1}),
               FAINA_INVALID_TASK);
    CHECK_CODE(t, amend(t, id, BY("w"), (struct faina_submit){.max_attempts = -9}),
               FAINA_INVALID_TASK);
    CHECK_OK(t, fa_t_start(t, id, BY("w")));
    CHECK_OK(t, fa_t_background(t, id, BY("w"), 60000));
    CHECK_CODE(t, amend(t, id, BY("w"), resources), FAINA_INVALID_TRANSITION);
    CHECK_INT(fa_t_task(t, id)->resource_count, 0);

    for (int i = 0; i < FA_RESOURCES_MAX; i++)
        many[i] = fa_arena_printf(&t->arena, "r%d", i);
    id = fa_t_submit(t, .type = "a", .resources = many, .resource_count = FA_RESOURCES_MAX);
    CHECK_OK(t, fa_t_claim(t, id, "w"));
    CHECK_CODE(t, amend(t, id, BY("w"), resources), FAINA_INVALID_REQUEST);
    CHECK_NOW(t, id, FAINA_CLAIMED);
}

/* ------------------------------------------------------------------------------------------
 * Waking
 */

struct sleeper {
    struct fa_service *svc;
    struct fa_arena arena;
    atomic_bool give_up, is_back;
    size_t count;
};

static void *sleep_for_work(void *arg)
{
    struct sleeper *sleeper = arg;
    struct faina_claim claim = {.worker_id = "w", .wait_ms = 600000};
    struct fa_op op = {.kind = FA_OP_CLAIM_NEXT,
                       .claim = &claim,
                       .arena = &sleeper->arena,
                       .give_up = &sleeper->give_up};

    if (fa_service_claim_wait(sleeper->svc, &op, NULL) == FAINA_OK)
        sleeper->count = op.tasks->count;
    atomic_store(&sleeper->is_back, true);
    return NULL;
}

static void test_amend__a_wait_for_work_can_be_cut_short(struct fa_t *t)
{
    struct sleeper sleeper = {.svc = t->svc, .count = 99};
    int64_t begin_us = fa_clock_mono_us();
    pthread_t thread;

    CHECK_INT(pthread_create(&thread, NULL, sleep_for_work, &sleeper), 0);
    usleep(20000);
    fa_service_wake(t->svc); /* give_up is not set */
    usleep(20000);
    CHECK_TRUE(!atomic_load(&sleeper.is_back));
    atomic_store(&sleeper.give_up, true);
    fa_service_wake(t->svc);
    pthread_join(thread, NULL);
    CHECK_INT(sleeper.count, 0);
    CHECK_TRUE(fa_clock_mono_us() - begin_us < 60 * 1000000LL);
    fa_arena_finish(&sleeper.arena);
}

int main(int argc, char **argv)
{
    static const struct fa_t_case cases[] = {
        FA_T_CASE_SQL(test_amend__a_note_changes_nothing_else),
        FA_T_CASE(test_amend__a_note_with_the_end_in_one_call),
        FA_T_CASE_SQL(test_amend__a_note_when_it_is_over),
        FA_T_CASE(test_amend__notes_that_are_refused),
        FA_T_CASE(test_amend__attempts_and_retries),
        FA_T_CASE(test_amend__no_limit),
        FA_T_CASE(test_amend__resources_make_it_pending_again),
        FA_T_CASE(test_amend__claimed_again_in_the_same_call),
        FA_T_CASE_DURABLE(test_amend__survives_a_restart),
        FA_T_CASE(test_amend__a_running_task_becomes_pending_again),
        FA_T_CASE(test_amend__refused),
        FA_T_CASE(test_amend__a_wait_for_work_can_be_cut_short),
    };

    return fa_t_main(argc, argv, "amend", cases, FA_COUNT(cases));
}
