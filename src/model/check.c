/*
 * check.c - checks the fields of requests.
 *
 * A checker keeps the first refusal and skips the checks after it, so the function of a request is
 * a list of its fields. Those of a submit are in submit_fields.c. Fields have their names on the
 * wire, which users of HTTP and of the command line see.
 */
#include "model/check.h"

#include "json/json.h"
#include "base/utf8.h"
#include "model/failure_group.h"
#include "model/id.h"
#include "model/input_schema.h"
#include "model/limits.h"
#include "model/submit_fields.h"
#include "model/task_filter.h"
#include "model/task_rules.h"
#include "model/trace.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define ID_SHAPE "a UUIDv7 such as 01890a5d-ac96-774b-bcce-b302099a8057"
#define TIME_US_MAX (INT64_C(253402300800) * 1000000 - 1) /* the end of the year 9999 */

struct checker {
    enum faina_code refusal; /* the code of a refusal */
    bool is_json_checked;    /* payloads are valid JSON: only their sizes are checked */
    struct faina_error *err;
    enum faina_code result; /* FAINA_OK so far, or the first refusal */
};

/* ------------------------------------------------------------------------------------------
 * Text
 */

static bool has_control(const char *text)
{
    for (; *text; text++) {
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            return true;
    }
    return false;
}

static enum faina_code too_long(size_t len, size_t max, const char *field, enum faina_code code,
                                struct faina_error *err)
{
    return fa_error_field(err, code, field, "%s is %zu bytes long; the limit is %zu", field, len,
                          max);
}

enum faina_code fa_check_text(const char *text, size_t max, const char *field, enum faina_code code,
                              struct faina_error *err)
{
    struct fa_bytes bytes = fa_str(text);

    if (bytes.len > max)
        return too_long(bytes.len, max, field, code, err);
    if (!fa_utf8_is_valid(bytes))
        return fa_error_field(err, code, field, "%s is not valid UTF-8", field);
    return FAINA_OK;
}

enum faina_code fa_check_name(const char *text, size_t max, const char *field, enum faina_code code,
                              struct faina_error *err)
{
    enum faina_code result;

    if (!text)
        return fa_error_field(err, code, field, "%s is missing", field);
    if (*text == '\0')
        return fa_error_field(err, code, field, "%s is empty", field);
    result = fa_check_text(text, max, field, code, err);
    if (result == FAINA_OK && has_control(text))
        result = fa_error_field(err, code, field, "%s has a control character in it", field);
    return result;
}

enum faina_code fa_check_json(const char *json, size_t max, const char *field, enum faina_code code,
                              struct faina_error *err)
{
    struct fa_bytes text = fa_str(json);

    if (!json)
        return FAINA_OK;
    if (text.len > max)
        return too_long(text.len, max, field, FAINA_PAYLOAD_TOO_LARGE, err);
    return fa_json_check(text, FA_JSON_DEPTH_MAX, field, code, err);
}

/* ------------------------------------------------------------------------------------------
 * Fields. NULL means unset where that is allowed.
 */

static void name(struct checker *c, const char *text, size_t max, const char *field)
{
    if (c->result == FAINA_OK)
        c->result = fa_check_name(text, max, field, c->refusal, c->err);
}

static void name_if_set(struct checker *c, const char *text, size_t max, const char *field)
{
    if (text)
        name(c, text, max, field);
}

static void text_up_to(struct checker *c, const char *text, size_t max, const char *field)
{
    if (c->result == FAINA_OK)
        c->result = fa_check_text(text, max, field, c->refusal, c->err);
}

static void json(struct checker *c, const char *text, size_t max, const char *field)
{
    if (c->result != FAINA_OK || !text)
        return;
    if (!c->is_json_checked)
        c->result = fa_check_json(text, max, field, c->refusal, c->err);
    else if (strlen(text) > max)
        c->result = too_long(strlen(text), max, field, FAINA_PAYLOAD_TOO_LARGE, c->err);
}

static void object(struct checker *c, const char *text, size_t max, const char *field)
{
    json(c, text, max, field);
    if (c->result != FAINA_OK || !text)
        return;
    if (fa_json_value(fa_str(text)).type != FA_JSON_OBJECT)
        c->result = fa_error_field(c->err, c->refusal, field, "%s must be a JSON object", field);
}

static void id_if_set(struct checker *c, const char *text, const char *field)
{
    struct fa_id id;

    if (c->result == FAINA_OK && text && !fa_id_parse(text, &id))
        c->result =
            fa_error_field(c->err, c->refusal, field, "%s is not an id, which is " ID_SHAPE, field);
}

