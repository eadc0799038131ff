/*
 * unread.c - answers to what the HTTP library can't read as a request.
 *
 * A head that is too long or malformed never gets to us: the library answers it with a page of its
 * own, and has no setting for another. It hands that page to MHD_queue_response, which programs may
 * call too; and of two functions with one name the program's comes before a library's, as with
 * malloc. So whatever is handed to the one below is the library's, and leaves as a problem, like
 * every other refusal. Our own answers go to the library's by fa_unread_find_queue.
 *
 * The problem is written to the socket here, and the library told that it can't be: then it closes
 * the connection, as it would anyway. (It would send the head twice when it can't read the length
 * of the body.) Over TLS it goes the library's way.
 *
 * A library that doesn't look for its functions by name sends its page; nothing else depends on it.
 */
#include "server/inner.h"

#include "server/route.h"
#include "service/wire.h"

#include <assert.h>
#include <dlfcn.h>
#include <microhttpd.h>
#include <sys/socket.h>
#include <time.h>

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

/* The headers of a problem, beside those about the connection. */
static const char *const headers[][2] = {
    {"Content-Type", "application/problem+json"},
    {"Cache-Control", "no-store"},
    {"X-Content-Type-Options", "nosniff"},
};

struct problem {
    unsigned status;
    struct fa_buf text;
    char id[FA_REQUEST_ID_SIZE];
};

static void write_text(struct fa_server *server, unsigned status, const struct faina_error *err,
                       struct problem *out)
{
    struct fa_json_writer w;

    out->status = status;
    fa_buf_init(&out->text, 4096);
    fa_json_writer_init(&w, &out->text, 0);
    fa_wire_put_problem_as(&w, err, (int)status, NULL);
    fa_request_make_id(server, out->id);
}

static void make_problem(struct fa_server *server, unsigned status, struct problem *out)
{
    struct faina_error err;
    size_t i = 0;

    while (refusals[i].status != 0 && refusals[i].status != status)
        i++;
    fa_error_set(&err, refusals[i].code, "%s", refusals[i].message);
    write_text(server, status, &err, out);
    FA_LOG(server->log, FA_LOG_DEBUG, "no request", {"request", out->id}, {"why", err.message});
}

/* A client that doesn't read gets as much as fits. */
static void write_problem(int fd, const struct problem *problem)
{
    time_t now = time(NULL);
    struct fa_buf out;
    char date[40];
    struct tm tm;

    gmtime_r(&now, &tm);
    strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S GMT", &tm);
    fa_buf_init(&out, 8192);
    fa_buf_printf(&out, "HTTP/1.1 %u %s\r\nDate: %s\r\nConnection: close\r\n", problem->status,
                  MHD_get_reason_phrase_for(problem->status), date);
    for (size_t i = 0; i < FA_COUNT(headers); i++)
        fa_buf_printf(&out, "%s: %s\r\n", headers[i][0], headers[i][1]);
    if (problem->status == 429 || problem->status == 503)
        fa_buf_add_str(&out, "Retry-After: " FA_RETRY_AFTER_SECONDS "\r\n");
    fa_buf_printf(&out, "X-Request-Id: %s\r\nContent-Length: %zu\r\n\r\n", problem->id,
                  problem->text.len);
    fa_buf_add(&out, problem->text.ptr, problem->text.len);
    (void)!send(fd, out.ptr, out.len, MSG_NOSIGNAL | MSG_DONTWAIT);
    fa_buf_finish(&out);
}

void fa_unread_refuse(struct fa_server *server, int fd, unsigned status, const char *message)
{
    struct problem problem;
    struct faina_error err;

    fa_error_set(&err, FAINA_OVERLOADED, "%s", message);
    write_text(server, status, &err, &problem);
    write_problem(fd, &problem);
    fa_buf_finish(&problem.text);
    fa_metrics_request(server->metrics, fa_route_count, (int)status, 0);
}

void fa_unread_refuse_malformed(struct fa_server *server, int fd)
{
    struct problem problem;

    make_problem(server, 400, &problem);
    write_problem(fd, &problem);
    fa_buf_finish(&problem.text);
    fa_metrics_request(server->metrics, fa_route_count, 400, 0);
}

static enum MHD_Result queue_problem(struct fa_server *server, struct MHD_Connection *connection,
                                     const struct problem *problem)
{
    struct MHD_Response *response = MHD_create_response_from_buffer(
        problem->text.len, problem->text.ptr, MHD_RESPMEM_MUST_COPY);
    enum MHD_Result result;

    if (!response)
        return MHD_NO;
    for (size_t i = 0; i < FA_COUNT(headers); i++)
        MHD_add_response_header(response, headers[i][0], headers[i][1]);
    MHD_add_response_header(response, "X-Request-Id", problem->id);
    result = server->queue(connection, problem->status, response);
    MHD_destroy_response(response);
    return result;
}

__attribute__((visibility("default"))) enum MHD_Result MHD_queue_response(
    struct MHD_Connection *connection, unsigned int status, struct MHD_Response *page)
{
    const union MHD_ConnectionInfo *socket =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    const union MHD_ConnectionInfo *tls =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    struct fa_server *server = fa_http_server_of(connection);
    enum MHD_Result result = MHD_NO;
    struct problem problem;

    (void)page;
    make_problem(server, status, &problem);
    if (tls && tls->tls_session)
        result = queue_problem(server, connection, &problem);
    else
        write_problem(socket->connect_fd, &problem);
    fa_buf_finish(&problem.text);
    fa_metrics_request(server->metrics, fa_route_count, (int)status, 0);
    return result;
}
