/*
 * vault_store.c - see vault_store.h.
 *
 * The flushing thread takes open files from a queue and flushes them one after the other. The file
 * system commits several of them at once, because more are written meanwhile. The writing back of
 * each begins as soon as the leaf is complete.
 */
#include "vault_store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define QUEUE_SIZE 128 /* open files that wait to be flushed */
#define CHUNK (1024 * 1024)
#define NOTE_SIZE_MAX ((size_t)4 * 1024 * 1024)
#define NAMESPACE_SIZE_MAX 255

/* ------------------------------------------------------------------------------------------
 * Folders
 */

static bool make_folder(const char *path, struct vault_error *err)
{
    return mkdir(path, 0700) == 0 || errno == EEXIST ? true : vault_fail_errno(err, "create", path);
}

static bool make_below(const char *root, const char *name, struct vault_error *err)
{
    char path[VAULT_PATH_SIZE];

    if (!vault_path(path, "%s/%s", root, name))
        return vault_refuse(err, "settings", "the path of the store is too long");
    return make_folder(path, err);
}

/* A namespace becomes the name of a folder. */
static bool is_folder_name(const char *ns)
{
    return ns[0] && strlen(ns) <= NAMESPACE_SIZE_MAX && ns[0] != '.' && !strchr(ns, '/');
}

bool vault_store_open(struct vault_store *store, const char *ns, struct vault_error *err)
{
    static const char *const folders[] = {"objects", "skeletons", "manifests", "notes", "staging"};
    const char *root = vault_settings()->store;
    char *real;
    bool is_ok;

    if (!is_folder_name(ns))
        return vault_refuse(err, "invalid_input",
                            "the namespace %.100s can't be the name of a folder", ns);
    if (!make_folder(root, err))
        return false;
    real = realpath(root, NULL);
    if (!real)
        return vault_fail_errno(err, "find", root);
    is_ok = vault_path(store->root, "%s/%s", real, ns) && strlen(store->root) < 3000;
    free(real);
    if (!is_ok)
        return vault_refuse(err, "settings", "the path of the store is too long");
    is_ok = make_folder(store->root, err);
    for (size_t i = 0; is_ok && i < VAULT_COUNT(folders); i++)
        is_ok = make_below(store->root, folders[i], err);
    return is_ok;
}

static bool path_in(const struct vault_store *store, const char *hash, char out[VAULT_PATH_SIZE],
                    const char *before, const char *behind, struct vault_error *err)
{
    if (!vault_is_hash(hash))
        return vault_refuse(err, "invalid_input", "\"%.100s\" is not a SHA-256 in hexadecimal",
                            hash ? hash : "");
    return vault_path(out, "%s/%s/%s%s", store->root, before, hash, behind) ||
           vault_refuse(err, "settings", "the path of the store is too long");
}

bool vault_store_object(const struct vault_store *store, const char *hash,
                        char out[VAULT_PATH_SIZE], struct vault_error *err)
{
    char folder[32];

    snprintf(folder, sizeof(folder), "objects/%.2s", hash ? hash : "");
    return path_in(store, hash, out, folder, "", err);
}

bool vault_store_skeleton(const struct vault_store *store, const char *ref,
                          char out[VAULT_PATH_SIZE], struct vault_error *err)
{
    return path_in(store, ref, out, "skeletons", "", err);
}

bool vault_store_manifest(const struct vault_store *store, const char *ref,
                          char out[VAULT_PATH_SIZE], struct vault_error *err)
{
    return path_in(store, ref, out, "manifests", ".jsonl", err);
}

static bool sync_folder(const char *path, struct vault_error *err)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool is_ok = fd >= 0 && fsync(fd) == 0;

    if (!is_ok)
        vault_fail_errno(err, "flush", path);
    if (fd >= 0)
        close(fd);
    return is_ok;
}

/* ------------------------------------------------------------------------------------------
 * Writing leaves
 */

struct vault_writer {
    char staging[VAULT_PATH_SIZE];
    struct vault_sha sha;
    int fd; /* of the current leaf; -1: none */

    pthread_t thread;
    pthread_mutex_t mutex; /* guards the rest */
    pthread_cond_t changed;
    int queue[QUEUE_SIZE];
    size_t first, count;
    bool is_ending, has_thread;
    int failed; /* errno of a flush; 0: none */
};

