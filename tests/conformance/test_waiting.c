/*
 * test_waiting.c - waiting for work, and waiting for an end.
 *
 * The waiting side runs on a thread of its own, and the test goes on only when it sleeps there. So
 * what follows must wake it: an engine that only polls now and then fails.
 */
#include "support/crew.h"
#include "support/ops.h"

#include "base/clock.h"

#include <stdatomic.h>

/* Sooner than any poll that an engine may keep as its safety net. */
#define WOKEN_MS 4000

/* ------------------------------------------------------------------------------------------
 * For work
 */

struct claimed {
    struct faina_claim claim;
    enum faina_code code;
    size_t count;
    char id[FAINA_ID_SIZE];
    atomic_bool has_ended;
};

static void wait_for_work(struct fa_t *mine, size_t index, void *arg)
{
    struct claimed *claimed = arg;

    (void)index;
    claimed->code = fa_t_claim_wait(mine, &claimed->claim);
    if (claimed->code == FAINA_OK) {
        claimed->count = mine->op.tasks->count;
        if (claimed->count > 0)
            memcpy(claimed->id, mine->op.tasks->items[0].id, sizeof claimed->id);
    }
    claimed->has_ended = true;
}

/* Time will do it. */
static void wake_nothing(struct fa_t *t, const char *id)
{
    (void)t;
    (void)id;
}

/* Starts a waiting claim, calls `wake`, and expects the claim to return with `id`. */
static void check_wakes(struct fa_t *t, const char *id,
                        void (*wake)(struct fa_t *t, const char *id))
{
    struct claimed claimed = {.claim = {.worker_id = "waiter", .wait_ms = FA_T_DEADLINE_MS}};
    struct fa_t_crew *crew = fa_t_crew_start(t, 1, wait_for_work, &claimed);
    int64_t start_us;

    if (wake != wake_nothing)
        fa_t_crew_wait_asleep(crew, t);
    start_us = fa_clock_mono_us();
    wake(t, id);
    fa_t_crew_join(crew);
    CHECK_INT(claimed.code, FAINA_OK);
    CHECK_INT(claimed.count, 1);
    if (id)
        CHECK_STR(claimed.id, id);
    CHECK(fa_clock_mono_us() - start_us < WOKEN_MS * 1000, "the wait was not woken");
}

static void wake_submit(struct fa_t *t, const char *id)
{
    (void)id;
    fa_t_submit(t, .type = "x");
}

static void wake_release(struct fa_t *t, const char *id)
{
    CHECK_OK(t, fa_t_release(t, id, BY("w")));
}

static void wake_retry(struct fa_t *t, const char *id)
{
    CHECK_OK(t, fa_t_retry(t, id, NOBODY));
}

static void wake_fail(struct fa_t *t, const char *id)
{
    CHECK_OK(t, fa_t_fail_attempt(t, id, BY("w"), "no"));
}

static void wake_amend(struct fa_t *t, const char *id)
{
    const char *more = "gpu";
    const struct faina_submit wish = {.resources = &more, .resource_count = 1};

    CHECK_OK(t, fa_t_run(t, &(struct fa_op){
                                .kind = FA_OP_AMEND, .id = id, .by = BY("w"), .submit = &wish}));
}

static void wake_resume(struct fa_t *t, const char *id)
{
    (void)id;
    CHECK_OK(t, fa_t_resume(t, NULL, "paused"));
}

static void wake_limit(struct fa_t *t, const char *id)
{
    (void)id;
    CHECK_OK(t, fa_t_resource_set(t, "gpu", 1));
}

static void wake_remove_limit(struct fa_t *t, const char *id)
{
    (void)id;
    CHECK_OK(t, fa_t_resource_remove(t, "gpu"));
}

static void test_claim_wait__woken_by_a_submit(struct fa_t *t)
{
    check_wakes(t, NULL, wake_submit);
}

