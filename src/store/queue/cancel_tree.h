/*
 * cancel_tree.h - cancels the tasks below a task, some at a time.
 *
 * The walk goes down from the task, and among siblings from the oldest to the newest. Its place is
 * a path of parents, each with the child that was done last, so that it fits into a short text
 * whatever the number of tasks.
 *
 *   CT1  A parent is cancelled before its children, so that none of them unblocks it, and it can't
 *        get more of them.
 *   CT2  Children that had ended before stay as they are, with all below them.
 *   CT3  A request cancels up to FA_TREE_NOW tasks in its own transaction. The rest is an operation
 *        on many tasks (bulk_ops.h), which goes on from the place of the walk.
 */
#ifndef FA_STORE_QUEUE_CANCEL_TREE_H
#define FA_STORE_QUEUE_CANCEL_TREE_H

#include "model/limits.h"
#include "store/queue/ops.h"

#define FA_TREE_NOW 2000 /* tasks */
#define FA_TREE_TASK 20  /* the cost of a task; that of one that had ended is 1 */

struct fa_tree {
    struct fa_tree_level {
        int64_t parent, after; /* keys; after 0: none of its children is done */
    } levels[FA_SUBTASK_DEPTH_MAX + 2];
    size_t depth; /* 0: the walk is over */
    int64_t done, failed;
    /* Of the next step: */
    size_t limit;     /* what it may cost; 0: it ends */
    bool skips_first; /* the next live task makes a transaction fail: it counts as failed */
};

/* Below this task. */
struct fa_tree fa_tree_begin(const struct fa_row *root);
/* Goes on until tree->limit is spent, or the walk is over. */
FA_MUST_CHECK enum faina_code fa_tree_step(struct fa_unit *unit, struct fa_tree *tree,
                                           enum faina_actor actor, struct faina_error *err);
/* The place of the walk as text, and back. False: it is none. */
const char *fa_tree_write(const struct fa_tree *tree, struct fa_arena *arena);
bool fa_tree_read(const char *text, struct fa_tree *out);

#endif
