/*
 * verbs.c - the table of verbs and their flags.
 */
#include "cli/verbs.h"

#include "model/limits.h"

#define STATUSES "pending claimed running blocked background completed failed dead_letter cancelled"
#define ENDS "completed failed dead_letter cancelled"

/* Flags that several verbs share. */
/* clang-format off */
#define F_TYPE      {"type", 't', "TYPE", "only tasks of this type", .takes = FA_TAKES_TYPE}
#define F_STATUS    {"status", 's', "S,...", "only tasks in these statuses", STATUSES, true}
#define F_TEAM      {"team", 0, "ID", "only tasks of this team"}
#define F_PARENT    {"parent", 0, "ID", "only subtasks of this task"}
#define F_LIMIT     {"limit", 'n', "N", "at most this many, up to 1000 (default 100)"}
#define F_CURSOR    {"cursor", 0, "C", "continue after the page that returned this cursor"}
#define F_WORKER    {"worker", 'w', "W", "the worker that acts, and holds the task"}
#define F_FENCE     {"fence", 0, "N", "refuse if the task was claimed again since this fence"}
#define F_VERSION   {"if-version", 0, "N", "refuse if the task has another version now"}
#define F_LEASE     {"lease", 0, "DURATION", "how long the worker holds it (default 30s)"}
#define F_BY        F_WORKER, F_FENCE, F_VERSION
#define F_ALL       {"all", 'a', NULL, "every task that matches --status, --type and --where"}
#define F_WHERE     {"where", 0, "NAME=VALUE", "only tasks with this value: the name of " \
                     "a filter of the API, such as dueBefore or metadata.PATH; repeat", NULL, true}
#define F_DRY_RUN   {"dry-run", 0, NULL, "with --all: only count the tasks"}
#define F_MANY      F_ALL, F_STATUS, F_TYPE, F_WHERE, F_DRY_RUN, F_YES
#define F_YES       {"yes", 'y', NULL, "don't ask for confirmation"}
#define F_METADATA  {"metadata", 'm', "JSON", "metadata to store with the task; also @FILE", \
                     .takes = FA_TAKES_JSON}
#define F_TIMEOUT   {"timeout", 0, "DURATION", "give up after this long (default: never)"}
#define F_RETRY     {"retry", 0, "BASE[,FACTOR[,MAX]]", "the backoff before the next attempt: " \
                     "BASE, then FACTOR times as long each time, at most MAX (default " \
                     "15s,8,6h); a random half may be shorter"}
#define F_END       {NULL}

const struct fa_flag fa_common_flags[] = {
    {"output", 'o', "FORMAT", "table (on a terminal), json (otherwise) or jsonl",
     "table json jsonl"},
    {"url", 0, "URL",
     "the engine: sqlite:PATH, postgres://..., nats://..., http(s)://... (a server) or memory: "
     "(default: from the environment, else sqlite:faina.db)", .takes = FA_TAKES_URL},
    {"namespace", 0, "NS",
     "the namespace (default $FAINA_NAMESPACE, else the only one of the token, else default)"},
    {"reason", 0, "TEXT", "why something is changed, for the audit (faina audit ls)"},
    {"help", 'h', NULL, "show this help"},
    F_END,
};

static const struct fa_flag submit_flags[] = {
    {"input", 0, "JSON", "the same as INPUT; without TYPE the type is default; also @FILE, or -",
     .takes = FA_TAKES_JSON},
    {"name", 0, "TEXT", "a label for people (default: the type)"},
    {"priority", 'p', "N", "higher first (default 0)"},
    {"delay", 0, "DURATION", "run no earlier than this long from now: 50ms, 90s, 5m, 1h, 2d"},
    {"run-at", 0, "TIME", "run no earlier than this time: 2030-01-31T12:00:00Z"},
    {"key", 'k', "KEY", "idempotency key: the same key again returns the first task"},
    {"dedupe", 0, "input", "the same input again returns the first task", "input"},
    {"key-scope", 0, "SCOPE",
     "how long the task keeps its key: exists (default), active (until it has ended), or a "
     "duration since its creation"},
    {"on-duplicate", 0, "ACT",
     "when another task has the key: return it (default), reject the submit, or replace the input, "
     "time, priority and metadata of a pending task",
     "return reject replace"},
    {"max-attempts", 0, "N", "how many attempts (default 4; 0: no limit)"},
    {"max-retries", 0, "N", "the same, not counting the first attempt"},
    F_RETRY,
    {"attempt-timeout", 0, "DURATION", "the longest run of one attempt (default: no limit)"},
    {"start-by", 0, "DURATION|TIME", "cancel it if it was not started by then"},
    {"resource", 'r', "R", "a resource it uses while it is held; repeat, or list with commas", NULL,
     true, .takes = FA_TAKES_RESOURCE},
    {"depends-on", 0, "ID", "a task that must complete first; repeat, or list with commas", NULL,
     true},
    F_METADATA,
    {"spec", 0, "JSON", "settings to store with the task; also @FILE", .takes = FA_TAKES_JSON},
    {"team", 0, "ID", "the team it belongs to"},
    {"group", 0, "NAME", "its fair share: groups of one type and priority take turns"},
    {"created-by", 0, "WHO", "the person or program that submits it"},
    {"traceparent", 0, "TEXT", "the trace that it continues (W3C Trace Context)"},
    {"wait", 0, NULL, "wait until it has ended"},
    F_TIMEOUT,
    {"bulk", 0, "FILE", "one task per line of JSON, from FILE or stdin", .is_optional = true,
     .takes = FA_TAKES_FILE},
    F_END,
};

static const struct fa_flag get_flags[] = {
    {"key", 'k', "KEY", "the task with this idempotency key"},
    {"type", 't', "TYPE", "the type of the task with --key (default: the newest of any type)",
     .takes = FA_TAKES_TYPE},
    F_END,
};

static const struct fa_flag ls_flags[] = {
    F_STATUS, F_TYPE, F_TEAM, F_PARENT,
    {"name", 0, "TEXT", "only tasks with this name"},
    {"created-by", 0, "WHO", "only tasks submitted with this --created-by"},
    {"group", 0, "NAME", "only tasks of this group"},
    {"key", 'k', "KEY", "only tasks with this idempotency key"},
    {"after", 0, "TIME", "created at this time or later; a duration counts back from now"},
    {"before", 0, "TIME", "created before this time; a duration counts back from now"},
    {"updated-after", 0, "TIME", "changed at this time or later"},
    {"updated-before", 0, "TIME", "last changed before this time"},
    {"ended-after", 0, "TIME", "ended at this time or later"},
    {"ended-before", 0, "TIME", "ended before this time"},
    {"worker", 'w', "ID", "only tasks that this worker holds"},
    {"resource", 'r', "R", "only tasks that use this resource", .takes = FA_TAKES_RESOURCE},
    {"error-kind", 0, "WORD", "only tasks whose last error is of this kind"},
    {"origin", 0, "WORKFLOW", "only tasks that this workflow created",
     .takes = FA_TAKES_WORKFLOW},
    {"schedule", 0, "NAME", "only tasks that the times of this schedule created",
     .takes = FA_TAKES_SCHEDULE},
    F_WHERE,
    {"sort", 0, "FIELD", "createdAt (default), updatedAt, priority or runAt"},
    {"order", 0, "ORDER", "desc (default: newest, highest or latest first) or asc"},
    F_LIMIT, F_CURSOR,
    {"all", 'a', NULL, "all pages, not only the first"},
    F_END,
};

