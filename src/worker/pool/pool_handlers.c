/*
 * pool_handlers.c - what the pool can do: the handlers of its types, and the services it has.
 */
#include "runtime/pool_inner.h"

#include "model/limits.h"

#include <stdlib.h>

/* The worker's types or services are others now. With the mutex held. */
static void note_change(struct fa_pool *pool)
{
    pool->is_changed = true;
    pthread_cond_signal(&pool->beater_cond);
    fa_pool_outdate_claim(pool);
}

static size_t handler_place(const struct fa_pool *pool, const char *type, bool *is_there)
{
    size_t from = 0, to = pool->handler_count;

    *is_there = false;
    while (from < to) {
        size_t middle = (from + to) / 2;
        int order = strcmp(type, pool->handlers[middle]->type);

        if (order == 0) {
            *is_there = true;
            return middle;
        }
        if (order < 0)
            to = middle;
        else
            from = middle + 1;
    }
    return from;
}

struct fa_handler *fa_pool_find(struct fa_pool *pool, const char *type)
{
    bool is_there;
    size_t place = handler_place(pool, type, &is_there);

    return is_there ? pool->handlers[place] : NULL;
}

bool fa_pool_handles(struct fa_pool *pool, const char *type)
{
    bool is_there;

    pthread_mutex_lock(&pool->mutex);
    is_there = type ? fa_pool_find(pool, type) != NULL : pool->handler_count > 0;
    pthread_mutex_unlock(&pool->mutex);
    return is_there;
}

static void insert_handler(struct fa_pool *pool, size_t place, struct fa_handler *handler)
{
    if (pool->handler_count == pool->handler_size) {
        pool->handler_size = pool->handler_size * 2 + 16;
        pool->handlers =
            fa_realloc(pool->handlers, pool->handler_size * sizeof(struct fa_handler *));
    }
    memmove(&pool->handlers[place + 1], &pool->handlers[place],
            (pool->handler_count - place) * sizeof(struct fa_handler *));
    pool->handlers[place] = handler;
    pool->handler_count++;
}

/* With who handles the type now, or did when jobs were taken that are still there. */
static void share_slots(struct fa_pool *pool, struct fa_handler *handler)
{
    struct fa_handler *before = fa_pool_find(pool, handler->type);

    for (struct fa_job *job = pool->held; job && !before; job = job->next)
        if (job->handler != &pool->nobody && strcmp(job->handler->type, handler->type) == 0)
            before = job->handler;
    handler->slots = before ? before->slots : fa_alloc_zero(1, sizeof(*handler->slots));
    handler->slots->refs++;
}

enum faina_code fa_pool_put(struct fa_pool *pool, struct fa_handler *take_handler,
                            struct faina_error *err)
{
    enum faina_code code = FAINA_OK;
    bool is_there;
    size_t place;

    pthread_mutex_lock(&pool->mutex);
    take_handler->refs = 1;
    share_slots(pool, take_handler);
    place = handler_place(pool, take_handler->type, &is_there);
    if (is_there) {
        fa_pool_handler_unref(pool->handlers[place]);
        pool->handlers[place] = take_handler;
    } else if (pool->handler_count < FA_CLAIM_NAMES_MAX) {
        insert_handler(pool, place, take_handler);
    } else {
        code = fa_error_set(err, FAINA_INVALID_REQUEST,
                            "a worker can handle at most %d types; %.255s is one too many",
                            FA_CLAIM_NAMES_MAX, take_handler->type);
        fa_pool_handler_unref(take_handler);
    }
    note_change(pool);
    pthread_mutex_unlock(&pool->mutex);
    fa_service_wake(pool->service);
    return code;
}

void fa_pool_remove(struct fa_pool *pool, const struct fa_handler *handler)
{
    bool is_there;
    size_t place;

    pthread_mutex_lock(&pool->mutex);
    place = handler_place(pool, handler->type, &is_there);
    if (is_there && pool->handlers[place] == handler) {
        struct fa_handler *gone = pool->handlers[place];

        pool->handler_count--;
        memmove(&pool->handlers[place], &pool->handlers[place + 1],
                (pool->handler_count - place) * sizeof(struct fa_handler *));
        fa_pool_handler_unref(gone);
        note_change(pool);
    }
    pthread_mutex_unlock(&pool->mutex);
    fa_service_wake(pool->service);
}

void fa_pool_set_services(struct fa_pool *pool, const char *const *names, size_t count)
{
    const char **copy = NULL;
    size_t size = (count + 1) * sizeof(char *);
    char *text;

    if (names) {
        for (size_t i = 0; i < count; i++)
            size += strlen(names[i]) + 1;
        copy = fa_alloc(size);
        text = (char *)(copy + count + 1);
        for (size_t i = 0; i < count; i++) {
            copy[i] = text;
            text = stpcpy(text, names[i]) + 1;
        }
    }
    pthread_mutex_lock(&pool->mutex);
    free(pool->services);
    pool->services = copy;
    pool->service_count = count;
    note_change(pool);
    pthread_mutex_unlock(&pool->mutex);
    fa_service_wake(pool->service);
}
