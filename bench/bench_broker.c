/*
 * bench_broker.c - RabbitMQ: what announcing tasks costs, the rate of the publisher, and the time
 * from a submit through the broker to the claim. The engine is on PostgreSQL.
 *
 * Bare subjects use the same client library, exchange and queue, with persistent messages of the
 * same size. The queue is durable, as the documentation has it: in an exclusive one, which the
 * broker keeps in memory, persistent messages are not stored. It is deleted at the end, and keeps
 * at most QUEUE_MAX messages.
 */
#include "base/clock.h"
#include "bench/bench_driver.h"
#include "bench/bench_engine.h"
#include "broker/amqp.h"
#include "broker/publisher.h"
#include "json/json.h"

#include <amqp_framing.h>
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#define QUEUE_MAX 1000000
#define EXPIRES_MS 600000    /* of a queue that a run has left */
#define UNCONFIRMED_MAX 1024 /* as many as the publisher */
#define PUBLISHED 20000
#define QUICK_PUBLISHED 500
#define SUBMIT_BATCH 1000
#define STARTS 200
#define QUICK_STARTS 10
#define LIFE_TASKS 20000
#define QUICK_LIFE_TASKS 2000
#define DRAIN_US 120000000
#define RECEIVE_S 30

static const char body_text[] = "{\"id\":\"0190c4a2-5f4e-7c3a-8d2b-1a2b3c4d5e6f\",\"namespace\":"
                                "\"default\",\"type\":\"bench.task\",\"attempt\":1,\"priority\":0,"
                                "\"version\":1}";

struct part {
    struct fa_bench *bench;
    char location[4100];
    struct fa_amqp amqp; /* declares the queue, and consumes it */
    amqp_bytes_t queue;  /* lent by the connection's channel */
    char queue_name[64];
};

/* ------------------------------------------------------------------------------------------
 * The broker
 */

static enum faina_code declare_queue(struct part *part, struct faina_error *err)
{
    amqp_connection_state_t state = part->amqp.state;
    amqp_table_entry_t entries[] = {
        {.key = amqp_cstring_bytes("x-max-length"),
         .value = {.kind = AMQP_FIELD_KIND_I32, .value = {.i32 = QUEUE_MAX}}},
        {.key = amqp_cstring_bytes("x-expires"),
         .value = {.kind = AMQP_FIELD_KIND_I32, .value = {.i32 = EXPIRES_MS}}}};
    const amqp_table_t arguments = {FA_COUNT(entries), entries};

    amqp_queue_declare(state, FA_AMQP_CHANNEL, part->queue, 0, 1, 0, 0, arguments);
    if (amqp_get_rpc_reply(state).reply_type == AMQP_RESPONSE_NORMAL)
        amqp_queue_bind(state, FA_AMQP_CHANNEL, part->queue, amqp_cstring_bytes(FA_AMQP_TASKS),
                        amqp_cstring_bytes("#"), amqp_empty_table);
    return amqp_get_rpc_reply(state).reply_type == AMQP_RESPONSE_NORMAL
               ? FAINA_OK
               : fa_amqp_refuse(&part->amqp, "can't declare a queue", amqp_get_rpc_reply(state),
                                err);
}

/* Each part has a queue of its own: the broker removes that of the part before some time after its
 * connection has ended. */
static enum faina_code open_queue(struct part *part, const char *name, struct faina_error *err)
{
    enum faina_code code;

    snprintf(part->queue_name, sizeof part->queue_name, "%.31s_%.31s", part->bench->mark, name);
    part->queue = amqp_cstring_bytes(part->queue_name);
    code = fa_amqp_open(&part->amqp, part->bench->broker, "faina-bench", err);
    if (code == FAINA_OK)
        code = fa_amqp_declare(&part->amqp, err);
    return code == FAINA_OK ? declare_queue(part, err) : code;
}

