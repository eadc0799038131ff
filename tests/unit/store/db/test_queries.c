/*
 * test_queries.c - every statement fits the schema, and none that runs often reads a large table.
 */
#include "support/unit_store.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdlib.h>

#include <cmocka.h>

static const char *plan_of(struct store *store, enum fa_sql sql)
{
    const char *query = fa_statement(sql)->sqlite;
    sqlite3_stmt *stmt =
        raw_prepare(store->raw, fa_arena_printf(&store->arena, "EXPLAIN QUERY PLAN %s", query));
    char *text = fa_arena_strdup(&store->arena, "");

    while (sqlite3_step(stmt) == SQLITE_ROW)
        text = fa_arena_printf(&store->arena, "%s%s\n", text, sqlite3_column_text(stmt, 3));
    sqlite3_finalize(stmt);
    return text;
}

/* ------------------------------------------------------------------------------------------
 * The list
 */

/* How many files the folder has; each of them must be a statement of the list. */
static size_t count_statements(const char *folder)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    size_t files = 0;

    assert_non_null(dir);
    while ((entry = readdir(dir)) != NULL) {
        size_t len = strlen(entry->d_name);
        bool found = false;

        if (len <= 4 || strcmp(entry->d_name + len - 4, ".sql") != 0)
            continue;
        for (int sql = 0; sql < FA_SQL_COUNT; sql++) {
            const char *name = fa_sql_name((enum fa_sql)sql);

            if (strlen(name) == len - 4 && strncmp(name, entry->d_name, len - 4) == 0)
                found = true;
        }
        CHECK(found, "%s is no statement", entry->d_name);
        files++;
    }
    closedir(dir);
    return files;
}

static void test_queries__every_file_is_a_statement(void **state)
{
    size_t files = count_statements(FA_SOURCE_ROOT "/src/store/db/queries") +
                   count_statements(FA_SOURCE_ROOT "/src/store/db/sqlite/queries");

    for (int sql = 0; sql < FA_SQL_COUNT; sql++)
        files -= fa_statement((enum fa_sql)sql)->sqlite != NULL;
    CHECK_INT(files, 0);
}

static void check_prepares(struct store *store, const char *name, const char *text)
{
    const char *tail = NULL;
    sqlite3_stmt *stmt = NULL;

    CHECK(sqlite3_prepare_v2(store->raw, text, -1, &stmt, &tail) == SQLITE_OK, "%s: %s", name,
          sqlite3_errmsg(store->raw));
    CHECK(stmt != NULL, "%s is empty", name);
    CHECK(tail[strspn(tail, " \n;")] == '\0', "%s is more than one statement", name);
    CHECK_TRUE(sqlite3_bind_parameter_count(stmt) <= FA_VALUES_MAX);
    CHECK_TRUE(sqlite3_column_count(stmt) <= FA_VALUES_MAX);
    sqlite3_finalize(stmt);
}

static void test_queries__every_statement_prepares(void **state)
{
    struct store store;

    store_open(&store);
    for (int sql = 0; sql < FA_SQL_COUNT; sql++) {
        const struct fa_statement *statement = fa_statement((enum fa_sql)sql);

        if (statement->sqlite != NULL)
            check_prepares(&store, statement->name, statement->sqlite);
        if (statement->sqlite_repeat != NULL)
            check_prepares(&store, statement->name, statement->sqlite_repeat);
    }
    store_close(&store);
}

/* ------------------------------------------------------------------------------------------
 * Plans
 */

/* Statements that read much, by intent; their comments say so. */
static bool may_scan(enum fa_sql sql)
{
    static const enum fa_sql many[] = {
        FA_SQL_AUDIT_PLACES,      FA_SQL_AUDIT_HOLDS,   FA_SQL_AUDIT_TALLY,
        FA_SQL_AUDIT_KEYS,        FA_SQL_AUDIT_BLOCKED, FA_SQL_LIST_WHOLE, /* used for few */
        FA_SQL_LIST_WHOLE_PLACES, FA_SQL_TASK_FIND_END, /* the newest tasks, up to a limit */
    };

    for (size_t i = 0; i < FA_COUNT(many); i++) {
        if (many[i] == sql)
            return true;
    }
    return false;
}

