/* kv_permits.c - see kv_permits.h. */
#include "kv/kv_permits.h"

#include "json/json.h"
#include "kv/kv_keys.h"
#include "model/limits.h"

#include <stdlib.h>

#define TRIES 50
#define OLD_US 60000000   /* older holders are checked even if their task is held */
#define GRACE_US 10000000 /* a claim that is under way is left alone for so long */

/* ------------------------------------------------------------------------------------------
 * A resource as JSON
 */

static void read_holders(struct fa_json array, struct fa_arena *arena, struct fa_kv_resource *out)
{
    struct fa_json_iter it;
    struct fa_json item;

    for (it = fa_json_iter(array); fa_json_next(&it, NULL, &item);) {
        struct fa_kv_holder *holder;

        out->holders =
            fa_arena_grow(arena, out->holders, out->count, &out->size, sizeof(*out->holders));
        holder = &out->holders[out->count];
        *holder = (struct fa_kv_holder){
            .id = fa_json_member_text(item, "id", arena),
            .permit = fa_json_member_int(item, "permit"),
            .revision = (uint64_t)fa_json_member_int(item, "revision"),
            .at_us = fa_json_member_int(item, "at"),
        };
        out->count += holder->id != NULL;
    }
}

bool fa_kv_resource_parse(struct fa_bytes value, struct fa_arena *arena, struct fa_kv_resource *out)
{
    struct fa_json object, member;

    *out = (struct fa_kv_resource){.max = -1};
    if (fa_json_check(value, 8, "", FAINA_INTERNAL, NULL) != FAINA_OK)
        return false;
    object = fa_json_value(value);
    out->name = fa_json_member_text(object, "name", arena);
    if (out->name == NULL)
        return false;
    if (fa_json_member(object, "maxConcurrency", &member) && member.type == FA_JSON_NUMBER)
        out->max = fa_json_member_int(object, "maxConcurrency");
    out->is_set = fa_json_member(object, "isSet", &member) && member.type == FA_JSON_TRUE;
    if (fa_json_member(object, "holders", &member) && member.type == FA_JSON_ARRAY)
        read_holders(member, arena, out);
    return true;
}

static void put_resource(const struct fa_kv_resource *resource, struct fa_buf *buf)
{
    struct fa_json_writer w;

    fa_buf_init(buf, SIZE_MAX / 2);
    fa_json_writer_init(&w, buf, 0);
    fa_json_begin_object(&w);
    fa_json_set_str(&w, "name", resource->name);
    fa_json_key(&w, "maxConcurrency");
    if (resource->max >= 0)
        fa_json_put_int(&w, resource->max);
    else
        fa_json_put_null(&w);
    fa_json_set_bool(&w, "isSet", resource->is_set);
    fa_json_key(&w, "holders");
    fa_json_begin_array(&w);
    for (size_t i = 0; i < resource->count; i++) {
        fa_json_begin_object(&w);
        fa_json_set_str(&w, "id", resource->holders[i].id);
        fa_json_set_int(&w, "permit", resource->holders[i].permit);
        fa_json_set_int(&w, "revision", (int64_t)resource->holders[i].revision);
        fa_json_set_int(&w, "at", resource->holders[i].at_us);
        fa_json_end_object(&w);
    }
    fa_json_end_array(&w);
    fa_json_end_object(&w);
}

enum faina_code fa_kv_resource_read(struct fa_kv_engine *engine, const char *name, bool is_fresh,
                                    struct fa_arena *arena, struct fa_kv_resource *out,
                                    struct faina_error *err)
{
    const char *key = fa_kv_name_key(FA_KV_RESOURCES, name, NULL, arena);
    struct fa_kv_named_value known;
    struct fa_kv_read read;
    enum faina_code code;

    fa_kv_named_get(engine->named, key, arena, &known);
    if (is_fresh || known.revision == 0) {
        code = fa_kv_get(engine->kv, key, arena, &read, err);
        if (code != FAINA_OK && code != FAINA_NOT_FOUND)
            return code;
        fa_kv_named_put(engine->named, &(struct fa_kv_entry){.key = key,
                                                             .value = read.value,
                                                             .revision = read.revision,
                                                             .at_us = read.at_us,
                                                             .is_deleted = code != FAINA_OK});
        known = (struct fa_kv_named_value){key, read.value, read.revision, read.at_us};
    }
    if (known.value.ptr == NULL)
        *out = (struct fa_kv_resource){.name = name, .max = -1};
    else if (!fa_kv_resource_parse(known.value, arena, out))
        return fa_error_set(err, FAINA_INTERNAL, "the record of the resource %.200s is damaged",
                            name);
    out->revision = known.revision;
    return FAINA_OK;
}

enum faina_code fa_kv_resource_write(struct fa_kv_engine *engine, struct fa_kv_resource *resource,
                                     struct faina_error *err)
{
    struct fa_arena scratch = {0};
    const char *key = fa_kv_name_key(FA_KV_RESOURCES, resource->name, NULL, &scratch);
    struct fa_kv_write write = {.key = key, .expected = resource->revision};
    struct fa_buf buf;

