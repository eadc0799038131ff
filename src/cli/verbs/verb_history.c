/* verb_history.c - history: what was submitted, ended and waited for, over time. */
#include "cli/table.h"
#include "cli/text.h"
#include "cli/verbs.h"

#include "base/clock.h"
#include "model/history.h"
#include "model/times.h"
#include "wire/wire_reports.h"

#include <stdlib.h>

#define BARS 30      /* of a sparkline */
#define TYPES_MAX 50 /* that are shown */

static int read_flags(struct fa_cli *cli, struct fa_history_query *query)
{
    int code = fa_flag_time(cli, "from", true, &query->from_us);

    if (code == FA_EXIT_OK)
        code = fa_flag_time(cli, "to", true, &query->to_us);
    if (code == FA_EXIT_OK)
        code = fa_flag_duration(cli, "step", &query->step_ms);
    return code;
}

static int read_history(struct fa_cli *cli, const struct fa_history_query *query,
                        struct fa_history_answer **out)
{
    struct fa_op op = {.kind = FA_OP_HISTORY, .history_query = query};
    int code = fa_cli_run(cli, &op);

    *out = op.history;
    return code;
}

/* One type, step by step ------------------------------------------------------------------- */

static const char *seconds_text(struct fa_arena *arena, const struct fa_history_spans *spans,
                                double seconds)
{
    char text[FA_TIME_SIZE];

    if (!spans->has_any)
        return NULL;
    fa_duration_format((int64_t)(seconds * 1e6), text);
    return fa_arena_strdup(arena, text);
}

static void add_step(struct fa_table *table, const void *from)
{
    const struct fa_history_item *item = from;
    char time[FA_TIME_SIZE];

    fa_time_format(item->at_us, time);
    memcpy(time + 16, "Z", 2); /* minutes */
    fa_table_add(table, FA_PLAIN, time);
    fa_table_addf(table, "%lld", (long long)item->submitted);
    fa_table_addf(table, "%lld", (long long)item->completed);
    fa_table_addf(table, "%lld", (long long)(item->failed + item->dead_lettered));
    fa_table_addf(table, "%lld", (long long)item->cancelled);
    fa_table_addf(table, "%lld", (long long)item->retried);
    fa_table_addf(table, "%lld", (long long)item->waiting);
    fa_table_addf(table, "%lld", (long long)item->running);
    fa_table_add(table, FA_PLAIN, seconds_text(&table->arena, &item->wait, item->wait.p95));
    fa_table_add(table, FA_PLAIN, seconds_text(&table->arena, &item->run, item->run.p95));
}

static const struct fa_list_view step_view = {
    .shape = &fa_shape_history,
    .none = "Nothing is kept of that time.",
    .columns = {{"AT", 0},
                {"SUBMITTED", FA_COLUMN_RIGHT},
                {"COMPLETED", FA_COLUMN_RIGHT},
                {"FAILED", FA_COLUMN_RIGHT},
                {"CANCELLED", FA_COLUMN_RIGHT},
                {"RETRIED", FA_COLUMN_RIGHT},
                {"WAITING", FA_COLUMN_RIGHT},
                {"RUNNING", FA_COLUMN_RIGHT},
                {"WAIT P95", FA_COLUMN_RIGHT},
                {"RUN P95", FA_COLUMN_RIGHT}},
    .add_row = add_step,
};

/* A line for each type --------------------------------------------------------------------- */

static const char *sparkline(struct fa_arena *arena, const struct fa_history_answer *history)
{
    static const char *const bars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    int64_t most = 0;
    struct fa_buf buf;
    const char *text;

    for (size_t i = 0; i < history->count; i++)
        if (history->items[i].completed > most)
            most = history->items[i].completed;
    fa_buf_init(&buf, 64 * 1024);
    for (size_t i = 0; i < history->count; i++) {
        int64_t n = history->items[i].completed;

        fa_buf_add_str(&buf, n == 0 ? " " : bars[(n * (int64_t)FA_COUNT(bars) - 1) / most]);
    }
    text = fa_arena_copy(arena, buf.ptr ? buf.ptr : "", buf.len);
    fa_buf_finish(&buf);
    return text;
}

