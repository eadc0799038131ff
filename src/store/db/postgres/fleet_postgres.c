/*
 * fleet_postgres.c - fleet.h over LISTEN and NOTIFY.
 *
 * A commit with a NOTIFY takes a lock that is global to the server. A transaction of the engine
 * therefore notifies only when none was sent for a moment, and only on task_available. All other
 * notifications are gathered and sent by this thread, on its own connection. A payload begins with
 * the schema, because channels belong to the database. On task_available the node follows and, when
 * there are older tasks, the key of the oldest one (scan_start.h).
 *
 * Ends of tasks are sent only while a caller on another node waits for a task: a node that begins
 * to wait notifies task_awaited, and has rows in the table `awaited`.
 *
 * The leader's thread also creates the partitions of the coming days: their locks must not be held
 * by a transaction of the engine.
 */
#include "store/db/postgres/fleet_postgres.h"

#include "base/clock.h"
#include "base/random.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define RECONNECT_MIN_US 100000
#define RECONNECT_MAX_US 3000000
#define ANNOUNCE_US 5000  /* transactions send no more than one notification in this time */
#define LEFTOVER_US 20000 /* after this, tasks that were locked and not taken are announced */
#define PARTITIONS_US 3600000000LL   /* how often the leader creates partitions ... */
#define PARTITIONS_AGAIN_US 60000000 /* ... and after it failed, because of a lock */
#define AWAIT_US 60000000            /* how long other nodes keep an awaited task */
#define AWAIT_NOTIFY_US 20000000     /* how often task_awaited is notified */
#define ENDED_MAX 65536              /* more ends than this at once: waiting callers poll */
#define RESULT_MS 20000              /* a result takes no longer: statement_timeout is half of it */
#define PAYLOAD_MAX 7000             /* a notification holds less than 8,000 bytes */

#define ANNOUNCEMENT_SIZE 256

enum channel { AVAILABLE, COMPLETED, DUE, AWAITED, POLICIES, CHANNEL_COUNT };

static const char *const channels[CHANNEL_COUNT] = {
    [AVAILABLE] = "task_available", [COMPLETED] = "task_completed", [DUE] = "task_due",
    [AWAITED] = "task_awaited",     [POLICIES] = "task_policies",
};

/* A growing list of ids. */
struct ids {
    struct fa_id *items;
    size_t count, size;
};

/* The notifications to send. */
struct outbox {
    bool has_ready;
    int64_t oldest_key;
    struct ids ended, awaits;
    int64_t due_us;
};

/* Tasks whose wait was sent to the other nodes: a hash table with open addressing, whose size is a
 * power of two. */
struct awaited {
    struct awaited_item {
        int64_t key, until; /* monotonic; the row in `awaited` may be deleted after that */
    } * items;
    size_t count, size;
};

struct fa_fleet {
    struct fa_pg_target *target;
    struct fa_fleet_events events;
    char node[128];
    pthread_t thread;
    int wake_fd;

    pthread_mutex_t mutex; /* guards the outbox, awaited and leftover_us */
    struct outbox outbox;
    struct awaited awaited;
    int64_t leftover_us; /* monotonic; 0: none */
    atomic_bool is_closing;

    char announcement[ANNOUNCEMENT_SIZE]; /* the schema and the node */
    atomic_llong announced_at;            /* monotonic */
    atomic_llong epoch;                   /* 0: this node doesn't lead */
    atomic_llong others_wait_until;       /* monotonic */
    atomic_bool sends_all_ends;           /* the store's setting `notify` is `all` */

    /* Used by the thread only; times are monotonic. */
    PGconn *conn;
    int64_t connect_at, connect_pause;
    int64_t renew_at, await_notified_at, due_sent_us, partitions_at;
};

static void ids_add(struct ids *ids, const struct fa_id *more, size_t count)
{
    while (ids->count + count > ids->size) {
        ids->size = ids->size ? ids->size * 2 : 64;
        ids->items = fa_realloc(ids->items, ids->size * sizeof(*ids->items));
    }
    if (count > 0)
        memcpy(ids->items + ids->count, more, count * sizeof(*more));
    ids->count += count;
}

