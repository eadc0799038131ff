/* submit_fields.c - see submit_fields.h. */
#include "model/submit_fields.h"

#include "model/limits.h"

#define MEMBER(json_name, kind, member)                                                            \
    .name = (json_name), .type = FA_FIELD_##kind, .offset = offsetof(struct faina_submit, member)
#define LIST(json_name, member, counter)                                                           \
    MEMBER(json_name, TEXTS, member), .count = offsetof(struct faina_submit, counter)
#define POLICY(json_name, kind, member)                                                            \
    .name = (json_name), .type = FA_FIELD_##kind,                                                  \
    .offset = offsetof(struct faina_retry_policy, member)

const struct fa_shape fa_shape_retry = {
    .name = "RetryPolicy",
    .what = "retry",
    .is_request = true,
    .refusal = FAINA_INVALID_TASK,
    .example = "{\"base\":\"15s\",\"factor\":8,\"max\":\"6h\"}",
    .doc = "How long a failed task waits before its next attempt",
    .fields = FA_FIELDS({POLICY("base", DURATION, base_ms), .flags = FA_FIELD_SOME_TIME,
                         .max = FA_DURATION_MS_MAX,
                         .doc = "The wait after the first failed attempt; 15 seconds by default, "
                                "1 ms at least"},
                        {POLICY("factor", DOUBLE, factor), .min = 1,
                         .doc = "Each wait is this many times the one before; 8 by default"},
                        {POLICY("max", DURATION, max_ms), .flags = FA_FIELD_SOME_TIME,
                         .max = FA_DURATION_MS_MAX, .doc = "The longest wait; 6 hours by default"}),
};

static const char *dedupe_word(int value)
{
    return value == 0 ? "input" : NULL;
}

static const char *on_duplicate_word(int value)
{
#define WORD(name, wire) [FAINA_ON_DUPLICATE_##name] = (wire),
    static const char *const words[] = {FAINA_ON_DUPLICATE_LIST(WORD)};
#undef WORD

    return value >= 0 && value < FAINA_ON_DUPLICATE_COUNT ? words[value] : NULL;
}

