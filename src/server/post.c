/*
 * post.c - running operations for a server that must not block.
 *
 *     fa_post -> changes ----------> fa_service_post -> done
 *             -> reads -> [readers] -> fa_service_run -> done
 *             -> longs -> [large] ---> work ----------> done
 *
 * Waits are in waits.h. After a notification of work some of the waiting claims are posted to the
 * engine; when all of these are done, the next ones are. Readers read again tasks that have ended,
 * and the clock thread ends the waits whose time is over.
 *
 * The mutex guards everything here but the atomics; nothing blocks while it is held, and neither
 * the service nor `done` is called under it. Notifications come from the thread that commits.
 */
#include "server/post.h"

#include "base/clock.h"
#include "model/states.h"
#include "server/waits.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#define QUEUE_WEIGHT_MAX 50000
#define READERS 2
#define RECHECK_US 5000000

struct queue {
    struct fa_ring_link ring;
    size_t weight;
    pthread_cond_t cond; /* where its threads sleep */
};

struct fa_post {
    struct fa_service *service;
    struct fa_listener listener;

    /* Weight of what was accepted and is not done, and of calls that use this struct after
     * `done`. */
    atomic_size_t under_way;
    atomic_bool is_closing;

    pthread_mutex_t mutex;
    pthread_cond_t clock_cond;
    struct queue reads, longs;
    struct fa_waits waits;
    size_t pass_count; /* claims of the pass that the engine has */
    bool is_over, waits_are_over;

    pthread_t threads[READERS + 2];
    size_t thread_count;
};

/* Rings by `link` --------------------------------------------------------------------------- */

static struct fa_posted *ring_take(struct fa_ring_link *ring)
{
    struct fa_posted *posted;

    if (fa_ring_is_empty(ring))
        return NULL;
    posted = FA_CONTAINER_OF(ring->next, struct fa_posted, link);
    fa_ring_remove(&posted->link);
    return posted;
}

/* Accepting and finishing ------------------------------------------------------------------- */

static void begin(struct fa_post *post, struct fa_posted *posted)
{
    posted->post = post;
    posted->weight = posted->work != NULL ? 1 : posted->count;
    atomic_fetch_add(&post->under_way, posted->weight);
}

/* P1. `done` may free the memory that `posted` is in, and then fa_post_close may free `post`. */
static void finish(struct fa_post *post, struct fa_posted *posted)
{
    size_t weight = posted->weight;

    posted->done(posted);
    atomic_fetch_sub(&post->under_way, weight);
}

/* Takes a wait out of everything. The mutex is held. */
static void forget(struct fa_post *post, struct fa_posted *posted)
{
    fa_waits_remove(&post->waits, posted);
    posted->state = FA_POST_IDLE;
}

/* The mutex is held. */
static void begin_wait(struct fa_post *post, struct fa_posted *posted)
{
    posted->is_over = post->waits_are_over;
    if (fa_waits_add(&post->waits, posted))
        pthread_cond_signal(&post->clock_cond);
}

static void set_deadline(struct fa_posted *posted, int64_t timeout_ms)
{
    posted->deadline_us = fa_clock_mono_us() + (timeout_ms > 0 ? timeout_ms * 1000 : 0);
}

/* Changes ----------------------------------------------------------------------------------- */

static void finish_claim(struct fa_post *post, struct fa_posted *posted);

static void on_changed(struct fa_service_post *call)
{
    struct fa_posted *posted = FA_CONTAINER_OF(call, struct fa_posted, call);
    struct fa_post *post = posted->post;

    if (posted->kind == FA_POST_CLAIM_WAIT)
        finish_claim(post, posted);
    else
        finish(post, posted);
}

static enum faina_code change(struct fa_post *post, struct fa_posted *posted)
{
    posted->call =
        (struct fa_service_post){.ops = posted->ops, .count = posted->count, .done = on_changed};
    return fa_service_post(post->service, &posted->call);
}

bool fa_posted_writes(const struct fa_posted *posted)
{
    return posted->work == NULL && posted->count > 0 && fa_op_writes(posted->ops[0].kind);
}

