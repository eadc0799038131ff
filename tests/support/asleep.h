/*
 * asleep.h - waits until another thread sleeps, so that no test depends on a fixed time.
 *
 * The thread calls fa_t_publish right before the call that blocks; fa_t_wait_asleep returns when
 * the kernel reports that it sleeps.
 */
#ifndef FA_TEST_ASLEEP_H
#define FA_TEST_ASLEEP_H

#include "support/support.h"

#include <sched.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline void fa_t_publish(atomic_int *tid)
{
    atomic_store(tid, (int)syscall(SYS_gettid));
}

static inline bool fa_t_is_asleep(int tid)
{
    char path[64], text[512], state = '?';
    const char *end;
    FILE *file;
    size_t len;

    snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
    file = fopen(path, "r");
    if (file == NULL)
        return false;
    len = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[len] = '\0';
    end = strrchr(text, ')'); /* the name before it may contain any character */
    if (end != NULL)
        sscanf(end, ") %c", &state);
    return state == 'S';
}

static inline bool fa_t_has_fallen_asleep(struct fa_t *t, void *arg)
{
    int tid = atomic_load((atomic_int *)arg);

    (void)t;
    return tid != 0 && fa_t_is_asleep(tid);
}

static inline void fa_t_wait_asleep(atomic_int *tid)
{
    fa_t_wait_until(fa_t_has_fallen_asleep, NULL, tid, "the thread sleeps");
}

/* Waits until another thread has set a flag. */
static inline void fa_t_wait_flag(atomic_bool *flag)
{
    while (!atomic_load(flag))
        sched_yield();
}

#endif
