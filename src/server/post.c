/*
 * post.c - handing in operations without waiting for them.
 *
 *     fa_post -> writes -> [writer] -> fa_service_run -> done
 *             -> reads  -> [readers] ->
 *             -> longs  -> [large] -> work -> done
 *
 * Who waits is in waits.h: after news of work the writer asks some of the claims with each of its
 * groups, readers look again at tasks that have ended, and the clock thread ends what is over.
 *
 * The mutex guards everything here; nothing blocks while it is held, and neither the service nor
 * `done` is called under it. The engine's news comes in the writer's own thread as a rule.
 */
#include "service/post.h"

#include "base/clock.h"
#include "model/states.h"
#include "service/waits.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#define GROUP_WEIGHT_MAX 10000
#define QUEUE_WEIGHT_MAX 50000
#define READERS 2
#define RELOOK_US 5000000

/* What waits to be run, and where those sleep who run it. */
struct queue {
    struct fa_ring_link ring;
    size_t weight;
    pthread_cond_t cond;
};

struct fa_post {
    struct fa_service *service;
    struct fa_listener listener;
    void (*tell_group)(void *ctx, size_t ops);
    void *tell_ctx;

    pthread_mutex_t mutex;
    pthread_cond_t clock_cond, idle_cond;
    struct queue writes, reads, longs;
    size_t under_way; /* accepted and not yet done */
    struct fa_waits waits;
    bool is_closing, is_over, waits_are_over, is_writing;
    uint64_t groups, group_ops;

    /* The writer's own. */
    struct fa_op *ops;
    size_t op_size;

    pthread_t threads[READERS + 3];
    size_t thread_count;
};

/* Rings by `link`: the queues, and groups that run ------------------------------------------- */

static struct fa_posted *from_link(struct fa_ring_link *link)
{
    return (struct fa_posted *)(void *)((char *)link - offsetof(struct fa_posted, link));
}

/* The first, or NULL. */
static struct fa_posted *ring_peek(struct fa_ring_link *ring)
{
    return fa_ring_is_empty(ring) ? NULL : from_link(ring->next);
}

static struct fa_posted *ring_take(struct fa_ring_link *ring)
{
    struct fa_posted *posted = ring_peek(ring);

    if (posted != NULL)
        fa_ring_remove(&posted->link);
    return posted;
}

/* Queueing ---------------------------------------------------------------------------------- */

static size_t weight_of(const struct fa_posted *posted)
{
    size_t weight = posted->count;

    if (posted->work != NULL)
        return 1;
    for (size_t i = 0; i < posted->count; i++) {
        if (posted->ops[i].kind == FA_OP_BLOCK)
            weight += posted->ops[i].block.count;
    }
    return weight;
}

bool fa_posted_writes(const struct fa_posted *posted)
{
    return posted->work == NULL && posted->count > 0 && fa_op_writes(posted->ops[0].kind);
}

static struct queue *queue_of(struct fa_post *post, const struct fa_posted *posted)
{
    if (posted->work != NULL && posted->is_long)
        return &post->longs;
    return fa_posted_writes(posted) ? &post->writes : &post->reads;
}

/* Without a word to who runs it. */
static void line_up(struct queue *queue, struct fa_posted *posted)
{
    posted->place = FA_POST_QUEUED;
    fa_ring_add(&queue->ring, &posted->link);
    queue->weight += weight_of(posted);
}

static void enqueue(struct fa_post *post, struct fa_posted *posted)
{
    struct queue *queue = queue_of(post, posted);

    line_up(queue, posted);
    pthread_cond_signal(&queue->cond);
}

/* Once the mutex is free, the caller calls who runs it: else that one wakes up to wait for it. */
static enum faina_code accept(struct fa_post *post, struct fa_posted *posted)
{
    struct queue *queue = queue_of(post, posted);

    if (post->is_closing)
        return FAINA_STORE_CLOSED;
    if (queue->weight > 0 && queue->weight + weight_of(posted) > QUEUE_WEIGHT_MAX)
        return FAINA_OVERLOADED;
    posted->is_over = post->waits_are_over;
    if (fa_waits_add(&post->waits, posted))
        pthread_cond_signal(&post->clock_cond);
    post->under_way++;
    line_up(queue, posted);
    return FAINA_OK;
}

static enum faina_code accept_locked(struct fa_post *post, struct fa_posted *posted)
{
    struct queue *queue = queue_of(post, posted);
    enum faina_code code;

