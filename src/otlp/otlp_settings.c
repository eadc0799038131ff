/* otlp_settings.c - see otlp_settings.h. */
#include "otlp/otlp_settings.h"

#include <errno.h>
#include <stdlib.h>
#include <strings.h>

#define TIMEOUT_MS_DEFAULT 10000
#define DELAY_MS_DEFAULT 5000
#define INTERVAL_MS_DEFAULT 60000
#define QUEUE_DEFAULT 20000
#define QUEUE_CEILING 1000000
#define BATCH_DEFAULT 1000
#define MS_CEILING (24 * 3600 * 1000)

struct reader {
    fa_otlp_get_fn *get;
    void *ctx;
    const struct fa_reporter *log;
    struct fa_arena *arena;
    struct faina_error *err;
};

/* An empty variable is one that is not set. */
static const char *get(const struct reader *r, const char *name)
{
    const char *value = r->get(r->ctx, name);

    return value && value[0] ? value : NULL;
}

/* The variable of one signal, else the one of all: OTEL_EXPORTER_OTLP_[TRACES_]HEADERS. */
static const char *get_of(const struct reader *r, const char *signal, const char *rest,
                          const char **name)
{
    const char *value;

    *name = fa_arena_printf(r->arena, "OTEL_EXPORTER_OTLP_%s_%s", signal, rest);
    value = get(r, *name);
    if (value)
        return value;
    *name = fa_arena_printf(r->arena, "OTEL_EXPORTER_OTLP_%s", rest);
    return get(r, *name);
}

static bool is_true(const char *value)
{
    return value && strcasecmp(value, "true") == 0;
}

static int64_t read_number(const struct reader *r, const char *name, const char *value,
                           int64_t least, int64_t most, int64_t otherwise)
{
    char *end = NULL;
    long long number;

    if (!value)
        return otherwise;
    errno = 0;
    number = strtoll(value, &end, 10);
    if (errno == 0 && *end == '\0' && number >= least && number <= most)
        return number;
    fa_report(r->log, FA_LOG_WARN, "%s is not a number between %lld and %lld; %lld is used", name,
              (long long)least, (long long)most, (long long)otherwise);
    return otherwise;
}

static int64_t number(const struct reader *r, const char *name, int64_t least, int64_t most,
                      int64_t otherwise)
{
    return read_number(r, name, get(r, name), least, most, otherwise);
}

/* ------------------------------------------------------------------------------------------
 * Lists: key=value,key=value, with %xx in the values
 */

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if ((c | 32) >= 'a' && (c | 32) <= 'f')
        return (c | 32) - 'a' + 10;
    return -1;
}

/* Without the spaces around it, and without its %xx. */
static const char *decode(const struct reader *r, const char *text, size_t len)
{
    char *out, *end;

    while (len > 0 && (*text == ' ' || *text == '\t')) {
        text++;
        len--;
    }
    while (len > 0 && (text[len - 1] == ' ' || text[len - 1] == '\t'))
        len--;
    out = end = fa_arena_copy(r->arena, text, len);
    for (size_t i = 0; i < len; i++) {
        bool is_escape =
            text[i] == '%' && i + 2 < len && digit(text[i + 1]) >= 0 && digit(text[i + 2]) >= 0;

        *end++ = is_escape ? (char)(digit(text[i + 1]) << 4 | digit(text[i + 2])) : text[i];
        i += is_escape ? 2 : 0;
    }
    *end = '\0';
    return out;
}

/* False: an item without a key or a value, or too many. */
static bool read_list(const struct reader *r, const char *text, struct fa_otlp_attribute *out,
                      size_t *count)
{
    while (text && *text) {
        size_t len = strcspn(text, ",");
        const char *equal = memchr(text, '=', len);

        if (equal) {
            struct fa_otlp_attribute item = {
                decode(r, text, (size_t)(equal - text)),
                decode(r, equal + 1, len - (size_t)(equal + 1 - text)),
            };

            if (item.key[0] == '\0' || *count == FA_OTLP_ATTRIBUTES_MAX)
                return false;
            out[(*count)++] = item;
        } else if (strspn(text, " \t") < len) {
            return false;
        }
        text += len + (text[len] == ',');
    }
    return true;
}

