/*
 * test_clock.c - the clock is set, forward or back, while the engine is at work or closed.
 *
 * The engine reads the time with clock_gettime, and this program has its own: the system's, plus
 * what a test adds. A step changes the wall clock alone, as setting it would; passing time changes
 * the clock of the boot, too. Time-outs of the C library follow the real clock, so tests do
 * something after time has passed rather than wait.
 */
#include <stdlib.h>
#include "support/ops.h"

#include "base/clock.h"

#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SECOND_US 1000000LL
#define HOUR_S 3600
#define DAY_S (24 * HOUR_S)
#define HOUR_US (3600LL * 1000000)
#define HOUR_MS (3600LL * 1000)

static atomic_llong step_us;                    /* of the wall clock */
static atomic_llong passed_us;                  /* of both clocks */
static atomic_bool is_held;                     /* no other time passes ... */
static atomic_llong held_wall_us, held_boot_us; /* ... since these times */

static int64_t read_real_us(clockid_t clock)
{
    struct timespec now;

    syscall(SYS_clock_gettime, clock, &now);
    return now.tv_sec * SECOND_US + now.tv_nsec / 1000;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    bool is_wall = clock == CLOCK_REALTIME;
    int64_t us;

    if (!is_wall && clock != CLOCK_BOOTTIME)
        return (int)syscall(SYS_clock_gettime, clock, now);
    us = !is_held ? read_real_us(clock) : is_wall ? held_wall_us : held_boot_us;
    us += passed_us + (is_wall ? step_us : 0);
    *now = (struct timespec){.tv_sec = us / SECOND_US, .tv_nsec = us % SECOND_US * 1000};
    return 0;
}

static void step_clock(int64_t seconds)
{
    step_us += seconds * SECOND_US;
}

/* However slow this machine is. */
static void hold_clock(void)
{
    held_wall_us = read_real_us(CLOCK_REALTIME);
    held_boot_us = read_real_us(CLOCK_BOOTTIME);
    is_held = true;
}

static void let_clock_run(void)
{
    is_held = false;
}

/* Second by second; in each of them the engine has something to do. */
static void pass_seconds(struct fa_t *t, int64_t seconds)
{
    for (int64_t i = 0; i < seconds; i++) {
        passed_us += SECOND_US;
        fa_t_submit(t, .type = "pass");
    }
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

/* What has a length: a lease, a time-out in the background, a pause before a retry. */
struct spans {
    const char *held, *kept, *away, *again;
};

#define AWAY_S 120
#define AGAIN_S 100 /* at most */

/* A failed task whose retry is not due before a minute is over; the pause is a random one. */
static const char *make_retry(struct fa_t *t)
{
    const char *id;

    do {
        id = fa_t_submit(t, .type = "again",
                         .retry = {.base_ms = AGAIN_S * 1000, .max_ms = AGAIN_S * 1000});
        fa_t_take(t, id, "w");
        CHECK_OK(t, fa_t_fail_attempt(t, id, BY("w"), "no"));
        if (fa_t_task(t, id)->run_at_us < t->task->updated_us + 60 * SECOND_US)
            CHECK_OK(t, fa_t_cancel(t, id, NOBODY));
    } while (fa_t_status(t, id) != FAINA_PENDING);
    return id;
}

static struct spans make_spans(struct fa_t *t)
{
    struct spans spans = {
        .held = fa_t_make(t, FAINA_CLAIMED, "w"),
        .kept = fa_t_make(t, FAINA_RUNNING, "w"),
        .away = fa_t_make(t, FAINA_RUNNING, "w"),
        .again = make_retry(t),
    };

    CHECK_OK(t, fa_t_background(t, spans.away, BY("w"), AWAY_S * 1000));
    return spans;
}

static bool is_claimable(struct fa_t *t, const char *type)
{
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "v", .types = &type, .type_count = 1));
    return t->op.tasks->count == 1;
}

/* The clock is held. Nothing ends early, and everything ends after its time, which may be a tenth
 * longer while the clock is corrected. The usual lease is 30 seconds. */
