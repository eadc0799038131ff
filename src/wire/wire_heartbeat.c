/* wire_heartbeat.c - a worker's registration or heartbeat, and the answer to it. */
#include "wire/wire.h"

#include "model/limits.h"
#include "wire/body.h"

#define REQUIRED FA_FIELD_REQUIRED

static bool read_held(struct fa_json item, struct fa_arena *arena, struct faina_held *out)
{
    struct fa_json_iter it;
    struct fa_json value;
    struct fa_bytes key;

    if (item.type == FA_JSON_STRING) {
        out->id = fa_json_text(item, arena);
        return true;
    }
    if (item.type != FA_JSON_OBJECT)
        return false;
    for (it = fa_json_iter(item); fa_json_next(&it, &key, &value);) {
        if (fa_bytes_equal(key, FA_LIT("id")) && value.type == FA_JSON_STRING)
            out->id = fa_json_text(value, arena);
        else if (!fa_bytes_equal(key, FA_LIT("fence")) ||
                 (value.type != FA_JSON_NULL &&
                  (value.type != FA_JSON_NUMBER || !fa_json_int(value, &out->fence))))
            return false;
    }
    return out->id != NULL;
}

static enum faina_code read_tasks(const struct fa_field *field, struct fa_json value,
                                  struct fa_arena *arena, void *out, struct faina_error *err)
{
    struct fa_wire_heartbeat *beat = out;
    struct faina_held *held;
    struct fa_json_iter it;
    struct fa_json item;
    size_t count = 0;

    if (value.type != FA_JSON_ARRAY)
        return fa_body_refuse(field, "an array of {\"id\":…,\"fence\":…}", err);
    held = fa_arena_zero(arena, fa_json_count(value) + 1, sizeof(*held));
    for (it = fa_json_iter(value); fa_json_next(&it, NULL, &item); count++)
        if (!read_held(item, arena, &held[count]))
            return fa_body_refuse(field, "an array of {\"id\":…,\"fence\":…}", err);
    beat->held = held;
    beat->held_count = count;
    beat->renews_all = false;
    return FAINA_OK;
}

#define HELD(json_name, kind, member, ...)                                                         \
    FA_ROW(json_name, kind, struct faina_held, member, __VA_ARGS__)
#define BEAT(json_name, kind, member, ...)                                                         \
    FA_ROW(json_name, kind, struct fa_wire_heartbeat, member, __VA_ARGS__)
#define BEAT_NAMES(json_name, member, counter, text)                                               \
    FA_ROW_TEXTS(json_name, struct fa_wire_heartbeat, member, counter, .max = FA_CLAIM_NAMES_MAX,  \
                 .doc = (text))

/* clang-format off */
static const struct fa_shape id_shape = {
    .schema = "{\"type\":\"string\",\"format\":\"uuid\"}",
};
static const struct fa_shape held_shape = {
    .what = "task",
    .is_request = true,
    .alternative = &id_shape,
    .fields = FA_FIELDS(
        HELD("id", TEXT, id, .flags = REQUIRED | FA_FIELD_UUID, .doc = "The task"),
        HELD("fence", INT64, fence, .max = INT64_MAX, .doc = "The fence of the claim")),
};

const struct fa_shape fa_body_worker = {
    .name = "WorkerBody",
    .what = "worker",
    .is_request = true,
    .stored = &fa_shape_worker,
    .example = "{\"poolSize\":4}",
    .fields = FA_FIELDS(
        BEAT("id", TEXT, worker.id, .doc = "As in the path, or not given"),
        BEAT("hostname", TEXT, worker.hostname, .max = FA_HOSTNAME_SIZE_MAX,
             .doc = "The machine it runs on"),
        BEAT("poolSize", INT, worker.pool_size, .max = FA_POOL_SIZE_MAX,
             .doc = "How many tasks it runs at once"),
        BEAT_NAMES("types", worker.types, worker.type_count, "The types it has handlers for"),
        BEAT_NAMES("services", worker.services, worker.service_count,
                   "The services that are up there"),
        BEAT("version", TEXT, worker.version, .max = FA_WORKER_VERSION_SIZE_MAX,
             .doc = "Program version"),
        FA_ROW_LIST("tasks", held_shape, struct fa_wire_heartbeat, held, held_count,
                    .max = FA_BATCH_MAX, .read = read_tasks,
                    .doc = "The tasks whose leases are renewed; all that it holds by default"),
        BEAT("leaseSeconds", DURATION, lease_ms, .max = FA_LEASE_MS_MAX,
             .doc = "How long the leases last from now")),
};

