/*
 * test_types.c - the policies of types: which value applies, changes, unhandled tasks, schemas.
 */
#include "support/ops.h"

#include "base/clock.h"
#include "model/limits.h"

#define HOUR_MS (INT64_C(3600) * 1000)
#define HOUR_US (HOUR_MS * 1000)
#define MINUTE_US (INT64_C(60) * 1000000)

static enum faina_code set_by(struct fa_t *t, int64_t version,
                              const struct faina_type_policy *policy)
{
    return fa_t_run(
        t,
        &(struct fa_op){.kind = FA_OP_TYPE_PUT, .type_policy = policy, .by = {.version = version}});
}

#define set_policy(t, ...) set_by(t, 0, &(struct faina_type_policy){__VA_ARGS__})

static enum faina_code list(struct fa_t *t, const char *ns, const char *type)
{
    return fa_t_run(t, &(struct fa_op){.kind = FA_OP_TYPE_LIST, .name = {ns, type, NULL}});
}

static enum faina_code remove_policy(struct fa_t *t, const char *ns, const char *type)
{
    return fa_t_run(t, &(struct fa_op){.kind = FA_OP_TYPE_REMOVE, .name = {ns, type, NULL}});
}

/* ------------------------------------------------------------------------------------------
 * Storing
 */

static void test_types__stored_listed_removed(struct fa_t *t)
{
    const char *const names[] = {"smtp", "Net"};
    const struct faina_type_policy *got;

    CHECK_OK(t, list(t, NULL, NULL));
    CHECK_INT(t->op.types->count, 0);
    CHECK_CODE(t, list(t, NULL, "mail"), FAINA_NOT_FOUND);
    CHECK_OK(t, set_policy(t, .type = "Mail", .max_attempts = 7, .retry = {500, 3, 9000},
                           .timeout_ms = 60000, .start_by_ms = HOUR_MS, .has_priority = true,
                           .resources = names, .resource_count = 2, .unhandled_after_ms = HOUR_MS,
                           .input_schema = "{\"type\":\"object\"}"));
    CHECK_TRUE(!t->op.existing);
    CHECK_INT(t->op.type_answer->version, 1);
    CHECK_OK(t, list(t, NULL, "mAIL"));
    CHECK_INT(t->op.types->count, 1);
    got = &t->op.types->items[0];
    CHECK_STR(got->type, "Mail");
    CHECK_STR(got->ns, "default");
    CHECK_INT(got->max_attempts, 7);
    CHECK_INT(got->retry.base_ms, 500);
    CHECK_TRUE(got->retry.factor == 3);
    CHECK_INT(got->retry.max_ms, 9000);
    CHECK_INT(got->timeout_ms, 60000);
    CHECK_INT(got->start_by_ms, HOUR_MS);
    CHECK_TRUE(got->has_priority && got->priority == 0);
    CHECK_INT(got->resource_count, 2);
    CHECK_STR(got->resources[1], "Net");
    CHECK_INT(got->unhandled_after_ms, HOUR_MS);
    CHECK_STR(got->input_schema, "{\"type\":\"object\"}");
    /* All policies are replaced, and the newest spelling is kept. */
    CHECK_OK(t, set_policy(t, .type = "mail", .max_attempts = FAINA_UNLIMITED));
    CHECK_TRUE(t->op.existing);
    CHECK_OK(t, list(t, NULL, "Mail"));
    got = &t->op.types->items[0];
    CHECK_STR(got->type, "mail");
    CHECK_INT(got->max_attempts, FAINA_UNLIMITED);
    CHECK_INT(got->timeout_ms, 0);
    CHECK_TRUE(!got->has_priority && got->resources == NULL && got->input_schema == NULL);
    CHECK_INT(got->version, 2);
    CHECK_OK(t, set_policy(t, .ns = "other", .type = "mail", .timeout_ms = 1));
    CHECK_OK(t, list(t, "*", NULL));
    CHECK_INT(t->op.types->count, 2);
    CHECK_OK(t, list(t, "other", NULL));
    CHECK_INT(t->op.types->count, 1);
    CHECK_OK(t, remove_policy(t, NULL, "MAIL"));
    CHECK_CODE(t, remove_policy(t, NULL, "mail"), FAINA_NOT_FOUND);
    CHECK_CODE(t, list(t, NULL, "mail"), FAINA_NOT_FOUND);
    CHECK_OK(t, list(t, "other", "mail"));
}