static const struct fa_flag watch_flags[] = {
    F_STATUS, F_TYPE, F_TEAM, F_PARENT,
    {"limit", 'n', "N", "at most this many, up to 1000 (default 1000)"},
    {"interval", 0, "DURATION", "how often to poll (default 1s)"},
    F_END,
};

static const struct fa_flag page_flags[] = {F_LIMIT, F_CURSOR, F_END};
static const struct fa_flag limit_flags[] = {F_LIMIT, F_END};
static const struct fa_flag logs_flags[] = {
    {"attempt", 0, "N", "only the log of this attempt"},
    {"follow", 'f', NULL, "print more as it is written, until the attempt ends"}, F_END,
};

static const struct fa_flag graph_flags[] = {
    {"depth", 0, "N", "how many steps away (default 3, at most 20)"}, F_END,
};

static const struct fa_flag timeout_flags[] = {F_TIMEOUT, F_END};
static const struct fa_flag by_flags[] = {F_BY, F_END};

static const struct fa_flag claim_flags[] = {
    {"worker", 'w', "W", "the name of the worker that claims"},
    {"types", 't', "A,B", "only these types (default: any)", NULL, true, .takes = FA_TAKES_TYPE},
    {"services", 0, "X,Y", "the resources this worker can reach (default: all)", NULL, true,
     .takes = FA_TAKES_RESOURCE},
    {"limit", 'n', "N", "at most this many, up to 1000 (default 1)"},
    F_LEASE,
    {"wait", 0, NULL, "wait for work when there is none"},
    F_TIMEOUT, F_END,
};

static const struct fa_flag start_flags[] = {F_BY, F_LEASE, F_END};

static const struct fa_flag fail_flags[] = {
    {"error", 'e', "TEXT", "what went wrong"},
    {"kind", 0, "WORD", "the kind of error"},
    {"detail", 0, "JSON", "details of the error; also @FILE", .takes = FA_TAKES_JSON},
    {"permanent", 0, NULL, "don't retry: the task ends as failed"},
    {"retry-after", 0, "DURATION|TIME", "when to try again, instead of the backoff"},
    F_BY, F_END,
};

static const struct fa_flag update_flags[] = {
    {"name", 0, "TEXT", "the label for people"},
    {"priority", 'p', "N", "higher first"},
    {"run-at", 0, "TIME", "run no earlier than this time, or now"},
    {"max-attempts", 0, "N", "how many attempts in all (0: no limit)"},
    {"timeout", 0, "DURATION", "the longest run of one attempt"},
    {"start-by", 0, "DURATION|TIME", "cancel it if it was not started by then"},
    {"group", 0, "NAME", "its fair share; '' is none"},
    F_METADATA, F_MANY, F_VERSION, F_END,
};
static const struct fa_flag version_flags[] = {F_VERSION, F_END};

static const struct fa_flag snooze_flags[] = {
    {"for", 0, "DURATION", "how long it stays pending, such as 10m"}, F_BY, F_END,
};

static const struct fa_flag progress_flags[] = {
    {"state", 0, "TEXT", "a short description of what it is doing"},
    F_METADATA, F_BY, F_END,
};

static const struct fa_flag heartbeat_flags[] = {
    F_WORKER, F_FENCE,
    {"lease", 0, "DURATION", "how long it is held from now on (default: as in the claim)"},
    F_END,
};

static const struct fa_flag block_flags[] = {
    {"fail-fast", 0, NULL, "unblock as soon as one subtask doesn't complete"},
    F_BY, F_END,
};

static const struct fa_flag background_flags[] = {
    {"timeout", 0, "DURATION", "the attempt fails after this long (default 1h)"},
    F_BY, F_END,
};

#define F_RETENTION                                                                                \
    {"keep-completed", 0, "DURATION",                                                              \
     "remove tasks this long after they completed (default $FAINA_KEEP_COMPLETED, else never)"},   \
    {"keep-failed", 0, "DURATION",                                                                 \
     "the same for tasks that ended otherwise (default $FAINA_KEEP_FAILED, else never)"},          \
    {"keep-events", 0, "DURATION",                                                                 \
     "how long events are kept (default $FAINA_EVENTS_KEEP; else events of a task as long as the " \
     "task, and emitted ones 7d)"},                                                                \
    {"archive", 0, "DIR",                                                                          \
     "write removed tasks to this folder first (default $FAINA_ARCHIVE, else archive)",            \
     .takes = FA_TAKES_FOLDER},                                                                    \
    {"no-archive", 0, NULL, "remove without an archive"}

#define F_POOL                                                                                     \
    {"services", 0, "X,Y", "the resources this worker can reach (default: all)", NULL, true,       \
     .takes = FA_TAKES_RESOURCE},                                                                  \
    {"service", 0, "NAME=CHECK", "a resource it can reach while CHECK succeeds; repeat", NULL,     \
     true},                                                                                        \
    {"pass-env", 0, "NAME",                                                                        \
     "a variable that handlers get from this process; NAME or PREFIX_*; repeat", NULL, true},      \
    {"node-id", 0, "NAME",                                                                         \
     "the name of this node (default $FAINA_NODE_ID, else host, process and a random number)"}

static const struct fa_flag worker_flags[] = {
    {"concurrency", 'c', "N", "how many tasks to run at once (default: one per processor)"},
    {"types", 't', "A,B", "only these types (default: all that have a handler)", NULL, true,
     .takes = FA_TAKES_TYPE},
    F_POOL,
    {"handlers", 0, "DIR", "the folder of handlers (default $FAINA_HANDLERS, else handlers)",
     .takes = FA_TAKES_FOLDER},
    {"worker", 'w', "W", "the name of this worker (default: that of the node)"},
    {"lease", 0, "DURATION", "how long it holds a task without renewing (default 30s)"},
    {"grace", 0, "DURATION", "how long running tasks may continue after SIGTERM (default 30s)"},
    {"idle-exit", 0, "DURATION", "exit after being idle for this long"},
    {"broker-queue", 0, "NAME", "consume this queue of $FAINA_BROKER instead of polling"},
    F_RETENTION, F_END,
};

static const struct fa_flag cancel_flags[] = {F_MANY, F_VERSION, F_END};

