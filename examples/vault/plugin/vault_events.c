/* vault_events.c - see vault_events.h. */
#include "vault_events.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH 512
#define EMITTERS 8 /* threads, while a batch is emitted */

struct event {
    char id[VAULT_HASH_SIZE + 8];
    struct vault_text data;
};

struct vault_events {
    struct vault_work *work;
    struct event batch[BATCH];
    size_t count;
    atomic_size_t next;
    atomic_bool has_failed;
    pthread_mutex_t mutex;
    struct faina_error why; /* under the mutex */
};

struct vault_events *vault_events_open(struct vault_work *work)
{
    struct vault_events *events = calloc(1, sizeof(*events));

    if (!events)
        abort();
    events->work = work;
    pthread_mutex_init(&events->mutex, NULL);
    return events;
}

static void clear(struct vault_events *events)
{
    for (size_t i = 0; i < events->count; i++)
        vault_text_free(&events->batch[i].data);
    events->count = 0;
}

void vault_events_close(struct vault_events *events)
{
    clear(events);
    pthread_mutex_destroy(&events->mutex);
    free(events);
}

static void *emit_main(void *arg)
{
    struct vault_events *events = arg;
    struct faina_error why;

    while (!atomic_load(&events->has_failed)) {
        size_t i = atomic_fetch_add(&events->next, 1);

        if (i >= events->count)
            break;
        if (faina_emit(vault_work_engine(events->work),
                       &(struct faina_emit){.ns = vault_work_namespace(events->work),
                                            .type = "object.created",
                                            .data = events->batch[i].data.ptr,
                                            .id = events->batch[i].id},
                       NULL, &why) == FAINA_OK)
            continue;
        pthread_mutex_lock(&events->mutex);
        events->why = why;
        pthread_mutex_unlock(&events->mutex);
        atomic_store(&events->has_failed, true);
    }
    return NULL;
}

bool vault_events_flush(struct vault_events *events, struct vault_error *err)
{
    pthread_t threads[EMITTERS - 1];
    size_t started = 0;

    atomic_store(&events->next, 0);
    while (started < EMITTERS - 1 && started + 1 < events->count &&
           pthread_create(&threads[started], NULL, emit_main, events) == 0)
        started++;
    emit_main(events);
    for (size_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    clear(events);
    if (atomic_load(&events->has_failed))
        return vault_fail(err, "engine", "an event can't be emitted: %s", events->why.message);
    return true;
}

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

bool vault_events_created(struct vault_events *events, const char *container,
                          const struct vault_leaf *leaf, struct vault_error *err)
{
    struct event *event = &events->batch[events->count];
    char object[VAULT_PATH_SIZE];

    if (!vault_store_object(vault_work_store(events->work), leaf->hash, object, err))
        return false;
    events->count++;
    snprintf(event->id, sizeof(event->id), "object:%s", leaf->hash);
    vault_text_printf(&event->data,
                      "{\"hash\":\"%s\",\"mimeType\":\"%s\",\"size\":%" PRIu64
                      ",\"container\":\"%s\",\"filename\":",
                      leaf->hash, leaf->mime, leaf->size, container);
    vault_text_json(&event->data, file_name(leaf->path));
    vault_text_printf(&event->data, ",\"path\":");
    vault_text_json(&event->data, leaf->path);
    vault_text_printf(&event->data, ",\"object\":");
    vault_text_json(&event->data, object);
    vault_text_printf(&event->data, "}");
    return events->count < BATCH || vault_events_flush(events, err);
}