/* ------------------------------------------------------------------------------------------
 * Signals
 */

/* Nothing that would end the header, or begin another. */
static bool is_header(const struct fa_otlp_attribute *item)
{
    static const char marks[] = "!#$%&'*+-.^_`|~";

    for (const char *at = item->key; *at; at++)
        if (!fa_is_digit(*at) && !((*at | 32) >= 'a' && (*at | 32) <= 'z') && !strchr(marks, *at))
            return false;
    for (const char *at = item->value; *at; at++)
        if ((unsigned char)*at < 32 || *at == 127)
            return false;
    return true;
}

static enum faina_code read_headers(const struct reader *r, const char *signal,
                                    struct fa_otlp_signal *out)
{
    struct fa_otlp_attribute *items =
        fa_arena_zero(r->arena, FA_OTLP_ATTRIBUTES_MAX, sizeof(*items));
    const char *name, *text = get_of(r, signal, "HEADERS", &name);
    size_t count = 0;
    bool is_good = read_list(r, text, items, &count);

    out->headers = fa_arena_zero(r->arena, count + 1, sizeof(*out->headers));
    for (size_t i = 0; is_good && i < count; i++) {
        is_good = is_header(&items[i]);
        out->headers[out->header_count++] =
            fa_arena_printf(r->arena, "%s: %s", items[i].key, items[i].value);
    }
    if (is_good)
        return FAINA_OK;
    /* The value may be a secret. */
    return fa_error_set(r->err, FAINA_INVALID_REQUEST,
                        "%s must be NAME=VALUE,NAME=VALUE, with %%xx for other characters in a "
                        "value",
                        name);
}

static bool is_url(const char *text)
{
    const char *rest = strncasecmp(text, "http://", 7) == 0    ? text + 7
                       : strncasecmp(text, "https://", 8) == 0 ? text + 8
                                                               : "";

    if (rest[0] == '\0' || rest[0] == '/')
        return false;
    for (const char *at = rest; *at; at++)
        if ((unsigned char)*at <= 32 || *at == 127)
            return false;
    return true;
}

/* OTEL_TRACES_EXPORTER=none and OTEL_METRICS_EXPORTER=none. */
static bool is_switched_off(const struct reader *r, const char *signal)
{
    const char *name = fa_arena_printf(r->arena, "OTEL_%s_EXPORTER", signal);
    const char *value = get(r, name);

    if (!value || strcmp(value, "otlp") == 0)
        return false;
    if (strcmp(value, "none") != 0)
        fa_report(r->log, FA_LOG_WARN, "%s: only otlp and none are known; otlp is used", name);
    return strcmp(value, "none") == 0;
}

static enum faina_code read_signal(const struct reader *r, const char *signal, const char *path,
                                   struct fa_otlp_signal *out)
{
    const char *own = fa_arena_printf(r->arena, "OTEL_EXPORTER_OTLP_%s_ENDPOINT", signal);
    const char *name, *url = get_of(r, signal, "ENDPOINT", &name), *value;
    size_t len = url ? strlen(url) : 0;

    if (!url || is_switched_off(r, signal))
        return FAINA_OK;
    if (!is_url(url))
        return fa_error_set(r->err, FAINA_INVALID_REQUEST,
                            "%s must be a URL such as http://127.0.0.1:4318", name);
    while (len > 0 && url[len - 1] == '/')
        len--;
    out->url =
        strcmp(name, own) == 0 ? url : fa_arena_printf(r->arena, "%.*s%s", (int)len, url, path);
    value = get_of(r, signal, "PROTOCOL", &name);
    if (value && strcmp(value, "http/json") != 0)
        fa_report(r->log, FA_LOG_WARN, "%s=%.40s: http/json is used, the only one that faina has",
                  name, value);
    value = get_of(r, signal, "TIMEOUT", &name);
    out->timeout_ms = read_number(r, name, value, 1, MS_CEILING, TIMEOUT_MS_DEFAULT);
    return read_headers(r, signal, out);
}

