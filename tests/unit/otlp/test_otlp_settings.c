/* test_otlp_settings.c - the variables of OpenTelemetry, as a table of names and values. */
#include "otlp/otlp_settings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define ENDPOINT "OTEL_EXPORTER_OTLP_ENDPOINT"

struct world {
    const char *const *variables; /* name, value, ...; NULL */
    int warnings;
    struct fa_arena arena;
    struct fa_otlp_settings settings;
    bool is_on;
    struct faina_error error;
};

static const char *get(void *ctx, const char *name)
{
    struct world *w = ctx;

    for (const char *const *at = w->variables; *at; at += 2)
        if (strcmp(at[0], name) == 0)
            return at[1];
    return NULL;
}

static void warn(void *ctx, enum fa_log_level level, const char *text)
{
    if (level == FA_LOG_WARN)
        ((struct world *)ctx)->warnings++;
}

static enum faina_code read_all(struct world *w, const char *const *variables)
{
    const struct fa_reporter log = {warn, w};

    fa_arena_finish(&w->arena);
    *w = (struct world){.variables = variables};
    fa_error_clear(&w->error);
    return fa_otlp_settings_read(get, w, &log, &w->arena, &w->settings, &w->is_on, &w->error);
}

#define READ(w, ...) read_all(w, (const char *const[]){__VA_ARGS__, NULL})

static const char *resource(const struct world *w, const char *key)
{
    for (size_t i = 0; i < w->settings.resource_count; i++)
        if (strcmp(w->settings.resource[i].key, key) == 0)
            return w->settings.resource[i].value;
    return "(none)";
}

