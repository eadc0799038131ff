/* cancel_tree.c - see cancel_tree.h. */
#include "store/queue/cancel_tree.h"

#include <inttypes.h>
#include <stdlib.h>

#define PART 100 /* children that are read at once */

struct child {
    int64_t key;
    bool has_ended;
};

struct part {
    struct child items[PART];
    size_t count;
};

static void sink_child(void *ctx, size_t n, const struct fa_value *c)
{
    struct part *part = ctx;

    (void)n;
    if (part->count < PART)
        part->items[part->count++] =
            (struct child){fa_value_as_int(&c[0]), fa_value_as_int(&c[1]) != 0};
}

struct fa_tree fa_tree_begin(const struct fa_row *root)
{
    struct fa_tree tree = {.depth = 0};

    if (root->flags & FA_FLAG_HAS_CHILDREN)
        tree.levels[tree.depth++].parent = root->id.key;
    return tree;
}

static enum faina_code read_part(struct fa_unit *unit, const struct fa_tree_level *level,
                                 struct part *out, struct faina_error *err)
{
    struct fa_value params[] = {fa_value_int(level->parent), fa_value_int(level->after),
                                fa_value_int(PART)};
    struct fa_keys live = {.arena = &unit->arena};
    enum faina_code code;

    out->count = 0;
    code = fa_db_one(unit->source.db, FA_SQL_CHILD_ENDED, params, 3, sink_child, out, err);
    for (size_t i = 0; i < out->count; i++)
        if (!out->items[i].has_ended)
            fa_keys_add(&live, out->items[i].key);
    return code == FAINA_OK ? fa_unit_read_ahead(unit, live.keys, live.count, err) : code;
}

/* Cancels one child. *goes_down: its children come next. */
static enum faina_code cancel_child(struct fa_unit *unit, struct fa_tree *tree, int64_t key,
                                    enum faina_actor actor, bool *goes_down,
                                    struct faina_error *err)
{
    struct fa_row *row = NULL;
    enum faina_code code;

    *goes_down = false;
    if (tree->skips_first) {
        tree->skips_first = false;
        tree->failed++;
        return FAINA_OK;
    }
    code = fa_unit_get(unit, key, false, &row, err);
    if (code == FAINA_TASK_NOT_FOUND) /* deleted */
        return FAINA_OK;
    if (code != FAINA_OK || fa_status_is_ended(row->status))
        return code;
    fa_unit_apply(unit, row,
                  &(struct fa_change){
                      .trigger = FA_CANCEL, .actor = actor, .state = "Cancelled with its parent"});
    tree->done++;
    *goes_down = row->flags & FA_FLAG_HAS_CHILDREN && tree->depth < FA_COUNT(tree->levels);
    return fa_unit_wake(unit, row, true, err);
}

static void spend(struct fa_tree *tree, size_t cost)
{
    tree->limit -= cost < tree->limit ? cost : tree->limit;
}

/* The children of the last level, until one has children of its own. */
static enum faina_code step_level(struct fa_unit *unit, struct fa_tree *tree,
                                  enum faina_actor actor, struct faina_error *err)
{
    struct fa_tree_level *level = &tree->levels[tree->depth - 1];
    bool goes_down = false;
    struct part part;
    enum faina_code code = read_part(unit, level, &part, err);

    for (size_t i = 0; code == FAINA_OK && !goes_down && tree->limit > 0 && i < part.count; i++) {
        spend(tree, part.items[i].has_ended ? 1 : FA_TREE_TASK);
        level->after = part.items[i].key;
        if (!part.items[i].has_ended)
            code = cancel_child(unit, tree, level->after, actor, &goes_down, err);
    }
    if (code == FAINA_OK && goes_down)
        tree->levels[tree->depth++] = (struct fa_tree_level){.parent = level->after};
    else if (part.count == 0)
        tree->depth--;
    return code;
}

enum faina_code fa_tree_step(struct fa_unit *unit, struct fa_tree *tree, enum faina_actor actor,
                             struct faina_error *err)
{
    enum faina_code code = tree->depth > 0 ? fa_unit_flush(unit, err) : FAINA_OK;

    while (code == FAINA_OK && tree->depth > 0 && tree->limit > 0)
        code = step_level(unit, tree, actor, err);
    return code;
}

const char *fa_tree_write(const struct fa_tree *tree, struct fa_arena *arena)
{
    const char *text = "";

    for (size_t i = 0; i < tree->depth; i++)
        text = fa_arena_printf(arena, "%s%s%" PRId64 ":%" PRId64, text, i > 0 ? " " : "",
                               tree->levels[i].parent, tree->levels[i].after);
    return text;
}

static bool read_key(const char **text, char end, int64_t *out)
{
    char *rest;

    if (**text < '0' || **text > '9')
        return false;
    *out = strtoll(*text, &rest, 10);
    *text = rest + (*rest == end && end != '\0');
    return *rest == end || (end == ' ' && *rest == '\0');
}

bool fa_tree_read(const char *text, struct fa_tree *out)
{
    *out = (struct fa_tree){.depth = 0};
    while (*text != '\0') {
        struct fa_tree_level *level = &out->levels[out->depth];

        if (out->depth == FA_COUNT(out->levels) || !read_key(&text, ':', &level->parent) ||
            !read_key(&text, ' ', &level->after))
            return false;
        out->depth++;
    }
    return true;
}
