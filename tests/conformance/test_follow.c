/*
 * test_follow.c - the log of all events: complete, in the order of commits, from any position on.
 *
 * An engine that others share may show a commit a moment later, and some from just before "now":
 * so the tests use types of their own.
 */
#include "support/ops.h"

#include "base/clock.h"

#include <unistd.h>

/* The end of the log now. Nothing that is committed later comes before it. */
static const char *end_of_log(struct fa_t *t)
{
    CHECK_OK(t, fa_t_run(t, &(struct fa_op){.kind = FA_OP_FOLLOW}));
    CHECK_INT(t->op.followed->count, 0);
    return fa_arena_strdup(&t->arena, t->op.followed->next);
}

static enum faina_code follow(struct fa_t *t, const char *place, int limit)
{
    struct fa_op op = {.kind = FA_OP_FOLLOW};

    op.page.cursor = place;
    op.page.limit = limit;
    return fa_t_run(t, &op);
}

/* Reads the next page; false: none comes. On a server that others share it comes when transactions
 * that began before these commits have ended, also those of other databases. */
static bool next_page(struct fa_t *t, const char **place, int limit)
{
    int64_t until_us = fa_clock_mono_us() + FA_T_DEADLINE_MS * INT64_C(1000);

    for (;;) {
        CHECK_OK(t, follow(t, *place, limit));
        *place = t->op.followed->next;
        if (t->op.followed->count > 0 || fa_clock_mono_us() > until_us)
            return t->op.followed->count > 0;
        usleep(5000);
    }
}

/* "created:pending claimed:claimed ..." of the tasks of a type, read in pages until there are
 * `want` of them. */
static const char *read_all(struct fa_t *t, const char *place, const char *type, int limit,
                            size_t want)
{
    char *story = fa_arena_strdup(&t->arena, "");
    size_t count = 0;

    while (count < want && next_page(t, &place, limit)) {
        CHECK_TRUE(!t->op.followed->is_gap);
        for (size_t i = 0; i < t->op.followed->count; i++) {
            const struct fa_follow_item *item = &t->op.followed->items[i];

            if (strcmp(item->type, type) != 0)
                continue;
            story = fa_arena_printf(&t->arena, "%s%s%s:%s", story, count > 0 ? " " : "", item->what,
                                    faina_status_name(item->status));
            count++;
        }
    }
    CHECK_INT(count, want);
    return story;
}

static void test_follow__a_whole_life(struct fa_t *t)
{
    const char *place = end_of_log(t), *id = fa_t_submit(t, .type = "x", .created_by = "me");
    const char *story;

    fa_t_take(t, id, "w");
    CHECK_OK(t, fa_t_progress(t, id, BY("w"), 50));
    CHECK_OK(t, fa_t_complete(t, id, BY("w"), "{}"));
    story = "created:pending claimed:claimed started:running progress:running "
            "completed:completed";
    CHECK_STR(read_all(t, place, "x", 0, 5), story);
    CHECK_STR(read_all(t, place, "x", 1, 5), story);
    CHECK_STR(read_all(t, place, "x", 2, 5), story);
    CHECK_OK(t, follow(t, place, 1));
    CHECK_STR(t->op.followed->items[0].task_id, id);
    CHECK_STR(t->op.followed->items[0].type, "x");
    CHECK_STR(t->op.followed->items[0].ns, "default");
    CHECK_STR(t->op.followed->items[0].created_by, "me");
    CHECK_TRUE(!t->op.followed->items[0].has_parent);
    CHECK_STR(read_all(t, t->op.followed->items[0].cursor, "x", 0, 4),
              "claimed:claimed started:running progress:running completed:completed");
}

/* A start from pending is a claim, too, with its own status. */
static void test_follow__a_start_is_a_claim_first(struct fa_t *t)
{
    const char *place = end_of_log(t), *id = fa_t_submit(t, .type = "x");

    CHECK_OK(t, fa_t_start(t, id, BY("w")));
    CHECK_STR(read_all(t, place, "x", 0, 3), "created:pending claimed:claimed started:running");
}

