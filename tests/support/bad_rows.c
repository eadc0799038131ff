/* bad_rows.c - see bad_rows.h. */
#include "support/bad_rows.h"

#include "model/states.h"

#include <stdlib.h>

#define HOUR_MS (3600 * INT64_C(1000))

/* The half of a store that is "v" or "o". */
struct half {
    struct fa_t *t;
    const char *letter;
};

static const char *name(const struct half *half, const char *what)
{
    return fa_arena_printf(&half->t->arena, "%s.%s", half->letter, what);
}

/* Runs an operation with any result; returns its code. */
static enum faina_code any(struct fa_t *t, struct fa_op op)
{
    op.arena = &t->arena;
    fa_service_run(t->svc, &op, 1);
    CHECK(op.code < FAINA_CODE_COUNT, "%s: code %d", fa_op_name(op.kind), (int)op.code);
    CHECK(op.code == FAINA_OK || op.error.message[0] != '\0', "%s is refused without a sentence",
          fa_op_name(op.kind));
    t->op = op;
    return op.code;
}

static void must(struct fa_t *t, struct fa_op op)
{
    enum faina_code code = any(t, op);

    CHECK(code == FAINA_OK, "%s: %s (%s)", fa_op_name(op.kind), faina_code_name(code),
          t->op.error.message);
}

/* Filling ------------------------------------------------------------------------------------- */

static void fill_flow(const struct half *half)
{
    const char *l = half->letter;
    const char *yaml = fa_arena_printf(
        &half->t->arena,
        "workflow: %s\n"
        "triggers:\n"
        "  - { name: t, on: %s.happen, task: { type: %s.made, input: { n: \"${n}\" } } }\n"
        "joins:\n"
        "  - { name: j, taskTypes: [%s.left, %s.right], joinKey: n, deadline: 1h,\n"
        "      onFailure: fire, task: { type: %s.joined } }\n",
        l, l, l, l, l, l);
    struct fa_definition definition = {.text = fa_str(yaml), .is_yaml = true};
    struct faina_emit emit = {.type = name(half, "happen"), .data = "{\"n\":1}"};

    must(half->t, (struct fa_op){.kind = FA_OP_WORKFLOW_PUT, .definition = &definition});
    must(half->t, (struct fa_op){.kind = FA_OP_EMIT, .emit = &emit});
    fa_t_finish_task(half->t,
                     fa_t_submit(half->t, .type = name(half, "left"), .input = "{\"n\":1}"));
}

static void fill_settings(const struct half *half)
{
    struct fa_t *t = half->t;
    struct faina_team team = {.name = half->letter, .spec = "{\"a\":1}"};
    struct faina_worker worker = {.id = half->letter, .hostname = "host", .version = "1"};
    struct fa_cron_job cron = {
        .name = half->letter,
        .schedule = "0 0 1 1 *",
        .task = fa_arena_printf(&t->arena, "{\"type\":\"%s.cron\"}", half->letter),
        .catch_up = FA_CATCH_UP_ONE};

    struct fa_token token = {
        .name = half->letter,
        .hash = strcmp(half->letter, "v") == 0
                    ? "0000000000000000000000000000000000000000000000000000000000000000"
                    : "1111111111111111111111111111111111111111111111111111111111111111",
        .scopes = FA_SCOPE_READ,
        .namespaces = "[\"a\"]"};

    CHECK_OK(t, fa_t_team_put(t, &team));
    must(t, (struct fa_op){.kind = FA_OP_TOKEN_PUT, .token = &token});
    CHECK_OK(t, fa_t_resource_set(t, name(half, "res"), 5));
    CHECK_OK(t, fa_t_pause(t, NULL, name(half, "paused")));
    must(t, (struct fa_op){.kind = FA_OP_WORKER_PUT, .worker = {.self = &worker}});
    must(t, (struct fa_op){.kind = FA_OP_CRON_PUT, .cron = &cron});
}

