/* verb_failures.c - failures: groups of failures that are alike; stats --errors: their counts. */
#include "cli/table.h"
#include "cli/text.h"
#include "cli/verbs.h"

#include "base/clock.h"
#include "model/failure_group.h"
#include "model/limits.h"
#include "wire/wire_reports.h"

#include <stdlib.h>

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

/* By type and kind ------------------------------------------------------------------------- */

/* The failures of a type with one kind of error. */
struct kind_count {
    const struct fa_failure_group *largest; /* also its type and kind */
    int64_t count, last_us;
    size_t groups;
};

static bool is_of_kind(const struct kind_count *kind, const struct fa_failure_group *group)
{
    const struct fa_failure_group *other = kind->largest;

    return strcmp(other->ns, group->ns) == 0 && strcmp(other->type, group->type) == 0 &&
           strcmp(other->kind ? other->kind : "", group->kind ? group->kind : "") == 0;
}

static int by_count(const void *a, const void *b)
{
    const struct kind_count *x = a, *y = b;

    return (x->count < y->count) - (x->count > y->count);
}

static struct kind_count *count_kinds(struct fa_arena *arena,
                                      const struct fa_failure_groups *groups, size_t *count)
{
    struct kind_count *kinds = fa_arena_zero(arena, groups->count + 1, sizeof(*kinds));

    *count = 0;
    for (size_t i = 0; i < groups->count; i++) {
        const struct fa_failure_group *group = &groups->items[i];
        size_t k = 0;

        while (k < *count && !is_of_kind(&kinds[k], group))
            k++;
        if (k == *count)
            kinds[(*count)++].largest = group;
        if (group->count > kinds[k].largest->count)
            kinds[k].largest = group;
        kinds[k].count += group->count;
        kinds[k].groups++;
        if (group->last_us > kinds[k].last_us)
            kinds[k].last_us = group->last_us;
    }
    qsort(kinds, *count, sizeof(*kinds), by_count);
    return kinds;
}

static void put_kind(struct fa_json_writer *w, const struct kind_count *kind)
{
    fa_json_begin_object(w);
    fa_json_set_str(w, "namespace", kind->largest->ns);
    fa_json_set_str(w, "type", kind->largest->type);
    fa_json_set_str(w, "kind", kind->largest->kind);
    fa_json_set_int(w, "count", kind->count);
    fa_json_set_int(w, "groups", (int64_t)kind->groups);
    fa_json_key(w, "lastAt");
    fa_wire_put_time(w, kind->last_us);
    fa_json_set_str(w, "message", kind->largest->message);
    fa_json_end_object(w);
}

static void print_kinds(struct fa_cli *cli, const struct kind_count *kinds, size_t count)
{
    bool has_ns = fa_cli_is_all_namespaces(cli);
    static const struct fa_column columns[] = {
        {"TYPE", FA_COLUMN_FLEXIBLE, 16},
        {"KIND", FA_COLUMN_FLEXIBLE},
        {"COUNT", FA_COLUMN_RIGHT},
        {"GROUPS", FA_COLUMN_RIGHT},
        {"LAST", 0},
        {"MOST OF THEM", FA_COLUMN_FLEXIBLE},
    };
    struct fa_table table;
    char text[FA_TEXT_COUNT_SIZE];

    fa_table_init(&table, columns, FA_COUNT(columns));
    for (size_t i = 0; i < count; i++) {
        const struct fa_failure_group *group = kinds[i].largest;

        fa_table_add(&table, FA_PLAIN,
                     has_ns ? fa_arena_printf(&table.arena, "%s/%s", group->ns, group->type)
                            : group->type);
        fa_table_add(&table, FA_PLAIN, group->kind);
        fa_table_add(&table, FA_RED, fa_text_count(kinds[i].count, text));
        fa_table_addf(&table, "%zu", kinds[i].groups);
        fa_table_add(&table, FA_DIM,
                     fa_text_roughly(&table.arena, kinds[i].last_us, fa_clock_now_us()));
        fa_table_add(&table, FA_PLAIN, group->message);
    }
    fa_table_print(&table, cli, 0);
    fa_table_finish(&table);
}

int fa_stats_errors(struct fa_cli *cli)
{
    struct fa_failure_query query = {.ns = cli->ns, .limit = FA_LIST_LIMIT_MAX};
    struct fa_op op = {.kind = FA_OP_FAILURES, .failure_query = &query};
    int code = fa_cli_run(cli, &op);
    struct kind_count *kinds;
    struct fa_out_list list;
    size_t count;

    if (code != FA_EXIT_OK)
        return code;
    kinds = count_kinds(&cli->arena, op.failures, &count);
    if (cli->format != FA_CLI_TABLE) {
        fa_out_list_begin(cli, &list, "items");
        for (size_t i = 0; i < count; i++)
            put_kind(fa_out_list_item(&list), &kinds[i]);
        fa_out_list_end(&list);
    } else if (count == 0) {
        fa_cli_note(cli, "%s", view.none);
    } else {
        print_kinds(cli, kinds, count);
    }
    return FA_EXIT_OK;
}
