/*
 * emit.c - events and the tasks that they make. The end of a task is an event, too.
 *
 * A trigger that can't make its task (a path is missing, the task is not valid) is stored as a
 * failure with its name; the others still fire. All that an event makes is of one transaction (K3).
 */
#include "store/workflow/definitions.h"

#include "store/read/show.h"
#include "model/limits.h"
#include "wire/wire.h"
#include "store/upkeep/chore_scope.h"
#include "store/read/lookup.h"
#include "store/read/pages.h"
#include "store/txn/json_text.h"
#include "store/txn/row_check.h"

#include <assert.h>
#include <stdlib.h>

#define PURGE_AT_ONCE 5000

/* Making a task ------------------------------------------------------------------------------- */

/* The trigger or join that makes a task. */
struct maker {
    const char *workflow, *name; /* name: of the trigger or join */
    int64_t version;
    const char *event_id;
    int64_t depth;
};

static void add_failure(struct fa_unit *unit, struct fa_emit_result *result,
                        const struct maker *maker, const char *message)
{
    result->failures = fa_arena_grow(&unit->arena, result->failures, result->failure_count,
                                     &result->failure_size, sizeof(*result->failures));
    result->failures[result->failure_count++] =
        (struct faina_emit_failure){.workflow = fa_unit_text(unit, maker->workflow),
                                    .trigger = fa_unit_text(unit, maker->name),
                                    .message = fa_unit_text(unit, message)};
}

void fa_flow_report_failures(struct fa_unit *unit, const struct fa_emit_result *result)
{
    for (size_t i = 0; i < result->failure_count; i++) {
        unit->trigger_failures =
            fa_arena_grow(&unit->arena, unit->trigger_failures, unit->trigger_failure_count,
                          &unit->trigger_failure_size, sizeof(*unit->trigger_failures));
        unit->trigger_failures[unit->trigger_failure_count++] = result->failures[i];
    }
}

static void add_task(struct fa_unit *unit, struct fa_emit_result *result, const struct fa_row *row)
{
    char *id = fa_arena_take(&unit->arena, FAINA_ID_SIZE);

    fa_id_format(row->id, id);
    result->tasks = fa_arena_grow(&unit->arena, result->tasks, result->task_count,
                                  &result->task_size, sizeof(char *));
    result->tasks[result->task_count++] = id;
}

static void note_origin(struct fa_unit *unit, const struct maker *maker, struct fa_row *row)
{
    struct fa_row_origin *origin = fa_arena_zero(&unit->arena, 1, sizeof(*origin));

    /* Copies: the definitions may be read again before it is written. */
    origin->origin = (struct faina_origin){.workflow = fa_unit_text(unit, maker->workflow),
                                           .trigger = fa_unit_text(unit, maker->name),
                                           .version = maker->version,
                                           .event_id = maker->event_id};
    origin->depth = maker->depth;
    row->origin = origin;
    row->flags |= FA_FLAG_HAS_ORIGIN;
}

/* Fails only when the store fails. */
static enum faina_code make_task(struct fa_unit *unit, const struct maker *maker,
                                 const struct faina_submit *submit, struct fa_emit_result *result,
                                 struct faina_error *err)
{
    struct faina_error inner;
    struct fa_plan plan = {0};
    struct fa_row *row;
    enum faina_code code = fa_plan_make(unit, submit, NULL, NULL, &plan, &inner);

    if (code != FAINA_OK && fa_db_has_failed(unit->source.db, code)) {
        *err = inner;
        return code;
    }
    if (code != FAINA_OK) {
        add_failure(unit, result, maker, inner.message);
        return FAINA_OK;
    }
    row = plan.existing;
    if (row == NULL) {
        row = fa_plan_carry_out(unit, &plan);
        note_origin(unit, maker, row);
    } else {
        code = fa_plan_replace(unit, &plan, err);
    }
    if (code == FAINA_OK)
        add_task(unit, result, row);
    return code;
}

struct fa_evaluation *fa_emit_budget(const struct fa_unit *unit, struct fa_emit_result *result)
{
    if (!result->has_budget)
        fa_evaluation_init(&result->budget, fa_flows_input_size_max(unit->flows));
    result->has_budget = true;
    return &result->budget;
}

