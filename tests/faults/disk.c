/*
 * disk.c - what a loss of power would leave.
 *
 * Every file that is followed has an image of what was flushed, in memory, and a list of the
 * changes since. A flush applies the list to the image. A cut applies a part of it to a copy.
 */
#include "faults/disk.h"

#include "support/support.h"

#include "base/random.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECTOR 512
#define FILES 3

static const char *const endings[FILES] = {"", "-wal", "-journal"};

struct disk_file {
    sqlite3_file base;
    sqlite3_file *real;    /* right behind this struct */
    struct followed *seen; /* NULL: not followed */
};

/* A write, or a truncation (data is NULL). */
struct change {
    unsigned char *data;
    size_t offset, size;
};

struct image {
    unsigned char *bytes;
    size_t size, room;
};

struct followed {
    char path[FA_T_PATH_SIZE];
    struct image flushed;
    struct change *changes;
    size_t count, room;
    bool exists;     /* now */
    bool is_certain; /* D3: it is there, or not, after a cut too */
};

/* SQLite knows one default file layer per process, so there is one of these. */
static struct {
    sqlite3_vfs vfs;
    sqlite3_vfs *real;
    pthread_mutex_t mutex;
    struct followed files[FILES];
    struct fa_random random;
    bool is_following, is_lying, has_cut;
    long calls, cut_at, lost;
    void (*on_cut)(void *ctx);
    void *ctx;
    struct image crashed[FILES];
    bool crashed_exists[FILES];
} disk = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* ------------------------------------------------------------------------------------------
 * Images
 */

static void resize(struct image *image, size_t size)
{
    if (size > image->room) {
        image->room = size + size / 2;
        image->bytes = fa_realloc(image->bytes, image->room);
    }
    if (size > image->size)
        memset(image->bytes + image->size, 0, size - image->size);
    image->size = size;
}

static void clear(struct image *image)
{
    free(image->bytes);
    *image = (struct image){0};
}

static void put(struct image *image, size_t offset, const unsigned char *data, size_t size)
{
    if (offset + size > image->size)
        resize(image, offset + size);
    memcpy(image->bytes + offset, data, size);
}

static void apply(struct image *image, const struct change *change)
{
    if (change->data)
        put(image, change->offset, change->data, change->size);
    else
        resize(image, change->size);
}

/* Each sector of the write by itself. */
static void apply_torn(struct image *image, const struct change *change)
{
    size_t end = change->offset + change->size;

    for (size_t at = change->offset; at < end;) {
        size_t next = (at / SECTOR + 1) * SECTOR < end ? (at / SECTOR + 1) * SECTOR : end;

        if (fa_random_below(&disk.random, 2))
            put(image, at, change->data + (at - change->offset), next - at);
        at = next;
    }
}

static void forget_changes(struct followed *file)
{
    for (size_t i = 0; i < file->count; i++)
        free(file->changes[i].data);
    file->count = 0;
}

static void add_change(struct followed *file, const void *data, size_t offset, size_t size)
{
    struct change change = {.offset = offset, .size = size};

    if (data) {
        change.data = fa_alloc(size + 1);
        memcpy(change.data, data, size);
    }
    if (file->count == file->room) {
        file->room = file->room ? 2 * file->room : 64;
        file->changes = fa_realloc(file->changes, file->room * sizeof(*file->changes));
    }
    file->changes[file->count++] = change;
}

static void flush(struct followed *file)
{
    for (size_t i = 0; i < file->count; i++)
        apply(&file->flushed, &file->changes[i]);
    forget_changes(file);
}

/* ------------------------------------------------------------------------------------------
 * The cut
 */

enum style { NOTHING, EVERYTHING, MIXED, LAST_TORN, STYLES };

