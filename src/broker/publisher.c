/*
 * publisher.c - see publisher.h.
 *
 *     outbox --read--> [sent: published, in order] --confirm--> removed
 *
 * Rows that other transactions commit late may have lower numbers than rows that were read before.
 * The numbers that a read leaves out are remembered for a while, and read again; and now and then
 * the outbox is read from its beginning.
 */
#include "broker/publisher.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/random.h"
#include "base/thread.h"
#include "broker/amqp.h"
#include "json/json.h"

#include <amqp_framing.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define SENT_MAX 1024       /* messages that wait for their confirms */
#define READ_MAX 256        /* rows read at once */
#define REMOVE_MAX 512      /* confirmed rows are removed when there are so many ... */
#define REMOVE_US 50000     /* ... or after this time */
#define GAPS_MAX 1024       /* numbers that are remembered ... */
#define GAP_US 2000000      /* ... for this time */
#define SWEEP_US 2000000    /* how often the outbox is read from its beginning */
#define LEAD_US 5000000     /* how often the lease is renewed */
#define IDLE_MS 1000        /* how often an idle publisher reads, without a notification */
#define CONFIRM_US 60000000 /* a broker that confirms nothing for so long is connected to again */
#define PAUSE_MIN_US 100000 /* the backoff after a failure */
#define PAUSE_MAX_US 15000000
#define REPORT_US 60000000  /* how often unroutable messages are logged */
#define ROUTING_KEY_MAX 255 /* bytes, of AMQP */

/* A published message. */
struct sent {
    int64_t seq;
    bool is_confirmed;
};

struct gap {
    int64_t seq, since_us;
};

struct fa_publisher {
    struct fa_service *service;
    struct fa_listener listener;
    struct fa_reporter log;
    char *url, *node;
    pthread_t thread;
    int wake_fd;
    atomic_bool is_stopping, is_asleep;
    struct fa_amqp amqp;

    /* The thread's. */
    struct fa_random random;
    struct fa_arena arena;
    struct sent sent[SENT_MAX];         /* in the order of publishing */
    size_t sent_count, confirmed_count; /* the second: at its beginning */
    uint64_t first_tag;                 /* the delivery tag of sent[0] */
    int64_t confirmed_us;               /* when the first of them was confirmed */
    int64_t progress_us;                /* when the last confirm came, or the first was awaited */
    size_t unroutable;                  /* returned, and not counted in the store yet */
    int64_t last_seq;                   /* the highest number that was read */
    struct gap gaps[GAPS_MAX];          /* ascending */
    size_t gap_count;
    int64_t sweep_us, lead_us, pause_us, report_us;
    bool leads, is_on, was_blocked, is_broken;
    size_t unreported;
    char last_error[sizeof(((struct faina_error *)0)->message)];
};

/* Notifications ----------------------------------------------------------------------------- */

static void wake(struct fa_publisher *publisher)
{
    const uint64_t one = 1;

    if (write(publisher->wake_fd, &one, sizeof(one)) < 0)
        return; /* it is awake already */
}

static void on_commit(void *ctx, const struct fa_notification *notification)
{
    struct fa_publisher *publisher = ctx;

    if ((notification->ready_types != 0 || notification->ended_count > 0) &&
        atomic_load(&publisher->is_asleep))
        wake(publisher);
}

/* Sleeps until a notification, a frame of the broker, or the end of the time. */
static void sleep_for(struct fa_publisher *publisher, int64_t ms)
{
    struct pollfd fds[2] = {{.fd = publisher->wake_fd, .events = POLLIN},
                            {.fd = -1, .events = POLLIN}};
    uint64_t count;

    if (publisher->amqp.state != NULL)
        fds[1].fd = amqp_get_sockfd(publisher->amqp.state);
    if (poll(fds, 2, (int)ms) > 0 && fds[0].revents != 0 &&
        read(publisher->wake_fd, &count, sizeof(count)) < 0)
        return;
}

/* Only the end of the publisher and the time end this sleep. */
static void back_off(struct fa_publisher *publisher)
{
    int64_t until_us;

    publisher->pause_us = publisher->pause_us == 0 ? PAUSE_MIN_US : publisher->pause_us * 2;
    if (publisher->pause_us > PAUSE_MAX_US)
        publisher->pause_us = PAUSE_MAX_US;
    until_us = fa_clock_mono_us() + publisher->pause_us / 2 +
               (int64_t)fa_random_below(&publisher->random, (uint64_t)publisher->pause_us / 2 + 1);
    while (!atomic_load(&publisher->is_stopping) && fa_clock_mono_us() < until_us)
        sleep_for(publisher, (until_us - fa_clock_mono_us()) / 1000 + 1);
}

