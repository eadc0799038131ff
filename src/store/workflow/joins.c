/*
 * joins.c - ends of tasks that come together by a key.
 *
 * A round of a join gathers one task of each of its types. When the last one is there the round is
 * over: its task is made or, when a member ended badly and the join says `drop`, none is. What
 * comes for the same key afterwards belongs to a new round. A type that comes twice within a round
 * counts with its latest task; so a failed member that was retried and completed heals the round.
 * At the deadline those that are missing count as ended badly.
 */
#include "sql/flows.h"

#include "sql/show.h"
#include "base/hash.h"
#include "base/utf8.h"
#include "model/limits.h"
#include "model/states.h"
#include "sql/chores/scope.h"
#include "sql/look.h"
#include "sql/pages.h"
#include "sql/sound.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#define LEFT_US 1000000 /* rounds that are over but can't be ended are looked at again after this */

/* A task that is there. */
struct member {
    const char *id; /* NULL: it is not */
    const char *status;
};

/* A round under way, and the row that it is kept in. */
struct round {
    const struct fa_ear *ear;
    const char *key; /* canonical JSON */
    int64_t number, deadline_us;
    const char *text; /* the members as they were stored */
    struct member members[FA_JOIN_TYPES_MAX];
};

/* How a round has ended; all NULL: it goes on. */
struct ending_note {
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
    const struct fa_join *join = round->ear->join;
    struct fa_json_iter it;
    struct fa_bytes key;
    struct fa_json value, id, status;

