/*
 * verb_workflow_test.c - `workflow test` and `workflow why`: try definitions without side effects.
 *
 * The engine only lists events; matching and rendering happen here, with the engine's functions.
 */
#include "cli/verbs/verb_workflow.h"

#include "base/clock.h"
#include "cli/table.h"
#include "cli/text.h"
#include "cli/verbs.h"
#include "model/limits.h"
#include "model/workflow_try.h"
#include "wire/wire_workflow.h"

/* ------------------------------------------------------------------------------------------
 * A match expression
 */

static int test_match(struct fa_cli *cli)
{
    const struct fa_match *match = NULL;
    struct fa_match_verdict verdict;
    struct fa_match_data data;
    struct fa_out_json json;
    struct faina_error err;
    struct fa_bytes source;
    const char *text = NULL;
    int code;

    if (!fa_flag(cli, "match") || !fa_flag(cli, "data") || cli->arg_count > 0)
        return fa_cli_usage(cli, "give --match and --data, or a FILE");
    code = fa_flag_json(cli, "data", &text);
    if (code != FA_EXIT_OK)
        return code;
    if (fa_match_compile(fa_str(fa_flag(cli, "match")), &cli->arena, &match, &err) != FAINA_OK) {
        code = fa_cli_fail(cli, &err);
        fa_input_show(cli, fa_str(fa_flag(cli, "match")), err.line, err.column);
        return code;
    }
    fa_match_data_init(&data, fa_str(text));
    if (fa_match_run(match, &data, &verdict, &err) != FAINA_OK)
        return fa_cli_fail(cli, &err);
    if (cli->format != FA_CLI_TABLE) {
        fa_out_json_begin(cli, &json);
        fa_wire_put_verdict(&json.writer, match, &verdict);
        fa_out_json_end(cli, &json);
        return FA_EXIT_OK;
    }
    source = fa_match_source(match);
    fa_outf(cli, "%s, because %.*s is %s\n", verdict.is_match ? "true" : "false",
            (int)(verdict.to - verdict.from), source.ptr + verdict.from,
            verdict.clause_holds ? "true" : "false");
    return FA_EXIT_OK;
}

/* ------------------------------------------------------------------------------------------
 * Replaying events
 */

struct tally {
    int64_t events, matched, failed;
    const char *failure; /* the first */
};

static void print_match_result(struct fa_cli *cli, const struct fa_emitted_event *event,
                               const struct fa_workflow_trigger *trigger,
                               const struct fa_trigger_result *result)
{
    struct fa_out_json json;

    fa_out_json_begin(cli, &json);
    fa_json_begin_object(&json.writer);
    fa_json_set_str(&json.writer, "eventId", event->id);
    fa_json_set_str(&json.writer, "trigger", trigger->name);
    fa_json_set_raw(&json.writer, "task", result->has_failed ? NULL : result->task);
    fa_json_set_str(&json.writer, "error", result->has_failed ? result->task : NULL);
    fa_json_end_object(&json.writer);
    fa_out_json_end(cli, &json);
}

static void replay_event(struct fa_cli *cli, const struct fa_workflow *workflow,
                         const struct fa_emitted_event *event, struct tally *tallies,
                         struct fa_arena *arena)
{
    struct fa_match_data data;

    fa_match_data_init(&data, fa_str(event->data));
    for (size_t i = 0; i < workflow->trigger_count; i++) {
        const struct fa_workflow_trigger *trigger = &workflow->triggers[i];
        struct fa_trigger_result result;

        if (strcmp(trigger->on, event->type) != 0)
            continue;
        result = fa_trigger_try(arena, trigger, &data);
        tallies[i].events++;
        tallies[i].matched += result.is_match && !result.has_failed;
        tallies[i].failed += result.has_failed;
        if (result.has_failed && !tallies[i].failure)
            tallies[i].failure = fa_arena_strdup(&cli->arena, result.task);
        if (cli->format == FA_CLI_JSONL && (result.is_match || result.has_failed))
            print_match_result(cli, event, trigger, &result);
    }
}

