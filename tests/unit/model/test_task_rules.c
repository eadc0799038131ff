/* test_task_rules.c - rules about single fields of a task. */
#include "model/task_rules.h"

#include "model/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void test_task_rules__attempts_and_leases(void **state)
{
    assert_int_equal(fa_task_max_attempts(0), FA_ATTEMPTS_DEFAULT);
    assert_int_equal(fa_task_max_attempts(FAINA_UNLIMITED), 0);
    assert_int_equal(fa_task_max_attempts(7), 7);
    assert_int_equal(fa_lease_us(0), FA_LEASE_MS_DEFAULT * 1000);
    assert_int_equal(fa_lease_us(5), 5000);
}

static void test_task_rules__every_status_has_a_state(void **state)
{
    for (int i = 0; i < FAINA_STATUS_COUNT; i++)
        assert_non_null(fa_task_state((enum faina_status)i));
}

static void test_task_rules__equal_inputs_have_one_hash(void **state)
{
    char a[FA_SHA256_HEX_SIZE], b[FA_SHA256_HEX_SIZE];

    fa_input_hash("{\"a\":1,\"b\":2}", a);
    fa_input_hash("{ \"b\": 2, \"a\": 1 }", b);
    assert_string_equal(a, b);
    fa_input_hash(NULL, a);
    fa_input_hash("null", b);
    assert_string_equal(a, b);
}

static void test_task_rules__details_of_events(void **state)
{
    struct fa_arena arena = {0};
    struct faina_failure failure = {.message = "disk \"full\"", .kind = "io", .permanent = true};
    struct faina_task task = {.type = "mail", .priority = -3, .max_attempts = 4};

    assert_string_equal(
        fa_failure_json(&failure, &arena),
        "{\"message\":\"disk \\\"full\\\"\",\"kind\":\"io\",\"detail\":null,\"retryable\":false}");
    assert_string_equal(fa_created_json(&task, &arena),
                        "{\"type\":\"mail\",\"priority\":-3,\"maxAttempts\":4}");
    assert_string_equal(fa_late_json("complete", false, 0, FAINA_WRONG_WORKER, &arena),
                        "{\"outcome\":\"complete\",\"fence\":null,\"refused\":\"wrong_worker\"}");
    fa_arena_finish(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_task_rules__attempts_and_leases),
        cmocka_unit_test(test_task_rules__every_status_has_a_state),
        cmocka_unit_test(test_task_rules__equal_inputs_have_one_hash),
        cmocka_unit_test(test_task_rules__details_of_events),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
