/*
 * route_log.c - logs of attempts: sent by workers, read as text while the attempt runs.
 */
#include "server/routes/route.h"

#include "model/attempts.h"
#include "model/limits.h"
#include "server/server_inner.h"
#include "wire/wire.h"

#include <stdio.h>

#define CUT_MARK " [cut]"

/* ------------------------------------------------------------------------------------------
 * Adding
 */

/* Adds a line; of a long one the beginning. */
static void add_line(struct fa_buf *text, const char *line)
{
    size_t len = strlen(line), kept = len;

    if (len > FA_LOG_LINE_MAX) {
        kept = FA_LOG_LINE_MAX - strlen(CUT_MARK);
        while (kept > 0 && ((unsigned char)line[kept] & 0xC0) == 0x80)
            kept--; /* not in the middle of a character */
    }
    fa_buf_add(text, line, kept);
    if (kept < len)
        fa_buf_add_str(text, CUT_MARK);
    if (len == 0 || line[len - 1] != '\n' || kept < len)
        fa_buf_add(text, "\n", 1);
}

/* The lines as one text, of which the end is kept. */
static const char *join_lines(struct fa_request *req, const struct fa_log_body *body)
{
    struct fa_buf text;
    const char *joined;
    size_t skip = 0;

    fa_buf_init(&text, SIZE_MAX / 2);
    for (size_t i = 0; i < body->lines.count; i++)
        add_line(&text, body->lines.items[i]);
    if (text.len > FA_LOG_SIZE_MAX)
        skip = text.len - FA_LOG_SIZE_MAX;
    while (skip > 0 && skip < text.len && ((unsigned char)text.ptr[skip] & 0xC0) == 0x80)
        skip++;
    joined = text.len > 0 ? fa_arena_copy(&req->arena, text.ptr + skip, text.len - skip) : "";
    fa_buf_finish(&text);
    return joined;
}

static void after_log_post(struct fa_request *req)
{
    fa_respond_removed(req);
}

void fa_handle_log_post(struct fa_request *req)
{
    struct fa_log_body body = {0};
    struct fa_op *op;

    if (!fa_request_read(req, &fa_body_log, &body))
        return;
    if (!body.lines.items && !body.text && !body.is_over) {
        fa_respond_missing(req, "lines");
        return;
    }
    op = fa_request_part_op(req, FA_OP_LOG_ADD);
    op->by.worker_id = body.worker_id;
    op->by.fence = body.fence;
    op->has_fence = body.has_fence;
    op->log.text = body.text ? body.text : join_lines(req, &body);
    op->log.is_over = body.is_over;
    fa_request_run(req, after_log_post);
}

/* ------------------------------------------------------------------------------------------
 * Reading
 */

/* What is sent of a log that is followed. */
struct follower {
    struct fa_service *service;
    char id[FAINA_ID_SIZE];
    int64_t attempt;
    struct fa_log_place place;
};

/* Called by the thread of the streams. False: the attempt has ended, or the task is gone. */
static bool feed(void *ctx, struct fa_buf *out)
{
    struct follower *follower = ctx;
    struct fa_arena arena = {0};
    struct fa_op op = {.kind = FA_OP_LOG, .id = follower->id, .arena = &arena};
    bool goes_on = false;

    op.log.attempt = follower->attempt;
    fa_service_run(follower->service, &op, 1);
    if (op.code == FAINA_OK) {
        fa_buf_add_str(out, fa_log_rest(&follower->place, op.log_answer));
        follower->attempt = op.log_answer->attempt;
        goes_on = op.log_answer->is_open;
    } else {
        goes_on = op.code == FAINA_OVERLOADED || op.code == FAINA_UNAVAILABLE;
    }
    fa_arena_finish(&arena);
    return goes_on;
}

static void follow(struct fa_request *req, const struct fa_attempt_log *log)
{
    struct follower *follower;
    struct fa_stream_client client = {.is_trusted = req->listener->is_trusted,
                                      .is_guarded = req->listener->is_guarded,
                                      .session = req->session};

    if (!fa_admission_hold_request(req))
        return;
    if (req->grant.token_id)
        snprintf(client.token_id, sizeof(client.token_id), "%s", req->grant.token_id);
    follower = fa_alloc_zero(1, sizeof(*follower));
    follower->service = req->server->service;
    follower->attempt = log->attempt;
    snprintf(follower->id, sizeof(follower->id), "%s", req->part);
    fa_response_header(req, "X-Accel-Buffering", "no");
    fa_respond_text_stream(req, fa_stream_open_text(req->server->streams, feed, follower, &client,
                                                    &fa_http_stream_calls, req));
}

/* req->data: whether to follow. */
static void after_log_get(struct fa_request *req)
{
    const bool *follows = req->data;
    const struct fa_attempt_log *log = req->posted.ops[0].log_answer;
    const char *format = fa_url_param(&req->url, "format");

    if (fa_request_refused(req))
        return;
    if (format && strcmp(format, "json") == 0) {
        fa_shape_put(fa_response_begin(req, 200), &fa_shape_attempt_log, log);
        fa_response_end(req);
    } else if (*follows && log->is_open && !req->is_head) {
        follow(req, log);
    } else {
        fa_respond_text(req, 200, "text/plain; charset=utf-8", log->text);
    }
}

void fa_handle_log_get(struct fa_request *req)
{
    const char *format = fa_url_param(&req->url, "format");
    bool *follows = fa_arena_zero(&req->arena, 1, sizeof(*follows));
    int64_t attempt = 0;
    struct faina_error err;

    if (!fa_request_bool(req, "follow", follows) ||
        !fa_request_int(req, "attempt", 1, INT64_MAX, &attempt))
        return;
    if (format && strcmp(format, "text") != 0 && strcmp(format, "json") != 0) {
        fa_error_field(&err, FAINA_INVALID_REQUEST, "format", "format must be text or json");
        fa_respond_problem(req, &err);
        return;
    }
    req->data = follows;
    req->stays = true; /* the stream's thread resumes the connection in its loop */
    fa_request_part_op(req, FA_OP_LOG)->log.attempt = attempt;
    fa_request_run(req, after_log_get);
}
