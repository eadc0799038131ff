/*
 * wire_shapes.c - what servers answer: the members of tasks, events, workers and so on, by table.
 *
 * A new member is a row here, and one in src/server/schemas.json.
 */
#include "service/wire.h"

#include "model/backoff.h"
#include "model/codes.h"
#include "model/states.h"
#include "model/times.h"
#include "service/body.h"
#include "service/service.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* ------------------------------------------------------------------------------------------
 * Members that have a form of their own
 */

static const char *read_word(struct fa_json value, struct fa_arena *arena)
{
    return value.type == FA_JSON_STRING ? fa_json_text(value, arena) : "";
}

static void put_status(struct fa_json_writer *w, const void *place)
{
    fa_json_put_str(w, faina_status_name(*(const enum faina_status *)place));
}

static bool read_status(struct fa_json value, struct fa_arena *arena, void *place)
{
    return fa_status_parse(read_word(value, arena), place);
}

static const char *const phases[] = {
    [FAINA_PHASE_START] = "start",
    [FAINA_PHASE_RESUME] = "resume",
    [FAINA_PHASE_ERROR] = "error",
};

static void put_phase(struct fa_json_writer *w, const void *place)
{
    fa_json_put_str(w, phases[*(const enum faina_phase *)place]);
}

static bool read_phase(struct fa_json value, struct fa_arena *arena, void *place)
{
    const char *word = read_word(value, arena);

    for (size_t i = 0; i < FA_COUNT(phases); i++) {
        if (strcmp(word, phases[i]) == 0) {
            *(enum faina_phase *)place = (enum faina_phase)i;
            return true;
        }
    }
    return false;
}

static void put_actor(struct fa_json_writer *w, const void *place)
{
    fa_json_put_str(w, faina_actor_name(*(const enum faina_actor *)place));
}

static bool read_actor(struct fa_json value, struct fa_arena *arena, void *place)
{
    const char *word = read_word(value, arena);

    for (enum faina_actor actor = FAINA_ACTOR_API; actor <= FAINA_ACTOR_SYSTEM; actor++) {
        if (strcmp(word, faina_actor_name(actor)) == 0) {
            *(enum faina_actor *)place = actor;
            return true;
        }
    }
    return false;
}

void fa_wire_put_duration(struct fa_json_writer *w, int64_t ms)
{
    static const struct {
        int64_t ms;
        const char *unit;
    } units[] = {{3600000, "h"}, {60000, "m"}, {1000, "s"}, {1, "ms"}};
    char text[FA_TIME_SIZE];
    size_t i = 0;

    while (ms % units[i].ms != 0)
        i++;
    snprintf(text, sizeof(text), "%lld%s", (long long)(ms / units[i].ms), units[i].unit);
    fa_json_put_str(w, text);
}

static void put_retry(struct fa_json_writer *w, const void *place)
{
    struct faina_retry_policy policy = *(const struct faina_retry_policy *)place;

    if (policy.base_ms == 0 && policy.factor == 0 && policy.max_ms == 0) {
        fa_json_put_null(w);
        return;
    }
    policy = fa_backoff_policy(policy);
    fa_json_begin_object(w);
    fa_json_key(w, "base");
    fa_wire_put_duration(w, policy.base_ms);
    fa_json_key(w, "factor");
    fa_json_put_double(w, policy.factor);
    fa_json_key(w, "max");
    fa_wire_put_duration(w, policy.max_ms);
    fa_json_end_object(w);
}

static bool read_retry(struct fa_json value, struct fa_arena *arena, void *place)
{
    struct faina_retry_policy *policy = place;
    struct fa_json base, factor, max;

    if (value.type == FA_JSON_NULL)
        return true;
    return value.type == FA_JSON_OBJECT && fa_json_member(value, "base", &base) &&
           fa_json_member(value, "factor", &factor) && fa_json_member(value, "max", &max) &&
           fa_body_duration("base", base, FAINA_INTERNAL, arena, &policy->base_ms, NULL) ==
               FAINA_OK &&
           factor.type == FA_JSON_NUMBER && fa_json_double(factor, &policy->factor) &&
           fa_body_duration("max", max, FAINA_INTERNAL, arena, &policy->max_ms, NULL) == FAINA_OK;
}

