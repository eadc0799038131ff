/*
 * verb_admin.c - pause, resume, resources, teams, workers, stats.
 */
#include "cli/verbs.h"

#include "base/clock.h"
#include "cli/short_id.h"
#include "cli/table.h"
#include "cli/text.h"
#include "model/limits.h"
#include "model/rate.h"
#include "wire/wire.h"

#include <errno.h>
#include <stdlib.h>

/* ------------------------------------------------------------------------------------------
 * Lanes
 */

static bool has_tasks(const struct faina_stats *stats)
{
    for (size_t s = 0; s < FAINA_STATUS_COUNT; s++)
        if (stats->by_status[s] > 0)
            return true;
    return false;
}

static bool has_worker(const struct faina_workers *workers, const char *type)
{
    for (size_t i = 0; i < workers->count; i++) {
        const struct faina_worker *worker = &workers->items[i];

        if (worker->type_count == 0)
            return true; /* it handles all types */
        for (size_t t = 0; t < worker->type_count; t++)
            if (fa_name_is_same(worker->types[t], type))
                return true;
    }
    return false;
}

/* A type without tasks and workers may be paused, but is more likely misspelled. */
static void warn_unknown_type(struct fa_cli *cli, const char *ns, const char *type)
{
    struct fa_op ops[] = {{.kind = FA_OP_STATS, .arena = &cli->arena},
                          {.kind = FA_OP_WORKER_LIST, .arena = &cli->arena}};

    ops[0].name.ns = ns;
    ops[0].name.type = type;
    fa_service_run(cli->service, ops, FA_COUNT(ops));
    if (ops[0].code == FAINA_OK && ops[1].code == FAINA_OK && !has_tasks(ops[0].stats) &&
        !has_worker(ops[1].workers, type))
        fa_cli_note(cli, "There is no task and no worker of type %s: is it spelled right?",
                    fa_text_clean(&cli->arena, type));
}

static int set_paused(struct fa_cli *cli, enum fa_op_kind kind)
{
    struct fa_op op = {.kind = kind};
    const char *ns = cli->ns ? cli->ns : "default"; /* it is printed below */
    bool is_paused = kind == FA_OP_PAUSE;
    struct fa_out_json json;
    int code;

    op.name.ns = ns;
    op.name.type = cli->args[0];
    code = fa_cli_run(cli, &op);
    if (code != FA_EXIT_OK)
        return code;
    if (is_paused)
        warn_unknown_type(cli, ns, op.name.type);
    if (cli->format == FA_CLI_TABLE) {
        fa_outf(cli, "%s %s\n", is_paused ? "paused" : "resumed", cli->args[0]);
        return code;
    }
    fa_out_json_begin(cli, &json);
    fa_json_begin_object(&json.writer);
    fa_json_set_str(&json.writer, "namespace", ns);
    fa_json_set_str(&json.writer, "type", cli->args[0]);
    fa_json_set_bool(&json.writer, "paused", is_paused);
    fa_json_end_object(&json.writer);
    fa_out_json_end(cli, &json);
    return code;
}

int fa_verb_pause(struct fa_cli *cli)
{
    return set_paused(cli, FA_OP_PAUSE);
}

int fa_verb_resume(struct fa_cli *cli)
{
    return set_paused(cli, FA_OP_RESUME);
}

/* ------------------------------------------------------------------------------------------
 * Resources
 */

static void add_resource(struct fa_table *table, const void *item)
{
    const struct faina_resource *resource = item;
    char rate[FA_RATE_TEXT_SIZE];

    fa_table_add(table, FA_PLAIN, resource->name);
    if (resource->max_concurrency < 0)
        fa_table_add(table, FA_PLAIN, "none");
    else
        fa_table_addf(table, "%lld", (long long)resource->max_concurrency);
    if (resource->rate.count > 0)
        fa_rate_format(&resource->rate, rate);
    fa_table_add(table, FA_PLAIN, resource->rate.count > 0 ? rate : "none");
    fa_table_addf(table, "%lld", (long long)resource->in_use);
    fa_table_add(table, FA_PLAIN,
                 fa_text_join(&table->arena, resource->holders, resource->holder_count, " "));
}

