/*
 * test_orders.c - what two nodes do to the same tasks, in every order of their steps, while a third
 * session holds locks: somebody wins, everybody learns of it, and nothing is left hanging.
 */
#include "postgres/stage.h"

#include "model/states.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define LOCK_READY "SELECT 1 FROM ready WHERE id = task_key_of('%s') FOR UPDATE"
#define LOCK_HELD "SELECT 1 FROM held WHERE id = task_key_of('%s') FOR UPDATE"
#define LOCK_PARKED "SELECT 1 FROM parked WHERE id = task_key_of('%s') FOR UPDATE"
#define LOCK_JOIN "SELECT 1 FROM join_state WHERE name = 'j' FOR UPDATE /* %s */"
#define LOCK_RESOURCES "SELECT 1 FROM resource FOR UPDATE /* %s */"

static const struct faina_submit triplets[] = {{.type = "child", .name = "bad"},
                                               {.type = "child", .name = "held"},
                                               {.type = "child", .name = "in line"}};

static void set_id(char out[FAINA_ID_SIZE], const char *id)
{
    memcpy(out, id, FAINA_ID_SIZE);
}

static const char *worker_of(const struct fa_scene *scene, const struct fa_told *told)
{
    static const char *const names[] = {"wa", "wb", "wc", "wl"};

    return names[(size_t)(told - scene->told[0]) / FA_STAGE_STEPS];
}

/* a ended before b began. */
static bool is_before(const struct fa_told *a, const struct fa_told *b)
{
    return a->end_us < b->begin_us;
}

#define STEP(name)                                                                                 \
    static void name(struct fa_scene *scene, struct fa_t *mine, PGconn *conn, struct fa_told *told)

/* ------------------------------------------------------------------------------------------
 * Steps
 */

STEP(claim_id)
{
    (void)conn;
    told->code = fa_t_claim(mine, scene->id, worker_of(scene, told));
}

STEP(claim_other)
{
    (void)conn;
    told->code = fa_t_claim(mine, scene->other, worker_of(scene, told));
}

STEP(claim_next)
{
    const char *type = scene->name;

    (void)conn;
    told->code =
        fa_t_claim_next(mine, .worker_id = worker_of(scene, told), .types = &type, .type_count = 1);
    if (told->code != FAINA_OK)
        return;
    told->count = mine->op.tasks->count;
    for (size_t i = 0; i < told->count && i < FA_COUNT(told->ids); i++)
        set_id(told->ids[i], mine->op.tasks->items[i].id);
}

STEP(complete_id)
{
    (void)conn;
    told->code = fa_t_complete(mine, scene->id, BY("w"), "{\"n\":1}");
}

STEP(fail_id)
{
    (void)conn;
    told->code = fa_t_fail_attempt(mine, scene->id, BY("w"), "no");
}

STEP(complete_other)
{
    (void)conn;
    told->code = fa_t_complete(mine, scene->other, BY("w"), "{\"n\":1}");
}

STEP(complete_third)
{
    (void)conn;
    told->code = fa_t_complete(mine, scene->third, BY("w"), "{\"n\":1}");
}

STEP(fail_third)
{
    (void)conn;
    told->code = fa_t_fail_final(mine, scene->third, BY("w"), "no");
}

STEP(cancel_id)
{
    (void)conn;
    told->code = fa_t_cancel(mine, scene->id, NOBODY);
}

STEP(cancel_third)
{
    (void)conn;
    told->code = fa_t_cancel(mine, scene->third, NOBODY);
}

/* For one more subtask, and what is left of the others. */
STEP(block_again)
{
    struct faina_submit more = {.type = "child", .name = "more"};

    (void)conn;
    told->code = fa_t_block(mine, scene->id, BY("w"), &more, 1);
}

/* With all subtasks, as a handler does that starts from the beginning. */
STEP(block_anew)
{
    (void)conn;
    told->code = fa_t_block(mine, scene->id, BY("w"), triplets, 3);
}

STEP(complete_back)
{
    (void)conn;
    told->code = fa_t_complete(mine, scene->other, NOBODY, "{\"n\":1}");
}

STEP(retry_id)
{
    (void)conn;
    told->code = fa_t_retry(mine, scene->id, NOBODY);
}

STEP(delete_id)
{
    (void)conn;
    told->code = fa_t_delete(mine, scene->id);
}

