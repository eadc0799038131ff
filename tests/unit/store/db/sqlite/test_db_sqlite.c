/*
 * test_db_sqlite.c - db.h over SQLite: values, transactions, refusals.
 */
#include "support/raw.h"

#include "base/clock.h"
#include "store/db/migrate.h"
#include "store/db/sqlite/db_sqlite.h"

#include <setjmp.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[FA_T_PATH_SIZE];
static char path[FA_T_PATH_SIZE + 16];
static struct fa_arena arena;

static int set_up(void **state)
{
    fa_t_temp_dir(dir);
    snprintf(path, sizeof(path), "%s/a.db", dir);
    return 0;
}

static int tear_down(void **state)
{
    fa_t_remove_tree(dir);
    fa_arena_finish(&arena);
    return 0;
}

static enum faina_code try_open(struct fa_db **out, const char *name, bool is_reader,
                                struct faina_error *err)
{
    return fa_sqlite_open(
        out, &(struct fa_sqlite_options){.path = name, .is_reader = is_reader, .cache_kib = 1024},
        err);
}

static struct fa_db *must_open(const char *name, bool is_reader)
{
    struct faina_error err = {0};
    struct fa_db *db = NULL;

    CHECK(try_open(&db, name, is_reader, &err) == FAINA_OK, "%s", err.message);
    return db;
}

static struct fa_db *open_store(const char *name)
{
    struct faina_error err = {0};
    struct fa_db *db = must_open(name, false);

    CHECK(fa_migrate(db, 0, &err) == FAINA_OK, "%s", err.message);
    return db;
}

static void must(enum faina_code code, const struct faina_error *err)
{
    CHECK(code == FAINA_OK, "%s", err->message);
}

/* A team has four texts, one of which may be null, and two numbers. */
static enum faina_code put_team(struct fa_db *db, struct fa_value id, struct fa_value spec,
                                struct fa_value created, struct faina_error *err)
{
    struct fa_value params[6] = {id, fa_value_text("ns"), id, spec, created, fa_value_int(0)};

    return fa_db_one(db, FA_SQL_TEAM_PUT, params, 6, NULL, NULL, err);
}

struct team {
    struct fa_value id, spec, created;
    size_t count;
};

static void sink_team(void *ctx, size_t row, const struct fa_value *columns)
{
    struct team *team = ctx;

    team->count++;
    team->id = columns[0];
    team->spec = columns[3];
    team->created = columns[4];
    if (team->id.kind == FA_TEXT) /* D2: they live until the sink returns */
        team->id.text.ptr = fa_arena_copy(&arena, team->id.text.ptr, team->id.text.len);
    if (team->spec.kind == FA_TEXT)
        team->spec.text.ptr = fa_arena_copy(&arena, team->spec.text.ptr, team->spec.text.len);
}

static struct team get_team(struct fa_db *db, struct fa_value id)
{
    struct faina_error err = {0};
    struct team team = {0};

    must(fa_db_one(db, FA_SQL_TEAM_GET, &id, 1, sink_team, &team, &err), &err);
    return team;
}

static int64_t count_teams(struct fa_db *db)
{
    struct fa_value all[] = {
        {.kind = FA_NULL}, fa_value_text(""), fa_value_text(""), fa_value_int(INT64_MAX)};
    struct faina_error err = {0};
    struct team team = {0};

    must(fa_db_one(db, FA_SQL_TEAM_LIST, all, 4, sink_team, &team, &err), &err);
    return (int64_t)team.count;
}

/* ------------------------------------------------------------------------------------------
 * Values
 */