/* clang-format off */
const struct fa_field fa_submit_fields[] = {
    {MEMBER("namespace", TEXT, ns), .flags = FA_FIELD_NAMESPACE, .max = FA_NAMESPACE_SIZE_MAX,
     .doc = "`default`, or the only one of the token, when it is not given"},
    {MEMBER("type", TEXT, type), .max = FA_TYPE_SIZE_MAX,
     .doc = "Which handler runs it; `default` when only a name or an input is given"},
    {MEMBER("name", TEXT, name), .max = FA_NAME_SIZE_MAX,
     .doc = "Display name; the type when it is not given"},
    {MEMBER("input", JSON, input), .max = FA_INPUT_SIZE_DEFAULT, .excludes = "payload",
     .doc = "Input of the handler"},
    {MEMBER("payload", JSON, input), .flags = FA_FIELD_ALIAS, .max = FA_INPUT_SIZE_DEFAULT,
     .doc = "The same as `input`"},
    {MEMBER("metadata", JSON, metadata), .flags = FA_FIELD_OBJECT, .max = FA_METADATA_SIZE_MAX,
     .doc = "Client-defined object; the handler can add to it"},
    {MEMBER("spec", JSON, spec), .flags = FA_FIELD_OBJECT, .max = FA_SPEC_SIZE_MAX,
     .doc = "Task settings, for the handler; `{}` by default"},
    {MEMBER("priority", INT, priority), .flags = FA_FIELD_HAS,
     .count = offsetof(struct faina_submit, has_priority), .min = FA_PRIORITY_MIN,
     .max = FA_PRIORITY_MAX, .doc = "Higher ones are claimed first; 0 by default"},
    {MEMBER("maxAttempts", ATTEMPTS, max_attempts), .flags = FA_FIELD_AMEND,
     .max = FA_ATTEMPTS_MAX, .excludes = "maxRetries",
     .doc = "Maximum number of attempts; 4 by default, 0 is no limit"},
    {MEMBER("maxRetries", RETRIES, max_attempts), .flags = FA_FIELD_AMEND | FA_FIELD_ALIAS,
     .max = FA_ATTEMPTS_MAX,
     .doc = "Maximum number of attempts after the first"},
    {MEMBER("delay", DURATION, delay_ms), .max = FA_DURATION_MS_MAX, .excludes = "runAt",
     .doc = "The task runs no earlier than this long from now"},
    {MEMBER("runAt", TIME, run_at_us),
     .doc = "The task runs no earlier than this time"},
    {MEMBER("idempotencyKey", TEXT, idempotency_key), .max = FA_KEY_SIZE_MAX,
     .excludes = "dedupe",
     .doc = "One task per key in a namespace and type: a second submit gets the first task"},
    {MEMBER("dedupe", SWITCH, dedupe_input), .word = dedupe_word,
     .doc = "`input`: the hash of the input is the key"},
    {MEMBER("keyScope", TEXT, key_scope), .flags = FA_FIELD_KEY_SCOPE, .max = FA_KEY_SIZE_MAX,
     .schema = "{\"type\":[\"string\",\"number\"]}",
     .doc = "How long the task keeps its key: `exists` (as long as the task exists, the default), "
            "`active` (until it has ended), or a duration since its creation"},
    {MEMBER("onDuplicate", ENUM, on_duplicate), .word = on_duplicate_word,
     .doc = "When the key belongs to another task: `return` it (the default), `reject` the submit "
            "(409 `duplicate_key`), or `replace` the input, runAt, priority and metadata of a "
            "pending task"},
    {LIST("dependsOn", depends_on, depends_on_count), .flags = FA_FIELD_UUID,
     .max = FA_DEPENDS_ON_MAX,
     .doc = "Ids of the tasks that must complete first"},
    {LIST("resources", resources, resource_count), .flags = FA_FIELD_AMEND,
     .max = FA_RESOURCES_MAX, .size = FA_RESOURCE_NAME_SIZE_MAX,
     .doc = "Names of the resources that the task uses while a worker holds it"},
    {MEMBER("retry", ONE, retry), .flags = FA_FIELD_AMEND, .inner = &fa_shape_retry,
     .doc = "How long the task waits after a failed attempt"},
    {MEMBER("timeout", DURATION, timeout_ms), .max = FA_DURATION_MS_MAX,
     .doc = "The longest run of one attempt: the engine ends it, and it is retried"},
    {MEMBER("startBy", WHEN, start_by_ms), .count = offsetof(struct faina_submit, start_by_us),
     .doc = "A task that was not started by then is cancelled: a duration or a time"},
    {MEMBER("group", TEXT, group), .max = FA_GROUP_SIZE_MAX,
     .doc = "Fair share: ready tasks of one type and priority take turns by their groups, however "
            "many tasks each has"},
    {MEMBER("detached", BOOL, detached), .flags = FA_FIELD_DIRECT,
     .doc = "Of a subtask only: its parent doesn't wait for it"},
    {.name = "nulls", .type = FA_FIELD_NULLS, .flags = FA_FIELD_DIRECT,
     .doc = "Names of payload members whose value is JSON null; a null itself means unset"},
    {MEMBER("teamId", TEXT, team_id), .flags = FA_FIELD_UUID | FA_FIELD_TEAM, .excludes = "team_id",
     .doc = "The team that the task belongs to"},
    {MEMBER("team_id", TEXT, team_id), .flags = FA_FIELD_UUID | FA_FIELD_TEAM | FA_FIELD_ALIAS,
     .doc = "The same as `teamId`"},
    {MEMBER("createdBy", TEXT, created_by), .max = FA_CREATED_BY_SIZE_MAX,
     .doc = "Submitter, free text"},
    {MEMBER("traceparent", TEXT, traceparent), .flags = FA_FIELD_DIRECT,
     .max = FA_TRACEPARENT_SIZE_MAX,
     .doc = "W3C Trace Context of the submitter, stored in the metadata as `traceparent`; used "
            "instead of the header of this name"},
    {.name = NULL},
};
/* clang-format on */