static int publish_one(struct fa_amqp *amqp)
{
    const amqp_basic_properties_t properties = {
        ._flags = AMQP_BASIC_DELIVERY_MODE_FLAG | AMQP_BASIC_MESSAGE_ID_FLAG,
        .delivery_mode = AMQP_DELIVERY_PERSISTENT,
        .message_id = amqp_cstring_bytes("0190c4a2-5f4e-7c3a-8d2b-1a2b3c4d5e6f:1"),
    };

    return amqp_basic_publish(amqp->state, FA_AMQP_CHANNEL, amqp_cstring_bytes(FA_AMQP_TASKS),
                              amqp_cstring_bytes("default." FA_BENCH_TYPE), 1, 0, &properties,
                              amqp_cstring_bytes(body_text));
}

/* Reads one frame; a confirm raises *confirmed. */
static int read_confirm(struct fa_amqp *amqp, uint64_t *confirmed)
{
    amqp_frame_t frame;
    int status = amqp_simple_wait_frame(amqp->state, &frame);

    if (status == AMQP_STATUS_OK && frame.frame_type == AMQP_FRAME_METHOD &&
        frame.payload.method.id == AMQP_BASIC_ACK_METHOD) {
        const amqp_basic_ack_t *ack = frame.payload.method.decoded;

        /* Messages of one queue are confirmed in their order. */
        *confirmed = ack->delivery_tag;
    }
    amqp_maybe_release_buffers(amqp->state);
    return status;
}

static enum faina_code publish_bare(struct fa_amqp *amqp, uint64_t count, struct faina_error *err)
{
    uint64_t sent = 0, confirmed = 0;
    int status = AMQP_STATUS_OK;

    while (status == AMQP_STATUS_OK && confirmed < count) {
        if (sent < count && sent - confirmed < UNCONFIRMED_MAX) {
            status = publish_one(amqp);
            sent++;
        } else {
            status = read_confirm(amqp, &confirmed);
        }
    }
    return status == AMQP_STATUS_OK ? FAINA_OK : fa_amqp_fail(amqp, "can't publish", status, err);
}

/* Opens a connection in confirm mode. */
static enum faina_code open_confirming(const struct part *part, struct fa_amqp *amqp,
                                       struct faina_error *err)
{
    enum faina_code code;

    fa_amqp_init(amqp);
    code = fa_amqp_open(amqp, part->bench->broker, "faina-bench", err);
    if (code != FAINA_OK)
        return code;
    amqp_confirm_select(amqp->state, FA_AMQP_CHANNEL);
    return amqp_get_rpc_reply(amqp->state).reply_type == AMQP_RESPONSE_NORMAL
               ? FAINA_OK
               : fa_amqp_refuse(amqp, "can't select confirms", amqp_get_rpc_reply(amqp->state),
                                err);
}

/* ------------------------------------------------------------------------------------------
 * The outbox
 */

static enum faina_code switch_on(struct fa_service *service, struct faina_error *err)
{
    struct fa_arena arena = {0};
    struct fa_op op = {.kind = FA_OP_BROKER_SET, .broker = {.is_on = true}, .arena = &arena};
    enum faina_code code = fa_service_run_one(service, &op, err);

    fa_arena_finish(&arena);
    return code;
}

/* Waits until every message is confirmed. */
static enum faina_code drain(struct fa_service *service, struct faina_error *err)
{
    const int64_t end_us = fa_clock_mono_us() + DRAIN_US;
    struct fa_arena arena = {0};
    enum faina_code code = FAINA_OK;
    int64_t depth = 1;

    while (code == FAINA_OK && depth > 0) {
        struct fa_op op = {.kind = FA_OP_BROKER_GET, .arena = &arena};

        if (fa_clock_mono_us() > end_us) {
            code = fa_error_set(err, FAINA_TIMEOUT, "%lld messages were not published in time",
                                (long long)depth);
            break;
        }
        code = fa_service_run_one(service, &op, err);
        if (code == FAINA_OK)
            depth = op.broker_answer->depth;
        fa_arena_reset(&arena);
        if (depth > 0)
            usleep(5000);
    }
    fa_arena_finish(&arena);
    return code;
}

static enum faina_code start_publisher(const struct part *part, struct fa_service *service,
                                       struct fa_publisher **out, struct faina_error *err)
{
    const struct fa_publisher_config config = {.url = part->bench->broker, .node = "faina-bench"};

