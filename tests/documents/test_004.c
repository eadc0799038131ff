/*
 * test_004.c - document 004 (ADR 012: Task Management API), on every engine.
 *
 * What it says about HTTP itself is in test_004_http.py.
 */
#include "support/ops.h"

#include "model/limits.h"
#include "model/states.h"

#include <stdlib.h>

/* "spec: Mapped[Dict[str, Any]] = mapped_column(JSON, nullable=False, default=dict)" */
static void test_004__spec_is_an_object_and_never_null(struct fa_t *t)
{
    static const char *const bad[] = {"[]", "1", "\"x\"", "null", "true"};
    const char *id = fa_t_submit(t, .type = "x");

    CHECK_STR(fa_t_task(t, id)->spec, "{}");
    CHECK_OK(t, fa_t_list(t, .limit = 1));
    CHECK_STR(t->op.tasks->items[0].spec, "{}");
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w"));
    CHECK_STR(t->op.tasks->items[0].spec, "{}");
    id = fa_t_submit(t, .type = "x", .spec = "{\"a\": [1]}");
    CHECK_STR(fa_t_task(t, id)->spec, "{\"a\": [1]}");
    for (size_t i = 0; i < FA_COUNT(bad); i++) {
        CHECK_CODE(t, fa_t_try_submit(t, .type = "x", .spec = bad[i]), FAINA_INVALID_TASK);
        CHECK_STR(t->op.error.field, "spec");
    }
    CHECK_OK(t, fa_t_list(t, .type = "x"));
    CHECK_INT(t->op.tasks->count, 2);
}

/* "Lifecycle Status Management": start, complete, fail and cancel, and the times that they set. */
static void test_004__status_methods_set_the_times(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x");

    CHECK_INT(fa_t_task(t, id)->started_us, 0);
    CHECK_OK(t, fa_t_start(t, id, NOBODY));
    CHECK_STATUS(t->task->status, FAINA_RUNNING);
    CHECK_TRUE(t->task->started_us > 0 && t->task->completed_us == 0);
    CHECK_OK(t, fa_t_complete(t, id, NOBODY, "\"out\""));
    CHECK_STATUS(t->task->status, FAINA_COMPLETED);
    CHECK_TRUE(t->task->completed_us >= t->task->started_us);
    CHECK_STR(t->task->output, "\"out\"");

    id = fa_t_submit(t, .type = "x");
    CHECK_OK(t, fa_t_fail_final(t, id, NOBODY, "why")); /* from PENDING */
    CHECK_STATUS(t->task->status, FAINA_FAILED);
    CHECK_TRUE(t->task->completed_us > 0 && t->task->started_us == 0);

    id = fa_t_submit(t, .type = "x");
    CHECK_OK(t, fa_t_start(t, id, NOBODY));
    CHECK_OK(t, fa_t_fail_final(t, id, NOBODY, "why")); /* from RUNNING */
    CHECK_STATUS(t->task->status, FAINA_FAILED);

    id = fa_t_submit(t, .type = "x");
    CHECK_OK(t, fa_t_cancel(t, id, NOBODY));
    CHECK_STATUS(t->task->status, FAINA_CANCELLED);
    CHECK_TRUE(t->task->completed_us > 0);

    id = fa_t_submit(t, .type = "x");
    CHECK_OK(t, fa_t_start(t, id, NOBODY));
    CHECK_OK(t, fa_t_cancel(t, id, NOBODY));
    CHECK_STATUS(t->task->status, FAINA_CANCELLED);
}

/* "Cannot start task in RUNNING state", but for the worker that repeats its request. To
 * others the start of a task that a worker runs is refused; PATCH is in test_004_http.py. */
