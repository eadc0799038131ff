/*
 * model.c - the rules of design.md over plain arrays.
 */
#include "property/model.h"

#include <limits.h>
#include <string.h>

void fa_m_init(struct fa_m *model)
{
    memset(model, 0, sizeof *model);
    for (int i = 0; i < FA_M_RESOURCES; i++)
        model->limits[i] = -1;
}

bool fa_m_is_visible(const struct fa_m_task *task)
{
    return !task->is_deleted && !task->is_purged;
}

bool fa_m_has_ended(enum faina_status status)
{
    return status == FAINA_COMPLETED || status == FAINA_FAILED || status == FAINA_DEAD_LETTER ||
           status == FAINA_CANCELLED;
}

static bool ended_badly(const struct fa_m_task *task)
{
    return fa_m_has_ended(task->status) && task->status != FAINA_COMPLETED;
}

static bool is_held(const struct fa_m_task *task)
{
    return task->status == FAINA_CLAIMED || task->status == FAINA_RUNNING;
}

/* Claimed, running and background tasks hold their resources. */
static bool uses(const struct fa_m_task *task)
{
    return is_held(task) || task->status == FAINA_BACKGROUND;
}

int64_t fa_m_in_use(const struct fa_m *model, int resource)
{
    int64_t count = 0;

    for (int i = 0; i < model->count; i++)
        count += uses(&model->tasks[i]) && (model->tasks[i].resources & (1u << resource));
    return count;
}

static bool has_permits(const struct fa_m *model, unsigned resources)
{
    for (int i = 0; i < FA_M_RESOURCES; i++)
        if ((resources & (1u << i)) && model->limits[i] >= 0 &&
            fa_m_in_use(model, i) >= model->limits[i])
            return false;
    return true;
}

/* ------------------------------------------------------------------------------------------
 * Moves
 */

static void end_task(struct fa_m *model, struct fa_m_task *task, enum faina_status status)
{
    task->status = status;
    task->ended_at = model->step;
    task->worker = FA_M_NOBODY;
    task->continues = task->is_later = false;
    task->is_touched = true;
}

static void take(struct fa_m_task *task, int worker, enum faina_status status)
{
    task->status = status;
    task->worker = worker;
    task->is_resumed = task->continues;
    if (!task->continues) {
        task->attempts++;
        task->asked = 0;
    }
    task->continues = task->is_later = false;
    task->has_outcome = false;
    task->is_touched = task->is_claimed = task->was_claimed = true;
}

static void put_in_line(struct fa_m_task *task)
{
    task->status = FAINA_PENDING;
    task->worker = FA_M_NOBODY;
    task->is_later = task->continues = false;
    task->is_touched = true;
}

/* Back from claimed, running or an end: from the beginning. It waits for its dependencies again. */
static void reopen(struct fa_m *model, struct fa_m_task *task, bool keeps)
{
    put_in_line(task);
    task->phase = FAINA_PHASE_START;
    task->progress = 0;
    task->output = -1;
    task->has_outcome = false;
    task->waits_for_children = task->fail_fast = false;
    if (!keeps)
        task->attempts = 0;
    for (int i = 0; i < task->dep_count; i++) {
        const struct fa_m_task *dep = &model->tasks[task->deps[i]];

        task->is_forgotten[i] = !fa_m_is_visible(dep);
        if (task->is_forgotten[i])
            continue;
        if (!fa_m_has_ended(dep->status))
            task->status = FAINA_BLOCKED;
        else if (ended_badly(dep) && !task->has_children)
            task->phase = FAINA_PHASE_ERROR;
    }
    if (task->status == FAINA_BLOCKED)
        task->phase = FAINA_PHASE_START;
}

/* How many a blocked task still waits for, and how many of them ended badly. */
static void look_around(const struct fa_m *model, int index, int *left, int *bad)
{
    const struct fa_m_task *task = &model->tasks[index];

    *left = *bad = 0;
    if (!task->waits_for_children) {
        for (int i = 0; i < task->dep_count; i++) {
            const struct fa_m_task *dep = &model->tasks[task->deps[i]];

            *left += !task->is_forgotten[i] && !fa_m_has_ended(dep->status);
            *bad += !task->is_forgotten[i] && ended_badly(dep);
        }
        return;
    }
    for (int i = 0; i < model->count; i++) {
        const struct fa_m_task *child = &model->tasks[i];

        if (child->parent != index)
            continue;
        *left += !fa_m_has_ended(child->status);
        *bad += ended_badly(child) && child->ended_at > task->blocked_at;
    }
}

