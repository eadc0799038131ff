/*
 * accept.c - see accept.h.
 */
#include "server/http/accept.h"

#include "model/codes.h"
#include "server/server_inner.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define ACCEPTED_MAX 32 /* in one turn of the loop */
#define LOG_US 10000000 /* between two log lines about refusals */

static const struct {
    int status;
    const char *name, *message;
} refusals[FA_REFUSAL_COUNT] = {
    [FA_REFUSAL_NONE] = {200, "none", ""},
    [FA_REFUSAL_CONNECTIONS] = {503, "connections",
                                "the server has as many connections as it allows; try again later"},
    [FA_REFUSAL_CLIENT] = {429, "client",
                           "this address or token has as many connections as one client may have; "
                           "close some, or try again later"},
    [FA_REFUSAL_DESCRIPTORS] = {503, "descriptors",
                                "the server has no file descriptor left; try again later"},
};

int fa_refusal_status(enum fa_refusal refusal)
{
    return refusals[refusal].status;
}

const char *fa_refusal_message(enum fa_refusal refusal)
{
    return refusals[refusal].message;
}

const char *fa_refusal_name(enum fa_refusal refusal)
{
    return refusals[refusal].name;
}

/* ------------------------------------------------------------------------------------------
 * Life
 */

static int open_reserve(void)
{
    return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

void fa_acceptor_init(struct fa_acceptor *acceptor, struct fa_listener_socket *listener)
{
    *acceptor = (struct fa_acceptor){.listener = listener, .fd = listener->fd};
    acceptor->reserve_fd = open_reserve();
}

void fa_acceptor_finish(struct fa_acceptor *acceptor)
{
    if (!acceptor->listener)
        return;
    if (acceptor->reserve_fd >= 0)
        close(acceptor->reserve_fd);
    *acceptor = (struct fa_acceptor){.fd = -1, .reserve_fd = -1};
}

void fa_acceptor_stop(struct fa_acceptor *acceptor)
{
    acceptor->fd = -1;
}

int fa_acceptor_fd(const struct fa_acceptor *acceptor, int64_t now_us)
{
    return now_us >= acceptor->resume_us ? acceptor->fd : -1;
}

int fa_acceptor_wait_ms(const struct fa_acceptor *acceptor, int64_t now_us)
{
    if (acceptor->fd < 0 || now_us >= acceptor->resume_us)
        return -1;
    return (int)((acceptor->resume_us - now_us) / 1000) + 1;
}

/* ------------------------------------------------------------------------------------------
 * Refusing
 */

static void log_refusal(struct fa_acceptor *acceptor, enum fa_refusal refusal, int64_t now_us)
{
    struct fa_server *server = acceptor->listener->server;
    unsigned long long count = 0;
    char text[24];

    atomic_fetch_add(&server->refused[refusal], 1);
    if (acceptor->logged_us != 0 && now_us - acceptor->logged_us < LOG_US)
        return;
    for (int i = 0; i < FA_REFUSAL_COUNT; i++)
        count += atomic_load(&server->refused[i]);
    snprintf(text, sizeof(text), "%llu", count - acceptor->logged_count);
    acceptor->logged_us = now_us;
    acceptor->logged_count = count;
    FA_LOG(server->log, FA_LOG_WARN, "connections are refused",
           {"address", acceptor->listener->address}, {"why", fa_refusal_message(refusal)},
           {"count", text, true});
}

/* Responds without a request, and closes. Received data is read first: closing a socket with
 * unread data would reset the connection, and the client would not see the response. */
static void refuse(struct fa_acceptor *acceptor, int fd, enum fa_refusal refusal)
{
    struct fa_listener_socket *listener = acceptor->listener;
    char piece[4096];

    if (!listener->server->tls || listener->is_unix) {
        struct fa_buf text;

        fa_buf_init(&text, 8192);
        fa_http_write_refusal(listener->server, fa_refusal_status(refusal),
                              fa_refusal_message(refusal), &text);
        (void)!send(fd, text.ptr, text.len, MSG_NOSIGNAL | MSG_DONTWAIT);
        fa_buf_finish(&text);
        shutdown(fd, SHUT_WR);
        for (int i = 0; i < 4 && recv(fd, piece, sizeof(piece), MSG_DONTWAIT) > 0;)
            i++;
    }
    close(fd);
}

/* ------------------------------------------------------------------------------------------
 * Accepting
 */

/* P2, P4. Counts the connection for its client when it is admitted. */
static struct fa_admission admit(struct fa_acceptor *acceptor, const struct sockaddr *address)
{
    struct fa_server *server = acceptor->listener->server;
    bool is_unix = acceptor->listener->is_unix;
    struct fa_admission admission = {.is_limited = !is_unix};
    size_t max = server->connections_max + (is_unix ? FA_ACCEPT_UNIX_EXTRA : 0);

    if (!is_unix)
        admission.address = fa_quota_key_of_address(address);
    if (atomic_load(&server->connection_count) >= max)
        admission.refusal = FA_REFUSAL_CONNECTIONS;
    else if (!fa_quota_take(server->quotas, &admission.address, FA_QUOTA_CONNECTIONS,
                            &admission.by_address))
        admission.refusal = FA_REFUSAL_CLIENT;
    return admission;
}

static void admit_or_refuse(struct fa_acceptor *acceptor, int fd, const struct sockaddr *address,
                            socklen_t size, int64_t now_us)
{
    struct fa_server *server = acceptor->listener->server;
    struct fa_admission admission = admit(acceptor, address);

    if (admission.refusal == FA_REFUSAL_NONE) {
        fa_connection_open(acceptor->listener, fd, address, size, &admission);
        return;
    }
    log_refusal(acceptor, admission.refusal, now_us);
    if (atomic_load(&server->refused_open) < FA_ACCEPT_REFUSED_MAX)
        fa_connection_open(acceptor->listener, fd, address, size, &admission);
    else
        refuse(acceptor, fd, admission.refusal);
}

/* P3. False: it failed, and nothing can be accepted now. */
static bool refuse_with_reserve(struct fa_acceptor *acceptor, int64_t now_us)
{
    int fd, error;

    if (acceptor->reserve_fd < 0)
        acceptor->reserve_fd = open_reserve();
    if (acceptor->reserve_fd < 0)
        return false;
    close(acceptor->reserve_fd);
    fd = accept4(acceptor->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    error = errno;
    if (fd >= 0) {
        log_refusal(acceptor, FA_REFUSAL_DESCRIPTORS, now_us);
        refuse(acceptor, fd, FA_REFUSAL_DESCRIPTORS);
    }
    acceptor->reserve_fd = open_reserve();
    errno = error;
    return fd >= 0;
}

/* Errors of a single connection (accept(2)): the next one may be accepted. */
static bool is_of_connection(int error)
{
    return error == ECONNABORTED || error == EINTR || error == EPERM || error == EPROTO ||
           error == ENETDOWN || error == ENOPROTOOPT || error == EHOSTDOWN || error == ENONET ||
           error == EHOSTUNREACH || error == EOPNOTSUPP || error == ENETUNREACH ||
           error == ETIMEDOUT;
}

void fa_acceptor_run(struct fa_acceptor *acceptor, int64_t now_us)
{
    for (int i = 0; i < ACCEPTED_MAX && fa_acceptor_fd(acceptor, now_us) >= 0; i++) {
        union {
            struct sockaddr any;
            struct sockaddr_storage storage;
        } address = {.storage = {0}};
        socklen_t size = sizeof(address);
        int fd = accept4(acceptor->fd, &address.any, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (fd >= 0)
            admit_or_refuse(acceptor, fd, &address.any, size, now_us);
        else if (is_of_connection(errno))
            continue;
        else if ((errno == EMFILE || errno == ENFILE) && refuse_with_reserve(acceptor, now_us))
            continue;
        else if (errno == EAGAIN)
            break;
        else
            acceptor->resume_us = now_us + FA_ACCEPT_PAUSE_MS * 1000;
    }
}

/* ------------------------------------------------------------------------------------------
 * Admissions
 */

static bool use_token(struct fa_server *server, struct fa_admission *admission,
                      const char *token_id)
{
    struct fa_quota_key key = fa_quota_key_of_token(token_id);
    struct fa_quota *quota;

    if (!admission->is_limited ||
        (admission->by_token && fa_quota_is_of(admission->by_token, &key)))
        return true;
    if (!fa_quota_take(server->quotas, &key, FA_QUOTA_CONNECTIONS, &quota))
        return false;
    fa_quota_release(server->quotas, admission->by_token, FA_QUOTA_CONNECTIONS);
    admission->by_token = quota;
    return true;
}

static bool hold(struct fa_server *server, const struct fa_admission *admission,
                 const char *token_id, struct fa_quota *held[2])
{
    struct fa_quota_key token = fa_quota_key_of_token(token_id);

    if (!admission->is_limited)
        return true;
    if (!fa_quota_take(server->quotas, &admission->address, FA_QUOTA_WAITS, &held[0]))
        return false;
    if (fa_quota_take(server->quotas, &token, FA_QUOTA_WAITS, &held[1]))
        return true;
    fa_admission_release_held(server, held);
    return false;
}

void fa_admission_release_held(struct fa_server *server, struct fa_quota *held[2])
{
    for (int i = 0; i < 2; i++) {
        fa_quota_release(server->quotas, held[i], FA_QUOTA_WAITS);
        held[i] = NULL;
    }
}

bool fa_admission_count_token(struct fa_request *req)
{
    if (use_token(req->server, fa_http_admission(req), req->grant.token_id))
        return true;
    req->closes = true;
    fa_respond_refusal(req, fa_refusal_status(FA_REFUSAL_CLIENT), FAINA_OVERLOADED, "%s",
                       fa_refusal_message(FA_REFUSAL_CLIENT));
    atomic_fetch_add(&req->server->refused[FA_REFUSAL_CLIENT], 1);
    return false;
}

bool fa_admission_hold_request(struct fa_request *req)
{
    if (hold(req->server, fa_http_admission(req), req->grant.token_id, req->held))
        return true;
    fa_respond_refusal(
        req, fa_code_http(FAINA_OVERLOADED), FAINA_OVERLOADED,
        "this address or token has as many streams and waiting requests as one client "
        "may have; close some, or try again later");
    return false;
}

void fa_admission_end(struct fa_server *server, struct fa_admission *admission)
{
    fa_quota_release(server->quotas, admission->by_address, FA_QUOTA_CONNECTIONS);
    fa_quota_release(server->quotas, admission->by_token, FA_QUOTA_CONNECTIONS);
    *admission = (struct fa_admission){0};
}
