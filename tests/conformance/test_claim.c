/*
 * test_claim.c - claims: by id, the next tasks, their order, and what is left out (design.md 5).
 */
#include "support/ops.h"

#include "base/clock.h"

#include <stdlib.h>

#define HOUR_US (3600LL * 1000000)

/* ------------------------------------------------------------------------------------------
 * By id
 */

static void test_claim__takes_lease_fence_and_attempt(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x");
    int64_t now_us = fa_clock_now_us();

    CHECK_OK(t, fa_t_claim_for(t, id, "w1", 5000));
    CHECK_STATUS(t->task->status, FAINA_CLAIMED);
    CHECK_STR(t->task->worker_id, "w1");
    CHECK_INT(t->task->attempts, 1);
    CHECK_INT(t->task->version, 2);
    CHECK_TRUE(t->task->fence > 0);
    CHECK_TRUE(t->task->claimed_us >= t->task->created_us);
    CHECK_INT(t->task->started_us, 0);
    CHECK(llabs(t->task->lease_expires_us - (now_us + 5000000)) < 2000000, "the lease ends at %lld",
          (long long)t->task->lease_expires_us);
    CHECK_STR(t->op.task_id, id);
}

static void test_claim__default_lease_is_30_seconds(struct fa_t *t)
{
    CHECK_OK(t, fa_t_claim(t, fa_t_submit(t, .type = "x"), "w"));
    CHECK_INT(t->task->lease_expires_us - t->task->claimed_us, 30 * 1000000);
}

static void test_claim__same_worker_again_changes_nothing(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x");
    const char *claimed, *running;

    CHECK_OK(t, fa_t_claim(t, id, "w"));
    claimed = fa_t_picture(t, id);
    CHECK_OK(t, fa_t_claim(t, id, "w"));
    CHECK_STR(fa_t_picture(t, id), claimed);
    CHECK_OK(t, fa_t_start(t, id, BY("w")));
    running = fa_t_picture(t, id);
    CHECK_OK(t, fa_t_claim(t, id, "w"));
    CHECK_STATUS(t->task->status, FAINA_RUNNING);
    CHECK_STR(fa_t_picture(t, id), running);
    CHECK_STORY(t, id, "created claimed started");
}

static void test_claim__another_worker_is_refused(struct fa_t *t)
{
    static const enum faina_status held[] = {FAINA_CLAIMED, FAINA_RUNNING};

    for (size_t i = 0; i < FA_COUNT(held); i++) {
        const char *id = fa_t_make(t, held[i], "w");
        const char *before = fa_t_picture(t, id);

        CHECK_CODE(t, fa_t_claim(t, id, "v"), FAINA_TASK_ALREADY_CLAIMED);
        CHECK_STR(fa_t_picture(t, id), before);
    }
}

static void test_claim__by_id_is_ahead_of_its_time(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x", .run_at_us = fa_clock_now_us() + HOUR_US);

    CHECK_OK(t, fa_t_claim(t, id, "w"));
    CHECK_STATUS(t->task->status, FAINA_CLAIMED);
    fa_t_take(t, id, "w");
    CHECK_OK(t, fa_t_complete(t, id, BY("w"), NULL));
}

static void test_claim__early_claim_given_back_waits_for_its_time(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x", .run_at_us = fa_clock_now_us() + HOUR_US);

    CHECK_OK(t, fa_t_claim(t, id, "w"));
    CHECK_OK(t, fa_t_release(t, id, BY("w")));
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w"));
    CHECK_INT(t->op.tasks->count, 0);
    /* A claim by id ignores the time. */
    CHECK_OK(t, fa_t_claim(t, id, "w"));
    CHECK_OK(t, fa_t_retry(t, id, NOBODY));
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w"));
    CHECK_INT(t->op.tasks->count, 1);
}

static void test_claim__by_id_works_on_a_paused_type(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x");

    CHECK_OK(t, fa_t_pause(t, NULL, "x"));
    CHECK_OK(t, fa_t_claim(t, id, "w"));
}

static void test_claim__by_id_needs_a_free_resource(struct fa_t *t)
{
    const char *gpu = "gpu";
    const char *first = fa_t_submit(t, .type = "x", .resources = &gpu, .resource_count = 1);
    const char *second = fa_t_submit(t, .type = "x", .resources = &gpu, .resource_count = 1);
    const char *before;

    CHECK_OK(t, fa_t_resource_set(t, "gpu", 1));
    CHECK_OK(t, fa_t_claim(t, first, "w"));
    before = fa_t_picture(t, second);
    CHECK_CODE(t, fa_t_claim(t, second, "w"), FAINA_OVERLOADED);
    CHECK_CODE(t, fa_t_start(t, second, BY("w")), FAINA_OVERLOADED);
    CHECK_STR(fa_t_picture(t, second), before);
    CHECK_OK(t, fa_t_claim(t, first, "w")); /* it holds it already */
    CHECK_OK(t, fa_t_release(t, first, BY("w")));
    CHECK_OK(t, fa_t_claim(t, second, "w"));
}

