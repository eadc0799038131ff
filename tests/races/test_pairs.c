/*
 * test_pairs.c - two or a few callers on one task at the same moment.
 *
 * Each round starts its sessions at a barrier, and then compares the responses, the task's status
 * and its history: they must agree, whichever session won. FA_RACE_ROUNDS sets how many rounds.
 */
#include "support/crew.h"
#include "support/ops.h"

#include "base/clock.h"
#include "base/random.h"

#include <stdatomic.h>

#define SESSIONS_MAX 8

/* One round: the task of all sessions, and the response of each. */
struct round {
    const char *id;
    const char *other; /* a second task, where the race needs it */
    enum faina_code codes[SESSIONS_MAX];
    bool existing[SESSIONS_MAX];
    char ids[SESSIONS_MAX][FAINA_ID_SIZE];
    int64_t version;   /* of a definition that they change */
    int64_t moment_us; /* of the monotonic or the wall clock, where a session waits for one */
};

static int64_t rounds(int64_t otherwise)
{
    return fa_t_env_int("FA_RACE_ROUNDS", otherwise);
}

static size_t count_code(const struct round *round, size_t sessions, enum faina_code code)
{
    size_t count = 0;

    for (size_t i = 0; i < sessions; i++)
        count += round->codes[i] == code;
    return count;
}

/* How often `word` is in a story. */
static int times_in(const char *story, const char *word)
{
    int times = 0;
    size_t len = strlen(word);

    for (const char *at = story; (at = strstr(at, word)); at += len)
        times++;
    return times;
}

static const char *worker_name(size_t index)
{
    static const char *const names[SESSIONS_MAX] = {"w0", "w1", "w2", "w3", "w4", "w5", "w6", "w7"};

    return names[index];
}

/* ------------------------------------------------------------------------------------------
 * Sessions
 */

static void do_claim(struct fa_t *mine, size_t index, void *arg)
{
    struct round *round = arg;

    round->codes[index] = fa_t_claim(mine, round->id, worker_name(index));
}

static void do_complete(struct fa_t *mine, size_t index, void *arg)
{
    struct round *round = arg;

    round->codes[index] = fa_t_complete(mine, round->id, BY("w"), "{\"n\":1}");
}

static void do_fail(struct fa_t *mine, size_t index, void *arg)
{
    struct round *round = arg;

    round->codes[index] = fa_t_fail_attempt(mine, round->id, BY("w"), "no");
}

static void do_cancel(struct fa_t *mine, size_t index, void *arg)
{
    struct round *round = arg;

    round->codes[index] = fa_t_cancel(mine, round->id, NOBODY);
}

static void do_retry(struct fa_t *mine, size_t index, void *arg)
{
    struct round *round = arg;

    round->codes[index] = fa_t_retry(mine, round->id, NOBODY);
}

static void do_delete(struct fa_t *mine, size_t index, void *arg)
{
    struct round *round = arg;

    round->codes[index] = fa_t_delete(mine, round->id);
}

static void do_heartbeat(struct fa_t *mine, size_t index, void *arg)
{
    struct round *round = arg;

    round->codes[index] = fa_t_heartbeat(mine, round->id, BY("w"), 60000);
}

static void do_block(struct fa_t *mine, size_t index, void *arg)
{
    struct round *round = arg;
    struct faina_submit children[] = {{.type = "child"}, {.type = "child"}};

    round->codes[index] = fa_t_block(mine, round->id, BY("w"), children, 2);
}

static void do_submit(struct fa_t *mine, size_t index, void *arg)
{
    struct round *round = arg;

    round->codes[index] = fa_t_try_submit(mine, .type = "x", .idempotency_key = round->id,
                                          .input = fa_arena_printf(&mine->arena, "%zu", index));
    round->existing[index] = mine->op.existing;
    memcpy(round->ids[index], mine->op.task_id, FAINA_ID_SIZE);
}

/* Finishes the child number `index` of the round's parent. */
static void do_finish_child(struct fa_t *mine, size_t index, void *arg)
{
    struct round *round = arg;

    round->codes[index] = fa_t_complete(mine, round->ids[index], BY("w"), NULL);
}

static void do_fail_child(struct fa_t *mine, size_t index, void *arg)
{
    struct round *round = arg;

    round->codes[index] = fa_t_fail_final(mine, round->ids[index], BY("w"), "no");
}

