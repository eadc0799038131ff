/*
 * test_property.c - random operations against the engine and against the model, side by side.
 *
 * Each run makes a new engine and takes steps, alone or several in one call. After each call the
 * codes, the answers and every task that was touched must be the model's; now and then all tasks,
 * the list, the counts and the resources are compared, and a durable engine is closed and opened.
 *
 * FA_PROPERTY_STEPS sets how many steps in all. A failure prints the seed of its run and the newest
 * steps; FA_SEED with that seed runs the same again, first.
 */
#include "property/model.h"
#include "support/ops.h"

#include "base/random.h"
#include "model/limits.h"

#include <stdlib.h>

#define STEPS_DEFAULT 16000
#define STEPS_PER_RUN 2000
#define BATCH_MAX 10
#define COMPARE_EVERY 60
#define LOG_LINES 60
#define LEASE_MS (24LL * 3600 * 1000)

static const char *const ns_names[FA_M_NS] = {"default", "other"};
static const char *const type_names[FA_M_TYPES] = {"x", "y", "z"};
static const char *const resource_names[FA_M_RESOURCES] = {"cpu", "disk", "gpu"};
static const char *const worker_names[FA_M_WORKERS] = {"w0", "w1", "w2", "w3"};
static const char *const child_names[] = {"ann", "bob", "cy"};

struct run {
    struct fa_t *t;
    struct fa_m *model;
    struct fa_random random;
    uint64_t seed;
    struct fa_m_step steps[BATCH_MAX];
    struct fa_op ops[BATCH_MAX];
    int step_count;
    int focus;             /* the task that most steps of this batch are about; -1: none */
    int known;             /* tasks whose ids are known: those before this batch */
    struct fa_arena arena; /* requests of this batch */
    char log[LOG_LINES][160];
    int logged;
};

/* Never returns. */
#define DIFFER(run, ...)                                                                           \
    do {                                                                                           \
        print_log(run);                                                                            \
        fa_t_fail(__FILE__, __LINE__, __VA_ARGS__);                                                \
    } while (0)

static void print_log(const struct run *run)
{
    int first = run->logged > LOG_LINES ? run->logged - LOG_LINES : 0;

    fprintf(stderr, "FA_SEED=%llu runs this again. The newest steps:\n",
            (unsigned long long)run->seed);
    for (int i = first; i < run->logged; i++)
        fprintf(stderr, "  %s\n", run->log[i % LOG_LINES]);
}

static int below(struct run *run, int bound)
{
    return (int)fa_random_below(&run->random, (uint64_t)bound);
}

static bool chance(struct run *run, int percent)
{
    return below(run, 100) < percent;
}

/* ------------------------------------------------------------------------------------------
 * Choosing steps
 */

/* A task that was there before this batch: mostly a recent one that lives. */
static int choose_task(struct run *run)
{
    if (run->focus >= 0 && chance(run, 75))
        return run->focus;
    for (int attempt = 0; attempt < 8; attempt++) {
        int span = run->known < 60 ? run->known : 60;
        int index = chance(run, 85) ? run->known - 1 - below(run, span) : below(run, run->known);

        if (!fa_m_has_ended(run->model->tasks[index].status) || chance(run, 25))
            return index;
    }
    return below(run, run->known);
}

static void choose_submit(struct run *run, struct fa_m_submit *submit, bool is_child)
{
    *submit = (struct fa_m_submit){
        .ns = chance(run, 80) ? 0 : 1,
        .type = below(run, FA_M_TYPES),
        .priority = below(run, 4) - 1,
        .key = !is_child && chance(run, 25) ? below(run, FA_M_KEYS) : -1,
        .input = below(run, 3),
        .max_attempts = below(run, 4),
        .resources = chance(run, 40) ? (unsigned)below(run, 1 << FA_M_RESOURCES) : 0,
        .is_later = chance(run, 8),
        .child = is_child && chance(run, 70) ? below(run, (int)FA_COUNT(child_names)) : -1,
    };
    if (run->known == 0 || !chance(run, 15))
        return;
    for (int want = 1 + below(run, FA_M_DEPS_MAX); want > 0; want--) {
        int dep = choose_task(run);
        bool is_repeat = false;

        for (int i = 0; i < submit->dep_count; i++)
            is_repeat |= submit->deps[i] == dep;
        if (!is_repeat)
            submit->deps[submit->dep_count++] = dep;
    }
}

