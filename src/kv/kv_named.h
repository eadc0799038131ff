/*
 * kv_named.h - what a node knows of the keys that begin with "faina.": resources, pauses, workers
 * and tokens.
 *
 * The values are kept as text. Of resources the limit and the number of holders are parsed, and of
 * pauses the type, so that a claim needs no search.
 *
 * Threads: any; one mutex, and nothing blocks while it is held.
 */
#ifndef FA_KV_KV_NAMED_H
#define FA_KV_KV_NAMED_H

#include "kv/kv.h"

struct fa_kv_named;

struct fa_kv_named *fa_kv_named_create(void);
void fa_kv_named_destroy(struct fa_kv_named *named); /* NULL is fine */
void fa_kv_named_reset(struct fa_kv_named *named);

/* A key as it was delivered, read or written. Lower revisions than the known one are ignored. */
void fa_kv_named_put(struct fa_kv_named *named, const struct fa_kv_entry *entry);

struct fa_kv_named_value {
    const char *key;
    struct fa_bytes value; /* ptr NULL: it has none */
    uint64_t revision;     /* of the value or marker; 0: the key is not known */
    int64_t at_us;
};
/* Copies in the arena. */
void fa_kv_named_get(struct fa_kv_named *named, const char *key, struct fa_arena *arena,
                     struct fa_kv_named_value *out);
size_t fa_kv_named_list(struct fa_kv_named *named, const char *prefix, struct fa_arena *arena,
                        struct fa_kv_named_value **out);

bool fa_kv_named_is_paused(struct fa_kv_named *named, const char *ns, const char *type);
/* Takes room for one task in all of these resources, as far as this node knows; and gives it back,
 * once the permits themselves were taken or refused. */
bool fa_kv_named_reserve(struct fa_kv_named *named, const char *const *resources, size_t count);
void fa_kv_named_unreserve(struct fa_kv_named *named, const char *const *resources, size_t count);

#endif
