/*
 * bench_run.h - what the parts of the benchmark share: the run's settings, progress on the
 * terminal, and the inputs that all subjects are given alike.
 *
 * Threads: a struct fa_bench belongs to the main thread; inputs don't change once made.
 */
#ifndef FA_BENCH_RUN_H
#define FA_BENCH_RUN_H

#include "base/random.h"
#include "cli/bench_report.h"

/* The same for every subject, so that only the work differs. */
#define FA_BENCH_CACHE_KIB (64 * 1024)
#define FA_BENCH_CHECKPOINT_PAGES 20000
#define FA_BENCH_TYPE "bench.task"
#define FA_BENCH_OUTPUT "{\"ok\":true}"
#define FA_BENCH_LEASE_MS (3600 * 1000) /* no lease may end while it is measured */

/*
 * A write-ahead log that grows costs more to flush than one that is written again from its start,
 * as it is for the rest of a store's life. So every subject, before it is measured, writes one
 * value of this size so often that the log has reached its first checkpoint, and removes it again.
 * (Many values would leave many free pages, and SQLite pays for using those: when pages of a tree
 * change places in a file below 1 GiB, the commit walks through the whole page cache.)
 */
#define FA_BENCH_GROW_SIZE 60000
#define FA_BENCH_GROW_COUNT 1400

#define FA_BENCH_INPUTS 256
#define FA_BENCH_INPUT_SIZE 200
#define FA_BENCH_KEY_SIZE 33 /* 32 hex digits and a NUL */

/* Ready-made inputs: making them must cost nobody time. */
struct fa_bench_inputs {
    char texts[FA_BENCH_INPUTS][FA_BENCH_INPUT_SIZE + 1];
};

struct fa_bench {
    const char *url; /* "sqlite:", "memory:", or that of a PostgreSQL database */
    char dir[4096];  /* where the files go */
    char mark[32];   /* what our schemas' names begin with, and our sessions are called */
    int rounds;
    bool is_quick, is_huge;
    bool has_raw; /* also measure raw statements */
    bool has_terminal;
    struct fa_bench_inputs inputs;
    struct fa_bench_report report;
};

enum fa_bench_kind { FA_BENCH_SQLITE = 1, FA_BENCH_MEMORY = 2, FA_BENCH_POSTGRES = 4 };

/* One part of the run; `only` picks them by the beginning of their name. */
struct fa_bench_part {
    const char *name, *what;
    unsigned engines; /* a set of enum fa_bench_kind: those that it is for */
    enum faina_code (*run)(struct fa_bench *bench, const char *name, struct faina_error *err);
};

enum faina_code fa_bench_life(struct fa_bench *bench, const char *name, struct faina_error *err);
enum faina_code fa_bench_claim(struct fa_bench *bench, const char *name, struct faina_error *err);
enum faina_code fa_bench_lanes(struct fa_bench *bench, const char *name, struct faina_error *err);
enum faina_code fa_bench_match(struct fa_bench *bench, const char *name, struct faina_error *err);
enum faina_code fa_bench_emit(struct fa_bench *bench, const char *name, struct faina_error *err);
enum faina_code fa_bench_start(struct fa_bench *bench, const char *name, struct faina_error *err);
enum faina_code fa_bench_idle(struct fa_bench *bench, const char *name, struct faina_error *err);
enum faina_code fa_bench_pool(struct fa_bench *bench, const char *name, struct faina_error *err);
enum faina_code fa_bench_serve(struct fa_bench *bench, const char *name, struct faina_error *err);
enum faina_code fa_bench_memory(struct fa_bench *bench, const char *name, struct faina_error *err);

void fa_bench_inputs_init(struct fa_bench_inputs *inputs);
static inline const char *fa_bench_input(const struct fa_bench_inputs *inputs, uint64_t number)
{
    return inputs->texts[number % FA_BENCH_INPUTS];
}
void fa_bench_key(struct fa_random *random, char out[FA_BENCH_KEY_SIZE]);

/* On a terminal: one line on stderr that the next call overwrites. */
void fa_bench_tell(const struct fa_bench *bench, const char *format, ...) FA_PRINTF(2, 3);
void fa_bench_tell_bar(const struct fa_bench *bench, const char *what, int64_t done, int64_t total);
void fa_bench_tell_done(const struct fa_bench *bench);

static inline bool fa_bench_is_postgres(const struct fa_bench *bench)
{
    return strncmp(bench->url, "postgres", 8) == 0;
}

/* Where the stores of one part are, and its end: a folder inside the run's, or (PostgreSQL) what
 * the names of its schemas begin with. */
enum faina_code fa_bench_place_make(const struct fa_bench *bench, const char *part, char *out,
                                    size_t size, struct faina_error *err);
void fa_bench_place_remove(const struct fa_bench *bench, const char *place);
void fa_bench_dir_remove(const char *path);

#endif
