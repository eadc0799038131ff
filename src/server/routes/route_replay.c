/*
 * route_replay.c - definitions and stored events, without side effects: which triggers match an
 * event, and how a definition differs from what was created.
 *
 * Both run in post's thread for long work, and call the engine from there.
 */
#include "server/routes/route.h"

#include "base/clock.h"
#include "model/limits.h"
#include "model/workflow_try.h"
#include "server/server_inner.h"
#include "wire/wire.h"
#include "wire/wire_workflow.h"

#include <stdio.h>

#define PAGE 200                 /* events or workflows that are read at once */
#define GETS 100                 /* tasks that are read at once */
#define TASKS_MAX 20000          /* ... and in all */
#define TIME_US (10 * 1000000LL) /* after which a comparison ends early */

/* Runs `work`, which ends with `req->data` complete, then `then`. */
static void work_long(struct fa_request *req, fa_posted_fn *work, fa_handler *then)
{
    fa_request_work(req, work, then);
    req->posted.is_long = true;
}

static enum faina_code run(struct fa_request *req, struct fa_op *op, struct faina_error *err)
{
    op->grant = &req->grant;
    return fa_service_run_one(req->server->service, op, err);
}

/* ------------------------------------------------------------------------------------------
 * Why
 */

struct reason {
    const char *workflow, *trigger, *result;
    const char *clause, *error;
};

struct why {
    enum faina_code code;
    struct faina_error error;
    struct fa_emitted_query query;
    const struct fa_emitted_event *event;
    struct reason *items;
    size_t count, size;
};

static void add_reasons(struct fa_request *req, const struct fa_stored_workflow *stored,
                        const struct fa_match_data *data)
{
    struct why *why = req->data;
    const struct fa_workflow *workflow = NULL;
    struct fa_mistakes mistakes = {0};

    if (fa_workflow_read(fa_str(stored->definition), FA_WORKFLOW_JSON, NULL, &req->arena, &workflow,
                         &mistakes, NULL) != FAINA_OK)
        return;
    for (size_t i = 0; i < workflow->trigger_count; i++) {
        const struct fa_workflow_trigger *trigger = &workflow->triggers[i];
        struct fa_trigger_result result;

        if (strcmp(trigger->on, why->event->type) != 0)
            continue;
        result = fa_trigger_try(&req->arena, trigger, data);
        why->items =
            fa_arena_grow(&req->arena, why->items, why->count, &why->size, sizeof(*why->items));
        why->items[why->count++] = (struct reason){
            .workflow = stored->name,
            .trigger = trigger->name,
            .result = !stored->is_enabled ? "disabled"
                      : result.has_failed ? "failed"
                      : result.is_match   ? "matched"
                                          : "not matched",
            .clause = result.clause,
            .error = result.has_failed ? result.task : NULL,
        };
    }
}

static void explain_event(struct fa_posted *posted)
{
    struct fa_request *req = (struct fa_request *)posted;
    struct why *why = req->data;
    struct fa_op event = {
        .kind = FA_OP_EMITTED_LIST, .emitted_query = &why->query, .arena = &req->arena};
    struct fa_op list = {.kind = FA_OP_WORKFLOW_LIST,
                         .workflow = {.ns = why->query.ns},
                         .part = {.is_asked = true, .limit = PAGE},
                         .arena = &req->arena};
    struct fa_match_data data;

    posted->is_long = false;
    why->code = run(req, &event, &why->error);
    if (why->code != FAINA_OK)
        return;
    why->event = &event.emitted_events->items[0];
    fa_match_data_init(&data, fa_str(why->event->data));
    do {
        list.next_cursor = NULL;
        why->code = run(req, &list, &why->error);
        for (size_t i = 0; why->code == FAINA_OK && i < list.workflows->count; i++)
            add_reasons(req, &list.workflows->items[i], &data);
        list.part.cursor = list.next_cursor;
    } while (why->code == FAINA_OK && list.next_cursor);
}

static void answer_why(struct fa_request *req)
{
    const struct why *why = req->data;
    struct fa_json_writer *w;

    if (why->code != FAINA_OK) {
        fa_respond_problem(req, &why->error);
        return;
    }
    w = fa_response_begin(req, 200);
    fa_json_begin_object(w);
    fa_json_key(w, "event");
    fa_shape_put(w, &fa_shape_emitted_event, why->event);
    fa_json_key(w, "triggers");
    fa_json_begin_array(w);
    for (size_t i = 0; i < why->count; i++) {
        fa_json_begin_object(w);
        fa_json_set_str(w, "workflow", why->items[i].workflow);
        fa_json_set_str(w, "trigger", why->items[i].trigger);
        fa_json_set_str(w, "result", why->items[i].result);
        fa_json_set_str(w, "decidedBy", why->items[i].clause);
        fa_json_set_str(w, "error", why->items[i].error);
        fa_json_end_object(w);
    }
    fa_json_end_array(w);
    fa_json_end_object(w);
    fa_response_end(req);
}

