/*
 * joins.c - joins: one task after the ends of several tasks with the same key.
 *
 * A round of a join collects one ended task of each of its types. The last one ends the round: the
 * join's task is made or, if a member ended badly and onFailure is `drop`, none is. Later ends with
 * the same key belong to a new round. If two tasks of one type end within a round, the later one
 * counts; so a failed member that was retried and completed makes the round good. At the deadline
 * missing members count as ended badly.
 */
#include "store/workflow/definitions.h"

#include "store/read/show.h"
#include "model/limits.h"
#include "model/states.h"
#include "store/upkeep/chore_scope.h"
#include "store/read/lookup.h"
#include "store/read/pages.h"
#include "store/txn/json_text.h"
#include "store/txn/row_check.h"

#define INACTIVE_US 1000000 /* rounds of inactive workflows are checked again after this */

/* A task of a round. */
struct member {
    const char *id; /* NULL: missing */
    const char *status;
};

/* A round, and its row. */
struct round {
    const struct fa_subscription *subscription;
    const char *key; /* canonical JSON */
    int64_t number, deadline_us;
    const char *text; /* the stored members */
    struct member members[FA_JOIN_TYPES_MAX];
};

/* The end of a round; all NULL: it continues. */
struct round_end {
    const char *outcome, *task, *error;
};

/* The row ------------------------------------------------------------------------------------- */

struct round_sink {
    struct fa_arena *arena;
    struct round *round;
};

static void sink_round(void *ctx, size_t row, const struct fa_value *c)
{
    struct round_sink *sink = ctx;

    (void)row;
    sink->round->number = fa_value_as_int(&c[0]);
    if (sink->round->number < 0 || sink->round->number > INT64_MAX / 2)
        sink->round->number = 1; /* an edited row */
    sink->round->text = fa_value_dup(&c[1], sink->arena);
    sink->round->deadline_us = fa_value_as_int(&c[2]);
}

static void read_members(struct fa_unit *unit, struct round *round)
{
    const struct fa_join *join = round->subscription->join;
    struct fa_json_iter it;
    struct fa_bytes key;
    struct fa_json value, id, status;

    if (fa_json_check(fa_str(round->text), 4, "members", FAINA_INTERNAL, NULL) != FAINA_OK)
        return; /* an edited row: the round starts again */
    for (it = fa_json_iter(fa_json_value(fa_str(round->text))); fa_json_next(&it, &key, &value);) {
        const char *type = fa_json_unescape(key, &unit->arena);

        for (size_t i = 0; i < join->task_type_count; i++) {
            if (!fa_name_is_same(join->task_types[i], type) || value.type != FA_JSON_OBJECT ||
                !fa_json_member(value, "id", &id) || !fa_json_member(value, "status", &status) ||
                id.type != FA_JSON_STRING || status.type != FA_JSON_STRING)
                continue;
            round->members[i].id = fa_json_text(id, &unit->arena);
            round->members[i].status = fa_json_text(status, &unit->arena);
        }
    }
}

/* Locks the row (K4) and reads it. */
static enum faina_code open_round(struct fa_unit *unit, struct round *round,
                                  struct faina_error *err)
{
    struct fa_value params[] = {fa_value_text(round->subscription->flow->ns),
                                fa_value_text(round->subscription->flow->workflow->name),
                                fa_value_text(round->subscription->join->name),
                                fa_value_text(round->key), fa_value_int(unit->now_us)};
    struct round_sink sink = {.arena = &unit->arena, .round = round};
    enum faina_code code =
        fa_db_one(unit->source.db, FA_SQL_JOIN_TOUCH, params, 5, sink_round, &sink, err);

    if (code == FAINA_OK && round->text != NULL)
        read_members(unit, round);
    return code;
}

static const char *members_json(struct fa_unit *unit, const struct round *round)
{
    const struct fa_join *join = round->subscription->join;
    struct fa_json_builder builder;
    struct fa_json_writer *writer = fa_json_builder_begin(&builder);

    fa_json_begin_object(writer);
    for (size_t i = 0; i < join->task_type_count; i++) {
        if (round->members[i].id == NULL)
            continue;
        fa_json_key(writer, join->task_types[i]);
        fa_json_begin_object(writer);
        fa_json_set_str(writer, "id", round->members[i].id);
        fa_json_set_str(writer, "status", round->members[i].status);
        fa_json_end_object(writer);
    }
    fa_json_end_object(writer);
    return fa_json_builder_end(&builder, &unit->arena);
}

