/*
 * bench_report.h - the results of a run: the numbers, their medians and ratios, printed as tables
 * or JSON.
 *
 * Each number is stored per round. A ratio is the median of the ratios of single rounds, never a
 * ratio of medians: a disturbance of the machine affects both halves of a round.
 */
#ifndef FA_BENCH_BENCH_REPORT_H
#define FA_BENCH_BENCH_REPORT_H

#include "base/error.h"

#include <stdio.h>

#define FA_BENCH_ROUNDS_MAX 1000
#define FA_BENCH_ROWS_MAX 64

enum fa_bench_subject {
    FA_BENCH_MINIMAL,   /* raw statements on a minimal table for a queue */
    FA_BENCH_OWN,       /* raw statements on the engine's schema */
    FA_BENCH_ENGINE,    /* the engine, through service.h */
    FA_BENCH_POSTED,    /* the same, through post.h: callers that don't sleep */
    FA_BENCH_HTTP,      /* the remote engine, and a server in another process */
    FA_BENCH_ANNOUNCED, /* the engine, with messages to RabbitMQ */
    FA_BENCH_KEYS,      /* bare writes of keys on a NATS server */
};

/* The steps of one task. */
enum fa_bench_step { FA_BENCH_SUBMIT, FA_BENCH_CLAIM, FA_BENCH_COMPLETE, FA_BENCH_STEPS };
#define FA_BENCH_LIFE FA_BENCH_STEPS /* as an index of rates: all steps together */

/* One value per round. */
struct fa_bench_rounds {
    double values[FA_BENCH_ROUNDS_MAX];
    size_t count;
};

/* What the resource of all tasks has. Neither a limit nor a rate is ever reached. */
enum fa_bench_limit { FA_BENCH_NO_RESOURCE, FA_BENCH_CONCURRENCY, FA_BENCH_RATE };

/* The rates of one subject, in tasks per second. */
struct fa_bench_speed {
    const char *part;
    enum fa_bench_subject subject;
    int callers, batch;
    bool has_key;
    int64_t tasks; /* in each round */
    enum fa_bench_limit limit;
    const char *type;         /* NULL: FA_BENCH_TYPE */
    const char *claimed_type; /* claims ask for it; NULL: for any */
    struct fa_bench_rounds rates[FA_BENCH_STEPS + 1];
};

/* The latency of a claim of 100 in one set of tasks. */
struct fa_bench_latency {
    char name[96];
    int64_t waiting, throttled, ended;
    size_t samples;
    double median_us, p99_us;
    struct fa_bench_rounds medians_us;
};

/* The time from a change on one node until another acts on it. */
struct fa_bench_wake {
    const char *name;
    size_t samples;
    struct fa_bench_rounds medians_us, p99s_us;
};

/* The rate and latency of one kind of request. */
struct fa_bench_request_row {
    const char *name;
    int connections;
    struct fa_bench_rounds per_second, medians_us, p99s_us;
};

struct fa_bench_memory {
    bool is_measured;
    int64_t tasks;
    int64_t cache_kib; /* the limit: SQLite's page cache */
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
    char location[300], version[32], shared_buffers[16], synchronous_commit[16], fsync[8];
};

struct fa_bench_report {
    struct fa_bench_machine machine;
    struct fa_bench_server server; /* its version is empty if there is none */
    bool is_quick;
    const char *url;
    int rounds;
    int64_t cache_kib;
    size_t input_size;
    double seconds; /* of the run */
    struct fa_bench_speed speeds[FA_BENCH_ROWS_MAX];
    size_t speed_count;
    struct fa_bench_latency latencies[FA_BENCH_ROWS_MAX];
    size_t latency_count;
    struct fa_bench_wake wakes[4];
    size_t wake_count;
    struct fa_bench_request_row request_rows[8];
    size_t request_row_count;
    struct fa_bench_memory memory;
    struct fa_bench_ratio ratios[FA_BENCH_ROWS_MAX];
    size_t ratio_count;
};

void fa_bench_rounds_add(struct fa_bench_rounds *rounds, double value);
double fa_bench_median(const struct fa_bench_rounds *rounds); /* 0 if there is none */
/* The quantile `share` (0.5: the median). Sorts `values`. */
double fa_bench_quantile(double *values, size_t count, double share);

/* Adds the rates of a round from the times of its steps. */
void fa_bench_speed_add(struct fa_bench_speed *speed, const int64_t ns[FA_BENCH_STEPS]);
/* Fills in a row from its samples, in microseconds: a median for each of up to `rounds` parts, and
 * the quantiles of all. Sorts the samples. */
void fa_bench_latency_summarize(struct fa_bench_latency *row, double *samples_us, size_t count,
                                int rounds);

/* Adds a ratio, above / below in each round; `format` and its arguments are its name. */
void fa_bench_ratio_add(struct fa_bench_report *report, const struct fa_bench_rounds *above,
                        const struct fa_bench_rounds *below, enum fa_bench_aim aim, double target,
                        const char *format, ...) FA_PRINTF(6, 7);
/* The same for values that are no ratios, such as times. */
void fa_bench_value_add(struct fa_bench_report *report, const struct fa_bench_rounds *values,
                        enum fa_bench_aim aim, double target, const char *format, ...)
    FA_PRINTF(5, 6);
/* "met", "missed", or "" for a ratio that has no target. */
const char *fa_bench_verdict(const struct fa_bench_ratio *ratio);

/* Reads the facts about this machine, and measures fdatasync in `dir`. */
enum faina_code fa_bench_machine_read(struct fa_bench_machine *out, const char *dir,
                                      struct faina_error *err);

void fa_bench_report_print(const struct fa_bench_report *report, FILE *out);
/* False: it could not be written; see errno. */
FA_MUST_CHECK bool fa_bench_report_write_json(const struct fa_bench_report *report, FILE *out);

#endif
