/*
 * test_copy.c - a store copied between SQLite and PostgreSQL: everything is there, the engine goes
 * on with it, and a copy that was killed at any step ends right.
 */
#include "support/bulk.h"
#include "support/ops.h"
#include "support/psql.h"

#include "store/upkeep/copy_rows.h"

#include <setjmp.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <libpq-fe.h>

#define HOUR_MS (3600LL * 1000)
#define MANY 1500 /* several pages */
#define KILLED 99

struct world {
    struct fa_t file, server, back; /* copied in this order */
    char many[MANY][FAINA_ID_SIZE];
};

static int set_up(void **state)
{
    struct world *world = fa_alloc_zero(1, sizeof *world);

    *state = world;
    fa_t_init(&world->file);
    fa_t_init(&world->server);
    fa_t_init(&world->back);
    if (fa_psql_url() == NULL)
        return 0;
    fa_t_set_url(&world->file, FA_T_SQLITE);
    fa_t_set_url(&world->server, FA_T_POSTGRES);
    fa_t_set_url(&world->back, FA_T_SQLITE);
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;

    fa_t_finish(&world->file);
    fa_t_finish(&world->back);
    fa_t_finish(&world->server);
    free(world);
    return 0;
}

/* ------------------------------------------------------------------------------------------
 * A store with something of every kind
 */

static void hold(struct fa_t *t, const char *id, const char *worker)
{
    fa_t_take(t, id, worker);
    CHECK_OK(t, fa_t_heartbeat(t, id, BY(worker), HOUR_MS));
}

static void fill_statuses(struct fa_t *t)
{
    for (int status = 0; status < FAINA_STATUS_COUNT; status++) {
        const char *id = fa_t_make(t, (enum faina_status)status, "w1");

        if (status == FAINA_CLAIMED || status == FAINA_RUNNING)
            CHECK_OK(t, fa_t_heartbeat(t, id, BY("w1"), HOUR_MS));
        if (status >= FAINA_COMPLETED)
            CHECK_OK(t, fa_t_delete(t, fa_t_make(t, (enum faina_status)status, "w1")));
    }
}

/* A definition, an event that made a task, and a join that has one of two. */
static void fill_flows(struct fa_t *t)
{
    static const char yaml[] = "workflow: flow\n"
                               "triggers:\n"
                               "  - { name: t, on: came, task: { type: made } }\n"
                               "joins:\n"
                               "  - { name: j, taskTypes: [left, right], joinKey: k,"
                               " task: { type: joined } }\n";
    struct fa_definition definition = {.text = fa_str(yaml), .is_yaml = true};
    struct faina_emit event = {.type = "came", .data = "{}", .id = "once"};

    CHECK_OK(t,
             fa_t_run(t, &(struct fa_op){.kind = FA_OP_WORKFLOW_PUT, .definition = &definition}));
    CHECK_OK(t, fa_t_run(t, &(struct fa_op){.kind = FA_OP_EMIT, .emit = &event}));
    fa_t_finish_task(t, fa_t_submit(t, .type = "left", .input = "{\"k\":\"one\"}"));
}

