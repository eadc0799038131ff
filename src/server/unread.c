/*
 * unread.c - answers to what the HTTP library can't read as a request.
 *
 * A head that is too long or malformed never gets to us: the library answers it with a page of its
 * own, and has no setting for another. It hands that page to MHD_queue_response, which programs may
 * call too; and of two functions with one name the program's comes before a library's, as with
 * malloc. So whatever is handed to the one below is the library's, and leaves as a problem, like
 * every other refusal. Our own answers go to the library's by fa_unread_find_queue.
 *
 * A library that doesn't look for its functions by name sends its page; nothing else depends on it.
 */
#include "server/inner.h"

#include "server/route.h"
#include "service/wire.h"

#include <assert.h>
#include <dlfcn.h>
#include <microhttpd.h>
#include <stdio.h>

static const struct {
    unsigned status;
    enum faina_code code;
    const char *message;
} refusals[] = {
    {413, FAINA_PAYLOAD_TOO_LARGE, "the body is too large"},
    {414, FAINA_INVALID_REQUEST, "the first line of the request is too long"},
    {431, FAINA_INVALID_REQUEST, "the head of the request is too long"},
    {500, FAINA_INTERNAL, "the request can't be read"},
    {505, FAINA_INVALID_REQUEST, "this is another version of HTTP; say HTTP/1.1"},
    {0, FAINA_INVALID_REQUEST, "the request is malformed"}, /* any other: 400 */
};

fa_queue_fn *fa_unread_find_queue(void)
{
    void *symbol = dlsym(RTLD_NEXT, "MHD_queue_response");
    fa_queue_fn *queue;

    assert(symbol);
    memcpy(&queue, &symbol, sizeof(queue));
    return queue;
}

static struct MHD_Response *make_problem(struct fa_server *server, unsigned status)
{
    char id[FA_REQUEST_ID_SIZE];
    struct MHD_Response *response;
    struct fa_json_writer w;
    struct faina_error err;
    struct fa_buf text;
    size_t i = 0;

    while (refusals[i].status != 0 && refusals[i].status != status)
        i++;
    fa_error_set(&err, refusals[i].code, "%s", refusals[i].message);
    fa_buf_init(&text, 4096);
    fa_json_writer_init(&w, &text, 0);
    fa_wire_put_problem_as(&w, &err, (int)status, NULL);
    response = MHD_create_response_from_buffer(text.len, text.ptr, MHD_RESPMEM_MUST_FREE);
    if (!response) {
        fa_buf_finish(&text);
        return NULL;
    }
    fa_request_make_id(server, id);
    MHD_add_response_header(response, "Content-Type", "application/problem+json");
    MHD_add_response_header(response, "X-Request-Id", id);
    MHD_add_response_header(response, "Cache-Control", "no-store");
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    FA_LOG(server->log, FA_LOG_DEBUG, "no request", {"request", id}, {"why", err.message});
    return response;
}

__attribute__((visibility("default"))) enum MHD_Result MHD_queue_response(
    struct MHD_Connection *connection, unsigned int status, struct MHD_Response *page)
{
    struct fa_server *server = fa_http_server_of(connection);
    struct MHD_Response *problem = make_problem(server, status);
    enum MHD_Result result = server->queue(connection, status, problem ? problem : page);

    if (problem)
        MHD_destroy_response(problem);
    fa_metrics_request(server->metrics, fa_route_count, (int)status, 0);
    return result;
}
