/*
 * test_transitions.c - every (status, trigger) pair of design.md 3, seen through the service.
 *
 * One table says what each operation does to a task in each status. A refused operation must leave
 * the task exactly as it was: every field, and the events but for a `late_result`.
 */
#include "support/ops.h"

#define HOLDER "holder"

/* A held task is changed by its worker, any other without a worker. */
static struct faina_by worker_of(enum faina_status status)
{
    return status == FAINA_CLAIMED || status == FAINA_RUNNING ? BY(HOLDER) : NOBODY;
}

static enum faina_code do_claim(struct fa_t *t, const char *id, struct faina_by by)
{
    by.worker_id = "newcomer";
    return fa_t_run(t, &(struct fa_op){.kind = FA_OP_CLAIM, .id = id, .by = by});
}

static enum faina_code do_progress(struct fa_t *t, const char *id, struct faina_by by)
{
    return fa_t_progress(t, id, by, 50);
}

static enum faina_code do_complete(struct fa_t *t, const char *id, struct faina_by by)
{
    return fa_t_complete(t, id, by, "{\"done\":1}");
}

static enum faina_code do_fail(struct fa_t *t, const char *id, struct faina_by by)
{
    return fa_t_fail_attempt(t, id, by, "it broke");
}

static enum faina_code do_fail_final(struct fa_t *t, const char *id, struct faina_by by)
{
    return fa_t_fail_final(t, id, by, "it broke for good");
}

static enum faina_code do_block(struct fa_t *t, const char *id, struct faina_by by)
{
    return fa_t_block(t, id, by, &(struct faina_submit){.type = "child"}, 1);
}

static enum faina_code do_background(struct fa_t *t, const char *id, struct faina_by by)
{
    return fa_t_background(t, id, by, 0);
}

static enum faina_code do_delete(struct fa_t *t, const char *id, struct faina_by by)
{
    return fa_t_delete_with(t, id, by, (struct faina_removal){0});
}

static enum faina_code do_heartbeat(struct fa_t *t, const char *id, struct faina_by by)
{
    by.worker_id = HOLDER;
    return fa_t_heartbeat(t, id, by, 0);
}

/* A cell: allowed, and then in which status; or refused, and with which code. */
/* clang-format off */
#define TO(status) {FAINA_OK, FAINA_##status}
#define NO(code) {FAINA_##code, FAINA_STATUS_COUNT}
#define STAY {FAINA_OK, FAINA_STATUS_COUNT}
#define GONE {FAINA_OK, -1}
/* clang-format on */
#define ENDED_ROW NO(TASK_COMPLETED), NO(TASK_FAILED), NO(TASK_FAILED), NO(INVALID_TRANSITION)