static void check_spans(struct fa_t *t, const struct spans *spans)
{
    pass_seconds(t, 20);
    CHECK_NOW(t, spans->held, FAINA_CLAIMED);
    CHECK_OK(t, fa_t_heartbeat(t, spans->kept, BY("w"), 3 * HOUR_S * 1000));
    pass_seconds(t, 20);
    CHECK_STORY(t, spans->held, "created claimed lease_lost");
    CHECK(!is_claimable(t, "again"), "a retry came early");
    pass_seconds(t, 75); /* 115 in all */
    CHECK(is_claimable(t, "again"), "the retry did not come");
    CHECK_OK(t, fa_t_complete(t, spans->again, BY("v"), NULL));
    CHECK_NOW(t, spans->away, FAINA_BACKGROUND);
    pass_seconds(t, 30); /* 145 */
    CHECK_STORY(t, spans->away, "created claimed started background expired");
    CHECK_OK(t, fa_t_complete(t, spans->kept, BY("w"), NULL));
    CHECK_STORY(t, spans->kept, "created claimed started completed");
}

/* A delay comes due after its time too. */
static void check_set_back(struct fa_t *t, int64_t seconds)
{
    struct spans spans;

    hold_clock();
    spans = make_spans(t);
    fa_t_submit(t, .type = "later", .delay_ms = 60000);
    step_clock(-seconds);
    CHECK(!is_claimable(t, "later"), "a delay came early");
    check_spans(t, &spans);
    if (seconds < DAY_S)
        CHECK(is_claimable(t, "later"), "the delay did not come");
    let_clock_run();
}

static void test_clock__spans_end_when_it_is_set_back(struct fa_t *t)
{
    check_set_back(t, HOUR_S);
}

static void test_clock__spans_end_when_it_is_set_back_by_days(struct fa_t *t)
{
    check_set_back(t, 30 * DAY_S);
}

static void test_clock__spans_end_when_it_is_set_forward(struct fa_t *t)
{
    struct spans spans;

    hold_clock();
    spans = make_spans(t);
    step_clock(HOUR_S);
    check_spans(t, &spans);
    step_clock(365 * DAY_S);
    spans = make_spans(t);
    step_clock(365 * DAY_S);
    check_spans(t, &spans);
    let_clock_run();
}

/* Times of day follow the clock, at once. */
static void test_clock__delays_follow_when_it_is_set_forward(struct fa_t *t)
{
    fa_t_submit(t, .type = "later", .run_at_us = fa_clock_now_us() + HOUR_US / 2);
    CHECK(!is_claimable(t, "later"), "it came early");
    step_clock(HOUR_S);
    CHECK(is_claimable(t, "later"), "it did not come");
    CHECK_TRUE(t->op.tasks->items[0].claimed_us > fa_clock_now_us() - HOUR_US / 4);
}

/* Where nothing else happens, too. */
static bool has_ready(struct fa_t *t, void *arg)
{
    CHECK_OK(t, fa_t_list(t, .type = arg, .limit = 10));
    return t->op.tasks->count > 0 && t->op.tasks->items[0].run_at_us <= fa_clock_now_us();
}

static bool was_made(struct fa_t *t, void *arg)
{
    CHECK_OK(t, fa_t_list(t, .type = arg, .limit = 10));
    return t->op.tasks->count > 0;
}

static size_t count_ticks(struct fa_t *t)
{
    CHECK_OK(t, fa_t_list(t, .type = "tick", .limit = 1000));
    return t->op.tasks->count;
}

static void put_cron(struct fa_t *t, const char *name, const char *schedule,
                     enum fa_catch_up catch_up)
{
    const struct fa_cron_job job = {
        .name = name, .schedule = schedule, .task = "{\"type\":\"tick\"}", .catch_up = catch_up};

    CHECK_OK(t, fa_t_run(t, &(struct fa_op){.kind = FA_OP_CRON_PUT, .cron = &job}));
}

