/*
 * verb_worker.c - `faina worker`: a worker pool for the handlers folder.
 *
 * The main thread only waits for signals; the runtime has its own threads. If the worker owns a
 * SQLite file, it serves the file to other processes on this machine (share.h).
 */
#include "cli/cli.h"

#include "cli/verbs/verb_pool.h"
#include "cli/verbs/verb_retention.h"
#include "broker/consumer.h"
#include "cli/export.h"
#include "cli/publish.h"
#include "cli/share.h"
#include "cli/standby.h"
#include "cli/verbs.h"
#include "model/check.h"
#include "model/limits.h"
#include "worker/runtime.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define GRACE_MS_DEFAULT 30000
#define TICK_NS 100000000 /* how often --idle-exit is checked */
#define CONCURRENCY_MAX 10000
#define CLIENTS_DRAIN_MS 5000 /* for requests of other processes, after the pool has stopped */

/* ------------------------------------------------------------------------------------------
 * Flags
 */

struct worker {
    struct fa_service *service;
    struct fa_listener listener; /* used without a server, which does its own logging */
    bool is_listening;
    struct fa_runtime_config config;
    struct fa_log log;
    int64_t grace_ms, idle_ms;
    struct fa_retention_settings keep;
    struct fa_runtime *runtime;
    struct fa_retention_thread *retention;
    const char *broker; /* its URL; NULL: none */
    struct fa_publisher *publisher;
    struct fa_consumer *consumer; /* with --broker-queue */
    struct fa_server *server;     /* NULL: this process owns no file */
    struct fa_cli_export export;
    struct fa_standby *standby; /* of a file that another process owns */
    atomic_bool is_stopped, is_forced;
};

static const char *handlers_folder(struct fa_cli *cli)
{
    const char *folder = fa_flag(cli, "handlers");

    if (!folder)
        folder = getenv("FAINA_HANDLERS");
    return folder && folder[0] ? folder : "handlers";
}

static int check_handlers(struct fa_cli *cli, const char *folder)
{
    struct stat st;
    int why = stat(folder, &st) != 0 ? errno : S_ISDIR(st.st_mode) ? 0 : ENOTDIR;

    if (why == 0)
        return FA_EXIT_OK;
    return fa_cli_usage(cli, "the handlers folder %.300s can't be read: %s", folder, strerror(why));
}

static int check_namespace(struct fa_cli *cli)
{
    struct faina_error err;

    if (!cli->ns || fa_check_name(cli->ns, FA_NAMESPACE_SIZE_MAX, "--namespace",
                                  FAINA_INVALID_REQUEST, &err) == FAINA_OK)
        return FA_EXIT_OK;
    return fa_cli_usage(cli, "%s", err.message);
}

static int read_flags(struct fa_cli *cli, struct worker *worker)
{
    struct fa_runtime_config *config = &worker->config;
    int64_t concurrency = 0;
    int code;

    if (!fa_log_init(&worker->log, getenv("FAINA_LOG")))
        return fa_cli_usage(cli, "FAINA_LOG must be error, warn, info or debug");
    code = fa_flag_int(cli, "concurrency", 1, CONCURRENCY_MAX, &concurrency);
    if (code == FA_EXIT_OK)
        code = fa_flag_names(cli, "types", &config->types, &config->type_count);
    if (code == FA_EXIT_OK)
        code = fa_flag_duration(cli, "lease", &config->lease_ms);
    if (code == FA_EXIT_OK)
        code = fa_flag_duration(cli, "grace", &worker->grace_ms);
    if (code == FA_EXIT_OK)
        code = fa_flag_duration(cli, "idle-exit", &worker->idle_ms);
    if (code == FA_EXIT_OK)
        code = fa_cli_retention_read(cli, &worker->keep);
    if (code == FA_EXIT_OK)
        code = fa_cli_broker_url(cli, &worker->broker);
    if (code == FA_EXIT_OK)
        code = fa_cli_pool_read(cli, config);
    if (code == FA_EXIT_OK && config->lease_ms > FA_LEASE_MS_MAX)
        code = fa_cli_usage(cli, "--lease is at most 24h");
    if (code == FA_EXIT_OK)
        code = check_namespace(cli);
    if (code == FA_EXIT_OK)
        code = check_handlers(cli, handlers_folder(cli));
    config->concurrency = (int)concurrency;
    if (code == FA_EXIT_OK && fa_flag(cli, "broker-queue") && !worker->broker)
        code = fa_cli_usage(cli, "--broker-queue needs the broker's URL in FAINA_BROKER");
    if (fa_flag(cli, "worker"))
        config->worker_id = fa_flag(cli, "worker");
    config->handlers = handlers_folder(cli);
    config->needs_handlers = true;
    config->owns_process = true;
    config->log = worker->keep.log = fa_reporter_of_log(&worker->log);
    if (code == FA_EXIT_OK)
        code = fa_cli_export_read(cli, &config->log, &worker->export);
    if (cli->ns && !fa_cli_is_all_namespaces(cli)) {
        config->namespaces = &cli->ns;
        config->namespace_count = 1;
    }
    return code;
}

