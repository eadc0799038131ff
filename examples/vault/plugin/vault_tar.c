/* vault_tar.c - see vault_tar.h. */
#include "vault_tar.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 512
#define WINDOW (64 * 1024) /* what is read at once, of headers */

struct tar {
    int fd;
    uint64_t size, at; /* of the file; where libarchive reads next */
    char *window;
};

/* ------------------------------------------------------------------------------------------
 * What libarchive calls
 */

static la_ssize_t read_window(struct archive *archive, void *ctx, const void **out)
{
    struct tar *tar = ctx;
    ssize_t len = vault_read_at(tar->fd, tar->window, WINDOW, tar->at);

    *out = tar->window;
    if (len < 0) {
        archive_set_error(archive, errno, "the file can't be read: %s", strerror(errno));
        return -1;
    }
    tar->at += (uint64_t)len;
    return len;
}

static la_int64_t skip(struct archive *archive, void *ctx, la_int64_t len)
{
    struct tar *tar = ctx;
    uint64_t rest = tar->at < tar->size ? tar->size - tar->at : 0;
    uint64_t done = (uint64_t)len < rest ? (uint64_t)len : rest;

    (void)archive;
    tar->at += done;
    return (la_int64_t)done;
}

static bool refuse_archive(struct archive *archive, const char *what, struct vault_error *err)
{
    const char *why = archive_error_string(archive);

    return vault_refuse(err, "invalid_archive", "%s at byte %" PRId64 ": %s", what,
                        (int64_t)archive_filter_bytes(archive, 0), why ? why : "unknown");
}

/* ------------------------------------------------------------------------------------------
 * Entries
 */

static uint64_t position(struct archive *archive)
{
    return (uint64_t)archive_filter_bytes(archive, 0);
}

/* The range of an entry that isn't simply `size` bytes: from its first stored byte to its last. */
static bool find_range(struct archive *archive, struct vault_tar_entry *out,
                       struct vault_error *err)
{
    const void *ptr;
    la_int64_t offset;
    size_t len;
    int code;

    out->size = 0;
    while ((code = archive_read_data_block(archive, &ptr, &len, &offset)) == ARCHIVE_OK) {
        uint64_t begin = position(archive);

        if (len == 0)
            continue;
        if (out->size == 0)
            out->at = begin;
        out->size = begin + len - out->at;
    }
    if (code != ARCHIVE_EOF && code != ARCHIVE_WARN)
        return refuse_archive(archive, "the archive is truncated or damaged", err);
    return true;
}

static const char *name_of(struct archive_entry *entry)
{
    const char *name = archive_entry_pathname_utf8(entry);

    if (!name)
        name = archive_entry_pathname(entry);
    return name ? name : "";
}

/* False in *is_file: it has no bytes of its own. */
static bool read_entry(struct archive *archive, struct archive_entry *entry, const struct tar *tar,
                       struct vault_tar_entry *out, bool *is_file, struct vault_error *err)
{
    bool is_regular = archive_entry_filetype(entry) == AE_IFREG && !archive_entry_hardlink(entry);
    la_int64_t size = archive_entry_size(entry);

    *out = (struct vault_tar_entry){
        .path = name_of(entry),
        .at = position(archive),
        .is_sparse = archive_entry_sparse_count(entry) > 0,
    };
    if (is_regular && !out->is_sparse) {
        out->size = size > 0 ? (uint64_t)size : 0;
        if (out->size > tar->size || out->at > tar->size - out->size)
            return vault_refuse(err, "invalid_archive",
                                "the archive is truncated: the entry at byte %" PRIu64
                                " has %" PRIu64 " bytes, and the archive ends after %" PRIu64,
                                out->at, out->size,
                                tar->size - (out->at < tar->size ? out->at : 0));
    } else if (!find_range(archive, out, err)) {
        return false;
    }
    *is_file = is_regular || out->size > 0;
    return true;
}

static bool walk(struct archive *archive, const struct tar *tar, vault_tar_fn *each, void *ctx,
                 struct vault_error *err)
{
    struct vault_tar_entry found;
    struct archive_entry *entry;
    uint64_t end = 0; /* of the latest range; T1 */
    uint64_t behind = 0;
    bool is_file = false;
    int code;

    while ((code = archive_read_next_header(archive, &entry)) == ARCHIVE_OK ||
           code == ARCHIVE_WARN) {
        if (!read_entry(archive, entry, tar, &found, &is_file, err))
            return false;
        if (is_file && (found.at < end || found.at + found.size > tar->size))
            return vault_refuse(err, "invalid_archive",
                                "the entries of the archive overlap at byte %" PRIu64, found.at);
        if (is_file && !each(ctx, &found, err))
            return false;
        if (is_file)
            end = found.at + found.size;
        if (archive_read_data_skip(archive) < ARCHIVE_WARN)
            return refuse_archive(archive, "the archive is truncated or damaged", err);
        behind = position(archive);
    }
    if (code != ARCHIVE_EOF)
        return refuse_archive(archive,
                              behind == 0 ? "this is not a tar archive: damaged header"
                                          : "the archive is truncated or damaged",
                              err);
    /* Archives end with blocks of zeros. One that was cut between two entries lacks them. */
    if (position(archive) < behind + BLOCK)
        return vault_refuse(err, "invalid_archive",
                            "the archive is truncated: it ends without an end mark after byte "
                            "%" PRIu64,
                            behind);
    return true;
}

bool vault_tar_each(int fd, uint64_t size, vault_tar_fn *each, void *ctx, struct vault_error *err)
{
    struct tar tar = {.fd = fd, .size = size, .window = malloc(WINDOW)};
    struct archive *archive = archive_read_new();
    bool is_ok;

    if (!tar.window || !archive) {
        free(tar.window);
        archive_read_free(archive);
        return vault_fail(err, "memory", "out of memory");
    }
    archive_read_support_format_tar(archive);
    if (archive_read_open2(archive, &tar, NULL, read_window, skip, NULL) != ARCHIVE_OK)
        is_ok = vault_refuse(err, "invalid_archive", "this is not a tar archive");
    else
        is_ok = walk(archive, &tar, each, ctx, err);
    archive_read_free(archive);
    free(tar.window);
    return is_ok;
}
