/*
 * test_storms.c - many workers, many tasks: each task once, no limit exceeded, none left behind.
 */
#include "support/crew.h"
#include "support/ops.h"

#include "base/clock.h"

#include <stdatomic.h>
#include <stdlib.h>

/* How often each task was handed out; a task's input is its number here. */
struct storm {
    size_t tasks;
    atomic_int *handed_out;
    atomic_size_t left; /* tasks not yet done */
    atomic_int held;    /* of the limited resource, by what the workers know */
    atomic_int held_most;
    int limit;
};

static void submit_numbered(struct fa_t *t, struct storm *storm, size_t count, const char *resource)
{
    struct faina_submit *submits = fa_arena_zero(&t->arena, count, sizeof *submits);
    struct fa_op *ops = fa_arena_zero(&t->arena, count, sizeof *ops);
    const char **resources = fa_arena_take(&t->arena, sizeof *resources);

    *resources = resource;
    for (size_t i = 0; i < count; i++) {
        submits[i] = (struct faina_submit){
            .type = i % 3 ? "x" : "y",
            .input = fa_arena_printf(&t->arena, "%zu", i),
            .priority = (int)(i % 5),
            .resources = resources,
            .resource_count = resource != NULL,
        };
        ops[i] = (struct fa_op){.kind = FA_OP_SUBMIT, .submit = &submits[i]};
    }
    fa_t_run_all(t, ops, count);
    for (size_t i = 0; i < count; i++)
        CHECK_INT(ops[i].code, FAINA_OK);
    storm->handed_out = fa_arena_zero(&t->arena, count, sizeof *storm->handed_out);
    storm->tasks = count;
    storm->left = count;
}

static void check_each_once(const struct storm *storm)
{
    for (size_t i = 0; i < storm->tasks; i++)
        CHECK(storm->handed_out[i] == 1, "task %zu was handed out %d times", i,
              storm->handed_out[i]);
}

static void note_handed_out(struct storm *storm, const struct faina_task *task)
{
    size_t number = strtoul(task->input, NULL, 10);

    CHECK(number < storm->tasks, "a task that nobody submitted: %s", task->input);
    storm->handed_out[number]++;
}

static const char *worker_of(struct fa_t *mine, size_t index)
{
    return fa_arena_printf(&mine->arena, "worker-%zu", index);
}

/* ------------------------------------------------------------------------------------------
 * Everybody takes what they can get
 */

static void grab_and_complete(struct fa_t *mine, size_t index, void *arg)
{
    struct storm *storm = arg;

    while (storm->left > 0) {
        const char *worker = worker_of(mine, index);
        const struct faina_tasks *tasks;

        CHECK_OK(mine, fa_t_claim_next(mine, .worker_id = worker, .limit = (int)(1 + index * 3)));
        tasks = mine->op.tasks;
        for (size_t i = 0; i < tasks->count; i++) {
            note_handed_out(storm, &tasks->items[i]);
            CHECK_OK(mine, fa_t_complete(mine, tasks->items[i].id, BY(worker), NULL));
            storm->left--;
        }
        fa_t_forget(mine);
    }
}

static void test_storm__each_task_exactly_once(struct fa_t *t)
{
    struct storm *storm = fa_arena_zero(&t->arena, 1, sizeof *storm);

    submit_numbered(t, storm, (size_t)fa_t_env_int("FA_STORM_TASKS", 1000), NULL);
    fa_t_together(t, 8, grab_and_complete, storm);
    check_each_once(storm);
    CHECK_OK(t, fa_t_stats(t, NULL));
    CHECK_INT(t->op.stats->by_status[FAINA_COMPLETED], storm->tasks);
}

/* ------------------------------------------------------------------------------------------
 * 64 workers, a limit of 2
 */

static void hold_and_complete(struct fa_t *mine, size_t index, void *arg)
{
    struct storm *storm = arg;

    while (storm->left > 0) {
        const char *worker = worker_of(mine, index);
        struct faina_claim claim = {.worker_id = worker, .limit = 3, .wait_ms = 50};
        const struct faina_tasks *tasks;
        int held, most;

        CHECK_OK(mine, fa_t_claim_wait(mine, &claim));
        tasks = mine->op.tasks;
        held = atomic_fetch_add(&storm->held, (int)tasks->count) + (int)tasks->count;
        most = storm->held_most;
        while (held > most && !atomic_compare_exchange_weak(&storm->held_most, &most, held))
            ;
        CHECK(held <= storm->limit, "%d held at once, the limit is %d", held, storm->limit);
        for (size_t i = 0; i < tasks->count; i++) {
            note_handed_out(storm, &tasks->items[i]);
            storm->held--; /* before we say so: the count never runs ahead of the engine's */
            CHECK_OK(mine, fa_t_complete(mine, tasks->items[i].id, BY(worker), NULL));
            storm->left--;
        }
        fa_t_forget(mine);
    }
}

