/*
 * test_post.c - handing in operations without waiting for them.
 */
#include "server/post.h"
#include "support/ops.h"

#include "base/clock.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <unistd.h>

#define LONG_MS 60000

/* One posting, and whether it was answered. */
struct letter {
    struct fa_posted posted; /* first member */
    struct fa_op op;
    struct fa_arena arena;
    struct faina_submit submit;
    struct faina_claim claim;
    sem_t done;
    atomic_int done_count;
    int order; /* of the answers */
    atomic_int *clock;
};

static void on_done(struct fa_posted *posted)
{
    struct letter *letter = (struct letter *)posted;

    if (letter->clock)
        letter->order = atomic_fetch_add(letter->clock, 1);
    atomic_fetch_add(&letter->done_count, 1);
    sem_post(&letter->done);
}

static void letter_init(struct letter *letter, enum fa_op_kind kind)
{
    memset(letter, 0, sizeof(*letter));
    sem_init(&letter->done, 0, 0);
    letter->op.kind = kind;
    letter->op.arena = &letter->arena;
    letter->posted.ops = &letter->op;
    letter->posted.count = 1;
    letter->posted.done = on_done;
}

static void letter_finish(struct letter *letter)
{
    CHECK_INT(atomic_load(&letter->done_count), 1);
    fa_arena_finish(&letter->arena);
    fa_arena_finish(&letter->posted.answers);
    sem_destroy(&letter->done);
}

static void letter_submit(struct letter *letter, const char *type)
{
    letter_init(letter, FA_OP_SUBMIT);
    letter->submit.type = type;
    letter->op.submit = &letter->submit;
}

static void letter_claim(struct letter *letter, const char *const *type, int64_t wait_ms)
{
    letter_init(letter, FA_OP_CLAIM_NEXT);
    letter->claim.worker_id = "w";
    letter->claim.types = type;
    letter->claim.type_count = type ? 1 : 0;
    letter->claim.wait_ms = wait_ms;
    letter->op.claim = &letter->claim;
}

static void letter_wait(struct letter *letter, const char *id)
{
    letter_init(letter, FA_OP_GET);
    letter->op.id = id;
}

static void await(struct letter *letter)
{
    while (sem_wait(&letter->done) != 0)
        ;
}

static struct fa_post *open_post(struct fa_t *t)
{
    struct fa_post *post = NULL;
    struct faina_error err;

    CHECK_INT(fa_post_open(&post, t->svc, &err), FAINA_OK);
    return post;
}

struct waits {
    struct fa_post *post;
    size_t count;
};

static bool has_waits(struct fa_t *t, void *arg)
{
    const struct waits *waits = arg;
    struct fa_post_stats stats = fa_post_stats(waits->post);

    (void)t;
    return stats.waits == waits->count && stats.queued == 0;
}

/* All of them wait, and none is being asked. */
static void settle(struct fa_t *t, struct fa_post *post, size_t count)
{
    struct waits waits = {post, count};

    fa_t_wait_until(has_waits, t, &waits, "they wait");
}

/* ------------------------------------------------------------------------------------------
 * Operations
 */

static int64_t commit_count(struct fa_t *t)
{
    struct fa_service_info info;
    struct fa_arena arena = {0};

    CHECK_INT(fa_service_info(t->svc, false, &arena, &info, NULL), FAINA_OK);
    fa_arena_finish(&arena);
    return info.commits;
}

static void test_post__many_ride_in_few_transactions(struct fa_t *t)
{
    enum { COUNT = 2000 };
    struct letter *letters = fa_alloc_zero(COUNT, sizeof(*letters));
    struct fa_post *post = open_post(t);
    int64_t commits = commit_count(t);

    for (size_t i = 0; i < COUNT; i++) {
        letter_submit(&letters[i], i % 10 == 3 ? "" : "t");
        CHECK_INT(fa_post(post, &letters[i].posted), FAINA_OK);
    }
    for (size_t i = 0; i < COUNT; i++)
        await(&letters[i]);
    commits = commit_count(t) - commits;
    CHECK(commits < COUNT / 2, "%lld commits", (long long)commits);
    for (size_t i = 0; i < COUNT; i++) {
        /* One that is refused changes no other one's answer. */
        CHECK_INT(letters[i].op.code, i % 10 == 3 ? FAINA_INVALID_TASK : FAINA_OK);
        if (letters[i].op.code == FAINA_OK)
            CHECK_OK(t, fa_t_get(t, letters[i].op.task_id));
        else
            CHECK_STR(letters[i].op.error.field, "type");
        letter_finish(&letters[i]);
    }
    fa_post_close(post);
    free(letters);
}

