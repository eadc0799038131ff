/*
 * operation.h - the operations of an engine as plain values: what is requested, and the answer.
 *
 * A struct fa_op is one operation of any kind. Its kind decides which members are the request
 * and which the answer. The engines that carry operations out are behind service/service.h.
 */
#ifndef FA_MODEL_OPERATION_H
#define FA_MODEL_OPERATION_H

#include "base/bytes.h"
#include "base/error.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

struct fa_audit_list;
struct fa_audit_query;
struct fa_bulk;
struct fa_bulk_request;
struct fa_bulks;
struct fa_failure_groups;
struct fa_failure_query;
struct fa_grant;
struct fa_history_answer;
struct fa_history_query;
struct fa_id;
struct fa_mistakes;
struct fa_workflow;

/* X(NAME, wire name, changes something). */
#define FA_OP_LIST(X)                                                                              \
    X(SUBMIT, "submit", true)                                                                      \
    X(CLAIM, "claim", true)                                                                        \
    X(CLAIM_NEXT, "claim next", true)                                                              \
    X(START, "start", true)                                                                        \
    X(PROGRESS, "progress", true)                                                                  \
    X(HEARTBEAT, "heartbeat", true)                                                                \
    X(NOTE, "note", true)                                                                          \
    X(LOG_ADD, "log", true)                                                                        \
    X(AMEND, "amend", true)                                                                        \
    X(COMPLETE, "complete", true)                                                                  \
    X(FAIL, "fail", true)                                                                          \
    X(SUBTASK, "subtask", true)                                                                    \
    X(BLOCK, "block", true)                                                                        \
    X(BACKGROUND, "background", true)                                                              \
    X(RELEASE, "release", true)                                                                    \
    X(SNOOZE, "snooze", true)                                                                      \
    X(REQUEUE, "requeue", true)                                                                    \
    X(UPDATE, "update", true)                                                                      \
    X(CANCEL, "cancel", true)                                                                      \
    X(RETRY, "retry", true)                                                                        \
    X(DELETE, "delete", true)                                                                      \
    X(PURGE, "purge", true)                                                                        \
    X(PAUSE, "pause", true)                                                                        \
    X(RESUME, "resume", true)                                                                      \
    X(RESOURCE_SET, "resource set", true)                                                          \
    X(RESOURCE_REMOVE, "resource remove", true)                                                    \
    X(TYPE_PUT, "type put", true)                                                                  \
    X(TYPE_REMOVE, "type remove", true)                                                            \
    X(TEAM_PUT, "team put", true)                                                                  \
    X(TEAM_REMOVE, "team remove", true)                                                            \
    X(WORKER_PUT, "worker put", true)                                                              \
    X(WORKER_REMOVE, "worker remove", true)                                                        \
    X(TOKEN_PUT, "token put", true)                                                                \
    X(TOKEN_REMOVE, "token remove", true)                                                          \
    X(EMIT, "emit", true)                                                                          \
    X(WORKFLOW_PUT, "workflow put", true)                                                          \
    X(WORKFLOW_ENABLE, "workflow enable", true)                                                    \
    X(WORKFLOW_REMOVE, "workflow remove", true)                                                    \
    X(CRON_PUT, "cron put", true)                                                                  \
    X(CRON_REMOVE, "cron remove", true)                                                            \
    X(CRON_RUN, "cron run", true)                                                                  \
    X(BROKER_SET, "broker set", true)                                                              \
    X(SETTINGS_SET, "settings set", true)                                                          \
    X(AUDIT_ADD, "audit add", true)                                                                \
    X(BULK, "bulk", true)                                                                          \
    X(BULK_CANCEL, "operation cancel", true)                                                       \
    X(GET, "get", false)                                                                           \
    X(GET_BY_KEY, "get by key", false)                                                             \
    X(FIND, "find", false)                                                                         \
    X(LIST, "list", false)                                                                         \
    X(QUEUE, "queue", false)                                                                       \
    X(CHILDREN, "children", false)                                                                 \
    X(EVENTS, "events", false)                                                                     \
    X(EXPLAIN, "explain", false)                                                                   \
    X(GRAPH, "graph", false)                                                                       \
    X(LOG, "read log", false)                                                                      \
    X(FOLLOW, "follow", false)                                                                     \
    X(RESOURCE_LIST, "resource list", false)                                                       \
    X(TYPE_LIST, "type list", false)                                                               \
    X(TEAM_LIST, "team list", false)                                                               \
    X(WORKER_LIST, "worker list", false)                                                           \
    X(TOKEN_LIST, "token list", false)                                                             \
    X(WORKFLOW_LIST, "workflow list", false)                                                       \
    X(EMITTED_LIST, "event list", false)                                                           \
    X(JOIN_LIST, "join list", false)                                                               \
    X(CRON_LIST, "cron list", false)                                                               \
    X(STATS, "stats", false)                                                                       \
    X(HISTORY, "history", false)                                                                   \
    X(FAILURES, "failures", false)                                                                 \
    X(BULK_COUNT, "bulk count", false)                                                             \
    X(BULK_LIST, "operation list", false)                                                          \
    X(NAMESPACE_LIST, "namespace list", false)                                                     \
    X(BROKER_GET, "broker get", false)                                                             \
    X(SETTINGS_GET, "settings get", false)                                                         \
    X(AUDIT_LIST, "audit list", false)