static struct awaited_item *awaited_slot(const struct awaited *awaited, int64_t key)
{
    size_t at = (size_t)((uint64_t)key * 0x9e3779b97f4a7c15u >> 20) & (awaited->size - 1);

    while (awaited->items[at].key != 0 && awaited->items[at].key != key)
        at = (at + 1) & (awaited->size - 1);
    return &awaited->items[at];
}

/* Makes room for one more, and removes expired entries. */
static void awaited_grow(struct awaited *awaited, int64_t now)
{
    struct awaited old = *awaited;
    size_t valid = 0;

    for (size_t i = 0; i < old.size; i++)
        valid += old.items[i].key != 0 && old.items[i].until > now;
    *awaited = (struct awaited){.size = 64};
    while (awaited->size < (valid + 1) * 4)
        awaited->size *= 2;
    awaited->items = fa_alloc_zero(awaited->size, sizeof(*awaited->items));
    for (size_t i = 0; i < old.size; i++) {
        if (old.items[i].key != 0 && old.items[i].until > now) {
            *awaited_slot(awaited, old.items[i].key) = old.items[i];
            awaited->count++;
        }
    }
    free(old.items);
}

/* False: it has an entry already. */
static bool awaited_add(struct awaited *awaited, int64_t key)
{
    int64_t now = fa_clock_mono_us();
    struct awaited_item *slot;

    if ((awaited->count + 1) * 2 > awaited->size)
        awaited_grow(awaited, now);
    slot = awaited_slot(awaited, key);
    if (slot->key == key && slot->until > now)
        return false;
    awaited->count += slot->key == 0;
    *slot = (struct awaited_item){key, now + AWAIT_US / 2};
    return true;
}

/* Called by other threads
 * ---------------------------------------------------------------------------- */

static void wake(struct fa_fleet *fleet)
{
    uint64_t one = 1;

    if (write(fleet->wake_fd, &one, sizeof(one)) < 0)
        return; /* full: the thread is awake */
}

void fa_fleet_notify(struct fa_fleet *fleet, const struct fa_fleet_notification *notification)
{
    bool sends_ends = notification->ended_count > 0 &&
                      (atomic_load(&fleet->sends_all_ends) ||
                       fa_clock_mono_us() < atomic_load(&fleet->others_wait_until));
    bool sends_due = notification->due_us != INT64_MAX && !fa_fleet_leads(fleet);

    if (!notification->has_ready && !notification->has_leftover && !sends_ends && !sends_due)
        return;
    pthread_mutex_lock(&fleet->mutex);
    fleet->outbox.has_ready |= notification->has_ready;
    if (notification->has_ready && notification->oldest_key < fleet->outbox.oldest_key)
        fleet->outbox.oldest_key = notification->oldest_key;
    if (notification->has_leftover && fleet->leftover_us == 0)
        fleet->leftover_us = fa_clock_mono_us() + LEFTOVER_US;
    if (sends_ends && fleet->outbox.ended.count < ENDED_MAX)
        ids_add(&fleet->outbox.ended, notification->ended, notification->ended_count);
    if (sends_due && notification->due_us < fleet->outbox.due_us)
        fleet->outbox.due_us = notification->due_us;
    pthread_mutex_unlock(&fleet->mutex);
    wake(fleet);
}

/* The payload of task_available: with a key when not all ready tasks are new. */
static const char *write_announcement(const struct fa_fleet *fleet, int64_t oldest_key, char *out)
{
    if (oldest_key == FA_SCAN_START_NONE)
        snprintf(out, ANNOUNCEMENT_SIZE, "%s", fleet->announcement);
    else
        snprintf(out, ANNOUNCEMENT_SIZE, "%s %lld", fleet->announcement, (long long)oldest_key);
    return out;
}

