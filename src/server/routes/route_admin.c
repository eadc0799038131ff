/*
 * route_admin.c - routes for resources, teams, lanes and counts.
 */
#include "server/routes/route.h"

#include "base/clock.h"
#include "model/limits.h"
#include "server/server_inner.h"
#include "wire/wire.h"

#include <stdlib.h>

/* ------------------------------------------------------------------------------------------
 * Resources
 */

static void after_resources(struct fa_request *req)
{
    fa_respond_items(req, &fa_shape_resources);
}

void fa_handle_resources(struct fa_request *req)
{
    if (fa_request_part(req, &fa_request_op(req, FA_OP_RESOURCE_LIST)->part))
        fa_request_run(req, after_resources);
}

static void after_resource(struct fa_request *req)
{
    fa_respond_only_item(req, &fa_shape_resources);
}

void fa_handle_resource(struct fa_request *req)
{
    fa_request_op(req, FA_OP_RESOURCE_LIST)->resource.name = req->part;
    fa_request_run(req, after_resource);
}

static void after_resource_put(struct fa_request *req)
{
    if (!fa_request_refused(req))
        fa_handle_resource(req);
}

static enum faina_code check_limit(const struct fa_limit_body *body, struct faina_error *err)
{
    if (!body->has_limit && !body->has_rate)
        return fa_error_field(err, FAINA_INVALID_REQUEST, "maxConcurrency",
                              "maxConcurrency is missing: give a number, or null for no limit, or "
                              "a rate");
    if (body->has_rate && body->rate.count == 0)
        return fa_error_field(err, FAINA_INVALID_REQUEST, "rate.count",
                              "rate.count is missing: how many tasks may start in rate.per");
    return FAINA_OK;
}

void fa_handle_resource_put(struct fa_request *req)
{
    struct fa_limit_body body = {0};
    struct faina_error err;
    struct fa_op *op;

    if (!fa_request_unversioned(req) || !fa_request_read(req, &fa_body_limit, &body))
        return;
    if (check_limit(&body, &err) != FAINA_OK) {
        fa_respond_problem(req, &err);
        return;
    }
    op = fa_request_op(req, FA_OP_RESOURCE_SET);
    op->resource.name = req->part;
    op->resource.max_concurrency = body.has_limit ? body.max_concurrency : -1;
    op->resource.rate = body.rate;
    fa_request_reason(req, body.reason);
    fa_request_run(req, after_resource_put);
}

void fa_handle_resource_delete(struct fa_request *req)
{
    if (!fa_request_unversioned(req))
        return;
    fa_request_op(req, FA_OP_RESOURCE_REMOVE)->resource.name = req->part;
    fa_request_run(req, fa_respond_removed);
}

/* ------------------------------------------------------------------------------------------
 * The broker
 */

static void after_broker(struct fa_request *req)
{
    if (fa_request_refused(req))
        return;
    fa_shape_put(fa_response_begin(req, 200), &fa_shape_broker, req->posted.ops[0].broker_answer);
    fa_response_end(req);
}

void fa_handle_broker(struct fa_request *req)
{
    fa_request_op(req, FA_OP_BROKER_GET);
    fa_request_run(req, after_broker);
}

void fa_handle_broker_put(struct fa_request *req)
{
    struct fa_broker_body body = {0};
    struct fa_op *op;

    if (!fa_request_unversioned(req) || !fa_request_read(req, &fa_body_broker, &body))
        return;
    if (!body.has_on) {
        fa_respond_missing(req, "on");
        return;
    }
    op = fa_request_op(req, FA_OP_BROKER_SET);
    op->broker.is_on = body.is_on;
    op->broker.size_max = body.size_max;
    fa_request_reason(req, body.reason);
    fa_request_run(req, after_broker);
}

/* ------------------------------------------------------------------------------------------
 * Settings
 */

static void answer_settings(struct fa_request *req)
{
    fa_shape_put(fa_response_begin(req, 200), &fa_shape_settings, req->data);
    fa_response_end(req);
}

static bool take_settings(struct fa_request *req)
{
    if (fa_request_refused(req))
        return false;
    req->data = req->posted.ops[0].settings_answer;
    return true;
}

static void after_settings(struct fa_request *req)
{
    if (take_settings(req))
        answer_settings(req);
}

void fa_handle_settings(struct fa_request *req)
{
    fa_request_op(req, FA_OP_SETTINGS_GET);
    fa_request_run(req, after_settings);
}

