/*
 * test_workers.c - registration of workers, and what a heartbeat does and returns.
 */
#include "support/ops.h"

#include <unistd.h>

#include "base/clock.h"
#include "model/limits.h"

#define SHORT_MS 60
#define HOUR_MS (3600 * 1000)
#define HOUR_US (3600LL * 1000000)

/* fa_t_beat(t, held, count, lease_ms, .id = "w", ...) */
#define fa_t_beat(t, held, count, lease_ms, ...)                                                   \
    beat_code(t, &(struct faina_worker){__VA_ARGS__}, held, count, lease_ms)
#define fa_t_register(t, ...) beat_code(t, &(struct faina_worker){__VA_ARGS__}, NULL, 0, 0)

#define CLOCKS_US 10000 /* how far the clock of an engine may differ from ours */

static enum faina_code beat_code(struct fa_t *t, const struct faina_worker *self,
                                 const struct faina_held *held, size_t count, int64_t lease_ms)
{
    return fa_t_run(
        t, &(struct fa_op){.kind = FA_OP_WORKER_PUT, .worker = {self, held, count, lease_ms}});
}

static enum faina_code sign_off(struct fa_t *t, const char *id)
{
    return fa_t_run(t, &(struct fa_op){.kind = FA_OP_WORKER_REMOVE, .id = id});
}

/* Without the server that the engine is reached through, which is listed as a node. */
static enum faina_code list_workers(struct fa_t *t, const char *id)
{
    enum faina_code code = fa_t_run(t, &(struct fa_op){.kind = FA_OP_WORKER_LIST, .id = id});
    size_t count = 0;
    char host[64] = "";

    if (code != FAINA_OK)
        return code;
    gethostname(host, sizeof(host) - 1);
    for (size_t i = 0; i < t->op.workers->count; i++) {
        if (strncmp(t->op.workers->items[i].id, host, strlen(host)) != 0)
            t->op.workers->items[count++] = t->op.workers->items[i];
    }
    t->op.workers->count = count;
    return FAINA_OK;
}

/* The worker; it must be there. */
static const struct faina_worker *worker(struct fa_t *t, const char *id)
{
    CHECK_OK(t, list_workers(t, id));
    CHECK_INT(t->op.workers->count, 1);
    CHECK_STR(t->op.workers->items[0].id, id);
    return &t->op.workers->items[0];
}

static void check_lost(struct fa_t *t, size_t index, const char *id, enum faina_loss why)
{
    CHECK_TRUE(index < t->op.beat->lost_count);
    CHECK_STR(t->op.beat->items[index].id, id);
    CHECK_STR(faina_loss_name(t->op.beat->items[index].why), faina_loss_name(why));
}

/* ------------------------------------------------------------------------------------------
 * Registering
 */

static void test_workers__register_and_look(struct fa_t *t)
{
    static const char *const types[] = {"mail.send", "caf\xc3\xa9 \"x\""};
    static const char *const services[] = {"gpu"};
    int64_t before = fa_clock_now_us();
    const struct faina_worker *got;

    CHECK_OK(t, list_workers(t, NULL));
    CHECK_INT(t->op.workers->count, 0);
    CHECK_OK(t, fa_t_register(t, .id = "host-1-abc", .hostname = "host", .pool_size = 4,
                              .types = types, .type_count = 2, .services = services,
                              .service_count = 1, .version = "1.2"));
    CHECK_INT(t->op.beat->renewed_count, 0);
    CHECK_INT(t->op.beat->lost_count, 0);
    got = worker(t, "host-1-abc");
    CHECK_STR(got->hostname, "host");
    CHECK_INT(got->pool_size, 4);
    CHECK_INT(got->type_count, 2);
    CHECK_STR(got->types[0], types[0]);
    CHECK_STR(got->types[1], types[1]);
    CHECK_INT(got->service_count, 1);
    CHECK_STR(got->services[0], "gpu");
    CHECK_STR(got->version, "1.2");
    CHECK_TRUE(got->started_us >= before - CLOCKS_US &&
               got->started_us <= fa_clock_now_us() + CLOCKS_US);
    CHECK_INT(got->last_heartbeat_us, got->started_us);
    CHECK_INT(got->is_leader, got->leader_until_us > 0); /* the engine's own process may lead */
    CHECK_INT(got->held, 0);
}

