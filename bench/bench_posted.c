/* bench_posted.c - see bench_posted.h. */
#include "bench/bench_posted.h"

#include "base/clock.h"
#include "bench/bench_driver.h"
#include "server/post.h"

#include <assert.h>
#include <semaphore.h>
#include <stdlib.h>

struct caller {
    struct fa_posted posted; /* first member */
    struct fa_bench_posted *bench;
    struct fa_op op;
    struct fa_arena arena;
    struct faina_submit submit;
    struct faina_claim claim;
    char worker_id[32];
    struct fa_bench_held *held;
    size_t done; /* tasks of this step */
};

struct fa_bench_posted {
    struct fa_service *service;
    struct fa_post *post;
    const struct fa_bench_inputs *inputs;
    struct caller *callers;
    size_t caller_count, share; /* tasks of one caller */
    enum fa_bench_step step;
    atomic_size_t active; /* callers that have not finished the step */
    sem_t all_done;
    atomic_int code; /* of an operation that failed */
};

static void finish(struct caller *caller)
{
    if (atomic_fetch_sub(&caller->bench->active, 1) == 1)
        sem_post(&caller->bench->all_done);
}

static void prepare(struct caller *caller)
{
    const struct fa_bench_posted *bench = caller->bench;
    const struct fa_bench_held *held = &caller->held[caller->done];

    fa_arena_reset(&caller->arena);
    caller->op = (struct fa_op){.arena = &caller->arena};
    switch (bench->step) {
    case FA_BENCH_SUBMIT:
        caller->submit = (struct faina_submit){
            .type = FA_BENCH_TYPE, .input = fa_bench_input(bench->inputs, caller->done)};
        caller->op.kind = FA_OP_SUBMIT;
        caller->op.submit = &caller->submit;
        break;
    case FA_BENCH_CLAIM:
        caller->claim = (struct faina_claim){
            .worker_id = caller->worker_id, .limit = 1, .lease_ms = FA_BENCH_LEASE_MS};
        caller->op.kind = FA_OP_CLAIM_NEXT;
        caller->op.claim = &caller->claim;
        break;
    case FA_BENCH_COMPLETE:
        caller->op.kind = FA_OP_COMPLETE;
        caller->op.id = held->id;
        caller->op.by = (struct faina_by){.worker_id = caller->worker_id, .fence = held->fence};
        caller->op.output = FA_BENCH_OUTPUT;
        break;
    case FA_BENCH_STEPS:
        assert(false);
    }
}

static void post_next(struct caller *caller)
{
    enum faina_code code;

    if (caller->done == caller->bench->share || atomic_load(&caller->bench->code) != FAINA_OK) {
        finish(caller);
        return;
    }
    prepare(caller);
    code = fa_post(caller->bench->post, &caller->posted);
    if (code != FAINA_OK) {
        atomic_store(&caller->bench->code, (int)code);
        finish(caller);
    }
}

static void on_done(struct fa_posted *posted)
{
    struct caller *caller = (struct caller *)posted;
    enum faina_code code = caller->op.code;

    if (code == FAINA_OK && caller->op.kind == FA_OP_CLAIM_NEXT) {
        if (caller->op.tasks->count == 1) {
            struct fa_bench_held *held = &caller->held[caller->done];

            memcpy(held->id, caller->op.tasks->items[0].id, sizeof held->id);
            held->fence = caller->op.tasks->items[0].fence;
        } else {
            code = FAINA_INTERNAL; /* there is a task for each claim */
        }
    }
    if (code != FAINA_OK)
        atomic_store(&caller->bench->code, (int)code);
    caller->done++;
    post_next(caller);
}

enum faina_code fa_bench_posted_round(struct fa_bench_posted *posted,
                                      int64_t out_ns[FA_BENCH_STEPS], struct faina_error *err)
{
    for (int step = 0; step < FA_BENCH_STEPS; step++) {
        int64_t start = fa_clock_mono_ns();

        posted->step = (enum fa_bench_step)step;
        atomic_store(&posted->active, posted->caller_count);
        for (size_t i = 0; i < posted->caller_count; i++) {
            posted->callers[i].done = 0;
            post_next(&posted->callers[i]);
        }
        while (sem_wait(&posted->all_done) != 0)
            continue;
        out_ns[step] = fa_clock_mono_ns() - start;
        if (atomic_load(&posted->code) != FAINA_OK)
            return fa_error_set(err, (enum faina_code)atomic_load(&posted->code),
                                "an operation that was posted was refused");
    }
    return FAINA_OK;
}

enum faina_code fa_bench_posted_open(struct fa_bench_posted **out, const struct fa_bench *bench,
                                     const char *location, const char *name,
                                     const struct fa_bench_speed *speed, struct faina_error *err)
{
    struct fa_bench_posted *posted = fa_alloc_zero(1, sizeof *posted);
    enum faina_code code = fa_bench_service_open(&posted->service, bench, location, name, err);

    assert(speed->batch == 1 && speed->tasks % speed->callers == 0);
    if (code == FAINA_OK)
        code = fa_post_open(&posted->post, posted->service, err);
    if (code != FAINA_OK) {
        fa_service_close(posted->service);
        free(posted);
        return code;
    }
    posted->inputs = &bench->inputs;
    posted->caller_count = (size_t)speed->callers;
    posted->share = (size_t)(speed->tasks / speed->callers);
    sem_init(&posted->all_done, 0, 0);
    posted->callers = fa_alloc_zero(posted->caller_count, sizeof *posted->callers);
    for (size_t i = 0; i < posted->caller_count; i++) {
        struct caller *caller = &posted->callers[i];

        caller->bench = posted;
        caller->posted = (struct fa_posted){.ops = &caller->op, .count = 1, .done = on_done};
        caller->held = fa_alloc_zero(posted->share, sizeof *caller->held);
        snprintf(caller->worker_id, sizeof caller->worker_id, "bench-%zu", i + 1);
    }
    *out = posted;
    return FAINA_OK;
}

void fa_bench_posted_close(struct fa_bench_posted *posted)
{
    if (!posted)
        return;
    fa_post_close(posted->post);
    for (size_t i = 0; i < posted->caller_count; i++) {
        fa_arena_finish(&posted->callers[i].arena);
        free(posted->callers[i].held);
    }
    free(posted->callers);
    sem_destroy(&posted->all_done);
    fa_service_close(posted->service);
    free(posted);
}