/* Lets every blocked task go on that waits for nothing more. */
static void settle(struct fa_m *model)
{
    for (int i = 0; i < model->count; i++) {
        struct fa_m_task *task = &model->tasks[i];
        bool was_for_children = task->waits_for_children;
        int left, bad;

        if (task->status != FAINA_BLOCKED)
            continue;
        look_around(model, i, &left, &bad);
        if (left > 0 && !(task->fail_fast && bad > 0))
            continue;
        put_in_line(task);
        task->waits_for_children = task->fail_fast = false;
        if (was_for_children) {
            task->phase = bad > 0 ? FAINA_PHASE_ERROR : FAINA_PHASE_RESUME;
            task->continues = true;
        } else {
            task->phase = bad > 0 ? FAINA_PHASE_ERROR : FAINA_PHASE_START;
            task->is_later = task->has_run_at;
        }
    }
}

/* ------------------------------------------------------------------------------------------
 * Refusals
 */

/* What a worker is told about a task that has ended. OK: it has not. */
static enum faina_code refuse_ended(const struct fa_m_task *task)
{
    if (task->status == FAINA_COMPLETED)
        return FAINA_TASK_COMPLETED;
    if (task->status == FAINA_FAILED || task->status == FAINA_DEAD_LETTER)
        return FAINA_TASK_FAILED;
    return task->status == FAINA_CANCELLED ? FAINA_INVALID_TRANSITION : FAINA_OK;
}

/* May this one speak for the task? Nobody in particular may, when no worker holds it. */
static enum faina_code check_holder(const struct fa_m_task *task, const struct fa_m_step *step)
{
    if (step->fence != 0 && step->fence != task->fence)
        return FAINA_WRONG_WORKER;
    if (is_held(task) && task->worker != FA_M_NOBODY && step->worker != task->worker)
        return FAINA_WRONG_WORKER;
    return FAINA_OK;
}

/* The same for work that is allowed in some statuses: a set of (1u << status). */
static enum faina_code check_work(const struct fa_m_task *task, const struct fa_m_step *step,
                                  unsigned allowed)
{
    enum faina_code code = refuse_ended(task);

    if (code != FAINA_OK)
        return code;
    if (!(allowed & (1u << task->status)))
        return task->status == FAINA_PENDING ? FAINA_TASK_NOT_CLAIMED : FAINA_INVALID_TRANSITION;
    return check_holder(task, step);
}

#define IN(status) (1u << FAINA_##status)
#define USING (IN(CLAIMED) | IN(RUNNING) | IN(BACKGROUND))

/* ------------------------------------------------------------------------------------------
 * Submit
 */

static struct fa_m_task *add_task(struct fa_m *model, const struct fa_m_submit *submit)
{
    struct fa_m_task *task = &model->tasks[model->count++];
    bool is_bad = false;

    *task = (struct fa_m_task){
        .status = FAINA_PENDING,
        .ns = submit->ns,
        .type = submit->type,
        .priority = submit->priority,
        .resources = submit->resources,
        .key = submit->key,
        .input = submit->input,
        .max_attempts = submit->max_attempts,
        .worker = FA_M_NOBODY,
        .output = -1,
        .is_later = submit->is_later,
        .has_run_at = submit->is_later,
        .parent = -1,
        .is_touched = true,
    };
    for (int i = 0; i < submit->dep_count; i++) {
        const struct fa_m_task *dep = &model->tasks[submit->deps[i]];

        task->deps[task->dep_count++] = submit->deps[i];
        if (!fa_m_has_ended(dep->status))
            task->status = FAINA_BLOCKED;
        is_bad |= ended_badly(dep);
    }
    if (task->status == FAINA_PENDING && is_bad)
        task->phase = FAINA_PHASE_ERROR;
    return task;
}

