/*
 * routes.c - the table of routes, and finding one.
 *
 * The examples are run by a test, with $URL and $ID set: the server, and a task in the status that
 * the route needs.
 */
#include "server/routes/route.h"

#include "server/routes/answer_shapes.h"
#include "service/token.h"
#include "wire/body.h"
#include "wire/schedule_body.h"
#include "wire/type_body.h"
#include "wire/wire.h"
#include "wire/wire_bulk.h"
#include "wire/wire_reports.h"
#include "wire/wire_workflow.h"

#include <string.h>

#define JSON " -H 'Content-Type: application/json' \\\n  -d "
#define PAGE "limit cursor"

#define TASK FA_API "/tasks/{id}"
#define ACT(verb, kind, act, title_, details_, example_)                                           \
    {                                                                                              \
        .method = "POST", .path = TASK ":" verb, .what = FA_OP_##kind, .handle = fa_handle_act,    \
        .data = &fa_act_##act, .request = &fa_body_##act, .response = &fa_shape_task,              \
        .status = 200, .title = (title_), .details = (details_),                                   \
        .example = "curl $URL" FA_API "/tasks/$ID:" verb example_                                  \
    }

#define BULK(verb, upper, title_, details_, example_)                                              \
    {                                                                                              \
        .method = "POST", .path = FA_API "/tasks:" #verb, .what = FA_OP_BULK,                      \
        .handle = fa_handle_bulk, .flags = FA_ROUTE_AUDIT,                                         \
        .data = &fa_bulk_kinds[FA_BULK_##upper], .request = &fa_body_bulk_##verb,                  \
        .response = &fa_reply_bulk, .status = 202, .title = (title_),                              \
        .details = details_ " The operation is stored, and runs in short transactions: it goes "   \
                            "on after a restart, and can be read and cancelled under "             \
                            "`/operations`. With `dryRun` the answer is 200 and `{matched}`.",     \
        .example = "curl $URL" FA_API "/tasks:" #verb JSON example_                                \
    }

/* clang-format off */
const struct fa_route fa_routes[] = {
    {"POST", FA_API "/tasks", FA_OP_SUBMIT, fa_handle_submit, 0, NULL, NULL,
     &fa_shape_submit, &fa_shape_task, 201,
     "Submit a task",
     "Answers 201 with the new task, or 200 with `existing: true` and the first task when its key "
     "is in use. The header `Idempotency-Key` is the same as the field `idempotencyKey`. A header "
     "`traceparent` is kept in the task's metadata. `type` may be missing when `name` is there. "
     "`delay`, or `runAt`, lets it run later; `dependsOn` are tasks that must complete first; "
     "`dedupe: \"input\"` makes its input the key; `maxAttempts: 0` is no limit. An engine's own "
     "field, "
     "such as `status`, is refused.",
     "curl $URL" FA_API "/tasks" JSON
     "'{\"type\":\"mail.send\",\"input\":{\"to\":\"ann@example.com\"}}'"},
    {"POST", FA_API "/tasks:check", FA_OP_SUBMIT,
     fa_handle_check, 0, NULL, NULL, &fa_shape_submit, &fa_reply_preview,
     200, "Check a submit without creating a task",
     "Checks the body as a submit does and returns the task that it would create, without an id. "
     "The store is not read: the key, the team and the dependencies are not checked.",
     "curl $URL" FA_API "/tasks:check" JSON
     "'{\"type\":\"mail.send\",\"maxRetries\":3,\"delay\":\"90s\"}'"},
    {"POST", FA_API "/tasks:batch", FA_OP_SUBMIT,
     fa_handle_batch, FA_ROUTE_LARGE | FA_ROUTE_LINES, NULL,
     NULL, &fa_body_batch, &fa_reply_batch, 200,
     "Submit many tasks",
     "Up to 10,000 in one transaction. Each task is accepted or refused separately; answers are "
     "in request order. Also as NDJSON: one task a line, with `Content-Type: "
     "application/x-ndjson`.",
     "curl $URL" FA_API "/tasks:batch" JSON
     "'{\"tasks\":[{\"type\":\"mail.send\",\"input\":1},{\"type\":\"mail.send\",\"input\":2}]}'"},
    {"GET", FA_API "/tasks", FA_OP_LIST, fa_handle_list, 0, NULL,
     "namespace status type name teamId team_id parentId createdBy group idempotencyKey workerId "
     "resource errorKind failureGroup origin schedule metadata.* createdAfter createdBefore "
     "updatedAfter updatedBefore endedAfter endedBefore dueBefore sort order " PAGE " brief",
     NULL, &fa_shape_tasks, 200,
     "List tasks, newest first",
     "Lists one namespace; `namespace=*` lists all. `status` takes several with commas between. "
     "`workerId` lists the tasks that the worker holds, `resource` those that use it, `errorKind` "
     "those whose last error is of this kind, `failureGroup` those whose last error is in the "
     "group with this id (`/failures`), `origin` those that this workflow created, "
     "`schedule` those that the times of this schedule created, `metadata.PATH=VALUE` those whose "
     "metadata has this value at the path, and `dueBefore` pending ones that are due before the "
     "time (without `runAt` a task is due when it is submitted). `sort` is `createdAt`, "
     "`updatedAt`, `priority` (the highest first, and the oldest first among those of one "
     "priority) or `runAt` (without one a task counts by its submit); `order=asc` is the reverse. "
     "`limit` is at most 1000; continue with `cursor`, the `nextCursor` of the page before, in the "
     "same order. A page may have fewer tasks than `limit`, or none, and still have a "
     "`nextCursor`: a request reads a bounded number of rows, and a page of large tasks ends "
     "early (docs/limits.md says what each filter reads). "
     "`brief=true` leaves out input, output, metadata and spec.",
     "curl \"$URL" FA_API "/tasks?status=pending,running&type=mail.send&limit=20\""},
    {"GET", FA_API "/tasks:find", FA_OP_FIND, fa_handle_find, 0, NULL, "id recent", NULL,
     &fa_shape_found, 200, "Find tasks by a part of their ids",
     "Tasks whose ids begin with `id`, and, if it has 6 digits or more, those of the newest "
     "100,000 tasks whose ids end with it; in all namespaces that the token is for. Up to 10 of "
     "them, the newest first.",
     "curl \"$URL" FA_API "/tasks:find?id=$(echo $ID | tail -c 9)\""},
    {"GET", TASK, FA_OP_GET, fa_handle_get, 0, NULL, NULL, NULL, &fa_shape_task, 200,
     "Read a task",
     "The `ETag` is its version: with `If-None-Match` an unchanged task is answered with 304.",
     "curl $URL" FA_API "/tasks/$ID"},
    {"GET", TASK "/events", FA_OP_EVENTS,
     fa_handle_events, 0, NULL, PAGE, NULL, &fa_reply_events, 200,
     "List the events of a task, newest first",
     "100 of them unless `limit` is given; `nextCursor` continues with older ones.",
     "curl $URL" FA_API "/tasks/$ID/events"},
    {"GET", TASK "/result", FA_ACCESS_RESULT, fa_handle_result, 0, NULL, NULL, NULL,
     &fa_reply_json, 200,
     "Read the output of a completed task",
     "The output itself. 409 `task_active`: it has not ended. 409 `task_failed`: it did not "
     "complete.",
     "curl $URL" FA_API "/tasks/$ID/result"},
    {"GET", TASK "/children", FA_OP_CHILDREN,
     fa_handle_children, 0, NULL, PAGE, NULL, &fa_shape_tasks, 200,
     "List the subtasks of a task, oldest first", NULL,
     "curl $URL" FA_API "/tasks/$ID/children"},
    {"GET", TASK "/explain", FA_OP_EXPLAIN,
     fa_handle_explain, 0, NULL, NULL, NULL, &fa_shape_explanation, 200,
     "Explain why a task is not running", NULL,
     "curl $URL" FA_API "/tasks/$ID/explain"},
    {"POST", TASK "/log", FA_OP_LOG_ADD,
     fa_handle_log_post, FA_ROUTE_LARGE, NULL, NULL, &fa_body_log, NULL, 204,
     "Add lines to the log of an attempt",
     "By the worker that holds the task. The last 64 KiB of an attempt are kept, and of a longer "
     "line its first 16 KiB.",
     "curl $URL" FA_API "/tasks/$ID/log" JSON "'{\"workerId\":\"me\",\"lines\":[\"connecting\"]}'"},
    {"GET", TASK "/log", FA_OP_LOG,
     fa_handle_log_get, 0, NULL, "attempt follow format", NULL, &fa_reply_text, 200,
     "Read the log of an attempt, as text",
     "Of the last attempt, or of number `attempt`, counted from 1. What the handler has written to "
     "stderr, and lines that workers over HTTP have sent, also while the attempt runs. With "
     "`follow=true` the answer goes on until the attempt ends. `format=json` tells the number, the "
     "worker, and whether the attempt has ended.",
     "curl $URL" FA_API "/tasks/$ID/log"},
    {"GET", TASK "/graph", FA_OP_GRAPH,
     fa_handle_graph, 0, NULL, "depth", NULL, &fa_shape_graph, 200,
     "Read the tasks that are connected with a task",
     "Its parent and subtasks, what it depends on and what depends on it, the task whose end has "
     "created it, and what its own end has created, up to `depth` (3, at most 20) steps away. At "
     "most 200 tasks: "
     "`truncated` is true when there are more.",
     "curl \"$URL" FA_API "/tasks/$ID/graph?depth=2\""},
    {"GET", TASK "/wait", FA_OP_GET, fa_handle_wait, 0, NULL, "timeout", NULL, &fa_shape_task, 200,
     "Wait until a task has ended",
     "Answers when it ends, or with its present state after `timeout` (30 seconds; at most an "
     "hour).",
     "curl \"$URL" FA_API "/tasks/$ID/wait?timeout=1\""},
    {"PATCH", TASK, FA_OP_UPDATE, fa_handle_update, 0, NULL, NULL, &fa_body_update,
     &fa_shape_task, 200, "Change a waiting task",
     "`name`, `priority`, `runAt`, `maxAttempts`, `timeout`, `startBy` and `group` of a task that "
     "is pending or blocked; `metadata` of every task that has not ended. 409 `task_active`: it is "
     "held. `If-Match` refuses a task that has changed. The event `updated` has the values before "
     "and after.",
     "curl -X PATCH $URL" FA_API "/tasks/$ID" JSON "'{\"priority\":10,\"runAt\":\"now\"}'"},
    {"PATCH", TASK "/status", FA_ACCESS_STATUS,
     fa_handle_status, 0, NULL, NULL, &fa_body_status, &fa_shape_task,
     200, "Change the status of a task",
     "`running`, `completed`, `failed` or `cancelled`, if the transition table allows it. Here "
     "`failed` is final, whatever the attempts. A task that no worker holds needs no `workerId`; a "
     "token with the scope admin, and every caller while there are no tokens, may act for the "
     "worker. A task that runs can't be started again: 400, unless the same worker repeats its "
     "request. `cancelled` takes what `:cancel` takes, "
     "the others the scope work.",
     "curl -X PATCH $URL" FA_API "/tasks/$ID/status" JSON
     "'{\"status\":\"failed\",\"error\":\"not needed any more\"}'"},
    ACT("claim", CLAIM, claim, "Claim this task",
        "Even before its start time. Repeating it by the same worker has no effect.",
        JSON "'{\"workerId\":\"me\"}'"),
    ACT("start", START, start, "Report that work has begun",
        "A pending task is claimed first.", JSON "'{\"workerId\":\"me\"}'"),
    ACT("complete", COMPLETE, complete, "Complete a task",
        "Repeating it by the same worker with the same output has no effect.",
        JSON "'{\"workerId\":\"me\",\"output\":{\"sent\":true}}'"),
    ACT("fail", FAIL, fail, "Report a failed attempt",
        "`error` is a string, or `{message, kind, detail, retryable, retryAfter}`. The task is "
        "retried after its backoff, or at `retryAfter` (a duration or a time), or ends as "
        "dead_letter when no attempt is left, or as failed when it is not retryable.",
        JSON "'{\"workerId\":\"me\",\"error\":{\"message\":\"no route\",\"retryable\":true}}'"),
    ACT("progress", PROGRESS, progress, "Report progress",
        "Also renews the lease.",
        JSON "'{\"workerId\":\"me\",\"progress\":40,\"state\":\"decoding\"}'"),
    ACT("heartbeat", HEARTBEAT, heartbeat, "Renew the lease", NULL,
        JSON "'{\"workerId\":\"me\"}'"),
    ACT("subtask", SUBTASK, subtask, "Create a subtask at once",
        "Answers with the subtask. The task goes on; `:block` lists and waits for it like the "
        "others. `name` is required: a repeated request, also in another attempt, is answered with "
        "the subtask of this name.",
        JSON "'{\"workerId\":\"me\","
             "\"subtask\":{\"type\":\"page\",\"name\":\"first\",\"input\":1}}'"),
    {"POST", TASK ":block", FA_OP_BLOCK, fa_handle_act, FA_ROUTE_LARGE, &fa_act_block, NULL,
     &fa_body_block, &fa_shape_task, 200, "Wait for subtasks",
     "They are stored and the task is blocked in one transaction.",
     "curl $URL" FA_API "/tasks/$ID:block" JSON
     "'{\"workerId\":\"me\",\"subtasks\":[{\"type\":\"page\",\"input\":1}]}'"},
    ACT("background", BACKGROUND, background, "Move a running task to the background",
        "The worker no longer holds it. After `timeout` (1 hour) the attempt has failed.",
        JSON "'{\"workerId\":\"me\",\"reason\":\"printing\",\"timeout\":\"10m\"}'"),
    ACT("release", RELEASE, release, "Release a claimed task that was not started",
        "The attempt is not counted.", JSON "'{\"workerId\":\"me\"}'"),
    ACT("snooze", SNOOZE, snooze, "Make a held task pending for a while",
        "For work that can't be done yet. The attempt is not counted; the event is `snoozed`. The "
        "worker doesn't hold the task any more.",
        JSON "'{\"workerId\":\"me\",\"for\":\"10m\"}'"),
    ACT("note", NOTE, note, "Add a custom event to a task",
        "By the worker that holds it. Changes nothing else.",
        JSON "'{\"workerId\":\"me\",\"event\":\"log\",\"detail\":{\"line\":1}}'"),
    ACT("amend", AMEND, amend, "Apply type settings to a held task",
        "`maxAttempts` when the task has the default, `retry` when it has none, and `resources`. "
        "More resources make the task ready again; the attempt is not counted.",
        JSON "'{\"workerId\":\"me\",\"task\":{\"maxAttempts\":9}}'"),
    ACT("cancel", CANCEL, cancel, "Cancel a task and its subtasks",
        "Of more than 2,000 subtasks, the rest is cancelled soon after the answer, by an operation "
        "with this task as `taskId` (`/operations`).", " -X POST"),
    ACT("retry", RETRY, retry, "Make an ended or held task ready again",
        "Attempts start at 0 again unless `resetAttempts` is false.",
        JSON "'{\"resetAttempts\":true}'"),
    {"DELETE", TASK, FA_OP_DELETE, fa_handle_delete, FA_ROUTE_AUDIT, NULL, "cancel purge",
     &fa_body_reason, NULL, 204, "Delete an ended task",
     "Frees its key. 409 `task_active` when it has not ended: `cancel=true` cancels it first. "
     "`purge=true` removes its rows too.",
     "curl -X DELETE \"$URL" FA_API "/tasks/$ID?cancel=true\""},
    {"POST", FA_API "/tasks:purge", FA_OP_PURGE,
     fa_handle_purge, FA_ROUTE_AUDIT, NULL, NULL, &fa_body_purge,
     &fa_reply_purge, 200, "Remove ended tasks permanently",
     "Up to `limit` (1,000) of them; call again until `removed` is 0.",
     "curl $URL" FA_API "/tasks:purge" JSON
     "'{\"status\":[\"completed\"],\"endedBefore\":\"2020-01-01T00:00:00Z\"}'"},

    BULK(cancel, CANCEL, "Cancel the tasks of a filter",
         "Those that have ended count as failed.",
         "'{\"filter\":{\"status\":\"pending\",\"type\":\"old.import\"},\"reason\":\"replaced\"}'"),
    BULK(retry, RETRY, "Retry the tasks of a filter",
         "Attempts start at 0 again unless `resetAttempts` is false.",
         "'{\"filter\":{\"status\":\"dead_letter\",\"errorKind\":\"timeout\"}}'"),
    BULK(delete, DELETE, "Delete the ended tasks of a filter",
         "Tasks that have not ended are skipped and count as failed; `cancel` cancels them first. "
         "`purge` removes the rows too.",
         "'{\"filter\":{\"status\":\"completed\",\"endedBefore\":\"2020-01-01T00:00:00Z\"}}'"),
    BULK(update, UPDATE, "Change the waiting tasks of a filter",
         "`set` is what `PATCH /tasks/{id}` takes. Tasks that can't be changed count as failed.",
         "'{\"filter\":{\"status\":\"pending\",\"type\":\"mail.send\"},\"set\":{\"priority\":9}}'"),
    {"GET", FA_API "/operations", FA_OP_BULK_LIST, fa_handle_bulks, 0, NULL, "limit cursor", NULL,
     &fa_reply_bulks, 200, "List operations on many tasks, newest first",
     "Those of the namespaces that the token reaches. Ended ones are removed after 30 days.",
     "curl $URL" FA_API "/operations"},
    {"GET", FA_API "/operations/{id}", FA_OP_BULK_LIST, fa_handle_bulk_get, 0, NULL, NULL, NULL,
     &fa_shape_bulk, 200, "Read an operation on many tasks", NULL,
     "curl $URL" FA_API "/operations/$ID"},
    {"POST", FA_API "/operations/{id}:cancel", FA_OP_BULK_CANCEL, fa_handle_bulk_cancel,
     FA_ROUTE_AUDIT, NULL, NULL, &fa_body_reason, &fa_shape_bulk, 200,
     "Stop an operation on many tasks",
     "What it has done stays. One that has ended stays as it is.",
     "curl -X POST $URL" FA_API "/operations/$ID:cancel"},

    {"POST", FA_API "/claims", FA_OP_CLAIM_NEXT,
     fa_handle_claims, 0, NULL, NULL, &fa_body_claims, &fa_shape_claims, 200,
     "Claim the next tasks",
     "Highest priority first, then oldest; fewer than `limit` when their payloads exceed 16 MiB. "
     "Without `types` any type; without `namespaces` all that the token reaches. With "
     "`waitSeconds` it "
     "waits for work when there is none. Each task carries `fence`, a number that grows with each "
     "claim.",
     "curl $URL" FA_API "/claims" JSON
     "'{\"workerId\":\"me\",\"types\":[\"mail.send\"],\"limit\":10,\"waitSeconds\":1}'"},
    {"POST", FA_API "/outcomes", FA_OP_COMPLETE,
     fa_handle_outcomes, FA_ROUTE_LARGE, NULL, NULL, &fa_body_outcomes,
     &fa_reply_many, 200, "Report outcomes of many tasks",
     "Each item has its own answer, in request order. `failed` is a failed attempt, as with "
     "`:fail`.",
     "curl $URL" FA_API "/outcomes" JSON
     "'{\"workerId\":\"me\",\"items\":[{\"id\":\"'$ID'\",\"status\":\"completed\"}]}'"},
    {"POST", FA_API "/acts", FA_OP_START, fa_handle_acts, FA_ROUTE_LARGE, NULL, NULL, &fa_body_acts,
     &fa_reply_many, 200, "Run several worker operations",
     "In one transaction, in request order; each item has its own answer. `act` is the operation: "
     "claim, start, complete, fail, progress, heartbeat, block, background, release, snooze, note "
     "or amend. `body` is the body of its route.",
     "curl $URL" FA_API "/acts" JSON
     "'{\"items\":[{\"id\":\"'$ID'\",\"act\":\"start\",\"body\":{\"workerId\":\"me\"}}]}'"},
    {"POST", FA_API "/heartbeats", FA_OP_HEARTBEAT,
     fa_handle_heartbeats, FA_ROUTE_LARGE, NULL, NULL,
     &fa_body_heartbeats, &fa_reply_many, 200, "Renew many leases",
     "For `leaseSeconds` or, without it, as long as each was claimed for. An item with a problem: "
     "the lease is lost, so stop working on it.",
     "curl $URL" FA_API "/heartbeats" JSON
     "'{\"workerId\":\"me\",\"items\":[{\"id\":\"'$ID'\"}]}'"},

    {"GET", FA_API "/workers", FA_OP_WORKER_LIST, fa_handle_workers, 0, NULL, "limit cursor", NULL,
     &fa_reply_workers, 200,
     "List live workers, newest heartbeat first",
     "A token of some namespaces sees the workers of these namespaces.",
     "curl $URL" FA_API "/workers"},
    {"PUT", FA_API "/workers/{name}", FA_OP_WORKER_PUT,
     fa_handle_worker_put, FA_ROUTE_LARGE, NULL, NULL,
     &fa_body_worker, &fa_shape_worker_heartbeat, 200, "Register a worker, and send its heartbeat",
     "Renews the leases of `tasks`: ids, or `{id, fence}`; without `tasks`, of all tasks that the "
     "worker holds (a worker that has just started sends `[]`, which renews none). `renewed` is "
     "how many. The answer names those of `tasks` that were cancelled or lost: stop working on "
     "them. `losses` names them with their fences, for a worker that lost a task and claimed it "
     "again. The worker's namespaces are those of the token that first registered it; other "
     "tokens get 404.",
     "curl -X PUT $URL" FA_API "/workers/me" JSON "'{\"poolSize\":4,\"types\":[\"mail.send\"]}'"},
    {"GET", FA_API "/workers/{name}", FA_OP_WORKER_LIST,
     fa_handle_worker, 0, NULL, NULL, NULL, &fa_shape_worker, 200,
     "Read a worker", NULL, "curl $URL" FA_API "/workers/me"},
    {"DELETE", FA_API "/workers/{name}", FA_OP_WORKER_REMOVE,
     fa_handle_worker_delete, 0, NULL, "count", NULL,
     NULL, 204, "Unregister a worker",
     "Tasks that it has claimed and not started are ready again; the attempt is not counted. With "
     "`count=true` the answer is 200 and `{released}`: how many.",
     "curl -X DELETE $URL" FA_API "/workers/me"},

    {"GET", FA_API "/resources", FA_OP_RESOURCE_LIST,
     fa_handle_resources, 0, NULL, "limit cursor", NULL,
     &fa_reply_resources,
    200,
     "List resources with limits and holders",
     "A token of some namespaces sees no holders.", "curl $URL" FA_API "/resources"},
    {"PUT", FA_API "/resources/{name}", FA_OP_RESOURCE_SET,
     fa_handle_resource_put, FA_ROUTE_AUDIT, NULL, NULL,
     &fa_body_limit, &fa_shape_resource, 200, "Limit how many tasks use a resource at once",
     "`null` is no limit. A lower limit takes effect as holders finish. Limits are shared by all "
     "namespaces: this, and removing one, takes a token for all of them.",
     "curl -X PUT $URL" FA_API "/resources/gpu" JSON "'{\"maxConcurrency\":2}'"},
    {"GET", FA_API "/resources/{name}", FA_OP_RESOURCE_LIST,
     fa_handle_resource, 0, NULL, NULL, NULL, &fa_shape_resource,
     200, "Read a resource", NULL, "curl $URL" FA_API "/resources/gpu"},
    {"DELETE", FA_API "/resources/{name}", FA_OP_RESOURCE_REMOVE,
     fa_handle_resource_delete, FA_ROUTE_AUDIT, NULL,
     NULL, &fa_body_reason, NULL, 204, "Remove the limit of a resource", NULL,
     "curl -X DELETE $URL" FA_API "/resources/gpu"},

    {"GET", FA_API "/types", FA_OP_TYPE_LIST,
     fa_handle_types, 0, NULL, "namespace limit cursor", NULL, &fa_reply_types, 200,
     "List the policies of types", "Of a namespace; `namespace=*` lists all.",
     "curl $URL" FA_API "/types"},
    {"PUT", FA_API "/types/{type}", FA_OP_TYPE_PUT,
     fa_handle_type_put, FA_ROUTE_AUDIT, NULL, "namespace", &fa_body_type, &fa_shape_type, 200,
     "Set the policies of a type",
     "They apply to tasks whose submit leaves them open: the task's own value comes first, then "
     "that of its type, then that of the handler's TYPE.json, then the default. Priority, "
     "`resources` and `startBy` apply when a task is submitted, the others when they are needed. "
     "Policies that are not given are removed. Types are compared without regard to the case of "
     "letters.",
     "curl -X PUT $URL" FA_API "/types/mail.send" JSON
     "'{\"maxAttempts\":10,\"retry\":{\"base\":\"30s\",\"factor\":2},\"timeout\":\"1m\"}'"},
    {"GET", FA_API "/types/{type}", FA_OP_TYPE_LIST,
     fa_handle_type, 0, NULL, "namespace", NULL, &fa_shape_type, 200,
     "Read the policies of a type", "404 if none are set.",
     "curl $URL" FA_API "/types/mail.send"},
    {"DELETE", FA_API "/types/{type}", FA_OP_TYPE_REMOVE,
     fa_handle_type_delete, FA_ROUTE_AUDIT, NULL, "namespace", &fa_body_reason, NULL, 204,
     "Remove the policies of a type", "The defaults apply again.",
     "curl -X DELETE $URL" FA_API "/types/mail.send"},

    {"GET", FA_API "/broker", FA_OP_BROKER_GET,
     fa_handle_broker, 0, NULL, NULL, NULL, &fa_shape_broker, 200,
     "The messages for a broker", "See docs/rabbitmq.md. For a token of all namespaces.",
     "curl $URL" FA_API "/broker"},
    {"PUT", FA_API "/broker", FA_OP_BROKER_SET,
     fa_handle_broker_put, FA_ROUTE_AUDIT, NULL, NULL, &fa_body_broker, &fa_shape_broker, 200,
     "Store messages for a broker, or don't",
     "While it is on, each task that becomes ready or ends stores a message, which a node with "
     "FAINA_BROKER publishes. Messages that are stored when it is switched off are still "
     "published. For a token of all namespaces.",
     "curl -X PUT $URL" FA_API "/broker" JSON "'{\"on\":true}'"},

    {"GET", FA_API "/settings", FA_OP_SETTINGS_GET,
     fa_handle_settings, 0, NULL, NULL, NULL, &fa_shape_settings, 200,
     "The settings of the engine", NULL, "curl $URL" FA_API "/settings"},
    {"PUT", FA_API "/settings", FA_OP_SETTINGS_SET,
     fa_handle_settings_put, FA_ROUTE_AUDIT, NULL, NULL, &fa_body_settings, &fa_shape_settings,
     200, "Set the settings of the engine",
     "`redact` has paths of values in payloads: names with dots between, `*` for any name. A value "
     "whose path ends so, at any depth, is `\"[redacted]\"` in every answer (input, output, "
     "metadata, spec, details of errors, data of events), and its task has `redacted: true`. "
     "Workers get it with the tasks that they claim. Logs stay as they are. Other nodes follow "
     "within seconds.",
     "curl -X PUT $URL" FA_API "/settings" JSON "'{\"redact\":[\"password\",\"*.secret\"]}'"},

    {"POST", FA_API "/teams", FA_OP_TEAM_PUT,
     fa_handle_team_post, FA_ROUTE_AUDIT, NULL, NULL, &fa_body_new_team,
     &fa_shape_team, 201, "Create a team", NULL,
     "curl $URL" FA_API "/teams" JSON "'{\"name\":\"billing\",\"spec\":{\"room\":12}}'"},
    {"GET", FA_API "/teams", FA_OP_TEAM_LIST,
     fa_handle_teams, 0, NULL, "namespace limit cursor", NULL,
     &fa_reply_teams, 200,
     "List the teams of a namespace", NULL, "curl $URL" FA_API "/teams"},
    {"GET", FA_API "/teams/{id}", FA_OP_TEAM_LIST,
     fa_handle_team, 0, NULL, NULL, NULL, &fa_shape_team, 200, "Read a team",
     NULL, "curl $URL" FA_API "/teams/$ID"},
    {"PUT", FA_API "/teams/{id}", FA_OP_TEAM_PUT,
     fa_handle_team_put, FA_ROUTE_AUDIT, NULL, NULL, &fa_body_team,
     &fa_shape_team, 200, "Create a team with this id, or change it",
     "The id is any UUID. 201: it is new.",
     "curl -X PUT $URL" FA_API "/teams/$ID" JSON "'{\"name\":\"payments\"}'"},
    {"DELETE", FA_API "/teams/{id}", FA_OP_TEAM_REMOVE,
     fa_handle_team_delete, FA_ROUTE_AUDIT, NULL, NULL, &fa_body_reason,
     NULL, 204, "Remove a team", "Its tasks stay, with no team.",
     "curl -X DELETE $URL" FA_API "/teams/$ID"},

    {"GET", FA_API "/crons", FA_OP_CRON_LIST,
     fa_handle_crons, 0, NULL, "namespace limit cursor", NULL,
     &fa_reply_crons, 200,
     "List the schedules of a namespace", "`namespace=*` lists all.", "curl $URL" FA_API "/crons"},
    {"PUT", FA_API "/crons/{name}", FA_OP_CRON_PUT, fa_handle_cron_put, FA_ROUTE_AUDIT, NULL, NULL,
     &fa_body_cron, &fa_shape_cron, 200, "Create or replace a schedule",
     "`schedule` has 5 fields (minute, hour, day of the month, month, day of the week), or 6 with "
     "seconds before them, or is `@daily`, `@every 90s` and the like; it counts in `timezone`, "
     "UTC unless given. `task` is the body of a submit without a key, `namespace`, `runAt` and "
     "`dependsOn`. Each time creates one task, with the key `cron:NAME:TIME`. `catchUp` is for "
     "missed times, more than a minute ago because no engine ran (less, down to 10 seconds, for "
     "schedules with short periods): `none` skips them, `one` creates one task for the latest, "
     "`all` creates a task for each. `overlap` is for a time at which the task of the previous "
     "time has not ended: `allow` creates another task, `skip` creates none, `cancel` cancels the "
     "previous task first. `jitter` delays each task by a random time up to this.",
     "curl -X PUT $URL" FA_API "/crons/report" JSON
     "'{\"schedule\":\"0 3 * * *\",\"timezone\":\"Europe/Berlin\",\n"
     "       \"task\":{\"type\":\"report.make\"}}'"},
    {"GET", FA_API "/crons/{name}", FA_OP_CRON_LIST,
     fa_handle_cron, 0, NULL, "namespace", NULL, &fa_shape_cron, 200,
     "Read a schedule",
     "`problem` is why its last time created no task.", "curl $URL" FA_API "/crons/report"},
    {"DELETE", FA_API "/crons/{name}", FA_OP_CRON_REMOVE,
     fa_handle_cron_delete, FA_ROUTE_AUDIT, NULL,
     "namespace", &fa_body_reason, NULL, 204, "Remove a schedule",
     "The tasks that it created stay.",
     "curl -X DELETE $URL" FA_API "/crons/report"},
    {"POST", FA_API "/crons/{name}:run", FA_OP_CRON_RUN,
     fa_handle_cron_run, 0, NULL, "namespace", &fa_body_reason,
     &fa_shape_task, 201, "Run a schedule now",
     "Creates its task once, also when it is paused. Its times stay as they are. 200 with "
     "`existing: true`: another task has the `idempotencyKey` of its task.",
     "curl -X POST $URL" FA_API "/crons/report:run"},

    {"GET", FA_API "/crons/{name}/next", FA_OP_CRON_LIST,
     fa_handle_cron_next, 0, NULL, "namespace count", NULL, &fa_reply_times, 200,
     "List the next times of a schedule",
     "`count` of them (10, at most 1,000); of a paused schedule, those that it would have.",
     "curl \"$URL" FA_API "/crons/report/next?count=3\""},

    {"GET", FA_API "/stream", FA_ACCESS_STREAM, fa_handle_stream, 0, NULL,
     "namespace status type name teamId team_id parentId createdBy idempotencyKey createdAfter "
     "createdBefore ids aggregate lastEventId",
     NULL, &fa_reply_stream, 200, "Stream task events",
     "Server-sent events, named by event type. `ids` follows some tasks, up to 200 with commas "
     "between. With `aggregate=1s` there are no single events: once a second an event `counts` "
     "has `{items: [{type, status, count}]}`, how many tasks have got each status since the last "
     "one; of very many types the rest is counted with `type` null. With `Last-Event-ID` (or "
     "`lastEventId`) it continues after that event, without a gap, or with 0 from the oldest event "
     "that is kept; an event `gap` marks where events are not kept any more. After a while "
     "without events the "
     "position is sent, as an id without an event. A client that reads too slowly gets an event "
     "`dropped`, and the stream ends.",
     "curl -N --max-time 1 \"$URL" FA_API "/stream?type=mail.send\""},
    {"GET", FA_API "/stats", FA_OP_STATS,
     fa_handle_stats, 0, NULL, "namespace type", NULL, &fa_reply_stats, 200,
     "Count tasks by status and type",
     "`namespace=*` counts all. Of more than 1,000 types, `types` lists those with the most tasks "
     "that have not ended, and `moreTypes` is true; `/lanes` pages through all of them.",
     "curl $URL" FA_API "/stats"},
    {"GET", FA_API "/stats/history", FA_OP_HISTORY,
     fa_handle_history, 0, NULL, "namespace type from to step", NULL, &fa_shape_history, 200,
     "What was submitted, ended and waited for, over time",
     "Of one type, or of all types of the namespace together; `namespace=*` is all namespaces. "
     "From `from` (an hour before `to`) to `to` (now) in steps of `step`, such as `5m`: whole "
     "minutes, or else a length with which there are few steps. Minutes are kept for 72 hours, "
     "and hours for 90 days: a range that begins earlier begins there, and one that begins before "
     "the first minute that is kept has steps of whole hours. More than 4,400 steps are refused. "
     "Of each minute the 1,000 busiest types are kept; the others are counted together as the "
     "type `other`. The counts of the present minute of other nodes are missing.",
     "curl \"$URL" FA_API "/stats/history?type=mail.send&step=1m\""},
    {"GET", FA_API "/failures", FA_OP_FAILURES,
     fa_handle_failures, 0, NULL, "namespace type since limit", NULL, &fa_shape_failures, 200,
     "List groups of failures that are alike",
     "Attempts that failed, by type, kind and message without numbers, ids and quoted text; those "
     "with a failure since `since`. `count` is over all time. `namespace=*` lists all. 1,000 "
     "groups of a namespace are kept: of more, those without a failure for the longest time are "
     "removed, and so is a group 90 days after its last failure. The filter `failureGroup` selects "
     "the tasks of a group by its `id`, also in `/tasks:retry`.",
     "curl \"$URL" FA_API "/failures?type=mail.send\""},
    {"GET", FA_API "/audit", FA_OP_AUDIT_LIST,
     fa_handle_audit, 0, NULL, "who act target from to order " PAGE, NULL, &fa_shape_audit, 200,
     "List administrative acts and what people did to tasks, newest first",
     "Each entry has the hash of the one before; `total` and `lastHash` are stored outside of this "
     "chain (docs/audit.md). `order=asc` lists the oldest first. With a filter a page may have "
     "fewer entries than `limit`, or none, and still have a `nextCursor`: a request reads at most "
     "5,000 entries. For a token of all namespaces.",
     "curl \"$URL" FA_API "/audit?act=pause&limit=20\""},
    {"GET", FA_API "/lanes", FA_OP_STATS, fa_handle_lanes, 0, NULL, "namespace limit cursor", NULL,
     &fa_reply_lanes, 200,
     "List types, and whether they are paused",
     "Lists one namespace; `namespace=*` lists all. 1,000 of them, or `limit` if that is less; "
     "`nextCursor` continues.",
     "curl $URL" FA_API "/lanes"},
    {"POST", FA_API "/lanes:pause", FA_OP_PAUSE, fa_handle_lane_pause, FA_ROUTE_AUDIT, NULL, NULL,
     &fa_body_lane, &fa_reply_lane, 200, "Pause a type", NULL,
     "curl $URL" FA_API "/lanes:pause" JSON "'{\"type\":\"mail.send\"}'"},
    {"POST", FA_API "/lanes:resume", FA_OP_RESUME,
     fa_handle_lane_resume, FA_ROUTE_AUDIT, NULL, NULL,
     &fa_body_lane, &fa_reply_lane, 200, "Resume a type", NULL,
     "curl $URL" FA_API "/lanes:resume" JSON "'{\"type\":\"mail.send\"}'"},
    {"GET", FA_API "/info", FA_ACCESS_INFO, fa_handle_info, 0, NULL, "thorough", NULL,
     &fa_reply_info, 200,
     "Describe the engine",
     "`thorough=true` also checks the whole store, which takes time, and the scope admin for all "
     "namespaces: `findings` are what is wrong with it.",
     "curl $URL" FA_API "/info"},
    {"GET", FA_API "/namespaces", FA_OP_NAMESPACE_LIST, fa_handle_namespaces, 0, NULL,
     "limit cursor", NULL, &fa_reply_namespaces, 200, "List namespaces",
     "Those with types, workflows or schedules. With a token of some namespaces: these.",
     "curl $URL" FA_API "/namespaces"},
    {"POST", FA_API "/session", FA_ACCESS_PUBLIC, fa_handle_session_post, 0, NULL, NULL,
     &fa_body_session, &fa_reply_session, 200, "Log in",
     "Answers a cookie, which takes the place of the token in the requests of a browser. The "
     "session ends after 7 days, with its token, or when the server is restarted. Failed logins "
     "are limited as failed tokens are. A request with the cookie that a page of another site has "
     "sent is refused with 403.",
     "curl -c cookies $URL" FA_API "/session" JSON "'{\"token\":\"'$FAINA_TOKEN'\"}'"},
    {"GET", FA_API "/session", FA_ACCESS_SESSION, fa_handle_session_get, 0, NULL, NULL, NULL,
     &fa_reply_session, 200, "What the caller may do",
     "By its cookie or its token. While no token is needed: everything.",
     "curl $URL" FA_API "/session"},
    {"DELETE", FA_API "/session", FA_ACCESS_PUBLIC, fa_handle_session_delete, 0, NULL, NULL, NULL,
     NULL, 204, "Log out", "Ends the session of the cookie.",
     "curl -b cookies -X DELETE $URL" FA_API "/session"},
    {"POST", FA_API "/backup", FA_ACCESS_BACKUP,
     fa_handle_backup, FA_ROUTE_AUDIT, NULL, NULL, NULL, &fa_reply_backup, 200,
     "Back up a SQLite store",
     "The store as it is at this moment, as one SQLite file, while it is in use: other "
     "operations are not blocked. The copy is checked before the answer begins, so that may take "
     "a while. For a "
     "token of all namespaces. There is one at a time: 429 `overloaded` while another is being "
     "made or sent. It takes the store's size on the server's disk until it is sent. 501 "
     "`not_supported` on PostgreSQL, where pg_dump does it.",
     "curl -X POST $URL" FA_API "/backup -o faina.backup"},
    {"GET", FA_API "/log", FA_OP_FOLLOW, fa_handle_log, 0, NULL, PAGE, NULL,
     &fa_shape_followed, 200,
     "List the events of all tasks, in the order of commits",
     "Without `cursor` it has no items, and `nextCursor` is the current position. Continue "
     "from there: with `hasMore` at once, else after a while. The log reaches an hour back; "
     "`hasGap` is true "
     "when events between the cursor and the first item are not kept any more. A token of some "
     "namespaces sees the events of these namespaces.",
     "curl $URL" FA_API "/log"},

    {"POST", FA_API "/events", FA_OP_EMIT, fa_handle_emit, 0, NULL, NULL,
     &fa_body_emit, &fa_shape_emitted, 200,
     "Emit an event",
     "Every enabled trigger on that type whose condition is true creates its task, all in one "
     "transaction. A trigger that fails is listed in `failures`, and the others fire all the same. "
     "A repeated `id` returns the first result, with `existing: true`.",
     "curl $URL" FA_API "/events" JSON
     "'{\"type\":\"object.created\",\"data\":{\"hash\":\"f00\"},\"id\":\"upload-17\"}'"},
    {"GET", FA_API "/events", FA_OP_EMITTED_LIST,
     fa_handle_emitted_events, 0, NULL, "namespace type since order " PAGE, NULL,
     &fa_shape_emitted_events, 200, "List emitted events, oldest first",
     "Emitted events of the last 7 days, and task ends that fired a trigger. `order=desc` lists "
     "the newest first.",
     "curl \"$URL" FA_API "/events?type=object.created&since=2020-01-01T00:00:00Z\""},
    {"GET", FA_API "/events/{name}", FA_OP_EMITTED_LIST,
     fa_handle_emitted_event, 0, NULL, "namespace", NULL,
     &fa_shape_emitted_event, 200, "Get an event and its results", NULL,
     "curl $URL" FA_API "/events/upload-17"},
    {"GET", FA_API "/events/{name}/why", FA_ACCESS_REPLAY, fa_handle_event_why, 0, NULL,
     "namespace", NULL, &fa_reply_why, 200, "Explain which triggers match an event",
     "For each trigger on its type, by the current definitions: `matched`, `not matched`, `failed` "
     "or `disabled`, and the clause that decided.",
     "curl $URL" FA_API "/events/upload-17/why"},
    {"GET", FA_API "/workflows", FA_OP_WORKFLOW_LIST,
     fa_handle_workflows, 0, NULL, "namespace limit cursor", NULL,
     &fa_reply_workflows, 200, "List the workflows of a namespace", "`namespace=*` lists all.",
     "curl $URL" FA_API "/workflows"},
    {"PUT", FA_API "/workflows/{name}", FA_OP_WORKFLOW_PUT, fa_handle_workflow_put,
     FA_ROUTE_AUDIT | FA_ROUTE_YAML, NULL, "namespace",
     &fa_body_definition, &fa_shape_workflow, 200,
     "Store a workflow",
     "The body is its definition, as JSON or, with `Content-Type: application/yaml`, as YAML. With "
     "one mistake nothing changes; `errors` has all of them, each with `line` and `column`.",
     "curl -X PUT $URL" FA_API "/workflows/mails" JSON
     "'{\"workflow\":\"mails\",\"triggers\":[{\"name\":\"welcome\",\"on\":\"user.created\",\n"
     "  \"task\":{\"type\":\"mail.send\",\"input\":{\"to\":\"${email}\"}}}]}'"},
    {"GET", FA_API "/workflows/{name}", FA_OP_WORKFLOW_LIST,
     fa_handle_workflow, 0, NULL, "namespace", NULL,
     &fa_shape_workflow, 200, "Read a workflow", NULL, "curl $URL" FA_API "/workflows/mails"},
    {"POST", FA_API "/workflows/{id}:disable", FA_OP_WORKFLOW_ENABLE,
     fa_handle_workflow_disable, FA_ROUTE_AUDIT,
     NULL, "namespace", &fa_body_reason, &fa_shape_workflow, 200, "Disable a workflow", NULL,
     "curl -X POST $URL" FA_API "/workflows/mails:disable"},
    {"POST", FA_API "/workflows/{id}:enable", FA_OP_WORKFLOW_ENABLE,
     fa_handle_workflow_enable, FA_ROUTE_AUDIT,
     NULL, "namespace", &fa_body_reason, &fa_shape_workflow, 200, "Enable a workflow", NULL,
     "curl -X POST $URL" FA_API "/workflows/mails:enable"},
    {"GET", FA_API "/workflows/{name}/joins", FA_OP_JOIN_LIST, fa_handle_joins, 0, NULL,
     "namespace key " PAGE, NULL,
     &fa_shape_joins, 200, "List the open joins of a workflow", NULL,
     "curl \"$URL" FA_API "/workflows/mails/joins?key=f00\""},
    {"GET", FA_API "/joins", FA_OP_JOIN_LIST, fa_handle_joins, 0, NULL, "namespace key " PAGE, NULL,
     &fa_shape_joins, 200, "List the open joins of all workflows", NULL,
     "curl \"$URL" FA_API "/joins?limit=10\""},
    {"DELETE", FA_API "/workflows/{name}", FA_OP_WORKFLOW_REMOVE,
     fa_handle_workflow_delete, FA_ROUTE_AUDIT, NULL,
     "namespace", &fa_body_reason, NULL, 204, "Remove a workflow",
     "Tasks that it created stay. Open joins are deleted.",
     "curl -X DELETE $URL" FA_API "/workflows/mails"},
    {"POST", FA_API "/workflows:test", FA_ACCESS_MATCH,
     fa_handle_workflow_test, 0, NULL, NULL, &fa_body_match,
     &fa_shape_verdict, 200, "Try a match expression",
     "`decidedBy` is the clause that decided.",
     "curl $URL" FA_API "/workflows:test" JSON
     "'{\"match\":\"size > 10\",\"data\":{\"size\":12}}'"},

    {"POST", FA_API "/workflows:backtest", FA_ACCESS_REPLAY, fa_handle_backtest, 0,
     NULL, "namespace", &fa_body_backtest, &fa_reply_backtest, 200,
     "Compare a definition with what was created",
     "Evaluates the triggers of `definition` on the events of the last `last` (7 days at most, "
     "and the first 10,000 of them), without creating anything. `added` are tasks that it would "
     "have created and the workflow of this name has not, `missing` those that it has created and "
     "the definition would not, `changed` those with another type or input: up to 100 of "
     "each, while `counts` counts all. Joins are not evaluated.",
     "curl $URL" FA_API "/workflows:backtest" JSON
     "'{\"last\":\"24h\",\"definition\":{\"workflow\":\"mails\",\"triggers\":[\n"
     "  {\"name\":\"welcome\",\"on\":\"user.created\",\n"
     "   \"task\":{\"type\":\"mail.send\",\"input\":{\"to\":\"${email}\"}}}]}}'"},
    {"GET", FA_API "/tokens", FA_OP_TOKEN_LIST, fa_handle_tokens, 0, NULL, "limit cursor", NULL,
     &fa_reply_tokens, 200,
     "List tokens, without their secrets", NULL, "curl $URL" FA_API "/tokens"},
    {"POST", FA_API "/tokens", FA_OP_TOKEN_PUT,
     fa_handle_token_post, FA_ROUTE_AUDIT, NULL, NULL, &fa_body_token,
     &fa_shape_new_token, 201, "Create a token",
     "`token` in the answer is the secret, shown this once. Send `hash`, its SHA-256 in "
     "hexadecimal, if the client generated the secret. As soon as there is one token, every "
     "request needs one.",
     "curl $URL" FA_API "/tokens" JSON
     "'{\"name\":\"ci\",\"scopes\":[\"read\",\"submit\"],\"expires\":\"30d\"}'"},
    {"DELETE", FA_API "/tokens/{id}", FA_OP_TOKEN_REMOVE,
     fa_handle_token_delete, FA_ROUTE_AUDIT, NULL, "force", &fa_body_reason, NULL, 204,
     "Revoke a token",
     "On a server that other machines can reach, removing the last valid token requires "
     "`force=true`, else 409 `conflict`: without a token they are refused.",
     "curl -X DELETE $URL" FA_API "/tokens/$ID"},

    {"GET", "/healthz", FA_ACCESS_PUBLIC, fa_handle_healthz, 0, NULL, NULL, NULL,
     &fa_reply_health, 200,
     "Check that the process is alive", NULL, "curl $URL/healthz"},
    {"GET", "/readyz", FA_ACCESS_PUBLIC, fa_handle_readyz, 0, NULL, NULL, NULL,
     &fa_reply_health, 200,
     "Check that it can serve: the store is reachable",
     "503 when it is not, while its disk is full, when chores have failed for 30 seconds, and "
     "while the server shuts down.",
     "curl $URL/readyz"},
    {"GET", "/metrics", FA_ACCESS_METRICS, fa_handle_metrics, 0, NULL, NULL, NULL,
     &fa_reply_text, 200,
     "Get metrics for Prometheus", NULL, "curl $URL/metrics"},
    {"GET", "/openapi.json", FA_ACCESS_PUBLIC, fa_handle_openapi, 0, NULL, NULL, NULL,
     &fa_reply_json, 200,
     "Get this interface as OpenAPI 3.1", NULL, "curl $URL/openapi.json"},
    {"GET", "/", FA_ACCESS_PUBLIC, fa_handle_root, 0, NULL, NULL, NULL, &fa_reply_text, 200,
     "Get the dashboard",
     "A browser gets the dashboard, other clients get a few lines of text. 404 with "
     "`faina serve --no-ui`.",
     "curl $URL/"},
    {"GET", "/assets/{name}", FA_ACCESS_PUBLIC, fa_handle_asset, 0, NULL, NULL, NULL,
     &fa_reply_text, 200,
     "Get a file of the dashboard",
     "A file with a hash in its name never changes, and may be kept for ever.",
     "curl $URL/assets/icon.svg"},
};
/* clang-format on */

const size_t fa_route_count = FA_COUNT(fa_routes);

const struct fa_route *fa_route_find(const char *method, const char *path,
                                     struct fa_bytes parts[FA_URL_PARTS_MAX], struct fa_buf *allow)
{
    const char *wanted = strcmp(method, "HEAD") == 0 ? "GET" : method;

    for (size_t i = 0; i < fa_route_count; i++) {
        const struct fa_route *route = &fa_routes[i];
        struct fa_bytes found[FA_URL_PARTS_MAX] = {{0}};

        if (!fa_url_match(route->path, path, found))
            continue;
        if (strcmp(route->method, wanted) == 0) {
            memcpy(parts, found, sizeof(found));
            return route;
        }
        fa_buf_printf(allow, "%s%s%s", allow->len > 0 ? ", " : "", route->method,
                      strcmp(route->method, "GET") == 0 ? ", HEAD" : "");
    }
    return NULL;
}
