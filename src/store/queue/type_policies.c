/*
 * type_policies.c - stores the policies of types (lanes/policies.h).
 *
 * A transaction that changes them uses the new ones at once. The other transactions of this node
 * read them after its commit, and the other nodes are notified.
 */
#include "store/read/lookup.h"
#include "store/queue/ops.h"
#include "store/read/pages.h"

#include "base/clock.h"
#include "model/limits.h"
#include "store/db/store.h"
#include "store/lanes/policies.h"

#include <stdio.h>

struct policy_list {
    struct fa_source *source;
    struct fa_arena *arena;
    struct fa_pager pager;
    struct faina_type_policy *items;
    size_t count, size;
};

static const char *or_default(const char *ns)
{
    return ns ? ns : "default";
}

/* The type as the primary key has it. */
static const char *fold(const char *type, struct fa_arena *arena)
{
    return fa_name_fold(fa_arena_strdup(arena, type));
}

static void sink_policy(void *ctx, size_t row, const struct fa_value *c)
{
    struct policy_list *list = ctx;
    struct faina_type_policy item;
    const char *damage;

    (void)row;
    if (!fa_policy_of_row(c, list->arena, &item, &damage)) {
        (void)fa_aside_report_row(list->source->aside, "type_policy", &c[2], damage, list->arena,
                                  fa_db_now(list->source->db));
        (void)fa_pager_skip_row(&list->pager, c, FA_POLICY_COLUMNS);
        return;
    }
    if (!fa_pager_take_row(&list->pager, c, FA_POLICY_COLUMNS))
        return;
    list->items =
        fa_arena_grow(list->arena, list->items, list->count, &list->size, sizeof(*list->items));
    list->items[list->count++] = item;
}

static enum faina_code refuse_missing(const char *ns, const char *type, struct faina_error *err)
{
    return fa_error_set(err, FAINA_NOT_FOUND, "the type %.255s of namespace %.200s has no policies",
                        type, ns);
}

/* *out is NULL when there are none. */
static enum faina_code find(struct fa_source *source, const char *ns, const char *type,
                            struct fa_arena *arena, struct faina_type_policy **out,
                            struct faina_error *err)
{
    struct policy_list list = {.source = source, .arena = arena};
    struct fa_value params[2] = {fa_value_text(ns), fa_value_text(fold(type, arena))};
    enum faina_code code =
        fa_db_one(source->db, FA_SQL_TYPE_POLICY_GET, params, 2, sink_policy, &list, err);

    *out = list.items;
    return code;
}

static enum faina_code read_page(struct fa_source *source, struct fa_op *op,
                                 struct policy_list *list)
{
    const char *ns = or_default(op->name.ns);
    struct fa_list_query query = {.sql = FA_SQL_TYPE_POLICY_PAGE,
                                  .params = {fa_value_text(strcmp(ns, "*") == 0 ? NULL : ns)},
                                  .param_count = 4,
                                  .after_at = 1,
                                  .limit_at = 3,
                                  .key_at = 0,
                                  .key_count = 2,
                                  .sink = sink_policy,
                                  .sink_ctx = list};

    list->pager = fa_pager_of_part(&op->part);
    return fa_pager_read(&list->pager, source->db, &query, op->part.cursor, op->arena,
                         &op->next_cursor, &op->error);
}

enum faina_code fa_read_types(struct fa_source *source, struct fa_op *op)
{
    struct policy_list list = {.source = source, .arena = op->arena};
    enum faina_code code;

    if (op->name.type != NULL) {
        code = find(source, or_default(op->name.ns), op->name.type, op->arena, &list.items,
                    &op->error);
        list.count = list.items != NULL;
        if (code == FAINA_OK && list.count == 0)
            code = refuse_missing(or_default(op->name.ns), op->name.type, &op->error);
    } else {
        code = read_page(source, op, &list);
    }
    if (code != FAINA_OK)
        return code;
    op->types = fa_arena_zero(op->arena, 1, sizeof(*op->types));
    op->types->items = list.items;
    op->types->count = list.count;
    return FAINA_OK;
}

/* Changing --------------------------------------------------------------------------------- */

static enum faina_code refuse_version(const struct faina_type_policy *old, struct fa_op *op)
{
    return fa_error_set(&op->error, FAINA_VERSION_CONFLICT,
                        "the policies are at version %lld, not %lld",
                        (long long)(old != NULL ? old->version : 0), (long long)op->by.version);
}

static enum faina_code check_room(struct fa_unit *unit, struct faina_error *err)
{
    int64_t count = 0;
    enum faina_code code =
        fa_db_one(unit->source.db, FA_SQL_TYPE_POLICY_COUNT, NULL, 0, fa_db_sink_int, &count, err);

