/*
 * test_waits.c - those who wait: in the order of their deadlines, by their task, in turns.
 */
#include "support/support.h"

#include "server/waits.h"

#include <setjmp.h>
#include <stdlib.h>

#include <cmocka.h>

#define MANY 1000

static struct fa_waits waits;

static int set_up(void **state)
{
    fa_waits_init(&waits);
    return 0;
}

static int tear_down(void **state)
{
    fa_waits_finish(&waits);
    return 0;
}

static struct fa_posted task_wait(int64_t key, int64_t deadline_us)
{
    return (struct fa_posted){
        .kind = FA_POST_TASK_WAIT, .id = {.key = key}, .deadline_us = deadline_us};
}

static void test_waits__they_end_in_the_order_of_their_deadlines(void **state)
{
    struct fa_posted *all = calloc(MANY, sizeof(*all)), *posted;
    struct fa_random random;
    int64_t last_us = 0, first_us = INT64_MAX;
    size_t count = 0;

    fa_random_seed(&random, fa_t_seed());
    CHECK_TRUE(fa_waits_next_us(&waits) == INT64_MAX);
    for (size_t i = 0; i < MANY; i++) {
        int64_t deadline_us = 1 + (int64_t)fa_random_below(&random, 500);
        bool is_first = deadline_us < first_us;

        all[i] = task_wait((int64_t)i, deadline_us);
        CHECK_INT(fa_waits_add(&waits, &all[i]), is_first);
        first_us = is_first ? deadline_us : first_us;
        CHECK_INT(fa_waits_next_us(&waits), first_us);
    }
    for (size_t i = 0; i < MANY; i += 3) /* answered before their time */
        fa_waits_remove(&waits, &all[i]);
    CHECK_TRUE(fa_waits_due(&waits, 0) == NULL);
    while ((posted = fa_waits_due(&waits, INT64_MAX)) != NULL) {
        CHECK_TRUE(posted->deadline_us >= last_us);
        CHECK_TRUE((posted - all) % 3 != 0);
        last_us = posted->deadline_us;
        count++;
        fa_waits_remove(&waits, posted);
    }
    CHECK_INT(count, MANY - (MANY + 2) / 3);
    CHECK_INT(waits.task_count, 0);
    free(all);
}

static void count_one(void *ctx, struct fa_posted *posted)
{
    posted->must_reread = true;
    ++*(size_t *)ctx;
}

static size_t tell(const struct fa_id *id)
{
    size_t count = 0;

    fa_waits_each(&waits, id, count_one, &count);
    return count;
}

static void test_waits__each_is_found_by_its_task(void **state)
{
    struct fa_posted all[] = {task_wait(1, 1), task_wait(2, 1), task_wait(2, 1), task_wait(3, 1)};

    for (size_t i = 0; i < FA_COUNT(all); i++)
        fa_waits_add(&waits, &all[i]);
    CHECK_INT(tell(&(struct fa_id){.key = 2}), 2);
    CHECK_TRUE(!all[0].must_reread && all[1].must_reread && all[2].must_reread &&
               !all[3].must_reread);
    CHECK_INT(tell(&(struct fa_id){.key = 4}), 0);
    CHECK_INT(tell(NULL), 4);
    fa_waits_remove(&waits, &all[1]);
    CHECK_INT(tell(&(struct fa_id){.key = 2}), 1);
    for (size_t i = 0; i < FA_COUNT(all); i++) {
        if (i != 1)
            fa_waits_remove(&waits, &all[i]);
    }
    CHECK_INT(tell(NULL), 0);
}

/* A claim that was asked once, got nothing and waits; types: a bit for each that it takes. */
struct claim {
    struct fa_posted posted;
    struct fa_op op;
    struct faina_claim claim;
};

static const char *const types[] = {"x"};

static void begin_claims(struct claim *all, size_t count, uint64_t bits)
{
    for (size_t i = 0; i < count; i++) {
        struct claim *one = &all[i];

        one->claim = (struct faina_claim){.types = types, .type_count = 1};
        one->op = (struct fa_op){.kind = FA_OP_CLAIM_NEXT, .claim = &one->claim};
        one->posted = (struct fa_posted){.kind = FA_POST_CLAIM_WAIT,
                                         .ops = &one->op,
                                         .count = 1,
                                         .types = bits,
                                         .deadline_us = 1,
                                         .run_mark = waits.ready_mark};
        fa_waits_add(&waits, &one->posted);
        fa_waits_go_on(&waits, &one->posted);
    }
}

