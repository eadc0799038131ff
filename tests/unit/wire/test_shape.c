/*
 * test_shape.c - objects by table, and the tables of answers.c: what is written reads back.
 */
#include "unit/base/unit.h"

#include "wire/wire.h"

static struct fa_arena arena;

static const char *written(const struct fa_shape *shape, const void *from)
{
    struct fa_json_writer w;
    struct fa_buf buf;
    const char *text;

    fa_buf_init(&buf, 100000);
    fa_json_writer_init(&w, &buf, 0);
    fa_shape_put(&w, shape, from);
    text = fa_arena_copy(&arena, buf.ptr, buf.len);
    fa_buf_finish(&buf);
    return text;
}

static enum faina_code read_back(const char *text, const struct fa_shape *shape, void *out,
                                 struct faina_error *err)
{
    enum faina_code code = fa_json_check(fa_str(text), 80, "text", FAINA_INVALID_REQUEST, err);

    check_int(text, code, FAINA_OK);
    return fa_shape_read(fa_json_value(fa_str(text)), shape, &arena, out, err);
}

/* Written, read and written again it is the same text. */
static void check_round(const char *name, const struct fa_shape *shape, const void *from,
                        void *again)
{
    const char *text = written(shape, from);
    struct faina_error err = {0};

    check_int(err.message, read_back(text, shape, again, &err), FAINA_OK);
    check_str(name, written(shape, again), text);
}

static void test_shape__tasks(void **state)
{
    static const char *const ids[] = {"a", "b"};
    struct faina_task tasks[] = {
        {.id = "0190c4a2-6f1e-7b3d-8a5c-1f2e3d4c5b6a", .ns = "n", .type = "t", .name = "\"x\" é"},
        {.id = "2",
         .ns = "n",
         .type = "t",
         .name = "x",
         .status = FAINA_DEAD_LETTER,
         .phase = FAINA_PHASE_ERROR,
         .state = "Done\n",
         .progress = 100,
         .priority = -32768,
         .input = "{\"a\":[1,2.50]}",
         .output = "null",
         .error = "{\"message\":\"no\"}",
         .metadata = "[]",
         .spec = "\"s\"",
         .idempotency_key = "k",
         .input_hash = "ff",
         .attempts = 3,
         .max_attempts = 4,
         .run_at_us = 1700000000123456,
         .worker_id = "w",
         .lease_expires_us = 1,
         .fence = INT64_MAX,
         .parent_id = "p",
         .depends_on = ids,
         .depends_on_count = 2,
         .resources = ids,
         .resource_count = 1,
         .retry = {.base_ms = 1500, .factor = 1.1, .max_ms = 3600000},
         .expires_us = 2,
         .team_id = "t",
         .created_by = "me",
         .version = 7,
         .created_us = 3,
         .updated_us = 4,
         .claimed_us = 5,
         .started_us = 6,
         .completed_us = 7,
         .deleted_us = 8,
         .existing = true,
         .input_mismatch = true,
         .cancelled_count = 9},
    };
    struct faina_tasks list = {.count = 2, .items = tasks, .next_cursor = "c"}, again = {0};

    (void)state;
    check_round("tasks", &fa_shape_tasks, &list, &again);
    check_int("count", (int64_t)again.count, 2);
    check_str("the value null", again.items[1].output, "null");
    check_true("unset", again.items[0].output == NULL && again.items[0].retry.base_ms == 0);
    check_true("exact", again.items[1].fence == INT64_MAX && again.items[1].retry.factor == 1.1);
}

static void test_shape__the_rest(void **state)
{
    static const char *const names[] = {"a"};
    struct faina_event event = {.id = "00000000-0000-8017-a000-000000000001",
                                .at_us = 5,
                                .what = "claimed",
                                .status = FAINA_CLAIMED,
                                .actor = FAINA_ACTOR_SYSTEM};
    struct faina_events events = {1, &event}, events_again = {0};
    struct faina_worker workers[] = {{.id = "w", .services = names},
                                     {.id = "v", .types = names, .type_count = 1, .held = 2}};
    struct faina_workers list = {2, workers}, list_again = {0};
    struct faina_resource resources[] = {{.name = "a", .max_concurrency = -1},
                                         {.name = "b", .max_concurrency = 0, .in_use = 1}};
    struct faina_resources limits = {2, resources}, limits_again = {0};
    struct faina_count count = {.ns = "n", .type = "t", .is_paused = true, .by_status = {1, 2}};
    struct faina_stats stats = {.by_status = {3}, .count = 1, .types = &count}, stats_again = {0};

    (void)state;
    check_round("events", &fa_shape_events, &events, &events_again);
    check_round("workers", &fa_shape_workers, &list, &list_again);
    check_true("none is not all", list_again.items[0].services && !list_again.items[1].services);
    check_round("resources", &fa_shape_resources, &limits, &limits_again);
    check_int("no limit", limits_again.items[0].max_concurrency, -1);
    check_int("none at all", limits_again.items[1].max_concurrency, 0);
    check_round("stats", &fa_shape_stats, &stats, &stats_again);
}

