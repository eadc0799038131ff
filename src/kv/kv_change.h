/*
 * kv_change.h - changes of tasks: read, decide, compare-and-set, and again on a conflict.
 *
 *   C1  A change is written at the revision that it was decided on. When the key has changed
 *       meanwhile, it is decided again on the new value, FA_KV_TRIES times at most; then its code
 *       is CONFLICT.
 *   C2  A change that writes nothing, a refusal for example, is decided on a fresh read.
 *   C3  Many changes are one pipeline of reads and one of writes for each round.
 *   C4  A task gets its permits before it is claimed (kv_permits.h).
 *
 * Threads: any; the changes of a call belong to it.
 */
#ifndef FA_KV_KV_CHANGE_H
#define FA_KV_KV_CHANGE_H

#include "kv/kv_engine.h"

#define FA_KV_TRIES 20

enum fa_kv_verdict {
    FA_KV_KEEP,  /* nothing is written; change->code is the answer */
    FA_KV_WRITE, /* the record is written; change->code is the answer once it is stored */
    FA_KV_ERASE, /* the task and its key are removed */
};

struct fa_kv_change;

/* Decides on a record, and changes it. May be called several times, each time on a record that was
 * just read. Texts that it puts into the record are in change->arena. */
typedef enum fa_kv_verdict fa_kv_decide_fn(struct fa_kv_engine *engine, struct fa_kv_change *change,
                                           struct fa_kv_record *record);

struct fa_kv_change {
    const char *id;
    fa_kv_decide_fn *decide;
    struct fa_op *op; /* NULL: a change of the engine itself */
    const void *ctx;
    struct fa_arena *arena;
    struct faina_error *err; /* not NULL */
    /* A change of just this revision, of which `text` is the record (ptr NULL: it is read). A
     * conflict ends it. 0: of any. */
    uint64_t only_revision;
    struct fa_bytes text;
    int64_t permit;      /* not 0: the permits were taken already, with this number */
    bool creates;        /* the record is a new one, and is created */
    bool is_absent_fine; /* the record is missing: `decide` is not called, and the code is OK */

    /* The answer. */
    enum faina_code code;
    bool is_written;
    struct fa_kv_record record;
    enum faina_status old_status;
    const char *old_worker;  /* that held it; NULL: none */
    int64_t wait_us, run_us; /* not 0: what is counted (service.h) */
    bool is_lost;            /* a lease has expired */

    /* The rest is internal. */
    enum fa_kv_verdict verdict;
    int64_t old_permit;
    bool is_done, is_fresh, has_taken;
    uint64_t expected;
    struct fa_bytes value;
};

/* The attempt that a written change has ended. False: it has ended none. */
struct fa_span_attempt;
bool fa_kv_change_attempt(const struct fa_kv_change *change, struct fa_span_attempt *out);

void fa_kv_changes_run(struct fa_kv_engine *engine, struct fa_kv_change *changes, size_t count);

/* TASK_NOT_FOUND, with its sentence. */
enum faina_code fa_kv_missing(const char *id, struct faina_error *err);
/* Whether the caller may change the task (access.h, X2). */
FA_MUST_CHECK enum faina_code fa_kv_permit(struct fa_op *op, const struct fa_kv_record *record);

/* Finishes a deletion: removes the idempotency key and the task, which is marked as deleted. */
void fa_kv_erase_rest(struct fa_kv_engine *engine, const struct fa_kv_record *record);

#endif