/* D2, for one file. */
static void crash_file(const struct followed *file, struct image *out, enum style style)
{
    resize(out, file->flushed.size);
    if (file->flushed.size > 0)
        memcpy(out->bytes, file->flushed.bytes, file->flushed.size);
    for (size_t i = 0; i < file->count; i++) {
        const struct change *change = &file->changes[i];
        bool is_last = i + 1 == file->count;
        uint32_t dice = (uint32_t)fa_random_below(&disk.random, 3);
        bool is_torn = change->data && (style == MIXED ? dice == 0 : style == LAST_TORN && is_last);
        bool is_left_out = style == NOTHING || (style == MIXED && dice == 1);

        disk.lost += is_left_out || is_torn;
        if (is_left_out)
            continue;
        if (is_torn)
            apply_torn(out, change);
        else
            apply(out, change);
    }
}

static void crash(void)
{
    enum style style = (enum style)fa_random_below(&disk.random, STYLES);

    disk.lost = 0;
    for (int i = 0; i < FILES; i++) {
        struct followed *file = &disk.files[i];
        bool coin = fa_random_below(&disk.random, 2);

        clear(&disk.crashed[i]);
        disk.crashed_exists[i] = file->is_certain ? file->exists : coin;
        if (disk.crashed_exists[i])
            crash_file(file, &disk.crashed[i], style);
    }
    disk.has_cut = true;
}

/* Before each call that changes a file; the mutex is held. */
static void count_call(void)
{
    disk.calls++;
    if (disk.cut_at > 0 && --disk.cut_at == 0) {
        disk.on_cut(disk.ctx);
        crash();
    }
}

/* ------------------------------------------------------------------------------------------
 * Files
 */

static sqlite3_file *real_of(sqlite3_file *file)
{
    return ((struct disk_file *)file)->real;
}

/* The file as far as it is followed, with the mutex held; else NULL, and it isn't. */
static struct followed *enter(sqlite3_file *file)
{
    struct followed *seen = ((struct disk_file *)file)->seen;

    if (seen == NULL)
        return NULL;
    pthread_mutex_lock(&disk.mutex);
    if (disk.is_following && seen->path[0])
        return seen;
    pthread_mutex_unlock(&disk.mutex);
    return NULL;
}

static int disk_close(sqlite3_file *file)
{
    sqlite3_file *real = real_of(file);

    return real->pMethods ? real->pMethods->xClose(real) : SQLITE_OK;
}

static int disk_read(sqlite3_file *file, void *data, int size, sqlite3_int64 offset)
{
    return real_of(file)->pMethods->xRead(real_of(file), data, size, offset);
}

static int disk_write(sqlite3_file *file, const void *data, int size, sqlite3_int64 offset)
{
    struct followed *seen = enter(file);
    int rc;

    if (seen)
        count_call();
    rc = real_of(file)->pMethods->xWrite(real_of(file), data, size, offset);
    if (seen) {
        add_change(seen, data, (size_t)offset, (size_t)size);
        pthread_mutex_unlock(&disk.mutex);
    }
    return rc;
}

static int disk_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    struct followed *seen = enter(file);
    int rc;

    if (seen)
        count_call();
    rc = real_of(file)->pMethods->xTruncate(real_of(file), size);
    if (seen) {
        add_change(seen, NULL, 0, (size_t)size);
        pthread_mutex_unlock(&disk.mutex);
    }
    return rc;
}

/* The first flush of a new log or journal flushes the folder too, as SQLite's own layer does. */
static int disk_sync(sqlite3_file *file, int flags)
{
    struct followed *seen = enter(file);

    (void)flags;
    if (seen == NULL)
        return SQLITE_OK;
    count_call();
    if (!disk.is_lying) {
        flush(seen);
        for (int i = 0; seen != &disk.files[0] && i < FILES; i++)
            disk.files[i].is_certain = true;
    }
    pthread_mutex_unlock(&disk.mutex);
    return SQLITE_OK;
}