/* What was published and not confirmed is published again (P2). */
static void forget_sent(struct fa_publisher *publisher)
{
    publisher->sent_count = publisher->confirmed_count = 0;
    publisher->gap_count = 0;
    publisher->last_seq = 0;
    publisher->is_broken = false;
}

/* Logs the first failure, and the others at debug. */
static void report_failure(struct fa_publisher *publisher, const struct faina_error *err)
{
    bool is_new = strcmp(publisher->last_error, err->message) != 0;

    if (!atomic_load(&publisher->is_stopping))
        fa_report(&publisher->log, is_new ? FA_LOG_WARN : FA_LOG_DEBUG,
                  "messages wait in the outbox: %s", err->message);
    snprintf(publisher->last_error, sizeof(publisher->last_error), "%s", err->message);
}

/* Frames of the broker ---------------------------------------------------------------------- */

static void confirm(struct fa_publisher *publisher, uint64_t tag, bool multiple, bool is_nack)
{
    size_t from = publisher->confirmed_count, to;

    if (tag < publisher->first_tag || tag - publisher->first_tag >= publisher->sent_count)
        return;
    to = (size_t)(tag - publisher->first_tag);
    if (is_nack) { /* what is confirmed before it can be removed; the rest is published again */
        publisher->is_broken = true;
        return;
    }
    for (size_t i = multiple ? from : to; i <= to; i++)
        publisher->sent[i].is_confirmed = true;
    while (publisher->confirmed_count < publisher->sent_count &&
           publisher->sent[publisher->confirmed_count].is_confirmed)
        publisher->confirmed_count++;
    publisher->progress_us = fa_clock_mono_us();
    if (from == 0 && publisher->confirmed_count > 0)
        publisher->confirmed_us = publisher->progress_us;
}

/* A returned message: its header and body follow. */
static enum faina_code take_return(struct fa_publisher *publisher, struct faina_error *err)
{
    amqp_message_t message;
    amqp_rpc_reply_t reply = amqp_read_message(publisher->amqp.state, FA_AMQP_CHANNEL, &message, 0);

    if (reply.reply_type != AMQP_RESPONSE_NORMAL)
        return fa_amqp_refuse(&publisher->amqp, "a returned message can't be read", reply, err);
    amqp_destroy_message(&message);
    publisher->unroutable++;
    publisher->unreported++;
    return FAINA_OK;
}

static enum faina_code take_frame(struct fa_publisher *publisher, const amqp_frame_t *frame,
                                  struct faina_error *err)
{
    if (frame->frame_type != AMQP_FRAME_METHOD)
        return FAINA_OK;
    if (frame->payload.method.id == AMQP_BASIC_ACK_METHOD) {
        const amqp_basic_ack_t *ack = frame->payload.method.decoded;

        confirm(publisher, ack->delivery_tag, ack->multiple, false);
        return FAINA_OK;
    }
    if (frame->payload.method.id == AMQP_BASIC_NACK_METHOD) {
        const amqp_basic_nack_t *nack = frame->payload.method.decoded;

        confirm(publisher, nack->delivery_tag, nack->multiple, true);
        return FAINA_OK;
    }
    if (frame->payload.method.id == AMQP_BASIC_RETURN_METHOD)
        return take_return(publisher, err);
    return fa_amqp_take_frame(&publisher->amqp, frame, err);
}

/* Takes what has arrived, without waiting; also sends heartbeats that are due. */
static enum faina_code take_frames(struct fa_publisher *publisher, struct faina_error *err)
{
    enum faina_code code = FAINA_OK;

