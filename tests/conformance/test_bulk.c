/*
 * test_bulk.c - operations on many tasks: what a filter selects is changed once, and counted.
 */
#include "support/bulk.h"

#include "model/limits.h"

#include <stdlib.h>

#define MANY 2500 /* more than a page of the runner */

/* Each kind -------------------------------------------------------------------------------- */

static void test_bulk__cancel(struct fa_t *t)
{
    const char *mail = fa_t_submit(t, .type = "mail"), *other = fa_t_submit(t, .type = "x");
    const char *held = fa_t_make(t, FAINA_RUNNING, "w"), *done = fa_t_make(t, FAINA_COMPLETED, "w");
    const struct fa_bulk *bulk;
    struct fa_bulk_request all = {.kind = FA_BULK_CANCEL, .has_filter = true, .all = true};

    bulk = fa_t_bulk(t, CANCEL, .type = "mail");
    CHECK_INT(bulk->matched, 1);
    CHECK_STR(fa_bulk_kind_word((int)bulk->kind), "cancel");
    fa_t_bulk_completes(t, bulk, 1, 0);
    CHECK_NOW(t, mail, FAINA_CANCELLED);
    CHECK_STORY(t, mail, "created cancelled");
    CHECK_NOW(t, other, FAINA_PENDING);
    fa_t_bulk_completes(t, fa_t_bulk_start(t, &all), 3, 1); /* the first again; not the last */
    CHECK_NOW(t, other, FAINA_CANCELLED);
    CHECK_NOW(t, held, FAINA_CANCELLED);
    CHECK_NOW(t, done, FAINA_COMPLETED);
}

static void test_bulk__retry(struct fa_t *t)
{
    struct fa_bulk_request keep = {.kind = FA_BULK_RETRY,
                                   .has_filter = true,
                                   .query = {.statuses = 1u << FAINA_DEAD_LETTER},
                                   .has_reset = true};
    const char *failed = fa_t_make(t, FAINA_FAILED, "w"),
               *dead = fa_t_make(t, FAINA_DEAD_LETTER, "w");
    const char *cancelled = fa_t_make(t, FAINA_CANCELLED, "w");

    fa_t_bulk_completes(t, fa_t_bulk_start(t, &keep), 0, 1); /* no attempt is left */
    CHECK_NOW(t, dead, FAINA_DEAD_LETTER);
    fa_t_bulk_completes(
        t, fa_t_bulk(t, RETRY, .statuses = 1u << FAINA_FAILED | 1u << FAINA_DEAD_LETTER), 2, 0);
    CHECK_NOW(t, failed, FAINA_PENDING);
    CHECK_NOW(t, dead, FAINA_PENDING);
    CHECK_INT(fa_t_task(t, dead)->attempts, 0);
    CHECK_NOW(t, cancelled, FAINA_CANCELLED);
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w", .limit = 10));
    CHECK_INT(t->op.tasks->count, 2);
}

static void test_bulk__delete(struct fa_t *t)
{
    struct fa_bulk_request all = {
        .kind = FA_BULK_DELETE, .has_filter = true, .all = true, .cancels = true, .purges = true};
    const char *done = fa_t_make(t, FAINA_COMPLETED, "w"), *held = fa_t_make(t, FAINA_RUNNING, "w");
    const char *pending = fa_t_submit(t, .type = "x");

    fa_t_bulk_completes(t, fa_t_bulk(t, DELETE, .created_after_us = 1), 1, 2);
    CHECK_CODE(t, fa_t_get(t, done), FAINA_TASK_NOT_FOUND);
    CHECK_NOW(t, held, FAINA_RUNNING);
    CHECK_NOW(t, pending, FAINA_PENDING);
    fa_t_bulk_completes(t, fa_t_bulk_start(t, &all), 2, 0);
    CHECK_OK(t, fa_t_list(t, .ns = "*"));
    CHECK_INT(t->op.tasks->count, 0);
}

