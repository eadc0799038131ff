/*
 * schedules.c - schedules: stores them, and makes the tasks that are due.
 *
 *   J1  A time of a schedule makes at most one task: its key is cron:NAME:TIME.
 *   J2  The tasks and the update of next_us are one transaction. Where the store is shared, the
 *       update fails if another node has changed the schedule meanwhile; then no task is made.
 *   J3  A schedule that can't make its task (its team or its time zone is missing) has the reason
 *       in `problem`, and delays no other schedule. Times that are left out are in `problem`, too.
 *
 * A late time makes its task until the next one is due, for at least 10 and at most 60 seconds.
 * When the earliest time without a task is longer ago, the engine was down, and catch_up decides:
 * no task, one for the latest of these times, or one for each.
 *
 * The task of the time before is found by its key. If it has not ended, `overlap` decides.
 */
#include "store/read/lookup.h"
#include "store/queue/ops.h"
#include "store/read/pages.h"

#include "base/hash.h"
#include "model/times.h"
#include "wire/schedule_body.h"
#include "store/upkeep/chore_scope.h"
#include "store/db/fleet.h"
#include "store/txn/row_check.h"

#define LATE_US_MIN 10000000 /* how late a time may be, if the next one follows soon */
#define IN_TIME_MAX (LATE_US_MIN / 1000000 + 1)
#define MISSED_MAX 1000   /* times that are counted as missed at once */
#define AGAIN_US 60000000 /* a schedule that can't be read is tried again after this */

enum {
    NS,
    NAME,
    SCHEDULE,
    TIMEZONE,
    TASK,
    CATCH_UP,
    OVERLAP,
    JITTER,
    PAUSED,
    NEXT,
    LAST,
    PROBLEM,
    CREATED,
    UPDATED,
    VERSION,
    COLUMN_COUNT
};

struct job_list {
    struct fa_source *source;
    struct fa_arena *arena;
    struct fa_pager pager;
    struct fa_cron_job *items;
    size_t count, size;
    const char *damage; /* of the last row that was damaged, and left out; NULL: none was */
};

/* The key that cron_due.sql uses for set_aside. */
static const char *item_key(struct fa_arena *arena, const char *ns, const char *name)
{
    return fa_arena_printf(arena, "%s/%s", ns ? ns : "", name ? name : "");
}

static void sink_job(void *ctx, size_t row, const struct fa_value *c)
{
    static const struct fa_form form = {
        "cron", "xxxxxnnmnTTXttn",
        "namespace name schedule timezone task catch_up overlap jitter_ms paused next_us last_us "
        "problem created_us updated_us version"};
    struct job_list *list = ctx;
    int64_t catch_up = fa_value_as_int(&c[CATCH_UP]), overlap = fa_value_as_int(&c[OVERLAP]);
    const char *damage = fa_form_check(&form, c, list->arena);

    (void)row;
    if (damage != NULL) {
        list->damage = damage;
        fa_aside_report(list->source->aside, FA_ASIDE_SCHEDULE,
                        item_key(list->arena, fa_value_dup(&c[NS], list->arena),
                                 fa_value_dup(&c[NAME], list->arena)),
                        NULL, damage, fa_db_now(list->source->db));
        (void)fa_pager_skip_row(&list->pager, c, COLUMN_COUNT);
        return;
    }
    if (!fa_pager_take_row(&list->pager, c, COLUMN_COUNT))
        return;
    list->items =
        fa_arena_grow(list->arena, list->items, list->count, &list->size, sizeof(*list->items));
    list->items[list->count++] = (struct fa_cron_job){
        .ns = fa_value_dup(&c[NS], list->arena),
        .name = fa_value_dup(&c[NAME], list->arena),
        .schedule = fa_value_dup(&c[SCHEDULE], list->arena),
        .timezone = fa_value_dup(&c[TIMEZONE], list->arena),
        .task = fa_value_dup(&c[TASK], list->arena),
        .catch_up = catch_up > 0 && catch_up < FA_CATCH_UP_COUNT ? (enum fa_catch_up)catch_up
                                                                 : FA_CATCH_UP_NONE,
        .overlap =
            overlap > 0 && overlap < FA_OVERLAP_COUNT ? (enum fa_overlap)overlap : FA_OVERLAP_ALLOW,
        .jitter_ms = fa_value_as_int(&c[JITTER]),
        .is_paused = fa_value_as_int(&c[PAUSED]) != 0,
        .next_us = fa_value_as_int(&c[NEXT]),
        .last_us = fa_value_as_int(&c[LAST]),
        .problem = fa_value_dup(&c[PROBLEM], list->arena),
        .created_us = fa_value_as_int(&c[CREATED]),
        .updated_us = fa_value_as_int(&c[UPDATED]),
        .version = fa_value_as_int(&c[VERSION]),
    };
}

