/*
 * test_wire.c - tasks and submits as JSON.
 */
#include "unit/base/unit.h"

#include "model/limits.h"
#include "wire/wire.h"

/* ------------------------------------------------------------------------------------------
 * Reading
 */

static enum faina_code read_body(const char *body, struct fa_arena *arena,
                                 struct faina_submit *submit, struct faina_error *err)
{
    return fa_wire_read_submit(fa_str(body), arena, submit, err);
}

static void test_wire__every_field_is_read(void **state)
{
    static const char body[] =
        "{\"namespace\":\"n\",\"type\":\"t\",\"name\":\"caf\\u00e9\",\"input\":{\"a\": [1, 2]},"
        "\"metadata\":{},\"spec\":[],\"priority\":-7,\"maxAttempts\":9,\"delay\":\"90s\","
        "\"idempotencyKey\":\"k\",\"dependsOn\":[\"x\",\"y\"],\"resources\":[\"gpu\"],"
        "\"retry\":{\"base\":\"2s\",\"factor\":1.5,\"max\":60},\"teamId\":\"team\","
        "\"createdBy\":\"ann\"}";
    struct fa_arena arena = {0};
    struct faina_submit submit;
    struct faina_error err;

    check_int("code", read_body(body, &arena, &submit, &err), FAINA_OK);
    check_str("namespace", submit.ns, "n");
    check_str("type", submit.type, "t");
    check_str("name", submit.name, "caf\xc3\xa9");
    check_str("input is kept as it came", submit.input, "{\"a\": [1, 2]}");
    check_str("metadata", submit.metadata, "{}");
    check_str("spec", submit.spec, "[]");
    check_int("priority", submit.priority, -7);
    check_int("maxAttempts", submit.max_attempts, 9);
    check_int("delay", submit.delay_ms, 90000);
    check_str("key", submit.idempotency_key, "k");
    check_int("dependsOn", (int64_t)submit.depends_on_count, 2);
    check_str("dependsOn[1]", submit.depends_on[1], "y");
    check_int("resources", (int64_t)submit.resource_count, 1);
    check_str("resources[0]", submit.resources[0], "gpu");
    check_int("retry.base", submit.retry.base_ms, 2000);
    check_true("retry.factor", submit.retry.factor == 1.5);
    check_int("retry.max", submit.retry.max_ms, 60000);
    check_str("team", submit.team_id, "team");
    check_str("createdBy", submit.created_by, "ann");
    fa_arena_finish(&arena);
}

/* 0 in the structure is the default. */
static void test_wire__retry_without_a_delay(void **state)
{
    struct fa_arena arena = {0};
    struct faina_submit submit;
    struct faina_error err;

    (void)state;
    check_int("code", read_body("{\"retry\":{\"base\":0,\"max\":\"0s\"}}", &arena, &submit, &err),
              FAINA_OK);
    check_int("retry.base", submit.retry.base_ms, 1);
    check_int("retry.max", submit.retry.max_ms, 1);
    fa_arena_finish(&arena);
}

static void test_wire__attempts_and_times(void **state)
{
    static const struct {
        const char *body;
        int attempts;
        int64_t delay_ms, run_at_us;
        bool dedupe;
    } cases[] = {
        {"{\"type\":\"t\"}", 0, 0, 0, false},
        {"{\"maxAttempts\":0}", FAINA_UNLIMITED, 0, 0, false},
        {"{\"maxRetries\":0}", 1, 0, 0, false},
        {"{\"maxRetries\":3}", 4, 0, 0, false},
        {"{\"maxAttempts\":1000000}", FA_ATTEMPTS_MAX, 0, 0, false},
        {"{\"delay\":1.5}", 0, 1500, 0, false},
        {"{\"delay\":\"50ms\"}", 0, 50, 0, false},
        {"{\"runAt\":\"1970-01-01T00:00:01Z\"}", 0, 0, 1000000, false},
        {"{\"dedupe\":\"input\"}", 0, 0, 0, true},
        {"{\"maxAttempts\":null,\"delay\":null,\"runAt\":null,\"dedupe\":null,\"input\":null}", 0,
         0, 0, false},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        struct fa_arena arena = {0};
        struct faina_submit submit;
        struct faina_error err;

        check_int(cases[i].body, read_body(cases[i].body, &arena, &submit, &err), FAINA_OK);
        check_int(cases[i].body, submit.max_attempts, cases[i].attempts);
        check_int(cases[i].body, submit.delay_ms, cases[i].delay_ms);
        check_int(cases[i].body, submit.run_at_us, cases[i].run_at_us);
        check_int(cases[i].body, submit.dedupe_input, cases[i].dedupe);
        check_true(cases[i].body, submit.input == NULL);
        fa_arena_finish(&arena);
    }
}

