/*
 * vault_ingest.c - ingest.container: splits a tar into leaves and a skeleton.
 *
 * The archive is read once for the leaves and, in a second thread at the same time, once for its
 * own SHA-256, the reference of the container. Nothing is visible in the object store until the
 * whole archive was read without an error. Then the leaves are renamed into it, the skeleton, the
 * manifest, the index is written, and the events are emitted, each once per leaf by its id. A kill
 * anywhere leaves files that the next attempt writes again, with the same bytes.
 */
#include "vault_events.h"
#include "vault_index.h"
#include "vault_tar.h"
#include "vault_tasks.h"
#include "vault_work.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK (1024 * 1024)

struct source {
    int fd;
    struct stat st; /* before it is read */
};

/* The hashes of the leaves: first of all entries, then sorted and each once. */
struct hashes {
    char (*items)[VAULT_HASH_SIZE];
    bool *are_seen;
    size_t count, size;
};

struct ingest {
    struct vault_work *work;
    const struct source *source;
    char *chunk;
    char path[VAULT_PATH_SIZE]; /* of the current entry: longer ones, up to 1 MiB, are cut */
    struct vault_writer *writer;
    struct vault_manifest_writer *manifest;
    int skeleton;
    struct vault_sha skeleton_sha;
    uint64_t at; /* in the archive: everything before is in a leaf or in the skeleton */
    struct hashes hashes;
    struct vault_container container;
};

/* ------------------------------------------------------------------------------------------
 * Hashes
 */

static void add_hash(struct hashes *hashes, const char *hash)
{
    if (hashes->count == hashes->size) {
        hashes->size = hashes->size ? 2 * hashes->size : 256;
        hashes->items = realloc(hashes->items, hashes->size * sizeof(*hashes->items));
        if (!hashes->items)
            abort();
    }
    memcpy(hashes->items[hashes->count++], hash, VAULT_HASH_SIZE);
}

static int compare_hashes(const void *left, const void *right)
{
    return strcmp(left, right);
}

static void sort_hashes(struct hashes *hashes)
{
    size_t count = 0;

    if (hashes->count > 0)
        qsort(hashes->items, hashes->count, sizeof(*hashes->items), compare_hashes);
    for (size_t i = 0; i < hashes->count; i++)
        if (count == 0 || strcmp(hashes->items[count - 1], hashes->items[i]) != 0)
            memmove(hashes->items[count++], hashes->items[i], VAULT_HASH_SIZE);
    hashes->count = count;
    hashes->are_seen = calloc(count + 1, sizeof(bool));
    if (!hashes->are_seen)
        abort();
}

/* True the first time it is called with this hash. */
static bool see_hash(struct hashes *hashes, const char *hash)
{
    const char(*found)[VAULT_HASH_SIZE] =
        hashes->count == 0
            ? NULL
            : bsearch(hash, hashes->items, hashes->count, sizeof(*hashes->items), compare_hashes);
    size_t i = found ? (size_t)(found - (const char(*)[VAULT_HASH_SIZE])hashes->items) : 0;
    bool is_new = found && !hashes->are_seen[i];

    if (is_new)
        hashes->are_seen[i] = true;
    return is_new;
}

/* ------------------------------------------------------------------------------------------
 * Reading the archive
 */

static bool read_chunk(struct ingest *ingest, size_t len, struct vault_error *err)
{
    return vault_read_at(ingest->source->fd, ingest->chunk, len, ingest->at) == (ssize_t)len ||
           vault_fail(err, "io", "the archive changed while it was read");
}

static bool report(struct ingest *ingest, struct vault_error *err)
{
    return vault_work_progress(ingest->work, ingest->at, (uint64_t)ingest->source->st.st_size, err);
}

