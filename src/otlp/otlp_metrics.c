/*
 * otlp_metrics.c - the text format of Prometheus as OTLP JSON.
 *
 * /metrics is the one list of the server's metrics, so the exporter reads its text:
 *
 *     # HELP name what it is            # TYPE name counter|gauge|histogram
 *     name{label="value",...} 12        name_bucket{...,le="0.5"} 3
 *
 * The lines of a family follow each other. The buckets of a histogram are cumulative there and
 * single in OTLP, and one label set follows the other.
 */
#include "otlp/otlp_inner.h"

#include <stdio.h>
#include <stdlib.h>

#define LABELS_MAX 16
#define BUCKETS_MAX 64
#define CUMULATIVE 2

enum family_type { FAMILY_OTHER, FAMILY_COUNTER, FAMILY_GAUGE, FAMILY_HISTOGRAM };

struct label {
    const char *name, *value;
};

struct sample {
    const char *name;
    struct label labels[LABELS_MAX]; /* without `le` */
    size_t label_count;
    const char *le; /* NULL: none */
    const char *value;
};

struct histogram {
    bool is_open;
    struct sample first; /* for its labels */
    uint64_t counts[BUCKETS_MAX];
    const char *bounds[BUCKETS_MAX];
    size_t count;
    const char *sum, *total;
};

struct converter {
    struct fa_json_writer w;
    struct fa_arena arena;
    int64_t start_us, now_us;
    const char *family, *help;
    enum family_type type;
    bool is_open; /* the family has been begun */
    struct histogram histogram;
};

/* ------------------------------------------------------------------------------------------
 * Reading
 */

/* The value of a label, between its quotes. Returns what is behind it, or NULL. */
static const char *read_value(const char *at, struct fa_arena *arena, const char **out)
{
    char *value = fa_arena_take(arena, strlen(at) + 1), *end = value;

    for (; *at && *at != '"'; at++) {
        if (*at == '\\' && at[1]) {
            at++;
            *end++ = *at == 'n' ? '\n' : *at;
        } else {
            *end++ = *at;
        }
    }
    *end = '\0';
    *out = value;
    return *at == '"' ? at + 1 : NULL;
}

static bool read_sample(const char *line, struct fa_arena *arena, struct sample *out)
{
    size_t len = strcspn(line, "{ ");

    *out = (struct sample){.name = fa_arena_copy(arena, line, len)};
    line += len;
    if (*line == '{') {
        for (line++; line && *line && *line != '}';) {
            struct label label;

            len = strcspn(line, "=");
            label.name = fa_arena_copy(arena, line, len);
            if (line[len] != '=' || line[len + 1] != '"')
                return false;
            line = read_value(line + len + 2, arena, &label.value);
            if (line && *line == ',')
                line++;
            if (strcmp(label.name, "le") == 0)
                out->le = label.value;
            else if (out->label_count < LABELS_MAX)
                out->labels[out->label_count++] = label;
        }
        if (!line || *line != '}')
            return false;
        line++;
    }
    if (*line != ' ' || line[1] == '\0')
        return false;
    out->value = line + 1;
    return true;
}

static bool has_same_labels(const struct sample *a, const struct sample *b)
{
    if (a->label_count != b->label_count)
        return false;
    for (size_t i = 0; i < a->label_count; i++)
        if (strcmp(a->labels[i].name, b->labels[i].name) != 0 ||
            strcmp(a->labels[i].value, b->labels[i].value) != 0)
            return false;
    return true;
}

/* ------------------------------------------------------------------------------------------
 * Writing
 */

static void end_family(struct converter *c)
{
    if (!c->is_open)
        return;
    fa_json_end_array(&c->w);
    fa_json_end_object(&c->w);
    fa_json_end_object(&c->w);
    c->is_open = false;
}

static const char *unit_of(const char *name)
{
    static const char seconds[] = "_seconds";
    size_t len = strlen(name), tail = sizeof(seconds) - 1;

    return len > tail && strcmp(name + len - tail, seconds) == 0 ? "s" : "1";
}

static void begin_family(struct converter *c)
{
    static const char *const kinds[] = {
        [FAMILY_COUNTER] = "sum", [FAMILY_GAUGE] = "gauge", [FAMILY_HISTOGRAM] = "histogram"};

    if (c->is_open)
        return;
    c->is_open = true;
    fa_json_begin_object(&c->w);
    fa_json_set_str(&c->w, "name", c->family);
    fa_json_opt_str(&c->w, "description", c->help);
    fa_json_set_str(&c->w, "unit", unit_of(c->family));
    fa_json_key(&c->w, kinds[c->type]);
    fa_json_begin_object(&c->w);
    if (c->type != FAMILY_GAUGE)
        fa_json_set_int(&c->w, "aggregationTemporality", CUMULATIVE);
    if (c->type == FAMILY_COUNTER)
        fa_json_set_bool(&c->w, "isMonotonic", true);
    fa_json_key(&c->w, "dataPoints");
    fa_json_begin_array(&c->w);
}

