/*
 * server.c - starts and stops the server: sockets, threads, reloading, draining.
 */
#include "server/server.h"

#include "base/clock.h"
#include "base/random.h"
#include "server/beanstalk/beanstalk.h"
#include "server/http/tls.h"
#include "server/server_inner.h"
#include "server/routes/route.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define PEM_SIZE_MAX (1024 * 1024)
#define DRAIN_STEP_MS 10
#define SET_ASIDE_LOGGED_MAX 20
#define MISSED_LOGGED_MAX 20
#define UNMADE_LOGGED_MAX 10 /* of one commit */

/* ------------------------------------------------------------------------------------------
 * TLS files
 */

static enum faina_code read_pem(const char *path, char **out, struct faina_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct fa_buf text;
    char piece[4096];
    ssize_t got = -1;

    fa_buf_init(&text, PEM_SIZE_MAX);
    while (fd >= 0 && (got = read(fd, piece, sizeof(piece))) > 0)
        fa_buf_add(&text, piece, (size_t)got);
    if (fd >= 0)
        close(fd);
    if (fd < 0 || got < 0 || text.overflow || text.len == 0) {
        fa_error_set(err, FAINA_UNAVAILABLE, "%.200s can't be read: %s", path,
                     fd < 0 || got < 0 ? strerror(errno) : "it is not a PEM file");
        fa_buf_finish(&text);
        return FAINA_UNAVAILABLE;
    }
    *out = text.ptr;
    return FAINA_OK;
}

static void erase_pem(char *text)
{
    if (text)
        explicit_bzero(text, strlen(text));
    free(text);
}

/* Reads the files. The certificate of the server is replaced only when the new one is good. */
static enum faina_code load_tls(struct fa_server *server, struct faina_error *err)
{
    const struct fa_server_options *options = &server->options;
    char *certificate = NULL, *key = NULL;
    struct fa_tls *tls = NULL;
    enum faina_code code;

    if (!options->tls_certificate)
        return FAINA_OK;
    code = read_pem(options->tls_certificate, &certificate, err);
    if (code == FAINA_OK)
        code = read_pem(options->tls_key, &key, err);
    if (code == FAINA_OK && !fa_tls_create(&tls, certificate, key))
        code = fa_error_set(err, FAINA_UNAVAILABLE,
                            "%.150s and %.150s are not a certificate and its key",
                            options->tls_certificate, options->tls_key);
    if (code == FAINA_OK && server->tls)
        fa_tls_replace(server->tls, tls);
    else if (code == FAINA_OK)
        server->tls = tls;
    free(certificate);
    erase_pem(key);
    return code;
}

/* ------------------------------------------------------------------------------------------
 * Listeners
 */

static struct fa_listener_socket *listener_create(struct fa_server *server)
{
    struct fa_listener_socket *listener = fa_alloc_zero(1, sizeof(*listener));

    listener->server = server;
    listener->fd = -1;
    return listener;
}

/* Every request must have ended. */
static void listener_destroy(struct fa_listener_socket *listener)
{
    fa_http_loop_stop(&listener->loop);
    fa_acceptor_finish(&listener->acceptor);
    if (listener->fd >= 0)
        close(listener->fd);
    if (listener->path[0])
        unlink(listener->path);
    free(listener);
}

/* H3. */
static enum faina_code check_exposure(const struct fa_server *server,
                                      const struct fa_listener_socket *listener,
                                      struct faina_error *err)
{
    if (!listener->is_guarded || fa_auth_has_tokens(server->auth))
        return FAINA_OK;
    return fa_error_field(err, FAINA_FORBIDDEN, "listen",
                          "%s can be reached from other machines, and there is no token: create "
                          "one with `faina token create`, or use --insecure",
                          listener->address);
}

static enum faina_code open_listener(struct fa_server *server, const char *address, int fd,
                                     struct faina_error *err)
{
    struct fa_listener_socket *listener = listener_create(server);
    bool is_local = false;
    enum faina_code code = address ? fa_listen_open(address, listener, &is_local, err)
                                   : fa_listen_given(fd, listener, &is_local, err);

    listener->is_guarded = !is_local && !server->options.is_insecure;
    server->is_open |= code == FAINA_OK && !is_local;
    if (code == FAINA_OK)
        code = check_exposure(server, listener, err);
    if (code == FAINA_OK) {
        fa_acceptor_init(&listener->acceptor, listener);
        code = fa_http_loop_start(&listener->loop, listener, err);
    }
    if (code != FAINA_OK) {
        listener_destroy(listener);
        return code;
    }
    server->listeners[server->listener_count++] = listener;
    return FAINA_OK;
}