static const struct fa_shape_field origin_fields[] = {
    FA_SHAPE_ROW("workflow", FA_SHAPE_WORD, struct faina_origin, workflow),
    FA_SHAPE_ROW("trigger", FA_SHAPE_WORD, struct faina_origin, trigger),
    FA_SHAPE_ROW("version", FA_SHAPE_INT64, struct faina_origin, version),
    FA_SHAPE_ROW("eventId", FA_SHAPE_TEXT, struct faina_origin, event_id),
};
static const struct fa_shape origin_shape = FA_SHAPE("origin", origin_fields);

/* Null: somebody submitted it. No event: a deadline came. */
static void put_origin(struct fa_json_writer *w, const void *place)
{
    const struct faina_origin *origin = *(const struct faina_origin *const *)place;
    struct faina_origin told;

    if (!origin) {
        fa_json_put_null(w);
        return;
    }
    told = *origin;
    if (told.event_id && !told.event_id[0])
        told.event_id = NULL;
    fa_shape_put(w, &origin_shape, &told);
}

static bool read_origin(struct fa_json value, struct fa_arena *arena, void *place)
{
    struct faina_origin *origin;

    if (value.type == FA_JSON_NULL)
        return true;
    origin = fa_arena_zero(arena, 1, sizeof(*origin));
    origin->event_id = "";
    *(const struct faina_origin **)place = origin;
    return value.type == FA_JSON_OBJECT &&
           fa_shape_read(value, &origin_shape, arena, origin, NULL) == FAINA_OK;
}

/* -1 is null: no limit. */
static void put_limit(struct fa_json_writer *w, const void *place)
{
    int64_t limit = *(const int64_t *)place;

    if (limit < 0)
        fa_json_put_null(w);
    else
        fa_json_put_int(w, limit);
}

static bool read_limit(struct fa_json value, struct fa_arena *arena, void *place)
{
    (void)arena;
    *(int64_t *)place = -1;
    return value.type == FA_JSON_NULL ||
           (value.type == FA_JSON_NUMBER && fa_json_int(value, place));
}

static void put_counts(struct fa_json_writer *w, const void *place)
{
    const int64_t *by_status = place;

    fa_json_begin_object(w);
    for (enum faina_status status = 0; status < FAINA_STATUS_COUNT; status++) {
        fa_json_key(w, faina_status_name(status));
        fa_json_put_int(w, by_status[status]);
    }
    fa_json_end_object(w);
}

static bool read_counts(struct fa_json value, struct fa_arena *arena, void *place)
{
    int64_t *by_status = place;

    (void)arena;
    for (enum faina_status status = 0; status < FAINA_STATUS_COUNT; status++) {
        struct fa_json count;

        if (value.type != FA_JSON_OBJECT ||
            !fa_json_member(value, faina_status_name(status), &count) ||
            count.type != FA_JSON_NUMBER || !fa_json_int(count, &by_status[status]))
            return false;
    }
    return true;
}

/* The sum of the counts, which a reader can do without. */
static void put_total(struct fa_json_writer *w, const void *place)
{
    const int64_t *by_status = place;
    int64_t total = 0;

    for (int i = 0; i < FAINA_STATUS_COUNT; i++)
        total += by_status[i];
    fa_json_put_int(w, total);
}

static bool read_total(struct fa_json value, struct fa_arena *arena, void *place)
{
    (void)arena;
    (void)place;
    return value.type == FA_JSON_NUMBER;
}

/* As text: not every reader has whole numbers of 60 bits. */
static void put_parent(struct fa_json_writer *w, const void *place)
{
    const struct fa_follow_item *item = place;
    char text[32];

    snprintf(text, sizeof(text), "%lld", (long long)item->parent_key);
    fa_json_put_str(w, item->has_parent ? text : NULL);
}

