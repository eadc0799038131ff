/*
 * shim.c - a SQLite file layer that fails on demand.
 *
 * A shim_file holds the real file behind it in the same allocation. Whatever isn't counted is
 * passed on unchanged.
 */
#include "faults/shim.h"

#include <sqlite3.h>
#include <stdatomic.h>
#include <string.h>

struct shim_file {
    sqlite3_file base;
    sqlite3_file *real; /* right behind this struct */
    bool is_main;
};

/* SQLite knows one default file layer per process, so there is one of these. */
static struct {
    sqlite3_vfs vfs;
    sqlite3_vfs *real;
    atomic_bool is_armed, has_failed;
    struct fa_shim_fault fault;
    atomic_long counts[FA_SHIM_CALL_COUNT];
} shim;

/* Whether this call is to fail. */
static bool strikes(enum fa_shim_call call)
{
    long number = atomic_fetch_add(&shim.counts[call], 1) + 1;
    bool hit = shim.is_armed && call == shim.fault.call &&
               (number == shim.fault.nth || (shim.fault.goes_on && number > shim.fault.nth));

    if (hit)
        shim.has_failed = true;
    return hit;
}

static sqlite3_file *real_of(sqlite3_file *file)
{
    return ((struct shim_file *)file)->real;
}

/* ------------------------------------------------------------------------------------------
 * Files
 */

static int shim_close(sqlite3_file *file)
{
    sqlite3_file *real = real_of(file);

    return real->pMethods ? real->pMethods->xClose(real) : SQLITE_OK;
}

static int shim_read(sqlite3_file *file, void *data, int size, sqlite3_int64 offset)
{
    sqlite3_file *real = real_of(file);

    if (strikes(FA_SHIM_READ))
        return shim.fault.code;
    return real->pMethods->xRead(real, data, size, offset);
}

static int shim_write(sqlite3_file *file, const void *data, int size, sqlite3_int64 offset)
{
    sqlite3_file *real = real_of(file);

    if (strikes(FA_SHIM_WRITE)) {
        if (shim.fault.is_torn)
            real->pMethods->xWrite(real, data, size / 2, offset);
        return shim.fault.code;
    }
    return real->pMethods->xWrite(real, data, size, offset);
}

static int shim_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    sqlite3_file *real = real_of(file);

    if (strikes(FA_SHIM_TRUNCATE))
        return shim.fault.code;
    return real->pMethods->xTruncate(real, size);
}

/* Nobody pulls the plug on these tests, so a flush that doesn't fail has nothing to do: that makes
 * thousands of rounds affordable. */
static int shim_sync(sqlite3_file *file, int flags)
{
    bool is_main = ((struct shim_file *)file)->is_main;

    (void)flags;
    if (strikes(FA_SHIM_SYNC) || (is_main && strikes(FA_SHIM_SYNC_MAIN)))
        return shim.fault.code;
    return SQLITE_OK;
}

static int shim_size(sqlite3_file *file, sqlite3_int64 *size)
{
    sqlite3_file *real = real_of(file);

    return real->pMethods->xFileSize(real, size);
}

static int shim_lock(sqlite3_file *file, int level)
{
    sqlite3_file *real = real_of(file);

    return real->pMethods->xLock(real, level);
}

static int shim_unlock(sqlite3_file *file, int level)
{
    sqlite3_file *real = real_of(file);

    return real->pMethods->xUnlock(real, level);
}

static int shim_check_lock(sqlite3_file *file, int *out)
{
    sqlite3_file *real = real_of(file);

    return real->pMethods->xCheckReservedLock(real, out);
}

static int shim_control(sqlite3_file *file, int op, void *arg)
{
    sqlite3_file *real = real_of(file);

    return real->pMethods->xFileControl(real, op, arg);
}

static int shim_sector_size(sqlite3_file *file)
{
    sqlite3_file *real = real_of(file);

    return real->pMethods->xSectorSize(real);
}