static enum faina_code write_round(struct fa_unit *unit, const struct round *round,
                                   const struct round_end *end, struct faina_error *err)
{
    bool is_over = end->outcome != NULL;

    return fa_db_one(unit->source.db, FA_SQL_JOIN_PUT,
                     (struct fa_value[]){fa_value_text(round->subscription->flow->ns),
                                         fa_value_text(round->subscription->flow->workflow->name),
                                         fa_value_text(round->subscription->join->name),
                                         fa_value_text(round->key),
                                         fa_value_int(round->number + is_over),
                                         fa_value_text(is_over ? "{}" : members_json(unit, round)),
                                         fa_value_int_or_null(is_over ? 0 : round->deadline_us),
                                         fa_value_text(end->outcome), fa_value_text(end->task),
                                         fa_value_text(end->error)},
                     10, NULL, NULL, err);
}

/* Ending a round ------------------------------------------------------------------------------ */

/* The task of a member as JSON, and the length of its chain of tasks. A purged one is missing. */
static enum faina_code read_member(struct fa_unit *unit, const char *id, struct fa_json *out,
                                   int64_t *depth, struct faina_error *err)
{
    struct fa_source source = unit->source; /* reads without a lock: another node may hold it */
    const struct faina_origin *origin;
    const char *json = NULL;
    struct fa_row loaded, *row;
    enum faina_code code = FAINA_OK;
    struct fa_id parsed;

    *depth = 0;
    source.for_change = false;
    source.also = NULL;
    if (!fa_id_parse(id, &parsed))
        return FAINA_OK;
    row = fa_unit_cached(unit, parsed.key);
    if (row == NULL) {
        code = fa_row_load(&source, parsed.key, &unit->arena, &loaded, err);
        row = &loaded;
    }
    if (code == FAINA_TASK_NOT_FOUND || (code == FAINA_OK && row->is_purged))
        return FAINA_OK;
    if (code == FAINA_OK)
        code = fa_row_origin(&source, row, &unit->arena, &origin, depth, err);
    if (code == FAINA_OK)
        code = fa_flow_task_json(unit, &source, row, &json, err);
    if (code == FAINA_OK)
        *out = fa_json_value(fa_str(json));
    return code;
}

static enum faina_code fire(struct fa_unit *unit, const struct round *round, const char *event_id,
                            struct fa_emit_result *result, struct round_end *end,
                            struct faina_error *err)
{
    const struct fa_join *join = round->subscription->join;
    struct fa_json *tasks = fa_arena_zero(&unit->arena, join->task_type_count, sizeof(*tasks));
    struct fa_template_members members = {.key = fa_json_value(fa_str(round->key)),
                                          .tasks = tasks,
                                          .budget = &fa_emit_budget(unit, result)->steps_left};
    struct fa_making making = {.flow = round->subscription->flow,
                               .name = join->name,
                               .task = join->task,
                               .lookup = fa_template_lookup_members,
                               .lookup_ctx = &members,
                               .event_id = event_id};
    size_t tasks_before = result->task_count;
    enum faina_code code = FAINA_OK;

    for (size_t i = 0; code == FAINA_OK && i < join->task_type_count; i++) {
        int64_t depth = 0;

        if (round->members[i].id != NULL)
            code = read_member(unit, round->members[i].id, &tasks[i], &depth, err);
        if (depth + 1 > making.depth)
            making.depth = depth + 1;
    }
    if (code == FAINA_OK)
        code = fa_flow_make(unit, &making, result, err);
    if (code != FAINA_OK)
        return code;
    if (result->task_count > tasks_before)
        *end = (struct round_end){.outcome = "fired", .task = result->tasks[tasks_before]};
    else
        *end = (struct round_end){.outcome = "failed",
                                  .error = result->failures[result->failure_count - 1].message};
    return FAINA_OK;
}

static bool has_bad_member(const struct round *round)
{
    for (size_t i = 0; i < round->subscription->join->task_type_count; i++) {
        const char *status = round->members[i].status;

        if (status == NULL || strcmp(status, faina_status_name(FAINA_COMPLETED)) != 0)
            return true;
    }
    return false;
}

static bool is_full(const struct round *round)
{
    for (size_t i = 0; i < round->subscription->join->task_type_count; i++)
        if (round->members[i].id == NULL)
            return false;
    return true;
}