static void test_004__a_running_task_is_not_started_again(struct fa_t *t)
{
    const char *held = fa_t_make(t, FAINA_RUNNING, "w");
    const char *free = fa_t_submit(t, .type = "x");
    int64_t version = fa_t_task(t, held)->version;

    CHECK_OK(t, fa_t_start(t, held, BY("w")));
    CHECK_INT(t->task->version, version);
    CHECK_CODE(t, fa_t_start(t, held, BY("v")), FAINA_WRONG_WORKER);
    CHECK_CODE(t, fa_t_start(t, held, NOBODY), FAINA_WRONG_WORKER);
    CHECK_INT(fa_t_task(t, held)->version, version);
    CHECK_OK(t, fa_t_start(t, free, NOBODY));
    CHECK_CODE(t, fa_t_start(t, free, NOBODY), FAINA_INVALID_TRANSITION);
    CHECK_CODE(t, fa_t_start(t, free, BY("w")), FAINA_INVALID_TRANSITION);
}

static enum faina_code change(struct fa_t *t, enum fa_trigger trigger, const char *id,
                              struct faina_by by)
{
    switch ((int)trigger) {
    case FA_START:
        return fa_t_start(t, id, by);
    case FA_COMPLETE:
        return fa_t_complete(t, id, by, "\"another output\"");
    case FA_FAIL_FINAL:
        return fa_t_fail_final(t, id, by, "another error");
    default:
        return fa_t_cancel(t, id, by);
    }
}

/* "Terminal states cannot transition to other states", and which code it is doesn't depend on who
 * asks, nor on how often. */
static void test_004__a_refused_transition_has_one_code(struct fa_t *t)
{
    static const enum fa_trigger triggers[] = {FA_START, FA_COMPLETE, FA_FAIL_FINAL, FA_CANCEL};
    static const enum faina_status ended[] = {FAINA_COMPLETED, FAINA_FAILED, FAINA_DEAD_LETTER,
                                              FAINA_CANCELLED};

    for (size_t i = 0; i < FA_COUNT(ended); i++) {
        const char *ids[2] = {fa_t_make(t, ended[i], "w"), fa_t_make(t, ended[i], "other")};

        for (size_t k = 0; k < FA_COUNT(triggers); k++) {
            enum faina_code want = ended[i] == FAINA_CANCELLED && triggers[k] == FA_CANCEL
                                       ? FAINA_OK /* cancelled it is */
                                       : fa_rule_refusal(ended[i], triggers[k]);

            for (size_t n = 0; n < FA_COUNT(ids); n++) {
                CHECK_CODE(t, change(t, triggers[k], ids[n], NOBODY), want);
                CHECK_CODE(t, change(t, triggers[k], ids[n], BY("w")), want);
                CHECK_CODE(t, change(t, triggers[k], ids[n], BY("v")), want);
                CHECK_CODE(t, change(t, triggers[k], ids[n], BY("v")), want);
                CHECK_NOW(t, ids[n], ended[i]);
            }
        }
    }
}

/* ------------------------------------------------------------------------------------------
 * "Team Reference via Foreign Key", with ids of any UUID
 */

#define V4 "16fd2706-8baf-433b-82eb-8c7fada847da"
#define V4_UPPER "16FD2706-8BAF-433B-82EB-8C7FADA847DA"
#define NIL "00000000-0000-0000-0000-000000000000"

static enum faina_code put_team(struct fa_t *t, const char *id, const char *ns, const char *name)
{
    struct faina_team team = {.ns = ns, .name = name};

    snprintf(team.id, sizeof(team.id), "%s", id);
    return fa_t_team_put(t, &team);
}

