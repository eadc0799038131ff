/* history.c - see history.h. */
#include "model/history.h"

#include "model/times.h"

static int64_t round_down(int64_t us, int64_t step_us)
{
    return us >= 0 ? us - us % step_us : 0;
}

/* The shortest usual step with which the range has few buckets. */
static int64_t usual_step(int64_t length_us, int64_t least_us)
{
    static const int64_t minutes[] = {1, 5, 15, 30, 60, 180, 360, 720, 1440};
    int64_t step_us = 0;

    for (size_t i = 0; i < FA_COUNT(minutes); i++) {
        step_us = minutes[i] * FA_HISTORY_MINUTE_US;
        if (step_us >= least_us && length_us / step_us <= FA_HISTORY_ITEMS_USUAL)
            break;
    }
    return step_us;
}

static enum faina_code check_step(const struct fa_history_query *query, struct faina_error *err)
{
    if (query->step_ms < 0 || query->step_ms % (FA_HISTORY_MINUTE_US / 1000) != 0)
        return fa_error_field(err, FAINA_INVALID_REQUEST, "step",
                              "step must be a number of whole minutes, such as \"5m\" or \"1h\"");
    return FAINA_OK;
}

enum faina_code fa_history_range_of(const struct fa_history_query *query, int64_t now_us,
                                    struct fa_history_range *out, struct faina_error *err)
{
    int64_t to = query->to_us > 0 ? query->to_us : now_us;
    int64_t from = query->from_us > 0 ? query->from_us : to - FA_HISTORY_HOUR_US;
    int64_t oldest = now_us - FA_HISTORY_HOURS_KEEP_US, least = FA_HISTORY_MINUTE_US, count;
    enum faina_code code = check_step(query, err);
    char text[FA_TIME_SIZE];

    if (code != FAINA_OK)
        return code;
    if (from >= to)
        return fa_error_field(err, FAINA_INVALID_REQUEST, "from", "from must be before to");
    if (to > now_us + FA_HISTORY_MINUTE_US)
        to = now_us + FA_HISTORY_MINUTE_US;
    if (from < oldest)
        from = oldest;
    if (from >= to) { /* all of it is in the future, or is not kept any more */
        *out = (struct fa_history_range){0};
        return FAINA_OK;
    }
    if (from < now_us - FA_HISTORY_MINUTES_KEEP_US)
        least = FA_HISTORY_HOUR_US;
    out->step_us = query->step_ms > 0 ? query->step_ms * 1000 : usual_step(to - from, least);
    if (out->step_us % least != 0) /* I2 */
        out->step_us += least - out->step_us % least;
    out->from_us = round_down(from, out->step_us);
    count = (to - out->from_us + out->step_us - 1) / out->step_us;
    fa_duration_format(out->step_us, text);
    if (count > FA_HISTORY_ITEMS_MAX)
        return fa_error_field(
            err, FAINA_INVALID_REQUEST, "step",
            "the range has %lld steps of %s; the limit is %d: name a longer step, "
            "or a shorter range",
            (long long)count, text, FA_HISTORY_ITEMS_MAX);
    out->count = (size_t)count;
    return FAINA_OK;
}

void fa_history_counts_add(struct fa_history_counts *into, const struct fa_history_counts *from)
{
    for (int i = 0; i < FA_HISTORY_COUNTS; i++)
        into->n[i] += from->n[i];
    fa_histogram_merge(&into->waits, &from->waits);
    fa_histogram_merge(&into->runs, &from->runs);
}
