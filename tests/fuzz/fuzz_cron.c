/*
 * fuzz_cron.c - schedules: what is accepted has times that agree forward and backward; what isn't
 * is refused with a column inside the text.
 *
 * The first byte picks the zone, the next four the time to begin at.
 */
#include "base/utf8.h"
#include "model/cron.h"

#include <stdlib.h>

#define STEPS 5

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool claim)
{
    if (!claim)
        abort();
}

static void check_times(const struct fa_cron *cron, const struct fa_zone *zone, int64_t us)
{
    for (int step = 0; step < STEPS; step++) {
        int64_t next, back;

        if (!fa_cron_next(cron, zone, us, &next))
            return;
        require(next > us);
        require(fa_cron_previous(cron, zone, next, &back));
        require(back == next);
        if (fa_cron_previous(cron, zone, next - 1, &back))
            require(back <= us && (step == 0 || back == us));
        us = next;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"UTC", "Europe/Berlin", "Australia/Lord_Howe",
                                        "Pacific/Apia"};
    struct fa_arena arena = {0};
    struct fa_zone *zone = NULL;
    struct faina_error err = {0};
    struct fa_cron cron;
    uint32_t start;
    const char *text;

    if (size < 5)
        return 0;
    memcpy(&start, data + 1, sizeof(start));
    text = fa_arena_copy(&arena, (const char *)data + 5, size - 5);
    if (fa_cron_parse(text, "schedule", &cron, &err) != FAINA_OK) {
        require(fa_utf8_is_valid(fa_str(err.message)));
        require(err.column <= (int)strlen(text) + 1);
    } else if (fa_zone_open(&zone, NULL, names[data[0] % FA_COUNT(names)], "x", NULL) == FAINA_OK) {
        check_times(&cron, zone, (int64_t)start * 1000000);
    }
    fa_zone_close(zone);
    fa_arena_finish(&arena);
    return 0;
}
