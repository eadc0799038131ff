/*
 * test_pool.c - the pool with C functions: outcomes, subtasks, limits, leases, stopping.
 */
#include "worker/world.h"

#include "base/clock.h"
#include "model/limits.h"

#include <stdlib.h>
#include <unistd.h>

#define COUNT_OF(x) ((int)FA_COUNT(x))

/* ------------------------------------------------------------------------------------------
 * Handlers
 */

static enum faina_outcome echo(struct faina_context *context, void *user)
{
    (void)user;
    faina_context_output(context, faina_context_task(context)->input, NULL);
    return FAINA_OUTCOME_COMPLETE;
}

static enum faina_outcome count_up(struct faina_context *context, void *user)
{
    (void)context;
    atomic_fetch_add((atomic_int *)user, 1);
    return FAINA_OUTCOME_COMPLETE;
}

static void nap(int64_t ms)
{
    usleep((useconds_t)ms * 1000);
}

/* A gate that handlers wait at. */
struct gate {
    atomic_int waiting, most;
    atomic_bool is_open;
};

static enum faina_outcome wait_at_gate(struct faina_context *context, void *user)
{
    struct gate *gate = user;

    atomic_fetch_add(&gate->waiting, 1);
    while (!atomic_load(&gate->is_open) && !faina_context_cancelled(context))
        nap(1);
    atomic_fetch_sub(&gate->waiting, 1);
    return atomic_load(&gate->is_open) ? FAINA_OUTCOME_COMPLETE : FAINA_OUTCOME_FAILED;
}

static bool some_wait(struct fa_t *t, void *arg)
{
    (void)t;
    return atomic_load(&((struct gate *)arg)->waiting) > 0;
}

static bool is_gate_empty(struct fa_t *t, void *arg)
{
    (void)t;
    return atomic_load(&((struct gate *)arg)->waiting) == 0;
}

/* ------------------------------------------------------------------------------------------
 * Outcomes
 */

static enum faina_outcome any_outcome(struct faina_context *context, void *user)
{
    const char *input = faina_context_task(context)->input;
    struct faina_failure failure = {.message = "gone", .kind = "k", .detail = "[1]"};

    (void)user;
    if (strcmp(input, "\"complete\"") == 0)
        return FAINA_OUTCOME_COMPLETE;
    if (strcmp(input, "\"background\"") == 0) {
        faina_context_background(context, "elsewhere", 60000, NULL);
        return FAINA_OUTCOME_BACKGROUND;
    }
    failure.permanent = strcmp(input, "\"permanent\"") == 0;
    if (failure.permanent || strcmp(input, "\"failed\"") == 0)
        faina_context_error(context, &failure, NULL);
    if (strcmp(input, "\"blocked\"") == 0)
        return FAINA_OUTCOME_BLOCKED;
    if (strcmp(input, "\"nonsense\"") == 0)
        return (enum faina_outcome)77;
    return FAINA_OUTCOME_FAILED;
}

static void test_pool__outcomes(struct fa_t *t)
{
    static const struct {
        const char *input;
        enum faina_status status;
        const char *error;
    } cases[] = {
        {"\"complete\"", FAINA_COMPLETED, NULL},
        {"\"background\"", FAINA_BACKGROUND, NULL},
        {"\"failed\"", FAINA_DEAD_LETTER, "{\"message\":\"gone\",\"kind\":\"k\",\"detail\":[1],"},
        {"\"permanent\"", FAINA_FAILED, "gone"},
        {"\"silent\"", FAINA_DEAD_LETTER, "without an error message"},
        {"\"blocked\"", FAINA_FAILED, "waits for subtasks and has made none"},
        {"\"nonsense\"", FAINA_FAILED, "77, which is no outcome"},
    };
    struct world w;

    world_open(&w, t);
    world_start(&w);
    world_native(&w, "any", any_outcome, NULL);
    for (int i = 0; i < COUNT_OF(cases); i++) {
        struct faina_task *task = world_try(&w, "any", cases[i].input, 1, cases[i].status);

        if (cases[i].error)
            CHECK_HAS(task->error, cases[i].error);
    }
    world_close(&w);
}

static enum faina_outcome bad_calls(struct faina_context *context, void *user)
{
    struct faina_error err;
    struct faina_submit empty = {0};
    char id[FAINA_ID_SIZE] = "";
    struct faina_failure mute = {0};