    while (code == FAINA_OK) {
        struct timeval now = {0};
        amqp_frame_t frame;
        int status;

        amqp_maybe_release_buffers(publisher->amqp.state);
        status = amqp_simple_wait_frame_noblock(publisher->amqp.state, &frame, &now);
        if (status == AMQP_STATUS_TIMEOUT)
            break;
        if (status != AMQP_STATUS_OK)
            return fa_amqp_fail(&publisher->amqp, "the connection is gone", status, err);
        code = take_frame(publisher, &frame, err);
    }
    if (code == FAINA_OK && publisher->amqp.is_blocked != publisher->was_blocked) {
        publisher->was_blocked = publisher->amqp.is_blocked;
        fa_report(&publisher->log, FA_LOG_WARN,
                  publisher->was_blocked
                      ? "the broker at %s takes no messages for now: it is short of memory or disk"
                      : "the broker at %s takes messages again",
                  publisher->amqp.address);
    }
    if (code == FAINA_OK && publisher->sent_count > publisher->confirmed_count &&
        !publisher->amqp.is_blocked && fa_clock_mono_us() - publisher->progress_us > CONFIRM_US)
        return fa_error_set(err, FAINA_UNAVAILABLE,
                            "the broker at %s has confirmed nothing for a minute",
                            publisher->amqp.address);
    return code;
}

static void report_unroutable(struct fa_publisher *publisher)
{
    int64_t now_us = fa_clock_mono_us();

    if (publisher->unreported == 0 ||
        (publisher->report_us != 0 && now_us - publisher->report_us < REPORT_US))
        return;
    fa_report(&publisher->log, FA_LOG_WARN,
              "%zu messages had no queue: bind one to the exchange " FA_AMQP_TASKS
              " or " FA_AMQP_EVENTS "; the tasks themselves are in the store",
              publisher->unreported);
    publisher->unreported = 0;
    publisher->report_us = now_us;
}

/* Removing ---------------------------------------------------------------------------------- */

/* Removes the confirmed rows at the beginning of the list (P1). */
static enum faina_code remove_confirmed(struct fa_publisher *publisher, struct faina_error *err)
{
    size_t count = publisher->confirmed_count;
    struct fa_outbox what = {.count = count};
    enum faina_code code;

    if (count == 0)
        return FAINA_OK;
    what.items = fa_arena_zero(&publisher->arena, count, sizeof(*what.items));
    for (size_t i = 0; i < count; i++)
        what.items[i].seq = publisher->sent[i].seq;
    code = fa_service_outbox_remove(publisher->service, &what, publisher->unroutable, err);
    if (code != FAINA_OK)
        return code;
    publisher->unroutable = 0;
    publisher->sent_count -= count;
    memmove(publisher->sent, publisher->sent + count,
            publisher->sent_count * sizeof(*publisher->sent));
    publisher->first_tag += count;
    publisher->confirmed_count = 0;
    return FAINA_OK;
}

static bool should_remove(const struct fa_publisher *publisher)
{
    return publisher->confirmed_count >= REMOVE_MAX ||
           (publisher->confirmed_count > 0 &&
            (publisher->confirmed_count == SENT_MAX || publisher->is_broken ||
             fa_clock_mono_us() - publisher->confirmed_us >= REMOVE_US));
}

/* Publishing -------------------------------------------------------------------------------- */

static const char *routing_key(struct fa_publisher *publisher,
                               const struct fa_outbox_message *message)
{
    const char *key = fa_arena_printf(&publisher->arena, "%s.%s", message->ns, message->type);
    uint8_t hash[FA_SHA256_SIZE];
    char hex[FA_SHA256_HEX_SIZE];

    if (message->status != FAINA_PENDING)
        return fa_arena_printf(&publisher->arena, "task.%s", faina_status_name(message->status));
    if (strlen(key) <= ROUTING_KEY_MAX)
        return key;
    fa_sha256((struct fa_bytes){key, strlen(key)}, hash);
    fa_hex(hash, sizeof(hash), hex);
    return fa_arena_printf(&publisher->arena, "x.%s", hex);
}

static const char *body_of(struct fa_publisher *publisher, const struct fa_outbox_message *message)
{
    struct fa_json_writer w;
    const char *text;
    struct fa_buf buf;

    fa_buf_init(&buf, SIZE_MAX / 2);
    fa_json_writer_init(&w, &buf, 0);
    fa_json_begin_object(&w);
    fa_json_set_str(&w, "id", message->id);
    fa_json_set_str(&w, "namespace", message->ns);
    fa_json_set_str(&w, "type", message->type);
    fa_json_set_int(&w, "attempt", message->attempt);
    fa_json_set_int(&w, "priority", message->priority);
    fa_json_set_int(&w, "version", message->version);
    if (message->status != FAINA_PENDING)
        fa_json_set_str(&w, "status", faina_status_name(message->status));
    fa_json_end_object(&w);
    text = fa_arena_copy(&publisher->arena, buf.ptr, buf.len);
    fa_buf_finish(&buf);
    return text;
}

