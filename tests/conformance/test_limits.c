/*
 * test_limits.c - every limit of model/limits.h, at the limit and one beyond.
 */
#include "support/ops.h"

#include "model/limits.h"

#include <stdlib.h>

/* `size` bytes of text. */
static const char *text_of(struct fa_t *t, size_t size)
{
    char *text = fa_arena_take(&t->arena, size + 1);

    memset(text, 'a', size);
    text[size] = '\0';
    return text;
}

/* A JSON object of exactly `size` bytes. */
static const char *object_of(struct fa_t *t, size_t size)
{
    return fa_arena_printf(&t->arena, "{\"a\":\"%s\"}", text_of(t, size - 8));
}

/* Arrays within arrays. */
static const char *nested(struct fa_t *t, size_t depth)
{
    char *text = fa_arena_take(&t->arena, 2 * depth + 1);

    memset(text, '[', depth);
    memset(text + depth, ']', depth);
    text[2 * depth] = '\0';
    return text;
}

/* ------------------------------------------------------------------------------------------
 * Submit
 */

static void check_text_limit(struct fa_t *t, size_t offset, size_t max, const char *field)
{
    for (size_t over = 0; over < 2; over++) {
        struct faina_submit submit = {.type = "x"};
        const char *text = text_of(t, max + over);

        memcpy((char *)&submit + offset, &text, sizeof text);
        CHECK(fa_t_submit_code(t, &submit) == (over ? FAINA_INVALID_TASK : FAINA_OK),
              "%s of %zu bytes: %s", field, max + over, faina_code_name(t->op.code));
        if (over)
            CHECK_STR(t->op.error.field, field);
    }
}

static void test_limits__names_of_a_submit(struct fa_t *t)
{
    check_text_limit(t, offsetof(struct faina_submit, type), FA_TYPE_SIZE_MAX, "type");
    check_text_limit(t, offsetof(struct faina_submit, name), FA_NAME_SIZE_MAX, "name");
    check_text_limit(t, offsetof(struct faina_submit, ns), FA_NAMESPACE_SIZE_MAX, "namespace");
    check_text_limit(t, offsetof(struct faina_submit, created_by), FA_CREATED_BY_SIZE_MAX,
                     "createdBy");
    check_text_limit(t, offsetof(struct faina_submit, idempotency_key), FA_KEY_SIZE_MAX,
                     "idempotencyKey");
    CHECK_OK(t, fa_t_get_by_key(t, NULL, "x", text_of(t, FA_KEY_SIZE_MAX)));
    CHECK_INT(strlen(t->task->idempotency_key), FA_KEY_SIZE_MAX);
    CHECK_CODE(t, fa_t_get_by_key(t, NULL, "x", text_of(t, FA_KEY_SIZE_MAX + 1)),
               FAINA_INVALID_REQUEST);
}

static void check_json_limit(struct fa_t *t, size_t offset, size_t max, const char *field)
{
    for (size_t over = 0; over < 2; over++) {
        struct faina_submit submit = {.type = "x"};
        const char *json = object_of(t, max + over);

        memcpy((char *)&submit + offset, &json, sizeof json);
        CHECK(fa_t_submit_code(t, &submit) == (over ? FAINA_PAYLOAD_TOO_LARGE : FAINA_OK),
              "%s of %zu bytes: %s", field, max + over, faina_code_name(t->op.code));
        if (over)
            CHECK_STR(t->op.error.field, field);
    }
}

static void test_limits__json_of_a_submit(struct fa_t *t)
{
    check_json_limit(t, offsetof(struct faina_submit, input), FA_INPUT_SIZE_DEFAULT, "input");
    check_json_limit(t, offsetof(struct faina_submit, metadata), FA_METADATA_SIZE_MAX, "metadata");
    check_json_limit(t, offsetof(struct faina_submit, spec), FA_SPEC_SIZE_MAX, "spec");
    CHECK_OK(t, fa_t_list(t, .limit = 10));
    CHECK_INT(t->op.tasks->count, 3);
    CHECK_INT(strlen(t->op.tasks->items[2].input), FA_INPUT_SIZE_DEFAULT);
}

