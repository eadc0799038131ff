/* kv_explain.c - the reasons why a task is not running, as text. */
#include "kv/kv_read_lists.h"

#include "json/json.h"
#include "kv/kv_keys.h"
#include "kv/kv_permits.h"
#include "model/limits.h"
#include "model/times.h"
#include "service/access.h"

#include <stdlib.h>

#define NAMED_MAX 5

struct explain {
    struct fa_kv_engine *engine;
    struct fa_op *op;
    struct fa_arena *arena;
    const struct faina_task *task;
    int64_t now_us;
    struct faina_explanation *out;
    size_t size;
};

static void add(struct explain *x, const char *kind, int64_t until_us, const char *message)
{
    struct faina_explanation *out = x->out;

    out->reasons =
        fa_arena_grow(x->arena, out->reasons, out->count, &x->size, sizeof(*out->reasons));
    out->reasons[out->count++] =
        (struct faina_reason){.kind = kind, .message = message, .until_us = until_us};
}

static const char *in_time(struct explain *x, int64_t at_us)
{
    char text[FA_TIME_SIZE];

    if (at_us <= x->now_us)
        return "now";
    fa_duration_format(at_us - x->now_us, text);
    return fa_arena_printf(x->arena, "in %s", text);
}

static const char *error_text(struct explain *x)
{
    const char *message =
        fa_json_member_text(fa_json_value(fa_str(x->task->error)), "message", x->arena);

    return message != NULL ? message : x->task->error;
}

/* " (by worker w)" after each holder. Tasks of namespaces without access are counted instead. */
static void add_holders(struct explain *x, const struct fa_kv_resource *resource,
                        struct fa_buf *names)
{
    size_t foreign = 0;

    for (size_t i = 0; i < resource->count && i < NAMED_MAX; i++) {
        const char *id = resource->holders[i].id;
        const char *key = fa_kv_task_key(id, x->arena);
        struct fa_kv_record record;
        struct fa_kv_read read;
        bool is_known = fa_kv_get(x->engine->kv, key, x->arena, &read, NULL) == FAINA_OK &&
                        fa_kv_record_read(&x->engine->shape, id, read.value, read.revision,
                                          x->arena, &record, NULL) == FAINA_OK;

        if (fa_access_is_limited(x->op->grant) &&
            (!is_known || !fa_access_reaches(x->op->grant, record.task.ns))) {
            foreign++;
            continue;
        }
        fa_buf_printf(names, "%s%s", names->len > 0 ? ", " : ", held by ", id);
        if (is_known && record.task.status == FAINA_BACKGROUND)
            fa_buf_printf(names, " (in the background, expires %s)",
                          in_time(x, record.task.expires_us));
        else if (is_known && record.worker != NULL)
            fa_buf_printf(names, " (by worker %s)", record.worker);
    }
    if (foreign > 0)
        fa_buf_printf(names, "%s%zu of other namespaces", names->len > 0 ? " and " : ", held by ",
                      foreign);
    if (resource->count > NAMED_MAX)
        fa_buf_add_str(names, ", ...");
}

static enum faina_code explain_resource(struct explain *x, const char *name)
{
    struct fa_kv_resource resource;
    struct fa_buf names;
    enum faina_code code =
        fa_kv_resource_read(x->engine, name, true, x->arena, &resource, &x->op->error);

    if (code != FAINA_OK || resource.max < 0 || (int64_t)resource.count < resource.max)
        return code;
    fa_buf_init(&names, 16 * 1024);
    add_holders(x, &resource, &names);
    add(x, "resource", 0,
        fa_arena_printf(x->arena, "resource %s is at %zu/%lld%s", name, resource.count,
                        (long long)resource.max, names.len > 0 ? names.ptr : ""));
    fa_buf_finish(&names);
    return FAINA_OK;
}

/* The live workers that the caller may see. */
static enum faina_code explain_workers(struct explain *x)
{
    struct fa_kv_named_value *values;
    size_t count = fa_kv_named_list(x->engine->named, FA_KV_WORKERS, x->arena, &values);
    int64_t since = x->now_us - FA_WORKER_DEAD_MS * 1000, live = 0, handling = 0;
    const char *missing = NULL;
    bool is_reached = false;

