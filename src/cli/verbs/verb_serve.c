/*
 * verb_serve.c - `faina serve`: opens the engine, serves it, drains on SIGTERM.
 *
 * The main thread handles all signals, in one loop: SIGTERM and SIGINT drain, SIGHUP reloads. While
 * it drains, another thread waits for a second signal, which ends the server at once.
 * Also here: socket activation and readiness notification of systemd.
 */
#include "cli/verbs/verb_pool.h"
#include "cli/verbs/verb_retention.h"
#include "cli/export.h"
#include "cli/publish.h"
#include "cli/share.h"
#include "cli/standby.h"
#include "cli/verbs.h"

#include "base/clock.h"
#include "base/random.h"
#include "json/log.h"
#include "model/limits.h"
#include "worker/runtime.h"
#include "worker/workflow_folder.h"
#include "server/routes/route.h"
#include "server/server.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define DRAIN_MS_DEFAULT 25000
#define REFRESH_SECONDS 5
#define CONNECTIONS_CEILING 10000000
#define ANSWERS_CEILING (INT64_C(1) << 40)
#define SAME_SIGNAL_MS 300
#define FIRST_PASSED_FD 3 /* of socket activation */

/* ------------------------------------------------------------------------------------------
 * systemd
 */

/* Sends the state to the supervisor, if there is one. */
static void notify(const char *state)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t len = path ? strlen(path) : 0;
    int fd;

    if (len == 0 || len >= sizeof(address.sun_path) || (path[0] != '/' && path[0] != '@'))
        return;
    memcpy(address.sun_path, path, len);
    if (path[0] == '@')
        address.sun_path[0] = '\0';
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    (void)!sendto(fd, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&address,
                  (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
    close(fd);
}

/* The sockets passed by systemd. Returns how many. */
static size_t passed_sockets(int fds[FA_SERVER_LISTEN_MAX])
{
    const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
    long n = pid && count && strtol(pid, NULL, 10) == (long)getpid() ? strtol(count, NULL, 10) : 0;

    for (long i = 0; i < n && i < FA_SERVER_LISTEN_MAX; i++)
        fds[i] = FIRST_PASSED_FD + (int)i;
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
    return n > 0 ? (size_t)(n < FA_SERVER_LISTEN_MAX ? n : FA_SERVER_LISTEN_MAX) : 0;
}

/* ------------------------------------------------------------------------------------------
 * Options
 */

static int read_addresses(struct fa_cli *cli, struct fa_server_options *options)
{
    const char *from_environment = getenv("FAINA_LISTEN");
    const char *const *listed;
    size_t count = 0;

    listed = fa_flag_list(cli, "listen", &count);
    if (count > FA_SERVER_LISTEN_MAX - 1)
        return fa_cli_usage(cli, "--listen can be given %d times at most",
                            FA_SERVER_LISTEN_MAX - 1);
    for (size_t i = 0; i < count; i++)
        options->listen[options->listen_count++] = listed[i];
    if (count == 0 && options->socket_count == 0)
        options->listen[options->listen_count++] =
            from_environment && from_environment[0] ? from_environment : "127.0.0.1:7070";
    return FA_EXIT_OK;
}

/* The worker pool, the workflows folder and retention, which run in the same process. */
struct background_services {
    int64_t drain_ms, workers;
    struct fa_runtime_config pool;
    struct fa_retention_settings keep;
    struct fa_workflows *workflows;
    struct fa_retention_thread *retention;
    const char *broker; /* its URL; NULL: none */
    struct fa_publisher *publisher;
    struct fa_cli_export export;

    /* For the thread that waits for a second signal. */
    pthread_mutex_t mutex;
    struct fa_runtime *runtime; /* while draining: guarded by the mutex */
    atomic_bool is_forced, is_down;
};

static const char *handlers_folder(void)
{
    const char *named = getenv("FAINA_HANDLERS");

    return named && named[0] ? named : "handlers";
}

/* One for each core if the handlers folder exists. */
static int64_t default_workers(void)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    struct stat folder;

    if (stat(handlers_folder(), &folder) != 0 || !S_ISDIR(folder.st_mode))
        return 0;
    return cores > 0 ? cores : 1;
}