static void test_limits__input_size_is_an_option(struct fa_t *t)
{
    fa_t_close(t);
    t->options.input_size_max = 100;
    fa_t_open(t);
    CHECK_OK(t, fa_t_try_submit(t, .type = "x", .input = object_of(t, 100)));
    CHECK_CODE(t, fa_t_try_submit(t, .type = "x", .input = object_of(t, 101)),
               FAINA_PAYLOAD_TOO_LARGE);
    fa_t_close(t);
    t->options.input_size_max = 2 * FA_INPUT_SIZE_DEFAULT;
    fa_t_open(t);
    CHECK_OK(t, fa_t_try_submit(t, .type = "x", .input = object_of(t, 2 * FA_INPUT_SIZE_DEFAULT)));
}

static void test_limits__json_depth(struct fa_t *t)
{
    const char *id = fa_t_make(t, FAINA_RUNNING, "w");

    CHECK_OK(t, fa_t_try_submit(t, .type = "x", .input = nested(t, FA_JSON_DEPTH_MAX)));
    CHECK_CODE(t, fa_t_try_submit(t, .type = "x", .input = nested(t, FA_JSON_DEPTH_MAX + 1)),
               FAINA_INVALID_TASK);
    CHECK_INT(t->op.error.line, 1);
    CHECK_INT(t->op.error.column, FA_JSON_DEPTH_MAX + 1);
    CHECK_CODE(t, fa_t_complete(t, id, BY("w"), nested(t, FA_JSON_DEPTH_MAX + 1)),
               FAINA_INVALID_REQUEST);
    CHECK_CODE(t, fa_t_complete(t, id, BY("w"), nested(t, 100000)), FAINA_INVALID_REQUEST);
    CHECK_OK(t, fa_t_complete(t, id, BY("w"), nested(t, FA_JSON_DEPTH_MAX)));
}

static void test_limits__numbers_of_a_submit(struct fa_t *t)
{
    const struct {
        struct faina_submit submit;
        const char *field; /* NULL: accepted */
    } cases[] = {
        {{.type = "x", .priority = FA_PRIORITY_MAX}, NULL},
        {{.type = "x", .priority = FA_PRIORITY_MIN}, NULL},
        {{.type = "x", .priority = FA_PRIORITY_MIN - 1}, "priority"},
        {{.type = "x", .max_attempts = FA_ATTEMPTS_MAX}, NULL},
        {{.type = "x", .max_attempts = FA_ATTEMPTS_MAX + 1}, "maxAttempts"},
        {{.type = "x", .max_attempts = -2}, "maxAttempts"},
        {{.type = "x", .delay_ms = FA_DURATION_MS_MAX}, NULL},
        {{.type = "x", .delay_ms = FA_DURATION_MS_MAX + 1}, "delay"},
        {{.type = "x", .delay_ms = -1}, "delay"},
        {{.type = "x", .run_at_us = -1}, "runAt"},
        {{.type = "x", .run_at_us = INT64_MAX}, "runAt"},
        {{.type = "x", .run_at_us = 1, .delay_ms = 1}, "runAt"},
        {{.type = "x", .retry = {.base_ms = -1}}, "retry.base"},
        {{.type = "x", .retry = {.base_ms = FA_DURATION_MS_MAX}}, NULL},
        {{.type = "x", .retry = {.base_ms = FA_DURATION_MS_MAX + 1}}, "retry.base"},
        {{.type = "x", .retry = {.max_ms = -1}}, "retry.max"},
        {{.type = "x", .retry = {.max_ms = FA_DURATION_MS_MAX + 1}}, "retry.max"},
        {{.type = "x", .retry = {.factor = 0.5}}, "retry.factor"},
        {{.type = "x", .retry = {.factor = -1}}, "retry.factor"},
        {{.type = "x", .retry = {.factor = 1}}, NULL},
        {{.type = "x", .retry = {.factor = 1e300}}, NULL},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        enum faina_code code = fa_t_submit_code(t, &cases[i].submit);

        CHECK(code == (cases[i].field ? FAINA_INVALID_TASK : FAINA_OK), "case %zu: %s (%s)", i,
              faina_code_name(code), t->op.error.message);
        if (cases[i].field)
            CHECK_STR(t->op.error.field, cases[i].field);
    }
}

/* However steep the policy, the wait after many attempts is a sane number. */
static void test_limits__backoff_never_overflows(struct fa_t *t)
{
    const char *id = fa_t_submit(
        t, .type = "x", .max_attempts = FAINA_UNLIMITED,
        .retry = {.base_ms = FA_DURATION_MS_MAX, .factor = 1e300, .max_ms = FA_DURATION_MS_MAX});

    for (int i = 0; i < 5; i++) {
        int64_t wait_us;

        CHECK_OK(t, fa_t_claim(t, id, "w"));
        CHECK_OK(t, fa_t_fail_attempt(t, id, BY("w"), "no"));
        wait_us = t->task->run_at_us - t->task->updated_us;
        CHECK(wait_us >= 0 && wait_us <= FA_DURATION_MS_MAX * 1000, "a wait of %lld us",
              (long long)wait_us);
    }
}