static void test_claim_wait__woken_by_what_comes_back(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x", .retry = {.base_ms = 1, .max_ms = 1});

    CHECK_OK(t, fa_t_claim(t, id, "w"));
    check_wakes(t, id, wake_release);
    CHECK_OK(t, fa_t_release(t, id, BY("waiter")));
    CHECK_OK(t, fa_t_claim(t, id, "w"));
    check_wakes(t, id, wake_amend);
    CHECK_OK(t, fa_t_release(t, id, BY("waiter")));
    CHECK_OK(t, fa_t_claim(t, id, "w"));
    check_wakes(t, id, wake_fail);
    CHECK_OK(t, fa_t_cancel(t, id, NOBODY));
    check_wakes(t, id, wake_retry);
}

static void test_claim_wait__woken_by_resume_and_limits(struct fa_t *t)
{
    const char *gpu = "gpu";
    const char *id = fa_t_submit(t, .type = "paused");

    CHECK_OK(t, fa_t_pause(t, NULL, "paused"));
    check_wakes(t, id, wake_resume);
    CHECK_OK(t, fa_t_resource_set(t, "gpu", 0));
    id = fa_t_submit(t, .type = "x", .resources = &gpu, .resource_count = 1);
    check_wakes(t, id, wake_limit);
    CHECK_OK(t, fa_t_complete(t, id, BY("waiter"), NULL));
    CHECK_OK(t, fa_t_resource_set(t, "gpu", 0));
    id = fa_t_submit(t, .type = "x", .resources = &gpu, .resource_count = 1);
    check_wakes(t, id, wake_remove_limit);
}

static void wake_free(struct fa_t *t, const char *id)
{
    (void)id;
    CHECK_OK(t, fa_t_get_by_key(t, NULL, "x", "holder"));
    CHECK_OK(t, fa_t_complete(t, t->task->id, BY("w"), NULL));
}

static void test_claim_wait__woken_by_a_freed_resource(struct fa_t *t)
{
    const char *gpu = "gpu";
    const char *holder = fa_t_submit(t, .type = "x", .resources = &gpu, .resource_count = 1,
                                     .idempotency_key = "holder");
    const char *id = fa_t_submit(t, .type = "x", .resources = &gpu, .resource_count = 1);

    CHECK_OK(t, fa_t_resource_set(t, "gpu", 1));
    CHECK_OK(t, fa_t_claim(t, holder, "w"));
    check_wakes(t, id, wake_free);
}

static void test_claim_wait__woken_by_time(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x", .delay_ms = 60, .retry = {.base_ms = 50});

    check_wakes(t, id, wake_nothing);
    CHECK_OK(t, fa_t_release(t, id, BY("waiter")));
    CHECK_OK(t, fa_t_claim_for(t, id, "w", 60)); /* the lease will end */
    check_wakes(t, id, wake_nothing);
    CHECK_OK(t, fa_t_start(t, id, BY("waiter")));
    CHECK_OK(t, fa_t_background(t, id, BY("waiter"), 60)); /* the deadline will pass */
    check_wakes(t, id, wake_nothing);
}

static void wake_parent(struct fa_t *t, const char *id)
{
    fa_t_finish_task(t, fa_t_child(t, id, 0));
}

static void test_claim_wait__woken_by_the_last_child(struct fa_t *t)
{
    const char *id = fa_t_make(t, FAINA_BLOCKED, "w");
    const char *kid = fa_t_child(t, id, 0);

    CHECK_OK(t, fa_t_claim(t, kid, "finisher")); /* not for the waiter */
    check_wakes(t, id, wake_parent);
}

/* Tasks of one call, with several waiting claims. */
struct bunch {
    struct claimed claimed[3];
};

static void wait_in_bunch(struct fa_t *mine, size_t index, void *arg)
{
    wait_for_work(mine, index, &((struct bunch *)arg)->claimed[index]);
}

