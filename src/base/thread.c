/* thread.c - see thread.h. */
#include "base/thread.h"

#include <signal.h>
#include <time.h>

int fa_thread_start(pthread_t *out, void *(*main)(void *arg), void *arg)
{
    sigset_t all, before;
    int failed;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    failed = pthread_create(out, NULL, main, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

void fa_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attributes);
    pthread_condattr_destroy(&attributes);
}

bool fa_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t until_us)
{
    struct timespec until = {.tv_sec = (time_t)(until_us / 1000000),
                             .tv_nsec = (long)(until_us % 1000000) * 1000};

    if (until_us == INT64_MAX)
        return pthread_cond_wait(cond, mutex) == 0;
    return pthread_cond_timedwait(cond, mutex, &until) == 0;
}
