/*
 * nats_request.c - see nats_request.h.
 *
 * One subscription receives all answers: the subject of an answer ends with the number of a slot,
 * and a number that is different each time the slot is used. A slot leads to the request.
 */
#include "kv/nats/nats_request.h"

#include "base/clock.h"
#include "base/random.h"
#include "base/thread.h"
#include "json/json.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CONNECT_MS 5000
#define RECONNECT_MS 100
#define PING_MS 5000
#define WINDOW 1024 /* requests of a round that are under way at once */
#define HEARTBEAT_NS INT64_C(1000000000)
#define SILENT_US INT64_C(3500000) /* a feed without a heartbeat for so long is broken */
#define PAUSE_US 20000

struct slot {
    struct fa_nats_request *request; /* NULL: free */
    uint32_t uses;                   /* which use of the slot it is */
    uint32_t next_free;
};

struct fa_nats {
    const struct fa_cnats *lib;
    natsConnection *connection;
    natsSubscription *inbox;
    char prefix[64]; /* of the subjects of answers, with its last dot */
    atomic_uint feed_count;

    pthread_mutex_t mutex; /* guards what follows */
    struct slot *slots;
    size_t slot_count, slot_size;
    uint32_t first_free; /* a slot number plus one; 0: none is free */
    bool is_complete;    /* the inbox calls nothing any more */
    pthread_cond_t complete_cond;
};

struct fa_nats_round {
    pthread_cond_t cond;
    size_t missing; /* answers */
};

const struct fa_cnats *fa_nats_library(const struct fa_nats *nats)
{
    return nats->lib;
}

natsConnection *fa_nats_connection(struct fa_nats *nats)
{
    return nats->connection;
}

/* ------------------------------------------------------------------------------------------
 * Answers
 */

static int status_of(const struct fa_cnats *lib, natsMsg *msg)
{
    const char *status = NULL;

    return lib->natsMsgHeader_Get(msg, "Status", &status) == NATS_OK && status != NULL
               ? (int)strtol(status, NULL, 10)
               : 0;
}

/* In a thread of the client library. */
static void on_answer(natsConnection *connection, natsSubscription *sub, natsMsg *msg, void *arg)
{
    struct fa_nats *nats = arg;
    const char *subject = nats->lib->natsMsg_GetSubject(msg);
    unsigned slot_number, uses;

    (void)connection;
    (void)sub;
    pthread_mutex_lock(&nats->mutex);
    if (strlen(subject) > strlen(nats->prefix) &&
        sscanf(subject + strlen(nats->prefix), "%u.%u", &slot_number, &uses) == 2 &&
        slot_number < nats->slot_count) {
        struct slot *slot = &nats->slots[slot_number];

        if (slot->request != NULL && slot->uses == uses && slot->request->reply == NULL) {
            slot->request->reply = msg;
            msg = NULL;
            if (--slot->request->round->missing == 0)
                pthread_cond_signal(&slot->request->round->cond);
        }
    }
    pthread_mutex_unlock(&nats->mutex);
    if (msg != NULL)
        nats->lib->natsMsg_Destroy(msg); /* Q2 */
}

static void take_slot(struct fa_nats *nats, struct fa_nats_request *request)
{
    struct slot *slot;

    if (nats->first_free == 0) {
        nats->slots =
            fa_grow(nats->slots, nats->slot_count, &nats->slot_size, sizeof(*nats->slots));
        nats->slots[nats->slot_count] = (struct slot){0};
        nats->first_free = (uint32_t)++nats->slot_count;
    }
    request->slot = nats->first_free - 1;
    slot = &nats->slots[request->slot];
    nats->first_free = slot->next_free;
    slot->request = request;
    slot->uses++;
}

static void give_slot(struct fa_nats *nats, struct fa_nats_request *request)
{
    struct slot *slot = &nats->slots[request->slot];

    slot->request = NULL;
    slot->next_free = nats->first_free;
    nats->first_free = request->slot + 1;
}

