/*
 * pool_send.c - the sender: tells the engine what was started, reported and ended.
 *
 * Whatever came up while the last call was under way goes together in the next one. For one job
 * the order is: amend, start, progress, a note about the attempt, its end.
 */
#include "runtime/pool_inner.h"

#include "base/clock.h"

#include <assert.h>
#include <stdlib.h>

#define OPS_MAX 2048
#define OPS_PER_JOB 5
#define PAUSE_MIN_US 50000
#define PAUSE_MAX_US 2000000
#define REPORT_INTERVAL_US 200000 /* a handler that tells each percent must not fill the disk */

struct parcel {
    struct fa_job *job; /* with a reference */
    struct faina_report report;
    bool is_last; /* of its job in this call */
};

struct sender {
    struct fa_pool *pool;
    struct fa_arena arena;
    struct fa_op ops[OPS_MAX];
    struct parcel parcels[OPS_MAX];
    size_t count;
    int64_t pause_us; /* after an error */
};

/* ------------------------------------------------------------------------------------------
 * Packing, with the mutex held
 */

static struct fa_op *pack(struct sender *s, struct fa_job *job, enum fa_op_kind kind)
{
    struct fa_op *op = &s->ops[s->count];

    *op = (struct fa_op){
        .kind = kind,
        .id = job->task->id,
        .by = {.worker_id = s->pool->config.worker_id, .fence = job->task->fence},
        .arena = &s->arena,
    };
    s->parcels[s->count++] = (struct parcel){.job = job};
    job->refs++;
    return op;
}

static void pack_report(struct sender *s, struct fa_job *job)
{
    struct fa_op *op = pack(s, job, FA_OP_PROGRESS);
    struct parcel *parcel = &s->parcels[s->count - 1];

    parcel->report = job->report; /* the texts are the parcel's now */
    job->report = (struct faina_report){0};
    job->has_report = false;
    job->report_us = fa_clock_mono_us() + REPORT_INTERVAL_US;
    op->report = &parcel->report;
}

static void pack_end(struct sender *s, struct fa_job *job)
{
    static const enum fa_op_kind kinds[] = {
        [FA_OUTCOME_COMPLETE] = FA_OP_COMPLETE,     [FA_OUTCOME_BLOCK] = FA_OP_BLOCK,
        [FA_OUTCOME_BACKGROUND] = FA_OP_BACKGROUND, [FA_OUTCOME_FAIL] = FA_OP_FAIL,
        [FA_OUTCOME_RELEASE] = FA_OP_RELEASE,       [FA_OUTCOME_AMEND] = FA_OP_AMEND,
    };
    const struct fa_outcome *outcome = &job->outcome;
    struct fa_op *op = pack(s, job, kinds[outcome->kind]);

    switch (outcome->kind) {
    case FA_OUTCOME_COMPLETE:
        op->output = outcome->output;
        break;
    case FA_OUTCOME_BLOCK:
        op->block.subtasks = outcome->subtasks;
        op->block.count = outcome->subtask_count;
        op->block.fail_fast = outcome->fail_fast;
        break;
    case FA_OUTCOME_BACKGROUND:
        op->background.reason = outcome->reason;
        op->background.timeout_ms = outcome->timeout_ms;
        break;
    case FA_OUTCOME_FAIL:
        op->failure = &outcome->failure;
        break;
    case FA_OUTCOME_AMEND:
        op->submit = outcome->wish ? outcome->wish : &job->handler->wish;
        break;
    case FA_OUTCOME_RELEASE:
        break;
    }
}

/* Nobody wants to hear the outcome of a task that was cancelled, or is lost: only the note. */
static bool is_moot(const struct fa_job *job)
{
    enum fa_stop stop = fa_job_stop(job);

    return stop == FA_STOP_CANCELLED || stop == FA_STOP_LOST;
}

/* What the handler's attempt has left behind. False: nothing. */
static bool pack_note(struct sender *s, struct fa_job *job)
{
    struct fa_op *op;

    if (!job->outcome.note)
        return false;
    op = pack(s, job, FA_OP_NOTE);
    op->note.what = "attempt";
    op->note.detail = job->outcome.note;
    return true;
}

static void drop_moot(struct fa_job *job)
{
    job->pool->stats.lost++;
    fa_pool_drop(job);
}

/* Packs what is due about a job. False: something about it is not due yet. */
static bool pack_job(struct sender *s, struct fa_job *job, int64_t now_us, int64_t *next_us)
{
    bool has_ended = job->state == FA_JOB_ENDED;

    if (job->needs_amend) {
        pack(s, job, FA_OP_AMEND)->submit = &job->handler->wish;
        job->needs_amend = false;
    }
    if (job->needs_start) {
        pack(s, job, FA_OP_START)->lease_ms = s->pool->config.lease_ms;
        job->needs_start = false;
    }
    if (job->has_report && (has_ended || job->report_us <= now_us))
        pack_report(s, job);
    if (!has_ended) {
        if (job->has_report && job->report_us < *next_us)
            *next_us = job->report_us;
        return !job->has_report;
    }
    pack_note(s, job);
    pack_end(s, job);
    s->parcels[s->count - 1].is_last = true;
    return true;
}