static void fill_fields(struct fa_t *t)
{
    struct faina_team team = {.ns = "other", .name = "the \"team\"", .spec = "{\"a\":[1]}"};
    struct fa_token token = {
        .name = "ci",
        .hash = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        .scopes = FA_SCOPE_READ,
    };
    struct fa_op settings = {.kind = FA_OP_SETTINGS_SET};
    struct faina_type_policy policy = {.type = "x", .max_attempts = 7};
    char *big = fa_arena_zero(&t->arena, 300001, 1);
    const char *id, *team_id;

    memset(big, 'x', 300000);
    big[0] = big[299999] = '"';
    fa_t_submit(t, .type = "big", .input = big);
    CHECK_OK(t, fa_t_run(t, &(struct fa_op){.kind = FA_OP_TOKEN_PUT, .token = &token}));
    settings.settings.redact = (struct fa_texts){(const char *const[]){"password"}, 1};
    CHECK_OK(t, fa_t_run(t, &settings));
    CHECK_OK(t, fa_t_run(t, &(struct fa_op){.kind = FA_OP_TYPE_PUT, .type_policy = &policy}));
    fa_t_submit(t, .type = "bulk");
    fa_t_bulk_completes(t, fa_t_bulk(t, CANCEL, .type = "bulk"), 1, 0);
    fill_flows(t);
    CHECK_OK(t, fa_t_team_put(t, &team));
    team_id = fa_arena_strdup(&t->arena, t->op.team_answer->id);
    fa_t_submit(t, .ns = "other", .type = "full \xc3\xa4", .name = "a 'name' \\ \xe6\x97\xa5",
                .input = "{\"a\":\"\\u00e4\\\\ \xf0\x9f\x98\x80\"}", .metadata = "{\"m\":1.50}",
                .spec = "{\"s\":[null]}", .priority = -2147483647, .max_attempts = FAINA_UNLIMITED,
                .idempotency_key = "key \xe2\x82\xac", .retry = {77, 1.7, 99999},
                .team_id = team_id, .created_by = "ann");
    fa_t_submit(t, .type = "dedupe", .input = "{\"b\":1,\"a\":2}", .dedupe_input = true);
    fa_t_submit(t, .type = "later", .delay_ms = HOUR_MS, .idempotency_key = "later",
                .start_by_ms = 2 * HOUR_MS, .timeout_ms = 5000, .group = "red");
    fa_t_submit(t, .type = "fair", .group = "red");
    fa_t_submit(t, .type = "fair", .group = "blue", .priority = 3);
    id = fa_t_submit(t, .type = "again", .retry = {HOUR_MS, 1, HOUR_MS});
    fa_t_take(t, id, "w1");
    CHECK_OK(t, fa_t_report(t, id, BY("w1"),
                            &(struct faina_report){true, 40, "half \"done\"", "{\"p\":1}"}));
    CHECK_OK(t,
             fa_t_fail_with(t, id, BY("w1"),
                            &(struct faina_failure){"it's broken", "kind", "{\"d\":[]}", false}));
    id = fa_t_make(t, FAINA_DEAD_LETTER, "w1");
    CHECK_OK(t, fa_t_retry(t, id, NOBODY));
    CHECK_OK(t, fa_t_pause(t, "default", "asleep"));
    fa_t_submit(t, .type = "asleep");
}

/* A token that may do little, and a schedule that isn't due while the test runs. */
static void fill_settings(struct fa_t *t)
{
    struct fa_token token = {
        .name = "reader",
        .hash = "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210",
        .scopes = FA_SCOPE_READ,
        .namespaces = "[\"other\"]",
    };
    struct fa_cron_job job = {
        .ns = "other",
        .name = "new year \xc3\xa4",
        .schedule = "@yearly",
        .timezone = "Europe/Berlin",
        .task = "{\"type\":\"party\",\"input\":[1.50]}",
        .catch_up = FA_CATCH_UP_ALL,
    };

    CHECK_OK(t, fa_t_run(t, &(struct fa_op){.kind = FA_OP_TOKEN_PUT, .token = &token}));
    CHECK_OK(t, fa_t_run(t, &(struct fa_op){.kind = FA_OP_CRON_PUT, .cron = &job}));
}

/* Two of "gpu", of which there are two: one task running, one in the background, one in line. */
static void fill_resources(struct fa_t *t)
{
    const char *gpu[] = {"gpu"}, *both[] = {"gpu", "lake"};
    const char *id;

    CHECK_OK(t, fa_t_resource_set(t, "gpu", 2));
    CHECK_OK(t, fa_t_resource_set(t, "unused", 7));
    id = fa_t_submit(t, .type = "render", .resources = both, .resource_count = 2,
                     .idempotency_key = "first");
    hold(t, id, "w1");
    id = fa_t_submit(t, .type = "render", .resources = gpu, .resource_count = 1,
                     .idempotency_key = "second");
    fa_t_take(t, id, "w2");
    CHECK_OK(t, fa_t_background(t, id, BY("w2"), HOUR_MS));
    fa_t_submit(t, .type = "render", .resources = gpu, .resource_count = 1,
                .idempotency_key = "third");
}

