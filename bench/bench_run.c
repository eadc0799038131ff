/*
 * bench_run.c - inputs, progress and folders.
 */
#include "bench/bench_run.h"

#include "bench/bench_raw_postgres.h"

#include <errno.h>
#include <ftw.h>
#include <stdarg.h>
#include <sys/stat.h>

/* ------------------------------------------------------------------------------------------
 * Inputs and keys
 */

/* An order as JSON, padded with a note, so that all inputs have the same length. */
void fa_bench_inputs_init(struct fa_bench_inputs *inputs)
{
    struct fa_random random;

    fa_random_seed(&random, 1);
    for (size_t i = 0; i < FA_BENCH_INPUTS; i++) {
        char *text = inputs->texts[i];
        int len =
            snprintf(text, FA_BENCH_INPUT_SIZE,
                     "{\"order\":%u,\"customer\":\"c-%06x\",\"items\":[{\"sku\":\"%08x\","
                     "\"count\":%u},{\"sku\":\"%08x\",\"count\":%u}],\"express\":%s,"
                     "\"note\":\"",
                     (unsigned)fa_random_below(&random, 1000000000),
                     (unsigned)fa_random_below(&random, 1 << 24), (unsigned)fa_random_next(&random),
                     (unsigned)fa_random_below(&random, 100), (unsigned)fa_random_next(&random),
                     (unsigned)fa_random_below(&random, 100), i % 2 ? "true" : "false");

        for (; len < FA_BENCH_INPUT_SIZE - 2; len++)
            text[len] = (char)('a' + fa_random_below(&random, 26));
        memcpy(text + FA_BENCH_INPUT_SIZE - 2, "\"}", 3);
    }
}

void fa_bench_key(struct fa_random *random, char out[FA_BENCH_KEY_SIZE])
{
    static const char digits[] = "0123456789abcdef";
    uint64_t bits = 0;

    for (int i = 0; i < FA_BENCH_KEY_SIZE - 1; i++) {
        if (i % 16 == 0)
            bits = fa_random_next(random);
        out[i] = digits[bits & 15];
        bits >>= 4;
    }
    out[FA_BENCH_KEY_SIZE - 1] = '\0';
}

/* ------------------------------------------------------------------------------------------
 * Progress
 */

#define LINE_START "\r\033[K"

void fa_bench_progress(const struct fa_bench *bench, const char *format, ...)
{
    va_list args;

    if (!bench->has_terminal)
        return;
    fputs(LINE_START, stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fflush(stderr);
}

void fa_bench_progress_bar(const struct fa_bench *bench, const char *what, int64_t done,
                           int64_t total)
{
    static const char full[] = "##############################";
    static const char empty[] = "..............................";
    const int width = (int)sizeof full - 1;
    int filled = total > 0 ? (int)(done * width / total) : width;

    fa_bench_progress(bench, "%s [%.*s%.*s] %d %%", what, filled, full, width - filled, empty,
                      total > 0 ? (int)(done * 100 / total) : 100);
}

void fa_bench_progress_clear(const struct fa_bench *bench)
{
    fa_bench_progress(bench, "%s", "");
}

/* ------------------------------------------------------------------------------------------
 * Locations
 */

enum faina_code fa_bench_location_make(const struct fa_bench *bench, const char *part, char *out,
                                       size_t size, struct faina_error *err)
{
    bool is_postgres = fa_bench_is_postgres(bench);
    int len = snprintf(out, size, is_postgres ? "%s_%s" : "%s/%s",
                       is_postgres ? bench->mark : bench->dir, part);

    if (len < 0 || (size_t)len >= size)
        return fa_error_set(err, FAINA_INVALID_REQUEST, "the path of the folder is too long");
    for (char *at = out; is_postgres && *at; at++)
        *at = *at == '-' ? '_' : *at;
    if (is_postgres)
        return FAINA_OK;
    if (mkdir(out, 0700) != 0)
        return fa_error_set(err, FAINA_UNAVAILABLE, "can't create the folder %.300s: %s", out,
                            strerror(errno));
    return FAINA_OK;
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *position)
{
    (void)info;
    (void)kind;
    (void)position;
    return remove(path);
}

void fa_bench_location_remove(const struct fa_bench *bench, const char *location)
{
    struct faina_error err;

    if (!fa_bench_is_postgres(bench))
        fa_bench_dir_remove(location);
    else if (fa_bench_schemas_drop(bench, location, false, &err) != FAINA_OK)
        fprintf(stderr, "faina-bench: %s\n", err.message);
}

void fa_bench_dir_remove(const char *path)
{
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