static void after_settings_put(struct fa_request *req)
{
    if (take_settings(req))
        fa_request_reload_access(req, answer_settings);
}

void fa_handle_settings_put(struct fa_request *req)
{
    struct fa_settings_body body = {0};

    if (!fa_request_unversioned(req) || !fa_request_read(req, &fa_body_settings, &body))
        return;
    if (body.redact.items == NULL) {
        fa_respond_missing(req, "redact");
        return;
    }
    fa_request_op(req, FA_OP_SETTINGS_SET)->settings.redact = body.redact;
    fa_request_reason(req, body.reason);
    fa_request_run(req, after_settings_put);
}

/* ------------------------------------------------------------------------------------------
 * Teams
 */

static void after_teams(struct fa_request *req)
{
    fa_respond_items(req, &fa_shape_teams);
}

void fa_handle_teams(struct fa_request *req)
{
    const char *ns = fa_url_param(&req->url, "namespace");
    struct fa_op *op;

    op = fa_request_op(req, FA_OP_TEAM_LIST);
    op->name.ns = fa_request_namespace(req, ns);
    if (fa_request_part(req, &op->part))
        fa_request_run(req, after_teams);
}

static void after_team(struct fa_request *req)
{
    fa_respond_only_item(req, &fa_shape_teams);
}

void fa_handle_team(struct fa_request *req)
{
    fa_request_part_op(req, FA_OP_TEAM_LIST);
    fa_request_run(req, after_team);
}

static bool read_team(struct fa_request *req, struct fa_team_body *body)
{
    return fa_request_read(req, &fa_body_team, body) &&
           fa_request_matches_path(req, "id", body->id) &&
           (body->name || fa_respond_missing(req, "name"));
}

static void after_team_post(struct fa_request *req)
{
    const struct faina_team *team = req->posted.ops[0].team_answer;

    if (fa_request_refused(req))
        return;
    fa_response_header(req, "Location", fa_arena_printf(&req->arena, FA_API "/teams/%s", team->id));
    fa_shape_put(fa_response_begin(req, 201), &fa_shape_team, team);
    fa_response_end(req);
}

void fa_handle_team_post(struct fa_request *req)
{
    struct faina_team *team = fa_arena_zero(&req->arena, 1, sizeof(*team));
    struct fa_team_body body = {0};

    if (!read_team(req, &body))
        return;
    team->ns = fa_request_namespace(req, body.ns);
    team->name = body.name;
    team->spec = body.spec;
    fa_request_op(req, FA_OP_TEAM_PUT)->team = team;
    fa_request_reason(req, body.reason);
    fa_request_run(req, after_team_post);
}

static void after_team_put(struct fa_request *req)
{
    fa_respond_answer(req, req->posted.ops[0].existing ? 200 : 201, &fa_shape_team);
}

/* The first operation has looked for the team, whose namespace decides who may change it. */
static void put_found_team(struct fa_request *req)
{
    const struct fa_op *found = &req->posted.ops[0];
    bool is_new = found->code == FAINA_NOT_FOUND;
    struct fa_team_body body = {0};
    struct faina_error err;
    struct faina_team *team;

    if (!is_new && fa_request_refused(req))
        return;
    if (!read_team(req, &body))
        return;
    team = fa_arena_zero(&req->arena, 1, sizeof(*team));
    if (strlen(req->part) >= sizeof(team->id)) {
        fa_error_field(&err, FAINA_INVALID_REQUEST, "id", "the id of a team is a UUID");
        fa_respond_problem(req, &err);
        return;
    }
    memcpy(team->id, req->part, strlen(req->part) + 1);
    team->ns = is_new || body.ns ? fa_request_namespace(req, body.ns) : found->teams->items[0].ns;
    team->name = body.name;
    team->spec = body.spec;
    fa_request_op(req, FA_OP_TEAM_PUT)->team = team;
    fa_request_reason(req, body.reason);
    fa_request_run(req, after_team_put);
}

void fa_handle_team_put(struct fa_request *req)
{
    if (!fa_request_unversioned(req))
        return;
    fa_request_part_op(req, FA_OP_TEAM_LIST);
    fa_request_run(req, put_found_team);
}

void fa_handle_team_delete(struct fa_request *req)
{
    if (!fa_request_unversioned(req))
        return;
    fa_request_part_op(req, FA_OP_TEAM_REMOVE);
    fa_request_run(req, fa_respond_removed);
}

/* ------------------------------------------------------------------------------------------
 * Lanes and counts
 */