static bool read_parent(struct fa_json value, struct fa_arena *arena, void *place)
{
    struct fa_follow_item *item = place;
    const char *text = read_word(value, arena);
    char *end;

    if (value.type == FA_JSON_NULL)
        return true;
    errno = 0;
    item->has_parent = true;
    item->parent_key = strtoll(text, &end, 10);
    return text[0] != '\0' && *end == '\0' && errno == 0;
}

/* ------------------------------------------------------------------------------------------
 * The tables
 */

#define TASK(name, type, member) FA_SHAPE_ROW(name, FA_SHAPE_##type, struct faina_task, member)

static const struct fa_shape_field task_fields[] = {
    TASK("id", KEY, id),
    TASK("namespace", WORD, ns),
    TASK("type", WORD, type),
    TASK("name", WORD, name),
    FA_SHAPE_OF_ITS_OWN("status", struct faina_task, status, put_status, read_status),
    TASK("state", TEXT, state),
    TASK("progress", INT, progress),
    TASK("priority", INT, priority),
    TASK("input", JSON, input),
    TASK("output", JSON, output),
    TASK("error", JSON, error),
    TASK("metadata", JSON, metadata),
    TASK("spec", JSON, spec),
    TASK("idempotencyKey", TEXT, idempotency_key),
    TASK("inputHash", TEXT, input_hash),
    TASK("attempts", INT64, attempts),
    TASK("maxAttempts", INT64, max_attempts),
    FA_SHAPE_OF_ITS_OWN("retry", struct faina_task, retry, put_retry, read_retry),
    TASK("runAt", TIME, run_at_us),
    FA_SHAPE_OF_ITS_OWN("phase", struct faina_task, phase, put_phase, read_phase),
    TASK("workerId", TEXT, worker_id),
    TASK("leaseExpiresAt", TIME, lease_expires_us),
    TASK("fence", INT64, fence),
    TASK("parentId", ID, parent_id),
    FA_SHAPE_MANY("dependsOn", FA_SHAPE_TEXTS, struct faina_task, depends_on, depends_on_count),
    FA_SHAPE_MANY("resources", FA_SHAPE_TEXTS, struct faina_task, resources, resource_count),
    TASK("expiresAt", TIME, expires_us),
    TASK("teamId", ID, team_id),
    TASK("createdBy", TEXT, created_by),
    FA_SHAPE_OF_ITS_OWN("origin", struct faina_task, origin, put_origin, read_origin),
    TASK("version", INT64, version),
    TASK("createdAt", TIME, created_us),
    TASK("updatedAt", TIME, updated_us),
    TASK("claimedAt", TIME, claimed_us),
    TASK("startedAt", TIME, started_us),
    TASK("completedAt", TIME, completed_us),
    TASK("deletedAt", TIME, deleted_us),
    TASK("nulls", NULLS, id),
    TASK("existing", FLAG, existing),
    TASK("inputMismatch", FLAG, input_mismatch),
    TASK("cancelledCount", SOME, cancelled_count),
    TASK("redacted", FLAG, redacted),
};
const struct fa_shape fa_shape_task = FA_SHAPE("task", task_fields);

static const struct fa_shape_field tasks_fields[] = {
    FA_SHAPE_LIST_OF("items", fa_shape_task, struct faina_tasks, items, count),
    FA_SHAPE_ROW("nextCursor", FA_SHAPE_TEXT, struct faina_tasks, next_cursor),
};
const struct fa_shape fa_shape_tasks = FA_SHAPE("list", tasks_fields);

static const struct fa_shape_field claims_fields[] = {
    FA_SHAPE_LIST_OF("tasks", fa_shape_task, struct faina_tasks, items, count),
};
const struct fa_shape fa_shape_claims = FA_SHAPE("list", claims_fields);

#define EVENT(name, type, member) FA_SHAPE_ROW(name, FA_SHAPE_##type, struct faina_event, member)

