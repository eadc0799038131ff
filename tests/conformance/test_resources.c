/*
 * test_resources.c - strict limits: which tasks hold a permit, and when it is free again.
 */
#include "support/ops.h"

static const char *submit_gpu(struct fa_t *t)
{
    const char *gpu = "gpu";

    return fa_t_submit(t, .type = "x", .resources = &gpu, .resource_count = 1, .max_attempts = 2,
                       .retry = {.base_ms = 1, .max_ms = 1});
}

static size_t claim_many(struct fa_t *t, const char *worker_id)
{
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = worker_id, .limit = 100));
    return t->op.tasks->count;
}

static void test_resource__limit_is_strict(struct fa_t *t)
{
    const char *first;

    CHECK_OK(t, fa_t_resource_set(t, "gpu", 2));
    first = submit_gpu(t);
    for (int i = 0; i < 4; i++)
        submit_gpu(t);
    CHECK_INT(claim_many(t, "w"), 2);
    CHECK_INT(fa_t_in_use(t, "gpu"), 2);
    CHECK_INT(claim_many(t, "v"), 0);
    CHECK_OK(t, fa_t_complete(t, first, BY("w"), NULL));
    CHECK_INT(fa_t_in_use(t, "gpu"), 1);
    CHECK_INT(claim_many(t, "v"), 1);
    CHECK_INT(claim_many(t, "v"), 0);
}

static void test_resource__holders_are_named(struct fa_t *t)
{
    const char *id = submit_gpu(t);
    const struct faina_resource *item;

    submit_gpu(t);
    CHECK_OK(t, fa_t_resource_set(t, "gpu", 1));
    CHECK_OK(t, fa_t_resource_set(t, "disk", 7));
    CHECK_OK(t, fa_t_claim(t, id, "w"));
    CHECK_OK(t, fa_t_resource_list(t, "gpu"));
    CHECK_INT(t->op.resources->count, 1);
    item = &t->op.resources->items[0];
    CHECK_STR(item->name, "gpu");
    CHECK_INT(item->max_concurrency, 1);
    CHECK_INT(item->in_use, 1);
    CHECK_INT(item->holder_count, 1);
    CHECK_STR(item->holders[0], id);
    CHECK_OK(t, fa_t_resource_list(t, NULL));
    CHECK_INT(t->op.resources->count, 2);
    CHECK_STR(t->op.resources->items[0].name, "disk");
    CHECK_INT(t->op.resources->items[0].max_concurrency, 7);
    CHECK_INT(t->op.resources->items[0].in_use, 0);
    CHECK_CODE(t, fa_t_resource_list(t, "nothing"), FAINA_NOT_FOUND);
}

/* ------------------------------------------------------------------------------------------
 * Held from claim to end, and free after it
 */

static void end_complete(struct fa_t *t, const char *id)
{
    CHECK_OK(t, fa_t_complete(t, id, BY("w"), NULL));
}

static void end_fail(struct fa_t *t, const char *id)
{
    CHECK_OK(t, fa_t_fail_attempt(t, id, BY("w"), "no"));
}

static void end_fail_final(struct fa_t *t, const char *id)
{
    CHECK_OK(t, fa_t_fail_final(t, id, BY("w"), "no"));
}

static void end_dead_letter(struct fa_t *t, const char *id)
{
    end_fail(t, id);
    fa_t_take(t, id, "w");
    CHECK_INT(fa_t_in_use(t, "gpu"), 1);
    end_fail(t, id);
    CHECK_NOW(t, id, FAINA_DEAD_LETTER);
}

static void end_cancel(struct fa_t *t, const char *id)
{
    CHECK_OK(t, fa_t_cancel(t, id, NOBODY));
}

static void end_retry(struct fa_t *t, const char *id)
{
    CHECK_OK(t, fa_t_retry(t, id, NOBODY));
}

static void end_block(struct fa_t *t, const char *id)
{
    CHECK_OK(t, fa_t_block(t, id, BY("w"), &(struct faina_submit){.type = "child"}, 1));
}

static void end_removal(struct fa_t *t, const char *id)
{
    CHECK_OK(
        t, fa_t_delete_with(t, id, NOBODY, (struct faina_removal){.cancel = true, .purge = true}));
}

static void end_background(struct fa_t *t, const char *id)
{
    CHECK_OK(t, fa_t_background(t, id, BY("w"), 0));
    CHECK_INT(fa_t_in_use(t, "gpu"), 1); /* still held */
    CHECK_OK(t, fa_t_complete(t, id, NOBODY, NULL));
}

static void end_expired(struct fa_t *t, const char *id)
{
    CHECK_OK(t, fa_t_background(t, id, BY("w"), 40));
    fa_t_wait_status(t, id, FAINA_PENDING);
}