    pthread_mutex_lock(&post->mutex);
    code = accept(post, posted);
    pthread_mutex_unlock(&post->mutex);
    if (code == FAINA_OK)
        pthread_cond_signal(&queue->cond);
    return code;
}

enum faina_code fa_post(struct fa_post *post, struct fa_posted *posted)
{
    assert(posted->done);
    assert(posted->work || posted->count > 0);
    posted->kind = FA_POST_PLAIN;
    return accept_locked(post, posted);
}

static void set_deadline(struct fa_posted *posted, int64_t timeout_ms)
{
    posted->deadline_us = fa_clock_mono_us() + (timeout_ms > 0 ? timeout_ms * 1000 : 0);
}

void fa_post_many(struct fa_post *post, struct fa_posted *const *posted, size_t count,
                  enum faina_code *codes)
{
    size_t writes = 0, reads = 0;

    pthread_mutex_lock(&post->mutex);
    for (size_t i = 0; i < count; i++) {
        assert(posted[i]->done);
        assert(posted[i]->work || posted[i]->count > 0);
        assert(!posted[i]->work || !posted[i]->is_long);
        posted[i]->kind = FA_POST_PLAIN;
        codes[i] = accept(post, posted[i]);
        if (codes[i] == FAINA_OK)
            *(fa_posted_writes(posted[i]) ? &writes : &reads) += 1;
    }
    pthread_mutex_unlock(&post->mutex);
    if (writes > 0)
        pthread_cond_signal(&post->writes.cond);
    for (size_t i = 0; i < reads && i < READERS; i++)
        pthread_cond_signal(&post->reads.cond);
}

enum faina_code fa_post_claim_wait(struct fa_post *post, struct fa_posted *posted)
{
    assert(posted->done && posted->count == 1);
    assert(posted->ops[0].kind == FA_OP_CLAIM_NEXT);
    posted->kind = FA_POST_CLAIM_WAIT;
    posted->ops[0].arena = &posted->answers;
    posted->types = fa_claim_types(posted->ops[0].claim);
    set_deadline(posted, posted->ops[0].claim->wait_ms);
    return accept_locked(post, posted);
}

enum faina_code fa_post_wait(struct fa_post *post, struct fa_posted *posted, int64_t timeout_ms)
{
    assert(posted->done && posted->count == 1);
    assert(posted->ops[0].kind == FA_OP_GET);
    posted->ops[0].arena = &posted->answers;
    /* No task has an id that is none; the look will say so. */
    posted->kind = posted->ops[0].id && fa_id_parse(posted->ops[0].id, &posted->id)
                       ? FA_POST_TASK_WAIT
                       : FA_POST_PLAIN;
    set_deadline(posted, timeout_ms);
    return accept_locked(post, posted);
}

/* After an answer --------------------------------------------------------------------------- */

/* Takes a wait out of everything. The mutex is held. */
static void forget(struct fa_post *post, struct fa_posted *posted)
{
    fa_waits_remove(&post->waits, posted);
    posted->place = FA_POST_IDLE;
}

/* P1. Without the mutex: `done` may free the memory that one is in. */
static void finish_all(struct fa_post *post, struct fa_ring_link *answered)
{
    struct fa_posted *posted;
    size_t count = 0;

    for (; (posted = ring_take(answered)) != NULL; count++)
        posted->done(posted);
    if (count == 0)
        return;
    pthread_mutex_lock(&post->mutex);
    post->under_way -= count;
    if (post->under_way == 0)
        pthread_cond_broadcast(&post->idle_cond);
    pthread_mutex_unlock(&post->mutex);
}

/* Nothing to claim: keeps no memory while it sleeps. */
static void answer_none(struct fa_posted *posted)
{
    fa_arena_finish(&posted->answers);
    posted->none = (struct faina_tasks){0};
    posted->ops[0].code = FAINA_OK;
    posted->ops[0].tasks = &posted->none;
}

/* A claim that waits was asked. True: it has its answer. The mutex is held. */
static bool settle_claim(struct fa_post *post, struct fa_posted *posted)
{
    const struct fa_op *op = &posted->ops[0];

    if (op->code != FAINA_OK || op->tasks->count > 0 || posted->is_over) {
        forget(post, posted);
        return true;
    }
    answer_none(posted);
    fa_waits_go_on(&post->waits, posted);
    return false;
}