/* Reads and work ---------------------------------------------------------------------------- */

static struct queue *queue_of(struct fa_post *post, const struct fa_posted *posted)
{
    return posted->work != NULL && posted->is_long ? &post->longs : &post->reads;
}

/* The mutex is held. */
static void enqueue(struct queue *queue, struct fa_posted *posted)
{
    posted->state = FA_POST_QUEUED;
    fa_ring_add(&queue->ring, &posted->link);
    queue->weight += posted->weight;
}

static enum faina_code post_read(struct fa_post *post, struct fa_posted *posted)
{
    struct queue *queue = queue_of(post, posted);
    bool has_room;

    pthread_mutex_lock(&post->mutex);
    has_room = queue->weight == 0 || queue->weight + posted->weight <= QUEUE_WEIGHT_MAX;
    if (has_room) {
        begin_wait(post, posted);
        enqueue(queue, posted);
    }
    pthread_mutex_unlock(&post->mutex);
    if (!has_room)
        return FAINA_OVERLOADED;
    pthread_cond_signal(&queue->cond); /* after the unlock: the thread needs the mutex first */
    return FAINA_OK;
}

/* A task may have ended. The mutex is held. */
static void read_again(void *ctx, struct fa_posted *posted)
{
    struct fa_post *post = ctx;

    if (posted->state != FA_POST_WAITS) {
        posted->must_reread = true;
        return;
    }
    enqueue(&post->reads, posted);
    pthread_cond_signal(&post->reads.cond);
}

/* True: the wait, if it is one, is over. The mutex is held. */
static bool settle_read(struct fa_post *post, struct fa_posted *posted)
{
    const struct fa_op *op = &posted->ops[0];

    if (posted->kind == FA_POST_PLAIN) {
        posted->state = FA_POST_IDLE;
        return true;
    }
    if (op->code != FAINA_OK || fa_status_is_ended(op->task->status) || posted->is_over) {
        forget(post, posted);
        return true;
    }
    fa_arena_finish(&posted->answers);
    posted->state = FA_POST_WAITS;
    if (posted->must_reread) {
        posted->must_reread = false;
        read_again(post, posted);
    } else {
        fa_service_expect(post->service, &posted->id);
    }
    return false;
}