/* A parent of three children, of which one has ended and one is held; and a task that waits. */
static void fill_links(struct fa_t *t)
{
    struct faina_submit children[] = {
        {.type = "child", .name = "a"}, {.type = "child", .name = "b"}, {.type = "grandchild"}};
    const char *parent = fa_t_submit(t, .type = "parent", .idempotency_key = "parent");
    const char *needs[2], *dependent;

    fa_t_take(t, parent, "w1");
    CHECK_OK(t, fa_t_block(t, parent, BY("w1"), children, FA_COUNT(children)));
    fa_t_finish_task(t, fa_t_child(t, parent, 0));
    hold(t, fa_t_child(t, parent, 1), "w2");
    needs[0] = fa_t_submit(t, .type = "needed", .idempotency_key = "needed");
    needs[1] = fa_t_child(t, parent, 0);
    dependent = fa_t_submit(t, .type = "dependent", .idempotency_key = "dependent",
                            .depends_on = needs, .depends_on_count = 2);
    CHECK_NOW(t, dependent, FAINA_BLOCKED);
}

/* A batch of operations on every third of them. */
static void run_third(struct world *world, int first, const struct fa_op *op)
{
    struct fa_op *ops = fa_alloc_zero(MANY, sizeof *ops);
    size_t count = 0;

    for (int i = first; i < MANY; i += 3) {
        ops[count] = *op;
        ops[count++].id = world->many[i];
    }
    fa_t_run_all(&world->file, ops, count);
    for (size_t i = 0; i < count; i++)
        CHECK(ops[i].code == FAINA_OK, "%s: %s", fa_op_name(op->kind), ops[i].error.message);
    free(ops);
}

/* Of these a third is in line, a third was given back, and a third has completed. */
static void fill_many(struct world *world)
{
    struct faina_submit *submits = fa_alloc_zero(MANY, sizeof *submits);
    struct fa_op *ops = fa_alloc_zero(MANY, sizeof *ops);
    struct faina_by by = BY("w3");

    for (int i = 0; i < MANY; i++) {
        submits[i] = (struct faina_submit){.type = i % 2 ? "odd" : "even",
                                           .priority = i % 5,
                                           .idempotency_key =
                                               fa_arena_printf(&world->file.arena, "many %d", i)};
        ops[i] = (struct fa_op){.kind = FA_OP_SUBMIT, .submit = &submits[i]};
    }
    fa_t_run_all(&world->file, ops, MANY);
    for (int i = 0; i < MANY; i++)
        snprintf(world->many[i], FAINA_ID_SIZE, "%s", ops[i].task_id);
    for (int i = 0; i < 2; i++)
        run_third(world, i, &(struct fa_op){.kind = FA_OP_CLAIM, .by = by});
    run_third(world, 0, &(struct fa_op){.kind = FA_OP_RELEASE, .by = by});
    run_third(world, 1, &(struct fa_op){.kind = FA_OP_COMPLETE, .by = by, .output = "[1]"});
    free(submits);
    free(ops);
}

static void fill(struct world *world)
{
    fa_t_open(&world->file);
    fill_statuses(&world->file);
    fill_fields(&world->file);
    fill_settings(&world->file);
    fill_resources(&world->file);
    fill_links(&world->file);
    fa_t_close(&world->file);
}

/* ------------------------------------------------------------------------------------------
 * Copying and comparing
 */

static enum faina_code copy(struct fa_t *from, struct fa_t *to, struct fa_copy_report *report)
{
    struct fa_copy_report own;

    fa_t_close(from);
    fa_t_close(to);
    fa_error_clear(&from->op.error);
    return fa_service_copy(from->url, to->url, NULL, &from->arena, report ? report : &own,
                           &from->op.error);
}

static void add_list(struct fa_t *t, struct fa_buf *out)
{
    const char *cursor = NULL;

    do {
        struct faina_tasks *tasks;

        CHECK_OK(t, fa_t_list(t, .ns = "*", .limit = 1000, .cursor = cursor));
        tasks = t->op.tasks;
        for (size_t i = 0; i < tasks->count; i++) {
            fa_buf_add_str(out, fa_t_picture(t, tasks->items[i].id));
            fa_buf_add_str(out, fa_t_history(t, tasks->items[i].id));
        }
        cursor = tasks->next_cursor;
    } while (cursor != NULL);
}

