/*
 * otlp.h - exports spans and metrics to an OpenTelemetry collector: OTLP over HTTP, as JSON.
 *
 * The process whose transaction stores a task makes the span of its submit, and the process whose
 * transaction ends an attempt makes the span of that attempt (model/trace.h). So each attempt has
 * one span, whatever kind of worker has run it.
 *
 *   V1  Nothing waits for the exporter: a commit adds records to a queue in memory, and a full
 *       queue drops them and counts them.
 *   V2  One thread sends. It keeps at most one request that the collector has refused for now; it
 *       is sent again with backoff for a minute and then dropped.
 *   V3  Metrics are cumulative, so a request of them that fails is not sent again.
 *   V4  Stopping sends what is queued for up to two seconds.
 *
 * Threads: start and stop from the owner's, the rest from any.
 */
#ifndef FA_OTLP_OTLP_H
#define FA_OTLP_OTLP_H

#include "otlp/otlp_settings.h"
#include "service/service.h"
#include "worker/reporter.h"

struct fa_otlp;

struct fa_otlp_config {
    const struct fa_otlp_settings *settings; /* must outlive the exporter */
    const char *node_id;                     /* service.instance.id; NULL: none */
    struct fa_reporter log;
};

/* NOT_SUPPORTED: libcurl is not installed. No spans come from an engine in another process: that
 * process exports them. */
FA_MUST_CHECK enum faina_code fa_otlp_start(struct fa_otlp **out, struct fa_service *service,
                                            const struct fa_otlp_config *config,
                                            struct faina_error *err);
/* Before the engine is closed. NULL is fine. */
void fa_otlp_stop(struct fa_otlp *otlp);

/* What writes the metrics, in the text format of Prometheus; it is called in the exporter's
 * thread. */
typedef void fa_otlp_metrics_fn(void *ctx, struct fa_buf *out);
void fa_otlp_metrics_begin(struct fa_otlp *otlp, fa_otlp_metrics_fn *write, void *ctx);
/* Reads the metrics for the last time; `write` is not called any more after it has returned. NULL
 * is fine. */
void fa_otlp_metrics_end(struct fa_otlp *otlp);

/* The exporter's own metrics, in the text format of Prometheus. `ctx` is the exporter. */
void fa_otlp_write_own_metrics(void *ctx, struct fa_buf *out);

#endif