static int read_limits(struct fa_cli *cli, struct fa_server_options *options)
{
    int code;

    options->client_connections_max = options->client_waits_max = -1;
    code = fa_flag_int(cli, "connections", 1, CONNECTIONS_CEILING, &options->connections_max);
    if (code == FA_EXIT_OK)
        code = fa_flag_int(cli, "connections-per-client", 0, CONNECTIONS_CEILING,
                           &options->client_connections_max);
    if (code == FA_EXIT_OK)
        code = fa_flag_int(cli, "waits-per-client", 0, CONNECTIONS_CEILING,
                           &options->client_waits_max);
    if (code == FA_EXIT_OK)
        code = fa_flag_int(cli, "answers-max", 1, ANSWERS_CEILING, &options->unsent_max);
    if (code == FA_EXIT_OK)
        code = fa_flag_int(cli, "answers-per-connection", 1, ANSWERS_CEILING,
                           &options->unsent_connection_max);
    return code;
}

static int read_options(struct fa_cli *cli, struct fa_server_options *options,
                        struct background_services *services)
{
    int code;

    services->workers = default_workers();
    code = fa_flag_int(cli, "workers", 0, 10000, &services->workers);
    if (code == FA_EXIT_OK)
        code = fa_flag_duration(cli, "drain", &services->drain_ms);
    if (code == FA_EXIT_OK)
        code = fa_cli_pool_read(cli, &services->pool);
    if (code == FA_EXIT_OK)
        code = fa_cli_retention_read(cli, &services->keep);
    if (code == FA_EXIT_OK)
        code = fa_cli_broker_url(cli, &services->broker);
    if (code == FA_EXIT_OK) {
        const struct fa_reporter log = fa_reporter_of_log(options->log);

        code = fa_cli_export_read(cli, &log, &services->export);
    }
    if (code == FA_EXIT_OK)
        code =
            fa_flag_int(cli, "input-max", 1, FA_INPUT_SIZE_CEILING, &cli->options.input_size_max);
    if (code == FA_EXIT_OK)
        code = fa_flag_int(cli, "types-max", 1, FA_TYPES_CEILING, &cli->options.types_max);
    if (code == FA_EXIT_OK)
        code = read_addresses(cli, options);
    if (code != FA_EXIT_OK)
        return code;
    code = read_limits(cli, options);
    if (code != FA_EXIT_OK)
        return code;
    options->has_ui = !fa_flag_is_given(cli, "no-ui");
    options->is_insecure = fa_flag_is_given(cli, "insecure");
    options->hosts = fa_flag_list(cli, "host", &options->host_count);
    options->tls_certificate = fa_flag(cli, "tls-cert");
    options->tls_key = fa_flag(cli, "tls-key");
    options->beanstalk = fa_flag(cli, "beanstalk");
    options->beanstalk_ns = fa_cli_is_all_namespaces(cli) || !cli->ns ? "default" : cli->ns;
    if (!options->tls_certificate != !options->tls_key)
        return fa_cli_usage(cli, "--tls-cert and --tls-key belong together");
    return FA_EXIT_OK;
}

/* ------------------------------------------------------------------------------------------
 * Serving
 */

static void reload(struct fa_server *server, const struct fa_log *log)
{
    struct faina_error err;

    notify("RELOADING=1");
    if (fa_server_reload(server, &err) == FAINA_OK)
        FA_LOG(log, FA_LOG_INFO, "reloaded", {NULL, NULL});
    else
        FA_LOG(log, FA_LOG_ERROR, "reloading failed; the old settings stay in use",
               {"why", err.message});
    notify("READY=1");
}

static void refresh(struct fa_server *server, const struct fa_log *log)
{
    struct faina_error err;

    if (fa_server_refresh(server, &err) != FAINA_OK)
        FA_LOG(log, FA_LOG_WARN, "the tokens can't be read", {"why", err.message});
}

