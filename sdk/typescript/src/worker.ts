/**
 * A worker: claims tasks, runs handlers, and reports how they end.
 *
 * Loops of a running worker, all in one thread:
 *
 *   claim      claims ahead of need, at most `prefetch` tasks more than run
 *   heartbeat  renews the leases of all held tasks in one request, and learns which are lost
 *   send       reports starts, progress and outcomes: all that have accumulated, in one request
 *   log        sends log lines
 *
 * An attempt ends once, in `end`, whatever comes first: its handler, a lost lease, the end of a drain.
 */
import { Client, sleep, toBody, type Submit, type Task } from "./client.js";
import { FainaError, Permanent, Retry, Unavailable, type Duration } from "./errors.js";
import { stringify, type Json } from "./json.js";
import { continued, inContextOf } from "./tracing.js";

/** Returned by a handler: run the task again after this. No attempt is counted. */
export class Snooze {
    constructor(readonly duration: Duration) {}
}

/**
 * Returned by a handler: wait for these tasks. When all have ended the handler runs again; `context.phase` is then
 * `resume`.
 */
export class Subtasks {
    constructor(readonly tasks: Submit[], readonly options: { failFast?: boolean } = {}) {}
}

/**
 * Returned by a handler: the work continues elsewhere. No worker holds the task any more; it ends by a call of
 * `:complete` or `:fail`, or fails after `timeout`.
 */
export class Background {
    constructor(readonly reason = "", readonly timeout: Duration = "1h") {}
}

export type StopReason = "cancelled" | "lost" | "stopped";
export type Handler<Input = any> = (input: Input, context: Context<Input>) => unknown;

export interface WorkerOptions {
    /** How many tasks run at once; 10 by default. */
    concurrency?: number;
    /** By default host, process and a random number. */
    name?: string;
    /** Seconds for which a claim holds a task; 30 by default. It is renewed every third of that. */
    lease?: number;
    /** Seconds that running tasks may take to finish after a stop; 25 by default. */
    drain?: number;
    /** How many tasks are claimed ahead; by default as many as run at once, at most 100. */
    prefetch?: number;
    namespaces?: string[];
    services?: string[];
    /** Gets warnings; console.warn by default. */
    warn?: (text: string) => void;
}

/** The attempt of a handler. */
export class Context<Input = any> {
    readonly task: Task<Input>;
    /** Aborted when the work is not wanted any more: stop soon. What the handler returns is ignored. */
    readonly signal: AbortSignal;
    /** Why the signal was aborted. */
    why: StopReason | null = null;
    /** Of the worker: when the lease was last renewed, by performance.now(). */
    renewed = 0;
    private readonly controller = new AbortController();

    constructor(task: Task<Input>, private readonly worker: Pick<Worker, "client" | "report" | "log">) {
        this.task = task;
        this.signal = this.controller.signal;
    }

    get id(): string {
        return this.task.id;
    }

    get attempt(): number {
        return this.task.attempts;
    }

    /** Grows with each claim. Pass it on to systems that must refuse an attempt that has lost its lease. */
    get fence(): number {
        return this.task.fence;
    }

    get phase(): "start" | "resume" | "error" {
        return this.task.phase;
    }

    /** The subtasks, in the phases `resume` and `error`. */
    subtasks(): Promise<Task[]> {
        return this.worker.client.children(this.id);
    }

    /** Reports progress; returns at once. `metadata` is merged into that of the task. */
    progress(percent?: number, state?: string, metadata?: Record<string, Json>): void {
        this.worker.report(this, "progress", { progress: percent, state, metadata });
    }

    /** Adds a line to the log of the attempt. */
    log(line: string): void {
        this.worker.log(this, line);
    }

    /** Waits; true as soon as the work is not wanted any more. */
    async sleep(ms: number): Promise<boolean> {
        await sleep(ms, this.signal);
        return this.signal.aborted;
    }

    /** Of the worker. */
    stop(why: StopReason): void {
        this.why ??= why;
        this.controller.abort(new Error(why));
    }
}

interface Act {
    context: Context;
    act: string;
    body: Record<string, unknown>;
}

