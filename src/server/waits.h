/*
 * waits.h - waiting claims, and waits for the end of a task.
 *
 * Claims are in a list, in the order of their arrival, and keep their position until they are
 * answered. After a notification of work some of them are run at a time: first the oldest, and then
 * a few more in a pass over all, so that every claim is run even if the oldest ones are for other
 * types. Claims for other types than those of the notification are skipped. A notification during a
 * pass begins another pass at its end. When a claim for any type gets nothing, the pass is over:
 * there is no work for the others either (P4 in post.h).
 *
 * A wait for a task is in a hash table by id from before its first read, so no end is missed. All
 * waits are in a heap by deadline.
 *
 * Threads: the one that holds post's mutex.
 */
#ifndef FA_SERVER_WAITS_H
#define FA_SERVER_WAITS_H

#include "server/post.h"

#define FA_WAITS_BUCKET_BITS 12
#define FA_WAITS_BUCKETS (1 << FA_WAITS_BUCKET_BITS)

struct fa_waits {
    struct fa_ring_link claims;
    struct fa_ring_link *pass; /* the next claim to be run; NULL: no pass */
    bool needs_pass;
    uint64_t pass_types, next_types; /* types of which there is work: this pass, the next one */
    uint64_t ready_mark;             /* changes with each notification */
    struct fa_posted *buckets[FA_WAITS_BUCKETS];
    size_t task_count, claim_count;
    struct fa_posted **heap; /* from 1 */
    size_t heap_count, heap_size;
};

void fa_waits_init(struct fa_waits *waits);
void fa_waits_finish(struct fa_waits *waits);

/* A wait begins, before its first run. True: no other wait ends earlier. Operations that don't wait
 * are ignored. */
bool fa_waits_add(struct fa_waits *waits, struct fa_posted *posted);
/* It is answered. */
void fa_waits_remove(struct fa_waits *waits, struct fa_posted *posted);

/* There is work of these types. True: there are claims to be run. */
bool fa_waits_notify(struct fa_waits *waits, uint64_t types);
/* Whether there are claims to be run. */
bool fa_waits_has_pass(const struct fa_waits *waits);
/* Adds the claims that are to be run next to `group`, and returns their number. They keep their
 * position among the waiting claims. */
size_t fa_waits_take(struct fa_waits *waits, struct fa_ring_link *group);
/* A claim was run, got nothing, and goes on waiting. */
void fa_waits_go_on(struct fa_waits *waits, struct fa_posted *posted);

/* Calls `visit` for each wait for this task's end, or (NULL) for any task's. */
void fa_waits_each(struct fa_waits *waits, const struct fa_id *id,
                   void (*visit)(void *ctx, struct fa_posted *posted), void *ctx);

/* When the first wait ends; INT64_MAX: there is none. */
int64_t fa_waits_next_us(const struct fa_waits *waits);
/* Removes a wait whose time is over from the heap, and from nothing else; NULL: there is none. */
struct fa_posted *fa_waits_due(struct fa_waits *waits, int64_t now_us);

#endif
