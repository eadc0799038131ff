/*
 * history_read.c - the history of a type, of a namespace or of everything: stored rows, what is in
 * memory only (txn/history_log.h), and how many tasks wait and run now.
 */
#include "store/read/lookup.h"

#include "store/db/store.h"
#include "store/txn/history_log.h"

#define ROWS_MAX 200000                      /* read by one request; more are left out */
#define UNSTORED_US (3 * FA_HISTORY_HOUR_US) /* older minutes aren't in memory (L3) */

struct bucket {
    struct fa_history_counts counts;
    int64_t waiting, running, oldest_ms;
    int64_t gauge_at_us; /* of which the gauges are; 0: none */
};

struct reading {
    struct fa_arena *arena;
    struct fa_history_range range;
    struct bucket **buckets; /* NULL: nothing was counted there */
    int64_t now_us;
    int64_t *parts; /* numbers of the last minutes that are stored (L2) */
    size_t part_count, part_size;
    const char *ns; /* "*": all */
};

static struct bucket *bucket_of(struct reading *reading, int64_t at_us)
{
    const struct fa_history_range *range = &reading->range;
    size_t at;

    if (at_us < range->from_us)
        return NULL;
    at = (size_t)((at_us - range->from_us) / range->step_us);
    if (at >= range->count)
        return NULL;
    if (reading->buckets[at] == NULL)
        reading->buckets[at] = fa_arena_zero(reading->arena, 1, sizeof(struct bucket));
    return reading->buckets[at];
}

static void note_part(struct reading *reading, int64_t seq, int64_t at_us)
{
    int64_t part = FA_HISTORY_PART(seq);

    if (at_us < reading->now_us - UNSTORED_US ||
        (reading->part_count > 0 && reading->parts[reading->part_count - 1] == part))
        return;
    reading->parts = fa_arena_grow(reading->arena, reading->parts, reading->part_count,
                                   &reading->part_size, sizeof(int64_t));
    reading->parts[reading->part_count++] = part;
}

/* Rows of the same time in different namespaces are added up; in one bucket, the last time counts.
 * Columns of history_read. */
static void take_gauge(struct bucket *bucket, int64_t at_us, const struct fa_value *c)
{
    if (at_us > bucket->gauge_at_us)
        bucket->waiting = bucket->running = 0;
    if (at_us < bucket->gauge_at_us)
        return;
    bucket->gauge_at_us = at_us;
    bucket->waiting += c[12].i;
    bucket->running += fa_value_as_int(&c[13]);
    if (fa_value_as_int(&c[14]) > bucket->oldest_ms)
        bucket->oldest_ms = fa_value_as_int(&c[14]);
}

static void sink_row(void *ctx, size_t n, const struct fa_value *c)
{
    struct reading *reading = ctx;
    int64_t at_us = fa_value_as_int(&c[1]);
    struct bucket *bucket = bucket_of(reading, at_us);

    (void)n;
    note_part(reading, fa_value_as_int(&c[0]), at_us);
    if (bucket == NULL)
        return;
    for (int i = 0; i < FA_HISTORY_COUNTS; i++)
        bucket->counts.n[i] += fa_value_as_int(&c[4 + i]);
    fa_histogram_parse(c[10].text, &bucket->counts.waits);
    fa_histogram_parse(c[11].text, &bucket->counts.runs);
    if (c[12].kind == FA_INT)
        take_gauge(bucket, at_us, c);
}

/* The stored rows between two times; `base` selects those of minutes or hours. */
static enum faina_code read_rows(struct fa_source *source, struct reading *reading,
                                 const char *type, int64_t base, struct faina_error *err)
{
    const struct fa_history_range *range = &reading->range;
    int64_t to = range->from_us + (int64_t)range->count * range->step_us;
    bool is_all = strcmp(reading->ns, "*") == 0;
    struct fa_value low = fa_value_int(base | fa_history_seq(range->from_us, 0, 0));
    struct fa_value high = fa_value_int(base | fa_history_seq(to, 0, 0));
    struct fa_value most = fa_value_int(ROWS_MAX);
    struct fa_value by_type[4] = {fa_value_text(type), low, high, most};
    struct fa_value by_both[5] = {fa_value_text(type), fa_value_text(is_all ? "" : reading->ns),
                                  low, high, most};

    if (is_all && type[0] != '\0')
        return fa_db_one(source->db, FA_SQL_HISTORY_READ_TYPE, by_type, 4, sink_row, reading, err);
    return fa_db_one(source->db, FA_SQL_HISTORY_READ, by_both, 5, sink_row, reading, err);
}