/* ------------------------------------------------------------------------------------------
 * Claim / claim
 */

static void test_race__claim_claim_has_one_winner(struct fa_t *t)
{
    for (int64_t i = 0; i < rounds(60); i++) {
        struct round round = {.id = fa_t_submit(t, .type = "x")};
        size_t winner = 0;

        fa_t_together(t, 4, do_claim, &round);
        CHECK_INT(count_code(&round, 4, FAINA_OK), 1);
        CHECK_INT(count_code(&round, 4, FAINA_TASK_ALREADY_CLAIMED), 3);
        while (round.codes[winner] != FAINA_OK)
            winner++;
        CHECK_STR(fa_t_task(t, round.id)->worker_id, worker_name(winner));
        CHECK_INT(t->task->attempts, 1);
        CHECK_STORY(t, round.id, "created claimed");
        fa_t_forget(t);
    }
}

/* ------------------------------------------------------------------------------------------
 * Two sessions end it
 */

static void test_race__complete_cancel(struct fa_t *t)
{
    fa_t_part *const parts[] = {do_complete, do_cancel};

    for (int64_t i = 0; i < rounds(60); i++) {
        struct round round = {.id = fa_t_make(t, FAINA_RUNNING, "w")};

        fa_t_against(t, parts, 2, &round);
        CHECK_INT(count_code(&round, 2, FAINA_OK), 1);
        if (round.codes[0] == FAINA_OK) {
            CHECK_INT(round.codes[1], FAINA_TASK_COMPLETED);
            CHECK_STORY(t, round.id, "created claimed started completed");
            CHECK_STR(fa_t_task(t, round.id)->output, "{\"n\":1}");
        } else {
            CHECK_INT(round.codes[0], FAINA_INVALID_TRANSITION);
            CHECK_STORY(t, round.id, "created claimed started cancelled late_result");
            CHECK_STR(fa_t_task(t, round.id)->output, NULL);
        }
        fa_t_forget(t);
    }
}

static void test_race__complete_fail_by_one_worker(struct fa_t *t)
{
    fa_t_part *const parts[] = {do_complete, do_fail};

    for (int64_t i = 0; i < rounds(40); i++) {
        struct round round = {.id = fa_t_make(t, FAINA_RUNNING, "w")};

        fa_t_against(t, parts, 2, &round);
        CHECK_INT(count_code(&round, 2, FAINA_OK), 1);
        if (round.codes[0] == FAINA_OK) {
            CHECK_INT(round.codes[1], FAINA_TASK_COMPLETED);
            CHECK_NOW(t, round.id, FAINA_COMPLETED);
        } else {
            CHECK_INT(round.codes[0], FAINA_TASK_NOT_CLAIMED);
            CHECK_NOW(t, round.id, FAINA_PENDING);
        }
        fa_t_forget(t);
    }
}

/* The same answer sent twice, as a client does that lost the first one: it counts once. */
static void test_race__same_outcome_twice_counts_once(struct fa_t *t)
{
    for (int64_t i = 0; i < rounds(40); i++) {
        bool fails = i % 2;
        struct round round = {.id = fa_t_make(t, FAINA_RUNNING, "w")};

        fa_t_together(t, 4, fails ? do_fail : do_complete, &round);
        CHECK_INT(count_code(&round, 4, FAINA_OK), 4);
        CHECK_STORY(t, round.id,
                    fails ? "created claimed started retry_scheduled"
                          : "created claimed started completed");
        CHECK_INT(fa_t_task(t, round.id)->attempts, 1);
        fa_t_forget(t);
    }
}

static void test_race__retry_complete(struct fa_t *t)
{
    fa_t_part *const parts[] = {do_complete, do_retry};

    for (int64_t i = 0; i < rounds(40); i++) {
        struct round round = {.id = fa_t_make(t, FAINA_RUNNING, "w")};

        fa_t_against(t, parts, 2, &round);
        CHECK_INT(count_code(&round, 2, FAINA_OK), 1);
        if (round.codes[0] == FAINA_OK) {
            CHECK_INT(round.codes[1], FAINA_TASK_COMPLETED);
            CHECK_NOW(t, round.id, FAINA_COMPLETED);
        } else {
            CHECK_INT(round.codes[0], FAINA_TASK_NOT_CLAIMED);
            CHECK_STORY(t, round.id, "created claimed started retried late_result");
        }
        fa_t_forget(t);
    }
}