enum fa_op_kind {
#define FA_OP_ENUM(name, text, writes) FA_OP_##name,
    FA_OP_LIST(FA_OP_ENUM)
#undef FA_OP_ENUM
        FA_OP_COUNT
};

/* What a token of the HTTP interface allows; a set. */
enum fa_scope {
    FA_SCOPE_NONE = 0,
    FA_SCOPE_READ = 1 << 0,
    FA_SCOPE_SUBMIT = 1 << 1,
    FA_SCOPE_WORK = 1 << 2,
    FA_SCOPE_ADMIN = 1 << 3,   /* and the others */
    FA_SCOPE_VIEW = 1 << 4,    /* reads without payloads */
    FA_SCOPE_OPERATE = 1 << 5, /* cancels, retries, removes, pauses */
    FA_SCOPE_ALL = (1 << 6) - 1,
};

/* A token as the store has it. Its secret is nowhere. */
struct fa_token {
    char id[FAINA_ID_SIZE]; /* "" when creating */
    const char *name;
    const char *hash;               /* SHA-256 of the secret, 64 hexadecimal digits */
    unsigned scopes;                /* set of fa_scope */
    const char *namespaces;         /* JSON array of names; NULL: all */
    int64_t created_us, expires_us; /* expires 0: never */
};

struct fa_tokens {
    size_t count;
    struct fa_token *items;
};

/* What to do about the times that passed while no engine ran. */
enum fa_catch_up { FA_CATCH_UP_NONE, FA_CATCH_UP_ONE, FA_CATCH_UP_ALL, FA_CATCH_UP_COUNT };

/* What a time of a schedule does while the task of the time before it has not ended. */
enum fa_overlap {
    FA_OVERLAP_ALLOW,  /* makes one more */
    FA_OVERLAP_SKIP,   /* makes none */
    FA_OVERLAP_CANCEL, /* cancels that one and makes its own */
    FA_OVERLAP_COUNT
};

/* A task that is made again and again, by a schedule (model/cron.h). */
struct fa_cron_job {
    const char *ns, *name; /* ns NULL: "default" */
    const char *schedule;
    const char *timezone; /* IANA name; NULL: UTC */
    const char *task;     /* JSON: the body of a submit */
    enum fa_catch_up catch_up;
    enum fa_overlap overlap;
    int64_t jitter_ms; /* each task waits up to this long besides; the same on every node */
    bool is_paused;
    /* The engine's: */
    int64_t next_us;     /* 0: never, or paused */
    int64_t last_us;     /* the last time of the schedule that made a task; 0: none yet */
    const char *problem; /* why the last time made no task; NULL: it did */
    int64_t created_us, updated_us;
    int64_t version;
    bool redacted; /* the task is without its payload (access.h) */
};