/* Copies what is between two leaves to the skeleton. */
static bool add_skeleton(struct ingest *ingest, uint64_t end, struct vault_error *err)
{
    while (ingest->at < end) {
        size_t len = end - ingest->at < CHUNK ? (size_t)(end - ingest->at) : CHUNK;

        if (!read_chunk(ingest, len, err))
            return false;
        vault_sha_add(&ingest->skeleton_sha, ingest->chunk, len);
        if (!vault_write_all(ingest->skeleton, ingest->chunk, len))
            return vault_fail_errno(err, "write", "the skeleton");
        ingest->at += len;
        ingest->container.skeleton_size += len;
        if (!report(ingest, err))
            return false;
    }
    return true;
}

/* A leaf of several chunks, of which the first one was read. */
static bool add_large(struct ingest *ingest, struct vault_leaf *leaf, struct vault_error *err)
{
    uint64_t end = leaf->at + leaf->size;

    if (!vault_writer_begin(ingest->writer, err) ||
        !vault_writer_add(ingest->writer, ingest->chunk, CHUNK, err))
        return false;
    for (ingest->at += CHUNK; ingest->at < end;) {
        size_t len = end - ingest->at < CHUNK ? (size_t)(end - ingest->at) : CHUNK;

        if (!read_chunk(ingest, len, err) ||
            !vault_writer_add(ingest->writer, ingest->chunk, len, err))
            return false;
        ingest->at += len;
        if (!report(ingest, err))
            return false;
    }
    return vault_writer_end(ingest->writer, leaf->hash, err);
}

static bool add_leaf(struct ingest *ingest, struct vault_leaf *leaf, struct vault_error *err)
{
    size_t len = leaf->size < CHUNK ? (size_t)leaf->size : CHUNK;

    if (!read_chunk(ingest, len, err))
        return false;
    leaf->mime = leaf->is_sparse ? "application/x-sparse"
                                 : vault_mime(leaf->path, (unsigned char *)ingest->chunk,
                                              len < VAULT_MIME_HEAD ? len : VAULT_MIME_HEAD);
    if (leaf->size > CHUNK)
        return add_large(ingest, leaf, err);
    ingest->at += len;
    return vault_writer_put(ingest->writer, ingest->chunk, len, leaf->hash, err) &&
           report(ingest, err);
}

static bool take_entry(void *ctx, const struct vault_tar_entry *entry, struct vault_error *err)
{
    struct ingest *ingest = ctx;
    struct vault_leaf leaf = {
        .path = ingest->path, .at = entry->at, .size = entry->size, .is_sparse = entry->is_sparse};

    snprintf(ingest->path, sizeof(ingest->path), "%s", entry->path);
    ingest->container.entry_count++;
    if (!add_skeleton(ingest, entry->at, err) || !add_leaf(ingest, &leaf, err))
        return false;
    add_hash(&ingest->hashes, leaf.hash);
    return vault_manifest_add(ingest->manifest, &leaf, err);
}

struct digest {
    int fd;
    char hash[VAULT_HASH_SIZE];
    atomic_bool is_stopped;
    bool is_ok;
};

static void *digest_main(void *arg)
{
    struct digest *digest = arg;
    char *chunk = malloc(CHUNK);
    struct vault_sha sha;
    ssize_t len = chunk ? 1 : -1;

    vault_sha_begin(&sha);
    for (uint64_t at = 0; len > 0 && !atomic_load(&digest->is_stopped); at += (uint64_t)len) {
        len = vault_read_at(digest->fd, chunk, CHUNK, at);
        if (len > 0)
            vault_sha_add(&sha, chunk, (size_t)len);
    }
    vault_sha_end(&sha, digest->hash);
    digest->is_ok = len == 0;
    free(chunk);
    return NULL;
}

static bool is_unchanged(const struct source *source)
{
    struct stat now;

    return fstat(source->fd, &now) == 0 && now.st_size == source->st.st_size &&
           now.st_mtim.tv_sec == source->st.st_mtim.tv_sec &&
           now.st_mtim.tv_nsec == source->st.st_mtim.tv_nsec;
}

