/*
 * test_filters.c - random filters, orders and pages, compared with a plain model, while another
 * thread writes.
 *
 * The model is the list of all tasks as they were read one by one. A filter is applied to it, and
 * the result is sorted; the pages of the engine must have the same tasks in the same order. What
 * the other thread writes is in a namespace of its own.
 */
#include "support/ops.h"

#include "base/clock.h"
#include "base/random.h"
#include "model/id.h"
#include "model/states.h"
#include "service/service.h"

#include <pthread.h>
#include <stdlib.h>

#define ROUNDS 1000 /* filters on each engine in this process */
#define TASKS 120
#define OFTEN 3 /* one of so many filters has a condition */

struct world {
    struct fa_t *t;
    struct fa_random random;
    struct fa_arena arena;
    struct faina_task *tasks[TASKS * 2];
    size_t count;
    char parent[FAINA_ID_SIZE], team[FAINA_ID_SIZE];
    int64_t begin_us, end_us;
    atomic_bool is_over;
};

static int64_t below(struct world *world, int64_t n)
{
    return (int64_t)(fa_random_next(&world->random) % (uint64_t)n);
}

static const char *pick(struct world *world, const char *const *words, size_t count)
{
    return words[below(world, (int64_t)count)];
}

#define PICK(world, ...)                                                                           \
    pick(world, (const char *const[]){__VA_ARGS__},                                                \
         sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

/* ------------------------------------------------------------------------------------------
 * The tasks
 */

static void submit_one(struct world *world, int i)
{
    static const char *const resources[] = {"gpu", "Disk"};
    struct fa_t *t = world->t;
    struct faina_submit submit = {
        .ns = PICK(world, "a", "a", "b"),
        .type = PICK(world, "x", "Y"),
        .name = PICK(world, "n1", "n2", NULL),
        .priority = (int)below(world, 5) - 2,
        .created_by = PICK(world, "ann", NULL),
        .team_id = below(world, 4) == 0 ? world->team : NULL,
        .metadata = PICK(world, "{\"a\":{\"b\":\"1\"},\"n\":1}", "{\"n\":2}", "{\"n\":1.0}", NULL),
        .resources = resources + below(world, 2),
        .resource_count = (size_t)below(world, 2),
        .delay_ms = below(world, 5) == 0 ? 3600000 + below(world, 3) * 1000 : 0,
    };

    if (below(world, 5) == 0)
        submit.idempotency_key = fa_arena_printf(&world->arena, "cron:s%d:2030-01-01T00:%02d:%02dZ",
                                                 (int)below(world, 2), i / 60, i % 60);
    if (!submit.resource_count)
        submit.resources = NULL;
    if (submit.team_id)
        submit.ns = "a"; /* the team's */
    CHECK_OK(
        t, fa_t_try_submit(t, .ns = submit.ns, .type = submit.type, .name = submit.name,
                           .priority = submit.priority, .created_by = submit.created_by,
                           .team_id = submit.team_id, .metadata = submit.metadata,
                           .resources = submit.resources, .resource_count = submit.resource_count,
                           .delay_ms = submit.delay_ms, .idempotency_key = submit.idempotency_key));
}

static void change_one(struct world *world, const char *id)
{
    struct fa_t *t = world->t;
    const char *worker = PICK(world, "w1", "w2");
    enum faina_code code = FAINA_OK;

    switch (below(world, 9)) {
    case 0:
        code = fa_t_cancel(t, id, NOBODY);
        break;
    case 1:
        code = fa_t_fail_with(t, id, NOBODY,
                              &(struct faina_failure){.message = "no",
                                                      .kind = PICK(world, "timeout", "oops"),
                                                      .permanent = true});
        break;
    case 2:
        code = fa_t_claim(t, id, worker);
        break;
    case 3:
        fa_t_take(t, id, worker);
        code = fa_t_complete(t, id, BY(worker), "1");
        break;
    case 4: /* it is delayed by its backoff */
        fa_t_take(t, id, worker);
        code = fa_t_fail_with(
            t, id, BY(worker),
            &(struct faina_failure){.message = "no", .kind = PICK(world, "timeout", "oops")});
        break;
    case 5:
        fa_t_take(t, id, worker);
        code = fa_t_background(t, id, BY(worker), 3600000);
        break;
    case 6:
        code = fa_t_cancel(t, id, NOBODY);
        CHECK_OK(t, code);
        code = fa_t_retry(t, id, NOBODY);
        break;
    case 7:
        fa_t_take(t, id, worker);
        code = fa_t_report(t, id, BY(worker),
                           &(struct faina_report){.metadata = "{\"a\":{\"b\":\"1\"}}"});
        break;
    default:
        break;
    }
    CHECK_OK(t, code);
}

static void add_children(struct world *world, const char *id)
{
    const struct faina_submit children[] = {{.type = "x", .ns = "a"},
                                            {.type = "Y", .ns = "a", .priority = 9}};

    memcpy(world->parent, id, FAINA_ID_SIZE);
    fa_t_take(world->t, world->parent, "w1");
    CHECK_OK(world->t, fa_t_block(world->t, world->parent, BY("w1"), children, 2));
}

/* Reads all tasks, one by one, into the model. */
static void read_all(struct world *world)
{
    struct fa_t *t = world->t;
    static const char *const spaces[] = {"a", "b"};

    for (size_t i = 0; i < 2; i++) {
        CHECK_OK(t, fa_t_list(t, .ns = spaces[i], .limit = 1000));
        for (size_t k = 0; k < t->op.tasks->count; k++) {
            struct fa_op op = {.kind = FA_OP_GET,
                               .id = fa_arena_strdup(&world->arena, t->op.tasks->items[k].id),
                               .arena = &world->arena};

            fa_service_run(t->svc, &op, 1);
            CHECK_INT(op.code, FAINA_OK);
            world->tasks[world->count++] = op.task;
        }
    }
    CHECK_INT(world->count, TASKS + 3);
}

static void populate(struct world *world)
{
    struct fa_t *t = world->t;
    char ids[TASKS][FAINA_ID_SIZE];

    world->begin_us = fa_clock_now_us();
    CHECK_OK(t, fa_t_team_put(t, &(struct faina_team){.name = "red", .ns = "a"}));
    memcpy(world->team, t->op.team_answer->id, FAINA_ID_SIZE);
    for (int i = 0; i < TASKS; i++) {
        submit_one(world, i);
        memcpy(ids[i], t->op.task_id, FAINA_ID_SIZE);
    }
    for (int i = 0; i < TASKS; i++)
        if (below(world, 3) > 0)
            change_one(world, ids[i]);
    fa_t_submit(t, .ns = "a", .type = "x");
    add_children(world, t->op.task_id);
    read_all(world);
    world->end_us = fa_clock_now_us();
}

/* ------------------------------------------------------------------------------------------
 * The model
 */

static bool is_or_any(const char *want, const char *have)
{
    return !want || (have && strcmp(want, have) == 0);
}

static bool is_in(int64_t us, int64_t after, int64_t before)
{
    return (after == 0 || us >= after) && (before == 0 || us < before);
}

static bool has_metadata(const char *path, const char *value, const char *metadata)
{
    bool has_ab = strstr(metadata, "\"b\":\"1\"") != NULL;
    bool has_n1 = strstr(metadata, "\"n\":1") != NULL, has_n2 = strstr(metadata, "\"n\":2") != NULL;

    if (strcmp(path, "a.b") == 0)
        return has_ab && strcmp(value, "1") == 0;
    return (has_n1 && strcmp(value, "1") == 0) || (has_n2 && strcmp(value, "2") == 0);
}

static bool fits(const struct faina_query *query, const struct faina_task *task)
{
    bool has_ended = task->status >= FAINA_COMPLETED;
    int64_t due = task->run_at_us ? task->run_at_us : task->created_us;
    size_t r = 0;

    while (query->resource && r < task->resource_count &&
           strcasecmp(task->resources[r], query->resource) != 0)
        r++;
    if (query->resource && r == task->resource_count)
        return false;
    if (query->error_kind &&
        !(task->error &&
          strstr(task->error, strcmp(query->error_kind, "oops") == 0 ? "\"oops\"" : "\"timeout\"")))
        return false;
    if (query->schedule &&
        !(task->idempotency_key && strncmp(task->idempotency_key + 5, query->schedule, 2) == 0))
        return false;
    for (size_t i = 0; i < query->metadata_count; i++)
        if (!has_metadata(query->metadata[i].path, query->metadata[i].value, task->metadata))
            return false;
    return strcmp(query->ns, task->ns) == 0 &&
           (query->statuses == 0 || query->statuses >> task->status & 1) &&
           (!query->type || strcasecmp(query->type, task->type) == 0) &&
           is_or_any(query->name, task->name) && is_or_any(query->created_by, task->created_by) &&
           is_or_any(query->team_id, task->team_id) &&
           is_or_any(query->parent_id, task->parent_id) &&
           is_or_any(query->idempotency_key, task->idempotency_key) &&
           is_or_any(query->worker_id, task->worker_id) &&
           is_in(task->created_us, query->created_after_us, query->created_before_us) &&
           is_in(task->updated_us, query->updated_after_us, query->updated_before_us) &&
           ((!query->ended_after_us && !query->ended_before_us) ||
            (has_ended &&
             is_in(task->completed_us, query->ended_after_us, query->ended_before_us))) &&
           (!query->due_before_us || (task->status == FAINA_PENDING && due < query->due_before_us));
}

static int64_t place(enum faina_sort sort, const struct faina_task *task)
{
    struct fa_id id;

    CHECK_TRUE(fa_id_parse(task->id, &id));
    switch (sort) {
    case FAINA_SORT_UPDATED:
        return task->updated_us;
    case FAINA_SORT_PRIORITY:
        return task->priority;
    case FAINA_SORT_RUN_AT:
        return task->run_at_us ? task->run_at_us : fa_id_key_us(id.key);
    case FAINA_SORT_CREATED:
        break;
    }
    return 0;
}

/* Whether `a` is listed before `b`. */
static bool precedes(const struct faina_query *query, const struct faina_task *a,
                     const struct faina_task *b)
{
    int64_t x = place(query->sort, a), y = place(query->sort, b);

    if (x != y)
        return query->ascending ? x < y : x > y;
    /* The oldest first among those of one priority. */
    return (query->ascending != (query->sort == FAINA_SORT_PRIORITY)) ? strcmp(a->id, b->id) < 0
                                                                      : strcmp(a->id, b->id) > 0;
}

static size_t expect(struct world *world, const struct faina_query *query,
                     const struct faina_task **out)
{
    size_t count = 0;

    for (size_t i = 0; i < world->count; i++) {
        size_t at = count;

        if (!fits(query, world->tasks[i]))
            continue;
        for (; at > 0 && precedes(query, world->tasks[i], out[at - 1]); at--)
            out[at] = out[at - 1];
        out[at] = world->tasks[i];
        count++;
    }
    return count;
}

/* ------------------------------------------------------------------------------------------
 * Filters
 */

static int64_t random_time(struct world *world)
{
    return world->begin_us + below(world, world->end_us - world->begin_us);
}

static struct faina_query random_query(struct world *world, struct faina_metadata_is *metadata)
{
    struct faina_query query = {.ns = PICK(world, "a", "a", "b"),
                                .limit = 1 + (int)below(world, 40),
                                .brief = below(world, 2) == 0,
                                .sort = (enum faina_sort)below(world, 4),
                                .ascending = below(world, 2) == 0};

    if (below(world, OFTEN) == 0)
        query.statuses = (unsigned)below(world, 1 << FAINA_STATUS_COUNT);
    if (below(world, OFTEN) == 0)
        query.type = PICK(world, "X", "y", "none");
    switch (below(world, 12)) {
    case 0:
        query.team_id = world->team;
        break;
    case 1:
        query.parent_id = world->parent;
        break;
    case 2:
        query.created_by = "ann";
        break;
    case 3:
        query.worker_id = PICK(world, "w1", "w2");
        break;
    case 4:
        query.resource = PICK(world, "GPU", "disk", "none");
        break;
    case 5:
        query.error_kind = PICK(world, "timeout", "oops");
        break;
    case 6:
        query.schedule = PICK(world, "s0", "s1");
        break;
    case 7:
        *metadata = below(world, 2) ? (struct faina_metadata_is){"a.b", "1"}
                                    : (struct faina_metadata_is){"n", PICK(world, "1", "2")};
        query.metadata = metadata;
        query.metadata_count = 1;
        break;
    case 8:
        query.ended_after_us = random_time(world);
        break;
    case 9:
        query.ended_before_us = random_time(world);
        break;
    case 10:
        query.due_before_us = random_time(world) + below(world, 2) * INT64_C(3600500000);
        break;
    default:
        query.name = PICK(world, "n1", NULL, NULL);
        break;
    }
    if (below(world, OFTEN * 2) == 0)
        query.created_after_us = random_time(world);
    if (below(world, OFTEN * 2) == 0)
        query.updated_before_us = random_time(world);
    if (below(world, OFTEN * 4) == 0)
        query.idempotency_key = world->tasks[below(world, (int64_t)world->count)]->idempotency_key;
    return query;
}

static void check_one(struct world *world, int round)
{
    const struct faina_task *want[TASKS * 2];
    struct faina_metadata_is metadata;
    struct faina_query query = random_query(world, &metadata);
    struct fa_arena arena = {0};
    size_t count, seen = 0;

    count = expect(world, &query, want);
    do {
        struct fa_op op = {.kind = FA_OP_LIST, .query = &query, .arena = &arena};

        fa_service_run(world->t->svc, &op, 1);
        CHECK(op.code == FAINA_OK, "round %d: %s", round, op.error.message);
        CHECK_TRUE(op.tasks->count <= (size_t)query.limit);
        for (size_t i = 0; i < op.tasks->count; i++, seen++) {
            const char *id = op.tasks->items[i].id;

            CHECK(seen < count && strcmp(id, want[seen]->id) == 0,
                  "round %d, sort %d%s, statuses %x: task %zu of %zu is %s, wanted %s", round,
                  query.sort, query.ascending ? " ascending" : "", query.statuses, seen, count, id,
                  seen < count ? want[seen]->id : "no more");
        }
        query.cursor = op.tasks->next_cursor;
    } while (query.cursor);
    CHECK(seen == count, "round %d, sort %d%s, statuses %x: %zu of %zu tasks", round, query.sort,
          query.ascending ? " ascending" : "", query.statuses, seen, count);
    fa_arena_finish(&arena);
}

/* ------------------------------------------------------------------------------------------
 * Meanwhile
 */

static void *write_others(void *ctx)
{
    struct world *world = ctx;

    for (int i = 0; !atomic_load(&world->is_over); i++) {
        const struct faina_submit submit = {
            .ns = "other", .type = "x", .priority = i % 3, .delay_ms = i % 4 == 0 ? 3600000 : 0};
        struct fa_arena arena = {0};
        struct fa_op op = {.kind = FA_OP_SUBMIT, .submit = &submit, .arena = &arena};

        fa_service_run(world->t->svc, &op, 1);
        if (i % 2 == 0) {
            op = (struct fa_op){
                .kind = FA_OP_CANCEL, .id = fa_arena_strdup(&arena, op.task_id), .arena = &arena};
            fa_service_run(world->t->svc, &op, 1);
        }
        fa_arena_finish(&arena);
    }
    return NULL;
}

static void test_filters__random_ones_follow_the_model(struct fa_t *t)
{
    struct world *world = fa_alloc_zero(1, sizeof(*world));
    int64_t rounds = fa_t_env_int("FA_FILTER_ROUNDS", ROUNDS);
    pthread_t writer;

    if (t->is_served || strncmp(t->url, "postgres", 8) == 0)
        rounds /= 4; /* over a network each takes longer */
    world->t = t;
    fa_random_seed(&world->random, fa_t_seed());
    populate(world);
    CHECK_INT(pthread_create(&writer, NULL, write_others, world), 0);
    for (int i = 0; i < rounds; i++)
        check_one(world, i);
    atomic_store(&world->is_over, true);
    pthread_join(writer, NULL);
    fa_arena_finish(&world->arena);
    free(world);
}

int main(int argc, char **argv)
{
    static const struct fa_t_case cases[] = {
        FA_T_CASE_SQL(test_filters__random_ones_follow_the_model),
    };

    return fa_t_main(argc, argv, "filters", cases, FA_COUNT(cases));
}
