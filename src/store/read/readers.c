/* readers.c - see readers.h. */
#include "store/read/readers.h"

#include "base/clock.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#define IDLE_MAX 8

struct fa_readers {
    struct fa_store *store;
    struct fa_aside *aside;
    pthread_mutex_t mutex;
    struct fa_reader *open; /* all */
    struct fa_reader *idle;
    size_t idle_count;
    size_t active; /* between begin and end */
    bool is_held;  /* new reads wait */
    bool is_shut;
    pthread_cond_t cond; /* `active` or `is_held` has changed */
};

struct fa_readers *fa_readers_create(struct fa_store *store, struct fa_aside *aside)
{
    struct fa_readers *readers = fa_alloc_zero(1, sizeof(*readers));

    pthread_condattr_t attr;

    readers->store = store;
    readers->aside = aside;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_mutex_init(&readers->mutex, NULL);
    pthread_cond_init(&readers->cond, &attr);
    pthread_condattr_destroy(&attr);
    return readers;
}

static void destroy_reader(struct fa_readers *readers, struct fa_reader *reader)
{
    pthread_mutex_lock(&readers->mutex);
    *reader->open_place = reader->open_next;
    if (reader->open_next != NULL)
        reader->open_next->open_place = reader->open_place;
    pthread_mutex_unlock(&readers->mutex);
    fa_policy_set_release(&reader->source.policies);
    fa_db_close(reader->source.db);
    fa_lanes_destroy(reader->source.lanes);
    free(reader);
}

void fa_readers_destroy(struct fa_readers *readers)
{
    if (readers == NULL)
        return;
    while (readers->idle != NULL) {
        struct fa_reader *next = readers->idle->next;

        destroy_reader(readers, readers->idle);
        readers->idle = next;
    }
    pthread_cond_destroy(&readers->cond);
    pthread_mutex_destroy(&readers->mutex);
    free(readers);
}

void fa_readers_shut(struct fa_readers *readers)
{
    if (readers == NULL)
        return;
    pthread_mutex_lock(&readers->mutex);
    readers->is_shut = true;
    for (struct fa_reader *reader = readers->open; reader != NULL; reader = reader->open_next)
        atomic_store(&reader->source.db->is_closing, true);
    pthread_mutex_unlock(&readers->mutex);
}

static void list_open(struct fa_readers *readers, struct fa_reader *reader)
{
    pthread_mutex_lock(&readers->mutex);
    atomic_store(&reader->source.db->is_closing, readers->is_shut);
    reader->open_next = readers->open;
    reader->open_place = &readers->open;
    if (reader->open_next != NULL)
        reader->open_next->open_place = &reader->open_next;
    readers->open = reader;
    pthread_mutex_unlock(&readers->mutex);
}

static enum faina_code open_reader(struct fa_readers *readers, struct fa_reader **out,
                                   struct faina_error *err)
{
    struct fa_reader *reader = fa_alloc_zero(1, sizeof(*reader));
    enum faina_code code =
        readers->store->ops->connect(readers->store, true, &reader->source.db, err);

    if (code != FAINA_OK) {
        free(reader);
        return code;
    }
    reader->source.lanes = fa_lanes_create();
    fa_lanes_report_to(reader->source.lanes, readers->aside);
    reader->source.aside = readers->aside;
    reader->source.store = readers->store;
    list_open(readers, reader);
    *out = reader;
    return FAINA_OK;
}

/* Ends a read. False: the connection is not kept. */
static bool leave(struct fa_readers *readers, struct fa_reader *reader)
{
    bool is_kept;

    pthread_mutex_lock(&readers->mutex);
    is_kept = reader != NULL && readers->idle_count < IDLE_MAX;
    if (is_kept) {
        reader->next = readers->idle;
        readers->idle = reader;
        readers->idle_count++;
    }
    readers->active--;
    if (readers->is_held && readers->active == 0)
        pthread_cond_broadcast(&readers->cond);
    pthread_mutex_unlock(&readers->mutex);
    return is_kept;
}

enum faina_code fa_readers_begin(struct fa_readers *readers, struct fa_reader **out,
                                 struct faina_error *err)
{
    struct fa_reader *reader;
    enum faina_code code = FAINA_OK;

    pthread_mutex_lock(&readers->mutex);
    while (readers->is_held)
        pthread_cond_wait(&readers->cond, &readers->mutex);
    readers->active++;
    reader = readers->idle;
    if (reader != NULL) {
        readers->idle = reader->next;
        readers->idle_count--;
    }
    pthread_mutex_unlock(&readers->mutex);
    if (reader == NULL)
        code = open_reader(readers, &reader, err);
    if (code == FAINA_OK) {
        code = fa_db_begin(reader->source.db, false, err);
        if (code == FAINA_OK) {
            code = fa_policies_refresh(readers->store->policies, reader->source.db,
                                       &reader->source.policies, err);
            if (code != FAINA_OK)
                fa_db_rollback(reader->source.db);
        }
        if (code != FAINA_OK)
            destroy_reader(readers, reader);
    }
    if (code != FAINA_OK) {
        leave(readers, NULL);
        return code;
    }
    *out = reader;
    return FAINA_OK;
}

void fa_readers_end(struct fa_readers *readers, struct fa_reader *reader)
{
    fa_db_rollback(reader->source.db);
    if (!leave(readers, reader))
        destroy_reader(readers, reader);
}

bool fa_readers_suspend(struct fa_readers *readers, int64_t timeout_ms)
{
    int64_t until = fa_clock_mono_us() + timeout_ms * 1000;
    struct timespec deadline = {.tv_sec = until / 1000000, .tv_nsec = until % 1000000 * 1000};
    bool is_quiet;
    int rc = 0;

    pthread_mutex_lock(&readers->mutex);
    readers->is_held = true;
    while (rc == 0 && readers->active > 0)
        rc = pthread_cond_timedwait(&readers->cond, &readers->mutex, &deadline);
    is_quiet = readers->active == 0;
    pthread_mutex_unlock(&readers->mutex);
    return is_quiet;
}

void fa_readers_resume(struct fa_readers *readers)
{
    pthread_mutex_lock(&readers->mutex);
    readers->is_held = false;
    pthread_cond_broadcast(&readers->cond);
    pthread_mutex_unlock(&readers->mutex);
}