static void test_types__versions_are_checked(struct fa_t *t)
{
    struct faina_type_policy policy = {.type = "x", .timeout_ms = 5};

    CHECK_CODE(t, set_by(t, 1, &policy), FAINA_VERSION_CONFLICT);
    CHECK_OK(t, set_by(t, 0, &policy));
    CHECK_OK(t, set_by(t, 1, &policy));
    CHECK_CODE(t, set_by(t, 1, &policy), FAINA_VERSION_CONFLICT);
    CHECK_CODE(t,
               fa_t_run(t, &(struct fa_op){.kind = FA_OP_TYPE_REMOVE,
                                           .name = {NULL, "x", NULL},
                                           .by = {.version = 1}}),
               FAINA_VERSION_CONFLICT);
    CHECK_OK(t, fa_t_run(t, &(struct fa_op){.kind = FA_OP_TYPE_REMOVE,
                                            .name = {NULL, "x", NULL},
                                            .by = {.version = 2}}));
}

static void test_types__in_pages(struct fa_t *t)
{
    struct fa_op op = {.kind = FA_OP_TYPE_LIST, .part = {.is_asked = true, .limit = 2}};
    const char *const names[] = {"a", "B", "c"};
    size_t seen = 0;

    for (size_t i = 0; i < FA_COUNT(names); i++)
        CHECK_OK(t, set_policy(t, .type = names[i], .timeout_ms = 1));
    do {
        CHECK_OK(t, fa_t_run(t, &op));
        for (size_t i = 0; i < t->op.types->count; i++)
            CHECK_STR(t->op.types->items[i].type, names[seen++]);
        op.part.cursor = t->op.next_cursor;
    } while (op.part.cursor != NULL);
    CHECK_INT(seen, FA_COUNT(names));
}

static void test_types__bad_policies_are_refused(struct fa_t *t)
{
    const struct {
        struct faina_type_policy policy;
        const char *field;
    } cases[] = {
        {{.type = ""}, "type"},
        {{.ns = "*", .type = "x"}, "namespace"},
        {{.type = "x", .max_attempts = -7}, "maxAttempts"},
        {{.type = "x", .max_attempts = FA_ATTEMPTS_MAX + 1}, "maxAttempts"},
        {{.type = "x", .retry = {.factor = 0.5}}, "retry.factor"},
        {{.type = "x", .retry = {.base_ms = -1}}, "retry.base"},
        {{.type = "x", .timeout_ms = -1}, "timeout"},
        {{.type = "x", .timeout_ms = FA_DURATION_MS_MAX + 1}, "timeout"},
        {{.type = "x", .start_by_ms = -1}, "startBy"},
        {{.type = "x", .unhandled_after_ms = -1}, "unhandledAfter"},
        {{.type = "x", .resources = (const char *const[]){""}, .resource_count = 1}, "resources"},
        {{.type = "x", .input_schema = "{"}, "inputSchema"},
        {{.type = "x", .input_schema = "[]"}, "inputSchema"},
        {{.type = "x", .input_schema = "{\"pattern\":\"a\"}"}, "inputSchema.pattern"},
        {{.type = "x", .input_schema = "{\"properties\":{\"a\":{\"type\":\"text\"}}}"},
         "inputSchema.properties.a.type"},
    };

    CHECK_OK(t, set_policy(t, .type = "x", .timeout_ms = 5));
    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        CHECK_CODE(t, set_by(t, 0, &cases[i].policy), FAINA_INVALID_REQUEST);
        CHECK_STR(t->op.error.field, cases[i].field);
    }
    CHECK_OK(t, list(t, NULL, "x"));
    CHECK_INT(t->op.types->items[0].timeout_ms, 5);
    CHECK_INT(t->op.types->items[0].version, 1);
}

