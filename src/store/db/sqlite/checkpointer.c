/*
 * checkpointer.c - see checkpointer.h.
 *
 * SQLite flushes the file only at the end of a checkpoint of the whole log, which is usually the
 * writer's. The checkpointer therefore flushes the file itself, so that the writer doesn't have to
 * wait for the flush of all pages.
 */
#include "store/db/sqlite/checkpointer.h"

#include "base/bytes.h"
#include "store/db/sqlite/log_file.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define CACHE_KIB 64 /* its connection reads no table */

struct fa_checkpointer {
    sqlite3 *handle; /* used by the thread only, except to interrupt it */
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t cond; /* signals a change of one of the two below */
    bool is_over;
    atomic_bool is_busy;
    struct fa_checkpoint last; /* written by the thread while it is busy */
};

static bool flush_file(sqlite3 *handle)
{
    sqlite3_file *file = NULL;

    return sqlite3_file_control(handle, "main", SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK &&
           file->pMethods->xSync(file, SQLITE_SYNC_NORMAL) == SQLITE_OK;
}

bool fa_checkpoint_has_lost(sqlite3 *handle)
{
    return sqlite3_extended_errcode(handle) == SQLITE_IOERR_FSYNC;
}

static void run_checkpoint(struct fa_checkpointer *checkpointer)
{
    int all = -1, pages = -1;
    int rc = sqlite3_wal_checkpoint_v2(checkpointer->handle, NULL, SQLITE_CHECKPOINT_PASSIVE, &all,
                                       &pages);

    checkpointer->last.pages = rc == SQLITE_OK ? pages : -1;
    checkpointer->last.is_lost = rc == SQLITE_OK ? pages > 0 && !flush_file(checkpointer->handle)
                                                 : fa_checkpoint_has_lost(checkpointer->handle);
}

static void *run(void *ctx)
{
    struct fa_checkpointer *checkpointer = ctx;

    pthread_mutex_lock(&checkpointer->mutex);
    while (!checkpointer->is_over) {
        if (!atomic_load(&checkpointer->is_busy)) {
            pthread_cond_wait(&checkpointer->cond, &checkpointer->mutex);
            continue;
        }
        pthread_mutex_unlock(&checkpointer->mutex);
        run_checkpoint(checkpointer);
        pthread_mutex_lock(&checkpointer->mutex);
        atomic_store(&checkpointer->is_busy, false);
        pthread_cond_broadcast(&checkpointer->cond);
    }
    pthread_mutex_unlock(&checkpointer->mutex);
    return NULL;
}

/* The last statement reads the file, which opens the log too. */
static bool open_file(struct fa_checkpointer *checkpointer, const char *path)
{
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
    char text[128];

    snprintf(text, sizeof(text),
             "PRAGMA cache_size = -%d; PRAGMA synchronous = FULL; PRAGMA schema_version",
             CACHE_KIB);
    return sqlite3_open_v2(path, &checkpointer->handle, flags, fa_log_file_layer()) == SQLITE_OK &&
           sqlite3_wal_autocheckpoint(checkpointer->handle, 0) == SQLITE_OK &&
           sqlite3_exec(checkpointer->handle, text, NULL, NULL, NULL) == SQLITE_OK;
}

static void destroy(struct fa_checkpointer *checkpointer)
{
    sqlite3_close_v2(checkpointer->handle);
    pthread_cond_destroy(&checkpointer->cond);
    pthread_mutex_destroy(&checkpointer->mutex);
    free(checkpointer);
}

struct fa_checkpointer *fa_checkpointer_start(const char *path)
{
    struct fa_checkpointer *checkpointer = fa_alloc_zero(1, sizeof(*checkpointer));

    pthread_mutex_init(&checkpointer->mutex, NULL);
    pthread_cond_init(&checkpointer->cond, NULL);
    if (!open_file(checkpointer, path) ||
        pthread_create(&checkpointer->thread, NULL, run, checkpointer) != 0) {
        destroy(checkpointer);
        return NULL;
    }
    pthread_setname_np(checkpointer->thread, "fa-checkpointer");
    return checkpointer;
}

void fa_checkpointer_begin(struct fa_checkpointer *checkpointer)
{
    pthread_mutex_lock(&checkpointer->mutex);
    assert(!atomic_load(&checkpointer->is_busy));
    assert(!checkpointer->last.is_lost);
    atomic_store(&checkpointer->is_busy, true);
    pthread_cond_signal(&checkpointer->cond);
    pthread_mutex_unlock(&checkpointer->mutex);
}

bool fa_checkpointer_is_busy(struct fa_checkpointer *checkpointer)
{
    return atomic_load(&checkpointer->is_busy);
}

struct fa_checkpoint fa_checkpointer_wait(struct fa_checkpointer *checkpointer)
{
    pthread_mutex_lock(&checkpointer->mutex);
    while (atomic_load(&checkpointer->is_busy))
        pthread_cond_wait(&checkpointer->cond, &checkpointer->mutex);
    pthread_mutex_unlock(&checkpointer->mutex);
    return checkpointer->last;
}

/* When the thread is about to begin a checkpoint, SQLite sees the interrupt as soon as it does. */
bool fa_checkpointer_stop(struct fa_checkpointer *checkpointer)
{
    bool is_lost;

    if (checkpointer == NULL)
        return false;
    pthread_mutex_lock(&checkpointer->mutex);
    checkpointer->is_over = true;
    sqlite3_interrupt(checkpointer->handle);
    pthread_cond_broadcast(&checkpointer->cond);
    pthread_mutex_unlock(&checkpointer->mutex);
    pthread_join(checkpointer->thread, NULL);
    is_lost = checkpointer->last.is_lost;
    destroy(checkpointer);
    return is_lost;
}