static void failure_group_if_set(struct checker *c, const char *text)
{
    int64_t id;

    if (c->result == FAINA_OK && text && !fa_failure_id_parse(text, &id))
        c->result = fa_error_field(c->err, c->refusal, "failureGroup",
                                   "failureGroup is not the id of a group of failures, which is 16 "
                                   "digits such as 2b13f64c644412ec");
}

static void team_if_set(struct checker *c, const char *text)
{
    char id[FAINA_ID_SIZE];

    if (c->result == FAINA_OK && text && !fa_uuid_parse(text, id))
        c->result = fa_error_field(c->err, c->refusal, "teamId",
                                   "teamId is not an id, which is a UUID such as "
                                   "01890a5d-ac96-774b-bcce-b302099a8057");
}

static void range(struct checker *c, int64_t value, int64_t min, int64_t max, const char *field)
{
    if (c->result == FAINA_OK && (value < min || value > max))
        c->result = fa_error_field(c->err, c->refusal, field,
                                   "%s is %" PRId64 "; it must be %" PRId64 " to %" PRId64, field,
                                   value, min, max);
}

/* Milliseconds in the request, seconds in the message. */
static void duration(struct checker *c, int64_t ms, int64_t max_ms, const char *field)
{
    if (c->result != FAINA_OK)
        return;
    if (ms < 0)
        c->result = fa_error_field(c->err, c->refusal, field, "%s must not be negative", field);
    else if (ms > max_ms)
        c->result = fa_error_field(c->err, c->refusal, field,
                                   "%s is longer than %" PRId64 " seconds", field, max_ms / 1000);
}

static void time_if_set(struct checker *c, int64_t us, const char *field)
{
    if (c->result == FAINA_OK && (us < 0 || us > TIME_US_MAX))
        c->result = fa_error_field(c->err, c->refusal, field,
                                   "%s must be in the years 1970 to 9999", field);
}

static void count(struct checker *c, const void *list, size_t items, size_t max, const char *field)
{
    if (c->result != FAINA_OK)
        return;
    if (items > 0 && !list)
        c->result = fa_error_field(c->err, c->refusal, field, "%s is NULL, but its count is %zu",
                                   field, items);
    else if (items > max)
        c->result = fa_error_field(c->err, c->refusal, field, "%s has %zu items; the limit is %zu",
                                   field, items, max);
}

static void names(struct checker *c, const char *const *list, size_t items, size_t items_max,
                  size_t size_max, const char *field)
{
    count(c, list, items, items_max, field);
    for (size_t i = 0; c->result == FAINA_OK && i < items; i++) {
        char item[64];

        /* The sentence names the item, and the error the field. */
        if (fa_check_name(list[i], size_max, field, c->refusal, NULL) == FAINA_OK)
            continue;
        snprintf(item, sizeof(item), "%s[%zu]", field, i);
        name(c, list[i], size_max, item);
        if (c->err)
            snprintf(c->err->field, sizeof(c->err->field), "%s", field);
    }
}

static void ids(struct checker *c, const char *const *list, size_t items, size_t items_max,
                const char *field)
{
    struct fa_id id;

    count(c, list, items, items_max, field);
    for (size_t i = 0; c->result == FAINA_OK && i < items; i++) {
        if (!fa_id_parse(list[i], &id))
            c->result = fa_error_field(c->err, c->refusal, field,
                                       "%s[%zu] is not a task id, which is " ID_SHAPE, field, i);
    }
}

/* "*" means all namespaces in queries, so it can't be a name. */
static void namespace_if_set(struct checker *c, const char *text)
{
    name_if_set(c, text, FA_NAMESPACE_SIZE_MAX, "namespace");
    if (c->result == FAINA_OK && text && strcmp(text, "*") == 0)
        c->result = fa_error_field(c->err, c->refusal, "namespace",
                                   "namespace is \"*\", which stands for all namespaces");
}

/* ------------------------------------------------------------------------------------------
 * Requests
 */

static void retry_policy(struct checker *c, const struct faina_retry_policy *policy)
{
    duration(c, policy->base_ms, FA_DURATION_MS_MAX, "retry.base");
    duration(c, policy->max_ms, FA_DURATION_MS_MAX, "retry.max");
    /* Below 1 the waits would become shorter. 0 means the default. */
    if (c->result == FAINA_OK && policy->factor != 0 &&
        !(policy->factor >= 1 && isfinite(policy->factor)))
        c->result = fa_error_field(c->err, c->refusal, "retry.factor",
                                   "retry.factor must be a number from 1 on");
}

