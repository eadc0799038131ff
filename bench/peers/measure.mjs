// The rate of whole lives (submit, start, end) of task queues, each as its manual recommends for speed, with a
// handler that does nothing: node measure.mjs JOBS ROUNDS [WAY]. Prints a Markdown table. tools/bench-peers starts the
// servers and names them in the environment.
//
//   bulk      JOBS jobs are stored by 1,000, then one worker with concurrency 100 works them off
//   single    the same, stored one at a time by 64 callers
//
// All subjects share one machine and disk, in turns. Durable means that a stored job survives a loss of power.
import http from "node:http";
import net from "node:net";

const [jobs, rounds] = process.argv.slice(2, 4).map(Number);
const ways = process.argv[4] ? [process.argv[4]] : ["bulk", "single"];
const CALLERS = 64;
const BATCH = 1000;
const payload = (n) => ({ order: n, note: "x".repeat(170) });

/** Calls `each(n)` for 0..count-1 by `callers` at a time. */
async function inParallel(count, callers, each) {
  let next = 0;
  await Promise.all(
    Array.from({ length: callers }, async () => {
      while (next < count) await each(next++);
    }),
  );
}

const chunks = (count) =>
  Array.from({ length: Math.ceil(count / BATCH) }, (_, i) =>
    Array.from({ length: Math.min(BATCH, count - i * BATCH) }, (_, k) => i * BATCH + k),
  );

/** Resolves when `done()` was called `count` times. */
function countdown(count) {
  let resolve;
  const all = new Promise((r) => (resolve = r));
  return { all, done: (n = 1) => (count -= n) <= 0 && resolve() };
}

// -------------------------------------------------------------------------------------------------------------
// Faina, over HTTP

function faina(url) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: CALLERS });
  const send = (path, body) =>
    new Promise((resolve, reject) => {
      const text = JSON.stringify(body);
      const request = http.request(
        url + "/api/v1" + path,
        {
          agent,
          method: "POST",
          headers: { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(text) },
        },
        (response) => {
          const parts = [];
          response.on("data", (part) => parts.push(part));
          response.on("end", () =>
            response.statusCode < 300
              ? resolve(JSON.parse(Buffer.concat(parts)))
              : reject(new Error(`${path}: ${response.statusCode} ${Buffer.concat(parts)}`)),
          );
        },
      );
      request.on("error", reject);
      request.end(text);
    });
  return {
    bulk: (count) =>
      inParallel(chunks(count).length, 2, (i) =>
        send("/tasks:batch", { tasks: chunks(count)[i].map((n) => ({ type: "job", input: payload(n) })) }),
      ),
    single: (count) => inParallel(count, CALLERS, (n) => send("/tasks", { type: "job", input: payload(n) })),
    async work(count) {
      const { all, done } = countdown(count);
      let left = count;
      const worker = async (id) => {
        while (left > 0) {
          const { tasks } = await send("/claims", { workerId: id, types: ["job"], limit: 500 });
          if (tasks.length === 0) return;
          left -= tasks.length;
          const items = tasks.map((task) => ({ id: task.id, fence: task.fence, status: "completed" }));
          await send("/outcomes", { workerId: id, items });
          done(tasks.length);
        }
      };
      worker("w1");
      worker("w2");
      await all;
    },
    close: async () => agent.destroy(),
  };
}

// -------------------------------------------------------------------------------------------------------------
// graphile-worker and pg-boss, on PostgreSQL