static const struct fa_flag retry_flags[] = {
    {"keep-attempts", 0, NULL, "don't reset the number of attempts"},
    F_MANY, F_VERSION, F_END,
};

static const struct fa_flag rm_flags[] = {
    {"purge", 0, NULL, "remove it from the store, with its events"},
    {"cancel", 0, NULL, "cancel it first if it has not ended"},
    F_MANY, F_VERSION, F_END,
};

static const struct fa_flag cron_set_flags[] = {
    {"timezone", 0, "ZONE", "the time zone, such as Europe/Berlin (default UTC)"},
    {"catch-up", 0, "WHAT", "missed times after a downtime: none (default), one or all",
     "none one all"},
    {"overlap", 0, "WHAT", "while the previous task has not ended: allow (default), skip or cancel",
     "allow skip cancel"},
    {"jitter", 0, "DURATION", "delay each task by a random time up to this"},
    {"paused", 0, NULL, "store it, but create no tasks"},
    {"name", 0, "TEXT", "a label for people (default: the type)"},
    {"priority", 'p', "N", "higher first (default 0)"},
    {"delay", 0, "DURATION", "delay each task by this long: 50ms, 90s, 5m, 1h, 2d"},
    {"max-attempts", 0, "N", "how many attempts (default 4; 0: no limit)"},
    F_RETRY,
    {"resource", 'r', "R", "a resource it uses while it is held; repeat, or list with commas", NULL,
     true, .takes = FA_TAKES_RESOURCE},
    F_METADATA, F_END,
};

static const struct fa_flag cron_next_flags[] = {
    {"count", 'n', "N", "how many (default 10)"},
    {"timezone", 0, "ZONE", "the zone of SCHEDULE (default UTC)"},
    F_END,
};

static const struct fa_flag doctor_flags[] = {
    {"broker-queue", 0, "A,B", "also show how many messages these queues have", NULL, true}, F_END,
};

static const struct fa_flag broker_flags[] = {
    {"limit", 0, "N", "keep at most this many messages (default 10000000)"}, F_END,
};

static const struct fa_flag resource_flags[] = {
    {"rate", 0, "N/TIME", "how many tasks may start in a time: 10/s, 600/m, 5000/day, 3/90s"},
    {"burst", 0, "N", "how many may start at once after a pause (default: the N of --rate)"}, F_END,
};

static const struct fa_flag type_flags[] = {
    {"max-attempts", 0, "N", "how many attempts (default 4; 0: no limit)"},
    F_RETRY,
    {"timeout", 0, "DURATION", "the longest run of one attempt (default: no limit)"},
    {"start-by", 0, "DURATION", "cancel tasks that were not started so long after their submit"},
    {"priority", 'p', "N", "higher first (default 0)"},
    {"resource", 'r', "R", "a resource that tasks use while they are held; repeat, or list with "
     "commas", NULL, true, .takes = FA_TAKES_RESOURCE},
    {"unhandled-after", 0, "DURATION",
     "fail tasks that no live worker could handle for so long (default: never)"},
    {"input-schema", 0, "JSON", "refuse inputs that this JSON Schema forbids; also @FILE",
     .takes = FA_TAKES_JSON},
    F_VERSION, F_END,
};

static const struct fa_flag team_create_flags[] = {
    {"id", 0, "UUID", "its id (default: a new one); a team with this id is changed"},
    {"spec", 0, "JSON", "settings of the team; also @FILE", .takes = FA_TAKES_JSON}, F_END,
};

static const struct fa_flag team_set_flags[] = {
    {"name", 0, "TEXT", "its new name"},
    {"spec", 0, "JSON", "settings of the team; also @FILE", .takes = FA_TAKES_JSON},
    F_END,
};

static const struct fa_flag emit_flags[] = {
    {"id", 0, "TEXT", "the event's id: a second event with it does nothing"}, F_END,
};

static const struct fa_flag workflow_test_flags[] = {
    {"match", 0, "EXPRESSION", "a match expression to try"},
    {"data", 0, "JSON", "the event's data to try it on; also @FILE, or - for stdin",
     .takes = FA_TAKES_JSON},
    {"last", 0, "DURATION", "replay the events of this period: 7d"},
    F_END,
};

static const struct fa_flag workflow_joins_flags[] = {
    {"key", 'k', "TEXT", "only for this key"}, F_END,
};

static const struct fa_flag token_flags[] = {
    {"scope", 0, "S,...", "what it allows", "read view submit work operate admin", true},
    {"expires", 0, "DURATION", "how long it is valid: 30d (default: no limit)"},
    {"name", 0, "TEXT", "a label for people"},
    F_END,
};

static const struct fa_flag revoke_flags[] = {
    {"force", 0, NULL, "also remove the last valid token"},
    F_END,
};

static const struct fa_flag serve_flags[] = {
    {"listen", 'l', "ADDRESS", "where to listen (default $FAINA_LISTEN, else 127.0.0.1:7070); "
     "also unix:PATH; repeat for several", NULL, true},
    {"workers", 0, "N", "how many tasks of the handlers folder to run at once (default: one per "
     "core if the folder exists)"},
    F_POOL,
    {"no-ui", 0, NULL, "no dashboard"},
    {"beanstalk", 0, "ADDRESS",
     "also speak the beanstalkd protocol there: 127.0.0.1:11300 or unix:PATH"},
    {"insecure", 0, NULL, "accept other machines without a token"},
    {"host", 0, "NAME", "another host name that clients may use for this server; repeat", NULL,
     true},
    {"tls-cert", 0, "FILE", "the certificate, in PEM", .takes = FA_TAKES_FILE},
    {"tls-key", 0, "FILE", "its key, in PEM", .takes = FA_TAKES_FILE},
    {"input-max", 0, "BYTES", "the largest input or output of a task (default 1048576)"},
    {"types-max", 0, "COUNT", "the most types that a namespace may have (default 100000)"},
    {"connections", 0, "N", "the most connections at once (default 20000, or as many as the limit "
     "of open files allows)"},
    {"connections-per-client", 0, "N", "the most connections of one address or token (default half "
     "of all; 0: no limit)"},
    {"waits-per-client", 0, "N", "the most streams and long polls of one address or token (default "
     "a quarter of all connections; 0: no limit)"},
    {"answers-max", 0, "BYTES", "memory for answers that clients have not read yet; above it the "
     "slowest clients are disconnected (default 268435456)"},
    {"answers-per-connection", 0, "BYTES", "a client with a larger answer is disconnected after 5 "
     "instead of 60 seconds without reading (default 16777216)"},
    {"drain", 0, "DURATION", "how long requests and tasks may take to finish on SIGTERM (default "
     "25s)"},
    F_RETENTION,
    {"print-api", 0, NULL, "print the page docs/api.md, and serve nothing"},
    F_END,
};

