/* explain.c - the reasons why a task is not running, as text. */
#include "store/read/lookup.h"

#include "store/queue/turns.h"
#include "store/read/resources.h"
#include "store/read/show.h"
#include "json/json.h"
#include "model/limits.h"
#include "model/states.h"
#include "model/times.h"
#include "service/access.h"

#include <stdio.h>
#include <stdlib.h>

#define LINE_READ_MAX 10000 /* ready tasks of a lane that are counted */

struct explain {
    struct fa_source *source;
    struct fa_op *op;
    struct fa_arena *arena;
    struct fa_row *row;
    int64_t now_us;
    struct faina_explanation *out;
    size_t size;
    const char *waits_for; /* what keeps the ready tasks of the lane from being claimed */
};

static void add(struct explain *x, const char *kind, int64_t until_us, const char *message)
{
    struct faina_explanation *out = x->out;

    out->reasons =
        fa_arena_grow(x->arena, out->reasons, out->count, &x->size, sizeof(*out->reasons));
    out->reasons[out->count++] =
        (struct faina_reason){.kind = kind, .message = message, .until_us = until_us};
}

/* The message of an error in JSON. */
static const char *error_text(struct explain *x)
{
    const char *message;

    /* It was valid when it was stored, but the store may be damaged. */
    if (fa_json_check(fa_str(x->row->error), FA_JSON_DEPTH_MAX + 1, "error", FAINA_INTERNAL,
                      NULL) != FAINA_OK)
        return x->row->error;
    message = fa_json_member_text(fa_json_value(fa_str(x->row->error)), "message", x->arena);
    return message != NULL ? message : x->row->error;
}

static const char *in_time(struct explain *x, int64_t at_us)
{
    char text[FA_TIME_SIZE];

    if (at_us <= x->now_us)
        return "now";
    fa_duration_format(at_us - x->now_us, text);
    return fa_arena_printf(x->arena, "in %s", text);
}

/* The names of the first other tasks: "a ID (running), b ID (pending), ..." */
#define NAMED_MAX 5

struct others {
    struct explain *x;
    struct fa_buf names;
    int64_t left, named;
    int64_t foreign; /* of namespaces without access: counted, not named */
    int64_t due_us;  /* the latest time at which one of them is due; 0: none is delayed */
};

/* " and 2 of other namespaces" */
static const char *foreign_text(struct explain *x, int64_t count, bool has_more)
{
    if (count == 0)
        return "";
    return fa_arena_printf(x->arena, "%s%lld of other namespaces", has_more ? " and " : "",
                           (long long)count);
}

static enum faina_code add_other(struct others *others, int64_t key)
{
    struct explain *x = others->x;
    char id[FAINA_ID_SIZE];
    struct fa_row row;
    bool is_later;
    enum faina_code code = fa_row_load(x->source, key, x->arena, &row, &x->op->error);

    if (code == FAINA_TASK_NOT_FOUND)
        return FAINA_OK;
    if (code != FAINA_OK || row.deleted_us != 0)
        return code;
    if (fa_status_is_ended(row.status) ||
        (row.flags & FA_FLAG_DETACHED && x->row->flags & FA_FLAG_WAITS_CHILDREN))
        return FAINA_OK;
    others->left++;
    if (!fa_access_reaches(x->op->grant, row.lane->ns)) {
        others->foreign++;
        return FAINA_OK;
    }
    is_later = row.status == FAINA_PENDING && row.at_us > x->now_us;
    if (is_later && row.at_us > others->due_us)
        others->due_us = row.at_us;
    if (others->named++ >= NAMED_MAX)
        return FAINA_OK;
    fa_id_format(row.id, id);
    fa_buf_printf(&others->names, "%s%s %s (%s%s%s)", others->names.len ? ", " : "",
                  row.name ? row.name : row.lane->type, id, faina_status_name(row.status),
                  is_later ? ", due " : "", is_later ? in_time(x, row.at_us) : "");
    return FAINA_OK;
}

static enum faina_code explain_blocked(struct explain *x)
{
    bool by_children = x->row->flags & FA_FLAG_WAITS_CHILDREN;
    struct fa_keys keys = {.arena = x->arena};
    struct others others = {.x = x};
    struct fa_value params[3] = {fa_value_int(x->row->id.key), fa_value_int(0),
                                 fa_value_int(INT64_MAX)};
    enum faina_code code;

