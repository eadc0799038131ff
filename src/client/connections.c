/*
 * connections.c - the pool of sessions, and calls over one.
 *
 * A session is a curl multi handle: it has connections of its own, so a thread that borrows it
 * needs no lock while its requests run. Other threads wake it with curl_multi_wakeup.
 *
 * libcurl sends a request again by itself when a connection that it had kept turns out to be dead.
 * For a request that must not be sent twice its body is handed over in a way that can't be read
 * again; then libcurl gives up instead.
 */
#include "client/connections.h"

#include "base/clock.h"
#include "client/curl.h"
#include "wire/wire_workflow.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define PARALLEL_MAX 8 /* requests at once on one session */
#define SOCKETS_MAX (2 * PARALLEL_MAX)
#define IDLE_MAX 16 /* sessions kept */
#define TRIES_MAX 3
#define TRY_AGAIN_MS 50 /* before the second try; four times as long before each further one */
#define POLL_MS 1000
#define LISTEN_MS 500 /* after giving up a wait */
#define LISTEN_POLL_MS 50
#define IDLE_SECONDS_MAX 20L /* the server closes connections that are idle for 30 */
#define PATH_SIZE_MAX ((size_t)64 * 1024)
#define BODY_SIZE_MAX ((size_t)512 * 1024 * 1024)
#define ANSWER_SIZE_MAX ((size_t)1024 * 1024 * 1024)
#define BEGINNING_SIZE_MAX ((size_t)64 * 1024) /* of an answer that goes elsewhere */

static_assert(sizeof(((struct fa_call *)NULL)->why) >= CURL_ERROR_SIZE, "curl writes so much");

struct session {
    struct session *next, **link; /* in `busy`; `next` alone in `idle` */
    CURLM *multi;
    CURL *easies[PARALLEL_MAX];
    struct curl_slist *headers[PARALLEL_MAX];
    struct fa_call *calls[PARALLEL_MAX]; /* under way */
    curl_socket_t sockets[SOCKETS_MAX];  /* that are open, as far as there is room */
    size_t socket_count;
    bool is_shut_down; /* nothing can be sent any more by sockets that are kept */
};

struct fa_connections {
    const struct fa_curl *curl;
    char *base, *shown, *unix_path, *authorization, *ca_file;
    int64_t timeout_ms, connect_ms;
    bool is_near, is_tls;
    atomic_bool is_shut;

    pthread_mutex_t mutex; /* guards what follows; nothing blocks while it is held */
    pthread_cond_t cond;   /* is_shut, or `busy` has become shorter */
    struct session *idle, *busy;
    size_t idle_count;
};

/* ------------------------------------------------------------------------------------------
 * The pool
 */

static char *copy(const char *text)
{
    return text ? strdup(text) : NULL;
}

enum faina_code fa_connections_open(struct fa_connections **out,
                                    const struct fa_connections_options *options,
                                    struct faina_error *err)
{
    const struct fa_curl *curl = fa_curl_load(err);
    struct fa_connections *conns;
    pthread_condattr_t attr;

    if (!curl)
        return FAINA_NOT_SUPPORTED;
    conns = fa_alloc_zero(1, sizeof(*conns));
    conns->curl = curl;
    conns->base = copy(options->base);
    conns->shown = copy(options->shown);
    conns->unix_path = copy(options->unix_path);
    conns->ca_file = copy(options->ca_file);
    conns->timeout_ms = options->timeout_ms;
    conns->connect_ms = options->connect_ms;
    conns->is_near = options->is_near;
    conns->is_tls = strncmp(options->base, "https:", 6) == 0;
    if (options->token) {
        size_t size = strlen(options->token) + sizeof("Authorization: Bearer ");

        conns->authorization = fa_alloc(size);
        snprintf(conns->authorization, size, "Authorization: Bearer %s", options->token);
    }
    pthread_mutex_init(&conns->mutex, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&conns->cond, &attr);
    pthread_condattr_destroy(&attr);
    *out = conns;
    return FAINA_OK;
}