enum faina_code fa_fleet_notify_inside(struct fa_fleet *fleet, struct fa_db *db, int64_t oldest_key,
                                       bool *is_done, struct faina_error *err)
{
    char text[ANNOUNCEMENT_SIZE];
    struct fa_value params[2] = {fa_value_text(channels[AVAILABLE]),
                                 fa_value_text(write_announcement(fleet, oldest_key, text))};
    long long last = atomic_load(&fleet->announced_at), now = fa_clock_mono_us();

    *is_done = now - last > ANNOUNCE_US &&
               atomic_compare_exchange_strong(&fleet->announced_at, &last, now);
    if (!*is_done)
        return FAINA_OK;
    return fa_db_one(db, FA_SQL_NOTIFY, params, 2, NULL, NULL, err);
}

enum faina_code fa_fleet_notify_policies(struct fa_fleet *fleet, struct fa_db *db,
                                         struct faina_error *err)
{
    struct fa_value params[2] = {fa_value_text(channels[POLICIES]),
                                 fa_value_text(fleet->announcement)};

    return fa_db_one(db, FA_SQL_NOTIFY, params, 2, NULL, NULL, err);
}

void fa_fleet_await(struct fa_fleet *fleet, struct fa_id id)
{
    bool is_new;

    pthread_mutex_lock(&fleet->mutex);
    is_new = awaited_add(&fleet->awaited, id.key);
    if (is_new)
        ids_add(&fleet->outbox.awaits, &id, 1);
    pthread_mutex_unlock(&fleet->mutex);
    if (is_new)
        wake(fleet);
}

bool fa_fleet_leads(struct fa_fleet *fleet)
{
    return atomic_load(&fleet->epoch) != 0;
}

enum faina_code fa_fleet_fence(struct fa_fleet *fleet, struct fa_db *db, bool *leads,
                               struct faina_error *err)
{
    int64_t epoch = atomic_load(&fleet->epoch), found = 0;
    struct fa_value params[2] = {fa_value_text(fleet->node), fa_value_int(epoch)};
    enum faina_code code = FAINA_OK;

    if (epoch != 0)
        code = fa_db_one(db, FA_SQL_LEADER_FENCE, params, 2, fa_db_sink_int, &found, err);
    *leads = found != 0;
    return code;
}

/* Queries ---------------------------------------------------------------------------- */

static void disconnect(struct fa_fleet *fleet)
{
    PQfinish(fleet->conn);
    fleet->conn = NULL;
    if (atomic_exchange(&fleet->epoch, 0) != 0)
        fleet->events.lead(fleet->events.ctx, false);
}

static bool is_good(const PGresult *result)
{
    return PQresultStatus(result) == PGRES_TUPLES_OK || PQresultStatus(result) == PGRES_COMMAND_OK;
}

static PGresult *receive(struct fa_fleet *fleet, int is_sent)
{
    return fa_pg_receive(fleet->conn, is_sent, RESULT_MS, &fleet->is_closing);
}

static bool run_plain(struct fa_fleet *fleet, const char *text)
{
    PGresult *result = receive(fleet, PQsendQuery(fleet->conn, text));
    bool is_done = is_good(result);

    PQclear(result);
    return is_done;
}

static PGresult *run(struct fa_fleet *fleet, enum fa_sql sql, const char *const *params, int count)
{
    return receive(fleet, PQsendQueryParams(fleet->conn, fa_statement(sql)->postgres[0], count,
                                            NULL, params, NULL, NULL, 0));
}

/* Behind a connection pooler: in a transaction, with its settings. */
static PGresult *query_pooled(struct fa_fleet *fleet, enum fa_sql sql, const char *const *params,
                              int count)
{
    PGresult *result = NULL;

    if (run_plain(fleet, FA_PG_BEGIN) &&
        run_plain(fleet, fleet->target->local_settings[FA_PG_NOTIFIER]))
        result = run(fleet, sql, params, count);
    if (run_plain(fleet, is_good(result) ? "COMMIT" : "ROLLBACK"))
        return result;
    PQclear(result);
    return NULL;
}

/* NULL: the connection is lost, or the server refused. */
static PGresult *query(struct fa_fleet *fleet, enum fa_sql sql, const char *const *params,
                       int count)
{
    PGresult *result;

    if (fleet->conn == NULL)
        return NULL;
    if (fa_pg_is_direct(fleet->target, FA_PG_NOTIFIER))
        result = run(fleet, sql, params, count);
    else
        result = query_pooled(fleet, sql, params, count);
    if (is_good(result))
        return result;
    PQclear(result);
    if (PQstatus(fleet->conn) != CONNECTION_OK)
        disconnect(fleet);
    return NULL;
}