static void test_limits__resources_of_a_task(struct fa_t *t)
{
    const char *names[FA_RESOURCES_MAX + 1];

    for (size_t i = 0; i < FA_COUNT(names); i++)
        names[i] = fa_arena_printf(&t->arena, "r%02zu", i);
    CHECK_OK(
        t, fa_t_try_submit(t, .type = "x", .resources = names, .resource_count = FA_RESOURCES_MAX));
    CHECK_INT(t->task->resource_count, FA_RESOURCES_MAX);
    CHECK_CODE(
        t,
        fa_t_try_submit(t, .type = "x", .resources = names, .resource_count = FA_RESOURCES_MAX + 1),
        FAINA_INVALID_TASK);
    CHECK_STR(t->op.error.field, "resources");
    names[0] = text_of(t, FA_RESOURCE_NAME_SIZE_MAX);
    CHECK_OK(t, fa_t_try_submit(t, .type = "x", .resources = names, .resource_count = 1));
    names[0] = text_of(t, FA_RESOURCE_NAME_SIZE_MAX + 1);
    CHECK_CODE(t, fa_t_try_submit(t, .type = "x", .resources = names, .resource_count = 1),
               FAINA_INVALID_TASK);
}

static void test_limits__dependencies_of_a_task(struct fa_t *t)
{
    struct fa_op *ops = fa_arena_zero(&t->arena, FA_DEPENDS_ON_MAX + 1, sizeof *ops);
    const char **ids = fa_arena_zero(&t->arena, FA_DEPENDS_ON_MAX + 1, sizeof *ids);
    struct faina_submit submit = {.type = "x"};
    const char *id;

    for (size_t i = 0; i < FA_DEPENDS_ON_MAX + 1; i++)
        ops[i] = (struct fa_op){.kind = FA_OP_SUBMIT, .submit = &submit};
    fa_t_run_all(t, ops, FA_DEPENDS_ON_MAX + 1);
    for (size_t i = 0; i < FA_DEPENDS_ON_MAX + 1; i++)
        ids[i] = fa_arena_strdup(&t->arena, ops[i].task_id);
    CHECK_CODE(t,
               fa_t_try_submit(t, .type = "y", .depends_on = ids,
                               .depends_on_count = FA_DEPENDS_ON_MAX + 1),
               FAINA_INVALID_TASK);
    CHECK_STR(t->op.error.field, "dependsOn");
    id = fa_t_submit(t, .type = "y", .depends_on = ids, .depends_on_count = FA_DEPENDS_ON_MAX);
    CHECK_INT(t->task->depends_on_count, FA_DEPENDS_ON_MAX);
    for (size_t i = 0; i < FA_DEPENDS_ON_MAX; i++)
        ops[i] = (struct fa_op){.kind = FA_OP_CANCEL, .id = ids[i]};
    fa_t_run_all(t, ops, FA_DEPENDS_ON_MAX - 1);
    CHECK_NOW(t, id, FAINA_BLOCKED);
    fa_t_run_all(t, ops + FA_DEPENDS_ON_MAX - 1, 1);
    CHECK_NOW(t, id, FAINA_PENDING);
}

static void test_limits__batch(struct fa_t *t)
{
    struct fa_op *ops = fa_arena_zero(&t->arena, FA_BATCH_MAX, sizeof *ops);
    struct faina_submit submit = {.type = "x"};

    for (size_t i = 0; i < FA_BATCH_MAX; i++)
        ops[i] = (struct fa_op){.kind = FA_OP_SUBMIT, .submit = &submit};
    fa_t_run_all(t, ops, FA_BATCH_MAX);
    for (size_t i = 0; i < FA_BATCH_MAX; i++)
        CHECK_INT(ops[i].code, FAINA_OK);
    CHECK_OK(t, fa_t_stats(t, NULL));
    CHECK_INT(t->op.stats->by_status[FAINA_PENDING], FA_BATCH_MAX);
}

/* ------------------------------------------------------------------------------------------
 * Work
 */

