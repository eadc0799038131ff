/*
 * kv_claim.c - hands the best ready tasks to workers.
 *
 * The index gives candidates; each is claimed by a compare-and-set on the revision that the index
 * has. A candidate that another node has claimed first is read again, and the next one is taken.
 */
#include "kv/kv_wave.h"

#include "kv/kv_keys.h"
#include "kv/kv_ops.h"
#include "kv/kv_permits.h"
#include "model/limits.h"

#include <stdlib.h>

#define ROUNDS 100

static bool is_paused(void *ctx, const char *ns, const char *type)
{
    return fa_kv_named_is_paused(((struct fa_kv_engine *)ctx)->named, ns, type);
}

static bool reserve(void *ctx, const char *const *resources, size_t count)
{
    return fa_kv_named_reserve(((struct fa_kv_engine *)ctx)->named, resources, count);
}

void fa_kv_claim_begin(struct fa_kv_engine *engine, struct fa_op *op, struct fa_kv_claiming *out)
{
    size_t limit = op->claim->limit > 0 ? (size_t)op->claim->limit : 1;

    *out = (struct fa_kv_claiming){.op = op, .limit = limit};
    op->tasks = fa_arena_zero(op->arena, 1, sizeof(*op->tasks));
    op->code = fa_kv_engine_await(engine, &op->error);
    if (op->code != FAINA_OK)
        out->limit = 0;
}

/* Takes the permits of all candidates, in one write for each resource. Candidates that get none of
 * a resource are ready again. */
static void take_permits(struct fa_kv_engine *engine, struct fa_kv_claiming *claiming)
{
    struct fa_kv_permit *permits;
    size_t count = 0, at = 0, kept = 0;

    for (size_t i = 0; i < claiming->count; i++)
        count += claiming->candidates[i].resource_count;
    if (count == 0)
        return;
    permits = fa_alloc_zero(count, sizeof(*permits));
    for (size_t i = 0; i < claiming->count; i++) {
        const struct fa_kv_candidate *candidate = &claiming->candidates[i];

        claiming->permits[i] = candidate->resource_count > 0 ? fa_kv_permit_new(engine) : 0;
        for (size_t k = 0; k < candidate->resource_count; k++)
            permits[at++] = (struct fa_kv_permit){.resource = candidate->resources[k],
                                                  .id = candidate->id,
                                                  .permit = claiming->permits[i],
                                                  .revision = candidate->revision,
                                                  .is_taken = true};
    }
    fa_kv_permits_change(engine, permits, count, NULL);
    at = 0;
    for (size_t i = 0; i < claiming->count; i++) {
        const struct fa_kv_candidate candidate = claiming->candidates[i];
        const struct faina_task task = {.resources = candidate.resources,
                                        .resource_count = candidate.resource_count};
        size_t taken = 0;

        for (size_t k = 0; k < candidate.resource_count; k++)
            taken += permits[at++].is_taken;
        fa_kv_named_unreserve(engine->named, candidate.resources, candidate.resource_count);
        if (taken == candidate.resource_count) {
            claiming->permits[kept] = claiming->permits[i];
            claiming->candidates[kept++] = candidate;
            continue;
        }
        if (taken > 0) {
            struct faina_task holder = task;

            memcpy(holder.id, candidate.id, sizeof(holder.id));
            fa_kv_permits_give(engine, &holder, claiming->permits[i]);
        }
        fa_kv_index_release(engine->index, candidate.id);
    }
    claiming->count = kept;
    free(permits);
}

