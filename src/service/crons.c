/* crons.c - see crons.h. */
#include "service/crons.h"

#include "model/check.h"
#include "model/limits.h"
#include "service/wire.h"

static const char *const catch_ups[FA_CATCH_UP_COUNT] = {"none", "one", "all"};

const char *fa_catch_up_name(enum fa_catch_up catch_up)
{
    return catch_up < FA_CATCH_UP_COUNT ? catch_ups[catch_up] : "none";
}

enum faina_code fa_catch_up_parse(const char *text, enum fa_catch_up *out, struct faina_error *err)
{
    for (enum fa_catch_up i = 0; i < FA_CATCH_UP_COUNT; i++) {
        if (strcmp(text, catch_ups[i]) == 0) {
            *out = i;
            return FAINA_OK;
        }
    }
    return fa_error_field(err, FAINA_INVALID_REQUEST, "catchUp",
                          "catchUp must be none, one or all, not \"%.40s\"", text);
}

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
    if (code == FAINA_OK)
        code = check_times(job, err);
    if (code == FAINA_OK)
        code = check_task(job, input_max, err);
    return code;
}

static void put_text(struct fa_json_writer *w, const char *key, const char *text)
{
    fa_json_key(w, key);
    if (text)
        fa_json_put_str(w, text);
    else
        fa_json_put_null(w);
}

static void put_time(struct fa_json_writer *w, const char *key, int64_t us)
{
    fa_json_key(w, key);
    fa_wire_put_time(w, us);
}

void fa_cron_put(struct fa_json_writer *w, const struct fa_cron_job *job)
{
    fa_json_begin_object(w);
    put_text(w, "name", job->name);
    put_text(w, "namespace", job->ns);
    put_text(w, "schedule", job->schedule);
    put_text(w, "timezone", job->timezone);
    fa_json_key(w, "task");
    fa_json_put_raw(w, job->task);
    put_text(w, "catchUp", fa_catch_up_name(job->catch_up));
    fa_json_key(w, "paused");
    fa_json_put_bool(w, job->is_paused);
    put_time(w, "nextAt", job->next_us);
    put_time(w, "lastAt", job->last_us);
    put_text(w, "problem", job->problem);
    put_time(w, "createdAt", job->created_us);
    put_time(w, "updatedAt", job->updated_us);
    fa_json_key(w, "version");
    fa_json_put_int(w, job->version);
    fa_json_end_object(w);
}
