/*
 * pool_handlers.c - the handlers of the pool's types, and the services it can reach.
 */
#include "worker/pool/pool_inner.h"

#include "model/limits.h"

#include <stdlib.h>

/* The worker's types or services have changed. With the mutex held. */
static void note_change(struct fa_pool *pool)
{
    pool->is_changed = true;
    pthread_cond_signal(&pool->heartbeat_cond);
    fa_pool_mark_claim_stale(pool);
}

static size_t handler_index(const struct fa_pool *pool, const char *type, bool *is_there)
{
    size_t from = 0, to = pool->handler_count;

    *is_there = false;
    while (from < to) {
        size_t middle = (from + to) / 2;
        int order = fa_name_compare(type, pool->handlers[middle]->type);

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
    size_t index = handler_index(pool, type, &is_there);

    return is_there ? pool->handlers[index] : NULL;
}

bool fa_pool_handles(struct fa_pool *pool, const char *type)
{
    bool is_there;

    pthread_mutex_lock(&pool->mutex);
    is_there = type ? fa_pool_find(pool, type) != NULL : pool->handler_count > 0;
    pthread_mutex_unlock(&pool->mutex);
    return is_there;
}

static void insert_handler(struct fa_pool *pool, size_t index, struct fa_handler *handler)
{
    pool->handlers = fa_grow(pool->handlers, pool->handler_count, &pool->handler_size,
                             sizeof(struct fa_handler *));
    memmove(&pool->handlers[index + 1], &pool->handlers[index],
            (pool->handler_count - index) * sizeof(struct fa_handler *));
    pool->handlers[index] = handler;
    pool->handler_count++;
}

/* Shares the slots of the type's present handler, or of an earlier one that still has jobs. */
static void share_slots(struct fa_pool *pool, struct fa_handler *handler)
{
    struct fa_handler *before = fa_pool_find(pool, handler->type);

    for (struct fa_job *job = pool->held; job && !before; job = job->next)
        if (job->handler != &pool->missing_handler &&
            fa_name_is_same(job->handler->type, handler->type))
            before = job->handler;
    handler->slots = before ? before->slots : fa_alloc_zero(1, sizeof(*handler->slots));
    handler->slots->refs++;
}

enum faina_code fa_pool_put(struct fa_pool *pool, struct fa_handler *take_handler,
                            struct faina_error *err)
{
    enum faina_code code = FAINA_OK;
    bool is_there;
    size_t index;

    pthread_mutex_lock(&pool->mutex);
    take_handler->refs = 1;
    share_slots(pool, take_handler);
    index = handler_index(pool, take_handler->type, &is_there);
    if (is_there) {
        fa_pool_handler_unref(pool->handlers[index]);
        pool->handlers[index] = take_handler;
    } else if (pool->handler_count < FA_CLAIM_NAMES_MAX) {
        insert_handler(pool, index, take_handler);
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
    size_t index;

    pthread_mutex_lock(&pool->mutex);
    index = handler_index(pool, handler->type, &is_there);
    if (is_there && pool->handlers[index] == handler) {
        struct fa_handler *gone = pool->handlers[index];

        pool->handler_count--;
        memmove(&pool->handlers[index], &pool->handlers[index + 1],
                (pool->handler_count - index) * sizeof(struct fa_handler *));
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
