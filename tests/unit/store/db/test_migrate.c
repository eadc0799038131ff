/*
 * test_migrate.c - the schema's steps: once each, whole or not at all, and never backwards.
 */
#include "support/unit_store.h"

#include "store/db/migrate.h"
#include "store/db/sqlite/db_sqlite.h"

#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define SCHEMA_SQL "SELECT type, name, sql FROM sqlite_schema ORDER BY type, name"

struct file {
    char dir[FA_T_PATH_SIZE];
    char path[FA_T_PATH_SIZE + 16];
    struct fa_arena arena;
};

static void set_up(struct file *file)
{
    memset(file, 0, sizeof(*file));
    fa_t_temp_dir(file->dir);
    snprintf(file->path, sizeof(file->path), "%s/store.db", file->dir);
}

static void tear_down(struct file *file)
{
    fa_arena_finish(&file->arena);
    fa_t_remove_tree(file->dir);
}

static struct fa_db *open_db(struct file *file)
{
    struct fa_sqlite_options options = {.path = file->path, .cache_kib = 1024};
    struct faina_error err = {0};
    struct fa_db *db = NULL;

    CHECK(fa_sqlite_open(&db, &options, &err) == FAINA_OK, "%s", err.message);
    return db;
}

static void must_migrate(struct fa_db *db)
{
    struct faina_error err = {0};

    CHECK(fa_migrate(db, STORE_NOW, &err) == FAINA_OK, "%s", err.message);
}

static void migrate_file(struct file *file)
{
    struct fa_db *db = open_db(file);

    must_migrate(db);
    fa_db_close(db);
}

static const char *schema_of(struct file *file)
{
    sqlite3 *raw = raw_open(file->path);
    const char *text = raw_text(raw, SCHEMA_SQL, &file->arena);

    raw_close(raw);
    return text;
}

/* The schema that a new file gets. */
static const char *whole_schema(struct fa_arena *arena)
{
    struct file file;
    const char *text;

    set_up(&file);
    migrate_file(&file);
    text = fa_arena_strdup(arena, schema_of(&file));
    tear_down(&file);
    return text;
}

/* ------------------------------------------------------------------------------------------
 * The list of steps
 */

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_sql(const struct dirent *entry)
{
    size_t len = strlen(entry->d_name);

    return len > 4 && strcmp(entry->d_name + len - 4, ".sql") == 0;
}

static void test_migrate__every_file_is_a_step(void **state)
{
    struct dirent **entries = NULL;
    size_t count;
    const struct fa_migration *steps = fa_sqlite_migrations(&count);
    int files =
        scandir(FA_SOURCE_ROOT "/src/store/db/sqlite/migrations", &entries, is_sql, by_name);

    CHECK_INT(files, count);
    for (size_t i = 0; i < count; i++) {
        char number[8];

        snprintf(number, sizeof(number), "%04zu_", i + 1);
        CHECK_TRUE(strncmp(entries[i]->d_name, number, 5) == 0);
        CHECK_TRUE(strncmp(entries[i]->d_name, steps[i].id, strlen(steps[i].id)) == 0);
        CHECK_TRUE(steps[i].description[0] != '\0');
        free(entries[i]);
    }
    free(entries);
}

static void test_migrate__the_sqlite3_library_alone_runs_them(void **state)
{
    size_t count;
    const struct fa_migration *steps = fa_sqlite_migrations(&count);
    sqlite3 *raw = raw_open(":memory:");

    assert_int_equal(fa_sqlite_add_functions(raw), SQLITE_OK);
    for (size_t i = 0; i < count; i++)
        raw_exec(raw, steps[i].text);
    raw_exec(raw, "SELECT * FROM tasks; SELECT * FROM task_events; SELECT * FROM task_results; "
                  "SELECT * FROM workers");
    raw_close(raw);
}

/* ------------------------------------------------------------------------------------------
 * Running them
 */

static void test_migrate__a_new_file_gets_every_step(void **state)
{
    struct file file;
    size_t count;
    const struct fa_migration *steps = fa_sqlite_migrations(&count);
    sqlite3 *raw;

    set_up(&file);
    migrate_file(&file);
    raw = raw_open(file.path);
    CHECK_INT(raw_int(raw, "SELECT count(*) FROM schema_migrations"), count);
    for (size_t i = 0; i < count; i++) {
        const char *sql = fa_arena_printf(
            &file.arena, "SELECT description, executed_at FROM schema_migrations WHERE id = '%s'",
            steps[i].id);
        const char *want =
            fa_arena_printf(&file.arena, "%s|2026-01-02T00:00:00", steps[i].description);
        const char *got = raw_text(raw, sql, &file.arena);

        CHECK(strncmp(got, want, strlen(want)) == 0, "%s: %s", steps[i].id, got);
    }
    raw_close(raw);
    tear_down(&file);
}