static void test_storm__limit_of_two_for_64_workers(struct fa_t *t)
{
    struct storm *storm = fa_arena_zero(&t->arena, 1, sizeof *storm);

    storm->limit = 2;
    CHECK_OK(t, fa_t_resource_set(t, "gpu", storm->limit));
    submit_numbered(t, storm, 200, "gpu");
    fa_t_together(t, 64, hold_and_complete, storm);
    check_each_once(storm);
    CHECK_INT(storm->held_most, storm->limit); /* and the limit was made use of */
    CHECK_INT(fa_t_in_use(t, "gpu"), 0);
    CHECK_OK(t, fa_t_stats(t, NULL));
    CHECK_INT(t->op.stats->by_status[FAINA_COMPLETED], storm->tasks);
}

/* The limit goes up and down meanwhile: never more held than the highest limit that was set. */
static void change_limit(struct fa_t *mine, size_t index, void *arg)
{
    struct storm *storm = arg;

    if (index > 0) {
        hold_and_complete(mine, index, arg);
        return;
    }
    for (int i = 0; storm->left > 0; i++) {
        CHECK_OK(mine, fa_t_resource_set(mine, "gpu", 1 + i % storm->limit));
        fa_t_forget(mine);
    }
}

static void test_storm__limit_changes_meanwhile(struct fa_t *t)
{
    struct storm *storm = fa_arena_zero(&t->arena, 1, sizeof *storm);

    storm->limit = 3;
    CHECK_OK(t, fa_t_resource_set(t, "gpu", storm->limit));
    submit_numbered(t, storm, 150, "gpu");
    fa_t_together(t, 9, change_limit, storm);
    check_each_once(storm);
    CHECK_INT(fa_t_in_use(t, "gpu"), 0);
}

/* ------------------------------------------------------------------------------------------
 * Pause / claim
 */

struct pause_race {
    atomic_bool is_paused, is_over;
    atomic_int handed_out, too_late;
};

static void claim_until_over(struct fa_t *mine, size_t index, void *arg)
{
    struct pause_race *race = arg;

    while (!race->is_over) {
        const char *worker = worker_of(mine, index);
        bool was_paused = race->is_paused; /* before the call: then nothing may come */
        const struct faina_tasks *tasks;

        CHECK_OK(mine, fa_t_claim_next(mine, .worker_id = worker, .limit = 2));
        tasks = mine->op.tasks;
        race->handed_out += (int)tasks->count;
        if (was_paused)
            race->too_late += (int)tasks->count;
        for (size_t i = 0; i < tasks->count; i++)
            CHECK_OK(mine, fa_t_release(mine, tasks->items[i].id, BY(worker)));
        fa_t_forget(mine);
    }
}

static bool some_handed_out(struct fa_t *t, void *arg)
{
    struct pause_race *race = arg;

    (void)t;
    return race->handed_out > 0;
}

static void test_storm__nothing_is_handed_out_after_pause(struct fa_t *t)
{
    for (int round = 0; round < 10; round++) {
        struct pause_race race = {0};
        struct fa_t_crew *crew;

        fa_t_submit(t, .type = "x");
        crew = fa_t_crew_start(t, 4, claim_until_over, &race);
        fa_t_wait_until(some_handed_out, t, &race, "a task is handed out");
        CHECK_OK(t, fa_t_pause(t, NULL, "x"));
        race.is_paused = true;
        for (int i = 0; i < 20; i++)
            CHECK_OK(t, fa_t_stats(t, NULL)); /* some time for the workers to try */
        race.is_over = true;
        fa_t_crew_join(crew);
        CHECK_INT(race.too_late, 0);
        CHECK_OK(t, fa_t_resume(t, NULL, "x"));
    }
}

/* ------------------------------------------------------------------------------------------
 * Group commit: many callers with one submit each
 */

static void submit_many_times(struct fa_t *mine, size_t index, void *arg)
{
    char(*ids)[FAINA_ID_SIZE] = arg;

    for (size_t i = 0; i < 20; i++) {
        const char *id = fa_t_submit(mine, .type = "x",
                                     .input = fa_arena_printf(&mine->arena, "[%zu,%zu]", index, i));

        memcpy(ids[index * 20 + i], id, FAINA_ID_SIZE);
        CHECK_OK(mine, fa_t_get(mine, id)); /* all sessions see what is acknowledged */
        fa_t_forget(mine);
    }
}

static void test_storm__each_submit_gets_its_own_answer(struct fa_t *t)
{
    enum { THREADS = 32 };
    char(*ids)[FAINA_ID_SIZE] = fa_arena_zero(&t->arena, THREADS * 20, FAINA_ID_SIZE);

    fa_t_together(t, THREADS, submit_many_times, ids);
    for (size_t i = 0; i < THREADS * 20; i++)
        CHECK_STR(fa_t_task(t, ids[i])->input,
                  fa_arena_printf(&t->arena, "[%zu,%zu]", i / 20, i % 20));
    CHECK_OK(t, fa_t_stats(t, NULL));
    CHECK_INT(t->op.stats->by_status[FAINA_PENDING], THREADS * 20);
}

