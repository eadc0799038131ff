/* standby.c - see standby.h. */
#include "cli/standby.h"

#include "json/log.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#define POLL_NS 300000000 /* between two reads of the lock file */
#define DRAIN_MS 5000     /* for requests of other processes */

struct fa_standby {
    struct fa_cli cli; /* of this thread: its engine is the file, once it was taken over */
    const char *url;
    struct fa_standby_config config;
    pthread_t thread;
    pthread_mutex_t mutex; /* guards is_over */
    pthread_cond_t cond;
    bool is_over;
    /* The thread's own; the main thread's after it has ended. */
    struct fa_server *server;
    struct fa_server_options options;
    struct fa_retention_thread *retention;
    struct fa_publisher *publisher;
};

/* ------------------------------------------------------------------------------------------
 * Taking over
 */

static void give_up(struct fa_standby *standby)
{
    if (!standby->cli.service)
        return;
    fa_service_advertise(standby->cli.service, NULL);
    fa_retention_stop(standby->retention);
    fa_publisher_stop(standby->publisher);
    if (standby->server)
        fa_server_stop(standby->server, DRAIN_MS, NULL);
    fa_cli_close(&standby->cli);
    standby->retention = NULL;
    standby->publisher = NULL;
    standby->server = NULL;
}

/* Serves the file that was just opened. */
static enum faina_code begin(struct fa_standby *standby, struct faina_error *err)
{
    const struct fa_reporter reporter = fa_reporter_of_log(standby->config.log);
    struct fa_cli *cli = &standby->cli;
    enum faina_code code = FAINA_OK;

    standby->options = (struct fa_server_options){
        .beside = fa_share_address(cli, standby->config.log), .log = standby->config.log};
    if (standby->options.beside)
        code = fa_server_start(&standby->server, cli->service, &standby->options, err);
    if (code == FAINA_OK &&
        (!standby->server || !fa_server_listens_on(standby->server, standby->options.beside)))
        code = fa_error_set(err, FAINA_UNAVAILABLE, "there can be no socket beside the file");
    if (code == FAINA_OK)
        code = fa_cli_retention_start(cli, &standby->config.keep, &standby->retention, err);
    if (code == FAINA_OK)
        code = fa_cli_publisher_start(cli, standby->config.broker, &reporter, &standby->publisher,
                                      err);
    if (code == FAINA_OK)
        fa_share_advertise(cli, standby->server, standby->options.beside);
    return code;
}

static void log_takeover(const struct fa_log *log, const char *url)
{
    FA_LOG(log, FA_LOG_INFO, "took over the file: the process that had it open has ended",
           {"file", fa_service_file(url)});
}

/* Y1. Another process may be faster: then the engine is remote, or the file is in use. */
static void try_to_take_over(struct fa_standby *standby)
{
    struct faina_error err = {0};
    enum faina_code code = fa_cli_try_open(&standby->cli, &err);

    if (code != FAINA_OK)
        return;
    if (fa_service_is_remote(standby->cli.service)) {
        fa_cli_close(&standby->cli);
        return;
    }
    code = begin(standby, &err);
    if (code == FAINA_OK) {
        log_takeover(standby->config.log, standby->url);
        return;
    }
    FA_LOG(standby->config.log, FA_LOG_WARN, "can't take over the file",
           {"file", fa_service_file(standby->url)}, {"why", err.message});
    give_up(standby);
}

static void *watch(void *ctx)
{
    struct fa_standby *standby = ctx;

    pthread_mutex_lock(&standby->mutex);
    while (!standby->is_over) {
        struct timespec until;

        if (!standby->cli.service && !fa_service_has_owner(standby->url)) {
            pthread_mutex_unlock(&standby->mutex);
            try_to_take_over(standby);
            pthread_mutex_lock(&standby->mutex);
        }
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += POLL_NS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        if (!standby->is_over)
            pthread_cond_timedwait(&standby->cond, &standby->mutex, &until);
    }
    pthread_mutex_unlock(&standby->mutex);
    return NULL;
}

/* ------------------------------------------------------------------------------------------
 * Life
 */

static void destroy(struct fa_standby *standby)
{
    pthread_cond_destroy(&standby->cond);
    pthread_mutex_destroy(&standby->mutex);
    fa_arena_finish(&standby->cli.arena);
    free(standby);
}

enum faina_code fa_standby_start(struct fa_standby **out, const struct fa_cli *cli,
                                 const struct fa_standby_config *config, struct faina_error *err)
{
    struct fa_standby *standby;
    int rc;

    *out = NULL;
    if (!fa_service_is_remote(cli->service) || !cli->address || !fa_service_file(cli->address))
        return FAINA_OK;
    standby = fa_alloc_zero(1, sizeof(*standby));
    standby->cli = *cli;
    standby->cli.service = NULL;
    standby->cli.arena = (struct fa_arena){0};
    standby->cli.options.open_timeout_ms = -1;
    standby->url = cli->address;
    standby->config = *config;
    pthread_mutex_init(&standby->mutex, NULL);
    pthread_cond_init(&standby->cond, NULL);
    rc = pthread_create(&standby->thread, NULL, watch, standby);
    if (rc != 0) {
        destroy(standby);
        return fa_error_set(err, FAINA_UNAVAILABLE, "no thread can be started");
    }
    pthread_setname_np(standby->thread, "fa-standby");
    *out = standby;
    return FAINA_OK;
}

void fa_standby_stop(struct fa_standby *standby)
{
    if (!standby)
        return;
    pthread_mutex_lock(&standby->mutex);
    standby->is_over = true;
    pthread_cond_signal(&standby->cond);
    pthread_mutex_unlock(&standby->mutex);
    pthread_join(standby->thread, NULL);
    give_up(standby);
    destroy(standby);
}

/* ------------------------------------------------------------------------------------------
 * Servers
 */

/* True: SIGTERM or SIGINT has come. */
static bool wait_for_file(const char *url, const sigset_t *signals)
{
    const struct timespec step = {.tv_nsec = POLL_NS};

    for (;;) {
        int got = sigtimedwait(signals, NULL, &step);

        if (got == SIGTERM || got == SIGINT)
            return true;
        if (!fa_service_has_owner(url))
            return false;
    }
}

int fa_standby_open(struct fa_cli *cli, const struct fa_log *log, const sigset_t *signals,
                    bool *is_over)
{
    bool has_waited = false;

    *is_over = false;
    for (;;) {
        struct faina_error err = {0};
        struct fa_service_info info = {0};
        enum faina_code code = fa_cli_try_open(cli, &err);

        /* The next owner may not serve the file yet. */
        if (code != FAINA_OK && !(code == FAINA_UNAVAILABLE && has_waited))
            return fa_cli_fail(cli, &err);
        if (code == FAINA_OK &&
            (!fa_service_is_remote(cli->service) || !fa_service_file(cli->address))) {
            if (has_waited)
                log_takeover(log, cli->address);
            return FA_EXIT_OK;
        }
        if (!has_waited &&
            fa_service_info(cli->service, false, &cli->arena, &info, NULL) == FAINA_OK)
            FA_LOG(log, FA_LOG_WARN,
                   "the file is served already: waiting to take over when that server ends",
                   {"file", fa_service_file(cli->address)}, {"servedAt", info.location});
        if (code == FAINA_OK)
            fa_cli_close(cli);
        has_waited = true;
        *is_over = wait_for_file(cli->address, signals);
        if (*is_over)
            return FA_EXIT_OK;
    }
}
