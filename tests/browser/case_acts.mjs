// What the buttons and keys do, and how the page stays true while things change.
import { check, equal, noAxeViolation, until, visit } from "./helper_place.mjs";
import { fill } from "./helper_data.mjs";

const status = async (server, id) => (await server.call("GET", `/tasks/${id}`)).status;

/** Fills the reason of the open dialog, and presses its button. */
async function confirm(page, name) {
  const dialog = page.locator("dialog[open]");
  await dialog.waitFor();
  const reason = dialog.getByLabel(/^Reason/);
  if (await reason.count()) await reason.fill("for the test");
  await dialog.getByRole("button", { name, exact: true }).click();
}

export async function a_task_is_retried_cancelled_edited_and_deleted(place) {
  const server = await place.serve();
  const failed = await server.failed("mail.send", "no route");
  const page = await place.page(server, `/tasks/${failed.id}`);
  await page.getByRole("button", { name: "Retry", exact: true }).click();
  await until(async () => (await status(server, failed.id)) === "pending", "the retry");
  await page.waitForSelector(".task-line .s-pending");
  await page.getByRole("button", { name: "Cancel", exact: true }).click();
  await confirm(page, "Cancel the task");
  await until(async () => (await status(server, failed.id)) === "cancelled", "the cancel");
  await page.waitForSelector(".task-line .s-cancelled");
  await page.getByRole("button", { name: "Actions" }).click();
  await page.getByRole("menuitem", { name: "Edit and submit again" }).click();
  await page.locator("dialog textarea").fill('{"type":"mail.send","input":{"n":98765432109876543210}}');
  await page.getByRole("button", { name: "Submit", exact: true }).click();
  await page.waitForFunction((id) => location.hash.startsWith("#/tasks/") && !location.hash.includes(id), failed.id);
  await page.waitForSelector(".json-body");
  check((await page.locator(".json-body").first().innerText()).includes("98765432109876543210"));
  await visit(page, `/tasks/${failed.id}`);
  await page.getByRole("button", { name: "Actions" }).click();
  await page.getByRole("menuitem", { name: "Delete" }).click();
  await confirm(page, "Delete the task");
  await page.waitForSelector("h1:has-text('Tasks')");
}
a_task_is_retried_cancelled_edited_and_deleted.onPostgres = true;

export async function a_button_acts_on_what_was_seen(place) {
  const server = await place.serve();
  const task = await server.submit("t");
  const page = await place.page(server, `/tasks/${task.id}`);
  await page.getByRole("button", { name: "Cancel", exact: true }).click();
  await page.locator("dialog[open]").waitFor();
  // While the question is open a worker starts the task. The page must not learn of it first.
  place.expected.push(/ERR_FAILED/);
  await page.route(/\/api\/v1\/tasks\/[^/]*$/, async (route) => (route.request().method() === "GET" ? route.abort() : route.continue()));
  await server.call("POST", `/tasks/${task.id}:start`, { workerId: "w" }, 200);
  await confirm(page, "Cancel the task");
  await page.locator("dialog .notice.bad").waitFor();
  check((await page.locator("dialog .notice.bad").innerText()).includes("by w (started) meanwhile"), "who has changed it is named");
  equal(await status(server, task.id), "running");
}

export async function rows_are_live_and_keep_their_place(place) {
  const server = await place.serve();
  const first = await server.submit("a");
  const page = await place.page(server, "/tasks");
  const other = await place.page(server, "/tasks", { context: page.context() });
  await page.locator(`.tasks-row[data-id="${first.id}"] .s-pending`).waitFor();
  await page.waitForSelector(".live.open");
  await server.call("POST", `/tasks/${first.id}:start`, { workerId: "w" }, 200);
  await page.locator(`.tasks-row[data-id="${first.id}"] .s-running`).waitFor();
  const second = await server.submit("b");
  await page.locator(".fresh").waitFor();
  equal(await page.locator(".tasks-row").count(), 1, "a new row is announced and does not move the others");
  await page.locator(".fresh").click();
  await page.locator(`.tasks-row[data-id="${second.id}"]`).waitFor();
  await other.locator(".fresh").waitFor();
  // Only one stream is open for both tabs.
  await until(async () => {
    const metrics = await (await fetch(`${server.base}metrics`)).text();
    return /^faina_streams (\d+)/m.exec(metrics)?.[1] === "1";
  }, "one stream for two tabs");
}
rows_are_live_and_keep_their_place.onPostgres = true;

