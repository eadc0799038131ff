/*
 * model.h - what the engine must do, told a second time: plain arrays, no store, no clock.
 *
 * Written from design.md (sections 3 to 5, 8) and not from the engine. A step is one operation;
 * fa_m_apply says which code it must get and brings the model to the state after it. Waiting tasks
 * are not counted down: after each step the model looks at everything a blocked task waits for.
 *
 * Time stands still here: leases are long, and a task that waits for a time (a delay, or the
 * backoff after a failed attempt) waits longer than any test runs. It is then only claimed by id.
 */
#ifndef FA_TEST_MODEL_H
#define FA_TEST_MODEL_H

#include "service/service.h"

#define FA_M_TASKS_MAX 1500
#define FA_M_NS 2
#define FA_M_TYPES 3
#define FA_M_RESOURCES 3
#define FA_M_WORKERS 4
#define FA_M_KEYS 12
#define FA_M_DEPS_MAX 3
#define FA_M_CHILDREN_MAX 4
#define FA_M_CLAIM_MAX 12
#define FA_M_NOBODY (-1)

struct fa_m_task {
    char id[FAINA_ID_SIZE];
    enum faina_status status;
    enum faina_phase phase;
    int ns, type, priority;
    unsigned resources; /* set of (1u << resource) */
    int key;            /* -1: none */
    int input;
    int max_attempts; /* 0: no limit */
    int attempts;
    int worker;
    int output; /* -1: none */
    int progress;
    bool is_later;   /* waits for a time */
    bool has_run_at; /* was submitted with one */
    bool is_deleted, is_purged;
    bool was_claimed; /* ever */
    bool continues;   /* the next claim goes on with the same attempt */
    bool is_resumed;  /* the present claim did */
    int asked;        /* how many subtasks the attempt has asked for */
    int parent;       /* -1: none */
    int child;        /* its name among its siblings: 0.. named, -1.. by place */
    bool has_children, waits_for_children, fail_fast;
    int blocked_at, ended_at; /* step numbers */
    int deps[FA_M_DEPS_MAX];
    bool is_forgotten[FA_M_DEPS_MAX]; /* out of view when the task came back to life */
    int dep_count;
    /* The newest outcome, for those who send it again. */
    bool has_outcome;
    int outcome_worker, outcome_value;
    bool outcome_permanent;

    /* Of the engine: */
    int64_t fence, version;
    bool is_touched; /* the step changed it: the version must have grown ... */
    bool is_claimed; /* ... and the fence, too */
};

struct fa_m {
    struct fa_m_task tasks[FA_M_TASKS_MAX];
    int count;
    int step;
    int64_t limits[FA_M_RESOURCES]; /* -1: none */
    bool is_set[FA_M_RESOURCES];
    bool is_paused[FA_M_NS][FA_M_TYPES];
};

/* What to submit, as a task or as a child. */
struct fa_m_submit {
    int ns, type, priority, key, input, max_attempts;
    unsigned resources;
    bool is_later;
    int deps[FA_M_DEPS_MAX];
    int dep_count;
    int child; /* of children: 0.. a name, -1: unnamed */
};

struct fa_m_step {
    enum fa_op_kind kind;
    int task; /* which one; -1: none */
    int worker;
    int64_t fence;
    int value;         /* output, error, progress, limit of a resource; PURGE: deleted ones only */
    bool is_permanent; /* fail */
    bool keeps;        /* retry: the attempts */
    bool cancels, purges; /* delete */
    int ns, type, resource;
    struct fa_m_submit submits[FA_M_CHILDREN_MAX]; /* SUBMIT: one; BLOCK: its children */
    int submit_count;
    bool fail_fast;
    unsigned claim_types, claim_namespaces; /* 0: any */
    bool has_services;
    unsigned services;
    int limit;

    /* What must come of it. */
    enum faina_code code;
    bool existing, input_mismatch;
    int answer; /* SUBMIT: which task; PURGE: how many */
    int taken[FA_M_CLAIM_MAX];
    int taken_count;
};

void fa_m_init(struct fa_m *model);
void fa_m_apply(struct fa_m *model, struct fa_m_step *step);

bool fa_m_is_visible(const struct fa_m_task *task);
bool fa_m_has_ended(enum faina_status status);
int64_t fa_m_in_use(const struct fa_m *model, int resource);

#endif