static void notify_whole(struct fa_fleet *fleet, enum channel channel, const char *text)
{
    const char *params[2] = {channels[channel], text};

    PQclear(query(fleet, FA_SQL_NOTIFY, params, 2));
}

static void notify(struct fa_fleet *fleet, enum channel channel, const char *text)
{
    struct fa_arena scratch = {0};

    notify_whole(fleet, channel,
                 text[0] == '\0' ? fleet->target->schema
                                 : fa_arena_printf(&scratch, "%s %s", fleet->target->schema, text));
    fa_arena_finish(&scratch);
}

static const char *keys_array(const struct ids *ids, struct fa_buf *out)
{
    fa_buf_add_char(out, '{');
    for (size_t i = 0; i < ids->count; i++)
        fa_buf_printf(out, "%s%lld", i > 0 ? "," : "", (long long)ids->items[i].key);
    fa_buf_add_char(out, '}');
    return out->ptr;
}

/* Sending -------------------------------------------------------------------------------------- */

static void send_awaits(struct fa_fleet *fleet, const struct ids *awaits)
{
    char keep[24];
    const char *params[3] = {NULL, fleet->node, keep};
    struct fa_buf keys;

    if (awaits->count == 0)
        return;
    snprintf(keep, sizeof(keep), "%d", AWAIT_US);
    fa_buf_init(&keys, SIZE_MAX / 2);
    params[0] = keys_array(awaits, &keys);
    PQclear(query(fleet, FA_SQL_AWAIT_PUT, params, 3));
    fa_buf_finish(&keys);
    if (fa_clock_mono_us() >= fleet->await_notified_at + AWAIT_NOTIFY_US) {
        notify(fleet, AWAITED, "");
        fleet->await_notified_at = fa_clock_mono_us();
    }
    /* They may have ended before the other nodes could read that this node waits. */
    fleet->events.ended(fleet->events.ctx, awaits->items, awaits->count);
}

static void read_settings(struct fa_fleet *fleet)
{
    const char *params[1] = {"notify"};
    PGresult *found = query(fleet, FA_SQL_SETTING_GET, params, 1);

    if (PQresultStatus(found) == PGRES_TUPLES_OK)
        atomic_store(&fleet->sends_all_ends,
                     PQntuples(found) > 0 && strcmp(PQgetvalue(found, 0, 0), "all") == 0);
    PQclear(found);
}

/* Sends the ends that other nodes wait for, or all. */
static void send_ended(struct fa_fleet *fleet, const struct ids *ended)
{
    const char *params[2] = {NULL, fleet->node};
    struct fa_buf keys, payload;
    PGresult *found;

    if (ended->count == 0)
        return;
    fa_buf_init(&keys, SIZE_MAX / 2);
    fa_buf_init(&payload, SIZE_MAX / 2);
    params[0] = keys_array(ended, &keys);
    found = query(fleet, FA_SQL_AWAIT_FIND, params, 2);
    for (int row = 0; row < PQntuples(found); row++) {
        int64_t key = atoll(PQgetvalue(found, row, 0));

        for (size_t i = 0; i < ended->count; i++) {
            char text[FAINA_ID_SIZE];

            if (ended->items[i].key != key)
                continue;
            fa_id_format(ended->items[i], text);
            fa_buf_printf(&payload, "%s%s", payload.len > 0 ? " " : "", text);
            break;
        }
        if (payload.len >= PAYLOAD_MAX || (payload.len > 0 && row + 1 == PQntuples(found))) {
            notify(fleet, COMPLETED, payload.ptr);
            fa_buf_clear(&payload);
        }
    }
    PQclear(found);
    fa_buf_finish(&keys);
    fa_buf_finish(&payload);
}