static void *flush_main(void *arg)
{
    struct vault_writer *writer = arg;

    pthread_mutex_lock(&writer->mutex);
    for (;;) {
        int fd, failed;

        while (writer->count == 0 && !writer->is_ending)
            pthread_cond_wait(&writer->changed, &writer->mutex);
        if (writer->count == 0)
            break;
        fd = writer->queue[writer->first];
        writer->first = (writer->first + 1) % QUEUE_SIZE;
        writer->count--;
        pthread_cond_broadcast(&writer->changed);
        pthread_mutex_unlock(&writer->mutex);
        failed = fdatasync(fd) == 0 ? 0 : errno;
        if (close(fd) != 0 && failed == 0)
            failed = errno;
        pthread_mutex_lock(&writer->mutex);
        if (failed && !writer->failed)
            writer->failed = failed;
    }
    pthread_mutex_unlock(&writer->mutex);
    return NULL;
}

bool vault_writer_open(struct vault_writer **out, const char *staging, struct vault_error *err)
{
    struct vault_writer *writer = calloc(1, sizeof(*writer));

    if (!writer)
        return vault_fail(err, "memory", "out of memory");
    writer->fd = -1;
    pthread_mutex_init(&writer->mutex, NULL);
    pthread_cond_init(&writer->changed, NULL);
    if (!vault_path(writer->staging, "%s/leaves", staging) || !make_folder(writer->staging, err)) {
        vault_writer_close(writer);
        return false;
    }
    writer->has_thread = pthread_create(&writer->thread, NULL, flush_main, writer) == 0;
    if (!writer->has_thread) {
        vault_writer_close(writer);
        return vault_fail(err, "thread", "can't start a thread");
    }
    *out = writer;
    return true;
}

bool vault_writer_begin(struct vault_writer *writer, struct vault_error *err)
{
    char path[VAULT_PATH_SIZE + 16];

    snprintf(path, sizeof(path), "%s/new", writer->staging);
    writer->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0400);
    if (writer->fd < 0)
        return vault_fail_errno(err, "create", path);
    vault_sha_begin(&writer->sha);
    return true;
}

bool vault_writer_add(struct vault_writer *writer, const void *ptr, size_t len,
                      struct vault_error *err)
{
    vault_sha_add(&writer->sha, ptr, len);
    return vault_write_all(writer->fd, ptr, len) ||
           vault_fail_errno(err, "write a leaf in", writer->staging);
}

/* Waits while the queue is full. */
static bool enqueue(struct vault_writer *writer, int fd, struct vault_error *err)
{
    int failed;

    pthread_mutex_lock(&writer->mutex);
    while (writer->count == QUEUE_SIZE)
        pthread_cond_wait(&writer->changed, &writer->mutex);
    writer->queue[(writer->first + writer->count++) % QUEUE_SIZE] = fd;
    failed = writer->failed;
    pthread_cond_broadcast(&writer->changed);
    pthread_mutex_unlock(&writer->mutex);
    errno = failed;
    return failed == 0 || vault_fail_errno(err, "flush a leaf in", writer->staging);
}

static bool end_leaf(struct vault_writer *writer, const char *hash, struct vault_error *err)
{
    char from[VAULT_PATH_SIZE + 16], to[VAULT_PATH_SIZE + VAULT_HASH_SIZE];
    int fd = writer->fd;

    writer->fd = -1;
    sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE);
    snprintf(from, sizeof(from), "%s/new", writer->staging);
    snprintf(to, sizeof(to), "%s/%s", writer->staging, hash);
    if (rename(from, to) == 0)
        return enqueue(writer, fd, err);
    vault_fail_errno(err, "rename", from);
    close(fd);
    return false;
}

bool vault_writer_end(struct vault_writer *writer, char hash[VAULT_HASH_SIZE],
                      struct vault_error *err)
{
    vault_sha_end(&writer->sha, hash);
    return end_leaf(writer, hash, err);
}

bool vault_writer_put(struct vault_writer *writer, const void *ptr, size_t len,
                      char hash[VAULT_HASH_SIZE], struct vault_error *err)
{
    char path[VAULT_PATH_SIZE + VAULT_HASH_SIZE];
    struct vault_sha sha;

    vault_sha_begin(&sha);
    vault_sha_add(&sha, ptr, len);
    vault_sha_end(&sha, hash);
    snprintf(path, sizeof(path), "%s/%s", writer->staging, hash);
    if (access(path, F_OK) == 0)
        return true;
    snprintf(path, sizeof(path), "%s/new", writer->staging);
    writer->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0400);
    if (writer->fd < 0)
        return vault_fail_errno(err, "create", path);
    if (!vault_write_all(writer->fd, ptr, len))
        return vault_fail_errno(err, "write a leaf in", writer->staging);
    return end_leaf(writer, hash, err);
}

bool vault_writer_flush(struct vault_writer *writer, struct vault_error *err)
{
    pthread_mutex_lock(&writer->mutex);
    writer->is_ending = true;
    pthread_cond_broadcast(&writer->changed);
    pthread_mutex_unlock(&writer->mutex);
    if (writer->has_thread)
        pthread_join(writer->thread, NULL);
    writer->has_thread = false;
    errno = writer->failed;
    return writer->failed == 0 || vault_fail_errno(err, "flush a leaf in", writer->staging);
}