static const struct row {
    const char *trigger;
    enum faina_code (*act)(struct fa_t *t, const char *id, struct faina_by by);
    struct {
        enum faina_code code;
        int to; /* a status; FAINA_STATUS_COUNT: as it was; -1: out of view */
    } from[FAINA_STATUS_COUNT];
} rows[] = {
    /* clang-format off */
    /* pending, claimed, running, blocked, background, completed, failed, dead_letter, cancelled */
    {"claim", do_claim,
     {TO(CLAIMED), NO(TASK_ALREADY_CLAIMED), NO(TASK_ALREADY_CLAIMED), NO(INVALID_TRANSITION),
      NO(TASK_ALREADY_CLAIMED), ENDED_ROW}},
    {"start", fa_t_start,
     {TO(RUNNING), TO(RUNNING), STAY, NO(INVALID_TRANSITION), NO(INVALID_TRANSITION),
      ENDED_ROW}},
    {"progress", do_progress,
     {NO(TASK_NOT_CLAIMED), STAY, STAY, NO(INVALID_TRANSITION), STAY, ENDED_ROW}},
    {"release", fa_t_release,
     {NO(TASK_NOT_CLAIMED), TO(PENDING), NO(INVALID_TRANSITION), NO(INVALID_TRANSITION),
      NO(INVALID_TRANSITION), ENDED_ROW}},
    {"complete", do_complete,
     {NO(TASK_NOT_CLAIMED), TO(COMPLETED), TO(COMPLETED), NO(INVALID_TRANSITION), TO(COMPLETED),
      ENDED_ROW}},
    {"fail, attempts left", do_fail,
     {NO(TASK_NOT_CLAIMED), TO(PENDING), TO(PENDING), NO(INVALID_TRANSITION), TO(PENDING),
      ENDED_ROW}},
    {"fail, not retryable", do_fail_final,
     {TO(FAILED), TO(FAILED), TO(FAILED), NO(INVALID_TRANSITION), TO(FAILED), ENDED_ROW}},
    {"block", do_block,
     {NO(TASK_NOT_CLAIMED), NO(INVALID_TRANSITION), TO(BLOCKED), NO(INVALID_TRANSITION),
      NO(INVALID_TRANSITION), ENDED_ROW}},
    {"background", do_background,
     {NO(TASK_NOT_CLAIMED), NO(INVALID_TRANSITION), TO(BACKGROUND), NO(INVALID_TRANSITION),
      NO(INVALID_TRANSITION), ENDED_ROW}},
    {"cancel", fa_t_cancel,
     {TO(CANCELLED), TO(CANCELLED), TO(CANCELLED), TO(CANCELLED), TO(CANCELLED),
      NO(TASK_COMPLETED), NO(TASK_FAILED), NO(TASK_FAILED), STAY}},
    {"retry", fa_t_retry,
     {NO(INVALID_TRANSITION), TO(PENDING), TO(PENDING), NO(INVALID_TRANSITION),
      NO(INVALID_TRANSITION), NO(TASK_COMPLETED), TO(PENDING), TO(PENDING), TO(PENDING)}},
    {"delete", do_delete,
     {NO(TASK_ACTIVE), NO(TASK_ACTIVE), NO(TASK_ACTIVE), NO(TASK_ACTIVE), NO(TASK_ACTIVE),
      GONE, GONE, GONE, GONE}},
    {"heartbeat", do_heartbeat,
     {NO(TASK_NOT_CLAIMED), STAY, STAY, NO(TASK_NOT_CLAIMED), NO(TASK_NOT_CLAIMED), ENDED_ROW}},
    /* clang-format on */
};

/* Any caller may manage a task; only its worker may report on it. */
static struct faina_by actor(const struct row *row, enum faina_status from)
{
    bool is_managing = row->act == fa_t_cancel || row->act == fa_t_retry || row->act == do_delete;

    return is_managing ? NOBODY : worker_of(from);
}

/* The story without the `late_result` that a refused outcome may leave at its end. */
static const char *story_before_late(struct fa_t *t, const char *id)
{
    static const char late[] = " late_result";
    const char *story = fa_t_story(t, id);
    size_t len = strlen(story), end = sizeof late - 1;

    if (len > end && strcmp(story + len - end, late) == 0)
        len -= end;
    return fa_arena_copy(&t->arena, story, len);
}

/* An engine on NATS has no subtasks, so nothing is blocked there (test_refused.c). */
static bool has_row(const struct fa_t *t,
                    enum faina_code (*act)(struct fa_t *t, const char *id, struct faina_by by))
{
    return t->is_sql || act != do_block;
}

static void walk_cell(struct fa_t *t, const struct row *row, enum faina_status from)
{
    const char *id = fa_t_make(t, from, HOLDER);
    const char *picture = fa_t_picture(t, id);
    const char *story = fa_t_story(t, id);
    const char *pair =
        fa_arena_printf(&t->arena, "%s from %s", row->trigger, faina_status_name(from));
    int64_t version = fa_t_task(t, id)->version;
    int to = row->from[from].to;
    enum faina_code code = row->act(t, id, actor(row, from));

    CHECK(code == row->from[from].code, "%s: %s (%s), wanted %s", pair, faina_code_name(code),
          t->op.error.message, faina_code_name(row->from[from].code));
    if (to == -1) {
        CHECK_CODE(t, fa_t_get(t, id), FAINA_TASK_NOT_FOUND);
        return;
    }
    if (code != FAINA_OK) {
        fa_t_check_str(fa_t_picture(t, id), picture, pair, __FILE__, __LINE__);
        fa_t_check_str(story_before_late(t, id), story, pair, __FILE__, __LINE__);
        return;
    }
    to = to == FAINA_STATUS_COUNT ? (int)from : to;
    fa_t_check_status(fa_t_status(t, id), (enum faina_status)to, pair, __FILE__, __LINE__);
    if (to != (int)from)
        CHECK(t->task->version > version, "%s: the version stayed at %lld", pair,
              (long long)version);
}

