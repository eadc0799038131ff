/*
 * test_tools.c - the tools of this suite do what their headers say: the proxy cuts where it is told
 * to, and a server of our own stops, dies, fills up and is promoted. Without an engine.
 */
#include "support/pgserver.h"
#include "support/psql.h"
#include "support/proxy.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>
#include <libpq-fe.h>

/* ------------------------------------------------------------------------------------------
 * URLs
 */

static void test_tools__urls(void **state)
{
    static const struct {
        const char *url, *plain, *schema;
    } cases[] = {
        {"postgres://u:p@h:1/d", "postgres://u:p@h:1/d", ""},
        {"postgres://u@h/d?schema=s", "postgres://u@h/d", "s"},
        {"postgres://u@h/d?schema=s&a=b", "postgres://u@h/d?a=b", "s"},
        {"postgres://u@h/d?a=b&schema=s", "postgres://u@h/d?a=b", "s"},
        {"postgres://u@h/d?a=b&schema=s&c=d", "postgres://u@h/d?a=b&c=d", "s"},
    };
    char plain[FA_T_PATH_SIZE], schema[64];

    (void)state;
    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        fa_psql_split(cases[i].url, plain, schema);
        CHECK_STR(plain, cases[i].plain);
        CHECK_STR(schema, cases[i].schema);
    }
    fa_psql_through("postgres://u:p@h:1/d?schema=s", 77, plain);
    CHECK_STR(plain, "postgres://u:p@127.0.0.1:77/d?schema=s");
}

/* ------------------------------------------------------------------------------------------
 * The proxy
 */

struct world {
    struct fa_proxy *proxy;
    PGconn *direct; /* past the proxy */
    char url[FA_T_PATH_SIZE];
    char schema_url[FA_T_PATH_SIZE];
};

static int set_up(void **state)
{
    struct world *world = fa_alloc_zero(1, sizeof *world);
    char schema[32];

    *state = world;
    if (fa_psql_url() == NULL)
        return 0;
    snprintf(schema, sizeof schema, "tools_%d", (int)getpid());
    world->proxy = fa_proxy_start(fa_psql_port(fa_psql_url()));
    fa_psql_with(fa_psql_url(), "schema", schema, world->schema_url);
    fa_psql_through(world->schema_url, fa_proxy_port(world->proxy), world->url);
    world->direct = fa_psql_connect(world->schema_url);
    fa_psql_exec(world->direct, "CREATE SCHEMA %s; CREATE TABLE n (i int)", schema);
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;

    if (world->direct) {
        fa_proxy_stop(world->proxy);
        fa_psql_close(world->direct);
        fa_psql_drop_schema(world->schema_url);
    }
    free(world);
    return 0;
}

static bool is_quiet(struct fa_t *t, void *arg)
{
    struct world *world = arg;

    (void)t;
    return fa_proxy_connections(world->proxy) == 0 &&
           fa_psql_int(world->direct, "SELECT count(*) FROM pg_stat_activity WHERE pid <> "
                                      "pg_backend_pid() AND datname = current_database() AND "
                                      "application_name = 'proxied'") == 0;
}

/* BEGIN, INSERT and COMMIT in one go, prepared before, as an engine does it. */
static bool insert_in_pipeline(PGconn *conn, int value)
{
    char text[16];
    const char *values[] = {text};
    PGresult *result;
    bool is_committed = false;

    snprintf(text, sizeof text, "%d", value);
    CHECK_INT(PQenterPipelineMode(conn), 1);
    PQsendQueryPrepared(conn, "b", 0, NULL, NULL, NULL, 0);
    PQsendQueryPrepared(conn, "i", 1, values, NULL, NULL, 0);
    PQsendQueryPrepared(conn, "c", 0, NULL, NULL, NULL, 0);
    PQpipelineSync(conn);
    for (int step = 0; step < 3 && PQstatus(conn) == CONNECTION_OK; step++)
        while ((result = PQgetResult(conn))) {
            if (strcmp(PQcmdStatus(result), "COMMIT") == 0)
                is_committed = true;
            PQclear(result);
        }
    return is_committed;
}

