/* consumer.c - see consumer.h. */
#include "broker/consumer.h"

#include "base/clock.h"
#include "broker/amqp.h"
#include "json/json.h"
#include "model/id.h"

#include <amqp_framing.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#define PREFETCH_MAX 1000
#define BODY_SIZE_MAX (64 * 1024)
#define BODY_DEPTH_MAX 16
#define LATER_US 50000 /* how long an offer waits that the pool could not try */

struct message {
    struct fa_arena arena; /* of its texts */
    struct fa_offer offer;
};

struct fa_consumer {
    struct fa_claim_source source;
    struct fa_amqp amqp;
    struct fa_reporter log;
    char *url, *queue;
    int prefetch;
    bool is_consuming;
    /* Received and not settled: first those that wait, then those that are offered. */
    struct message *messages;
    size_t count, size;
    int64_t later_us; /* when those that wait are offered again; 0: at once */
};

/* The connection ----------------------------------------------------------------------------- */

/* The broker delivers everything again that was not acknowledged. */
static void drop_connection(struct fa_consumer *consumer)
{
    fa_amqp_close(&consumer->amqp);
    for (size_t i = 0; i < consumer->count; i++)
        fa_arena_finish(&consumer->messages[i].arena);
    consumer->count = 0;
    consumer->is_consuming = false;
}

static enum faina_code consume(struct fa_consumer *consumer, struct faina_error *err)
{
    amqp_connection_state_t state = consumer->amqp.state;
    amqp_rpc_reply_t reply;

    amqp_basic_qos(state, FA_AMQP_CHANNEL, 0, (uint16_t)consumer->prefetch, 0);
    reply = amqp_get_rpc_reply(state);
    if (reply.reply_type == AMQP_RESPONSE_NORMAL) {
        amqp_basic_consume(state, FA_AMQP_CHANNEL, amqp_cstring_bytes(consumer->queue),
                           amqp_cstring_bytes("faina"), 0, 0, 0, amqp_empty_table);
        reply = amqp_get_rpc_reply(state);
    }
    if (reply.reply_type != AMQP_RESPONSE_NORMAL)
        return fa_amqp_refuse(&consumer->amqp, "the queue can't be consumed", reply, err);
    consumer->is_consuming = true;
    return FAINA_OK;
}

static enum faina_code connect_broker(struct fa_consumer *consumer, struct faina_error *err)
{
    enum faina_code code = FAINA_OK;

    if (consumer->amqp.state == NULL) {
        code = fa_amqp_open(&consumer->amqp, consumer->url, "faina worker", err);
        if (code == FAINA_OK)
            fa_report(&consumer->log, FA_LOG_INFO, "consuming queue %s of the broker at %s",
                      consumer->queue, consumer->amqp.address);
    }
    if (code == FAINA_OK && !consumer->is_consuming)
        code = consume(consumer, err);
    if (code != FAINA_OK)
        drop_connection(consumer);
    return code;
}

/* Messages ----------------------------------------------------------------------------------- */

/* False: it is no message of Faina (S2). */
static bool read_body(struct fa_bytes body, struct message *out)
{
    struct faina_error err;
    struct fa_json json;
    const char *id;
    struct fa_id parsed;

    if (body.len > BODY_SIZE_MAX ||
        fa_json_check(body, BODY_DEPTH_MAX, "message", FAINA_INVALID_REQUEST, &err) != FAINA_OK)
        return false;
    json = fa_json_value(body);
    if (json.type != FA_JSON_OBJECT)
        return false;
    id = fa_json_member_text(json, "id", &out->arena);
    out->offer.ns = fa_json_member_text(json, "namespace", &out->arena);
    out->offer.type = fa_json_member_text(json, "type", &out->arena);
    if (id == NULL || !fa_id_parse(id, &parsed) || out->offer.ns == NULL || out->offer.type == NULL)
        return false;
    out->offer.version = fa_json_member_int(json, "version");
    if (out->offer.version < 1)
        return false;
    fa_id_format(parsed, out->offer.id);
    return true;
}

static enum faina_code take_message(struct fa_consumer *consumer, amqp_envelope_t *envelope,
                                    struct faina_error *err)
{
    const struct fa_bytes body = {envelope->message.body.bytes, envelope->message.body.len};
    struct message message = {.offer = {.tag = envelope->delivery_tag}};
    int status = AMQP_STATUS_OK;

