/*
 * outcome.c - what workers report about the tasks they hold.
 *
 * An outcome that arrives too late (the task was cancelled, its lease expired, or it was claimed
 * again) is refused and stored as a `late_result` event, so that users see why the work was lost.
 */
#include "store/queue/ops.h"

#include "json/merge.h"
#include "model/limits.h"
#include "store/txn/row_check.h"

#include <assert.h>

static enum faina_actor actor_of(const struct fa_op *op)
{
    return op->by.worker_id != NULL ? FAINA_ACTOR_WORKER : FAINA_ACTOR_API;
}

struct last_event {
    struct fa_arena *arena;
    const char *what, *worker, *detail;
};

static void sink_newest(void *ctx, size_t n, const struct fa_value *columns)
{
    struct last_event *newest = ctx;

    (void)n;
    newest->what = fa_value_dup(&columns[1], newest->arena);
    newest->worker = fa_value_dup(&columns[5], newest->arena);
    newest->detail = fa_value_dup(&columns[6], newest->arena);
}

static bool is_same_text(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* Whether the newest event is the same one: a client that repeats a request must not fill the disk.
 * */
static bool was_noted(struct fa_unit *unit, struct fa_op *op, struct fa_row *row, const char *what,
                      const char *detail)
{
    struct last_event newest = {.arena = &unit->arena};
    struct fa_value params[2] = {fa_value_int(row->id.key), fa_value_int(1)};

    /* If the read fails, the event is stored once more. */
    if (fa_unit_flush(unit, NULL) != FAINA_OK ||
        fa_db_one(unit->source.db, FA_SQL_EVENT_LIST, params, 2, sink_newest, &newest, NULL) !=
            FAINA_OK)
        return false;
    return newest.what != NULL && strcmp(newest.what, what) == 0 &&
           is_same_text(newest.worker, op->by.worker_id) && is_same_text(newest.detail, detail);
}

/* Adds a late_result event, unless the task was never claimed. */
static enum faina_code refuse_late(struct fa_unit *unit, struct fa_op *op, struct fa_row *row,
                                   enum faina_code code)
{
    const char *detail;

    if (row->fence == 0)
        return code;
    detail =
        fa_late_json(fa_op_name(op->kind), fa_gives_fence(op), op->by.fence, code, &unit->arena);
    if (!was_noted(unit, op, row, "late_result", detail))
        fa_unit_note(unit, row, "late_result", actor_of(op), op->by.worker_id, detail);
    return code;
}

static bool is_by(const struct fa_row *row, const struct fa_op *op)
{
    return fa_holding_is_by(
        &(struct fa_holding){row->status, row->worker, row->fence, row->version}, op);
}

static bool is_same_json(const char *a, const char *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    return fa_json_same(fa_str(a), fa_str(b));
}

/* The worker that ends a task which no worker holds: it may repeat the request. */
static void set_reporting_worker(struct fa_unit *unit, const struct fa_op *op, struct fa_row *row)
{
    if (row->worker != NULL || op->by.worker_id == NULL)
        return;
    fa_unit_store_implicit_events(unit, row); /* the event of a start without a worker stays so */
    row->worker = fa_unit_text(unit, op->by.worker_id);
}

/* Complete --------------------------------------------------------------------------------- */

enum faina_code fa_do_complete(struct fa_unit *unit, struct fa_op *op)
{
    struct fa_row *row = NULL;
    enum faina_code code = fa_find_task(unit, op, op->wants_task, &row);

    if (code == FAINA_OK && row->status == FAINA_COMPLETED && is_by(row, op))
        code = fa_row_load_payload(&unit->source, row, &unit->arena, &op->error);
    if (code != FAINA_OK)
        return code;
    if (row->status == FAINA_COMPLETED && is_by(row, op) && is_same_json(row->output, op->output))
        return fa_set_result(unit, op, row); /* a repeated request */
    if (fa_rule_find(row->status, FA_COMPLETE) == NULL)
        return refuse_late(unit, op, row, fa_refuse(row, FA_COMPLETE, op));
    code = fa_check_holder(row, op);
    if (code != FAINA_OK)
        return refuse_late(unit, op, row, code);
    row->output = op->output;
    row->error = NULL;
    row->progress = 100;
    set_reporting_worker(unit, op, row);
    fa_unit_apply(unit, row, &(struct fa_change){.trigger = FA_COMPLETE, .actor = actor_of(op)});
    code = fa_unit_wake(unit, row, true, &op->error);
    return code == FAINA_OK ? fa_set_result(unit, op, row) : code;
}

/* Fail ------------------------------------------------------------------------------------- */

static void sink_last(void *ctx, size_t n, const struct fa_value *columns)
{
    struct last_event *last = ctx;

    (void)n;
    last->what = fa_value_dup(&columns[0], last->arena);
    last->worker = fa_value_dup(&columns[1], last->arena);
}

/* Whether the request repeats the failure that was the task's last change. */
static enum faina_code is_repeated(struct fa_unit *unit, struct fa_op *op, struct fa_row *row,
                                   const char *error, bool *out)
{
    struct last_event last = {.arena = &unit->arena};
    struct fa_value key = fa_value_int(row->id.key);
    enum faina_code code;

    *out = false;
    if (fa_gives_other_fence(row, op) || !is_same_json(row->error, error))
        return FAINA_OK;
    if (row->status == FAINA_FAILED || row->status == FAINA_DEAD_LETTER) {
        *out = is_by(row, op);
        return FAINA_OK;
    }
    if (row->status != FAINA_PENDING || op->by.worker_id == NULL)
        return FAINA_OK;
    code = fa_unit_flush(unit, &op->error);
    if (code == FAINA_OK)
        code = fa_db_one(unit->source.db, FA_SQL_EVENT_LAST, &key, 1, sink_last, &last, &op->error);
    *out = last.what != NULL && strcmp(last.what, "retry_scheduled") == 0 && last.worker != NULL &&
           strcmp(last.worker, op->by.worker_id) == 0;
    return code;
}

static enum faina_code fail_for_good(struct fa_unit *unit, struct fa_op *op, struct fa_row *row,
                                     const char *error)
{
    row->error = error;
    fa_unit_apply(unit, row, &(struct fa_change){.trigger = FA_FAIL_FINAL, .actor = actor_of(op)});
    return fa_unit_wake(unit, row, true, &op->error);
}

enum faina_code fa_do_fail(struct fa_unit *unit, struct fa_op *op)
{
    enum fa_trigger trigger = op->failure->permanent ? FA_FAIL_FINAL : FA_FAIL_RETRY;
    struct fa_row *row = NULL;
    enum faina_code code = fa_find_task(unit, op, true, &row);
    const char *error;
    bool repeated;

    if (code != FAINA_OK)
        return code;
    error = fa_failure_json(op->failure, &unit->arena);
    if (fa_rule_find(row->status, trigger) == NULL || fa_status_is_ended(row->status) ||
        (row->status == FAINA_PENDING && row->fence > 0)) {
        code = is_repeated(unit, op, row, error, &repeated);
        if (code != FAINA_OK)
            return code;
        if (repeated)
            return fa_set_result(unit, op, row);
    }
    /* A pending task can be failed by a user, but not by a worker whose lease has expired. */
    if (row->status == FAINA_PENDING && row->fence > 0 &&
        (op->by.worker_id != NULL || fa_gives_fence(op)))
        return refuse_late(unit, op, row, fa_refuse(row, FA_FAIL_RETRY, op));
    if (fa_rule_find(row->status, trigger) == NULL)
        return refuse_late(unit, op, row, fa_refuse(row, trigger, op));
    code = fa_check_holder(row, op);
    if (code != FAINA_OK)
        return refuse_late(unit, op, row, code);
    set_reporting_worker(unit, op, row);
    if (op->failure->permanent)
        code = fail_for_good(unit, op, row, error);
    else
        code = fa_end_attempt(
            unit, row,
            &(struct fa_attempt_end){.what = "retry_scheduled",
                                     .actor = actor_of(op),
                                     .worker = op->by.worker_id,
                                     .error = error,
                                     .retry_at_us = fa_failure_retry_us(op->failure, unit->now_us)},
            &op->error);
    return code == FAINA_OK ? fa_set_result(unit, op, row) : code;
}

/* While it runs ---------------------------------------------------------------------------- */

static void renew(struct fa_unit *unit, struct fa_row *row, int64_t lease_us)
{
    int64_t until = unit->now_us + lease_us;

    if (!fa_status_is_held(row->status) || row->worker == NULL)
        return;
    if (row->deadline_us != 0 && until > row->deadline_us)
        until = row->deadline_us;
    row->at_us = until;
    fa_unit_touch(unit, row);
    if (until < unit->next_us)
        unit->next_us = until;
}

/* By the claim's own lease; never shortens it. */
static void renew_as_claimed(struct fa_unit *unit, struct fa_row *row)
{
    int64_t lease_us = fa_row_lease_us(row);

    if (row->at_us < unit->now_us + lease_us)
        renew(unit, row, lease_us);
}

enum faina_code fa_do_heartbeat(struct fa_unit *unit, struct fa_op *op)
{
    struct fa_row *row = NULL;
    enum faina_code code = fa_find_task(unit, op, op->wants_task, &row);

    if (code != FAINA_OK)
        return code;
    if (fa_status_is_ended(row->status))
        return fa_refuse(row, FA_PROGRESS, op);
    if (!fa_status_is_held(row->status) || row->worker == NULL)
        return fa_refuse_not_held(row, op);
    code = fa_check_holder(row, op);
    if (code != FAINA_OK)
        return code;
    if (op->lease_ms > 0)
        renew(unit, row, op->lease_ms * 1000);
    else
        renew_as_claimed(unit, row);
    return fa_set_result(unit, op, row);
}

static const char *report_json(struct fa_unit *unit, const struct faina_report *report)
{
    if (!report->has_progress)
        return NULL;
    return fa_arena_printf(&unit->arena, "{\"progress\":%d}", report->progress);
}

enum faina_code fa_merge_metadata(struct fa_unit *unit, struct fa_row *row, const char *patch,
                                  const char **out, struct faina_error *err)
{
    struct fa_row read = *row;
    enum faina_code code = FAINA_OK;

    if (row->metadata == NULL)
        code = fa_row_load_payload(&unit->source, &read, &unit->arena, err);
    if (code != FAINA_OK)
        return code;
    *out = row->metadata != NULL ? row->metadata : read.first_metadata;
    if (!fa_is_json(*out))
        return fa_row_refuse(&unit->source, row, "its metadata is not JSON", err);
    *out = fa_json_merge(*out, patch, &unit->arena);
    if (strlen(*out) > FA_METADATA_SIZE_MAX)
        return fa_error_field(err, FAINA_PAYLOAD_TOO_LARGE, "metadata",
                              "metadata would be %zu bytes long; the limit is %d", strlen(*out),
                              FA_METADATA_SIZE_MAX);
    return FAINA_OK;
}

enum faina_code fa_do_progress(struct fa_unit *unit, struct fa_op *op)
{
    const struct faina_report *report = op->report;
    struct fa_row *row = NULL;
    const char *metadata = NULL;
    enum faina_code code = fa_find_task(unit, op, op->wants_task, &row);

    if (code != FAINA_OK)
        return code;
    if (fa_rule_find(row->status, FA_PROGRESS) == NULL)
        return fa_refuse(row, FA_PROGRESS, op);
    code = fa_check_holder(row, op);
    if (code == FAINA_OK && report->metadata != NULL)
        code = fa_merge_metadata(unit, row, report->metadata, &metadata, &op->error);
    if (code != FAINA_OK)
        return code;
    fa_unit_change(unit, row);
    if (report->has_progress)
        row->progress = report->progress;
    if (report->state != NULL)
        row->state = report->state;
    if (metadata != NULL)
        row->metadata = metadata;
    renew_as_claimed(unit, row);
    fa_unit_event(unit, row, "progress", actor_of(op), op->by.worker_id, report_json(unit, report));
    return fa_set_result(unit, op, row);
}

/* Whether the note comes from an attempt that is over: its fence is that of an earlier claim, or of
 * the last one and the task isn't held any more. */
static bool is_of_past_attempt(const struct fa_row *row, const struct fa_op *op)
{
    if (op->by.fence <= 0 || op->by.fence > row->fence)
        return false;
    return op->by.fence < row->fence || !fa_status_uses_resources(row->status);
}

/* Adds an event of the worker that holds the task, or has held it; the task doesn't change. */
enum faina_code fa_do_note(struct fa_unit *unit, struct fa_op *op)
{
    struct fa_row *row = NULL;
    enum faina_code code = fa_find_task(unit, op, op->wants_task, &row);

    if (code == FAINA_OK && is_of_past_attempt(row, op)) {
        if (!was_noted(unit, op, row, op->note.what, op->note.detail))
            fa_unit_note(unit, row, op->note.what, actor_of(op), op->by.worker_id, op->note.detail);
        return fa_set_result(unit, op, row);
    }
    if (code == FAINA_OK && fa_rule_find(row->status, FA_PROGRESS) == NULL)
        code = fa_refuse(row, FA_PROGRESS, op);
    if (code == FAINA_OK)
        code = fa_check_holder(row, op);
    if (code != FAINA_OK)
        return code;
    fa_unit_note(unit, row, op->note.what, actor_of(op), op->by.worker_id, op->note.detail);
    return fa_set_result(unit, op, row);
}

/* Background ------------------------------------------------------------------------------- */

enum faina_code fa_do_background(struct fa_unit *unit, struct fa_op *op)
{
    int64_t timeout_ms = op->background.timeout_ms;
    struct fa_row *row = NULL;
    enum faina_code code = fa_find_task(unit, op, op->wants_task, &row);

    if (code != FAINA_OK)
        return code;
    if (fa_rule_find(row->status, FA_BACKGROUND) == NULL)
        return fa_refuse(row, FA_BACKGROUND, op);
    code = fa_check_holder(row, op);
    if (code != FAINA_OK)
        return code;
    if (timeout_ms <= 0)
        timeout_ms = FA_BACKGROUND_MS_DEFAULT;
    fa_unit_apply(unit, row,
                  &(struct fa_change){.trigger = FA_BACKGROUND,
                                      .actor = actor_of(op),
                                      .event_worker = op->by.worker_id,
                                      .what = "background",
                                      .lease_us = timeout_ms * 1000,
                                      .state = op->background.reason});
    return fa_set_result(unit, op, row);
}

/* Block ------------------------------------------------------------------------------------ */

enum faina_code fa_children_of(struct fa_unit *unit, const struct fa_row *parent, enum fa_sql which,
                               struct fa_row ***out, size_t *count, struct faina_error *err)
{
    struct fa_keys list = {.arena = &unit->arena};
    struct fa_value key = fa_value_int(parent->id.key);
    enum faina_code code = FAINA_OK;

    *count = 0;
    if (!(parent->flags & FA_FLAG_HAS_CHILDREN))
        return FAINA_OK;
    code = fa_unit_flush(unit, err); /* includes children of this batch */
    if (code == FAINA_OK)
        code = fa_db_one(unit->source.db, which, &key, 1, fa_keys_sink, &list, err);
    if (code == FAINA_OK)
        code = fa_unit_read_ahead(unit, list.keys, list.count, err);
    *out = fa_arena_take(&unit->arena, (list.count + 1) * sizeof(struct fa_row *));
    for (size_t i = 0; code == FAINA_OK && i < list.count; i++) {
        code = fa_unit_get(unit, list.keys[i], false, &(*out)[*count], err);
        if (code == FAINA_OK)
            (*count)++;
        else if (code == FAINA_TASK_NOT_FOUND) /* deleted */
            code = FAINA_OK;
    }
    return code;
}

static void mark_children(struct fa_unit *unit, struct fa_row **children, size_t count,
                          int64_t mark)
{
    for (size_t i = 0; i < count; i++) {
        if ((children[i]->flags & FA_FLAG_AWAITED) == mark)
            continue;
        children[i]->flags ^= FA_FLAG_AWAITED;
        fa_unit_touch(unit, children[i]);
    }
}

/* Removes the detached ones from the list. */
static size_t without_detached(struct fa_row **children, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++)
        if (!(children[i]->flags & FA_FLAG_DETACHED))
            children[kept++] = children[i];
    return kept;
}

