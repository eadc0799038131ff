/*
 * log_file.c - see log_file.h.
 *
 * A log_file and the real file behind it share one allocation. Files of other kinds are opened by
 * the real layer in that place, and don't use this one.
 */
#include "store/db/sqlite/log_file.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#define LAYER "faina-log"
#define HELD_MAX (64 * 1024) /* the layer below writes less than 128 KiB in one call */

struct log_file {
    sqlite3_file base;
    sqlite3_file *real;    /* right behind this struct */
    char *held;            /* HELD_MAX bytes, allocated at the first write; not yet written: */
    sqlite3_int64 at;      /* ... their offset in the file */
    int len;               /* ... their number */
    int lost_rc;           /* L3: why a piece was lost ... */
    sqlite3_int64 lost_at; /* ... and where it began */
};

static struct {
    sqlite3_vfs vfs;
    sqlite3_vfs *real;
    const char *name;
} layer;

static struct log_file *log_of(sqlite3_file *file)
{
    return (struct log_file *)file;
}

static int write_out(struct log_file *log)
{
    int rc = SQLITE_OK;

    if (log->lost_rc != SQLITE_OK)
        return log->lost_rc;
    if (log->len > 0)
        rc = log->real->pMethods->xWrite(log->real, log->held, log->len, log->at);
    if (rc != SQLITE_OK) {
        log->lost_rc = rc;
        log->lost_at = log->at;
    }
    log->at += log->len;
    log->len = 0;
    return rc;
}

static int log_write(sqlite3_file *file, const void *data, int size, sqlite3_int64 offset)
{
    struct log_file *log = log_of(file);
    int rc = SQLITE_OK;

    if (offset <= log->lost_at)
        log->lost_rc = SQLITE_OK;
    if (offset != log->at + log->len || log->len + size > HELD_MAX)
        rc = write_out(log);
    if (rc != SQLITE_OK || log->lost_rc != SQLITE_OK)
        return log->lost_rc;
    if (log->held == NULL)
        log->held = malloc(HELD_MAX);
    if (log->held == NULL || size > HELD_MAX)
        return log->real->pMethods->xWrite(log->real, data, size, offset);
    if (log->len == 0)
        log->at = offset;
    memcpy(log->held + log->len, data, (size_t)size);
    log->len += size;
    return SQLITE_OK;
}

static int log_read(sqlite3_file *file, void *data, int size, sqlite3_int64 offset)
{
    struct log_file *log = log_of(file);
    int rc = log->len > 0 ? write_out(log) : SQLITE_OK;

    return rc == SQLITE_OK ? log->real->pMethods->xRead(log->real, data, size, offset) : rc;
}

static int log_sync(sqlite3_file *file, int flags)
{
    struct log_file *log = log_of(file);
    int rc = write_out(log);

    return rc == SQLITE_OK ? log->real->pMethods->xSync(log->real, flags) : rc;
}

static int log_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    struct log_file *log = log_of(file);
    int rc = log->len > 0 ? write_out(log) : SQLITE_OK;

    return rc == SQLITE_OK ? log->real->pMethods->xTruncate(log->real, size) : rc;
}

static int log_size(sqlite3_file *file, sqlite3_int64 *size)
{
    struct log_file *log = log_of(file);
    int rc = log->len > 0 ? write_out(log) : SQLITE_OK;

    return rc == SQLITE_OK ? log->real->pMethods->xFileSize(log->real, size) : rc;
}

/* Bytes that are not flushed are not committed. */
static int log_close(sqlite3_file *file)
{
    struct log_file *log = log_of(file);

    free(log->held);
    log->held = NULL;
    return log->real->pMethods->xClose(log->real);
}

static int log_lock(sqlite3_file *file, int level)
{
    return log_of(file)->real->pMethods->xLock(log_of(file)->real, level);
}

static int log_unlock(sqlite3_file *file, int level)
{
    return log_of(file)->real->pMethods->xUnlock(log_of(file)->real, level);
}

static int log_check_lock(sqlite3_file *file, int *out)
{
    return log_of(file)->real->pMethods->xCheckReservedLock(log_of(file)->real, out);
}

static int log_control(sqlite3_file *file, int op, void *arg)
{
    return log_of(file)->real->pMethods->xFileControl(log_of(file)->real, op, arg);
}

static int log_sector_size(sqlite3_file *file)
{
    return log_of(file)->real->pMethods->xSectorSize(log_of(file)->real);
}

static int log_characteristics(sqlite3_file *file)
{
    return log_of(file)->real->pMethods->xDeviceCharacteristics(log_of(file)->real);
}

/* Version 1: a log needs no memory mapping and no shared memory. */
static const sqlite3_io_methods methods = {
    .iVersion = 1,
    .xClose = log_close,
    .xRead = log_read,
    .xWrite = log_write,
    .xTruncate = log_truncate,
    .xSync = log_sync,
    .xFileSize = log_size,
    .xLock = log_lock,
    .xUnlock = log_unlock,
    .xCheckReservedLock = log_check_lock,
    .xFileControl = log_control,
    .xSectorSize = log_sector_size,
    .xDeviceCharacteristics = log_characteristics,
};

void fa_log_file_forget(sqlite3 *handle)
{
    sqlite3_file *file = NULL;

    if (sqlite3_file_control(handle, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file) != SQLITE_OK ||
        file == NULL || file->pMethods != &methods)
        return;
    log_of(file)->lost_rc = SQLITE_OK;
    log_of(file)->lost_at = -1;
    log_of(file)->len = 0;
}

static int open_file(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
                     int *out_flags)
{
    struct log_file *log = log_of(file);
    int rc;

    (void)vfs;
    if (!(flags & SQLITE_OPEN_WAL))
        return layer.real->xOpen(layer.real, name, file, flags, out_flags);
    memset(log, 0, sizeof(*log) + (size_t)layer.real->szOsFile);
    log->real = (sqlite3_file *)(log + 1);
    log->lost_at = -1;
    rc = layer.real->xOpen(layer.real, name, log->real, flags, out_flags);
    if (log->real->pMethods != NULL)
        log->base.pMethods = &methods;
    return rc;
}

static void make_layer(void)
{
    layer.real = sqlite3_vfs_find(NULL);
    if (layer.real == NULL)
        return;
    layer.vfs = *layer.real;
    layer.vfs.zName = LAYER;
    layer.vfs.pNext = NULL;
    layer.vfs.szOsFile = (int)sizeof(struct log_file) + layer.real->szOsFile;
    layer.vfs.xOpen = open_file;
    if (sqlite3_vfs_register(&layer.vfs, 0) == SQLITE_OK)
        layer.name = LAYER;
}

const char *fa_log_file_layer(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, make_layer);
    return layer.name;
}
