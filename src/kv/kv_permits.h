/*
 * kv_permits.h - the limits of resources. The holders of a resource are stored in its own key.
 *
 *     faina.resource.{x} = {"name", "maxConcurrency", "isSet", "holders": [{"id", "permit",
 *                           "revision", "at"}]}
 *
 *   P1  A task that uses a resource (claimed, running, background) is among its holders, with the
 *       number that its record has as "permit". The holder is added before the task is claimed, and
 *       removed after its end.
 *   P2  Each attempt to claim adds a holder of its own, with a random number, and names the
 *       revision of the task that it will replace. So whether that claim can still happen is seen
 *       from the task: only while it has this revision.
 *   P3  A holder is removed only after the end of its use; or by its claim, which was refused; or
 *       by a repair that has read the task and found another permit there, or no use, and that the
 *       claim can't happen any more. If it still could, the repair first gives the task a new
 *       revision.
 *   P4  A holder is added only while there are fewer than maxConcurrency. All of it is by
 *       compare-and-set on the resource's key, so the limit holds over all nodes and through
 *       crashes.
 *
 * Threads: any.
 */
#ifndef FA_KV_KV_PERMITS_H
#define FA_KV_KV_PERMITS_H

#include "kv/kv_engine.h"

struct fa_kv_holder {
    const char *id;
    int64_t permit;
    uint64_t revision;
    int64_t at_us;
};

struct fa_kv_resource {
    const char *name;
    int64_t max; /* -1: no limit */
    bool is_set; /* a limit was set by a user */
    struct fa_kv_holder *holders;
    size_t count, size;
    uint64_t revision; /* of its key */
};

/* One task and one of its resources. */
struct fa_kv_permit {
    const char *resource, *id;
    int64_t permit;
    uint64_t revision;    /* of the task; to take it */
    bool is_taken;        /* request: take it (else give it back); answer: it was taken */
    int64_t in_use, max;  /* of a resource that is at its limit */
    enum faina_code code; /* OK; OVERLOADED: at its limit; else the store's */
};

/* Takes and gives many permits. Those of one resource are one write. */
void fa_kv_permits_change(struct fa_kv_engine *engine, struct fa_kv_permit *permits, size_t count,
                          struct faina_error *err);

/* All resources of one task. OVERLOADED: one is at its limit, and none was taken. */
FA_MUST_CHECK enum faina_code fa_kv_permits_take(struct fa_kv_engine *engine,
                                                 const struct faina_task *task, int64_t permit,
                                                 uint64_t revision, struct faina_error *err);
void fa_kv_permits_give(struct fa_kv_engine *engine, const struct faina_task *task, int64_t permit);
/* A new number; never 0. */
int64_t fa_kv_permit_new(struct fa_kv_engine *engine);

/* A resource as it is stored; one that is not stored has no limit and no holders. */
FA_MUST_CHECK enum faina_code fa_kv_resource_read(struct fa_kv_engine *engine, const char *name,
                                                  bool is_fresh, struct fa_arena *arena,
                                                  struct fa_kv_resource *out,
                                                  struct faina_error *err);
bool fa_kv_resource_parse(struct fa_bytes value, struct fa_arena *arena,
                          struct fa_kv_resource *out);
/* Writes it at its revision. CONFLICT: it has changed. */
FA_MUST_CHECK enum faina_code fa_kv_resource_write(struct fa_kv_engine *engine,
                                                   struct fa_kv_resource *resource,
                                                   struct faina_error *err);

/* P3: removes the holders of a resource that hold nothing. With `min_age_us`, only older ones. */
void fa_kv_resource_repair(struct fa_kv_engine *engine, const char *name, int64_t min_age_us);

#endif
