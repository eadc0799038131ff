/*
 * values.h - converts the values of db.h to parameters of libpq, and results to values.
 *
 * Many rows of parameters are sent as one binary array for each parameter; one row is sent as text,
 * because the server infers the types. Results are binary.
 *
 * Threads: none of its own.
 */
#ifndef FA_STORE_DB_POSTGRES_VALUES_H
#define FA_STORE_DB_POSTGRES_VALUES_H

#include "store/db/db.h"

#include <libpq-fe.h>

/* The parameters of one execution. They point into what they were bound with. */
struct fa_pg_params {
    const char *values[FA_VALUES_MAX];
    int lengths[FA_VALUES_MAX], formats[FA_VALUES_MAX];
    Oid types[FA_VALUES_MAX];
    int count;
};

/* All rows; `columns` are FA_VALUES_MAX buffers. */
void fa_pg_bind_arrays(const struct fa_db_call *call, struct fa_buf *columns,
                       struct fa_pg_params *out);
/* One row. */
void fa_pg_bind_row(const struct fa_db_call *call, size_t row, struct fa_arena *scratch,
                    struct fa_pg_params *out);
struct fa_value fa_pg_read_value(const PGresult *result, int row, int column);

#endif
