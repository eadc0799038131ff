/*
 * test_groups.c - fair share: groups of one type and priority take turns.
 */
#include "support/ops.h"

#include "base/random.h"

#include <string.h>

#define HOUR_MS (INT64_C(3600) * 1000)

static const char *submit(struct fa_t *t, const char *group, const char *name)
{
    return fa_t_submit(t, .type = "x", .group = group, .name = name,
                       .retry = {.base_ms = HOUR_MS, .max_ms = HOUR_MS});
}

static const char *text_of(struct fa_t *t, size_t len)
{
    char *text = fa_arena_take(&t->arena, len + 1);

    memset(text, 'g', len);
    text[len] = '\0';
    return text;
}

/* The names of up to `count` tasks in the order of their starts, claimed one by one. */
static const char *starts(struct fa_t *t, size_t count)
{
    struct fa_buf names;
    const char *text;

    fa_buf_init(&names, 64 * 1024);
    for (size_t i = 0; i < count; i++) {
        CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w", .limit = 1));
        if (t->op.tasks->count == 0)
            break;
        fa_buf_printf(&names, "%s%s", i > 0 ? " " : "", t->op.tasks->items[0].name);
    }
    text = fa_arena_copy(&t->arena, names.ptr ? names.ptr : "", names.len);
    fa_buf_finish(&names);
    return text;
}

static const char *together(struct fa_t *t)
{
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w", .limit = 100));
    return fa_t_names(t, t->op.tasks);
}

#define update(t, task, ...)                                                                       \
    fa_t_run(t, &(struct fa_op){.kind = FA_OP_UPDATE,                                              \
                                .id = (task),                                                      \
                                .wants_task = true,                                                \
                                .update = &(struct faina_update){__VA_ARGS__}})

static void submit_some(struct fa_t *t)
{
    static const char *const names[] = {"a1", "a2", "a3", "a4", "b1", "b2", "c1"};

    for (size_t i = 0; i < FA_COUNT(names); i++) {
        char group[2] = {names[i][0], '\0'};

        submit(t, group, names[i]);
    }
}

static void test_groups__take_turns(struct fa_t *t)
{
    submit_some(t);
    CHECK_STR(starts(t, 9), "a1 b1 c1 a2 b2 a3 a4");
    submit_some(t);
    CHECK_STR(together(t), "a1 b1 c1 a2 b2 a3 a4");
}

static void test_groups__a_new_group_waits_one_round(struct fa_t *t)
{
    for (int i = 0; i < 300; i++)
        submit(t, "large", "l");
    submit(t, "other", "o1");
    CHECK_STR(starts(t, 3), "l o1 l");
    submit(t, "small", "s1");
    submit(t, "small", "s2");
    submit(t, "other", "o2");
    CHECK_STR(starts(t, 6), "l s1 o2 l s2 l");
}

static void test_groups__priority_is_first(struct fa_t *t)
{
    fa_t_submit(t, .type = "x", .group = "a", .name = "a1");
    fa_t_submit(t, .type = "x", .group = "b", .name = "b1");
    fa_t_submit(t, .type = "x", .group = "a", .name = "A1", .priority = 5);
    fa_t_submit(t, .type = "x", .group = "a", .name = "A2", .priority = 5);
    fa_t_submit(t, .type = "x", .group = "b", .name = "B1", .priority = 5);
    CHECK_STR(starts(t, 9), "A1 B1 A2 a1 b1");
}

/* Each way in which a task becomes ready gives it a turn. */
static void test_groups__every_way_to_become_ready(struct fa_t *t)
{
    const char *gate = fa_t_submit(t, .type = "gate"), *claimed, *delayed, *blocked, *snoozed;

    delayed = fa_t_submit(t, .type = "x", .group = "a", .name = "delayed", .delay_ms = HOUR_MS);
    blocked = fa_t_submit(t, .type = "x", .group = "a", .name = "blocked", .depends_on = &gate,
                          .depends_on_count = 1);
    claimed = submit(t, "a", "released");
    CHECK_OK(t, fa_t_claim(t, claimed, "w"));
    snoozed = submit(t, "a", "snoozed");
    CHECK_OK(t, fa_t_claim(t, snoozed, "w"));
    CHECK_OK(t, fa_t_run(t, &(struct fa_op){.kind = FA_OP_SNOOZE,
                                            .id = snoozed,
                                            .by.worker_id = "w",
                                            .snooze_ms = HOUR_MS,
                                            .wants_task = true}));
    submit(t, "a", "a1");
    submit(t, "b", "b1");
    submit(t, "b", "b2");
    submit(t, "b", "b3");
    CHECK_OK(t, fa_t_release(t, claimed, BY("w")));
    CHECK_OK(t, update(t, delayed, .has_run_at = true));
    CHECK_OK(t, update(t, snoozed, .has_run_at = true));
    fa_t_finish_task(t, gate);
    CHECK_NOW(t, blocked, FAINA_PENDING);
    CHECK_STR(starts(t, 9), "a1 b1 released b2 delayed b3 snoozed blocked");
}

