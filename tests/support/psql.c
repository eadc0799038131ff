/*
 * psql.c - plain sessions beside the engine.
 */
#include "support/psql.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <libpq-fe.h>

static const char *setting(const char *name)
{
    const char *text = getenv(name);

    return text && *text ? text : NULL;
}

const char *fa_psql_url(void)
{
    return setting("FA_POSTGRES_URL");
}

const char *fa_psql_admin_url(void)
{
    return setting("FA_POSTGRES_ADMIN_URL");
}

void fa_psql_need(void)
{
    if (fa_psql_url())
        return;
    print_message("no PostgreSQL here: run it through tools/test-postgres\n");
    skip();
}

void fa_psql_need_engine(void)
{
    fa_psql_need();
    if (access(FA_SOURCE_ROOT "/src/store/db/postgres/db_postgres.c", R_OK) == 0)
        return;
    print_message("this build has no PostgreSQL engine\n");
    skip();
}

/* ------------------------------------------------------------------------------------------
 * URLs
 */

void fa_psql_split(const char *url, char out[FA_T_PATH_SIZE], char schema[64])
{
    const char *at = strchr(url, '?');
    const char *rest;

    while (at && strncmp(at + 1, "schema=", 7) != 0)
        at = strchr(at + 1, '&');
    schema[0] = '\0';
    snprintf(out, FA_T_PATH_SIZE, "%s", url);
    if (at == NULL)
        return;
    rest = strchr(at + 1, '&');
    snprintf(schema, 64, "%.*s", (int)strcspn(at + 8, "&"), at + 8);
    snprintf(out + (at - url), FA_T_PATH_SIZE - (size_t)(at - url), "%s", rest ? rest : "");
    if (rest && *at == '?')
        out[at - url] = '?';
}

int fa_psql_port(const char *url)
{
    const char *host = strrchr(url, '@');
    const char *port = host ? strchr(host, ':') : NULL;
    char text[16];

    CHECK(port != NULL, "no port in %s", url);
    snprintf(text, sizeof text, "%.*s", (int)strcspn(port + 1, "/"), port + 1);
    return (int)fa_t_int(text);
}

void fa_psql_through(const char *url, int port, char out[FA_T_PATH_SIZE])
{
    const char *host = strrchr(url, '@');
    const char *path;

    CHECK(host != NULL, "no user in %s", url);
    path = strchr(host, '/');
    CHECK(path != NULL, "no database in %s", url);
    snprintf(out, FA_T_PATH_SIZE, "%.*s@127.0.0.1:%d%s", (int)(host - url), url, port, path);
}

void fa_psql_with(const char *url, const char *key, const char *value, char out[FA_T_PATH_SIZE])
{
    char whole[FA_T_PATH_SIZE];

    snprintf(whole, sizeof whole, "%s%c%s=%s", url, strchr(url, '?') ? '&' : '?', key, value);
    memcpy(out, whole, sizeof whole);
}

/* ------------------------------------------------------------------------------------------
 * Sessions
 */

static void ignore_notice(void *arg, const char *message)
{
    (void)arg;
    (void)message;
}

PGconn *fa_psql_try_connect(const char *url)
{
    char plain[FA_T_PATH_SIZE], schema[64];
    PGconn *conn;

    fa_psql_split(url, plain, schema);
    conn = PQconnectdb(plain);
    if (PQstatus(conn) != CONNECTION_OK) {
        PQfinish(conn);
        return NULL;
    }
    PQsetNoticeProcessor(conn, ignore_notice, NULL);
    if (schema[0])
        fa_psql_exec(conn, "SET search_path = \"%s\"", schema);
    return conn;
}

PGconn *fa_psql_connect(const char *url)
{
    PGconn *conn = fa_psql_try_connect(url);

    CHECK(conn != NULL, "can't connect to %s", url);
    return conn;
}

void fa_psql_close(PGconn *conn)
{
    if (conn)
        PQfinish(conn);
}

static PGresult *run(PGconn *conn, const char *format, va_list args)
{
    char sql[8192];
    int len = vsnprintf(sql, sizeof sql, format, args);

    CHECK(len < (int)sizeof sql, "a statement of %d bytes", len);
    return PQexec(conn, sql);
}

