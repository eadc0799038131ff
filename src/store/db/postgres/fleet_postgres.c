/*
 * fleet_postgres.c - fleet.h over LISTEN and NOTIFY.
 *
 * A commit that carries a notification takes a lock that is global to the server, so a transaction
 * of the engine does only when nothing was told for a moment, and only to say that there is work.
 * Else this thread sends them afterwards, on its own connection, what has gathered meanwhile at
 * once. What is said begins with the schema, because channels are the database's. That there is
 * work is followed by who says so and, when older tasks are among it, by the oldest one's key
 * (fronts.h).
 *
 * Ends of tasks are only told while somebody on another node waits for a task: who begins to wait
 * says so on the channel task_awaited, and in the table `awaited`.
 *
 * The leader's thread also makes the partitions of the coming days: their locks must not be held by
 * a transaction of the engine.
 */
#include "sql/postgres/fleet_postgres.h"

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
#define ANNOUNCE_US 5000       /* not more than this often by the transactions themselves */
#define LEFTOVER_US 20000      /* tasks that were kept from others are theirs after this */
#define DAYS_US 3600000000LL   /* how often the leader sees to the partitions ... */
#define DAYS_AGAIN_US 60000000 /* ... and after somebody was in the way */
#define AWAIT_US 60000000      /* how long others remember that we wait */
#define AWAIT_SAY_US 20000000  /* how often we say that we do */
#define ENDED_MAX 65536        /* more ends than this at once: waiters find out by looking */
#define ANSWER_MS 20000        /* an answer takes no longer: statement_timeout is half of it */
#define PAYLOAD_MAX 7000       /* a notification holds less than 8,000 bytes */

#define ANNOUNCEMENT_SIZE 256

enum channel { AVAILABLE, COMPLETED, DUE, AWAITED, CHANNEL_COUNT };

static const char *const channels[CHANNEL_COUNT] = {
    [AVAILABLE] = "task_available",
    [COMPLETED] = "task_completed",
    [DUE] = "task_due",
    [AWAITED] = "task_awaited",
};

/* Ids, growing. */
struct ids {
    struct fa_id *items;
    size_t count, size;
};

/* What has gathered to be told. */
struct outbox {
    bool has_ready;
    int64_t old_key;
    struct ids ended, awaits;
    int64_t due_us;
};

/* Tasks that the others know we wait for: open addressing over a power of two. */
struct known {
    struct known_item {
        int64_t key, until; /* monotonic; the others may have forgotten it after that */
    } * items;
    size_t count, size;
};

struct fa_fleet {
    struct fa_pg_target *target;
    struct fa_fleet_events events;
    char node[128];
    pthread_t thread;
    int wake_fd;

    pthread_mutex_t mutex; /* guards the outbox, known and leftover_us */
    struct outbox outbox;
    struct known known;
    int64_t leftover_us; /* monotonic; 0: none */
    atomic_bool is_closing;

    char announcement[ANNOUNCEMENT_SIZE]; /* the schema, and who says it */
    atomic_llong announced_at;            /* monotonic */
    atomic_llong epoch;                   /* 0: we don't lead */
    atomic_llong others_wait_until;       /* monotonic */

    /* The thread's own; times are monotonic. */
    PGconn *conn;
    int64_t connect_at, connect_pause;
    int64_t renew_at, await_said_at, due_told_us, days_at;
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

static struct known_item *known_slot(const struct known *known, int64_t key)
{
    size_t at = (size_t)((uint64_t)key * 0x9e3779b97f4a7c15u >> 20) & (known->size - 1);

