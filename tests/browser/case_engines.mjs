// An engine that lacks something says so in its place.
import { check, visit } from "./helper_place.mjs";

export async function each_view_opens_on_the_engine_of_nats(place) {
  place.url = "kv-memory:";
  const server = await place.serve();
  const task = await server.submit("mail.send", { input: { n: 1 } });
  const page = await place.page(server, "/");
  for (const view of ["/", "/types", "/tasks", `/tasks/${task.id}`, `/tasks/${task.id}?tab=graph`, "/failures", "/workflows", "/events", "/schedules", "/workers", "/workers?tab=resources", "/activity", "/settings"]) {
    await visit(page, view);
    const text = await page.locator("main").innerText();
    check(!/undefined|NaN|\[object/.test(text), view, text);
  }
  await visit(page, "/workflows");
  check((await page.locator("main").innerText()).includes("This engine has no workflows"), "what is missing is said");
}
