/*
 * test_bad_rows.c - a row of a SQLite file is not one that the engine has written: nothing else
 * stops, and what is wrong is named.
 *
 * Each column of each table gets values that don't belong there, behind the engine's back.
 */
#include "faults/inspect.h"
#include "support/bad_rows.h"

#include "server/server.h"

#include <setjmp.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define CASE_SECONDS_MAX 60

/* The monotonic clock of this program is ahead by this. */
static atomic_llong ahead_s;

int clock_gettime(clockid_t clock, struct timespec *now)
{
    long rc = syscall(SYS_clock_gettime, clock, now);

    if (rc == 0 && clock == CLOCK_MONOTONIC)
        now->tv_sec += ahead_s;
    return (int)rc;
}

/* Asks a server at a socket. */
static void ask(const char *path, const char *target, char *out, size_t size)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char request[256];
    int fd = socket(AF_UNIX, SOCK_STREAM, 0), len;
    size_t used = 0;
    ssize_t n;

    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    CHECK(fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0,
          "no server at %s", path);
    len = snprintf(request, sizeof request,
                   "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", target);
    CHECK_TRUE(write(fd, request, (size_t)len) == len);
    while (used < size - 1 && (n = read(fd, out + used, size - 1 - used)) > 0)
        used += (size_t)n;
    out[used] = '\0';
    close(fd);
}

/* What a column gets. The last ones take turns: each column gets one of them. */
static const char *const values[] = {
    "NULL", "''", "-1", "9223372036854775807", "'x'", "0.5", "CAST(x'c328' AS TEXT)", "'['",
};

/* Files in memory, where there are such: a commit then costs little. */
static void init(struct fa_t *t)
{
    const char *before = getenv("TMPDIR");

    before = before ? strdup(before) : NULL;
    if (access("/dev/shm", W_OK) == 0)
        setenv("TMPDIR", "/dev/shm", 1);
    fa_t_init(t);
    if (before != NULL)
        setenv("TMPDIR", before, 1);
    else
        unsetenv("TMPDIR");
    free((void *)(uintptr_t)before);
    t->options.open_timeout_ms = -1;
}

static void use(struct fa_t *t, const char *file)
{
    snprintf(t->url, sizeof t->url, "sqlite:%.400s/%s", t->dir, file);
}

/* Which case runs, for those who read why the program ended. */
static const char *volatile case_now;