    (void)user;
    CHECK_INT(faina_context_output(context, "{", &err), FAINA_INVALID_REQUEST);
    CHECK_INT(faina_context_error(context, &mute, &err), FAINA_INVALID_REQUEST);
    CHECK_INT(faina_context_error(context, NULL, NULL), FAINA_INVALID_REQUEST);
    CHECK_INT(faina_context_subtask(context, &empty, NULL, &err), FAINA_INVALID_TASK);
    CHECK_INT(faina_context_subtask(context, NULL, NULL, NULL), FAINA_INVALID_REQUEST);
    CHECK_INT(faina_context_subtask(context, &(struct faina_submit){.type = "x"}, id, &err),
              FAINA_INVALID_REQUEST);
    CHECK_STR(err.field, "name");
    CHECK_STR(id, "");
    CHECK_INT(faina_context_metadata(context, "[]", &err), FAINA_INVALID_REQUEST);
    faina_context_progress(context, 101, NULL);
    faina_context_progress(context, 30, "third");
    CHECK_INT(faina_context_output(context, "\"fine\"", &err), FAINA_OK);
    CHECK_TRUE(faina_context_find(context, "x") == NULL);
    return FAINA_OUTCOME_COMPLETE;
}

static void test_pool__bad_calls_change_nothing(struct fa_t *t)
{
    struct world w;

    world_open(&w, t);
    world_start(&w);
    world_native(&w, "bad", bad_calls, NULL);
    CHECK_STR(world_try(&w, "bad", NULL, 1, FAINA_COMPLETED)->output, "\"fine\"");
    world_close(&w);
}

/* ------------------------------------------------------------------------------------------
 * Many tasks
 */

static void test_pool__each_task_is_done_once(struct fa_t *t)
{
    enum { COUNT = 5000, BATCH = 500 };
    struct fa_op *ops = fa_alloc_zero(BATCH, sizeof(*ops));
    struct faina_submit submit = {.type = "count"};
    atomic_int done = 0;
    struct world w;

    world_open(&w, t);
    world_start(&w);
    world_native(&w, "count", count_up, &done);
    for (int at = 0; at < COUNT; at += BATCH) {
        for (int i = 0; i < BATCH; i++)
            ops[i] = (struct fa_op){.kind = FA_OP_SUBMIT, .submit = &submit, .arena = &t->arena};
        fa_service_run(t->svc, ops, BATCH);
    }
    free(ops);
    for (int64_t left = COUNT; left > 0;) {
        CHECK_OK(t, fa_t_stats(t, NULL));
        left = COUNT - t->op.stats->by_status[FAINA_COMPLETED];
        nap(5);
    }
    world_stop(&w, 1000);
    CHECK_INT(atomic_load(&done), COUNT);
    world_close(&w);
}

static void test_pool__high_priority_goes_first(struct fa_t *t)
{
    const char *ids[40];
    int64_t last_us = 0;
    struct world w;

    world_open(&w, t);
    for (int i = 0; i < COUNT_OF(ids); i++)
        ids[i] = fa_t_submit(t, .type = "echo", .priority = i);
    w.config.concurrency = 1;
    world_start(&w);
    world_native(&w, "echo", echo, NULL);
    for (int i = COUNT_OF(ids) - 1; i >= 0; i--) {
        int64_t at_us = world_await(&w, ids[i], FAINA_COMPLETED)->completed_us;

        CHECK_TRUE(at_us >= last_us);
        last_us = at_us;
    }
    world_close(&w);
}

static enum faina_outcome output_count(struct faina_context *context, void *user)
{
    char output[16];

    snprintf(output, sizeof(output), "%d", atomic_load((atomic_int *)user));
    faina_context_output(context, output, NULL);
    return FAINA_OUTCOME_COMPLETE;
}

/* Types with a limit share the queue order with the others. */
static void test_pool__a_limit_does_not_send_to_the_end(struct fa_t *t)
{
    enum { COUNT = 200 };
    struct faina_handler limited = {.on_start = output_count, .concurrency = 1};
    struct gate gate = {0};
    const char *urgent;
    atomic_int done = 0;
    struct world w;

    world_open(&w, t);
    w.config.concurrency = 1;
    world_start(&w);
    world_native(&w, "gate", wait_at_gate, &gate);
    world_native(&w, "count", count_up, &done);
    world_handler(&w, "urgent", &limited, &done);
    fa_t_submit(t, .type = "gate");
    fa_t_wait_until(some_wait, t, &gate, "the one slot");
    for (int i = 0; i < COUNT; i++)
        fa_t_submit(t, .type = "count");
    urgent = fa_t_submit(t, .type = "urgent", .priority = 100);
    atomic_store(&gate.is_open, true);
    CHECK_STR(world_await(&w, urgent, FAINA_COMPLETED)->output, "0");
    world_close(&w);
}