/* All there is to tell about a job that is moot. False: nothing. */
static bool pack_moot(struct sender *s, struct fa_job *job)
{
    if (!pack_note(s, job))
        return false;
    s->parcels[s->count - 1].is_last = true;
    return true;
}

/* Packs what there is. *next_us: when something else is due. */
static void pack_all(struct sender *s, int64_t *next_us)
{
    struct fa_pool *pool = s->pool;
    int64_t now_us = fa_clock_mono_us();

    *next_us = INT64_MAX;
    for (struct fa_job **at = &pool->dirty; *at && s->count + OPS_PER_JOB <= OPS_MAX;) {
        struct fa_job *job = *at;
        bool is_over = job->state == FA_JOB_ENDED && is_moot(job), is_packed;

        if (job->state == FA_JOB_GONE) /* its end was heard, and what came before it was not */
            is_packed = true;
        else
            is_packed = is_over ? pack_moot(s, job) : pack_job(s, job, now_us, next_us);
        if (!is_packed && !is_over) {
            at = &job->dirty_next;
            continue;
        }
        *at = job->dirty_next;
        if (!*at)
            pool->dirty_last = at;
        job->is_dirty = false;
        if (!is_packed)
            drop_moot(job);
        fa_pool_unref(job);
    }
}

/* ------------------------------------------------------------------------------------------
 * Answers, with the mutex held
 */

static void count_end(struct fa_pool *pool, const struct fa_job *job)
{
    int64_t *const counts[] = {
        [FA_OUTCOME_COMPLETE] = &pool->stats.completed,
        [FA_OUTCOME_BLOCK] = &pool->stats.blocked,
        [FA_OUTCOME_BACKGROUND] = &pool->stats.background,
        [FA_OUTCOME_FAIL] = &pool->stats.failed,
        [FA_OUTCOME_RELEASE] = &pool->stats.released,
        [FA_OUTCOME_AMEND] = &pool->stats.released,
    };

    ++*counts[job->outcome.kind];
    if (job->outcome.kind == FA_OUTCOME_FAIL)
        fa_tell(&pool->config.log, FA_LOG_WARN, "an attempt at task %s, %s, failed: %.500s",
                job->task->id, job->task->type, job->outcome.failure.message);
}

/* Not valid (an output too deep, a subtask without a type): that is the attempt's failure. */
static void replace_outcome(struct fa_job *job, const struct fa_op *op)
{
    const char *note = job->outcome.note;

    job->is_cut = true;
    job->outcome = fa_outcome_fail(&job->arena, "refused", true,
                                   "the engine refused the outcome: %s", op->error.message);
    job->outcome.note = note;
    fa_pool_dirty(job);
}

/* The engine can't change tasks: those of the type run without what its settings say. */
static void give_up_amending(struct fa_pool *pool, struct fa_job *job)
{
    if (!pool->has_no_amend)
        fa_tell(&pool->config.log, FA_LOG_WARN,
                "this engine does not mind the maxAttempts, retry and resources of a handler's "
                "settings; give them when you submit");
    pool->has_no_amend = true;
    if (job->state == FA_JOB_ENDED && job->outcome.wish) {
        job->outcome = fa_outcome_fail(&job->arena, "not_supported", true,
                                       "this engine gives no resources to a task that runs");
        fa_pool_dirty(job);
    } else if (job->state == FA_JOB_ENDED) {
        job->outcome.kind = FA_OUTCOME_RELEASE;
        fa_pool_dirty(job);
    }
}

/* The answer to the end of a job. True: tell it again. */
static bool answer_end(struct fa_pool *pool, struct fa_job *job, const struct fa_op *op)
{
    if (fa_pool_is_transient(op->code)) {
        fa_pool_dirty(job);
        return true;
    }
    if (op->kind == FA_OP_NOTE) {
        drop_moot(job);
        return false;
    }
    if (op->code == FAINA_NOT_SUPPORTED && op->kind == FA_OP_AMEND) {
        give_up_amending(pool, job);
        return false;
    }
    if (op->code == FAINA_OK) {
        count_end(pool, job);
    } else if (fa_pool_is_loss(op->code)) {
        pool->stats.lost++;
        fa_tell(&pool->config.log, FA_LOG_WARN, "task %s is not ours any more: %s", op->id,
                op->error.message);
    } else if (!job->is_cut) {
        replace_outcome(job, op);
        return false;
    } else {
        fa_tell(&pool->config.log, FA_LOG_ERROR, "task %s can't be ended: %s", op->id,
                op->error.message);
    }
    fa_pool_drop(job);
    return false;
}

static void take_text(const char **to, const char **from)
{
    if (*to)
        return;
    *to = *from;
    *from = NULL;
}

/* It was not heard, and is to be said again; a report, as far as there is no newer one. (Notes go
 * with an end, which is told again whole.) */
