/*
 * bench_lists.c - lists of tasks: the first page of every filter in every order, among very many
 * ended tasks.
 *
 * The tasks are submitted, claimed and ended through the engine. Each filter selects tasks that
 * are rare and the oldest, so that a list with the newest first finds them last, or not at all
 * before the bound on the rows of one call (store/read/list_inner.h, L1). In each round, each list
 * is read once; the first round is a warm-up. The list with the highest median is reported.
 */
#include "base/clock.h"
#include "bench/bench_driver.h"
#include "bench/bench_fill_postgres.h"
#include "cli/text.h"
#include "model/failure_group.h"

#include <stdlib.h>

#define TASKS 1000000
#define HUGE_TASKS 10000000
#define QUICK_TASKS 2000
#define BATCH 1000
#define RARE 5       /* tasks that the filters select */
#define CHILDREN 500 /* of one parent */
#define WAITING 1000 /* tasks that are not ended */
#define HELD 100     /* ... of which a worker holds these */
#define LIMIT 50
#define MS_MAX 50
#define RUN_AT_AGO_US 3600000000
#define WORKER "bench"
#define TEAM "11111111-2222-4333-8444-555555555555"

#define FILTERS_MAX 40
#define ORDERS 8 /* four, each in two directions */

static const char *const sorts[] = {"created", "updated", "priority", "runAt"};

struct filter {
    const char *name;
    struct faina_query query;
    struct fa_bench_rounds ms[ORDERS];
};

struct lists {
    struct fa_bench *bench;
    struct fa_service *service;
    struct fa_arena arena; /* of one call */
    struct fa_op *ops;
    struct faina_submit *submits;
    int64_t tasks, submitted, ended;
    int64_t started_us, middle_us; /* of the fill */
    char parent[FAINA_ID_SIZE], group[FA_FAILURE_ID_SIZE];
    struct filter *filters;
    size_t filter_count;
};

static enum faina_code run(struct lists *lists, size_t count, struct faina_error *err)
{
    fa_service_run(lists->service, lists->ops, count);
    for (size_t i = 0; i < count; i++) {
        const struct fa_op *op = &lists->ops[i];

        if (op->code != FAINA_OK)
            return fa_error_set(err, op->code, "%s was refused: %s", fa_op_name(op->kind),
                                op->error.message);
    }
    return FAINA_OK;
}

static enum faina_code run_one(struct lists *lists, struct fa_op op, struct faina_error *err)
{
    lists->ops[0] = op;
    lists->ops[0].arena = &lists->arena;
    return run(lists, 1, err);
}

/* ------------------------------------------------------------------------------------------
 * Filling
 */

/* The first tasks have what the filters select; of the others, each tenth has one property. */
static struct faina_submit submit_of(struct lists *lists, int64_t number)
{
    static const char *const rare_resource[] = {"bench.rare"}, *const resource[] = {"bench.used"};
    struct fa_arena *arena = &lists->arena;
    struct faina_submit submit = {
        .type = fa_arena_printf(arena, "bench.list-%d", (int)(number % 10)),
        .input = fa_bench_input(&lists->bench->inputs, (uint64_t)number),
        .max_attempts = 1,
    };

    if (number < RARE) {
        submit.type = "bench.rare";
        submit.name = submit.created_by = submit.group = "rare";
        submit.metadata = "{\"customer\":{\"region\":\"rare\"}}";
        submit.resources = rare_resource;
        submit.resource_count = 1;
        submit.idempotency_key = fa_arena_printf(arena, "rare %lld", (long long)number);
        submit.team_id = TEAM;
        return submit;
    }
    if (number % 2 == 0)
        submit.metadata = fa_arena_printf(arena, "{\"customer\":{\"region\":\"r%lld\"}}",
                                          (long long)(number % 1000));
    switch (number / 10 % 10) {
    case 0:
        submit.priority = 5;
        break;
    case 1:
        submit.priority = -5;
        break;
    case 2:
        submit.group = fa_arena_printf(arena, "group %lld", (long long)(number % 997));
        break;
    case 3:
        submit.created_by = "bench";
        break;
    case 4:
        submit.resources = resource;
        submit.resource_count = 1;
        break;
    case 5:
        submit.run_at_us = lists->started_us - RUN_AT_AGO_US + number;
        break;
    case 6:
        submit.idempotency_key = fa_arena_printf(arena, "key %lld", (long long)number);
        break;
    case 7:
        submit.name = fa_arena_printf(arena, "name %lld", (long long)(number % 100));
        break;
    default:
        break;
    }
    return submit;
}