static void test_follow__what_was_refused_is_not_there(struct fa_t *t)
{
    const char *place = end_of_log(t), *id = fa_t_submit(t, .type = "x");

    fa_t_take(t, id, "w");
    CHECK_CODE(t, fa_t_claim(t, id, "v"), FAINA_TASK_ALREADY_CLAIMED);
    CHECK_CODE(t, fa_t_complete(t, id, BY("v"), NULL), FAINA_WRONG_WORKER);
    CHECK_OK(t, fa_t_fail_final(t, id, BY("w"), "no"));
    CHECK_STR(read_all(t, place, "x", 0, 5),
              "created:pending claimed:claimed started:running late_result:running failed:failed");
}

static void test_follow__a_batch_keeps_its_order(struct fa_t *t)
{
    enum { COUNT = 300 };
    struct faina_submit submit = {.type = "x"};
    struct fa_op *ops = fa_arena_zero(&t->arena, COUNT, sizeof *ops);
    const char *place = end_of_log(t);
    size_t seen = 0;

    for (size_t i = 0; i < COUNT; i++)
        ops[i] = (struct fa_op){.kind = FA_OP_SUBMIT, .submit = &submit};
    fa_t_run_all(t, ops, COUNT);
    while (seen < COUNT && next_page(t, &place, 7)) {
        for (size_t i = 0; i < t->op.followed->count; i++)
            CHECK_STR(t->op.followed->items[i].task_id, ops[seen++].task_id);
        CHECK_TRUE(t->op.followed->count <= 7);
    }
    CHECK_INT(seen, COUNT);
}

static void test_follow__subtasks_name_their_parent(struct fa_t *t)
{
    const char *place = end_of_log(t), *id = fa_t_submit(t, .type = "p");
    struct faina_submit child = {.type = "c"};

    fa_t_take(t, id, "w");
    CHECK_OK(t, fa_t_block(t, id, BY("w"), &child, 1));
    CHECK_STR(read_all(t, place, "c", 0, 1), "created:pending");
    CHECK_OK(t, follow(t, place, 0));
    for (size_t i = 0; i < t->op.followed->count; i++)
        CHECK_INT(t->op.followed->items[i].has_parent,
                  strcmp(t->op.followed->items[i].type, "c") == 0);
}

static void test_follow__a_purged_task_is_left_out(struct fa_t *t)
{
    const char *place = end_of_log(t), *gone = fa_t_submit(t, .type = "x"), *id;

    fa_t_finish_task(t, gone);
    CHECK_OK(t, fa_t_delete_with(t, gone, NOBODY, (struct faina_removal){.purge = true}));
    id = fa_t_submit(t, .type = "x");
    CHECK_STR(read_all(t, place, "x", 0, 1), "created:pending");
    CHECK_OK(t, follow(t, place, 0));
    CHECK_STR(t->op.followed->items[0].task_id, id);
}

static void test_follow__bad_places_are_refused(struct fa_t *t)
{
    static const char *const bad[] = {
        "", "1", "1.2", "1.2.3.4", "x.1.1", "-1.1.1", "1.1.1 ", "ffffffffffffffff.1.1", "1..1"};

    for (size_t i = 0; i < FA_COUNT(bad); i++)
        CHECK_CODE(t, follow(t, bad[i], 0), FAINA_INVALID_REQUEST);
    CHECK_CODE(t, follow(t, NULL, -1), FAINA_INVALID_REQUEST);
    CHECK_CODE(t, follow(t, NULL, 1001), FAINA_INVALID_REQUEST);
}

static void test_follow__survives_reopening(struct fa_t *t)
{
    const char *place = end_of_log(t);

    fa_t_finish_task(t, fa_t_submit(t, .type = "x"));
    fa_t_reopen(t);
    CHECK_STR(read_all(t, place, "x", 0, 4),
              "created:pending claimed:claimed started:running completed:completed");
}

int main(int argc, char **argv)
{
    static const struct fa_t_case cases[] = {
        FA_T_CASE_SQL(test_follow__a_whole_life),
        FA_T_CASE_SQL(test_follow__a_start_is_a_claim_first),
        FA_T_CASE_SQL(test_follow__what_was_refused_is_not_there),
        FA_T_CASE_SQL(test_follow__a_batch_keeps_its_order),
        FA_T_CASE_SQL(test_follow__subtasks_name_their_parent),
        FA_T_CASE_SQL(test_follow__a_purged_task_is_left_out),
        FA_T_CASE_SQL(test_follow__bad_places_are_refused),
        FA_T_CASE_NEEDS(test_follow__survives_reopening, FA_T_DURABLE | FA_T_SQL),
    };

    return fa_t_main(argc, argv, "follow", cases, FA_COUNT(cases));
}
