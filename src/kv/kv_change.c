/* kv_change.c - see kv_change.h. */
#include "kv/kv_change.h"

#include "kv/kv_keys.h"
#include "kv/kv_permits.h"
#include "service/access.h"

#include <stdlib.h>

enum faina_code fa_kv_missing(const char *id, struct faina_error *err)
{
    return fa_error_set(err, FAINA_TASK_NOT_FOUND, "there is no task %.64s", id);
}

enum faina_code fa_kv_permit(struct fa_op *op, const struct fa_kv_record *record)
{
    if (fa_access_is_limited(op->grant) && !fa_access_reaches(op->grant, record->task.ns))
        return fa_kv_missing(op->id, &op->error);
    if (fa_access_needs_own(op) &&
        (record->submitter == 0 || record->submitter != fa_access_submitter(op->grant)))
        return fa_error_set(&op->error, FAINA_FORBIDDEN,
                            "the token may %s only what it has submitted itself; for other tasks "
                            "it needs the scope \"operate\"",
                            fa_op_name(op->kind));
    return FAINA_OK;
}

/* ------------------------------------------------------------------------------------------
 * Erasing
 */

/* The key of its idempotency entry; NULL: none. */
static const char *idem_key(const struct faina_task *task, struct fa_arena *arena)
{
    if (task->idempotency_key != NULL)
        return fa_kv_idem_key(task->ns, task->type, task->idempotency_key, arena);
    if (task->input_hash != NULL)
        return fa_kv_input_key(task->ns, task->type, task->input_hash, arena);
    return NULL;
}

void fa_kv_erase_rest(struct fa_kv_engine *engine, const struct fa_kv_record *record)
{
    struct fa_arena scratch = {0};
    const char *key = idem_key(&record->task, &scratch);
    enum faina_code code = FAINA_OK;
    struct fa_kv_read read;

    if (key != NULL) {
        code = fa_kv_get(engine->kv, key, &scratch, &read, NULL);
        if (code == FAINA_OK && fa_bytes_equal(read.value, fa_str(record->task.id)))
            code = fa_kv_delete(engine->kv, key, read.revision, NULL);
        else if (code == FAINA_OK)
            code = FAINA_NOT_FOUND; /* the key has a new task */
    }
    /* A conflict: another node has deleted the entry, or given the key to a new task. */
    if (code == FAINA_OK || code == FAINA_NOT_FOUND || code == FAINA_CONFLICT)
        code = fa_kv_delete(engine->kv, fa_kv_task_key(record->task.id, &scratch), record->revision,
                            NULL);
    if (code != FAINA_OK && code != FAINA_CONFLICT)
        fa_kv_engine_suspect(engine, NULL, record->task.id);
    fa_arena_finish(&scratch);
}

/* ------------------------------------------------------------------------------------------
 * Reading
 */

static void end(struct fa_kv_change *change, enum faina_code code)
{
    change->code = code;
    change->is_done = true;
}

/* The record was read: decides. */
static void decide(struct fa_kv_engine *engine, struct fa_kv_change *change, struct fa_bytes text,
                   uint64_t revision)
{
    enum faina_code code = fa_kv_record_read(&engine->shape, change->id, text, revision,
                                             change->arena, &change->record, change->err);

    if (code != FAINA_OK) {
        atomic_fetch_add(&engine->damaged, 1);
        end(change, code);
        return;
    }
    change->expected = revision;
    change->old_status = change->record.task.status;
    change->old_worker = change->record.worker;
    change->old_permit = change->record.permit;
    if (change->record.task.deleted_us != 0) {
        end(change, change->is_absent_fine ? FAINA_OK : fa_kv_missing(change->id, change->err));
        return;
    }
    fa_error_clear(change->err);
    change->code = FAINA_OK;
    change->verdict = change->decide(engine, change, &change->record);
    change->is_done = change->verdict == FA_KV_KEEP;
}

static void decide_new(struct fa_kv_engine *engine, struct fa_kv_change *change)
{
    change->expected = 0;
    change->old_status = FAINA_STATUS_COUNT;
    change->old_worker = NULL;
    change->code = FAINA_OK;
    change->verdict = change->decide(engine, change, &change->record);
    change->is_done = change->verdict == FA_KV_KEEP;
}

/* From the text that this node keeps. False: it has to be read. */
static bool decide_cached(struct fa_kv_engine *engine, struct fa_kv_change *change)
{
    struct fa_bytes text = change->text;
    uint64_t revision = change->only_revision;

    if (change->is_fresh)
        return false;
    if (text.ptr == NULL) {
        uint64_t known = fa_kv_index_get(engine->index, change->id, change->arena, &text);

        if (text.ptr == NULL || (revision != 0 && known != revision))
            return false;
        revision = known;
    }
    decide(engine, change, text, revision);
    if (!change->is_done)
        return true;
    change->is_done = false; /* C2 */
    change->is_fresh = true;
    return false;
}

