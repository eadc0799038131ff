/*
 * submit.c - creates tasks.
 *
 * A plan includes all checks, so carrying it out can't fail. A block with subtasks plans all of
 * them first, so that a refused subtask changes nothing.
 */
#include "store/txn/id_range.h"
#include "store/queue/ops.h"

#include "base/hash.h"
#include "json/json.h"
#include "model/limits.h"
#include "model/task_rules.h"
#include "service/access.h"

#include <assert.h>
#include <stdio.h>

/* The first bits of the SHA-256 of the key's kind and parts. */
static struct fa_key hash_parts(struct fa_bytes parts[4])
{
    uint8_t digest[FA_SHA256_SIZE];
    struct fa_key key;

    fa_sha256_parts(parts, 4, digest);
    memcpy(&key.hash, digest, sizeof(key.hash));
    memcpy(&key.more, digest + sizeof(key.hash), sizeof(key.more));
    if (key.hash == 0)
        key.hash = 1;
    return key;
}

static struct fa_key hash_key(const char *kind, const char *a, const char *b, const char *c)
{
    return hash_parts((struct fa_bytes[]){fa_str(kind), fa_str(a), fa_str(b), fa_str(c)});
}

/* The type as it is in the hash of a key. */
static const char *fold_type(const char *type, char out[FA_TYPE_SIZE_MAX + 1])
{
    snprintf(out, FA_TYPE_SIZE_MAX + 1, "%s", type);
    return fa_name_fold(out);
}

static struct fa_key input_key(const char *ns, const char *type, const char *input_hash)
{
    char folded[FA_TYPE_SIZE_MAX + 1];

    return hash_key("input", ns, fold_type(type, folded), input_hash);
}

struct fa_key fa_key_hash(const char *ns, const char *type, const char *key)
{
    char folded[FA_TYPE_SIZE_MAX + 1];

    return hash_key("key", ns, fold_type(type, folded), key);
}

/* Older versions stored keys of subtasks, too (children.h). They are removed with their tasks. */
static struct fa_key child_hash(int64_t parent, const char *child)
{
    char key[32];

    snprintf(key, sizeof(key), "%lld", (long long)parent);
    return hash_key("child", key, child, "");
}

static bool is_same_lane(const struct fa_row *row, const struct fa_plan *plan)
{
    return fa_name_is_same(row->lane->type, plan->type) && strcmp(row->lane->ns, plan->ns) == 0;
}

static bool has_this_key(const struct fa_row *row, const void *ctx)
{
    const struct fa_plan *plan = ctx;

    return row->key != NULL && strcmp(row->key, plan->submit->idempotency_key) == 0 &&
           is_same_lane(row, plan);
}

static bool has_this_input(const struct fa_row *row, const void *ctx)
{
    const struct fa_plan *plan = ctx;

    return row->input_hash != NULL && strcmp(row->input_hash, plan->input_hash) == 0 &&
           is_same_lane(row, plan);
}

struct fa_key fa_work_hash(struct fa_bytes type, struct fa_bytes input)
{
    struct fa_key key = {0};
    struct fa_buf canonical;

    if (fa_json_check(input, FA_JSON_DEPTH_MAX, "", FAINA_INTERNAL, NULL) != FAINA_OK)
        return key;
    fa_buf_init(&canonical, SIZE_MAX / 2);
    fa_json_canonical(input, &canonical);
    key = hash_parts((struct fa_bytes[]){
        fa_str("work"), type, (struct fa_bytes){canonical.ptr, canonical.len}, fa_str("")});
    fa_buf_finish(&canonical);
    return key;
}

/* A task loses its key to the next submit with it, once its scope is over. */
static enum faina_code apply_scope(struct fa_unit *unit, struct fa_plan *plan,
                                   struct faina_error *err)
{
    const struct fa_row *row = plan->existing;

    if (row == NULL)
        return FAINA_OK;
    if (!fa_key_scope_holds(row->key_scope, row->status, row->created_us, unit->now_us)) {
        plan->loses = plan->existing;
        plan->existing = NULL;
        return FAINA_OK;
    }
    return plan->submit->on_duplicate == FAINA_ON_DUPLICATE_REJECT ? fa_plan_reject(plan, err)
                                                                   : FAINA_OK;
}

static enum faina_code find_existing(struct fa_unit *unit, struct fa_plan *plan,
                                     struct faina_error *err)
{
    const struct faina_submit *submit = plan->submit;
    enum faina_code code = fa_key_scope_parse(submit->key_scope, &plan->key_scope, err);

