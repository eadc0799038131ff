/*
 * pool_claim.c - the claimer: claims tasks for free slots.
 *
 * Of a type with a concurrency limit only as many tasks are claimed as its limit leaves free, so
 * that every held task can start. A round therefore makes several claims:
 *
 *   1. All open types together, in the order of the queue, for as many tasks as each of them has
 *      free.
 *   2. The types without a limit, for the rest of the slots.
 *   3. Each type with a limit, for what its limit and the slots leave.
 *
 * When the first claim finds nothing, a claim waits for one task of any open type (for many, when
 * no type has a limit). Then the next round begins.
 */
#include "worker/pool/pool_inner.h"

#include "base/clock.h"
#include "json/json.h"
#include "model/limits.h"
#include "model/states.h"
#include "model/trace.h"

#include <assert.h>
#include <stdlib.h>

/* The longest wait of a claim. Then it is made again, so that a lost wake-up costs only time. */
#define WAIT_MS 30000
/* The backoff after an error: at first, and at most. */
#define PAUSE_MIN_US 100000
#define PAUSE_MAX_US 5000000
/* The prefetch: tasks for this long (P1) ... */
#define AHEAD_US 20000
/* ... but not more than this many tasks: half of them are claimed at once. */
#define AHEAD_MAX (2 * FA_CLAIM_LIMIT_MAX)
/* With a source of tasks: how long it waits for some, and how many are claimed at once. */
#define OFFERS_WAIT_MS 250
#define OFFERS_MAX 256
#define FULL_US 200000 /* it is paused when no slot was free for so long */
/* Subtasks of a parent that resumes: how many are read at once, and the size of all. */
#define CHILDREN_PAGE 250
#define CHILDREN_SIZE_MAX ((size_t)256 * 1024 * 1024)

/* The claims to be made; all in the round's arena. */
struct round {
    struct fa_arena arena;
    const char **types; /* the open ones: those without a limit first */
    int *free;          /* per type with a limit */
    size_t type_count, unlimited_count;
    const char **services;
    size_t service_count;
    int limit;
};

/* How many tasks end within AHEAD_US at the present rate. */
static int64_t ahead(const struct fa_pool *pool)
{
    int64_t count;

    if (pool->end_us == 0 || fa_clock_mono_us() - pool->end_us > AHEAD_US)
        return 0;
    count = AHEAD_US / (pool->gap_us > 0 ? pool->gap_us : 1);
    return count < AHEAD_MAX ? count : AHEAD_MAX;
}

/* The prefetch is filled up when it is half empty, not for each task that leaves it. */
int fa_pool_room(const struct fa_pool *pool)
{
    int64_t free = pool->config.concurrency - pool->running - pool->queue_count;
    int64_t more = ahead(pool);

    if (free <= 0 && pool->queue_count > more / 2)
        return 0;
    free += more;
    return free > FA_CLAIM_LIMIT_MAX ? FA_CLAIM_LIMIT_MAX : (int)free;
}

static void copy_types(const struct fa_pool *pool, struct round *round)
{
    round->types = fa_arena_zero(&round->arena, pool->handler_count + 1, sizeof(char *));
    round->free = fa_arena_zero(&round->arena, pool->handler_count + 1, sizeof(int));
    for (int has_limit = 0; has_limit <= 1; has_limit++) {
        for (size_t i = 0; i < pool->handler_count; i++) {
            const struct fa_handler *handler = pool->handlers[i];

            if ((handler->concurrency > 0) != has_limit)
                continue;
            if (has_limit && handler->slots->held >= handler->concurrency)
                continue;
            round->free[round->type_count] = handler->concurrency - handler->slots->held;
            round->types[round->type_count++] = fa_arena_strdup(&round->arena, handler->type);
        }
        if (!has_limit)
            round->unlimited_count = round->type_count;
    }
}

