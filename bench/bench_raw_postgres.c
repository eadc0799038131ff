/*
 * bench_raw_postgres.c - libpq, used as in a fast queue that is written by hand.
 *
 * The minimal table has the autovacuum settings of the engine's tables, so that dead rows cost both
 * the same.
 */
#include "bench/bench_raw_postgres.h"

#include "base/clock.h"
#include "bench/bench_threads.h"

#include <arpa/inet.h>
#include <assert.h>
#include <endian.h>
#include <libpq-fe.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>

#define URL_SIZE 4300
#define WORKER "raw-worker"
#define ANSWER_MS 10000
#define EMPTY_CLAIMS_MAX 10000 /* other clients may have locked the last rows for a moment */
#define OID_INT8 20
#define OID_TEXT 25

static const char minimal_schema[] =
    "CREATE TABLE task (id bigint PRIMARY KEY, priority integer NOT NULL, is_held boolean NOT NULL,"
    " created_us bigint NOT NULL, lease_us bigint, worker text, input text)"
    " WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0,"
    " autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_cost_delay = 0,"
    " vacuum_truncate = off);"
    "CREATE INDEX task_ready ON task (priority DESC, id) WHERE NOT is_held";

/* The statistics of a queue are often wrong, because its size changes quickly. So these settings
 * make the planner use the indexes, as the engine's settings do. */
static const char settings[] = "SET client_min_messages = warning; SET enable_seqscan = off;"
                               "SET enable_hashjoin = off; SET enable_mergejoin = off;"
                               "SET enable_material = off; SET jit = off;"
                               "SET plan_cache_mode = force_generic_plan";

enum stmt { INSERT_ONE, INSERT_MANY, CLAIM, END_ONE, END_MANY, STMT_COUNT };

static const struct {
    const char *name, *sql;
} stmts[STMT_COUNT] = {
    [INSERT_ONE] = {"insert_one", "INSERT INTO task (id, priority, is_held, created_us, input)"
                                  " VALUES ($1::bigint, 0, false, $2::bigint, $3::text)"},
    [INSERT_MANY] = {"insert_many", "INSERT INTO task (id, priority, is_held, created_us, input)"
                                    " SELECT id, 0, false, created_us, input"
                                    " FROM unnest($1::bigint[], $2::bigint[], $3::text[])"
                                    " AS p (id, created_us, input)"},
    /* An array, not a join, which the planner could reorder when its statistics are old. */
    [CLAIM] = {"claim", "UPDATE task SET is_held = true, lease_us = $2::bigint, worker = $3::text"
                        " WHERE id = ANY (ARRAY (SELECT id FROM task WHERE NOT is_held"
                        " ORDER BY priority DESC, id LIMIT $1::bigint FOR UPDATE SKIP LOCKED))"
                        " RETURNING id, input"},
    [END_ONE] = {"end_one", "DELETE FROM task WHERE id = $1::bigint"},
    [END_MANY] = {"end_many", "DELETE FROM task WHERE id = ANY ($1::bigint[])"},
};

/* ------------------------------------------------------------------------------------------
 * Sessions
 */

struct fa_bench_session {
    PGconn *conn;
};

static enum faina_code refuse(PGconn *conn, const char *what, struct faina_error *err)
{
    const char *message = PQerrorMessage(conn);

    return fa_error_set(err, FAINA_UNAVAILABLE, "raw PostgreSQL can't %s: %.*s", what,
                        (int)strcspn(message, "\n"), message);
}

enum faina_code fa_bench_session_run(struct fa_bench_session *session, const char *sql,
                                     int64_t *number, struct faina_error *err)
{
    PGresult *result = PQexec(session->conn, sql);
    ExecStatusType status = PQresultStatus(result);
    bool is_good = status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK;

    if (number)
        *number = PQntuples(result) > 0 ? atoll(PQgetvalue(result, 0, 0)) : 0;
    PQclear(result);
    return is_good ? FAINA_OK : refuse(session->conn, "run a statement", err);
}

