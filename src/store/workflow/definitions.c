/*
 * definitions.c - definitions of workflows: in memory, stored, listed.
 *
 * Subscriptions are found by a hash of the namespace and the type, so that a type without any costs
 * one lookup, however many definitions there are.
 */
#include "store/workflow/definitions.h"

#include "store/read/lookup.h"
#include "store/read/pages.h"
#include "store/txn/row_check.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>

/* Definitions that were read together, compiled. Immutable once it is loaded. */
struct fa_flow_set {
    atomic_int users;
    uint64_t number;    /* unique in this engine */
    int64_t generation; /* where the store is shared (K1) */
    bool needs_ends;    /* there are subscriptions to ends of tasks */

    struct fa_arena arena; /* of everything below */
    struct fa_flow **flows;
    size_t count, size;
    struct fa_subscription *subscriptions; /* grouped by their fa_subscribers */
    size_t subscription_count;
    struct fa_subscribers **buckets;
    size_t bucket_count; /* a power of two, or 0 */
};

struct fa_flows {
    size_t input_size_max;
    struct fa_flow_shared *shared;
    struct fa_flow_set *set; /* NULL: none was loaded yet */
    bool is_loaded;          /* the set is what the store has */
    bool is_changed;         /* ... but for what this transaction has stored */
    int64_t generation;      /* of the store, as of this transaction (K1); 0: not read */
    uint64_t epoch;          /* the transaction that has read it */
    struct fa_db_call generation_call;
};

void fa_flow_set_release(struct fa_flow_set *set)
{
    if (set == NULL || atomic_fetch_sub(&set->users, 1) > 1)
        return;
    fa_arena_finish(&set->arena);
    free(set);
}

struct fa_flows *fa_flows_create(size_t input_size_max, struct fa_flow_shared *shared)
{
    struct fa_flows *flows = fa_alloc_zero(1, sizeof(*flows));

    flows->input_size_max = input_size_max;
    flows->shared = shared;
    return flows;
}

void fa_flows_destroy(struct fa_flows *flows)
{
    if (flows == NULL)
        return;
    fa_flow_set_release(flows->set);
    free(flows);
}

void fa_flows_invalidate(struct fa_flows *flows)
{
    flows->is_loaded = false;
}

size_t fa_flows_input_size_max(const struct fa_flows *flows)
{
    return flows->input_size_max;
}

/* The published set (K5) --------------------------------------------------------------------- */

void fa_flow_shared_init(struct fa_flow_shared *shared)
{
    *shared = (struct fa_flow_shared){0};
    pthread_mutex_init(&shared->mutex, NULL);
}

void fa_flow_shared_finish(struct fa_flow_shared *shared)
{
    fa_flow_set_release(shared->set);
    pthread_mutex_destroy(&shared->mutex);
}

void fa_flows_publish(struct fa_flows *flows)
{
    struct fa_flow_shared *shared = flows->shared;
    struct fa_flow_set *old;

    if (shared == NULL || !flows->is_loaded || atomic_load(&shared->number) == flows->set->number)
        return;
    atomic_fetch_add(&flows->set->users, 1);
    pthread_mutex_lock(&shared->mutex);
    old = shared->set;
    shared->set = flows->set;
    atomic_store(&shared->number, flows->set->number);
    pthread_mutex_unlock(&shared->mutex);
    fa_flow_set_release(old);
}

bool fa_flow_shared_is_empty(struct fa_flow_shared *shared)
{
    return atomic_load(&shared->number) == 0;
}

struct fa_flow_set *fa_flow_set_acquire(struct fa_flow_shared *shared)
{
    struct fa_flow_set *set;

    pthread_mutex_lock(&shared->mutex);
    set = shared->set;
    if (set != NULL)
        atomic_fetch_add(&set->users, 1);
    pthread_mutex_unlock(&shared->mutex);
    return set;
}

struct fa_flow_mark fa_flow_set_mark(const struct fa_flow_set *set)
{
    return (struct fa_flow_mark){set->number, set->generation};
}

bool fa_flows_is_at(const struct fa_unit *unit, struct fa_flow_mark mark)
{
    const struct fa_flows *flows = unit->flows;

    if (!flows->is_loaded)
        return false;
    return flows->set->number == mark.number || (fa_db_has(unit->source.db, FA_DB_MANY_WRITERS) &&
                                                 flows->set->generation == mark.generation);
}

