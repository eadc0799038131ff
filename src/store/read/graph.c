/*
 * graph.c - the tasks that are connected with a task: its parent and subtasks, what it depends on
 * and what depends on it, the task whose end has made it and the tasks that its own end has made.
 *
 * The search is breadth first and bounded: in its distance from the task, in tasks, in the
 * relations of one task and in edges. The relations of the outermost tasks are read too, for the
 * edges between them and to tell whether the graph goes on.
 */
#include "store/read/lookup.h"

#include "json/json.h"
#include "model/limits.h"
#include "model/states.h"
#include "service/access.h"
#include "store/read/show.h"

#include <stdio.h>

#define RELATED_MAX 100 /* of one task and kind */
#define EDGES_MAX 2000
#define EVENTS_MAX 100 /* of one task: the newest */

struct search {
    struct fa_source *source;
    struct fa_op *op;
    struct fa_arena *arena;
    struct fa_graph *graph;
    int64_t keys[FA_GRAPH_NODES_MAX];
    size_t edge_size;
    int64_t now_us;
};

/* ------------------------------------------------------------------------------------------
 * Attempts
 */

static bool is_held(enum faina_status status)
{
    return status == FAINA_CLAIMED || status == FAINA_RUNNING;
}

struct attempts {
    struct fa_arena *arena;
    struct fa_graph_attempt *items;
    size_t count, size;
    bool is_open; /* the last one has not ended */
};

static void begin_attempt(struct attempts *list, const struct faina_event *event)
{
    list->items =
        fa_arena_grow(list->arena, list->items, list->count, &list->size, sizeof(*list->items));
    list->items[list->count] = (struct fa_graph_attempt){
        .number = (int64_t)list->count + 1,
        .worker_id = event->worker_id ? fa_arena_strdup(list->arena, event->worker_id) : NULL,
        .claimed_us = event->at_us,
    };
    list->count++;
    list->is_open = true;
}

static void add_event(struct attempts *list, const struct faina_event *event)
{
    struct fa_graph_attempt *last = list->count > 0 ? &list->items[list->count - 1] : NULL;

    if (is_held(event->status)) {
        if (!list->is_open || strcmp(event->what, "claimed") == 0) {
            begin_attempt(list, event);
            last = &list->items[list->count - 1];
        }
        if (event->status == FAINA_RUNNING && last->started_us == 0)
            last->started_us = event->at_us;
    } else if (list->is_open) {
        last->ended_us = event->at_us;
        last->outcome = fa_arena_strdup(list->arena, event->what);
        list->is_open = false;
    }
}

/* From the newest events of the task. */
static enum faina_code read_attempts(struct search *s, struct fa_graph_node *node,
                                     struct faina_error *err)
{
    struct fa_arena scratch = {0};
    struct attempts list = {.arena = s->arena};
    struct fa_op events = {
        .kind = FA_OP_EVENTS, .id = node->id, .page = {.limit = EVENTS_MAX}, .arena = &scratch};
    enum faina_code code = fa_read_op(s->source, &events, s->now_us);

    if (code == FAINA_OK) {
        for (size_t i = events.events->count; i > 0; i--)
            add_event(&list, &events.events->items[i - 1]);
        node->attempts = list.items;
        node->attempt_count = list.count;
        if (events.events->count == EVENTS_MAX)
            s->graph->truncated = true;
    } else if (err) {
        *err = events.error;
    }
    fa_arena_finish(&scratch);
    return code;
}

/* ------------------------------------------------------------------------------------------
 * Tasks and edges
 */

static const char *error_message(const char *error, struct fa_arena *arena)
{
    if (!error ||
        fa_json_check(fa_str(error), FA_JSON_DEPTH_MAX + 1, "error", FAINA_INTERNAL, NULL))
        return NULL;
    return fa_json_member_text(fa_json_value(fa_str(error)), "message", arena);
}

static void fill_node(struct search *s, const struct faina_task *task, struct fa_graph_node *node)
{
    const struct faina_origin *origin = task->origin;

    memcpy(node->id, task->id, sizeof(node->id));
    node->ns = fa_arena_strdup(s->arena, task->ns);
    node->type = fa_arena_strdup(s->arena, task->type);
    node->name = fa_arena_strdup(s->arena, task->name);
    node->status = task->status;
    node->progress = task->progress;
    node->error = error_message(task->error, s->arena);
    node->created_us = task->created_us;
    node->run_at_us = task->run_at_us;
    node->started_us = task->started_us;
    node->completed_us = task->completed_us;
    if (!origin)
        return;
    node->workflow = fa_arena_strdup(s->arena, origin->workflow);
    node->trigger = fa_arena_strdup(s->arena, origin->trigger);
    node->event_id = origin->event_id[0] ? fa_arena_strdup(s->arena, origin->event_id) : NULL;
}