    for (size_t i = 0; i < count; i++) {
        struct faina_worker worker;
        const char *owner, *lacks = NULL;

        if (!fa_kv_worker_parse(values[i].value, x->arena, &worker, &owner) ||
            worker.last_heartbeat_us <= since ||
            (owner != NULL && strstr(owner, x->task->ns) == NULL))
            continue;
        live++;
        if (worker.type_count > 0 &&
            !fa_names_have(&(struct fa_texts){worker.types, worker.type_count}, x->task->type))
            continue;
        handling++;
        for (size_t k = 0; worker.services != NULL && k < x->task->resource_count; k++)
            if (!fa_names_have(&(struct fa_texts){worker.services, worker.service_count},
                               x->task->resources[k]))
                lacks = x->task->resources[k];
        is_reached |= lacks == NULL;
        if (lacks != NULL)
            missing = lacks;
    }
    if (live == 0 && x->out->count == 0)
        add(x, "ready", 0,
            "it is ready, and waits for a worker to claim it; no live worker is registered");
    else if (live > 0 && handling == 0)
        add(x, "worker", 0,
            fa_arena_printf(x->arena, "no live worker handles its type, %s", x->task->type));
    else if (live > 0 && !is_reached)
        add(x, "service", 0,
            fa_arena_printf(x->arena, "no live worker that handles its type reaches resource %s",
                            missing));
    return FAINA_OK;
}

static enum faina_code explain_pending(struct explain *x)
{
    const struct faina_task *task = x->task;
    enum faina_code code = FAINA_OK;

    if (task->run_at_us > x->now_us) {
        if (task->error != NULL)
            add(x, "due", task->run_at_us,
                fa_arena_printf(
                    x->arena, "attempt %lld failed, and the next one is due %s; the error was: %s",
                    (long long)task->attempts, in_time(x, task->run_at_us), error_text(x)));
        else
            add(x, "due", task->run_at_us,
                fa_arena_printf(x->arena, "it is due %s", in_time(x, task->run_at_us)));
    }
    if (fa_kv_named_is_paused(x->engine->named, task->ns, task->type))
        add(x, "paused", 0,
            fa_arena_printf(x->arena, "type %s is paused in namespace %s", task->type, task->ns));
    for (size_t i = 0; code == FAINA_OK && i < task->resource_count; i++)
        code = explain_resource(x, task->resources[i]);
    if (code == FAINA_OK)
        code = explain_workers(x);
    if (code == FAINA_OK && x->out->count == 0)
        add(x, "ready", 0, "it is ready, and waits for a worker to claim it");
    return code;
}

static void explain_held(struct explain *x)
{
    const struct faina_task *task = x->task;
    const char *until = task->lease_expires_us != 0 ? in_time(x, task->lease_expires_us) : NULL;

    add(x, "held", task->lease_expires_us,
        fa_arena_printf(x->arena, "it is %s%s%s%s%s%s", faina_status_name(task->status),
                        task->worker_id ? " by worker " : "",
                        task->worker_id ? task->worker_id : "", until ? ", whose lease ends " : "",
                        until ? until : "",
                        task->worker_id ? "" : " without a worker and a lease"));
}

static const char *summarise(struct explain *x)
{
    struct fa_buf text;
    const char *summary;

    fa_buf_init(&text, 64 * 1024);
    for (size_t i = 0; i < x->out->count; i++)
        fa_buf_printf(&text, "%s%s", i > 0 ? "; " : "", x->out->reasons[i].message);
    summary = fa_arena_copy(x->arena, text.ptr, text.len);
    fa_buf_finish(&text);
    return summary;
}

enum faina_code fa_kv_explain(struct fa_kv_engine *engine, struct fa_op *op,
                              const struct faina_task *task)
{
    struct explain x = {
        .engine = engine, .op = op, .arena = op->arena, .task = task, .now_us = fa_kv_now(engine)};
    enum faina_code code = FAINA_OK;

    x.out = fa_arena_zero(op->arena, 1, sizeof(*x.out));
    x.out->task = *task;
    if (task->status == FAINA_PENDING)
        code = explain_pending(&x);
    else if (task->status == FAINA_BACKGROUND)
        add(&x, "background", task->expires_us,
            fa_arena_printf(x.arena, "its work goes on elsewhere; it expires %s",
                            in_time(&x, task->expires_us)));
    else if (fa_status_is_held(task->status))
        explain_held(&x);
    else
        add(&x, "ended", 0,
            fa_arena_printf(x.arena, "it has ended: %s%s%s", faina_status_name(task->status),
                            task->error ? ", with the error: " : "",
                            task->error ? error_text(&x) : ""));
    x.out->summary = summarise(&x);
    op->explanation = x.out;
    return code;
}