export async function many_tasks_are_retried_with_a_dry_run(place) {
  const server = await place.serve();
  for (let i = 0; i < 5; i++) await server.failed("mail.send", `no route to ${i}`);
  await server.failed("other", "not this one");
  const page = await place.page(server, "/tasks?q=type:mail.send status:failed");
  await page.locator(".tasks-row").nth(4).waitFor();
  // A selection.
  await page.locator(".tasks-row input").nth(0).click();
  await page.locator(".tasks-row input").nth(1).click();
  await page.getByRole("button", { name: "Actions", exact: true }).click();
  await noAxeViolation(page, "a menu");
  await page.getByRole("menuitem", { name: "Retry" }).click();
  await page.locator("[data-test=matched]").waitFor();
  await noAxeViolation(page, "the dialog of many tasks");
  equal((await page.locator("[data-test=matched]").innerText()).startsWith("2 tasks"), true);
  await confirm(page, "Retry 2 tasks");
  await page.getByRole("button", { name: "Done", exact: true }).click();
  const count = async () => (await server.call("GET", "/tasks?type=mail.send&status=failed")).items.length;
  await until(async () => (await count()) === 3, "two are retried");
  // The whole filter.
  if (await server.has("GET", "/operations")) {
    await page.getByRole("button", { name: "All of this filter" }).click();
    await page.getByRole("menuitem", { name: "Retry" }).click();
    await page.locator("[data-test=matched]", { hasText: "3 tasks" }).waitFor();
    equal(await count(), 3, "a dry run changes nothing");
    await confirm(page, "Retry 3 tasks");
    await page.getByRole("button", { name: "Done", exact: true }).click();
    await until(async () => (await count()) === 0, "all are retried");
  }
  equal((await server.call("GET", "/tasks?type=other&status=failed")).items.length, 1);
}
many_tasks_are_retried_with_a_dry_run.onPostgres = true;

export async function failures_are_found_and_retried_by_group(place) {
  const server = await place.serve();
  if (!(await server.has("GET", "/failures"))) return;
  for (let i = 0; i < 12; i++) await server.failed("mail.send", `550 mailbox user${i} unavailable`);
  await server.failed("mail.send", "no route to host"); // of the same type and kind
  await server.failed("other", "disk full");
  const page = await place.page(server, "/failures");
  const row = page.locator("tr", { hasText: "mailbox" });
  await row.waitFor();
  equal((await row.locator("td").first().innerText()).trim(), "12");
  if (!(await server.has("GET", "/operations"))) return;
  await row.getByRole("button", { name: "Retry" }).click();
  await confirm(page, "Retry 12 tasks");
  await page.getByRole("button", { name: "Done", exact: true }).click();
  const count = async (filter) => (await server.call("GET", `/tasks?${filter}`)).items.length;
  await until(async () => (await count("type=mail.send&status=pending")) === 12, "the group is retried");
  equal(await count("type=mail.send&status=failed"), 1, "the other group of the type is not");
  equal(await count("type=other&status=failed"), 1);
  // The link of a group lists its tasks.
  await page.locator("tr", { hasText: "no route" }).getByRole("link", { name: /no route/ }).click();
  await page.locator(".tasks-row").waitFor();
  equal(await page.locator(".tasks-row").count(), 1);
}

export async function a_group_that_waits_for_a_retry_is_started(place) {
  const server = await place.serve();
  for (let i = 0; i < 2; i++) {
    const task = await server.held("sync.crm", { retry: { base: "2h" } });
    await server.call("POST", `/tasks/${task.id}:fail`, { workerId: "w", error: `no answer from crm-${i}` }, 200);
  }
  const page = await place.page(server, "/failures");
  await page.getByRole("button", { name: "More for sync.crm" }).click();
  await page.getByRole("menuitem", { name: "Start those" }).click();
  await confirm(page, "Change 2 tasks");
  await page.getByRole("button", { name: "Done", exact: true }).click();
  const { tasks } = await server.call("POST", "/claims", { workerId: "w", limit: 5 }, 200);
  equal(tasks.length, 2, "they may start now");
}

