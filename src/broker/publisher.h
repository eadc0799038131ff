/*
 * publisher.h - publishes the outbox (store/upkeep/outbox.h) to RabbitMQ.
 *
 * One thread of one node: it reads rows, publishes them with publisher confirms, and removes the
 * rows whose messages the broker has confirmed. It doesn't wait for confirms between messages.
 *
 *   P1  A row is removed only after the broker has confirmed its message, and all messages before
 *       it. A crash, or a confirm that is lost, publishes a message again: the claim that a
 *       consumer makes for the second one is refused, because it names the version.
 *   P2  Messages are published in the order of their rows. After a failure publishing begins again
 *       at the first row that was not confirmed, so the last copies of all messages are in order.
 *   P3  A message that no queue is bound for is returned and confirmed; it is counted and logged.
 *   P4  While the broker is away or has asked for a pause, rows wait. Nothing else waits for it.
 *   P5  Where nodes share the store, the one that publishes holds a lease of 15 seconds. Two that
 *       believe to hold it publish messages twice, which does no harm.
 *
 * Threads: start and stop from the owner's.
 */
#ifndef FA_BROKER_PUBLISHER_H
#define FA_BROKER_PUBLISHER_H

#include "service/service.h"
#include "worker/reporter.h"

struct fa_publisher;

/* Lent for the call. */
struct fa_publisher_config {
    const char *url;  /* of the broker (amqp.h) */
    const char *node; /* this node's name */
    struct fa_reporter log;
};

/* Also switches the outbox on. INVALID_REQUEST: the URL is none. NOT_SUPPORTED: the engine is
 * remote. */
FA_MUST_CHECK enum faina_code fa_publisher_start(struct fa_publisher **out,
                                                 struct fa_service *service,
                                                 const struct fa_publisher_config *config,
                                                 struct faina_error *err);
/* Before the engine is closed. NULL is fine. */
void fa_publisher_stop(struct fa_publisher *publisher);

#endif