enum faina_code fa_bench_session_open(struct fa_bench_session **out, const struct fa_bench *bench,
                                      const char *schema, struct faina_error *err)
{
    struct fa_bench_session *session = fa_alloc_zero(1, sizeof *session);
    enum faina_code code = FAINA_OK;
    char url[URL_SIZE], sql[300];

    snprintf(url, sizeof url, "%.3000s%capplication_name=%s", bench->url,
             strchr(bench->url, '?') ? '&' : '?', bench->mark);
    session->conn = PQconnectdb(url);
    if (PQstatus(session->conn) != CONNECTION_OK)
        code = refuse(session->conn, "connect", err);
    if (code == FAINA_OK)
        code = fa_bench_session_run(session, settings, NULL, err);
    if (code == FAINA_OK && schema) {
        snprintf(sql, sizeof sql,
                 "CREATE SCHEMA IF NOT EXISTS \"%.100s\"; SET search_path = \"%.100s\", public",
                 schema, schema);
        code = fa_bench_session_run(session, sql, NULL, err);
    }
    if (code != FAINA_OK) {
        fa_bench_session_close(session);
        return code;
    }
    *out = session;
    return FAINA_OK;
}

void fa_bench_session_close(struct fa_bench_session *session)
{
    if (!session)
        return;
    PQfinish(session->conn);
    free(session);
}

static void read_setting(struct fa_bench_session *session, const char *name, char *out, size_t size)
{
    char sql[100];
    PGresult *result;

    snprintf(sql, sizeof sql, "SHOW %s", name);
    result = PQexec(session->conn, sql);
    snprintf(out, size, "%s", PQntuples(result) > 0 ? PQgetvalue(result, 0, 0) : "unknown");
    PQclear(result);
}

enum faina_code fa_bench_server_read(struct fa_bench *bench, struct faina_error *err)
{
    struct fa_bench_server *server = &bench->report.server;
    struct fa_bench_session *session;
    enum faina_code code = fa_bench_session_open(&session, bench, NULL, err);

    if (code != FAINA_OK)
        return code;
    snprintf(server->location, sizeof server->location, "postgres://%s:%s/%s",
             PQhost(session->conn), PQport(session->conn), PQdb(session->conn));
    read_setting(session, "server_version", server->version, sizeof server->version);
    server->version[strcspn(server->version, " ")] = '\0';
    read_setting(session, "shared_buffers", server->shared_buffers, sizeof server->shared_buffers);
    read_setting(session, "synchronous_commit", server->synchronous_commit,
                 sizeof server->synchronous_commit);
    read_setting(session, "fsync", server->fsync, sizeof server->fsync);
    fa_bench_session_close(session);
    return FAINA_OK;
}

/* Each schema in a transaction of its own, because a drop locks every table and index. */
enum faina_code fa_bench_schemas_drop(const struct fa_bench *bench, const char *prefix,
                                      bool with_sessions, struct faina_error *err)
{
    struct fa_bench_session *session;
    char sql[400];
    PGresult *found;
    enum faina_code code = fa_bench_session_open(&session, bench, NULL, err);

    if (code != FAINA_OK)
        return code;
    snprintf(sql, sizeof sql,
             "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
             " WHERE application_name = '%s' AND pid <> pg_backend_pid()",
             bench->mark);
    if (with_sessions)
        code = fa_bench_session_run(session, sql, NULL, err);
    snprintf(sql, sizeof sql,
             "SELECT nspname FROM pg_namespace WHERE starts_with(nspname, '%.100s')", prefix);
    found = PQexec(session->conn, sql);
    for (int i = 0; code == FAINA_OK && i < PQntuples(found); i++) {
        snprintf(sql, sizeof sql, "DROP SCHEMA IF EXISTS \"%.100s\" CASCADE",
                 PQgetvalue(found, i, 0));
        code = fa_bench_session_run(session, sql, NULL, err);
    }
    PQclear(found);
    fa_bench_session_close(session);
    return code;
}

/* ------------------------------------------------------------------------------------------
 * Values in binary form
 */

