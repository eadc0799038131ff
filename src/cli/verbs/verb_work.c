/*
 * verb_work.c - a worker's operations as verbs: claim, start, complete, fail, progress, heartbeat,
 * block, background, release.
 */
#include "cli/verbs.h"

#include "cli/print.h"
#include "cli/short_id.h"
#include "cli/text.h"
#include "model/limits.h"
#include "wire/wire.h"

#include <ctype.h>
#include <stdlib.h>

/* Runs an operation on the task that the first argument names, and prints the changed task. */
static int run_change(struct fa_cli *cli, struct fa_op *op)
{
    int code = fa_flag_by(cli, &op->by);

    if (code != FA_EXIT_OK)
        return code;
    op->id = cli->args[0];
    op->wants_task = true;
    code = fa_cli_run(cli, op);
    if (code == FA_EXIT_OK)
        fa_print_change(cli, op->task);
    return code;
}

/* ------------------------------------------------------------------------------------------
 * Claiming
 */

/* The task with its type and input. */
static void print_work(struct fa_cli *cli, const struct faina_task *task)
{
    struct fa_arena scratch = {0};
    const char *work;

    fa_print_change(cli, task);
    if (cli->format == FA_CLI_TABLE) {
        work = fa_arena_printf(&scratch, "  %s%s%s", task->type, task->input ? " " : "",
                               task->input ? task->input : "");
        work = fa_text_clip(&scratch, fa_text_clean(&scratch, work), cli->table_width);
        fa_outf(cli, "%s\n", work);
    }
    fa_arena_finish(&scratch);
}

static void print_claimed(struct fa_cli *cli, const struct faina_tasks *tasks)
{
    struct fa_out_list list;

    if (cli->format == FA_CLI_TABLE) {
        for (size_t i = 0; i < tasks->count; i++)
            print_work(cli, &tasks->items[i]);
        if (tasks->count == 0)
            fa_cli_note(cli, "Nothing to claim.");
        return;
    }
    fa_out_list_begin(cli, &list, "tasks");
    for (size_t i = 0; i < tasks->count; i++)
        fa_wire_put_task(fa_out_list_item(&list), &tasks->items[i]);
    fa_out_list_end(&list);
}

static bool claim_once(struct fa_cli *cli, void *context, int *exit_code)
{
    struct fa_op *op = context;

    *exit_code = fa_cli_run(cli, op);
    return *exit_code != FA_EXIT_OK || op->tasks->count > 0;
}

static int claim_next(struct fa_cli *cli, int64_t lease_ms)
{
    struct faina_claim claim = {.worker_id = fa_flag(cli, "worker"), .lease_ms = lease_ms};
    struct fa_op op = {.kind = FA_OP_CLAIM_NEXT, .claim = &claim};
    const char *ns = cli->ns ? cli->ns : "default";
    bool waits = fa_flag_is_given(cli, "wait");
    int64_t limit = 0, timeout_ms = -1;
    int code = fa_flag_int(cli, "limit", 1, FA_CLAIM_LIMIT_MAX, &limit);

    if (code == FA_EXIT_OK)
        code = fa_flag_duration(cli, "timeout", &timeout_ms);
    if (code == FA_EXIT_OK)
        code = fa_flag_names(cli, "types", &claim.types, &claim.type_count);
    if (code != FA_EXIT_OK)
        return code;
    if (fa_flag(cli, "timeout") && !waits)
        return fa_cli_usage(cli, "--timeout belongs to --wait");
    claim.limit = (int)limit;
    claim.services = fa_flag_list(cli, "services", &claim.service_count); /* "": reaches none */
    if (!fa_cli_is_all_namespaces(cli)) { /* a claim without namespaces is for all */
        claim.namespaces = &ns;
        claim.namespace_count = 1;
    }
    /* A timeout is no error here: there is nothing to claim. */
    fa_cli_wait_for(cli, waits ? timeout_ms : 0, claim_once, &op, &code);
    if (code == FA_EXIT_OK)
        print_claimed(cli, op.tasks);
    return code;
}

