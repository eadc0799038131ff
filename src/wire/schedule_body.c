/* schedule_body.c - see schedule_body.h. */
#include "wire/schedule_body.h"

#include "model/check.h"
#include "model/limits.h"
#include "wire/body.h"
#include "wire/wire.h"

static const char *const catch_ups[FA_CATCH_UP_COUNT] = {"none", "one", "all"};
static const char *const overlaps[FA_OVERLAP_COUNT] = {"allow", "skip", "cancel"};

const char *fa_catch_up_name(enum fa_catch_up catch_up)
{
    return catch_up < FA_CATCH_UP_COUNT ? catch_ups[catch_up] : "none";
}

const char *fa_overlap_name(enum fa_overlap overlap)
{
    return overlap < FA_OVERLAP_COUNT ? overlaps[overlap] : "allow";
}

const char *fa_catch_up_word(int catch_up)
{
    return catch_up < FA_CATCH_UP_COUNT ? catch_ups[catch_up] : NULL;
}

const char *fa_overlap_word(int overlap)
{
    return overlap < FA_OVERLAP_COUNT ? overlaps[overlap] : NULL;
}

/* The index of a word in a table of three; 3: it is none of them. */
static size_t find_word(const char *const words[3], const char *text)
{
    size_t i = 0;

    while (i < 3 && strcmp(text, words[i]) != 0)
        i++;
    return i;
}

static enum faina_code refuse_word(const char *field, const char *const words[3], const char *text,
                                   struct faina_error *err)
{
    return fa_error_field(err, FAINA_INVALID_REQUEST, field,
                          "%s must be %s, %s or %s, not \"%.40s\"", field, words[0], words[1],
                          words[2], text);
}

enum faina_code fa_catch_up_parse(const char *text, enum fa_catch_up *out, struct faina_error *err)
{
    size_t found = text ? find_word(catch_ups, text) : *out;

    if (found == FA_CATCH_UP_COUNT)
        return refuse_word("catchUp", catch_ups, text, err);
    *out = (enum fa_catch_up)found;
    return FAINA_OK;
}

enum faina_code fa_overlap_parse(const char *text, enum fa_overlap *out, struct faina_error *err)
{
    size_t found = text ? find_word(overlaps, text) : *out;

    if (found == FA_OVERLAP_COUNT)
        return refuse_word("overlap", overlaps, text, err);
    *out = (enum fa_overlap)found;
    return FAINA_OK;
}

/* ------------------------------------------------------------------------------------------
 * The table (model/field.h)
 */

#define CRON(json_name, kind, member, ...)                                                         \
    FA_ROW(json_name, kind, struct fa_cron_job, member, __VA_ARGS__)

/* clang-format off */
const struct fa_shape fa_shape_cron = {
    .name = "Cron",
    .what = "schedule",
    .fields = FA_FIELDS(
        CRON("name", TEXT, name, .flags = FA_FIELD_REQUIRED, .doc = "Its name"),
        CRON("namespace", TEXT, ns, .flags = FA_FIELD_REQUIRED, .doc = "Where its tasks are made"),
        CRON("schedule", TEXT, schedule, .flags = FA_FIELD_REQUIRED, .doc = "When it makes a task"),
        CRON("timezone", TEXT, timezone, .flags = FA_FIELD_REQUIRED,
             .doc = "The zone that the schedule counts in"),
        CRON("task", JSON, task, .doc = "The body of a submit"),
        CRON("catchUp", ENUM, catch_up, .word = fa_catch_up_word,
             .doc = "What is done about times that have passed without a task"),
        CRON("overlap", ENUM, overlap, .word = fa_overlap_word,
             .doc = "What a time does while the task before has not ended"),
        CRON("jitter", DURATION, jitter_ms, .doc = "Each task waits up to this long besides"),
        CRON("paused", BOOL, is_paused, .doc = "It makes no tasks"),
        CRON("nextAt", TIME, next_us, .doc = "When it makes its next task"),
        CRON("lastAt", TIME, last_us, .doc = "When it made its last one"),
        CRON("problem", TEXT, problem, .doc = "Why its last time made no task"),
        CRON("createdAt", TIME, created_us, .flags = FA_FIELD_REQUIRED,
             .doc = "When it was created"),
        CRON("updatedAt", TIME, updated_us, .flags = FA_FIELD_REQUIRED,
             .doc = "When it last changed"),
        CRON("version", INT64, version, .doc = "Grows with each change"),
        CRON("redacted", BOOL, redacted, .flags = FA_FIELD_OMIT,
             .doc = "Only when true: the token may not see inputs, outputs, metadata and details "
                    "of errors, which are null")),
};

const struct fa_shape fa_shape_crons = {
    .what = "list",
    .fields = FA_FIELDS(FA_ROW_LIST("items", fa_shape_cron, struct fa_cron_jobs, items, count,
                                    .doc = "The schedules")),
};
/* clang-format on */

/* ------------------------------------------------------------------------------------------
 * The rules
 */

