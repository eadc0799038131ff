/*
 * verb_manage.c - cancel, retry, rm: by id, or all that match, after a confirmation.
 */
#include "cli/verbs.h"
#include "cli/verbs/verb_operations.h"

#include "cli/print.h"
#include "cli/progress.h"
#include "cli/short_id.h"
#include "cli/text.h"
#include "model/limits.h"
#include "model/states.h"
#include "wire/wire.h"

#include <assert.h>
#include <stdlib.h>

#define IN(status) (1u << FAINA_##status)
#define ENDED (IN(COMPLETED) | IN(FAILED) | IN(DEAD_LETTER) | IN(CANCELLED))
#define LIVE (IN(PENDING) | IN(CLAIMED) | IN(RUNNING) | IN(BLOCKED) | IN(BACKGROUND))

/* The differences between the three verbs. */
struct action {
    enum fa_op_kind kind;
    enum fa_bulk_kind bulk;
    const char *verb, *doing, *done; /* "Cancel", "Cancelling", "cancelled" */
    const char *counter;             /* the name of the count in JSON */
    unsigned possible;               /* the statuses that --status may name */
    unsigned standard;               /* the statuses without --status */
    const char *refusal;             /* the error when --status names another */
    bool keep_attempts;
    struct faina_removal removal;
    int64_t version;
};

static struct fa_op make_op(const struct action *action, const char *id, struct fa_arena *arena)
{
    struct fa_op op = {.kind = action->kind, .id = id, .arena = arena};

    op.by.version = action->version;
    if (action->kind == FA_OP_RETRY)
        op.keep_attempts = action->keep_attempts;
    else if (action->kind == FA_OP_DELETE)
        op.removal = action->removal;
    return op;
}

/* ------------------------------------------------------------------------------------------
 * By id
 */

static void put_result(struct fa_json_writer *w, const struct fa_op *op)
{
    if (op->code == FAINA_OK)
        fa_wire_put_task(w, op->task);
    else
        fa_wire_put_problem(w, &op->error);
}

/* Several tasks: a result for each, in order. */
static void print_list(struct fa_cli *cli, const struct fa_op *ops, size_t count)
{
    struct fa_out_list list;

    if (cli->format == FA_CLI_TABLE) {
        for (size_t i = 0; i < count; i++)
            if (ops[i].code == FAINA_OK)
                fa_print_change(cli, ops[i].task);
        return;
    }
    fa_out_list_begin(cli, &list, "items");
    for (size_t i = 0; i < count; i++)
        put_result(fa_out_list_item(&list), &ops[i]);
    fa_out_list_end(&list);
}

static void print_counter(struct fa_cli *cli, const struct action *action, int64_t done,
                          int64_t refused)
{
    struct fa_out_json json;

    if (cli->format == FA_CLI_TABLE) {
        fa_outf(cli, "%s %s", action->done, fa_text_plural(&cli->arena, done, "task"));
        if (refused > 0)
            fa_outf(cli, ", %lld refused", (long long)refused);
        fa_outf(cli, "\n");
        return;
    }
    fa_out_json_begin(cli, &json);
    fa_json_begin_object(&json.writer);
    fa_json_key(&json.writer, action->counter);
    fa_json_put_int(&json.writer, done);
    if (refused > 0) {
        fa_json_set_int(&json.writer, "refused", refused);
    }
    fa_json_end_object(&json.writer);
    fa_out_json_end(cli, &json);
}

static void print_results(struct fa_cli *cli, const struct action *action, const struct fa_op *ops,
                          size_t count)
{
    size_t done = fa_cli_count_done(ops, count);

    if (done == 0)
        return;
    if (action->kind == FA_OP_DELETE)
        print_counter(cli, action, (int64_t)done, (int64_t)(count - done));
    else if (count == 1)
        fa_print_change(cli, ops[0].task);
    else
        print_list(cli, ops, count);
}

/* Adds the flag that avoids the refusal. */
static void add_hint(const struct action *action, struct fa_op *op)
{
    size_t len = strlen(op->error.message);

    if (action->kind == FA_OP_DELETE && op->code == FAINA_TASK_ACTIVE)
        snprintf(op->error.message + len, sizeof(op->error.message) - len,
                 "; cancel it first, or add --cancel");
}

