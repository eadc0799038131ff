/*
 * sql_world.h - an engine, and two sessions of an application that submits in SQL.
 */
#ifndef FA_TEST_SQL_WORLD_H
#define FA_TEST_SQL_WORLD_H

#include "support/ops.h"
#include "support/psql.h"

#include <stdatomic.h>

struct fa_sql_world {
    struct fa_t t;
    PGconn *one, *two; /* sessions of an application */
    char schema[64];
    atomic_llong woken_us;
    size_t count;
};

/* For cmocka: *state is the world. Without PostgreSQL fa_sql_open skips the test. */
int fa_sql_set_up(void **state);
int fa_sql_tear_down(void **state);
void fa_sql_open(struct fa_sql_world *world);

/* The id that submit(ARGUMENTS) returns. */
const char *fa_sql_submit(struct fa_sql_world *world, PGconn *conn, const char *arguments);
/* What the database says about a statement that it refuses: "SQLSTATE field: message". */
const char *fa_sql_refusal(struct fa_sql_world *world, const char *statement);

#endif