int fa_verb_claim(struct fa_cli *cli)
{
    struct fa_op op = {.kind = FA_OP_CLAIM};
    int64_t lease_ms = 0;
    int code = fa_flag_duration(cli, "lease", &lease_ms);

    if (code != FA_EXIT_OK)
        return code;
    if (!fa_flag(cli, "worker"))
        return fa_cli_usage(cli, "--worker W is missing: any name for the worker that claims");
    if (cli->arg_count == 0)
        return claim_next(cli, lease_ms);
    op.id = cli->args[0];
    op.by.worker_id = fa_flag(cli, "worker");
    op.lease_ms = lease_ms;
    op.wants_task = true;
    code = fa_cli_run(cli, &op);
    if (code == FA_EXIT_OK)
        print_work(cli, op.task);
    return code;
}

int fa_verb_start(struct fa_cli *cli)
{
    struct fa_op op = {.kind = FA_OP_START};
    int code = fa_flag_duration(cli, "lease", &op.lease_ms);

    return code == FA_EXIT_OK ? run_change(cli, &op) : code;
}

int fa_verb_release(struct fa_cli *cli)
{
    struct fa_op op = {.kind = FA_OP_RELEASE};

    return run_change(cli, &op);
}

/* ------------------------------------------------------------------------------------------
 * Ending
 */

int fa_verb_snooze(struct fa_cli *cli)
{
    struct fa_op op = {.kind = FA_OP_SNOOZE};
    int code;

    if (!fa_flag(cli, "for"))
        return fa_cli_usage(cli, "--for DURATION is missing: how long the task stays pending");
    code = fa_flag_duration(cli, "for", &op.snooze_ms);
    return code == FA_EXIT_OK ? run_change(cli, &op) : code;
}

int fa_verb_complete(struct fa_cli *cli)
{
    struct fa_op op = {.kind = FA_OP_COMPLETE};
    int code = fa_arg_json(cli, 1, "output", &op.output);

    return code == FA_EXIT_OK ? run_change(cli, &op) : code;
}

int fa_verb_fail(struct fa_cli *cli)
{
    struct faina_failure failure = {
        .message = fa_flag(cli, "error"),
        .kind = fa_flag(cli, "kind"),
        .permanent = fa_flag_is_given(cli, "permanent"),
    };
    struct fa_op op = {.kind = FA_OP_FAIL, .failure = &failure};
    int code = fa_flag_json(cli, "detail", &failure.detail);

    if (code == FA_EXIT_OK)
        code = fa_flag_when(cli, "retry-after", &failure.retry_after_ms, &failure.retry_at_us);

    if (code != FA_EXIT_OK)
        return code;
    if (!failure.message)
        return fa_cli_usage(cli, "--error TEXT is missing: what went wrong");
    return run_change(cli, &op);
}

/* ------------------------------------------------------------------------------------------
 * Progress and leases
 */

/* "40", "40%", or "-" for unchanged. */
static int read_percent(struct fa_cli *cli, const char *text, struct faina_report *report)
{
    char *end;
    long number;

    if (strcmp(text, "-") == 0)
        return FA_EXIT_OK;
    number = strtol(text, &end, 10);
    if (end == text || (*end != '\0' && strcmp(end, "%") != 0) || number < 0 || number > 100)
        return fa_cli_usage(cli, "PERCENT is a whole number from 0 to 100, not \"%.100s\"", text);
    report->has_progress = true;
    report->progress = (int)number;
    return FA_EXIT_OK;
}

int fa_verb_progress(struct fa_cli *cli)
{
    struct faina_report report = {.state = fa_flag(cli, "state")};
    struct fa_op op = {.kind = FA_OP_PROGRESS, .report = &report};
    int code = fa_flag_json(cli, "metadata", &report.metadata);

    if (code == FA_EXIT_OK && cli->arg_count > 1)
        code = read_percent(cli, cli->args[1], &report);
    if (code != FA_EXIT_OK)
        return code;
    if (cli->arg_count > 2) {
        if (report.state)
            return fa_cli_usage(cli, "give STATE or --state, not both");
        report.state = cli->args[2];
    }
    if (!report.has_progress && !report.state && !report.metadata)
        return fa_cli_usage(cli, "there is nothing to report: give PERCENT, STATE or --metadata");
    return run_change(cli, &op);
}

static void put_heartbeat(struct fa_json_writer *w, const struct fa_op *op)
{
    fa_json_begin_object(w);
    fa_json_set_str(w, "id", op->id);
    fa_json_set_bool(w, "held", op->code == FAINA_OK);
    fa_json_set_str(w, "code", faina_code_name(op->code));
    fa_json_end_object(w);
}