static void attempts(struct checker *c, int value, const char *field)
{
    if (c->result == FAINA_OK && value != FAINA_UNLIMITED && (value < 0 || value > FA_ATTEMPTS_MAX))
        c->result =
            fa_error_field(c->err, c->refusal, field,
                           "%s is %d; it must be 1 to %d, 0 for the default, or %d for no limit",
                           field, value, FA_ATTEMPTS_MAX, FAINA_UNLIMITED);
}

/* A duration from now, or a time. */
static void when(struct checker *c, int64_t ms, int64_t us, const char *field)
{
    duration(c, ms, FA_DURATION_MS_MAX, field);
    time_if_set(c, us, field);
    if (c->result == FAINA_OK && ms != 0 && us != 0)
        c->result =
            fa_error_field(c->err, c->refusal, field,
                           "%s is a duration and a time; only one of them can be set", field);
}

static void key_scope(struct checker *c, const char *text)
{
    int64_t scope;

    if (c->result == FAINA_OK)
        c->result = fa_key_scope_parse(text, &scope, c->err);
}

static void submit_text(struct checker *c, const struct fa_field *field, const char *text,
                        size_t max)
{
    if (field->type == FA_FIELD_JSON && (field->flags & FA_FIELD_OBJECT))
        object(c, text, max, field->name);
    else if (field->type == FA_FIELD_JSON)
        json(c, text, max, field->name);
    else if (field->flags & FA_FIELD_TEAM)
        team_if_set(c, text);
    else if (field->flags & FA_FIELD_UUID)
        id_if_set(c, text, field->name);
    else if (field->flags & FA_FIELD_NAMESPACE)
        namespace_if_set(c, text);
    else if (field->flags & FA_FIELD_KEY_SCOPE)
        key_scope(c, text);
    else
        name_if_set(c, text, max, field->name);
}

static void word(struct checker *c, const struct fa_field *field, int value)
{
    if (c->result == FAINA_OK && field->word(value) == NULL)
        c->result = fa_error_field(c->err, c->refusal, field->name,
                                   "%s has a value that it cannot have: %d", field->name, value);
}

static void submit_texts(struct checker *c, const struct fa_field *field, const char *const *list,
                         size_t items)
{
    if (field->flags & FA_FIELD_UUID)
        ids(c, list, items, (size_t)field->max, field->name);
    else
        names(c, list, items, (size_t)field->max, field->size, field->name);
}

/* One field of a submit, by its row. The limit of the input is an option of the engine. */
static void submit_field(struct checker *c, const struct fa_field *field,
                         const struct faina_submit *task, size_t input_max)
{
    const char *from = (const char *)task;
    const void *place = from + field->offset;
    bool is_input = field->offset == offsetof(struct faina_submit, input);

    switch ((int)field->type) {
    case FA_FIELD_TEXT:
    case FA_FIELD_JSON:
        submit_text(c, field, *(const char *const *)place,
                    is_input ? input_max : (size_t)field->max);
        return;
    case FA_FIELD_INT:
        range(c, *(const int *)place, field->min, field->max, field->name);
        return;
    case FA_FIELD_ATTEMPTS:
        attempts(c, *(const int *)place, field->name);
        return;
    case FA_FIELD_ENUM:
        word(c, field, *(const int *)place);
        return;
    case FA_FIELD_DURATION:
        duration(c, *(const int64_t *)place, field->max, field->name);
        return;
    case FA_FIELD_TIME:
        time_if_set(c, *(const int64_t *)place, field->name);
        return;
    case FA_FIELD_WHEN:
        when(c, *(const int64_t *)place, *(const int64_t *)(const void *)(from + field->count),
             field->name);
        return;
    case FA_FIELD_TEXTS:
        submit_texts(c, field, *(const char *const *const *)place,
                     *(const size_t *)(const void *)(from + field->count));
        return;
    case FA_FIELD_ONE:
        retry_policy(c, place);
        return;
    default: /* a flag, or another name of a field */
        return;
    }
}

static void not_both(struct checker *c, bool are_both, const char *field, const char *other)
{
    if (c->result == FAINA_OK && are_both)
        c->result = fa_error_field(c->err, c->refusal, field,
                                   "%s and %s are both set; only one of them can be", field, other);
}