/* What the task has asked for before, mostly: so that new attempts find their children. */
static void choose_child(struct run *run, int parent, struct fa_m_submit *submit)
{
    int span = run->model->count;

    choose_submit(run, submit, true);
    if (!chance(run, 70))
        return;
    for (int i = below(run, span), left = span; left > 0; left--, i = (i + 1) % span) {
        const struct fa_m_task *child = &run->model->tasks[i];

        if (child->parent != parent || (child->child >= 0) != (submit->child >= 0))
            continue;
        submit->type = child->type;
        submit->input = child->input;
        if (child->child >= 0)
            submit->child = child->child;
        return;
    }
}

/* Mostly whoever holds the task, sometimes a stranger or nobody. */
static void choose_actor(struct run *run, struct fa_m_step *step, bool needs_worker)
{
    const struct fa_m_task *task = &run->model->tasks[step->task];
    int roll = below(run, 100);

    step->worker = task->worker;
    if (roll < 10)
        step->worker = below(run, FA_M_WORKERS);
    else if (roll < 15)
        step->worker = FA_M_NOBODY;
    if (task->has_outcome && roll >= 60)
        step->worker = task->outcome_worker; /* says it again */
    if (needs_worker && step->worker == FA_M_NOBODY)
        step->worker = below(run, FA_M_WORKERS);
    /* In the middle of a batch the engine's fence may not be known yet. */
    if (task->is_claimed || task->fence == 0 || !chance(run, 30))
        step->fence = 0;
    else
        step->fence = chance(run, 70) ? task->fence : task->fence - 1;
}

static void choose_claim_next(struct run *run, struct fa_m_step *step)
{
    step->worker = below(run, FA_M_WORKERS);
    step->limit = 1 + below(run, FA_M_CLAIM_MAX);
    step->claim_types = chance(run, 60) ? 0 : 1 + (unsigned)below(run, (1 << FA_M_TYPES) - 1);
    step->claim_namespaces = chance(run, 80) ? 0 : 1 + (unsigned)below(run, (1 << FA_M_NS) - 1);
    step->has_services = chance(run, 20);
    step->services = (unsigned)below(run, 1 << FA_M_RESOURCES);
}

static void choose_details(struct run *run, struct fa_m_step *step)
{
    const struct fa_m_task *task = &run->model->tasks[step->task];

    choose_actor(run, step, step->kind == FA_OP_CLAIM || step->kind == FA_OP_HEARTBEAT);
    step->value = below(run, 3);
    if (task->has_outcome && chance(run, 40))
        step->value = task->outcome_value;
    step->is_permanent = chance(run, 25);
    step->keeps = chance(run, 40);
    step->cancels = chance(run, 40);
    step->purges = chance(run, 40);
    if (step->kind == FA_OP_BLOCK) {
        step->submit_count = 1 + below(run, FA_M_CHILDREN_MAX);
        step->fail_fast = chance(run, 30);
        for (int i = 0; i < step->submit_count; i++)
            choose_child(run, step->task, &step->submits[i]);
    }
}