void fa_handle_event_why(struct fa_request *req)
{
    struct why *why = fa_arena_zero(&req->arena, 1, sizeof(*why));

    why->query.ns = fa_request_namespace(req, fa_url_param(&req->url, "namespace"));
    why->query.id = req->part;
    req->data = why;
    work_long(req, explain_event, answer_why);
}

/* ------------------------------------------------------------------------------------------
 * Comparing a definition with what was created
 */

struct difference {
    const char *event_id, *trigger, *task_id, *task;
};

enum { ADDED, MISSING, CHANGED, KIND_COUNT };
static const char *const kind_names[KIND_COUNT] = {"added", "missing", "changed"};

struct tally {
    int64_t events, tasks, failed;
    const char *failure; /* the first */
};

struct backtest {
    const char *ns;
    int64_t since_us, until_mono_us;
    const struct fa_workflow *workflow;
    struct tally *tallies;
    int64_t events, same, gone, tasks_read;
    bool is_truncated;
    int64_t counts[KIND_COUNT];
    struct difference items[KIND_COUNT][FA_BACKTEST_ITEMS_MAX];
    enum faina_code code;
    struct faina_error error;
};

/* The tasks that an event has created for this workflow. */
struct made {
    struct fa_op *ops;
    size_t count;
    bool *is_expected;
    size_t gone;
};

static void add_difference(struct fa_request *req, int kind, const struct fa_emitted_event *event,
                           const char *trigger, const char *task_id, const char *task)
{
    struct backtest *test = req->data;
    int64_t n = test->counts[kind]++;

    if (n >= FA_BACKTEST_ITEMS_MAX)
        return;
    test->items[kind][n] = (struct difference){
        .event_id = fa_arena_strdup(&req->arena, event->id),
        .trigger = fa_arena_strdup(&req->arena, trigger),
        .task_id = task_id ? fa_arena_strdup(&req->arena, task_id) : NULL,
        .task = task ? fa_arena_strdup(&req->arena, task) : NULL,
    };
}

/* Reads the tasks of an event, and keeps those of the workflow. */
static enum faina_code read_made(struct fa_request *req, const struct fa_emitted_event *event,
                                 struct fa_arena *arena, struct made *out)
{
    struct backtest *test = req->data;
    const char *const *ids = NULL;
    size_t count = 0;

    *out = (struct made){0};
    if (fa_json_check(fa_str(event->tasks), 2, "tasks", FAINA_INTERNAL, NULL) == FAINA_OK)
        (void)fa_json_texts(fa_json_value(fa_str(event->tasks)), arena, &ids, &count);
    out->ops = fa_arena_zero(arena, count + 1, sizeof(*out->ops));
    out->is_expected = fa_arena_zero(arena, count + 1, sizeof(bool));
    for (size_t i = 0; i < count; i++)
        out->ops[i] =
            (struct fa_op){.kind = FA_OP_GET, .id = ids[i], .arena = arena, .grant = &req->grant};
    for (size_t i = 0; i < count; i += GETS)
        fa_service_run(req->server->service, out->ops + i, count - i < GETS ? count - i : GETS);
    test->tasks_read += (int64_t)count;
    for (size_t i = 0; i < count; i++) {
        const struct faina_origin *origin;

        if (out->ops[i].code == FAINA_TASK_NOT_FOUND) {
            out->gone++;
            continue;
        }
        if (out->ops[i].code != FAINA_OK) {
            test->error = out->ops[i].error;
            return out->ops[i].code;
        }
        origin = out->ops[i].task->origin;
        if (origin && strcmp(origin->workflow, test->workflow->name) == 0)
            fa_op_copy(&out->ops[out->count++], &out->ops[i]);
    }
    test->gone += (int64_t)out->gone;
    return FAINA_OK;
}

static bool is_same_json(const char *a, const char *b)
{
    return fa_json_same(fa_str(a ? a : "null"), fa_str(b ? b : "null"));
}

static bool is_as_created(const char *json, const struct faina_task *task, struct fa_arena *arena)
{
    struct faina_submit submit = {0};
    struct faina_error err;

    return fa_wire_read_submit(fa_str(json), arena, &submit, &err) == FAINA_OK && submit.type &&
           fa_name_is_same(submit.type, task->type) && is_same_json(submit.input, task->input);
}

