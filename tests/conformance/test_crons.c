/*
 * test_crons.c - schedules: keeping them, refusing bad ones, and the tasks that they make.
 *
 * Schedules here are of every second, so that the tests are short.
 */
#include "support/ops.h"

#include "base/clock.h"
#include "model/limits.h"
#include "model/times.h"

#define EVERY_SECOND "* * * * * *"
#define NEVER_SOON "0 0 1 1 *"
#define TASK "{\"type\":\"tick\",\"input\":{\"n\":1}}"

static enum faina_code put(struct fa_t *t, const struct fa_cron_job *job)
{
    return fa_t_run(t, &(struct fa_op){.kind = FA_OP_CRON_PUT, .cron = job});
}

#define PUT(t, ...) put(t, &(struct fa_cron_job){__VA_ARGS__})

static enum faina_code list(struct fa_t *t, const char *ns, const char *name)
{
    return fa_t_run(t,
                    &(struct fa_op){.kind = FA_OP_CRON_LIST, .id = name, .name = {ns, NULL, NULL}});
}

static enum faina_code act(struct fa_t *t, enum fa_op_kind kind, const char *ns, const char *name)
{
    return fa_t_run(t, &(struct fa_op){.kind = kind, .id = name, .name = {ns, NULL, NULL}});
}

static enum faina_code remove_version(struct fa_t *t, const char *ns, const char *name,
                                      int64_t version)
{
    return fa_t_run(t, &(struct fa_op){.kind = FA_OP_CRON_REMOVE,
                                       .id = name,
                                       .name = {ns, NULL, NULL},
                                       .by = {.version = version}});
}

static const struct fa_cron_job *one(struct fa_t *t, const char *name)
{
    CHECK_OK(t, list(t, NULL, name));
    CHECK_INT(t->op.crons->count, 1);
    return &t->op.crons->items[0];
}

struct tally {
    const char *ns;
    size_t wanted;
};

static size_t count_tasks(struct fa_t *t, const char *ns)
{
    CHECK_OK(t, fa_t_list(t, .ns = ns, .type = "tick", .limit = 1000));
    return t->op.tasks->count;
}

static bool has_tasks(struct fa_t *t, void *arg)
{
    const struct tally *tally = arg;

    return count_tasks(t, tally->ns) >= tally->wanted;
}

static void wait_for_tasks(struct fa_t *t, const char *ns, size_t count)
{
    fa_t_wait_until(has_tasks, t, &(struct tally){ns, count}, "the schedule makes its tasks");
}

static bool says_skipped(struct fa_t *t, void *arg)
{
    const char *problem = one(t, "s")->problem;

    return problem && strstr(problem, "skipped") && strstr(problem, arg);
}

