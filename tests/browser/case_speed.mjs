// Many rows and many events: the figures are printed, and only what is far off fails, since other tests
// run at the same time.
import { check, until } from "./helper_place.mjs";

export async function a_long_list_stays_usable_while_much_happens(place) {
  const server = await place.serve();
  const batch = (count) => server.call("POST", "/tasks:batch", { tasks: Array.from({ length: count }, (_, i) => ({ type: `t${i % 7}` })) }, 200);
  await batch(3000);
  const begin = Date.now();
  const page = await place.page(server, "/tasks");
  await page.locator(".tasks-row").first().waitFor();
  const opened = Date.now() - begin;
  await until(() => page.evaluate(() => {
    const box = document.querySelector(".tasks");
    box.scrollTop = box.scrollHeight;
    return Number(box.querySelector("[role=table]").getAttribute("aria-rowcount")) > 2000;
  }), "the rows are read");
  check((await page.locator(".tasks-row").count()) < 100, "only the rows in sight are in the document");
  await page.evaluate(() => {
    window.frames_ = [];
    let last = performance.now();
    const frame = (now) => {
      window.frames_.push(now - last);
      last = now;
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  });
  for (let i = 0; i < 12; i++) {
    await batch(250);
    await page.evaluate((top) => { document.querySelector(".tasks").scrollTop = top; }, (i * 7919) % 60000);
    await page.waitForTimeout(250);
  }
  const frames = (await page.evaluate(() => window.frames_)).sort((a, b) => a - b);
  const p95 = frames[Math.floor(frames.length * 0.95)];
  console.log(`    the first rows after ${opened} ms; with 1,000 events/s p95 of the frames ${p95.toFixed(1)} ms, the longest ${frames.at(-1).toFixed(1)} ms`);
  await page.locator(".fresh").waitFor();
  check(p95 < 200, "p95 of the frames is", p95);
}
