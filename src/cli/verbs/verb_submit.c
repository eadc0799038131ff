/*
 * verb_submit.c - `faina submit`.
 */
#include "cli/verbs/verb_submit.h"

#include "cli/print.h"
#include "cli/verbs.h"
#include "model/limits.h"
#include "model/states.h"

static int read_attempts(struct fa_cli *cli, struct faina_submit *submit)
{
    int64_t attempts = -1, retries = -1;
    int code = fa_flag_int(cli, "max-attempts", 0, FA_ATTEMPTS_MAX, &attempts);

    if (code == FA_EXIT_OK)
        code = fa_flag_int(cli, "max-retries", 0, FA_ATTEMPTS_MAX - 1, &retries);
    if (code != FA_EXIT_OK)
        return code;
    if (attempts >= 0 && retries >= 0)
        return fa_cli_usage(cli, "give --max-attempts or --max-retries, not both");
    if (retries >= 0)
        submit->max_attempts = (int)retries + 1;
    else if (attempts >= 0)
        submit->max_attempts = attempts == 0 ? FAINA_UNLIMITED : (int)attempts;
    return FA_EXIT_OK;
}

/* Reads all flags except --wait and --bulk. */
static int read_on_duplicate(struct fa_cli *cli, enum faina_on_duplicate *out)
{
#define WORD(name, wire) wire,
    static const char *const words[] = {FAINA_ON_DUPLICATE_LIST(WORD)};
#undef WORD
    const char *text = fa_flag(cli, "on-duplicate");

    for (size_t i = 0; text != NULL && i < FA_COUNT(words); i++) {
        if (strcmp(text, words[i]) == 0) {
            *out = (enum faina_on_duplicate)i;
            return FA_EXIT_OK;
        }
    }
    return text == NULL
               ? FA_EXIT_OK
               : fa_cli_usage(cli, "--on-duplicate is return, reject or replace, not %s", text);
}

static int read_flags(struct fa_cli *cli, struct faina_submit *submit)
{
    int64_t priority = 0;
    int code = fa_flag_int(cli, "priority", FA_PRIORITY_MIN, FA_PRIORITY_MAX, &priority);

    if (code == FA_EXIT_OK)
        code = read_attempts(cli, submit);
    if (code == FA_EXIT_OK)
        code = fa_flag_retry(cli, &submit->retry);
    if (code == FA_EXIT_OK)
        code = read_on_duplicate(cli, &submit->on_duplicate);
    if (code == FA_EXIT_OK)
        code = fa_flag_duration(cli, "delay", &submit->delay_ms);
    if (code == FA_EXIT_OK)
        code = fa_flag_time(cli, "run-at", false, &submit->run_at_us);
    if (code == FA_EXIT_OK)
        code = fa_flag_duration(cli, "attempt-timeout", &submit->timeout_ms);
    if (code == FA_EXIT_OK)
        code = fa_flag_when(cli, "start-by", &submit->start_by_ms, &submit->start_by_us);
    if (code == FA_EXIT_OK)
        code = fa_flag_json(cli, "metadata", &submit->metadata);
    if (code == FA_EXIT_OK)
        code = fa_flag_json(cli, "spec", &submit->spec);
    if (code != FA_EXIT_OK)
        return code;
    if (fa_flag(cli, "delay") && fa_flag(cli, "run-at"))
        return fa_cli_usage(cli, "give --delay or --run-at, not both");
    if (fa_flag(cli, "key") && fa_flag(cli, "dedupe"))
        return fa_cli_usage(cli, "give --key or --dedupe, not both");
    submit->ns = cli->ns;
    submit->priority = (int)priority;
    submit->has_priority = fa_flag(cli, "priority") != NULL;
    submit->name = fa_flag(cli, "name");
    submit->idempotency_key = fa_flag(cli, "key");
    submit->dedupe_input = fa_flag_is_given(cli, "dedupe");
    submit->key_scope = fa_flag(cli, "key-scope");
    submit->team_id = fa_flag(cli, "team");
    submit->created_by = fa_flag(cli, "created-by");
    submit->traceparent = fa_flag(cli, "traceparent");
    submit->group = fa_flag(cli, "group");
    code = fa_flag_names(cli, "resource", &submit->resources, &submit->resource_count);
    if (code == FA_EXIT_OK)
        code = fa_flag_names(cli, "depends-on", &submit->depends_on, &submit->depends_on_count);
    return code;
}

