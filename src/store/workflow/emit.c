/*
 * emit.c - an event becomes tasks; the ends of tasks are events by themselves.
 *
 * A trigger that can't make its task (a path is missing, the task is not valid) is noted with its
 * name, and the others fire all the same. All that an event makes is of one transaction (K3).
 */
#include "sql/flows.h"

#include "sql/show.h"
#include "model/limits.h"
#include "service/wire.h"
#include "sql/chores/scope.h"
#include "sql/look.h"
#include "sql/pages.h"
#include "sql/sound.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#define FORGET_AT_ONCE 5000

/* Making a task ------------------------------------------------------------------------------- */

/* What a task is made by. */
struct maker {
    const char *workflow, *name; /* name: of the trigger or join */
    int64_t version;
    const char *event_id;
    int64_t depth;
};

static void add_failure(struct fa_unit *unit, struct fa_yield *yield, const struct maker *maker,
                        const char *message)
{
    yield->failures = fa_arena_grow(&unit->arena, yield->failures, yield->failure_count,
                                    &yield->failure_size, sizeof(*yield->failures));
    yield->failures[yield->failure_count++] =
        (struct faina_emit_failure){.workflow = fa_unit_text(unit, maker->workflow),
                                    .trigger = fa_unit_text(unit, maker->name),
                                    .message = fa_unit_text(unit, message)};
}

void fa_flow_regret(struct fa_unit *unit, const struct fa_yield *yield)
{
    for (size_t i = 0; i < yield->failure_count; i++) {
        const struct faina_emit_failure *failure = &yield->failures[i];

        unit->unmade = fa_arena_grow(&unit->arena, unit->unmade, unit->unmade_count,
                                     &unit->unmade_size, sizeof(*unit->unmade));
        unit->unmade[unit->unmade_count++] =
            (struct faina_emit_failure){.workflow = fa_unit_text(unit, failure->workflow),
                                        .trigger = fa_unit_text(unit, failure->trigger),
                                        .message = failure->message};
    }
}

static void add_task(struct fa_unit *unit, struct fa_yield *yield, const struct fa_row *row)
{
    char *id = fa_arena_take(&unit->arena, FAINA_ID_SIZE);

    fa_id_format(row->id, id);
    yield->tasks = fa_arena_grow(&unit->arena, yield->tasks, yield->task_count, &yield->task_size,
                                 sizeof(char *));
    yield->tasks[yield->task_count++] = id;
}

static void note_origin(struct fa_unit *unit, const struct maker *maker, struct fa_row *row)
{
    struct fa_row_origin *origin = fa_arena_zero(&unit->arena, 1, sizeof(*origin));

    /* Copies: the definitions may be read anew before it is written. */
    origin->told = (struct faina_origin){.workflow = fa_unit_text(unit, maker->workflow),
                                         .trigger = fa_unit_text(unit, maker->name),
                                         .version = maker->version,
                                         .event_id = maker->event_id};
    origin->depth = maker->depth;
    row->origin = origin;
    row->flags |= FA_FLAG_HAS_ORIGIN;
}

/* Fails only when the store does. */
static enum faina_code make_task(struct fa_unit *unit, const struct maker *maker,
                                 const struct faina_submit *submit, struct fa_yield *yield,
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
        add_failure(unit, yield, maker, inner.message);
        return FAINA_OK;
    }
    row = plan.existing;
    if (row == NULL) {
        row = fa_plan_carry_out(unit, &plan);
        note_origin(unit, maker, row);
    }
    add_task(unit, yield, row);
    return FAINA_OK;
}

struct fa_evaluation *fa_yield_budget(const struct fa_unit *unit, struct fa_yield *yield)
{
    if (!yield->has_budget)
        fa_evaluation_init(&yield->budget, fa_flows_input_size_max(unit->flows));
    yield->has_budget = true;
    return &yield->budget;
}

enum faina_code fa_flow_make(struct fa_unit *unit, const struct fa_making *making,
                             struct fa_yield *yield, struct faina_error *err)
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
                         fa_yield_budget(unit, yield), submit, &inner) == FAINA_OK)
        return make_task(unit, &maker, submit, yield, err);
    add_failure(unit, yield, &maker, inner.message);
    return FAINA_OK;
}

