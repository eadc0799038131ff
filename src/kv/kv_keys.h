/*
 * kv_keys.h - the keys of the engine in a store.
 *
 *   tasks.task.{id}                a task (kv_record.h)
 *   tasks.idem.{key}               the id of the task that has the idempotency key
 *   tasks.idem.x.{sha256}          the same for a key that can't be a key of the store, or that is
 *                                  of another namespace or type than "default":
 *                                  of namespace NUL lower-case type NUL key
 *   tasks.idem.x.i.{sha256}        the same for the hash of an input
 *   faina.{kind}.{sha256 of name}  everything else: resource, paused, worker, token
 */
#ifndef FA_KV_KV_KEYS_H
#define FA_KV_KV_KEYS_H

#include "base/bytes.h"

#define FA_KV_TASKS "tasks.task."
#define FA_KV_IDEMS "tasks.idem."
#define FA_KV_RESOURCES "faina.resource."
#define FA_KV_PAUSES "faina.paused."
#define FA_KV_WORKERS "faina.worker."
#define FA_KV_TOKENS "faina.token."

const char *fa_kv_task_key(const char *id, struct fa_arena *arena);
const char *fa_kv_idem_key(const char *ns, const char *type, const char *key,
                           struct fa_arena *arena);
const char *fa_kv_input_key(const char *ns, const char *type, const char *input_hash,
                            struct fa_arena *arena);
/* `prefix` is one of the above. Names are compared without regard to ASCII case; `more` (NULL:
 * none) exactly. */
const char *fa_kv_name_key(const char *prefix, const char *name, const char *more,
                           struct fa_arena *arena);

#endif
