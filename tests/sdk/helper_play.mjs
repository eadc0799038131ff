// Plays sdk/scenarios/*.json with the TypeScript library against a server of its own: node helper_play.mjs [PART...]
import { readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = process.env.FA_SOURCE_ROOT ?? join(dirname(fileURLToPath(import.meta.url)), "../..");
const { Background, FainaError, Permanent, Retry, Snooze, Subtasks, Worker, parse, stringify } =
    await import(join(root, "sdk/typescript/dist/index.js"));
const { Server } = await import(join(root, "sdk/typescript/dist/testing.js"));

const PATIENCE = 60_000;
const sleep = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

class Play {
    constructor(scenario, server) {
        Object.assign(this, { scenario, server, client: server.client, names: {}, begun: {}, running: {}, most: {}, why: {} });
    }

    newWorker() {
        const worker = new Worker(this.client, { concurrency: 4, lease: 30, drain: 5, warn: () => {}, ...this.scenario.worker });
        for (const [type, what] of Object.entries(this.scenario.handlers)) {
            worker.task(type, async (input, context) => {
                this.begun[type] = (this.begun[type] ?? 0) + 1;
                this.running[type] = (this.running[type] ?? 0) + 1;
                this.most[type] = Math.max(this.most[type] ?? 0, this.running[type]);
                try {
                    return await this.handle(what, input, context);
                } finally {
                    this.running[type]--;
                    if (context.why !== null) this.why[type] = context.why;
                }
            });
        }
        return worker;
    }

    async handle(what, input, context) {
        const type = context.task.type;
        const actions = {
            echo: () => input,
            fail: () => {
                if (context.attempt === what.until) return input;
                throw new Retry(what.message, { after: what.after, kind: what.kind });
            },
            permanent: () => { throw new Permanent(what.message); },
            snooze: () => (this.begun[type] > 1 ? input : new Snooze(what.for)),
            progress: async () => {
                context.progress(what.percent, what.state, what.metadata);
                await context.sleep(PATIENCE);
            },
            hang: async () => {
                if (this.begun[type] > (what.attempts ?? PATIENCE)) return input;
                await context.sleep(PATIENCE);
                return null;
            },
            sleep: async () => { await sleep(what.seconds * 1000); return input; },
            subtasks: async () => (context.phase === "resume"
                ? (await context.subtasks()).map((task) => task.output) : new Subtasks(what.tasks)),
            size: () => "x".repeat(what.bytes),
            trace: () => context.task.traceparent ?? "",
            background: () => new Background("elsewhere", "1h"),
        };
        return actions[what.do]();
    }

    id(text) {
        return typeof text === "string" && text.startsWith("$") ? this.names[text.slice(1)] : text;
    }

    fits(got, expected) {
        if (Array.isArray(expected))
            return Array.isArray(got) && got.length === expected.length && expected.every((part, i) => this.fits(got[i], part));
        if (expected !== null && typeof expected === "object")
            return got !== null && typeof got === "object"
                && Object.entries(expected).every(([name, value]) => this.fits(got[name], value));
        return got === this.id(expected);
    }

    async call(step) {
        if (step.submit) {
            const { type, input, ...options } = step.submit;
            return this.client.submit(type, input, options);
        }
        if (step.submitMany) return this.client.submitMany(step.submitMany);
        if (step.get) return this.client.get(this.id(step.get));
        if (step.cancel) return this.client.cancel(this.id(step.cancel));
        if (step.retry) return this.client.retry(this.id(step.retry));
        if (step.wait) return this.client.wait(this.id(step.wait), PATIENCE);
        if (step.list) {
            const ids = [];
            for await (const task of this.client.list(step.list)) ids.push(task.id);
            return ids.sort();
        }
        return this.callRarer(step);
    }

    async callRarer({ as: _as, expect: _expect, error: _error, ...step }) {
        const { client } = this;
        const [[what, value]] = Object.entries(step);
        const acts = {
            result: () => client.result(this.id(value)),
            lastEvent: async () => (await client.events(this.id(value)))[0],
            explain: () => client.explain(this.id(value)),
            children: () => client.children(this.id(value)),
            update: () => {
                const { id, ...changes } = value;
                return client.update(this.id(id), changes);
            },
            countMatches: () => client.countMatches("cancel", value),
            cancelAll: async () => client.waitOperation((await client.cancelAll(value)).id, PATIENCE),
            operations: () => client.operations(),
            delete: () => client.delete(this.id(value)),
            schedule: () => {
                const { name, ...definition } = value;
                return client.schedules.set(name, definition);
            },
            schedules: () => client.schedules.list(),
            runSchedule: () => client.schedules.run(value),
            removeSchedule: () => client.schedules.remove(value),
            emit: () => client.emit(value.type, value.data, { id: value.id }),
        };
        return acts[what]();
    }

    async until(read, fact, step) {
        const end = Date.now() + PATIENCE;
        for (let got = await read(); !fact(got); got = await read()) {
            if (Date.now() > end) throw new Error(`${stringify(step)}: got ${stringify(got)}`);
            await sleep(10);
        }
    }

    check(is, step, got) {
        if (!is) throw new Error(`${stringify(step)}: got ${stringify(got)?.slice(0, 2000)}`);
    }

    async step(step) {
        if (step.start) this.worker = this.newWorker().start();
        else if (step.stop) await this.worker.stop();
        else if (step.restart) {
            await this.server[step.restart]();
            await this.server.begin();
        } else if (step.server) this.server[step.server]();
        else if (step.until) {
            await this.until(() => this.client.get(this.id(step.until)), (got) => this.fits(got, step.expect), step);
        } else if (step.count) this.check((this.begun[step.count.type] ?? 0) === step.expect, step, this.begun);
        else if (step.max) this.check((this.most[step.max.type] ?? 0) === step.expect, step, this.most);
        else if (step.seen) {
            await this.until(() => this.why[step.seen.type], (got) => got === step.expect, step);
        } else if (step.error) {
            try {
                this.check(false, step, await this.call(step));
            } catch (error) {
                if (!(error instanceof FainaError) || error.code !== step.error) throw error;
            }
        } else {
            const got = await this.call(step);
            if (step.as) this.names[step.as] = got.id;
            const expected = step.list ? step.expect.map((name) => this.id(name)).sort() : step.expect;
            if (expected !== undefined) this.check(this.fits(got, expected), step, got);
        }
    }

    async play() {
        try {
            for (const step of this.scenario.steps) await this.step(step);
        } finally {
            await this.worker?.stop(0.2);
        }
    }
}

let passed = 0;
let failed = 0;
const parts = process.argv.slice(2);
for (const name of readdirSync(join(root, "sdk/scenarios")).sort()) {
    if (!name.endsWith(".json") || parts.length > 0 && !parts.some((part) => name.includes(part))) continue;
    const scenario = parse(readFileSync(join(root, "sdk/scenarios", name), "utf8"));
    const server = await Server.start({ url: scenario.store === "file" ? "sqlite:faina.db" : "memory:" });
    try {
        await new Play(scenario, server).play();
        passed++;
    } catch (error) {
        failed++;
        console.log(`FAILED ${name}: ${scenario.name}\n  ${error.message}`);
    } finally {
        await server.close();
    }
}
console.log(`${passed} passed, ${failed} failed, 0 skipped`);
process.exit(failed > 0 ? 1 : 0);
