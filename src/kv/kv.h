/*
 * kv.h - a store of keys with revisions, under the engine of document 002.
 *
 * A key has a value and a revision: a number that grows with every write to the store. A write
 * names the revision that the key must still have, so every write is a compare-and-set. Deleting a
 * key leaves a marker with a revision of its own; after some time the marker is removed too.
 *
 *   V1  A write with `expected` takes effect only if that is the key's last revision: that of its
 *       value, of its marker, or 0 when it has neither. Else its code is CONFLICT.
 *   V2  A write whose code is OK is stored as durably as the store promises (fa_kv_info), and a
 *       write whose code is UNAVAILABLE may or may not be stored.
 *   V3  Revisions grow with each write, over all keys, and are never 0.
 *   V4  A watch delivers the last value of every key at least once, and then every later change; of
 *       several quick changes of one key perhaps only the last. It never misses the last one: when
 *       it can't be sure, it begins again (`reset`).
 *   V5  A read that is not `is_fresh` may return an earlier value of the key.
 *
 * Keys consist of parts of `A-Z a-z 0-9 - _ = /`, with dots between them.
 *
 * Threads: any, between open and close. The functions of a watcher are called by one thread at a
 * time, and not after fa_kv_unwatch has returned. They may read and write the store.
 */
#ifndef FA_KV_KV_H
#define FA_KV_KV_H

#include "base/bytes.h"
#include "base/error.h"

struct fa_kv;

/* A key to read; then what it has. */
struct fa_kv_read {
    const char *key;
    bool is_fresh; /* the answer must be the last value, also when it takes longer */
    /* OK; NOT_FOUND: it has no value, and `revision` is that of its marker, or 0; UNAVAILABLE. */
    enum faina_code code;
    struct fa_bytes value; /* in the arena of the call, followed by a NUL */
    uint64_t revision;
    int64_t at_us; /* when it was written, by the store's clock; 0: unknown */
};

/* A write, and then its result: it has taken effect, or the store has refused it. */
struct fa_kv_write {
    const char *key;
    struct fa_bytes value;
    bool is_delete;    /* writes a marker; `value` is empty */
    uint64_t expected; /* V1 */
    /* OK; CONFLICT; PAYLOAD_TOO_LARGE; UNAVAILABLE (V2). */
    enum faina_code code;
    uint64_t revision; /* with OK: the key's new revision */
};

/* A change that a watch delivers, or a key of a list. Lent for the call. */
struct fa_kv_entry {
    const char *key;
    struct fa_bytes value; /* followed by a NUL */
    uint64_t revision;
    int64_t at_us;
    bool is_deleted; /* it is a marker */
};

struct fa_kv_watcher {
    void *ctx;
    void (*changed)(void *ctx, const struct fa_kv_entry *entry);
    /* Everything that was stored when the watch began has been delivered. */
    void (*ready)(void *ctx);
    /* What was delivered before is void; everything is delivered again. */
    void (*reset)(void *ctx);
};

/* What is known of a store. */
struct fa_kv_info {
    const char *version;    /* of its program */
    const char *location;   /* no secrets */
    int64_t size_bytes;     /* -1: unknown */
    int64_t keys;           /* -1: unknown */
    int64_t clock_ahead_us; /* how far the store's clock is ahead of ours; 0: unknown, or none */
    const char *durability; /* a sentence: what an acknowledged write survives; NULL: nothing */
    /* A sentence: how an acknowledged write could be lost when one machine crashes; NULL: it is not
     * known to be possible. */
    const char *risk;
};

typedef void fa_kv_each_fn(void *ctx, const struct fa_kv_entry *entry);

/* The functions of a store. All are required but `tidy`. */
struct fa_kv_ops {
    const char *name; /* "memory", "nats" */

    /* Reads all keys at once, in one pipeline. `err` has the sentence of an UNAVAILABLE. */
    void (*read)(struct fa_kv *kv, struct fa_kv_read *reads, size_t count, struct fa_arena *arena,
                 struct faina_error *err);
    /* Writes all at once, in one pipeline. They take effect in any order. */
    void (*write)(struct fa_kv *kv, struct fa_kv_write *writes, size_t count,
                  struct faina_error *err);
    /* Calls `each` for every key that begins with `prefix` and has a value. A prefix ends with a
     * dot. */
    enum faina_code (*list)(struct fa_kv *kv, const char *prefix, fa_kv_each_fn *each, void *ctx,
                            struct faina_error *err);
    enum faina_code (*watch)(struct fa_kv *kv, const struct fa_kv_watcher *watcher,
                             struct faina_error *err);
    void (*unwatch)(struct fa_kv *kv);
    /* The largest value that can be written. It may change while the store is open. */
    size_t (*value_max)(struct fa_kv *kv);
    enum faina_code (*info)(struct fa_kv *kv, struct fa_arena *arena, struct fa_kv_info *out,
                            struct faina_error *err);
    /* Optional. Removes markers that are older than half an hour. */
    void (*tidy)(struct fa_kv *kv);
    void (*close)(struct fa_kv *kv); /* after unwatch */
};

/* The first member of every store. */
struct fa_kv {
    const struct fa_kv_ops *ops;
};

/* Many keys in one pipeline. */
void fa_kv_read(struct fa_kv *kv, struct fa_kv_read *reads, size_t count, struct fa_arena *arena,
                struct faina_error *err);
void fa_kv_write(struct fa_kv *kv, struct fa_kv_write *writes, size_t count,
                 struct faina_error *err);

/* One key. */
FA_MUST_CHECK enum faina_code fa_kv_get(struct fa_kv *kv, const char *key, struct fa_arena *arena,
                                        struct fa_kv_read *out, struct faina_error *err);
/* Creates a key that has never had a value. */
FA_MUST_CHECK enum faina_code fa_kv_create(struct fa_kv *kv, const char *key, struct fa_bytes value,
                                           uint64_t *revision, struct faina_error *err);
FA_MUST_CHECK enum faina_code fa_kv_update(struct fa_kv *kv, const char *key, struct fa_bytes value,
                                           uint64_t expected, uint64_t *revision,
                                           struct faina_error *err);
FA_MUST_CHECK enum faina_code fa_kv_delete(struct fa_kv *kv, const char *key, uint64_t expected,
                                           struct faina_error *err);
FA_MUST_CHECK enum faina_code fa_kv_list(struct fa_kv *kv, const char *prefix, fa_kv_each_fn *each,
                                         void *ctx, struct faina_error *err);

FA_MUST_CHECK enum faina_code fa_kv_watch(struct fa_kv *kv, const struct fa_kv_watcher *watcher,
                                          struct faina_error *err);
void fa_kv_unwatch(struct fa_kv *kv);
size_t fa_kv_value_max(struct fa_kv *kv);
FA_MUST_CHECK enum faina_code fa_kv_info(struct fa_kv *kv, struct fa_arena *arena,
                                         struct fa_kv_info *out, struct faina_error *err);
void fa_kv_tidy(struct fa_kv *kv);
void fa_kv_close(struct fa_kv *kv); /* NULL is fine */

/* Whether a text can be a key. */
bool fa_kv_key_is_valid(const char *key);

#endif