static void test_workers__heartbeat_keeps_what_is_not_given(struct fa_t *t)
{
    static const char *const types[] = {"a", "b"};
    static const char *const none[] = {NULL};
    const struct faina_worker *got;
    int64_t started_us;

    CHECK_OK(t, fa_t_register(t, .id = "w", .hostname = "h", .pool_size = 3, .types = types,
                              .type_count = 2, .version = "1"));
    started_us = worker(t, "w")->started_us;
    CHECK_OK(t, fa_t_register(t, .id = "w"));
    got = worker(t, "w");
    CHECK_STR(got->hostname, "h");
    CHECK_INT(got->pool_size, 3);
    CHECK_INT(got->type_count, 2);
    CHECK_TRUE(got->services == NULL);
    CHECK_STR(got->version, "1");
    CHECK_INT(got->started_us, started_us);
    CHECK_TRUE(got->last_heartbeat_us > started_us);
    CHECK_OK(t, fa_t_register(t, .id = "w", .pool_size = 5, .types = none, .services = none,
                              .version = "2"));
    got = worker(t, "w");
    CHECK_STR(got->hostname, "h");
    CHECK_INT(got->pool_size, 5);
    CHECK_INT(got->type_count, 0);
    CHECK_TRUE(got->services != NULL);
    CHECK_INT(got->service_count, 0);
    CHECK_STR(got->version, "2");
}

static void test_workers__list_is_by_newest_heartbeat(struct fa_t *t)
{
    CHECK_OK(t, fa_t_register(t, .id = "a"));
    CHECK_OK(t, fa_t_register(t, .id = "b"));
    CHECK_OK(t, fa_t_register(t, .id = "c"));
    CHECK_OK(t, fa_t_register(t, .id = "a"));
    CHECK_OK(t, list_workers(t, NULL));
    CHECK_INT(t->op.workers->count, 3);
    CHECK_STR(t->op.workers->items[0].id, "a");
    CHECK_STR(t->op.workers->items[1].id, "c");
    CHECK_STR(t->op.workers->items[2].id, "b");
    CHECK_CODE(t, list_workers(t, "d"), FAINA_NOT_FOUND);
}

static void test_workers__held_is_counted_from_the_tasks(struct fa_t *t)
{
    const char *claimed = fa_t_submit(t, .type = "x");
    const char *running = fa_t_make(t, FAINA_RUNNING, "w");

    fa_t_make(t, FAINA_RUNNING, "v");
    fa_t_make(t, FAINA_COMPLETED, "w");
    CHECK_OK(t, fa_t_claim(t, claimed, "w"));
    CHECK_OK(t, fa_t_register(t, .id = "w"));
    CHECK_INT(worker(t, "w")->held, 2);
    CHECK_OK(t, fa_t_complete(t, running, BY("w"), NULL));
    CHECK_INT(worker(t, "w")->held, 1);
    CHECK_OK(t, fa_t_cancel(t, claimed, NOBODY));
    CHECK_INT(worker(t, "w")->held, 0);
}

static void test_workers__survive_reopening(struct fa_t *t)
{
    CHECK_OK(t, fa_t_register(t, .id = "w", .hostname = "h"));
    fa_t_close(t);
    fa_t_open(t);
    CHECK_STR(worker(t, "w")->hostname, "h");
}

/* ------------------------------------------------------------------------------------------
 * Heartbeats
 */