static void test_004__team_ids_are_any_uuid(struct fa_t *t)
{
    static const char *const ids[] = {V4, NIL, "ffffffff-ffff-ffff-ffff-ffffffffffff",
                                      "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
                                      "01890a5d-ac96-774b-bcce-b302099a8057"};
    static const char *const bad[] = {"red", "16fd2706-8baf-433b-82eb-8c7fada847d",
                                      "16fd27068baf433b82eb8c7fada847da",
                                      "{6fd2706-8baf-433b-82eb-8c7fada847d}"};

    for (size_t i = 0; i < FA_COUNT(ids); i++) {
        const char *name = fa_arena_printf(&t->arena, "team %zu", i), *id;

        CHECK_OK(t, put_team(t, ids[i], NULL, name));
        CHECK_STR(t->op.team_answer->id, ids[i]);
        CHECK_STR(t->op.team_answer->ns, "default");
        id = fa_t_submit(t, .type = "x", .team_id = ids[i]);
        CHECK_STR(fa_t_task(t, id)->team_id, ids[i]);
        CHECK_OK(t, fa_t_list(t, .team_id = ids[i]));
        CHECK_INT(t->op.tasks->count, 1);
        CHECK_STR(t->op.tasks->items[0].id, id);
        CHECK_OK(t, fa_t_team_list(t, NULL, ids[i]));
        CHECK_STR(t->op.teams->items[0].name, name);
    }
    for (size_t i = 0; i < FA_COUNT(bad); i++) {
        CHECK_CODE(t, put_team(t, bad[i], NULL, "bad"), FAINA_INVALID_REQUEST);
        CHECK_CODE(t, fa_t_try_submit(t, .type = "x", .team_id = bad[i]), FAINA_INVALID_TASK);
        CHECK_CODE(t, fa_t_list(t, .team_id = bad[i]), FAINA_INVALID_REQUEST);
        CHECK_CODE(t, fa_t_team_list(t, NULL, bad[i]), FAINA_NOT_FOUND);
    }
    CHECK_OK(t, fa_t_team_list(t, NULL, NULL));
    CHECK_INT(t->op.teams->count, FA_COUNT(ids));
}

/* Upper case is the same id. */
static void test_004__team_ids_have_no_case(struct fa_t *t)
{
    const char *id;

    CHECK_OK(t, put_team(t, V4_UPPER, NULL, "red"));
    CHECK_STR(t->op.team_answer->id, V4);
    CHECK_OK(t, put_team(t, V4, NULL, "crimson"));
    CHECK_OK(t, fa_t_team_list(t, NULL, V4_UPPER));
    CHECK_STR(t->op.teams->items[0].name, "crimson");
    id = fa_t_submit(t, .type = "x", .team_id = V4_UPPER);
    CHECK_STR(fa_t_task(t, id)->team_id, V4);
    CHECK_OK(t, fa_t_list(t, .team_id = V4_UPPER));
    CHECK_INT(t->op.tasks->count, 1);
    CHECK_OK(t, fa_t_team_remove(t, V4_UPPER));
    CHECK_STR(fa_t_task(t, id)->team_id, "");
}

/* A team stays in its namespace, and tasks of another one can't name it. */
static void test_004__a_team_has_one_namespace(struct fa_t *t)
{
    CHECK_OK(t, put_team(t, V4, "other", "red"));
    CHECK_CODE(t, put_team(t, V4, "default", "red"), FAINA_INVALID_REQUEST);
    CHECK_STR(t->op.error.field, "namespace");
    CHECK_OK(t, put_team(t, V4, NULL, "crimson")); /* where it is */
    CHECK_STR(t->op.team_answer->ns, "other");
    CHECK_CODE(t, fa_t_try_submit(t, .type = "x", .team_id = V4), FAINA_INVALID_TASK);
    fa_t_submit(t, .type = "x", .ns = "other", .team_id = V4);
    CHECK_CODE(t, put_team(t, NIL, "other", "crimson"), FAINA_CONFLICT);
}

