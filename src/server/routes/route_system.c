/*
 * route_system.c - routes for operators: health, metrics, descriptions.
 */
#include "server/routes/route.h"

#include "base/clock.h"
#include "model/limits.h"
#include "model/states.h"
#include "server/server_inner.h"
#include "wire/wire.h"

#include <stdio.h>
#include <stdlib.h>

#define STORE_TIMEOUT_US 5000000 /* for a small query of the store */

void fa_handle_healthz(struct fa_request *req)
{
    fa_respond_text(req, 200, "application/json", "{\"status\":\"ok\"}");
}

/* ------------------------------------------------------------------------------------------
 * The store
 */

/* The store's info, read in another thread. */
struct store_check {
    bool thorough;
    enum faina_code code;
    struct faina_error error;
    struct fa_service_info info;
};

static void check_store(struct fa_posted *posted)
{
    struct fa_request *req = (struct fa_request *)posted;
    struct store_check *check = req->data;
    long long none = 0;

    if (!check->thorough)
        atomic_compare_exchange_strong(&req->server->check_since_us, &none, fa_clock_mono_us());
    check->code = fa_service_info(req->server->service, check->thorough, &req->arena, &check->info,
                                  &check->error);
    if (!check->thorough)
        atomic_store(&req->server->check_since_us, 0);
}

/* How long the current check of the store has been running; 0: there is none. */
static int64_t check_age_us(struct fa_server *server)
{
    long long since_us = atomic_load(&server->check_since_us);

    return since_us != 0 ? fa_clock_mono_us() - since_us : 0;
}

static void check_store_then(struct fa_request *req, bool thorough, fa_handler *then)
{
    struct store_check *check = fa_arena_zero(&req->arena, 1, sizeof(*check));

    check->thorough = thorough;
    req->data = check;
    fa_request_work(req, check_store, then);
}

static bool has_store(struct fa_request *req)
{
    const struct store_check *check = req->data;

    if (check->code == FAINA_OK)
        return true;
    fa_respond_problem_as(req, 503, &check->error);
    return false;
}

static void after_readyz(struct fa_request *req)
{
    const struct fa_service_info *info = &((const struct store_check *)req->data)->info;

    if (!has_store(req))
        return;
    if (info->full)
        fa_respond_refusal(req, 503, FAINA_UNAVAILABLE, "%s", info->full);
    else if (info->stalled_ms > FA_UPKEEP_FAILED_MS)
        fa_respond_refusal(req, 503, FAINA_UNAVAILABLE,
                           "nothing has come due for %lld seconds, because the engine's chores "
                           "fail: %.300s",
                           (long long)info->stalled_ms / 1000, info->stalled);
    else
        fa_respond_text(req, 200, "application/json", "{\"status\":\"ready\"}");
}

void fa_handle_readyz(struct fa_request *req)
{
    int64_t us = check_age_us(req->server);

    if (atomic_load(&req->server->is_draining))
        fa_respond_refusal(req, 503, FAINA_STORE_CLOSED, "the server is shutting down");
    else if (us > STORE_TIMEOUT_US) /* further requests don't wait for the store */
        fa_respond_refusal(req, 503, FAINA_UNAVAILABLE,
                           "the store has not responded for %lld seconds", (long long)us / 1000000);
    else
        check_store_then(req, false, after_readyz);
}

/* The names of what an engine has. */
static const struct {
    enum fa_engine_feature feature;
    const char *name;
} features[] = {
    {FA_HAS_SUBTASKS, "subtasks"},   {FA_HAS_DEPENDENCIES, "dependencies"},
    {FA_HAS_WORKFLOWS, "workflows"}, {FA_HAS_SCHEDULES, "schedules"},
    {FA_HAS_TEAMS, "teams"},         {FA_HAS_STREAM, "stream"},
    {FA_HAS_BROKER, "broker"},       {FA_HAS_BACKUP, "backup"},
};

static void put_features(struct fa_json_writer *w, const struct fa_request *req, unsigned has)
{
    fa_json_key(w, "features");
    fa_json_begin_array(w);
    if (req->server->options.has_ui)
        fa_json_put_str(w, "dashboard");
    for (size_t i = 0; i < FA_COUNT(features); i++)
        if (has & features[i].feature)
            fa_json_put_str(w, features[i].name);
    fa_json_end_array(w);
}

