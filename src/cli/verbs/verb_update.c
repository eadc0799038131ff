/*
 * verb_update.c - update and promote: change tasks that wait.
 */
#include "cli/verbs.h"
#include "cli/verbs/verb_operations.h"

#include "cli/print.h"
#include "cli/short_id.h"
#include "model/limits.h"

/* Changes each task that is named. The exit code is that of the first one that was refused. */
static int update_all(struct fa_cli *cli, const struct faina_update *update)
{
    int64_t version = 0;
    int result = fa_flag_int(cli, "if-version", 1, INT64_MAX, &version);

    if (result == FA_EXIT_OK)
        result = fa_cli_task_ids(cli, cli->args, cli->arg_count);
    if (result != FA_EXIT_OK)
        return result;
    for (size_t i = 0; i < cli->arg_count; i++) {
        struct fa_op op = {.kind = FA_OP_UPDATE,
                           .id = cli->args[i],
                           .by.version = version > 0 ? version : 0,
                           .update = update,
                           .wants_task = true};
        int code = fa_cli_run(cli, &op);

        if (code == FA_EXIT_OK)
            fa_print_change(cli, op.task);
        else if (result == FA_EXIT_OK)
            result = code;
    }
    return result;
}

static int read_run_at(struct fa_cli *cli, struct faina_update *update)
{
    const char *text = fa_flag(cli, "run-at");

    update->has_run_at = text != NULL;
    if (!text || strcmp(text, "now") == 0)
        return FA_EXIT_OK;
    return fa_flag_time(cli, "run-at", false, &update->run_at_us);
}

static int update_many(struct fa_cli *cli, const struct faina_update *update)
{
    static const struct fa_bulk_verb verb = {"Change", "Changing", "changed", "updated"};
    struct fa_bulk_request request = {.kind = FA_BULK_UPDATE, .set = update};
    int code = fa_bulk_flags(cli, &request);

    if (code != FA_EXIT_OK)
        return code;
    if (fa_flag_is_given(cli, "if-version"))
        return fa_cli_usage(cli, "--if-version is for one task");
    if (request.query.statuses == 0)
        request.query.statuses = 1u << FAINA_PENDING | 1u << FAINA_BLOCKED;
    return fa_bulk_run(cli, &verb, &request);
}

static int check_selection(struct fa_cli *cli)
{
    bool is_all = fa_flag_is_given(cli, "all");

    if (is_all && cli->arg_count > 0)
        return fa_cli_usage(cli, "give IDs or --all, not both");
    if (!is_all && (fa_flag_is_given(cli, "status") || fa_flag_is_given(cli, "type") ||
                    fa_flag_is_given(cli, "where") || fa_flag_is_given(cli, "dry-run")))
        return fa_cli_usage(cli, "--status, --type, --where and --dry-run belong to --all");
    if (!is_all && cli->arg_count == 0)
        return fa_cli_usage(cli, "which task? Give its ID, or --all with --status and --type");
    return FA_EXIT_OK;
}

int fa_verb_update(struct fa_cli *cli)
{
    struct faina_update update = {.name = fa_flag(cli, "name"), .group = fa_flag(cli, "group")};
    int64_t priority = 0, attempts = -1;
    int code = fa_flag_int(cli, "priority", FA_PRIORITY_MIN, FA_PRIORITY_MAX, &priority);

    if (code == FA_EXIT_OK)
        code = fa_flag_int(cli, "max-attempts", 0, FA_ATTEMPTS_MAX, &attempts);
    if (code == FA_EXIT_OK)
        code = read_run_at(cli, &update);
    if (code == FA_EXIT_OK)
        code = fa_flag_duration(cli, "timeout", &update.timeout_ms);
    if (code == FA_EXIT_OK)
        code = fa_flag_when(cli, "start-by", &update.start_by_ms, &update.start_by_us);
    if (code == FA_EXIT_OK)
        code = fa_flag_json(cli, "metadata", &update.metadata);
    if (code != FA_EXIT_OK)
        return code;
    update.has_priority = fa_flag(cli, "priority") != NULL;
    update.priority = (int)priority;
    if (attempts >= 0)
        update.max_attempts = attempts == 0 ? FAINA_UNLIMITED : (int)attempts;
    if (!update.name && !update.has_priority && !update.has_run_at && attempts < 0 &&
        update.timeout_ms == 0 && update.start_by_ms == 0 && update.start_by_us == 0 &&
        !update.metadata && !update.group)
        return fa_cli_usage(cli, "give what to change: --name, --priority, --run-at, "
                                 "--max-attempts, --timeout, --start-by, --group or --metadata");
    code = check_selection(cli);
    if (code != FA_EXIT_OK)
        return code;
    return fa_flag_is_given(cli, "all") ? update_many(cli, &update) : update_all(cli, &update);
}

int fa_verb_promote(struct fa_cli *cli)
{
    return update_all(cli, &(struct faina_update){.has_run_at = true});
}
