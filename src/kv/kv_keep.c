/*
 * kv_keep.c - what the clock makes due, and repairs.
 *
 * Every node does all of it. When several do the same, one compare-and-set takes effect, and the
 * others find nothing left to do.
 */
#include "kv/kv_ops.h"

#include "kv/kv_keys.h"
#include "kv/kv_permits.h"
#include "kv/kv_read_lists.h"
#include "model/limits.h"

#include <stdlib.h>

#define DUE_MAX 500         /* deadlines of one round */
#define AGAIN_US 1000000    /* a deadline that could not be handled is tried again after this */
#define SUSPECT_US 60000000 /* a submit that was not finished is given up after this ... */
#define ERASE_US 5000000    /* ... and a deletion is finished after this */
#define SCRUB_US 15000000

/* ------------------------------------------------------------------------------------------
 * Deadlines
 */

static void expire(struct fa_kv_engine *engine, const char **ids, size_t count,
                   struct fa_arena *arena)
{
    struct fa_kv_change *changes = fa_arena_zero(arena, count + 1, sizeof(*changes));
    struct fa_commit_stats stats = {0};
    struct fa_task_end *ended = fa_arena_zero(arena, count + 1, sizeof(*ended));
    struct fa_span_attempt *attempts = fa_arena_zero(arena, count + 1, sizeof(*attempts));

    for (size_t i = 0; i < count; i++)
        changes[i] =
            (struct fa_kv_change){.id = ids[i],
                                  .decide = fa_kv_decide_expire,
                                  .arena = arena,
                                  .err = fa_arena_zero(arena, 1, sizeof(struct faina_error)),
                                  .is_absent_fine = true};
    fa_kv_changes_run(engine, changes, count);
    for (size_t i = 0; i < count; i++) {
        if (!changes[i].is_written)
            continue;
        stats.leases_lost += changes[i].is_lost;
        stats.span_attempt_count +=
            fa_kv_change_attempt(&changes[i], &attempts[stats.span_attempt_count]);
        if (fa_status_is_ended(changes[i].record.task.status))
            ended[stats.ended_count++] =
                (struct fa_task_end){{changes[i].record.task.ns, changes[i].record.task.type},
                                     changes[i].record.task.status};
    }
    stats.ended = ended;
    stats.span_attempts = attempts;
    if (stats.leases_lost + stats.ended_count > 0)
        fa_waiters_publish_stats(engine->waiters, &stats);
}

/* Reads leave dead workers out; here their keys are removed. */
static void remove_dead(struct fa_kv_engine *engine, struct fa_arena *arena)
{
    int64_t since = fa_kv_now(engine) - FA_WORKER_DEAD_MS * 1000;
    struct fa_kv_named_value *values;
    size_t count = fa_kv_named_list(engine->named, FA_KV_WORKERS, arena, &values);

    for (size_t i = 0; i < count; i++) {
        struct faina_worker worker;
        struct fa_kv_write write;
        const char *owner;

        if (fa_kv_worker_parse(values[i].value, arena, &worker, &owner) &&
            worker.last_heartbeat_us > since)
            continue;
        write = (struct fa_kv_write){
            .key = values[i].key, .is_delete = true, .expected = values[i].revision};
        fa_kv_write(engine->kv, &write, 1, NULL);
        if (write.code == FAINA_OK)
            fa_kv_named_put(engine->named, &(struct fa_kv_entry){.key = values[i].key,
                                                                 .revision = write.revision,
                                                                 .is_deleted = true});
    }
}

void fa_kv_keep(struct fa_kv_engine *engine, int64_t *next_us)
{
    struct fa_arena scratch = {0};
    struct fa_kv_notification notification = {.arena = &scratch};
    const char **ids;
    size_t count;

    count = fa_kv_index_due(engine->index, fa_kv_now(engine), AGAIN_US, DUE_MAX, &scratch, &ids,
                            next_us, &notification);
    fa_kv_engine_notify(engine, &notification);
    if (count > 0)
        expire(engine, ids, count, &scratch);
    if (count == DUE_MAX)
        *next_us = 0;
    fa_arena_finish(&scratch);
}

