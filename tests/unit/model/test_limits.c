/*
 * test_limits.c - the manual's table of limits agrees with limits.h.
 */
#include "unit/base/unit.h"

#include "model/limits.h"

enum unit { BYTES, COUNT, NUMBER, MS };

/* Every limit, and what the manual calls it. */
static const struct {
    const char *constant, *label;
    enum unit unit;
    int64_t value;
} limits[] = {
#define ROW(constant, label, unit)                                                                 \
    {                                                                                              \
#constant, label, unit, constant                                                           \
    }
    ROW(FA_TYPE_SIZE_MAX, "`type`", BYTES),
    ROW(FA_NAME_SIZE_MAX, "`name`", BYTES),
    ROW(FA_NAMESPACE_SIZE_MAX, "`namespace`", BYTES),
    ROW(FA_WORKER_ID_SIZE_MAX, "`workerId`", BYTES),
    ROW(FA_CREATED_BY_SIZE_MAX, "`createdBy`", BYTES),
    ROW(FA_GROUP_SIZE_MAX, "`group`", BYTES),
    ROW(FA_RESOURCE_NAME_SIZE_MAX, "name of a resource", BYTES),
    ROW(FA_KEY_SIZE_MAX, "`idempotencyKey`", BYTES),
    ROW(FA_TRACEPARENT_SIZE_MAX, "`traceparent`", BYTES),
    ROW(FA_EVENT_VALUE_SIZE_MAX, "a value in the event `replaced`; a larger one is a hash", BYTES),
    ROW(FA_STATE_SIZE_MAX, "`state`", BYTES),
    ROW(FA_AUDIT_ROWS_MAX, "entries of the audit that one request with a filter reads", COUNT),
    ROW(FA_REASON_SIZE_MAX, "`reason` of an act", BYTES),
    ROW(FA_INPUT_SIZE_DEFAULT, "`input` and `output`, unless set otherwise", BYTES),
    ROW(FA_INPUT_SIZE_CEILING, "`input` and `output`, however set", BYTES),
    ROW(FA_METADATA_SIZE_MAX, "`metadata`", BYTES),
    ROW(FA_SPEC_SIZE_MAX, "`spec`", BYTES),
    ROW(FA_ERROR_MESSAGE_SIZE_MAX, "`error.message`", BYTES),
    ROW(FA_ERROR_KIND_SIZE_MAX, "`error.kind`", BYTES),
    ROW(FA_ERROR_DETAIL_SIZE_MAX, "`error.detail`", BYTES),
    ROW(FA_NOTE_SIZE_MAX, "detail of a `note` among the events", BYTES),
    ROW(FA_JSON_DEPTH_MAX, "levels of arrays and objects in JSON", COUNT),
    ROW(FA_CHILDREN_MAX, "subtasks of a task", COUNT),
    ROW(FA_SUBTASK_DEPTH_MAX, "levels of subtasks", COUNT),
    ROW(FA_DEPENDS_ON_MAX, "items of `dependsOn`", COUNT),
    ROW(FA_RESOURCES_MAX, "items of `resources`", COUNT),
    ROW(FA_PRIORITY_MIN, "lowest `priority`", NUMBER),
    ROW(FA_PRIORITY_MAX, "highest `priority`", NUMBER),
    ROW(FA_ATTEMPTS_DEFAULT, "`maxAttempts`, unless set otherwise", COUNT),
    ROW(FA_ATTEMPTS_MAX, "`maxAttempts`, when there is a limit", COUNT),
    ROW(FA_BATCH_MAX, "tasks in one batch, or in one heartbeat", COUNT),
    ROW(FA_CLAIM_LIMIT_MAX, "tasks in one claim", COUNT),
    ROW(FA_CLAIM_NAMES_MAX, "types, namespaces or services named in one claim or by one worker",
        COUNT),
    ROW(FA_LIST_LIMIT_DEFAULT, "items of a page, unless set otherwise", COUNT),
    ROW(FA_LIST_LIMIT_MAX, "items of a page", COUNT),
    ROW(FA_FIND_MAX, "tasks that a part of an id finds", COUNT),
    ROW(FA_FIND_NEWEST, "newest tasks among which the end of an id is searched for", COUNT),
    ROW(FA_LIST_METADATA_MAX, "conditions on `metadata` in one filter", COUNT),
    ROW(FA_STREAM_IDS_MAX, "`ids` of a stream", COUNT),
    ROW(FA_LOG_SIZE_MAX, "log of an attempt; its end is kept", BYTES),
    ROW(FA_LOG_LINE_MAX, "line of a log that is sent over HTTP; its beginning is kept", BYTES),
    ROW(FA_LOG_PART_SIZE, "parts of a log that are stored together", BYTES),
    ROW(FA_GRAPH_NODES_MAX, "tasks of a graph", COUNT),
    ROW(FA_GRAPH_DEPTH_DEFAULT, "`depth` of a graph, unless set otherwise", COUNT),
    ROW(FA_GRAPH_DEPTH_MAX, "`depth` of a graph", COUNT),
    ROW(FA_CRON_NEXT_DEFAULT, "next times of a schedule in one list, unless set otherwise", COUNT),
    ROW(FA_CRON_NEXT_MAX, "next times of a schedule in one list", COUNT),
    ROW(FA_BACKTEST_EVENTS_MAX, "events that a backtest reads", COUNT),
    ROW(FA_BACKTEST_ITEMS_MAX, "differences of each kind that a backtest lists", COUNT),
    ROW(FA_REDACT_PATHS_MAX, "paths of `redact` in `PUT /settings`", COUNT),
    ROW(FA_REDACT_PATH_SIZE_MAX, "one of them", BYTES),
    ROW(FA_TEAM_TASKS_MAX, "tasks of a removed team whose id a new team gets", COUNT),
    ROW(FA_TYPES_DEFAULT, "types of a namespace, unless set otherwise", COUNT),
    ROW(FA_TYPES_CEILING, "types of a namespace, however set", COUNT),
    ROW(FA_TYPE_SETS_MAX, "sets of `resources` that tasks of one type have", COUNT),
    ROW(FA_STATS_TYPES_MAX, "types in `GET /stats`, which are the busiest", COUNT),
    ROW(FA_PAGE_SIZE_MAX,
        "what the items of a page, or the tasks of a claim, carry before it ends early", BYTES),
    ROW(FA_CURSOR_SIZE_MAX, "`cursor`", BYTES),
    ROW(FA_JOIN_CURSOR_SIZE_MAX, "`cursor` of a list of joins", BYTES),
    ROW(FA_PART_CURSOR_SIZE_MAX,
        "`cursor` of a list of types, workers, tokens, resources, teams, schedules or workflows",
        BYTES),
    ROW(FA_LEASE_MS_DEFAULT, "lease, unless set otherwise", MS),
    ROW(FA_LEASE_MS_MAX, "lease", MS),
    ROW(FA_BACKGROUND_MS_DEFAULT, "background work, unless set otherwise", MS),
    ROW(FA_DURATION_MS_MAX, "any duration", MS),
    ROW(FA_CONCURRENCY_MAX, "`maxConcurrency` of a resource, when there is a limit", COUNT),
    ROW(FA_RATE_COUNT_MAX, "`count` of a rate", COUNT),
    ROW(FA_RATE_BURST_MAX, "`burst` of a rate", COUNT),
    ROW(FA_RATE_PER_MS_MAX, "`per` of a rate", MS),
    ROW(FA_HOSTNAME_SIZE_MAX, "`hostname` of a worker", BYTES),
    ROW(FA_WORKER_VERSION_SIZE_MAX, "`version` of a worker", BYTES),
    ROW(FA_POOL_SIZE_MAX, "`poolSize` of a worker", COUNT),
    ROW(FA_TYPE_POLICIES_MAX, "types with policies", COUNT),
    ROW(FA_SCHEMA_SIZE_MAX, "`inputSchema` of a type", BYTES),
    ROW(FA_SCHEMA_DEPTH_MAX, "levels of an `inputSchema`", COUNT),
    ROW(FA_SCHEMA_PROPERTIES_MAX, "`properties` of an object in an `inputSchema`", COUNT),
    ROW(FA_SCHEMA_VALUES_MAX, "values of an `enum` in an `inputSchema`", COUNT),
    ROW(FA_WORKER_DEAD_MS, "silence after which a worker is forgotten", MS),
    ROW(FA_WORKER_DEAD_MS_MIN, "shortest `FAINA_WORKER_TIMEOUT`", MS),
    ROW(FA_MATCH_SIZE_MAX, "match expression", BYTES),
    ROW(FA_MATCH_DEPTH_MAX, "levels of `( )` and `NOT` in a match expression", COUNT),
    ROW(FA_MATCH_STEPS_MAX, "steps that a match expression takes on one event", COUNT),
    ROW(FA_TEMPLATE_PATHS_MAX, "`${path}`s in the task of a trigger or join", COUNT),
    ROW(FA_TEMPLATE_PATH_SIZE_MAX, "the path in `${path}`", BYTES),
    ROW(FA_CRON_SIZE_MAX, "`schedule`", BYTES),
    ROW(FA_CRON_NAME_SIZE_MAX, "`name` of a schedule", BYTES),
    ROW(FA_JITTER_MS_MAX, "`jitter` of a schedule", MS),
    ROW(FA_WORKFLOW_SIZE_MAX, "workflow definition", BYTES),
    ROW(FA_WORKFLOW_TRIGGERS_MAX, "triggers of a workflow", COUNT),
    ROW(FA_WORKFLOW_JOINS_MAX, "joins of a workflow", COUNT),
    ROW(FA_WORKFLOW_MISTAKES_MAX, "mistakes of a definition that are reported at once", COUNT),
    ROW(FA_JOIN_TYPES_MAX, "items of a join's `taskTypes`", COUNT),
    ROW(FA_JOIN_KEY_SIZE_MAX, "the value of a join's key, as JSON", BYTES),
    ROW(FA_CHAIN_DEPTH_MAX, "tasks that lead to each other by their ends", COUNT),
    ROW(FA_EVENT_TASKS_MAX, "tasks that one event makes", COUNT),
    ROW(FA_EVENT_INPUTS_MAX, "tasks that one event makes together, in times the limit of `input`",
        COUNT),
    ROW(FA_EVENT_STEPS_MAX, "steps that all triggers take on one event", COUNT),
    ROW(FA_OUTBOX_SIZE_MAX,
        "the largest limit of messages in the outbox (`faina broker on --limit`)", COUNT),
    ROW(FA_EVENTS_KEEP_MS, "how long events are kept, unless `FAINA_EVENTS_KEEP` says otherwise",
        MS),
    ROW(FA_LOG_KEEP_MS, "how old a place in the stream of events may be", MS),
    ROW(FA_UPKEEP_FAILED_MS, "chores that fail for this long make the server not ready", MS),
#undef ROW
};