static PGconn *connect_prepared(struct world *world)
{
    PGconn *conn = fa_psql_connect(world->url);

    fa_psql_exec(conn, "SET application_name = 'proxied'");
    PQclear(PQprepare(conn, "b", "BEGIN", 0, NULL));
    PQclear(PQprepare(conn, "i", "INSERT INTO n VALUES ($1::int)", 1, NULL));
    PQclear(PQprepare(conn, "c", "COMMIT", 0, NULL));
    return conn;
}

/* Where the connection is cut around a COMMIT: what the client knows, and what is there. */
static void test_tools__cuts_around_commit(void **state)
{
    static const struct {
        const char *name;
        struct fa_proxy_rule rule;
        bool is_told, is_there;
    } cases[] = {
        {"no cut", {.from = FA_PROXY_CLIENT, .text = "never"}, true, true},
        {"before COMMIT", {FA_PROXY_CLIENT, FA_PROXY_CUT_BEFORE, .sql = "COMMIT"}, false, false},
        {"inside COMMIT", {FA_PROXY_CLIENT, FA_PROXY_CUT_INSIDE, .sql = "COMMIT"}, false, false},
        {"COMMIT sent", {FA_PROXY_CLIENT, FA_PROXY_CUT_AFTER, .sql = "COMMIT"}, false, true},
        {"no answer", {FA_PROXY_SERVER, FA_PROXY_CUT_BEFORE, 'C', "COMMIT"}, false, true},
        {"half an answer", {FA_PROXY_SERVER, FA_PROXY_CUT_INSIDE, 'C', "COMMIT"}, false, true},
        {"the whole answer", {FA_PROXY_SERVER, FA_PROXY_CUT_AFTER, 'C', "COMMIT"}, true, true},
        {"before the insert", {FA_PROXY_CLIENT, FA_PROXY_CUT_BEFORE, 'B', "INSERT"}, false, false},
        {"a few bytes", {.from = FA_PROXY_CLIENT, .after_bytes = 9}, false, false},
        {"no bytes back", {.from = FA_PROXY_SERVER, .after_bytes = 1}, false, true},
    };
    struct world *world = *state;

    fa_psql_need();
    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        PGconn *conn;
        bool is_told;

        fa_proxy_clear(world->proxy);
        conn = connect_prepared(world);
        fa_proxy_add(world->proxy, &cases[i].rule);
        is_told = insert_in_pipeline(conn, (int)i);
        CHECK(is_told == cases[i].is_told, "%s: told %d", cases[i].name, is_told);
        CHECK(fa_proxy_hits(world->proxy) == (i > 0), "%s: the rule acted %d times", cases[i].name,
              fa_proxy_hits(world->proxy));
        fa_psql_close(conn);
        fa_t_wait_until(is_quiet, NULL, world, "the server has ended the session");
        CHECK(fa_psql_int(world->direct, "SELECT count(*) FROM n WHERE i = %zu", i) ==
                  cases[i].is_there,
              "%s: it is %sthere", cases[i].name, cases[i].is_there ? "not " : "");
    }
}

static void test_tools__drops_and_counts(void **state)
{
    const struct fa_proxy_rule deaf = {
        .from = FA_PROXY_SERVER, .action = FA_PROXY_DROP, .type = 'A'};
    struct world *world = *state;
    PGnotify *heard;
    PGconn *conn;

    fa_psql_need();
    conn = fa_psql_connect(world->url);
    fa_psql_exec(conn, "LISTEN x");
    fa_proxy_add(world->proxy, &deaf);
    fa_psql_exec(world->direct, "NOTIFY x, 'lost'");
    while (fa_proxy_hits(world->proxy) == 0)
        fa_psql_exec(conn, "SELECT 1");
    fa_proxy_clear(world->proxy);
    CHECK_TRUE(PQnotifies(conn) == NULL);
    fa_psql_exec(world->direct, "NOTIFY x, 'heard'");
    while ((heard = PQnotifies(conn)) == NULL)
        fa_psql_exec(conn, "SELECT 1");
    CHECK_STR(heard->extra, "heard");
    PQfreemem(heard);
    CHECK_INT(fa_proxy_count(world->proxy, FA_PROXY_SERVER, 'A'), 2);
    CHECK_TRUE(fa_proxy_count(world->proxy, FA_PROXY_CLIENT, 'Q') >= 3);
    CHECK_INT(fa_proxy_connections(world->proxy), 1);
    fa_psql_close(conn);
}

