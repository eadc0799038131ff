// Made by web/types.mjs from /openapi.json; tools/print-web-types makes it again.
export interface Schemas {
  "Acts": {
    /** What is done, in this order */
    items?: ({
      /** The task */
      id: string;
      /** The word that the route of the act ends with */
      act: "claim" | "start" | "complete" | "fail" | "progress" | "heartbeat" | "block" | "background" | "release" | "snooze" | "note" | "amend" | "subtask";
      /** The body that the route of the act takes */
      body?: Record<string, any>;
    })[];
  };
  "Amend": {
    /** The worker that holds the task */
    workerId?: string;
    /** The fence of the claim; refuses the request of an earlier claim */
    fence?: number;
    /** What the submit has left open */
    task?: {
      /** Maximum number of attempts; 4 by default, 0 is no limit */
      maxAttempts?: number;
      /** Maximum number of attempts after the first */
      maxRetries?: number;
      /** Names of the resources that the task uses while a worker holds it */
      resources?: (string)[];
      /** How long the task waits after a failed attempt */
      retry?: Schemas["RetryPolicy"];
    };
  };
  "Attempt": {
    /** Its number among those that are listed */
    number: number;
    /** Its worker */
    workerId: string | null;
    /** When it was claimed */
    claimedAt: string | null;
    /** When work began */
    startedAt: string | null;
    /** When it ended; null: it has not */
    endedAt: string | null;
    /** The event that ended it */
    outcome: string | null;
  };
  "Audit": {
    /** The entries */
    items: ({
      /** 1, 2, 3, ... without gaps */
      id: number;
      /** When it was done */
      at: string;
      /** The name of the token, or of the user of the command line; null: a request without a token */
      who: string | null;
      /** What was done */
      act: string;
      /** To which task, type, resource ... */
      target: string | null;
      /** Why, if it was given */
      reason: string | null;
      /** The request that did it */
      requestId: string | null;
      /** `hash` of the entry before */
      previousHash: string | null;
      /** SHA-256 of the other members (docs/audit.md) */
      hash: string;
    })[];
    /** Where the list goes on; null: this was the last page */
    nextCursor: string | null;
    /** Entries, as counted outside of the chain */
    total: number;
    /** `hash` of the last entry, as stored outside of the chain */
    lastHash: string | null;
  };
  "Background": {
    /** The worker that holds the task */
    workerId?: string;
    /** The fence of the claim; refuses the request of an earlier claim */
    fence?: number;
    /** What runs in the background */
    reason?: string;
    /** When it has not ended after this, the attempt has failed; 1 hour by default */
    timeout?: string | number;
  };
  "Backtest": {
    /** The workflow */
    name: string;
    /** The events since this time */
    since: string;
    /** How many were evaluated */
    events: number;
    /** There are more events */
    truncated: boolean;
    /** The difference */
    counts: Schemas["BacktestCounts"];
    /** By trigger */
    triggers: (Schemas["BacktestTrigger"])[];
    /** Tasks that only the definition would create */
    added: (Schemas["BacktestDifference"])[];
    /** Tasks that only were created */
    missing: (Schemas["BacktestDifference"])[];
    /** Tasks that it would create in another way */
    changed: (Schemas["BacktestDifference"])[];
  };
  "BacktestBody": {
    /** The definition of a workflow: an object, or its text as YAML */
    definition: any;
    /** How far back events are evaluated; 24h by default */
    last?: string | number;
  };
  "BacktestCounts": {
    /** Tasks that were created as the definition would */
    same: number;
    /** Tasks that only the definition would create */
    added: number;
    /** Tasks that only were created */
    missing: number;
    /** Tasks that the definition would create in another way */
    changed: number;
    /** Tasks of these events that are deleted, and so not compared */
    gone: number;
  };
  "BacktestDifference": {
    /** The event */
    eventId: string;
    /** The trigger */
    trigger: string;
    /** The task that was created; null: none */
    taskId: string | null;
    /** The body of the submit that the definition makes; null: none */
    task: any;
  };
  "BacktestTrigger": {
    /** The trigger */
    name: string;
    /** Its type of events */
    on: string;
    /** Events of that type */
    events: number;
    /** Tasks that it would have created */
    tasks: number;
    /** Events for which it can't create its task */
    failed: number;
    /** Why, for the first of them */
    failure: string | null;
  };
  /** application/vnd.sqlite3 */
  "Backup": string;
  "Batch": {
    /** The tasks to make */
    tasks: (Schemas["Submit"])[];
  };
  "BatchAnswer": {
    /** Result of each item, in request order */
    items: ({
      /** The task */
      id: string;
      /** The key is in use: this is the first task */
      existing: boolean;
      /** That task has another input */
      inputMismatch?: boolean;
    } | Schemas["Problem"])[];
  };
  "Block": {
    /** The worker that holds the task */
    workerId?: string;
    /** The fence of the claim; refuses the request of an earlier claim */
    fence?: number;
    /** The task goes on when the first subtask fails, not only when all have ended */
    failFast?: boolean;
    /** The tasks that it waits for */
    subtasks: (Schemas["Submit"])[];
  };
  "Broker": {
    /** Whether messages for a broker are stored */
    on: boolean;
    /** With more messages than this the oldest are dropped */
    limit: number;
    /** Messages that the broker has not confirmed; above 10,000 an estimate */
    depth: number;
    /** When the first of them was stored */
    oldestAt: string | null;
    /** How many messages no queue was bound for, so far */
    unroutable: number;
    /** How many messages were dropped, so far */
    dropped: number;
    /** The node that publishes, where several nodes share the store */
    publisher: string | null;
  };
  "BrokerBody": {
    /** Whether messages for a broker are stored */
    on: boolean;
    /** With more messages than this the oldest are dropped; as it is by default */
    limit?: number;
    /** Why, for the audit */
    reason?: string;
  };
  "BulkCancel": {
    /** Which tasks */
    filter: Schemas["Filter"];
    /** Only count the tasks: the answer is `{matched}` */
    dryRun?: boolean;
    /** Why, for the people who read the operation later */
    reason?: string;
  };
  "BulkDelete": {
    /** Which tasks */
    filter: Schemas["Filter"];
    /** Only count the tasks: the answer is `{matched}` */
    dryRun?: boolean;
    /** Why, for the people who read the operation later */
    reason?: string;
    /** Cancel tasks that have not ended first */
    cancel?: boolean;
    /** Remove the rows too */
    purge?: boolean;
  };
  "BulkRetry": {
    /** Which tasks */
    filter: Schemas["Filter"];
    /** Only count the tasks: the answer is `{matched}` */
    dryRun?: boolean;
    /** Why, for the people who read the operation later */
    reason?: string;
    /** Attempts are counted from 0 again; true by default */
    resetAttempts?: boolean;
  };
  "BulkUpdate": {
    /** Which tasks */
    filter: Schemas["Filter"];
    /** Only count the tasks: the answer is `{matched}` */
    dryRun?: boolean;
    /** Why, for the people who read the operation later */
    reason?: string;
    /** What to change, as `PATCH /tasks/{id}` takes it */
    set: Schemas["Update"];
  };
  "Cancel": {
    /** The worker that holds the task */
    workerId?: string;
    /** Why, for the audit */
    reason?: string;
  };
  "Claim": {
    /** The worker that holds the task */
    workerId: string;
    /** How long the lease lasts from now; 30 seconds by default */
    leaseSeconds?: string | number;
    /** Refuse a task that is delayed, or whose type is paused, as a claim of the next tasks does: 400 `invalid_transition` */
    ifReady?: boolean;
  };
  "Claims": {
    /** The worker that will hold the tasks */
    workerId: string;
    /** Only tasks of these types; any by default */
    types?: (string)[];
    /** Only tasks of these namespaces; all that the token reaches by default */
    namespaces?: (string)[];
    /** The services that are up here; a task that needs another one stays in line */
    services?: (string)[];
    /** The most tasks to claim; 1 by default */
    limit?: number;
    /** How long each lease lasts; 30 seconds by default */
    leaseSeconds?: string | number;
    /** How long to wait for a task when there is none; not at all by default */
    waitSeconds?: string | number;
  };
  "ClaimsAnswer": {
    /** The claimed tasks; [] when there is none */
    tasks: (Schemas["Task"])[];
  };
  "Complete": {
    /** The worker that holds the task */
    workerId?: string;
    /** The fence of the claim; refuses the request of an earlier claim */
    fence?: number;
    /** The result of the task */
    output?: any;
    /** The same as `output` */
    result?: any;
    /** Names of payload members whose value is JSON null; a null itself means unset */
    nulls?: ("output" | "result")[];
  };
  "Cron": {
    /** Its name */
    name: string;
    /** Where its tasks are made */
    namespace: string;
    /** When it makes a task */
    schedule: string;
    /** The zone that the schedule counts in */
    timezone: string;
    /** The body of a submit */
    task: any;
    /** What is done about times that have passed without a task */
    catchUp: "none" | "one" | "all";
    /** What a time does while the task before has not ended */
    overlap: "allow" | "skip" | "cancel";
    /** Each task waits up to this long besides */
    jitter: string | null;
    /** It makes no tasks */
    paused: boolean;
    /** When it makes its next task */
    nextAt: string | null;
    /** When it made its last one */
    lastAt: string | null;
    /** Why its last time made no task */
    problem: string | null;
    /** When it was created */
    createdAt: string;
    /** When it last changed */
    updatedAt: string;
    /** Grows with each change */
    version: number;
    /** Only when true: the token may not see inputs, outputs, metadata and details of errors, which are null */
    redacted?: boolean;
  };
  "CronBody": {
    /** As in the path, or not given */
    name?: string;
    /** The namespace of the schedule and its tasks */
    namespace?: string;
    /** 5 fields, 6 with seconds, `@daily` or `@every 90s` */
    schedule: string;
    /** The zone that the schedule counts in; UTC by default */
    timezone?: string;
    /** The body of a submit */
    task: Schemas["Submit"];
    /** What is done about times that have passed without a task; `none` by default */
    catchUp?: "none" | "one" | "all";
    /** What a time does while the task before has not ended; `allow` by default */
    overlap?: "allow" | "skip" | "cancel";
    /** Each task waits up to this long besides, at random */
    jitter?: string | number;
    /** It makes no tasks */
    paused?: boolean;
    /** Why, for the audit */
    reason?: string;
  };
  "CronList": {
    items: (Schemas["Cron"])[];
    /** The `cursor` of the next page; null: this is the last */
    nextCursor: string | null;
  };
  "Definition": {
    /** As in the path, or not given */
    workflow?: string;
    /** Its triggers fire; true by default */
    enabled?: boolean;
    /** Each makes a task when an event comes */
    triggers?: (Record<string, any>)[];
    /** Each makes a task when all of several events have come */
    joins?: (Record<string, any>)[];
  };
  "Emit": {
    /** Whose workflows get the event */
    namespace?: string;
    /** Event type */
    type: string;
    /** What conditions and templates see */
    data?: Record<string, any>;
    /** A repeated id does nothing; one is made by default */
    id?: string;
  };
  "Emitted": {
    /** Of the event */
    id: string;
    /** The tasks that it created */
    tasks: (string)[];
    /** The triggers that created no task because of an error */
    failures: ({
      /** The workflow */
      workflow: string | null;
      /** The trigger or join that made no task */
      trigger: string | null;
      /** Why */
      message: string;
    })[];
    /** The id was emitted before: these are the tasks of the first time */
    existing?: boolean;
  };
  "EmittedEvent": {
    /** Its id */
    id: string;
    /** Its namespace */
    namespace: string;
    /** Event type */
    type: string;
    /** Data of the event */
    data: Record<string, any> | null;
    /** When it was emitted */
    createdAt: string;
    /** The tasks that it created */
    tasks: (string)[];
    /** The triggers that created no task because of an error */
    failures: ({
      /** The workflow */
      workflow: string | null;
      /** The trigger or join that made no task */
      trigger: string | null;
      /** Why */
      message: string;
    })[];
    /** Only when true: the token may not see inputs, outputs, metadata and details of errors, which are null */
    redacted?: boolean;
  };
  /** Why an attempt failed; a string is the message alone */
  "ErrorBody": {
    /** For people */
    message: string;
    /** A word that groups errors of the same cause */
    kind?: string;
    /** The same as `kind` */
    exceptionType?: string;
    /** Anything more about the error */
    detail?: any;
    /** false: the task fails without another attempt; true by default */
    retryable?: boolean;
    /** When the next attempt is due, instead of the backoff */
    retryAfter?: string | number;
  } | string;
  "Event": {
    /** The task */
    taskId: string;
    /** A UUID, unique to the event */
    id: string;
    /** Event type */
    event: string;
    /** Status after the event */
    status: "pending" | "claimed" | "running" | "blocked" | "background" | "completed" | "failed" | "dead_letter" | "cancelled";
    /** State after the event: the handler's text, or the status */
    state: string | null;
    /** What caused it */
    actor: "API" | "WORKER" | "SYSTEM";
    /** The worker that held the task */
    workerId: string | null;
    /** Details of the event */
    detail: any;
    /** Time of the event */
    createdAt: string;
    /** Only when true: the token may not see inputs, outputs, metadata and details of errors, which are null */
    redacted?: boolean;
  };
  "EventList": {
    items: (Schemas["Event"])[];
    /** The `cursor` of the next page; null: this is the last */
    nextCursor: string | null;
  };
  "EventLog": {
    /** The events, in the order of commits */
    items: ({
      /** The position after it */
      cursor: string;
      /** The task */
      taskId: string;
      /** Namespace of the task */
      namespace: string;
      /** Type of the task */
      type: string;
      /** Name of the task */
      name: string;
      /** Team of the task */
      teamId: string | null;
      /** Submitter of the task */
      createdBy: string | null;
      /** Idempotency key of the task */
      idempotencyKey: string | null;
      /** Event type */
      event: string;
      /** Status after the event */
      status: "pending" | "claimed" | "running" | "blocked" | "background" | "completed" | "failed" | "dead_letter" | "cancelled";
      /** The worker that held the task */
      workerId: string | null;
      /** How many attempts there have been */
      attempt: number;
      /** 0 to 100 */
      progress: number;
      /** The parent of the task */
      parentId: string | null;
      /** Time of the event */
      createdAt: string;
      /** The number in the parent's id: its first 60 bits, without the version */
      parentKey: string | null;
    })[];
    /** The `cursor` of the next call */
    nextCursor: string;
    /** There are more events now */
    hasMore: boolean;
    /** Events after the cursor are not kept any more */
    hasGap: boolean;
  };
  /** text/event-stream */
  "EventStream": string;
  "EventWhy": {
    /** The event */
    event: Schemas["EmittedEvent"];
    /** The triggers on its type */
    triggers: (Schemas["TriggerResult"])[];
  };
  "Explanation": {
    /** A sentence */
    summary: string;
    /** What keeps it from running */
    reasons: ({
      /** Machine-readable code */
      kind: string;
      /** Text */
      message: string;
      /** When it ends, if known */
      until: string | null;
    })[];
    /** Of a ready task: its place among those of its namespace, type and resources, from 1; 0: it is not ready, or more than 10,000 are before it */
    position: number;
    /** Of a pending task: its place in line, and what the line waits for */
    line: string | null;
    /** The task */
    task: Schemas["Task"];
  };
  "Fail": {
    /** The worker that holds the task */
    workerId?: string;
    /** The fence of the claim; refuses the request of an earlier claim */
    fence?: number;
    /** Why the attempt failed */
    error: Schemas["ErrorBody"];
  };
  "Failures": {
    /** The groups, the largest first */
    items: ({
      /** The group: the same for the same namespace, type, kind and message */
      id: string;
      /** Namespace of the tasks */
      namespace: string;
      /** Type of the tasks */
      type: string;
      /** `kind` of the errors */
      kind: string | null;
      /** What their messages have in common: `#` is a number or an id, `…` is quoted text */
      message: string;
      /** Attempts that failed so */
      count: number;
      /** When the first one failed */
      firstAt: string | null;
      /** When the last one failed */
      lastAt: string | null;
      /** The last 10 tasks, newest first */
      taskIds: (string)[];
    })[];
  };
  /** Which tasks: the names and values of `GET /tasks`. At least one besides `namespace`, or `all`. Also `metadata.PATH`, with a text, number, true, false or null */
  "Filter": {
    /** All tasks of the namespace */
    all?: boolean;
    /** Of this namespace; `*` is all */
    namespace?: string;
    /** In one of these statuses, with commas between; also a list */
    status?: string;
    /** Of this type */
    type?: string;
    /** With this name */
    name?: string;
    /** Of this team */
    teamId?: string;
    /** The same as `teamId` */
    team_id?: string;
    /** Subtasks of this task */
    parentId?: string;
    /** Submitted with this `createdBy` */
    createdBy?: string;
    /** With this group */
    group?: string;
    /** With this key */
    idempotencyKey?: string;
    /** Held by this worker */
    workerId?: string;
    /** That use this resource */
    resource?: string;
    /** Whose last error is of this kind */
    errorKind?: string;
    /** Whose last error is in the group with this id (`/failures`) */
    failureGroup?: string;
    /** Created by this workflow */
    origin?: string;
    /** Created by the times of this schedule */
    schedule?: string;
    /** Created at this time or later */
    createdAfter?: string;
    /** Created before this time */
    createdBefore?: string;
    /** Changed at this time or later */
    updatedAfter?: string;
    /** Last changed before this time */
    updatedBefore?: string;
    /** Ended at this time or later */
    endedAfter?: string;
    /** Ended before this time */
    endedBefore?: string;
    /** Pending, and due before this time */
    dueBefore?: string;
  };
  "FoundTasks": {
    /** The tasks, newest first */
    items: ({
      /** The task */
      id: string;
      /** Its namespace */
      namespace: string;
      /** Its type */
      type: string;
      /** Its status */
      status: "pending" | "claimed" | "running" | "blocked" | "background" | "completed" | "failed" | "dead_letter" | "cancelled";
      /** When it was submitted */
      createdAt: string | null;
    })[];
    /** There are, or may be, more */
    hasMore: boolean;
    /** With `recent=true`: all of them are among the newest 100,000 tasks, so their ends find them */
    recent: boolean;
  };
  "Graph": {
    /** The task */
    id: string;
    /** The tasks: this one first, then by distance */
    nodes: (Schemas["GraphNode"])[];
    /** How they are connected */
    edges: (Schemas["GraphEdge"])[];
    /** There are more tasks, edges or attempts */
    truncated: boolean;
  };
  "GraphEdge": {
    /** A task */
    from: string;
    /** A task */
    to: string;
    /** `child`: `to` is a subtask of `from`; `dependency`: `to` waits for `from`; `started`: the end of `from` has created `to` */
    kind: string;
  };
  "GraphNode": {
    /** The task */
    id: string;
    /** Its namespace */
    namespace: string;
    /** Its type */
    type: string;
    /** For people */
    name: string | null;
    /** Its status */
    status: "pending" | "claimed" | "running" | "blocked" | "background" | "completed" | "failed" | "dead_letter" | "cancelled";
    /** Its distance from the task */
    depth: number;
    /** 0 to 100 */
    progress: number;
    /** The message of its last failure */
    error: string | null;
    /** The workflow that created it */
    workflow: string | null;
    /** Its trigger or join */
    trigger: string | null;
    /** The event that it was created for; the end of a task is the event ID:VERSION */
    eventId: string | null;
    /** When it was submitted */
    createdAt: string | null;
    /** It doesn't start before this */
    runAt: string | null;
    /** When its latest attempt began */
    startedAt: string | null;
    /** When it ended */
    completedAt: string | null;
    /** Its attempts, oldest first */
    attempts: (Schemas["Attempt"])[];
  };
  "HappenedList": {
    /** The events */
    items: (Schemas["EmittedEvent"])[];
    /** The `cursor` of the next page; null: this is the last */
    nextCursor: string | null;
  };
  "Health": {
    /** `ok` or `ready` */
    status: string;
  };
  "Heartbeat": {
    /** The worker that holds the task */
    workerId: string;
    /** The fence of the claim; refuses the request of an earlier claim */
    fence?: number;
    /** How long the lease lasts from now; 30 seconds by default */
    leaseSeconds?: string | number;
  };
  "Heartbeats": {
    /** The worker that holds the tasks */
    workerId: string;
    /** How long the leases last from now; as long as claimed for by default */
    leaseSeconds?: string | number;
    /** The tasks whose leases are renewed */
    items: ({
      /** The task */
      id: string;
      /** The fence of the claim; refuses the request of an earlier claim */
      fence?: number;
    })[];
  };
  "History": {
    /** The steps, oldest first; the last one contains the present */
    items: ({
      /** The beginning of the step */
      at: string;
      /** Tasks that were created */
      submitted: number;
      /** Tasks that completed */
      completed: number;
      /** Tasks that failed for good */
      failed: number;
      /** Tasks that ran out of attempts */
      deadLettered: number;
      /** Tasks that were cancelled */
      cancelled: number;
      /** How often a task became pending again, after an attempt that failed or by a retry */
      retried: number;
      /** Pending tasks at the end of the step, or now */
      waiting: number;
      /** Tasks that were claimed, running or in the background, at its end or now */
      running: number;
      /** The longest that a ready task had waited */
      oldestReadySeconds: number;
      /** Seconds that tasks were ready before they were claimed */
      wait: {
        /** Half of them are shorter; null: there were none */
        p50: number | null;
        /** 95 of 100 are shorter */
        p95: number | null;
        /** 99 of 100 are shorter */
        p99: number | null;
      };
      /** Seconds that attempts took, from start, or else claim, to end */
      run: {
        /** Half of them are shorter; null: there were none */
        p50: number | null;
        /** 95 of 100 are shorter */
        p95: number | null;
        /** 99 of 100 are shorter */
        p99: number | null;
      };
    })[];
    /** The length of a step */
    step: string | null;
  };
  "Info": {
    /** `sqlite`, `postgres`, `nats` or `memory` */
    engine: string;
    /** Version of the database */
    engineVersion: string | null;
    /** Schema version of the store */
    schemaVersion: number;
    /** Size of the store */
    sizeBytes: number;
    /** Transactions since the engine was opened */
    commits: number;
    /** Operations in these transactions */
    operations: number;
    /** How the engine's clock and the wall clock of its machine differ; zeros where the time is the database's */
    clock: {
      /** How far the engine's clock is ahead of the wall clock; negative: behind */
      offsetMs: number;
      /** Jumps of the wall clock by a second or more since the engine was opened */
      jumps: number;
      /** By how much the last jump changed the wall clock; negative: it was set back */
      lastJumpMs: number;
      /** The wall clock right after the last jump */
      lastJumpAt: string | null;
    };
    /** What an acknowledged change survives, where settings of a server decide it */
    durability?: string;
    /** Why new tasks are refused: the disk has no room for them */
    full: string | null;
    /** Changes of the store's tables */
    migrations: ({
      /** Its number */
      id: string;
      /** What it changes */
      description: string;
      /** When it was executed */
      executedAt: string | null;
    })[];
    /** Errors found in the store */
    findings: (string)[];
    /** Warnings */
    warnings: (string)[];
    /** Of the server */
    version: string;
    /** The most bytes of an input or output */
    inputSizeMax: number;
    /** The server's name, as in `/workers` */
    nodeId: string | null;
    /** Requests need a token, or a session */
    hasTokens: boolean;
    /** What the server has: `dashboard`, and of the engine `subtasks`, `dependencies`, `workflows`, `schedules`, `teams`, `stream`, `broker`, `backup` */
    features: (string)[];
  };
  "Join": {
    /** The workflow */
    workflow: string;
    /** The join's name */
    join: string;
    /** Of the workflow */
    namespace: string;
    /** What its events have in common */
    key: any;
    /** How often it has begun */
    round: number;
    /** What has come */
    members: Record<string, any>;
    /** Types of tasks that have not come yet, once the first one has */
    waitsFor: (string)[];
    /** When something last came */
    updatedAt: string;
    /** When it stops waiting */
    deadline: string | null;
    /** How the round before ended */
    last: {
      /** How it ended */
      outcome: string;
      /** The task that it made */
      taskId: string | null;
      /** Why it made none */
      error: string | null;
    } | null;
  };
  "JoinList": {
    /** The joins */
    items: (Schemas["Join"])[];
    /** The `cursor` of the next page; null: this is the last */
    nextCursor: string | null;
  };
  /** any JSON */
  "Json": any;
  "Lane": {
    /** Of the type */
    namespace: string;
    /** The type */
    type: string;
    /** Claims are paused */
    paused: boolean;
    /** How many tasks wait */
    pending: number;
    /** How many tasks are claimed, running or in background */
    active: number;
  };
  "LaneBody": {
    /** Of the type */
    namespace?: string;
    /** The type */
    type: string;
    /** Why, for the audit */
    reason?: string;
  };
  "LaneList": {
    items: (Schemas["Lane"])[];
    /** The `cursor` of the next page; null: this is the last */
    nextCursor: string | null;
  };
  "LaneState": {
    /** Of the type */
    namespace: string;
    /** The type */
    type: string;
    /** Claims are paused */
    paused: boolean;
  };
  "Limit": {
    /** How many tasks may use it at once; null is no limit. Required without `rate` */
    maxConcurrency?: number | null;
    /** How many tasks may start in a time; null is no rate */
    rate?: Schemas["Rate"];
    /** Why, for the audit */
    reason?: string;
  };
  "LogLines": {
    /** The worker that holds the task */
    workerId: string;
    /** The fence of its claim */
    fence?: number;
    /** Lines; of one longer than 16 KiB the beginning is kept */
    lines?: (string)[];
    /** Any text, instead of lines, up to 64 KiB */
    text?: string;
    /** Forget what was sent so far: the attempt's note has the log */
    over?: boolean;
  };
  "Login": {
    /** The secret of a token */
    token: string;
  };
  "ManyAnswer": {
    /** Result of each item, in request order */
    items: ({
      /** The task */
      id: string;
    } | Schemas["Problem"])[];
  };
  "MatchTest": {
    /** The expression */
    match: string;
    /** The data of the event */
    data?: any;
  };
  "MatchVerdict": {
    /** The expression is true */
    matched: boolean;
    /** The clause that decided */
    decidedBy: string;
  };
  "Namespace": {
    /** Its name */
    name: string;
  };
  "NamespaceList": {
    items: (Schemas["Namespace"])[];
    /** The `cursor` of the next page; null: this is the last */
    nextCursor: string | null;
  };
  "NewTeam": {
    /** For people */
    name: string;
    /** The namespace of its tasks; the token's by default */
    namespace?: string;
    /** Anything about the team */
    spec?: any;
    /** Why, for the audit */
    reason?: string;
  };
  "NewToken": {
    /** A UUIDv7 */
    id: string;
    /** For people */
    name: string;
    /** What it allows */
    scopes: ("read" | "view" | "submit" | "work" | "operate" | "admin")[];
    /** The namespaces that it reaches; null: all */
    namespaces: (string)[] | null;
    /** When it was made */
    createdAt: string;
    /** When it ends; null: never */
    expiresAt: string | null;
    /** The secret, shown this once; not with a hash */
    token?: string;
  };
  "Note": {
    /** The worker that holds the task */
    workerId?: string;
    /** The fence of the claim; refuses the request of an earlier claim */
    fence?: number;
    /** The name of the event */
    event?: string;
    /** What it is about */
    detail?: any;
  };
  "Operation": {
    /** The operation */
    id: string;
    /** What it does with the tasks */
    kind: "cancel" | "retry" | "delete" | "update";
    /** How far it is */
    status: "running" | "completed" | "cancelled" | "failed";
    /** Tasks that the filter has found; grows while many are counted */
    matched: number;
    /** Tasks that were changed */
    done: number;
    /** Tasks that could not be changed, for example because of their status */
    failed: number;
    /** The token's name; null: there was none */
    createdBy: string | null;
    /** As it was given */
    reason: string | null;
    /** Why it failed */
    error: string | null;
    /** Of the filter; `*`: all */
    namespace: string;
    /** Which tasks. Null for a token that may not see payloads */
    filter: Record<string, any> | null;
    /** It cancels the tasks below this one, instead of those of a filter */
    taskId: string | null;
    /** What an update changes */
    set: Record<string, any> | null;
    /** When it began */
    createdAt: string;
    /** When its numbers were last stored */
    updatedAt: string;
    /** When it ended */
    endedAt: string | null;
  };
  "OperationAnswer": {
    /** The operation */
    operation?: Schemas["Operation"];
    /** Instead, with `dryRun`: how many tasks the filter finds */
    matched?: number;
  };
  "OperationList": {
    items: (Schemas["Operation"])[];
    /** The `cursor` of the next page; null: this is the last */
    nextCursor: string | null;
  };
  /** The trigger that has made a task */
  "Origin": {
    /** The workflow's name */
    workflow: string;
    /** The trigger's or join's name */
    trigger: string;
    /** The version of the workflow */
    version: number;
    /** The event; null: a deadline has passed */
    eventId: string | null;
  };
  "Outcomes": {
    /** The worker that holds the tasks */
    workerId: string;
    /** The attempts that have ended */
    items: ({
      /** The task */
      id: string;
      /** The fence of the claim; refuses the request of an earlier claim */
      fence?: number;
      /** How the attempt ended */
      status: "completed" | "failed";
      /** The result of the task */
      output?: any;
      /** The same as `output` */
      result?: any;
      /** Names of payload members whose value is JSON null; a null itself means unset */
      nulls?: ("output" | "result")[];
      /** Why the attempt failed */
      error?: Schemas["ErrorBody"];
    })[];
  };
  /** A task, as in Task. Its id is null. */
  "Preview": {
    id: null;
  };
  /** RFC 9457; code is for programs */
  "Problem": {
    /** `urn:faina:problem:` and the code */
    type: string;
    /** What the code means */
    title: string;
    /** The HTTP status */
    status: number;
    /** What is wrong, in a sentence */
    detail: string;
    /** For programs */
    code: string;
    /** The task, when it is one of many */
    id?: string | null;
    /** The fields that are to blame */
    errors?: ({
      field: string;
      message: string;
      line?: number;
      column?: number;
    })[];
  };
  "Progress": {
    /** The worker that holds the task */
    workerId?: string;
    /** The fence of the claim; refuses the request of an earlier claim */
    fence?: number;
    /** Percent */
    progress?: number;
    /** What is done now, in words */
    state?: string;
    /** Merged into the task's metadata (RFC 7396): members are set, and removed by null */
    metadata?: Record<string, any>;
  };
  "Purge": {
    /** Only tasks of this namespace */
    namespace?: string;
    /** Only tasks of this type */
    type?: string;
    /** Only tasks that ended with one of these */
    status?: ("pending" | "claimed" | "running" | "blocked" | "background" | "completed" | "failed" | "dead_letter" | "cancelled")[];
    /** Only tasks that ended before this time */
    endedBefore?: string;
    /** Only tasks that are deleted already */
    deletedOnly?: boolean;
    /** The most tasks to remove; 1,000 by default */
    limit?: number;
    /** Why, for the audit */
    reason?: string;
  };
  "PurgeAnswer": {
    /** How many tasks were removed */
    removed: number;
  };
  "Rate": {
    /** How many tasks may start ... */
    count: number;
    /** ... in this time */
    per: string | number;
    /** How many may start at once after a pause; as many as `count` by default */
    burst?: number;
  };
  /** Tasks a second over the last minute, of what this server has committed */
  "Rates": {
    submitted: number;
    completed: number;
    failed: number;
    dead_letter: number;
    cancelled: number;
  };
  "Reason": {
    /** Why, for the audit */
    reason?: string;
  };
  "Release": {
    /** The worker that holds the task */
    workerId?: string;
    /** The fence of the claim; refuses the request of an earlier claim */
    fence?: number;
  };
  "Resource": {
    /** Its name */
    name: string;
    /** How many tasks may use it at once; null is no limit */
    maxConcurrency: number | null;
    /** How many tasks may start in a time; null is no rate */
    rate: Schemas["Rate"] | null;
    /** The name with `*` whose limits apply to it, when it has none of its own */
    limitedBy?: string;
    /** How many tasks use it now */
    inUse: number;
    /** The tasks that use it */
    holders: (string)[];
  };
  "ResourceList": {
    items: (Schemas["Resource"])[];
    /** The `cursor` of the next page; null: this is the last */
    nextCursor: string | null;
  };
  "Retry": {
    /** The worker that holds the task */
    workerId?: string;
    /** Attempts are counted from 0 again; true by default */
    resetAttempts?: boolean;
    /** Why, for the audit */
    reason?: string;
  };
  /** How long a failed task waits before its next attempt */
  "RetryPolicy": {
    /** The wait after the first failed attempt; 15 seconds by default, 1 ms at least */
    base?: string | number;
    /** Each wait is this many times the one before; 8 by default */
    factor?: number;
    /** The longest wait; 6 hours by default */
    max?: string | number;
  };
  "ScheduleTimes": {
    /** The times, in their order */
    items: ({
      /** A time of the schedule */
      at: string;
    })[];
    /** The schedule */
    schedule: string;
    /** The zone that it counts in */
    timezone: string;
    /** It creates no tasks */
    paused: boolean;
  };
  "Session": {
    /** Of the token; null: none is needed */
    name: string | null;
    /** The token; null: none is needed */
    tokenId: string | null;
    /** What the caller may do */
    scopes: ("read" | "view" | "submit" | "work" | "operate" | "admin")[];
    /** The namespaces that it reaches; null: all */
    namespaces: (string)[] | null;
    /** When the session ends, or the token; null: never */
    expiresAt: string | null;
  };
  "Settings": {
    /** Paths of values that answers leave out */
    redact: (string)[];
  };
  "SettingsBody": {
    /** Paths of values that answers leave out; [] shows all */
    redact: (string)[];
    /** Why, for the audit */
    reason?: string;
  };
  "Snooze": {
    /** The worker that holds the task */
    workerId?: string;
    /** The fence of the claim; refuses the request of an earlier claim */
    fence?: number;
    /** How long the task stays pending before it is due again */
    for: string | number;
  };
  "Start": {
    /** The worker that holds the task */
    workerId?: string;
    /** The fence of the claim; refuses the request of an earlier claim */
    fence?: number;
    /** How long the lease lasts from now; 30 seconds by default */
    leaseSeconds?: string | number;
  };
  "Stats": {
    /** How many tasks have each status */
    byStatus: {
      pending: number;
      claimed: number;
      running: number;
      blocked: number;
      background: number;
      completed: number;
      failed: number;
      dead_letter: number;
      cancelled: number;
    };
    /** The sum of them */
    total: number;
    /** There are more types than are listed */
    moreTypes?: boolean;
    /** The types, those with the most unfinished tasks first */
    types: ({
      /** Namespace of the type */
      namespace: string;
      /** The type */
      type: string;
      /** Claims are paused */
      paused: boolean;
      /** Time since which the oldest ready task waits */
      oldestReadyAt: string | null;
      /** How many tasks have each status */
      byStatus: {
        pending: number;
        claimed: number;
        running: number;
        blocked: number;
        background: number;
        completed: number;
        failed: number;
        dead_letter: number;
        cancelled: number;
      };
      /** The sum of them */
      total: number;
      /** Of the type */
      rates: Schemas["Rates"];
    })[];
    /** Of all types */
    rates: Schemas["Rates"];
  };
  "StatusChange": {
    /** The worker that holds the task */
    workerId?: string;
    /** The fence of the claim; refuses the request of an earlier claim */
    fence?: number;
    /** The new status */
    status: "running" | "completed" | "failed" | "cancelled";
    /** The result of the task */
    output?: any;
    /** The same as `output` */
    result?: any;
    /** Names of payload members whose value is JSON null; a null itself means unset */
    nulls?: ("output" | "result")[];
    /** Why the attempt failed */
    error?: Schemas["ErrorBody"];
    /** Of `running`: how long the lease lasts; without a workerId there is none by default */
    leaseSeconds?: string | number;
    /** Why, for the audit */
    reason?: string;
  };
  /** Only type is required, or else name or input */
  "Submit": {
    /** `default`, or the only one of the token, when it is not given */
    namespace?: string;
    /** Which handler runs it; `default` when only a name or an input is given */
    type?: string;
    /** Display name; the type when it is not given */
    name?: string;
    /** Input of the handler */
    input?: any;
    /** The same as `input` */
    payload?: any;
    /** Client-defined object; the handler can add to it */
    metadata?: Record<string, any>;
    /** Task settings, for the handler; `{}` by default */
    spec?: Record<string, any>;
    /** Higher ones are claimed first; 0 by default */
    priority?: number;
    /** Maximum number of attempts; 4 by default, 0 is no limit */
    maxAttempts?: number;
    /** Maximum number of attempts after the first */
    maxRetries?: number;
    /** The task runs no earlier than this long from now */
    delay?: string | number;
    /** The task runs no earlier than this time */
    runAt?: string;
    /** One task per key in a namespace and type: a second submit gets the first task */
    idempotencyKey?: string;
    /** `input`: the hash of the input is the key */
    dedupe?: "input";
    /** How long the task keeps its key: `exists` (as long as the task exists, the default), `active` (until it has ended), or a duration since its creation */
    keyScope?: string | number;
    /** When the key belongs to another task: `return` it (the default), `reject` the submit (409 `duplicate_key`), or `replace` the input, runAt, priority and metadata of a pending task */
    onDuplicate?: "return" | "reject" | "replace";
    /** Ids of the tasks that must complete first */
    dependsOn?: (string)[];
    /** Names of the resources that the task uses while a worker holds it */
    resources?: (string)[];
    /** How long the task waits after a failed attempt */
    retry?: Schemas["RetryPolicy"];
    /** The longest run of one attempt: the engine ends it, and it is retried */
    timeout?: string | number;
    /** A task that was not started by then is cancelled: a duration or a time */
    startBy?: string | number;
    /** Fair share: ready tasks of one type and priority take turns by their groups, however many tasks each has */
    group?: string;
    /** Of a subtask only: its parent doesn't wait for it */
    detached?: boolean;
    /** Names of payload members whose value is JSON null; a null itself means unset */
    nulls?: ("input" | "payload" | "metadata" | "spec")[];
    /** The team that the task belongs to */
    teamId?: string;
    /** The same as `teamId` */
    team_id?: string;
    /** Submitter, free text */
    createdBy?: string;
    /** W3C Trace Context of the submitter, stored in the metadata as `traceparent`; used instead of the header of this name */
    traceparent?: string;
  };
  "Subtask": {
    /** The worker that holds the task */
    workerId: string;
    /** The fence of the claim; refuses the request of an earlier claim */
    fence?: number;
    /** With a name, which no sibling has */
    subtask: Schemas["Submit"];
  };
  /** A task as it is at one moment; null where unset */
  "Task": {
    /** A UUIDv7 */
    id: string;
    /** The namespace it belongs to */
    namespace: string;
    /** Which handler runs it */
    type: string;
    /** Display name; the type by default */
    name: string;
    /** Its status */
    status: "pending" | "claimed" | "running" | "blocked" | "background" | "completed" | "failed" | "dead_letter" | "cancelled";
    /** Free text about the current work */
    state: string | null;
    /** Percent */
    progress: number;
    /** Higher ones are claimed first */
    priority: number;
    /** Input of the handler */
    input: any;
    /** The result */
    output: any;
    /** Error of the last failed attempt */
    error: any;
    /** Client-defined object; {} by default */
    metadata: any;
    /** Task settings */
    spec: any;
    /** Its key */
    idempotencyKey: string | null;
    /** SHA-256 of the canonical input, in hex */
    inputHash: string | null;
    /** How long it keeps its key: `active`, or a duration since its creation; null: as long as the task exists */
    keyScope: string | null;
    /** Number of attempts */
    attempts: number;
    /** Maximum number of attempts; 0 is no limit */
    maxAttempts: number;
    /** Its own waits between attempts */
    retry: Schemas["RetryPolicy"] | null;
    /** The longest that the waits between all its attempts take together */
    retryWindow: string | null;
    /** Earliest start */
    runAt: string | null;
    /** The longest run of one attempt */
    timeout: string | null;
    /** Its fair share */
    group: string | null;
    /** Cancelled if it was not started by then */
    startBy: string | null;
    /** Which entry of the handler runs next: `resume` after its subtasks have ended, `error` when one of them failed */
    phase: "start" | "resume" | "error";
    /** The worker that holds it */
    workerId: string | null;
    /** End of the lease */
    leaseExpiresAt: string | null;
    /** Grows with each claim */
    fence: number;
    /** The task whose subtask it is */
    parentId: string | null;
    /** The tasks that must complete first */
    dependsOn: (string)[];
    /** What it uses while it is held */
    resources: (string)[];
    /** Deadline of the background work */
    expiresAt: string | null;
    /** The team it belongs to */
    teamId: string | null;
    /** Submitter, free text */
    createdBy: string | null;
    /** The trigger that created it; null: it was submitted */
    origin: Schemas["Origin"] | null;
    /** Grows with each change */
    version: number;
    /** When it was submitted */
    createdAt: string;
    /** When it last changed */
    updatedAt: string;
    /** When it was last claimed */
    claimedAt: string | null;
    /** When its last attempt began */
    startedAt: string | null;
    /** When it ended */
    completedAt: string | null;
    /** When it was deleted */
    deletedAt: string | null;
    /** Names of payload members whose value is JSON null */
    nulls?: ("input" | "output" | "error" | "metadata" | "spec")[];
    /** The key is in use: this is the first task */
    existing?: boolean;
    /** The key is in use, by a task with another input */
    inputMismatch?: boolean;
    /** In the answer to a cancel: how many tasks it has cancelled */
    cancelledCount?: number;
    /** Only when true: the token may not see inputs, outputs, metadata and details of errors, which are null */
    redacted?: boolean;
    /** In the answer to a claim: W3C Trace Context for the handler */
    traceparent?: string;
  };
  "TaskList": {
    /** The tasks */
    items: (Schemas["Task"])[];
    /** The `cursor` of the next page; null: this is the last */
    nextCursor: string | null;
  };
  "Team": {
    /** A UUIDv7 */
    id: string;
    /** For people */
    name: string;
    /** The namespace of its tasks */
    namespace: string;
    /** Anything about the team */
    spec: any;
    /** When it was created */
    createdAt: string;
    /** When it last changed */
    updatedAt: string;
  };
  "TeamBody": {
    /** As in the path, or not given */
    id?: string;
    /** For people */
    name: string;
    /** The namespace of its tasks; the token's by default */
    namespace?: string;
    /** Anything about the team */
    spec?: any;
    /** Why, for the audit */
    reason?: string;
  };
  "TeamList": {
    items: (Schemas["Team"])[];
    /** The `cursor` of the next page; null: this is the last */
    nextCursor: string | null;
  };
  "Text": string;
  "Token": {
    /** A UUIDv7 */
    id: string;
    /** For people */
    name: string;
    /** What it allows */
    scopes: ("read" | "view" | "submit" | "work" | "operate" | "admin")[];
    /** The namespaces that it reaches; null: all */
    namespaces: (string)[] | null;
    /** When it was made */
    createdAt: string;
    /** When it ends; null: never */
    expiresAt: string | null;
  };
  "TokenBody": {
    /** For people */
    name?: string;
    /** The SHA-256 of a secret that the client has made, in hex */
    hash?: string;
    /** What the token allows */
    scopes: ("read" | "view" | "submit" | "work" | "operate" | "admin")[];
    /** The namespaces that it reaches; all by default */
    namespaces?: (string)[];
    /** It ends this long from now */
    expires?: string | number;
    /** It ends at this time */
    expiresAt?: string;
    /** Why, for the audit */
    reason?: string;
  };
  "TokenList": {
    items: (Schemas["Token"])[];
    /** The `cursor` of the next page; null: this is the last */
    nextCursor: string | null;
  };
  "TriggerResult": {
    /** The workflow */
    workflow: string;
    /** Its trigger */
    trigger: string;
    /** `matched`, `not matched`, `failed`, `disabled` */
    result: string;
    /** The clause that decided; null: there is no condition */
    decidedBy: string | null;
    /** Why it can't create its task */
    error: string | null;
  };
  "Type": {
    /** The type, as it was written */
    type: string;
    /** The namespace of the tasks */
    namespace: string;
    /** How often a task is tried; 0 is no limit */
    maxAttempts: number | null;
    /** How long a task waits after a failed attempt */
    retry: Schemas["RetryPolicy"] | null;
    /** The longest run of one attempt */
    timeout: string | null;
    /** A task that was not started so long after its submit is cancelled */
    startBy: string | null;
    /** Tasks with a higher one are claimed first */
    priority: number | null;
    /** The resources that a task uses while a worker holds it */
    resources: (string)[] | null;
    /** A task that no live worker could handle for so long ends as `failed`, with the kind `no_handler` */
    unhandledAfter: string | null;
    /** JSON Schema (a subset, see docs/policies.md): a submit with another input is refused */
    inputSchema: any;
    /** When it last changed */
    updatedAt: string;
    /** Grows with each change */
    version: number;
  };
  "TypeList": {
    items: (Schemas["Type"])[];
    /** The `cursor` of the next page; null: this is the last */
    nextCursor: string | null;
  };
  "TypePolicies": {
    /** As in the path, or not given */
    type?: string;
    /** The namespace of the tasks */
    namespace?: string;
    /** How often a task is tried; 0 is no limit */
    maxAttempts?: number;
    /** How long a task waits after a failed attempt */
    retry?: Schemas["RetryPolicy"];
    /** The longest run of one attempt */
    timeout?: string | number;
    /** A task that was not started so long after its submit is cancelled */
    startBy?: string | number;
    /** Tasks with a higher one are claimed first */
    priority?: number;
    /** The resources that a task uses while a worker holds it */
    resources?: (string)[];
    /** A task that no live worker could handle for so long ends as `failed`, with the kind `no_handler` */
    unhandledAfter?: string | number;
    /** JSON Schema (a subset, see docs/policies.md): a submit with another input is refused */
    inputSchema?: any;
    /** Why, for the audit */
    reason?: string;
  };
  "Update": {
    /** Display name */
    name?: string;
    /** Higher ones are claimed first */
    priority?: number;
    /** The task runs no earlier than this time; `now` makes it ready */
    runAt?: string;
    /** Maximum number of attempts; 0 is no limit */
    maxAttempts?: number;
    /** The longest run of one attempt */
    timeout?: string | number;
    /** The task is cancelled if it was not started by then */
    startBy?: string | number;
    /** Fair share, as in a submit; `""` is none */
    group?: string;
    /** Merged into the task's metadata (RFC 7396); also while the task is held */
    metadata?: Record<string, any>;
    /** Why, for the audit */
    reason?: string;
  };
  "Worker": {
    /** Its name */
    id: string;
    /** The machine it runs on */
    hostname: string | null;
    /** When it registered */
    startedAt: string;
    /** Time of its last heartbeat */
    lastHeartbeat: string;
    /** How many tasks it runs at once */
    poolSize: number;
    /** The types it has handlers for */
    types: (string)[];
    /** The services that are up there; null: it checks none */
    services: (string)[] | null;
    /** Program version */
    version: string | null;
    /** Is the leader, which runs the store's upkeep */
    isLeader: boolean;
    /** End of the leader lease */
    leaderUntil: string | null;
    /** How many tasks it holds */
    held: number;
  };
  "WorkerBeat": {
    /** Its name */
    id: string;
    /** The machine it runs on */
    hostname: string | null;
    /** When it registered */
    startedAt: string;
    /** Time of its last heartbeat */
    lastHeartbeat: string;
    /** How many tasks it runs at once */
    poolSize: number;
    /** The types it has handlers for */
    types: (string)[];
    /** The services that are up there; null: it checks none */
    services: (string)[] | null;
    /** Program version */
    version: string | null;
    /** Is the leader, which runs the store's upkeep */
    isLeader: boolean;
    /** End of the leader lease */
    leaderUntil: string | null;
    /** How many tasks it holds */
    held: number;
    /** How many leases were renewed */
    renewed: number;
    /** Those of the tasks that were cancelled */
    cancelled: (string)[];
    /** Those of the tasks that the worker doesn't hold any more */
    lost: (string)[];
    /** What is in cancelled and lost, in the order of tasks, with the fences that were sent */
    losses: ({
      /** The task */
      id: string;
      /** The fence that was sent */
      fence: number;
      /** Why the lease was lost */
      why: "cancelled" | "lost";
    })[];
  };
  "WorkerBody": {
    /** As in the path, or not given */
    id?: string;
    /** The machine it runs on */
    hostname?: string;
    /** How many tasks it runs at once */
    poolSize?: number;
    /** The types it has handlers for */
    types?: (string)[];
    /** The services that are up there */
    services?: (string)[];
    /** Program version */
    version?: string;
    /** The tasks whose leases are renewed; all that it holds by default */
    tasks?: ({
      /** The task */
      id: string;
      /** The fence of the claim */
      fence?: number;
    } | string)[];
    /** How long the leases last from now */
    leaseSeconds?: string | number;
  };
  "WorkerList": {
    items: (Schemas["Worker"])[];
    /** The `cursor` of the next page; null: this is the last */
    nextCursor: string | null;
  };
  "Workflow": {
    /** Its name */
    name: string;
    /** Where its tasks are made */
    namespace: string;
    /** Grows with each definition */
    version: number;
    /** Its triggers fire */
    enabled: boolean;
    /** When it last changed */
    updatedAt: string;
    /** As it was stored */
    definition: Schemas["Definition"] | null;
    /** In the answer to a change: it was stored before, just like this */
    existing?: boolean;
    /** Only when true: the token may not see inputs, outputs, metadata and details of errors, which are null */
    redacted?: boolean;
  };
  "WorkflowList": {
    items: (Schemas["Workflow"])[];
    /** The `cursor` of the next page; null: this is the last */
    nextCursor: string | null;
  };
}