STEP(submit_key)
{
    (void)conn;
    told->code = fa_t_try_submit(mine, .type = "x", .idempotency_key = scene->name,
                                 .input = worker_of(scene, told)[1] == 'a' ? "1" : "2");
    told->existing = mine->op.existing;
    set_id(told->id, mine->op.task_id);
}

STEP(submit_dependent)
{
    const char *needs = scene->id;

    (void)conn;
    told->code =
        fa_t_try_submit(mine, .type = scene->name, .depends_on = &needs, .depends_on_count = 1);
    set_id(told->id, mine->op.task_id);
}

STEP(pause_type)
{
    (void)conn;
    told->code = fa_t_pause(mine, NULL, scene->name);
}

STEP(resume_type)
{
    (void)conn;
    told->code = fa_t_resume(mine, NULL, scene->name);
}

/* Completes what this session claimed as "wa" or "wb". */
STEP(complete_mine)
{
    const struct fa_told *claim = told - 1;
    const char *worker = worker_of(scene, told);

    (void)conn;
    if (claim->code != FAINA_OK)
        return;
    told->code = fa_t_complete(mine, worker[1] == 'a' ? scene->id : scene->other, BY(worker), NULL);
}

STEP(raise_limit)
{
    (void)conn;
    told->code = fa_t_resource_set(mine, scene->name, 2);
}

STEP(remove_team)
{
    (void)conn;
    told->code = fa_t_team_remove(mine, scene->other);
}

STEP(submit_for_team)
{
    (void)conn;
    told->code = fa_t_try_submit(mine, .type = "x", .team_id = scene->other);
    set_id(told->id, mine->op.task_id);
}

/* ------------------------------------------------------------------------------------------
 * Beginnings
 */

static void one_pending(struct fa_scene *scene)
{
    set_id(scene->id, fa_t_submit(scene->t, .type = scene->name));
}

static void two_pending(struct fa_scene *scene)
{
    one_pending(scene);
    set_id(scene->other, fa_t_submit(scene->t, .type = scene->name));
}

static void one_running(struct fa_scene *scene)
{
    set_id(scene->id, fa_t_make(scene->t, FAINA_RUNNING, "w"));
}

static void one_cancelled(struct fa_scene *scene)
{
    set_id(scene->id, fa_t_make(scene->t, FAINA_CANCELLED, "w"));
}

static void nothing(struct fa_scene *scene)
{
    (void)scene;
}

/* `id` is blocked on `other` and `third`, which run. */
static void one_family(struct fa_scene *scene)
{
    struct faina_submit children[] = {{.type = "child"}, {.type = "child"}};

    one_running(scene);
    CHECK_OK(scene->t, fa_t_block(scene->t, scene->id, BY("w"), children, 2));
    set_id(scene->other, fa_t_child(scene->t, scene->id, 0));
    set_id(scene->third, fa_t_child(scene->t, scene->id, 1));
    fa_t_take(scene->t, scene->other, "w");
    fa_t_take(scene->t, scene->third, "w");
}

/* The same, with `other` in the background and `third` in line. */
static void one_family_apart(struct fa_scene *scene)
{
    struct faina_submit children[] = {{.type = "child"}, {.type = "child"}};

    one_running(scene);
    CHECK_OK(scene->t, fa_t_block(scene->t, scene->id, BY("w"), children, 2));
    set_id(scene->other, fa_t_child(scene->t, scene->id, 0));
    set_id(scene->third, fa_t_child(scene->t, scene->id, 1));
    fa_t_take(scene->t, scene->other, "w");
    CHECK_OK(scene->t, fa_t_background(scene->t, scene->other, BY("w"), 0));
}

/* `id` runs again, since a subtask of it has ended badly; `other` runs and `third` is in line. */
static void one_family_again(struct fa_scene *scene)
{
    one_running(scene);
    CHECK_OK(scene->t, fa_t_block_fast(scene->t, scene->id, BY("w"), triplets, 3));
    CHECK_OK(scene->t, fa_t_fail_final(scene->t, fa_t_child(scene->t, scene->id, 0), NOBODY, "no"));
    set_id(scene->other, fa_t_child(scene->t, scene->id, 1));
    set_id(scene->third, fa_t_child(scene->t, scene->id, 2));
    fa_t_take(scene->t, scene->other, "w");
    fa_t_take(scene->t, scene->id, "w");
}

