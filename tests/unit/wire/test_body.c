/*
 * test_body.c - request bodies by table.
 */
#include "unit/base/unit.h"

#include "model/limits.h"
#include "wire/body.h"

static enum faina_code read_act(const struct fa_shape *body, const char *text,
                                struct fa_arena *arena, struct fa_act *act, struct faina_error *err)
{
    *act = (struct fa_act){0};
    fa_error_clear(err);
    return fa_body_read(fa_str(text), body, arena, act, err);
}

static void test_body__every_kind_of_field(void **state)
{
    struct fa_arena arena = {0};
    struct faina_error err;
    struct fa_claims claims = {.limit = 1};
    struct fa_purge_body purge = {0};
    struct fa_act act;

    check_int("claims",
              fa_body_read(FA_LIT("{\"workerId\":\"w\\u0061\",\"types\":[\"a\",\"b\"],\"limit\":7,"
                                  "\"services\":[],\"leaseSeconds\":1.5,\"waitSeconds\":\"2m\","
                                  "\"namespaces\":null}"),
                           &fa_body_claims, &arena, &claims, &err),
              FAINA_OK);
    check_str("text", claims.worker_id, "wa");
    check_int("texts", (int64_t)claims.types.count, 2);
    check_str("texts", claims.types.items[1], "b");
    check_true("an empty list is a list", claims.services.items && claims.services.count == 0);
    check_true("null is not there", !claims.namespaces.items);
    check_int("int", claims.limit, 7);
    check_int("duration in seconds", claims.lease_ms, 1500);
    check_int("duration as text", claims.wait_ms, 120000);
    check_int(
        "purge",
        fa_body_read(FA_LIT("{\"endedBefore\":\"1970-01-01T00:00:01Z\",\"deletedOnly\":true}"),
                     &fa_body_purge, &arena, &purge, &err),
        FAINA_OK);
    check_int("time", purge.before_us, 1000000);
    check_int("bool", purge.deleted_only, 1);
    check_int("json",
              read_act(&fa_body_complete, "{\"output\": {\"a\" : 1.50} }", &arena, &act, &err),
              FAINA_OK);
    check_str("json is kept as it came", act.output, "{\"a\" : 1.50}");
    check_int("nothing at all", read_act(&fa_body_complete, "", &arena, &act, &err), FAINA_OK);
    fa_arena_finish(&arena);
}

static void test_body__errors_of_tasks(void **state)
{
    static const struct {
        const char *text, *message, *kind, *detail;
        bool is_permanent;
    } cases[] = {
        {"{\"error\":\"m\"}", "m", "", "", false},
        {"{\"error\":{\"message\":\"m\"}}", "m", "", "", false},
        {"{\"error\":{\"message\":\"m\",\"kind\":\"k\",\"detail\":[1],\"retryable\":false}}", "m",
         "k", "[1]", true},
        {"{\"error\":{\"message\":\"m\",\"retryable\":true,\"kind\":null}}", "m", "", "", false},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        struct fa_arena arena = {0};
        struct faina_error err;
        struct fa_act act;

        check_int(cases[i].text, read_act(&fa_body_fail, cases[i].text, &arena, &act, &err),
                  FAINA_OK);
        check_true(cases[i].text, act.has_error);
        check_str(cases[i].text, act.failure.message, cases[i].message);
        check_str(cases[i].text, act.failure.kind ? act.failure.kind : "", cases[i].kind);
        check_str(cases[i].text, act.failure.detail ? act.failure.detail : "", cases[i].detail);
        check_int(cases[i].text, act.failure.permanent, cases[i].is_permanent);
        fa_arena_finish(&arena);
    }
}

