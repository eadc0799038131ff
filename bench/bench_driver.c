/*
 * bench_driver.c - fills in operations and runs them in batches; a refused one is an error.
 */
#include "bench/bench_driver.h"

#include <assert.h>
#include <stdlib.h>

#define CLAIM_WAIT_MS 10000

enum faina_code fa_bench_service_open(struct fa_service **out, const struct fa_bench *bench,
                                      const char *location, const char *name,
                                      struct faina_error *err)
{
    const struct faina_options options = {.cache_kib = FA_BENCH_CACHE_KIB};
    char full[4300];

    if (fa_bench_is_postgres(bench))
        snprintf(full, sizeof full, "%.3000s%cschema=%.100s_%s&application_name=%s", bench->url,
                 strchr(bench->url, '?') ? '&' : '?', location, name, bench->mark);
    else if (strcmp(bench->url, "sqlite:") == 0)
        snprintf(full, sizeof full, "sqlite:%s/%s.db", location, name);
    else
        snprintf(full, sizeof full, "%s", bench->url);
    return fa_service_open(out, full, &options, err);
}

void fa_bench_driver_init(struct fa_bench_driver *driver, struct fa_service *service,
                          const struct fa_bench_inputs *inputs, int number, size_t batch_max,
                          size_t held_max)
{
    memset(driver, 0, sizeof *driver);
    driver->service = service;
    driver->inputs = inputs;
    snprintf(driver->worker_id, sizeof driver->worker_id, "bench-%d", number);
    driver->batch_max = batch_max;
    driver->held_max = held_max;
    driver->submitted = (uint64_t)number;
    fa_random_seed_system(&driver->random);
    driver->ops = fa_alloc_zero(2 * batch_max, sizeof *driver->ops);
    driver->submits = fa_alloc_zero(batch_max, sizeof *driver->submits);
    driver->keys = fa_alloc_zero(batch_max, sizeof *driver->keys);
    driver->held = fa_alloc_zero(held_max ? held_max : 1, sizeof *driver->held);
}

void fa_bench_driver_finish(struct fa_bench_driver *driver)
{
    fa_arena_finish(&driver->arena);
    free(driver->ops);
    free(driver->submits);
    free(driver->keys);
    free(driver->held);
}

static void fill_submit(struct fa_bench_driver *driver, struct fa_op *op, size_t i,
                        const struct faina_submit *like, bool has_key)
{
    struct faina_submit *submit = &driver->submits[i];

    *submit = *like;
    submit->input = fa_bench_input(driver->inputs, driver->submitted++);
    if (has_key) {
        fa_bench_key(&driver->random, driver->keys[i]);
        submit->idempotency_key = driver->keys[i];
    }
    if (driver->group_count > 0)
        submit->group =
            fa_arena_printf(&driver->arena, "group %llu",
                            (unsigned long long)(driver->submitted % driver->group_count));
    *op = (struct fa_op){.kind = FA_OP_SUBMIT, .submit = submit, .arena = &driver->arena};
}

static void fill_complete(struct fa_bench_driver *driver, struct fa_op *op,
                          const struct fa_bench_held *held)
{
    *op = (struct fa_op){
        .kind = FA_OP_COMPLETE,
        .id = held->id,
        .by = {.worker_id = driver->worker_id, .fence = held->fence},
        .output = FA_BENCH_OUTPUT,
        .arena = &driver->arena,
    };
}

/* Runs the operations. A refused operation makes a measurement worthless. */
static enum faina_code run(struct fa_bench_driver *driver, size_t count, struct faina_error *err)
{
    fa_service_run(driver->service, driver->ops, count);
    for (size_t i = 0; i < count; i++) {
        const struct fa_op *op = &driver->ops[i];

        if (op->code != FAINA_OK)
            return fa_error_set(err, op->code, "%s was refused: %s", fa_op_name(op->kind),
                                op->error.message);
    }
    return FAINA_OK;
}

enum faina_code fa_bench_driver_submit(struct fa_bench_driver *driver,
                                       const struct faina_submit *like, size_t count, bool has_key,
                                       struct faina_error *err)
{
    assert(count <= driver->batch_max);
    fa_arena_reset(&driver->arena);
    for (size_t i = 0; i < count; i++)
        fill_submit(driver, &driver->ops[i], i, like, has_key);
    return run(driver, count, err);
}

enum faina_code fa_bench_driver_claim(struct fa_bench_driver *driver, size_t count,
                                      struct faina_error *err)
{
    const struct faina_claim claim = {
        .worker_id = driver->worker_id,
        .types = driver->claimed_type != NULL ? &driver->claimed_type : NULL,
        .type_count = driver->claimed_type != NULL,
        .limit = (int)count,
        .lease_ms = FA_BENCH_LEASE_MS,
        .wait_ms = CLAIM_WAIT_MS,
    };
    const struct faina_tasks *tasks;
    enum faina_code code;

