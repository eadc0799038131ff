/* test_statements.c - the texts that tools/embed-sql makes of annotated statements. */
#include "store/db/db.h"
#include "support/support.h"

#include <setjmp.h>

#include <cmocka.h>

static const char *one_row(enum fa_sql sql)
{
    return fa_statement(sql)->postgres[FA_STMT_ONE_ROW];
}

static void test_statements__one_row_is_values(void **state)
{
    const char *text = one_row(FA_SQL_READY_INSERT_NEW);

    (void)state;
    CHECK_TRUE(strstr(text, "INSERT INTO ready (lane, rank, id)") == text);
    CHECK_TRUE(strstr(text, "FROM (VALUES ($1::bigint, $2::bigint, $3::bigint)) AS p (lane, "
                            "rank, id)") != NULL);
}

static void test_statements__one_row_is_the_first(void **state)
{
    (void)state;
    CHECK_TRUE(strstr(one_row(FA_SQL_RESOURCE_USE),
                      "FROM (VALUES ($1::bigint, 1::bigint)) AS p (id, n)") != NULL);
}

/* In every statement that has such a form, all arrays have become values. */
static void test_statements__no_array_is_left(void **state)
{
    int count = 0;

    (void)state;
    for (int i = 0; i < FA_SQL_COUNT; i++) {
        enum fa_sql sql = (enum fa_sql)i;
        const char *text = one_row(sql);

        CHECK_INT(text != NULL, (fa_statement(sql)->flags & FA_STMT_MANY_ROWS) != 0);
        if (text == NULL)
            continue;
        count++;
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
static void test_statements__lists_of_keys_stay(void **state)
{
    (void)state;
    CHECK_INT(fa_statement(FA_SQL_HELD_GET)->flags, FA_STMT_MANY_KEYS);
    CHECK_TRUE(one_row(FA_SQL_HELD_GET) == NULL);
    CHECK_TRUE(one_row(FA_SQL_LOG_INSERT) == NULL);
}

static void test_statements__locks_follow_the_text_or_replace_its_mark(void **state)
{
    const struct fa_statement *held = fa_statement(FA_SQL_HELD_GET);
    const struct fa_statement *ready = fa_statement(FA_SQL_READY_GET);

    (void)state;
    CHECK_TRUE(strstr(held->postgres[0], "FOR UPDATE") == NULL);
    CHECK_TRUE(strstr(held->postgres[FA_STMT_LOCKS], "\nORDER BY s.id DESC\nFOR UPDATE OF s") !=
               NULL);
    CHECK_TRUE(strstr(ready->postgres[FA_STMT_LOCKS], "OFFSET 0 FOR UPDATE) s") != NULL);
    CHECK_TRUE(strstr(ready->postgres[FA_STMT_LOCKS | FA_STMT_ONE_ROW], "OFFSET 0 FOR UPDATE) s") !=
               NULL);
    CHECK_TRUE(fa_statement(FA_SQL_TASK_GET)->postgres[FA_STMT_LOCKS] == NULL);
}

static void test_statements__belong_to_one_database_or_both(void **state)
{
    (void)state;
    CHECK_TRUE(fa_statement(FA_SQL_READY_HEADS)->postgres[0] == NULL);
    CHECK_TRUE(fa_statement(FA_SQL_READY_LANES)->sqlite == NULL);
    CHECK_STR(fa_statement(FA_SQL_LANE_GET)->sqlite,
              "SELECT id, namespace, type, resources FROM lane WHERE id = ?1");
    CHECK_STR(fa_statement(FA_SQL_LANE_GET)->postgres[0],
              "SELECT id, namespace, type, resources FROM lane WHERE id = $1");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_statements__one_row_is_values),
        cmocka_unit_test(test_statements__one_row_is_the_first),
        cmocka_unit_test(test_statements__no_array_is_left),
        cmocka_unit_test(test_statements__lists_of_keys_stay),
        cmocka_unit_test(test_statements__locks_follow_the_text_or_replace_its_mark),
        cmocka_unit_test(test_statements__belong_to_one_database_or_both),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("statements", tests, NULL, NULL);
}