/* Submits the tasks in one call while the claims wait, and returns when all claims are back. */
static void submit_to_bunch(struct fa_t *t, struct bunch *bunch, size_t waiters,
                            const struct faina_submit *submits, struct fa_op *ops, size_t count)
{
    struct fa_t_crew *crew = fa_t_crew_start(t, waiters, wait_in_bunch, bunch);

    fa_t_crew_wait_asleep(crew, t);
    for (size_t i = 0; i < count; i++)
        ops[i] = (struct fa_op){
            .kind = FA_OP_SUBMIT, .submit = &submits[i], .wants_task = true, .arena = &t->arena};
    fa_service_run(t->svc, ops, count);
    fa_t_crew_join(crew);
    for (size_t i = 0; i < count; i++) {
        CHECK_INT(ops[i].code, FAINA_OK);
        CHECK_STATUS(ops[i].task->status, FAINA_PENDING); /* as it was submitted */
        CHECK_INT(ops[i].task->attempts, 0);
    }
}

static void test_claim_wait__several_share_what_comes(struct fa_t *t)
{
    struct faina_submit submits[3] = {{.type = "x"}, {.type = "x"}, {.type = "x"}};
    struct bunch bunch = {0};
    struct fa_op ops[3];

    for (size_t i = 0; i < 3; i++)
        bunch.claimed[i].claim =
            (struct faina_claim){.worker_id = "waiter", .wait_ms = FA_T_DEADLINE_MS};
    submit_to_bunch(t, &bunch, 3, submits, ops, 3);
    for (size_t i = 0; i < 3; i++) {
        size_t takers = 0;

        for (size_t k = 0; k < 3; k++)
            takers += strcmp(bunch.claimed[k].id, ops[i].task_id) == 0;
        CHECK_INT(takers, 1);
        CHECK_STORY(t, ops[i].task_id, "created claimed");
        CHECK_NOW(t, ops[i].task_id, FAINA_CLAIMED);
        CHECK_INT(fa_t_task(t, ops[i].task_id)->attempts, 1);
    }
}

static void test_claim_wait__gets_the_best_of_what_comes(struct fa_t *t)
{
    struct faina_submit submits[3] = {
        {.type = "x", .priority = 1}, {.type = "x", .priority = 9}, {.type = "x", .priority = 5}};
    struct bunch bunch = {
        .claimed = {{.claim = {.worker_id = "waiter", .wait_ms = FA_T_DEADLINE_MS}}}};
    struct fa_op ops[3];

    submit_to_bunch(t, &bunch, 1, submits, ops, 3);
    CHECK_STR(bunch.claimed[0].id, ops[1].task_id);
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "next", .limit = 5));
    CHECK_INT(t->op.tasks->count, 2);
    CHECK_STR(t->op.tasks->items[0].id, ops[2].task_id);
}

static void test_claim_wait__limits_hold(struct fa_t *t)
{
    const char *gpu = "gpu";
    struct faina_submit submit = {.type = "x", .resources = &gpu, .resource_count = 1};
    struct faina_submit submits[3] = {submit, submit, submit};
    struct bunch bunch = {0};
    size_t count = 0;
    struct fa_op ops[3];

    CHECK_OK(t, fa_t_resource_set(t, "gpu", 2));
    for (size_t i = 0; i < 3; i++)
        bunch.claimed[i].claim =
            (struct faina_claim){.worker_id = "waiter", .limit = 3, .wait_ms = 1000};
    submit_to_bunch(t, &bunch, 3, submits, ops, 3);
    for (size_t i = 0; i < 3; i++)
        count += bunch.claimed[i].count;
    CHECK_INT(count, 2);
    CHECK_INT(fa_t_in_use(t, "gpu"), 2);
}

static void test_claim_wait__the_paused_and_the_foreign_stay(struct fa_t *t)
{
    const char *types[] = {"x", "paused"};
    struct faina_submit submits[3] = {{.type = "paused"}, {.type = "y"}, {.type = "x"}};
    struct bunch bunch = {.claimed = {{.claim = {.worker_id = "waiter",
                                                 .types = types,
                                                 .type_count = 2,
                                                 .limit = 3,
                                                 .wait_ms = FA_T_DEADLINE_MS}}}};
    struct fa_op ops[3];

    CHECK_OK(t, fa_t_pause(t, NULL, "paused"));
    submit_to_bunch(t, &bunch, 1, submits, ops, 3);
    CHECK_INT(bunch.claimed[0].count, 1);
    CHECK_STR(bunch.claimed[0].id, ops[2].task_id);
    CHECK_NOW(t, ops[0].task_id, FAINA_PENDING);
    CHECK_NOW(t, ops[1].task_id, FAINA_PENDING);
}

