/*
 * otlp_settings.h - the settings of the exporter: the variables that the specification of
 * OpenTelemetry names.
 */
#ifndef FA_OTLP_OTLP_SETTINGS_H
#define FA_OTLP_OTLP_SETTINGS_H

#include "base/error.h"
#include "model/trace.h"
#include "worker/reporter.h"

#define FA_OTLP_ATTRIBUTES_MAX 128 /* of the resource, and headers of a signal */

struct fa_otlp_attribute {
    const char *key, *value;
};

/* Traces or metrics. */
struct fa_otlp_signal {
    const char *url; /* NULL: this signal is not exported */
    const char **headers;
    size_t header_count;
    int64_t timeout_ms;
};

struct fa_otlp_settings {
    struct fa_otlp_signal traces, metrics;
    struct fa_otlp_attribute *resource; /* with service.name */
    size_t resource_count;
    struct fa_sampler sampler;
    const char *ca_file; /* NULL: the system's */
    size_t queue_max, batch_max;
    int64_t delay_ms;    /* how long a span waits for others */
    int64_t interval_ms; /* of the metrics */
};

/* The value of a variable; NULL: it is not set. */
typedef const char *fa_otlp_get_fn(void *ctx, const char *name);

/* *is_on is false when nothing is to be exported. INVALID_REQUEST: an endpoint is no http or https
 * URL, or a header can't be read. Other values that can't be read are logged, and the defaults
 * used, as the specification asks. The settings are in the arena. */
FA_MUST_CHECK enum faina_code fa_otlp_settings_read(fa_otlp_get_fn *get, void *ctx,
                                                    const struct fa_reporter *log,
                                                    struct fa_arena *arena,
                                                    struct fa_otlp_settings *out, bool *is_on,
                                                    struct faina_error *err);

#endif
