/*
 * wire_beat.c - a worker's registration or heartbeat, and the answer to it.
 *
 * One table, `fields`: name and how to read it. A field without a reader is set by the engine.
 * Limits are model/check.h's; here only the shape is looked at.
 */
#include "service/wire.h"

#include "model/limits.h"
#include "model/times.h"

struct reader {
    struct fa_arena *arena;
    struct fa_wire_beat *out;
    struct faina_error *err;
};

typedef enum faina_code read_fn(struct reader *r, const char *name, struct fa_json value);

static enum faina_code refuse(struct reader *r, const char *name, const char *what)
{
    return fa_error_field(r->err, FAINA_INVALID_REQUEST, name, "%s must be %s", name, what);
}

static enum faina_code read_text(struct reader *r, const char *name, struct fa_json value,
                                 const char **out)
{
    if (value.type != FA_JSON_STRING)
        return refuse(r, name, "a string");
    *out = fa_json_text(value, r->arena);
    return FAINA_OK;
}

static enum faina_code read_id(struct reader *r, const char *name, struct fa_json value)
{
    return read_text(r, name, value, &r->out->worker.id);
}

static enum faina_code read_hostname(struct reader *r, const char *name, struct fa_json value)
{
    return read_text(r, name, value, &r->out->worker.hostname);
}

static enum faina_code read_version(struct reader *r, const char *name, struct fa_json value)
{
    return read_text(r, name, value, &r->out->worker.version);
}

static enum faina_code read_pool_size(struct reader *r, const char *name, struct fa_json value)
{
    int64_t number;

    if (value.type != FA_JSON_NUMBER || !fa_json_int(value, &number) || number < 0 ||
        number > FA_POOL_SIZE_MAX)
        return refuse(r, name, "a whole number between 0 and 100000");
    r->out->worker.pool_size = (int)number;
    return FAINA_OK;
}

static enum faina_code read_names(struct reader *r, const char *name, struct fa_json value,
                                  const char *const **out, size_t *out_count)
{
    return fa_json_texts(value, r->arena, out, out_count) ? FAINA_OK
                                                          : refuse(r, name, "an array of strings");
}

static enum faina_code read_types(struct reader *r, const char *name, struct fa_json value)
{
    return read_names(r, name, value, &r->out->worker.types, &r->out->worker.type_count);
}

static enum faina_code read_services(struct reader *r, const char *name, struct fa_json value)
{
    return read_names(r, name, value, &r->out->worker.services, &r->out->worker.service_count);
}

static bool read_task(struct reader *r, struct fa_json item, struct faina_held *out)
{
    struct fa_json_iter it;
    struct fa_json value;
    struct fa_bytes key;

    if (item.type == FA_JSON_STRING) {
        out->id = fa_json_text(item, r->arena);
        return true;
    }
    if (item.type != FA_JSON_OBJECT)
        return false;
    for (it = fa_json_iter(item); fa_json_next(&it, &key, &value);) {
        if (fa_bytes_equal(key, FA_LIT("id")) && value.type == FA_JSON_STRING)
            out->id = fa_json_text(value, r->arena);
        else if (!fa_bytes_equal(key, FA_LIT("fence")) ||
                 (value.type != FA_JSON_NULL &&
                  (value.type != FA_JSON_NUMBER || !fa_json_int(value, &out->fence))))
            return false;
    }
    return out->id != NULL;
}

static enum faina_code read_tasks(struct reader *r, const char *name, struct fa_json value)
{
    struct faina_held *held;
    struct fa_json_iter it;
    struct fa_json item;
    size_t count = 0;

    if (value.type != FA_JSON_ARRAY)
        return refuse(r, name, "an array of {\"id\":…,\"fence\":…}");
    held = fa_arena_zero(r->arena, fa_json_count(value) + 1, sizeof(*held));
    for (it = fa_json_iter(value); fa_json_next(&it, NULL, &item); count++)
        if (!read_task(r, item, &held[count]))
            return refuse(r, name, "an array of {\"id\":…,\"fence\":…}");
    r->out->held = held;
    r->out->held_count = count;
    r->out->renews_all = false;
    return FAINA_OK;
}

static enum faina_code read_lease(struct reader *r, const char *name, struct fa_json value)
{
    const char *text;

    if (value.type == FA_JSON_STRING)
        text = fa_json_text(value, r->arena);
    else if (value.type == FA_JSON_NUMBER)
        text = fa_arena_copy(r->arena, value.raw.ptr, value.raw.len);
    else
        return refuse(r, name, "a number of seconds");
    return fa_duration_parse(text, name, &r->out->lease_ms, r->err);
}

