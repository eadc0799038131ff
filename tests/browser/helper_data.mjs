// A store with something of everything.

/** Markup that would run if it became part of the page. */
export const EVIL = `"><img src=x onerror=alert(1)><script>alert(2)</script>'\${alert(3)}`;

export async function fill(server) {
  const tenants = ["acme", "globex", "initech"];
  const types = ["mail.send", "mail.digest", "image.resize", "report.build"];
  const tasks = Array.from({ length: 130 }, (_, i) => ({
    type: types[i % 4], name: i % 3 ? undefined : `Job ${i}`, priority: i % 5, input: { to: `user${i}@example.com`, n: i },
    metadata: { tenant: tenants[i % 3] },
  }));
  await server.call("POST", "/tasks:batch", { tasks }, 200);
  await server.call("PUT", "/resources/smtp", { maxConcurrency: 2 }, 200);
  await server.call("PUT", "/workers/worker-a", { poolSize: 8, types: ["mail.send", "image.resize"], version: "1.0" }, 200);
  const failed = await server.failed("sync.crm", "no answer from crm-17 within 30s");
  await server.failed("sync.crm", "no answer from crm-18 within 30s");
  const done = await server.completed("invoice.render", { pages: 3 });
  const running = await server.held("video.encode", { resources: ["smtp"] });
  await server.call("POST", `/tasks/${running.id}:progress`, { workerId: "w", progress: 40, state: "second pass" }, 200);
  const later = await server.submit("later", { delay: "2h" });
  const first = await server.submit("build", { name: "Build" });
  const blocked = await server.submit("deploy", { dependsOn: [first.id] });
  await server.call("POST", "/lanes:pause", { type: "report.build" }, 200);
  await server.call("PUT", "/crons/nightly", { schedule: "0 3 * * *", timezone: "Europe/Berlin", task: { type: "report.build" } }, 200);
  await server.call("PUT", "/workflows/content", {
    workflow: "content",
    triggers: [
      { name: "mp3", on: "object.created", match: "mimeType = 'audio/mpeg' AND size > 10", task: { type: "extract.id3", input: { hash: "${hash}" } } },
      { name: "img", on: "object.created", match: "mimeType startsWith 'image/'", task: { type: "extract.exif", input: { hash: "${hash}" } } },
    ],
    joins: [{ name: "post", taskTypes: ["extract.id3", "extract.exif"], joinKey: "hash", task: { type: "build.search", input: { hash: "${key}" } } }],
  }, 200);
  for (const [i, mimeType] of ["audio/mpeg", "image/png", "text/plain"].entries()) {
    await server.call("POST", "/events", { type: "object.created", id: `upload-${i}`, data: { hash: `h${i}`, mimeType, size: 20 } }, 200);
  }
  const [mp3] = (await server.call("POST", "/claims", { workerId: "w", types: ["extract.id3"], limit: 1 }, 200)).tasks;
  await server.call("POST", `/tasks/${mp3.id}:start`, { workerId: "w" }, 200);
  await server.call("POST", `/tasks/${mp3.id}:complete`, { workerId: "w", output: {} }, 200);
  return { failed, done, running, later, blocked, first };
}

export const views = (ids) => [
  "/", "/?range=24h", "/types", "/tasks", "/tasks?q=status:failed", "/tasks?q=status:nope", `/tasks/${ids.failed.id}`, `/tasks/${ids.running.id}?tab=log`,
  `/tasks/${ids.blocked.id}?tab=graph`, `/tasks/${ids.done.id}?tab=events`, "/failures", "/workflows", "/workflows/content",
  "/workflows/content?tab=definition", "/workflows/content?tab=joins", "/workflows/content?tab=test", "/events", "/events/upload-1",
  "/schedules", "/schedules/nightly", "/workers", "/workers?tab=resources", "/activity", "/settings", "/nowhere",
];