/* Marks live children as awaited, and ended ones as not awaited. */
static enum faina_code await_children(struct fa_unit *unit, struct fa_row *parent, int64_t *live,
                                      struct faina_error *err)
{
    struct fa_row **children = NULL;
    size_t count = 0;
    enum faina_code code;

    code = fa_children_of(unit, parent, FA_SQL_CHILD_STALE, &children, &count, err);
    if (code != FAINA_OK)
        return code;
    mark_children(unit, children, count, 0);
    code = fa_children_of(unit, parent, FA_SQL_CHILD_LIVE, &children, &count, err);
    if (code != FAINA_OK)
        return code;
    count = without_detached(children, count);
    mark_children(unit, children, count, FA_FLAG_AWAITED);
    *live = (int64_t)count;
    return FAINA_OK;
}

/* A request to block until these subtasks have ended. */
struct block_request {
    struct fa_unit *unit;
    struct fa_op *op;
    struct fa_row *parent;
    struct fa_children children;
    const char **names;   /* among the parent's subtasks */
    struct fa_key *works; /* a hash of 0: not computed yet */
    bool *is_open;        /* without a name, and not found yet */
    size_t requested;     /* number of subtasks the attempt has requested before */
    size_t first;         /* position of the first one */
    bool is_same;         /* the attempt has requested these before */
    struct fa_plan *plans;
    size_t made; /* number of new ones */
};