/* What only a task with a key can have. */
static void needs_key(struct checker *c, const struct faina_submit *task, bool is_given,
                      const char *field)
{
    if (c->result == FAINA_OK && is_given && !task->idempotency_key && !task->dedupe_input)
        c->result = fa_error_field(c->err, c->refusal, field,
                                   "%s is about a key: it needs idempotencyKey or dedupe", field);
}

static enum faina_code check_submit(const struct faina_submit *task, size_t input_max,
                                    bool is_json_checked, struct faina_error *err)
{
    struct checker c = {
        .refusal = FAINA_INVALID_TASK, .is_json_checked = is_json_checked, .err = err};
    struct fa_trace trace;

    /* With a name or an input and no type, the type is "default". */
    if (!task->type && !task->name && !task->input)
        name(&c, NULL, FA_TYPE_SIZE_MAX, "type");
    for (const struct fa_field *field = fa_submit_fields; field->name; field++)
        if (!(field->flags & FA_FIELD_ALIAS))
            submit_field(&c, field, task, input_max);
    not_both(&c, task->delay_ms != 0 && task->run_at_us != 0, "runAt", "delay");
    not_both(&c, task->idempotency_key && task->dedupe_input, "dedupe", "idempotencyKey");
    needs_key(&c, task, task->key_scope != NULL, "keyScope");
    needs_key(&c, task, task->on_duplicate != FAINA_ON_DUPLICATE_RETURN, "onDuplicate");
    if (c.result == FAINA_OK && task->traceparent && !fa_trace_parse(task->traceparent, &trace))
        c.result = fa_error_field(err, c.refusal, "traceparent",
                                  "traceparent is no W3C Trace Context (00-TRACE-SPAN-FLAGS, in "
                                  "lower-case hex)");
    return c.result;
}

enum faina_code fa_check_submit(const struct faina_submit *task, size_t input_max,
                                struct faina_error *err)
{
    return check_submit(task, input_max, false, err);
}

enum faina_code fa_check_submit_read(const struct faina_submit *task, size_t input_max,
                                     struct faina_error *err)
{
    return check_submit(task, input_max, true, err);
}

enum faina_code fa_check_worker(const char *worker_id, struct faina_error *err)
{
    return fa_check_name(worker_id, FA_WORKER_ID_SIZE_MAX, "workerId", FAINA_INVALID_WORKER_ID,
                         err);
}

/* A claim lists namespaces, or none for all of them. */
static void no_star(struct checker *c, const char *const *list, size_t items)
{
    for (size_t i = 0; c->result == FAINA_OK && i < items; i++)
        if (strcmp(list[i], "*") == 0)
            c->result =
                fa_error_field(c->err, c->refusal, "namespaces",
                               "\"*\" is not a namespace name; a claim without namespaces is for "
                               "all of them");
}

enum faina_code fa_check_claim(const struct faina_claim *claim, struct faina_error *err)
{
    struct checker c = {.refusal = FAINA_INVALID_REQUEST, .err = err};

    c.result = fa_check_worker(claim->worker_id, err);
    names(&c, claim->types, claim->type_count, FA_CLAIM_NAMES_MAX, FA_TYPE_SIZE_MAX, "types");
    names(&c, claim->namespaces, claim->namespace_count, FA_CLAIM_NAMES_MAX, FA_NAMESPACE_SIZE_MAX,
          "namespaces");
    no_star(&c, claim->namespaces, claim->namespace_count);
    names(&c, claim->services, claim->service_count, FA_CLAIM_NAMES_MAX, FA_RESOURCE_NAME_SIZE_MAX,
          "services");
    range(&c, claim->limit, 0, FA_CLAIM_LIMIT_MAX, "limit");
    duration(&c, claim->lease_ms, FA_LEASE_MS_MAX, "leaseSeconds");
    duration(&c, claim->wait_ms, FA_DURATION_MS_MAX, "waitSeconds");
    return c.result;
}

static void held_tasks(struct checker *c, const struct faina_held *held, size_t items)
{
    struct fa_id id;

    count(c, held, items, FA_BATCH_MAX, "tasks");
    for (size_t i = 0; c->result == FAINA_OK && i < items; i++) {
        if (!held[i].id || !fa_id_parse(held[i].id, &id))
            c->result = fa_error_field(c->err, c->refusal, "tasks",
                                       "tasks[%zu] is not a task id, which is " ID_SHAPE, i);
        else if (held[i].fence < 0)
            c->result = fa_error_field(c->err, c->refusal, "tasks",
                                       "the fence of tasks[%zu] must not be negative", i);
    }
}

