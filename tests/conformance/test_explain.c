/*
 * test_explain.c - why is a task not running?
 */
#include "support/ops.h"

#include "base/clock.h"

/* The explanation must have a sentence, and a reason of this kind. */
static const struct faina_reason *check_reason(struct fa_t *t, const char *id, const char *kind)
{
    const struct faina_explanation *answer;

    CHECK_OK(t, fa_t_explain(t, id));
    answer = t->op.explanation;
    CHECK_STR(answer->task.id, id);
    CHECK(answer->summary && answer->summary[0], "%s: no summary", id);
    for (size_t i = 0; i < answer->count; i++) {
        CHECK(answer->reasons[i].message && answer->reasons[i].message[0], "a reason says nothing");
        if (strcmp(answer->reasons[i].kind, kind) == 0)
            return &answer->reasons[i];
    }
    fa_t_fail(__FILE__, __LINE__, "%s: no reason of kind %s in \"%s\"", id, kind, answer->summary);
}

/* Nothing but a worker is missing. */
static void check_ready(struct fa_t *t, const char *id)
{
    check_reason(t, id, "ready");
    CHECK_INT(t->op.explanation->count, 1);
}

static void check_says(const char *text, const char *part)
{
    CHECK(strstr(text, part) != NULL, "\"%s\" doesn't tell \"%s\"", text, part);
}

static void test_explain__ready_task_only_lacks_a_worker(struct fa_t *t)
{
    check_ready(t, fa_t_submit(t, .type = "x"));
    CHECK_STR(t->op.explanation->summary,
              "it is ready, and waits for a worker to claim it; no live worker is registered");
}

static void test_explain__not_yet_due(struct fa_t *t)
{
    int64_t run_at_us = fa_clock_now_us() + 3600LL * 1000000;

    CHECK_INT(check_reason(t, fa_t_submit(t, .type = "x", .run_at_us = run_at_us), "due")->until_us,
              run_at_us);
}

static void test_explain__waits_for_its_next_attempt(struct fa_t *t)
{
    int64_t year_ms = 365LL * 24 * 3600 * 1000;
    const char *id = fa_t_submit(t, .type = "x", .retry = {.base_ms = year_ms, .max_ms = year_ms});
    const struct faina_reason *reason;

    fa_t_take(t, id, "w");
    CHECK_OK(t, fa_t_fail_attempt(t, id, BY("w"), "no route"));
    reason = check_reason(t, id, "due");
    check_says(reason->message, "no route");
    CHECK_INT(reason->until_us, fa_t_task(t, id)->run_at_us);
}

static void test_explain__dependencies_and_subtasks(struct fa_t *t)
{
    const char *ids[] = {fa_t_submit(t, .type = "x"), fa_t_submit(t, .type = "x")};
    const char *after = fa_t_submit(t, .type = "y", .depends_on = ids, .depends_on_count = 2);

    check_says(check_reason(t, after, "dependency")->message, "2");
    fa_t_finish_task(t, ids[0]);
    check_says(check_reason(t, after, "dependency")->message, "1");
    check_reason(t, fa_t_make(t, FAINA_BLOCKED, "w"), "dependency");
}

/* By name and status, and with the time before which it can't go on. */
static void test_explain__dependencies_by_name(struct fa_t *t)
{
    const char *ids[] = {fa_t_submit(t, .type = "x", .name = "first", .delay_ms = 3600 * 1000),
                         fa_t_submit(t, .type = "x", .name = "second")};
    const char *after = fa_t_submit(t, .type = "y", .depends_on = ids, .depends_on_count = 2);
    const struct faina_reason *reason;

    fa_t_take(t, ids[1], "w");
    reason = check_reason(t, after, "dependency");
    check_says(reason->message, fa_arena_printf(&t->arena, "first %s (pending, due in", ids[0]));
    check_says(reason->message, fa_arena_printf(&t->arena, "second %s (running)", ids[1]));
    CHECK_INT(reason->until_us, fa_t_task(t, ids[0])->run_at_us);
    CHECK_OK(t, fa_t_cancel(t, ids[0], NOBODY));
    CHECK_INT(check_reason(t, after, "dependency")->until_us, 0);
    check_says(t->op.explanation->summary, "1 ended badly");
}

