/*
 * request.h - one HTTP request, from its head to its response.
 *
 * A handler reads the request, and then either responds, or starts operations and names the
 * function that continues when they are done. While they run the connection is suspended: it needs
 * no thread.
 *
 *     handle -> fa_request_run(req, ops, 1, then) ~~~ transaction ~~~> then -> fa_answer_...
 *
 * `handle` and each `then` are the request's steps. When the body or the results of the operations
 * are large, the steps run in a thread of post (http.c), so that other requests don't wait for
 * them; the connection is suspended meanwhile, too.
 *
 *   Q1  A handler ends in exactly one way: with a response, or with a run.
 *   Q2  All memory of a request is in its arena, and is freed with it.
 *   Q3  Between fa_request_run and `then` the server doesn't access the request.
 *   Q4  A step accesses only its own request, and what any thread may access. The connection is
 *       suspended meanwhile, so the request's headers don't change.
 *
 * Threads: one at a time, that of the request's loop, except while post.h runs it.
 */
#ifndef FA_SERVER_HTTP_REQUEST_H
#define FA_SERVER_HTTP_REQUEST_H

#include "json/json.h"
#include "server/http/head.h"
#include "server/auth.h"
#include "server/http/url.h"
#include "wire/body.h"
#include "server/post.h"

struct fa_connection;
struct fa_listener_socket;
struct fa_quota;
struct fa_request;
struct fa_route;
struct fa_server;
struct fa_stream;

typedef void fa_handler(struct fa_request *req);

#define FA_REQUEST_HEADERS_MAX 10
#define FA_REQUEST_ID_SIZE 65

struct fa_request {
    struct fa_posted posted; /* first member */
    struct fa_server *server;
    struct fa_listener_socket *listener;
    struct fa_connection *peer; /* NULL: it was closed while the operations ran */
    struct fa_head head;        /* its texts are in the arena */
    struct fa_arena arena;

    /* The request. */
    const char *target; /* not decoded */
    const char *host;   /* of the URL or the header Host; NULL: none */
    struct fa_url url;
    const struct fa_route *route;
    const char *part;   /* {id} or {name}, decoded; NULL: none */
    const char *reason; /* of a body that has nothing else; NULL: none */
    struct fa_grant grant;
    uint64_t session; /* that the grant is from (sessions.h); 0: none */
    struct fa_buf body;
    char id[FA_REQUEST_ID_SIZE];
    int64_t begun_ns;
    bool is_head;                          /* HEAD: handled as a GET */
    bool closes;                           /* the connection ends with the answer */
    bool is_too_large, has_no_room;        /* the body alone; together with all others */
    size_t body_counted, response_counted; /* its bytes in the server's sums */
    struct fa_quota *held[2];              /* accept.h: the quotas of a waiting request */

    /* Processing. */
    enum { FA_REQUEST_READS, FA_REQUEST_RUNS, FA_REQUEST_RETURNS, FA_REQUEST_RESPONDS } state;
    enum { FA_RUN_PLAIN, FA_RUN_CLAIM_WAIT, FA_RUN_TASK_WAIT, FA_RUN_BACKUP } how;
    int64_t wait_ms;
    fa_handler *then; /* the next step */
    bool stays;       /* its steps always run in the loop, even if it is large */
    void *data;       /* of the handler, across a run */
    enum { /* for its operations; of the loop's thread, also while a step runs in another one */
           FA_REQUEST_NOT_WAITING,
           FA_REQUEST_WAITS,
           FA_REQUEST_WAITS_FOR_WORK /* it is a waiting claim */
    } waits;
    atomic_bool is_woken;  /* a stream that has something to send (http_loop.h) */
    bool is_response_sent; /* the socket has taken the whole response */
    struct fa_request *done_next;

    /* The response. */
    int status;
    struct fa_stream *stream; /* a stream, which the connection closes */
    bool has_file;            /* the response is the file of file_fd */
    int file_fd;
    int64_t file_size;
    bool has_backup; /* it is the backup that is being made or sent */
    struct fa_buf out;
    struct fa_json_writer writer;
    const char *content_type;
    bool is_ready; /* http.c: it is compressed, or needn't be */
    bool may_be_compressed, is_compressed;
    size_t uncompressed_size; /* before compression */
    struct fa_request_header {
        const char *name, *value;
    } headers[FA_REQUEST_HEADERS_MAX];
    size_t header_count;
};

/* ------------------------------------------------------------------------------------------
 * Reading
 */

/* A header of the request; NULL: there is none. */
const char *fa_request_header(const struct fa_request *req, const char *name);
/* The header `traceparent` (W3C Trace Context); NULL: there is none, or it is malformed. */
const char *fa_request_trace(const struct fa_request *req);
/* The media type of the body, without parameters, is `type`. */
bool fa_request_is_type(const struct fa_request *req, const char *type);
struct fa_bytes fa_request_body(const struct fa_request *req);

/* These respond with a problem and return false when the client's input is invalid. */
bool fa_request_read(struct fa_request *req, const struct fa_shape *body, void *out);
bool fa_request_int(struct fa_request *req, const char *name, int64_t min, int64_t max,
                    int64_t *out);