    if (code != FAINA_OK)
        return code;
    if (submit->idempotency_key != NULL) {
        plan->key = fa_key_hash(plan->ns, plan->type, submit->idempotency_key);
        return fa_unit_find_key(unit, plan->key.hash, has_this_key, plan, &plan->existing, err);
    }
    if (submit->dedupe_input) {
        fa_input_hash(submit->input, plan->input_hash);
        plan->key = input_key(plan->ns, plan->type, plan->input_hash);
        return fa_unit_find_key(unit, plan->key.hash, has_this_input, plan, &plan->existing, err);
    }
    return FAINA_OK;
}

static enum faina_code find_needs(struct fa_unit *unit, struct fa_plan *plan,
                                  struct faina_error *err)
{
    const struct faina_submit *submit = plan->submit;

    if (submit->depends_on_count == 0)
        return FAINA_OK;
    plan->needs = fa_arena_take(&unit->arena, submit->depends_on_count * sizeof(struct fa_row *));
    for (size_t i = 0; i < submit->depends_on_count; i++) {
        struct fa_row *need = NULL;
        enum faina_code code = fa_unit_find(unit, submit->depends_on[i], false, &need, err);
        bool is_repeat = false;

        if (code == FAINA_TASK_NOT_FOUND ||
            (code == FAINA_OK && !fa_access_reaches(unit->grant, need->lane->ns)))
            return fa_error_field(err, FAINA_INVALID_TASK, "dependsOn",
                                  "dependsOn names a task that does not exist: %.64s",
                                  submit->depends_on[i]);
        if (code != FAINA_OK)
            return code;
        for (size_t j = 0; j < plan->need_count; j++)
            is_repeat |= plan->needs[j] == need;
        if (is_repeat)
            continue;
        plan->needs[plan->need_count++] = need;
    }
    return FAINA_OK;
}

/* Ids of teams are stored in lower case. */
static const char *lower_case_id(struct fa_unit *unit, const char *id)
{
    char text[FAINA_ID_SIZE];

    return fa_uuid_parse(id, text) && strcmp(id, text) != 0 ? fa_unit_text(unit, text) : id;
}

struct team_search {
    const char *ns;
    bool found;
};

static void sink_team(void *ctx, size_t n, const struct fa_value *columns)
{
    struct team_search *search = ctx;

    (void)n;
    search->found = fa_bytes_equal(columns[1].text, fa_str(search->ns));
}

static enum faina_code check_team(struct fa_unit *unit, const struct faina_submit *submit,
                                  const char *ns, struct faina_error *err)
{
    struct team_search search = {.ns = ns};
    struct fa_value id;
    enum faina_code code;

    if (submit->team_id == NULL)
        return FAINA_OK;
    id = fa_value_text(lower_case_id(unit, submit->team_id));
    code = fa_db_one(unit->source.db, FA_SQL_TEAM_GET, &id, 1, sink_team, &search, err);
    if (code == FAINA_OK && !search.found)
        code = fa_error_field(err, FAINA_INVALID_TASK, "teamId",
                              "namespace %.100s has no team %.64s", ns, submit->team_id);
    return code;
}

static enum faina_code check_child(const struct faina_submit *submit, const struct fa_row *parent,
                                   struct faina_error *err)
{
    if (submit->idempotency_key != NULL || submit->dedupe_input || submit->key_scope != NULL)
        return fa_error_field(
            err, FAINA_INVALID_TASK, "idempotencyKey",
            "a subtask has no key of its own: its name among its siblings is one");
    if (submit->ns != NULL && strcmp(submit->ns, parent->lane->ns) != 0)
        return fa_error_field(err, FAINA_INVALID_TASK, "namespace",
                              "a subtask is in its parent's namespace, %.200s", parent->lane->ns);
    if (parent->depth + 1 > FA_SUBTASK_DEPTH_MAX)
        return fa_error_field(err, FAINA_INVALID_TASK, "subtasks",
                              "subtasks can be nested %d deep, and this task is at that depth",
                              FA_SUBTASK_DEPTH_MAX);
    return FAINA_OK;
}