/* "SET NULL on delete", for good: a new team with the same id doesn't get the old tasks. */
static void test_004__a_removed_team_is_null_in_its_tasks(struct fa_t *t)
{
    const char *old, *new;

    CHECK_OK(t, put_team(t, V4, NULL, "red"));
    old = fa_t_submit(t, .type = "x", .team_id = V4);
    CHECK_OK(t, fa_t_team_remove(t, V4));
    CHECK_STR(fa_t_task(t, old)->team_id, "");
    CHECK_CODE(t, fa_t_try_submit(t, .type = "x", .team_id = V4), FAINA_INVALID_TASK);
    CHECK_OK(t, put_team(t, V4, NULL, "blue"));
    new = fa_t_submit(t, .type = "x", .team_id = V4);
    CHECK_STR(fa_t_task(t, old)->team_id, "");
    CHECK_STR(fa_t_task(t, new)->team_id, V4);
    CHECK_OK(t, fa_t_list(t, .team_id = V4));
    CHECK_INT(t->op.tasks->count, 1);
    CHECK_STR(t->op.tasks->items[0].id, new);
    CHECK_OK(t, put_team(t, V4, NULL, "green")); /* a change takes no tasks away */
    CHECK_STR(fa_t_task(t, new)->team_id, V4);
}

static void submit_many(struct fa_t *t, const struct faina_submit *submit, size_t count)
{
    const size_t most = 1000;
    struct fa_op *ops = fa_alloc_zero(most, sizeof(*ops));

    while (count > 0) {
        size_t n = count < most ? count : most;

        for (size_t i = 0; i < n; i++)
            ops[i] = (struct fa_op){.kind = FA_OP_SUBMIT, .submit = submit};
        fa_t_run_all(t, ops, n);
        for (size_t i = 0; i < n; i++)
            CHECK_INT(ops[i].code, FAINA_OK);
        count -= n;
        fa_t_forget(t);
    }
    free(ops);
}

static void test_004__the_id_of_a_removed_team_with_many_tasks(struct fa_t *t)
{
    CHECK_OK(t, put_team(t, V4, NULL, "red"));
    submit_many(t, &(struct faina_submit){.type = "x", .team_id = V4}, FA_TEAM_TASKS_MAX);
    CHECK_OK(t, fa_t_team_remove(t, V4));
    CHECK_OK(t, put_team(t, V4, NULL, "blue"));
    CHECK_OK(t, fa_t_list(t, .team_id = V4));
    CHECK_INT(t->op.tasks->count, 0);
    submit_many(t, &(struct faina_submit){.type = "x", .team_id = V4}, FA_TEAM_TASKS_MAX + 1);
    CHECK_OK(t, fa_t_team_remove(t, V4));
    CHECK_CODE(t, put_team(t, V4, NULL, "green"), FAINA_CONFLICT);
    CHECK_STR(t->op.error.field, "id");
    CHECK_CODE(t, fa_t_team_list(t, NULL, V4), FAINA_NOT_FOUND);
    CHECK_OK(t, put_team(t, NIL, NULL, "green"));
}

/* ------------------------------------------------------------------------------------------
 * "Query flexibility"
 */

static void test_004__tasks_are_filtered_by_name(struct fa_t *t)
{
    const char *id;

    fa_t_submit(t, .type = "x", .name = "one");
    fa_t_submit(t, .type = "y", .name = "two");
    fa_t_submit(t, .type = "y", .name = "one");
    fa_t_submit(t, .type = "one");
    fa_t_submit(t, .type = "x", .name = "one", .ns = "other");
    id = fa_t_submit(t, .type = "x", .name = "one");
    fa_t_finish_task(t, id);
    CHECK_OK(t, fa_t_list(t, .name = "one"));
    CHECK_INT(t->op.tasks->count, 4); /* without a name a task has that of its type */
    CHECK_STR(t->op.tasks->items[0].id, id);
    CHECK_OK(t, fa_t_list(t, .name = "one", .type = "y"));
    CHECK_INT(t->op.tasks->count, 1);
    CHECK_OK(t, fa_t_list(t, .name = "one", .ns = "*"));
    CHECK_INT(t->op.tasks->count, 5);
    CHECK_OK(t, fa_t_list(t, .name = "one", .statuses = 1u << FAINA_COMPLETED));
    CHECK_INT(t->op.tasks->count, 1);
    CHECK_OK(t, fa_t_list(t, .name = "one", .statuses = 1u << FAINA_PENDING));
    CHECK_INT(t->op.tasks->count, 3);
    CHECK_OK(t, fa_t_list(t, .name = "One"));
    CHECK_INT(t->op.tasks->count, 0);
    CHECK_OK(t, fa_t_list(t, .name = "one", .limit = 2));
    CHECK_INT(t->op.tasks->count, 2);
    CHECK_OK(t, fa_t_list(t, .name = "one", .limit = 2, .cursor = t->op.tasks->next_cursor));
    CHECK_INT(t->op.tasks->count, 2);
    CHECK_TRUE(t->op.tasks->next_cursor == NULL);
    CHECK_CODE(t, fa_t_list(t, .name = ""), FAINA_INVALID_REQUEST);
}

