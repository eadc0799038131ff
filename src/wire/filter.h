/*
 * filter.h - filters of tasks as names and values: the parameters of GET /tasks, the member
 * `filter` of the operations on many tasks, and `--where` of the command line.
 *
 * One table has the names. A value is text; in JSON it may also be a number, true, false, null, or
 * a list of statuses.
 */
#ifndef FA_WIRE_FILTER_H
#define FA_WIRE_FILTER_H

#include "wire/shape.h"

#include <faina.h>

/* Which tasks. Of the query only the conditions count. */
struct fa_filter {
    struct faina_query query;
    bool all; /* "all": true: no condition is needed */
};

/* Whether it is the name of a condition. */
bool fa_filter_has_name(const char *name);
/* Adds a condition. INVALID_REQUEST: there is none of this name, it is there already, or its value
 * is none; the error's field is the name. */
FA_MUST_CHECK enum faina_code fa_filter_add(struct faina_query *query, const char *name,
                                            const char *value, struct fa_arena *arena,
                                            struct faina_error *err);
/* Calls `each` for every condition of a query, with its value as text. */
typedef void fa_filter_fn(void *ctx, const char *name, const char *value);
void fa_filter_each(const struct faina_query *query, fa_filter_fn *each, void *ctx);
/* Whether there is a condition besides the namespace. */
bool fa_filter_has_condition(const struct faina_query *query);

/* As a JSON object. */
void fa_filter_put(struct fa_json_writer *w, const struct fa_filter *filter);
/* Reads an object inside a text that was checked. */
FA_MUST_CHECK enum faina_code fa_filter_read(struct fa_json object, struct fa_arena *arena,
                                             struct fa_filter *out, struct faina_error *err);
/* For descriptions. */
extern const struct fa_shape fa_shape_filter;

#endif
