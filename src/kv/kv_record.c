/* kv_record.c - see kv_record.h. */
#include "kv/kv_record.h"

#include "model/id.h"
#include "model/limits.h"
#include "model/task_rules.h"
#include "wire/wire.h"

#include <assert.h>
#include <stdlib.h>

/* Payloads, in a task, in a record. */
#define DEPTH_MAX (FA_JSON_DEPTH_MAX + 4)

static bool is_stored(const char *name)
{
    static const char *const others[] = {"version", "fence"}; /* R1, R2 */

    for (size_t i = 0; i < FA_COUNT(others); i++)
        if (strcmp(name, others[i]) == 0)
            return false;
    return true;
}

void fa_kv_shape_init(struct fa_kv_shape *shape)
{
    const struct fa_field *all = fa_shape_task.fields;
    size_t count = 0, kept = 0;

    while (all[count].name != NULL)
        count++;
    shape->task = fa_shape_task;
    shape->fields = fa_alloc_zero(count + 1, sizeof(*shape->fields));
    for (size_t i = 0; i < count; i++)
        if (is_stored(all[i].name))
            shape->fields[kept++] = all[i];
    shape->task.fields = shape->fields;
}

void fa_kv_shape_finish(struct fa_kv_shape *shape)
{
    free(shape->fields);
    shape->fields = NULL;
}

/* ------------------------------------------------------------------------------------------
 * Reading
 */

static enum faina_code read_events(struct fa_json array, struct fa_arena *arena,
                                   struct fa_kv_record *out, struct faina_error *err)
{
    struct fa_json_iter it;
    struct fa_json item;
    enum faina_code code = FAINA_OK;

    if (array.type != FA_JSON_ARRAY)
        return fa_error_set(err, FAINA_INTERNAL, "events is no array");
    out->event_size = fa_json_count(array) + 4;
    out->events = fa_arena_zero(arena, out->event_size, sizeof(*out->events));
    for (it = fa_json_iter(array); code == FAINA_OK && fa_json_next(&it, NULL, &item);)
        code = fa_shape_read(item, &fa_shape_event, arena, &out->events[out->event_count++], err);
    return code;
}

static void read_engine(struct fa_json object, struct fa_arena *arena, struct fa_kv_record *out)
{
    struct fa_json fence;

    if (object.type != FA_JSON_OBJECT)
        return;
    out->worker = fa_json_member_text(object, "worker", arena);
    out->state = fa_json_member_text(object, "state", arena);
    out->run_at_us = fa_json_member_int(object, "runAt");
    out->at_us = fa_json_member_int(object, "at");
    out->lease_ms = fa_json_member_int(object, "leaseMs");
    out->submitter = fa_json_member_int(object, "submitter");
    out->permit = fa_json_member_int(object, "permit");
    out->takes_fence = !fa_json_member(object, "fence", &fence);
    if (!out->takes_fence && fence.type == FA_JSON_NUMBER)
        fa_json_int(fence, &out->fence);
}

static enum faina_code read_members(const struct fa_kv_shape *shape, struct fa_bytes value,
                                    struct fa_arena *arena, struct fa_kv_record *out,
                                    struct faina_error *err)
{
    enum faina_code code = fa_json_check(value, DEPTH_MAX, "the record", FAINA_INTERNAL, err);
    struct fa_json object, member;
    struct fa_json_iter it;
    struct fa_bytes name;

    if (code != FAINA_OK)
        return code;
    object = fa_json_value(value);
    if (object.type != FA_JSON_OBJECT)
        return fa_error_set(err, FAINA_INTERNAL, "the record is no object");
    code = fa_shape_read(object, &shape->task, arena, &out->task, err);
    for (it = fa_json_iter(object); code == FAINA_OK && fa_json_next(&it, &name, &member);) {
        if (fa_bytes_equal(name, FA_LIT("events")))
            code = read_events(member, arena, out, err);
        else if (fa_bytes_equal(name, FA_LIT("engine")))
            read_engine(member, arena, out);
    }
    return code;
}

/* R3. What the shape doesn't check. */
static const char *find_damage(const struct fa_kv_record *record, const char *id)
{
    const struct faina_task *task = &record->task;
    struct fa_id parsed;

    if (strcmp(task->id, id) != 0 || !fa_id_parse(id, &parsed))
        return "it has another id than its key";
    if ((unsigned)task->status >= FAINA_STATUS_COUNT || task->status == FAINA_BLOCKED)
        return "its status is none that this engine has";
    if (task->ns[0] == '\0' || task->type[0] == '\0')
        return "it has no namespace or type";
    if (task->attempts < 0 || task->max_attempts < 0 || record->at_us < 0)
        return "a number in it is negative";
    if (task->resource_count > FA_RESOURCES_MAX)
        return "it has too many resources";
    return NULL;
}