static void begin_point(struct converter *c, const struct sample *sample)
{
    begin_family(c);
    fa_json_begin_object(&c->w);
    fa_json_key(&c->w, "attributes");
    fa_json_begin_array(&c->w);
    for (size_t i = 0; i < sample->label_count; i++)
        fa_otlp_put_text(&c->w, sample->labels[i].name, sample->labels[i].value);
    fa_json_end_array(&c->w);
    if (c->type != FAMILY_GAUGE)
        fa_otlp_put_time(&c->w, "startTimeUnixNano", c->start_us);
    fa_otlp_put_time(&c->w, "timeUnixNano", c->now_us);
}

static void put_number(struct converter *c, const struct sample *sample)
{
    begin_point(c, sample);
    if (sample->value[strspn(sample->value, "-0123456789")] == '\0')
        fa_json_set_str(&c->w, "asInt", sample->value);
    else
        fa_json_set_double(&c->w, "asDouble", strtod(sample->value, NULL));
    fa_json_end_object(&c->w);
}

static void put_histogram(struct converter *c)
{
    struct histogram *histogram = &c->histogram;
    char text[FA_INT_LENGTH_MAX + 1];
    uint64_t below = 0;

    if (!histogram->is_open)
        return;
    histogram->is_open = false;
    begin_point(c, &histogram->first);
    fa_json_set_str(&c->w, "count", histogram->total ? histogram->total : "0");
    fa_json_set_double(&c->w, "sum", histogram->sum ? strtod(histogram->sum, NULL) : 0);
    fa_json_key(&c->w, "bucketCounts");
    fa_json_begin_array(&c->w);
    for (size_t i = 0; i < histogram->count; i++) {
        *fa_put_int(text, (int64_t)(histogram->counts[i] - below)) = '\0';
        fa_json_put_str(&c->w, text);
        below = histogram->counts[i];
    }
    fa_json_end_array(&c->w);
    fa_json_key(&c->w, "explicitBounds");
    fa_json_begin_array(&c->w);
    for (size_t i = 0; i + 1 < histogram->count; i++) /* all but +Inf */
        fa_json_put_double(&c->w, strtod(histogram->bounds[i], NULL));
    fa_json_end_array(&c->w);
    fa_json_end_object(&c->w);
}

static void add_to_histogram(struct converter *c, const struct sample *sample)
{
    struct histogram *histogram = &c->histogram;
    const char *part = sample->name + strlen(c->family);

    if (histogram->is_open && !has_same_labels(&histogram->first, sample))
        put_histogram(c);
    if (!histogram->is_open)
        *histogram = (struct histogram){.is_open = true, .first = *sample};
    if (strcmp(part, "_sum") == 0) {
        histogram->sum = sample->value;
    } else if (strcmp(part, "_count") == 0) {
        histogram->total = sample->value;
    } else if (sample->le && histogram->count < BUCKETS_MAX) {
        histogram->bounds[histogram->count] = sample->le;
        histogram->counts[histogram->count++] = strtoull(sample->value, NULL, 10);
    }
}

/* ------------------------------------------------------------------------------------------
 * Lines
 */

/* "# HELP name text": false: the line is something else. */
static bool read_comment(struct converter *c, const char *line, const char *word, const char **name,
                         const char **rest)
{
    size_t len = strlen(word), end;

    if (strncmp(line, word, len) != 0)
        return false;
    end = strcspn(line + len, " ");
    *name = fa_arena_copy(&c->arena, line + len, end);
    *rest = line[len + end] ? line + len + end + 1 : "";
    return true;
}

static enum family_type type_of(const char *word)
{
    return strcmp(word, "counter") == 0     ? FAMILY_COUNTER
           : strcmp(word, "gauge") == 0     ? FAMILY_GAUGE
           : strcmp(word, "histogram") == 0 ? FAMILY_HISTOGRAM
                                            : FAMILY_OTHER;
}

static void take_line(struct converter *c, const char *line)
{
    const char *name, *rest;
    struct sample sample;

    if (line[0] == '#') {
        put_histogram(c);
        end_family(c);
        if (read_comment(c, line, "# HELP ", &name, &rest)) {
            c->help = rest;
            c->type = FAMILY_OTHER;
        } else if (read_comment(c, line, "# TYPE ", &name, &rest)) {
            c->family = name;
            c->type = type_of(rest);
        }
        return;
    }
    if (line[0] == '\0' || c->type == FAMILY_OTHER || !read_sample(line, &c->arena, &sample))
        return;
    if (c->type == FAMILY_HISTOGRAM && strncmp(sample.name, c->family, strlen(c->family)) == 0)
        add_to_histogram(c, &sample);
    else if (strcmp(sample.name, c->family) == 0)
        put_number(c, &sample);
}

void fa_otlp_metrics_put(const char *text, int64_t start_us, int64_t now_us,
                         const struct fa_otlp_resource *resource, struct fa_buf *out)
{
    struct converter c = {.start_us = start_us, .now_us = now_us};

    fa_json_writer_init(&c.w, out, 0);
    fa_otlp_begin(&c.w, "resourceMetrics", "scopeMetrics", "metrics", resource);
    while (*text) {
        size_t len = strcspn(text, "\n");

        take_line(&c, fa_arena_copy(&c.arena, text, len));
        text += len + (text[len] == '\n');
    }
    put_histogram(&c);
    end_family(&c);
    fa_otlp_end(&c.w);
    fa_arena_finish(&c.arena);
}