/* A server without a pool is listed among the workers by its own heartbeats. With one, the pool
 * sends them. */
struct node {
    struct fa_service *service;
    char id[FA_WORKER_ID_SIZE_MAX + 1];
    char hostname[64];
};

static void init_node(struct node *node, const char *given)
{
    struct fa_random random;

    *node = (struct node){.hostname = "node"};
    gethostname(node->hostname, sizeof(node->hostname) - 1);
    fa_random_seed_system(&random);
    if (given)
        snprintf(node->id, sizeof(node->id), "%s", given);
    else
        snprintf(node->id, sizeof(node->id), "%s-%d-%08x", node->hostname, (int)getpid(),
                 (unsigned)fa_random_next(&random));
}

static void send_heartbeat(const struct node *node, const struct fa_log *log)
{
    const struct faina_worker self = {
        .id = node->id, .hostname = node->hostname, .pool_size = -1, .version = FAINA_VERSION};
    struct fa_arena scratch = {0};
    struct fa_op op = {.kind = FA_OP_WORKER_PUT, .worker = {.self = &self}, .arena = &scratch};

    if (node->service) {
        fa_service_run(node->service, &op, 1);
        if (op.code != FAINA_OK)
            FA_LOG(log, FA_LOG_WARN, "the node can't be registered", {"why", op.error.message});
    }
    fa_arena_finish(&scratch);
}

static void sign_off(const struct node *node)
{
    struct fa_arena scratch = {0};
    struct fa_op op = {.kind = FA_OP_WORKER_REMOVE, .id = node->id, .arena = &scratch};

    if (node->service)
        fa_service_run(node->service, &op, 1); /* else it is removed when its time is over */
    fa_arena_finish(&scratch);
}

/* Returns on SIGTERM or SIGINT. */
static void wait_for_end(struct fa_server *server, const struct node *node, const sigset_t *signals,
                         const struct fa_log *log)
{
    const struct timespec interval = {.tv_sec = REFRESH_SECONDS};

    for (;;) {
        int got = sigtimedwait(signals, NULL, &interval);

        if (got == SIGTERM || got == SIGINT)
            return;
        if (got == SIGHUP)
            reload(server, log);
        else if (got < 0 && errno == EAGAIN) {
            refresh(server, log);
            send_heartbeat(node, log);
        }
    }
}

/* The engine's location contains no password, unlike its URL. */
static void log_addresses(struct fa_cli *cli, const struct fa_server *server,
                          const struct fa_server_options *options)
{
    struct fa_arena scratch = {0};
    struct fa_service_info info = {0};
    const char *address, *engine = "";

    if (fa_service_info(cli->service, false, &scratch, &info, NULL) == FAINA_OK)
        engine = fa_arena_printf(&scratch, "%s%s%s", info.engine, info.location ? ": " : "",
                                 info.location ? info.location : "");
    for (size_t i = 0; (address = fa_server_address(server, i)) != NULL; i++) {
        bool is_unix = strncmp(address, "unix:", 5) == 0;
        struct fa_buf text;

        fa_buf_init(&text, 512);
        fa_buf_printf(&text, "%s%s",
                      is_unix                    ? ""
                      : options->tls_certificate ? "https://"
                                                 : "http://",
                      address);
        FA_LOG(options->log, FA_LOG_INFO, "listening", {"address", text.ptr}, {"engine", engine});
        fa_buf_finish(&text);
    }
    address = fa_server_beanstalk_address(server);
    if (address)
        FA_LOG(options->log, FA_LOG_INFO, "listening for beanstalkd clients", {"address", address},
               {"namespace", options->beanstalk_ns});
    fa_arena_finish(&scratch);
    fa_cli_log_durability(options->log, cli->service);
}

/* A store that another server serves can't be served again: only its server can check tokens. */
static const struct faina_error *refuse_remote(struct fa_cli *cli, struct faina_error *err)
{
    struct fa_service_info info;
    const char *url = "the store";

    (void)!fa_cli_url(cli, &url, err);
    if (fa_service_info(cli->service, false, &cli->arena, &info, err) == FAINA_OK)
        fa_error_set(err, FAINA_CONFLICT, "%.150s is served already, at %.200s", url,
                     info.location);
    return err;
}

