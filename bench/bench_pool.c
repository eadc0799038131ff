/*
 * bench_pool.c - the worker pool against its lower bounds: the engine's own claims, a flush to
 * disk, bare processes, plain tasks.
 *
 * Each round starts a new pool, so that nothing claims while the other half is measured.
 */
#include "base/clock.h"
#include "bench/bench_driver.h"
#include "worker/pool/native.h"
#include "worker/runtime.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define BATCH 1000
#define CONCURRENCY 4
#define LINES_SLOTS 64 /* tasks in flight in one process */
#define PARENT_TYPE "bench.parent"
#define PROGRAM "/bin/true"
#define WAIT_US 500
#define START_EVERY_US 10000 /* 100 a second */
#define IDLE_US 3000000      /* of one round */
#define IDLE_DELAY_MS (30 * 24 * 3600 * INT64_C(1000))

struct pool {
    struct fa_service *service;
    struct fa_thread_pool *threads;
    struct fa_runtime *runtime;
    int slots; /* of the pool; 0: CONCURRENCY */
    int tree_width;
    atomic_llong begun_us; /* when the last task began */
};

/* ------------------------------------------------------------------------------------------
 * Handlers
 */

static enum faina_outcome do_nothing(struct faina_context *context, void *user)
{
    struct pool *pool = user;

    (void)context;
    atomic_store(&pool->begun_us, fa_clock_mono_us());
    return FAINA_OUTCOME_COMPLETE;
}

static enum faina_outcome make_tree(struct faina_context *context, void *user)
{
    const struct pool *pool = user;
    struct faina_submit subtask = {.type = FA_BENCH_TYPE,
                                   .input = faina_context_task(context)->input};

    for (int i = 0; i < pool->tree_width; i++)
        if (faina_context_subtask(context, &subtask, NULL, NULL) != FAINA_OK)
            return FAINA_OUTCOME_FAILED;
    return FAINA_OUTCOME_BLOCKED;
}

/* ------------------------------------------------------------------------------------------
 * A pool
 */

static void stop_pool(struct pool *pool)
{
    if (pool->runtime)
        fa_runtime_stop(pool->runtime, 0);
    fa_thread_pool_destroy(pool->threads);
    fa_runtime_destroy(pool->runtime);
    pool->runtime = NULL;
    pool->threads = NULL;
}

static enum faina_code start_pool(struct pool *pool, const char *handlers, struct faina_error *err)
{
    const struct faina_handler leaf = {.on_start = do_nothing};
    const struct faina_handler parent = {.on_start = make_tree, .on_resume = do_nothing};
    struct fa_runtime_config config = {
        .concurrency = pool->slots > 0 ? pool->slots : CONCURRENCY,
        .handlers = handlers,
        .needs_handlers = handlers != NULL,
        .has_no_plugins = true,
    };
    enum faina_code code = fa_thread_pool_create(&pool->threads, CONCURRENCY, err);

    if (code == FAINA_OK)
        code = fa_runtime_start(&pool->runtime, pool->service, &config, err);
    if (code == FAINA_OK && !handlers)
        code = fa_pool_put(fa_runtime_pool(pool->runtime),
                           fa_native_create(pool->threads, FA_BENCH_TYPE, &leaf, pool), err);
    if (code == FAINA_OK && !handlers)
        code = fa_pool_put(fa_runtime_pool(pool->runtime),
                           fa_native_create(pool->threads, PARENT_TYPE, &parent, pool), err);
    if (code != FAINA_OK)
        stop_pool(pool);
    return code;
}

/* Waits until the pool has completed `count` tasks. */
static enum faina_code await(const struct pool *pool, int64_t count, struct faina_error *err)
{
    struct fa_pool_stats stats;

    for (;;) {
        fa_runtime_stats(pool->runtime, &stats);
        if (stats.failed + stats.lost > 0)
            return fa_error_set(err, FAINA_INTERNAL, "a task of the pool failed");
        if (stats.completed >= count)
            return FAINA_OK;
        usleep(WAIT_US);
    }
}

static enum faina_code submit_all(struct fa_bench_driver *driver, const char *type, int64_t count,
                                  struct faina_error *err)
{
    const struct faina_submit like = {.type = type};
    enum faina_code code = FAINA_OK;

    for (int64_t done = 0; code == FAINA_OK && done < count; done += BATCH)
        code = fa_bench_driver_submit(
            driver, &like, (size_t)(count - done < BATCH ? count - done : BATCH), false, err);
    return code;
}