static int act_on_ids(struct fa_cli *cli, const struct action *action)
{
    size_t count = cli->arg_count;
    struct fa_op *ops = fa_arena_zero(&cli->arena, count, sizeof(*ops));
    int code = FA_EXIT_OK, open_code;

    if (action->version > 0 && count > 1)
        return fa_cli_usage(cli, "--if-version is for one task");
    open_code = fa_cli_open(cli);
    if (open_code == FA_EXIT_OK)
        open_code = fa_cli_task_ids(cli, cli->args, count);
    if (open_code != FA_EXIT_OK)
        return open_code;
    for (size_t i = 0; i < count; i++) {
        ops[i] = make_op(action, cli->args[i], &cli->arena);
        ops[i].wants_task = action->kind != FA_OP_DELETE;
    }
    fa_service_run(cli->service, ops, count);
    print_results(cli, action, ops, count);
    fflush(stdout); /* before stderr, in case both are the same terminal */
    for (size_t i = 0; i < count; i++) {
        if (ops[i].code != FAINA_OK) {
            int refused;

            add_hint(action, &ops[i]);
            refused = count > 1 ? fa_cli_fail_for(cli, ops[i].id, &ops[i].error)
                                : fa_cli_fail(cli, &ops[i].error);
            code = code == FA_EXIT_OK ? refused : code;
        }
    }
    return code;
}

/* ------------------------------------------------------------------------------------------
 * All that match
 */

int fa_count_matches(struct fa_cli *cli, const char *ns, unsigned statuses, const char *type,
                     int64_t *out)
{
    struct fa_op op = {.kind = FA_OP_STATS};
    int code;

    op.name.ns = ns;
    op.name.type = type;
    code = fa_cli_run(cli, &op);
    if (code != FA_EXIT_OK)
        return code;
    *out = 0;
    for (enum faina_status status = 0; status < FAINA_STATUS_COUNT; status++)
        if (statuses & (1u << status))
            *out += op.stats->by_status[status];
    return FA_EXIT_OK;
}

/* ... by the program itself, on an engine without operations on many tasks. */
struct totals {
    int64_t seen, done, refused;
    struct faina_error first; /* the first refusal */
};

/* One page of tasks in one transaction. */
static void act_on_page(struct fa_cli *cli, const struct action *action,
                        const struct faina_tasks *page, struct totals *totals)
{
    struct fa_arena arena = {0};
    struct fa_op *ops = fa_alloc_zero(page->count + 1, sizeof(*ops));

    for (size_t i = 0; i < page->count; i++)
        ops[i] = make_op(action, page->items[i].id, &arena);
    fa_service_run(cli->service, ops, page->count);
    for (size_t i = 0; i < page->count; i++) {
        if (ops[i].code == FAINA_OK)
            totals->done++;
        else if (totals->refused++ == 0)
            totals->first = ops[i].error;
    }
    totals->seen += (int64_t)page->count;
    free(ops);
    fa_arena_finish(&arena);
}

/* Page after page, from the newest to the oldest. The action's changes don't shift later pages. */
static int act_on_query(struct fa_cli *cli, const struct action *action, struct faina_query *query,
                        struct fa_progress *progress, struct totals *totals)
{
    struct fa_arena pages[2] = {{0}, {0}};
    struct fa_op op = {.kind = FA_OP_LIST, .query = query};
    int code;
    size_t page = 0;

    do {
        op.arena = &pages[page++ % 2];
        fa_arena_reset(op.arena);
        code = fa_cli_run(cli, &op);
        if (code != FA_EXIT_OK)
            break;
        act_on_page(cli, action, op.tasks, totals);
        fa_progress_show(progress, totals->seen);
        query->cursor = op.tasks->next_cursor;
    } while (query->cursor);
    fa_arena_finish(&pages[0]);
    fa_arena_finish(&pages[1]);
    return code;
}

static int run_all(struct fa_cli *cli, const struct action *action, unsigned statuses,
                   int64_t count)
{
    struct faina_query query = {.ns = cli->ns,
                                .statuses = statuses,
                                .type = fa_flag(cli, "type"),
                                .limit = FA_LIST_LIMIT_MAX,
                                .brief = true};
    struct fa_progress progress;
    struct totals totals = {0};
    int code;

    fa_progress_start(&progress, cli, action->doing, count);
    code = act_on_query(cli, action, &query, &progress, &totals);
    fa_progress_stop(&progress);
    if (code != FA_EXIT_OK) {
        fa_cli_note(cli, "faina: stopped after %s",
                    fa_text_plural(&cli->arena, totals.done, "task"));
        return code;
    }
    print_counter(cli, action, totals.done, totals.refused);
    if (totals.refused == 0)
        return FA_EXIT_OK;
    fflush(stdout);
    fa_cli_fail(cli, &totals.first);
    return FA_EXIT_FAILURE;
}

