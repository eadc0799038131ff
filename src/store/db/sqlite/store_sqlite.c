/*
 * store_sqlite.c - a SQLite file, or memory, as a store.
 *
 * A process that opens a file owns it (owner.h) until it closes it.
 */
#include "store/db/store.h"

#include "base/steady.h"
#include "store/db/sqlite/db_sqlite.h"
#include "store/db/sqlite/owner.h"
#include "store/db/sqlite/reserve.h"
#include "store/db/sqlite/snapshot.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define OPEN_TIMEOUT_MS 2000
#define CACHE_KIB 65536
#define READER_CACHE_KIB 4096

struct store_sqlite {
    struct fa_store base;
    char *path; /* NULL: in memory */
    int64_t cache_kib;
    struct fa_steady clock; /* of all its connections */
    struct fa_owner owner;
    struct fa_reserve reserve;
    atomic_int snapshots; /* backups being made: one at most */
};

static_assert(sizeof(((struct fa_owner *)NULL)->address) ==
                  sizeof(((struct fa_store_owner *)NULL)->address),
              "the same address");

static const struct fa_store_ops file_ops, memory_ops;

static struct store_sqlite *downcast(struct fa_store *store)
{
    assert(store->ops == &file_ops || store->ops == &memory_ops);
    return (struct store_sqlite *)store;
}

static enum faina_code store_connect(struct fa_store *base, bool for_reading, struct fa_db **out,
                                     struct faina_error *err)
{
    struct store_sqlite *store = downcast(base);
    struct fa_sqlite_options options = {
        .path = store->path,
        .is_reader = for_reading,
        .cache_kib = for_reading ? READER_CACHE_KIB : store->cache_kib,
        .clock = &store->clock,
        .snapshots = &store->snapshots,
        .reserve = for_reading || !store->path ? NULL : &store->reserve,
        .file_fd = store->owner.file_fd,
    };

    enum faina_code code = store->path ? fa_owner_check(&store->owner, err) : FAINA_OK;

    if (code == FAINA_OK)
        code = fa_sqlite_open(out, &options, err);
    if (code != FAINA_OK || !store->path || for_reading)
        return code;
    fa_owner_watch(&store->owner);
    code = fa_owner_check(&store->owner, err); /* it may have been replaced before the open */
    if (code != FAINA_OK) {
        fa_db_close(*out);
        *out = NULL;
    }
    return code;
}

static int64_t store_size(struct fa_store *base)
{
    struct store_sqlite *store = downcast(base);

    return store->path ? fa_snapshot_size(store->path) : -1;
}

static const char *store_location(struct fa_store *base)
{
    return downcast(base)->path;
}

static enum faina_code store_check(struct fa_store *base, struct faina_error *err)
{
    return fa_owner_check(&downcast(base)->owner, err);
}

static void store_advertise(struct fa_store *base, const char *address)
{
    fa_owner_advertise(&downcast(base)->owner, address);
}

static struct fa_steady *store_clock(struct fa_store *base)
{
    return &downcast(base)->clock;
}

static enum faina_code store_backup(struct fa_store *base, const char *path,
                                    const struct fa_backup_watch *watch, struct faina_error *err)
{
    struct store_sqlite *store = downcast(base);
    enum faina_code code = fa_owner_check(&store->owner, err);
    int none = 0;

    if (code != FAINA_OK)
        return code;
    if (!atomic_compare_exchange_strong(&store->snapshots, &none, 1))
        return fa_error_set(err, FAINA_OVERLOADED,
                            "a backup is being made already, and there is one at a time; try again "
                            "later");
    code = fa_snapshot_copy(store->path, path, watch, err);
    atomic_store(&store->snapshots, 0);
    return code;
}

static void store_make_room(struct fa_store *base)
{
    fa_reserve_give_up(&downcast(base)->reserve);
}

static bool store_is_full(struct fa_store *base)
{
    return fa_reserve_is_full(&downcast(base)->reserve);
}