/* Waits for a free slot. With the mutex held, but for the calls of the source. */
static void wait_beside_source(struct fa_pool *pool)
{
    int64_t until_us = fa_clock_mono_us() + FULL_US;

    fa_pool_wait(pool, &pool->claimer_cond, until_us);
    if (fa_clock_mono_us() < until_us)
        return;
    pthread_mutex_unlock(&pool->mutex);
    pool->config.source->pause(pool->config.source->ctx);
    pthread_mutex_lock(&pool->mutex);
}

/* Waits until there is room. False: the pool drains. */
static bool begin_round(struct fa_pool *pool, struct round *round)
{
    bool is_draining;

    *round = (struct round){0};
    pthread_mutex_lock(&pool->mutex);
    for (;;) {
        atomic_store(&pool->is_claim_stale, false);
        round->limit = fa_pool_room(pool);
        if (!pool->is_draining && round->limit > 0)
            copy_types(pool, round);
        if (pool->is_draining || round->type_count > 0)
            break;
        pool->is_claiming = false;
        if (pool->config.source)
            wait_beside_source(pool);
        else
            pthread_cond_wait(&pool->claimer_cond, &pool->mutex);
        fa_arena_reset(&round->arena);
    }
    if (pool->services) {
        round->services = fa_arena_strs(&round->arena, pool->services, pool->service_count);
        round->service_count = pool->service_count;
    }
    is_draining = pool->is_draining;
    pool->is_claiming = !is_draining;
    pthread_mutex_unlock(&pool->mutex);
    return !is_draining;
}

/* ------------------------------------------------------------------------------------------
 * Claimed tasks
 */

static void put_child(struct fa_json_writer *w, const struct faina_task *child)
{
    fa_json_begin_object(w);
    fa_json_set_str(w, "id", child->id);
    fa_json_set_str(w, "name", child->name);
    fa_json_set_str(w, "type", child->type);
    fa_json_set_str(w, "status", faina_status_name(child->status));
    fa_json_set_raw(w, "output", child->output);
    fa_json_set_raw(w, "error", child->error);
    fa_json_end_object(w);
}

/* Reads all subtasks, page by page, into one JSON array. */
static enum faina_code read_children(struct fa_pool *pool, const char *id, struct fa_buf *out,
                                     struct faina_error *err)
{
    struct fa_arena pages[2] = {{0}}; /* a page's cursor is in use while the next one is read */
    struct fa_json_writer writer;
    const char *cursor = NULL;
    enum faina_code code;
    int turn = 0;

    fa_json_writer_init(&writer, out, 0);
    fa_json_begin_array(&writer);
    do {
        struct fa_op op = {.kind = FA_OP_CHILDREN, .id = id, .arena = &pages[turn]};

        op.page.limit = CHILDREN_PAGE;
        op.page.cursor = cursor;
        op.page.ends = true;
        code = fa_service_run_one(pool->service, &op, err);
        for (size_t i = 0; code == FAINA_OK && i < op.tasks->count; i++)
            put_child(&writer, &op.tasks->items[i]);
        cursor = code == FAINA_OK ? op.tasks->next_cursor : NULL;
        turn = !turn;
        fa_arena_reset(&pages[turn]);
    } while (cursor && !out->overflow);
    fa_json_end_array(&writer);
    fa_arena_finish(&pages[0]);
    fa_arena_finish(&pages[1]);
    return code;
}

/* Whether this dependency failed. If others were removed, the one that is left may have completed.
 */
static bool has_ended_badly(struct fa_pool *pool, struct fa_job *job, const char *id)
{
    struct fa_op op = {.kind = FA_OP_GET, .id = id, .arena = &job->arena};

    return fa_service_run_one(pool->service, &op, NULL) == FAINA_OK &&
           fa_status_is_ended(op.task->status) && op.task->status != FAINA_COMPLETED;
}

static struct fa_outcome fail_by_dependency(struct fa_pool *pool, struct fa_job *job)
{
    const struct faina_task *task = job->task;
    const char *which = "a dependency";

