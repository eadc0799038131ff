/*
 * otlp_json.c - what all requests have, and spans. The names of attributes are those of the
 * semantic conventions for messaging.
 */
#include "otlp/otlp_json.h"

#include "model/codes.h"
#include "otlp/otlp_inner.h"

#include <stdio.h>

#define ANSWER_DEPTH_MAX 16
#define STATUS_ERROR 2

void fa_otlp_put_time(struct fa_json_writer *w, const char *key, int64_t us)
{
    char text[FA_INT_LENGTH_MAX + 8];

    snprintf(text, sizeof(text), "%lld000", (long long)(us > 0 ? us : 0));
    fa_json_set_str(w, key, us > 0 ? text : "0");
}

static void begin_attribute(struct fa_json_writer *w, const char *key, const char *type)
{
    fa_json_begin_object(w);
    fa_json_set_str(w, "key", key);
    fa_json_key(w, "value");
    fa_json_begin_object(w);
    fa_json_key(w, type);
}

static void end_attribute(struct fa_json_writer *w)
{
    fa_json_end_object(w);
    fa_json_end_object(w);
}

void fa_otlp_put_text(struct fa_json_writer *w, const char *key, const char *value)
{
    if (!value)
        return;
    begin_attribute(w, key, "stringValue");
    fa_json_put_str(w, value);
    end_attribute(w);
}

/* 64-bit numbers are strings. */
static void put_int(struct fa_json_writer *w, const char *key, int64_t value)
{
    char text[FA_INT_LENGTH_MAX + 1];

    *fa_put_int(text, value) = '\0';
    begin_attribute(w, key, "intValue");
    fa_json_put_str(w, text);
    end_attribute(w);
}

static bool has_attribute(const struct fa_otlp_settings *settings, const char *key)
{
    for (size_t i = 0; i < settings->resource_count; i++)
        if (strcmp(settings->resource[i].key, key) == 0)
            return true;
    return false;
}

/* {"resourceX":[{"resource":{...},"scopeX":[{"scope":{...},"X":[ */
void fa_otlp_begin(struct fa_json_writer *w, const char *of_resource, const char *of_scope,
                   const char *items, const struct fa_otlp_resource *resource)
{
    const struct fa_otlp_settings *settings = resource->settings;

    fa_json_begin_object(w);
    fa_json_key(w, of_resource);
    fa_json_begin_array(w);
    fa_json_begin_object(w);
    fa_json_key(w, "resource");
    fa_json_begin_object(w);
    fa_json_key(w, "attributes");
    fa_json_begin_array(w);
    for (size_t i = 0; i < settings->resource_count; i++)
        fa_otlp_put_text(w, settings->resource[i].key, settings->resource[i].value);
    if (!has_attribute(settings, "service.version"))
        fa_otlp_put_text(w, "service.version", FAINA_VERSION);
    if (!has_attribute(settings, "service.instance.id"))
        fa_otlp_put_text(w, "service.instance.id", resource->node_id);
    fa_json_end_array(w);
    fa_json_end_object(w);
    fa_json_key(w, of_scope);
    fa_json_begin_array(w);
    fa_json_begin_object(w);
    fa_json_key(w, "scope");
    fa_json_begin_object(w);
    fa_json_set_str(w, "name", "faina");
    fa_json_set_str(w, "version", FAINA_VERSION);
    fa_json_end_object(w);
    fa_json_key(w, items);
    fa_json_begin_array(w);
}

void fa_otlp_end(struct fa_json_writer *w)
{
    fa_json_end_array(w);
    fa_json_end_object(w);
    fa_json_end_array(w);
    fa_json_end_object(w);
    fa_json_end_array(w);
    fa_json_end_object(w);
}

/* ------------------------------------------------------------------------------------------
 * Spans
 */

void fa_otlp_spans_begin(struct fa_json_writer *w, struct fa_buf *out,
                         const struct fa_otlp_resource *resource)
{
    fa_json_writer_init(w, out, 0);
    fa_otlp_begin(w, "resourceSpans", "scopeSpans", "spans", resource);
}

