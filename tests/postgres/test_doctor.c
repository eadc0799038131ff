/*
 * test_doctor.c - each warning of `faina doctor` about a PostgreSQL server is provoked on one, and
 * goes when its cause does; and a server that is set up well gives none.
 *
 * The engine reads the time with clock_gettime, and this program has its own: the system's, plus an
 * offset that a test sets.
 */
#include "support/ops.h"
#include "support/pgserver.h"
#include "support/psql.h"

#include <setjmp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static atomic_llong offset_ms;

int clock_gettime(clockid_t clock, struct timespec *now)
{
    long rc = syscall(SYS_clock_gettime, clock, now);

    if (rc == 0 && clock == CLOCK_REALTIME) {
        long long ns = now->tv_nsec + offset_ms % 1000 * 1000000;

        now->tv_sec += offset_ms / 1000 + ns / 1000000000;
        now->tv_nsec = (long)(ns % 1000000000);
    }
    return (int)rc;
}

/* One server for all tests; each has a schema of its own. */
struct world {
    struct fa_pgs server;
    struct fa_t t;
    PGconn *admin, *user; /* sessions in the schema */
    int number;
};

static int start_server(void **state)
{
    struct world *world = fa_alloc_zero(1, sizeof *world);
    PGconn *admin;

    *state = world;
    if (fa_psql_url() == NULL)
        return 0;
    fa_pgs_init(&world->server);
    fa_pgs_set(&world->server, "shared_preload_libraries = 'pg_stat_statements'");
    fa_pgs_set(&world->server, "max_prepared_transactions = 5");
    fa_pgs_set(&world->server, "max_connections = 40");
    fa_pgs_set(&world->server, "fsync = on");
    fa_pgs_start(&world->server);
    admin = fa_psql_connect(world->server.admin_url);
    fa_psql_exec(admin, "CREATE EXTENSION pg_stat_statements");
    fa_psql_exec(admin, "GRANT pg_read_all_stats TO faina");
    fa_psql_close(admin);
    return 0;
}

static int end_server(void **state)
{
    struct world *world = *state;

    fa_pgs_finish(&world->server);
    free(world);
    return 0;
}

static int set_up(void **state)
{
    struct world *world = *state;
    char schema[32];

    fa_t_init(&world->t);
    if (fa_psql_url() == NULL)
        return 0;
    snprintf(schema, sizeof schema, "doctor%d", world->number++);
    fa_psql_with(world->server.url, "schema", schema, world->t.url);
    fa_t_open(&world->t);
    world->user = fa_psql_connect(world->t.url);
    fa_psql_with(world->server.admin_url, "schema", schema, world->server.admin_url);
    world->admin = fa_psql_connect(world->server.admin_url);
    *strchr(world->server.admin_url, '?') = '\0';
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;

    offset_ms = 0;
    fa_psql_close(world->user);
    fa_psql_close(world->admin);
    world->user = world->admin = NULL;
    fa_t_finish(&world->t);
    return 0;
}

/* All warnings, one a line. There is never anything wrong. */
static const char *warnings(struct fa_t *t)
{
    struct fa_service_info info = {0};
    struct faina_error err = {0};
    enum faina_code code = fa_service_info(t->svc, true, &t->arena, &info, &err);
    const char *text = "";

    CHECK(code == FAINA_OK, "the engine can't check itself: %s", err.message);
    CHECK(info.finding_count == 0, "wrong: %s", info.findings[0]);
    for (size_t i = 0; i < info.warning_count; i++)
        text = fa_arena_printf(&t->arena, "%s%s\n", text, info.warnings[i]);
    return text;
}

static bool warns(struct fa_t *t, void *part)
{
    return strstr(warnings(t), part) != NULL;
}

static bool is_silent(struct fa_t *t, void *part)
{
    (void)part;
    return warnings(t)[0] == '\0';
}

/* Statistics and settings arrive a moment later. */
static void check_warns(struct world *world, const char *part)
{
    fa_t_wait_until(warns, &world->t, (void *)(uintptr_t)part, part);
}

static void check_silent(struct world *world)
{
    fa_t_wait_until(is_silent, &world->t, NULL, "no warning");
}

static void check_sentence(struct world *world, const char *want)
{
    CHECK_STR(warnings(&world->t), fa_arena_printf(&world->t.arena, "%s\n", want));
}

/* ------------------------------------------------------------------------------------------ */

static void test_doctor__a_good_server_gives_no_warning(void **state)
{
    struct world *world = *state;

    fa_psql_need_engine();
    CHECK_STR(warnings(&world->t), "");
    fa_t_finish_task(&world->t, fa_t_submit(&world->t, .type = "a"));
    CHECK_STR(warnings(&world->t), "");
}