static void sink_found(void *ctx, size_t row, const struct fa_value *columns)
{
    (void)row;
    (void)columns;
    *(bool *)ctx = true;
}

static enum faina_code refuse_damage(const struct job_list *list, const char *name,
                                     struct faina_error *err)
{
    if (list->damage == NULL)
        return FAINA_OK;
    return fa_error_set(err, FAINA_INTERNAL,
                        "schedule %.200s is damaged: %s; remove it and store it again", name,
                        list->damage);
}

/* *out is NULL if there is none. */
static enum faina_code find_job(struct fa_source *source, const char *ns, const char *name,
                                struct fa_arena *arena, struct fa_cron_job **out,
                                struct faina_error *err)
{
    struct fa_value params[2] = {fa_value_text(ns ? ns : "default"), fa_value_text(name)};
    struct job_list list = {.source = source, .arena = arena};
    enum faina_code code = fa_db_one(source->db, FA_SQL_CRON_GET, params, 2, sink_job, &list, err);

    *out = list.items;
    return code == FAINA_OK ? refuse_damage(&list, name, err) : code;
}

static enum faina_code refuse_missing(struct fa_op *op)
{
    return fa_error_set(&op->error, FAINA_NOT_FOUND, "namespace %.200s has no schedule %.200s",
                        op->name.ns ? op->name.ns : "default", op->id);
}

/* Listing ------------------------------------------------------------------------------------- */

static enum faina_code read_jobs(struct fa_source *source, struct fa_op *op, const char *ns,
                                 struct job_list *list)
{
    struct fa_list_query query = {.sql = FA_SQL_CRON_LIST,
                                  .params = {fa_value_text(strcmp(ns, "*") == 0 ? NULL : ns)},
                                  .param_count = 4,
                                  .after_at = 1,
                                  .limit_at = 3,
                                  .key_at = NS,
                                  .key_count = 2,
                                  .sink = sink_job,
                                  .sink_ctx = list};

    return fa_pager_read(&list->pager, source->db, &query, op->part.cursor, op->arena,
                         &op->next_cursor, &op->error);
}

/* What is shown as JSON must be JSON. When it is due, `problem` gives the reason (J3). */
static void hide_damage(struct fa_source *source, struct fa_cron_job *job, struct fa_arena *arena)
{
    struct fa_value name = fa_value_text(job->name);

    if (fa_is_json(job->task))
        return;
    (void)fa_aside_report_row(source->aside, "cron", &name, "column task is not JSON", arena,
                              fa_db_now(source->db));
    job->task = "null";
}

/* Lists the default namespace, or all with "*". */
enum faina_code fa_read_crons(struct fa_source *source, struct fa_op *op)
{
    const char *ns = op->name.ns ? op->name.ns : "default";
    struct fa_value params[2] = {fa_value_text(ns), fa_value_text(op->id)};
    struct job_list list = {
        .source = source, .arena = op->arena, .pager = fa_pager_of_part(&op->part)};
    enum faina_code code =
        op->id ? fa_db_one(source->db, FA_SQL_CRON_GET, params, 2, sink_job, &list, &op->error)
               : read_jobs(source, op, ns, &list);