/* The witness has the same short lease, and is not renewed. */
static void test_workers__heartbeat_renews_all_and_changes_nothing_else(struct fa_t *t)
{
    const char *ids[] = {fa_t_submit(t, .type = "x"), fa_t_submit(t, .type = "x"),
                         fa_t_submit(t, .type = "x")};
    const char *witness = fa_t_submit(t, .type = "x");
    struct faina_held held[3];
    int64_t versions[3], updated[3];

    for (size_t i = 0; i < 3; i++) {
        CHECK_OK(t, fa_t_claim_for(t, ids[i], "w", 1000));
        if (i > 0)
            CHECK_OK(t, fa_t_start(t, ids[i], BY("w")));
        held[i] = (struct faina_held){ids[i], i == 1 ? 0 : t->task->fence};
        versions[i] = t->task->version;
        updated[i] = t->task->updated_us;
    }
    CHECK_OK(t, fa_t_claim_for(t, witness, "w", 1000));
    CHECK_OK(t, fa_t_beat(t, held, 3, HOUR_MS, .id = "w"));
    CHECK_INT(t->op.beat->renewed_count, 3);
    CHECK_INT(t->op.beat->lost_count, 0);
    fa_t_wait_status(t, witness, FAINA_PENDING);
    for (size_t i = 0; i < 3; i++) {
        const struct faina_task *task = fa_t_task(t, ids[i]);

        CHECK_STR(task->worker_id, "w");
        CHECK_INT(task->version, versions[i]);
        CHECK_INT(task->updated_us, updated[i]);
        CHECK_TRUE(task->lease_expires_us > fa_clock_now_us() + HOUR_US / 2);
    }
    CHECK_STORY(t, ids[0], "created claimed");
    CHECK_STORY(t, ids[1], "created claimed started");
}

static void test_workers__default_lease_makes_none_shorter(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x");
    struct faina_held held = {id, 0};
    int64_t lease_us;

    CHECK_OK(t, fa_t_claim(t, id, "w"));
    CHECK_OK(t, fa_t_heartbeat(t, id, BY("w"), HOUR_MS));
    lease_us = fa_t_task(t, id)->lease_expires_us;
    CHECK_OK(t, fa_t_beat(t, &held, 1, 0, .id = "w"));
    CHECK_INT(fa_t_task(t, id)->lease_expires_us, lease_us);
    CHECK_OK(t, fa_t_beat(t, &held, 1, SHORT_MS, .id = "w")); /* a given lease applies */
    fa_t_wait_status(t, id, FAINA_PENDING);
    CHECK_STORY(t, id, "created claimed lease_lost");
}

static void test_workers__heartbeat_names_what_is_cancelled_or_lost(struct fa_t *t)
{
    const char *held = fa_t_make(t, FAINA_RUNNING, "w");
    const char *cancelled = fa_t_make(t, FAINA_RUNNING, "w");
    const char *taken = fa_t_make(t, FAINA_CLAIMED, "v");
    const char *completed = fa_t_make(t, FAINA_COMPLETED, "w");
    const char *dead = fa_t_make(t, FAINA_DEAD_LETTER, "w");
    const char *pending = fa_t_make(t, FAINA_PENDING, "w");
    const char *background = fa_t_make(t, FAINA_BACKGROUND, "w");
    const char *blocked = fa_t_make(t, FAINA_BLOCKED, "w");
    const char *deleted = fa_t_make(t, FAINA_CANCELLED, "w");
    const char *again = fa_t_make(t, FAINA_RUNNING, "w");
    const char *unknown = "0190c4a2-6f1e-7b3d-8a5c-1f2e3d4c5b6a";
    int64_t old_fence = fa_t_task(t, again)->fence, cancelled_fence;
    const char *before;

    cancelled_fence = fa_t_task(t, cancelled)->fence;
    CHECK_OK(t, fa_t_cancel(t, cancelled, NOBODY));
    CHECK_OK(t, fa_t_delete(t, deleted));
    CHECK_OK(t, fa_t_retry(t, again, NOBODY));
    fa_t_take(t, again, "w");
    struct faina_held list[] = {
        {taken, 0},         {cancelled, cancelled_fence},
        {completed, 0},     {dead, 0},
        {pending, 0},       {background, 0},
        {blocked, 0},       {deleted, 0},
        {again, old_fence}, {unknown, 0},
        {held, 0},
    };
    const char *const others[] = {taken, completed, pending, background, blocked, again};
    const char *pictures[FA_COUNT(others)];

    for (size_t i = 0; i < FA_COUNT(others); i++)
        pictures[i] = fa_t_picture(t, others[i]);
    before = fa_t_history(t, taken);
    CHECK_OK(t, fa_t_beat(t, list, FA_COUNT(list), HOUR_MS, .id = "w"));
    CHECK_INT(t->op.beat->renewed_count, 1);
    CHECK_INT(t->op.beat->lost_count, 10);
    for (size_t i = 0; i < 10; i++)
        check_lost(t, i, list[i].id, i == 1 ? FAINA_LOSS_CANCELLED : FAINA_LOSS_LOST);
    CHECK_INT(t->op.beat->items[8].fence, old_fence);
    for (size_t i = 0; i < FA_COUNT(others); i++)
        CHECK_STR(fa_t_picture(t, others[i]), pictures[i]);
    CHECK_STR(fa_t_history(t, taken), before);
    CHECK_TRUE(fa_t_task(t, held)->lease_expires_us > fa_clock_now_us() + HOUR_US / 2);
}