static void test_doctor__settings(void **state)
{
    static const struct {
        const char *name, *said;
    } cases[] = {
        {"autovacuum", "autovacuum is off, and dead rows will make the queue slow"},
        {"track_counts", "track_counts is off, so autovacuum never starts"},
        {"fsync", "fsync is off, and a crash can destroy the database"},
        {"full_page_writes", "full_page_writes is off"},
        {"synchronous_commit", "synchronous_commit is off by default"},
    };
    struct world *world = *state;

    fa_psql_need_engine();
    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        fa_psql_exec(world->admin, "ALTER SYSTEM SET %s = off", cases[i].name);
        fa_psql_exec(world->admin, "SELECT pg_reload_conf()");
        check_warns(world, cases[i].said);
        fa_psql_exec(world->admin, "ALTER SYSTEM RESET %s", cases[i].name);
        fa_psql_exec(world->admin, "SELECT pg_reload_conf()");
        check_silent(world);
    }
}

static void test_doctor__autovacuum_of_one_table(void **state)
{
    struct world *world = *state;

    fa_psql_need_engine();
    fa_psql_exec(world->user, "ALTER TABLE held SET (autovacuum_enabled = off)");
    check_warns(world, "autovacuum is off for held: ALTER TABLE doctor");
    fa_psql_exec(world->user, "ALTER TABLE held RESET (autovacuum_enabled)");
    check_silent(world);
}

static void test_doctor__no_statistics_of_statements(void **state)
{
    struct world *world = *state;

    fa_psql_need_engine();
    fa_psql_exec(world->admin, "DROP EXTENSION pg_stat_statements");
    check_sentence(world, "pg_stat_statements is not there to show which statements cost time: add "
                          "it to shared_preload_libraries, then CREATE EXTENSION "
                          "pg_stat_statements");
    fa_psql_exec(world->admin, "CREATE EXTENSION pg_stat_statements");
    check_silent(world);
}

static void test_doctor__few_connections_left(void **state)
{
    struct world *world = *state;
    PGconn *conns[64];
    size_t count = 0;

    fa_psql_need_engine();
    while (count < 64 && strstr(warnings(&world->t), " of 40 connections are left: ") == NULL)
        conns[count++] = fa_psql_connect(world->server.url);
    CHECK(count > 10 && count < 40, "%zu connections", count);
    while (count > 0)
        fa_psql_close(conns[--count]);
    check_silent(world);
}

/* Uses up transaction numbers: each block with an exception handler takes one. */
static void burn_transactions(struct world *world)
{
    fa_psql_exec(world->user, "CREATE TEMPORARY TABLE burnt (n int)");
    fa_psql_exec(world->user,
                 "DO $$ BEGIN FOR i IN 1..100100 LOOP "
                 "BEGIN INSERT INTO burnt VALUES (i); EXCEPTION WHEN division_by_zero THEN END; "
                 "IF i %% 1000 = 0 THEN DELETE FROM burnt; COMMIT; END IF; END LOOP; END $$");
}

static void test_doctor__dead_rows_are_kept(void **state)
{
    struct world *world = *state;
    PGconn *reader, *writer;
    char failure[8];

    fa_psql_need_engine();
    reader = fa_psql_connect(world->server.admin_url);
    writer = fa_psql_connect(world->server.url);
    fa_psql_exec(reader, "SET application_name = '100%% report'; "
                         "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1");
    fa_psql_exec(writer, "BEGIN; SELECT pg_current_xact_id()");
    fa_psql_exec(world->user, "BEGIN; CREATE TABLE p (); PREPARE TRANSACTION 'half'");
    CHECK_STR(warnings(&world->t), ""); /* not old yet */
    burn_transactions(world);
    check_warns(world, " of postgres (100% report) keeps dead rows from being removed, since 1");
    check_warns(world, " of faina (no name) keeps dead rows from being removed, since 1");
    check_warns(world, "the prepared transaction half of faina keeps dead rows from being removed, "
                       "since 1");
    check_warns(world, "ROLLBACK PREPARED 'half'");
    fa_psql_exec(world->user, "ROLLBACK PREPARED 'half'");
    fa_psql_exec(writer, "ROLLBACK");
    fa_psql_try(reader, failure, "SELECT pg_terminate_backend(pg_backend_pid())");
    check_silent(world);
    fa_psql_close(reader);
    fa_psql_close(writer);
}