enum faina_code fa_kv_record_read(const struct fa_kv_shape *shape, const char *id,
                                  struct fa_bytes value, uint64_t revision, struct fa_arena *arena,
                                  struct fa_kv_record *out, struct faina_error *err)
{
    struct faina_error why = {0};
    const char *damage;

    *out = (struct fa_kv_record){0};
    if (read_members(shape, value, arena, out, &why) == FAINA_OK) {
        damage = find_damage(out, id);
        if (damage == NULL) {
            fa_kv_record_show(out, revision);
            out->fence = out->task.fence; /* of any write but a claim (R2) */
            out->takes_fence = false;
            return FAINA_OK;
        }
    } else {
        damage = why.message;
    }
    return fa_error_set(err, FAINA_INTERNAL, "task %.64s is damaged: %.300s", id, damage);
}

/* ------------------------------------------------------------------------------------------
 * Writing
 */

void fa_kv_record_show(struct fa_kv_record *record, uint64_t revision)
{
    struct faina_task *task = &record->task;
    bool is_held = fa_status_is_held(task->status);

    record->revision = revision;
    task->version = (int64_t)revision;
    task->fence = record->takes_fence ? (int64_t)revision : record->fence;
    task->state = record->state != NULL ? record->state : fa_task_state(task->status);
    task->worker_id = is_held ? record->worker : NULL;
    task->lease_expires_us = is_held ? record->at_us : 0;
    task->expires_us = task->status == FAINA_BACKGROUND ? record->at_us : 0;
    task->run_at_us =
        task->status == FAINA_PENDING && record->at_us != 0 ? record->at_us : record->run_at_us;
}

static void put_events(struct fa_json_writer *w, const struct fa_kv_record *record, size_t count)
{
    fa_json_key(w, "events");
    fa_json_begin_array(w);
    for (size_t i = record->event_count - count; i < record->event_count; i++)
        fa_shape_put(w, &fa_shape_event, &record->events[i]);
    fa_json_end_array(w);
}

static void put_engine(struct fa_json_writer *w, const struct fa_kv_record *record)
{
    fa_json_key(w, "engine");
    fa_json_begin_object(w);
    if (!record->takes_fence)
        fa_json_set_int(w, "fence", record->fence);
    fa_json_opt_str(w, "worker", record->worker);
    fa_json_opt_str(w, "state", record->state);
    if (record->run_at_us != 0)
        fa_json_set_int(w, "runAt", record->run_at_us);
    if (record->at_us != 0)
        fa_json_set_int(w, "at", record->at_us);
    if (record->lease_ms != 0)
        fa_json_set_int(w, "leaseMs", record->lease_ms);
    if (record->submitter != 0)
        fa_json_set_int(w, "submitter", record->submitter);
    if (record->permit != 0)
        fa_json_set_int(w, "permit", record->permit);
    fa_json_end_object(w);
}

static void put_record(const struct fa_kv_shape *shape, const struct fa_kv_record *record,
                       size_t events, struct fa_buf *buf)
{
    struct fa_json_writer w;

    fa_buf_clear(buf);
    fa_json_writer_init(&w, buf, 0);
    fa_json_begin_object(&w);
    fa_shape_put_members(&w, &shape->task, &record->task);
    put_events(&w, record, events);
    put_engine(&w, record);
    fa_json_end_object(&w);
}

enum faina_code fa_kv_record_write(const struct fa_kv_shape *shape, struct fa_kv_record *record,
                                   size_t max, struct fa_arena *arena, struct fa_bytes *out,
                                   struct faina_error *err)
{
    size_t events = record->event_count;
    struct fa_buf buf;

    fa_kv_record_show(record, record->revision);
    fa_buf_init(&buf, SIZE_MAX / 2);
    put_record(shape, record, events, &buf);
    while (buf.len > max && events > 0) { /* R4 */
        events /= 2;
        put_record(shape, record, events, &buf);
    }
    if (buf.len > max) {
        fa_error_set(err, FAINA_PAYLOAD_TOO_LARGE,
                     "the task is %zu bytes as JSON, and the NATS server's max_payload allows %zu",
                     buf.len, max);
        fa_buf_finish(&buf);
        return FAINA_PAYLOAD_TOO_LARGE;
    }
    record->events += record->event_count - events;
    record->event_size -= record->event_count - events;
    record->event_count = events;
    *out = (struct fa_bytes){fa_arena_copy(arena, buf.ptr, buf.len), buf.len};
    fa_buf_finish(&buf);
    return FAINA_OK;
}

/* ------------------------------------------------------------------------------------------
 * Changing
 */

int64_t fa_kv_record_time(const struct fa_kv_record *record, int64_t now_us)
{
    int64_t last = record->task.updated_us;

    if (record->event_count > 0 && record->events[record->event_count - 1].at_us > last)
        last = record->events[record->event_count - 1].at_us;
    return now_us > last ? now_us : last + 1;
}