/* The same, in a new attempt. */
static void one_family_anew(struct fa_scene *scene)
{
    one_family_again(scene);
    CHECK_OK(scene->t, fa_t_fail_attempt(scene->t, scene->id, BY("w"), "no"));
    fa_t_take(scene->t, scene->id, "w");
}

static void two_limited(struct fa_scene *scene)
{
    const char *resource = scene->name;

    CHECK_OK(scene->t, fa_t_resource_set(scene->t, scene->name, 1));
    set_id(scene->id,
           fa_t_submit(scene->t, .type = scene->name, .resources = &resource, .resource_count = 1));
    set_id(scene->other,
           fa_t_submit(scene->t, .type = scene->name, .resources = &resource, .resource_count = 1));
}

static void one_team(struct fa_scene *scene)
{
    CHECK_OK(scene->t, fa_t_team_put(scene->t, &(struct faina_team){.name = scene->name}));
    set_id(scene->other, scene->t->op.team_answer->id);
}

static void define_join(struct fa_scene *scene, const char *on_failure)
{
    const char *text = fa_arena_printf(
        &scene->t->arena,
        "{\"workflow\":\"%s\",\"joins\":[{\"name\":\"j\",\"joinKey\":\"k\",\"onFailure\":\"%s\","
        "\"taskTypes\":[\"j1\",\"j2\",\"j3\",\"j4\"],\"task\":{\"type\":\"%s-done\"}}]}",
        on_failure, on_failure, on_failure);
    struct fa_definition definition = {.text = fa_str(text)};
    struct fa_op op = {.kind = FA_OP_WORKFLOW_PUT, .definition = &definition};

    CHECK_OK(scene->t, fa_t_run(scene->t, &op));
}

/* `id`, `other` and `third` run, and belong to two joins by the scene's name: one that drops and
 * one that fires. These have rows already, since a fourth member has come. */
static void one_join(struct fa_scene *scene)
{
    const char *input = fa_arena_printf(&scene->t->arena, "{\"k\":\"%s\"}", scene->name);
    char *const places[] = {scene->id, scene->other, scene->third};
    const char *fourth;

    define_join(scene, "drop");
    define_join(scene, "fire");
    for (size_t i = 0; i < FA_COUNT(places); i++) {
        const char *type = fa_arena_printf(&scene->t->arena, "j%zu", i + 1);

        set_id(places[i], fa_t_submit(scene->t, .type = type, .input = input));
        fa_t_take(scene->t, places[i], "w");
    }
    fourth = fa_t_submit(scene->t, .type = "j4", .input = input);
    fa_t_take(scene->t, fourth, "w");
    CHECK_OK(scene->t, fa_t_complete(scene->t, fourth, BY("w"), NULL));
}

/* All but two members have come. */
static void one_join_of_two(struct fa_scene *scene)
{
    one_join(scene);
    CHECK_OK(scene->t, fa_t_complete(scene->t, scene->third, BY("w"), NULL));
}

/* ------------------------------------------------------------------------------------------
 * What must hold
 */