export async function acts_on_a_selection_leave_out_what_has_changed(place) {
  const server = await place.serve();
  const [first, second] = [await server.submit("t"), await server.submit("t")];
  const page = await place.page(server, "/tasks");
  await page.locator(".tasks-row").nth(1).waitFor();
  await page.getByRole("checkbox", { name: "Select all rows" }).click();
  await page.getByRole("button", { name: "Actions", exact: true }).click();
  await page.getByRole("menuitem", { name: "Cancel" }).click();
  await page.locator("[data-test=matched]").waitFor();
  await server.call("PATCH", `/tasks/${first.id}`, { priority: 7 }, 200);
  await confirm(page, "Cancel 2 tasks");
  await page.getByText("changed meanwhile").waitFor();
  equal([await status(server, first.id), await status(server, second.id)], ["pending", "cancelled"]);
}

export async function the_newest_events_come_first(place) {
  const server = await place.serve();
  for (let i = 0; i < 210; i++) await server.call("POST", "/events", { type: "upload", id: `upload-${i}`, data: {} }, 200);
  const page = await place.page(server, "/events");
  await page.locator("tbody tr").first().getByRole("link", { name: "upload-209", exact: true }).waitFor();
  equal(await page.locator("tbody tr").count(), 200);
  await page.getByRole("button", { name: "Older events" }).click();
  await page.getByRole("link", { name: "upload-0", exact: true }).waitFor();
  equal(await page.locator("tbody tr").count(), 210);
}
the_newest_events_come_first.onPostgres = true;

export async function the_join_board_says_what_each_key_waits_for(place) {
  const server = await place.serve();
  await fill(server); // one of two members of the key h0 has ended
  const page = await place.page(server, "/workflows/content?tab=joins");
  const row = page.locator("tbody tr", { hasText: "h0" });
  await row.locator(".tag.warn", { hasText: "extract.exif" }).waitFor();
  equal(await row.locator(".tag.good").allInnerTexts(), ["extract.id3"]);
  const other = await server.submit("extract.exif", { input: { hash: "h0" } });
  await server.call("POST", `/tasks/${other.id}:start`, { workerId: "w" }, 200);
  await server.call("POST", `/tasks/${other.id}:complete`, { workerId: "w", output: {} }, 200);
  await visit(page, "/workflows/content?tab=graph");
  await visit(page, "/workflows/content?tab=joins");
  await row.getByText("nothing").waitFor();
  check((await row.innerText()).includes("fired"), "the end of the last round");
}

export async function attempts_are_counted_as_the_engine_counts_them(place) {
  const server = await place.serve();
  const task = await server.held("t");
  await server.call("POST", `/tasks/${task.id}:snooze`, { workerId: "w", for: "0s" }, 200); // spends no attempt
  await server.call("POST", `/tasks/${task.id}:start`, { workerId: "w" }, 200);
  await server.call("POST", `/tasks/${task.id}:fail`, { workerId: "w", error: { message: "no", retryAfter: "1h" } }, 200);
  const page = await place.page(server, `/tasks/${task.id}`);
  await page.locator(".attempts li").nth(1).waitFor();
  equal(await page.locator(".attempt-number").allInnerTexts(), ["", "1"]);
  // It waits: the time that it has run doesn't grow.
  const ran = () => page.locator(".facts div", { hasText: "Ran" }).last().innerText();
  const before = await ran();
  await page.waitForTimeout(2500);
  equal(await ran(), before);
}

