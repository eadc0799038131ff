/*
 * verb_workflow.c - emit, and the verbs of workflows.
 */
#include "cli/verbs/verb_workflow.h"

#include "base/clock.h"
#include "cli/table.h"
#include "cli/text.h"
#include "cli/verbs.h"
#include "model/limits.h"
#include "model/times.h"
#include "wire/wire_workflow.h"

/* ------------------------------------------------------------------------------------------
 * Emit
 */

int fa_verb_emit(struct fa_cli *cli)
{
    struct faina_emit event = {.ns = cli->ns, .type = cli->args[0], .id = fa_flag(cli, "id")};
    struct fa_op op = {.kind = FA_OP_EMIT, .emit = &event};
    int code = fa_arg_json(cli, 1, "data", &event.data);

    if (code == FA_EXIT_OK)
        code = fa_cli_run(cli, &op);
    if (code != FA_EXIT_OK)
        return code;
    if (cli->format != FA_CLI_TABLE) {
        fa_out_shape(cli, &fa_shape_emitted, op.emitted);
    } else {
        for (size_t i = 0; i < op.emitted->count; i++)
            fa_outf(cli, "%s\n", op.emitted->tasks[i]);
        if (op.emitted->count == 0 && op.emitted->failure_count == 0)
            fa_cli_note(cli, "No task was created: no trigger matched. See faina workflow why %s.",
                        op.emitted->id);
    }
    for (size_t i = 0; i < op.emitted->failure_count; i++)
        fa_cli_note(cli, "faina: trigger %s of %s: %s", op.emitted->failures[i].trigger,
                    op.emitted->failures[i].workflow, op.emitted->failures[i].message);
    return op.emitted->failure_count > 0 ? FA_EXIT_FAILURE : FA_EXIT_OK;
}

/* ------------------------------------------------------------------------------------------
 * Definitions
 */

/* The text of a file, or of stdin (-), whose format is detected. */
static int read_definition(struct fa_cli *cli, const char *file, struct fa_bytes *text,
                           enum fa_workflow_format *format)
{
    bool is_stdin = strcmp(file, "-") == 0;
    int code;

    if (!is_stdin && !fa_workflow_format_of(file, format))
        return fa_cli_usage(cli, "%s: a workflow is a .yaml, .yml or .json file, or - for stdin",
                            file);
    code = fa_input_read(cli, is_stdin ? file : fa_arena_printf(&cli->arena, "@%s", file),
                         "workflow", text);
    if (code == FA_EXIT_OK && is_stdin)
        *format = fa_json_check(*text, FA_WORKFLOW_DEPTH_MAX, "definition", FAINA_INVALID_REQUEST,
                                NULL) == FAINA_OK
                      ? FA_WORKFLOW_JSON
                      : FA_WORKFLOW_YAML;
    return code;
}

int fa_workflow_load(struct fa_cli *cli, const char *file, struct fa_bytes *text, bool *is_yaml,
                     const struct fa_workflow **out)
{
    struct fa_workflow_target target = {.ns = cli->ns};
    enum fa_workflow_format format = FA_WORKFLOW_JSON;
    struct fa_mistakes mistakes = {0};
    struct faina_error err = {0};
    int code;

    code = read_definition(cli, file, text, &format);
    if (code != FA_EXIT_OK)
        return code;
    if (strcmp(file, "-") == 0)
        file = "stdin";
    *is_yaml = format == FA_WORKFLOW_YAML;
    if (fa_workflow_read(*text, format, &target, &cli->arena, out, &mistakes, &err) == FAINA_OK)
        return FA_EXIT_OK;
    fa_cli_note(cli, "faina: %s is not a valid workflow", file);
    for (size_t i = 0; i < mistakes.count; i++) {
        fa_cli_note(cli, "%s:%d:%d: %s", file, mistakes.items[i].line, mistakes.items[i].column,
                    mistakes.items[i].message);
        fa_input_show(cli, *text, mistakes.items[i].line, mistakes.items[i].column);
    }
    if (mistakes.count == 0)
        fa_cli_note(cli, "%s: %s", file, err.message);
    return FA_EXIT_USAGE;
}

/* The stored definitions of the successful operations: one as an object, several as a list. */
static void print_stored(struct fa_cli *cli, const struct fa_op *ops, size_t count)
{
    struct fa_out_list list;

    fa_out_list_begin(cli, &list, count > 1 ? "items" : NULL);
    for (size_t i = 0; i < count; i++)
        if (ops[i].code == FAINA_OK)
            fa_wire_put_workflow(fa_out_list_item(&list), ops[i].workflow_answer);
    fa_out_list_end(&list);
}