    put_resource(resource, &buf);
    write.value = (struct fa_bytes){buf.ptr, buf.len};
    fa_kv_write(engine->kv, &write, 1, err);
    if (write.code == FAINA_OK) {
        resource->revision = write.revision;
        fa_kv_named_put(engine->named, &(struct fa_kv_entry){.key = key,
                                                             .value = write.value,
                                                             .revision = write.revision,
                                                             .at_us = fa_kv_now(engine)});
    } else if (write.code == FAINA_PAYLOAD_TOO_LARGE) {
        write.code = fa_error_set(err, FAINA_OVERLOADED,
                                  "resource %.200s has as many holders as fit into its record, %zu",
                                  resource->name, resource->count);
    }
    fa_buf_finish(&buf);
    fa_arena_finish(&scratch);
    return write.code;
}

/* ------------------------------------------------------------------------------------------
 * Taking and giving
 */

static struct fa_kv_holder *find_holder(struct fa_kv_resource *resource, const char *id,
                                        int64_t permit)
{
    for (size_t i = 0; i < resource->count; i++)
        if (resource->holders[i].permit == permit && strcmp(resource->holders[i].id, id) == 0)
            return &resource->holders[i];
    return NULL;
}

static void remove_holder(struct fa_kv_resource *resource, struct fa_kv_holder *holder)
{
    *holder = resource->holders[--resource->count];
}

/* Applies one request to the resource. True: it has changed. */
static bool apply(struct fa_kv_resource *resource, struct fa_kv_permit *permit, bool takes,
                  int64_t now_us, struct fa_arena *arena)
{
    struct fa_kv_holder *holder = find_holder(resource, permit->id, permit->permit);

    permit->code = FAINA_OK;
    if (!takes) {
        if (holder != NULL)
            remove_holder(resource, holder);
        return holder != NULL;
    }
    if (holder == NULL && resource->max >= 0 && (int64_t)resource->count >= resource->max) {
        permit->code = FAINA_OVERLOADED;
        permit->in_use = (int64_t)resource->count;
        permit->max = resource->max;
        return false;
    }
    if (holder == NULL) {
        resource->holders = fa_arena_grow(arena, resource->holders, resource->count,
                                          &resource->size, sizeof(*resource->holders));
        holder = &resource->holders[resource->count++];
    }
    *holder = (struct fa_kv_holder){permit->id, permit->permit, permit->revision, now_us};
    return true;
}

/* All requests for one resource: those in `group`. */
static void change_one(struct fa_kv_engine *engine, struct fa_kv_permit **group, size_t count,
                       const bool *takes, struct faina_error *err)
{
    bool was_repaired = false, is_fresh = false;
    enum faina_code code = FAINA_CONFLICT;

    for (int tries = 0; code == FAINA_CONFLICT && tries < TRIES; tries++) {
        struct fa_arena scratch = {0};
        struct fa_kv_resource resource;
        bool has_changed = false, is_full = false;

        if (tries > 2)
            fa_kv_engine_pause(engine, tries - 2);
        code = fa_kv_resource_read(engine, group[0]->resource, is_fresh, &scratch, &resource, err);
        for (size_t i = 0; code == FAINA_OK && i < count; i++) {
            has_changed |= apply(&resource, group[i], takes[i], fa_kv_now(engine), &scratch);
            is_full |= group[i]->code == FAINA_OVERLOADED;
        }
        if (code == FAINA_OK && is_full && (!is_fresh || !was_repaired)) {
            /* What this node knows may be old, and a holder may hold nothing any more. */
            if (is_fresh)
                fa_kv_resource_repair(engine, group[0]->resource, GRACE_US);
            was_repaired = is_fresh;
            is_fresh = true;
            code = FAINA_CONFLICT;
        } else if (code == FAINA_OK && has_changed) {
            code = fa_kv_resource_write(engine, &resource, err);
            is_fresh = true;
        }
        fa_arena_finish(&scratch);
    }
    for (size_t i = 0; i < count; i++)
        if (code != FAINA_OK)
            group[i]->code = code;
}

static int by_resource(const void *a, const void *b)
{
    const struct fa_kv_permit *const *x = a, *const *y = b;

    return strcmp((*x)->resource, (*y)->resource);
}

void fa_kv_permits_change(struct fa_kv_engine *engine, struct fa_kv_permit *permits, size_t count,
                          struct faina_error *err)
{
    struct fa_kv_permit **sorted;
    bool *takes;

    if (count == 0)
        return;
    sorted = fa_alloc_zero(count, sizeof(*sorted));
    takes = fa_alloc_zero(count, sizeof(*takes));
    for (size_t i = 0; i < count; i++)
        sorted[i] = &permits[i];
    qsort(sorted, count, sizeof(*sorted), by_resource);
    for (size_t i = 0; i < count; i++)
        takes[i] = sorted[i]->is_taken;
    for (size_t from = 0, to; from < count; from = to) {
        for (to = from + 1; to < count && by_resource(&sorted[from], &sorted[to]) == 0;)
            to++;
        change_one(engine, sorted + from, to - from, takes + from, err);
    }
    for (size_t i = 0; i < count; i++)
        sorted[i]->is_taken = takes[i] && sorted[i]->code == FAINA_OK;
    free(takes);
    free(sorted);
}