/* A task that was lost and claimed again: only the old fence is lost, in whatever order. */
static void test_workers__two_fences_of_one_task(struct fa_t *t)
{
    const char *id = fa_t_make(t, FAINA_RUNNING, "w");
    struct faina_held held[2] = {{id, fa_t_task(t, id)->fence}, {id, 0}}, turned[2];

    CHECK_OK(t, fa_t_retry(t, id, NOBODY));
    fa_t_take(t, id, "w");
    held[1].fence = fa_t_task(t, id)->fence;
    turned[0] = held[1];
    turned[1] = held[0];
    for (int i = 0; i < 2; i++) {
        CHECK_OK(t, fa_t_beat(t, i ? turned : held, 2, HOUR_MS, .id = "w"));
        CHECK_INT(t->op.beat->renewed_count, 1);
        CHECK_INT(t->op.beat->lost_count, 1);
        check_lost(t, 0, id, FAINA_LOSS_LOST);
        CHECK_INT(t->op.beat->items[0].fence, held[0].fence);
    }
    CHECK_OK(t, fa_t_cancel(t, id, NOBODY));
    CHECK_OK(t, fa_t_beat(t, turned, 2, HOUR_MS, .id = "w"));
    CHECK_INT(t->op.beat->lost_count, 2);
    check_lost(t, 0, id, FAINA_LOSS_CANCELLED);
    check_lost(t, 1, id, FAINA_LOSS_LOST);
    CHECK_INT(t->op.beat->items[1].fence, held[0].fence);
}

static void test_workers__a_lost_lease_is_reported(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x", .retry = {.base_ms = 1, .max_ms = 1});
    struct faina_held held = {id, 0};

    CHECK_OK(t, fa_t_claim_for(t, id, "w", SHORT_MS));
    held.fence = t->task->fence;
    fa_t_wait_status(t, id, FAINA_PENDING);
    CHECK_OK(t, fa_t_beat(t, &held, 1, 0, .id = "w"));
    check_lost(t, 0, id, FAINA_LOSS_LOST);
    CHECK_OK(t, fa_t_claim(t, id, "v"));
    CHECK_OK(t, fa_t_cancel(t, id, NOBODY)); /* which is v's affair: w had lost it before */
    CHECK_OK(t, fa_t_beat(t, &held, 1, 0, .id = "w"));
    check_lost(t, 0, id, FAINA_LOSS_LOST);
}