/* A task can only wait for tasks that are there. */
static enum faina_code check_deps(const struct fa_m *model, const struct fa_m_submit *submit)
{
    for (int i = 0; i < submit->dep_count; i++)
        if (!fa_m_is_visible(&model->tasks[submit->deps[i]]))
            return FAINA_INVALID_TASK;
    return FAINA_OK;
}

static void do_submit(struct fa_m *model, struct fa_m_step *step)
{
    const struct fa_m_submit *submit = &step->submits[0];

    for (int i = 0; i < model->count && submit->key >= 0; i++) {
        const struct fa_m_task *task = &model->tasks[i];

        if (fa_m_is_visible(task) && task->key == submit->key && task->ns == submit->ns &&
            task->type == submit->type) {
            step->existing = true;
            step->input_mismatch = task->input != submit->input;
            step->answer = i;
            return;
        }
    }
    step->code = check_deps(model, submit);
    if (step->code != FAINA_OK)
        return;
    add_task(model, submit);
    step->answer = model->count - 1;
}

/* ------------------------------------------------------------------------------------------
 * Claiming
 */

static void do_claim(struct fa_m *model, struct fa_m_step *step, struct fa_m_task *task)
{
    if (is_held(task) && task->worker == step->worker)
        return;
    step->code = refuse_ended(task);
    if (step->code != FAINA_OK)
        return;
    if (task->status != FAINA_PENDING)
        step->code =
            task->status == FAINA_BLOCKED ? FAINA_INVALID_TRANSITION : FAINA_TASK_ALREADY_CLAIMED;
    else if (!has_permits(model, task->resources))
        step->code = FAINA_OVERLOADED;
    else
        take(task, step->worker, FAINA_CLAIMED);
}

static void do_start(struct fa_m *model, struct fa_m_step *step, struct fa_m_task *task)
{
    if (task->status == FAINA_PENDING) {
        if (step->fence != 0)
            step->code = FAINA_TASK_NOT_CLAIMED;
        else if (!has_permits(model, task->resources))
            step->code = FAINA_OVERLOADED;
        else
            take(task, step->worker, FAINA_RUNNING);
        return;
    }
    if (task->status == FAINA_RUNNING && task->worker != FA_M_NOBODY) {
        step->code = check_holder(task, step); /* again: nothing changes */
        return;
    }
    step->code = check_work(task, step, IN(CLAIMED));
    if (step->code != FAINA_OK)
        return;
    task->status = FAINA_RUNNING;
    task->is_touched = true;
}

static bool is_wanted(const struct fa_m *model, const struct fa_m_step *step,
                      const struct fa_m_task *task)
{
    return task->status == FAINA_PENDING && !task->is_later &&
           (step->claim_types == 0 || (step->claim_types & (1u << task->type))) &&
           (step->claim_namespaces == 0 || (step->claim_namespaces & (1u << task->ns))) &&
           !model->is_paused[task->ns][task->type] &&
           (!step->has_services || (task->resources & ~step->services) == 0) &&
           has_permits(model, task->resources);
}

/* Highest priority first, then oldest, one after the other: each takes its permits at once. */
static void do_claim_next(struct fa_m *model, struct fa_m_step *step)
{
    while (step->taken_count < step->limit) {
        int best = -1;

        for (int i = 0; i < model->count; i++)
            if (is_wanted(model, step, &model->tasks[i]) &&
                (best < 0 || model->tasks[i].priority > model->tasks[best].priority))
                best = i;
        if (best < 0)
            return;
        take(&model->tasks[best], step->worker, FAINA_CLAIMED);
        step->taken[step->taken_count++] = best;
    }
}

/* ------------------------------------------------------------------------------------------
 * Outcomes
 */

/* The same worker says the same thing again, and nothing has happened since. */
static bool is_repeat(const struct fa_m_task *task, const struct fa_m_step *step)
{
    return task->has_outcome && task->outcome_worker == step->worker &&
           task->outcome_value == step->value && (step->fence == 0 || step->fence == task->fence);
}

static void note_outcome(struct fa_m_task *task, const struct fa_m_step *step)
{
    task->has_outcome = true;
    task->outcome_worker = step->worker;
    task->outcome_value = step->value;
    task->outcome_permanent = step->is_permanent;
}