/* ------------------------------------------------------------------------------------------
 * Which value applies
 */

static void test_types__apply_where_the_task_leaves_them_open(struct fa_t *t)
{
    const char *const smtp = "smtp", *const gpu = "gpu";
    const char *id;

    CHECK_OK(t, set_policy(t, .type = "mail", .max_attempts = 9, .retry = {.base_ms = 1234},
                           .timeout_ms = 60000, .start_by_ms = HOUR_MS, .has_priority = true,
                           .priority = 5, .resources = &smtp, .resource_count = 1));
    id = fa_t_submit(t, .type = "MAIL");
    CHECK_STR(fa_t_task(t, id)->type, "MAIL");
    CHECK_INT(t->task->max_attempts, 9);
    CHECK_INT(t->task->retry.base_ms, 1234);
    CHECK_INT(t->task->timeout_ms, 60000);
    CHECK_INT(t->task->priority, 5);
    CHECK_INT(t->task->resource_count, 1);
    CHECK_STR(t->task->resources[0], "smtp");
    CHECK(t->task->start_by_us > fa_clock_now_us() + HOUR_US - MINUTE_US, "startBy");
    /* The task's own values. */
    id = fa_t_submit(t, .type = "mail", .max_attempts = 4, .retry = {.base_ms = 7}, .timeout_ms = 8,
                     .start_by_ms = 2 * HOUR_MS, .has_priority = true, .resources = &gpu,
                     .resource_count = 1);
    CHECK_INT(fa_t_task(t, id)->max_attempts, 4);
    CHECK_INT(t->task->retry.base_ms, 7);
    CHECK_INT(t->task->timeout_ms, 8);
    CHECK_INT(t->task->priority, 0);
    CHECK_STR(t->task->resources[0], "gpu");
    CHECK(t->task->start_by_us > fa_clock_now_us() + 2 * HOUR_US - MINUTE_US, "startBy");
    id = fa_t_submit(t, .type = "mail", .priority = -3, .max_attempts = 2);
    CHECK_INT(fa_t_task(t, id)->priority, -3);
    CHECK_INT(t->task->max_attempts, 2);
    /* Another namespace has other types. */
    id = fa_t_submit(t, .ns = "other", .type = "mail");
    CHECK_INT(fa_t_task(t, id)->max_attempts, 4);
    CHECK_INT(t->task->priority, 0);
}

/* Attempts, retry and timeout are those of the moment when they are needed. */
static void test_types__later_changes_apply(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x"),
               *own = fa_t_submit(t, .type = "x", .max_attempts = 4);

    CHECK_OK(t, set_policy(t, .type = "X", .max_attempts = 1, .timeout_ms = HOUR_MS,
                           .retry = {.base_ms = 10 * HOUR_MS, .max_ms = 10 * HOUR_MS},
                           .has_priority = true, .priority = 8));
    CHECK_INT(fa_t_task(t, id)->max_attempts, 1);
    CHECK_INT(t->task->priority, 0);
    CHECK_INT(t->task->timeout_ms, HOUR_MS);
    CHECK_INT(fa_t_task(t, own)->max_attempts, 4);
    CHECK_OK(t, fa_t_claim(t, own, "w"));
    CHECK_OK(t, fa_t_fail_attempt(t, own, BY("w"), "no"));
    CHECK_STATUS(t->task->status, FAINA_PENDING);
    CHECK(t->task->run_at_us > fa_clock_now_us() + 4 * HOUR_US, "the retry of the type");
    CHECK_OK(t, fa_t_claim(t, id, "w"));
    CHECK(t->task->lease_expires_us > 0, "a lease");
    CHECK_OK(t, fa_t_fail_attempt(t, id, BY("w"), "no"));
    CHECK_STATUS(t->task->status, FAINA_DEAD_LETTER);
    CHECK_CODE(t, fa_t_retry_keep(t, id, NOBODY), FAINA_MAX_ATTEMPTS_REACHED);
    CHECK_OK(t, remove_policy(t, NULL, "x"));
    CHECK_INT(fa_t_task(t, id)->max_attempts, 4);
    CHECK_OK(t, fa_t_retry_keep(t, id, NOBODY));
    /* A number that an update sets is the task's own, also that of the default. */
    CHECK_OK(t, fa_t_run(t, &(struct fa_op){.kind = FA_OP_UPDATE,
                                            .id = id,
                                            .update = &(struct faina_update){.max_attempts = 4}}));
    CHECK_OK(t, set_policy(t, .type = "x", .max_attempts = 1));
    CHECK_INT(fa_t_task(t, id)->max_attempts, 4);
}