static void test_db_sqlite__text_comes_back(void **state)
{
    static const char nul[] = "a\0b";
    const struct fa_value cases[] = {
        fa_value_text("plain"),
        fa_value_text(""),
        fa_value_text("'; DROP TABLE team; --"),
        fa_value_text("\"double\" 'single' `back` \\ \n\t"),
        fa_value_text("caf\xc3\xa9 \xe6\x97\xa5\xe6\x9c\xac \xf0\x9f\x90\x8e"),
        fa_value_text("?1 :name @x $y %s"),
        fa_value_text("12345678901234567890"), /* stays text */
        {.kind = FA_TEXT, .text = {nul, 3}},
    };

    for (int in_memory = 0; in_memory < 2; in_memory++) {
        struct fa_db *db = open_store(in_memory ? NULL : path);

        for (size_t i = 0; i < FA_COUNT(cases); i++) {
            struct faina_error err = {0};
            struct team team;

            must(put_team(db, cases[i], cases[i], fa_value_int(1), &err), &err);
            team = get_team(db, cases[i]);
            CHECK_INT(team.count, 1);
            CHECK_INT(team.id.kind, FA_TEXT);
            CHECK(fa_bytes_equal(team.id.text, cases[i].text), "case %zu", i);
            CHECK(fa_bytes_equal(team.spec.text, cases[i].text), "case %zu", i);
        }
        fa_db_close(db);
    }
}

static void test_db_sqlite__a_large_text_comes_back(void **state)
{
    struct fa_db *db = open_store(path);
    struct faina_error err = {0};
    size_t len = 3 << 20;
    char *text = fa_alloc(len + 1);
    struct team team;

    memset(text, 'x', len);
    text[len] = '\0';
    must(put_team(db, fa_value_text("big"), fa_value_text(text), fa_value_int(1), &err), &err);
    team = get_team(db, fa_value_text("big"));
    CHECK_TRUE(fa_bytes_equal(team.spec.text, fa_str(text)));
    free(text);
    fa_db_close(db);
}

static void test_db_sqlite__numbers_come_back(void **state)
{
    static const int64_t cases[] = {0,         1,          -1,        INT32_MAX,
                                    INT32_MIN, UINT32_MAX, INT64_MAX, INT64_MIN};
    struct fa_db *db = open_store(path);
    struct faina_error err = {0};

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        struct team team;

        must(put_team(db, fa_value_text("t"), fa_value_text(NULL), fa_value_int(cases[i]), &err),
             &err);
        team = get_team(db, fa_value_text("t"));
        CHECK_INT(team.created.kind, FA_INT);
        CHECK_INT(team.created.i, cases[i]);
        CHECK_INT(team.spec.kind, FA_NULL);
        CHECK_INT(fa_value_as_int(&team.spec), 0);
        CHECK_TRUE(fa_value_dup(&team.spec, &arena) == NULL);
        must(fa_db_one(db, FA_SQL_TEAM_DELETE,
                       &(struct fa_value){.kind = FA_TEXT, .text = fa_str("t")}, 1, NULL, NULL,
                       &err),
             &err);
    }
    fa_db_close(db);
}

static void bind_task(void *ctx, size_t row, struct fa_value *params)
{
    for (int i = 0; i < 26; i++)
        params[i] = (struct fa_value){.kind = FA_NULL};
    params[0] = fa_value_int((int64_t)row + 1);
    for (int i = 1; i < 6; i++)
        params[i] = fa_value_int((int64_t)row * i);
    params[19] = (struct fa_value){.kind = FA_REAL, .d = 0.5 + (double)row};
}

struct rows {
    size_t count;
    double factors;
};

static void bind_number(void *ctx, size_t row, struct fa_value *params)
{
    params[0] = fa_value_int((int64_t)row + 1);
}

static void sink_task(void *ctx, size_t row, const struct fa_value *columns)
{
    struct rows *rows = ctx;

    CHECK_INT(row, rows->count); /* which row of parameters it answers */
    CHECK_INT(columns[0].i, row + 1);
    CHECK_INT(columns[5].i, row * 5);
    CHECK_INT(columns[6].kind, FA_NULL);
    CHECK_INT(columns[16].kind, FA_REAL);
    rows->factors += columns[16].d;
    rows->count++;
}