struct fa_cron_jobs {
    size_t count;
    struct fa_cron_job *items;
};

/* An event of a task, with what filters and namespaces are checked against. */
struct fa_follow_item {
    const char *cursor; /* the position after it */
    char task_id[FAINA_ID_SIZE];
    const char *ns, *type, *name;
    const char *team_id, *created_by, *idempotency_key; /* NULL: none */
    const char *what;                                   /* as in events */
    enum faina_status status;
    int64_t at_us;
    bool has_parent;
    int64_t parent_key;            /* of the parent's id (model/id.h) */
    char parent_id[FAINA_ID_SIZE]; /* "": there is none, or it was purged */
    const char *worker_id;         /* NULL: none, or not known */
    int64_t attempt;
    int progress;
    bool is_note; /* the status has not changed */
};

/* A piece of the log, in the order of commits. */
struct fa_followed {
    size_t count;
    struct fa_follow_item *items;
    const char *next; /* where to go on */
    bool has_more;    /* there is more already */
    bool is_gap;      /* events between the cursor and the first item are not kept any more */
};

/* A workflow to be stored (model/workflow.h). */
struct fa_definition {
    const char *ns;   /* NULL: "default" */
    const char *name; /* that it must have; NULL: any */
    struct fa_bytes text;
    bool is_yaml;
};

/* A stored workflow. Enabling or disabling it doesn't change its version, because tasks record the
 * version of the definition that created them. So a positive version in `by` means the enabled
 * workflow, and a negative one the disabled workflow. */
struct fa_stored_workflow {
    const char *ns, *name;
    int64_t version; /* +1 with each change of the definition */
    bool is_enabled;
    int64_t updated_us;
    const char *definition; /* JSON; NULL: redacted */
    bool redacted;          /* access.h */
};

struct fa_stored_workflows {
    size_t count;
    struct fa_stored_workflow *items;
};

/* Which events to list, oldest first. */
struct fa_emitted_query {
    const char *ns; /* NULL: "default"; "*": all */
    const char *id; /* only this one; NOT_FOUND when it isn't stored; NULL: all */
    const char *type;
    int64_t since_us;
    bool descending; /* newest first */
    int limit;       /* 0: 100 */
    const char *cursor;
};

/* A stored event, and its results. */
struct fa_emitted_event {
    const char *ns, *id, *type, *data;
    int64_t at_us;
    const char *tasks, *failures; /* JSON arrays: ids; {workflow, trigger, message} */
    bool redacted;                /* without data (access.h) */
};

struct fa_emitted_events {
    size_t count;
    struct fa_emitted_event *items;
    const char *next_cursor; /* NULL: this was the last page */
};

/* The state of a join for one key. */
struct fa_join_state {
    const char *ns, *workflow, *name;
    const char *key; /* JSON */
    int64_t round;
    const char *members;          /* JSON: {type: {id, status}} */
    const char *const *waits_for; /* types that have not come yet, of a round that has begun */
    size_t waits_for_count;
    int64_t updated_us, deadline_us;
    const char *last_outcome, *last_task, *last_error; /* of the round before */
};

struct fa_join_states {
    size_t count;
    struct fa_join_state *items;
    const char *next_cursor; /* NULL: this was the last page */
};

/* The tasks that are connected with a task, and how. */
struct fa_graph {
    char id[FAINA_ID_SIZE]; /* the task */
    size_t node_count;
    struct fa_graph_node {
        char id[FAINA_ID_SIZE];
        const char *ns, *type, *name;
        enum faina_status status;
        int depth; /* its distance from the task */
        int progress;
        const char *error;                         /* the message of its last failure */
        const char *workflow, *trigger, *event_id; /* its origin; NULL: it was submitted */
        int64_t created_us, run_at_us, started_us, completed_us;
        size_t attempt_count;
        struct fa_graph_attempt {
            int64_t number; /* from 1, of those that are listed */
            const char *worker_id;
            int64_t claimed_us, started_us, ended_us; /* 0: not yet */
            const char *outcome;                      /* the event that ended it; NULL: none yet */
        } * attempts;                                 /* oldest first */
        int64_t version;                              /* the engine's */
    } * nodes;                                        /* the task first, then by distance */
    size_t edge_count;
    struct fa_graph_edge {
        const char *from, *to; /* ids */
        const char *kind;      /* "child": of the parent; "dependency": `to` waits for `from`;
                                  "started": the end of `from` has made `to` */
    } * edges;
    bool truncated; /* there are more tasks, edges or attempts */
};

