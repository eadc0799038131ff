/*
 * shorthand.c - the second half of ops.h: tasks in a given status, and tasks as text.
 */
#include "support/ops.h"

#include "model/states.h"

struct faina_task *fa_t_task(struct fa_t *t, const char *id)
{
    CHECK_OK(t, fa_t_get(t, id));
    CHECK_STR(t->task->id, id);
    return t->task;
}

enum faina_status fa_t_status(struct fa_t *t, const char *id)
{
    return fa_t_task(t, id)->status;
}

struct wanted {
    const char *id;
    enum faina_status status;
    char what[200];
};

static bool has_status(struct fa_t *t, void *arg)
{
    struct wanted *wanted = arg;
    const struct faina_task *task = fa_t_task(t, wanted->id);

    CHECK(task->status == wanted->status || !fa_status_is_ended(task->status),
          "%s has ended as %s (%s), wanted %s", wanted->id, faina_status_name(task->status),
          task->error ? task->error : "no error", faina_status_name(wanted->status));
    snprintf(wanted->what, sizeof wanted->what, "%s of type %.60s is %s, not %s", wanted->id,
             task->type, faina_status_name(wanted->status), faina_status_name(task->status));
    return task->status == wanted->status;
}

void fa_t_wait_status(struct fa_t *t, const char *id, enum faina_status status)
{
    struct wanted wanted = {id, status};

    fa_t_wait_until(has_status, t, &wanted, wanted.what);
}

void fa_t_take(struct fa_t *t, const char *id, const char *worker_id)
{
    CHECK_OK(t, fa_t_claim(t, id, worker_id));
    CHECK_OK(t, fa_t_start(t, id, BY(worker_id)));
}

void fa_t_check_goes_on(struct fa_t *t, const char *id, enum faina_phase phase)
{
    int64_t attempts;

    CHECK_STATUS(fa_t_task(t, id)->status, FAINA_PENDING);
    CHECK_INT(t->task->phase, phase);
    attempts = t->task->attempts;
    CHECK_OK(t, fa_t_claim(t, id, "v"));
    CHECK_INT(t->task->phase, phase);
    CHECK_INT(t->task->attempts, attempts); /* the same attempt goes on */
    CHECK_OK(t, fa_t_start(t, id, BY("v")));
    CHECK_INT(t->task->phase, phase);
}

void fa_t_finish_task(struct fa_t *t, const char *id)
{
    fa_t_take(t, id, "finisher");
    CHECK_OK(t, fa_t_complete(t, id, BY("finisher"), "{}"));
}

const char *fa_t_make(struct fa_t *t, enum faina_status status, const char *worker_id)
{
    const char *id =
        fa_t_submit(t, .type = "made", .max_attempts = status == FAINA_DEAD_LETTER ? 1 : 0);
    struct faina_submit child = {.type = "made.child"};

    switch (status) {
    case FAINA_PENDING:
        break;
    case FAINA_CLAIMED:
        CHECK_OK(t, fa_t_claim(t, id, worker_id));
        break;
    case FAINA_RUNNING:
        fa_t_take(t, id, worker_id);
        break;
    case FAINA_BLOCKED:
        fa_t_take(t, id, worker_id);
        CHECK_OK(t, fa_t_block(t, id, BY(worker_id), &child, 1));
        break;
    case FAINA_BACKGROUND:
        fa_t_take(t, id, worker_id);
        CHECK_OK(t, fa_t_background(t, id, BY(worker_id), 0));
        break;
    case FAINA_COMPLETED:
        fa_t_take(t, id, worker_id);
        CHECK_OK(t, fa_t_complete(t, id, BY(worker_id), "{\"made\":true}"));
        break;
    case FAINA_FAILED:
        CHECK_OK(t, fa_t_fail_final(t, id, NOBODY, "made to fail"));
        break;
    case FAINA_DEAD_LETTER:
        fa_t_take(t, id, worker_id);
        CHECK_OK(t, fa_t_fail_attempt(t, id, BY(worker_id), "made to fail"));
        break;
    case FAINA_CANCELLED:
        CHECK_OK(t, fa_t_cancel(t, id, NOBODY));
        break;
    case FAINA_STATUS_COUNT:
        CHECK(false, "not a status");
    }
    CHECK_NOW(t, id, status);
    return id;
}

const char *fa_t_child(struct fa_t *t, const char *id, size_t index)
{
    CHECK_OK(t, fa_t_children(t, id, 0, NULL));
    CHECK(index < t->op.tasks->count, "%s has %zu children, wanted number %zu", id,
          t->op.tasks->count, index);
    return t->op.tasks->items[index].id;
}

/* ------------------------------------------------------------------------------------------
 * Tasks as text
 */

static void add_text(struct fa_buf *buf, const char *name, const char *value)
{
    fa_buf_printf(buf, "  %s=%s\n", name, value ? value : "(null)");
}