void fa_kv_claim_take(struct fa_kv_engine *engine, struct fa_kv_claiming *claiming)
{
    const struct fa_kv_room room = {engine, is_paused, reserve};
    struct fa_op *op = claiming->op;
    size_t want = claiming->limit - op->tasks->count;

    claiming->candidates = fa_arena_zero(op->arena, want + 1, sizeof(*claiming->candidates));
    claiming->permits = fa_arena_zero(op->arena, want + 1, sizeof(*claiming->permits));
    claiming->count =
        fa_kv_index_take(engine->index, op->claim, &room, want, op->arena, claiming->candidates);
    take_permits(engine, claiming);
    claiming->changes = fa_arena_zero(op->arena, claiming->count + 1, sizeof(*claiming->changes));
    for (size_t i = 0; i < claiming->count; i++)
        claiming->changes[i] =
            (struct fa_kv_change){.id = claiming->candidates[i].id,
                                  .decide = fa_kv_decide_take,
                                  .op = op,
                                  .arena = op->arena,
                                  .err = &op->error,
                                  .only_revision = claiming->candidates[i].revision,
                                  .text = claiming->candidates[i].text,
                                  .permit = claiming->permits[i]};
}

/* Another node was first: what the index has is old. */
static void refresh(struct fa_kv_engine *engine, const char *id)
{
    struct fa_arena scratch = {0};
    struct fa_kv_notification notification = {.arena = &scratch};
    struct fa_kv_record record;
    struct fa_kv_read read;
    enum faina_code code =
        fa_kv_get(engine->kv, fa_kv_task_key(id, &scratch), &scratch, &read, NULL);

    if (code == FAINA_NOT_FOUND)
        fa_kv_index_remove(engine->index, id, read.revision ? read.revision : UINT64_MAX,
                           &notification);
    else if (code == FAINA_OK && fa_kv_record_read(&engine->shape, id, read.value, read.revision,
                                                   &scratch, &record, NULL) == FAINA_OK) {
        if (record.task.deleted_us != 0)
            fa_kv_index_remove(engine->index, id, read.revision, &notification);
        else
            fa_kv_index_put(engine->index, &record, read.value, fa_kv_now(engine), &notification);
    }
    fa_kv_index_release(engine->index, id); /* if it is still the one that was taken */
    fa_kv_engine_notify(engine, &notification);
    fa_arena_finish(&scratch);
}

static void give_back(struct fa_kv_engine *engine, const struct fa_kv_candidate *candidate,
                      int64_t permit)
{
    struct faina_task task = {.resources = candidate->resources,
                              .resource_count = candidate->resource_count};

    memcpy(task.id, candidate->id, sizeof(task.id));
    if (permit != 0)
        fa_kv_permits_give(engine, &task, permit);
}

bool fa_kv_claim_end(struct fa_kv_engine *engine, struct fa_kv_claiming *claiming)
{
    struct fa_op *op = claiming->op;
    struct faina_tasks *tasks = op->tasks;
    enum faina_code failure = FAINA_OK;
    struct faina_error error = op->error;
    bool has_conflict = false;

    if (claiming->limit == 0)
        return true;
    if (tasks->items == NULL)
        tasks->items = fa_arena_zero(op->arena, claiming->limit + 1, sizeof(*tasks->items));
    for (size_t i = 0; i < claiming->count; i++) {
        struct fa_kv_change *change = &claiming->changes[i];

        if (change->code == FAINA_OK && change->is_written) {
            tasks->items[tasks->count++] = change->record.task;
            continue;
        }
        if (change->code == FAINA_UNAVAILABLE) {
            failure = change->code; /* its permits are left to the repair */
            fa_kv_index_release(engine->index, change->id);
            continue;
        }
        give_back(engine, &claiming->candidates[i], claiming->permits[i]);
        if (change->code == FAINA_CONFLICT || change->code == FAINA_TASK_NOT_FOUND) {
            has_conflict = true;
            refresh(engine, change->id);
        } /* else it is damaged, and stays out of the way */
    }
    if (has_conflict && failure == FAINA_OK && tasks->count < claiming->limit &&
        ++claiming->round < ROUNDS)
        return false;
    op->code = tasks->count > 0 ? FAINA_OK : failure;
    op->count = (int64_t)tasks->count;
    if (op->code != FAINA_OK)
        op->error = error;
    return true;
}