/* The pool for the handlers folder, which may be created later; none without workers. */
static enum faina_code start_workers(struct fa_cli *cli, const struct fa_log *log,
                                     const char *beside, struct background_services *services,
                                     struct faina_error *err)
{
    struct fa_runtime_config *config = &services->pool;

    config->concurrency = (int)services->workers;
    config->handlers = handlers_folder();
    config->owns_process = true;
    config->plugin_url = fa_share_plugin_url(cli, beside);
    config->sampler = fa_cli_export_sampler(&services->export);
    config->log = fa_reporter_of_log(log);
    return services->workers > 0 ? fa_runtime_start(&services->runtime, cli->service, config, err)
                                 : FAINA_OK;
}

/* The workflows folder, which may be created later. */
static enum faina_code watch_workflows(struct fa_cli *cli, const struct fa_log *log,
                                       struct fa_workflows **out, struct faina_error *err)
{
    const char *path = getenv("FAINA_WORKFLOWS");
    const struct fa_workflows_config config = {
        .path = path && path[0] ? path : "workflows",
        .is_wanted = path && path[0],
        .ns = fa_cli_is_all_namespaces(cli) ? NULL : cli->ns,
        .log = fa_reporter_of_log(log),
    };

    return fa_workflows_create(out, cli->service, &config, err);
}

static void stop_workers(struct background_services *services)
{
    struct fa_runtime *runtime = services->runtime;

    if (runtime)
        fa_runtime_stop(runtime, services->drain_ms);
    pthread_mutex_lock(&services->mutex);
    services->runtime = NULL;
    pthread_mutex_unlock(&services->mutex);
    fa_runtime_destroy(runtime);
}

static enum faina_code start_background_services(struct fa_cli *cli, const struct fa_log *log,
                                                 const char *beside,
                                                 struct background_services *services,
                                                 struct faina_error *err)
{
    enum faina_code code = start_workers(cli, log, beside, services, err);

    services->keep.log = fa_reporter_of_log(log);
    if (code == FAINA_OK)
        code = fa_cli_publisher_start(cli, services->broker, &services->keep.log,
                                      &services->publisher, err);
    return code == FAINA_OK
               ? fa_cli_retention_start(cli, &services->keep, &services->retention, err)
               : code;
}

static void stop_background_services(struct background_services *services)
{
    fa_workflows_destroy(services->workflows);
    stop_workers(services);
    fa_retention_stop(services->retention);
    fa_publisher_stop(services->publisher);
}

/* On a second signal running handlers are stopped and slow clients are disconnected. A signal that
 * follows within 300 ms is a copy: the terminal and the parent process may both send it. */
static void *wait_for_second_signal(void *arg)
{
    int64_t from_us = fa_clock_mono_us() + SAME_SIGNAL_MS * 1000;
    struct background_services *services = arg;
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    while (!atomic_load(&services->is_down)) {
        if (sigwaitinfo(&signals, NULL) < 0 || fa_clock_mono_us() < from_us ||
            atomic_load(&services->is_down))
            continue;
        atomic_store(&services->is_forced, true);
        pthread_mutex_lock(&services->mutex);
        if (services->runtime)
            fa_runtime_end_grace(services->runtime);
        pthread_mutex_unlock(&services->mutex);
    }
    return NULL;
}

static void shut_down(struct fa_server *server, struct background_services *services,
                      const struct fa_log *log)
{
    pthread_t thread;
    bool has_thread = pthread_create(&thread, NULL, wait_for_second_signal, services) == 0;

    FA_LOG(log, FA_LOG_INFO, "stopping: finishing what runs; a second signal ends it at once",
           {NULL, NULL});
    stop_background_services(services);
    fa_cli_export_leave(&services->export);
    if (!fa_server_stop(server, services->drain_ms, &services->is_forced))
        FA_LOG(log, FA_LOG_WARN, "some clients were disconnected", {NULL, NULL});
    atomic_store(&services->is_down, true);
    if (has_thread) {
        pthread_kill(thread, SIGTERM);
        pthread_join(thread, NULL);
    }
}

