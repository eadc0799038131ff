/*
 * test_other_names.c - names of the documents and of other programs lead to ours.
 */
#include "unit/base/unit.h"

#include "model/other_names.h"

static void check_name(const char *name, const char *got, const char *expected)
{
    if (expected)
        check_str(name, got, expected);
    else
        check_true(name, got == NULL);
}

static void test_other_names__statuses(void **state)
{
    static const struct {
        const char *word, *ours;
    } cases[] = {
        {"IN_PROGRESS", "claimed or running"},
        {"in-progress", "claimed or running"},
        {"InProgress", "claimed or running"},
        {"PENDING", "pending"},
        {"DeadLetter", "dead_letter"},
        {"DEAD", "dead_letter"},
        {"canceled", "cancelled"},
        {"pendin", NULL},
        {"pendings", NULL},
        {"", NULL},
        {"_", NULL},
    };

    (void)state;
    for (size_t i = 0; i < FA_COUNT(cases); i++)
        check_name(cases[i].word, fa_other_status(cases[i].word), cases[i].ours);
}

static void test_other_names__members(void **state)
{
    (void)state;
    check_name("camel", fa_other_member("claimedBy", 0), "workerId");
    check_name("snake", fa_other_member("claimed_by", 0), "workerId");
    check_name("Go", fa_other_member("ClaimedBy", 0), "workerId");
    check_name("no more", fa_other_member("claimedBy", 1), NULL);
    check_name("one of two", fa_other_member("payload", 0), "input");
    check_name("the other", fa_other_member("payload", 1), "data");
    check_name("ours", fa_other_member("workerId", 0), NULL);
    check_name("a part", fa_other_member("claimed", 0), NULL);
    check_name("nothing", fa_other_member("", 0), NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_other_names__statuses),
        cmocka_unit_test(test_other_names__members),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