static void test_claim__fence_grows_with_each_claim(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x", .max_attempts = FAINA_UNLIMITED,
                                 .retry = {.base_ms = 1, .max_ms = 1});
    int64_t last = 0;

    for (int i = 0; i < 6; i++) {
        CHECK_OK(t, fa_t_claim(t, id, "w"));
        CHECK(t->task->fence > last, "fence %lld after %lld", (long long)t->task->fence,
              (long long)last);
        last = t->task->fence;
        if (i % 3 == 0)
            CHECK_OK(t, fa_t_release(t, id, BY("w")));
        if (i % 3 == 1)
            CHECK_OK(t, fa_t_fail_attempt(t, id, BY("w"), "again"));
        if (i % 3 == 2)
            CHECK_OK(t, fa_t_retry(t, id, NOBODY));
        CHECK(fa_t_task(t, id)->fence >= last, "the fence fell to %lld", (long long)t->task->fence);
    }
}

/* ------------------------------------------------------------------------------------------
 * Who is next
 */

static void test_claim__priority_then_age(struct fa_t *t)
{
    static const struct {
        const char *name;
        const char *type;
        int priority;
    } tasks[] = {
        {"a", "x", 0},  {"b", "y", 0},           {"c", "x", 5},
        {"d", "y", 5},  {"e", "z", 2147483647},  {"f", "x", -1},
        {"g", "y", -1}, {"h", "z", -2147483647}, {"i", "x", 5},
    };

    for (size_t i = 0; i < FA_COUNT(tasks); i++)
        fa_t_submit(t, .type = tasks[i].type, .name = tasks[i].name, .priority = tasks[i].priority);
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w", .limit = 4));
    CHECK_STR(fa_t_names(t, t->op.tasks), "e c d i");
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w"));
    CHECK_STR(fa_t_names(t, t->op.tasks), "a");
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w", .limit = 1000));
    CHECK_STR(fa_t_names(t, t->op.tasks), "b f g h");
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w", .limit = 1000));
    CHECK_INT(t->op.tasks->count, 0);
}

static void test_claim__next_returns_whole_tasks(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x", .input = "{\"n\": 1}", .metadata = "{}",
                                 .idempotency_key = "k");
    const struct faina_task *task;
    const char *before;

    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w", .lease_ms = 60000));
    CHECK_INT(t->op.tasks->count, 1);
    task = &t->op.tasks->items[0];
    CHECK_STR(task->id, id);
    CHECK_STATUS(task->status, FAINA_CLAIMED);
    CHECK_STR(task->worker_id, "w");
    CHECK_STR(task->input, "{\"n\": 1}");
    CHECK_STR(task->metadata, "{}");
    CHECK_STR(task->idempotency_key, "k");
    CHECK_INT(task->attempts, 1);
    CHECK_TRUE(task->fence > 0);
    CHECK_INT(task->lease_expires_us - task->claimed_us, 60 * 1000000);
    before = fa_t_picture(t, id);
    CHECK_OK(t, fa_t_claim(t, id, "w"));
    CHECK_STR(fa_t_picture(t, id), before);
}

static void test_claim__each_task_once(struct fa_t *t)
{
    enum { COUNT = 300 };
    int seen = 0;

    for (int i = 0; i < COUNT; i++)
        fa_t_submit(t, .type = i % 3 ? "x" : "y", .priority = i % 7);
    for (int i = 0; seen < COUNT && i < COUNT; i++) {
        CHECK_OK(t, fa_t_claim_next(t, .worker_id = i % 2 ? "w" : "v", .limit = 7));
        CHECK_TRUE(t->op.tasks->count > 0 && t->op.tasks->count <= 7);
        for (size_t j = 0; j < t->op.tasks->count; j++)
            CHECK_INT(t->op.tasks->items[j].attempts, 1);
        seen += (int)t->op.tasks->count;
    }
    CHECK_INT(seen, COUNT);
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w", .limit = 7));
    CHECK_INT(t->op.tasks->count, 0);
}