/* ------------------------------------------------------------------------------------------
 * Running
 */

static void *stop_main(void *arg)
{
    struct worker *worker = arg;

    fa_runtime_stop(worker->runtime, worker->grace_ms);
    atomic_store(&worker->is_stopped, true);
    kill(getpid(), SIGUSR1); /* ends the wait in stop() */
    return NULL;
}

static bool is_idle(const struct worker *worker)
{
    struct fa_pool_stats stats;

    if (worker->idle_ms <= 0)
        return false;
    fa_runtime_stats(worker->runtime, &stats);
    return stats.idle_us >= worker->idle_ms * 1000;
}

/* Waits for a signal, or with --idle-exit until the pool was idle for that long. 0: it was idle. */
static int wait_for_end(const struct worker *worker, const sigset_t *signals)
{
    const struct timespec tick = {.tv_nsec = TICK_NS};

    for (;;) {
        int got =
            worker->idle_ms > 0 ? sigtimedwait(signals, NULL, &tick) : sigwaitinfo(signals, NULL);

        if (got > 0 && got != SIGUSR1)
            return got;
        if (is_idle(worker))
            return 0;
    }
}

static void log_damage(void *ctx, const struct fa_commit_stats *stats)
{
    fa_server_log_damage(&((struct worker *)ctx)->log, stats);
    fa_server_log_upkeep(&((struct worker *)ctx)->log, stats);
}

/* The spans of an engine in another process are exported by that process. */
static enum faina_code start_export(struct fa_cli *cli, struct worker *worker,
                                    struct faina_error *err)
{
    struct fa_cli_export *export = &worker->export;

    if (fa_service_is_remote(cli->service)) {
        if (export->is_on)
            fa_report(&worker->config.log, FA_LOG_INFO,
                      "the server exports the spans of this worker's attempts, if a collector is "
                      "set there");
        export->is_on = false;
    }
    worker->config.sampler = fa_cli_export_sampler(export);
    return fa_cli_export_start(cli, export, worker->config.worker_id, &worker->config.log, err);
}

/* Starts the exporter, retention, the server for other processes, and the pool. */
static enum faina_code begin(struct fa_cli *cli, struct worker *worker, struct faina_error *err)
{
    struct fa_server_options options = {.beside = fa_share_address(cli, &worker->log),
                                        .log = &worker->log};
    enum faina_code code = start_export(cli, worker, err);

