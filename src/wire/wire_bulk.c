/* wire_bulk.c - see wire_bulk.h. */
#include "wire/wire_bulk.h"

#include "model/limits.h"
#include "wire/body.h"
#include "wire/filter.h"

#include <assert.h>

void fa_bulk_put_filter(struct fa_json_writer *w, const struct fa_bulk_request *request)
{
    const struct fa_filter filter = {.query = request->query, .all = request->all};

    fa_filter_put(w, &filter);
}

static void put_filter(struct fa_json_writer *w, const void *from)
{
    fa_bulk_put_filter(w, from);
}

static enum faina_code read_filter(const struct fa_field *field, struct fa_json value,
                                   struct fa_arena *arena, void *out, struct faina_error *err)
{
    struct fa_bulk_request *request = out;
    struct fa_filter filter;
    enum faina_code code = fa_filter_read(value, arena, &filter, err);

    (void)field;
    if (code != FAINA_OK)
        return code;
    request->has_filter = true;
    request->query = filter.query;
    request->all = filter.all;
    return FAINA_OK;
}

static void put_set(struct fa_json_writer *w, const void *from)
{
    const struct fa_update_body body = {.update = *((const struct fa_bulk_request *)from)->set};

    fa_shape_put(w, &fa_body_update, &body);
}

static enum faina_code read_set(const struct fa_field *field, struct fa_json value,
                                struct fa_arena *arena, void *out, struct faina_error *err)
{
    struct fa_bulk_request *request = out;
    struct fa_update_body *body = fa_arena_zero(arena, 1, sizeof(*body));
    enum faina_code code;

    if (value.type != FA_JSON_OBJECT)
        return fa_body_refuse(field, "an object, such as {\"priority\":10}", err);
    request->set = &body->update;
    code = fa_body_read_object(value, field->name, &fa_body_update, arena, body, err);
    if (code == FAINA_OK && body->reason)
        return fa_error_field(err, FAINA_INVALID_REQUEST, "set.reason",
                              "reason belongs beside set, not into it");
    return code;
}

/* clang-format off */
#define BULK(json_name, kind, member, ...)                                                         \
    FA_ROW(json_name, kind, struct fa_bulk_request, member, __VA_ARGS__)
#define BODY(symbol, schema_name, ...)                                                             \
    const struct fa_shape fa_body_bulk_##symbol = {                                                \
        .name = (schema_name),                                                                     \
        .what = "body",                                                                            \
        .is_request = true,                                                                        \
        .fields = FA_FIELDS(                                                                       \
            {.name = "filter", .type = FA_FIELD_OWN,                                               \
             .flags = FA_FIELD_REQUIRED | FA_FIELD_HAS,                                            \
             .count = offsetof(struct fa_bulk_request, has_filter), .inner = &fa_shape_filter,     \
             .put = put_filter, .read = read_filter, .doc = "Which tasks"},                        \
            BULK("dryRun", BOOL, dry_run,                                                          \
                 .doc = "Only count the tasks: the answer is `{matched}`"),                        \
            BULK("reason", TEXT, reason, .max = FA_REASON_SIZE_MAX,                                \
                 .doc = "Why, for the people who read the operation later")                        \
            __VA_ARGS__)}

BODY(cancel, "BulkCancel");
BODY(retry, "BulkRetry",
     , BULK("resetAttempts", BOOL, resets_attempts, .flags = FA_FIELD_HAS,
            .count = offsetof(struct fa_bulk_request, has_reset),
            .doc = "Attempts are counted from 0 again; true by default"));
BODY(delete, "BulkDelete",
     , BULK("cancel", BOOL, cancels, .doc = "Cancel tasks that have not ended first"),
     BULK("purge", BOOL, purges, .doc = "Remove the rows too"));
BODY(update, "BulkUpdate",
     , {.name = "set", .type = FA_FIELD_OWN, .flags = FA_FIELD_REQUIRED,
        .offset = offsetof(struct fa_bulk_request, set), .inner = &fa_body_update,
        .put = put_set, .read = read_set,
        .doc = "What to change, as `PATCH /tasks/{id}` takes it"});

const struct fa_shape *const fa_body_bulk[FA_BULK_KIND_COUNT] = {
    [FA_BULK_CANCEL] = &fa_body_bulk_cancel,
    [FA_BULK_RETRY] = &fa_body_bulk_retry,
    [FA_BULK_DELETE] = &fa_body_bulk_delete,
    [FA_BULK_UPDATE] = &fa_body_bulk_update,
};

#define ROW(json_name, kind, member, ...)                                                          \
    FA_ROW(json_name, kind, struct fa_bulk, member, __VA_ARGS__)

const struct fa_shape fa_shape_bulk = {
    .name = "Operation",
    .what = "operation",
    .fields = FA_FIELDS(
        ROW("id", ID, id, .flags = FA_FIELD_REQUIRED | FA_FIELD_UUID, .doc = "The operation"),
        ROW("kind", ENUM, kind, .word = fa_bulk_kind_word, .doc = "What it does with the tasks"),
        ROW("status", ENUM, status, .word = fa_bulk_status_word, .doc = "How far it is"),
        ROW("matched", INT64, matched,
            .doc = "Tasks that the filter has found; grows while many are counted"),
        ROW("done", INT64, done, .doc = "Tasks that were changed"),
        ROW("failed", INT64, failed,
            .doc = "Tasks that could not be changed, for example because of their status"),
        ROW("createdBy", TEXT, created_by, .doc = "The token's name; null: there was none"),
        ROW("reason", TEXT, reason, .doc = "As it was given"),
        ROW("error", TEXT, error, .doc = "Why it failed"),
        ROW("namespace", TEXT, ns, .flags = FA_FIELD_REQUIRED, .doc = "Of the filter; `*`: all"),
        ROW("filter", JSON, filter, .flags = FA_FIELD_OBJECT,
            .doc = "Which tasks. Null for a token that may not see payloads"),
        ROW("taskId", TEXT, task_id, .flags = FA_FIELD_UUID,
            .doc = "It cancels the tasks below this one, instead of those of a filter"),
        ROW("set", JSON, set, .flags = FA_FIELD_OBJECT, .doc = "What an update changes"),
        ROW("createdAt", TIME, created_us, .flags = FA_FIELD_REQUIRED, .doc = "When it began"),
        ROW("updatedAt", TIME, updated_us, .flags = FA_FIELD_REQUIRED,
            .doc = "When its numbers were last stored"),
        ROW("endedAt", TIME, ended_us, .doc = "When it ended")),
};

const struct fa_shape fa_shape_bulks = {
    .what = "list",
    .fields = FA_FIELDS(FA_ROW_LIST("items", fa_shape_bulk, struct fa_bulks, items, count,
                                    .doc = "The operations, the newest first")),
};
/* clang-format on */

void fa_bulk_put(struct fa_json_writer *w, const struct fa_bulk_request *request)
{
    assert(request->kind < FA_BULK_KIND_COUNT);
    fa_shape_put(w, fa_body_bulk[request->kind], request);
}

enum faina_code fa_bulk_read(struct fa_bytes json, enum fa_bulk_kind kind, struct fa_arena *arena,
                             struct fa_bulk_request *out, struct faina_error *err)
{
    assert(kind < FA_BULK_KIND_COUNT);
    *out = (struct fa_bulk_request){.kind = kind};
    return fa_body_read(json, fa_body_bulk[kind], arena, out, err);
}