/* A subtask without a name is named by its position; the first one has position `first`. */
static void name_children(struct block_request *request, size_t first)
{
    const struct fa_op *op = request->op;

    request->first = first;
    for (size_t i = 0; i < op->block.count; i++) {
        const char *name = op->block.subtasks[i].name;

        request->names[i] = name ? name : fa_arena_printf(&request->unit->arena, "#%zu", first + i);
    }
}

static struct fa_key work_of(struct block_request *request, size_t i)
{
    const struct faina_submit *submit = &request->op->block.subtasks[i];

    if (request->works[i].hash == 0)
        request->works[i] = fa_work_hash(fa_str(submit->type ? submit->type : "default"),
                                         fa_str(submit->input ? submit->input : "null"));
    return request->works[i];
}

/* Whether the existing subtask of this name is the requested one: of the same type and input. */
static bool is_match(struct block_request *request, size_t i)
{
    return fa_children_has(&request->children, request->names[i]) &&
           fa_children_match(&request->children, request->names[i], work_of(request, i));
}

/* Whether the subtasks without a name are those that the attempt has requested at the positions
 * from `first` on, as far as it has requested any there. */
static enum faina_code matches_at(struct block_request *request, size_t first, bool *out)
{
    struct fa_op *op = request->op;
    enum faina_code code = FAINA_OK;
    size_t match_count = 0;
    bool matches = true;

