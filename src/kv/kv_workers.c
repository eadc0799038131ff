/*
 * kv_workers.c - registers, renews and removes workers.
 *
 * A worker is a key of its own, which each heartbeat writes. The leases of all its tasks are
 * renewed in one pipeline.
 */
#include "kv/kv_ops.h"

#include "json/json.h"
#include "kv/kv_keys.h"
#include "kv/kv_read_lists.h"
#include "model/limits.h"
#include "service/access.h"
#include "wire/wire.h"

#include <stdlib.h>

#define TRIES 20

/* ------------------------------------------------------------------------------------------
 * A worker as JSON
 */

bool fa_kv_worker_parse(struct fa_bytes value, struct fa_arena *arena, struct faina_worker *out,
                        const char **owner)
{
    struct fa_json object;

    *out = (struct faina_worker){0};
    *owner = NULL;
    if (value.ptr == NULL || fa_json_check(value, 8, "", FAINA_INTERNAL, NULL) != FAINA_OK)
        return false;
    object = fa_json_value(value);
    if (object.type != FA_JSON_OBJECT ||
        fa_shape_read(object, &fa_shape_worker, arena, out, NULL) != FAINA_OK)
        return false;
    *owner = fa_json_member_text(object, "owner", arena);
    return true;
}

static void put_worker(const struct faina_worker *worker, const char *owner, struct fa_buf *buf)
{
    struct fa_json_writer w;

    fa_buf_init(buf, SIZE_MAX / 2);
    fa_json_writer_init(&w, buf, 0);
    fa_json_begin_object(&w);
    fa_shape_put_members(&w, &fa_shape_worker, worker);
    fa_json_opt_str(&w, "owner", owner);
    fa_json_end_object(&w);
}

static bool is_alive(struct fa_kv_engine *engine, const struct faina_worker *worker)
{
    return worker->last_heartbeat_us > fa_kv_now(engine) - FA_WORKER_DEAD_MS * 1000;
}

static enum faina_code refuse_worker(const char *worker, struct faina_error *err)
{
    return fa_error_set(err, FAINA_NOT_FOUND,
                        "there is no worker %.200s for this token: the id belongs to others",
                        worker);
}

enum faina_code fa_kv_permit_worker(struct fa_kv_engine *engine, struct fa_op *op,
                                    const char *worker)
{
    const char *key = fa_kv_name_key(FA_KV_WORKERS, "", worker, op->arena);
    struct fa_kv_named_value known;
    struct faina_worker found;
    const char *owner;
    enum faina_code code = fa_kv_engine_await(engine, &op->error);

    if (code != FAINA_OK)
        return code;
    fa_kv_named_get(engine->named, key, op->arena, &known);
    if (!fa_kv_worker_parse(known.value, op->arena, &found, &owner) || !is_alive(engine, &found))
        return FAINA_OK; /* it belongs to no namespace; only those of its tasks are checked */
    return fa_access_owns(op->grant, owner) ? FAINA_OK : refuse_worker(worker, &op->error);
}

/* ------------------------------------------------------------------------------------------
 * Heartbeats
 */

/* What the request leaves unset stays as it was. */
static void merge(struct faina_worker *to, const struct faina_worker *self, int64_t now)
{
    to->id = self->id;
    if (self->hostname != NULL)
        to->hostname = self->hostname;
    if (self->pool_size != 0)
        to->pool_size = self->pool_size;
    if (self->types != NULL) {
        to->types = self->types;
        to->type_count = self->type_count;
    }
    if (self->services != NULL) {
        to->services = self->services;
        to->service_count = self->service_count;
    }
    if (self->version != NULL)
        to->version = self->version;
    if (to->started_us == 0)
        to->started_us = now;
    to->last_heartbeat_us = now;
    to->held = 0;
}

/* An id that is not registered may be held by tasks of other namespaces: then it is theirs. */
static bool is_free(struct fa_kv_engine *engine, const struct fa_op *op)
{
    struct fa_arena scratch = {0};
    const char **ids;
    size_t count = fa_kv_index_held(engine->index, op->worker.self->id, false, &scratch, &ids);
    bool is_free = true;

    for (size_t i = 0; is_free && i < count; i++) {
        struct fa_kv_record record;
        struct fa_kv_read read;

        if (fa_kv_get(engine->kv, fa_kv_task_key(ids[i], &scratch), &scratch, &read, NULL) ==
                FAINA_OK &&
            fa_kv_record_read(&engine->shape, ids[i], read.value, read.revision, &scratch, &record,
                              NULL) == FAINA_OK)
            is_free = fa_access_reaches(op->grant, record.task.ns);
    }
    fa_arena_finish(&scratch);
    return is_free;
}