static void test_doctor__a_slot_without_a_standby(void **state)
{
    struct world *world = *state;

    fa_psql_need_engine();
    fa_psql_exec(world->admin, "SELECT pg_create_physical_replication_slot('left_over', true)");
    check_warns(world, "the replication slot left_over is not in use, and keeps ");
    fa_psql_exec(world->admin, "SELECT pg_drop_replication_slot('left_over')");
    check_silent(world);
}

static bool has_xmin(struct fa_t *t, void *conn)
{
    (void)t;
    return fa_psql_int(conn, "SELECT count(*) FROM pg_replication_slots WHERE xmin IS NOT NULL") >
           0;
}

/* A report on a standby that asks its primary to keep what it reads. */
static void test_doctor__a_standby_that_holds_rows(void **state)
{
    struct world *world = *state;
    struct fa_pgs standby = {0};
    PGconn *reader;

    fa_psql_need_engine();
    fa_psql_exec(world->admin, "SELECT pg_create_physical_replication_slot('standby')");
    fa_pgs_init_standby(&standby, &world->server);
    fa_pgs_set(&standby, "primary_slot_name = 'standby'");
    fa_pgs_set(&standby, "hot_standby_feedback = on");
    fa_pgs_set(&standby, "wal_receiver_status_interval = 1");
    fa_pgs_start(&standby);
    reader = fa_psql_connect(standby.admin_url);
    fa_psql_exec(reader, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_class");
    fa_t_wait_until(has_xmin, &world->t, world->admin, "the slot has an xmin");
    burn_transactions(world);
    check_warns(world, "the replication slot standby keeps dead rows from being removed, since 1");
    fa_psql_close(reader);
    fa_pgs_finish(&standby);
    check_warns(world, "the replication slot standby is not in use, and keeps ");
    fa_psql_exec(world->admin, "SELECT pg_drop_replication_slot('standby')");
    check_silent(world);
}

static void test_doctor__a_role_that_sees_little(void **state)
{
    struct world *world = *state;

    fa_psql_need_engine();
    fa_psql_exec(world->admin, "REVOKE pg_read_all_stats FROM faina");
    check_sentence(world, "the role faina can't see which sessions of others keep dead rows: GRANT "
                          "pg_read_all_stats TO faina");
    fa_psql_exec(world->admin, "GRANT pg_read_all_stats TO faina");
    check_silent(world);
}

static void test_doctor__dead_rows_and_empty_pages(void **state)
{
    struct world *world = *state;

    fa_psql_need_engine();
    fa_psql_exec(world->user, "ALTER TABLE ready SET (autovacuum_enabled = off)");
    fa_psql_exec(world->user, "INSERT INTO ready (lane, rank, id, state) SELECT 1, 0, n, "
                              "repeat('x', 60) FROM generate_series(1, 300000) AS n");
    fa_psql_exec(world->user, "DELETE FROM ready");
    check_warns(world, "ready has 300000 dead rows, which make claims slow");
    fa_psql_exec(world->user, "VACUUM ready");
    fa_psql_exec(world->user, "ALTER TABLE ready RESET (autovacuum_enabled)");
    check_warns(world, " on disk for 0 rows: VACUUM FULL doctor");
    CHECK_TRUE(strstr(warnings(&world->t), "dead rows") == NULL);
    fa_psql_exec(world->user, "VACUUM FULL ready");
    check_silent(world);
}

static void test_doctor__clocks_differ(void **state)
{
    struct world *world = *state;

    fa_psql_need_engine();
    offset_ms = 700;
    CHECK_STR(warnings(&world->t), "");
    offset_ms = 1500;
    check_sentence(world, "the server's clock is 1.5 s behind this machine's: set both by NTP (the "
                          "server's counts)");
    offset_ms = -90000;
    check_sentence(world, "the server's clock is 90.0 s ahead of this machine's: set both by NTP "
                          "(the server's counts)");
}

static void test_doctor__versions_differ(void **state)
{
    struct world *world = *state;

    fa_psql_need_engine();
    fa_psql_exec(world->user,
                 "INSERT INTO worker (id, started_us, last_heartbeat_us, pool_size, version) "
                 "VALUES ('a', 1, clock_us(), 1, '0.0.1'), ('b', 1, clock_us(), 1, '0.0.1'), "
                 "('c', 1, clock_us(), 1, '" FAINA_VERSION "')");
    check_sentence(world, "2 of the workers have faina 0.0.1, and this is " FAINA_VERSION
                          ": nodes of one fleet should have one version");
    fa_psql_exec(world->user, "DELETE FROM worker");
    fa_psql_exec(world->user,
                 "INSERT INTO leader (holder, epoch, until_us, version) "
                 "VALUES ('old-1-x', 9, clock_us() + 3600000000, '0.0.1') ON CONFLICT (one) DO "
                 "UPDATE SET holder = 'old-1-x', epoch = leader.epoch + 1, version = '0.0.1', "
                 "until_us = excluded.until_us");
    check_sentence(world,
                   "the node that leads, old-1-x, has faina 0.0.1, and this is " FAINA_VERSION
                   ": nodes of one fleet should have one version");
}

static void test_doctor__partitions(void **state)
{
    struct world *world = *state;
    char tomorrow[FA_PSQL_TEXT_SIZE], day[FA_PSQL_TEXT_SIZE];

    fa_psql_need_engine();
    fa_psql_text(world->user, tomorrow,
                 "SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC' + "
                 "interval '1 day', 'YYYYMMDD')");
    fa_psql_text(world->user, day, "SELECT to_date('%s', 'YYYYMMDD')", tomorrow);
    /* The leader would make it again. */
    fa_psql_exec(world->admin,
                 "BEGIN; LOCK TABLE doctor%d.partition_lock IN SHARE UPDATE EXCLUSIVE MODE",
                 world->number - 1);
    fa_psql_exec(world->user, "DROP TABLE ended_%s", tomorrow);
    check_sentence(world, fa_arena_printf(&world->t.arena,
                                          "ended has no partition for %s: SELECT doctor%d."
                                          "make_partitions()",
                                          day, world->number - 1));
    /* A task of tomorrow that has ended. */
    fa_psql_exec(world->user,
                 "INSERT INTO lane (namespace, type, resources) VALUES ('n', 't', '[]');"
                 "INSERT INTO task (id, tail, created_us, lane, rank, max_attempts) "
                 "SELECT (extract(epoch FROM date '%s') * 1000)::bigint << 12, 0, 1, id, 0, 1 "
                 "FROM lane;"
                 "INSERT INTO ended (id, version, fence, attempts, flags, updated_us, completed_us,"
                 " lane, progress, status) SELECT id, 1, 0, 0, 0, 1, 1, lane, 0, 5 FROM task;"
                 "INSERT INTO tally SELECT id, 5, 0, 1 FROM lane",
                 day);
    check_warns(world, "ended_default holds rows of days that have no partition");
    fa_psql_exec(world->admin, "COMMIT");
    fa_psql_exec(world->user, "SELECT make_partitions()");
    check_silent(world);
}

/* Which roles and objects the sentence is for is in test_rights.py. */
static void test_doctor__rights(void **state)
{
    struct world *world = *state;

    fa_psql_need_engine();
    fa_psql_exec(world->admin,
                 "DROP ROLE IF EXISTS \"an app\"; CREATE ROLE \"an app\"; GRANT UPDATE (rank), "
                 "SELECT ON doctor%d.task TO \"an app\"",
                 world->number - 1);
    check_sentence(world, "role an app can write to task, and could stop the engine: REVOKE that, "
                          "and see grant_submit in docs/postgres.md");
    fa_psql_exec(world->admin, "DROP OWNED BY \"an app\"; DROP ROLE \"an app\"");
    check_silent(world);
}

static bool is_claimable(struct fa_t *t, void *type)
{
    const char *types[] = {type};

    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "v", .types = types, .type_count = 1));
    return t->op.tasks->count == 1;
}

