/*
 * outcome.c - what workers say about the tasks they hold.
 *
 * An outcome that comes too late (the task was cancelled, lost or claimed again) is refused and
 * noted as a `late_result` event, so that people can see why work was done for nothing.
 */
#include "sql/ops.h"

#include "base/json.h"
#include "model/limits.h"

#include <assert.h>

static enum faina_actor actor_of(const struct fa_op *op)
{
    return op->by.worker_id != NULL ? FAINA_ACTOR_WORKER : FAINA_ACTOR_API;
}

/* Finds the task and checks the version: how every operation here begins. */
static enum faina_code find(struct fa_unit *unit, struct fa_op *op, bool whole, struct fa_row **out)
{
    enum faina_code code = fa_unit_find(unit, op->id, whole || op->wants_task, out, &op->error);

    return code == FAINA_OK ? fa_check_version(*out, op) : code;
}

/* Whether the newest event is this very note: who asks in a loop must not fill the disk. */
struct newest_event {
    struct fa_arena *arena;
    const char *what, *worker, *detail;
};

static void sink_newest(void *ctx, size_t n, const struct fa_value *columns)
{
    struct newest_event *newest = ctx;

    (void)n;
    newest->what = fa_value_dup(&columns[1], newest->arena);
    newest->worker = fa_value_dup(&columns[5], newest->arena);
    newest->detail = fa_value_dup(&columns[6], newest->arena);
}