    return fa_publisher_start(out, service, &config, err);
}

/* ------------------------------------------------------------------------------------------
 * broker-life
 */

static enum faina_code life_rounds(struct part *part, struct fa_bench_engine *engines[2],
                                   struct fa_service *announcing, struct fa_bench_speed *speeds[2],
                                   struct faina_error *err)
{
    struct fa_bench *bench = part->bench;
    int64_t ns[FA_BENCH_STEPS];
    enum faina_code code = FAINA_OK;

    /* The first round is a warm-up. */
    for (int round = 0; code == FAINA_OK && round <= bench->rounds; round++) {
        fa_bench_progress_bar(bench, "broker-life", round, bench->rounds + 1);
        for (int i = 0; code == FAINA_OK && i < 2; i++) {
            int which = (i + round) % 2;

            code = fa_bench_engine_round(engines[which], ns, err);
            if (code == FAINA_OK && round > 0)
                fa_bench_speed_add(speeds[which], ns);
            if (code == FAINA_OK && which == 1)
                code = drain(announcing, err);
        }
    }
    return code;
}

static enum faina_code run_life(struct part *part, struct faina_error *err)
{
    static const enum fa_bench_subject subjects[] = {FA_BENCH_ENGINE, FA_BENCH_ANNOUNCED};
    static const char *const names[] = {"quiet", "announced"};
    struct fa_bench *bench = part->bench;
    struct fa_bench_engine *engines[2] = {NULL};
    struct fa_bench_speed *speeds[2];
    struct fa_publisher *publisher = NULL;
    struct fa_service *service = NULL;
    enum faina_code code = FAINA_OK;

    for (size_t i = 0; code == FAINA_OK && i < 2; i++) {
        assert(bench->report.speed_count < FA_BENCH_ROWS_MAX);
        speeds[i] = &bench->report.speeds[bench->report.speed_count++];
        *speeds[i] = (struct fa_bench_speed){
            .part = "broker-life",
            .subject = subjects[i],
            .callers = 2,
            .batch = 1000,
            .tasks = bench->is_quick ? QUICK_LIFE_TASKS : LIFE_TASKS,
        };
        code = fa_bench_service_open(&service, bench, part->location, names[i], err);
        if (code == FAINA_OK)
            engines[i] = fa_bench_engine_create(service, bench, speeds[i]);
    }
    if (code == FAINA_OK)
        code = start_publisher(part, service, &publisher, err);
    if (code == FAINA_OK)
        code = life_rounds(part, engines, service, speeds, err);
    fa_publisher_stop(publisher);
    fa_bench_engine_close(engines[0]);
    fa_bench_engine_close(engines[1]);
    if (code == FAINA_OK)
        fa_bench_ratio_add(&bench->report, &speeds[1]->rates[FA_BENCH_LIFE],
                           &speeds[0]->rates[FA_BENCH_LIFE], FA_BENCH_AT_LEAST, 0.7,
                           "submit, claim and complete: with messages to RabbitMQ / without");
    return code;
}

/* ------------------------------------------------------------------------------------------
 * broker-publish
 */

/* Stores messages while nothing publishes them, then publishes them all. */
static enum faina_code publish_outbox(struct part *part, struct fa_service *service,
                                      struct fa_bench_driver *driver, size_t count, double *seconds,
                                      struct faina_error *err)
{
    static const struct faina_submit like = {.type = FA_BENCH_TYPE};
    struct fa_publisher *publisher = NULL;
    enum faina_code code = FAINA_OK;
    int64_t start_us;

    for (size_t done = 0; code == FAINA_OK && done < count; done += SUBMIT_BATCH)
        code = fa_bench_driver_submit(
            driver, &like, count - done < SUBMIT_BATCH ? count - done : SUBMIT_BATCH, false, err);
    start_us = fa_clock_mono_us();
    if (code == FAINA_OK)
        code = start_publisher(part, service, &publisher, err);
    if (code == FAINA_OK)
        code = drain(service, err);
    *seconds = (double)(fa_clock_mono_us() - start_us) / 1e6;
    fa_publisher_stop(publisher);
    return code;
}