/* Sends one request. False: it can't be sent now. */
static bool send_request(struct fa_nats *nats, struct fa_nats_request *request)
{
    const struct fa_cnats *lib = nats->lib;
    char reply[128];
    natsMsg *msg = NULL;
    natsStatus status;

    snprintf(reply, sizeof(reply), "%s%u.%u", nats->prefix, request->slot,
             nats->slots[request->slot].uses);
    if (request->data.len > INT32_MAX) {
        request->is_too_large = true;
        return false;
    }
    status = lib->natsMsg_Create(&msg, request->subject, reply, request->data.ptr,
                                 (int)request->data.len);
    for (size_t i = 0; status == NATS_OK && i + 1 < FA_COUNT(request->headers); i += 2)
        if (request->headers[i] != NULL)
            status = lib->natsMsgHeader_Set(msg, request->headers[i], request->headers[i + 1]);
    if (status == NATS_OK)
        status = lib->natsConnection_PublishMsg(nats->connection, msg);
    lib->natsMsg_Destroy(msg);
    request->is_too_large = status == NATS_MAX_PAYLOAD;
    return status == NATS_OK;
}

/* One window of a round. */
static void run_window(struct fa_nats *nats, struct fa_nats_request *requests, size_t count,
                       int64_t until_us)
{
    struct fa_nats_round round = {.missing = 1}; /* our own, until all are sent */

    fa_cond_init(&round.cond);
    pthread_mutex_lock(&nats->mutex);
    for (size_t i = 0; i < count; i++) {
        requests[i].reply = NULL;
        requests[i].status = 0;
        requests[i].is_too_large = false;
        requests[i].round = &round;
        take_slot(nats, &requests[i]);
    }
    round.missing += count;
    pthread_mutex_unlock(&nats->mutex);
    for (size_t i = 0; i < count; i++) {
        bool is_sent;

        is_sent = send_request(nats, &requests[i]);
        if (is_sent)
            continue;
        pthread_mutex_lock(&nats->mutex);
        round.missing--;
        pthread_mutex_unlock(&nats->mutex);
    }
    pthread_mutex_lock(&nats->mutex);
    round.missing--;
    while (round.missing > 0 && fa_cond_wait_until(&round.cond, &nats->mutex, until_us))
        ;
    for (size_t i = 0; i < count; i++)
        give_slot(nats, &requests[i]);
    pthread_mutex_unlock(&nats->mutex);
    pthread_cond_destroy(&round.cond);
    for (size_t i = 0; i < count; i++)
        if (requests[i].reply != NULL)
            requests[i].status = status_of(nats->lib, requests[i].reply);
}

enum faina_code fa_nats_run(struct fa_nats *nats, struct fa_nats_request *requests, size_t count,
                            int64_t timeout_ms)
{
    int64_t until_us = fa_clock_mono_us() + timeout_ms * 1000;
    enum faina_code code = FAINA_OK;

    for (size_t from = 0; from < count; from += WINDOW)
        run_window(nats, requests + from, count - from < WINDOW ? count - from : WINDOW, until_us);
    for (size_t i = 0; i < count; i++)
        if (requests[i].reply == NULL)
            code = FAINA_UNAVAILABLE;
    return code;
}

static void pause_us(int64_t us)
{
    struct timespec moment = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};

    nanosleep(&moment, NULL);
}

/* Reads the answer. False: it is no answer of JetStream, as long as there is no leader. */
static bool read_answer(struct fa_nats *nats, struct fa_nats_request *request,
                        struct fa_arena *arena, struct fa_bytes *answer, int64_t *error_code)
{
    int len = nats->lib->natsMsg_GetDataLength(request->reply);
    struct fa_json object, error;

    *answer = (struct fa_bytes){
        fa_arena_copy(arena, nats->lib->natsMsg_GetData(request->reply), (size_t)len), (size_t)len};
    *error_code = 0;
    if (request->status == 503 ||
        fa_json_check(*answer, 64, "", FAINA_UNAVAILABLE, NULL) != FAINA_OK)
        return false;
    object = fa_json_value(*answer);
    if (object.type == FA_JSON_OBJECT && fa_json_member(object, "error", &error) &&
        error.type == FA_JSON_OBJECT) {
        *error_code = fa_json_member_int(error, "err_code");
        return *error_code != 10008; /* JetStream is temporarily unavailable */
    }
    return object.type == FA_JSON_OBJECT;
}

