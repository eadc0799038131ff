/* plugins.c - see plugins.h. */
#include "worker/plugin/plugins.h"

#include "worker/handler_folder.h"
#include "worker/plugin/plugin.h"
#include "worker/workflow_folder.h"

#include <dirent.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define PATH_SIZE 4096

struct fa_plugins {
    struct fa_plugin_share share;
    struct fa_arena arena;
    struct fa_plugin **items; /* in the arena */
    size_t count, size;
    struct fa_message end;
};

static void add(struct fa_plugins *plugins, const char *path)
{
    struct fa_plugin *plugin;
    struct faina_error err;

    fa_error_clear(&err);
    if (fa_plugin_create(&plugin, &plugins->share, path, &err) != FAINA_OK) {
        fa_report(&plugins->share.log, FA_LOG_ERROR, "%s is not used: %s", path, err.message);
        return;
    }
    plugins->items = fa_arena_grow(&plugins->arena, plugins->items, plugins->count, &plugins->size,
                                   sizeof(struct fa_plugin *));
    plugins->items[plugins->count++] = plugin;
}

/* Adds the files that end in .so and that other users can't change. */
static void scan(struct fa_plugins *plugins, const char *folder)
{
    DIR *dir = opendir(folder);
    struct dirent *item;

    while (dir && (item = readdir(dir)) != NULL) {
        size_t len = strlen(item->d_name);
        struct faina_error err;
        char path[PATH_SIZE];
        struct stat st;

        if (item->d_name[0] == '.' || len < 4 || strcmp(item->d_name + len - 3, ".so") != 0)
            continue;
        snprintf(path, sizeof(path), "%s/%s", folder, item->d_name);
        fa_error_clear(&err);
        if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
            continue;
        if (fa_folder_check(path, &st, &err) != FAINA_OK)
            fa_report(&plugins->share.log, FA_LOG_ERROR, "%s is not used: %s", item->d_name,
                      err.message);
        else
            add(plugins, path);
    }
    if (dir)
        closedir(dir);
}

/* The folder as an absolute path. NULL: it isn't there, or other users can change it. */
static const char *find_folder(struct fa_plugins *plugins, const char *path)
{
    char *absolute = realpath(path, NULL);
    const char *copy = absolute ? fa_arena_strdup(&plugins->arena, absolute) : NULL;
    struct stat st;

    free(absolute);
    return copy && stat(copy, &st) == 0 && fa_folder_check(copy, &st, NULL) == FAINA_OK ? copy
                                                                                        : NULL;
}

static void end_plugins(struct fa_message *message)
{
    struct fa_plugins *plugins = FA_CONTAINER_OF(message, struct fa_plugins, end);

    for (size_t i = 0; i < plugins->count; i++)
        fa_plugin_end(plugins->items[i]);
    pthread_mutex_lock(&plugins->share.mutex);
    plugins->share.running--; /* counted by fa_plugins_stop */
    pthread_cond_broadcast(&plugins->share.cond);
    pthread_mutex_unlock(&plugins->share.mutex);
}

enum faina_code fa_plugins_create(struct fa_plugins **out, struct fa_pool *pool,
                                  struct fa_event_loop *loop, struct fa_spawner *spawner,
                                  const struct fa_runtime_config *config, struct faina_error *err)
{
    struct fa_plugins *plugins = fa_alloc_zero(1, sizeof(*plugins));
    const char *folder;

    (void)err;
    plugins->share.pool = pool;
    plugins->share.loop = loop;
    plugins->share.spawner = spawner;
    plugins->share.log = config->log;
    plugins->share.program =
        fa_arena_strdup(&plugins->arena, config->program ? config->program : "/proc/self/exe");
    if (config->plugin_url)
        plugins->share.url = fa_arena_strdup(&plugins->arena, config->plugin_url);
    plugins->share.kill_after_us =
        1000 * (config->kill_after_ms > 0 ? config->kill_after_ms : FA_KILL_AFTER_MS);
    plugins->end.run = end_plugins;
    if (config->types)
        plugins->share.types = fa_arena_strs(&plugins->arena, config->types, config->type_count);
    plugins->share.type_count = config->type_count;
    plugins->share.pass_env =
        (struct fa_texts){fa_arena_strs(&plugins->arena, config->pass_env, config->pass_env_count),
                          config->pass_env_count};
    pthread_mutex_init(&plugins->share.mutex, NULL);
    pthread_cond_init(&plugins->share.cond, NULL);
    folder = find_folder(plugins, config->handlers);
    if (folder)
        scan(plugins, folder);
    for (size_t i = 0; i < plugins->count; i++)
        fa_plugin_wait(plugins->items[i]);
    *out = plugins;
    return FAINA_OK;
}

void fa_plugins_apply_workflows(struct fa_plugins *plugins, struct fa_service *service,
                                const char *ns)
{
    for (size_t i = 0; i < plugins->count; i++) {
        const char *workflow = fa_plugin_workflow(plugins->items[i]);
        const struct fa_workflows_config config = {
            .path = fa_plugin_path(plugins->items[i]), .ns = ns, .log = plugins->share.log};

        if (workflow)
            fa_workflows_apply(service, &config, workflow);
    }
}

void fa_plugins_stop(struct fa_plugins *plugins)
{
    if (!plugins)
        return;
    pthread_mutex_lock(&plugins->share.mutex);
    plugins->share.running++;
    pthread_mutex_unlock(&plugins->share.mutex);
    fa_event_loop_send(plugins->share.loop, &plugins->end);
    pthread_mutex_lock(&plugins->share.mutex);
    while (plugins->share.running > 0)
        pthread_cond_wait(&plugins->share.cond, &plugins->share.mutex);
    pthread_mutex_unlock(&plugins->share.mutex);
}

void fa_plugins_destroy(struct fa_plugins *plugins)
{
    if (!plugins)
        return;
    for (size_t i = 0; i < plugins->count; i++)
        fa_plugin_destroy(plugins->items[i]);
    pthread_mutex_destroy(&plugins->share.mutex);
    pthread_cond_destroy(&plugins->share.cond);
    fa_arena_finish(&plugins->arena);
    free(plugins);
}