static void do_complete(struct fa_m *model, struct fa_m_step *step, struct fa_m_task *task)
{
    if (task->status == FAINA_COMPLETED && is_repeat(task, step))
        return;
    step->code = check_work(task, step, USING);
    if (step->code != FAINA_OK)
        return;
    note_outcome(task, step);
    end_task(model, task, FAINA_COMPLETED);
    task->output = step->value;
    task->progress = 100;
}

static void do_fail(struct fa_m *model, struct fa_m_step *step, struct fa_m_task *task)
{
    bool has_failed = ended_badly(task) && task->status != FAINA_CANCELLED;

    /* A failed attempt that went back in line is told again by its worker only. */
    if ((has_failed || (task->status == FAINA_PENDING && step->worker != FA_M_NOBODY)) &&
        is_repeat(task, step) && task->outcome_permanent == step->is_permanent)
        return;
    /* A pending task may be given up by a person, but not by a worker that has lost it. */
    if (task->status == FAINA_PENDING && task->was_claimed &&
        (step->worker != FA_M_NOBODY || step->fence != 0))
        step->code = FAINA_TASK_NOT_CLAIMED;
    else
        step->code = check_work(task, step, USING | (step->is_permanent ? IN(PENDING) : 0));
    if (step->code != FAINA_OK)
        return;
    note_outcome(task, step);
    if (step->is_permanent) {
        end_task(model, task, FAINA_FAILED);
    } else if (task->max_attempts > 0 && task->attempts >= task->max_attempts) {
        end_task(model, task, FAINA_DEAD_LETTER);
    } else {
        put_in_line(task);
        task->is_later = true;
        if (task->has_children || task->dep_count == 0)
            task->phase = FAINA_PHASE_START;
    }
}

static void do_progress(struct fa_m_step *step, struct fa_m_task *task)
{
    step->code = check_work(task, step, USING);
    if (step->code != FAINA_OK)
        return;
    task->progress = step->value;
    task->is_touched = true;
}

static void do_heartbeat(struct fa_m_step *step, struct fa_m_task *task)
{
    step->code = refuse_ended(task);
    if (step->code == FAINA_OK && (!is_held(task) || task->worker == FA_M_NOBODY))
        step->code = FAINA_TASK_NOT_CLAIMED;
    if (step->code == FAINA_OK)
        step->code = check_holder(task, step);
}

static void do_release(struct fa_m_step *step, struct fa_m_task *task)
{
    bool was_resumed = task->is_resumed;

    step->code = check_work(task, step, IN(CLAIMED));
    if (step->code != FAINA_OK)
        return;
    put_in_line(task);
    task->continues = was_resumed;
    task->attempts -= !was_resumed;
    task->is_later = task->has_run_at; /* not before its time, which an early claim is ahead of */
}

static void do_background(struct fa_m_step *step, struct fa_m_task *task)
{
    step->code = check_work(task, step, IN(RUNNING));
    if (step->code != FAINA_OK)
        return;
    task->status = FAINA_BACKGROUND;
    task->worker = FA_M_NOBODY;
    task->is_touched = true;
}

/* What a list of subtasks means. */
struct asking {
    const struct fa_m_step *step;
    int parent;
    int asked, stored;            /* by the attempt before, and how many the parent has */
    bool is_same;                 /* the attempt has asked for these before */
    int names[FA_M_CHILDREN_MAX]; /* what tells them from the others: 0.. a name, -1.. a place */
    bool is_refused;              /* a name is that of another subtask */
};

/* By their names, else by their places: the list begins at `first`. */
static void name_children(struct asking *asking, int first)
{
    for (int i = 0; i < asking->step->submit_count; i++) {
        int name = asking->step->submits[i].child;

        asking->names[i] = name >= 0 ? name : -1 - (first + i);
    }
}

/* The child that number `i` of the list means. */
static struct fa_m_task *find_child(struct fa_m *model, const struct asking *asking, int i)
{
    for (int j = 0; j < model->count; j++)
        if (model->tasks[j].parent == asking->parent && model->tasks[j].child == asking->names[i] &&
            fa_m_is_visible(&model->tasks[j]))
            return &model->tasks[j];
    return NULL;
}

static bool is_like(const struct fa_m_task *child, const struct fa_m_submit *submit)
{
    return child != NULL && child->type == submit->type && child->input == submit->input;
}