enum faina_code fa_kv_permits_take(struct fa_kv_engine *engine, const struct faina_task *task,
                                   int64_t permit, uint64_t revision, struct faina_error *err)
{
    struct fa_kv_permit permits[FA_RESOURCES_MAX];
    enum faina_code code = FAINA_OK;
    size_t taken = 0;

    for (size_t i = 0; code == FAINA_OK && i < task->resource_count; i++) {
        permits[i] = (struct fa_kv_permit){.resource = task->resources[i],
                                           .id = task->id,
                                           .permit = permit,
                                           .revision = revision,
                                           .max = -1,
                                           .is_taken = true};
        fa_kv_permits_change(engine, &permits[i], 1, err);
        code = permits[i].code;
        taken += permits[i].is_taken;
        if (code == FAINA_OVERLOADED && permits[i].max >= 0)
            fa_error_set(err, code, "resource %.200s is at its limit, %lld/%lld",
                         task->resources[i], (long long)permits[i].in_use,
                         (long long)permits[i].max);
    }
    if (code != FAINA_OK && taken > 0) {
        for (size_t i = 0; i < taken; i++)
            permits[i].is_taken = false;
        fa_kv_permits_change(engine, permits, taken, NULL); /* P3: what fails here is repaired */
    }
    return code;
}

int64_t fa_kv_permit_new(struct fa_kv_engine *engine)
{
    int64_t permit;

    pthread_mutex_lock(&engine->mutex);
    permit = (int64_t)(fa_random_next(&engine->random) >> 12) + 1;
    pthread_mutex_unlock(&engine->mutex);
    return permit;
}

void fa_kv_permits_give(struct fa_kv_engine *engine, const struct faina_task *task, int64_t permit)
{
    struct fa_kv_permit permits[FA_RESOURCES_MAX];

    for (size_t i = 0; i < task->resource_count; i++)
        permits[i] =
            (struct fa_kv_permit){.resource = task->resources[i], .id = task->id, .permit = permit};
    fa_kv_permits_change(engine, permits, task->resource_count, NULL);
}

/* ------------------------------------------------------------------------------------------
 * Repairing
 */

/* Whether the holder holds nothing and never will. */
static bool is_stale(struct fa_kv_engine *engine, const struct fa_kv_holder *holder)
{
    struct fa_arena scratch = {0};
    const char *key = fa_kv_task_key(holder->id, &scratch);
    struct fa_kv_record record;
    struct fa_kv_read read;
    struct fa_bytes value;
    uint64_t revision;
    bool is_stale = false;
    enum faina_code code = fa_kv_get(engine->kv, key, &scratch, &read, NULL);

    if (code == FAINA_NOT_FOUND) {
        is_stale = true;
    } else if (code == FAINA_OK &&
               fa_kv_record_read(&engine->shape, holder->id, read.value, read.revision, &scratch,
                                 &record, NULL) == FAINA_OK &&
               (!fa_status_uses_resources(record.task.status) || record.permit != holder->permit)) {
        is_stale = read.revision > holder->revision;
        /* P3: a claim at this revision could still happen, so the task gets another one. */
        if (read.revision == holder->revision &&
            fa_kv_record_write(&engine->shape, &record, fa_kv_value_max(engine->kv), &scratch,
                               &value, NULL) == FAINA_OK)
            is_stale =
                fa_kv_update(engine->kv, key, value, read.revision, &revision, NULL) == FAINA_OK;
    }
    fa_arena_finish(&scratch);
    return is_stale;
}

void fa_kv_resource_repair(struct fa_kv_engine *engine, const char *name, int64_t min_age_us)
{
    struct fa_arena scratch = {0};
    struct fa_kv_resource resource;
    struct fa_kv_brief brief;
    bool has_changed = false;

    if (fa_kv_resource_read(engine, name, true, &scratch, &resource, NULL) != FAINA_OK) {
        fa_arena_finish(&scratch);
        return;
    }
    for (size_t i = resource.count; i-- > 0;) {
        struct fa_kv_holder *holder = &resource.holders[i];

        if (fa_kv_now(engine) - holder->at_us < min_age_us)
            continue;
        if (fa_kv_now(engine) - holder->at_us < OLD_US &&
            fa_kv_index_brief(engine->index, holder->id, &brief) &&
            fa_status_uses_resources(brief.status))
            continue;
        if (!is_stale(engine, holder))
            continue;
        remove_holder(&resource, holder);
        has_changed = true;
    }
    /* If it has changed meanwhile, the next repair does it. */
    if (has_changed && fa_kv_resource_write(engine, &resource, NULL) == FAINA_OK)
        fa_waiting_claims_notify(engine->claims, FA_TYPES_ALL);
    fa_arena_finish(&scratch);
}