static void test_migrate__a_second_run_does_nothing(void **state)
{
    struct file file;
    struct fa_db *db;
    int64_t version;
    sqlite3 *raw;
    const char *schema, *rows;

    set_up(&file);
    db = open_db(&file);
    must_migrate(db);
    raw = raw_open(file.path);
    schema = raw_text(raw, SCHEMA_SQL, &file.arena);
    rows = raw_text(raw, "SELECT * FROM schema_migrations", &file.arena);
    version = raw_int(raw, "PRAGMA data_version"); /* changes when another one commits something */
    must_migrate(db);
    CHECK_INT(raw_int(raw, "PRAGMA data_version"), version);
    CHECK_STR(raw_text(raw, SCHEMA_SQL, &file.arena), schema);
    CHECK_STR(raw_text(raw, "SELECT * FROM schema_migrations", &file.arena), rows);
    raw_close(raw);
    fa_db_close(db);
    tear_down(&file);
}

/* A file as a program left it that knew that many steps. */
static sqlite3 *open_older(struct file *file, size_t known)
{
    size_t count;
    const struct fa_migration *steps = fa_sqlite_migrations(&count);
    sqlite3 *raw;

    assert_true(known <= count);
    fa_db_close(open_db(file)); /* the mark of our files */
    raw = raw_open(file->path);
    assert_int_equal(fa_sqlite_add_functions(raw), SQLITE_OK);
    raw_exec(raw, "CREATE TABLE IF NOT EXISTS schema_migrations (id TEXT PRIMARY KEY, "
                  "description TEXT NOT NULL, executed_at TEXT NOT NULL)");
    for (size_t i = 0; i < known; i++) {
        raw_exec(raw, steps[i].text);
        raw_exec(raw, fa_arena_printf(&file->arena,
                                      "INSERT INTO schema_migrations VALUES ('%s', 'd', "
                                      "'2020-01-01T00:00:00Z')",
                                      steps[i].id));
    }
    return raw;
}

/* What any older program has left behind becomes what a new file is. */
static void test_migrate__every_older_file_is_brought_up_to_date(void **state)
{
    struct fa_arena arena = {0};
    const char *whole = whole_schema(&arena);
    size_t count;

    fa_sqlite_migrations(&count);
    for (size_t known = 0; known <= count; known++) {
        struct file file;
        sqlite3 *raw;

        set_up(&file);
        raw = open_older(&file, known);
        raw_close(raw);
        migrate_file(&file);
        CHECK_STR(schema_of(&file), whole);
        raw = raw_open(file.path);
        CHECK_INT(raw_int(raw, "SELECT count(*) FROM schema_migrations"), count);
        CHECK_INT(raw_int(raw, "SELECT count(*) FROM schema_migrations WHERE description = 'd'"),
                  known);
        raw_close(raw);
        tear_down(&file);
    }
    fa_arena_finish(&arena);
}

/* Tasks of a file without workers stay as they are, and its holders can register. */
static void test_migrate__a_file_without_workers_keeps_its_tasks(void **state)
{
    struct file file;
    sqlite3 *raw;

    set_up(&file);
    raw = open_older(&file, 1);
    raw_exec(raw, "INSERT INTO lane VALUES (1, 'default', 'x', '[]');"
                  "INSERT INTO task (id, tail, lane, rank, created_us, max_attempts) "
                  "VALUES (7, 1, 1, 0, 1, 4);"
                  "INSERT INTO held (id, tail, lane, rank, status, version, fence, attempts, flags,"
                  " progress, updated_us, worker) VALUES (7, 1, 1, 0, 2, 2, 1, 1, 0, 0, 1, 'w')");
    raw_close(raw);
    migrate_file(&file);
    raw = raw_open(file.path);
    CHECK_STR(raw_text(raw, "SELECT type, status, worker_id FROM tasks", &file.arena),
              "x|running|w");
    CHECK_INT(raw_int(raw, "SELECT count(*) FROM workers"), 0);
    raw_exec(raw, "INSERT INTO worker (id, started_us, last_heartbeat_us, pool_size, is_leader) "
                  "VALUES ('w', 1000000, 2000000, 4, 0)");
    CHECK_STR(
        raw_text(raw, "SELECT started_at, last_heartbeat, types, held FROM workers", &file.arena),
        "1970-01-01T00:00:01.000Z|1970-01-01T00:00:02.000Z|[]|1");
    raw_close(raw);
    tear_down(&file);
}

/* Who follows the log finds what was committed behind the place where it stood. */
static void test_migrate__the_log_goes_on_with_its_numbers(void **state)
{
    static const struct {
        const char *forget, *left;
    } cases[] = {
        {"", "2|7|b\n3|9|c\n4|11|d"},
        {"DELETE FROM log", "3|0|\n4|11|d"},
        {"DELETE FROM log WHERE seq = 3", "2|7|b\n3|0|\n4|11|d"}, /* after the clock was set back */
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        struct file file;
        sqlite3 *raw;

        set_up(&file);
        raw = open_older(&file, 6);
        raw_exec(raw, "INSERT INTO log (at_us, events) VALUES (5, 'a'), (7, 'b'), (9, 'c');"
                      "DELETE FROM log WHERE seq = 1;"
                      "CREATE VIEW mine AS SELECT * FROM log");
        raw_exec(raw, cases[i].forget);
        raw_close(raw);
        migrate_file(&file);
        raw = raw_open(file.path);
        raw_exec(raw, "INSERT INTO log (at_us, events) VALUES (11, 'd')");
        CHECK_STR(raw_text(raw, "SELECT * FROM log ORDER BY seq", &file.arena), cases[i].left);
        raw_close(raw);
        tear_down(&file);
    }
}