static int print_heartbeats(struct fa_cli *cli, const struct fa_op *ops, size_t count)
{
    bool is_table = cli->format == FA_CLI_TABLE;
    struct fa_out_list list = {0};
    int code = FA_EXIT_OK;

    if (!is_table)
        fa_out_list_begin(cli, &list, "items");
    for (size_t i = 0; i < count; i++) {
        if (!is_table)
            put_heartbeat(fa_out_list_item(&list), &ops[i]);
        else if (ops[i].code == FAINA_OK)
            fa_outf(cli, "held %s\n", ops[i].id);
        if (ops[i].code != FAINA_OK) {
            int lost = count > 1 ? fa_cli_fail_for(cli, ops[i].id, &ops[i].error)
                                 : fa_cli_fail(cli, &ops[i].error);
            code = code == FA_EXIT_OK ? lost : code;
        }
    }
    if (!is_table)
        fa_out_list_end(&list);
    return code;
}

int fa_verb_heartbeat(struct fa_cli *cli)
{
    struct faina_by by = {.worker_id = fa_flag(cli, "worker")};
    struct fa_op *ops = fa_arena_zero(&cli->arena, cli->arg_count, sizeof(*ops));
    int64_t lease_ms = 0;
    int code = fa_flag_duration(cli, "lease", &lease_ms);

    if (code == FA_EXIT_OK)
        code = fa_flag_int(cli, "fence", 1, INT64_MAX, &by.fence);
    if (code != FA_EXIT_OK)
        return code;
    if (!by.worker_id)
        return fa_cli_usage(cli, "--worker W is missing: the worker that holds the tasks");
    if (by.fence > 0 && cli->arg_count > 1)
        return fa_cli_usage(cli, "--fence is for one task");
    code = fa_cli_open(cli);
    if (code == FA_EXIT_OK)
        code = fa_cli_task_ids(cli, cli->args, cli->arg_count);
    if (code != FA_EXIT_OK)
        return code;
    for (size_t i = 0; i < cli->arg_count; i++)
        ops[i] = (struct fa_op){.kind = FA_OP_HEARTBEAT,
                                .id = cli->args[i],
                                .by = by,
                                .lease_ms = lease_ms,
                                .arena = &cli->arena};
    fa_service_run(cli->service, ops, cli->arg_count);
    return print_heartbeats(cli, ops, cli->arg_count);
}

/* ------------------------------------------------------------------------------------------
 * Block and background
 */

/* Reads the array of subtasks into the program's arena. */
static int read_subtasks(struct fa_cli *cli, const char *json, struct fa_op *op)
{
    struct fa_json array = fa_json_value(fa_str(json)), item;
    struct fa_json_iter it;
    struct faina_submit *subtasks;
    size_t count = 0;

    if (array.type != FA_JSON_ARRAY)
        return fa_cli_usage(cli, "SUBTASKS is a JSON array such as [{\"type\":\"page\"}]");
    subtasks = fa_arena_zero(&cli->arena, fa_json_count(array) + 1, sizeof(*subtasks));
    for (it = fa_json_iter(array); fa_json_next(&it, NULL, &item); count++) {
        struct faina_error err, named;

        fa_error_clear(&err);
        if (fa_wire_read_submit(item.raw, &cli->arena, &subtasks[count], &err) != FAINA_OK) {
            fa_error_field(&named, err.code, err.field, "subtask %zu: %.480s", count + 1,
                           err.message);
            return fa_cli_fail(cli, &named);
        }
    }
    op->block.subtasks = subtasks;
    op->block.count = count;
    return FA_EXIT_OK;
}

int fa_verb_block(struct fa_cli *cli)
{
    struct fa_op op = {.kind = FA_OP_BLOCK};
    const char *json = NULL;
    int code = fa_arg_json(cli, 1, "subtasks", &json);

    if (code == FA_EXIT_OK)
        code = read_subtasks(cli, json, &op);
    if (code != FA_EXIT_OK)
        return code;
    op.block.fail_fast = fa_flag_is_given(cli, "fail-fast");
    return run_change(cli, &op);
}

int fa_verb_background(struct fa_cli *cli)
{
    struct fa_op op = {.kind = FA_OP_BACKGROUND};
    int64_t timeout_ms = 0;
    int code = fa_flag_duration(cli, "timeout", &timeout_ms);

    if (code != FA_EXIT_OK)
        return code;
    op.background.reason = cli->reason;
    op.background.timeout_ms = timeout_ms;
    return run_change(cli, &op);
}
