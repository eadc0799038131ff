/*
 * waits.h - what is posted and waits: claims for work, and looks for the end of a task.
 *
 * Claims are in a ring, in the order in which they came, and keep their place until they are
 * answered. After news of work some of them are asked with each transaction: the oldest, who come
 * first, and then a few more in a pass over all, so that nobody is left out because the oldest want
 * something else. Who takes other types than those in the news is skipped. News that comes during a
 * pass begins another one at its end. When a claim that takes anything gets nothing, the pass is
 * over: there is nothing for anybody (P4 in post.h).
 *
 * A wait for a task is in a hash table by id from before its first look, so no end is missed. All
 * waits are in a heap by deadline.
 *
 * Threads: whoever holds post's mutex.
 */
#ifndef FA_WAITS_H
#define FA_WAITS_H

#include "service/post.h"

#define FA_WAITS_BUCKET_BITS 12
#define FA_WAITS_BUCKETS (1 << FA_WAITS_BUCKET_BITS)

struct fa_waits {
    struct fa_ring_link claims;
    struct fa_ring_link *pass; /* the next claim to be asked; NULL: no pass */
    bool needs_pass;
    uint64_t pass_types, news_types; /* of what there may be more: this pass, and the next one */
    uint64_t ready_mark;             /* changes with each news */
    struct fa_posted *buckets[FA_WAITS_BUCKETS];
    size_t task_count, claim_count;
    struct fa_posted **heap; /* from 1 */
    size_t heap_count, heap_size;
};

void fa_waits_init(struct fa_waits *waits);
void fa_waits_finish(struct fa_waits *waits);

/* A wait begins, before its first look. True: none ends earlier. (What doesn't wait is left
 * alone.) */
bool fa_waits_add(struct fa_waits *waits, struct fa_posted *posted);
/* It is answered. */
void fa_waits_remove(struct fa_waits *waits, struct fa_posted *posted);

/* There is work of these types. True: somebody is to be asked. */
bool fa_waits_tell(struct fa_waits *waits, uint64_t types);
/* Whether somebody is to be asked. */
bool fa_waits_has_pass(const struct fa_waits *waits);
/* Adds the claims that are to be asked now to a group that runs; how many. They keep their place
 * among those that wait. */
size_t fa_waits_take(struct fa_waits *waits, struct fa_ring_link *group);
/* A claim was asked, got nothing, and waits on. */
void fa_waits_go_on(struct fa_waits *waits, struct fa_posted *posted);

/* Calls `see` for each that waits for this task's end, or (NULL) for any task's. */
void fa_waits_each(struct fa_waits *waits, const struct fa_id *id,
                   void (*see)(void *ctx, struct fa_posted *posted), void *ctx);

/* When the first one ends; INT64_MAX: nobody waits. */
int64_t fa_waits_next_us(const struct fa_waits *waits);
/* Takes one whose time is over out of the heap, and nothing else; NULL: there is none. */
struct fa_posted *fa_waits_due(struct fa_waits *waits, int64_t now_us);

#endif
