// The pictures of the manual: node helper_pictures.mjs FOLDER [all]
//
// With `all` it makes one of every view in both themes and two widths, for looking at them.
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

async function picture(page, view, name) {
  await visit(page, view);
  await settled(page);
  await page.waitForTimeout(1500); // charts are drawn after their data has come
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