/* Posts them, and waits until all are done. */
static void post_all(struct fa_post *post, struct letter *letters, size_t count)
{
    for (size_t i = 0; i < count; i++)
        CHECK_INT(fa_post(post, &letters[i].posted), FAINA_OK);
    for (size_t i = 0; i < count; i++)
        await(&letters[i]);
}

/* One of its operations is refused by the check; the others are run. */
static void test_post__a_posting_with_a_bad_operation(struct fa_t *t)
{
    enum { COUNT = 5 };
    struct fa_post *post = open_post(t);
    struct letter letter;
    struct faina_submit submits[COUNT] = {{0}};
    struct fa_op ops[COUNT];

    letter_init(&letter, FA_OP_SUBMIT);
    for (size_t i = 0; i < COUNT; i++) {
        submits[i].type = i == 2 ? "" : "t";
        ops[i] =
            (struct fa_op){.kind = FA_OP_SUBMIT, .submit = &submits[i], .arena = &letter.arena};
    }
    letter.posted.ops = ops;
    letter.posted.count = COUNT;
    post_all(post, &letter, 1);
    for (size_t i = 0; i < COUNT; i++) {
        CHECK_INT(ops[i].code, i == 2 ? FAINA_INVALID_TASK : FAINA_OK);
        CHECK_INT(ops[i].task_id[0] == '\0', i == 2);
    }
    letter_finish(&letter);
    fa_post_close(post);
}

/* Some are checked before they are posted, some are bad; each answer is its own. */
static void test_post__what_was_checked_ahead(struct fa_t *t)
{
    enum { COUNT = 12 };
    struct letter letters[COUNT];
    struct fa_post *post = open_post(t);

    for (size_t i = 0; i < COUNT; i++) {
        letter_submit(&letters[i], i % 3 == 0 ? "a\nb" : "t");
        if (i % 2 == 0)
            fa_service_check(t->svc, &letters[i].op, 1);
        if (i % 4 == 0)
            fa_service_check(t->svc, &letters[i].op, 1); /* again, which changes nothing */
        CHECK_INT(letters[i].op.code, i % 6 == 0 ? FAINA_INVALID_TASK : FAINA_OK);
    }
    post_all(post, letters, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        const struct fa_op *op = &letters[i].op;

        CHECK_INT(op->code, i % 3 == 0 ? FAINA_INVALID_TASK : FAINA_OK);
        CHECK_INT(op->error.code, op->code);
        CHECK_STR(op->error.field, i % 3 == 0 ? "type" : "");
        CHECK_INT(op->task_id[0] == '\0', i % 3 == 0);
        CHECK_TRUE(!op->is_checked); /* it counts for one run */
        letter_finish(&letters[i]);
    }
    fa_post_close(post);
}

static void test_post__reads_and_work(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "t");
    struct fa_post *post = open_post(t);
    struct letter read, bad;

    letter_wait(&read, id);
    letter_wait(&bad, "nonsense");
    CHECK_INT(fa_post(post, &read.posted), FAINA_OK);
    CHECK_INT(fa_post(post, &bad.posted), FAINA_OK);
    await(&read);
    await(&bad);
    CHECK_INT(read.op.code, FAINA_OK);
    CHECK_STR(read.op.task->id, id);
    CHECK_INT(bad.op.code, FAINA_TASK_NOT_FOUND);
    letter_finish(&read);
    letter_finish(&bad);
    fa_post_close(post);
}

static void test_post__reads_and_changes_may_come_together(struct fa_t *t)
{
    enum { COUNT = 9 };
    const char *id = fa_t_submit(t, .type = "t");
    struct letter letters[COUNT];
    struct fa_post *post = open_post(t);

    for (size_t i = 0; i < COUNT; i++) {
        if (i % 3 == 1)
            letter_submit(&letters[i], "t");
        else
            letter_wait(&letters[i], id);
        CHECK_INT(fa_posted_writes(&letters[i].posted), i % 3 == 1);
    }
    post_all(post, letters, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        CHECK_INT(letters[i].op.code, FAINA_OK);
        letter_finish(&letters[i]);
    }
    fa_post_close(post);
}