static void test_types__timeout_ends_the_attempt(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x", .max_attempts = 1);

    CHECK_OK(t, set_policy(t, .type = "x", .timeout_ms = 200));
    CHECK_OK(t, fa_t_claim(t, id, "w"));
    CHECK(t->task->lease_expires_us <= t->task->claimed_us + 200000, "the lease is longer");
    fa_t_wait_status(t, id, FAINA_DEAD_LETTER);
    CHECK(strstr(fa_t_task(t, id)->error, "\"kind\":\"timeout\"") != NULL, "%s", t->task->error);
}

static void test_types__of_every_way_to_submit(struct fa_t *t)
{
    const struct faina_submit kids[] = {{.type = "x"}, {.type = "x", .max_attempts = 2}};
    const char *parent = fa_t_submit(t, .type = "parent"), *key;
    struct fa_cron_job job = {
        .name = "c", .schedule = "0 3 * * *", .task = "{\"type\":\"x\",\"priority\":0}"};
    const char *const resource = "r";
    struct fa_op ops[2];
    struct faina_submit submits[2] = {{.type = "x"}, {.type = "x", .max_attempts = 4}};

    CHECK_OK(t, set_policy(t, .type = "x", .max_attempts = 6, .has_priority = true, .priority = 3,
                           .resources = &resource, .resource_count = 1));
    for (size_t i = 0; i < 2; i++)
        ops[i] = (struct fa_op){.kind = FA_OP_SUBMIT, .submit = &submits[i]};
    fa_t_run_all(t, ops, 2);
    CHECK_INT(fa_t_task(t, ops[0].task_id)->max_attempts, 6);
    CHECK_INT(t->task->priority, 3);
    CHECK_INT(fa_t_task(t, ops[1].task_id)->max_attempts, 4);
    fa_t_take(t, parent, "w");
    CHECK_OK(t, fa_t_block(t, parent, BY("w"), kids, 2));
    CHECK_INT(fa_t_task(t, fa_t_child(t, parent, 0))->priority, 3);
    CHECK_INT(fa_t_task(t, fa_t_child(t, parent, 1))->max_attempts, 2);
    CHECK_INT(t->task->resource_count, 1);
    CHECK_OK(t, fa_t_run(t, &(struct fa_op){.kind = FA_OP_CRON_PUT, .cron = &job}));
    CHECK_OK(t, fa_t_run(t, &(struct fa_op){.kind = FA_OP_CRON_RUN, .id = "c"}));
    CHECK_INT(fa_t_task(t, fa_arena_strdup(&t->arena, t->op.task_id))->priority, 0);
    CHECK_INT(t->task->max_attempts, 6);
    /* A replacement has the priority of its type, too. */
    key = fa_t_submit(t, .type = "x", .idempotency_key = "k", .priority = 9, .delay_ms = HOUR_MS);
    CHECK_STR(fa_t_submit(t, .type = "x", .idempotency_key = "k", .delay_ms = HOUR_MS,
                          .on_duplicate = FAINA_ON_DUPLICATE_REPLACE),
              key);
    CHECK_INT(fa_t_task(t, key)->priority, 3);
}

