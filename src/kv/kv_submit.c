/*
 * kv_submit.c - creates tasks. README.md has the steps of a submit with a key, S1 to S3.
 */
#include "kv/kv_wave.h"

#include "json/json.h"
#include "kv/kv_keys.h"
#include "kv/kv_ops.h"
#include "model/limits.h"
#include "model/task_rules.h"
#include "service/access.h"

#include <stdlib.h>

static enum faina_code refuse(struct fa_op *op, const char *field, const char *what)
{
    return fa_error_field(&op->error, FAINA_NOT_SUPPORTED, field,
                          "an engine on NATS has no %s; SQLite and PostgreSQL have them", what);
}

/* ------------------------------------------------------------------------------------------
 * The record
 */

static int by_text(const void *a, const void *b)
{
    return fa_name_compare(*(const char *const *)a, *(const char *const *)b);
}

static void set_resources(struct faina_task *task, const struct faina_submit *submit,
                          struct fa_arena *arena)
{
    const char **names = fa_arena_zero(arena, submit->resource_count + 1, sizeof(char *));
    size_t kept = 0;

    for (size_t i = 0; i < submit->resource_count; i++)
        names[i] = fa_arena_strdup(arena, submit->resources[i]);
    if (submit->resource_count > 1)
        qsort(names, submit->resource_count, sizeof(char *), by_text);
    for (size_t i = 0; i < submit->resource_count; i++)
        if (kept == 0 || !fa_name_is_same(names[kept - 1], names[i]))
            names[kept++] = names[i];
    task->resources = names;
    task->resource_count = kept;
}

static enum fa_kv_verdict decide_create(struct fa_kv_engine *engine, struct fa_kv_change *change,
                                        struct fa_kv_record *record)
{
    const struct faina_submit *submit = change->op->submit;
    struct faina_task *task = &record->task;
    struct fa_arena *arena = change->arena;
    int64_t now = fa_kv_now(engine), scope;

    *record = (struct fa_kv_record){0};
    memcpy(task->id, change->id, sizeof(task->id));
    task->ns = fa_arena_strdup(arena, submit->ns ? submit->ns : "default");
    task->type = fa_arena_strdup(arena, submit->type ? submit->type : "default");
    task->name = submit->name ? fa_arena_strdup(arena, submit->name) : task->type;
    task->status = FAINA_PENDING;
    task->priority = submit->priority;
    task->input = fa_arena_strdup(arena, submit->input);
    task->metadata = submit->metadata ? fa_arena_strdup(arena, submit->metadata) : "{}";
    task->spec = submit->spec ? fa_arena_strdup(arena, submit->spec) : "{}";
    task->idempotency_key = fa_arena_strdup(arena, submit->idempotency_key);
    if (submit->dedupe_input) {
        char *hash = fa_arena_take(arena, FA_SHA256_HEX_SIZE);

        fa_input_hash(submit->input, hash);
        task->input_hash = hash;
    }
    if (fa_key_scope_parse(submit->key_scope, &scope, NULL) == FAINA_OK &&
        scope != FA_KEY_SCOPE_EXISTS)
        task->key_scope = fa_key_scope_text(scope, arena);
    task->max_attempts = fa_task_max_attempts(submit->max_attempts);
    task->retry = submit->retry;
    task->created_by = fa_arena_strdup(arena, submit->created_by);
    set_resources(task, submit, arena);
    task->created_us = task->updated_us = now;
    record->run_at_us = submit->delay_ms > 0 ? now + submit->delay_ms * 1000 : submit->run_at_us;
    if (record->run_at_us > now)
        record->at_us = record->run_at_us;
    record->submitter = fa_access_submitter(change->op->grant);
    fa_kv_record_event(record, arena,
                       &(struct faina_event){.at_us = now,
                                             .what = "created",
                                             .status = FAINA_PENDING,
                                             .actor = FAINA_ACTOR_API,
                                             .state = "Queued",
                                             .detail = fa_created_json(task, arena)});
    return FA_KV_WRITE;
}

/* ------------------------------------------------------------------------------------------
 * Keys
 */