static void test_cron__put_list_and_remove(struct fa_t *t)
{
    const struct fa_cron_job *job;
    int64_t now_us = fa_clock_now_us(), created_us;

    CHECK_OK(t, PUT(t, .name = "night", .schedule = "0 3 * * *", .timezone = "Europe/Berlin",
                    .task = TASK, .catch_up = FA_CATCH_UP_ALL, .overlap = FA_OVERLAP_SKIP,
                    .jitter_ms = FA_JITTER_MS_MAX));
    job = t->op.cron_answer;
    CHECK_STR(job->ns, "default");
    CHECK_INT(job->version, 1);
    CHECK_INT(t->op.existing, false);
    CHECK_TRUE(job->next_us > now_us - 60000000 && job->next_us < now_us + 26 * 3600 * 1000000LL);
    job = one(t, "night");
    CHECK_STR(job->schedule, "0 3 * * *");
    CHECK_STR(job->timezone, "Europe/Berlin");
    CHECK_STR(job->task, TASK);
    CHECK_INT(job->catch_up, FA_CATCH_UP_ALL);
    CHECK_INT(job->overlap, FA_OVERLAP_SKIP);
    CHECK_INT(job->jitter_ms, FA_JITTER_MS_MAX);
    CHECK_INT(job->is_paused, false);
    CHECK_INT(job->last_us, 0);
    CHECK_STR(job->problem, NULL);
    created_us = job->created_us;
    CHECK_OK(t, PUT(t, .name = "night", .schedule = NEVER_SOON, .task = TASK, .is_paused = true));
    CHECK_INT(t->op.existing, true);
    job = one(t, "night");
    CHECK_STR(job->timezone, "UTC");
    CHECK_INT(job->version, 2);
    CHECK_INT(job->is_paused, true);
    CHECK_INT(job->next_us, 0);
    CHECK_INT(job->created_us, created_us);
    CHECK_OK(t, PUT(t, .ns = "other", .name = "night", .schedule = NEVER_SOON, .task = TASK));
    CHECK_OK(t, PUT(t, .name = "day", .schedule = NEVER_SOON, .task = TASK));
    CHECK_OK(t, list(t, NULL, NULL));
    CHECK_INT(t->op.crons->count, 2);
    CHECK_STR(t->op.crons->items[0].name, "day");
    CHECK_OK(t, list(t, "*", NULL));
    CHECK_INT(t->op.crons->count, 3);
    CHECK_CODE(t, remove_version(t, "other", "night", 2), FAINA_VERSION_CONFLICT);
    CHECK_OK(t, list(t, "other", "night"));
    CHECK_OK(t, remove_version(t, "other", "night", 1));
    CHECK_CODE(t, remove_version(t, "other", "night", 1), FAINA_VERSION_CONFLICT);
    CHECK_CODE(t, act(t, FA_OP_CRON_REMOVE, "other", "night"), FAINA_NOT_FOUND);
    CHECK_CODE(t, list(t, "other", "night"), FAINA_NOT_FOUND);
    CHECK_CODE(t, act(t, FA_OP_CRON_RUN, "other", "night"), FAINA_NOT_FOUND);
    CHECK_OK(t, list(t, NULL, "night"));
}

static void test_cron__bad_ones_change_nothing(struct fa_t *t)
{
    static const struct {
        struct fa_cron_job job;
        const char *field, *part;
    } cases[] = {
        {{.schedule = NEVER_SOON, .task = TASK}, "name", "name"},
        {{.name = "", .schedule = NEVER_SOON, .task = TASK}, "name", "name"},
        {{.name = "c", .task = TASK}, "schedule", "missing"},
        {{.name = "c", .schedule = "* * *", .task = TASK}, "schedule", "schedule"},
        {{.name = "c", .schedule = "0 0 30 2 *", .task = TASK}, "schedule", "schedule"},
        {{.name = "c", .schedule = "0 0 2 * * 2", .task = TASK}, "schedule", "TUE or MON"},
        {{.name = "c", .schedule = NEVER_SOON, .timezone = "Mars/Base", .task = TASK},
         "timezone",
         "Mars/Base"},
        {{.name = "c", .schedule = NEVER_SOON, .timezone = "../etc", .task = TASK},
         "timezone",
         "../etc"},
        {{.name = "c", .schedule = NEVER_SOON}, "task", "missing"},
        {{.name = "c", .schedule = NEVER_SOON, .task = "{\"type\":"}, "task", "task: "},
        {{.name = "c", .schedule = NEVER_SOON, .task = "[]"}, "task", "task: "},
        {{.name = "c", .schedule = NEVER_SOON, .task = "{\"typ\":\"a\"}"}, "task", "typ"},
        {{.name = "c", .schedule = NEVER_SOON, .task = "{\"type\":\"a\",\"priority\":3000000000}"},
         "task",
         "priority"},
        {{.name = "c", .schedule = NEVER_SOON, .task = "{\"idempotencyKey\":\"k\"}"},
         "task",
         "idempotencyKey"},
        {{.name = "c", .schedule = NEVER_SOON, .task = "{\"dedupe\":\"input\"}"}, "task", "dedupe"},
        {{.name = "c", .schedule = NEVER_SOON, .task = "{\"namespace\":\"n\"}"},
         "task",
         "namespace"},
        {{.name = "c", .schedule = NEVER_SOON, .task = "{\"runAt\":\"2030-01-01T00:00:00Z\"}"},
         "task",
         "runAt"},
        {{.name = "c",
          .schedule = NEVER_SOON,
          .task = "{\"type\":\"a\",\"traceparent\":"
                  "\"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\"}"},
         "task",
         "a trace of its own"},
        {{.name = "c", .schedule = NEVER_SOON, .task = TASK, .catch_up = FA_CATCH_UP_COUNT},
         "catchUp",
         "none, one or all"},
        {{.name = "c", .schedule = NEVER_SOON, .task = TASK, .overlap = FA_OVERLAP_COUNT},
         "overlap",
         "allow, skip or cancel"},
        {{.name = "c", .schedule = NEVER_SOON, .task = TASK, .jitter_ms = -1}, "jitter", "jitter"},
        {{.name = "c", .schedule = NEVER_SOON, .task = TASK, .jitter_ms = FA_JITTER_MS_MAX + 1},
         "jitter",
         "24 hours"},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        CHECK_CODE(t, put(t, &cases[i].job), FAINA_INVALID_REQUEST);
        CHECK_STR(t->op.error.field, cases[i].field);
        CHECK(strstr(t->op.error.message, cases[i].part) != NULL, "case %zu: %s", i,
              t->op.error.message);
    }
    CHECK_OK(t, list(t, "*", NULL));
    CHECK_INT(t->op.crons->count, 0);
    CHECK_OK(t, PUT(t, .name = "c", .schedule = NEVER_SOON, .task = TASK));
    CHECK_CODE(t, PUT(t, .name = "c", .schedule = "x", .task = TASK), FAINA_INVALID_REQUEST);
    CHECK_STR(one(t, "c")->schedule, NEVER_SOON);
    CHECK_INT(one(t, "c")->version, 1);
}