static void end_claims(struct claim *all, size_t count)
{
    for (size_t i = 0; i < count; i++)
        fa_waits_remove(&waits, &all[i].posted);
    CHECK_INT(waits.claim_count, 0);
}

/* One transaction: how many were asked; none of them gets anything. */
static size_t ask(size_t *asked_of, const struct claim *all)
{
    struct fa_ring_link group;
    size_t count;

    fa_ring_init(&group);
    count = fa_waits_take(&waits, &group);
    while (!fa_ring_is_empty(&group)) {
        struct fa_posted *posted = (void *)((char *)group.next - offsetof(struct fa_posted, link));

        fa_ring_remove(&posted->link);
        CHECK_INT(posted->state, FA_POST_RUNS);
        asked_of[(const struct claim *)posted - all]++;
        fa_waits_go_on(&waits, posted);
    }
    return count;
}

/* P4 */
static void test_waits__after_news_each_is_asked_once(void **state)
{
    struct claim *all = calloc(MANY, sizeof(*all));
    size_t *asked = calloc(MANY, sizeof(*asked)), groups = 0;

    CHECK_TRUE(!fa_waits_notify(&waits, 1)); /* nobody waits */
    begin_claims(all, MANY, 1);
    CHECK_TRUE(!fa_waits_has_pass(&waits));
    CHECK_TRUE(fa_waits_notify(&waits, 1));
    for (; fa_waits_has_pass(&waits); groups++)
        CHECK_TRUE(ask(asked, all) <= 32);
    for (size_t i = 0; i < MANY; i++)
        CHECK_INT(asked[i], 1);
    CHECK_TRUE(groups >= MANY / 32);
    end_claims(all, MANY);
    free(asked);
    free(all);
}

static void test_waits__who_takes_other_types_is_skipped(void **state)
{
    struct claim *all = calloc(MANY, sizeof(*all));
    size_t *asked = calloc(MANY, sizeof(*asked));

    begin_claims(all, MANY - 1, 1);
    begin_claims(all + MANY - 1, 1, 2);
    fa_waits_notify(&waits, 2);
    for (size_t groups = 0; fa_waits_has_pass(&waits); groups++) {
        ask(asked, all);
        CHECK_TRUE(groups < 10);
    }
    for (size_t i = 0; i < MANY; i++)
        CHECK_INT(asked[i], i == MANY - 1);
    end_claims(all, MANY);
    free(asked);
    free(all);
}

static void test_waits__one_that_takes_anything_ends_the_pass(void **state)
{
    struct claim all[40] = {0};
    size_t asked[40] = {0}, count = 0;

    begin_claims(all, 40, 1);
    all[0].claim.types = NULL;
    fa_waits_notify(&waits, 1);
    ask(asked, all);
    CHECK_TRUE(!fa_waits_has_pass(&waits));
    for (size_t i = 0; i < FA_COUNT(all); i++)
        count += asked[i];
    CHECK_TRUE(asked[0] == 1 && count < 40);
    end_claims(all, 40);
}

static void test_waits__news_during_a_pass_begins_another(void **state)
{
    struct claim all[100] = {0};
    size_t asked[100] = {0};

    begin_claims(all, 100, 1);
    fa_waits_notify(&waits, 1);
    ask(asked, all);
    CHECK_INT(asked[0], 1);
    fa_waits_notify(&waits, 1);
    while (fa_waits_has_pass(&waits))
        ask(asked, all);
    CHECK_INT(asked[0], 2);
    for (size_t i = 0; i < FA_COUNT(all); i++)
        CHECK_TRUE(asked[i] >= 1);
    end_claims(all, 100);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_waits__they_end_in_the_order_of_their_deadlines),
        TEST(test_waits__each_is_found_by_its_task),
        TEST(test_waits__after_news_each_is_asked_once),
        TEST(test_waits__who_takes_other_types_is_skipped),
        TEST(test_waits__one_that_takes_anything_ends_the_pass),
        TEST(test_waits__news_during_a_pass_begins_another),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