    while (known->items[at].key != 0 && known->items[at].key != key)
        at = (at + 1) & (known->size - 1);
    return &known->items[at];
}

/* Makes room for one more, and forgets what is over. */
static void known_grow(struct known *known, int64_t now)
{
    struct known old = *known;
    size_t living = 0;

    for (size_t i = 0; i < old.size; i++)
        living += old.items[i].key != 0 && old.items[i].until > now;
    *known = (struct known){.size = 64};
    while (known->size < (living + 1) * 4)
        known->size *= 2;
    known->items = fa_alloc_zero(known->size, sizeof(*known->items));
    for (size_t i = 0; i < old.size; i++) {
        if (old.items[i].key != 0 && old.items[i].until > now) {
            *known_slot(known, old.items[i].key) = old.items[i];
            known->count++;
        }
    }
    free(old.items);
}

/* False: it was known already. */
static bool known_add(struct known *known, int64_t key)
{
    int64_t now = fa_clock_mono_us();
    struct known_item *slot;

    if ((known->count + 1) * 2 > known->size)
        known_grow(known, now);
    slot = known_slot(known, key);
    if (slot->key == key && slot->until > now)
        return false;
    known->count += slot->key == 0;
    *slot = (struct known_item){key, now + AWAIT_US / 2};
    return true;
}

/* What others call ---------------------------------------------------------------------------- */

static void wake(struct fa_fleet *fleet)
{
    uint64_t one = 1;

    if (write(fleet->wake_fd, &one, sizeof(one)) < 0)
        return; /* full: it is awake */
}

void fa_fleet_tell(struct fa_fleet *fleet, const struct fa_fleet_news *news)
{
    bool tells_ends =
        news->ended_count > 0 && fa_clock_mono_us() < atomic_load(&fleet->others_wait_until);
    bool tells_due = news->due_us != INT64_MAX && !fa_fleet_leads(fleet);

    if (!news->has_ready && !news->has_leftover && !tells_ends && !tells_due)
        return;
    pthread_mutex_lock(&fleet->mutex);
    fleet->outbox.has_ready |= news->has_ready;
    if (news->has_ready && news->old_key < fleet->outbox.old_key)
        fleet->outbox.old_key = news->old_key;
    if (news->has_leftover && fleet->leftover_us == 0)
        fleet->leftover_us = fa_clock_mono_us() + LEFTOVER_US;
    if (tells_ends && fleet->outbox.ended.count < ENDED_MAX)
        ids_add(&fleet->outbox.ended, news->ended, news->ended_count);
    if (tells_due && news->due_us < fleet->outbox.due_us)
        fleet->outbox.due_us = news->due_us;
    pthread_mutex_unlock(&fleet->mutex);
    wake(fleet);
}

/* That there is something to claim; and from which key on, when it isn't only the newest. */
static const char *write_announcement(const struct fa_fleet *fleet, int64_t old_key, char *out)
{
    if (old_key == FA_FRONT_NONE)
        snprintf(out, ANNOUNCEMENT_SIZE, "%s", fleet->announcement);
    else
        snprintf(out, ANNOUNCEMENT_SIZE, "%s %lld", fleet->announcement, (long long)old_key);
    return out;
}

enum faina_code fa_fleet_announce(struct fa_fleet *fleet, struct fa_db *db, int64_t old_key,
                                  bool *is_done, struct faina_error *err)
{
    char text[ANNOUNCEMENT_SIZE];
    struct fa_value params[2] = {fa_value_text(channels[AVAILABLE]),
                                 fa_value_text(write_announcement(fleet, old_key, text))};
    long long last = atomic_load(&fleet->announced_at), now = fa_clock_mono_us();

    *is_done = now - last > ANNOUNCE_US &&
               atomic_compare_exchange_strong(&fleet->announced_at, &last, now);
    if (!*is_done)
        return FAINA_OK;
    return fa_db_one(db, FA_SQL_NOTIFY, params, 2, NULL, NULL, err);
}

void fa_fleet_await(struct fa_fleet *fleet, struct fa_id id)
{
    bool is_new;

    pthread_mutex_lock(&fleet->mutex);
    is_new = known_add(&fleet->known, id.key);
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

/* Asking the server ---------------------------------------------------------------------------- */

static void disconnect(struct fa_fleet *fleet)
{
    PQfinish(fleet->conn);
    fleet->conn = NULL;
    atomic_store(&fleet->epoch, 0);
}

static bool is_good(const PGresult *result)
{
    return PQresultStatus(result) == PGRES_TUPLES_OK || PQresultStatus(result) == PGRES_COMMAND_OK;
}

static PGresult *receive(struct fa_fleet *fleet, int is_sent)
{
    return fa_pg_receive(fleet->conn, is_sent, ANSWER_MS, &fleet->is_closing);
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
    return receive(fleet, PQsendQueryParams(fleet->conn, fa_sql_postgres(sql, NULL), count, NULL,
                                            params, NULL, NULL, 0));
}

/* Where the session is not ours, in a transaction with our settings. */
static PGresult *ask_pooled(struct fa_fleet *fleet, enum fa_sql sql, const char *const *params,
                            int count)
{
    PGresult *result = NULL;

    if (run_plain(fleet, FA_PG_BEGIN) &&
        run_plain(fleet, fleet->target->local_settings[FA_PG_HERALD]))
        result = run(fleet, sql, params, count);
    if (run_plain(fleet, is_good(result) ? "COMMIT" : "ROLLBACK"))
        return result;
    PQclear(result);
    return NULL;
}

/* NULL: the connection is lost, or the server refused. */
static PGresult *ask(struct fa_fleet *fleet, enum fa_sql sql, const char *const *params, int count)
{
    PGresult *result;

    if (fleet->conn == NULL)
        return NULL;
    if (fa_pg_is_direct(fleet->target, FA_PG_HERALD))
        result = run(fleet, sql, params, count);
    else
        result = ask_pooled(fleet, sql, params, count);
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

    PQclear(ask(fleet, FA_SQL_NOTIFY, params, 2));
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

/* Telling -------------------------------------------------------------------------------------- */

static void tell_awaits(struct fa_fleet *fleet, const struct ids *awaits)
{
    char keep[24];
    const char *params[3] = {NULL, fleet->node, keep};
    struct fa_buf keys;

    if (awaits->count == 0)
        return;
    snprintf(keep, sizeof(keep), "%d", AWAIT_US);
    fa_buf_init(&keys, SIZE_MAX / 2);
    params[0] = keys_array(awaits, &keys);
    PQclear(ask(fleet, FA_SQL_AWAIT_PUT, params, 3));
    fa_buf_finish(&keys);
    if (fa_clock_mono_us() >= fleet->await_said_at + AWAIT_SAY_US) {
        notify(fleet, AWAITED, "");
        fleet->await_said_at = fa_clock_mono_us();
    }
    /* They may have ended before the others could know that we wait. */
    fleet->events.ended(fleet->events.ctx, awaits->items, awaits->count);
}

/* Tells those of the ends that others wait for. */
static void tell_ended(struct fa_fleet *fleet, const struct ids *ended)
{
    const char *params[2] = {NULL, fleet->node};
    struct fa_buf keys, payload;
    PGresult *found;

    if (ended->count == 0)
        return;
    fa_buf_init(&keys, SIZE_MAX / 2);
    fa_buf_init(&payload, SIZE_MAX / 2);
    params[0] = keys_array(ended, &keys);
    found = ask(fleet, FA_SQL_AWAIT_FIND, params, 2);
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

static void tell_due(struct fa_fleet *fleet, int64_t due_us)
{
    char text[24];
    int64_t now = fa_pg_now(fleet->target);

    if (due_us == INT64_MAX || fa_fleet_leads(fleet))
        return;
    if (fleet->due_told_us > now && fleet->due_told_us <= due_us)
        return; /* the leader looks before that anyhow */
    snprintf(text, sizeof(text), "%lld", (long long)due_us);
    notify(fleet, DUE, text);
    fleet->due_told_us = due_us;
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
    fleet->outbox = (struct outbox){.due_us = INT64_MAX, .old_key = FA_FRONT_NONE};
    if (fleet->leftover_us != 0 && fleet->leftover_us <= fa_clock_mono_us()) {
        box.has_ready = true;
        fleet->leftover_us = 0;
        pthread_mutex_unlock(&fleet->mutex);
        fleet->events.ready(fleet->events.ctx, FA_FRONT_NONE);
    } else {
        pthread_mutex_unlock(&fleet->mutex);
    }
    if (box.has_ready)
        notify_whole(fleet, AVAILABLE, write_announcement(fleet, box.old_key, text));
    tell_ended(fleet, &box.ended);
    tell_due(fleet, box.due_us);
    tell_awaits(fleet, &box.awaits);
    free(box.ended.items);
    free(box.awaits.items);
}

/* Hearing -------------------------------------------------------------------------------------- */

static void hear_completed(struct fa_fleet *fleet, const char *text)
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

/* Who doesn't say who it is may have made its ids long ago: a submit in SQL, in a transaction of
 * somebody's own. */
static int64_t read_old_key(const char *text)
{
    const char *at = strchr(text, ' ');

    if (text[0] == '\0')
        return 0;
    return at != NULL ? atoll(at + 1) : FA_FRONT_NONE;
}

static void hear(struct fa_fleet *fleet, enum channel channel, const char *text)
{
    switch (channel) {
    case AVAILABLE:
        fleet->events.ready(fleet->events.ctx, read_old_key(text));
        break;
    case COMPLETED:
        hear_completed(fleet, text);
        break;
    case DUE:
        if (fa_fleet_leads(fleet))
            fleet->events.due(fleet->events.ctx, atoll(text));
        break;
    case AWAITED:
        atomic_store(&fleet->others_wait_until, fa_clock_mono_us() + AWAIT_US);
        break;
    case CHANNEL_COUNT:
        break;
    }
}

/* What one of our own transactions has announced. */
static bool is_own(const struct fa_fleet *fleet, const char *text)
{
    size_t len = strlen(fleet->announcement);

    return strncmp(text, fleet->announcement, len) == 0 && (text[len] == '\0' || text[len] == ' ');
}

static void hear_all(struct fa_fleet *fleet)
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
                hear(fleet, (enum channel)i, text + schema_len + (text[schema_len] == ' '));
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
    result = ask(fleet, FA_SQL_LEADER_HOLD, params, 3);
    if (PQntuples(result) == 1) {
        epoch = atoll(PQgetvalue(result, 0, 0));
        fa_pg_set_clock(fleet->target, before, atoll(PQgetvalue(result, 0, 1)));
    }
    PQclear(result);
    atomic_store(&fleet->epoch, epoch);
    if (epoch != 0 && !led)
        fleet->events.due(fleet->events.ctx, 0);
    fleet->renew_at = fa_clock_mono_us() + FA_LEADER_RENEW_US;
}

/* Nearly always there is nothing to make. */
static void make_days(struct fa_fleet *fleet)
{
    PGresult *result;

    if (!fa_fleet_leads(fleet) || fa_clock_mono_us() < fleet->days_at)
        return;
    result = ask(fleet, FA_SQL_PARTITIONS_MAKE, NULL, 0);
    fleet->days_at = fa_clock_mono_us() + (result != NULL ? DAYS_US : DAYS_AGAIN_US);
    PQclear(result);
}

/* The thread ----------------------------------------------------------------------------------- */

/* Where the session is not ours there is nothing to hear. */
static bool listen_all(struct fa_fleet *fleet)
{
    bool is_done = true;

    if (!fa_pg_is_direct(fleet->target, FA_PG_HERALD))
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
    if (fa_pg_connect(fleet->target, FA_PG_HERALD, &fleet->conn, NULL) != FAINA_OK)
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
    pthread_mutex_lock(&fleet->mutex); /* what was said may be lost */
    free(fleet->known.items);
    fleet->known = (struct known){0};
    pthread_mutex_unlock(&fleet->mutex);
    fleet->await_said_at = -AWAIT_SAY_US;
    fleet->due_told_us = 0;
    atomic_store(&fleet->others_wait_until, now + AWAIT_US);
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
        hear_all(fleet);
        empty_outbox(fleet);
        if (fleet->conn != NULL && fa_clock_mono_us() >= fleet->renew_at) {
            renew_lead(fleet);
            make_days(fleet);
        }
        hear_all(fleet);
    }
    return NULL;
}

static void make_node_name(struct fa_fleet *fleet)
{
    char host[64] = "node";
    struct fa_random random;

    gethostname(host, sizeof(host) - 1);
    fa_random_seed_system(&random);
    snprintf(fleet->node, sizeof(fleet->node), "%s-%d-%08x", host, (int)getpid(),
             (unsigned)fa_random_next(&random));
}

/* Who listens past pgbouncer has named a second address, which may be wrong. Later the thread
 * goes on trying in silence, and a node that never gets there never leads. */
static enum faina_code check_direct_way(struct fa_pg_target *target, struct faina_error *err)
{
    enum faina_code code = FAINA_OK;
    struct faina_error why;
    PGconn *conn;

    if (!target->is_pooled || !fa_pg_is_direct(target, FA_PG_HERALD))
        return FAINA_OK;
    code = fa_pg_connect(target, FA_PG_HERALD, &conn, &why);
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
    enum faina_code code = check_direct_way(target, err);
    struct fa_fleet *fleet;
    int rc;

    if (code != FAINA_OK)
        return code;
    fleet = fa_alloc_zero(1, sizeof(*fleet));
    fleet->target = target;
    fleet->events = *events;
    fleet->outbox.due_us = INT64_MAX;
    fleet->outbox.old_key = FA_FRONT_NONE;
    fleet->connect_pause = RECONNECT_MIN_US;
    make_node_name(fleet);
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
        empty_outbox(fleet); /* the last commits may have had something to say */
        PQclear(ask(fleet, FA_SQL_LEADER_LEAVE, params, 1));
        PQclear(ask(fleet, FA_SQL_AWAIT_LEAVE, params, 1));
    }
    PQfinish(fleet->conn);
    close(fleet->wake_fd);
    free(fleet->known.items);
    free(fleet->outbox.ended.items);
    free(fleet->outbox.awaits.items);
    pthread_mutex_destroy(&fleet->mutex);
    free(fleet);
}