static sem_t gate, at_gate;

static void wait_at_gate(struct fa_posted *posted)
{
    (void)posted;
    sem_post(&at_gate);
    while (sem_wait(&gate) != 0)
        ;
}

/* Nobody waits for long work but other long work, which is done in its order. */
static void test_post__long_work_holds_nobody_up(struct fa_t *t)
{
    enum { LONGS = 5 };
    const char *id = fa_t_submit(t, .type = "t");
    struct fa_post *post = open_post(t);
    struct letter longs[LONGS], read, change;
    atomic_int clock = 0;

    sem_init(&gate, 0, 0);
    sem_init(&at_gate, 0, 0);
    for (size_t i = 0; i < LONGS; i++) {
        letter_init(&longs[i], FA_OP_SUBMIT); /* which it is not to run */
        longs[i].posted.work = wait_at_gate;
        longs[i].posted.is_long = true;
        longs[i].clock = &clock;
        CHECK_INT(fa_posted_writes(&longs[i].posted), false);
        CHECK_INT(fa_post(post, &longs[i].posted), FAINA_OK);
    }
    for (size_t i = 0; i < 10; i++) {
        letter_wait(&read, id);
        letter_submit(&change, "t");
        CHECK_INT(fa_post(post, &read.posted), FAINA_OK);
        CHECK_INT(fa_post(post, &change.posted), FAINA_OK);
        await(&read);
        await(&change);
        CHECK_INT(read.op.code, FAINA_OK);
        CHECK_INT(change.op.code, FAINA_OK);
        letter_finish(&read);
        letter_finish(&change);
    }
    CHECK_INT(atomic_load(&clock), 0);
    for (size_t i = 0; i < LONGS; i++)
        sem_post(&gate);
    fa_post_close(post); /* P1 */
    for (size_t i = 0; i < LONGS; i++) {
        CHECK_INT(longs[i].order, i);
        letter_finish(&longs[i]);
    }
    sem_destroy(&gate);
    sem_destroy(&at_gate);
}

static void test_post__what_is_queued_is_bounded(struct fa_t *t)
{
    enum { READERS = 2, LARGE = 50000 };
    struct fa_op *ops = fa_alloc_zero(LARGE, sizeof(*ops));
    struct fa_post *post = open_post(t);
    struct letter busy[READERS], large, one_more;
    struct fa_arena arena = {0};

    /* The readers are kept busy, so what is posted for them stays in the queue. */
    sem_init(&gate, 0, 0);
    sem_init(&at_gate, 0, 0);
    for (size_t i = 0; i < READERS; i++) {
        letter_init(&busy[i], FA_OP_GET);
        busy[i].posted.work = wait_at_gate;
        CHECK_INT(fa_post(post, &busy[i].posted), FAINA_OK);
    }
    for (size_t i = 0; i < LARGE; i++)
        ops[i] = (struct fa_op){.kind = FA_OP_GET, .id = "x", .arena = &arena};
    letter_init(&large, FA_OP_GET);
    large.posted.ops = ops;
    large.posted.count = LARGE;
    letter_wait(&one_more, "x");
    for (size_t i = 0; i < READERS; i++) {
        while (sem_wait(&at_gate) != 0)
            ;
    }
    CHECK_INT(fa_post(post, &large.posted), FAINA_OK);
    CHECK_INT(fa_post(post, &one_more.posted), FAINA_OVERLOADED);
    for (size_t i = 0; i < READERS; i++)
        sem_post(&gate);
    await(&large);
    CHECK_INT(fa_post(post, &one_more.posted), FAINA_OK);
    await(&one_more);
    for (size_t i = 0; i < READERS; i++)
        letter_finish(&busy[i]);
    letter_finish(&large);
    letter_finish(&one_more);
    fa_post_close(post);
    fa_arena_finish(&arena);
    sem_destroy(&gate);
    sem_destroy(&at_gate);
    free(ops);
}

/* ------------------------------------------------------------------------------------------
 * Claims that wait
 */