/* A task was looked at. True: the wait is over. The mutex is held. */
static bool settle_look(struct fa_post *post, struct fa_posted *posted)
{
    const struct fa_op *op = &posted->ops[0];

    if (op->code != FAINA_OK || fa_status_is_ended(op->task->status) || posted->is_over) {
        forget(post, posted);
        return true;
    }
    fa_arena_finish(&posted->answers);
    if (posted->is_told) {
        posted->is_told = false;
        enqueue(post, posted);
    } else {
        posted->place = FA_POST_WAITS;
        fa_service_expect(post->service, &posted->id);
    }
    return false;
}

/* True: it is answered. The mutex is held. */
static bool settle(struct fa_post *post, struct fa_posted *posted)
{
    if (posted->kind == FA_POST_CLAIM_WAIT)
        return settle_claim(post, posted);
    if (posted->kind == FA_POST_TASK_WAIT)
        return settle_look(post, posted);
    posted->place = FA_POST_IDLE;
    return true;
}

/* Settles a list of those that were run, then tells those that are answered. */
static void settle_all(struct fa_post *post, struct fa_ring_link *ran)
{
    struct fa_ring_link answered;
    struct fa_posted *posted;

    fa_ring_init(&answered);
    pthread_mutex_lock(&post->mutex);
    while ((posted = ring_take(ran)) != NULL) {
        if (settle(post, posted))
            fa_ring_add(&answered, &posted->link);
    }
    pthread_mutex_unlock(&post->mutex);
    finish_all(post, &answered);
}

/* The writer -------------------------------------------------------------------------------- */

/* Takes a group: what was posted, then a few of the claims that wait. The mutex is held. */
static size_t take_group(struct fa_post *post, struct fa_ring_link *group)
{
    size_t weight = 0, ops = 0;
    struct fa_posted *posted;

    while ((posted = ring_peek(&post->writes.ring)) != NULL) {
        size_t more = weight_of(posted);

        if (weight > 0 && weight + more > GROUP_WEIGHT_MAX)
            break;
        fa_ring_remove(&posted->link);
        post->writes.weight -= more;
        weight += more;
        ops += posted->count;
        posted->asked_mark = post->waits.ready_mark;
        posted->place = FA_POST_RUNS;
        fa_ring_add(group, &posted->link);
    }
    return ops + fa_waits_take(&post->waits, group);
}

static void run_group(struct fa_post *post, struct fa_ring_link *group, size_t count)
{
    struct fa_posted *posted = ring_peek(group);
    size_t n = 0;

    if (posted->link.next == group) { /* one alone needs no copy */
        fa_service_run(post->service, posted->ops, posted->count);
        return;
    }
    if (count > post->op_size) {
        free(post->ops);
        post->op_size = count * 2;
        post->ops = fa_alloc_zero(post->op_size, sizeof(*post->ops));
    }
    for (struct fa_ring_link *at = group->next; at != group; at = at->next) {
        posted = from_link(at);
        for (size_t i = 0; i < posted->count; i++)
            fa_op_copy(&post->ops[n++], &posted->ops[i]);
    }
    assert(n == count);
    fa_service_run(post->service, post->ops, count);
    n = 0;
    for (struct fa_ring_link *at = group->next; at != group; at = at->next) {
        posted = from_link(at);
        for (size_t i = 0; i < posted->count; i++)
            fa_op_copy(&posted->ops[i], &post->ops[n++]);
    }
}

/* Claims whose client has gone must not take tasks with them. */
static size_t drop_gone(struct fa_post *post, struct fa_ring_link *group, size_t count)
{
    struct fa_ring_link gone, *next;

    fa_ring_init(&gone);
    for (struct fa_ring_link *at = group->next; at != group; at = next) {
        struct fa_posted *posted = from_link(at);

        next = at->next;
        if (posted->kind != FA_POST_CLAIM_WAIT || !posted->is_gone || !posted->is_gone(posted))
            continue;
        fa_ring_remove(&posted->link);
        answer_none(posted);
        fa_ring_add(&gone, &posted->link);
        count--;
    }
    if (fa_ring_is_empty(&gone))
        return count;
    pthread_mutex_lock(&post->mutex);
    for (struct fa_ring_link *at = gone.next; at != &gone; at = at->next)
        from_link(at)->is_over = true;
    pthread_mutex_unlock(&post->mutex);
    settle_all(post, &gone);
    return count;
}