static enum faina_code end_round(struct fa_unit *unit, const struct round *round,
                                 const char *event_id, struct fa_emit_result *result,
                                 struct faina_error *err)
{
    struct round_end end = {.outcome = "dropped"};
    enum faina_code code = FAINA_OK;

    if (round->subscription->join->on_failure == FA_JOIN_FIRE || !has_bad_member(round))
        code = fire(unit, round, event_id, result, &end, err);
    return code == FAINA_OK ? write_round(unit, round, &end, err) : code;
}

/* A member ------------------------------------------------------------------------------------ */

/* The join's key in a task's input; NULL: there is none. */
static const char *find_key(struct fa_unit *unit, const struct fa_join *join, const char *input)
{
    const char *key = NULL;
    struct fa_buf buf;

    fa_buf_init(&buf, FA_JOIN_KEY_SIZE_MAX);
    if (input != NULL && fa_join_key(join, fa_str(input), &buf))
        key = fa_unit_text(unit, buf.ptr);
    fa_buf_finish(&buf);
    return key;
}

static enum faina_code add_member(struct fa_unit *unit, const struct fa_ended_task *ending,
                                  const struct fa_subscription *subscription,
                                  struct fa_emit_result *result, struct faina_error *err)
{
    struct round round = {.subscription = subscription,
                          .key = find_key(unit, subscription->join, ending->input)};
    char *id = fa_arena_take(&unit->arena, FAINA_ID_SIZE);
    enum faina_code code;

    if (round.key == NULL)
        return FAINA_OK; /* the task belongs to no round */
    code = open_round(unit, &round, err);
    if (code != FAINA_OK)
        return code;
    fa_id_format(ending->row->id, id);
    round.members[subscription->member] =
        (struct member){.id = id, .status = faina_status_name(ending->row->status)};
    if (round.deadline_us == 0 && subscription->join->deadline_ms > 0)
        round.deadline_us = unit->now_us + subscription->join->deadline_ms * 1000;
    if (is_full(&round))
        return end_round(unit, &round, ending->event_id, result, err);
    if (round.deadline_us != 0 && round.deadline_us < unit->next_us)
        unit->next_us = round.deadline_us;
    return write_round(unit, &round, &(struct round_end){0}, err);
}

enum faina_code fa_joins_process_end(struct fa_unit *unit, const struct fa_ended_task *ending,
                                     struct fa_emit_result *result, struct faina_error *err)
{
    const struct fa_subscribers *subscribers =
        fa_flows_subscribers(unit->flows, ending->ns, ending->row->lane->type, true);
    enum faina_code code = FAINA_OK;

    for (size_t i = 0; code == FAINA_OK && subscribers != NULL && i < subscribers->count; i++)
        code = add_member(unit, ending, &subscribers->items[i], result, err);
    return code;
}

/* Deadlines ----------------------------------------------------------------------------------- */

struct due {
    const char *ns, *workflow, *name, *key;
};

struct due_list {
    struct fa_arena *arena;
    struct due *items;
    size_t count, size;
};

static void sink_due(void *ctx, size_t row, const struct fa_value *c)
{
    struct due_list *list = ctx;

    (void)row;
    list->items =
        fa_arena_grow(list->arena, list->items, list->count, &list->size, sizeof(*list->items));
    for (size_t i = 0; i < 4; i++) /* an edited row may have numbers */
        if (c[i].kind != FA_TEXT)
            return;
    list->items[list->count++] =
        (struct due){fa_value_dup(&c[0], list->arena), fa_value_dup(&c[1], list->arena),
                     fa_value_dup(&c[2], list->arena), fa_value_dup(&c[3], list->arena)};
}

static enum faina_code delete_round(struct fa_unit *unit, const struct due *due,
                                    struct faina_error *err)
{
    struct fa_value params[] = {fa_value_text(due->ns), fa_value_text(due->workflow),
                                fa_value_text(due->name), fa_value_text(due->key)};

    return fa_db_one(unit->source.db, FA_SQL_JOIN_DROP, params, 4, NULL, NULL, err);
}

/* *is_inactive: its workflow is disabled, or not valid for this version; the round stays as it is.
 * */
static enum faina_code expire(struct fa_unit *unit, const struct due *due, bool *is_inactive,
                              struct faina_error *err)
{
    struct round round = {.subscription =
                              fa_flows_join(unit->flows, due->ns, due->workflow, due->name),
                          .key = due->key};
    struct fa_emit_result result = {0};
    enum faina_code code;