void vault_writer_close(struct vault_writer *writer)
{
    struct vault_error ignored;
    char hash[VAULT_HASH_SIZE];

    if (!writer)
        return;
    if (writer->sha.state)
        vault_sha_end(&writer->sha, hash);
    if (writer->fd >= 0)
        close(writer->fd);
    if (writer->has_thread)
        (void)vault_writer_flush(writer, &ignored);
    pthread_cond_destroy(&writer->changed);
    pthread_mutex_destroy(&writer->mutex);
    free(writer);
}

static bool publish_one(const struct vault_store *store, const char *staging, const char *hash,
                        bool changed[256], struct vault_error *err)
{
    char from[VAULT_PATH_SIZE], to[VAULT_PATH_SIZE], folder[VAULT_PATH_SIZE];
    unsigned number = 0;

    if (!vault_path(from, "%s/leaves/%s", staging, hash) ||
        !vault_path(folder, "%s/objects/%.2s", store->root, hash) ||
        !vault_store_object(store, hash, to, err))
        return vault_refuse(err, "settings", "the path of the store is too long");
    if (!make_folder(folder, err))
        return false;
    if (rename(from, to) != 0)
        return vault_fail_errno(err, "rename", from);
    sscanf(hash, "%2x", &number);
    changed[number & 255] = true;
    return true;
}

bool vault_store_publish(const struct vault_store *store, const char *staging,
                         struct vault_error *err)
{
    bool changed[256] = {false}, is_ok = true, is_any = false;
    char path[VAULT_PATH_SIZE];
    struct dirent *item;
    DIR *dir;

    if (!vault_path(path, "%s/leaves", staging))
        return vault_refuse(err, "settings", "the path of the store is too long");
    dir = opendir(path);
    if (!dir)
        return vault_fail_errno(err, "open", path);
    while (is_ok && (item = readdir(dir)) != NULL)
        if (vault_is_hash(item->d_name))
            is_ok = publish_one(store, staging, item->d_name, changed, err);
    closedir(dir);
    for (unsigned i = 0; is_ok && i < 256; i++) {
        if (!changed[i])
            continue;
        is_any = true;
        is_ok = vault_path(path, "%s/objects/%02x", store->root, i) && sync_folder(path, err);
    }
    if (is_ok && is_any) /* some of the folders may be new */
        is_ok = vault_path(path, "%s/objects", store->root) && sync_folder(path, err);
    return is_ok;
}

/* ------------------------------------------------------------------------------------------
 * Whole files
 */

bool vault_store_rename(int fd, const char *from, const char *to, struct vault_error *err)
{
    char folder[VAULT_PATH_SIZE];
    const char *slash = strrchr(to, '/');

    if (!slash || !vault_path(folder, "%.*s", (int)(slash - to), to))
        return vault_refuse(err, "settings", "the path of the store is too long");
    if (fsync(fd) != 0)
        return vault_fail_errno(err, "flush", from);
    if (rename(from, to) != 0)
        return vault_fail_errno(err, "rename", from);
    return sync_folder(folder, err);
}

bool vault_store_write(const char *path, const char *ptr, size_t len, struct vault_error *err)
{
    char temporary[VAULT_PATH_SIZE];
    bool is_ok;
    int fd;

    if (!vault_path(temporary, "%s.XXXXXX", path))
        return vault_refuse(err, "settings", "the path of the store is too long");
    fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0)
        return vault_fail_errno(err, "create", temporary);
    is_ok = vault_write_all(fd, ptr, len) || vault_fail_errno(err, "write", temporary);
    is_ok = is_ok && vault_store_rename(fd, temporary, path, err);
    close(fd);
    if (!is_ok)
        unlink(temporary);
    return is_ok;
}

bool vault_store_read(const char *path, size_t size_max, char **out, struct vault_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    ssize_t len;

    *out = NULL;
    if (fd < 0)
        return errno == ENOENT || vault_fail_errno(err, "read", path);
    if (fstat(fd, &st) != 0 || (uint64_t)st.st_size > size_max) {
        close(fd);
        return vault_refuse(err, "damaged", "%.300s is larger than %zu bytes", path, size_max);
    }
    *out = malloc((size_t)st.st_size + 1);
    len = *out ? vault_read_at(fd, *out, (size_t)st.st_size, 0) : -1;
    close(fd);
    if (len >= 0) {
        (*out)[len] = '\0';
        return true;
    }
    free(*out);
    *out = NULL;
    return vault_fail_errno(err, "read", path);
}