/* Whether those without names are what was asked for from the place `first` on, as far as that
 * goes, and there are some. */
static bool begins_at(struct fa_m *model, struct asking *asking, int first)
{
    bool has_any = false;

    name_children(asking, first);
    for (int i = 0; i < asking->step->submit_count && first + i < asking->asked; i++) {
        const struct fa_m_submit *submit = &asking->step->submits[i];

        if (submit->child >= 0)
            continue;
        if (!is_like(find_child(model, asking, i), submit))
            return false;
        has_any = true;
    }
    return has_any;
}

/* A place where a child without a name stands that is like this one, that no other of the list
 * means, and that the attempt has not come to before; 0: none. */
static int find_elsewhere(struct fa_m *model, const struct asking *asking, int i)
{
    int best = 0;

    for (int j = 0; j < model->count; j++) {
        const struct fa_m_task *child = &model->tasks[j];
        bool is_meant = child->parent != asking->parent || child->child >= 0 ||
                        -1 - child->child < asking->asked || !fa_m_is_visible(child) ||
                        !is_like(child, &asking->step->submits[i]);

        for (int k = 0; k < asking->step->submit_count; k++)
            is_meant |= asking->names[k] == child->child;
        if (!is_meant && (best == 0 || child->child > best))
            best = child->child;
    }
    return best;
}

/* Those without a name that are not what stands at their places mean other ones, or new ones. */
static void settle_names(struct fa_m *model, struct asking *asking)
{
    int first = 0, next = 0;
    bool is_open[FA_M_CHILDREN_MAX] = {false};

    for (int j = 0; j < model->count; j++) {
        const struct fa_m_task *child = &model->tasks[j];

        if (child->parent == asking->parent && !child->is_purged && -1 - child->child >= next)
            next = -child->child;
    }
    for (int i = 0; i < asking->step->submit_count; i++) {
        const struct fa_m_submit *submit = &asking->step->submits[i];
        const struct fa_m_task *child = find_child(model, asking, i);

        asking->is_refused |= submit->child >= 0 && child != NULL && !is_like(child, submit);
        is_open[i] = submit->child < 0 && !is_like(child, submit);
        if (submit->child < 0)
            first = -1 - asking->names[i] - i;
    }
    for (int i = 0; i < asking->step->submit_count; i++)
        if (is_open[i])
            asking->names[i] = INT_MIN;
    for (int i = 0; i < asking->step->submit_count; i++) {
        if (!is_open[i])
            continue;
        asking->names[i] = find_elsewhere(model, asking, i);
        if (asking->names[i] != 0)
            continue;
        next = first + i > next ? first + i : next;
        asking->names[i] = -1 - next++;
    }
}

static struct asking ask(struct fa_m *model, const struct fa_m_step *step, int index)
{
    struct asking asking = {.step = step, .parent = index};

    if (model->tasks[index].is_resumed)
        asking.asked = model->tasks[index].asked;
    for (int i = 0; i < model->count; i++)
        asking.stored += model->tasks[i].parent == index && !model->tasks[i].is_purged;
    asking.is_same = begins_at(model, &asking, 0);
    if (!asking.is_same && asking.asked > step->submit_count)
        asking.is_same = begins_at(model, &asking, asking.asked - step->submit_count);
    if (!asking.is_same)
        name_children(&asking, asking.asked);
    settle_names(model, &asking);
    return asking;
}

/* Whether the block gets the task any further: a child is new, or lives, or the attempt has not
 * asked for it yet. */
static bool goes_further(struct fa_m *model, const struct asking *asking)
{
    if (!asking->is_same && asking->asked + asking->step->submit_count <= asking->stored)
        return true;
    for (int i = 0; i < asking->step->submit_count; i++)
        if (find_child(model, asking, i) == NULL)
            return true;
    for (int i = 0; i < model->count; i++)
        if (model->tasks[i].parent == asking->parent && !fa_m_has_ended(model->tasks[i].status))
            return true;
    return false;
}