static void put_count(char *out, size_t size, int64_t value)
{
    if (value >= 1000000000)
        snprintf(out, size, "%lld,%03lld,%03lld,%03lld", (long long)(value / 1000000000),
                 (long long)(value / 1000000 % 1000), (long long)(value / 1000 % 1000),
                 (long long)(value % 1000));
    else if (value >= 1000000)
        snprintf(out, size, "%lld,%03lld,%03lld", (long long)(value / 1000000),
                 (long long)(value / 1000 % 1000), (long long)(value % 1000));
    else if (value >= 1000)
        snprintf(out, size, "%lld,%03lld", (long long)(value / 1000), (long long)(value % 1000));
    else
        snprintf(out, size, "%lld", (long long)value);
}

static void put_value(char *out, size_t size, enum unit unit, int64_t value)
{
    const int64_t hour_ms = 3600 * 1000, year_ms = hour_ms * 24 * 366;

    switch (unit) {
    case BYTES:
        if (value % (1024 * 1024) == 0)
            snprintf(out, size, "%lld MiB", (long long)(value / (1024 * 1024)));
        else if (value % 1024 == 0)
            snprintf(out, size, "%lld KiB", (long long)(value / 1024));
        else
            snprintf(out, size, "%lld bytes", (long long)value);
        break;
    case COUNT:
        put_count(out, size, value);
        break;
    case NUMBER:
        snprintf(out, size, "%lld", (long long)value);
        break;
    case MS:
        if (value % year_ms == 0)
            snprintf(out, size, "%lld years", (long long)(value / year_ms));
        else if (value % hour_ms == 0)
            snprintf(out, size, "%lld h", (long long)(value / hour_ms));
        else
            snprintf(out, size, "%lld s", (long long)(value / 1000));
        break;
    }
}