static void test_race__heartbeat_cancel(struct fa_t *t)
{
    fa_t_part *const parts[] = {do_heartbeat, do_cancel};

    for (int64_t i = 0; i < rounds(40); i++) {
        struct round round = {.id = fa_t_make(t, FAINA_RUNNING, "w")};

        fa_t_against(t, parts, 2, &round);
        CHECK_INT(round.codes[1], FAINA_OK);
        CHECK_TRUE(round.codes[0] == FAINA_OK || round.codes[0] == FAINA_INVALID_TRANSITION);
        CHECK_NOW(t, round.id, FAINA_CANCELLED);
        CHECK_CODE(t, fa_t_heartbeat(t, round.id, BY("w"), 0), FAINA_INVALID_TRANSITION);
        CHECK_STORY(t, round.id, "created claimed started cancelled");
        fa_t_forget(t);
    }
}

static void test_race__delete_retry(struct fa_t *t)
{
    fa_t_part *const parts[] = {do_delete, do_retry};

    for (int64_t i = 0; i < rounds(40); i++) {
        struct round round = {.id = fa_t_make(t, FAINA_CANCELLED, "w")};

        fa_t_against(t, parts, 2, &round);
        CHECK_INT(count_code(&round, 2, FAINA_OK), 1);
        if (round.codes[0] == FAINA_OK) {
            CHECK_INT(round.codes[1], FAINA_TASK_NOT_FOUND);
            CHECK_CODE(t, fa_t_get(t, round.id), FAINA_TASK_NOT_FOUND);
        } else {
            CHECK_INT(round.codes[0], FAINA_TASK_ACTIVE);
            CHECK_NOW(t, round.id, FAINA_PENDING);
            CHECK_OK(t, fa_t_cancel(t, round.id, NOBODY));
        }
        fa_t_forget(t);
    }
}

/* ------------------------------------------------------------------------------------------
 * Lease end / complete
 */

/* Completes as near to the end of the lease as it can. */
static void complete_at_the_end(struct fa_t *mine, size_t index, void *arg)
{
    struct round *round = arg;

    while (fa_clock_now_us() < round->moment_us)
        ;
    do_complete(mine, index, arg);
}

static void test_race__lease_end_complete(struct fa_t *t)
{
    struct fa_random random;
    int completed = 0, lost = 0;

    fa_random_seed(&random, fa_t_seed());
    for (int64_t i = 0; i < rounds(40); i++) {
        struct round round = {.id = fa_t_submit(t, .type = "x")};

        CHECK_OK(t, fa_t_claim_for(t, round.id, "w", 3));
        round.moment_us = t->task->lease_expires_us - 300 + (int64_t)fa_random_below(&random, 1500);
        fa_t_together(t, 1, complete_at_the_end, &round);
        if (round.codes[0] == FAINA_OK) {
            CHECK_STORY(t, round.id, "created claimed completed");
            completed++;
        } else {
            CHECK_INT(round.codes[0], FAINA_TASK_NOT_CLAIMED);
            CHECK_STORY(t, round.id, "created claimed lease_lost late_result");
            CHECK_NOW(t, round.id, FAINA_PENDING);
            lost++;
        }
        fa_t_forget(t);
    }
    CHECK_INT(completed + lost, rounds(40));
}

/* ------------------------------------------------------------------------------------------
 * Parents and children
 */

/* A parent blocked on two children, both running and held by "w". */
static void make_family(struct fa_t *t, struct round *round)
{
    struct faina_submit children[] = {{.type = "child"}, {.type = "child"}};

    round->id = fa_t_make(t, FAINA_RUNNING, "w");
    CHECK_OK(t, fa_t_block(t, round->id, BY("w"), children, 2));
    for (size_t i = 0; i < 2; i++) {
        memcpy(round->ids[i], fa_t_child(t, round->id, i), FAINA_ID_SIZE);
        fa_t_take(t, round->ids[i], "w");
    }
}

