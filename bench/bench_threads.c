/*
 * bench_threads.c - the threads wait at a barrier before and after each step, so that the time
 * between is that of the step with all of them running. They are started once: the start of a
 * thread isn't measured.
 *
 *   main     set step   | begin |  ............  | end |  read the clock
 *   runner   ........   | begin |  its share     | end |  ........
 *
 * `step` and `is_over` are written only while all runners wait at `begin`, and read only after it;
 * a runner's `code` and `error` the other way round. So the barriers are the only locks.
 */
#include "bench/bench_threads.h"

#include "base/bytes.h"
#include "base/clock.h"

#include <pthread.h>
#include <stdlib.h>

struct runner {
    struct fa_bench_threads *threads;
    size_t number;
    pthread_t thread;
    enum faina_code code;
    struct faina_error error;
};

struct fa_bench_threads {
    fa_bench_share_fn *share;
    void *ctx;
    struct runner *runners;
    size_t count;
    pthread_barrier_t begin, end;
    enum fa_bench_step step;
    bool is_over;
};

static void *run_runner(void *arg)
{
    struct runner *runner = arg;
    struct fa_bench_threads *threads = runner->threads;

    for (;;) {
        pthread_barrier_wait(&threads->begin);
        if (threads->is_over)
            return NULL;
        runner->code = threads->share(threads->ctx, runner->number, threads->step, &runner->error);
        pthread_barrier_wait(&threads->end);
    }
}

enum faina_code fa_bench_threads_step(struct fa_bench_threads *threads, enum fa_bench_step step,
                                      int64_t *out_ns, struct faina_error *err)
{
    int64_t start;

    threads->step = step;
    start = fa_clock_mono_ns();
    pthread_barrier_wait(&threads->begin);
    pthread_barrier_wait(&threads->end);
    *out_ns = fa_clock_mono_ns() - start;
    for (size_t i = 0; i < threads->count; i++) {
        if (threads->runners[i].code != FAINA_OK) {
            *err = threads->runners[i].error;
            return threads->runners[i].code;
        }
    }
    return FAINA_OK;
}

enum faina_code fa_bench_threads_round(struct fa_bench_threads *threads,
                                       int64_t out_ns[FA_BENCH_STEPS], struct faina_error *err)
{
    enum faina_code code = FAINA_OK;

    for (int step = 0; code == FAINA_OK && step < FA_BENCH_STEPS; step++)
        code = fa_bench_threads_step(threads, (enum fa_bench_step)step, &out_ns[step], err);
    return code;
}

struct fa_bench_threads *fa_bench_threads_start(size_t count, fa_bench_share_fn *share, void *ctx)
{
    struct fa_bench_threads *threads = fa_alloc_zero(1, sizeof *threads);

    threads->share = share;
    threads->ctx = ctx;
    threads->count = count;
    threads->runners = fa_alloc_zero(count, sizeof *threads->runners);
    pthread_barrier_init(&threads->begin, NULL, (unsigned)count + 1);
    pthread_barrier_init(&threads->end, NULL, (unsigned)count + 1);
    for (size_t i = 0; i < count; i++) {
        struct runner *runner = &threads->runners[i];
        int code;

        runner->threads = threads;
        runner->number = i;
        code = pthread_create(&runner->thread, NULL, run_runner, runner);
        if (code != 0) {
            /* The others would wait for this one at the barrier for ever. */
            fprintf(stderr, "faina-bench: can't start a thread: %s\n", strerror(code));
            exit(1);
        }
    }
    return threads;
}

void fa_bench_threads_stop(struct fa_bench_threads *threads)
{
    if (!threads)
        return;
    threads->is_over = true;
    pthread_barrier_wait(&threads->begin);
    for (size_t i = 0; i < threads->count; i++)
        pthread_join(threads->runners[i].thread, NULL);
    pthread_barrier_destroy(&threads->begin);
    pthread_barrier_destroy(&threads->end);
    free(threads->runners);
    free(threads);
}