static void add_int32(struct fa_buf *out, uint32_t value)
{
    value = htonl(value);
    fa_buf_add(out, (const char *)&value, sizeof value);
}

static void add_int64(struct fa_buf *out, int64_t value)
{
    uint64_t swapped = htobe64((uint64_t)value);

    fa_buf_add(out, (const char *)&swapped, sizeof swapped);
}

static void begin_array(struct fa_buf *out, uint32_t type, size_t count)
{
    fa_buf_clear(out);
    add_int32(out, 1); /* dimension */
    add_int32(out, 0); /* no nulls */
    add_int32(out, type);
    add_int32(out, (uint32_t)count);
    add_int32(out, 1); /* lower bound */
}

static void put_int64(struct fa_buf *out, int64_t value)
{
    add_int32(out, sizeof value);
    add_int64(out, value);
}

static void put_text(struct fa_buf *out, const char *text)
{
    size_t len = strlen(text);

    add_int32(out, (uint32_t)len);
    fa_buf_add(out, text, len);
}

static int64_t read_int64(const char *bytes)
{
    uint64_t value;

    memcpy(&value, bytes, sizeof value);
    return (int64_t)be64toh(value);
}

/* ------------------------------------------------------------------------------------------
 * A client of a minimal table
 */

#define PARAMS 3

struct client {
    struct fa_bench_session *session;
    struct fa_buf params[PARAMS];
    int64_t *claimed;   /* those not yet completed are ... */
    size_t first, last; /* ... claimed[first] .. claimed[last - 1] */
    size_t claimed_max;
    struct fa_buf payload; /* a claim copies the input to it, as a caller would */
};

static enum faina_code make_table(const struct fa_bench *bench, const char *schema,
                                  struct faina_error *err)
{
    struct fa_bench_session *session;
    enum faina_code code = fa_bench_session_open(&session, bench, schema, err);

    if (code != FAINA_OK)
        return code;
    code = fa_bench_session_run(session, minimal_schema, NULL, err);
    fa_bench_session_close(session);
    return code;
}

static enum faina_code client_open(struct client *client, const struct fa_bench *bench,
                                   const char *schema, size_t claimed_max, struct faina_error *err)
{
    enum faina_code code = fa_bench_session_open(&client->session, bench, schema, err);

    for (size_t i = 0; i < PARAMS; i++)
        fa_buf_init(&client->params[i], SIZE_MAX / 2);
    fa_buf_init(&client->payload, SIZE_MAX / 2);
    client->claimed = fa_alloc_zero(claimed_max, sizeof *client->claimed);
    client->claimed_max = claimed_max;
    for (size_t i = 0; code == FAINA_OK && i < STMT_COUNT; i++) {
        PGresult *done = PQprepare(client->session->conn, stmts[i].name, stmts[i].sql, 0, NULL);

        if (PQresultStatus(done) != PGRES_COMMAND_OK)
            code = refuse(client->session->conn, "prepare a statement", err);
        PQclear(done);
    }
    return code;
}

static void client_close(struct client *client)
{
    fa_bench_session_close(client->session);
    for (size_t i = 0; i < PARAMS; i++)
        fa_buf_finish(&client->params[i]);
    fa_buf_finish(&client->payload);
    free(client->claimed);
}

/* Runs a statement with the first `count` parameters. NULL: it failed, see `err`. */
static PGresult *execute(struct client *client, enum stmt stmt, int count, struct faina_error *err)
{
    static const int formats[PARAMS] = {1, 1, 1};
    const char *values[PARAMS];
    int lengths[PARAMS];
    PGresult *result;

    for (int i = 0; i < count; i++) {
        values[i] = client->params[i].ptr;
        lengths[i] = (int)client->params[i].len;
    }
    result =
        PQexecPrepared(client->session->conn, stmts[stmt].name, count, values, lengths, formats, 1);
    if (PQresultStatus(result) == PGRES_TUPLES_OK || PQresultStatus(result) == PGRES_COMMAND_OK)
        return result;
    refuse(client->session->conn, stmts[stmt].name, err);
    PQclear(result);
    return NULL;
}