void fa_kv_submit_begin(struct fa_kv_engine *engine, struct fa_op *op, struct fa_kv_submit *out)
{
    const struct faina_submit *submit = op->submit;
    const char *ns = submit->ns ? submit->ns : "default";
    const char *type = submit->type ? submit->type : "default";
    char hash[FA_SHA256_HEX_SIZE];

    *out = (struct fa_kv_submit){.op = op};
    op->code = FAINA_OK;
    op->existing = op->input_mismatch = false;
    if (submit->depends_on_count > 0)
        op->code = refuse(op, "dependsOn", "dependencies");
    else if (submit->team_id != NULL)
        op->code = refuse(op, "teamId", "teams");
    else if (submit->on_duplicate == FAINA_ON_DUPLICATE_REPLACE)
        op->code = refuse(op, "onDuplicate", "replacing a task");
    else if (submit->timeout_ms != 0)
        op->code = refuse(op, "timeout", "time-outs of attempts");
    else if (submit->start_by_ms != 0 || submit->start_by_us != 0)
        op->code = refuse(op, "startBy", "tasks that expire");
    else if (submit->detached)
        op->code = refuse(op, "detached", "subtasks");
    else if (submit->group != NULL)
        op->code = refuse(op, "group", "groups with a fair share");
    if (op->code != FAINA_OK) {
        out->is_done = true;
        return;
    }
    if (submit->idempotency_key != NULL) {
        out->key = fa_kv_idem_key(ns, type, submit->idempotency_key, op->arena);
    } else if (submit->dedupe_input) {
        fa_input_hash(submit->input, hash);
        out->key = fa_kv_input_key(ns, type, hash, op->arena);
    }
    fa_id_format(fa_kv_engine_new_id(engine, true), out->id);
}

static void set_change(struct fa_kv_submit *submit)
{
    submit->change = (struct fa_kv_change){.id = submit->id,
                                           .decide = decide_create,
                                           .op = submit->op,
                                           .arena = submit->op->arena,
                                           .err = &submit->op->error,
                                           .creates = true};
}

static void end(struct fa_kv_submit *submit, enum faina_code code)
{
    submit->op->code = code;
    submit->is_done = true;
}

/* S1. Writes the entries of those that have no key yet. Sets `has_key`; others met a conflict. */
static void write_entries(struct fa_kv_engine *engine, struct fa_kv_submit **submits, size_t count)
{
    struct fa_kv_write *writes = fa_alloc_zero(count + 1, sizeof(*writes));
    struct faina_error err = {0};

    for (size_t i = 0; i < count; i++)
        writes[i] = (struct fa_kv_write){.key = submits[i]->key,
                                         .value = fa_str(submits[i]->id),
                                         .expected = submits[i]->expected};
    fa_kv_write(engine->kv, writes, count, &err);
    for (size_t i = 0; i < count; i++) {
        submits[i]->has_key = writes[i].code == FAINA_OK;
        if (writes[i].code == FAINA_OK || writes[i].code == FAINA_CONFLICT)
            continue;
        submits[i]->op->error = err;
        end(submits[i], writes[i].code);
    }
    free(writes);
}

static bool holds_key(struct fa_kv_engine *engine, const struct faina_task *task)
{
    int64_t scope;

    return fa_key_scope_parse(task->key_scope, &scope, NULL) != FAINA_OK ||
           fa_key_scope_holds(scope, task->status, task->created_us, fa_kv_now(engine));
}

/* The task that an entry names is there: it is the answer. */
static void answer_existing(struct fa_kv_engine *engine, struct fa_kv_submit *submit,
                            const struct fa_kv_read *read)
{
    struct fa_op *op = submit->op;
    struct fa_kv_record *record = fa_arena_zero(op->arena, 1, sizeof(*record));
    const char *input = op->submit->input;
    enum faina_code code = fa_kv_record_read(&engine->shape, submit->id, read->value,
                                             read->revision, op->arena, record, &op->error);

    if (code != FAINA_OK) {
        end(submit, code);
        return;
    }
    if (record->task.deleted_us != 0 || !holds_key(engine, &record->task)) /* its key is free */
        return;
    if (op->submit->on_duplicate == FAINA_ON_DUPLICATE_REJECT) {
        end(submit, fa_error_field(&op->error, FAINA_DUPLICATE_KEY, "idempotencyKey",
                                   "task %s has this key", submit->id));
        return;
    }
    op->existing = true;
    op->input_mismatch = !fa_json_same(fa_str(record->task.input ? record->task.input : "null"),
                                       fa_str(input ? input : "null"));
    memcpy(op->task_id, submit->id, sizeof(op->task_id));
    op->task = &record->task;
    end(submit, FAINA_OK);
}