static void send_due(struct fa_fleet *fleet, int64_t due_us)
{
    char text[24];
    int64_t now = fa_pg_now(fleet->target);

    if (due_us == INT64_MAX || fa_fleet_leads(fleet))
        return;
    if (fleet->due_sent_us > now && fleet->due_sent_us <= due_us)
        return; /* the leader is awake before that anyway */
    snprintf(text, sizeof(text), "%lld", (long long)due_us);
    notify(fleet, DUE, text);
    fleet->due_sent_us = due_us;
}

static void empty_outbox(struct fa_fleet *fleet)
{
    char text[ANNOUNCEMENT_SIZE];
    struct outbox box;
    uint64_t count;

    if (read(fleet->wake_fd, &count, sizeof(count)) < 0 && errno != EAGAIN)
        return;
    pthread_mutex_lock(&fleet->mutex);
    box = fleet->outbox;
    fleet->outbox = (struct outbox){.due_us = INT64_MAX, .oldest_key = FA_SCAN_START_NONE};
    if (fleet->leftover_us != 0 && fleet->leftover_us <= fa_clock_mono_us()) {
        box.has_ready = true;
        fleet->leftover_us = 0;
        pthread_mutex_unlock(&fleet->mutex);
        fleet->events.ready(fleet->events.ctx, FA_SCAN_START_NONE);
    } else {
        pthread_mutex_unlock(&fleet->mutex);
    }
    if (box.has_ready)
        notify_whole(fleet, AVAILABLE, write_announcement(fleet, box.oldest_key, text));
    send_ended(fleet, &box.ended);
    send_due(fleet, box.due_us);
    send_awaits(fleet, &box.awaits);
    free(box.ended.items);
    free(box.awaits.items);
}

/* Receiving
 * -------------------------------------------------------------------------------------- */

static void receive_completed(struct fa_fleet *fleet, const char *text)
{
    struct ids ids = {0};

    while (*text != '\0') {
        char one[FAINA_ID_SIZE];
        size_t len = strcspn(text, " ");
        struct fa_id id;

        if (len == FAINA_ID_SIZE - 1) {
            memcpy(one, text, len);
            one[len] = '\0';
            if (fa_id_parse(one, &id))
                ids_add(&ids, &id, 1);
        }
        text += len;
        text += *text == ' ';
    }
    if (ids.count > 0)
        fleet->events.ended(fleet->events.ctx, ids.items, ids.count);
    free(ids.items);
}

/* A payload without a node is from a submit in SQL, whose transaction may have taken its ids long
 * ago. */
static int64_t read_old_key(const char *text)
{
    const char *at = strchr(text, ' ');

    if (text[0] == '\0')
        return 0;
    return at != NULL ? atoll(at + 1) : FA_SCAN_START_NONE;
}

static void dispatch(struct fa_fleet *fleet, enum channel channel, const char *text)
{
    switch (channel) {
    case AVAILABLE:
        fleet->events.ready(fleet->events.ctx, read_old_key(text));
        break;
    case COMPLETED:
        receive_completed(fleet, text);
        break;
    case DUE:
        if (fa_fleet_leads(fleet))
            fleet->events.due(fleet->events.ctx, atoll(text));
        break;
    case AWAITED:
        atomic_store(&fleet->others_wait_until, fa_clock_mono_us() + AWAIT_US);
        break;
    case POLICIES:
        fleet->events.policies(fleet->events.ctx);
        break;
    case CHANNEL_COUNT:
        break;
    }
}

/* Whether a transaction of this node has sent it. */
static bool is_own(const struct fa_fleet *fleet, const char *text)
{
    size_t len = strlen(fleet->announcement);

    return strncmp(text, fleet->announcement, len) == 0 && (text[len] == '\0' || text[len] == ' ');
}

static void receive_all(struct fa_fleet *fleet)
{
    size_t schema_len = strlen(fleet->target->schema);
    PGnotify *note;

    while (fleet->conn != NULL && (note = PQnotifies(fleet->conn)) != NULL) {
        const char *text = note->extra;
        bool is_ours = note->be_pid != PQbackendPID(fleet->conn) && !is_own(fleet, text) &&
                       strncmp(text, fleet->target->schema, schema_len) == 0 &&
                       (text[schema_len] == ' ' || text[schema_len] == '\0');

        for (int i = 0; is_ours && i < CHANNEL_COUNT; i++) {
            if (strcmp(note->relname, channels[i]) == 0)
                dispatch(fleet, (enum channel)i, text + schema_len + (text[schema_len] == ' '));
        }
        PQfreemem(note);
    }
}