    fa_buf_init(&others.names, 16 * 1024);
    code = fa_db_one(x->source->db, by_children ? FA_SQL_CHILD_LIST : FA_SQL_DEP_LIST, params,
                     by_children ? 3 : 1, fa_keys_sink, &keys, &x->op->error);
    for (size_t i = 0; code == FAINA_OK && i < keys.count; i++)
        code = add_other(&others, keys.keys[i]);
    if (code == FAINA_OK)
        add(x, "dependency", others.due_us,
            fa_arena_printf(x->arena, "it waits for %lld %s: %s%s%s", (long long)others.left,
                            by_children ? "of its subtasks" : "of the tasks it depends on",
                            others.names.len ? others.names.ptr : "",
                            others.named > NAMED_MAX ? ", ..." : "",
                            foreign_text(x, others.foreign, others.names.len > 0)));
    if (code == FAINA_OK && x->row->deps_bad > 0)
        add(x, "dependency", 0,
            fa_arena_printf(x->arena, "%lld ended badly, so it will resume in phase error",
                            (long long)x->row->deps_bad));
    fa_buf_finish(&others.names);
    return code;
}

/* Adds "ID (by worker w)". Tasks of namespaces without access are counted instead. */
static enum faina_code name_holder(struct explain *x, const char *holder, struct fa_buf *names,
                                   int64_t *foreign)
{
    struct fa_row row;
    enum faina_code code = fa_read_find(x->source, holder, x->arena, &row, &x->op->error);

    if (code != FAINA_OK && code != FAINA_TASK_NOT_FOUND)
        return code;
    if (fa_access_is_limited(x->op->grant) &&
        (code != FAINA_OK || !fa_access_reaches(x->op->grant, row.lane->ns))) {
        *foreign += 1;
        return FAINA_OK;
    }
    fa_buf_printf(names, "%s%s", names->len ? ", " : "", holder);
    if (code == FAINA_OK && row.status == FAINA_BACKGROUND)
        fa_buf_printf(names, " (in the background, expires %s)", in_time(x, row.at_us));
    else if (code == FAINA_OK && row.worker)
        fa_buf_printf(names, " (by worker %s)", row.worker);
    return FAINA_OK;
}

static enum faina_code explain_limit(struct explain *x, const char *name,
                                     const struct fa_stored_resource *resource)
{
    const char *const *holders;
    struct fa_buf names;
    int64_t foreign = 0;
    size_t count;
    enum faina_code code = fa_read_holders(x->source, resource->id, NAMED_MAX, x->arena, &holders,
                                           &count, &x->op->error);

    if (code != FAINA_OK)
        return code;
    fa_buf_init(&names, 16 * 1024);
    for (size_t i = 0; code == FAINA_OK && i < count; i++)
        code = name_holder(x, holders[i], &names, &foreign);
    if (code == FAINA_OK)
        add(x, "resource", 0,
            fa_arena_printf(x->arena, "resource %s is at %lld/%lld%s%s%s%s", name,
                            (long long)resource->in_use, (long long)resource->limits.max,
                            count ? ", held by " : "", names.len ? names.ptr : "",
                            foreign_text(x, foreign, names.len > 0),
                            resource->in_use > (int64_t)count ? ", ..." : ""));
    fa_buf_finish(&names);
    return code;
}

static void explain_rate(struct explain *x, const char *name,
                         const struct fa_stored_resource *resource)
{
    const struct faina_rate *rate = &resource->limits.rate;
    int64_t next_us = fa_bucket_next_us(&resource->bucket, rate, x->now_us);
    char text[FA_RATE_TEXT_SIZE], at[FA_TIME_SIZE];

    if (next_us <= x->now_us)
        return;
    fa_rate_format(rate, text);
    fa_time_format(next_us, at);
    add(x, "resource", next_us,
        fa_arena_printf(x->arena,
                        "resource %s has no token, at a rate of %s; the next one comes %s, at %s",
                        name, text, in_time(x, next_us), at));
}

static enum faina_code explain_resource(struct explain *x, const char *name)
{
    struct fa_stored_resource resource;
    size_t reasons = x->out->count;
    enum faina_code code = fa_read_resource(x->source, name, x->arena, &resource, &x->op->error);

    if (code == FAINA_OK && resource.limits.rate.count > 0)
        explain_rate(x, name, &resource);
    if (code == FAINA_OK && resource.limits.max >= 0 && resource.in_use >= resource.limits.max)
        code = explain_limit(x, name, &resource);
    if (x->out->count > reasons && x->waits_for == NULL)
        x->waits_for = name;
    return code;
}

static void sink_turns(void *ctx, size_t n, const struct fa_value *columns)
{
    int64_t *turns = ctx;

    (void)n;
    turns[0] = fa_value_as_int(&columns[0]);
    turns[1] = fa_value_as_int(&columns[1]);
}

#define COUNTED_MAX 10000 /* as in turn_before.sql */