/* Adds a task, if it exists and the caller may see it. *out NULL: it may not. */
static enum faina_code add_node(struct search *s, int64_t key, int depth,
                                struct fa_graph_node **out, struct faina_error *err)
{
    struct fa_graph_node *node = &s->graph->nodes[s->graph->node_count];
    struct fa_arena scratch = {0};
    struct faina_task task;
    struct fa_row row;
    enum faina_code code = fa_row_load(s->source, key, &scratch, &row, err);

    *out = NULL;
    if (code == FAINA_TASK_NOT_FOUND ||
        (code == FAINA_OK &&
         (row.deleted_us != 0 || !fa_access_reaches(s->op->grant, row.lane->ns)))) {
        fa_arena_finish(&scratch);
        return FAINA_OK;
    }
    if (code == FAINA_OK)
        code = fa_row_to_task(s->source, &row, &scratch, true, true, &task, err);
    if (code == FAINA_OK) {
        *node = (struct fa_graph_node){.depth = depth, .version = row.version};
        fill_node(s, &task, node);
        code = read_attempts(s, node, err);
    }
    if (code == FAINA_OK) {
        s->keys[s->graph->node_count++] = key;
        *out = node;
    }
    fa_arena_finish(&scratch);
    return code;
}

static struct fa_graph_node *find_node(const struct search *s, int64_t key)
{
    for (size_t i = 0; i < s->graph->node_count; i++)
        if (s->keys[i] == key)
            return &s->graph->nodes[i];
    return NULL;
}

static void add_edge(struct search *s, const char *from, const char *to, const char *kind)
{
    struct fa_graph *graph = s->graph;

    for (size_t i = 0; i < graph->edge_count; i++) {
        const struct fa_graph_edge *edge = &graph->edges[i];

        if (strcmp(edge->kind, kind) == 0 && strcmp(edge->from, from) == 0 &&
            strcmp(edge->to, to) == 0)
            return;
    }
    if (graph->edge_count == EDGES_MAX) {
        graph->truncated = true;
        return;
    }
    graph->edges = fa_arena_grow(s->arena, graph->edges, graph->edge_count, &s->edge_size,
                                 sizeof(*graph->edges));
    graph->edges[graph->edge_count++] = (struct fa_graph_edge){from, to, kind};
}

/* The task `key` is related to `node`; the edge leads to it, or comes from it. */
static enum faina_code relate(struct search *s, struct fa_graph_node *node, int64_t key,
                              const char *kind, bool is_from_key, struct faina_error *err)
{
    struct fa_graph_node *other = find_node(s, key);
    enum faina_code code = FAINA_OK;

    if (!other &&
        (node->depth == s->op->graph.depth || s->graph->node_count == FA_GRAPH_NODES_MAX)) {
        s->graph->truncated = true;
        return FAINA_OK;
    }
    if (!other)
        code = add_node(s, key, node->depth + 1, &other, err);
    if (code == FAINA_OK && other)
        add_edge(s, is_from_key ? other->id : node->id, is_from_key ? node->id : other->id, kind);
    return code;
}

static enum faina_code relate_all(struct search *s, struct fa_graph_node *node, enum fa_sql sql,
                                  int64_t key, const char *kind, bool is_from_key,
                                  struct faina_error *err)
{
    struct fa_keys found = {.arena = s->arena};
    struct fa_value params[] = {fa_value_int(key), fa_value_int(RELATED_MAX + 1)};
    enum faina_code code = fa_db_one(s->source->db, sql, params, 2, fa_keys_sink, &found, err);

    if (found.count > RELATED_MAX) {
        s->graph->truncated = true;
        found.count = RELATED_MAX;
    }
    for (size_t i = 0; code == FAINA_OK && i < found.count; i++)
        code = relate(s, node, found.keys[i], kind, is_from_key, err);
    return code;
}

/* ------------------------------------------------------------------------------------------
 * Relations
 */

static enum faina_code relate_id(struct search *s, struct fa_graph_node *node, const char *id,
                                 bool is_from, struct faina_error *err)
{
    struct fa_id parsed;

    return fa_id_parse(id, &parsed) ? relate(s, node, parsed.key, "started", is_from, err)
                                    : FAINA_OK;
}

/* The end of a task is the event ID:VERSION. */
static enum faina_code relate_origin(struct search *s, struct fa_graph_node *node,
                                     struct faina_error *err)
{
    char id[FAINA_ID_SIZE];