/* Events -------------------------------------------------------------------------------------- */

struct event {
    const char *ns, *type, *id, *data;
    int64_t at_us, depth;
};

/* Stores what was evaluated for the event. */
static enum faina_code make_all(struct fa_unit *unit, const struct event *event,
                                const struct fa_evaluation *evaluation, struct fa_yield *yield,
                                struct faina_error *err)
{
    enum faina_code code = FAINA_OK;

    for (size_t i = 0; code == FAINA_OK && i < evaluation->count; i++) {
        const struct fa_evaluated *item = &evaluation->items[i];
        struct maker maker = {item->workflow, item->trigger, item->version, event->id,
                              event->depth + 1};

        if (item->submit != NULL)
            code = make_task(unit, &maker, item->submit, yield, err);
        else
            add_failure(unit, yield, &maker, item->failure);
    }
    return code;
}

/* With `is_partial`, what is too much is noted as a failure. */
static enum faina_code fire_all(struct fa_unit *unit, const struct event *event, bool is_partial,
                                struct fa_yield *yield, struct faina_error *err)
{
    struct fa_evaluate_event what = {event->ns, event->type, event->data, event->depth + 1};
    enum faina_code code =
        fa_evaluate(fa_flows_set(unit->flows), &what, fa_flows_input_size_max(unit->flows),
                    is_partial, &unit->arena, &yield->budget, err);

    yield->has_budget = true;
    return code == FAINA_OK ? make_all(unit, event, &yield->budget, yield, err) : code;
}

static const char *ids_json(struct fa_unit *unit, const struct fa_yield *yield)
{
    struct fa_json_writer writer;
    struct fa_buf buf;
    const char *text;

    fa_buf_init(&buf, SIZE_MAX / 2);
    fa_json_writer_init(&writer, &buf, 0);
    fa_json_begin_array(&writer);
    for (size_t i = 0; i < yield->task_count; i++)
        fa_json_put_str(&writer, yield->tasks[i]);
    fa_json_end_array(&writer);
    text = fa_unit_text(unit, buf.ptr);
    fa_buf_finish(&buf);
    return text;
}

static void put_failure(struct fa_json_writer *writer, const struct faina_emit_failure *failure)
{
    fa_json_begin_object(writer);
    fa_json_key(writer, "workflow");
    fa_json_put_str(writer, failure->workflow);
    fa_json_key(writer, "trigger");
    fa_json_put_str(writer, failure->trigger);
    fa_json_key(writer, "message");
    fa_json_put_str(writer, failure->message);
    fa_json_end_object(writer);
}

static const char *failures_json(struct fa_unit *unit, const struct fa_yield *yield)
{
    struct fa_json_writer writer;
    struct fa_buf buf;
    const char *text;

    fa_buf_init(&buf, SIZE_MAX / 2);
    fa_json_writer_init(&writer, &buf, 0);
    fa_json_begin_array(&writer);
    for (size_t i = 0; i < yield->failure_count; i++)
        put_failure(&writer, &yield->failures[i]);
    fa_json_end_array(&writer);
    text = fa_unit_text(unit, buf.ptr);
    fa_buf_finish(&buf);
    return text;
}

static void keep(struct fa_unit *unit, const struct event *event, const struct fa_yield *yield)
{
    unit->happened = fa_arena_grow(&unit->arena, unit->happened, unit->happened_count,
                                   &unit->happened_size, sizeof(*unit->happened));
    unit->happened[unit->happened_count++] =
        (struct fa_unit_happened){.ns = event->ns,
                                  .id = event->id,
                                  .type = event->type,
                                  .data = event->data,
                                  .at_us = event->at_us,
                                  .tasks = ids_json(unit, yield),
                                  .failures = failures_json(unit, yield)};
}

/* Emit ---------------------------------------------------------------------------------------- */

struct happened_list {
    struct fa_source *source;
    struct fa_arena *arena;
    struct fa_pager pager;
    struct fa_happening *items;
    size_t count, size;
    int64_t last_us, last_seq;
};