void fa_kv_record_event(struct fa_kv_record *record, struct fa_arena *arena,
                        const struct faina_event *event)
{
    struct faina_event *added;
    struct fa_id id;

    if (record->event_count == FA_KV_EVENTS_MAX) {
        record->events++;
        record->event_size--;
        record->event_count--;
    }
    record->events = fa_arena_grow(arena, record->events, record->event_count, &record->event_size,
                                   sizeof(*record->events));
    record->events[record->event_count] = *event;
    added = &record->events[record->event_count++];
    if (added->state == NULL)
        added->state = fa_task_state(added->status);
    if (fa_id_parse(record->task.id, &id))
        fa_event_id_format(id.key, added->at_us, added->what, added->id);
}

static void take_lease(struct fa_kv_record *record, const struct fa_kv_step *step, int64_t now,
                       struct fa_arena *arena)
{
    struct faina_task *task = &record->task;

    record->takes_fence = true;
    record->permit = step->permit;
    record->worker = fa_arena_strdup(arena, step->worker);
    record->at_us = step->worker != NULL && step->lease_us > 0 ? now + step->lease_us : 0;
    record->lease_ms = step->lease_us / 1000 != FA_LEASE_MS_DEFAULT ? step->lease_us / 1000 : 0;
    task->claimed_us = step->worker != NULL ? now : 0;
    task->started_us = 0;
    task->attempts++;
    if (step->worker != NULL)
        fa_kv_record_event(record, arena,
                           &(struct faina_event){.at_us = now,
                                                 .what = "claimed",
                                                 .status = FAINA_CLAIMED,
                                                 .actor = FAINA_ACTOR_WORKER,
                                                 .worker_id = record->worker});
}

/* A task without a holder: pending, perhaps delayed. */
static void step_back(struct fa_kv_record *record, const struct fa_kv_step *step, unsigned effects,
                      int64_t now)
{
    record->worker = NULL;
    record->at_us = 0;
    if (effects & FA_UNCOUNT && record->task.attempts > 0)
        record->task.attempts--;
    if (effects & FA_UNCOUNT && record->run_at_us > now)
        record->at_us = record->run_at_us; /* it was claimed before its time */
    if (effects & FA_BACK_OFF)
        record->at_us = now + step->backoff_us;
    if (step->until_us != 0)
        record->at_us = step->until_us > now ? step->until_us : 0;
}

/* The event of the change itself. A cancellation names neither worker nor error. */
static void add_event(struct fa_kv_record *record, const struct fa_kv_step *step, unsigned effects,
                      int64_t now, const char *holder, struct fa_arena *arena)
{
    struct faina_task *task = &record->task;
    struct faina_event event = {.at_us = now,
                                .what = step->what,
                                .status = task->status,
                                .actor = step->actor,
                                .state = record->state,
                                .worker_id = fa_arena_strdup(arena, step->worker),
                                .detail = step->detail};

    if (event.what == NULL && step->trigger == FA_START) {
        event.what = "started";
        event.worker_id = record->worker;
    } else if (event.what == NULL && effects & FA_END) {
        event.what = faina_status_name(task->status);
        event.worker_id = task->status == FAINA_CANCELLED ? NULL : holder;
        event.detail = task->status == FAINA_CANCELLED ? NULL : task->error;
    }
    if (event.what != NULL)
        fa_kv_record_event(record, arena, &event);
}

void fa_kv_record_apply(struct fa_kv_record *record, const struct fa_kv_step *step, int64_t now_us,
                        struct fa_arena *arena)
{
    struct faina_task *task = &record->task;
    const struct fa_rule *rule = fa_rule_find(task->status, step->trigger);
    enum faina_status old = task->status;
    int64_t now = fa_kv_record_time(record, now_us);
    unsigned effects;
    const char *holder;

    assert(rule != NULL);
    effects = rule->effects;
    if (step->trigger == FA_START && old == FAINA_CLAIMED)
        effects &= ~(unsigned)(FA_TAKE_LEASE | FA_COUNT_ATTEMPT);
    task->status = (effects & FA_KEEP_STATUS) ? old : rule->to;
    if (task->status != old)
        record->state = fa_arena_strdup(arena, step->state);
    if (effects & FA_TAKE_LEASE)
        take_lease(record, step, now, arena);
    if (step->trigger == FA_START) {
        if (effects & FA_TAKE_LEASE && step->worker != NULL)
            now++; /* claimed, then started */
        task->started_us = now;
    }
    holder = record->worker;
    if (effects & FA_END) {
        task->completed_us = now;
        record->at_us = 0;
    }
    if (effects & FA_REOPEN) {
        task->completed_us = 0;
        task->error = task->output = NULL;
        task->progress = 0;
    }
    if (task->status == FAINA_PENDING)
        step_back(record, step, effects, now_us);
    if (task->status == FAINA_BACKGROUND && old != FAINA_BACKGROUND) {
        record->worker = NULL;
        record->at_us = now_us + step->lease_us;
    }
    if (!fa_status_uses_resources(task->status))
        record->permit = 0;
    task->updated_us = now;
    add_event(record, step, effects, now, holder, arena);
}