static void test_tools__stalls_refuses_freezes(void **state)
{
    const struct fa_proxy_rule slow = {.from = FA_PROXY_CLIENT,
                                       .action = FA_PROXY_STALL,
                                       .text = "slow",
                                       .times = 1,
                                       .stall_ms = 80};
    struct world *world = *state;
    char code[8];
    int64_t begin_us;
    PGconn *conn;

    fa_psql_need();
    conn = fa_psql_connect(world->url);
    fa_proxy_add(world->proxy, &slow);
    begin_us = fa_clock_mono_us();
    CHECK_INT(fa_psql_int(conn, "SELECT 7 /* slow */"), 7);
    CHECK_TRUE(fa_clock_mono_us() - begin_us >= 80000);

    fa_proxy_refuse(world->proxy, true);
    CHECK_TRUE(fa_psql_try_connect(world->url) == NULL);
    CHECK_INT(fa_psql_int(conn, "SELECT 8"), 8); /* an old one goes on */
    fa_proxy_refuse(world->proxy, false);

    fa_proxy_freeze(world->proxy, true);
    fa_psql_send(conn, "SELECT 9");
    PQsetnonblocking(conn, 1);
    begin_us = fa_clock_mono_us();
    while (fa_clock_mono_us() - begin_us < 50000) {
        CHECK_INT(PQconsumeInput(conn), 1);
        CHECK_TRUE(PQisBusy(conn));
    }
    fa_proxy_freeze(world->proxy, false);
    fa_psql_await(conn);

    fa_proxy_cut_all(world->proxy);
    PQsetnonblocking(conn, 0);
    fa_psql_try(conn, code, "SELECT 10");
    CHECK_STR(code, "lost");
    fa_psql_close(conn);
    conn = fa_psql_connect(world->url);
    fa_psql_close(conn);
}

static void test_tools__large_messages_pass(void **state)
{
    struct world *world = *state;
    PGconn *conn;

    fa_psql_need();
    conn = fa_psql_connect(world->url);
    CHECK_INT(fa_psql_int(conn, "SELECT length(repeat('x', 9000000) || repeat('y', 9000000))"),
              18000000);
    fa_psql_exec(conn, "SELECT repeat('x', 9000000)");
    fa_psql_close(conn);
}

/* ------------------------------------------------------------------------------------------
 * Servers
 */

static void test_tools__server_restarts(void **state)
{
    void (*const ends[])(struct fa_pgs *) = {fa_pgs_stop, fa_pgs_kill, fa_pgs_shut_down};
    struct fa_pgs server;
    PGconn *conn;
    char code[8];

    (void)state;
    fa_pgs_init(&server);
    fa_pgs_set(&server, "statement_timeout = 4321");
    for (size_t i = 0; i < FA_COUNT(ends); i++) {
        fa_pgs_start(&server);
        conn = fa_psql_connect(server.url);
        CHECK_STR(fa_psql_try(conn, code, "SELECT pg_reload_conf()"), "42501"); /* no superuser */
        CHECK_INT(fa_psql_int(conn, "SELECT setting FROM pg_settings WHERE name = "
                                    "'statement_timeout'"),
                  4321);
        fa_psql_exec(conn, "CREATE TABLE IF NOT EXISTS public.kept (i int)");
        fa_psql_exec(conn, "INSERT INTO public.kept VALUES (1)");
        CHECK_INT(fa_psql_int(conn, "SELECT count(*) FROM public.kept"), i + 1);
        ends[i](&server);
        fa_psql_try(conn, code, "SELECT 1");
        CHECK_TRUE(strcmp(code, "lost") == 0 || strncmp(code, "57P", 3) == 0);
        fa_psql_close(conn);
        CHECK_TRUE(fa_psql_try_connect(server.url) == NULL);
    }
    fa_pgs_finish(&server);
}