static void sink_happened(void *ctx, size_t row, const struct fa_value *c)
{
    static const struct fa_form form = {"happened", "xjtjjnxx",
                                        "type data at_us tasks failures seq id namespace"};
    struct happened_list *list = ctx;
    struct fa_happening *item;

    (void)row;
    (void)fa_source_check(list->source, &form, c, &c[5], list->arena);
    if (!fa_pager_take_row(&list->pager, c, 8))
        return;
    list->items =
        fa_arena_grow(list->arena, list->items, list->count, &list->size, sizeof(*list->items));
    item = &list->items[list->count++];
    item->type = fa_value_dup(&c[0], list->arena);
    item->data = fa_value_json(&c[1], list->arena); /* what is no JSON is left out */
    item->at_us = list->last_us = fa_value_as_int(&c[2]);
    item->tasks = fa_value_json(&c[3], list->arena);
    item->failures = fa_value_json(&c[4], list->arena);
    list->last_seq = fa_value_as_int(&c[5]);
    item->id = fa_value_dup(&c[6], list->arena);
    item->ns = fa_value_dup(&c[7], list->arena);
}

static enum faina_code find_happened(struct fa_db *db, const char *ns, const char *id,
                                     struct happened_list *list, struct faina_error *err)
{
    struct fa_value params[2] = {fa_value_text(ns), fa_value_text(id)};

    return fa_db_one(db, FA_SQL_HAPPENED_GET, params, 2, sink_happened, list, err);
}

static const char *member_text(struct fa_json object, const char *name, struct fa_arena *arena)
{
    const char *text = fa_json_member_text(object, name, arena);

    return text != NULL ? text : "";
}

/* What came of an event the first time, out of the store's own JSON. */
static struct fa_yield read_yield(struct fa_arena *arena, const struct fa_happening *item)
{
    struct fa_yield yield = {0};
    struct fa_json_iter it;
    struct fa_json value;

    if (item->tasks == NULL || item->failures == NULL ||
        fa_json_check(fa_str(item->tasks), 4, "tasks", FAINA_INTERNAL, NULL) != FAINA_OK ||
        fa_json_check(fa_str(item->failures), 4, "failures", FAINA_INTERNAL, NULL) != FAINA_OK)
        return yield;
    for (it = fa_json_iter(fa_json_value(fa_str(item->tasks))); fa_json_next(&it, NULL, &value);) {
        yield.tasks =
            fa_arena_grow(arena, yield.tasks, yield.task_count, &yield.task_size, sizeof(char *));
        yield.tasks[yield.task_count++] = fa_json_text(value, arena);
    }
    for (it = fa_json_iter(fa_json_value(fa_str(item->failures)));
         fa_json_next(&it, NULL, &value);) {
        yield.failures = fa_arena_grow(arena, yield.failures, yield.failure_count,
                                       &yield.failure_size, sizeof(*yield.failures));
        yield.failures[yield.failure_count++] =
            (struct faina_emit_failure){.workflow = member_text(value, "workflow", arena),
                                        .trigger = member_text(value, "trigger", arena),
                                        .message = member_text(value, "message", arena)};
    }
    return yield;
}

static void answer(struct fa_op *op, const char *id, const struct fa_yield *yield)
{
    struct faina_emitted *out = fa_arena_zero(op->arena, 1, sizeof(*out));
    const char **tasks = fa_arena_zero(op->arena, yield->task_count + 1, sizeof(char *));

    out->failures = fa_arena_zero(op->arena, yield->failure_count + 1, sizeof(*out->failures));
    for (size_t i = 0; i < yield->task_count; i++)
        tasks[i] = fa_arena_strdup(op->arena, yield->tasks[i]);
    for (size_t i = 0; i < yield->failure_count; i++)
        out->failures[i] = (struct faina_emit_failure){
            .workflow = fa_arena_strdup(op->arena, yield->failures[i].workflow),
            .trigger = fa_arena_strdup(op->arena, yield->failures[i].trigger),
            .message = fa_arena_strdup(op->arena, yield->failures[i].message)};
    out->id = fa_arena_strdup(op->arena, id);
    out->existing = op->existing;
    out->tasks = tasks;
    out->count = yield->task_count;
    out->failure_count = yield->failure_count;
    op->emitted = out;
}