async function graphile(url) {
  const { makeWorkerUtils, run } = await import("graphile-worker");
  const { default: pg } = await import("pg");
  const pool = new pg.Pool({ connectionString: url, max: CALLERS });
  const schema = "graphile_worker";
  const utils = await makeWorkerUtils({ pgPool: pool, schema });
  await utils.migrate();
  return {
    bulk: (count) =>
      inParallel(chunks(count).length, 2, (i) =>
        utils.addJobs(chunks(count)[i].map((n) => ({ identifier: "job", payload: payload(n) }))),
      ),
    single: (count) => inParallel(count, CALLERS, (n) => utils.addJob("job", payload(n))),
    async work(count) {
      const { all, done } = countdown(count);
      const runner = await run({
        pgPool: pool,
        schema,
        concurrency: 100,
        noHandleSignals: true,
        logger: await silentLogger(),
        preset: { worker: { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
        taskList: { job: () => void done() },
      });
      await all;
      await runner.stop();
    },
    async close() {
      await utils.release();
      await pool.end();
    },
  };
}

async function silentLogger() {
  const { Logger } = await import("graphile-worker");
  return new Logger(() => () => {});
}

async function pgBoss(url) {
  const { default: PgBoss } = await import("pg-boss");
  const boss = new PgBoss({ connectionString: url, max: CALLERS });
  boss.on("error", (error) => console.error(error));
  await boss.start();
  await boss.createQueue("job");
  return {
    bulk: (count) =>
      inParallel(chunks(count).length, 2, (i) =>
        boss.insert(chunks(count)[i].map((n) => ({ name: "job", data: payload(n) }))),
      ),
    single: (count) => inParallel(count, CALLERS, (n) => boss.send("job", payload(n))),
    async work(count) {
      let left = count;
      const worker = async () => {
        while (left > 0) {
          const found = await boss.fetch("job", { batchSize: 500 });
          if (found.length === 0) return;
          left -= found.length;
          await boss.complete("job", found.map((job) => job.id));
        }
      };
      await Promise.all([worker(), worker()]);
    },
    close: () => boss.stop({ graceful: false }),
  };
}

// -------------------------------------------------------------------------------------------------------------
// BullMQ, on Redis

async function bull(port) {
  const { Queue, Worker } = await import("bullmq");
  const connection = { host: "127.0.0.1", port, maxRetriesPerRequest: null };
  const queue = new Queue("job", { connection });
  return {
    bulk: async (count) => {
      for (const chunk of chunks(count)) await queue.addBulk(chunk.map((n) => ({ name: "job", data: payload(n) })));
    },
    single: (count) => inParallel(count, CALLERS, (n) => queue.add("job", payload(n))),
    async work(count) {
      const { all, done } = countdown(count);
      const worker = new Worker("job", async () => {}, { connection, concurrency: 100 });
      worker.on("completed", () => done());
      await all;
      await worker.close();
    },
    close: () => queue.close(),
  };
}

// -------------------------------------------------------------------------------------------------------------
// beanstalkd, which takes one job in a request

/** One connection; `ask` sends a command and resolves with the first word of each answer, in order. */
async function beanstalkConnection(port) {
  const socket = net.connect(port, "127.0.0.1");
  await new Promise((resolve, reject) => socket.once("connect", resolve).once("error", reject));
  socket.setNoDelay(true);
  let buffer = "";
  const waiting = [];
  socket.on("data", (data) => {
    buffer += data.toString("latin1");
    for (;;) {
      const end = buffer.indexOf("\r\n");
      if (end < 0) return;
      const words = buffer.slice(0, end).split(" ");
      const size = words[0] === "RESERVED" ? end + 2 + Number(words[2]) + 2 : end + 2;
      if (buffer.length < size) return;
      buffer = buffer.slice(size);
      waiting.shift()(words);
    }
  });
  return {
    ask: (text) => new Promise((resolve) => (waiting.push(resolve), socket.write(text))),
    close: () => socket.destroy(),
  };
}

async function beanstalk(port) {
  const links = await Promise.all(Array.from({ length: CALLERS }, () => beanstalkConnection(port)));
  const put = (count) => {
    let next = 0;
    return Promise.all(
      links.map(async (link) => {
        while (next < count) {
          const body = JSON.stringify(payload(next++));
          await link.ask(`put 0 0 60 ${body.length}\r\n${body}\r\n`);
        }
      }),
    );
  };
  return {
    bulk: put,
    single: put,
    work: (count) => {
      let left = count;
      return Promise.all(
        links.map(async (link) => {
          while (left-- > 0) {
            const [, id] = await link.ask("reserve\r\n");
            await link.ask(`delete ${id}\r\n`);
          }
        }),
      );
    },
    close: async () => links.forEach((link) => link.close()),
  };
}

// -------------------------------------------------------------------------------------------------------------

const env = process.env;
const subjects = [
  ["Faina on SQLite", "yes", env.PEER_FAINA_SQLITE, faina],
  ["Faina on PostgreSQL", "yes", env.PEER_FAINA_POSTGRES, faina],
  ["graphile-worker 0.17", "yes", env.PEER_POSTGRES, graphile],
  ["pg-boss 10", "yes", env.PEER_POSTGRES, pgBoss],
  ["Faina on SQLite, beanstalkd clients", "yes", env.PEER_FAINA_BEANSTALK, beanstalk],
  ["beanstalkd -f0 (flushes each job)", "yes", env.PEER_BEANSTALK, beanstalk],
  ["BullMQ 5, Redis appendfsync everysec", "up to a second is lost", env.PEER_REDIS, bull],
].filter(([, , where]) => where);

const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
const rates = subjects.map(() => ({ bulk: [], single: [] }));
const open = [];
for (const [, , where, create] of subjects) open.push(await create(where));
for (let round = 0; round <= rounds; round++) {
  for (let i = 0; i < subjects.length; i++) {
    for (const way of ways) {
      const began = performance.now();
      await open[i][way](jobs);
      await open[i].work(jobs);
      const rate = (jobs * 1000) / (performance.now() - began);
      if (round > 0) rates[i][way].push(rate); // the first round is a warm-up
      console.error(`${subjects[i][0]}, ${way}: ${Math.round(rate)}/s`);
    }
  }
}
for (const subject of open) await subject.close();
const text = (values) => (values.length > 0 ? Math.round(median(values)).toLocaleString("en") : "–");
console.log("| whole lives a second | durable | stored by 1,000 | stored one at a time, 64 callers |");
console.log("|---|---|---|---|");
subjects.forEach(([name, durable], i) =>
  console.log(`| ${name} | ${durable} | ${text(rates[i].bulk)} | ${text(rates[i].single)} |`),
);
const ours = subjects.findIndex(([, , where]) => where === env.PEER_FAINA_BEANSTALK);
const theirs = subjects.findIndex(([, , where]) => where === env.PEER_BEANSTALK);
if (ours >= 0 && theirs >= 0) {
  const ratio = median(rates[ours].single.map((rate, i) => rate / rates[theirs].single[i]));
  console.log(`\nFaina with ${CALLERS} clients of beanstalkd, against beanstalkd -f0: ${ratio.toFixed(1)} (goal: at least 5)`);
}
process.exit(0);