static enum faina_code open_listeners(struct fa_server *server, struct faina_error *err)
{
    const struct fa_server_options *options = &server->options;
    enum faina_code code = FAINA_OK;

    if (options->listen_count + options->socket_count >= FA_SERVER_LISTEN_MAX)
        return fa_error_field(err, FAINA_INVALID_REQUEST, "listen",
                              "a server listens on at most %d addresses", FA_SERVER_LISTEN_MAX - 1);
    for (size_t i = 0; code == FAINA_OK && i < options->socket_count; i++)
        code = open_listener(server, NULL, options->sockets[i], err);
    for (size_t i = 0; code == FAINA_OK && i < options->listen_count; i++)
        code = open_listener(server, options->listen[i], -1, err);
    if (code == FAINA_OK && options->beside) {
        struct faina_error why;

        if (open_listener(server, options->beside, -1, &why) != FAINA_OK)
            FA_LOG(server->log, FA_LOG_WARN, "no socket beside the file", {"why", why.message});
    }
    return code;
}

/* ------------------------------------------------------------------------------------------
 * Life
 */

/* The limit of connections: some descriptors are reserved for the store, handlers and plugins
 * (accept.h, P3). */
static size_t connections_allowed(const struct fa_server *server)
{
    int64_t wanted = server->options.connections_max;
    size_t max = wanted > 0 ? (size_t)wanted : FA_SERVER_CONNECTIONS_MAX, reserved, all;
    struct rlimit limit;
    char text[24];

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > SIZE_MAX / 2)
        return max;
    all = (size_t)limit.rlim_cur;
    reserved = all / 4 < FA_SERVER_DESCRIPTORS_RESERVED ? all / 4 : FA_SERVER_DESCRIPTORS_RESERVED;
    if (max <= all - reserved)
        return max;
    snprintf(text, sizeof(text), "%zu", all - reserved);
    if (wanted > 0)
        FA_LOG(server->log, FA_LOG_WARN, "fewer connections are served than --connections allows",
               {"why", "the limit of open files (RLIMIT_NOFILE)"}, {"connections", text, true});
    return all - reserved > 0 ? all - reserved : 1;
}

static size_t part_of(size_t all, int64_t wanted, size_t part)
{
    if (wanted >= 0)
        return (size_t)wanted;
    return all / part > 0 ? all / part : 1;
}

static void set_limits(struct fa_server *server)
{
    const struct fa_server_options *options = &server->options;
    size_t limits[FA_QUOTA_KIND_COUNT];

    server->connections_max = connections_allowed(server);
    limits[FA_QUOTA_CONNECTIONS] = part_of(server->connections_max, options->client_connections_max,
                                           FA_SERVER_CLIENT_CONNECTIONS_PART);
    limits[FA_QUOTA_WAITS] =
        part_of(server->connections_max, options->client_waits_max, FA_SERVER_CLIENT_WAITS_PART);
    server->quotas = fa_quotas_create(limits);
}