static void after_info(struct fa_request *req)
{
    const struct fa_service_info *info = &((const struct store_check *)req->data)->info;
    struct fa_json_writer *w;

    if (!has_store(req))
        return;
    w = fa_response_begin(req, 200);
    fa_json_begin_object(w);
    fa_json_set_str(w, "version", FAINA_VERSION);
    fa_json_set_int(w, "inputSizeMax", (int64_t)req->server->service->input_size_max);
    fa_json_set_str(w, "nodeId", req->server->options.node_id);
    fa_json_key(w, "hasTokens");
    fa_json_put_bool(w, fa_auth_has_tokens(req->server->auth) || req->listener->is_guarded);
    put_features(w, req, info->features);
    fa_shape_put_members(w, &fa_shape_info, info);
    fa_json_end_object(w);
    fa_response_end(req);
}

void fa_handle_info(struct fa_request *req)
{
    bool thorough = false;

    if (!fa_request_bool(req, "thorough", &thorough))
        return;
    if (thorough && !fa_request_may(req, FA_ACCESS_THOROUGH))
        return;
    check_store_then(req, thorough, after_info);
}

/* ------------------------------------------------------------------------------------------
 * The event log
 */

static void after_log(struct fa_request *req)
{
    if (fa_request_refused(req))
        return;
    fa_shape_put(fa_response_begin(req, 200), &fa_shape_followed, req->posted.ops[0].followed);
    fa_response_end(req);
}

void fa_handle_log(struct fa_request *req)
{
    int64_t limit = 0;
    struct fa_op *op;

    if (!fa_request_int(req, "limit", 1, FA_LIST_LIMIT_MAX, &limit))
        return;
    op = fa_request_op(req, FA_OP_FOLLOW);
    op->page.limit = (int)limit;
    op->page.cursor = fa_url_param(&req->url, "cursor");
    fa_request_run(req, after_log);
}

/* ------------------------------------------------------------------------------------------
 * Metrics
 */

/* "GET /api/v1/tasks/{id}" */
static void route_name(size_t index, struct fa_buf *out)
{
    if (index < fa_route_count)
        fa_buf_printf(out, "%s %s", fa_routes[index].method, fa_routes[index].path);
    else
        fa_buf_add_str(out, "none");
}

static void put_gauge(struct fa_buf *out, const char *name, const char *help, double value)
{
    fa_metrics_head(out, name, "gauge", help);
    fa_buf_printf(out, "%s %g\n", name, value);
}

/* A type, in all namespaces. */
struct type_age {
    const char *type;
    int64_t by_status[FAINA_STATUS_COUNT];
    int64_t live;      /* tasks that have not ended */
    int64_t oldest_us; /* 0: none is ready */
};

static int by_type(const void *a, const void *b)
{
    return fa_name_compare(((const struct type_age *)a)->type, ((const struct type_age *)b)->type);
}

static int busiest_first(const void *a, const void *b)
{
    const struct type_age *x = a, *y = b;

    return x->live != y->live ? (x->live < y->live ? 1 : -1) : strcmp(x->type, y->type);
}

static void add_age(struct type_age *to, const struct type_age *from)
{
    to->live += from->live;
    for (int status = 0; status < FAINA_STATUS_COUNT; status++)
        to->by_status[status] += from->by_status[status];
    if (from->oldest_us != 0 && (to->oldest_us == 0 || from->oldest_us < to->oldest_us))
        to->oldest_us = from->oldest_us;
}

/* The types in `stats`, each once. Returns how many. */
static size_t list_ages(const struct faina_stats *stats, struct type_age *out)
{
    size_t n = 0;

    for (size_t i = 0; i < stats->count; i++) {
        out[i] = (struct type_age){.type = stats->types[i].type,
                                   .oldest_us = stats->types[i].oldest_ready_us};
        for (int status = 0; status < FAINA_STATUS_COUNT; status++) {
            out[i].by_status[status] = stats->types[i].by_status[status];
            if (!fa_status_is_ended((enum faina_status)status))
                out[i].live += stats->types[i].by_status[status];
        }
    }
    if (stats->count > 1)
        qsort(out, stats->count, sizeof(*out), by_type);
    for (size_t i = 0; i < stats->count; i++) {
        if (n > 0 && fa_name_is_same(out[n - 1].type, out[i].type))
            add_age(&out[n - 1], &out[i]);
        else
            out[n++] = out[i];
    }
    return n;
}

static void put_age(struct fa_buf *out, const struct type_age *age, int64_t now_us)
{
    if (age->oldest_us == 0)
        return;
    fa_buf_add_str(out, "faina_oldest_ready_seconds{");
    fa_metrics_label(out, "type", age->type);
    fa_buf_printf(out, "} %.3f\n", (double)(now_us - age->oldest_us) / 1e6);
}