enum faina_code fa_nats_ask(struct fa_nats *nats, const char *subject, const char *body,
                            int64_t timeout_ms, struct fa_arena *arena, struct fa_bytes *answer,
                            int64_t *error_code, struct faina_error *err)
{
    int64_t until_us = fa_clock_mono_us() + timeout_ms * 1000, left_ms = timeout_ms;
    bool was_refused = false;

    while (left_ms > 0) {
        struct fa_nats_request request = {.subject = subject, .data = fa_str(body)};
        bool is_read = false;

        if (fa_nats_run(nats, &request, 1, left_ms < 2000 ? left_ms : 2000) == FAINA_OK)
            is_read = read_answer(nats, &request, arena, answer, error_code);
        was_refused = request.status == 503;
        nats->lib->natsMsg_Destroy(request.reply);
        if (is_read)
            return FAINA_OK;
        pause_us(PAUSE_US);
        left_ms = (until_us - fa_clock_mono_us()) / 1000;
    }
    return fa_error_set(err, FAINA_UNAVAILABLE,
                        was_refused ? "the NATS server has no JetStream, or no leader for it now"
                                    : "the NATS server does not answer");
}

/* ------------------------------------------------------------------------------------------
 * The connection
 */

/* The library prints errors of subscriptions otherwise. */
static void on_error(natsConnection *connection, natsSubscription *sub, natsStatus status,
                     void *arg)
{
    (void)connection;
    (void)sub;
    (void)status;
    (void)arg;
}

static natsStatus set_options(const struct fa_cnats *lib, natsOptions *options,
                              const struct fa_nats_url *url)
{
    const char *ca_file = getenv("FAINA_CA_FILE");
    const char *servers[FA_NATS_SERVERS_MAX];
    natsStatus status;

    memcpy(servers, url->servers, sizeof(servers));
    status = lib->natsOptions_SetServers(options, servers, url->server_count);
    if (status == NATS_OK)
        status = lib->natsOptions_SetName(options, "faina");
    if (status == NATS_OK)
        status = lib->natsOptions_SetTimeout(options, CONNECT_MS);
    if (status == NATS_OK)
        status = lib->natsOptions_SetMaxReconnect(options, -1);
    if (status == NATS_OK)
        status = lib->natsOptions_SetReconnectWait(options, RECONNECT_MS);
    if (status == NATS_OK)
        status = lib->natsOptions_SetReconnectJitter(options, RECONNECT_MS, RECONNECT_MS);
    if (status == NATS_OK)
        status = lib->natsOptions_SetPingInterval(options, PING_MS);
    if (status == NATS_OK)
        status = lib->natsOptions_SetMaxPingsOut(options, 2);
    if (status == NATS_OK)
        status = lib->natsOptions_SetErrorHandler(options, on_error, NULL);
    if (status == NATS_OK && url->user != NULL)
        status = lib->natsOptions_SetUserInfo(options, url->user, url->password);
    if (status == NATS_OK && url->needs_tls)
        status = lib->natsOptions_SetSecure(options, true);
    if (status == NATS_OK && url->needs_tls && ca_file != NULL && ca_file[0] != '\0')
        status = lib->natsOptions_LoadCATrustedCertificates(options, ca_file);
    if (status == NATS_OK && url->creds != NULL)
        status = lib->natsOptions_SetUserCredentialsFromFiles(options, url->creds, NULL);
    return status;
}

static void on_complete(void *arg)
{
    struct fa_nats *nats = arg;

    pthread_mutex_lock(&nats->mutex);
    nats->is_complete = true;
    pthread_cond_signal(&nats->complete_cond);
    pthread_mutex_unlock(&nats->mutex);
}

static natsStatus open_inbox(struct fa_nats *nats)
{
    struct fa_random random;
    char subject[80];
    natsStatus status;

    fa_random_seed_system(&random);
    snprintf(nats->prefix, sizeof(nats->prefix), "_INBOX.%016llx%08llx.",
             (unsigned long long)fa_random_next(&random),
             (unsigned long long)fa_random_next(&random) >> 32);
    snprintf(subject, sizeof(subject), "%sr.>", nats->prefix);
    snprintf(nats->prefix + strlen(nats->prefix), 8, "r.");
    status = nats->lib->natsConnection_Subscribe(&nats->inbox, nats->connection, subject, on_answer,
                                                 nats);
    if (status == NATS_OK)
        status = nats->lib->natsSubscription_SetPendingLimits(nats->inbox, -1, -1);
    if (status == NATS_OK)
        status = nats->lib->natsSubscription_SetOnCompleteCB(nats->inbox, on_complete, nats);
    return status;
}

