/*
 * bench.c - the program faina-bench: reads the arguments and runs the parts in a child process.
 *
 * The parent creates the temporary folder, starts the child, which measures, and removes the folder
 * however the child ended: by exit, Ctrl-C, or a crash.
 */
#include "base/clock.h"
#include "bench/bench_raw_postgres.h"
#include "bench/bench_run.h"
#include "cli/cli.h"
#include "model/codes.h"
#include "wire/wire.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS_DEFAULT 5
#define ROUNDS_MAX 99
#define QUICK_ROUNDS_DEFAULT 2
#define SPACE_MIB 3000 /* disk space of a run, roughly */
#define HUGE_SPACE_MIB 10000

#define ONE_WRITER (FA_BENCH_SQLITE | FA_BENCH_MEMORY)
#define EVERY (ONE_WRITER | FA_BENCH_POSTGRES)

/* The part "memory" is first, before other parts grow the heap that its process inherits. */
static const struct fa_bench_part parts[] = {
    {"memory", "the memory that a million waiting tasks need", FA_BENCH_SQLITE, fa_bench_memory},
    {"life-1", "submit, claim and complete, one task at a time", EVERY, fa_bench_life},
    {"life-100", "the same in batches of 100; and 64 callers with one task at a time", ONE_WRITER,
     fa_bench_life},
    {"life-1000", "the same in batches of 1,000", EVERY, fa_bench_life},
    {"life-key", "the same with a random key on each task", ONE_WRITER, fa_bench_life},
    {"life-rate", "the same with a resource with a rate, and with a plain limit", ONE_WRITER,
     fa_bench_life},
    {"history", "whole lives by 1,000 with and without the history", EVERY, fa_bench_cost},
    {"updated", "the same with and without the indexes by the last change",
     FA_BENCH_SQLITE | FA_BENCH_POSTGRES, fa_bench_cost},
    {"names", "the same with types in both cases and in lower case", EVERY, fa_bench_cost},
    {"claim", "the latency of a claim of 100, with much else stored", EVERY, fa_bench_claim},
    {"claim-groups", "a claim of 100 of as many groups as tasks, and of one group", EVERY,
     fa_bench_claim},
    {"bulk", "an operation that retries 100,000 tasks against completing them", EVERY,
     fa_bench_bulk},
    {"tree", "single submits while a tree of 100,000 tasks is cancelled", EVERY, fa_bench_tree},
    {"lanes", "a claim of one task among ten types, and among very many", EVERY, fa_bench_lanes},
    {"lists", "the first page of lists of tasks, with any filter, among 1,000,000 ended tasks",
     EVERY, fa_bench_lists},
    {"match", "match expressions against reading an event's bytes", ONE_WRITER, fa_bench_match},
    {"emit", "events that create tasks against submitting the tasks", EVERY, fa_bench_emit},
    {"start", "from a submit on one node to its claim on another", FA_BENCH_POSTGRES,
     fa_bench_start},
    {"idle", "the database load of ten idle nodes", FA_BENCH_POSTGRES, fa_bench_idle},
    {"pool-drain", "functions in the worker pool against the engine's own claims", EVERY,
     fa_bench_pool},
    {"pool-start", "from submit to start on an idle pool", ONE_WRITER, fa_bench_pool},
    {"pool-spawn", "command handlers against bare processes", ONE_WRITER, fa_bench_pool},
    {"pool-lines", "one process for many tasks against one for each", ONE_WRITER, fa_bench_pool},
    {"pool-tree", "subtasks of one parent against plain tasks", ONE_WRITER, fa_bench_pool},
    {"serve-post", "POST /tasks on 64 connections, with and without the store", FA_BENCH_SQLITE,
     fa_bench_serve},
    {"serve-batch", "POST /tasks:batch of 1,000 against the engine", FA_BENCH_SQLITE,
     fa_bench_serve},
    {"serve-life", "submit, claim and complete by 100 over HTTP against the engine",
     FA_BENCH_SQLITE, fa_bench_serve},
    {"serve-waits", "POST /tasks beside 5,000 long polls and 1,000 streams", FA_BENCH_SQLITE,
     fa_bench_serve},
    {"serve-start", "the start time of a server with a million tasks", FA_BENCH_SQLITE,
     fa_bench_serve},
    {"vault", "the ingest of examples/vault against sha256sum and cp", FA_BENCH_SQLITE,
     fa_bench_vault},
    {"broker-life", "submit, claim and complete with and without messages to RabbitMQ",
     FA_BENCH_POSTGRES, fa_bench_broker},
    {"broker-publish", "the publisher against bare messages with confirms", FA_BENCH_POSTGRES,
     fa_bench_broker},
    {"broker-start", "from a submit through RabbitMQ to the claim against a bare message",
     FA_BENCH_POSTGRES, fa_bench_broker},
    {"nats-life", "submit, claim and complete on NATS against bare keys", FA_BENCH_NATS,
     fa_bench_nats},
    {"nats-claim", "the latency of a claim of 100 on NATS", FA_BENCH_NATS, fa_bench_nats},
    {"pool-idle", "an idle node with 1,000,000 delayed tasks and 10,000 schedules", ONE_WRITER,
     fa_bench_pool},
};