static enum faina_code store_worker(struct fa_kv_engine *engine, struct fa_op *op)
{
    const struct faina_worker *self = op->worker.self;
    const char *key = fa_kv_name_key(FA_KV_WORKERS, "", self->id, op->arena);
    bool is_limited = fa_access_is_limited(op->grant);
    enum faina_code code = FAINA_CONFLICT;

    for (int tries = 0; code == FAINA_CONFLICT && tries < TRIES; tries++) {
        struct fa_kv_named_value known;
        struct faina_worker worker;
        struct fa_kv_write write;
        const char *owner;
        struct fa_buf buf;
        bool is_there;

        fa_kv_named_get(engine->named, key, op->arena, &known);
        if (tries > 0 || known.revision == 0) {
            struct fa_kv_read read;

            code = fa_kv_get(engine->kv, key, op->arena, &read, &op->error);
            if (code != FAINA_OK && code != FAINA_NOT_FOUND)
                return code;
            known = (struct fa_kv_named_value){key, read.value, read.revision, read.at_us};
        }
        is_there = fa_kv_worker_parse(known.value, op->arena, &worker, &owner);
        if (is_there && !is_alive(engine, &worker)) {
            worker = (struct faina_worker){0}; /* it was removed, and registers again */
            is_there = false;
        }
        if (!is_there)
            owner = fa_access_namespaces(op->grant, op->arena);
        if (is_limited && (is_there ? !fa_access_owns(op->grant, owner) : !is_free(engine, op)))
            return refuse_worker(self->id, &op->error);
        if (!is_limited)
            owner = is_there ? owner : NULL;
        merge(&worker, self, fa_kv_now(engine));
        put_worker(&worker, owner, &buf);
        write = (struct fa_kv_write){
            .key = key, .value = {buf.ptr, buf.len}, .expected = known.revision};
        fa_kv_write(engine->kv, &write, 1, &op->error);
        code = write.code;
        if (code == FAINA_OK)
            fa_kv_named_put(engine->named, &(struct fa_kv_entry){.key = key,
                                                                 .value = write.value,
                                                                 .revision = write.revision,
                                                                 .at_us = fa_kv_now(engine)});
        fa_buf_finish(&buf);
    }
    fa_kv_engine_set_next(engine, fa_kv_now(engine) + FA_WORKER_DEAD_MS * 1000);
    return code;
}

static void add_lost(struct faina_beat *beat, const struct fa_op *op, const struct faina_held *held,
                     const struct fa_kv_change *change)
{
    struct faina_lost *lost = &beat->items[beat->lost_count++];
    const struct faina_task *task = &change->record.task;

    *lost = (struct faina_lost){.fence = held->fence, .why = FAINA_LOSS_LOST};
    memcpy(lost->id, held->id, sizeof(lost->id));
    if (change->code == FAINA_WRONG_WORKER && task->status == FAINA_CANCELLED &&
        fa_access_reaches(op->grant, task->ns) && (held->fence == 0 || held->fence == task->fence))
        lost->why = FAINA_LOSS_CANCELLED;
}

/* Renews the leases of the tasks that the worker lists or, with renews_all, those that it holds. */
static enum faina_code renew_all(struct fa_kv_engine *engine, struct fa_op *op)
{
    bool is_listed = !op->worker.renews_all;
    struct faina_beat *beat = fa_arena_zero(op->arena, 1, sizeof(*beat));
    struct fa_kv_renewal *renewals;
    struct fa_kv_change *changes;
    enum faina_code code = FAINA_OK;
    const char **ids = NULL;
    size_t count = op->worker.held_count;