static void test_shape__what_does_not_fit(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"[]", "the team is no object"},
        {"{}", "the team has no id"},
        {"{\"id\":\"1\",\"name\":\"x\"}", "the team has no namespace"},
        {"{\"id\":1}", "the team's id is invalid: 1"},
        {"{\"id\":\"1234567890123456789012345678901234567\"}",
         "the team's id is invalid: \"1234567890123456789012345678901234567\""},
        {"{\"id\":null,\"name\":\"x\",\"namespace\":\"n\"}", "the team has no id"},
        {"{\"createdAt\":\"now\"}", "the team's createdAt is invalid: \"now\""},
        {"{\"createdAt\":5}", "the team's createdAt is invalid: 5"},
        {"{\"id\":\"1\",\"name\":\"x\",\"namespace\":\"n\",\"later\":[{}]}", NULL},
        {"{\"namespace\":\"n\",\"name\":\"x\",\"id\":\"1\"}", NULL},
    };

    (void)state;
    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        struct faina_team team = {0};
        struct faina_error err = {0};
        enum faina_code code = read_back(cases[i].text, &fa_shape_team, &team, &err);

        check_int(cases[i].text, code, cases[i].message ? FAINA_INTERNAL : FAINA_OK);
        check_str(cases[i].text, err.message, cases[i].message ? cases[i].message : "");
    }
}

static void test_shape__problems(void **state)
{
    struct faina_error error = {.code = FAINA_INVALID_TASK,
                                .line = 3,
                                .column = 9,
                                .field = "input",
                                .message = "input: no"};
    struct faina_error again;
    struct fa_json_writer w;
    struct fa_buf buf;

    (void)state;
    fa_buf_init(&buf, 1000);
    fa_json_writer_init(&w, &buf, 0);
    fa_wire_put_problem(&w, &error);
    check_true("a problem", fa_wire_read_problem(fa_json_value(fa_str(buf.ptr)), &arena, &again));
    check_int("code", again.code, error.code);
    check_str("message", again.message, error.message);
    check_str("field", again.field, error.field);
    check_int("line", again.line, 3);
    check_int("column", again.column, 9);
    check_true("no status", !fa_wire_read_problem(fa_json_value(FA_LIT("{\"code\":\"internal\"}")),
                                                  &arena, &again));
    check_true("of a newer server",
               fa_wire_read_problem(fa_json_value(FA_LIT("{\"code\":\"x\",\"status\":404}")),
                                    &arena, &again));
    check_int("by its status", again.code, FAINA_NOT_FOUND);
    fa_buf_finish(&buf);
}

static void test_shape__submits(void **state)
{
    static const char *const ids[] = {"0190c4a2-6f1e-7b3d-8a5c-1f2e3d4c5b6a"};
    const struct faina_submit submits[] = {
        {.type = "t"},
        {.ns = "n",
         .type = "t",
         .name = "x",
         .input = "null",
         .metadata = "{}",
         .spec = "null",
         .priority = -3,
         .max_attempts = FAINA_UNLIMITED,
         .delay_ms = 90001,
         .idempotency_key = "k",
         .depends_on = ids,
         .depends_on_count = 1,
         .resources = ids,
         .resource_count = 1,
         .retry = {.max_ms = 5},
         .team_id = "t",
         .created_by = "me"},
        {.type = "t", .dedupe_input = true, .run_at_us = 1700000000123456, .max_attempts = 7},
    };

    (void)state;
    for (size_t i = 0; i < FA_COUNT(submits); i++) {
        struct faina_submit again = {0};
        struct faina_error err = {0};
        struct fa_buf one, two;
        struct fa_json_writer w;

        fa_buf_init(&one, 10000);
        fa_buf_init(&two, 10000);
        fa_json_writer_init(&w, &one, 0);
        fa_wire_put_submit(&w, &submits[i]);
        check_int(one.ptr, fa_wire_read_submit(fa_str(one.ptr), &arena, &again, &err), FAINA_OK);
        fa_json_writer_init(&w, &two, 0);
        fa_wire_put_submit(&w, &again);
        check_str("again", two.ptr, one.ptr);
        check_int("attempts", again.max_attempts, submits[i].max_attempts);
        check_int("delay", again.delay_ms, submits[i].delay_ms);
        check_str("input", again.input ? again.input : "",
                  submits[i].input ? submits[i].input : "");
        fa_buf_finish(&one);
        fa_buf_finish(&two);
    }
}

static int finish(void **state)
{
    (void)state;
    fa_arena_finish(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shape__tasks),
        cmocka_unit_test(test_shape__the_rest),
        cmocka_unit_test(test_shape__what_does_not_fit),
        cmocka_unit_test(test_shape__problems),
        cmocka_unit_test(test_shape__submits),
    };

    return cmocka_run_group_tests(tests, NULL, finish);
}
