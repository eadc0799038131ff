/*
 * row_check.h - checks rows that were read against the types and ranges that this program writes.
 *
 * A store may be edited by other programs, or be damaged. SQLite accepts a value of any type in any
 * column; PostgreSQL ensures the types, not the ranges. Each reader checks its rows against a form,
 * once, before anything else uses them.
 *
 *   F1  No value that fails its check reaches the rules in model/: a damaged row is an error with
 *       the row's id.
 *   F2  A form describes types and ranges; text must be UTF-8. Payloads are checked where they are
 *       shown (show.c), because they may be large.
 */
#ifndef FA_STORE_TXN_ROW_CHECK_H
#define FA_STORE_TXN_ROW_CHECK_H

#include "store/db/db.h"

/*
 * What the columns of a statement hold, one letter each, in their order:
 *
 *   k  key of a task             K  the same, or null or 0
 *   i  rest of a task's id        r  rank
 *   l  id of a lane
 *   n  not negative              N  the same, or null
 *   w  not negative, or -1       W  the same, or null
 *   m  duration in milliseconds   M  the same, or null
 *   t  time in microseconds      T  the same, or null
 *   g  progress, 0 to 100        G  the same, or null
 *   d  not negative and finite, or null
 *   H  status of a held task     P  of a parked one     E  of an ended one
 *   S  any status                a  actor (enum faina_actor)
 *   x  text                      X  the same, or null
 *   j  JSON                      J  the same, or null
 *   B  text that is checked later (F2), or null
 *   .  anything
 */
struct fa_form {
    const char *table;
    const char *kinds;
    const char *columns; /* their names, separated by spaces */
};

/* NULL: the row passes. Otherwise a message about the first column that fails, in `arena`. */
const char *fa_form_check(const struct fa_form *form, const struct fa_value *values,
                          struct fa_arena *arena);

/* A copy of JSON text in `arena`; NULL for null and everything that is not JSON. */
char *fa_value_json(const struct fa_value *value, struct fa_arena *arena);
bool fa_is_json(const char *text);      /* true for NULL */
bool fa_is_names(struct fa_bytes json); /* a JSON array of strings */

#endif
