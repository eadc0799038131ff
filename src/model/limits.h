/*
 * limits.h - the limit of every field, in one place. Sizes are bytes.
 *
 * docs/limits.md shows the same table to users; a test compares the two.
 */
#ifndef FA_MODEL_LIMITS_H
#define FA_MODEL_LIMITS_H

#define FA_TYPE_SIZE_MAX 255
#define FA_NAME_SIZE_MAX 255
#define FA_NAMESPACE_SIZE_MAX 255
#define FA_WORKER_ID_SIZE_MAX 255
#define FA_CREATED_BY_SIZE_MAX 255
#define FA_TRACEPARENT_SIZE_MAX 200 /* bytes; those of version 00 have 55 */
#define FA_RESOURCE_NAME_SIZE_MAX 255
#define FA_EVENT_VALUE_SIZE_MAX 4096 /* of a value in the event of a change; else its hash */
#define FA_KEY_SIZE_MAX 512
#define FA_STATE_SIZE_MAX 1024
#define FA_REASON_SIZE_MAX 1024
#define FA_INPUT_SIZE_DEFAULT (1024 * 1024) /* input and output; an option changes it */
#define FA_INPUT_SIZE_CEILING (256 * 1024 * 1024)
#define FA_METADATA_SIZE_MAX (64 * 1024)
#define FA_SPEC_SIZE_MAX (64 * 1024)
#define FA_ERROR_MESSAGE_SIZE_MAX (8 * 1024)
#define FA_ERROR_KIND_SIZE_MAX 255
#define FA_ERROR_DETAIL_SIZE_MAX (64 * 1024)
#define FA_NOTE_SIZE_MAX (512 * 1024) /* an event's detail: a log of 64 KiB, escaped */
#define FA_JSON_DEPTH_MAX 64
#define FA_CHILDREN_MAX 10000
#define FA_SUBTASK_DEPTH_MAX 32
#define FA_DEPENDS_ON_MAX 1000
#define FA_RESOURCES_MAX 16
#define FA_GROUP_SIZE_MAX 255
#define FA_PRIORITY_MIN (-2147483647)
#define FA_PRIORITY_MAX 2147483647
#define FA_ATTEMPTS_DEFAULT 4
#define FA_ATTEMPTS_MAX 1000000
#define FA_BATCH_MAX 10000
#define FA_CLAIM_LIMIT_MAX 1000
#define FA_CLAIM_NAMES_MAX 1000 /* types, namespaces or services of one claim or worker */
#define FA_LIST_LIMIT_DEFAULT 100
#define FA_LIST_LIMIT_MAX 1000
#define FA_FIND_MAX 10          /* tasks that a part of an id finds */
#define FA_FIND_NEWEST 100000   /* tasks among which the end of an id is searched for */
#define FA_LIST_METADATA_MAX 16 /* conditions on metadata in one filter */
#define FA_REDACT_PATHS_MAX 100
#define FA_REDACT_PATH_SIZE_MAX 255
#define FA_STREAM_IDS_MAX 200
#define FA_AUDIT_ROWS_MAX 5000      /* that one request with a filter reads */
#define FA_LOG_SIZE_MAX (64 * 1024) /* of an attempt: its end is kept */
#define FA_LOG_LINE_MAX (16 * 1024) /* of a line that is sent over HTTP: its beginning is kept */
#define FA_LOG_PART_SIZE 4096       /* smaller parts of a log are stored together */
#define FA_GRAPH_NODES_MAX 200
#define FA_GRAPH_DEPTH_DEFAULT 3
#define FA_GRAPH_DEPTH_MAX 20
#define FA_CRON_NEXT_MAX 1000 /* times of a schedule that are listed at once */
#define FA_CRON_NEXT_DEFAULT 10
#define FA_BACKTEST_EVENTS_MAX 10000
#define FA_BACKTEST_ITEMS_MAX 100 /* of each kind of difference */
#define FA_TEAM_TASKS_MAX 10000   /* tasks of a removed team, when a new one gets its id */
#define FA_TYPES_DEFAULT 100000   /* types of a namespace, each once for a set of resources */
#define FA_TYPES_CEILING 10000000
#define FA_TYPE_SETS_MAX 1000               /* sets of resources of a type */
#define FA_STATS_TYPES_MAX 1000             /* types in the statistics */
#define FA_PAGE_SIZE_MAX (16 * 1024 * 1024) /* payloads of a page or claim; then it ends */
#define FA_CURSOR_SIZE_MAX 255
#define FA_PART_CURSOR_SIZE_MAX 2048 /* of lists by name: two names in hexadecimal */
#define FA_LEASE_MS_DEFAULT 30000
#define FA_LEASE_MS_MAX (24LL * 3600 * 1000)
#define FA_BACKGROUND_MS_DEFAULT (3600LL * 1000)
#define FA_DURATION_MS_MAX (100LL * 366 * 24 * 3600 * 1000)
#define FA_CONCURRENCY_MAX 1000000
#define FA_RATE_COUNT_MAX 1000000
#define FA_RATE_BURST_MAX 1000000
#define FA_RATE_PER_MS_MAX INT64_C(2678400000) /* 31 days */
#define FA_HOSTNAME_SIZE_MAX 255
#define FA_WORKER_VERSION_SIZE_MAX 255
#define FA_POOL_SIZE_MAX 100000
#define FA_TYPE_POLICIES_MAX 10000 /* of all namespaces */
#define FA_SCHEMA_SIZE_MAX (64 * 1024)
#define FA_SCHEMA_DEPTH_MAX 32
#define FA_SCHEMA_PROPERTIES_MAX 1000 /* of one object */
#define FA_SCHEMA_VALUES_MAX 1000     /* of one enum */
#define FA_WORKER_DEAD_MS 60000       /* a worker without a heartbeat for this long is removed */
#define FA_WORKER_DEAD_MS_MIN 1000    /* the least that FAINA_WORKER_TIMEOUT may be */
#define FA_MATCH_SIZE_MAX (4 * 1024)
#define FA_MATCH_DEPTH_MAX 64
#define FA_MATCH_STEPS_MAX 1000000
#define FA_TEMPLATE_PATHS_MAX 256
#define FA_TEMPLATE_PATH_SIZE_MAX 1024
#define FA_CRON_SIZE_MAX 255
#define FA_CRON_NAME_SIZE_MAX 200
#define FA_JITTER_MS_MAX (24 * 3600 * INT64_C(1000))
#define FA_WORKFLOW_SIZE_MAX (1024 * 1024)
#define FA_WORKFLOW_TRIGGERS_MAX 1000
#define FA_WORKFLOW_JOINS_MAX 100
#define FA_WORKFLOW_MISTAKES_MAX 100
#define FA_JOIN_TYPES_MAX 64
#define FA_JOIN_KEY_SIZE_MAX 1024 /* the value of a join's key, as JSON */
#define FA_JOIN_CURSOR_SIZE_MAX (2 * (2 * FA_NAME_SIZE_MAX + FA_JOIN_KEY_SIZE_MAX + 2)) /* hex */
#define FA_CHAIN_DEPTH_MAX 32 /* tasks that trigger each other by their ends */
#define FA_EVENT_TASKS_MAX 10000
#define FA_EVENT_INPUTS_MAX 16 /* times the limit of an input: the tasks of one event together */
#define FA_EVENT_STEPS_MAX 10000000
#define FA_OUTBOX_SIZE_MAX 1000000000 /* messages; 10,000,000 by default (0017_outbox.sql) */
#define FA_EVENTS_KEEP_MS (7LL * 24 * 3600 * 1000)
#define FA_LOG_KEEP_MS (3600LL * 1000) /* how long the log of all events can be followed */

/* Chores that have failed for longer make the engine not ready. */
#define FA_UPKEEP_FAILED_MS (30 * INT64_C(1000))

#endif