/* A handler that replaces another, or is added again, gets the remaining slots of its type. */
static void test_pool__a_limit_holds_across_a_change(struct fa_t *t)
{
    struct faina_handler one = {.on_start = wait_at_gate, .concurrency = 1};
    struct gate gate = {0};
    const char *ids[3];
    struct world w;

    world_open(&w, t);
    world_start(&w);
    for (int i = 0; i < COUNT_OF(ids); i++) {
        ids[i] = fa_t_submit(t, .type = "gate");
        world_handler(&w, "gate", &one, &gate);
        fa_t_wait_until(some_wait, t, &gate, "the first one");
        nap(50);
        CHECK_INT(atomic_load(&gate.waiting), 1);
    }
    atomic_store(&gate.is_open, true);
    for (int i = 0; i < COUNT_OF(ids); i++)
        world_await(&w, ids[i], FAINA_COMPLETED);
    world_close(&w);
}

static bool holds_one(struct fa_t *t, void *arg)
{
    (void)t;
    return world_stats(arg).held == 1;
}

/* Many tasks that end at once cause prefetching; the tasks after them take long. */
static void test_pool__what_waits_for_long_is_given_back(struct fa_t *t)
{
    enum { FAST = 3000, SLOW = 20 };
    struct gate gate = {0};
    const char *ids[SLOW];
    atomic_int done = 0;
    struct world w;

    world_open(&w, t);
    w.config.concurrency = 1;
    for (int i = 0; i < FAST; i++)
        fa_t_submit(t, .type = "count");
    for (int i = 0; i < SLOW; i++)
        ids[i] = fa_t_submit(t, .type = "gate", .max_attempts = 1);
    world_start(&w);
    world_native(&w, "count", count_up, &done);
    world_native(&w, "gate", wait_at_gate, &gate);
    fa_t_wait_until(some_wait, t, &gate, "a slow one");
    fa_t_wait_until(holds_one, t, &w, "the others are given back");
    CHECK_INT(atomic_load(&done), FAST);
    for (int i = 1; i < SLOW; i++)
        fa_t_wait_status(t, ids[i], FAINA_PENDING);
    CHECK_INT(fa_t_task(t, ids[1])->attempts, 0);
    atomic_store(&gate.is_open, true);
    for (int i = 0; i < SLOW; i++)
        world_await(&w, ids[i], FAINA_COMPLETED);
    world_close(&w);
}

static bool holds_none_of_limited(struct fa_t *t, void *arg)
{
    return fa_t_status(t, arg) == FAINA_PENDING;
}

/* ... and one of them has a limit of its own: it is claimed again when there is a slot. */
static void test_pool__what_was_given_back_comes_again(struct fa_t *t)
{
    enum { FAST = 3000 };
    struct faina_handler limited = {.on_start = echo, .concurrency = 1};
    struct gate gate = {0};
    atomic_int done = 0;
    const char *id;
    struct world w;

    world_open(&w, t);
    w.config.concurrency = 1;
    for (int i = 0; i < FAST; i++)
        fa_t_submit(t, .type = "count");
    fa_t_submit(t, .type = "gate");
    id = fa_t_submit(t, .type = "limited", .input = "1");
    world_start(&w);
    world_native(&w, "count", count_up, &done);
    world_native(&w, "gate", wait_at_gate, &gate);
    world_handler(&w, "limited", &limited, NULL);
    fa_t_wait_until(some_wait, t, &gate, "the slow one");
    nap(700); /* prefetched tasks are released by now */
    fa_t_wait_until(holds_none_of_limited, t, (void *)(uintptr_t)id, "it is given back");
    atomic_store(&gate.is_open, true);
    world_await(&w, id, FAINA_COMPLETED);
    world_close(&w);
}

/* ------------------------------------------------------------------------------------------
 * Subtasks
 */

struct tree {
    int width;
};

static enum faina_outcome plant(struct faina_context *context, void *user)
{
    const struct tree *tree = user;

    for (int i = 0; i < tree->width; i++) {
        char input[32];
        struct faina_submit subtask = {.type = "leaf", .input = input};

        snprintf(input, sizeof(input), "%d", i);
        if (faina_context_subtask(context, &subtask, NULL, NULL) != FAINA_OK)
            return FAINA_OUTCOME_FAILED;
    }
    return FAINA_OUTCOME_BLOCKED;
}

static enum faina_outcome harvest(struct faina_context *context, void *user)
{
    const struct tree *tree = user;
    size_t count;
    const struct faina_subtask *leaves = faina_context_subtasks(context, &count);
    char output[64];
    long sum = 0;

    if (count != (size_t)tree->width)
        return FAINA_OUTCOME_FAILED;
    for (size_t i = 0; i < count; i++) {
        long number = strtol(leaves[i].output, NULL, 10);

        if (number != (long)i) /* in order */
            return FAINA_OUTCOME_FAILED;
        if (faina_context_find(context, leaves[i].id) != &leaves[i])
            return FAINA_OUTCOME_FAILED;
        sum += number;
    }
    snprintf(output, sizeof(output), "%ld", sum);
    faina_context_output(context, output, NULL);
    return FAINA_OUTCOME_COMPLETE;
}

