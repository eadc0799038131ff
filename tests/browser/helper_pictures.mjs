// The pictures of the manual: node helper_pictures.mjs FOLDER [all]
//
// With `all` it makes one of every view in both themes and two widths, for looking at them.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { fill, views } from "./helper_data.mjs";
import { Place, settled, visit } from "./helper_place.mjs";

const [out, all] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "faina-pictures-"));
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
const place = new Place(browser, folder, "sqlite:t.db");
const server = await place.serve();
const ids = await fill(server);
for (let round = 0; round < 8; round++) {
  const { tasks } = await server.call("POST", "/claims", { workerId: "worker-a", types: ["mail.send", "image.resize", "mail.digest"], limit: 8 }, 200);
  for (const [i, task] of tasks.entries()) {
    await server.call("POST", `/tasks/${task.id}:start`, { workerId: "worker-a" }, 200);
    if (round < 7) await server.call("POST", `/tasks/${task.id}:${i === 3 && round % 2 ? "fail" : "complete"}`, i === 3 && round % 2
      ? { workerId: "worker-a", error: { message: `550 mailbox user${i} unavailable`, kind: "smtp", retryable: false } } : { workerId: "worker-a", output: { ok: true } }, 200);
  }
}

/** An hour of history, as a server stores it (store/txn/history_log.h). */
async function addHistory() {
  await server.stop();
  const last = Math.floor(Date.now() / 60000) - 1;
  const range = (seconds) => Math.floor((Math.log2(seconds * 1e6) - 2) * 8);
  const rows = [];
  for (let i = 0; i < 62; i++) {
    const minute = last - i;
    const wave = (period, phase) => Math.sin((minute + phase) / period) + Math.sin((minute + phase) / period / 2.7) / 2;
    const submitted = Math.round(90 + 35 * wave(7, 0));
    const completed = Math.round(86 + 30 * wave(7, 2));
    const failed = Math.max(0, Math.round(2 + 3 * wave(3, 1)));
    const wait = 0.4 + 0.25 * (wave(7, 1) + 1.5);
    const waits = `${range(wait)}:60 ${range(wait * 4)}:30 ${range(wait * 9)}:4`;
    const runs = `${range(0.2)}:50 ${range(0.7 + 0.2 * wave(5, 3))}:38 ${range(2.4 + wave(4, 0) * 0.6)}:4`;
    const at = BigInt(minute) * 60000000n;
    const seq = (BigInt(minute) << 35n) | (7n << 12n);
    rows.push(`(${seq}, ${at}, 'default', '', ${submitted}, ${completed}, ${failed}, 0, 0, 0, '${waits}', '${runs}', ${Math.round(180 + 60 * wave(9, 4))}, ${Math.round(26 + 6 * wave(5, 2))}, ${Math.round(wait * 9000)})`);
  }
  execFileSync("sqlite3", [join(folder, "t.db"), `INSERT OR IGNORE INTO history VALUES ${rows.join(", ")}`]);
  await server.start();
}
await addHistory();

async function picture(page, view, name) {
  await visit(page, view);
  await settled(page);
  await page.waitForTimeout(2000); // charts are drawn after their data has come
  await page.screenshot({ path: join(out, `${name}.png`) });
}

if (all) {
  for (const colorScheme of ["light", "dark"]) {
    for (const width of [1440, 320]) {
      const page = await place.page(server, "/", { colorScheme, viewport: { width, height: 900 } });
      for (const view of views(ids)) await picture(page, view, `${view.replace(/[^a-z0-9]+/gi, "_").slice(0, 40)}-${colorScheme}-${width}`);
      await page.context().close();
    }
  }
} else {
  const page = await place.page(server, "/", { viewport: { width: 1280, height: 800 } });
  await picture(page, "/", "dashboard-now");
  await picture(page, `/tasks/${ids.failed.id}`, "dashboard-task");
  const dark = await place.page(server, "/", { viewport: { width: 1280, height: 800 }, colorScheme: "dark" });
  await picture(dark, "/tasks", "dashboard-tasks");
}
await place.end();
await browser.close();
rmSync(folder, { recursive: true, force: true });