struct arguments {
    const char *only, *dir, *json, *url;
    int rounds; /* 0: the default */
    bool is_quick, is_huge, is_without_raw, is_help;
};

/* ------------------------------------------------------------------------------------------
 * Arguments
 */

enum argument { ONLY, ROUNDS, QUICK, HUGE_SETS, DIR, JSON, URL, NO_RAW, HELP, ARGUMENT_COUNT };

static const struct {
    const char *name, *value, *what;
} known[ARGUMENT_COUNT] = {
    [ONLY] = {"only", "PARTS", "run only these parts, by name or prefix: life,claim"},
    [ROUNDS] = {"rounds", "N", "the number of rounds (5)"},
    [QUICK] = {"quick", NULL,
               "small sizes: a few seconds; a check that it works, not a measurement"},
    [HUGE_SETS] = {"huge", NULL,
                   "also claim from 10 million waiting tasks, and list 10 million; 10 GB of disk"},
    [DIR] = {"dir", "DIR", "create the temporary folder here (the current folder)"},
    [JSON] = {"json", "FILE", "also write all numbers as JSON"},
    [URL] = {"url", "URL",
             "sqlite: (files in the temporary folder), memory: (no raw parts), or a database's\n"
             "                 postgres://..., in which schemas are created and dropped, or "
             "nats://..."},
    [NO_RAW] = {"no-raw", NULL, "don't measure raw statements, nor the ratios to them"},
    [HELP] = {"help", NULL, "show this help"},
};

static void print_help(void)
{
    puts("Usage: faina-bench [FLAGS], or faina bench [FLAGS]\n\n"
         "Measures the engine and raw SQLite or PostgreSQL in alternating rounds, and prints\n"
         "rates, times and ratios. docs/benchmarks.md explains them.\n\nFlags:");
    for (size_t i = 0; i < ARGUMENT_COUNT; i++) {
        char name[32];

        snprintf(name, sizeof name, "--%s %s", known[i].name, known[i].value ? known[i].value : "");
        printf("  %-14s %s\n", name, known[i].what);
    }
    puts("\nParts:");
    for (size_t i = 0; i < FA_COUNT(parts); i++)
        printf("  %-14s %s%s\n", parts[i].name, parts[i].what,
               parts[i].engines == FA_BENCH_NATS         ? " (NATS)"
               : parts[i].engines == FA_BENCH_POSTGRES   ? " (PostgreSQL)"
               : !(parts[i].engines & FA_BENCH_POSTGRES) ? " (SQLite)"
                                                         : "");
}

