/*
 * stage.h - races with named sessions and steps, in every order there is.
 *
 * A play has up to four sessions: engines of their own on one schema (a, b, c), and a plain session
 * of PostgreSQL (locker) that holds a lock for a while. Each has steps. fa_stage_run plays every
 * order of them that keeps each session's own, on tasks that `prepare` makes anew.
 *
 * A step that waits for a lock doesn't stop the play: the others go on, and the session's next step
 * comes when it is free again. In the end `check` sees what each step was told, and when.
 *
 * Threads: one for each session, and the test's.
 */
#ifndef FA_TEST_STAGE_H
#define FA_TEST_STAGE_H

#include "support/ops.h"
#include "support/psql.h"

enum { FA_STAGE_SESSIONS = 4, FA_STAGE_STEPS = 4 };

struct fa_play;

/* What one step was told. */
struct fa_told {
    enum faina_code code;
    bool existing;
    char id[FAINA_ID_SIZE]; /* of a submit */
    size_t count;           /* of a claim: how many, and the first few */
    char ids[4][FAINA_ID_SIZE];
    int64_t begin_us, end_us; /* by the monotonic clock */
    bool was_blocked;         /* it had to wait for a lock */
};

/* One order of one play. */
struct fa_scene {
    struct fa_t *t; /* another engine on the same schema: for prepare and check */
    PGconn *raw;
    const struct fa_play *play;
    char id[FAINA_ID_SIZE], other[FAINA_ID_SIZE], third[FAINA_ID_SIZE]; /* the tasks it is about */
    char name[32]; /* new in each order: for keys, types, resources */
    struct fa_told told[FA_STAGE_SESSIONS][FA_STAGE_STEPS];
    char order[64]; /* "abba", for people */
};

/* `mine` is the session's engine, or NULL for the locker, which has `conn`. */
typedef void fa_stage_step(struct fa_scene *scene, struct fa_t *mine, PGconn *conn,
                           struct fa_told *told);

struct fa_play {
    const char *name;
    void (*prepare)(struct fa_scene *scene);
    fa_stage_step *steps[FA_STAGE_SESSIONS][FA_STAGE_STEPS]; /* NULL ends a session's */
    /* What the locker locks: a statement with one %s, the id of the task. */
    const char *lock;
    void (*check)(struct fa_scene *scene);
};

enum { A, B, C, LOCKER }; /* the sessions */

/* The locker's two steps. */
fa_stage_step fa_stage_lock, fa_stage_unlock;

struct fa_stage;

/* A stage with a database of its own. */
struct fa_stage *fa_stage_create(void);
void fa_stage_destroy(struct fa_stage *stage);
const char *fa_stage_url(const struct fa_stage *stage);
/* Plays all orders; returns how many, and in `blocked` how many steps had to wait for a lock. */
int fa_stage_run(struct fa_stage *stage, const struct fa_play *play, int *blocked);

#endif