static void test_race__two_last_children(struct fa_t *t)
{
    static fa_t_part *const endings[][2] = {
        {do_finish_child, do_finish_child},
        {do_finish_child, do_fail_child},
        {do_fail_child, do_fail_child},
    };

    for (int64_t i = 0; i < rounds(60); i++) {
        size_t way = (size_t)i % FA_COUNT(endings);
        struct round round = {0};

        make_family(t, &round);
        fa_t_against(t, endings[way], 2, &round);
        CHECK_INT(count_code(&round, 2, FAINA_OK), 2);
        CHECK_STATUS(fa_t_task(t, round.id)->status, FAINA_PENDING);
        CHECK_INT(t->task->phase, way == 0 ? FAINA_PHASE_RESUME : FAINA_PHASE_ERROR);
        CHECK_STORY(t, round.id, "created claimed started blocked unblocked");
        fa_t_forget(t);
    }
}

static void cancel_parent(struct fa_t *mine, size_t index, void *arg)
{
    do_cancel(mine, index, arg);
}

/* Two children end while the parent is cancelled: nothing follows the cancel. */
static void test_race__children_end_while_parent_is_cancelled(struct fa_t *t)
{
    fa_t_part *const parts[] = {do_finish_child, do_finish_child, cancel_parent};

    for (int64_t i = 0; i < rounds(40); i++) {
        struct round round = {0};
        const char *story;

        make_family(t, &round);
        fa_t_against(t, parts, 3, &round);
        CHECK_INT(round.codes[2], FAINA_OK); /* whenever it comes, the parent still lives */
        for (size_t j = 0; j < 2; j++) {
            CHECK_TRUE(round.codes[j] == FAINA_OK || round.codes[j] == FAINA_INVALID_TRANSITION);
            CHECK_NOW(t, round.ids[j],
                      round.codes[j] == FAINA_OK ? FAINA_COMPLETED : FAINA_CANCELLED);
        }
        CHECK_NOW(t, round.id, FAINA_CANCELLED);
        story = fa_t_story(t, round.id);
        CHECK_INT(times_in(story, "cancelled"), 1);
        CHECK(strcmp(story + strlen(story) - 9, "cancelled") == 0, "after the cancel: %s", story);
        fa_t_forget(t);
    }
}

static void test_race__block_cancel(struct fa_t *t)
{
    fa_t_part *const parts[] = {do_block, do_cancel};

    for (int64_t i = 0; i < rounds(40); i++) {
        struct round round = {.id = fa_t_make(t, FAINA_RUNNING, "w")};

        fa_t_against(t, parts, 2, &round);
        CHECK_INT(round.codes[1], FAINA_OK);
        CHECK_NOW(t, round.id, FAINA_CANCELLED);
        CHECK_OK(t, fa_t_children(t, round.id, 0, NULL));
        CHECK_INT(t->op.tasks->count, round.codes[0] == FAINA_OK ? 2 : 0);
        for (size_t j = 0; j < t->op.tasks->count; j++)
            CHECK_STATUS(t->op.tasks->items[j].status, FAINA_CANCELLED);
        fa_t_forget(t);
    }
}

/* ------------------------------------------------------------------------------------------
 * Submit / submit
 */

static void test_race__submit_submit_with_one_key(struct fa_t *t)
{
    for (int64_t i = 0; i < rounds(60); i++) {
        struct round round = {.id = fa_arena_printf(&t->arena, "key %lld", (long long)i)};
        size_t fresh = 0;

        fa_t_together(t, 4, do_submit, &round);
        CHECK_INT(count_code(&round, 4, FAINA_OK), 4);
        for (size_t j = 0; j < 4; j++) {
            CHECK_STR(round.ids[j], round.ids[0]);
            fresh += !round.existing[j];
        }
        CHECK_INT(fresh, 1);
        CHECK_STORY(t, round.ids[0], "created");
        CHECK_OK(t, fa_t_list(t, .idempotency_key = round.id));
        CHECK_INT(t->op.tasks->count, 1);
        fa_t_forget(t);
    }
}

/* ------------------------------------------------------------------------------------------
 * Two sessions change a definition, each the version that it has read
 */

