/*
 * db_postgres.c - db.h over libpq.
 *
 * `sent` lists what was sent and whose result is not read yet, in order. A call with a sink sends a
 * sync and reads the results up to its own.
 */
#include "store/db/postgres/db_postgres.h"

#include "base/clock.h"
#include "generated/postgres_migrations.h"
#include "store/db/postgres/doctor_postgres.h"
#include "store/db/postgres/commit_proof.h"
#include "store/db/postgres/values.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define RESOLVE_US_MAX 25000000 /* how long to resolve a lost commit: at least two tries */
#define RESOLVE_PAUSE_MS 50
#define NAME_SIZE 64
#define MANY (FA_STMT_MANY_ROWS | FA_STMT_MANY_KEYS)

/* How long to wait for a result: longer than the statement_timeout of such a connection. */
static const int answer_ms_max[] = {[FA_PG_WRITER] = 45000, [FA_PG_READER] = 75000};
/* The same for statements that read whole tables (fa_db.allows_slow), and their settings. */
#define PATIENT_MS_MAX 615000
#define PATIENT_SETTINGS                                                                           \
    "SELECT set_config('statement_timeout', '10min', true), "                                      \
    "set_config('idle_in_transaction_session_timeout', '10min', true)"
/* ... of readers also the planner's own choice, which target.c takes away. */
#define READER_PATIENT_SETTINGS                                                                    \
    PATIENT_SETTINGS ", set_config('enable_seqscan', 'on', true), "                                \
                     "set_config('enable_bitmapscan', 'on', true), "                               \
                     "set_config('enable_sort', 'on', true)"

#define CLOSING_MS_MAX 3000 /* the same when the engine is being closed (fa_db.is_closing) ... */
#define POLL_MS 250         /* ... which is read this often */

/* A message that was sent, and whose result is to be read. */
struct sent {
    enum { SENT_PLAIN, SENT_PREPARE, SENT_CALL, SENT_PROOF_PREPARE, SENT_PROOF, SENT_COMMIT } what;
    enum fa_sql sql;
    unsigned form;                 /* of the statement */
    const struct fa_db_call *call; /* SENT_CALL with a sink */
    size_t row;                    /* of a call that sends one message for each row */
};

struct pg {
    struct fa_db base;
    struct fa_pg_target *target;
    enum fa_pg_role role;
    PGconn *conn; /* NULL: lost */
    bool in_transaction, in_pipeline;
    bool sync_pending; /* a sync was sent, and its result is not read yet */
    bool is_committed; /* the server has confirmed the commit */
    bool has_written;  /* the transaction changes rows */
    bool has_proof;    /* ... and stores its number (commit_proof.h) */
    bool has_time;     /* the transaction has the settings for slow statements */
    struct fa_pg_proof proof;
    bool is_proof_prepared;
    struct sent *sent;
    size_t sent_count, sent_next, sent_size;
    uint8_t prepared[FA_SQL_COUNT]; /* 1 << form */
    struct fa_buf columns[FA_VALUES_MAX];
    struct fa_arena scratch, answers;
    char version[64];
};

static const struct fa_db_ops postgres_ops;

static struct pg *downcast(struct fa_db *db)
{
    assert(db->ops == &postgres_ops);
    return (struct pg *)db;
}

/* Failures ------------------------------------------------------------------------------------ */

static void drop_connection(struct pg *pg)
{
    PQfinish(pg->conn);
    pg->conn = NULL;
    pg->in_transaction = pg->in_pipeline = pg->sync_pending = false;
    pg->sent_count = pg->sent_next = 0;
    memset(pg->prepared, 0, sizeof(pg->prepared));
    pg->is_proof_prepared = false;
}

static enum faina_code lose(struct pg *pg, struct faina_error *err)
{
    char line[300] = "the connection was closed";

    if (pg->conn != NULL && PQerrorMessage(pg->conn)[0] != '\0')
        fa_pg_message(PQerrorMessage(pg->conn), line, sizeof(line));
    drop_connection(pg);
    pg->base.has_failed = pg->base.should_retry = true;
    return fa_error_set(err, FAINA_UNAVAILABLE, "the connection was lost: %s", line);
}

