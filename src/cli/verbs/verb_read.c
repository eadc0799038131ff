/*
 * verb_read.c - verbs that only read: get, ls, children, events, result, wait, explain.
 */
#include "cli/verbs.h"

#include "base/clock.h"
#include "cli/print.h"
#include "cli/short_id.h"
#include "cli/table.h"
#include "cli/text.h"
#include "model/limits.h"
#include "model/states.h"
#include "model/times.h"
#include "wire/wire.h"

int fa_verb_get(struct fa_cli *cli)
{
    struct fa_op op = {.kind = FA_OP_GET};
    const char *key = fa_flag(cli, "key"), *type = fa_flag(cli, "type");
    int code;

    if (cli->arg_count == 1 && (key || type))
        return fa_cli_usage(cli, "give an ID, or --type and --key, not both");
    if (cli->arg_count == 0 && !key)
        return fa_cli_usage(cli, "which task? Give its ID, or --key");
    if (cli->arg_count == 1) {
        op.id = cli->args[0];
    } else {
        op.kind = FA_OP_GET_BY_KEY;
        op.name.ns = cli->ns;
        op.name.type = type;
        op.name.key = key;
    }
    code = fa_cli_run(cli, &op);
    if (code == FA_EXIT_OK)
        fa_print_task(cli, op.task);
    return code;
}

/* ------------------------------------------------------------------------------------------
 * Lists
 */

struct listing {
    struct fa_cli *cli;
    struct fa_out_list out;
    size_t count;
};

static void list_begin(struct listing *list, struct fa_cli *cli)
{
    *list = (struct listing){.cli = cli};
    if (cli->format != FA_CLI_TABLE)
        fa_out_list_begin(cli, &list->out, "items");
}

static void list_page(struct listing *list, const struct faina_tasks *tasks)
{
    struct fa_cli *cli = list->cli;

    list->count += tasks->count;
    if (cli->format == FA_CLI_TABLE) {
        if (tasks->count > 0)
            fa_print_task_table(cli, tasks->items, tasks->count,
                                fa_task_ids_of(cli, tasks->items, tasks->count), 0);
        return;
    }
    for (size_t i = 0; i < tasks->count && !fa_out_is_broken(cli); i++)
        fa_wire_put_task(fa_out_list_item(&list->out), &tasks->items[i]);
}

static void list_end(struct listing *list, const char *next_cursor)
{
    struct fa_cli *cli = list->cli;

    if (cli->format != FA_CLI_TABLE) {
        fa_out_list_end_page(&list->out, next_cursor);
        return;
    }
    fflush(stdout); /* before stderr, in case both are the same terminal */
    if (list->count == 0)
        fa_cli_note(cli, "No tasks.");
    else if (next_cursor)
        fa_cli_note(cli, "There are more: --all, or --cursor %s", next_cursor);
}

/* Runs the operation (LIST or CHILDREN) page by page, and prints the tasks: all of them, or up to
 * *limit, since a page may have fewer. NULL: one page. */
static int list_all(struct fa_cli *cli, struct fa_op *op, const char **cursor, bool is_all,
                    int *limit)
{
    struct fa_arena pages[2] = {{0}, {0}}; /* the cursor of one page is needed for the next */
    struct listing list;
    size_t page = 0;
    int code = fa_cli_open(cli);

    if (code != FA_EXIT_OK)
        return code;
    op->arena = &pages[0];
    code = fa_cli_run(cli, op);
    if (code != FA_EXIT_OK)
        goto out;
    list_begin(&list, cli);
    for (;;) {
        list_page(&list, op->tasks);
        if (!op->tasks->next_cursor || fa_out_is_broken(cli))
            break;
        if (!is_all && (!limit || op->tasks->count >= (size_t)*limit))
            break;
        if (!is_all)
            *limit -= (int)op->tasks->count;
        *cursor = op->tasks->next_cursor;
        page++;
        op->arena = &pages[page % 2];
        fa_arena_reset(op->arena);
        code = fa_cli_run(cli, op);
        if (code != FA_EXIT_OK)
            break;
    }
    list_end(&list, code == FA_EXIT_OK ? op->tasks->next_cursor : *cursor);
out:
    fa_arena_finish(&pages[0]);
    fa_arena_finish(&pages[1]);
    return code;
}