/* Two of one name that are not the same. */
static bool has_rivals(const struct fa_m_step *step)
{
    for (int i = 0; i < step->submit_count; i++)
        for (int j = 0; j < i; j++) {
            const struct fa_m_submit *a = &step->submits[i], *b = &step->submits[j];

            if (a->child >= 0 && a->child == b->child &&
                (a->type != b->type || a->input != b->input))
                return true;
        }
    return false;
}

/* Whether a task that has not ended is `parent`, or is above it, or waits for one of these. */
static bool waits_for(const struct fa_m *model, int index, int parent, bool *seen)
{
    const struct fa_m_task *task = &model->tasks[index];

    if (seen[index] || fa_m_has_ended(task->status))
        return false;
    seen[index] = true;
    for (int above = parent; above >= 0; above = model->tasks[above].parent) {
        if (above == index)
            return true;
        if (model->tasks[above].is_purged)
            break;
    }
    if (task->status != FAINA_BLOCKED)
        return false;
    for (int i = 0; i < task->dep_count && !task->waits_for_children; i++)
        if (!task->is_forgotten[i] && waits_for(model, task->deps[i], parent, seen))
            return true;
    for (int i = 0; i < model->count && task->waits_for_children; i++)
        if (model->tasks[i].parent == index && waits_for(model, i, parent, seen))
            return true;
    return false;
}

/* Whether one of the list would wait for ever: it is new, or queued again. */
static bool closes_ring(struct fa_m *model, const struct asking *asking)
{
    bool seen[FA_M_TASKS_MAX] = {false};

    for (int i = 0; i < asking->step->submit_count; i++) {
        const struct fa_m_task *child = find_child(model, asking, i);
        const struct fa_m_submit *submit = &asking->step->submits[i];

        if (child != NULL && !ended_badly(child))
            continue;
        for (int k = 0; k < (child ? child->dep_count : submit->dep_count); k++) {
            int dep = child ? child->deps[k] : submit->deps[k];

            if (waits_for(model, dep, asking->parent, seen))
                return true;
        }
    }
    return false;
}

static void do_block(struct fa_m *model, struct fa_m_step *step, int index)
{
    struct fa_m_task *task = &model->tasks[index];
    struct asking asking = ask(model, step, index);

    step->code = check_work(task, step, IN(RUNNING));
    if (step->code == FAINA_OK && asking.is_refused)
        step->code = FAINA_INVALID_REQUEST;
    for (int i = 0; i < step->submit_count && step->code == FAINA_OK; i++)
        if (find_child(model, &asking, i) == NULL)
            step->code = check_deps(model, &step->submits[i]);
    if (step->code == FAINA_OK && closes_ring(model, &asking))
        step->code = FAINA_INVALID_TASK;
    if (step->code == FAINA_OK && task->is_resumed && !goes_further(model, &asking))
        step->code = FAINA_INVALID_REQUEST;
    if (step->code != FAINA_OK)
        return;
    for (int i = 0; i < step->submit_count; i++) {
        struct fa_m_task *child = find_child(model, &asking, i);

        if (child == NULL) {
            child = add_task(model, &step->submits[i]);
            child->parent = index;
            child->child = asking.names[i];
            child->ns = task->ns;
        } else if (ended_badly(child)) {
            reopen(model, child, false);
        }
    }
    if (!asking.is_same)
        task->asked = asking.asked + step->submit_count;
    else if (step->submit_count > asking.asked)
        task->asked = step->submit_count;
    else
        task->asked = asking.asked;
    task->status = FAINA_BLOCKED;
    task->worker = FA_M_NOBODY;
    task->has_children = task->waits_for_children = true;
    task->fail_fast = step->fail_fast;
    task->blocked_at = model->step;
    task->is_touched = true;
}

/* ------------------------------------------------------------------------------------------
 * Managing
 */

static void cancel_tree(struct fa_m *model, int index)
{
    if (fa_m_has_ended(model->tasks[index].status))
        return;
    end_task(model, &model->tasks[index], FAINA_CANCELLED);
    for (int i = 0; i < model->count; i++)
        if (model->tasks[i].parent == index)
            cancel_tree(model, i);
}

static void do_cancel(struct fa_m *model, struct fa_m_step *step, int index)
{
    struct fa_m_task *task = &model->tasks[index];

    if (task->status != FAINA_CANCELLED)
        step->code = refuse_ended(task);
    if (step->code == FAINA_OK)
        cancel_tree(model, index);
}