/* The code for each class of failure. The first matching row counts. */
static const struct {
    const char *state; /* SQLSTATE, or its beginning */
    enum faina_code code;
    bool should_retry, is_lost;
} meanings[] = {
    {"40001", FAINA_OVERLOADED, true, false},   /* serialization failure */
    {"40P01", FAINA_OVERLOADED, true, false},   /* deadlock */
    {"55P03", FAINA_OVERLOADED, true, false},   /* lock not available in time */
    {"23505", FAINA_INTERNAL, true, false},     /* another node took the key, or the id */
    {"23503", FAINA_INTERNAL, true, false},     /* a partition was dropped */
    {"57014", FAINA_OVERLOADED, false, false},  /* statement timeout */
    {"53100", FAINA_UNAVAILABLE, false, false}, /* disk full */
    {"53", FAINA_OVERLOADED, false, false},     /* too many connections, out of memory */
    {"42501", FAINA_UNAVAILABLE, false, false}, /* insufficient privilege */
    {"25P03", FAINA_UNAVAILABLE, true, true},   /* idle in a transaction */
    {"25006", FAINA_UNAVAILABLE, true, true},   /* the server has become a standby */
    {"57P", FAINA_UNAVAILABLE, true, true},     /* shutdown, crash, startup */
    {"08", FAINA_UNAVAILABLE, true, true},      {"", FAINA_INTERNAL, false, false},
};

static enum faina_code refuse(struct pg *pg, const PGresult *result, const char *doing,
                              struct faina_error *err)
{
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *primary = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    enum faina_code code = FAINA_INTERNAL;
    size_t i = 0;

    if (state == NULL) /* from libpq: the connection is lost */
        return lose(pg, err);
    while (strncmp(state, meanings[i].state, strlen(meanings[i].state)) != 0)
        i++;
    code = meanings[i].code;
    fa_error_set(err, code, "the database refused %s: %.300s (%s)", doing,
                 primary ? primary : "no reason given", state);
    if (meanings[i].is_lost)
        drop_connection(pg);
    pg->base.has_failed = true;
    pg->base.should_retry = meanings[i].should_retry;
    pg->base.is_full |= strcmp(state, "53100") == 0;
    return code;
}

/* Results ------------------------------------------------------------------------------------- */

/* The next result, or NULL after the last one of a statement. *is_lost: none arrives. */
static PGresult *next_result(struct pg *pg, bool *is_lost)
{
    int ms_max = pg->has_time ? PATIENT_MS_MAX : answer_ms_max[pg->role];
    int64_t until = fa_clock_mono_us() + ms_max * INT64_C(1000);
    bool is_closing = false;

    *is_lost = false;
    while (PQisBusy(pg->conn)) {
        struct pollfd wait = {.fd = PQsocket(pg->conn), .events = POLLIN};
        int64_t left_ms;
        int n;

        if (!is_closing && atomic_load(&pg->base.is_closing)) {
            is_closing = true;
            until = fa_clock_mono_us() + CLOSING_MS_MAX * INT64_C(1000);
        }
        left_ms = (until - fa_clock_mono_us()) / 1000;
        if (left_ms <= 0) {
            *is_lost = true;
            return NULL;
        }
        n = poll(&wait, 1, left_ms < POLL_MS ? (int)left_ms : POLL_MS);
        if (n < 0 && errno != EINTR) {
            *is_lost = true;
            return NULL;
        }
        if (n > 0 && !PQconsumeInput(pg->conn)) {
            *is_lost = true;
            return NULL;
        }
    }
    return PQgetResult(pg->conn);
}

/* For statements with @many keys: the row of each key. */
struct keyed {
    int64_t key;
    size_t row;
};

