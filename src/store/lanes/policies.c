/* policies.c - see policies.h. */
#include "store/lanes/policies.h"

#include "base/clock.h"
#include "base/map.h"
#include "model/limits.h"
#include "store/txn/row_check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct fa_policy_set {
    atomic_int users;
    uint64_t number;    /* of fa_policies.wanted, when it was read; 0: of one transaction (T3) */
    int64_t generation; /* of the store, in a shared store */
    atomic_llong checked_us; /* monotonic */
    struct fa_arena arena;
    struct fa_map by_name;
    const struct fa_policy **unhandled;
    size_t unhandled_count, unhandled_size;
};

struct fa_policies {
    pthread_mutex_t mutex; /* guards `set` */
    struct fa_policy_set *set;
    _Atomic uint64_t wanted; /* grows with each change */
    struct fa_aside *aside;
};

struct fa_policies *fa_policies_create(struct fa_aside *aside)
{
    struct fa_policies *policies = fa_alloc_zero(1, sizeof(*policies));

    pthread_mutex_init(&policies->mutex, NULL);
    atomic_store(&policies->wanted, 1);
    policies->aside = aside;
    return policies;
}

void fa_policy_set_release(struct fa_policy_set **set)
{
    struct fa_policy_set *old = *set;

    *set = NULL;
    if (old == NULL || atomic_fetch_sub(&old->users, 1) > 1)
        return;
    fa_map_finish(&old->by_name);
    fa_arena_finish(&old->arena);
    free(old);
}

void fa_policies_destroy(struct fa_policies *policies)
{
    if (policies == NULL)
        return;
    fa_policy_set_release(&policies->set);
    pthread_mutex_destroy(&policies->mutex);
    free(policies);
}

void fa_policies_invalidate(struct fa_policies *policies)
{
    atomic_fetch_add(&policies->wanted, 1);
}

/* Reading --------------------------------------------------------------------------------- */

static bool is_policy(const void *item, const char *a, const char *b)
{
    const struct faina_type_policy *policy = &((const struct fa_policy *)item)->set;

    return fa_name_is_same(policy->type, b) && strcmp(policy->ns, a) == 0;
}

static bool read_names(const struct fa_value *value, struct fa_arena *arena,
                       struct faina_type_policy *out)
{
    if (value->kind != FA_TEXT)
        return true;
    return fa_is_names(value->text) &&
           fa_json_texts(fa_json_value(value->text), arena, &out->resources, &out->resource_count);
}

bool fa_policy_of_row(const struct fa_value *c, struct fa_arena *arena,
                      struct faina_type_policy *out, const char **damage)
{
    static const struct fa_form form = {
        "type_policy", "xxxNMdMMM.XMXtn",
        "namespace folded type max_attempts retry_base_ms retry_factor retry_max_ms timeout_ms "
        "start_by_ms priority resources unhandled_ms input_schema updated_us version"};

    *damage = fa_form_check(&form, c, arena);
    if (*damage != NULL)
        return false;
    *out = (struct faina_type_policy){
        .ns = fa_value_dup(&c[0], arena),
        .type = fa_value_dup(&c[2], arena),
        .retry = {.base_ms = fa_value_as_int(&c[4]),
                  .factor = c[5].kind == FA_REAL ? c[5].d : (double)fa_value_as_int(&c[5]),
                  .max_ms = fa_value_as_int(&c[6])},
        .timeout_ms = fa_value_as_int(&c[7]),
        .start_by_ms = fa_value_as_int(&c[8]),
        .has_priority = c[9].kind == FA_INT,
        .priority = (int)fa_value_as_int(&c[9]),
        .unhandled_after_ms = fa_value_as_int(&c[11]),
        .input_schema = fa_value_dup(&c[12], arena),
        .updated_us = fa_value_as_int(&c[13]),
        .version = fa_value_as_int(&c[14]),
    };
    if (c[3].kind == FA_INT)
        out->max_attempts = c[3].i == 0 ? FAINA_UNLIMITED : (int)c[3].i;
    if (fa_value_as_int(&c[3]) > FA_ATTEMPTS_MAX)
        *damage = "column max_attempts is out of range";
    else if (c[9].kind != FA_NULL &&
             (c[9].kind != FA_INT || c[9].i < FA_PRIORITY_MIN || c[9].i > FA_PRIORITY_MAX))
        *damage = "column priority is out of range";
    else if (!read_names(&c[10], arena, out))
        *damage = "column resources is no JSON array of names";
    else if (!fa_is_json(out->input_schema))
        *damage = "column input_schema is not JSON";
    return *damage == NULL;
}

struct load {
    struct fa_policy_set *set;
    struct fa_aside *aside;
    struct fa_db *db;
};

