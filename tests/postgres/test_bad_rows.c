/*
 * test_bad_rows.c - rows of a PostgreSQL store are not what the engine has written: nothing else
 * stops, and what is wrong is named.
 *
 * The database keeps the types of the columns, so that what can be wrong is less than in a file
 * (faults/test_bad_rows.c). A case damages many rows at once.
 */
#include "support/bad_rows.h"
#include "support/psql.h"

#include <setjmp.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define CASE_SECONDS_MAX 120

static void set_up(struct fa_t *t, PGconn **conn)
{
    fa_psql_need_engine();
    fa_t_init(t);
    fa_t_set_url(t, FA_T_POSTGRES);
    fa_bad_fill(t);
    *conn = fa_psql_connect(t->url);
    fa_psql_exec(*conn, "%s", fa_bad_age_sql);
}

static void tear_down(struct fa_t *t, PGconn *conn)
{
    fa_psql_close(conn);
    fa_t_finish(t);
}

/* Gives every column of a type a value, each in one victim's row; what the schema refuses is left
 * out. */
static void damage_all(PGconn *conn, const char *type, const char *value)
{
    char columns[2][FA_PSQL_TEXT_SIZE], state[8];
    int64_t count = fa_psql_int(conn,
                                "SELECT count(*) FROM information_schema.columns "
                                "WHERE table_schema = current_schema() AND data_type = '%s'",
                                type);
    size_t done = 0;

    for (int64_t i = 0; i < count; i++) {
        const char *condition;

        fa_psql_text(conn, columns[0],
                     "SELECT table_name FROM information_schema.columns "
                     "WHERE table_schema = current_schema() AND data_type = '%s' "
                     "ORDER BY table_name, column_name OFFSET %lld LIMIT 1",
                     type, (long long)i);
        fa_psql_text(conn, columns[1],
                     "SELECT column_name FROM information_schema.columns "
                     "WHERE table_schema = current_schema() AND data_type = '%s' "
                     "ORDER BY table_name, column_name OFFSET %lld LIMIT 1",
                     type, (long long)i);
        condition = fa_bad_rows_of(columns[0]);
        if (condition == NULL)
            continue;
        /* Another row for each column, so that each is the first thing that is wrong there. */
        fa_psql_try(conn, state,
                    "UPDATE %s SET %s = %s WHERE ctid = (SELECT ctid FROM %s WHERE %s "
                    "ORDER BY ctid OFFSET %lld %% greatest(1, (SELECT count(*) FROM %s WHERE %s)) "
                    "LIMIT 1)",
                    columns[0], columns[1], value, columns[0], condition, (long long)i, columns[0],
                    condition);
        done += state[0] == '\0';
    }
    CHECK(done > 5, "only %zu columns were damaged", done);
}

static void live_with(const char *type, const char *value)
{
    struct fa_t t;
    PGconn *conn;

    set_up(&t, &conn);
    damage_all(conn, type, value);
    alarm(CASE_SECONDS_MAX);
    fa_bad_live(&t);
    alarm(0);
    tear_down(&t, conn);
}

static void test_bad_rows__negative_numbers(void **state)
{
    (void)state;
    live_with("bigint", "-1");
}

static void test_bad_rows__huge_numbers(void **state)
{
    (void)state;
    live_with("bigint", "9223372036854775807");
}

static void test_bad_rows__no_json(void **state)
{
    (void)state;
    live_with("text", "'['");
}

static void test_bad_rows__empty_text(void **state)
{
    (void)state;
    live_with("text", "''");
}

struct wanted {
    const char *name;
};

static bool is_named(struct fa_t *t, void *arg)
{
    const char *name = ((const struct wanted *)arg)->name;
    struct fa_service_info info;
    struct faina_error err = {0};

    CHECK(fa_service_info(t->svc, true, &t->arena, &info, &err) == FAINA_OK, "%s", err.message);
    for (size_t i = 0; i < info.finding_count; i++) {
        if (strstr(info.findings[i], name) != NULL && strstr(info.findings[i], "set aside"))
            return true;
    }
    return false;
}

/* What a role that may write to the tables can do: rows in line that have no task, or whose task
 * has ended, tasks above each other, an input that is none, a lane that is none. */