static const struct fa_list_view resource_view = {
    .shape = &fa_shape_resources,
    .none = "No resource has a limit.",
    .columns = {{"NAME", 0},
                {"LIMIT", FA_COLUMN_RIGHT},
                {"RATE", FA_COLUMN_RIGHT},
                {"IN USE", FA_COLUMN_RIGHT},
                {"HOLDERS", FA_COLUMN_FLEXIBLE}},
    .add_row = add_resource,
};

/* The ids of holders, as a table shows them. */
static void shorten_holders(struct fa_cli *cli, struct faina_resource *resource)
{
    size_t count = resource->holder_count;
    const char **ids = fa_arena_zero(&cli->arena, count + 1, sizeof(*ids));
    struct fa_short_ids how = fa_short_ids_of(cli, resource->holders, count);

    for (size_t i = 0; i < count; i++)
        ids[i] = fa_short_id(how, resource->holders[i], &cli->arena);
    resource->holders = ids;
}

static int list_resources(struct fa_cli *cli, const char *name)
{
    struct fa_op op = {.kind = FA_OP_RESOURCE_LIST, .resource = {.name = name}};
    int code = fa_cli_run(cli, &op);

    if (code != FA_EXIT_OK)
        return code;
    for (size_t i = 0; cli->format == FA_CLI_TABLE && i < op.resources->count; i++)
        if (op.resources->items[i].holder_count > 0)
            shorten_holders(cli, &op.resources->items[i]);
    fa_print_list(cli, &resource_view, op.resources, name != NULL);
    return code;
}

int fa_verb_resource_ls(struct fa_cli *cli)
{
    return list_resources(cli, cli->arg_count > 0 ? cli->args[0] : NULL);
}

/* --rate and --burst. */
static int read_rate(struct fa_cli *cli, struct faina_rate *out)
{
    const char *text = fa_flag(cli, "rate");
    struct faina_error err;
    int64_t burst = 0;
    int code = fa_flag_int(cli, "burst", 1, FA_RATE_BURST_MAX, &burst);

    if (code != FA_EXIT_OK)
        return code;
    if (text == NULL && burst > 0)
        return fa_cli_usage(cli, "--burst is a part of a rate: give --rate as well");
    if (text == NULL)
        return FA_EXIT_OK;
    if (fa_rate_parse(text, "--rate", out, &err) != FAINA_OK)
        return fa_cli_usage(cli, "%s", err.message);
    out->burst = burst;
    return FA_EXIT_OK;
}

int fa_verb_resource_set(struct fa_cli *cli)
{
    struct fa_op op = {.kind = FA_OP_RESOURCE_SET};
    const char *text = cli->args[1];
    char *end;
    int code = read_rate(cli, &op.resource.rate);

    if (code != FA_EXIT_OK)
        return code;

    op.resource.name = cli->args[0];
    op.resource.max_concurrency = -1;
    if (strcmp(text, "none") != 0 && strcmp(text, "null") != 0) { /* null: as in JSON */
        errno = 0;
        op.resource.max_concurrency = strtoll(text, &end, 10);
        if (end == text || *end != '\0' || errno != 0 || op.resource.max_concurrency < 0 ||
            op.resource.max_concurrency > FA_CONCURRENCY_MAX)
            return fa_cli_usage(cli, "N is a whole number from 0 to %d, or none; not \"%.100s\"",
                                FA_CONCURRENCY_MAX, text);
    }
    code = fa_cli_run(cli, &op);
    return code == FA_EXIT_OK ? list_resources(cli, cli->args[0]) : code;
}

int fa_verb_resource_rm(struct fa_cli *cli)
{
    struct fa_op op = {.kind = FA_OP_RESOURCE_REMOVE};

    op.resource.name = cli->args[0];
    return fa_cli_remove(cli, &op, "removed the limit of");
}

/* ------------------------------------------------------------------------------------------
 * The broker
 */

static void print_broker(struct fa_cli *cli, const struct fa_broker *broker)
{
    struct fa_out_json json;
    struct fa_arena arena = {0};

    if (cli->format != FA_CLI_TABLE) {
        fa_out_json_begin(cli, &json);
        fa_shape_put(&json.writer, &fa_shape_broker, broker);
        fa_out_json_end(cli, &json);
        return;
    }
    fa_record_line(cli, "broker", FA_PLAIN, broker->is_on ? "on" : "off");
    fa_record_line(cli, "messages", FA_PLAIN,
                   fa_arena_printf(&arena, "%lld, at most %lld", (long long)broker->depth,
                                   (long long)broker->size_max));
    fa_record_line(cli, "unroutable", FA_PLAIN,
                   fa_arena_printf(&arena, "%lld", (long long)broker->unroutable));
    fa_record_line(cli, "dropped", FA_PLAIN,
                   fa_arena_printf(&arena, "%lld", (long long)broker->dropped));
    fa_record_line(cli, "publisher", FA_PLAIN, broker->publisher);
    fa_arena_finish(&arena);
}