const struct fa_flow_set *fa_flows_set(const struct fa_flows *flows)
{
    return flows->set;
}

/* Subscriptions ----------------------------------------------------------------------------- */

static uint64_t hash_text(uint64_t hash, const char *text)
{
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)(*text | 0x20)) * UINT64_C(0x100000001b3);
    return (hash ^ 0xff) * UINT64_C(0x100000001b3);
}

static uint64_t hash_type(const char *ns, const char *type, bool is_join)
{
    uint64_t hash =
        hash_text(hash_text(UINT64_C(0xcbf29ce484222325) + (is_join ? 1 : 0), ns), type);

    return hash ^ hash >> 29;
}

/* The type of a task, or that of an event. Only the former is compared without regard to case. */
static bool is_of_type(const struct fa_subscribers *subscribers, const char *type)
{
    return subscribers->is_join ? fa_name_is_same(subscribers->type, type)
                                : strcmp(subscribers->type, type) == 0;
}

static struct fa_subscribers *find_subscribers(const struct fa_flow_set *set, uint64_t hash,
                                               const char *ns, const char *type, bool is_join)
{
    struct fa_subscribers *found;

    if (set == NULL || set->bucket_count == 0)
        return NULL;
    found = set->buckets[hash & (set->bucket_count - 1)];
    while (found != NULL && (found->hash != hash || found->is_join != is_join ||
                             !is_of_type(found, type) || strcmp(found->ns, ns) != 0))
        found = found->next;
    return found;
}

const struct fa_subscribers *fa_flow_set_subscribers(const struct fa_flow_set *set, const char *ns,
                                                     const char *type, bool is_join)
{
    return find_subscribers(set, hash_type(ns, type, is_join), ns, type, is_join);
}

const struct fa_subscribers *fa_flows_subscribers(const struct fa_flows *flows, const char *ns,
                                                  const char *type, bool is_join)
{
    return fa_flow_set_subscribers(flows->set, ns, type, is_join);
}

const struct fa_subscription *fa_flows_join(const struct fa_flows *flows, const char *ns,
                                            const char *workflow, const char *name)
{
    const struct fa_flow_set *set = flows->set;

    for (size_t i = 0; i < set->subscription_count; i++) {
        const struct fa_subscription *subscription = &set->subscriptions[i];

        if (subscription->join != NULL && strcmp(subscription->join->name, name) == 0 &&
            strcmp(subscription->flow->workflow->name, workflow) == 0 &&
            strcmp(subscription->flow->ns, ns) == 0)
            return subscription;
    }
    return NULL;
}

bool fa_flows_is_inactive(const struct fa_flows *flows, const char *ns, const char *workflow)
{
    const struct fa_flow_set *set = flows->set;

    for (size_t i = 0; i < set->count; i++)
        if (strcmp(set->flows[i]->name, workflow) == 0 && strcmp(set->flows[i]->ns, ns) == 0)
            return set->flows[i]->workflow == NULL;
    return false;
}

bool fa_flows_need_ends(const struct fa_flows *flows)
{
    return flows->set != NULL && flows->set->needs_ends;
}

/* Loading ----------------------------------------------------------------------------------- */

static void add_subscription(struct fa_flow_set *set, size_t *size, struct fa_subscription added)
{
    set->subscriptions = fa_arena_grow(&set->arena, set->subscriptions, set->subscription_count,
                                       size, sizeof(*set->subscriptions));
    set->subscriptions[set->subscription_count++] = added;
    set->needs_ends |= added.join != NULL || strncmp(added.type, "task.", 5) == 0;
}

static void add_subscriptions(struct fa_flow_set *set, size_t *size, const struct fa_flow *flow)
{
    const struct fa_workflow *workflow = flow->workflow;

    for (size_t i = 0; i < workflow->trigger_count; i++) {
        const struct fa_workflow_trigger *trigger = &workflow->triggers[i];

        add_subscription(
            set, size,
            (struct fa_subscription){.flow = flow, .type = trigger->on, .trigger = trigger});
    }
    for (size_t i = 0; i < workflow->join_count; i++) {
        const struct fa_join *join = &workflow->joins[i];

        for (size_t k = 0; k < join->task_type_count; k++)
            add_subscription(
                set, size,
                (struct fa_subscription){
                    .flow = flow, .type = join->task_types[k], .join = join, .member = k});
    }
}