static bool is_same_text(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static bool was_noted(struct fa_unit *unit, struct fa_op *op, struct fa_row *row, const char *what,
                      const char *detail)
{
    struct newest_event newest = {.arena = &unit->arena};
    struct fa_value params[2] = {fa_value_int(row->id.key), fa_value_int(1)};

    /* A failure to look costs one more note. */
    if (fa_unit_flush(unit, NULL) != FAINA_OK ||
        fa_db_one(unit->source.db, FA_SQL_EVENT_LIST, params, 2, sink_newest, &newest, NULL) !=
            FAINA_OK)
        return false;
    return newest.what != NULL && strcmp(newest.what, what) == 0 &&
           is_same_text(newest.worker, op->by.worker_id) && is_same_text(newest.detail, detail);
}

/* Notes a refused outcome, unless nobody can have been working on the task. */
static enum faina_code refuse_late(struct fa_unit *unit, struct fa_op *op, struct fa_row *row,
                                   enum faina_code code)
{
    struct fa_json_writer writer;
    struct fa_buf detail;

    if (row->fence == 0)
        return code;
    fa_buf_init(&detail, 4096);
    fa_json_writer_init(&writer, &detail, 0);
    fa_json_begin_object(&writer);
    fa_json_key(&writer, "outcome");
    fa_json_put_str(&writer, fa_op_name(op->kind));
    fa_json_key(&writer, "fence");
    if (fa_gives_fence(op))
        fa_json_put_int(&writer, op->by.fence);
    else
        fa_json_put_null(&writer);
    fa_json_key(&writer, "refused");
    fa_json_put_str(&writer, faina_code_name(code));
    fa_json_end_object(&writer);
    if (!was_noted(unit, op, row, "late_result", detail.ptr))
        fa_unit_note(unit, row, "late_result", actor_of(op), op->by.worker_id, detail.ptr);
    fa_buf_finish(&detail);
    return code;
}

static bool is_by(const struct fa_row *row, const struct fa_op *op)
{
    if (fa_gives_other_fence(row, op))
        return false;
    if (row->worker == NULL || op->by.worker_id == NULL)
        return row->worker == NULL && op->by.worker_id == NULL;
    return strcmp(row->worker, op->by.worker_id) == 0;
}

static bool is_same_json(const char *a, const char *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    return fa_json_same(fa_str(a), fa_str(b));
}

/* Who says how a task ended that nobody held: the same one may say it again. */
static void remember_teller(struct fa_unit *unit, const struct fa_op *op, struct fa_row *row)
{
    if (row->worker != NULL || op->by.worker_id == NULL)
        return;
    fa_unit_write_out(unit, row); /* a start without a worker stays one */
    row->worker = fa_unit_text(unit, op->by.worker_id);
}

/* Complete --------------------------------------------------------------------------------- */

enum faina_code fa_do_complete(struct fa_unit *unit, struct fa_op *op)
{
    struct fa_row *row = NULL;
    enum faina_code code = find(unit, op, false, &row);

    if (code == FAINA_OK && row->status == FAINA_COMPLETED && is_by(row, op))
        code = fa_row_load_payload(&unit->source, row, &unit->arena, &op->error);
    if (code != FAINA_OK)
        return code;
    if (row->status == FAINA_COMPLETED && is_by(row, op) && is_same_json(row->output, op->output))
        return fa_answer(unit, op, row); /* the answer was lost, and it says so again */
    if (fa_rule_find(row->status, FA_COMPLETE) == NULL)
        return refuse_late(unit, op, row, fa_refuse(row, FA_COMPLETE, op));
    code = fa_check_holder(row, op);
    if (code != FAINA_OK)
        return refuse_late(unit, op, row, code);
    row->output = op->output;
    row->error = NULL;
    row->progress = 100;
    remember_teller(unit, op, row);
    fa_unit_apply(unit, row, &(struct fa_change){.trigger = FA_COMPLETE, .actor = actor_of(op)});
    code = fa_unit_wake(unit, row, true, &op->error);
    return code == FAINA_OK ? fa_answer(unit, op, row) : code;
}

/* Fail ------------------------------------------------------------------------------------- */

static const char *error_json(struct fa_unit *unit, const struct faina_failure *failure)
{
    struct fa_json_writer writer;
    const char *text;
    struct fa_buf buf;

    fa_buf_init(&buf, FA_ERROR_MESSAGE_SIZE_MAX * 6 + FA_ERROR_KIND_SIZE_MAX * 6 +
                          FA_ERROR_DETAIL_SIZE_MAX + 256);
    fa_json_writer_init(&writer, &buf, 0);
    fa_json_begin_object(&writer);
    fa_json_key(&writer, "message");
    fa_json_put_str(&writer, failure->message);
    fa_json_key(&writer, "kind");
    fa_json_put_str(&writer, failure->kind);
    fa_json_key(&writer, "detail");
    fa_json_put_raw(&writer, failure->detail);
    fa_json_key(&writer, "retryable");
    fa_json_put_bool(&writer, !failure->permanent);
    fa_json_end_object(&writer);
    assert(!buf.overflow);
    text = fa_unit_text(unit, buf.ptr);
    fa_buf_finish(&buf);
    return text;
}

struct last_event {
    struct fa_arena *arena;
    const char *what, *worker;
};

static void sink_last(void *ctx, size_t n, const struct fa_value *columns)
{
    struct last_event *last = ctx;

    (void)n;
    last->what = fa_value_dup(&columns[0], last->arena);
    last->worker = fa_value_dup(&columns[1], last->arena);
}

/* Whether this very failure has been told before and nothing has happened since. */
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
    enum faina_code code = find(unit, op, true, &row);
    const char *error;
    bool repeated;

    if (code != FAINA_OK)
        return code;
    error = error_json(unit, op->failure);
    if (fa_rule_find(row->status, trigger) == NULL || fa_status_is_ended(row->status) ||
        (row->status == FAINA_PENDING && row->fence > 0)) {
        code = is_repeated(unit, op, row, error, &repeated);
        if (code != FAINA_OK)
            return code;
        if (repeated)
            return fa_answer(unit, op, row);
    }
    /* A pending task may be given up by a person, not by a worker that has lost it. */
    if (row->status == FAINA_PENDING && row->fence > 0 &&
        (op->by.worker_id != NULL || fa_gives_fence(op)))
        return refuse_late(unit, op, row, fa_refuse(row, FA_FAIL_RETRY, op));
    if (fa_rule_find(row->status, trigger) == NULL)
        return refuse_late(unit, op, row, fa_refuse(row, trigger, op));
    code = fa_check_holder(row, op);
    if (code != FAINA_OK)
        return refuse_late(unit, op, row, code);
    remember_teller(unit, op, row);
    if (op->failure->permanent)
        code = fail_for_good(unit, op, row, error);
    else
        code = fa_end_attempt(unit, row, false, "retry_scheduled", actor_of(op), op->by.worker_id,
                              error, &op->error);
    return code == FAINA_OK ? fa_answer(unit, op, row) : code;
}

/* While it runs ---------------------------------------------------------------------------- */

