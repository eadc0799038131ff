/*
 * test_waiters.c - threads that sleep until a task ends.
 */
#include "support/asleep.h"

#include "service/waiters.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>

#include <cmocka.h>

#define LONG_MS 600000 /* a test that waits this long has hung */

static struct fa_id id_of(int64_t key)
{
    return (struct fa_id){.key = key, .tail = key * 7};
}

/* A thread that waits for one task. */
struct sleeper {
    struct fa_waiters *waiters;
    struct fa_id id;
    int64_t timeout_ms;
    pthread_t handle;
    atomic_int tid;
    bool is_woken;
};

static void *sleep_for_task(void *arg)
{
    struct sleeper *mine = arg;
    struct fa_waiter waiter;

    fa_waiter_begin(&waiter, mine->waiters, mine->id);
    fa_t_publish(&mine->tid);
    fa_waiter_sleep(&waiter, mine->timeout_ms);
    fa_waiter_end(&waiter);
    mine->is_woken = waiter.is_woken;
    return NULL;
}

static void start(struct sleeper *sleeper, struct fa_waiters *waiters, struct fa_id id)
{
    sleeper->waiters = waiters;
    sleeper->id = id;
    sleeper->timeout_ms = LONG_MS;
    CHECK_INT(pthread_create(&sleeper->handle, NULL, sleep_for_task, sleeper), 0);
    fa_t_wait_asleep(&sleeper->tid);
}

/* ------------------------------------------------------------------------------------------
 * Ends
 */

/* W1 */
static void test_waiters__an_end_before_the_sleep_is_not_missed(void **state)
{
    struct fa_waiters *waiters = fa_waiters_create();
    struct fa_id id = id_of(1);
    struct fa_waiter waiter;

    fa_waiter_begin(&waiter, waiters, id);
    fa_waiters_notify_ended(waiters, &id, 1);
    fa_waiter_sleep(&waiter, LONG_MS);
    CHECK_TRUE(waiter.is_woken);
    fa_waiter_end(&waiter);
    fa_waiters_destroy(waiters);
}

static void test_waiters__the_time_runs_out(void **state)
{
    static const int64_t timeouts[] = {0, 1, -5};
    struct fa_waiters *waiters = fa_waiters_create();

    for (size_t i = 0; i < FA_COUNT(timeouts); i++) {
        struct fa_waiter waiter;

        fa_waiter_begin(&waiter, waiters, id_of(1));
        fa_waiter_sleep(&waiter, timeouts[i]);
        CHECK_TRUE(!waiter.is_woken);
        fa_waiter_end(&waiter);
    }
    fa_waiters_destroy(waiters);
}

static void test_waiters__an_end_wakes_all_who_wait_for_it(void **state)
{
    enum { THREADS = 12 };
    struct fa_waiters *waiters = fa_waiters_create();
    struct sleeper sleepers[THREADS] = {0};
    struct fa_id id = id_of(42);

    for (size_t i = 0; i < THREADS; i++)
        start(&sleepers[i], waiters, id);
    fa_waiters_notify_ended(waiters, &id, 1);
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(sleepers[i].handle, NULL);
        CHECK_TRUE(sleepers[i].is_woken);
    }
    fa_waiters_destroy(waiters);
}

/* Two ids with the same key are in one bucket; only the full id identifies a task. */
static void test_waiters__other_tasks_wake_nobody(void **state)
{
    struct fa_waiters *waiters = fa_waiters_create();
    struct fa_id mine = {.key = 5, .tail = 1};
    struct fa_id others[] = {{.key = 5, .tail = 2}, {.key = 6, .tail = 1}};
    struct fa_waiter waiter;

    fa_waiter_begin(&waiter, waiters, mine);
    fa_waiters_notify_ended(waiters, others, FA_COUNT(others));
    CHECK_TRUE(!waiter.is_woken);
    fa_waiters_notify_ended(waiters, &mine, 0);
    CHECK_TRUE(!waiter.is_woken);
    fa_waiters_notify_ready(waiters, FA_TYPES_ALL);
    CHECK_TRUE(!waiter.is_woken);
    fa_waiters_notify_ended(waiters, &mine, 1);
    CHECK_TRUE(waiter.is_woken);
    fa_waiter_end(&waiter);
    fa_waiters_destroy(waiters);
}

static void test_waiters__one_who_left_is_forgotten(void **state)
{
    static const size_t orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                       {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    struct fa_id id = id_of(9);

    for (size_t i = 0; i < FA_COUNT(orders); i++) {
        struct fa_waiters *waiters = fa_waiters_create();
        struct fa_waiter list[3];

        for (size_t k = 0; k < 3; k++)
            fa_waiter_begin(&list[k], waiters, id);
        for (size_t k = 0; k < 3; k++) {
            fa_waiter_end(&list[orders[i][k]]);
            for (size_t left = 0; left < 3; left++)
                list[left].is_woken = false;
            fa_waiters_notify_ended(waiters, &id, 1);
            for (size_t other = 0; other < 3; other++)
                CHECK_INT(list[orders[i][other]].is_woken, other > k);
        }
        fa_waiters_destroy(waiters);
    }
}

static void test_waiters__many_ends_at_once(void **state)
{
    enum { TASKS = 3000 };
    static struct fa_waiter list[TASKS];
    static struct fa_id ids[TASKS];
    struct fa_waiters *waiters = fa_waiters_create();

    for (size_t i = 0; i < TASKS; i++) {
        ids[i] = id_of((int64_t)i + 1);
        fa_waiter_begin(&list[i], waiters, ids[i]);
    }
    fa_waiters_notify_ended(waiters, ids, TASKS / 2);
    for (size_t i = 0; i < TASKS; i++)
        CHECK_INT(list[i].is_woken, i < TASKS / 2);
    for (size_t i = 0; i < TASKS; i++)
        fa_waiter_end(&list[i]);
    fa_waiters_notify_ended(waiters, ids, TASKS);
    fa_waiters_destroy(waiters);
}

/* ------------------------------------------------------------------------------------------
 * Closing
 */

/* W2 */
static void test_waiters__closing_wakes_everybody(void **state)
{
    enum { THREADS = 10 };
    struct fa_waiters *waiters = fa_waiters_create();
    struct sleeper sleepers[THREADS] = {0};
    struct fa_waiter waiter;

    for (size_t i = 0; i < THREADS; i++)
        start(&sleepers[i], waiters, id_of((int64_t)i));
    fa_waiters_close(waiters);
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(sleepers[i].handle, NULL);
        CHECK_TRUE(!sleepers[i].is_woken); /* nothing has ended */
    }
    fa_waiter_begin(&waiter, waiters, id_of(1));
    fa_waiter_sleep(&waiter, LONG_MS);
    fa_waiter_end(&waiter);
    fa_waiters_close(waiters);
    fa_waiters_destroy(waiters);
    fa_waiters_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_waiters__an_end_before_the_sleep_is_not_missed),
        cmocka_unit_test(test_waiters__the_time_runs_out),
        cmocka_unit_test(test_waiters__an_end_wakes_all_who_wait_for_it),
        cmocka_unit_test(test_waiters__other_tasks_wake_nobody),
        cmocka_unit_test(test_waiters__one_who_left_is_forgotten),
        cmocka_unit_test(test_waiters__many_ends_at_once),
        cmocka_unit_test(test_waiters__closing_wakes_everybody),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