static void print_case(int signal_number)
{
    static const char intro[] = "\nwhile this was tried: ";
    const char *text = case_now;

    if (text != NULL && write(STDERR_FILENO, intro, sizeof intro - 1) > 0 &&
        write(STDERR_FILENO, text, strlen(text)) > 0 && write(STDERR_FILENO, "\n", 1) > 0)
        case_now = NULL;
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

struct world {
    struct fa_t t;
    char filled[FA_T_PATH_SIZE + 32], damaged[FA_T_PATH_SIZE + 32];
};

static void make_world(struct world *world)
{
    struct fa_t *t = &world->t;

    init(t);
    use(t, "filled.db");
    snprintf(world->filled, sizeof world->filled, "%s/filled.db", t->dir);
    snprintf(world->damaged, sizeof world->damaged, "%s/damaged.db", t->dir);
    fa_bad_fill(t);
    fa_f_exec(world->filled, fa_bad_age_sql);
    fa_f_exec(world->filled, "PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE");
    use(t, "damaged.db");
}

/* A copy of the file, with a statement run on it. False: SQLite refuses the statement, or it
 * changes nothing. */
static bool damage(struct world *world, const char *sql)
{
    sqlite3 *db = NULL;
    bool is_done;

    fa_f_copy_crashed(world->filled, world->damaged);
    CHECK_INT(sqlite3_open(world->damaged, &db), SQLITE_OK);
    is_done = sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK && sqlite3_changes(db) > 0;
    sqlite3_close(db);
    return is_done;
}

static void copy(struct world *world)
{
    struct fa_copy_report report;
    struct faina_error err = {0};
    char to[FA_T_PATH_SIZE + 32], path[FA_T_PATH_SIZE + 32];
    enum faina_code code;

    snprintf(path, sizeof path, "%s/copy.db", world->t.dir);
    snprintf(to, sizeof to, "sqlite:%s", path);
    code = fa_service_copy(world->t.url, to, NULL, &world->t.arena, &report, &err);
    CHECK(code == FAINA_OK || err.message[0] != '\0', "a copy is refused without a sentence");
    unlink(path);
    snprintf(path, sizeof path, "%s/copy.db-wal", world->t.dir);
    unlink(path);
    snprintf(path, sizeof path, "%s/copy.db-shm", world->t.dir);
    unlink(path);
}

static void live(struct world *world, const char *sql)
{
    case_now = sql;
    alarm(CASE_SECONDS_MAX);
    fa_bad_live(&world->t);
    copy(world);
    fa_t_forget(&world->t);
    alarm(0);
    case_now = NULL;
}

struct column {
    char table[64], name[64];
};

static size_t find_columns(const char *path, struct column *out, size_t size)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;
    size_t count = 0;

    CHECK_INT(sqlite3_open(path, &db), SQLITE_OK);
    CHECK_INT(sqlite3_prepare_v2(db,
                                 "SELECT m.name, c.name FROM sqlite_schema m, "
                                 "pragma_table_info(m.name) c WHERE m.type = 'table' "
                                 "ORDER BY m.name, c.cid",
                                 -1, &stmt, NULL),
              SQLITE_OK);
    while (sqlite3_step(stmt) == SQLITE_ROW && count < size) {
        struct column *column = &out[count];

        snprintf(column->table, sizeof column->table, "%s", sqlite3_column_text(stmt, 0));
        snprintf(column->name, sizeof column->name, "%s", sqlite3_column_text(stmt, 1));
        count += fa_bad_rows_of(column->table) != NULL;
    }
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    return count;
}

/* Gives one column a value. What belongs there, or is refused by the schema, is left out. */
static bool try_column(struct world *world, const struct column *column, const char *value)
{
    char sql[1024];

    snprintf(sql, sizeof sql, "UPDATE OR IGNORE %s SET %s = %s WHERE %s", column->table,
             column->name, value, fa_bad_rows_of(column->table));
    if (!damage(world, sql))
        return false;
    live(world, sql);
    return true;
}

static void test_bad_rows__every_column(void **state)
{
    static struct column columns[300];
    int64_t step = fa_t_env_int("FA_BAD_STEP", 9), number = 0;
    struct world world;
    size_t count, tried = 0;

    (void)state;
    make_world(&world);
    count = find_columns(world.filled, columns, FA_COUNT(columns));
    CHECK(count > 100, "only %zu columns were found", count);
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < FA_COUNT(values); k++) {
            if ((number++ + (int64_t)i) % step == 0)
                tried += try_column(&world, &columns[i], values[k]);
        }
    }
    CHECK(tried > 0, "nothing was tried");
    fa_t_finish(&world.t);
}