static void renew(struct fa_unit *unit, struct fa_row *row, int64_t lease_us)
{
    int64_t until = unit->now_us + lease_us;

    if (!fa_status_is_held(row->status) || row->worker == NULL)
        return;
    row->at_us = until;
    fa_unit_touch(unit, row);
    if (until < unit->next_us)
        unit->next_us = until;
}

/* For as long as the claim was, and never for less than is left. */
static void renew_as_claimed(struct fa_unit *unit, struct fa_row *row)
{
    int64_t lease_us = fa_row_lease_us(row);

    if (row->at_us < unit->now_us + lease_us)
        renew(unit, row, lease_us);
}

enum faina_code fa_do_heartbeat(struct fa_unit *unit, struct fa_op *op)
{
    struct fa_row *row = NULL;
    enum faina_code code = find(unit, op, false, &row);

    if (code != FAINA_OK)
        return code;
    if (fa_status_is_ended(row->status))
        return fa_refuse(row, FA_PROGRESS, op);
    if (!fa_status_is_held(row->status) || row->worker == NULL)
        return fa_refuse_unheld(row, op);
    code = fa_check_holder(row, op);
    if (code != FAINA_OK)
        return code;
    if (op->lease_ms > 0)
        renew(unit, row, op->lease_ms * 1000);
    else
        renew_as_claimed(unit, row);
    return fa_answer(unit, op, row);
}

static const char *report_json(struct fa_unit *unit, const struct faina_report *report)
{
    if (!report->has_progress)
        return NULL;
    return fa_arena_printf(&unit->arena, "{\"progress\":%d}", report->progress);
}

enum faina_code fa_do_progress(struct fa_unit *unit, struct fa_op *op)
{
    const struct faina_report *report = op->report;
    struct fa_row *row = NULL;
    enum faina_code code = find(unit, op, false, &row);

    if (code != FAINA_OK)
        return code;
    if (fa_rule_find(row->status, FA_PROGRESS) == NULL)
        return fa_refuse(row, FA_PROGRESS, op);
    code = fa_check_holder(row, op);
    if (code != FAINA_OK)
        return code;
    fa_unit_change(unit, row);
    if (report->has_progress)
        row->progress = report->progress;
    if (report->state != NULL)
        row->state = report->state;
    if (report->metadata != NULL)
        row->metadata = report->metadata;
    renew_as_claimed(unit, row);
    fa_unit_event(unit, row, "progress", actor_of(op), op->by.worker_id, report_json(unit, report));
    return fa_answer(unit, op, row);
}

/* Whether it comes from an attempt that is over: by a claim that the task had before, or has ended
 * with. Who gives no fence can't show that. */
static bool is_afterwards(const struct fa_row *row, const struct fa_op *op)
{
    if (op->by.fence <= 0 || op->by.fence > row->fence)
        return false;
    return op->by.fence < row->fence || !fa_status_uses(row->status);
}

/* An event by who holds the task, or has held it; the task stays as it is. */
enum faina_code fa_do_note(struct fa_unit *unit, struct fa_op *op)
{
    struct fa_row *row = NULL;
    enum faina_code code = find(unit, op, false, &row);

    if (code == FAINA_OK && is_afterwards(row, op)) {
        if (!was_noted(unit, op, row, op->note.what, op->note.detail))
            fa_unit_note(unit, row, op->note.what, actor_of(op), op->by.worker_id, op->note.detail);
        return fa_answer(unit, op, row);
    }
    if (code == FAINA_OK && fa_rule_find(row->status, FA_PROGRESS) == NULL)
        code = fa_refuse(row, FA_PROGRESS, op);
    if (code == FAINA_OK)
        code = fa_check_holder(row, op);
    if (code != FAINA_OK)
        return code;
    fa_unit_note(unit, row, op->note.what, actor_of(op), op->by.worker_id, op->note.detail);
    return fa_answer(unit, op, row);
}

/* Going on elsewhere ----------------------------------------------------------------------- */