const HEARTBEAT_MS_MAX = 5000; // how soon a cancellation arrives
const HEARTBEAT_AGAIN_MS = 1000; // until the next one after a failure
const LEASE_SAFE = 0.9; // the part of a lease after which a handler is stopped if the lease could not be renewed
const UNREGISTER_MS_MAX = 5000; // of the last request of stop()
// The engine's words for an act that comes too late.
const LATE = new Set(["wrong_worker", "task_not_claimed", "task_not_found", "task_completed", "task_failed",
    "task_already_claimed", "invalid_transition"]);

const keyOf = (context: Context): string => `${context.id} ${context.fence}`;

/** Runs handlers for the tasks of a server. */
export class Worker {
    readonly client: Client;
    readonly name: string;
    readonly concurrency: number;
    private readonly leaseMs: number;
    private readonly drainMs: number;
    private readonly prefetch: number;
    private readonly options: WorkerOptions;
    private readonly warn: (text: string) => void;
    private readonly handlers = new Map<string, { type: string; run: Handler; onError?: Handler }>();
    private readonly held = new Map<string, Context>();
    private readonly running = new Set<string>();
    private readonly waiting: Context[] = [];
    private acts: Act[] = [];
    private logs: { context: Context; line: string }[] = [];
    private isSending = false;
    private isLogging = false;
    private isStarted = false;
    private readonly stopping = new AbortController();
    private readonly stopped = new AbortController();
    private wakers: (() => void)[] = [];

    constructor(client: Client = new Client(), options: WorkerOptions = {}) {
        this.client = client;
        this.options = options;
        this.concurrency = options.concurrency ?? 10;
        this.leaseMs = (options.lease ?? 30) * 1000;
        this.drainMs = (options.drain ?? 25) * 1000;
        this.prefetch = options.prefetch ?? Math.min(this.concurrency, 100);
        const host = (globalThis as any).process?.env?.HOSTNAME ?? "worker";
        const pid = (globalThis as any).process?.pid ?? 0;
        this.name = options.name ?? `${host}-${pid}-${Math.random().toString(16).slice(2, 10)}`;
        this.warn = options.warn ?? ((text) => console.warn(`faina: ${text}`));
    }

    /**
     * Registers a handler. It gets the input and the context; what it returns is the output. `onError` runs when a subtask
     * has not completed; without it the task fails.
     */
    task<Input = any>(type: string, run: Handler<Input>, options: { onError?: Handler<Input> } = {}): this {
        if (this.handlers.has(type.toLowerCase())) throw new TypeError(`"${type}" has a handler already`);
        this.handlers.set(type.toLowerCase(), { type, run, onError: options.onError });
        return this;
    }

    /** Works until stop(), SIGTERM or Ctrl-C, and then drains. */
    async run(): Promise<void> {
        const process = (globalThis as any).process;
        const end = () => this.stopping.abort();
        for (const name of ["SIGTERM", "SIGINT"]) process?.on?.(name, end);
        try {
            this.start();
            while (!this.stopping.signal.aborted) await sleep(60_000, this.stopping.signal);
            await this.stop();
        } finally {
            for (const name of ["SIGTERM", "SIGINT"]) process?.off?.(name, end);
        }
    }

    /** Begins to work; returns at once. */
    start(): this {
        if (this.handlers.size === 0) throw new TypeError("the worker has no handlers: register them with task()");
        if (this.isStarted) throw new TypeError("the worker was started already");
        this.isStarted = true;
        void this.claimLoop();
        void this.heartbeatLoop();
        return this;
    }

    /**
     * Claims nothing more, returns tasks that have not started, waits up to `drain` seconds for running ones, and stops
     * the rest. The attempts of these are not counted.
     */
    async stop(drain = this.drainMs / 1000): Promise<void> {
        if (this.stopped.signal.aborted) return;
        this.stopping.abort();
        this.waiting.length = 0;
        for (const context of this.held.values())
            if (!this.running.has(keyOf(context))) this.end(context, "release", {});
        const end = performance.now() + drain * 1000;
        while (this.held.size > 0 && performance.now() < end) await this.changed(end - performance.now());
        for (const context of [...this.held.values()]) {
            this.end(context, "snooze", { for: "0s" });
            context.stop("stopped");
        }
        const last = performance.now() + 5000;
        while ((this.acts.length > 0 || this.isSending) && performance.now() < last) await this.changed(100);
        this.stopped.abort();
        try {
            await this.client.request("DELETE", `/workers/${encodeURIComponent(this.name)}`,
                { retries: 0, timeoutMs: UNREGISTER_MS_MAX });
        } catch (error) {
            if (!(error instanceof FainaError)) throw error;
        }
    }

