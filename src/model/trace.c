/* trace.c - see trace.h. */
#include "model/trace.h"

#include "json/merge.h"

#include <stdlib.h>

#define TEXT_LENGTH (FA_TRACE_SIZE - 1)
#define RANDOM_BITS 56 /* of a trace's id: the last ones, as W3C Trace Context says */

/* ------------------------------------------------------------------------------------------
 * Text
 */

static bool take_hex(const char *text, size_t count, uint64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < count; i++) {
        char c = text[i];

        if (c >= '0' && c <= '9')
            *out = *out << 4 | (uint64_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            *out = *out << 4 | (uint64_t)(c - 'a' + 10);
        else
            return false;
    }
    return true;
}

bool fa_trace_parse(const char *text, struct fa_trace *out)
{
    size_t len = text ? strlen(text) : 0;
    struct fa_trace trace;
    uint64_t version, flags;

    if (len < TEXT_LENGTH || text[2] != '-' || text[35] != '-' || text[52] != '-' ||
        !take_hex(text, 2, &version) || !take_hex(text + 3, 16, &trace.high) ||
        !take_hex(text + 19, 16, &trace.low) || !take_hex(text + 36, 16, &trace.span) ||
        !take_hex(text + 53, 2, &flags))
        return false;
    if (version == 0xff || (trace.high == 0 && trace.low == 0) || trace.span == 0)
        return false;
    if (len > TEXT_LENGTH && (version == 0 || text[TEXT_LENGTH] != '-'))
        return false;
    trace.flags = (uint8_t)flags;
    *out = trace;
    return true;
}

void fa_trace_id_format(uint64_t high, uint64_t low, char out[FA_TRACE_ID_SIZE])
{
    *fa_put_hex16(fa_put_hex16(out, high), low) = '\0';
}

void fa_trace_span_format(uint64_t span, char out[FA_TRACE_SPAN_SIZE])
{
    *fa_put_hex16(out, span) = '\0';
}

void fa_trace_format(const struct fa_trace *trace, char out[FA_TRACE_SIZE])
{
    static const char digits[] = "0123456789abcdef";

    memcpy(out, "00-", 3);
    fa_trace_id_format(trace->high, trace->low, out + 3);
    out[35] = '-';
    fa_trace_span_format(trace->span, out + 36);
    out[52] = '-';
    out[53] = digits[trace->flags >> 4];
    out[54] = digits[trace->flags & 15];
    out[55] = '\0';
}

bool fa_trace_of_metadata(const char *metadata, struct fa_trace *out)
{
    char text[FA_TRACE_SIZE];
    struct fa_json member;

    /* Most metadata has none, and the search is faster than the walk. */
    if (metadata == NULL || strstr(metadata, "\"traceparent\"") == NULL ||
        !fa_json_member(fa_json_value(fa_str(metadata)), "traceparent", &member) ||
        member.type != FA_JSON_STRING || member.raw.len != sizeof(text) - 1 + 2)
        return false;
    memcpy(text, member.raw.ptr + 1, sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    return fa_trace_parse(text, out);
}

const char *fa_trace_store(const char *metadata, const struct fa_trace *trace,
                           struct fa_arena *arena)
{
    char text[FA_TRACE_SIZE];
    const char *own;

    fa_trace_format(trace, text);
    own = fa_arena_printf(arena, "{\"traceparent\":\"%s\"}", text);
    return metadata ? fa_json_merge(metadata, own, arena) : own;
}

/* ------------------------------------------------------------------------------------------
 * Sampling
 */

bool fa_sampler_parse(const char *name, const char *ratio, struct fa_sampler *out)
{
    static const struct {
        const char *name;
        struct fa_sampler sampler;
        bool has_ratio;
    } known[] = {
        {"always_on", {false, 1}, false},
        {"always_off", {false, 0}, false},
        {"traceidratio", {false, 1}, true},
        {"parentbased_always_on", {true, 1}, false},
        {"parentbased_always_off", {true, 0}, false},
        {"parentbased_traceidratio", {true, 1}, true},
    };

    for (size_t i = 0; i < FA_COUNT(known); i++) {
        struct fa_sampler found = known[i].sampler;
        char *end = NULL;

        if (strcmp(name, known[i].name) != 0)
            continue;
        if (known[i].has_ratio && ratio && ratio[0]) {
            found.ratio = strtod(ratio, &end);
            if (*end != '\0' || !(found.ratio >= 0 && found.ratio <= 1))
                return false;
        }
        *out = found;
        return true;
    }
    return false;
}

static bool takes(const struct fa_sampler *sampler, uint64_t low, const struct fa_trace *parent)
{
    const uint64_t whole = UINT64_C(1) << RANDOM_BITS;

    if (sampler->follows_parent && parent)
        return (parent->flags & FA_TRACE_SAMPLED) != 0;
    return (double)(low & (whole - 1)) < sampler->ratio * (double)whole;
}

/* ------------------------------------------------------------------------------------------
 * Spans of tasks
 */

/* Mixes all bits of a number (the last step of SplitMix64). */
static uint64_t mix(uint64_t bits)
{
    bits = (bits ^ bits >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    bits = (bits ^ bits >> 27) * UINT64_C(0x94d049bb133111eb);
    return bits ^ bits >> 31;
}

uint64_t fa_trace_attempt(struct fa_id id, int64_t fence)
{
    uint64_t span = mix(mix(mix((uint64_t)id.key) ^ (uint64_t)id.tail) ^ (uint64_t)fence);

    return span != 0 ? span : 1;
}

void fa_trace_of_task(const struct fa_sampler *sampler, struct fa_id id,
                      const struct fa_trace *parent, struct fa_task_trace *out)
{
    char text[FAINA_ID_SIZE], hex[FA_TRACE_ID_SIZE] = "", *end = hex;

    *out = (struct fa_task_trace){.submit = fa_trace_attempt(id, 0)};
    if (parent) {
        out->high = parent->high;
        out->low = parent->low;
        out->parent = parent->span;
    } else {
        fa_id_format(id, text);
        for (const char *at = text; *at; at++)
            if (*at != '-')
                *end++ = *at;
        (void)!take_hex(hex, 16, &out->high);
        (void)!take_hex(hex + 16, 16, &out->low);
    }
    out->is_sampled = takes(sampler, out->low, parent);
}

bool fa_trace_of_claim(const struct fa_sampler *sampler, const struct faina_task *task,
                       char out[FA_TRACE_SIZE])
{
    struct fa_trace parent, context;
    bool has_parent = fa_trace_of_metadata(task->metadata, &parent);
    struct fa_task_trace spans;
    struct fa_id id;

    if (!sampler || !fa_id_parse(task->id, &id)) {
        if (has_parent)
            fa_trace_format(&parent, out);
        return has_parent;
    }
    fa_trace_of_task(sampler, id, has_parent ? &parent : NULL, &spans);
    context = (struct fa_trace){
        .high = spans.high,
        .low = spans.low,
        .span = fa_trace_attempt(id, task->fence),
        .flags = spans.is_sampled ? FA_TRACE_SAMPLED : 0,
    };
    fa_trace_format(&context, out);
    return true;
}