    if (fa_bench_driver_holds(driver) == 0)
        driver->held_first = driver->held_end = 0;
    assert(driver->held_end + count <= driver->held_max);
    fa_arena_reset(&driver->arena);
    driver->ops[0] =
        (struct fa_op){.kind = FA_OP_CLAIM_NEXT, .claim = &claim, .arena = &driver->arena};
    code = fa_service_claim_wait(driver->service, &driver->ops[0], err);
    if (code != FAINA_OK)
        return code;
    tasks = driver->ops[0].tasks;
    if (!tasks || tasks->count == 0)
        return fa_error_set(err, FAINA_INTERNAL, "a claim found no task, though some wait");
    for (size_t i = 0; i < tasks->count; i++) {
        struct fa_bench_held *held = &driver->held[driver->held_end++];

        memcpy(held->id, tasks->items[i].id, sizeof held->id);
        held->fence = tasks->items[i].fence;
    }
    return FAINA_OK;
}

enum faina_code fa_bench_driver_complete(struct fa_bench_driver *driver, size_t count,
                                         struct faina_error *err)
{
    assert(count <= fa_bench_driver_holds(driver));
    assert(count <= driver->batch_max);
    fa_arena_reset(&driver->arena);
    for (size_t i = 0; i < count; i++)
        fill_complete(driver, &driver->ops[i], &driver->held[driver->held_first++]);
    return run(driver, count, err);
}

enum faina_code fa_bench_driver_replace(struct fa_bench_driver *driver,
                                        const struct faina_submit *like, struct faina_error *err)
{
    size_t count = fa_bench_driver_holds(driver);

    assert(count <= driver->batch_max);
    fa_arena_reset(&driver->arena);
    for (size_t i = 0; i < count; i++) {
        fill_complete(driver, &driver->ops[2 * i], &driver->held[driver->held_first++]);
        fill_submit(driver, &driver->ops[2 * i + 1], i, like, false);
    }
    return run(driver, 2 * count, err);
}

/* Purges all ended tasks, in several transactions. */
static enum faina_code purge(struct fa_bench_driver *driver, struct faina_error *err)
{
    static const struct faina_purge all = {0};
    enum faina_code code;

    do {
        fa_arena_reset(&driver->arena);
        driver->ops[0] =
            (struct fa_op){.kind = FA_OP_PURGE, .purge = &all, .arena = &driver->arena};
        code = run(driver, 1, err);
    } while (code == FAINA_OK && driver->ops[0].count > 0);
    return code;
}

/* Updates the metadata of the held task many times, with a different long text each time, because
 * SQLite doesn't write unchanged pages. */
static enum faina_code report_often(struct fa_bench_driver *driver, struct faina_error *err)
{
    const struct fa_bench_held *held = &driver->held[driver->held_first];
    char *metadata = fa_alloc(FA_BENCH_GROW_SIZE + 1);
    const struct faina_report report = {.metadata = metadata};
    enum faina_code code = FAINA_OK;

    snprintf(metadata, FA_BENCH_GROW_SIZE, "{\"x\":\"");
    memcpy(metadata + FA_BENCH_GROW_SIZE - 2, "\"}", 3);
    for (int i = 0; code == FAINA_OK && i < FA_BENCH_GROW_COUNT; i++) {
        memset(metadata + 6, 'a' + i % 26, FA_BENCH_GROW_SIZE - 8);
        fa_arena_reset(&driver->arena);
        driver->ops[0] = (struct fa_op){
            .kind = FA_OP_PROGRESS,
            .id = held->id,
            .by = {.worker_id = driver->worker_id, .fence = held->fence},
            .report = &report,
            .arena = &driver->arena,
        };
        code = run(driver, 1, err);
    }
    free(metadata);
    return code;
}

enum faina_code fa_bench_driver_grow_log(struct fa_bench_driver *driver, struct faina_error *err)
{
    static const struct faina_submit like = {.type = FA_BENCH_TYPE};
    enum faina_code code = fa_bench_driver_submit(driver, &like, 1, false, err);

    if (code == FAINA_OK)
        code = fa_bench_driver_claim(driver, 1, err);
    if (code == FAINA_OK)
        code = report_often(driver, err);
    if (code == FAINA_OK)
        code = fa_bench_driver_complete(driver, 1, err);
    if (code == FAINA_OK)
        code = purge(driver, err);
    return code;
}
