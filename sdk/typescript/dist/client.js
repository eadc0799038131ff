import { FainaError, TimedOut, Unavailable, fromProblem } from "./errors.js";
import { parse, stringify } from "./json.js";
import { inject } from "./tracing.js";
const ended = new Set(["completed", "failed", "dead_letter", "cancelled"]);
export const hasEnded = (task) => ended.has(task.status);
const environment = (name) => globalThis.process?.env?.[name] ?? globalThis.Deno?.env?.get?.(name) ?? undefined;
export const sleep = (ms, signal) => new Promise((resolve) => {
    if (signal?.aborted)
        return resolve();
    const end = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", end);
        resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener("abort", end);
});
/** The JSON of a submit. */
export function toBody(task) {
    const { key, runAt, startBy, ...rest } = task;
    const body = { ...rest };
    if (key !== undefined)
        body.idempotencyKey = key;
    if (runAt !== undefined)
        body.runAt = runAt instanceof Date ? runAt.toISOString() : runAt;
    if (startBy !== undefined)
        body.startBy = startBy instanceof Date ? startBy.toISOString() : startBy;
    return body;
}
function toFilter(filter) {
    const { metadata, ...rest } = filter;
    const names = {};
    for (const [name, value] of Object.entries(rest)) {
        if (value === undefined || value === null)
            continue;
        names[name] = Array.isArray(value) ? value.join(",") : value instanceof Date ? value.toISOString() : value;
    }
    for (const [path, value] of Object.entries(metadata ?? {}))
        names[`metadata.${path}`] = String(value);
    return names;
}
/** A server of Faina. */
export class Client {
    url;
    namespace;
    schedules;
    timeoutMs;
    token;
    retries;
    fetch;
    constructor(options = {}) {
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
    submit(type, input, options = {}) {
        const body = this.withNamespace(toBody({ ...options, type, input }));
        return this.request("POST", "/tasks", { body, headers: inject(), repeat: body.idempotencyKey !== undefined });
    }
    /** Stores up to 10,000 tasks in one transaction. Each is accepted or refused by itself. */
    async submitMany(tasks) {
        const bodies = tasks.map((task) => this.withNamespace(toBody(task)));
        const repeat = bodies.every((body) => "idempotencyKey" in body || "dedupe" in body);
        return (await this.request("POST", "/tasks:batch", { body: { tasks: bodies }, headers: inject(), repeat })).items;
    }
    get(id) {
        return this.request("GET", `/tasks/${encodeURIComponent(id)}`);
    }
    /** All tasks that fulfil the filter, newest first, read page by page. */
    async *list(filter = {}, limit = Infinity) {
        const names = toFilter({ namespace: this.namespace, ...filter });
        let cursor = null;
        let count = 0;
        do {
            const query = { ...names, cursor, limit: Math.min(1000, limit - count) };
            const page = await this.request("GET", "/tasks", { query });
            for (const task of page.items) {
                yield task;
                if (++count >= limit)
                    return;
            }
            cursor = page.nextCursor;
        } while (cursor !== null);
    }
    /** Waits until the task has ended. TimedOut: it did not within `timeoutMs`. */
    async wait(id, timeoutMs = Infinity) {
        const end = Date.now() + timeoutMs;
        for (;;) {
            const left = Math.max(0, Math.min(60_000, end - Date.now()));
            const task = await this.request("GET", `/tasks/${encodeURIComponent(id)}/wait`, { query: { timeout: `${Math.round(left)}ms` }, timeoutMs: this.timeoutMs + left });
            if (hasEnded(task))
                return task;
            if (Date.now() >= end)
                throw new TimedOut(`task ${id} is still ${task.status}`);
        }
    }
    /** The output of a completed task. */
    result(id) {
        return this.request("GET", `/tasks/${encodeURIComponent(id)}/result`);
    }
    children(id) {
        return this.all(`/tasks/${encodeURIComponent(id)}/children`);
    }
    /** The events of a task, newest first. */
    events(id) {
        return this.all(`/tasks/${encodeURIComponent(id)}/events`);
    }
    /** Why the task is not running. */
    explain(id) {
        return this.request("GET", `/tasks/${encodeURIComponent(id)}/explain`);
    }
    cancel(id, options = {}) {
        return this.request("POST", `/tasks/${encodeURIComponent(id)}:cancel`, { body: options, repeat: true });
    }
    retry(id, options = {}) {
        const { keepAttempts, ...rest } = options;
        return this.request("POST", `/tasks/${encodeURIComponent(id)}:retry`, { body: { resetAttempts: !keepAttempts, ...rest } });
    }
    /** Changes a waiting task: name priority runAt maxAttempts timeout startBy group metadata. */
    update(id, changes) {
        const { type: _, ...body } = toBody({ type: "", ...changes });
        return this.request("PATCH", `/tasks/${encodeURIComponent(id)}`, { body });
    }
    async delete(id, options = {}) {
        const query = { cancel: options.cancel || undefined, purge: options.purge || undefined };
        await this.request("DELETE", `/tasks/${encodeURIComponent(id)}`, { query });
    }
    /** Cancels all tasks that fulfil the filter, as a stored operation. */
    cancelAll(filter, options = {}) {
        return this.many("cancel", filter, options);
    }
    retryAll(filter, options = {}) {
        return this.many("retry", filter, options);
    }
    deleteAll(filter, options = {}) {
        return this.many("delete", filter, options);
    }
    /** How many tasks an act on all tasks of the filter would find. */
    async countMatches(act, filter) {
        const body = { filter: toFilter({ namespace: this.namespace, ...filter }), dryRun: true };
        return (await this.request("POST", `/tasks:${act}`, { body })).matched;
    }
    operations() {
        return this.all("/operations");
    }
    operation(id) {
        return this.request("GET", `/operations/${encodeURIComponent(id)}`);
    }
    /** Waits until the operation is no longer running. TimedOut: it still was after `timeoutMs`. */
    async waitOperation(id, timeoutMs = Infinity) {
        const end = Date.now() + timeoutMs;
        for (let pause = 50;; pause = Math.min(1000, pause * 1.5)) {
            const operation = await this.operation(id);
            if (operation.status !== "running")
                return operation;
            if (Date.now() >= end)
                throw new TimedOut(`operation ${id} is still running`);
            await sleep(pause);
        }
    }
    /**
     * Reports an event to the workflows, and returns the ids of the tasks that it has created. A repeated `id` does
     * nothing twice.
     */
    async emit(type, data = {}, options = {}) {
        const body = this.withNamespace({ type, data, ...options });
        return (await this.request("POST", "/events", { body, repeat: options.id !== undefined })).tasks;
    }
    /** One request below /api/v1, for what has no method here. */
    async request(method, path, options = {}) {
        const repeat = options.repeat ?? ["GET", "PUT", "DELETE"].includes(method);
        const query = new URLSearchParams();
        for (const [name, value] of Object.entries(options.query ?? {}))
            if (value !== undefined && value !== null)
                query.set(name, String(value));
        const target = `${this.url}/api/v1${path}${query.size > 0 || query.toString() !== "" ? `?${query}` : ""}`;
        const headers = { Accept: "application/json", ...options.headers };
        if (options.body !== undefined)
            headers["Content-Type"] = "application/json";
        if (this.token !== undefined)
            headers.Authorization = `Bearer ${this.token}`;
        const body = options.body === undefined ? undefined : stringify(options.body);
        for (let attempt = 0;; attempt++) {
            try {
                return await this.once(method, target, headers, body, options);
            }
            catch (error) {
                if (!(error instanceof FainaError) || attempt >= (options.retries ?? this.retries) || options.signal?.aborted)
                    throw error;
                const isRefused = error.status === 429 || error.status === 503;
                const may = isRefused || error instanceof Unavailable && (repeat || error.code === "not_sent");
                if (!may)
                    throw error;
                const seconds = error.retryAfterSeconds ?? Math.min(5, 0.1 * 2 ** attempt) * (0.5 + Math.random() / 2);
                await sleep(seconds * 1000, options.signal);
            }
        }
    }
    async once(method, target, headers, body, options) {
        const stop = new AbortController();
        const abort = () => stop.abort();
        const timer = setTimeout(abort, options.timeoutMs ?? this.timeoutMs);
        options.signal?.addEventListener("abort", abort);
        if (options.signal?.aborted)
            abort();
        let answer;
        let text;
        try {
            answer = await this.fetch(target, { method, headers, body, signal: stop.signal });
            text = await answer.text();
        }
        catch (error) {
            const cause = error?.cause?.code ?? error?.cause?.message ?? error?.message ?? String(error);
            const isSent = !["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN"].includes(cause);
            throw new Unavailable(`${this.url}: ${cause}`, isSent ? "unknown" : "not_sent");
        }
        finally {
            clearTimeout(timer);
            options.signal?.removeEventListener("abort", abort);
        }
        if (answer.ok)
            return text === "" ? null : parse(text);
        let problem;
        try {
            problem = parse(text);
        }
        catch {
            problem = { detail: text.slice(0, 200) };
        }
        throw fromProblem(answer.status, problem, answer.headers.get("Retry-After"));
    }
    /** All items of a list that is read in pages. */
    async all(path, query = {}) {
        const items = [];
        let cursor = null;
        do {
            const page = await this.request("GET", path, { query: { ...query, cursor } });
            items.push(...page.items);
            cursor = page.nextCursor;
        } while (cursor !== null && cursor !== undefined);
        return items;
    }
    async many(kind, filter, options) {
        const body = { filter: toFilter({ namespace: this.namespace, ...filter }), ...options };
        return (await this.request("POST", `/tasks:${kind}`, { body })).operation;
    }
    withNamespace(body) {
        return this.namespace !== undefined && body.namespace === undefined ? { ...body, namespace: this.namespace } : body;
    }
}
/** The schedules of a client: `client.schedules.set("nightly", { schedule: "0 3 * * *", type: "report" })`. */
export class Schedules {
    client;
    constructor(client) {
        this.client = client;
    }
    query() {
        return { namespace: this.client.namespace };
    }
    /** Creates or replaces a schedule, which submits the task at each of its times. */
    set(name, definition) {
        const { type, input, options, ...rest } = definition;
        const body = { ...rest, task: toBody({ ...options, type, input }), namespace: this.client.namespace };
        return this.client.request("PUT", `/crons/${encodeURIComponent(name)}`, { body });
    }
    get(name) {
        return this.client.request("GET", `/crons/${encodeURIComponent(name)}`, { query: this.query() });
    }
    list() {
        return this.client.all("/crons", this.query());
    }
    /** Submits its task now. */
    run(name) {
        return this.client.request("POST", `/crons/${encodeURIComponent(name)}:run`, { query: this.query() });
    }
    async remove(name) {
        await this.client.request("DELETE", `/crons/${encodeURIComponent(name)}`, { query: this.query() });
    }
}