static const struct fa_flag history_flags[] = {
    {"from", 0, "TIME", "begin at this time; a duration counts back from now (default 1h)"},
    {"to", 0, "TIME", "end before this time (default: now)"},
    {"step", 0, "DURATION", "the length of a step, in whole minutes (default: by the range)"},
    F_END,
};

static const struct fa_flag stats_flags[] = {
    {"errors", 0, NULL, "count attempts that failed, by type and kind of error"}, F_END,
};

static const struct fa_flag failures_flags[] = {
    F_TYPE,
    {"since", 0, "TIME", "only groups with a failure since then; a duration counts back from now"},
    F_LIMIT, F_END,
};

static const struct fa_flag audit_flags[] = {
    {"who", 0, "NAME", "only acts with this token, or by this user"},
    {"act", 0, "ACT", "only these acts, such as cancel or 'resource set'"},
    {"target", 0, "TEXT", "only acts on this task, type or resource"},
    {"from", 0, "TIME", "only since then; a duration counts back from now"},
    {"to", 0, "TIME", "only before then"},
    F_LIMIT, F_CURSOR, F_END,
};

static const struct fa_flag verify_flags[] = {
    {"file", 0, "FILE", "check an export instead of the engine's entries", .takes = FA_TAKES_FILE},
    {"last", 0, "N:HASH", "the entry N must still be there, with this hash"},
    F_END,
};

static const struct fa_flag migrate_flags[] = {
    {"dry-run", 0, NULL, "only print what would be done"}, F_END,
};

static const struct fa_flag purge_flags[] = {
    {"older-than", 0, "DURATION", "ended longer ago than this: 7d"},
    {"status", 's', "S,...", "only tasks in these statuses", ENDS, true},
    F_TYPE,
    {"deleted", 0, NULL, "only tasks that rm has removed from view"},
    F_YES, F_END,
};

static const struct fa_flag backup_flags[] = {
    {"force", 0, NULL, "replace FILE if it exists"}, F_END,
};

#define WORKERS                                                                                    \
    "Lists registered workers. A worker without a heartbeat for 60 seconds "                       \
    "(FAINA_WORKER_TIMEOUT) is removed."
#define ID_EXAMPLE "0190c4a2-6f1e-7b3d-8a5c-1f2e3d4c5b6a"