/* A heartbeat without a list renews all held tasks; one with an empty list renews none. */
static void test_workers__heartbeat_without_a_list(struct fa_t *t)
{
    const char *mine[] = {fa_t_make(t, FAINA_RUNNING, "w"), fa_t_make(t, FAINA_CLAIMED, "w")};
    const char *others = fa_t_make(t, FAINA_RUNNING, "v");
    const char *lost = fa_t_make(t, FAINA_RUNNING, "w");
    int64_t lease_us = fa_t_task(t, mine[0])->lease_expires_us;
    int64_t others_us = fa_t_task(t, others)->lease_expires_us;
    struct faina_worker self = {.id = "w"};
    struct fa_op all = {.kind = FA_OP_WORKER_PUT,
                        .worker = {.self = &self, .lease_ms = HOUR_MS, .renews_all = true}};

    CHECK_OK(t, fa_t_cancel(t, lost, NOBODY));
    CHECK_OK(t, fa_t_beat(t, NULL, 0, HOUR_MS, .id = "w"));
    CHECK_INT(t->op.beat->renewed_count, 0);
    CHECK_INT(fa_t_task(t, mine[0])->lease_expires_us, lease_us);
    CHECK_OK(t, fa_t_run(t, &all));
    CHECK_INT(t->op.beat->renewed_count, 2);
    CHECK_INT(t->op.beat->lost_count, 0);
    for (size_t i = 0; i < FA_COUNT(mine); i++)
        CHECK_TRUE(fa_t_task(t, mine[i])->lease_expires_us > fa_clock_now_us() + HOUR_US / 2);
    CHECK_INT(fa_t_task(t, others)->lease_expires_us, others_us);
    self.id = "nobody";
    CHECK_OK(t, fa_t_run(t, &all));
    CHECK_INT(t->op.beat->renewed_count, 0);
}

/* In one call with other changes of the same tasks: each sees the one before. */
static void test_workers__heartbeat_among_other_changes(struct fa_t *t)
{
    const char *kept = fa_t_submit(t, .type = "x"), *done = fa_t_submit(t, .type = "x");
    struct faina_held held[] = {{kept, 0}, {done, 0}};
    struct faina_worker self = {.id = "w"};
    struct fa_op ops[] = {
        {.kind = FA_OP_CLAIM, .id = kept, .by = BY("w"), .lease_ms = 1000},
        {.kind = FA_OP_CLAIM, .id = done, .by = BY("w"), .lease_ms = 1000},
        {.kind = FA_OP_WORKER_PUT, .worker = {&self, held, 2, HOUR_MS}},
        {.kind = FA_OP_START, .id = kept, .by = BY("w")},
        {.kind = FA_OP_COMPLETE, .id = done, .by = BY("w")},
        {.kind = FA_OP_WORKER_PUT, .worker = {&self, held, 2, 2 * HOUR_MS}},
    };

    fa_t_run_all(t, ops, FA_COUNT(ops));
    for (size_t i = 0; i < FA_COUNT(ops); i++)
        CHECK(ops[i].code == FAINA_OK, "%zu: %s", i, ops[i].error.message);
    CHECK_INT(ops[2].beat->renewed_count, 2);
    CHECK_INT(ops[5].beat->renewed_count, 1);
    CHECK_STR(ops[5].beat->items[0].id, done);
    CHECK_STATUS(fa_t_task(t, kept)->status, FAINA_RUNNING);
    CHECK_TRUE(t->task->lease_expires_us > fa_clock_now_us() + HOUR_US * 3 / 2);
}

/* A row that was read before the renewal and is written after it must not bring the old lease
 * back. */
static void test_workers__a_renewal_is_not_undone_by_a_later_change(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x");
    struct faina_held held = {id, 0};
    struct faina_worker self = {.id = "w"};
    struct faina_report report = {.has_progress = true, .progress = 5};
    struct fa_op ops[] = {
        {.kind = FA_OP_CLAIM, .id = id, .by = BY("w"), .lease_ms = 1000},
        {.kind = FA_OP_WORKER_PUT, .worker = {&self, &held, 1, HOUR_MS}},
        {.kind = FA_OP_PROGRESS, .id = id, .by = BY("w"), .report = &report},
    };

    fa_t_run_all(t, ops, FA_COUNT(ops));
    CHECK_INT(ops[1].beat->renewed_count, 1);
    CHECK_INT(fa_t_task(t, id)->progress, 5);
    CHECK_TRUE(t->task->lease_expires_us > fa_clock_now_us() + HOUR_US / 2);
}

