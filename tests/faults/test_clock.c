/*
 * test_clock.c - the clock is set, forward or back, while the engine is at work or closed.
 *
 * The engine reads the time with clock_gettime, and this program has its own: the system's, plus
 * an offset that a test sets; or a time at which a test holds it. Waits inside the C library still
 * follow the real clock, so after a step the tests do something rather than wait.
 */
#include <stdlib.h>
#include "support/ops.h"

#include "base/clock.h"

#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define HOUR_S 3600
#define HOUR_US (3600LL * 1000000)

static atomic_llong offset_s;
static atomic_llong held_us; /* 0: the clock runs */

int clock_gettime(clockid_t clock, struct timespec *now)
{
    long rc = syscall(SYS_clock_gettime, clock, now);
    int64_t held = held_us;

    if (rc == 0 && clock == CLOCK_REALTIME && held > 0)
        *now = (struct timespec){.tv_sec = held / 1000000, .tv_nsec = held % 1000000 * 1000};
    else if (rc == 0 && clock == CLOCK_REALTIME)
        now->tv_sec += offset_s;
    return (int)rc;
}

static void step_clock(int64_t seconds)
{
    offset_s += seconds;
}

/* Lives a whole life; every time in it must be in order, whatever the clock did (fa_t_story). */
static void live_through_a_step(struct fa_t *t, int64_t seconds)
{
    const char *before = fa_t_submit(t, .type = "x", .retry = {.base_ms = 1, .max_ms = 1});
    const char *after;

    fa_t_take(t, before, "w");
    step_clock(seconds);
    after = fa_t_submit(t, .type = "x");
    CHECK(strcmp(before, after) < 0, "%s was made after %s", after, before);
    CHECK_OK(t, fa_t_heartbeat(t, before, BY("w"), 3 * HOUR_S * 1000));
    CHECK_OK(t, fa_t_progress(t, before, BY("w"), 5));
    CHECK_OK(t, fa_t_fail_attempt(t, before, BY("w"), "no"));
    CHECK_OK(t, fa_t_claim(t, before, "v"));
    CHECK_OK(t, fa_t_complete(t, before, BY("v"), NULL));
    CHECK_STORY(t, before, "created claimed started progress retry_scheduled claimed completed");
    CHECK_OK(t, fa_t_list(t, .limit = 2));
    CHECK_STR(t->op.tasks->items[0].id, after);
    CHECK_STR(t->op.tasks->items[1].id, before);
    fa_t_finish_task(t, after);
}

static void test_clock__set_back(struct fa_t *t)
{
    live_through_a_step(t, -HOUR_S);
    live_through_a_step(t, -24 * HOUR_S);
    step_clock(25 * HOUR_S);
    live_through_a_step(t, 0);
}

static void test_clock__set_a_little_forward(struct fa_t *t)
{
    live_through_a_step(t, 5); /* within the lease */
}

/* A step forward is time that has passed: leases end, and what waited is due. Only who is heard
 * right after it keeps its task. */
static void test_clock__set_forward(struct fa_t *t)
{
    const char *held = fa_t_make(t, FAINA_CLAIMED, "w");
    const char *kept = fa_t_make(t, FAINA_CLAIMED, "w");
    const char *away = fa_t_make(t, FAINA_RUNNING, "w");
    const char *later =
        fa_t_submit(t, .type = "later", .run_at_us = fa_clock_now_us() + HOUR_US / 2);
    const char *types[] = {"later"};

    CHECK_OK(t, fa_t_background(t, away, BY("w"), HOUR_S * 1000 / 2));
    step_clock(HOUR_S);
    held_us = fa_clock_now_us(); /* however slow this machine is */
    fa_t_submit(t, .type = "x");
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "v", .types = types, .type_count = 1));
    CHECK_INT(t->op.tasks->count, 1);
    CHECK_STR(t->op.tasks->items[0].id, later);
    fa_t_submit(t, .type = "x", .run_at_us = held_us + 1000);
    held_us += 2000; /* the clock asks for something else meanwhile */
    fa_t_submit(t, .type = "x");
    CHECK_OK(t, fa_t_heartbeat(t, kept, BY("w"), 60000));
    held_us += 2000000;
    fa_t_submit(t, .type = "x");
    CHECK_NOW(t, kept, FAINA_CLAIMED);
    CHECK_STORY(t, held, "created claimed lease_lost");
    CHECK_STORY(t, away, "created claimed started background expired");
    held_us = 0;
}

/* While nothing could be stored no lease could be renewed, whatever the clock asked for meanwhile.
 * Whoever is heard right after that keeps its task. */
static void test_clock__goes_on_while_nothing_is_stored(struct fa_t *t)
{
    const char *lock = fa_t_path(t, "faina.db.lock"), *aside = fa_t_path(t, "aside");
    const char *held, *kept;

    step_clock(HOUR_S); /* ahead of the C library's waits */
    held_us = fa_clock_now_us();
    held = fa_t_make(t, FAINA_CLAIMED, "w");
    kept = fa_t_make(t, FAINA_CLAIMED, "w");
    CHECK_INT(rename(lock, aside), 0);
    for (int i = 0; i < 10; i++) {
        held_us += 10000000;
        CHECK_CODE(t, fa_t_try_submit(t, .type = "x"), FAINA_UNAVAILABLE);
    }
    CHECK_INT(rename(aside, lock), 0);
    held_us += 2000000; /* it is tried again after a second */
    fa_t_submit(t, .type = "x");
    CHECK_NOW(t, held, FAINA_CLAIMED);
    CHECK_OK(t, fa_t_heartbeat(t, kept, BY("w"), 60000));
    held_us += 2000000;
    fa_t_submit(t, .type = "x");
    CHECK_NOW(t, kept, FAINA_CLAIMED);
    CHECK_STORY(t, held, "created claimed lease_lost");
    held_us = 0;
}

/* Closed in the future, opened in the past: ids and histories go on from where they were. */
static void test_clock__set_back_while_closed(struct fa_t *t)
{
    const char *old, *young;

    step_clock(HOUR_S);
    old = fa_t_make(t, FAINA_RUNNING, "w");
    fa_t_close(t);
    step_clock(-2 * HOUR_S);
    fa_t_open(t);
    young = fa_t_submit(t, .type = "x");
    CHECK(strcmp(old, young) < 0, "%s was made after %s", young, old);
    CHECK_NOW(t, old, FAINA_RUNNING);
    CHECK_OK(t, fa_t_complete(t, old, BY("w"), NULL));
    CHECK_STORY(t, old, "created claimed started completed");
    fa_t_finish_task(t, young);
    fa_t_reopen(t);
    CHECK_STORY(t, young, "created claimed started completed");
}

int main(int argc, char **argv)
{
    static const struct fa_t_case cases[] = {
        FA_T_CASE_LOCAL(test_clock__set_back),
        FA_T_CASE_LOCAL(test_clock__set_a_little_forward),
        FA_T_CASE_LOCAL(test_clock__set_forward),
        {"test_clock__goes_on_while_nothing_is_stored", test_clock__goes_on_while_nothing_is_stored,
         FA_T_LOCAL | FA_T_DURABLE},
        {"test_clock__set_back_while_closed", test_clock__set_back_while_closed,
         FA_T_LOCAL | FA_T_DURABLE},
    };

    /* Not PostgreSQL: there the time is the server's, and nobody sets that. */
    setenv("FA_CONFORMANCE_URLS", FA_T_SQLITE " " FA_T_MEMORY, 0);
    return fa_t_main(argc, argv, "clock", cases, FA_COUNT(cases));
}
