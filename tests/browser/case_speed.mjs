// Many rows and many events: the figures are printed, and only what is far off fails, since other tests
// run at the same time. FA_SPEED_ROWS=10000 FA_SPEED_SECONDS=60 measures at full length.
import { check, until } from "./helper_place.mjs";

const ROWS = Number(process.env.FA_SPEED_ROWS ?? 2000);
const SECONDS = Number(process.env.FA_SPEED_SECONDS ?? 3);

export async function a_long_list_stays_usable_while_much_happens(place) {
  const server = await place.serve();
  const batch = (count) => server.call("POST", "/tasks:batch", { tasks: Array.from({ length: count }, (_, i) => ({ type: `t${i % 7}` })) }, 200);
  for (let left = ROWS + 1000; left > 0; left -= 1000) await batch(1000);
  const begin = Date.now();
  const page = await place.page(server, "/tasks");
  await page.locator(".tasks-row").first().waitFor();
  const opened = Date.now() - begin;
  await until(() => page.evaluate(() => {
    const box = document.querySelector(".tasks");
    box.scrollTop = box.scrollHeight;
    return Number(box.querySelector("[role=table]").getAttribute("aria-rowcount"));
  }).then((count) => count >= ROWS), "the rows are read");
  check((await page.locator(".tasks-row").count()) < 100, "only the rows in sight are in the document");
  const devtools = await page.context().newCDPSession(page);
  const heap = async () => {
    await devtools.send("HeapProfiler.collectGarbage");
    return (await devtools.send("Runtime.getHeapUsage")).usedSize / 1e6;
  };
  const heapBefore = await heap();
  await page.evaluate(() => {
    window.frames_ = [];
    window.tasks_ = [];
    new PerformanceObserver((list) => window.tasks_.push(...list.getEntries().map((entry) => entry.duration))).observe({ type: "longtask" });
    let last = performance.now();
    const frame = (now) => {
      window.frames_.push(now - last);
      last = now;
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  });
  for (let i = 0; i < 4 * SECONDS; i++) {
    await batch(250);
    await page.evaluate((top) => { document.querySelector(".tasks").scrollTop = top; }, (i * 7919) % (ROWS * 30));
    await page.waitForTimeout(250);
  }
  const frames = (await page.evaluate(() => window.frames_)).sort((a, b) => a - b);
  const p95 = frames[Math.floor(frames.length * 0.95)];
  const tasks = await page.evaluate(() => window.tasks_);
  console.log(`    heap ${heapBefore.toFixed(1)} MB, then ${((await heap()) - heapBefore).toFixed(1)} MB more; ${tasks.length} tasks over 50 ms, the longest ${Math.max(0, ...tasks).toFixed(0)} ms`);
  console.log(`    the first rows after ${opened} ms; with 1,000 events/s p95 of the frames ${p95.toFixed(1)} ms, the longest ${frames.at(-1).toFixed(1)} ms`);
  await page.locator(".fresh").waitFor();
  check(p95 < 200, "p95 of the frames is", p95);
}