/* The time is the server's: what the clock of a node says delays nothing. */
static void test_doctor__a_nodes_clock_delays_nothing(void **state)
{
    struct fa_t *t = &((struct world *)*state)->t;
    char later[] = "later", lost[] = "lost";
    const char *id;

    fa_psql_need_engine();
    offset_ms = 3600 * 1000;
    fa_t_submit(t, .type = later, .delay_ms = 300);
    id = fa_t_submit(t, .type = lost);
    CHECK_OK(t, fa_t_claim_for(t, id, "w", 1000));
    fa_t_wait_until(is_claimable, t, later, "the delay is over");
    fa_t_wait_until(is_claimable, t, lost, "the lease has ended");
    CHECK_STORY(t, id, "created claimed lease_lost claimed");
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_doctor__##name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_good_server_gives_no_warning),
        TEST(settings),
        TEST(autovacuum_of_one_table),
        TEST(no_statistics_of_statements),
        TEST(few_connections_left),
        TEST(dead_rows_are_kept),
        TEST(a_slot_without_a_standby),
        TEST(a_standby_that_holds_rows),
        TEST(a_role_that_sees_little),
        TEST(dead_rows_and_empty_pages),
        TEST(clocks_differ),
        TEST(a_nodes_clock_delays_nothing),
        TEST(versions_differ),
        TEST(partitions),
        TEST(rights),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("doctor", tests, start_server, end_server);
}
