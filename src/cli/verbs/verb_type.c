/*
 * verb_type.c - type: the policies of types.
 */
#include "cli/table.h"
#include "cli/text.h"
#include "cli/verbs.h"

#include "model/backoff.h"
#include "model/limits.h"
#include "model/times.h"
#include "wire/type_body.h"

static const char *duration_text(struct fa_arena *arena, int64_t ms)
{
    char text[FA_TIME_SIZE];

    if (ms == 0)
        return NULL;
    fa_duration_format(ms * 1000, text);
    return fa_arena_strdup(arena, text);
}

static const char *retry_text(struct fa_arena *arena, struct faina_retry_policy retry)
{
    if (retry.base_ms == 0 && retry.factor == 0 && retry.max_ms == 0)
        return NULL;
    retry = fa_backoff_policy(retry);
    return fa_arena_printf(arena, "%s, %g, %s", duration_text(arena, retry.base_ms), retry.factor,
                           duration_text(arena, retry.max_ms));
}

static void add_row(struct fa_table *table, const void *item)
{
    const struct faina_type_policy *policy = item;
    struct fa_arena *arena = &table->arena;

    fa_table_add(table, FA_PLAIN, policy->type);
    fa_table_add(table, FA_PLAIN,
                 policy->max_attempts == 0 ? NULL
                 : policy->max_attempts == FAINA_UNLIMITED
                     ? "no limit"
                     : fa_arena_printf(arena, "%d", policy->max_attempts));
    fa_table_add(table, FA_PLAIN, retry_text(arena, policy->retry));
    fa_table_add(table, FA_PLAIN, duration_text(arena, policy->timeout_ms));
    fa_table_add(table, FA_PLAIN, duration_text(arena, policy->start_by_ms));
    fa_table_add(table, FA_PLAIN,
                 policy->has_priority ? fa_arena_printf(arena, "%d", policy->priority) : NULL);
    fa_table_add(table, FA_PLAIN,
                 fa_text_join(arena, policy->resources, policy->resource_count, " "));
    fa_table_add(table, FA_PLAIN, duration_text(arena, policy->unhandled_after_ms));
    fa_table_add(table, FA_PLAIN, policy->input_schema != NULL ? "yes" : NULL);
}

static const struct fa_list_view view = {
    .shape = &fa_shape_types,
    .none = "No type has policies.",
    .columns = {{"TYPE", 0},
                {"ATTEMPTS", FA_COLUMN_RIGHT},
                {"RETRY", 0},
                {"TIMEOUT", FA_COLUMN_RIGHT},
                {"START BY", FA_COLUMN_RIGHT},
                {"PRIORITY", FA_COLUMN_RIGHT},
                {"RESOURCES", FA_COLUMN_FLEXIBLE},
                {"UNHANDLED", FA_COLUMN_RIGHT},
                {"SCHEMA", 0}},
    .add_row = add_row,
};

static int list(struct fa_cli *cli, const char *type)
{
    struct fa_op op = {.kind = FA_OP_TYPE_LIST};

    op.name.ns = cli->ns;
    op.name.type = type;
    return fa_list_items(cli, &op, &view, type != NULL);
}

int fa_verb_type_ls(struct fa_cli *cli)
{
    return list(cli, cli->arg_count > 0 ? cli->args[0] : NULL);
}

static int read_policy(struct fa_cli *cli, struct faina_type_policy *policy)
{
    int64_t attempts = -1, priority = 0;
    int code = fa_flag_int(cli, "max-attempts", 0, FA_ATTEMPTS_MAX, &attempts);

    if (code == FA_EXIT_OK)
        code = fa_flag_int(cli, "priority", FA_PRIORITY_MIN, FA_PRIORITY_MAX, &priority);
    if (code == FA_EXIT_OK)
        code = fa_flag_retry(cli, &policy->retry);
    if (code == FA_EXIT_OK)
        code = fa_flag_duration(cli, "timeout", &policy->timeout_ms);
    if (code == FA_EXIT_OK)
        code = fa_flag_duration(cli, "start-by", &policy->start_by_ms);
    if (code == FA_EXIT_OK)
        code = fa_flag_duration(cli, "unhandled-after", &policy->unhandled_after_ms);
    if (code == FA_EXIT_OK)
        code = fa_flag_names(cli, "resource", &policy->resources, &policy->resource_count);
    if (code == FA_EXIT_OK)
        code = fa_flag_json(cli, "input-schema", &policy->input_schema);
    if (attempts >= 0)
        policy->max_attempts = attempts == 0 ? FAINA_UNLIMITED : (int)attempts;
    policy->has_priority = fa_flag(cli, "priority") != NULL;
    policy->priority = (int)priority;
    return code;
}

int fa_verb_type_set(struct fa_cli *cli)
{
    struct faina_type_policy policy = {.ns = cli->ns, .type = cli->args[0]};
    struct fa_op op = {.kind = FA_OP_TYPE_PUT, .type_policy = &policy};
    int code = read_policy(cli, &policy);

    if (code == FA_EXIT_OK)
        code = fa_flag_int(cli, "if-version", 1, INT64_MAX, &op.by.version);
    if (code == FA_EXIT_OK)
        code = fa_cli_run(cli, &op);
    return code == FA_EXIT_OK ? list(cli, cli->args[0]) : code;
}

int fa_verb_type_rm(struct fa_cli *cli)
{
    struct fa_op *ops = fa_arena_zero(&cli->arena, cli->arg_count, sizeof(*ops));

    for (size_t i = 0; i < cli->arg_count; i++) {
        ops[i] = (struct fa_op){.kind = FA_OP_TYPE_REMOVE};
        ops[i].name.ns = cli->ns;
        ops[i].name.type = cli->args[i];
    }
    return fa_cli_remove(cli, ops, "removed the policies of");
}
