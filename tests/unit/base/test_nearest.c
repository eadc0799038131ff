/*
 * test_nearest.c - which name did they mean?
 */
#include "unit/base/unit.h"

#include "base/nearest.h"

static void test_nearest__names(void **state)
{
    static const char *const names[] = {"triggers", "joins", "joinKey", "on", "onFailure", NULL};
    static const struct {
        const char *word, *nearest; /* NULL: none */
    } cases[] = {
        {"trigers", "triggers"},
        {"TRIGGERS", "triggers"},
        {"trig", "triggers"},
        {"joinkey", "joinKey"},
        {"join-key", "joinKey"},
        {"onFail", "onFailure"},
        {"jions", "joins"},
        {"elephant", NULL},
        {"", NULL},
        {"x", NULL},
        {"onn", "on"},
    };
    char longest[FA_NEAREST_SIZE_MAX + 2];

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        const char *nearest = fa_nearest(cases[i].word, names);

        check_str(cases[i].word, nearest ? nearest : "(none)",
                  cases[i].nearest ? cases[i].nearest : "(none)");
    }
    memset(longest, 'j', sizeof(longest));
    longest[FA_NEAREST_SIZE_MAX + 1] = '\0';
    assert_null(fa_nearest(longest, names));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nearest__names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