    if (code == FAINA_OK && op->id != NULL)
        code = refuse_damage(&list, op->id, &op->error);
    if (code == FAINA_OK && op->id != NULL && list.count == 0)
        code = refuse_missing(op);
    if (code != FAINA_OK)
        return code;
    for (size_t i = 0; i < list.count; i++)
        hide_damage(source, &list.items[i], op->arena);
    op->crons = fa_arena_zero(op->arena, 1, sizeof(*op->crons));
    op->crons->items = list.items;
    op->crons->count = list.count;
    return FAINA_OK;
}

/* Changing ------------------------------------------------------------------------------------ */

/* A change that keeps the times skips none of them. */
static bool keeps_times(const struct fa_cron_job *old, const struct fa_cron_job *job)
{
    return old != NULL && !old->is_paused && old->next_us != 0 &&
           strcmp(old->schedule, job->schedule) == 0 && strcmp(old->timezone, job->timezone) == 0;
}

static enum faina_code set_next(struct fa_unit *unit, const struct fa_cron_job *old,
                                struct fa_cron_job *job, struct faina_error *err)
{
    struct fa_zone *zone = NULL;
    struct fa_cron cron;
    enum faina_code code;

    job->next_us = 0;
    if (job->is_paused)
        return FAINA_OK;
    if (keeps_times(old, job)) {
        job->next_us = old->next_us;
        return FAINA_OK;
    }
    code = fa_cron_times(job, &cron, &zone, err);
    if (code == FAINA_OK && !fa_cron_next(&cron, zone, unit->now_us, &job->next_us))
        job->next_us = 0;
    fa_zone_close(zone);
    return code;
}

/* *was_stored is false if another node has changed the schedule since it was read. */
static enum faina_code store_job(struct fa_unit *unit, const struct fa_cron_job *job, bool is_new,
                                 bool *was_stored, struct faina_error *err)
{
    struct fa_value params[COLUMN_COUNT] = {
        [NS] = fa_value_text(job->ns),
        [NAME] = fa_value_text(job->name),
        [SCHEDULE] = fa_value_text(job->schedule),
        [TIMEZONE] = fa_value_text(job->timezone),
        [TASK] = fa_value_text(job->task),
        [CATCH_UP] = fa_value_int(job->catch_up),
        [OVERLAP] = fa_value_int(job->overlap),
        [JITTER] = fa_value_int(job->jitter_ms),
        [PAUSED] = fa_value_int(job->is_paused),
        [NEXT] = fa_value_int_or_null(job->next_us),
        [LAST] = fa_value_int_or_null(job->last_us),
        [PROBLEM] = fa_value_text(job->problem),
        [CREATED] = fa_value_int(job->created_us),
        [UPDATED] = fa_value_int(job->updated_us),
        [VERSION] = fa_value_int(job->version),
    };

    *was_stored = false;
    return fa_db_one(unit->source.db, is_new ? FA_SQL_CRON_PUT : FA_SQL_CRON_CHANGE, params,
                     COLUMN_COUNT, sink_found, was_stored, err);
}

static enum faina_code refuse_version(const struct fa_cron_job *job, struct fa_op *op)
{
    return fa_error_set(&op->error, FAINA_VERSION_CONFLICT,
                        "the schedule is at version %lld, not %lld",
                        (long long)(job ? job->version : 0), (long long)op->by.version);
}

/* Reads the schedule, and stores the change if the version is still the same. */
static enum faina_code try_put(struct fa_unit *unit, struct fa_op *op, bool *was_stored)
{
    struct fa_cron_job *job = fa_arena_zero(op->arena, 1, sizeof(*job)), *old = NULL;
    enum faina_code code =
        find_job(&unit->source, op->cron->ns, op->cron->name, op->arena, &old, &op->error);