static void session_destroy(struct fa_connections *conns, struct session *session)
{
    for (size_t i = 0; i < PARALLEL_MAX; i++) {
        if (session->easies[i])
            conns->curl->easy_cleanup(session->easies[i]);
    }
    conns->curl->multi_cleanup(session->multi);
    free(session);
}

static struct session *session_borrow(struct fa_connections *conns)
{
    struct session *session;

    pthread_mutex_lock(&conns->mutex);
    session = conns->idle;
    if (session) {
        conns->idle = session->next;
        conns->idle_count--;
    }
    pthread_mutex_unlock(&conns->mutex);
    if (!session) {
        session = fa_alloc_zero(1, sizeof(*session));
        session->multi = conns->curl->multi_init();
        if (!session->multi) {
            free(session);
            return NULL;
        }
        conns->curl->multi_setopt(session->multi, CURLMOPT_MAXCONNECTS, (long)PARALLEL_MAX);
    }
    pthread_mutex_lock(&conns->mutex);
    session->next = conns->busy;
    session->link = &conns->busy;
    if (session->next)
        session->next->link = &session->next;
    conns->busy = session;
    pthread_mutex_unlock(&conns->mutex);
    return session;
}

static void session_return(struct fa_connections *conns, struct session *session)
{
    pthread_mutex_lock(&conns->mutex);
    *session->link = session->next;
    if (session->next)
        session->next->link = session->link;
    if (conns->idle_count < IDLE_MAX && !session->is_shut_down) {
        session->next = conns->idle;
        conns->idle = session;
        conns->idle_count++;
        session = NULL;
    }
    pthread_cond_broadcast(&conns->cond);
    pthread_mutex_unlock(&conns->mutex);
    if (session)
        session_destroy(conns, session);
}

/* The mutex is held. */
static void wake_all(struct fa_connections *conns)
{
    for (struct session *session = conns->busy; session; session = session->next)
        conns->curl->multi_wakeup(session->multi);
    pthread_cond_broadcast(&conns->cond);
}

void fa_connections_wake(struct fa_connections *conns)
{
    pthread_mutex_lock(&conns->mutex);
    wake_all(conns);
    pthread_mutex_unlock(&conns->mutex);
}

void fa_connections_shut(struct fa_connections *conns)
{
    atomic_store(&conns->is_shut, true);
    pthread_mutex_lock(&conns->mutex);
    wake_all(conns);
    while (conns->busy)
        pthread_cond_wait(&conns->cond, &conns->mutex);
    pthread_mutex_unlock(&conns->mutex);
}

void fa_connections_close(struct fa_connections *conns)
{
    if (!conns)
        return;
    while (conns->idle) {
        struct session *session = conns->idle;

        conns->idle = session->next;
        session_destroy(conns, session);
    }
    pthread_cond_destroy(&conns->cond);
    pthread_mutex_destroy(&conns->mutex);
    if (conns->authorization)
        explicit_bzero(conns->authorization, strlen(conns->authorization));
    free(conns->authorization);
    free(conns->base);
    free(conns->shown);
    free(conns->unix_path);
    free(conns->ca_file);
    free(conns);
}

/* ------------------------------------------------------------------------------------------
 * Calls
 */

void fa_call_init(struct fa_call *call, const char *method)
{
    *call = (struct fa_call){.method = method};
    fa_buf_init(&call->path, PATH_SIZE_MAX);
    fa_buf_init(&call->body, BODY_SIZE_MAX);
    fa_buf_init(&call->answer, ANSWER_SIZE_MAX);
    fa_error_clear(&call->error);
}

void fa_call_finish(struct fa_call *call)
{
    fa_buf_finish(&call->path);
    fa_buf_finish(&call->body);
    fa_buf_finish(&call->answer);
}

void fa_call_escape(struct fa_call *call, const char *text)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;

        if (isalnum(c) || strchr("-._~", c))
            fa_buf_add_char(&call->path, (char)c);
        else
            fa_buf_printf(&call->path, "%%%02X", c);
    }
}