    name_children(request, first);
    for (size_t i = 0; code == FAINA_OK && matches && i < op->block.count; i++) {
        if (op->block.subtasks[i].name || first + i >= request->requested)
            continue;
        if (match_count <= 1) /* after the first match, read all others at once */
            code = fa_children_read(&request->children, &request->names[match_count ? 0 : i],
                                    match_count ? op->block.count : 1, &op->error);
        matches = code == FAINA_OK && is_match(request, i);
        match_count += matches;
    }
    *out = matches && match_count > 0;
    return code;
}

/*
 * The positions of a request begin where the attempt's last request ended, so subtasks of a later
 * phase are new ones. A handler may also repeat all its requests and add more, or repeat the last
 * one: then the existing subtasks are meant.
 */
static enum faina_code find_first_position(struct block_request *request)
{
    size_t count = request->op->block.count;
    enum faina_code code = FAINA_OK;

    if (request->requested > 0)
        code = matches_at(request, 0, &request->is_same);
    if (code == FAINA_OK && !request->is_same && request->requested > count)
        code = matches_at(request, request->requested - count, &request->is_same);
    if (code == FAINA_OK && !request->is_same)
        name_children(request, request->requested);
    return code;
}

/* Takes the existing subtasks that match by name or position; *open counts the requested ones that
 * are not found. A name means the same subtask for all attempts. */
