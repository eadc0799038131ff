/* test_otlp_json.c - metrics in the text format of Prometheus as OTLP JSON, and answers. */
#include "otlp/otlp_json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static struct fa_otlp_attribute attributes[] = {{"service.name", "s"}, {"service.version", "1"}};
static const struct fa_otlp_settings settings = {.resource = attributes, .resource_count = 2};
static const struct fa_otlp_resource resource = {&settings, NULL};

#define HEAD                                                                                       \
    "{\"resourceMetrics\":[{\"resource\":{\"attributes\":["                                        \
    "{\"key\":\"service.name\",\"value\":{\"stringValue\":\"s\"}},"                                \
    "{\"key\":\"service.version\",\"value\":{\"stringValue\":\"1\"}}]},"                           \
    "\"scopeMetrics\":[{\"scope\":{\"name\":\"faina\",\"version\":\"" FAINA_VERSION "\"},"         \
    "\"metrics\":["
#define TAIL "]}]}]}"

static void check(const char *text, const char *expected)
{
    struct faina_error err;
    struct fa_buf out;

    fa_buf_init(&out, (size_t)1 << 20);
    fa_otlp_metrics_put(text, 1000000, 2000000, &resource, &out);
    assert_int_equal(
        fa_json_check((struct fa_bytes){out.ptr, out.len}, 32, "body", FAINA_INTERNAL, &err),
        FAINA_OK);
    assert_string_equal(out.ptr, expected);
    fa_buf_finish(&out);
}

static void test_otlp_json__numbers(void **state)
{
    check("", HEAD TAIL);
    check("# HELP a What it is.\n# TYPE a counter\na{t=\"x\\\"\\\\\\n\",u=\"\"} 12\na 1.5\n",
          HEAD "{\"name\":\"a\",\"description\":\"What it is.\",\"unit\":\"1\",\"sum\":{"
               "\"aggregationTemporality\":2,\"isMonotonic\":true,\"dataPoints\":["
               "{\"attributes\":[{\"key\":\"t\",\"value\":{\"stringValue\":\"x\\\"\\\\\\n\"}},"
               "{\"key\":\"u\",\"value\":{\"stringValue\":\"\"}}],"
               "\"startTimeUnixNano\":\"1000000000\",\"timeUnixNano\":\"2000000000\","
               "\"asInt\":\"12\"},"
               "{\"attributes\":[],\"startTimeUnixNano\":\"1000000000\","
               "\"timeUnixNano\":\"2000000000\",\"asDouble\":1.5}]}}" TAIL);
    check(
        "# HELP b_seconds B.\n# TYPE b_seconds gauge\nb_seconds -3\n# HELP c C.\n# TYPE c gauge\n",
        HEAD "{\"name\":\"b_seconds\",\"description\":\"B.\",\"unit\":\"s\",\"gauge\":{"
             "\"dataPoints\":[{\"attributes\":[],\"timeUnixNano\":\"2000000000\","
             "\"asInt\":\"-3\"}]}}" TAIL);
}

static void test_otlp_json__histograms(void **state)
{
    check("# HELP h H.\n# TYPE h histogram\n"
          "h_bucket{r=\"a\",le=\"0.5\"} 1\nh_bucket{r=\"a\",le=\"1\"} 3\n"
          "h_bucket{r=\"a\",le=\"+Inf\"} 4\nh_sum{r=\"a\"} 2.5\nh_count{r=\"a\"} 4\n"
          "h_bucket{r=\"b\",le=\"+Inf\"} 0\nh_sum{r=\"b\"} 0\nh_count{r=\"b\"} 0\n",
          HEAD "{\"name\":\"h\",\"description\":\"H.\",\"unit\":\"1\",\"histogram\":{"
               "\"aggregationTemporality\":2,\"dataPoints\":["
               "{\"attributes\":[{\"key\":\"r\",\"value\":{\"stringValue\":\"a\"}}],"
               "\"startTimeUnixNano\":\"1000000000\",\"timeUnixNano\":\"2000000000\","
               "\"count\":\"4\",\"sum\":2.5,\"bucketCounts\":[\"1\",\"2\",\"1\"],"
               "\"explicitBounds\":[0.5,1]},"
               "{\"attributes\":[{\"key\":\"r\",\"value\":{\"stringValue\":\"b\"}}],"
               "\"startTimeUnixNano\":\"1000000000\",\"timeUnixNano\":\"2000000000\","
               "\"count\":\"0\",\"sum\":0,\"bucketCounts\":[\"0\"],\"explicitBounds\":[]}]}}" TAIL);
}

static void test_otlp_json__other_lines_are_left_out(void **state)
{
    check("nothing 1\n# TYPE s summary\ns 1\n# TYPE a counter\na{t=\"x} 1\na{t} 1\na\na \nb 1\n\n",
          HEAD TAIL);
}

static void test_otlp_json__rejected(void **state)
{
    static const struct {
        const char *answer;
        int64_t count;
    } cases[] = {
        {"", 0},
        {"{}", 0},
        {"not json", 0},
        {"[]", 0},
        {"{\"partialSuccess\":{}}", 0},
        {"{\"partialSuccess\":7}", 0},
        {"{\"partialSuccess\":{\"rejectedSpans\":\"5\"}}", 5},
        {"{\"partialSuccess\":{\"rejectedDataPoints\":3,\"errorMessage\":\"x\"}}", 3},
        {"{\"partialSuccess\":{\"rejectedSpans\":\"-5\"}}", 0},
        {"{\"partialSuccess\":{\"rejectedSpans\":\"many\"}}", 0},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++)
        assert_int_equal(fa_otlp_rejected(fa_str(cases[i].answer)), cases[i].count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_otlp_json__numbers),
        cmocka_unit_test(test_otlp_json__histograms),
        cmocka_unit_test(test_otlp_json__other_lines_are_left_out),
        cmocka_unit_test(test_otlp_json__rejected),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
