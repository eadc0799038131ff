/*
 * lookup.h - the operations that only read, over any connection.
 *
 * Each runs inside a transaction that its caller has begun, so that all its reads see one
 * snapshot.
 */
#ifndef FA_STORE_READ_LOOKUP_H
#define FA_STORE_READ_LOOKUP_H

#include "service/service.h"
#include "store/txn/row.h"

/* Runs an operation that doesn't write; sets its result and returns its code. */
enum faina_code fa_read_op(struct fa_source *source, struct fa_op *op, int64_t now_us);

/* By file: lookup.c (get, events, resources, teams, stats), list.c, queue.c, explain.c, workers.c,
 * tokens.c, schedules.c, definitions.c, emit.c, joins.c. */
enum faina_code fa_read_part_of_id(struct fa_source *source, struct fa_op *op); /* find.c */
enum faina_code fa_read_list(struct fa_source *source, struct fa_op *op);
enum faina_code fa_read_queue(struct fa_source *source, struct fa_op *op);
enum faina_code fa_read_children(struct fa_source *source, struct fa_op *op);
enum faina_code fa_read_explain(struct fa_source *source, struct fa_op *op, int64_t now_us);
enum faina_code fa_read_log(struct fa_source *source, struct fa_op *op, int64_t now_us);
enum faina_code fa_read_graph(struct fa_source *source, struct fa_op *op, int64_t now_us);
enum faina_code fa_read_workflows(struct fa_source *source, struct fa_op *op);
enum faina_code fa_read_emitted(struct fa_source *source, struct fa_op *op);
enum faina_code fa_read_joins(struct fa_source *source, struct fa_op *op);
enum faina_code fa_read_stats(struct fa_source *source, struct fa_op *op);
enum faina_code fa_read_history(struct fa_source *source, struct fa_op *op);
enum faina_code fa_read_tokens(struct fa_source *source, struct fa_op *op);
enum faina_code fa_read_settings(struct fa_source *source, struct fa_op *op);
enum faina_code fa_read_types(struct fa_source *source, struct fa_op *op);
enum faina_code fa_read_crons(struct fa_source *source, struct fa_op *op);
enum faina_code fa_read_workers(struct fa_source *source, struct fa_op *op, int64_t now_us);

/* The creation of a task and its implicit events (unit.h, U5). Returns how many. */
#define FA_OWN_EVENTS_MAX 4
size_t fa_read_own_events(const struct fa_row *row, struct fa_arena *arena,
                          struct faina_event out[FA_OWN_EVENTS_MAX]);
/* Reads the columns of event_page or event_all, of a task with this key. False: the row is
 * damaged. */
bool fa_read_event(const struct fa_value *columns, int64_t task, struct fa_arena *arena,
                   struct faina_event *out);

/* The workers that could claim the tasks of a lane. */
struct fa_worker_set {
    size_t live;         /* live workers */
    size_t handling;     /* live workers that handle the type */
    bool lacks_service;  /* ... but none of these reaches all resources of the lane */
    const char *missing; /* a resource that none of them reaches; NULL: there is none */
};
FA_MUST_CHECK enum faina_code fa_read_worker_set(struct fa_source *source,
                                                 const struct fa_lane *lane, int64_t now_us,
                                                 struct fa_worker_set *out,
                                                 struct faina_error *err);

/* Finds a task that is not deleted, by its id as text. */
FA_MUST_CHECK enum faina_code fa_read_find(struct fa_source *source, const char *id,
                                           struct fa_arena *arena, struct fa_row *out,
                                           struct faina_error *err);

#endif