/* Raises the limit of open files to its maximum. */
static void raise_limits(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static void make_openapi(struct fa_server *server)
{
    struct fa_buf text;

    fa_buf_init(&text, (size_t)16 * 1024 * 1024);
    fa_openapi_write(&text);
    server->openapi = text.ptr;
    snprintf(server->openapi_etag, sizeof(server->openapi_etag), "\"%s-%zu\"", FAINA_VERSION,
             text.len);
}

/* The reason is also stored in the state of the join, or in an event of the task. */
static void log_unmade(const struct fa_log *log, const struct fa_commit_stats *stats)
{
    for (size_t i = 0; i < stats->trigger_failure_count && i < UNMADE_LOGGED_MAX; i++)
        FA_LOG(log, FA_LOG_WARN, "a workflow could not create its task",
               {"workflow", stats->trigger_failures[i].workflow},
               {"part", stats->trigger_failures[i].trigger},
               {"why", stats->trigger_failures[i].message});
}

static void log_jump(const struct fa_log *log, const struct fa_service_clock *clock)
{
    char jump[32], offset[32];

    if (clock == NULL)
        return;
    snprintf(jump, sizeof(jump), "%.3f", (double)clock->jump_ms / 1000);
    snprintf(offset, sizeof(offset), "%.3f", (double)clock->offset_ms / 1000);
    FA_LOG(log, FA_LOG_WARN, "the system clock has jumped", {"seconds", jump, true},
           {"engineAheadSeconds", offset, true});
}

void fa_server_log_upkeep(const struct fa_log *log, const struct fa_commit_stats *stats)
{
    char count[24];

    if (stats->lead == FA_LEAD_BEGUN)
        FA_LOG(log, FA_LOG_INFO, "this node is the leader from now on");
    else if (stats->lead == FA_LEAD_OVER)
        FA_LOG(log, FA_LOG_INFO, "this node is no longer the leader");
    for (size_t i = 0; i < stats->missed_count && i < MISSED_LOGGED_MAX; i++) {
        snprintf(count, sizeof(count), "%lld", (long long)stats->missed[i].count);
        FA_LOG(log, FA_LOG_WARN, "a schedule has missed times", {"namespace", stats->missed[i].ns},
               {"schedule", stats->missed[i].name}, {"times", count, true},
               {"why", stats->missed[i].reason});
    }
}

void fa_server_log_damage(const struct fa_log *log, const struct fa_commit_stats *stats)
{
    for (size_t i = 0; i < stats->set_aside_count && i < SET_ASIDE_LOGGED_MAX; i++) {
        const struct fa_aside_item *item = &stats->set_aside[i];

        FA_LOG(log, FA_LOG_ERROR, "set aside because it can't be handled", {"kind", item->kind},
               {"id", item->name ? item->name : item->key}, {"why", item->reason});
    }
    if (stats->set_aside_count > SET_ASIDE_LOGGED_MAX)
        FA_LOG(log, FA_LOG_ERROR, "more is set aside: faina doctor lists it");
    if (stats->stalled)
        FA_LOG(log, FA_LOG_ERROR, "no task becomes due: the engine's chores fail",
               {"why", stats->stalled});
}

static void count_commit(void *ctx, const struct fa_commit_stats *stats)
{
    struct fa_server *server = ctx;

    log_unmade(server->log, stats);
    log_jump(server->log, stats->jump);
    fa_server_log_damage(server->log, stats);
    fa_server_log_upkeep(server->log, stats);
    if (stats->op_count > 0)
        fa_metrics_group(server->metrics, stats->op_count);
    fa_metrics_count(server->metrics, stats);
    fa_rates_count(server->rates, stats, fa_clock_boot_us());
}

static struct fa_server *create(struct fa_service *service, const struct fa_server_options *options)
{
    struct fa_server *server = fa_alloc_zero(1, sizeof(*server));
    struct fa_random random;

    server->service = service;
    server->options = *options;
    if (server->options.unsent_max == 0)
        server->options.unsent_max = FA_SERVER_UNSENT_SIZE_MAX;
    if (server->options.unsent_connection_max == 0)
        server->options.unsent_connection_max = FA_SERVER_UNSENT_CONNECTION_SIZE_MAX;
    server->log = options->log;
    fa_random_seed_system(&random);
    server->id_seed = fa_random_next(&random);
    server->auth = fa_auth_create();
    server->logins = fa_logins_create(server->log);
    server->sessions = fa_sessions_create();
    server->metrics = fa_metrics_create(fa_route_count);
    server->rates = fa_rates_create(fa_clock_boot_us());
    server->counter = (struct fa_listener){.count = count_commit, .ctx = server};
    fa_service_listen(service, &server->counter);
    make_openapi(server);
    return server;
}

/* After every request has ended. */
static void destroy(struct fa_server *server)
{
    for (size_t i = 0; i < server->listener_count; i++)
        listener_destroy(server->listeners[i]);
    fa_beanstalk_stop(server->beanstalk);
    fa_tls_destroy(server->tls);
    fa_streams_destroy(server->streams);
    fa_post_close(server->post);
    fa_service_unlisten(server->service, &server->counter);
    fa_metrics_destroy(server->metrics);
    fa_rates_destroy(server->rates);
    fa_auth_destroy(server->auth);
    fa_quotas_destroy(server->quotas);
    fa_logins_destroy(server->logins);
    fa_sessions_destroy(server->sessions);
    free(server->openapi);
    free(server);
}

enum faina_code fa_server_start(struct fa_server **out, struct fa_service *service,
                                const struct fa_server_options *options, struct faina_error *err)
{
    struct fa_server *server = create(service, options);
    enum faina_code code;

    if (options->listen_count + options->socket_count >
        0) /* a socket beside a file has few clients */
        raise_limits();
    set_limits(server);
    code = fa_post_open(&server->post, service, err);
    if (code == FAINA_OK)
        code = fa_auth_load(server->auth, service, err);
    if (code == FAINA_OK)
        server->streams = fa_streams_create(service);
    if (code == FAINA_OK && !server->streams)
        code = fa_error_set(err, FAINA_UNAVAILABLE, "no thread can be started");
    if (code == FAINA_OK)
        code = load_tls(server, err);
    if (code == FAINA_OK)
        code = open_listeners(server, err);
    if (code == FAINA_OK && options->beanstalk)
        code = fa_beanstalk_start(&server->beanstalk, server, options->beanstalk,
                                  options->beanstalk_ns, err);
    if (code != FAINA_OK) {
        fa_server_stop(server, 0, NULL);
        return code;
    }
    *out = server;
    return FAINA_OK;
}

static bool has_access(void *ctx, const struct fa_stream_client *client)
{
    struct fa_server *server = ctx;

    if (client->session != 0 &&
        !fa_sessions_is_open(server->sessions, client->session, fa_clock_now_us()))
        return false;
    return client->is_trusted || fa_auth_is_valid(server->auth, client->is_guarded,
                                                  client->token_id[0] ? client->token_id : NULL);
}

void fa_server_check_streams(struct fa_server *server)
{
    fa_streams_end_unless(server->streams, has_access, server);
}

enum faina_code fa_server_load_tokens(struct fa_server *server, struct faina_error *err)
{
    enum faina_code code = fa_auth_load(server->auth, server->service, err);

    fa_server_check_streams(server);
    return code;
}

enum faina_code fa_server_refresh(struct fa_server *server, struct faina_error *err)
{
    return fa_server_load_tokens(server, err);
}

enum faina_code fa_server_reload(struct fa_server *server, struct faina_error *err)
{
    enum faina_code code = fa_server_refresh(server, err);

    if (code == FAINA_OK)
        code = load_tls(server, err);
    return code;
}

const char *fa_server_address(const struct fa_server *server, size_t index)
{
    return index < server->listener_count ? server->listeners[index]->address : NULL;
}

const char *fa_server_beanstalk_address(const struct fa_server *server)
{
    return server->beanstalk ? fa_beanstalk_address(server->beanstalk) : NULL;
}

bool fa_server_listens_on(const struct fa_server *server, const char *address)
{
    for (size_t i = 0; i < server->listener_count; i++)
        if (strcmp(server->listeners[i]->address, address) == 0)
            return true;
    return false;
}

static bool wait_for_requests(struct fa_server *server, int64_t until_us,
                              const atomic_bool *is_forced)
{
    const struct timespec step = {.tv_nsec = DRAIN_STEP_MS * 1000000L};

    while (atomic_load(&server->active) > 0 || fa_beanstalk_is_busy(server->beanstalk)) {
        if (fa_clock_mono_us() >= until_us || (is_forced && atomic_load(is_forced)))
            return false;
        nanosleep(&step, NULL);
    }
    return true;
}

bool fa_server_stop(struct fa_server *server, int64_t timeout_ms, const atomic_bool *is_forced)
{
    int64_t until_us = fa_clock_mono_us() + timeout_ms * 1000;
    bool is_drained;

    atomic_store(&server->is_draining, true);
    fa_beanstalk_drain(server->beanstalk);
    for (size_t i = 0; i < server->listener_count; i++) {
        struct fa_listener_socket *listener = server->listeners[i];

        fa_http_loop_quiesce(&listener->loop);
        close(listener->fd);
        listener->fd = -1;
    }
    if (server->post)
        fa_post_end_waits(server->post);
    if (server->streams)
        fa_streams_end(server->streams);
    is_drained = wait_for_requests(server, until_us, is_forced);
    if (!is_drained) {
        /* Running operations end soon; slow clients are disconnected. */
        atomic_store(&server->is_cut, true);
        for (size_t i = 0; i < server->listener_count; i++)
            fa_http_loop_call(&server->listeners[i]->loop);
        fa_beanstalk_stop(server->beanstalk);
        server->beanstalk = NULL;
        wait_for_requests(server, INT64_MAX, NULL);
    }
    destroy(server);
    return is_drained;
}