/* The log of an attempt: the last FA_LOG_SIZE_MAX bytes of it. */
struct fa_attempt_log {
    int64_t attempt; /* 0: there has been none yet */
    const char *worker_id;
    int64_t claimed_us;
    bool is_open; /* the attempt has not ended */
    const char *text;
    int64_t end; /* how many bytes the whole log has so far; -1: not known */
    bool is_cut; /* there was more before */
};

/* The namespaces that are in use: they have types, workflows or schedules. */
struct fa_namespaces {
    size_t count;
    struct fa_namespace_item {
        const char *name;
    } * items;
};

/* The tasks whose ids begin or end with a text (model/id_part.h). */
struct fa_found {
    size_t count;
    struct fa_found_task {
        char id[FAINA_ID_SIZE];
        const char *ns, *type;
        enum faina_status status;
        int64_t created_us;
    } * items;     /* newest first; up to FA_FIND_MAX */
    bool has_more; /* there are, or may be, more */
    /* With wants_recent: all of them are among the newest FA_FIND_NEWEST tasks. */
    bool is_recent;
};

/* What applies to the whole engine. */
struct fa_store_settings {
    struct fa_texts redact; /* paths of values that answers leave out (redaction.h) */
};

/* Whether messages for a broker are stored, and how many there are. */
struct fa_broker {
    bool is_on;
    int64_t size_max;      /* more messages than this: the oldest are dropped */
    int64_t depth;         /* stored and not confirmed; above 10,000 an estimate */
    int64_t oldest_us;     /* when the first of them was stored; 0: there is none */
    int64_t unroutable;    /* messages that no queue was bound for, so far */
    int64_t dropped;       /* messages that were dropped, so far */
    const char *publisher; /* the node that publishes, where there are several; NULL: none */
};

/*
 * AMEND applies the settings of a type to a held task, for the worker that holds it. Of op->submit
 * it takes max_attempts (if the task has the default), retry (if the task has none) and resources.
 * More resources can't be taken while the task is held: they make it ready again, and the attempt
 * is not counted.
 */

/*
 * REQUEUE makes a task that the worker holds, or a pending task that is not due yet, ready again
 * after a delay. The attempt is not counted. Another priority is refused for a task that is ready.
 *
 * QUEUE reads a part of the queue of a type, or finds a task by its key. Both are for servers in
 * the engine's own process (server/beanstalk/): they have no route.
 */
struct fa_requeue {
    const char *what; /* the event's name */
    int64_t delay_ms;
    bool has_priority;
    int priority;
};

enum fa_queue_part {
    FA_QUEUE_KEY,     /* the task with this key (model/id.h), with its payload */
    FA_QUEUE_READY,   /* the best ready task */
    FA_QUEUE_DELAYED, /* tasks that are not due yet, the next one first; op->count is how many */
    FA_QUEUE_URGENT,  /* op->count: ready tasks of at least a priority */
};

#define FA_QUEUE_READ_MAX 10000 /* rows that DELAYED and URGENT read */

/* Selects one page of a list, bounded in items and bytes, after a cursor. is_asked false: the whole
 * list is read. */
struct fa_part {
    bool is_asked;
    int limit; /* 0: any number of items */
    const char *cursor;
};

/* One operation: the request, then the answer. Members that its kind doesn't use are zero. */
struct fa_op {
    enum fa_op_kind kind;

