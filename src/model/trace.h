/*
 * trace.h - W3C trace context of tasks, and which traces are sampled (OpenTelemetry).
 *
 * A task may have a `traceparent` in its metadata: the span of its submitter. The spans that Faina
 * exports (otlp/otlp.h) belong to the trace of that span:
 *
 *     traceparent in the metadata  <-  span of the submit  <-  span of each attempt
 *
 *   T1  The ids of Faina's spans follow from the task's id and the fence of the claim, so the
 *       processes that claim a task, run its handler and store its outcome agree about them.
 *   T2  The trace of a task without a traceparent has the task's id, without dashes.
 *   T3  All spans of a task are sampled, or none is.
 */
#ifndef FA_MODEL_TRACE_H
#define FA_MODEL_TRACE_H

#include "model/id.h"

#define FA_TRACE_SIZE 56      /* of a traceparent, with its NUL */
#define FA_TRACE_ID_SIZE 33   /* in hex, with its NUL */
#define FA_TRACE_SPAN_SIZE 17 /* in hex, with its NUL */
#define FA_TRACE_SAMPLED 1    /* a flag */

struct fa_trace {
    uint64_t high, low; /* the trace's id; not both 0 */
    uint64_t span;      /* never 0 */
    uint8_t flags;
};

/* 00-<32 hex>-<16 hex>-<2 hex> in lower case; versions above 00 may have more behind it. False:
 * anything else, version ff, an id of zeros. */
bool fa_trace_parse(const char *text, struct fa_trace *out);
/* The string `traceparent` of metadata; False: there is none, or it is none. */
bool fa_trace_of_metadata(const char *metadata, struct fa_trace *out);
/* Metadata (NULL: none) with this traceparent, in the arena. */
const char *fa_trace_store(const char *metadata, const struct fa_trace *trace,
                           struct fa_arena *arena);

void fa_trace_format(const struct fa_trace *trace, char out[FA_TRACE_SIZE]);
void fa_trace_id_format(uint64_t high, uint64_t low, char out[FA_TRACE_ID_SIZE]);
void fa_trace_span_format(uint64_t span, char out[FA_TRACE_SPAN_SIZE]);

/* Which traces are exported. */
struct fa_sampler {
    bool follows_parent; /* the flag of the traceparent decides, if there is one */
    double ratio;        /* of the other traces: 0 none, 1 all; the trace's id decides */
};
/* By the names of OTEL_TRACES_SAMPLER; `ratio` is the text of OTEL_TRACES_SAMPLER_ARG or NULL.
 * False: unknown, or the ratio is not between 0 and 1. */
bool fa_sampler_parse(const char *name, const char *ratio, struct fa_sampler *out);

/* The spans of a task. */
struct fa_task_trace {
    uint64_t high, low;
    uint64_t parent; /* the submitter's span; 0: none */
    uint64_t submit; /* the span of the submit */
    bool is_sampled;
};
/* `parent` is its traceparent; NULL: none. */
void fa_trace_of_task(const struct fa_sampler *sampler, struct fa_id id,
                      const struct fa_trace *parent, struct fa_task_trace *out);
/* The span of an attempt, by the fence of its claim. */
uint64_t fa_trace_attempt(struct fa_id id, int64_t fence);

/* The context in which a claimed task's handler runs: the span of the attempt or, when no spans are
 * exported (`sampler` is NULL), that of the submitter. False: it has none. */
bool fa_trace_of_claim(const struct fa_sampler *sampler, const struct faina_task *task,
                       char out[FA_TRACE_SIZE]);

#endif