/* The settings of a handler come after those of the type. */
static void test_types__before_those_of_the_handler(struct fa_t *t)
{
    const struct faina_submit settings = {.max_attempts = 9, .retry = {.base_ms = 77}};
    const char *id = fa_t_submit(t, .type = "x"), *other = fa_t_submit(t, .type = "y");

    CHECK_OK(t, set_policy(t, .type = "x", .max_attempts = 4, .retry = {.base_ms = 55}));
    fa_t_take(t, id, "w");
    CHECK_OK(t,
             fa_t_run(t, &(struct fa_op){
                             .kind = FA_OP_AMEND, .id = id, .by = BY("w"), .submit = &settings}));
    CHECK_INT(fa_t_task(t, id)->max_attempts, 4);
    CHECK_INT(t->task->retry.base_ms, 55);
    fa_t_take(t, other, "w");
    CHECK_OK(
        t, fa_t_run(t, &(struct fa_op){
                           .kind = FA_OP_AMEND, .id = other, .by = BY("w"), .submit = &settings}));
    CHECK_INT(fa_t_task(t, other)->max_attempts, 9);
    CHECK_INT(t->task->retry.base_ms, 77);
}

/* ------------------------------------------------------------------------------------------
 * Unhandled tasks
 */

static void check_unhandled(struct fa_t *t, const char *id)
{
    fa_t_wait_status(t, id, FAINA_FAILED);
    CHECK(strstr(fa_t_task(t, id)->error, "\"kind\":\"no_handler\"") != NULL, "%s", t->task->error);
    CHECK_STORY(t, id, "created failed");
}

static void test_unhandled__tasks_fail(struct fa_t *t)
{
    const char *ids[] = {
        fa_t_submit(t, .type = "x"),
        fa_t_submit(t, .type = "X", .priority = 5),
        fa_t_submit(t, .type = "x", .max_attempts = 9, .input = "{}"),
    };
    const char *later = fa_t_submit(t, .type = "x", .delay_ms = HOUR_MS);
    const char *other = fa_t_submit(t, .type = "y");
    int64_t began_us = fa_clock_mono_us();

    CHECK_OK(t, set_policy(t, .type = "x", .unhandled_after_ms = 400));
    for (size_t i = 0; i < FA_COUNT(ids); i++)
        check_unhandled(t, ids[i]);
    CHECK(fa_clock_mono_us() - began_us >= 400000, "they failed too early");
    CHECK_NOW(t, later, FAINA_PENDING);
    CHECK_NOW(t, other, FAINA_PENDING);
    /* The lane is still unhandled: a new task has its own time. */
    began_us = fa_clock_mono_us();
    check_unhandled(t, fa_t_submit(t, .type = "x"));
    CHECK(fa_clock_mono_us() - began_us >= 400000, "the new task failed too early");
}

/* A dependent task is unblocked, and a retry gives the task its time again. */
static void test_unhandled__is_an_end(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x");
    const char *next = fa_t_submit(t, .type = "y", .depends_on = &id, .depends_on_count = 1);

    CHECK_OK(t, set_policy(t, .type = "x", .unhandled_after_ms = 200));
    check_unhandled(t, id);
    CHECK_NOW(t, next, FAINA_PENDING);
    CHECK_INT(fa_t_task(t, next)->phase, FAINA_PHASE_ERROR);
    CHECK_OK(t, fa_t_retry(t, id, NOBODY));
    CHECK_NOW(t, id, FAINA_PENDING);
    fa_t_wait_status(t, id, FAINA_FAILED);
}

static enum faina_code put_worker(struct fa_t *t, const struct faina_worker *worker)
{
    return fa_t_run(t, &(struct fa_op){.kind = FA_OP_WORKER_PUT, .worker = {.self = worker}});
}