    /** Runs the handler of `type` once, without a server, and returns what it returns. For tests. */
    async runInline(type: string, input?: unknown, members: Partial<Task> = {}): Promise<any> {
        const handler = this.handlers.get(type.toLowerCase());
        if (handler === undefined) throw new TypeError(`"${type}" has no handler`);
        const task = { id: "00000000-0000-7000-8000-000000000000", type, namespace: "default", input, attempts: 1, fence: 1,
            phase: "start", metadata: {}, status: "running", ...members } as Task;
        return handler.run(input, new Context(task, { client: this.client, report() {}, log() {} }));
    }

    /** Of contexts: adds a report of the attempt. */
    report(context: Context, act: string, body: Record<string, unknown>): void {
        this.acts.push({ context, act, body });
        if (!this.isSending) {
            this.isSending = true;
            queueMicrotask(() => void this.send());
        }
    }

    /** Of contexts. */
    log(context: Context, line: string): void {
        this.logs.push({ context, line });
        if (!this.isLogging) {
            this.isLogging = true;
            queueMicrotask(() => void this.sendLogs());
        }
    }

    // -------------------------------------------------------------------------------- claims

    private changed(ms: number): Promise<void> {
        return new Promise((resolve) => {
            const timer = setTimeout(resolve, Math.max(1, ms));
            this.wakers.push(() => {
                clearTimeout(timer);
                resolve();
            });
        });
    }

    private wake(): void {
        const wakers = this.wakers;
        this.wakers = [];
        for (const waker of wakers) waker();
    }

    private async claimLoop(): Promise<void> {
        const signal = this.stopping.signal;
        const types = [...this.handlers.values()].map((handler) => handler.type);
        let failures = 0;
        while (!signal.aborted) {
            const room = this.concurrency + this.prefetch - this.held.size;
            if (room <= 0) {
                await this.changed(1000);
                continue;
            }
            const body = { workerId: this.name, types, limit: Math.min(room, 1000), leaseSeconds: this.leaseMs / 1000,
                waitSeconds: 20, namespaces: this.options.namespaces, services: this.options.services };
            try {
                const answer = await this.client.request("POST", "/claims",
                    { body, timeoutMs: this.client.timeoutMs + 20_000, signal });
                failures = 0;
                for (const task of answer.tasks) this.accept(task);
            } catch (error) {
                if (!(error instanceof FainaError)) throw error;
                if (signal.aborted) return;
                if (++failures === 1 || failures % 10 === 0) this.warn(`can't claim tasks: ${error.message}`);
                const seconds = error.retryAfterSeconds ?? Math.min(10, 0.1 * 2 ** failures) * (0.5 + Math.random() / 2);
                await sleep(seconds * 1000, signal);
            }
        }
    }

    private accept(task: Task): void {
        const context = new Context(task, this);
        context.renewed = performance.now();
        this.held.set(keyOf(context), context);
        if (this.stopping.signal.aborted || !this.handlers.has(task.type.toLowerCase())) {
            this.end(context, "release", {});
            return;
        }
        this.waiting.push(context);
        this.fill();
    }

    private fill(): void {
        while (this.running.size < this.concurrency && this.waiting.length > 0) {
            const context = this.waiting.shift()!;
            const key = keyOf(context);
            if (this.held.get(key) !== context) continue; // it was lost meanwhile
            this.running.add(key);
            this.report(context, "start", { leaseSeconds: this.leaseMs / 1000 });
            void this.attempt(context);
        }
    }

    // -------------------------------------------------------------------------------- attempts

    private async attempt(context: Context): Promise<void> {
        const handler = this.handlers.get(context.task.type.toLowerCase())!;
        try {
            let run = handler.run;
            if (context.phase === "error") {
                if (handler.onError === undefined) throw await this.subtaskFailure(context);
                run = handler.onError;
            }
            const value = await inContextOf(context.task.traceparent ?? context.task.metadata?.traceparent, () => run(context.task.input, context));
            this.returned(context, value);
        } catch (error) {
            this.failed(context, error);
        }
    }