/* Rows that are sound, but can't be changed: each kind of chore meets one. */
static void test_bad_rows__changes_that_are_refused(void **state)
{
#define REFUSE(name, when) "CREATE TRIGGER " name " " when " BEGIN SELECT RAISE(ABORT, 'no'); END;"
#define OF_V(row) "(SELECT type FROM lane WHERE id = " row ".lane) LIKE 'v.%'"
    static const char *const triggers[] = {
        REFUSE("a", "BEFORE DELETE ON parked WHEN " OF_V("old")),
        REFUSE("b", "BEFORE DELETE ON held WHEN " OF_V("old")),
        REFUSE("c", "BEFORE INSERT ON held WHEN " OF_V("new")),
        REFUSE("d", "BEFORE UPDATE ON cron WHEN old.name = 'v'"),
        REFUSE("e", "BEFORE UPDATE ON join_state WHEN old.workflow = 'v'"),
        REFUSE("f", "BEFORE INSERT ON ended WHEN " OF_V("new")),
        REFUSE("g", "BEFORE DELETE ON worker"),
        REFUSE("h", "BEFORE INSERT ON event WHEN new.what = 'set_aside'"),
    };
    struct world world;
    struct fa_buf all;

    (void)state;
    make_world(&world);
    fa_buf_init(&all, 8192);
    fa_f_exec(world.filled, "UPDATE worker SET last_heartbeat_us = 1000000");
    for (size_t i = 0; i < FA_COUNT(triggers); i++) {
        fa_buf_add_str(&all, triggers[i]);
        fa_f_copy_crashed(world.filled, world.damaged);
        fa_f_exec(world.damaged, triggers[i]);
        live(&world, triggers[i]);
    }
    fa_f_copy_crashed(world.filled, world.damaged);
    fa_f_exec(world.damaged, all.ptr);
    live(&world, all.ptr);
    fa_buf_finish(&all);
    CHECK(fa_f_query_int(world.damaged, "SELECT count(*) FROM set_aside") >= 5,
          "only %lld items are set aside",
          (long long)fa_f_query_int(world.damaged, "SELECT count(*) FROM set_aside"));
    fa_t_finish(&world.t);
#undef REFUSE
#undef OF_V
}

/* One at a time ------------------------------------------------------------------------------- */

/* What the engine tells of what it has set aside. */
struct received {
    struct fa_listener listener;
    size_t count;
    char kind[32], name[64], reason[256];
};

static void on_facts(void *ctx, const struct fa_commit_stats *facts)
{
    struct received *received = ctx;

    for (size_t i = 0; i < facts->set_aside_count; i++) {
        const struct fa_aside_item *item = &facts->set_aside[i];

        received->count++;
        snprintf(received->kind, sizeof received->kind, "%s", item->kind);
        snprintf(received->name, sizeof received->name, "%s", item->name ? item->name : item->key);
        snprintf(received->reason, sizeof received->reason, "%s", item->reason);
    }
}

static void subscribe(struct fa_t *t, struct received *received)
{
    *received = (struct received){.listener = {.count = on_facts, .ctx = received}};
    CHECK_TRUE(fa_service_listen(t->svc, &received->listener));
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
        if (strstr(info.findings[i], name) != NULL && strstr(info.findings[i], "set aside") != NULL)
            return info.set_aside > 0;
    }
    return false;
}

/* What was found by a reader is stored a moment later. */
static void check_doctor(struct fa_t *t, const char *name)
{
    fa_t_wait_until(is_named, t, &(struct wanted){name}, "doctor names it");
}

static void make_file(struct fa_t *t, char path[FA_T_PATH_SIZE + 32])
{
    init(t);
    use(t, "one.db");
    snprintf(path, FA_T_PATH_SIZE + 32, "%s/one.db", t->dir);
    fa_t_open(t);
}

#define SQL_SIZE 1024
#define KEY_OF "(SELECT id FROM task_id WHERE uuid = '%s')"

