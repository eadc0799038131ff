/*
 * metrics.c - counters and histograms, and their text.
 */
#include "server/metrics.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define TYPES_MAX FA_METRICS_TYPES_MAX

static const double time_bounds[] = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                     0.25,   0.5,   1,      2.5,   5,    10,    30,   60};
static const double size_bounds[] = {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000};

/* The HTTP statuses of responses; the last entry is for all others. */
static const int codes[] = {200, 201, 204, 304, 400, 401, 403, 404, 405, 409, 412,
                            413, 414, 415, 429, 431, 500, 501, 503, 504, 505, 0};
#define CODES FA_COUNT(codes)

#define BUCKETS_MAX 17
_Static_assert(FA_COUNT(time_bounds) < BUCKETS_MAX, "one more for +Inf");
_Static_assert(FA_COUNT(size_bounds) < BUCKETS_MAX, "one more for +Inf");

struct histogram {
    atomic_ullong counts[BUCKETS_MAX];
    atomic_ullong sum; /* in millionths */
};

struct type_counts {
    char *type;
    uint64_t submitted, finished[FAINA_STATUS_COUNT];
    struct histogram waits, runs;
};

struct fa_metrics {
    size_t route_count;
    struct histogram *requests; /* [route_count + 1][CODES] */
    struct histogram groups;

    pthread_mutex_t mutex; /* guards the fields below */
    uint64_t leases_lost, set_aside, leader_changes, crons_missed;
    struct type_counts types[TYPES_MAX + 1];
    size_t type_count;
};

struct fa_metrics *fa_metrics_create(size_t route_count)
{
    struct fa_metrics *metrics = fa_alloc_zero(1, sizeof(*metrics));

    metrics->route_count = route_count;
    metrics->requests = fa_alloc_zero((route_count + 1) * CODES, sizeof(*metrics->requests));
    pthread_mutex_init(&metrics->mutex, NULL);
    return metrics;
}

void fa_metrics_destroy(struct fa_metrics *metrics)
{
    if (!metrics)
        return;
    for (size_t i = 0; i < metrics->type_count; i++)
        free(metrics->types[i].type);
    pthread_mutex_destroy(&metrics->mutex);
    free(metrics->requests);
    free(metrics);
}

static void observe(struct histogram *histogram, const double *bounds, size_t count, double value)
{
    size_t i = 0;

    while (i < count && value > bounds[i])
        i++;
    atomic_fetch_add_explicit(&histogram->counts[i], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&histogram->sum, (unsigned long long)(value * 1e6),
                              memory_order_relaxed);
}

static void observe_us(struct histogram *histogram, int64_t us)
{
    observe(histogram, time_bounds, FA_COUNT(time_bounds), us > 0 ? (double)us / 1e6 : 0);
}

void fa_metrics_request(struct fa_metrics *metrics, size_t route, int status, int64_t ns)
{
    size_t code = 0;

    while (code < CODES - 1 && codes[code] != status)
        code++;
    observe(&metrics->requests[route * CODES + code], time_bounds, FA_COUNT(time_bounds),
            (double)ns / 1e9);
}

void fa_metrics_group(struct fa_metrics *metrics, size_t ops)
{
    observe(&metrics->groups, size_bounds, FA_COUNT(size_bounds), (double)ops);
}

/* The mutex is held. */
static struct type_counts *counts_of(struct fa_metrics *metrics, const char *type)
{
    size_t i = 0;

    while (i < metrics->type_count && !fa_name_is_same(metrics->types[i].type, type))
        i++;
    if (i == metrics->type_count) {
        if (i >= TYPES_MAX)
            type = "other";
        if (i > TYPES_MAX)
            return &metrics->types[TYPES_MAX];
        metrics->types[i].type = strdup(type);
        metrics->type_count++;
    }
    return &metrics->types[i];
}

/* Several tasks in a row often have the same type. The mutex is held. */
static struct type_counts *counts_after(struct fa_metrics *metrics, struct type_counts *last,
                                        const char *type)
{
    return last && strcmp(last->type, type) == 0 ? last : counts_of(metrics, type);
}