static void test_transitions__every_status_and_trigger(struct fa_t *t)
{
    for (size_t i = 0; i < FA_COUNT(rows); i++)
        for (enum faina_status from = 0; from < FAINA_STATUS_COUNT; from++)
            if (has_row(t, rows[i].act) && (t->is_sql || from != FAINA_BLOCKED))
                walk_cell(t, &rows[i], from);
}

static void test_transitions__no_task_no_change(struct fa_t *t)
{
    static const char *const ids[] = {"01890a5d-ac96-774b-bcce-b302099a8057",
                                      "01890a5d-ac96-474b-bcce-b302099a8057", "no id",
                                      "01890a5d-ac96-774b-bcce-b302099a80570"};

    for (size_t i = 0; i < FA_COUNT(rows); i++)
        for (size_t j = 0; j < FA_COUNT(ids) && has_row(t, rows[i].act); j++)
            CHECK_CODE(t, rows[i].act(t, ids[j], NOBODY), FAINA_TASK_NOT_FOUND);
    CHECK_OK(t, fa_t_stats(t, "*"));
    for (int i = 0; i < FAINA_STATUS_COUNT; i++)
        CHECK_INT(t->op.stats->by_status[i], 0);
}

/* Deleted tasks are out of view: no trigger finds them. */
static void test_transitions__deleted_is_not_found(struct fa_t *t)
{
    const char *id = fa_t_make(t, FAINA_COMPLETED, "w");

    CHECK_OK(t, fa_t_delete(t, id));
    for (size_t i = 0; i < FA_COUNT(rows); i++)
        CHECK(!has_row(t, rows[i].act) || rows[i].act(t, id, NOBODY) == FAINA_TASK_NOT_FOUND,
              "%s found a deleted task: %s", rows[i].trigger, faina_code_name(t->op.code));
}

/* ------------------------------------------------------------------------------------------
 * Whose task it is
 */

static const struct {
    const char *trigger;
    enum faina_code (*act)(struct fa_t *t, const char *id, struct faina_by by);
    enum faina_status from;
} held_triggers[] = {
    {"start a claimed one", fa_t_start, FAINA_CLAIMED},
    {"progress on a claimed one", do_progress, FAINA_CLAIMED},
    {"progress on a running one", do_progress, FAINA_RUNNING},
    {"release a claimed one", fa_t_release, FAINA_CLAIMED},
    {"complete a claimed one", do_complete, FAINA_CLAIMED},
    {"complete a running one", do_complete, FAINA_RUNNING},
    {"fail a claimed one", do_fail, FAINA_CLAIMED},
    {"fail a running one", do_fail, FAINA_RUNNING},
    {"fail a running one for good", do_fail_final, FAINA_RUNNING},
    {"block a running one", do_block, FAINA_RUNNING},
    {"background a running one", do_background, FAINA_RUNNING},
};