/* What one would do next with a task in this status: so that tasks come far, and come back. */
static enum fa_op_kind sensible_kind(struct run *run, enum faina_status status)
{
    static const enum fa_op_kind next[FAINA_STATUS_COUNT][4] = {
        [FAINA_PENDING] = {FA_OP_CLAIM, FA_OP_START, FA_OP_START, FA_OP_CANCEL},
        [FAINA_CLAIMED] = {FA_OP_START, FA_OP_START, FA_OP_COMPLETE, FA_OP_RELEASE},
        [FAINA_RUNNING] = {FA_OP_COMPLETE, FA_OP_FAIL, FA_OP_BLOCK, FA_OP_BACKGROUND},
        [FAINA_BLOCKED] = {FA_OP_CANCEL, FA_OP_HEARTBEAT, FA_OP_RETRY, FA_OP_CLAIM},
        [FAINA_BACKGROUND] = {FA_OP_COMPLETE, FA_OP_COMPLETE, FA_OP_FAIL, FA_OP_PROGRESS},
        [FAINA_COMPLETED] = {FA_OP_COMPLETE, FA_OP_RETRY, FA_OP_DELETE, FA_OP_FAIL},
        [FAINA_FAILED] = {FA_OP_RETRY, FA_OP_RETRY, FA_OP_FAIL, FA_OP_DELETE},
        [FAINA_DEAD_LETTER] = {FA_OP_RETRY, FA_OP_RETRY, FA_OP_FAIL, FA_OP_DELETE},
        [FAINA_CANCELLED] = {FA_OP_RETRY, FA_OP_RETRY, FA_OP_CANCEL, FA_OP_DELETE},
    };

    return next[status][below(run, 4)];
}

static void choose_step(struct run *run, struct fa_m_step *step)
{
    static const struct {
        enum fa_op_kind kind;
        int weight;
        bool needs_task;
    } kinds[] = {
        {FA_OP_SUBMIT, 22, false},
        {FA_OP_CLAIM_NEXT, 14, false},
        {FA_OP_CLAIM, 9, true},
        {FA_OP_START, 12, true},
        {FA_OP_COMPLETE, 14, true},
        {FA_OP_FAIL, 10, true},
        {FA_OP_BLOCK, 7, true},
        {FA_OP_BACKGROUND, 3, true},
        {FA_OP_RELEASE, 4, true},
        {FA_OP_PROGRESS, 3, true},
        {FA_OP_HEARTBEAT, 3, true},
        {FA_OP_CANCEL, 4, true},
        {FA_OP_RETRY, 6, true},
        {FA_OP_DELETE, 4, true},
        {FA_OP_PURGE, 1, false},
        {FA_OP_PAUSE, 1, false},
        {FA_OP_RESUME, 2, false},
        {FA_OP_RESOURCE_SET, 2, false},
        {FA_OP_RESOURCE_REMOVE, 1, false},
    };
    int roll, at = 0, sum = 0;

    for (size_t i = 0; i < FA_COUNT(kinds); i++)
        sum += kinds[i].weight;
    roll = below(run, sum);
    while (roll >= kinds[at].weight)
        roll -= kinds[at++].weight;
    *step = (struct fa_m_step){.kind = kinds[at].kind, .task = -1, .worker = FA_M_NOBODY};
    if (kinds[at].needs_task && run->known == 0)
        step->kind = FA_OP_SUBMIT;
    step->ns = below(run, FA_M_NS);
    step->type = below(run, FA_M_TYPES);
    step->resource = below(run, FA_M_RESOURCES);
    step->value = step->kind == FA_OP_PURGE ? below(run, 2) : below(run, 6) - 1;
    if (step->kind == FA_OP_SUBMIT) {
        step->submit_count = 1;
        choose_submit(run, &step->submits[0], false);
    } else if (step->kind == FA_OP_CLAIM_NEXT) {
        choose_claim_next(run, step);
    } else if (kinds[at].needs_task) {
        step->task = choose_task(run);
        if (chance(run, 50))
            step->kind = sensible_kind(run, run->model->tasks[step->task].status);
        choose_details(run, step);
    }
}

/* ------------------------------------------------------------------------------------------
 * Steps as operations
 */

static const char *const *pick_names(struct run *run, const char *const *all, int count,
                                     unsigned set, size_t *out_count)
{
    const char **names = fa_arena_take(&run->arena, (size_t)(count + 1) * sizeof *names);

    *out_count = 0;
    for (int i = 0; i < count; i++)
        if (set & (1u << i))
            names[(*out_count)++] = all[i];
    return names;
}