static void fill_tasks(const struct half *half)
{
    struct fa_t *t = half->t;
    const char *resources[] = {name(half, "res")}, *id, *needs[1];
    struct faina_submit child = {.type = name(half, "child")};
    struct faina_retry_policy soon = {.base_ms = 1, .max_ms = 1};

    for (int i = 0; i < 3; i++) {
        fa_t_submit(t, .type = name(half, "plain"), .input = "{\"some\":\"input\"}");
        fa_t_submit(t, .type = name(half, "rich"), .input = "[1]", .metadata = "{\"m\":1}",
                    .name = "name",
                    .idempotency_key = fa_arena_printf(&t->arena, "%s%d", half->letter, i),
                    .resources = resources, .resource_count = 1, .spec = "{\"s\":1}");
    }
    fa_t_submit(t, .type = name(half, "late"), .delay_ms = HOUR_MS);
    id = fa_t_submit(t, .type = name(half, "held"), .resources = resources, .resource_count = 1,
                     .retry = soon);
    CHECK_OK(t, fa_t_claim_for(t, id, half->letter, HOUR_MS));
    CHECK_OK(t, fa_t_start(t, id, BY(half->letter)));
    id = fa_t_submit(t, .type = name(half, "back"), .max_attempts = 1);
    fa_t_take(t, id, half->letter);
    CHECK_OK(t, fa_t_background(t, id, BY(half->letter), HOUR_MS));
    needs[0] = fa_t_submit(t, .type = name(half, "need"));
    fa_t_submit(t, .type = name(half, "waits"), .depends_on = needs, .depends_on_count = 1);
    id = fa_t_submit(t, .type = name(half, "parent"));
    fa_t_take(t, id, half->letter);
    CHECK_OK(t, fa_t_block(t, id, BY(half->letter), &child, 1));
    fa_t_finish_task(t, fa_t_submit(t, .type = name(half, "done"), .input = "{}"));
    id = fa_t_submit(t, .type = name(half, "bad"), .max_attempts = 1);
    fa_t_take(t, id, half->letter);
    CHECK_OK(t, fa_t_fail_final(t, id, BY(half->letter), "it can't be"));
    id = fa_t_submit(t, .type = name(half, "gone"));
    CHECK_OK(t, fa_t_cancel(t, id, NOBODY));
    CHECK_OK(t, fa_t_delete(t, id));
}

void fa_bad_fill(struct fa_t *t)
{
    static const char *const letters[] = {"v", "o"};

    fa_t_open(t);
    for (size_t i = 0; i < FA_COUNT(letters); i++) {
        struct half half = {t, letters[i]};

        fill_settings(&half);
        fill_flow(&half);
        fill_tasks(&half);
    }
    fa_t_close(t);
}

const char fa_bad_age_sql[] = "UPDATE parked SET at_us = 1000000 WHERE at_us IS NOT NULL;"
                              "UPDATE held SET lease_us = 1000000;"
                              "UPDATE cron SET next_us = 1735689600000000;"
                              "UPDATE join_state SET deadline_us = 1000000;"
                              "INSERT INTO set_aside (kind, key, reason, at_us, until_us, tries) "
                              "VALUES ('task', '1', 'a test', 1000000, 2000000, 1)";

#define TASKS_OF_V "(SELECT t.id FROM task t JOIN lane l ON l.id = t.lane WHERE l.type LIKE 'v.%')"
#define LANES_OF_V "(SELECT l.id FROM lane l WHERE l.type LIKE 'v.%')"

const char *fa_bad_rows_of(const char *table)
{
    static const char *const conditions[][2] = {
        {"task", "id IN " TASKS_OF_V},
        {"held", "id IN " TASKS_OF_V},
        {"parked", "id IN " TASKS_OF_V},
        {"ended", "id IN " TASKS_OF_V},
        {"ready", "lane IN " LANES_OF_V},
        {"tally", "lane IN " LANES_OF_V},
        {"lane", "type LIKE 'v.%'"},
        {"task_key", "task IN " TASKS_OF_V},
        {"task_dep", "task IN " TASKS_OF_V},
        {"event", "task IN " TASKS_OF_V},
        {"hold", "task IN " TASKS_OF_V},
        {"origin", "task IN " TASKS_OF_V},
        {"resource", "name LIKE 'v.%'"},
        {"paused", "type LIKE 'v.%'"},
        {"team", "name = 'v'"},
        {"worker", "id = 'v'"},
        {"token", "name = 'v'"},
        {"cron", "name = 'v'"},
        {"workflow", "name = 'v'"},
        {"join_state", "workflow = 'v'"},
        {"happened", "type LIKE 'v.%'"},
        {"log", "seq = (SELECT min(seq) FROM log)"},
        {"log_forgotten", "one = 1"},
        {"set_aside", "key = '1'"},
    };

    for (size_t i = 0; i < FA_COUNT(conditions); i++) {
        if (strcmp(conditions[i][0], table) == 0)
            return conditions[i][1];
    }
    return NULL;
}

/* Running -------------------------------------------------------------------------------------- */

