/*
 * vault_manifest.h - what a container consists of: JSON lines, in manifests/REF.jsonl.
 *
 *     {"path":"a/song.mp3","at":512,"size":4811,"mime":"audio/mpeg","hash":"5891..."}   each leaf
 *     {"container":REF,"size":10240,"entries":1,"leaves":1,"skeleton":{"hash":...,"size":...},
 *      "check":...}                                                                     the last
 *
 * REF is the SHA-256 of the container. The leaves are in the order of their positions; what is
 * between them is in the skeleton, in this order. `check` is the SHA-256 of all lines before the
 * last one, and the last one has nothing behind it.
 *
 *   M1  A manifest that is truncated or was changed is an error that names it.
 *   M2  Reading takes the same memory for every manifest.
 *
 * Threads: each its own reader or writer.
 */
#ifndef VAULT_MANIFEST_H
#define VAULT_MANIFEST_H

#include "vault_store.h"

struct vault_leaf {
    const char *path; /* lent for the call */
    const char *mime; /* likewise */
    uint64_t at, size;
    bool is_sparse;
    char hash[VAULT_HASH_SIZE];
};

struct vault_container {
    char ref[VAULT_HASH_SIZE], skeleton[VAULT_HASH_SIZE];
    uint64_t size, skeleton_size;
    int64_t entry_count; /* lines */
    int64_t leaf_count;  /* different leaves */
};

struct vault_manifest_writer;

/* Writes to a new file `path`, which is renamed to its name later. */
bool vault_manifest_create(struct vault_manifest_writer **out, const char *path,
                           struct vault_error *err);
bool vault_manifest_add(struct vault_manifest_writer *writer, const struct vault_leaf *leaf,
                        struct vault_error *err);
/* Writes the last line, flushes the file and renames it to `to`. */
bool vault_manifest_finish(struct vault_manifest_writer *writer,
                           const struct vault_container *container, const char *to,
                           struct vault_error *err);
void vault_manifest_close(struct vault_manifest_writer *writer); /* NULL is fine */

/* False: stop, with *err. */
typedef bool vault_leaf_fn(void *ctx, const struct vault_leaf *leaf, struct vault_error *err);

/* Calls `each` for every leaf; `out` is what the last line says. Checked against `ref` and M1,
 * but only after the last leaf: what `each` does must be undone when this fails. */
bool vault_manifest_read(const struct vault_store *store, const char *ref, vault_leaf_fn *each,
                         void *ctx, struct vault_container *out, struct vault_error *err);

/* What is in a file, by its first bytes and its name. Static. */
#define VAULT_MIME_HEAD 4096
const char *vault_mime(const char *path, const unsigned char *head, size_t len);

#endif
