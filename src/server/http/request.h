/*
 * request.h - one HTTP request, from its head to its answer.
 *
 * A handler reads the request, and then either answers, or has operations run and names the
 * function that goes on when they are done. While they run the connection is suspended: it costs no
 * thread.
 *
 *     handle -> fa_request_run(req, ops, 1, then) ~~~ transaction ~~~> then -> fa_answer_...
 *
 * `handle` and each `then` are the request's steps. When it carries much, be it its body or what
 * its operations have found, they are done in post's thread for that (http.c), so that nobody else
 * waits for them; the connection is suspended meanwhile, too.
 *
 *   Q1  A handler ends in exactly one way: an answer, or a run.
 *   Q2  Everything of a request lives in its arena, and goes with it.
 *   Q3  Between fa_request_run and `then` nothing of the request is touched by the server.
 *   Q4  A step touches nothing but its own request, and what any thread may. The library is asked
 *       for the request's headers alone, which stay as they are.
 *
 * Threads: one at a time. That of the request's loop, except for what post.h runs in between.
 */
#ifndef FA_REQUEST_H
#define FA_REQUEST_H

#include "base/json.h"
#include "server/auth.h"
#include "server/url.h"
#include "service/body.h"
#include "service/post.h"

struct MHD_Connection;
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
    struct MHD_Connection *connection;
    struct fa_connection *peer; /* http.c */
    struct fa_arena arena;
    unsigned long long number; /* on its connection, from 1 */

    /* The question. */
    const char *target; /* as it came */
    const char *host;   /* whom it was meant for; NULL: it doesn't say */
    struct fa_url url;
    const struct fa_route *route;
    const char *part; /* {id} or {name}, decoded; NULL: none */
    struct fa_grant grant;
    struct fa_buf body;
    char id[FA_REQUEST_ID_SIZE];
    int64_t begun_ns;
    bool is_head; /* HEAD: answered as a GET */
    bool has_head, is_body_over, must_close;
    bool is_too_large, has_no_room;      /* the body, for itself; with all others */
    size_t body_counted, answer_counted; /* what the server's sums know of it */
    struct fa_quota *held[2];            /* accept.h: what it counts for while it waits */

    /* On its way. */
    enum { FA_REQUEST_READS, FA_REQUEST_RUNS, FA_REQUEST_RETURNS, FA_REQUEST_ANSWERS } state;
    enum { FA_RUN_PLAIN, FA_RUN_CLAIM_WAIT, FA_RUN_TASK_WAIT, FA_RUN_APART } how;
    int64_t wait_ms;
    fa_handler *then; /* the next step */
    bool stays;       /* its steps are done in the loop, whatever it carries */
    void *data;       /* the handler's own, across a run */
    /* loop.h: how it waits for its operations. */
    enum {
        FA_REQUEST_IS_AWAKE,
        FA_REQUEST_IN_PLACE,
        FA_REQUEST_SUSPENDED,
        FA_REQUEST_ORPHANED /* nobody is there any more to take the answer */
    } waits;
    int64_t waits_since_us;
    bool is_watched;  /* loop.h, L7 */
    bool is_answered; /* the library has the answer, and has sent it, as far as we can know */
    struct fa_request *done_next;

    /* The answer. */
    int status;
    struct fa_stream *stream; /* an answer without an end; the connection closes it */
    bool has_file; /* the answer is the file behind file_fd, which is the library's once sent */
    int file_fd;
    int64_t file_size;
    bool has_backup; /* it is the one that the server makes or sends */
    struct fa_buf out;
    struct fa_json_writer writer;
    const char *content_type;
    bool is_ready; /* http.c: it is packed, or needn't be */
    bool may_be_packed, is_packed;
    size_t made_size; /* what it was before that */
    struct fa_request_header {
        const char *name, *value;
    } headers[FA_REQUEST_HEADERS_MAX];
    size_t header_count;
};

/* ------------------------------------------------------------------------------------------
 * Reading
 */

/* A header of the request; NULL: not there. */
const char *fa_request_header(const struct fa_request *req, const char *name);
/* The header `traceparent` of the W3C's trace context; NULL: there is none, or it is malformed. */
const char *fa_request_trace(const struct fa_request *req);
/* The media type of the body, without parameters, is `type`. */
bool fa_request_is_type(const struct fa_request *req, const char *type);
struct fa_bytes fa_request_body(const struct fa_request *req);

