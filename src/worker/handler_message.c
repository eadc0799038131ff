/*
 * handler_message.c - reads the lines by a table of their members.
 */
#include "worker/handler_message.h"

#include "json/json.h"
#include "model/check.h"
#include "model/limits.h"
#include "model/times.h"
#include "wire/body.h"
#include "wire/wire.h"
#include "worker/attempt_note.h"

#include <stdarg.h>
#include <stdio.h>

#define SUBTASK_BYTES_MAX ((size_t)256 * 1024 * 1024) /* of all subtasks of one attempt */
#define LEVELS_AROUND 3                               /* {"subtask":{"input":... */
#define HINT                                                                                       \
    "; stdout is for the output as JSON: print to stderr, or print a JSON value such as \"text\""
#define SHOWN 80 /* bytes of an invalid output */

/* One line being read. */
struct line {
    struct fa_handler_messages *messages;
    struct faina_report report;
    bool has_report;
    struct faina_failure failure;
    bool has_retryable;
    struct faina_error err;
};

void fa_handler_messages_init(struct fa_handler_messages *messages, struct fa_job *job)
{
    *messages = (struct fa_handler_messages){.job = job};
}

void fa_handler_messages_finish(struct fa_handler_messages *messages)
{
    fa_arena_finish(&messages->scratch);
}

void fa_handler_messages_refuse(struct fa_handler_messages *messages, const char *format, ...)
{
    va_list args;

    if (messages->is_wrong)
        return;
    messages->is_wrong = true;
    va_start(args, format);
    vsnprintf(messages->wrong, sizeof(messages->wrong), format, args);
    va_end(args);
}

/* ------------------------------------------------------------------------------------------
 * The members of a line
 */

static enum faina_code refuse(struct line *line, const char *sentence)
{
    return fa_error_set(&line->err, FAINA_INVALID_REQUEST, "%s", sentence);
}

static enum faina_code read_progress(struct line *line, struct fa_json value)
{
    double number;

    if (value.type != FA_JSON_NUMBER || !fa_json_double(value, &number) || number < 0 ||
        number > 100)
        return refuse(line, "progress must be a number from 0 to 100");
    line->report.has_progress = true;
    line->report.progress = (int)number;
    line->has_report = true;
    return FAINA_OK;
}

static enum faina_code read_state(struct line *line, struct fa_json value)
{
    if (value.type != FA_JSON_STRING)
        return refuse(line, "state must be a string");
    line->report.state = fa_json_text(value, &line->messages->scratch);
    line->has_report = true;
    return FAINA_OK;
}

static enum faina_code read_metadata(struct line *line, struct fa_json value)
{
    line->report.metadata = fa_arena_copy(&line->messages->scratch, value.raw.ptr, value.raw.len);
    line->has_report = true;
    return FAINA_OK;
}

static enum faina_code read_subtask(struct line *line, struct fa_json value)
{
    struct fa_handler_messages *messages = line->messages;
    struct fa_arena *arena = &messages->job->arena;
    struct faina_submit submit;
    enum faina_code code;

    if (messages->subtask_count == FA_CHILDREN_MAX)
        return fa_error_set(&line->err, FAINA_INVALID_REQUEST,
                            "a task can have at most %d subtasks", FA_CHILDREN_MAX);
    messages->subtask_bytes += value.raw.len;
    if (messages->subtask_bytes > SUBTASK_BYTES_MAX)
        return fa_error_set(&line->err, FAINA_PAYLOAD_TOO_LARGE,
                            "the subtasks are larger than %zu MiB in all", SUBTASK_BYTES_MAX >> 20);
    code = fa_wire_read_submit(value.raw, arena, &submit, &line->err);
    if (code == FAINA_OK)
        code = fa_check_submit(&submit, fa_job_output_max(messages->job), &line->err);
    if (code != FAINA_OK)
        return code;
    messages->subtasks = fa_arena_grow(arena, messages->subtasks, messages->subtask_count,
                                       &messages->subtask_size, sizeof(submit));
    messages->subtasks[messages->subtask_count++] = submit;
    return FAINA_OK;
}

static enum faina_code read_fail_fast(struct line *line, struct fa_json value)
{
    if (value.type != FA_JSON_TRUE && value.type != FA_JSON_FALSE)
        return refuse(line, "failFast must be true or false");
    line->messages->fail_fast = value.type == FA_JSON_TRUE;
    return FAINA_OK;
}