static void test_db_sqlite__many_rows_in_one_call(void **state)
{
    struct fa_db *db = open_store(path);
    struct faina_error err = {0};
    struct rows rows = {0};
    struct fa_db_call insert = {
        .sql = FA_SQL_TASK_INSERT, .rows = 200, .param_count = 26, .bind = bind_task};
    struct fa_db_call read = {.sql = FA_SQL_TASK_GET,
                              .rows = 200,
                              .param_count = 1,
                              .bind = bind_number,
                              .sink = sink_task,
                              .sink_ctx = &rows};

    must(fa_db_run(db, &insert, &err), &err);
    must(fa_db_run(db, &read, &err), &err);
    CHECK_INT(rows.count, 200);
    CHECK_TRUE(rows.factors == 200 * 0.5 + 199 * 100);
    read.rows = 0;
    must(fa_db_run(db, &read, &err), &err);
    CHECK_INT(rows.count, 200);
    fa_db_close(db);
}

/* Keys, which are inserted many at a time. The bad one has no task, which is refused. */
static void bind_key(void *ctx, size_t row, struct fa_value *params)
{
    const size_t *bad = ctx;

    params[0] = fa_value_int((int64_t)row + 1);
    params[1] = row == *bad ? (struct fa_value){.kind = FA_NULL} : fa_value_int((int64_t)row + 100);
}

static enum faina_code put_keys(struct fa_db *db, size_t rows, size_t bad, struct faina_error *err)
{
    struct fa_db_call call = {.sql = FA_SQL_KEY_INSERT,
                              .rows = rows,
                              .param_count = 2,
                              .bind = bind_key,
                              .bind_ctx = &bad};

    return fa_db_run(db, &call, err);
}

static int64_t count_keys(void)
{
    sqlite3 *raw = raw_open(path);
    int64_t count = raw_int(raw, "SELECT count(*) FROM task_key WHERE task = hash + 99");

    raw_close(raw);
    return count;
}

static void test_db_sqlite__any_number_of_rows_is_inserted(void **state)
{
    static const size_t counts[] = {1, 2, 3, 7, 8, 9, 31, 32, 33, 75, 1000};

    for (size_t i = 0; i < FA_COUNT(counts); i++) {
        struct fa_db *db = open_store(path);
        struct faina_error err = {0};

        must(fa_db_begin(db, true, &err), &err);
        must(put_keys(db, counts[i], SIZE_MAX, &err), &err);
        must(fa_db_commit(db, &err), &err);
        CHECK_INT(count_keys(), counts[i]);
        fa_db_close(db);
        CHECK_INT(unlink(path), 0);
    }
}

static void test_db_sqlite__a_bad_row_among_many_undoes_all(void **state)
{
    static const size_t places[] = {0, 31, 32, 39, 40, 41, 42};
    struct fa_db *db = open_store(path);

    for (size_t i = 0; i < FA_COUNT(places); i++) {
        struct faina_error err = {0};

        must(fa_db_begin(db, true, &err), &err);
        CHECK_TRUE(put_keys(db, 43, places[i], &err) != FAINA_OK);
        CHECK(strstr(err.message, "key_insert") != NULL, "%s", err.message);
        fa_db_rollback(db);
        CHECK_INT(count_keys(), 0);
    }
    fa_db_close(db);
}

/* A row of `log`; the second parameter goes through all kinds. */
static void bind_kinds(void *ctx, size_t row, struct fa_value *params)
{
    const struct fa_value *kinds = ctx;

    params[0] = fa_value_int(7); /* the same for all */
    params[1] = kinds[row];
}

