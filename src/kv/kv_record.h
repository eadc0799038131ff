/*
 * kv_record.h - a task as it is stored under its key: one JSON object.
 *
 *     {every member of a task but version and fence,
 *      "events": [its last 100 events, oldest first],
 *      "engine": {what users don't see}}
 *
 *   R1  The version of a task is the revision of its key.
 *   R2  The fence is the revision of the write that claimed it. That write can't contain its own
 *       revision, so a record without "fence" in "engine" is of that write; later ones have it.
 *   R3  Nothing that is read is trusted: a record that this module can't have written is refused.
 *   R4  A record that would exceed the store's limit loses its oldest events.
 *
 * Threads: a record belongs to one thread. The shape is read only.
 */
#ifndef FA_KV_KV_RECORD_H
#define FA_KV_KV_RECORD_H

#include "base/bytes.h"
#include "base/error.h"
#include "model/field.h"
#include "model/states.h"

#define FA_KV_EVENTS_MAX 100
/* How long after its end a lease counts as ended: the clocks of nodes differ a little. */
#define FA_KV_CLOCK_SLACK_US 100000

/* The members of a task that a record has. */
struct fa_kv_shape {
    struct fa_shape task;
    struct fa_field *fields;
};

void fa_kv_shape_init(struct fa_kv_shape *shape);
void fa_kv_shape_finish(struct fa_kv_shape *shape);

/* A task while it is read or changed. Its texts are in an arena of the caller's. */
struct fa_kv_record {
    /* As users see it, once fa_kv_record_show was called. These members are set from the ones below
     * and from the status: state, run_at_us, worker_id, lease_expires_us, expires_us, version,
     * fence. */
    struct faina_task task;
    struct faina_event *events; /* oldest first */
    size_t event_count, event_size;

    const char *state;  /* the text for people; NULL: the default of the status */
    const char *worker; /* of the last claim; kept when the task has ended */
    int64_t run_at_us;  /* as submitted */
    int64_t at_us;      /* pending: not before; held: end of the lease; background: deadline */
    int64_t lease_ms;   /* of the last claim; 0: the default */
    int64_t submitter;  /* access.h; 0: none */
    int64_t permit;     /* of its resources (kv_permits.h); 0: it uses none */
    int64_t fence;      /* of the last claim */
    bool takes_fence;   /* the next write claims the task (R2) */
    uint64_t revision;  /* of the key; 0: not stored yet */
};

/* Reads the value of the key of the task `id`. INTERNAL: it is damaged. */
FA_MUST_CHECK enum faina_code fa_kv_record_read(const struct fa_kv_shape *shape, const char *id,
                                                struct fa_bytes value, uint64_t revision,
                                                struct fa_arena *arena, struct fa_kv_record *out,
                                                struct faina_error *err);
/* The value to write. PAYLOAD_TOO_LARGE: it is larger than `max` without any events, too. */
FA_MUST_CHECK enum faina_code fa_kv_record_write(const struct fa_kv_shape *shape,
                                                 struct fa_kv_record *record, size_t max,
                                                 struct fa_arena *arena, struct fa_bytes *out,
                                                 struct faina_error *err);
/* After it was read, or written with this revision: completes `task`. */
void fa_kv_record_show(struct fa_kv_record *record, uint64_t revision);

/* The time of the next event: now, or just after the last event. */
int64_t fa_kv_record_time(const struct fa_kv_record *record, int64_t now_us);
/* Adds an event; the oldest one of more than FA_KV_EVENTS_MAX goes. */
void fa_kv_record_event(struct fa_kv_record *record, struct fa_arena *arena,
                        const struct faina_event *event);

/* What a transition needs besides its rule. */
struct fa_kv_step {
    enum fa_trigger trigger;
    enum faina_actor actor;
    const char *worker; /* claim: the new holder; else the worker that reports the change */
    int64_t lease_us;   /* claim and background: how long; 0: no limit */
    const char *what;   /* the event's name; NULL: that of the new status */
    const char *state;  /* the new text for people; NULL: the status's default */
    const char *detail; /* JSON for the event */
    int64_t backoff_us; /* of a rule that backs off */
    int64_t until_us;   /* pending: not before; 0: as the rule says */
    int64_t permit;     /* of a rule that takes the resources */
};

/* Applies a trigger that the table allows: the only function that changes a status. */
void fa_kv_record_apply(struct fa_kv_record *record, const struct fa_kv_step *step, int64_t now_us,
                        struct fa_arena *arena);

#endif