/* Leading -------------------------------------------------------------------------------------- */

static void renew_lead(struct fa_fleet *fleet)
{
    char lease[24];
    const char *params[3] = {fleet->node, lease, FAINA_VERSION};
    bool led = fa_fleet_leads(fleet);
    int64_t epoch = 0, before;
    PGresult *result;

    snprintf(lease, sizeof(lease), "%d", FA_LEADER_LEASE_US);
    before = fa_clock_boot_us();
    result = query(fleet, FA_SQL_LEADER_HOLD, params, 3);
    if (PQntuples(result) == 1) {
        epoch = atoll(PQgetvalue(result, 0, 0));
        fa_pg_set_clock(fleet->target, before, atoll(PQgetvalue(result, 0, 1)));
    }
    PQclear(result);
    atomic_store(&fleet->epoch, epoch);
    if ((epoch != 0) != led)
        fleet->events.lead(fleet->events.ctx, epoch != 0);
    if (epoch != 0 && !led)
        fleet->events.due(fleet->events.ctx, 0);
    fleet->renew_at = fa_clock_mono_us() + FA_LEADER_RENEW_US;
}

/* Usually all partitions exist. */
static void create_partitions(struct fa_fleet *fleet)
{
    PGresult *result;

    if (!fa_fleet_leads(fleet) || fa_clock_mono_us() < fleet->partitions_at)
        return;
    result = query(fleet, FA_SQL_PARTITIONS_MAKE, NULL, 0);
    fleet->partitions_at =
        fa_clock_mono_us() + (result != NULL ? PARTITIONS_US : PARTITIONS_AGAIN_US);
    PQclear(result);
}

/* The thread ----------------------------------------------------------------------------------- */

/* A pooled connection can't listen. */
static bool listen_all(struct fa_fleet *fleet)
{
    bool is_done = true;

    if (!fa_pg_is_direct(fleet->target, FA_PG_NOTIFIER))
        return true;
    for (int i = 0; is_done && i < CHANNEL_COUNT; i++) {
        char text[64];

        snprintf(text, sizeof(text), "LISTEN %s", channels[i]);
        is_done = run_plain(fleet, text);
    }
    return is_done;
}

static void connect_if_due(struct fa_fleet *fleet)
{
    int64_t now = fa_clock_mono_us();

    if (fleet->conn != NULL || now < fleet->connect_at)
        return;
    if (fa_pg_connect(fleet->target, FA_PG_NOTIFIER, &fleet->conn, NULL) != FAINA_OK)
        fleet->conn = NULL;
    if (fleet->conn != NULL && !listen_all(fleet))
        disconnect(fleet);
    if (fleet->conn == NULL) {
        fleet->connect_at = fa_clock_mono_us() + fleet->connect_pause;
        if (fleet->connect_pause < RECONNECT_MAX_US)
            fleet->connect_pause *= 2;
        return;
    }
    fleet->connect_pause = RECONNECT_MIN_US;
    pthread_mutex_lock(&fleet->mutex); /* earlier notifications may be lost */
    free(fleet->awaited.items);
    fleet->awaited = (struct awaited){0};
    pthread_mutex_unlock(&fleet->mutex);
    fleet->await_notified_at = -AWAIT_NOTIFY_US;
    fleet->due_sent_us = 0;
    atomic_store(&fleet->others_wait_until, now + AWAIT_US);
    read_settings(fleet);
    renew_lead(fleet);
    fleet->events.all(fleet->events.ctx); /* F2 */
}

static int poll_timeout_ms(struct fa_fleet *fleet)
{
    int64_t at = fleet->conn != NULL ? fleet->renew_at : fleet->connect_at;
    int64_t left;

    pthread_mutex_lock(&fleet->mutex);
    if (fleet->leftover_us != 0 && fleet->leftover_us < at)
        at = fleet->leftover_us;
    pthread_mutex_unlock(&fleet->mutex);
    left = (at - fa_clock_mono_us() + 999) / 1000;
    return left < 0 ? 0 : (int)left;
}