static const struct fa_shape_field event_fields[] = {
    EVENT("id", INT64, at_us),
    EVENT("event", WORD, what),
    FA_SHAPE_OF_ITS_OWN("status", struct faina_event, status, put_status, read_status),
    EVENT("state", TEXT, state),
    FA_SHAPE_OF_ITS_OWN("actor", struct faina_event, actor, put_actor, read_actor),
    EVENT("workerId", TEXT, worker_id),
    EVENT("detail", JSON, detail),
    EVENT("createdAt", TIME, at_us),
    EVENT("redacted", FLAG, redacted),
};
static const struct fa_shape event_shape = FA_SHAPE("event", event_fields);

static const struct fa_shape_field events_fields[] = {
    FA_SHAPE_LIST_OF("items", event_shape, struct faina_events, items, count),
};
const struct fa_shape fa_shape_events = FA_SHAPE("list", events_fields);

static const struct fa_shape_field reason_fields[] = {
    FA_SHAPE_ROW("kind", FA_SHAPE_WORD, struct faina_reason, kind),
    FA_SHAPE_ROW("message", FA_SHAPE_WORD, struct faina_reason, message),
    FA_SHAPE_ROW("until", FA_SHAPE_TIME, struct faina_reason, until_us),
};
static const struct fa_shape reason_shape = FA_SHAPE("reason", reason_fields);

static const struct fa_shape_field explanation_fields[] = {
    FA_SHAPE_ROW("summary", FA_SHAPE_WORD, struct faina_explanation, summary),
    FA_SHAPE_LIST_OF("reasons", reason_shape, struct faina_explanation, reasons, count),
    FA_SHAPE_ONE_OF("task", fa_shape_task, struct faina_explanation, task),
};
const struct fa_shape fa_shape_explanation = FA_SHAPE("explanation", explanation_fields);

static const struct fa_shape_field resource_fields[] = {
    FA_SHAPE_ROW("name", FA_SHAPE_WORD, struct faina_resource, name),
    FA_SHAPE_OF_ITS_OWN("maxConcurrency", struct faina_resource, max_concurrency, put_limit,
                        read_limit),
    FA_SHAPE_ROW("inUse", FA_SHAPE_INT64, struct faina_resource, in_use),
    FA_SHAPE_MANY("holders", FA_SHAPE_TEXTS, struct faina_resource, holders, holder_count),
};
const struct fa_shape fa_shape_resource = FA_SHAPE("resource", resource_fields);

static const struct fa_shape_field resources_fields[] = {
    FA_SHAPE_LIST_OF("items", fa_shape_resource, struct faina_resources, items, count),
};
const struct fa_shape fa_shape_resources = FA_SHAPE("list", resources_fields);

static const struct fa_shape_field team_fields[] = {
    FA_SHAPE_ROW("id", FA_SHAPE_KEY, struct faina_team, id),
    FA_SHAPE_ROW("name", FA_SHAPE_WORD, struct faina_team, name),
    FA_SHAPE_ROW("namespace", FA_SHAPE_WORD, struct faina_team, ns),
    FA_SHAPE_ROW("spec", FA_SHAPE_JSON, struct faina_team, spec),
    FA_SHAPE_ROW("createdAt", FA_SHAPE_TIME, struct faina_team, created_us),
    FA_SHAPE_ROW("updatedAt", FA_SHAPE_TIME, struct faina_team, updated_us),
};
const struct fa_shape fa_shape_team = FA_SHAPE("team", team_fields);

static const struct fa_shape_field teams_fields[] = {
    FA_SHAPE_LIST_OF("items", fa_shape_team, struct faina_teams, items, count),
};
const struct fa_shape fa_shape_teams = FA_SHAPE("list", teams_fields);

#define WORKER(name, type, member) FA_SHAPE_ROW(name, FA_SHAPE_##type, struct faina_worker, member)