    if (task->depends_on_count == 0) /* a removed task is not listed as a dependency */
        return fa_outcome_fail(&job->arena, "dependency", true,
                               "a dependency ended badly and has been removed since");
    if (task->depends_on_count == 1 && has_ended_badly(pool, job, task->depends_on[0]))
        which = fa_arena_printf(&job->arena, "its dependency %s", task->depends_on[0]);
    return fa_outcome_fail(&job->arena, "dependency", true, "%s ended badly", which);
}

/* Whether an attempt has made subtasks, by the task's events. */
static bool has_blocked(struct fa_pool *pool, struct fa_job *job)
{
    struct fa_op op = {.kind = FA_OP_EVENTS, .id = job->task->id, .arena = &job->arena};

    op.page.limit = FA_LIST_LIMIT_MAX;
    if (fa_service_run_one(pool->service, &op, NULL) != FAINA_OK)
        return true;
    for (size_t i = 0; i < op.events->count; i++)
        if (op.events->items[i].actor == FAINA_ACTOR_WORKER &&
            strcmp(op.events->items[i].what, "blocked") == 0)
            return true;
    return false;
}

/* Whether a task without subtasks is in its error phase because of a dependency. The other cause is
 * subtasks that have been removed since; then the task was claimed before, to make them. */
static bool has_failed_dependency(struct fa_pool *pool, struct fa_job *job)
{
    const struct faina_task *task = job->task;

    return task->phase == FAINA_PHASE_ERROR &&
           (task->depends_on_count > 0 || task->fence == 1 || !has_blocked(pool, job));
}

/* Reads the subtasks for a job that resumes. False: it has ended with *outcome. */
static bool prepare(struct fa_pool *pool, struct fa_job *job, struct fa_outcome *outcome)
{
    struct faina_error err;
    enum faina_code code;
    struct fa_buf buf;

    fa_error_clear(&err);
    fa_buf_init(&buf, CHILDREN_SIZE_MAX);
    code = read_children(pool, job->task->id, &buf, &err);
    if (code == FAINA_OK && job->handler->needs_completed && strcmp(buf.ptr, "[]") == 0 &&
        has_failed_dependency(pool, job))
        *outcome = fail_by_dependency(pool, job);
    else if (code == FAINA_OK && !buf.overflow)
        job->subtasks = fa_arena_copy(&job->arena, buf.ptr, buf.len);
    else if (code == FAINA_OK)
        *outcome = fa_outcome_fail(&job->arena, "subtasks", true,
                                   "the outputs of the subtasks are larger than %zu MiB in all",
                                   CHILDREN_SIZE_MAX >> 20);
    else
        *outcome = (struct fa_outcome){.kind = FA_OUTCOME_RELEASE};
    fa_buf_finish(&buf);
    return job->subtasks != NULL;
}

static struct fa_job *make_job(struct fa_pool *pool, struct fa_claimed *claimed,
                               struct faina_task *task, int64_t lease_us)
{
    struct fa_job *job = fa_alloc_zero(1, sizeof(*job));
    char trace[FA_TRACE_SIZE];

    /* A server has added it to the tasks of its clients. */
    if (!task->traceparent && fa_trace_of_claim(pool->config.sampler, task, trace))
        task->traceparent = fa_arena_strdup(&claimed->arena, trace);
    job->pool = pool;
    job->task = task;
    job->claimed = claimed;
    job->refs = 1;
    job->lease_us = lease_us;
    job->timeout_us = INT64_MAX;
    return job;
}

static void enqueue(struct fa_pool *pool, struct fa_job *job)
{
    job->state = FA_JOB_QUEUED;
    job->queued_us = fa_clock_mono_us();
    job->queue_next = NULL;
    *pool->queue_last = job;
    pool->queue_last = &job->queue_next;
    pool->queue_count++;
    job->handler->slots->held++;
}

/* Whether the task gets the resources of the handler's settings: neither its submit nor its type
 * named any. */