/* Rows of limits that are not in limits.h: of the history (model/history.h) and of groups of
 * failures (model/failure_group.h). */
#define OTHER_ROWS 5

static void test_limits__the_manual_has_the_table(void **state)
{
    char *manual = read_source("docs/limits.md");
    size_t rows = 0;

    for (size_t i = 0; i < FA_COUNT(limits); i++) {
        char value[64], row[256];

        put_value(value, sizeof(value), limits[i].unit, limits[i].value);
        snprintf(row, sizeof(row), "\n| %s | %s |", limits[i].label, value);
        if (!strstr(manual, row))
            fail_msg("docs/limits.md lacks the row%s", row);
    }
    for (const char *at = manual; (at = strstr(at, "\n| ")) != NULL; at++)
        rows++;
    assert_int_equal(rows, 1 + FA_COUNT(limits) + OTHER_ROWS); /* and the heading */
    free(manual);
}

/* A new limit needs a row above, and so in the manual. */
static void test_limits__none_is_forgotten(void **state)
{
    char *header = read_source("src/model/limits.h");

    for (const char *at = header; (at = strstr(at, "\n#define FA_")) != NULL; at++) {
        const char *name = at + strlen("\n#define ");
        size_t len = strcspn(name, " \n");
        bool is_known = strncmp(name, "FA_MODEL_LIMITS_H", len) == 0;

        for (size_t i = 0; i < FA_COUNT(limits); i++)
            is_known = is_known || (strlen(limits[i].constant) == len &&
                                    strncmp(limits[i].constant, name, len) == 0);
        if (!is_known)
            fail_msg("%.*s is not in this test's table", (int)len, name);
    }
    free(header);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limits__the_manual_has_the_table),
        cmocka_unit_test(test_limits__none_is_forgotten),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