/* ------------------------------------------------------------------------------------------
 * Give up / submit
 */

enum { GIVERS = 4, GIVEN = 300 };

struct giving {
    atomic_bool give_up[GIVERS], is_over;
    atomic_int got;
};

/* Waits for work in a loop; another thread sets give_up at any moment. */
static void wait_and_give_up(struct fa_t *mine, size_t index, void *arg)
{
    struct giving *giving = arg;
    struct faina_claim claim = {.worker_id = "w", .limit = 2, .wait_ms = 3};

    while (!giving->is_over) {
        struct fa_op op = {.kind = FA_OP_CLAIM_NEXT,
                           .claim = &claim,
                           .arena = &mine->arena,
                           .give_up = &giving->give_up[index]};

        CHECK_INT(fa_service_claim_wait(mine->svc, &op, NULL), FAINA_OK);
        giving->got += (int)op.tasks->count;
        giving->give_up[index] = false;
        fa_t_forget(mine);
    }
}

static bool are_claimed(struct fa_t *t, void *arg)
{
    (void)arg;
    CHECK_OK(t, fa_t_stats(t, NULL));
    return t->op.stats->by_status[FAINA_CLAIMED] == GIVEN;
}

/* What was claimed has reached its caller. */
static void test_storm__a_claim_that_gives_up_leaves_nothing_behind(struct fa_t *t)
{
    struct giving giving = {0};
    struct fa_t_crew *crew = fa_t_crew_start(t, GIVERS, wait_and_give_up, &giving);

    for (size_t i = 0; i < GIVEN; i++) {
        giving.give_up[i % GIVERS] = true;
        if (i % 2)
            fa_service_wake(t->svc);
        fa_t_submit(t, .type = "x");
        fa_t_forget(t);
    }
    fa_t_wait_until(are_claimed, t, NULL, "all are claimed");
    giving.is_over = true;
    fa_t_crew_join(crew);
    CHECK_INT(giving.got, GIVEN);
}

/* ------------------------------------------------------------------------------------------
 * Close / wait
 */

enum { CLOSE_WAITERS = 6 };

struct close_race {
    const char *id;
    enum faina_code codes[CLOSE_WAITERS];
    size_t counts[CLOSE_WAITERS];
};

static void wait_for_close(struct fa_t *mine, size_t index, void *arg)
{
    struct close_race *race = arg;
    struct faina_claim claim = {.worker_id = "w", .wait_ms = 10 * FA_T_DEADLINE_MS};

    if (index % 2) {
        race->codes[index] = fa_t_wait(mine, race->id, -1);
    } else {
        race->codes[index] = fa_t_claim_wait(mine, &claim);
        if (race->codes[index] == FAINA_OK)
            race->counts[index] = mine->op.tasks->count;
    }
}

static void test_storm__close_wakes_all_waiters(struct fa_t *t)
{
    for (int round = 0; round < 5; round++) {
        struct close_race race = {.id = fa_t_submit(t, .type = "x", .delay_ms = 3600 * 1000)};
        int64_t start_us = fa_clock_mono_us();
        struct fa_t_crew *crew = fa_t_crew_start(t, CLOSE_WAITERS, wait_for_close, &race);

        fa_t_crew_wait_asleep(crew, t);
        fa_t_close(t);
        fa_t_crew_join(crew);
        CHECK(fa_clock_mono_us() - start_us < FA_T_DEADLINE_MS * 1000, "they were not woken");
        for (size_t i = 0; i < CLOSE_WAITERS; i++) {
            CHECK(race.codes[i] == FAINA_STORE_CLOSED, "waiter %zu was told %s", i,
                  faina_code_name(race.codes[i]));
            CHECK_INT(race.counts[i], 0);
        }
        fa_t_open(t);
    }
}

int main(int argc, char **argv)
{
    static const struct fa_t_case cases[] = {
        FA_T_CASE(test_storm__each_task_exactly_once),
        FA_T_CASE(test_storm__limit_of_two_for_64_workers),
        FA_T_CASE(test_storm__limit_changes_meanwhile),
        FA_T_CASE(test_storm__nothing_is_handed_out_after_pause),
        FA_T_CASE(test_storm__each_submit_gets_its_own_answer),
        FA_T_CASE_LOCAL(test_storm__a_claim_that_gives_up_leaves_nothing_behind),
        FA_T_CASE(test_storm__close_wakes_all_waiters),
    };

    return fa_t_main(argc, argv, "storms", cases, FA_COUNT(cases));
}
