/*
 * bench_vault.c - the ingest of examples/vault against sha256sum and cp of the same file.
 *
 * Both read the archive, hash it and write its bytes once more. The ingest also hashes each file in
 * it, flushes all of them to disk, writes an index, and emits an event for each.
 */
#include "bench/bench_run.h"
#include "bench/bench_served.h"

#include "base/clock.h"

#include <faina.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define FILE_SIZE (1024 * 1024)
#define FILES 953 /* 1 GB */
#define QUICK_FILES 16
#define ROUNDS_MAX 3 /* each writes the archive twice */
#define BLOCK 512
#define TIMEOUT_MS 600000

struct part {
    struct fa_bench *bench;
    char dir[4100];
    char plugin[PATH_MAX];
};

/* ------------------------------------------------------------------------------------------
 * The archive
 */

/* A header of ustar for a file of FILE_SIZE bytes. */
static void make_header(char block[BLOCK], int number)
{
    unsigned sum = 0;

    memset(block, 0, BLOCK);
    snprintf(block, 100, "files/%06d", number);
    snprintf(block + 100, 8, "%07o", 0644);
    snprintf(block + 108, 8, "%07o", 0);
    snprintf(block + 116, 8, "%07o", 0);
    snprintf(block + 124, 12, "%011o", FILE_SIZE);
    snprintf(block + 136, 12, "%011o", 0);
    memset(block + 148, ' ', 8);
    block[156] = '0';
    memcpy(block + 257, "ustar\00000", 8);
    for (int i = 0; i < BLOCK; i++)
        sum += (unsigned char)block[i];
    snprintf(block + 148, 8, "%06o", sum);
}

static enum faina_code write_archive(const char *path, int files, struct faina_error *err)
{
    FILE *file = fopen(path, "we");
    uint64_t *body = fa_alloc(FILE_SIZE);
    struct fa_random random;
    char header[BLOCK] = "";
    bool is_ok = file != NULL;

    fa_random_seed(&random, 1);
    for (int i = 0; is_ok && i < files; i++) {
        for (size_t k = 0; k < FILE_SIZE / sizeof *body; k++)
            body[k] = fa_random_next(&random);
        make_header(header, i);
        is_ok = fwrite(header, BLOCK, 1, file) == 1 && fwrite(body, FILE_SIZE, 1, file) == 1;
    }
    memset(header, 0, BLOCK);
    is_ok = is_ok && fwrite(header, BLOCK, 1, file) == 1 && fwrite(header, BLOCK, 1, file) == 1 &&
            fflush(file) == 0 && fsync(fileno(file)) == 0;
    if (file)
        fclose(file);
    free(body);
    return is_ok ? FAINA_OK
                 : fa_error_set(err, FAINA_UNAVAILABLE, "can't write %.300s: %s", path,
                                strerror(errno));
}

/* ------------------------------------------------------------------------------------------
 * Processes
 */

/* Starts argv[0] in `dir`, with its output to /dev/null; it ends with this process. */
static pid_t start(const char *dir, char *const *argv)
{
    pid_t parent = getpid(), pid = fork();

    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent || chdir(dir) != 0 || !freopen("/dev/null", "w", stdout) ||
        !freopen("/dev/null", "w", stderr))
        _exit(127);
    execvp(argv[0], argv);
    _exit(127);
}

static enum faina_code run_command(const struct part *part, char *const *argv,
                                   struct faina_error *err)
{
    pid_t pid = start(part->dir, argv);
    int status = 0;

    if (pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return FAINA_OK;
    return fa_error_set(err, FAINA_UNAVAILABLE, "%s failed", argv[0]);
}

static enum faina_code run_plainly(const struct part *part, double *seconds,
                                   struct faina_error *err)
{
    char *sum[] = {(char[]){"sha256sum"}, (char[]){"files/source.tar"}, NULL};
    char *cp[] = {(char[]){"cp"}, (char[]){"files/source.tar"}, (char[]){"files/copy.tar"}, NULL};
    int64_t start_us = fa_clock_mono_us();
    enum faina_code code = run_command(part, sum, err);
    char path[4200];

    if (code == FAINA_OK)
        code = run_command(part, cp, err);
    *seconds = (double)(fa_clock_mono_us() - start_us) / 1e6;
    snprintf(path, sizeof path, "%s/files/copy.tar", part->dir);
    unlink(path);
    return code;
}

/* ------------------------------------------------------------------------------------------
 * The ingest
 */

static enum faina_code ingest(const char *url, double *seconds, struct faina_error *err)
{
    const struct faina_submit submit = {.type = "ingest.container",
                                        .input = "{\"sourcePath\":\"source.tar\"}"};
    struct faina_task *task = NULL, *ended = NULL;
    struct faina *engine = NULL;
    int64_t start_us = 0;
    enum faina_code code = faina_open(&engine, url, NULL, err);