    if (code == FAINA_OK && op->by.version != 0 && (old == NULL || old->version != op->by.version))
        code = refuse_version(old, op);
    if (code != FAINA_OK)
        return code;
    *job = (struct fa_cron_job){
        .ns = fa_arena_strdup(op->arena, op->cron->ns ? op->cron->ns : "default"),
        .name = fa_arena_strdup(op->arena, op->cron->name),
        .schedule = fa_arena_strdup(op->arena, op->cron->schedule),
        .timezone = fa_arena_strdup(op->arena, op->cron->timezone ? op->cron->timezone : "UTC"),
        .task = fa_arena_strdup(op->arena, op->cron->task),
        .catch_up = op->cron->catch_up,
        .overlap = op->cron->overlap,
        .jitter_ms = op->cron->jitter_ms,
        .is_paused = op->cron->is_paused,
        .last_us = old != NULL ? old->last_us : 0,
        .created_us = old != NULL ? old->created_us : unit->now_us,
        .updated_us = unit->now_us,
        .version = old != NULL ? old->version + 1 : 1,
    };
    code = set_next(unit, old, job, &op->error);
    if (code == FAINA_OK)
        code = store_job(unit, job, old == NULL, was_stored, &op->error);
    if (code != FAINA_OK || !*was_stored)
        return code;
    if (job->next_us != 0 && job->next_us < unit->next_us)
        unit->next_us = job->next_us;
    op->existing = old != NULL;
    op->cron_answer = job;
    return FAINA_OK;
}

enum faina_code fa_do_cron_put(struct fa_unit *unit, struct fa_op *op)
{
    bool was_stored = false;
    enum faina_code code = FAINA_OK;

    for (int i = 0; code == FAINA_OK && !was_stored; i++) /* retries after another node's change */
        code = i < FA_CHANGE_TRIES
                   ? try_put(unit, op, &was_stored)
                   : fa_error_set(&op->error, FAINA_CONFLICT,
                                  "the schedule is being changed by other callers; try again");
    return code;
}

enum faina_code fa_do_cron_remove(struct fa_unit *unit, struct fa_op *op)
{
    struct fa_value params[3] = {fa_value_text(op->name.ns ? op->name.ns : "default"),
                                 fa_value_text(op->id), fa_value_int(op->by.version)};
    struct fa_cron_job *job = NULL;
    bool found = false;
    enum faina_code code =
        fa_db_one(unit->source.db, FA_SQL_CRON_DELETE, params, 3, sink_found, &found, &op->error);

    if (code != FAINA_OK || found)
        return code;
    if (op->by.version == 0)
        return refuse_missing(op);
    code = find_job(&unit->source, op->name.ns, op->id, &unit->arena, &job, &op->error);
    return code == FAINA_OK ? refuse_version(job, op) : code;
}

/* Makes one task now, whatever the times of the schedule are, also if it is paused; or finds the
 * task that has its key. */
enum faina_code fa_do_cron_run(struct fa_unit *unit, struct fa_op *op)
{
    struct faina_submit *submit = fa_arena_zero(&unit->arena, 1, sizeof(*submit));
    struct fa_cron_job *job = NULL;
    struct fa_plan plan;
    enum faina_code code =
        find_job(&unit->source, op->name.ns, op->id, &unit->arena, &job, &op->error);

    if (code == FAINA_OK && job == NULL)
        code = refuse_missing(op);
    if (code == FAINA_OK)
        code = fa_cron_task(job, &unit->arena, submit, &op->error);
    if (code == FAINA_OK)
        code = fa_plan_make(unit, submit, NULL, NULL, &plan, &op->error);
    if (code != FAINA_OK)
        return code;
    if (plan.existing == NULL)
        return fa_set_result(unit, op, fa_plan_carry_out(unit, &plan));
    op->existing = true;
    code = fa_row_load_payload(&unit->source, plan.existing, &unit->arena, &op->error);
    if (code == FAINA_OK)
        code = fa_plan_replace(unit, &plan, &op->error);
    return code == FAINA_OK ? fa_set_result(unit, op, plan.existing) : code;
}

/* Due schedules ------------------------------------------------------------------------------- */