/* However many were asked for: one answer must not fill the memory. */
static void test_claim__of_large_tasks_ends_early(struct fa_t *t)
{
    enum { COUNT = 40, SIZE = 1000 * 1000 };
    char *input = fa_alloc(SIZE + 1);
    size_t seen = 0;
    int claims = 0;

    memset(input, '7', SIZE);
    input[0] = input[SIZE - 1] = '"';
    input[SIZE] = '\0';
    for (int i = 0; i < COUNT; i++)
        fa_t_submit(t, .type = i % 2 ? "x" : "y", .input = i < 36 ? input : "1");
    do {
        CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w", .limit = 1000));
        CHECK_TRUE(t->op.tasks->count <= 17 + 4);
        seen += t->op.tasks->count;
        claims++;
    } while (t->op.tasks->count > 0);
    CHECK_INT(seen, COUNT);
    CHECK_INT(claims, 4);
    free(input);
}

static void test_claim__only_given_types(struct fa_t *t)
{
    const char *types[] = {"y", "z", "unknown"};

    fa_t_submit(t, .type = "x", .name = "a", .priority = 9);
    fa_t_submit(t, .type = "y", .name = "b");
    fa_t_submit(t, .type = "z", .name = "c", .priority = 1);
    fa_t_submit(t, .ns = "other", .type = "y", .name = "d");
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w", .types = types, .type_count = 3, .limit = 9));
    CHECK_STR(fa_t_names(t, t->op.tasks), "c b d");
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w", .limit = 9));
    CHECK_STR(fa_t_names(t, t->op.tasks), "a");
}

static void test_claim__only_given_namespaces(struct fa_t *t)
{
    const char *spaces[] = {"one", "two"};
    const char *types[] = {"x"};

    fa_t_submit(t, .type = "x", .name = "a");
    fa_t_submit(t, .ns = "one", .type = "x", .name = "b");
    fa_t_submit(t, .ns = "two", .type = "y", .name = "c");
    fa_t_submit(t, .ns = "three", .type = "x", .name = "d");
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w", .namespaces = spaces, .namespace_count = 2,
                                .types = types, .type_count = 1, .limit = 9));
    CHECK_STR(fa_t_names(t, t->op.tasks), "b");
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w", .namespaces = spaces, .namespace_count = 2,
                                .limit = 9));
    CHECK_STR(fa_t_names(t, t->op.tasks), "c");
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w", .limit = 9));
    CHECK_STR(fa_t_names(t, t->op.tasks), "a d");
}

static void test_claim__paused_type_is_passed_over(struct fa_t *t)
{
    fa_t_submit(t, .type = "x", .name = "a", .priority = 5);
    fa_t_submit(t, .type = "y", .name = "b");
    fa_t_submit(t, .ns = "other", .type = "x", .name = "c");
    CHECK_OK(t, fa_t_pause(t, NULL, "x"));
    CHECK_OK(t, fa_t_pause(t, NULL, "x")); /* twice is fine */
    CHECK_OK(t, fa_t_pause(t, NULL, "not there yet"));
    fa_t_submit(t, .type = "not there yet", .name = "d");
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w", .limit = 9));
    CHECK_STR(fa_t_names(t, t->op.tasks), "b c");
    CHECK_OK(t, fa_t_resume(t, NULL, "x"));
    CHECK_OK(t, fa_t_resume(t, NULL, "x"));
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w", .limit = 9));
    CHECK_STR(fa_t_names(t, t->op.tasks), "a");
}

static void test_claim__pause_leaves_held_tasks_alone(struct fa_t *t)
{
    const char *id = fa_t_make(t, FAINA_CLAIMED, "w");

    CHECK_OK(t, fa_t_pause(t, NULL, "made"));
    CHECK_OK(t, fa_t_start(t, id, BY("w")));
    CHECK_OK(t, fa_t_heartbeat(t, id, BY("w"), 0));
    CHECK_OK(t, fa_t_complete(t, id, BY("w"), NULL));
}

static void test_claim__pause_outlives_reopening(struct fa_t *t)
{
    fa_t_submit(t, .type = "x", .name = "a");
    CHECK_OK(t, fa_t_pause(t, NULL, "x"));
    fa_t_reopen(t);
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w", .limit = 9));
    CHECK_INT(t->op.tasks->count, 0);
    CHECK_OK(t, fa_t_resume(t, NULL, "x"));
    fa_t_reopen(t);
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w", .limit = 9));
    CHECK_STR(fa_t_names(t, t->op.tasks), "a");
}