static void print_join(struct fa_cli *cli, struct fa_table *table, const struct fa_join *join,
                       const struct fa_join_replay *replay)
{
    fa_table_add(table, FA_PLAIN, join->name);
    fa_table_add(table, FA_PLAIN,
                 fa_text_join(&cli->arena, join->task_types, join->task_type_count, ","));
    fa_table_addf(table, "%lld", (long long)replay->ends);
    fa_table_addf(table, "%lld", (long long)replay->fired);
    fa_table_addf(table, "%lld", (long long)replay->failed);
    fa_table_add(table, replay->failure ? FA_RED : FA_PLAIN,
                 replay->failure ? replay->failure
                 : replay->dropped + replay->waiting > 0
                     ? fa_arena_printf(&cli->arena, "%lld dropped, %lld not complete",
                                       (long long)replay->dropped, (long long)replay->waiting)
                     : NULL);
}

static void print_tallies(struct fa_cli *cli, const struct fa_workflow *workflow,
                          const struct tally *tallies, const struct fa_join_replay *joins)
{
    static const struct fa_column columns[] = {
        {"TRIGGER", 0},
        {"ON", 0},
        {"EVENTS", FA_COLUMN_RIGHT},
        {"TASKS", FA_COLUMN_RIGHT},
        {"FAILED", FA_COLUMN_RIGHT},
        {"WHY", FA_COLUMN_FLEXIBLE},
    };
    struct fa_table table;

    fa_table_init(&table, columns, FA_COUNT(columns));
    for (size_t i = 0; i < workflow->trigger_count; i++) {
        fa_table_add(&table, FA_PLAIN, workflow->triggers[i].name);
        fa_table_add(&table, FA_PLAIN, workflow->triggers[i].on);
        fa_table_addf(&table, "%lld", (long long)tallies[i].events);
        fa_table_addf(&table, "%lld", (long long)tallies[i].matched);
        fa_table_addf(&table, "%lld", (long long)tallies[i].failed);
        fa_table_add(&table, FA_RED, tallies[i].failure);
    }
    for (size_t i = 0; i < workflow->join_count; i++)
        print_join(cli, &table, &workflow->joins[i], &joins[i]);
    fa_table_print(&table, cli, 0);
    fa_table_finish(&table);
}

static void put_trigger(struct fa_json_writer *w, const struct fa_workflow_trigger *trigger,
                        const struct tally *tally)
{
    fa_json_begin_object(w);
    fa_json_set_str(w, "name", trigger->name);
    fa_json_set_str(w, "on", trigger->on);
    fa_json_set_int(w, "events", tally->events);
    fa_json_set_int(w, "tasks", tally->matched);
    fa_json_set_int(w, "failed", tally->failed);
    fa_json_set_str(w, "failure", tally->failure);
    fa_json_end_object(w);
}

static void put_join(struct fa_json_writer *w, const struct fa_join *join,
                     const struct fa_join_replay *replay)
{
    fa_json_begin_object(w);
    fa_json_set_str(w, "name", join->name);
    fa_json_set_int(w, "ends", replay->ends);
    fa_json_set_int(w, "tasks", replay->fired);
    fa_json_set_int(w, "failed", replay->failed);
    fa_json_set_int(w, "dropped", replay->dropped);
    fa_json_set_int(w, "notComplete", replay->waiting);
    fa_json_set_str(w, "failure", replay->failure);
    fa_json_end_object(w);
}

/* The table as an object. */
static void print_report(struct fa_cli *cli, const struct fa_workflow *workflow,
                         const struct tally *tallies, const struct fa_join_replay *joins)
{
    struct fa_out_json json;
    struct fa_json_writer *w = &json.writer;

    fa_out_json_begin(cli, &json);
    fa_json_begin_object(w);
    fa_json_set_str(w, "name", workflow->name);
    fa_json_key(w, "triggers");
    fa_json_begin_array(w);
    for (size_t i = 0; i < workflow->trigger_count; i++)
        put_trigger(w, &workflow->triggers[i], &tallies[i]);
    fa_json_end_array(w);
    fa_json_key(w, "joins");
    fa_json_begin_array(w);
    for (size_t i = 0; i < workflow->join_count; i++)
        put_join(w, &workflow->joins[i], &joins[i]);
    fa_json_end_array(w);
    fa_json_end_object(w);
    fa_out_json_end(cli, &json);
}

/* A server sends no data of events for a token without the scope read. */
static int check_data(struct fa_cli *cli, const struct fa_emitted_events *emitted_events)
{
    struct faina_error err;

    if (emitted_events->count == 0 || !emitted_events->items[0].redacted)
        return FA_EXIT_OK;
    fa_error_set(&err, FAINA_FORBIDDEN, "the data of events needs a token with the scope read");
    return fa_cli_fail(cli, &err);
}