static void test_resource__is_free_after_every_end(struct fa_t *t)
{
    static const struct {
        const char *name;
        void (*end)(struct fa_t *t, const char *id);
    } ways[] = {
        {"complete", end_complete},
        {"fail", end_fail},
        {"fail for good", end_fail_final},
        {"dead letter", end_dead_letter},
        {"cancel", end_cancel},
        {"retry", end_retry},
        {"block", end_block},
        {"removal", end_removal},
        {"background", end_background},
        {"expired", end_expired},
    };

    CHECK_OK(t, fa_t_resource_set(t, "gpu", 1));
    for (size_t i = 0; i < FA_COUNT(ways); i++) {
        const char *id = submit_gpu(t);

        CHECK_INT(fa_t_in_use(t, "gpu"), 0);
        CHECK_OK(t, fa_t_claim(t, id, "w"));
        CHECK_INT(fa_t_in_use(t, "gpu"), 1);
        CHECK_OK(t, fa_t_start(t, id, BY("w")));
        CHECK_INT(fa_t_in_use(t, "gpu"), 1);
        ways[i].end(t, id);
        CHECK(fa_t_in_use(t, "gpu") == 0, "held after %s", ways[i].name);
    }
}

static void test_resource__release_frees_it(struct fa_t *t)
{
    const char *id = submit_gpu(t);

    CHECK_OK(t, fa_t_resource_set(t, "gpu", 1));
    CHECK_OK(t, fa_t_claim(t, id, "w"));
    CHECK_OK(t, fa_t_release(t, id, BY("w")));
    CHECK_INT(fa_t_in_use(t, "gpu"), 0);
}

static void test_resource__resumed_parent_takes_it_again(struct fa_t *t)
{
    const char *id = submit_gpu(t), *other = submit_gpu(t);

    CHECK_OK(t, fa_t_resource_set(t, "gpu", 1));
    fa_t_take(t, id, "w");
    end_block(t, id);
    fa_t_take(t, other, "w");
    fa_t_finish_task(t, fa_t_child(t, id, 0));
    CHECK_NOW(t, id, FAINA_PENDING);
    CHECK_CODE(t, fa_t_claim(t, id, "w"), FAINA_OVERLOADED);
    CHECK_INT(claim_many(t, "w"), 0);
    CHECK_OK(t, fa_t_complete(t, other, BY("w"), NULL));
    CHECK_INT(claim_many(t, "w"), 1);
}

/* ------------------------------------------------------------------------------------------
 * Limits that change
 */

static void test_resource__unknown_names_are_unlimited(struct fa_t *t)
{
    for (int i = 0; i < 20; i++)
        submit_gpu(t);
    CHECK_INT(claim_many(t, "w"), 20);
}

static void test_resource__limits_of_none_and_of_zero(struct fa_t *t)
{
    for (int i = 0; i < 5; i++)
        submit_gpu(t);
    CHECK_OK(t, fa_t_resource_set(t, "gpu", 0));
    CHECK_INT(claim_many(t, "w"), 0);
    CHECK_OK(t, fa_t_resource_set(t, "gpu", -1));
    CHECK_OK(t, fa_t_resource_list(t, "gpu"));
    CHECK_INT(t->op.resources->items[0].max_concurrency, -1);
    CHECK_INT(claim_many(t, "w"), 5);
}

static void test_resource__lower_limit_takes_effect_as_holders_finish(struct fa_t *t)
{
    const char *ids[6];

    CHECK_OK(t, fa_t_resource_set(t, "gpu", 3));
    for (size_t i = 0; i < FA_COUNT(ids); i++)
        ids[i] = submit_gpu(t);
    CHECK_INT(claim_many(t, "w"), 3);
    CHECK_OK(t, fa_t_resource_set(t, "gpu", 1));
    CHECK_INT(fa_t_in_use(t, "gpu"), 3); /* held tasks keep their permits */
    for (size_t i = 0; i < 2; i++) {
        CHECK_OK(t, fa_t_complete(t, ids[i], BY("w"), NULL));
        CHECK_INT(claim_many(t, "w"), 0);
    }
    CHECK_OK(t, fa_t_complete(t, ids[2], BY("w"), NULL));
    CHECK_INT(claim_many(t, "w"), 1);
    CHECK_OK(t, fa_t_resource_set(t, "gpu", 2));
    CHECK_INT(claim_many(t, "w"), 1);
}

