/* kv_wave.c - see kv_wave.h. */
#include "kv/kv_wave.h"

#include "kv/kv_ops.h"
#include "service/access.h"

#include <stdlib.h>
#include <strings.h>

#define WAVE_MAX 2000 /* operations of a wave */

struct fa_kv_wave {
    struct fa_kv_engine *engine;
    struct fa_kv_submit *submits;
    struct fa_kv_change *changes; /* of operations on one task */
    struct fa_kv_claiming *claims;
    size_t submit_count, change_count, claim_count;
    struct fa_arena arena;
};

bool fa_kv_is_of_wave(enum fa_op_kind kind)
{
    return kind == FA_OP_SUBMIT || kind == FA_OP_CLAIM_NEXT || fa_kv_decider(kind) != NULL;
}

/* ------------------------------------------------------------------------------------------
 * Running a wave
 */

/* All changes of the wave, in one array, and back. */
static void run_changes(struct fa_kv_wave *wave, struct fa_kv_submit **submits, size_t submit_count,
                        bool with_changes, struct fa_kv_claiming **claims, size_t claim_count)
{
    size_t count = submit_count + (with_changes ? wave->change_count : 0), at = 0;
    struct fa_kv_change *all;

    for (size_t i = 0; i < claim_count; i++)
        count += claims[i]->count;
    if (count == 0)
        return;
    all = fa_alloc_zero(count, sizeof(*all));
    for (size_t i = 0; i < submit_count; i++)
        if (!submits[i]->is_done)
            all[at++] = submits[i]->change;
    if (with_changes)
        for (size_t i = 0; i < wave->change_count; i++)
            if (wave->changes[i].code == FAINA_OK)
                all[at++] = wave->changes[i];
    for (size_t i = 0; i < claim_count; i++)
        for (size_t k = 0; k < claims[i]->count; k++)
            all[at++] = claims[i]->changes[k];
    fa_kv_changes_run(wave->engine, all, at);
    at = 0;
    for (size_t i = 0; i < submit_count; i++)
        if (!submits[i]->is_done)
            submits[i]->change = all[at++];
    if (with_changes)
        for (size_t i = 0; i < wave->change_count; i++)
            if (wave->changes[i].code == FAINA_OK)
                wave->changes[i] = all[at++];
    for (size_t i = 0; i < claim_count; i++)
        for (size_t k = 0; k < claims[i]->count; k++)
            claims[i]->changes[k] = all[at++];
    free(all);
}

static void run_wave(struct fa_kv_wave *wave)
{
    struct fa_kv_submit **submits = fa_alloc_zero(wave->submit_count + 1, sizeof(*submits));
    struct fa_kv_claiming **claims = fa_alloc_zero(wave->claim_count + 1, sizeof(*claims));
    size_t submit_count = wave->submit_count, claim_count = wave->claim_count;
    bool is_first = true;

    for (size_t i = 0; i < submit_count; i++)
        submits[i] = &wave->submits[i];
    for (size_t i = 0; i < claim_count; i++)
        claims[i] = &wave->claims[i];
    while (is_first || submit_count + claim_count > 0) {
        size_t kept = 0;

        fa_kv_submits_take_keys(wave->engine, submits, submit_count);
        for (size_t i = 0; i < claim_count; i++)
            if (claims[i]->limit > 0)
                fa_kv_claim_take(wave->engine, claims[i]);
        run_changes(wave, submits, submit_count, is_first, claims, claim_count);
        for (size_t i = 0; i < submit_count; i++)
            if (!fa_kv_submit_end(submits[i]))
                submits[kept++] = submits[i];
        submit_count = kept;
        kept = 0;
        for (size_t i = 0; i < claim_count; i++)
            if (!fa_kv_claim_end(wave->engine, claims[i]))
                claims[kept++] = claims[i];
        claim_count = kept;
        is_first = false;
    }
    free(claims);
    free(submits);
}

/* ------------------------------------------------------------------------------------------
 * Facts
 */

struct stats {
    struct fa_commit_stats stats;
    struct fa_kind *submitted;
    struct fa_task_end *ended;
    struct fa_task_span *waits, *runs;
    /* NULL: no listener wants them. */
    struct fa_span_submit *span_submits;
    struct fa_span_attempt *span_attempts;
};

static void count_spans(struct stats *stats, const struct fa_kv_change *change)
{
    const struct faina_task *task = &change->record.task;
    struct fa_span_attempt attempt;
    struct fa_id id;

    if (fa_kv_change_attempt(change, &attempt))
        stats->span_attempts[stats->stats.span_attempt_count++] = attempt;
    if (change->old_status == FAINA_STATUS_COUNT && fa_id_parse(task->id, &id))
        stats->span_submits[stats->stats.span_submit_count++] =
            (struct fa_span_submit){id, {task->ns, task->type}, task->created_us, task->metadata};
}