static const struct {
    const char *name;
    read_fn *read; /* NULL: set by the engine */
} fields[] = {
    {"id", read_id},         {"hostname", read_hostname},  {"poolSize", read_pool_size},
    {"types", read_types},   {"services", read_services},  {"version", read_version},
    {"tasks", read_tasks},   {"leaseSeconds", read_lease}, {"startedAt", NULL},
    {"lastHeartbeat", NULL}, {"isLeader", NULL},           {"leaderUntil", NULL},
    {"held", NULL},
};

static enum faina_code refuse_unknown(const char *key, struct faina_error *err)
{
    const char *names[FA_COUNT(fields) + 1] = {NULL};
    const char *nearest;
    size_t count = 0;

    for (size_t i = 0; i < FA_COUNT(fields); i++)
        if (fields[i].read)
            names[count++] = fields[i].name;
    nearest = fa_wire_nearest(key, names);
    return fa_error_field(err, FAINA_INVALID_REQUEST, key, "unknown field \"%.64s\"%s%s%s", key,
                          nearest ? "; did you mean \"" : "", nearest ? nearest : "",
                          nearest ? "\"?" : "");
}

static enum faina_code read_field(struct reader *r, struct fa_bytes raw_key, struct fa_json value)
{
    const char *key = fa_json_unescape(raw_key, r->arena);

    for (size_t i = 0; i < FA_COUNT(fields); i++) {
        if (strcmp(key, fields[i].name) != 0)
            continue;
        if (!fields[i].read)
            return fa_error_field(r->err, FAINA_INVALID_REQUEST, key,
                                  "%s is set by the engine and can't be told", key);
        return value.type == FA_JSON_NULL ? FAINA_OK : fields[i].read(r, fields[i].name, value);
    }
    return refuse_unknown(key, r->err);
}

enum faina_code fa_wire_read_beat(struct fa_bytes json, struct fa_arena *arena,
                                  struct fa_wire_beat *out, struct faina_error *err)
{
    struct fa_wire_beat beat = {.renews_all = true};
    struct reader r = {.arena = arena, .out = &beat, .err = err};
    struct fa_json_iter it;
    struct fa_bytes key;
    struct fa_json body, value;
    enum faina_code code =
        fa_json_check(json, FA_JSON_DEPTH_MAX, "worker", FAINA_INVALID_REQUEST, err);

    if (code != FAINA_OK)
        return code;
    body = fa_json_value(json);
    if (body.type != FA_JSON_OBJECT)
        return fa_error_set(err, FAINA_INVALID_REQUEST,
                            "a worker must be a JSON object such as {\"poolSize\":4}");
    for (it = fa_json_iter(body); fa_json_next(&it, &key, &value);) {
        code = read_field(&r, key, value);
        if (code != FAINA_OK)
            return code;
    }
    *out = beat;
    return FAINA_OK;
}

/* ------------------------------------------------------------------------------------------
 * Writing
 */

static void put_names(struct fa_json_writer *w, const char *name, const char *const *names,
                      size_t count)
{
    if (names != NULL)
        fa_json_set_strs(w, name, names, count);
}

static void put_held(struct fa_json_writer *w, const struct faina_held *held, size_t count)
{
    fa_json_key(w, "tasks");
    fa_json_begin_array(w);
    for (size_t i = 0; i < count; i++) {
        fa_json_begin_object(w);
        fa_json_opt_str(w, "id", held[i].id);
        fa_json_key(w, "fence");
        fa_json_put_int(w, held[i].fence);
        fa_json_end_object(w);
    }
    fa_json_end_array(w);
}

void fa_wire_put_beat_body(struct fa_json_writer *w, const struct fa_wire_beat *beat)
{
    const struct faina_worker *worker = &beat->worker;

    fa_json_begin_object(w);
    fa_json_opt_str(w, "id", worker->id);
    fa_json_opt_str(w, "hostname", worker->hostname);
    if (worker->pool_size != 0) {
        fa_json_key(w, "poolSize");
        fa_json_put_int(w, worker->pool_size);
    }
    put_names(w, "types", worker->types, worker->type_count);
    put_names(w, "services", worker->services, worker->service_count);
    fa_json_opt_str(w, "version", worker->version);
    if (!beat->renews_all)
        put_held(w, beat->held, beat->held_count);
    if (beat->lease_ms != 0) {
        fa_json_key(w, "leaseSeconds");
        fa_wire_put_duration(w, beat->lease_ms);
    }
    fa_json_end_object(w);
}

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

void fa_wire_put_beat(struct fa_json_writer *w, const struct faina_worker *worker,
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
