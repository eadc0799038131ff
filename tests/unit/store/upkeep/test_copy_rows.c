/*
 * test_copy_rows.c - the list of copied tables is complete, and matches the statements.
 */
#include "support/unit_store.h"

#include "store/upkeep/copy_rows.h"

#include <setjmp.h>
#include <stdlib.h>

#include <cmocka.h>

static bool is_known(const char *name)
{
    for (size_t i = 0; i < fa_copy_table_count; i++) {
        if (strcmp(name, fa_copy_tables[i].name) == 0)
            return true;
    }
    for (size_t i = 0; fa_copy_left_out[i] != NULL; i++) {
        if (strcmp(name, fa_copy_left_out[i]) == 0)
            return true;
    }
    return false;
}

static void test_copy_rows__no_table_is_forgotten(void **state)
{
    struct store store;
    sqlite3_stmt *stmt;

    store_open(&store);
    stmt = raw_prepare(store.raw, "SELECT name FROM sqlite_schema WHERE type = 'table'");
    while (sqlite3_step(stmt) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(stmt, 0);

        CHECK(is_known(name), "the table %s is neither copied nor left out", name);
    }
    sqlite3_finalize(stmt);
    store_close(&store);
}

/* A column that a migration adds must be read and written too. */
static void test_copy_rows__no_column_is_forgotten(void **state)
{
    struct store store;

    store_open(&store);
    for (size_t i = 0; i < fa_copy_table_count; i++) {
        const struct fa_copy_table *table = &fa_copy_tables[i];
        sqlite3_stmt *page = raw_prepare(store.raw, fa_statement(table->page)->sqlite);
        sqlite3_stmt *put = raw_prepare(store.raw, fa_statement(table->put)->sqlite);
        sqlite3_stmt *all =
            raw_prepare(store.raw, fa_arena_printf(&store.arena, "SELECT * FROM %s", table->name));
        /* Lanes and resources get new numbers; tasks that share a row of `ready` are
         * read one by one. */
        int own = strcmp(table->name, "lane") == 0 || strcmp(table->name, "resource") == 0 ||
                  strcmp(table->name, "ready") == 0;

        CHECK(sqlite3_column_count(page) == (int)table->column_count, "%s: %d columns are read",
              table->name, sqlite3_column_count(page));
        CHECK(sqlite3_column_count(all) - own == (int)table->sum_count, "%s has %d columns",
              table->name, sqlite3_column_count(all));
        CHECK(sqlite3_bind_parameter_count(put) ==
                  (int)(table->put_count < table->sum_count ? table->put_count : table->sum_count),
              "%s: %d columns are written", table->name, sqlite3_bind_parameter_count(put));
        CHECK_INT(sqlite3_bind_parameter_count(page),
                  table->key_count > 0 ? table->key_count + 1 : 0);
        sqlite3_finalize(page);
        sqlite3_finalize(put);
        sqlite3_finalize(all);
    }
    store_close(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copy_rows__no_table_is_forgotten),
        cmocka_unit_test(test_copy_rows__no_column_is_forgotten),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