static enum faina_code expect(PGresult *result, size_t count, struct faina_error *err)
{
    size_t changed = result ? (size_t)atoll(PQcmdTuples(result)) : 0;

    PQclear(result);
    if (!result)
        return err->code;
    if (changed != count)
        return fa_error_set(err, FAINA_INTERNAL, "raw PostgreSQL changed %zu rows, not %zu",
                            changed, count);
    return FAINA_OK;
}

static enum faina_code insert(struct client *client, int64_t id, size_t count,
                              const struct fa_bench_inputs *inputs, struct faina_error *err)
{
    struct fa_buf *p = client->params;

    if (count == 1) {
        for (size_t i = 0; i < PARAMS; i++)
            fa_buf_clear(&p[i]);
        add_int64(&p[0], id);
        add_int64(&p[1], fa_clock_now_us());
        fa_buf_add_str(&p[2], fa_bench_input(inputs, (uint64_t)id));
        return expect(execute(client, INSERT_ONE, 3, err), 1, err);
    }
    begin_array(&p[0], OID_INT8, count);
    begin_array(&p[1], OID_INT8, count);
    begin_array(&p[2], OID_TEXT, count);
    for (size_t i = 0; i < count; i++, id++) {
        put_int64(&p[0], id);
        put_int64(&p[1], fa_clock_now_us());
        put_text(&p[2], fa_bench_input(inputs, (uint64_t)id));
    }
    return expect(execute(client, INSERT_MANY, 3, err), count, err);
}

/* Claims up to `count`. */
static enum faina_code claim(struct client *client, size_t count, struct faina_error *err)
{
    struct fa_buf *p = client->params;
    PGresult *result;

    for (size_t i = 0; i < PARAMS; i++)
        fa_buf_clear(&p[i]);
    add_int64(&p[0], (int64_t)count);
    add_int64(&p[1], fa_clock_now_us() + FA_BENCH_LEASE_MS * INT64_C(1000));
    fa_buf_add_str(&p[2], WORKER);
    result = execute(client, CLAIM, 3, err);
    if (!result)
        return err->code;
    for (int i = 0; i < PQntuples(result); i++) {
        assert(client->last < client->claimed_max);
        client->claimed[client->last++] = read_int64(PQgetvalue(result, i, 0));
        fa_buf_clear(&client->payload);
        fa_buf_add(&client->payload, PQgetvalue(result, i, 1), (size_t)PQgetlength(result, i, 1));
    }
    PQclear(result);
    return FAINA_OK;
}

static enum faina_code end(struct client *client, size_t count, struct faina_error *err)
{
    struct fa_buf *ids = &client->params[0];

    if (count == 1) {
        fa_buf_clear(ids);
        add_int64(ids, client->claimed[client->first++]);
        return expect(execute(client, END_ONE, 1, err), 1, err);
    }
    begin_array(ids, OID_INT8, count);
    for (size_t i = 0; i < count; i++)
        put_int64(ids, client->claimed[client->first++]);
    return expect(execute(client, END_MANY, 1, err), count, err);
}

/* ------------------------------------------------------------------------------------------
 * Minimal: submit, claim and complete
 */

struct fa_bench_minimal {
    const struct fa_bench_inputs *inputs;
    size_t batch, share; /* of one client, in tasks */
    atomic_llong next_id;
    struct client *clients;
    size_t client_count;
    struct fa_bench_threads *threads;
};

static enum faina_code claim_share(struct fa_bench_minimal *minimal, struct client *client,
                                   struct faina_error *err)
{
    enum faina_code code = FAINA_OK;
    int empty = 0;

    client->first = client->last = 0;
    while (code == FAINA_OK && client->last < minimal->share) {
        size_t before = client->last, left = minimal->share - before;

        code = claim(client, left < minimal->batch ? left : minimal->batch, err);
        empty = client->last > before ? 0 : empty + 1;
        if (code == FAINA_OK && empty > EMPTY_CLAIMS_MAX)
            code = fa_error_set(err, FAINA_INTERNAL, "a raw claim found no row, though some wait");
    }
    return code;
}