static int disk_size(sqlite3_file *file, sqlite3_int64 *size)
{
    return real_of(file)->pMethods->xFileSize(real_of(file), size);
}

static int disk_lock(sqlite3_file *file, int level)
{
    return real_of(file)->pMethods->xLock(real_of(file), level);
}

static int disk_unlock(sqlite3_file *file, int level)
{
    return real_of(file)->pMethods->xUnlock(real_of(file), level);
}

static int disk_check_lock(sqlite3_file *file, int *out)
{
    return real_of(file)->pMethods->xCheckReservedLock(real_of(file), out);
}

static int disk_control(sqlite3_file *file, int op, void *arg)
{
    return real_of(file)->pMethods->xFileControl(real_of(file), op, arg);
}

static int disk_sector_size(sqlite3_file *file)
{
    return real_of(file)->pMethods->xSectorSize(real_of(file));
}

static int disk_characteristics(sqlite3_file *file)
{
    return real_of(file)->pMethods->xDeviceCharacteristics(real_of(file));
}

static int disk_shm_map(sqlite3_file *file, int page, int size, int extend, void volatile **out)
{
    return real_of(file)->pMethods->xShmMap(real_of(file), page, size, extend, out);
}

static int disk_shm_lock(sqlite3_file *file, int offset, int count, int flags)
{
    return real_of(file)->pMethods->xShmLock(real_of(file), offset, count, flags);
}

static void disk_shm_barrier(sqlite3_file *file)
{
    real_of(file)->pMethods->xShmBarrier(real_of(file));
}

static int disk_shm_unmap(sqlite3_file *file, int delete_flag)
{
    return real_of(file)->pMethods->xShmUnmap(real_of(file), delete_flag);
}

/* Version 2: the file isn't mapped, so that every write comes through disk_write. */
static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = disk_close,
    .xRead = disk_read,
    .xWrite = disk_write,
    .xTruncate = disk_truncate,
    .xSync = disk_sync,
    .xFileSize = disk_size,
    .xLock = disk_lock,
    .xUnlock = disk_unlock,
    .xCheckReservedLock = disk_check_lock,
    .xFileControl = disk_control,
    .xSectorSize = disk_sector_size,
    .xDeviceCharacteristics = disk_characteristics,
    .xShmMap = disk_shm_map,
    .xShmLock = disk_shm_lock,
    .xShmBarrier = disk_shm_barrier,
    .xShmUnmap = disk_shm_unmap,
};

/* ------------------------------------------------------------------------------------------
 * The layer
 */

/* With the mutex held. */
static struct followed *find(const char *name)
{
    for (int i = 0; name && disk.is_following && i < FILES; i++)
        if (strcmp(disk.files[i].path, name) == 0)
            return &disk.files[i];
    return NULL;
}

static int disk_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
                     int *out_flags)
{
    struct disk_file *mine = (struct disk_file *)file;
    int rc;

    (void)vfs;
    mine->base.pMethods = NULL;
    mine->real = (sqlite3_file *)(mine + 1);
    memset(mine->real, 0, (size_t)disk.real->szOsFile);
    pthread_mutex_lock(&disk.mutex);
    mine->seen = find(name);
    rc = disk.real->xOpen(disk.real, name, mine->real, flags, out_flags);
    if (mine->real->pMethods)
        mine->base.pMethods = &methods;
    if (rc == SQLITE_OK && mine->seen && !mine->seen->exists) {
        mine->seen->exists = true;
        mine->seen->is_certain = false;
    }
    pthread_mutex_unlock(&disk.mutex);
    return rc;
}

/* A removed file that comes back after a cut has what was flushed of it. */
static int disk_delete(sqlite3_vfs *vfs, const char *name, int sync_folder)
{
    struct followed *seen;
    int rc;

    (void)vfs;
    pthread_mutex_lock(&disk.mutex);
    seen = find(name);
    if (seen)
        count_call();
    rc = disk.real->xDelete(disk.real, name, 0);
    if (seen && rc == SQLITE_OK) {
        seen->exists = false;
        seen->is_certain = sync_folder && !disk.is_lying;
        forget_changes(seen);
        if (seen->is_certain)
            clear(&seen->flushed);
    }
    pthread_mutex_unlock(&disk.mutex);
    return rc;
}

