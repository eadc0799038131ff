/*
 * route_schedules.c - routes for schedules.
 */
#include "server/routes/route.h"

#include "base/clock.h"
#include "model/limits.h"
#include "server/server_inner.h"
#include "wire/schedule_body.h"

/* An operation on the schedule in the path, or without one on those of a namespace. */
static struct fa_op *make_op(struct fa_request *req, enum fa_op_kind kind)
{
    struct fa_op *op = fa_request_part_op(req, kind);

    op->name.ns = fa_request_namespace(req, fa_url_param(&req->url, "namespace"));
    return op;
}

static void after_crons(struct fa_request *req)
{
    fa_respond_items(req, &fa_shape_crons);
}

void fa_handle_crons(struct fa_request *req)
{
    struct fa_op *op = make_op(req, FA_OP_CRON_LIST);

    if (fa_request_part(req, &op->part))
        fa_request_run(req, after_crons);
}

static void answer_cron(struct fa_request *req, const struct fa_cron_job *job)
{
    fa_response_version(req, job->version);
    fa_shape_put(fa_response_begin(req, 200), &fa_shape_cron, job);
    fa_response_end(req);
}

static void after_cron(struct fa_request *req)
{
    if (!fa_request_refused(req))
        answer_cron(req, &req->posted.ops[0].crons->items[0]);
}

void fa_handle_cron(struct fa_request *req)
{
    make_op(req, FA_OP_CRON_LIST);
    fa_request_run(req, after_cron);
}

static void after_put(struct fa_request *req)
{
    if (!fa_request_refused(req))
        answer_cron(req, req->posted.ops[0].cron_answer);
}

void fa_handle_cron_put(struct fa_request *req)
{
    struct fa_cron_job *job = fa_arena_zero(&req->arena, 1, sizeof(*job));
    struct fa_cron_body body = {0};
    struct faina_error err;
    struct fa_op *op;
    int64_t version;

    if (!fa_request_read(req, &fa_body_cron, &body) ||
        !fa_request_matches_path(req, "name", body.name) || !fa_request_version(req, &version))
        return;
    fa_error_clear(&err);
    if (fa_catch_up_parse(body.catch_up, &job->catch_up, &err) != FAINA_OK ||
        fa_overlap_parse(body.overlap, &job->overlap, &err) != FAINA_OK) {
        fa_respond_problem(req, &err);
        return;
    }
    job->ns = fa_request_namespace(req, body.ns);
    job->name = req->part;
    job->schedule = body.schedule;
    job->timezone = body.timezone;
    job->task = body.task;
    job->jitter_ms = body.jitter_ms;
    job->is_paused = body.is_paused;
    op = fa_request_op(req, FA_OP_CRON_PUT);
    op->cron = job;
    op->by.version = version;
    fa_request_reason(req, body.reason);
    fa_request_run(req, after_put);
}

void fa_handle_cron_delete(struct fa_request *req)
{
    struct fa_op *op;
    int64_t version;

    if (!fa_request_version(req, &version))
        return;
    op = make_op(req, FA_OP_CRON_REMOVE);
    op->by.version = version;
    fa_request_run(req, fa_respond_removed);
}

static void after_run(struct fa_request *req)
{
    const struct fa_op *op = &req->posted.ops[0];

    if (!fa_request_refused(req))
        fa_respond_task(req, op->existing ? 200 : 201, op->task);
}

void fa_handle_cron_run(struct fa_request *req)
{
    struct fa_op *op;

    if (!fa_request_unversioned(req))
        return;
    op = make_op(req, FA_OP_CRON_RUN);
    op->wants_task = true;
    fa_request_run(req, after_run);
}

/* req->data: how many. */
static void after_next(struct fa_request *req)
{
    const int64_t *count = req->data;
    const struct fa_cron_job *job;
    int64_t at_us = fa_clock_now_us();
    struct fa_zone *zone = NULL;
    struct faina_error err;
    struct fa_json_writer *w;
    struct fa_cron cron;

    if (fa_request_refused(req))
        return;
    job = &req->posted.ops[0].crons->items[0];
    fa_error_clear(&err);
    if (fa_cron_times(job, &cron, &zone, &err) != FAINA_OK) {
        fa_respond_problem(req, &err);
        return;
    }
    w = fa_response_begin(req, 200);
    fa_json_begin_object(w);
    fa_json_key(w, "items");
    fa_json_begin_array(w);
    for (int64_t i = 0; i < *count && fa_cron_next(&cron, zone, at_us, &at_us); i++) {
        fa_json_begin_object(w);
        fa_json_key(w, "at");
        fa_wire_put_time(w, at_us);
        fa_json_end_object(w);
    }
    fa_json_end_array(w);
    fa_json_set_str(w, "schedule", job->schedule);
    fa_json_set_str(w, "timezone", job->timezone ? job->timezone : "UTC");
    fa_json_key(w, "paused");
    fa_json_put_bool(w, job->is_paused);
    fa_json_end_object(w);
    fa_response_end(req);
    fa_zone_close(zone);
}

void fa_handle_cron_next(struct fa_request *req)
{
    int64_t *count = fa_arena_zero(&req->arena, 1, sizeof(*count));

    *count = FA_CRON_NEXT_DEFAULT;
    if (!fa_request_int(req, "count", 1, FA_CRON_NEXT_MAX, count))
        return;
    req->data = count;
    make_op(req, FA_OP_CRON_LIST);
    fa_request_run(req, after_next);
}