static void take_read(struct fa_kv_engine *engine, struct fa_kv_change *change,
                      const struct fa_kv_read *read, const struct faina_error *err)
{
    struct fa_kv_notification notification = {.arena = change->arena};

    if (read->code == FAINA_NOT_FOUND) {
        fa_kv_index_remove(engine->index, change->id,
                           read->revision != 0 ? read->revision : UINT64_MAX, &notification);
        fa_kv_engine_notify(engine, &notification);
        end(change, change->is_absent_fine ? FAINA_OK : fa_kv_missing(change->id, change->err));
    } else if (read->code != FAINA_OK) {
        *change->err = *err;
        end(change, read->code);
    } else if (change->only_revision != 0 && read->revision != change->only_revision) {
        end(change, FAINA_CONFLICT);
    } else {
        decide(engine, change, read->value, read->revision);
    }
}

static void read_all(struct fa_kv_engine *engine, struct fa_kv_change **changes, size_t count)
{
    struct fa_kv_read *reads = fa_alloc_zero(count + 1, sizeof(*reads));
    size_t *of = fa_alloc_zero(count + 1, sizeof(*of));
    struct fa_arena scratch = {0};
    struct faina_error err = {0};
    size_t read_count = 0;

    for (size_t i = 0; i < count; i++) {
        if (changes[i]->creates)
            decide_new(engine, changes[i]);
        else if (!decide_cached(engine, changes[i])) {
            reads[read_count].key = fa_kv_task_key(changes[i]->id, &scratch);
            reads[read_count].is_fresh = true;
            of[read_count++] = i;
        }
    }
    fa_kv_read(engine->kv, reads, read_count, &scratch, &err);
    for (size_t i = 0; i < read_count; i++)
        take_read(engine, changes[of[i]], &reads[i], &err);
    fa_arena_finish(&scratch);
    free(of);
    free(reads);
}

/* ------------------------------------------------------------------------------------------
 * Writing
 */

static bool uses(enum faina_status status)
{
    return status < FAINA_STATUS_COUNT && fa_status_uses_resources(status);
}

/* C4. Takes the permits, and makes the value to write. */
static void prepare(struct fa_kv_engine *engine, struct fa_kv_change *change)
{
    struct fa_kv_record *record = &change->record;
    enum faina_code code = FAINA_OK, answer = change->code;

    if (change->verdict == FA_KV_ERASE) {
        if (idem_key(&record->task, change->arena) == NULL)
            return;
        record->task.deleted_us = fa_kv_record_time(record, fa_kv_now(engine));
    }
    if (!uses(change->old_status) && uses(record->task.status) && change->permit == 0 &&
        record->task.resource_count > 0) {
        record->permit = fa_kv_permit_new(engine);
        code = fa_kv_permits_take(engine, &record->task, record->permit, change->expected,
                                  change->err);
        change->has_taken = code == FAINA_OK;
    }
    if (code == FAINA_OK)
        code = fa_kv_record_write(&engine->shape, record, fa_kv_value_max(engine->kv),
                                  change->arena, &change->value, change->err);
    if (code != FAINA_OK) {
        if (change->has_taken)
            fa_kv_permits_give(engine, &record->task, record->permit);
        change->has_taken = false;
        end(change, code);
        return;
    }
    change->code = answer;
}

static void count_spans(struct fa_kv_change *change, int64_t ready_us)
{
    const struct faina_task *task = &change->record.task;
    int64_t now = task->updated_us;

    if (change->old_status < FAINA_STATUS_COUNT && !uses(change->old_status) && uses(task->status))
        change->wait_us = now > ready_us ? now - ready_us : 1;
}

/* It is stored. */
static void finish_written(struct fa_kv_engine *engine, struct fa_kv_change *change,
                           uint64_t revision, struct fa_kv_notification *notification)
{
    struct fa_kv_record *record = &change->record;

    change->is_done = change->is_written = true;
    atomic_fetch_add(&engine->commits, 1);
    fa_kv_record_show(record, revision);
    if (change->verdict == FA_KV_ERASE) {
        fa_kv_index_remove(engine->index, change->id, UINT64_MAX, notification);
        if (record->task.deleted_us != 0)
            fa_kv_erase_rest(engine, record);
    } else {
        fa_kv_index_put(engine->index, record, change->value, fa_kv_now(engine), notification);
        if (record->at_us != 0)
            fa_kv_engine_set_next(engine, record->at_us);
    }
    count_spans(change, record->task.created_us);
    if (uses(change->old_status) && !uses(record->task.status) && change->old_permit != 0)
        fa_kv_permits_give(engine, &record->task, change->old_permit);
}

