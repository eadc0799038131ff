/*
 * dependency_cycle.c - refuses subtasks that would wait for their own ancestors.
 *
 * A new task depends only on existing tasks, and no task depends on it yet. So a dependency cycle
 * needs a task that begins to wait later, which is a task that blocks: it waits for its subtasks,
 * and its ancestors wait for it. Therefore no subtask may wait for the blocking task or an ancestor
 * of it, neither directly nor through its dependencies.
 *
 * The walk has a limit; a cycle beyond it is not found, and the subtasks are accepted. Nor is a
 * cycle found that another node, or a retry, closes at the same moment: a cancel ends it.
 */
#include "store/queue/ops.h"

#include "model/limits.h"

#include <assert.h>

#define WALK_MAX 1000
#define SEEN_SIZE 4096 /* a power of two */

/* A task that a subtask waits for. */
struct node {
    int64_t key;
    size_t plan;  /* which subtask */
    int64_t need; /* the subtask's dependency that leads to it */
};

struct walk {
    struct fa_unit *unit;
    int64_t ancestors[FA_SUBTASK_DEPTH_MAX + 1]; /* the blocking task and its ancestors */
    size_t ancestor_count;
    struct node *nodes; /* up to WALK_MAX */
    size_t count, from; /* those from `from` on are visited next */
    int64_t *seen;      /* open addressing; 0: free */
    struct node cycle;  /* its key is not 0: found */
};

static bool is_ancestor(const struct walk *walk, int64_t key)
{
    for (size_t i = 0; i < walk->ancestor_count; i++) {
        if (walk->ancestors[i] == key)
            return true;
    }
    return false;
}

/* True: the task was not visited before. */
static bool visit(struct walk *walk, int64_t key)
{
    size_t at = (size_t)((uint64_t)key * 0x9e3779b97f4a7c15u >> 32) & (SEEN_SIZE - 1);

    for (; walk->seen[at] != 0; at = (at + 1) & (SEEN_SIZE - 1)) {
        if (walk->seen[at] == key)
            return false;
    }
    walk->seen[at] = key;
    return true;
}

static void add(struct walk *walk, struct node node)
{
    if (walk->cycle.key == 0 && is_ancestor(walk, node.key))
        walk->cycle = node;
    if (walk->cycle.key == 0 && walk->count < WALK_MAX && visit(walk, node.key))
        walk->nodes[walk->count++] = node;
}

static void bind_node(void *ctx, size_t n, struct fa_value *params)
{
    const struct walk *walk = ctx;

    params[0] = fa_value_int(walk->nodes[walk->from + n].key);
}

static void sink_open(void *ctx, size_t n, const struct fa_value *columns)
{
    struct walk *walk = ctx;
    struct node node = walk->nodes[walk->from + n];

    node.key = columns[0].i;
    add(walk, node);
}

/* Visits all tasks that the subtasks would wait for, level by level. */
static enum faina_code walk_dependencies(struct walk *walk, struct faina_error *err)
{
    enum faina_code code = FAINA_OK;

    if (walk->cycle.key == 0 && walk->count > 0)
        code = fa_unit_flush(walk->unit, err); /* so that the query sees everything */
    while (code == FAINA_OK && walk->cycle.key == 0 && walk->from < walk->count) {
        size_t end = walk->count;
        struct fa_db_call call = {.sql = FA_SQL_DEP_OPEN,
                                  .rows = end - walk->from,
                                  .param_count = 1,
                                  .bind = bind_node,
                                  .bind_ctx = walk,
                                  .sink = sink_open,
                                  .sink_ctx = walk};

        code = fa_db_run(walk->unit->source.db, &call, err);
        walk->from = end;
    }
    return code;
}

static enum faina_code read_ancestors(struct walk *walk, const struct fa_row *parent,
                                      struct faina_error *err)
{
    int64_t key = parent->id.key, next = parent->parent;
    enum faina_code code = FAINA_OK;