const struct fa_verb fa_verbs[] = {
    {"submit", FA_GROUP_TASKS, "TYPE [INPUT|@FILE|-]", "store a task and print its id",
     "INPUT is JSON: the text itself, @FILE, or - for stdin. Only the id is printed; -o json "
     "prints the task. If the task already exists (--key, --dedupe), its id is printed again.\n"
     "With --bulk each line of FILE, or of stdin, is a JSON object with the fields namespace, "
     "type, name, input (or payload), metadata, spec, priority, maxAttempts, maxRetries, delay, "
     "runAt, idempotencyKey, dedupe, keyScope, onDuplicate, dependsOn, resources, retry, timeout, "
     "startBy, group, teamId and createdBy; TYPE is for lines without one, and a line with a name "
     "or an input needs none. Lines that are refused are reported with their number, and the "
     "others are stored.\n"
     "With --wait the exit code is 0 if the task completed, 1 if it ended otherwise, and 5 on a "
     "timeout.",
     "faina submit mail.send '{\"to\":\"ann@example.com\"}'\n"
     "faina submit report @report.json --priority 10 --delay 5m --key report-2030-01\n"
     "faina submit train '{}' --resource gpu --max-attempts 2 --wait --timeout 1h\n"
     "faina submit mail.send '{}' --max-attempts 10 --retry 1m,3,1d\n"
     "faina submit mail.send --bulk mails.jsonl",
     0, 2, fa_verb_submit, submit_flags, .takes = FA_TAKES_JSON, .first = FA_TAKES_TYPE,
     .makes_store = true},
    {"get", FA_GROUP_TASKS, "ID", "show a task", NULL,
     "faina get " ID_EXAMPLE "\n"
     "faina get --key order-17", 0, 1, fa_verb_get, get_flags},
    {"ls", FA_GROUP_TASKS, "", "list tasks, newest first",
     "Lists one namespace; --namespace '*' lists all.",
     "faina ls --status failed,dead_letter\n"
     "faina ls --type mail.send --after 1h -o jsonl", 0, 0, fa_verb_ls, ls_flags},
    {"children", FA_GROUP_TASKS, "ID", "list the subtasks of a task, oldest first", NULL, NULL,
     1, 1, fa_verb_children, page_flags},
    {"events", FA_GROUP_TASKS, "ID", "show the events of a task, newest first", NULL, NULL,
     1, 1, fa_verb_events, limit_flags},
    {"logs", FA_GROUP_TASKS, "ID", "print the stderr output of a task's handler",
     "The last 64 KiB of each attempt, oldest first. Attempts are numbered from the first one on, "
     "even if retry has reset their count. The log of an attempt that runs is stored every second; "
     "with --follow it is printed as it grows.",
     "faina logs " ID_EXAMPLE "\n"
     "faina logs " ID_EXAMPLE " --attempt 2 | grep -i error", 1, 1, fa_verb_logs, logs_flags},
    {"result", FA_GROUP_TASKS, "ID", "print the output of a completed task",
     "The exit code is 4 if the task has not ended, or did not complete.",
     "faina result " ID_EXAMPLE " | jq .url", 1, 1, fa_verb_result, NULL},
    {"wait", FA_GROUP_TASKS, "ID", "wait until a task has ended, then show it",
     "The exit code is 0 if it completed, 1 if it ended otherwise, and 5 on a timeout.",
     "faina wait " ID_EXAMPLE " --timeout 30s", 1, 1, fa_verb_wait, timeout_flags},
    {"watch", FA_GROUP_TASKS, "", "show changes as they happen, until Ctrl-C",
     "On a terminal a table is redrawn, with the held tasks first; otherwise each new or changed "
     "task is printed as a line of JSON. Follows the newest tasks that match the flags (--limit, "
     "default 1000).",
     "faina watch --status running,failed\n"
     "faina watch -o jsonl | jq -r '.status + \" \" + .id'", 0, 0, fa_verb_watch, watch_flags},
    {"explain", FA_GROUP_TASKS, "ID", "explain why a task is not running", NULL, NULL,
     1, 1, fa_verb_explain, NULL},

    {"graph", FA_GROUP_TASKS, "ID", "show the tasks that are connected with a task",
     "Its parent and subtasks, what it depends on and what depends on it, the task whose end has "
     "created it, and what its own end has created, up to --depth steps away, and at most 200 "
     "tasks.", "faina graph " ID_EXAMPLE " --depth 1", 1, 1, fa_verb_graph, graph_flags},

    {"claim", FA_GROUP_WORK, "[ID] --worker W", "claim the next task, or this one",
     "Highest priority first, then oldest. If there is nothing to claim, the list is empty and the "
     "exit code is 0. Claims from one namespace; --namespace '*' claims from all.",
     "faina claim --worker me --types mail.send --limit 10\n"
     "faina claim " ID_EXAMPLE " --worker me", 0, 1, fa_verb_claim, claim_flags,
     .makes_store = true},
    {"start", FA_GROUP_WORK, "ID --worker W", "mark a task as running",
     "A pending task is claimed first.", NULL, 1, 1, fa_verb_start, start_flags},
    {"complete", FA_GROUP_WORK, "ID [OUTPUT|@FILE|-] --worker W", "complete a task",
     "OUTPUT is JSON. A task that no worker holds (background) needs no --worker.",
     "faina complete " ID_EXAMPLE " '{\"pages\":12}' --worker me",
     1, 2, fa_verb_complete, by_flags, .takes = FA_TAKES_JSON},
    {"fail", FA_GROUP_WORK, "ID --error TEXT --worker W", "fail the current attempt of a task",
     "The task is retried after a backoff, or at --retry-after. It ends as dead_letter when no "
     "attempt is left, or as failed with --permanent.",
     "faina fail " ID_EXAMPLE " --error 'no such host' --worker me",
     1, 1, fa_verb_fail, fail_flags},
    {"progress", FA_GROUP_WORK, "ID [PERCENT] [STATE] --worker W", "report the progress of a task",
     "Also renews the lease. PERCENT is 0 to 100, or - to leave it unchanged.",
     "faina progress " ID_EXAMPLE " 40 decoding --worker me",
     1, 3, fa_verb_progress, progress_flags},
    {"heartbeat", FA_GROUP_WORK, "ID... --worker W", "renew the leases of held tasks",
     "Prints for each task whether it is still held; the exit code is that of the first one that "
     "is not.",
     NULL, 1, -1, fa_verb_heartbeat, heartbeat_flags},
    {"block", FA_GROUP_WORK, "ID SUBTASKS|@FILE|- --worker W", "block a task on new subtasks",
     "SUBTASKS is a JSON array of objects as for submit --bulk. One transaction stores them and "
     "blocks the task; it is pending again when they have all ended.",
     "faina block " ID_EXAMPLE " '[{\"type\":\"page\",\"input\":1}]' --worker me",
     2, 2, fa_verb_block, block_flags, .takes = FA_TAKES_JSON},
    {"background", FA_GROUP_WORK, "ID --worker W", "let a running task continue without a worker",
     "No worker holds it from then on; complete or fail without --worker ends it. --reason says "
     "what it waits for.", NULL,
     1, 1, fa_verb_background, background_flags},
    {"release", FA_GROUP_WORK, "ID --worker W", "release a claimed task that was not started",
     "The attempt doesn't count.", NULL, 1, 1, fa_verb_release, by_flags},
    {"snooze", FA_GROUP_WORK, "ID --for DURATION --worker W",
     "make a held task pending for a while",
     "For work that can't be done yet. The attempt doesn't count.",
     "faina snooze " ID_EXAMPLE " --for 10m --worker me", 1, 1, fa_verb_snooze, snooze_flags},

    {"worker", FA_GROUP_WORK, "", "run a worker pool for the handlers folder",
     "An executable DIR/TYPE handles tasks of the type TYPE; see docs/handlers.md. Runs until "
     "SIGTERM or Ctrl-C, then finishes the running tasks and releases the others. A SQLite file is "
     "served on FILE.sock, for other processes of the same user.\n"
     "CHECK is tcp:HOST:PORT, or a command that exits with 0. Handles tasks of all namespaces "
     "unless --namespace is given. The log goes to stderr ($FAINA_LOG: error, warn, info, debug).",
     "faina worker --concurrency 8\n"
     "faina worker --types image.resize --service gpu=nvidia-smi\n"
     "faina worker --service ollama=tcp:localhost:11434",
     0, 0, fa_verb_worker, worker_flags, .makes_store = true},
    {"worker ls", FA_GROUP_ADMIN, "[ID]", "list live workers, newest heartbeat first",
     WORKERS, "faina worker ls", 0, 1, fa_verb_worker_list, NULL},

    {"cancel", FA_GROUP_MANAGE, "ID... | --all", "cancel tasks and their subtasks",
     "With --all, every task that has not ended and matches --status, --type and --where: prints "
     "how many there are and asks for confirmation. Without a terminal it needs --yes, or y or yes "
     "on stdin. The engine does the work in an operation of its own (see operations), which goes "
     "on when this program is ended.",
     "faina cancel " ID_EXAMPLE "\n"
     "faina cancel --all --type mail.send --status pending", 0, -1, fa_verb_cancel, cancel_flags},
    {"retry", FA_GROUP_MANAGE, "ID... | --all", "queue ended or held tasks again",
     "Attempts start at 0 again unless --keep-attempts is given. --all selects failed and "
     "dead_letter, unless --status is given.",
     "faina retry --all --status dead_letter --yes\n"
     "faina retry --all --where errorKind=timeout --dry-run", 0, -1, fa_verb_retry, retry_flags},
    {"update", FA_GROUP_MANAGE, "ID... | --all", "change tasks that wait",
     "Of a pending or blocked task. --metadata also changes that of a task that is held; it is "
     "merged (RFC 7396). --all selects pending and blocked, unless --status is given.",
     "faina update " ID_EXAMPLE " --priority 10 --run-at now\n"
     "faina update --all --type mail.send --priority 10", 0, -1, fa_verb_update, update_flags},
    {"promote", FA_GROUP_MANAGE, "ID...", "make delayed tasks ready now",
     "The same as update --run-at now.", NULL, 1, -1, fa_verb_promote, version_flags},
    {"rm", FA_GROUP_MANAGE, "ID... | --all", "remove ended tasks from view",
     "Their keys can be used again. The rows stay in the store until db purge; --purge removes "
     "them at once.",
     "faina rm --all --status completed --purge", 0, -1, fa_verb_rm, rm_flags},
    {"operations", FA_GROUP_MANAGE, "", "list operations on many tasks",
     "The same as operations ls.", NULL, 0, 0, fa_verb_operations_ls, NULL},
    {"operations ls", FA_GROUP_MANAGE, "", "list operations on many tasks",
     "What --all of other verbs and the API have started, the newest first. Ended ones are removed "
     "after 30 days.",
     NULL, 0, 0, fa_verb_operations_ls, NULL},
    {"operations get", FA_GROUP_MANAGE, "ID", "show an operation on many tasks", NULL, NULL,
     1, 1, fa_verb_operations_get, NULL},
    {"operations cancel", FA_GROUP_MANAGE, "ID", "stop an operation on many tasks",
     "What it has done stays.", NULL, 1, 1, fa_verb_operations_cancel, NULL},

    {"pause", FA_GROUP_ADMIN, "TYPE", "stop claims of a type's tasks", NULL, NULL,
     1, 1, fa_verb_pause, NULL, .takes = FA_TAKES_TYPE, .makes_store = true},
    {"resume", FA_GROUP_ADMIN, "TYPE", "allow claims of a type's tasks again", NULL, NULL,
     1, 1, fa_verb_resume, NULL, .takes = FA_TAKES_TYPE},
    {"broker on", FA_GROUP_ADMIN, "", "store messages for a broker",
     "From now on each task that becomes ready or ends stores a message, which a node with "
     "$FAINA_BROKER publishes (docs/rabbitmq.md). Such a node switches it on itself when it "
     "starts.",
     NULL, 0, 0, fa_verb_broker_on, broker_flags},
    {"broker off", FA_GROUP_ADMIN, "", "store no messages for a broker",
     "Those that are stored are still published.", NULL, 0, 0, fa_verb_broker_off, NULL},
    {"broker status", FA_GROUP_ADMIN, "", "show how many messages wait for a broker", NULL, NULL,
     0, 0, fa_verb_broker_status, NULL},
    {"redact ls", FA_GROUP_ADMIN, "", "list the paths of values that servers don't show", NULL,
     NULL, 0, 0, fa_verb_redact_ls, NULL},
    {"redact set", FA_GROUP_ADMIN, "PATH...", "hide values of payloads in answers of servers",
     "A path is names with dots between, * for any name. A value whose path ends so, at any depth, "
     "is shown as \"[redacted]\". Workers get it. The paths replace those that were set before.",
     "faina redact set password '*.secret'", 1, FA_REDACT_PATHS_MAX, fa_verb_redact_set, NULL,
     .makes_store = true},
    {"redact rm", FA_GROUP_ADMIN, "", "show all values again", NULL, NULL,
     0, 0, fa_verb_redact_rm, NULL},
    {"resource ls", FA_GROUP_ADMIN, "[NAME]", "list resources, their limits and holders", NULL,
     NULL, 0, 1, fa_verb_resource_ls, NULL, .takes = FA_TAKES_RESOURCE},
    {"resource set", FA_GROUP_ADMIN, "NAME N", "limit how many tasks use a resource at once",
     "N is a number, or none (or null) for no limit. With --rate also how many may start in a "
     "time, on all nodes together; without, a rate is removed. A NAME that ends in * sets the "
     "limits of each resource that begins with the rest of it and has none of its own.",
     "faina resource set gpu 2\nfaina resource set smtp 5 --rate 10/s --burst 20\n"
     "faina resource set 'mail:*' none --rate 10/s",
     2, 2, fa_verb_resource_set, resource_flags, .first = FA_TAKES_RESOURCE, .makes_store = true},
    {"resource rm", FA_GROUP_ADMIN, "NAME", "remove the limit of a resource", NULL, NULL,
     1, 1, fa_verb_resource_rm, NULL, .takes = FA_TAKES_RESOURCE},
    {"type ls", FA_GROUP_ADMIN, "[TYPE]", "list the policies of types, or of one", NULL, NULL,
     0, 1, fa_verb_type_ls, NULL, .takes = FA_TAKES_TYPE},
    {"type set", FA_GROUP_ADMIN, "TYPE", "set the policies of a type",
     "They apply to tasks whose submit leaves them open. Priority, resources and --start-by apply "
     "when a task is submitted, the others when they are needed. Policies that are not given are "
     "removed.",
     "faina type set mail.send --max-attempts 10 --retry 30s,2,6h --timeout 1m\n"
     "faina type set report.make --unhandled-after 1h", 1, 1, fa_verb_type_set, type_flags,
     .takes = FA_TAKES_TYPE, .makes_store = true},
    {"type rm", FA_GROUP_ADMIN, "TYPE...", "remove the policies of types",
     "The defaults apply again.", NULL, 1, -1, fa_verb_type_rm, NULL,
     .takes = FA_TAKES_TYPE},
    {"team ls", FA_GROUP_ADMIN, "", "list teams", NULL, NULL, 0, 0, fa_verb_team_ls, NULL},
    {"team get", FA_GROUP_ADMIN, "ID", "show a team", NULL, NULL, 1, 1, fa_verb_team_get, NULL},
    {"team create", FA_GROUP_ADMIN, "NAME", "create a team and print its id", NULL,
     "faina team create billing --spec '{\"room\":12}'",
     1, 1, fa_verb_team_create, team_create_flags, .makes_store = true},
    {"team set", FA_GROUP_ADMIN, "ID", "change a team", "A flag that is not given changes nothing.",
     NULL,
     1, 1, fa_verb_team_set, team_set_flags},
    {"team rm", FA_GROUP_ADMIN, "ID", "remove a team; its tasks stay", NULL, NULL,
     1, 1, fa_verb_team_rm, NULL},
    {"cron ls", FA_GROUP_ADMIN, "[NAME]", "list schedules, or show one", NULL, NULL,
     0, 1, fa_verb_cron_ls, NULL, .takes = FA_TAKES_SCHEDULE},
    {"cron set", FA_GROUP_ADMIN, "NAME SCHEDULE TYPE [INPUT]", "create a task periodically",
     "SCHEDULE has 5 fields (minute, hour, day of the month, month, day of the week), or 6 with "
     "seconds before them, or is a word such as @daily or @every 90s. An existing schedule is "
     "replaced completely. Each time creates one task, with the key cron:NAME:TIME.",
     "faina cron set report '0 3 * * MON-FRI' report.make '{\"days\":1}' --timezone Europe/Berlin",
     3, 4, fa_verb_cron_set, cron_set_flags, .takes = FA_TAKES_JSON, .first = FA_TAKES_SCHEDULE,
     .makes_store = true},
    {"cron pause", FA_GROUP_ADMIN, "NAME...", "pause schedules",
     "A paused schedule creates no tasks, except by cron run.", NULL,
     1, -1, fa_verb_cron_pause, NULL, .takes = FA_TAKES_SCHEDULE},
    {"cron resume", FA_GROUP_ADMIN, "NAME...", "resume schedules",
     "The next task is created at the next time; times missed during the pause are skipped.", NULL,
     1, -1, fa_verb_cron_resume, NULL, .takes = FA_TAKES_SCHEDULE},
    {"cron rm", FA_GROUP_ADMIN, "NAME...", "remove schedules; their tasks stay", NULL,
     NULL, 1, -1, fa_verb_cron_rm, NULL, .takes = FA_TAKES_SCHEDULE},
    {"cron run", FA_GROUP_ADMIN, "NAME", "create the task of a schedule now, once",
     "Also if it is paused. Prints the task's id.", NULL, 1, 1, fa_verb_cron_run, NULL,
     .takes = FA_TAKES_SCHEDULE},
    {"cron next", FA_GROUP_ADMIN, "NAME | SCHEDULE", "show the next times of a schedule",
     "A NAME is looked up in the store; a SCHEDULE needs no engine.",
     "faina cron next report\n"
     "faina cron next '*/15 9-17 * * MON-FRI' --timezone America/New_York --count 5",
     1, 1, fa_verb_cron_next, cron_next_flags, .takes = FA_TAKES_SCHEDULE},
    {"worker-list", FA_GROUP_ADMIN, "[ID]", "list live workers, as worker ls does", WORKERS, NULL,
     0, 1, fa_verb_worker_list, NULL},

    {"emit", FA_GROUP_ADMIN, "TYPE [DATA|@FILE|-]", "emit an event",
     "DATA is a JSON object. Every enabled trigger on TYPE whose condition is true creates its "
     "task, all in one transaction. Prints the ids of the tasks on a terminal, and {id, tasks, "
     "failures} as JSON otherwise. A trigger that can't create its task is reported and doesn't "
     "stop the others; the exit code is 1 then.",
     "faina emit object.created '{\"mimeType\":\"audio/mpeg\",\"hash\":\"f00\"}' --id upload-17",
     1, 2, fa_verb_emit, emit_flags, .takes = FA_TAKES_JSON, .makes_store = true},
    {"workflow ls", FA_GROUP_ADMIN, "", "list workflows", NULL, NULL,
     0, 0, fa_verb_workflow_ls, NULL},
    {"workflow get", FA_GROUP_ADMIN, "NAME", "print the definition of a workflow, as JSON", NULL,
     NULL, 1, 1, fa_verb_workflow_get, NULL, .takes = FA_TAKES_WORKFLOW},
    {"workflow apply", FA_GROUP_ADMIN, "FILE...", "store workflows",
     "FILE is YAML (.yaml, .yml) or JSON (.json), or - for stdin. All errors in all files are "
     "reported, each with its line and column, and nothing is stored then. A definition that is "
     "already stored is not changed.",
     "faina workflow apply content.yaml",
     1, -1, fa_verb_workflow_apply, NULL, .takes = FA_TAKES_FILE, .makes_store = true},
    {"workflow rm", FA_GROUP_ADMIN, "NAME...", "remove workflows",
     "Tasks that they created stay. Joins in progress are removed.", NULL,
     1, -1, fa_verb_workflow_rm, NULL, .takes = FA_TAKES_WORKFLOW},
    {"workflow enable", FA_GROUP_ADMIN, "NAME...", "enable workflows", NULL, NULL,
     1, -1, fa_verb_workflow_enable, NULL, .takes = FA_TAKES_WORKFLOW},
    {"workflow disable", FA_GROUP_ADMIN, "NAME...", "disable workflows",
     "Members of joins in progress are kept. workflow apply sets what the definition contains.",
     NULL,
     1, -1, fa_verb_workflow_disable, NULL, .takes = FA_TAKES_WORKFLOW},
    {"workflow joins", FA_GROUP_ADMIN, "[NAME]", "show what joins wait for", NULL, NULL,
     0, 1, fa_verb_workflow_joins, workflow_joins_flags, .takes = FA_TAKES_WORKFLOW},
    {"workflow test", FA_GROUP_ADMIN, "[FILE]", "try a definition or a match expression",
     "With FILE the definition is checked. With --last, too, the stored events are replayed: the "
     "tasks that its triggers would have created are counted in a table or a JSON object, or "
     "printed as lines with -o jsonl. No task is created.\n"
     "With --match and --data: prints true or false, and the clause that decided.",
     "faina workflow test --match \"size > 10 AND kind = 'a'\" --data '{\"size\":12}'\n"
     "faina workflow test content.yaml --last 7d",
     0, 1, fa_verb_workflow_test, workflow_test_flags, .takes = FA_TAKES_FILE},
    {"workflow why", FA_GROUP_ADMIN, "EVENT-ID", "explain which triggers match an event",
     "For each trigger on its type, by the current definitions: matched or not, and the clause "
     "that decided.", NULL, 1, 1, fa_verb_workflow_why, NULL},

    {"token create", FA_GROUP_ADMIN, "--scope S,...", "create a token for the HTTP interface",
     "Prints the token once: the store contains only its hash. The scopes are read; view, "
     "which reads without payloads; submit (also to cancel tasks that the token submitted); work; "
     "operate (cancel, retry, delete, pause, run a schedule); and admin, which includes the "
     "others. With --namespace the token is for that namespace only; several are separated by "
     "commas. As soon as there is a token, the server requires one in every request.",
     "faina token create --scope read,submit --namespace shop --expires 30d",
     0, 0, fa_verb_token_create, token_flags, .makes_store = true},
    {"token ls", FA_GROUP_ADMIN, "", "list tokens", NULL, NULL, 0, 0, fa_verb_token_ls, NULL},
    {"token revoke", FA_GROUP_ADMIN, "ID...", "remove tokens",
     "A running server notices within seconds. Removing the last valid token needs --force: "
     "afterwards no other machine has access. A server that listens on this machine only removes "
     "it without --force, and then requires no token.",
     NULL, 1, -1, fa_verb_token_revoke, revoke_flags},

    {"serve", FA_GROUP_OPERATE, "", "serve the HTTP interface, until SIGTERM or Ctrl-C",
     "Without a stored token it listens on this machine only, and requires none. SIGTERM and "
     "Ctrl-C finish running requests and tasks; SIGHUP reloads certificates and tokens. A SQLite "
     "file is also served on FILE.sock, for other processes of the same user.",
     "faina serve\n"
     "faina serve --url sqlite:/var/lib/faina/faina.db --listen 127.0.0.1:8080\n"
     "faina serve --listen 0.0.0.0:7070 --tls-cert cert.pem --tls-key key.pem",
     0, 0, fa_verb_serve, serve_flags, .makes_store = true},
    {"stats", FA_GROUP_OPERATE, "", "count tasks by status and type",
     "Counts one namespace; --namespace '*' counts all. With --errors it counts attempts that "
     "failed, by type and kind of error, with the most frequent message of each, where # is a "
     "number or an id, and … is quoted text; faina failures lists the messages.",
     "faina stats\n"
     "faina stats --errors", 0, 0, fa_verb_stats, stats_flags},
    {"history", FA_GROUP_OPERATE, "[TYPE]", "what was submitted and ended, over time",
     "A line for each type, with the completed tasks of each step as bars; with TYPE, a line for "
     "each step. "
     "Minutes are kept for 72 hours, hours for 90 days.",
     "faina history\n"
     "faina history mail.send --from 1d --step 1h", 0, 1, fa_verb_history, history_flags,
     .takes = FA_TAKES_TYPE},
    {"failures", FA_GROUP_OPERATE, "", "list groups of failures that are alike",
     "Attempts that failed, by type, kind and message, where # is a number or an id, and … is "
     "quoted text; the largest group first. Lists one namespace; --namespace '*' lists all.",
     "faina failures --since 1h\n"
     "faina failures --type mail.send -o jsonl", 0, 0, fa_verb_failures, failures_flags},
    {"audit ls", FA_GROUP_OPERATE, "", "list who did what, newest first",
     "Administrative acts, and what people did to tasks: every act without a worker. An entry has "
     "the name of the token, or of the user of the command line, and the reason that --reason has "
     "given.",
     "faina audit ls --from 1d\n"
     "faina audit ls --act cancel --who ci -o jsonl", 0, 0, fa_verb_audit_ls, audit_flags},
    {"audit verify", FA_GROUP_OPERATE, "", "check that no entry was changed or removed",
     "Each entry has the hash of the one before. Names each entry that was changed, removed or "
     "inserted; the exit code is 1 then. Prints the number of entries and the last hash: kept "
     "elsewhere, and given as --last later, they show that the whole chain was not made anew.",
     "faina audit verify\n"
     "faina audit verify --file audit.jsonl", 0, 0, fa_verb_audit_verify, verify_flags},
    {"audit export", FA_GROUP_OPERATE, "", "print all entries as JSON lines, oldest first", NULL,
     "faina audit export >audit.jsonl", 0, 0, fa_verb_audit_export, NULL},
    {"db status", FA_GROUP_OPERATE, "", "show the store: version, size, migrations", NULL, NULL,
     0, 0, fa_verb_db_status, NULL},
    {"db migrate", FA_GROUP_OPERATE, "", "migrate the store to the current schema",
     "Every other verb does the same when it opens the store; this one prints the migrations. With "
     "--dry-run on PostgreSQL it prints the SQL, to be applied with psql.",
     "faina db migrate --dry-run --url postgres://faina@db.example.com/faina > schema.sql",
     0, 0, fa_verb_db_migrate, migrate_flags, .makes_store = true},
    {"db copy", FA_GROUP_OPERATE, "FROM TO", "copy a store into another one",
     "FROM and TO are URLs, sqlite:PATH or postgres://..., in any combination. All tasks are "
     "copied with their ids, events, keys, limits and times; workers are not. TO must be empty. "
     "The same command resumes an interrupted copy; until it is complete, TO can't be opened. At "
     "the end both sides are compared.",
     "faina db copy sqlite:faina.db postgres://faina@db.example.com/faina",
     2, 2, fa_verb_db_copy, NULL, .takes = FA_TAKES_URL},
    {"db purge", FA_GROUP_OPERATE, "", "remove ended tasks from the store permanently",
     "Without flags, the tasks that rm has removed from view; with flags, all ended tasks that "
     "match. In all namespaces unless --namespace is given. Asks for confirmation on a terminal; "
     "without one it needs --yes.",
     "faina db purge --older-than 7d --status completed --yes",
     0, 0, fa_verb_db_purge, purge_flags},
    {"backup", FA_GROUP_OPERATE, "FILE", "copy a SQLite store to a file while it is in use",
     "FILE is a snapshot of the store at the start of the backup, and is a store itself. It is "
     "opened and checked before it is renamed to FILE, so FILE is never incomplete. The backup "
     "blocks no other operation. A store that faina serve has open, or the store of an http URL, "
     "is copied by its server, which needs a token with the scope admin. For PostgreSQL use "
     "pg_dump.",
     "faina backup faina-$(date +%F).db\n"
     "faina backup faina.backup --url https://tasks.example.com",
     1, 1, fa_verb_backup, backup_flags, .takes = FA_TAKES_FILE},
    {"restore", FA_GROUP_OPERATE, "FILE", "create a new store from a backup",
     "FILE is checked, and refused if it is damaged or not a backup. The store that --url names "
     "must not exist yet. Tasks that were held during the backup can be claimed again when their "
     "leases have expired.",
     "faina restore faina-2030-01-31.db --url sqlite:new.db",
     1, 1, fa_verb_restore, NULL, .takes = FA_TAKES_FILE},
    {"bench", FA_GROUP_OPERATE, "[FLAGS]", "run the benchmarks (the program faina-bench)", NULL,
     NULL,
     0, -1, fa_verb_bench, NULL, NULL, true},
    {"doctor", FA_GROUP_OPERATE, "", "check the store and the environment",
     "The exit code is 1 if there is an error. A file that another process owns is not checked. "
     "With $FAINA_BROKER it also checks the broker.",
     NULL, 0, 0, fa_verb_doctor, doctor_flags},
    {"version", FA_GROUP_OPERATE, "", "show the version", NULL, NULL, 0, 0, fa_verb_version, NULL},
    {"completion", FA_GROUP_OPERATE, "bash|zsh|fish", "print a completion script for a shell", NULL,
     "source <(faina completion bash)\n"
     "faina completion fish > ~/.config/fish/completions/faina.fish",
     1, 1, fa_verb_completion, NULL, "bash zsh fish"},
    {"help", FA_GROUP_OPERATE, "[VERB]", "show help about a verb", NULL, NULL,
     0, 2, fa_verb_help, NULL},
};
/* clang-format on */