static const char *claim_one(struct fa_t *t, const char *type)
{
    struct faina_claim claim = {
        .worker_id = "w", .types = &type, .type_count = 1, .limit = 1, .wait_ms = 10000};
    struct fa_op op = {.kind = FA_OP_CLAIM_NEXT, .claim = &claim, .arena = &t->arena};
    enum faina_code code = fa_service_claim_wait(t->svc, &op, NULL);

    CHECK(code == FAINA_OK, "claiming %s: %s", type, op.error.message);
    CHECK(op.tasks->count == 1, "no task of type %s comes", type);
    return op.tasks->items[0].id;
}

static void work(struct fa_t *t, const char *type)
{
    const char *id = claim_one(t, type);

    CHECK_OK(t, fa_t_start(t, id, BY("w")));
    CHECK_OK(t, fa_t_complete(t, id, BY("w"), "{}"));
}

static size_t count_of(struct fa_t *t, const char *type)
{
    struct faina_query query = {.type = type, .limit = 1000};

    must(t, (struct fa_op){.kind = FA_OP_LIST, .query = &query});
    return t->op.tasks->count;
}

struct wanted {
    const char *type;
};

static bool has_one(struct fa_t *t, void *arg)
{
    return count_of(t, ((const struct wanted *)arg)->type) > 0;
}

static bool has_ended(struct fa_t *t, void *arg)
{
    return has_one(t, arg) && fa_status_is_ended(t->op.tasks->items[0].status);
}

/* Everything that comes due is processed. */
static void come_due(struct fa_t *t)
{
    work(t, "o.late");
    work(t, "o.held");
    fa_t_wait_until(has_ended, t, &(struct wanted){"o.back"}, "background work is over its time");
    fa_t_wait_until(has_one, t, &(struct wanted){"o.cron"}, "the schedule makes a task");
    fa_t_wait_until(has_one, t, &(struct wanted){"o.joined"}, "the join is over its time");
}

static void work_on(struct fa_t *t)
{
    const char *id;

    for (int i = 0; i < 3; i++) {
        work(t, "o.plain");
        work(t, "o.rich");
    }
    work(t, "o.made");
    work(t, "o.need");
    work(t, "o.waits");
    work(t, "o.child");
    CHECK_OK(t, fa_t_complete(t, claim_one(t, "o.parent"), BY("w"), "{}"));
    id = fa_t_submit(t, .type = "o.new", .input = "{}");
    work(t, "o.new");
    CHECK_OK(t, fa_t_events(t, id, 0));
    CHECK_OK(t, fa_t_explain(t, id));
}

/* Claims of any type skip damaged tasks. */
static void claim_any(struct fa_t *t)
{
    struct faina_claim claim = {.worker_id = "w", .limit = 100};

    fa_t_submit(t, .type = "o.any", .priority = -10);
    for (int i = 0; i < 100; i++) {
        bool is_there = false;

        must(t, (struct fa_op){.kind = FA_OP_CLAIM_NEXT, .claim = &claim});
        for (size_t k = 0; k < t->op.tasks->count; k++)
            is_there |= strcmp(t->op.tasks->items[k].type, "o.any") == 0;
        if (is_there)
            return;
        CHECK(t->op.tasks->count > 0, "the claim finds nothing, though a task is in line");
    }
    CHECK(false, "claims never come to the task");
}

/* All pages of all tasks. */
static size_t list_all(struct fa_t *t)
{
    struct faina_query query = {.ns = "*", .limit = 7};
    size_t count = 0;

    for (int i = 0; i < 1000; i++) {
        must(t, (struct fa_op){.kind = FA_OP_LIST, .query = &query});
        for (size_t k = 0; k < t->op.tasks->count; k++)
            count += strncmp(t->op.tasks->items[k].type, "o.", 2) == 0;
        query.cursor = t->op.tasks->next_cursor;
        if (query.cursor == NULL)
            return count;
    }
    fa_t_fail(__FILE__, __LINE__, "a list has no end");
}

static void follow(struct fa_t *t)
{
    const char *cursor = "0";

    for (int i = 0; i < 1000; i++) {
        must(t, (struct fa_op){.kind = FA_OP_FOLLOW, .page = {.cursor = cursor}});
        if (!t->op.followed->has_more)
            return;
        cursor = t->op.followed->next;
    }
    CHECK(false, "the log has no end");
}