    private async subtaskFailure(context: Context): Promise<Permanent> {
        const bad = (await context.subtasks()).filter((task) => task.status !== "completed")
            .map((task) => `${task.type} ${task.id} is ${task.status}`);
        return new Permanent(`a subtask has not completed: ${bad.slice(0, 5).join(", ")}`, { kind: "subtask_failed" });
    }

    private returned(context: Context, value: unknown): void {
        if (context.signal.aborted) return this.end(context, null, {}); // it may be half of the work
        if (value instanceof Snooze) return this.end(context, "snooze", { for: value.duration });
        if (value instanceof Background)
            return this.end(context, "background", { reason: value.reason, timeout: value.timeout });
        if (value instanceof Subtasks)
            return this.end(context, "block", { ...value.options, subtasks: value.tasks.map((task) => continued(toBody(task), context.task.traceparent)) });
        try {
            stringify(value);
        } catch (error: any) {
            return this.failed(context, new Permanent(`the handler returned what is no JSON: ${error.message}`,
                { kind: "invalid_output" }));
        }
        this.end(context, "complete", value === undefined || value === null ? {} : { output: value });
    }

    private failed(context: Context, thrown: unknown): void {
        if (context.signal.aborted) return this.end(context, null, {});
        const error = thrown instanceof Error ? thrown : new Error(String(thrown));
        const body: Record<string, unknown> = { message: error.message || error.name };
        if (error instanceof Retry || error instanceof Permanent) {
            const { kind, detail } = error.options;
            if (kind !== undefined) body.kind = kind;
            if (detail !== undefined) body.detail = detail;
            if (error instanceof Permanent) body.retryable = false;
            else if (error.options.after !== undefined)
                body.retryAfter = error.options.after instanceof Date ? error.options.after.toISOString() : error.options.after;
        } else {
            body.kind = error.name;
            body.detail = { stack: (error.stack ?? "").slice(0, 8000) };
        }
        this.end(context, "fail", { error: body });
    }

    /** Ends the attempt, unless it has ended. act null: nothing is reported. */
    private end(context: Context, act: string | null, body: Record<string, unknown>): void {
        const key = keyOf(context);
        this.running.delete(key);
        if (this.held.delete(key) && act !== null) this.report(context, act, body);
        this.fill();
        this.wake();
    }

    // -------------------------------------------------------------------------------- reports

    private async send(): Promise<void> {
        while (this.acts.length > 0) {
            const batch = this.acts.splice(0, 500);
            const ended = new Set(batch.filter(({ act }) => act === "complete" || act === "fail")
                .map(({ context }) => context));
            // A start whose outcome is in the same request has no reader.
            await this.sendBatch(batch.filter(({ act, context }) => act !== "start" || !ended.has(context)));
        }
        this.isSending = false;
        this.wake();
    }

    private bodyOf({ context, body }: Act): Record<string, unknown> {
        return { workerId: this.name, fence: context.fence, ...body };
    }

    /** Sends until the server has answered. All acts may be repeated: their fences make them harmless. */
    private async sendBatch(batch: Act[]): Promise<void> {
        for (let failures = 0; batch.length > 0;) {
            try {
                if (batch.length === 1) {
                    const [one] = batch;
                    await this.client.request("POST", `/tasks/${one.context.id}:${one.act}`,
                        { body: this.bodyOf(one), repeat: true });
                    return;
                }
                const items = batch.map((one) => ({ id: one.context.id, act: one.act, body: this.bodyOf(one) }));
                const answer = await this.client.request("POST", "/acts", { body: { items }, repeat: true });
                // An item that was refused for another reason than lateness is sent again by itself.
                for (const [i, item] of answer.items.entries()) {
                    if (LATE.has(item.code)) this.refused(batch[i], item.code, item.detail);
                    else if (item.code !== undefined) await this.sendBatch([batch[i]]);
                }
                return;
            } catch (error) {
                if (!(error instanceof FainaError)) throw error;
                if (batch.length === 1 && LATE.has(error.code)) return this.refused(batch[0], error.code, error.message);
                if (!(error instanceof Unavailable) && error.status !== 429 && error.status !== 503) {
                    if (batch.length > 1) { // one act may be what the server refuses
                        for (const one of batch) await this.sendBatch([one]);
                        return;
                    }
                    const [one] = batch;
                    this.warn(`task ${one.context.id}: ${one.act} was refused: ${error.message}`);
                    if (["fail", "start", "progress"].includes(one.act)) return;
                    batch = [{ context: one.context, act: "fail", body: { error: { message:
                        `${one.act} was refused: ${error.message}`, kind: error.code || "refused", retryable: false } } }];
                    continue;
                }
                if (++failures === 1 || failures % 10 === 0) this.warn(`can't report outcomes: ${error.message}`);
                if (this.stopped.signal.aborted) return;
                await sleep(Math.min(5000, 100 * 2 ** failures));
            }
        }
    }

