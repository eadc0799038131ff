/*
 * evaluate.c - see evaluate.h.
 *
 * A task that is rendered from checked JSON is checked once more as one text, and then not again
 * field by field: most of the time is spent on checking.
 */
#include "store/workflow/evaluate.h"

#include "model/check.h"
#include "model/limits.h"
#include "wire/wire.h"
#include "store/workflow/definitions.h"

#define TASK_SLACK (256 * 1024) /* of a rendered task, beside its input */

void fa_evaluation_init(struct fa_evaluation *out, size_t input_size_max)
{
    *out = (struct fa_evaluation){.steps_left = FA_EVENT_STEPS_MAX,
                                  .bytes_left = input_size_max * FA_EVENT_INPUTS_MAX,
                                  .tasks_left = FA_EVENT_TASKS_MAX};
}

/* V1. `bytes` is the size of the next task. */
static enum faina_code check_budget(struct fa_evaluation *budget, size_t bytes,
                                    size_t input_size_max, struct faina_error *err)
{
    budget->is_over = true;
    if (budget->steps_left <= 0)
        return fa_error_set(err, FAINA_PAYLOAD_TOO_LARGE,
                            "the triggers on this event take more than %d steps in all",
                            FA_EVENT_STEPS_MAX);
    if (budget->tasks_left == 0)
        return fa_error_set(err, FAINA_PAYLOAD_TOO_LARGE, "the event makes more than %d tasks",
                            FA_EVENT_TASKS_MAX);
    if (bytes > budget->bytes_left)
        return fa_error_set(err, FAINA_PAYLOAD_TOO_LARGE,
                            "the tasks that the event makes are larger than %zu bytes in all",
                            input_size_max * FA_EVENT_INPUTS_MAX);
    budget->is_over = false;
    return FAINA_OK;
}

enum faina_code fa_evaluate_task(const struct fa_evaluate_task *task, size_t input_size_max,
                                 struct fa_arena *arena, struct fa_evaluation *budget,
                                 struct faina_submit *out, struct faina_error *err)
{
    enum faina_code code;
    struct fa_buf buf;

    if (task->depth > FA_CHAIN_DEPTH_MAX)
        return fa_error_set(err, FAINA_INVALID_REQUEST,
                            "the chain is stopped: %d tasks have led to each other by their ends",
                            FA_CHAIN_DEPTH_MAX);
    fa_buf_init(&buf, input_size_max + TASK_SLACK);
    code = fa_template_render(task->task, task->lookup, task->lookup_ctx, &buf, err);
    if (code == FAINA_OK || budget->steps_left <= 0) /* without steps a path is not found */
        code = check_budget(budget, buf.len, input_size_max, err);
    if (code == FAINA_OK) {
        budget->bytes_left -= buf.len;
        budget->tasks_left--;
        code = fa_wire_read_submit((struct fa_bytes){buf.ptr, buf.len}, arena, out, err);
    }
    fa_buf_finish(&buf);
    if (code == FAINA_OK && out->ns != NULL && strcmp(out->ns, task->ns) != 0)
        return fa_error_field(err, FAINA_INVALID_TASK, "namespace",
                              "a workflow makes tasks in its own namespace, %.200s", task->ns);
    out->ns = fa_arena_strdup(arena, task->ns);
    return code == FAINA_OK ? fa_check_submit_read(out, input_size_max, err) : code;
}

/* All triggers on an event --------------------------------------------------------------------- */

struct evaluator {
    const struct fa_evaluate_event *event;
    struct fa_match_data data;
    size_t input_size_max;
    struct fa_arena *arena;
    struct fa_evaluation *out;
};

/* Finds a path in the data of the event; counts steps. */
static bool find_in_event(void *context, const struct fa_template_path *path, struct fa_json *out)
{
    struct evaluator *e = context;

    return fa_match_data_find(&e->data, &path->path, &e->out->steps_left, out);
}

static struct fa_evaluated *add_item(struct evaluator *e,
                                     const struct fa_subscription *subscription)
{
    struct fa_evaluation *out = e->out;

    out->items = fa_arena_grow(e->arena, out->items, out->count, &out->size, sizeof(*out->items));
    out->items[out->count] = (struct fa_evaluated){
        .workflow = fa_arena_strdup(e->arena, subscription->flow->workflow->name),
        .trigger = fa_arena_strdup(e->arena, subscription->trigger->name),
        .version = subscription->flow->version,
    };
    return &out->items[out->count++];
}

static void evaluate_trigger(struct evaluator *e, const struct fa_subscription *subscription)
{
    const struct fa_match *match = subscription->trigger->match;
    struct fa_match_verdict verdict = {.is_match = true};
    struct fa_evaluate_task task = {.ns = subscription->flow->ns,
                                    .task = subscription->trigger->task,
                                    .lookup = find_in_event,
                                    .lookup_ctx = e,
                                    .depth = e->event->depth};
    struct faina_submit *submit;
    struct fa_evaluated *item;
    struct faina_error err;
    enum faina_code code = match ? fa_match_run(match, &e->data, &verdict, &err) : FAINA_OK;

    if (match != NULL)
        e->out->steps_left -= code == FAINA_OK ? verdict.steps : FA_MATCH_STEPS_MAX;
    if (e->out->steps_left <= 0)
        code = check_budget(e->out, 0, e->input_size_max, &err);
    if (code == FAINA_OK && !verdict.is_match)
        return;
    submit = fa_arena_zero(e->arena, 1, sizeof(*submit));
    if (code == FAINA_OK)
        code = fa_evaluate_task(&task, e->input_size_max, e->arena, e->out, submit, &err);
    item = add_item(e, subscription);
    if (code == FAINA_OK)
        item->submit = submit;
    else
        item->failure = fa_arena_strdup(e->arena, err.message);
}

enum faina_code fa_evaluate(const struct fa_flow_set *set, const struct fa_evaluate_event *event,
                            size_t input_size_max, bool is_partial, struct fa_arena *arena,
                            struct fa_evaluation *out, struct faina_error *err)
{
    const struct fa_subscribers *subscribers =
        fa_flow_set_subscribers(set, event->ns, event->type, false);
    struct evaluator e = {event, .input_size_max = input_size_max, .arena = arena, .out = out};
    const struct fa_evaluated *last;
    uint64_t *selected;
    size_t words;

    fa_evaluation_init(out, input_size_max);
    if (subscribers == NULL)
        return FAINA_OK;
    words = FA_MATCH_WORDS(subscribers->count);
    selected = fa_arena_take(arena, words * sizeof(*selected));
    fa_match_data_init(&e.data, fa_str(event->data));
    fa_match_index_select(subscribers->index, &e.data, selected);
    for (size_t i = 0; i < words; i++)
        for (uint64_t left = selected[i]; !out->is_over && left != 0; left &= left - 1)
            evaluate_trigger(&e, &subscribers->items[i * 64 + (size_t)__builtin_ctzll(left)]);
    if (!out->is_over || is_partial)
        return FAINA_OK;
    last = &out->items[out->count - 1];
    return fa_error_set(err, FAINA_PAYLOAD_TOO_LARGE, "%s: trigger %.200s of workflow %.200s",
                        last->failure, last->trigger, last->workflow);
}