static void look_around(struct fa_t *t)
{
    static const enum fa_op_kind kinds[] = {
        FA_OP_STATS,      FA_OP_RESOURCE_LIST, FA_OP_TEAM_LIST, FA_OP_WORKER_LIST,
        FA_OP_TOKEN_LIST, FA_OP_WORKFLOW_LIST, FA_OP_JOIN_LIST, FA_OP_CRON_LIST,
    };
    struct fa_emitted_query happened = {.limit = 100};
    unsigned statuses[] = {1u << FAINA_PENDING, 1u << FAINA_COMPLETED, 1u << FAINA_FAILED};
    struct fa_service_info info;
    struct faina_error err = {0};

    for (size_t i = 0; i < FA_COUNT(kinds); i++)
        must(t, (struct fa_op){.kind = kinds[i]});
    must(t, (struct fa_op){.kind = FA_OP_TOKEN_LIST});
    CHECK_INT(t->op.tokens->count, 2); /* damaged ones are listed too */
    for (size_t i = 0; i < 2; i++)
        CHECK((t->op.tokens->items[i].scopes & ~(unsigned)FA_SCOPE_READ) == 0 ||
                  strcmp(t->op.tokens->items[i].name, "v") == 0,
              "a damaged token allows more");
    must(t, (struct fa_op){.kind = FA_OP_EMITTED_LIST, .emitted_query = &happened});
    for (size_t i = 0; i < FA_COUNT(statuses); i++) {
        struct faina_query query = {.statuses = statuses[i], .limit = 100};

        must(t, (struct fa_op){.kind = FA_OP_LIST, .query = &query});
    }
    CHECK(list_all(t) >= 20, "tasks are missing in the list");
    follow(t);
    CHECK(fa_service_info(t->svc, true, &t->arena, &info, &err) == FAINA_OK, "doctor: %s",
          err.message);
}

static void remove_old(struct fa_t *t)
{
    struct fa_expired_query query = {.limit = 100};
    struct fa_expired old;
    size_t removed, count = 0;
    struct faina_error err = {0};

    do {
        CHECK(fa_service_expired_find(t->svc, &query, &t->arena, &old, &err) == FAINA_OK,
              "retention: %s", err.message);
        CHECK(fa_service_expired_remove(t->svc, &old, false, &removed, &err) == FAINA_OK,
              "retention: %s", err.message);
        CHECK(++count < 100, "retention has no end");
        query.after = old.after;
    } while (old.has_more);
}

/* Runs every operation on the rows that may be damaged. */
static void disturb(struct fa_t *t)
{
    struct faina_query query = {.ns = "*", .limit = 1000, .brief = true};
    struct faina_emit emit = {.type = "v.happen", .data = "{\"n\":2}"};
    struct faina_submit again = {.type = "v.rich", .input = "[1]", .idempotency_key = "v1"};
    struct faina_failure failure = {.message = "no"};
    struct faina_tasks *tasks;

    must(t, (struct fa_op){.kind = FA_OP_LIST, .query = &query});
    tasks = t->op.tasks;
    for (size_t i = 0; i < tasks->count; i++) {
        const char *id = tasks->items[i].id;

        if (strncmp(tasks->items[i].type, "v.", 2) != 0)
            continue;
        any(t, (struct fa_op){.kind = FA_OP_GET, .id = id});
        any(t, (struct fa_op){.kind = FA_OP_EVENTS, .id = id});
        any(t, (struct fa_op){.kind = FA_OP_CHILDREN, .id = id});
        any(t, (struct fa_op){.kind = FA_OP_EXPLAIN, .id = id});
        any(t, (struct fa_op){.kind = FA_OP_CLAIM, .id = id, .by = BY("x"), .wants_task = true});
        any(t, (struct fa_op){.kind = FA_OP_START, .id = id, .by = BY("x")});
        any(t, (struct fa_op){.kind = i % 2 ? FA_OP_COMPLETE : FA_OP_FAIL,
                              .id = id,
                              .by = BY("x"),
                              .failure = i % 2 ? NULL : &failure});
        any(t, (struct fa_op){.kind = FA_OP_RETRY, .id = id});
        any(t, (struct fa_op){.kind = FA_OP_CANCEL, .id = id});
        any(t, (struct fa_op){.kind = FA_OP_DELETE, .id = id, .removal = {.purge = i % 2}});
    }
    any(t, (struct fa_op){.kind = FA_OP_EMIT, .emit = &emit});
    any(t, (struct fa_op){.kind = FA_OP_SUBMIT, .submit = &again});
    any(t, (struct fa_op){.kind = FA_OP_CRON_RUN, .id = "v"});
}

void fa_bad_live(struct fa_t *t)
{
    fa_t_open(t);
    come_due(t);
    work_on(t);
    claim_any(t);
    look_around(t);
    disturb(t);
    fa_t_submit(t, .type = "o.last");
    work(t, "o.last");
    look_around(t);
    remove_old(t);
    fa_t_close(t);
}
