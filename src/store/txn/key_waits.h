/*
 * key_waits.h - the namespaces whose idempotency keys were held by open transactions lately.
 *
 * A submit in SQL holds its key until its client commits, which may be never. The database can't
 * tell whether a key is held without waiting for it.
 *
 *   K1  A transaction waits for a key only briefly (fa_db.awaits_key). The job that needs the key
 *       is moved to the last writer, and run there again and again for some seconds, then refused.
 *   K2  For a while, jobs with keys of the same namespace go to the last writer at once, and all
 *       others avoid it: a client that never commits delays submits with keys of its namespaces
 *       only.
 *
 * Threads: any.
 */
#ifndef FA_STORE_TXN_KEY_WAITS_H
#define FA_STORE_TXN_KEY_WAITS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FA_KEY_WAITS_MAX 64 /* namespaces; with more, the one that has waited least lately goes */

struct fa_key_waits {
    atomic_llong until_us; /* monotonic; none is remembered for longer */
    pthread_mutex_t mutex; /* guards the items */
    struct fa_key_waits_item {
        char ns[256]; /* empty: unused */
        int64_t until_us;
    } items[FA_KEY_WAITS_MAX];
};

void fa_key_waits_init(struct fa_key_waits *waits);
void fa_key_waits_finish(struct fa_key_waits *waits);

void fa_key_waits_note(struct fa_key_waits *waits, const char *ns, int64_t now_us);
bool fa_key_waits_have(struct fa_key_waits *waits, const char *ns, int64_t now_us);
/* Whether there are any: fast. */
static inline bool fa_key_waits_have_any(struct fa_key_waits *waits, int64_t now_us)
{
    return atomic_load_explicit(&waits->until_us, memory_order_relaxed) > now_us;
}

#endif