    if (read_body(body, &message)) {
        consumer->messages = fa_grow(consumer->messages, consumer->count, &consumer->size,
                                     sizeof(*consumer->messages));
        consumer->messages[consumer->count++] = message;
    } else {
        fa_arena_finish(&message.arena);
        fa_report(&consumer->log, FA_LOG_WARN,
                  "a message in queue %s names no task; it is rejected", consumer->queue);
        status =
            amqp_basic_reject(consumer->amqp.state, FA_AMQP_CHANNEL, envelope->delivery_tag, 0);
    }
    amqp_destroy_envelope(envelope);
    return status == AMQP_STATUS_OK
               ? FAINA_OK
               : fa_amqp_fail(&consumer->amqp, "the connection is gone", status, err);
}

/* A frame that is no delivery: the queue was deleted, or the connection is closed. */
static enum faina_code take_other(struct fa_consumer *consumer, struct faina_error *err)
{
    amqp_frame_t frame;
    int status = amqp_simple_wait_frame(consumer->amqp.state, &frame);

    if (status != AMQP_STATUS_OK)
        return fa_amqp_fail(&consumer->amqp, "the connection is gone", status, err);
    if (frame.frame_type == AMQP_FRAME_METHOD &&
        frame.payload.method.id == AMQP_BASIC_CANCEL_METHOD)
        return fa_error_set(err, FAINA_UNAVAILABLE, "queue %.200s of the broker at %s is gone",
                            consumer->queue, consumer->amqp.address);
    return fa_amqp_take_frame(&consumer->amqp, &frame, err);
}

/* Receives one message, if one comes in time. *is_late: none did. */
static enum faina_code receive(struct fa_consumer *consumer, int64_t wait_us, bool *is_late,
                               struct faina_error *err)
{
    struct timeval wait = {.tv_sec = wait_us / 1000000, .tv_usec = wait_us % 1000000};
    amqp_envelope_t envelope;
    amqp_rpc_reply_t reply;

    *is_late = false;
    amqp_maybe_release_buffers(consumer->amqp.state);
    reply = amqp_consume_message(consumer->amqp.state, &envelope, &wait, 0);
    if (reply.reply_type == AMQP_RESPONSE_NORMAL)
        return take_message(consumer, &envelope, err);
    if (reply.reply_type == AMQP_RESPONSE_LIBRARY_EXCEPTION) {
        *is_late = reply.library_error == AMQP_STATUS_TIMEOUT;
        if (*is_late)
            return FAINA_OK;
        if (reply.library_error == AMQP_STATUS_UNEXPECTED_STATE)
            return take_other(consumer, err);
    }
    return fa_amqp_refuse(&consumer->amqp, "the connection is gone", reply, err);
}

/* The source --------------------------------------------------------------------------------- */

static int wait_offers(void *ctx, struct fa_offer *offers, int limit, int64_t wait_ms,
                       struct faina_error *err)
{
    struct fa_consumer *consumer = ctx;
    int64_t now_us = fa_clock_mono_us(), until_us = now_us + wait_ms * 1000;
    bool is_late = false;
    enum faina_code code = connect_broker(consumer, err);
    int count;

    if (consumer->count > 0 && consumer->later_us > now_us)
        until_us = consumer->later_us < until_us ? consumer->later_us : until_us;
    else if (consumer->count > 0)
        until_us = now_us; /* offered again now, with what is there already */
    while (code == FAINA_OK && !is_late && consumer->count < (size_t)consumer->prefetch) {
        size_t before = consumer->count;
        int64_t left_us = until_us - fa_clock_mono_us();

        code = receive(consumer, left_us > 0 ? left_us : 0, &is_late, err);
        if (consumer->count > before)
            until_us = 0; /* from now on only what has arrived */
    }
    if (code != FAINA_OK) {
        drop_connection(consumer);
        return -1;
    }
    count = (int)consumer->count < limit ? (int)consumer->count : limit;
    for (int i = 0; i < count; i++)
        offers[i] = consumer->messages[i].offer;
    return count;
}

static struct message *find(struct fa_consumer *consumer, uint64_t tag)
{
    for (size_t i = 0; i < consumer->count; i++) {
        if (consumer->messages[i].offer.tag == tag)
            return &consumer->messages[i];
    }
    return NULL;
}

