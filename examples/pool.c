/*
 * pool.c - runs C functions for tasks of two types, until there is nothing left to do.
 *
 *     pool URL
 *
 * Build: cc pool.c $(pkg-config --cflags --libs faina)
 *
 * `sum` takes {"upTo":N}, makes a subtask `add` for each number up to N, and adds up their outputs.
 * Ends after a second without work, or by Ctrl-C.
 */
#include <faina.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct faina *engine; /* for the signal handler */

/* One number: its output is itself. */
static enum faina_outcome add(struct faina_context *context, void *user)
{
    (void)user;
    faina_context_output(context, faina_context_task(context)->input, NULL);
    return FAINA_OUTCOME_COMPLETE;
}

static enum faina_outcome begin_sum(struct faina_context *context, void *user)
{
    const char *input = faina_context_task(context)->input;
    const char *place = input ? strstr(input, "\"upTo\":") : NULL;
    long up_to = place ? strtol(place + strlen("\"upTo\":"), NULL, 10) : 0;

    (void)user;
    if (up_to < 1 || up_to > 1000) {
        struct faina_failure failure = {.message = "upTo must be 1 to 1000", .permanent = true};

        faina_context_error(context, &failure, NULL);
        return FAINA_OUTCOME_FAILED;
    }
    for (long i = 1; i <= up_to; i++) {
        char number[32];
        struct faina_submit subtask = {.type = "add", .input = number};

        snprintf(number, sizeof(number), "%ld", i);
        faina_context_subtask(context, &subtask, NULL, NULL);
    }
    return FAINA_OUTCOME_BLOCKED; /* end_sum is called when they have all completed */
}

static enum faina_outcome end_sum(struct faina_context *context, void *user)
{
    size_t count;
    const struct faina_subtask *numbers = faina_context_subtasks(context, &count);
    char output[32];
    long sum = 0;

    (void)user;
    for (size_t i = 0; i < count; i++)
        sum += strtol(numbers[i].output, NULL, 10);
    snprintf(output, sizeof(output), "%ld", sum);
    faina_context_output(context, output, NULL);
    return FAINA_OUTCOME_COMPLETE;
}

static void on_signal(int number)
{
    (void)number;
    faina_stop(engine);
}

static void print(void *user, const char *line)
{
    (void)user;
    fprintf(stderr, "%s\n", line);
}

int main(int argc, char **argv)
{
    struct faina_handler sum = {.on_start = begin_sum, .on_resume = end_sum};
    struct faina_handler one = {.on_start = add, .timeout_ms = 10000};
    struct faina_run options = {.concurrency = 4, .idle_ms = 1000, .log = print};
    struct faina_error err;
    enum faina_code code;

    if (argc != 2) {
        fprintf(stderr, "usage: pool URL, such as: pool sqlite:faina.db\n");
        return 2;
    }
    code = faina_open(&engine, argv[1], NULL, &err);
    if (code == FAINA_OK)
        code = faina_register(engine, "sum", &sum, NULL, &err);
    if (code == FAINA_OK)
        code = faina_register(engine, "add", &one, NULL, &err);
    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);
    if (code == FAINA_OK)
        code = faina_run(engine, &options, &err);
    if (code != FAINA_OK)
        fprintf(stderr, "pool: %s\n", err.message);
    faina_close(engine);
    return code == FAINA_OK ? 0 : 1;
}
