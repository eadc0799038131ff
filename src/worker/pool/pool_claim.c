/*
 * pool_claim.c - the claimer: finds work for free slots.
 *
 * No task is held that can't be started: of a type with a limit of its own, only as many as are
 * free of it. So as many as every open type has free are claimed of all of them together, the first
 * in line first; what else there is room for, of the types without a limit, and then of each that
 * has one. When there is nothing, it waits for one task of any open type (or for many, when none
 * has a limit), and then looks at all of them again.
 */
#include "runtime/pool_inner.h"

#include "base/clock.h"
#include "base/json.h"
#include "model/limits.h"
#include "model/states.h"

#include <assert.h>
#include <stdlib.h>

/* A wait lasts this long, then the claim is made anew: a lost wake-up costs time only. */
#define WAIT_MS 30000
/* After an error: at first, and at most. */
#define PAUSE_MIN_US 100000
#define PAUSE_MAX_US 5000000
/* Work for this long is claimed ahead of free slots (P1) ... */
#define AHEAD_US 20000
/* ... but not more than this many tasks: half of them are claimed at once. */
#define AHEAD_MAX (2 * FA_CLAIM_LIMIT_MAX)
/* Subtasks that a parent resumes with: how many are read at once, and how much they may be. */
#define CHILDREN_PAGE 250
#define CHILDREN_SIZE_MAX ((size_t)256 * 1024 * 1024)

/* One claim to be made; all in the round's arena. */
struct round {
    struct fa_arena arena;
    const char **types; /* that have a slot: those without a limit first */
    int *free;          /* per type with a limit */
    size_t type_count, unlimited_count;
    const char **services;
    size_t service_count;
    int limit;
};

/* How many tasks will end within AHEAD_US, by how fast they ended just now. */
static int64_t ahead(const struct fa_pool *pool)
{
    int64_t count;

    if (pool->end_us == 0 || fa_clock_mono_us() - pool->end_us > AHEAD_US)
        return 0;
    count = AHEAD_US / (pool->gap_us > 0 ? pool->gap_us : 1);
    return count < AHEAD_MAX ? count : AHEAD_MAX;
}

/* The line is filled up when it is half empty, not for each task that leaves it. */
int fa_pool_room(const struct fa_pool *pool)
{
    int64_t free = pool->config.concurrency - pool->running - pool->queue_count;
    int64_t more = ahead(pool);

    if (free <= 0 && pool->queue_count > more / 2)
        return 0;
    free += more;
    return free > FA_CLAIM_LIMIT_MAX ? FA_CLAIM_LIMIT_MAX : (int)free;
}