static int usage_error(const char *format, ...) FA_PRINTF(1, 2);
static int usage_error(const char *format, ...)
{
    va_list args;

    fputs("faina-bench: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputs("\nSee faina-bench --help.\n", stderr);
    return FA_EXIT_USAGE;
}

static int unknown_argument(const char *word)
{
    const char *names[ARGUMENT_COUNT + 1] = {NULL};
    const char *nearest;

    for (size_t i = 0; i < ARGUMENT_COUNT; i++)
        names[i] = known[i].name;
    if (strncmp(word, "--", 2) != 0)
        return usage_error("\"%.100s\" is not a flag", word);
    nearest = fa_wire_nearest(word + 2, names);
    if (nearest)
        return usage_error("there is no flag %.100s; did you mean --%s?", word, nearest);
    return usage_error("there is no flag %.100s", word);
}

/* Whether `name` (of `len` bytes) selects the part: a full name selects only that part, a prefix
 * all parts that begin with it. */
static bool picks(const char *name, size_t len, const char *part)
{
    for (size_t i = 0; i < FA_COUNT(parts); i++) {
        if (strlen(parts[i].name) == len && strncmp(name, parts[i].name, len) == 0)
            return strcmp(parts[i].name, part) == 0;
    }
    return len > 0 && strncmp(name, part, len) == 0;
}

/* NULL selects all. */
static bool is_selected(const char *only, const char *part)
{
    for (const char *at = only; at && *at;) {
        size_t len = strcspn(at, ",");

        if (picks(at, len, part))
            return true;
        at += len + (at[len] == ',');
    }
    return !only;
}

static int check_only(const char *only)
{
    for (const char *at = only; *at;) {
        size_t len = strcspn(at, ","), i = 0;

        while (i < FA_COUNT(parts) && !picks(at, len, parts[i].name))
            i++;
        if (i == FA_COUNT(parts))
            return usage_error("--only: there is no part \"%.*s\"; --help lists them", (int)len,
                               at);
        at += len + (at[len] == ',');
    }
    return *only ? FA_EXIT_OK : usage_error("--only names no part");
}

static enum fa_bench_kind kind_of(const char *url)
{
    if (strcmp(url, "sqlite:") == 0)
        return FA_BENCH_SQLITE;
    if (strncmp(url, "nats://", 7) == 0)
        return FA_BENCH_NATS;
    return strcmp(url, "memory:") == 0 ? FA_BENCH_MEMORY : FA_BENCH_POSTGRES;
}

/* A benchmark only writes to stores that it creates. */
static int check_url(const char *url)
{
    if (strncmp(url, "postgres://", 11) == 0 || strncmp(url, "postgresql://", 13) == 0) {
        if (strstr(url, "schema="))
            return usage_error("--url can't have schema=: the benchmarks create their own schemas");
        return FA_EXIT_OK;
    }
    if (kind_of(url) == FA_BENCH_NATS && strchr(url, '?'))
        return usage_error("--url of NATS has no parameters: the benchmarks create their own "
                           "buckets");
    if (kind_of(url) == FA_BENCH_POSTGRES)
        return usage_error("--url is sqlite:, memory:, postgres://... or nats://...: the "
                           "benchmarks create their own stores, in the folder of --dir");
    return FA_EXIT_OK;
}

/* Checks that a selected part is for this engine. */
static int check_parts(const struct arguments *arguments)
{
    for (size_t i = 0; i < FA_COUNT(parts); i++) {
        if (is_selected(arguments->only, parts[i].name) &&
            parts[i].engines & kind_of(arguments->url))
            return FA_EXIT_OK;
    }
    fprintf(stderr, "faina-bench: --only: %s is for %s\n", arguments->only,
            kind_of(arguments->url) == FA_BENCH_SQLITE ? "other engines; name one with --url"
                                                       : "SQLite, or another engine");
    return fa_code_exit(FAINA_NOT_FOUND);
}

static int take_argument(struct arguments *out, enum argument which, const char *value)
{
    char *end;
    long number;

    switch (which) {
    case ONLY:
        out->only = value;
        return check_only(value);
    case ROUNDS:
        number = strtol(value, &end, 10);
        if (end == value || *end || number < 1 || number > ROUNDS_MAX)
            return usage_error("--rounds is a whole number from 1 to %d, not \"%.100s\"",
                               ROUNDS_MAX, value);
        out->rounds = (int)number;
        break;
    case QUICK:
        out->is_quick = true;
        break;
    case HUGE_SETS:
        out->is_huge = true;
        break;
    case DIR:
        out->dir = value;
        break;
    case JSON:
        out->json = value;
        break;
    case URL:
        out->url = value;
        return check_url(value);
    case NO_RAW:
        out->is_without_raw = true;
        break;
    case HELP:
        out->is_help = true;
        break;
    case ARGUMENT_COUNT:
        assert(false);
    }
    return FA_EXIT_OK;
}

static int parse(struct arguments *out, int argc, char **argv)
{
    for (int i = 0; i < argc; i++) {
        const char *word = argv[i], *value = strchr(word, '=');
        size_t len = value ? (size_t)(value - word) : strlen(word), which = 0;
        int code;

        while (which < ARGUMENT_COUNT &&
               (strncmp(word, "--", 2) != 0 || len - 2 != strlen(known[which].name) ||
                strncmp(word + 2, known[which].name, len - 2) != 0))
            which++;
        if (strcmp(word, "-h") == 0)
            which = HELP;
        if (which == ARGUMENT_COUNT)
            return unknown_argument(word);
        if (value && !known[which].value)
            return usage_error("--%s takes no value", known[which].name);
        value = value ? value + 1 : NULL;
        if (known[which].value && !value) {
            if (i + 1 == argc)
                return usage_error("--%s needs a value: --%s %s", known[which].name,
                                   known[which].name, known[which].value);
            value = argv[++i];
        }
        code = take_argument(out, (enum argument)which, value);
        if (code != FA_EXIT_OK)
            return code;
    }
    return FA_EXIT_OK;
}

/* ------------------------------------------------------------------------------------------
 * Measuring
 */

static int fail(const struct fa_bench *bench, const struct faina_error *err)
{
    fa_bench_progress_clear(bench);
    fprintf(stderr, "faina-bench: %s\n", err->message);
    return fa_code_exit(err->code);
}

static int measure(struct fa_bench *bench, const char *only)
{
    struct fa_bench_report *report = &bench->report;
    struct faina_error err = {0};
    int64_t start = fa_clock_mono_us();

    fa_bench_inputs_init(&bench->inputs);
    if (fa_bench_machine_read(&report->machine, bench->dir, &err) != FAINA_OK)
        return fail(bench, &err);
    for (size_t i = 0; i < FA_COUNT(parts); i++) {
        if (is_selected(only, parts[i].name) && parts[i].engines & kind_of(bench->url) &&
            parts[i].run(bench, parts[i].name, &err) != FAINA_OK)
            return fail(bench, &err);
    }
    report->seconds = (double)(fa_clock_mono_us() - start) / 1e6;
    fa_bench_report_print(report, stdout);
    return fflush(stdout) == 0 ? FA_EXIT_OK : FA_EXIT_FAILURE;
}

/* The file is opened first, so that an error is reported before the measurement. */
static int measure_and_write(struct fa_bench *bench, const struct arguments *arguments)
{
    FILE *json = arguments->json ? fopen(arguments->json, "we") : NULL;
    bool is_good = !arguments->json || json;
    int code = is_good ? measure(bench, arguments->only) : FA_EXIT_FAILURE;

    if (json && code == FA_EXIT_OK)
        is_good = fa_bench_report_write_json(&bench->report, json);
    if (!is_good) {
        fprintf(stderr, "faina-bench: can't write %s: %s\n", arguments->json, strerror(errno));
        code = FA_EXIT_FAILURE;
    }
    if (json)
        fclose(json);
    return code;
}

/* ------------------------------------------------------------------------------------------
 * Two processes
 */

/* Waits for the child, and forwards signals to it. Returns the exit code. */
static int wait_for_child(pid_t child, const sigset_t *signals)
{
    for (;;) {
        int number = sigwaitinfo(signals, NULL), status;

        if (number == SIGINT || number == SIGTERM || number == SIGHUP)
            kill(child, SIGTERM);
        if (waitpid(child, &status, WNOHANG) != child)
            continue;
        if (WIFEXITED(status))
            return WEXITSTATUS(status);
        fprintf(stderr, "faina-bench: the benchmark was stopped by signal %d\n", WTERMSIG(status));
        return 128 + WTERMSIG(status);
    }
}

static int run_in_child(struct fa_bench *bench, const struct arguments *arguments)
{
    sigset_t signals, before;
    pid_t child;
    int code;

    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    sigaddset(&signals, SIGCHLD);
    sigprocmask(SIG_BLOCK, &signals, &before);
    fflush(NULL);
    child = fork();
    if (child == 0) {
        sigprocmask(SIG_SETMASK, &before, NULL);
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        code = measure_and_write(bench, arguments);
        free(bench);
        exit(code);
    }
    if (child < 0) {
        fprintf(stderr, "faina-bench: can't start a process: %s\n", strerror(errno));
        code = FA_EXIT_FAILURE;
    } else {
        code = wait_for_child(child, &signals);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    return code;
}

/* Creates the folder of the run, on a disk with enough space. */
static int make_dir(struct fa_bench *bench, const char *parent)
{
    int64_t needed_mib = bench->is_quick || fa_bench_is_postgres(bench) ? 100
                         : bench->is_huge                               ? HUGE_SPACE_MIB
                                                                        : SPACE_MIB;
    struct statvfs disk;
    char *full = realpath(parent, NULL);
    int len;

    if (!full || statvfs(full, &disk) != 0) {
        fprintf(stderr, "faina-bench: can't use the folder %s: %s\n", parent, strerror(errno));
        free(full);
        return FA_EXIT_FAILURE;
    }
    len = snprintf(bench->dir, sizeof bench->dir, "%s/faina-bench-XXXXXX", full);
    free(full);
    if (len < 0 || (size_t)len >= sizeof bench->dir)
        return usage_error("--dir: the name is too long");
    if ((int64_t)(disk.f_bavail * (disk.f_frsize / 512) / 2048) < needed_mib) {
        fprintf(stderr, "faina-bench: %s has less than %lld MiB free; --dir names another folder\n",
                parent, (long long)needed_mib);
        return FA_EXIT_FAILURE;
    }
    if (!mkdtemp(bench->dir)) {
        fprintf(stderr, "faina-bench: can't create a folder in %s: %s\n", parent, strerror(errno));
        return FA_EXIT_FAILURE;
    }
    return FA_EXIT_OK;
}

/* A random prefix for the schemas of this run. */
static void make_mark(struct fa_bench *bench)
{
    struct fa_random random;

    fa_random_seed_system(&random);
    snprintf(bench->mark, sizeof bench->mark, "faina_bench_%08x",
             (unsigned)fa_random_next(&random));
}

/* Checks the connection before anything is created. */
static int read_server(struct fa_bench *bench)
{
    struct faina_error err;

    if (!fa_bench_is_postgres(bench) || fa_bench_server_read(bench, &err) == FAINA_OK)
        return FA_EXIT_OK;
    return fail(bench, &err);
}

/* Drops the schemas of a run that was stopped; a complete run has dropped its own. */
static int clean_up(const struct fa_bench *bench)
{
    struct faina_error err;

    if (!fa_bench_is_postgres(bench) ||
        fa_bench_schemas_drop(bench, bench->mark, true, &err) == FAINA_OK)
        return FA_EXIT_OK;
    fprintf(stderr, "faina-bench: schemas that begin with %s may be left: %s\n", bench->mark,
            err.message);
    return fa_code_exit(err.code);
}

int main(int argc, char **argv)
{
    struct arguments arguments = {.url = "sqlite:", .dir = "."};
    int code = parse(&arguments, argc - 1, argv + 1);
    struct fa_bench *bench;

    if (code != FA_EXIT_OK)
        return code;
    if (arguments.is_help) {
        print_help();
        return FA_EXIT_OK;
    }
    code = check_parts(&arguments);
    if (code != FA_EXIT_OK)
        return code;
    bench = fa_alloc_zero(1, sizeof *bench);
    make_mark(bench);
    bench->url = arguments.url;
    bench->is_quick = arguments.is_quick;
    bench->is_huge = arguments.is_huge;
    bench->broker = getenv("FAINA_BROKER");
    bench->has_raw = !arguments.is_without_raw && kind_of(arguments.url) != FA_BENCH_MEMORY;
    bench->has_terminal = isatty(STDERR_FILENO);
    bench->rounds = arguments.rounds     ? arguments.rounds
                    : arguments.is_quick ? QUICK_ROUNDS_DEFAULT
                                         : ROUNDS_DEFAULT;
    bench->report.url = bench->url;
    bench->report.is_quick = bench->is_quick;
    bench->report.rounds = bench->rounds;
    bench->report.cache_kib = FA_BENCH_CACHE_KIB;
    bench->report.input_size = FA_BENCH_INPUT_SIZE;
    code = read_server(bench);
    if (code == FA_EXIT_OK)
        code = make_dir(bench, arguments.dir);
    if (code == FA_EXIT_OK) {
        int cleaned;

        code = run_in_child(bench, &arguments);
        fa_bench_dir_remove(bench->dir);
        cleaned = clean_up(bench);
        code = code == FA_EXIT_OK ? cleaned : code;
    }
    free(bench);
    return code;
}
