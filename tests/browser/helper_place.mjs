// What the cases share: servers, pages, checks.
import { spawn, execFileSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

export const here = fileURLToPath(new URL(".", import.meta.url));
export const root = join(here, "../..");
export const bin = process.env.FAINA_BIN ?? join(root, process.env.BUILD ?? "build", "faina");
const LIMIT = Number(process.env.FA_PATIENCE ?? 60000);

const axe = readFileSync(join(here, "node_modules/axe-core/axe.min.js"), "utf8");

export function check(is, ...what) {
  if (!is) throw new Error(what.map((item) => (typeof item === "string" ? item : JSON.stringify(item))).join(" "));
}

export function equal(got, wanted, ...what) {
  check(JSON.stringify(got) === JSON.stringify(wanted), ...what, "got", got, "wanted", wanted);
}

/** Waits until `fact` gives something that is true. */
export async function until(fact, what) {
  const end = Date.now() + LIMIT;
  for (;;) {
    const found = await fact();
    if (found) return found;
    check(Date.now() < end, "waited too long:", what ?? fact.toString());
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  return port;
}

export class Server {
  constructor(place, url, args) {
    this.place = place;
    this.url = url;
    this.args = args;
    this.token = null;
  }

  async start() {
    this.port ??= await freePort();
    const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(FAINA_|DB_|API_PG_)/.test(name)));
    this.process = spawn(bin, ["serve", "--url", this.url, "--listen", `127.0.0.1:${this.port}`, ...this.args], {
      cwd: this.place.folder, env: { ...env, LC_ALL: "C.UTF-8" }, stdio: ["ignore", "ignore", "pipe"],
    });
    this.log = [];
    const lines = createInterface({ input: this.process.stderr });
    await new Promise((resolve, reject) => {
      lines.on("line", (line) => {
        this.log.push(line);
        if (line.includes('"message":"listening"')) resolve();
      });
      lines.on("close", () => reject(new Error(`the server did not start:\n${this.log.join("\n")}`)));
    });
    return this;
  }

  get base() {
    return `http://127.0.0.1:${this.port}/`;
  }

  async call(method, path, body, status) {
    const response = await fetch(`${this.base}api/v1${path}`, {
      method,
      headers: { ...(body !== undefined ? { "Content-Type": "application/json" } : {}), ...(this.token ? { Authorization: `Bearer ${this.token}` } : {}) },
      body: body !== undefined ? JSON.stringify(body) : undefined,
    });
    const text = await response.text();
    if (status !== undefined) equal(response.status, status, method, path, text);
    return text.startsWith("{") ? JSON.parse(text) : text;
  }

  /** Whether the server has this route, and this engine does it. */
  async has(method, path, body) {
    const answer = await this.call(method, path, body);
    return !(answer.status === 404 && /there is nothing at/.test(answer.detail ?? "")) && answer.status !== 405 && answer.status !== 501;
  }

  submit(type, more = {}) {
    return this.call("POST", "/tasks", { type, ...more }, 201);
  }

  async held(type, more = {}, workerId = "w") {
    const task = await this.submit(type, more);
    return this.call("POST", `/tasks/${task.id}:start`, { workerId }, 200);
  }

  async failed(type, message, more = {}) {
    const task = await this.held(type, more);
    return this.call("POST", `/tasks/${task.id}:fail`, { workerId: "w", error: { message, kind: "broken", retryable: false } }, 200);
  }

  async completed(type, output, more = {}) {
    const task = await this.held(type, more);
    return this.call("POST", `/tasks/${task.id}:complete`, { workerId: "w", output }, 200);
  }

  async stop(signal = "SIGTERM") {
    if (!this.process || this.process.exitCode !== null || this.process.signalCode !== null) return;
    this.process.kill(signal);
    await once(this.process, "exit");
  }
}

export class Place {
  constructor(browser, folder, url, name) {
    this.browser = browser;
    this.folder = folder;
    this.url = url;
    this.name = name;
    this.servers = [];
    this.contexts = [];
    this.problems = [];
    /** What the browser may complain about, in a case that causes it. */
    this.expected = [];
  }

  async serve(...args) {
    const server = new Server(this, this.url, args);
    this.servers.push(server);
    return server.start();
  }

  faina(...args) {
    return execFileSync(bin, args, { cwd: this.folder, env: { ...process.env, FAINA_URL: this.url }, encoding: "utf8" }).trim();
  }

  async context(options = {}) {
    const context = await this.browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
    context.setDefaultTimeout(LIMIT);
    this.contexts.push(context);
    return context;
  }

  async page(server, hash = "/", options = {}) {
    const context = options.context ?? (await this.context(options));
    const page = await context.newPage();
    page.on("console", (message) => {
      // A route that an engine doesn't have, and a request without a session, are answered, and shown, by the page.
      if (message.type() === "error" && !/Failed to load resource.*(404|405|501|401|403|400|409|412)/.test(message.text())) this.problem(`console: ${message.text()}`);
    });
    page.on("pageerror", (error) => this.problem(`error in the page: ${error.message}`));
    page.on("dialog", (dialog) => {
      this.problem(`a script of the data ran: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on("request", (request) => {
      if (!/^(http:\/\/127\.0\.0\.1:|data:)/.test(request.url())) this.problem(`a request to another host: ${request.url()}`);
    });
    await page.goto(`${server.base}#${hash}`);
    await page.waitForSelector("main h1");
    return page;
  }

  problem(text) {
    if (!this.expected.some((pattern) => pattern.test(text))) this.problems.push(text);
  }

  async end() {
    for (const context of this.contexts) await context.close();
    for (const server of this.servers) await server.stop();
    check(this.problems.length === 0, [...new Set(this.problems)].join("\n"));
  }
}

/** Opens another view in the same page, and waits until nothing is being read. */
export async function visit(page, hash) {
  await page.evaluate((to) => { location.hash = to; }, hash);
  await page.waitForSelector("main h1:not(.faint)");
  await settled(page);
}

export async function settled(page) {
  await page.waitForFunction(() => !document.querySelector(".loading") && document.querySelector("main h1:not(.faint)"));
}

const ALL = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

/** With `only` just these rules: the dark theme has other colors, and the same elements. */
export async function noAxeViolation(page, what, only) {
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axe);
  const violations = await page.evaluate(async ([tags, rules]) => {
    const result = await globalThis.axe.run(document, { runOnly: rules ? { type: "rule", values: rules } : tags, resultTypes: ["violations"] });
    return result.violations.map((item) => `${item.id}: ${item.help} (${item.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(" | ")})`);
  }, [ALL, only]);
  equal(violations, [], what);
}

export async function noOverflow(page, what) {
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  check(wide <= 0, what, `is ${wide} pixels wider than the window`);
}