static int64_t commits_of(struct fa_t *t, bool *has_one_writer)
{
    struct fa_service_info info = {0};

    CHECK_OK(t, fa_service_info(t->svc, false, &t->arena, &info, &t->op.error));
    *has_one_writer = strcmp(info.engine, "postgres") != 0;
    return info.commits;
}

/* With one writer, one flush of the disk stores the task and hands it out. */
static void test_claim_wait__one_commit_for_both(struct fa_t *t)
{
    struct claimed claimed = {.claim = {.worker_id = "waiter", .wait_ms = FA_T_DEADLINE_MS}};
    struct fa_t_crew *crew = fa_t_crew_start(t, 1, wait_for_work, &claimed);
    bool has_one_writer;
    int64_t before;
    const char *id;

    fa_t_crew_wait_asleep(crew, t);
    before = commits_of(t, &has_one_writer);
    id = fa_t_submit(t, .type = "x");
    fa_t_crew_join(crew);
    CHECK_STR(claimed.id, id);
    if (has_one_writer)
        CHECK_INT(commits_of(t, &has_one_writer) - before, 1);
    CHECK_STORY(t, id, "created claimed");
}

static void test_claim_wait__times_out_empty(struct fa_t *t)
{
    const char *types[] = {"y"};
    struct faina_claim claim = {.worker_id = "w", .types = types, .type_count = 1, .wait_ms = 40};
    int64_t start_us = fa_clock_mono_us();

    fa_t_submit(t, .type = "x"); /* not for this worker */
    CHECK_OK(t, fa_t_claim_wait(t, &claim));
    CHECK_INT(t->op.tasks->count, 0);
    CHECK(fa_clock_mono_us() - start_us >= 40 * 1000, "it gave up after %lld us",
          (long long)(fa_clock_mono_us() - start_us));
    claim.wait_ms = 0;
    CHECK_OK(t, fa_t_claim_wait(t, &claim));
    CHECK_INT(t->op.tasks->count, 0);
}

static void test_claim_wait__refuses_bad_requests_at_once(struct fa_t *t)
{
    CHECK_CODE(t, fa_t_claim_wait(t, &(struct faina_claim){.wait_ms = FA_T_DEADLINE_MS}),
               FAINA_INVALID_WORKER_ID);
}

/* ------------------------------------------------------------------------------------------
 * For an end
 */

struct waited {
    const char *id;
    int64_t timeout_ms;
    enum faina_code code;
    enum faina_status status;
};

static void wait_for_end(struct fa_t *mine, size_t index, void *arg)
{
    struct waited *waited = (struct waited *)arg + index;

    waited->code = fa_t_wait(mine, waited->id, waited->timeout_ms);
    if (mine->task)
        waited->status = mine->task->status;
}

static void test_wait__every_end(struct fa_t *t)
{
    enum { ENDS = 4, WAITERS = 3 };
    static const enum faina_status ends[ENDS] = {FAINA_COMPLETED, FAINA_FAILED, FAINA_DEAD_LETTER,
                                                 FAINA_CANCELLED};

    for (size_t i = 0; i < ENDS; i++) {
        const char *id = fa_t_submit(t, .type = "x", .max_attempts = 1);
        struct waited waited[WAITERS];
        struct fa_t_crew *crew;
        int64_t start_us;

        for (size_t j = 0; j < WAITERS; j++)
            waited[j] = (struct waited){.id = id, .timeout_ms = j ? FA_T_DEADLINE_MS : -1};
        fa_t_take(t, id, "w");
        crew = fa_t_crew_start(t, WAITERS, wait_for_end, waited);
        fa_t_crew_wait_asleep(crew, t);
        start_us = fa_clock_mono_us();
        if (ends[i] == FAINA_COMPLETED)
            CHECK_OK(t, fa_t_complete(t, id, BY("w"), "1"));
        if (ends[i] == FAINA_FAILED)
            CHECK_OK(t, fa_t_fail_final(t, id, BY("w"), "no"));
        if (ends[i] == FAINA_DEAD_LETTER)
            CHECK_OK(t, fa_t_fail_attempt(t, id, BY("w"), "no"));
        if (ends[i] == FAINA_CANCELLED)
            CHECK_OK(t, fa_t_cancel(t, id, NOBODY));
        fa_t_crew_join(crew);
        CHECK(fa_clock_mono_us() - start_us < WOKEN_MS * 1000, "the wait was not woken");
        for (size_t j = 0; j < WAITERS; j++) {
            CHECK_INT(waited[j].code, FAINA_OK);
            CHECK_STATUS(waited[j].status, ends[i]);
        }
    }
}