static void add_sent(struct fa_publisher *publisher, int64_t seq)
{
    if (publisher->sent_count == publisher->confirmed_count)
        publisher->progress_us = fa_clock_mono_us();
    publisher->sent[publisher->sent_count++] = (struct sent){.seq = seq};
}

static enum faina_code publish(struct fa_publisher *publisher,
                               const struct fa_outbox_message *message, struct faina_error *err)
{
    amqp_basic_properties_t properties = {
        ._flags = AMQP_BASIC_CONTENT_TYPE_FLAG | AMQP_BASIC_DELIVERY_MODE_FLAG |
                  AMQP_BASIC_MESSAGE_ID_FLAG,
        .content_type = amqp_cstring_bytes("application/json"),
        .delivery_mode = AMQP_DELIVERY_PERSISTENT,
        .message_id = amqp_cstring_bytes(fa_arena_printf(&publisher->arena, "%s:%lld", message->id,
                                                         (long long)message->version)),
    };
    const char *exchange = message->status == FAINA_PENDING ? FA_AMQP_TASKS : FA_AMQP_EVENTS;
    int status =
        amqp_basic_publish(publisher->amqp.state, FA_AMQP_CHANNEL, amqp_cstring_bytes(exchange),
                           amqp_cstring_bytes(routing_key(publisher, message)), 1, 0, &properties,
                           amqp_cstring_bytes(body_of(publisher, message)));

    if (status != AMQP_STATUS_OK)
        return fa_amqp_fail(&publisher->amqp, "a message can't be published", status, err);
    add_sent(publisher, message->seq);
    return FAINA_OK;
}

/* A row that can't be read: there is nothing to publish. */
static enum faina_code remove_damaged(struct fa_publisher *publisher,
                                      const struct fa_outbox_message *row, struct faina_error *err)
{
    const struct fa_outbox what = {.count = 1,
                                   .items = &(struct fa_outbox_message){.seq = row->seq}};

    fa_report(&publisher->log, FA_LOG_ERROR,
              "row %lld of table outbox can't be read, and is removed without a message",
              (long long)row->seq);
    return fa_service_outbox_remove(publisher->service, &what, 0, err);
}

/* Reading ----------------------------------------------------------------------------------- */

static bool is_sent(const struct fa_publisher *publisher, int64_t seq)
{
    for (size_t i = 0; i < publisher->sent_count; i++) {
        if (publisher->sent[i].seq == seq)
            return true;
    }
    return false;
}

/* Remembers the numbers between two rows, which later commits may have. */
static void add_gaps(struct fa_publisher *publisher, int64_t from, int64_t to, int64_t now_us)
{
    if (from == 0) /* the first read: lower numbers were removed long ago, or come with a sweep */
        return;
    for (int64_t seq = from + 1; seq < to && publisher->gap_count < GAPS_MAX; seq++)
        publisher->gaps[publisher->gap_count++] = (struct gap){seq, now_us};
}

static void expire_gaps(struct fa_publisher *publisher, int64_t now_us)
{
    size_t kept = 0;

    for (size_t i = 0; i < publisher->gap_count; i++) {
        if (now_us - publisher->gaps[i].since_us < GAP_US)
            publisher->gaps[kept++] = publisher->gaps[i];
    }
    publisher->gap_count = kept;
}

static void close_gap(struct fa_publisher *publisher, int64_t seq)
{
    for (size_t i = 0; i < publisher->gap_count; i++) {
        if (publisher->gaps[i].seq == seq) {
            publisher->gap_count--;
            memmove(publisher->gaps + i, publisher->gaps + i + 1,
                    (publisher->gap_count - i) * sizeof(*publisher->gaps));
            return;
        }
    }
}

static enum faina_code publish_rows(struct fa_publisher *publisher, const struct fa_outbox *rows,
                                    size_t *count, struct faina_error *err)
{
    int64_t now_us = fa_clock_mono_us();
    enum faina_code code = FAINA_OK;

    for (size_t i = 0; code == FAINA_OK && i < rows->count; i++) {
        const struct fa_outbox_message *row = &rows->items[i];

        if (row->seq <= publisher->last_seq && is_sent(publisher, row->seq))
            continue;
        if (publisher->sent_count == SENT_MAX)
            break;
        if (row->seq > publisher->last_seq) {
            add_gaps(publisher, publisher->last_seq, row->seq, now_us);
            publisher->last_seq = row->seq;
        } else {
            close_gap(publisher, row->seq);
        }
        (*count)++;
        code = row->is_damaged ? remove_damaged(publisher, row, err) : publish(publisher, row, err);
    }
    return code;
}

