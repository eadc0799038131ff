/*
 * otlp_json.h - spans and metrics as OTLP JSON (opentelemetry.proto.collector.*.v1), with 64-bit
 * numbers as strings and ids in hex.
 */
#ifndef FA_OTLP_OTLP_JSON_H
#define FA_OTLP_OTLP_JSON_H

#include "otlp/otlp_settings.h"

#include "json/json.h"

struct fa_otlp_resource {
    const struct fa_otlp_settings *settings;
    const char *node_id; /* NULL: none */
};

enum fa_otlp_span_kind { FA_OTLP_PRODUCER = 4, FA_OTLP_CONSUMER = 5 };

struct fa_otlp_span {
    const struct fa_task_trace *trace;
    enum fa_otlp_span_kind kind;
    uint64_t span;
    int64_t start_us, end_us;
    char id[FAINA_ID_SIZE]; /* the task's */
    const char *ns, *type;
    /* Of an attempt. */
    int64_t attempt;
    enum faina_phase phase;
    enum faina_status status;
    const char *worker; /* NULL: unknown */
    bool has_failed;
    const char *error_kind, *error; /* NULL: unknown */
};

/* A request with spans: begin, each span, end. */
void fa_otlp_spans_begin(struct fa_json_writer *w, struct fa_buf *out,
                         const struct fa_otlp_resource *resource);
void fa_otlp_span_put(struct fa_json_writer *w, const struct fa_otlp_span *span);
void fa_otlp_spans_end(struct fa_json_writer *w);

/* A request with the metrics of `text`, which is in the text format of Prometheus: counters,
 * gauges and histograms. Other lines are left out. The counts began at start_us. */
void fa_otlp_metrics_put(const char *text, int64_t start_us, int64_t now_us,
                         const struct fa_otlp_resource *resource, struct fa_buf *out);

/* How many spans or metrics the collector has left out, by its answer to a request. */
int64_t fa_otlp_rejected(struct fa_bytes answer);

#endif