/* J1: each second has one task, with the second in its key. */
static void test_cron__fires_once_per_time(struct fa_t *t)
{
    int64_t first_us, last_us = 0;
    size_t count;

    CHECK_OK(t, PUT(t, .name = "s", .schedule = EVERY_SECOND, .task = TASK));
    first_us = t->op.cron_answer->next_us;
    wait_for_tasks(t, NULL, 2);
    CHECK_OK(t, act(t, FA_OP_CRON_REMOVE, NULL, "s"));
    count = count_tasks(t, NULL);
    for (size_t i = 0; i < count; i++) { /* newest first */
        const struct faina_task *task = &t->op.tasks->items[count - 1 - i];
        char time[FA_TIME_SIZE];

        fa_time_format(first_us + (int64_t)i * 1000000, time);
        CHECK_STR(task->idempotency_key, fa_arena_printf(&t->arena, "cron:s:%.19sZ", time));
        CHECK_STR(task->input, "{\"n\":1}");
        CHECK_STR(task->created_by, "cron:s");
        CHECK_TRUE(task->created_us >= first_us + (int64_t)i * 1000000);
        CHECK_TRUE(task->created_us > last_us);
        last_us = task->created_us;
    }
}

static void test_cron__record_of_times(struct fa_t *t)
{
    const struct fa_cron_job *job;

    CHECK_OK(t, PUT(t, .name = "s", .schedule = "@every 1s", .task = TASK));
    wait_for_tasks(t, NULL, 2);
    job = one(t, "s");
    CHECK_TRUE(job->last_us > 0);
    CHECK_INT(job->next_us - job->last_us, 1000000);
    CHECK_INT(job->version, 1);
    CHECK_OK(t, act(t, FA_OP_CRON_REMOVE, NULL, "s"));
}