static enum faina_code find_named(struct block_request *request, size_t *open)
{
    struct fa_children *children = &request->children;
    struct fa_op *op = request->op;
    enum faina_code code = fa_children_read(children, request->names, op->block.count, &op->error);

    for (size_t i = 0; code == FAINA_OK && i < op->block.count; i++) {
        const char *name = op->block.subtasks[i].name;

        if (is_match(request, i))
            fa_children_take(children, request->names[i]);
        else if (name != NULL && fa_children_has(children, name))
            code = fa_error_field(
                &op->error, FAINA_INVALID_REQUEST, "subtasks",
                "subtask %zu is called \"%.255s\", as an earlier one of the task that has another "
                "type or input: leave the name out, or give it another",
                i + 1, name);
        else
            request->is_open[i] = name == NULL;
        *open += request->is_open[i];
    }
    return code;
}

/*
 * If the subtask at a position doesn't match the request, a matching one that the attempt has not
 * requested yet is taken instead, whatever its position; otherwise a new one is created behind all
 * others. So an attempt that requests something else than the last one gets that.
 */
static enum faina_code settle_names(struct block_request *request)
{
    struct fa_children *children = &request->children;
    struct fa_op *op = request->op;
    enum faina_code code = FAINA_OK;
    size_t open = 0;