static void do_retry(struct fa_m *model, struct fa_m_step *step, struct fa_m_task *task)
{
    if (task->status == FAINA_COMPLETED)
        step->code = FAINA_TASK_COMPLETED;
    else if (!is_held(task) && !ended_badly(task))
        step->code = FAINA_INVALID_TRANSITION;
    else if (step->keeps && task->max_attempts > 0 && task->attempts >= task->max_attempts)
        step->code = FAINA_MAX_ATTEMPTS_REACHED;
    else
        reopen(model, task, step->keeps);
}

static void do_delete(struct fa_m *model, struct fa_m_step *step, int index)
{
    struct fa_m_task *task = &model->tasks[index];

    if (step->cancels)
        cancel_tree(model, index);
    if (!fa_m_has_ended(task->status))
        step->code = FAINA_TASK_ACTIVE;
    else if (step->purges)
        task->is_purged = true;
    else
        task->is_deleted = true;
}

/* All ended tasks of a type, or those among them that are out of view already. */
static void do_purge(struct fa_m *model, struct fa_m_step *step)
{
    step->answer = 0;
    for (int i = 0; i < model->count; i++) {
        struct fa_m_task *task = &model->tasks[i];

        if (task->is_purged || !fa_m_has_ended(task->status) || task->type != step->type ||
            (step->value && !task->is_deleted))
            continue;
        task->is_purged = true;
        step->answer++;
    }
}

/* ------------------------------------------------------------------------------------------
 * All of them
 */

static void apply_to_task(struct fa_m *model, struct fa_m_step *step)
{
    struct fa_m_task *task = &model->tasks[step->task];
    bool reaches_deleted = step->kind == FA_OP_DELETE && step->purges && !task->is_purged;

    if (step->kind == FA_OP_BLOCK && has_rivals(step)) {
        step->code = FAINA_INVALID_REQUEST; /* at the door */
        return;
    }
    if (!fa_m_is_visible(task) && !reaches_deleted) {
        step->code = FAINA_TASK_NOT_FOUND;
        return;
    }
    switch (step->kind) {
    case FA_OP_CLAIM:
        do_claim(model, step, task);
        break;
    case FA_OP_START:
        do_start(model, step, task);
        break;
    case FA_OP_PROGRESS:
        do_progress(step, task);
        break;
    case FA_OP_HEARTBEAT:
        do_heartbeat(step, task);
        break;
    case FA_OP_COMPLETE:
        do_complete(model, step, task);
        break;
    case FA_OP_FAIL:
        do_fail(model, step, task);
        break;
    case FA_OP_BLOCK:
        do_block(model, step, step->task);
        break;
    case FA_OP_BACKGROUND:
        do_background(step, task);
        break;
    case FA_OP_RELEASE:
        do_release(step, task);
        break;
    case FA_OP_CANCEL:
        do_cancel(model, step, step->task);
        break;
    case FA_OP_RETRY:
        do_retry(model, step, task);
        break;
    case FA_OP_DELETE:
        do_delete(model, step, step->task);
        break;
    default: /* a look */
        break;
    }
}

void fa_m_apply(struct fa_m *model, struct fa_m_step *step)
{
    model->step++;
    step->code = FAINA_OK;
    step->answer = -1;
    switch (step->kind) {
    case FA_OP_SUBMIT:
        do_submit(model, step);
        break;
    case FA_OP_CLAIM_NEXT:
        do_claim_next(model, step);
        break;
    case FA_OP_PURGE:
        do_purge(model, step);
        break;
    case FA_OP_PAUSE:
    case FA_OP_RESUME:
        model->is_paused[step->ns][step->type] = step->kind == FA_OP_PAUSE;
        break;
    case FA_OP_RESOURCE_SET:
        model->limits[step->resource] = step->value;
        model->is_set[step->resource] = true;
        break;
    case FA_OP_RESOURCE_REMOVE:
        if (!model->is_set[step->resource])
            step->code = FAINA_NOT_FOUND;
        model->is_set[step->resource] = false;
        model->limits[step->resource] = -1;
        break;
    default:
        apply_to_task(model, step);
        break;
    }
    settle(model);
}
