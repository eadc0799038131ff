/*
 * crew.c - threads that start together.
 */
#include "support/crew.h"

#include <pthread.h>
#include <stdlib.h>

struct member {
    struct fa_t t;
    struct fa_t_crew *crew;
    fa_t_part *part;
    size_t index;
    pthread_t thread;
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

void fa_t_together(struct fa_t *t, size_t count, fa_t_part *part, void *arg)
{
    fa_t_crew_join(start(t, count, part, NULL, true, arg));
}

void fa_t_against(struct fa_t *t, fa_t_part *const *parts, size_t count, void *arg)
{
    fa_t_crew_join(start(t, count, NULL, parts, true, arg));
}