static void add_rest(struct fa_t *t, struct fa_buf *out)
{
    CHECK_OK(t, fa_t_resource_list(t, NULL));
    for (size_t i = 0; i < t->op.resources->count; i++) {
        const struct faina_resource *resource = &t->op.resources->items[i];

        fa_buf_printf(out, "resource %s %lld %lld\n", resource->name,
                      (long long)resource->max_concurrency, (long long)resource->in_use);
        for (size_t n = 0; n < resource->holder_count; n++)
            fa_buf_printf(out, "  held by %s\n", resource->holders[n]);
    }
    CHECK_OK(t, fa_t_team_list(t, "other", NULL));
    for (size_t i = 0; i < t->op.teams->count; i++)
        fa_buf_printf(out, "team %s %s %s %s\n", t->op.teams->items[i].id, t->op.teams->items[i].ns,
                      t->op.teams->items[i].name, t->op.teams->items[i].spec);
    CHECK_OK(t, fa_t_run(t, &(struct fa_op){.kind = FA_OP_CRON_LIST, .name = {"*", NULL, NULL}}));
    for (size_t i = 0; i < t->op.crons->count; i++) {
        const struct fa_cron_job *job = &t->op.crons->items[i];

        fa_buf_printf(out, "cron %s %s %s %s %s %d %lld\n", job->ns, job->name, job->schedule,
                      job->timezone, job->task, (int)job->catch_up, (long long)job->next_us);
    }
    CHECK_OK(t, fa_t_stats(t, "*"));
    for (int status = 0; status < FAINA_STATUS_COUNT; status++)
        fa_buf_printf(out, "%s %lld\n", faina_status_name((enum faina_status)status),
                      (long long)t->op.stats->by_status[status]);
}

/* All that the engine tells about a store, as text. */
static char *tell_all(struct fa_t *t)
{
    struct fa_buf out;

    fa_buf_init(&out, SIZE_MAX / 2);
    fa_t_open(t);
    add_list(t, &out);
    add_rest(t, &out);
    fa_t_check_sound(t);
    fa_t_close(t);
    return out.ptr;
}

static void check_same(struct fa_t *one, struct fa_t *other)
{
    char *a = tell_all(one), *b = tell_all(other);
    size_t at = 0;

    while (a[at] != '\0' && a[at] == b[at])
        at++;
    while (at > 0 && a[at - 1] != '\n')
        at--;
    CHECK(strcmp(a, b) == 0, "they differ: \"%.200s\" and \"%.200s\"", a + at, b + at);
    free(a);
    free(b);
}

static int64_t rows_of(const struct fa_copy_report *report, const char *table)
{
    for (size_t i = 0; i < report->table_count; i++) {
        if (strcmp(report->tables[i].name, table) == 0)
            return report->tables[i].rows;
    }
    CHECK(false, "%s was not copied", table);
    return 0;
}

static void test_copy__everything_is_there(void **state)
{
    struct world *world = *state;
    struct fa_copy_report there, back;

    fa_psql_need_engine();
    fill(world);
    fa_t_open(&world->file);
    fill_many(world);
    CHECK_OK(&world->file, copy(&world->file, &world->server, &there));
    for (size_t i = 0; i < there.table_count; i++)
        CHECK(there.tables[i].rows > 0, "%s has no rows: nothing was tested", there.tables[i].name);
    CHECK_TRUE(rows_of(&there, "task") > MANY);
    /* No store is opened between the copies: an open one writes its history each minute. */
    CHECK_OK(&world->server, copy(&world->server, &world->back, &back));
    check_same(&world->file, &world->server);
    check_same(&world->server, &world->back);
    CHECK_TRUE(!there.is_resumed && !there.is_restarted && there.user == NULL);
    for (size_t i = 0; i < there.table_count; i++) {
        CHECK_INT(back.tables[i].rows, there.tables[i].rows);
        CHECK(back.tables[i].checksum == there.tables[i].checksum, "%s has another checksum",
              there.tables[i].name);
    }
}

/* ------------------------------------------------------------------------------------------
 * Going on
 */

static const char *by_key(struct fa_t *t, const char *type, const char *key)
{
    CHECK_OK(t, fa_t_get_by_key(t, "default", type, key));
    return t->task->id;
}

static const char *claim_all(struct fa_t *t)
{
    struct fa_buf out;
    const char *text;

    fa_buf_init(&out, SIZE_MAX / 2);
    do {
        CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w9", .limit = 100, .lease_ms = HOUR_MS,
                                    .namespaces = NULL));
        for (size_t i = 0; i < t->op.tasks->count; i++)
            fa_buf_printf(&out, "%s %s %lld\n", t->op.tasks->items[i].id,
                          t->op.tasks->items[i].type, (long long)t->op.tasks->items[i].fence);
    } while (t->op.tasks->count > 0);
    text = fa_arena_copy(&t->arena, out.ptr, out.len);
    fa_buf_finish(&out);
    return text;
}