enum faina_code fa_flow_make(struct fa_unit *unit, const struct fa_making *making,
                             struct fa_emit_result *result, struct faina_error *err)
{
    struct faina_submit *submit = fa_arena_zero(&unit->arena, 1, sizeof(*submit));
    struct maker maker = {making->flow->workflow->name, making->name, making->flow->version,
                          making->event_id, making->depth};
    struct fa_evaluate_task task = {.ns = making->flow->ns,
                                    .task = making->task,
                                    .lookup = making->lookup,
                                    .lookup_ctx = making->lookup_ctx,
                                    .depth = making->depth};
    struct faina_error inner;

    if (fa_evaluate_task(&task, fa_flows_input_size_max(unit->flows), &unit->arena,
                         fa_emit_budget(unit, result), submit, &inner) == FAINA_OK)
        return make_task(unit, &maker, submit, result, err);
    add_failure(unit, result, &maker, inner.message);
    return FAINA_OK;
}

/* Events -------------------------------------------------------------------------------------- */

struct event {
    const char *ns, *type, *id, *data;
    int64_t at_us, depth;
};

/* Makes the tasks that were evaluated for the event. */
static enum faina_code make_all(struct fa_unit *unit, const struct event *event,
                                const struct fa_evaluation *evaluation,
                                struct fa_emit_result *result, struct faina_error *err)
{
    enum faina_code code = FAINA_OK;

    for (size_t i = 0; code == FAINA_OK && i < evaluation->count; i++) {
        const struct fa_evaluated *item = &evaluation->items[i];
        struct maker maker = {item->workflow, item->trigger, item->version, event->id,
                              event->depth + 1};

        if (item->submit != NULL)
            code = make_task(unit, &maker, item->submit, result, err);
        else
            add_failure(unit, result, &maker, item->failure);
    }
    return code;
}

/* With `is_partial`, exceeding the limits is a failure of the trigger. */
static enum faina_code fire_all(struct fa_unit *unit, const struct event *event, bool is_partial,
                                struct fa_emit_result *result, struct faina_error *err)
{
    struct fa_evaluate_event what = {event->ns, event->type, event->data, event->depth + 1};
    enum faina_code code =
        fa_evaluate(fa_flows_set(unit->flows), &what, fa_flows_input_size_max(unit->flows),
                    is_partial, &unit->arena, &result->budget, err);

    result->has_budget = true;
    return code == FAINA_OK ? make_all(unit, event, &result->budget, result, err) : code;
}

static const char *ids_json(struct fa_unit *unit, const struct fa_emit_result *result)
{
    struct fa_json_builder builder;

    fa_json_put_strs(fa_json_builder_begin(&builder), result->tasks, result->task_count);
    return fa_json_builder_end(&builder, &unit->arena);
}

static void put_failure(struct fa_json_writer *writer, const struct faina_emit_failure *failure)
{
    fa_json_begin_object(writer);
    fa_json_set_str(writer, "workflow", failure->workflow);
    fa_json_set_str(writer, "trigger", failure->trigger);
    fa_json_set_str(writer, "message", failure->message);
    fa_json_end_object(writer);
}

static const char *failures_json(struct fa_unit *unit, const struct fa_emit_result *result)
{
    struct fa_json_builder builder;
    struct fa_json_writer *writer = fa_json_builder_begin(&builder);

    fa_json_begin_array(writer);
    for (size_t i = 0; i < result->failure_count; i++)
        put_failure(writer, &result->failures[i]);
    fa_json_end_array(writer);
    return fa_json_builder_end(&builder, &unit->arena);
}

static void keep(struct fa_unit *unit, const struct event *event,
                 const struct fa_emit_result *result)
{
    unit->emitted = fa_arena_grow(&unit->arena, unit->emitted, unit->emitted_count,
                                  &unit->emitted_size, sizeof(*unit->emitted));
    unit->emitted[unit->emitted_count++] =
        (struct fa_unit_emitted){.ns = event->ns,
                                 .id = event->id,
                                 .type = event->type,
                                 .data = event->data,
                                 .at_us = event->at_us,
                                 .tasks = ids_json(unit, result),
                                 .failures = failures_json(unit, result)};
}