static enum faina_code read_background(struct line *line, struct fa_json value)
{
    struct fa_handler_messages *messages = line->messages;
    struct fa_json_iter it;
    struct fa_bytes key;
    struct fa_json member;

    if (value.type != FA_JSON_OBJECT)
        return refuse(line, "background must be an object such as {\"timeout\":\"1h\"}");
    messages->has_background = true;
    for (it = fa_json_iter(value); fa_json_next(&it, &key, &member);) {
        bool is_text = member.type == FA_JSON_STRING;

        if (fa_bytes_equal(key, FA_LIT("reason")) && is_text) {
            messages->reason = fa_json_text(member, &messages->job->arena);
        } else if (fa_bytes_equal(key, FA_LIT("timeout")) &&
                   (is_text || member.type == FA_JSON_NUMBER)) {
            const char *text =
                is_text ? fa_json_text(member, &messages->scratch)
                        : fa_arena_copy(&messages->scratch, member.raw.ptr, member.raw.len);
            enum faina_code code =
                fa_duration_parse(text, "background.timeout", &messages->timeout_ms, &line->err);

            if (code != FAINA_OK)
                return code;
        } else {
            return refuse(line, "background has the members reason (a string) and timeout (a "
                                "duration), and no other");
        }
    }
    return FAINA_OK;
}

static enum faina_code read_error_member(struct line *line, struct fa_bytes key,
                                         struct fa_json member)
{
    struct fa_arena *arena = &line->messages->job->arena;
    bool is_text = member.type == FA_JSON_STRING;
    bool is_bool = member.type == FA_JSON_TRUE || member.type == FA_JSON_FALSE;

    if (fa_bytes_equal(key, FA_LIT("message")) && is_text) {
        line->failure.message = fa_json_text(member, arena);
    } else if ((fa_bytes_equal(key, FA_LIT("kind")) ||
                fa_bytes_equal(key, FA_LIT("exceptionType"))) &&
               is_text) {
        line->failure.kind = fa_json_text(member, arena);
    } else if (fa_bytes_equal(key, FA_LIT("detail"))) {
        line->failure.detail = fa_arena_copy(arena, member.raw.ptr, member.raw.len);
    } else if (fa_bytes_equal(key, FA_LIT("retryable")) && is_bool) {
        line->failure.permanent = member.type == FA_JSON_FALSE;
        line->has_retryable = true;
    } else if (fa_bytes_equal(key, FA_LIT("retryAfter"))) {
        return fa_body_when("error.retryAfter", member, arena, &line->failure.retry_after_ms,
                            &line->failure.retry_at_us, &line->err);
    } else {
        return refuse(line, "error has the members message and kind (strings), detail, retryable "
                            "(true or false) and retryAfter (a duration or a time), and no other");
    }
    return FAINA_OK;
}

static enum faina_code read_error(struct line *line, struct fa_json value)
{
    struct fa_handler_messages *messages = line->messages;
    enum faina_code code = FAINA_OK;
    struct fa_json_iter it;
    struct fa_bytes key;
    struct fa_json member;

    line->failure = (struct faina_failure){0};
    line->has_retryable = false;
    if (value.type == FA_JSON_STRING)
        line->failure.message = fa_json_text(value, &messages->job->arena);
    else if (value.type != FA_JSON_OBJECT)
        return refuse(line, "error must be a string, or an object with a message");
    else
        for (it = fa_json_iter(value); code == FAINA_OK && fa_json_next(&it, &key, &member);)
            if (member.type != FA_JSON_NULL)
                code = read_error_member(line, key, member);
    if (code == FAINA_OK)
        code = fa_check_failure(&line->failure, &line->err);
    if (code != FAINA_OK)
        return code;
    messages->has_error = true;
    messages->failure = line->failure;
    messages->has_retryable = line->has_retryable;
    return FAINA_OK;
}

static enum faina_code read_snooze(struct line *line, struct fa_json value)
{
    struct fa_handler_messages *messages = line->messages;
    enum faina_code code =
        fa_body_duration("snooze", value, &messages->scratch, &messages->snooze_ms, &line->err);

    messages->has_snooze |= code == FAINA_OK;
    return code;
}

