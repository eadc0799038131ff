/*
 * test_teams.c - teams, and the tasks that belong to them.
 */
#include "support/ops.h"

static const char *put_team(struct fa_t *t, const char *ns, const char *name)
{
    CHECK_OK(t, fa_t_team_put(t, &(struct faina_team){.ns = ns, .name = name}));
    return fa_arena_strdup(&t->arena, t->op.team_answer->id);
}

static void test_team__create_change_and_list(struct fa_t *t)
{
    struct faina_team change = {.name = "crimson", .spec = "{\"size\": 2}"};
    const char *id = put_team(t, NULL, "red");
    const char *blue = put_team(t, NULL, "blue");
    const struct faina_team *team;

    CHECK_INT(strlen(id), 36);
    CHECK_OK(t, fa_t_team_list(t, NULL, id));
    CHECK_INT(t->op.teams->count, 1);
    team = &t->op.teams->items[0];
    CHECK_STR(team->id, id);
    CHECK_STR(team->ns, "default");
    CHECK_STR(team->name, "red");
    CHECK_STR(team->spec, NULL);
    CHECK_TRUE(team->created_us > 0 && team->updated_us >= team->created_us);
    memcpy(change.id, id, sizeof change.id);
    CHECK_OK(t, fa_t_team_put(t, &change));
    CHECK_STR(t->op.team_answer->id, id);
    CHECK_STR(t->op.team_answer->name, "crimson");
    CHECK_STR(t->op.team_answer->spec, "{\"size\": 2}");
    put_team(t, "other", "green");
    CHECK_OK(t, fa_t_team_list(t, NULL, NULL));
    CHECK_INT(t->op.teams->count, 2);
    CHECK_OK(t, fa_t_team_list(t, "*", NULL));
    CHECK_INT(t->op.teams->count, 3);
    CHECK_OK(t, fa_t_team_list(t, "other", NULL));
    CHECK_INT(t->op.teams->count, 1);
    CHECK_STR(t->op.teams->items[0].name, "green");
    CHECK_OK(t, fa_t_team_remove(t, blue));
    CHECK_OK(t, fa_t_team_list(t, NULL, NULL));
    CHECK_INT(t->op.teams->count, 1);
}

static void test_team__name_is_taken_once_per_namespace(struct fa_t *t)
{
    struct faina_team rename = {.name = "red"};
    const char *id = put_team(t, NULL, "red");
    const char *blue = put_team(t, NULL, "blue");

    CHECK_CODE(t, fa_t_team_put(t, &(struct faina_team){.name = "red"}), FAINA_CONFLICT);
    memcpy(rename.id, blue, sizeof rename.id);
    CHECK_CODE(t, fa_t_team_put(t, &rename), FAINA_CONFLICT);
    put_team(t, "other", "red");
    memcpy(rename.id, id, sizeof rename.id);
    CHECK_OK(t, fa_t_team_put(t, &rename)); /* its own name is free to it */
    CHECK_OK(t, fa_t_team_list(t, "*", NULL));
    CHECK_INT(t->op.teams->count, 3);
}

static void test_team__unknown_ids(struct fa_t *t)
{
    const char *unknown = "01890a5d-ac96-774b-bcce-b302099a8057";

    CHECK_CODE(t, fa_t_team_list(t, NULL, unknown), FAINA_NOT_FOUND);
    CHECK_CODE(t, fa_t_team_remove(t, unknown), FAINA_NOT_FOUND);
    CHECK_CODE(t, fa_t_team_remove(t, "nonsense"), FAINA_NOT_FOUND);
}

static void test_team__submit_needs_a_known_one(struct fa_t *t)
{
    static const char *const unknown[] = {"01890a5d-ac96-774b-bcce-b302099a8057", "nonsense", ""};

    for (size_t i = 0; i < FA_COUNT(unknown); i++) {
        CHECK_CODE(t, fa_t_try_submit(t, .type = "x", .team_id = unknown[i]), FAINA_INVALID_TASK);
        CHECK_STR(t->op.error.field, "teamId");
    }
    CHECK_OK(t, fa_t_list(t, .type = "x"));
    CHECK_INT(t->op.tasks->count, 0);
}

static void test_team__removal_leaves_its_tasks_without_one(struct fa_t *t)
{
    const char *team = put_team(t, NULL, "red"), *blue = put_team(t, NULL, "blue");
    const char *waiting = fa_t_submit(t, .type = "x", .team_id = team);
    const char *done = fa_t_submit(t, .type = "x", .team_id = team);
    const char *other = fa_t_submit(t, .type = "x", .team_id = blue);

    CHECK_STR(t->task->team_id, blue);
    fa_t_finish_task(t, done);
    CHECK_STR(fa_t_task(t, done)->team_id, team);
    CHECK_OK(t, fa_t_team_remove(t, team));
    CHECK_STR(fa_t_task(t, waiting)->team_id, "");
    CHECK_STR(fa_t_task(t, done)->team_id, "");
    CHECK_STR(fa_t_task(t, other)->team_id, blue);
    CHECK_OK(t, fa_t_list(t, .team_id = team));
    CHECK_INT(t->op.tasks->count, 0);
    fa_t_finish_task(t, waiting);
}

static void test_team__survives_reopening(struct fa_t *t)
{
    const char *team = put_team(t, NULL, "red");
    const char *id = fa_t_submit(t, .type = "x", .team_id = team);

    fa_t_reopen(t);
    CHECK_STR(fa_t_task(t, id)->team_id, team);
    CHECK_OK(t, fa_t_team_list(t, NULL, team));
    CHECK_STR(t->op.teams->items[0].name, "red");
}

int main(int argc, char **argv)
{
    static const struct fa_t_case cases[] = {
        FA_T_CASE_SQL(test_team__create_change_and_list),
        FA_T_CASE_SQL(test_team__name_is_taken_once_per_namespace),
        FA_T_CASE_SQL(test_team__unknown_ids),
        FA_T_CASE_SQL(test_team__submit_needs_a_known_one),
        FA_T_CASE_SQL(test_team__removal_leaves_its_tasks_without_one),
        FA_T_CASE_NEEDS(test_team__survives_reopening, FA_T_DURABLE | FA_T_SQL),
    };

    return fa_t_main(argc, argv, "teams", cases, FA_COUNT(cases));
}
