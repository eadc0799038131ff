/*
 * fuzz_times.c - times and durations: what parses, prints and parses back the same.
 */
#include "model/times.h"

#include "base/utf8.h"
#include "model/limits.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool claim)
{
    if (!claim)
        abort();
}

static void check_time(const char *text)
{
    struct faina_error err;
    char printed[FA_TIME_SIZE];
    int64_t us = 0, again = 0;

    if (fa_time_parse(text, "x", &us, &err) != FAINA_OK) {
        require(fa_utf8_is_valid(fa_str(err.message)));
        return;
    }
    fa_time_format(us, printed);
    require(fa_time_parse(printed, "x", &again, &err) == FAINA_OK);
    require(again == us);
}

static void check_duration(const char *text)
{
    struct faina_error err;
    char printed[FA_TIME_SIZE];
    int64_t ms = 0;

    if (fa_duration_parse(text, "x", &ms, &err) != FAINA_OK) {
        require(fa_utf8_is_valid(fa_str(err.message)));
        return;
    }
    require(ms >= 0);
    require(ms <= FA_DURATION_MS_MAX);
    fa_duration_format(ms * 1000, printed);
    require(strlen(printed) >= 3);
}

/* Eight bytes as a time: every one prints, and those in range come back. */
static void check_number(const uint8_t *data)
{
    char printed[FA_TIME_SIZE];
    int64_t us, again = 0;

    memcpy(&us, data, sizeof(us));
    fa_duration_format(us, printed);
    fa_time_format(us, printed);
    require(fa_time_parse(printed, "x", &again, NULL) == FAINA_OK);
    if (us >= INT64_C(-62167219200000000) && us <= INT64_C(253402300799999999))
        require(again == us);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fa_arena arena = {0};
    const char *text = fa_arena_copy(&arena, (const char *)data, size);

    check_time(text);
    check_duration(text);
    if (size >= sizeof(int64_t))
        check_number(data);
    fa_arena_finish(&arena);
    return 0;
}
