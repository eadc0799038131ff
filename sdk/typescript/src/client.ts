import { FainaError, TimedOut, Unavailable, fromProblem, type Duration } from "./errors.js";
import { parse, stringify, type Json } from "./json.js";
import { inject } from "./tracing.js";

export type Status = "pending" | "claimed" | "running" | "blocked" | "background" | "completed" | "failed"
    | "dead_letter" | "cancelled";

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
    retry?: { base?: Duration; factor?: number; max?: Duration };
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
export type Submitted = { id: string; existing: boolean; code?: undefined }
    | { code: string; detail: string; title: string; status: number; id?: undefined };

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

const ended: ReadonlySet<string> = new Set(["completed", "failed", "dead_letter", "cancelled"]);

export const hasEnded = (task: Task): boolean => ended.has(task.status);

const environment = (name: string): string | undefined =>
    (globalThis as any).process?.env?.[name] ?? (globalThis as any).Deno?.env?.get?.(name) ?? undefined;

export const sleep = (ms: number, signal?: AbortSignal): Promise<void> => new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const end = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", end);
        resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener("abort", end);
});

/** The JSON of a submit. */
export function toBody(task: Submit): Record<string, unknown> {
    const { key, runAt, startBy, ...rest } = task;
    const body: Record<string, unknown> = { ...rest };
    if (key !== undefined) body.idempotencyKey = key;
    if (runAt !== undefined) body.runAt = runAt instanceof Date ? runAt.toISOString() : runAt;
    if (startBy !== undefined) body.startBy = startBy instanceof Date ? startBy.toISOString() : startBy;
    return body;
}

function toFilter(filter: Filter): Record<string, unknown> {
    const { metadata, ...rest } = filter;
    const names: Record<string, unknown> = {};
    for (const [name, value] of Object.entries(rest)) {
        if (value === undefined || value === null) continue;
        names[name] = Array.isArray(value) ? value.join(",") : value instanceof Date ? value.toISOString() : value;
    }
    for (const [path, value] of Object.entries(metadata ?? {})) names[`metadata.${path}`] = String(value);
    return names;
}

/** A server of Faina. */
export class Client {
    readonly url: string;
    readonly namespace?: string;
    readonly schedules: Schedules;
    readonly timeoutMs: number;
    private readonly token?: string;
    private readonly retries: number;
    private readonly fetch: typeof fetch;