static enum faina_code run_share(void *ctx, size_t number, enum fa_bench_step step,
                                 struct faina_error *err)
{
    struct fa_bench_minimal *minimal = ctx;
    struct client *client = &minimal->clients[number];
    enum faina_code code = FAINA_OK;

    if (step == FA_BENCH_CLAIM)
        return claim_share(minimal, client, err);
    for (size_t done = 0; code == FAINA_OK && done < minimal->share; done += minimal->batch) {
        if (step == FA_BENCH_SUBMIT)
            code = insert(client, atomic_fetch_add(&minimal->next_id, (long long)minimal->batch),
                          minimal->batch, minimal->inputs, err);
        else
            code = end(client, minimal->batch, err);
    }
    return code;
}

enum faina_code fa_bench_minimal_round(struct fa_bench_minimal *minimal,
                                       int64_t out_ns[FA_BENCH_STEPS], struct faina_error *err)
{
    return fa_bench_threads_round(minimal->threads, out_ns, err);
}

enum faina_code fa_bench_minimal_open(struct fa_bench_minimal **out, const struct fa_bench *bench,
                                      const char *location, const char *name,
                                      const struct fa_bench_speed *speed, struct faina_error *err)
{
    struct fa_bench_minimal *minimal = fa_alloc_zero(1, sizeof *minimal);
    enum faina_code code;
    char schema[128];

    assert(speed->subject == FA_BENCH_MINIMAL);
    assert(speed->tasks % speed->callers == 0);
    snprintf(schema, sizeof schema, "%.90s_%.20s", location, name);
    minimal->inputs = &bench->inputs;
    minimal->share = (size_t)(speed->tasks / speed->callers);
    minimal->batch = (size_t)speed->batch < minimal->share ? (size_t)speed->batch : minimal->share;
    assert(minimal->share % minimal->batch == 0);
    minimal->next_id = (fa_clock_now_us() / 1000) << 12; /* as in a UUIDv7 */
    minimal->clients = fa_alloc_zero((size_t)speed->callers, sizeof *minimal->clients);
    code = make_table(bench, schema, err);
    while (code == FAINA_OK && minimal->client_count < (size_t)speed->callers)
        code = client_open(&minimal->clients[minimal->client_count++], bench, schema,
                           minimal->share, err);
    if (code != FAINA_OK) {
        fa_bench_minimal_close(minimal);
        return code;
    }
    minimal->threads = fa_bench_threads_start(minimal->client_count, run_share, minimal);
    *out = minimal;
    return FAINA_OK;
}

void fa_bench_minimal_close(struct fa_bench_minimal *minimal)
{
    if (!minimal)
        return;
    fa_bench_threads_stop(minimal->threads);
    for (size_t i = 0; i < minimal->client_count; i++)
        client_close(&minimal->clients[i]);
    free(minimal->clients);
    free(minimal);
}

/* ------------------------------------------------------------------------------------------
 * The pair of connections
 */

#define CHANNEL "faina_bench"

/* One thread uses both connections, so only the server and the sockets take time. */
struct fa_bench_notify_pair {
    const struct fa_bench_inputs *inputs;
    struct client here, there;
    int64_t next_id;
};

/* Sends NOTIFY without waiting for its result, which notify_end reads. */
static bool notify_begin(struct client *client)
{
    return PQsendQueryPrepared(client->session->conn, "notify", 0, NULL, NULL, NULL, 0) == 1;
}

static bool notify_end(struct client *client)
{
    PGconn *conn = client->session->conn;
    bool is_good = true;
    PGresult *result;

    while ((result = PQgetResult(conn)) != NULL) {
        is_good = is_good && PQresultStatus(result) == PGRES_COMMAND_OK;
        PQclear(result);
    }
    return is_good;
}