static void store_close(struct fa_store *base)
{
    struct store_sqlite *store = downcast(base);

    fa_steady_finish(&store->clock);
    fa_reserve_close(&store->reserve);
    fa_owner_release(&store->owner);
    free(store->path);
    free(store);
}

static const struct fa_store_ops file_ops = {
    .name = "sqlite",
    .writers = 1,
    .has_readers = true,
    .connect = store_connect,
    .size = store_size,
    .location = store_location,
    .clock = store_clock,
    .check = store_check,
    .advertise = store_advertise,
    .backup = store_backup,
    .make_room = store_make_room,
    .is_full = store_is_full,
    .close = store_close,
};

static const struct fa_store_ops memory_ops = {
    .name = "memory",
    .writers = 1,
    .connect = store_connect,
    .size = store_size,
    .location = store_location,
    .clock = store_clock,
    .close = store_close,
};

/* Opening ------------------------------------------------------------------------------------- */

/* Removes the copy that a process leaves when it is killed during a backup for a client. */
static void remove_copy(const char *path)
{
    char name[PATH_MAX];

    if (snprintf(name, sizeof(name), "%s" FA_BACKUP_SUFFIX ".tmp", path) < PATH_MAX)
        unlink(name);
}

static enum faina_code check_path(const char *path, bool must_exist, struct faina_error *err)
{
    struct stat st;

    if (stat(path, &st) != 0) {
        if (must_exist && errno == ENOENT)
            return fa_error_set(err, FAINA_UNAVAILABLE, "there is no store at %.300s" FA_NO_STORE,
                                path);
        return FAINA_OK; /* it is created later */
    }
    if (!S_ISREG(st.st_mode))
        return fa_error_set(err, FAINA_UNAVAILABLE, "%s is not a file", path);
    if (must_exist && st.st_size == 0)
        return fa_error_set(err, FAINA_UNAVAILABLE, "%.300s is empty, and no store" FA_NO_STORE,
                            path);
    /* SQLite would open it for reading, and leave a log beside it that can't be written. */
    if (access(path, R_OK | W_OK) != 0)
        return fa_error_set(err, FAINA_UNAVAILABLE, "%s can't be written: %s", path,
                            strerror(errno));
    return FAINA_OK;
}

enum faina_code fa_store_open_sqlite(struct fa_store **out, const char *path,
                                     const struct faina_options *options,
                                     struct fa_store_owner *owner, struct faina_error *err)
{
    struct store_sqlite *store = fa_alloc_zero(1, sizeof(*store));
    int64_t timeout_ms = OPEN_TIMEOUT_MS;
    enum faina_code code = FAINA_OK;

    store->base.ops = path ? &file_ops : &memory_ops;
    store->path = path ? strdup(path) : NULL;
    store->owner.fd = -1;
    fa_steady_init(&store->clock);
    store->cache_kib = options != NULL && options->cache_kib > 0 ? options->cache_kib : CACHE_KIB;
    if (options != NULL && options->open_timeout_ms != 0)
        timeout_ms = options->open_timeout_ms > 0 ? options->open_timeout_ms : 0;
    if (path != NULL) {
        code = check_path(path, owner && owner->must_exist, err);
        if (code == FAINA_OK)
            code = fa_owner_acquire(&store->owner, path, timeout_ms, owner && owner->is_brief, err);
        if (code == FAINA_OK) {
            remove_copy(path);
            fa_reserve_open(&store->reserve, path, !(owner && owner->is_brief));
        }
    }
    if (code != FAINA_OK) {
        if (owner) {
            memcpy(owner->address, store->owner.address, sizeof(owner->address));
            owner->is_leaving = store->owner.is_leaving;
        }
        store_close(&store->base);
        return code;
    }
    *out = &store->base;
    return FAINA_OK;
}

bool fa_store_has_owner_sqlite(const char *path)
{
    return fa_owner_exists(path);
}

long fa_store_owner_sqlite(const char *path)
{
    return fa_owner_find(path);
}