static enum faina_code remove_worker(struct fa_t *t, const char *id)
{
    return fa_t_run(t, &(struct fa_op){.kind = FA_OP_WORKER_REMOVE, .id = id});
}

/* Three types whose tasks nobody takes: one registered, one claimed, one held by a worker. */
static void test_unhandled__live_workers_count(struct fa_t *t)
{
    const char *const x = "x", *const y = "Y", *const db = "db";
    const char *registered = fa_t_submit(t, .type = "X");
    const char *claimed = fa_t_submit(t, .type = "y", .delay_ms = 1);
    const char *held = fa_t_submit(t, .type = "z"), *waits = fa_t_submit(t, .type = "z");
    const char *unreached =
        fa_t_submit(t, .type = "x", .resources = (const char *const[]){"gpu"}, .resource_count = 1);
    const char *witness = fa_t_submit(t, .type = "w");
    struct faina_worker self = {
        .id = "one", .types = &x, .type_count = 1, .services = &db, .service_count = 1};

    for (const char *type = "xyzw"; *type != '\0'; type++)
        CHECK_OK(t, set_policy(t, .type = (char[]){*type, '\0'}, .unhandled_after_ms = 300));
    CHECK_OK(t, put_worker(t, &self));
    CHECK_OK(t, fa_t_pause(t, NULL, "y"));
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "two", .types = &y, .type_count = 1));
    CHECK_INT(t->op.tasks->count, 0);
    CHECK_OK(t, fa_t_resume(t, NULL, "y"));
    CHECK_OK(t, fa_t_claim(t, held, "three"));
    check_unhandled(t, witness);
    check_unhandled(t, unreached); /* its resource is not among the worker's services */
    check_unhandled(t, fa_t_submit(t, .type = "w"));
    CHECK_NOW(t, registered, FAINA_PENDING);
    CHECK_NOW(t, claimed, FAINA_PENDING);
    CHECK_NOW(t, waits, FAINA_PENDING);
    /* They sign off. */
    CHECK_OK(t, remove_worker(t, "one"));
    check_unhandled(t, registered);
    CHECK_CODE(t, remove_worker(t, "two"), FAINA_NOT_FOUND); /* was never registered */
    CHECK_NOW(t, claimed, FAINA_PENDING);
    CHECK_OK(t, fa_t_complete(t, held, BY("three"), NULL));
    check_unhandled(t, waits);
}

/* While a type is paused, the time doesn't count. */
static void test_unhandled__paused_types_wait(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x"), *witness = fa_t_submit(t, .type = "w");

    CHECK_OK(t, fa_t_pause(t, NULL, "x"));
    CHECK_OK(t, set_policy(t, .type = "x", .unhandled_after_ms = 200));
    CHECK_OK(t, set_policy(t, .type = "w", .unhandled_after_ms = 400));
    check_unhandled(t, witness);
    CHECK_NOW(t, id, FAINA_PENDING);
    CHECK_OK(t, fa_t_resume(t, NULL, "x"));
    check_unhandled(t, id);
}

/* More tasks than one transaction ends. */
static void test_unhandled__many_tasks(struct fa_t *t)
{
    enum { COUNT = 1100 };
    struct faina_submit *submits = fa_arena_zero(&t->arena, COUNT, sizeof(*submits));
    struct fa_op *ops = fa_arena_zero(&t->arena, COUNT, sizeof(*ops));
    const char *last;

    CHECK_OK(t, set_policy(t, .type = "x", .unhandled_after_ms = 300));
    for (size_t i = 0; i < COUNT; i++) {
        submits[i] = (struct faina_submit){.type = "x", .priority = (int)(i % 3)};
        ops[i] = (struct fa_op){.kind = FA_OP_SUBMIT, .submit = &submits[i]};
    }
    fa_t_run_all(t, ops, COUNT);
    for (size_t i = 0; i < COUNT; i++)
        fa_t_wait_status(t, ops[i].task_id, FAINA_FAILED);
    last = fa_t_submit(t, .type = "x");
    check_unhandled(t, last);
}