/* A table that grows with the number of tasks, by its name or its alias in our statements. */
static bool is_large(const char *name)
{
    static const char *const large[] = {"e",     "task",     "t",        "ready", "r",
                                        "ended", "task_key", "task_dep", "event"};

    for (size_t i = 0; i < FA_COUNT(large); i++) {
        size_t len = strlen(large[i]);

        if (strncmp(name, large[i], len) == 0 && (name[len] == ' ' || name[len] == '\n'))
            return true;
    }
    return false;
}

static bool is_of_a_small_table(enum fa_sql sql) /* where r and t are resource and tally */
{
    return sql == FA_SQL_RESOURCE_ALL || sql == FA_SQL_TALLY_TOTALS ||
           sql == FA_SQL_TALLY_BUSIEST || sql == FA_SQL_TALLY_PAGE;
}

static void test_queries__no_large_table_is_read_whole(void **state)
{
    struct store store;

    store_open(&store);
    for (int i = 0; i < FA_SQL_COUNT; i++) {
        enum fa_sql sql = (enum fa_sql)i;
        const char *plan;

        if (fa_statement(sql)->sqlite == NULL || may_scan(sql) || is_of_a_small_table(sql))
            continue;
        plan = plan_of(&store, sql);
        for (const char *at = plan; (at = strstr(at, "SCAN ")) != NULL; at += 5)
            CHECK(!is_large(at + 5), "%s reads a large table whole:\n%s", fa_sql_name(sql), plan);
    }
    store_close(&store);
}