/* A limit that is set later counts the tasks that hold the resource already. */
static void test_resource__limit_set_while_held(struct fa_t *t)
{
    submit_gpu(t);
    submit_gpu(t);
    CHECK_INT(claim_many(t, "w"), 2);
    submit_gpu(t);
    CHECK_OK(t, fa_t_resource_set(t, "gpu", 2));
    CHECK_INT(fa_t_in_use(t, "gpu"), 2);
    CHECK_INT(claim_many(t, "w"), 0);
    CHECK_OK(t, fa_t_resource_set(t, "gpu", 3));
    CHECK_INT(claim_many(t, "w"), 1);
}

static void test_resource__remove_lifts_the_limit(struct fa_t *t)
{
    CHECK_OK(t, fa_t_resource_set(t, "gpu", 1));
    submit_gpu(t);
    submit_gpu(t);
    CHECK_INT(claim_many(t, "w"), 1);
    CHECK_OK(t, fa_t_resource_remove(t, "gpu"));
    CHECK_INT(claim_many(t, "w"), 1);
    CHECK_CODE(t, fa_t_resource_remove(t, "never set"), FAINA_NOT_FOUND);
}

static void test_resource__several_at_once(struct fa_t *t)
{
    const char *both[] = {"gpu", "disk"};
    const char *disk[] = {"disk"};
    const char *one, *two;

    CHECK_OK(t, fa_t_resource_set(t, "gpu", 5));
    CHECK_OK(t, fa_t_resource_set(t, "disk", 1));
    one = fa_t_submit(t, .type = "x", .resources = both, .resource_count = 2);
    two = fa_t_submit(t, .type = "x", .resources = both, .resource_count = 2);
    fa_t_submit(t, .type = "x", .resources = disk, .resource_count = 1);
    CHECK_INT(claim_many(t, "w"), 1);
    CHECK_INT(fa_t_in_use(t, "gpu"), 1);
    CHECK_INT(fa_t_in_use(t, "disk"), 1);
    CHECK_CODE(t, fa_t_claim(t, two, "w"), FAINA_OVERLOADED);
    CHECK_INT(fa_t_in_use(t, "gpu"), 1); /* a refused claim holds nothing */
    CHECK_OK(t, fa_t_complete(t, one, BY("w"), NULL));
    CHECK_OK(t, fa_t_claim(t, two, "w"));
    CHECK_INT(claim_many(t, "w"), 0);
}

static void test_resource__is_shared_by_all_namespaces_and_types(struct fa_t *t)
{
    const char *gpu = "gpu";

    CHECK_OK(t, fa_t_resource_set(t, "gpu", 2));
    for (int i = 0; i < 3; i++) {
        fa_t_submit(t, .ns = "one", .type = "x", .resources = &gpu, .resource_count = 1);
        fa_t_submit(t, .ns = "two", .type = "y", .resources = &gpu, .resource_count = 1);
    }
    CHECK_INT(claim_many(t, "w"), 2);
    CHECK_INT(claim_many(t, "w"), 0);
}

static void test_resource__survives_reopening(struct fa_t *t)
{
    const char *id = submit_gpu(t);

    submit_gpu(t);
    CHECK_OK(t, fa_t_resource_set(t, "gpu", 1));
    CHECK_OK(t, fa_t_claim(t, id, "w"));
    fa_t_reopen(t);
    CHECK_INT(fa_t_in_use(t, "gpu"), 1);
    CHECK_INT(claim_many(t, "w"), 0);
    CHECK_OK(t, fa_t_complete(t, id, BY("w"), NULL));
    fa_t_reopen(t);
    CHECK_INT(fa_t_in_use(t, "gpu"), 0);
    CHECK_INT(claim_many(t, "w"), 1);
}

int main(int argc, char **argv)
{
    static const struct fa_t_case cases[] = {
        FA_T_CASE(test_resource__limit_is_strict),
        FA_T_CASE(test_resource__holders_are_named),
        FA_T_CASE_SQL(test_resource__is_free_after_every_end),
        FA_T_CASE(test_resource__release_frees_it),
        FA_T_CASE_SQL(test_resource__resumed_parent_takes_it_again),
        FA_T_CASE(test_resource__unknown_names_are_unlimited),
        FA_T_CASE(test_resource__limits_of_none_and_of_zero),
        FA_T_CASE(test_resource__lower_limit_takes_effect_as_holders_finish),
        FA_T_CASE(test_resource__limit_set_while_held),
        FA_T_CASE(test_resource__remove_lifts_the_limit),
        FA_T_CASE(test_resource__several_at_once),
        FA_T_CASE(test_resource__is_shared_by_all_namespaces_and_types),
        FA_T_CASE_DURABLE(test_resource__survives_reopening),
    };

    return fa_t_main(argc, argv, "resources", cases, FA_COUNT(cases));
}