/* What applies at a submit, of the submit itself or of its type. */
static void take_policy(struct fa_unit *unit, const struct fa_policy *policy, struct fa_plan *plan)
{
    const struct faina_submit *submit = plan->submit;
    bool has_start_by = submit->start_by_ms > 0 || submit->start_by_us != 0;
    int64_t start_by_ms =
        has_start_by || policy == NULL ? submit->start_by_ms : policy->set.start_by_ms;

    plan->priority = submit->priority;
    if (policy != NULL && policy->set.has_priority && !submit->has_priority &&
        submit->priority == 0)
        plan->priority = policy->set.priority;
    plan->start_by_us = start_by_ms > 0 ? unit->now_us + start_by_ms * 1000 : submit->start_by_us;
}

static enum faina_code get_lane(struct fa_unit *unit, const struct fa_policy *policy,
                                struct fa_plan *plan, struct faina_error *err)
{
    bool has_own = policy == NULL || plan->submit->resources != NULL;

    return fa_lanes_get(unit->source.lanes, unit->source.db, plan->ns, plan->type,
                        has_own ? plan->submit->resources : policy->set.resources,
                        has_own ? plan->submit->resource_count : policy->set.resource_count,
                        plan->submit->group != NULL, &plan->lane, err);
}

enum faina_code fa_plan_make(struct fa_unit *unit, const struct faina_submit *submit,
                             struct fa_children *siblings, const char *child, struct fa_plan *out,
                             struct faina_error *err)
{
    const struct fa_policy *policy;
    enum faina_code code = FAINA_OK;

    *out = (struct fa_plan){.submit = submit, .child = child};
    out->type = submit->type ? submit->type : "default";
    out->ns = submit->ns ? submit->ns : "default";
    if (siblings != NULL)
        out->ns = siblings->parent->lane->ns;
    policy = fa_policy_find(unit->source.policies, out->ns, out->type);
    take_policy(unit, policy, out);
    if (siblings != NULL) {
        out->parent = siblings->parent;
        code = check_child(submit, out->parent, err);
        if (code == FAINA_OK)
            code = fa_children_find(siblings, child, &out->existing, &out->is_duplicate, err);
    } else if (submit->detached) {
        code = fa_error_field(err, FAINA_INVALID_TASK, "detached",
                              "only a subtask can be detached: this task has no parent");
    } else {
        code = find_existing(unit, out, err);
        if (code == FAINA_OK)
            code = apply_scope(unit, out, err);
    }
    if (code == FAINA_OK && policy != NULL && policy->schema != NULL &&
        (out->existing == NULL || fa_plan_replaces(out)))
        code = fa_input_schema_check(policy->schema, submit->input, err);
    if (code != FAINA_OK || out->existing != NULL)
        return code;
    code = find_needs(unit, out, err);
    if (code == FAINA_OK)
        code = check_team(unit, submit, out->ns, err);
    if (code == FAINA_OK)
        code = get_lane(unit, policy, out, err);
    if (code == FAINA_OK && !out->is_duplicate)
        code = fa_id_range_next(unit, &out->id, err);
    return code;
}

static void set_times(struct fa_unit *unit, struct fa_row *row, const struct fa_plan *plan)
{
    const struct faina_submit *submit = plan->submit;

    row->created_us = row->updated_us = unit->now_us;
    if (submit->delay_ms > 0)
        row->run_at_us = unit->now_us + submit->delay_ms * 1000;
    else
        row->run_at_us = submit->run_at_us;
    if (row->status == FAINA_PENDING && row->run_at_us > unit->now_us)
        row->at_us = row->run_at_us;
    row->start_by_us = plan->start_by_us;
    if (row->start_by_us != 0)
        fa_unit_set_timer(unit, row, FA_TIMER_START_BY, row->start_by_us);
    if (row->at_us != 0 && row->at_us < unit->next_us)
        unit->next_us = row->at_us;
}

static void link_needs(struct fa_unit *unit, const struct fa_plan *plan, struct fa_row *row)
{
    row->flags |= FA_FLAG_HAS_DEPS;
    for (size_t i = 0; i < plan->need_count; i++) {
        struct fa_row *need = plan->needs[i];
        bool has_ended = fa_status_is_ended(need->status);

        /* Counted here and not in the plan, since a sibling may have been requeued meanwhile. */
        row->deps_left += !has_ended;
        row->deps_bad += has_ended && need->status != FAINA_COMPLETED;

        fa_unit_link(unit, FA_LINK_DEP, row->id.key, need->id.key, 0);
        if (!(need->flags & FA_FLAG_HAS_DEPENDENTS)) {
            need->flags |= FA_FLAG_HAS_DEPENDENTS;
            fa_unit_touch(unit, need);
        }
    }
    if (row->deps_left > 0) {
        row->status = FAINA_BLOCKED;
        row->flags |= FA_FLAG_CREATED_BLOCKED;
    } else if (row->deps_bad > 0) {
        row->flags |= FAINA_PHASE_ERROR;
    }
}

