/*
 * test_lines.c - handlers with "mode":"lines": one process for many tasks.
 */
#include "worker/world.h"

#include <setjmp.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

/* A process in Python; each task's input is a list of what to write, with the id put in. */
static const char script[] =
    "#!/usr/bin/env python3\n"
    "import json, os, sys, time\n"
    "held = []\n"
    "def say(id, **members):\n"
    "    print(json.dumps({'id': id, **members}), flush=True)\n"
    "for line in sys.stdin:\n"
    "    task = json.loads(line)\n"
    "    what = task.get('input')\n"
    "    if task.get('cancel'):\n"
    "        if 'deaf' not in held: say(task['id'], error={'message': 'gave up'})\n"
    "    elif what == 'pid': say(task['id'], output=os.getpid())\n"
    "    elif what == 'task': say(task['id'], output=task)\n"
    "    elif what == 'both': say(task['id'], progress=50, metadata={'m': 1}, log='one line', "
    "output=1)\n"
    "    elif what == 'stderr': print('to the log', file=sys.stderr, flush=True); "
    "say(task['id'], output=2)\n"
    "    elif what == 'die': print('oh no', file=sys.stderr, flush=True); os._exit(3)\n"
    "    elif what == 'noise': print('hello', flush=True)\n"
    "    elif what == 'member': say(task['id'], outptu=1)\n"
    "    elif what == 'fail': say(task['id'], error={'message': 'bad', 'kind': 'k', "
    "'retryable': False})\n"
    "    elif what == 'hold': held.append(task['id'])\n"
    "    elif what == 'deaf': held.append('deaf')\n"
    "    elif what == 'release':\n"
    "        for id in held: say(id, output=len(held))\n"
    "        say(task['id'], output=len(held)); held = []\n"
    "    elif what == 'subtasks' and task['phase'] == 'start': say(task['id'], "
    "subtasks=[{'type': 'one', 'input': 'pid'}, {'type': 'one', 'input': 'both'}])\n"
    "    elif what == 'subtasks': say(task['id'], output=[one['output'] for one in "
    "task['subtasks']][1])\n"
    "    elif what == 'background': say(task['id'], background={'reason': 'elsewhere'})\n"
    "    elif what == 'snooze': say(task['id'], snooze='2h')\n"
    "    elif what == 'twice': say(task['id'], output=1); say(task['id'], output=2)\n";

static void open_lines(struct world *w, struct fa_t *t, const char *settings)
{
    world_open(w, t);
    world_file(w, "one.py", script, 0755);
    world_file(w, "one.json", settings, 0644);
    world_start(w);
}

static const char *output_of(struct world *w, const char *input)
{
    return world_try(w, "one", input, 1, FAINA_COMPLETED)->output;
}

static void test_lines__one_process_serves_many_tasks(struct fa_t *t)
{
    struct faina_task *task;
    const char *first;
    struct world w;

    open_lines(&w, t, "{\"mode\":\"lines\"}");
    first = output_of(&w, "\"pid\"");
    for (int i = 0; i < 20; i++)
        CHECK_STR(output_of(&w, "\"pid\""), first);
    task = world_try(&w, "one", "\"task\"", 1, FAINA_COMPLETED);
    CHECK_HAS(task->output, task->id);
    CHECK_HAS(task->output, "\"type\": \"one\", \"namespace\": \"default\", \"attempt\": 1, "
                            "\"phase\": \"start\", \"fence\": ");
    task = world_try(&w, "one", "\"both\"", 1, FAINA_COMPLETED);
    CHECK_STR(task->output, "1");
    CHECK_HAS(task->metadata, "\"m\":");
    CHECK_HAS(world_event(&w, task->id, "attempt"), "one line\\n");
    for (int i = 0; i < 20; i++) { /* written just before the end */
        task = world_try(&w, "one", "\"stderr\"", 1, FAINA_COMPLETED);
        CHECK_HAS(world_event(&w, task->id, "attempt"), "to the log\\n");
    }
    CHECK_STR(output_of(&w, "\"twice\""), "1");
    CHECK_STR(output_of(&w, "\"pid\""), first);
    world_close(&w);
}

static void test_lines__the_ways_to_end(struct fa_t *t)
{
    struct faina_task *task;
    struct world w;

    open_lines(&w, t, "{\"mode\":\"lines\"}");
    task = world_try(&w, "one", "\"fail\"", 3, FAINA_FAILED);
    CHECK_HAS(task->error, "\"message\":\"bad\"");
    CHECK_HAS(task->error, "\"kind\":\"k\"");
    CHECK_STR(output_of(&w, "\"subtasks\""), "1");
    world_try(&w, "one", "\"background\"", 1, FAINA_BACKGROUND);
    world_await_event(&w, fa_t_submit(t, .type = "one", .input = "\"snooze\""), "snoozed");
    world_close(&w);
}

