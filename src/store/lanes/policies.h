/*
 * policies.h - the policies of types in memory.
 *
 * A set has the policies of all types as some transaction has read them. It is immutable and shared
 * by the connections of an engine; each keeps a reference to the set that it uses.
 *
 *   T1  A transaction uses the set that it had at its beginning, or one that is newer. It has every
 *       change that was acknowledged on this node before the transaction began.
 *   T2  Other nodes are notified of a change. A notification may be lost, so in a shared store a
 *       set is compared with the store once it is FA_POLICIES_AGE_US old.
 *   T3  A transaction that changes policies reads them again, for itself. Other transactions do so
 *       after its commit.
 *   T4  A set costs nothing per transaction but the comparison of a number, and without policies
 *       nothing per task.
 *
 * Threads: any; a reference belongs to one thread at a time.
 */
#ifndef FA_STORE_LANES_POLICIES_H
#define FA_STORE_LANES_POLICIES_H

#include "model/input_schema.h"
#include "store/db/db.h"
#include "store/upkeep/set_aside.h"

#define FA_POLICIES_AGE_US 5000000

/* The policies of one type. */
struct fa_policy {
    struct faina_type_policy set;         /* its input_schema is compiled, and NULL here */
    const struct fa_input_schema *schema; /* NULL: any input */
};

struct fa_policy_set;
struct fa_policies; /* the newest set, and how to get newer ones */

struct fa_policies *fa_policies_create(struct fa_aside *aside);
void fa_policies_destroy(struct fa_policies *policies); /* NULL is fine */

/* At the beginning of a transaction: replaces *set if it may be out of date (T1). *set may be
 * NULL. */
FA_MUST_CHECK enum faina_code fa_policies_refresh(struct fa_policies *policies, struct fa_db *db,
                                                  struct fa_policy_set **set,
                                                  struct faina_error *err);
/* Inside a transaction that has changed policies (T3). */
FA_MUST_CHECK enum faina_code fa_policies_read(struct fa_policies *policies, struct fa_db *db,
                                               struct fa_policy_set **set, struct faina_error *err);
/* Policies have changed: later transactions read them again. */
void fa_policies_invalidate(struct fa_policies *policies);
void fa_policy_set_release(struct fa_policy_set **set);

/* The policies of a type; NULL: it has none. `set` may be NULL. */
const struct fa_policy *fa_policy_find(const struct fa_policy_set *set, const char *ns,
                                       const char *type);
/* Those with unhandled_after_ms. */
const struct fa_policy *const *fa_policy_unhandled(const struct fa_policy_set *set, size_t *count);

/* A row of type_policy_get. False: it is damaged. */
bool fa_policy_of_row(const struct fa_value *columns, struct fa_arena *arena,
                      struct faina_type_policy *out, const char **damage);
#define FA_POLICY_COLUMNS 15

#endif