static struct faina_submit make_submit(struct run *run, const struct fa_m_submit *from,
                                       bool is_child)
{
    struct faina_submit submit = {
        .ns = is_child ? NULL : ns_names[from->ns],
        .type = type_names[from->type],
        .name = is_child && from->child >= 0 ? child_names[from->child] : NULL,
        .priority = from->priority,
        .max_attempts = from->max_attempts == 0 ? FAINA_UNLIMITED : from->max_attempts,
        .input = fa_arena_printf(&run->arena, "{\"input\":%d}", from->input),
        .delay_ms = from->is_later ? FA_DURATION_MS_MAX : 0,
        .retry = {.base_ms = FA_DURATION_MS_MAX, .max_ms = FA_DURATION_MS_MAX},
    };
    const char **deps = fa_arena_take(&run->arena, (FA_M_DEPS_MAX + 1) * sizeof *deps);

    if (from->key >= 0)
        submit.idempotency_key = fa_arena_printf(&run->arena, "key %d", from->key);
    submit.resources =
        pick_names(run, resource_names, FA_M_RESOURCES, from->resources, &submit.resource_count);
    for (int i = 0; i < from->dep_count; i++)
        deps[submit.depends_on_count++] = run->model->tasks[from->deps[i]].id;
    submit.depends_on = deps;
    return submit;
}

static void make_claim(struct run *run, const struct fa_m_step *step, struct fa_op *op)
{
    struct faina_claim *claim = fa_arena_zero(&run->arena, 1, sizeof *claim);

    claim->worker_id = worker_names[step->worker];
    claim->limit = step->limit;
    claim->lease_ms = LEASE_MS;
    if (step->claim_types)
        claim->types =
            pick_names(run, type_names, FA_M_TYPES, step->claim_types, &claim->type_count);
    if (step->claim_namespaces)
        claim->namespaces =
            pick_names(run, ns_names, FA_M_NS, step->claim_namespaces, &claim->namespace_count);
    if (step->has_services)
        claim->services =
            pick_names(run, resource_names, FA_M_RESOURCES, step->services, &claim->service_count);
    op->claim = claim;
}

static void make_block(struct run *run, const struct fa_m_step *step, struct fa_op *op)
{
    struct faina_submit *children =
        fa_arena_zero(&run->arena, (size_t)step->submit_count, sizeof *children);

    for (int i = 0; i < step->submit_count; i++)
        children[i] = make_submit(run, &step->submits[i], true);
    op->block.subtasks = children;
    op->block.count = (size_t)step->submit_count;
    op->block.fail_fast = step->fail_fast;
}

static const char *json_value(struct run *run, int value)
{
    return fa_arena_printf(&run->arena, "{\"value\":%d}", value);
}

static void make_work(struct run *run, const struct fa_m_step *step, struct fa_op *op)
{
    struct faina_failure *failure = fa_arena_zero(&run->arena, 1, sizeof *failure);
    struct faina_report *report = fa_arena_zero(&run->arena, 1, sizeof *report);

    *failure = (struct faina_failure){.message = json_value(run, step->value),
                                      .permanent = step->is_permanent};
    *report = (struct faina_report){.has_progress = true, .progress = step->value};
    if (step->kind == FA_OP_FAIL)
        op->failure = failure;
    else if (step->kind == FA_OP_PROGRESS)
        op->report = report;
    else if (step->kind == FA_OP_COMPLETE)
        op->output = json_value(run, step->value);
    else if (step->kind == FA_OP_RETRY)
        op->keep_attempts = step->keeps;
    else if (step->kind == FA_OP_DELETE)
        op->removal = (struct faina_removal){.cancel = step->cancels, .purge = step->purges};
    else if (step->kind == FA_OP_BLOCK)
        make_block(run, step, op);
    else if (step->kind != FA_OP_BACKGROUND && step->kind != FA_OP_RELEASE &&
             step->kind != FA_OP_CANCEL)
        op->lease_ms = LEASE_MS;
}