static int run_broker(struct fa_cli *cli, struct fa_op *op)
{
    int code = fa_cli_run(cli, op);

    if (code == FA_EXIT_OK)
        print_broker(cli, op->broker_answer);
    return code;
}

int fa_verb_broker_on(struct fa_cli *cli)
{
    struct fa_op op = {.kind = FA_OP_BROKER_SET};
    int64_t limit = 0;
    int code = fa_flag_int(cli, "limit", 1, FA_OUTBOX_SIZE_MAX, &limit);

    if (code != FA_EXIT_OK)
        return code;
    op.broker.is_on = true;
    op.broker.size_max = limit;
    return run_broker(cli, &op);
}

int fa_verb_broker_off(struct fa_cli *cli)
{
    return run_broker(cli, &(struct fa_op){.kind = FA_OP_BROKER_SET});
}

int fa_verb_broker_status(struct fa_cli *cli)
{
    return run_broker(cli, &(struct fa_op){.kind = FA_OP_BROKER_GET});
}

/* ------------------------------------------------------------------------------------------
 * Values that servers don't show
 */

static int run_redact(struct fa_cli *cli, struct fa_op *op)
{
    const struct fa_texts *redact;
    int code = fa_cli_run(cli, op);

    if (code != FA_EXIT_OK)
        return code;
    redact = &op->settings_answer->redact;
    if (cli->format == FA_CLI_TABLE && redact->count == 0)
        fa_cli_note(cli, "All values are shown.");
    for (size_t i = 0; cli->format == FA_CLI_TABLE && i < redact->count; i++)
        fa_outf(cli, "%s\n", redact->items[i]);
    if (cli->format != FA_CLI_TABLE)
        fa_out_shape(cli, &fa_shape_settings, op->settings_answer);
    return code;
}

int fa_verb_redact_ls(struct fa_cli *cli)
{
    return run_redact(cli, &(struct fa_op){.kind = FA_OP_SETTINGS_GET});
}

int fa_verb_redact_set(struct fa_cli *cli)
{
    struct fa_op op = {.kind = FA_OP_SETTINGS_SET};

    op.settings.redact = (struct fa_texts){(const char *const *)cli->args, (size_t)cli->arg_count};
    return run_redact(cli, &op);
}

int fa_verb_redact_rm(struct fa_cli *cli)
{
    return run_redact(cli, &(struct fa_op){.kind = FA_OP_SETTINGS_SET});
}

/* ------------------------------------------------------------------------------------------
 * Teams
 */

static void print_team(struct fa_cli *cli, const struct faina_team *team)
{
    if (cli->format == FA_CLI_TABLE) {
        fa_record_line(cli, "id", FA_PLAIN, team->id);
        fa_record_line(cli, "name", FA_PLAIN, team->name);
        fa_record_line(cli, "namespace", FA_PLAIN, team->ns);
        fa_record_line(cli, "spec", FA_PLAIN, team->spec);
        return;
    }
    fa_out_shape(cli, &fa_shape_team, team);
}

static void add_team(struct fa_table *table, const void *item)
{
    const struct faina_team *team = item;

    fa_table_add(table, FA_PLAIN, team->id);
    fa_table_add(table, FA_PLAIN, team->name);
    fa_table_add(table, FA_PLAIN, team->ns);
    fa_table_add(table, FA_PLAIN, team->spec);
}

static const struct fa_list_view team_view = {
    .shape = &fa_shape_teams,
    .none = "No teams.",
    .columns = {{"ID", 0},
                {"NAME", FA_COLUMN_FLEXIBLE},
                {"NAMESPACE", FA_COLUMN_FLEXIBLE},
                {"SPEC", FA_COLUMN_FLEXIBLE}},
    .add_row = add_team,
};

int fa_verb_team_ls(struct fa_cli *cli)
{
    struct fa_op op = {.kind = FA_OP_TEAM_LIST};

    op.name.ns = cli->ns;
    return fa_list_items(cli, &op, &team_view, false);
}