enum faina_code fa_do_background(struct fa_unit *unit, struct fa_op *op)
{
    int64_t timeout_ms = op->background.timeout_ms;
    struct fa_row *row = NULL;
    enum faina_code code = find(unit, op, false, &row);

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
    return fa_answer(unit, op, row);
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
    code = fa_unit_flush(unit, err); /* children of this batch count too */
    if (code == FAINA_OK)
        code = fa_db_one(unit->source.db, which, &key, 1, fa_keys_sink, &list, err);
    if (code == FAINA_OK)
        code = fa_unit_expect(unit, list.keys, list.count, err);
    *out = fa_arena_take(&unit->arena, (list.count + 1) * sizeof(struct fa_row *));
    for (size_t i = 0; code == FAINA_OK && i < list.count; i++) {
        code = fa_unit_get(unit, list.keys[i], false, &(*out)[*count], err);
        if (code == FAINA_OK)
            (*count)++;
        else if (code == FAINA_TASK_NOT_FOUND) /* deleted: out of view */
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

/* Children that live are awaited from now on; those that have ended are not. */
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
    mark_children(unit, children, count, FA_FLAG_AWAITED);
    *live = (int64_t)count;
    return FAINA_OK;
}

/* A list of subtasks that a task is to wait for. */
struct asking {
    struct fa_unit *unit;
    struct fa_op *op;
    struct fa_row *parent;
    struct fa_children children;
    const char **names;   /* what tells each of them from the others of the parent */
    struct fa_key *works; /* and its work; a hash of 0: not looked at yet */
    bool *is_open;        /* those without a name that are not found yet */
    size_t asked;         /* how many the attempt has asked for before */
    size_t first;         /* the place of the first one */
    bool is_same;         /* it has asked for these before */
    struct fa_plan *plans;
    size_t made; /* how many are new */
};

/* Without a name it is the place, and the list begins at `first`. */
static void name_children(struct asking *asking, size_t first)
{
    const struct fa_op *op = asking->op;

    asking->first = first;
    for (size_t i = 0; i < op->block.count; i++) {
        const char *name = op->block.subtasks[i].name;

        asking->names[i] = name ? name : fa_arena_printf(&asking->unit->arena, "#%zu", first + i);
    }
}

static struct fa_key work_of(struct asking *asking, size_t i)
{
    const struct faina_submit *submit = &asking->op->block.subtasks[i];

    if (asking->works[i].hash == 0)
        asking->works[i] = fa_work_hash(fa_str(submit->type ? submit->type : "default"),
                                        fa_str(submit->input ? submit->input : "null"));
    return asking->works[i];
}

/* Whether the subtask of its name, or at its place, is the one that is asked for: of the same type
 * and input. */
static bool is_like(struct asking *asking, size_t i)
{
    return fa_children_has(&asking->children, asking->names[i]) &&
           fa_children_is_like(&asking->children, asking->names[i], work_of(asking, i));
}

/* Whether those of the list without a name, as far as the attempt has come, are what it has asked
 * for at these places. */
static enum faina_code begins_at(struct asking *asking, size_t first, bool *out)
{
    struct fa_op *op = asking->op;
    enum faina_code code = FAINA_OK;
    size_t alike = 0;
    bool is_alike = true;

    name_children(asking, first);
    for (size_t i = 0; code == FAINA_OK && is_alike && i < op->block.count; i++) {
        if (op->block.subtasks[i].name || first + i >= asking->asked)
            continue;
        if (alike <= 1) /* if the first is, the others may be, too */
            code = fa_children_read(&asking->children, &asking->names[alike ? 0 : i],
                                    alike ? op->block.count : 1, &op->error);
        is_alike = code == FAINA_OK && is_like(asking, i);
        alike += is_alike;
    }
    *out = is_alike && alike > 0;
    return code;
}

/*
 * A list without names begins where the attempt's last one ended, so what it asks for in a later
 * phase is new. A handler may also ask again for all that it has asked for and some more, or for
 * the last ones once more: those are the ones that there are.
 */
static enum faina_code place_children(struct asking *asking)
{
    size_t count = asking->op->block.count;
    enum faina_code code = FAINA_OK;

    if (asking->asked > 0)
        code = begins_at(asking, 0, &asking->is_same);
    if (code == FAINA_OK && !asking->is_same && asking->asked > count)
        code = begins_at(asking, asking->asked - count, &asking->is_same);
    if (code == FAINA_OK && !asking->is_same)
        name_children(asking, asking->asked);
    return code;
}

/* Those that are what they are called, or what stands at their places; *open is how many are not. A
 * name means one subtask for all attempts. */
static enum faina_code find_named(struct asking *asking, size_t *open)
{
    struct fa_children *children = &asking->children;
    struct fa_op *op = asking->op;
    enum faina_code code = fa_children_read(children, asking->names, op->block.count, &op->error);