    if (fa_json_check(fa_str(round->text), 4, "members", FAINA_INTERNAL, NULL) != FAINA_OK)
        return; /* an edited row: the round begins anew */
    for (it = fa_json_iter(fa_json_value(fa_str(round->text))); fa_json_next(&it, &key, &value);) {
        const char *type = fa_json_unescape(key, &unit->arena);

        for (size_t i = 0; i < join->task_type_count; i++) {
            if (strcmp(join->task_types[i], type) != 0 || value.type != FA_JSON_OBJECT ||
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
    struct fa_value params[] = {fa_value_text(round->ear->flow->ns),
                                fa_value_text(round->ear->flow->workflow->name),
                                fa_value_text(round->ear->join->name), fa_value_text(round->key),
                                fa_value_int(unit->now_us)};
    struct round_sink sink = {.arena = &unit->arena, .round = round};
    enum faina_code code =
        fa_db_one(unit->source.db, FA_SQL_JOIN_TOUCH, params, 5, sink_round, &sink, err);

    if (code == FAINA_OK && round->text != NULL)
        read_members(unit, round);
    return code;
}

static const char *members_json(struct fa_unit *unit, const struct round *round)
{
    const struct fa_join *join = round->ear->join;
    struct fa_json_writer writer;
    const char *text;
    struct fa_buf buf;

    fa_buf_init(&buf, SIZE_MAX / 2);
    fa_json_writer_init(&writer, &buf, 0);
    fa_json_begin_object(&writer);
    for (size_t i = 0; i < join->task_type_count; i++) {
        if (round->members[i].id == NULL)
            continue;
        fa_json_key(&writer, join->task_types[i]);
        fa_json_begin_object(&writer);
        fa_json_key(&writer, "id");
        fa_json_put_str(&writer, round->members[i].id);
        fa_json_key(&writer, "status");
        fa_json_put_str(&writer, round->members[i].status);
        fa_json_end_object(&writer);
    }
    fa_json_end_object(&writer);
    text = fa_unit_text(unit, buf.ptr);
    fa_buf_finish(&buf);
    return text;
}

static enum faina_code write_round(struct fa_unit *unit, const struct round *round,
                                   const struct ending_note *note, struct faina_error *err)
{
    bool is_over = note->outcome != NULL;

    return fa_db_one(
        unit->source.db, FA_SQL_JOIN_PUT,
        (struct fa_value[]){
            fa_value_text(round->ear->flow->ns), fa_value_text(round->ear->flow->workflow->name),
            fa_value_text(round->ear->join->name), fa_value_text(round->key),
            fa_value_int(round->number + is_over),
            fa_value_text(is_over ? "{}" : members_json(unit, round)),
            fa_value_int_or_null(is_over ? 0 : round->deadline_us), fa_value_text(note->outcome),
            fa_value_text(note->task), fa_value_text(note->error)},
        10, NULL, NULL, err);
}

/* Ending a round ------------------------------------------------------------------------------ */

/* The task of a member as JSON, and how many tasks led to it. One that was purged since is
 * missing. */
static enum faina_code read_member(struct fa_unit *unit, const char *id, struct fa_json *out,
                                   int64_t *depth, struct faina_error *err)
{
    struct fa_source source = unit->source; /* only to look: others may hold it */
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
    row = fa_unit_known(unit, parsed.key);
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
                            struct fa_yield *yield, struct ending_note *note,
                            struct faina_error *err)
{
    const struct fa_join *join = round->ear->join;
    struct fa_json *tasks = fa_arena_zero(&unit->arena, join->task_type_count, sizeof(*tasks));
    struct fa_template_members members = {.key = fa_json_value(fa_str(round->key)),
                                          .tasks = tasks,
                                          .budget = &fa_yield_budget(unit, yield)->steps_left};
    struct fa_making making = {.flow = round->ear->flow,
                               .name = join->name,
                               .task = join->task,
                               .lookup = fa_template_lookup_members,
                               .lookup_ctx = &members,
                               .event_id = event_id};
    size_t tasks_before = yield->task_count;
    enum faina_code code = FAINA_OK;

    for (size_t i = 0; code == FAINA_OK && i < join->task_type_count; i++) {
        int64_t depth = 0;

        if (round->members[i].id != NULL)
            code = read_member(unit, round->members[i].id, &tasks[i], &depth, err);
        if (depth + 1 > making.depth)
            making.depth = depth + 1;
    }
    if (code == FAINA_OK)
        code = fa_flow_make(unit, &making, yield, err);
    if (code != FAINA_OK)
        return code;
    if (yield->task_count > tasks_before)
        *note = (struct ending_note){.outcome = "fired", .task = yield->tasks[tasks_before]};
    else
        *note = (struct ending_note){.outcome = "failed",
                                     .error = yield->failures[yield->failure_count - 1].message};
    return FAINA_OK;
}

static bool has_bad_member(const struct round *round)
{
    for (size_t i = 0; i < round->ear->join->task_type_count; i++) {
        const char *status = round->members[i].status;

        if (status == NULL || strcmp(status, faina_status_name(FAINA_COMPLETED)) != 0)
            return true;
    }
    return false;
}

static bool is_full(const struct round *round)
{
    for (size_t i = 0; i < round->ear->join->task_type_count; i++)
        if (round->members[i].id == NULL)
            return false;
    return true;
}

static enum faina_code end_round(struct fa_unit *unit, const struct round *round,
                                 const char *event_id, struct fa_yield *yield,
                                 struct faina_error *err)
{
    struct ending_note note = {.outcome = "dropped"};
    enum faina_code code = FAINA_OK;

    if (round->ear->join->on_failure == FA_JOIN_FIRE || !has_bad_member(round))
        code = fire(unit, round, event_id, yield, &note, err);
    return code == FAINA_OK ? write_round(unit, round, &note, err) : code;
}

/* A member ------------------------------------------------------------------------------------ */

/* The key of a task's input; NULL when it has none. */
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

static enum faina_code add_member(struct fa_unit *unit, const struct fa_ending *ending,
                                  const struct fa_ear *ear, struct fa_yield *yield,
                                  struct faina_error *err)
{
    struct round round = {.ear = ear, .key = find_key(unit, ear->join, ending->input)};
    char *id = fa_arena_take(&unit->arena, FAINA_ID_SIZE);
    enum faina_code code;

    if (round.key == NULL)
        return FAINA_OK; /* it belongs to nothing */
    code = open_round(unit, &round, err);
    if (code != FAINA_OK)
        return code;
    fa_id_format(ending->row->id, id);
    round.members[ear->member] =
        (struct member){.id = id, .status = faina_status_name(ending->row->status)};
    if (round.deadline_us == 0 && ear->join->deadline_ms > 0)
        round.deadline_us = unit->now_us + ear->join->deadline_ms * 1000;
    if (is_full(&round))
        return end_round(unit, &round, ending->event_id, yield, err);
    if (round.deadline_us != 0 && round.deadline_us < unit->next_us)
        unit->next_us = round.deadline_us;
    return write_round(unit, &round, &(struct ending_note){0}, err);
}

enum faina_code fa_joins_tell(struct fa_unit *unit, const struct fa_ending *ending,
                              struct fa_yield *yield, struct faina_error *err)
{
    const struct fa_audience *audience =
        fa_flows_audience(unit->flows, ending->ns, ending->row->lane->type, true);
    enum faina_code code = FAINA_OK;

    for (size_t i = 0; code == FAINA_OK && audience != NULL && i < audience->count; i++)
        code = add_member(unit, ending, &audience->ears[i], yield, err);
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
    for (size_t i = 0; i < 4; i++) /* the primary key has no nulls, but it may have numbers */
        if (c[i].kind != FA_TEXT)
            return;
    list->items[list->count++] =
        (struct due){fa_value_dup(&c[0], list->arena), fa_value_dup(&c[1], list->arena),
                     fa_value_dup(&c[2], list->arena), fa_value_dup(&c[3], list->arena)};
}

static enum faina_code forget_round(struct fa_unit *unit, const struct due *due,
                                    struct faina_error *err)
{
    struct fa_value params[] = {fa_value_text(due->ns), fa_value_text(due->workflow),
                                fa_value_text(due->name), fa_value_text(due->key)};

    return fa_db_one(unit->source.db, FA_SQL_JOIN_DROP, params, 4, NULL, NULL, err);
}

/* *is_left: its workflow was disabled just now, or this program doesn't understand it; the round
 * stays as it is. */
static enum faina_code expire(struct fa_unit *unit, const struct due *due, bool *is_left,
                              struct faina_error *err)
{
    struct round round = {.ear = fa_flows_join(unit->flows, due->ns, due->workflow, due->name),
                          .key = due->key};
    struct fa_yield yield = {0};
    enum faina_code code;

    if (round.ear == NULL && fa_flows_is_silent(unit->flows, due->ns, due->workflow)) {
        *is_left = true;
        return FAINA_OK;
    }
    if (round.ear == NULL ||
        fa_json_check(fa_str(due->key), 2, "key", FAINA_INTERNAL, NULL) != FAINA_OK)
        return forget_round(unit, due, err); /* its definition is gone */
    code = open_round(unit, &round, err);
    if (code != FAINA_OK || round.deadline_us == 0 || round.deadline_us > unit->now_us)
        return code;
    code = end_round(unit, &round, "", &yield, err);
    fa_flow_regret(unit, &yield);
    return code;
}

/* As join_due.sql names it. */
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
    bool is_left = false;
    enum faina_code code =
        fa_db_one(unit->source.db, FA_SQL_JOIN_DUE, params, 2, sink_due, &due, err);

    if (code == FAINA_OK && due.count > 0)
        code = fa_flows_refresh(unit, err);
    for (size_t i = 0; code == FAINA_OK && i < due.count; i++)
        if (fa_chore_takes(unit, FA_ASIDE_JOIN, item_key(unit, &due.items[i])))
            code = expire(unit, &due.items[i], &is_left, err);
    if (code == FAINA_OK)
        code = fa_db_one(unit->source.db, FA_SQL_JOIN_NEXT, params, 1, fa_db_sink_int, &next, err);
    if (is_left && next < unit->now_us + LEFT_US)
        next = unit->now_us + LEFT_US; /* not again and again */
    if (code == FAINA_OK && next != 0 && next < *next_us)
        *next_us = next;
    return code;
}

/* Looking ------------------------------------------------------------------------------------- */

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
        .members = fa_value_json(&c[5], list->arena), /* what is no JSON is left out */
        .updated_us = fa_value_as_int(&c[6]),
        .deadline_us = fa_value_as_int(&c[7]),
        .last_outcome = fa_value_dup(&c[8], list->arena),
        .last_task = fa_value_dup(&c[9], list->arena),
        .last_error = fa_value_dup(&c[10], list->arena),
    };
}

