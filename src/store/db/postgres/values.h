/*
 * values.h - values of db.h as the server takes and gives them.
 *
 * Many rows of parameters go as one binary array for each parameter; one row goes as text, because
 * the server knows the types. Answers are binary.
 *
 * Unpacking arrays costs the server more than a row does, so a statement that takes arrays by
 * `unnest` has a second form for one row alone, which takes `(VALUES ...)` instead.
 *
 * Threads: none of its own.
 */
#ifndef FA_VALUES_H
#define FA_VALUES_H

#include "sql/db.h"

#include <libpq-fe.h>

/* The parameters of one execution. They point into what they were bound with. */
struct fa_pg_params {
    const char *values[FA_VALUES_MAX];
    int lengths[FA_VALUES_MAX], formats[FA_VALUES_MAX];
    Oid types[FA_VALUES_MAX];
    int count;
};

/* The letters of a statement's parameters (tools/embed-sql). */
const char *fa_pg_types(enum fa_sql sql);
/* Whether it takes arrays. */
bool fa_pg_is_many(enum fa_sql sql);

/* Whether it takes arrays, and has a form that takes one row. */
bool fa_pg_has_form_for_one(enum fa_sql sql);
const char *fa_pg_text_for_one(enum fa_sql sql, struct fa_arena *arena);

/* All rows; `columns` are FA_VALUES_MAX buffers. */
void fa_pg_bind_arrays(const struct fa_db_call *call, struct fa_buf *columns,
                       struct fa_pg_params *out);
/* One row. */
void fa_pg_bind_row(const struct fa_db_call *call, size_t row, struct fa_arena *scratch,
                    struct fa_pg_params *out);
struct fa_value fa_pg_read_value(const PGresult *result, int row, int column);

#endif
