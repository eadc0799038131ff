/*
 * worker.c - claims tasks of the type "square", squares the number in each, and completes it.
 *
 *     worker URL COUNT
 *
 * Build: cc worker.c $(pkg-config --cflags --libs faina)
 *
 * Ends after COUNT tasks, or when there was nothing to do for two seconds. Numbers that end in 7
 * fail at the first attempt, to show a retry.
 */
#include <faina.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BATCH 10        /* tasks to hold at once */
#define LEASE_MS 30000  /* how long they are ours without a heartbeat */
#define TIMEOUT_MS 2000 /* how long to wait for work */

/* The work itself. True: `output` is the answer; false: `why` tells what went wrong. */
static bool square(const struct faina_task *task, char *output, size_t size, const char **why)
{
    const char *place = task->input ? strstr(task->input, "\"number\":") : NULL;
    long number;

    if (!place) {
        *why = "the input has no number";
        return false;
    }
    number = strtol(place + strlen("\"number\":"), NULL, 10);
    if (number % 10 == 7 && task->attempts == 1) {
        *why = "sevens are hard the first time";
        return false;
    }
    snprintf(output, size, "{\"square\":%ld}", number * number);
    return true;
}

/* Starts, does and ends one task. */
static enum faina_code run_task(struct faina *engine, const struct faina_task *task,
                                const struct faina_by *me, struct faina_error *err)
{
    struct faina_failure failure = {0};
    char output[64];
    enum faina_code code = faina_start(engine, task->id, me, NULL, err);

    if (code != FAINA_OK)
        return code;
    if (square(task, output, sizeof(output), &failure.message)) {
        printf("%s %s\n", task->id, output);
        return faina_complete(engine, task->id, me, output, NULL, err);
    }
    printf("%s failed: %s\n", task->id, failure.message);
    failure.permanent = !task->input; /* no retry brings an input */
    return faina_fail(engine, task->id, me, &failure, NULL, err);
}

/* Renews the leases of what is still to be done. A real worker does so from a thread of its own,
 * every ten seconds, and stops work on what it lost. */
static void renew(struct faina *engine, const char *worker, const struct faina_task *tasks,
                  size_t count)
{
    struct faina_held held[BATCH];
    struct faina_items *answer;

    for (size_t i = 0; i < count; i++)
        held[i] = (struct faina_held){.id = tasks[i].id, .fence = tasks[i].fence};
    if (faina_heartbeat(engine, worker, held, count, LEASE_MS, &answer, NULL) != FAINA_OK)
        return;
    for (size_t i = 0; i < answer->count; i++)
        if (answer->items[i].code != FAINA_OK)
            fprintf(stderr, "lost %s: %s\n", tasks[i].id, answer->items[i].error.message);
    faina_free(answer);
}

/* Claims and runs up to `max` tasks. Returns how many; -1 when the engine fails. */
static int work_once(struct faina *engine, const char *worker, int max, struct faina_error *err)
{
    const char *types[] = {"square"};
    struct faina_claim claim = {
        .worker_id = worker,
        .types = types,
        .type_count = 1,
        .limit = max < BATCH ? max : BATCH,
        .lease_ms = LEASE_MS,
        .wait_ms = TIMEOUT_MS,
    };
    struct faina_tasks *tasks;
    int count;

    if (faina_claim_next(engine, &claim, &tasks, err) != FAINA_OK)
        return -1;
    count = (int)tasks->count;
    for (size_t i = 0; i < tasks->count; i++) {
        /* The fence prevents ending a task that another worker has claimed since. */
        struct faina_by me = {.worker_id = worker, .fence = tasks->items[i].fence};

        if (run_task(engine, &tasks->items[i], &me, err) != FAINA_OK)
            fprintf(stderr, "%s: %s\n", tasks->items[i].id, err->message);
        renew(engine, worker, tasks->items + i + 1, tasks->count - i - 1);
    }
    faina_free(tasks);
    return count;
}

int main(int argc, char **argv)
{
    struct faina_error err;
    struct faina *engine;
    char worker[64];
    int left = argc == 3 ? (int)strtol(argv[2], NULL, 10) : 0, done = 0;

    if (left <= 0) {
        fprintf(stderr, "usage: worker URL COUNT, such as: worker sqlite:faina.db 10\n");
        return 2;
    }
    if (faina_open(&engine, argv[1], NULL, &err) != FAINA_OK) {
        fprintf(stderr, "worker: %s\n", err.message);
        return 1;
    }
    snprintf(worker, sizeof(worker), "example-%d", (int)getpid());
    do {
        done = work_once(engine, worker, left, &err);
        left -= done;
    } while (done > 0 && left > 0);
    if (done < 0)
        fprintf(stderr, "worker: %s\n", err.message);
    faina_close(engine);
    return done < 0 ? 1 : 0;
}