static void test_bulk__update(struct fa_t *t)
{
    struct faina_update set = {.has_priority = true, .priority = 7, .metadata = "{\"a\":1}"};
    struct fa_bulk_request update = {
        .kind = FA_BULK_UPDATE, .has_filter = true, .query = {.type = "x"}, .set = &set};
    const char *id = fa_t_submit(t, .type = "x"), *other = fa_t_submit(t, .type = "y");
    const char *held = fa_t_submit(t, .type = "x", .priority = 1);

    CHECK_OK(t, fa_t_claim(t, held, "w"));
    fa_t_bulk_completes(t, fa_t_bulk_start(t, &update), 1, 1);
    CHECK_INT(fa_t_task(t, id)->priority, 7);
    CHECK_STR(fa_t_task(t, id)->metadata, "{\"a\":1}");
    CHECK_INT(fa_t_task(t, held)->priority, 1);
    CHECK_INT(fa_t_task(t, other)->priority, 0);
    set = (struct faina_update){.group = "g"};
    fa_t_bulk_completes(t, fa_t_bulk_start(t, &update), 1, 1);
    CHECK_STR(fa_t_task(t, id)->group, "g");
}

/* What is selected ------------------------------------------------------------------------- */

static void test_bulk__a_dry_run_counts(struct fa_t *t)
{
    static const struct faina_metadata_is three = {"k", "3"};
    const char *id, *before;

    fa_t_submit_many(t, "x", MANY);
    id = fa_t_submit(t, .type = "y", .metadata = "{\"k\":3}");
    fa_t_submit(t, .type = "y", .metadata = "{\"k\":4}");
    before = fa_t_picture(t, id);
    CHECK_INT(fa_t_bulk_count(t, FA_T_BULK(CANCEL, .type = "x")), MANY);
    CHECK_INT(fa_t_bulk_count(t, FA_T_BULK(CANCEL, .type = "y")), 2);
    CHECK_INT(fa_t_bulk_count(t, FA_T_BULK(DELETE, .metadata = &three, .metadata_count = 1)), 1);
    CHECK_INT(fa_t_bulk_count(t, FA_T_BULK(RETRY, .type = "none")), 0);
    CHECK_STR(fa_t_picture(t, id), before);
    CHECK_OK(t, fa_t_run(t, &(struct fa_op){.kind = FA_OP_BULK_LIST}));
    CHECK_INT(t->op.bulks->count, 0);
}

static void test_bulk__namespaces(struct fa_t *t)
{
    const char *here = fa_t_submit(t, .type = "x"), *there = fa_t_submit(t, .ns = "n", .type = "x");

    fa_t_bulk_completes(t, fa_t_bulk(t, CANCEL, .ns = "n", .type = "x"), 1, 0);
    CHECK_NOW(t, here, FAINA_PENDING);
    CHECK_NOW(t, there, FAINA_CANCELLED);
    fa_t_bulk_completes(t, fa_t_bulk(t, RETRY, .ns = "*", .statuses = 1u << FAINA_CANCELLED), 1, 0);
    CHECK_STR(t->op.bulks->items[0].ns, "*");
    CHECK_NOW(t, there, FAINA_PENDING);
}

static void test_bulk__nothing_to_do(struct fa_t *t)
{
    const struct fa_bulk *bulk = fa_t_bulk(t, CANCEL, .type = "none");

    CHECK_INT(bulk->status, FA_BULK_COMPLETED);
    fa_t_bulk_completes(t, bulk, 0, 0);
}

/* The whole operation ---------------------------------------------------------------------- */