static void test_explain__resource_at_its_limit(struct fa_t *t)
{
    const char *gpu = "gpu";
    const char *holder = fa_t_submit(t, .type = "x", .resources = &gpu, .resource_count = 1);
    const char *waiting = fa_t_submit(t, .type = "x", .resources = &gpu, .resource_count = 1);
    const struct faina_reason *reason;

    CHECK_OK(t, fa_t_resource_set(t, "gpu", 1));
    check_ready(t, waiting);
    CHECK_OK(t, fa_t_claim(t, holder, "w"));
    reason = check_reason(t, waiting, "resource");
    check_says(reason->message, "gpu");
    check_says(reason->message, "1/1");
    check_says(reason->message, fa_arena_printf(&t->arena, "%s (by worker w)", holder));
    CHECK_OK(t, fa_t_start(t, holder, BY("w")));
    CHECK_OK(t, fa_t_background(t, holder, BY("w"), 3600 * 1000));
    check_says(check_reason(t, waiting, "resource")->message, "in the background, expires in");
    CHECK_OK(t, fa_t_complete(t, holder, BY("w"), NULL));
    check_ready(t, waiting);
}

static void test_explain__paused(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x");

    CHECK_OK(t, fa_t_pause(t, NULL, "x"));
    check_reason(t, id, "paused");
    CHECK_OK(t, fa_t_resume(t, NULL, "x"));
    check_ready(t, id);
}

static void test_explain__several_reasons_at_once(struct fa_t *t)
{
    const char *gpu = "gpu";
    const char *id = fa_t_submit(t, .type = "x", .resources = &gpu, .resource_count = 1,
                                 .delay_ms = 3600 * 1000);

    CHECK_OK(t, fa_t_resource_set(t, "gpu", 0));
    CHECK_OK(t, fa_t_pause(t, NULL, "x"));
    check_reason(t, id, "due");
    check_reason(t, id, "paused");
    check_reason(t, id, "resource");
}

static void test_explain__held_background_and_ended(struct fa_t *t)
{
    const struct faina_reason *reason;
    const char *id;

    reason = check_reason(t, fa_t_make(t, FAINA_CLAIMED, "worker-7"), "held");
    check_says(reason->message, "worker-7");
    CHECK_TRUE(reason->until_us > fa_clock_now_us());
    id = fa_t_make(t, FAINA_BACKGROUND, "w");
    reason = check_reason(t, id, "background");
    CHECK_INT(reason->until_us, fa_t_task(t, id)->expires_us);
    for (enum faina_status s = FAINA_COMPLETED; s < FAINA_STATUS_COUNT; s++)
        check_reason(t, fa_t_make(t, s, "w"), "ended");
}

/* The same from a C program. */
static void test_explain__from_c(struct fa_t *t)
{
    struct faina_submit submit = {.type = "x", .delay_ms = 3600 * 1000};
    struct faina_explanation *answer = NULL;
    struct faina_task *task = NULL;
    struct faina_error err;
    struct faina *engine;

    (void)t;
    CHECK_INT(faina_open(&engine, "memory:", NULL, &err), FAINA_OK);
    CHECK_INT(faina_submit(engine, &submit, &task, &err), FAINA_OK);
    CHECK_INT(faina_explain(engine, task->id, &answer, &err), FAINA_OK);
    CHECK_STR(answer->task.id, task->id);
    CHECK_INT(answer->count, 1);
    CHECK_STR(answer->reasons[0].kind, "due");
    CHECK_INT(answer->reasons[0].until_us, task->run_at_us);
    check_says(answer->summary, "it is due in");
    faina_free(answer);
    faina_free(task);
    CHECK_INT(faina_explain(engine, "nonsense", &answer, &err), FAINA_TASK_NOT_FOUND);
    faina_close(engine);
}

static void test_explain__no_task(struct fa_t *t)
{
    CHECK_CODE(t, fa_t_explain(t, "01890a5d-ac96-774b-bcce-b302099a8057"), FAINA_TASK_NOT_FOUND);
}

int main(int argc, char **argv)
{
    static const struct fa_t_case cases[] = {
        FA_T_CASE(test_explain__ready_task_only_lacks_a_worker),
        FA_T_CASE(test_explain__not_yet_due),
        FA_T_CASE(test_explain__waits_for_its_next_attempt),
        FA_T_CASE_SQL(test_explain__dependencies_and_subtasks),
        FA_T_CASE_SQL(test_explain__dependencies_by_name),
        FA_T_CASE_LOCAL(test_explain__from_c),
        FA_T_CASE(test_explain__resource_at_its_limit),
        FA_T_CASE(test_explain__paused),
        FA_T_CASE(test_explain__several_reasons_at_once),
        FA_T_CASE(test_explain__held_background_and_ended),
        FA_T_CASE(test_explain__no_task),
    };

    return fa_t_main(argc, argv, "explain", cases, FA_COUNT(cases));
}