static bool lacks_resources(const struct fa_job *job)
{
    return job->task->resource_count == 0 && job->handler->settings.resource_count > 0;
}

/* Queues the job for a slot, or ends it: with `outcome` when it isn't ready. With the mutex held.
 * */
static void enqueue_or_end(struct fa_pool *pool, struct fa_job *job, bool is_ready,
                           struct fa_outcome outcome)
{
    bool has_handler = job->handler != &pool->missing_handler;

    if (is_ready && has_handler && !pool->has_no_amend && lacks_resources(job))
        outcome.kind = FA_OUTCOME_AMEND;
    if (!is_ready || !has_handler || pool->is_draining || outcome.kind == FA_OUTCOME_AMEND ||
        fa_job_stop(job) != FA_STOP_NONE) {
        fa_pool_end_job(job, &outcome);
        return;
    }
    enqueue(pool, job);
}

/* Adds a claimed task to the held ones, whose leases are renewed. False: it needs its subtasks
 * first. With the mutex held. */
static bool take_job(struct fa_pool *pool, struct fa_job *job)
{
    const struct fa_outcome release = {.kind = FA_OUTCOME_RELEASE};
    bool is_ready = job->task->phase == FAINA_PHASE_START;
    struct fa_handler *handler = fa_pool_find(pool, job->task->type);

    job->handler = handler ? handler : &pool->missing_handler;
    job->handler->refs++;
    fa_pool_held_add(job);
    pool->stats.claimed++;
    fa_pool_watch(pool, job->lease_us);
    job->state = FA_JOB_PREPARING;
    if (is_ready)
        enqueue_or_end(pool, job, true, release);
    return is_ready;
}

/* Reads the subtasks, which may take a while, and then queues the job. */
static void prepare_job(struct fa_pool *pool, struct fa_job *job)
{
    struct fa_outcome outcome = {.kind = FA_OUTCOME_RELEASE};
    bool is_ready = prepare(pool, job, &outcome);
    struct fa_job *list;

    pthread_mutex_lock(&pool->mutex);
    enqueue_or_end(pool, job, is_ready, outcome);
    list = fa_pool_dispatch(pool);
    pthread_mutex_unlock(&pool->mutex);
    fa_pool_start(list);
}

/* All tasks of a claim are held, and those that can start do, before the others are prepared. They
 * are queued together: a handler thread that is faster than this one would sleep between any two.
 * */
static void take_jobs(struct fa_pool *pool, struct fa_claimed *claimed, struct faina_tasks *tasks)
{
    /* The lease began when the engine made the claim, a little before now. The margin covers the
     * difference, and the first heartbeat is soon. */
    int64_t lease_us = fa_clock_mono_us() + pool->lease_us - pool->margin_us;
    struct fa_job **jobs = fa_alloc_zero(tasks->count + 1, sizeof(struct fa_job *));
    size_t later_count = 0;
    struct fa_job *list;

    claimed->refs = tasks->count + 1; /* one per job, and one for this function */
    for (size_t i = 0; i < tasks->count; i++)
        jobs[i] = make_job(pool, claimed, &tasks->items[i], lease_us);
    pthread_mutex_lock(&pool->mutex);
    for (size_t i = 0; i < tasks->count; i++) {
        if (!take_job(pool, jobs[i]))
            jobs[later_count++] = jobs[i];
    }
    list = fa_pool_dispatch(pool);
    pthread_mutex_unlock(&pool->mutex);
    fa_pool_start(list);
    for (size_t i = 0; i < later_count; i++)
        prepare_job(pool, jobs[i]);
    free(jobs);
    pthread_mutex_lock(&pool->mutex);
    fa_pool_claimed_unref(claimed);
    pthread_mutex_unlock(&pool->mutex);
}

/* ------------------------------------------------------------------------------------------
 * Claiming
 */