static const char *loss_word(int why)
{
    static const char *const words[] = {"cancelled", "lost", NULL};

    return words[why];
}

static const struct fa_shape loss_shape = {
    .what = "loss",
    .fields = FA_FIELDS(
        {.name = "id", .flags = REQUIRED | FA_FIELD_UUID, .doc = "The task"},
        {.name = "fence", .type = FA_FIELD_INT64, .doc = "The fence that was sent"},
        {.name = "why", .flags = REQUIRED, .word = loss_word, .doc = "Why the lease was lost"}),
};

/* As fa_wire_put_heartbeat writes it. */
const struct fa_shape fa_shape_worker_heartbeat = {
    .name = "WorkerBeat",
    .what = "worker",
    .base = &fa_shape_worker,
    .fields = FA_FIELDS(
        {.name = "renewed", .type = FA_FIELD_SIZE, .doc = "How many leases were renewed"},
        {.name = "cancelled", .type = FA_FIELD_TEXTS, .flags = REQUIRED | FA_FIELD_UUID,
         .doc = "Those of the tasks that were cancelled"},
        {.name = "lost", .type = FA_FIELD_TEXTS, .flags = REQUIRED | FA_FIELD_UUID,
         .doc = "Those of the tasks that the worker doesn't hold any more"},
        {.name = "losses", .type = FA_FIELD_LIST, .inner = &loss_shape,
         .doc = "What is in cancelled and lost, in the order of tasks, with the fences that were "
                "sent"}),
};
/* clang-format on */

enum faina_code fa_wire_read_heartbeat(struct fa_bytes json, struct fa_arena *arena,
                                       struct fa_wire_heartbeat *out, struct faina_error *err)
{
    struct fa_wire_heartbeat beat = {.renews_all = true};
    enum faina_code code =
        fa_json_check(json, FA_JSON_DEPTH_MAX, "worker", FAINA_INVALID_REQUEST, err);

    if (code == FAINA_OK)
        code =
            fa_body_read_object(fa_json_value(json), "worker", &fa_body_worker, arena, &beat, err);
    if (code == FAINA_OK)
        *out = beat;
    return code;
}

/* ------------------------------------------------------------------------------------------
 * Writing
 */

static void put_losses(struct fa_json_writer *w, const struct faina_beat *beat, enum faina_loss why)
{
    fa_json_key(w, faina_loss_name(why));
    fa_json_begin_array(w);
    for (size_t i = 0; i < beat->lost_count; i++)
        if (beat->items[i].why == why)
            fa_json_put_str(w, beat->items[i].id);
    fa_json_end_array(w);
}

/* Both in one, in the order of the request. */
static void put_all_losses(struct fa_json_writer *w, const struct faina_beat *beat)
{
    fa_json_key(w, "losses");
    fa_json_begin_array(w);
    for (size_t i = 0; i < beat->lost_count; i++) {
        fa_json_begin_object(w);
        fa_json_set_str(w, "id", beat->items[i].id);
        fa_json_set_int(w, "fence", beat->items[i].fence);
        fa_json_set_str(w, "why", faina_loss_name(beat->items[i].why));
        fa_json_end_object(w);
    }
    fa_json_end_array(w);
}

void fa_wire_put_heartbeat(struct fa_json_writer *w, const struct faina_worker *worker,
                           const struct faina_beat *beat)
{
    fa_json_begin_object(w);
    fa_shape_put_members(w, &fa_shape_worker, worker);
    fa_json_key(w, "renewed");
    fa_json_put_int(w, (int64_t)beat->renewed_count);
    put_losses(w, beat, FAINA_LOSS_CANCELLED);
    put_losses(w, beat, FAINA_LOSS_LOST);
    put_all_losses(w, beat);
    fa_json_end_object(w);
}