static void test_pool__a_parent_with_many_subtasks(struct fa_t *t)
{
    /* Finding each leaf by its id walks over all of them: fewer for the slower builds. */
    struct tree tree = {.width = (int)fa_t_env_int("FA_TREE_WIDTH", 10000)};
    struct faina_handler parent = {.on_start = plant, .on_resume = harvest};
    struct world w;
    const char *id;

    world_open(&w, t);
    world_start(&w);
    world_handler(&w, "tree", &parent, &tree);
    world_native(&w, "leaf", echo, NULL);
    id = fa_t_submit(t, .type = "tree", .max_attempts = 1);
    CHECK_OK(t, fa_t_wait(t, id, 120000));
    CHECK(t->task->status == FAINA_COMPLETED, "%s", t->task->error);
    CHECK_INT(fa_t_int(t->task->output), (int64_t)tree.width * (tree.width - 1) / 2);
    world_close(&w);
}

struct early {
    char ids[3][FAINA_ID_SIZE]; /* as each call of the handler got them */
    int attempt;
};

/* Fails at first, and blocks in the second attempt. */
static enum faina_outcome start_early(struct faina_context *context, void *user)
{
    struct early *early = user;
    struct faina_submit named = {.type = "leaf", .name = "one", .input = "7"};
    char group[] = "g";
    struct faina_submit plain = {.type = "leaf", .input = "8", .group = group};
    char *id = early->ids[early->attempt];

    if (early->attempt == 2)
        return FAINA_OUTCOME_FAILED;
    if (faina_context_subtask(context, &named, id, NULL) != FAINA_OK ||
        faina_context_subtask(context, &plain, NULL, NULL) != FAINA_OK)
        return FAINA_OUTCOME_FAILED;
    group[0] = 'x'; /* the context has a copy */
    return early->attempt++ == 0 ? FAINA_OUTCOME_FAILED : FAINA_OUTCOME_BLOCKED;
}

static enum faina_outcome resume_early(struct faina_context *context, void *user)
{
    struct early *early = user;
    struct faina_submit named = {.type = "leaf", .name = "one", .input = "7"};
    const struct faina_subtask *one = faina_context_find(context, early->ids[1]);
    size_t count;

    faina_context_subtasks(context, &count);
    if (count != 2 || !one || strcmp(one->output, "7") != 0 ||
        faina_context_subtask(context, &named, early->ids[2], NULL) != FAINA_OK)
        return FAINA_OUTCOME_FAILED;
    return FAINA_OUTCOME_COMPLETE;
}

static void test_pool__the_id_of_a_subtask(struct fa_t *t)
{
    struct faina_handler parent = {
        .on_start = start_early, .on_resume = resume_early, .retry = {.base_ms = 1, .max_ms = 1}};
    struct early early = {.attempt = 0};
    struct faina_task *task;
    struct world w;

    world_open(&w, t);
    world_start(&w);
    world_handler(&w, "early", &parent, &early);
    world_native(&w, "leaf", echo, NULL);
    task = world_try(&w, "early", NULL, 4, FAINA_COMPLETED);
    CHECK_INT(task->attempts, 2);
    CHECK_STR(early.ids[0], fa_t_child(t, task->id, 0));
    CHECK_STR(early.ids[1], early.ids[0]);
    CHECK_STR(early.ids[2], early.ids[0]);
    CHECK_STR(fa_t_task(t, fa_t_child(t, task->id, 1))->group, "g");
    world_close(&w);
}

/* on_start is called in phase resume too, and makes the same subtasks. */
static void test_pool__the_same_subtasks_again_are_a_failure(struct fa_t *t)
{
    struct tree tree = {.width = 2};
    struct faina_task *task;
    struct world w;

    world_open(&w, t);
    world_start(&w);
    world_native(&w, "tree", plant, &tree);
    world_native(&w, "leaf", echo, NULL);
    task = world_try(&w, "tree", NULL, 4, FAINA_FAILED);
    CHECK_INT(task->attempts, 1);
    CHECK_HAS(task->error, "must not ask for the same ones again");
    world_close(&w);
}

static enum faina_outcome dig(struct faina_context *context, void *user)
{
    const struct faina_task *task = faina_context_task(context);
    long depth = strtol(task->input, NULL, 10);
    char input[32];
    struct faina_submit deeper = {.type = "dig", .input = input};

    (void)user;
    if (task->phase == FAINA_PHASE_RESUME) {
        size_t count;
        const struct faina_subtask *below = faina_context_subtasks(context, &count);

        faina_context_output(context, below[0].output, NULL);
        return FAINA_OUTCOME_COMPLETE;
    }
    if (depth == 0) {
        faina_context_output(context, "\"bottom\"", NULL);
        return FAINA_OUTCOME_COMPLETE;
    }
    snprintf(input, sizeof(input), "%ld", depth - 1);
    faina_context_subtask(context, &deeper, NULL, NULL);
    return FAINA_OUTCOME_BLOCKED;
}