static void put_counts(struct fa_buf *out, const struct type_age *type)
{
    for (int status = 0; status < FAINA_STATUS_COUNT; status++) {
        if (type->by_status[status] <= 0)
            continue;
        fa_buf_add_str(out, "faina_tasks{");
        fa_metrics_label(out, "type", type->type);
        fa_buf_printf(out, ",status=\"%s\"} %lld\n", faina_status_name((enum faina_status)status),
                      (long long)type->by_status[status]);
    }
}

/* By type, in all namespaces: the busiest types, and the others together, those too that the
 * statistics leave out. */
static void put_types(struct fa_buf *out, const struct faina_stats *stats, int64_t now_us,
                      struct fa_arena *arena)
{
    struct type_age *types = fa_arena_take(arena, (stats->count + 1) * sizeof(*types));
    struct type_age other = {.type = "other"};
    size_t count = list_ages(stats, types), shown;

    memcpy(other.by_status, stats->by_status, sizeof(other.by_status));
    if (count > FA_METRICS_TYPES_MAX)
        qsort(types, count, sizeof(*types), busiest_first);
    shown = count < FA_METRICS_TYPES_MAX ? count : FA_METRICS_TYPES_MAX;
    for (size_t i = 0; i < shown; i++) {
        for (int status = 0; status < FAINA_STATUS_COUNT; status++)
            other.by_status[status] -= types[i].by_status[status];
        put_counts(out, &types[i]);
    }
    put_counts(out, &other);
    fa_metrics_head(out, "faina_oldest_ready_seconds", "gauge", "Age of the oldest ready task.");
    for (size_t i = 0; i < count; i++) {
        if (i < shown)
            put_age(out, &types[i], now_us);
        else if (types[i].oldest_us != 0 &&
                 (other.oldest_us == 0 || types[i].oldest_us < other.oldest_us))
            other.oldest_us = types[i].oldest_us;
    }
    put_age(out, &other, now_us);
}

static void put_store(struct fa_buf *out, const struct fa_op *stats, const struct fa_op *resources,
                      int64_t now_us, struct fa_arena *arena)
{
    fa_metrics_head(out, "faina_tasks", "gauge", "Tasks by type and status.");
    if (stats->code == FAINA_OK)
        put_types(out, stats->stats, now_us, arena);
    fa_metrics_head(out, "faina_resource_in_use", "gauge", "Tasks that hold a resource.");
    for (size_t i = 0; resources->code == FAINA_OK && i < resources->resources->count; i++) {
        fa_buf_add_str(out, "faina_resource_in_use{");
        fa_metrics_label(out, "resource", resources->resources->items[i].name);
        fa_buf_printf(out, "} %lld\n", (long long)resources->resources->items[i].in_use);
    }
    fa_metrics_head(out, "faina_resource_limit", "gauge", "How many tasks may hold a resource.");
    for (size_t i = 0; resources->code == FAINA_OK && i < resources->resources->count; i++) {
        if (resources->resources->items[i].max_concurrency < 0)
            continue; /* no limit */
        fa_buf_add_str(out, "faina_resource_limit{");
        fa_metrics_label(out, "resource", resources->resources->items[i].name);
        fa_buf_printf(out, "} %lld\n", (long long)resources->resources->items[i].max_concurrency);
    }
}

static void put_broker(struct fa_buf *out, const struct fa_op *op, int64_t now_us)
{
    const struct fa_broker *broker = op->broker_answer;

    if (op->code != FAINA_OK)
        return;
    put_gauge(out, "faina_outbox_depth",
              "Messages that the broker has not confirmed; above 10,000 an estimate.",
              (double)broker->depth);
    put_gauge(out, "faina_outbox_oldest_seconds", "Age of the oldest of them.",
              broker->oldest_us != 0 && now_us > broker->oldest_us
                  ? (double)(now_us - broker->oldest_us) / 1e6
                  : 0);
    fa_metrics_head(out, "faina_outbox_unroutable_total", "counter",
                    "Messages that no queue was bound for.");
    fa_buf_printf(out, "faina_outbox_unroutable_total %lld\n", (long long)broker->unroutable);
    fa_metrics_head(out, "faina_outbox_dropped_total", "counter",
                    "Messages that were dropped because the outbox was full.");
    fa_buf_printf(out, "faina_outbox_dropped_total %lld\n", (long long)broker->dropped);
}

static void put_refused(struct fa_buf *out, struct fa_server *server)
{
    fa_metrics_head(out, "faina_http_refused_total", "counter", "Connections over a limit.");
    for (int i = FA_REFUSAL_NONE + 1; i < FA_REFUSAL_COUNT; i++)
        fa_buf_printf(out, "faina_http_refused_total{why=\"%s\"} %llu\n",
                      fa_refusal_name((enum fa_refusal)i), atomic_load(&server->refused[i]));
}