    if (round.subscription == NULL && fa_flows_is_inactive(unit->flows, due->ns, due->workflow)) {
        *is_inactive = true;
        return FAINA_OK;
    }
    if (round.subscription == NULL ||
        fa_json_check(fa_str(due->key), 2, "key", FAINA_INTERNAL, NULL) != FAINA_OK)
        return delete_round(unit, due, err); /* its definition was removed */
    code = open_round(unit, &round, err);
    if (code != FAINA_OK || round.deadline_us == 0 || round.deadline_us > unit->now_us)
        return code;
    code = end_round(unit, &round, "", &result, err);
    fa_flow_report_failures(unit, &result);
    return code;
}

/* The key that join_due.sql uses for set_aside. */
static const char *item_key(struct fa_unit *unit, const struct due *due)
{
    return fa_arena_printf(&unit->arena, "%s/%s/%s/%s", due->ns, due->workflow, due->name,
                           due->key);
}

enum faina_code fa_joins_expire(struct fa_unit *unit, int64_t limit, int64_t *next_us,
                                struct faina_error *err)
{
    struct fa_value params[2] = {fa_value_int(unit->now_us), fa_value_int(limit)};
    struct due_list due = {.arena = &unit->arena};
    int64_t next = 0;
    bool is_inactive = false;
    enum faina_code code =
        fa_db_one(unit->source.db, FA_SQL_JOIN_DUE, params, 2, sink_due, &due, err);

    if (code == FAINA_OK && due.count > 0)
        code = fa_flows_refresh(unit, err);
    for (size_t i = 0; code == FAINA_OK && i < due.count; i++)
        if (fa_chore_takes(unit, FA_ASIDE_JOIN, item_key(unit, &due.items[i])))
            code = expire(unit, &due.items[i], &is_inactive, err);
    if (code == FAINA_OK)
        code = fa_db_one(unit->source.db, FA_SQL_JOIN_NEXT, params, 1, fa_db_sink_int, &next, err);
    if (is_inactive && next < unit->now_us + INACTIVE_US)
        next = unit->now_us + INACTIVE_US;
    if (code == FAINA_OK && next != 0 && next < *next_us)
        *next_us = next;
    return code;
}

/* Listing ------------------------------------------------------------------------------------- */

struct state_list {
    struct fa_source *source;
    struct fa_arena *arena;
    struct fa_pager pager;
    struct fa_join_state *items;
    size_t count, size;
};

static void sink_state(void *ctx, size_t row, const struct fa_value *c)
{
    static const struct fa_form form = {
        "join_state", "xxxjnjtTXXX",
        "namespace workflow name key round members updated_us deadline_us last_outcome last_task "
        "last_error"};
    struct state_list *list = ctx;

    (void)row;
    (void)fa_source_check(list->source, &form, c, &c[1], list->arena);
    if (!fa_pager_take_row(&list->pager, c, 11))
        return;
    list->items =
        fa_arena_grow(list->arena, list->items, list->count, &list->size, sizeof(*list->items));
    list->items[list->count++] = (struct fa_join_state){
        .ns = fa_value_dup(&c[0], list->arena),
        .workflow = fa_value_dup(&c[1], list->arena),
        .name = fa_value_dup(&c[2], list->arena),
        .key = fa_value_dup(&c[3], list->arena),
        .round = fa_value_as_int(&c[4]),
        .members = fa_value_json(&c[5], list->arena), /* left out unless it is JSON */
        .updated_us = fa_value_as_int(&c[6]),
        .deadline_us = fa_value_as_int(&c[7]),
        .last_outcome = fa_value_dup(&c[8], list->arena),
        .last_task = fa_value_dup(&c[9], list->arena),
        .last_error = fa_value_dup(&c[10], list->arena),
    };
}

/* The types of a join, by the definition of its workflow. False: it has no such join. */
static bool find_types(const char *definition, const char *name, struct fa_arena *arena,
                       const char *const **types, size_t *count)
{
    struct fa_json joins, join, member;
    struct fa_json_iter it;

    if (definition == NULL ||
        fa_json_check(fa_str(definition), FA_JSON_DEPTH_MAX + 4, "definition", FAINA_INTERNAL,
                      NULL) != FAINA_OK ||
        !fa_json_member(fa_json_value(fa_str(definition)), "joins", &joins) ||
        joins.type != FA_JSON_ARRAY)
        return false;
    for (it = fa_json_iter(joins); fa_json_next(&it, NULL, &join);) {
        const char *text = fa_json_member_text(join, "name", arena);

        if (text != NULL && strcmp(text, name) == 0 && fa_json_member(join, "taskTypes", &member))
            return fa_json_texts(member, arena, types, count);
    }
    return false;
}

