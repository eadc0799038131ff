/*
 * workflow_task.c - the task of a trigger or join: a submit body with templates in it.
 *
 * A field that holds a ${path} is known only when it is rendered; the others are held against the
 * rules of a submit now, so that a mistake shows when the definition is made and not when the first
 * event comes. The names are those of service/wire.c.
 */
#include "model/workflow_inner.h"

#include "model/check.h"
#include "model/id.h"
#include "model/limits.h"
#include "model/times.h"

#include <inttypes.h>

/* The fields of a submit. Bits tell which of them are there. */
enum member {
    NAMESPACE,
    TYPE,
    NAME,
    INPUT,
    METADATA,
    SPEC,
    PRIORITY,
    MAX_ATTEMPTS,
    MAX_RETRIES,
    DELAY,
    RUN_AT,
    KEY,
    DEDUPE,
    DEPENDS_ON,
    RESOURCES,
    RETRY,
    TEAM_ID,
    TEAM_ID_TOO,
    CREATED_BY,
    MEMBER_COUNT
};

#define BIT(member) (UINT32_C(1) << (member))

/* All of a task's names have the same limit, but the key. */
static void check_name(struct fa_workflow_reader *r, struct fa_json value)
{
    fa_workflow_name(r, value, FA_TYPE_SIZE_MAX);
}

static void check_namespace(struct fa_workflow_reader *r, struct fa_json value)
{
    const char *text = fa_workflow_name(r, value, FA_NAMESPACE_SIZE_MAX);

    if (text && strcmp(text, "*") == 0)
        fa_workflow_mistake(r, value.raw.ptr, NULL, " is \"*\", which stands for all namespaces");
    else if (text && r->home && r->home->ns && strcmp(text, r->home->ns) != 0)
        fa_workflow_mistake(r, value.raw.ptr, NULL,
                            " is not the workflow's own, %.200s, the only one it makes tasks in",
                            r->home->ns);
}

static void check_key(struct fa_workflow_reader *r, struct fa_json value)
{
    fa_workflow_name(r, value, FA_KEY_SIZE_MAX);
}

static void check_object(struct fa_workflow_reader *r, struct fa_json value)
{
    if (value.type != FA_JSON_OBJECT)
        fa_workflow_mistake(r, value.raw.ptr, NULL, " must be an object");
}

static void check_whole(struct fa_workflow_reader *r, struct fa_json value, int64_t min,
                        int64_t max)
{
    int64_t number;

    if (!fa_json_int(value, &number) || number < min || number > max)
        fa_workflow_mistake(r, value.raw.ptr, NULL,
                            " must be a whole number between %" PRId64 " and %" PRId64, min, max);
}

static void check_priority(struct fa_workflow_reader *r, struct fa_json value)
{
    check_whole(r, value, FA_PRIORITY_MIN, FA_PRIORITY_MAX);
}

static void check_attempts(struct fa_workflow_reader *r, struct fa_json value)
{
    check_whole(r, value, 0, FA_ATTEMPTS_MAX);
}

static void check_duration(struct fa_workflow_reader *r, struct fa_json value)
{
    int64_t ms;

    fa_workflow_duration(r, value, &ms);
}

static void check_run_at(struct fa_workflow_reader *r, struct fa_json value)
{
    int64_t us;

    if (value.type != FA_JSON_STRING ||
        fa_time_parse(fa_json_text(value, r->arena), "runAt", &us, NULL) != FAINA_OK)
        fa_workflow_mistake(r, value.raw.ptr, NULL,
                            " must be a time such as \"2030-01-31T12:00:00Z\"");
}

static void check_dedupe(struct fa_workflow_reader *r, struct fa_json value)
{
    if (value.type != FA_JSON_STRING || strcmp(fa_json_text(value, r->arena), "input") != 0)
        fa_workflow_mistake(r, value.raw.ptr, NULL, " must be \"input\"");
}

static void check_id(struct fa_workflow_reader *r, struct fa_json value)
{
    struct fa_id id;

    if (value.type != FA_JSON_STRING || !fa_id_parse(fa_json_text(value, r->arena), &id))
        fa_workflow_mistake(r, value.raw.ptr, NULL, " must be an id");
}

/* What each item of a list must be. An item that holds a path is known later. */
struct item_rule {
    void (*check)(struct fa_workflow_reader *r, struct fa_json item);
};