static void test_wire__refusals_name_the_field(void **state)
{
    static const struct {
        const char *body, *field, *words;
    } cases[] = {
        {"{\"status\":\"done\"}", "status", "status is set by the engine"},
        {"{\"progress\":1}", "progress", "set by the engine"},
        {"{\"attempts\":null}", "attempts", "set by the engine"},
        {"{\"id\":\"x\"}", "id", "set by the engine"},
        {"{\"parentId\":\"x\"}", "parentId", "set by the engine"},
        {"{\"prioritty\":1}", "prioritty", "did you mean \"priority\"?"},
        {"{\"max_attempts\":1}", "max_attempts", "did you mean \"maxAttempts\"?"},
        {"{\"zzzzzz\":1}", "zzzzzz", "unknown field \"zzzzzz\""},
        {"{\"type\":1}", "type", "must be a string"},
        {"{\"priority\":1.5}", "priority", "whole number"},
        {"{\"priority\":2147483648}", "priority", "between -2147483647 and 2147483647"},
        {"{\"maxAttempts\":-1}", "maxAttempts", "between 0"},
        {"{\"maxAttempts\":1000001}", "maxAttempts", "between 0"},
        {"{\"maxAttempts\":1,\"maxRetries\":1}", "maxRetries", "not both"},
        {"{\"delay\":true}", "delay", "duration"},
        {"{\"delay\":\"soon\"}", "delay", ""},
        {"{\"runAt\":\"tomorrow\"}", "runAt", ""},
        {"{\"runAt\":5}", "runAt", "must be a time"},
        {"{\"dedupe\":\"name\"}", "dedupe", "must be \"input\""},
        {"{\"dependsOn\":\"x\"}", "dependsOn", "array of strings"},
        {"{\"resources\":[1]}", "resources", "array of strings"},
        {"{\"retry\":[]}", "retry", "must be an object"},
        {"{\"retry\":{\"bass\":1}}", "retry.bass", "did you mean \"base\"?"},
        {"{\"retry\":{\"factor\":\"2\"}}", "retry.factor", "must be a number"},
        {"{\"teamId\":\"a\",\"team_id\":\"b\"}", "team_id", "not both"},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        struct fa_arena arena = {0};
        struct faina_submit submit = {.type = "untouched"};
        struct faina_error err;

        fa_error_clear(&err);
        check_true(cases[i].body, read_body(cases[i].body, &arena, &submit, &err) != FAINA_OK);
        check_str(cases[i].body, err.field, cases[i].field);
        if (!strstr(err.message, cases[i].words))
            fail_msg("%s: \"%s\" doesn't say \"%s\"", cases[i].body, err.message, cases[i].words);
        check_str("out is written on success only", submit.type, "untouched");
        fa_arena_finish(&arena);
    }
}

static void test_wire__bad_json_has_a_place(void **state)
{
    struct fa_arena arena = {0};
    struct faina_submit submit;
    struct faina_error err;

    check_int("broken", read_body("{\"type\":\"t\",\n  oops}", &arena, &submit, &err),
              FAINA_INVALID_REQUEST);
    check_int("line", err.line, 2);
    check_int("column", err.column, 3);
    check_int("not an object", read_body("[1]", &arena, &submit, &err), FAINA_INVALID_REQUEST);
    check_int("empty", read_body("", &arena, &submit, &err), FAINA_INVALID_REQUEST);
    fa_arena_finish(&arena);
}

/* The payload may be as deep as the limit; the body around it is one level more. */
static void test_wire__depth_at_the_limit(void **state)
{
    for (int extra = 0; extra <= 1; extra++) {
        struct fa_arena arena = {0};
        struct faina_submit submit;
        struct faina_error err;
        struct fa_buf body;
        int depth = FA_JSON_DEPTH_MAX + extra;
        enum faina_code code;

        fa_buf_init(&body, 4096);
        fa_buf_add_str(&body, "{\"type\":\"t\",\"input\":");
        for (int i = 0; i < depth; i++)
            fa_buf_add_char(&body, '[');
        for (int i = 0; i < depth; i++)
            fa_buf_add_char(&body, ']');
        fa_buf_add_char(&body, '}');
        code = read_body(body.ptr, &arena, &submit, &err);
        check_int("depth", code == FAINA_OK, extra == 0);
        fa_buf_finish(&body);
        fa_arena_finish(&arena);
    }
}

static void test_wire__nearest(void **state)
{
    static const char *const names[] = {"submit", "status", "priority", "limit", "ls", NULL};
    static const struct {
        const char *word, *nearest;
    } cases[] = {
        {"submt", "submit"},  {"staus", "status"},
        {"STATUS", "status"}, {"prio", "priority"},
        {"lmiit", "limit"},   {"lss", "ls"},
        {"zzz", NULL},        {"", NULL},
        {"completely", NULL}, {"limits", "limit"},
        {"sub", "submit"},    {"a-word-that-is-longer-than-any-name-we-could-have", NULL},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        const char *nearest = fa_wire_nearest(cases[i].word, names);

        check_str(cases[i].word, nearest ? nearest : "(none)",
                  cases[i].nearest ? cases[i].nearest : "(none)");
    }
}

/* ------------------------------------------------------------------------------------------
 * Writing
 */