/* The same steps on a copy as on the source. */
static void go_on(struct fa_t *t)
{
    const char *parent, *id;

    CHECK_OK(t, fa_t_try_submit(t, .type = "later", .idempotency_key = "later"));
    CHECK_TRUE(t->op.existing);
    CHECK_OK(t, fa_t_try_submit(t, .type = "dedupe", .input = "{\"a\":2, \"b\":1}",
                                .dedupe_input = true));
    CHECK_TRUE(t->op.existing);
    /* The limit holds, and a permit that comes back is taken. */
    CHECK_INT(fa_t_in_use(t, "gpu"), 2);
    id = by_key(t, "render", "third");
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w5", .limit = 5,
                                .types = (const char *const[]){"render"}, .type_count = 1));
    CHECK_INT(t->op.tasks->count, 0);
    CHECK_OK(t, fa_t_complete(t, by_key(t, "render", "second"), NOBODY, "{}"));
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w5", .limit = 5,
                                .types = (const char *const[]){"render"}, .type_count = 1));
    CHECK_INT(t->op.tasks->count, 1);
    CHECK_STR(t->op.tasks->items[0].id, id);
    /* Children unblock their parent; a key of a child still finds it. */
    parent = by_key(t, "parent", "parent");
    CHECK_OK(t, fa_t_complete(t, fa_t_child(t, parent, 1), BY("w2"), "{}"));
    CHECK_NOW(t, parent, FAINA_BLOCKED);
    fa_t_finish_task(t, fa_t_child(t, parent, 2));
    CHECK_NOW(t, parent, FAINA_PENDING);
    fa_t_finish_task(t, by_key(t, "needed", "needed"));
    CHECK_NOW(t, by_key(t, "dependent", "dependent"), FAINA_PENDING);
    /* What a worker held it still holds, by the same fence. */
    CHECK_OK(t, fa_t_complete(t, by_key(t, "render", "first"), BY("w1"), "{}"));
    CHECK_OK(t, fa_t_delete(t, by_key(t, "render", "first")));
    CHECK_OK(t, fa_t_try_submit(t, .type = "render", .idempotency_key = "first"));
    CHECK_TRUE(!t->op.existing);
}

static void test_copy__the_engine_goes_on(void **state)
{
    struct world *world = *state;
    const char *short_lived, *claimed[3];
    struct fa_t *all[] = {&world->file, &world->server, &world->back};

    fa_psql_need_engine();
    fill(world);
    fa_t_open(&world->file);
    fill_many(world);
    short_lived = fa_t_submit(&world->file, .type = "short");
    CHECK_OK(&world->file, fa_t_claim_for(&world->file, short_lived, "w1", 1));
    fa_t_close(&world->file);
    CHECK_OK(&world->file, copy(&world->file, &world->server, NULL));
    CHECK_OK(&world->server, copy(&world->server, &world->back, NULL));
    for (size_t i = 0; i < FA_COUNT(all); i++) {
        fa_t_open(all[i]);
        fa_t_wait_status(all[i], short_lived, FAINA_PENDING);
        CHECK_OK(all[i], fa_t_cancel(all[i], short_lived, NOBODY)); /* its backoff is random */
        go_on(all[i]);
    }
    for (size_t i = 0; i < FA_COUNT(all); i++) {
        /* Made by each for itself, so its id differs. */
        CHECK_OK(all[i], fa_t_cancel(all[i], by_key(all[i], "render", "first"), NOBODY));
        claimed[i] = claim_all(all[i]);
        CHECK_TRUE(strlen(claimed[i]) > (size_t)MANY / 3 * 40);
        CHECK_STR(claimed[i], claimed[0]);
        fa_t_check_sound(all[i]);
    }
}

/* ------------------------------------------------------------------------------------------
 * Refused
 */