static void test_wait__ended_already(struct fa_t *t)
{
    for (enum faina_status s = FAINA_COMPLETED; s < FAINA_STATUS_COUNT; s++) {
        CHECK_OK(t, fa_t_wait(t, fa_t_make(t, s, "w"), 0));
        CHECK_STATUS(t->task->status, s);
    }
}

static void test_wait__times_out_with_the_present_state(struct fa_t *t)
{
    for (enum faina_status s = FAINA_PENDING; s < FAINA_COMPLETED; s++) {
        const char *id = fa_t_make(t, s, "w");
        int64_t start_us = fa_clock_mono_us();

        CHECK_CODE(t, fa_t_wait(t, id, 30), FAINA_TIMEOUT);
        CHECK(fa_clock_mono_us() - start_us >= 30 * 1000, "it gave up too early");
        CHECK_STATUS(t->task->status, s);
        CHECK_STR(t->task->id, id);
        CHECK_CODE(t, fa_t_wait(t, id, 0), FAINA_TIMEOUT);
    }
}

static void test_wait__no_task(struct fa_t *t)
{
    CHECK_CODE(t, fa_t_wait(t, "01890a5d-ac96-774b-bcce-b302099a8057", -1), FAINA_TASK_NOT_FOUND);
}

static void test_wait__task_is_deleted_meanwhile(struct fa_t *t)
{
    struct waited waited = {.id = fa_t_submit(t, .type = "x"), .timeout_ms = FA_T_DEADLINE_MS};
    struct fa_t_crew *crew = fa_t_crew_start(t, 1, wait_for_end, &waited);

    fa_t_crew_wait_asleep(crew, t);
    CHECK_OK(t, fa_t_delete_with(t, waited.id, NOBODY, (struct faina_removal){.cancel = true}));
    fa_t_crew_join(crew);
    CHECK_INT(waited.code, FAINA_TASK_NOT_FOUND);
}

int main(int argc, char **argv)
{
    static const struct fa_t_case cases[] = {
        FA_T_CASE(test_claim_wait__woken_by_a_submit),
        FA_T_CASE(test_claim_wait__woken_by_what_comes_back),
        FA_T_CASE(test_claim_wait__woken_by_resume_and_limits),
        FA_T_CASE(test_claim_wait__woken_by_a_freed_resource),
        FA_T_CASE(test_claim_wait__woken_by_time),
        FA_T_CASE_SQL(test_claim_wait__woken_by_the_last_child),
        FA_T_CASE(test_claim_wait__several_share_what_comes),
        FA_T_CASE_LOCAL(test_claim_wait__gets_the_best_of_what_comes),
        FA_T_CASE(test_claim_wait__limits_hold),
        FA_T_CASE(test_claim_wait__the_paused_and_the_foreign_stay),
        FA_T_CASE_NEEDS(test_claim_wait__one_commit_for_both, FA_T_LOCAL | FA_T_SQL),
        FA_T_CASE(test_claim_wait__times_out_empty),
        FA_T_CASE(test_claim_wait__refuses_bad_requests_at_once),
        FA_T_CASE(test_wait__every_end),
        FA_T_CASE(test_wait__ended_already),
        FA_T_CASE_SQL(test_wait__times_out_with_the_present_state),
        FA_T_CASE(test_wait__no_task),
        FA_T_CASE(test_wait__task_is_deleted_meanwhile),
    };

    return fa_t_main(argc, argv, "waiting", cases, FA_COUNT(cases));
}