static void test_pool__subtasks_of_subtasks(struct fa_t *t)
{
    struct faina_task *task;
    char input[32];
    struct world w;

    world_open(&w, t);
    world_start(&w);
    world_native(&w, "dig", dig, NULL);
    snprintf(input, sizeof(input), "%d", FA_SUBTASK_DEPTH_MAX);
    CHECK_STR(world_try(&w, "dig", input, 1, FAINA_COMPLETED)->output, "\"bottom\"");
    snprintf(input, sizeof(input), "%d", FA_SUBTASK_DEPTH_MAX + 1);
    task = world_try(&w, "dig", input, 1, FAINA_FAILED);
    CHECK_HAS(task->error, "\"kind\":\"subtask\"");
    CHECK_HAS(task->error, "the engine refused the outcome");
    world_close(&w);
}

static enum faina_outcome fail_for_good(struct faina_context *context, void *user)
{
    struct faina_failure failure = {.message = "broken", .permanent = true};

    (void)user;
    faina_context_error(context, &failure, NULL);
    return FAINA_OUTCOME_FAILED;
}

static enum faina_outcome one_bad_child(struct faina_context *context, void *user)
{
    struct faina_submit good = {.type = "echo", .name = "good", .input = "1"};
    struct faina_submit bad = {.type = "bad", .name = "bad"};

    (void)user;
    faina_context_subtask(context, &good, NULL, NULL);
    faina_context_subtask(context, &bad, NULL, NULL);
    return FAINA_OUTCOME_BLOCKED;
}

static enum faina_outcome read_bad_subtask(struct faina_context *context, void *user)
{
    const struct faina_subtask *bad = faina_context_find(context, "bad");
    const struct faina_subtask *good = faina_context_find(context, "good");

    (void)user;
    if (!bad || bad->status != FAINA_FAILED || !strstr(bad->error, "broken") || !good ||
        good->status != FAINA_COMPLETED || strcmp(good->output, "1") != 0)
        return FAINA_OUTCOME_FAILED;
    faina_context_output(context, "\"saved\"", NULL);
    return FAINA_OUTCOME_COMPLETE;
}

static void test_pool__on_error(struct fa_t *t)
{
    struct faina_handler with = {.on_start = one_bad_child, .on_error = read_bad_subtask};
    struct faina_handler without = {.on_start = one_bad_child};
    struct world w;

    world_open(&w, t);
    world_start(&w);
    world_handler(&w, "with", &with, NULL);
    world_handler(&w, "without", &without, NULL);
    world_native(&w, "echo", echo, NULL);
    world_native(&w, "bad", fail_for_good, NULL);
    CHECK_STR(world_try(&w, "with", NULL, 1, FAINA_COMPLETED)->output, "\"saved\"");
    CHECK_HAS(world_try(&w, "without", NULL, 3, FAINA_FAILED)->error,
              "subtask bad is failed: broken");
    world_close(&w);
}

static void test_pool__cancelling_a_parent_stops_what_lives_below(struct fa_t *t)
{
    struct tree tree = {.width = 4};
    struct faina_handler parent = {.on_start = plant};
    struct gate gate = {0};
    struct world w;
    const char *id;

    world_open(&w, t);
    w.config.lease_ms = 600;
    world_start(&w);
    world_handler(&w, "tree", &parent, &tree);
    world_native(&w, "leaf", wait_at_gate, &gate);
    id = fa_t_submit(t, .type = "tree");
    fa_t_wait_until(some_wait, t, &gate, "a leaf");
    CHECK_OK(t, fa_t_cancel(t, id, NOBODY));
    fa_t_wait_until(is_gate_empty, t, &gate, "the leaves to stop");
    for (size_t i = 0; i < 4; i++)
        CHECK_NOW(t, fa_t_child(t, id, i), FAINA_CANCELLED);
    world_close(&w);
}

/* ------------------------------------------------------------------------------------------
 * Resources and services
 */

static enum faina_outcome use(struct faina_context *context, void *user)
{
    struct gate *gate = user;
    int now = atomic_fetch_add(&gate->waiting, 1) + 1;
    int most = atomic_load(&gate->most);

    (void)context;
    while (now > most && !atomic_compare_exchange_weak(&gate->most, &most, now))
        continue;
    nap(3);
    atomic_fetch_sub(&gate->waiting, 1);
    return FAINA_OUTCOME_COMPLETE;
}

