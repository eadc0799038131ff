/*
 * metrics.h - the server's counters and histograms, in the text format of Prometheus.
 *
 *   N1  No label is ever an id, and no label has more than a few hundred values.
 *
 * Threads: any. Counters are atomic; the table of types has a mutex.
 */
#ifndef FA_SERVER_METRICS_H
#define FA_SERVER_METRICS_H

#include "service/service.h"

#define FA_METRICS_TYPES_MAX 100 /* N1: the others together are "other" */

struct fa_metrics;

struct fa_metrics *fa_metrics_create(size_t route_count);
void fa_metrics_destroy(struct fa_metrics *metrics); /* NULL is fine */

/* A request has its response. `route` is its index in the table; route_count means "no route". */
void fa_metrics_request(struct fa_metrics *metrics, size_t route, int status, int64_t ns);
/* A group of operations was committed. */
void fa_metrics_group(struct fa_metrics *metrics, size_t ops);
/* Counts a commit; ctx is the metrics (service.h). */
void fa_metrics_count(void *ctx, const struct fa_commit_stats *stats);

/* The lines HELP and TYPE of a metric. */
void fa_metrics_head(struct fa_buf *out, const char *name, const char *kind, const char *help);
/* name="value", escaped. */
void fa_metrics_label(struct fa_buf *out, const char *name, const char *value);

/* Writes all of these metrics. `name` writes the label of a route. */
void fa_metrics_write(struct fa_metrics *metrics, struct fa_buf *out,
                      void (*name)(size_t route, struct fa_buf *out));

#endif
