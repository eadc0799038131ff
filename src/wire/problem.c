/* problem.c - errors as JSON (RFC 9457), see wire.h. */
#include "wire/wire.h"

#include "base/nearest.h"
#include "base/utf8.h"
#include "model/codes.h"

#include <limits.h>
#include <stdio.h>

#define REQUIRED FA_FIELD_REQUIRED

/* clang-format off */
static const struct fa_shape field_error_shape = {
    .what = "error",
    .schema = "{\"type\":\"object\",\"properties\":{\"field\":{\"type\":\"string\"},"
              "\"message\":{\"type\":\"string\"},\"line\":{\"type\":\"integer\"},"
              "\"column\":{\"type\":\"integer\"}},\"required\":[\"field\",\"message\"]}",
};

/* As fa_wire_put_problem writes it. */
const struct fa_shape fa_shape_problem = {
    .name = "Problem",
    .what = "problem",
    .doc = "RFC 9457; code is for programs",
    .fields = FA_FIELDS(
        {.name = "type", .flags = REQUIRED, .doc = "`urn:faina:problem:` and the code"},
        {.name = "title", .flags = REQUIRED, .doc = "What the code means"},
        {.name = "status", .type = FA_FIELD_INT, .doc = "The HTTP status"},
        {.name = "detail", .flags = REQUIRED, .doc = "What is wrong, in a sentence"},
        {.name = "code", .flags = REQUIRED, .doc = "For programs"},
        {.name = "id", .flags = FA_FIELD_OMIT, .schema = "{\"type\":[\"string\",\"null\"]}",
         .doc = "The task, when it is one of many"},
        {.name = "errors", .type = FA_FIELD_LIST, .flags = FA_FIELD_OMIT,
         .inner = &field_error_shape, .doc = "The fields that are to blame"}),
};
/* clang-format on */

void fa_wire_put_problem_as(struct fa_json_writer *w, const struct faina_error *error, int status,
                            const char *task_id)
{
    char type[96];

    snprintf(type, sizeof(type), "urn:faina:problem:%s", faina_code_name(error->code));
    fa_json_begin_object(w);
    fa_json_set_str(w, "type", type);
    fa_json_set_str(w, "title", fa_code_sentence(error->code));
    fa_json_set_int(w, "status", status);
    fa_json_set_str(w, "detail",
                    error->message[0] ? error->message : fa_code_sentence(error->code));
    fa_json_set_str(w, "code", faina_code_name(error->code));
    if (task_id)
        fa_json_set_str(w, "id", task_id);
    if (error->field[0]) {
        fa_json_key(w, "errors");
        fa_json_begin_array(w);
        fa_json_begin_object(w);
        fa_json_set_str(w, "field", error->field);
        fa_json_set_str(w, "message", error->message);
        if (error->line > 0) {
            fa_json_set_int(w, "line", error->line);
            fa_json_set_int(w, "column", error->column);
        }
        fa_json_end_object(w);
        fa_json_end_array(w);
    }
    fa_json_end_object(w);
}

void fa_wire_put_problem(struct fa_json_writer *w, const struct faina_error *error)
{
    fa_wire_put_problem_as(w, error, fa_code_http(error->code), NULL);
}

static void copy_member(struct fa_json object, const char *name, struct fa_arena *arena, char *out,
                        size_t size)
{
    const char *text = fa_json_member_text(object, name, arena);

    if (text != NULL)
        snprintf(out, size, "%s", text);
}

static int int_member(struct fa_json object, const char *name)
{
    int64_t number = fa_json_member_int(object, name);

    return number > 0 && number < INT_MAX ? (int)number : 0;
}

/* The first field error has the position. */
static void read_position(struct fa_json problem, struct fa_arena *arena, struct faina_error *out)
{
    struct fa_json errors, first;
    struct fa_json_iter it;

    if (!fa_json_member(problem, "errors", &errors) || errors.type != FA_JSON_ARRAY)
        return;
    it = fa_json_iter(errors);
    if (!fa_json_next(&it, NULL, &first) || first.type != FA_JSON_OBJECT)
        return;
    copy_member(first, "field", arena, out->field, sizeof(out->field));
    out->line = int_member(first, "line");
    out->column = int_member(first, "column");
}

bool fa_wire_read_problem(struct fa_json problem, struct fa_arena *arena, struct faina_error *out)
{
    char code[64] = "";
    int status;

    if (problem.type != FA_JSON_OBJECT)
        return false;
    status = int_member(problem, "status");
    copy_member(problem, "code", arena, code, sizeof(code));
    fa_error_clear(out);
    if (status < 400 || code[0] == '\0')
        return false;
    if (!fa_code_parse(code, &out->code) || out->code == FAINA_OK)
        out->code = fa_code_of_http(status);
    copy_member(problem, "detail", arena, out->message, sizeof(out->message));
    /* It may have been cut in the middle of a character. */
    out->message[fa_utf8_valid_length(fa_str(out->message))] = '\0';
    read_position(problem, arena, out);
    return true;
}

const char *fa_wire_nearest(const char *word, const char *const *names)
{
    return fa_nearest(word, names);
}