export async function types_resources_schedules_and_tokens_are_managed(place) {
  const server = await place.serve();
  await fill(server);
  const page = await place.page(server, "/types?q=mail.send");
  await page.getByRole("button", { name: "Pause" }).click();
  await confirm(page, "Pause");
  await page.getByRole("button", { name: "Resume" }).waitFor();
  equal((await server.call("GET", "/stats?type=mail.send")).types?.[0]?.paused ?? true, true);
  await visit(page, "/workers?tab=resources");
  await page.getByRole("button", { name: "Change smtp" }).click();
  await page.getByLabel("Tasks at once").fill("7");
  await page.getByRole("button", { name: "Save" }).click();
  await until(async () => (await server.call("GET", "/resources/smtp")).maxConcurrency === 7, "the limit");
  await visit(page, "/schedules");
  await page.getByRole("button", { name: "Run now" }).click();
  await page.locator(".toast a").waitFor();
  await page.getByRole("button", { name: "More for nightly" }).click();
  await page.getByRole("menuitem", { name: "Pause" }).click();
  await confirm(page, "Pause");
  await until(async () => (await server.call("GET", "/crons/nightly")).paused === true, "the schedule is paused");
  await visit(page, "/workflows/content?tab=definition");
  const editor = page.locator("textarea.code");
  await editor.fill("workflow: content\ntriggers:\n  - name: x\n    on: e\n    match: a = = 1\n    task: { type: t }\n");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.locator(".editor .notice.bad").waitFor();
  check(/line \d+, column \d+/.test(await page.locator(".editor .notice.bad").innerText()), "a mistake has a place");
  await editor.fill("workflow: content\ntriggers:\n  - name: x\n    on: e\n    match: a = 1\n    task: { type: t }\n");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await until(async () => (await server.call("GET", "/workflows/content")).version === 2, "the workflow is saved");
  await visit(page, "/settings");
  await page.getByRole("button", { name: "Create a token" }).click();
  await page.getByLabel("Name", { exact: true }).fill("ci");
  await page.getByRole("button", { name: "Create", exact: true }).click();
  const secret = await page.locator(".secret code").innerText();
  check(secret.startsWith("faina_"), "the secret is shown");
}

export async function the_keyboard_is_enough(place) {
  const server = await place.serve();
  const older = await server.failed("mail.send", "no route");
  const newer = await server.failed("mail.send", "no route");
  const page = await place.page(server, "/");
  await page.keyboard.press("g");
  await page.keyboard.press("t");
  await page.locator(".tasks-row").nth(1).waitFor();
  await page.keyboard.press("/");
  await page.waitForFunction(() => document.activeElement?.id === "filter");
  await page.keyboard.type("stat");
  await page.locator(".filter-options li", { hasText: "status:" }).waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.keyboard.type("fail");
  await page.locator(".filter-options li", { hasText: "failed" }).first().waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => location.hash.includes("status%3Afailed"));
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  await page.locator(".list-head", { hasText: /^2 shown$/ }).waitFor(); // the list of this filter
  await page.keyboard.press("j");
  await page.locator(`.tasks-row.cursor[data-id="${newer.id}"]`).waitFor();
  await page.keyboard.press("j");
  await page.locator(`.tasks-row.cursor[data-id="${older.id}"]`).waitFor();
  await page.keyboard.press("x");
  await page.locator(`.tasks-row[data-id="${older.id}"][aria-selected=true]`).waitFor();
  await page.keyboard.press("r");
  await page.locator("dialog[open]").waitFor();
  await page.keyboard.press("Enter");
  await until(async () => (await status(server, older.id)) === "pending", "it is retried");
  equal(await status(server, newer.id), "failed");
  await page.locator("dialog").getByRole("button", { name: "Done" }).waitFor();
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => !document.querySelector("dialog[open]"));
  await page.keyboard.press("Control+k");
  await page.keyboard.type("schedul");
  await page.keyboard.press("Enter");
  await page.waitForSelector("h1:has-text('Schedules')");
}

export async function a_lost_server_is_announced_and_found_again(place) {
  const server = await place.serve();
  await server.submit("t");
  const page = await place.page(server, "/tasks");
  await page.locator(".tasks-row").waitFor();
  place.expected.push(/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET/);
  await server.stop();
  await page.locator(".banner").waitFor();
  await noAxeViolation(page, "a lost server");
  equal(await page.locator(".tasks-row").count(), 1, "the last data stays");
  await server.start();
  await page.waitForFunction(() => !document.querySelector(".banner"));
  await page.waitForSelector(".live.open");
  await server.submit("u");
  await page.locator(".fresh").waitFor();
}