static void test_post__a_claim_takes_what_is_there(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "t");
    struct fa_post *post = open_post(t);
    struct letter claim;

    letter_claim(&claim, NULL, LONG_MS);
    CHECK_INT(fa_post_claim_wait(post, &claim.posted), FAINA_OK);
    await(&claim);
    CHECK_INT(claim.op.code, FAINA_OK);
    CHECK_INT(claim.op.tasks->count, 1);
    CHECK_STR(claim.op.tasks->items[0].id, id);
    letter_finish(&claim);
    fa_post_close(post);
}

static void test_post__claims_are_served_in_their_order(struct fa_t *t)
{
    enum { COUNT = 300 };
    struct letter *claims = fa_alloc_zero(COUNT, sizeof(*claims));
    struct fa_post *post = open_post(t);
    atomic_int clock = 0;

    for (size_t i = 0; i < COUNT; i++) {
        letter_claim(&claims[i], NULL, LONG_MS);
        claims[i].clock = &clock;
        CHECK_INT(fa_post_claim_wait(post, &claims[i].posted), FAINA_OK);
    }
    settle(t, post, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        fa_t_submit(t, .type = "t");
        await(&claims[i]);
        CHECK_INT(claims[i].op.tasks->count, 1);
        CHECK_INT(claims[i].order, i);
        letter_finish(&claims[i]);
    }
    fa_post_close(post);
    free(claims);
}

static void test_post__work_reaches_the_one_that_can_do_it(struct fa_t *t)
{
    enum { COUNT = 200 };
    static const char *const never[] = {"never"}, *const rare[] = {"rare"};
    struct letter *claims = fa_alloc_zero(COUNT, sizeof(*claims));
    struct fa_post *post = open_post(t);

    for (size_t i = 0; i < COUNT; i++) {
        letter_claim(&claims[i], i == COUNT - 1 ? rare : never, LONG_MS);
        CHECK_INT(fa_post_claim_wait(post, &claims[i].posted), FAINA_OK);
    }
    settle(t, post, COUNT);
    fa_t_submit(t, .type = "rare");
    await(&claims[COUNT - 1]);
    CHECK_INT(claims[COUNT - 1].op.tasks->count, 1);
    CHECK_INT(fa_post_stats(post).waits, COUNT - 1);
    fa_post_end_waits(post);
    for (size_t i = 0; i < COUNT; i++) {
        if (i < COUNT - 1) {
            await(&claims[i]);
            CHECK_INT(claims[i].op.tasks->count, 0);
        }
        letter_finish(&claims[i]);
    }
    fa_post_close(post);
    free(claims);
}

static void test_post__claims_end_in_time(struct fa_t *t)
{
    enum { COUNT = 50 };
    struct letter claims[COUNT];
    struct fa_post *post = open_post(t);
    int64_t begin_us = fa_clock_mono_us();

    for (size_t i = 0; i < COUNT; i++) { /* the longest first, so that the heap has work to do */
        letter_claim(&claims[i], NULL, (int64_t)(COUNT - i) * 5);
        CHECK_INT(fa_post_claim_wait(post, &claims[i].posted), FAINA_OK);
    }
    for (size_t i = 0; i < COUNT; i++) {
        await(&claims[i]);
        CHECK_INT(claims[i].op.code, FAINA_OK);
        CHECK_INT(claims[i].op.tasks->count, 0);
        letter_finish(&claims[i]);
    }
    CHECK_TRUE(fa_clock_mono_us() - begin_us >= COUNT * 5 * 1000);
    CHECK_INT(fa_post_stats(post).waits, 0);
    fa_post_close(post);
}

static bool is_gone(const struct fa_posted *posted)
{
    (void)posted;
    return true;
}

static void test_post__one_that_is_gone_takes_nothing(struct fa_t *t)
{
    struct fa_post *post = open_post(t);
    struct letter gone, next;
    const char *id;

    letter_claim(&gone, NULL, LONG_MS);
    CHECK_INT(fa_post_claim_wait(post, &gone.posted), FAINA_OK);
    settle(t, post, 1);
    letter_claim(&next, NULL, LONG_MS);
    CHECK_INT(fa_post_claim_wait(post, &next.posted), FAINA_OK);
    settle(t, post, 2);
    gone.posted.is_gone = is_gone;
    id = fa_t_submit(t, .type = "t");
    await(&next);
    await(&gone);
    CHECK_INT(gone.op.tasks->count, 0);
    CHECK_STR(next.op.tasks->items[0].id, id);
    letter_finish(&gone);
    letter_finish(&next);
    fa_post_close(post);
}

