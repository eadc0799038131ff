/*
 * bench_memory.c - what a million waiting tasks add to the process.
 *
 * Measured in a process of its own, where nothing else has touched the heap. The first reading is
 * taken after a first batch, when every buffer has its size; the last with all tasks in line and
 * the engine still open. What lies between may be SQLite's page cache, and nothing else. One more
 * reading at a quarter, when the cache is full, shows whether it goes on growing after that.
 */
#include "cli/bench_driver.h"
#include "cli/text.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define TASKS 1000000
#define QUICK_TASKS 10000
#define BATCH 1000
/* The cache's pages have headers that its setting doesn't count, and so have malloc's blocks. */
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

static enum faina_code fill(const struct fa_bench *bench, const char *place,
                            struct fa_bench_memory *out, struct faina_error *err)
{
    static const struct faina_submit like = {.type = FA_BENCH_TYPE};
    struct fa_bench_driver driver;
    struct fa_service *service;
    enum faina_code code = fa_bench_service_open(&service, bench, place, "memory", err);

    if (code != FAINA_OK)
        return code;
    fa_bench_driver_init(&driver, service, &bench->inputs, 1, BATCH, 0);
    for (int64_t done = 0; code == FAINA_OK && done < out->tasks; done += BATCH) {
        fa_bench_tell_bar(bench, "memory", done, out->tasks);
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

/* What the child tells. */
struct answer {
    enum faina_code code;
    struct fa_bench_memory memory;
    struct faina_error error;
};

static void run_child(const struct fa_bench *bench, const char *place, struct answer *answer,
                      int pipe_end)
{
    ssize_t written;

    answer->code = fill(bench, place, &answer->memory, &answer->error);
    written = write(pipe_end, answer, sizeof *answer);
    _exit(written == (ssize_t)sizeof *answer ? 0 : 1);
}

static enum faina_code ask_child(const struct fa_bench *bench, const char *place,
                                 struct answer *answer, struct faina_error *err)
{
    int ends[2];
    ssize_t got;
    pid_t child;

    if (pipe(ends) != 0)
        return fa_error_set(err, FAINA_UNAVAILABLE, "can't make a pipe: %s", strerror(errno));
    child = fork();
    if (child == 0) {
        close(ends[0]);
        run_child(bench, place, answer, ends[1]);
    }
    close(ends[1]);
    got = child > 0 ? read(ends[0], answer, sizeof *answer) : -1;
    close(ends[0]);
    if (child > 0)
        waitpid(child, NULL, 0);
    if (got != (ssize_t)sizeof *answer)
        return fa_error_set(err, FAINA_INTERNAL, "the process that measures memory didn't answer");
    if (answer->code != FAINA_OK)
        *err = answer->error;
    return answer->code;
}

enum faina_code fa_bench_memory(struct fa_bench *bench, const char *name, struct faina_error *err)
{
    struct fa_bench_memory *memory = &bench->report.memory;
    struct answer answer = {.code = FAINA_OK};
    struct fa_bench_rounds growth = {0}, cache = {0};
    char place[4100], tasks[FA_TEXT_COUNT_SIZE];
    enum faina_code code;

    if (strcmp(bench->url, "sqlite:") != 0)
        return FAINA_OK; /* in memory there is no page cache that bounds it */
    code = fa_bench_place_make(bench, name, place, sizeof place, err);
    if (code != FAINA_OK)
        return code;
    answer.memory.tasks = bench->is_quick ? QUICK_TASKS : TASKS;
    answer.memory.cache_kib = FA_BENCH_CACHE_KIB;
    code = ask_child(bench, place, &answer, err);
    fa_bench_tell_done(bench);
    fa_bench_place_remove(bench, place);
    if (code != FAINA_OK)
        return code;
    *memory = answer.memory;
    memory->is_measured = true;
    fa_bench_rounds_add(&growth, (double)(memory->after.rss_kib - memory->before.rss_kib));
    fa_bench_rounds_add(&cache, (double)memory->cache_kib);
    fa_bench_ratio_add(&bench->report, &growth, &cache, FA_BENCH_AT_MOST, LIMIT,
                       "memory: growth with %s waiting / page cache setting",
                       fa_text_count(memory->tasks, tasks));
    return FAINA_OK;
}