/* ------------------------------------------------------------------------------------------
 * Input schemas
 */

static void check_refused(struct fa_t *t, enum faina_code code, const char *field)
{
    CHECK_CODE(t, code, FAINA_INVALID_TASK);
    CHECK_STR(t->op.error.field, field);
}

static void test_schema__checked_at_submit(struct fa_t *t)
{
    static const char schema[] =
        "{\"type\":\"object\",\"required\":[\"to\"],\"additionalProperties\":false,\"properties\":{"
        "\"to\":{\"type\":\"array\",\"items\":{\"type\":\"string\",\"minLength\":3}},"
        "\"n\":{\"type\":\"integer\",\"minimum\":1}}}";
    const struct faina_submit kid = {.type = "mail", .input = "{\"to\":5}"};
    const char *before = fa_t_submit(t, .type = "mail"), *parent = fa_t_submit(t, .type = "p");
    struct faina_submit submits[2] = {{.type = "mail", .input = "{\"to\":[\"ann\"]}"},
                                      {.type = "mail", .input = "{\"to\":[\"an\"]}"}};
    struct fa_cron_job job = {
        .name = "c", .schedule = "0 3 * * *", .task = "{\"type\":\"mail\",\"input\":{\"to\":[0]}}"};
    struct fa_op ops[2];

    CHECK_OK(t, set_policy(t, .type = "Mail", .input_schema = schema));
    check_refused(t, fa_t_try_submit(t, .type = "mail"), "input");
    check_refused(t, fa_t_try_submit(t, .type = "MAIL", .input = "{}"), "input.to");
    check_refused(t, fa_t_try_submit(t, .type = "mail", .input = "{\"to\":[\"ann\",1]}"),
                  "input.to[1]");
    check_refused(t, fa_t_try_submit(t, .type = "mail", .input = "{\"to\":[],\"n\":0}"), "input.n");
    check_refused(t, fa_t_try_submit(t, .type = "mail", .input = "{\"to\":[],\"a b\":0}"),
                  "input[\"a b\"]");
    CHECK_OK(t, fa_t_try_submit(t, .type = "mail", .input = "{\"to\":[],\"n\":1.0}"));
    for (size_t i = 0; i < 2; i++)
        ops[i] = (struct fa_op){.kind = FA_OP_SUBMIT, .submit = &submits[i]};
    fa_t_run_all(t, ops, 2);
    CHECK_INT(ops[0].code, FAINA_OK);
    CHECK_INT(ops[1].code, FAINA_INVALID_TASK);
    CHECK_STR(ops[1].error.field, "input.to[0]");
    fa_t_take(t, parent, "w");
    CHECK_CODE(t, fa_t_block(t, parent, BY("w"), &kid, 1), FAINA_INVALID_TASK);
    CHECK_NOW(t, parent, FAINA_RUNNING);
    CHECK_OK(t, fa_t_run(t, &(struct fa_op){.kind = FA_OP_CRON_PUT, .cron = &job}));
    CHECK_CODE(t, fa_t_run(t, &(struct fa_op){.kind = FA_OP_CRON_RUN, .id = "c"}),
               FAINA_INVALID_TASK);
    /* A task that is there is not checked again. */
    CHECK_OK(t, fa_t_claim(t, before, "w"));
    CHECK_OK(t, fa_t_complete(t, before, BY("w"), NULL));
    CHECK_OK(t, fa_t_try_submit(t, .ns = "other", .type = "mail"));
    CHECK_OK(t, remove_policy(t, NULL, "mail"));
    CHECK_OK(t, fa_t_try_submit(t, .type = "mail"));
}