static void test_groups__retries_and_lost_leases(struct fa_t *t)
{
    const char *failed = submit(t, "a", "failed"), *lost = submit(t, "a", "lost");

    CHECK_OK(t, fa_t_claim(t, failed, "w"));
    CHECK_OK(t, fa_t_claim_for(t, lost, "w", 50));
    CHECK_OK(t, fa_t_fail_attempt(t, failed, BY("w"), "no"));
    fa_t_wait_status(t, lost, FAINA_PENDING);
    submit(t, "b", "b1");
    submit(t, "b", "b2");
    CHECK_OK(t, update(t, failed, .has_run_at = true));
    CHECK_STR(starts(t, 9), "lost b1 failed b2");
    CHECK_OK(t, fa_t_fail_final(t, lost, BY("w"), "no"));
    CHECK_OK(t, fa_t_fail_final(t, failed, BY("w"), "no"));
    submit(t, "b", "b3");
    submit(t, "b", "b4");
    CHECK_OK(t, fa_t_retry(t, lost, NOBODY));
    CHECK_OK(t, fa_t_retry(t, failed, NOBODY));
    CHECK_STR(starts(t, 9), "b3 lost b4 failed");
}

static void test_groups__update(struct fa_t *t)
{
    const char *gate = fa_t_submit(t, .type = "gate"), *moved, *left, *joined, *blocked, *parked;

    submit(t, "a", "a1");
    moved = submit(t, "a", "moved");
    left = submit(t, "a", "left");
    joined = submit(t, NULL, "joined");
    submit(t, "a", "a2");
    blocked =
        fa_t_submit(t, .type = "x", .name = "blocked", .depends_on = &gate, .depends_on_count = 1);
    parked = fa_t_submit(t, .type = "x", .group = "a", .name = "parked", .delay_ms = HOUR_MS);
    CHECK_OK(t, update(t, moved, .group = "b"));
    CHECK_STR(t->task->group, "b");
    CHECK_OK(t, fa_t_events(t, moved, 1));
    CHECK_STR(t->op.events->items[0].what, "updated");
    CHECK_STR(t->op.events->items[0].detail,
              "{\"before\":{\"group\":\"a\"},\"after\":{\"group\":\"b\"}}");
    CHECK_OK(t, update(t, left, .group = ""));
    CHECK(t->task->group == NULL, "it has the group %s", t->task->group);
    CHECK_OK(t, update(t, joined, .group = "c", .has_priority = true, .priority = 1));
    CHECK_STR(t->task->group, "c");
    CHECK_OK(t, update(t, joined, .has_priority = true, .priority = 0));
    CHECK_OK(t, update(t, blocked, .group = "b"));
    CHECK_OK(t, update(t, blocked, .group = "b")); /* no change */
    CHECK_OK(t, update(t, parked, .group = ""));
    CHECK_OK(t, update(t, parked, .has_run_at = true));
    fa_t_finish_task(t, gate);
    CHECK_STR(fa_t_task(t, blocked)->group, "b");
    CHECK_CODE(t, update(t, moved, .group = text_of(t, 256)), FAINA_INVALID_REQUEST);
    CHECK_OK(t, fa_t_stats(t, NULL));
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w", .limit = 1));
    CHECK_STR(t->op.tasks->items[0].name, "a1"); /* its lane is that of the oldest task */
    CHECK_STR(together(t), "moved joined blocked a2 left parked");
}

static void test_groups__tasks_without_are_by_age(struct fa_t *t)
{
    submit(t, NULL, "1");
    submit(t, NULL, "2");
    submit(t, NULL, "3");
    submit(t, "a", "a1");
    submit(t, "a", "a2");
    submit(t, "b", "b1");
    CHECK_STR(starts(t, 2), "1 2");
    submit(t, NULL, "4");
    CHECK_STR(starts(t, 9), "3 a1 b1 a2 4");
}