/* What a line does wrong is in the error; other tasks go on. */
static void test_lines__bad_lines(struct fa_t *t)
{
    struct faina_task *task;
    struct world w;

    open_lines(&w, t, "{\"mode\":\"lines\"}");
    task = world_try(&w, "one", "\"member\"", 3, FAINA_FAILED);
    CHECK_HAS(task->error, "did you mean \\\"output\\\"");
    task = world_try(&w, "one", "\"noise\"", 1, FAINA_DEAD_LETTER);
    CHECK_HAS(task->error, "is not JSON");
    CHECK_HAS(task->error, "print to stderr");
    CHECK_HAS(task->error, "it begins: hello");
    CHECK_STR(output_of(&w, "\"both\""), "1"); /* by another process */
    world_close(&w);
}

static void test_lines__a_process_that_dies(struct fa_t *t)
{
    struct faina_task *task;
    const char *held, *die;
    struct world w;

    open_lines(&w, t, "{\"mode\":\"lines\",\"concurrency\":2}");
    held = fa_t_submit(t, .type = "one", .input = "\"hold\"", .max_attempts = 1);
    world_await(&w, held, FAINA_RUNNING);
    die = fa_t_submit(t, .type = "one", .input = "\"die\"", .max_attempts = 1);
    task = world_await(&w, die, FAINA_DEAD_LETTER);
    CHECK_HAS(task->error, "exited with code 3");
    CHECK_HAS(task->error, "oh no");
    CHECK_HAS(world_await(&w, held, FAINA_DEAD_LETTER)->error, "exited with code 3");
    CHECK_STR(output_of(&w, "\"both\""), "1");
    world_close(&w);
}

/* Tasks are in flight at once, `concurrency` in each of the processes. */
static void test_lines__concurrency(struct fa_t *t)
{
    const char *ids[2];
    struct world w;

    open_lines(&w, t, "{\"mode\":\"lines\",\"concurrency\":3}");
    for (int i = 0; i < 2; i++) {
        ids[i] = fa_t_submit(t, .type = "one", .input = "\"hold\"");
        world_await(&w, ids[i], FAINA_RUNNING);
    }
    CHECK_STR(output_of(&w, "\"release\""), "2");
    for (int i = 0; i < 2; i++)
        CHECK_STR(world_await(&w, ids[i], FAINA_COMPLETED)->output, "2");
    world_close(&w);
}

static void test_lines__several_processes(struct fa_t *t)
{
    const char *held;
    struct world w;

    open_lines(&w, t, "{\"mode\":\"lines\",\"processes\":2}");
    held = fa_t_submit(t, .type = "one", .input = "\"hold\"");
    world_await(&w, held, FAINA_RUNNING);
    CHECK_STR(output_of(&w, "\"both\""), "1");
    CHECK_STR(output_of(&w, "\"release\""), "0"); /* the other process holds it */
    CHECK_OK(t, fa_t_cancel(t, held, NOBODY));
    world_close(&w);
}

static void test_lines__a_cancellation(struct fa_t *t)
{
    const char *id, *pid;
    struct world w;

    open_lines(&w, t, "{\"mode\":\"lines\"}");
    pid = output_of(&w, "\"pid\"");
    id = fa_t_submit(t, .type = "one", .input = "\"hold\"");
    world_await(&w, id, FAINA_RUNNING);
    CHECK_OK(t, fa_t_cancel(t, id, NOBODY));
    CHECK_STR(output_of(&w, "\"pid\""), pid); /* it gave up, and the process goes on */
    world_close(&w);
}

/* L3: here after 300 ms. */
static void test_lines__a_cancellation_that_is_not_answered(struct fa_t *t)
{
    const char *id, *pid;
    struct world w;

    open_lines(&w, t, "{\"mode\":\"lines\"}");
    pid = output_of(&w, "\"pid\"");
    id = fa_t_submit(t, .type = "one", .input = "\"deaf\"");
    world_await(&w, id, FAINA_RUNNING);
    CHECK_OK(t, fa_t_cancel(t, id, NOBODY));
    CHECK_TRUE(strcmp(output_of(&w, "\"pid\""), pid) != 0);
    world_close(&w);
}

static void test_lines__settings(struct fa_t *t)
{
    struct world w;

    world_open(&w, t);
    world_file(&w, "one.py", script, 0755);
    world_file(&w, "one.json", "{\"mode\":\"line\"}", 0644);
    world_file(&w, "two.py", script, 0755);
    world_file(&w, "two.json", "{\"processes\":2}", 0644);
    world_start(&w);
    CHECK_TRUE(world_has_logged(&w, "mode must be \"task\""));
    CHECK_TRUE(world_has_logged(&w, "processes is for \"mode\":\"lines\""));
    world_close(&w);
}

int main(int argc, char **argv)
{
    static const struct fa_t_case cases[] = {
        FA_T_CASE(test_lines__one_process_serves_many_tasks),
        FA_T_CASE(test_lines__the_ways_to_end),
        FA_T_CASE(test_lines__bad_lines),
        FA_T_CASE(test_lines__a_process_that_dies),
        FA_T_CASE(test_lines__concurrency),
        FA_T_CASE(test_lines__several_processes),
        FA_T_CASE(test_lines__a_cancellation),
        FA_T_CASE(test_lines__a_cancellation_that_is_not_answered),
        FA_T_CASE(test_lines__settings),
    };

    return fa_t_main(argc, argv, "lines", cases, FA_COUNT(cases));
}
