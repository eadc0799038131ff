/*
 * sound.h - whether a row that was read can be one that this program has written.
 *
 * A store may be edited by other programs, or be damaged. SQLite keeps a value of any type in any
 * column; PostgreSQL keeps the types, not the ranges. Each reader of rows holds what it got against
 * a form, once, before anything else uses it.
 *
 *   F1  No value that fails its form reaches the rules in model/: a damaged row is an error with
 *       the row's id.
 *   F2  A form asks for types and ranges, and that text is UTF-8. Payloads are checked where they
 *       are shown (show.c), because they may be large.
 */
#ifndef FA_SOUND_H
#define FA_SOUND_H

#include "sql/db.h"

/*
 * What the columns of a statement hold, one letter each, in their order:
 *
 *   k  key of a task             K  the same, or null or 0
 *   i  rest of a task's id        r  rank
 *   l  id of a lane
 *   n  not negative              N  the same, or null
 *   m  duration in milliseconds   M  the same, or null
 *   t  time in microseconds      T  the same, or null
 *   g  progress, 0 to 100        G  the same, or null
 *   d  not negative and finite, or null
 *   H  status of a held task     P  of a parked one     E  of an ended one
 *   S  any status                a  who acted (enum faina_actor)
 *   x  text                      X  the same, or null
 *   j  JSON                      J  the same, or null
 *   B  text that is checked elsewhere, or null
 *   .  anything
 */
struct fa_form {
    const char *table;
    const char *kinds;
    const char *columns; /* their names, separated by spaces */
};

/* NULL: the row is sound. Otherwise a sentence about the first column that is not, in `arena`. */
const char *fa_form_check(const struct fa_form *form, const struct fa_value *values,
                          struct fa_arena *arena);

/* A copy of JSON text in `arena`; NULL when it is null, no text, or no JSON. */
char *fa_value_json(const struct fa_value *value, struct fa_arena *arena);
bool fa_is_json(const char *text);      /* NULL is */
bool fa_is_names(struct fa_bytes json); /* an array of strings */

#endif
