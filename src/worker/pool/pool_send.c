/*
 * pool_send.c - the sender: sends starts, reports and ends to the engine.
 *
 * What arrives while a call is under way goes together in the next one. For one job the order is:
 * amend, start, progress, a note about the attempt, its end.
 */
#include "worker/pool/pool_inner.h"

#include "base/clock.h"
#include "json/merge.h"
#include "model/limits.h"
#include "worker/attempt_note.h"
#include "worker/subtask.h"

#include <assert.h>
#include <stdlib.h>

#define OPS_MAX 2048
#define OPS_PER_JOB 7
#define PAUSE_MIN_US 50000
#define PAUSE_MAX_US 2000000
#define REPORT_INTERVAL_US 200000 /* a handler that reports each percent must not fill the disk */

/* What belongs to an operation. */
struct entry {
    struct fa_job *job; /* with a reference */
    struct faina_report report;
    bool is_last; /* of its job in this call */
};

struct sender {
    struct fa_pool *pool;
    struct fa_arena arena;
    struct fa_op ops[OPS_MAX];
    struct entry entries[OPS_MAX];
    size_t count;
    int64_t pause_us; /* after an error */
};

/* ------------------------------------------------------------------------------------------
 * Making operations, with the mutex held
 */

static struct fa_op *add_op(struct sender *s, struct fa_job *job, enum fa_op_kind kind)
{
    struct fa_op *op = &s->ops[s->count];

    *op = (struct fa_op){
        .kind = kind,
        .id = job->task->id,
        .by = {.worker_id = s->pool->config.worker_id, .fence = job->task->fence},
        .arena = &s->arena,
    };
    s->entries[s->count++] = (struct entry){.job = job};
    job->refs++;
    return op;
}

static void add_report(struct sender *s, struct fa_job *job)
{
    struct fa_op *op = add_op(s, job, FA_OP_PROGRESS);
    struct entry *entry = &s->entries[s->count - 1];

    entry->report = job->report; /* the entry owns the texts now */
    job->report = (struct faina_report){0};
    job->has_report = false;
    job->report_us = fa_clock_mono_us() + REPORT_INTERVAL_US;
    op->report = &entry->report;
}

static const struct faina_submit *trace_subtasks(struct fa_job *job)
{
    const struct fa_outcome *outcome = &job->outcome;
    size_t size = outcome->subtask_count * sizeof(*outcome->subtasks);
    struct faina_submit *traced;

    if (!job->task->traceparent)
        return outcome->subtasks;
    traced = (void *)fa_arena_copy(&job->arena, (const char *)outcome->subtasks, size);
    for (size_t i = 0; i < outcome->subtask_count; i++)
        fa_subtask_trace(&traced[i], job->task);
    return traced;
}

static void add_end(struct sender *s, struct fa_job *job)
{
    static const enum fa_op_kind kinds[] = {
        [FA_OUTCOME_COMPLETE] = FA_OP_COMPLETE,     [FA_OUTCOME_BLOCK] = FA_OP_BLOCK,
        [FA_OUTCOME_BACKGROUND] = FA_OP_BACKGROUND, [FA_OUTCOME_FAIL] = FA_OP_FAIL,
        [FA_OUTCOME_RELEASE] = FA_OP_RELEASE,       [FA_OUTCOME_SNOOZE] = FA_OP_SNOOZE,
        [FA_OUTCOME_AMEND] = FA_OP_AMEND,
    };
    const struct fa_outcome *outcome = &job->outcome;
    struct fa_op *op = add_op(s, job, kinds[outcome->kind]);

    switch (outcome->kind) {
    case FA_OUTCOME_COMPLETE:
        op->output = outcome->output;
        break;
    case FA_OUTCOME_BLOCK:
        op->block.subtasks = trace_subtasks(job);
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
        op->submit = outcome->settings ? outcome->settings : &job->handler->settings;
        break;
    case FA_OUTCOME_SNOOZE:
        op->snooze_ms = outcome->timeout_ms;
        break;
    case FA_OUTCOME_RELEASE:
        break;
    }
}

/* The task was cancelled or is lost: of its end only the note is sent. */
static bool is_abandoned(const struct fa_job *job)
{
    enum fa_stop stop = fa_job_stop(job);

    return stop == FA_STOP_CANCELLED || stop == FA_STOP_LOST;
}

