/* crons.c - see crons.h. */
#include "service/crons.h"

#include "model/check.h"
#include "model/limits.h"
#include "service/body.h"
#include "service/wire.h"

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

/* The place of a word in a table of three; 3: it is none of them. */
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
 * The table (shape.h)
 */

static void put_catch_up(struct fa_json_writer *w, const void *place)
{
    fa_json_put_str(w, fa_catch_up_name(*(const enum fa_catch_up *)place));
}

static bool read_catch_up(struct fa_json value, struct fa_arena *arena, void *place)
{
    return value.type == FA_JSON_STRING &&
           fa_catch_up_parse(fa_json_text(value, arena), place, NULL) == FAINA_OK;
}

static void put_overlap(struct fa_json_writer *w, const void *place)
{
    fa_json_put_str(w, fa_overlap_name(*(const enum fa_overlap *)place));
}

static bool read_overlap(struct fa_json value, struct fa_arena *arena, void *place)
{
    return value.type == FA_JSON_STRING &&
           fa_overlap_parse(fa_json_text(value, arena), place, NULL) == FAINA_OK;
}

static void put_jitter(struct fa_json_writer *w, const void *place)
{
    int64_t ms = *(const int64_t *)place;

    if (ms == 0)
        fa_json_put_null(w);
    else
        fa_wire_put_duration(w, ms);
}

static bool read_jitter(struct fa_json value, struct fa_arena *arena, void *place)
{
    return value.type == FA_JSON_NULL ||
           fa_body_duration("jitter", value, FAINA_INTERNAL, arena, place, NULL) == FAINA_OK;
}

#define CRON(name, type, member) FA_SHAPE_ROW(name, FA_SHAPE_##type, struct fa_cron_job, member)
#define CRON_OWN(name, member, what)                                                               \
    FA_SHAPE_OF_ITS_OWN(name, struct fa_cron_job, member, put_##what, read_##what)

static const struct fa_shape_field cron_fields[] = {
    CRON("name", WORD, name),
    CRON("namespace", WORD, ns),
    CRON("schedule", WORD, schedule),
    CRON("timezone", WORD, timezone),
    CRON("task", JSON, task),
    CRON_OWN("catchUp", catch_up, catch_up),
    CRON_OWN("overlap", overlap, overlap),
    CRON_OWN("jitter", jitter_ms, jitter),
    CRON("paused", BOOL, is_paused),
    CRON("nextAt", TIME, next_us),
    CRON("lastAt", TIME, last_us),
    CRON("problem", TEXT, problem),
    CRON("createdAt", TIME, created_us),
    CRON("updatedAt", TIME, updated_us),
    CRON("version", INT64, version),
    CRON("redacted", FLAG, redacted),
};
const struct fa_shape fa_shape_cron = FA_SHAPE("schedule", cron_fields);

static const struct fa_shape_field crons_fields[] = {
    FA_SHAPE_LIST_OF("items", fa_shape_cron, struct fa_cron_jobs, items, count),
};
const struct fa_shape fa_shape_crons = FA_SHAPE("list", crons_fields);

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
        {task->idempotency_key != NULL, "idempotencyKey",
         "the schedule's name and time are its key"},
        {task->dedupe_input, "dedupe", "the schedule's name and time are its key"},
        {task->run_at_us != 0, "runAt", "the schedule says when; a delay is possible"},
        {task->depends_on_count > 0, "dependsOn", "what it would wait for ends only once"},
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
    enum faina_code code = fa_cron_parse(job->schedule, "schedule", cron, err);

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