static size_t give_body(char *out, size_t size, size_t count, void *ctx)
{
    struct fa_call *call = ctx;
    size_t room = size * count, left = call->body.len - call->sent;
    size_t len = left < room ? left : room;

    /* All is read: this is another beginning, after some of it may have gone. */
    if (left == 0)
        return CURL_READFUNC_ABORT;
    memcpy(out, call->body.ptr + call->sent, len);
    call->sent += len;
    return len;
}

/* L1: libcurl can't read the body a second time. */
static int refuse_seek(void *ctx, curl_off_t offset, int origin)
{
    (void)ctx;
    (void)offset;
    (void)origin;
    return CURL_SEEKFUNC_FAIL;
}

static size_t take_answer(char *data, size_t size, size_t count, void *ctx)
{
    struct fa_call *call = ctx;

    if (call->take) {
        if (call->answer.len < BEGINNING_SIZE_MAX)
            fa_buf_add(&call->answer, data, size * count);
        return call->take(call->take_ctx, data, size * count) ? size * count : 0;
    }
    fa_buf_add(&call->answer, data, size * count);
    return call->answer.overflow ? 0 : size * count;
}

static void set_body(const struct fa_curl *curl, CURL *easy, struct fa_call *call)
{
    if (call->body.len == 0) {
        if (strcmp(call->method, "GET") != 0)
            curl->easy_setopt(easy, CURLOPT_CUSTOMREQUEST, call->method);
        /* There is no body to refuse to read again. */
        curl->easy_setopt(easy, CURLOPT_FRESH_CONNECT, call->is_repeatable ? 0L : 1L);
        return;
    }
    curl->easy_setopt(easy, CURLOPT_POST, 1L);
    curl->easy_setopt(easy, CURLOPT_CUSTOMREQUEST, call->method);
    curl->easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->body.len);
    if (call->is_repeatable) {
        curl->easy_setopt(easy, CURLOPT_POSTFIELDS, call->body.ptr);
        return;
    }
    call->sent = 0;
    curl->easy_setopt(easy, CURLOPT_READFUNCTION, give_body);
    curl->easy_setopt(easy, CURLOPT_READDATA, call);
    curl->easy_setopt(easy, CURLOPT_SEEKFUNCTION, refuse_seek);
}

static struct curl_slist *make_headers(const struct fa_connections *conns,
                                       const struct fa_call *call)
{
    const struct fa_curl *curl = conns->curl;
    struct curl_slist *list = curl->slist_append(NULL, "Accept: application/json");
    char text[64];

    list = curl->slist_append(list, "Expect:"); /* no question before the body */
    if (call->body.len > 0)
        list = curl->slist_append(list, "Content-Type: application/json");
    if (conns->authorization)
        list = curl->slist_append(list, conns->authorization);
    if (call->if_match != 0) {
        snprintf(text, sizeof(text), "If-Match: \"%lld%s\"", llabs(call->if_match),
                 call->if_match < 0 ? FA_TAG_DISABLED : "");
        list = curl->slist_append(list, text);
    }
    return list;
}

static curl_socket_t open_socket(void *ctx, curlsocktype purpose, struct curl_sockaddr *to)
{
    int fd = socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
    struct session *session = ctx;

    (void)purpose;
    if (fd >= 0 && session->socket_count < SOCKETS_MAX)
        session->sockets[session->socket_count++] = fd;
    return fd >= 0 ? fd : CURL_SOCKET_BAD;
}

static int close_socket(void *ctx, curl_socket_t fd)
{
    struct session *session = ctx;

    for (size_t i = 0; i < session->socket_count; i++)
        if (session->sockets[i] == fd)
            session->sockets[i] = session->sockets[--session->socket_count];
    return close(fd);
}