/* The task that has the key is returned whatever the input is; a replacement is checked. */
static void test_schema__duplicates(struct fa_t *t)
{
    const char *id =
        fa_t_submit(t, .type = "x", .idempotency_key = "k", .input = "1", .delay_ms = HOUR_MS);

    CHECK_OK(t, set_policy(t, .type = "x", .input_schema = "{\"minimum\":5}"));
    CHECK_STR(fa_t_submit(t, .type = "x", .idempotency_key = "k", .input = "1"), id);
    check_refused(t,
                  fa_t_try_submit(t, .type = "x", .idempotency_key = "k", .input = "2",
                                  .on_duplicate = FAINA_ON_DUPLICATE_REPLACE),
                  "input");
    CHECK_STR(fa_t_task(t, id)->input, "1");
    CHECK_OK(t, fa_t_try_submit(t, .type = "x", .idempotency_key = "k", .input = "6",
                                .on_duplicate = FAINA_ON_DUPLICATE_REPLACE));
}

static void test_schema__of_tasks_that_triggers_make(struct fa_t *t)
{
    static const char workflow[] =
        "{\"workflow\":\"w\",\"triggers\":[{\"name\":\"t\",\"on\":\"e\",\"task\":{\"type\":\"x\","
        "\"input\":{\"a\":\"${a}\"}}}]}";
    const struct fa_definition definition = {.text = {workflow, sizeof(workflow) - 1}};
    const struct faina_emit good = {.type = "e", .data = "{\"a\":1}"};
    const struct faina_emit bad = {.type = "e", .data = "{\"a\":\"b\"}"};

    CHECK_OK(t,
             fa_t_run(t, &(struct fa_op){.kind = FA_OP_WORKFLOW_PUT, .definition = &definition}));
    CHECK_OK(t, set_policy(t, .type = "x", .max_attempts = 8,
                           .input_schema = "{\"properties\":{\"a\":{\"type\":\"number\"}}}"));
    CHECK_OK(t, fa_t_run(t, &(struct fa_op){.kind = FA_OP_EMIT, .emit = &good}));
    CHECK_INT(t->op.emitted->count, 1);
    CHECK_INT(fa_t_task(t, t->op.emitted->tasks[0])->max_attempts, 8);
    CHECK_OK(t, fa_t_run(t, &(struct fa_op){.kind = FA_OP_EMIT, .emit = &bad}));
    CHECK_INT(t->op.emitted->count, 0);
    CHECK_INT(t->op.emitted->failure_count, 1);
    CHECK(strstr(t->op.emitted->failures[0].message, "input.a") != NULL, "%s",
          t->op.emitted->failures[0].message);
}

int main(int argc, char **argv)
{
    static const struct fa_t_case cases[] = {
        FA_T_CASE_SQL(test_types__stored_listed_removed),
        FA_T_CASE_SQL(test_types__versions_are_checked),
        FA_T_CASE_SQL(test_types__in_pages),
        FA_T_CASE_SQL(test_types__bad_policies_are_refused),
        FA_T_CASE_SQL(test_types__apply_where_the_task_leaves_them_open),
        FA_T_CASE_SQL(test_types__later_changes_apply),
        FA_T_CASE_SQL(test_types__timeout_ends_the_attempt),
        FA_T_CASE_SQL(test_types__of_every_way_to_submit),
        FA_T_CASE_SQL(test_types__before_those_of_the_handler),
        FA_T_CASE_SQL(test_unhandled__tasks_fail),
        FA_T_CASE_SQL(test_unhandled__is_an_end),
        FA_T_CASE_SQL(test_unhandled__live_workers_count),
        FA_T_CASE_SQL(test_unhandled__paused_types_wait),
        FA_T_CASE_SQL(test_unhandled__many_tasks),
        FA_T_CASE_SQL(test_schema__checked_at_submit),
        FA_T_CASE_SQL(test_schema__duplicates),
        FA_T_CASE_SQL(test_schema__of_tasks_that_triggers_make),
    };

    return fa_t_main(argc, argv, "types", cases, FA_COUNT(cases));
}
