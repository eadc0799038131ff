/* verb_graph.c - the tasks that are connected with a task. */
#include "cli/verbs.h"

#include "cli/print.h"
#include "cli/short_id.h"
#include "cli/table.h"
#include "cli/text.h"
#include "model/limits.h"
#include "model/states.h"
#include "wire/wire.h"

static const struct fa_graph_node *find(const struct fa_graph *graph, const char *id)
{
    for (size_t i = 0; i < graph->node_count; i++)
        if (strcmp(graph->nodes[i].id, id) == 0)
            return &graph->nodes[i];
    return NULL;
}

/* Its connection with a task that is nearer: "child of 1f2e3d4c5b". */
static const char *relation(struct fa_arena *arena, const struct fa_graph *graph,
                            const struct fa_graph_node *node, struct fa_short_ids ids)
{
    static const char *const words[][3] = {
        {"child", "child of", "parent of"},
        {"dependency", "waits for", "needed by"},
        {"started", "started by", "has started"},
    };

    for (size_t i = 0; i < graph->edge_count; i++) {
        const struct fa_graph_edge *edge = &graph->edges[i];
        bool is_to = strcmp(edge->to, node->id) == 0;
        const char *other = is_to ? edge->from : edge->to;
        const struct fa_graph_node *there = find(graph, other);

        if ((!is_to && strcmp(edge->from, node->id) != 0) || !there || there->depth >= node->depth)
            continue;
        for (size_t k = 0; k < FA_COUNT(words); k++)
            if (strcmp(words[k][0], edge->kind) == 0)
                return fa_arena_printf(arena, "%s %s", words[k][is_to ? 1 : 2],
                                       fa_short_id(ids, other, arena));
    }
    return NULL;
}

static const char *took(struct fa_arena *arena, const struct fa_graph_node *node)
{
    const struct fa_graph_attempt *last =
        node->attempt_count > 0 ? &node->attempts[node->attempt_count - 1] : NULL;
    int64_t from_us;

    if (!last || last->ended_us == 0)
        return NULL;
    from_us = last->started_us != 0 ? last->started_us : last->claimed_us;
    return fa_arena_printf(arena, "%.3f s", (double)(last->ended_us - from_us) / 1e6);
}

static void print_graph(struct fa_cli *cli, const struct fa_graph *graph)
{
    static const struct fa_column columns[] = {{"ID", 0},
                                               {"TYPE", 0},
                                               {"STATUS", 0},
                                               {"ATTEMPTS", FA_COLUMN_RIGHT},
                                               {"LAST TOOK", FA_COLUMN_RIGHT},
                                               {"CONNECTION", FA_COLUMN_FLEXIBLE}};
    const char **all = fa_arena_zero(&cli->arena, graph->node_count + 1, sizeof(*all));
    struct fa_short_ids ids;
    struct fa_table table;

    for (size_t i = 0; i < graph->node_count; i++)
        all[i] = graph->nodes[i].id;
    ids = fa_short_ids_of(cli, all, graph->node_count);
    fa_table_init(&table, columns, FA_COUNT(columns));
    for (size_t i = 0; i < graph->node_count; i++) {
        const struct fa_graph_node *node = &graph->nodes[i];

        fa_table_add(&table, FA_PLAIN, fa_short_id(ids, node->id, &table.arena));
        fa_table_add(&table, FA_PLAIN, node->type);
        fa_table_add(&table, fa_style_of(node->status), faina_status_name(node->status));
        fa_table_addf(&table, "%zu", node->attempt_count);
        fa_table_add(&table, FA_PLAIN, took(&table.arena, node));
        fa_table_add(&table, FA_PLAIN, relation(&table.arena, graph, node, ids));
    }
    fa_table_print(&table, cli, 0);
    fa_table_finish(&table);
    if (graph->truncated)
        fa_cli_note(cli, "There are more: start at another of these tasks, or use --depth.");
}

int fa_verb_graph(struct fa_cli *cli)
{
    struct fa_op op = {.kind = FA_OP_GRAPH, .id = cli->args[0]};
    int64_t depth = 0;
    int code = fa_flag_int(cli, "depth", 1, FA_GRAPH_DEPTH_MAX, &depth);

    if (code != FA_EXIT_OK)
        return code;
    op.graph.depth = (int)depth;
    code = fa_cli_run(cli, &op);
    if (code != FA_EXIT_OK)
        return code;
    if (cli->format == FA_CLI_TABLE)
        print_graph(cli, op.graph_answer);
    else
        fa_out_shape(cli, &fa_shape_graph, op.graph_answer);
    return code;
}