static void set_transport(const struct fa_connections *conns, struct session *session, CURL *easy)
{
    const struct fa_curl *curl = conns->curl;

    curl->easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    curl->easy_setopt(easy, CURLOPT_OPENSOCKETDATA, session);
    curl->easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, close_socket);
    curl->easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, session);
    curl->easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl->easy_setopt(easy, CURLOPT_USERAGENT, "faina/" FAINA_VERSION);
    curl->easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl->easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl->easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl->easy_setopt(easy, CURLOPT_MAXAGE_CONN, IDLE_SECONDS_MAX);
    curl->easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
    curl->easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
    curl->easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)conns->connect_ms);
    if (conns->ca_file)
        curl->easy_setopt(easy, CURLOPT_CAINFO, conns->ca_file);
    if (conns->unix_path)
        curl->easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, conns->unix_path);
    if (conns->is_near)
        curl->easy_setopt(easy, CURLOPT_PROXY, "");
}

static bool start(struct fa_connections *conns, struct session *session, size_t slot,
                  struct fa_call *call)
{
    const struct fa_curl *curl = conns->curl;
    CURL *easy = session->easies[slot];
    struct fa_buf url;
    bool is_started;

    if (!easy)
        easy = session->easies[slot] = curl->easy_init();
    if (!easy)
        return false;
    fa_buf_init(&url, PATH_SIZE_MAX);
    fa_buf_printf(&url, "%s%s", conns->base, call->path.ptr);
    fa_buf_clear(&call->answer);
    call->why[0] = '\0';
    call->listen_us = 0;
    curl->easy_reset(easy);
    set_transport(conns, session, easy);
    session->headers[slot] = make_headers(conns, call);
    curl->easy_setopt(easy, CURLOPT_URL, url.ptr);
    curl->easy_setopt(easy, CURLOPT_HTTPHEADER, session->headers[slot]);
    curl->easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)(conns->timeout_ms + call->wait_ms));
    curl->easy_setopt(easy, CURLOPT_ERRORBUFFER, call->why);
    curl->easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_answer);
    curl->easy_setopt(easy, CURLOPT_WRITEDATA, call);
    if (call->take) {
        call->take(call->take_ctx, NULL, 0);
        curl->easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L); /* there may be no data for minutes */
    }
    set_body(curl, easy, call);
    is_started = !url.overflow && !call->path.overflow &&
                 curl->multi_add_handle(session->multi, easy) == CURLM_OK;
    fa_buf_finish(&url);
    session->calls[slot] = is_started ? call : NULL;
    if (!is_started) {
        curl->slist_free_all(session->headers[slot]);
        session->headers[slot] = NULL;
    }
    return is_started;
}

/* ------------------------------------------------------------------------------------------
 * How a call ended
 */

static void fail(const struct fa_connections *conns, struct fa_call *call, const char *what,
                 const char *why, bool is_unknown)
{
    call->code = fa_error_set(&call->error, FAINA_UNAVAILABLE, "%s %.200s%s%.150s%s", what,
                              conns->shown, why[0] ? ": " : "", why,
                              is_unknown ? "; whether the request was carried out is unknown" : "");
}

static void fail_shut(struct fa_call *call)
{
    call->code = fa_error_set(&call->error, FAINA_STORE_CLOSED, "the engine is closed");
}

/* Nothing of the request can have left. */
static bool is_unsent(const struct fa_curl *curl, CURL *easy, CURLcode result)
{
    curl_off_t began_us = 0;

    if (result == CURLE_COULDNT_RESOLVE_HOST || result == CURLE_COULDNT_CONNECT ||
        result == CURLE_COULDNT_RESOLVE_PROXY)
        return true;
    return curl->easy_getinfo(easy, CURLINFO_PRETRANSFER_TIME_T, &began_us) == CURLE_OK &&
           began_us == 0;
}

/* Advice for a failed TLS connection; "": none. */
static const char *tls_advice(CURLcode result, const char *why)
{
    if (result == CURLE_PEER_FAILED_VERIFICATION &&
        (strstr(why, "self") || strstr(why, "issuer") || strstr(why, "CAfile")))
        return "; FAINA_CA_FILE names a file with certificates to trust";
    if (result == CURLE_SSL_CONNECT_ERROR &&
        (strstr(why, "wrong version number") || strstr(why, "unexpected TLS packet")))
        return "; it seems to use http://, not https://";
    /* A server without TLS may close before its plain answer to our hello is read. */
    if (result == CURLE_SSL_CONNECT_ERROR &&
        (strstr(why, "SSL_ERROR_SYSCALL") || strstr(why, "reset by peer")))
        return "; it may use http://, not https://";
    return "";
}