static int compare_keyed(const void *a, const void *b)
{
    const struct keyed *x = a, *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static struct keyed *sort_keys(struct pg *pg, const struct fa_db_call *call)
{
    struct keyed *keys = fa_arena_take(&pg->answers, (call->rows + 1) * sizeof(*keys));
    struct fa_value values[FA_VALUES_MAX];

    for (size_t row = 0; row < call->rows; row++) {
        fa_db_bind(call, row, values);
        keys[row] = (struct keyed){values[0].i, row};
    }
    qsort(keys, call->rows, sizeof(*keys), compare_keyed);
    return keys;
}

/* The first entry with this key, or the next one when there is none. */
static size_t find_key(const struct keyed *keys, size_t count, int64_t key)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (keys[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void pass_rows(struct pg *pg, const struct sent *sent, const PGresult *result)
{
    const struct fa_db_call *call = sent->call;
    unsigned flags = fa_statement(sent->sql)->flags;
    int rows = PQntuples(result), columns = PQnfields(result), first = (flags & MANY) != 0;
    bool is_keyed = flags & FA_STMT_MANY_KEYS;
    struct keyed *keys = is_keyed ? sort_keys(pg, call) : NULL;

    assert(columns <= FA_VALUES_MAX);
    for (int row = 0; row < rows; row++) {
        struct fa_value values[FA_VALUES_MAX];
        int64_t id = first ? fa_pg_read_value(result, row, 0).i : 0;

        for (int i = first; i < columns; i++)
            values[i - first] = fa_pg_read_value(result, row, i);
        if (!is_keyed) {
            call->sink(call->sink_ctx, first ? (size_t)id - 1 : sent->row, values);
            continue;
        }
        for (size_t i = find_key(keys, call->rows, id); i < call->rows && keys[i].key == id; i++)
            call->sink(call->sink_ctx, keys[i].row, values);
    }
    fa_arena_reset(&pg->answers);
}

static const char *name_of(const struct sent *sent)
{
    switch (sent->what) {
    case SENT_COMMIT:
        return "the commit";
    case SENT_PREPARE:
    case SENT_CALL:
        return fa_sql_name(sent->sql);
    default:
        return "a transaction";
    }
}

static void take_result(struct pg *pg, const struct sent *sent, PGresult *result)
{
    switch (sent->what) {
    case SENT_CALL:
        if (sent->call != NULL)
            pass_rows(pg, sent, result);
        break;
    case SENT_COMMIT:
        pg->is_committed = strcmp(PQcmdStatus(result), "COMMIT") == 0;
        break;
    case SENT_PROOF_PREPARE:
        pg->is_proof_prepared = true;
        break;
    case SENT_PREPARE:
    case SENT_PROOF:
    case SENT_PLAIN:
        break;
    }
}

/* A key that an open transaction holds: nothing is won by trying again at once. */
static void note_key_wait(struct pg *pg, const struct sent *sent, const PGresult *result,
                          struct faina_error *err)
{
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);

    if (sent->what != SENT_CALL || sent->sql != FA_SQL_KEY_INSERT || state == NULL ||
        strcmp(state, "55P03") != 0)
        return;
    pg->base.awaits_key = true;
    pg->base.should_retry = false;
    fa_error_set(err, FAINA_OVERLOADED,
                 "a transaction that is still open has submitted with the same key; try again when "
                 "it has ended");
}

/* Reads the results of what was sent, up to number `end`. */
static enum faina_code read_results(struct pg *pg, size_t end, struct faina_error *err)
{
    enum faina_code code = FAINA_OK;

    while (code == FAINA_OK && pg->sent_next < end) {
        struct sent sent = pg->sent[pg->sent_next];
        bool is_lost;
        PGresult *result = next_result(pg, &is_lost);

        if (is_lost)
            return lose(pg, err);
        if (result == NULL) { /* the end of this message's results */
            pg->sent_next++;
            continue;
        }
        switch (PQresultStatus(result)) {
        case PGRES_COMMAND_OK:
        case PGRES_TUPLES_OK:
            take_result(pg, &sent, result);
            break;
        default:
            code = refuse(pg, result, name_of(&sent), err);
            note_key_wait(pg, &sent, result, err);
        }
        PQclear(result);
    }
    return code;
}

/* Reads and discards all results up to the sync that was sent. False: the connection is lost. */
static bool read_to_sync(struct pg *pg)
{
    for (int nulls = 0;;) {
        bool is_lost;
        PGresult *result = next_result(pg, &is_lost);
        ExecStatusType status;

        if (is_lost || PQstatus(pg->conn) != CONNECTION_OK || nulls > 1) {
            PQclear(result);
            drop_connection(pg);
            return false;
        }
        nulls = result == NULL ? nulls + 1 : 0;
        status = PQresultStatus(result);
        PQclear(result);
        if (status == PGRES_PIPELINE_SYNC)
            break;
    }
    pg->sent_count = pg->sent_next = 0;
    pg->sync_pending = false;
    return true;
}

/* Ends the pipeline: sends the sync, unless it was sent, and reads all results before it. */
static bool end_pipeline(struct pg *pg)
{
    if (!pg->in_pipeline)
        return true;
    if (!pg->sync_pending && !PQpipelineSync(pg->conn)) {
        drop_connection(pg);
        return false;
    }
    pg->sync_pending = true;
    if (!read_to_sync(pg))
        return false;
    pg->in_pipeline = false;
    if (PQexitPipelineMode(pg->conn))
        return true;
    drop_connection(pg);
    return false;
}

/* Sending ------------------------------------------------------------------------------------- */

static void note_sent(struct pg *pg, struct sent sent)
{
    pg->sent = fa_grow(pg->sent, pg->sent_count, &pg->sent_size, sizeof(*pg->sent));
    pg->sent[pg->sent_count++] = sent;
}

static bool send_plain(struct pg *pg, const char *text, int what)
{
    if (!PQsendQueryParams(pg->conn, text, 0, NULL, NULL, NULL, NULL, 0))
        return false;
    note_sent(pg, (struct sent){.what = what});
    return true;
}

/* How transactions begin and end. Prepared, each has its text as its name. A direct session has the
 * writers' isolation level as its default: naming it takes as long as a small statement. */
static const char begin_default[] = "BEGIN", begin_writing[] = FA_PG_BEGIN;
static const char begin_reading[] = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
static const char commit[] = "COMMIT", roll_back[] = "ROLLBACK";
/* A key may be held by a transaction of a client in SQL, which ends when that client likes. */
static const char wait_shortly[] = "SET LOCAL lock_timeout = '200ms'";
static const char wait_as_before[] = "SET LOCAL lock_timeout = '10s'";

static bool prepare_bounds(struct pg *pg)
{
    const char *const texts[] = {begin_default, begin_reading, commit,
                                 roll_back,     wait_shortly,  wait_as_before};
    bool is_good = true;

    for (size_t i = 0; is_good && !pg->target->is_pooled && i < FA_COUNT(texts); i++) {
        PGresult *result = PQprepare(pg->conn, texts[i], texts[i], 0, NULL);

        is_good = PQresultStatus(result) == PGRES_COMMAND_OK;
        PQclear(result);
    }
    return is_good;
}

static bool send_bound(struct pg *pg, const char *text, int what)
{
    if (pg->target->is_pooled)
        return send_plain(pg, text, what);
    if (!PQsendQueryPrepared(pg->conn, text, 0, NULL, NULL, NULL, 0))
        return false;
    note_sent(pg, (struct sent){.what = what});
    return true;
}

static bool send_one(struct pg *pg, const struct fa_db_call *call, size_t row, unsigned form,
                     const struct fa_pg_params *params)
{
    const struct fa_statement *statement = fa_statement(call->sql);
    const char *text = statement->postgres[form];
    char name[NAME_SIZE];
    bool is_sent;

    assert(text != NULL);
    if (pg->target->is_pooled) {
        is_sent = PQsendQueryParams(pg->conn, text, params->count, params->types, params->values,
                                    params->lengths, params->formats, 1);
    } else {
        snprintf(name, sizeof(name), "%s%s%s", statement->name, form & FA_STMT_LOCKS ? "+" : "",
                 form & FA_STMT_ONE_ROW ? "1" : "");
        if (!(pg->prepared[call->sql] & 1 << form)) {
            if (!PQsendPrepare(pg->conn, name, text, params->count, params->types))
                return false;
            note_sent(pg, (struct sent){.what = SENT_PREPARE, .sql = call->sql, .form = form});
            /* Until its result fails; forget_unprepared clears the bit then. */
            pg->prepared[call->sql] |= (uint8_t)(1 << form);
        }
        is_sent = PQsendQueryPrepared(pg->conn, name, params->count, params->values,
                                      params->lengths, params->formats, 1);
    }
    if (is_sent)
        note_sent(pg, (struct sent){.what = SENT_CALL,
                                    .sql = call->sql,
                                    .form = form,
                                    .call = call->sink != NULL ? call : NULL,
                                    .row = row});
    return is_sent;
}

static bool send_rows(struct pg *pg, const struct fa_db_call *call)
{
    unsigned form = call->for_change ? FA_STMT_LOCKS : 0, flags = fa_statement(call->sql)->flags;
    struct fa_pg_params params;

    fa_arena_reset(&pg->scratch);
    if (call->rows == 1 && flags & FA_STMT_MANY_ROWS) {
        form |= FA_STMT_ONE_ROW;
    } else if (flags & MANY) {
        fa_pg_bind_arrays(call, pg->columns, &params);
        return send_one(pg, call, 0, form, &params);
    }
    for (size_t row = 0; row < call->rows; row++) {
        fa_pg_bind_row(call, row, &pg->scratch, &params);
        if (!send_one(pg, call, row, form, &params))
            return false;
    }
    return true;
}

static bool send_call(struct pg *pg, const struct fa_db_call *call)
{
    if (call->sql != FA_SQL_KEY_INSERT)
        return send_rows(pg, call);
    return send_bound(pg, wait_shortly, SENT_PLAIN) && send_rows(pg, call) &&
           send_bound(pg, wait_as_before, SENT_PLAIN);
}

/* Transactions -------------------------------------------------------------------------------- */

static enum faina_code connect_again(struct pg *pg, struct faina_error *err)
{
    enum faina_code code;

    if (pg->conn != NULL && PQstatus(pg->conn) == CONNECTION_OK)
        return FAINA_OK;
    if (pg->conn != NULL)
        drop_connection(pg);
    code = fa_pg_connect(pg->target, pg->role, &pg->conn, err);
    if (code != FAINA_OK) {
        pg->conn = NULL;
        return code;
    }
    if (!prepare_bounds(pg))
        return lose(pg, err);
    if (pg->role == FA_PG_WRITER)
        fa_pg_read_clock(pg->target, pg->conn);
    return FAINA_OK;
}

/* Behind pgbouncer, settings last for a transaction only. */
static bool send_settings(struct pg *pg)
{
    return !pg->target->is_pooled ||
           send_plain(pg, pg->target->local_settings[pg->role], SENT_PLAIN);
}

static enum faina_code pg_begin(struct fa_db *db, bool for_writing, struct faina_error *err)
{
    struct pg *pg = downcast(db);
    const char *begin = pg->target->is_pooled ? begin_writing : begin_default;
    enum faina_code code;

    assert(!pg->in_transaction);
    db->has_failed = db->should_retry = db->awaits_key = false;
    if (pg->sync_pending)
        end_pipeline(pg);
    code = connect_again(pg, err);
    if (code != FAINA_OK) {
        db->has_failed = true;
        return code;
    }
    pg->is_committed = pg->has_written = pg->has_proof = pg->has_time = false;
    if (!PQenterPipelineMode(pg->conn))
        return lose(pg, err);
    pg->in_pipeline = pg->in_transaction = true;
    if (!send_bound(pg, for_writing ? begin : begin_reading, SENT_PLAIN) || !send_settings(pg))
        return lose(pg, err);
    return FAINA_OK;
}

/* After its result of a sync the server measures how long the transaction is idle. It stops when it
 * has received a complete message, so a short one goes before those that may be large. Elsewhere a
 * flush request would make the server send each result by itself. */
static bool end_wait(struct pg *pg)
{
    return pg->sent_count > 0 || PQsendFlushRequest(pg->conn);
}

/* Uses a sync, not just a flush: only after a sync does the server apply
 * idle_in_transaction_session_timeout, which ends the transaction of a client that hangs. */
static enum faina_code pg_run_all(struct fa_db *db, const struct fa_db_call *calls, size_t count,
                                  struct faina_error *err)
{
    struct pg *pg = downcast(db);
    enum faina_code code;
    bool is_awaited = false;

    if (pg->conn == NULL || !pg->in_transaction)
        return fa_error_set(err, FAINA_INTERNAL, "a statement outside a transaction");
    if (!end_wait(pg) ||
        (db->allows_slow && !pg->has_time &&
         !send_plain(pg, pg->role == FA_PG_READER ? READER_PATIENT_SETTINGS : PATIENT_SETTINGS,
                     SENT_PLAIN)))
        return lose(pg, err);
    pg->has_time |= db->allows_slow;
    for (size_t i = 0; i < count; i++) {
        if (calls[i].rows == 0)
            continue;
        if (!send_call(pg, &calls[i]))
            return lose(pg, err);
        is_awaited |= calls[i].sink != NULL;
        pg->has_written |=
            calls[i].sink == NULL || fa_statement(calls[i].sql)->flags & FA_STMT_CHANGES;
    }
    if (!is_awaited)
        return FAINA_OK;
    if (!PQpipelineSync(pg->conn))
        return lose(pg, err);
    pg->sync_pending = true;
    code = read_results(pg, pg->sent_count, err);
    if (code == FAINA_OK && !read_to_sync(pg))
        return lose(pg, err);
    return code;
}

static enum faina_code pg_run(struct fa_db *db, const struct fa_db_call *call,
                              struct faina_error *err)
{
    return pg_run_all(db, call, 1, err);
}

/* A statement whose preparation was sent and not confirmed is not prepared. */
static void forget_unprepared(struct pg *pg)
{
    for (size_t i = pg->sent_next; i < pg->sent_count; i++) {
        if (pg->sent[i].what == SENT_PREPARE)
            pg->prepared[pg->sent[i].sql] &= (uint8_t) ~(1 << pg->sent[i].form);
    }
}

static void pg_rollback(struct fa_db *db)
{
    struct pg *pg = downcast(db);

    if (pg->conn == NULL || !pg->in_transaction)
        return;
    pg->in_transaction = false;
    forget_unprepared(pg);
    /* After a failure the server skips everything before the first sync. */
    if (db->has_failed) {
        PGresult *result;

        if (!end_pipeline(pg))
            return;
        result = fa_pg_receive(pg->conn, PQsendQuery(pg->conn, roll_back), answer_ms_max[pg->role],
                               NULL);
        if (PQresultStatus(result) != PGRES_COMMAND_OK)
            drop_connection(pg);
        PQclear(result);
        return;
    }
    /* The next begin reads its result. */
    if (!send_bound(pg, roll_back, SENT_PLAIN) || !PQpipelineSync(pg->conn))
        drop_connection(pg);
    else
        pg->sync_pending = true;
}

/* P2 ------------------------------------------------------------------------------------------ */

/* Stores the transaction's number, in its last statement before the commit. */
static bool send_proof(struct pg *pg)
{
    bool is_pooled = pg->target->is_pooled;

    if (!is_pooled && !pg->is_proof_prepared) {
        if (!fa_pg_proof_prepare(pg->conn))
            return false;
        note_sent(pg, (struct sent){.what = SENT_PROOF_PREPARE});
    }
    if (!fa_pg_proof_send(&pg->proof, pg->conn, !is_pooled, fa_pg_now(pg->target)))
        return false;
    note_sent(pg, (struct sent){.what = SENT_PROOF});
    pg->has_proof = true;
    return true;
}

/* Reads from the server whether the transaction was committed whose commit had no result. */
static enum faina_code resolve(struct pg *pg, struct faina_error *err)
{
    int64_t start = fa_clock_mono_us();
    bool is_committed = false;

    if (!pg->has_proof) { /* it changed nothing */
        pg->base.should_retry = !atomic_load(&pg->base.is_closing);
        return fa_error_set(err, FAINA_UNAVAILABLE, "the connection was lost");
    }
    while (fa_clock_mono_us() - start <
           (atomic_load(&pg->base.is_closing) ? CLOSING_MS_MAX * INT64_C(1000) : RESOLVE_US_MAX)) {
        struct timespec pause = {.tv_nsec = RESOLVE_PAUSE_MS * 1000000L};

        if (connect_again(pg, NULL) == FAINA_OK &&
            fa_pg_proof_settle(&pg->proof, pg->target, pg->conn, &is_committed)) {
            pg->base.should_retry = !is_committed && !atomic_load(&pg->base.is_closing);
            return is_committed ? FAINA_OK
                                : fa_error_set(err, FAINA_UNAVAILABLE,
                                               "the connection was lost before the commit");
        }
        nanosleep(&pause, NULL);
    }
    /* The number in the row is unknown now: the next transaction begins another row. */
    fa_pg_proof_init(&pg->proof);
    pg->base.should_retry = false;
    return fa_error_set(
        err, FAINA_UNAVAILABLE,
        "the connection was lost during the commit, and whether it was committed is "
        "unknown: send the request again");
}

static enum faina_code pg_commit(struct fa_db *db, struct faina_error *err)
{
    struct pg *pg = downcast(db);
    enum faina_code code;

    if ((pg->has_written && !send_proof(pg)) || !send_bound(pg, commit, SENT_COMMIT) ||
        !PQpipelineSync(pg->conn)) {
        lose(pg, err);
        return resolve(pg, err);
    }
    pg->sync_pending = true;
    code = read_results(pg, pg->sent_count, err);
    if (code != FAINA_OK && pg->conn == NULL && !pg->is_committed)
        return resolve(pg, err);
    if (code != FAINA_OK && !pg->is_committed)
        return code; /* the caller rolls back */
    pg->in_transaction = false;
    if (pg->conn != NULL && !end_pipeline(pg) && !pg->is_committed)
        return resolve(pg, err);
    if (!pg->is_committed) {
        db->has_failed = true;
        return fa_error_set(err, FAINA_INTERNAL, "the database rolled the transaction back");
    }
    pg->proof.number += pg->has_proof;
    return FAINA_OK;
}

/* Schema -------------------------------------------------------------------------------------- */

/* Leaves the pipeline for one message: scripts hold many statements, which only the simple protocol
 * accepts. */
static enum faina_code run_script(struct pg *pg, const char *text, struct faina_error *err)
{
    enum faina_code code;
    PGresult *result;

    if (!PQpipelineSync(pg->conn))
        return lose(pg, err);
    pg->sync_pending = true;
    code = read_results(pg, pg->sent_count, err);
    if (code != FAINA_OK)
        return code;
    if (!end_pipeline(pg))
        return lose(pg, err);
    result = fa_pg_receive(pg->conn, PQsendQuery(pg->conn, text), PATIENT_MS_MAX, NULL);
    if (PQresultStatus(result) != PGRES_COMMAND_OK && PQresultStatus(result) != PGRES_TUPLES_OK)
        code = refuse(pg, result, "a change of the schema", err);
    PQclear(result);
    if (code != FAINA_OK)
        return code;
    if (!PQenterPipelineMode(pg->conn))
        return lose(pg, err);
    pg->in_pipeline = true;
    return FAINA_OK;
}

static enum faina_code pg_script(struct fa_db *db, const char *text, struct faina_error *err)
{
    return run_script(downcast(db), text, err);
}

static const char *lock_text(struct pg *pg, struct fa_arena *arena)
{
    const char *schema = pg->target->schema;
    char *name = PQescapeIdentifier(pg->conn, schema, strlen(schema));
    const char *text = fa_arena_printf(arena, "SET LOCAL search_path TO %s;\n%s\n", name,
                                       fa_statement(FA_SQL_SCHEMA_LOCK)->postgres[0]);

    PQfreemem(name);
    return text;
}

static enum faina_code pg_lock_schema(struct fa_db *db, struct faina_error *err)
{
    struct pg *pg = downcast(db);
    struct fa_arena scratch = {0};
    enum faina_code code = run_script(pg, lock_text(pg, &scratch), err);

    fa_arena_finish(&scratch);
    return code;
}

static const char *pg_script_head(struct fa_db *db, struct fa_arena *arena)
{
    struct pg *pg = downcast(db);

    return fa_arena_printf(arena,
                           "-- The schema of Faina " FAINA_VERSION
                           " on %s.\n-- To apply it: psql -v ON_ERROR_STOP=1 -f FILE\n\nBEGIN;\n%s",
                           pg->target->location, lock_text(pg, arena));
}

/* Other entries
 * ---------------------------------------------------------------------------------- */

static int64_t pg_now(struct fa_db *db)
{
    return fa_pg_now(downcast(db)->target);
}

/* The server checks its own pages (data_checksums); the audit checks the rows. */
static enum faina_code pg_check(struct fa_db *db, void (*found)(void *ctx, const char *sentence),
                                void *ctx, struct faina_error *err)
{
    (void)db;
    (void)found;
    (void)ctx;
    (void)err;
    return FAINA_OK;
}

static enum faina_code pg_advise(struct fa_db *db, void (*found)(void *ctx, const char *sentence),
                                 void *ctx, struct faina_error *err)
{
    int64_t skew_us = fa_pg_now(downcast(db)->target) - fa_clock_now_us();

    return fa_pg_advise(db, skew_us, found, ctx, err);
}

static const char *pg_version(struct fa_db *db)
{
    struct pg *pg = downcast(db);

    if (pg->conn != NULL && PQparameterStatus(pg->conn, "server_version") != NULL)
        snprintf(pg->version, sizeof(pg->version), "%s",
                 PQparameterStatus(pg->conn, "server_version"));
    return pg->version;
}

static void pg_close(struct fa_db *db)
{
    struct pg *pg = downcast(db);

    /* Only writers have proofs. The end of a reader's last transaction may still be on its way, and
     * nothing depends on it. */
    if (pg->conn != NULL && pg->role == FA_PG_WRITER && end_pipeline(pg))
        fa_pg_proof_forget(&pg->proof, pg->target, pg->conn);
    PQfinish(pg->conn);
    for (size_t i = 0; i < FA_VALUES_MAX; i++)
        fa_buf_finish(&pg->columns[i]);
    fa_arena_finish(&pg->scratch);
    fa_arena_finish(&pg->answers);
    free(pg->sent);
    free(pg);
}

static const struct fa_migration migrations[] = {
#define FA_MIGRATION_ROW(id, description, text) {id, description, text},
    FA_POSTGRES_MIGRATIONS_LIST(FA_MIGRATION_ROW)
#undef FA_MIGRATION_ROW
};

static const struct fa_db_ops postgres_ops = {
    .name = "postgres",
    .traits = FA_DB_MANY_WRITERS | FA_DB_ROUND_TRIPS | FA_DB_DEAD_ROWS | FA_DB_PARTITIONED_DAYS |
              FA_DB_SQL_CLIENTS | FA_DB_WIDE_KEYS | FA_DB_TRUNCATE | FA_DB_STATISTICS,
    .migrations = migrations,
    .migration_count = FA_COUNT(migrations),
    .begin = pg_begin,
    .commit = pg_commit,
    .rollback = pg_rollback,
    .run = pg_run,
    .run_all = pg_run_all,
    .script = pg_script,
    .lock_schema = pg_lock_schema,
    .script_head = pg_script_head,
    .now = pg_now,
    .check = pg_check,
    .advise = pg_advise,
    .version = pg_version,
    .close = pg_close,
};

enum faina_code fa_postgres_open(struct fa_db **out, struct fa_pg_target *target,
                                 enum fa_pg_role role, struct faina_error *err)
{
    struct pg *pg = fa_alloc_zero(1, sizeof(*pg));
    enum faina_code code;

    pg->base.ops = &postgres_ops;
    pg->target = target;
    pg->role = role;
    fa_pg_proof_init(&pg->proof);
    for (size_t i = 0; i < FA_VALUES_MAX; i++)
        fa_buf_init(&pg->columns[i], SIZE_MAX / 2);
    code = connect_again(pg, err);
    if (code != FAINA_OK) {
        pg_close(&pg->base);
        return code;
    }
    *out = &pg->base;
    return FAINA_OK;
}
