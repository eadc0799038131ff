/*
 * kv_index.h - what a node knows of all tasks, in memory: enough to claim, to list and to count.
 *
 * The watch of the store keeps it up to date, and so do this node's own writes. It is never
 * trusted: every change is a compare-and-set on the revision that the index has, and a claim whose
 * write is refused takes the next task.
 *
 *   I1  An entry is changed only by a higher revision of its key.
 *   I2  A lane's heap has its pending tasks that are due, in the order of claiming; the timer heap
 *       has those that are not due, and held and background tasks that have a deadline.
 *   I3  A task that is being claimed by this node (fa_kv_index_take) is in no heap of a lane, until
 *       a higher revision arrives or it is released.
 *   I4  Records of pending and held tasks are kept as text as long as they fit into
 *       FA_KV_CACHE_SIZE, so that a claim or an outcome is one round trip.
 *
 * Threads: any; one mutex guards everything, and nothing blocks while it is held.
 */
#ifndef FA_KV_KV_INDEX_H
#define FA_KV_KV_INDEX_H

#include "kv/kv_record.h"
#include "model/id.h"
#include "service/service.h"

#define FA_KV_CACHE_SIZE ((size_t)64 << 20)

struct fa_kv_index;

/* The waits that a change of the index may end. Its lists are in the arena. */
struct fa_kv_notification {
    struct fa_arena *arena;
    uint64_t ready_types; /* tasks of these types have become claimable */
    struct fa_id *ended;  /* tasks that ended, or were taken from their worker */
    size_t ended_count, ended_size;
};

struct fa_kv_index *fa_kv_index_create(void);
void fa_kv_index_destroy(struct fa_kv_index *index); /* NULL is fine */
/* Forgets all tasks. */
void fa_kv_index_reset(struct fa_kv_index *index);

/* A record with its text, as it was read or written. */
void fa_kv_index_put(struct fa_kv_index *index, const struct fa_kv_record *record,
                     struct fa_bytes text, int64_t now_us, struct fa_kv_notification *notification);
/* The key of the task has a marker of this revision, or is gone (UINT64_MAX). */
void fa_kv_index_remove(struct fa_kv_index *index, const char *id, uint64_t revision,
                        struct fa_kv_notification *notification);
/* The revision that the index has, 0: none; and its text, if it is kept: a copy in the arena. */
uint64_t fa_kv_index_get(struct fa_kv_index *index, const char *id, struct fa_arena *arena,
                         struct fa_bytes *text);
/* What the index knows of a task. False: it has none. */
struct fa_kv_brief {
    char id[FAINA_ID_SIZE];
    enum faina_status status;
    uint64_t revision;
};
bool fa_kv_index_brief(struct fa_kv_index *index, const char *id, struct fa_kv_brief *out);

/* ------------------------------------------------------------------------------------------
 * Claiming
 */

/* Whether tasks that need these resources may be claimed now; called under the mutex. */
struct fa_kv_room {
    void *ctx;
    bool (*is_paused)(void *ctx, const char *ns, const char *type);
    /* Takes room for one task, as far as this node knows. */
    bool (*take)(void *ctx, const char *const *resources, size_t count);
};

struct fa_kv_candidate {
    char id[FAINA_ID_SIZE];
    uint64_t revision;
    struct fa_bytes text;         /* NULL: it was not kept */
    const char *const *resources; /* until the index is destroyed */
    size_t resource_count;
};

/* Takes up to `limit` of the best ready tasks for a claim (I3): by priority, then age;
 * fewer when their records are larger than FA_PAGE_SIZE_MAX together. */
size_t fa_kv_index_take(struct fa_kv_index *index, const struct faina_claim *claim,
                        const struct fa_kv_room *room, size_t limit, struct fa_arena *arena,
                        struct fa_kv_candidate *out);
/* It was not claimed: it is ready again. */
void fa_kv_index_release(struct fa_kv_index *index, const char *id);

/* ------------------------------------------------------------------------------------------
 * Time
 */

/* Moves delayed tasks that are due into their lanes; the ids of up to `limit` others whose deadline
 * has passed. They are listed again after `again_us`, unless they change. *next_us: when to call it
 * again. */
size_t fa_kv_index_due(struct fa_kv_index *index, int64_t now_us, int64_t again_us, size_t limit,
                       struct fa_arena *arena, const char ***ids, int64_t *next_us,
                       struct fa_kv_notification *notification);

/* ------------------------------------------------------------------------------------------
 * Reading
 */

/* The ids of tasks that match the filter as far as the index knows, newest first, with keys below
 * `before`; up to `limit`. The rest of the filter is for the caller to check. */
size_t fa_kv_index_list(struct fa_kv_index *index, const struct faina_query *query, int64_t before,
                        size_t limit, struct fa_arena *arena, const char ***ids);
/* Ended tasks that match, oldest first. */
size_t fa_kv_index_ended(struct fa_kv_index *index, const struct faina_purge *purge, size_t limit,
                         struct fa_arena *arena, const char ***ids);
/* The ids of the tasks that a worker holds; with `only_claimed`, those that it has not started. */
size_t fa_kv_index_held(struct fa_kv_index *index, const char *worker, bool only_claimed,
                        struct fa_arena *arena, const char ***ids);
int64_t fa_kv_index_held_count(struct fa_kv_index *index, const char *worker);

/* Counts by type, in the order of their names: all with tasks. */
size_t fa_kv_index_counts(struct fa_kv_index *index, const char *ns, const char *type,
                          struct fa_arena *arena, struct faina_count **out);

#endif