static enum faina_code submit_some(struct lists *lists, int64_t count, struct faina_error *err)
{
    fa_arena_reset(&lists->arena);
    for (int64_t i = 0; i < count; i++) {
        lists->submits[i] = submit_of(lists, lists->submitted++);
        lists->ops[i] = (struct fa_op){
            .kind = FA_OP_SUBMIT, .submit = &lists->submits[i], .arena = &lists->arena};
    }
    return run(lists, (size_t)count, err);
}

static enum faina_code claim_some(struct lists *lists, int limit, const struct faina_tasks **out,
                                  struct faina_error *err)
{
    static const struct faina_claim like = {
        .worker_id = WORKER, .lease_ms = FA_BENCH_LEASE_MS, .wait_ms = 10000};
    struct faina_claim claim = like;
    enum faina_code code;

    fa_arena_reset(&lists->arena);
    claim.limit = limit;
    lists->ops[0] =
        (struct fa_op){.kind = FA_OP_CLAIM_NEXT, .claim = &claim, .arena = &lists->arena};
    code = fa_service_claim_wait(lists->service, &lists->ops[0], err);
    *out = lists->ops[0].tasks;
    if (code == FAINA_OK && (*out)->count == 0)
        code = fa_error_set(err, FAINA_INTERNAL, "a claim found no task, though some wait");
    return code;
}

/* Most tasks complete; of 20, one fails, one has no attempt left and one is cancelled. The first
 * failure is of a kind of its own. */
static struct fa_op end_of(struct lists *lists, const struct faina_task *task)
{
    static const struct faina_failure failures[] = {
        {.message = "no answer after 30 s", .kind = "Timeout", .permanent = true},
        {.message = "the connection was reset", .kind = "Network"},
        {.message = "the disk is full", .kind = "Rare", .permanent = true},
    };
    int64_t number = lists->ended++;
    struct fa_op op = {.kind = FA_OP_COMPLETE,
                       .id = task->id,
                       .by = {.worker_id = WORKER, .fence = task->fence},
                       .arena = &lists->arena};

    if (number == 0 || number % 20 == 1 || number % 20 == 2) {
        op.kind = FA_OP_FAIL;
        op.failure = &failures[number == 0 ? 2 : number % 20 - 1];
    } else if (number % 20 == 3) {
        op = (struct fa_op){
            .kind = FA_OP_CANCEL, .id = task->id, .is_unaudited = true, .arena = &lists->arena};
    } else {
        op.output = FA_BENCH_OUTPUT;
    }
    return op;
}

static enum faina_code end_all(struct lists *lists, int64_t count, struct faina_error *err)
{
    enum faina_code code = FAINA_OK;

    for (int64_t done = 0; code == FAINA_OK && done < count;) {
        const struct faina_tasks *tasks;

        code = claim_some(lists, BATCH, &tasks, err);
        if (code != FAINA_OK)
            break;
        for (size_t i = 0; i < tasks->count; i++)
            lists->ops[i] = end_of(lists, &tasks->items[i]);
        done += (int64_t)tasks->count;
        code = run(lists, tasks->count, err);
    }
    return code;
}

/* A parent with subtasks. It ends with the next tasks, or by their failures. */
static enum faina_code make_family(struct lists *lists, struct faina_error *err)
{
    static const struct faina_submit parent = {.type = "bench.parent"};
    struct faina_submit children[CHILDREN];
    struct faina_by by = {.worker_id = WORKER};
    const struct faina_tasks *tasks = NULL;
    enum faina_code code =
        run_one(lists, (struct fa_op){.kind = FA_OP_SUBMIT, .submit = &parent}, err);

    for (size_t i = 0; i < CHILDREN; i++)
        children[i] = (struct faina_submit){.type = "bench.child", .max_attempts = 1};
    if (code == FAINA_OK)
        code = claim_some(lists, 1, &tasks, err);
    if (code != FAINA_OK)
        return code;
    memcpy(lists->parent, tasks->items[0].id, sizeof lists->parent);
    by.fence = tasks->items[0].fence;
    code = run_one(lists, (struct fa_op){.kind = FA_OP_START, .id = lists->parent, .by = by}, err);
    if (code == FAINA_OK)
        code = run_one(lists,
                       (struct fa_op){.kind = FA_OP_BLOCK,
                                      .id = lists->parent,
                                      .by = by,
                                      .block = {.subtasks = children, .count = CHILDREN}},
                       err);
    if (code == FAINA_OK)
        code = end_all(lists, CHILDREN, err);
    return code;
}