/* Waits for a notification of `from`. The connection's own notifications are skipped. */
static bool receive(struct client *client, const struct client *from)
{
    PGconn *conn = client->session->conn;
    int64_t until = fa_clock_mono_ns() + ANSWER_MS * INT64_C(1000000);

    while (fa_clock_mono_ns() < until) {
        struct pollfd file = {.fd = PQsocket(conn), .events = POLLIN};
        PGnotify *note;

        if (!PQconsumeInput(conn))
            return false;
        while ((note = PQnotifies(conn)) != NULL) {
            int pid = note->be_pid;

            PQfreemem(note);
            if (pid == PQbackendPID(from->session->conn))
                return true;
        }
        poll(&file, 1, ANSWER_MS);
    }
    return false;
}

static enum faina_code time_notify(struct fa_bench_notify_pair *pair,
                                   struct fa_bench_notify_times *out, struct faina_error *err)
{
    int64_t start = fa_clock_mono_ns();
    bool is_good = notify_begin(&pair->here) && receive(&pair->there, &pair->here);

    out->there_ns = fa_clock_mono_ns() - start;
    is_good = is_good && notify_begin(&pair->there) && notify_end(&pair->here) &&
              receive(&pair->here, &pair->there);
    out->back_ns = fa_clock_mono_ns() - start;
    is_good = is_good && notify_end(&pair->there);
    return is_good ? FAINA_OK : refuse(pair->here.session->conn, "notify", err);
}

enum faina_code fa_bench_notify_pair_measure(struct fa_bench_notify_pair *pair,
                                             struct fa_bench_notify_times *out,
                                             struct faina_error *err)
{
    enum faina_code code = time_notify(pair, out, err);
    int64_t start;

    if (code != FAINA_OK)
        return code;
    pair->there.first = pair->there.last = 0;
    start = fa_clock_mono_ns();
    code = claim(&pair->there, 1, err);
    out->claim_ns = fa_clock_mono_ns() - start;
    if (code == FAINA_OK && pair->there.last != 1)
        code = fa_error_set(err, FAINA_INTERNAL, "a raw claim found no row, though one waits");
    if (code == FAINA_OK)
        code = end(&pair->there, 1, err);
    return code == FAINA_OK ? insert(&pair->here, pair->next_id++, 1, pair->inputs, err) : code;
}

static enum faina_code listen_and_prepare(struct client *client, struct faina_error *err)
{
    PGresult *done;
    enum faina_code code = fa_bench_session_run(client->session, "LISTEN " CHANNEL, NULL, err);

    if (code != FAINA_OK)
        return code;
    done = PQprepare(client->session->conn, "notify", "NOTIFY " CHANNEL, 0, NULL);
    if (PQresultStatus(done) != PGRES_COMMAND_OK)
        code = refuse(client->session->conn, "prepare a statement", err);
    PQclear(done);
    return code;
}

enum faina_code fa_bench_notify_pair_open(struct fa_bench_notify_pair **out,
                                          const struct fa_bench *bench, const char *location,
                                          const char *name, struct faina_error *err)
{
    struct fa_bench_notify_pair *pair = fa_alloc_zero(1, sizeof *pair);
    char schema[128];
    enum faina_code code;

    snprintf(schema, sizeof schema, "%.90s_%.20s", location, name);
    pair->inputs = &bench->inputs;
    code = make_table(bench, schema, err);
    if (code == FAINA_OK)
        code = client_open(&pair->here, bench, schema, 1, err);
    if (code == FAINA_OK)
        code = client_open(&pair->there, bench, schema, 1, err);
    if (code == FAINA_OK)
        code = listen_and_prepare(&pair->here, err);
    if (code == FAINA_OK)
        code = listen_and_prepare(&pair->there, err);
    if (code == FAINA_OK)
        code = insert(&pair->here, pair->next_id++, 1, pair->inputs, err);
    if (code != FAINA_OK) {
        fa_bench_notify_pair_close(pair);
        return code;
    }
    *out = pair;
    return FAINA_OK;
}

void fa_bench_notify_pair_close(struct fa_bench_notify_pair *pair)
{
    if (!pair)
        return;
    client_close(&pair->here);
    client_close(&pair->there);
    free(pair);
}
