/*
 * open_engine.c - opens the engine for a verb, runs operations, waits.
 */
#include "cli/cli.h"

#include "base/clock.h"
#include "cli/short_id.h"
#include "cli/verbs.h"
#include "json/log.h"
#include "model/states.h"
#include "model/times.h"
#include "service/access.h"
#include "api/address.h"

#include <stdlib.h>
#include <time.h>

/* The interval of polling doubles from the first to the second. */
#define WAIT_STEP_MIN_MS 50
#define WAIT_STEP_MAX_MS 500

enum faina_code fa_cli_url(struct fa_cli *cli, const char **out, struct faina_error *err)
{
    struct fa_address found = {cli->address, cli->address_source};
    enum faina_code code = FAINA_OK;

    if (!cli->address)
        code = fa_address_read(cli->url, &cli->arena, &found, err);
    if (code != FAINA_OK)
        return code;
    *out = cli->address = found.url;
    cli->address_source = found.source;
    return FAINA_OK;
}

bool fa_cli_is_all_namespaces(const struct fa_cli *cli)
{
    return cli->ns && strcmp(cli->ns, "*") == 0;
}

static enum faina_code read_options(struct faina_options *out, struct faina_error *err)
{
    const char *text = getenv("FAINA_EVENTS_KEEP");

    if (!text || !text[0] || out->events_keep_ms > 0)
        return FAINA_OK;
    return fa_duration_parse(text, "FAINA_EVENTS_KEEP", &out->events_keep_ms, err);
}

enum faina_code fa_cli_try_open(struct fa_cli *cli, struct faina_error *err)
{
    bool must_exist = !cli->verb->makes_store;
    const char *url;
    enum faina_code code;

    fa_error_clear(err);
    if (cli->service)
        return FAINA_OK;
    code = fa_cli_url(cli, &url, err);
    if (code == FAINA_OK)
        code = read_options(&cli->options, err);
    if (code == FAINA_OK)
        code = cli->is_long_lived
                   ? fa_service_open(&cli->service, url, &cli->options, err)
                   : fa_service_visit(&cli->service, url, &cli->options, must_exist, err);
    if (code == FAINA_OK)
        cli->service->reason = cli->reason;
    return code;
}

int fa_cli_open(struct fa_cli *cli)
{
    struct faina_error err;

    return fa_cli_try_open(cli, &err) == FAINA_OK ? FA_EXIT_OK : fa_cli_fail(cli, &err);
}

void fa_cli_log_source(const struct fa_cli *cli, const struct fa_log *log)
{
    struct fa_arena scratch = {0};
    struct fa_service_info info = {0};

    if (fa_service_info(cli->service, false, &scratch, &info, NULL) == FAINA_OK)
        FA_LOG(log, FA_LOG_INFO, "using the engine", {"engine", info.engine},
               {"location", info.location ? info.location : "memory"},
               {"from", cli->address_source});
    fa_arena_finish(&scratch);
}

void fa_cli_log_durability(const struct fa_log *log, struct fa_service *service)
{
    struct fa_arena scratch = {0};
    struct fa_service_info info = {0};

    if (fa_service_info(service, false, &scratch, &info, NULL) == FAINA_OK &&
        info.durability != NULL) {
        FA_LOG(log, FA_LOG_INFO, "durability", {"promise", info.durability});
        for (size_t i = 0; i < info.warning_count; i++)
            FA_LOG(log, FA_LOG_WARN, "durability", {"risk", info.warnings[i]});
    }
    fa_arena_finish(&scratch);
}

void fa_cli_close(struct fa_cli *cli)
{
    fa_service_close(cli->service);
    cli->service = NULL;
}

int fa_cli_run(struct fa_cli *cli, struct fa_op *op)
{
    int code = fa_cli_open(cli);

    if (code != FA_EXIT_OK)
        return code;
    if (!op->arena)
        op->arena = &cli->arena;
    if (fa_access_is_of_task(op->kind)) {
        code = fa_cli_task_id(cli, &op->id);
        if (code != FA_EXIT_OK)
            return code;
    }
    fa_service_run(cli->service, op, 1);
    return op->code == FAINA_OK ? FA_EXIT_OK : fa_cli_fail(cli, &op->error);
}

