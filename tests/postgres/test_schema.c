/*
 * test_schema.c - the schema: made by nodes that are killed while they make it, made by hand with
 * psql, or already a step ahead of this program.
 */
#include "support/moves.h"
#include "support/ops.h"
#include "support/psql.h"
#include "support/writer.h"

#include "base/clock.h"
#include "base/random.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>
#include <libpq-fe.h>

#define FOLDER FA_SOURCE_ROOT "/src/store/db/postgres/migrations"

static int set_up(void **state)
{
    struct fa_t *t = fa_alloc_zero(1, sizeof *t);

    fa_t_init(t);
    if (fa_psql_url())
        fa_t_set_url(t, FA_T_POSTGRES);
    *state = t;
    return 0;
}

static int tear_down(void **state)
{
    fa_t_finish(*state);
    free(*state);
    return 0;
}

static void check_works(struct fa_t *t)
{
    struct fa_moves moves = {.t = t};

    fa_moves_run(&moves);
    fa_l_check(&moves.ledger, t);
    fa_l_clear(&moves.ledger);
}

/* ------------------------------------------------------------------------------------------
 * By hand
 */

static char *read_whole(const char *path)
{
    char *text = fa_alloc_zero(1, 1 << 20);
    FILE *file = fopen(path, "r");

    CHECK(file != NULL, "can't read %s", path);
    CHECK_TRUE(fread(text, 1, (1 << 20) - 1, file) > 0);
    fclose(file);
    return text;
}

static int is_sql(const struct dirent *entry)
{
    return strstr(entry->d_name, ".sql") != NULL;
}

#define SUBMIT_STEP 23 /* position of 0024; a later step replaces a function of those before it */
#define REPLACED_STEP "0032_groups.sql" /* the same: 0034 has the function submit */

/* The migrations from the one at this position on; REPLACED_STEP only with all of them. */
static void run_files(PGconn *conn, int first)
{
    struct dirent **names;
    int count = scandir(FOLDER, &names, is_sql, alphasort);

    CHECK(count > 0, "no migrations in %s", FOLDER);
    for (int i = 0; i < count; i++) {
        char path[FA_T_PATH_SIZE];
        PGresult *result;
        char *text;

        if (i < first || (first > 0 && strcmp(names[i]->d_name, REPLACED_STEP) == 0)) {
            free(names[i]);
            continue;
        }
        snprintf(path, sizeof path, "%s/%.200s", FOLDER, names[i]->d_name);
        text = read_whole(path);
        result = PQexec(conn, text); /* several statements, one transaction: as psql -1 -f */
        CHECK(PQresultStatus(result) == PGRES_COMMAND_OK ||
                  PQresultStatus(result) == PGRES_TUPLES_OK,
              "%s: %s", names[i]->d_name, PQerrorMessage(conn));
        PQclear(result);
        free(text);
        free(names[i]);
    }
    free(names);
}

/* The list of steps, as a number. */
static int64_t steps_of(PGconn *conn)
{
    return fa_psql_int(conn, "SELECT hashtext(string_agg(id || description, ' ' ORDER BY id)) "
                             "FROM schema_migrations");
}

static void test_schema__by_hand_twice(void **state)
{
    struct fa_t *t = *state;
    char plain[FA_T_PATH_SIZE], schema[64];
    int64_t by_hand;
    PGconn *conn;

    fa_psql_need_engine();
    fa_psql_split(t->url, plain, schema);
    conn = fa_psql_connect(t->url);
    fa_psql_exec(conn, "CREATE SCHEMA %s", schema);
    run_files(conn, 0);
    run_files(conn, SUBMIT_STEP);
    by_hand = steps_of(conn);
    fa_t_open(t);                       /* and a program that finds it takes it as its own */
    CHECK_INT(steps_of(conn), by_hand); /* they have listed themselves */
    check_works(t);
    fa_t_close(t);
    run_files(conn, SUBMIT_STEP); /* with tasks in it, too */
    CHECK_INT(steps_of(conn), by_hand);
    fa_t_open(t);
    CHECK_OK(t, fa_t_stats(t, NULL));
    CHECK_TRUE(t->op.stats->by_status[FAINA_COMPLETED] > 0);
    fa_psql_close(conn);
}

/* ------------------------------------------------------------------------------------------
 * Killed
 */

static void ignore_record(void *ctx, const struct fa_l_record *record)
{
    (void)ctx;
    (void)record;
}