static void only_its_worker(struct fa_t *t, size_t i)
{
    const char *id = fa_t_make(t, held_triggers[i].from, HOLDER);
    int64_t fence = fa_t_task(t, id)->fence;
    const char *picture = fa_t_picture(t, id);
    const struct faina_by wrong[] = {BY("stranger"), NOBODY, BY(HOLDER, .fence = fence + 1),
                                     BY("stranger", .fence = fence)};

    for (size_t j = 0; j < FA_COUNT(wrong); j++) {
        enum faina_code code = held_triggers[i].act(t, id, wrong[j]);

        CHECK(code == FAINA_WRONG_WORKER, "%s by wrong one %zu: %s", held_triggers[i].trigger, j,
              faina_code_name(code));
        fa_t_check_str(fa_t_picture(t, id), picture, held_triggers[i].trigger, __FILE__, __LINE__);
    }
    CHECK(held_triggers[i].act(t, id, BY(HOLDER, .fence = fence)) == FAINA_OK,
          "%s by its worker: %s", held_triggers[i].trigger, t->op.error.message);
}

static void test_transitions__only_its_worker(struct fa_t *t)
{
    for (size_t i = 0; i < FA_COUNT(held_triggers); i++)
        if (has_row(t, held_triggers[i].act))
            only_its_worker(t, i);
}

/* ------------------------------------------------------------------------------------------
 * Version
 */

static void version_cell(struct fa_t *t, const struct row *row, enum faina_status from)
{
    const char *id = fa_t_make(t, from, HOLDER);
    const char *picture = fa_t_picture(t, id);
    const char *story = fa_t_story(t, id);
    int64_t version = fa_t_task(t, id)->version;
    struct faina_by by = actor(row, from);
    enum faina_code code;

    for (int64_t off = -1; off <= 1; off += 2) {
        by.version = version + off;
        if (by.version == 0)
            continue; /* it means: not checked */
        code = row->act(t, id, by);
        CHECK(code == FAINA_VERSION_CONFLICT, "%s from %s at another version: %s", row->trigger,
              faina_status_name(from), faina_code_name(code));
        CHECK_STR(fa_t_picture(t, id), picture);
        CHECK_STR(fa_t_story(t, id), story);
    }
    by.version = version;
    code = row->act(t, id, by);
    CHECK(code == FAINA_OK, "%s from %s at its version: %s", row->trigger, faina_status_name(from),
          t->op.error.message);
}

static void test_transitions__version_must_match(struct fa_t *t)
{
    for (size_t i = 0; i < FA_COUNT(rows); i++)
        for (enum faina_status from = 0; from < FAINA_STATUS_COUNT; from++)
            if (rows[i].from[from].code == FAINA_OK && rows[i].act != do_heartbeat &&
                rows[i].from[from].to != FAINA_STATUS_COUNT && has_row(t, rows[i].act) &&
                (t->is_sql || from != FAINA_BLOCKED))
                version_cell(t, &rows[i], from);
}

static void test_transitions__version_grows_by_one(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x");
    int64_t version = fa_t_task(t, id)->version;

    CHECK_OK(t, fa_t_claim(t, id, "w"));
    CHECK_INT(fa_t_task(t, id)->version, ++version);
    CHECK_OK(t, fa_t_start(t, id, BY("w")));
    CHECK_INT(fa_t_task(t, id)->version, ++version);
    CHECK_OK(t, fa_t_progress(t, id, BY("w"), 10));
    CHECK_INT(fa_t_task(t, id)->version, ++version);
    CHECK_OK(t, fa_t_heartbeat(t, id, BY("w"), 60000)); /* not a change */
    CHECK_INT(fa_t_task(t, id)->version, version);
    CHECK_OK(t, fa_t_background(t, id, BY("w"), 0));
    CHECK_INT(fa_t_task(t, id)->version, ++version);
    CHECK_OK(t, fa_t_fail_final(t, id, NOBODY, "no"));
    CHECK_INT(fa_t_task(t, id)->version, ++version);
    CHECK_OK(t, fa_t_retry(t, id, NOBODY));
    CHECK_INT(fa_t_task(t, id)->version, ++version);
    CHECK_OK(t, fa_t_cancel(t, id, NOBODY));
    CHECK_INT(fa_t_task(t, id)->version, ++version);
    CHECK_OK(t, fa_t_cancel(t, id, NOBODY));
    CHECK_INT(fa_t_task(t, id)->version, version);
}

/* ------------------------------------------------------------------------------------------
 * What the allowed ones do
 */

