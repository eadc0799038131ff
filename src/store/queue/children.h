/*
 * children.h - the subtasks of a parent, by name and by their work.
 *
 * A subtask is identified among its siblings by its name. One without a name gets its position as
 * its name ("#7"): the position that it had among all subtasks that its parent's attempt requested,
 * or another one if that was taken. Names are read from the rows of the subtasks, so no key is
 * stored for them: a parent that blocks for the first time has nothing to read, and one that blocks
 * again reads the names of all its subtasks, which it needs anyway. Only the worker that holds the
 * parent can block it, so no other request creates the same subtask at the same time.
 *
 *   C1  A parent has at most one subtask of a name that is not deleted.
 */
#ifndef FA_STORE_QUEUE_CHILDREN_H
#define FA_STORE_QUEUE_CHILDREN_H

#include "store/txn/unit.h"

struct fa_children {
    struct fa_unit *unit;
    struct fa_row *parent;
    size_t stored;        /* number of its subtasks, deleted ones too */
    size_t next_position; /* behind all positions in use */
    struct fa_child_name *names;
    size_t count, size;          /* an open table: a power of two, at most half full */
    uint64_t seed;               /* random, against names chosen to collide */
    struct fa_child_name **free; /* fa_children_read_free: sorted by work, then by position */
    size_t free_count;
};

/* Reads the names of the parent's subtasks into the unit's arena; `more` are going to be added. */
FA_MUST_CHECK enum faina_code fa_children_open(struct fa_unit *unit, struct fa_row *parent,
                                               size_t more, struct fa_children *out,
                                               struct faina_error *err);
/* In a shared store: reads these at once, since they are about to be found one by one. */
FA_MUST_CHECK enum faina_code fa_children_expect(struct fa_children *children,
                                                 const char *const *names, size_t count,
                                                 struct faina_error *err);

/* Reads the work (fa_work_hash) of the subtasks of these names, for the next three functions.
 * Inputs are not kept. */
FA_MUST_CHECK enum faina_code fa_children_read(struct fa_children *children,
                                               const char *const *names, size_t count,
                                               struct faina_error *err);
/* Whether it has a subtask of this name that is not deleted, ... */
bool fa_children_has(const struct fa_children *children, const char *name);
/* ... and with this work. */
bool fa_children_match(const struct fa_children *children, const char *name, struct fa_key work);
/* Reserves the subtask for one of the request, so that no other gets it. */
void fa_children_take(struct fa_children *children, const char *name);

/* Reads the work of the subtasks with a position from `first` on that are not taken. */
FA_MUST_CHECK enum faina_code fa_children_read_free(struct fa_children *children, size_t first,
                                                    struct faina_error *err);
/* Takes the first of them with this work, and returns its name; NULL: there is none. */
const char *fa_children_take_match(struct fa_children *children, struct fa_key work);

/*
 * Finds the subtask of this name. *out is NULL if there is none: the name is reserved then, and the
 * next call for it sets *is_taken. The name must live as long as the unit.
 */
FA_MUST_CHECK enum faina_code fa_children_find(struct fa_children *children, const char *name,
                                               struct fa_row **out, bool *is_taken,
                                               struct faina_error *err);

#endif
