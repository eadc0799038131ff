/* vault_manifest.c - see vault_manifest.h. */
#include "vault_manifest.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

struct vault_manifest_writer {
    FILE *file;
    char path[VAULT_PATH_SIZE];
    struct vault_sha check;
};

/* ------------------------------------------------------------------------------------------
 * Writing
 */

bool vault_manifest_create(struct vault_manifest_writer **out, const char *path,
                           struct vault_error *err)
{
    struct vault_manifest_writer *writer = calloc(1, sizeof(*writer));

    if (!writer)
        return vault_fail(err, "memory", "out of memory");
    snprintf(writer->path, sizeof(writer->path), "%s", path);
    writer->file = fopen(path, "we");
    if (!writer->file) {
        free(writer);
        return vault_fail_errno(err, "create", path);
    }
    vault_sha_begin(&writer->check);
    *out = writer;
    return true;
}

static bool write_line(struct vault_manifest_writer *writer, struct vault_text *line,
                       struct vault_error *err)
{
    bool is_ok = fwrite(line->ptr, 1, line->len, writer->file) == line->len;

    vault_text_free(line);
    return is_ok || vault_fail_errno(err, "write", writer->path);
}

bool vault_manifest_add(struct vault_manifest_writer *writer, const struct vault_leaf *leaf,
                        struct vault_error *err)
{
    struct vault_text line = {0};

    vault_text_printf(&line, "{\"path\":");
    vault_text_json(&line, leaf->path);
    vault_text_printf(&line, ",\"at\":%" PRIu64 ",\"size\":%" PRIu64 ",\"mime\":\"%s\"", leaf->at,
                      leaf->size, leaf->mime);
    if (leaf->is_sparse)
        vault_text_printf(&line, ",\"sparse\":true");
    vault_text_printf(&line, ",\"hash\":\"%s\"}\n", leaf->hash);
    vault_sha_add(&writer->check, line.ptr, line.len);
    return write_line(writer, &line, err);
}

bool vault_manifest_finish(struct vault_manifest_writer *writer,
                           const struct vault_container *container, const char *to,
                           struct vault_error *err)
{
    struct vault_text line = {0};
    char check[VAULT_HASH_SIZE];

    vault_sha_end(&writer->check, check);
    vault_text_printf(&line,
                      "{\"container\":\"%s\",\"size\":%" PRIu64 ",\"entries\":%" PRId64
                      ",\"leaves\":%" PRId64 ",\"skeleton\":{\"hash\":\"%s\",\"size\":%" PRIu64
                      "},\"check\":\"%s\"}\n",
                      container->ref, container->size, container->entry_count,
                      container->leaf_count, container->skeleton, container->skeleton_size, check);
    if (!write_line(writer, &line, err))
        return false;
    if (fflush(writer->file) != 0)
        return vault_fail_errno(err, "write", writer->path);
    return vault_store_rename(fileno(writer->file), writer->path, to, err);
}

void vault_manifest_close(struct vault_manifest_writer *writer)
{
    char check[VAULT_HASH_SIZE];

    if (!writer)
        return;
    if (writer->check.state)
        vault_sha_end(&writer->check, check);
    fclose(writer->file);
    free(writer);
}

/* ------------------------------------------------------------------------------------------
 * Reading
 */

static bool damaged(const char *ref, const char *how, struct vault_error *err)
{
    return vault_refuse(err, "damaged", "the manifest of container %s was changed: %s", ref, how);
}

static bool read_leaf(yajl_val line, const char *ref, vault_leaf_fn *each, void *ctx,
                      struct vault_error *err)
{
    const char *sparse[] = {"sparse", NULL};
    const char *hash = vault_json_str(line, "hash");
    struct vault_leaf leaf = {
        .path = vault_json_str(line, "path"),
        .mime = vault_json_str(line, "mime"),
        .at = (uint64_t)vault_json_count(line, "at"),
        .size = (uint64_t)vault_json_count(line, "size"),
        .is_sparse = yajl_tree_get(line, sparse, yajl_t_true) != NULL,
    };

    if (!leaf.path || !leaf.mime || !vault_is_hash(hash) || vault_json_count(line, "at") < 0 ||
        vault_json_count(line, "size") < 0)
        return damaged(ref, "a line isn't that of a leaf", err);
    memcpy(leaf.hash, hash, sizeof(leaf.hash));
    return each(ctx, &leaf, err);
}

static bool read_end(yajl_val line, const char *ref, const char *check, struct vault_container *out,
                     struct vault_error *err)
{
    const char *where[] = {"skeleton", NULL};
    yajl_val skeleton = yajl_tree_get(line, where, yajl_t_object);
    const char *container = vault_json_str(line, "container");
    const char *hash = skeleton ? vault_json_str(skeleton, "hash") : NULL;
    const char *written = vault_json_str(line, "check");

