/*
 * children.h - which subtasks a parent has, by name.
 *
 * A subtask is told from its siblings by its name, or by its place among all that its parent's
 * attempt asks for. Their rows tell that already, so no key is stored for it: a parent that blocks
 * for the first time has nothing to look up, and one that blocks again reads the names of all it
 * has, which it has to go through anyway. Only who holds the parent can block it, so nobody makes
 * the same one meanwhile.
 *
 *   C1  Of one name, a parent has at most one subtask that is not deleted.
 */
#ifndef FA_CHILDREN_H
#define FA_CHILDREN_H

#include "sql/unit.h"

struct fa_children {
    struct fa_unit *unit;
    struct fa_row *parent;
    size_t stored; /* how many it has, deleted ones too */
    struct fa_child_name *names;
    size_t count, size; /* an open table: a power of two, at most half full */
    uint64_t seed;      /* names can't be chosen to fall together */
};

/* Reads what the parent has; `more` are going to be added. In the unit's arena. */
FA_MUST_CHECK enum faina_code fa_children_open(struct fa_unit *unit, struct fa_row *parent,
                                               size_t more, struct fa_children *out,
                                               struct faina_error *err);
/* Where it saves round trips: these are about to be asked for, and maybe their payloads. */
FA_MUST_CHECK enum faina_code fa_children_expect(struct fa_children *children,
                                                 const char *const *names, size_t count,
                                                 bool payload, struct faina_error *err);
/* The subtask of this name; *out is NULL when there is none that is not deleted. */
FA_MUST_CHECK enum faina_code fa_children_look(struct fa_children *children, const char *name,
                                               struct fa_row **out, struct faina_error *err);
/*
 * Finds the subtask of this name. *out is NULL when there is none: the name is taken from then on,
 * and the next one who asks for it is told so by *is_taken. The name must live as long as the unit.
 */
FA_MUST_CHECK enum faina_code fa_children_find(struct fa_children *children, const char *name,
                                               struct fa_row **out, bool *is_taken,
                                               struct faina_error *err);

#endif
