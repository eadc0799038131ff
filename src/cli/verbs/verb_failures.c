/* verb_failures.c - failures: groups of failures that are alike. */
#include "cli/table.h"
#include "cli/text.h"
#include "cli/verbs.h"

#include "base/clock.h"
#include "model/failure_group.h"
#include "model/limits.h"
#include "wire/wire_reports.h"

static void add_group(struct fa_table *table, const void *item)
{
    const struct fa_failure_group *group = item;
    char count[FA_TEXT_COUNT_SIZE];

    fa_table_add(table, FA_PLAIN, group->id);
    fa_table_add(table, FA_RED, fa_arena_strdup(&table->arena, fa_text_count(group->count, count)));
    fa_table_add(table, FA_PLAIN, group->type);
    fa_table_add(table, FA_PLAIN, group->kind);
    fa_table_add(table, FA_PLAIN, group->message);
    fa_table_add(table, FA_DIM, fa_text_roughly(&table->arena, group->last_us, fa_clock_now_us()));
}

static const struct fa_list_view view = {
    .shape = &fa_shape_failures,
    .none = "No failures.",
    .columns = {{"GROUP", 0},
                {"COUNT", FA_COLUMN_RIGHT},
                {"TYPE", 0},
                {"KIND", 0},
                {"MESSAGE", FA_COLUMN_FLEXIBLE},
                {"LAST", 0}},
    .add_row = add_group,
};

int fa_verb_failures(struct fa_cli *cli)
{
    struct fa_failure_query query = {.ns = cli->ns, .type = fa_flag(cli, "type")};
    struct fa_op op = {.kind = FA_OP_FAILURES, .failure_query = &query};
    int64_t limit = FA_LIST_LIMIT_DEFAULT;
    int code = fa_flag_time(cli, "since", true, &query.since_us);

    if (code == FA_EXIT_OK)
        code = fa_flag_int(cli, "limit", 1, FA_LIST_LIMIT_MAX, &limit);
    if (code != FA_EXIT_OK)
        return code;
    query.limit = (int)limit;
    return fa_list_items(cli, &op, &view, false);
}