static bool has_member(struct fa_json members, const char *type, struct fa_arena *arena)
{
    struct fa_json_iter it = fa_json_iter(members);
    struct fa_bytes key;
    struct fa_json value;

    while (fa_json_next(&it, &key, &value))
        if (fa_name_is_same(fa_json_unescape(key, arena), type))
            return true;
    return false;
}

/* A round without members has not begun: it waits for nothing. */
static void set_waits(struct fa_join_state *state, const char *definition, struct fa_arena *arena)
{
    const char *const *types, **waits;
    struct fa_json members;
    size_t count;

    if (state->members == NULL || !find_types(definition, state->name, arena, &types, &count))
        return;
    members = fa_json_value(fa_str(state->members));
    if (members.type != FA_JSON_OBJECT || fa_json_count(members) == 0)
        return;
    waits = fa_arena_zero(arena, count + 1, sizeof(*waits));
    for (size_t i = 0; i < count; i++)
        if (!has_member(members, types[i], arena))
            waits[state->waits_for_count++] = types[i];
    state->waits_for = waits;
}

/* The joins are sorted by workflow, so each definition is read once. */
static enum faina_code read_waits(struct fa_source *source, struct state_list *list,
                                  struct faina_error *err)
{
    const char *definition = NULL, *of = NULL;
    enum faina_code code = FAINA_OK;

    for (size_t i = 0; code == FAINA_OK && i < list->count; i++) {
        struct fa_join_state *state = &list->items[i];

        if (of == NULL || strcmp(of, state->workflow) != 0)
            code = fa_flows_definition(source->db, state->ns, state->workflow, list->arena,
                                       &definition, err);
        of = state->workflow;
        if (code == FAINA_OK)
            set_waits(state, definition, list->arena);
    }
    return code;
}

/* A text as JSON, the form in which keys are stored. */
static const char *as_json(const char *text, struct fa_arena *arena)
{
    struct fa_json_builder builder;

    fa_json_put_str(fa_json_builder_begin(&builder), text);
    return fa_json_builder_end(&builder, arena);
}

static enum faina_code list_joins(struct fa_source *source, struct fa_op *op,
                                  struct state_list *list, const char **next_cursor)
{
    const char *key = op->join.key ? op->join.key : "";
    struct fa_list_query query = {
        .sql = FA_SQL_JOIN_LIST,
        .params = {fa_value_text(op->join.ns ? op->join.ns : "default"),
                   fa_value_text(op->join.workflow ? op->join.workflow : ""), fa_value_text(key),
                   fa_value_text(as_json(key, op->arena))},
        .param_count = 8,
        .limit_at = 4,
        .after_at = 5,
        .key_at = 1, /* workflow, name and key */
        .key_count = 3,
        .sink = sink_state,
        .sink_ctx = list,
    };

    return fa_pager_read(&list->pager, source->db, &query, op->join.cursor, op->arena, next_cursor,
                         &op->error);
}

enum faina_code fa_read_joins(struct fa_source *source, struct fa_op *op)
{
    size_t limit = op->join.limit > 0 ? (size_t)op->join.limit : FA_LIST_LIMIT_DEFAULT;
    struct state_list list = {
        .source = source, .arena = op->arena, .pager = fa_pager_of_limit(limit)};
    const char *next_cursor = NULL;
    enum faina_code code = FAINA_OK;

    if (op->join.workflow != NULL)
        code = fa_flows_check_exists(source->db, op->join.ns, op->join.workflow, op->arena,
                                     &op->error);
    if (code == FAINA_OK)
        code = list_joins(source, op, &list, &next_cursor);
    if (code == FAINA_OK)
        code = read_waits(source, &list, &op->error);
    if (code != FAINA_OK)
        return code;
    op->joins = fa_arena_zero(op->arena, 1, sizeof(*op->joins));
    op->joins->items = list.items;
    op->joins->count = list.count;
    op->joins->next_cursor = next_cursor;
    return FAINA_OK;
}