/* The group of a subscription's type, which is added if it is new. */
static struct fa_subscribers *group_of(struct fa_flow_set *set,
                                       const struct fa_subscription *subscription)
{
    const char *ns = subscription->flow->ns;
    bool is_join = subscription->join != NULL;
    uint64_t hash = hash_type(ns, subscription->type, is_join);
    struct fa_subscribers **bucket = &set->buckets[hash & (set->bucket_count - 1)];
    struct fa_subscribers *group = find_subscribers(set, hash, ns, subscription->type, is_join);

    if (group == NULL) {
        group = fa_arena_zero(&set->arena, 1, sizeof(*group));
        *group = (struct fa_subscribers){.ns = ns,
                                         .type = subscription->type,
                                         .is_join = is_join,
                                         .hash = hash,
                                         .next = *bucket};
        *bucket = group;
    }
    return group;
}

/* Sorts the subscriptions by their groups; within a group the order stays. */
static void group_subscriptions(struct fa_flow_set *set)
{
    size_t count = set->subscription_count, placed = 0;
    struct fa_subscription *sorted = fa_arena_zero(&set->arena, count, sizeof(*sorted));

    for (size_t i = 0; i < count; i++)
        group_of(set, &set->subscriptions[i])->count++;
    for (size_t i = 0; i < count; i++) {
        struct fa_subscribers *group = group_of(set, &set->subscriptions[i]);

        if (group->items == NULL) {
            group->items = &sorted[placed];
            placed += group->count;
            group->count = 0;
        }
        sorted[group->items - sorted + (ptrdiff_t)group->count++] = set->subscriptions[i];
    }
    set->subscriptions = sorted;
}

static const struct fa_match_index *index_triggers(struct fa_flow_set *set,
                                                   const struct fa_subscribers *group)
{
    const struct fa_match **matches =
        fa_arena_zero(&set->arena, group->count, sizeof(struct fa_match *));

    for (size_t i = 0; i < group->count; i++)
        matches[i] = group->items[i].trigger->match;
    return fa_match_index_make(matches, group->count, &set->arena);
}

static void index_subscriptions(struct fa_flow_set *set)
{
    size_t size = 0;

    for (size_t i = 0; i < set->count; i++)
        if (set->flows[i]->workflow != NULL)
            add_subscriptions(set, &size, set->flows[i]);
    if (set->subscription_count == 0)
        return;
    for (set->bucket_count = 16; set->bucket_count < set->subscription_count * 2;)
        set->bucket_count *= 2;
    set->buckets = fa_arena_zero(&set->arena, set->bucket_count, sizeof(struct fa_subscribers *));
    group_subscriptions(set);
    for (size_t i = 0; i < set->bucket_count; i++)
        for (struct fa_subscribers *it = set->buckets[i]; it != NULL; it = it->next)
            if (!it->is_join)
                it->index = index_triggers(set, it);
}

/* A definition that is not valid for this version (an edited store, a newer version) is ignored. */
static void sink_flow(void *ctx, size_t row, const struct fa_value *c)
{
    struct fa_flow_set *set = ctx;
    struct fa_flow *flow = fa_arena_zero(&set->arena, 1, sizeof(*flow));
    struct fa_mistakes mistakes = {0};

    (void)row;
    flow->ns = fa_value_dup(&c[0], &set->arena);
    flow->name = fa_value_dup(&c[1], &set->arena);
    flow->version = fa_value_as_int(&c[2]);
    if (fa_value_as_int(&c[3]) != 0 && c[5].kind == FA_TEXT &&
        fa_workflow_read(c[5].text, FA_WORKFLOW_JSON, NULL, &set->arena, &flow->workflow, &mistakes,
                         NULL) != FAINA_OK)
        flow->workflow = NULL;
    set->flows =
        fa_arena_grow(&set->arena, set->flows, set->count, &set->size, sizeof(struct fa_flow *));
    set->flows[set->count++] = flow;
}