/* Starts a pool, waits until it has completed `count` tasks, and writes how long that took. */
static enum faina_code time_pool(struct pool *pool, const char *handlers, int64_t count,
                                 double *out_s, struct faina_error *err)
{
    int64_t start_us = fa_clock_mono_us();
    enum faina_code code = start_pool(pool, handlers, err);

    if (code != FAINA_OK)
        return code;
    code = await(pool, count, err);
    *out_s = (double)(fa_clock_mono_us() - start_us) / 1e6;
    stop_pool(pool);
    return code;
}

/* ------------------------------------------------------------------------------------------
 * Drain
 */

static enum faina_code time_engine(struct fa_bench_driver *driver, int64_t count, double *out_s,
                                   struct faina_error *err)
{
    int64_t start_us = fa_clock_mono_us();
    enum faina_code code = FAINA_OK;

    for (int64_t done = 0; code == FAINA_OK && done < count; done += BATCH) {
        size_t batch = (size_t)(count - done < BATCH ? count - done : BATCH);

        code = fa_bench_driver_claim(driver, batch, err);
        if (code == FAINA_OK)
            code = fa_bench_driver_complete(driver, batch, err);
    }
    *out_s = (double)(fa_clock_mono_us() - start_us) / 1e6;
    return code;
}

static enum faina_code drain(struct fa_bench *bench, struct pool *pool,
                             struct fa_bench_driver *driver, const char *dir,
                             struct faina_error *err)
{
    int64_t count = bench->is_quick ? 2000 : 100000;
    struct fa_bench_rounds above = {0}, below = {0};
    enum faina_code code = FAINA_OK;

    (void)dir;
    for (int i = 0; code == FAINA_OK && i < bench->rounds; i++) {
        double engine_s = 1, pool_s = 1;

        code = submit_all(driver, FA_BENCH_TYPE, count, err);
        if (code == FAINA_OK)
            code = time_engine(driver, count, &engine_s, err);
        if (code == FAINA_OK)
            code = submit_all(driver, FA_BENCH_TYPE, count, err);
        if (code == FAINA_OK)
            code = time_pool(pool, NULL, count, &pool_s, err);
        fa_bench_rounds_add(&above, (double)count / pool_s);
        fa_bench_rounds_add(&below, (double)count / engine_s);
    }
    if (code == FAINA_OK)
        fa_bench_ratio_add(&bench->report, &above, &below, FA_BENCH_AT_LEAST, 0.8,
                           "drain by functions in the pool / claim and complete by 1,000");
    return code;
}

/* ------------------------------------------------------------------------------------------
 * From submit to start
 */

/* Writes one page of a file; returns how long until it is on disk. */
static double flush_us(int fd)
{
    static const char page[4096];
    int64_t start_us = fa_clock_mono_us();

    if (fd < 0 || pwrite(fd, page, sizeof(page), 0) != (ssize_t)sizeof(page) || fdatasync(fd) != 0)
        return 0;
    return (double)(fa_clock_mono_us() - start_us);
}

/* At the same rate and alternating, because both depend on the load of the machine. */
static enum faina_code sample_starts(struct pool *pool, struct fa_bench_driver *driver, int fd,
                                     double *samples_us, double *flushes_us, size_t count,
                                     struct faina_error *err)
{
    enum faina_code code = FAINA_OK;

    for (size_t i = 0; code == FAINA_OK && i < count; i++) {
        int64_t start_us;

        flushes_us[i] = flush_us(fd);
        usleep(START_EVERY_US / 2);
        start_us = fa_clock_mono_us();

        atomic_store(&pool->begun_us, 0);
        code = submit_all(driver, FA_BENCH_TYPE, 1, err);
        while (code == FAINA_OK && atomic_load(&pool->begun_us) == 0)
            usleep(20);
        samples_us[i] = (double)(atomic_load(&pool->begun_us) - start_us);
        while (fa_clock_mono_us() < start_us + START_EVERY_US / 2)
            usleep(100);
    }
    return code;
}

static enum faina_code start_latency(struct fa_bench *bench, struct pool *pool,
                                     struct fa_bench_driver *driver, const char *dir,
                                     struct faina_error *err)
{
    size_t count = bench->is_quick ? 20 : 500;
    double *samples_us = fa_alloc_zero(2 * count, sizeof(*samples_us));
    struct fa_bench_rounds medians = {0}, tails = {0}, flushes = {0};
    enum faina_code code = start_pool(pool, NULL, err);
    char path[4300];
    int fd;