static const char *new_id(struct fa_unit *unit)
{
    char *id = fa_arena_take(&unit->arena, FAINA_ID_SIZE);

    fa_id_format(fa_id_free(unit->ids, unit->now_us), id);
    return id;
}

/* Whether this transaction has seen the event already, and not yet written it. */
static bool is_pending(const struct fa_unit *unit, const struct event *event)
{
    for (size_t i = 0; i < unit->happened_count; i++)
        if (strcmp(unit->happened[i].id, event->id) == 0 &&
            strcmp(unit->happened[i].ns, event->ns) == 0)
            return true;
    return false;
}

/* Does what the event sets off, or finds what it has done before. `plan` is what its caller has
 * evaluated; NULL: nothing. */
static enum faina_code happen(struct fa_unit *unit, const struct event *event, bool is_new,
                              const struct fa_emit_plan *plan, bool is_partial,
                              struct fa_yield *yield, bool *existing, struct faina_error *err)
{
    struct happened_list known = {.source = &unit->source, .arena = &unit->arena};
    enum faina_code code = fa_flows_refresh(unit, err);

    if (code == FAINA_OK && !is_new && is_pending(unit, event))
        code = fa_unit_flush(unit, err); /* so that it is found */
    if (code == FAINA_OK && !is_new)
        code = find_happened(unit->source.db, event->ns, event->id, &known, err);
    *existing = known.count > 0;
    if (code == FAINA_OK && *existing) {
        *yield = read_yield(&unit->arena, &known.items[0]);
        return FAINA_OK;
    }
    if (plan != NULL && !fa_flows_is_at(unit, plan->mark)) /* K5 */
        plan = NULL;
    if (code == FAINA_OK && plan != NULL && plan->code != FAINA_OK) {
        *err = plan->error;
        return plan->code;
    }
    if (code == FAINA_OK)
        code = plan != NULL ? make_all(unit, event, &plan->evaluation, yield, err)
                            : fire_all(unit, event, is_partial, yield, err);
    if (code == FAINA_OK)
        keep(unit, event, yield);
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
    struct fa_yield yield = {0};
    enum faina_code code =
        happen(unit, &event, emit->id == NULL, op->plan, false, &yield, &op->existing, &op->error);

    if (code == FAINA_OK)
        answer(op, event.id, &yield);
    return code;
}

/* Before the transaction (K5) ----------------------------------------------------------------- */

#define HEAVY_BYTES (256 * 1024) /* of data, over all triggers */
#define TRIGGER_BYTES 1024       /* what a trigger costs besides */

static struct fa_evaluate_event event_of(const struct fa_op *op)
{
    return (struct fa_evaluate_event){.ns = op->emit->ns ? op->emit->ns : "default",
                                      .type = op->emit->type,
                                      .data = op->emit->data ? op->emit->data : "{}",
                                      .depth = 1};
}

bool fa_emit_is_heavy(struct fa_flow_shelf *shelf, const struct fa_op *op)
{
    struct fa_evaluate_event event = event_of(op);
    struct fa_flow_set *set = fa_flow_set_take(shelf);
    const struct fa_audience *audience = fa_flow_set_audience(set, event.ns, event.type, false);
    size_t count = audience != NULL ? audience->count : 0;

    fa_flow_set_leave(set);
    return count * (strlen(event.data) + TRIGGER_BYTES) >= HEAVY_BYTES;
}