static void compare(struct fa_request *req, const struct fa_emitted_event *event,
                    const struct fa_workflow_trigger *trigger, const char *task, struct made *made,
                    struct fa_arena *arena)
{
    struct backtest *test = req->data;

    for (size_t i = 0; i < made->count; i++) {
        const struct faina_task *created = made->ops[i].task;

        if (made->is_expected[i] || strcmp(created->origin->trigger, trigger->name) != 0)
            continue;
        made->is_expected[i] = true;
        if (is_as_created(task, created, arena))
            test->same++;
        else
            add_difference(req, CHANGED, event, trigger->name, created->id, task);
        return;
    }
    if (made->gone == 0) /* else it may be one of those */
        add_difference(req, ADDED, event, trigger->name, NULL, task);
}

static enum faina_code replay_event(struct fa_request *req, const struct fa_emitted_event *event,
                                    struct fa_arena *arena)
{
    struct backtest *test = req->data;
    const struct fa_workflow *workflow = test->workflow;
    struct fa_match_data data;
    struct made made;
    enum faina_code code = read_made(req, event, arena, &made);

    if (code != FAINA_OK)
        return code;
    test->events++;
    fa_match_data_init(&data, fa_str(event->data));
    for (size_t i = 0; i < workflow->trigger_count; i++) {
        const struct fa_workflow_trigger *trigger = &workflow->triggers[i];
        struct tally *tally = &test->tallies[i];
        struct fa_trigger_result result;

        if (strcmp(trigger->on, event->type) != 0)
            continue;
        result = fa_trigger_try(arena, trigger, &data);
        tally->events++;
        tally->failed += result.has_failed;
        if (result.has_failed && !tally->failure)
            tally->failure = fa_arena_strdup(&req->arena, result.task);
        if (!result.is_match || result.has_failed)
            continue;
        tally->tasks++;
        compare(req, event, trigger, result.task, &made, arena);
    }
    for (size_t i = 0; i < made.count; i++) {
        const struct faina_task *task = made.ops[i].task;

        if (!made.is_expected[i])
            add_difference(req, MISSING, event, task->origin->trigger, task->id, NULL);
    }
    return FAINA_OK;
}

static bool is_over(const struct backtest *test)
{
    return test->events >= FA_BACKTEST_EVENTS_MAX || test->tasks_read >= TASKS_MAX ||
           fa_clock_mono_us() > test->until_mono_us;
}

/* One page. *cursor NULL afterwards: it was the last one. */
static enum faina_code replay_page(struct fa_request *req, char cursor[FA_CURSOR_SIZE_MAX + 1])
{
    struct backtest *test = req->data;
    struct fa_arena arena = {0}, scratch = {0};
    struct fa_emitted_query query = {.ns = test->ns,
                                     .since_us = test->since_us,
                                     .limit = PAGE,
                                     .cursor = cursor[0] ? cursor : NULL};
    struct fa_op op = {.kind = FA_OP_EMITTED_LIST, .emitted_query = &query, .arena = &arena};
    enum faina_code code = run(req, &op, &test->error);
    const char *next = code == FAINA_OK ? op.emitted_events->next_cursor : NULL;

    for (size_t i = 0; code == FAINA_OK && i < op.emitted_events->count; i++) {
        if (is_over(test)) {
            test->is_truncated = true;
            next = NULL;
            break;
        }
        code = replay_event(req, &op.emitted_events->items[i], &scratch);
        fa_arena_reset(&scratch);
    }
    snprintf(cursor, FA_CURSOR_SIZE_MAX + 1, "%s", next ? next : "");
    fa_arena_finish(&scratch);
    fa_arena_finish(&arena);
    return code;
}

static void replay(struct fa_posted *posted)
{
    struct fa_request *req = (struct fa_request *)posted;
    struct backtest *test = req->data;
    char cursor[FA_CURSOR_SIZE_MAX + 1] = "";

    posted->is_long = false;
    test->until_mono_us = fa_clock_mono_us() + TIME_US;
    do
        test->code = replay_page(req, cursor);
    while (test->code == FAINA_OK && cursor[0]);
}

static void put_differences(struct fa_json_writer *w, const struct backtest *test, int kind)
{
    fa_json_key(w, kind_names[kind]);
    fa_json_begin_array(w);
    for (int64_t i = 0; i < test->counts[kind] && i < FA_BACKTEST_ITEMS_MAX; i++) {
        const struct difference *item = &test->items[kind][i];

        fa_json_begin_object(w);
        fa_json_set_str(w, "eventId", item->event_id);
        fa_json_set_str(w, "trigger", item->trigger);
        fa_json_set_str(w, "taskId", item->task_id);
        fa_json_set_raw(w, "task", item->task);
        fa_json_end_object(w);
    }
    fa_json_end_array(w);
}