static void test_bad_rows__written_by_hand(void **state)
{
    const char *done, *circle[2], *empty;
    struct fa_t t;
    PGconn *conn;

    (void)state;
    set_up(&t, &conn);
    fa_t_open(&t);
    done = fa_t_submit(&t, .type = "v.late", .priority = 100);
    fa_t_finish_task(&t, done);
    for (size_t i = 0; i < 2; i++)
        circle[i] = fa_t_submit(&t, .type = "v.late", .delay_ms = 3600000);
    empty = fa_t_submit(&t, .type = "v.plain", .priority = 100);
    fa_t_close(&t);
    fa_psql_exec(conn,
                 "INSERT INTO ready (lane, rank, id, version) SELECT lane, rank, id, 1 FROM task "
                 "WHERE task_uuid(id, tail) = '%s';"
                 "INSERT INTO ready (lane, rank, id) SELECT id, -200, 5 FROM lane "
                 "WHERE type IN ('o.plain', 'o.rich', 'o.need');"
                 "UPDATE task SET input = '' WHERE task_uuid(id, tail) = '%s';"
                 "UPDATE task a SET parent = b.id FROM task b WHERE task_uuid(a.id, a.tail) = '%s' "
                 "AND task_uuid(b.id, b.tail) = '%s';"
                 "UPDATE task a SET parent = b.id FROM task b WHERE task_uuid(b.id, b.tail) = '%s' "
                 "AND task_uuid(a.id, a.tail) = '%s';"
                 "UPDATE parked SET flags = flags | 192 WHERE id IN "
                 "(SELECT id FROM task WHERE task_uuid(id, tail) IN ('%s', '%s'));"
                 "INSERT INTO lane (namespace, type, resources) VALUES ('default', 'v.odd', 'x')",
                 done, empty, circle[0], circle[1], circle[0], circle[1], circle[0], circle[1]);
    alarm(CASE_SECONDS_MAX);
    fa_t_open(&t);
    for (size_t i = 0; i < 2; i++) {
        struct fa_op op = {.kind = FA_OP_CANCEL, .id = circle[i], .arena = &t.arena};

        fa_service_run(t.svc, &op, 1); /* any answer will do, but one */
    }
    CHECK_CODE(&t, fa_t_get(&t, empty), FAINA_INTERNAL);
    fa_t_wait_until(is_named, &t, &(struct wanted){empty}, "doctor names it");
    fa_t_close(&t);
    fa_bad_live(&t);
    alarm(0);
    tear_down(&t, conn);
}

/* One of many that come due can't be put in line: the others are, and it is set aside. */
static void test_bad_rows__one_chore_fails(void **state)
{
    struct faina_claim claim = {.worker_id = "w", .limit = 1000, .wait_ms = 20000};
    const char *bad = NULL;
    size_t count = 0;
    struct fa_t t;
    PGconn *conn;

    (void)state;
    fa_psql_need_engine();
    fa_t_init(&t);
    fa_t_set_url(&t, FA_T_POSTGRES);
    fa_t_open(&t);
    for (int i = 0; i < 100; i++) {
        const char *id = fa_t_submit(&t, .type = "x", .delay_ms = 3600000);

        if (i == 61)
            bad = id;
    }
    fa_t_close(&t);
    conn = fa_psql_connect(t.url);
    fa_psql_exec(conn,
                 "UPDATE parked SET at_us = 1000000;"
                 "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
                 "IF new.id = (SELECT id FROM task WHERE task_uuid(id, tail) = '%s') THEN "
                 "RAISE EXCEPTION 'not this one'; END IF; RETURN new; END $$;"
                 "CREATE TRIGGER refuse BEFORE INSERT ON ready FOR EACH ROW "
                 "EXECUTE FUNCTION refuse()",
                 bad);
    fa_t_open(&t);
    while (count < 99) {
        struct fa_op op = {.kind = FA_OP_CLAIM_NEXT, .claim = &claim, .arena = &t.arena};

        CHECK(fa_service_claim_wait(t.svc, &op, NULL) == FAINA_OK, "%s", op.error.message);
        CHECK(op.tasks->count > 0, "only %zu tasks came due", count);
        count += op.tasks->count;
    }
    fa_t_wait_until(is_named, &t, &(struct wanted){bad}, "doctor names it");
    CHECK_INT(fa_psql_int(conn, "SELECT count(*) FROM set_aside WHERE kind = 'task'"), 1);
    tear_down(&t, conn);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_rows__negative_numbers),
        cmocka_unit_test(test_bad_rows__huge_numbers),
        cmocka_unit_test(test_bad_rows__no_json),
        cmocka_unit_test(test_bad_rows__empty_text),
        cmocka_unit_test(test_bad_rows__written_by_hand),
        cmocka_unit_test(test_bad_rows__one_chore_fails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
