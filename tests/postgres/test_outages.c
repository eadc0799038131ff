/*
 * test_outages.c - servers that stop, die, fill up and are replaced, and nodes that are killed, all
 * under load: everything acknowledged is there afterwards, and the engine comes back by itself.
 *
 * FA_PG_STOPS and FA_PG_KILLS set how many stops of the server and kills of nodes,
 * FA_PG_PROMOTIONS how many primaries are killed under load and replaced by their standby.
 */
#include "support/crew.h"
#include "support/moves.h"
#include "support/pgserver.h"
#include "support/proxy.h"
#include "support/psql.h"
#include "support/writer.h"

#include "base/clock.h"
#include "base/random.h"

#include <setjmp.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { WRITERS = 3, ROUNDS_PER_SCHEMA = 10 };

struct world {
    struct fa_pgs server;
    struct fa_t t;
    struct fa_l ledger;
    struct fa_random random;
    struct fa_w writers[WRITERS];
    int ready;
    int64_t records, acknowledged;
    int in_doubt;
    char sessions[64]; /* what those of the writers are called */
};

static void rest_us(int64_t us)
{
    nanosleep(&(const struct timespec){us / 1000000, us % 1000000 * 1000}, NULL);
}

static void on_record(void *ctx, const struct fa_l_record *record)
{
    struct world *world = ctx;

    if (record->kind == 'r') {
        world->ready++;
        return;
    }
    world->records++;
    world->acknowledged += record->kind == 'a';
    fa_l_note(&world->ledger, record);
}

static struct world *create_world(bool has_own_server)
{
    struct world *world = fa_alloc_zero(1, sizeof *world);
    uint64_t seed = fa_t_seed();

    fa_psql_need_engine();
    fa_random_seed(&world->random, seed);
    print_message("FA_SEED=%llu\n", (unsigned long long)seed);
    fa_t_init(&world->t);
    if (has_own_server) {
        fa_pgs_init(&world->server);
        fa_pgs_start(&world->server);
    }
    return world;
}

static void destroy_world(struct world *world)
{
    fa_l_clear(&world->ledger);
    fa_t_finish(&world->t);
    fa_pgs_finish(&world->server);
    free(world);
}

/* A new schema: on the own server under a name of its own, else on the shared one. */
static void new_schema(struct world *world, int number)
{
    char name[32];

    fa_l_clear(&world->ledger);
    if (world->t.owns_schema)
        fa_psql_drop_schema(world->t.url);
    snprintf(name, sizeof name, "s%d", number);
    if (world->server.pid == 0)
        fa_t_set_url(&world->t, FA_T_POSTGRES);
    else
        fa_psql_with(world->server.url, "schema", name, world->t.url);
    snprintf(world->sessions, sizeof world->sessions, "outages-%d-%d", (int)getpid(), number);
    fa_psql_with(world->t.url, "application_name", world->sessions, world->t.url);
}

/* The session of a node that was killed may still be busy with what that one had sent, and commit
 * it late. */
static void await_sessions_end(struct world *world)
{
    int64_t deadline_us = fa_clock_mono_us() + FA_T_DEADLINE_MS * 1000LL;
    PGconn *conn = fa_psql_connect(world->t.url);

    while (fa_psql_int(conn,
                       "SELECT count(*) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND "
                       "application_name = '%s'",
                       world->sessions) > 0) {
        CHECK(fa_clock_mono_us() < deadline_us, "sessions of killed nodes don't end");
        rest_us(2000);
    }
    fa_psql_close(conn);
}

static void start_writers(struct world *world, bool is_patient)
{
    int32_t first = world->ledger.count;

    world->ready = 0;
    for (int i = 0; i < WRITERS; i++)
        fa_w_start(&world->writers[i],
                   &(struct fa_w_plan){.role = FA_W_BUSY,
                                       .url = world->t.url,
                                       .first = first + 3 * i,
                                       .step = 3 * WRITERS,
                                       .seed = fa_random_next(&world->random) >> 1,
                                       .is_patient = is_patient});
}