void fa_disk_install(void)
{
    disk.real = sqlite3_vfs_find(NULL);
    disk.vfs = *disk.real;
    disk.vfs.zName = "disk";
    disk.vfs.pNext = NULL;
    disk.vfs.szOsFile = (int)sizeof(struct disk_file) + disk.real->szOsFile;
    disk.vfs.xOpen = disk_open;
    disk.vfs.xDelete = disk_delete;
    sqlite3_vfs_register(&disk.vfs, 1);
}

static void load(struct image *image, const char *path)
{
    FILE *file = fopen(path, "rb");
    unsigned char bytes[65536];
    size_t got;

    while (file && (got = fread(bytes, 1, sizeof bytes, file)) > 0)
        put(image, image->size, bytes, got);
    if (file)
        fclose(file);
}

void fa_disk_follow(const char *path, uint64_t seed)
{
    fa_disk_leave();
    pthread_mutex_lock(&disk.mutex);
    fa_random_seed(&disk.random, seed);
    for (int i = 0; i < FILES; i++) {
        struct followed *file = &disk.files[i];

        snprintf(file->path, sizeof file->path, "%.480s%s", path, endings[i]);
        file->exists = access(file->path, F_OK) == 0;
        file->is_certain = true;
        load(&file->flushed, file->path);
    }
    disk.is_following = true;
    disk.calls = 0;
    pthread_mutex_unlock(&disk.mutex);
}

void fa_disk_leave(void)
{
    pthread_mutex_lock(&disk.mutex);
    for (int i = 0; i < FILES; i++) {
        forget_changes(&disk.files[i]);
        free(disk.files[i].changes);
        clear(&disk.files[i].flushed);
        clear(&disk.crashed[i]);
        disk.files[i] = (struct followed){0};
    }
    disk.is_following = disk.has_cut = false;
    disk.cut_at = 0;
    pthread_mutex_unlock(&disk.mutex);
}

void fa_disk_cut_at(long nth, void (*on_cut)(void *ctx), void *ctx)
{
    pthread_mutex_lock(&disk.mutex);
    disk.cut_at = nth;
    disk.on_cut = on_cut;
    disk.ctx = ctx;
    disk.has_cut = false;
    pthread_mutex_unlock(&disk.mutex);
}

bool fa_disk_has_cut(void)
{
    bool has_cut;

    pthread_mutex_lock(&disk.mutex);
    has_cut = disk.has_cut;
    pthread_mutex_unlock(&disk.mutex);
    return has_cut;
}

void fa_disk_write_crashed(const char *path)
{
    char name[FA_T_PATH_SIZE];

    snprintf(name, sizeof name, "%.480s-shm", path);
    remove(name);
    for (int i = 0; i < FILES; i++) {
        FILE *file;

        snprintf(name, sizeof name, "%.480s%s", path, endings[i]);
        remove(name);
        if (!disk.crashed_exists[i])
            continue;
        file = fopen(name, "wb");
        CHECK(file != NULL, "can't write %s", name);
        if (disk.crashed[i].size > 0)
            CHECK(fwrite(disk.crashed[i].bytes, 1, disk.crashed[i].size, file) ==
                      disk.crashed[i].size,
                  "can't write %s", name);
        CHECK(fclose(file) == 0, "can't write %s", name);
        clear(&disk.crashed[i]);
    }
}

void fa_disk_lie(void)
{
    disk.is_lying = true;
}

long fa_disk_calls(void)
{
    return disk.calls;
}

long fa_disk_lost(void)
{
    return disk.lost;
}