static void test_groups__shown_and_listed(struct fa_t *t)
{
    const char *first = submit(t, "a", "a1"), *last;

    submit(t, "b", "b1");
    submit(t, NULL, "none");
    last = submit(t, "a", "a2");
    CHECK_STR(fa_t_task(t, first)->group, "a");
    CHECK_OK(t, fa_t_list(t, .group = "a"));
    CHECK_STR(fa_t_names(t, t->op.tasks), "a2 a1");
    CHECK_OK(t, fa_t_list(t, .group = "a", .ascending = true, .limit = 1));
    CHECK_STR(fa_t_names(t, t->op.tasks), "a1");
    CHECK_OK(t, fa_t_list(t, .group = "a", .ascending = true, .limit = 1,
                          .cursor = t->op.tasks->next_cursor));
    CHECK_STR(fa_t_names(t, t->op.tasks), "a2");
    CHECK_OK(t, fa_t_list(t, .group = "a", .statuses = 1u << FAINA_RUNNING));
    CHECK_INT(t->op.tasks->count, 0);
    CHECK_OK(t, fa_t_claim(t, last, "w"));
    CHECK_STR(fa_t_task(t, last)->group, "a");
    fa_t_finish_task(t, first);
    CHECK_STR(fa_t_task(t, first)->group, "a");
    CHECK_CODE(t, fa_t_try_submit(t, .type = "x", .group = ""), FAINA_INVALID_TASK);
    CHECK_CODE(t, fa_t_try_submit(t, .type = "x", .group = text_of(t, 256)), FAINA_INVALID_TASK);
    CHECK_OK(t, fa_t_try_submit(t, .type = "x", .group = text_of(t, 255)));
}

static void check_reason(struct fa_t *t, const char *id, const char *want)
{
    const struct faina_explanation *explanation;

    CHECK_OK(t, fa_t_explain(t, id));
    explanation = t->op.explanation;
    for (size_t i = 0; i < explanation->count; i++) {
        if (strcmp(explanation->reasons[i].kind, "turn") == 0) {
            CHECK_STR(explanation->reasons[i].message, want);
            return;
        }
    }
    CHECK(want == NULL, "no reason is about a turn: %s", explanation->summary);
}

static void test_groups__explain_says_the_turn(struct fa_t *t)
{
    const char *ids[5];

    for (size_t i = 0; i < 4; i++)
        ids[i] = submit(t, i == 2 ? "b" : "a", "n");
    ids[4] = submit(t, NULL, "none");
    check_reason(t, ids[0],
                 "it is number 1 of the tasks with groups of its type and priority: "
                 "group a has its turn in this round");
    check_reason(t, ids[1],
                 "it is number 3 of the tasks with groups of its type and priority: "
                 "group a has its turn in the next round");
    check_reason(t, ids[2],
                 "it is number 2 of the tasks with groups of its type and priority: "
                 "group b has its turn in this round");
    check_reason(t, ids[3],
                 "it is number 4 of the tasks with groups of its type and priority: "
                 "group a has its turn 2 rounds from now");
    check_reason(t, ids[4], NULL);
    CHECK_OK(t, fa_t_claim(t, ids[0], "w"));
    check_reason(t, ids[0], NULL);
}

static void test_groups__resources_and_spellings(struct fa_t *t)
{
    const char *disk = "disk";

    CHECK_OK(t, fa_t_resource_set(t, "disk", 2));
    for (int i = 0; i < 3; i++)
        fa_t_submit(t, .type = "x", .group = "a", .name = "a", .resources = &disk,
                    .resource_count = 1);
    fa_t_submit(t, .type = "X", .group = "b", .name = "b", .resources = &disk, .resource_count = 1);
    CHECK_STR(starts(t, 9), "a a");
    CHECK_INT(fa_t_in_use(t, "disk"), 2);
}

static void test_groups__survive_a_restart(struct fa_t *t)
{
    if (!t->is_durable)
        return;
    submit_some(t);
    CHECK_STR(starts(t, 4), "a1 b1 c1 a2");
    fa_t_reopen(t);
    submit(t, "c", "c2");
    submit(t, "d", "d1");
    CHECK_STR(starts(t, 2), "b2 c2");
    fa_t_reopen(t);
    CHECK_STR(starts(t, 9), "d1 a3 a4");
}

/* ------------------------------------------------------------------------------------------
 * The rule itself
 */

#define GROUPS 9
#define HELD_MAX 40

/* What the rule needs to be checked: of each group, since which start it has tasks that wait, and
 * when it started one last. */
