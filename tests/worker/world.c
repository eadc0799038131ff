/* world.c - see world.h */
#include "worker/world.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void write_log(void *ctx, enum fa_log_level level, const char *text)
{
    struct world *w = ctx;

    (void)level;
    pthread_mutex_lock(&w->mutex);
    fa_buf_add_str(&w->log, text);
    fa_buf_add_char(&w->log, '\n');
    pthread_mutex_unlock(&w->mutex);
}

void world_open(struct world *w, struct fa_t *t)
{
    *w = (struct world){.t = t};
    pthread_mutex_init(&w->mutex, NULL);
    fa_buf_init(&w->log, 1 << 20);
    snprintf(w->handlers, sizeof(w->handlers), "%s/handlers", t->dir);
    CHECK_INT(mkdir(w->handlers, 0755), 0);
    w->config = (struct fa_runtime_config){
        .concurrency = 8,
        .handlers = w->handlers,
        .needs_handlers = true,
        .kill_after_ms = 300,
        .program = getenv("FAINA_BIN"),
        .has_no_plugins = true,
        .log = {.write = write_log, .ctx = w},
    };
}

void world_start(struct world *w)
{
    struct faina_error err;

    fa_error_clear(&err);
    CHECK_OK(w->t, fa_thread_pool_create(&w->threads, w->config.concurrency, &err));
    CHECK(fa_runtime_start(&w->runtime, w->t->svc, &w->config, &err) == FAINA_OK, "%s",
          err.message);
}

void world_stop(struct world *w, int64_t grace_ms)
{
    if (!w->runtime)
        return;
    fa_runtime_stop(w->runtime, grace_ms);
    fa_thread_pool_destroy(w->threads);
    fa_runtime_destroy(w->runtime);
    w->runtime = NULL;
    w->threads = NULL;
}

void world_close(struct world *w)
{
    world_stop(w, 10000);
    fa_buf_finish(&w->log);
    pthread_mutex_destroy(&w->mutex);
}

/* Written to another name and renamed, so that a scan never finds an incomplete handler. */
void world_file(struct world *w, const char *name, const char *text, unsigned mode)
{
    char path[FA_T_PATH_SIZE * 2], aside[FA_T_PATH_SIZE * 2];
    int fd;

    snprintf(path, sizeof(path), "%s/%s", w->handlers, name);
    snprintf(aside, sizeof(aside), "%s/.%s", w->handlers, name);
    fd = open(aside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    CHECK(fd >= 0, "can't write %s", aside);
    CHECK_INT(write(fd, text, strlen(text)), strlen(text));
    CHECK_INT(fchmod(fd, mode), 0);
    close(fd);
    CHECK_INT(rename(aside, path), 0);
}

void world_script(struct world *w, const char *type, const char *body)
{
    world_file(w, type, fa_arena_printf(&w->t->arena, "#!/bin/sh\n%s\n", body), 0755);
}

void world_handler(struct world *w, const char *type, const struct faina_handler *handler,
                   void *user)
{
    struct faina_error err;

    CHECK_OK(w->t, fa_pool_put(fa_runtime_pool(w->runtime),
                               fa_native_create(w->threads, type, handler, user), &err));
}

void world_native(struct world *w, const char *type, faina_handler_fn *on_start, void *user)
{
    world_handler(w, type, &(struct faina_handler){.on_start = on_start}, user);
}

struct faina_task *world_await(struct world *w, const char *id, enum faina_status status)
{
    fa_t_wait_status(w->t, id, status);
    return fa_t_task(w->t, id);
}

struct faina_task *world_try(struct world *w, const char *type, const char *input, int max_attempts,
                             enum faina_status status)
{
    const char *id = fa_t_submit(w->t, .type = type, .input = input, .max_attempts = max_attempts);

    return world_await(w, id, status);
}

bool world_has_logged(struct world *w, const char *text)
{
    bool has;

    pthread_mutex_lock(&w->mutex);
    has = w->log.ptr && strstr(w->log.ptr, text) != NULL;
    pthread_mutex_unlock(&w->mutex);
    return has;
}

struct log_wait {
    struct world *w;
    const char *text;
};

static bool is_logged(struct fa_t *t, void *arg)
{
    struct log_wait *wait = arg;

    (void)t;
    return world_has_logged(wait->w, wait->text);
}

void world_await_log(struct world *w, const char *text)
{
    struct log_wait wait = {w, text};

    fa_t_wait_until(is_logged, w->t, &wait, text);
}

const char *world_event(struct world *w, const char *id, const char *what)
{
    CHECK_OK(w->t, fa_t_events(w->t, id, 1000));
    for (size_t i = 0; i < w->t->op.events->count; i++)
        if (strcmp(w->t->op.events->items[i].what, what) == 0)
            return w->t->op.events->items[i].detail ? w->t->op.events->items[i].detail : "null";
    return NULL;
}

struct awaited_event {
    struct world *w;
    const char *id, *what;
};

static bool has_event(struct fa_t *t, void *arg)
{
    const struct awaited_event *awaited = arg;

    (void)t;
    return world_event(awaited->w, awaited->id, awaited->what) != NULL;
}

void world_await_event(struct world *w, const char *id, const char *what)
{
    fa_t_wait_until(has_event, w->t, &(struct awaited_event){w, id, what}, what);
}

struct fa_pool_stats world_stats(struct world *w)
{
    struct fa_pool_stats stats;

    fa_runtime_stats(w->runtime, &stats);
    return stats;
}