/* The witness is a schedule that was put later and has fired twice. */
static void test_cron__paused_and_removed_ones_are_silent(struct fa_t *t)
{
    CHECK_OK(t, PUT(t, .name = "p", .schedule = EVERY_SECOND, .task = TASK, .is_paused = true));
    CHECK_OK(t, PUT(t, .name = "r", .schedule = EVERY_SECOND, .task = TASK, .is_paused = true));
    CHECK_OK(t, PUT(t, .name = "r", .schedule = EVERY_SECOND, .task = TASK));
    CHECK_OK(t, act(t, FA_OP_CRON_REMOVE, NULL, "r"));
    CHECK_OK(t, PUT(t, .ns = "witness", .name = "w", .schedule = EVERY_SECOND, .task = TASK));
    wait_for_tasks(t, "witness", 2);
    CHECK(count_tasks(t, NULL) <= 1, "a paused or removed schedule goes on");
    CHECK_INT(one(t, "p")->last_us, 0);
    CHECK_OK(t, PUT(t, .name = "p", .schedule = EVERY_SECOND, .task = TASK));
    wait_for_tasks(t, NULL, count_tasks(t, NULL) + 1);
}

static void test_cron__run_makes_one_task_now(struct fa_t *t)
{
    CHECK_OK(t, PUT(t, .name = "n", .schedule = NEVER_SOON, .task = TASK, .is_paused = true));
    CHECK_OK(t, act(t, FA_OP_CRON_RUN, NULL, "n"));
    CHECK_INT(strlen(t->op.task_id), 36);
    CHECK_OK(t, act(t, FA_OP_CRON_RUN, NULL, "n"));
    CHECK_INT(count_tasks(t, NULL), 2);
    CHECK_STR(t->op.tasks->items[0].created_by, "cron:n");
    CHECK_STATUS(t->op.tasks->items[0].status, FAINA_PENDING);
    CHECK_INT(one(t, "n")->last_us, 0);
}

static enum faina_code run_keyed(struct fa_t *t, const char *input, const char *on_duplicate)
{
    const char *task = fa_arena_printf(&t->arena,
                                       "{\"type\":\"tick\",\"input\":%s,\"idempotencyKey\":\"k\","
                                       "\"keyScope\":\"active\",\"onDuplicate\":\"%s\"}",
                                       input, on_duplicate);

    CHECK_OK(t, PUT(t, .name = "k", .schedule = NEVER_SOON, .task = task));
    return act(t, FA_OP_CRON_RUN, NULL, "k");
}

static void test_cron__run_finds_the_task_that_has_its_key(struct fa_t *t)
{
    char first[FAINA_ID_SIZE];

    CHECK_OK(t, run_keyed(t, "1", "return"));
    CHECK_TRUE(!t->op.existing);
    snprintf(first, sizeof(first), "%s", t->op.task_id);
    CHECK_OK(t, run_keyed(t, "2", "return"));
    CHECK_TRUE(t->op.existing);
    CHECK_STR(t->op.task_id, first);
    CHECK_STR(fa_t_task(t, first)->input, "1");
    CHECK_OK(t, run_keyed(t, "3", "replace"));
    CHECK_TRUE(t->op.existing);
    CHECK_STR(t->op.task_id, first);
    CHECK_STR(fa_t_task(t, first)->input, "3");
    CHECK_CODE(t, run_keyed(t, "4", "reject"), FAINA_DUPLICATE_KEY);
    CHECK_OK(t, fa_t_run(t, &(struct fa_op){.kind = FA_OP_CANCEL, .id = first}));
    CHECK_OK(t, run_keyed(t, "5", "reject"));
    CHECK_TRUE(!t->op.existing);
    CHECK_INT(count_tasks(t, NULL), 2);
}

static bool has_problem(struct fa_t *t, void *arg)
{
    return one(t, arg)->problem != NULL;
}

