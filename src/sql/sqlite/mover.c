/*
 * mover.c - see mover.h.
 *
 * SQLite flushes the file only at the end of a checkpoint that has moved the whole log, and the
 * writer's is that one as a rule. So a move flushes the file itself: the writer would have to wait
 * for all of it.
 */
#include "sql/sqlite/mover.h"

#include "base/bytes.h"
#include "sql/sqlite/log_file.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define CACHE_KIB 64 /* it reads no table */

struct fa_mover {
    sqlite3 *handle; /* the thread's, but for interrupts */
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t cond; /* one of the two below has changed */
    bool is_over;
    atomic_bool is_busy;
    struct fa_moved moved; /* the thread's while it is busy */
};

static bool flush_file(sqlite3 *handle)
{
    sqlite3_file *file = NULL;

    return sqlite3_file_control(handle, "main", SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK &&
           file->pMethods->xSync(file, SQLITE_SYNC_NORMAL) == SQLITE_OK;
}

bool fa_mover_has_lost(sqlite3 *handle)
{
    return sqlite3_extended_errcode(handle) == SQLITE_IOERR_FSYNC;
}

static void move(struct fa_mover *mover)
{
    int all = -1, pages = -1;
    int rc =
        sqlite3_wal_checkpoint_v2(mover->handle, NULL, SQLITE_CHECKPOINT_PASSIVE, &all, &pages);

    mover->moved.pages = rc == SQLITE_OK ? pages : -1;
    mover->moved.is_lost = rc == SQLITE_OK ? pages > 0 && !flush_file(mover->handle)
                                           : fa_mover_has_lost(mover->handle);
}

static void *run(void *ctx)
{
    struct fa_mover *mover = ctx;

    pthread_mutex_lock(&mover->mutex);
    while (!mover->is_over) {
        if (!atomic_load(&mover->is_busy)) {
            pthread_cond_wait(&mover->cond, &mover->mutex);
            continue;
        }
        pthread_mutex_unlock(&mover->mutex);
        move(mover);
        pthread_mutex_lock(&mover->mutex);
        atomic_store(&mover->is_busy, false);
        pthread_cond_broadcast(&mover->cond);
    }
    pthread_mutex_unlock(&mover->mutex);
    return NULL;
}

/* Reading something opens the log too. */
static bool open_file(struct fa_mover *mover, const char *path)
{
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
    char text[128];

    snprintf(text, sizeof(text),
             "PRAGMA cache_size = -%d; PRAGMA synchronous = FULL; PRAGMA schema_version",
             CACHE_KIB);
    return sqlite3_open_v2(path, &mover->handle, flags, fa_log_file_layer()) == SQLITE_OK &&
           sqlite3_wal_autocheckpoint(mover->handle, 0) == SQLITE_OK &&
           sqlite3_exec(mover->handle, text, NULL, NULL, NULL) == SQLITE_OK;
}

static void destroy(struct fa_mover *mover)
{
    sqlite3_close_v2(mover->handle);
    pthread_cond_destroy(&mover->cond);
    pthread_mutex_destroy(&mover->mutex);
    free(mover);
}

struct fa_mover *fa_mover_start(const char *path)
{
    struct fa_mover *mover = fa_alloc_zero(1, sizeof(*mover));

    pthread_mutex_init(&mover->mutex, NULL);
    pthread_cond_init(&mover->cond, NULL);
    if (!open_file(mover, path) || pthread_create(&mover->thread, NULL, run, mover) != 0) {
        destroy(mover);
        return NULL;
    }
    pthread_setname_np(mover->thread, "fa-mover");
    return mover;
}

void fa_mover_begin(struct fa_mover *mover)
{
    pthread_mutex_lock(&mover->mutex);
    assert(!atomic_load(&mover->is_busy));
    assert(!mover->moved.is_lost);
    atomic_store(&mover->is_busy, true);
    pthread_cond_signal(&mover->cond);
    pthread_mutex_unlock(&mover->mutex);
}

bool fa_mover_is_busy(struct fa_mover *mover)
{
    return atomic_load(&mover->is_busy);
}

struct fa_moved fa_mover_wait(struct fa_mover *mover)
{
    pthread_mutex_lock(&mover->mutex);
    while (atomic_load(&mover->is_busy))
        pthread_cond_wait(&mover->cond, &mover->mutex);
    pthread_mutex_unlock(&mover->mutex);
    return mover->moved;
}

/* The thread may be about to begin: then SQLite sees the interrupt as soon as it does. */
bool fa_mover_stop(struct fa_mover *mover)
{
    bool is_lost;

    if (mover == NULL)
        return false;
    pthread_mutex_lock(&mover->mutex);
    mover->is_over = true;
    sqlite3_interrupt(mover->handle);
    pthread_cond_broadcast(&mover->cond);
    pthread_mutex_unlock(&mover->mutex);
    pthread_join(mover->thread, NULL);
    is_lost = mover->moved.is_lost;
    destroy(mover);
    return is_lost;
}
