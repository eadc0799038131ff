/*
 * bench_driver.h - one caller of the engine: submits, claims and completes in batches, and stores
 * the claimed tasks until it completes them.
 *
 * Its buffers are allocated once; a call has no more overhead than any caller of service.h.
 *
 * Threads: a driver belongs to one thread; many drivers may share a service.
 */
#ifndef FA_BENCH_BENCH_DRIVER_H
#define FA_BENCH_BENCH_DRIVER_H

#include "bench/bench_run.h"
#include "service/service.h"

struct fa_bench_held {
    char id[FAINA_ID_SIZE];
    int64_t fence;
};

struct fa_bench_driver {
    struct fa_service *service;
    const struct fa_bench_inputs *inputs;
    char worker_id[32];
    size_t batch_max;
    struct fa_random random;
    uint64_t submitted;
    const char *claimed_type; /* claims ask for it; NULL: for any */
    uint64_t group_count;     /* submitted tasks get these groups in turns; 0: none */
    struct fa_arena arena;
    struct fa_op *ops; /* 2 * batch_max: a complete and a submit for each */
    struct faina_submit *submits;
    char (*keys)[FA_BENCH_KEY_SIZE];
    struct fa_bench_held *held;  /* those not yet completed are ... */
    size_t held_first, held_end; /* ... held[held_first] .. held[held_end - 1] */
    size_t held_max;
};

static inline size_t fa_bench_driver_holds(const struct fa_bench_driver *driver)
{
    return driver->held_end - driver->held_first;
}

/* Opens an engine of the run's kind: the store `name` in `location`. The same location and name
 * again is the same store: on PostgreSQL another node of it. */
FA_MUST_CHECK enum faina_code fa_bench_service_open(struct fa_service **out,
                                                    const struct fa_bench *bench,
                                                    const char *location, const char *name,
                                                    struct faina_error *err);

/* `held_max`: how many tasks it may hold at once. */
void fa_bench_driver_init(struct fa_bench_driver *driver, struct fa_service *service,
                          const struct fa_bench_inputs *inputs, int number, size_t batch_max,
                          size_t held_max);
void fa_bench_driver_finish(struct fa_bench_driver *driver);

/* Grows the WAL of a new store to its final size (bench_run.h); leaves no task in the store. */
FA_MUST_CHECK enum faina_code fa_bench_driver_grow_log(struct fa_bench_driver *driver,
                                                       struct faina_error *err);

/* Each is one fa_service_run. `like` has the common fields of all tasks; their inputs differ. */
FA_MUST_CHECK enum faina_code fa_bench_driver_submit(struct fa_bench_driver *driver,
                                                     const struct faina_submit *like, size_t count,
                                                     bool has_key, struct faina_error *err);
/* Claims up to `count`; FAINA_INTERNAL when there is nothing. Other callers may have locked the
 * last tasks for a moment: it waits as a worker would. */
FA_MUST_CHECK enum faina_code fa_bench_driver_claim(struct fa_bench_driver *driver, size_t count,
                                                    struct faina_error *err);
/* Completes the `count` tasks that were claimed first. */
FA_MUST_CHECK enum faina_code fa_bench_driver_complete(struct fa_bench_driver *driver, size_t count,
                                                       struct faina_error *err);
/* Completes all held tasks and submits as many: the backlog is as long as before the claim. */
FA_MUST_CHECK enum faina_code fa_bench_driver_replace(struct fa_bench_driver *driver,
                                                      const struct faina_submit *like,
                                                      struct faina_error *err);

#endif