/* A schedule goes on when the clock is set back by an hour, and serves no time twice. */
static void test_clock__schedules_go_on_when_it_is_set_back(struct fa_t *t)
{
    size_t before;

    hold_clock();
    put_cron(t, "minute", "* * * * *", FA_CATCH_UP_NONE);
    pass_seconds(t, 180);
    before = count_ticks(t);
    CHECK_INT(before, 3);
    step_clock(-HOUR_S);
    pass_seconds(t, 600); /* 540 by the engine's clock */
    CHECK_INT(count_ticks(t), before + 9);
    let_clock_run();
}

/* After days it was wrong before: the schedule goes on from the time that is right. */
static void test_clock__schedules_go_on_when_it_is_set_back_by_days(struct fa_t *t)
{
    hold_clock();
    step_clock(30 * DAY_S);
    put_cron(t, "minute", "* * * * *", FA_CATCH_UP_NONE);
    pass_seconds(t, 120);
    CHECK_INT(count_ticks(t), 2);
    step_clock(-30 * DAY_S);
    pass_seconds(t, 120);
    CHECK_INT(count_ticks(t), 4);
    step_clock(-2 * DAY_S); /* set back once more, and forward again: no time is served twice */
    pass_seconds(t, 1);
    step_clock(2 * DAY_S - 120);
    pass_seconds(t, 60);
    CHECK_INT(count_ticks(t), 4);
    let_clock_run();
}

/* Times that a step forward leaves out are missed ones: catchUp decides. The timer finds the step
 * out by itself. */
static void test_clock__schedules_catch_up_when_it_is_set_forward(struct fa_t *t)
{
    char type[] = "tick";

    put_cron(t, "none", "0 0 1 1 *", FA_CATCH_UP_NONE);
    put_cron(t, "one", "0 0 1 1 *", FA_CATCH_UP_ONE);
    step_clock(366 * DAY_S);
    fa_t_wait_until(was_made, t, type, "the schedule catches up");
    CHECK_INT(count_ticks(t), 1);
}

static void test_clock__the_timer_sees_a_step(struct fa_t *t)
{
    char type[] = "later";
    const char *id = fa_t_submit(t, .type = type, .run_at_us = fa_clock_now_us() + HOUR_US);

    CHECK(!has_ready(t, type), "it came early");
    step_clock(2 * HOUR_S);
    fa_t_wait_until(has_ready, t, type, "the task is due");
    CHECK_OK(t, fa_t_claim(t, id, "w"));
}

/* What `faina doctor`, the metrics and the log of a server show. */
static void test_clock__jumps_are_reported(struct fa_t *t)
{
    struct fa_service_clock clock;

    fa_service_clock(t->svc, &clock);
    CHECK_INT(clock.jumps, 0);
    CHECK_TRUE(clock.offset_ms > -1000 && clock.offset_ms < 1000);
    step_clock(-HOUR_S);
    fa_service_clock(t->svc, &clock);
    CHECK_INT(clock.jumps, 1);
    CHECK_TRUE(clock.jump_ms > -HOUR_MS - 1000 && clock.jump_ms < -HOUR_MS + 1000);
    CHECK_TRUE(clock.offset_ms > HOUR_MS / 2);
    step_clock(3 * HOUR_S);
    fa_t_submit(t, .type = "x");
    fa_service_clock(t->svc, &clock);
    CHECK_INT(clock.jumps, 2);
    CHECK_TRUE(clock.jump_ms > 2 * HOUR_MS);
    CHECK_TRUE(clock.jump_at_us > fa_clock_now_us() - HOUR_US / 2);
    CHECK_TRUE(clock.offset_ms > -1000 && clock.offset_ms < 1000);
}

/* While nothing could be stored no lease could be renewed, whatever the clock asked for meanwhile.
 * Whoever is heard right after that keeps its task. */
