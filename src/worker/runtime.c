/*
 * runtime.c - starts the parts from the bottom up and stops them from the top down. The loop ends
 * before the memory of its callbacks is freed.
 */
#include "worker/runtime.h"

#include "model/check.h"
#include "worker/handler_folder.h"
#include "worker/plugin/plugins.h"
#include "worker/service_checks.h"
#include "worker/command/spawn.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#define FDS_PER_TASK 4 /* three pipes and the process */
#define FDS_BESIDE 64

struct fa_runtime {
    struct fa_event_loop *loop;
    struct fa_spawner *spawner;
    struct fa_pool *pool;
    struct fa_folder *folder;
    struct fa_lines_group *lines;
    struct fa_plugins *plugins;
    struct fa_services *services;
};

int fa_runtime_concurrency(const struct fa_runtime_config *config)
{
    long count = sysconf(_SC_NPROCESSORS_ONLN);

    if (config->concurrency > 0)
        return config->concurrency;
    return count > 0 ? (int)count : 1;
}

static enum faina_code start_pool(struct fa_runtime *runtime, struct fa_service *service,
                                  const struct fa_runtime_config *config, struct faina_error *err)
{
    struct fa_pool_config pool = {
        .worker_id = config->worker_id,
        .concurrency = fa_runtime_concurrency(config),
        .lease_ms = config->lease_ms,
        .namespaces = config->namespaces,
        .namespace_count = config->namespace_count,
        .source = config->source,
        .sampler = config->sampler,
        .log = config->log,
    };
    enum faina_code code = fa_pool_create(&runtime->pool, service, runtime->loop, &pool, err);

    if (code != FAINA_OK)
        return code;
    if (config->check_count > 0)
        return fa_services_create(&runtime->services, runtime->pool, runtime->loop,
                                  runtime->spawner, config, err);
    if (config->services)
        fa_pool_set_services(runtime->pool, config->services, config->service_count);
    return code;
}

static enum faina_code start_folder(struct fa_runtime *runtime, struct fa_service *service,
                                    const struct fa_runtime_config *config, struct faina_error *err)
{
    struct fa_folder_config folder = {
        .path = config->handlers,
        .must_exist = config->needs_handlers,
        .types = config->types,
        .type_count = config->type_count,
        .pass_env = {config->pass_env, config->pass_env_count},
        .kill_after_ms = config->kill_after_ms,
        .log = config->log,
    };
    enum faina_code code;

    if (!config->handlers)
        return FAINA_OK;
    runtime->lines = fa_lines_group_create(runtime->loop, runtime->spawner, &config->log);
    folder.lines = runtime->lines;
    code = fa_folder_create(&runtime->folder, runtime->pool, runtime->loop, runtime->spawner,
                            &folder, err);
    if (code != FAINA_OK || config->has_no_plugins)
        return code;
    code = fa_plugins_create(&runtime->plugins, runtime->pool, runtime->loop, runtime->spawner,
                             config, err);
    if (code == FAINA_OK)
        fa_plugins_apply_workflows(runtime->plugins, service,
                                   config->namespace_count == 1 ? config->namespaces[0] : NULL);
    return code;
}

/* Logs what will keep the worker from running tasks. */
static void warn_at_start(struct fa_runtime *runtime, const struct fa_runtime_config *config)
{
    int64_t needed = (int64_t)fa_runtime_concurrency(config) * FDS_PER_TASK + FDS_BESIDE;
    struct rlimit files;

    if (!config->handlers)
        return;
    if (config->type_count == 0 && !fa_pool_handles(runtime->pool, NULL))
        fa_report(&config->log, FA_LOG_WARN,
                  "there is no handler in %s yet; handlers that are added will be used",
                  config->handlers);
    for (size_t i = 0; i < config->type_count; i++)
        if (!fa_pool_handles(runtime->pool, config->types[i]))
            fa_report(&config->log, FA_LOG_WARN, "there is no handler for %s in %s yet",
                      config->types[i], config->handlers);
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && (int64_t)files.rlim_cur < needed)
        fa_report(&config->log, FA_LOG_WARN,
                  "%d tasks at once need up to %lld open files, and the limit is %lld",
                  fa_runtime_concurrency(config), (long long)needed, (long long)files.rlim_cur);
}

/* Checks the members that every claim of the pool has. The engine would refuse each claim, and only
 * the log would show it. */
static enum faina_code check_claims(const struct fa_runtime_config *config, struct faina_error *err)
{
    const struct faina_claim claim = {
        .worker_id = config->worker_id ? config->worker_id : "any",
        .namespaces = config->namespaces,
        .namespace_count = config->namespace_count,
        .services = config->services,
        .service_count = config->service_count,
    };

    return fa_check_claim(&claim, err);
}

static enum faina_code start_parts(struct fa_runtime *runtime, struct fa_service *service,
                                   const struct fa_runtime_config *config, struct faina_error *err)
{
    enum faina_code code = fa_event_loop_create(&runtime->loop, err);

    if (code == FAINA_OK)
        code = fa_spawner_create(&runtime->spawner, runtime->loop, config->owns_process, err);
    if (code == FAINA_OK)
        code = start_pool(runtime, service, config, err);
    if (code == FAINA_OK)
        code = start_folder(runtime, service, config, err);
    return code;
}

enum faina_code fa_runtime_start(struct fa_runtime **out, struct fa_service *service,
                                 const struct fa_runtime_config *config, struct faina_error *err)
{
    struct fa_runtime *runtime;
    enum faina_code code = check_claims(config, err);

    if (code != FAINA_OK)
        return code;
    runtime = fa_alloc_zero(1, sizeof(*runtime));
    code = start_parts(runtime, service, config, err);
    if (code != FAINA_OK) {
        fa_runtime_stop(runtime, 0);
        fa_runtime_destroy(runtime);
        return code;
    }
    warn_at_start(runtime, config);
    *out = runtime;
    return FAINA_OK;
}

void fa_runtime_stop(struct fa_runtime *runtime, int64_t grace_ms)
{
    if (runtime->pool)
        fa_pool_stop(runtime->pool, grace_ms);
    fa_plugins_stop(runtime->plugins);
    fa_services_stop(runtime->services);
    fa_lines_group_stop(runtime->lines);
    fa_event_loop_destroy(runtime->loop);
    runtime->loop = NULL;
}

void fa_runtime_end_grace(struct fa_runtime *runtime)
{
    fa_pool_end_grace(runtime->pool);
}

void fa_runtime_destroy(struct fa_runtime *runtime)
{
    if (!runtime)
        return;
    fa_folder_destroy(runtime->folder);
    fa_services_destroy(runtime->services);
    fa_pool_destroy(runtime->pool);
    fa_lines_group_destroy(runtime->lines);
    fa_plugins_destroy(runtime->plugins);
    fa_spawner_destroy(runtime->spawner);
    free(runtime);
}

struct fa_pool *fa_runtime_pool(struct fa_runtime *runtime)
{
    return runtime->pool;
}

void fa_runtime_stats(struct fa_runtime *runtime, struct fa_pool_stats *out)
{
    fa_pool_stats(runtime->pool, out);
}
