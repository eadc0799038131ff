/*
 * wire.h - tasks and requests as JSON, in the names of the contract (camelCase).
 *
 * The command line, the HTTP server and the HTTP client use it. Writing never fails. Reading a
 * request refuses unknown fields by name, with the nearest known name, and fields that only the
 * engine sets.
 */
#ifndef FA_WIRE_WIRE_H
#define FA_WIRE_WIRE_H

#include "model/operation.h"
#include "model/submit_fields.h"
#include "wire/shape.h"

#include <faina.h>

/* Answers (answers.c); each is of the struct of its name. */
extern const struct fa_shape fa_shape_task, fa_shape_tasks, fa_shape_events, fa_shape_explanation,
    fa_shape_found, fa_shape_graph, fa_shape_attempt_log, fa_shape_resource, fa_shape_resources,
    fa_shape_team, fa_shape_teams, fa_shape_namespaces, fa_shape_worker, fa_shape_workers,
    fa_shape_stats, fa_shape_followed, fa_shape_info, fa_shape_broker, fa_shape_settings;
/* The parts of fa_shape_stats: one of the types, and all but the types. */
extern const struct fa_shape fa_shape_count, fa_shape_totals;
/* {tasks}, of a struct faina_tasks. */
extern const struct fa_shape fa_shape_claims;
/* Parts of answers, for their descriptions: one of the events, one of the problems of an answer. */
extern const struct fa_shape fa_shape_event, fa_shape_problem;

/* Of a struct faina_submit: the whole, and what can be amended while the task is held. */
extern const struct fa_shape fa_shape_submit, fa_shape_amendment;

/* Every field of a task, null where unset. `existing`, `inputMismatch` and `cancelledCount` only
 * when they are set. */
void fa_wire_put_task(struct fa_json_writer *w, const struct faina_task *task);
void fa_wire_put_event(struct fa_json_writer *w, const struct faina_event *event,
                       const char *task_id);
/* A worker's answer to its heartbeat: the worker, how many leases were `renewed`, the ids in
 * `cancelled` and `lost`, and both with their fences in `losses`. */
void fa_wire_put_heartbeat(struct fa_json_writer *w, const struct faina_worker *worker,
                           const struct faina_beat *beat);
/* {type, title, status, detail, code}, and errors: [{field, message}] when a field is named. */
void fa_wire_put_problem(struct fa_json_writer *w, const struct faina_error *error);
/* The same with a status other than the code's, and (when not NULL) the id of the task. */
void fa_wire_put_problem_as(struct fa_json_writer *w, const struct faina_error *error, int status,
                            const char *task_id);
/* Reads a problem. False: it is none. An unknown code becomes the one of its status. */
bool fa_wire_read_problem(struct fa_json problem, struct fa_arena *arena, struct faina_error *out);

/* A submit body: what fa_wire_read_submit reads as the same. Only what is set. */
void fa_wire_put_submit(struct fa_json_writer *w, const struct faina_submit *submit);

/* A submit body: checks the JSON, then fills `out` with pointers into `arena`. Its members are
 * those of model/submit_fields.c. */
FA_MUST_CHECK enum faina_code fa_wire_read_submit(struct fa_bytes json, struct fa_arena *arena,
                                                  struct faina_submit *out,
                                                  struct faina_error *err);

/* The same for a part of a text that was checked already. */
FA_MUST_CHECK enum faina_code fa_wire_read_submit_part(struct fa_json body, struct fa_arena *arena,
                                                       struct faina_submit *out,
                                                       struct faina_error *err);

/* A worker's registration or heartbeat. */
struct fa_wire_heartbeat {
    struct faina_worker worker;
    const struct faina_held *held;
    size_t held_count;
    int64_t lease_ms; /* 0: not given */
    bool renews_all;  /* there was no list of tasks: all that it holds */
};
extern const struct fa_shape fa_body_worker;
/* The answer to it, for its description. */
extern const struct fa_shape fa_shape_worker_heartbeat;
/* Checks the JSON, then fills `out` with pointers into `arena`. */
FA_MUST_CHECK enum faina_code fa_wire_read_heartbeat(struct fa_bytes json, struct fa_arena *arena,
                                                     struct fa_wire_heartbeat *out,
                                                     struct faina_error *err);

/* The words of enums, by their values; NULL after the last. */
const char *fa_status_word(int status);
const char *fa_phase_word(int phase);
const char *fa_catch_up_word(int catch_up);
const char *fa_overlap_word(int overlap);

/* The schema of a list of scopes (service/token.h). */
#define FA_SCOPES_SCHEMA                                                                           \
    "{\"type\":\"array\",\"items\":{\"type\":\"string\","                                          \
    "\"enum\":[\"read\",\"view\",\"submit\",\"work\",\"operate\",\"admin\"]}}"

/* The name in `names` (NULL-terminated) nearest to `word`, or NULL when none is near. */
const char *fa_wire_nearest(const char *word, const char *const *names);

#endif