static void sleep_ms(int64_t ms)
{
    struct timespec time = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};

    nanosleep(&time, NULL); /* a signal only makes the next poll come early */
}

/* A store in memory would be lost on close, and a connection to a server excludes no process. */
static bool stays_open(struct fa_cli *cli)
{
    const char *url;

    if (cli->service && fa_service_is_remote(cli->service))
        return true;
    return fa_cli_url(cli, &url, NULL) == FAINA_OK && strcmp(url, "memory:") == 0;
}

bool fa_cli_wait_for(struct fa_cli *cli, int64_t timeout_ms, fa_cli_is_done is_done, void *context,
                     int *exit_code)
{
    int64_t start_us = fa_clock_mono_us();
    int64_t step_ms = WAIT_STEP_MIN_MS;
    bool has_polled = false;

    for (;;) {
        struct faina_error err;
        enum faina_code code = fa_cli_try_open(cli, &err);
        int64_t left_ms;

        /* The process that does the work may own the file for a while: after the first poll that
         * is no error. */
        if (code != FAINA_OK && !(code == FAINA_UNAVAILABLE && has_polled)) {
            *exit_code = fa_cli_fail(cli, &err);
            return true;
        }
        if (code == FAINA_OK && is_done(cli, context, exit_code))
            return true;
        has_polled = true;
        left_ms = timeout_ms - (fa_clock_mono_us() - start_us) / 1000;
        if (timeout_ms >= 0 && left_ms <= 0)
            return false;
        if (!stays_open(cli))
            fa_cli_close(cli);
        sleep_ms(timeout_ms >= 0 && left_ms < step_ms ? left_ms : step_ms);
        step_ms = step_ms * 2 > WAIT_STEP_MAX_MS ? WAIT_STEP_MAX_MS : step_ms * 2;
    }
}

struct wait_end {
    const char *id;
    struct fa_arena *arena;
    struct faina_task *task;
};

static bool has_ended(struct fa_cli *cli, void *context, int *exit_code)
{
    struct wait_end *wait = context;
    struct fa_op op = {.kind = FA_OP_GET, .id = wait->id, .arena = wait->arena};

    fa_arena_reset(wait->arena);
    *exit_code = fa_cli_run(cli, &op);
    if (*exit_code != FA_EXIT_OK)
        return true;
    wait->task = op.task;
    return fa_status_is_ended(op.task->status);
}

/* A server answers a long poll when the task has ended. */
static int wait_remote(struct fa_cli *cli, const char *id, int64_t timeout_ms,
                       struct fa_arena *arena, struct faina_task **task)
{
    struct fa_op op = {.kind = FA_OP_GET, .id = id, .arena = arena};
    struct faina_error err;

    if (fa_service_wait(cli->service, &op, timeout_ms, &err) != FAINA_OK)
        return fa_cli_fail(cli, &err);
    *task = op.task;
    return FA_EXIT_OK;
}

int fa_cli_wait_end(struct fa_cli *cli, const char *id, int64_t timeout_ms, struct fa_arena *arena,
                    struct faina_task **task)
{
    struct wait_end wait = {.arena = arena};
    struct faina_error err;
    int code = fa_cli_open(cli);

    if (code == FA_EXIT_OK)
        code = fa_cli_task_id(cli, &id);
    if (code != FA_EXIT_OK)
        return code;
    wait.id = id;
    if (fa_service_is_remote(cli->service))
        return wait_remote(cli, id, timeout_ms, arena, task);
    if (fa_cli_wait_for(cli, timeout_ms, has_ended, &wait, &code)) {
        *task = wait.task;
        return code;
    }
    fa_error_set(&err, FAINA_TIMEOUT, "the time ran out; task %s is still %s", id,
                 faina_status_name(wait.task->status));
    return fa_cli_fail(cli, &err);
}