/* The team whose id is the first argument. */
static int find_team(struct fa_cli *cli, const struct faina_team **out)
{
    struct fa_op op = {.kind = FA_OP_TEAM_LIST, .id = cli->args[0]};
    struct faina_error err;
    int code = fa_cli_run(cli, &op);

    if (code != FA_EXIT_OK)
        return code;
    if (op.teams->count == 0) {
        fa_error_set(&err, FAINA_NOT_FOUND, "there is no team %.64s", cli->args[0]);
        return fa_cli_fail(cli, &err);
    }
    *out = &op.teams->items[0];
    return FA_EXIT_OK;
}

int fa_verb_team_get(struct fa_cli *cli)
{
    const struct faina_team *team;
    int code = find_team(cli, &team);

    if (code == FA_EXIT_OK)
        print_team(cli, team);
    return code;
}

int fa_verb_team_create(struct fa_cli *cli)
{
    struct faina_team team = {.ns = cli->ns, .name = cli->args[0]};
    struct fa_op op = {.kind = FA_OP_TEAM_PUT, .team = &team};
    const char *id = fa_flag(cli, "id");
    int code = fa_flag_json(cli, "spec", &team.spec);

    if (code == FA_EXIT_OK && id && strlen(id) >= sizeof(team.id))
        return fa_cli_usage(cli, "--id is a UUID, not \"%.100s\"", id);
    if (code == FA_EXIT_OK && id)
        memcpy(team.id, id, strlen(id) + 1);
    if (code == FA_EXIT_OK)
        code = fa_cli_run(cli, &op);
    if (code != FA_EXIT_OK)
        return code;
    if (fa_cli_wants_json(cli))
        print_team(cli, op.team_answer);
    else
        fa_outf(cli, "%s\n", op.team_answer->id);
    return code;
}

int fa_verb_team_set(struct fa_cli *cli)
{
    const struct faina_team *stored;
    struct faina_team team;
    struct fa_op op = {.kind = FA_OP_TEAM_PUT, .team = &team};
    const char *spec = NULL;
    int code;

    if (!fa_flag(cli, "name") && !fa_flag(cli, "spec"))
        return fa_cli_usage(cli, "there is nothing to change: give --name or --spec");
    code = fa_flag_json(cli, "spec", &spec);
    if (code == FA_EXIT_OK)
        code = find_team(cli, &stored);
    if (code != FA_EXIT_OK)
        return code;
    team = *stored;
    if (fa_flag(cli, "name"))
        team.name = fa_flag(cli, "name");
    if (spec)
        team.spec = spec;
    code = fa_cli_run(cli, &op);
    if (code == FA_EXIT_OK)
        print_team(cli, op.team_answer);
    return code;
}

int fa_verb_team_rm(struct fa_cli *cli)
{
    struct fa_op op = {.kind = FA_OP_TEAM_REMOVE, .id = cli->args[0]};

    return fa_cli_remove(cli, &op, "removed team");
}

/* ------------------------------------------------------------------------------------------
 * Workers
 */

static void add_worker(struct fa_table *table, const void *item)
{
    const struct faina_worker *worker = item;
    struct fa_arena *arena = &table->arena;
    int64_t now_us = fa_clock_now_us();

    fa_table_add(table, FA_PLAIN, worker->id);
    fa_table_add(table, FA_PLAIN, fa_text_age(arena, worker->last_heartbeat_us, now_us));
    if (worker->pool_size > 0)
        fa_table_addf(table, "%lld/%d", (long long)worker->held, worker->pool_size);
    else
        fa_table_addf(table, "%lld", (long long)worker->held);
    fa_table_add(table, FA_PLAIN,
                 worker->type_count > 0
                     ? fa_text_join(arena, worker->types, worker->type_count, " ")
                     : "any");
    fa_table_add(table, FA_PLAIN,
                 !worker->services ? "all"
                 : worker->service_count > 0
                     ? fa_text_join(arena, worker->services, worker->service_count, " ")
                     : "none");
    fa_table_add(table, FA_PLAIN, fa_text_age(arena, worker->started_us, now_us));
    fa_table_add(table, FA_PLAIN, worker->version);
    fa_table_add(table, FA_PLAIN, worker->hostname);
    fa_table_add(table, FA_PLAIN, worker->is_leader ? "yes" : NULL);
}