/* The counts are the store's; the rates count only what this server has committed. */
static void after_stats(struct fa_request *req)
{
    const struct fa_op *op = &req->posted.ops[0];
    const struct faina_stats *stats = op->stats;
    int64_t now_us = fa_clock_boot_us();
    const char *ns = op->name.ns ? op->name.ns : "default";
    struct fa_json_writer *w;
    struct fa_rate sum;

    if (fa_request_refused(req))
        return;
    w = fa_response_begin(req, 200);
    fa_json_begin_object(w);
    fa_shape_put_members(w, &fa_shape_totals, stats);
    fa_json_key(w, "types");
    fa_json_begin_array(w);
    for (size_t i = 0; i < stats->count; i++) {
        const struct faina_count *count = &stats->types[i];
        struct fa_rate rate = fa_rates_of(req->server->rates, count->ns, count->type, now_us);

        fa_json_begin_object(w);
        fa_shape_put_members(w, &fa_shape_count, count);
        fa_json_key(w, "rates");
        fa_rate_put(w, &rate);
        fa_json_end_object(w);
    }
    fa_json_end_array(w);
    sum = fa_rates_sum(req->server->rates, strcmp(ns, "*") == 0 ? NULL : ns, op->name.type, now_us);
    fa_json_key(w, "rates");
    fa_rate_put(w, &sum);
    fa_json_end_object(w);
    fa_response_end(req);
}

void fa_handle_stats(struct fa_request *req)
{
    struct fa_op *op = fa_request_op(req, FA_OP_STATS);

    op->name.ns = fa_request_namespace(req, fa_url_param(&req->url, "namespace"));
    op->name.type = fa_url_param(&req->url, "type");
    fa_request_run(req, after_stats);
}

static void put_lane(struct fa_json_writer *w, const char *ns, const char *type, bool is_paused)
{
    fa_json_set_str(w, "namespace", ns);
    fa_json_set_str(w, "type", type);
    fa_json_set_bool(w, "paused", is_paused);
}

static void after_lanes(struct fa_request *req)
{
    const struct faina_stats *stats = req->posted.ops[0].stats;
    struct fa_json_writer *w;

    if (fa_request_refused(req))
        return;
    w = fa_response_items_begin(req);
    for (size_t i = 0; i < stats->count; i++) {
        const struct faina_count *count = &stats->types[i];

        fa_json_begin_object(w);
        put_lane(w, count->ns, count->type, count->is_paused);
        fa_json_set_int(w, "pending", count->by_status[FAINA_PENDING]);
        fa_json_set_int(w, "active",
                        count->by_status[FAINA_CLAIMED] + count->by_status[FAINA_RUNNING] +
                            count->by_status[FAINA_BACKGROUND]);
        fa_json_end_object(w);
    }
    fa_response_items_end(req, req->posted.ops[0].next_cursor);
}

void fa_handle_lanes(struct fa_request *req)
{
    struct fa_op *op = fa_request_op(req, FA_OP_STATS);

    op->name.ns = fa_request_namespace(req, fa_url_param(&req->url, "namespace"));
    if (!fa_request_part(req, &op->part))
        return;
    if (op->part.limit == 0) /* a namespace may have 100,000 types */
        op->part.limit = FA_LIST_LIMIT_MAX;
    fa_request_run(req, after_lanes);
}

static void after_lane(struct fa_request *req)
{
    const struct fa_op *op = &req->posted.ops[0];
    struct fa_json_writer *w;

    if (fa_request_refused(req))
        return;
    w = fa_response_begin(req, 200);
    fa_json_begin_object(w);
    put_lane(w, op->name.ns, op->name.type, op->kind == FA_OP_PAUSE);
    fa_json_end_object(w);
    fa_response_end(req);
}

static void set_paused(struct fa_request *req, enum fa_op_kind kind)
{
    struct fa_lane_body body = {0};
    struct fa_op *op;

    if (!fa_request_read(req, &fa_body_lane, &body))
        return;
    op = fa_request_op(req, kind);
    op->name.ns = fa_request_namespace(req, body.ns);
    op->name.type = body.type ? body.type : "";
    fa_request_reason(req, body.reason);
    fa_request_run(req, after_lane);
}

void fa_handle_lane_pause(struct fa_request *req)
{
    set_paused(req, FA_OP_PAUSE);
}

void fa_handle_lane_resume(struct fa_request *req)
{
    set_paused(req, FA_OP_RESUME);
}