static void test_transitions__start_from_pending_claims_too(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x");

    CHECK_OK(t, fa_t_start(t, id, BY("w")));
    CHECK_STATUS(t->task->status, FAINA_RUNNING);
    CHECK_STR(t->task->worker_id, "w");
    CHECK_INT(t->task->attempts, 1);
    CHECK_TRUE(t->task->fence > 0);
    CHECK_TRUE(t->task->claimed_us > 0 && t->task->started_us >= t->task->claimed_us);
    CHECK_CODE(t, fa_t_complete(t, id, NOBODY, NULL), FAINA_WRONG_WORKER);
    CHECK_OK(t, fa_t_complete(t, id, BY("w"), NULL));
}

/* A client that lost the response repeats the request. */
static void test_transitions__start_again_changes_nothing(struct fa_t *t)
{
    const char *id = fa_t_make(t, FAINA_RUNNING, "w");
    const char *before = fa_t_picture(t, id);

    CHECK_OK(t, fa_t_start(t, id, BY("w")));
    CHECK_STR(fa_t_picture(t, id), before);
    CHECK_STORY(t, id, "created claimed started");
    CHECK_CODE(t, fa_t_start(t, id, BY("v")), FAINA_WRONG_WORKER);
    CHECK_STR(fa_t_picture(t, id), before);
}

/* A late worker doesn't get back a task that it has lost. */
static void test_transitions__start_of_a_claim_that_has_ended(struct fa_t *t)
{
    const char *id = fa_t_make(t, FAINA_CLAIMED, "w");
    struct faina_by late = BY("w");
    const char *before;

    CHECK_OK(t, fa_t_get(t, id));
    late.fence = t->task->fence;
    CHECK_OK(t, fa_t_retry(t, id, NOBODY));
    before = fa_t_picture(t, id);
    CHECK_CODE(t, fa_t_start(t, id, late), FAINA_TASK_NOT_CLAIMED);
    CHECK_STR(fa_t_picture(t, id), before);
    CHECK_OK(t, fa_t_start(t, id, BY("w"))); /* without a fence it is a claim of its own */
    CHECK_TRUE(t->task->fence > late.fence);
}

static void test_transitions__start_without_worker_has_no_holder(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x");

    CHECK_OK(t, fa_t_start(t, id, NOBODY));
    CHECK_STATUS(t->task->status, FAINA_RUNNING);
    CHECK_STR(t->task->worker_id, NULL);
    CHECK_INT(t->task->lease_expires_us, 0);
    CHECK_INT(t->task->attempts, 1);
    CHECK_OK(t, fa_t_progress(t, id, NOBODY, 30));
    CHECK_INT(fa_t_task(t, id)->progress, 30);
    CHECK_OK(t, fa_t_complete(t, id, NOBODY, "{\"ok\":true}"));
    CHECK_STR(fa_t_task(t, id)->output, "{\"ok\":true}");

    id = fa_t_submit(t, .type = "x");
    CHECK_OK(t, fa_t_start(t, id, NOBODY));
    CHECK_OK(t, fa_t_fail_attempt(t, id, NOBODY, "no"));
    CHECK_NOW(t, id, FAINA_PENDING);
}

static void test_transitions__release_gives_the_attempt_back(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x", .max_attempts = 1);

    for (int i = 0; i < 3; i++) {
        CHECK_OK(t, fa_t_claim(t, id, "w"));
        CHECK_INT(t->task->attempts, 1);
        CHECK_OK(t, fa_t_release(t, id, BY("w")));
        CHECK_INT(t->task->attempts, 0);
        CHECK_STATUS(t->task->status, FAINA_PENDING);
        CHECK_STR(t->task->worker_id, NULL);
    }
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "v"));
    CHECK_INT(t->op.tasks->count, 1);
}