/* There when it is asked first, and gone once it has its tasks. */
static bool is_gone_later(const struct fa_posted *posted)
{
    return posted->ops[0].tasks != NULL && posted->ops[0].tasks->count > 0;
}

static void test_post__one_that_goes_meanwhile_gives_back(struct fa_t *t)
{
    struct fa_post *post = open_post(t);
    const char *id = fa_t_submit(t, .type = "t");
    struct letter gone, next;

    letter_claim(&gone, NULL, LONG_MS);
    gone.posted.is_gone = is_gone_later;
    CHECK_INT(fa_post_claim_wait(post, &gone.posted), FAINA_OK);
    await(&gone);
    CHECK_INT(gone.op.tasks->count, 0);
    letter_claim(&next, NULL, LONG_MS);
    CHECK_INT(fa_post_claim_wait(post, &next.posted), FAINA_OK);
    await(&next);
    CHECK_STR(next.op.tasks->items[0].id, id);
    CHECK_INT(next.op.tasks->items[0].attempts, 1); /* the other one was not spent */
    letter_finish(&gone);
    letter_finish(&next);
    fa_post_close(post);
}

static void test_post__a_bad_claim_is_refused_at_once(struct fa_t *t)
{
    struct fa_post *post = open_post(t);
    struct letter claim;

    letter_claim(&claim, NULL, LONG_MS);
    claim.claim.worker_id = NULL;
    CHECK_INT(fa_post_claim_wait(post, &claim.posted), FAINA_OK);
    await(&claim);
    CHECK_INT(claim.op.code, FAINA_INVALID_WORKER_ID);
    letter_finish(&claim);
    fa_post_close(post);
}

/* ------------------------------------------------------------------------------------------
 * Waits for a task
 */

static void test_post__waits_end_with_the_task(struct fa_t *t)
{
    enum { COUNT = 100 };
    struct letter waits[COUNT];
    const char *id = fa_t_submit(t, .type = "t"), *other = fa_t_submit(t, .type = "t");
    struct fa_post *post = open_post(t);
    struct letter longer;

    for (size_t i = 0; i < COUNT; i++) {
        letter_wait(&waits[i], id);
        CHECK_INT(fa_post_wait(post, &waits[i].posted, LONG_MS), FAINA_OK);
    }
    letter_wait(&longer, other);
    CHECK_INT(fa_post_wait(post, &longer.posted, LONG_MS), FAINA_OK);
    settle(t, post, COUNT + 1);
    fa_t_finish_task(t, id);
    for (size_t i = 0; i < COUNT; i++) {
        await(&waits[i]);
        CHECK_STATUS(waits[i].op.task->status, FAINA_COMPLETED);
        letter_finish(&waits[i]);
    }
    CHECK_INT(fa_post_stats(post).waits, 1);
    fa_post_close(post);
    CHECK_STATUS(longer.op.task->status, FAINA_PENDING);
    letter_finish(&longer);
}

static void test_post__a_wait_answers_with_the_present_state(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "t");
    struct fa_post *post = open_post(t);
    struct letter wait, ended, nobody;

    letter_wait(&wait, id);
    CHECK_INT(fa_post_wait(post, &wait.posted, 300), FAINA_OK);
    settle(t, post, 1);
    fa_t_take(t, id, "w");
    await(&wait);
    CHECK_INT(wait.op.code, FAINA_OK);
    CHECK_STATUS(wait.op.task->status, FAINA_RUNNING);
    letter_finish(&wait);

    CHECK_OK(t, fa_t_complete(t, id, BY("w"), NULL));
    letter_wait(&ended, id);
    CHECK_INT(fa_post_wait(post, &ended.posted, LONG_MS), FAINA_OK);
    await(&ended);
    CHECK_STATUS(ended.op.task->status, FAINA_COMPLETED);
    letter_finish(&ended);

    letter_wait(&nobody, "0190c4a2-6f1e-7b3d-8a5c-1f2e3d4c5b6a");
    CHECK_INT(fa_post_wait(post, &nobody.posted, LONG_MS), FAINA_OK);
    await(&nobody);
    CHECK_INT(nobody.op.code, FAINA_TASK_NOT_FOUND);
    letter_finish(&nobody);
    fa_post_close(post);
}