static int act_page_by_page(struct fa_cli *cli, const struct action *action, unsigned statuses)
{
    int64_t count = 0;
    int code;

    if (fa_flag_is_given(cli, "where") || fa_flag_is_given(cli, "dry-run"))
        return fa_cli_usage(cli, "this engine has no operations on many tasks, so --where and "
                                 "--dry-run can't be used");
    code = fa_count_matches(cli, cli->ns, statuses, fa_flag(cli, "type"), &count);
    if (code == FA_EXIT_OK)
        code = fa_bulk_confirm(cli, action->verb, count);
    if (code != FA_EXIT_OK)
        return code;
    if (count == 0) {
        print_counter(cli, action, 0, 0);
        return FA_EXIT_OK;
    }
    return run_all(cli, action, statuses, count);
}

static int act_on_all(struct fa_cli *cli, const struct action *action)
{
    const struct fa_bulk_verb verb = {action->verb, action->doing, action->done, action->counter};
    struct fa_bulk_request request = {.kind = action->bulk,
                                      .has_reset = action->keep_attempts,
                                      .cancels = action->removal.cancel,
                                      .purges = action->removal.purge};
    unsigned *statuses = &request.query.statuses;
    int code = fa_bulk_flags(cli, &request);

    if (code != FA_EXIT_OK)
        return code;
    if (*statuses & ~action->possible)
        return fa_cli_usage(cli, "%s", action->refusal);
    if (*statuses == 0)
        *statuses = action->standard;
    if (action->version > 0)
        return fa_cli_usage(cli, "--if-version is for one task");
    code = fa_cli_open(cli);
    if (code != FA_EXIT_OK)
        return code;
    return fa_bulk_is_supported(cli) ? fa_bulk_run(cli, &verb, &request)
                                     : act_page_by_page(cli, action, *statuses);
}

static int act(struct fa_cli *cli, struct action *action)
{
    bool is_all = fa_flag_is_given(cli, "all");
    int code = fa_flag_int(cli, "if-version", 1, INT64_MAX, &action->version);

    if (code != FA_EXIT_OK)
        return code;
    if (is_all && cli->arg_count > 0)
        return fa_cli_usage(cli, "give IDs or --all, not both");
    if (is_all)
        return act_on_all(cli, action);
    if (fa_flag_is_given(cli, "status") || fa_flag_is_given(cli, "type") ||
        fa_flag_is_given(cli, "where") || fa_flag_is_given(cli, "dry-run"))
        return fa_cli_usage(cli, "--status, --type, --where and --dry-run belong to --all");
    if (cli->arg_count == 0)
        return fa_cli_usage(cli, "which task? Give its ID, or --all with --status and --type");
    return act_on_ids(cli, action);
}

int fa_verb_cancel(struct fa_cli *cli)
{
    struct action action = {
        .kind = FA_OP_CANCEL,
        .bulk = FA_BULK_CANCEL,
        .verb = "Cancel",
        .doing = "Cancelling",
        .done = "cancelled",
        .counter = "cancelled",
        .possible = LIVE,
        .standard = LIVE,
        .refusal = "ended tasks can't be cancelled; --status takes pending, claimed, running, "
                   "blocked or background here",
    };

    return act(cli, &action);
}

int fa_verb_retry(struct fa_cli *cli)
{
    struct action action = {
        .kind = FA_OP_RETRY,
        .bulk = FA_BULK_RETRY,
        .verb = "Retry",
        .doing = "Retrying",
        .done = "queued again:",
        .counter = "retried",
        .possible = IN(FAILED) | IN(DEAD_LETTER) | IN(CANCELLED) | IN(CLAIMED) | IN(RUNNING),
        .standard = IN(FAILED) | IN(DEAD_LETTER),
        .refusal = "--status takes failed, dead_letter, cancelled, claimed or running here",
        .keep_attempts = fa_flag_is_given(cli, "keep-attempts"),
    };

    return act(cli, &action);
}

int fa_verb_rm(struct fa_cli *cli)
{
    bool cancels = fa_flag_is_given(cli, "cancel");
    struct action action = {
        .kind = FA_OP_DELETE,
        .bulk = FA_BULK_DELETE,
        .verb = "Remove",
        .doing = "Removing",
        .done = "removed",
        .counter = "deleted",
        .possible = cancels ? ENDED | LIVE : ENDED,
        .standard = ENDED,
        .refusal = "only ended tasks are removed; add --cancel to cancel the others first",
        .removal = {.cancel = cancels, .purge = fa_flag_is_given(cli, "purge")},
    };

    return act(cli, &action);
}