    if (code == FAINA_OK) {
        start_us = fa_clock_mono_us();
        code = faina_submit(engine, &submit, &task, err);
    }
    if (code == FAINA_OK)
        code = faina_wait(engine, task->id, TIMEOUT_MS, &ended, err);
    *seconds = (double)(fa_clock_mono_us() - start_us) / 1e6;
    if (code == FAINA_OK && ended->status != FAINA_COMPLETED)
        code = fa_error_set(err, FAINA_INTERNAL, "the ingest failed: %.300s",
                            ended->error ? ended->error : "");
    faina_free(ended);
    faina_free(task);
    faina_close(engine);
    return code;
}

/* With an engine, a worker and an object store that are new each time. */
static enum faina_code run_ingest(const struct part *part, int round, double *seconds,
                                  struct faina_error *err)
{
    struct fa_bench_served served;
    char program[PATH_MAX], store[4200], url[64];
    char *argv[] = {program, (char[]){"worker"}, (char[]){"--url"}, url, NULL};
    enum faina_code code;
    pid_t worker;

    snprintf(store, sizeof store, "sqlite:%s/%d.db", part->dir, round);
    code = fa_bench_served_start(&served, store, err);
    if (code != FAINA_OK)
        return code;
    fa_bench_program_path(program, sizeof program);
    snprintf(url, sizeof url, "http://127.0.0.1:%d", served.port);
    worker = start(part->dir, argv);
    code = ingest(url, seconds, err);
    if (worker > 0) {
        kill(worker, SIGTERM);
        waitpid(worker, NULL, 0);
    }
    fa_bench_served_stop(&served);
    snprintf(store, sizeof store, "%s/store", part->dir);
    fa_bench_dir_remove(store);
    return code;
}

/* ------------------------------------------------------------------------------------------
 * The part
 */

static bool write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    bool is_ok = file && fputs(text, file) >= 0;

    if (file && fclose(file) != 0)
        is_ok = false;
    return is_ok;
}

static enum faina_code prepare(const struct part *part, struct faina_error *err)
{
    char path[4200], text[8600];
    bool is_ok;

    snprintf(path, sizeof path, "%s/files", part->dir);
    is_ok = mkdir(path, 0700) == 0;
    snprintf(path, sizeof path, "%s/handlers", part->dir);
    is_ok = is_ok && mkdir(path, 0700) == 0;
    snprintf(path, sizeof path, "%s/handlers/vault.json", part->dir);
    snprintf(text, sizeof text,
             "{\"env\":{\"VAULT_STORE\":\"%s/store\",\"VAULT_FILES\":\"%s/files\"}}", part->dir,
             part->dir);
    is_ok = is_ok && write_text(path, text);
    snprintf(path, sizeof path, "%s/handlers/vault.so", part->dir);
    is_ok = is_ok && symlink(part->plugin, path) == 0;
    if (!is_ok)
        return fa_error_set(err, FAINA_UNAVAILABLE, "can't write %.300s: %s", path,
                            strerror(errno));
    snprintf(path, sizeof path, "%s/files/source.tar", part->dir);
    return write_archive(path, part->bench->is_quick ? QUICK_FILES : FILES, err);
}

static enum faina_code measure(const struct part *part, struct faina_error *err)
{
    struct fa_bench *bench = part->bench;
    int rounds = bench->rounds < ROUNDS_MAX ? bench->rounds : ROUNDS_MAX;
    struct fa_bench_rounds plain = {0}, ingests = {0};
    enum faina_code code = prepare(part, err);

    for (int round = 0; code == FAINA_OK && round < rounds; round++) {
        double seconds;

        fa_bench_progress_bar(bench, "vault", round, rounds);
        code = run_plainly(part, &seconds, err);
        if (code == FAINA_OK) {
            fa_bench_rounds_add(&plain, seconds);
            code = run_ingest(part, round, &seconds, err);
        }
        if (code == FAINA_OK)
            fa_bench_rounds_add(&ingests, seconds);
    }
    if (code == FAINA_OK)
        fa_bench_ratio_add(&bench->report, &plain, &ingests, FA_BENCH_AT_LEAST, 0.5,
                           "vault: rate of an ingest of %s / of sha256sum and cp (%.1f s)",
                           bench->is_quick ? "16 MB" : "1 GB", fa_bench_median(&plain));
    return code;
}

enum faina_code fa_bench_vault(struct fa_bench *bench, const char *name, struct faina_error *err)
{
    struct part part = {.bench = bench};
    enum faina_code code;
    char *slash;

    fa_bench_program_path(part.plugin, sizeof part.plugin);
    slash = strrchr(part.plugin, '/');
    snprintf(slash ? slash + 1 : part.plugin, 16, "vault.so");
    if (access(part.plugin, R_OK) != 0) {
        fprintf(stderr, "faina-bench: %s is not measured, because %s is not built\n", name,
                part.plugin);
        return FAINA_OK;
    }
    code = fa_bench_location_make(bench, name, part.dir, sizeof part.dir, err);
    if (code == FAINA_OK)
        code = measure(&part, err);
    fa_bench_location_remove(bench, part.dir);
    return code;
}