    /* The request. Lent for the call. */
    const char *id;     /* the task (FIND: a part of its id), the team (TEAM_REMOVE, TEAM_LIST), the
                           worker (WORKER_REMOVE; WORKER_LIST: NULL for all), the token
                           (TOKEN_REMOVE), the schedule's name (CRON_REMOVE, CRON_RUN; CRON_LIST:
                           NULL for all), or the operation on many tasks (BULK_CANCEL; BULK_LIST:
                           NULL for all) */
    struct faina_by by; /* the worker, its fence, and a version */
    bool has_fence;     /* by.fence was given, also when it is 0, which no claim has */
    /* What the caller may do and see (access.h), also in what a workflow makes of the operation.
     * NULL: everything. */
    const struct fa_grant *grant;
    /* For the audit (audit_entry.h): the name of the caller, and the request; NULL: none. */
    const char *who, *request_id;
    /* The engine itself does it, or a program by its rules: it has no entry in the audit. */
    bool is_unaudited;
    bool for_holder; /* by.worker_id is the worker of the task, which the caller is not */
    bool by_status;  /* START: asks for the status, so a task that runs already is refused as
                        INVALID_TRANSITION, whichever worker holds it */
    bool wants_task; /* a change answers with the whole task, not only with its id */
    bool is_poll;    /* CLAIM_NEXT: a repeated try of a waiting claim that was not woken */
    bool is_checked; /* fa_service_check was called, for the next run */
    bool is_strict;  /* CLAIM: only as CLAIM_NEXT would: when the task is due and not paused */
    /* fa_service_claim_wait: returns early once this is set and fa_service_wake was called. */
    const atomic_bool *give_up;
    union {
        const struct faina_submit *submit; /* SUBMIT; AMEND: see there */
        const struct faina_claim *claim;   /* CLAIM_NEXT (the caller implements wait_ms) */
        int64_t lease_ms; /* CLAIM, START, HEARTBEAT; 0: the default, or as claimed */
        const struct faina_report *report;   /* PROGRESS */
        const char *output;                  /* COMPLETE; NULL: none */
        const struct faina_failure *failure; /* FAIL */
        struct {
            const char *what, *detail; /* the event's name, and JSON or NULL */
        } note; /* NOTE: an event that changes nothing else, by the worker that holds the task, or
                   by one that held it before, with its fence */
        struct {
            const struct faina_submit *subtasks;
            size_t count;
            bool fail_fast;
        } block; /* BLOCK; SUBTASK: one, which gets a name */
        struct {
            const char *reason;
            int64_t timeout_ms;
        } background;                      /* BACKGROUND */
        int64_t snooze_ms;                 /* SNOOZE */
        const struct faina_update *update; /* UPDATE */
        bool keep_attempts;                /* RETRY */
        const struct fa_requeue *requeue;  /* REQUEUE */
        struct {
            const char *ns, *type;
            enum fa_queue_part part;
            int64_t key;
            int priority;
            int limit;                   /* 0: 1 */
        } queue;                         /* QUEUE */
        bool force;                      /* TOKEN_REMOVE: also the last valid one */
        struct faina_removal removal;    /* DELETE */
        const struct faina_purge *purge; /* PURGE */
        struct {
            const char *ns, *type, *key;
        } name; /* PAUSE, RESUME, GET_BY_KEY, STATS (ns; type NULL: all), TEAM_LIST (ns), CRON_* but
                   PUT (ns), TYPE_REMOVE, TYPE_LIST (ns "*": all; type NULL: all) */
        const struct faina_type_policy *type_policy; /* TYPE_PUT */
        struct {
            const char *name; /* RESOURCE_LIST: NULL for all */
            int64_t max_concurrency;
            struct faina_rate rate;    /* count 0: none; burst 0: count */
        } resource;                    /* RESOURCE_* */
        const struct faina_team *team; /* TEAM_PUT */
        struct {
            const struct faina_worker *self;
            const struct faina_held *held;
            size_t held_count;
            int64_t lease_ms;           /* 0: as claimed */
            bool renews_all;            /* without a list: all tasks that the worker holds */
        } worker;                       /* WORKER_PUT */
        const struct fa_token *token;   /* TOKEN_PUT */
        const struct fa_cron_job *cron; /* CRON_PUT */
        struct {
            bool is_on;
            int64_t size_max;                   /* 0: as it is */
        } broker;                               /* BROKER_SET */
        bool wants_recent;                      /* FIND: the answer has is_recent */
        struct fa_store_settings settings;      /* SETTINGS_SET */
        const struct faina_query *query;        /* LIST */
        const struct faina_emit *emit;          /* EMIT */
        const struct fa_definition *definition; /* WORKFLOW_PUT */
        struct {
            const char *ns, *name; /* WORKFLOW_LIST: name NULL for all, ns "*" for all */
            bool enable;           /* WORKFLOW_ENABLE */
        } workflow;                /* WORKFLOW_* but PUT */
        const struct fa_emitted_query *emitted_query; /* EMITTED_LIST */
        const struct fa_history_query *history_query; /* HISTORY (model/history.h) */
        const struct fa_failure_query *failure_query; /* FAILURES (model/failure_group.h) */
        const struct fa_audit_query *audit_query;     /* AUDIT_LIST (model/audit_entry.h) */
        struct {
            const char *act, *target;
        } audit_add; /* AUDIT_ADD: an act that is no other operation */
        struct {
            const char *ns, *workflow; /* workflow NULL: all; NOT_FOUND when there isn't one */
            const char *key;           /* as text or as JSON; NULL: all */
            int limit;
            const char *cursor;
        } join; /* JOIN_LIST */
        struct {
            const char *text; /* LOG_ADD: whole lines, or parts of them */
            bool is_over;     /* LOG_ADD: forget the parts: the note of the attempt has the log */
            int64_t attempt;  /* LOG: its number; 0: the last one */
        } log;
        struct {
            const struct fa_bulk_request *request;
            const char *cursor; /* BULK_COUNT: next_cursor of the part before */
        } bulk;                 /* BULK, BULK_COUNT (model/bulk.h) */
        struct {
            int depth; /* 0: FA_GRAPH_DEPTH_DEFAULT */
        } graph;       /* GRAPH */
        struct {
            int limit;
            const char *cursor;
            bool parts; /* EVENTS: also the parts of logs */
            bool ends;  /* CHILDREN: id, name, type, status, output and error are enough */
        } page;         /* CHILDREN, EVENTS (limit), FOLLOW (cursor NULL: gives the place of now) */
    };
    /* RESOURCE_LIST, TYPE_LIST, TEAM_LIST, WORKER_LIST, TOKEN_LIST, CRON_LIST, WORKFLOW_LIST,
     * NAMESPACE_LIST, BULK_LIST, EVENTS (there, the limit is that of `page`): see next_cursor. */
    struct fa_part part;