    snprintf(path, sizeof(path), "%s/flushed", dir);
    fd = bench->has_raw ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
    for (int i = 0; code == FAINA_OK && i < bench->rounds; i++) {
        code = sample_starts(pool, driver, fd, samples_us, samples_us + count, count, err);
        fa_bench_rounds_add(&tails, fa_bench_quantile(samples_us, count, 0.99));
        fa_bench_rounds_add(&medians, fa_bench_quantile(samples_us, count, 0.5));
        fa_bench_rounds_add(&flushes, fa_bench_quantile(samples_us + count, count, 0.5));
    }
    stop_pool(pool);
    if (fd >= 0)
        close(fd);
    free(samples_us);
    if (code != FAINA_OK)
        return code;
    if (bench->has_raw) /* with a disk */
        fa_bench_ratio_add(&bench->report, &medians, &flushes, FA_BENCH_AT_MOST, 3,
                           "submit to start on an idle pool, median / one fdatasync");
    fa_bench_ratio_add(&bench->report, &tails, &medians, FA_BENCH_AT_MOST, 10,
                       "submit to start on an idle pool, 99 of 100 / median");
    return code;
}

/* ------------------------------------------------------------------------------------------
 * Commands
 */

static enum faina_code time_spawn(int64_t count, double *out_s, struct faina_error *err)
{
    int64_t start_us = fa_clock_mono_us(), started = 0, ended = 0;
    char *const argv[] = {(char[]){"true"}, NULL}, *const env[] = {NULL};

    while (ended < count) {
        for (; started < count && started - ended < CONCURRENCY; started++) {
            pid_t pid;
            int failed = posix_spawn(&pid, PROGRAM, NULL, NULL, argv, env);

            if (failed)
                return fa_error_set(err, FAINA_UNAVAILABLE, "can't run " PROGRAM ": %s",
                                    strerror(failed));
        }
        if (waitpid(-1, NULL, 0) > 0)
            ended++;
    }
    *out_s = (double)(fa_clock_mono_us() - start_us) / 1e6;
    return FAINA_OK;
}

static enum faina_code spawn_commands(struct fa_bench *bench, struct pool *pool,
                                      struct fa_bench_driver *driver, const char *dir,
                                      struct faina_error *err)
{
    int64_t count = bench->is_quick ? 40 : 2000;
    struct fa_bench_rounds above = {0}, below = {0};
    enum faina_code code = FAINA_OK;
    char handlers[4300], path[4400];

    snprintf(handlers, sizeof(handlers), "%s/handlers", dir);
    snprintf(path, sizeof(path), "%s/" FA_BENCH_TYPE, handlers);
    if (mkdir(handlers, 0700) != 0 || symlink(PROGRAM, path) != 0)
        return fa_error_set(err, FAINA_UNAVAILABLE, "can't make %s: %s", path, strerror(errno));
    for (int i = 0; code == FAINA_OK && i < bench->rounds; i++) {
        double bare_s = 1, pool_s = 1;

        code = submit_all(driver, FA_BENCH_TYPE, count, err);
        if (code == FAINA_OK)
            code = time_spawn(count, &bare_s, err);
        if (code == FAINA_OK)
            code = time_pool(pool, handlers, count, &pool_s, err);
        fa_bench_rounds_add(&above, (double)count / pool_s);
        fa_bench_rounds_add(&below, (double)count / bare_s);
    }
    if (code == FAINA_OK)
        fa_bench_ratio_add(&bench->report, &above, &below, FA_BENCH_AT_LEAST, 0.7,
                           "command handlers / posix_spawn and wait of the same program");
    return code;
}

static enum faina_code write_file(const char *dir, const char *name, const char *text, mode_t mode,
                                  struct faina_error *err)
{
    char path[4600];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    file = fopen(path, "we");
    if (!file || fputs(text, file) < 0 || fchmod(fileno(file), mode) != 0 || fclose(file) != 0)
        return fa_error_set(err, FAINA_UNAVAILABLE, "can't write %s: %s", path, strerror(errno));
    return FAINA_OK;
}