static void test_limits__worker_id(struct fa_t *t)
{
    const char *fits = text_of(t, FA_WORKER_ID_SIZE_MAX);
    const char *over = text_of(t, FA_WORKER_ID_SIZE_MAX + 1);
    const char *id = fa_t_submit(t, .type = "x");

    CHECK_CODE(t, fa_t_claim(t, id, over), FAINA_INVALID_WORKER_ID);
    CHECK_CODE(t, fa_t_claim_next(t, .worker_id = over), FAINA_INVALID_WORKER_ID);
    CHECK_CODE(t, fa_t_start(t, id, BY(over)), FAINA_INVALID_WORKER_ID);
    CHECK_NOW(t, id, FAINA_PENDING);
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = fits));
    CHECK_INT(t->op.tasks->count, 1);
    CHECK_CODE(t, fa_t_heartbeat(t, id, BY(over), 0), FAINA_INVALID_WORKER_ID);
    CHECK_CODE(t, fa_t_complete(t, id, BY(over), NULL), FAINA_INVALID_WORKER_ID);
    CHECK_OK(t, fa_t_complete(t, id, BY(fits), NULL));
}

static void test_limits__claim(struct fa_t *t)
{
    for (int i = 0; i < 3; i++)
        fa_t_submit(t, .type = "x");
    CHECK_CODE(t, fa_t_claim_next(t, .worker_id = "w", .limit = FA_CLAIM_LIMIT_MAX + 1),
               FAINA_INVALID_REQUEST);
    CHECK_CODE(t, fa_t_claim_next(t, .worker_id = "w", .limit = -1), FAINA_INVALID_REQUEST);
    CHECK_CODE(t, fa_t_claim_next(t, .worker_id = "w", .lease_ms = FA_LEASE_MS_MAX + 1),
               FAINA_INVALID_REQUEST);
    CHECK_CODE(t, fa_t_claim_next(t, .worker_id = "w", .lease_ms = -1), FAINA_INVALID_REQUEST);
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w", .limit = FA_CLAIM_LIMIT_MAX,
                                .lease_ms = FA_LEASE_MS_MAX));
    CHECK_INT(t->op.tasks->count, 3);
    CHECK_INT(t->op.tasks->items[0].lease_expires_us - t->op.tasks->items[0].claimed_us,
              FA_LEASE_MS_MAX * 1000);
}

static void test_limits__lease(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x");

    CHECK_CODE(t, fa_t_claim_for(t, id, "w", FA_LEASE_MS_MAX + 1), FAINA_INVALID_REQUEST);
    CHECK_CODE(t, fa_t_claim_for(t, id, "w", -1), FAINA_INVALID_REQUEST);
    CHECK_OK(t, fa_t_claim_for(t, id, "w", FA_LEASE_MS_MAX));
    CHECK_CODE(t, fa_t_heartbeat(t, id, BY("w"), FA_LEASE_MS_MAX + 1), FAINA_INVALID_REQUEST);
    CHECK_OK(t, fa_t_heartbeat(t, id, BY("w"), FA_LEASE_MS_MAX));
}

static void test_limits__report(struct fa_t *t)
{
    const char *id = fa_t_make(t, FAINA_RUNNING, "w");
    const struct {
        struct faina_report report;
        enum faina_code code;
    } cases[] = {
        {{.has_progress = true, .progress = 100}, FAINA_OK},
        {{.has_progress = true, .progress = 101}, FAINA_INVALID_REQUEST},
        {{.has_progress = true, .progress = -1}, FAINA_INVALID_REQUEST},
        {{.state = text_of(t, FA_STATE_SIZE_MAX)}, FAINA_OK},
        {{.state = text_of(t, FA_STATE_SIZE_MAX + 1)}, FAINA_INVALID_REQUEST},
        {{.metadata = object_of(t, FA_METADATA_SIZE_MAX)}, FAINA_OK},
        {{.metadata = object_of(t, FA_METADATA_SIZE_MAX + 1)}, FAINA_PAYLOAD_TOO_LARGE},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        enum faina_code code = fa_t_report(t, id, BY("w"), &cases[i].report);

        CHECK(code == cases[i].code, "report %zu: %s", i, faina_code_name(code));
    }
    CHECK_INT(fa_t_task(t, id)->progress, 100);
    CHECK_INT(strlen(t->task->state), FA_STATE_SIZE_MAX);
    CHECK_INT(strlen(t->task->metadata), FA_METADATA_SIZE_MAX);
}