/* The tasks and changes of one due schedule. */
struct firing {
    const struct fa_cron_job *job;
    int64_t *times;
    size_t count, max;
    int64_t next_us, last_us;
    const char *problem;
    struct fa_plan *plans;
    struct fa_row *before; /* to be cancelled; NULL: none */
    int64_t missed;        /* times that make no task because nothing ran then, or with a problem */
};

/* "2026-01-02T01:00:00Z": times of schedules are whole seconds. */
static const char *second_of(struct fa_unit *unit, int64_t at_us)
{
    char time[FA_TIME_SIZE];

    fa_time_format(at_us, time);
    return fa_arena_printf(&unit->arena, "%.19sZ", time);
}

static const char *describe_left_out(struct fa_unit *unit, const struct fa_cron *cron,
                                     const struct fa_zone *zone, int64_t first_us)
{
    const char *first = second_of(unit, first_us), *last = NULL;
    int64_t last_us;

    if (fa_cron_previous(cron, zone, unit->now_us, &last_us) && last_us > first_us)
        last = second_of(unit, last_us);
    return fa_arena_printf(
        &unit->arena, "left out: the time%s %s%s%s, because nothing ran then, and catchUp is none",
        last ? "s from" : "", first, last ? " to " : "", last ? last : "");
}

/* How late a time may make its task: until the next one is due, within limits. */
static int64_t late_us_max(const struct fa_cron_job *job, const struct fa_cron *cron,
                           const struct fa_zone *zone)
{
    int64_t after_us;

    if (!fa_cron_next(cron, zone, job->next_us, &after_us) ||
        after_us - job->next_us > FA_CRON_LATE_US)
        return FA_CRON_LATE_US;
    return after_us - job->next_us > LATE_US_MIN ? after_us - job->next_us : LATE_US_MIN;
}

/* Selects the times that make a task now, and the next time. */
static void choose_times(struct fa_unit *unit, struct firing *firing, const struct fa_cron *cron,
                         const struct fa_zone *zone)
{
    const struct fa_cron_job *job = firing->job;
    int64_t now = unit->now_us, from = now;
    bool is_late = now - job->next_us > late_us_max(job, cron, zone);
    int64_t *passed;

    if (!is_late || job->catch_up == FA_CATCH_UP_ALL) {
        if (!is_late && firing->max > IN_TIME_MAX)
            firing->max = IN_TIME_MAX;
        firing->times = fa_arena_zero(&unit->arena, firing->max, sizeof(*firing->times));
        firing->count =
            fa_cron_missed(cron, zone, job->next_us - 1, now, firing->max, firing->times);
        if (firing->count == firing->max)
            from = firing->times[firing->count - 1];
    } else if (job->catch_up == FA_CATCH_UP_ONE) {
        firing->times = fa_arena_zero(&unit->arena, 1, sizeof(*firing->times));
        firing->count =
            fa_cron_previous(cron, zone, now, firing->times) && firing->times[0] >= job->next_us;
    } else {
        firing->problem = describe_left_out(unit, cron, zone, job->next_us);
    }
    if (is_late && job->catch_up != FA_CATCH_UP_ALL) {
        passed = fa_arena_zero(&unit->arena, MISSED_MAX, sizeof(*passed));
        firing->missed =
            (int64_t)fa_cron_missed(cron, zone, job->next_us - 1, now, MISSED_MAX, passed) -
            (int64_t)firing->count;
    }
    if (!fa_cron_next(cron, zone, from, &firing->next_us))
        firing->next_us = 0;
}

static const char *key_of(struct fa_unit *unit, const char *name, int64_t at_us)
{
    return fa_arena_printf(&unit->arena, "cron:%s:%s", name, second_of(unit, at_us));
}

