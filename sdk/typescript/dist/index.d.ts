/**
 * Client and worker for Faina, a durable task engine.
 *
 *     import { Client, Worker } from "faina";
 *
 *     const client = new Client();                      // $FAINA_URL, else http://127.0.0.1:7070
 *     await client.submit("mail.send", { to: "ann@example.com" });
 *
 *     const worker = new Worker(client, { concurrency: 10 });
 *     worker.task("mail.send", (mail) => ({ sent: mail.to }));
 *     await worker.run();                               // until SIGTERM or Ctrl-C
 */
export { Client, Schedules, hasEnded } from "./client.js";
export type { ClientOptions, Failure, Filter, Operation, RequestOptions, Schedule, Status, Submit, SubmitOptions, Submitted, Task, } from "./client.js";
export { Conflict, FainaError, Forbidden, Invalid, NotFound, Overloaded, Permanent, Retry, TimedOut, Unavailable, } from "./errors.js";
export type { Duration } from "./errors.js";
export { parse, stringify } from "./json.js";
export type { Json } from "./json.js";
export { useOpenTelemetry } from "./tracing.js";
export { Background, Context, Snooze, Subtasks, Worker } from "./worker.js";
export type { Handler, StopReason, WorkerOptions } from "./worker.js";