static void test_pool__two_workers_and_a_limit_of_two(struct fa_t *t)
{
    enum { COUNT = 60 };
    const char *gpu[] = {"gpu"}, *ids[COUNT];
    struct gate gate = {0};
    struct world a, b;

    world_open(&a, t);
    b = a;
    pthread_mutex_init(&b.mutex, NULL);
    fa_buf_init(&b.log, 1 << 16);
    b.config.log.ctx = &b;
    CHECK_OK(t, fa_t_resource_set(t, "gpu", 2));
    world_start(&a);
    world_start(&b);
    world_native(&a, "use", use, &gate);
    world_native(&b, "use", use, &gate);
    for (int i = 0; i < COUNT; i++)
        ids[i] = fa_t_submit(t, .type = "use", .resources = gpu, .resource_count = 1);
    for (int i = 0; i < COUNT; i++)
        world_await(&a, ids[i], FAINA_COMPLETED);
    CHECK_INT(atomic_load(&gate.most), 2);
    CHECK_INT(fa_t_in_use(t, "gpu"), 0);
    world_close(&b);
    world_close(&a);
}

/* A resource that is required at run time: the task is queued again with it, without counting an
 * attempt. */
static enum faina_outcome require(struct faina_context *context, void *user)
{
    struct faina_error err;

    if (faina_context_require(context, "", &err) != FAINA_INVALID_REQUEST)
        return FAINA_OUTCOME_FAILED;
    if (faina_context_require(context, "gpu", &err) != FAINA_OK)
        return FAINA_OUTCOME_FAILED;
    return use(context, user);
}

static void test_pool__a_resource_asked_for_while_it_runs(struct fa_t *t)
{
    enum { COUNT = 20 };
    struct gate gate = {0};
    const char *ids[COUNT];
    struct world w;

    world_open(&w, t);
    CHECK_OK(t, fa_t_resource_set(t, "gpu", 2));
    world_start(&w);
    world_native(&w, "need", require, &gate);
    for (int i = 0; i < COUNT; i++)
        ids[i] = fa_t_submit(t, .type = "need", .max_attempts = 1);
    for (int i = 0; i < COUNT; i++) {
        struct faina_task *task = world_await(&w, ids[i], FAINA_COMPLETED);

        CHECK_INT(task->attempts, 1);
        CHECK_INT(task->resource_count, 1);
        CHECK_STR(task->resources[0], "gpu");
    }
    CHECK_TRUE(world_event(&w, ids[0], "amended") != NULL);
    CHECK_TRUE(atomic_load(&gate.most) <= 2);
    CHECK_INT(fa_t_in_use(t, "gpu"), 0);
    world_close(&w);
}

static void test_pool__services_by_their_checks(struct fa_t *t)
{
    const char *needs[] = {"switch"}, *path = fa_t_path(t, "up");
    struct fa_runtime_check checks[] = {
        {"switch", fa_arena_printf(&t->arena, "test -e %s", path)},
        {"dead", "tcp:127.0.0.1:1"},
    };
    struct world w;
    const char *id;

    world_open(&w, t);
    w.config.checks = checks;
    w.config.check_count = 2;
    w.config.check_interval_ms = 30;
    world_start(&w);
    world_native(&w, "echo", echo, NULL);
    world_await_log(&w, "service switch is not reachable");
    world_await_log(&w, "service dead is not reachable: Connection refused");
    id = fa_t_submit(t, .type = "echo", .resources = needs, .resource_count = 1);
    world_try(&w, "echo", NULL, 1, FAINA_COMPLETED); /* a task without services is not delayed */
    CHECK_NOW(t, id, FAINA_PENDING);
    fclose(fopen(path, "w"));
    world_await(&w, id, FAINA_COMPLETED);
    unlink(path);
    world_stop(&w, 1000);
    checks[0].check = "/nonexistent/program";
    CHECK_CODE(t, fa_runtime_start(&w.runtime, t->svc, &w.config, NULL), FAINA_INVALID_REQUEST);
    checks[0].check = "tcp:nowhere";
    CHECK_CODE(t, fa_runtime_start(&w.runtime, t->svc, &w.config, NULL), FAINA_INVALID_REQUEST);
    w.runtime = NULL;
    world_close(&w);
}

/* ------------------------------------------------------------------------------------------
 * Leases
 */

static void test_pool__leases_are_renewed(struct fa_t *t)
{
    struct gate gate = {0};
    struct world w;
    const char *id;

    world_open(&w, t);
    w.config.lease_ms = 400;
    world_start(&w);
    world_native(&w, "gate", wait_at_gate, &gate);
    id = fa_t_submit(t, .type = "gate", .max_attempts = 1);
    fa_t_wait_until(some_wait, t, &gate, "the handler");
    nap(1500); /* several leases */
    CHECK_NOW(t, id, FAINA_RUNNING);
    atomic_store(&gate.is_open, true);
    CHECK_INT(world_await(&w, id, FAINA_COMPLETED)->attempts, 1);
    world_close(&w);
}