static void count_change(struct stats *stats, const struct fa_kv_change *change)
{
    const struct faina_task *task = &change->record.task;
    bool was_held =
        change->old_status < FAINA_STATUS_COUNT && fa_status_uses_resources(change->old_status);

    if (!change->is_written)
        return;
    if (change->old_status == FAINA_STATUS_COUNT)
        stats->submitted[stats->stats.submitted_count++] = (struct fa_kind){task->ns, task->type};
    else if (fa_status_is_ended(task->status) && !fa_status_is_ended(change->old_status))
        stats->ended[stats->stats.ended_count++] =
            (struct fa_task_end){{task->ns, task->type}, task->status};
    if (change->wait_us > 0)
        stats->waits[stats->stats.wait_count++] =
            (struct fa_task_span){{task->ns, task->type}, change->wait_us};
    if (was_held && !fa_status_uses_resources(task->status)) {
        int64_t since = task->started_us ? task->started_us : task->claimed_us;

        stats->runs[stats->stats.run_count++] = (struct fa_task_span){
            {task->ns, task->type}, task->updated_us > since ? task->updated_us - since : 0};
    }
    stats->stats.leases_lost += change->is_lost;
    if (stats->span_attempts != NULL)
        count_spans(stats, change);
}

static void publish_facts(struct fa_kv_wave *wave)
{
    size_t most = wave->submit_count + wave->change_count + 1, op_count = most - 1;
    struct stats stats = {.stats = {0}};

    if (!fa_waiters_has_counters(wave->engine->waiters))
        return;
    for (size_t i = 0; i < wave->claim_count; i++)
        most += wave->claims[i].count;
    stats.submitted = fa_arena_zero(&wave->arena, most, sizeof(*stats.submitted));
    stats.ended = fa_arena_zero(&wave->arena, most, sizeof(*stats.ended));
    stats.waits = fa_arena_zero(&wave->arena, most, sizeof(*stats.waits));
    stats.runs = fa_arena_zero(&wave->arena, most, sizeof(*stats.runs));
    if (fa_waiters_wants_spans(wave->engine->waiters)) {
        stats.span_submits = fa_arena_zero(&wave->arena, most, sizeof(*stats.span_submits));
        stats.span_attempts = fa_arena_zero(&wave->arena, most, sizeof(*stats.span_attempts));
    }
    for (size_t i = 0; i < wave->submit_count; i++)
        count_change(&stats, &wave->submits[i].change);
    for (size_t i = 0; i < wave->change_count; i++)
        count_change(&stats, &wave->changes[i]);
    for (size_t i = 0; i < wave->claim_count; i++)
        for (size_t k = 0; k < wave->claims[i].count; k++)
            count_change(&stats, &wave->claims[i].changes[k]);
    stats.stats.op_count = op_count + wave->claim_count;
    stats.stats.submitted = stats.submitted;
    stats.stats.ended = stats.ended;
    stats.stats.waits = stats.waits;
    stats.stats.runs = stats.runs;
    stats.stats.span_submits = stats.span_submits;
    stats.stats.span_attempts = stats.span_attempts;
    fa_waiters_publish_stats(wave->engine->waiters, &stats.stats);
}

/* ------------------------------------------------------------------------------------------
 * Filling a wave
 */

/* The caller may act as the worker that it names. */
static enum faina_code check_worker(struct fa_kv_engine *engine, struct fa_op *op)
{
    const char *worker = fa_access_worker(op);

    if (worker == NULL || !fa_access_is_limited(op->grant))
        return FAINA_OK;
    return fa_kv_permit_worker(engine, op, worker);
}

static void add_change(struct fa_kv_wave *wave, struct fa_op *op)
{
    struct fa_kv_change *change = &wave->changes[wave->change_count++];
    char *id = fa_arena_take(op->arena, FAINA_ID_SIZE);
    struct fa_id parsed;

    *change = (struct fa_kv_change){
        .decide = fa_kv_decider(op->kind), .op = op, .arena = op->arena, .err = &op->error};
    if (!fa_id_parse(op->id, &parsed)) {
        change->code = fa_kv_missing(op->id, &op->error);
        return;
    }
    fa_id_format(parsed, id);
    change->id = id;
    change->code = check_worker(wave->engine, op);
}

