/*
 * waits.c - see waits.h.
 */
#include "server/waits.h"

#include "base/bytes.h"

#include <assert.h>
#include <stdlib.h>

#define OLDEST_PER_GROUP 16
#define PASSED_PER_GROUP 16
#define SKIPPED_PER_GROUP 512

/* The heap of deadlines --------------------------------------------------------------------- */

static void heap_set(struct fa_waits *waits, size_t at, struct fa_posted *posted)
{
    waits->heap[at] = posted;
    posted->heap_index = at;
}

static void heap_rise(struct fa_waits *waits, size_t at, struct fa_posted *posted)
{
    for (; at > 1 && waits->heap[at / 2]->deadline_us > posted->deadline_us; at /= 2)
        heap_set(waits, at, waits->heap[at / 2]);
    heap_set(waits, at, posted);
}

static void heap_sink(struct fa_waits *waits, size_t at, struct fa_posted *posted)
{
    for (;;) {
        size_t below = at * 2;

        if (below < waits->heap_count &&
            waits->heap[below + 1]->deadline_us < waits->heap[below]->deadline_us)
            below++;
        if (below > waits->heap_count || waits->heap[below]->deadline_us >= posted->deadline_us)
            break;
        heap_set(waits, at, waits->heap[below]);
        at = below;
    }
    heap_set(waits, at, posted);
}

static void heap_add(struct fa_waits *waits, struct fa_posted *posted)
{
    if (waits->heap_count + 1 >= waits->heap_size) {
        waits->heap_size = waits->heap_size ? waits->heap_size * 2 : 64;
        waits->heap = fa_realloc(waits->heap, waits->heap_size * sizeof(struct fa_posted *));
    }
    heap_rise(waits, ++waits->heap_count, posted);
}

static void heap_remove(struct fa_waits *waits, struct fa_posted *posted)
{
    size_t at = posted->heap_index;
    struct fa_posted *moved;

    if (at == 0)
        return;
    posted->heap_index = 0;
    moved = waits->heap[waits->heap_count--];
    if (moved == posted)
        return;
    heap_rise(waits, at, moved);
    heap_sink(waits, moved->heap_index, moved);
}

int64_t fa_waits_next_us(const struct fa_waits *waits)
{
    return waits->heap_count > 0 ? waits->heap[1]->deadline_us : INT64_MAX;
}

struct fa_posted *fa_waits_due(struct fa_waits *waits, int64_t now_us)
{
    struct fa_posted *posted;

    if (waits->heap_count == 0 || waits->heap[1]->deadline_us > now_us)
        return NULL;
    posted = waits->heap[1];
    heap_remove(waits, posted);
    return posted;
}

/* The table of tasks ------------------------------------------------------------------------ */

static struct fa_posted **bucket_of(struct fa_waits *waits, struct fa_id id)
{
    return &waits->buckets[(uint64_t)id.key * 0x9e3779b97f4a7c15u >> (64 - FA_WAITS_BUCKET_BITS)];
}

static void table_add(struct fa_waits *waits, struct fa_posted *posted)
{
    struct fa_posted **bucket = bucket_of(waits, posted->id);

    posted->bucket_next = *bucket;
    *bucket = posted;
    waits->task_count++;
}

static void table_remove(struct fa_waits *waits, struct fa_posted *posted)
{
    struct fa_posted **link = bucket_of(waits, posted->id);

    while (*link != posted)
        link = &(*link)->bucket_next;
    *link = posted->bucket_next;
    waits->task_count--;
}

void fa_waits_each(struct fa_waits *waits, const struct fa_id *id,
                   void (*visit)(void *ctx, struct fa_posted *posted), void *ctx)
{
    struct fa_posted **bucket = id != NULL ? bucket_of(waits, *id) : waits->buckets;
    size_t count = id != NULL ? 1 : FA_WAITS_BUCKETS;

    for (size_t i = 0; waits->task_count > 0 && i < count; i++) {
        for (struct fa_posted *posted = bucket[i]; posted; posted = posted->bucket_next) {
            if (id == NULL || fa_id_equal(posted->id, *id))
                visit(ctx, posted);
        }
    }
}

/* The claims -------------------------------------------------------------------------------- */

static struct fa_posted *claim_of(struct fa_ring_link *link)
{
    return FA_CONTAINER_OF(link, struct fa_posted, wait_link);
}

static void claims_remove(struct fa_waits *waits, struct fa_posted *posted)
{
    if (!posted->is_waiting)
        return;
    if (waits->pass == &posted->wait_link)
        waits->pass = posted->wait_link.next;
    fa_ring_remove(&posted->wait_link);
    posted->is_waiting = false;
}

