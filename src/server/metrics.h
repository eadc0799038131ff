/*
 * metrics.h - what the server counts, in the text format of Prometheus.
 *
 *   N1  No label is ever an id, and no label has more than a few hundred values.
 *
 * Threads: any. Counters are atomic; the table of types has a mutex.
 */
#ifndef FA_METRICS_H
#define FA_METRICS_H

#include "service/service.h"

struct fa_metrics;

struct fa_metrics *fa_metrics_create(size_t route_count);
void fa_metrics_destroy(struct fa_metrics *metrics); /* NULL is fine */

/* A request was answered. `route` is its place in the table; the last one stands for "no route". */
void fa_metrics_request(struct fa_metrics *metrics, size_t route, int status, int64_t ns);
/* A group of operations was committed. */
void fa_metrics_group(struct fa_metrics *metrics, size_t ops);
/* A task was stored; one has ended. Times that are not known are negative. */
void fa_metrics_submitted(struct fa_metrics *metrics, const char *type);
void fa_metrics_ended(struct fa_metrics *metrics, const char *type, enum faina_status status,
                      int64_t wait_us, int64_t run_us);

/* name="value", escaped. */
void fa_metrics_label(struct fa_buf *out, const char *name, const char *value);

/* Everything that is counted here. `name` gives the label of a route. */
void fa_metrics_write(struct fa_metrics *metrics, struct fa_buf *out,
                      const char *(*name)(size_t route));

#endif
