/* wire_reports.c - see wire_reports.h. */
#include "wire/wire_reports.h"

#include "model/audit_entry.h"
#include "model/failure_group.h"
#include "model/history.h"

#define REQUIRED FA_FIELD_REQUIRED

/* Quantiles are null when nothing was counted. */
static void put_quantile(struct fa_json_writer *w, const struct fa_history_spans *spans,
                         double seconds)
{
    if (spans->has_any)
        fa_json_put_double(w, seconds);
    else
        fa_json_put_null(w);
}

static void put_p50(struct fa_json_writer *w, const void *from)
{
    put_quantile(w, from, ((const struct fa_history_spans *)from)->p50);
}

static void put_p95(struct fa_json_writer *w, const void *from)
{
    put_quantile(w, from, ((const struct fa_history_spans *)from)->p95);
}

static void put_p99(struct fa_json_writer *w, const void *from)
{
    put_quantile(w, from, ((const struct fa_history_spans *)from)->p99);
}

static enum faina_code read_quantile(const struct fa_field *field, struct fa_json value,
                                     struct fa_arena *arena, void *out, struct faina_error *err)
{
    struct fa_history_spans *spans = out;

    (void)arena;
    (void)err;
    spans->has_any = true;
    return fa_json_double(value, (double *)(void *)((char *)out + field->offset)) ? FAINA_OK
                                                                                  : FAINA_INTERNAL;
}

static void put_group_id(struct fa_json_writer *w, const void *from)
{
    fa_json_put_str(w, ((const struct fa_failure_group *)from)->id);
}

static enum faina_code read_group_id(const struct fa_field *field, struct fa_json value,
                                     struct fa_arena *arena, void *out, struct faina_error *err)
{
    struct fa_failure_group *group = out;
    const char *text = value.type == FA_JSON_STRING ? fa_json_text(value, arena) : NULL;

    (void)field;
    (void)err;
    if (text == NULL || strlen(text) >= sizeof(group->id))
        return FAINA_INTERNAL;
    memcpy(group->id, text, strlen(text) + 1);
    return FAINA_OK;
}

/* clang-format off */
#define QUANTILE(json_name, member, writer, text)                                                  \
    {.name = (json_name), .type = FA_FIELD_OWN,                                                    \
     .offset = offsetof(struct fa_history_spans, member), .put = (writer), .read = read_quantile,  \
     .schema = "{\"type\":[\"number\",\"null\"]}", .doc = (text)}

static const struct fa_shape spans_shape = {
    .what = "quantiles",
    .fields = FA_FIELDS(
        QUANTILE("p50", p50, put_p50, "Half of them are shorter; null: there were none"),
        QUANTILE("p95", p95, put_p95, "95 of 100 are shorter"),
        QUANTILE("p99", p99, put_p99, "99 of 100 are shorter")),
};

#define ITEM(json_name, kind, member, ...)                                                         \
    FA_ROW(json_name, kind, struct fa_history_item, member, __VA_ARGS__)

static const struct fa_shape item_shape = {
    .what = "step",
    .fields = FA_FIELDS(
        ITEM("at", TIME, at_us, .flags = REQUIRED, .doc = "The beginning of the step"),
        ITEM("submitted", INT64, submitted, .doc = "Tasks that were created"),
        ITEM("completed", INT64, completed, .doc = "Tasks that completed"),
        ITEM("failed", INT64, failed, .doc = "Tasks that failed for good"),
        ITEM("deadLettered", INT64, dead_lettered, .doc = "Tasks that ran out of attempts"),
        ITEM("cancelled", INT64, cancelled, .doc = "Tasks that were cancelled"),
        ITEM("retried", INT64, retried,
             .doc = "How often a task became pending again, after an attempt that failed or by a "
                    "retry"),
        ITEM("waiting", INT64, waiting, .doc = "Pending tasks at the end of the step, or now"),
        ITEM("running", INT64, running,
             .doc = "Tasks that were claimed, running or in the background, at its end or now"),
        ITEM("oldestReadySeconds", DOUBLE, oldest_ready_s,
             .doc = "The longest that a ready task had waited"),
        FA_ROW_ONE("wait", spans_shape, struct fa_history_item, wait,
                   .doc = "Seconds that tasks were ready before they were claimed"),
        FA_ROW_ONE("run", spans_shape, struct fa_history_item, run,
                   .doc = "Seconds that attempts took, from start, or else claim, to end")),
};