static void test_workers__thousands_in_one_heartbeat(struct fa_t *t)
{
    struct faina_submit submit = {.type = "x"};
    struct fa_op *ops = fa_arena_zero(&t->arena, 2000, sizeof *ops);
    struct faina_held *held = fa_arena_zero(&t->arena, FA_BATCH_MAX + 1, sizeof *held);
    size_t count = 0;

    for (size_t i = 0; i < 2000; i++)
        ops[i] = (struct fa_op){.kind = FA_OP_SUBMIT, .submit = &submit};
    fa_t_run_all(t, ops, 2000);
    for (int i = 0; i < 2; i++) {
        CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w", .limit = 1000));
        for (size_t k = 0; k < t->op.tasks->count; k++, count++)
            held[count] =
                (struct faina_held){t->op.tasks->items[k].id, t->op.tasks->items[k].fence};
    }
    CHECK_INT(count, 2000);
    for (size_t i = count; i < FA_BATCH_MAX + 1; i++) /* repeated ones do no harm */
        held[i] = held[i % count];
    CHECK_OK(t, fa_t_beat(t, held, FA_BATCH_MAX, HOUR_MS, .id = "w"));
    CHECK_INT(t->op.beat->renewed_count, FA_BATCH_MAX);
    CHECK_TRUE(fa_t_task(t, held[1999].id)->lease_expires_us > fa_clock_now_us() + HOUR_US / 2);
    CHECK_CODE(t, fa_t_beat(t, held, FA_BATCH_MAX + 1, HOUR_MS, .id = "w"), FAINA_INVALID_REQUEST);
}

/* ------------------------------------------------------------------------------------------
 * Signing off
 */

static void test_workers__sign_off_gives_back_what_was_not_started(struct fa_t *t)
{
    const char *claimed = fa_t_submit(t, .type = "x");
    const char *early = fa_t_submit(t, .type = "x", .delay_ms = HOUR_MS);
    const char *running = fa_t_make(t, FAINA_RUNNING, "w");
    const char *others = fa_t_make(t, FAINA_CLAIMED, "v");
    int64_t lease_us = fa_t_task(t, running)->lease_expires_us;

    CHECK_OK(t, fa_t_register(t, .id = "w"));
    CHECK_OK(t, fa_t_claim(t, claimed, "w"));
    CHECK_OK(t, fa_t_claim(t, early, "w"));
    CHECK_OK(t, sign_off(t, "w"));
    CHECK_INT(t->op.count, 2);
    CHECK_STATUS(fa_t_task(t, claimed)->status, FAINA_PENDING);
    CHECK_INT(t->task->attempts, 0);
    CHECK_STR(t->task->worker_id, NULL);
    CHECK_STORY(t, claimed, "created claimed released");
    CHECK_STATUS(fa_t_task(t, early)->status, FAINA_PENDING);
    CHECK_STATUS(fa_t_task(t, running)->status, FAINA_RUNNING);
    CHECK_STR(t->task->worker_id, "w");
    CHECK_INT(t->task->lease_expires_us, lease_us);
    CHECK_STR(fa_t_task(t, others)->worker_id, "v");
    CHECK_CODE(t, list_workers(t, "w"), FAINA_NOT_FOUND);
    CHECK_CODE(t, sign_off(t, "w"), FAINA_NOT_FOUND);
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "u", .limit = 10));
    CHECK_INT(t->op.tasks->count, 1); /* the early one waits for its time again */
    CHECK_STR(t->op.tasks->items[0].id, claimed);
    CHECK_OK(t, fa_t_complete(t, running, BY("w"), NULL));
}

static void test_workers__sign_off_of_a_stranger_changes_nothing(struct fa_t *t)
{
    const char *id = fa_t_make(t, FAINA_CLAIMED, "w");

    CHECK_CODE(t, sign_off(t, "w"), FAINA_NOT_FOUND);
    CHECK_NOW(t, id, FAINA_CLAIMED);
}