    /* The answer. */
    enum faina_code code;
    struct fa_arena *arena;      /* the caller's: where the answer lives */
    char task_id[FAINA_ID_SIZE]; /* SUBMIT, CRON_RUN, and every change of one task; SUBTASK: that of
                                    the subtask */
    bool existing;               /* SUBMIT: the key was known; SUBTASK: the name was */
    bool input_mismatch;
    int64_t count; /* PURGE: rows removed; CANCEL: tasks cancelled; WORKER_REMOVE: given back;
                      BULK_COUNT: tasks found, in this part */
    union {
        void *answer;              /* any of the following */
        struct faina_task *task;   /* changes with wants_task (SUBTASK: the subtask), GET,
                                      GET_BY_KEY */
        struct faina_tasks *tasks; /* CLAIM_NEXT, LIST, QUEUE, CHILDREN */
        struct fa_found *found;    /* FIND */
        struct faina_events *events;
        struct faina_explanation *explanation;
        struct fa_graph *graph_answer;
        struct fa_attempt_log *log_answer;
        struct faina_resources *resources;
        struct faina_type_policy *type_answer; /* TYPE_PUT */
        struct faina_type_policies *types;
        struct faina_team *team_answer; /* TEAM_PUT */
        struct faina_teams *teams;
        struct faina_stats *stats;
        struct fa_namespaces *namespaces;
        struct faina_beat *beat; /* WORKER_PUT */
        struct faina_workers *workers;
        struct fa_token *token_answer; /* TOKEN_PUT */
        struct fa_tokens *tokens;
        struct fa_cron_job *cron_answer; /* CRON_PUT */
        struct fa_cron_jobs *crons;
        struct fa_followed *followed; /* FOLLOW */
        struct faina_emitted *emitted;
        struct fa_stored_workflow *workflow_answer; /* WORKFLOW_PUT, WORKFLOW_ENABLE */
        struct fa_stored_workflows *workflows;
        struct fa_emitted_events *emitted_events;
        struct fa_join_states *joins;
        struct fa_broker *broker_answer;           /* BROKER_* */
        struct fa_store_settings *settings_answer; /* SETTINGS_* */
        struct fa_history_answer *history;
        struct fa_failure_groups *failures;
        struct fa_audit_list *audit;
        struct fa_bulk *bulk_answer; /* BULK, BULK_CANCEL */
        struct fa_bulks *bulks;
    };
    const char *next_cursor; /* lists that are read in parts; NULL: this was the last one */
    /* WORKFLOW_PUT: the parsed definition, and its mistakes. */
    const struct fa_workflow *checked;
    struct fa_mistakes *mistakes;
    struct fa_emit_plan *plan; /* EMIT: the engine's (fa_service_prepare) */