    if (!node->event_id || strlen(node->event_id) < FAINA_ID_SIZE ||
        node->event_id[FAINA_ID_SIZE - 1] != ':')
        return FAINA_OK;
    snprintf(id, sizeof(id), "%s", node->event_id);
    return relate_id(s, node, id, true, err);
}

static enum faina_code relate_started(struct search *s, struct fa_graph_node *node,
                                      struct faina_error *err)
{
    struct fa_arena scratch = {0};
    char id[FAINA_ID_SIZE + 32];
    struct fa_emitted_query query = {.ns = node->ns, .id = id};
    struct fa_op op = {.kind = FA_OP_EMITTED_LIST, .emitted_query = &query, .arena = &scratch};
    const char *const *ids = NULL;
    size_t count = 0;
    enum faina_code code;

    if (!fa_status_is_ended(node->status))
        return FAINA_OK;
    snprintf(id, sizeof(id), "%s:%lld", node->id, (long long)node->version);
    code = fa_read_op(s->source, &op, s->now_us);
    if (code == FAINA_OK) {
        const char *tasks = op.emitted_events->items[0].tasks;

        if (fa_json_check(fa_str(tasks), 2, "tasks", FAINA_INTERNAL, NULL) == FAINA_OK)
            (void)fa_json_texts(fa_json_value(fa_str(tasks)), &scratch, &ids, &count);
        if (count > RELATED_MAX) {
            s->graph->truncated = true;
            count = RELATED_MAX;
        }
        for (size_t i = 0; code == FAINA_OK && i < count; i++)
            code = relate_id(s, node, ids[i], false, err);
    } else if (code == FAINA_NOT_FOUND) {
        code = FAINA_OK;
    } else if (err) {
        *err = op.error;
    }
    fa_arena_finish(&scratch);
    return code;
}

static enum faina_code relate_parent(struct search *s, struct fa_graph_node *node, int64_t key,
                                     struct faina_error *err)
{
    struct fa_value param = fa_value_int(key);
    int64_t parent = 0;
    enum faina_code code =
        fa_db_one(s->source->db, FA_SQL_TASK_PARENT, &param, 1, fa_db_sink_int, &parent, err);

    return code == FAINA_OK && parent != 0 ? relate(s, node, parent, "child", true, err) : code;
}

static enum faina_code expand(struct search *s, size_t at, struct faina_error *err)
{
    struct fa_graph_node *node = &s->graph->nodes[at];
    int64_t key = s->keys[at];
    enum faina_code code = relate_parent(s, node, key, err);

    if (code == FAINA_OK)
        code = relate_all(s, node, FA_SQL_GRAPH_NEEDS, key, "dependency", true, err);
    if (code == FAINA_OK)
        code = relate_origin(s, node, err);
    if (code == FAINA_OK)
        code = relate_all(s, node, FA_SQL_GRAPH_CHILDREN, key, "child", false, err);
    if (code == FAINA_OK)
        code = relate_all(s, node, FA_SQL_GRAPH_DEPENDENTS, key, "dependency", false, err);
    if (code == FAINA_OK)
        code = relate_started(s, node, err);
    return code;
}

enum faina_code fa_read_graph(struct fa_source *source, struct fa_op *op, int64_t now_us)
{
    struct search *s = fa_arena_zero(op->arena, 1, sizeof(*s));
    struct fa_graph_node *root;
    struct fa_row row;
    enum faina_code code = fa_read_find(source, op->id, op->arena, &row, &op->error);

    if (code != FAINA_OK)
        return code;
    s->source = source;
    s->op = op;
    s->arena = op->arena;
    s->now_us = now_us;
    s->graph = fa_arena_zero(op->arena, 1, sizeof(*s->graph));
    s->graph->nodes = fa_arena_zero(op->arena, FA_GRAPH_NODES_MAX, sizeof(*s->graph->nodes));
    if (op->graph.depth == 0)
        op->graph.depth = FA_GRAPH_DEPTH_DEFAULT;
    code = add_node(s, row.id.key, 0, &root, &op->error);
    if (code == FAINA_OK && !root)
        code = fa_error_set(&op->error, FAINA_TASK_NOT_FOUND, "there is no task %s", op->id);
    for (size_t i = 0; code == FAINA_OK && i < s->graph->node_count; i++)
        code = expand(s, i, &op->error);
    if (code == FAINA_OK) {
        memcpy(s->graph->id, root->id, sizeof(s->graph->id));
        op->graph_answer = s->graph;
    }
    return code;
}