enum faina_code fa_check_heartbeat(const struct faina_worker *worker, const struct faina_held *held,
                                   size_t held_count, int64_t lease_ms, struct faina_error *err)
{
    struct checker c = {.refusal = FAINA_INVALID_REQUEST, .err = err};

    c.result = fa_check_worker(worker->id, err);
    name_if_set(&c, worker->hostname, FA_HOSTNAME_SIZE_MAX, "hostname");
    range(&c, worker->pool_size, -1, FA_POOL_SIZE_MAX, "poolSize");
    names(&c, worker->types, worker->type_count, FA_CLAIM_NAMES_MAX, FA_TYPE_SIZE_MAX, "types");
    names(&c, worker->services, worker->service_count, FA_CLAIM_NAMES_MAX,
          FA_RESOURCE_NAME_SIZE_MAX, "services");
    name_if_set(&c, worker->version, FA_WORKER_VERSION_SIZE_MAX, "version");
    held_tasks(&c, held, held_count);
    duration(&c, lease_ms, FA_LEASE_MS_MAX, "leaseSeconds");
    return c.result;
}

enum faina_code fa_check_report(const struct faina_report *report, struct faina_error *err)
{
    struct checker c = {.refusal = FAINA_INVALID_REQUEST, .err = err};

    if (report->has_progress)
        range(&c, report->progress, 0, 100, "progress");
    text_up_to(&c, report->state, FA_STATE_SIZE_MAX, "state");
    object(&c, report->metadata, FA_METADATA_SIZE_MAX, "metadata");
    return c.result;
}

enum faina_code fa_check_background(const char *reason, int64_t timeout_ms, struct faina_error *err)
{
    struct checker c = {.refusal = FAINA_INVALID_REQUEST, .err = err};

    duration(&c, timeout_ms, FA_DURATION_MS_MAX, "timeout");
    text_up_to(&c, reason, FA_STATE_SIZE_MAX, "reason");
    return c.result;
}

enum faina_code fa_check_update(const struct faina_update *update, struct faina_error *err)
{
    struct checker c = {.refusal = FAINA_INVALID_REQUEST, .err = err};

    name_if_set(&c, update->name, FA_NAME_SIZE_MAX, "name");
    if (update->has_priority)
        range(&c, update->priority, FA_PRIORITY_MIN, FA_PRIORITY_MAX, "priority");
    time_if_set(&c, update->run_at_us, "runAt");
    attempts(&c, update->max_attempts, "maxAttempts");
    duration(&c, update->timeout_ms, FA_DURATION_MS_MAX, "timeout");
    when(&c, update->start_by_ms, update->start_by_us, "startBy");
    if (update->group != NULL && update->group[0] != '\0')
        name_if_set(&c, update->group, FA_GROUP_SIZE_MAX, "group");
    if (update->metadata)
        object(&c, update->metadata, FA_METADATA_SIZE_MAX, "metadata");
    return c.result;
}

/* Compiles the schema only to find its mistakes. */
static void input_schema(struct checker *c, const char *text)
{
    struct fa_arena scratch = {0};
    const struct fa_input_schema *schema;

    json(c, text, FA_SCHEMA_SIZE_MAX, "inputSchema");
    if (c->result == FAINA_OK && text)
        c->result = fa_input_schema_compile(fa_str(text), &scratch, &schema, c->err);
    fa_arena_finish(&scratch);
}

enum faina_code fa_check_type_policy(const struct faina_type_policy *policy,
                                     struct faina_error *err)
{
    struct checker c = {.refusal = FAINA_INVALID_REQUEST, .err = err};

    namespace_if_set(&c, policy->ns);
    name(&c, policy->type, FA_TYPE_SIZE_MAX, "type");
    attempts(&c, policy->max_attempts, "maxAttempts");
    retry_policy(&c, &policy->retry);
    duration(&c, policy->timeout_ms, FA_DURATION_MS_MAX, "timeout");
    duration(&c, policy->start_by_ms, FA_DURATION_MS_MAX, "startBy");
    if (policy->has_priority)
        range(&c, policy->priority, FA_PRIORITY_MIN, FA_PRIORITY_MAX, "priority");
    names(&c, policy->resources, policy->resource_count, FA_RESOURCES_MAX,
          FA_RESOURCE_NAME_SIZE_MAX, "resources");
    duration(&c, policy->unhandled_after_ms, FA_DURATION_MS_MAX, "unhandledAfter");
    input_schema(&c, policy->input_schema);
    return c.result;
}