/* Emit ---------------------------------------------------------------------------------------- */

struct emitted_list {
    struct fa_source *source;
    struct fa_arena *arena;
    struct fa_pager pager;
    struct fa_emitted_event *items;
    size_t count, size;
    int64_t last_us, last_seq;
};

static void sink_emitted(void *ctx, size_t row, const struct fa_value *c)
{
    static const struct fa_form form = {"happened", "xjtjjnxx",
                                        "type data at_us tasks failures seq id namespace"};
    struct emitted_list *list = ctx;
    struct fa_emitted_event *item;

    (void)row;
    (void)fa_source_check(list->source, &form, c, &c[5], list->arena);
    if (!fa_pager_take_row(&list->pager, c, 8))
        return;
    list->items =
        fa_arena_grow(list->arena, list->items, list->count, &list->size, sizeof(*list->items));
    item = &list->items[list->count++];
    item->type = fa_value_dup(&c[0], list->arena);
    item->data = fa_value_json(&c[1], list->arena); /* left out unless it is JSON */
    item->at_us = list->last_us = fa_value_as_int(&c[2]);
    item->tasks = fa_value_json(&c[3], list->arena);
    item->failures = fa_value_json(&c[4], list->arena);
    list->last_seq = fa_value_as_int(&c[5]);
    item->id = fa_value_dup(&c[6], list->arena);
    item->ns = fa_value_dup(&c[7], list->arena);
}

static enum faina_code find_emitted(struct fa_db *db, const char *ns, const char *id,
                                    struct emitted_list *list, struct faina_error *err)
{
    struct fa_value params[2] = {fa_value_text(ns), fa_value_text(id)};

    return fa_db_one(db, FA_SQL_EMITTED_GET, params, 2, sink_emitted, list, err);
}

static const char *member_text(struct fa_json object, const char *name, struct fa_arena *arena)
{
    const char *text = fa_json_member_text(object, name, arena);

    return text != NULL ? text : "";
}

/* The stored result of an event that was emitted before. */
static struct fa_emit_result read_result(struct fa_arena *arena,
                                         const struct fa_emitted_event *item)
{
    struct fa_emit_result result = {0};
    struct fa_json_iter it;
    struct fa_json value;

    if (item->tasks == NULL || item->failures == NULL ||
        fa_json_check(fa_str(item->tasks), 4, "tasks", FAINA_INTERNAL, NULL) != FAINA_OK ||
        fa_json_check(fa_str(item->failures), 4, "failures", FAINA_INTERNAL, NULL) != FAINA_OK)
        return result;
    for (it = fa_json_iter(fa_json_value(fa_str(item->tasks))); fa_json_next(&it, NULL, &value);) {
        result.tasks = fa_arena_grow(arena, result.tasks, result.task_count, &result.task_size,
                                     sizeof(char *));
        result.tasks[result.task_count++] = fa_json_text(value, arena);
    }
    for (it = fa_json_iter(fa_json_value(fa_str(item->failures)));
         fa_json_next(&it, NULL, &value);) {
        result.failures = fa_arena_grow(arena, result.failures, result.failure_count,
                                        &result.failure_size, sizeof(*result.failures));
        result.failures[result.failure_count++] =
            (struct faina_emit_failure){.workflow = member_text(value, "workflow", arena),
                                        .trigger = member_text(value, "trigger", arena),
                                        .message = member_text(value, "message", arena)};
    }
    return result;
}

static void set_result(struct fa_op *op, const char *id, const struct fa_emit_result *result)
{
    struct faina_emitted *out = fa_arena_zero(op->arena, 1, sizeof(*out));
    const char **tasks = fa_arena_zero(op->arena, result->task_count + 1, sizeof(char *));

    out->failures = fa_arena_zero(op->arena, result->failure_count + 1, sizeof(*out->failures));
    for (size_t i = 0; i < result->task_count; i++)
        tasks[i] = fa_arena_strdup(op->arena, result->tasks[i]);
    for (size_t i = 0; i < result->failure_count; i++)
        out->failures[i] = (struct faina_emit_failure){
            .workflow = fa_arena_strdup(op->arena, result->failures[i].workflow),
            .trigger = fa_arena_strdup(op->arena, result->failures[i].trigger),
            .message = fa_arena_strdup(op->arena, result->failures[i].message)};
    out->id = fa_arena_strdup(op->arena, id);
    out->existing = op->existing;
    out->tasks = tasks;
    out->count = result->task_count;
    out->failure_count = result->failure_count;
    op->emitted = out;
}

