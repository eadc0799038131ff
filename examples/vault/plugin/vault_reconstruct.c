/*
 * vault_reconstruct.c - reconstruct.container: puts a container together again from its skeleton
 * and its leaves, byte by byte as it was.
 *
 * The SHA-256 of the result must be the container's reference. When it isn't, or a file has another
 * size, the leaves and the skeleton are checked one by one, and the error names what was changed.
 * The result has a temporary name until it was verified and flushed to disk, and never replaces a
 * file with other contents.
 */
#include "vault_manifest.h"
#include "vault_tasks.h"
#include "vault_work.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK (1024 * 1024)

struct target {
    char ref[VAULT_HASH_SIZE];
    char path[VAULT_PATH_SIZE]; /* as in the input */
    char name[256];             /* in the folder */
    int folder;
};

struct building {
    struct vault_work *work;
    const struct target *target;
    int out, skeleton;
    char *chunk;
    struct vault_sha sha;
    uint64_t at, skeleton_at;
};

/* Copies up to `len` bytes; what is missing is found by the check at the end. */
static bool copy(struct building *building, int from, uint64_t from_at, uint64_t len,
                 struct vault_error *err)
{
    while (len > 0) {
        size_t part = len < CHUNK ? (size_t)len : CHUNK;
        ssize_t got = vault_read_at(from, building->chunk, part, from_at);

        if (got < 0)
            return vault_fail_errno(err, "read", "the object store");
        if (got == 0)
            break;
        vault_sha_add(&building->sha, building->chunk, (size_t)got);
        if (!vault_write_all(building->out, building->chunk, (size_t)got))
            return vault_fail_errno(err, "write", building->target->path);
        building->at += (uint64_t)got;
        from_at += (uint64_t)got;
        len -= (uint64_t)got;
        if (!vault_work_go_on(building->work, err))
            return false;
    }
    return true;
}

static bool copy_leaf(void *ctx, const struct vault_leaf *leaf, struct vault_error *err)
{
    struct building *building = ctx;
    uint64_t between = leaf->at - building->at;
    char path[VAULT_PATH_SIZE];
    struct stat st;
    bool is_ok;
    int fd;

    if (leaf->at < building->at)
        return vault_refuse(err, "damaged", "the leaves of container %s overlap",
                            building->target->ref);
    if (!copy(building, building->skeleton, building->skeleton_at, between, err))
        return false;
    building->skeleton_at += between;
    if (!vault_store_object(vault_work_store(building->work), leaf->hash, path, err))
        return false;
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno != ENOENT)
        return vault_fail_errno(err, "read", path);
    if (fd < 0)
        return vault_refuse(err, "damaged", "leaf %s is missing in the object store", leaf->hash);
    is_ok = fstat(fd, &st) == 0 && (uint64_t)st.st_size == leaf->size
                ? copy(building, fd, 0, leaf->size, err)
                : vault_refuse(err, "damaged", "leaf %s was changed", leaf->hash);
    close(fd);
    return is_ok;
}

static bool check_leaf(void *ctx, const struct vault_leaf *leaf, struct vault_error *err)
{
    struct building *building = ctx;
    char path[VAULT_PATH_SIZE];

    return vault_store_object(vault_work_store(building->work), leaf->hash, path, err) &&
           vault_store_verify(path, "leaf", leaf->hash, leaf->size, vault_work_go_on,
                              building->work, err);
}

static bool pass_leaf(void *ctx, const struct vault_leaf *leaf, struct vault_error *err)
{
    (void)leaf;
    return vault_work_go_on(((struct building *)ctx)->work, err);
}

/* Names what is damaged: first the manifest, since leaves are checked by it. Always false. */
static bool find_damage(struct building *building, struct vault_error *err)
{
    const struct vault_store *store = vault_work_store(building->work);
    const char *ref = building->target->ref;
    struct vault_container container;
    char path[VAULT_PATH_SIZE];

    return vault_manifest_read(store, ref, pass_leaf, building, &container, err) &&
           vault_manifest_read(store, ref, check_leaf, building, &container, err) &&
           vault_store_skeleton(store, ref, path, err) &&
           vault_store_verify(path, "the skeleton", container.skeleton, container.skeleton_size,
                              vault_work_go_on, building->work, err) &&
           vault_refuse(err, "damaged", "the manifest of container %s doesn't belong to it", ref);
}

static bool build(struct building *building, struct vault_error *err)
{
    const char *ref = building->target->ref;
    struct vault_container container;
    char found[VAULT_HASH_SIZE];
    bool is_ok = vault_manifest_read(vault_work_store(building->work), ref, copy_leaf, building,
                                     &container, err) &&
                 copy(building, building->skeleton, building->skeleton_at, UINT64_MAX, err);

    vault_sha_end(&building->sha, found);
    if (!is_ok && strcmp(err->kind, "damaged") != 0)
        return false;
    return (is_ok && strcmp(found, ref) == 0) || find_damage(building, err);
}

/* ------------------------------------------------------------------------------------------
 * The file
 */

/* Gives the temporary file its name. A file that is there already must have the same bytes: an
 * attempt that was killed at its end has left it. */