/* Where the turn of a task with a group is. */
static enum faina_code explain_turn(struct explain *x)
{
    const struct fa_row *row = x->row;
    struct fa_value params[3] = {fa_value_int(row->lane->id), fa_value_int(row->rank),
                                 fa_value_int(row->turn)};
    int64_t turns[2] = {0, row->turn}, rounds; /* tasks before it, the first turn */
    enum faina_code code =
        fa_db_one(x->source->db, FA_SQL_TURN_BEFORE, params, 3, sink_turns, turns, &x->op->error);

    if (code != FAINA_OK || row->group == NULL)
        return code;
    rounds = turns[1] != 0 && turns[1] < row->turn ? (row->turn - turns[1]) / FA_TURN_ROUND : 0;
    add(x, "turn", 0,
        fa_arena_printf(
            x->arena,
            "it is number %lld%s of the tasks with groups of its type and priority: "
            "group %s has its turn %s",
            (long long)turns[0] + 1, turns[0] == COUNTED_MAX ? " or more" : "", row->group,
            rounds == 0   ? "in this round"
            : rounds == 1 ? "in the next round"
                          : fa_arena_printf(x->arena, "%lld rounds from now", (long long)rounds)));
    return FAINA_OK;
}

/* The line ----------------------------------------------------------------------------------- */

/* "8,112" */
static const char *count_text(struct explain *x, int64_t count)
{
    char digits[24], text[40];
    size_t len = (size_t)snprintf(digits, sizeof(digits), "%lld", (long long)count), n = 0;

    for (size_t i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0)
            text[n++] = ',';
        text[n++] = digits[i];
    }
    return fa_arena_copy(x->arena, text, n);
}

struct line {
    int64_t ready, before;
};

static void sink_line(void *ctx, size_t n, const struct fa_value *c)
{
    (void)n;
    *(struct line *)ctx = (struct line){fa_value_as_int(&c[0]), fa_value_as_int(&c[1])};
}

/* "number 5 in line; 8,112 wait for gpu, 40 are due later" */
static void describe_line(struct explain *x, const struct line *line, int64_t pending)
{
    bool is_more = line->ready >= LINE_READ_MAX;
    int64_t ready = is_more ? LINE_READ_MAX : line->ready;
    struct fa_buf text;

    fa_buf_init(&text, 16 * 1024);
    if (x->out->position > 0)
        fa_buf_printf(&text, "it is number %s in line; ", count_text(x, x->out->position));
    fa_buf_printf(&text, "of its type and resources, %s%s %s%s", is_more ? "more than " : "",
                  count_text(x, ready), ready == 1 ? "waits" : "wait", x->waits_for ? " for " : "");
    fa_buf_add_str(&text, x->waits_for ? x->waits_for : " to be claimed");
    if (!is_more && pending > ready)
        fa_buf_printf(&text, ", %s %s due later", count_text(x, pending - ready),
                      pending - ready == 1 ? "is" : "are");
    x->out->line = fa_arena_copy(x->arena, text.ptr, text.len);
    fa_buf_finish(&text);
}

static enum faina_code explain_line(struct explain *x)
{
    const struct fa_row *row = x->row;
    struct fa_value params[4] = {fa_value_int(row->lane->id), fa_value_int(row->rank),
                                 fa_value_int(row->id.key), fa_value_int(LINE_READ_MAX)};
    struct line line = {0};
    int64_t pending = 0;
    enum faina_code code =
        fa_db_one(x->source->db, FA_SQL_LANE_LINE, params, 4, sink_line, &line, &x->op->error);

    if (code == FAINA_OK)
        code = fa_db_one(x->source->db, FA_SQL_LANE_PENDING, params, 1, fa_db_sink_int, &pending,
                         &x->op->error);
    if (code != FAINA_OK)
        return code;
    /* A task with a group has a turn instead. */
    if (row->at_us <= x->now_us && line.before < LINE_READ_MAX && row->turn == 0)
        x->out->position = line.before + 1;
    describe_line(x, &line, pending);
    return FAINA_OK;
}

static void sink_found(void *ctx, size_t n, const struct fa_value *columns)
{
    (void)n;
    (void)columns;
    *(bool *)ctx = true;
}

/* Registering a worker is optional: without live workers the reason is given only if there is no
 * other. */
static enum faina_code explain_workers(struct explain *x)
{
    struct fa_worker_set workers;
    enum faina_code code =
        fa_read_worker_set(x->source, x->row->lane, x->now_us, &workers, &x->op->error);