static void test_bulk__many_tasks(struct fa_t *t)
{
    static const char filter[] =
        "{\"status\":\"cancelled\",\"namespace\":\"default\",\"type\":\"x\"}";
    struct fa_bulk_request retry = {.kind = FA_BULK_RETRY,
                                    .has_filter = true,
                                    .query = {.type = "x", .statuses = 1u << FAINA_CANCELLED},
                                    .reason = "they \"may\" run\nagain"};
    const struct fa_bulk *bulk;

    fa_t_submit_many(t, "x", MANY);
    fa_t_bulk_completes(t, fa_t_bulk(t, CANCEL, .type = "x"), MANY, 0);
    CHECK_INT(fa_t_count_status(t, FAINA_CANCELLED), MANY);
    bulk = fa_t_bulk_start(t, &retry);
    fa_t_submit(t, .type = "x"); /* later ones are not concerned */
    fa_t_bulk_completes(t, bulk, MANY, 0);
    CHECK_INT(fa_t_count_status(t, FAINA_PENDING), MANY + 1);
    bulk = fa_t_bulk_get(t, bulk->id);
    CHECK_STR(bulk->reason, "they \"may\" run\nagain");
    CHECK_STR(bulk->ns, "default");
    CHECK_TRUE(strlen(bulk->filter) <= sizeof(filter));
    CHECK_TRUE(bulk->created_us > 0 && bulk->updated_us >= bulk->created_us);
    CHECK_TRUE(bulk->error == NULL && bulk->set == NULL);
}

/* Two operations on the same tasks; each counts what it has done. */
static void test_bulk__side_by_side(struct fa_t *t)
{
    struct faina_update set = {.has_priority = true, .priority = 3};
    struct fa_bulk_request update = {
        .kind = FA_BULK_UPDATE, .has_filter = true, .query = {.type = "x"}, .set = &set};
    const struct fa_bulk *first, *second, *third;

    fa_t_submit_many(t, "x", MANY);
    fa_t_submit_many(t, "y", MANY);
    first = fa_t_bulk_start(t, &update);
    second = fa_t_bulk(t, CANCEL, .type = "y");
    third = fa_t_bulk(t, CANCEL, .type = "y");
    fa_t_bulk_completes(t, first, MANY, 0);
    fa_t_bulk_completes(t, second, MANY, 0);
    fa_t_bulk_completes(t, third, MANY, 0); /* a cancelled task may be cancelled again */
    CHECK_INT(fa_t_count_status(t, FAINA_CANCELLED), MANY);
    CHECK_OK(t,
             fa_t_list(t, .type = "x", .sort = FAINA_SORT_PRIORITY, .ascending = true, .limit = 1));
    CHECK_INT(t->op.tasks->items[0].priority, 3);
}

static void test_bulk__cancelled(struct fa_t *t)
{
    struct fa_op cancel = {.kind = FA_OP_BULK_CANCEL};
    const struct fa_bulk *bulk, *again;

    fa_t_submit_many(t, "x", 4 * MANY);
    bulk = fa_t_bulk(t, CANCEL, .type = "x");
    cancel.id = bulk->id;
    CHECK_OK(t, fa_t_run(t, &cancel));
    bulk = t->op.bulk_answer;
    CHECK_TRUE(bulk->status == FA_BULK_CANCELLED || bulk->status == FA_BULK_COMPLETED);
    CHECK_TRUE(bulk->ended_us != 0);
    CHECK_INT(fa_t_count_status(t, FAINA_CANCELLED), bulk->done);
    fa_t_bulk_completes(t, fa_t_bulk(t, RETRY, .type = "x", .statuses = 1u << FAINA_CANCELLED),
                        bulk->done, 0);
    CHECK_OK(t, fa_t_run(t, &cancel)); /* it has ended already */
    again = t->op.bulk_answer;
    CHECK_INT(again->status, bulk->status);
    CHECK_INT(again->done, bulk->done);
    CHECK_INT(again->ended_us, bulk->ended_us);
    CHECK_INT(fa_t_count_status(t, FAINA_PENDING), 4 * MANY);
}

/* Closing the engine ends a slice; the next one goes on from there. */
static void test_bulk__goes_on_after_a_restart(struct fa_t *t)
{
    const struct fa_bulk *bulk;

    fa_t_submit_many(t, "x", 4 * MANY);
    bulk = fa_t_bulk(t, CANCEL, .type = "x");
    for (int i = 0; i < 5; i++)
        fa_t_reopen(t);
    fa_t_bulk_completes(t, bulk, 4 * MANY, 0);
    CHECK_INT(fa_t_count_status(t, FAINA_CANCELLED), 4 * MANY);
    CHECK_OK(t, fa_t_list(t, .type = "x", .limit = 1));
    CHECK_STORY(t, t->op.tasks->items[0].id, "created cancelled");
}