const struct fa_shape fa_shape_history = {
    .name = "History",
    .what = "history",
    .fields = FA_FIELDS(
        FA_ROW_LIST("items", item_shape, struct fa_history_answer, items, count,
                    .doc = "The steps, oldest first; the last one contains the present"),
        FA_ROW("step", DURATION, struct fa_history_answer, step_ms,
               .doc = "The length of a step")),
};

#define GROUP(json_name, kind, member, ...)                                                        \
    FA_ROW(json_name, kind, struct fa_failure_group, member, __VA_ARGS__)

static const struct fa_shape group_shape = {
    .what = "group",
    .fields = FA_FIELDS(
        {.name = "id", .type = FA_FIELD_OWN, .put = put_group_id, .read = read_group_id,
         .schema = "{\"type\":\"string\"}",
         .doc = "The group: the same for the same namespace, type, kind and message"},
        GROUP("namespace", TEXT, ns, .flags = REQUIRED, .doc = "Namespace of the tasks"),
        GROUP("type", TEXT, type, .flags = REQUIRED, .doc = "Type of the tasks"),
        GROUP("kind", TEXT, kind, .doc = "`kind` of the errors"),
        GROUP("message", TEXT, message, .flags = REQUIRED,
              .doc = "What their messages have in common: `#` is a number or an id, `…` is quoted "
                     "text"),
        GROUP("count", INT64, count, .doc = "Attempts that failed so"),
        GROUP("firstAt", TIME, first_us, .doc = "When the first one failed"),
        GROUP("lastAt", TIME, last_us, .doc = "When the last one failed"),
        FA_ROW_TEXTS("taskIds", struct fa_failure_group, task_ids, task_count,
                     .flags = REQUIRED | FA_FIELD_UUID, .doc = "The last 10 tasks, newest first")),
};

const struct fa_shape fa_shape_failures = {
    .name = "Failures",
    .what = "list",
    .fields = FA_FIELDS(FA_ROW_LIST("items", group_shape, struct fa_failure_groups, items, count,
                                    .doc = "The groups, the largest first")),
};

#define ENTRY(json_name, kind, member, ...)                                                        \
    FA_ROW(json_name, kind, struct fa_audit_entry, member, __VA_ARGS__)

const struct fa_shape fa_shape_audit_entry = {
    .what = "entry",
    .fields = FA_FIELDS(
        ENTRY("id", INT64, id, .flags = REQUIRED, .doc = "1, 2, 3, ... without gaps"),
        ENTRY("at", TIME, at_us, .flags = REQUIRED, .doc = "When it was done"),
        ENTRY("who", TEXT, who,
              .doc = "The name of the token, or of the user of the command line; null: a request "
                     "without a token"),
        ENTRY("act", TEXT, act, .flags = REQUIRED, .doc = "What was done"),
        ENTRY("target", TEXT, target, .doc = "To which task, type, resource ..."),
        ENTRY("reason", TEXT, reason, .doc = "Why, if it was given"),
        ENTRY("requestId", TEXT, request_id, .doc = "The request that did it"),
        ENTRY("previousHash", TEXT, previous_hash, .doc = "`hash` of the entry before"),
        ENTRY("hash", TEXT, hash, .flags = REQUIRED,
              .doc = "SHA-256 of the other members (docs/audit.md)")),
};

const struct fa_shape fa_shape_audit = {
    .name = "Audit",
    .what = "list",
    .fields = FA_FIELDS(
        FA_ROW_LIST("items", fa_shape_audit_entry, struct fa_audit_list, items, count,
                    .doc = "The entries"),
        FA_ROW("nextCursor", TEXT, struct fa_audit_list, next_cursor,
               .doc = "Where the list goes on; null: this was the last page"),
        FA_ROW("total", INT64, struct fa_audit_list, total,
               .doc = "Entries, as counted outside of the chain"),
        FA_ROW("lastHash", TEXT, struct fa_audit_list, last_hash,
               .doc = "`hash` of the last entry, as stored outside of the chain")),
};
/* clang-format on */