/* J3 */
static void test_cron__one_that_cannot_fire_says_why(struct fa_t *t)
{
    struct faina_team team = {.name = "red"};
    char bad[] = "bad";
    const char *task, *id;

    CHECK_OK(t, fa_t_team_put(t, &team));
    id = fa_arena_strdup(&t->arena, t->op.team_answer->id);
    task = fa_arena_printf(&t->arena, "{\"type\":\"tick\",\"teamId\":\"%s\"}", id);
    CHECK_OK(t, PUT(t, .name = "bad", .schedule = EVERY_SECOND, .task = task));
    CHECK_OK(t, fa_t_team_remove(t, id));
    CHECK_OK(t, PUT(t, .ns = "other", .name = "good", .schedule = EVERY_SECOND, .task = TASK));
    fa_t_wait_until(has_problem, t, bad, "the schedule says why it makes no task");
    CHECK_TRUE(strstr(one(t, "bad")->problem, "has no team") != NULL);
    CHECK_CODE(t, act(t, FA_OP_CRON_RUN, NULL, "bad"), FAINA_INVALID_TASK);
    wait_for_tasks(t, "other", 1);
    CHECK_OK(t, PUT(t, .name = "bad", .schedule = EVERY_SECOND, .task = TASK));
    CHECK_STR(t->op.cron_answer->problem, NULL);
    wait_for_tasks(t, NULL, 1);
}

/* The first task is held for good, so that each time after it finds it alive. */
static void test_cron__overlap(struct fa_t *t)
{
    char first[FAINA_ID_SIZE];

    CHECK_OK(
        t, PUT(t, .name = "s", .schedule = EVERY_SECOND, .task = TASK, .overlap = FA_OVERLAP_SKIP));
    wait_for_tasks(t, NULL, 1);
    snprintf(first, sizeof(first), "%s", t->op.tasks->items[0].id);
    fa_t_wait_until(says_skipped, t, first, "a time that is skipped");
    CHECK_INT(count_tasks(t, NULL), 1);
    CHECK_OK(t, PUT(t, .name = "s", .schedule = EVERY_SECOND, .task = TASK,
                    .overlap = FA_OVERLAP_CANCEL));
    wait_for_tasks(t, NULL, 2);
    CHECK_OK(t, act(t, FA_OP_CRON_REMOVE, NULL, "s"));
    CHECK_OK(t, fa_t_run(t, &(struct fa_op){.kind = FA_OP_GET, .id = first}));
    CHECK_INT(t->op.task->status, FAINA_CANCELLED);
    CHECK_STR(t->op.task->state, "Cancelled by the next time of its schedule");
    CHECK_OK(t, fa_t_list(t, .statuses = 1u << FAINA_PENDING, .type = "tick", .limit = 10));
    CHECK_INT(t->op.tasks->count, 1);
}

static void test_cron__survives_reopening(struct fa_t *t)
{
    CHECK_OK(t, PUT(t, .name = "s", .schedule = EVERY_SECOND, .task = TASK));
    wait_for_tasks(t, NULL, 1);
    fa_t_reopen(t);
    CHECK_STR(one(t, "s")->schedule, EVERY_SECOND);
    wait_for_tasks(t, NULL, 2);
}

int main(int argc, char **argv)
{
    static const struct fa_t_case cases[] = {
        FA_T_CASE_SQL(test_cron__put_list_and_remove),
        FA_T_CASE_SQL(test_cron__bad_ones_change_nothing),
        FA_T_CASE_SQL(test_cron__fires_once_per_time),
        FA_T_CASE_SQL(test_cron__record_of_times),
        FA_T_CASE_SQL(test_cron__paused_and_removed_ones_are_silent),
        FA_T_CASE_SQL(test_cron__run_makes_one_task_now),
        FA_T_CASE_SQL(test_cron__run_finds_the_task_that_has_its_key),
        FA_T_CASE_SQL(test_cron__one_that_cannot_fire_says_why),
        FA_T_CASE_SQL(test_cron__overlap),
        FA_T_CASE_NEEDS(test_cron__survives_reopening, FA_T_DURABLE | FA_T_SQL),
    };

    return fa_t_main(argc, argv, "crons", cases, FA_COUNT(cases));
}