    for (size_t i = 0; code == FAINA_OK && i < op->block.count; i++) {
        const char *name = op->block.subtasks[i].name;

        if (is_like(asking, i))
            fa_children_take(children, asking->names[i]);
        else if (name != NULL && fa_children_has(children, name))
            code = fa_error_field(
                &op->error, FAINA_INVALID_REQUEST, "subtasks",
                "subtask %zu is called \"%.255s\", as an earlier one of the task that has another "
                "type or input: leave the name out, or give it another",
                i + 1, name);
        else
            asking->is_open[i] = name == NULL;
        *open += asking->is_open[i];
    }
    return code;
}

/*
 * Where another subtask stands at the place of one, it is not taken for it: one that is alike and
 * that the attempt has not come to is, wherever it stands, and else a new one is made behind all
 * that there are. So an attempt that asks for something else than the last one gets that.
 */
static enum faina_code settle_names(struct asking *asking)
{
    struct fa_children *children = &asking->children;
    struct fa_op *op = asking->op;
    enum faina_code code = FAINA_OK;
    size_t open = 0;

    if (children->stored > 0)
        code = find_named(asking, &open);
    if (code == FAINA_OK && open > 0 && children->next_place > asking->asked)
        code = fa_children_read_free(children, asking->asked, &op->error);
    for (size_t i = 0; code == FAINA_OK && open > 0 && i < op->block.count; i++) {
        size_t place = asking->first + i;

        if (!asking->is_open[i])
            continue;
        asking->names[i] = NULL;
        if (children->free_count > 0)
            asking->names[i] = fa_children_take_like(children, work_of(asking, i));
        if (asking->names[i] != NULL)
            continue;
        if (place < children->next_place)
            place = children->next_place;
        children->next_place = place + 1;
        asking->names[i] = fa_arena_printf(&asking->unit->arena, "#%zu", place);
    }
    return code;
}

static enum faina_code check_count(const struct asking *asking)
{
    size_t count = asking->children.stored + asking->made;

    if (count > FA_CHILDREN_MAX)
        return fa_error_field(&asking->op->error, FAINA_INVALID_TASK, "subtasks",
                              "a task can have %d subtasks; this would make %zu", FA_CHILDREN_MAX,
                              count);
    if (!asking->is_same && asking->asked + asking->op->block.count > FA_ASKED_MAX)
        return fa_error_field(&asking->op->error, FAINA_INVALID_TASK, "subtasks",
                              "an attempt can ask for %d subtasks in all, repeated ones too",
                              FA_ASKED_MAX);
    if (count == 0)
        return fa_error_field(&asking->op->error, FAINA_INVALID_REQUEST, "subtasks",
                              "a task is blocked by at least one subtask");
    return FAINA_OK;
}

/* Plans every subtask; nothing has changed when one is refused. */
static enum faina_code plan_children(struct asking *asking)
{
    struct fa_unit *unit = asking->unit;
    struct fa_op *op = asking->op;
    size_t count = op->block.count;
    enum faina_code code =
        fa_children_open(unit, asking->parent, count, &asking->children, &op->error);

