/* type_body.c - see type_body.h. */
#include "wire/type_body.h"

#include "model/backoff.h"
#include "model/limits.h"
#include "model/submit_fields.h"
#include "wire/body.h"

#define REQUIRED FA_FIELD_REQUIRED
#define TYPE(json_name, kind, member, ...)                                                         \
    FA_ROW(json_name, kind, struct faina_type_policy, member, __VA_ARGS__)
#define TYPE_TEXTS(json_name, member, counter, ...)                                                \
    FA_ROW_TEXTS(json_name, struct faina_type_policy, member, counter, __VA_ARGS__)

#define ATTEMPTS_DOC "How often a task is tried; 0 is no limit"
#define RETRY_DOC "How long a task waits after a failed attempt"
#define TIMEOUT_DOC "The longest run of one attempt"
#define START_BY_DOC "A task that was not started so long after its submit is cancelled"
#define PRIORITY_DOC "Tasks with a higher one are claimed first"
#define RESOURCES_DOC "The resources that a task uses while a worker holds it"
#define UNHANDLED_DOC                                                                              \
    "A task that no live worker could handle for so long ends as `failed`, with the kind "         \
    "`no_handler`"
#define SCHEMA_DOC                                                                                 \
    "JSON Schema (a subset, see docs/policies.md): a submit with another input is refused"

static void put_retry(struct fa_json_writer *w, const void *from)
{
    struct faina_retry_policy policy = ((const struct faina_type_policy *)from)->retry;

    if (policy.base_ms == 0 && policy.factor == 0 && policy.max_ms == 0) {
        fa_json_put_null(w);
        return;
    }
    policy = fa_backoff_policy(policy);
    fa_shape_put(w, &fa_shape_retry, &policy);
}

static enum faina_code read_retry(const struct fa_field *field, struct fa_json value,
                                  struct fa_arena *arena, void *out, struct faina_error *err)
{
    (void)field;
    return fa_shape_read(value, &fa_shape_retry, arena, &((struct faina_type_policy *)out)->retry,
                         err);
}

static void put_attempts(struct fa_json_writer *w, const void *from)
{
    int attempts = ((const struct faina_type_policy *)from)->max_attempts;

    if (attempts == 0)
        fa_json_put_null(w);
    else
        fa_json_put_int(w, attempts == FAINA_UNLIMITED ? 0 : attempts);
}

static enum faina_code read_attempts(const struct fa_field *field, struct fa_json value,
                                     struct fa_arena *arena, void *out, struct faina_error *err)
{
    int64_t attempts = 0;

    (void)field;
    (void)arena;
    if (!fa_json_int(value, &attempts) || attempts < 0 || attempts > FA_ATTEMPTS_MAX)
        return fa_error_set(err, FAINA_INTERNAL, "maxAttempts is out of range");
    ((struct faina_type_policy *)out)->max_attempts =
        attempts == 0 ? FAINA_UNLIMITED : (int)attempts;
    return FAINA_OK;
}

static void put_priority(struct fa_json_writer *w, const void *from)
{
    const struct faina_type_policy *policy = from;

    if (policy->has_priority)
        fa_json_put_int(w, policy->priority);
    else
        fa_json_put_null(w);
}

static enum faina_code read_priority(const struct fa_field *field, struct fa_json value,
                                     struct fa_arena *arena, void *out, struct faina_error *err)
{
    struct faina_type_policy *policy = out;
    int64_t priority = 0;

    (void)field;
    (void)arena;
    if (!fa_json_int(value, &priority) || priority < FA_PRIORITY_MIN || priority > FA_PRIORITY_MAX)
        return fa_error_set(err, FAINA_INTERNAL, "priority is out of range");
    policy->has_priority = true;
    policy->priority = (int)priority;
    return FAINA_OK;
}

/* clang-format off */
const struct fa_shape fa_body_type = {
    .name = "TypePolicies",
    .what = "body",
    .is_request = true,
    .fields = FA_FIELDS(
        TYPE("type", TEXT, type, .doc = "As in the path, or not given"),
        TYPE("namespace", TEXT, ns, .flags = FA_FIELD_NAMESPACE, .max = FA_NAMESPACE_SIZE_MAX,
             .doc = "The namespace of the tasks"),
        TYPE("maxAttempts", ATTEMPTS, max_attempts, .max = FA_ATTEMPTS_MAX, .doc = ATTEMPTS_DOC),
        FA_ROW_ONE("retry", fa_shape_retry, struct faina_type_policy, retry, .doc = RETRY_DOC),
        TYPE("timeout", DURATION, timeout_ms, .max = FA_DURATION_MS_MAX, .doc = TIMEOUT_DOC),
        TYPE("startBy", DURATION, start_by_ms, .max = FA_DURATION_MS_MAX, .doc = START_BY_DOC),
        TYPE("priority", INT, priority, .flags = FA_FIELD_HAS,
             .count = offsetof(struct faina_type_policy, has_priority), .min = FA_PRIORITY_MIN,
             .max = FA_PRIORITY_MAX, .doc = PRIORITY_DOC),
        TYPE_TEXTS("resources", resources, resource_count, .max = FA_RESOURCES_MAX,
                   .size = FA_RESOURCE_NAME_SIZE_MAX, .doc = RESOURCES_DOC),
        TYPE("unhandledAfter", DURATION, unhandled_after_ms, .max = FA_DURATION_MS_MAX,
             .doc = UNHANDLED_DOC),
        TYPE("inputSchema", JSON, input_schema, .max = FA_SCHEMA_SIZE_MAX, .doc = SCHEMA_DOC),
        FA_ROW("reason", TEXT, struct fa_type_body, reason, .max = FA_REASON_SIZE_MAX,
               .doc = "Why, for the audit")),
};

const struct fa_shape fa_shape_type = {
    .name = "Type",
    .what = "policies of a type",
    .fields = FA_FIELDS(
        TYPE("type", TEXT, type, .flags = REQUIRED, .doc = "The type, as it was written"),
        TYPE("namespace", TEXT, ns, .flags = REQUIRED, .doc = "The namespace of the tasks"),
        {.name = "maxAttempts", .type = FA_FIELD_OWN, .put = put_attempts, .read = read_attempts,
         .schema = "{\"type\":[\"integer\",\"null\"]}", .doc = ATTEMPTS_DOC},
        {.name = "retry", .type = FA_FIELD_OWN, .inner = &fa_shape_retry, .put = put_retry,
         .read = read_retry, .doc = RETRY_DOC},
        TYPE("timeout", DURATION, timeout_ms, .doc = TIMEOUT_DOC),
        TYPE("startBy", DURATION, start_by_ms, .doc = START_BY_DOC),
        {.name = "priority", .type = FA_FIELD_OWN, .put = put_priority, .read = read_priority,
         .schema = "{\"type\":[\"integer\",\"null\"]}", .doc = PRIORITY_DOC},
        TYPE_TEXTS("resources", resources, resource_count, .doc = RESOURCES_DOC),
        TYPE("unhandledAfter", DURATION, unhandled_after_ms, .doc = UNHANDLED_DOC),
        TYPE("inputSchema", JSON, input_schema, .doc = SCHEMA_DOC),
        TYPE("updatedAt", TIME, updated_us, .flags = REQUIRED, .doc = "When it last changed"),
        TYPE("version", INT64, version, .doc = "Grows with each change")),
};

const struct fa_shape fa_shape_types = {
    .what = "list",
    .fields = FA_FIELDS(FA_ROW_LIST("items", fa_shape_type, struct faina_type_policies, items,
                                    count, .doc = "The types that have policies")),
};
/* clang-format on */