static const char *new_id(struct fa_unit *unit)
{
    char *id = fa_arena_take(&unit->arena, FAINA_ID_SIZE);

    fa_id_format(fa_id_free(unit->ids, unit->now_us), id);
    return id;
}

/* Whether this transaction has the event already, and has not written it yet. */
static bool is_pending(const struct fa_unit *unit, const struct event *event)
{
    for (size_t i = 0; i < unit->emitted_count; i++)
        if (strcmp(unit->emitted[i].id, event->id) == 0 &&
            strcmp(unit->emitted[i].ns, event->ns) == 0)
            return true;
    return false;
}

/* Fires the triggers of the event, or finds the result if it was emitted before. `plan` is the
 * evaluation by its caller; NULL: none. */
static enum faina_code process(struct fa_unit *unit, const struct event *event, bool is_new,
                               const struct fa_emit_plan *plan, bool is_partial,
                               struct fa_emit_result *result, bool *existing,
                               struct faina_error *err)
{
    struct emitted_list known = {.source = &unit->source, .arena = &unit->arena};
    enum faina_code code = fa_flows_refresh(unit, err);

    if (code == FAINA_OK && !is_new && is_pending(unit, event))
        code = fa_unit_flush(unit, err); /* the query must find it */
    if (code == FAINA_OK && !is_new)
        code = find_emitted(unit->source.db, event->ns, event->id, &known, err);
    *existing = known.count > 0;
    if (code == FAINA_OK && *existing) {
        *result = read_result(&unit->arena, &known.items[0]);
        return FAINA_OK;
    }
    if (plan != NULL && !fa_flows_is_at(unit, plan->mark)) /* K5 */
        plan = NULL;
    if (code == FAINA_OK && plan != NULL && plan->code != FAINA_OK) {
        *err = plan->error;
        return plan->code;
    }
    if (code == FAINA_OK)
        code = plan != NULL ? make_all(unit, event, &plan->evaluation, result, err)
                            : fire_all(unit, event, is_partial, result, err);
    if (code == FAINA_OK)
        keep(unit, event, result);
    return code;
}

enum faina_code fa_do_emit(struct fa_unit *unit, struct fa_op *op)
{
    const struct faina_emit *emit = op->emit;
    struct event event = {.ns = emit->ns ? emit->ns : "default",
                          .type = emit->type,
                          .data = emit->data ? emit->data : "{}",
                          .id = emit->id ? emit->id : new_id(unit),
                          .at_us = unit->now_us};
    struct fa_emit_result result = {0};
    enum faina_code code = process(unit, &event, emit->id == NULL, op->plan, false, &result,
                                   &op->existing, &op->error);

    if (code == FAINA_OK)
        set_result(op, event.id, &result);
    return code;
}

/* Before the transaction (K5) ----------------------------------------------------------------- */

#define HEAVY_BYTES (256 * 1024) /* of data, over all triggers */
#define TRIGGER_BYTES 1024       /* the fixed cost of a trigger */

static struct fa_evaluate_event event_of(const struct fa_op *op)
{
    return (struct fa_evaluate_event){.ns = op->emit->ns ? op->emit->ns : "default",
                                      .type = op->emit->type,
                                      .data = op->emit->data ? op->emit->data : "{}",
                                      .depth = 1};
}

bool fa_emit_is_heavy(struct fa_flow_shared *shared, const struct fa_op *op)
{
    struct fa_evaluate_event event = event_of(op);
    struct fa_flow_set *set = fa_flow_set_acquire(shared);
    const struct fa_subscribers *subscribers =
        fa_flow_set_subscribers(set, event.ns, event.type, false);
    size_t count = subscribers != NULL ? subscribers->count : 0;

    fa_flow_set_release(set);
    return count * (strlen(event.data) + TRIGGER_BYTES) >= HEAVY_BYTES;
}