static void test_transitions__progress_tells_and_renews(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x", .metadata = "{\"a\":1}");
    int64_t lease_us;

    CHECK_OK(t, fa_t_claim_for(t, id, "w", 1000));
    lease_us = t->task->lease_expires_us;
    CHECK_OK(t, fa_t_start(t, id, BY("w")));
    CHECK_OK(t, fa_t_report(t, id, BY("w"),
                            &(struct faina_report){
                                .has_progress = true, .progress = 40, .state = "decoding"}));
    CHECK_INT(t->task->progress, 40);
    CHECK_STR(t->task->state, "decoding");
    CHECK_STR(t->task->metadata, "{\"a\":1}");
    CHECK(t->task->lease_expires_us > lease_us, "the lease was not renewed");
    CHECK_OK(t, fa_t_report(t, id, BY("w"), &(struct faina_report){.metadata = "{\"b\": 2}"}));
    CHECK_INT(t->task->progress, 40);
    CHECK_STR(t->task->state, "decoding");
    CHECK_STR(t->task->metadata, "{\"a\":1,\"b\":2}"); /* merged */
    CHECK_OK(t, fa_t_report(t, id, BY("w"),
                            &(struct faina_report){.has_progress = true, .progress = 0}));
    CHECK_INT(fa_t_task(t, id)->progress, 0);
    CHECK_STR(t->task->state, "decoding");
    CHECK_STR(t->task->metadata, "{\"a\":1,\"b\":2}"); /* merged */
    CHECK_OK(t, fa_t_report(t, id, BY("w"), &(struct faina_report){.state = ""}));
    CHECK_STR(fa_t_task(t, id)->state, "");
}

static void test_transitions__progress_in_the_background(struct fa_t *t)
{
    const char *id = fa_t_make(t, FAINA_BACKGROUND, "w");

    CHECK_OK(t, fa_t_progress(t, id, NOBODY, 70));
    CHECK_INT(fa_t_task(t, id)->progress, 70);
    CHECK_STATUS(t->task->status, FAINA_BACKGROUND);
}

static void test_transitions__background_has_a_deadline_and_no_worker(struct fa_t *t)
{
    const char *id = fa_t_make(t, FAINA_RUNNING, "w");

    CHECK_OK(t, fa_t_background(t, id, BY("w"), 90000));
    CHECK_STATUS(t->task->status, FAINA_BACKGROUND);
    CHECK_STR(t->task->worker_id, NULL);
    CHECK_INT(t->task->expires_us - t->task->updated_us, 90 * 1000000);
    CHECK_INT(t->task->attempts, 1);
    CHECK_OK(t, fa_t_complete(t, id, NOBODY, "7"));
    CHECK_STR(fa_t_task(t, id)->output, "7");
    CHECK_INT(t->task->expires_us, 0);

    id = fa_t_make(t, FAINA_RUNNING, "w");
    CHECK_OK(t, fa_t_background(t, id, BY("w"), 0));
    CHECK_INT(t->task->expires_us - t->task->updated_us, 3600LL * 1000000);
}

int main(int argc, char **argv)
{
    static const struct fa_t_case cases[] = {
        FA_T_CASE(test_transitions__every_status_and_trigger),
        FA_T_CASE(test_transitions__no_task_no_change),
        FA_T_CASE(test_transitions__deleted_is_not_found),
        FA_T_CASE(test_transitions__only_its_worker),
        FA_T_CASE(test_transitions__version_must_match),
        FA_T_CASE_SQL(test_transitions__version_grows_by_one),
        FA_T_CASE(test_transitions__start_from_pending_claims_too),
        FA_T_CASE(test_transitions__start_again_changes_nothing),
        FA_T_CASE(test_transitions__start_of_a_claim_that_has_ended),
        FA_T_CASE(test_transitions__start_without_worker_has_no_holder),
        FA_T_CASE(test_transitions__release_gives_the_attempt_back),
        FA_T_CASE(test_transitions__progress_tells_and_renews),
        FA_T_CASE(test_transitions__progress_in_the_background),
        FA_T_CASE(test_transitions__background_has_a_deadline_and_no_worker),
    };

    return fa_t_main(argc, argv, "transitions", cases, FA_COUNT(cases));
}
