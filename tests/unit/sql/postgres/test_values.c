/* test_values.c - statements that take arrays, and their forms that take one row. */
#include "sql/postgres/values.h"
#include "support/support.h"

#include <setjmp.h>

#include <cmocka.h>

static struct fa_arena arena;

static int tear_down(void **state)
{
    (void)state;
    fa_arena_finish(&arena);
    return 0;
}

static void test_values__one_row_is_values(void **state)
{
    const char *text = fa_pg_text_for_one(FA_SQL_READY_INSERT_BORN, &arena);

    (void)state;
    CHECK_TRUE(fa_pg_has_form_for_one(FA_SQL_READY_INSERT_BORN));
    CHECK_TRUE(strstr(text, "INSERT INTO ready (lane, rank, id)") == text);
    CHECK_TRUE(strstr(text, "FROM (VALUES ($1::bigint, $2::bigint, $3::bigint)) AS p (lane, "
                            "rank, id)") != NULL);
}

static void test_values__one_row_is_the_first(void **state)
{
    const char *text = fa_pg_text_for_one(FA_SQL_RESOURCE_USE, &arena);

    (void)state;
    CHECK_TRUE(strstr(text, "FROM (VALUES ($1::bigint, 1::bigint)) AS p (id, n)") != NULL);
}

/* In every statement that has such a form, all arrays have become values. */
static void test_values__no_array_is_left(void **state)
{
    int count = 0;

    (void)state;
    for (int i = 0; i < FA_SQL_COUNT; i++) {
        enum fa_sql sql = (enum fa_sql)i;
        const char *text;

        if (!fa_pg_has_form_for_one(sql))
            continue;
        count++;
        text = fa_pg_text_for_one(sql, &arena);
        CHECK(strstr(text, "unnest") == NULL && strstr(text, "ORDINALITY") == NULL,
              "%s for one row:\n%s", fa_sql_name(sql), text);
        for (const char *at = text; (at = strchr(at, '$')) != NULL; at++) {
            const char *cast = at + 1 + strspn(at + 1, "0123456789:");

            CHECK(strncmp(cast + strspn(cast, "abcdefghijklmnopqrstuvwxyz "), "[]", 2) != 0,
                  "%s for one row:\n%s", fa_sql_name(sql), text);
        }
    }
    CHECK(count > 15, "only %d statements have a form for one row", count);
}

/* Those by a list of keys alone have none: the index takes the list as it is. */
static void test_values__lists_of_keys_stay(void **state)
{
    (void)state;
    CHECK_TRUE(fa_pg_is_many(FA_SQL_HELD_GET));
    CHECK_TRUE(!fa_pg_has_form_for_one(FA_SQL_HELD_GET));
    CHECK_TRUE(!fa_pg_has_form_for_one(FA_SQL_LOG_INSERT));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values__one_row_is_values),
        cmocka_unit_test(test_values__one_row_is_the_first),
        cmocka_unit_test(test_values__no_array_is_left),
        cmocka_unit_test(test_values__lists_of_keys_stay),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("values", tests, NULL, tear_down);
}
