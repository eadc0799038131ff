// Every view opens, is accessible, fits, and shows data as text.
import { check, equal, noAxeViolation, noOverflow, settled, until, visit } from "./helper_place.mjs";
import { EVIL, fill, views } from "./helper_data.mjs";

export async function every_view_opens_in_both_themes_without_a_violation(place) {
  const server = await place.serve();
  const ids = await fill(server);
  for (const colorScheme of ["light", "dark"]) {
    const only = colorScheme === "dark" ? ["color-contrast"] : undefined;
    const page = await place.page(server, "/", { colorScheme, reducedMotion: "reduce" });
    for (const view of views(ids)) {
      await visit(page, view);
      await noAxeViolation(page, `${view} ${colorScheme}`, only);
    }
    await page.keyboard.press("Control+k");
    await page.waitForSelector("dialog[open]");
    await noAxeViolation(page, `the palette ${colorScheme}`, only);
    await page.keyboard.press("Escape");
    await page.keyboard.press("?");
    await page.waitForSelector("dialog[open] .help");
    await noAxeViolation(page, `the help ${colorScheme}`, only);
    await page.close();
  }
}

export async function every_view_fits_320_pixels(place) {
  const server = await place.serve();
  const ids = await fill(server);
  const page = await place.page(server, "/", { viewport: { width: 320, height: 640 }, reducedMotion: "reduce" });
  for (const view of views(ids)) {
    await visit(page, view);
    await noOverflow(page, view);
  }
  await visit(page, "/tasks");
  await noAxeViolation(page, "tasks at 320 pixels");
  await page.getByRole("button", { name: "Menu" }).click();
  await page.getByRole("link", { name: "Failures" }).click();
  await page.waitForSelector("h1:has-text('Failures')");
  equal(await page.locator(".side.open").count(), 0, "the menu closes");
}

export async function an_empty_store_teaches_the_first_command(place) {
  const server = await place.serve();
  const page = await place.page(server, "/");
  await page.waitForSelector(".first");
  check((await page.locator(".first").innerText()).includes("faina submit hello"));
  await noAxeViolation(page, "the first start");
  for (const [view, text] of [["/tasks", "faina submit"], ["/workflows", "faina workflow apply"], ["/schedules", "faina cron set"], ["/workers?tab=resources", "faina resource set"], ["/events", "faina emit"]]) {
    await visit(page, view);
    await page.waitForSelector(".empty .command");
    check((await page.locator(".empty").innerText()).includes(text), view);
    await noAxeViolation(page, `${view}, empty`);
  }
  await visit(page, "/");
  await page.getByRole("button", { name: "Submit the first task" }).click();
  await page.waitForSelector(".why");
  check((await page.locator("h1").innerText()).includes("First task"));
}

export async function what_is_stuck_is_named_and_many_of_a_kind_are_one_line(place) {
  const server = await place.serve();
  await server.submit("later", { delay: "2h" }); // not due: nothing is wrong with it
  await server.submit("report.build");
  await server.call("POST", "/lanes:pause", { type: "report.build" }, 200);
  const page = await place.page(server, "/");
  const lines = page.locator(".stuck li");
  await lines.first().waitFor();
  equal(await lines.count(), 1);
  check((await lines.innerText()).includes("report.build is paused"));
  for (let i = 0; i < 5; i++) await server.submit(`type${i}`);
  await lines.filter({ hasText: "5 types have no worker" }).waitFor();
  equal(await lines.count(), 2, "the paused type is still there");
}