    fa_cli_export_options(&worker->export, &options);
    if (code == FAINA_OK)
        code = fa_cli_retention_start(cli, &worker->keep, &worker->retention, err);
    if (code == FAINA_OK && options.beside)
        code = fa_server_start(&worker->server, cli->service, &options, err);
    if (code == FAINA_OK && worker->server)
        fa_cli_export_metrics(&worker->export, worker->server);
    if (code == FAINA_OK && !worker->server) {
        worker->service = cli->service;
        worker->listener = (struct fa_listener){.count = log_damage, .ctx = worker};
        worker->is_listening = fa_service_listen(cli->service, &worker->listener);
    }
    worker->config.plugin_url = fa_share_plugin_url(cli, options.beside);
    if (code == FAINA_OK)
        code = fa_cli_publisher_start(cli, worker->broker, &worker->config.log, &worker->publisher,
                                      err);
    if (code == FAINA_OK && fa_flag(cli, "broker-queue")) {
        const struct fa_consumer_config consumer = {
            .url = worker->broker,
            .queue = fa_flag(cli, "broker-queue"),
            .prefetch = fa_runtime_concurrency(&worker->config),
            .log = worker->config.log,
        };

        code = fa_consumer_create(&worker->consumer, &consumer, err);
        if (code == FAINA_OK)
            worker->config.source = fa_consumer_source(worker->consumer);
    }
    if (code == FAINA_OK)
        code = fa_runtime_start(&worker->runtime, cli->service, &worker->config, err);
    if (code == FAINA_OK)
        fa_share_advertise(cli, worker->server, options.beside);
    if (code == FAINA_OK)
        code = fa_standby_start(&worker->standby, cli,
                                &(struct fa_standby_config){.log = &worker->log,
                                                            .keep = worker->keep,
                                                            .broker = worker->broker},
                                err);
    return code;
}

static void end(struct worker *worker)
{
    if (worker->is_listening)
        fa_service_unlisten(worker->service, &worker->listener);
    fa_retention_stop(worker->retention);
    fa_publisher_stop(worker->publisher);
    fa_cli_export_leave(&worker->export);
    if (worker->server && !fa_server_stop(worker->server, CLIENTS_DRAIN_MS, &worker->is_forced))
        fa_report(&worker->config.log, FA_LOG_WARN, "some clients were disconnected");
    fa_runtime_destroy(worker->runtime);
    fa_consumer_destroy(worker->consumer);
    fa_cli_export_stop(&worker->export);
    fa_standby_stop(worker->standby); /* last: the worker reaches the engine through it */
}

static void force_stop(struct worker *worker)
{
    atomic_store(&worker->is_forced, true);
    fa_runtime_end_grace(worker->runtime);
}

/* Stops the runtime in another thread, so that this one can wait for a second signal. */
static void stop(struct worker *worker, const sigset_t *signals)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, stop_main, worker) != 0) {
        fa_runtime_stop(worker->runtime, worker->grace_ms);
        return;
    }
    while (!atomic_load(&worker->is_stopped))
        if (sigwaitinfo(signals, NULL) != SIGUSR1 && !atomic_load(&worker->is_stopped))
            force_stop(worker);
    pthread_join(thread, NULL);
}

static void log_totals(struct worker *worker)
{
    struct fa_pool_stats stats;

    fa_runtime_stats(worker->runtime, &stats);
    fa_report(&worker->config.log, FA_LOG_INFO,
              "ended: %lld completed, %lld failed, %lld blocked, %lld in the background, "
              "%lld released, %lld lost",
              (long long)stats.completed, (long long)stats.failed, (long long)stats.blocked,
              (long long)stats.background, (long long)stats.released, (long long)stats.lost);
}

int fa_verb_worker(struct fa_cli *cli)
{
    struct worker worker = {.grace_ms = GRACE_MS_DEFAULT};
    struct faina_error err;
    sigset_t signals;
    bool has_signal;
    int code = read_flags(cli, &worker);

    if (code != FA_EXIT_OK)
        return code;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGHUP);
    sigaddset(&signals, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &signals, NULL); /* before any thread starts */
    cli->is_long_lived = true;
    code = fa_cli_open(cli);
    if (code != FA_EXIT_OK)
        return code;
    fa_error_clear(&err);
    if (begin(cli, &worker, &err) != FAINA_OK) {
        end(&worker);
        return fa_cli_fail(cli, &err);
    }
    fa_cli_log_source(cli, &worker.log);
    fa_cli_log_durability(&worker.log, cli->service);
    fa_report(&worker.config.log, FA_LOG_INFO, "worker %s is ready",
              fa_pool_worker(fa_runtime_pool(worker.runtime)));
    has_signal = wait_for_end(&worker, &signals) != 0;
    fa_service_advertise(cli->service, NULL);
    if (has_signal)
        fa_report(&worker.config.log, FA_LOG_INFO,
                  "stopping: finishing what runs; a second signal ends it at once");
    stop(&worker, &signals);
    log_totals(&worker);
    end(&worker);
    return FA_EXIT_OK;
}