static enum faina_code publish_plain(const struct part *part, size_t count, double *seconds,
                                     struct faina_error *err)
{
    int64_t start_us = fa_clock_mono_us();
    struct fa_amqp amqp;
    enum faina_code code = open_confirming(part, &amqp, err);

    if (code == FAINA_OK)
        code = publish_bare(&amqp, count, err);
    *seconds = (double)(fa_clock_mono_us() - start_us) / 1e6;
    fa_amqp_finish(&amqp);
    return code;
}

static enum faina_code run_publish(struct part *part, struct faina_error *err)
{
    struct fa_bench *bench = part->bench;
    const size_t count = bench->is_quick ? QUICK_PUBLISHED : PUBLISHED;
    struct fa_bench_rounds own = {0}, bare = {0};
    struct fa_bench_driver driver;
    struct fa_service *service = NULL;
    enum faina_code code = fa_bench_service_open(&service, bench, part->location, "publish", err);

    if (code != FAINA_OK)
        return code;
    fa_bench_driver_init(&driver, service, &bench->inputs, 1, SUBMIT_BATCH, 1);
    code = switch_on(service, err);
    for (int round = 0; code == FAINA_OK && round <= bench->rounds; round++) {
        double own_s = 0, bare_s = 0;

        fa_bench_progress_bar(bench, "broker-publish", round, bench->rounds + 1);
        code = publish_outbox(part, service, &driver, count, &own_s, err);
        if (code == FAINA_OK)
            code = publish_plain(part, count, &bare_s, err);
        if (code == FAINA_OK && round > 0) {
            fa_bench_rounds_add(&own, (double)count / own_s);
            fa_bench_rounds_add(&bare, (double)count / bare_s);
        }
    }
    fa_bench_driver_finish(&driver);
    fa_service_close(service);
    if (code == FAINA_OK)
        fa_bench_ratio_add(&bench->report, &own, &bare, FA_BENCH_AT_LEAST, 0.5,
                           "publisher of the outbox (%.0f/s) / bare messages with confirms",
                           fa_bench_median(&own));
    return code;
}

/* ------------------------------------------------------------------------------------------
 * broker-start
 */

/* Receives one message; with `service`, claims its task. */
static enum faina_code receive(struct part *part, struct fa_service *service,
                               struct faina_error *err)
{
    const struct timeval timeout = {.tv_sec = RECEIVE_S};
    struct fa_arena arena = {0};
    struct fa_op op = {.kind = FA_OP_CLAIM,
                       .by = {.worker_id = "bench"},
                       .lease_ms = FA_BENCH_LEASE_MS,
                       .is_strict = true,
                       .arena = &arena};
    amqp_envelope_t envelope;
    amqp_rpc_reply_t reply;
    enum faina_code code = FAINA_OK;

    amqp_maybe_release_buffers(part->amqp.state);
    reply = amqp_consume_message(part->amqp.state, &envelope, &timeout, 0);
    if (reply.reply_type != AMQP_RESPONSE_NORMAL)
        return fa_amqp_refuse(&part->amqp, "no message came", reply, err);
    if (service) {
        const struct fa_bytes body = {envelope.message.body.bytes, envelope.message.body.len};

        op.id = fa_json_member_text(fa_json_value(body), "id", &arena);
        code = fa_service_run_one(service, &op, err);
    }
    amqp_basic_ack(part->amqp.state, FA_AMQP_CHANNEL, envelope.delivery_tag, 0);
    amqp_destroy_envelope(&envelope);
    fa_arena_finish(&arena);
    return code;
}

struct starts {
    struct fa_service *service;
    struct fa_bench_driver driver;
    struct fa_amqp bare; /* publishes bare messages */
    double own_us[STARTS], bare_us[STARTS];
};

static enum faina_code sample_start(struct part *part, struct starts *starts, size_t i,
                                    struct faina_error *err)
{
    static const struct faina_submit like = {.type = FA_BENCH_TYPE};
    int64_t start_ns = fa_clock_mono_ns();
    enum faina_code code = fa_bench_driver_submit(&starts->driver, &like, 1, false, err);