static void take_write(struct fa_kv_engine *engine, struct fa_kv_change *change,
                       const struct fa_kv_write *write, const struct faina_error *err,
                       struct fa_kv_notification *notification)
{
    if (write->code == FAINA_OK) {
        finish_written(engine, change, write->revision, notification);
        return;
    }
    /* Of a write that may be stored, the permits are left to the repair. */
    if (change->has_taken && write->code != FAINA_UNAVAILABLE)
        fa_kv_permits_give(engine, &change->record.task, change->record.permit);
    change->has_taken = false;
    if (write->code == FAINA_CONFLICT) {
        change->is_fresh = true;
        if (change->only_revision != 0 || change->creates)
            end(change, FAINA_CONFLICT);
        return;
    }
    if (write->code == FAINA_PAYLOAD_TOO_LARGE)
        fa_error_set(change->err, write->code,
                     "the task is %zu bytes as JSON, more than the NATS server's max_payload",
                     change->value.len);
    else
        *change->err = *err;
    end(change, write->code);
}

static void write_all(struct fa_kv_engine *engine, struct fa_kv_change **changes, size_t count)
{
    struct fa_kv_write *writes = fa_alloc_zero(count + 1, sizeof(*writes));
    size_t *of = fa_alloc_zero(count + 1, sizeof(*of));
    struct fa_arena scratch = {0};
    struct fa_kv_notification notification = {.arena = &scratch};
    struct faina_error err = {0};
    size_t write_count = 0;

    for (size_t i = 0; i < count; i++) {
        struct fa_kv_change *change = changes[i];

        if (change->is_done)
            continue;
        prepare(engine, change);
        if (change->is_done)
            continue;
        writes[write_count] = (struct fa_kv_write){.key = fa_kv_task_key(change->id, &scratch),
                                                   .value = change->value,
                                                   .expected = change->expected};
        if (change->verdict == FA_KV_ERASE && change->record.task.deleted_us == 0) {
            writes[write_count].is_delete = true;
            writes[write_count].value = (struct fa_bytes){NULL, 0};
        }
        of[write_count++] = i;
    }
    fa_kv_write(engine->kv, writes, write_count, &err);
    for (size_t i = 0; i < write_count; i++)
        take_write(engine, changes[of[i]], &writes[i], &err, &notification);
    fa_kv_engine_notify(engine, &notification);
    fa_arena_finish(&scratch);
    free(of);
    free(writes);
}

void fa_kv_changes_run(struct fa_kv_engine *engine, struct fa_kv_change *changes, size_t count)
{
    struct fa_kv_change **open = fa_alloc_zero(count + 1, sizeof(*open));
    size_t open_count = count;

    for (size_t i = 0; i < count; i++)
        open[i] = &changes[i];
    for (int tries = 0; open_count > 0 && tries < FA_KV_TRIES; tries++) {
        size_t kept = 0;

        if (tries > 2)
            fa_kv_engine_pause(engine, tries - 2);
        read_all(engine, open, open_count);
        write_all(engine, open, open_count);
        for (size_t i = 0; i < open_count; i++)
            if (!open[i]->is_done)
                open[kept++] = open[i];
        open_count = kept;
    }
    for (size_t i = 0; i < open_count; i++)
        end(open[i], fa_error_set(open[i]->err, FAINA_CONFLICT,
                                  "task %.64s was changed by others %d times in a row; try again",
                                  open[i]->id, FA_KV_TRIES));
    free(open);
}

bool fa_kv_change_attempt(const struct fa_kv_change *change, struct fa_span_attempt *out)
{
    const struct faina_task *task = &change->record.task;
    bool is_release = change->op != NULL && change->op->kind == FA_OP_RELEASE;
    bool has_failed = change->op == NULL || change->op->kind == FA_OP_FAIL;

    if (!change->is_written || change->old_status >= FAINA_STATUS_COUNT || is_release ||
        !fa_status_uses_resources(change->old_status) || fa_status_uses_resources(task->status))
        return false;
    *out = (struct fa_span_attempt){
        .kind = {task->ns, task->type},
        .fence = task->fence,
        .attempt = task->attempts,
        .phase = task->phase,
        .worker = change->old_worker,
        .start_us = task->started_us ? task->started_us : task->claimed_us,
        .end_us = task->updated_us,
        .status = task->status,
        .has_failed = has_failed,
        .error = has_failed ? task->error : NULL,
    };
    return fa_id_parse(task->id, &out->id);
}