static void test_bulk__lists(struct fa_t *t)
{
    struct fa_op list = {.kind = FA_OP_BULK_LIST, .part = {.is_asked = true, .limit = 2}};
    const struct fa_bulk *bulks[5];
    size_t seen = 0;

    for (size_t i = 0; i < FA_COUNT(bulks); i++)
        bulks[i] = fa_t_bulk(t, CANCEL, .type = "none");
    do {
        CHECK_OK(t, fa_t_run(t, &list));
        CHECK_TRUE(t->op.bulks->count <= 2);
        for (size_t i = 0; i < t->op.bulks->count; i++)
            CHECK_STR(t->op.bulks->items[i].id, bulks[FA_COUNT(bulks) - ++seen]->id);
        list.part.cursor = t->op.next_cursor;
    } while (list.part.cursor != NULL);
    CHECK_INT(seen, FA_COUNT(bulks));
}

/* Trees ------------------------------------------------------------------------------------ */

/* A parent with `count` subtasks, the first of which has as many; returns its id. */
static const char *make_tree(struct fa_t *t, size_t count)
{
    struct faina_submit *subtasks = fa_alloc_zero(count, sizeof(*subtasks));
    const char *root = fa_t_make(t, FAINA_RUNNING, "w"), *child;

    for (size_t i = 0; i < count; i++)
        subtasks[i] = (struct faina_submit){.type = "c"};
    CHECK_OK(t, fa_t_block(t, root, BY("w"), subtasks, count));
    child = fa_t_child(t, root, 0);
    fa_t_take(t, child, "w");
    CHECK_OK(t, fa_t_block(t, child, BY("w"), subtasks, count));
    free(subtasks);
    return root;
}

static void test_bulk__a_large_tree(struct fa_t *t)
{
    const char *root = make_tree(t, MANY), *other = fa_t_submit(t, .type = "c"), *child;
    const struct fa_bulk *bulk;

    CHECK_OK(t, fa_t_cancel(t, root, NOBODY));
    CHECK_STATUS(t->task->status, FAINA_CANCELLED);
    CHECK_TRUE(t->op.count >= 1000 && t->op.count < 2 * MANY);
    CHECK_OK(t, fa_t_run(t, &(struct fa_op){.kind = FA_OP_BULK_LIST}));
    CHECK_INT(t->op.bulks->count, 1);
    bulk = &t->op.bulks->items[0];
    CHECK_STR(bulk->task_id, root);
    CHECK_TRUE(bulk->filter == NULL && bulk->kind == FA_BULK_CANCEL);
    fa_t_bulk_completes(t, bulk, 2 * MANY, 0);
    CHECK_INT(fa_t_count_status(t, FAINA_CANCELLED), 2 * MANY + 1);
    CHECK_NOW(t, other, FAINA_PENDING);
    child = fa_t_child(t, root, 900);
    CHECK_STORY(t, child, "created cancelled");
    child = fa_t_child(t, fa_t_child(t, root, 0), 0);
    CHECK_STORY(t, child, "created cancelled");
}

/* What was not cancelled yet stays: the root needs its subtasks again. */
static void test_bulk__a_tree_whose_root_is_retried(struct fa_t *t)
{
    const char *root = make_tree(t, MANY);
    const struct fa_bulk *bulk;

    CHECK_OK(t, fa_t_cancel(t, root, NOBODY));
    CHECK_OK(t, fa_t_retry(t, root, NOBODY));
    CHECK_OK(t, fa_t_run(t, &(struct fa_op){.kind = FA_OP_BULK_LIST}));
    bulk = fa_t_bulk_end(t, t->op.bulks->items[0].id);
    CHECK_TRUE(bulk->status == FA_BULK_CANCELLED || bulk->done == 2 * MANY);
    CHECK_INT(fa_t_count_status(t, FAINA_CANCELLED), bulk->done);
    CHECK_NOW(t, root, FAINA_PENDING);
}