    /** The engine doesn't accept an act of this attempt: the lease was lost, or the task was cancelled. */
    private refused({ context, act }: Act, code: string, detail: string): void {
        if (act === "start" || act === "progress") {
            if (this.held.has(keyOf(context))) this.lose(context, "lost");
        } else if (act !== "release") {
            this.warn(`task ${context.id}: the ${act} of attempt ${context.attempt} came too late: ${detail ?? code}`);
        }
    }

    private lose(context: Context, why: StopReason): void {
        context.stop(why);
        if (!this.running.has(keyOf(context))) this.end(context, null, {});
    }

    // -------------------------------------------------------------------------------- leases

    private async heartbeatLoop(): Promise<void> {
        const body = { hostname: (globalThis as any).process?.env?.HOSTNAME, poolSize: this.concurrency,
            types: [...this.handlers.values()].map((handler) => handler.type), leaseSeconds: this.leaseMs / 1000,
            services: this.options.services };
        const path = `/workers/${encodeURIComponent(this.name)}`;
        while (!this.stopped.signal.aborted) {
            const begin = performance.now();
            let pause = Math.min(this.leaseMs / 3, HEARTBEAT_MS_MAX);
            const held = [...this.held.values()].filter((context) => context.why === null);
            const tasks = held.map((context) => ({ id: context.id, fence: context.fence }));
            // A server that doesn't answer must not delay the end of handlers whose lease ends.
            const timeoutMs = Math.min(this.client.timeoutMs, this.leaseMs / 3, Math.max(100, this.leaseLeft(held)));
            try {
                const answer = await this.client.request("PUT", path,
                    { body: { ...body, tasks }, signal: this.stopped.signal, retries: 0, timeoutMs });
                const losses = new Map<string, StopReason>(answer.losses.map(
                    (loss: { id: string; fence: number; why: StopReason }) => [`${loss.id} ${loss.fence}`, loss.why]));
                for (const context of held) {
                    context.renewed = begin;
                    const why = losses.get(keyOf(context));
                    if (why !== undefined && this.held.has(keyOf(context))) this.lose(context, why);
                }
            } catch (error) {
                if (!(error instanceof FainaError)) throw error;
                if (this.stopped.signal.aborted) return;
                this.warn(`can't renew leases: ${error.message}`);
                for (const context of held) if (this.leaseLeft([context]) <= 0) this.lose(context, "lost");
                const left = this.leaseLeft(held.filter((context) => context.why === null));
                pause = performance.now() - begin + Math.min(pause, HEARTBEAT_AGAIN_MS, left);
            }
            await sleep(Math.max(50, pause - (performance.now() - begin)), this.stopped.signal);
        }
    }

    /** Milliseconds until the first of their leases is no longer safe. */
    private leaseLeft(contexts: Context[]): number {
        const now = performance.now();
        return contexts.reduce((left, context) => Math.min(left, context.renewed + this.leaseMs * LEASE_SAFE - now),
            this.leaseMs);
    }

    // -------------------------------------------------------------------------------- logs

    private async sendLogs(): Promise<void> {
        while (this.logs.length > 0) {
            const lines = new Map<Context, string[]>();
            for (const { context, line } of this.logs.splice(0)) {
                const known = lines.get(context);
                if (known === undefined) lines.set(context, [line]);
                else known.push(line);
            }
            for (const [context, texts] of lines) {
                try {
                    await this.client.request("POST", `/tasks/${context.id}/log`,
                        { body: { workerId: this.name, fence: context.fence, lines: texts } });
                } catch (error) {
                    if (!(error instanceof FainaError)) throw error;
                }
            }
        }
        this.isLogging = false;
    }
}