/* A text as the JSON that a key is stored as. */
static const char *as_json(const char *text, struct fa_arena *arena)
{
    struct fa_json_writer writer;
    const char *json;
    struct fa_buf buf;

    fa_buf_init(&buf, SIZE_MAX / 2);
    fa_json_writer_init(&writer, &buf, 0);
    fa_json_put_str(&writer, text);
    json = fa_arena_strdup(arena, buf.ptr);
    fa_buf_finish(&buf);
    return json;
}

/* Where a page ended. A cursor is these three in hexadecimal, a line each. */
struct place {
    const char *workflow, *name, *key;
};

static const char *put_cursor(const struct fa_join_state *last, struct fa_arena *arena)
{
    const char *text = fa_arena_printf(arena, "%s\n%s\n%s", last->workflow, last->name, last->key);
    char *cursor = fa_arena_take(arena, 2 * strlen(text) + 1);

    fa_hex((const uint8_t *)text, strlen(text), cursor);
    return cursor;
}

static bool read_place(const char *cursor, struct fa_arena *arena, struct place *out)
{
    size_t len = strlen(cursor) / 2;
    char *text = fa_arena_zero(arena, len + 1, 1), *name, *key;

    for (size_t i = 0; i < len; i++) {
        const char digits[3] = {cursor[2 * i], cursor[2 * i + 1], '\0'};

        text[i] = (char)strtoul(digits, NULL, 16);
    }
    if (strlen(cursor) % 2 != 0 || strspn(cursor, "0123456789abcdef") != 2 * len ||
        strlen(text) != len || !fa_utf8_is_valid(fa_str(text)))
        return false;
    name = strchr(text, '\n');
    key = name ? strchr(name + 1, '\n') : NULL;
    if (key == NULL)
        return false;
    *name = *key = '\0';
    *out = (struct place){text, name + 1, key + 1};
    return true;
}

