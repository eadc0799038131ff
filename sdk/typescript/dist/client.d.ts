import { type Duration } from "./errors.js";
import { type Json } from "./json.js";
export type Status = "pending" | "claimed" | "running" | "blocked" | "background" | "completed" | "failed" | "dead_letter" | "cancelled";
/** What is stored of an attempt that has failed. */
export interface Failure {
    message: string;
    kind: string | null;
    detail: Json;
    retryable: boolean;
}
/** A task as it was at one moment. Times are texts in RFC 3339. */
export interface Task<Input = any, Output = any> {
    id: string;
    namespace: string;
    type: string;
    name: string;
    status: Status;
    state: string | null;
    progress: number;
    priority: number;
    input: Input;
    output: Output | null;
    error: Failure | null;
    metadata: Record<string, any>;
    spec: any;
    idempotencyKey: string | null;
    attempts: number;
    maxAttempts: number;
    runAt: string | null;
    phase: "start" | "resume" | "error";
    workerId: string | null;
    leaseExpiresAt: string | null;
    fence: number;
    parentId: string | null;
    dependsOn: string[];
    resources: string[];
    teamId: string | null;
    createdBy: string | null;
    version: number;
    createdAt: string;
    updatedAt: string;
    completedAt: string | null;
    /** In the answer to a submit: its key was in use, and this is the first task. */
    existing?: boolean;
    /** In the answer to a claim: W3C Trace Context for the handler. */
    traceparent?: string;
    [member: string]: any;
}
export interface SubmitOptions {
    name?: string;
    priority?: number;
    delay?: Duration;
    runAt?: Date | string;
    /** The same as idempotencyKey. */
    key?: string;
    idempotencyKey?: string;
    keyScope?: "exists" | "active" | Duration;
    onDuplicate?: "return" | "reject" | "replace";
    dedupe?: "input";
    maxAttempts?: number;
    retry?: {
        base?: Duration;
        factor?: number;
        max?: Duration;
    };
    timeout?: Duration;
    startBy?: Duration | Date;
    group?: string;
    /** Of a subtask only: its parent doesn't wait for it. */
    detached?: boolean;
    resources?: string[];
    dependsOn?: string[];
    metadata?: Record<string, any>;
    spec?: Record<string, any>;
    teamId?: string;
    namespace?: string;
    createdBy?: string;
    /** W3C Trace Context; by default that of the present span (`useOpenTelemetry`). */
    traceparent?: string;
}
export interface Submit extends SubmitOptions {
    type: string;
    input?: unknown;
}
/** The result of one of many submits. */
export type Submitted = {
    id: string;
    existing: boolean;
    code?: undefined;
} | {
    code: string;
    detail: string;
    title: string;
    status: number;
    id?: undefined;
};
/** The names of `GET /tasks`; `metadata` has a value for each path. */
export interface Filter {
    namespace?: string;
    status?: Status | Status[] | string;
    type?: string;
    name?: string;
    workerId?: string;
    parentId?: string;
    metadata?: Record<string, string | number | boolean>;
    sort?: "createdAt" | "updatedAt" | "priority" | "runAt";
    order?: "asc" | "desc";
    [name: string]: any;
}
/** A stored act on many tasks. */
export interface Operation {
    id: string;
    kind: string;
    status: "running" | "completed" | "cancelled" | "failed";
    matched: number;
    done: number;
    failed: number;
    [member: string]: any;
}
export interface Schedule {
    schedule: string;
    type: string;
    input?: unknown;
    timezone?: string;
    catchUp?: "none" | "one" | "all";
    overlap?: "allow" | "skip" | "cancel";
    paused?: boolean;
    options?: SubmitOptions;
}
export interface ClientOptions {
    /** http://HOST:PORT or https://...; by default $FAINA_URL, else http://127.0.0.1:7070. */
    url?: string;
    /** By default $FAINA_TOKEN. */
    token?: string;
    /** Of submits and lists; by default $FAINA_NAMESPACE, else that of the token, else `default`. */
    namespace?: string;
    /** Milliseconds that a request may take, besides what it waits for. */
    timeoutMs?: number;
    /** How often a request is repeated that certainly had no effect, or has the same effect twice. */
    retries?: number;
    fetch?: typeof fetch;
}
export interface RequestOptions {
    body?: unknown;
    query?: Record<string, unknown>;
    headers?: Record<string, string>;
    timeoutMs?: number;
    /** Whether the request has the same effect twice; by default GET, PUT and DELETE have. */
    repeat?: boolean;
    /** How often it is repeated at most; by default as the client says. */
    retries?: number;
    signal?: AbortSignal;
}
export declare const hasEnded: (task: Task) => boolean;
export declare const sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
/** The JSON of a submit. */
export declare function toBody(task: Submit): Record<string, unknown>;
/** A server of Faina. */
export declare class Client {
    readonly url: string;
    readonly namespace?: string;
    readonly schedules: Schedules;
    readonly timeoutMs: number;
    private readonly token?;
    private readonly retries;
    private readonly fetch;
    constructor(options?: ClientOptions);
    /** Stores a task. With a `key` that exists the result is the first task, with `existing`. */
    submit(type: string, input?: unknown, options?: SubmitOptions): Promise<Task>;
    /** Stores up to 10,000 tasks in one transaction. Each is accepted or refused by itself. */
    submitMany(tasks: Submit[]): Promise<Submitted[]>;
    get(id: string): Promise<Task>;
    /** All tasks that fulfil the filter, newest first, read page by page. */
    list(filter?: Filter, limit?: number): AsyncGenerator<Task>;
    /** Waits until the task has ended. TimedOut: it did not within `timeoutMs`. */
    wait(id: string, timeoutMs?: number): Promise<Task>;
    /** The output of a completed task. */
    result(id: string): Promise<any>;
    children(id: string): Promise<Task[]>;
    /** The events of a task, newest first. */
    events(id: string): Promise<Record<string, any>[]>;
    /** Why the task is not running. */
    explain(id: string): Promise<Record<string, any>>;
    cancel(id: string, options?: {
        reason?: string;
    }): Promise<Task>;
    retry(id: string, options?: {
        keepAttempts?: boolean;
        reason?: string;
    }): Promise<Task>;
    /** Changes a waiting task: name priority runAt maxAttempts timeout startBy group metadata. */
    update(id: string, changes: Partial<SubmitOptions>): Promise<Task>;
    delete(id: string, options?: {
        cancel?: boolean;
        purge?: boolean;
    }): Promise<void>;
    /** Cancels all tasks that fulfil the filter, as a stored operation. */
    cancelAll(filter: Filter, options?: {
        reason?: string;
    }): Promise<Operation>;
    retryAll(filter: Filter, options?: {
        reason?: string;
    }): Promise<Operation>;
    deleteAll(filter: Filter, options?: {
        reason?: string;
    }): Promise<Operation>;
    /** How many tasks an act on all tasks of the filter would find. */
    countMatches(act: "cancel" | "retry" | "delete", filter: Filter): Promise<number>;
    operations(): Promise<Operation[]>;
    operation(id: string): Promise<Operation>;
    /** Waits until the operation is no longer running. TimedOut: it still was after `timeoutMs`. */
    waitOperation(id: string, timeoutMs?: number): Promise<Operation>;
    /**
     * Reports an event to the workflows, and returns the ids of the tasks that it has created. A repeated `id` does
     * nothing twice.
     */
    emit(type: string, data?: unknown, options?: {
        id?: string;
        namespace?: string;
    }): Promise<string[]>;
    /** One request below /api/v1, for what has no method here. */
    request(method: string, path: string, options?: RequestOptions): Promise<any>;
    private once;
    /** All items of a list that is read in pages. */
    all(path: string, query?: Record<string, unknown>): Promise<any[]>;
    private many;
    private withNamespace;
}
/** The schedules of a client: `client.schedules.set("nightly", { schedule: "0 3 * * *", type: "report" })`. */
export declare class Schedules {
    private readonly client;
    constructor(client: Client);
    private query;
    /** Creates or replaces a schedule, which submits the task at each of its times. */
    set(name: string, definition: Schedule): Promise<Record<string, any>>;
    get(name: string): Promise<Record<string, any>>;
    list(): Promise<Record<string, any>[]>;
    /** Submits its task now. */
    run(name: string): Promise<Task>;
    remove(name: string): Promise<void>;
}