/* What a parameter was bound to before, by this call or another, doesn't show. */
static void test_db_sqlite__each_row_has_its_own_values(void **state)
{
    const struct fa_value null = {.kind = FA_NULL}, one = fa_value_int(1), two = fa_value_int(2),
                          text = fa_value_text("t"), real = {.kind = FA_REAL, .d = 0.5};
    const struct fa_value rows[] = {one, one, two,  text, text, one, real, real,
                                    one, two, text, one,  two,  two, text};
    struct fa_db *db = open_store(path);
    struct faina_error err = {0};
    struct fa_db_call call = {.sql = FA_SQL_LOG_INSERT,
                              .param_count = 2,
                              .bind = bind_kinds,
                              .bind_ctx = (void *)(uintptr_t)rows};
    sqlite3 *raw;

    for (size_t i = 1; i <= FA_COUNT(rows); i++) { /* in all widths */
        call.rows = i;
        must(fa_db_begin(db, true, &err), &err);
        must(fa_db_run(db, &call, &err), &err);
        must(fa_db_commit(db, &err), &err);
    }
    call.rows = 1;
    call.bind_ctx = (void *)(uintptr_t)&null; /* refused: NOT NULL */
    CHECK_TRUE(fa_db_run(db, &call, &err) != FAINA_OK);
    call.bind_ctx = (void *)(uintptr_t)&two;
    must(fa_db_run(db, &call, &err), &err);
    raw = raw_open(path);
    CHECK_STR(raw_text(raw,
                       "SELECT group_concat(events, '') FROM (SELECT events FROM log "
                       "ORDER BY seq DESC LIMIT 16)",
                       &arena),
              "2t221t210.50.51tt211");
    CHECK_INT(raw_int(raw, "SELECT count(*) FROM log WHERE at_us = 7"), 121);
    raw_close(raw);
    fa_db_close(db);
}

/* ------------------------------------------------------------------------------------------
 * The log
 */

/* A commit of several pages; how long the log's file is then. */
static int64_t commit_filler(struct fa_db *db)
{
    struct faina_error err = {0};
    struct stat log;

    must(db->ops->script(db,
                         "CREATE TABLE IF NOT EXISTS filler (a);"
                         "INSERT INTO filler VALUES (randomblob(50000))",
                         &err),
         &err);
    CHECK_INT(stat(fa_arena_printf(&arena, "%s-wal", path), &log), 0);
    return log.st_size;
}

/* A program that reads the file for hours makes the log long, and the writer not slower. */
static void test_db_sqlite__a_foreign_reader_holds_up_little(void **state)
{
    struct fa_db *db = open_store(path);
    sqlite3 *raw = raw_open(path);
    int64_t size = commit_filler(db), begun_us;

    raw_exec(raw, "BEGIN; SELECT count(*) FROM filler");
    begun_us = fa_clock_mono_us();
    db->ops->maintain(db, true);
    CHECK_TRUE(fa_clock_mono_us() - begun_us < 2000000);
    CHECK_TRUE(commit_filler(db) > size);
    raw_exec(raw, "COMMIT");
    size = commit_filler(db);
    db->ops->maintain(db, true);
    CHECK_INT(commit_filler(db), size); /* it has started anew */
    raw_close(raw);
    fa_db_close(db);
}

/* ------------------------------------------------------------------------------------------
 * Transactions
 */

/* D1 */
static void test_db_sqlite__commit_keeps_and_rollback_forgets(void **state)
{
    struct fa_db *db = open_store(path), *reader = must_open(path, true);
    struct faina_error err = {0};

    must(fa_db_begin(db, true, &err), &err);
    must(put_team(db, fa_value_text("a"), fa_value_text(NULL), fa_value_int(1), &err), &err);
    CHECK_INT(count_teams(db), 1);
    CHECK_INT(count_teams(reader), 0); /* not before the commit */
    must(fa_db_commit(db, &err), &err);
    CHECK_INT(count_teams(reader), 1);
    must(fa_db_begin(db, true, &err), &err);
    must(put_team(db, fa_value_text("b"), fa_value_text(NULL), fa_value_int(1), &err), &err);
    fa_db_rollback(db);
    fa_db_rollback(db); /* outside a transaction it does nothing */
    CHECK_INT(count_teams(db), 1);
    fa_db_close(reader);
    fa_db_close(db);
    db = open_store(path);
    CHECK_INT(count_teams(db), 1);
    fa_db_close(db);
    fa_db_close(NULL);
}