struct model {
    struct fa_random random;
    uint64_t seed;
    int64_t start_count;
    int64_t waiting[GROUPS], waits_since[GROUPS], last_start[GROUPS];
    const char *held[HELD_MAX];
    size_t held_group[HELD_MAX], held_count;
};

static void note_ready(struct model *model, size_t group)
{
    if (model->waiting[group]++ == 0)
        model->waits_since[group] = model->start_count;
}

/* Between two starts of one group, each other group that waited all the time has started one. */
static void note_start(struct model *model, size_t group)
{
    int64_t before = model->last_start[group];

    model->start_count++;
    for (size_t g = 0; before != 0 && g < GROUPS; g++) {
        CHECK(g == group || model->waiting[g] == 0 || model->waits_since[g] >= before ||
                  model->last_start[g] > before,
              "FA_SEED=%llu: group %zu starts at %lld and %lld, and group %zu waits since %lld",
              (unsigned long long)model->seed, group, (long long)before,
              (long long)model->start_count, g, (long long)model->waits_since[g]);
    }
    model->waiting[group]--;
    model->last_start[group] = model->start_count;
}

static void submit_random(struct fa_t *t, struct model *model)
{
    /* The first group has many tasks, the last one has few. */
    size_t group = fa_random_below(&model->random, fa_random_below(&model->random, GROUPS) + 1);
    int64_t count = group == 0 ? (int64_t)fa_random_below(&model->random, 8) : 1;
    char name[2] = {(char)('a' + group), '\0'};

    for (int64_t i = 0; i < count; i++) {
        submit(t, name, name);
        note_ready(model, group);
    }
}

static void claim_random(struct fa_t *t, struct model *model)
{
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w",
                                .limit = 1 + (int)fa_random_below(&model->random, 3)));
    for (size_t i = 0; i < t->op.tasks->count; i++) {
        const struct faina_task *task = &t->op.tasks->items[i];
        size_t group = (size_t)(task->group[0] - 'a');

        note_start(model, group);
        model->held[model->held_count] = fa_arena_strdup(&t->arena, task->id);
        model->held_group[model->held_count++] = group;
    }
}

static void end_random(struct fa_t *t, struct model *model)
{
    size_t i = fa_random_below(&model->random, model->held_count);
    const char *id = model->held[i];
    size_t group = model->held_group[i];

    model->held[i] = model->held[--model->held_count];
    model->held_group[i] = model->held_group[model->held_count];
    if (fa_random_below(&model->random, 4) > 0) {
        CHECK_OK(t, fa_t_complete(t, id, BY("w"), NULL));
        return;
    }
    if (fa_random_below(&model->random, 2) > 0) {
        CHECK_OK(t, fa_t_release(t, id, BY("w")));
    } else {
        CHECK_OK(t, fa_t_fail_attempt(t, id, BY("w"), "no"));
        if (t->task->status != FAINA_PENDING)
            return;
        CHECK_OK(t, update(t, id, .has_run_at = true));
    }
    note_ready(model, group);
}

static void test_groups__between_two_starts_of_one_all_others_start(struct fa_t *t)
{
    struct model model = {.seed = fa_t_seed()};

    fa_random_seed(&model.random, model.seed);
    for (int i = 0; i < (t->is_served ? 400 : 1500); i++) {
        uint64_t step = fa_random_below(&model.random, 10);

        if (model.held_count > HELD_MAX - 3)
            step = 9;
        if (step < 3)
            submit_random(t, &model);
        else if (step < 7)
            claim_random(t, &model);
        else if (model.held_count > 0)
            end_random(t, &model);
    }
}

int main(int argc, char **argv)
{
    static const struct fa_t_case cases[] = {
        FA_T_CASE_SQL(test_groups__take_turns),
        FA_T_CASE_SQL(test_groups__a_new_group_waits_one_round),
        FA_T_CASE_SQL(test_groups__priority_is_first),
        FA_T_CASE_SQL(test_groups__every_way_to_become_ready),
        FA_T_CASE_SQL(test_groups__retries_and_lost_leases),
        FA_T_CASE_SQL(test_groups__update),
        FA_T_CASE_SQL(test_groups__tasks_without_are_by_age),
        FA_T_CASE_SQL(test_groups__shown_and_listed),
        FA_T_CASE_SQL(test_groups__explain_says_the_turn),
        FA_T_CASE_SQL(test_groups__resources_and_spellings),
        FA_T_CASE_SQL(test_groups__survive_a_restart),
        FA_T_CASE_SQL(test_groups__between_two_starts_of_one_all_others_start),
    };

    return fa_t_main(argc, argv, "groups", cases, FA_COUNT(cases));
}