static void classify_result(const struct fa_connections *conns, CURL *easy, struct fa_call *call,
                            CURLcode result)
{
    const struct fa_curl *curl = conns->curl;
    bool is_before = is_unsent(curl, easy, result);
    const char *why = call->why[0] ? call->why : curl->easy_strerror(result);
    long error_number = 0, status = 0;
    char reason[160];

    if (result == CURLE_OK) {
        curl->easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
        call->code = FAINA_OK;
        call->status = (int)status;
        return;
    }
    if (call->listen_us != 0) {
        call->has_given_up = true;
        fail_shut(call);
        return;
    }
    curl->easy_getinfo(easy, CURLINFO_OS_ERRNO, &error_number);
    if (result == CURLE_COULDNT_CONNECT && error_number != 0)
        why = strerrordesc_np((int)error_number);
    if (result == CURLE_OPERATION_TIMEDOUT) {
        fail(conns, call, "no answer in time from", "", !is_before && !call->is_read);
        return;
    }
    if (call->answer.overflow) {
        fail(conns, call, "a response over the size limit from", "", !call->is_read);
        return;
    }
    snprintf(reason, sizeof(reason), "%.90s%s", why, tls_advice(result, why));
    fail(conns, call, is_before ? "can't reach" : "no valid response from", reason,
         !is_before && !call->is_read);
    call->is_again = result == CURLE_COULDNT_CONNECT ||
                     (!is_before && call->is_repeatable && result != CURLE_UNSUPPORTED_PROTOCOL);
}

static void take_end(struct fa_connections *conns, struct session *session, CURL *easy,
                     CURLcode result)
{
    for (size_t i = 0; i < PARALLEL_MAX; i++) {
        if (!session->calls[i] || session->easies[i] != easy)
            continue;
        conns->curl->multi_remove_handle(session->multi, easy);
        classify_result(conns, easy, session->calls[i], result);
        conns->curl->easy_setopt(easy, CURLOPT_ERRORBUFFER, NULL);
        conns->curl->slist_free_all(session->headers[i]);
        session->headers[i] = NULL;
        session->calls[i] = NULL;
        return;
    }
}

static size_t count_active(const struct session *session)
{
    size_t count = 0;

    for (size_t i = 0; i < PARALLEL_MAX; i++)
        count += session->calls[i] != NULL;
    return count;
}

/* Shuts the sending side, which ends the wait on the server. Tasks that it has handed out already
 * are on their way and would be lost with the connection, so the answer is still read. */
static void end_wait(const struct fa_curl *curl, struct session *session, size_t slot)
{
    assert(count_active(session) == 1); /* so none of the session's sockets is another call's */
    curl->easy_setopt(session->easies[slot], CURLOPT_FORBID_REUSE, 1L);
    for (size_t i = 0; i < session->socket_count; i++)
        shutdown(session->sockets[i], SHUT_WR);
    session->is_shut_down =
        session->socket_count > 1; /* idle sockets of the session are shut down, too */
    session->calls[slot]->listen_us = fa_clock_mono_us() + LISTEN_MS * 1000;
}

/* L3: ends waiting calls when the engine is closed, or when `give_up` is set. True: some of them
 * still read an answer. */
static bool give_up_waits(struct fa_connections *conns, struct session *session)
{
    bool is_shut = atomic_load(&conns->is_shut), has_listeners = false;

    for (size_t i = 0; i < PARALLEL_MAX; i++) {
        struct fa_call *call = session->calls[i];

        if (!call || call->wait_ms == 0 ||
            !(is_shut || (call->give_up && atomic_load(call->give_up))))
            continue;
        if (!is_shut && call->listen_us == 0)
            end_wait(conns->curl, session, i);
        if (!is_shut && fa_clock_mono_us() < call->listen_us) {
            has_listeners = true;
            continue;
        }
        take_end(conns, session, session->easies[i], CURLE_ABORTED_BY_CALLBACK);
        call->is_again = false;
        call->has_given_up = !is_shut;
        fail_shut(call);
    }
    return has_listeners;
}

