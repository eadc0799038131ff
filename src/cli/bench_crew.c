/*
 * bench_crew.c - members meet at a barrier before and after each step, so that the time between is
 * the time of the step with all of them at work. They live as long as the crew: starting a thread
 * is nothing that anybody wants to measure.
 *
 *   main     set step   | begin |  ............  | end |  read the clock
 *   member   ........   | begin |  its share     | end |  ........
 *
 * `step` and `is_over` are written only while all members wait at `begin`, and read only after it;
 * a member's `code` and `error` the other way round. So the barriers are all the locks there are.
 */
#include "cli/bench_crew.h"

#include "base/bytes.h"
#include "base/clock.h"

#include <pthread.h>
#include <stdlib.h>

struct member {
    struct fa_bench_crew *crew;
    size_t number;
    pthread_t thread;
    enum faina_code code;
    struct faina_error error;
};

struct fa_bench_crew {
    fa_bench_share_fn *share;
    void *ctx;
    struct member *members;
    size_t count;
    pthread_barrier_t begin, end;
    enum fa_bench_step step;
    bool is_over;
};

static void *run_member(void *arg)
{
    struct member *member = arg;
    struct fa_bench_crew *crew = member->crew;

    for (;;) {
        pthread_barrier_wait(&crew->begin);
        if (crew->is_over)
            return NULL;
        member->code = crew->share(crew->ctx, member->number, crew->step, &member->error);
        pthread_barrier_wait(&crew->end);
    }
}

enum faina_code fa_bench_crew_step(struct fa_bench_crew *crew, enum fa_bench_step step,
                                   int64_t *out_ns, struct faina_error *err)
{
    int64_t start;

    crew->step = step;
    start = fa_clock_mono_ns();
    pthread_barrier_wait(&crew->begin);
    pthread_barrier_wait(&crew->end);
    *out_ns = fa_clock_mono_ns() - start;
    for (size_t i = 0; i < crew->count; i++) {
        if (crew->members[i].code != FAINA_OK) {
            *err = crew->members[i].error;
            return crew->members[i].code;
        }
    }
    return FAINA_OK;
}

enum faina_code fa_bench_crew_round(struct fa_bench_crew *crew, int64_t out_ns[FA_BENCH_STEPS],
                                    struct faina_error *err)
{
    enum faina_code code = FAINA_OK;

    for (int step = 0; code == FAINA_OK && step < FA_BENCH_STEPS; step++)
        code = fa_bench_crew_step(crew, (enum fa_bench_step)step, &out_ns[step], err);
    return code;
}

struct fa_bench_crew *fa_bench_crew_start(size_t count, fa_bench_share_fn *share, void *ctx)
{
    struct fa_bench_crew *crew = fa_alloc_zero(1, sizeof *crew);

    crew->share = share;
    crew->ctx = ctx;
    crew->count = count;
    crew->members = fa_alloc_zero(count, sizeof *crew->members);
    pthread_barrier_init(&crew->begin, NULL, (unsigned)count + 1);
    pthread_barrier_init(&crew->end, NULL, (unsigned)count + 1);
    for (size_t i = 0; i < count; i++) {
        struct member *member = &crew->members[i];
        int code;

        member->crew = crew;
        member->number = i;
        code = pthread_create(&member->thread, NULL, run_member, member);
        if (code != 0) {
            /* Those that were started wait for this one at the barrier for ever. */
            fprintf(stderr, "faina bench: can't start a thread: %s\n", strerror(code));
            exit(1);
        }
    }
    return crew;
}

void fa_bench_crew_stop(struct fa_bench_crew *crew)
{
    if (!crew)
        return;
    crew->is_over = true;
    pthread_barrier_wait(&crew->begin);
    for (size_t i = 0; i < crew->count; i++)
        pthread_join(crew->members[i].thread, NULL);
    pthread_barrier_destroy(&crew->begin);
    pthread_barrier_destroy(&crew->end);
    free(crew->members);
    free(crew);
}