    if (code == FAINA_OK)
        code = receive(part, starts->service, err);
    starts->own_us[i] = (double)(fa_clock_mono_ns() - start_ns) / 1000;
    if (code != FAINA_OK)
        return code;
    start_ns = fa_clock_mono_ns();
    code = publish_bare(&starts->bare, 1, err);
    if (code == FAINA_OK)
        code = receive(part, NULL, err);
    starts->bare_us[i] = (double)(fa_clock_mono_ns() - start_ns) / 1000;
    return code;
}

static enum faina_code run_starts(struct part *part, struct faina_error *err)
{
    struct fa_bench *bench = part->bench;
    const size_t count = bench->is_quick ? QUICK_STARTS : STARTS;
    struct starts *starts = fa_alloc_zero(1, sizeof *starts);
    struct fa_bench_rounds own = {0}, bare = {0};
    struct fa_publisher *publisher = NULL;
    enum faina_code code =
        fa_bench_service_open(&starts->service, bench, part->location, "start", err);

    if (code != FAINA_OK) {
        free(starts);
        return code;
    }
    fa_bench_driver_init(&starts->driver, starts->service, &bench->inputs, 1, 1, 1);
    code = start_publisher(part, starts->service, &publisher, err);
    if (code == FAINA_OK)
        code = open_confirming(part, &starts->bare, err);
    if (code == FAINA_OK) {
        amqp_basic_consume(part->amqp.state, FA_AMQP_CHANNEL, part->queue,
                           amqp_cstring_bytes("bench"), 0, 0, 0, amqp_empty_table);
        if (amqp_get_rpc_reply(part->amqp.state).reply_type != AMQP_RESPONSE_NORMAL)
            code = fa_amqp_refuse(&part->amqp, "the queue can't be consumed",
                                  amqp_get_rpc_reply(part->amqp.state), err);
    }
    for (size_t i = 0; code == FAINA_OK && i < count; i++) {
        fa_bench_progress_bar(bench, "broker-start", (int64_t)i, (int64_t)count);
        code = sample_start(part, starts, i, err);
    }
    if (code == FAINA_OK) {
        fa_bench_rounds_add(&own, fa_bench_quantile(starts->own_us, count, 0.5));
        fa_bench_rounds_add(&bare, fa_bench_quantile(starts->bare_us, count, 0.5));
        fa_bench_ratio_add(&bench->report, &own, &bare, FA_BENCH_AT_MOST, 3,
                           "submit to claim through RabbitMQ (p50 %.2f ms) / a bare message",
                           fa_bench_median(&own) / 1000);
    }
    if (starts->bare.address[0] != '\0')
        fa_amqp_finish(&starts->bare);
    fa_publisher_stop(publisher);
    fa_bench_driver_finish(&starts->driver);
    fa_service_close(starts->service);
    free(starts);
    return code;
}

enum faina_code fa_bench_broker(struct fa_bench *bench, const char *name, struct faina_error *err)
{
    struct part *part;
    enum faina_code code;

    if (!bench->broker) {
        fprintf(stderr, "faina-bench: %s is not measured, because FAINA_BROKER names no broker\n",
                name);
        return FAINA_OK;
    }
    part = fa_alloc_zero(1, sizeof *part);
    part->bench = bench;
    fa_amqp_init(&part->amqp);
    code = fa_bench_location_make(bench, name, part->location, sizeof part->location, err);
    if (code == FAINA_OK)
        code = open_queue(part, name, err);
    if (code == FAINA_OK)
        code = strcmp(name, "broker-life") == 0      ? run_life(part, err)
               : strcmp(name, "broker-publish") == 0 ? run_publish(part, err)
                                                     : run_starts(part, err);
    fa_bench_progress_clear(bench);
    if (part->amqp.state)
        amqp_queue_delete(part->amqp.state, FA_AMQP_CHANNEL, part->queue, 0, 0);
    fa_amqp_finish(&part->amqp);
    fa_bench_location_remove(bench, part->location);
    free(part);
    return code;
}
