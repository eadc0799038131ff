/*
 * amqp.h - a connection to RabbitMQ, with one channel (librabbitmq).
 *
 * The URL is amqp://[user:password@]host[:port][/vhost], or amqps://, with these parameters of
 * RabbitMQ's URIs: cacertfile, certfile and keyfile (files in PEM), heartbeat (seconds).
 *
 *   Z1  A call that waits ends with the heartbeats: a server that is silent for two of them is
 *       gone.
 *   Z2  After a failure the connection is closed and opened again; nothing is repeated silently.
 *
 * Threads: one at a time uses a connection.
 */
#ifndef FA_BROKER_AMQP_H
#define FA_BROKER_AMQP_H

#include "base/bytes.h"
#include "base/error.h"

#include <amqp.h>

#define FA_AMQP_TASKS "faina.tasks"   /* exchanges: tasks that are ready ... */
#define FA_AMQP_EVENTS "faina.events" /* ... and ends of tasks */
#define FA_AMQP_CHANNEL 1

struct fa_amqp {
    amqp_connection_state_t state; /* NULL: closed */
    char address[300];             /* host:port, for people */
    bool is_blocked; /* the server has asked for a pause: its memory or disk is short */
};

/* INVALID_REQUEST: the text is no URL of a broker; the message has no password. */
FA_MUST_CHECK enum faina_code fa_amqp_check_url(const char *url, struct faina_error *err);

void fa_amqp_init(struct fa_amqp *amqp);
void fa_amqp_finish(struct fa_amqp *amqp); /* closes it */

/* Connects, logs in and opens the channel. `name` is shown in the server's list of connections.
 * UNAVAILABLE: it failed. */
FA_MUST_CHECK enum faina_code fa_amqp_open(struct fa_amqp *amqp, const char *url, const char *name,
                                           struct faina_error *err);
void fa_amqp_close(struct fa_amqp *amqp); /* also after a failed open, and twice */

/* Declares both exchanges: durable topics. */
FA_MUST_CHECK enum faina_code fa_amqp_declare(struct fa_amqp *amqp, struct faina_error *err);
/* How many messages and consumers a queue has. NOT_FOUND: there is no such queue. The channel is
 * closed after any failure. */
FA_MUST_CHECK enum faina_code fa_amqp_queue(struct fa_amqp *amqp, const char *name,
                                            uint32_t *messages, uint32_t *consumers,
                                            struct faina_error *err);

/* The sentence for a failed call: of a status, and of a reply. Return UNAVAILABLE, or NOT_FOUND
 * when the server says so. */
enum faina_code fa_amqp_fail(struct fa_amqp *amqp, const char *what, int status,
                             struct faina_error *err);
enum faina_code fa_amqp_refuse(struct fa_amqp *amqp, const char *what, amqp_rpc_reply_t reply,
                               struct faina_error *err);
/* Takes a frame that concerns the whole connection: connection.blocked, unblocked and close,
 * channel.close. OK: it was taken or is of no interest. */
FA_MUST_CHECK enum faina_code fa_amqp_take_frame(struct fa_amqp *amqp, const amqp_frame_t *frame,
                                                 struct faina_error *err);

#endif