/* A page reads a limited number of tasks: it may be short, and the next one goes on. */
static void test_004__a_page_by_name_reads_so_many_tasks(struct fa_t *t)
{
    const char *id = fa_arena_strdup(&t->arena, fa_t_submit(t, .type = "x", .name = "rare"));
    char kept[FAINA_ID_SIZE];
    size_t found = 0;
    int pages = 0;

    memcpy(kept, id, sizeof(kept));
    submit_many(t, &(struct faina_submit){.type = "x"}, 50000);
    while (pages == 0 || t->op.tasks->next_cursor != NULL) {
        CHECK_OK(t, fa_t_list(t, .name = "rare", .limit = 1,
                              .cursor = pages > 0 ? t->op.tasks->next_cursor : NULL));
        found += t->op.tasks->count;
        if (t->op.tasks->count > 0)
            CHECK_STR(t->op.tasks->items[0].id, kept);
        pages++;
    }
    CHECK_INT(found, 1);
    CHECK_TRUE(pages > 1); /* 50,001 tasks are more than one request reads */
}

/* "Soft deletion": the history stays until it is purged, and the task is gone from view. */
static void test_004__a_deleted_task_is_gone_from_view(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x", .name = "n");

    CHECK_CODE(t, fa_t_delete(t, id), FAINA_TASK_ACTIVE);
    fa_t_finish_task(t, id);
    CHECK_OK(t, fa_t_delete(t, id));
    CHECK_CODE(t, fa_t_get(t, id), FAINA_TASK_NOT_FOUND);
    CHECK_OK(t, fa_t_list(t, .name = "n"));
    CHECK_INT(t->op.tasks->count, 0);
    CHECK_OK(t, fa_t_purge(t, .deleted_only = true)); /* it was still stored */
    CHECK_INT(t->op.count, 1);
}

int main(int argc, char **argv)
{
    static const struct fa_t_case cases[] = {
        FA_T_CASE(test_004__spec_is_an_object_and_never_null),
        FA_T_CASE(test_004__status_methods_set_the_times),
        FA_T_CASE(test_004__a_running_task_is_not_started_again),
        FA_T_CASE(test_004__a_refused_transition_has_one_code),
        FA_T_CASE_SQL(test_004__team_ids_are_any_uuid),
        FA_T_CASE_SQL(test_004__team_ids_have_no_case),
        FA_T_CASE_SQL(test_004__a_team_has_one_namespace),
        FA_T_CASE_SQL(test_004__a_removed_team_is_null_in_its_tasks),
        FA_T_CASE_SQL(test_004__the_id_of_a_removed_team_with_many_tasks),
        FA_T_CASE(test_004__tasks_are_filtered_by_name),
        FA_T_CASE_SQL(test_004__a_page_by_name_reads_so_many_tasks),
        FA_T_CASE_SQL(test_004__a_deleted_task_is_gone_from_view),
    };

    return fa_t_main(argc, argv, "document 004", cases, FA_COUNT(cases));
}