/* Reads the next rows and publishes them. *count: how many. */
static enum faina_code publish_next(struct fa_publisher *publisher, size_t *count,
                                    struct faina_error *err)
{
    int64_t now_us = fa_clock_mono_us(), after = publisher->last_seq;
    struct fa_outbox rows;
    enum faina_code code;

    *count = 0;
    expire_gaps(publisher, now_us);
    if (publisher->gap_count > 0)
        after = publisher->gaps[0].seq - 1;
    if (now_us - publisher->sweep_us > SWEEP_US) {
        publisher->sweep_us = now_us;
        after = 0;
    }
    code = fa_service_outbox_read(publisher->service, after,
                                  READ_MAX + (after < publisher->last_seq ? SENT_MAX : 0),
                                  &publisher->arena, &rows, err);
    return code == FAINA_OK ? publish_rows(publisher, &rows, count, err) : code;
}

/* The thread -------------------------------------------------------------------------------- */

/* Renews the lease, and reads the setting. */
static enum faina_code check_lead(struct fa_publisher *publisher, struct faina_error *err)
{
    struct fa_op op = {.kind = FA_OP_BROKER_GET, .arena = &publisher->arena};
    int64_t now_us = fa_clock_mono_us();
    enum faina_code code;

    if (publisher->lead_us != 0 && now_us - publisher->lead_us < LEAD_US)
        return FAINA_OK;
    code = fa_service_outbox_lead(publisher->service, publisher->node, &publisher->leads, err);
    if (code == FAINA_OK)
        code = fa_service_run_one(publisher->service, &op, err);
    if (code != FAINA_OK) {
        publisher->leads = false;
        return code;
    }
    publisher->is_on = op.broker_answer->is_on;
    publisher->lead_us = now_us;
    return FAINA_OK;
}

static enum faina_code connect_broker(struct fa_publisher *publisher, struct faina_error *err)
{
    char name[300];
    amqp_rpc_reply_t reply;
    enum faina_code code;

    if (publisher->amqp.state != NULL)
        return FAINA_OK;
    snprintf(name, sizeof(name), "faina publisher %s", publisher->node);
    code = fa_amqp_open(&publisher->amqp, publisher->url, name, err);
    if (code == FAINA_OK)
        code = fa_amqp_declare(&publisher->amqp, err);
    if (code != FAINA_OK)
        return code;
    amqp_confirm_select(publisher->amqp.state, FA_AMQP_CHANNEL);
    reply = amqp_get_rpc_reply(publisher->amqp.state);
    if (reply.reply_type != AMQP_RESPONSE_NORMAL)
        return fa_amqp_refuse(&publisher->amqp, "no confirms", reply, err);
    forget_sent(publisher);
    publisher->first_tag = 1;
    publisher->was_blocked = false;
    publisher->last_error[0] = '\0';
    fa_report(&publisher->log, FA_LOG_INFO, "publishing to the broker at %s",
              publisher->amqp.address);
    return FAINA_OK;
}

/* One turn: takes confirms, removes rows, publishes. *is_idle: there was nothing to do. */
static enum faina_code turn(struct fa_publisher *publisher, bool *is_idle, struct faina_error *err)
{
    enum faina_code code = take_frames(publisher, err);
    size_t count = 0;

    if (code == FAINA_OK && should_remove(publisher))
        code = remove_confirmed(publisher, err);
    if (code == FAINA_OK && publisher->is_broken)
        return fa_error_set(err, FAINA_UNAVAILABLE, "the broker at %s has refused a message",
                            publisher->amqp.address);
    if (code == FAINA_OK && !publisher->amqp.is_blocked && publisher->sent_count < SENT_MAX)
        code = publish_next(publisher, &count, err);
    report_unroutable(publisher);
    publisher->pause_us = code == FAINA_OK && count > 0 ? 0 : publisher->pause_us;
    *is_idle = count == 0;
    return code;
}

static int64_t idle_ms(const struct fa_publisher *publisher)
{
    if (publisher->confirmed_count > 0)
        return REMOVE_US / 1000;
    if (publisher->gap_count > 0)
        return 5;
    return IDLE_MS;
}

