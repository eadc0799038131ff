/*
 * test_schedule_day.c - hours of schedules in seconds: each time makes one task, whichever node
 * does the work.
 *
 * The engine reads the time with clock_gettime, and this program has its own: the system's, plus an
 * offset that grows by random steps. Waits inside the C library still follow the real clock, so
 * after each step the test makes the engine write something, which does what is due. Every so often
 * the node changes: it closes the file, or is killed as far as the file can tell (its copy as a
 * crash would leave it goes on), and the next one opens it.
 *
 * FA_SCHEDULE_HOURS sets how many hours.
 */
#include "faults/inspect.h"
#include "support/ops.h"

#include "base/clock.h"
#include "base/random.h"

#include <setjmp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define HOURS_DEFAULT 1
#define STEP_MAX_S 40
#define SECOND_US 1000000LL

static atomic_llong offset_us;

/* All clocks that the engine may use go on together. */
int clock_gettime(clockid_t clock, struct timespec *now)
{
    long rc = syscall(SYS_clock_gettime, clock, now);

    if (rc == 0 &&
        (clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC || clock == CLOCK_BOOTTIME)) {
        int64_t ns = now->tv_nsec + offset_us % SECOND_US * 1000;

        now->tv_sec += offset_us / SECOND_US + ns / 1000000000;
        now->tv_nsec = ns % 1000000000;
    }
    return (int)rc;
}

static const struct {
    const char *name, *schedule;
    int64_t every_s;
} schedules[] = {
    {"second", "* * * * * *", 1},
    {"ninety", "@every 90s", 90},
    {"five", "*/5 * * * *", 300},
    {"hour", "@hourly", 3600},
};

struct day {
    struct fa_t t;
    struct fa_random random;
    char path[FA_T_PATH_SIZE];
    int changes, files;
};

static void put_schedules(struct day *day)
{
    for (size_t i = 0; i < FA_COUNT(schedules); i++) {
        struct fa_cron_job job = {.name = schedules[i].name,
                                  .schedule = schedules[i].schedule,
                                  .task = "{\"type\":\"tick\"}",
                                  .catch_up = FA_CATCH_UP_ALL};

        CHECK_OK(&day->t, fa_t_run(&day->t, &(struct fa_op){.kind = FA_OP_CRON_PUT, .cron = &job}));
    }
}

/* The next node. Every second one goes on with what a crash of the last one leaves. */
static void change_node(struct day *day)
{
    char old[FA_T_PATH_SIZE];

    day->changes++;
    if (day->changes % 2) {
        fa_t_close(&day->t);
    } else {
        memcpy(old, day->path, sizeof old);
        snprintf(day->path, sizeof day->path, "%.400s/day%d.db", day->t.dir, ++day->files);
        fa_f_copy_crashed(old, day->path);
        fa_t_close(&day->t);
        remove(old);
        snprintf(day->t.url, sizeof day->t.url, "sqlite:%.490s", day->path);
    }
    fa_t_open(&day->t);
}

/* Several writes, since what is due may be done in pieces. */
static void poke(struct day *day)
{
    CHECK_OK(&day->t, fa_t_resource_set(&day->t, "none", 1));
    fa_t_forget(&day->t);
}

/* Until every schedule's next time is in the future. */
static void catch_up(struct day *day)
{
    for (int i = 0; i < 1000; i++) {
        poke(day);
        fa_t_close(&day->t);
        if (fa_f_query_int(day->path, "SELECT min(next_us) FROM cron") > fa_clock_now_us()) {
            fa_t_open(&day->t);
            return;
        }
        fa_t_open(&day->t);
    }
    fa_t_fail(__FILE__, __LINE__, "schedules don't catch up");
}

/* Each time from the first to the last made one task. */
static void check_schedule(struct day *day, size_t index, int64_t from_us, int64_t until_us)
{
    char sql[512], like[64];
    int64_t count, distinct, span_s;

    snprintf(like, sizeof like, "cron:%s:%%", schedules[index].name);
    snprintf(sql, sizeof sql, "SELECT count(*) FROM tasks WHERE idempotency_key LIKE '%s'", like);
    count = fa_f_query_int(day->path, sql);
    snprintf(sql, sizeof sql,
             "SELECT count(DISTINCT idempotency_key) FROM tasks WHERE idempotency_key LIKE '%s'",
             like);
    distinct = fa_f_query_int(day->path, sql);
    snprintf(sql, sizeof sql,
             "SELECT unixepoch(max(substr(idempotency_key, %d))) - "
             "unixepoch(min(substr(idempotency_key, %d))) FROM tasks "
             "WHERE idempotency_key LIKE '%s'",
             (int)strlen(like), (int)strlen(like), like);
    span_s = fa_f_query_int(day->path, sql);
    CHECK(count == distinct, "%s: %lld tasks for %lld times", like, (long long)count,
          (long long)distinct);
    CHECK_INT(count, span_s / schedules[index].every_s + 1);
    CHECK(count >= (until_us - from_us) / SECOND_US / schedules[index].every_s - 1,
          "%s: only %lld tasks", like, (long long)count);
}

static void test_schedule_day__each_time_once(void **state)
{
    int64_t hours = fa_t_env_int("FA_SCHEDULE_HOURS", HOURS_DEFAULT), from_us;
    struct day *day = fa_alloc_zero(1, sizeof *day);
    uint64_t seed = fa_t_seed();

    (void)state;
    print_message("FA_SEED=%llu\n", (unsigned long long)seed);
    fa_random_seed(&day->random, seed);
    fa_t_init(&day->t);
    snprintf(day->path, sizeof day->path, "%.400s/day0.db", day->t.dir);
    snprintf(day->t.url, sizeof day->t.url, "sqlite:%.490s", day->path);
    fa_t_open(&day->t);
    put_schedules(day);
    from_us = fa_clock_now_us();
    while (offset_us < hours * 3600 * SECOND_US) {
        offset_us += 1 + (int64_t)fa_random_below(&day->random, STEP_MAX_S * SECOND_US);
        poke(day);
        if (fa_random_below(&day->random, 30) == 0)
            change_node(day);
    }
    catch_up(day);
    fa_t_check_sound(&day->t);
    fa_t_close(&day->t);
    for (size_t i = 0; i < FA_COUNT(schedules); i++)
        check_schedule(day, i, from_us, fa_clock_now_us());
    print_message("%lld hours, %d changes of the node, %lld tasks\n", (long long)hours,
                  day->changes, (long long)fa_f_query_int(day->path, "SELECT count(*) FROM tasks"));
    CHECK(day->changes > 0, "the node never changed");
    fa_t_finish(&day->t);
    free(day);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schedule_day__each_time_once),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("schedule day", tests, NULL, NULL);
}