/* ------------------------------------------------------------------------------------------
 * Unfinished submits and deletions (README.md)
 */

/* C1, C2: an entry whose task was never created. The marker at the task's key keeps a slow submit
 * from creating it afterwards. */
static void give_up(struct fa_kv_engine *engine, const struct fa_kv_suspect *suspect,
                    struct fa_arena *arena)
{
    const char *task_key = fa_kv_task_key(suspect->id, arena);
    struct fa_kv_write marker = {.key = task_key, .is_delete = true};
    struct fa_kv_read entry, task;

    if (fa_kv_get(engine->kv, suspect->key, arena, &entry, NULL) != FAINA_OK ||
        !fa_bytes_equal(entry.value, fa_str(suspect->id)) ||
        fa_kv_get(engine->kv, task_key, arena, &task, NULL) != FAINA_NOT_FOUND)
        return;
    if (task.revision == 0) {
        fa_kv_write(engine->kv, &marker, 1, NULL);
        if (marker.code != FAINA_OK)
            return; /* it was created just now */
    }
    if (fa_kv_delete(engine->kv, suspect->key, entry.revision, NULL) != FAINA_OK)
        return; /* the key has a new task */
}

/* D2, D3: a task that is marked as deleted. */
static void finish_erase(struct fa_kv_engine *engine, const char *id, struct fa_arena *arena)
{
    struct fa_kv_record record;
    struct fa_kv_read read;

    if (fa_kv_get(engine->kv, fa_kv_task_key(id, arena), arena, &read, NULL) == FAINA_OK &&
        fa_kv_record_read(&engine->shape, id, read.value, read.revision, arena, &record, NULL) ==
            FAINA_OK &&
        record.task.deleted_us != 0)
        fa_kv_erase_rest(engine, &record);
}

/* Takes out a suspect that is old enough. False: there is none. */
static bool take_suspect(struct fa_kv_engine *engine, struct fa_kv_suspect *out)
{
    int64_t now = fa_kv_now(engine);
    bool is_found = false;

    pthread_mutex_lock(&engine->mutex);
    for (size_t i = 0; !is_found && i < engine->suspect_count; i++) {
        *out = engine->suspects[i];
        is_found = now - out->seen_us >= (out->key != NULL ? SUSPECT_US : ERASE_US);
        if (is_found)
            engine->suspects[i] = engine->suspects[--engine->suspect_count];
    }
    pthread_mutex_unlock(&engine->mutex);
    return is_found;
}

static void repair_resources(struct fa_kv_engine *engine)
{
    struct fa_arena scratch = {0};
    struct fa_kv_named_value *values;
    size_t count = fa_kv_named_list(engine->named, FA_KV_RESOURCES, &scratch, &values);

    for (size_t i = 0; i < count; i++) {
        struct fa_kv_resource resource;
        struct fa_kv_brief brief;
        bool is_wrong = false;

        if (!fa_kv_resource_parse(values[i].value, &scratch, &resource))
            continue;
        for (size_t k = 0; !is_wrong && k < resource.count; k++)
            is_wrong = !fa_kv_index_brief(engine->index, resource.holders[k].id, &brief) ||
                       !fa_status_uses_resources(brief.status);
        if (is_wrong)
            fa_kv_resource_repair(engine, resource.name, SCRUB_US);
    }
    fa_arena_finish(&scratch);
}

void fa_kv_scrub(struct fa_kv_engine *engine)
{
    struct fa_kv_suspect suspect;
    struct fa_kv_brief brief;
    struct fa_arena arena = {0};

    remove_dead(engine, &arena);
    fa_arena_finish(&arena);
    while (take_suspect(engine, &suspect)) {
        struct fa_arena scratch = {0};

        if (suspect.key == NULL)
            finish_erase(engine, suspect.id, &scratch);
        else if (!fa_kv_index_brief(engine->index, suspect.id, &brief))
            give_up(engine, &suspect, &scratch);
        free(suspect.key);
        fa_arena_finish(&scratch);
    }
    repair_resources(engine);
    fa_kv_tidy(engine->kv);
}