static void run_queue(struct fa_post *post, struct queue *queue)
{
    pthread_mutex_lock(&post->mutex);
    for (;;) {
        struct fa_posted *posted;
        bool is_gone;

        while (fa_ring_is_empty(&queue->ring) && !post->is_over)
            pthread_cond_wait(&queue->cond, &post->mutex);
        posted = ring_take(&queue->ring);
        if (posted == NULL)
            break;
        queue->weight -= posted->weight;
        posted->state = FA_POST_RUNS;
        pthread_mutex_unlock(&post->mutex);
        /* A wait whose client has gone ends with its next read. */
        is_gone = posted->kind == FA_POST_TASK_WAIT && posted->is_gone && posted->is_gone(posted);
        if (posted->work != NULL)
            posted->work(posted);
        else
            fa_service_run(post->service, posted->ops, posted->count);
        pthread_mutex_lock(&post->mutex);
        posted->is_over |= is_gone;
        if (settle_read(post, posted)) {
            pthread_mutex_unlock(&post->mutex);
            finish(post, posted);
            pthread_mutex_lock(&post->mutex);
        }
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

/* Waiting claims ---------------------------------------------------------------------------- */

/* Frees all memory of the answer: the claim may wait for long. */
static void answer_none(struct fa_posted *posted)
{
    fa_arena_finish(&posted->answers);
    posted->none = (struct faina_tasks){0};
    posted->ops[0].code = FAINA_OK;
    posted->ops[0].tasks = &posted->none;
}

static bool is_gone(const struct fa_posted *posted)
{
    return posted->is_gone != NULL && posted->is_gone(posted);
}

/* After a run. The last one of a group of the pass begins the next group. */
static void settle_claim(struct fa_post *post, struct fa_posted *posted, bool has_gone)
{
    const struct fa_op *op = &posted->ops[0];
    bool is_answered;

    pthread_mutex_lock(&post->mutex);
    is_answered = has_gone || posted->is_over || op->code != FAINA_OK || op->tasks->count > 0;
    post->pass_count -= posted->is_in_pass;
    posted->is_in_pass = false;
    if (is_answered) {
        forget(post, posted);
    } else {
        answer_none(posted);
        fa_waits_go_on(&post->waits, posted);
    }
    pthread_mutex_unlock(&post->mutex);
    if (is_answered)
        finish(post, posted);
}

/* Claims that are run together (P4): as one job, so that no other operation comes between them and
 * gives a task to a younger one. */
struct pass {
    struct fa_posted posted; /* first member; its operations are copies of the claims' own */
    struct fa_ring_link group;
};

/* Each claim gets the result of its copy. The last one begins the next group. */
static void finish_pass(struct fa_posted *posted)
{
    struct pass *pass = (struct pass *)posted;
    struct fa_posted *claim;

    for (size_t i = 0; (claim = ring_take(&pass->group)) != NULL; i++) {
        fa_op_copy(&claim->ops[0], &posted->ops[i]);
        finish_claim(posted->post, claim);
    }
    free(posted->ops);
    free(pass);
}

/* Claims whose clients have gone must not take tasks. */
static void end_gone(struct fa_post *post, struct fa_ring_link *group)
{
    struct fa_ring_link left;
    struct fa_posted *posted;

    fa_ring_init(&left);
    while ((posted = ring_take(group)) != NULL) {
        if (is_gone(posted)) {
            answer_none(posted);
            settle_claim(post, posted, true);
        } else {
            fa_ring_add(&left, &posted->link);
        }
    }
    while ((posted = ring_take(&left)) != NULL)
        fa_ring_add(group, &posted->link);
}

/* Posts the claims of a group; `size` is at least their number. */
static void post_group(struct fa_post *post, struct fa_ring_link *group, size_t size)
{
    struct pass *pass = fa_alloc_zero(1, sizeof(*pass));
    struct fa_posted *posted;

    fa_ring_init(&pass->group);
    pass->posted.ops = fa_alloc_zero(size, sizeof(*pass->posted.ops));
    pass->posted.done = finish_pass;
    while ((posted = ring_take(group)) != NULL) {
        pass->posted.ops[pass->posted.count++] = posted->ops[0];
        fa_ring_add(&pass->group, &posted->link);
    }
    begin(post, &pass->posted);
    if (pass->posted.count > 0 && change(post, &pass->posted) == FAINA_OK)
        return;
    while ((posted = ring_take(&pass->group)) != NULL) { /* they wait on */
        answer_none(posted);
        settle_claim(post, posted, false);
    }
    finish(post, &pass->posted);
}

/* P4. Nothing happens while a group of the pass is under way. */
static void run_pass(struct fa_post *post)
{
    pthread_mutex_lock(&post->mutex);
    while (post->pass_count == 0 && fa_waits_has_pass(&post->waits)) {
        struct fa_ring_link group;
        size_t count;

        fa_ring_init(&group);
        count = fa_waits_take(&post->waits, &group);
        post->pass_count = count + 1; /* so that none of them begins the next group too early */
        pthread_mutex_unlock(&post->mutex);
        end_gone(post, &group);
        post_group(post, &group, count + 1);
        pthread_mutex_lock(&post->mutex);
        post->pass_count--;
    }
    pthread_mutex_unlock(&post->mutex);
}

/* A client may have gone while the transaction ran: a worker ends a poll when its types change. If
 * the release fails, the leases expire. */
static void finish_claim(struct fa_post *post, struct fa_posted *posted)
{
    const struct fa_op *op = &posted->ops[0];
    bool has_gone = op->code == FAINA_OK && op->tasks->count > 0 && is_gone(posted);

    if (has_gone) {
        fa_post_release_claimed(post, op);
        answer_none(posted);
    }
    atomic_fetch_add(&post->under_way, 1); /* until run_pass has returned */
    settle_claim(post, posted, has_gone);
    run_pass(post);
    atomic_fetch_sub(&post->under_way, 1);
}

/* One RELEASE for each task of a claim; nothing in them belongs to the claim. */
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

struct release {
    struct fa_posted posted; /* first member */
    struct fa_arena arena;
};

static void free_release(struct fa_posted *posted)
{
    struct release *release = (struct release *)posted;

    fa_arena_finish(&release->arena);
    free(release);
}

/* Also while closing: the claim itself is under way, or was a moment ago. */
void fa_post_release_claimed(struct fa_post *post, const struct fa_op *claim)
{
    struct release *release = fa_alloc_zero(1, sizeof(*release));

    release->posted.ops = make_releases(claim, &release->arena);
    release->posted.count = claim->tasks->count;
    release->posted.done = free_release;
    begin(post, &release->posted);
    if (change(post, &release->posted) != FAINA_OK)
        finish(post, &release->posted); /* the leases expire */
}

/* Posting ----------------------------------------------------------------------------------- */

static enum faina_code post_claim(struct fa_post *post, struct fa_posted *posted)
{
    enum faina_code code;

    pthread_mutex_lock(&post->mutex);
    begin_wait(post, posted);
    posted->run_mark = post->waits.ready_mark;
    posted->state = FA_POST_RUNS;
    pthread_mutex_unlock(&post->mutex);
    code = change(post, posted);
    if (code == FAINA_OK)
        return FAINA_OK;
    pthread_mutex_lock(&post->mutex);
    forget(post, posted);
    pthread_mutex_unlock(&post->mutex);
    return code;
}

static enum faina_code post_any(struct fa_post *post, struct fa_posted *posted)
{
    enum faina_code code;

    assert(posted->done);
    begin(post, posted);
    if (atomic_load(&post->is_closing))
        code = FAINA_STORE_CLOSED;
    else if (posted->kind == FA_POST_CLAIM_WAIT)
        code = post_claim(post, posted);
    else if (fa_posted_writes(posted))
        code = change(post, posted);
    else
        code = post_read(post, posted);
    if (code != FAINA_OK)
        atomic_fetch_sub(&post->under_way, posted->weight);
    return code;
}

enum faina_code fa_post(struct fa_post *post, struct fa_posted *posted)
{
    assert(posted->work || posted->count > 0);
    posted->kind = FA_POST_PLAIN;
    return post_any(post, posted);
}

enum faina_code fa_post_claim_wait(struct fa_post *post, struct fa_posted *posted)
{
    assert(posted->count == 1 && posted->ops[0].kind == FA_OP_CLAIM_NEXT);
    posted->kind = FA_POST_CLAIM_WAIT;
    posted->ops[0].arena = &posted->answers;
    posted->types = fa_claim_types(posted->ops[0].claim);
    set_deadline(posted, posted->ops[0].claim->wait_ms);
    return post_any(post, posted);
}

enum faina_code fa_post_wait(struct fa_post *post, struct fa_posted *posted, int64_t timeout_ms)
{
    assert(posted->count == 1 && posted->ops[0].kind == FA_OP_GET);
    posted->ops[0].arena = &posted->answers;
    /* The read refuses an id that can't be parsed. */
    posted->kind = posted->ops[0].id && fa_id_parse(posted->ops[0].id, &posted->id)
                       ? FA_POST_TASK_WAIT
                       : FA_POST_PLAIN;
    set_deadline(posted, timeout_ms);
    return post_any(post, posted);
}

/* Notifications ----------------------------------------------------------------------------- */

static void on_commit(void *ctx, const struct fa_notification *notification)
{
    struct fa_post *post = ctx;
    bool has_pass = false;

    pthread_mutex_lock(&post->mutex);
    if (notification->ready_types)
        has_pass = fa_waits_notify(&post->waits, notification->ready_types);
    if (notification->has_any_ended)
        fa_waits_each(&post->waits, NULL, read_again, post);
    for (size_t i = 0; post->waits.task_count > 0 && i < notification->ended_count; i++)
        fa_waits_each(&post->waits, &notification->ended[i], read_again, post);
    pthread_mutex_unlock(&post->mutex);
    if (has_pass)
        run_pass(post);
}

/* The clock --------------------------------------------------------------------------------- */

/* The time of a wait is over. True: it is answered. The mutex is held. */
static bool expire(struct fa_post *post, struct fa_posted *posted)
{
    posted->is_over = true;
    if (posted->state != FA_POST_WAITS)
        return false; /* it is answered when it was run */
    if (posted->kind == FA_POST_TASK_WAIT) {
        read_again(post, posted); /* the answer is its present state */
        return false;
    }
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
    pthread_mutex_unlock(&post->mutex);
    while ((posted = ring_take(&answered)) != NULL)
        finish(post, posted);
    pthread_mutex_lock(&post->mutex);
}

void fa_post_cancel_claim(struct fa_post *post, struct fa_posted *posted)
{
    bool is_answered;

    pthread_mutex_lock(&post->mutex);
    is_answered = posted->kind == FA_POST_CLAIM_WAIT && expire(post, posted);
    pthread_mutex_unlock(&post->mutex);
    if (is_answered)
        finish(post, posted);
}

/* P5. The mutex is held on entry and on return. */
static void recheck(struct fa_post *post)
{
    fa_waits_notify(&post->waits, FA_TYPES_ALL);
    fa_waits_each(&post->waits, NULL, read_again, post);
    pthread_mutex_unlock(&post->mutex);
    run_pass(post);
    pthread_mutex_lock(&post->mutex);
}

static void *run_clock(void *ctx)
{
    struct fa_post *post = ctx;
    int64_t recheck_us = fa_clock_mono_us() + RECHECK_US;

    pthread_mutex_lock(&post->mutex);
    while (!post->is_over) {
        int64_t now_us = fa_clock_mono_us(), until_us;
        struct timespec until;

        if (now_us >= recheck_us) {
            recheck(post);
            recheck_us = now_us + RECHECK_US;
        }
        expire_until(post, now_us);
        until_us = fa_waits_next_us(&post->waits);
        if (until_us > recheck_us)
            until_us = recheck_us;
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
        .queued = atomic_load(&post->under_way),
        .waits = post->waits.task_count + post->waits.claim_count,
    };
    stats.queued -= stats.waits < stats.queued ? stats.waits : stats.queued;
    pthread_mutex_unlock(&post->mutex);
    return stats;
}

static void destroy(struct fa_post *post)
{
    pthread_mutex_lock(&post->mutex);
    post->is_over = true;
    pthread_cond_broadcast(&post->reads.cond);
    pthread_cond_broadcast(&post->longs.cond);
    pthread_cond_broadcast(&post->clock_cond);
    pthread_mutex_unlock(&post->mutex);
    for (size_t i = 0; i < post->thread_count; i++)
        pthread_join(post->threads[i], NULL);
    fa_service_unlisten(post->service, &post->listener);
    pthread_cond_destroy(&post->reads.cond);
    pthread_cond_destroy(&post->longs.cond);
    pthread_cond_destroy(&post->clock_cond);
    pthread_mutex_destroy(&post->mutex);
    fa_waits_finish(&post->waits);
    free(post);
}

void fa_post_close(struct fa_post *post)
{
    const struct timespec moment = {.tv_nsec = 1000000};

    if (post == NULL)
        return;
    atomic_store(&post->is_closing, true);
    fa_post_end_waits(post);
    while (atomic_load(&post->under_way) > 0)
        nanosleep(&moment, NULL);
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
    queue_init(&post->reads);
    queue_init(&post->longs);
    fa_waits_init(&post->waits);
    post->listener = (struct fa_listener){.on_commit = on_commit, .ctx = post};
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_mutex_init(&post->mutex, NULL);
    pthread_cond_init(&post->clock_cond, &attr);
    pthread_condattr_destroy(&attr);
    fa_service_listen(service, &post->listener);
}

enum faina_code fa_post_open(struct fa_post **out, struct fa_service *service,
                             struct faina_error *err)
{
    static const struct {
        void *(*run)(void *);
        const char *name; /* as `top` shows it */
    } runs[READERS + 2] = {{run_clock, "fa-clock"},
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
