/*
 * test_hide.c - a password is not visible in the list of processes.
 */
#include "unit/base/unit.h"

#include "cli/hide.h"

#include <stdlib.h>

static void test_hide__passwords(void **state)
{
    static const struct {
        const char *argument, *seen;
    } cases[] = {
        {"plain", "plain"},
        {"sqlite:a@b:c", "sqlite:a@b:c"},
        {"postgres://u@h/d", "postgres://u@h/d"},
        {"postgres://h:1/d", "postgres://h:1/d"},
        {"postgres://u:secret@h:1/d", "postgres://u:xxxxxx@h:1/d"},
        {"--url=postgres://u:se:c@ret@h/d", "--url=postgres://u:xxxxxxxx@h/d"},
        {"postgres://u:se/ret@h", "postgres://u:xxxxxx@h"},
        {"postgres://u:@h", "postgres://u:@h"},
        {"postgres:///d?a=b&password=secret&c=d", "postgres:///d?a=b&password=xxxxxx&c=d"},
        {"postgres:///d?password=s", "postgres:///d?password=x"},
        {"https://t:oken@h/x", "https://t:xxxx@h/x"},
    };
    struct fa_arena arena = {0};

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        char *original = strdup(cases[i].argument);
        char program[] = "faina", *argv[] = {program, original, NULL};

        fa_hide_passwords(2, argv, &arena);
        check_str(cases[i].argument, original, cases[i].seen);
        check_str("what we work with", argv[1], cases[i].argument);
        free(original);
    }
    fa_arena_finish(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hide__passwords),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