#define METRICS_OPS 4
#define METRICS_SIZE_MAX ((size_t)16 * 1024 * 1024)

/* What /metrics reads from the store. */
static void fill_metrics_ops(struct fa_op ops[METRICS_OPS])
{
    ops[0].kind = FA_OP_STATS;
    ops[0].name.ns = "*";
    ops[1].kind = FA_OP_RESOURCE_LIST;
    ops[1].part = (struct fa_part){.is_asked = true, .limit = FA_LIST_LIMIT_MAX};
    ops[2].kind = FA_OP_BROKER_GET;
    ops[3].kind = FA_OP_WORKER_LIST;
}

static void write_metrics(struct fa_server *server, const struct fa_op ops[METRICS_OPS],
                          struct fa_arena *arena, struct fa_buf *out)
{
    struct fa_post_stats post = fa_post_stats(server->post);
    struct fa_service_clock clock;
    size_t connections;
    int64_t now_us;

    connections = atomic_load(&server->connection_count);
    fa_metrics_head(out, "faina_build_info", "gauge", "The version of the program.");
    fa_buf_printf(out, "faina_build_info{version=\"%s\"} 1\n", FAINA_VERSION);
    fa_service_clock(server->service, &clock);
    now_us = fa_clock_now_us() + clock.offset_ms * 1000;
    put_store(out, &ops[0], &ops[1], now_us, arena);
    put_broker(out, &ops[2], now_us);
    if (ops[3].code == FAINA_OK)
        put_gauge(out, "faina_workers", "Live workers and nodes.", (double)ops[3].workers->count);
    put_gauge(out, "faina_clock_offset_seconds",
              "How far the engine's clock is ahead of the system clock.",
              (double)clock.offset_ms / 1000);
    fa_metrics_head(out, "faina_clock_jumps_total", "counter", "Jumps of the system clock.");
    fa_buf_printf(out, "faina_clock_jumps_total %g\n", (double)clock.jumps);
    put_gauge(out, "faina_store_full", "1 while new tasks are refused because the disk is full.",
              atomic_load(&server->service->is_full) ? 1 : 0);
    put_gauge(out, "faina_http_connections", "Open connections.", (double)connections);
    put_gauge(out, "faina_http_connections_max", "The limit of open connections.",
              (double)server->connections_max);
    put_refused(out, server);
    put_gauge(out, "faina_waits", "Waiting claims and long polls of tasks.", (double)post.waits);
    put_gauge(out, "faina_streams", "Open event streams.",
              (double)fa_streams_count(server->streams));
    put_gauge(out, "faina_queued_operations", "Queued operations.", (double)post.queued);
    fa_metrics_head(out, "faina_auth_failures_total", "counter", "Requests with a bad token.");
    fa_buf_printf(out, "faina_auth_failures_total %llu\n",
                  (unsigned long long)fa_logins_failures(server->logins));
    fa_metrics_write(server->metrics, out, route_name);
    if (server->options.more_metrics)
        server->options.more_metrics(server->options.more_metrics_ctx, out);
}

static void after_metrics(struct fa_request *req)
{
    struct fa_buf out;

    fa_buf_init(&out, METRICS_SIZE_MAX);
    write_metrics(req->server, req->posted.ops, &req->arena, &out);
    fa_respond_text(req, 200, "text/plain; version=0.0.4; charset=utf-8", out.ptr);
    fa_buf_finish(&out);
}

void fa_handle_metrics(struct fa_request *req)
{
    fill_metrics_ops(fa_request_ops(req, METRICS_OPS));
    fa_request_run(req, after_metrics);
}

void fa_server_write_metrics(struct fa_server *server, struct fa_buf *out)
{
    struct fa_op ops[METRICS_OPS] = {{.kind = FA_OP_STATS}};
    struct fa_arena arena = {0};

    fill_metrics_ops(ops);
    for (size_t i = 0; i < METRICS_OPS; i++)
        ops[i].arena = &arena;
    fa_service_run(server->service, ops, METRICS_OPS);
    write_metrics(server, ops, &arena, out);
    fa_arena_finish(&arena);
}

void fa_handle_openapi(struct fa_request *req)
{
    const char *known = fa_request_header(req, "If-None-Match");

    fa_response_header(req, "ETag", req->server->openapi_etag);
    if (known && strstr(known, req->server->openapi_etag))
        fa_respond_empty(req, 304);
    else
        fa_respond_text(req, 200, "application/json", req->server->openapi);
}