static void print_applied(struct fa_cli *cli, const struct fa_op *ops, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (ops[i].code == FAINA_OK)
            fa_outf(cli, "%s version %lld%s%s\n", ops[i].workflow_answer->name,
                    (long long)ops[i].workflow_answer->version,
                    ops[i].existing ? ", unchanged" : "",
                    ops[i].workflow_answer->is_enabled ? "" : ", disabled");
}

/* Stores all files in one transaction, after all of them were checked. */
int fa_verb_workflow_apply(struct fa_cli *cli)
{
    struct fa_definition *definitions =
        fa_arena_zero(&cli->arena, cli->arg_count, sizeof(*definitions));
    struct fa_op *ops = fa_arena_zero(&cli->arena, cli->arg_count, sizeof(*ops));
    const struct fa_workflow *workflow;
    int code = FA_EXIT_OK;

    for (size_t i = 0; i < cli->arg_count; i++) {
        int one = fa_workflow_load(cli, cli->args[i], &definitions[i].text, &definitions[i].is_yaml,
                                   &workflow);

        code = code == FA_EXIT_OK ? one : code;
        definitions[i].ns = cli->ns;
        ops[i] = (struct fa_op){
            .kind = FA_OP_WORKFLOW_PUT, .definition = &definitions[i], .arena = &cli->arena};
    }
    if (code == FA_EXIT_OK)
        code = fa_cli_open(cli);
    if (code != FA_EXIT_OK)
        return code;
    fa_service_run(cli->service, ops, cli->arg_count);
    if (cli->format == FA_CLI_TABLE)
        print_applied(cli, ops, cli->arg_count);
    else if (fa_cli_count_done(ops, cli->arg_count) > 0)
        print_stored(cli, ops, cli->arg_count);
    return fa_cli_fail_refused(cli, ops, cli->arg_count);
}

static void add_workflow(struct fa_table *table, const void *item)
{
    const struct fa_stored_workflow *stored = item;
    const struct fa_workflow *workflow = fa_workflow_of(&table->arena, stored);
    char time[FA_TIME_SIZE];

    fa_time_format(stored->updated_us, time);
    fa_table_add(table, FA_PLAIN, stored->name);
    fa_table_add(table, FA_PLAIN, stored->ns);
    fa_table_addf(table, "%lld", (long long)stored->version);
    fa_table_add(table, stored->is_enabled ? FA_GREEN : FA_DIM, stored->is_enabled ? "yes" : "no");
    fa_table_addf(table, "%zu", workflow ? workflow->trigger_count : 0);
    fa_table_addf(table, "%zu", workflow ? workflow->join_count : 0);
    fa_table_add(table, FA_DIM, time);
}

static const struct fa_list_view workflow_view = {
    .shape = &fa_shape_workflows,
    .none = "No workflows.",
    .columns = {{"NAME", 0},
                {"NAMESPACE", 0},
                {"VERSION", FA_COLUMN_RIGHT},
                {"ENABLED", 0},
                {"TRIGGERS", FA_COLUMN_RIGHT},
                {"JOINS", FA_COLUMN_RIGHT},
                {"CHANGED", 0}},
    .add_row = add_workflow,
};

const struct fa_workflow *fa_workflow_of(struct fa_arena *arena,
                                         const struct fa_stored_workflow *stored)
{
    const struct fa_workflow *workflow = NULL;
    struct fa_mistakes mistakes = {0};

    if (fa_workflow_read(fa_str(stored->definition), FA_WORKFLOW_JSON, NULL, arena, &workflow,
                         &mistakes, NULL) != FAINA_OK)
        return NULL;
    return workflow;
}

int fa_verb_workflow_ls(struct fa_cli *cli)
{
    struct fa_op op = {.kind = FA_OP_WORKFLOW_LIST, .workflow = {.ns = cli->ns}};

    return fa_list_items(cli, &op, &workflow_view, false);
}

int fa_verb_workflow_get(struct fa_cli *cli)
{
    struct fa_op op = {.kind = FA_OP_WORKFLOW_LIST,
                       .workflow = {.ns = cli->ns, .name = cli->args[0]}};
    struct fa_out_json json;
    int code = fa_cli_run(cli, &op);

    if (code != FA_EXIT_OK)
        return code;
    fa_out_json_begin(cli, &json);
    if (fa_cli_wants_json(cli))
        fa_wire_put_workflow(&json.writer, &op.workflows->items[0]);
    else
        fa_json_put_raw(&json.writer, op.workflows->items[0].definition);
    fa_out_json_end(cli, &json);
    return code;
}

/* An operation for each name. A refused one doesn't stop the others. */
static struct fa_op *make_ops(struct fa_cli *cli, enum fa_op_kind kind, bool is_on)
{
    struct fa_op *ops = fa_arena_zero(&cli->arena, cli->arg_count + 1, sizeof(*ops));

    for (size_t i = 0; i < cli->arg_count; i++)
        ops[i] = (struct fa_op){
            .kind = kind,
            .workflow = {.ns = cli->ns, .name = cli->args[i], .enable = is_on},
            .arena = &cli->arena,
        };
    return ops;
}