/* ------------------------------------------------------------------------------------------
 * All of it
 */

static struct fa_otlp_attribute *find(struct fa_otlp_settings *settings, const char *key)
{
    for (size_t i = 0; i < settings->resource_count; i++)
        if (strcmp(settings->resource[i].key, key) == 0)
            return &settings->resource[i];
    return NULL;
}

static void read_resource(const struct reader *r, struct fa_otlp_settings *out)
{
    const char *service = get(r, "OTEL_SERVICE_NAME");
    struct fa_otlp_attribute *named;

    out->resource = fa_arena_zero(r->arena, FA_OTLP_ATTRIBUTES_MAX + 1, sizeof(*out->resource));
    if (!read_list(r, get(r, "OTEL_RESOURCE_ATTRIBUTES"), out->resource, &out->resource_count)) {
        fa_report(r->log, FA_LOG_WARN,
                  "OTEL_RESOURCE_ATTRIBUTES is not key=value,key=value; it is ignored");
        out->resource_count = 0;
    }
    named = find(out, "service.name");
    if (!named) {
        named = &out->resource[out->resource_count++];
        *named = (struct fa_otlp_attribute){"service.name", "faina"};
    }
    if (service)
        named->value = service;
}

static void read_sampler(const struct reader *r, struct fa_otlp_settings *out)
{
    const char *name = get(r, "OTEL_TRACES_SAMPLER");

    out->sampler = (struct fa_sampler){true, 1};
    if (name && !fa_sampler_parse(name, get(r, "OTEL_TRACES_SAMPLER_ARG"), &out->sampler))
        fa_report(r->log, FA_LOG_WARN,
                  "OTEL_TRACES_SAMPLER=%.40s is unknown, or OTEL_TRACES_SAMPLER_ARG is not between "
                  "0 and 1; parentbased_always_on is used",
                  name);
}

enum faina_code fa_otlp_settings_read(fa_otlp_get_fn *get_variable, void *ctx,
                                      const struct fa_reporter *log, struct fa_arena *arena,
                                      struct fa_otlp_settings *out, bool *is_on,
                                      struct faina_error *err)
{
    const struct reader r = {get_variable, ctx, log, arena, err};
    enum faina_code code = FAINA_OK;

    *out = (struct fa_otlp_settings){.queue_max = 0};
    *is_on = false;
    if (is_true(get(&r, "OTEL_SDK_DISABLED")))
        return FAINA_OK;
    code = read_signal(&r, "TRACES", "/v1/traces", &out->traces);
    if (code == FAINA_OK)
        code = read_signal(&r, "METRICS", "/v1/metrics", &out->metrics);
    if (code != FAINA_OK || (!out->traces.url && !out->metrics.url))
        return code;
    read_resource(&r, out);
    read_sampler(&r, out);
    out->ca_file = get(&r, "OTEL_EXPORTER_OTLP_CERTIFICATE");
    out->queue_max = (size_t)number(&r, "OTEL_BSP_MAX_QUEUE_SIZE", 1, QUEUE_CEILING, QUEUE_DEFAULT);
    out->batch_max =
        (size_t)number(&r, "OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 1, QUEUE_CEILING, BATCH_DEFAULT);
    if (out->batch_max > out->queue_max)
        out->batch_max = out->queue_max;
    out->delay_ms = number(&r, "OTEL_BSP_SCHEDULE_DELAY", 0, MS_CEILING, DELAY_MS_DEFAULT);
    out->interval_ms =
        number(&r, "OTEL_METRIC_EXPORT_INTERVAL", 10, MS_CEILING, INTERVAL_MS_DEFAULT);
    *is_on = true;
    return FAINA_OK;
}