/* Refusals --------------------------------------------------------------------------------- */

static void check_refused(struct fa_t *t, const struct fa_bulk_request *request, const char *field)
{
    CHECK_CODE(t, fa_t_bulk_try(t, request), FAINA_INVALID_REQUEST);
    CHECK(strstr(t->op.error.message, field) != NULL, "%s is not named: %s", field,
          t->op.error.message);
    CHECK_CODE(t, fa_t_run(t, &(struct fa_op){.kind = FA_OP_BULK_COUNT, .bulk = {request, NULL}}),
               FAINA_INVALID_REQUEST);
}

static void test_bulk__bad_requests(struct fa_t *t)
{
    struct faina_update nothing = {0}, bad = {.timeout_ms = -1};
    struct fa_bulk_request request = {.kind = FA_BULK_CANCEL};
    char reason[FA_REASON_SIZE_MAX + 2];
    const char *id = fa_t_submit(t, .type = "x");
    const char *before = fa_t_picture(t, id);

    check_refused(t, &request, "filter");
    check_refused(t, FA_T_BULK(CANCEL, .ns = "default"), "all");
    check_refused(t, FA_T_BULK(RETRY, .parent_id = "nonsense"), "parentId");
    check_refused(t, FA_T_BULK(DELETE, .statuses = 1u << FAINA_STATUS_COUNT), "status");
    request = *FA_T_BULK(UPDATE, .type = "x");
    check_refused(t, &request, "set");
    request.set = &nothing;
    check_refused(t, &request, "set");
    request.set = &bad;
    check_refused(t, &request, "timeout");
    request = *FA_T_BULK(CANCEL, .type = "x");
    memset(reason, 'x', sizeof(reason));
    reason[FA_REASON_SIZE_MAX + 1] = '\0';
    request.reason = reason;
    check_refused(t, &request, "reason");
    CHECK_CODE(t, fa_t_run(t, &(struct fa_op){.kind = FA_OP_BULK_LIST, .id = id}), FAINA_NOT_FOUND);
    CHECK_CODE(t, fa_t_run(t, &(struct fa_op){.kind = FA_OP_BULK_CANCEL, .id = id}),
               FAINA_NOT_FOUND);
    CHECK_CODE(t, fa_t_run(t, &(struct fa_op){.kind = FA_OP_BULK_CANCEL, .id = "x"}),
               FAINA_NOT_FOUND);
    CHECK_STR(fa_t_picture(t, id), before);
    reason[FA_REASON_SIZE_MAX] = '\0';
    request.query.type = "none";
    CHECK_OK(t, fa_t_bulk_try(t, &request));
}

int main(int argc, char **argv)
{
    static const struct fa_t_case cases[] = {
        FA_T_CASE_SQL(test_bulk__cancel),
        FA_T_CASE_SQL(test_bulk__retry),
        FA_T_CASE_SQL(test_bulk__delete),
        FA_T_CASE_SQL(test_bulk__update),
        FA_T_CASE_SQL(test_bulk__a_dry_run_counts),
        FA_T_CASE_SQL(test_bulk__namespaces),
        FA_T_CASE_SQL(test_bulk__nothing_to_do),
        FA_T_CASE_SQL(test_bulk__many_tasks),
        FA_T_CASE_SQL(test_bulk__side_by_side),
        FA_T_CASE_SQL(test_bulk__cancelled),
        FA_T_CASE_NEEDS(test_bulk__goes_on_after_a_restart, FA_T_DURABLE | FA_T_SQL),
        FA_T_CASE_SQL(test_bulk__lists),
        FA_T_CASE_SQL(test_bulk__a_large_tree),
        FA_T_CASE_SQL(test_bulk__a_tree_whose_root_is_retried),
        FA_T_CASE_SQL(test_bulk__bad_requests),
    };

    return fa_t_main(argc, argv, "bulk", cases, FA_COUNT(cases));
}
