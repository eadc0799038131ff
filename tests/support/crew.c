/*
 * crew.c - threads that start together.
 */
#include "support/crew.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct member {
    struct fa_t t;
    struct fa_t_crew *crew;
    fa_t_part *part;
    size_t index;
    pthread_t thread;
    atomic_int tid; /* 0: not started */
};

struct fa_t_crew {
    pthread_barrier_t gate;
    bool has_gate;
    void *arg;
    size_t count;
    struct member members[];
};

static void *run_member(void *arg)
{
    struct member *member = arg;

    if (member->crew->has_gate)
        pthread_barrier_wait(&member->crew->gate);
    member->tid = (int)syscall(SYS_gettid);
    member->part(&member->t, member->index, member->crew->arg);
    return NULL;
}

/* Either every thread runs `part`, or each runs its own of `parts`. */
static struct fa_t_crew *start(struct fa_t *t, size_t count, fa_t_part *part,
                               fa_t_part *const *parts, bool has_gate, void *arg)
{
    struct fa_t_crew *crew = fa_alloc_zero(1, sizeof *crew + count * sizeof crew->members[0]);

    crew->has_gate = has_gate;
    crew->arg = arg;
    crew->count = count;
    if (has_gate)
        pthread_barrier_init(&crew->gate, NULL, (unsigned)count);
    for (size_t i = 0; i < count; i++) {
        struct member *member = &crew->members[i];

        fa_t_share(&member->t, t);
        member->crew = crew;
        member->part = parts ? parts[i] : part;
        member->index = i;
        CHECK(pthread_create(&member->thread, NULL, run_member, member) == 0,
              "can't start a thread");
    }
    return crew;
}

struct fa_t_crew *fa_t_crew_start(struct fa_t *t, size_t count, fa_t_part *part, void *arg)
{
    return start(t, count, part, NULL, false, arg);
}

void fa_t_crew_join(struct fa_t_crew *crew)
{
    for (size_t i = 0; i < crew->count; i++) {
        pthread_join(crew->members[i].thread, NULL);
        fa_t_unshare(&crew->members[i].t);
    }
    if (crew->has_gate)
        pthread_barrier_destroy(&crew->gate);
    free(crew);
}

static bool is_asleep(int tid)
{
    char path[64], text[512] = "";
    const char *end;
    FILE *file;

    if (tid == 0)
        return false;
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
    file = fopen(path, "r");
    if (file == NULL)
        return false;
    if (fgets(text, sizeof text, file) == NULL)
        text[0] = '\0';
    fclose(file);
    end = strrchr(text, ')');
    return end && end[1] == ' ' && end[2] == 'S';
}

/* Ten checks in a row make sure that no thread sleeps only for a moment. */
static bool all_asleep(struct fa_t *t, void *arg)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    struct fa_t_crew *crew = arg;

    (void)t;
    for (int check = 0; check < 10; check++) {
        for (size_t i = 0; i < crew->count; i++)
            if (!is_asleep(crew->members[i].tid))
                return false;
        nanosleep(&pause, NULL);
    }
    return true;
}

void fa_t_crew_wait_asleep(struct fa_t_crew *crew, struct fa_t *t)
{
    fa_t_wait_until(all_asleep, t, crew, "all threads wait");
}

void fa_t_together(struct fa_t *t, size_t count, fa_t_part *part, void *arg)
{
    fa_t_crew_join(start(t, count, part, NULL, true, arg));
}

void fa_t_against(struct fa_t *t, fa_t_part *const *parts, size_t count, void *arg)
{
    fa_t_crew_join(start(t, count, NULL, parts, true, arg));
}