    if (!is_listed)
        count = fa_kv_index_held(engine->index, op->worker.self->id, false, op->arena, &ids);
    changes = fa_arena_zero(op->arena, count + 1, sizeof(*changes));
    renewals = fa_arena_zero(op->arena, count + 1, sizeof(*renewals));
    beat->items = fa_arena_zero(op->arena, count + 1, sizeof(*beat->items));
    for (size_t i = 0; i < count; i++) {
        char *id = fa_arena_take(op->arena, FAINA_ID_SIZE);
        struct fa_id parsed = {0};

        if (fa_id_parse(is_listed ? op->worker.held[i].id : ids[i], &parsed))
            fa_id_format(parsed, id);
        renewals[i] = (struct fa_kv_renewal){.worker = op->worker.self->id,
                                             .fence = is_listed ? op->worker.held[i].fence : 0,
                                             .lease_ms = op->worker.lease_ms,
                                             .grant = op->grant};
        changes[i] =
            (struct fa_kv_change){.id = id,
                                  .decide = fa_kv_decide_renew,
                                  .ctx = &renewals[i],
                                  .arena = op->arena,
                                  .err = fa_arena_zero(op->arena, 1, sizeof(struct faina_error))};
    }
    fa_kv_changes_run(engine, changes, count);
    for (size_t i = 0; i < count; i++) {
        if (changes[i].code == FAINA_OK) {
            beat->renewed_count++;
        } else if (changes[i].code == FAINA_UNAVAILABLE) {
            code = changes[i].code;
            op->error = *changes[i].err;
        } else if (is_listed) {
            add_lost(beat, op, &op->worker.held[i], &changes[i]);
        }
    }
    op->beat = beat;
    return code;
}

/* ------------------------------------------------------------------------------------------
 * Removing
 */

static enum faina_code remove_worker(struct fa_kv_engine *engine, struct fa_op *op)
{
    const char *key = fa_kv_name_key(FA_KV_WORKERS, "", op->id, op->arena);
    enum faina_code code = FAINA_CONFLICT;

    for (int tries = 0; code == FAINA_CONFLICT && tries < TRIES; tries++) {
        struct faina_worker worker;
        struct fa_kv_write write;
        struct fa_kv_read read;
        const char *owner;

        code = fa_kv_get(engine->kv, key, op->arena, &read, &op->error);
        if (code != FAINA_OK && code != FAINA_NOT_FOUND)
            return code;
        if (code == FAINA_NOT_FOUND ||
            !fa_kv_worker_parse(read.value, op->arena, &worker, &owner) ||
            !is_alive(engine, &worker) || !fa_access_owns(op->grant, owner))
            return fa_error_set(&op->error, FAINA_NOT_FOUND, "there is no worker %.255s", op->id);
        write = (struct fa_kv_write){.key = key, .is_delete = true, .expected = read.revision};
        fa_kv_write(engine->kv, &write, 1, &op->error);
        code = write.code;
        if (code == FAINA_OK)
            fa_kv_named_put(
                engine->named,
                &(struct fa_kv_entry){.key = key, .revision = write.revision, .is_deleted = true});
    }
    return code;
}

static enum faina_code give_back(struct fa_kv_engine *engine, struct fa_op *op)
{
    const char **ids;
    size_t count = fa_kv_index_held(engine->index, op->id, true, op->arena, &ids);
    struct fa_kv_change *changes = fa_arena_zero(op->arena, count + 1, sizeof(*changes));

    for (size_t i = 0; i < count; i++)
        changes[i] =
            (struct fa_kv_change){.id = ids[i],
                                  .decide = fa_kv_decide_return,
                                  .op = op,
                                  .ctx = op->id,
                                  .arena = op->arena,
                                  .err = fa_arena_zero(op->arena, 1, sizeof(struct faina_error))};
    fa_kv_changes_run(engine, changes, count);
    op->count = 0;
    for (size_t i = 0; i < count; i++)
        op->count += changes[i].is_written; /* others: their leases will expire */
    return FAINA_OK;
}

enum faina_code fa_kv_worker_op(struct fa_kv_engine *engine, struct fa_op *op)
{
    enum faina_code code = fa_kv_engine_await(engine, &op->error);

    if (code == FAINA_OK && op->kind == FA_OP_WORKER_PUT) {
        code = store_worker(engine, op);
        return code == FAINA_OK ? renew_all(engine, op) : code;
    }
    if (code == FAINA_OK)
        code = remove_worker(engine, op);
    return code == FAINA_OK ? give_back(engine, op) : code;
}