static enum faina_code settle(const struct lists *lists, const char *location,
                              struct faina_error *err)
{
    struct fa_bench_session *session;
    char schema[128];
    enum faina_code code;

    if (!fa_bench_is_postgres(lists->bench))
        return FAINA_OK;
    snprintf(schema, sizeof schema, "%.90s_0", location);
    code = fa_bench_session_open(&session, lists->bench, schema, err);
    if (code == FAINA_OK)
        code = fa_bench_fill_settle(session, err);
    if (code == FAINA_OK)
        fa_bench_session_close(session);
    return code;
}

static enum faina_code fill(struct lists *lists, const char *location, struct faina_error *err)
{
    struct faina_team team = {.id = TEAM, .name = "bench"};
    const struct faina_tasks *held;
    enum faina_code code;

    lists->started_us = fa_clock_now_us();
    code = run_one(lists, (struct fa_op){.kind = FA_OP_TEAM_PUT, .team = &team}, err);
    if (code == FAINA_OK)
        code = make_family(lists, err);
    while (code == FAINA_OK && lists->submitted < lists->tasks) {
        fa_bench_progress_bar(lists->bench, "lists", lists->submitted, lists->tasks);
        if (lists->submitted == lists->tasks / 2)
            lists->middle_us = fa_clock_now_us();
        code = submit_some(lists, BATCH, err);
        if (code == FAINA_OK)
            code = end_all(lists, BATCH, err);
    }
    if (code == FAINA_OK)
        code = submit_some(lists, WAITING, err);
    if (code == FAINA_OK)
        code = claim_some(lists, HELD, &held, err);
    return code == FAINA_OK ? settle(lists, location, err) : code;
}

/* The group of the one failure of its kind. */
static enum faina_code find_failure_group(struct lists *lists, struct faina_error *err)
{
    static const struct fa_failure_query query = {0};
    const struct fa_failure_groups *groups;
    enum faina_code code =
        run_one(lists, (struct fa_op){.kind = FA_OP_FAILURES, .failure_query = &query}, err);

    if (code != FAINA_OK)
        return code;
    groups = lists->ops[0].failures;
    if (groups->count == 0)
        return fa_error_set(err, FAINA_INTERNAL, "there is no group of failures");
    memcpy(lists->group, groups->items[groups->count - 1].id, sizeof lists->group);
    return FAINA_OK;
}

/* ------------------------------------------------------------------------------------------
 * Reading
 */

static void add_filter(struct lists *lists, const char *name, struct faina_query query)
{
    struct filter *filter = &lists->filters[lists->filter_count++];

    *filter = (struct filter){.name = name, .query = query};
    filter->query.limit = LIMIT;
}

#define FILTER(name, ...) add_filter(lists, name, (struct faina_query){__VA_ARGS__})
#define ONLY(status) .statuses = 1u << FAINA_##status

static void add_filters(struct lists *lists)
{
    static const struct faina_metadata_is region = {"customer.region", "rare"};
    int64_t start_us = lists->started_us, middle_us = lists->middle_us;

    FILTER("no filter", .ns = NULL);
    FILTER("all namespaces", .ns = "*");
    FILTER("status completed", ONLY(COMPLETED));
    FILTER("status failed", ONLY(FAILED));
    FILTER("status dead_letter", ONLY(DEAD_LETTER));
    FILTER("status cancelled", ONLY(CANCELLED));
    FILTER("status pending", ONLY(PENDING));
    FILTER("status running or failed", .statuses = 1u << FAINA_RUNNING | 1u << FAINA_FAILED);
    FILTER("type", .type = "bench.rare");
    FILTER("type and status", .type = "bench.rare", ONLY(COMPLETED));
    FILTER("common type", .type = "bench.list-3");
    FILTER("name", .name = "rare");
    FILTER("team", .team_id = TEAM);
    FILTER("parent", .parent_id = lists->parent);
    FILTER("createdBy", .created_by = "rare");
    FILTER("common createdBy", .created_by = "bench");
    FILTER("key", .idempotency_key = "rare 1");
    FILTER("worker", .worker_id = WORKER);
    FILTER("resource", .resource = "bench.rare");
    FILTER("common resource", .resource = "bench.used");
    FILTER("error kind", .error_kind = "Rare");
    FILTER("failure group", .failure_group = lists->group);
    FILTER("workflow", .origin = "none");
    FILTER("schedule", .schedule = "none");
    FILTER("metadata", .metadata = &region, .metadata_count = 1);
    FILTER("group", .group = "rare");
    FILTER("common group", .group = "group 1");
    FILTER("created after", .created_after_us = middle_us);
    FILTER("created before", .created_before_us = start_us + 1);
    FILTER("updated after", .updated_after_us = middle_us);
    FILTER("updated before", .updated_before_us = start_us + 1);
    FILTER("ended after", .ended_after_us = middle_us);
    FILTER("ended before", .ended_before_us = start_us + 1);
    FILTER("due before", .due_before_us = middle_us);
}