static void test_copy__into_what_is_not_empty(void **state)
{
    struct world *world = *state;
    char *before, *after;

    fa_psql_need_engine();
    fill(world);
    fa_t_open(&world->server);
    fa_t_submit(&world->server, .type = "mine");
    fa_t_close(&world->server);
    before = tell_all(&world->server);
    CHECK_CODE(&world->file, copy(&world->file, &world->server, NULL), FAINA_CONFLICT);
    CHECK_TRUE(strstr(world->file.op.error.message, "it has tasks") != NULL);
    after = tell_all(&world->server);
    CHECK_STR(after, before);
    free(before);
    free(after);
}

static void test_copy__into_what_somebody_uses(void **state)
{
    struct world *world = *state;
    struct fa_t other;
    PGconn *raw;

    fa_psql_need_engine();
    fill(world);
    fa_t_init(&other);
    snprintf(other.url, sizeof other.url, "%s", world->server.url);
    fa_t_open(&other);
    raw = fa_psql_connect(world->server.url);
    while (fa_psql_int(raw, "SELECT count(*) FROM leader WHERE until_us > clock_us()") == 0)
        usleep(10000);
    CHECK_CODE(&world->file, copy(&world->file, &world->server, NULL), FAINA_CONFLICT);
    CHECK_TRUE(strstr(world->file.op.error.message, "stop it first") != NULL);
    fa_psql_close(raw);
    fa_t_finish(&other);
    CHECK_OK(&world->file, copy(&world->file, &world->server, NULL));
}

/* ------------------------------------------------------------------------------------------
 * Killed
 */

struct killer {
    int calls, kill_at;
    enum fa_copy_phase phase; /* counted from the first call of this one */
};

static void kill_at(void *ctx, enum fa_copy_phase phase, const char *table, int64_t done,
                    int64_t total)
{
    struct killer *killer = ctx;

    if (phase < killer->phase)
        return;
    if (killer->calls++ == killer->kill_at)
        _exit(KILLED);
}

/* Copies in a process of its own that ends without a word at the nth look of a phase. True: it
 * did. */
static bool copy_and_die(struct fa_t *from, struct fa_t *to, enum fa_copy_phase phase, int n)
{
    int status;
    pid_t pid;

    fa_t_close(from);
    fa_t_close(to);
    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        struct killer killer = {.kill_at = n, .phase = phase};
        struct fa_copy_watch watch = {&killer, kill_at};
        struct fa_copy_report report;
        struct fa_arena arena = {0};
        struct faina_error err = {0};

        _exit(fa_service_copy(from->url, to->url, &watch, &arena, &report, &err) != FAINA_OK);
    }
    CHECK_TRUE(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    CHECK_TRUE(WEXITSTATUS(status) == KILLED || WEXITSTATUS(status) == 0);
    return WEXITSTATUS(status) == KILLED;
}

static void check_closed(struct fa_t *t)
{
    struct faina_error err;

    CHECK_INT(fa_t_try_open(t, &err), FAINA_UNAVAILABLE);
    CHECK(strstr(err.message, "copy") != NULL, "it says: %s", err.message);
}

/* Each run is killed a little later than the last; so all steps are, and all but the last run go
 * on with a copy that was begun. */
static void kill_everywhere(struct fa_t *from, struct fa_t *to)
{
    int kills = 0;

    while (copy_and_die(from, to, FA_COPY_WRITING, kills)) {
        check_closed(to);
        kills++;
        CHECK_TRUE(kills < 1000);
    }
    CHECK(kills > (int)fa_copy_table_count, "only %d steps", kills);
    check_same(from, to);
}

static void test_copy__killed_at_each_step(void **state)
{
    struct world *world = *state;

    fa_psql_need_engine();
    fill(world);
    fa_t_open(&world->file);
    fill_many(world);
    kill_everywhere(&world->file, &world->server);
    kill_everywhere(&world->server, &world->back);
}

static void test_copy__killed_and_resumed(void **state)
{
    struct world *world = *state;
    struct fa_copy_report report;

    fa_psql_need_engine();
    fill(world);
    CHECK_TRUE(copy_and_die(&world->file, &world->server, FA_COPY_READING, 3));
    CHECK_TRUE(copy_and_die(&world->file, &world->server, FA_COPY_WRITING, 9));
    CHECK_OK(&world->file, copy(&world->file, &world->server, &report));
    CHECK_TRUE(report.is_resumed && !report.is_restarted);
    check_same(&world->file, &world->server);
}