static void remove_message(struct fa_consumer *consumer, struct message *message)
{
    size_t at = (size_t)(message - consumer->messages);

    fa_arena_finish(&message->arena);
    consumer->count--;
    memmove(message, message + 1, (consumer->count - at) * sizeof(*message));
}

static void settle_offers(void *ctx, const struct fa_offer *offers, int count)
{
    struct fa_consumer *consumer = ctx;
    int status = AMQP_STATUS_OK;

    consumer->later_us = 0;
    for (int i = 0; status == AMQP_STATUS_OK && i < count; i++) {
        struct message *message = find(consumer, offers[i].tag);

        if (message == NULL)
            continue;
        if (offers[i].end == FA_OFFER_LATER) {
            consumer->later_us = fa_clock_mono_us() + LATER_US;
            continue;
        }
        if (offers[i].end == FA_OFFER_DONE)
            status = amqp_basic_ack(consumer->amqp.state, FA_AMQP_CHANNEL, offers[i].tag, 0);
        else
            status = amqp_basic_nack(consumer->amqp.state, FA_AMQP_CHANNEL, offers[i].tag, 0, 1);
        remove_message(consumer, message);
    }
    if (status != AMQP_STATUS_OK)
        drop_connection(consumer);
}

static enum faina_code give_back(struct fa_consumer *consumer, struct faina_error *err)
{
    enum faina_code code = FAINA_OK;
    bool is_late = false;
    int status = AMQP_STATUS_OK;

    if (amqp_basic_cancel(consumer->amqp.state, FA_AMQP_CHANNEL, amqp_cstring_bytes("faina")) ==
        NULL)
        return fa_amqp_refuse(&consumer->amqp, "can't stop consuming",
                              amqp_get_rpc_reply(consumer->amqp.state), err);
    consumer->is_consuming = false;
    while (code == FAINA_OK && !is_late) /* what was delivered before the broker's answer */
        code = receive(consumer, 0, &is_late, err);
    while (code == FAINA_OK && consumer->count > 0) {
        status = amqp_basic_nack(consumer->amqp.state, FA_AMQP_CHANNEL,
                                 consumer->messages[consumer->count - 1].offer.tag, 0, 1);
        if (status != AMQP_STATUS_OK)
            return fa_amqp_fail(&consumer->amqp, "the connection is gone", status, err);
        remove_message(consumer, &consumer->messages[consumer->count - 1]);
    }
    return code;
}

static void pause_consuming(void *ctx)
{
    struct fa_consumer *consumer = ctx;
    struct faina_error err;
    bool is_late;

    if (consumer->amqp.state == NULL)
        return;
    /* Afterwards this only answers heartbeats. */
    if ((consumer->is_consuming ? give_back(consumer, &err)
                                : receive(consumer, 0, &is_late, &err)) != FAINA_OK)
        drop_connection(consumer);
}

/* Creating ----------------------------------------------------------------------------------- */

enum faina_code fa_consumer_create(struct fa_consumer **out,
                                   const struct fa_consumer_config *config, struct faina_error *err)
{
    struct fa_consumer *consumer;
    enum faina_code code = fa_amqp_check_url(config->url, err);

    if (code != FAINA_OK)
        return code;
    consumer = fa_alloc_zero(1, sizeof(*consumer));
    fa_amqp_init(&consumer->amqp);
    consumer->log = config->log;
    consumer->url = strdup(config->url);
    consumer->queue = strdup(config->queue);
    consumer->prefetch = config->prefetch < PREFETCH_MAX ? config->prefetch : PREFETCH_MAX;
    consumer->source =
        (struct fa_claim_source){consumer, wait_offers, settle_offers, pause_consuming};
    code = connect_broker(consumer, err);
    if (code == FAINA_OK)
        *out = consumer;
    else
        fa_consumer_destroy(consumer);
    return code;
}

void fa_consumer_destroy(struct fa_consumer *consumer)
{
    if (consumer == NULL)
        return;
    drop_connection(consumer);
    fa_amqp_finish(&consumer->amqp);
    free(consumer->messages);
    free(consumer->url);
    free(consumer->queue);
    free(consumer);
}

const struct fa_claim_source *fa_consumer_source(const struct fa_consumer *consumer)
{
    return &consumer->source;
}