static enum faina_code read_lists(struct lists *lists, bool is_kept, struct faina_error *err)
{
    for (size_t i = 0; i < lists->filter_count * ORDERS; i++) {
        struct filter *filter = &lists->filters[i / ORDERS];
        struct fa_op op = {.kind = FA_OP_LIST, .query = &filter->query, .arena = &lists->arena};
        int64_t start_ns;
        enum faina_code code;

        filter->query.sort = (enum faina_sort)(i % ORDERS / 2);
        filter->query.ascending = i % 2 == 1;
        fa_arena_reset(&lists->arena);
        start_ns = fa_clock_mono_ns();
        code = fa_service_run_one(lists->service, &op, err);
        if (code != FAINA_OK)
            return code;
        if (is_kept)
            fa_bench_rounds_add(&filter->ms[i % ORDERS],
                                (double)(fa_clock_mono_ns() - start_ns) / 1e6);
    }
    return FAINA_OK;
}

static void report(struct lists *lists)
{
    size_t slowest = 0;
    double slowest_ms = 0;
    char count[FA_TEXT_COUNT_SIZE];

    for (size_t i = 0; i < lists->filter_count * ORDERS; i++) {
        double ms = fa_bench_median(&lists->filters[i / ORDERS].ms[i % ORDERS]);

        if (ms > slowest_ms) {
            slowest = i;
            slowest_ms = ms;
        }
    }
    fa_bench_value_add(&lists->bench->report,
                       &lists->filters[slowest / ORDERS].ms[slowest % ORDERS], FA_BENCH_AT_MOST,
                       MS_MAX, "ms of a page among %s ended, slowest: %s by %s, %s",
                       fa_text_count(lists->tasks, count), lists->filters[slowest / ORDERS].name,
                       sorts[slowest % ORDERS / 2], slowest % 2 == 1 ? "asc" : "desc");
    fa_bench_value_add(&lists->bench->report, &lists->filters[0].ms[0], FA_BENCH_NO_AIM, 0,
                       "    ... without a filter, the newest first");
}

enum faina_code fa_bench_lists(struct fa_bench *bench, const char *name, struct faina_error *err)
{
    struct lists lists = {.bench = bench,
                          .tasks = bench->is_quick  ? QUICK_TASKS
                                   : bench->is_huge ? HUGE_TASKS
                                                    : TASKS};
    char location[4100];
    enum faina_code code = fa_bench_location_make(bench, name, location, sizeof location, err);

    if (code != FAINA_OK)
        return code;
    lists.ops = fa_alloc_zero(BATCH, sizeof *lists.ops);
    lists.submits = fa_alloc_zero(BATCH, sizeof *lists.submits);
    lists.filters = fa_alloc_zero(FILTERS_MAX, sizeof *lists.filters);
    code = fa_bench_service_open(&lists.service, bench, location, "0", err);
    if (code == FAINA_OK)
        code = fill(&lists, location, err);
    if (code == FAINA_OK)
        code = find_failure_group(&lists, err);
    add_filters(&lists);
    for (int round = 0; code == FAINA_OK && round <= bench->rounds; round++) {
        fa_bench_progress_bar(bench, name, round, bench->rounds + 1);
        code = read_lists(&lists, round > 0, err);
    }
    fa_bench_progress_clear(bench);
    if (code == FAINA_OK)
        report(&lists);
    fa_service_close(lists.service);
    fa_arena_finish(&lists.arena);
    free(lists.filters);
    free(lists.submits);
    free(lists.ops);
    fa_bench_location_remove(bench, location);
    return code;
}