static void test_workers__may_come_back(struct fa_t *t)
{
    CHECK_OK(t, fa_t_register(t, .id = "w", .hostname = "h"));
    CHECK_OK(t, sign_off(t, "w"));
    CHECK_OK(t, fa_t_register(t, .id = "w"));
    CHECK_STR(worker(t, "w")->hostname, NULL); /* as a new one */
}

/* ------------------------------------------------------------------------------------------
 * Explaining
 */

/* The kind of the only reason. */
static const char *why(struct fa_t *t, const char *id)
{
    CHECK_OK(t, fa_t_explain(t, id));
    CHECK_INT(t->op.explanation->count, 1);
    return t->op.explanation->reasons[0].kind;
}

static void test_workers__explain_says_that_none_handles_the_type(struct fa_t *t)
{
    static const char *const types[] = {"a", "b"};
    const char *id = fa_t_submit(t, .type = "c");

    CHECK_STR(why(t, id), "ready"); /* registering is optional */
    CHECK_OK(t, fa_t_register(t, .id = "w", .types = types, .type_count = 2));
    CHECK_STR(why(t, id), "worker");
    CHECK(strstr(t->op.explanation->summary, "no live worker handles its type") != NULL, "%s",
          t->op.explanation->summary);
    CHECK_STR(why(t, fa_t_submit(t, .type = "b")), "ready");
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "stranger")); /* it may claim nevertheless */
    CHECK_INT(t->op.tasks->count, 1);
    CHECK_STR(t->op.tasks->items[0].id, id);
    id = fa_t_submit(t, .type = "c");
    CHECK_STR(why(t, id), "worker");
    CHECK_OK(t, fa_t_register(t, .id = "v"));
    CHECK_STR(why(t, id), "ready");
    CHECK_OK(t, sign_off(t, "v"));
    CHECK_STR(why(t, id), "worker");
    CHECK_OK(t, sign_off(t, "w"));
    CHECK_STR(why(t, id), "ready");
}

static void test_workers__explain_says_that_none_reaches_the_resource(struct fa_t *t)
{
    static const char *const type = "a", *const gpu = "gpu", *const disk = "disk";
    const char *const both[] = {"gpu", "disk"};
    const char *id = fa_t_submit(t, .type = "a", .resources = both, .resource_count = 2);

    CHECK_OK(t, fa_t_register(t, .id = "w", .services = &gpu, .service_count = 1));
    CHECK_STR(why(t, id), "service");
    CHECK(strstr(t->op.explanation->summary, "disk") != NULL, "%s", t->op.explanation->summary);
    CHECK_OK(t, fa_t_register(t, .id = "v", .types = &type, .type_count = 1, .services = &disk,
                              .service_count = 1));
    CHECK_STR(why(t, id), "service"); /* each is reached, but no worker reaches both */
    CHECK_OK(t, fa_t_register(t, .id = "w", .services = both, .service_count = 2));
    CHECK_STR(why(t, id), "ready");
    CHECK_OK(t, sign_off(t, "w"));
    CHECK_STR(why(t, id), "service");
    CHECK_OK(t, fa_t_register(t, .id = "u"));
    CHECK_STR(why(t, id), "ready");
}

/* ------------------------------------------------------------------------------------------
 * Bad input
 */

