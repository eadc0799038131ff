/*
 * children.h - which subtasks a parent has, by name and by what they are to do.
 *
 * A subtask is told from its siblings by its name, or by a place: the one that it had among all
 * that its parent's attempt asked for, unless another had it. Their rows tell that already, so no
 * key is stored for it: a parent that blocks for the first time has nothing to look up, and one
 * that blocks again reads the names of all it has, which it has to go through anyway. Only who
 * holds the parent can block it, so nobody makes the same one meanwhile.
 *
 *   C1  Of one name, a parent has at most one subtask that is not deleted.
 */
#ifndef FA_CHILDREN_H
#define FA_CHILDREN_H

#include "sql/unit.h"

struct fa_children {
    struct fa_unit *unit;
    struct fa_row *parent;
    size_t stored;     /* how many it has, deleted ones too */
    size_t next_place; /* behind all that have one */
    struct fa_child_name *names;
    size_t count, size;          /* an open table: a power of two, at most half full */
    uint64_t seed;               /* names can't be chosen to fall together */
    struct fa_child_name **free; /* fa_children_read_free: sorted by work, then by place */
    size_t free_count;
};

/* Reads what the parent has; `more` are going to be added. In the unit's arena. */
FA_MUST_CHECK enum faina_code fa_children_open(struct fa_unit *unit, struct fa_row *parent,
                                               size_t more, struct fa_children *out,
                                               struct faina_error *err);
/* Where it saves round trips: these are about to be found. */
FA_MUST_CHECK enum faina_code fa_children_expect(struct fa_children *children,
                                                 const char *const *names, size_t count,
                                                 struct faina_error *err);

/* Reads what those of these names are to do, which the next three ask about. No input is kept. */
FA_MUST_CHECK enum faina_code fa_children_read(struct fa_children *children,
                                               const char *const *names, size_t count,
                                               struct faina_error *err);
/* Whether it has a subtask of this name that is not deleted, ... */
bool fa_children_has(const struct fa_children *children, const char *name);
/* ... and that is to do this (fa_work_hash). */
bool fa_children_is_like(const struct fa_children *children, const char *name, struct fa_key work);
/* It is meant by one of the list, so that no other can mean it. */
void fa_children_take(struct fa_children *children, const char *name);

/* Reads what those are to do that have a place from `first` on, and are not taken. */
FA_MUST_CHECK enum faina_code fa_children_read_free(struct fa_children *children, size_t first,
                                                    struct faina_error *err);
/* The first of them that is to do this, by the name that its place gives it, or NULL. From then on
 * it is taken. */
const char *fa_children_take_like(struct fa_children *children, struct fa_key work);

/*
 * Finds the subtask of this name. *out is NULL when there is none: the name is taken from then on,
 * and the next one who asks for it is told so by *is_taken. The name must live as long as the unit.
 */
FA_MUST_CHECK enum faina_code fa_children_find(struct fa_children *children, const char *name,
                                               struct fa_row **out, bool *is_taken,
                                               struct faina_error *err);

#endif