/* The note about the attempt. False: there is none. */
static bool add_note(struct sender *s, struct fa_job *job)
{
    struct fa_op *op;

    if (!job->outcome.note)
        return false;
    op = add_op(s, job, FA_OP_NOTE);
    op->note.what = "attempt";
    op->note.detail = job->outcome.note;
    return true;
}

static bool has_log(const struct fa_job *job)
{
    return job->log.len > 0 && !job->pool->has_no_logs;
}

static int64_t log_due_us(const struct fa_job *job)
{
    return job->log.len >= FA_LOG_PART_SIZE ? job->log_min_us : job->log_us;
}

/* All but the beginning of a character whose rest is still to come. */
static size_t whole_characters(const struct fa_buf *log)
{
    size_t len = log->len;

    for (size_t back = 1; back <= 3 && back <= len; back++) {
        unsigned char c = (unsigned char)log->ptr[len - back];

        if ((c & 0xC0) == 0x80)
            continue;
        if ((c >= 0xC0 && back < 2) || (c >= 0xE0 && back < 3) || (c >= 0xF0 && back < 4))
            return len - back;
        break;
    }
    return len;
}

static void add_log(struct sender *s, struct fa_job *job)
{
    size_t len = whole_characters(&job->log), skip = 0;
    const char *text;

    if (len == 0)
        len = job->log.len;
    text = fa_note_text(&s->arena, job->log.ptr, len);
    while (strlen(text + skip) > FA_LOG_SIZE_MAX)
        skip += strlen(text + skip) - FA_LOG_SIZE_MAX;
    while (((unsigned char)text[skip] & 0xC0) == 0x80)
        skip++;
    add_op(s, job, FA_OP_LOG_ADD)->log.text = text + skip;
    memmove(job->log.ptr, job->log.ptr + len, job->log.len - len);
    job->log.len -= len;
    job->log_min_us = fa_clock_mono_us() + FA_POOL_LOG_MIN_US;
    job->log_us = fa_clock_mono_us() + FA_POOL_LOG_US;
    job->has_sent_log = true;
}

static void drop_abandoned(struct fa_job *job)
{
    job->pool->stats.lost++;
    fa_pool_drop(job);
}

/* Adds what is due of a job. False: its report is not due yet. */
static bool add_job(struct sender *s, struct fa_job *job, int64_t now_us, int64_t *next_us)
{
    bool has_ended = job->state == FA_JOB_ENDED;

    if (job->needs_amend) {
        add_op(s, job, FA_OP_AMEND)->submit = &job->handler->settings;
        job->needs_amend = false;
    }
    if (job->needs_start) {
        add_op(s, job, FA_OP_START)->lease_ms = s->pool->config.lease_ms;
        job->needs_start = false;
    }
    if (job->has_report && (has_ended || job->report_us <= now_us))
        add_report(s, job);
    if (!has_ended && has_log(job) && log_due_us(job) <= now_us)
        add_log(s, job);
    if (!has_ended) {
        if (job->has_report && job->report_us < *next_us)
            *next_us = job->report_us;
        if (has_log(job) && log_due_us(job) < *next_us)
            *next_us = log_due_us(job);
        return !job->has_report && !has_log(job);
    }
    if (add_note(s, job) && job->has_sent_log)
        add_op(s, job, FA_OP_LOG_ADD)->log.is_over = true;
    add_end(s, job);
    s->entries[s->count - 1].is_last = true;
    return true;
}

/* The end of an abandoned job: its note, if it has one. */
static void add_abandoned(struct sender *s, struct fa_job *job)
{
    if (add_note(s, job))
        s->entries[s->count - 1].is_last = true;
    else
        drop_abandoned(job);
}

/* Adds what is due. *next_us: when the next report is due. */
static void add_all(struct sender *s, int64_t *next_us)
{
    struct fa_pool *pool = s->pool;
    int64_t now_us = fa_clock_mono_us();

    *next_us = INT64_MAX;
    for (struct fa_job **at = &pool->dirty; *at && s->count + OPS_PER_JOB <= OPS_MAX;) {
        struct fa_job *job = *at;
        bool has_ended = job->state == FA_JOB_ENDED;

        /* A GONE job is here because a call before its end failed: there is nothing to send. */
        if (job->state != FA_JOB_GONE && !(has_ended && is_abandoned(job)) &&
            !add_job(s, job, now_us, next_us)) {
            at = &job->dirty_next;
            continue;
        }
        *at = job->dirty_next;
        if (!*at)
            pool->dirty_last = at;
        job->is_dirty = false;
        if (has_ended && is_abandoned(job))
            add_abandoned(s, job);
        fa_pool_unref(job);
    }
}