enum faina_code fa_nats_connect(struct fa_nats **out, const struct fa_nats_url *url,
                                struct faina_error *err)
{
    const struct fa_cnats *lib = fa_cnats_load(err);
    natsOptions *options = NULL;
    struct fa_nats *nats;
    natsStatus status;

    if (lib == NULL)
        return FAINA_NOT_SUPPORTED;
    nats = fa_alloc_zero(1, sizeof(*nats));
    nats->lib = lib;
    pthread_mutex_init(&nats->mutex, NULL);
    fa_cond_init(&nats->complete_cond);
    nats->is_complete = true;
    status = lib->natsOptions_Create(&options);
    if (status == NATS_OK)
        status = set_options(lib, options, url);
    if (status == NATS_OK)
        status = lib->natsConnection_Connect(&nats->connection, options);
    lib->natsOptions_Destroy(options);
    if (status == NATS_OK) {
        status = open_inbox(nats);
        nats->is_complete = status != NATS_OK;
    }
    if (status != NATS_OK) {
        bool is_refused = status == NATS_CONNECTION_AUTH_FAILED || status == NATS_NOT_PERMITTED;

        fa_nats_close(nats);
        return fa_error_set(err, is_refused ? FAINA_UNAUTHORIZED : FAINA_UNAVAILABLE,
                            "no connection to NATS at %.300s: %s", url->location,
                            lib->natsStatus_GetText(status));
    }
    *out = nats;
    return FAINA_OK;
}

void fa_nats_close(struct fa_nats *nats)
{
    if (nats == NULL)
        return;
    if (nats->connection != NULL)
        nats->lib->natsConnection_Close(nats->connection);
    pthread_mutex_lock(&nats->mutex);
    while (!nats->is_complete)
        pthread_cond_wait(&nats->complete_cond, &nats->mutex);
    pthread_mutex_unlock(&nats->mutex);
    if (nats->inbox != NULL)
        nats->lib->natsSubscription_Destroy(nats->inbox);
    if (nats->connection != NULL)
        nats->lib->natsConnection_Destroy(nats->connection);
    pthread_cond_destroy(&nats->complete_cond);
    pthread_mutex_destroy(&nats->mutex);
    free(nats->slots);
    free(nats);
}

/* ------------------------------------------------------------------------------------------
 * Feeds
 */

struct fa_nats_feed {
    struct fa_nats *nats;
    natsSubscription *sub;
    const char *stream, *consumer; /* in the arena */
    struct fa_arena arena;
    uint64_t delivered; /* the consumer's number of the last message */
    int64_t received_us;
    bool is_idle;

    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t cond;
    natsMsg **queue;
    size_t first, count, size;
    bool is_woken, is_complete;
};

static void on_message(natsConnection *connection, natsSubscription *sub, natsMsg *msg, void *arg)
{
    struct fa_nats_feed *feed = arg;

    (void)connection;
    (void)sub;
    pthread_mutex_lock(&feed->mutex);
    feed->queue = fa_grow(feed->queue, feed->count, &feed->size, sizeof(*feed->queue));
    feed->queue[feed->count++] = msg;
    pthread_cond_signal(&feed->cond);
    pthread_mutex_unlock(&feed->mutex);
}

static void on_feed_complete(void *arg)
{
    struct fa_nats_feed *feed = arg;

    pthread_mutex_lock(&feed->mutex);
    feed->is_complete = true;
    pthread_cond_broadcast(&feed->cond);
    pthread_mutex_unlock(&feed->mutex);
}