static void test_otlp_settings__endpoints(void **state)
{
    struct world w = {.warnings = 0};

    assert_int_equal(READ(&w, "OTEL_SERVICE_NAME", "x"), FAINA_OK);
    assert_false(w.is_on);
    assert_int_equal(READ(&w, ENDPOINT, ""), FAINA_OK);
    assert_false(w.is_on);
    assert_int_equal(READ(&w, ENDPOINT, "http://c:4318/"), FAINA_OK);
    assert_true(w.is_on);
    assert_string_equal(w.settings.traces.url, "http://c:4318/v1/traces");
    assert_string_equal(w.settings.metrics.url, "http://c:4318/v1/metrics");
    assert_int_equal(w.settings.traces.timeout_ms, 10000);
    assert_string_equal(resource(&w, "service.name"), "faina");
    assert_int_equal(READ(&w, "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "https://m/x/"), FAINA_OK);
    assert_null(w.settings.traces.url);
    assert_string_equal(w.settings.metrics.url, "https://m/x/");
    assert_int_equal(READ(&w, ENDPOINT, "http://c", "OTEL_SDK_DISABLED", "TRUE"), FAINA_OK);
    assert_false(w.is_on);
    assert_int_equal(READ(&w, ENDPOINT, "http://c", "OTEL_TRACES_EXPORTER", "none",
                          "OTEL_METRICS_EXPORTER", "none"),
                     FAINA_OK);
    assert_false(w.is_on);
    assert_int_equal(READ(&w, ENDPOINT, "c:4318"), FAINA_INVALID_REQUEST);
    assert_int_equal(READ(&w, ENDPOINT, "http://"), FAINA_INVALID_REQUEST);
    assert_int_equal(READ(&w, ENDPOINT, "http://c/a b"), FAINA_INVALID_REQUEST);
    assert_non_null(strstr(w.error.message, ENDPOINT));
    fa_arena_finish(&w.arena);
}

static void test_otlp_settings__headers(void **state)
{
    struct world w = {.warnings = 0};

    assert_int_equal(READ(&w, ENDPOINT, "http://c", "OTEL_EXPORTER_OTLP_HEADERS",
                          " a = b%20c , d=,e=f=g", "OTEL_EXPORTER_OTLP_METRICS_HEADERS", "m=%41%4"),
                     FAINA_OK);
    assert_int_equal(w.settings.traces.header_count, 3);
    assert_string_equal(w.settings.traces.headers[0], "a: b c");
    assert_string_equal(w.settings.traces.headers[1], "d: ");
    assert_string_equal(w.settings.traces.headers[2], "e: f=g");
    assert_int_equal(w.settings.metrics.header_count, 1);
    assert_string_equal(w.settings.metrics.headers[0], "m: A%4");
    for (size_t i = 0; i < 4; i++) {
        static const char *const bad[] = {"a", "=b", "a b=c", "a=b%0d%0aX: y"};

        assert_int_equal(READ(&w, ENDPOINT, "http://c", "OTEL_EXPORTER_OTLP_HEADERS", bad[i]),
                         FAINA_INVALID_REQUEST);
        assert_null(strstr(w.error.message, "X: y")); /* it may be a secret */
    }
    fa_arena_finish(&w.arena);
}

static void test_otlp_settings__other_values(void **state)
{
    struct world w = {.warnings = 0};

    assert_int_equal(READ(&w, ENDPOINT, "http://c", "OTEL_TRACES_SAMPLER", "traceidratio",
                          "OTEL_TRACES_SAMPLER_ARG", "0.5", "OTEL_BSP_MAX_QUEUE_SIZE", "10",
                          "OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "20", "OTEL_BSP_SCHEDULE_DELAY", "1",
                          "OTEL_METRIC_EXPORT_INTERVAL", "30", "OTEL_EXPORTER_OTLP_TIMEOUT", "7",
                          "OTEL_EXPORTER_OTLP_METRICS_TIMEOUT", "8", "OTEL_EXPORTER_OTLP_PROTOCOL",
                          "http/json"),
                     FAINA_OK);
    assert_true(w.settings.sampler.ratio == 0.5);
    assert_int_equal(w.settings.queue_max, 10);
    assert_int_equal(w.settings.batch_max, 10);
    assert_int_equal(w.settings.delay_ms, 1);
    assert_int_equal(w.settings.interval_ms, 30);
    assert_int_equal(w.settings.traces.timeout_ms, 7);
    assert_int_equal(w.settings.metrics.timeout_ms, 8);
    assert_int_equal(w.warnings, 0);
    assert_int_equal(READ(&w, ENDPOINT, "http://c", "OTEL_RESOURCE_ATTRIBUTES",
                          "a=b,service.name=one", "OTEL_SERVICE_NAME", "two"),
                     FAINA_OK);
    assert_string_equal(resource(&w, "a"), "b");
    assert_string_equal(resource(&w, "service.name"), "two");
    assert_int_equal(w.settings.resource_count, 2);
    fa_arena_finish(&w.arena);
}

/* What can't be read is logged, and the default is used. */
static void test_otlp_settings__defaults(void **state)
{
    struct world w = {.warnings = 0};

    assert_int_equal(READ(&w, ENDPOINT, "http://c", "OTEL_TRACES_SAMPLER", "odd",
                          "OTEL_BSP_MAX_QUEUE_SIZE", "0", "OTEL_BSP_SCHEDULE_DELAY", "-1",
                          "OTEL_METRIC_EXPORT_INTERVAL", "1s", "OTEL_RESOURCE_ATTRIBUTES", "odd",
                          "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "grpc", "OTEL_METRICS_EXPORTER",
                          "console"),
                     FAINA_OK);
    assert_int_equal(w.warnings, 7);
    assert_true(w.settings.sampler.follows_parent);
    assert_int_equal(w.settings.queue_max, 20000);
    assert_int_equal(w.settings.batch_max, 1000);
    assert_int_equal(w.settings.delay_ms, 5000);
    assert_int_equal(w.settings.interval_ms, 60000);
    assert_string_equal(resource(&w, "service.name"), "faina");
    fa_arena_finish(&w.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_otlp_settings__endpoints),
        cmocka_unit_test(test_otlp_settings__headers),
        cmocka_unit_test(test_otlp_settings__other_values),
        cmocka_unit_test(test_otlp_settings__defaults),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