void fa_metrics_count(void *ctx, const struct fa_commit_stats *stats)
{
    struct fa_metrics *metrics = ctx;
    struct type_counts *counts = NULL;

    pthread_mutex_lock(&metrics->mutex);
    metrics->leases_lost += stats->leases_lost;
    metrics->set_aside += stats->set_aside_count;
    for (size_t i = 0; i < stats->submitted_count; i++) {
        counts = counts_after(metrics, counts, stats->submitted[i].type);
        counts->submitted++;
    }
    for (size_t i = 0; i < stats->sql_submitted_count; i++) {
        counts = counts_after(metrics, counts, stats->sql_submitted[i].kind.type);
        counts->submitted += (uint64_t)stats->sql_submitted[i].n;
    }
    for (size_t i = 0; i < stats->ended_count; i++) {
        const struct fa_task_end *end = &stats->ended[i];

        counts = counts_after(metrics, counts, end->kind.type);
        counts->finished[end->status]++;
    }
    for (size_t i = 0; i < stats->wait_count; i++) {
        counts = counts_after(metrics, counts, stats->waits[i].kind.type);
        observe_us(&counts->waits, stats->waits[i].us);
    }
    for (size_t i = 0; i < stats->run_count; i++) {
        counts = counts_after(metrics, counts, stats->runs[i].kind.type);
        observe_us(&counts->runs, stats->runs[i].us);
    }
    metrics->leader_changes += stats->lead == FA_LEAD_BEGUN || stats->lead == FA_LEAD_OWNER;
    for (size_t i = 0; i < stats->missed_count; i++)
        metrics->crons_missed += (uint64_t)stats->missed[i].count;
    pthread_mutex_unlock(&metrics->mutex);
}

/* Text -------------------------------------------------------------------------------------- */

void fa_metrics_head(struct fa_buf *out, const char *name, const char *kind, const char *help)
{
    fa_buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind);
}

void fa_metrics_label(struct fa_buf *out, const char *name, const char *value)
{
    fa_buf_printf(out, "%s=\"", name);
    for (; *value; value++) {
        if (*value == '\n')
            fa_buf_add_str(out, "\\n");
        else if (*value == '"' || *value == '\\')
            fa_buf_printf(out, "\\%c", *value);
        else
            fa_buf_add_char(out, *value);
    }
    fa_buf_add_char(out, '"');
}

static void put_histogram(struct fa_buf *out, struct histogram *histogram, const double *bounds,
                          size_t count, const char *name, const char *labels)
{
    const char *comma = labels[0] ? "," : "";
    unsigned long long total = 0;

    for (size_t i = 0; i <= count; i++) {
        total += atomic_load_explicit(&histogram->counts[i], memory_order_relaxed);
        if (i < count)
            fa_buf_printf(out, "%s_bucket{%s%sle=\"%g\"} %llu\n", name, labels, comma, bounds[i],
                          total);
        else
            fa_buf_printf(out, "%s_bucket{%s%sle=\"+Inf\"} %llu\n", name, labels, comma, total);
    }
    fa_buf_printf(out, "%s_sum%s%s%s %.6f\n", name, labels[0] ? "{" : "", labels,
                  labels[0] ? "}" : "",
                  (double)atomic_load_explicit(&histogram->sum, memory_order_relaxed) / 1e6);
    fa_buf_printf(out, "%s_count%s%s%s %llu\n", name, labels[0] ? "{" : "", labels,
                  labels[0] ? "}" : "", total);
}

static bool is_used(struct histogram *histogram)
{
    for (size_t i = 0; i < BUCKETS_MAX; i++)
        if (atomic_load_explicit(&histogram->counts[i], memory_order_relaxed) > 0)
            return true;
    return false;
}