static int replay(struct fa_cli *cli, const struct fa_workflow *workflow, int64_t last_ms)
{
    struct tally *tallies =
        fa_arena_zero(&cli->arena, workflow->trigger_count + 1, sizeof(*tallies));
    struct fa_join_replay *joins =
        fa_arena_zero(&cli->arena, workflow->join_count + 1, sizeof(*joins));
    int64_t since_us = fa_clock_now_us() - last_ms * 1000;
    struct fa_emitted_query query = {
        .ns = cli->ns, .since_us = since_us, .limit = FA_LIST_LIMIT_MAX};
    char cursor[FA_CURSOR_SIZE_MAX + 1];
    int code = FA_EXIT_OK;

    do {
        struct fa_arena arena = {0};
        struct fa_op op = {.kind = FA_OP_EMITTED_LIST, .emitted_query = &query, .arena = &arena};

        code = fa_cli_run(cli, &op);
        query.cursor = NULL;
        if (code == FA_EXIT_OK)
            code = check_data(cli, op.emitted_events);
        for (size_t i = 0; code == FA_EXIT_OK && i < op.emitted_events->count; i++)
            replay_event(cli, workflow, &op.emitted_events->items[i], tallies, &arena);
        if (code == FA_EXIT_OK && op.emitted_events->next_cursor) {
            snprintf(cursor, sizeof(cursor), "%s", op.emitted_events->next_cursor);
            query.cursor = cursor;
        }
        fa_arena_finish(&arena);
    } while (code == FA_EXIT_OK && query.cursor && !fa_out_is_broken(cli));
    for (size_t i = 0; code == FA_EXIT_OK && i < workflow->join_count; i++)
        code = fa_join_play(cli, &workflow->joins[i], since_us, &joins[i]);
    if (code == FA_EXIT_OK && cli->format == FA_CLI_TABLE)
        print_tallies(cli, workflow, tallies, joins);
    if (code == FA_EXIT_OK && cli->format == FA_CLI_JSON)
        print_report(cli, workflow, tallies, joins);
    return code;
}

static void print_valid(struct fa_cli *cli, const struct fa_workflow *workflow)
{
    struct fa_out_json json;

    if (cli->format == FA_CLI_TABLE) {
        fa_outf(cli, "%s is valid: %zu trigger%s, %zu join%s\n", workflow->name,
                workflow->trigger_count, workflow->trigger_count == 1 ? "" : "s",
                workflow->join_count, workflow->join_count == 1 ? "" : "s");
        return;
    }
    fa_out_json_begin(cli, &json);
    fa_json_begin_object(&json.writer);
    fa_json_set_str(&json.writer, "name", workflow->name);
    fa_json_set_int(&json.writer, "triggerCount", (int64_t)workflow->trigger_count);
    fa_json_set_int(&json.writer, "joinCount", (int64_t)workflow->join_count);
    fa_json_end_object(&json.writer);
    fa_out_json_end(cli, &json);
}

int fa_verb_workflow_test(struct fa_cli *cli)
{
    const struct fa_workflow *workflow = NULL;
    struct fa_bytes text;
    int64_t last_ms = 0;
    bool is_yaml;
    int code = fa_flag_duration(cli, "last", &last_ms);

    if (code != FA_EXIT_OK)
        return code;
    if (fa_flag(cli, "match") || fa_flag(cli, "data") || cli->arg_count == 0)
        return test_match(cli);
    code = fa_workflow_load(cli, cli->args[0], &text, &is_yaml, &workflow);
    if (code != FA_EXIT_OK)
        return code;
    if (fa_flag(cli, "last"))
        return replay(cli, workflow, last_ms);
    print_valid(cli, workflow);
    return FA_EXIT_OK;
}

/* ------------------------------------------------------------------------------------------
 * Why
 */

struct reason {
    const struct fa_stored_workflow *stored;
    const struct fa_workflow_trigger *trigger;
    struct fa_trigger_result result;
};

static const char *outcome(const struct reason *reason)
{
    if (!reason->stored->is_enabled)
        return "disabled";
    if (reason->result.has_failed)
        return "failed";
    return reason->result.is_match ? "matched" : "not matched";
}