/* Lets the living ones work for a while, from writer `first` on. */
static void let_work(struct world *world, int first, int64_t us)
{
    int64_t until_us = fa_clock_mono_us() + us;

    while (fa_clock_mono_us() < until_us)
        for (int i = first; i < WRITERS; i++)
            CHECK(fa_w_read(&world->writers[i], 500, on_record, world),
                  "writer %d has ended by itself", i);
}

static void await_ready(struct world *world)
{
    int64_t deadline_us = fa_clock_mono_us() + FA_T_DEADLINE_MS * 1000LL;

    while (world->ready < WRITERS) {
        CHECK(fa_clock_mono_us() < deadline_us, "the writers don't get ready");
        let_work(world, 0, 1000);
    }
}

static void kill_writers(struct world *world)
{
    for (int i = 0; i < WRITERS; i++) {
        fa_w_kill(&world->writers[i], on_record, world);
        /* The others are still at it, and meet what the dead one left. */
        let_work(world, i + 1, (int64_t)fa_random_below(&world->random, 8000));
    }
}

static void check_all(struct world *world)
{
    await_sessions_end(world);
    fa_t_open(&world->t);
    for (int32_t i = 0; i < world->ledger.count; i++)
        world->in_doubt += world->ledger.entries[i].has_intent;
    fa_l_check(&world->ledger, &world->t);
    fa_l_release_held(&world->ledger, &world->t);
    fa_t_close(&world->t);
}

/* ------------------------------------------------------------------------------------------
 * Nodes are killed
 */

static void test_outages__nodes_are_killed(void **state)
{
    int kills = (int)fa_t_env_int("FA_PG_KILLS", 20);
    struct world *world = create_world(false);

    (void)state;
    for (int i = 0; i * WRITERS < kills; i++) {
        if (i % ROUNDS_PER_SCHEMA == 0)
            new_schema(world, i);
        start_writers(world, false);
        await_ready(world);
        let_work(world, 0, (int64_t)fa_random_below(&world->random, 60000));
        kill_writers(world);
        check_all(world);
    }
    print_message("%d kills, %lld records, %d tasks in doubt\n", kills, (long long)world->records,
                  world->in_doubt);
    CHECK_TRUE(world->acknowledged > kills * 5);
    destroy_world(world);
}

/* ------------------------------------------------------------------------------------------
 * The server is stopped
 */

static void await_more(struct world *world, int64_t more)
{
    int64_t wanted = world->acknowledged + more;
    int64_t deadline_us = fa_clock_mono_us() + FA_T_DEADLINE_MS * 1000LL;

    while (world->acknowledged < wanted) {
        CHECK(fa_clock_mono_us() < deadline_us, "the writers don't come back");
        let_work(world, 0, 1000);
    }
}

static void stop_rounds(int stops, void (*const *ends)(struct fa_pgs *), int end_count)
{
    struct world *world = create_world(true);

    for (int i = 0; i < stops; i++) {
        if (i % ROUNDS_PER_SCHEMA == 0)
            new_schema(world, i);
        start_writers(world, true);
        await_ready(world);
        let_work(world, 0, 2000 + (int64_t)fa_random_below(&world->random, 60000));
        ends[i % end_count](&world->server);
        let_work(world, 0, (int64_t)fa_random_below(&world->random, 200000));
        fa_pgs_start(&world->server);
        await_more(world, 20); /* by themselves */
        kill_writers(world);
        check_all(world);
    }
    print_message("%d stops, %lld records, %d tasks in doubt\n", stops, (long long)world->records,
                  world->in_doubt);
    destroy_world(world);
}

static void test_outages__server_stops_at_once(void **state)
{
    void (*const ends[])(struct fa_pgs *) = {fa_pgs_stop};

    (void)state;
    stop_rounds((int)fa_t_env_int("FA_PG_STOPS", 20), ends, 1);
}