const size_t fa_verb_count = FA_COUNT(fa_verbs);

const char *fa_verb_group_title(enum fa_verb_group group)
{
    static const char *const titles[FA_GROUP_COUNT] = {
        [FA_GROUP_TASKS] = "Submit and read", [FA_GROUP_WORK] = "Work",
        [FA_GROUP_MANAGE] = "Manage",         [FA_GROUP_ADMIN] = "Administer",
        [FA_GROUP_OPERATE] = "Operate",
    };

    return titles[group];
}

static const struct fa_flag *find_flag(const struct fa_flag *flags, const char *name, char letter)
{
    for (; flags && flags->name; flags++)
        if (name ? strcmp(flags->name, name) == 0 : flags->letter == letter)
            return flags;
    return NULL;
}

const struct fa_flag *fa_verb_flag(const struct fa_verb *verb, const char *name)
{
    const struct fa_flag *flag = find_flag(verb->flags, name, 0);

    return flag ? flag : find_flag(fa_common_flags, name, 0);
}

const struct fa_flag *fa_verb_letter(const struct fa_verb *verb, char letter)
{
    const struct fa_flag *flag = find_flag(verb->flags, NULL, letter);

    return flag ? flag : find_flag(fa_common_flags, NULL, letter);
}

const struct fa_verb *fa_verb_find(const char *name)
{
    for (size_t i = 0; i < fa_verb_count; i++)
        if (strcmp(fa_verbs[i].name, name) == 0)
            return &fa_verbs[i];
    return NULL;
}

bool fa_verb_is_noun(const char *word)
{
    size_t len = strlen(word);

    for (size_t i = 0; i < fa_verb_count; i++)
        if (strncmp(fa_verbs[i].name, word, len) == 0 && fa_verbs[i].name[len] == ' ')
            return true;
    return false;
}
