/*
 * response.c - responses: problems, JSON, lists, tasks. See request.h.
 */
#include "server/http/request.h"

#include "base/utf8.h"
#include "model/codes.h"
#include "model/limits.h"
#include "server/routes/route.h"
#include "wire/wire.h"
#include "wire/wire_workflow.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#define ANSWER_SIZE_USUAL 1000

void fa_response_header(struct fa_request *req, const char *name, const char *value)
{
    assert(req->header_count < FA_REQUEST_HEADERS_MAX);
    req->headers[req->header_count++] = (struct fa_request_header){name, value};
}

static void answer(struct fa_request *req, int status, const char *content_type)
{
    assert(req->state != FA_REQUEST_RESPONDS);
    req->state = FA_REQUEST_RESPONDS;
    req->status = status;
    req->content_type = content_type;
}

void fa_respond_problem_as(struct fa_request *req, int status, const struct faina_error *err)
{
    struct fa_json_writer w;

    if (status == 429 || status == 503)
        fa_response_header(req, "Retry-After", FA_RETRY_AFTER_SECONDS);
    fa_buf_clear(&req->out);
    fa_json_writer_init(&w, &req->out, 0);
    fa_wire_put_problem_as(&w, err, status, NULL);
    answer(req, status, "application/problem+json");
}

void fa_respond_problem(struct fa_request *req, const struct faina_error *err)
{
    fa_respond_problem_as(req, fa_code_http(err->code), err);
}

bool fa_respond_missing(struct fa_request *req, const char *field)
{
    struct faina_error err;

    fa_error_field(&err, FAINA_INVALID_REQUEST, field, "%s is missing", field);
    fa_respond_problem(req, &err);
    return false;
}

void fa_respond_instead(struct fa_request *req, enum faina_code code, const char *message)
{
    assert(req->state == FA_REQUEST_RESPONDS && !req->stream);
    req->state = FA_REQUEST_RETURNS;
    req->header_count = 0;
    fa_buf_finish(&req->out);
    fa_buf_init(&req->out, FA_RESPONSE_SIZE_MAX);
    fa_respond_refusal(req, fa_code_http(code), code, "%s", message);
}

void fa_respond_refusal(struct fa_request *req, int status, enum faina_code code,
                        const char *format, ...)
{
    char message[sizeof(((struct faina_error *)NULL)->message)];
    struct faina_error err;
    va_list args;

    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    /* The client's text may be cut within a character. */
    message[fa_utf8_valid_length(fa_str(message))] = '\0';
    fa_error_set(&err, code, "%s", message);
    fa_respond_problem_as(req, status, &err);
}

struct fa_json_writer *fa_response_begin(struct fa_request *req, int status)
{
    req->status = status;
    fa_buf_clear(&req->out);
    fa_buf_reserve(&req->out, ANSWER_SIZE_USUAL);
    fa_json_writer_init(&req->writer, &req->out, 0);
    return &req->writer;
}

void fa_response_end(struct fa_request *req)
{
    answer(req, req->status, "application/json");
}

struct fa_json_writer *fa_response_items_begin(struct fa_request *req)
{
    struct fa_json_writer *w = fa_response_begin(req, 200);

    fa_json_begin_object(w);
    fa_json_key(w, "items");
    fa_json_begin_array(w);
    return w;
}

void fa_response_items_end(struct fa_request *req, const char *next_cursor)
{
    fa_json_end_array(&req->writer);
    fa_json_set_str(&req->writer, "nextCursor", next_cursor);
    fa_json_end_object(&req->writer);
    fa_response_end(req);
}

void fa_respond_answer(struct fa_request *req, int status, const struct fa_shape *shape)
{
    if (fa_request_refused(req))
        return;
    fa_shape_put(fa_response_begin(req, status), shape, req->posted.ops[0].answer);
    fa_response_end(req);
}

void fa_respond_items(struct fa_request *req, const struct fa_shape *list)
{
    struct fa_json_writer *w;

    if (fa_request_refused(req))
        return;
    w = fa_response_begin(req, 200);
    fa_json_begin_object(w);
    fa_shape_put_members(w, list, req->posted.ops[0].answer);
    fa_json_set_str(w, "nextCursor", req->posted.ops[0].next_cursor);
    fa_json_end_object(w);
    fa_response_end(req);
}

void fa_respond_only_item(struct fa_request *req, const struct fa_shape *list)
{
    struct fa_shape_items items;

    if (fa_request_refused(req))
        return;
    items = fa_shape_items(list, req->posted.ops[0].answer);
    fa_shape_put(fa_response_begin(req, 200), items.shape, items.at);
    fa_response_end(req);
}

void fa_respond_removed(struct fa_request *req)
{
    if (!fa_request_refused(req))
        fa_respond_empty(req, 204);
}

void fa_response_version(struct fa_request *req, int64_t version)
{
    fa_response_header(req, "ETag", fa_arena_printf(&req->arena, "\"%lld\"", (long long)version));
}

void fa_response_workflow_version(struct fa_request *req, const struct fa_stored_workflow *workflow)
{
    if (workflow->is_enabled)
        fa_response_version(req, workflow->version);
    else
        fa_response_header(req, "ETag",
                           fa_arena_printf(&req->arena, "\"%lld" FA_TAG_DISABLED "\"",
                                           (long long)workflow->version));
}

static bool matches_etag(const char *header, const char *etag)
{
    return header && (strcmp(header, "*") == 0 || strstr(header, etag) != NULL);
}

void fa_respond_task(struct fa_request *req, int status, const struct faina_task *task)
{
    char *etag = fa_arena_take(&req->arena, FA_INT_LENGTH_MAX + 3);
    char *end = fa_put_int(etag + 1, task->version);

    etag[0] = '"';
    end[0] = '"';
    end[1] = '\0';
    fa_response_header(req, "ETag", etag);
    if (strcmp(req->route->method, "GET") == 0 &&
        matches_etag(fa_request_header(req, "If-None-Match"), etag)) {
        fa_respond_empty(req, 304);
        return;
    }
    fa_wire_put_task(fa_response_begin(req, status), task);
    fa_response_end(req);
}

void fa_respond_stream(struct fa_request *req, struct fa_stream *stream)
{
    req->stream = stream;
    answer(req, 200, "text/event-stream");
}

void fa_respond_text_stream(struct fa_request *req, struct fa_stream *stream)
{
    req->stream = stream;
    answer(req, 200, "text/plain; charset=utf-8");
}

void fa_respond_file(struct fa_request *req, int64_t size)
{
    assert(req->has_file);
    req->file_size = size;
    answer(req, 200, "application/vnd.sqlite3");
}

void fa_respond_empty(struct fa_request *req, int status)
{
    answer(req, status, NULL);
}

void fa_respond_out(struct fa_request *req, int status, const char *content_type)
{
    answer(req, status, content_type);
}

void fa_respond_text(struct fa_request *req, int status, const char *content_type, const char *text)
{
    fa_buf_clear(&req->out);
    fa_buf_add_str(&req->out, text);
    answer(req, status, content_type);
}
