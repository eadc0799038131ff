/*
 * rates.h - how many tasks a second came and ended lately, by namespace and type.
 *
 * It counts what this process has committed, for the last minute or so, in slots of ten seconds.
 * Types beyond FA_RATES_MAX are left out, until others were idle for a minute.
 *
 * Threads: any.
 */
#ifndef FA_RATES_H
#define FA_RATES_H

#include "base/json.h"
#include "service/service.h"

#define FA_RATES_MAX 1000

struct fa_rates;

/* A second, over the last minute. */
struct fa_rate {
    double submitted;
    double ended[FAINA_STATUS_COUNT]; /* by the statuses that are ends */
};

struct fa_rates *fa_rates_create(int64_t now_us);
void fa_rates_destroy(struct fa_rates *rates); /* NULL is fine */

void fa_rates_count(struct fa_rates *rates, const struct fa_facts *facts, int64_t now_us);
/* Of a type in a namespace. Zeros: nothing happened lately. */
struct fa_rate fa_rates_of(struct fa_rates *rates, const char *ns, const char *type,
                           int64_t now_us);
/* Of all types that are counted; or of a namespace, or a type. */
struct fa_rate fa_rates_sum(struct fa_rates *rates, const char *ns, const char *type,
                            int64_t now_us);
/* {submitted, completed, failed, dead_letter, cancelled} */
void fa_rate_put(struct fa_json_writer *w, const struct fa_rate *rate);

#endif