void fa_emit_prepare(struct fa_flow_shelf *shelf, size_t input_size_max, struct fa_op *op)
{
    struct fa_evaluate_event event = event_of(op);
    struct fa_flow_set *set = fa_flow_set_take(shelf);
    struct fa_emit_plan *plan;

    plan = op->plan = fa_arena_zero(op->arena, 1, sizeof(*plan));
    plan->mark = (struct fa_flow_mark){0, -1}; /* of no set */
    if (set == NULL)
        return;
    plan->mark = fa_flow_set_mark(set);
    plan->code =
        fa_evaluate(set, &event, input_size_max, false, op->arena, &plan->evaluation, &plan->error);
    fa_flow_set_leave(set);
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

/* What is taken is gone, so a part of the inbox is taken one by one. */
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

    if (!unit->source.db->is_shared)
        return FAINA_OK;
    code = take(unit, limit, &inbox, err);
    if (inbox.count > 0)
        qsort(inbox.items, inbox.count, sizeof(*inbox.items), compare_inbox);
    for (size_t i = 0; code == FAINA_OK && i < inbox.count; i++) {
        struct event *event = &inbox.items[i].event;
        struct fa_yield yield = {0};
        bool existing;

        if (!fa_chore_takes_int(unit, FA_ASIDE_EVENT, inbox.items[i].seq))
            continue;
        /* The function has checked it; whoever wrote the row by hand has not. */
        if (fa_json_check(fa_str(event->data), FA_JSON_DEPTH_MAX, "data", FAINA_INVALID_REQUEST,
                          NULL) == FAINA_OK)
            code = happen(unit, event, false, NULL, true, &yield, &existing, err);
    }
    if (code == FAINA_OK && inbox.count == (size_t)limit)
        *next_us = unit->now_us; /* there may be more */
    return code;
}

/* Ends of tasks ------------------------------------------------------------------------------- */

enum faina_code fa_flow_task_json(struct fa_unit *unit, struct fa_source *source,
                                  struct fa_row *row, const char **out, struct faina_error *err)
{
    struct fa_json_writer writer;
    struct faina_task task;
    struct fa_buf buf;
    enum faina_code code = fa_row_load_task(source, row, &unit->arena, err);

    if (code == FAINA_OK)
        code = fa_row_load_payload(source, row, &unit->arena, err);
    if (code == FAINA_OK)
        code = fa_row_to_task(source, row, &unit->arena, true, false, &task, err);
    if (code != FAINA_OK)
        return code;
    fa_buf_init(&buf, SIZE_MAX / 2);
    fa_json_writer_init(&writer, &buf, 0);
    fa_wire_put_task(&writer, &task);
    *out = fa_arena_copy(&unit->arena, buf.ptr, buf.len);
    fa_buf_finish(&buf);
    return FAINA_OK;
}