static int read_order(struct fa_cli *cli, struct faina_query *query)
{
    static const char *const sorts[] = {"createdAt", "updatedAt", "priority", "runAt"};
    const char *sort = fa_flag(cli, "sort"), *order = fa_flag(cli, "order");
    size_t i = 0;

    while (sort && i < FA_COUNT(sorts) && strcmp(sort, sorts[i]) != 0)
        i++;
    if (i == FA_COUNT(sorts))
        return fa_cli_usage(cli, "--sort is createdAt, updatedAt, priority or runAt, not \"%.40s\"",
                            sort);
    query->sort = (enum faina_sort)i; /* in this order */
    query->ascending = order && strcmp(order, "asc") == 0;
    if (order && !query->ascending && strcmp(order, "desc") != 0)
        return fa_cli_usage(cli, "--order is desc or asc, not \"%.40s\"", order);
    return FA_EXIT_OK;
}

int fa_verb_ls(struct fa_cli *cli)
{
    struct faina_query query = {.ns = cli->ns, .brief = cli->format == FA_CLI_TABLE};
    struct fa_op op = {.kind = FA_OP_LIST, .query = &query};
    bool is_all = fa_flag_is_given(cli, "all");
    int64_t limit = is_all ? FA_LIST_LIMIT_MAX : FA_LIST_LIMIT_DEFAULT;
    int code = fa_flag_statuses(cli, &query.statuses);

    if (code == FA_EXIT_OK)
        code = fa_flag_int(cli, "limit", 1, FA_LIST_LIMIT_MAX, &limit);
    if (code == FA_EXIT_OK)
        code = fa_flag_time(cli, "after", true, &query.created_after_us);
    if (code == FA_EXIT_OK)
        code = fa_flag_time(cli, "before", true, &query.created_before_us);
    if (code == FA_EXIT_OK)
        code = fa_flag_time(cli, "updated-after", true, &query.updated_after_us);
    if (code == FA_EXIT_OK)
        code = fa_flag_time(cli, "updated-before", true, &query.updated_before_us);
    if (code == FA_EXIT_OK)
        code = fa_flag_time(cli, "ended-after", true, &query.ended_after_us);
    if (code == FA_EXIT_OK)
        code = fa_flag_time(cli, "ended-before", true, &query.ended_before_us);
    if (code == FA_EXIT_OK)
        code = read_order(cli, &query);
    if (code != FA_EXIT_OK)
        return code;
    query.limit = (int)limit;
    query.worker_id = fa_flag(cli, "worker");
    query.resource = fa_flag(cli, "resource");
    query.error_kind = fa_flag(cli, "error-kind");
    query.origin = fa_flag(cli, "origin");
    query.schedule = fa_flag(cli, "schedule");
    query.type = fa_flag(cli, "type");
    query.name = fa_flag(cli, "name");
    query.team_id = fa_flag(cli, "team");
    query.parent_id = fa_flag(cli, "parent");
    query.created_by = fa_flag(cli, "created-by");
    query.group = fa_flag(cli, "group");
    query.idempotency_key = fa_flag(cli, "key");
    query.cursor = fa_flag(cli, "cursor");
    code = fa_flag_where(cli, &query);
    if (code == FA_EXIT_OK)
        code = fa_cli_task_id(cli, &query.parent_id);
    return code == FA_EXIT_OK ? list_all(cli, &op, &query.cursor, is_all, &query.limit) : code;
}

int fa_verb_children(struct fa_cli *cli)
{
    struct fa_op op = {.kind = FA_OP_CHILDREN, .id = cli->args[0]};
    int64_t limit = 0;
    int code = fa_flag_int(cli, "limit", 1, FA_LIST_LIMIT_MAX, &limit);

    if (code != FA_EXIT_OK)
        return code;
    op.page.limit = (int)limit;
    op.page.cursor = fa_flag(cli, "cursor");
    return list_all(cli, &op, &op.page.cursor, false, NULL);
}

/* ------------------------------------------------------------------------------------------
 * Events
 */

static void print_event_table(struct fa_cli *cli, const struct faina_events *events)
{
    static const struct fa_column columns[] = {
        {"TIME (UTC)", 0},
        {"EVENT", 0},
        {"STATUS", 0},
        {"ACTOR", 0},
        {"STATE", FA_COLUMN_FLEXIBLE},
        {"WORKER", FA_COLUMN_FLEXIBLE},
        {"DETAIL", FA_COLUMN_FLEXIBLE},
    };
    struct fa_table table;

    fa_table_init(&table, columns, FA_COUNT(columns));
    for (size_t i = 0; i < events->count; i++) {
        const struct faina_event *event = &events->items[i];
        char time[FA_TIME_SIZE];

        fa_time_format(event->at_us, time);
        fa_table_addf(&table, "%.10s %.12s", time, time + 11);
        fa_table_add(&table, FA_PLAIN, event->what);
        fa_table_add(&table, fa_style_of(event->status), faina_status_name(event->status));
        fa_table_add(&table, FA_PLAIN, faina_actor_name(event->actor));
        fa_table_add(&table, FA_PLAIN, event->state);
        fa_table_add(&table, FA_PLAIN, event->worker_id);
        fa_table_add(&table, FA_PLAIN, event->detail);
    }
    fa_table_print(&table, cli, 0);
    fa_table_finish(&table);
}