static const struct fa_shape_field worker_fields[] = {
    WORKER("id", WORD, id),
    WORKER("hostname", TEXT, hostname),
    WORKER("startedAt", TIME, started_us),
    WORKER("lastHeartbeat", TIME, last_heartbeat_us),
    WORKER("poolSize", INT, pool_size),
    FA_SHAPE_MANY("types", FA_SHAPE_TEXTS, struct faina_worker, types, type_count),
    FA_SHAPE_MANY("services", FA_SHAPE_NAMES, struct faina_worker, services, service_count),
    WORKER("version", TEXT, version),
    WORKER("isLeader", BOOL, is_leader),
    WORKER("leaderUntil", TIME, leader_until_us),
    WORKER("held", INT64, held),
};
const struct fa_shape fa_shape_worker = FA_SHAPE("worker", worker_fields);

static const struct fa_shape_field workers_fields[] = {
    FA_SHAPE_LIST_OF("items", fa_shape_worker, struct faina_workers, items, count),
};
const struct fa_shape fa_shape_workers = FA_SHAPE("list", workers_fields);

#define COUNT(name, structure, put, read) FA_SHAPE_OF_ITS_OWN(name, structure, by_status, put, read)

static const struct fa_shape_field count_fields[] = {
    FA_SHAPE_ROW("namespace", FA_SHAPE_WORD, struct faina_count, ns),
    FA_SHAPE_ROW("type", FA_SHAPE_WORD, struct faina_count, type),
    FA_SHAPE_ROW("paused", FA_SHAPE_BOOL, struct faina_count, is_paused),
    FA_SHAPE_ROW("oldestReadyAt", FA_SHAPE_TIME, struct faina_count, oldest_ready_us),
    COUNT("byStatus", struct faina_count, put_counts, read_counts),
    COUNT("total", struct faina_count, put_total, read_total),
};
const struct fa_shape fa_shape_count = FA_SHAPE("count", count_fields);

static const struct fa_shape_field stats_fields[] = {
    COUNT("byStatus", struct faina_stats, put_counts, read_counts),
    COUNT("total", struct faina_stats, put_total, read_total),
    FA_SHAPE_ROW("moreTypes", FA_SHAPE_FLAG, struct faina_stats, has_more),
    FA_SHAPE_LIST_OF("types", fa_shape_count, struct faina_stats, types, count),
};
const struct fa_shape fa_shape_stats = FA_SHAPE("count", stats_fields);
const struct fa_shape fa_shape_totals = {"count", stats_fields, 3};