/* One process of Python for all tasks, against one for each task and against a C function. */
static enum faina_code serve_lines(struct fa_bench *bench, struct pool *pool,
                                   struct fa_bench_driver *driver, const char *dir,
                                   struct faina_error *err)
{
    static const char once[] = "#!/usr/bin/env python3\nimport json, sys\n"
                               "print(json.dumps(json.load(sys.stdin)))\n";
    static const char lines[] =
        "#!/usr/bin/env python3\nimport json, sys\n"
        "for line in sys.stdin:\n"
        "    task = json.loads(line)\n"
        "    print(json.dumps({'id': task['id'], 'output': task['input']}), flush=True)\n";
    int64_t few = bench->is_quick ? 20 : 200, many = bench->is_quick ? 200 : 50000;
    struct fa_bench_rounds above = {0}, below = {0}, functions = {0};
    enum faina_code code = FAINA_OK;
    char folders[2][4300];

    for (int i = 0; i < 2; i++) {
        snprintf(folders[i], sizeof(folders[i]), "%s/%s", dir, i ? "lines" : "once");
        if (mkdir(folders[i], 0700) != 0)
            return fa_error_set(err, FAINA_UNAVAILABLE, "can't make %s: %s", folders[i],
                                strerror(errno));
    }
    code = write_file(folders[0], FA_BENCH_TYPE, once, 0700, err);
    if (code == FAINA_OK)
        code = write_file(folders[1], FA_BENCH_TYPE, lines, 0700, err);
    if (code == FAINA_OK)
        code = write_file(folders[1], FA_BENCH_TYPE ".json",
                          "{\"mode\":\"lines\",\"concurrency\":64}", 0600, err);
    for (int i = 0; code == FAINA_OK && i < bench->rounds; i++) {
        double once_s = 1, lines_s = 1, function_s = 1;

        code = submit_all(driver, FA_BENCH_TYPE, few, err);
        if (code == FAINA_OK)
            code = time_pool(pool, folders[0], few, &once_s, err);
        if (code == FAINA_OK)
            code = submit_all(driver, FA_BENCH_TYPE, many, err);
        pool->slots = LINES_SLOTS;
        if (code == FAINA_OK)
            code = time_pool(pool, folders[1], many, &lines_s, err);
        pool->slots = 0;
        if (code == FAINA_OK)
            code = submit_all(driver, FA_BENCH_TYPE, many, err);
        if (code == FAINA_OK)
            code = time_pool(pool, NULL, many, &function_s, err);
        fa_bench_rounds_add(&functions, (double)many / function_s);
        fa_bench_rounds_add(&above, (double)many / lines_s);
        fa_bench_rounds_add(&below, (double)few / once_s);
    }
    if (code != FAINA_OK)
        return code;
    fa_bench_ratio_add(&bench->report, &above, &below, FA_BENCH_AT_LEAST, 20,
                       "handlers in Python with \"mode\":\"lines\" / a process for each task");
    fa_bench_ratio_add(&bench->report, &above, &functions, FA_BENCH_AT_LEAST, 0.3,
                       "handlers in Python with \"mode\":\"lines\" / a C function");
    return FAINA_OK;
}

/* ------------------------------------------------------------------------------------------
 * A tree
 */

static enum faina_code grow_tree(struct fa_bench *bench, struct pool *pool,
                                 struct fa_bench_driver *driver, const char *dir,
                                 struct faina_error *err)
{
    int64_t count = bench->is_quick ? 200 : 10000;
    struct fa_bench_rounds above = {0}, below = {0};
    enum faina_code code = FAINA_OK;

    (void)dir;
    pool->tree_width = (int)count;
    for (int i = 0; code == FAINA_OK && i < bench->rounds; i++) {
        int64_t start_us = fa_clock_mono_us();
        double submit_s, plain_s = 1, tree_s = 1;

        code = submit_all(driver, FA_BENCH_TYPE, count, err);
        submit_s = (double)(fa_clock_mono_us() - start_us) / 1e6;
        if (code == FAINA_OK)
            code = time_pool(pool, NULL, count, &plain_s, err);
        if (code == FAINA_OK)
            code = submit_all(driver, PARENT_TYPE, 1, err);
        if (code == FAINA_OK)
            code = time_pool(pool, NULL, count + 1, &tree_s, err);
        fa_bench_rounds_add(&above, tree_s);
        fa_bench_rounds_add(&below, submit_s + plain_s);
    }
    if (code == FAINA_OK)
        fa_bench_ratio_add(&bench->report, &above, &below, FA_BENCH_AT_MOST, 1.5,
                           "a subtask, of 10,000 of one parent / a plain task");
    return code;
}

/* ------------------------------------------------------------------------------------------
 * An idle node
 */