/* One of many that come due can't be put in line: the others are; it is, once it is mended. */
static void test_bad_rows__one_of_a_thousand_chores_fails(void **state)
{
    char path[FA_T_PATH_SIZE + 32], sql[SQL_SIZE];
    struct faina_claim claim = {.worker_id = "w", .limit = 1000};
    const char *bad = NULL;
    struct received received;
    struct fa_t t;

    (void)state;
    make_file(&t, path);
    for (int i = 0; i < 1000; i++) {
        const char *id = fa_t_submit(&t, .type = "x", .delay_ms = 3600000);

        if (i == 617)
            bad = id;
    }
    fa_t_close(&t);
    fa_f_exec(path, "UPDATE parked SET at_us = 1000000");
    snprintf(sql, sizeof sql,
             "CREATE TRIGGER refuse BEFORE INSERT ON ready WHEN new.id = %lld "
             "BEGIN SELECT RAISE(ABORT, 'not this one'); END",
             (long long)fa_f_query_int(path, fa_arena_printf(&t.arena, "SELECT " KEY_OF, bad)));
    fa_f_exec(path, sql);
    fa_t_open(&t);
    subscribe(&t, &received);
    CHECK_OK(&t, fa_t_claim_next_code(&t, &claim));
    CHECK_INT(t.op.tasks->count, 999);
    for (size_t i = 0; i < t.op.tasks->count; i++)
        CHECK(strcmp(t.op.tasks->items[i].id, bad) != 0, "the bad task was handed out");
    CHECK_INT(received.count, 1);
    CHECK_STR(received.kind, "task");
    CHECK_STR(received.name, bad);
    CHECK(strstr(received.reason, "not this one") != NULL, "%s", received.reason);
    check_doctor(&t, bad);
    CHECK(strstr(fa_t_story(&t, bad), "set_aside") != NULL, "no event: %s", fa_t_story(&t, bad));
    fa_service_unlisten(t.svc, &received.listener);
    fa_t_close(&t);
    fa_f_exec(path, "DROP TRIGGER refuse");
    fa_t_open(&t);
    CHECK_OK(&t, fa_t_claim_next_code(&t, &claim));
    CHECK_INT(t.op.tasks->count, 1);
    CHECK_STR(t.op.tasks->items[0].id, bad);
    fa_t_finish(&t);
}

/* A task in line can't be claimed: claims come past it. */
static void test_bad_rows__claims_come_past(void **state)
{
    char path[FA_T_PATH_SIZE + 32], sql[SQL_SIZE];
    struct faina_claim claim = {.worker_id = "w", .limit = 10};
    const char *empty, *twice;
    struct fa_t t;

    (void)state;
    make_file(&t, path);
    empty = fa_t_submit(&t, .type = "x", .input = "{}");
    twice = fa_t_submit(&t, .type = "x", .priority = 1);
    for (int i = 0; i < 5; i++)
        fa_t_submit(&t, .type = "x");
    fa_t_close(&t);
    snprintf(sql, sizeof sql,
             "UPDATE task SET input = '' WHERE id = " KEY_OF ";"
             "INSERT INTO held (id, tail, lane, rank, status, version, fence, attempts, flags, "
             "progress, updated_us) SELECT id, tail, lane, rank, 1, 1, 1, 1, 0, 0, created_us "
             "FROM task WHERE id = " KEY_OF,
             empty, twice);
    fa_f_exec(path, sql);
    fa_t_open(&t);
    for (size_t count = 0; count < 5;) {
        CHECK_OK(&t, fa_t_claim_next_code(&t, &claim));
        CHECK(t.op.tasks->count > 0, "a claim finds nothing");
        count += t.op.tasks->count;
        for (size_t i = 0; i < t.op.tasks->count; i++)
            CHECK(strcmp(t.op.tasks->items[i].id, empty) != 0 &&
                      strcmp(t.op.tasks->items[i].id, twice) != 0,
                  "a bad task was handed out");
    }
    CHECK_CODE(&t, fa_t_get(&t, empty), FAINA_INTERNAL);
    CHECK(strstr(t.op.error.message, empty) != NULL, "which task? %s", t.op.error.message);
    CHECK_OK(&t, fa_t_list(&t, .limit = 100));
    CHECK_INT(t.op.tasks->count, 6);
    check_doctor(&t, empty);
    check_doctor(&t, twice);
    fa_t_finish(&t);
}

