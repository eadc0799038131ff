/*
 * test_views.c - the views for people say what the engine says.
 *
 * They are read with the sqlite3 library alone, as the sqlite3 program would.
 */
#include "support/ops.h"
#include "support/raw.h"

#include "model/times.h"

#include <setjmp.h>
#include <stdlib.h>

#include <cmocka.h>

static void set_up(struct fa_t *t)
{
    fa_t_init(t);
    snprintf(t->url, sizeof(t->url), "sqlite:%s/v.db", t->dir);
    fa_t_open(t);
}

/* One column of the row of a view. */
static const char *column(struct fa_t *t, sqlite3 *raw, const char *name, const char *from)
{
    return raw_text(raw, fa_arena_printf(&t->arena, "SELECT %s FROM %s", name, from), &t->arena);
}

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

/* The views have milliseconds; the engine has microseconds, and 0 for no time. */
static void check_time(const char *got, int64_t want_us, const char *what)
{
    struct faina_error err = {0};
    int64_t us = 0;

    if (want_us == 0) {
        CHECK(got[0] == '\0', "%s is %s, wanted none", what, got);
        return;
    }
    CHECK(fa_time_parse(got, what, &us, &err) == FAINA_OK, "%s: %s", what, err.message);
    CHECK(llabs((long long)(us - want_us)) <= 1000, "%s is %s, which is not %lld", what, got,
          (long long)want_us);
}

/* ------------------------------------------------------------------------------------------
 * tasks
 */

static const char *array_of(struct fa_t *t, const char *const *items, size_t count)
{
    const char *text = "[";

    for (size_t i = 0; i < count; i++)
        text = fa_arena_printf(&t->arena, "%s%s\"%s\"", text, i > 0 ? "," : "", items[i]);
    return fa_arena_printf(&t->arena, "%s]", text);
}

static void check_texts(struct fa_t *t, sqlite3 *raw, const struct faina_task *task,
                        const char *from)
{
    const struct {
        const char *name, *want;
    } cases[] = {
        {"namespace", task->ns},
        {"type", task->type},
        {"name", task->name},
        {"status", faina_status_name(task->status)},
        {"input", task->input},
        {"output", task->output},
        {"error", task->error},
        {"metadata", task->metadata},
        {"spec", task->spec},
        {"idempotency_key", task->idempotency_key},
        {"input_hash", task->input_hash},
        {"worker_id", task->worker_id},
        {"parent_id", task->parent_id},
        {"team_id", task->team_id},
        {"created_by", task->created_by},
        {"resources", array_of(t, task->resources, task->resource_count)},
        {"depends_on", array_of(t, task->depends_on, task->depends_on_count)},
    };
    const char *words = column(t, raw, "state", from);

    for (size_t i = 0; i < FA_COUNT(cases); i++)
        CHECK(strcmp(column(t, raw, cases[i].name, from), or_empty(cases[i].want)) == 0,
              "%s of a %s task is %s, wanted %s", cases[i].name, faina_status_name(task->status),
              column(t, raw, cases[i].name, from), or_empty(cases[i].want));
    if (words[0] != '\0') /* null: the status's own words, which only the engine knows */
        CHECK_STR(words, task->state);
}

static void check_numbers(struct fa_t *t, sqlite3 *raw, const struct faina_task *task,
                          const char *from)
{
    const struct {
        const char *name;
        int64_t want;
    } cases[] = {
        {"progress", task->progress}, {"priority", task->priority},
        {"attempts", task->attempts}, {"max_attempts", task->max_attempts},
        {"version", task->version},   {"fence", task->fence},
    };
    const struct {
        const char *name;
        int64_t want_us;
    } times[] = {
        {"run_at", task->run_at_us},      {"lease_expires_at", task->lease_expires_us},
        {"expires_at", task->expires_us}, {"created_at", task->created_us},
        {"updated_at", task->updated_us}, {"claimed_at", task->claimed_us},
        {"started_at", task->started_us}, {"completed_at", task->completed_us},
        {"deleted_at", task->deleted_us},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++)
        CHECK(strtoll(column(t, raw, cases[i].name, from), NULL, 10) == cases[i].want,
              "%s of a %s task is %s, wanted %lld", cases[i].name, faina_status_name(task->status),
              column(t, raw, cases[i].name, from), (long long)cases[i].want);
    for (size_t i = 0; i < FA_COUNT(times); i++)
        check_time(column(t, raw, times[i].name, from), times[i].want_us, times[i].name);
}