    if (code != FAINA_OK)
        return code;
    if (workers.live == 0 && x->out->count == 0)
        add(x, "ready", 0,
            "it is ready, and waits for a worker to claim it; no live worker is registered");
    if (workers.live == 0)
        return FAINA_OK;
    if (workers.handling == 0)
        add(x, "worker", 0,
            fa_arena_printf(x->arena, "no live worker handles its type, %s", x->row->lane->type));
    else if (workers.lacks_service)
        add(x, "service", 0,
            fa_arena_printf(x->arena, "no live worker that handles its type reaches %s%s",
                            workers.missing ? "resource " : "all of its resources",
                            workers.missing ? workers.missing : ""));
    return FAINA_OK;
}

static enum faina_code explain_pending(struct explain *x)
{
    const struct fa_row *row = x->row;
    struct fa_value lane[2] = {fa_value_text(row->lane->ns), fa_value_text(row->lane->type)};
    bool is_paused = false;
    enum faina_code code;

    if (row->at_us > x->now_us) {
        if (row->error != NULL)
            add(x, "due", row->at_us,
                fa_arena_printf(
                    x->arena, "attempt %lld failed, and the next one is due %s; the error was: %s",
                    (long long)row->attempts, in_time(x, row->at_us), error_text(x)));
        else
            add(x, "due", row->at_us,
                fa_arena_printf(x->arena, "it is due %s", in_time(x, row->at_us)));
    }
    code =
        fa_db_one(x->source->db, FA_SQL_PAUSED_GET, lane, 2, sink_found, &is_paused, &x->op->error);
    if (is_paused)
        x->waits_for = "the type to be resumed";
    if (code == FAINA_OK && is_paused)
        add(x, "paused", 0,
            fa_arena_printf(x->arena, "type %s is paused in namespace %s", row->lane->type,
                            row->lane->ns));
    for (size_t i = 0; code == FAINA_OK && i < row->lane->resource_count; i++)
        code = explain_resource(x, row->lane->resource_names[i]);
    if (code == FAINA_OK)
        code = explain_workers(x);
    if (code == FAINA_OK && x->out->count == 0)
        add(x, "ready", 0, "it is ready, and waits for a worker to claim it");
    if (code == FAINA_OK && row->turn != 0)
        code = explain_turn(x);
    return code == FAINA_OK ? explain_line(x) : code;
}

static void explain_held(struct explain *x)
{
    const struct fa_row *row = x->row;
    const char *until = row->at_us != 0 ? in_time(x, row->at_us) : NULL;

    add(x, "held", row->at_us,
        fa_arena_printf(x->arena, "it is %s%s%s%s%s%s", faina_status_name(row->status),
                        row->worker ? " by worker " : "", row->worker ? row->worker : "",
                        until ? ", whose lease ends " : "", until ? until : "",
                        row->worker ? "" : " without a worker and a lease"));
}

static void explain_ended(struct explain *x)
{
    const struct fa_row *row = x->row;

    add(x, "ended", 0,
        fa_arena_printf(x->arena, "it has ended: %s%s%s", faina_status_name(row->status),
                        row->error ? ", with the error: " : "", row->error ? error_text(x) : ""));
}

static const char *summarise(struct explain *x)
{
    struct fa_buf text;
    const char *summary;

    fa_buf_init(&text, 64 * 1024);
    for (size_t i = 0; i < x->out->count; i++)
        fa_buf_printf(&text, "%s%s", i ? "; " : "", x->out->reasons[i].message);
    summary = fa_arena_copy(x->arena, text.ptr, text.len);
    fa_buf_finish(&text);
    return summary;
}

enum faina_code fa_read_explain(struct fa_source *source, struct fa_op *op, int64_t now_us)
{
    struct fa_row row;
    struct explain x = {
        .source = source, .op = op, .arena = op->arena, .row = &row, .now_us = now_us};
    enum faina_code code = fa_read_find(source, op->id, op->arena, &row, &op->error);

    if (code != FAINA_OK)
        return code;
    x.out = fa_arena_zero(op->arena, 1, sizeof(*x.out));
    code = fa_row_to_task(source, &row, op->arena, true, false, &x.out->task, &op->error);
    if (code != FAINA_OK)
        return code;
    if (row.status == FAINA_PENDING)
        code = explain_pending(&x);
    else if (row.status == FAINA_BLOCKED)
        code = explain_blocked(&x);
    else if (row.status == FAINA_BACKGROUND)
        add(&x, "background", row.at_us,
            fa_arena_printf(x.arena, "it is in the background; it expires %s",
                            in_time(&x, row.at_us)));
    else if (fa_status_is_held(row.status))
        explain_held(&x);
    else
        explain_ended(&x);
    x.out->summary = summarise(&x);
    op->explanation = x.out;
    return code;
}