static void *run_fleet(void *ctx)
{
    struct fa_fleet *fleet = ctx;

    while (!atomic_load(&fleet->is_closing)) {
        struct pollfd fds[2] = {{.fd = fleet->wake_fd, .events = POLLIN}, {.fd = -1}};

        connect_if_due(fleet);
        if (fleet->conn != NULL)
            fds[1] = (struct pollfd){.fd = PQsocket(fleet->conn), .events = POLLIN};
        poll(fds, 2, poll_timeout_ms(fleet));
        if (fleet->conn != NULL && fds[1].revents != 0 && !PQconsumeInput(fleet->conn))
            disconnect(fleet);
        receive_all(fleet);
        empty_outbox(fleet);
        if (fleet->conn != NULL && fa_clock_mono_us() >= fleet->renew_at) {
            renew_lead(fleet);
            read_settings(fleet);
            create_partitions(fleet);
        }
        receive_all(fleet);
    }
    return NULL;
}

/* With pgbouncer and LISTEN the URL has a second address, which may be wrong. It is checked at the
 * start: the thread retries without a message, and a node without the connection never leads. */
static enum faina_code check_direct(struct fa_pg_target *target, struct faina_error *err)
{
    enum faina_code code = FAINA_OK;
    struct faina_error why;
    PGconn *conn;

    if (!target->is_pooled || !fa_pg_is_direct(target, FA_PG_NOTIFIER))
        return FAINA_OK;
    code = fa_pg_connect(target, FA_PG_NOTIFIER, &conn, &why);
    if (code == FAINA_OK)
        PQfinish(conn);
    else
        fa_error_set(err, code, "the direct way for LISTEN doesn't work: %s", why.message);
    return code;
}

enum faina_code fa_fleet_join_postgres(struct fa_pg_target *target,
                                       const struct fa_fleet_events *events, struct fa_fleet **out,
                                       struct faina_error *err)
{
    enum faina_code code = check_direct(target, err);
    struct fa_fleet *fleet;
    int rc;

    if (code != FAINA_OK)
        return code;
    fleet = fa_alloc_zero(1, sizeof(*fleet));
    fleet->target = target;
    fleet->events = *events;
    fleet->outbox.due_us = INT64_MAX;
    fleet->outbox.oldest_key = FA_SCAN_START_NONE;
    fleet->connect_pause = RECONNECT_MIN_US;
    snprintf(fleet->node, sizeof(fleet->node), "%s", events->node);
    snprintf(fleet->announcement, sizeof(fleet->announcement), "%s %s", target->schema,
             fleet->node);
    pthread_mutex_init(&fleet->mutex, NULL);
    fleet->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    rc = fleet->wake_fd < 0 ? errno : pthread_create(&fleet->thread, NULL, run_fleet, fleet);
    if (rc != 0) {
        if (fleet->wake_fd >= 0)
            close(fleet->wake_fd);
        free(fleet);
        return fa_error_set(err, FAINA_UNAVAILABLE, "no thread can be started: %s", strerror(rc));
    }
    *out = fleet;
    return FAINA_OK;
}

void fa_fleet_leave(struct fa_fleet *fleet)
{
    const char *params[1];

    if (fleet == NULL)
        return;
    atomic_store(&fleet->is_closing, true);
    wake(fleet);
    pthread_join(fleet->thread, NULL);
    params[0] = fleet->node;
    if (fleet->conn != NULL) {
        empty_outbox(fleet); /* the last commits may have left notifications */
        PQclear(query(fleet, FA_SQL_LEADER_LEAVE, params, 1));
        PQclear(query(fleet, FA_SQL_AWAIT_LEAVE, params, 1));
    }
    PQfinish(fleet->conn);
    close(fleet->wake_fd);
    free(fleet->awaited.items);
    free(fleet->outbox.ended.items);
    free(fleet->outbox.awaits.items);
    pthread_mutex_destroy(&fleet->mutex);
    free(fleet);
}