static void test_schema__killed_while_it_is_made(void **state)
{
    int kills = (int)fa_t_env_int("FA_PG_KILLS", 20);
    struct fa_random random;
    struct fa_t *t = *state;

    fa_psql_need_engine();
    fa_random_seed(&random, fa_t_seed());
    for (int i = 0; i < kills; i++) {
        struct fa_w writer;

        if (i % 3 == 0) { /* and some go on with a half-made one */
            fa_psql_drop_schema(t->url);
            fa_t_set_url(t, FA_T_POSTGRES);
        }
        fa_w_start(&writer, &(struct fa_w_plan){.role = FA_W_OPEN, .url = t->url});
        CHECK(fa_w_read(&writer, FA_T_DEADLINE_MS * 1000, ignore_record, NULL), "it has ended");
        nanosleep(&(const struct timespec){.tv_nsec = (long)fa_random_below(&random, 200000000)},
                  NULL);
        fa_w_kill(&writer, ignore_record, NULL);
        fa_t_open(t);
        fa_t_finish_task(t, fa_t_submit(t, .type = "x"));
        fa_t_check_sound(t);
        fa_t_close(t);
    }
}

/* ------------------------------------------------------------------------------------------
 * Two versions side by side
 */

/* What a newer program may do to the schema while this one works on it: add. */
static void migrate_ahead(PGconn *conn)
{
    fa_psql_exec(conn, "BEGIN");
    fa_psql_exec(conn, "ALTER TABLE task ADD COLUMN newer text");
    fa_psql_exec(conn, "ALTER TABLE held ADD COLUMN newer bigint NOT NULL DEFAULT 7");
    fa_psql_exec(conn, "ALTER TABLE ready ADD COLUMN newer bigint NOT NULL DEFAULT 7");
    fa_psql_exec(conn, "ALTER TABLE ended ADD COLUMN newer jsonb");
    fa_psql_exec(conn, "CREATE TABLE newer (id bigint PRIMARY KEY)");
    fa_psql_exec(conn, "INSERT INTO schema_migrations (id, description, executed_at) VALUES "
                       "('9999', 'A step of a newer program.', now())");
    fa_psql_exec(conn, "COMMIT");
}

static void test_schema__newer_node_migrates_meanwhile(void **state)
{
    struct fa_t *t = *state;
    struct fa_moves moves = {.t = t};
    struct faina_error err = {0};
    struct fa_t late = {0};
    PGconn *conn;
    const char *id;

    fa_psql_need_engine();
    fa_t_open(t);
    id = fa_t_make(t, FAINA_RUNNING, "w");
    conn = fa_psql_connect(t->url);
    migrate_ahead(conn);
    CHECK_OK(t, fa_t_complete(t, id, BY("w"), "1")); /* under way before, done after */
    fa_t_finish_task(t, fa_t_submit(t, .type = "x"));
    fa_moves_run(&moves);
    fa_l_clear(&moves.ledger);
    fa_t_check_sound(t);
    /* Who starts now with the old program is told what to do. */
    snprintf(late.url, sizeof late.url, "%s", t->url);
    CHECK_INT(fa_t_try_open(&late, &err), FAINA_UNAVAILABLE);
    CHECK(strstr(err.message, "9999") && strstr(err.message, "newer"), "it says: %s", err.message);
    fa_psql_close(conn);
}

/* The engine's schema can be read by people, and holds nothing outside of it. */
static void test_schema__documented_columns(void **state)
{
    static const struct {
        const char *view, *columns;
    } cases[] = {
        {"tasks", "id, namespace, type, name, status, state, progress, priority, input, output, "
                  "error, metadata, spec, idempotency_key, input_hash, attempts, max_attempts, "
                  "run_at, worker_id, lease_expires_at, parent_id, resources, team_id, created_by, "
                  "expires_at, version, created_at, updated_at, claimed_at, started_at, "
                  "completed_at, deleted_at, depends_on"},
        {"task_events", "id, task_id, what, status, state, actor, detail, created_at"},
        {"task_results", "task_id, payload, created_at"},
        {"task_deps", "task_id, depends_on"},
        {"resources", "name, max_concurrency, in_use"},
        {"schema_migrations", "id, description, executed_at"},
    };
    struct fa_t *t = *state;
    PGconn *conn;

    fa_psql_need_engine();
    fa_t_open(t);
    check_works(t);
    conn = fa_psql_connect(t->url);
    for (size_t i = 0; i < FA_COUNT(cases); i++)
        CHECK(fa_psql_int(conn, "SELECT count(*) FROM (SELECT %s FROM %s) x", cases[i].columns,
                          cases[i].view) > 0 ||
                  strcmp(cases[i].view, "task_deps") == 0,
              "nothing in %s", cases[i].view);
    CHECK_INT(fa_psql_int(conn, "SELECT count(*) FROM task_events WHERE what = 'created' AND "
                                "detail->>'type' IS NULL"),
              0);
    CHECK_INT(fa_psql_int(conn, "SELECT count(*) FROM pg_class WHERE relnamespace = "
                                "'public'::regnamespace AND relowner = current_user::regrole AND "
                                "relname IN ('task', 'ready', 'held', 'tasks')"),
              0);
    fa_psql_close(conn);
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_schema__by_hand_twice),
        TEST(test_schema__killed_while_it_is_made),
        TEST(test_schema__newer_node_migrates_meanwhile),
        TEST(test_schema__documented_columns),
    };

    if (fa_w_is_writer(argc, argv))
        return fa_w_main(argv);
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("schema", tests, NULL, NULL);
}