static bool has_taken(const struct fa_posted *posted)
{
    return posted->kind == FA_POST_CLAIM_WAIT && posted->ops[0].code == FAINA_OK &&
           posted->ops[0].tasks->count > 0;
}

/* One for each task of a claim, which they take nothing from. */
static struct fa_op *make_releases(const struct fa_op *claim, struct fa_arena *arena)
{
    struct fa_op *ops = fa_arena_zero(arena, claim->tasks->count, sizeof(*ops));
    const char *worker = fa_arena_strdup(arena, claim->claim->worker_id);

    for (size_t i = 0; i < claim->tasks->count; i++) {
        const struct faina_task *task = &claim->tasks->items[i];

        ops[i] = (struct fa_op){.kind = FA_OP_RELEASE,
                                .id = fa_arena_strdup(arena, task->id),
                                .by = {.worker_id = worker, .fence = task->fence},
                                .arena = arena};
    }
    return ops;
}

struct returned {
    struct fa_posted posted; /* first member */
    struct fa_arena arena;
};

static void forget_returned(struct fa_posted *posted)
{
    struct returned *returned = (struct returned *)posted;

    fa_arena_finish(&returned->arena);
    free(returned);
}

void fa_post_give_back(struct fa_post *post, const struct fa_op *claim)
{
    struct returned *returned = fa_alloc_zero(1, sizeof(*returned));

    returned->posted.ops = make_releases(claim, &returned->arena);
    returned->posted.count = claim->tasks->count;
    returned->posted.done = forget_returned;
    if (fa_post(post, &returned->posted) != FAINA_OK)
        forget_returned(&returned->posted); /* the leases end */
}

static void give_back(struct fa_post *post, struct fa_posted *posted)
{
    const struct fa_op *claim = &posted->ops[0];
    struct fa_arena arena = {0};

    fa_service_run(post->service, make_releases(claim, &arena), claim->tasks->count);
    fa_arena_finish(&arena);
    answer_none(posted);
    pthread_mutex_lock(&post->mutex);
    posted->is_over = true;
    pthread_mutex_unlock(&post->mutex);
}

/* The same for clients that went while the transaction ran: a worker gives up a poll when its types
 * change. Should giving back fail, the leases end. */
static void check_gone(struct fa_post *post, struct fa_ring_link *group)
{
    for (struct fa_ring_link *at = group->next; at != group; at = at->next) {
        struct fa_posted *posted = from_link(at);

        if (has_taken(posted) && posted->is_gone && posted->is_gone(posted))
            give_back(post, posted);
    }
}

static void *run_writer(void *ctx)
{
    struct fa_post *post = ctx;

    pthread_mutex_lock(&post->mutex);
    for (;;) {
        struct fa_ring_link group;
        size_t count;

        while (fa_ring_is_empty(&post->writes.ring) && !fa_waits_has_pass(&post->waits) &&
               !post->is_over)
            pthread_cond_wait(&post->writes.cond, &post->mutex);
        if (fa_ring_is_empty(&post->writes.ring) && !fa_waits_has_pass(&post->waits))
            break;
        fa_ring_init(&group);
        count = take_group(post, &group);
        post->groups += count > 0;
        post->group_ops += count;
        post->is_writing = true;
        pthread_mutex_unlock(&post->mutex);
        count = drop_gone(post, &group, count);
        if (count > 0) {
            run_group(post, &group, count);
            check_gone(post, &group);
            if (post->tell_group != NULL)
                post->tell_group(post->tell_ctx, count);
        }
        settle_all(post, &group);
        pthread_mutex_lock(&post->mutex);
        post->is_writing = false;
    }
    pthread_mutex_unlock(&post->mutex);
    return NULL;
}

/* The readers, and who does long work ------------------------------------------------------- */

static void run_queue(struct fa_post *post, struct queue *queue)
{
    pthread_mutex_lock(&post->mutex);
    for (;;) {
        struct fa_ring_link ran;
        struct fa_posted *posted;
        bool is_gone;

        while (fa_ring_is_empty(&queue->ring) && !post->is_over)
            pthread_cond_wait(&queue->cond, &post->mutex);
        posted = ring_take(&queue->ring);
        if (posted == NULL)
            break;
        queue->weight -= weight_of(posted);
        posted->place = FA_POST_RUNS;
        pthread_mutex_unlock(&post->mutex);
        /* A wait for nobody ends with its next look. */
        is_gone = posted->kind == FA_POST_TASK_WAIT && posted->is_gone && posted->is_gone(posted);
        if (posted->work != NULL)
            posted->work(posted);
        else
            fa_service_run(post->service, posted->ops, posted->count);
        fa_ring_init(&ran);
        fa_ring_add(&ran, &posted->link);
        if (is_gone) {
            pthread_mutex_lock(&post->mutex);
            posted->is_over = true;
            pthread_mutex_unlock(&post->mutex);
        }
        settle_all(post, &ran);
        pthread_mutex_lock(&post->mutex);
    }
    pthread_mutex_unlock(&post->mutex);
}