bool fa_request_bool(struct fa_request *req, const char *name, bool *out);
bool fa_request_time(struct fa_request *req, const char *name, int64_t *out_us);
/* `order`: desc or asc; `out` keeps its value without it. */
bool fa_request_order(struct fa_request *req, bool *is_descending);
bool fa_request_duration(struct fa_request *req, const char *name, int64_t *out_ms);
bool fa_request_statuses(struct fa_request *req, const char *text, unsigned *out);
/* For the end of an error about a status: what another word for one is here; or "". */
const char *fa_request_status_hint(struct fa_request *req, const char *word);
/* `limit` and `cursor` of a list that the engine reads page by page (fa_op.part). */
bool fa_request_part(struct fa_request *req, struct fa_part *part);
/* A field of the body that repeats the path must be equal to it. */
bool fa_request_matches_path(struct fa_request *req, const char *field, const char *value);
/* If-Match: the expected version; 0: none. */
bool fa_request_version(struct fa_request *req, int64_t *out);
/* The same for a workflow: negative when it must be disabled. */
bool fa_request_workflow_version(struct fa_request *req, int64_t *out);
/* For resources without a version: refuses If-Match, unless it is `*`. */
bool fa_request_unversioned(struct fa_request *req);
/* `ns`, or if it is NULL the namespace of the token. The operation checks the access (access.h). */
const char *fa_request_namespace(const struct fa_request *req, const char *ns);
/* Whether the grant also allows `what` (access.h). */
bool fa_request_may(struct fa_request *req, unsigned what);

/* ------------------------------------------------------------------------------------------
 * Running
 */

/* Sets req->posted.ops to new operations in the request's arena, all zero. */
struct fa_op *fa_request_ops(struct fa_request *req, size_t count);
/* The same for a single one. */
struct fa_op *fa_request_op(struct fa_request *req, enum fa_op_kind kind);
/* The same, with the {id} or {name} of the path as its id. */
struct fa_op *fa_request_part_op(struct fa_request *req, enum fa_op_kind kind);
/* Sets the reason of the new operations; NULL: it was not given. Without one they get that of the
 * parameter `reason`, which every act of the audit takes. */
void fa_request_reason(struct fa_request *req, const char *reason);
bool fa_request_takes_reason(const struct fa_route *route);
/* Runs req->posted.ops, then calls `then`. */
void fa_request_run(struct fa_request *req, fa_handler *then);
void fa_request_claim_wait(struct fa_request *req, fa_handler *then);
void fa_request_task_wait(struct fa_request *req, int64_t wait_ms, fa_handler *then);
/* Makes a backup in a thread of its own (route_backup.c), then calls `then`. */
void fa_request_run_backup(struct fa_request *req, fa_handler *then);
/* Runs a function in another thread, then calls `then`. */
void fa_request_work(struct fa_request *req, fa_posted_fn *work, fa_handler *then);
/* Reloads the server's copy of tokens and settings, then calls `then`: a change of them is in
 * effect before its response. */
void fa_request_reload_access(struct fa_request *req, fa_handler *then);

/* True: the first operation was refused, and the response says so. */
bool fa_request_refused(struct fa_request *req);

/* ------------------------------------------------------------------------------------------
 * Responses (response.c)
 */

#define FA_RESPONSE_SIZE_MAX ((size_t)1024 * 1024 * 1024)
#define FA_RETRY_AFTER_SECONDS "1" /* with 429 and 503 */

/* A problem, with the status of its code. */
void fa_respond_problem(struct fa_request *req, const struct faina_error *err);
/* ... or with another one. */
void fa_respond_problem_as(struct fa_request *req, int status, const struct faina_error *err);
/* The problem that a field is missing. Returns false. */
bool fa_respond_missing(struct fa_request *req, const char *field);
void fa_respond_refusal(struct fa_request *req, int status, enum faina_code code,
                        const char *format, ...) FA_PRINTF(4, 5);
/* Replaces a response that was not sent by a refusal. */
void fa_respond_instead(struct fa_request *req, enum faina_code code, const char *message);
/* A JSON response: begin, write, end. */
struct fa_json_writer *fa_response_begin(struct fa_request *req, int status);
void fa_response_end(struct fa_request *req);
/* The same for {"items": [...], "nextCursor": ...}; next_cursor NULL: it was the last page. */
struct fa_json_writer *fa_response_items_begin(struct fa_request *req);
void fa_response_items_end(struct fa_request *req, const char *next_cursor);
/* After a run: the refusal, or the operation's answer by its table. */
void fa_respond_answer(struct fa_request *req, int status, const struct fa_shape *shape);
/* The same for a list that was read in part (fa_op.part), and for the only item of a list. */
void fa_respond_items(struct fa_request *req, const struct fa_shape *list);
void fa_respond_only_item(struct fa_request *req, const struct fa_shape *list);
/* After a run that removes something: 204. */
void fa_respond_removed(struct fa_request *req);
/* The ETag of the response. */
void fa_response_version(struct fa_request *req, int64_t version);
void fa_response_workflow_version(struct fa_request *req,
                                  const struct fa_stored_workflow *workflow);
/* The task, with its ETag. */
void fa_respond_task(struct fa_request *req, int status, const struct faina_task *task);
/* A stream of events, which the response owns. */
void fa_respond_stream(struct fa_request *req, struct fa_stream *stream);
/* A text that goes on, which the response owns. */
void fa_respond_text_stream(struct fa_request *req, struct fa_stream *stream);
/* The file of req->file_fd. */
void fa_respond_file(struct fa_request *req, int64_t size);
void fa_respond_empty(struct fa_request *req, int status);
void fa_respond_text(struct fa_request *req, int status, const char *content_type,
                     const char *text);
/* The body is in req->out already. */
void fa_respond_out(struct fa_request *req, int status, const char *content_type);
/* 200 with a body that is gzipped already (http.c); `size` is its size without. */
void fa_respond_gzipped(struct fa_request *req, const char *content_type, struct fa_bytes gzip,
                        size_t size);
void fa_response_header(struct fa_request *req, const char *name, const char *value);

#endif