static enum faina_code read_resource(struct line *line, struct fa_json value)
{
    struct fa_handler_messages *messages = line->messages;
    struct fa_arena *arena = &messages->job->arena;
    enum faina_code code;

    if (value.type != FA_JSON_STRING)
        return refuse(line, "resource must be a string");
    if (!messages->require)
        messages->require = fa_arena_zero(arena, 1, sizeof(*messages->require));
    code = fa_require(messages->require, arena, messages->job->task, fa_json_text(value, arena),
                      &line->err);
    return code == FAINA_OVERLOADED ? FAINA_OK : code;
}

static enum faina_code read_output(struct line *line, struct fa_json value)
{
    line->messages->output =
        fa_arena_copy(&line->messages->job->arena, value.raw.ptr, value.raw.len);
    return FAINA_OK;
}

static enum faina_code read_subtasks(struct line *line, struct fa_json value)
{
    enum faina_code code = FAINA_OK;
    struct fa_json_iter it;
    struct fa_json item;

    if (value.type != FA_JSON_ARRAY)
        return refuse(line, "subtasks must be a list");
    for (it = fa_json_iter(value); code == FAINA_OK && fa_json_next(&it, NULL, &item);)
        code = read_subtask(line, item);
    return code;
}

static enum faina_code read_log(struct line *line, struct fa_json value)
{
    const char *text;

    if (value.type != FA_JSON_STRING)
        return refuse(line, "log must be a string");
    text = fa_json_text(value, &line->messages->scratch);
    fa_note_log_add(line->messages->log, text, strlen(text));
    if (text[0] && text[strlen(text) - 1] != '\n')
        fa_note_log_add(line->messages->log, "\n", 1);
    return FAINA_OK;
}

static enum faina_code read_id(struct line *line, struct fa_json value)
{
    (void)line;
    (void)value;
    return FAINA_OK;
}

/* In which messages a member may be. */
enum { ALONE = 1, LINE = 2, END = 4 /* and then ends the attempt */ };

static const struct {
    const char *name;
    enum faina_code (*read)(struct line *line, struct fa_json value);
    unsigned where;
} members[] = {
    {"progress", read_progress, ALONE | LINE},
    {"state", read_state, ALONE | LINE},
    {"metadata", read_metadata, ALONE | LINE},
    {"subtask", read_subtask, ALONE},
    {"subtasks", read_subtasks, LINE | END},
    {"failFast", read_fail_fast, ALONE | LINE},
    {"background", read_background, ALONE | LINE | END},
    {"error", read_error, ALONE | LINE | END},
    {"snooze", read_snooze, ALONE | LINE | END},
    {"resource", read_resource, ALONE | LINE},
    {"output", read_output, LINE | END},
    {"log", read_log, LINE},
    {"id", read_id, LINE},
};

/* ------------------------------------------------------------------------------------------
 * Lines
 */

static enum faina_code read_member(struct line *line, struct fa_bytes key, struct fa_json value)
{
    const char *names[FA_COUNT(members) + 1] = {NULL};
    const char *name, *nearest;
    unsigned where = line->messages->log ? LINE : ALONE;

    for (size_t i = 0, count = 0; i < FA_COUNT(members); i++) {
        if (!(members[i].where & where))
            continue;
        names[count++] = members[i].name;
        if (!fa_bytes_equal(key, fa_str(members[i].name)))
            continue;
        if (where == LINE && members[i].where & END)
            line->messages->has_ended = true;
        return members[i].read(line, value);
    }
    name = fa_json_unescape(key, &line->messages->scratch);
    nearest = fa_wire_nearest(name, names);
    return fa_error_set(&line->err, FAINA_INVALID_REQUEST, "unknown member \"%.100s\"%s%s%s", name,
                        nearest ? "; did you mean \"" : "", nearest ? nearest : "",
                        nearest ? "\"?" : "");
}

static enum faina_code read_object(struct line *line, struct fa_json object)
{
    enum faina_code code = FAINA_OK;
    struct fa_json_iter it;
    struct fa_bytes key;
    struct fa_json value;

    for (it = fa_json_iter(object); code == FAINA_OK && fa_json_next(&it, &key, &value);)
        code = read_member(line, key, value);
    if (code == FAINA_OK && line->has_report)
        code = fa_check_report(&line->report, &line->err);
    return code;
}