static int shim_characteristics(sqlite3_file *file)
{
    sqlite3_file *real = real_of(file);

    return real->pMethods->xDeviceCharacteristics(real);
}

static int shim_shm_map(sqlite3_file *file, int page, int size, int extend, void volatile **out)
{
    sqlite3_file *real = real_of(file);

    if (strikes(FA_SHIM_SHM))
        return shim.fault.code;
    return real->pMethods->xShmMap(real, page, size, extend, out);
}

static int shim_shm_lock(sqlite3_file *file, int offset, int count, int flags)
{
    sqlite3_file *real = real_of(file);

    return real->pMethods->xShmLock(real, offset, count, flags);
}

static void shim_shm_barrier(sqlite3_file *file)
{
    sqlite3_file *real = real_of(file);

    real->pMethods->xShmBarrier(real);
}

static int shim_shm_unmap(sqlite3_file *file, int delete_flag)
{
    sqlite3_file *real = real_of(file);

    return real->pMethods->xShmUnmap(real, delete_flag);
}

/* Version 2: no mapping of the file itself, so that every read comes through shim_read. */
static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = shim_close,
    .xRead = shim_read,
    .xWrite = shim_write,
    .xTruncate = shim_truncate,
    .xSync = shim_sync,
    .xFileSize = shim_size,
    .xLock = shim_lock,
    .xUnlock = shim_unlock,
    .xCheckReservedLock = shim_check_lock,
    .xFileControl = shim_control,
    .xSectorSize = shim_sector_size,
    .xDeviceCharacteristics = shim_characteristics,
    .xShmMap = shim_shm_map,
    .xShmLock = shim_shm_lock,
    .xShmBarrier = shim_shm_barrier,
    .xShmUnmap = shim_shm_unmap,
};

/* ------------------------------------------------------------------------------------------
 * The layer
 */

static int shim_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
                     int *out_flags)
{
    struct shim_file *mine = (struct shim_file *)file;
    int rc;

    (void)vfs;
    mine->base.pMethods = NULL;
    mine->is_main = flags & SQLITE_OPEN_MAIN_DB;
    mine->real = (sqlite3_file *)(mine + 1);
    memset(mine->real, 0, (size_t)shim.real->szOsFile);
    if (strikes(FA_SHIM_OPEN))
        return shim.fault.code;
    rc = shim.real->xOpen(shim.real, name, mine->real, flags, out_flags);
    if (mine->real->pMethods)
        mine->base.pMethods = &methods;
    return rc;
}

static int shim_delete(sqlite3_vfs *vfs, const char *name, int sync_folder)
{
    (void)vfs;
    if (strikes(FA_SHIM_DELETE))
        return shim.fault.code;
    return shim.real->xDelete(shim.real, name, sync_folder);
}

void fa_shim_install(void)
{
    shim.real = sqlite3_vfs_find(NULL);
    shim.vfs = *shim.real;
    shim.vfs.zName = "shim";
    shim.vfs.pNext = NULL;
    shim.vfs.szOsFile = (int)sizeof(struct shim_file) + shim.real->szOsFile;
    shim.vfs.xOpen = shim_open;
    shim.vfs.xDelete = shim_delete;
    sqlite3_vfs_register(&shim.vfs, 1);
}

static void reset_counts(void)
{
    for (int i = 0; i < FA_SHIM_CALL_COUNT; i++)
        shim.counts[i] = 0;
}

void fa_shim_arm(const struct fa_shim_fault *fault)
{
    shim.is_armed = false;
    shim.fault = *fault;
    shim.has_failed = false;
    reset_counts();
    shim.is_armed = true;
}

void fa_shim_disarm(void)
{
    shim.is_armed = false;
    reset_counts();
}

bool fa_shim_has_failed(void)
{
    return shim.has_failed;
}

long fa_shim_count(enum fa_shim_call call)
{
    return shim.counts[call];
}
