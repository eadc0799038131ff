/*
 * outbox.h - messages for a broker: one when a task becomes ready, and one when it ends.
 *
 * The unit of work notes them, and its flush stores them as rows of table `outbox`. A publisher
 * (broker/publisher.h) reads the rows in their order, and removes them when the broker has
 * confirmed the messages. The table `broker` has one row: the setting, and counts.
 *
 *   Q1  A row is stored by the transaction that makes the task ready or ends it, and no task is
 *       ready without one. A ready task that changes gets another row, because a message names a
 *       version. A delayed task gets its row when it is due. (submit_announce in 0019_outbox.sql
 *       does the same for submits in SQL.)
 *   Q2  While the setting is off no row is stored. Where other nodes change it, each transaction
 *       with messages checks the setting that its node knows, and is run again with the new one.
 *   Q3  Two rows of one task are in the order of its changes: the second change waits for the
 *       first one's commit.
 *   Q4  The table has at most size_max rows, and what a few seconds add: the leader removes the
 *       oldest and counts them. The tasks stay as they are; workers that poll find them.
 *
 * Threads: the batch leader; fa_engine_outbox_... and reads any.
 */
#ifndef FA_STORE_UPKEEP_OUTBOX_H
#define FA_STORE_UPKEEP_OUTBOX_H

#include "service/service.h"
#include "store/txn/unit.h"

/* What the unit knows of the setting. */
enum fa_outbox_setting { FA_OUTBOX_UNKNOWN, FA_OUTBOX_OFF, FA_OUTBOX_ON };

/* Notes a task that has entered `ready`, or has changed there. */
void fa_outbox_note_ready(struct fa_unit *unit, const struct fa_row *row);
/* Notes a task whose status has become an end. */
void fa_outbox_note_end(struct fa_unit *unit, const struct fa_row *row);
/* Stores what was noted. */
FA_MUST_CHECK enum faina_code fa_outbox_flush(struct fa_unit *unit, struct faina_error *err);
/* The transaction was rolled back: the setting is read again. */
void fa_outbox_forget(struct fa_unit *unit);

/* Q4. *next_us becomes the time of the next run, if that is earlier. */
FA_MUST_CHECK enum faina_code fa_chore_outbox(struct fa_unit *unit, int64_t *next_us,
                                              struct faina_error *err);

/* BROKER_GET. */
enum faina_code fa_read_broker(struct fa_source *source, struct fa_op *op);

/* The operations of service.h. */
FA_MUST_CHECK enum faina_code fa_engine_outbox_lead(struct fa_service *service, const char *node,
                                                    bool *leads, struct faina_error *err);
FA_MUST_CHECK enum faina_code fa_engine_outbox_read(struct fa_service *service, int64_t after,
                                                    size_t limit, struct fa_arena *arena,
                                                    struct fa_outbox *out, struct faina_error *err);
FA_MUST_CHECK enum faina_code fa_engine_outbox_remove(struct fa_service *service,
                                                      const struct fa_outbox *what,
                                                      size_t unroutable, struct faina_error *err);

#endif