static void print_reasons(struct fa_cli *cli, const struct reason *reasons, size_t count)
{
    static const struct fa_column columns[] = {
        {"WORKFLOW", 0}, {"TRIGGER", 0}, {"RESULT", 0}, {"DECIDED BY", FA_COLUMN_FLEXIBLE}};
    struct fa_table table;

    fa_table_init(&table, columns, FA_COUNT(columns));
    for (size_t i = 0; i < count; i++) {
        const struct fa_trigger_result *result = &reasons[i].result;

        fa_table_add(&table, FA_PLAIN, reasons[i].stored->name);
        fa_table_add(&table, FA_PLAIN, reasons[i].trigger->name);
        fa_table_add(&table,
                     result->has_failed ? FA_RED
                     : result->is_match ? FA_GREEN
                                        : FA_DIM,
                     outcome(&reasons[i]));
        fa_table_add(&table, FA_PLAIN,
                     result->has_failed ? result->task
                     : result->clause   ? result->clause
                                        : "it has no condition");
    }
    fa_table_print(&table, cli, 0);
    fa_table_finish(&table);
}

static void print_reasons_json(struct fa_cli *cli, const struct fa_emitted_event *event,
                               const struct reason *reasons, size_t count)
{
    struct fa_out_json json;
    struct fa_json_writer *w = &json.writer;

    fa_out_json_begin(cli, &json);
    fa_json_begin_object(w);
    fa_json_key(w, "event");
    fa_shape_put(w, &fa_shape_emitted_event, event);
    fa_json_key(w, "triggers");
    fa_json_begin_array(w);
    for (size_t i = 0; i < count; i++) {
        const struct fa_trigger_result *result = &reasons[i].result;

        fa_json_begin_object(w);
        fa_json_set_str(w, "workflow", reasons[i].stored->name);
        fa_json_set_str(w, "trigger", reasons[i].trigger->name);
        fa_json_set_str(w, "result", outcome(&reasons[i]));
        fa_json_set_str(w, "decidedBy", result->clause);
        fa_json_set_str(w, "error", result->has_failed ? result->task : NULL);
        fa_json_end_object(w);
    }
    fa_json_end_array(w);
    fa_json_end_object(w);
    fa_out_json_end(cli, &json);
}

/* Every trigger on the type of the event. */
static size_t find_reasons(struct fa_cli *cli, const struct fa_stored_workflows *stored,
                           const struct fa_emitted_event *event, struct reason **out)
{
    struct fa_match_data data;
    size_t count = 0, size = 0;

    *out = NULL;
    fa_match_data_init(&data, fa_str(event->data));
    for (size_t i = 0; i < stored->count; i++) {
        const struct fa_workflow *workflow = fa_workflow_of(&cli->arena, &stored->items[i]);

        for (size_t k = 0; workflow && k < workflow->trigger_count; k++) {
            const struct fa_workflow_trigger *trigger = &workflow->triggers[k];

            if (strcmp(trigger->on, event->type) != 0)
                continue;
            *out = fa_arena_grow(&cli->arena, *out, count, &size, sizeof(**out));
            (*out)[count++] = (struct reason){&stored->items[i], trigger,
                                              fa_trigger_try(&cli->arena, trigger, &data)};
        }
    }
    return count;
}

int fa_verb_workflow_why(struct fa_cli *cli)
{
    struct fa_emitted_query query = {.ns = cli->ns, .id = cli->args[0]};
    struct fa_op event = {.kind = FA_OP_EMITTED_LIST, .emitted_query = &query};
    struct fa_op workflows = {.kind = FA_OP_WORKFLOW_LIST, .workflow = {.ns = cli->ns}};
    struct reason *reasons;
    size_t count;
    int code = fa_cli_run(cli, &event);

    if (code == FA_EXIT_OK)
        code = fa_cli_run(cli, &workflows);
    if (code != FA_EXIT_OK)
        return code;
    code = check_data(cli, event.emitted_events);
    if (code != FA_EXIT_OK)
        return code;
    count = find_reasons(cli, workflows.workflows, &event.emitted_events->items[0], &reasons);
    if (cli->format != FA_CLI_TABLE)
        print_reasons_json(cli, &event.emitted_events->items[0], reasons, count);
    else if (count == 0)
        fa_cli_note(cli, "No trigger is on %s.", event.emitted_events->items[0].type);
    else
        print_reasons(cli, reasons, count);
    return code;
}