static void *run_reader(void *ctx)
{
    struct fa_post *post = ctx;

    run_queue(post, &post->reads);
    return NULL;
}

static void *run_large(void *ctx)
{
    struct fa_post *post = ctx;

    run_queue(post, &post->longs);
    return NULL;
}

/* News -------------------------------------------------------------------------------------- */

/* Everybody who waits for work of these types is to be asked. */
static void begin_pass(struct fa_post *post, uint64_t types)
{
    if (fa_waits_tell(&post->waits, types))
        pthread_cond_signal(&post->writes.cond);
}

static void look_again(void *ctx, struct fa_posted *posted)
{
    struct fa_post *post = ctx;

    if (posted->place == FA_POST_WAITS)
        enqueue(post, posted);
    else
        posted->is_told = true;
}

static void on_news(void *ctx, const struct fa_news *news)
{
    struct fa_post *post = ctx;

    pthread_mutex_lock(&post->mutex);
    if (news->ready_types)
        begin_pass(post, news->ready_types);
    if (news->has_any_ended)
        fa_waits_each(&post->waits, NULL, look_again, post);
    for (size_t i = 0; post->waits.task_count > 0 && i < news->ended_count; i++)
        fa_waits_each(&post->waits, &news->ended[i], look_again, post);
    pthread_mutex_unlock(&post->mutex);
}

/* The clock --------------------------------------------------------------------------------- */

/* The time of a wait is over. True: it is answered. The mutex is held. */
static bool expire(struct fa_post *post, struct fa_posted *posted)
{
    posted->is_over = true;
    if (posted->kind == FA_POST_TASK_WAIT) {
        if (posted->place == FA_POST_WAITS)
            enqueue(post, posted); /* its state now, not that of the last look */
        return false;
    }
    if (posted->place != FA_POST_WAITS)
        return false; /* whoever runs it sees that it is over */
    forget(post, posted);
    return true;
}

/* Ends the waits that are due by `now_us`. The mutex is held on entry and on return. */
static void expire_until(struct fa_post *post, int64_t now_us)
{
    struct fa_ring_link answered;
    struct fa_posted *posted;

    fa_ring_init(&answered);
    while ((posted = fa_waits_due(&post->waits, now_us)) != NULL) {
        if (expire(post, posted))
            fa_ring_add(&answered, &posted->link);
    }
    if (fa_ring_is_empty(&answered))
        return;
    pthread_mutex_unlock(&post->mutex);
    finish_all(post, &answered);
    pthread_mutex_lock(&post->mutex);
}

void fa_post_give_up(struct fa_post *post, struct fa_posted *posted)
{
    struct fa_ring_link answered;

    fa_ring_init(&answered);
    pthread_mutex_lock(&post->mutex);
    if (posted->kind == FA_POST_CLAIM_WAIT && expire(post, posted))
        fa_ring_add(&answered, &posted->link);
    pthread_mutex_unlock(&post->mutex);
    finish_all(post, &answered);
}

/* P5. */
static void relook(struct fa_post *post)
{
    begin_pass(post, FA_TYPES_ALL);
    fa_waits_each(&post->waits, NULL, look_again, post);
}

static void *run_clock(void *ctx)
{
    struct fa_post *post = ctx;
    int64_t relook_us = fa_clock_mono_us() + RELOOK_US;

    pthread_mutex_lock(&post->mutex);
    while (!post->is_over) {
        int64_t now_us = fa_clock_mono_us(), until_us = relook_us;
        struct timespec until;

        if (now_us >= relook_us) {
            relook(post);
            relook_us = until_us = now_us + RELOOK_US;
        }
        expire_until(post, now_us);
        if (fa_waits_next_us(&post->waits) < until_us)
            until_us = fa_waits_next_us(&post->waits);
        if (until_us <= fa_clock_mono_us() || post->is_over)
            continue;
        until =
            (struct timespec){.tv_sec = until_us / 1000000, .tv_nsec = until_us % 1000000 * 1000};
        pthread_cond_timedwait(&post->clock_cond, &post->mutex, &until);
    }
    pthread_mutex_unlock(&post->mutex);
    return NULL;
}

