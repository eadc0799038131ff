/* test_trace.c - trace contexts, samplers, and the spans of a task. */
#include "model/trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define TRACE "0af7651916cd43dd8448eb211c80319c"
#define PARENT "00-" TRACE "-b7ad6b7169203331-01"
#define ID "019a9c1e-5b00-7abc-8def-0123456789ab"

static void test_trace__parse(void **state)
{
    static const struct {
        const char *text;
        bool is_good;
    } cases[] = {
        {PARENT, true},
        {"01-" TRACE "-b7ad6b7169203331-00", true},
        {"01-" TRACE "-b7ad6b7169203331-00-more", true},
        {PARENT "-more", false},
        {"01-" TRACE "-b7ad6b7169203331-00more", false},
        {"ff-" TRACE "-b7ad6b7169203331-01", false},
        {"00-00000000000000000000000000000000-b7ad6b7169203331-01", false},
        {"00-" TRACE "-0000000000000000-01", false},
        {"00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01", false},
        {"00-" TRACE "-b7ad6b7169203331-0g", false},
        {"00-" TRACE "-b7ad6b7169203331-0", false},
        {"00_" TRACE "-b7ad6b7169203331-01", false},
        {"", false},
        {NULL, false},
    };
    char text[FA_TRACE_SIZE];
    struct fa_trace trace;

    for (size_t i = 0; i < FA_COUNT(cases); i++)
        if (fa_trace_parse(cases[i].text, &trace) != cases[i].is_good)
            fail_msg("case %zu", i);
    assert_true(fa_trace_parse(PARENT, &trace));
    assert_int_equal(trace.flags, FA_TRACE_SAMPLED);
    fa_trace_format(&trace, text);
    assert_string_equal(text, PARENT);
}

static void test_trace__metadata(void **state)
{
    struct fa_arena arena = {0};
    struct fa_trace trace;
    const char *stored;

    assert_false(fa_trace_of_metadata(NULL, &trace));
    assert_false(fa_trace_of_metadata("{}", &trace));
    assert_false(fa_trace_of_metadata("{\"traceparent\":7}", &trace));
    assert_false(fa_trace_of_metadata("{\"traceparent\":\"mine\"}", &trace));
    assert_false(fa_trace_of_metadata("{\"a\":{\"traceparent\":\"" PARENT "\"}}", &trace));
    assert_true(fa_trace_of_metadata("{\"a\":1,\"traceparent\":\"" PARENT "\"}", &trace));
    assert_int_equal(trace.span, UINT64_C(0xb7ad6b7169203331));
    stored = fa_trace_store(NULL, &trace, &arena);
    assert_string_equal(stored, "{\"traceparent\":\"" PARENT "\"}");
    trace.span = 1;
    stored = fa_trace_store(stored, &trace, &arena);
    assert_string_equal(stored, "{\"traceparent\":\"00-" TRACE "-0000000000000001-01\"}");
    fa_arena_finish(&arena);
}

static void test_trace__samplers(void **state)
{
    static const struct {
        const char *name, *ratio;
        bool is_good, follows_parent;
        double wanted;
    } cases[] = {
        {"always_on", NULL, true, false, 1},
        {"always_on", "nonsense", true, false, 1},
        {"always_off", NULL, true, false, 0},
        {"traceidratio", "0.25", true, false, 0.25},
        {"traceidratio", NULL, true, false, 1},
        {"parentbased_traceidratio", "0", true, true, 0},
        {"parentbased_always_on", NULL, true, true, 1},
        {"parentbased_always_off", NULL, true, true, 0},
        {"traceidratio", "1.5", false, false, 0},
        {"traceidratio", "nan", false, false, 0},
        {"traceidratio", "0.5x", false, false, 0},
        {"jaeger_remote", NULL, false, false, 0},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        struct fa_sampler sampler = {false, 0};

        if (fa_sampler_parse(cases[i].name, cases[i].ratio, &sampler) != cases[i].is_good)
            fail_msg("case %zu", i);
        assert_int_equal(sampler.follows_parent, cases[i].follows_parent);
        assert_true(sampler.ratio == cases[i].wanted);
    }
}

/* Of the ids that the engine makes, the ratio takes its part. */
static void test_trace__ratio(void **state)
{
    const struct fa_sampler sampler = {true, 0.25};
    struct fa_id_source source = {.last_key = 1};
    struct fa_task_trace trace;
    struct fa_trace parent = {1, 1, 1, 0};
    int taken = 0;

    fa_random_seed(&source.random, 7);
    for (int i = 0; i < 10000; i++) {
        struct fa_id id = fa_id_next(&source, INT64_C(1700000000000000) + i);

        fa_trace_of_task(&sampler, id, NULL, &trace);
        taken += trace.is_sampled;
        fa_trace_of_task(&sampler, id, &parent, &trace);
        assert_false(trace.is_sampled);
    }
    assert_in_range(taken, 2300, 2700);
}

static void test_trace__spans(void **state)
{
    const struct fa_sampler all = {false, 1};
    struct fa_task_trace trace;
    struct fa_trace parent;
    char hex[FA_TRACE_ID_SIZE];
    struct fa_id id;

    assert_true(fa_id_parse(ID, &id));
    assert_true(fa_trace_parse(PARENT, &parent));
    fa_trace_of_task(&all, id, NULL, &trace);
    fa_trace_id_format(trace.high, trace.low, hex);
    assert_string_equal(hex, "019a9c1e5b007abc8def0123456789ab");
    assert_int_equal(trace.parent, 0);
    assert_int_not_equal(trace.submit, fa_trace_attempt(id, 1));
    assert_int_not_equal(fa_trace_attempt(id, 1), fa_trace_attempt(id, 2));
    fa_trace_of_task(&all, id, &parent, &trace);
    fa_trace_id_format(trace.high, trace.low, hex);
    assert_string_equal(hex, TRACE);
    assert_int_equal(trace.parent, UINT64_C(0xb7ad6b7169203331));
}

static void test_trace__claims(void **state)
{
    const struct fa_sampler all = {false, 1}, none = {false, 0};
    struct faina_task task = {.id = ID, .fence = 3};
    char text[FA_TRACE_SIZE], expected[FA_TRACE_SIZE], span[FA_TRACE_SPAN_SIZE];
    struct fa_id id;

    assert_false(fa_trace_of_claim(NULL, &task, text));
    task.metadata = "{\"traceparent\":\"" PARENT "\"}";
    assert_true(fa_trace_of_claim(NULL, &task, text));
    assert_string_equal(text, PARENT);
    assert_true(fa_id_parse(ID, &id));
    fa_trace_span_format(fa_trace_attempt(id, 3), span);
    assert_true(fa_trace_of_claim(&all, &task, text));
    snprintf(expected, sizeof(expected), "00-" TRACE "-%s-01", span);
    assert_string_equal(text, expected);
    assert_true(fa_trace_of_claim(&none, &task, text));
    snprintf(expected, sizeof(expected), "00-" TRACE "-%s-00", span);
    assert_string_equal(text, expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trace__parse),    cmocka_unit_test(test_trace__metadata),
        cmocka_unit_test(test_trace__samplers), cmocka_unit_test(test_trace__ratio),
        cmocka_unit_test(test_trace__spans),    cmocka_unit_test(test_trace__claims),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