#define FOLLOWED(name, type, member)                                                               \
    FA_SHAPE_ROW(name, FA_SHAPE_##type, struct fa_follow_item, member)

static_assert(offsetof(struct fa_follow_item, cursor) == 0, "put_parent finds the item there");

static const struct fa_shape_field follow_fields[] = {
    FOLLOWED("cursor", WORD, cursor),
    FOLLOWED("taskId", KEY, task_id),
    FOLLOWED("namespace", WORD, ns),
    FOLLOWED("type", WORD, type),
    FOLLOWED("name", WORD, name),
    FOLLOWED("teamId", TEXT, team_id),
    FOLLOWED("createdBy", TEXT, created_by),
    FOLLOWED("idempotencyKey", TEXT, idempotency_key),
    FOLLOWED("event", WORD, what),
    FA_SHAPE_OF_ITS_OWN("status", struct fa_follow_item, status, put_status, read_status),
    FOLLOWED("createdAt", TIME, at_us),
    FA_SHAPE_OF_ITS_OWN("parentKey", struct fa_follow_item, cursor, put_parent, read_parent),
};
static const struct fa_shape follow_shape = FA_SHAPE("event", follow_fields);

static const struct fa_shape_field followed_fields[] = {
    FA_SHAPE_LIST_OF("items", follow_shape, struct fa_followed, items, count),
    FA_SHAPE_ROW("nextCursor", FA_SHAPE_WORD, struct fa_followed, next),
    FA_SHAPE_ROW("hasMore", FA_SHAPE_BOOL, struct fa_followed, has_more),
    FA_SHAPE_ROW("hasGap", FA_SHAPE_BOOL, struct fa_followed, is_gap),
};
const struct fa_shape fa_shape_followed = FA_SHAPE("log", followed_fields);

static const struct fa_shape_field migration_fields[] = {
    FA_SHAPE_ROW("id", FA_SHAPE_WORD, struct fa_service_migration, id),
    FA_SHAPE_ROW("description", FA_SHAPE_WORD, struct fa_service_migration, description),
    FA_SHAPE_ROW("executedAt", FA_SHAPE_TIME, struct fa_service_migration, executed_us),
};
static const struct fa_shape migration_shape = FA_SHAPE("migration", migration_fields);

#define CLOCK(name, type, member)                                                                  \
    FA_SHAPE_ROW(name, FA_SHAPE_##type, struct fa_service_clock, member)

static const struct fa_shape_field clock_fields[] = {
    CLOCK("offsetMs", INT64, offset_ms),
    CLOCK("jumps", INT64, jumps),
    CLOCK("lastJumpMs", INT64, jump_ms),
    CLOCK("lastJumpAt", TIME, jump_at_us),
};
static const struct fa_shape clock_shape = FA_SHAPE("clock", clock_fields);

#define INFO(name, type, member) FA_SHAPE_ROW(name, FA_SHAPE_##type, struct fa_service_info, member)

static const struct fa_shape_field info_fields[] = {
    INFO("engine", WORD, engine),
    INFO("engineVersion", TEXT, engine_version),
    INFO("schemaVersion", INT, schema_version),
    INFO("sizeBytes", INT64, size_bytes),
    INFO("commits", INT64, commits),
    INFO("operations", INT64, operations),
    FA_SHAPE_ONE_OF("clock", clock_shape, struct fa_service_info, clock),
    INFO("full", TEXT, full),
    FA_SHAPE_LIST_OF("migrations", migration_shape, struct fa_service_info, migrations,
                     migration_count),
    FA_SHAPE_MANY("findings", FA_SHAPE_TEXTS, struct fa_service_info, findings, finding_count),
    FA_SHAPE_MANY("warnings", FA_SHAPE_TEXTS, struct fa_service_info, warnings, warning_count),
};
const struct fa_shape fa_shape_info = FA_SHAPE("description", info_fields);

/* ------------------------------------------------------------------------------------------
 * Writing
 */

void fa_wire_put_time(struct fa_json_writer *w, int64_t us)
{
    char text[FA_TIME_SIZE];

    if (us == 0) {
        fa_json_put_null(w);
        return;
    }
    fa_time_format(us, text);
    fa_json_put_str(w, text);
}

void fa_wire_put_task(struct fa_json_writer *w, const struct faina_task *task)
{
    fa_shape_put(w, &fa_shape_task, task);
}

void fa_wire_put_tasks(struct fa_json_writer *w, const struct faina_tasks *tasks)
{
    fa_shape_put(w, &fa_shape_tasks, tasks);
}

void fa_wire_put_event(struct fa_json_writer *w, const struct faina_event *event,
                       const char *task_id)
{
    fa_json_begin_object(w);
    fa_json_key(w, "taskId");
    fa_json_put_str(w, task_id);
    fa_shape_put_members(w, &event_shape, event);
    fa_json_end_object(w);
}

void fa_wire_put_explanation(struct fa_json_writer *w, const struct faina_explanation *explanation)
{
    fa_shape_put(w, &fa_shape_explanation, explanation);
}

void fa_wire_put_resource(struct fa_json_writer *w, const struct faina_resource *resource)
{
    fa_shape_put(w, &fa_shape_resource, resource);
}

void fa_wire_put_team(struct fa_json_writer *w, const struct faina_team *team)
{
    fa_shape_put(w, &fa_shape_team, team);
}

void fa_wire_put_worker(struct fa_json_writer *w, const struct faina_worker *worker)
{
    fa_shape_put(w, &fa_shape_worker, worker);
}

void fa_wire_put_stats(struct fa_json_writer *w, const struct faina_stats *stats)
{
    fa_shape_put(w, &fa_shape_stats, stats);
}