static void test_limits__output_and_failure(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x", .max_attempts = FAINA_UNLIMITED);
    const struct {
        struct faina_failure failure;
        enum faina_code code;
    } cases[] = {
        {{.message = text_of(t, FA_ERROR_MESSAGE_SIZE_MAX + 1)}, FAINA_INVALID_REQUEST},
        {{.message = "no", .kind = text_of(t, FA_ERROR_KIND_SIZE_MAX + 1)}, FAINA_INVALID_REQUEST},
        {{.message = "no", .detail = object_of(t, FA_ERROR_DETAIL_SIZE_MAX + 1)},
         FAINA_PAYLOAD_TOO_LARGE},
        {{.message = ""}, FAINA_INVALID_REQUEST},
        {{.message = NULL}, FAINA_INVALID_REQUEST},
        {{.message = "no", .detail = "{"}, FAINA_INVALID_REQUEST},
        {{.message = text_of(t, FA_ERROR_MESSAGE_SIZE_MAX),
          .kind = text_of(t, FA_ERROR_KIND_SIZE_MAX),
          .detail = object_of(t, FA_ERROR_DETAIL_SIZE_MAX)},
         FAINA_OK},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        CHECK_OK(t, fa_t_claim(t, id, "w"));
        CHECK(fa_t_fail_with(t, id, BY("w"), &cases[i].failure) == cases[i].code, "failure %zu: %s",
              i, faina_code_name(t->op.code));
    }
    CHECK_OK(t, fa_t_claim(t, id, "w"));
    CHECK_CODE(t, fa_t_complete(t, id, BY("w"), object_of(t, FA_INPUT_SIZE_DEFAULT + 1)),
               FAINA_PAYLOAD_TOO_LARGE);
    CHECK_OK(t, fa_t_complete(t, id, BY("w"), object_of(t, FA_INPUT_SIZE_DEFAULT)));
    CHECK_INT(strlen(fa_t_task(t, id)->output), FA_INPUT_SIZE_DEFAULT);
}

static void test_limits__background(struct fa_t *t)
{
    const char *id = fa_t_make(t, FAINA_RUNNING, "w");

    CHECK_CODE(t, fa_t_background(t, id, BY("w"), -1), FAINA_INVALID_REQUEST);
    CHECK_CODE(t, fa_t_background(t, id, BY("w"), FA_DURATION_MS_MAX + 1), FAINA_INVALID_REQUEST);
    CHECK_NOW(t, id, FAINA_RUNNING);
    CHECK_OK(t, fa_t_background(t, id, BY("w"), FA_DURATION_MS_MAX));
}

static bool all_are_cancelled(struct fa_t *t, void *arg)
{
    (void)arg;
    CHECK_OK(t, fa_t_stats(t, NULL));
    return t->op.stats->by_status[FAINA_CANCELLED] == FA_CHILDREN_MAX + 1;
}

static void test_limits__children(struct fa_t *t)
{
    struct faina_submit *children = fa_arena_zero(&t->arena, FA_CHILDREN_MAX + 1, sizeof *children);
    const char *id = fa_t_make(t, FAINA_RUNNING, "w");

    for (size_t i = 0; i < FA_CHILDREN_MAX + 1; i++)
        children[i].type = "child";
    CHECK_CODE(t, fa_t_block(t, id, BY("w"), children, FA_CHILDREN_MAX + 1), FAINA_INVALID_REQUEST);
    CHECK_STR(t->op.error.field, "subtasks");
    CHECK_NOW(t, id, FAINA_RUNNING);
    CHECK_OK(t, fa_t_block(t, id, BY("w"), children, FA_CHILDREN_MAX));
    CHECK_OK(t, fa_t_stats(t, NULL));
    CHECK_INT(t->op.stats->by_status[FAINA_PENDING], FA_CHILDREN_MAX);
    /* The others are cancelled by an operation (test_bulk.c). */
    CHECK_OK(t, fa_t_cancel(t, id, NOBODY));
    CHECK_TRUE(t->op.count >= 1000 && t->op.count <= FA_CHILDREN_MAX + 1);
    fa_t_wait_until(all_are_cancelled, t, NULL, "all are cancelled");
}

