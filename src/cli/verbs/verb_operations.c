/* verb_operations.c - operations ls, get and cancel; and the --all of other verbs. */
#include "cli/verbs/verb_operations.h"

#include "base/clock.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "cli/text.h"
#include "cli/verbs.h"
#include "wire/wire_bulk.h"

#include <time.h>

#define POLL_FIRST_MS 5
#define POLL_LAST_MS 200

/* ------------------------------------------------------------------------------------------
 * Running one
 */

int fa_bulk_flags(struct fa_cli *cli, struct fa_bulk_request *request)
{
    int code = fa_flag_statuses(cli, &request->query.statuses);

    request->has_filter = request->all = true;
    request->query.ns = cli->ns;
    request->query.type = fa_flag(cli, "type");
    request->reason = cli->reason;
    return code == FA_EXIT_OK ? fa_flag_where(cli, &request->query) : code;
}

/* A server of an earlier version doesn't know the route. */
bool fa_bulk_is_supported(struct fa_cli *cli)
{
    struct fa_op op = {
        .kind = FA_OP_BULK_LIST, .part = {.is_asked = true, .limit = 1}, .arena = &cli->arena};

    fa_service_run(cli->service, &op, 1);
    return op.code != FAINA_NOT_SUPPORTED && op.code != FAINA_NOT_FOUND;
}

/* A script without --yes always fails, not only when there is a task. */
int fa_bulk_confirm(struct fa_cli *cli, const char *verb, int64_t count)
{
    if (count == 0 && fa_cli_can_ask(cli))
        return FA_EXIT_OK;
    return fa_cli_confirm(cli, fa_arena_printf(&cli->arena, "%s %s?", verb,
                                               fa_text_plural(&cli->arena, count, "task")));
}

/* A part at a time: each reads a bounded number of rows. */
static int count(struct fa_cli *cli, const struct fa_bulk_request *request, int64_t *out)
{
    struct fa_op op = {.kind = FA_OP_BULK_COUNT, .bulk = {request, NULL}};
    struct fa_progress progress;
    int code;

    *out = 0;
    fa_progress_start(&progress, cli, "Counting", 0);
    do {
        code = fa_cli_run(cli, &op);
        *out += code == FA_EXIT_OK ? op.count : 0;
        op.bulk.cursor = op.next_cursor;
        fa_progress_show(&progress, *out);
    } while (code == FA_EXIT_OK && op.bulk.cursor);
    fa_progress_stop(&progress);
    return code;
}

static void print_counter(struct fa_cli *cli, const struct fa_bulk_verb *verb,
                          const struct fa_bulk *bulk)
{
    struct fa_out_json json;

    if (cli->format == FA_CLI_TABLE) {
        fa_outf(cli, "%s %s", verb->done, fa_text_plural(&cli->arena, bulk->done, "task"));
        if (bulk->failed > 0)
            fa_outf(cli, ", %lld refused", (long long)bulk->failed);
        fa_outf(cli, "\n");
        return;
    }
    fa_out_json_begin(cli, &json);
    fa_json_begin_object(&json.writer);
    fa_json_key(&json.writer, verb->counter);
    fa_json_put_int(&json.writer, bulk->done);
    if (bulk->failed > 0)
        fa_json_set_int(&json.writer, "refused", bulk->failed);
    fa_json_end_object(&json.writer);
    fa_out_json_end(cli, &json);
}

static void print_matched(struct fa_cli *cli, int64_t matched)
{
    struct fa_out_json json;

    if (cli->format == FA_CLI_TABLE) {
        fa_outf(cli, "%s\n", fa_text_plural(&cli->arena, matched, "task"));
        return;
    }
    fa_out_json_begin(cli, &json);
    fa_json_begin_object(&json.writer);
    fa_json_set_int(&json.writer, "matched", matched);
    fa_json_end_object(&json.writer);
    fa_out_json_end(cli, &json);
}

static int report(struct fa_cli *cli, const struct fa_bulk_verb *verb, const struct fa_bulk *bulk)
{
    print_counter(cli, verb, bulk);
    fflush(stdout); /* before stderr, in case both are the same terminal */
    if (bulk->status == FA_BULK_COMPLETED && bulk->failed == 0)
        return FA_EXIT_OK;
    if (bulk->status == FA_BULK_CANCELLED)
        fa_cli_note(cli, "faina: the operation was cancelled before its end");
    else if (bulk->status == FA_BULK_FAILED)
        fa_cli_note(cli, "faina: the operation has failed: %s",
                    bulk->error ? bulk->error : "no reason is known");
    else
        fa_cli_note(cli, "faina: %s refused the change, for example because of their status",
                    fa_text_plural(&cli->arena, bulk->failed, "task"));
    return FA_EXIT_FAILURE;
}

/* Waits for the end of an operation. It goes on when this program is ended. */
static int await(struct fa_cli *cli, const char *id, struct fa_progress *progress,
                 struct fa_bulk *out)
{
    struct fa_arena arena = {0};
    int64_t pause_ms = POLL_FIRST_MS;
    int code;