static void add_int(struct fa_buf *buf, const char *name, int64_t value)
{
    fa_buf_printf(buf, "  %s=%lld\n", name, (long long)value);
}

static void add_texts(struct fa_buf *buf, const struct faina_task *task)
{
    const struct {
        const char *name, *value;
    } texts[] = {
        {"ns", task->ns},
        {"type", task->type},
        {"name", task->name},
        {"status", faina_status_name(task->status)},
        {"state", task->state},
        {"input", task->input},
        {"output", task->output},
        {"error", task->error},
        {"metadata", task->metadata},
        {"spec", task->spec},
        {"key", task->idempotency_key},
        {"hash", task->input_hash},
        {"worker", task->worker_id},
        {"parent", task->parent_id},
        {"team", task->team_id},
        {"created_by", task->created_by},
        {"group", task->group},
    };

    for (size_t i = 0; i < FA_COUNT(texts); i++)
        add_text(buf, texts[i].name, texts[i].value);
    for (size_t i = 0; i < task->depends_on_count; i++)
        add_text(buf, "depends_on", task->depends_on[i]);
    for (size_t i = 0; i < task->resource_count; i++)
        add_text(buf, "resource", task->resources[i]);
}

static void add_numbers(struct fa_buf *buf, const struct faina_task *task, bool is_sql)
{
    const struct {
        const char *name;
        int64_t value;
    } numbers[] = {
        {"phase", task->phase},
        {"progress", task->progress},
        {"priority", task->priority},
        {"attempts", task->attempts},
        {"max_attempts", task->max_attempts},
        {"run_at", task->run_at_us},
        {"lease", task->lease_expires_us},
        {"fence", task->fence},
        {"retry_base", task->retry.base_ms},
        {"retry_factor", (int64_t)(task->retry.factor * 1000)},
        {"retry_max", task->retry.max_ms},
        {"expires", task->expires_us},
        {"version", is_sql ? task->version : 0}, /* else also events and heartbeats change it */
        {"created", task->created_us},
        {"updated", task->updated_us},
        {"claimed", task->claimed_us},
        {"started", task->started_us},
        {"completed", task->completed_us},
        {"deleted", task->deleted_us},
    };

    for (size_t i = 0; i < FA_COUNT(numbers); i++)
        add_int(buf, numbers[i].name, numbers[i].value);
}

static const char *keep_buf(struct fa_t *t, struct fa_buf *buf)
{
    const char *text = fa_arena_copy(&t->arena, buf->len ? buf->ptr : "", buf->len);

    fa_buf_finish(buf);
    return text;
}

const char *fa_t_picture(struct fa_t *t, const char *id)
{
    const struct faina_task *task = fa_t_task(t, id);
    struct fa_buf buf;

    fa_buf_init(&buf, 8u << 20);
    fa_buf_printf(&buf, "%s\n", task->id);
    add_texts(&buf, task);
    add_numbers(&buf, task, t->is_sql);
    return keep_buf(t, &buf);
}

/* Events are listed newest first, with strictly falling times. */
static void check_event_order(const struct faina_events *events, const char *id)
{
    for (size_t i = 1; i < events->count; i++)
        CHECK(events->items[i].at_us < events->items[i - 1].at_us,
              "%s: event %s (%lld) is not older than %s (%lld)", id, events->items[i].what,
              (long long)events->items[i].at_us, events->items[i - 1].what,
              (long long)events->items[i - 1].at_us);
}

static const struct faina_events *all_events(struct fa_t *t, const char *id)
{
    CHECK_OK(t, fa_t_events(t, id, 1000));
    check_event_order(t->op.events, id);
    return t->op.events;
}

const char *fa_t_history(struct fa_t *t, const char *id)
{
    const struct faina_events *events = all_events(t, id);
    struct fa_buf buf;

    fa_buf_init(&buf, 8u << 20);
    for (size_t i = events->count; i-- > 0;) {
        const struct faina_event *event = &events->items[i];

        fa_buf_printf(&buf, "%s %s %s %s\n", event->what, faina_status_name(event->status),
                      faina_actor_name(event->actor), event->worker_id ? event->worker_id : "-");
    }
    return keep_buf(t, &buf);
}

const char *fa_t_story(struct fa_t *t, const char *id)
{
    const struct faina_events *events = all_events(t, id);
    struct fa_buf buf;

    fa_buf_init(&buf, 8u << 20);
    for (size_t i = events->count; i-- > 0;)
        fa_buf_printf(&buf, "%s%s", events->items[i].what, i ? " " : "");
    return keep_buf(t, &buf);
}

const char *fa_t_names(struct fa_t *t, const struct faina_tasks *tasks)
{
    struct fa_buf buf;

    fa_buf_init(&buf, 8u << 20);
    for (size_t i = 0; i < tasks->count; i++)
        fa_buf_printf(&buf, "%s%s", i ? " " : "", tasks->items[i].name);
    return keep_buf(t, &buf);
}