static void test_body__refusals_name_the_field(void **state)
{
    static const struct {
        const struct fa_shape *body;
        const char *text, *field;
    } cases[] = {
        {&fa_body_claim, "{\"workerID\":\"w\"}", "workerID"},
        {&fa_body_claim, "{\"workerId\":1}", "workerId"},
        {&fa_body_claim, "{\"leaseSeconds\":{}}", "leaseSeconds"},
        {&fa_body_claim, "{\"leaseSeconds\":\"soon\"}", "leaseSeconds"},
        {&fa_body_start, "{\"fence\":1.5}", "fence"},
        {&fa_body_start, "{\"fence\":-1}", "fence"},
        {&fa_body_progress, "{\"progress\":101}", "progress"},
        {&fa_body_progress, "{\"progress\":\"1\"}", "progress"},
        {&fa_body_retry, "{\"resetAttempts\":1}", "resetAttempts"},
        {&fa_body_fail, "{\"error\":[]}", "error"},
        {&fa_body_fail, "{\"error\":{\"kind\":\"k\"}}", "error.message"},
        {&fa_body_fail, "{\"error\":{\"massage\":\"m\"}}", "massage"},
        {&fa_body_block, "{\"subtasks\":{}}", "subtasks"},
        {&fa_body_block, "{\"subtasks\":[{\"type\":\"x\"},{\"typ\":\"x\"}]}", "subtasks[1].typ"},
        {&fa_body_claim, "{\"workerId\":\"a\",\"workerId\":\"b\"}", "body"},
        {&fa_body_claim, "{", "body"},
        {&fa_body_claim, "[]", ""},
        {&fa_body_claim, "1", ""},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        struct fa_arena arena = {0};
        struct faina_error err;
        struct fa_act act;

        check_int(cases[i].text, read_act(cases[i].body, cases[i].text, &arena, &act, &err),
                  cases[i].body == &fa_body_block && strchr(cases[i].field, '[')
                      ? FAINA_INVALID_TASK
                      : FAINA_INVALID_REQUEST);
        check_str(cases[i].text, err.field, cases[i].field);
        check_true(cases[i].text, err.message[0] != '\0');
        fa_arena_finish(&arena);
    }
}

static void test_body__no_limit_is_not_no_word(void **state)
{
    struct fa_arena arena = {0};
    struct faina_error err;
    struct fa_limit_body limit = {0};

    check_int("nothing", fa_body_read(FA_LIT("{}"), &fa_body_limit, &arena, &limit, &err),
              FAINA_OK);
    check_true("nothing", !limit.has_limit);
    check_int(
        "null",
        fa_body_read(FA_LIT("{\"maxConcurrency\":null}"), &fa_body_limit, &arena, &limit, &err),
        FAINA_OK);
    check_true("null", limit.has_limit && limit.max_concurrency == -1);
    check_int("0",
              fa_body_read(FA_LIT("{\"maxConcurrency\":0}"), &fa_body_limit, &arena, &limit, &err),
              FAINA_OK);
    check_int("0", limit.max_concurrency, 0);
    fa_arena_finish(&arena);
}

/* Lists at their limit, and one beyond. */
static void test_body__lists_have_a_limit(void **state)
{
    for (size_t count = FA_BATCH_MAX; count <= FA_BATCH_MAX + 1; count++) {
        struct fa_arena arena = {0};
        struct fa_batch_body batch = {0};
        struct faina_error err;
        struct fa_buf text;

        fa_buf_init(&text, 1000000);
        fa_buf_add_str(&text, "{\"tasks\":[1");
        for (size_t i = 1; i < count; i++)
            fa_buf_add_str(&text, ",1");
        fa_buf_add_str(&text, "]}");
        check_int("code",
                  fa_body_read((struct fa_bytes){text.ptr, text.len}, &fa_body_batch, &arena,
                               &batch, &err),
                  count > FA_BATCH_MAX ? FAINA_INVALID_REQUEST : FAINA_OK);
        fa_buf_finish(&text);
        fa_arena_finish(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_body__every_kind_of_field),
        cmocka_unit_test(test_body__errors_of_tasks),
        cmocka_unit_test(test_body__refusals_name_the_field),
        cmocka_unit_test(test_body__no_limit_is_not_no_word),
        cmocka_unit_test(test_body__lists_have_a_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