static void put_counts(struct fa_json_writer *w, const struct backtest *test)
{
    fa_json_key(w, "counts");
    fa_json_begin_object(w);
    fa_json_set_int(w, "same", test->same);
    for (int kind = 0; kind < KIND_COUNT; kind++)
        fa_json_set_int(w, kind_names[kind], test->counts[kind]);
    fa_json_set_int(w, "gone", test->gone);
    fa_json_end_object(w);
}

static void put_triggers(struct fa_json_writer *w, const struct backtest *test)
{
    fa_json_key(w, "triggers");
    fa_json_begin_array(w);
    for (size_t i = 0; i < test->workflow->trigger_count; i++) {
        fa_json_begin_object(w);
        fa_json_set_str(w, "name", test->workflow->triggers[i].name);
        fa_json_set_str(w, "on", test->workflow->triggers[i].on);
        fa_json_set_int(w, "events", test->tallies[i].events);
        fa_json_set_int(w, "tasks", test->tallies[i].tasks);
        fa_json_set_int(w, "failed", test->tallies[i].failed);
        fa_json_set_str(w, "failure", test->tallies[i].failure);
        fa_json_end_object(w);
    }
    fa_json_end_array(w);
}

static void answer_backtest(struct fa_request *req)
{
    const struct backtest *test = req->data;
    struct fa_json_writer *w;

    if (test->code != FAINA_OK) {
        fa_respond_problem(req, &test->error);
        return;
    }
    w = fa_response_begin(req, 200);
    fa_json_begin_object(w);
    fa_json_set_str(w, "name", test->workflow->name);
    fa_json_key(w, "since");
    fa_wire_put_time(w, test->since_us);
    fa_json_set_int(w, "events", test->events);
    fa_json_set_bool(w, "truncated", test->is_truncated);
    put_counts(w, test);
    put_triggers(w, test);
    for (int kind = 0; kind < KIND_COUNT; kind++)
        put_differences(w, test, kind);
    fa_json_end_object(w);
    fa_response_end(req);
}

/* A definition is an object, or its text. Responds when it has mistakes. */
static bool read_definition(struct fa_request *req, const char *definition, const char *ns,
                            const struct fa_workflow **out)
{
    struct fa_json value = fa_json_value(fa_str(definition));
    const struct fa_workflow_target target = {.ns = ns};
    enum fa_workflow_format format = FA_WORKFLOW_JSON;
    struct fa_mistakes mistakes = {0};
    struct fa_bytes text = fa_str(definition);
    struct faina_error err;
    struct fa_json_writer w;
    struct fa_buf problem;

    if (value.type == FA_JSON_STRING) {
        text = fa_str(fa_json_text(value, &req->arena));
        format = FA_WORKFLOW_YAML;
    }
    fa_error_clear(&err);
    if (fa_workflow_read(text, format, &target, &req->arena, out, &mistakes, &err) == FAINA_OK)
        return true;
    if (mistakes.count == 0) {
        fa_respond_problem(req, &err);
        return false;
    }
    fa_buf_init(&problem, SIZE_MAX / 2);
    fa_json_writer_init(&w, &problem, 0);
    fa_wire_put_mistakes(&w, &err, &mistakes);
    fa_respond_text(req, 400, "application/problem+json",
                    fa_arena_copy(&req->arena, problem.ptr, problem.len));
    fa_buf_finish(&problem);
    return false;
}

void fa_handle_backtest(struct fa_request *req)
{
    struct fa_backtest_body body = {.last_ms = 24LL * 3600 * 1000};
    struct backtest *test = fa_arena_zero(&req->arena, 1, sizeof(*test));

    if (!fa_request_read(req, &fa_body_backtest, &body))
        return;
    if (!body.definition) {
        fa_respond_missing(req, "definition");
        return;
    }
    test->ns = fa_request_namespace(req, fa_url_param(&req->url, "namespace"));
    if (body.last_ms > FA_EVENTS_KEEP_MS)
        body.last_ms = FA_EVENTS_KEEP_MS;
    test->since_us = fa_clock_now_us() - body.last_ms * 1000;
    if (!read_definition(req, body.definition, test->ns, &test->workflow))
        return;
    test->tallies =
        fa_arena_zero(&req->arena, test->workflow->trigger_count + 1, sizeof(*test->tallies));
    req->data = test;
    work_long(req, replay, answer_backtest);
}