/* Fields of a submit that a schedule decides, or that are about one moment. */
static enum faina_code refuse_fields(const struct faina_submit *task, struct faina_error *err)
{
    const struct {
        bool is_given;
        const char *field, *why;
    } rules[] = {
        {task->ns != NULL, "namespace", "it is in the schedule's namespace"},
        {task->idempotency_key != NULL && task->key_scope == NULL, "idempotencyKey",
         "the schedule's name and time are its key; a key of its own needs a keyScope"},
        {task->idempotency_key == NULL && task->key_scope != NULL, "keyScope",
         "it is about a key: it needs idempotencyKey"},
        {task->idempotency_key == NULL && task->on_duplicate != FAINA_ON_DUPLICATE_RETURN,
         "onDuplicate", "it is about a key: it needs idempotencyKey and keyScope"},
        {task->dedupe_input, "dedupe", "the schedule's name and time are its key"},
        {task->run_at_us != 0, "runAt", "the schedule decides when; a delay is possible"},
        {task->depends_on_count > 0, "dependsOn", "what it would wait for ends only once"},
        {task->detached, "detached", "it has no parent"},
        {task->traceparent != NULL, "traceparent", "each of its tasks has a trace of its own"},
    };

    for (size_t i = 0; i < FA_COUNT(rules); i++)
        if (rules[i].is_given)
            return fa_error_field(err, FAINA_INVALID_REQUEST, "task",
                                  "the task of a schedule can't have %s: %s", rules[i].field,
                                  rules[i].why);
    return FAINA_OK;
}

/* An error inside the task is one of the field `task`. */
static enum faina_code inside_task(const struct faina_error *inner, struct faina_error *err)
{
    enum faina_code code =
        fa_error_field(err, FAINA_INVALID_REQUEST, "task", "task: %.480s", inner->message);

    if (err) {
        err->line = inner->line;
        err->column = inner->column;
    }
    return code;
}

enum faina_code fa_cron_task(const struct fa_cron_job *job, struct fa_arena *arena,
                             struct faina_submit *out, struct faina_error *err)
{
    struct faina_error inner;
    enum faina_code code;

    fa_error_clear(&inner);
    if (!job->task)
        return fa_error_field(err, FAINA_INVALID_REQUEST, "task",
                              "task is missing: give the body of a submit");
    code = fa_wire_read_submit(fa_str(job->task), arena, out, &inner);
    if (code != FAINA_OK)
        return inside_task(&inner, err);
    code = refuse_fields(out, err);
    out->ns = job->ns ? job->ns : "default";
    if (!out->created_by)
        out->created_by = fa_arena_printf(arena, "cron:%s", job->name);
    return code;
}

enum faina_code fa_cron_times(const struct fa_cron_job *job, struct fa_cron *cron,
                              struct fa_zone **zone, struct faina_error *err)
{
    enum faina_code code = fa_cron_parse_stored(job->schedule, "schedule", cron, err);

    if (code == FAINA_OK)
        code = fa_zone_open(zone, NULL, job->timezone ? job->timezone : "UTC", "timezone", err);
    return code;
}

static enum faina_code check_times(const struct fa_cron_job *job, struct faina_error *err)
{
    struct fa_zone *zone = NULL;
    struct fa_cron cron;
    enum faina_code code;

    if (!job->schedule)
        return fa_error_field(err, FAINA_INVALID_REQUEST, "schedule",
                              "schedule is missing: give 5 fields such as \"0 3 * * *\", or 6 "
                              "with seconds");
    code = fa_cron_parse(job->schedule, "schedule", &cron, err);
    if (code == FAINA_OK)
        code = fa_cron_times(job, &cron, &zone, err);
    fa_zone_close(zone);
    return code;
}

static enum faina_code check_task(const struct fa_cron_job *job, size_t input_max,
                                  struct faina_error *err)
{
    struct fa_arena scratch = {0};
    struct faina_submit task = {0};
    struct faina_error inner;
    enum faina_code code = fa_cron_task(job, &scratch, &task, err);

    fa_error_clear(&inner);
    if (code == FAINA_OK && fa_check_submit(&task, input_max, &inner) != FAINA_OK)
        code = inside_task(&inner, err);
    fa_arena_finish(&scratch);
    return code;
}

enum faina_code fa_cron_check(const struct fa_cron_job *job, size_t input_max,
                              struct faina_error *err)
{
    enum faina_code code = FAINA_OK;

    if (job->ns)
        code =
            fa_check_name(job->ns, FA_NAMESPACE_SIZE_MAX, "namespace", FAINA_INVALID_REQUEST, err);
    if (code == FAINA_OK)
        code = fa_check_name(job->name, FA_CRON_NAME_SIZE_MAX, "name", FAINA_INVALID_REQUEST, err);
    if (code == FAINA_OK && job->catch_up >= FA_CATCH_UP_COUNT)
        code = fa_error_field(err, FAINA_INVALID_REQUEST, "catchUp",
                              "catchUp must be none, one or all");
    if (code == FAINA_OK && job->overlap >= FA_OVERLAP_COUNT)
        code = fa_error_field(err, FAINA_INVALID_REQUEST, "overlap",
                              "overlap must be allow, skip or cancel");
    if (code == FAINA_OK && (job->jitter_ms < 0 || job->jitter_ms > FA_JITTER_MS_MAX))
        code = fa_error_field(err, FAINA_INVALID_REQUEST, "jitter",
                              "jitter must be between 0 and 24 hours");
    if (code == FAINA_OK)
        code = check_times(job, err);
    if (code == FAINA_OK)
        code = check_task(job, input_max, err);
    return code;
}
