/* sql_world.c - see sql_world.h. */
#include "postgres/sql_world.h"

#include <libpq-fe.h>
#include <stdlib.h>

int fa_sql_set_up(void **state)
{
    struct fa_sql_world *world = fa_alloc_zero(1, sizeof *world);

    *state = world;
    fa_t_init(&world->t);
    if (fa_psql_url() != NULL)
        fa_t_set_url(&world->t, FA_T_POSTGRES);
    return 0;
}

int fa_sql_tear_down(void **state)
{
    struct fa_sql_world *world = *state;

    fa_psql_close(world->one);
    fa_psql_close(world->two);
    fa_t_finish(&world->t);
    free(world);
    return 0;
}

void fa_sql_open(struct fa_sql_world *world)
{
    char plain[FA_T_PATH_SIZE];

    fa_psql_need_engine();
    fa_t_open(&world->t);
    fa_psql_split(world->t.url, plain, world->schema);
    world->one = fa_psql_connect(world->t.url);
    world->two = fa_psql_connect(world->t.url);
}

const char *fa_sql_submit(struct fa_sql_world *world, PGconn *conn, const char *arguments)
{
    char id[FA_PSQL_TEXT_SIZE];

    fa_psql_text(conn, id, "SELECT submit(%s)", arguments);
    return fa_arena_strdup(&world->t.arena, id);
}

const char *fa_sql_refusal(struct fa_sql_world *world, const char *statement)
{
    PGresult *result = PQexec(world->one, statement);
    const char *column = PQresultErrorField(result, PG_DIAG_COLUMN_NAME);
    const char *hint = PQresultErrorField(result, PG_DIAG_MESSAGE_HINT);
    const char *said = "it was not refused";

    if (PQresultStatus(result) == PGRES_FATAL_ERROR) {
        said = fa_arena_printf(&world->t.arena, "%s %s: %s",
                               PQresultErrorField(result, PG_DIAG_SQLSTATE), column ? column : "-",
                               PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY));
        CHECK(hint != NULL, "no hint: %s", said);
    }
    PQclear(result);
    return said;
}
