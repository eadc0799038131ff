/*
 * rates.h - how many tasks per second were submitted and ended, by namespace and type.
 *
 * Counts what this process has committed in the last minute, in slots of ten seconds. At most
 * FA_RATES_MAX types are counted; a new one replaces a type that was idle for a minute.
 *
 * Threads: any.
 */
#ifndef FA_SERVER_RATES_H
#define FA_SERVER_RATES_H

#include "json/json.h"
#include "service/service.h"

#define FA_RATES_MAX 1000

struct fa_rates;

/* Tasks per second, averaged over the last minute. */
struct fa_rate {
    double submitted;
    double ended[FAINA_STATUS_COUNT]; /* of the final statuses */
};

struct fa_rates *fa_rates_create(int64_t now_us);
void fa_rates_destroy(struct fa_rates *rates); /* NULL is fine */

void fa_rates_count(struct fa_rates *rates, const struct fa_commit_stats *stats, int64_t now_us);
/* Of a type in a namespace. */
struct fa_rate fa_rates_of(struct fa_rates *rates, const char *ns, const char *type,
                           int64_t now_us);
/* The sum of all counted types; ns, type: only these, unless NULL. */
struct fa_rate fa_rates_sum(struct fa_rates *rates, const char *ns, const char *type,
                            int64_t now_us);
/* {submitted, completed, failed, dead_letter, cancelled} */
void fa_rate_put(struct fa_json_writer *w, const struct fa_rate *rate);

#endif