static void test_pool__a_task_that_was_taken_away_is_stopped(struct fa_t *t)
{
    struct gate gate = {0};
    struct world w;
    const char *id;

    world_open(&w, t);
    w.config.lease_ms = 600;
    world_start(&w);
    world_native(&w, "gate", wait_at_gate, &gate);
    id = fa_t_submit(t, .type = "gate");
    fa_t_wait_until(some_wait, t, &gate, "the handler");
    CHECK_OK(t, fa_t_pause(t, NULL, "gate"));
    CHECK_OK(t, fa_t_retry(t, id, NOBODY));
    fa_t_wait_until(is_gate_empty, t, &gate, "the handler to stop");
    world_stop(&w, 1000);
    CHECK_NOW(t, id, FAINA_PENDING);
    world_close(&w);
}

static void test_pool__a_task_that_was_taken_away_is_stopped_soon(struct fa_t *t)
{
    struct gate gate = {0};
    int64_t start_us;
    struct world w;
    const char *id;

    world_open(&w, t);
    w.config.lease_ms = 60000; /* a regular heartbeat is sent after 20 s */
    world_start(&w);
    world_native(&w, "gate", wait_at_gate, &gate);
    id = fa_t_submit(t, .type = "gate");
    fa_t_wait_until(some_wait, t, &gate, "the handler");
    CHECK_OK(t, fa_t_pause(t, NULL, "gate"));
    world_await(&w, id, FAINA_RUNNING);
    start_us = fa_clock_mono_us();
    CHECK_OK(t, fa_t_retry(t, id, NOBODY));
    fa_t_wait_until(is_gate_empty, t, &gate, "the handler to stop");
    CHECK(fa_clock_mono_us() - start_us < 10000000, "it was stopped by a regular heartbeat");
    world_close(&w);
}

/* The attempts of one task, by their fence, each at a gate. */
static enum faina_outcome wait_by_fence(struct faina_context *context, void *user)
{
    return wait_at_gate(context, (struct gate *)user + faina_context_task(context)->fence);
}

static void test_pool__a_task_that_is_ours_again_is_stopped_once(struct fa_t *t)
{
    enum { FENCES = 4 };
    struct gate gates[FENCES + 1] = {0};
    struct world w;
    const char *id;

    world_open(&w, t);
    w.config.lease_ms = 600;
    world_start(&w);
    world_native(&w, "gate", wait_by_fence, gates);
    id = fa_t_submit(t, .type = "gate");
    fa_t_wait_until(some_wait, t, &gates[1], "the first attempt");
    for (int i = 2; i <= FENCES; i++) {
        world_await(&w, id, FAINA_RUNNING);
        CHECK_OK(t, fa_t_retry(t, id, NOBODY));
        fa_t_wait_until(some_wait, t, &gates[i], "the next attempt");
        fa_t_wait_until(is_gate_empty, t, &gates[i - 1], "the one before to stop");
    }
    nap(700); /* several heartbeats */
    CHECK_INT(atomic_load(&gates[FENCES].waiting), 1);
    atomic_store(&gates[FENCES].is_open, true);
    CHECK_INT(world_await(&w, id, FAINA_COMPLETED)->fence, FENCES);
    world_close(&w);
}

static enum faina_outcome never_asks(struct faina_context *context, void *user)
{
    (void)context;
    (void)user;
    nap(300);
    return FAINA_OUTCOME_COMPLETE;
}

static void test_pool__a_late_function_has_failed(struct fa_t *t)
{
    struct faina_handler slow = {.on_start = never_asks, .timeout_ms = 50};
    struct world w;

    world_open(&w, t);
    world_start(&w);
    world_handler(&w, "slow", &slow, NULL);
    CHECK_HAS(world_try(&w, "slow", NULL, 1, FAINA_DEAD_LETTER)->error, "took longer than 0.05 s");
    world_close(&w);
}

/* ------------------------------------------------------------------------------------------
 * Stopping
 */

static void test_pool__what_was_not_started_is_given_back(struct fa_t *t)
{
    enum { COUNT = 6 };
    struct faina_handler one = {.on_start = wait_at_gate, .concurrency = 0};
    struct gate gate = {0};
    const char *ids[COUNT];
    struct world w;

    world_open(&w, t);
    w.config.concurrency = 1;
    world_start(&w);
    world_handler(&w, "gate", &one, &gate);
    for (int i = 0; i < COUNT; i++)
        ids[i] = fa_t_submit(t, .type = "gate");
    fa_t_wait_until(some_wait, t, &gate, "the handler");
    fa_pool_drain(fa_runtime_pool(w.runtime));
    atomic_store(&gate.is_open, true);
    world_stop(&w, 10000);
    CHECK_NOW(t, ids[0], FAINA_COMPLETED); /* within the grace time */
    for (int i = 1; i < COUNT; i++) {
        CHECK_NOW(t, ids[i], FAINA_PENDING);
        CHECK_INT(fa_t_task(t, ids[i])->attempts, 0);
    }
    world_close(&w);
}