void fa_emit_prepare(struct fa_flow_shared *shared, size_t input_size_max, struct fa_op *op)
{
    struct fa_evaluate_event event = event_of(op);
    struct fa_flow_set *set = fa_flow_set_acquire(shared);
    struct fa_emit_plan *plan;

    plan = op->plan = fa_arena_zero(op->arena, 1, sizeof(*plan));
    plan->mark = (struct fa_flow_mark){0, -1}; /* matches no set */
    if (set == NULL)
        return;
    plan->mark = fa_flow_set_mark(set);
    plan->code =
        fa_evaluate(set, &event, input_size_max, false, op->arena, &plan->evaluation, &plan->error);
    fa_flow_set_release(set);
}

/* Events that were emitted in SQL ------------------------------------------------------------- */

struct inbox {
    struct fa_arena *arena;
    struct inbox_event {
        int64_t seq;
        struct event event;
    } * items;
    size_t count, size;
};

static void sink_inbox(void *ctx, size_t row, const struct fa_value *c)
{
    struct inbox *inbox = ctx;

    (void)row;
    inbox->items = fa_arena_grow(inbox->arena, inbox->items, inbox->count, &inbox->size,
                                 sizeof(*inbox->items));
    inbox->items[inbox->count++] =
        (struct inbox_event){.seq = fa_value_as_int(&c[0]),
                             .event = {.at_us = fa_value_as_int(&c[1]),
                                       .ns = fa_value_dup(&c[2], inbox->arena),
                                       .id = fa_value_dup(&c[3], inbox->arena),
                                       .type = fa_value_dup(&c[4], inbox->arena),
                                       .data = fa_value_dup(&c[5], inbox->arena)}};
}

static int compare_inbox(const void *a, const void *b)
{
    int64_t x = ((const struct inbox_event *)a)->seq, y = ((const struct inbox_event *)b)->seq;

    return x < y ? -1 : x > y;
}

/* Taking an event removes it from the inbox, so a part of the inbox is taken one by one. */
static enum faina_code take(struct fa_unit *unit, int64_t limit, struct inbox *inbox,
                            struct faina_error *err)
{
    const struct fa_chore_scope *scope = unit->scope;
    struct fa_value params[2] = {fa_value_int(limit), fa_value_int(unit->now_us)};
    enum faina_code code = FAINA_OK;

    if (scope == NULL || scope->is_listing)
        return fa_db_one(unit->source.db, FA_SQL_INBOX_TAKE, params, 2, sink_inbox, inbox, err);
    for (size_t i = scope->from; code == FAINA_OK && i < scope->to; i++) {
        struct fa_value seq = fa_value_int(strtoll(scope->items[i].key, NULL, 10));

        if (strcmp(scope->items[i].kind, FA_ASIDE_EVENT) == 0)
            code =
                fa_db_one(unit->source.db, FA_SQL_INBOX_TAKE_ONE, &seq, 1, sink_inbox, inbox, err);
    }
    return code;
}

enum faina_code fa_flows_take_inbox(struct fa_unit *unit, int64_t limit, int64_t *next_us,
                                    struct faina_error *err)
{
    struct inbox inbox = {.arena = &unit->arena};
    enum faina_code code = FAINA_OK;

    if (!fa_db_has(unit->source.db, FA_DB_SQL_CLIENTS))
        return FAINA_OK;
    code = take(unit, limit, &inbox, err);
    if (inbox.count > 0)
        qsort(inbox.items, inbox.count, sizeof(*inbox.items), compare_inbox);
    for (size_t i = 0; code == FAINA_OK && i < inbox.count; i++) {
        struct event *event = &inbox.items[i].event;
        struct fa_emit_result result = {0};
        bool existing;

        if (!fa_chore_takes_int(unit, FA_ASIDE_EVENT, inbox.items[i].seq))
            continue;
        /* The SQL function checks the data, but the row may have been written by hand. */
        if (fa_json_check(fa_str(event->data), FA_JSON_DEPTH_MAX, "data", FAINA_INVALID_REQUEST,
                          NULL) == FAINA_OK)
            code = process(unit, event, false, NULL, true, &result, &existing, err);
    }
    if (code == FAINA_OK && inbox.count == (size_t)limit)
        *next_us = unit->now_us; /* there may be more */
    return code;
}