static bool hash_file(int fd, const char *path, char hash[VAULT_HASH_SIZE], vault_stop_fn *stop,
                      void *ctx, struct vault_error *err)
{
    char *chunk = malloc(CHUNK);
    struct vault_sha sha;
    bool is_ok = chunk != NULL || vault_fail(err, "memory", "out of memory");
    ssize_t len = 1;

    vault_sha_begin(&sha);
    for (uint64_t at = 0; is_ok && len > 0; at += (uint64_t)len) {
        len = vault_read_at(fd, chunk, CHUNK, at);
        if (len < 0)
            is_ok = vault_fail_errno(err, "read", path);
        else
            vault_sha_add(&sha, chunk, (size_t)len);
        if (is_ok && stop)
            is_ok = stop(ctx, err);
    }
    vault_sha_end(&sha, hash);
    free(chunk);
    return is_ok;
}

bool vault_store_verify(const char *path, const char *what, const char *hash, uint64_t size,
                        vault_stop_fn *stop, void *ctx, struct vault_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char found[VAULT_HASH_SIZE];
    struct stat st;
    bool is_ok;

    if (fd < 0 && errno == ENOENT)
        return vault_refuse(err, "damaged", "%s %s is missing in the object store", what, hash);
    if (fd < 0 || fstat(fd, &st) != 0) {
        vault_fail_errno(err, "read", path);
        if (fd >= 0)
            close(fd);
        return false;
    }
    if ((uint64_t)st.st_size != size) {
        close(fd);
        return vault_refuse(err, "damaged", "%s %s was changed: it has %lld bytes instead of %llu",
                            what, hash, (long long)st.st_size, (unsigned long long)size);
    }
    is_ok = hash_file(fd, path, found, stop, ctx, err);
    close(fd);
    if (is_ok && strcmp(found, hash) != 0)
        return vault_refuse(err, "damaged", "%s %s was changed: its SHA-256 is now %s", what, hash,
                            found);
    return is_ok;
}

/* ------------------------------------------------------------------------------------------
 * Notes
 */

bool vault_note_write(const struct vault_store *store, const char *hash, const char *kind,
                      const char *json, struct vault_error *err)
{
    char folder[VAULT_PATH_SIZE], path[VAULT_PATH_SIZE];

    if (!vault_is_hash(hash))
        return vault_refuse(err, "invalid_input", "\"%.100s\" is not a SHA-256 in hexadecimal",
                            hash ? hash : "");
    if (!vault_path(folder, "%s/notes/%.2s", store->root, hash) ||
        !vault_path(path, "%s/%s.%s", folder, hash, kind))
        return vault_refuse(err, "settings", "the path of the store is too long");
    return make_folder(folder, err) && vault_store_write(path, json, strlen(json), err);
}

static bool read_note(const char *folder, const char *name, vault_note_fn *each, void *ctx,
                      struct vault_error *err)
{
    char path[VAULT_PATH_SIZE], hash[VAULT_HASH_SIZE] = "", *json;
    const char *kind = name + VAULT_HASH_SIZE;
    yajl_val value;
    bool is_ok;

    if (strlen(name) <= VAULT_HASH_SIZE || strchr(kind, '.'))
        return true; /* a temporary file */
    memcpy(hash, name, VAULT_HASH_SIZE - 1);
    if (!vault_is_hash(hash) || !vault_path(path, "%s/%s", folder, name))
        return true;
    if (!vault_store_read(path, NOTE_SIZE_MAX, &json, err))
        return false;
    if (!vault_json_object(json, "it", &value, err)) {
        free(json);
        return vault_refuse(err, "damaged", "the note %s of leaf %s is not JSON", kind, hash);
    }
    yajl_tree_free(value);
    is_ok = each(ctx, hash, kind, json, err);
    free(json);
    return is_ok;
}

bool vault_note_each(const struct vault_store *store, vault_note_fn *each, void *ctx,
                     struct vault_error *err)
{
    bool is_ok = true;

    for (unsigned i = 0; is_ok && i < 256; i++) {
        char folder[VAULT_PATH_SIZE];
        struct dirent **items;
        int count;

        if (!vault_path(folder, "%s/notes/%02x", store->root, i))
            return vault_refuse(err, "settings", "the path of the store is too long");
        count = scandir(folder, &items, NULL, alphasort);
        if (count < 0 && errno != ENOENT)
            return vault_fail_errno(err, "read", folder);
        for (int k = 0; k < count; k++) {
            is_ok = is_ok && read_note(folder, items[k]->d_name, each, ctx, err);
            free(items[k]);
        }
        if (count >= 0)
            free(items);
    }
    return is_ok;
}