/* Subtracts the tasks from what is free of the types with a limit. */
static void count_taken(struct round *round, const struct faina_tasks *tasks)
{
    for (size_t i = round->unlimited_count; i < round->type_count; i++)
        for (size_t k = 0; k < tasks->count; k++)
            round->free[i] -= fa_name_is_same(round->types[i], tasks->items[k].type);
}

/* How many tasks can start whatever their types are. */
static int free_of_all(const struct round *round)
{
    int least = round->limit;

    for (size_t i = round->unlimited_count; i < round->type_count; i++)
        least = round->free[i] < least ? round->free[i] : least;
    return least;
}

/* Returns the count of tasks, or -1 with the error. */
static int claim_tasks(struct fa_pool *pool, struct round *round, const char *const *types,
                       size_t type_count, int limit, int64_t wait_ms, struct faina_error *err)
{
    struct fa_claimed *claimed = fa_alloc_zero(1, sizeof(*claimed));
    struct faina_claim claim = {
        .worker_id = pool->config.worker_id,
        .types = types,
        .type_count = type_count,
        .namespaces = pool->config.namespaces,
        .namespace_count = pool->config.namespace_count,
        .services = round->services,
        .service_count = round->service_count,
        .limit = limit,
        .lease_ms = pool->config.lease_ms,
        .wait_ms = wait_ms,
    };
    struct fa_op op = {.kind = FA_OP_CLAIM_NEXT, .claim = &claim, .arena = &claimed->arena};
    enum faina_code code;
    int count;

    op.give_up = &pool->is_claim_stale;
    code = fa_service_claim_wait(pool->service, &op, err);
    count = code == FAINA_OK ? (int)op.tasks->count : -1;
    if (count > 0) {
        count_taken(round, op.tasks);
        take_jobs(pool, claimed, op.tasks);
    } else {
        fa_arena_finish(&claimed->arena);
        free(claimed);
    }
    return count;
}

/* The claims of a round, as at the top of this file. */
static int claim_round(struct fa_pool *pool, struct round *round, struct faina_error *err)
{
    int first = free_of_all(round), left = round->limit, got;

    if (round->unlimited_count == round->type_count)
        return claim_tasks(pool, round, round->types, round->type_count, left, WAIT_MS, err);
    got = claim_tasks(pool, round, round->types, round->type_count, first, 0, err);
    if (got == 0)
        return claim_tasks(pool, round, round->types, round->type_count, 1, WAIT_MS, err);
    if (got < first) /* or an error */
        return got;
    if (round->unlimited_count > 0 && left > got) {
        int more =
            claim_tasks(pool, round, round->types, round->unlimited_count, left - got, 0, err);

        got = more < 0 ? more : got + more;
    }
    for (size_t i = round->unlimited_count; got >= 0 && i < round->type_count; i++) {
        int free = round->free[i] < left - got ? round->free[i] : left - got;
        int more = free > 0 ? claim_tasks(pool, round, &round->types[i], 1, free, 0, err) : 0;

        got = more < 0 ? more : got + more;
    }
    return got;
}

/* Whether this worker claims such tasks at all. */
static bool is_ours(const struct fa_pool *pool, const struct fa_offer *offer)
{
    bool is_named = pool->config.namespace_count == 0;

    for (size_t i = 0; i < pool->config.namespace_count; i++)
        is_named |= strcmp(pool->config.namespaces[i], offer->ns) == 0;
    return is_named;
}

/* Whether a slot is free for the type now; takes it. */
static bool takes_offer(struct round *round, const struct fa_offer *offer)
{
    for (size_t i = 0; i < round->type_count; i++) {
        if (!fa_name_is_same(round->types[i], offer->type))
            continue;
        if (i >= round->unlimited_count && round->free[i]-- <= 0)
            return false;
        return true;
    }
    return false;
}