/* These answer with a problem and return false when what the client sent makes no sense. */
bool fa_request_read(struct fa_request *req, const struct fa_body *body, void *out);
bool fa_request_int(struct fa_request *req, const char *name, int64_t min, int64_t max,
                    int64_t *out);
bool fa_request_bool(struct fa_request *req, const char *name, bool *out);
bool fa_request_time(struct fa_request *req, const char *name, int64_t *out_us);
bool fa_request_duration(struct fa_request *req, const char *name, int64_t *out_ms);
bool fa_request_statuses(struct fa_request *req, const char *text, unsigned *out);
/* `limit` and `cursor` of a list that the engine reads in parts (fa_op.part). */
bool fa_request_part(struct fa_request *req, struct fa_part *part);
/* What a body repeats of its path must be the same. False: refused. */
bool fa_request_same(struct fa_request *req, const char *field, const char *value);
/* If-Match: the version that must still be; 0: not asked for. */
bool fa_request_version(struct fa_request *req, int64_t *out);
/* That of a workflow: negative when it must be disabled. */
bool fa_request_workflow_version(struct fa_request *req, int64_t *out);
/* For what has no version: If-Match can't hold, so it is refused, unless it is `*`. */
bool fa_request_unversioned(struct fa_request *req);
/* The namespace that the request names, or else that of its token. Whether the token is for it,
 * the operation decides (access.h). */
const char *fa_request_home(const struct fa_request *req, const char *ns);
/* Whether the request may also ask for `what` (access.h). */
bool fa_request_may(struct fa_request *req, unsigned what);

/* ------------------------------------------------------------------------------------------
 * Running
 */

/* New operations in the request's arena, all zero. They are req->posted.ops from now on. */
struct fa_op *fa_request_ops(struct fa_request *req, size_t count);
/* A single one. */
struct fa_op *fa_request_op(struct fa_request *req, enum fa_op_kind kind);
/* Runs req->posted.ops, then goes on with `then`. */
void fa_request_run(struct fa_request *req, fa_handler *then);
void fa_request_claim_wait(struct fa_request *req, fa_handler *then);
void fa_request_task_wait(struct fa_request *req, int64_t wait_ms, fa_handler *then);
/* Runs the copy of a backup in a thread of its own (backup.c). */
void fa_request_apart(struct fa_request *req, fa_handler *then);
/* Runs a function in another thread, then goes on. */
void fa_request_work(struct fa_request *req, fa_posted_fn *work, fa_handler *then);

/* Answers when the first operation was refused; true: it was. */
bool fa_request_refused(struct fa_request *req);

/* ------------------------------------------------------------------------------------------
 * Answering (answer.c)
 */

#define FA_ANSWER_SIZE_MAX ((size_t)1024 * 1024 * 1024)
#define FA_RETRY_AFTER_SECONDS "1" /* with 429 and 503 */

/* A problem, with the status of its code. */
void fa_answer_problem(struct fa_request *req, const struct faina_error *err);
/* ... or with another one. */
void fa_answer_problem_as(struct fa_request *req, int status, const struct faina_error *err);
void fa_answer_refusal(struct fa_request *req, int status, enum faina_code code, const char *format,
                       ...) FA_PRINTF(4, 5);
/* Takes back an answer that was not sent, and refuses. */
void fa_answer_instead(struct fa_request *req, enum faina_code code, const char *message);
/* A JSON answer: begin, write, end. */
struct fa_json_writer *fa_answer_begin(struct fa_request *req, int status);
void fa_answer_end(struct fa_request *req);
/* The same for {"items": [...], "nextCursor": ...}; next_cursor NULL: it was the last page. */
struct fa_json_writer *fa_answer_items_begin(struct fa_request *req);
void fa_answer_items_end(struct fa_request *req, const char *next_cursor);
/* After a run that has removed something: 204. */
void fa_answer_removal(struct fa_request *req);
/* The ETag of what is answered next. */
void fa_answer_version(struct fa_request *req, int64_t version);
void fa_answer_workflow_version(struct fa_request *req, const struct fa_stored_workflow *workflow);
/* The whole task, with its ETag. */
void fa_answer_task(struct fa_request *req, int status, const struct faina_task *task);
/* What happens from now on; the stream is the answer's. */
void fa_answer_stream(struct fa_request *req, struct fa_stream *stream);
/* The file behind req->file_fd. */
void fa_answer_file(struct fa_request *req, int64_t size);
void fa_answer_empty(struct fa_request *req, int status);
void fa_answer_text(struct fa_request *req, int status, const char *content_type, const char *text);
void fa_answer_header(struct fa_request *req, const char *name, const char *value);

#endif