/* The second part of `submit --wait`. The exit code is 0 if the task completed. */
static int wait_for(struct fa_cli *cli, const char *id, int64_t timeout_ms)
{
    struct fa_arena arena = {0};
    struct faina_task *task = NULL;
    int code = fa_cli_wait_end(cli, id, timeout_ms, &arena, &task);

    if (code == FA_EXIT_OK && fa_cli_wants_json(cli)) {
        fa_print_task_json(cli, task);
    } else if (code == FA_EXIT_OK && (cli->err_is_tty || task->status != FAINA_COMPLETED)) {
        const char *note = fa_print_note(&arena, task);
        fa_cli_note(cli, "%s%s%s%s", faina_status_name(task->status), note[0] ? " (" : "", note,
                    note[0] ? ")" : "");
    }
    if (code == FA_EXIT_OK && task->status != FAINA_COMPLETED)
        code = FA_EXIT_FAILURE;
    fa_arena_finish(&arena);
    return code;
}

static int submit_one(struct fa_cli *cli, const struct faina_submit *submit)
{
    struct fa_op op = {.kind = FA_OP_SUBMIT, .submit = submit};
    bool wants_json = fa_cli_wants_json(cli);
    bool waits = fa_flag_is_given(cli, "wait");
    int64_t timeout_ms = -1;
    int code = fa_flag_duration(cli, "timeout", &timeout_ms);

    if (code != FA_EXIT_OK)
        return code;
    if (fa_flag(cli, "timeout") && !waits)
        return fa_cli_usage(cli, "--timeout belongs to --wait");
    op.wants_task = wants_json;
    code = fa_cli_run(cli, &op);
    if (code != FA_EXIT_OK)
        return code;
    if (op.input_mismatch)
        fa_cli_note(cli, "faina: task %s already exists, with a different input", op.task_id);
    if (!wants_json)
        fa_outf(cli, "%s\n", op.task_id);
    else if (!waits)
        fa_print_task_json(cli, op.task);
    if (!waits)
        return code;
    fflush(stdout); /* a reader gets the id before the wait */
    return wait_for(cli, op.task_id, timeout_ms);
}

/* The ids of --depends-on may be parts of ids. */
static int complete_dependencies(struct fa_cli *cli, struct faina_submit *submit)
{
    size_t count = submit->depends_on_count;
    const char **ids = fa_arena_zero(&cli->arena, count + 1, sizeof(*ids));

    for (size_t i = 0; i < count; i++)
        ids[i] = submit->depends_on[i];
    if (count > 0)
        submit->depends_on = ids;
    return fa_cli_task_ids(cli, ids, count);
}

int fa_verb_submit(struct fa_cli *cli)
{
    struct faina_submit submit = {0};
    int code = read_flags(cli, &submit);

    if (code != FA_EXIT_OK)
        return code;
    if (fa_flag(cli, "input") && fa_flag_is_given(cli, "bulk"))
        return fa_cli_usage(cli, "give --input or --bulk, not both");
    if (fa_flag_is_given(cli, "bulk")) {
        code = complete_dependencies(cli, &submit);
        return code == FA_EXIT_OK ? fa_submit_bulk(cli, &submit) : code;
    }
    code = fa_flag_json(cli, "input", &submit.input);
    if (code != FA_EXIT_OK)
        return code;
    if (cli->arg_count == 0 && !submit.name && !submit.input)
        return fa_cli_usage(cli, "what kind of task? Give a TYPE, such as: faina submit mail.send");
    if (cli->arg_count > 1 && submit.input)
        return fa_cli_usage(cli, "give INPUT or --input, not both");
    if (cli->arg_count > 0)
        submit.type = cli->args[0];
    if (cli->arg_count > 1)
        code = fa_arg_json(cli, 1, "input", &submit.input);
    if (code == FA_EXIT_OK)
        code = complete_dependencies(cli, &submit);
    return code == FA_EXIT_OK ? submit_one(cli, &submit) : code;
}