static void test_queries__the_right_index_is_used(void **state)
{
    static const struct {
        enum fa_sql sql;
        const char *plan;
        bool is_sorted; /* by the index, not afterwards */
    } cases[] = {
        {FA_SQL_READY_SCAN, "SEARCH r USING PRIMARY KEY (lane=? AND (rank,id)>(?,?))", true},
        {FA_SQL_READY_SCAN, "SEARCH t USING INTEGER PRIMARY KEY (rowid=?)", true},
        {FA_SQL_READY_SCAN_PLAIN, "SEARCH r USING PRIMARY KEY (lane=? AND (rank,id)>(?,?))", true},
        {FA_SQL_READY_SCAN_PLAIN, "SEARCH t USING INTEGER PRIMARY KEY (rowid=?)", true},
        {FA_SQL_READY_GET, "SEARCH ready USING PRIMARY KEY (lane=? AND rank=? AND id<?)", true},
        {FA_SQL_COPY_READY, "SEARCH r USING PRIMARY KEY ((lane,rank,id)>(?,?,?))", true},
        {FA_SQL_READY_DELETE, "SEARCH ready USING PRIMARY KEY (lane=? AND rank=? AND id=?)", true},
        {FA_SQL_LANE_OF_NAMESPACE, "INDEX sqlite_autoindex_lane_1 (namespace=?)", true},
        {FA_SQL_LANE_OF_TYPE, "INDEX lane_folded (namespace=? AND type=?)", true},
        {FA_SQL_READY_HEADS, "SEARCH ready USING PRIMARY KEY (lane>?)", true},
        {FA_SQL_READY_HEADS, "SEARCH r USING PRIMARY KEY (lane=?)", true},
        {FA_SQL_TALLY_BUSIEST, "SEARCH t USING PRIMARY KEY (lane=?)", false},
        {FA_SQL_READY_OLDEST, "SEARCH ready USING PRIMARY KEY (lane=? AND rank>?)", false},
        {FA_SQL_READY_OLDEST, "SEARCH ready USING PRIMARY KEY (lane=? AND rank=?)", false},
        {FA_SQL_TASK_GET, "SEARCH task USING INTEGER PRIMARY KEY (rowid=?)", true},
        {FA_SQL_TASK_DELETE, "SEARCH task USING INTEGER PRIMARY KEY (rowid=?)", true},
        {FA_SQL_TASK_AMEND, "SEARCH task USING INTEGER PRIMARY KEY (rowid=?)", true},
        {FA_SQL_TASK_RANK, "SEARCH task USING INTEGER PRIMARY KEY (rowid=?)", true},
        {FA_SQL_QUEUE_READY, "SEARCH r USING PRIMARY KEY (lane=?)", false},
        {FA_SQL_QUEUE_URGENT, "SEARCH r USING PRIMARY KEY (lane=? AND rank<?)", false},
        {FA_SQL_QUEUE_DELAYED, "INDEX parked_at (at_us>?)", false},
        {FA_SQL_TASK_LAST, "SEARCH task", true},
        {FA_SQL_HELD_GET, "SEARCH held USING INTEGER PRIMARY KEY (rowid=?)", true},
        {FA_SQL_HELD_DELETE, "SEARCH held USING INTEGER PRIMARY KEY (rowid=?)", true},
        {FA_SQL_HELD_RENEW, "SEARCH held USING INTEGER PRIMARY KEY (rowid=?)", true},
        {FA_SQL_WORKER_DELETE, "SEARCH worker USING PRIMARY KEY (id=?)", true},
        {FA_SQL_PARKED_GET, "SEARCH parked USING INTEGER PRIMARY KEY (rowid=?)", true},
        {FA_SQL_PARKED_DELETE, "SEARCH parked USING INTEGER PRIMARY KEY (rowid=?)", true},
        {FA_SQL_PARKED_DUE, "INDEX parked_at (at_us<?)", true},
        {FA_SQL_PARKED_NEXT, "INDEX parked_at", true},
        {FA_SQL_CRON_GET, "SEARCH cron USING PRIMARY KEY (namespace=? AND name=?)", true},
        {FA_SQL_CRON_DELETE, "SEARCH cron USING PRIMARY KEY (namespace=? AND name=?)", true},
        {FA_SQL_CRON_FIRED, "SEARCH cron USING PRIMARY KEY (namespace=? AND name=?)", true},
        {FA_SQL_CRON_DUE, "INDEX cron_next (next_us<?)", true},
        {FA_SQL_CRON_NEXT, "INDEX cron_next", true},
        {FA_SQL_ENDED_GET, "SEARCH ended USING INTEGER PRIMARY KEY (rowid=?)", true},
        {FA_SQL_ENDED_DELETE, "SEARCH ended USING INTEGER PRIMARY KEY (rowid=?)", true},
        {FA_SQL_ENDED_PURGE, "SEARCH ended USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)", true},
        {FA_SQL_KEY_FIND, "SEARCH task_key USING PRIMARY KEY (hash=?)", true},
        {FA_SQL_KEY_DELETE, "SEARCH task_key USING PRIMARY KEY (hash=? AND task=?)", true},
        {FA_SQL_DEP_WAITING, "INDEX task_dep_needs (needs=?)", true},
        {FA_SQL_DEP_LIST, "SEARCH d USING PRIMARY KEY (task=?)", false},
        {FA_SQL_DEP_DELETE, "INDEX task_dep_needs (needs=?)", true},
        {FA_SQL_EVENT_LIST, "SEARCH event USING PRIMARY KEY (task=?)", true},
        {FA_SQL_EVENT_LAST, "SEARCH event USING PRIMARY KEY (task=?)", true},
        {FA_SQL_EVENT_DELETE, "SEARCH event USING PRIMARY KEY (task=?)", true},
        {FA_SQL_HOLD_LIST, "SEARCH h USING PRIMARY KEY (resource=?)", true},
        {FA_SQL_HOLD_DELETE, "SEARCH hold USING PRIMARY KEY (resource=? AND task=?)", true},
        {FA_SQL_CHILD_LIST, "INDEX task_parent (parent=? AND rowid>?)", true},
        {FA_SQL_CHILD_PAGE, "INDEX task_parent (parent=? AND rowid>?)", true},
        {FA_SQL_CHILD_PAGE, "SEARCH e USING INTEGER PRIMARY KEY (rowid=?)", true},
        {FA_SQL_CHILD_ENDS, "INDEX task_parent (parent=? AND rowid>?)", true},
        {FA_SQL_CHILD_ENDS, "SEARCH e USING INTEGER PRIMARY KEY (rowid=?)", true},
        {FA_SQL_CHILD_LIVE, "INDEX task_parent (parent=?)", true},
        {FA_SQL_CHILD_STALE, "INDEX task_parent (parent=?)", true},
        {FA_SQL_TASK_PAYLOAD, "SEARCH e USING INTEGER PRIMARY KEY (rowid=?)", true},
        {FA_SQL_ENDED_UPDATE, "SEARCH ended USING INTEGER PRIMARY KEY (rowid=?)", true},
        {FA_SQL_CHILD_NAMES, "INDEX task_parent (parent=?)", true},
        {FA_SQL_TASK_PARENT, "SEARCH task USING INTEGER PRIMARY KEY (rowid=?)", true},
        {FA_SQL_LIST_ALL_DESC, "SEARCH task USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)", true},
        {FA_SQL_LIST_ALL_ASC, "SEARCH task USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)", true},
        {FA_SQL_LIST_ENDED_DESC, "SEARCH ended USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
         true},
        {FA_SQL_LIST_ENDED_ASC, "SEARCH ended USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
         true},
        {FA_SQL_LIST_BAD_DESC, "INDEX ended_badly (status=? AND rowid>? AND rowid<?)", true},
        {FA_SQL_LIST_BAD_ASC, "INDEX ended_badly (status=? AND rowid>? AND rowid<?)", true},
        {FA_SQL_LIST_HELD_DESC, "SEARCH held USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
         true},
        {FA_SQL_LIST_HELD_ASC, "SEARCH held USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)", true},
        {FA_SQL_LIST_PARKED_DESC, "SEARCH parked USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
         true},
        {FA_SQL_LIST_PARKED_ASC, "SEARCH parked USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
         true},
        {FA_SQL_LIST_PARENT_DESC, "INDEX task_parent (parent=? AND rowid>? AND rowid<?)", true},
        {FA_SQL_LIST_PARENT_ASC, "INDEX task_parent (parent=? AND rowid>? AND rowid<?)", true},
        {FA_SQL_LIST_TEAM_DESC, "INDEX task_team (team=? AND rowid>? AND rowid<?)", true},
        {FA_SQL_LIST_TEAM_ASC, "INDEX task_team (team=? AND rowid>? AND rowid<?)", true},
        {FA_SQL_LIST_CREATED_BY_DESC,
         "INDEX task_created_by (created_by=? AND rowid>? AND rowid<?)", true},
        {FA_SQL_LIST_CREATED_BY_ASC, "INDEX task_created_by (created_by=? AND rowid>? AND rowid<?)",
         true},
        {FA_SQL_LIST_RANK_DESC, "INDEX task_rank (rank>? AND rank<?)", true},
        {FA_SQL_LIST_RANK_ASC, "INDEX task_rank (rank>? AND rank<?)", true},
        {FA_SQL_LIST_RUN_AT_DESC, "INDEX task_run_at (run_at_us>? AND run_at_us<?)", true},
        {FA_SQL_LIST_RUN_AT_ASC, "INDEX task_run_at (run_at_us>?)", true},
        {FA_SQL_LIST_DUE_DESC, "INDEX parked_at (at_us>? AND at_us<?)", true},
        {FA_SQL_LIST_DUE_ASC, "INDEX parked_at (at_us>?)", true},
        {FA_SQL_LIST_LATE_DESC,
         "COVERING INDEX ready_run_at (run_at_us>? AND (run_at_us,id)<(?,?))", true},
        {FA_SQL_LIST_LATE_ASC, "COVERING INDEX ready_run_at ((run_at_us,id)>(?,?))", true},
        {FA_SQL_LIST_PARENT_PLACES, "INDEX task_parent (parent=?)", false},
        {FA_SQL_TASK_METADATA, "SEARCH task USING INTEGER PRIMARY KEY (rowid=?)", true},
    };
    struct store store;

    store_open(&store);
    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        const char *plan = plan_of(&store, cases[i].sql);

        CHECK(strstr(plan, cases[i].plan) != NULL, "%s: wanted %s in\n%s",
              fa_sql_name(cases[i].sql), cases[i].plan, plan);
        CHECK(!cases[i].is_sorted || strstr(plan, "TEMP B-TREE") == NULL, "%s sorts:\n%s",
              fa_sql_name(cases[i].sql), plan);
    }
    store_close(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_queries__every_file_is_a_statement),
        cmocka_unit_test(test_queries__every_statement_prepares),
        cmocka_unit_test(test_queries__no_large_table_is_read_whole),
        cmocka_unit_test(test_queries__the_right_index_is_used),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