static const struct fa_list_view worker_view = {
    .shape = &fa_shape_workers,
    .none = "No worker has registered.",
    .columns = {{"ID", 0},
                {"HEARTBEAT", 0},
                {"HELD", FA_COLUMN_RIGHT},
                {"TYPES", FA_COLUMN_FLEXIBLE},
                {"SERVICES", FA_COLUMN_FLEXIBLE},
                {"STARTED", 0},
                {"VERSION", FA_COLUMN_FLEXIBLE},
                {"HOST", FA_COLUMN_FLEXIBLE},
                {"LEADER", 0}},
    .add_row = add_worker,
};

int fa_verb_worker_list(struct fa_cli *cli)
{
    struct fa_op op = {.kind = FA_OP_WORKER_LIST, .id = cli->arg_count > 0 ? cli->args[0] : NULL};

    return fa_list_items(cli, &op, &worker_view, op.id != NULL);
}

/* ------------------------------------------------------------------------------------------
 * Statistics
 */

#define STATS_COLUMN_MAX (FAINA_STATUS_COUNT + 2)

/* The columns: pending and completed, and every other status that isn't 0. */
static size_t pick_columns(const struct faina_stats *stats, struct fa_column *columns,
                           enum faina_status *statuses, struct fa_arena *arena)
{
    const unsigned always = 1u << FAINA_PENDING | 1u << FAINA_COMPLETED;
    size_t count = 0;

    for (enum faina_status status = 0; status < FAINA_STATUS_COUNT; status++) {
        char *title;

        if (stats->by_status[status] == 0 && !(always & (1u << status)))
            continue;
        title = fa_arena_strdup(arena, faina_status_name(status));
        title[strcspn(title, "_")] = '\0'; /* DEAD for dead_letter */
        for (char *at = title; *at; at++)
            *at = (char)(*at - 'a' + 'A');
        columns[count] = (struct fa_column){title, FA_COLUMN_RIGHT};
        statuses[count++] = status;
    }
    return count;
}

static void add_counts(struct fa_table *table, const int64_t *by_status,
                       const enum faina_status *statuses, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char text[FA_TEXT_COUNT_SIZE];
        int64_t n = by_status[statuses[i]];

        fa_table_add(table, n == 0 ? FA_DIM : fa_style_of(statuses[i]), fa_text_count(n, text));
    }
}

static void print_stats_table(struct fa_cli *cli, const struct faina_stats *stats)
{
    struct fa_column columns[STATS_COLUMN_MAX] = {{"TYPE", FA_COLUMN_FLEXIBLE}};
    enum faina_status statuses[FAINA_STATUS_COUNT];
    bool has_ns = fa_cli_is_all_namespaces(cli);
    struct fa_table table;
    size_t count;

    if (has_ns)
        columns[1] = (struct fa_column){"NAMESPACE", FA_COLUMN_FLEXIBLE};
    count = pick_columns(stats, columns + 1 + has_ns, statuses, &cli->arena);
    fa_table_init(&table, columns, 1 + has_ns + count);
    for (size_t i = 0; i < stats->count; i++) {
        const struct faina_count *row = &stats->types[i];

        fa_table_add(&table, row->is_paused ? FA_YELLOW : FA_PLAIN,
                     row->is_paused ? fa_arena_printf(&table.arena, "%s (paused)", row->type)
                                    : row->type);
        if (has_ns)
            fa_table_add(&table, FA_PLAIN, row->ns);
        add_counts(&table, row->by_status, statuses, count);
    }
    fa_table_add(&table, FA_BOLD, "total");
    if (has_ns)
        fa_table_add(&table, FA_PLAIN, "");
    add_counts(&table, stats->by_status, statuses, count);
    fa_table_print(&table, cli, 0);
    fa_table_finish(&table);
    if (stats->has_more)
        fa_cli_note(cli, "There are more types. These %d have the most tasks that have not ended.",
                    FA_STATS_TYPES_MAX);
}

int fa_verb_stats(struct fa_cli *cli)
{
    struct fa_op op = {.kind = FA_OP_STATS};
    int code;

    if (fa_flag_is_given(cli, "errors"))
        return fa_stats_errors(cli);
    op.name.ns = cli->ns;
    code = fa_cli_run(cli, &op);
    if (code != FA_EXIT_OK)
        return code;
    if (cli->format == FA_CLI_TABLE) {
        print_stats_table(cli, op.stats);
        return code;
    }
    fa_out_shape(cli, &fa_shape_stats, op.stats);
    return code;
}