static void take_entry(void *ctx, const struct fa_history_minute *minute,
                       const struct fa_history_entry *entry)
{
    struct reading *reading = ctx;
    struct bucket *bucket = bucket_of(reading, minute->at_us);

    for (size_t i = reading->part_count; i > 0; i--) {
        if (reading->parts[i - 1] == FA_HISTORY_PART(minute->seq))
            return; /* it is stored */
    }
    if (bucket != NULL)
        fa_history_counts_add(&bucket->counts, &entry->counts);
}

/* The last bucket, if it contains the present, has the gauges of now. */
static enum faina_code read_present(struct fa_source *source, struct reading *reading,
                                    const struct fa_history_query *query, int64_t now_us,
                                    struct faina_error *err)
{
    struct fa_op op = {.kind = FA_OP_STATS,
                       .name = {.ns = reading->ns, .type = query->type},
                       .arena = reading->arena};
    struct bucket *bucket = bucket_of(reading, now_us);
    enum faina_code code;

    if (bucket == NULL)
        return FAINA_OK;
    code = fa_read_stats(source, &op);
    if (code != FAINA_OK) {
        *err = op.error;
        return code;
    }
    bucket->waiting = op.stats->by_status[FAINA_PENDING];
    bucket->running = op.stats->by_status[FAINA_CLAIMED] + op.stats->by_status[FAINA_RUNNING] +
                      op.stats->by_status[FAINA_BACKGROUND];
    for (size_t i = 0; i < op.stats->count; i++) {
        int64_t since_us = op.stats->types[i].oldest_ready_us;

        if (since_us > 0 && (now_us - since_us) / 1000 > bucket->oldest_ms)
            bucket->oldest_ms = (now_us - since_us) / 1000;
    }
    return FAINA_OK;
}

static struct fa_history_spans spans_of(const struct fa_histogram *histogram)
{
    struct fa_history_spans spans = {.has_any = fa_histogram_total(histogram) > 0};

    if (!spans.has_any)
        return spans;
    spans.p50 = (double)fa_histogram_quantile(histogram, 0.50) / 1e6;
    spans.p95 = (double)fa_histogram_quantile(histogram, 0.95) / 1e6;
    spans.p99 = (double)fa_histogram_quantile(histogram, 0.99) / 1e6;
    return spans;
}

static void make_item(const struct bucket *bucket, struct fa_history_item *item)
{
    const int64_t *n = bucket->counts.n;

    item->submitted = n[FA_HISTORY_SUBMITTED];
    item->completed = n[FA_HISTORY_COMPLETED];
    item->failed = n[FA_HISTORY_FAILED];
    item->dead_lettered = n[FA_HISTORY_DEAD_LETTERED];
    item->cancelled = n[FA_HISTORY_CANCELLED];
    item->retried = n[FA_HISTORY_RETRIED];
    item->waiting = bucket->waiting;
    item->running = bucket->running;
    item->oldest_ready_s = (double)bucket->oldest_ms / 1e3;
    item->wait = spans_of(&bucket->counts.waits);
    item->run = spans_of(&bucket->counts.runs);
}

static struct fa_history_answer *make_answer(const struct reading *reading)
{
    struct fa_history_answer *answer = fa_arena_zero(reading->arena, 1, sizeof(*answer));

    answer->count = reading->range.count;
    answer->step_ms = reading->range.step_us / 1000;
    answer->items = fa_arena_zero(reading->arena, answer->count + 1, sizeof(*answer->items));
    for (size_t i = 0; i < answer->count; i++) {
        answer->items[i].at_us = reading->range.from_us + (int64_t)i * reading->range.step_us;
        if (reading->buckets[i] != NULL)
            make_item(reading->buckets[i], &answer->items[i]);
    }
    return answer;
}

enum faina_code fa_read_history(struct fa_source *source, struct fa_op *op)
{
    const struct fa_history_query *query = op->history_query;
    struct reading reading = {.arena = op->arena, .ns = query->ns ? query->ns : "default"};
    int64_t now_us = fa_db_now(source->db);
    const char *type =
        query->type != NULL ? fa_name_fold(fa_arena_strdup(op->arena, query->type)) : "";
    enum faina_code code = fa_history_range_of(query, now_us, &reading.range, &op->error);

    if (code != FAINA_OK)
        return code;
    reading.now_us = now_us;
    reading.buckets = fa_arena_zero(op->arena, reading.range.count + 1, sizeof(struct bucket *));
    if (reading.range.count > 0) {
        code = read_rows(source, &reading, type, FA_HISTORY_HOURS, &op->error);
        if (code == FAINA_OK)
            code = read_rows(source, &reading, type, 0, &op->error);
        if (code == FAINA_OK && source->store != NULL)
            fa_history_log_read(source->store->history,
                                strcmp(reading.ns, "*") == 0 ? NULL : reading.ns, query->type,
                                take_entry, &reading);
        if (code == FAINA_OK)
            code = read_present(source, &reading, query, now_us, &op->error);
    }
    if (code == FAINA_OK)
        op->history = make_answer(&reading);
    return code;
}