/* The operation of a step, before the model takes it. */
static void make_op(struct run *run, const struct fa_m_step *step, struct fa_op *op)
{
    struct faina_submit *submit = fa_arena_zero(&run->arena, 1, sizeof *submit);
    struct faina_purge *purge = fa_arena_zero(&run->arena, 1, sizeof *purge);

    *op = (struct fa_op){.kind = step->kind};
    op->by.worker_id = step->worker >= 0 ? worker_names[step->worker] : NULL;
    op->by.fence = step->fence;
    if (step->task >= 0) {
        op->id = run->model->tasks[step->task].id;
        make_work(run, step, op);
        return;
    }
    *purge = (struct faina_purge){
        .type = type_names[step->type], .deleted_only = step->value, .limit = FA_M_TASKS_MAX + 1};
    if (step->kind == FA_OP_SUBMIT) {
        *submit = make_submit(run, &step->submits[0], false);
        op->submit = submit;
    } else if (step->kind == FA_OP_CLAIM_NEXT) {
        make_claim(run, step, op);
    } else if (step->kind == FA_OP_PURGE) {
        op->purge = purge;
    } else if (step->kind == FA_OP_PAUSE || step->kind == FA_OP_RESUME) {
        op->name.ns = ns_names[step->ns];
        op->name.type = type_names[step->type];
    } else {
        op->resource.name = resource_names[step->resource];
        op->resource.max_concurrency = step->value;
    }
}

static void log_step(struct run *run, const struct fa_m_step *step, int place)
{
    char *line = run->log[run->logged++ % LOG_LINES];
    const struct fa_m_task *task = step->task >= 0 ? &run->model->tasks[step->task] : NULL;

    snprintf(
        line, sizeof run->log[0], "%s%s #%d (now %s) w%d fence %lld value %d%s%s%s%s -> %s",
        place > 0 ? "+ " : "", fa_op_name(step->kind), step->task >= 0 ? step->task : step->answer,
        task ? faina_status_name(task->status) : "", step->worker, (long long)step->fence,
        step->value, step->kind == FA_OP_FAIL && step->is_permanent ? " permanent" : "",
        step->kind == FA_OP_RETRY && step->keeps ? " keep" : "",
        step->kind == FA_OP_DELETE && step->cancels ? " cancel" : "",
        step->kind == FA_OP_DELETE && step->purges ? " purge" : "", faina_code_name(step->code));
}

/* ------------------------------------------------------------------------------------------
 * Comparing
 */

static const char *worker_text(int worker)
{
    return worker >= 0 ? worker_names[worker] : "nobody";
}

/* A purged task is forgotten, by its children and by those that waited for it, too. */
static const char *parent_of(const struct fa_m *model, const struct fa_m_task *task)
{
    return task->parent >= 0 && !model->tasks[task->parent].is_purged
               ? model->tasks[task->parent].id
               : "";
}

static int kept_deps(const struct fa_m *model, const struct fa_m_task *task)
{
    int count = 0;

    for (int i = 0; i < task->dep_count; i++)
        count += !model->tasks[task->deps[i]].is_purged;
    return count;
}