static enum faina_code load(struct fa_flows *flows, struct fa_db *db, struct faina_error *err)
{
    struct fa_value params[2] = {fa_value_text("*"), fa_value_text("")};
    struct fa_flow_set *set = fa_alloc_zero(1, sizeof(*set));
    enum faina_code code;

    atomic_store(&set->users, 1);
    set->generation = flows->generation;
    set->number = flows->shared != NULL ? atomic_fetch_add(&flows->shared->last_number, 1) + 1 : 0;
    code = fa_db_one(db, FA_SQL_WORKFLOW_LIST, params, 2, sink_flow, set, err);
    index_subscriptions(set);
    fa_flow_set_release(flows->set);
    flows->set = set;
    flows->is_loaded = code == FAINA_OK;
    return code;
}

const struct fa_db_call *fa_flows_generation_call(struct fa_unit *unit)
{
    struct fa_flows *flows = unit->flows;

    flows->generation = 0;
    flows->epoch = unit->epoch;
    flows->generation_call =
        fa_db_call_one(FA_SQL_WORKFLOW_GENERATION, NULL, 0, fa_db_sink_int, &flows->generation);
    return &flows->generation_call;
}

enum faina_code fa_flows_refresh(struct fa_unit *unit, struct faina_error *err)
{
    struct fa_flows *flows = unit->flows;
    struct fa_db *db = unit->source.db;
    enum faina_code code = FAINA_OK;

    if (!fa_db_has(db, FA_DB_MANY_WRITERS))
        return flows->is_loaded ? FAINA_OK : load(flows, db, err);
    if (flows->epoch != unit->epoch || flows->generation == 0) {
        unit->source.also = NULL;
        code = fa_db_run(db, fa_flows_generation_call(unit), err);
    }
    if (code == FAINA_OK && (!flows->is_loaded || flows->set->generation != flows->generation))
        code = load(flows, db, err);
    return code;
}

enum faina_code fa_flows_read_changes(struct fa_unit *unit, struct faina_error *err)
{
    if (!unit->flows->is_changed)
        return FAINA_OK;
    unit->flows->is_changed = false;
    return fa_flows_refresh(unit, err);
}

/* Storing ----------------------------------------------------------------------------------- */

static const char *ns_or_default(const char *ns)
{
    return ns ? ns : "default";
}

struct stored_list {
    struct fa_source *source; /* reports damaged rows; NULL: no report */
    struct fa_arena *arena;
    struct fa_pager pager;
    struct fa_stored_workflow *items;
    size_t count, size;
};

static void report(struct fa_aside *aside, const char *ns, const char *name, int64_t now_us,
                   struct fa_arena *arena)
{
    fa_aside_report(aside, FA_ASIDE_WORKFLOW,
                    fa_arena_printf(arena, "%s/%s", ns ? ns : "", name ? name : ""), NULL,
                    "its definition in table workflow is not JSON", now_us);
}

static void sink_stored(void *ctx, size_t row, const struct fa_value *c)
{
    struct stored_list *list = ctx;
    struct fa_stored_workflow *item;

    (void)row;
    if (!fa_pager_take_row(&list->pager, c, 6))
        return;
    list->items =
        fa_arena_grow(list->arena, list->items, list->count, &list->size, sizeof(*list->items));
    item = &list->items[list->count++];
    item->ns = fa_value_dup(&c[0], list->arena);
    item->name = fa_value_dup(&c[1], list->arena);
    item->version = fa_value_as_int(&c[2]);
    item->is_enabled = fa_value_as_int(&c[3]) != 0;
    item->updated_us = fa_value_as_int(&c[4]);
    item->definition = fa_value_json(&c[5], list->arena); /* left out unless it is JSON */
    if (item->definition == NULL && list->source != NULL)
        report(list->source->aside, item->ns, item->name, fa_db_now(list->source->db), list->arena);
}

/* One workflow, or (name NULL) all. NOT_FOUND: there is none of this name. */
static enum faina_code read_stored(struct fa_db *db, const char *ns, const char *name,
                                   struct stored_list *list, struct faina_error *err)
{
    struct fa_value params[2] = {fa_value_text(ns_or_default(ns)), fa_value_text(name ? name : "")};
    enum faina_code code = fa_db_one(db, FA_SQL_WORKFLOW_LIST, params, 2, sink_stored, list, err);

