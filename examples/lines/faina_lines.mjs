// Handlers in "mode":"lines": one Node.js process serves many tasks. Copy this file beside them.
//
//     import { run } from "./faina_lines.mjs";
//     run(async (task) => ({ sum: task.input.reduce((a, b) => a + b, 0) }));
//
// The function gets the task and returns the output. An exception fails the attempt. console.log()
// writes to the log. As many tasks run at once as `concurrency` in TYPE.json says.
import { createInterface } from "node:readline";

const write = process.stdout.write.bind(process.stdout);
console.log = console.info = console.error; // stdout is for lines of JSON

// throw new Failed("no such host", { retryable: false, kind: "dns" })
export class Failed extends Error {
  constructor(message, members = {}) {
    super(message);
    this.error = { message, ...members };
  }
}

// id, type, namespace, attempt, phase, fence, input, subtasks; `signal` is aborted by a cancellation.
class Task {
  #controller = new AbortController();
  #hasEnded = false;
  constructor(members) {
    Object.assign(this, members);
  }
  get signal() {
    return this.#controller.signal;
  }
  get hasEnded() {
    return this.#hasEnded;
  }
  cancel() {
    this.#controller.abort();
  }
  // task.send({ progress: 40, state: "decoding" }); also metadata, log, and the ends: snooze: "10m",
  // subtasks: [...], background: {...}, after which the function returns nothing.
  send(members) {
    const ends = ["output", "error", "snooze", "subtasks", "background"];
    this.#hasEnded ||= ends.some((name) => name in members);
    write(JSON.stringify({ id: this.id, ...members }) + "\n");
  }
}

export function run(handle) {
  const held = new Map();
  createInterface({ input: process.stdin }).on("line", async (line) => {
    const task = new Task(JSON.parse(line));
    if (task.cancel === true) return void held.get(task.id)?.cancel();
    held.set(task.id, task);
    try {
      const output = (await handle(task)) ?? null;
      if (!task.hasEnded) task.send({ output });
    } catch (why) {
      task.send({ error: why.error ?? { message: String(why.message ?? why), kind: why.name } });
    }
    held.delete(task.id);
  });
}