static void check_item(struct fa_workflow_reader *r, struct fa_json item, void *target)
{
    const struct item_rule *rule = target;

    if (!fa_template_is_needed(item))
        rule->check(r, item);
}

static void check_depends_on(struct fa_workflow_reader *r, struct fa_json value)
{
    struct item_rule rule = {check_id};

    fa_workflow_elements(r, value, FA_DEPENDS_ON_MAX, check_item, &rule);
}

static void check_resources(struct fa_workflow_reader *r, struct fa_json value)
{
    struct item_rule rule = {check_name};

    fa_workflow_elements(r, value, FA_RESOURCES_MAX, check_item, &rule);
}

static void check_factor(struct fa_workflow_reader *r, struct fa_json value)
{
    double factor;

    if (!fa_json_double(value, &factor) || !(factor >= 1 || factor == 0))
        fa_workflow_mistake(r, value.raw.ptr, NULL, " must be a number from 1 on");
}

static const struct fa_workflow_member retry_members[] = {
    {"base", .check = check_duration},
    {"factor", .check = check_factor},
    {"max", .check = check_duration},
};

static void check_retry(struct fa_workflow_reader *r, struct fa_json value)
{
    fa_workflow_members(r, value, retry_members, FA_COUNT(retry_members), NULL);
}

static const struct fa_workflow_member members[MEMBER_COUNT] = {
    [NAMESPACE] = {"namespace", .check = check_namespace},
    [TYPE] = {"type", .check = check_name},
    [NAME] = {"name", .check = check_name},
    [INPUT] = {"input"},
    [METADATA] = {"metadata", .check = check_object, .is_deep = true},
    [SPEC] = {"spec"},
    [PRIORITY] = {"priority", .check = check_priority},
    [MAX_ATTEMPTS] = {"maxAttempts", .check = check_attempts},
    [MAX_RETRIES] = {"maxRetries", .check = check_attempts},
    [DELAY] = {"delay", .check = check_duration},
    [RUN_AT] = {"runAt", .check = check_run_at},
    [KEY] = {"idempotencyKey", .check = check_key},
    [DEDUPE] = {"dedupe", .check = check_dedupe},
    [DEPENDS_ON] = {"dependsOn", .check = check_depends_on, .is_deep = true},
    [RESOURCES] = {"resources", .check = check_resources, .is_deep = true},
    [RETRY] = {"retry", .check = check_retry, .is_deep = true},
    [TEAM_ID] = {"teamId", .check = check_id},
    [TEAM_ID_TOO] = {"team_id", .check = check_id},
    [CREATED_BY] = {"createdBy", .check = check_name},
};

static const struct {
    enum member a, b;
} exclusive[] = {
    {MAX_ATTEMPTS, MAX_RETRIES},
    {DELAY, RUN_AT},
    {KEY, DEDUPE},
    {TEAM_ID, TEAM_ID_TOO},
};

static void check_together(struct fa_workflow_reader *r, struct fa_json task, uint32_t seen)
{
    for (size_t i = 0; i < FA_COUNT(exclusive); i++) {
        enum member a = exclusive[i].a, b = exclusive[i].b;

        if ((seen & BIT(a)) && (seen & BIT(b)))
            fa_workflow_mistake(r, task.raw.ptr, NULL,
                                " has both %s and %s; only one of them can be", members[a].name,
                                members[b].name);
    }
    if (!(seen & (BIT(TYPE) | BIT(NAME))))
        fa_workflow_mistake(r, task.raw.ptr, members[TYPE].name, " is missing");
}

struct report {
    struct fa_workflow_reader *reader;
    const char *start; /* of the task in the JSON */
};

static void note_mistake(void *context, size_t offset, const char *message)
{
    struct report *report = context;

    fa_workflow_mistake(report->reader, report->start + offset, NULL, ": %s", message);
}

const struct fa_template *fa_workflow_task(struct fa_workflow_reader *r, struct fa_json value,
                                           const struct fa_template_join *join)
{
    struct report report = {r, value.raw.ptr};
    const struct fa_template *compiled = NULL;

    if (value.type == FA_JSON_OBJECT)
        check_together(r, value, fa_workflow_members(r, value, members, MEMBER_COUNT, NULL));
    else
        fa_workflow_mistake(r, value.raw.ptr, NULL, " must be an object");
    if (fa_template_compile(value.raw, join, r->arena, &compiled, note_mistake, &report, NULL) !=
        FAINA_OK)
        return NULL;
    return compiled;
}