static void add_type(struct fa_table *table, const char *type,
                     const struct fa_history_answer *history)
{
    int64_t submitted = 0, completed = 0, bad = 0, retried = 0;
    const struct fa_history_item *last = &history->items[history->count - 1];

    for (size_t i = 0; i < history->count; i++) {
        submitted += history->items[i].submitted;
        completed += history->items[i].completed;
        bad += history->items[i].failed + history->items[i].dead_lettered;
        retried += history->items[i].retried;
    }
    fa_table_add(table, FA_PLAIN, type);
    fa_table_add(table, FA_GREEN, sparkline(&table->arena, history));
    fa_table_addf(table, "%lld", (long long)submitted);
    fa_table_addf(table, "%lld", (long long)completed);
    fa_table_add(table, bad > 0 ? FA_RED : FA_PLAIN,
                 fa_arena_printf(&table->arena, "%lld", (long long)bad));
    fa_table_addf(table, "%lld", (long long)retried);
    fa_table_addf(table, "%lld", (long long)last->waiting);
    fa_table_addf(table, "%lld", (long long)last->running);
}

/* So that a line has about BARS steps. */
static void choose_step(struct fa_history_query *query)
{
    int64_t to = query->to_us > 0 ? query->to_us : fa_clock_now_us(), minutes;

    if (query->step_ms > 0)
        return;
    minutes = (query->from_us > 0 ? to - query->from_us : FA_HISTORY_HOUR_US) /
              (BARS * FA_HISTORY_MINUTE_US);
    query->step_ms = (minutes > 0 ? minutes : 1) * (FA_HISTORY_MINUTE_US / 1000);
}

static int print_types(struct fa_cli *cli, struct fa_history_query *query)
{
    static const struct fa_column columns[] = {
        {"TYPE", 0},
        {"TREND", 0},
        {"SUBMITTED", FA_COLUMN_RIGHT},
        {"COMPLETED", FA_COLUMN_RIGHT},
        {"FAILED", FA_COLUMN_RIGHT},
        {"RETRIED", FA_COLUMN_RIGHT},
        {"WAITING", FA_COLUMN_RIGHT},
        {"RUNNING", FA_COLUMN_RIGHT},
    };
    struct fa_op op = {.kind = FA_OP_STATS, .name = {.ns = cli->ns}};
    struct fa_history_answer *history;
    struct fa_table table;
    int code = fa_cli_run(cli, &op);

    choose_step(query);
    fa_table_init(&table, columns, FA_COUNT(columns));
    for (size_t i = 0; code == FA_EXIT_OK && i < op.stats->count && i < TYPES_MAX; i++) {
        query->type = op.stats->types[i].type;
        query->ns = op.stats->types[i].ns;
        code = read_history(cli, query, &history);
        if (code == FA_EXIT_OK && history->count > 0)
            add_type(&table, query->type, history);
    }
    if (code == FA_EXIT_OK && table.cell_count > 0)
        fa_table_print(&table, cli, 0);
    else if (code == FA_EXIT_OK)
        fa_cli_note(cli, "No types.");
    if (code == FA_EXIT_OK && (op.stats->has_more || op.stats->count > TYPES_MAX))
        fa_cli_note(cli, "There are more types: name one.");
    fa_table_finish(&table);
    return code;
}

int fa_verb_history(struct fa_cli *cli)
{
    struct fa_history_query query = {.ns = cli->ns,
                                     .type = cli->arg_count > 0 ? cli->args[0] : NULL};
    struct fa_op op = {.kind = FA_OP_HISTORY, .history_query = &query};
    int code = read_flags(cli, &query);

    if (code != FA_EXIT_OK)
        return code;
    if (cli->format == FA_CLI_TABLE && !query.type)
        return print_types(cli, &query);
    if (cli->format == FA_CLI_TABLE)
        return fa_list_items(cli, &op, &step_view, false);
    code = fa_cli_run(cli, &op);
    if (code == FA_EXIT_OK)
        fa_out_shape(cli, &fa_shape_history, op.history);
    return code;
}