/* ------------------------------------------------------------------------------------------
 * task_events and task_results
 */

/* Whether one of these times, a line each, is the event's. */
static bool is_among(const char *times, int64_t at_us)
{
    while (*times != '\0') {
        struct faina_error err = {0};
        int64_t us = 0;
        char one[64];
        size_t len = strcspn(times, "\n");

        snprintf(one, sizeof(one), "%.*s", (int)len, times);
        CHECK(fa_time_parse(one, "created_at", &us, &err) == FAINA_OK, "%s", err.message);
        if (llabs((long long)(us - at_us)) <= 1000)
            return true;
        times += len + (times[len] == '\n');
    }
    return false;
}

/* Milliseconds don't order what happened within one, so each event is looked for by itself. */
static void check_events(struct fa_t *t, sqlite3 *raw, const char *id)
{
    static const char *const actors[] = {"API", "WORKER", "SYSTEM"};
    const struct faina_events *events;

    CHECK_OK(t, fa_t_events(t, id, 100));
    events = t->op.events;
    CHECK_STR(column(t, raw, "count(*)",
                     fa_arena_printf(&t->arena, "task_events WHERE task_id = '%s'", id)),
              fa_arena_printf(&t->arena, "%zu", events->count));
    for (size_t i = 0; i < events->count; i++) {
        const struct faina_event *event = &events->items[i];
        char *sql = sqlite3_mprintf(
            "SELECT created_at FROM task_events WHERE task_id = %Q AND "
            "id = %Q AND what = %Q AND status = %Q AND actor = %Q AND state IS %Q AND "
            "worker_id IS %Q AND detail IS %Q",
            id, event->id, event->what, faina_status_name(event->status), actors[event->actor],
            event->state, event->worker_id, event->detail);
        const char *times = raw_text(raw, sql, &t->arena);

        CHECK(is_among(times, event->at_us), "the view has no %s (by %s, state %s) of %s: %s",
              event->what, actors[event->actor], or_empty(event->state), id, times);
        sqlite3_free(sql);
    }
}

static void check_result(struct fa_t *t, sqlite3 *raw, const struct faina_task *task)
{
    const char *from = fa_arena_printf(&t->arena, "task_results WHERE task_id = '%s'", task->id);

    CHECK_STR(column(t, raw, "count(*)", from), task->output ? "1" : "0");
    if (task->output == NULL)
        return;
    CHECK_STR(column(t, raw, "payload", from), task->output);
    check_time(column(t, raw, "created_at", from), task->completed_us, "created_at");
}

static void check_views(struct fa_t *t, const char *id)
{
    const char *from = fa_arena_printf(&t->arena, "tasks WHERE id = '%s'", id);
    struct faina_task *task = fa_t_task(t, id);
    sqlite3 *raw = raw_open(t->url + strlen("sqlite:"));

    CHECK_STR(column(t, raw, "count(*)", from), "1");
    check_texts(t, raw, task, from);
    check_numbers(t, raw, task, from);
    check_result(t, raw, task);
    check_events(t, raw, id);
    raw_close(raw);
}

static void test_views__every_status_is_told_as_the_engine_tells_it(void **state)
{
    struct fa_t t;

    set_up(&t);
    for (int status = 0; status < FAINA_STATUS_COUNT; status++)
        check_views(&t, fa_t_make(&t, (enum faina_status)status, "w1"));
    fa_t_finish(&t);
}

