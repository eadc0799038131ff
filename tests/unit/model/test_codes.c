/*
 * test_codes.c - the lists of codes, statuses and actors, and the manual's table of errors.
 */
#include "unit/base/unit.h"

#include "model/codes.h"

static void test_codes__names_read_back(void **state)
{
    for (int i = 0; i < FAINA_CODE_COUNT; i++) {
        enum faina_code code = (enum faina_code)i, parsed;

        assert_true(fa_code_parse(faina_code_name(code), &parsed));
        check_int(faina_code_name(code), parsed, code);
    }
}

static void test_codes__unknown_names_are_refused(void **state)
{
    enum faina_code code = FAINA_TIMEOUT;

    assert_false(fa_code_parse(NULL, &code));
    assert_false(fa_code_parse("", &code));
    assert_false(fa_code_parse("Timeout", &code));
    assert_false(fa_code_parse("time", &code));
    assert_int_equal(code, FAINA_TIMEOUT);
}

/* The public names bear what no list has. */
static void test_codes__unknown_numbers_have_a_name(void **state)
{
    assert_string_equal(faina_code_name((enum faina_code)FAINA_CODE_COUNT), "unknown");
    assert_string_equal(faina_code_name((enum faina_code) - 1), "unknown");
    assert_string_equal(faina_status_name((enum faina_status)FAINA_STATUS_COUNT), "unknown");
    assert_string_equal(faina_status_name((enum faina_status) - 1), "unknown");
    assert_string_equal(faina_actor_name((enum faina_actor)3), "UNKNOWN");
}

/* What the contract fixes. */
static void test_codes__as_the_contract_says(void **state)
{
    static const struct {
        enum faina_code code;
        const char *name;
        int http, exit;
    } cases[] = {
        {FAINA_OK, "ok", 200, 0},
        {FAINA_TASK_NOT_FOUND, "task_not_found", 404, 3},
        {FAINA_TASK_ALREADY_CLAIMED, "task_already_claimed", 409, 4},
        {FAINA_TASK_NOT_CLAIMED, "task_not_claimed", 409, 4},
        {FAINA_TASK_COMPLETED, "task_completed", 409, 4},
        {FAINA_TASK_FAILED, "task_failed", 409, 4},
        {FAINA_MAX_ATTEMPTS_REACHED, "max_attempts_reached", 409, 4},
        {FAINA_WRONG_WORKER, "wrong_worker", 409, 4},
        {FAINA_TASK_ACTIVE, "task_active", 409, 4},
        {FAINA_VERSION_CONFLICT, "version_conflict", 412, 4},
        {FAINA_INVALID_TASK, "invalid_task", 400, 2},
        {FAINA_INVALID_WORKER_ID, "invalid_worker_id", 400, 2},
        {FAINA_INVALID_TRANSITION, "invalid_transition", 400, 4},
        {FAINA_INVALID_REQUEST, "invalid_request", 400, 2},
        {FAINA_PAYLOAD_TOO_LARGE, "payload_too_large", 413, 2},
        {FAINA_UNAUTHORIZED, "unauthorized", 401, 1},
        {FAINA_FORBIDDEN, "forbidden", 403, 1},
        {FAINA_NOT_SUPPORTED, "not_supported", 501, 1},
        {FAINA_OVERLOADED, "overloaded", 429, 1},
        {FAINA_STORE_CLOSED, "store_closed", 503, 6},
        {FAINA_UNAVAILABLE, "unavailable", 503, 6},
        {FAINA_TIMEOUT, "timeout", 504, 5},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        check_str(cases[i].name, faina_code_name(cases[i].code), cases[i].name);
        check_int(cases[i].name, fa_code_http(cases[i].code), cases[i].http);
        check_int(cases[i].name, fa_code_exit(cases[i].code), cases[i].exit);
    }
    assert_string_equal(faina_actor_name(FAINA_ACTOR_API), "API");
    assert_string_equal(faina_actor_name(FAINA_ACTOR_WORKER), "WORKER");
    assert_string_equal(faina_actor_name(FAINA_ACTOR_SYSTEM), "SYSTEM");
    assert_string_equal(faina_loss_name(FAINA_LOSS_LOST), "lost");
    assert_string_equal(faina_loss_name(FAINA_LOSS_CANCELLED), "cancelled");
}

static void test_codes__sentences_are_sentences(void **state)
{
    for (int i = 0; i < FAINA_CODE_COUNT; i++) {
        const char *sentence = fa_code_sentence((enum faina_code)i);

        check_true(sentence, sentence[0] >= 'A' && sentence[0] <= 'Z');
        check_true(sentence, sentence[strlen(sentence) - 1] == '.');
    }
}

/* Each code has its row in the manual, and the manual has no other rows. */
static void test_codes__the_manual_has_the_table(void **state)
{
    char *manual = read_source("docs/errors.md");
    int rows = 0;

    for (int i = 0; i < FAINA_CODE_COUNT; i++) {
        enum faina_code code = (enum faina_code)i;
        char row[256];

        snprintf(row, sizeof(row), "\n| `%s` | %d | %d | %s |", faina_code_name(code),
                 fa_code_http(code), fa_code_exit(code), fa_code_sentence(code));
        if (!strstr(manual, row))
            fail_msg("docs/errors.md lacks the row%s", row);
    }
    for (const char *at = manual; (at = strstr(at, "\n| `")) != NULL; at++)
        rows++;
    assert_int_equal(rows, FAINA_CODE_COUNT);
    free(manual);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_codes__names_read_back),
        cmocka_unit_test(test_codes__unknown_names_are_refused),
        cmocka_unit_test(test_codes__unknown_numbers_have_a_name),
        cmocka_unit_test(test_codes__as_the_contract_says),
        cmocka_unit_test(test_codes__sentences_are_sentences),
        cmocka_unit_test(test_codes__the_manual_has_the_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