/* ------------------------------------------------------------------------------------------
 * Closing
 */

static void test_post__closing_answers_everybody_once(struct fa_t *t)
{
    enum { COUNT = 300 };
    struct letter *letters = fa_alloc_zero(3 * COUNT, sizeof(*letters));
    const char *id = fa_t_submit(t, .type = "other");
    struct fa_post *post = open_post(t);
    static const char *const types[] = {"never"};

    for (size_t i = 0; i < 3 * COUNT; i++) {
        struct letter *letter = &letters[i];

        if (i % 3 == 0) {
            letter_submit(letter, "t");
            CHECK_INT(fa_post(post, &letter->posted), FAINA_OK);
        } else if (i % 3 == 1) {
            letter_claim(letter, types, LONG_MS);
            CHECK_INT(fa_post_claim_wait(post, &letter->posted), FAINA_OK);
        } else {
            letter_wait(letter, id);
            CHECK_INT(fa_post_wait(post, &letter->posted, LONG_MS), FAINA_OK);
        }
    }
    fa_post_close(post);
    for (size_t i = 0; i < 3 * COUNT; i++) {
        CHECK_INT(letters[i].op.code, FAINA_OK);
        if (i % 3 == 0)
            CHECK_OK(t, fa_t_get(t, letters[i].op.task_id));
        letter_finish(&letters[i]);
    }
    free(letters);
}

static void test_post__nothing_waits_after_the_waits_have_ended(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "other");
    struct fa_post *post = open_post(t);
    static const char *const types[] = {"never"};
    struct letter claim, wait;

    fa_post_end_waits(post);
    letter_claim(&claim, types, LONG_MS);
    CHECK_INT(fa_post_claim_wait(post, &claim.posted), FAINA_OK);
    letter_wait(&wait, id);
    CHECK_INT(fa_post_wait(post, &wait.posted, LONG_MS), FAINA_OK);
    await(&claim);
    await(&wait);
    CHECK_INT(claim.op.tasks->count, 0);
    CHECK_STATUS(wait.op.task->status, FAINA_PENDING);
    letter_finish(&claim);
    letter_finish(&wait);
    fa_post_close(post);
}

int main(int argc, char **argv)
{
    static const struct fa_t_case cases[] = {
        FA_T_CASE_LOCAL(test_post__many_ride_in_few_transactions),
        FA_T_CASE_LOCAL(test_post__a_posting_with_a_bad_operation),
        FA_T_CASE_LOCAL(test_post__what_was_checked_ahead),
        FA_T_CASE_LOCAL(test_post__reads_and_changes_may_come_together),
        FA_T_CASE_LOCAL(test_post__reads_and_work),
        FA_T_CASE_LOCAL(test_post__long_work_holds_nobody_up),
        FA_T_CASE_LOCAL(test_post__what_is_queued_is_bounded),
        FA_T_CASE_LOCAL(test_post__a_claim_takes_what_is_there),
        FA_T_CASE_LOCAL(test_post__claims_are_served_in_their_order),
        FA_T_CASE_LOCAL(test_post__work_reaches_the_one_that_can_do_it),
        FA_T_CASE_LOCAL(test_post__claims_end_in_time),
        FA_T_CASE_LOCAL(test_post__one_that_is_gone_takes_nothing),
        FA_T_CASE_LOCAL(test_post__one_that_goes_meanwhile_gives_back),
        FA_T_CASE_LOCAL(test_post__a_bad_claim_is_refused_at_once),
        FA_T_CASE_LOCAL(test_post__waits_end_with_the_task),
        FA_T_CASE_LOCAL(test_post__a_wait_answers_with_the_present_state),
        FA_T_CASE_LOCAL(test_post__closing_answers_everybody_once),
        FA_T_CASE_LOCAL(test_post__nothing_waits_after_the_waits_have_ended),
    };

    /* It is about post, which sees no difference between engines. */
    setenv("FA_CONFORMANCE_URLS", FA_T_SQLITE " " FA_T_MEMORY, 0);
    return fa_t_main(argc, argv, "post", cases, FA_COUNT(cases));
}