    if (code == FAINA_OK && name && list->count == 0)
        return fa_error_set(err, FAINA_NOT_FOUND, "there is no workflow %.200s", name);
    return code;
}

enum faina_code fa_flows_check_exists(struct fa_db *db, const char *ns, const char *name,
                                      struct fa_arena *arena, struct faina_error *err)
{
    struct stored_list list = {.arena = arena};

    return read_stored(db, ns, name, &list, err);
}

enum faina_code fa_flows_definition(struct fa_db *db, const char *ns, const char *name,
                                    struct fa_arena *arena, const char **out,
                                    struct faina_error *err)
{
    struct stored_list list = {.arena = arena};
    enum faina_code code = read_stored(db, ns, name, &list, err);

    *out = code == FAINA_OK ? list.items[0].definition : NULL;
    if (code != FAINA_NOT_FOUND)
        return code;
    fa_error_clear(err);
    return FAINA_OK;
}

static enum faina_code set_workflow(struct fa_unit *unit, struct fa_op *op, const char *ns,
                                    const char *name)
{
    struct stored_list list = {.arena = op->arena};
    enum faina_code code = read_stored(unit->source.db, ns, name, &list, &op->error);

    op->workflow_answer = list.items;
    return code;
}

/* After a change all nodes read the definitions again. The chores run at once: a deadline of a join
 * may have passed while its workflow was disabled. */
static enum faina_code mark_change(struct fa_unit *unit, struct faina_error *err)
{
    if (unit->now_us < unit->next_us)
        unit->next_us = unit->now_us;
    fa_flows_invalidate(unit->flows);
    unit->flows->is_changed = true;
    unit->flows->generation = 0;
    return fa_db_one(unit->source.db, FA_SQL_WORKFLOW_MARK, NULL, 0, NULL, NULL, err);
}

/* Checks the version that the caller expects, if it gives one. */
static enum faina_code check_stored_version(struct fa_unit *unit, struct fa_op *op, const char *ns,
                                            const char *name)
{
    struct stored_list list = {.arena = op->arena};
    int64_t wanted = op->by.version, version = 0;
    enum faina_code code;

    if (wanted == 0)
        return FAINA_OK;
    code = read_stored(unit->source.db, ns, name, &list, &op->error);
    if (code != FAINA_OK && code != FAINA_NOT_FOUND)
        return code;
    if (list.count > 0)
        version = list.items[0].is_enabled ? list.items[0].version : -list.items[0].version;
    if (version == wanted)
        return FAINA_OK;
    return fa_error_set(
        &op->error, FAINA_VERSION_CONFLICT, "the workflow is at version %lld%s, not %lld%s",
        (long long)(version < 0 ? -version : version), version < 0 ? ", disabled" : "",
        (long long)(wanted < 0 ? -wanted : wanted), wanted < 0 ? ", disabled" : "");
}

/* Changes the workflow if it has the version that the caller gives. */
static enum faina_code change_version(struct fa_unit *unit, struct fa_op *op,
                                      const struct fa_value params[6], bool *is_changed)
{
    const char *ns = ns_or_default(op->definition->ns);
    const struct fa_workflow *workflow = op->checked;
    int64_t found = 0;
    enum faina_code code = FAINA_OK;

    for (int i = 0; code == FAINA_OK && found == 0; i++) {
        if (i == FA_CHANGE_TRIES)
            return fa_error_set(&op->error, FAINA_CONFLICT,
                                "the workflow is being changed by other callers; try again");
        code = fa_db_one(unit->source.db, FA_SQL_WORKFLOW_CHANGE, params, 6, fa_db_sink_int, &found,
                         &op->error);
        if (code == FAINA_OK && found == 0) /* it matches: another node has just changed it */
            code = check_stored_version(unit, op, ns, workflow->name);
    }
    *is_changed = found == 2;
    return code;
}