/* Ends of tasks ------------------------------------------------------------------------------- */

enum faina_code fa_flow_task_json(struct fa_unit *unit, struct fa_source *source,
                                  struct fa_row *row, const char **out, struct faina_error *err)
{
    struct fa_json_builder builder;
    struct faina_task task;
    enum faina_code code = fa_row_load_task(source, row, &unit->arena, err);

    if (code == FAINA_OK)
        code = fa_row_load_payload(source, row, &unit->arena, err);
    if (code == FAINA_OK)
        code = fa_row_to_task(source, row, &unit->arena, true, false, &task, err);
    if (code != FAINA_OK)
        return code;
    fa_wire_put_task(fa_json_builder_begin(&builder), &task);
    *out = fa_json_builder_end(&builder, &unit->arena);
    return FAINA_OK;
}

static void note_failures(struct fa_unit *unit, struct fa_row *row,
                          const struct fa_emit_result *result, bool is_too_deep)
{
    for (size_t i = 0; i < result->failure_count; i++) {
        struct fa_json_builder builder;

        put_failure(fa_json_builder_begin(&builder), &result->failures[i]);
        fa_unit_note(unit, row, is_too_deep ? "chain_stopped" : "trigger_failed",
                     FAINA_ACTOR_SYSTEM, NULL, fa_json_builder_end(&builder, &unit->arena));
    }
}

static const char *end_name(enum faina_status status)
{
    static const char *const names[FAINA_STATUS_COUNT] = {
        [FAINA_COMPLETED] = "task.completed",
        [FAINA_FAILED] = "task.failed",
        [FAINA_DEAD_LETTER] = "task.dead_letter",
        [FAINA_CANCELLED] = "task.cancelled",
    };

    return names[status];
}

static const char *end_id(struct fa_unit *unit, const struct fa_row *row)
{
    char id[FAINA_ID_SIZE];

    fa_id_format(row->id, id);
    return fa_arena_printf(&unit->arena, "%s:%lld", id, (long long)row->version);
}

static enum faina_code process_end(struct fa_unit *unit, struct fa_row *row,
                                   struct faina_error *err)
{
    const char *type = end_name(row->status);
    struct fa_lane *lane = row->lane;
    bool has_triggers = fa_flows_subscribers(unit->flows, lane->ns, type, false) != NULL;
    bool is_member = fa_flows_subscribers(unit->flows, lane->ns, lane->type, true) != NULL;
    struct fa_ended_task ending = {.row = row, .ns = lane->ns, .event_id = end_id(unit, row)};
    const struct faina_origin *origin;
    struct fa_emit_result result = {0};
    struct event event;
    enum faina_code code = FAINA_OK;

    if (!has_triggers && !is_member)
        return FAINA_OK;
    code = fa_row_origin(&unit->source, row, &unit->arena, &origin, &ending.depth, err);
    if (code == FAINA_OK)
        code = fa_flow_task_json(unit, &unit->source, row, &ending.json, err);
    ending.input = row->input;
    event = (struct event){.ns = lane->ns,
                           .type = type,
                           .id = ending.event_id,
                           .data = ending.json,
                           .at_us = row->completed_us,
                           .depth = ending.depth};
    if (code == FAINA_OK && has_triggers)
        code = fire_all(unit, &event, true, &result, err);
    if (code == FAINA_OK && is_member)
        code = fa_joins_process_end(unit, &ending, &result, err);
    if (code == FAINA_OK && result.task_count + result.failure_count > 0)
        keep(unit, &event, &result);
    if (code == FAINA_OK)
        note_failures(unit, row, &result, ending.depth >= FA_CHAIN_DEPTH_MAX);
    fa_flow_report_failures(unit, &result);
    return code;
}

enum faina_code fa_flows_process_ends(struct fa_unit *unit, struct faina_error *err)
{
    enum faina_code code = FAINA_OK;