static bool is_fine(const PGresult *result)
{
    ExecStatusType status = PQresultStatus(result);

    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

void fa_psql_exec(PGconn *conn, const char *format, ...)
{
    va_list args;
    PGresult *result;

    va_start(args, format);
    result = run(conn, format, args);
    va_end(args);
    CHECK(is_fine(result), "%s: %s", format, PQerrorMessage(conn));
    PQclear(result);
}

const char *fa_psql_try(PGconn *conn, char state[8], const char *format, ...)
{
    const char *found;
    va_list args;
    PGresult *result;

    va_start(args, format);
    result = run(conn, format, args);
    va_end(args);
    found = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    snprintf(state, 8, "%s", is_fine(result) ? "" : found ? found : "lost");
    PQclear(result);
    return state;
}

/* FORCE is refused while an autovacuum worker, which belongs to no role, is connected. It ends by
 * itself. */
void fa_psql_drop_database(PGconn *conn, const char *name)
{
    char state[8] = "";

    for (int i = 0; i < 600; i++) {
        fa_psql_try(conn, state, "DROP DATABASE %s WITH (FORCE)", name);
        if (strcmp(state, "42501") != 0)
            break;
        usleep(50 * 1000);
    }
    CHECK(state[0] == '\0', "DROP DATABASE %s: %s", name, state);
}

int64_t fa_psql_int(PGconn *conn, const char *format, ...)
{
    int64_t value = -1;
    va_list args;
    PGresult *result;

    va_start(args, format);
    result = run(conn, format, args);
    va_end(args);
    CHECK(PQresultStatus(result) == PGRES_TUPLES_OK, "%s: %s", format, PQerrorMessage(conn));
    if (PQntuples(result) > 0 && !PQgetisnull(result, 0, 0))
        value = fa_t_int(PQgetvalue(result, 0, 0));
    PQclear(result);
    return value;
}

void fa_psql_text(PGconn *conn, char out[FA_PSQL_TEXT_SIZE], const char *format, ...)
{
    va_list args;
    PGresult *result;

    va_start(args, format);
    result = run(conn, format, args);
    va_end(args);
    CHECK(PQresultStatus(result) == PGRES_TUPLES_OK, "%s: %s", format, PQerrorMessage(conn));
    snprintf(out, FA_PSQL_TEXT_SIZE, "%s", PQntuples(result) > 0 ? PQgetvalue(result, 0, 0) : "");
    PQclear(result);
}

/* ------------------------------------------------------------------------------------------
 * Steps that wait
 */

void fa_psql_send(PGconn *conn, const char *sql)
{
    CHECK(PQsendQuery(conn, sql) == 1, "%s: %s", sql, PQerrorMessage(conn));
}

void fa_psql_await(PGconn *conn)
{
    PGresult *result;

    while ((result = PQgetResult(conn))) {
        CHECK(is_fine(result), "a step failed: %s", PQerrorMessage(conn));
        PQclear(result);
    }
}

struct pair {
    PGconn *watch, *conn;
};

static bool is_blocked(struct fa_t *t, void *arg)
{
    const struct pair *pair = arg;

    (void)t;
    return fa_psql_int(pair->watch,
                       "SELECT count(*) FROM pg_stat_activity WHERE pid = %d AND "
                       "wait_event_type = 'Lock'",
                       PQbackendPID(pair->conn)) == 1;
}

void fa_psql_await_blocked(PGconn *watch, PGconn *conn)
{
    struct pair pair = {watch, conn};

    fa_t_wait_until(is_blocked, NULL, &pair, "a session waits for a lock");
}

void fa_psql_drop_schema(const char *url)
{
    char plain[FA_T_PATH_SIZE], schema[64], state[8];
    PGconn *conn;

    fa_psql_split(url, plain, schema);
    if (schema[0] == '\0')
        return;
    conn = fa_psql_connect(plain);
    fa_psql_exec(conn, "SET lock_timeout = %d", FA_T_DEADLINE_MS);
    fa_psql_try(conn, state, "DROP SCHEMA IF EXISTS \"%s\" CASCADE", schema);
    CHECK(state[0] == '\0', "schema %s can't be dropped (%s): does a session still use it?", schema,
          state);
    fa_psql_close(conn);
}