static enum faina_code read_line(struct line *line, struct fa_bytes text)
{
    struct fa_json object;
    enum faina_code code;

    code = fa_json_check(text, FA_JSON_DEPTH_MAX + LEVELS_AROUND, "line", FAINA_INVALID_REQUEST,
                         &line->err);
    if (code != FAINA_OK)
        return code;
    object = fa_json_value(text);
    if (object.type != FA_JSON_OBJECT)
        return refuse(line, "it must be a JSON object such as {\"progress\":40}");
    return read_object(line, object);
}

void fa_handler_messages_add(struct fa_handler_messages *messages, struct fa_bytes text)
{
    struct line line = {.messages = messages};

    messages->line_count++;
    if (messages->is_wrong || text.len == 0)
        return;
    fa_error_clear(&line.err);
    if (read_line(&line, text) != FAINA_OK)
        fa_handler_messages_refuse(messages, "line %zu on descriptor 3 is invalid: %s",
                                   messages->line_count, line.err.message);
    else if (line.has_report)
        fa_job_report(messages->job, &line.report);
    fa_arena_reset(&messages->scratch);
}

void fa_handler_messages_add_object(struct fa_handler_messages *messages, struct fa_json object)
{
    struct line line = {.messages = messages};

    fa_error_clear(&line.err);
    if (read_object(&line, object) != FAINA_OK)
        fa_handler_messages_refuse(messages, "a line on stdout is invalid: %s", line.err.message);
    else if (line.has_report)
        fa_job_report(messages->job, &line.report);
    fa_arena_reset(&messages->scratch);
}

/* ------------------------------------------------------------------------------------------
 * The end
 */

static struct fa_outcome complete(struct fa_handler_messages *messages, const char *output)
{
    struct faina_error err;
    size_t max = fa_job_output_max(messages->job);

    fa_error_clear(&err);
    if (fa_check_json(output, max, "output", FAINA_INVALID_REQUEST, &err) != FAINA_OK)
        return fa_outcome_fail(&messages->job->arena, "bad_output", true,
                               "the output can't be taken: %s%s; it begins: %s", err.message,
                               err.code == FAINA_INVALID_REQUEST ? HINT : "",
                               fa_note_text(&messages->job->arena, output, strnlen(output, SHOWN)));
    return (struct fa_outcome){.kind = FA_OUTCOME_COMPLETE, .output = output};
}

bool fa_handler_messages_requires(struct fa_handler_messages *messages, struct fa_outcome *outcome)
{
    return !messages->is_wrong && messages->require &&
           fa_require_outcome(messages->require, outcome);
}

bool fa_handler_messages_snoozes(struct fa_handler_messages *messages, struct fa_outcome *outcome)
{
    if (messages->is_wrong || messages->has_error || !messages->has_snooze)
        return false;
    *outcome = (struct fa_outcome){.kind = FA_OUTCOME_SNOOZE, .timeout_ms = messages->snooze_ms};
    return true;
}

struct fa_outcome fa_handler_messages_outcome(struct fa_handler_messages *messages,
                                              const char *output)
{
    struct fa_outcome outcome;

    if (fa_handler_messages_requires(messages, &outcome))
        return outcome;
    if (messages->is_wrong)
        return fa_outcome_fail(&messages->job->arena, "protocol", true, "%s", messages->wrong);
    if (messages->has_error)
        return (struct fa_outcome){.kind = FA_OUTCOME_FAIL, .failure = messages->failure};
    if (fa_handler_messages_snoozes(messages, &outcome))
        return outcome;
    if (messages->has_background && messages->subtask_count > 0)
        return fa_outcome_fail(&messages->job->arena, "protocol", true,
                               "an attempt can go on in the background or wait for subtasks, not "
                               "both");
    if (messages->has_background)
        return (struct fa_outcome){.kind = FA_OUTCOME_BACKGROUND,
                                   .reason = messages->reason,
                                   .timeout_ms = messages->timeout_ms};
    if (messages->subtask_count > 0)
        return (struct fa_outcome){.kind = FA_OUTCOME_BLOCK,
                                   .subtasks = messages->subtasks,
                                   .subtask_count = messages->subtask_count,
                                   .fail_fast = messages->fail_fast};
    return complete(messages, output);
}