static void test_workers__bad_input_changes_nothing(struct fa_t *t)
{
    static const char *const empty = "";
    const char *id = fa_t_make(t, FAINA_RUNNING, "w");
    struct faina_held bad_id[] = {{id, 0}, {"nonsense", 0}}, bad_fence = {id, -1},
                      no_id = {NULL, 0};
    const struct {
        struct faina_worker self;
        const struct faina_held *held;
        size_t count;
        int64_t lease_ms;
        const char *field;
        enum faina_code code;
    } cases[] = {
        {{0}, NULL, 0, 0, "workerId", FAINA_INVALID_WORKER_ID},
        {{.id = ""}, NULL, 0, 0, "workerId", FAINA_INVALID_WORKER_ID},
        {{.id = "a\nb"}, NULL, 0, 0, "workerId", FAINA_INVALID_WORKER_ID},
        {{.id = "w", .hostname = ""}, NULL, 0, 0, "hostname", FAINA_INVALID_REQUEST},
        {{.id = "w", .pool_size = -2}, NULL, 0, 0, "poolSize", FAINA_INVALID_REQUEST},
        {{.id = "w", .types = &empty, .type_count = 1}, NULL, 0, 0, "types", FAINA_INVALID_REQUEST},
        {{.id = "w", .services = &empty, .service_count = 1},
         NULL,
         0,
         0,
         "services",
         FAINA_INVALID_REQUEST},
        {{.id = "w", .version = "\xff"}, NULL, 0, 0, "version", FAINA_INVALID_REQUEST},
        {{.id = "w"}, NULL, 1, 0, "tasks", FAINA_INVALID_REQUEST},
        {{.id = "w"}, bad_id, 2, HOUR_MS, "tasks", FAINA_INVALID_REQUEST},
        {{.id = "w"}, &bad_fence, 1, HOUR_MS, "tasks", FAINA_INVALID_REQUEST},
        {{.id = "w"}, &no_id, 1, HOUR_MS, "tasks", FAINA_INVALID_REQUEST},
        {{.id = "w"}, NULL, 0, -1, "leaseSeconds", FAINA_INVALID_REQUEST},
        {{.id = "w"}, NULL, 0, FA_LEASE_MS_MAX + 1, "leaseSeconds", FAINA_INVALID_REQUEST},
    };
    const char *before = fa_t_picture(t, id);

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        enum faina_code code =
            beat_code(t, &cases[i].self, cases[i].held, cases[i].count, cases[i].lease_ms);

        CHECK(code == cases[i].code && strcmp(t->op.error.field, cases[i].field) == 0,
              "case %zu: %s, field %s", i, faina_code_name(code), t->op.error.field);
    }
    CHECK_STR(fa_t_picture(t, id), before);
    CHECK_OK(t, list_workers(t, NULL));
    CHECK_INT(t->op.workers->count, 0);
    CHECK_CODE(t, list_workers(t, ""), FAINA_INVALID_WORKER_ID);
    CHECK_CODE(t, sign_off(t, NULL), FAINA_INVALID_WORKER_ID);
}

int main(int argc, char **argv)
{
    static const struct fa_t_case cases[] = {
        FA_T_CASE(test_workers__register_and_look),
        FA_T_CASE(test_workers__heartbeat_keeps_what_is_not_given),
        FA_T_CASE(test_workers__list_is_by_newest_heartbeat),
        FA_T_CASE(test_workers__held_is_counted_from_the_tasks),
        FA_T_CASE_DURABLE(test_workers__survive_reopening),
        FA_T_CASE_SQL(test_workers__heartbeat_renews_all_and_changes_nothing_else),
        FA_T_CASE(test_workers__default_lease_makes_none_shorter),
        FA_T_CASE_SQL(test_workers__heartbeat_names_what_is_cancelled_or_lost),
        FA_T_CASE(test_workers__two_fences_of_one_task),
        FA_T_CASE(test_workers__a_lost_lease_is_reported),
        FA_T_CASE(test_workers__heartbeat_without_a_list),
        FA_T_CASE(test_workers__heartbeat_among_other_changes),
        FA_T_CASE(test_workers__a_renewal_is_not_undone_by_a_later_change),
        FA_T_CASE(test_workers__thousands_in_one_heartbeat),
        FA_T_CASE(test_workers__sign_off_gives_back_what_was_not_started),
        FA_T_CASE(test_workers__sign_off_of_a_stranger_changes_nothing),
        FA_T_CASE(test_workers__may_come_back),
        FA_T_CASE(test_workers__explain_says_that_none_handles_the_type),
        FA_T_CASE(test_workers__explain_says_that_none_reaches_the_resource),
        FA_T_CASE(test_workers__bad_input_changes_nothing),
    };

    return fa_t_main(argc, argv, "workers", cases, FA_COUNT(cases));
}