static void test_views__every_field_is_shown(void **state)
{
    static const char *const names[] = {"gpu", "disk"};
    const char *id, *needs[2];
    struct fa_t t;

    set_up(&t);
    id = fa_t_submit(&t, .ns = "n", .type = "t", .name = "caf\xc3\xa9 'x'", .input = "{\"a\": 1}",
                     .metadata = "{\"m\":1}", .spec = "{\"s\":[]}", .priority = -7,
                     .max_attempts = 9, .idempotency_key = "k\"1", .resources = names,
                     .resource_count = 2, .created_by = "ann");
    check_views(&t, id);
    check_views(&t, fa_t_submit(&t, .type = "u", .dedupe_input = true, .input = "[1,2]",
                                .delay_ms = 3600000, .max_attempts = FAINA_UNLIMITED));
    needs[1] = id;
    needs[0] = fa_t_submit(&t, .type = "v", .depends_on = &id, .depends_on_count = 1);
    check_views(&t, needs[0]);
    check_views(&t, fa_t_submit(&t, .type = "v", .depends_on = needs, .depends_on_count = 2));
    fa_t_finish(&t);
}

static void test_views__the_team_is_told_while_it_is_there(void **state)
{
    struct faina_team team = {.name = "crew"};
    struct fa_t t;
    const char *id, *team_id;

    set_up(&t);
    CHECK_OK(&t, fa_t_team_put(&t, &team));
    team_id = fa_arena_strdup(&t.arena, t.op.team_answer->id);
    id = fa_t_submit(&t, .type = "t", .team_id = team_id);
    CHECK_STR(fa_t_task(&t, id)->team_id, team_id);
    check_views(&t, id);
    CHECK_OK(&t, fa_t_team_remove(&t, team_id));
    CHECK_STR(fa_t_task(&t, id)->team_id, "");
    check_views(&t, id);
    fa_t_finish(&t);
}

/* A task that came round: what the row forgot is in `event`, what it knows is not. */
static void test_views__a_long_life_is_told_as_the_engine_tells_it(void **state)
{
    static const struct faina_report report = {
        .has_progress = true, .progress = 30, .state = "half way", .metadata = "{\"x\":1}"};
    struct faina_submit children[2] = {{.type = "c", .name = "one"}, {.type = "c"}};
    struct fa_t t;
    const char *id;

    set_up(&t);
    id = fa_t_submit(&t, .type = "long", .max_attempts = 9);
    CHECK_OK(&t, fa_t_claim(&t, id, "w1"));
    CHECK_OK(&t, fa_t_release(&t, id, BY("w1")));
    check_views(&t, id);
    fa_t_take(&t, id, "w2");
    CHECK_OK(&t, fa_t_report(&t, id, BY("w2"), &report));
    check_views(&t, id);
    CHECK_OK(&t, fa_t_fail_attempt(&t, id, BY("w2"), "once"));
    check_views(&t, id); /* parked until it is tried again */
    fa_t_take(&t, id, "w3");
    CHECK_OK(&t, fa_t_block(&t, id, BY("w3"), children, 2));
    check_views(&t, id);
    check_views(&t, fa_t_child(&t, id, 0));
    fa_t_finish_task(&t, fa_t_child(&t, id, 0));
    fa_t_finish_task(&t, fa_t_child(&t, id, 1));
    check_views(&t, id);
    CHECK_OK(&t, fa_t_start(&t, id, NOBODY)); /* by hand, without a worker */
    check_views(&t, id);
    CHECK_OK(&t, fa_t_fail_final(&t, id, NOBODY, "for good"));
    check_views(&t, id);
    CHECK_OK(&t, fa_t_retry(&t, id, NOBODY));
    check_views(&t, id);
    fa_t_take(&t, id, "w4");
    CHECK_OK(&t, fa_t_background(&t, id, BY("w4"), 60000));
    check_views(&t, id);
    CHECK_OK(&t, fa_t_complete(&t, id, NOBODY, "{\"done\": true}"));
    check_views(&t, id);
    fa_t_finish(&t);
}