/* A damaged row is reported and left out: its type has no policies. */
static void sink_policy(void *ctx, size_t row, const struct fa_value *c)
{
    struct load *load = ctx;
    struct fa_policy_set *set = load->set;
    struct fa_policy *policy = fa_arena_zero(&set->arena, 1, sizeof(*policy));
    const char *damage;

    (void)row;
    if (fa_policy_of_row(c, &set->arena, &policy->set, &damage) &&
        policy->set.input_schema != NULL &&
        fa_input_schema_compile(fa_str(policy->set.input_schema), &set->arena, &policy->schema,
                                NULL) != FAINA_OK)
        damage = "column input_schema is no schema of this version";
    if (damage != NULL) {
        (void)fa_aside_report_row(load->aside, "type_policy", &c[2], damage, &set->arena,
                                  fa_db_now(load->db));
        return;
    }
    fa_map_put(&set->by_name, policy->set.ns, policy->set.type, policy);
    if (policy->set.unhandled_after_ms == 0)
        return;
    set->unhandled = fa_arena_grow(&set->arena, set->unhandled, set->unhandled_count,
                                   &set->unhandled_size, sizeof(*set->unhandled));
    set->unhandled[set->unhandled_count++] = policy;
}

static enum faina_code load(struct fa_policies *policies, struct fa_db *db, uint64_t number,
                            struct fa_policy_set **out, struct faina_error *err)
{
    struct fa_policy_set *set = fa_alloc_zero(1, sizeof(*set));
    struct load load = {set, policies->aside, db};
    struct fa_db_call calls[2] = {
        fa_db_call_one(FA_SQL_TYPE_POLICY_GENERATION, NULL, 0, fa_db_sink_int, &set->generation),
        fa_db_call_one(FA_SQL_TYPE_POLICY_ALL, NULL, 0, sink_policy, &load)};
    enum faina_code code;

    atomic_store(&set->users, 1);
    set->number = number;
    set->by_name.is = is_policy;
    atomic_store(&set->checked_us, fa_clock_mono_us());
    code = fa_db_run_all(db, calls, FA_COUNT(calls), err);
    if (code != FAINA_OK) {
        fa_policy_set_release(&set);
        return code;
    }
    fa_policy_set_release(out);
    *out = set;
    return FAINA_OK;
}

enum faina_code fa_policies_read(struct fa_policies *policies, struct fa_db *db,
                                 struct fa_policy_set **set, struct faina_error *err)
{
    return load(policies, db, 0, set, err);
}

/* Takes the newest set, if it is at least of this number. */
static bool take(struct fa_policies *policies, uint64_t wanted, struct fa_policy_set **set)
{
    bool is_found;

    pthread_mutex_lock(&policies->mutex);
    is_found = policies->set != NULL && policies->set->number >= wanted;
    if (is_found && policies->set != *set) {
        fa_policy_set_release(set);
        *set = policies->set;
        atomic_fetch_add(&(*set)->users, 1);
    }
    pthread_mutex_unlock(&policies->mutex);
    return is_found;
}

static void publish(struct fa_policies *policies, struct fa_policy_set *set)
{
    pthread_mutex_lock(&policies->mutex);
    if (policies->set == NULL || policies->set->number < set->number) {
        fa_policy_set_release(&policies->set);
        policies->set = set;
        atomic_fetch_add(&set->users, 1);
    }
    pthread_mutex_unlock(&policies->mutex);
}

/* T2. */
static enum faina_code compare(struct fa_policies *policies, struct fa_db *db,
                               struct fa_policy_set *set, struct faina_error *err)
{
    int64_t generation = 0;
    enum faina_code code =
        fa_db_one(db, FA_SQL_TYPE_POLICY_GENERATION, NULL, 0, fa_db_sink_int, &generation, err);

    if (code != FAINA_OK)
        return code;
    atomic_store(&set->checked_us, fa_clock_mono_us());
    if (generation != set->generation)
        fa_policies_invalidate(policies);
    return FAINA_OK;
}

static bool is_old(struct fa_db *db, struct fa_policy_set *set)
{
    return fa_db_has(db, FA_DB_MANY_WRITERS) &&
           fa_clock_mono_us() - atomic_load(&set->checked_us) > FA_POLICIES_AGE_US;
}

enum faina_code fa_policies_refresh(struct fa_policies *policies, struct fa_db *db,
                                    struct fa_policy_set **set, struct faina_error *err)
{
    enum faina_code code = FAINA_OK;
    uint64_t wanted;

    if (*set != NULL && is_old(db, *set))
        code = compare(policies, db, *set, err);
    wanted = atomic_load(&policies->wanted); /* before the read of the store */
    if (code != FAINA_OK || (*set != NULL && (*set)->number == wanted) ||
        take(policies, wanted, set))
        return code;
    code = load(policies, db, wanted, set, err);
    if (code == FAINA_OK)
        publish(policies, *set);
    return code;
}

/* Finding --------------------------------------------------------------------------------- */

const struct fa_policy *fa_policy_find(const struct fa_policy_set *set, const char *ns,
                                       const char *type)
{
    return set == NULL || set->by_name.count == 0 ? NULL : fa_map_get(&set->by_name, ns, type);
}

const struct fa_policy *const *fa_policy_unhandled(const struct fa_policy_set *set, size_t *count)
{
    *count = set != NULL ? set->unhandled_count : 0;
    return set != NULL ? set->unhandled : NULL;
}