enum faina_code fa_do_workflow_put(struct fa_unit *unit, struct fa_op *op)
{
    const char *ns = ns_or_default(op->definition->ns);
    const struct fa_workflow *workflow = op->checked;
    struct fa_value params[] = {
        fa_value_text(ns),
        fa_value_text(workflow->name),
        {.kind = FA_TEXT, .text = workflow->json},
        fa_value_int(workflow->is_enabled),
        fa_value_int(unit->now_us),
        fa_value_int(op->by.version),
    };
    int64_t version = 0;
    bool is_changed = false;
    enum faina_code code;

    if (op->by.version != 0) {
        code = change_version(unit, op, params, &is_changed);
    } else {
        code = fa_db_one(unit->source.db, FA_SQL_WORKFLOW_PUT, params, 5, fa_db_sink_int, &version,
                         &op->error);
        is_changed = version != 0;
    }
    op->existing = !is_changed; /* the same definition was stored already */
    if (code == FAINA_OK && is_changed)
        code = mark_change(unit, &op->error);
    return code == FAINA_OK ? set_workflow(unit, op, ns, workflow->name) : code;
}

/* Changes or removes an existing workflow. */
static enum faina_code change(struct fa_unit *unit, struct fa_op *op, enum fa_sql sql)
{
    bool removes = sql == FA_SQL_WORKFLOW_DELETE;
    const char *ns = ns_or_default(op->workflow.ns);
    struct fa_value params[5] = {fa_value_text(ns), fa_value_text(op->workflow.name),
                                 fa_value_int(removes ? op->by.version : op->workflow.enable),
                                 fa_value_int(unit->now_us), fa_value_int(op->by.version)};
    int64_t version = 0;
    enum faina_code code = fa_db_one(unit->source.db, sql, params, removes ? 3 : 5, fa_db_sink_int,
                                     &version, &op->error);

    if (code == FAINA_OK && version == 0)
        code = check_stored_version(unit, op, ns, op->workflow.name);
    if (code == FAINA_OK && version == 0)
        return fa_error_set(&op->error, FAINA_NOT_FOUND, "there is no workflow %.200s",
                            op->workflow.name);
    return code == FAINA_OK ? mark_change(unit, &op->error) : code;
}

enum faina_code fa_do_workflow_enable(struct fa_unit *unit, struct fa_op *op)
{
    enum faina_code code = change(unit, op, FA_SQL_WORKFLOW_ENABLE);

    return code == FAINA_OK ? set_workflow(unit, op, op->workflow.ns, op->workflow.name) : code;
}

enum faina_code fa_do_workflow_remove(struct fa_unit *unit, struct fa_op *op)
{
    struct fa_value params[2] = {fa_value_text(ns_or_default(op->workflow.ns)),
                                 fa_value_text(op->workflow.name)};
    enum faina_code code = change(unit, op, FA_SQL_WORKFLOW_DELETE);

    if (code == FAINA_OK)
        code = fa_db_one(unit->source.db, FA_SQL_JOIN_REMOVE, params, 2, NULL, NULL, &op->error);
    return code;
}

/* Listing ----------------------------------------------------------------------------------- */

static enum faina_code read_page(struct fa_source *source, struct fa_op *op,
                                 struct stored_list *list)
{
    struct fa_list_query query = {.sql = FA_SQL_WORKFLOW_PAGE,
                                  .params = {fa_value_text(ns_or_default(op->workflow.ns))},
                                  .param_count = 4,
                                  .after_at = 1,
                                  .limit_at = 3,
                                  .key_at = 0,
                                  .key_count = 2,
                                  .sink = sink_stored,
                                  .sink_ctx = list};

    return fa_pager_read(&list->pager, source->db, &query, op->part.cursor, op->arena,
                         &op->next_cursor, &op->error);
}

enum faina_code fa_read_workflows(struct fa_source *source, struct fa_op *op)
{
    struct stored_list list = {
        .source = source, .arena = op->arena, .pager = fa_pager_of_part(&op->part)};
    enum faina_code code = op->workflow.name ? read_stored(source->db, op->workflow.ns,
                                                           op->workflow.name, &list, &op->error)
                                             : read_page(source, op, &list);

    if (code != FAINA_OK)
        return code;
    op->workflows = fa_arena_zero(op->arena, 1, sizeof(*op->workflows));
    op->workflows->items = list.items;
    op->workflows->count = list.count;
    return FAINA_OK;
}