static void test_views__a_child_of_a_purged_parent_has_none(void **state)
{
    struct fa_t t;
    const char *id, *child;

    set_up(&t);
    id = fa_t_make(&t, FAINA_BLOCKED, "w");
    child = fa_t_child(&t, id, 0);
    fa_t_finish_task(&t, child);
    CHECK_OK(&t, fa_t_cancel(&t, id, NOBODY));
    check_views(&t, child);
    CHECK_OK(&t, fa_t_delete_with(&t, id, NOBODY, (struct faina_removal){.purge = true}));
    CHECK_STR(fa_t_task(&t, child)->parent_id, "");
    check_views(&t, child);
    fa_t_finish(&t);
}

static void test_views__deleted_tasks_are_marked(void **state)
{
    struct fa_t t;
    const char *id;
    sqlite3 *raw;

    set_up(&t);
    id = fa_t_make(&t, FAINA_COMPLETED, "w");
    CHECK_OK(&t, fa_t_delete(&t, id));
    raw = raw_open(t.url + strlen("sqlite:"));
    CHECK_INT(raw_int(raw, "SELECT count(*) FROM tasks WHERE deleted_at IS NULL"), 0);
    CHECK_INT(raw_int(raw, "SELECT count(*) FROM tasks WHERE deleted_at IS NOT NULL"), 1);
    raw_close(raw);
    fa_t_finish(&t);
}

static void test_views__workers_are_shown_as_the_engine_lists_them(void **state)
{
    static const char *const types[] = {"a", "b"};
    struct faina_worker self = {.id = "w", .hostname = "h", .pool_size = 4, .types = types};
    const struct faina_worker *worker;
    struct fa_t t;
    sqlite3 *raw;

    set_up(&t);
    self.type_count = 2;
    fa_t_make(&t, FAINA_RUNNING, "w");
    fa_t_make(&t, FAINA_CLAIMED, "w");
    CHECK_OK(&t,
             fa_t_run(&t, &(struct fa_op){.kind = FA_OP_WORKER_PUT, .worker = {.self = &self}}));
    CHECK_OK(&t, fa_t_run(&t, &(struct fa_op){.kind = FA_OP_WORKER_LIST, .id = "w"}));
    worker = &t.op.workers->items[0];
    raw = raw_open(t.url + strlen("sqlite:"));
    CHECK_STR(column(&t, raw, "id, hostname, pool_size, types, services, version, is_leader, held",
                     "workers"),
              "w|h|4|[\"a\",\"b\"]|||1|2");
    check_time(column(&t, raw, "started_at", "workers"), worker->started_us, "started_at");
    check_time(column(&t, raw, "last_heartbeat", "workers"), worker->last_heartbeat_us,
               "last_heartbeat");
    check_time(column(&t, raw, "leader_until", "workers"), worker->leader_until_us, "leader_until");
    raw_close(raw);
    fa_t_finish(&t);
}

/* The names in the view status_name are those of faina.h. */
static void test_views__statuses_have_their_names(void **state)
{
    struct fa_t t;
    sqlite3 *raw;

    set_up(&t);
    raw = raw_open(t.url + strlen("sqlite:"));
    CHECK_INT(raw_int(raw, "SELECT count(*) FROM status_name"), FAINA_STATUS_COUNT);
    for (int i = 0; i < FAINA_STATUS_COUNT; i++)
        CHECK_STR(
            raw_text(raw,
                     fa_arena_printf(&t.arena, "SELECT name FROM status_name WHERE status = %d", i),
                     &t.arena),
            faina_status_name((enum faina_status)i));
    raw_close(raw);
    fa_t_finish(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_views__every_status_is_told_as_the_engine_tells_it),
        cmocka_unit_test(test_views__every_field_is_shown),
        cmocka_unit_test(test_views__the_team_is_told_while_it_is_there),
        cmocka_unit_test(test_views__a_long_life_is_told_as_the_engine_tells_it),
        cmocka_unit_test(test_views__a_child_of_a_purged_parent_has_none),
        cmocka_unit_test(test_views__deleted_tasks_are_marked),
        cmocka_unit_test(test_views__workers_are_shown_as_the_engine_lists_them),
        cmocka_unit_test(test_views__statuses_have_their_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