/* A notification between the read and the sleep is not missed: is_asleep is set before the read. */
static enum faina_code run_once(struct fa_publisher *publisher, struct faina_error *err)
{
    bool is_idle = false;
    enum faina_code code = check_lead(publisher, err);

    if (code == FAINA_OK && !publisher->leads) {
        fa_amqp_close(&publisher->amqp);
        sleep_for(publisher, IDLE_MS);
        return FAINA_OK;
    }
    if (code == FAINA_OK)
        code = connect_broker(publisher, err);
    atomic_store(&publisher->is_asleep, publisher->is_on);
    if (code == FAINA_OK)
        code = turn(publisher, &is_idle, err);
    if (code == FAINA_OK && is_idle)
        sleep_for(publisher, idle_ms(publisher));
    atomic_store(&publisher->is_asleep, false);
    return code;
}

static void *publisher_main(void *arg)
{
    struct fa_publisher *publisher = arg;
    struct faina_error err;

    while (!atomic_load(&publisher->is_stopping)) {
        fa_error_clear(&err);
        fa_arena_reset(&publisher->arena);
        if (run_once(publisher, &err) == FAINA_OK)
            continue;
        report_failure(publisher, &err);
        fa_amqp_close(&publisher->amqp);
        forget_sent(publisher);
        back_off(publisher);
    }
    fa_error_clear(&err);
    if (publisher->amqp.state != NULL && remove_confirmed(publisher, &err) != FAINA_OK)
        fa_report(&publisher->log, FA_LOG_WARN, "messages will be published again: %s",
                  err.message);
    return NULL;
}

/* Starting and stopping --------------------------------------------------------------------- */

static void destroy(struct fa_publisher *publisher)
{
    fa_amqp_finish(&publisher->amqp);
    fa_arena_finish(&publisher->arena);
    if (publisher->wake_fd >= 0)
        close(publisher->wake_fd);
    free(publisher->url);
    free(publisher->node);
    free(publisher);
}

static enum faina_code switch_on(struct fa_service *service, struct faina_error *err)
{
    struct fa_arena arena = {0};
    struct fa_op is_on = {.kind = FA_OP_BROKER_GET, .arena = &arena};
    struct fa_op op = {.kind = FA_OP_BROKER_SET, .arena = &arena};
    enum faina_code code = fa_service_run_one(service, &is_on, err);

    op.broker.is_on = true;
    op.by.reason = "the node has FAINA_BROKER";
    if (code == FAINA_OK)
        op.is_unaudited = is_on.broker_answer->is_on; /* it changes nothing */
    if (code == FAINA_OK)
        code = fa_service_run_one(service, &op, err);
    fa_arena_finish(&arena);
    return code;
}

enum faina_code fa_publisher_start(struct fa_publisher **out, struct fa_service *service,
                                   const struct fa_publisher_config *config,
                                   struct faina_error *err)
{
    struct fa_publisher *publisher;
    enum faina_code code = fa_amqp_check_url(config->url, err);
    int rc = 0;

    if (code == FAINA_OK && fa_service_is_remote(service))
        return fa_error_set(err, FAINA_NOT_SUPPORTED,
                            "messages are published where the engine is: give the server "
                            "FAINA_BROKER");
    if (code == FAINA_OK)
        code = switch_on(service, err);
    if (code != FAINA_OK)
        return code;
    publisher = fa_alloc_zero(1, sizeof(*publisher));
    fa_amqp_init(&publisher->amqp);
    fa_random_seed_system(&publisher->random);
    publisher->service = service;
    publisher->log = config->log;
    publisher->url = strdup(config->url);
    publisher->node = strdup(config->node);
    publisher->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (publisher->wake_fd < 0)
        rc = errno;
    else
        rc = pthread_create(&publisher->thread, NULL, publisher_main, publisher);
    if (rc != 0) {
        destroy(publisher);
        return fa_error_set(err, FAINA_UNAVAILABLE, "no thread can be started: %s", strerror(rc));
    }
    publisher->listener = (struct fa_listener){.on_commit = on_commit, .ctx = publisher};
    (void)fa_service_listen(service, &publisher->listener);
    *out = publisher;
    return FAINA_OK;
}

void fa_publisher_stop(struct fa_publisher *publisher)
{
    if (publisher == NULL)
        return;
    fa_service_unlisten(publisher->service, &publisher->listener);
    atomic_store(&publisher->is_stopping, true);
    wake(publisher);
    pthread_join(publisher->thread, NULL);
    destroy(publisher);
}