bool fa_waits_notify(struct fa_waits *waits, uint64_t types)
{
    waits->ready_mark++;
    waits->next_types |= types;
    if (fa_ring_is_empty(&waits->claims))
        return false; /* a claim in its first run compares the mark afterwards */
    waits->needs_pass = true;
    return true;
}

bool fa_waits_has_pass(const struct fa_waits *waits)
{
    return (waits->pass != NULL || waits->needs_pass) && !fa_ring_is_empty(&waits->claims);
}

/* A claim that runs, or was run since the notification, needs no other run. */
static bool must_run(const struct fa_waits *waits, const struct fa_posted *posted, uint64_t types)
{
    return posted->state == FA_POST_WAITS && posted->run_mark != waits->ready_mark &&
           posted->types & types;
}

/* The next claim of the pass; NULL: the pass is over, or so many were skipped that it goes on
 * later. */
static struct fa_posted *claims_next(struct fa_waits *waits, size_t *skipped)
{
    if (waits->pass == NULL) {
        if (!waits->needs_pass)
            return NULL;
        waits->needs_pass = false;
        waits->pass = waits->claims.next;
        waits->pass_types = waits->next_types;
        waits->next_types = 0;
    }
    while (waits->pass != &waits->claims) {
        struct fa_posted *posted = claim_of(waits->pass);

        if ((*skipped)++ == SKIPPED_PER_GROUP)
            return NULL;
        waits->pass = waits->pass->next;
        if (must_run(waits, posted, waits->pass_types))
            return posted;
    }
    waits->pass = NULL;
    return NULL;
}

static void take(struct fa_waits *waits, struct fa_ring_link *group, struct fa_posted *posted)
{
    posted->run_mark = waits->ready_mark;
    posted->state = FA_POST_RUNS;
    posted->is_in_pass = true;
    fa_ring_add(group, &posted->link);
}

size_t fa_waits_take(struct fa_waits *waits, struct fa_ring_link *group)
{
    struct fa_ring_link *at = waits->claims.next;
    struct fa_posted *posted;
    size_t count = 0, skipped = 0;

    if (!fa_waits_has_pass(waits))
        return 0;
    for (size_t i = 0; i < OLDEST_PER_GROUP && at != &waits->claims; i++, at = at->next) {
        if (!must_run(waits, claim_of(at), waits->pass_types | waits->next_types))
            continue;
        take(waits, group, claim_of(at));
        count++;
    }
    for (size_t i = 0; i < PASSED_PER_GROUP && (posted = claims_next(waits, &skipped)) != NULL;
         i++) {
        take(waits, group, posted);
        count++;
    }
    return count;
}

static bool takes_anything(const struct faina_claim *claim)
{
    return claim->types == NULL && claim->namespaces == NULL && claim->services == NULL;
}

void fa_waits_go_on(struct fa_waits *waits, struct fa_posted *posted)
{
    posted->state = FA_POST_WAITS;
    if (!posted->is_waiting) {
        fa_ring_add(&waits->claims, &posted->wait_link);
        posted->is_waiting = true;
    }
    if (posted->run_mark != waits->ready_mark) {
        waits->needs_pass = true;
    } else if (takes_anything(posted->ops[0].claim)) {
        /* It ran after the last notification, so another pass would find nothing either. That pass
         * would leave out the oldest claims, which have just run, and a task of the meantime would
         * go to a younger one. */
        waits->pass = NULL;
        waits->needs_pass = false;
        waits->next_types = 0;
    }
}

/* All of them ------------------------------------------------------------------------------- */

void fa_waits_init(struct fa_waits *waits)
{
    *waits = (struct fa_waits){0};
    fa_ring_init(&waits->claims);
}

void fa_waits_finish(struct fa_waits *waits)
{
    assert(waits->heap_count == 0);
    free(waits->heap);
    waits->heap = NULL;
}

bool fa_waits_add(struct fa_waits *waits, struct fa_posted *posted)
{
    if (posted->kind == FA_POST_TASK_WAIT)
        table_add(waits, posted);
    if (posted->kind == FA_POST_CLAIM_WAIT)
        waits->claim_count++;
    if (posted->kind == FA_POST_PLAIN || posted->is_over)
        return false;
    heap_add(waits, posted);
    return posted->heap_index == 1;
}

void fa_waits_remove(struct fa_waits *waits, struct fa_posted *posted)
{
    heap_remove(waits, posted);
    if (posted->kind == FA_POST_TASK_WAIT)
        table_remove(waits, posted);
    if (posted->kind == FA_POST_CLAIM_WAIT) {
        claims_remove(waits, posted);
        waits->claim_count--;
    }
}
