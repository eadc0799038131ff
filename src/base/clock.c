/*
 * clock.c - clock_gettime, in the units we use.
 */
#include "base/clock.h"

#include <assert.h>
#include <time.h>

static struct timespec read_clock(clockid_t clock)
{
    struct timespec now;
    int failed = clock_gettime(clock, &now);

    /* All three exist on every supported system. */
    assert(!failed);
    (void)failed;
    return now;
}

int64_t fa_clock_now_us(void)
{
    struct timespec now = read_clock(CLOCK_REALTIME);

    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t fa_clock_mono_us(void)
{
    return fa_clock_mono_ns() / 1000;
}

int64_t fa_clock_mono_ns(void)
{
    struct timespec now = read_clock(CLOCK_MONOTONIC);

    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t fa_clock_boot_us(void)
{
    struct timespec now = read_clock(CLOCK_BOOTTIME);

    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}