    assert(parent->has_task);
    while (key != 0 && walk->ancestor_count < FA_COUNT(walk->ancestors)) {
        walk->ancestors[walk->ancestor_count++] = key;
        key = next;
        next = 0;
        if (code == FAINA_OK && key != 0) {
            struct fa_value value = fa_value_int(key);

            code = fa_db_one(walk->unit->source.db, FA_SQL_TASK_PARENT, &value, 1, fa_db_sink_int,
                             &next, err);
        }
    }
    return code;
}

static bool waits_again(const struct fa_plan *plan)
{
    const struct fa_row *row = plan->existing;

    return row != NULL && row->flags & FA_FLAG_HAS_DEPS && row->status != FAINA_COMPLETED &&
           fa_status_is_ended(row->status);
}

static void add_need(struct walk *walk, size_t plan, const struct fa_row *need)
{
    if (!fa_status_is_ended(need->status))
        add(walk, (struct node){need->id.key, plan, need->id.key});
}

/* The dependencies of a subtask that is requeued. */
static enum faina_code add_stored_needs(struct walk *walk, size_t plan, const struct fa_row *row,
                                        struct faina_error *err)
{
    struct fa_unit *unit = walk->unit;
    struct fa_keys keys = {.arena = &unit->arena};
    struct fa_value key = fa_value_int(row->id.key);
    enum faina_code code =
        fa_db_one(unit->source.db, FA_SQL_DEP_LIST, &key, 1, fa_keys_sink, &keys, err);

    for (size_t i = 0; code == FAINA_OK && i < keys.count; i++) {
        struct fa_row *need = NULL;

        code = fa_unit_get(unit, keys.keys[i], false, &need, err);
        if (code == FAINA_OK)
            add_need(walk, plan, need);
        else if (code == FAINA_TASK_NOT_FOUND)
            code = FAINA_OK; /* deleted */
    }
    return code;
}

static enum faina_code add_needs(struct walk *walk, const struct fa_plan *plans, size_t i,
                                 struct faina_error *err)
{
    for (size_t k = 0; k < plans[i].need_count; k++)
        add_need(walk, i, plans[i].needs[k]);
    return waits_again(&plans[i]) ? add_stored_needs(walk, i, plans[i].existing, err) : FAINA_OK;
}

static enum faina_code refuse(struct walk *walk, struct faina_error *err)
{
    char id[FAINA_ID_SIZE] = "?";
    struct fa_row *need = NULL;
    enum faina_code code = fa_unit_get(walk->unit, walk->cycle.need, false, &need, err);

    if (code != FAINA_OK && code != FAINA_TASK_NOT_FOUND)
        return code;
    if (need != NULL)
        fa_id_format(need->id, id);
    return fa_error_field(err, FAINA_INVALID_TASK, "dependsOn",
                          "subtask %zu would wait forever: it depends on %s, which waits, directly "
                          "or through its own dependencies, for this task",
                          walk->cycle.plan + 1, id);
}

enum faina_code fa_check_dependency_cycle(struct fa_unit *unit, const struct fa_row *parent,
                                          const struct fa_plan *plans, size_t count,
                                          struct faina_error *err)
{
    struct walk walk = {.unit = unit};
    enum faina_code code = FAINA_OK;
    bool has_needs = false;

    for (size_t i = 0; i < count; i++)
        has_needs |= plans[i].need_count > 0 || waits_again(&plans[i]);
    if (!has_needs)
        return FAINA_OK;
    walk.nodes = fa_arena_take(&unit->arena, WALK_MAX * sizeof(*walk.nodes));
    walk.seen = fa_arena_zero(&unit->arena, SEEN_SIZE, sizeof(*walk.seen));
    code = read_ancestors(&walk, parent, err);
    for (size_t i = 0; code == FAINA_OK && i < count; i++)
        code = add_needs(&walk, plans, i, err);
    if (code == FAINA_OK)
        code = walk_dependencies(&walk, err);
    if (code == FAINA_OK && walk.cycle.key != 0)
        code = refuse(&walk, err);
    return code;
}