static void test_outages__server_is_killed_or_shut_down(void **state)
{
    void (*const ends[])(struct fa_pgs *) = {fa_pgs_kill, fa_pgs_shut_down};

    (void)state;
    stop_rounds((int)fa_t_env_int("FA_PG_STOPS", 20) / 5, ends, 2);
}

/* One session of the server crashes, so it throws everybody out and recovers. The numbers of
 * transactions that had not reached the disk are then given out again. */
static void crash_one_session(struct fa_pgs *server)
{
    PGconn *conn = fa_psql_connect(server->admin_url);
    int pid = (int)fa_psql_int(conn, "SELECT pid FROM pg_stat_activity WHERE backend_type = "
                                     "'client backend' AND pid <> pg_backend_pid() LIMIT 1");
    char code[8];

    CHECK_TRUE(pid > 0);
    fa_pgs_kill_session(server, pid);
    while (strcmp(fa_psql_try(conn, code, "SELECT 1"), "") == 0)
        rest_us(1000);
    fa_psql_close(conn);
    fa_pgs_await(server);
}

static void test_outages__one_session_crashes(void **state)
{
    int crashes = (int)fa_t_env_int("FA_PG_STOPS", 20) / 2;
    struct world *world = create_world(true);

    (void)state;
    for (int i = 0; i < crashes; i++) {
        if (i % ROUNDS_PER_SCHEMA == 0)
            new_schema(world, i);
        start_writers(world, true);
        await_ready(world);
        let_work(world, 0, 2000 + (int64_t)fa_random_below(&world->random, 60000));
        crash_one_session(&world->server);
        await_more(world, 20);
        kill_writers(world);
        check_all(world);
    }
    destroy_world(world);
}

/* ------------------------------------------------------------------------------------------
 * A commit that never was
 */

static void submit_one(struct fa_t *mine, size_t index, void *arg)
{
    enum faina_code *code = arg;

    (void)index;
    *code = fa_t_try_submit(mine, .type = "x", .idempotency_key = "lost");
}

static bool has_hit(struct fa_t *t, void *arg)
{
    (void)t;
    return fa_proxy_hits(arg) > 0;
}

/* Transactions, so that numbers which a crash has forgotten are given out again. */
static void burn_numbers(struct fa_pgs *server, int count)
{
    PGconn *conn = fa_psql_connect(server->admin_url);

    for (int i = 0; i < count; i++)
        fa_psql_exec(conn, "SELECT pg_current_xact_id()");
    fa_psql_close(conn);
}

static void lose_one_commit(void)
{
    /* Not cut: who aborts writes that down, and then the number stays known. */
    const struct fa_proxy_rule rule = {.from = FA_PROXY_CLIENT,
                                       .action = FA_PROXY_STALL,
                                       .sql = "COMMIT",
                                       .stall_ms = 10 * FA_T_DEADLINE_MS};
    struct world *world = create_world(false);
    enum faina_code code = FAINA_INTERNAL, there;
    struct fa_proxy *proxy;
    struct fa_t_crew *crew;
    struct fa_t direct = {0};
    PGconn *conn;

    fa_pgs_init(&world->server);
    fa_pgs_set(&world->server, "wal_writer_delay = 10s");
    fa_pgs_set(&world->server, "autovacuum = off");
    fa_pgs_start(&world->server);
    proxy = fa_proxy_start(world->server.port);
    fa_psql_with(world->server.url, "schema", "lost", direct.url);
    fa_psql_through(direct.url, fa_proxy_port(proxy), world->t.url);
    fa_t_open(&world->t);
    fa_t_submit(&world->t, .type = "x"); /* all that is made only once is made */
    conn = fa_psql_connect(world->server.admin_url);
    fa_psql_exec(conn, "CHECKPOINT");
    fa_psql_close(conn);
    fa_proxy_add(proxy, &rule);
    crew = fa_t_crew_start(&world->t, 1, submit_one, &code);
    fa_t_wait_until(has_hit, &world->t, proxy, "a commit is held up");
    fa_t_crew_wait_asleep(crew, &world->t); /* and it is ours, or behind it */
    fa_proxy_refuse(proxy, true);
    fa_pgs_stop(&world->server);
    fa_pgs_start(&world->server);
    burn_numbers(&world->server, 200);
    fa_proxy_clear(proxy); /* what was held up is gone with its connection */
    fa_proxy_refuse(proxy, false);
    fa_t_crew_join(crew);
    fa_t_open(&direct);
    there = fa_t_get_by_key(&direct, NULL, "x", "lost");
    CHECK(code != FAINA_OK || there == FAINA_OK, "a submit was acknowledged and is not there");
    CHECK(code == FAINA_OK || fa_l_is_away(code), "the submit: %s", faina_code_name(code));
    fa_t_close(&direct);
    fa_arena_finish(&direct.arena);
    fa_t_close(&world->t);
    fa_proxy_stop(proxy);
    destroy_world(world);
}