static void compare_fields(struct run *run, int index, const struct faina_task *task)
{
    const struct fa_m_task *want = &run->model->tasks[index];
    bool ended = fa_m_has_ended(task->status); /* then its phase tells nobody anything */
    const struct {
        const char *name;
        int64_t got, want;
    } numbers[] = {
        {"attempts", task->attempts, want->attempts},
        {"max_attempts", task->max_attempts, want->max_attempts},
        {"phase", ended ? 0 : task->phase, ended ? 0 : want->phase},
        {"priority", task->priority, want->priority},
        {"progress", task->progress, want->progress},
        {"depends_on_count", (int64_t)task->depends_on_count, kept_deps(run->model, want)},
    };
    const char *worker = task->worker_id ? task->worker_id : "nobody";

    if (task->status != want->status)
        DIFFER(run, "#%d %s is %s, the model says %s", index, task->id,
               faina_status_name(task->status), faina_status_name(want->status));
    for (size_t i = 0; i < FA_COUNT(numbers); i++)
        if (numbers[i].got != numbers[i].want)
            DIFFER(run, "#%d %s (%s): %s is %lld, the model says %lld", index, task->id,
                   faina_status_name(task->status), numbers[i].name, (long long)numbers[i].got,
                   (long long)numbers[i].want);
    if (strcmp(worker, worker_text(want->worker)) != 0)
        DIFFER(run, "#%d %s: held by %s, the model says %s", index, task->id, worker,
               worker_text(want->worker));
    if (strcmp(task->type, type_names[want->type]) != 0 ||
        strcmp(task->ns, ns_names[want->ns]) != 0)
        DIFFER(run, "#%d %s: %s in %s", index, task->id, task->type, task->ns);
    if ((task->output != NULL) != (want->output >= 0) ||
        (task->output && strcmp(task->output, json_value(run, want->output)) != 0))
        DIFFER(run, "#%d %s: output %s, the model says %d", index, task->id,
               task->output ? task->output : "(none)", want->output);
    if (strcmp(task->parent_id, parent_of(run->model, want)) != 0)
        DIFFER(run, "#%d %s: another parent, %s", index, task->id, task->parent_id);
}

/* Version and fence grow with what happened to the task, and with nothing else. */
static void compare_growth(struct run *run, int index, const struct faina_task *task)
{
    struct fa_m_task *want = &run->model->tasks[index];

    if (want->is_touched ? task->version <= want->version : task->version != want->version)
        DIFFER(run, "#%d %s: version %lld after %lld, and it was %s", index, task->id,
               (long long)task->version, (long long)want->version,
               want->is_touched ? "changed" : "not changed");
    if (want->is_claimed ? task->fence <= want->fence : task->fence != want->fence)
        DIFFER(run, "#%d %s: fence %lld after %lld, and it was %s", index, task->id,
               (long long)task->fence, (long long)want->fence,
               want->is_claimed ? "claimed" : "not claimed");
    want->version = task->version;
    want->fence = task->fence;
    want->is_touched = want->is_claimed = false;
}

static void compare_task(struct run *run, int index)
{
    struct fa_m_task *want = &run->model->tasks[index];
    enum faina_code code = fa_t_get(run->t, want->id);

    if (code != (fa_m_is_visible(want) ? FAINA_OK : FAINA_TASK_NOT_FOUND))
        DIFFER(run, "#%d %s: get says %s", index, want->id, faina_code_name(code));
    if (code != FAINA_OK)
        return;
    compare_fields(run, index, run->t->task);
    compare_growth(run, index, run->t->task);
}

static void compare_stats(struct run *run)
{
    int64_t want[FAINA_STATUS_COUNT] = {0};

    for (int i = 0; i < run->model->count; i++)
        if (fa_m_is_visible(&run->model->tasks[i]))
            want[run->model->tasks[i].status]++;
    CHECK_OK(run->t, fa_t_stats(run->t, "*"));
    for (enum faina_status s = 0; s < FAINA_STATUS_COUNT; s++)
        if (run->t->op.stats->by_status[s] != want[s])
            DIFFER(run, "stats count %lld %s tasks, the model %lld",
                   (long long)run->t->op.stats->by_status[s], faina_status_name(s),
                   (long long)want[s]);
}

static void compare_resources(struct run *run)
{
    for (int i = 0; i < FA_M_RESOURCES; i++) {
        if (!run->model->is_set[i])
            continue;
        if (fa_t_in_use(run->t, resource_names[i]) != fa_m_in_use(run->model, i))
            DIFFER(run, "%lld use %s, the model says %lld",
                   (long long)fa_t_in_use(run->t, resource_names[i]), resource_names[i],
                   (long long)fa_m_in_use(run->model, i));
    }
}