    if (code == FAINA_OK && count >= FA_TYPE_POLICIES_MAX)
        code = fa_error_set(err, FAINA_OVERLOADED, "%d types have policies, which is the limit",
                            FA_TYPE_POLICIES_MAX);
    return code;
}

/* The policies are read again for the rest of the transaction (T3). */
static enum faina_code note_change(struct fa_unit *unit, struct faina_error *err)
{
    enum faina_code code =
        fa_db_one(unit->source.db, FA_SQL_TYPE_POLICY_MARK, NULL, 0, NULL, NULL, err);

    unit->has_policies = true;
    unit->unhandled.at_us = 0;
    unit->next_us = unit->now_us; /* unhandled tasks may be due */
    return code == FAINA_OK && unit->source.store != NULL
               ? fa_policies_read(unit->source.store->policies, unit->source.db,
                                  &unit->source.policies, err)
               : code;
}

static void sink_version(void *ctx, size_t row, const struct fa_value *columns)
{
    (void)row;
    *(int64_t *)ctx = fa_value_as_int(&columns[0]);
}

/* *version is 0 when the stored policies have another version than op->by gives. */
static enum faina_code store_policy(struct fa_unit *unit, struct fa_op *op, int64_t *version)
{
    const struct faina_type_policy *policy = op->type_policy;
    struct fa_value params[FA_POLICY_COLUMNS] = {
        fa_value_text(or_default(policy->ns)),
        fa_value_text(fold(policy->type, &unit->arena)),
        fa_value_text(policy->type),
        {.kind = policy->max_attempts != 0 ? FA_INT : FA_NULL},
        fa_value_int_or_null(policy->retry.base_ms),
        {.kind = FA_NULL},
        fa_value_int_or_null(policy->retry.max_ms),
        fa_value_int_or_null(policy->timeout_ms),
        fa_value_int_or_null(policy->start_by_ms),
        {.kind = policy->has_priority ? FA_INT : FA_NULL, .i = policy->priority},
        fa_value_text(fa_names_json(&unit->arena, policy->resources, policy->resource_count)),
        fa_value_int_or_null(policy->unhandled_after_ms),
        fa_value_text(policy->input_schema),
        fa_value_int(unit->now_us),
        fa_value_int(op->by.version),
    };

    if (policy->max_attempts > 0)
        params[3].i = policy->max_attempts;
    if (policy->retry.factor > 0)
        params[5] = (struct fa_value){.kind = FA_REAL, .d = policy->retry.factor};
    *version = 0;
    return fa_db_one(unit->source.db, FA_SQL_TYPE_POLICY_PUT, params, FA_POLICY_COLUMNS,
                     sink_version, version, &op->error);
}

enum faina_code fa_do_type_put(struct fa_unit *unit, struct fa_op *op)
{
    const char *ns = or_default(op->type_policy->ns);
    struct faina_type_policy *old = NULL;
    int64_t version = 0;
    enum faina_code code =
        find(&unit->source, ns, op->type_policy->type, op->arena, &old, &op->error);

    if (code == FAINA_OK && op->by.version != 0 && (old == NULL || old->version != op->by.version))
        code = refuse_version(old, op);
    if (code == FAINA_OK && old == NULL)
        code = check_room(unit, &op->error);
    if (code == FAINA_OK)
        code = store_policy(unit, op, &version);
    if (code == FAINA_OK && version == 0) /* another node has changed them */
        code = refuse_version(NULL, op);
    if (code == FAINA_OK)
        code = note_change(unit, &op->error);
    if (code != FAINA_OK)
        return code;
    op->existing = old != NULL;
    return find(&unit->source, ns, op->type_policy->type, op->arena, &op->type_answer, &op->error);
}

static void sink_found(void *ctx, size_t row, const struct fa_value *columns)
{
    (void)row;
    (void)columns;
    *(bool *)ctx = true;
}

enum faina_code fa_do_type_remove(struct fa_unit *unit, struct fa_op *op)
{
    const char *ns = or_default(op->name.ns);
    struct fa_value params[3] = {fa_value_text(ns),
                                 fa_value_text(fold(op->name.type, &unit->arena)),
                                 fa_value_int(op->by.version)};
    struct faina_type_policy *old = NULL;
    bool found = false;
    enum faina_code code = fa_db_one(unit->source.db, FA_SQL_TYPE_POLICY_DELETE, params, 3,
                                     sink_found, &found, &op->error);

    if (code != FAINA_OK)
        return code;
    if (found)
        return note_change(unit, &op->error);
    if (op->by.version != 0)
        code = find(&unit->source, ns, op->name.type, &unit->arena, &old, &op->error);
    if (code != FAINA_OK)
        return code;
    return old != NULL ? refuse_version(old, op) : refuse_missing(ns, op->name.type, &op->error);
}