    if (children->stored > 0)
        code = find_named(request, &open);
    if (code == FAINA_OK && open > 0 && children->next_position > request->requested)
        code = fa_children_read_free(children, request->requested, &op->error);
    for (size_t i = 0; code == FAINA_OK && open > 0 && i < op->block.count; i++) {
        size_t position = request->first + i;

        if (!request->is_open[i])
            continue;
        request->names[i] = NULL;
        if (children->free_count > 0)
            request->names[i] = fa_children_take_match(children, work_of(request, i));
        if (request->names[i] != NULL)
            continue;
        if (position < children->next_position)
            position = children->next_position;
        children->next_position = position + 1;
        request->names[i] = fa_arena_printf(&request->unit->arena, "#%zu", position);
    }
    return code;
}

static enum faina_code check_count(const struct block_request *request)
{
    size_t count = request->children.stored + request->made;

    if (count > FA_CHILDREN_MAX)
        return fa_error_field(&request->op->error, FAINA_INVALID_TASK, "subtasks",
                              "a task can have %d subtasks; this would make %zu", FA_CHILDREN_MAX,
                              count);
    if (!request->is_same && request->requested + request->op->block.count > FA_SUBTASK_COUNT_MAX)
        return fa_error_field(&request->op->error, FAINA_INVALID_TASK, "subtasks",
                              "an attempt can request %d subtasks in all, repeated ones too",
                              FA_SUBTASK_COUNT_MAX);
    if (count == 0)
        return fa_error_field(&request->op->error, FAINA_INVALID_REQUEST, "subtasks",
                              "a task is blocked by at least one subtask");
    return FAINA_OK;
}

/* Plans all subtasks, so that a refused one changes nothing. */
static enum faina_code plan_children(struct block_request *request)
{
    struct fa_unit *unit = request->unit;
    struct fa_op *op = request->op;
    size_t count = op->block.count;
    enum faina_code code =
        fa_children_open(unit, request->parent, count, &request->children, &op->error);

    request->names = fa_arena_take(&unit->arena, (count + 1) * sizeof(char *));
    request->works = fa_arena_zero(&unit->arena, count + 1, sizeof(*request->works));
    request->is_open = fa_arena_zero(&unit->arena, count + 1, sizeof(bool));
    request->plans = fa_arena_take(&unit->arena, (count + 1) * sizeof(*request->plans));
    if (request->parent->flags & FA_FLAG_NOT_COUNTED)
        request->requested =
            (size_t)(request->parent->flags & FA_SUBTASK_COUNT_MASK) >> FA_SUBTASK_COUNT_SHIFT;
    if (code == FAINA_OK)
        code = find_first_position(request);
    if (code == FAINA_OK)
        code = settle_names(request);
    if (code == FAINA_OK)
        code = fa_children_expect(&request->children, request->names, count, &op->error);
    for (size_t i = 0; code == FAINA_OK && i < count; i++) {
        struct fa_plan *plan = &request->plans[i];

        code = fa_plan_make(unit, &op->block.subtasks[i], &request->children, request->names[i],
                            plan, &op->error);
        request->made += plan->existing == NULL && !plan->is_duplicate;
    }
    if (code == FAINA_OK)
        code = fa_check_dependency_cycle(unit, request->parent, request->plans, count, &op->error);
    return code == FAINA_OK ? check_count(request) : code;
}