/* Operations of others in the same call are done. */
static void test_bad_rows__others_in_the_same_call(void **state)
{
    char path[FA_T_PATH_SIZE + 32], sql[SQL_SIZE];
    const char *good, *bad;
    struct fa_t t;

    (void)state;
    make_file(&t, path);
    bad = fa_t_submit(&t, .type = "x");
    good = fa_t_submit(&t, .type = "y");
    fa_t_close(&t);
    snprintf(sql, sizeof sql, "UPDATE task SET created_us = -1 WHERE id = " KEY_OF, bad);
    fa_f_exec(path, sql);
    fa_t_open(&t);
    for (int i = 0; i < 2; i++) {
        struct faina_submit submit = {.type = "z"};
        struct fa_op ops[] = {
            {.kind = FA_OP_SUBMIT, .submit = &submit},
            {.kind = i ? FA_OP_CANCEL : FA_OP_CLAIM, .id = bad, .by = BY("w")},
            {.kind = i ? FA_OP_CANCEL : FA_OP_CLAIM, .id = good, .by = BY("w")},
        };

        fa_t_run_all(&t, ops, FA_COUNT(ops));
        CHECK_INT(ops[0].code, FAINA_OK);
        CHECK_INT(ops[1].code, FAINA_INTERNAL);
        CHECK_INT(ops[2].code, FAINA_OK);
    }
    CHECK_OK(&t, fa_t_list(&t, .type = "z"));
    CHECK_INT(t.op.tasks->count, 2);
    fa_t_finish(&t);
}

/* Two tasks are each other's parent; one is its own. */
static void test_bad_rows__parents_in_a_circle(void **state)
{
    static const enum fa_op_kind kinds[] = {
        FA_OP_GET,  FA_OP_CHILDREN, FA_OP_EXPLAIN, FA_OP_CLAIM, FA_OP_START,
        FA_OP_FAIL, FA_OP_RETRY,    FA_OP_CANCEL,  FA_OP_RETRY, FA_OP_DELETE};
    char path[FA_T_PATH_SIZE + 32], sql[SQL_SIZE];
    struct faina_failure failure = {.message = "no"};
    const char *ids[3];
    struct fa_t t;

    (void)state;
    make_file(&t, path);
    for (size_t i = 0; i < FA_COUNT(ids); i++) {
        ids[i] = fa_t_submit(&t, .type = "x");
        fa_t_take(&t, ids[i], "w");
    }
    fa_t_close(&t);
    snprintf(sql, sizeof sql,
             "UPDATE task SET parent = " KEY_OF " WHERE id = " KEY_OF ";"
             "UPDATE task SET parent = " KEY_OF " WHERE id = " KEY_OF ";"
             "UPDATE task SET parent = id WHERE id = " KEY_OF ";"
             "UPDATE held SET flags = flags | 192",
             ids[1], ids[0], ids[0], ids[1], ids[2]);
    fa_f_exec(path, sql);
    alarm(CASE_SECONDS_MAX);
    fa_t_open(&t);
    for (size_t i = 0; i < FA_COUNT(ids); i++) {
        for (size_t k = 0; k < FA_COUNT(kinds); k++) {
            struct fa_op op = {.kind = kinds[k],
                               .id = ids[i],
                               .by = BY("w"),
                               .arena = &t.arena,
                               .failure = kinds[k] == FA_OP_FAIL ? &failure : NULL};

            fa_service_run(t.svc, &op, 1); /* any answer will do */
        }
        fa_t_finish_task(&t, fa_t_submit(&t, .type = "other"));
    }
    alarm(0);
    check_doctor(&t, ids[2]);
    fa_t_finish(&t);
}

/* Chores that fail, though no item is the cause, make the server not ready after half a minute.
 * Users' operations are done meanwhile. */