static char *written(struct fa_arena *arena, const struct faina_task *task)
{
    struct fa_json_writer writer;
    struct fa_buf buf;
    char *text;

    fa_buf_init(&buf, 1 << 20);
    fa_json_writer_init(&writer, &buf, 0);
    fa_wire_put_task(&writer, task);
    text = fa_arena_copy(arena, buf.ptr, buf.len);
    fa_buf_finish(&buf);
    return text;
}

static void test_wire__an_unset_task_has_every_field(void **state)
{
    static const char *const names[] = {
        "id",        "namespace",      "type",        "name",        "status",      "state",
        "progress",  "priority",       "input",       "output",      "error",       "metadata",
        "spec",      "idempotencyKey", "inputHash",   "attempts",    "maxAttempts", "runAt",
        "workerId",  "leaseExpiresAt", "parentId",    "dependsOn",   "resources",   "expiresAt",
        "teamId",    "createdBy",      "origin",      "version",     "createdAt",   "updatedAt",
        "claimedAt", "startedAt",      "completedAt", "deletedAt",   "phase",       "fence",
        "retry",     "timeout",        "startBy",     "retryWindow", "keyScope",    "group",
    };
    struct faina_task task = {.status = FAINA_PENDING};
    struct fa_arena arena = {0};
    struct fa_json object, value;
    struct fa_json_iter it;
    struct faina_error err;
    struct fa_bytes text = fa_str(written(&arena, &task));
    size_t count = 0;

    check_int("it is JSON", fa_json_check(text, FA_JSON_DEPTH_MAX, "task", FAINA_INTERNAL, &err),
              FAINA_OK);
    object = fa_json_value(text);
    for (size_t i = 0; i < FA_COUNT(names); i++)
        check_true(names[i], fa_json_member(object, names[i], &value));
    for (it = fa_json_iter(object); fa_json_next(&it, NULL, &value);)
        count++;
    check_int("and no other", (int64_t)count, FA_COUNT(names));
    check_true("teamId", fa_json_member(object, "teamId", &value) && value.type == FA_JSON_NULL);
    check_true("dependsOn",
               fa_json_member(object, "dependsOn", &value) && value.type == FA_JSON_ARRAY);
    fa_arena_finish(&arena);
}

static void test_wire__a_full_task(void **state)
{
    static const char *const resources[] = {"gpu", "licence \"x\""};
    struct faina_task task = {
        .id = "0190c4a2-6f1e-7b3d-8a5c-1f2e3d4c5b6a",
        .type = "a\nb",
        .status = FAINA_DEAD_LETTER,
        .phase = FAINA_PHASE_ERROR,
        .input = "{\"big\":9007199254740993}",
        .resources = resources,
        .resource_count = 2,
        .retry = {.base_ms = 1500, .factor = 2, .max_ms = 3600000},
        .created_us = 1,
        .existing = true,
        .input_mismatch = true,
    };
    static const char *const parts[] = {
        "\"type\":\"a\\nb\"",
        "\"status\":\"dead_letter\"",
        "\"phase\":\"error\"",
        "\"input\":{\"big\":9007199254740993}",
        "\"resources\":[\"gpu\",\"licence \\\"x\\\"\"]",
        "\"retry\":{\"base\":\"1500ms\",\"factor\":2,\"max\":\"1h\"}",
        "\"createdAt\":\"1970-01-01T00:00:00.000001Z\"",
        "\"existing\":true",
        "\"inputMismatch\":true",
    };
    struct fa_arena arena = {0};
    const char *text = written(&arena, &task);

    for (size_t i = 0; i < FA_COUNT(parts); i++)
        if (!strstr(text, parts[i]))
            fail_msg("%s is not in %s", parts[i], text);
    fa_arena_finish(&arena);
}

static void test_wire__a_problem(void **state)
{
    struct faina_error error = {.code = FAINA_INVALID_TASK,
                                .line = 2,
                                .column = 7,
                                .field = "input",
                                .message = "input: no"};
    struct fa_json_writer writer;
    struct fa_buf buf;

    fa_buf_init(&buf, 4096);
    fa_json_writer_init(&writer, &buf, 0);
    fa_wire_put_problem(&writer, &error);
    check_str("problem", buf.ptr,
              "{\"type\":\"urn:faina:problem:invalid_task\",\"title\":\"The task is not valid.\","
              "\"status\":400,\"detail\":\"input: no\",\"code\":\"invalid_task\",\"errors\":["
              "{\"field\":\"input\",\"message\":\"input: no\",\"line\":2,\"column\":7}]}");
    fa_buf_finish(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wire__every_field_is_read),
        cmocka_unit_test(test_wire__retry_without_a_delay),
        cmocka_unit_test(test_wire__attempts_and_times),
        cmocka_unit_test(test_wire__refusals_name_the_field),
        cmocka_unit_test(test_wire__bad_json_has_a_place),
        cmocka_unit_test(test_wire__depth_at_the_limit),
        cmocka_unit_test(test_wire__nearest),
        cmocka_unit_test(test_wire__an_unset_task_has_every_field),
        cmocka_unit_test(test_wire__a_full_task),
        cmocka_unit_test(test_wire__a_problem),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