    for (;;) {
        struct fa_op op = {.kind = FA_OP_BULK_LIST, .id = id, .arena = &arena};

        fa_arena_reset(&arena);
        code = fa_cli_run(cli, &op);
        if (code != FA_EXIT_OK)
            break;
        *out = op.bulks->items[0];
        if (progress->total < out->matched)
            progress->total = out->matched;
        fa_progress_show(progress, out->done + out->failed);
        if (out->status != FA_BULK_RUNNING)
            break;
        nanosleep(
            &(struct timespec){.tv_sec = pause_ms / 1000, .tv_nsec = pause_ms % 1000 * 1000000},
            NULL);
        pause_ms = pause_ms * 2 < POLL_LAST_MS ? pause_ms * 2 : POLL_LAST_MS;
    }
    if (code == FA_EXIT_OK && out->error)
        out->error = fa_arena_strdup(&cli->arena, out->error);
    fa_arena_finish(&arena);
    return code;
}

static int start(struct fa_cli *cli, const struct fa_bulk_verb *verb,
                 const struct fa_bulk_request *request, int64_t matched)
{
    struct fa_op op = {.kind = FA_OP_BULK, .bulk = {request, NULL}};
    struct fa_progress progress;
    struct fa_bulk bulk;
    int code = fa_cli_run(cli, &op);

    if (code != FA_EXIT_OK)
        return code;
    fa_progress_start(&progress, cli, verb->doing, matched);
    fa_progress_show(&progress, 0);
    code = await(cli, op.bulk_answer->id, &progress, &bulk);
    fa_progress_stop(&progress);
    if (code != FA_EXIT_OK) {
        fa_cli_note(cli, "faina: the operation %s may still run: see faina operations",
                    op.bulk_answer->id);
        return code;
    }
    return report(cli, verb, &bulk);
}

int fa_bulk_run(struct fa_cli *cli, const struct fa_bulk_verb *verb,
                const struct fa_bulk_request *request)
{
    const struct fa_bulk nothing = {.status = FA_BULK_COMPLETED};
    int64_t matched;
    int code = count(cli, request, &matched);

    if (code != FA_EXIT_OK)
        return code;
    if (fa_flag_is_given(cli, "dry-run")) {
        print_matched(cli, matched);
        return FA_EXIT_OK;
    }
    code = fa_bulk_confirm(cli, verb->verb, matched);
    if (code != FA_EXIT_OK)
        return code;
    return matched == 0 ? report(cli, verb, &nothing) : start(cli, verb, request, matched);
}

/* ------------------------------------------------------------------------------------------
 * The verbs
 */

static void add_operation(struct fa_table *table, const void *item)
{
    static const enum fa_style styles[FA_BULK_STATUS_COUNT] = {
        [FA_BULK_RUNNING] = FA_CYAN,
        [FA_BULK_COMPLETED] = FA_GREEN,
        [FA_BULK_CANCELLED] = FA_DIM,
        [FA_BULK_FAILED] = FA_RED,
    };
    const struct fa_bulk *bulk = item;
    char count[FA_TEXT_COUNT_SIZE];

    fa_table_add(table, FA_PLAIN, fa_arena_strdup(&table->arena, bulk->id));
    fa_table_add(table, FA_PLAIN, fa_bulk_kind_word((int)bulk->kind));
    fa_table_add(table, styles[bulk->status], fa_bulk_status_word((int)bulk->status));
    fa_table_add(table, FA_PLAIN,
                 fa_arena_strdup(&table->arena, fa_text_count(bulk->matched, count)));
    fa_table_add(table, FA_PLAIN, fa_arena_strdup(&table->arena, fa_text_count(bulk->done, count)));
    fa_table_add(table, bulk->failed > 0 ? FA_RED : FA_PLAIN,
                 fa_arena_strdup(&table->arena, fa_text_count(bulk->failed, count)));
    fa_table_add(table, FA_DIM,
                 fa_text_roughly(&table->arena, bulk->created_us, fa_clock_now_us()));
    fa_table_add(table, FA_PLAIN, bulk->created_by);
    fa_table_add(table, FA_PLAIN, bulk->error ? bulk->error : bulk->reason);
}

static const struct fa_list_view view = {
    .shape = &fa_shape_bulks,
    .none = "No operations on many tasks.",
    .columns = {{"ID", 0},
                {"KIND", 0},
                {"STATUS", 0},
                {"MATCHED", FA_COLUMN_RIGHT},
                {"DONE", FA_COLUMN_RIGHT},
                {"FAILED", FA_COLUMN_RIGHT},
                {"CREATED", 0},
                {"BY", 0},
                {"REASON", FA_COLUMN_FLEXIBLE}},
    .add_row = add_operation,
};

int fa_verb_operations_ls(struct fa_cli *cli)
{
    struct fa_op op = {.kind = FA_OP_BULK_LIST};

    return fa_list_items(cli, &op, &view, false);
}

int fa_verb_operations_get(struct fa_cli *cli)
{
    struct fa_op op = {.kind = FA_OP_BULK_LIST, .id = cli->args[0]};

    return fa_list_items(cli, &op, &view, true);
}

int fa_verb_operations_cancel(struct fa_cli *cli)
{
    struct fa_op op = {.kind = FA_OP_BULK_CANCEL, .id = cli->args[0]};
    struct fa_bulks one = {.count = 1};
    int code = fa_cli_run(cli, &op);

    if (code != FA_EXIT_OK)
        return code;
    one.items = op.bulk_answer;
    fa_print_list(cli, &view, &one, true);
    return FA_EXIT_OK;
}