static void compare_list(struct run *run)
{
    struct faina_query query = {.ns = "*", .limit = 1 + below(run, 300), .brief = true};
    int at = run->model->count;

    do {
        CHECK_OK(run->t, fa_t_list_code(run->t, &query));
        for (size_t i = 0; i < run->t->op.tasks->count; i++) {
            const struct faina_task *task = &run->t->op.tasks->items[i];

            do {
                at--;
            } while (at >= 0 && !fa_m_is_visible(&run->model->tasks[at]));
            if (at < 0 || strcmp(task->id, run->model->tasks[at].id) != 0 ||
                task->status != run->model->tasks[at].status)
                DIFFER(run, "the list has %s (%s) where the model has #%d", task->id,
                       faina_status_name(task->status), at);
        }
        query.cursor = run->t->op.tasks->next_cursor;
    } while (query.cursor);
    while (--at >= 0)
        if (fa_m_is_visible(&run->model->tasks[at]))
            DIFFER(run, "the list lacks #%d", at);
}

static void compare_all(struct run *run)
{
    for (int i = 0; i < run->model->count; i++)
        compare_task(run, i);
    compare_stats(run);
    compare_resources(run);
    compare_list(run);
    fa_t_check_sound(run->t);
    fa_t_forget(run->t);
}

/* ------------------------------------------------------------------------------------------
 * A call
 */

/* The ids of the children that the newest step has made. */
static void learn_children(struct run *run, int parent)
{
    int index = run->known;

    CHECK_OK(run->t, fa_t_children(run->t, run->model->tasks[parent].id, 0, NULL));
    for (size_t i = 0; i < run->t->op.tasks->count; i++) {
        const char *id = run->t->op.tasks->items[i].id;
        bool is_old = false;

        for (int j = 0; j < run->model->count; j++)
            is_old |= strcmp(run->model->tasks[j].id, id) == 0;
        while (index < run->model->count && run->model->tasks[index].id[0])
            index++;
        if (is_old)
            continue;
        if (index == run->model->count)
            DIFFER(run, "#%d has a child %s that the model has not", parent, id);
        memcpy(run->model->tasks[index].id, id, FAINA_ID_SIZE);
    }
}

static void compare_answer(struct run *run, const struct fa_m_step *step, const struct fa_op *op)
{
    if (op->code != step->code)
        DIFFER(run, "%s #%d: %s (%s), the model says %s", fa_op_name(op->kind), step->task,
               faina_code_name(op->code), op->error.message, faina_code_name(step->code));
    if (op->code != FAINA_OK)
        return;
    if (op->kind == FA_OP_SUBMIT) {
        struct fa_m_task *task = &run->model->tasks[step->answer];

        if (op->existing != step->existing || op->input_mismatch != step->input_mismatch)
            DIFFER(run, "submit: existing %d mismatch %d, the model says %d %d", op->existing,
                   op->input_mismatch, step->existing, step->input_mismatch);
        if (task->id[0] == '\0')
            memcpy(task->id, op->task_id, FAINA_ID_SIZE);
        if (strcmp(task->id, op->task_id) != 0)
            DIFFER(run, "submit answered %s, the model #%d", op->task_id, step->answer);
    }
    if (op->kind == FA_OP_BLOCK)
        learn_children(run, step->task);
    if (op->kind == FA_OP_PURGE && op->count != step->answer)
        DIFFER(run, "purged %lld, the model %d", (long long)op->count, step->answer);
}

static void compare_taken(struct run *run, const struct fa_m_step *step, const struct fa_op *op)
{
    if (op->kind != FA_OP_CLAIM_NEXT || op->code != FAINA_OK)
        return;
    for (int i = 0; i < step->taken_count && i < (int)op->tasks->count; i++)
        if (strcmp(op->tasks->items[i].id, run->model->tasks[step->taken[i]].id) != 0)
            DIFFER(run, "claim next: number %d is %s, the model says #%d", i,
                   op->tasks->items[i].id, step->taken[i]);
    if ((int)op->tasks->count != step->taken_count)
        DIFFER(run, "claim next: %zu tasks, the model says %d", op->tasks->count,
               step->taken_count);
}