static void write_requests(struct fa_metrics *metrics, struct fa_buf *out,
                           void (*name)(size_t route, struct fa_buf *out))
{
    fa_metrics_head(out, "faina_http_request_seconds", "histogram",
                    "Time from a request's head to its response, by route and status.");
    for (size_t i = 0; i < (metrics->route_count + 1) * CODES; i++) {
        struct fa_buf labels, route;

        if (!is_used(&metrics->requests[i]))
            continue;
        fa_buf_init(&labels, 4096);
        fa_buf_init(&route, 1024);
        name(i / CODES, &route);
        fa_metrics_label(&labels, "route", route.ptr);
        fa_buf_finish(&route);
        fa_buf_printf(&labels, ",code=\"%d\"", codes[i % CODES]);
        put_histogram(out, &metrics->requests[i], time_bounds, FA_COUNT(time_bounds),
                      "faina_http_request_seconds", labels.ptr);
        fa_buf_finish(&labels);
    }
}

static void write_types(struct fa_metrics *metrics, struct fa_buf *out)
{
    pthread_mutex_lock(&metrics->mutex);
    fa_metrics_head(out, "faina_tasks_submitted_total", "counter", "Tasks that were stored.");
    for (size_t i = 0; i < metrics->type_count; i++) {
        if (metrics->types[i].submitted == 0)
            continue;
        fa_buf_add_str(out, "faina_tasks_submitted_total{");
        fa_metrics_label(out, "type", metrics->types[i].type);
        fa_buf_printf(out, "} %llu\n", (unsigned long long)metrics->types[i].submitted);
    }
    fa_metrics_head(out, "faina_tasks_finished_total", "counter",
                    "Tasks that have ended, by outcome.");
    for (size_t i = 0; i < metrics->type_count; i++) {
        for (int status = 0; status < FAINA_STATUS_COUNT; status++) {
            if (metrics->types[i].finished[status] == 0)
                continue;
            fa_buf_add_str(out, "faina_tasks_finished_total{");
            fa_metrics_label(out, "type", metrics->types[i].type);
            fa_buf_printf(out, ",outcome=\"%s\"} %llu\n",
                          faina_status_name((enum faina_status)status),
                          (unsigned long long)metrics->types[i].finished[status]);
        }
    }
    pthread_mutex_unlock(&metrics->mutex);
}

/* The mutex is held. */
static void write_spans(struct fa_metrics *metrics, struct fa_buf *out, bool runs, const char *name,
                        const char *help)
{
    fa_metrics_head(out, name, "histogram", help);
    for (size_t i = 0; i < metrics->type_count; i++) {
        struct type_counts *counts = &metrics->types[i];
        struct histogram *histogram = runs ? &counts->runs : &counts->waits;
        struct fa_buf labels;

        if (!is_used(histogram))
            continue;
        fa_buf_init(&labels, 4096);
        fa_metrics_label(&labels, "type", counts->type);
        put_histogram(out, histogram, time_bounds, FA_COUNT(time_bounds), name, labels.ptr);
        fa_buf_finish(&labels);
    }
}

static void put_counter(struct fa_buf *out, const char *name, const char *help, uint64_t value)
{
    fa_metrics_head(out, name, "counter", help);
    fa_buf_printf(out, "%s %llu\n", name, (unsigned long long)value);
}

void fa_metrics_write(struct fa_metrics *metrics, struct fa_buf *out,
                      void (*name)(size_t route, struct fa_buf *out))
{
    write_types(metrics, out);
    pthread_mutex_lock(&metrics->mutex);
    write_spans(metrics, out, false, "faina_task_wait_seconds",
                "Time that a task was ready before it was claimed.");
    write_spans(metrics, out, true, "faina_task_run_seconds",
                "Time that a worker held a task, from its start, or else its claim.");
    put_counter(out, "faina_leases_expired_total", "Leases that expired.", metrics->leases_lost);
    put_counter(out, "faina_set_aside_total",
                "Tasks, schedules and rows that were set aside because they can't be handled.",
                metrics->set_aside);
    put_counter(out, "faina_leader_changes_total", "How often this node has become the leader.",
                metrics->leader_changes);
    put_counter(out, "faina_cron_missed_total", "Times of schedules that made no task.",
                metrics->crons_missed);
    pthread_mutex_unlock(&metrics->mutex);
    fa_metrics_head(out, "faina_commit_batch_size", "histogram", "Operations in one transaction.");
    put_histogram(out, &metrics->groups, size_bounds, FA_COUNT(size_bounds),
                  "faina_commit_batch_size", "");
    write_requests(metrics, out, name);
}