/* The server crashes before a commit arrives, and the number of that transaction then belongs to
 * somebody else's, which is committed. Nobody may be told that the first one was. A few times,
 * since a commit of another session may save the number from being forgotten. */
static void test_outages__number_of_a_lost_commit_is_used_again(void **state)
{
    (void)state;
    for (int i = 0; i < 6; i++)
        lose_one_commit();
}

/* ------------------------------------------------------------------------------------------
 * The server is replaced
 */

static void test_outages__standby_takes_over(void **state)
{
    struct world *world = create_world(true);
    struct fa_moves moves = {.t = &world->t, .is_remote = true};
    struct fa_pgs standby;
    char hosts[FA_T_PATH_SIZE];
    const char *host = strrchr(world->server.url, '@');
    PGconn *conn;

    (void)state;
    conn = fa_psql_connect(world->server.admin_url);
    fa_pgs_init_standby(&standby, &world->server);
    fa_psql_exec(conn, "ALTER SYSTEM SET synchronous_standby_names = '*'");
    fa_pgs_start(&standby);
    fa_psql_exec(conn, "SELECT pg_reload_conf()");
    fa_psql_close(conn);
    snprintf(hosts, sizeof hosts,
             "%.*s@127.0.0.1:%d,127.0.0.1:%d/faina?target_session_attrs=read-write&schema=over",
             (int)(host - world->server.url), world->server.url, world->server.port, standby.port);
    memcpy(world->t.url, hosts, sizeof hosts);
    fa_t_open(&world->t);
    fa_moves_run(&moves);
    fa_pgs_kill(&world->server);
    conn = fa_psql_connect(standby.admin_url);
    fa_psql_exec(conn, "ALTER SYSTEM SET synchronous_standby_names = ''");
    fa_pgs_promote(&standby);
    fa_psql_exec(conn, "SELECT pg_reload_conf()");
    fa_psql_close(conn);
    while (fa_l_is_away(fa_t_stats(&world->t, NULL)))
        rest_us(1000);
    fa_l_check(&moves.ledger, &world->t);
    fa_t_finish_task(&world->t, fa_t_submit(&world->t, .type = "x"));
    fa_l_clear(&moves.ledger);
    fa_t_close(&world->t);
    fa_pgs_finish(&standby);
    destroy_world(world);
}

static void exec_on(const struct fa_pgs *server, const char *sql)
{
    PGconn *conn = fa_psql_connect(server->admin_url);

    fa_psql_exec(conn, "%s", sql);
    fa_psql_close(conn);
}