static void print_events_json(struct fa_cli *cli, const struct faina_events *events, const char *id)
{
    struct fa_out_list list;

    fa_out_list_begin(cli, &list, "items");
    for (size_t i = 0; i < events->count; i++)
        fa_wire_put_event(fa_out_list_item(&list), &events->items[i], id);
    fa_out_list_end(&list);
}

int fa_verb_events(struct fa_cli *cli)
{
    struct fa_op op = {.kind = FA_OP_EVENTS, .id = cli->args[0]};
    int64_t limit = 0;
    int code = fa_flag_int(cli, "limit", 1, FA_LIST_LIMIT_MAX, &limit);

    if (code != FA_EXIT_OK)
        return code;
    op.page.limit = (int)limit;
    code = fa_cli_run(cli, &op);
    if (code != FA_EXIT_OK)
        return code;
    if (cli->format == FA_CLI_TABLE)
        print_event_table(cli, op.events);
    else
        print_events_json(cli, op.events, op.id);
    return code;
}

/* ------------------------------------------------------------------------------------------
 * One task
 */

int fa_verb_result(struct fa_cli *cli)
{
    struct fa_op op = {.kind = FA_OP_GET, .id = cli->args[0]};
    struct faina_error err;
    const char *message;
    int code = fa_cli_run(cli, &op);

    if (code != FA_EXIT_OK)
        return code;
    if (op.task->status == FAINA_COMPLETED) {
        fa_outf(cli, "%s\n", op.task->output ? op.task->output : "null");
        return FA_EXIT_OK;
    }
    message = fa_print_error_message(&cli->arena, op.task);
    if (!fa_status_is_ended(op.task->status))
        fa_error_set(&err, FAINA_TASK_ACTIVE, "task %s has no result yet: it is %s", op.id,
                     faina_status_name(op.task->status));
    else if (op.task->status == FAINA_CANCELLED)
        fa_error_set(&err, FAINA_TASK_FAILED, "task %s has no result: it was cancelled", op.id);
    else
        fa_error_set(&err, FAINA_TASK_FAILED, "task %s has no result: it failed: %.300s", op.id,
                     message ? message : "no reason was given");
    return fa_cli_fail(cli, &err);
}

int fa_verb_wait(struct fa_cli *cli)
{
    struct fa_arena arena = {0};
    struct faina_task *task = NULL;
    int64_t timeout_ms = -1;
    int code = fa_flag_duration(cli, "timeout", &timeout_ms);

    if (code == FA_EXIT_OK)
        code = fa_cli_wait_end(cli, cli->args[0], timeout_ms, &arena, &task);
    if (code == FA_EXIT_OK) {
        fa_print_change(cli, task);
        code = task->status == FAINA_COMPLETED ? FA_EXIT_OK : FA_EXIT_FAILURE;
    }
    fa_arena_finish(&arena);
    return code;
}

/* "it is due in 4 min" with a capital letter and a full stop. */
static void print_sentence(struct fa_cli *cli, const char *text)
{
    char *clean = fa_text_clean(&cli->arena, text);
    size_t len = strlen(clean);

    if (clean[0] >= 'a' && clean[0] <= 'z')
        clean[0] = (char)(clean[0] - 'a' + 'A');
    fa_outf(cli, "%s%s\n", clean, len > 0 && clean[len - 1] == '.' ? "" : ".");
}

int fa_verb_explain(struct fa_cli *cli)
{
    struct fa_op op = {.kind = FA_OP_EXPLAIN, .id = cli->args[0]};
    int code = fa_cli_run(cli, &op);

    if (code != FA_EXIT_OK)
        return code;
    if (cli->format != FA_CLI_TABLE) {
        fa_out_shape(cli, &fa_shape_explanation, op.explanation);
        return code;
    }
    print_sentence(cli, op.explanation->summary);
    /* A single reason is the same as the summary. */
    for (size_t i = 0; op.explanation->count > 1 && i < op.explanation->count; i++)
        fa_outf(cli, "  - %s\n", fa_text_clean(&cli->arena, op.explanation->reasons[i].message));
    if (op.explanation->line)
        print_sentence(cli, op.explanation->line);
    return code;
}