static void test_bad_rows__chores_that_fail_for_long(void **state)
{
    char path[FA_T_PATH_SIZE + 32], answer[1024];
    const struct fa_log quiet = {.fd = STDERR_FILENO, .level = FA_LOG_ERROR};
    struct fa_server_options options = {.listen_count = 1, .log = &quiet};
    struct fa_server *server = NULL;
    struct fa_service_info info;
    struct faina_error err = {0};
    struct fa_t t;

    (void)state;
    make_file(&t, path);
    fa_t_submit(&t, .type = "x", .delay_ms = 3600000);
    fa_t_close(&t);
    fa_f_exec(path, "UPDATE parked SET at_us = 1000000, version = -1;"
                    "CREATE TRIGGER refuse BEFORE INSERT ON set_aside "
                    "BEGIN SELECT RAISE(ABORT, 'not today'); END");
    fa_t_open(&t);
    snprintf(path, sizeof path, "unix:%s/s", t.dir);
    options.listen[0] = path;
    CHECK(fa_server_start(&server, t.svc, &options, &err) == FAINA_OK, "%s", err.message);
    fa_t_finish_task(&t, fa_t_submit(&t, .type = "other"));
    CHECK(fa_service_info(t.svc, false, &t.arena, &info, &err) == FAINA_OK, "%s", err.message);
    CHECK(info.stalled_ms > 0 && strstr(info.stalled, "not today") != NULL,
          "the failure is not visible");
    ask(path + strlen("unix:"), "/readyz", answer, sizeof answer);
    CHECK(strstr(answer, " 200 ") != NULL, "%s", answer);
    ahead_s = 31;
    ask(path + strlen("unix:"), "/readyz", answer, sizeof answer);
    CHECK(strstr(answer, " 503 ") != NULL && strstr(answer, "not today") != NULL, "%s", answer);
    ahead_s = 0;
    fa_server_stop(server, 1000, NULL);
    fa_t_finish(&t);
}

/* What fails for every item is not the items' fault. */
static void test_bad_rows__a_failure_of_all_blames_none(void **state)
{
    char path[FA_T_PATH_SIZE + 32];
    struct faina_claim claim = {.worker_id = "w", .limit = 100};
    struct fa_service_info info;
    struct faina_error err = {0};
    struct fa_t t;

    (void)state;
    make_file(&t, path);
    for (int i = 0; i < 20; i++)
        fa_t_submit(&t, .type = "x", .delay_ms = 3600000);
    fa_t_close(&t);
    fa_f_exec(path, "UPDATE parked SET at_us = 1000000;"
                    "CREATE TRIGGER refuse BEFORE DELETE ON parked "
                    "BEGIN SELECT RAISE(ABORT, 'not today'); END");
    fa_t_open(&t);
    CHECK(fa_service_info(t.svc, false, &t.arena, &info, &err) == FAINA_OK, "%s", err.message);
    CHECK_INT(info.set_aside, 0);
    CHECK(info.stalled_ms > 0, "the failure is not visible");
    fa_t_close(&t);
    fa_f_exec(path, "DROP TRIGGER refuse");
    fa_t_open(&t);
    CHECK_OK(&t, fa_t_claim_next_code(&t, &claim));
    CHECK_INT(t.op.tasks->count, 20);
    fa_t_finish(&t);
}

/* After a test that has failed. */
static int end_test(void **state)
{
    (void)state;
    alarm(0);
    if (case_now != NULL)
        fprintf(stderr, "while this was tried: %s\n", case_now);
    case_now = NULL;
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_bad_rows__every_column, end_test),
        cmocka_unit_test_teardown(test_bad_rows__changes_that_are_refused, end_test),
        cmocka_unit_test(test_bad_rows__one_of_a_thousand_chores_fails),
        cmocka_unit_test(test_bad_rows__claims_come_past),
        cmocka_unit_test(test_bad_rows__others_in_the_same_call),
        cmocka_unit_test_teardown(test_bad_rows__parents_in_a_circle, end_test),
        cmocka_unit_test(test_bad_rows__chores_that_fail_for_long),
        cmocka_unit_test(test_bad_rows__a_failure_of_all_blames_none),
    };

    signal(SIGABRT, print_case);
    signal(SIGSEGV, print_case);
    signal(SIGALRM, print_case);

    return cmocka_run_group_tests(tests, NULL, NULL);
}