/* Takes one to BATCH_MAX steps in one call, and compares. A block ends its batch: only then are
 * the ids of its children known. */
static void take_steps(struct run *run)
{
    int want = chance(run, 60) ? 1 : 1 + below(run, BATCH_MAX);
    bool touches[FA_M_TASKS_MAX];

    run->known = run->model->count;
    run->step_count = 0;
    run->focus = -1;
    if (want > 1 && run->known > 0 && chance(run, 50))
        run->focus = choose_task(run);
    fa_arena_reset(&run->arena);
    while (run->step_count < want) {
        struct fa_m_step *step = &run->steps[run->step_count];

        choose_step(run, step);
        make_op(run, step, &run->ops[run->step_count]);
        fa_m_apply(run->model, step);
        log_step(run, step, run->step_count++);
        if (step->kind == FA_OP_BLOCK)
            break;
    }
    fa_t_run_all(run->t, run->ops, (size_t)run->step_count);
    for (int i = 0; i < run->step_count; i++)
        compare_answer(run, &run->steps[i], &run->ops[i]);
    for (int i = 0; i < run->step_count; i++)
        compare_taken(run, &run->steps[i], &run->ops[i]);
    for (int i = 0; i < run->model->count; i++)
        touches[i] = run->model->tasks[i].is_touched;
    for (int i = 0; i < run->step_count; i++)
        if (run->steps[i].task >= 0)
            touches[run->steps[i].task] = true;
    for (int i = 0; i < run->model->count; i++)
        if (touches[i])
            compare_task(run, i);
    fa_t_forget(run->t);
}

static void run_once(struct fa_t *t, uint64_t seed, int64_t steps)
{
    struct run *run = fa_alloc_zero(1, sizeof *run);
    int compared_at = 0;

    run->t = t;
    run->seed = seed;
    run->model = fa_alloc_zero(1, sizeof *run->model);
    fa_m_init(run->model);
    fa_random_seed(&run->random, seed);
    while (run->model->step < steps && run->model->count < FA_M_TASKS_MAX - 64) {
        take_steps(run);
        if (run->model->step - compared_at < COMPARE_EVERY)
            continue;
        compared_at = run->model->step;
        if (t->is_durable && chance(run, 25))
            fa_t_reopen(t);
        compare_all(run);
    }
    compare_all(run);
    fa_arena_finish(&run->arena);
    free(run->model);
    free(run);
}

static int64_t slowness(const struct fa_t *t)
{
    return t->is_served ? 8 : strncmp(t->url, "postgres", 8) == 0 ? 3 : 1;
}

static void test_property__random_steps_follow_the_model(struct fa_t *t)
{
    /* A step over a network takes longer, and the rules behind it are the same. */
    int64_t left = fa_t_env_int("FA_PROPERTY_STEPS", STEPS_DEFAULT) / slowness(t);
    char url[FA_T_PATH_SIZE], store[FA_T_PATH_SIZE];

    memcpy(url, t->url, sizeof url);
    memcpy(store, t->store, sizeof store);
    for (uint64_t seed = fa_t_seed(); left > 0; seed++, left -= STEPS_PER_RUN) {
        run_once(t, seed, left < STEPS_PER_RUN ? left : STEPS_PER_RUN);
        fa_t_close(t);
        /* Another file each time; an engine in memory is new anyway. */
        if (t->is_durable) {
            memcpy(t->url, url, sizeof url);
            memcpy(t->store, store, sizeof store);
            fa_t_set_other_store(t, seed);
        }
        fa_t_open(t);
    }
}

int main(int argc, char **argv)
{
    static const struct fa_t_case cases[] = {
        FA_T_CASE(test_property__random_steps_follow_the_model),
    };

    return fa_t_main(argc, argv, "property", cases, FA_COUNT(cases));
}