static enum faina_code create_consumer(struct fa_nats_feed *feed, const char *deliver,
                                       const char *filter, uint64_t start, uint64_t *pending,
                                       struct faina_error *err)
{
    const char *subject = fa_arena_printf(&feed->arena, "$JS.API.CONSUMER.CREATE.%s", feed->stream);
    const char *from = start > 0 ? fa_arena_printf(&feed->arena,
                                                   "\"deliver_policy\":\"by_start_sequence\","
                                                   "\"opt_start_seq\":%llu",
                                                   (unsigned long long)start)
                                 : "\"deliver_policy\":\"last_per_subject\"";
    const char *body = fa_arena_printf(
        &feed->arena,
        "{\"stream_name\":\"%s\",\"config\":{\"deliver_subject\":\"%s\",%s,\"ack_policy\":\"none\","
        "\"max_deliver\":1,\"filter_subject\":\"%s\",\"flow_control\":true,\"idle_heartbeat\":%lld,"
        "\"replay_policy\":\"instant\",\"mem_storage\":true,\"num_replicas\":1}}",
        feed->stream, deliver, from, filter, (long long)HEARTBEAT_NS);
    struct fa_bytes answer;
    int64_t error_code;
    enum faina_code code =
        fa_nats_ask(feed->nats, subject, body, 5000, &feed->arena, &answer, &error_code, err);

    if (code != FAINA_OK)
        return code;
    if (error_code != 0)
        return fa_error_set(err, FAINA_UNAVAILABLE,
                            "the NATS server refuses to deliver the bucket's changes: %.300s",
                            answer.ptr);
    feed->consumer = fa_json_member_text(fa_json_value(answer), "name", &feed->arena);
    *pending = (uint64_t)fa_json_member_int(fa_json_value(answer), "num_pending");
    return feed->consumer != NULL
               ? FAINA_OK
               : fa_error_set(err, FAINA_UNAVAILABLE, "the NATS server made no consumer");
}

enum faina_code fa_nats_feed_open(struct fa_nats_feed **out, struct fa_nats *nats,
                                  const char *stream, const char *filter, uint64_t start,
                                  uint64_t *pending, struct faina_error *err)
{
    struct fa_nats_feed *feed = fa_alloc_zero(1, sizeof(*feed));
    const struct fa_cnats *lib = nats->lib;
    const char *deliver;
    enum faina_code code = FAINA_OK;
    natsStatus status;

    feed->nats = nats;
    feed->stream = fa_arena_strdup(&feed->arena, stream);
    feed->is_complete = true;
    pthread_mutex_init(&feed->mutex, NULL);
    fa_cond_init(&feed->cond);
    deliver = fa_arena_printf(&feed->arena, "%.*sw%u", (int)strlen(nats->prefix) - 2, nats->prefix,
                              atomic_fetch_add(&nats->feed_count, 1));
    status = lib->natsConnection_Subscribe(&feed->sub, nats->connection, deliver, on_message, feed);
    if (status == NATS_OK)
        status = lib->natsSubscription_SetPendingLimits(feed->sub, -1, -1);
    if (status == NATS_OK)
        status = lib->natsSubscription_SetOnCompleteCB(feed->sub, on_feed_complete, feed);
    feed->is_complete = status != NATS_OK;
    if (status != NATS_OK)
        code = fa_error_set(err, FAINA_UNAVAILABLE, "the connection to NATS is closed: %s",
                            lib->natsStatus_GetText(status));
    if (code == FAINA_OK)
        code = create_consumer(feed, deliver, filter, start, pending, err);
    feed->received_us = fa_clock_mono_us();
    if (code == FAINA_OK)
        *out = feed;
    else
        fa_nats_feed_close(feed);
    return code;
}

void fa_nats_feed_close(struct fa_nats_feed *feed)
{
    const struct fa_cnats *lib;

    if (feed == NULL)
        return;
    lib = feed->nats->lib;
    if (feed->consumer != NULL) /* no answer is needed: an unused consumer goes by itself */
        lib->natsConnection_Publish(feed->nats->connection,
                                    fa_arena_printf(&feed->arena, "$JS.API.CONSUMER.DELETE.%s.%s",
                                                    feed->stream, feed->consumer),
                                    NULL, 0);
    if (feed->sub != NULL)
        lib->natsSubscription_Unsubscribe(feed->sub);
    pthread_mutex_lock(&feed->mutex);
    while (!feed->is_complete)
        pthread_cond_wait(&feed->cond, &feed->mutex);
    pthread_mutex_unlock(&feed->mutex);
    if (feed->sub != NULL)
        lib->natsSubscription_Destroy(feed->sub);
    for (size_t i = feed->first; i < feed->count; i++)
        lib->natsMsg_Destroy(feed->queue[i]);
    free(feed->queue);
    pthread_cond_destroy(&feed->cond);
    pthread_mutex_destroy(&feed->mutex);
    fa_arena_finish(&feed->arena);
    free(feed);
}

