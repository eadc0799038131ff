/*
 * claimers.c - which workers claim tasks, for policies about unhandled tasks.
 *
 * A worker that only claims (over HTTP, for instance) need not be registered. While some type has
 * such a policy, each worker that claims is recorded, with what it claims; at most once in a
 * quarter of the time after which it counts as dead. It is alive that long after its last claim,
 * and as long as it holds a task.
 */
#include "store/queue/ops.h"

#include "base/hash.h"

#include <stdlib.h>

static uint64_t add_hash(uint64_t hash, const char *text)
{
    for (; text != NULL && *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return (hash ^ (text != NULL ? 0xff : 0xfe)) * 0x100000001b3u;
}

static uint64_t hash_of(const char *const *names, size_t count, uint64_t hash)
{
    for (size_t i = 0; i < count; i++)
        hash = add_hash(hash, names[i]);
    return add_hash(hash, names != NULL ? "" : NULL);
}

/* What is recorded of a claim, as a number. */
static uint64_t hash_claim(const struct faina_claim *claim)
{
    uint64_t hash = add_hash(0xcbf29ce484222325u, claim->worker_id);

    hash = hash_of(claim->types, claim->type_count, hash);
    hash = hash_of(claim->services, claim->service_count, hash);
    hash = hash_of(claim->namespaces, claim->namespace_count, hash);
    return hash ^ hash >> 29;
}

enum faina_code fa_claimer_note(struct fa_unit *unit, const struct faina_claim *claim,
                                struct faina_error *err)
{
    int64_t dead_us = fa_worker_dead_us(&unit->source);
    int64_t until_us = unit->now_us + claim->wait_ms * 1000 + dead_us;
    struct fa_claimer *slot;
    struct fa_value params[5];
    enum faina_code code;
    uint64_t hash;
    size_t count;

    (void)fa_policy_unhandled(unit->source.policies, &count);
    if (count == 0)
        return FAINA_OK;
    if (unit->claimers == NULL)
        unit->claimers = fa_alloc_zero(FA_CLAIMERS_MAX, sizeof(*unit->claimers));
    hash = hash_claim(claim);
    slot = &unit->claimers[hash % FA_CLAIMERS_MAX];
    if (slot->hash == hash && slot->until_us > until_us - dead_us / 4 &&
        slot->until_us < until_us + dead_us)
        return FAINA_OK;
    params[0] = fa_value_text(claim->worker_id);
    params[1] = fa_value_text(fa_names_json(&unit->arena, claim->types, claim->type_count));
    params[2] = fa_value_text(fa_names_json(&unit->arena, claim->services, claim->service_count));
    params[3] =
        fa_value_text(fa_names_json(&unit->arena, claim->namespaces, claim->namespace_count));
    params[4] = fa_value_int(until_us);
    code = fa_db_one(unit->source.db, FA_SQL_CLAIMER_PUT, params, 5, NULL, NULL, err);
    /* After a rollback the worker is recorded late, by a quarter of the time at most. */
    *slot = (struct fa_claimer){hash, until_us};
    return code;
}

enum faina_code fa_claimer_forget(struct fa_unit *unit, const char *worker, struct faina_error *err)
{
    struct fa_value id = fa_value_text(worker);
    size_t count;

    (void)fa_policy_unhandled(unit->source.policies, &count);
    if (count == 0)
        return FAINA_OK;
    free(unit->claimers); /* it may claim again at once */
    unit->claimers = NULL;
    unit->unhandled.at_us = 0;
    unit->next_us = unit->now_us;
    return fa_db_one(unit->source.db, FA_SQL_CLAIMER_DELETE, &id, 1, NULL, NULL, err);
}

enum faina_code fa_claimers_expire(struct fa_unit *unit, struct faina_error *err)
{
    struct fa_value now = fa_value_int(unit->now_us);

    return fa_db_one(unit->source.db, FA_SQL_CLAIMER_EXPIRE, &now, 1, NULL, NULL, err);
}
