/*
 * consumer.h - consumes a queue of RabbitMQ: tells a worker pool which tasks to claim.
 *
 *   S1  A message is acknowledged after the claim that it led to, successful or not: a task that is
 *       not ready in the message's version has, or will have, another message.
 *   S2  A message that is no message of Faina is rejected, to the queue's dead-letter exchange.
 *   S3  As many messages are prefetched as the pool has slots. While no slot is free they are
 *       given back, so that other workers get them.
 *   S4  The queue must exist: its owner decides what is bound to it.
 *
 * Threads: the pool's claimer; create and destroy before and after it.
 */
#ifndef FA_BROKER_CONSUMER_H
#define FA_BROKER_CONSUMER_H

#include "worker/pool/claim_source.h"
#include "worker/reporter.h"

struct fa_consumer;

/* Lent for the call. */
struct fa_consumer_config {
    const char *url;   /* of the broker (amqp.h) */
    const char *queue; /* an existing one */
    int prefetch;      /* slots of the pool */
    struct fa_reporter log;
};

/* Connects, to report a missing queue or a wrong password at once. Later failures are retried.
 * NOT_FOUND: there is no such queue. UNAVAILABLE. */
FA_MUST_CHECK enum faina_code fa_consumer_create(struct fa_consumer **out,
                                                 const struct fa_consumer_config *config,
                                                 struct faina_error *err);
void fa_consumer_destroy(struct fa_consumer *consumer); /* NULL is fine */
/* Lent until the destroy. */
const struct fa_claim_source *fa_consumer_source(const struct fa_consumer *consumer);

#endif