#define EXPECT(scene, condition)                                                                   \
    CHECK(condition, "%s, order %s: %s", (scene)->play->name, (scene)->order, #condition)

static void check_one_claim(struct fa_scene *scene)
{
    const struct fa_told *a = &scene->told[A][0], *b = &scene->told[B][0];
    bool a_won = a->code == FAINA_OK;

    EXPECT(scene, (a->code == FAINA_OK) + (b->code == FAINA_OK) == 1);
    EXPECT(scene, (a_won ? b : a)->code == FAINA_TASK_ALREADY_CLAIMED);
    CHECK_STR(fa_t_task(scene->t, scene->id)->worker_id, a_won ? "wa" : "wb");
    CHECK_INT(scene->t->task->attempts, 1);
    CHECK_STORY(scene->t, scene->id, "created claimed");
    CHECK_OK(scene->t, fa_t_cancel(scene->t, scene->id, NOBODY));
}

/* Nobody waits for a lock to claim, nothing is handed out twice, and nothing is forgotten. */
static void check_claims_next(struct fa_scene *scene)
{
    const char *type = scene->name;
    size_t count = scene->told[A][0].count + scene->told[B][0].count;
    const char *a = scene->told[A][0].ids[0], *b = scene->told[B][0].ids[0];

    EXPECT(scene, scene->told[A][0].code == FAINA_OK && scene->told[B][0].code == FAINA_OK);
    EXPECT(scene, !scene->told[A][0].was_blocked && !scene->told[B][0].was_blocked);
    EXPECT(scene, count < 2 || strcmp(a, b) != 0);
    EXPECT(scene, count > 0); /* at most one of the two was locked */
    CHECK_OK(scene->t, fa_t_claim_next(scene->t, .worker_id = "rest", .types = &type,
                                       .type_count = 1, .limit = 9));
    EXPECT(scene, count + scene->t->op.tasks->count == 2);
    CHECK_OK(scene->t, fa_t_cancel(scene->t, scene->id, NOBODY));
    CHECK_OK(scene->t, fa_t_cancel(scene->t, scene->other, NOBODY));
}

static void check_complete_cancel(struct fa_scene *scene)
{
    const struct fa_told *complete = &scene->told[A][0], *cancel = &scene->told[B][0];

    EXPECT(scene, (complete->code == FAINA_OK) + (cancel->code == FAINA_OK) == 1);
    if (complete->code == FAINA_OK) {
        EXPECT(scene, cancel->code == FAINA_TASK_COMPLETED);
        CHECK_STORY(scene->t, scene->id, "created claimed started completed");
    } else {
        EXPECT(scene, complete->code == FAINA_INVALID_TRANSITION);
        CHECK_STORY(scene->t, scene->id, "created claimed started cancelled late_result");
    }
}

static void check_complete_fail(struct fa_scene *scene)
{
    const struct fa_told *complete = &scene->told[A][0], *fail = &scene->told[B][0];

    EXPECT(scene, (complete->code == FAINA_OK) + (fail->code == FAINA_OK) == 1);
    CHECK_NOW(scene->t, scene->id, complete->code == FAINA_OK ? FAINA_COMPLETED : FAINA_PENDING);
    if (complete->code != FAINA_OK)
        CHECK_OK(scene->t, fa_t_cancel(scene->t, scene->id, NOBODY));
}

static void check_delete_retry(struct fa_scene *scene)
{
    const struct fa_told *gone = &scene->told[A][0], *retry = &scene->told[B][0];

    EXPECT(scene, (gone->code == FAINA_OK) + (retry->code == FAINA_OK) == 1);
    if (gone->code == FAINA_OK) {
        EXPECT(scene, retry->code == FAINA_TASK_NOT_FOUND);
        return;
    }
    EXPECT(scene, gone->code == FAINA_TASK_ACTIVE);
    CHECK_NOW(scene->t, scene->id, FAINA_PENDING);
    CHECK_OK(scene->t, fa_t_cancel(scene->t, scene->id, NOBODY));
}

static void check_same_key(struct fa_scene *scene)
{
    int fresh = 0;

    for (size_t i = A; i <= C; i++) {
        EXPECT(scene, scene->told[i][0].code == FAINA_OK);
        fresh += !scene->told[i][0].existing;
        CHECK_STR(scene->told[i][0].id, scene->told[A][0].id);
    }
    EXPECT(scene, fresh == 1);
    CHECK_OK(scene->t, fa_t_get_by_key(scene->t, NULL, "x", scene->name));
    CHECK_STR(scene->t->task->id, scene->told[A][0].id);
}

static void check_parent_goes_on(struct fa_scene *scene)
{
    EXPECT(scene, scene->told[A][0].code == FAINA_OK && scene->told[B][0].code == FAINA_OK);
    CHECK_NOW(scene->t, scene->id, FAINA_PENDING);
    CHECK_OK(scene->t, fa_t_cancel(scene->t, scene->id, NOBODY));
}

/* The ends of both subtasks have counted, before the block or after it. */
static void check_blocked_again(struct fa_scene *scene)
{
    for (int session = A; session <= C; session++)
        EXPECT(scene, scene->told[session][0].code == FAINA_OK);
    CHECK_NOW(scene->t, scene->other, FAINA_COMPLETED);
    CHECK_NOW(scene->t, scene->third, FAINA_CANCELLED);
    CHECK_NOW(scene->t, scene->id, FAINA_BLOCKED);
    fa_t_finish_task(scene->t, fa_t_child(scene->t, scene->id, 3));
    CHECK_NOW(scene->t, scene->id, FAINA_PENDING);
    CHECK_OK(scene->t, fa_t_cancel(scene->t, scene->id, NOBODY));
}

/* What ended badly before the block has another go, and the parent waits for it. */
static void check_blocked_anew(struct fa_scene *scene)
{
    bool comes_back = is_before(&scene->told[C][0], &scene->told[A][0]);

    for (int session = A; session <= C; session++)
        EXPECT(scene, scene->told[session][0].code == FAINA_OK);
    CHECK_NOW(scene->t, scene->id, FAINA_BLOCKED);
    CHECK_NOW(scene->t, fa_t_child(scene->t, scene->id, 0), FAINA_PENDING);
    CHECK_NOW(scene->t, scene->other, FAINA_COMPLETED);
    if (comes_back)
        CHECK_NOW(scene->t, scene->third, FAINA_PENDING);
    CHECK_OK(scene->t, fa_t_cancel(scene->t, scene->id, NOBODY));
    EXPECT(scene, fa_t_task(scene->t, scene->third)->status == FAINA_CANCELLED);
}

/* The family is cancelled, or the child's end came first; nothing lives on. */
static void check_cancelled_family(struct fa_scene *scene)
{
    EXPECT(scene, scene->told[B][0].code == FAINA_OK);
    CHECK_NOW(scene->t, scene->id, FAINA_CANCELLED);
    EXPECT(scene, scene->told[A][0].code == FAINA_OK ||
                      scene->told[A][0].code == FAINA_INVALID_TRANSITION);
    CHECK_NOW(scene->t, scene->other,
              scene->told[A][0].code == FAINA_OK ? FAINA_COMPLETED : FAINA_CANCELLED);
    CHECK_NOW(scene->t, scene->third, FAINA_CANCELLED);
}

/* The same, with a second child that somebody else ends or cancels. */
static void check_cancelled_by_three(struct fa_scene *scene)
{
    enum faina_code a = scene->told[A][0].code, b = scene->told[B][0].code;
    enum faina_code c = scene->told[C][0].code;
    bool was_over = is_before(&scene->told[A][0], &scene->told[B][0]) &&
                    is_before(&scene->told[C][0], &scene->told[B][0]);

    EXPECT(scene, a == FAINA_OK || a == FAINA_INVALID_TRANSITION);
    EXPECT(scene, c == FAINA_OK || c == FAINA_INVALID_TRANSITION);
    EXPECT(scene, b == FAINA_OK);
    EXPECT(scene, !was_over || (a == FAINA_OK && c == FAINA_OK));
    CHECK_NOW(scene->t, scene->id, FAINA_CANCELLED);
    EXPECT(scene, fa_status_is_ended(fa_t_task(scene->t, scene->other)->status));
    EXPECT(scene, fa_status_is_ended(fa_t_task(scene->t, scene->third)->status));
}

/* Two hold the one permit only one after the other. */
static void check_limit(struct fa_scene *scene)
{
    const struct fa_told *a = scene->told[A], *b = scene->told[B];
    bool a_has = a[0].code == FAINA_OK, b_has = b[0].code == FAINA_OK;

    EXPECT(scene, a_has || a[0].code == FAINA_OVERLOADED);
    EXPECT(scene, b_has || b[0].code == FAINA_OVERLOADED);
    EXPECT(scene, a_has || b_has);
    if (a_has && b_has)
        EXPECT(scene, a[1].begin_us < b[0].end_us || b[1].begin_us < a[0].end_us);
    EXPECT(scene, !a_has || a[1].code == FAINA_OK);
    EXPECT(scene, !b_has || b[1].code == FAINA_OK);
    CHECK_INT(fa_t_in_use(scene->t, scene->name), 0);
}

/* Two permits from the moment on that the limit is raised. */
static void check_raised(struct fa_scene *scene)
{
    const struct fa_told *a = &scene->told[A][0], *b = &scene->told[B][0];
    const struct fa_told *raised = &scene->told[C][0];
    int have = (a->code == FAINA_OK) + (b->code == FAINA_OK);

    EXPECT(scene, raised->code == FAINA_OK && have >= 1);
    if (is_before(raised, a) || is_before(raised, b))
        EXPECT(scene, have == 2);
    if (is_before(a, raised) && is_before(b, raised))
        EXPECT(scene, have == 1);
    CHECK_INT(fa_t_in_use(scene->t, scene->name), have);
    CHECK_OK(scene->t, fa_t_cancel(scene->t, scene->id, NOBODY));
    CHECK_OK(scene->t, fa_t_cancel(scene->t, scene->other, NOBODY));
    CHECK_INT(fa_t_in_use(scene->t, scene->name), 0);
}

/* Nothing is handed out after the pause was acknowledged, on any node; all is after it ended. */
static void check_pause(struct fa_scene *scene)
{
    const struct fa_told *pause = &scene->told[A][0], *resume = &scene->told[A][1];
    size_t count = 0;

    EXPECT(scene, pause->code == FAINA_OK && resume->code == FAINA_OK);
    for (int i = 0; i < 2; i++) {
        const struct fa_told *claim = &scene->told[B][i];

        EXPECT(scene, claim->code == FAINA_OK);
        if (is_before(pause, claim) && is_before(claim, resume))
            EXPECT(scene, claim->count == 0);
        if (is_before(claim, pause) || is_before(resume, claim))
            EXPECT(scene, claim->count == 1);
        count += claim->count;
    }
    EXPECT(scene, count <= 2);
    CHECK_OK(scene->t, fa_t_cancel(scene->t, scene->id, NOBODY));
    CHECK_OK(scene->t, fa_t_cancel(scene->t, scene->other, NOBODY));
}

static void check_dependent(struct fa_scene *scene)
{
    EXPECT(scene, scene->told[A][0].code == FAINA_OK && scene->told[B][0].code == FAINA_OK);
    CHECK_NOW(scene->t, scene->told[A][0].id, FAINA_PENDING);
    CHECK_OK(scene->t, fa_t_cancel(scene->t, scene->told[A][0].id, NOBODY));
}

static void check_team(struct fa_scene *scene)
{
    const struct fa_told *submit = &scene->told[B][0];

    EXPECT(scene, scene->told[A][0].code == FAINA_OK);
    if (is_before(&scene->told[A][0], submit))
        EXPECT(scene, submit->code != FAINA_OK);
    if (submit->code == FAINA_OK) {
        CHECK_STR(fa_t_task(scene->t, submit->id)->team_id, "");
        CHECK_OK(scene->t, fa_t_cancel(scene->t, submit->id, NOBODY));
    }
}

/* How many tasks the joins of this scene have made, which are then cancelled. */
static size_t count_made(struct fa_scene *scene, const char *type)
{
    const struct faina_tasks *made;

    CHECK_OK(scene->t, fa_t_list(scene->t, .type = type, .statuses = 1u << FAINA_PENDING));
    made = scene->t->op.tasks;
    for (size_t i = 0; i < made->count; i++)
        CHECK_OK(scene->t, fa_t_cancel(scene->t, made->items[i].id, NOBODY));
    return made->count;
}

/* Everybody has come, and each join has made its task once. */
static void check_joined(struct fa_scene *scene)
{
    for (int session = A; session <= C; session++)
        EXPECT(scene, scene->told[session][0].code == FAINA_OK);
    EXPECT(scene, count_made(scene, "drop-done") == 1);
    EXPECT(scene, count_made(scene, "fire-done") == 1);
}

/* One ended badly: who drops makes none, who fires makes one. */
static void check_joined_badly(struct fa_scene *scene)
{
    EXPECT(scene, scene->told[A][0].code == FAINA_OK && scene->told[B][0].code == FAINA_OK);
    EXPECT(scene, count_made(scene, "drop-done") == 0);
    EXPECT(scene, count_made(scene, "fire-done") == 1);
}

/* ------------------------------------------------------------------------------------------
 * The plays
 */

#define LOCKS                                                                                      \
    {                                                                                              \
        fa_stage_lock, fa_stage_unlock                                                             \
    }

/* clang-format off */
static const struct fa_play plays[] = {
    {"claim, claim", one_pending, {{claim_id}, {claim_id}, {0}, LOCKS}, LOCK_READY,
     check_one_claim},
    {"claim next twice", two_pending, {{claim_next}, {claim_next}, {0}, LOCKS}, LOCK_READY,
     check_claims_next},
    {"complete, cancel", one_running, {{complete_id}, {cancel_id}, {0}, LOCKS}, LOCK_HELD,
     check_complete_cancel},
    {"complete, fail", one_running, {{complete_id}, {fail_id}, {0}, LOCKS}, LOCK_HELD,
     check_complete_fail},
    {"delete, retry", one_cancelled, {{delete_id}, {retry_id}}, NULL, check_delete_retry},
    {"one key, three nodes", nothing, {{submit_key}, {submit_key}, {submit_key}}, NULL,
     check_same_key},
    {"the last two children", one_family, {{complete_other}, {complete_third}, {0}, LOCKS},
     LOCK_PARKED, check_parent_goes_on},
    {"one child well, one badly", one_family, {{complete_other}, {fail_third}, {0}, LOCKS},
     LOCK_PARKED, check_parent_goes_on},
    {"child ends, family cancelled", one_family, {{complete_other}, {cancel_id}, {0}, LOCKS},
     LOCK_PARKED, check_cancelled_family},
    {"two children end, family cancelled", one_family,
     {{complete_other}, {cancel_id}, {complete_third}, LOCKS}, LOCK_PARKED,
     check_cancelled_by_three},
    {"children elsewhere end, family cancelled", one_family_apart,
     {{complete_back}, {cancel_id}, {cancel_third}, LOCKS}, LOCK_PARKED, check_cancelled_by_three},
    {"blocked again, subtasks end", one_family_again,
     {{block_again}, {complete_other}, {cancel_third}, LOCKS}, LOCK_HELD, check_blocked_again},
    {"blocked anew, subtasks end", one_family_anew,
     {{block_anew}, {complete_other}, {cancel_third}, LOCKS}, LOCK_HELD, check_blocked_anew},
    {"a limit of one", two_limited,
     {{claim_id, complete_mine}, {claim_other, complete_mine}, {0}, LOCKS}, LOCK_RESOURCES,
     check_limit},
    {"the limit is raised", two_limited, {{claim_id}, {claim_other}, {raise_limit}, LOCKS},
     LOCK_RESOURCES, check_raised},
    {"pause, claim", two_pending, {{pause_type, resume_type}, {claim_next, claim_next}}, NULL,
     check_pause},
    {"submit, the end of what it needs", one_running,
     {{submit_dependent}, {complete_id}, {0}, LOCKS}, LOCK_HELD, check_dependent},
    {"the last two of a join", one_join_of_two, {{complete_id}, {complete_other}, {0}, LOCKS},
     LOCK_JOIN, check_joined},
    {"the last three of a join", one_join, {{complete_id}, {complete_other}, {complete_third}},
     NULL, check_joined},
    {"of a join's last two, one ends badly", one_join_of_two,
     {{cancel_id}, {complete_other}, {0}, LOCKS}, LOCK_JOIN, check_joined_badly},
    {"team goes, submit for it", one_team, {{remove_team}, {submit_for_team}}, NULL, check_team},
};
/* clang-format on */

/* Lines of the server's log in which one of the stage's sessions was told of a deadlock. */
static int count_deadlocks(const struct fa_stage *stage)
{
    const char *path = getenv("FA_POSTGRES_LOG"), *name = strrchr(fa_stage_url(stage), '=') + 1;
    FILE *file = fopen(path ? path : "", "r");
    char line[1024];
    int count = 0;

    CHECK(file, "the server's log can't be read");
    while (fgets(line, sizeof line, file))
        count += strstr(line, name) && strstr(line, "deadlock detected");
    fclose(file);
    return count;
}

/* A deadlock is noticed after a second; the operation is run again, so nobody is told. */
static void test_orders__all(void **state)
{
    struct fa_stage *stage;
    int total = 0;

    (void)state;
    fa_psql_need_engine();
    stage = fa_stage_create();
    for (size_t i = 0; i < FA_COUNT(plays); i++) {
        int blocked;
        int played = fa_stage_run(stage, &plays[i], &blocked);

        print_message("%s: %d orders, %d steps waited for a lock\n", plays[i].name, played,
                      blocked);
        total += played;
    }
    CHECK_TRUE(total > 200);
    CHECK_INT(count_deadlocks(stage), 0);
    fa_stage_destroy(stage);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_orders__all),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("orders", tests, NULL, NULL);
}