static void test_db_sqlite__a_reader_sees_one_moment(void **state)
{
    struct fa_db *db = open_store(path), *reader = must_open(path, true);
    struct faina_error err = {0};

    must(fa_db_begin(reader, false, &err), &err);
    CHECK_INT(count_teams(reader), 0);
    must(put_team(db, fa_value_text("a"), fa_value_text(NULL), fa_value_int(1), &err), &err);
    CHECK_INT(count_teams(reader), 0);
    fa_db_rollback(reader);
    CHECK_INT(count_teams(reader), 1);
    fa_db_close(reader);
    fa_db_close(db);
}

static void test_db_sqlite__a_reader_writes_nothing(void **state)
{
    struct fa_db *db = open_store(path), *reader = must_open(path, true);
    struct faina_error err = {0};

    CHECK_TRUE(put_team(reader, fa_value_text("a"), fa_value_text(NULL), fa_value_int(1), &err) !=
               FAINA_OK);
    CHECK_INT(count_teams(db), 0);
    fa_db_close(reader);
    fa_db_close(db);
}

/* A ROLLBACK without memory leaves the transaction open: the next begin ends it. */
static void test_db_sqlite__begin_rolls_back_an_open_transaction(void **state)
{
    struct fa_db *db = open_store(path);
    struct faina_error err = {0};

    must(fa_db_begin(db, true, &err), &err);
    must(put_team(db, fa_value_text("a"), fa_value_text(NULL), fa_value_int(1), &err), &err);
    must(fa_db_begin(db, true, &err), &err);
    CHECK_INT(count_teams(db), 0);
    must(fa_db_commit(db, &err), &err);
    CHECK_INT(fa_db_commit(db, &err), FAINA_INTERNAL);
    CHECK_TRUE(fa_db_commit(db, NULL) != FAINA_OK);
    fa_db_close(db);
}

/* ------------------------------------------------------------------------------------------
 * Statements that fail
 */

static void test_db_sqlite__a_failed_statement_is_named(void **state)
{
    struct fa_db *db = open_store(path);
    struct faina_error err = {0};
    struct fa_value key[2] = {fa_value_int(1), fa_value_int(2)};

    must(fa_db_begin(db, true, &err), &err);
    must(fa_db_one(db, FA_SQL_KEY_INSERT, key, 2, NULL, NULL, &err), &err);
    CHECK_INT(fa_db_one(db, FA_SQL_KEY_INSERT, key, 2, NULL, NULL, &err), FAINA_INTERNAL);
    CHECK(strstr(err.message, "key_insert") != NULL, "%s", err.message);
    CHECK(strstr(err.message, path) != NULL, "%s", err.message);
    fa_db_rollback(db);
    must(fa_db_one(db, FA_SQL_KEY_INSERT, key, 2, NULL, NULL, &err), &err); /* it still works */
    fa_db_close(db);
}

static void bind_same_after_two(void *ctx, size_t row, struct fa_value *params)
{
    params[0] = fa_value_int(row < 2 ? (int64_t)row : 0);
    params[1] = fa_value_int(9);
}

static void test_db_sqlite__the_first_failing_row_ends_the_call(void **state)
{
    struct fa_db *db = open_store(path);
    struct faina_error err = {0};
    struct fa_db_call call = {
        .sql = FA_SQL_KEY_INSERT, .rows = 5, .param_count = 2, .bind = bind_same_after_two};
    sqlite3 *raw;

    must(fa_db_begin(db, true, &err), &err);
    CHECK_INT(fa_db_run(db, &call, &err), FAINA_INTERNAL);
    fa_db_rollback(db);
    raw = raw_open(path);
    CHECK_INT(raw_int(raw, "SELECT count(*) FROM task_key"), 0);
    raw_close(raw);
    fa_db_close(db);
}