    constructor(options: ClientOptions = {}) {
        this.url = (options.url ?? environment("FAINA_URL") ?? "http://127.0.0.1:7070").replace(/\/+$/, "");
        if (!/^https?:\/\//.test(this.url))
            throw new TypeError(`"${this.url}" is not the address of a server: http://HOST:PORT or https://...`);
        this.token = options.token ?? environment("FAINA_TOKEN");
        this.namespace = options.namespace ?? environment("FAINA_NAMESPACE");
        this.timeoutMs = options.timeoutMs ?? 30_000;
        this.retries = options.retries ?? 4;
        this.fetch = options.fetch ?? fetch;
        this.schedules = new Schedules(this);
    }

    /** Stores a task. With a `key` that exists the result is the first task, with `existing`. */
    submit(type: string, input?: unknown, options: SubmitOptions = {}): Promise<Task> {
        const body = this.withNamespace(toBody({ ...options, type, input }));
        return this.request("POST", "/tasks", { body, headers: inject(), repeat: body.idempotencyKey !== undefined });
    }

    /** Stores up to 10,000 tasks in one transaction. Each is accepted or refused by itself. */
    async submitMany(tasks: Submit[]): Promise<Submitted[]> {
        const bodies = tasks.map((task) => this.withNamespace(toBody(task)));
        const repeat = bodies.every((body) => "idempotencyKey" in body || "dedupe" in body);
        return (await this.request("POST", "/tasks:batch", { body: { tasks: bodies }, headers: inject(), repeat })).items;
    }

    get(id: string): Promise<Task> {
        return this.request("GET", `/tasks/${encodeURIComponent(id)}`);
    }

    /** All tasks that fulfil the filter, newest first, read page by page. */
    async *list(filter: Filter = {}, limit = Infinity): AsyncGenerator<Task> {
        const names = toFilter({ namespace: this.namespace, ...filter });
        let cursor: string | null = null;
        let count = 0;
        do {
            const query: Record<string, unknown> = { ...names, cursor, limit: Math.min(1000, limit - count) };
            const page: { items: Task[]; nextCursor: string | null } = await this.request("GET", "/tasks", { query });
            for (const task of page.items) {
                yield task;
                if (++count >= limit) return;
            }
            cursor = page.nextCursor;
        } while (cursor !== null);
    }

    /** Waits until the task has ended. TimedOut: it did not within `timeoutMs`. */
    async wait(id: string, timeoutMs = Infinity): Promise<Task> {
        const end = Date.now() + timeoutMs;
        for (;;) {
            const left = Math.max(0, Math.min(60_000, end - Date.now()));
            const task: Task = await this.request("GET", `/tasks/${encodeURIComponent(id)}/wait`,
                { query: { timeout: `${Math.round(left)}ms` }, timeoutMs: this.timeoutMs + left });
            if (hasEnded(task)) return task;
            if (Date.now() >= end) throw new TimedOut(`task ${id} is still ${task.status}`);
        }
    }

    /** The output of a completed task. */
    result(id: string): Promise<any> {
        return this.request("GET", `/tasks/${encodeURIComponent(id)}/result`);
    }

    children(id: string): Promise<Task[]> {
        return this.all(`/tasks/${encodeURIComponent(id)}/children`);
    }

    /** The events of a task, newest first. */
    events(id: string): Promise<Record<string, any>[]> {
        return this.all(`/tasks/${encodeURIComponent(id)}/events`);
    }

    /** Why the task is not running. */
    explain(id: string): Promise<Record<string, any>> {
        return this.request("GET", `/tasks/${encodeURIComponent(id)}/explain`);
    }

    cancel(id: string, options: { reason?: string } = {}): Promise<Task> {
        return this.request("POST", `/tasks/${encodeURIComponent(id)}:cancel`, { body: options, repeat: true });
    }

    retry(id: string, options: { keepAttempts?: boolean; reason?: string } = {}): Promise<Task> {
        const { keepAttempts, ...rest } = options;
        return this.request("POST", `/tasks/${encodeURIComponent(id)}:retry`,
            { body: { resetAttempts: !keepAttempts, ...rest } });
    }

    /** Changes a waiting task: name priority runAt maxAttempts timeout startBy group metadata. */
    update(id: string, changes: Partial<SubmitOptions>): Promise<Task> {
        const { type: _, ...body } = toBody({ type: "", ...changes });
        return this.request("PATCH", `/tasks/${encodeURIComponent(id)}`, { body });
    }

    async delete(id: string, options: { cancel?: boolean; purge?: boolean } = {}): Promise<void> {
        const query = { cancel: options.cancel || undefined, purge: options.purge || undefined };
        await this.request("DELETE", `/tasks/${encodeURIComponent(id)}`, { query });
    }

    /** Cancels all tasks that fulfil the filter, as a stored operation. */
    cancelAll(filter: Filter, options: { reason?: string } = {}): Promise<Operation> {
        return this.many("cancel", filter, options);
    }

    retryAll(filter: Filter, options: { reason?: string } = {}): Promise<Operation> {
        return this.many("retry", filter, options);
    }

    deleteAll(filter: Filter, options: { reason?: string } = {}): Promise<Operation> {
        return this.many("delete", filter, options);
    }

    /** How many tasks an act on all tasks of the filter would find. */
    async countMatches(act: "cancel" | "retry" | "delete", filter: Filter): Promise<number> {
        const body = { filter: toFilter({ namespace: this.namespace, ...filter }), dryRun: true };
        return (await this.request("POST", `/tasks:${act}`, { body })).matched;
    }

    operations(): Promise<Operation[]> {
        return this.all("/operations");
    }

    operation(id: string): Promise<Operation> {
        return this.request("GET", `/operations/${encodeURIComponent(id)}`);
    }

    /** Waits until the operation is no longer running. TimedOut: it still was after `timeoutMs`. */
    async waitOperation(id: string, timeoutMs = Infinity): Promise<Operation> {
        const end = Date.now() + timeoutMs;
        for (let pause = 50; ; pause = Math.min(1000, pause * 1.5)) {
            const operation = await this.operation(id);
            if (operation.status !== "running") return operation;
            if (Date.now() >= end) throw new TimedOut(`operation ${id} is still running`);
            await sleep(pause);
        }
    }

    /**
     * Reports an event to the workflows, and returns the ids of the tasks that it has created. A repeated `id` does
     * nothing twice.
     */
    async emit(type: string, data: unknown = {}, options: { id?: string; namespace?: string } = {}): Promise<string[]> {
        const body = this.withNamespace({ type, data, ...options });
        return (await this.request("POST", "/events", { body, repeat: options.id !== undefined })).tasks;
    }

    /** One request below /api/v1, for what has no method here. */
    async request(method: string, path: string, options: RequestOptions = {}): Promise<any> {
        const repeat = options.repeat ?? ["GET", "PUT", "DELETE"].includes(method);
        const query = new URLSearchParams();
        for (const [name, value] of Object.entries(options.query ?? {}))
            if (value !== undefined && value !== null) query.set(name, String(value));
        const target = `${this.url}/api/v1${path}${query.size > 0 || query.toString() !== "" ? `?${query}` : ""}`;
        const headers: Record<string, string> = { Accept: "application/json", ...options.headers };
        if (options.body !== undefined) headers["Content-Type"] = "application/json";
        if (this.token !== undefined) headers.Authorization = `Bearer ${this.token}`;
        const body = options.body === undefined ? undefined : stringify(options.body);
        for (let attempt = 0; ; attempt++) {
            try {
                return await this.once(method, target, headers, body, options);
            } catch (error) {
                if (!(error instanceof FainaError) || attempt >= (options.retries ?? this.retries) || options.signal?.aborted) throw error;
                const isRefused = error.status === 429 || error.status === 503;
                const may = isRefused || error instanceof Unavailable && (repeat || error.code === "not_sent");
                if (!may) throw error;
                const seconds = error.retryAfterSeconds ?? Math.min(5, 0.1 * 2 ** attempt) * (0.5 + Math.random() / 2);
                await sleep(seconds * 1000, options.signal);
            }
        }
    }

    private async once(method: string, target: string, headers: Record<string, string>, body: string | undefined,
                       options: RequestOptions): Promise<any> {
        const stop = new AbortController();
        const abort = () => stop.abort();
        const timer = setTimeout(abort, options.timeoutMs ?? this.timeoutMs);
        options.signal?.addEventListener("abort", abort);
        if (options.signal?.aborted) abort();
        let answer: Response;
        let text: string;
        try {
            answer = await this.fetch(target, { method, headers, body, signal: stop.signal });
            text = await answer.text();
        } catch (error: any) {
            const cause = error?.cause?.code ?? error?.cause?.message ?? error?.message ?? String(error);
            const isSent = !["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN"].includes(cause);
            throw new Unavailable(`${this.url}: ${cause}`, isSent ? "unknown" : "not_sent");
        } finally {
            clearTimeout(timer);
            options.signal?.removeEventListener("abort", abort);
        }
        if (answer.ok) return text === "" ? null : parse(text);
        let problem: unknown;
        try {
            problem = parse(text);
        } catch {
            problem = { detail: text.slice(0, 200) };
        }
        throw fromProblem(answer.status, problem, answer.headers.get("Retry-After"));
    }

    /** All items of a list that is read in pages. */
    async all(path: string, query: Record<string, unknown> = {}): Promise<any[]> {
        const items: any[] = [];
        let cursor: string | null | undefined = null;
        do {
            const page: any = await this.request("GET", path, { query: { ...query, cursor } });
            items.push(...page.items);
            cursor = page.nextCursor;
        } while (cursor !== null && cursor !== undefined);
        return items;
    }

    private async many(kind: string, filter: Filter, options: { reason?: string }): Promise<Operation> {
        const body = { filter: toFilter({ namespace: this.namespace, ...filter }), ...options };
        return (await this.request("POST", `/tasks:${kind}`, { body })).operation;
    }

    private withNamespace<Body extends Record<string, unknown>>(body: Body): Body {
        return this.namespace !== undefined && body.namespace === undefined ? { ...body, namespace: this.namespace } : body;
    }
}

/** The schedules of a client: `client.schedules.set("nightly", { schedule: "0 3 * * *", type: "report" })`. */
export class Schedules {
    constructor(private readonly client: Client) {}

    private query() {
        return { namespace: this.client.namespace };
    }

    /** Creates or replaces a schedule, which submits the task at each of its times. */
    set(name: string, definition: Schedule): Promise<Record<string, any>> {
        const { type, input, options, ...rest } = definition;
        const body = { ...rest, task: toBody({ ...options, type, input }), namespace: this.client.namespace };
        return this.client.request("PUT", `/crons/${encodeURIComponent(name)}`, { body });
    }

    get(name: string): Promise<Record<string, any>> {
        return this.client.request("GET", `/crons/${encodeURIComponent(name)}`, { query: this.query() });
    }

    list(): Promise<Record<string, any>[]> {
        return this.client.all("/crons", this.query());
    }

    /** Submits its task now. */
    run(name: string): Promise<Task> {
        return this.client.request("POST", `/crons/${encodeURIComponent(name)}:run`, { query: this.query() });
    }

    async remove(name: string): Promise<void> {
        await this.client.request("DELETE", `/crons/${encodeURIComponent(name)}`, { query: this.query() });
    }
}
