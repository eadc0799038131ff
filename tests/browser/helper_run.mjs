// Runs the cases: node helper_run.mjs [PART...]
//
// A case is an exported function of a file case_*.mjs; its name tells the rule. Each gets a Place: a
// folder of its own, servers in it, and pages of one browser. With the property `onPostgres` it runs a
// second time on PostgreSQL, where there is one.
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { here, Place } from "./helper_place.mjs";

async function main() {
  const wanted = process.argv.slice(2);
  const browser = await chromium.launch({
    executablePath: ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync) ?? "chromium",
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
  });
  const counts = { passed: 0, failed: 0, skipped: 0 };
  const postgres = process.env.FA_POSTGRES_URL;
  for (const file of readdirSync(here).filter((name) => /^case_.*\.mjs$/.test(name)).sort()) {
    for (const [name, run] of Object.entries(await import(join(here, file)))) {
      if (typeof run !== "function") continue;
      if (wanted.length && !wanted.some((part) => name.includes(part) || file.includes(part))) continue;
      for (const engine of run.onPostgres && postgres ? ["sqlite", "postgres"] : ["sqlite"]) {
        const folder = mkdtempSync(join(tmpdir(), "faina-browser-"));
        const url = engine === "sqlite" ? "sqlite:t.db" : `${postgres}${postgres.includes("?") ? "&" : "?"}schema=browser_${process.pid}_${counts.passed + counts.failed}`;
        const place = new Place(browser, folder, url, name);
        const begin = Date.now();
        let failure = null;
        try {
          await run(place);
        } catch (error) {
          failure = error;
          if (process.env.FA_SHOTS) await place.contexts.at(-1)?.pages().at(-1)?.screenshot({ path: join(process.env.FA_SHOTS, `${name}.png`) }).catch(() => {});
        }
        try {
          await place.end();
        } catch (error) {
          failure ??= error;
        }
        rmSync(folder, { recursive: true, force: true });
        counts[failure ? "failed" : "passed"]++;
        console.log(`${failure ? "FAIL" : "ok"}  ${name} (${engine}, ${((Date.now() - begin) / 1000).toFixed(1)} s)`);
        if (failure) console.log(failure.stack ?? failure, place.problems.length ? `\n${place.problems.join("\n")}` : "");
      }
    }
  }
  await browser.close();
  console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
  process.exit(counts.failed ? 1 : 0);
}

await main();