static void note_failures(struct fa_unit *unit, struct fa_row *row, const struct fa_yield *yield,
                          bool is_too_deep)
{
    for (size_t i = 0; i < yield->failure_count; i++) {
        struct fa_json_writer writer;
        struct fa_buf buf;

        fa_buf_init(&buf, 64 * 1024);
        fa_json_writer_init(&writer, &buf, 0);
        put_failure(&writer, &yield->failures[i]);
        fa_unit_note(unit, row, is_too_deep ? "chain_stopped" : "trigger_failed",
                     FAINA_ACTOR_SYSTEM, NULL, buf.ptr);
        fa_buf_finish(&buf);
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

static enum faina_code tell_end(struct fa_unit *unit, struct fa_row *row, struct faina_error *err)
{
    const char *type = end_name(row->status);
    struct fa_lane *lane = row->lane;
    bool is_heard = fa_flows_audience(unit->flows, lane->ns, type, false) != NULL;
    bool is_member = fa_flows_audience(unit->flows, lane->ns, lane->type, true) != NULL;
    struct fa_ending ending = {.row = row, .ns = lane->ns, .event_id = end_id(unit, row)};
    const struct faina_origin *origin;
    struct fa_yield yield = {0};
    struct event event;
    enum faina_code code = FAINA_OK;

    if (!is_heard && !is_member)
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
    if (code == FAINA_OK && is_heard)
        code = fire_all(unit, &event, true, &yield, err);
    if (code == FAINA_OK && is_member)
        code = fa_joins_tell(unit, &ending, &yield, err);
    if (code == FAINA_OK && yield.task_count + yield.failure_count > 0)
        keep(unit, &event, &yield);
    if (code == FAINA_OK)
        note_failures(unit, row, &yield, ending.depth >= FA_CHAIN_DEPTH_MAX);
    fa_flow_regret(unit, &yield);
    return code;
}

enum faina_code fa_flows_tell_ends(struct fa_unit *unit, struct faina_error *err)
{
    enum faina_code code = FAINA_OK;

    if (unit->told_count == unit->ended_count)
        return FAINA_OK;
    code = fa_flows_refresh(unit, err);
    while (code == FAINA_OK && unit->told_count < unit->ended_count) {
        struct fa_row *row = fa_unit_known(unit, unit->ended[unit->told_count++].key);

        if (!fa_flows_hear_ends(unit->flows))
            unit->told_count = unit->ended_count;
        else if (row != NULL && !row->is_purged && fa_status_is_ended(row->status))
            code = tell_end(unit, row, err);
    }
    return code;
}

/* Looking, forgetting ------------------------------------------------------------------------- */

static enum faina_code read_cursor(const char *cursor, int64_t *at_us, int64_t *seq,
                                   struct faina_error *err)
{
    long long at, after;
    char end;

    if (sscanf(cursor, "%lld.%lld%c", &at, &after, &end) != 2 || at < 0 || after < 0)
        return fa_error_field(err, FAINA_INVALID_REQUEST, "cursor",
                              "the cursor is not one that a list has given");
    *at_us = at;
    *seq = after;
    return FAINA_OK;
}

static enum faina_code read_happened(struct fa_db *db, const char *ns, const char *type,
                                     struct happened_list *list, struct faina_error *err)
{
    enum faina_code code;

    do {
        struct fa_value params[] = {fa_value_int(list->last_us), fa_value_int(list->last_seq),
                                    fa_value_text(ns), fa_value_text(type ? type : ""),
                                    fa_pager_next(&list->pager)};

        code = fa_db_one(db, FA_SQL_HAPPENED_LIST, params, 5, sink_happened, list, err);
    } while (code == FAINA_OK && fa_pager_goes_on(&list->pager));
    return code;
}

enum faina_code fa_look_happened(struct fa_source *source, struct fa_op *op)
{
    const struct fa_happened_query *query = op->happened_query;
    const char *ns = query->ns ? query->ns : "default";
    size_t limit = query->limit > 0 ? (size_t)query->limit : FA_LIST_LIMIT_DEFAULT;
    struct happened_list list = {.source = source,
                                 .arena = op->arena,
                                 .pager = fa_pager_of_limit(limit),
                                 .last_us = query->since_us > 0 ? query->since_us - 1 : 0,
                                 .last_seq = INT64_MAX};
    enum faina_code code = FAINA_OK;

    if (query->cursor != NULL)
        code = read_cursor(query->cursor, &list.last_us, &list.last_seq, &op->error);
    if (code == FAINA_OK && query->id != NULL)
        code = find_happened(source->db, ns, query->id, &list, &op->error);
    else if (code == FAINA_OK)
        code = read_happened(source->db, ns, query->type, &list, &op->error);
    if (code == FAINA_OK && query->id != NULL && list.count == 0)
        return fa_error_set(&op->error, FAINA_NOT_FOUND,
                            "there is no event %.200s, or it is no longer kept", query->id);
    if (code != FAINA_OK)
        return code;
    op->happened = fa_arena_zero(op->arena, 1, sizeof(*op->happened));
    op->happened->items = list.items;
    op->happened->count = list.count;
    if (query->id == NULL && list.pager.has_more)
        op->happened->next_cursor = fa_arena_printf(op->arena, "%lld.%lld", (long long)list.last_us,
                                                    (long long)list.last_seq);
    return FAINA_OK;
}

enum faina_code fa_flows_forget_old(struct fa_unit *unit, int64_t keep_ms, struct faina_error *err)
{
    struct fa_value params[2] = {fa_value_int(unit->now_us - keep_ms * 1000),
                                 fa_value_int(FORGET_AT_ONCE)};
    enum faina_code code =
        fa_db_one(unit->source.db, FA_SQL_HAPPENED_FORGET, params, 2, NULL, NULL, err);

    if (code == FAINA_OK)
        code = fa_db_one(unit->source.db, FA_SQL_JOIN_FORGET, params, 1, NULL, NULL, err);
    if (code == FAINA_OK && unit->source.db->is_shared) /* whole days of tasks may have gone */
        code = fa_db_one(unit->source.db, FA_SQL_ORIGIN_FORGET, &params[1], 1, NULL, NULL, err);
    return code;
}