static void put_attempt_attributes(struct fa_json_writer *w, const struct fa_otlp_span *span)
{
    static const char *const phases[] = {"start", "resume", "error"};

    fa_otlp_put_text(w, "messaging.client.id", span->worker);
    put_int(w, "faina.attempt", span->attempt);
    fa_otlp_put_text(w, "faina.phase",
                     (size_t)span->phase < FA_COUNT(phases) ? phases[span->phase] : NULL);
    fa_otlp_put_text(w, "faina.status", faina_status_name(span->status));
    if (span->has_failed)
        fa_otlp_put_text(w, "error.type", span->error_kind ? span->error_kind : "_OTHER");
}

/* The submit, from which the attempt comes. */
static void put_link(struct fa_json_writer *w, const char *trace, uint64_t span)
{
    char text[FA_TRACE_SPAN_SIZE];

    fa_trace_span_format(span, text);
    fa_json_key(w, "links");
    fa_json_begin_array(w);
    fa_json_begin_object(w);
    fa_json_set_str(w, "traceId", trace);
    fa_json_set_str(w, "spanId", text);
    fa_json_end_object(w);
    fa_json_end_array(w);
}

void fa_otlp_span_put(struct fa_json_writer *w, const struct fa_otlp_span *span)
{
    char trace[FA_TRACE_ID_SIZE], own[FA_TRACE_SPAN_SIZE], parent[FA_TRACE_SPAN_SIZE], name[300];
    bool is_submit = span->kind == FA_OTLP_PRODUCER;
    uint64_t above = is_submit ? span->trace->parent : span->trace->submit;

    fa_trace_id_format(span->trace->high, span->trace->low, trace);
    fa_trace_span_format(span->span, own);
    fa_trace_span_format(above, parent);
    snprintf(name, sizeof(name), "%s %s", is_submit ? "send" : "process", span->type);
    fa_json_begin_object(w);
    fa_json_set_str(w, "traceId", trace);
    fa_json_set_str(w, "spanId", own);
    if (above != 0)
        fa_json_set_str(w, "parentSpanId", parent);
    fa_json_set_str(w, "name", name);
    fa_json_set_int(w, "kind", span->kind);
    fa_otlp_put_time(w, "startTimeUnixNano", span->start_us);
    fa_otlp_put_time(w, "endTimeUnixNano",
                     span->end_us > span->start_us ? span->end_us : span->start_us);
    fa_json_key(w, "attributes");
    fa_json_begin_array(w);
    fa_otlp_put_text(w, "messaging.system", "faina");
    fa_otlp_put_text(w, "messaging.operation.type", is_submit ? "send" : "process");
    fa_otlp_put_text(w, "messaging.operation.name", is_submit ? "submit" : "run");
    fa_otlp_put_text(w, "messaging.destination.name", span->type);
    fa_otlp_put_text(w, "messaging.message.id", span->id);
    fa_otlp_put_text(w, "faina.namespace", span->ns);
    if (!is_submit)
        put_attempt_attributes(w, span);
    fa_json_end_array(w);
    if (!is_submit)
        put_link(w, trace, span->trace->submit);
    fa_json_key(w, "status");
    fa_json_begin_object(w);
    if (span->has_failed)
        fa_json_set_int(w, "code", STATUS_ERROR);
    if (span->has_failed)
        fa_json_opt_str(w, "message", span->error);
    fa_json_end_object(w);
    fa_json_end_object(w);
}

void fa_otlp_spans_end(struct fa_json_writer *w)
{
    fa_otlp_end(w);
}

/* ------------------------------------------------------------------------------------------
 * Answers
 */

int64_t fa_otlp_rejected(struct fa_bytes answer)
{
    static const char *const names[] = {"rejectedSpans", "rejectedDataPoints"};
    struct fa_json partial, member;
    struct fa_arena arena = {0};
    int64_t count = 0;

    if (answer.len == 0 ||
        fa_json_check(answer, ANSWER_DEPTH_MAX, "answer", FAINA_INTERNAL, NULL) != FAINA_OK ||
        !fa_json_member(fa_json_value(answer), "partialSuccess", &partial))
        return 0;
    for (size_t i = 0; i < FA_COUNT(names); i++) {
        if (!fa_json_member(partial, names[i], &member))
            continue;
        if (member.type == FA_JSON_STRING) /* a 64-bit number, as the JSON of OTLP has it */
            member = fa_json_value(fa_str(fa_json_text(member, &arena)));
        if (member.type != FA_JSON_NUMBER || !fa_json_int(member, &count))
            count = 0;
    }
    fa_arena_finish(&arena);
    return count > 0 ? count : 0;
}