int fa_verb_workflow_rm(struct fa_cli *cli)
{
    return fa_cli_remove(cli, make_ops(cli, FA_OP_WORKFLOW_REMOVE, false), "removed workflow");
}

static int set_enabled(struct fa_cli *cli, bool is_on)
{
    struct fa_op *ops;
    int code = fa_cli_open(cli);

    if (code != FA_EXIT_OK)
        return code;
    ops = make_ops(cli, FA_OP_WORKFLOW_ENABLE, is_on);
    fa_service_run(cli->service, ops, cli->arg_count);
    for (size_t i = 0; cli->format == FA_CLI_TABLE && i < cli->arg_count; i++)
        if (ops[i].code == FAINA_OK)
            fa_outf(cli, "%s workflow %s\n", is_on ? "enabled" : "disabled", cli->args[i]);
    if (cli->format != FA_CLI_TABLE && fa_cli_count_done(ops, cli->arg_count) > 0)
        print_stored(cli, ops, cli->arg_count);
    return fa_cli_fail_refused(cli, ops, cli->arg_count);
}

int fa_verb_workflow_enable(struct fa_cli *cli)
{
    return set_enabled(cli, true);
}

int fa_verb_workflow_disable(struct fa_cli *cli)
{
    return set_enabled(cli, false);
}

/* ------------------------------------------------------------------------------------------
 * Joins
 */

/* "extract.id3 completed, extract.exif failed" */
static const char *members_text(struct fa_arena *arena, const char *members)
{
    struct fa_json_iter it;
    struct fa_bytes type;
    struct fa_json member;
    const char *text = "";

    if (!members || fa_json_value(fa_str(members)).type != FA_JSON_OBJECT)
        return NULL;
    for (it = fa_json_iter(fa_json_value(fa_str(members))); fa_json_next(&it, &type, &member);) {
        const char *status = fa_json_member_text(member, "status", arena);

        text = fa_arena_printf(arena, "%s%s%s %s", text, text[0] ? ", " : "",
                               fa_json_unescape(type, arena), status ? status : "");
    }
    return text[0] ? text : NULL;
}

static void add_join(struct fa_table *table, const void *item)
{
    const struct fa_join_state *state = item;
    struct fa_arena *arena = &table->arena;

    fa_table_add(table, FA_PLAIN, state->key);
    fa_table_add(table, FA_PLAIN, state->workflow);
    fa_table_add(table, FA_PLAIN, state->name);
    fa_table_add(table, FA_YELLOW,
                 state->waits_for_count > 0
                     ? fa_text_join(arena, state->waits_for, state->waits_for_count, ", ")
                     : NULL);
    fa_table_add(table, FA_PLAIN, members_text(arena, state->members));
    fa_table_add(table, FA_PLAIN, fa_text_roughly(arena, state->deadline_us, fa_clock_now_us()));
    fa_table_addf(table, "%lld", (long long)state->round);
    fa_table_add(table, FA_PLAIN, state->last_outcome);
}

static const struct fa_list_view join_view = {
    .shape = &fa_shape_joins,
    .none = "No joins in progress.",
    .columns = {{"KEY", 0},
                {"WORKFLOW", 0},
                {"JOIN", 0},
                {"WAITS FOR", FA_COLUMN_FLEXIBLE},
                {"HAS", FA_COLUMN_FLEXIBLE},
                {"UNTIL", 0},
                {"ROUND", FA_COLUMN_RIGHT},
                {"LAST", 0}},
    .add_row = add_join,
};

/* The joins of all pages. */
static int find_joins(struct fa_cli *cli, struct fa_join_states *out)
{
    const char *cursor = NULL;
    size_t size = 0;

    do {
        struct fa_op op = {.kind = FA_OP_JOIN_LIST,
                           .join = {.ns = cli->ns,
                                    .workflow = cli->arg_count > 0 ? cli->args[0] : NULL,
                                    .key = fa_flag(cli, "key"),
                                    .limit = FA_LIST_LIMIT_MAX,
                                    .cursor = cursor}};
        int code = fa_cli_run(cli, &op);

        if (code != FA_EXIT_OK)
            return code;
        for (size_t i = 0; i < op.joins->count; i++) {
            out->items =
                fa_arena_grow(&cli->arena, out->items, out->count, &size, sizeof(*out->items));
            out->items[out->count++] = op.joins->items[i];
        }
        cursor = op.joins->next_cursor;
    } while (cursor);
    return FA_EXIT_OK;
}

int fa_verb_workflow_joins(struct fa_cli *cli)
{
    struct fa_join_states joins = {0};
    int code = find_joins(cli, &joins);

    if (code == FA_EXIT_OK)
        fa_print_list(cli, &join_view, &joins, false);
    return code;
}