/* The limit is on all children of a task, however many blocks they came with. */
static void test_limits__children_of_two_blocks(struct fa_t *t)
{
    struct faina_submit first = {.type = "child", .name = "first"};
    struct faina_submit *more = fa_arena_zero(&t->arena, FA_CHILDREN_MAX, sizeof *more);
    const char *id = fa_t_make(t, FAINA_RUNNING, "w");

    CHECK_OK(t, fa_t_block(t, id, BY("w"), &first, 1));
    fa_t_finish_task(t, fa_t_child(t, id, 0));
    fa_t_take(t, id, "w");
    for (size_t i = 0; i < FA_CHILDREN_MAX; i++)
        more[i].type = "child";
    CHECK_CODE(t, fa_t_block(t, id, BY("w"), more, FA_CHILDREN_MAX), FAINA_INVALID_TASK);
    CHECK_STR(t->op.error.field, "subtasks");
    CHECK_NOW(t, id, FAINA_RUNNING);
    more[0].name = "first"; /* there already: one less to make */
    CHECK_OK(t, fa_t_block(t, id, BY("w"), more, FA_CHILDREN_MAX));
}

static void test_limits__depth_of_subtasks(struct fa_t *t)
{
    struct faina_submit child = {.type = "child"};
    const char *id = fa_t_submit(t, .type = "root");

    for (int depth = 1; depth <= FA_SUBTASK_DEPTH_MAX; depth++) {
        fa_t_take(t, id, "w");
        CHECK_OK(t, fa_t_block(t, id, BY("w"), &child, 1));
        id = fa_t_child(t, id, 0);
    }
    fa_t_take(t, id, "w");
    CHECK_CODE(t, fa_t_block(t, id, BY("w"), &child, 1), FAINA_INVALID_TASK);
    CHECK_NOW(t, id, FAINA_RUNNING);
    CHECK_OK(t, fa_t_children(t, id, 0, NULL));
    CHECK_INT(t->op.tasks->count, 0);
}

/* ------------------------------------------------------------------------------------------
 * Resources and teams
 */

static void test_limits__resources_and_teams(struct fa_t *t)
{
    CHECK_OK(t, fa_t_resource_set(t, text_of(t, FA_RESOURCE_NAME_SIZE_MAX), FA_CONCURRENCY_MAX));
    CHECK_CODE(t, fa_t_resource_set(t, text_of(t, FA_RESOURCE_NAME_SIZE_MAX + 1), 1),
               FAINA_INVALID_REQUEST);
    CHECK_CODE(t, fa_t_resource_set(t, "r", FA_CONCURRENCY_MAX + 1), FAINA_INVALID_REQUEST);
    CHECK_CODE(t, fa_t_resource_set(t, "r", -2), FAINA_INVALID_REQUEST);
    CHECK_OK(t, fa_t_team_put(t, &(struct faina_team){.name = text_of(t, FA_NAME_SIZE_MAX),
                                                      .spec = object_of(t, FA_SPEC_SIZE_MAX)}));
    CHECK_CODE(t, fa_t_team_put(t, &(struct faina_team){.name = text_of(t, FA_NAME_SIZE_MAX + 1)}),
               FAINA_INVALID_REQUEST);
    CHECK_CODE(t,
               fa_t_team_put(t, &(struct faina_team){.name = "n",
                                                     .spec = object_of(t, FA_SPEC_SIZE_MAX + 1)}),
               FAINA_PAYLOAD_TOO_LARGE);
}

int main(int argc, char **argv)
{
    static const struct fa_t_case cases[] = {
        FA_T_CASE(test_limits__names_of_a_submit),
        FA_T_CASE_SQL(test_limits__json_of_a_submit),
        FA_T_CASE_SQL(test_limits__input_size_is_an_option),
        FA_T_CASE(test_limits__json_depth),
        FA_T_CASE(test_limits__numbers_of_a_submit),
        FA_T_CASE(test_limits__backoff_never_overflows),
        FA_T_CASE(test_limits__resources_of_a_task),
        FA_T_CASE_SQL(test_limits__dependencies_of_a_task),
        FA_T_CASE(test_limits__batch),
        FA_T_CASE(test_limits__worker_id),
        FA_T_CASE(test_limits__claim),
        FA_T_CASE(test_limits__lease),
        FA_T_CASE(test_limits__report),
        FA_T_CASE_SQL(test_limits__output_and_failure),
        FA_T_CASE(test_limits__background),
        FA_T_CASE_SQL(test_limits__children),
        FA_T_CASE_SQL(test_limits__children_of_two_blocks),
        FA_T_CASE_SQL(test_limits__depth_of_subtasks),
        FA_T_CASE_SQL(test_limits__resources_and_teams),
    };

    return fa_t_main(argc, argv, "limits", cases, FA_COUNT(cases));
}
