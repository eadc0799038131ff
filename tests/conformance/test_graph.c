/*
 * test_graph.c - the tasks that are connected with a task: all kinds of edges, bounds, attempts.
 */
#include "support/ops.h"

static void read_graph(struct fa_t *t, const char *id, int depth)
{
    CHECK_OK(
        t, fa_t_run(t, &(struct fa_op){.kind = FA_OP_GRAPH, .id = id, .graph = {.depth = depth}}));
    CHECK_STR(t->op.graph_answer->id, id);
}

static const struct fa_graph_node *node_of(struct fa_t *t, const char *id)
{
    for (size_t i = 0; i < t->op.graph_answer->node_count; i++)
        if (strcmp(t->op.graph_answer->nodes[i].id, id) == 0)
            return &t->op.graph_answer->nodes[i];
    return NULL;
}

static bool has_edge(struct fa_t *t, const char *from, const char *to, const char *kind)
{
    for (size_t i = 0; i < t->op.graph_answer->edge_count; i++) {
        const struct fa_graph_edge *edge = &t->op.graph_answer->edges[i];

        if (strcmp(edge->from, from) == 0 && strcmp(edge->to, to) == 0 &&
            strcmp(edge->kind, kind) == 0)
            return true;
    }
    return false;
}

static void test_graph__parents_children_and_dependencies(struct fa_t *t)
{
    const char *first = fa_t_submit(t, .type = "first");
    const char *needs[] = {first};
    const char *second =
        fa_t_submit(t, .type = "second", .depends_on = needs, .depends_on_count = 1);
    const char *parent = fa_t_make(t, FAINA_RUNNING, "w"), *child;
    const struct faina_submit subtask = {
        .type = "child", .depends_on = needs, .depends_on_count = 1};

    CHECK_OK(t, fa_t_block(t, parent, BY("w"), &subtask, 1));
    CHECK_OK(t, fa_t_children(t, parent, 0, NULL));
    child = fa_arena_strdup(&t->arena, t->op.tasks->items[0].id);
    read_graph(t, parent, 0);
    CHECK_INT(t->op.graph_answer->node_count, 4);
    CHECK_INT(t->op.graph_answer->edge_count, 3);
    CHECK_TRUE(!t->op.graph_answer->truncated);
    CHECK_TRUE(has_edge(t, parent, child, "child"));
    CHECK_TRUE(has_edge(t, first, child, "dependency"));
    CHECK_TRUE(has_edge(t, first, second, "dependency"));
    CHECK_INT(node_of(t, parent)->depth, 0);
    CHECK_INT(node_of(t, second)->depth, 3);
    CHECK_STR(node_of(t, child)->type, "child");
    CHECK_INT(node_of(t, parent)->status, FAINA_BLOCKED);
    read_graph(t, parent, 1); /* goes on */
    CHECK_INT(t->op.graph_answer->node_count, 2);
    CHECK_TRUE(t->op.graph_answer->truncated);
    read_graph(t, first, 1); /* both of its dependents, and no more */
    CHECK_INT(t->op.graph_answer->node_count, 3);
    CHECK_TRUE(t->op.graph_answer->truncated);
    CHECK_OK(t, fa_t_start(t, first, BY("w")));
    CHECK_OK(t, fa_t_complete(t, first, BY("w"), NULL));
    CHECK_OK(t, fa_t_delete(t, first));
    read_graph(t, second, 0); /* a deleted task is none */
    CHECK_INT(t->op.graph_answer->node_count, 1);
    CHECK_CODE(t, fa_t_run(t, &(struct fa_op){.kind = FA_OP_GRAPH, .id = first}),
               FAINA_TASK_NOT_FOUND);
    CHECK_CODE(t, fa_t_run(t, &(struct fa_op){.kind = FA_OP_GRAPH, .id = second, .graph = {21}}),
               FAINA_INVALID_REQUEST);
}