    if (!container || strcmp(container, ref) != 0 || !vault_is_hash(hash) || !written ||
        vault_json_count(line, "size") < 0 || vault_json_count(skeleton, "size") < 0)
        return damaged(ref, "its last line is not valid", err);
    if (strcmp(written, check) != 0)
        return damaged(ref, "its lines don't have the SHA-256 that its last line states", err);
    memcpy(out->ref, container, sizeof(out->ref));
    memcpy(out->skeleton, hash, sizeof(out->skeleton));
    out->size = (uint64_t)vault_json_count(line, "size");
    out->skeleton_size = (uint64_t)vault_json_count(skeleton, "size");
    out->entry_count = vault_json_count(line, "entries");
    out->leaf_count = vault_json_count(line, "leaves");
    return true;
}

struct reading {
    const char *ref;
    vault_leaf_fn *each;
    void *ctx;
    struct vault_container *out;
    struct vault_sha check;
    char found[VAULT_HASH_SIZE];
    bool has_end;
};

static bool read_line(struct reading *reading, const char *text, size_t len,
                      struct vault_error *err)
{
    bool is_ok;
    yajl_val line;

    if (reading->has_end)
        return damaged(reading->ref, "there is something behind its last line", err);
    if (strlen(text) != len || !vault_json_object(text, "it", &line, err))
        return damaged(reading->ref, "a line is not a JSON object", err);
    reading->has_end = vault_json_str(line, "container") != NULL;
    if (reading->has_end) {
        vault_sha_end(&reading->check, reading->found);
        is_ok = read_end(line, reading->ref, reading->found, reading->out, err);
    } else {
        vault_sha_add(&reading->check, text, len);
        is_ok = read_leaf(line, reading->ref, reading->each, reading->ctx, err);
    }
    yajl_tree_free(line);
    return is_ok;
}

bool vault_manifest_read(const struct vault_store *store, const char *ref, vault_leaf_fn *each,
                         void *ctx, struct vault_container *out, struct vault_error *err)
{
    struct reading reading = {.ref = ref, .each = each, .ctx = ctx, .out = out};
    char path[VAULT_PATH_SIZE], *text = NULL;
    bool is_ok = true;
    size_t size = 0;
    FILE *file;
    ssize_t len;

    if (!vault_store_manifest(store, ref, path, err))
        return false;
    file = fopen(path, "re");
    if (!file && errno == ENOENT)
        return vault_refuse(err, "not_found", "there is no container %s", ref);
    if (!file)
        return vault_fail_errno(err, "read", path);
    vault_sha_begin(&reading.check);
    while (is_ok && (len = getline(&text, &size, file)) > 0)
        is_ok = read_line(&reading, text, (size_t)len, err);
    if (is_ok && ferror(file))
        is_ok = vault_fail_errno(err, "read", path);
    if (is_ok && !reading.has_end)
        is_ok = damaged(ref, "its last line is missing", err);
    if (reading.check.state)
        vault_sha_end(&reading.check, reading.found);
    free(text);
    fclose(file);
    return is_ok;
}

/* ------------------------------------------------------------------------------------------
 * Kinds of files
 */

static bool is_text(const unsigned char *head, size_t len)
{
    size_t more = 0; /* bytes of a character that are still to come */

    for (size_t i = 0; i < len; i++) {
        unsigned char c = head[i];

        if (more > 0 ? (c & 0xc0) != 0x80 : (c < 0x20 && !strchr("\t\n\f\r\033", c)) || c == 0)
            return false;
        if (more > 0)
            more--;
        else if (c >= 0x80)
            more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : c >= 0xc2 ? 1 : SIZE_MAX;
        if (more == SIZE_MAX)
            return false;
    }
    return len > 0;
}

const char *vault_mime(const char *path, const unsigned char *head, size_t len)
{
    static const struct {
        const char *bytes;
        size_t len;
        const char *mime;
    } begins[] = {
        {"ID3", 3, "audio/mpeg"},
        {"\xff\xfb", 2, "audio/mpeg"},
        {"\xff\xf3", 2, "audio/mpeg"},
        {"\x89PNG\r\n\x1a\n", 8, "image/png"},
        {"\xff\xd8\xff", 3, "image/jpeg"},
        {"GIF8", 4, "image/gif"},
        {"%PDF-", 5, "application/pdf"},
        {"PK\x03\x04", 4, "application/zip"},
        {"\x1f\x8b", 2, "application/gzip"},
    };
    size_t name = strlen(path);

    for (size_t i = 0; i < VAULT_COUNT(begins); i++)
        if (len >= begins[i].len && memcmp(head, begins[i].bytes, begins[i].len) == 0)
            return begins[i].mime;
    /* ID3v1 is at the end, so such a file has no mark of its own at the beginning. */
    if (name > 4 && strcasecmp(path + name - 4, ".mp3") == 0)
        return "audio/mpeg";
    return is_text(head, len) ? "text/plain" : "application/octet-stream";
}