static void test_db_sqlite__without_a_schema_statements_fail(void **state)
{
    struct fa_db *db = must_open(path, false);
    struct fa_value end = fa_value_int(INT64_MAX);
    struct faina_error err = {0};
    int64_t last = 0;

    CHECK_INT(fa_db_one(db, FA_SQL_TASK_LAST, &end, 1, fa_db_sink_int, &last, &err),
              FAINA_INTERNAL);
    CHECK(strstr(err.message, "task_last") != NULL, "%s", err.message);
    CHECK_INT(db->ops->script(db, "CREATE TABLE x (", &err), FAINA_INTERNAL);
    must(fa_migrate(db, 0, &err), &err);
    must(fa_db_one(db, FA_SQL_TASK_LAST, &end, 1, fa_db_sink_int, &last, &err), &err);
    fa_db_close(db);
}

/* ------------------------------------------------------------------------------------------
 * Files
 */

static void write_file(const char *name, const char *text, size_t len)
{
    FILE *file = fopen(name, "wb");

    CHECK_TRUE(file != NULL);
    CHECK_INT(fwrite(text, 1, len, file), len);
    fclose(file);
}

static void must_refuse(const char *name, bool is_reader, const char *sentence)
{
    struct faina_error err = {0};
    struct fa_db *db = NULL;

    CHECK_INT(try_open(&db, name, is_reader, &err), FAINA_UNAVAILABLE);
    CHECK_TRUE(db == NULL); /* outputs are written only on success */
    CHECK(strstr(err.message, sentence) != NULL, "the sentence is: %s", err.message);
    CHECK(strncmp(err.message, name, strlen(name)) == 0, "the sentence is: %s", err.message);
}

static void test_db_sqlite__files_of_others_are_left_alone(void **state)
{
    static const struct {
        const char *name, *sql;
    } cases[] = {
        {"a table", "CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)"},
        {"another program's mark", "PRAGMA application_id = 7"},
        {"both", "PRAGMA application_id = 7; CREATE TABLE theirs (x)"},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        sqlite3 *raw;

        unlink(path);
        raw = raw_open(path);
        raw_exec(raw, cases[i].sql);
        raw_close(raw);
        must_refuse(path, false, "is a SQLite database of another program");
        raw = raw_open(path);
        CHECK_STR(raw_text(raw, "PRAGMA journal_mode", &arena), "delete"); /* untouched */
        raw_close(raw);
    }
}

static void test_db_sqlite__what_is_no_database_is_refused(void **state)
{
    char text[4096];

    memset(text, 'z', sizeof(text));
    write_file(path, text, sizeof(text));
    must_refuse(path, false, "is not a Faina database");
    write_file(path, text, 10);
    must_refuse(path, false, "is not a Faina database");
    must_refuse(dir, false, "can't be opened");
    snprintf(text, sizeof(text), "%s/no/such/folder.db", dir);
    must_refuse(text, false, "can't be opened");
}

static void test_db_sqlite__an_empty_file_becomes_a_database(void **state)
{
    sqlite3 *raw;

    write_file(path, "", 0);
    fa_db_close(open_store(path));
    raw = raw_open(path);
    CHECK_INT(raw_int(raw, "PRAGMA application_id"), 0x4661696e);
    CHECK_STR(raw_text(raw, "PRAGMA journal_mode", &arena), "wal");
    CHECK_STR(raw_text(raw, "PRAGMA integrity_check", &arena), "ok");
    raw_close(raw);
}

static void test_db_sqlite__a_reader_makes_no_file(void **state)
{
    must_refuse(path, true, "can't be opened");
    CHECK_TRUE(access(path, F_OK) != 0);
}