export async function markup_in_data_is_text(place) {
  const server = await place.serve();
  await server.call("PUT", `/workers/${encodeURIComponent(EVIL)}`, { poolSize: 2, types: [EVIL] });
  const make = { name: EVIL, idempotencyKey: EVIL, input: { [EVIL]: EVIL }, metadata: { [EVIL]: EVIL }, createdBy: EVIL };
  const answer = await server.call("POST", "/tasks", { type: EVIL, ...make });
  // A type may refuse some characters; the other fields take all of them.
  const task = answer.id ? answer : await server.submit("t", make);
  await server.call("POST", `/tasks/${task.id}:start`, { workerId: EVIL });
  await server.call("POST", `/tasks/${task.id}:start`, { workerId: "w" });
  const held = await server.call("GET", `/tasks/${task.id}`);
  await server.call("POST", `/tasks/${task.id}:log`, { workerId: held.workerId, lines: [EVIL] });
  await server.call("POST", `/tasks/${task.id}/log`, { workerId: held.workerId, lines: [EVIL] });
  await server.call("POST", `/tasks/${task.id}:note`, { workerId: held.workerId, event: "evil", detail: { text: EVIL } });
  await server.call("POST", `/tasks/${task.id}:fail`, { workerId: held.workerId, error: { message: EVIL, kind: EVIL, retryable: false, detail: { [EVIL]: EVIL } } }, 200);
  await server.call("PUT", "/crons/evil", { schedule: "0 3 * * *", task: { type: "t", input: EVIL } }, 200);
  await server.call("PUT", "/workflows/evil", { workflow: "evil", triggers: [{ name: "x", on: EVIL, match: "a = '<img src=x onerror=alert(1)>'", task: { type: "t" } }] });
  await server.call("POST", "/events", { type: EVIL, id: "evil", data: { text: EVIL } });
  const page = await place.page(server, "/");
  for (const view of ["/", "/types", "/tasks", `/tasks/${task.id}`, `/tasks/${task.id}?tab=log`, `/tasks/${task.id}?tab=events`, `/tasks/${task.id}?tab=graph`,
    "/failures", "/workflows", "/workflows/evil", "/events", "/events/evil", "/schedules/evil", "/workers", `/tasks?q=${encodeURIComponent(EVIL)}`, `/${encodeURIComponent(EVIL)}`, "/activity", "/settings"]) {
    await visit(page, view);
    equal(await page.evaluate(() => document.querySelectorAll("main img[src=x], main script").length), 0, view);
  }
  await visit(page, `/tasks/${task.id}`);
  check((await page.locator(".task-error").innerText()).includes("<script>"), "the error is shown as text");
  equal(await page.locator("h1").innerText().then((text) => text.includes("onerror")), true);
}

export async function numbers_are_shown_as_they_were_written(place) {
  const server = await place.serve();
  const response = await fetch(`${server.base}api/v1/tasks`, { method: "POST", headers: { "Content-Type": "application/json" }, body: '{"type":"t","input":{"big":12345678901234567890123,"exact":1.10}}' });
  const { id } = await response.json();
  const page = await place.page(server, `/tasks/${id}`);
  await page.waitForSelector(".json-body");
  check((await page.locator(".json-body").first().innerText()).includes("12345678901234567890123"));
}

export async function the_page_works_below_a_path_of_a_proxy(place) {
  const { createServer, request } = await import("node:http");
  const server = await place.serve();
  await server.submit("t");
  const proxy = createServer((req, res) => {
    if (!req.url.startsWith("/tools/faina/")) {
      res.writeHead(404).end();
      return;
    }
    const on = request({ host: "127.0.0.1", port: server.port, method: req.method, path: req.url.slice("/tools/faina".length), headers: req.headers }, (back) => {
      res.writeHead(back.statusCode, back.headers);
      back.pipe(res);
    });
    on.on("error", () => res.destroy());
    res.on("close", () => on.destroy());
    req.pipe(on);
  }).listen(0, "127.0.0.1");
  await until(() => proxy.listening);
  const page = await place.page({ base: `http://127.0.0.1:${proxy.address().port}/tools/faina/` }, "/tasks");
  await page.waitForSelector(".tasks-row");
  await page.waitForSelector(".live.open");
  await visit(page, "/types");
  await settled(page);
  await page.close();
  proxy.closeAllConnections();
  proxy.close();
}