/* S2, S3. Reads the entries of submits whose write met a conflict. */
static void read_entries(struct fa_kv_engine *engine, struct fa_kv_submit **submits, size_t count)
{
    struct fa_kv_read *reads = fa_alloc_zero(count + 1, sizeof(*reads));
    struct fa_kv_read *tasks = fa_alloc_zero(count + 1, sizeof(*tasks));
    size_t *of = fa_alloc_zero(count + 1, sizeof(*of));
    struct fa_arena scratch = {0};
    struct faina_error err = {0};
    size_t task_count = 0;

    for (size_t i = 0; i < count; i++)
        reads[i] = (struct fa_kv_read){.key = submits[i]->key, .is_fresh = true};
    fa_kv_read(engine->kv, reads, count, &scratch, &err);
    for (size_t i = 0; i < count; i++) {
        struct fa_kv_submit *submit = submits[i];
        struct fa_id id;

        submit->expected = reads[i].revision;
        if (reads[i].code == FAINA_UNAVAILABLE) {
            submit->op->error = err;
            end(submit, FAINA_UNAVAILABLE);
        }
        if (reads[i].code != FAINA_OK || reads[i].value.len >= sizeof(submit->id) ||
            !fa_id_parse(reads[i].value.ptr, &id))
            continue; /* it is free, or damaged and replaced */
        memcpy(submit->id, reads[i].value.ptr, reads[i].value.len + 1);
        tasks[task_count].key = fa_kv_task_key(submit->id, &scratch);
        tasks[task_count].is_fresh = true;
        of[task_count++] = i;
    }
    fa_kv_read(engine->kv, tasks, task_count, &scratch, &err);
    for (size_t i = 0; i < task_count; i++) {
        struct fa_kv_submit *submit = submits[of[i]];

        if (tasks[i].code == FAINA_OK) {
            answer_existing(engine, submit, &tasks[i]);
        } else if (tasks[i].code == FAINA_NOT_FOUND && tasks[i].revision == 0) {
            submit->has_key = true; /* S2: the first submit has not created it; this one does */
        } else if (tasks[i].code != FAINA_NOT_FOUND) {
            submit->op->error = err;
            end(submit, tasks[i].code);
        }
        if (!submit->is_done && !submit->has_key) /* S3: the key gets a new task */
            fa_id_format(fa_kv_engine_new_id(engine, true), submit->id);
    }
    fa_arena_finish(&scratch);
    free(of);
    free(tasks);
    free(reads);
}

/* Those that still need a key; returns their number. */
static size_t select_open(struct fa_kv_submit **submits, size_t count, struct fa_kv_submit **open)
{
    size_t open_count = 0;

    for (size_t i = 0; i < count; i++)
        if (!submits[i]->is_done && submits[i]->key != NULL && !submits[i]->has_key)
            open[open_count++] = submits[i];
    return open_count;
}

void fa_kv_submits_take_keys(struct fa_kv_engine *engine, struct fa_kv_submit **submits,
                             size_t count)
{
    struct fa_kv_submit **open = fa_alloc_zero(count + 1, sizeof(*open));
    size_t open_count = select_open(submits, count, open);

    for (int tries = 0; open_count > 0 && tries < FA_KV_TRIES; tries++) {
        if (tries > 2)
            fa_kv_engine_pause(engine, tries - 2);
        write_entries(engine, open, open_count);
        open_count = select_open(submits, count, open);
        if (open_count > 0)
            read_entries(engine, open, open_count);
        open_count = select_open(submits, count, open);
    }
    for (size_t i = 0; i < open_count; i++)
        end(open[i], fa_error_set(&open[i]->op->error, FAINA_CONFLICT,
                                  "the idempotency key was changed by others %d times in a row; "
                                  "try again",
                                  FA_KV_TRIES));
    for (size_t i = 0; i < count; i++)
        if (!submits[i]->is_done)
            set_change(submits[i]);
    free(open);
}

bool fa_kv_submit_end(struct fa_kv_submit *submit)
{
    struct fa_op *op = submit->op;

    if (submit->is_done)
        return true;
    if (submit->change.code == FAINA_CONFLICT && submit->key != NULL &&
        submit->tries++ < FA_KV_TRIES) {
        submit->has_key = false;
        submit->expected = 0; /* conflicts, and then the entry is read */
        return false;
    }
    submit->is_done = true;
    op->code = submit->change.code;
    if (op->code == FAINA_OK) {
        memcpy(op->task_id, submit->id, sizeof(op->task_id));
        op->task = fa_arena_take(op->arena, sizeof(*op->task));
        *op->task = submit->change.record.task;
    }
    return true;
}