/* Whether the subtask was created by SUBTASK since the task was claimed. */
static bool is_of_this_claim(const struct block_request *request, const struct fa_plan *plan)
{
    int64_t claimed_us = request->parent->claimed_us; /* 0: no worker holds it */

    return plan->existing != NULL && claimed_us != 0 && plan->existing->created_us >= claimed_us;
}

static bool asks_for_one_of_this_claim(const struct block_request *request)
{
    for (size_t i = 0; i < request->op->block.count; i++) {
        if (is_of_this_claim(request, &request->plans[i]))
            return true;
    }
    return false;
}

/* Whether one of the subtasks that it asks for exists and has not ended. */
static bool asks_for_a_live_one(const struct block_request *request)
{
    for (size_t i = 0; i < request->op->block.count; i++) {
        const struct fa_plan *plan = &request->plans[i];

        if (plan->existing != NULL && !plan->submit->detached &&
            !fa_status_is_ended(plan->existing->status))
            return true;
    }
    return false;
}

/* A task that blocks again must request a new subtask, or have a live one: otherwise it would be
 * unblocked at once, and a handler that ignores its phase would loop forever. A new attempt may
 * request ended subtasks once: that is how it finds them. */
static enum faina_code check_progress(struct block_request *request)
{
    struct fa_op *op = request->op;
    bool is_first_time =
        !request->is_same && request->requested + op->block.count <= request->children.stored;
    struct fa_row **live_children = NULL;
    size_t count = 0;
    enum faina_code code;

    if (request->made > 0 || is_first_time || !(request->parent->flags & FA_FLAG_NOT_COUNTED) ||
        asks_for_a_live_one(request) || asks_for_one_of_this_claim(request))
        return FAINA_OK;
    code = fa_children_of(request->unit, request->parent, FA_SQL_CHILD_LIVE, &live_children, &count,
                          &op->error);
    if (code == FAINA_OK && without_detached(live_children, count) == 0)
        code = fa_error_field(&op->error, FAINA_INVALID_REQUEST, "subtasks",
                              "all subtasks that it would wait for have ended: a task that goes on "
                              "after its subtasks must not ask for the same ones again");
    return code;
}

/* Stores how many subtasks the attempt has requested. */
static void note_requested(const struct block_request *request)
{
    struct fa_row *parent = request->parent;
    size_t count = request->op->block.count, requested = request->requested;

    if (!request->is_same)
        requested += count;
    else if (requested < count)
        requested = count;
    parent->flags &= ~FA_SUBTASK_COUNT_MASK;
    parent->flags |= (int64_t)requested << FA_SUBTASK_COUNT_SHIFT;
}

/* A child of an earlier claim that has failed is retried. */
static enum faina_code requeue(struct fa_unit *unit, struct fa_row *child, struct faina_error *err)
{
    if (!fa_status_is_ended(child->status) || child->status == FAINA_COMPLETED)
        return FAINA_OK;
    return fa_reopen(unit, child, FAINA_ACTOR_SYSTEM, false, err);
}

static void set_detached(struct fa_unit *unit, struct fa_row *child, bool is_detached)
{
    if (!!(child->flags & FA_FLAG_DETACHED) == is_detached)
        return;
    child->flags ^= FA_FLAG_DETACHED;
    if (is_detached)
        child->flags &= ~FA_FLAG_AWAITED;
    fa_unit_touch(unit, child);
}

/* Creates the new subtasks, and takes the existing ones again. *awaited counts the new ones that
 * are not detached. */
static enum faina_code make_children(struct block_request *request, int64_t *awaited)
{
    struct fa_unit *unit = request->unit;
    struct fa_op *op = request->op;
    enum faina_code code = FAINA_OK;

    *awaited = 0;
    for (size_t i = 0; code == FAINA_OK && i < op->block.count; i++) {
        const struct fa_plan *plan = &request->plans[i];

        if (plan->existing != NULL) {
            set_detached(unit, plan->existing, plan->submit->detached);
            if (!is_of_this_claim(request, plan))
                code = requeue(unit, plan->existing, &op->error);
        } else if (!plan->is_duplicate) {
            fa_plan_carry_out(unit, plan);
            *awaited += !plan->submit->detached;
        }
    }
    return code;
}

