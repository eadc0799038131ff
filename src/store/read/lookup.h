/*
 * look.h - the operations that only read, over any connection.
 *
 * Each runs inside a transaction that its caller has begun, so that what it reads fits together.
 */
#ifndef FA_LOOK_H
#define FA_LOOK_H

#include "service/service.h"
#include "sql/row.h"

/* Any operation that doesn't write; fills in its answer and returns its code. */
enum faina_code fa_look(struct fa_source *source, struct fa_op *op, int64_t now_us);

/* By file: look.c (get, events, resources, teams, stats), list.c, explain.c, workers.c,
 * tokens.c, crons.c, flows.c, emit.c, joins.c. */
enum faina_code fa_look_list(struct fa_source *source, struct fa_op *op);
enum faina_code fa_look_children(struct fa_source *source, struct fa_op *op);
enum faina_code fa_look_explain(struct fa_source *source, struct fa_op *op, int64_t now_us);
enum faina_code fa_look_workflows(struct fa_source *source, struct fa_op *op);
enum faina_code fa_look_happened(struct fa_source *source, struct fa_op *op);
enum faina_code fa_look_joins(struct fa_source *source, struct fa_op *op);
enum faina_code fa_look_stats(struct fa_source *source, struct fa_op *op);
enum faina_code fa_look_tokens(struct fa_source *source, struct fa_op *op);
enum faina_code fa_look_crons(struct fa_source *source, struct fa_op *op);
enum faina_code fa_look_workers(struct fa_source *source, struct fa_op *op, int64_t now_us);

/* The events that a task's own rows tell (unit.h, U5). Returns how many. */
#define FA_OWN_EVENTS_MAX 4
size_t fa_look_own_events(const struct fa_row *row, struct fa_arena *arena,
                          struct faina_event out[FA_OWN_EVENTS_MAX]);
/* A row of event_list or event_all. */
bool fa_look_event(const struct fa_value *columns, struct fa_arena *arena, struct faina_event *out);

/* Who could do the tasks of a lane. */
struct fa_crew {
    size_t live;         /* workers that live */
    size_t handling;     /* ... and handle the type */
    bool lacks_service;  /* ... but none of these reaches all resources of the lane */
    const char *missing; /* one that none of them reaches; NULL: each is reached by somebody */
};
FA_MUST_CHECK enum faina_code fa_look_crew(struct fa_source *source, const struct fa_lane *lane,
                                           int64_t now_us, struct fa_crew *out,
                                           struct faina_error *err);

/* A task that users may see, by its id as text. */
FA_MUST_CHECK enum faina_code fa_look_find(struct fa_source *source, const char *id,
                                           struct fa_arena *arena, struct fa_row *out,
                                           struct faina_error *err);
/* The tasks that hold a resource, as ids. */
FA_MUST_CHECK enum faina_code fa_look_holders(struct fa_source *source, int64_t resource,
                                              int64_t limit, struct fa_arena *arena,
                                              const char *const **out, size_t *count,
                                              struct faina_error *err);

#endif