/* A standby that every commit on the primary waits for. */
static void add_standby(struct world *world, struct fa_pgs *standby)
{
    PGconn *conn = fa_psql_connect(world->server.admin_url);
    int64_t deadline_us = fa_clock_mono_us() + 3LL * FA_T_DEADLINE_MS * 1000;

    fa_pgs_init_standby(standby, &world->server);
    fa_pgs_start(standby);
    fa_psql_exec(conn, "ALTER SYSTEM SET synchronous_standby_names = '*'");
    fa_psql_exec(conn, "SELECT pg_reload_conf()");
    while (fa_psql_int(conn, "SELECT count(*) FROM pg_stat_replication WHERE sync_state = "
                             "'sync'") != 1) {
        CHECK(fa_clock_mono_us() < deadline_us, "the standby doesn't follow");
        rest_us(2000);
    }
    fa_psql_close(conn);
}

/* The URL of both servers, with the schema and the sessions' name of this round. */
static void use_both(struct world *world, const struct fa_pgs *standby, int number)
{
    const char *host = strrchr(world->server.url, '@');

    snprintf(world->sessions, sizeof world->sessions, "outages-%d-%d", (int)getpid(), number);
    snprintf(world->t.url, sizeof world->t.url,
             "%.*s@127.0.0.1:%d,127.0.0.1:%d/faina?target_session_attrs=read-write&schema=s%d"
             "&application_name=%s",
             (int)(host - world->server.url), world->server.url, world->server.port, standby->port,
             number, world->sessions);
}

/* The primary dies under load; its standby is promoted and becomes the next round's primary. */
static void test_outages__standby_is_promoted_under_load(void **state)
{
    int promotions = (int)fa_t_env_int("FA_PG_PROMOTIONS", 1);
    struct world *world = create_world(true);

    (void)state;
    for (int i = 0; i < promotions; i++) {
        struct fa_pgs standby = {0};

        add_standby(world, &standby);
        fa_l_clear(&world->ledger);
        use_both(world, &standby, i);
        start_writers(world, true);
        await_ready(world);
        let_work(world, 0, 2000 + (int64_t)fa_random_below(&world->random, 100000));
        fa_pgs_kill(&world->server);
        let_work(world, 0, (int64_t)fa_random_below(&world->random, 50000));
        exec_on(&standby, "ALTER SYSTEM SET synchronous_standby_names = ''");
        fa_pgs_promote(&standby);
        exec_on(&standby, "SELECT pg_reload_conf()");
        await_more(world, 20); /* by themselves */
        kill_writers(world);
        check_all(world);
        fa_pgs_finish(&world->server);
        world->server = standby;
    }
    print_message("%d promotions, %lld records, %d tasks in doubt\n", promotions,
                  (long long)world->records, world->in_doubt);
    destroy_world(world);
}

/* ------------------------------------------------------------------------------------------
 * The server is there, but can't
 */

static void test_outages__disk_is_full(void **state)
{
    struct world *world = create_world(false);
    char *big = fa_alloc(500001);
    enum faina_code code = FAINA_OK;
    struct fa_service_info info;
    struct faina_error err;
    int stored = 0;

    (void)state;
    memset(big, 'x', 500000);
    big[0] = big[499999] = '"';
    big[500000] = '\0';
    fa_pgs_init_small(&world->server, 192);
    fa_pgs_start(&world->server);
    new_schema(world, 0);
    world->t.owns_schema = false;
    fa_t_open(&world->t);
    fa_pgs_fill_disk(&world->server);
    for (; stored < 1000 && code == FAINA_OK; stored++) {
        code = fa_t_try_submit(&world->t, .type = "big", .input = big);
        fa_t_forget(&world->t);
    }
    CHECK(fa_l_is_away(code), "a full disk: %s", faina_code_name(code));
    if (fa_service_info(world->t.svc, false, &world->t.arena, &info, &err) == FAINA_OK)
        CHECK(info.full && strstr(info.full, "full"), "a full disk is not reported");
    stored--;
    fa_pgs_free_disk(&world->server);
    fa_pgs_stop(&world->server); /* it may have given up by itself */
    fa_pgs_start(&world->server);
    while (fa_l_is_away(fa_t_stats(&world->t, NULL)))
        rest_us(1000);
    CHECK_INT(world->t.op.stats->by_status[FAINA_PENDING], stored);
    fa_t_finish_task(&world->t, fa_t_submit(&world->t, .type = "x"));
    fa_t_check_sound(&world->t);
    free(big);
    destroy_world(world);
}