static void test_tools__server_pauses(void **state)
{
    struct fa_pgs server;
    PGconn *conn;
    int64_t begin_us;

    (void)state;
    fa_pgs_init(&server);
    fa_pgs_start(&server);
    conn = fa_psql_connect(server.url);
    fa_pgs_pause(&server);
    fa_psql_send(conn, "SELECT 1");
    begin_us = fa_clock_mono_us();
    while (fa_clock_mono_us() - begin_us < 50000) {
        CHECK_INT(PQconsumeInput(conn), 1);
        CHECK_TRUE(PQisBusy(conn));
    }
    fa_pgs_resume(&server);
    fa_psql_await(conn);
    fa_psql_close(conn);
    fa_pgs_finish(&server);
}

static bool has_row(struct fa_t *t, void *arg)
{
    (void)t;
    return fa_psql_int(arg, "SELECT count(*) FROM pg_tables WHERE tablename = 'copied'") == 1;
}

static void test_tools__standby_is_promoted(void **state)
{
    struct fa_pgs primary, standby;
    PGconn *conn, *other;
    char code[8];

    (void)state;
    fa_pgs_init(&primary);
    fa_pgs_start(&primary);
    fa_pgs_init_standby(&standby, &primary);
    fa_pgs_start(&standby);
    conn = fa_psql_connect(primary.admin_url);
    other = fa_psql_connect(standby.admin_url);
    fa_psql_exec(conn, "CREATE TABLE copied (i int)");
    fa_t_wait_until(has_row, NULL, other, "the standby has the table");
    CHECK_STR(fa_psql_try(other, code, "INSERT INTO copied VALUES (1)"), "25006");
    fa_pgs_kill(&primary);
    fa_pgs_promote(&standby);
    fa_psql_exec(other, "INSERT INTO copied VALUES (1)");
    fa_psql_close(conn);
    fa_psql_close(other);
    fa_pgs_finish(&standby);
    fa_pgs_finish(&primary);
}

static void test_tools__disk_fills_up(void **state)
{
    struct fa_pgs server;
    PGconn *conn;
    char code[8] = "";

    (void)state;
    fa_pgs_init_small(&server, 160);
    fa_pgs_start(&server);
    conn = fa_psql_connect(server.url);
    fa_psql_exec(conn, "CREATE TABLE public.kept (t text)");
    fa_pgs_fill_disk(&server);
    for (int i = 0; i < 200 && code[0] == '\0'; i++)
        fa_psql_try(
            conn, code,
            "INSERT INTO public.kept SELECT repeat('x', 500) FROM generate_series(1, 1000)");
    CHECK_TRUE(strcmp(code, "53100") == 0 || strcmp(code, "lost") == 0 ||
               strcmp(code, "57P02") == 0);
    fa_pgs_free_disk(&server);
    fa_psql_close(conn);
    fa_pgs_stop(&server);
    fa_pgs_start(&server);
    conn = fa_psql_connect(server.url);
    fa_psql_exec(conn, "INSERT INTO public.kept VALUES ('y')");
    fa_psql_close(conn);
    fa_pgs_finish(&server);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tools__urls),
        cmocka_unit_test_setup_teardown(test_tools__cuts_around_commit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_tools__drops_and_counts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_tools__stalls_refuses_freezes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_tools__large_messages_pass, set_up, tear_down),
        cmocka_unit_test(test_tools__server_restarts),
        cmocka_unit_test(test_tools__server_pauses),
        cmocka_unit_test(test_tools__standby_is_promoted),
        cmocka_unit_test(test_tools__disk_fills_up),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("tools", tests, NULL, NULL);
}