/* Decides which offers are tried; returns their number, with their operations in `ops`. */
static size_t choose_offers(struct fa_pool *pool, struct round *round, struct fa_offer *offers,
                            int count, struct fa_claimed *claimed, struct fa_op *ops)
{
    size_t tried = 0;

    for (int i = 0; i < count; i++) {
        struct fa_offer *offer = &offers[i];

        offer->end = FA_OFFER_DONE;
        if (!is_ours(pool, offer) || !fa_pool_handles(pool, offer->type)) {
            fa_report(&pool->config.log, FA_LOG_WARN,
                      "skipping task %s: this worker handles no tasks of type %.200s in namespace "
                      "%.200s",
                      offer->id, offer->type, offer->ns);
            continue;
        }
        if (!takes_offer(round, offer)) {
            offer->end = FA_OFFER_LATER;
            continue;
        }
        ops[tried++] = (struct fa_op){
            .kind = FA_OP_CLAIM,
            .id = offer->id,
            .by = {.worker_id = pool->config.worker_id, .version = offer->version},
            .lease_ms = pool->config.lease_ms,
            .is_strict = true,
            .wants_task = true,
            .arena = &claimed->arena,
        };
    }
    return tried;
}

/* Claims what the source offers. Returns the number of tasks, or -1 with the error. */
static int claim_offered(struct fa_pool *pool, struct round *round, struct faina_error *err)
{
    const struct fa_claim_source *source = pool->config.source;
    struct fa_offer *offers = fa_arena_zero(&round->arena, OFFERS_MAX, sizeof(*offers));
    int limit = round->limit < OFFERS_MAX ? round->limit : OFFERS_MAX;
    int count = source->wait(source->ctx, offers, limit, OFFERS_WAIT_MS, err);
    struct fa_op *ops = fa_arena_zero(&round->arena, OFFERS_MAX, sizeof(*ops));
    struct fa_claimed *claimed;
    struct faina_tasks tasks = {0};
    size_t tried;
    int got = 0;

    if (count <= 0)
        return count;
    claimed = fa_alloc_zero(1, sizeof(*claimed));
    tried = choose_offers(pool, round, offers, count, claimed, ops);
    fa_service_run(pool->service, ops, tried);
    tasks.items = fa_arena_zero(&claimed->arena, tried + 1, sizeof(*tasks.items));
    for (size_t i = 0; i < tried; i++) {
        struct fa_offer *offer = FA_CONTAINER_OF(ops[i].id, struct fa_offer, id[0]);

        if (ops[i].code == FAINA_OK) {
            tasks.items[tasks.count++] = *ops[i].task;
        } else if (fa_pool_is_transient(ops[i].code)) {
            offer->end = FA_OFFER_RETURN;
            *err = ops[i].error;
            got = -1;
        } else {
            fa_report(&pool->config.log, FA_LOG_DEBUG, "skipping task %s: %s", offer->id,
                      ops[i].error.message);
        }
    }
    if (got == 0)
        got = (int)tasks.count;
    if (tasks.count > 0) {
        take_jobs(pool, claimed, &tasks);
    } else {
        fa_arena_finish(&claimed->arena);
        free(claimed);
    }
    source->settle(source->ctx, offers, count);
    return got;
}

void *fa_pool_claimer_main(void *arg)
{
    struct fa_pool *pool = arg;
    int64_t pause_us = 0;
    struct round round;

    while (begin_round(pool, &round)) {
        struct faina_error err;
        int got;

        fa_error_clear(&err);
        got = pool->config.source ? claim_offered(pool, &round, &err)
                                  : claim_round(pool, &round, &err);
        fa_arena_finish(&round.arena);
        if (got < 0) {
            if (pause_us == 0)
                fa_report(&pool->config.log, FA_LOG_ERROR, "can't claim: %s", err.message);
            fa_pool_back_off(pool, &pool->claimer_cond, &pool->is_draining, &pause_us, PAUSE_MIN_US,
                             PAUSE_MAX_US);
            continue;
        }
        if (pause_us > 0)
            fa_report(&pool->config.log, FA_LOG_INFO, "can claim again");
        pause_us = 0;
    }
    fa_arena_finish(&round.arena);
    return NULL;
}