static bool read_leaves(struct ingest *ingest, struct vault_error *err)
{
    uint64_t size = (uint64_t)ingest->source->st.st_size;

    return vault_tar_each(ingest->source->fd, size, take_entry, ingest, err) &&
           add_skeleton(ingest, size, err) && vault_writer_flush(ingest->writer, err);
}

static bool read_archive(struct ingest *ingest, struct vault_error *err)
{
    struct digest digest = {.fd = ingest->source->fd};
    pthread_t thread;
    bool is_ok;

    if (pthread_create(&thread, NULL, digest_main, &digest) != 0)
        return vault_fail(err, "thread", "can't start a thread");
    is_ok = read_leaves(ingest, err);
    atomic_store(&digest.is_stopped, !is_ok);
    pthread_join(thread, NULL);
    if (!is_ok)
        return false;
    if (!digest.is_ok || !is_unchanged(ingest->source))
        return vault_fail(err, "io", "the archive changed while it was read");
    memcpy(ingest->container.ref, digest.hash, sizeof(digest.hash));
    ingest->container.size = (uint64_t)ingest->source->st.st_size;
    vault_sha_end(&ingest->skeleton_sha, ingest->container.skeleton);
    sort_hashes(&ingest->hashes);
    ingest->container.leaf_count = (int64_t)ingest->hashes.count;
    return true;
}

/* ------------------------------------------------------------------------------------------
 * Storing it
 */

static bool store_skeleton(const struct ingest *ingest, const char *from, struct vault_error *err)
{
    char to[VAULT_PATH_SIZE];

    return vault_store_skeleton(vault_work_store(ingest->work), ingest->container.ref, to, err) &&
           vault_store_rename(ingest->skeleton, from, to, err);
}

static bool store_manifest(const struct ingest *ingest, struct vault_error *err)
{
    char to[VAULT_PATH_SIZE];

    return vault_store_manifest(vault_work_store(ingest->work), ingest->container.ref, to, err) &&
           vault_manifest_finish(ingest->manifest, &ingest->container, to, err);
}

struct indexing {
    struct ingest *ingest;
    struct vault_index *index;
};

static bool index_leaf(void *ctx, const struct vault_leaf *leaf, struct vault_error *err)
{
    struct indexing *indexing = ctx;

    return vault_index_leaf(indexing->index, indexing->ingest->container.ref, leaf, err) &&
           vault_work_go_on(indexing->ingest->work, err);
}

/* Reads the manifest that was stored, and so checks it. */
static bool write_index(struct ingest *ingest, struct vault_error *err)
{
    const struct vault_store *store = vault_work_store(ingest->work);
    struct indexing indexing = {.ingest = ingest};
    struct vault_container found;
    bool is_ok =
        vault_index_begin(&indexing.index, store, vault_work_go_on, ingest->work, err) &&
        vault_manifest_read(store, ingest->container.ref, index_leaf, &indexing, &found, err) &&
        vault_index_container(indexing.index, &found, err) &&
        vault_index_commit(indexing.index, err);

    vault_index_close(indexing.index);
    return is_ok;
}

struct announcing {
    struct ingest *ingest;
    struct vault_events *events;
};

static bool announce_leaf(void *ctx, const struct vault_leaf *leaf, struct vault_error *err)
{
    struct announcing *announcing = ctx;
    struct ingest *ingest = announcing->ingest;

    return !see_hash(&ingest->hashes, leaf->hash) ||
           (vault_events_created(announcing->events, ingest->container.ref, leaf, err) &&
            vault_work_go_on(ingest->work, err));
}

static bool emit_events(struct ingest *ingest, struct vault_error *err)
{
    struct announcing announcing = {.ingest = ingest, .events = vault_events_open(ingest->work)};
    struct vault_container found;
    bool is_ok = vault_manifest_read(vault_work_store(ingest->work), ingest->container.ref,
                                     announce_leaf, &announcing, &found, err) &&
                 vault_events_flush(announcing.events, err);

    vault_events_close(announcing.events);
    return is_ok;
}