static void test_pool__what_does_not_end_in_time_is_not_counted(struct fa_t *t)
{
    struct gate gate = {0};
    struct world w;
    const char *id;

    world_open(&w, t);
    world_start(&w);
    world_native(&w, "gate", wait_at_gate, &gate);
    id = fa_t_submit(t, .type = "gate", .max_attempts = 1);
    fa_t_wait_until(some_wait, t, &gate, "the handler");
    world_stop(&w, 50);
    CHECK_NOW(t, id, FAINA_PENDING);
    CHECK_INT(fa_t_task(t, id)->attempts, 0);
    CHECK_HAS(fa_t_story(t, id), "snoozed");
    world_close(&w);
}

static void test_pool__registers_and_signs_off(struct fa_t *t)
{
    const char *services[] = {"db"};
    struct fa_op op = {.kind = FA_OP_WORKER_LIST, .id = "me", .arena = &t->arena};
    struct faina_worker *worker;
    struct world w;

    world_open(&w, t);
    w.config.worker_id = "me";
    w.config.services = services;
    w.config.service_count = 1;
    world_start(&w);
    world_native(&w, "echo", echo, NULL);
    do /* before it has a handler, the pool is listed as a node that runs no tasks */
        fa_service_run(t->svc, &op, 1);
    while (op.code != FAINA_OK || op.workers->items[0].type_count == 0);
    worker = &op.workers->items[0];
    CHECK_STR(worker->id, "me");
    CHECK_INT(worker->pool_size, 8);
    CHECK_INT(worker->type_count, 1);
    CHECK_STR(worker->types[0], "echo");
    CHECK_INT(worker->service_count, 1);
    CHECK_STR(worker->services[0], "db");
    world_stop(&w, 0);
    fa_service_run(t->svc, &op, 1);
    CHECK_INT(op.code, FAINA_NOT_FOUND);
    world_close(&w);
}

static void test_pool__short_idle_after_work(struct fa_t *t)
{
    struct world w;

    world_open(&w, t);
    world_start(&w);
    world_native(&w, "echo", echo, NULL);
    world_try(&w, "echo", "1", 1, FAINA_COMPLETED);
    while (world_stats(&w).idle_us < 20000)
        nap(5);
    CHECK_INT(world_stats(&w).completed, 1);
    CHECK_INT(world_stats(&w).held, 0);
    world_close(&w);
}

int main(int argc, char **argv)
{
    static const struct fa_t_case cases[] = {
        FA_T_CASE(test_pool__outcomes),
        FA_T_CASE(test_pool__bad_calls_change_nothing),
        FA_T_CASE(test_pool__each_task_is_done_once),
        FA_T_CASE(test_pool__high_priority_goes_first),
        FA_T_CASE(test_pool__a_limit_does_not_send_to_the_end),
        FA_T_CASE(test_pool__a_limit_holds_across_a_change),
        FA_T_CASE_LOCAL(test_pool__what_waits_for_long_is_given_back),
        FA_T_CASE_LOCAL(test_pool__what_was_given_back_comes_again),
        FA_T_CASE(test_pool__a_parent_with_many_subtasks),
        FA_T_CASE(test_pool__the_id_of_a_subtask),
        FA_T_CASE(test_pool__the_same_subtasks_again_are_a_failure),
        FA_T_CASE(test_pool__subtasks_of_subtasks),
        FA_T_CASE(test_pool__on_error),
        FA_T_CASE(test_pool__cancelling_a_parent_stops_what_lives_below),
        FA_T_CASE(test_pool__two_workers_and_a_limit_of_two),
        FA_T_CASE(test_pool__a_resource_asked_for_while_it_runs),
        FA_T_CASE(test_pool__services_by_their_checks),
        FA_T_CASE(test_pool__leases_are_renewed),
        FA_T_CASE(test_pool__a_task_that_was_taken_away_is_stopped),
        FA_T_CASE_LOCAL(test_pool__a_task_that_was_taken_away_is_stopped_soon),
        FA_T_CASE(test_pool__a_task_that_is_ours_again_is_stopped_once),
        FA_T_CASE(test_pool__a_late_function_has_failed),
        FA_T_CASE(test_pool__what_was_not_started_is_given_back),
        FA_T_CASE(test_pool__what_does_not_end_in_time_is_not_counted),
        FA_T_CASE(test_pool__registers_and_signs_off),
        FA_T_CASE(test_pool__short_idle_after_work),
    };

    return fa_t_main(argc, argv, "pool", cases, FA_COUNT(cases));
}