static void add_op(struct fa_kv_wave *wave, struct fa_op *op)
{
    if (op->kind == FA_OP_SUBMIT) {
        fa_kv_submit_begin(wave->engine, op, &wave->submits[wave->submit_count++]);
    } else if (op->kind == FA_OP_CLAIM_NEXT) {
        struct fa_kv_claiming *claiming = &wave->claims[wave->claim_count++];
        enum faina_code code = check_worker(wave->engine, op);

        fa_kv_claim_begin(wave->engine, op, claiming);
        if (code != FAINA_OK) {
            op->code = code;
            claiming->limit = 0;
        }
    } else {
        add_change(wave, op);
    }
}

/* An operation on the same task is among those that were taken before it from its job. */
static bool is_blocked(const struct fa_kv_job *job, size_t from, size_t at)
{
    const struct fa_op *op = &job->ops[at];

    if (op->kind == FA_OP_SUBMIT || op->kind == FA_OP_CLAIM_NEXT)
        return false;
    for (size_t i = from; i < at; i++) {
        const struct fa_op *other = &job->ops[i];

        if (other->kind == FA_OP_CLAIM_NEXT)
            return true; /* it may take this task */
        if (other->kind != FA_OP_SUBMIT && fa_op_writes(other->kind) &&
            strcasecmp(other->id, op->id) == 0)
            return true;
    }
    return false;
}

/* Takes operations of a job, from its cursor on. A job of many changes is taken in parts, because
 * finding equal ids costs the square of their number. */
#define JOB_PART 256

static void take_ops(struct fa_kv_wave *wave, struct fa_kv_job *job)
{
    size_t from = job->cursor, at = from;

    for (; at < job->count; at++) {
        const struct fa_op *op = &job->ops[at];

        if (!fa_op_writes(op->kind))
            continue;
        if (!fa_kv_is_of_wave(op->kind) || at - from >= WAVE_MAX ||
            (op->kind != FA_OP_SUBMIT && at - from >= JOB_PART) || is_blocked(job, from, at))
            break;
        add_op(wave, &job->ops[at]);
    }
    job->cursor = at;
}

static void finish_wave(struct fa_kv_wave *wave)
{
    for (size_t i = 0; i < wave->change_count; i++) {
        struct fa_kv_change *change = &wave->changes[i];
        struct fa_op *op = change->op;

        op->code = change->code;
        if (op->code != FAINA_OK)
            continue;
        memcpy(op->task_id, change->id, sizeof(op->task_id));
        if (op->kind == FA_OP_DELETE)
            continue;
        op->task = fa_arena_take(op->arena, sizeof(*op->task));
        *op->task = change->record.task;
    }
    publish_facts(wave);
}

/* Operations that are not part of a wave. */
static void run_single(struct fa_kv_engine *engine, struct fa_op *op)
{
    switch ((int)op->kind) {
    case FA_OP_PURGE:
        op->code = fa_kv_purge_op(engine, op);
        break;
    case FA_OP_WORKER_PUT:
    case FA_OP_WORKER_REMOVE:
        op->code = fa_kv_worker_op(engine, op);
        break;
    case FA_OP_PAUSE:
    case FA_OP_RESUME:
    case FA_OP_RESOURCE_SET:
    case FA_OP_RESOURCE_REMOVE:
    case FA_OP_TOKEN_PUT:
    case FA_OP_TOKEN_REMOVE:
        op->code = fa_kv_admin_op(engine, op);
        break;
    default:
        op->code = fa_kv_refuse_op(op);
        break;
    }
}

static size_t count_ops(struct fa_kv_job **jobs, size_t count)
{
    size_t ops = 0;

    for (size_t i = 0; i < count; i++)
        ops += jobs[i]->count - jobs[i]->cursor;
    return ops;
}

void fa_kv_jobs_run(struct fa_kv_engine *engine, struct fa_kv_job **jobs, size_t count)
{
    size_t left;

    while ((left = count_ops(jobs, count)) > 0) {
        struct fa_kv_wave wave = {.engine = engine};

        wave.submits = fa_alloc_zero(left, sizeof(*wave.submits));
        wave.changes = fa_alloc_zero(left, sizeof(*wave.changes));
        wave.claims = fa_alloc_zero(left, sizeof(*wave.claims));
        for (size_t i = 0; i < count; i++)
            take_ops(&wave, jobs[i]);
        if (wave.submit_count + wave.change_count + wave.claim_count > 0) {
            run_wave(&wave);
            finish_wave(&wave);
        }
        for (size_t i = 0; i < count; i++) {
            struct fa_kv_job *job = jobs[i];

            if (job->cursor < job->count && !fa_kv_is_of_wave(job->ops[job->cursor].kind))
                run_single(engine, &job->ops[job->cursor++]);
        }
        free(wave.claims);
        free(wave.changes);
        free(wave.submits);
        fa_arena_finish(&wave.arena);
    }
}