    asking->names = fa_arena_take(&unit->arena, (count + 1) * sizeof(char *));
    asking->works = fa_arena_zero(&unit->arena, count + 1, sizeof(*asking->works));
    asking->is_open = fa_arena_zero(&unit->arena, count + 1, sizeof(bool));
    asking->plans = fa_arena_take(&unit->arena, (count + 1) * sizeof(*asking->plans));
    if (asking->parent->flags & FA_FLAG_NOT_COUNTED)
        asking->asked = (size_t)(asking->parent->flags & FA_ASKED_MASK) >> FA_ASKED_SHIFT;
    if (code == FAINA_OK)
        code = place_children(asking);
    if (code == FAINA_OK)
        code = settle_names(asking);
    if (code == FAINA_OK)
        code = fa_children_expect(&asking->children, asking->names, count, &op->error);
    for (size_t i = 0; code == FAINA_OK && i < count; i++) {
        struct fa_plan *plan = &asking->plans[i];

        code = fa_plan_make(unit, &op->block.subtasks[i], &asking->children, asking->names[i], plan,
                            &op->error);
        asking->made += plan->existing == NULL && !plan->is_twin;
    }
    if (code == FAINA_OK)
        code = fa_check_rings(unit, asking->parent, asking->plans, count, &op->error);
    return code == FAINA_OK ? check_count(asking) : code;
}

/* A task that goes on after its subtasks must ask for a new one, or one must live: otherwise the
 * block would be over at once, and a handler that doesn't mind its phase would go round for ever.
 * A new attempt may ask for what has ended, once: that is how it finds its subtasks. */
static enum faina_code check_goes_further(struct asking *asking)
{
    struct fa_op *op = asking->op;
    bool is_first_time =
        !asking->is_same && asking->asked + op->block.count <= asking->children.stored;
    struct fa_row **living = NULL;
    size_t count = 0;
    enum faina_code code;

    if (asking->made > 0 || is_first_time || !(asking->parent->flags & FA_FLAG_NOT_COUNTED))
        return FAINA_OK;
    code = fa_children_of(asking->unit, asking->parent, FA_SQL_CHILD_LIVE, &living, &count,
                          &op->error);
    if (code == FAINA_OK && count == 0)
        code = fa_error_field(&op->error, FAINA_INVALID_REQUEST, "subtasks",
                              "all subtasks that it would wait for have ended: a task that goes on "
                              "after its subtasks must not ask for the same ones again");
    return code;
}

/* Notes what the attempt has asked for. */
static void count_asked(const struct asking *asking)
{
    struct fa_row *parent = asking->parent;
    size_t count = asking->op->block.count, asked = asking->asked;

    if (!asking->is_same)
        asked += count;
    else if (asked < count)
        asked = count;
    parent->flags &= ~FA_ASKED_MASK;
    parent->flags |= (int64_t)asked << FA_ASKED_SHIFT;
}

/* A child that ended badly before gets another go. */
static enum faina_code requeue(struct fa_unit *unit, struct fa_row *child, struct faina_error *err)
{
    if (!fa_status_is_ended(child->status) || child->status == FAINA_COMPLETED)
        return FAINA_OK;
    return fa_reopen(unit, child, FAINA_ACTOR_SYSTEM, false, err);
}

enum faina_code fa_do_block(struct fa_unit *unit, struct fa_op *op)
{
    struct fa_row *row = NULL;
    enum faina_code code = find(unit, op, true, &row);
    struct asking asking = {.unit = unit, .op = op, .parent = row};
    int64_t live;

    if (code != FAINA_OK)
        return code;
    if (fa_rule_find(row->status, FA_BLOCK) == NULL)
        return fa_refuse(row, FA_BLOCK, op);
    code = fa_check_holder(row, op);
    if (code == FAINA_OK)
        code = plan_children(&asking);
    if (code == FAINA_OK)
        code = check_goes_further(&asking);
    if (code != FAINA_OK)
        return code;
    for (size_t i = 0; code == FAINA_OK && i < op->block.count; i++) {
        if (asking.plans[i].existing != NULL)
            code = requeue(unit, asking.plans[i].existing, &op->error);
        else if (!asking.plans[i].is_twin)
            fa_plan_carry_out(unit, &asking.plans[i]);
    }
    live = (int64_t)asking.made; /* new ones are awaited from the first */
    if (code == FAINA_OK && row->flags & FA_FLAG_HAS_CHILDREN)
        code = await_children(unit, row, &live, &op->error);
    if (code != FAINA_OK)
        return code;
    row->flags |= FA_FLAG_HAS_CHILDREN;
    count_asked(&asking);
    fa_unit_apply(unit, row,
                  &(struct fa_change){.trigger = FA_BLOCK,
                                      .actor = actor_of(op),
                                      .event_worker = op->by.worker_id,
                                      .what = "blocked"});
    row->flags &= ~FA_FLAG_FAIL_FAST;
    row->flags |= FA_FLAG_WAITS_CHILDREN | (op->block.fail_fast ? FA_FLAG_FAIL_FAST : 0);
    row->deps_left = live;
    row->deps_bad = 0;
    fa_unit_unblock_if_free(unit, row);
    return fa_answer(unit, op, row);
}