/* A half copy of another state of the source would be of no use to anybody. */
static void test_copy__the_source_has_changed(void **state)
{
    struct world *world = *state;
    struct fa_copy_report report;

    fa_psql_need_engine();
    fill(world);
    CHECK_TRUE(copy_and_die(&world->file, &world->server, FA_COPY_WRITING, 9));
    fa_t_open(&world->file);
    fa_t_finish_task(&world->file, by_key(&world->file, "needed", "needed"));
    CHECK_OK(&world->file, copy(&world->file, &world->server, &report));
    CHECK_TRUE(report.is_restarted && !report.is_resumed);
    check_same(&world->file, &world->server);

    CHECK_TRUE(copy_and_die(&world->server, &world->back, FA_COPY_WRITING, 9));
    fa_t_open(&world->server);
    fa_t_submit(&world->server, .type = "one more");
    CHECK_OK(&world->server, copy(&world->server, &world->back, &report));
    CHECK_TRUE(report.is_restarted && !report.is_resumed);
    check_same(&world->server, &world->back);
}

/* ------------------------------------------------------------------------------------------
 * Compared
 */

static void test_copy__a_difference_is_found(void **state)
{
    static const char *const damages[][2] = {
        {"task", "UPDATE task SET input = '{\"other\":1}' WHERE id = (SELECT max(id) FROM task)"},
        {"ended", "UPDATE ended SET completed_us = completed_us + 1"
                  " WHERE id = (SELECT max(id) FROM ended)"},
        {"event", "DELETE FROM event WHERE task = (SELECT max(task) FROM event)"},
        {"lane", "UPDATE lane SET namespace = 'x' WHERE id = (SELECT max(id) FROM lane)"},
        {"hold", "DELETE FROM hold"},
        {"task_key", "UPDATE task_key SET task = task + 1"
                     " WHERE hash = (SELECT max(hash) FROM task_key)"},
    };
    struct world *world = *state;
    PGconn *raw = NULL;

    fa_psql_need_engine();
    fill(world);
    for (size_t i = 0; i < FA_COUNT(damages); i++) {
        struct fa_copy_report report;

        fa_psql_drop_schema(world->server.url);
        CHECK_TRUE(copy_and_die(&world->file, &world->server, FA_COPY_CHECKING, 0));
        raw = fa_psql_connect(world->server.url);
        fa_psql_exec(raw, "%s", damages[i][1]);
        fa_psql_close(raw);
        /* Found at once it is mended at once; found in the end, by the next run. */
        if (copy(&world->file, &world->server, &report) != FAINA_OK) {
            check_closed(&world->server);
            CHECK_OK(&world->file, copy(&world->file, &world->server, &report));
        }
        CHECK(report.is_restarted, "%s: not found", damages[i][0]);
        check_same(&world->file, &world->server);
    }
}

static void test_copy__no_table_is_forgotten(void **state)
{
    struct world *world = *state;
    char names[FA_PSQL_TEXT_SIZE];
    PGconn *raw;

    fa_psql_need_engine();
    fa_t_open(&world->server);
    fa_t_close(&world->server);
    raw = fa_psql_connect(world->server.url);
    fa_psql_text(raw, names,
                 "SELECT string_agg(relname, ' ') FROM pg_class WHERE relkind IN ('r', 'p')"
                 " AND NOT relispartition AND relnamespace = current_schema()::regnamespace");
    fa_psql_close(raw);
    CHECK_TRUE(strstr(names, "task_dep") != NULL);
    for (char *save, *name = strtok_r(names, " ", &save); name; name = strtok_r(NULL, " ", &save)) {
        bool is_known = false;

        for (size_t i = 0; i < fa_copy_table_count; i++)
            is_known |= strcmp(name, fa_copy_tables[i].name) == 0;
        for (size_t i = 0; fa_copy_left_out[i] != NULL; i++)
            is_known |= strcmp(name, fa_copy_left_out[i]) == 0;
        CHECK(is_known, "the table %s is neither copied nor left out", name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_copy__everything_is_there, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_copy__the_engine_goes_on, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_copy__into_what_is_not_empty, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_copy__into_what_somebody_uses, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_copy__killed_at_each_step, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_copy__killed_and_resumed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_copy__the_source_has_changed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_copy__a_difference_is_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_copy__no_table_is_forgotten, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