/* Somebody holds what we need for longer than a statement may take. */
static void test_outages__statement_takes_too_long(void **state)
{
    struct world *world = create_world(false);
    char url[FA_T_PATH_SIZE];
    enum faina_code code;
    const char *id;
    PGconn *raw;

    (void)state;
    new_schema(world, 0);
    memcpy(url, world->t.url, sizeof url);
    fa_psql_with(url, "options", "-cstatement_timeout%3D300", world->t.url);
    fa_t_open(&world->t);
    id = fa_t_make(&world->t, FAINA_RUNNING, "w");
    raw = fa_psql_connect(url);
    fa_psql_exec(raw, "BEGIN; LOCK TABLE held IN ACCESS EXCLUSIVE MODE");
    code = fa_t_complete(&world->t, id, BY("w"), "1");
    CHECK(fa_l_is_away(code), "a statement that takes too long: %s (%s)", faina_code_name(code),
          world->t.op.error.message);
    fa_psql_exec(raw, "COMMIT");
    CHECK_OK(&world->t, fa_t_complete(&world->t, id, BY("w"), "1"));
    CHECK_STORY(&world->t, id, "created claimed started completed");
    fa_psql_close(raw);
    fa_t_close(&world->t);
    destroy_world(world);
}

/* The database may be set to a stricter isolation than ours: still every answer is right. */
static void test_outages__serialization_failures(void **state)
{
    struct world *world = create_world(true);
    struct fa_moves moves = {.t = &world->t, .is_remote = true};
    PGconn *conn;

    (void)state;
    conn = fa_psql_connect(world->server.admin_url);
    fa_psql_exec(conn, "ALTER DATABASE faina SET default_transaction_isolation = 'serializable'");
    fa_psql_close(conn);
    new_schema(world, 0);
    fa_t_open(&world->t);
    fa_moves_run(&moves);
    fa_l_check(&moves.ledger, &world->t);
    fa_l_clear(&moves.ledger);
    fa_t_close(&world->t);
    new_schema(world, 1);
    start_writers(world, false);
    await_ready(world);
    let_work(world, 0, 300000);
    kill_writers(world);
    check_all(world);
    destroy_world(world);
}

/* The whole server is stopped with SIGSTOP, as a machine that hangs. */
static void test_outages__server_hangs(void **state)
{
    struct world *world = create_world(true);

    (void)state;
    new_schema(world, 0);
    start_writers(world, true);
    await_ready(world);
    let_work(world, 0, 20000);
    fa_pgs_pause(&world->server);
    let_work(world, 0, 1500000);
    fa_pgs_resume(&world->server);
    await_more(world, 20);
    kill_writers(world);
    check_all(world);
    destroy_world(world);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_outages__nodes_are_killed),
        cmocka_unit_test(test_outages__server_stops_at_once),
        cmocka_unit_test(test_outages__server_is_killed_or_shut_down),
        cmocka_unit_test(test_outages__one_session_crashes),
        cmocka_unit_test(test_outages__number_of_a_lost_commit_is_used_again),
        cmocka_unit_test(test_outages__standby_takes_over),
        cmocka_unit_test(test_outages__standby_is_promoted_under_load),
        cmocka_unit_test(test_outages__disk_is_full),
        cmocka_unit_test(test_outages__statement_takes_too_long),
        cmocka_unit_test(test_outages__serialization_failures),
        cmocka_unit_test(test_outages__server_hangs),
    };

    if (fa_w_is_writer(argc, argv))
        return fa_w_main(argv);
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("outages", tests, NULL, NULL);
}