/* Different schedules whose next time is far away. */
static enum faina_code put_crons(struct fa_service *service, int count, struct faina_error *err)
{
    struct fa_op *ops = fa_alloc_zero((size_t)count, sizeof(*ops));
    struct fa_cron_job *jobs = fa_alloc_zero((size_t)count, sizeof(*jobs));
    struct fa_arena arena = {0};
    enum faina_code code = FAINA_OK;

    for (int i = 0; i < count; i++) {
        jobs[i] = (struct fa_cron_job){
            .name = fa_arena_printf(&arena, "bench-%d", i),
            .schedule = fa_arena_printf(&arena, "%d %d 29 2 *", i % 60, i / 60 % 24),
            .task = "{\"type\":\"" FA_BENCH_TYPE "\"}",
        };
        ops[i] = (struct fa_op){.kind = FA_OP_CRON_PUT, .cron = &jobs[i], .arena = &arena};
    }
    fa_service_run(service, ops, (size_t)count);
    for (int i = 0; code == FAINA_OK && i < count; i++) {
        code = ops[i].code;
        *err = ops[i].error;
    }
    fa_arena_finish(&arena);
    free(jobs);
    free(ops);
    return code;
}

/* Processor time of this process, of all its threads. */
static double processor_s(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static enum faina_code stay_idle(struct fa_bench *bench, struct pool *pool,
                                 struct fa_bench_driver *driver, const char *dir,
                                 struct faina_error *err)
{
    const struct faina_submit like = {.type = FA_BENCH_TYPE, .delay_ms = IDLE_DELAY_MS};
    int64_t count = bench->is_quick ? 2000 : 1000000;
    struct fa_bench_rounds above = {0}, below = {0};
    enum faina_code code = put_crons(pool->service, bench->is_quick ? 50 : 10000, err);

    (void)dir;
    for (int64_t done = 0; code == FAINA_OK && done < count; done += BATCH) {
        code = fa_bench_driver_submit(driver, &like, BATCH, false, err);
        fa_bench_progress_bar(bench, "pool-idle", done, count);
    }
    if (code == FAINA_OK)
        code = start_pool(pool, NULL, err);
    for (int i = 0; code == FAINA_OK && i < bench->rounds; i++) {
        int64_t start_us = fa_clock_mono_us();
        double before_s = processor_s();

        usleep(bench->is_quick ? IDLE_US / 10 : IDLE_US);
        fa_bench_rounds_add(&above, processor_s() - before_s);
        fa_bench_rounds_add(&below, (double)(fa_clock_mono_us() - start_us) / 1e6);
    }
    stop_pool(pool);
    if (code == FAINA_OK)
        fa_bench_ratio_add(
            &bench->report, &above, &below, FA_BENCH_AT_MOST, 0.01,
            "processor time of an idle node with delayed tasks and schedules / time");
    return code;
}

/* ------------------------------------------------------------------------------------------
 * Parts
 */

static const struct {
    const char *name;
    enum faina_code (*run)(struct fa_bench *bench, struct pool *pool,
                           struct fa_bench_driver *driver, const char *dir,
                           struct faina_error *err);
} parts[] = {
    {"pool-drain", drain},    {"pool-start", start_latency}, {"pool-spawn", spawn_commands},
    {"pool-tree", grow_tree}, {"pool-idle", stay_idle},      {"pool-lines", serve_lines},
};

enum faina_code fa_bench_pool(struct fa_bench *bench, const char *name, struct faina_error *err)
{
    struct fa_bench_driver driver;
    struct pool pool = {0};
    enum faina_code code;
    char dir[4200];
    size_t which = 0;

    while (strcmp(parts[which].name, name) != 0)
        which++;
    fa_bench_progress(bench, "%s", name);
    code = fa_bench_location_make(bench, name, dir, sizeof(dir), err);
    if (code == FAINA_OK)
        code = fa_bench_service_open(&pool.service, bench, dir, name, err);
    if (code != FAINA_OK)
        return code;
    fa_bench_driver_init(&driver, pool.service, &bench->inputs, 1, BATCH, BATCH);
    code = fa_bench_driver_grow_log(&driver, err);
    if (code == FAINA_OK)
        code = parts[which].run(bench, &pool, &driver, dir, err);
    fa_bench_driver_finish(&driver);
    fa_service_close(pool.service);
    fa_bench_location_remove(bench, dir);
    fa_bench_progress_clear(bench);
    return code;
}