static void copy_services(const struct fa_pool *pool, struct round *round)
{
    if (!pool->services)
        return;
    round->services = fa_arena_zero(&round->arena, pool->service_count + 1, sizeof(char *));
    round->service_count = pool->service_count;
    for (size_t i = 0; i < pool->service_count; i++)
        round->services[i] = fa_arena_strdup(&round->arena, pool->services[i]);
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

/* Waits until there is room. False: the pool drains. */
static bool begin_round(struct fa_pool *pool, struct round *round)
{
    bool is_draining;

    *round = (struct round){0};
    pthread_mutex_lock(&pool->mutex);
    for (;;) {
        atomic_store(&pool->give_up, false);
        round->limit = fa_pool_room(pool);
        if (!pool->is_draining && round->limit > 0)
            copy_types(pool, round);
        if (pool->is_draining || round->type_count > 0)
            break;
        pool->is_claiming = false;
        pthread_cond_wait(&pool->claimer_cond, &pool->mutex);
        fa_arena_reset(&round->arena);
    }
    copy_services(pool, round);
    is_draining = pool->is_draining;
    pool->is_claiming = !is_draining;
    pthread_mutex_unlock(&pool->mutex);
    return !is_draining;
}

/* ------------------------------------------------------------------------------------------
 * What came
 */

/* The end of a task's subtasks: {id, name, type, status, output, error}. */
static void put_child(struct fa_json_writer *w, const struct faina_task *child)
{
    fa_json_begin_object(w);
    fa_json_key(w, "id");
    fa_json_put_str(w, child->id);
    fa_json_key(w, "name");
    fa_json_put_str(w, child->name);
    fa_json_key(w, "type");
    fa_json_put_str(w, child->type);
    fa_json_key(w, "status");
    fa_json_put_str(w, faina_status_name(child->status));
    fa_json_key(w, "output");
    fa_json_put_raw(w, child->output);
    fa_json_key(w, "error");
    fa_json_put_raw(w, child->error);
    fa_json_end_object(w);
}

/* Reads all subtasks, page by page, into one JSON array. */
static enum faina_code read_children(struct fa_pool *pool, const char *id, struct fa_buf *out,
                                     struct faina_error *err)
{
    struct fa_arena pages[2] = {{0}}; /* the cursor of a page is asked for with the next one */
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

/* Whether this one is why: of several, it may be all that is left. */
static bool has_ended_badly(struct fa_pool *pool, struct fa_job *job, const char *id)
{
    struct fa_op op = {.kind = FA_OP_GET, .id = id, .arena = &job->arena};

    return fa_service_run_one(pool->service, &op, NULL) == FAINA_OK &&
           fa_status_is_ended(op.task->status) && op.task->status != FAINA_COMPLETED;
}

static struct fa_outcome fail_by_dependency(struct fa_pool *pool, struct fa_job *job)
{
    const struct faina_task *task = job->task;
    const char *who = "a dependency";

    if (task->depends_on_count == 0) /* a task that is removed is no dependency any more */
        return fa_outcome_fail(&job->arena, "dependency", true,
                               "what it waited for ended badly and has been removed since");
    if (task->depends_on_count == 1 && has_ended_badly(pool, job, task->depends_on[0]))
        who = fa_arena_printf(&job->arena, "its dependency %s", task->depends_on[0]);
    return fa_outcome_fail(&job->arena, "dependency", true, "%s ended badly", who);
}

/* Whether an attempt has asked for subtasks, by the task's events. */
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

/* Without subtasks, a dependency is why the task is in its error phase; or it had some, which have
 * been removed. Then it was claimed before, to ask for them. */
static bool is_of_dependency(struct fa_pool *pool, struct fa_job *job)
{
    const struct faina_task *task = job->task;

    return task->phase == FAINA_PHASE_ERROR &&
           (task->depends_on_count > 0 || task->fence == 1 || !has_blocked(pool, job));
}

/* A job that goes on after its subtasks needs them. False: it has ended with *outcome. */
static bool prepare(struct fa_pool *pool, struct fa_job *job, struct fa_outcome *outcome)
{
    struct faina_error err;
    enum faina_code code;
    struct fa_buf buf;

    fa_error_clear(&err);
    fa_buf_init(&buf, CHILDREN_SIZE_MAX);
    code = read_children(pool, job->task->id, &buf, &err);
    if (code == FAINA_OK && job->handler->needs_completed && strcmp(buf.ptr, "[]") == 0 &&
        is_of_dependency(pool, job))
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

    job->pool = pool;
    job->task = task;
    job->claimed = claimed;
    job->refs = 1;
    job->lease_us = lease_us;
    job->timeout_us = INT64_MAX;
    return job;
}

/* Takes the job among those that are held. */
static void hold(struct fa_job *job, struct fa_handler *handler)
{
    job->handler = handler;
    handler->refs++;
    fa_pool_hold(job);
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

/* Whether its type needs a resource that it doesn't hold. */
static bool lacks_resources(const struct fa_job *job)
{
    const struct faina_submit *wish = &job->handler->wish;

    for (size_t i = 0; i < wish->resource_count; i++) {
        bool has = false;

        for (size_t k = 0; k < job->task->resource_count; k++)
            has |= strcmp(job->task->resources[k], wish->resources[i]) == 0;
        if (!has)
            return true;
    }
    return false;
}

/* The job goes into line, or ends: by *outcome when it isn't ready. With the mutex held. */
static void line_up(struct fa_pool *pool, struct fa_job *job, bool is_ready,
                    struct fa_outcome outcome)
{
    bool has_handler = job->handler != &pool->nobody;

    if (is_ready && has_handler && !pool->has_no_amend && lacks_resources(job))
        outcome.kind = FA_OUTCOME_AMEND;
    if (!is_ready || !has_handler || pool->is_draining || outcome.kind == FA_OUTCOME_AMEND ||
        fa_job_stop(job) != FA_STOP_NONE) {
        fa_pool_settle(job, &outcome);
        return;
    }
    enqueue(pool, job);
}

/* Holds a claimed task: from now on its lease is kept. False: it needs its subtasks first. With the
 * mutex held. */
static bool take_job(struct fa_pool *pool, struct fa_job *job)
{
    const struct fa_outcome release = {.kind = FA_OUTCOME_RELEASE};
    bool is_ready = job->task->phase == FAINA_PHASE_START;
    struct fa_handler *handler = fa_pool_find(pool, job->task->type);

    hold(job, handler ? handler : &pool->nobody);
    pool->stats.claimed++;
    fa_pool_watch(pool, job->lease_us);
    job->state = FA_JOB_PREPARING;
    if (is_ready)
        line_up(pool, job, true, release);
    return is_ready;
}

/* Reads what the job needs to go on; that may take a while. */
static void prepare_job(struct fa_pool *pool, struct fa_job *job)
{
    struct fa_outcome outcome = {.kind = FA_OUTCOME_RELEASE};
    bool is_ready = prepare(pool, job, &outcome);
    struct fa_job *list;

    pthread_mutex_lock(&pool->mutex);
    line_up(pool, job, is_ready, outcome);
    list = fa_pool_dispatch(pool);
    pthread_mutex_unlock(&pool->mutex);
    fa_pool_start(list);
}

/* All of a claim are held, and those that can be are started, before the others are prepared. They
 * go into line together: a handler that is faster than we are would sleep between any two. */
static void take_jobs(struct fa_pool *pool, struct fa_claimed *claimed, struct faina_tasks *tasks)
{
    /* The lease began before now; how long before is not known when it waited, but the wait ends
     * with the claim. A margin covers that, and the first heartbeat is soon. */
    int64_t lease_us = fa_clock_mono_us() + pool->lease_us - pool->margin_us;
    struct fa_job **jobs = fa_alloc_zero(tasks->count + 1, sizeof(struct fa_job *));
    size_t later_count = 0;
    struct fa_job *list;

    claimed->refs = tasks->count + 1; /* the jobs', and ours while we go through */
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

/* What is free of the types with a limit, after these. */
static void count_taken(struct round *round, const struct faina_tasks *tasks)
{
    for (size_t i = round->unlimited_count; i < round->type_count; i++)
        for (size_t k = 0; k < tasks->count; k++)
            round->free[i] -= strcmp(round->types[i], tasks->items[k].type) == 0;
}

/* How many of any open type can be started. */
static int free_of_all(const struct round *round)
{
    int least = round->limit;

    for (size_t i = round->unlimited_count; i < round->type_count; i++)
        least = round->free[i] < least ? round->free[i] : least;
    return least;
}

/* Claims; the count of tasks, or -1 with the error. */
static int claim(struct fa_pool *pool, struct round *round, const char *const *types,
                 size_t type_count, int limit, int64_t wait_ms, struct faina_error *err)
{
    struct fa_claimed *claimed = fa_alloc_zero(1, sizeof(*claimed));
    struct faina_claim question = {
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
    struct fa_op op = {.kind = FA_OP_CLAIM_NEXT, .claim = &question, .arena = &claimed->arena};
    enum faina_code code;
    int count;

    op.give_up = &pool->give_up;
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

/* Claims what fits, and waits for one when there was none. */
static int claim_round(struct fa_pool *pool, struct round *round, struct faina_error *err)
{
    int first = free_of_all(round), left = round->limit, got;

    if (round->unlimited_count == round->type_count)
        return claim(pool, round, round->types, round->type_count, left, WAIT_MS, err);
    got = claim(pool, round, round->types, round->type_count, first, 0, err);
    if (got == 0)
        return claim(pool, round, round->types, round->type_count, 1, WAIT_MS, err);
    if (got < first) /* or an error */
        return got;
    if (round->unlimited_count > 0 && left > got) {
        int more = claim(pool, round, round->types, round->unlimited_count, left - got, 0, err);

        got = more < 0 ? more : got + more;
    }
    for (size_t i = round->unlimited_count; got >= 0 && i < round->type_count; i++) {
        int free = round->free[i] < left - got ? round->free[i] : left - got;
        int more = free > 0 ? claim(pool, round, &round->types[i], 1, free, 0, err) : 0;

        got = more < 0 ? more : got + more;
    }
    return got;
}

/* After an error: the engine gets some time, longer with each error in a row. */
static void pause_claims(struct fa_pool *pool, int64_t *pause_us, const struct faina_error *err)
{
    int64_t until_us;

    if (*pause_us == 0)
        fa_tell(&pool->config.log, FA_LOG_ERROR, "can't claim: %s", err->message);
    *pause_us = *pause_us == 0 ? PAUSE_MIN_US : *pause_us * 2;
    if (*pause_us > PAUSE_MAX_US)
        *pause_us = PAUSE_MAX_US;
    until_us = fa_clock_mono_us() + *pause_us;
    pthread_mutex_lock(&pool->mutex);
    while (!pool->is_draining && fa_clock_mono_us() < until_us)
        fa_pool_wait(pool, &pool->claimer_cond, until_us);
    pthread_mutex_unlock(&pool->mutex);
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
        got = claim_round(pool, &round, &err);
        fa_arena_finish(&round.arena);
        if (got < 0) {
            pause_claims(pool, &pause_us, &err);
            continue;
        }
        if (pause_us > 0)
            fa_tell(&pool->config.log, FA_LOG_INFO, "can claim again");
        pause_us = 0;
    }
    fa_arena_finish(&round.arena);
    return NULL;
}