static void test_clock__goes_on_while_nothing_is_stored(struct fa_t *t)
{
    const char *lock = fa_t_path(t, "faina.db.lock"), *aside = fa_t_path(t, "aside");
    const char *held, *kept;

    hold_clock();
    held = fa_t_make(t, FAINA_CLAIMED, "w");
    kept = fa_t_make(t, FAINA_CLAIMED, "w");
    CHECK_INT(rename(lock, aside), 0);
    for (int i = 0; i < 10; i++) {
        passed_us += 10 * SECOND_US;
        CHECK_CODE(t, fa_t_try_submit(t, .type = "x"), FAINA_UNAVAILABLE);
    }
    CHECK_INT(rename(aside, lock), 0);
    passed_us += 2 * SECOND_US; /* it is tried again after a second */
    fa_t_submit(t, .type = "x");
    CHECK_NOW(t, held, FAINA_CLAIMED);
    CHECK_OK(t, fa_t_heartbeat(t, kept, BY("w"), 60000));
    passed_us += 2 * SECOND_US;
    fa_t_submit(t, .type = "x");
    CHECK_NOW(t, kept, FAINA_CLAIMED);
    CHECK_STORY(t, held, "created claimed lease_lost");
    let_clock_run();
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

/* The same for spans: they end after their time, also when the clock was wrong by a month. */
static void check_set_back_while_closed(struct fa_t *t, int64_t seconds)
{
    struct spans spans;
    struct fa_service_clock clock;

    hold_clock();
    spans = make_spans(t);
    fa_t_close(t);
    step_clock(-seconds);
    fa_t_open(t);
    check_spans(t, &spans);
    fa_service_clock(t->svc, &clock);
    CHECK_INT(clock.jumps, 1);
    CHECK_INT(clock.jump_ms / HOUR_MS, -seconds / HOUR_S);
    CHECK_INT(clock.offset_ms > HOUR_MS / 2, seconds < DAY_S);
    fa_t_reopen(t); /* again: the wrong time is forgotten */
    fa_service_clock(t->svc, &clock);
    CHECK_INT(clock.jumps, seconds < DAY_S);
    let_clock_run();
}

static void test_clock__spans_end_when_it_was_set_back_while_closed(struct fa_t *t)
{
    check_set_back_while_closed(t, HOUR_S);
}

static void test_clock__spans_end_when_it_was_set_back_by_days_while_closed(struct fa_t *t)
{
    check_set_back_while_closed(t, 30 * DAY_S);
}

int main(int argc, char **argv)
{
    static const struct fa_t_case cases[] = {
        FA_T_CASE_LOCAL(test_clock__set_back),
        FA_T_CASE_LOCAL(test_clock__set_a_little_forward),
        FA_T_CASE_LOCAL(test_clock__spans_end_when_it_is_set_back),
        FA_T_CASE_LOCAL(test_clock__spans_end_when_it_is_set_back_by_days),
        FA_T_CASE_LOCAL(test_clock__spans_end_when_it_is_set_forward),
        FA_T_CASE_LOCAL(test_clock__delays_follow_when_it_is_set_forward),
        FA_T_CASE_LOCAL(test_clock__schedules_go_on_when_it_is_set_back),
        FA_T_CASE_LOCAL(test_clock__schedules_go_on_when_it_is_set_back_by_days),
        FA_T_CASE_LOCAL(test_clock__schedules_catch_up_when_it_is_set_forward),
        FA_T_CASE_LOCAL(test_clock__the_timer_sees_a_step),
        FA_T_CASE_LOCAL(test_clock__jumps_are_reported),
        {"test_clock__goes_on_while_nothing_is_stored", test_clock__goes_on_while_nothing_is_stored,
         FA_T_LOCAL | FA_T_DURABLE},
        {"test_clock__set_back_while_closed", test_clock__set_back_while_closed,
         FA_T_LOCAL | FA_T_DURABLE},
        {"test_clock__spans_end_when_it_was_set_back_while_closed",
         test_clock__spans_end_when_it_was_set_back_while_closed, FA_T_LOCAL | FA_T_DURABLE},
        {"test_clock__spans_end_when_it_was_set_back_by_days_while_closed",
         test_clock__spans_end_when_it_was_set_back_by_days_while_closed,
         FA_T_LOCAL | FA_T_DURABLE},
    };

    /* Not PostgreSQL: there the time is the server's, and nobody sets that. */
    setenv("FA_CONFORMANCE_URLS", FA_T_SQLITE " " FA_T_MEMORY, 0);
    return fa_t_main(argc, argv, "clock", cases, FA_COUNT(cases));
}