/* ------------------------------------------------------------------------------------------
 * Results, with the mutex held
 */

static void count_end(struct fa_pool *pool, const struct fa_job *job)
{
    int64_t *const counts[] = {
        [FA_OUTCOME_COMPLETE] = &pool->stats.completed,
        [FA_OUTCOME_BLOCK] = &pool->stats.blocked,
        [FA_OUTCOME_BACKGROUND] = &pool->stats.background,
        [FA_OUTCOME_FAIL] = &pool->stats.failed,
        [FA_OUTCOME_RELEASE] = &pool->stats.released,
        [FA_OUTCOME_SNOOZE] = &pool->stats.released,
        [FA_OUTCOME_AMEND] = &pool->stats.released,
    };

    ++*counts[job->outcome.kind];
    if (job->outcome.kind == FA_OUTCOME_FAIL)
        fa_report(&pool->config.log, FA_LOG_WARN, "an attempt at task %s, %s, failed: %.500s",
                  job->task->id, job->task->type, job->outcome.failure.message);
}

/* The outcome is not valid (an output too deep, a subtask without a type): the attempt fails. */
static void replace_outcome(struct fa_job *job, const struct fa_op *op)
{
    const char *note = job->outcome.note;

    job->is_cut = true;
    job->outcome = fa_outcome_fail(&job->arena, "refused", true,
                                   "the engine refused the outcome: %s", op->error.message);
    job->outcome.note = note;
    fa_pool_dirty(job);
}

/* The engine can't change tasks: those of the type run without its settings. */
static void give_up_amending(struct fa_pool *pool, struct fa_job *job)
{
    if (!pool->has_no_amend)
        fa_report(&pool->config.log, FA_LOG_WARN,
                  "this engine ignores the maxAttempts, retry and resources of a handler's "
                  "settings; give them when you submit");
    pool->has_no_amend = true;
    if (job->state != FA_JOB_ENDED)
        return;
    if (job->outcome.settings)
        job->outcome = fa_outcome_fail(&job->arena, "not_supported", true,
                                       "this engine can't add resources to a running task");
    else
        job->outcome.kind = FA_OUTCOME_RELEASE;
    fa_pool_dirty(job);
}

/* The result of the last operation of a job. True: it is sent again. */
static bool take_end_result(struct fa_pool *pool, struct fa_job *job, const struct fa_op *op)
{
    if (fa_pool_is_transient(op->code)) {
        fa_pool_dirty(job);
        return true;
    }
    if (op->kind == FA_OP_NOTE) {
        drop_abandoned(job);
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
        fa_report(&pool->config.log, FA_LOG_WARN, "task %s is not held by this worker any more: %s",
                  op->id, op->error.message);
    } else if (!job->is_cut) {
        replace_outcome(job, op);
        return false;
    } else {
        fa_report(&pool->config.log, FA_LOG_ERROR, "task %s can't be ended: %s", op->id,
                  op->error.message);
    }
    fa_pool_drop(job);
    return false;
}

static void keep_newer(const char **to, const char **from)
{
    if (*to)
        return;
    *to = *from;
    *from = NULL;
}

/* Patches of metadata: the newer one after the older one. */
static void keep_both(const char **newer, const char **older)
{
    struct fa_arena scratch = {0};

    if (*newer && *older) {
        const char *both = fa_json_merge_patches(*older, *newer, &scratch);
        size_t size = strlen(both) + 1;

        free((char *)(uintptr_t)*newer);
        *newer = memcpy(fa_alloc(size), both, size);
    }
    fa_arena_finish(&scratch);
    keep_newer(newer, older);
}

/* The call failed: queues the operation again; of a report what no newer one has replaced. (A note
 * goes with an end, which is sent again together with it.) */
static void requeue(struct fa_job *job, struct entry *entry, enum fa_op_kind kind)
{
    struct faina_report *newer = &job->report, *report = &entry->report;

    /* A part of a log that can't be sent is dropped: the note has the whole log. */
    if (job->state == FA_JOB_GONE || kind == FA_OP_NOTE || kind == FA_OP_LOG_ADD)
        return;
    job->needs_start |= kind == FA_OP_START;
    job->needs_amend |= kind == FA_OP_AMEND;
    if (kind == FA_OP_PROGRESS) {
        if (!newer->has_progress) {
            newer->has_progress = report->has_progress;
            newer->progress = report->progress;
        }
        keep_newer(&newer->state, &report->state);
        keep_both(&newer->metadata, &report->metadata);
        job->has_report = true;
    }
    fa_pool_dirty(job);
}