/* ------------------------------------------------------------------------------------------
 * Running
 */

/* OpenSSL writes to sockets in a way that can raise SIGPIPE, which would end the program. */
static bool mask_pipe(sigset_t *old)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &set, old);
    return sigismember(old, SIGPIPE) == 0;
}

static void unmask_pipe(const sigset_t *old)
{
    const struct timespec now = {0};
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    while (sigtimedwait(&set, NULL, &now) < 0 && errno == EINTR)
        ;
    pthread_sigmask(SIG_SETMASK, old, NULL);
}

/* Starts calls that are to be tried, from `*next` on, while there is room. */
static void start_some(struct fa_connections *conns, struct session *session, struct fa_call *calls,
                       size_t count, size_t *next)
{
    for (size_t slot = 0; slot < PARALLEL_MAX && *next < count; slot++) {
        if (session->calls[slot])
            continue;
        while (*next < count && !calls[*next].is_again)
            ++*next;
        if (*next == count)
            return;
        calls[*next].is_again = false;
        if (!start(conns, session, slot, &calls[*next]))
            fail(conns, &calls[*next], "the request can't be made to", "it is too large", false);
        ++*next;
    }
}

/* Each call that is to be tried, once. */
static void try_calls(struct fa_connections *conns, struct session *session, struct fa_call *calls,
                      size_t count)
{
    const struct fa_curl *curl = conns->curl;
    int running, left;
    bool has_listeners;
    CURLMsg *message;
    size_t next = 0;

    for (;;) {
        start_some(conns, session, calls, count, &next);
        curl->multi_perform(session->multi, &running);
        while ((message = curl->multi_info_read(session->multi, &left)) != NULL)
            if (message->msg == CURLMSG_DONE)
                take_end(conns, session, message->easy_handle, message->data.result);
        has_listeners = give_up_waits(conns, session);
        if (count_active(session) == 0 && next == count)
            return;
        if (count_active(session) == PARALLEL_MAX || next == count)
            curl->multi_poll(session->multi, NULL, 0, has_listeners ? LISTEN_POLL_MS : POLL_MS,
                             NULL);
    }
}

void fa_connections_pause(struct fa_connections *conns, int64_t ms)
{
    int64_t until_us = fa_clock_mono_us() + ms * 1000;
    struct timespec until = {.tv_sec = (time_t)(until_us / 1000000),
                             .tv_nsec = (long)(until_us % 1000000) * 1000};

    pthread_mutex_lock(&conns->mutex);
    while (!atomic_load(&conns->is_shut) &&
           pthread_cond_timedwait(&conns->cond, &conns->mutex, &until) == 0)
        ;
    pthread_mutex_unlock(&conns->mutex);
}

static bool has_again(const struct fa_call *calls, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (calls[i].is_again)
            return true;
    return false;
}

static void run(struct fa_connections *conns, struct session *session, struct fa_call *calls,
                size_t count)
{
    int64_t delay_ms = TRY_AGAIN_MS;

    for (size_t i = 0; i < count; i++)
        calls[i].is_again = true;
    for (int tries = 0; tries < TRIES_MAX && has_again(calls, count); tries++) {
        if (tries > 0) {
            fa_connections_pause(conns, delay_ms);
            delay_ms *= 4;
        }
        if (atomic_load(&conns->is_shut))
            return;
        try_calls(conns, session, calls, count);
    }
}

void fa_connections_run(struct fa_connections *conns, struct fa_call *calls, size_t count)
{
    struct session *session = atomic_load(&conns->is_shut) ? NULL : session_borrow(conns);
    bool is_masked = false;
    sigset_t old;

    for (size_t i = 0; i < count; i++)
        fail_shut(&calls[i]);
    if (!session)
        return;
    if (conns->is_tls)
        is_masked = mask_pipe(&old);
    run(conns, session, calls, count);
    if (is_masked)
        unmask_pipe(&old);
    session_return(conns, session);
}