export async function a_token_is_exchanged_for_a_session_with_its_scopes(place) {
  const server = await place.serve();
  if (!(await server.has("GET", "/session"))) return;
  const admin = place.faina("token", "create", "--scope", "admin");
  const viewer = place.faina("token", "create", "--scope", "view");
  server.token = admin;
  const task = await until(async () => {
    const answer = await server.call("POST", "/tasks", { type: "t", input: { secret: "hidden-payload" } });
    return answer.id ? answer : null;
  }, "the token is known");
  const page = await place.page(server, "/tasks");
  await page.waitForSelector(".login-box");
  await page.getByLabel("Token").fill("faina_wrong");
  await page.getByRole("button", { name: "Log in" }).click();
  await page.locator(".login .notice.bad").waitFor();
  await noAxeViolation(page, "the login");
  await page.getByLabel("Token").fill(viewer);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.locator(".tasks-row").waitFor();
  equal(await page.getByRole("button", { name: "All of this filter" }).count(), 0, "no button without its scope");
  await visit(page, `/tasks/${task.id}`);
  await page.getByText("Hidden: this token may not see payloads.").first().waitFor();
  equal(await page.getByRole("button", { name: "Cancel", exact: true }).count(), 0);
  check(!(await page.content()).includes("hidden-payload"));
  const kept = await page.evaluate(() => document.cookie + JSON.stringify({ ...localStorage }));
  check(!kept.includes("faina_"), "the page keeps no token", kept);
  await page.getByRole("button", { name: /Log out/ }).click();
  await page.waitForSelector(".login-box");
  await page.getByLabel("Token").fill(admin);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByRole("button", { name: "Cancel", exact: true }).waitFor();
  // The session ends while the page is open.
  await page.context().clearCookies();
  await visit(page, "/types");
  await page.waitForSelector(".login-box");
}

export async function a_button_is_there_only_with_its_scope(place) {
  const server = await place.serve();
  const task = await server.submit("t", { input: { secret: "hidden-payload" } });
  await server.call("PUT", "/crons/nightly", { schedule: "0 3 * * *", task: { type: "t" } }, 200);
  const elsewhere = await server.submit("t", { namespace: "other" });
  const token = (...flags) => place.faina("token", "create", ...flags);
  server.token = token("--scope", "admin");
  await until(async () => (await server.call("GET", `/tasks/${task.id}`)).id, "the token is known");
  // The views, with the buttons of each scope; those of the scopes before are in `admin` too.
  const buttons = [
    [`/tasks/${task.id}`, { "read,operate": ["Cancel", "Actions"], "read,submit": ["Cancel", "Actions"] }],
    ["/tasks", { "read,operate": ["All of this filter"] }],
    ["/types", { "read,operate": ["Pause"], admin: ["Policies"] }],
    ["/schedules", { "read,operate": ["Run now"], admin: ["More for nightly"] }],
    ["/workers?tab=resources", { admin: ["Set a limit"] }],
    ["/workflows", { admin: ["New workflow"] }],
    ["/settings", { admin: ["Create a token"] }],
  ];
  for (const scope of ["view", "read", "read,submit", "read,work", "read,operate", "admin"]) {
    const page = await place.page(server, "/tasks");
    await page.getByLabel("Token").fill(token("--scope", scope));
    await page.getByRole("button", { name: "Log in" }).click();
    await page.locator(".tasks-row").waitFor();
    for (const [view, wanted] of buttons) {
      await visit(page, view);
      for (const name of new Set(Object.values(wanted).flat())) {
        const is = (await page.locator("main").getByRole("button", { name, exact: true }).count()) > 0 || (await page.locator("main").getByLabel(name, { exact: true }).count()) > 0;
        const should = wanted[scope]?.includes(name) || scope === "admin";
        equal(is, should, `${name} on ${view} with ${scope}`);
      }
    }
    await visit(page, `/tasks/${task.id}`);
    equal((await page.content()).includes("hidden-payload"), scope !== "view", scope);
    await page.context().close();
  }
  // A token of one namespace sees that one.
  const page = await place.page(server, "/tasks");
  await page.getByLabel("Token").fill(token("--scope", "read", "--namespace", "other"));
  await page.getByRole("button", { name: "Log in" }).click();
  await page.locator(`.tasks-row[data-id="${elsewhere.id}"]`).waitFor();
  equal(await page.locator(".tasks-row").count(), 1);
  await visit(page, `/tasks/${task.id}`);
  await page.getByText("There is no task").waitFor();
}

export async function a_server_without_the_dashboard_has_none(place) {
  const server = await place.serve("--no-ui");
  equal((await fetch(server.base, { headers: { Accept: "text/html" } })).status, 404);
}