static void test_claim__retried_task_keeps_its_place_by_age(struct fa_t *t)
{
    const char *first = fa_t_submit(t, .type = "x", .name = "a");

    fa_t_submit(t, .type = "x", .name = "b");
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w"));
    CHECK_STR(fa_t_names(t, t->op.tasks), "a");
    CHECK_OK(t, fa_t_release(t, first, BY("w")));
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w", .limit = 2));
    CHECK_STR(fa_t_names(t, t->op.tasks), "a b");
}

static void test_claim__ended_and_blocked_are_not_handed_out(struct fa_t *t)
{
    for (enum faina_status status = FAINA_CLAIMED; status < FAINA_STATUS_COUNT; status++)
        fa_t_make(t, status, "w");
    const char *types[] = {"made"};

    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w", .types = types, .type_count = 1, .limit = 9));
    CHECK_INT(t->op.tasks->count, 0);
}

/* ------------------------------------------------------------------------------------------
 * What a worker can reach
 */

static const char *submit_using(struct fa_t *t, const char *name, const char *a, const char *b)
{
    const char *resources[] = {a, b};

    return fa_t_submit(t, .type = "x", .name = name, .resources = resources,
                       .resource_count = (a != NULL) + (b != NULL));
}

static void test_claim__services(struct fa_t *t)
{
    const char *none[] = {"none"};
    const char *gpu[] = {"gpu"};
    const char *both[] = {"disk", "gpu"};

    submit_using(t, "free", NULL, NULL);
    submit_using(t, "gpu", "gpu", NULL);
    submit_using(t, "both", "gpu", "disk");
    submit_using(t, "disk", "disk", NULL);
    submit_using(t, "free2", NULL, NULL);
    /* With a list, even an empty one, only tasks all of whose resources are in it. */
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w", .services = none, .service_count = 0));
    CHECK_STR(fa_t_names(t, t->op.tasks), "free");
    CHECK_OK(t,
             fa_t_claim_next(t, .worker_id = "w", .services = gpu, .service_count = 1, .limit = 9));
    CHECK_STR(fa_t_names(t, t->op.tasks), "gpu free2");
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w", .services = both, .service_count = 2));
    CHECK_STR(fa_t_names(t, t->op.tasks), "both");
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w", .limit = 9)); /* no list: all of them */
    CHECK_STR(fa_t_names(t, t->op.tasks), "disk");
}

static void test_claim__throttled_lane_does_not_hide_others(struct fa_t *t)
{
    CHECK_OK(t, fa_t_resource_set(t, "gpu", 1));
    for (int i = 0; i < 50; i++)
        submit_using(t, "throttled", "gpu", NULL);
    submit_using(t, "free", NULL, NULL);
    submit_using(t, "disk", "disk", NULL);
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w", .limit = 10));
    CHECK_STR(fa_t_names(t, t->op.tasks), "throttled free disk");
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w", .limit = 10));
    CHECK_INT(t->op.tasks->count, 0);
}

int main(int argc, char **argv)
{
    static const struct fa_t_case cases[] = {
        FA_T_CASE(test_claim__takes_lease_fence_and_attempt),
        FA_T_CASE(test_claim__default_lease_is_30_seconds),
        FA_T_CASE(test_claim__same_worker_again_changes_nothing),
        FA_T_CASE(test_claim__another_worker_is_refused),
        FA_T_CASE(test_claim__by_id_is_ahead_of_its_time),
        FA_T_CASE(test_claim__early_claim_given_back_waits_for_its_time),
        FA_T_CASE(test_claim__by_id_works_on_a_paused_type),
        FA_T_CASE(test_claim__by_id_needs_a_free_resource),
        FA_T_CASE(test_claim__fence_grows_with_each_claim),
        FA_T_CASE(test_claim__priority_then_age),
        FA_T_CASE(test_claim__next_returns_whole_tasks),
        FA_T_CASE(test_claim__each_task_once),
        FA_T_CASE(test_claim__of_large_tasks_ends_early),
        FA_T_CASE(test_claim__only_given_types),
        FA_T_CASE(test_claim__only_given_namespaces),
        FA_T_CASE(test_claim__paused_type_is_passed_over),
        FA_T_CASE(test_claim__pause_leaves_held_tasks_alone),
        FA_T_CASE_DURABLE(test_claim__pause_outlives_reopening),
        FA_T_CASE(test_claim__retried_task_keeps_its_place_by_age),
        FA_T_CASE_SQL(test_claim__ended_and_blocked_are_not_handed_out),
        FA_T_CASE(test_claim__services),
        FA_T_CASE(test_claim__throttled_lane_does_not_hide_others),
    };

    return fa_t_main(argc, argv, "claim", cases, FA_COUNT(cases));
}
