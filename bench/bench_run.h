/*
 * bench_run.h - shared by the parts of the benchmark: the settings of the run, progress on the
 * terminal, and the inputs of all subjects.
 *
 * Threads: a struct fa_bench belongs to the main thread; inputs don't change after their init.
 */
#ifndef FA_BENCH_BENCH_RUN_H
#define FA_BENCH_BENCH_RUN_H

#include "base/random.h"
#include "bench/bench_report.h"

/* The same for every subject, so that only the work differs. */
#define FA_BENCH_CACHE_KIB (64 * 1024)
#define FA_BENCH_CHECKPOINT_PAGES 20000
#define FA_BENCH_TYPE "bench.task"
#define FA_BENCH_OUTPUT "{\"ok\":true}"
#define FA_BENCH_LEASE_MS (3600 * 1000) /* no lease expires during a measurement */

/*
 * Flushing a write-ahead log that grows takes longer than flushing one that is overwritten, as it
 * is after the first checkpoint. So every subject, before it is measured, writes one value of this
 * size until the log has reached its first checkpoint, and then removes the value. (Many values
 * would leave many free pages, whose reuse is slow in SQLite: when pages of a tree move in a file
 * below 1 GiB, the commit walks through the whole page cache.)
 */
#define FA_BENCH_GROW_SIZE 60000
#define FA_BENCH_GROW_COUNT 1400

#define FA_BENCH_INPUTS 256
#define FA_BENCH_INPUT_SIZE 200
#define FA_BENCH_KEY_SIZE 33 /* 32 hex digits and a NUL */

/* Prepared inputs, so that their creation isn't measured. */
struct fa_bench_inputs {
    char texts[FA_BENCH_INPUTS][FA_BENCH_INPUT_SIZE + 1];
};

struct fa_bench {
    const char *url;    /* "sqlite:", "memory:", or the URL of a PostgreSQL database or NATS */
    const char *broker; /* FAINA_BROKER, the URL of a RabbitMQ server; NULL: none */
    char dir[4096];     /* the temporary folder */
    char mark[32];      /* the prefix of the run's schemas, and the name of its sessions */
    int rounds;
    bool is_quick, is_huge;
    bool has_raw; /* also measure raw statements */
    bool has_terminal;
    struct fa_bench_inputs inputs;
    struct fa_bench_report report;
};

enum fa_bench_kind {
    FA_BENCH_SQLITE = 1,
    FA_BENCH_MEMORY = 2,
    FA_BENCH_POSTGRES = 4,
    FA_BENCH_NATS = 8,
};

/* One part of the run; --only selects parts by name or prefix. */
struct fa_bench_part {
    const char *name, *what;
    unsigned engines; /* a set of enum fa_bench_kind */
    enum faina_code (*run)(struct fa_bench *bench, const char *name, struct faina_error *err);
};

enum faina_code fa_bench_life(struct fa_bench *bench, const char *name, struct faina_error *err);
enum faina_code fa_bench_claim(struct fa_bench *bench, const char *name, struct faina_error *err);
enum faina_code fa_bench_bulk(struct fa_bench *bench, const char *name, struct faina_error *err);
enum faina_code fa_bench_lanes(struct fa_bench *bench, const char *name, struct faina_error *err);
enum faina_code fa_bench_lists(struct fa_bench *bench, const char *name, struct faina_error *err);
enum faina_code fa_bench_cost(struct fa_bench *bench, const char *name, struct faina_error *err);
enum faina_code fa_bench_tree(struct fa_bench *bench, const char *name, struct faina_error *err);
enum faina_code fa_bench_match(struct fa_bench *bench, const char *name, struct faina_error *err);
enum faina_code fa_bench_emit(struct fa_bench *bench, const char *name, struct faina_error *err);
enum faina_code fa_bench_start(struct fa_bench *bench, const char *name, struct faina_error *err);
enum faina_code fa_bench_idle(struct fa_bench *bench, const char *name, struct faina_error *err);
enum faina_code fa_bench_pool(struct fa_bench *bench, const char *name, struct faina_error *err);
enum faina_code fa_bench_serve(struct fa_bench *bench, const char *name, struct faina_error *err);
enum faina_code fa_bench_vault(struct fa_bench *bench, const char *name, struct faina_error *err);
enum faina_code fa_bench_nats(struct fa_bench *bench, const char *name, struct faina_error *err);
enum faina_code fa_bench_broker(struct fa_bench *bench, const char *name, struct faina_error *err);
enum faina_code fa_bench_memory(struct fa_bench *bench, const char *name, struct faina_error *err);

void fa_bench_inputs_init(struct fa_bench_inputs *inputs);
static inline const char *fa_bench_input(const struct fa_bench_inputs *inputs, uint64_t number)
{
    return inputs->texts[number % FA_BENCH_INPUTS];
}
void fa_bench_key(struct fa_random *random, char out[FA_BENCH_KEY_SIZE]);

/* On a terminal: one line on stderr that the next call overwrites. */
void fa_bench_progress(const struct fa_bench *bench, const char *format, ...) FA_PRINTF(2, 3);
void fa_bench_progress_bar(const struct fa_bench *bench, const char *what, int64_t done,
                           int64_t total);
void fa_bench_progress_clear(const struct fa_bench *bench);

static inline bool fa_bench_is_postgres(const struct fa_bench *bench)
{
    return strncmp(bench->url, "postgres", 8) == 0;
}

/* Creates and removes the location of a part's stores: a folder inside the run's, or on PostgreSQL
 * the prefix of its schemas. */
enum faina_code fa_bench_location_make(const struct fa_bench *bench, const char *part, char *out,
                                       size_t size, struct faina_error *err);
void fa_bench_location_remove(const struct fa_bench *bench, const char *location);
void fa_bench_dir_remove(const char *path);

#endif
