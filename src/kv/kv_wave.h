/*
 * kv_wave.h - operations of many callers in one pipeline.
 *
 * A job is one call of fa_service_run or fa_service_post. A wave takes the next operations of
 * several jobs: submits, changes of single tasks and claims. Of one job it takes only those that
 * concern different tasks, so that they keep their order (E1). Other operations run one by one.
 *
 * Threads: those that run jobs (kv_engine.c); a wave belongs to one of them.
 */
#ifndef FA_KV_KV_WAVE_H
#define FA_KV_KV_WAVE_H

#include "kv/kv_change.h"

struct fa_kv_job {
    struct fa_op *ops;
    size_t count;
    void (*done)(void *ctx); /* NULL: a thread waits for it */
    void *ctx;

    /* The engine's. */
    size_t cursor; /* the next operation to run */
    bool is_done;
    pthread_cond_t *cond; /* of the thread that waits */
    struct fa_kv_job *next;
};

/* Runs all changes of the jobs; reads are skipped. */
void fa_kv_jobs_run(struct fa_kv_engine *engine, struct fa_kv_job **jobs, size_t count);
/* Whether it is part of a wave; other changes run one by one. */
bool fa_kv_is_of_wave(enum fa_op_kind kind);

/* The submits of a wave (kv_submit.c). */
struct fa_kv_submit {
    struct fa_op *op;
    char id[FAINA_ID_SIZE];
    const char *key;   /* of the idempotency entry; NULL: none */
    uint64_t expected; /* the revision that the entry must have */
    bool has_key;      /* the entry names `id` */
    bool is_done;
    int tries;
    struct fa_kv_change change;
};
void fa_kv_submit_begin(struct fa_kv_engine *engine, struct fa_op *op, struct fa_kv_submit *out);
/* Takes the keys of those that are not done: each is then done, or its change creates the task. */
void fa_kv_submits_take_keys(struct fa_kv_engine *engine, struct fa_kv_submit **submits,
                             size_t count);
/* After its change was run. False: another caller has created the task; take the key again. */
bool fa_kv_submit_end(struct fa_kv_submit *submit);

/* The claims of a wave (kv_claim.c). */
struct fa_kv_claiming {
    struct fa_op *op;
    size_t limit, round;
    struct fa_kv_candidate *candidates;
    struct fa_kv_change *changes; /* one for each */
    int64_t *permits;
    size_t count;
};
void fa_kv_claim_begin(struct fa_kv_engine *engine, struct fa_op *op, struct fa_kv_claiming *out);
/* Takes candidates and their permits. */
void fa_kv_claim_take(struct fa_kv_engine *engine, struct fa_kv_claiming *claiming);
/* After its changes were run. False: tasks are missing that others have changed; take more. */
bool fa_kv_claim_end(struct fa_kv_engine *engine, struct fa_kv_claiming *claiming);

#endif