bool fa_nats_feed_is_idle(const struct fa_nats_feed *feed)
{
    return feed->is_idle;
}

void fa_nats_feed_wake(struct fa_nats_feed *feed)
{
    pthread_mutex_lock(&feed->mutex);
    feed->is_woken = true;
    pthread_cond_signal(&feed->cond);
    pthread_mutex_unlock(&feed->mutex);
}

/* $JS.ACK.[domain.account.]stream.consumer.deliveries.sequence.number.time.pending[.token] */
static bool read_meta(const char *reply, struct fa_nats_item *item, uint64_t *number)
{
    const char *tokens[16];
    size_t count = 0, at;

    if (reply == NULL || strncmp(reply, "$JS.ACK.", 8) != 0)
        return false;
    for (const char *text = reply; text != NULL && count < FA_COUNT(tokens);) {
        tokens[count++] = text;
        text = strchr(text, '.');
        text = text != NULL ? text + 1 : NULL;
    }
    if (count < 9)
        return false;
    at = count == 9 ? 5 : 7;
    if (at + 3 >= count)
        return false;
    item->sequence = strtoull(tokens[at], NULL, 10);
    *number = strtoull(tokens[at + 1], NULL, 10);
    item->at_us = (int64_t)(strtoull(tokens[at + 2], NULL, 10) / 1000);
    item->pending = strtoull(tokens[at + 3], NULL, 10);
    return item->sequence > 0;
}

/* A heartbeat or a request of flow control. False: a message is missing. */
static bool take_control(struct fa_nats_feed *feed, natsMsg *msg)
{
    const struct fa_cnats *lib = feed->nats->lib;
    const char *reply = lib->natsMsg_GetReply(msg), *value = NULL;
    bool is_fine = true, is_stalled = reply != NULL && reply[0] != '\0';

    if (is_stalled)
        lib->natsConnection_Publish(feed->nats->connection, reply, NULL, 0);
    if (lib->natsMsgHeader_Get(msg, "Nats-Consumer-Stalled", &value) == NATS_OK && value != NULL) {
        lib->natsConnection_Publish(feed->nats->connection, value, NULL, 0);
        is_stalled = true;
    }
    value = NULL;
    if (lib->natsMsgHeader_Get(msg, "Nats-Last-Consumer", &value) == NATS_OK && value != NULL)
        is_fine = strtoull(value, NULL, 10) == feed->delivered;
    feed->is_idle = is_fine && !is_stalled;
    return is_fine;
}

/* The next message, or NULL. */
static natsMsg *take(struct fa_nats_feed *feed, int64_t until_us)
{
    natsMsg *msg = NULL;

    pthread_mutex_lock(&feed->mutex);
    while (feed->first == feed->count && !feed->is_woken && !feed->is_complete &&
           fa_cond_wait_until(&feed->cond, &feed->mutex, until_us))
        ;
    if (feed->first < feed->count)
        msg = feed->queue[feed->first++];
    if (feed->first == feed->count)
        feed->first = feed->count = 0;
    feed->is_woken = false;
    pthread_mutex_unlock(&feed->mutex);
    return msg;
}

bool fa_nats_feed_next(struct fa_nats_feed *feed, int64_t timeout_ms, struct fa_nats_item *out,
                       bool *is_broken)
{
    const struct fa_cnats *lib = feed->nats->lib;
    int64_t until_us = fa_clock_mono_us() + timeout_ms * 1000;
    uint64_t number;
    natsMsg *msg;

    *is_broken = false;
    while ((msg = take(feed, until_us)) != NULL) {
        feed->received_us = fa_clock_mono_us();
        *out = (struct fa_nats_item){.msg = msg};
        if (read_meta(lib->natsMsg_GetReply(msg), out, &number)) {
            *is_broken = number != feed->delivered + 1;
            feed->delivered = number;
            feed->is_idle = false;
            if (*is_broken)
                lib->natsMsg_Destroy(msg);
            return !*is_broken;
        }
        *is_broken = status_of(lib, msg) != 100 || !take_control(feed, msg);
        lib->natsMsg_Destroy(msg);
        if (*is_broken || feed->is_idle)
            return false;
    }
    *is_broken = fa_clock_mono_us() - feed->received_us > SILENT_US;
    return false;
}