    if (unit->ended_seen == unit->ended_count)
        return FAINA_OK;
    code = fa_flows_refresh(unit, err);
    while (code == FAINA_OK && unit->ended_seen < unit->ended_count) {
        struct fa_row *row = fa_unit_cached(unit, unit->ended[unit->ended_seen++].key);

        if (!fa_flows_need_ends(unit->flows))
            unit->ended_seen = unit->ended_count;
        else if (row != NULL && !row->is_purged && fa_status_is_ended(row->status))
            code = process_end(unit, row, err);
    }
    return code;
}

/* Listing, purging ---------------------------------------------------------------------------- */

static enum faina_code list_emitted(struct fa_db *db, const char *ns,
                                    const struct fa_emitted_query *query, struct emitted_list *list,
                                    struct faina_error *err)
{
    enum faina_code code;

    do {
        struct fa_value params[] = {
            fa_value_int(list->last_us), fa_value_int(list->last_seq),
            fa_value_text(ns),           fa_value_text(query->type ? query->type : ""),
            fa_pager_next(&list->pager), fa_value_int(query->since_us)};

        code = query->descending
                   ? fa_db_one(db, FA_SQL_EMITTED_LIST_BACK, params, 6, sink_emitted, list, err)
                   : fa_db_one(db, FA_SQL_EMITTED_LIST, params, 5, sink_emitted, list, err);
    } while (code == FAINA_OK && fa_pager_goes_on(&list->pager));
    return code;
}

enum faina_code fa_read_emitted(struct fa_source *source, struct fa_op *op)
{
    const struct fa_emitted_query *query = op->emitted_query;
    const char *ns = query->ns ? query->ns : "default";
    size_t limit = query->limit > 0 ? (size_t)query->limit : FA_LIST_LIMIT_DEFAULT;
    struct emitted_list list = {.source = source,
                                .arena = op->arena,
                                .pager = fa_pager_of_limit(limit),
                                .last_us = query->descending     ? INT64_MAX
                                           : query->since_us > 0 ? query->since_us - 1
                                                                 : 0,
                                .last_seq = INT64_MAX};
    enum faina_code code = FAINA_OK;

    if (query->cursor != NULL)
        code = fa_cursor_read_pair(query->cursor, &list.last_us, &list.last_seq, &op->error);
    if (code == FAINA_OK && query->id != NULL)
        code = find_emitted(source->db, ns, query->id, &list, &op->error);
    else if (code == FAINA_OK)
        code = list_emitted(source->db, ns, query, &list, &op->error);
    if (code == FAINA_OK && query->id != NULL && list.count == 0)
        return fa_error_set(&op->error, FAINA_NOT_FOUND,
                            "there is no event %.200s, or it is no longer kept", query->id);
    if (code != FAINA_OK)
        return code;
    op->emitted_events = fa_arena_zero(op->arena, 1, sizeof(*op->emitted_events));
    op->emitted_events->items = list.items;
    op->emitted_events->count = list.count;
    if (query->id == NULL && list.pager.has_more)
        op->emitted_events->next_cursor =
            fa_cursor_write_pair(op->arena, list.last_us, list.last_seq);
    return FAINA_OK;
}

enum faina_code fa_flows_purge_expired(struct fa_unit *unit, int64_t keep_ms,
                                       struct faina_error *err)
{
    struct fa_value params[2] = {fa_value_int(unit->now_us - keep_ms * 1000),
                                 fa_value_int(PURGE_AT_ONCE)};
    enum faina_code code =
        fa_db_one(unit->source.db, FA_SQL_EMITTED_FORGET, params, 2, NULL, NULL, err);

    if (code == FAINA_OK)
        code = fa_db_one(unit->source.db, FA_SQL_JOIN_FORGET, params, 1, NULL, NULL, err);
    if (code == FAINA_OK &&
        fa_db_has(unit->source.db, FA_DB_PARTITIONED_DAYS)) /* tasks may have been dropped by day */
        code = fa_db_one(unit->source.db, FA_SQL_ORIGIN_FORGET, &params[1], 1, NULL, NULL, err);
    return code;
}
