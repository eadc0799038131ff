/* kv_manage.c - cancel, retry, delete and purge tasks. */
#include "kv/kv_ops.h"

#include "model/limits.h"

#include <stdlib.h>

static enum fa_kv_verdict keep(struct fa_kv_change *change, enum faina_code code)
{
    change->code = code;
    return FA_KV_KEEP;
}

static enum faina_code refuse(struct fa_kv_change *change, const struct fa_kv_record *record,
                              enum fa_trigger trigger)
{
    struct fa_holding holding = fa_kv_holding(record);

    return fa_holding_refuse(&holding, trigger, change->op);
}

static void apply(struct fa_kv_engine *engine, struct fa_kv_change *change,
                  struct fa_kv_record *record, enum fa_trigger trigger, const char *what)
{
    fa_kv_record_apply(
        record, &(struct fa_kv_step){.trigger = trigger, .actor = FAINA_ACTOR_API, .what = what},
        fa_kv_now(engine), change->arena);
}

enum fa_kv_verdict fa_kv_decide_cancel(struct fa_kv_engine *engine, struct fa_kv_change *change,
                                       struct fa_kv_record *record)
{
    struct fa_op *op = change->op;
    enum faina_code code = fa_kv_enter(record, op);

    op->count = 0;
    if (code != FAINA_OK || record->task.status == FAINA_CANCELLED)
        return keep(change, code);
    if (fa_rule_find(record->task.status, FA_CANCEL) == NULL)
        return keep(change, refuse(change, record, FA_CANCEL));
    apply(engine, change, record, FA_CANCEL, NULL);
    op->count = 1;
    return FA_KV_WRITE;
}

enum fa_kv_verdict fa_kv_decide_retry(struct fa_kv_engine *engine, struct fa_kv_change *change,
                                      struct fa_kv_record *record)
{
    struct fa_op *op = change->op;
    struct faina_task *task = &record->task;
    enum faina_code code = fa_kv_enter(record, op);

    if (code != FAINA_OK)
        return keep(change, code);
    if (fa_rule_find(task->status, FA_RETRY) == NULL)
        return keep(change, refuse(change, record, FA_RETRY));
    if (op->keep_attempts && task->max_attempts > 0 && task->attempts >= task->max_attempts)
        return keep(change, fa_error_set(&op->error, FAINA_MAX_ATTEMPTS_REACHED,
                                         "all %lld attempts are used up; retry without keeping "
                                         "them",
                                         (long long)task->max_attempts));
    apply(engine, change, record, FA_RETRY, "retried");
    if (!op->keep_attempts)
        task->attempts = 0;
    return FA_KV_WRITE;
}

enum fa_kv_verdict fa_kv_decide_delete(struct fa_kv_engine *engine, struct fa_kv_change *change,
                                       struct fa_kv_record *record)
{
    struct fa_op *op = change->op;
    enum faina_code code = fa_kv_enter(record, op);

    op->count = 0;
    if (code == FAINA_OK && op->removal.cancel && !fa_status_is_ended(record->task.status)) {
        apply(engine, change, record, FA_CANCEL, NULL);
        op->count = 1;
    }
    if (code == FAINA_OK && fa_rule_find(record->task.status, FA_DELETE) == NULL)
        code = refuse(change, record, FA_DELETE);
    return code == FAINA_OK ? FA_KV_ERASE : keep(change, code);
}

/* ------------------------------------------------------------------------------------------
 * Purging
 */

#define PURGE_LIMIT_DEFAULT 1000

static enum fa_kv_verdict decide_purge(struct fa_kv_engine *engine, struct fa_kv_change *change,
                                       struct fa_kv_record *record)
{
    (void)engine;
    if (fa_rule_find(record->task.status, FA_DELETE) == NULL)
        return keep(change, FAINA_OK); /* it was queued again */
    return FA_KV_ERASE;
}

enum faina_code fa_kv_purge_op(struct fa_kv_engine *engine, struct fa_op *op)
{
    const struct faina_purge *want = op->purge;
    size_t limit = want->limit > FA_BATCH_MAX ? FA_BATCH_MAX
                   : want->limit > 0          ? (size_t)want->limit
                                              : PURGE_LIMIT_DEFAULT;
    enum faina_code code = fa_kv_engine_await(engine, &op->error);
    struct fa_arena scratch = {0};
    struct fa_kv_change *changes;
    const char **ids;
    size_t count;

    op->count = 0;
    if (code != FAINA_OK || want->deleted_only) /* a deleted task leaves nothing here */
        return code;
    count = fa_kv_index_ended(engine->index, want, limit, &scratch, &ids);
    changes = fa_arena_zero(&scratch, count + 1, sizeof(*changes));
    for (size_t i = 0; i < count; i++)
        changes[i] =
            (struct fa_kv_change){.id = ids[i],
                                  .decide = decide_purge,
                                  .arena = &scratch,
                                  .err = fa_arena_zero(&scratch, 1, sizeof(struct faina_error)),
                                  .is_absent_fine = true};
    fa_kv_changes_run(engine, changes, count);
    for (size_t i = 0; code == FAINA_OK && i < count; i++) {
        op->count += changes[i].is_written;
        if (changes[i].code == FAINA_UNAVAILABLE) {
            code = changes[i].code;
            op->error = *changes[i].err;
        }
    }
    fa_arena_finish(&scratch);
    return code;
}

/* ------------------------------------------------------------------------------------------
 * The table
 */

fa_kv_decide_fn *fa_kv_decider(enum fa_op_kind kind)
{
    static fa_kv_decide_fn *const deciders[FA_OP_COUNT] = {
        [FA_OP_CLAIM] = fa_kv_decide_claim,
        [FA_OP_START] = fa_kv_decide_start,
        [FA_OP_PROGRESS] = fa_kv_decide_progress,
        [FA_OP_HEARTBEAT] = fa_kv_decide_heartbeat,
        [FA_OP_NOTE] = fa_kv_decide_note,
        [FA_OP_AMEND] = fa_kv_decide_amend,
        [FA_OP_COMPLETE] = fa_kv_decide_complete,
        [FA_OP_FAIL] = fa_kv_decide_fail,
        [FA_OP_BACKGROUND] = fa_kv_decide_background,
        [FA_OP_RELEASE] = fa_kv_decide_release,
        [FA_OP_SNOOZE] = fa_kv_decide_snooze,
        [FA_OP_CANCEL] = fa_kv_decide_cancel,
        [FA_OP_RETRY] = fa_kv_decide_retry,
        [FA_OP_DELETE] = fa_kv_decide_delete,
    };

    return deciders[kind];
}