static enum faina_code find_joins(struct fa_source *source, struct fa_op *op,
                                  struct state_list *list)
{
    const char *key = op->join.key ? op->join.key : "";
    struct place after = {"", "", ""};
    enum faina_code code;
    struct fa_value params[8] = {
        fa_value_text(op->join.ns ? op->join.ns : "default"),
        fa_value_text(op->join.workflow ? op->join.workflow : ""),
        fa_value_text(key),
        fa_value_text(as_json(key, op->arena)),
    };

    if (op->join.cursor != NULL && !read_place(op->join.cursor, op->arena, &after))
        return fa_error_field(&op->error, FAINA_INVALID_REQUEST, "cursor",
                              "the cursor is not one that a list has given");
    for (;;) {
        params[4] = fa_pager_next(&list->pager);
        params[5] = fa_value_text(after.workflow);
        params[6] = fa_value_text(after.name);
        params[7] = fa_value_text(after.key);
        code = fa_db_one(source->db, FA_SQL_JOIN_LIST, params, 8, sink_state, list, &op->error);
        if (code != FAINA_OK || !fa_pager_goes_on(&list->pager))
            return code;
        after = (struct place){list->items[list->count - 1].workflow,
                               list->items[list->count - 1].name, list->items[list->count - 1].key};
    }
}

enum faina_code fa_look_joins(struct fa_source *source, struct fa_op *op)
{
    size_t limit = op->join.limit > 0 ? (size_t)op->join.limit : FA_LIST_LIMIT_DEFAULT;
    struct state_list list = {
        .source = source, .arena = op->arena, .pager = fa_pager_of_limit(limit)};
    enum faina_code code = FAINA_OK;

    if (op->join.workflow != NULL)
        code = fa_flows_expect(source->db, op->join.ns, op->join.workflow, op->arena, &op->error);
    if (code == FAINA_OK)
        code = find_joins(source, op, &list);
    if (code != FAINA_OK)
        return code;
    op->joins = fa_arena_zero(op->arena, 1, sizeof(*op->joins));
    op->joins->items = list.items;
    op->joins->count = list.count;
    if (list.pager.has_more)
        op->joins->next_cursor = put_cursor(&list.items[list.count - 1], op->arena);
    return FAINA_OK;
}