/* Subtasks that SUBTASK has created and that ended badly before the task was blocked. They count as
 * if they had ended while it was. */
static int64_t count_ended_early(struct block_request *request)
{
    int64_t bad = 0;

    for (size_t i = 0; i < request->op->block.count; i++) {
        const struct fa_plan *plan = &request->plans[i];
        struct fa_row *child = plan->existing;

        if (!is_of_this_claim(request, plan) ||
            child->flags & (FA_FLAG_DETACHED | FA_FLAG_AWAITED) ||
            !fa_status_is_ended(child->status) || child->status == FAINA_COMPLETED)
            continue;
        child->flags |= FA_FLAG_AWAITED;
        fa_unit_touch(request->unit, child);
        bad++;
    }
    return bad;
}

/* A subtask that exists is left as it is: the block retries it if it has failed. */
static enum faina_code make_child(struct block_request *request, struct fa_row **out)
{
    struct fa_unit *unit = request->unit;
    struct fa_row *parent = request->parent;
    const struct fa_plan *plan = &request->plans[0];

    *out = plan->existing;
    if (*out != NULL)
        return fa_row_load_payload(&unit->source, *out, &unit->arena, &request->op->error);
    *out = fa_plan_carry_out(unit, plan);
    (*out)->flags &= ~FA_FLAG_AWAITED; /* until the block */
    if (!(parent->flags & FA_FLAG_HAS_CHILDREN)) {
        parent->flags |= FA_FLAG_HAS_CHILDREN;
        fa_unit_touch(unit, parent);
    }
    return FAINA_OK;
}

enum faina_code fa_do_subtask(struct fa_unit *unit, struct fa_op *op)
{
    struct fa_row *row = NULL, *child = NULL;
    enum faina_code code = fa_find_task(unit, op, true, &row);
    struct block_request request = {.unit = unit, .op = op, .parent = row};

    if (code != FAINA_OK)
        return code;
    /* The start of a claimed task may still be on its way. */
    if (row->status != FAINA_CLAIMED && fa_rule_find(row->status, FA_BLOCK) == NULL)
        return fa_refuse(row, FA_BLOCK, op);
    code = fa_check_holder(row, op);
    if (code == FAINA_OK)
        code = plan_children(&request);
    if (code == FAINA_OK)
        code = make_child(&request, &child);
    if (code != FAINA_OK)
        return code;
    op->existing = request.plans[0].existing != NULL;
    return fa_set_result(unit, op, child);
}

enum faina_code fa_do_block(struct fa_unit *unit, struct fa_op *op)
{
    struct fa_row *row = NULL;
    enum faina_code code = fa_find_task(unit, op, true, &row);
    struct block_request request = {.unit = unit, .op = op, .parent = row};
    int64_t live = 0;

    if (code != FAINA_OK)
        return code;
    if (fa_rule_find(row->status, FA_BLOCK) == NULL)
        return fa_refuse(row, FA_BLOCK, op);
    code = fa_check_holder(row, op);
    if (code == FAINA_OK)
        code = plan_children(&request);
    if (code == FAINA_OK)
        code = check_progress(&request);
    if (code != FAINA_OK)
        return code;
    code = make_children(&request, &live);
    if (code == FAINA_OK && row->flags & FA_FLAG_HAS_CHILDREN)
        code = await_children(unit, row, &live, &op->error);
    if (code != FAINA_OK)
        return code;
    row->flags |= FA_FLAG_HAS_CHILDREN;
    note_requested(&request);
    fa_unit_apply(unit, row,
                  &(struct fa_change){.trigger = FA_BLOCK,
                                      .actor = actor_of(op),
                                      .event_worker = op->by.worker_id,
                                      .what = "blocked"});
    row->flags &= ~FA_FLAG_FAIL_FAST;
    row->flags |= FA_FLAG_WAITS_CHILDREN | (op->block.fail_fast ? FA_FLAG_FAIL_FAST : 0);
    row->deps_left = live;
    row->deps_bad = count_ended_early(&request);
    fa_unit_unblock_if_free(unit, row);
    return fa_set_result(unit, op, row);
}