/* Pseudo-random, but the same on every node for the same time. */
static int64_t jitter_of(const struct fa_cron_job *job, const char *key)
{
    struct fa_bytes parts[] = {fa_str(job->ns), fa_str(key)};
    uint8_t hash[FA_SHA256_SIZE];
    uint64_t chance;

    if (job->jitter_ms == 0)
        return 0;
    fa_sha256_parts(parts, FA_COUNT(parts), hash);
    memcpy(&chance, hash, sizeof(chance));
    return (int64_t)(chance % ((uint64_t)job->jitter_ms + 1));
}

/* The task of the last time that made one, if it has not ended; else *out is NULL. */
static enum faina_code find_before(struct fa_unit *unit, const struct fa_cron_job *job,
                                   struct fa_row **out, struct faina_error *err)
{
    struct faina_submit *submit = fa_arena_zero(&unit->arena, 1, sizeof(*submit));
    struct fa_plan plan;
    enum faina_code code;

    *out = NULL;
    if (job->last_us == 0)
        return FAINA_OK;
    code = fa_cron_task(job, &unit->arena, submit, err);
    submit->on_duplicate = FAINA_ON_DUPLICATE_RETURN;
    if (submit->idempotency_key == NULL)
        submit->idempotency_key = key_of(unit, job->name, job->last_us);
    if (code == FAINA_OK)
        code = fa_plan_make(unit, submit, NULL, NULL, &plan, err);
    if (code != FAINA_OK || plan.existing == NULL)
        return code;
    code = fa_unit_get(unit, plan.existing->id.key, true, out, err);
    if (code == FAINA_TASK_NOT_FOUND || (code == FAINA_OK && fa_status_is_ended((*out)->status))) {
        *out = NULL;
        return FAINA_OK;
    }
    return code;
}

/* Keeps at most one time, unless tasks may overlap. */
static enum faina_code apply_overlap(struct fa_unit *unit, struct firing *firing,
                                     struct faina_error *err)
{
    enum fa_overlap overlap = firing->job->overlap;
    struct fa_row *before = NULL;
    char id[FAINA_ID_SIZE];
    enum faina_code code;

    if (overlap == FA_OVERLAP_ALLOW || firing->count == 0)
        return FAINA_OK;
    code = find_before(unit, firing->job, &before, err);
    if (code != FAINA_OK)
        return code;
    if (overlap == FA_OVERLAP_CANCEL) {
        firing->times[0] = firing->times[firing->count - 1];
        firing->before = before;
    }
    firing->count = 1;
    if (overlap == FA_OVERLAP_SKIP && before != NULL) {
        fa_id_format(before->id, id);
        firing->count = 0;
        firing->problem =
            fa_arena_printf(&unit->arena, "skipped: task %s of the time before has not ended", id);
    }
    return FAINA_OK;
}

static enum faina_code plan_tasks(struct fa_unit *unit, struct firing *firing,
                                  struct faina_error *err)
{
    struct faina_submit pattern = {0}, *submits;
    enum faina_code code = fa_cron_task(firing->job, &unit->arena, &pattern, err);

    if (pattern.idempotency_key != NULL) { /* one key: only the last time can make a task */
        firing->times[0] = firing->times[firing->count - 1];
        firing->count = 1;
    }
    submits = fa_arena_zero(&unit->arena, firing->count, sizeof(*submits));
    firing->plans = fa_arena_zero(&unit->arena, firing->count, sizeof(*firing->plans));
    for (size_t i = 0; code == FAINA_OK && i < firing->count; i++) {
        submits[i] = pattern;
        if (submits[i].idempotency_key == NULL)
            submits[i].idempotency_key = key_of(unit, firing->job->name, firing->times[i]);
        submits[i].delay_ms +=
            jitter_of(firing->job, key_of(unit, firing->job->name, firing->times[i]));
        code = fa_plan_make(unit, &submits[i], NULL, NULL, &firing->plans[i], err);
    }
    return code;
}

/* J3: makes no task, and sets `problem`. */
static void skip_all(struct fa_unit *unit, struct firing *firing, const struct faina_error *why)
{
    firing->count = 0;
    firing->missed = firing->missed > 0 ? firing->missed : 1;
    firing->before = NULL;
    firing->problem = fa_unit_text(unit, why->message);
    if (firing->next_us <= unit->now_us)
        firing->next_us = unit->now_us + AGAIN_US;
}

