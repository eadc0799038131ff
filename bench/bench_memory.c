/*
 * bench_memory.c - the memory that a million waiting tasks need.
 *
 * Measured in a process of its own, in which nothing else uses the heap. The first reading is taken
 * after a first batch, when every buffer has its final size; the last with all tasks waiting and
 * the engine still open. The difference may only be SQLite's page cache. One more reading at a
 * quarter, when the cache is full, shows whether memory grows after that.
 */
#include "bench/bench_driver.h"
#include "cli/text.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define TASKS 1000000
#define QUICK_TASKS 10000
#define BATCH 1000
/* The cache's setting doesn't include the headers of its pages and of malloc's blocks. */
#define LIMIT 1.1

/* One "Name:  123 kB" line of /proc/self/status; 0 when it isn't there. */
static int64_t status_kib(const char *name)
{
    FILE *file = fopen("/proc/self/status", "re");
    size_t len = strlen(name);
    int64_t value = 0;
    char line[256];

    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, name, len) == 0 && line[len] == ':')
            value = strtoll(line + len + 1, NULL, 10);
    }
    if (file)
        fclose(file);
    return value;
}

static struct fa_bench_resident resident(void)
{
    return (struct fa_bench_resident){status_kib("VmRSS"), status_kib("RssAnon")};
}

static enum faina_code fill(const struct fa_bench *bench, const char *location,
                            struct fa_bench_memory *out, struct faina_error *err)
{
    static const struct faina_submit like = {.type = FA_BENCH_TYPE};
    struct fa_bench_driver driver;
    struct fa_service *service;
    enum faina_code code = fa_bench_service_open(&service, bench, location, "memory", err);

    if (code != FAINA_OK)
        return code;
    fa_bench_driver_init(&driver, service, &bench->inputs, 1, BATCH, 0);
    for (int64_t done = 0; code == FAINA_OK && done < out->tasks; done += BATCH) {
        fa_bench_progress_bar(bench, "memory", done, out->tasks);
        code = fa_bench_driver_submit(&driver, &like, BATCH, false, err);
        if (done == 0)
            out->before = resident();
        if (done < out->tasks / 4)
            out->quarter = resident();
    }
    out->after = resident();
    fa_bench_driver_finish(&driver);
    fa_service_close(service);
    return code;
}

/* The child's result. */
struct result {
    enum faina_code code;
    struct fa_bench_memory memory;
    struct faina_error error;
};

static void run_child(const struct fa_bench *bench, const char *location, struct result *result,
                      int pipe_end)
{
    ssize_t written;

    result->code = fill(bench, location, &result->memory, &result->error);
    written = write(pipe_end, result, sizeof *result);
    _exit(written == (ssize_t)sizeof *result ? 0 : 1);
}

static enum faina_code measure_in_child(const struct fa_bench *bench, const char *location,
                                        struct result *result, struct faina_error *err)
{
    int ends[2];
    ssize_t got;
    pid_t child;

    if (pipe(ends) != 0)
        return fa_error_set(err, FAINA_UNAVAILABLE, "can't create a pipe: %s", strerror(errno));
    child = fork();
    if (child == 0) {
        close(ends[0]);
        run_child(bench, location, result, ends[1]);
    }
    close(ends[1]);
    got = child > 0 ? read(ends[0], result, sizeof *result) : -1;
    close(ends[0]);
    if (child > 0)
        waitpid(child, NULL, 0);
    if (got != (ssize_t)sizeof *result)
        return fa_error_set(err, FAINA_INTERNAL, "the process that measures memory failed");
    if (result->code != FAINA_OK)
        *err = result->error;
    return result->code;
}

enum faina_code fa_bench_memory(struct fa_bench *bench, const char *name, struct faina_error *err)
{
    struct fa_bench_memory *memory = &bench->report.memory;
    struct result result = {.code = FAINA_OK};
    struct fa_bench_rounds growth = {0}, cache = {0};
    char location[4100], tasks[FA_TEXT_COUNT_SIZE];
    enum faina_code code;

    if (strcmp(bench->url, "sqlite:") != 0)
        return FAINA_OK; /* a store in memory has no page cache with a limit */
    code = fa_bench_location_make(bench, name, location, sizeof location, err);
    if (code != FAINA_OK)
        return code;
    result.memory.tasks = bench->is_quick ? QUICK_TASKS : TASKS;
    result.memory.cache_kib = FA_BENCH_CACHE_KIB;
    code = measure_in_child(bench, location, &result, err);
    fa_bench_progress_clear(bench);
    fa_bench_location_remove(bench, location);
    if (code != FAINA_OK)
        return code;
    *memory = result.memory;
    memory->is_measured = true;
    fa_bench_rounds_add(&growth, (double)(memory->after.rss_kib - memory->before.rss_kib));
    fa_bench_rounds_add(&cache, (double)memory->cache_kib);
    fa_bench_ratio_add(&bench->report, &growth, &cache, FA_BENCH_AT_MOST, LIMIT,
                       "memory: growth with %s waiting / page cache setting",
                       fa_text_count(memory->tasks, tasks));
    return FAINA_OK;
}
