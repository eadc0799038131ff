/*
 * kv_memory.h - a store of keys in memory, for tests and for injecting faults.
 *
 * Several connections may be open to one store: each is a struct fa_kv of its own, with a thread
 * that delivers its watch. A hook sees every write before and after it takes effect.
 *
 * Threads: any.
 */
#ifndef FA_KV_MEMORY_KV_MEMORY_H
#define FA_KV_MEMORY_KV_MEMORY_H

#include "kv/kv.h"

struct fa_kv_memory;

enum fa_kv_moment {
    FA_KV_BEFORE, /* a code other than OK in `write`: it fails, and is not stored */
    FA_KV_AFTER,  /* ... its answer is lost: it is stored */
};

/* Called without a lock, in the thread that writes. It may block. */
typedef void fa_kv_hook_fn(void *ctx, enum fa_kv_moment moment, struct fa_kv_write *write);

struct fa_kv_memory *fa_kv_memory_create(void);
/* After all connections were closed. NULL is fine. */
void fa_kv_memory_destroy(struct fa_kv_memory *memory);
/* Only while nothing is written. NULL: none. */
void fa_kv_memory_set_hook(struct fa_kv_memory *memory, fa_kv_hook_fn *hook, void *ctx);
/* Watches deliver nothing while it is set. */
void fa_kv_memory_set_held(struct fa_kv_memory *memory, bool is_held);
/* Every watch begins again, as after a connection that was cut for long. */
void fa_kv_memory_reset_watches(struct fa_kv_memory *memory);

/* A connection. With NULL, to a store of its own that is destroyed when it is closed. */
struct fa_kv *fa_kv_memory_open(struct fa_kv_memory *memory);

#endif