static enum faina_code prepare(struct fa_unit *unit, struct firing *firing, struct faina_error *err)
{
    struct fa_zone *zone = NULL;
    struct fa_cron cron;
    struct faina_error why;
    enum faina_code code;

    fa_error_clear(&why);
    code = fa_cron_times(firing->job, &cron, &zone, &why);
    if (code == FAINA_OK)
        choose_times(unit, firing, &cron, zone);
    fa_zone_close(zone);
    if (code == FAINA_OK)
        code = apply_overlap(unit, firing, &why);
    if (code == FAINA_OK && firing->count > 0)
        code = plan_tasks(unit, firing, &why);
    if (code == FAINA_OK) {
        if (firing->count > 0)
            firing->last_us = firing->times[firing->count - 1];
        return FAINA_OK;
    }
    if (fa_db_has_failed(unit->source.db, code)) {
        *err = why;
        return code;
    }
    skip_all(unit, firing, &why);
    return FAINA_OK;
}

/* For monitoring (service.h). */
static void report_missed(struct fa_unit *unit, const struct firing *firing)
{
    unit->missed = fa_arena_grow(&unit->arena, unit->missed, unit->missed_count, &unit->missed_size,
                                 sizeof(*unit->missed));
    unit->missed[unit->missed_count++] = (struct fa_missed_times){
        firing->job->ns, firing->job->name, firing->missed,
        firing->problem ? firing->problem : "nothing ran then, and catchUp is one"};
}

static enum faina_code fire(struct fa_unit *unit, struct firing *firing, struct faina_error *err)
{
    const struct fa_cron_job *job = firing->job;
    bool is_ours = false;
    int64_t cancelled = 0;
    enum faina_code code = prepare(unit, firing, err);

    if (code == FAINA_OK)
        code = fa_db_one(unit->source.db, FA_SQL_CRON_FIRED,
                         (struct fa_value[]){fa_value_text(job->ns), fa_value_text(job->name),
                                             fa_value_int(job->version), fa_value_int(job->next_us),
                                             fa_value_int_or_null(firing->next_us),
                                             fa_value_int_or_null(firing->last_us),
                                             fa_value_text(firing->problem)},
                         7, sink_found, &is_ours, err);
    if (code != FAINA_OK)
        return code;
    if (!is_ours)
        firing->count = 0;
    else if (firing->missed > 0)
        report_missed(unit, firing);
    if (firing->before != NULL && firing->count > 0)
        code = fa_cancel_tree(unit, firing->before, FAINA_ACTOR_SYSTEM,
                              "Cancelled by the next time of its schedule", &cancelled, err);
    for (size_t i = 0; code == FAINA_OK && i < firing->count; i++)
        if (firing->plans[i].existing == NULL)
            fa_plan_carry_out(unit, &firing->plans[i]);
        else
            code = fa_plan_replace(unit, &firing->plans[i], err);
    return code;
}

enum faina_code fa_crons_fire(struct fa_unit *unit, int64_t limit, struct faina_error *err)
{
    struct fa_value params[2] = {fa_value_int(unit->now_us), fa_value_int(limit)};
    struct job_list due = {.source = &unit->source, .arena = &unit->arena};
    enum faina_code code =
        fa_db_one(unit->source.db, FA_SQL_CRON_DUE, params, 2, sink_job, &due, err);

    for (size_t i = 0; code == FAINA_OK && limit > 0 && i < due.count; i++) {
        struct firing firing = {
            .job = &due.items[i], .max = (size_t)limit, .last_us = due.items[i].last_us};

        if (!fa_chore_takes(unit, FA_ASIDE_SCHEDULE,
                            item_key(&unit->arena, firing.job->ns, firing.job->name)))
            continue;
        code = fire(unit, &firing, err);
        limit -= (int64_t)firing.count;
    }
    return code;
}
