/*
 * body.h - request bodies of the HTTP interface, read by their tables (model/field.h).
 *
 * Members that a table doesn't have are refused by name. A member that is null counts as not given.
 *
 *   Y1  What is read is of the right JSON type and, for numbers and times, within its range. Limits
 *       of texts and payloads are checked by the service (service.h, O4).
 *   Y2  Pointers lead into the arena.
 *
 * The same tables write the bodies, for the HTTP client (fa_shape_put).
 */
#ifndef FA_WIRE_BODY_H
#define FA_WIRE_BODY_H

#include "wire/shape.h"

#include <faina.h>

/* Checks the text and reads it; an empty text is {}. */
FA_MUST_CHECK enum faina_code fa_body_read(struct fa_bytes text, const struct fa_shape *shape,
                                           struct fa_arena *arena, void *out,
                                           struct faina_error *err);
/* Reads an object inside a text that was checked. `what` names it in errors. */
FA_MUST_CHECK enum faina_code fa_body_read_object(struct fa_json object, const char *what,
                                                  const struct fa_shape *shape,
                                                  struct fa_arena *arena, void *out,
                                                  struct faina_error *err);
/* A duration as text, or as a number of seconds. */
FA_MUST_CHECK enum faina_code fa_body_duration(const char *name, struct fa_json value,
                                               struct fa_arena *arena, int64_t *out_ms,
                                               struct faina_error *err);
/* A duration, of at least a millisecond, or a time: sets one of the two. */
FA_MUST_CHECK enum faina_code fa_body_when(const char *name, struct fa_json value,
                                           struct fa_arena *arena, int64_t *out_ms, int64_t *out_us,
                                           struct faina_error *err);
/* "NAME must be WHAT". */
FA_MUST_CHECK enum faina_code fa_body_refuse(const struct fa_field *field, const char *what,
                                             struct faina_error *err);

/* ------------------------------------------------------------------------------------------
 * The requests (requests.c)
 */

/* A request about one task. Which of the members a call has is in its table. */
struct fa_act {
    struct faina_by by; /* workerId, fence */
    bool has_fence;
    bool for_holder; /* see model/operation.h; set by the handler */
    const char *status;
    const char *output;
    bool has_error;
    struct faina_failure failure;
    bool has_progress;
    int64_t progress;
    const char *state, *metadata;
    int64_t lease_ms;
    bool is_strict; /* claim */
    const struct faina_submit *subtasks;
    size_t subtask_count;
    bool fail_fast;
    const char *reason;
    int64_t timeout_ms; /* background; snooze: for */
    bool has_for;
    bool has_reset, reset_attempts;
    const char *id;   /* outcomes, heartbeats and acts */
    const char *verb; /* acts: "start" */
    const char *event, *detail;
    const struct faina_submit *amendment; /* NULL: not there */
    const struct faina_error *bad;        /* one of many: refused by itself */
};

/* PATCH /tasks/{id} */
struct fa_update_body {
    struct faina_update update;
    const char *reason;
};

extern const struct fa_shape fa_body_claim, fa_body_start, fa_body_complete, fa_body_fail,
    fa_body_progress, fa_body_heartbeat, fa_body_subtask, fa_body_block, fa_body_background,
    fa_body_release, fa_body_snooze, fa_body_update, fa_body_note, fa_body_amend, fa_body_cancel,
    fa_body_retry, fa_body_status;

/* POST /claims */
struct fa_claims {
    const char *worker_id;
    struct fa_texts types, namespaces, services;
    int64_t limit, lease_ms, wait_ms;
};
extern const struct fa_shape fa_body_claims;

/* POST /outcomes and /heartbeats: {workerId, items: [...]}; /acts has no worker */
/* The items of outcomes and heartbeats are accepted or refused one by one. */
struct fa_many {
    const char *worker_id;
    int64_t lease_ms;
    struct fa_act *items;
    size_t count;
};
extern const struct fa_shape fa_body_outcomes, fa_body_heartbeats;
/* One of their items. */
extern const struct fa_shape fa_body_outcome, fa_body_held;
/* POST /acts: {items: [{id, act, body}]}, the body as `act` alone takes it. */
extern const struct fa_shape fa_body_acts;

/* POST /tasks:batch as JSON. The items are not read yet: each is accepted or refused by itself. */
struct fa_batch_body {
    bool has_tasks;
    struct fa_json *tasks;
    size_t count;
};
extern const struct fa_shape fa_body_batch;

/* A rate, in a request and in an answer. */
extern const struct fa_shape fa_body_rate;

struct fa_limit_body {
    bool has_limit;
    int64_t max_concurrency; /* -1: null, no limit */
    bool has_rate;
    struct faina_rate rate;
    const char *reason;
};
extern const struct fa_shape fa_body_limit;

struct fa_broker_body {
    bool has_on, is_on;
    int64_t size_max; /* 0: not given */
    const char *reason;
};
extern const struct fa_shape fa_body_broker;

/* PUT /settings */
struct fa_settings_body {
    struct fa_texts redact;
    const char *reason;
};
extern const struct fa_shape fa_body_settings;

struct fa_team_body {
    const char *id; /* as in the path, or not there */
    const char *name, *ns, *spec, *reason;
};
extern const struct fa_shape fa_body_team, fa_body_new_team; /* the second has no id */

/* PUT /crons/{name} */
struct fa_cron_body {
    const char *name; /* as in the path, or not there */
    const char *ns, *schedule, *timezone, *task, *catch_up, *overlap;
    int64_t jitter_ms;
    bool is_paused;
    const char *reason;
};
extern const struct fa_shape fa_body_cron;

struct fa_lane_body {
    const char *ns, *type, *reason;
};
extern const struct fa_shape fa_body_lane;

/* POST /session */
struct fa_session_body {
    const char *token;
};
extern const struct fa_shape fa_body_session;

/* POST /tasks/{id}/log */
struct fa_log_body {
    const char *worker_id;
    int64_t fence;
    bool has_fence;
    struct fa_texts lines;
    const char *text; /* instead of lines */
    bool is_over;
};
extern const struct fa_shape fa_body_log;

/* POST /workflows:backtest */
struct fa_backtest_body {
    const char *definition; /* JSON: an object, or a text as YAML or JSON */
    int64_t last_ms;
};
extern const struct fa_shape fa_body_backtest;

struct fa_purge_body {
    const char *ns, *type, *reason;
    struct fa_texts status;
    int64_t before_us, limit;
    bool deleted_only;
};
extern const struct fa_shape fa_body_purge;

/* POST /tokens */
struct fa_token_body {
    const char *name, *hash, *reason;
    struct fa_texts scopes, namespaces;
    int64_t expires_ms, expires_us; /* from now, or at a time */
};
extern const struct fa_shape fa_body_token;

/* POST /events: into a struct faina_emit. */
extern const struct fa_shape fa_body_emit;

/* Acts that are described by their path. */
struct fa_reason_body {
    const char *reason;
};
extern const struct fa_shape fa_body_reason;

/* POST /workflows:test */
struct fa_match_body {
    const char *match, *data;
};
extern const struct fa_shape fa_body_match;

#endif