/* A name is a name: no URI, no pattern. */
static void test_db_sqlite__odd_names_are_taken_literally(void **state)
{
    static const char *const names[] = {"a?mode=memory", "50%25.db",    "with space.db",
                                        "caf\xc3\xa9",   "quo'te\".db", "file:x"};

    for (size_t i = 0; i < FA_COUNT(names); i++) {
        char full[FA_T_PATH_SIZE + 64];

        snprintf(full, sizeof(full), "%s/%s", dir, names[i]);
        fa_db_close(open_store(full));
        CHECK(access(full, F_OK) == 0, "%s is not there", full);
    }
}

static void test_db_sqlite__stores_in_memory_are_apart(void **state)
{
    struct fa_db *a = open_store(NULL), *b = open_store(NULL);
    struct faina_error err = {0};

    must(put_team(a, fa_value_text("a"), fa_value_text(NULL), fa_value_int(1), &err), &err);
    CHECK_INT(count_teams(a), 1);
    CHECK_INT(count_teams(b), 0);
    fa_db_close(a);
    fa_db_close(b);
}

/* ------------------------------------------------------------------------------------------
 * Housekeeping
 */

static void count_finding(void *ctx, const char *sentence)
{
    CHECK_TRUE(sentence[0] != '\0');
    ++*(int *)ctx;
}

static void test_db_sqlite__damage_is_found(void **state)
{
    struct fa_db *db = open_store(path);
    struct faina_error err = {0};
    enum faina_code code;
    int findings = 0;
    sqlite3 *raw;

    must(db->ops->check(db, count_finding, &findings, &err), &err);
    CHECK_INT(findings, 0);
    for (int i = 0; i < 50; i++) {
        struct fa_value key[2] = {fa_value_int(1), fa_value_int(i)};

        must(fa_db_one(db, FA_SQL_DEP_INSERT, key, 2, NULL, NULL, &err), &err);
    }
    fa_db_close(db);
    raw = raw_open(path);
    raw_exec(raw, "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET rootpage = (SELECT "
                  "rootpage FROM sqlite_schema WHERE name = 'task_key') WHERE name = "
                  "'task_dep_needs'");
    raw_close(raw);
    db = must_open(path, false);
    code = db->ops->check(db, count_finding, &findings, &err);
    CHECK(code != FAINA_OK || findings > 0, "the damage was not found");
    fa_db_close(db);
}

static void test_db_sqlite__it_says_what_it_is(void **state)
{
    struct fa_db *db = open_store(path);

    CHECK_STR(db->ops->version(db), sqlite3_libversion());
    CHECK_STR(db->ops->name, "sqlite");
    fa_db_close(db);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_db_sqlite__text_comes_back),
        TEST(test_db_sqlite__a_large_text_comes_back),
        TEST(test_db_sqlite__numbers_come_back),
        TEST(test_db_sqlite__many_rows_in_one_call),
        TEST(test_db_sqlite__any_number_of_rows_is_inserted),
        TEST(test_db_sqlite__a_bad_row_among_many_undoes_all),
        TEST(test_db_sqlite__each_row_has_its_own_values),
        TEST(test_db_sqlite__a_foreign_reader_holds_up_little),
        TEST(test_db_sqlite__commit_keeps_and_rollback_forgets),
        TEST(test_db_sqlite__a_reader_sees_one_moment),
        TEST(test_db_sqlite__a_reader_writes_nothing),
        TEST(test_db_sqlite__begin_rolls_back_an_open_transaction),
        TEST(test_db_sqlite__a_failed_statement_is_named),
        TEST(test_db_sqlite__the_first_failing_row_ends_the_call),
        TEST(test_db_sqlite__without_a_schema_statements_fail),
        TEST(test_db_sqlite__files_of_others_are_left_alone),
        TEST(test_db_sqlite__what_is_no_database_is_refused),
        TEST(test_db_sqlite__an_empty_file_becomes_a_database),
        TEST(test_db_sqlite__a_reader_makes_no_file),
        TEST(test_db_sqlite__odd_names_are_taken_literally),
        TEST(test_db_sqlite__stores_in_memory_are_apart),
        TEST(test_db_sqlite__damage_is_found),
        TEST(test_db_sqlite__it_says_what_it_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