enum faina_code fa_check_duration(int64_t ms, const char *field, struct faina_error *err)
{
    struct checker c = {.refusal = FAINA_INVALID_REQUEST, .err = err};

    duration(&c, ms, FA_DURATION_MS_MAX, field);
    return c.result;
}

enum faina_code fa_check_failure(const struct faina_failure *failure, struct faina_error *err)
{
    struct checker c = {.refusal = FAINA_INVALID_REQUEST, .err = err};

    if (!failure->message || *failure->message == '\0')
        return fa_error_field(err, FAINA_INVALID_REQUEST, "error.message",
                              "error.message is missing; it explains why the attempt failed");
    text_up_to(&c, failure->message, FA_ERROR_MESSAGE_SIZE_MAX, "error.message");
    name_if_set(&c, failure->kind, FA_ERROR_KIND_SIZE_MAX, "error.kind");
    json(&c, failure->detail, FA_ERROR_DETAIL_SIZE_MAX, "error.detail");
    when(&c, failure->retry_after_ms, failure->retry_at_us, "error.retryAfter");
    return c.result;
}

static void metadata_if_set(struct checker *c, const struct faina_query *query)
{
    if (c->result == FAINA_OK && query->metadata_count > FA_LIST_METADATA_MAX)
        c->result = fa_error_field(c->err, c->refusal, "metadata",
                                   "a filter has at most %d conditions on metadata, not %zu",
                                   FA_LIST_METADATA_MAX, query->metadata_count);
    for (size_t i = 0; c->result == FAINA_OK && i < query->metadata_count; i++)
        c->result = fa_filter_check_metadata(&query->metadata[i], c->err);
}

static void sort_is_known(struct checker *c, enum faina_sort sort)
{
    if (c->result == FAINA_OK && (int)sort != FAINA_SORT_CREATED && sort != FAINA_SORT_UPDATED &&
        sort != FAINA_SORT_PRIORITY && sort != FAINA_SORT_RUN_AT)
        c->result = fa_error_field(c->err, c->refusal, "sort",
                                   "sort must be createdAt, updatedAt, priority or runAt");
}

enum faina_code fa_check_query(const struct faina_query *query, struct faina_error *err)
{
    struct checker c = {.refusal = FAINA_INVALID_REQUEST, .err = err};

    name_if_set(&c, query->ns, FA_NAMESPACE_SIZE_MAX, "namespace");
    if (c.result == FAINA_OK && query->statuses >> FAINA_STATUS_COUNT)
        c.result = fa_error_field(err, c.refusal, "status", "status has an unknown status");
    name_if_set(&c, query->type, FA_TYPE_SIZE_MAX, "type");
    name_if_set(&c, query->name, FA_NAME_SIZE_MAX, "name");
    team_if_set(&c, query->team_id);
    id_if_set(&c, query->parent_id, "parentId");
    name_if_set(&c, query->created_by, FA_CREATED_BY_SIZE_MAX, "createdBy");
    name_if_set(&c, query->group, FA_GROUP_SIZE_MAX, "group");
    name_if_set(&c, query->idempotency_key, FA_KEY_SIZE_MAX, "idempotencyKey");
    time_if_set(&c, query->created_after_us, "createdAfter");
    time_if_set(&c, query->created_before_us, "createdBefore");
    time_if_set(&c, query->updated_after_us, "updatedAfter");
    time_if_set(&c, query->updated_before_us, "updatedBefore");
    time_if_set(&c, query->ended_after_us, "endedAfter");
    time_if_set(&c, query->ended_before_us, "endedBefore");
    time_if_set(&c, query->due_before_us, "dueBefore");
    name_if_set(&c, query->worker_id, FA_WORKER_ID_SIZE_MAX, "workerId");
    name_if_set(&c, query->resource, FA_RESOURCE_NAME_SIZE_MAX, "resource");
    name_if_set(&c, query->error_kind, FA_ERROR_KIND_SIZE_MAX, "errorKind");
    failure_group_if_set(&c, query->failure_group);
    name_if_set(&c, query->origin, FA_NAME_SIZE_MAX, "origin");
    name_if_set(&c, query->schedule, FA_CRON_NAME_SIZE_MAX, "schedule");
    metadata_if_set(&c, query);
    sort_is_known(&c, query->sort);
    range(&c, query->limit, 0, FA_LIST_LIMIT_MAX, "limit");
    name_if_set(&c, query->cursor, FA_CURSOR_SIZE_MAX, "cursor");
    return c.result;
}
