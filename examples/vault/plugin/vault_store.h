/*
 * vault_store.h - the object store of one namespace: a folder that holds everything that matters.
 *
 *     VAULT_STORE/NAMESPACE/
 *         objects/ab/abcd...       leaves, under their SHA-256
 *         skeletons/REF            the bytes of a container that are in no leaf
 *         manifests/REF.jsonl      what a container consists of (vault_manifest.h)
 *         notes/ab/abcd....KIND    what was found out about a leaf, JSON
 *         staging/TASK/            the work of an attempt (vault_work.h)
 *         index.db                 the index database, which rebuild.sql makes from the rest
 *
 *   S1  A file has its final name only when all of its bytes are on disk, and it is never changed
 *       afterwards. So after a kill or a power cut there is a whole file or none.
 *   S2  A manifest is renamed to its name after all that it refers to.
 *
 * Threads: any, each with its own writer.
 */
#ifndef VAULT_STORE_H
#define VAULT_STORE_H

#include "vault.h"

struct vault_store {
    char root[VAULT_PATH_SIZE]; /* absolute */
};

/* Creates the folders that are missing. */
bool vault_store_open(struct vault_store *store, const char *ns, struct vault_error *err);

bool vault_store_object(const struct vault_store *store, const char *hash,
                        char out[VAULT_PATH_SIZE], struct vault_error *err);
bool vault_store_skeleton(const struct vault_store *store, const char *ref,
                          char out[VAULT_PATH_SIZE], struct vault_error *err);
bool vault_store_manifest(const struct vault_store *store, const char *ref,
                          char out[VAULT_PATH_SIZE], struct vault_error *err);

/* ------------------------------------------------------------------------------------------
 * Writing leaves
 *
 * Leaves are written into a staging folder. A second thread flushes them to disk meanwhile. When
 * all are flushed, they are renamed into objects/.
 */

struct vault_writer;

bool vault_writer_open(struct vault_writer **out, const char *staging, struct vault_error *err);
/* One leaf: begin, add as often as needed, end. `hash` is of what was added. */
bool vault_writer_begin(struct vault_writer *writer, struct vault_error *err);
bool vault_writer_add(struct vault_writer *writer, const void *ptr, size_t len,
                      struct vault_error *err);
bool vault_writer_end(struct vault_writer *writer, char hash[VAULT_HASH_SIZE],
                      struct vault_error *err);
/* The same for a leaf that is in memory. Bytes that were written already are not written again. */
bool vault_writer_put(struct vault_writer *writer, const void *ptr, size_t len,
                      char hash[VAULT_HASH_SIZE], struct vault_error *err);
/* Waits until everything is on disk. Nothing can be written afterwards. */
bool vault_writer_flush(struct vault_writer *writer, struct vault_error *err);
void vault_writer_close(struct vault_writer *writer); /* NULL is fine */

/* Renames all flushed leaves of `staging` into the store. A leaf that is there already is replaced
 * by the same bytes: that repairs one that was damaged. */
bool vault_store_publish(const struct vault_store *store, const char *staging,
                         struct vault_error *err);

/* ------------------------------------------------------------------------------------------
 * Whole files
 */

/* Flushes the open file `from`, renames it to `to` and flushes the folder of `to`. */
bool vault_store_rename(int fd, const char *from, const char *to, struct vault_error *err);
/* Writes a small file whole, through a temporary one beside it. */
bool vault_store_write(const char *path, const char *ptr, size_t len, struct vault_error *err);
/* The text of a small file, to be freed; NULL in *out: there is none. */
bool vault_store_read(const char *path, size_t size_max, char **out, struct vault_error *err);

/* Checks the bytes of a file against its hash and size. A difference is an error that names `what`
 * and the hash. `stop` (may be NULL) is asked now and then. */
typedef bool vault_stop_fn(void *ctx, struct vault_error *err); /* false: stop, with *err */
bool vault_store_verify(const char *path, const char *what, const char *hash, uint64_t size,
                        vault_stop_fn *stop, void *ctx, struct vault_error *err);

/* ------------------------------------------------------------------------------------------
 * Notes
 */

bool vault_note_write(const struct vault_store *store, const char *hash, const char *kind,
                      const char *json, struct vault_error *err);
/* Calls `each` for every note, in the order of their names. */
typedef bool vault_note_fn(void *ctx, const char *hash, const char *kind, const char *json,
                           struct vault_error *err);
bool vault_note_each(const struct vault_store *store, vault_note_fn *each, void *ctx,
                     struct vault_error *err);

#endif