    struct faina_error error; /* large, and last: see fa_op_copy */
};

/* The sentence comes along only when there is one. */
static inline void fa_op_copy(struct fa_op *to, const struct fa_op *from)
{
    memcpy(to, from, from->code == FAINA_OK ? offsetof(struct fa_op, error) : sizeof(*to));
}

/* How the engine's clock and the wall clock of its machine differ. All zero where the time is the
 * database's. */
struct fa_service_clock {
    int64_t offset_ms;  /* how far the engine's clock is ahead; negative: behind */
    int64_t jumps;      /* of the wall clock, since the engine was opened */
    int64_t jump_ms;    /* by how much the last one changed it; negative: it was set back */
    int64_t jump_at_us; /* the wall clock right after it; 0: there was none */
};

/* What an engine has beyond tasks, claims and limits; a set. */
enum fa_engine_feature {
    FA_HAS_SUBTASKS = 1 << 0,
    FA_HAS_DEPENDENCIES = 1 << 1,
    FA_HAS_WORKFLOWS = 1 << 2,
    FA_HAS_SCHEDULES = 1 << 3,
    FA_HAS_TEAMS = 1 << 4,
    FA_HAS_STREAM = 1 << 5,
    FA_HAS_BROKER = 1 << 6,
    FA_HAS_BACKUP = 1 << 7,
};

/* What `faina doctor` and `faina db status` show. */
struct fa_service_info {
    const char *engine;         /* "sqlite", "memory" */
    unsigned features;          /* of enum fa_engine_feature; 0 of an engine in another process */
    const char *location;       /* path or address; no secrets */
    const char *engine_version; /* of SQLite, PostgreSQL ... */
    int schema_version;         /* newest migration applied */
    size_t migration_count;
    struct fa_service_migration {
        const char *id, *description;
        int64_t executed_us;
    } * migrations;
    int64_t size_bytes;          /* on disk, logs included; -1: unknown */
    int64_t commits, operations; /* since it was opened */
    struct fa_service_clock clock;
    int64_t set_aside;   /* items (fa_aside_item) in the store */
    int64_t stalled_ms;  /* how long the engine's chores have failed; 0: they don't ... */
    const char *stalled; /* ... and why */
    size_t finding_count;
    const char **findings;  /* what the engine's own checks found wrong; sentences */
    const char *durability; /* what an acknowledged change survives, where that depends on settings
                               of a server; NULL: it is on disk */
    const char *full; /* why new tasks are refused: the disk has no room for them; NULL: it has */
    size_t warning_count;
    const char **warnings; /* what works, but might soon not; sentences with advice */
};

/* Something stored that the engine can't handle: a damaged row, or one that makes transactions
 * fail. */
struct fa_aside_item {
    const char *kind, *key;
    const char *name; /* for people: a task's id; NULL: the key */
    const char *reason;
    int64_t tries; /* how often it has been set aside */
};

#endif
