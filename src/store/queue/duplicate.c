/*
 * duplicate.c - a submit whose key belongs to another task: `onDuplicate`.
 *
 * A task that is replaced keeps its id, its attempts and everything that the submit does not name.
 * Its columns of `task` are written again. The event `replaced` has the old values and the new
 * ones, and of a large value only its size and hash, so that the events stay small however often
 * the task is replaced.
 */
#include "store/queue/ops.h"

#include "json/json.h"
#include "model/limits.h"
#include "model/task_rules.h"
#include "model/times.h"

#include <stdio.h>
#include <string.h>

/* What a submit can replace. */
struct values {
    const char *input, *metadata;
    int64_t run_at_us;
    int priority;
};

enum faina_code fa_plan_reject(const struct fa_plan *plan, struct faina_error *err)
{
    char id[FAINA_ID_SIZE];

    fa_id_format(plan->existing->id, id);
    if (plan->submit->idempotency_key == NULL)
        return fa_error_field(err, FAINA_DUPLICATE_KEY, "input", "task %s has the same input", id);
    return fa_error_field(err, FAINA_DUPLICATE_KEY, "idempotencyKey", "task %s has the key %.200s",
                          id, plan->submit->idempotency_key);
}

static struct values values_of(const struct fa_row *row)
{
    const char *metadata = row->metadata != NULL ? row->metadata : row->first_metadata;
    int64_t run_at_us = row->at_us != 0 ? row->at_us : row->due_us;

    return (struct values){.input = row->input != NULL ? row->input : "null",
                           .metadata = metadata != NULL ? metadata : "{}",
                           .run_at_us = run_at_us != 0 ? run_at_us : row->run_at_us,
                           .priority = (int)-row->rank};
}

static void put_json(struct fa_json_writer *w, const char *name, const char *json)
{
    size_t size = strlen(json);
    char key[32], hash[FA_SHA256_HEX_SIZE];

    if (size <= FA_EVENT_VALUE_SIZE_MAX) {
        fa_json_set_raw(w, name, json);
        return;
    }
    fa_input_hash(json, hash);
    snprintf(key, sizeof(key), "%sHash", name);
    fa_json_set_str(w, key, hash);
    snprintf(key, sizeof(key), "%sSize", name);
    fa_json_set_int(w, key, (int64_t)size);
}

/* The values that differ from the others. */
static void put_values(struct fa_json_writer *w, const char *name, const struct values *values,
                       const struct values *others)
{
    char time[FA_TIME_SIZE];

    fa_json_key(w, name);
    fa_json_begin_object(w);
    if (!fa_json_same(fa_str(values->input), fa_str(others->input)))
        put_json(w, "input", values->input);
    if (values->run_at_us != others->run_at_us && values->run_at_us != 0) {
        fa_time_format(values->run_at_us, time);
        fa_json_set_str(w, "runAt", time);
    } else if (values->run_at_us != others->run_at_us) {
        fa_json_key(w, "runAt");
        fa_json_put_null(w);
    }
    if (values->priority != others->priority)
        fa_json_set_int(w, "priority", values->priority);
    if (!fa_json_same(fa_str(values->metadata), fa_str(others->metadata)))
        put_json(w, "metadata", values->metadata);
    fa_json_end_object(w);
}

static const char *detail_of(struct fa_unit *unit, const struct values *before,
                             const struct values *after)
{
    struct fa_json_writer w;
    struct fa_buf buf;
    const char *text;

    fa_buf_init(&buf, SIZE_MAX / 2);
    fa_json_writer_init(&w, &buf, 0);
    fa_json_begin_object(&w);
    put_values(&w, "before", before, after);
    put_values(&w, "after", after, before);
    fa_json_end_object(&w);
    text = fa_arena_copy(&unit->arena, buf.ptr, buf.len);
    fa_buf_finish(&buf);
    return text;
}

static void take_values(struct fa_unit *unit, struct fa_row *row, const struct fa_plan *plan)
{
    const struct faina_submit *submit = plan->submit;

    if (!row->is_new && !row->is_replaced) {
        row->is_replaced = true;
        row->written_rank = row->rank;
    }
    if (row->rank != -(int64_t)plan->priority)
        row->turn = 0;
    row->rank = -(int64_t)plan->priority;
    row->input = submit->input;
    row->first_metadata = submit->metadata;
    row->metadata = NULL;
    row->run_at_us =
        submit->delay_ms > 0 ? unit->now_us + submit->delay_ms * 1000 : submit->run_at_us;
    row->at_us = row->due_us = 0;
    fa_unit_park_until(unit, row, row->run_at_us);
    if (row->at_us == 0)
        unit->has_arrivals = true;
}

bool fa_plan_replaces(const struct fa_plan *plan)
{
    return plan->submit->on_duplicate == FAINA_ON_DUPLICATE_REPLACE &&
           plan->existing->status == FAINA_PENDING;
}

enum faina_code fa_plan_replace(struct fa_unit *unit, const struct fa_plan *plan,
                                struct faina_error *err)
{
    struct fa_row *row = plan->existing;
    struct values before, after;
    enum faina_code code;

    if (!fa_plan_replaces(plan))
        return FAINA_OK;
    code = fa_row_load_payload(&unit->source, row, &unit->arena, err);
    if (code != FAINA_OK)
        return code;
    before = values_of(row);
    take_values(unit, row, plan);
    after = values_of(row);
    (void)fa_unit_change(unit, row);
    fa_unit_event(unit, row, "replaced", FAINA_ACTOR_API, NULL, detail_of(unit, &before, &after));
    return FAINA_OK;
}