/* The exporter first: it has a span of every task that the server stores. */
static enum faina_code start_server(struct fa_cli *cli, struct fa_server_options *options,
                                    struct background_services *services, const char *node_id,
                                    struct fa_server **out, struct faina_error *err)
{
    const struct fa_reporter log = fa_reporter_of_log(options->log);
    enum faina_code code = fa_cli_export_start(cli, &services->export, node_id, &log, err);

    fa_cli_export_options(&services->export, options);
    if (code == FAINA_OK)
        code = fa_server_start(out, cli->service, options, err);
    if (code == FAINA_OK)
        fa_cli_export_metrics(&services->export, *out);
    return code;
}

static int serve(struct fa_cli *cli, struct fa_server_options *options,
                 struct background_services *services)
{
    struct fa_server *server;
    struct faina_error err;
    sigset_t signals;
    struct node node;
    bool is_over;
    int code;

    /* Blocked before any thread starts: all threads inherit the mask, and this one waits. */
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    cli->is_long_lived = true;
    init_node(&node, services->pool.worker_id);
    services->pool.worker_id = options->node_id = node.id;
    code = fa_standby_open(cli, options->log, &signals, &is_over);
    if (code != FA_EXIT_OK || is_over)
        return code;
    if (fa_service_is_remote(cli->service))
        return fa_cli_fail(cli, refuse_remote(cli, &err));
    fa_cli_log_source(cli, options->log);
    options->beside = fa_share_address(cli, options->log);
    /* Before the first event can be emitted. */
    if (watch_workflows(cli, options->log, &services->workflows, &err) != FAINA_OK)
        return fa_cli_fail(cli, &err);
    if (start_server(cli, options, services, node.id, &server, &err) != FAINA_OK) {
        stop_background_services(services);
        fa_cli_export_stop(&services->export);
        return fa_cli_fail(cli, &err);
    }
    if (start_background_services(cli, options->log, options->beside, services, &err) != FAINA_OK) {
        stop_background_services(services);
        fa_cli_export_leave(&services->export);
        fa_server_stop(server, 0, NULL);
        fa_cli_export_stop(&services->export);
        return fa_cli_fail(cli, &err);
    }
    fa_share_advertise(cli, server, options->beside);
    node.service = services->runtime ? NULL : cli->service;
    send_heartbeat(&node, options->log);
    log_addresses(cli, server, options);
    notify("READY=1\nSTATUS=Serving");
    wait_for_end(server, &node, &signals, options->log);
    notify("STOPPING=1");
    sign_off(&node);
    fa_service_advertise(cli->service, NULL);
    shut_down(server, services, options->log);
    fa_cli_export_stop(&services->export);
    fa_cli_close(cli);
    FA_LOG(options->log, FA_LOG_INFO, "ended", {NULL, NULL});
    return FA_EXIT_OK;
}

int fa_verb_serve(struct fa_cli *cli)
{
    int fds[FA_SERVER_LISTEN_MAX];
    struct fa_server_options options = {.sockets = fds};
    struct background_services services = {.drain_ms = DRAIN_MS_DEFAULT,
                                           .mutex = PTHREAD_MUTEX_INITIALIZER};
    struct fa_log log;
    int code;

    if (fa_flag_is_given(cli, "print-api")) {
        struct fa_buf page;

        fa_buf_init(&page, (size_t)1024 * 1024);
        fa_api_page_write(&page);
        fa_out(cli, page.ptr, page.len);
        fa_buf_finish(&page);
        return FA_EXIT_OK;
    }
    options.socket_count = passed_sockets(fds);
    if (!fa_log_init(&log, getenv("FAINA_LOG")))
        return fa_cli_usage(cli, "FAINA_LOG must be error, warn, info or debug");
    options.log = &log;
    code = read_options(cli, &options, &services);
    return code == FA_EXIT_OK ? serve(cli, &options, &services) : code;
}