/* G2 */
static void test_migrate__a_newer_file_is_refused_untouched(void **state)
{
    struct file file;
    struct faina_error err = {0};
    struct fa_db *db;
    sqlite3 *raw;

    for (int is_whole = 0; is_whole < 2; is_whole++) {
        const char *schema;
        int64_t version;

        set_up(&file);
        db = open_db(&file);
        if (is_whole)
            must_migrate(db);
        raw = raw_open(file.path);
        raw_exec(raw, "CREATE TABLE IF NOT EXISTS schema_migrations (id TEXT PRIMARY KEY, "
                      "description TEXT NOT NULL, executed_at TEXT NOT NULL);"
                      "INSERT INTO schema_migrations VALUES ('9999_future', 'd', 'e')");
        schema = raw_text(raw, SCHEMA_SQL, &file.arena);
        version = raw_int(raw, "PRAGMA data_version");
        CHECK_INT(fa_migrate(db, STORE_NOW, &err), FAINA_UNAVAILABLE);
        CHECK(strstr(err.message, "9999_future") != NULL, "%s", err.message);
        CHECK_INT(raw_int(raw, "PRAGMA data_version"), version);
        CHECK_STR(raw_text(raw, SCHEMA_SQL, &file.arena), schema);
        CHECK_INT(raw_int(raw, "SELECT count(*) FROM schema_migrations WHERE description = 'd'"),
                  1);
        raw_exec(raw, "BEGIN IMMEDIATE; ROLLBACK"); /* no transaction is left open */
        raw_close(raw);
        fa_db_close(db);
        tear_down(&file);
    }
}

/* ------------------------------------------------------------------------------------------
 * Not finishing
 */

/* G1: every call fails once. */
static void test_migrate__a_failure_is_rolled_back(void **state)
{
    enum faina_code code = FAINA_UNAVAILABLE;
    struct fa_arena arena = {0};
    const char *whole = whole_schema(&arena);

    for (int64_t fail_at = 1; code != FAINA_OK; fail_at++) {
        struct faina_error err = {0};
        struct file file;
        struct fa_db *db;
        struct spy spy;

        set_up(&file);
        db = open_db(&file);
        spy_init(&spy, db);
        spy.fail_at = fail_at;
        code = fa_migrate(&spy.base, STORE_NOW, &err);
        if (code != FAINA_OK) {
            CHECK_STR(err.message, "made to fail");
            CHECK_STR(schema_of(&file), "");
            must_migrate(db); /* and now it works, on the same connection */
        }
        fa_db_close(db);
        CHECK_STR(schema_of(&file), whole);
        tear_down(&file);
    }
    fa_arena_finish(&arena);
}

static void kill_at(struct spy *spy)
{
    if (spy->calls + 1 == spy->fail_at)
        raise(SIGKILL);
}

/* G1: killed before each call. */
static void test_migrate__a_killed_one_has_not_happened(void **state)
{
    struct fa_arena arena = {0};
    const char *whole = whole_schema(&arena);
    int status = 1;

    for (int64_t at = 1; status != 0; at++) {
        struct file file;
        pid_t pid;

        set_up(&file);
        pid = fork();
        CHECK_TRUE(pid >= 0);
        if (pid == 0) {
            struct spy spy;

            spy_init(&spy, open_db(&file));
            spy.fail_at = at;
            spy.on_call = kill_at;
            _exit(fa_migrate(&spy.base, STORE_NOW, NULL) != FAINA_OK);
        }
        CHECK_INT(waitpid(pid, &status, 0), pid);
        if (status != 0) {
            CHECK_TRUE(WIFSIGNALED(status));
            CHECK_STR(schema_of(&file), "");
        }
        migrate_file(&file);
        CHECK_STR(schema_of(&file), whole);
        tear_down(&file);
        CHECK_TRUE(at < 1000);
    }
    fa_arena_finish(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_migrate__every_file_is_a_step),
        cmocka_unit_test(test_migrate__the_sqlite3_library_alone_runs_them),
        cmocka_unit_test(test_migrate__a_new_file_gets_every_step),
        cmocka_unit_test(test_migrate__a_second_run_does_nothing),
        cmocka_unit_test(test_migrate__every_older_file_is_brought_up_to_date),
        cmocka_unit_test(test_migrate__a_file_without_workers_keeps_its_tasks),
        cmocka_unit_test(test_migrate__the_log_goes_on_with_its_numbers),
        cmocka_unit_test(test_migrate__a_newer_file_is_refused_untouched),
        cmocka_unit_test(test_migrate__a_failure_is_rolled_back),
        cmocka_unit_test(test_migrate__a_killed_one_has_not_happened),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