/* The result of a start, a report or a note. True: it is sent again. */
static bool take_result(struct fa_job *job, struct entry *entry, const struct fa_op *op,
                        bool *is_stopped)
{
    if (op->code == FAINA_OK)
        return false;
    if (fa_pool_is_transient(op->code)) {
        requeue(job, entry, op->kind);
        return true;
    }
    if (op->kind == FA_OP_AMEND && op->code == FAINA_NOT_SUPPORTED)
        give_up_amending(job->pool, job);
    else if (op->kind == FA_OP_LOG_ADD && op->code == FAINA_NOT_SUPPORTED)
        job->pool->has_no_logs = true; /* they are stored when the attempts have ended */
    else if (fa_pool_is_loss(op->code) && op->kind != FA_OP_NOTE)
        *is_stopped = fa_pool_mark_stop(
            job, op->code == FAINA_INVALID_TRANSITION ? FA_STOP_CANCELLED : FA_STOP_LOST);
    else
        fa_report(&job->pool->config.log, FA_LOG_WARN, "task %s: %s was refused: %s", op->id,
                  fa_op_name(op->kind), op->error.message);
    return false;
}

/* True: the engine could not be reached. */
static bool take_results(struct sender *s)
{
    struct fa_job *stopped[OPS_MAX];
    size_t stop_count = 0;
    bool has_failed = false;

    pthread_mutex_lock(&s->pool->mutex);
    for (size_t i = 0; i < s->count; i++) {
        struct entry *entry = &s->entries[i];
        bool is_stopped = false;

        if (entry->is_last)
            has_failed |= take_end_result(s->pool, entry->job, &s->ops[i]);
        else
            has_failed |= take_result(entry->job, entry, &s->ops[i], &is_stopped);
        if (is_stopped)
            stopped[stop_count++] = entry->job;
        fa_pool_free_report(&entry->report);
        fa_pool_unref(entry->job);
    }
    pthread_mutex_unlock(&s->pool->mutex);
    fa_pool_end_stale_claim(s->pool);
    for (size_t i = 0; i < stop_count; i++)
        fa_pool_call_stop(stopped[i]);
    return has_failed;
}

/* ------------------------------------------------------------------------------------------
 * The thread
 */

/* Waits until there is something to send. False: the pool ends. */
static bool wait_for_ops(struct sender *s)
{
    struct fa_pool *pool = s->pool;
    int64_t next_us = INT64_MAX;
    bool is_ending;

    s->count = 0;
    pthread_mutex_lock(&pool->mutex);
    for (;;) {
        add_all(s, &next_us);
        if (s->count > 0 || pool->is_ending)
            break;
        fa_pool_wait(pool, &pool->sender_cond, next_us);
    }
    is_ending = pool->is_ending;
    pthread_mutex_unlock(&pool->mutex);
    return s->count > 0 || !is_ending;
}

/* After a failed call. False: the pool ends, and there is no other try. */
static bool back_off(struct sender *s)
{
    struct fa_pool *pool = s->pool;
    bool is_ending;

    pthread_mutex_lock(&pool->mutex);
    is_ending = pool->is_ending;
    pthread_mutex_unlock(&pool->mutex);
    if (is_ending)
        return false;
    if (s->pause_us == 0)
        fa_report(&pool->config.log, FA_LOG_ERROR, "can't send outcomes to the engine: %s",
                  s->ops[s->count - 1].error.message);
    fa_pool_back_off(pool, &pool->sender_cond, &pool->is_ending, &s->pause_us, PAUSE_MIN_US,
                     PAUSE_MAX_US);
    return true;
}

void *fa_pool_sender_main(void *arg)
{
    struct sender *s = fa_alloc_zero(1, sizeof(*s));

    s->pool = arg;
    while (wait_for_ops(s)) {
        bool has_failed;

        fa_service_run(s->pool->service, s->ops, s->count);
        has_failed = take_results(s);
        fa_arena_reset(&s->arena);
        if (!has_failed)
            s->pause_us = 0;
        else if (!back_off(s))
            break;
    }
    fa_arena_finish(&s->arena);
    free(s);
    return NULL;
}