static void test_graph__attempts(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x", .retry = {.base_ms = 1, .factor = 1, .max_ms = 1});
    const struct fa_graph_node *node;

    CHECK_OK(t, fa_t_claim(t, id, "v"));
    CHECK_OK(t, fa_t_start(t, id, BY("v")));
    CHECK_OK(t, fa_t_fail_attempt(t, id, BY("v"), "no route"));
    CHECK_OK(t, fa_t_claim(t, id, "w"));
    read_graph(t, id, 0);
    node = node_of(t, id);
    CHECK_INT(node->attempt_count, 2);
    CHECK_STR(node->attempts[0].worker_id, "v");
    CHECK_TRUE(node->attempts[0].claimed_us > 0);
    CHECK_TRUE(node->attempts[0].started_us >= node->attempts[0].claimed_us);
    CHECK_TRUE(node->attempts[0].ended_us >= node->attempts[0].started_us);
    CHECK_TRUE(node->attempts[0].outcome != NULL);
    CHECK_STR(node->attempts[1].worker_id, "w");
    CHECK_INT(node->attempts[1].ended_us, 0);
    CHECK_STR(node->error, "no route");
    CHECK_OK(t, fa_t_start(t, id, BY("w")));
    CHECK_OK(t, fa_t_complete(t, id, BY("w"), NULL));
    read_graph(t, id, 0);
    node = node_of(t, id);
    CHECK_INT(node->attempt_count, 2);
    CHECK_STR(node->attempts[1].outcome, "completed");
    CHECK_INT(node->attempts[1].ended_us, node->completed_us);
}

static void test_graph__what_an_end_has_started(struct fa_t *t)
{
    static const char text[] = "{\"workflow\":\"w\",\"triggers\":[{\"name\":\"next\",\"on\":"
                               "\"task.completed\",\"match\":\"type = 'a'\",\"task\":"
                               "{\"type\":\"b\"}}]}";
    const struct fa_definition definition = {.text = {text, sizeof(text) - 1}};
    const char *a, *b;

    CHECK_OK(t,
             fa_t_run(t, &(struct fa_op){.kind = FA_OP_WORKFLOW_PUT, .definition = &definition}));
    a = fa_t_submit(t, .type = "a");
    CHECK_OK(t, fa_t_start(t, a, BY("w")));
    CHECK_OK(t, fa_t_complete(t, a, BY("w"), NULL));
    read_graph(t, a, 0);
    CHECK_INT(t->op.graph_answer->node_count, 2);
    b = fa_arena_strdup(&t->arena, t->op.graph_answer->nodes[1].id);
    CHECK_TRUE(has_edge(t, a, b, "started"));
    read_graph(t, b, 0);
    CHECK_INT(t->op.graph_answer->node_count, 2);
    CHECK_TRUE(has_edge(t, a, b, "started"));
    CHECK_STR(node_of(t, b)->workflow, "w");
    CHECK_STR(node_of(t, b)->trigger, "next");
}

static void test_graph__bounded(struct fa_t *t)
{
    const char *hub = fa_t_submit(t, .type = "hub");
    const char *needs[] = {hub};

    for (int i = 0; i < 101; i++)
        fa_t_submit(t, .type = "spoke", .depends_on = needs, .depends_on_count = 1);
    read_graph(t, hub, 0);
    CHECK_INT(t->op.graph_answer->node_count, 101);
    CHECK_TRUE(t->op.graph_answer->truncated);
}

int main(int argc, char **argv)
{
    static const struct fa_t_case cases[] = {
        FA_T_CASE_SQL(test_graph__parents_children_and_dependencies),
        FA_T_CASE_SQL(test_graph__attempts),
        FA_T_CASE_SQL(test_graph__what_an_end_has_started),
        FA_T_CASE_SQL(test_graph__bounded),
    };

    return fa_t_main(argc, argv, "graph", cases, FA_COUNT(cases));
}