/* The request's memory is valid until the batch is answered, after the row was written. So its
 * texts are not copied. */
struct fa_row *fa_plan_carry_out(struct fa_unit *unit, const struct fa_plan *plan)
{
    const struct faina_submit *submit = plan->submit;
    struct fa_row *row = fa_unit_add(unit, plan->id);

    assert(plan->existing == NULL && !plan->is_duplicate);
    row->lane = plan->lane;
    row->rank = -(int64_t)plan->priority;
    row->version = 1;
    fa_row_set_attempts(row, submit->max_attempts);
    row->input = submit->input;
    row->first_metadata = submit->metadata;
    row->spec = submit->spec;
    row->key = submit->idempotency_key;
    row->key_scope = plan->key_scope;
    if (submit->team_id != NULL)
        row->team = lower_case_id(unit, submit->team_id);
    row->created_by = submit->created_by;
    row->retry = submit->retry;
    row->timeout_ms = submit->timeout_ms;
    row->group = submit->group;
    if (submit->name != NULL && strcmp(submit->name, plan->type) != 0)
        row->name = submit->name;
    if (plan->input_hash[0] != '\0')
        row->input_hash = fa_unit_text(unit, plan->input_hash);
    if (plan->parent != NULL) {
        row->parent = plan->parent->id.key;
        row->depth = plan->parent->depth + 1;
        row->child = plan->child;
        row->flags |= FA_FLAG_HAS_PARENT;
        row->flags |= submit->detached ? FA_FLAG_DETACHED : FA_FLAG_AWAITED;
    }
    row->status = FAINA_PENDING;
    if (plan->need_count > 0)
        link_needs(unit, plan, row);
    set_times(unit, row, plan);
    if (plan->loses != NULL)
        fa_unit_move_key(unit, plan->key, plan->loses, row);
    else if (plan->key.hash != 0)
        fa_unit_take_key(unit, plan->key, row);
    fa_unit_touch(unit, row);
    fa_lane_count(row->lane, -1, (int)row->status);
    fa_unit_log_event(unit, row, "created", row->status, row->created_us);
    return row;
}

enum faina_code fa_do_submit(struct fa_unit *unit, struct fa_op *op)
{
    struct fa_plan plan;
    struct fa_row *row;
    enum faina_code code = fa_plan_make(unit, op->submit, NULL, NULL, &plan, &op->error);

    if (code != FAINA_OK)
        return code;
    if (plan.existing != NULL) {
        row = plan.existing;
        op->existing = true;
        code = fa_row_load_payload(&unit->source, row, &unit->arena, &op->error);
        if (code == FAINA_OK && fa_plan_replaces(&plan))
            code = fa_permit_replace(unit, op, row);
        if (code == FAINA_OK)
            code = fa_plan_replace(unit, &plan, &op->error);
        if (code != FAINA_OK)
            return code;
        op->input_mismatch = !fa_json_same(fa_str(row->input ? row->input : "null"),
                                           fa_str(op->submit->input ? op->submit->input : "null"));
    } else {
        row = fa_plan_carry_out(unit, &plan);
        row->submitter = fa_access_submitter(op->grant);
    }
    return fa_set_result(unit, op, row);
}

size_t fa_keys_of(const struct fa_key_parts *task, struct fa_key out[FA_KEYS_MAX])
{
    size_t count = 0;

    if (task->key != NULL)
        out[count++] = fa_key_hash(task->ns, task->type, task->key);
    if (task->input_hash != NULL)
        out[count++] = input_key(task->ns, task->type, task->input_hash);
    if (task->child != NULL)
        out[count++] = child_hash(task->parent, task->child);
    return count;
}

void fa_free_keys(struct fa_unit *unit, const struct fa_row *row)
{
    struct fa_key_parts parts = {row->lane->ns,   row->lane->type, row->key,
                                 row->input_hash, row->child,      row->parent};
    struct fa_key keys[FA_KEYS_MAX];
    size_t count;

    assert(row->has_task);
    count = fa_keys_of(&parts, keys);
    for (size_t i = 0; i < count; i++)
        fa_unit_link(unit, FA_UNLINK_KEY, keys[i].hash, row->id.key, keys[i].more);
}