/* Life -------------------------------------------------------------------------------------- */

void fa_post_end_waits(struct fa_post *post)
{
    pthread_mutex_lock(&post->mutex);
    post->waits_are_over = true;
    expire_until(post, INT64_MAX);
    pthread_mutex_unlock(&post->mutex);
}

struct fa_post_stats fa_post_stats(struct fa_post *post)
{
    struct fa_post_stats stats;

    pthread_mutex_lock(&post->mutex);
    stats = (struct fa_post_stats){
        .groups = post->groups,
        .group_ops = post->group_ops,
        .queued = post->writes.weight + post->reads.weight + post->longs.weight,
        .waits = post->waits.task_count + post->waits.claim_count,
        .is_writing = post->is_writing,
    };
    pthread_mutex_unlock(&post->mutex);
    return stats;
}

void fa_post_on_group(struct fa_post *post, void (*tell)(void *ctx, size_t ops), void *ctx)
{
    post->tell_ctx = ctx;
    post->tell_group = tell;
}

static void destroy(struct fa_post *post)
{
    pthread_mutex_lock(&post->mutex);
    post->is_over = true;
    pthread_cond_broadcast(&post->writes.cond);
    pthread_cond_broadcast(&post->reads.cond);
    pthread_cond_broadcast(&post->longs.cond);
    pthread_cond_broadcast(&post->clock_cond);
    pthread_mutex_unlock(&post->mutex);
    for (size_t i = 0; i < post->thread_count; i++)
        pthread_join(post->threads[i], NULL);
    fa_service_unlisten(post->service, &post->listener);
    pthread_cond_destroy(&post->writes.cond);
    pthread_cond_destroy(&post->reads.cond);
    pthread_cond_destroy(&post->longs.cond);
    pthread_cond_destroy(&post->clock_cond);
    pthread_cond_destroy(&post->idle_cond);
    pthread_mutex_destroy(&post->mutex);
    fa_waits_finish(&post->waits);
    free(post->ops);
    free(post);
}

void fa_post_close(struct fa_post *post)
{
    if (post == NULL)
        return;
    pthread_mutex_lock(&post->mutex);
    post->is_closing = post->waits_are_over = true;
    expire_until(post, INT64_MAX);
    while (post->under_way > 0)
        pthread_cond_wait(&post->idle_cond, &post->mutex);
    pthread_mutex_unlock(&post->mutex);
    destroy(post);
}

static void queue_init(struct queue *queue)
{
    fa_ring_init(&queue->ring);
    pthread_cond_init(&queue->cond, NULL);
}

static void init(struct fa_post *post, struct fa_service *service)
{
    pthread_condattr_t attr;

    post->service = service;
    queue_init(&post->writes);
    queue_init(&post->reads);
    queue_init(&post->longs);
    fa_waits_init(&post->waits);
    post->listener = (struct fa_listener){.tell = on_news, .ctx = post};
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_mutex_init(&post->mutex, NULL);
    pthread_cond_init(&post->clock_cond, &attr);
    pthread_cond_init(&post->idle_cond, NULL);
    pthread_condattr_destroy(&attr);
    fa_service_listen(service, &post->listener);
}

enum faina_code fa_post_open(struct fa_post **out, struct fa_service *service,
                             struct faina_error *err)
{
    static const struct {
        void *(*run)(void *);
        const char *name; /* for people with top */
    } runs[READERS + 3] = {{run_writer, "fa-writer"},
                           {run_clock, "fa-clock"},
                           {run_reader, "fa-reader"},
                           {run_reader, "fa-reader"},
                           {run_large, "fa-large"}};
    struct fa_post *post = fa_alloc_zero(1, sizeof(*post));

    init(post, service);
    for (size_t i = 0; i < FA_COUNT(runs); i++) {
        int rc = pthread_create(&post->threads[i], NULL, runs[i].run, post);

        if (rc != 0) {
            destroy(post);
            return fa_error_set(err, FAINA_UNAVAILABLE, "no thread can be started: %s",
                                strerror(rc));
        }
        pthread_setname_np(post->threads[i], runs[i].name);
        post->thread_count++;
    }
    *out = post;
    return FAINA_OK;
}
