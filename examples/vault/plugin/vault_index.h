/*
 * vault_index.h - the index database of a namespace, SQLite: what is found without reading the
 * object store. It has nothing that rebuild.sql couldn't make again.
 *
 *     container (ref, size, entries, leaves)   entry (container, at, path, size, hash)
 *     leaf (hash, size, mime)                  note (hash, kind, body)
 *
 *   I1  It is written under a lock of the file index.lock, which a rebuild holds until the new
 *       database is in its place. So nothing that is added meanwhile is lost.
 *   I2  A rebuild of the same object store makes the same bytes.
 *
 * Threads: each its own index.
 */
#ifndef VAULT_INDEX_H
#define VAULT_INDEX_H

#include "vault_manifest.h"

struct vault_index;

/* Opens the index, under its lock, and begins a transaction. Waits for others; `stop` (may be NULL)
 * is asked meanwhile. */
bool vault_index_begin(struct vault_index **out, const struct vault_store *store,
                       vault_stop_fn *stop, void *ctx, struct vault_error *err);
/* The same for a new database, which replaces the index when it is committed. */
bool vault_index_begin_new(struct vault_index **out, const struct vault_store *store,
                           vault_stop_fn *stop, void *ctx, struct vault_error *err);
bool vault_index_commit(struct vault_index *index, struct vault_error *err);
/* Rolls back what was not committed. NULL is fine. */
void vault_index_close(struct vault_index *index);

/* Each replaces what was stored of the same. */
bool vault_index_container(struct vault_index *index, const struct vault_container *container,
                           struct vault_error *err);
bool vault_index_leaf(struct vault_index *index, const char *ref, const struct vault_leaf *leaf,
                      struct vault_error *err);
bool vault_index_note(struct vault_index *index, const char *hash, const char *kind,
                      const char *json, struct vault_error *err);

/* The leaves, each once, by their hashes. */
typedef bool vault_known_fn(void *ctx, const char *hash, uint64_t size, const char *mime,
                            struct vault_error *err);
bool vault_index_leaves(struct vault_index *index, vault_known_fn *each, void *ctx,
                        struct vault_error *err);
/* The same, of one container. */
bool vault_index_leaves_of(struct vault_index *index, const char *ref, vault_known_fn *each,
                           void *ctx, struct vault_error *err);
/* The same, but only up to `limit` leaves without a note of this kind. */
bool vault_index_without(struct vault_index *index, const char *kind, int limit,
                         vault_known_fn *each, void *ctx, struct vault_error *err);
/* One leaf. False in *is_known: there is none. Texts are to be freed; note is NULL without one. */
bool vault_index_find(struct vault_index *index, const char *hash, bool *is_known, char **path,
                      char **mime, uint64_t *size, char **search, struct vault_error *err);
int64_t vault_index_count(struct vault_index *index, const char *table);

#endif
