/*
 * test_thread.c - threads without signals, and waits on the monotonic clock.
 */
#include "unit/base/unit.h"

#include "base/clock.h"
#include "base/thread.h"

#include <signal.h>

static void *read_mask(void *arg)
{
    pthread_sigmask(SIG_SETMASK, NULL, arg);
    return NULL;
}

static void test_thread__a_thread_blocks_signals_and_its_starter_does_not(void **state)
{
    sigset_t inside, outside;
    pthread_t thread;

    assert_int_equal(fa_thread_start(&thread, read_mask, &inside), 0);
    pthread_join(thread, NULL);
    pthread_sigmask(SIG_SETMASK, NULL, &outside);
    assert_true(sigismember(&inside, SIGTERM));
    assert_false(sigismember(&outside, SIGTERM));
}

static void test_thread__a_wait_ends_at_its_time(void **state)
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    int64_t until_us = fa_clock_mono_us() + 1000;
    pthread_cond_t cond;

    fa_cond_init(&cond);
    pthread_mutex_lock(&mutex);
    while (fa_cond_wait_until(&cond, &mutex, until_us))
        continue;
    pthread_mutex_unlock(&mutex);
    assert_true(fa_clock_mono_us() >= until_us);
    pthread_cond_destroy(&cond);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_thread__a_thread_blocks_signals_and_its_starter_does_not),
        cmocka_unit_test(test_thread__a_wait_ends_at_its_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