static bool give_name(const struct target *target, int fd, const char *temporary,
                      struct vault_error *err)
{
    char there[64];
    struct vault_error other;
    struct stat st;

    if (fsync(fd) != 0 || fstat(fd, &st) != 0)
        return vault_fail_errno(err, "flush", target->path);
    if (linkat(target->folder, temporary, target->folder, target->name, 0) == 0)
        return fsync(target->folder) == 0 || vault_fail_errno(err, "flush", target->path);
    if (errno != EEXIST)
        return vault_fail_errno(err, "create", target->path);
    fd = openat(target->folder, target->name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    snprintf(there, sizeof(there), "/proc/self/fd/%d", fd);
    if (fd >= 0 &&
        vault_store_verify(there, "it", target->ref, (uint64_t)st.st_size, NULL, NULL, &other)) {
        close(fd);
        return true;
    }
    if (fd >= 0)
        close(fd);
    return vault_refuse(err, "exists", "%.300s exists already, with other contents", target->path);
}

static bool write_container(struct building *building, struct vault_error *err)
{
    const struct target *target = building->target;
    char path[VAULT_PATH_SIZE], temporary[64];
    bool is_ok;

    if (!vault_store_skeleton(vault_work_store(building->work), target->ref, path, err))
        return false;
    building->skeleton = open(path, O_RDONLY | O_CLOEXEC);
    if (building->skeleton < 0 && errno != ENOENT)
        return vault_fail_errno(err, "read", path);
    if (building->skeleton < 0)
        return vault_refuse(err, "not_found", "there is no container %s", target->ref);
    snprintf(temporary, sizeof(temporary), ".vault-%s", vault_work_task(building->work));
    unlinkat(target->folder, temporary, 0); /* of an attempt that was killed */
    building->out =
        openat(target->folder, temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (building->out < 0)
        return vault_fail_errno(err, "create", target->path);
    is_ok = build(building, err) && give_name(target, building->out, temporary, err);
    unlinkat(target->folder, temporary, 0);
    return is_ok;
}

static bool run_reconstruct(struct vault_work *work, struct vault_text *output,
                            struct vault_error *err)
{
    const struct target *target = vault_work_input(work);
    struct building building = {
        .work = work, .target = target, .out = -1, .skeleton = -1, .chunk = malloc(CHUNK)};
    char unused[VAULT_HASH_SIZE];
    bool is_ok;

    vault_sha_begin(&building.sha);
    is_ok = building.chunk ? write_container(&building, err)
                           : vault_fail(err, "memory", "out of memory");
    if (building.sha.state)
        vault_sha_end(&building.sha, unused);
    if (building.skeleton >= 0)
        close(building.skeleton);
    if (building.out >= 0)
        close(building.out);
    close(target->folder);
    free(building.chunk);
    if (is_ok) {
        vault_text_printf(output, "{\"outputPath\":");
        vault_text_json(output, target->path);
        vault_text_printf(output, ",\"verified\":true}");
    }
    return is_ok;
}

/* ------------------------------------------------------------------------------------------
 * The input
 */

static bool read_target(yajl_val input, struct target *out, struct vault_error *err)
{
    const char *ref = vault_json_str(input, "containerRef");
    const char *path = vault_json_str(input, "outputPath"), *slash;
    char folder[VAULT_PATH_SIZE];

    if (!vault_is_hash(ref))
        return vault_refuse(err, "invalid_input",
                            "containerRef is not a SHA-256 in hexadecimal, as ingest.container "
                            "returns it");
    if (!path || !vault_path(out->path, "%s", path))
        return vault_refuse(err, "invalid_input", "the input has no text outputPath");
    slash = strrchr(path, '/');
    snprintf(out->name, sizeof(out->name), "%s", slash ? slash + 1 : path);
    if (!out->name[0] || strcmp(out->name, ".") == 0 || strcmp(out->name, "..") == 0 ||
        strlen(slash ? slash + 1 : path) >= sizeof(out->name))
        return vault_refuse(err, "invalid_input", "outputPath %.300s does not name a file", path);
    memcpy(out->ref, ref, sizeof(out->ref));
    vault_path(folder, "%.*s", slash ? (int)(slash - path + 1) : 1, slash ? path : ".");
    out->folder = vault_open_file(folder, O_RDONLY | O_DIRECTORY, err);
    return out->folder >= 0;
}

enum faina_outcome vault_reconstruct_start(struct faina_context *context, void *user)
{
    struct target *target = calloc(1, sizeof(*target));
    enum faina_outcome outcome;
    struct vault_error err;
    yajl_val input = NULL;
    bool is_ok;
    int folder;

    (void)user;
    if (!target)
        return FAINA_OUTCOME_FAILED;
    is_ok = vault_json_object(faina_context_task(context)->input, "the input", &input, &err) &&
            read_target(input, target, &err);
    yajl_tree_free(input);
    if (!is_ok) {
        free(target);
        return vault_give_up(context, &err);
    }
    folder = target->folder;
    outcome = vault_work_begin(context, "reconstructing container", run_reconstruct, target);
    if (outcome != FAINA_OUTCOME_BACKGROUND)
        close(folder);
    return outcome;
}