/* ------------------------------------------------------------------------------------------
 * The work
 */

static bool ingest_all(struct ingest *ingest, struct vault_text *output, struct vault_error *err)
{
    const char *folder = vault_work_folder(ingest->work);
    char skeleton[VAULT_PATH_SIZE + 16], manifest[VAULT_PATH_SIZE + 16];

    snprintf(skeleton, sizeof(skeleton), "%s/skeleton", folder);
    snprintf(manifest, sizeof(manifest), "%s/manifest", folder);
    ingest->skeleton = open(skeleton, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0400);
    if (ingest->skeleton < 0)
        return vault_fail_errno(err, "create", skeleton);
    if (!vault_writer_open(&ingest->writer, folder, err) ||
        !vault_manifest_create(&ingest->manifest, manifest, err) || !read_archive(ingest, err) ||
        !vault_store_publish(vault_work_store(ingest->work), folder, err) ||
        !store_skeleton(ingest, skeleton, err) || !store_manifest(ingest, err) ||
        !write_index(ingest, err) || !emit_events(ingest, err))
        return false;
    vault_text_printf(output, "{\"containerRef\":\"%s\",\"leafCount\":%" PRId64 "}",
                      ingest->container.ref, ingest->container.leaf_count);
    return true;
}

static bool run_ingest(struct vault_work *work, struct vault_text *output, struct vault_error *err)
{
    const struct source *source = vault_work_input(work);
    struct ingest ingest = {.work = work, .source = source, .skeleton = -1, .chunk = malloc(CHUNK)};
    char unused[VAULT_HASH_SIZE];
    bool is_ok;

    vault_sha_begin(&ingest.skeleton_sha);
    is_ok = ingest.chunk ? ingest_all(&ingest, output, err)
                         : vault_fail(err, "memory", "out of memory");
    if (ingest.skeleton_sha.state)
        vault_sha_end(&ingest.skeleton_sha, unused);
    vault_manifest_close(ingest.manifest);
    vault_writer_close(ingest.writer);
    if (ingest.skeleton >= 0)
        close(ingest.skeleton);
    close(source->fd);
    free(ingest.hashes.items);
    free(ingest.hashes.are_seen);
    free(ingest.chunk);
    return is_ok;
}

static bool open_source(const char *json, struct source *out, struct vault_error *err)
{
    const char *path;
    yajl_val input;

    if (!vault_json_object(json, "the input", &input, err))
        return false;
    path = vault_json_str(input, "sourcePath");
    if (!path || !path[0])
        vault_refuse(err, "invalid_input", "the input has no text sourcePath");
    out->fd = path && path[0] ? vault_open_file(path, O_RDONLY, err) : -1;
    if (out->fd >= 0 && (fstat(out->fd, &out->st) != 0 || !S_ISREG(out->st.st_mode))) {
        vault_refuse(err, "invalid_input", "%.300s is not a regular file", path);
        close(out->fd);
        out->fd = -1;
    }
    yajl_tree_free(input);
    return out->fd >= 0;
}

enum faina_outcome vault_ingest_start(struct faina_context *context, void *user)
{
    struct source *source = calloc(1, sizeof(*source));
    struct vault_error err;
    enum faina_outcome outcome;
    int fd;

    (void)user;
    if (!source)
        return FAINA_OUTCOME_FAILED;
    if (!open_source(faina_context_task(context)->input, source, &err)) {
        free(source);
        return vault_give_up(context, &err);
    }
    fd = source->fd;
    outcome = vault_work_begin(context, "ingesting container", run_ingest, source);
    if (outcome != FAINA_OUTCOME_BACKGROUND)
        close(fd);
    return outcome;
}