static void unsay(struct fa_job *job, struct parcel *parcel, enum fa_op_kind kind)
{
    struct faina_report *newer = &job->report, *report = &parcel->report;

    if (job->state == FA_JOB_GONE || kind == FA_OP_NOTE)
        return;
    job->needs_start |= kind == FA_OP_START;
    job->needs_amend |= kind == FA_OP_AMEND;
    if (kind == FA_OP_PROGRESS) {
        if (!newer->has_progress) {
            newer->has_progress = report->has_progress;
            newer->progress = report->progress;
        }
        take_text(&newer->state, &report->state);
        take_text(&newer->metadata, &report->metadata);
        job->has_report = true;
    }
    fa_pool_dirty(job);
}

/* The answer to a start, a report or a note. True: tell it again. */
static bool answer_other(struct fa_job *job, struct parcel *parcel, const struct fa_op *op,
                         bool *is_stopped)
{
    if (op->code == FAINA_OK)
        return false;
    if (fa_pool_is_transient(op->code)) {
        unsay(job, parcel, op->kind);
        return true;
    }
    if (op->kind == FA_OP_AMEND && op->code == FAINA_NOT_SUPPORTED)
        give_up_amending(job->pool, job);
    else if (fa_pool_is_loss(op->code) && op->kind != FA_OP_NOTE)
        *is_stopped = fa_pool_mark_stop(
            job, op->code == FAINA_INVALID_TRANSITION ? FA_STOP_CANCELLED : FA_STOP_LOST);
    else
        fa_tell(&job->pool->config.log, FA_LOG_WARN, "task %s: %s was refused: %s", op->id,
                fa_op_name(op->kind), op->error.message);
    return false;
}

static void free_report(struct faina_report *report)
{
    free((char *)(uintptr_t)report->state);
    free((char *)(uintptr_t)report->metadata);
}

/* Goes through the answers. True: the engine could not be reached. */
static bool unpack_all(struct sender *s)
{
    struct fa_job *stopped[OPS_MAX];
    size_t stop_count = 0;
    bool has_failed = false;

    pthread_mutex_lock(&s->pool->mutex);
    for (size_t i = 0; i < s->count; i++) {
        struct parcel *parcel = &s->parcels[i];
        bool is_stopped = false;

        if (parcel->is_last)
            has_failed |= answer_end(s->pool, parcel->job, &s->ops[i]);
        else
            has_failed |= answer_other(parcel->job, parcel, &s->ops[i], &is_stopped);
        if (is_stopped)
            stopped[stop_count++] = parcel->job;
        free_report(&parcel->report);
        fa_pool_unref(parcel->job);
    }
    pthread_mutex_unlock(&s->pool->mutex);
    fa_pool_end_outdated(s->pool);
    for (size_t i = 0; i < stop_count; i++)
        fa_pool_tell_stop(stopped[i]);
    return has_failed;
}

/* ------------------------------------------------------------------------------------------
 * The thread
 */

/* Waits for something to tell. False: the pool ends. */
static bool gather(struct sender *s)
{
    struct fa_pool *pool = s->pool;
    int64_t next_us = INT64_MAX;
    bool is_ending;

    s->count = 0;
    pthread_mutex_lock(&pool->mutex);
    for (;;) {
        pack_all(s, &next_us);
        if (s->count > 0 || pool->is_ending)
            break;
        fa_pool_wait(pool, &pool->sender_cond, next_us);
    }
    is_ending = pool->is_ending;
    pthread_mutex_unlock(&pool->mutex);
    return s->count > 0 || !is_ending;
}

static void pause_sender(struct sender *s, bool has_failed)
{
    struct fa_pool *pool = s->pool;
    int64_t until_us;

    if (!has_failed) {
        s->pause_us = 0;
        return;
    }
    if (s->pause_us == 0)
        fa_tell(&pool->config.log, FA_LOG_ERROR, "can't tell the engine: %s",
                s->ops[s->count - 1].error.message);
    s->pause_us = s->pause_us == 0 ? PAUSE_MIN_US : s->pause_us * 2;
    if (s->pause_us > PAUSE_MAX_US)
        s->pause_us = PAUSE_MAX_US;
    until_us = fa_clock_mono_us() + s->pause_us;
    pthread_mutex_lock(&pool->mutex);
    while (!pool->is_ending && fa_clock_mono_us() < until_us)
        fa_pool_wait(pool, &pool->sender_cond, until_us);
    pthread_mutex_unlock(&pool->mutex);
}

void *fa_pool_sender_main(void *arg)
{
    struct sender *s = fa_alloc_zero(1, sizeof(*s));

    s->pool = arg;
    while (gather(s)) {
        bool has_failed;

        fa_service_run(s->pool->service, s->ops, s->count);
        has_failed = unpack_all(s);
        fa_arena_reset(&s->arena);
        pthread_mutex_lock(&s->pool->mutex);
        if (s->pool->is_ending && has_failed) {
            pthread_mutex_unlock(&s->pool->mutex);
            break;
        }
        pthread_mutex_unlock(&s->pool->mutex);
        pause_sender(s, has_failed);
    }
    fa_arena_finish(&s->arena);
    free(s);
    return NULL;
}
