/*
 * fuzz_zone.c - files of time zones: refused, or with spans that join and local times that never
 * fall.
 */
#include "base/zone.h"

#include <stdlib.h>

#define SPANS 20

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool claim)
{
    if (!claim)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fa_bytes file = {(const char *)data, size};
    struct fa_zone *zone;
    int64_t at = 0, last = INT64_MIN;

    if (fa_zone_parse(&zone, file, "x", "timezone", NULL) != FAINA_OK)
        return 0;
    for (int i = 0; i < SPANS && at < INT64_C(253402300800); i++) {
        struct fa_zone_span span = fa_zone_span_at(zone, at);

        require(span.from <= at);
        require(span.until > at);
        at = span.until;
    }
    for (int64_t local = 0; local < INT64_C(4102444800); local += 1000003) {
        int64_t time = fa_zone_from_local(zone, local);

        require(time >= last);
        last = time;
    }
    fa_zone_close(zone);
    return 0;
}
