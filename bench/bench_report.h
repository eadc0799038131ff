/*
 * bench_report.h - what a run of the benchmark found: the numbers, their medians and ratios, the
 * table for people and the JSON for programs.
 *
 * Each number is kept round by round. A ratio is the median of the ratios of single rounds, never
 * a ratio of medians: what disturbs the machine for a while disturbs both halves of a round alike.
 */
#ifndef FA_BENCH_REPORT_H
#define FA_BENCH_REPORT_H

#include "base/error.h"

#include <stdio.h>

#define FA_BENCH_ROUNDS_MAX 1000
#define FA_BENCH_ROWS_MAX 48

enum fa_bench_subject {
    FA_BENCH_LEAN,   /* raw statements, the leanest table that is a queue at all */
    FA_BENCH_OWN,    /* raw statements on our own schema */
    FA_BENCH_ENGINE, /* the engine, through service.h */
    FA_BENCH_POSTED, /* the same, through post.h: callers that don't sleep */
    FA_BENCH_HTTP,   /* the remote engine, and a server in another process */
};

/* A task's whole life is its three steps. */
enum fa_bench_step { FA_BENCH_SUBMIT, FA_BENCH_CLAIM, FA_BENCH_COMPLETE, FA_BENCH_STEPS };
#define FA_BENCH_LIFE FA_BENCH_STEPS /* as an index of rates: all steps together */

/* One value per round. */
struct fa_bench_rounds {
    double values[FA_BENCH_ROUNDS_MAX];
    size_t count;
};

/* How fast one subject moves tasks, in tasks per second. */
struct fa_bench_speed {
    const char *part;
    enum fa_bench_subject subject;
    int callers, batch;
    bool has_key;
    int64_t tasks; /* in each round */
    struct fa_bench_rounds rates[FA_BENCH_STEPS + 1];
};

/* How long a claim of 100 takes in one set of tasks. */
struct fa_bench_latency {
    char name[96];
    int64_t waiting, throttled, ended;
    size_t samples;
    double median_us, p99_us;
    struct fa_bench_rounds medians_us;
};

/* How long one side takes to act on what the other has done. */
struct fa_bench_wake {
    const char *name;
    size_t samples;
    struct fa_bench_rounds medians_us, p99s_us;
};

/* How fast a server answers one kind of request. */
struct fa_bench_asked {
    const char *name;
    int connections;
    struct fa_bench_rounds per_second, medians_us, p99s_us;
};

struct fa_bench_memory {
    bool is_measured;
    int64_t tasks;
    int64_t cache_kib; /* the bound: what SQLite may keep */
    /* After the first batch, with a quarter of the tasks, and with all of them. */
    struct fa_bench_resident {
        int64_t rss_kib, anon_kib; /* VmRSS, RssAnon */
    } before, quarter, after;
};

enum fa_bench_aim { FA_BENCH_NO_AIM, FA_BENCH_AT_LEAST, FA_BENCH_AT_MOST };

struct fa_bench_ratio {
    char name[128];
    enum fa_bench_aim aim;
    double target;
    struct fa_bench_rounds rounds;
};

struct fa_bench_machine {
    int cores;
    char cpu[96], kernel[96], filesystem[32];
    const char *sqlite;
    double fdatasync_us; /* median; 0: not measured */
};

/* A database server, without secrets. */
struct fa_bench_server {
    char place[300], version[32], shared_buffers[16], synchronous_commit[16], fsync[8];
};

struct fa_bench_report {
    struct fa_bench_machine machine;
    struct fa_bench_server server; /* its version is empty when there is none */
    bool is_quick;
    const char *url;
    int rounds;
    int64_t cache_kib;
    size_t input_size;
    double seconds; /* the whole run */
    struct fa_bench_speed speeds[FA_BENCH_ROWS_MAX];
    size_t speed_count;
    struct fa_bench_latency latencies[FA_BENCH_ROWS_MAX];
    size_t latency_count;
    struct fa_bench_wake wakes[4];
    size_t wake_count;
    struct fa_bench_asked asked[8];
    size_t asked_count;
    struct fa_bench_memory memory;
    struct fa_bench_ratio ratios[FA_BENCH_ROWS_MAX];
    size_t ratio_count;
};

void fa_bench_rounds_add(struct fa_bench_rounds *rounds, double value);
double fa_bench_median(const struct fa_bench_rounds *rounds); /* 0 when there is none */
/* The value below which `share` of the values lie (0.5: the median). Sorts `values`. */
double fa_bench_quantile(double *values, size_t count, double share);

/* A new ratio, round by round above / below; `format` and what follows make its name. */
void fa_bench_ratio_add(struct fa_bench_report *report, const struct fa_bench_rounds *above,
                        const struct fa_bench_rounds *below, enum fa_bench_aim aim, double target,
                        const char *format, ...) FA_PRINTF(6, 7);
/* "met", "missed", or "" for a ratio that has no target. */
const char *fa_bench_verdict(const struct fa_bench_ratio *ratio);

/* Reads what can be known about this machine, and how long fdatasync takes in `dir`. */
enum faina_code fa_bench_machine_read(struct fa_bench_machine *out, const char *dir,
                                      struct faina_error *err);

void fa_bench_report_print(const struct fa_bench_report *report, FILE *out);
/* False: not all of it could be written; errno tells why. */
FA_MUST_CHECK bool fa_bench_report_write_json(const struct fa_bench_report *report, FILE *out);

#endif