static void do_change_workflow(struct fa_t *mine, size_t index, void *arg)
{
    struct round *round = arg;
    const char *json = fa_arena_printf(&mine->arena,
                                       "{\"workflow\":\"w\",\"triggers\":[{\"name\":\"t\","
                                       "\"on\":\"e\",\"task\":{\"type\":\"t%lld.%zu\"}}]}",
                                       (long long)round->version, index);
    struct fa_definition definition = {.text = fa_str(json)};

    round->codes[index] = fa_t_run(mine, &(struct fa_op){.kind = FA_OP_WORKFLOW_PUT,
                                                         .definition = &definition,
                                                         .by = {.version = round->version}});
}

static void do_change_cron(struct fa_t *mine, size_t index, void *arg)
{
    struct round *round = arg;
    struct fa_cron_job job = {.name = "s",
                              .schedule = "0 0 1 1 *",
                              .task = fa_arena_printf(&mine->arena, "{\"type\":\"t%zu\"}", index)};

    round->codes[index] = fa_t_run(
        mine,
        &(struct fa_op){.kind = FA_OP_CRON_PUT, .cron = &job, .by = {.version = round->version}});
}

/* Half of them remove what the other half changes. */
static void do_change_or_remove_cron(struct fa_t *mine, size_t index, void *arg)
{
    struct round *round = arg;

    if (index % 2 == 0)
        do_change_cron(mine, index, arg);
    else
        round->codes[index] = fa_t_run(mine, &(struct fa_op){.kind = FA_OP_CRON_REMOVE,
                                                             .id = "s",
                                                             .by = {.version = round->version}});
}

static void change_one_version(struct fa_t *t, fa_t_part *change)
{
    struct round first = {0};

    change(t, 0, &first);
    CHECK_INT(first.codes[0], FAINA_OK);
    for (int64_t i = 0; i < rounds(40); i++) {
        struct round round = {.version = i + 1};

        fa_t_together(t, 4, change, &round);
        CHECK_INT(count_code(&round, 4, FAINA_OK), 1);
        CHECK_INT(count_code(&round, 4, FAINA_VERSION_CONFLICT), 3);
        fa_t_forget(t);
    }
}

static void test_race__a_version_of_a_workflow_is_changed_once(struct fa_t *t)
{
    change_one_version(t, do_change_workflow);
}

static void test_race__a_version_of_a_schedule_is_changed_once(struct fa_t *t)
{
    change_one_version(t, do_change_cron);
}

static void test_race__a_version_of_a_schedule_is_changed_or_removed(struct fa_t *t)
{
    for (int64_t i = 0; i < rounds(40); i++) {
        struct round first = {0}, round = {.version = 1};

        do_change_cron(t, 0, &first);
        CHECK_INT(first.codes[0], FAINA_OK);
        fa_t_together(t, 4, do_change_or_remove_cron, &round);
        CHECK_INT(count_code(&round, 4, FAINA_OK), 1);
        CHECK_INT(count_code(&round, 4, FAINA_VERSION_CONFLICT), 3);
        fa_t_run(t, &(struct fa_op){.kind = FA_OP_CRON_REMOVE, .id = "s"});
        fa_t_forget(t);
    }
}

int main(int argc, char **argv)
{
    static const struct fa_t_case cases[] = {
        FA_T_CASE(test_race__claim_claim_has_one_winner),
        FA_T_CASE(test_race__complete_cancel),
        FA_T_CASE(test_race__complete_fail_by_one_worker),
        FA_T_CASE(test_race__same_outcome_twice_counts_once),
        FA_T_CASE(test_race__retry_complete),
        FA_T_CASE(test_race__heartbeat_cancel),
        FA_T_CASE(test_race__delete_retry),
        FA_T_CASE(test_race__lease_end_complete),
        FA_T_CASE_SQL(test_race__two_last_children),
        FA_T_CASE_SQL(test_race__children_end_while_parent_is_cancelled),
        FA_T_CASE_SQL(test_race__block_cancel),
        FA_T_CASE(test_race__submit_submit_with_one_key),
        FA_T_CASE_SQL(test_race__a_version_of_a_workflow_is_changed_once),
        FA_T_CASE_SQL(test_race__a_version_of_a_schedule_is_changed_once),
        FA_T_CASE_SQL(test_race__a_version_of_a_schedule_is_changed_or_removed),
    };

    return fa_t_main(argc, argv, "pairs", cases, FA_COUNT(cases));
}
