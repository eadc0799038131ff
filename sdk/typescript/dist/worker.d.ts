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
import { Client, type Submit, type Task } from "./client.js";
import { type Duration } from "./errors.js";
import { type Json } from "./json.js";
/** Returned by a handler: run the task again after this. No attempt is counted. */
export declare class Snooze {
    readonly duration: Duration;
    constructor(duration: Duration);
}
/**
 * Returned by a handler: wait for these tasks. When all have ended the handler runs again; `context.phase` is then
 * `resume`.
 */
export declare class Subtasks {
    readonly tasks: Submit[];
    readonly options: {
        failFast?: boolean;
    };
    constructor(tasks: Submit[], options?: {
        failFast?: boolean;
    });
}
/**
 * Returned by a handler: the work continues elsewhere. No worker holds the task any more; it ends by a call of
 * `:complete` or `:fail`, or fails after `timeout`.
 */
export declare class Background {
    readonly reason: string;
    readonly timeout: Duration;
    constructor(reason?: string, timeout?: Duration);
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
export declare class Context<Input = any> {
    private readonly worker;
    readonly task: Task<Input>;
    /** Aborted when the work is not wanted any more: stop soon. What the handler returns is ignored. */
    readonly signal: AbortSignal;
    /** Why the signal was aborted. */
    why: StopReason | null;
    /** Of the worker: when the lease was last renewed, by performance.now(). */
    renewed: number;
    private readonly controller;
    constructor(task: Task<Input>, worker: Pick<Worker, "client" | "report" | "log">);
    get id(): string;
    get attempt(): number;
    /** Grows with each claim. Pass it on to systems that must refuse an attempt that has lost its lease. */
    get fence(): number;
    get phase(): "start" | "resume" | "error";
    /** The subtasks, in the phases `resume` and `error`. */
    subtasks(): Promise<Task[]>;
    /** Reports progress; returns at once. `metadata` is merged into that of the task. */
    progress(percent?: number, state?: string, metadata?: Record<string, Json>): void;
    /** Adds a line to the log of the attempt. */
    log(line: string): void;
    /** Waits; true as soon as the work is not wanted any more. */
    sleep(ms: number): Promise<boolean>;
    /** Of the worker. */
    stop(why: StopReason): void;
}
/** Runs handlers for the tasks of a server. */
export declare class Worker {
    readonly client: Client;
    readonly name: string;
    readonly concurrency: number;
    private readonly leaseMs;
    private readonly drainMs;
    private readonly prefetch;
    private readonly options;
    private readonly warn;
    private readonly handlers;
    private readonly held;
    private readonly running;
    private readonly waiting;
    private acts;
    private logs;
    private isSending;
    private isLogging;
    private isStarted;
    private readonly stopping;
    private readonly stopped;
    private wakers;
    constructor(client?: Client, options?: WorkerOptions);
    /**
     * Registers a handler. It gets the input and the context; what it returns is the output. `onError` runs when a subtask
     * has not completed; without it the task fails.
     */
    task<Input = any>(type: string, run: Handler<Input>, options?: {
        onError?: Handler<Input>;
    }): this;
    /** Works until stop(), SIGTERM or Ctrl-C, and then drains. */
    run(): Promise<void>;
    /** Begins to work; returns at once. */
    start(): this;
    /**
     * Claims nothing more, returns tasks that have not started, waits up to `drain` seconds for running ones, and stops
     * the rest. The attempts of these are not counted.
     */
    stop(drain?: number): Promise<void>;
    /** Runs the handler of `type` once, without a server, and returns what it returns. For tests. */
    runInline(type: string, input?: unknown, members?: Partial<Task>): Promise<any>;
    /** Of contexts: adds a report of the attempt. */
    report(context: Context, act: string, body: Record<string, unknown>): void;
    /** Of contexts. */
    log(context: Context, line: string): void;
    private changed;
    private wake;
    private claimLoop;
    private accept;
    private fill;
    private attempt;
    private subtaskFailure;
    private returned;
    private failed;
    /** Ends the attempt, unless it has ended. act null: nothing is reported. */
    private end;
    private send;
    private bodyOf;
    /** Sends until the server has answered. All acts may be repeated: their fences make them harmless. */
    private sendBatch;
    /** The engine doesn't accept an act of this attempt: the lease was lost, or the task was cancelled. */
    private refused;
    private lose;
    private heartbeatLoop;
    /** Milliseconds until the first of their leases is no longer safe. */
    private leaseLeft;
    private sendLogs;
}
