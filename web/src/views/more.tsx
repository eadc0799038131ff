// The views that are read when they are first opened.
import { useMemo, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { can, get, query, send, session } from "../lib/api";
import { link, namespace, param, parts, setParams } from "../lib/route";
import { useQuery } from "../lib/query";
import { formatBytes, formatCount, formatSeconds, formatShort, formatSpan, formatTime, now } from "../lib/time";
import type { AuditEntry, Bucket, Cron, FailureGroup, Info, List, Operation, Resource, Stats, Task, TokenInfo, TypeCount, Worker } from "../lib/types";
import { quote } from "../lib/filter";
import { Age, ask, attempt, Bar, Button, Copy, Dialog, Empty, ErrorBox, Facts, Menu, notify, Page, Panel, Pending, ShortId, Sparkline, Status, Tabs, Time } from "../parts/basic";
import { BulkDialog, bulk, withReason, type Act } from "../parts/bulk";
import { findStuck } from "./now";

const anyEvent = () => true;

/** The namespace of an act: the chosen one, if it is one. */
const ns = () => (namespace.value && namespace.value !== "*" ? namespace.value : undefined);

function Scroll({ label, children }: { label: string; children: ComponentChildren }) {
  return <div class="scroll" tabIndex={0} role="group" aria-label={label}>{children}</div>;
}

// ---- types ----

interface Policies {
  type: string;
  namespace?: string;
  maxAttempts?: number | null;
  retry?: { base?: string; factor?: number; max?: string } | null;
  timeout?: string | number | null;
  startBy?: string | number | null;
  priority?: number | null;
  resources?: string[] | null;
  unhandledAfter?: string | number | null;
  inputSchema?: unknown;
}

export function TypesView() {
  const stats = useQuery<Stats>(`/stats${query({ namespace: namespace.value })}`, { every: 5000, on: anyEvent, pause: 1500 });
  const workers = useQuery<List<Worker>>("/workers?limit=1000", { every: 15000 });
  const resources = useQuery<List<Resource>>("/resources?limit=1000", { every: 10000 });
  const policies = useQuery<List<Policies>>(`/types${query({ namespace: namespace.value, limit: 1000 })}`, { every: 60000 });
  const [editing, setEditing] = useState<TypeCount | null>(null);
  const text = param("q").toLowerCase();
  const order = param("sort") || "waiting";
  const stuck = stats.data ? findStuck(stats.data, workers.data?.items, undefined, undefined) : [];
  const rows = useMemo(() => (stats.data?.types ?? []).filter((type) => type.type.toLowerCase().includes(text))
    .sort((a, b) => (order === "type" ? a.type.localeCompare(b.type) : order === "failed" ? failed(b) - failed(a) : b.byStatus.pending - a.byStatus.pending) || a.type.localeCompare(b.type)), [stats.data, text, order]);
  const pause = (type: TypeCount) => {
    const act = type.paused ? "resume" : "pause";
    ask({
      title: `${type.paused ? "Resume" : "Pause"} ${type.type}`, act: type.paused ? "Resume" : "Pause", takesReason: true,
      body: <p>{type.paused ? `${formatCount(type.byStatus.pending)} waiting tasks may start again.` : "Tasks of this type are not claimed until it is resumed. Those that run now go on."}</p>,
      onYes: async (reason) => {
        await withReason(reason, (why) => send("POST", `/lanes:${act}`, { type: type.type, namespace: type.namespace, ...(why ? { reason: why } : {}) }));
        notify(type.paused ? "Resumed" : "Paused");
        stats.reload();
      },
    });
  };
  return (
    <Page title="Types" answer={stats} lead="A type names what handles a task. Its line moves when a worker handles it, it is not paused and its resources have room.">
      <div class="list-head">
        <input type="search" placeholder="Find a type" aria-label="Find a type" value={param("q")} onInput={(event) => setParams({ q: event.currentTarget.value })} />
        <Tabs label="Order" value={order} onPick={(value) => setParams({ sort: value })} items={[["waiting", "Waiting"], ["failed", "Failed"], ["type", "Name"]]} />
      </div>
      {!stats.data ? <Pending answer={stats} what="counts" /> : rows.length === 0 ? (
        <Empty title={text ? "No type has this name." : "There are no types yet. The first task makes one."} command={text ? undefined : `faina submit hello '{"name":"Ann"}'`} />
      ) : (
        <Panel>
          <Scroll label="Types">
            <table class="table">
              <thead><tr><th>Type</th><th class="num">Waiting</th><th class="num">Running</th><th class="num">Failed</th><th class="num">Completed</th><th class="num">Oldest ready</th><th class="num">Waited p95</th><th>Last hour</th><th>Policies</th><th><span class="hidden">Acts</span></th></tr></thead>
              <tbody>
                {rows.slice(0, 300).map((type, i) => {
                  const why = stuck.find((item) => item.name === type.type);
                  const policy = policies.data?.items.find((item) => item.type.toLowerCase() === type.type.toLowerCase() && item.namespace === type.namespace);
                  const full = type.byStatus.pending ? (resources.data?.items ?? []).filter((resource) => isFull(resource) && policy?.resources?.some((name) => name.toLowerCase() === resource.name.toLowerCase())) : [];
                  return (
                    <tr key={`${type.namespace} ${type.type}`}>
                      <td class="type-name">
                        <a href={link(["tasks"], { q: `type:${quote(type.type)}` })}>{type.type}</a>
                        {namespace.value === "*" && <span class="tag">{type.namespace}</span>}
                        {type.paused && <span class="tag warn">paused</span>}
                        {why && !type.paused && <div class="faint">{why.kind === "unhandled" ? "no worker handles it" : why.text}</div>}
                        {full.map((resource) => <div class="faint" key={resource.name}><a href={link(["workers"], { tab: "resources" })}>{resource.name}</a> is full</div>)}
                      </td>
                      <td class="num">{formatCount(type.byStatus.pending)}</td>
                      <td class="num">{formatCount(type.byStatus.claimed + type.byStatus.running)}</td>
                      <td class={`num${failed(type) ? " bad" : ""}`}>{failed(type) ? <a class="bad" href={link(["tasks"], { q: `type:${quote(type.type)} status:failed,dead_letter` })}>{formatCount(failed(type))}</a> : 0}</td>
                      <td class="num">{formatCount(type.byStatus.completed)}</td>
                      <td class="num">{type.oldestReadyAt ? formatSpan(now.value - Date.parse(type.oldestReadyAt)) : "–"}</td>
                      {i < 40 ? <TypeSpark type={type.type} ns={type.namespace} /> : <><td class="num">–</td><td>–</td></>}
                      <td class="faint policies">{policy ? describe(policy) : policies.error?.isMissing ? "–" : "default"}</td>
                      <td><div class="row-actions">
                        {can("operate") && <Button small icon={type.paused ? "play" : "pause"} onClick={() => pause(type)}>{type.paused ? "Resume" : "Pause"}</Button>}
                        {can("admin") && !policies.error?.isMissing && <Button small onClick={() => setEditing(type)}>Policies</Button>}
                      </div></td>
                    </tr>
                  );
                })}
              </tbody>
            </table>
          </Scroll>
          {(stats.data.moreTypes || rows.length > 300) && <p class="faint pad">There are more types; find one by its name.</p>}
        </Panel>
      )}
      {editing !== null && <PolicyDialog type={editing.type} ns={editing.namespace} onClose={() => { setEditing(null); policies.reload(); }} />}
    </Page>
  );
}

const isFull = (resource: Resource) => resource.maxConcurrency !== null && resource.maxConcurrency !== undefined && resource.inUse >= resource.maxConcurrency;
const failed = (type: TypeCount) => type.byStatus.failed + type.byStatus.dead_letter;

function describe(policy: Policies): string {
  const out: string[] = [];
  if (policy.maxAttempts !== null && policy.maxAttempts !== undefined) out.push(`${policy.maxAttempts || "any"} attempts`);
  if (policy.timeout) out.push(`limit ${policy.timeout}`);
  if (policy.startBy) out.push(`start by ${policy.startBy}`);
  if (policy.priority !== null && policy.priority !== undefined) out.push(`priority ${policy.priority}`);
  if (policy.resources?.length) out.push(policy.resources.join(", "));
  if (policy.unhandledAfter) out.push(`fail unhandled after ${policy.unhandledAfter}`);
  if (policy.inputSchema !== null && policy.inputSchema !== undefined) out.push("input schema");
  if (policy.retry) out.push(`retry ${policy.retry.base ?? "15s"} × ${policy.retry.factor ?? 8}`);
  return out.join(" · ") || "default";
}

function TypeSpark({ type, ns: where }: { type: string; ns: string }) {
  const from = useMemo(() => new Date(Math.floor(Date.now() / 60000) * 60000 - 3600000).toISOString(), []);
  const answer = useQuery<{ items: Bucket[] }>(`/stats/history${query({ type, namespace: where, from, step: "2m" })}`, { every: 60000 });
  if (!answer.data) return <><td class="num">–</td><td class="faint">–</td></>;
  const values = answer.data.items.map((bucket) => (bucket.completed ?? 0) + (bucket.failed ?? 0) + (bucket.deadLettered ?? 0));
  const waited = [...answer.data.items].reverse().find((bucket) => typeof bucket.wait?.p95 === "number")?.wait?.p95;
  return <>
    <td class="num">{formatSeconds(waited)}</td>
    <td><Sparkline values={values} label={`${formatCount(values.reduce((a, b) => a + b, 0))} tasks ended in the last hour`} /></td>
  </>;
}

const POLICY_FIELDS: [keyof Policies, string, string][] = [
  ["maxAttempts", "Attempts at most", "4"],
  ["timeout", "Longest run of an attempt", "10m"],
  ["startBy", "Start within", "1h"],
  ["priority", "Priority", "0"],
  ["resources", "Resources, with commas", "smtp"],
  ["unhandledAfter", "Fail when no worker handles it for", "never"],
];

function PolicyDialog({ type, ns, onClose }: { type: string; ns: string; onClose: () => void }) {
  const path = `/types/${encodeURIComponent(type)}${query({ namespace: ns })}`;
  const answer = useQuery<Policies>(path);
  const isNew = answer.error?.status === 404 && !answer.error.isMissing;
  if (!answer.data && !isNew) return <Dialog title={`Policies of ${type}`} onClose={onClose}><Pending answer={answer} what="policies of types" /></Dialog>;
  return <PolicyForm type={type} path={path} start={answer.data ?? { type }} onClose={onClose} />;
}

function PolicyForm({ type, path, start, onClose }: { type: string; path: string; start: Policies; onClose: () => void }) {
  const [values, setValues] = useState<Record<string, string>>(() => ({
    ...Object.fromEntries(POLICY_FIELDS.map(([key]) => [key, start[key] === null || start[key] === undefined ? "" : Array.isArray(start[key]) ? (start[key] as string[]).join(", ") : String(start[key])])),
    base: start.retry?.base === undefined ? "" : String(start.retry.base), factor: start.retry?.factor === undefined ? "" : String(start.retry.factor), max: start.retry?.max === undefined ? "" : String(start.retry.max),
  }));
  const [error, setError] = useState<Error | null>(null);
  const field = (key: string, label: string, hint: string) => (
    <label class="field" key={key}><span>{label}</span><input value={values[key]} placeholder={hint} onInput={(event) => setValues({ ...values, [key]: event.currentTarget.value })} /></label>
  );
  const save = async (event: Event) => {
    event.preventDefault();
    const body: Record<string, unknown> = {};
    for (const [key] of POLICY_FIELDS) {
      const value = values[key]!.trim();
      if (!value) continue;
      body[key] = key === "maxAttempts" || key === "priority" ? Number(value) : key === "resources" ? value.split(",").map((name) => name.trim()).filter(Boolean) : value;
    }
    const retry = { ...(values.base ? { base: values.base } : {}), ...(values.factor ? { factor: Number(values.factor) } : {}), ...(values.max ? { max: values.max } : {}) };
    if (Object.keys(retry).length) body.retry = retry;
    if (start.inputSchema !== null && start.inputSchema !== undefined) body.inputSchema = start.inputSchema; // it is not edited here
    try {
      await send("PUT", path, body);
      notify("Saved");
      onClose();
    } catch (problem) {
      setError(problem as Error);
    }
  };
  const reset = () => attempt("The defaults apply again", async () => {
    await send("DELETE", path);
    onClose();
  });
  return (
    <Dialog title={`Policies of ${type}`} onClose={onClose}>
      <form onSubmit={save}>
        <p class="faint">For tasks that set none themselves. An empty field is the default.</p>
        <div class="fields">{POLICY_FIELDS.map(([key, label, hint]) => field(key, label, hint))}</div>
        <h3>Waits between attempts</h3>
        <div class="fields">{field("base", "First", "15s")}{field("factor", "Factor", "8")}{field("max", "Longest", "6h")}</div>
        {error && <ErrorBox error={error} />}
        <footer class="dialog-foot"><Button onClick={() => void reset()}>Defaults</Button><Button onClick={onClose}>Close</Button><Button type="submit" kind="primary">Save</Button></footer>
      </form>
    </Dialog>
  );
}

// ---- failures ----

const FAILED = "failed,dead_letter";
const SINCE: [string, string, number][] = [["1h", "1 hour", 1], ["24h", "24 hours", 24], ["7d", "7 days", 168]];

export function FailuresView() {
  const range = SINCE.find(([key]) => key === param("since")) ?? SINCE[1]!;
  const since = useMemo(() => new Date(Math.floor((Date.now() - range[2] * 3600000) / 60000) * 60000).toISOString(), [range[0]]);
  const answer = useQuery<List<FailureGroup>>(`/failures${query({ namespace: namespace.value, type: param("type"), since })}`, { every: 15000, on: (change) => !change.taskId || change.status === "failed" || change.status === "dead_letter" || change.event === "retry_scheduled", pause: 3000 });
  const groups = [...(answer.data?.items ?? [])].sort((a, b) => b.count - a.count || b.lastAt.localeCompare(a.lastAt));
  const onGroup = (act: Act, group: FailureGroup, status: string) => {
    const where = group.namespace ?? ns();
    const filter = { type: group.type, status, failureGroup: group.id, ...(where ? { namespace: where } : {}) };
    const waits = status === "pending" ? "tasks that wait for another attempt" : "failed tasks";
    bulk.value = { act, filters: [filter], isNow: act === "update", what: `${waits} of this group of ${group.type}`, onDone: answer.reload };
  };
  const tasksOf = (group: FailureGroup, status: string) => link(["tasks"], { q: `type:${quote(group.type)} failure:${group.id}${status ? ` status:${status}` : ""}`, ns: namespace.value === "*" ? group.namespace : null });
  return (
    <Page title="Failures" answer={answer} lead="Attempts that failed, grouped by type, kind of error and message. Numbers, ids and quoted text are left out of the messages."
      actions={<Tabs label="Time" value={range[0]} onPick={(value) => setParams({ since: value })} items={SINCE.map(([key, text]) => [key, text])} />}>
      {answer.error && answer.data ? <ErrorBox error={answer.error} /> : null}
      {!answer.data ? <Pending answer={answer} what="groups of failures" /> : groups.length === 0 ? (
        <Empty title={`Nothing failed in the last ${range[1]}.`}><p class="faint">An attempt that fails is listed here, also if the task is tried again.</p></Empty>
      ) : (
        <Panel>
          <Scroll label="Failures">
            <table class="table">
              <thead><tr><th class="num" title="failed attempts of the last 90 days">Attempts</th><th>Message</th><th>Type</th><th>Kind</th><th title="failed attempts of the type">Trend of type</th><th>First</th><th>Last</th><th>Sample</th><th><span class="hidden">Acts</span></th></tr></thead>
              <tbody>
                {groups.map((group) => (
                  <tr key={`${group.namespace} ${group.type} ${group.kind} ${group.message}`}>
                    <td class="num"><strong>{formatCount(group.count)}</strong></td>
                    <td class="message"><a href={tasksOf(group, "")}>{group.message || "no message"}</a></td>
                    <td>{group.type}{namespace.value === "*" && <span class="tag">{group.namespace}</span>}</td>
                    <td>{group.kind || <span class="faint">–</span>}</td>
                    <td><FailureSpark type={group.type} since={since} hours={range[2]} /></td>
                    <td class="nowrap"><Age at={group.firstAt} /></td>
                    <td class="nowrap"><Age at={group.lastAt} /></td>
                    <td class="nowrap">{group.taskIds.slice(0, 2).map((id) => <><ShortId key={id} id={id} to />{" "}</>)}</td>
                    <td><div class="row-actions">{can("operate") && <>
                      <Button small icon="retry" onClick={() => onGroup("retry", group, FAILED)}>Retry</Button>
                      <Menu label={`More for ${group.type}`} items={[
                        { text: "Start those that wait for a retry", icon: "play", run: () => onGroup("update", group, "pending") },
                        { text: "Cancel those that wait for a retry", icon: "cancelled", isDangerous: true, run: () => onGroup("cancel", group, "pending") },
                        { text: "Delete the failed tasks", icon: "close", isDangerous: true, run: () => onGroup("delete", group, FAILED) },
                      ]} />
                    </>}</div></td>
                  </tr>
                ))}
              </tbody>
            </table>
          </Scroll>
        </Panel>
      )}
      {bulk.value && <BulkDialog question={bulk.value} />}
    </Page>
  );
}

function FailureSpark({ type, since, hours }: { type: string; since: string; hours: number }) {
  const answer = useQuery<{ items: Bucket[] }>(`/stats/history${query({ type, namespace: ns(), from: since, step: hours === 1 ? "2m" : hours === 24 ? "30m" : "4h" })}`, { every: 60000 });
  if (!answer.data) return <span class="faint">–</span>;
  return <Sparkline values={answer.data.items.map((bucket) => (bucket.failed ?? 0) + (bucket.deadLettered ?? 0) + (bucket.retried ?? 0))} label={`Failures of ${type} over time`} />;
}

// ---- schedules ----

export function SchedulesView() {
  const answer = useQuery<List<Cron>>(`/crons${query({ namespace: namespace.value, limit: 1000 })}`, { every: 15000 });
  const chosen = parts.value[1];
  const shown = (answer.data?.items ?? []).filter((cron) => !chosen || cron.name === chosen);
  const own = (cron: Cron) => query({ namespace: cron.namespace });
  const pause = (cron: Cron) => ask({
    title: `${cron.paused ? "Resume" : "Pause"} ${cron.name}`, act: cron.paused ? "Resume" : "Pause", takesReason: true,
    body: <p>{cron.paused ? "It makes tasks again at its next time." : "It makes no tasks until it is resumed."}</p>,
    onYes: async (reason) => {
      const { schedule, timezone, task, catchUp, overlap, jitter } = cron;
      const body = { namespace: cron.namespace, schedule, timezone, task, catchUp, overlap, jitter, paused: !cron.paused };
      await withReason(reason, (why) => send("PUT", `/crons/${encodeURIComponent(cron.name)}`, { ...body, ...(why ? { reason: why } : {}) }, { ifMatch: cron.version }));
      notify(cron.paused ? "Resumed" : "Paused");
      answer.reload();
    },
  });
  const run = (cron: Cron) => attempt("", async () => {
    const task = await send<{ id: string }>("POST", `/crons/${encodeURIComponent(cron.name)}:run${own(cron)}`);
    notify(`Made the task …${task.id.slice(-8)}`, { href: link(["tasks", task.id]) });
    answer.reload();
  });
  const remove = (cron: Cron) => ask({
    title: `Remove ${cron.name}`, act: "Remove the schedule", isDangerous: true, needsReason: true, body: <p>The tasks that it made stay.</p>,
    onYes: async (reason) => {
      await withReason(reason, (why) => send("DELETE", `/crons/${encodeURIComponent(cron.name)}${query({ namespace: cron.namespace, reason: why })}`, undefined, { ifMatch: cron.version }));
      notify("Removed");
      answer.reload();
    },
  });
  return (
    <Page answer={answer} title={chosen ? <><a class="crumb" href={link(["schedules"])}>Schedules</a><span>{chosen}</span></> : "Schedules"}>
      {!answer.data ? <Pending answer={answer} what="schedules" /> : answer.data.items.length === 0 ? (
        <Empty title="There are no schedules." command="faina cron set nightly '0 3 * * *' cleanup --timezone Europe/Berlin"><p class="faint">A schedule makes a task at each of its times.</p></Empty>
      ) : shown.length === 0 ? (
        <Empty title={`There is no schedule ${chosen} any more.`}><p><a href={link(["schedules"])}>All schedules</a></p></Empty>
      ) : (
        <Panel>
          <Scroll label="Schedules">
            <table class="table">
              <thead><tr><th>Name</th><th>Schedule</th><th>Type</th><th>Next</th><th>Last</th><th>Missed times</th><th><span class="hidden">Acts</span></th></tr></thead>
              <tbody>
                {shown.map((cron) => {
                  const type = (cron.task as { type?: string } | null)?.type ?? "default";
                  return (
                    <tr key={`${cron.namespace} ${cron.name}`}>
                      <td><a href={link(["schedules", cron.name])}>{cron.name}</a>{cron.paused && <span class="tag warn">paused</span>}
                        {namespace.value === "*" && <span class="tag">{cron.namespace}</span>}
                        {cron.problem && <div class="bad">{cron.problem}</div>}</td>
                      <td class="nowrap"><code>{cron.schedule}</code><div class="faint">{cron.timezone}</div></td>
                      <td><a href={link(["tasks"], { q: `type:${quote(type)}` })}>{type}</a></td>
                      <td class="nowrap">{cron.paused ? <span class="faint">–</span> : <><Age at={cron.nextAt} /><div class="faint"><Time at={cron.nextAt} /></div></>}</td>
                      <td class="nowrap"><Age at={cron.lastAt} /></td>
                      <td class="faint">{{ none: "are skipped", one: "make one task", all: "make a task each" }[cron.catchUp as string] ?? ""}</td>
                      <td><div class="row-actions">
                        {can("operate") && <Button small icon="play" onClick={() => void run(cron)}>Run now</Button>}
                        {can("admin") && <Menu label={`More for ${cron.name}`} items={[{ text: cron.paused ? "Resume" : "Pause", icon: cron.paused ? "play" : "pause", run: () => pause(cron) }, { text: "Remove", icon: "close", isDangerous: true, run: () => remove(cron) }]} />}
                      </div></td>
                    </tr>
                  );
                })}
              </tbody>
            </table>
          </Scroll>
        </Panel>
      )}
      {chosen && shown.map((cron) => <CronDetail key={`${cron.namespace} ${cron.name}`} cron={cron} />)}
    </Page>
  );
}

function CronDetail({ cron }: { cron: Cron }) {
  const next = useQuery<List<{ at: string }>>(`/crons/${encodeURIComponent(cron.name)}/next${query({ count: 10, namespace: cron.namespace })}`, { every: 60000 });
  const past = useQuery<List<{ id: string; status: string; createdAt: string; type: string }>>(`/tasks${query({ schedule: cron.name, namespace: cron.namespace, limit: 10, brief: true })}`, { on: anyEvent, pause: 3000 });
  return (
    <div class="columns">
      <Panel title={`Next times of ${cron.name}`} note={cron.timezone}>
        {!next.data ? <Pending answer={next} what="list of next times" /> : (
          <Facts items={next.data.items.map((item, i) => {
            return [`${i + 1}`, <><Time at={item.at} /> <span class="faint"><Age at={item.at} /></span></>];
          })} />
        )}
      </Panel>
      <Panel title="Past tasks" actions={<a href={link(["tasks"], { q: `schedule:${quote(cron.name)}` })}>All</a>}>
        {!past.data ? past.error?.status === 400 ? <p class="faint pad">This server can't list the tasks of a schedule.</p> : <Pending answer={past} what="list of past tasks" />
          : past.data.items.length === 0 ? <p class="faint pad">It has made no task that is still stored.</p> : (
            <Scroll label="Past tasks"><table class="table"><tbody>{past.data.items.map((task) => (
              <tr key={task.id}><td><ShortId id={task.id} to /></td><td><Status status={task.status} /></td><td class="num"><Age at={task.createdAt} /></td></tr>
            ))}</tbody></table></Scroll>
          )}
      </Panel>
    </div>
  );
}

// ---- workers and resources ----

export function WorkersView() {
  const tab = param("tab") || "workers";
  return tab === "resources" ? <Resources /> : <Workers />;
}

const TABS = () => <Tabs label="Part" value={param("tab") || "workers"} onPick={(value) => setParams({ tab: value === "workers" ? null : value })} items={[["workers", "Workers"], ["resources", "Resources"]]} />;

function Workers() {
  const answer = useQuery<List<Worker>>("/workers?limit=1000", { every: 3000 });
  const items = answer.data?.items ?? [];
  const slots = items.reduce((sum, worker) => sum + (worker.poolSize ?? 0), 0);
  const held = items.reduce((sum, worker) => sum + (worker.held ?? 0), 0);
  return (
    <Page title="Workers and resources" answer={answer} actions={<TABS />}>
      {!answer.data ? <Pending answer={answer} what="list of workers" /> : items.length === 0 ? (
        <Empty title="No worker is alive." command="faina worker --handlers handlers"><p class="faint">A worker claims tasks and runs their handlers.</p></Empty>
      ) : (
        <Panel title={`${formatCount(items.length)} ${items.length === 1 ? "process" : "processes"}`} note={`${formatCount(held)} ${held === 1 ? "task" : "tasks"} held, ${formatCount(slots)} slots`}>
          <Scroll label="Workers">
            <table class="table">
              <thead><tr><th>Worker</th><th>Machine</th><th>Busy</th><th class="num">Held</th><th class="num">Slots</th><th>Heartbeat</th><th>Started</th><th>Types</th><th>Version</th></tr></thead>
              <tbody>
                {items.map((worker) => (
                  <tr key={worker.id}>
                    <td><a href={link(["tasks"], { q: `worker:${quote(worker.id)}` })} class="wrap">{worker.id}</a>{worker.isLeader && <span class="tag good" title={worker.leaderUntil ? `until ${formatTime(worker.leaderUntil as string)}` : ""}>leader</span>}</td>
                    <td>{worker.hostname ?? <span class="faint">–</span>}</td>
                    <td>{worker.poolSize ? <Bar value={worker.held ?? 0} max={worker.poolSize} label={`${worker.held} of ${worker.poolSize} slots in use`} /> : <span class="faint">no slots</span>}</td>
                    <td class="num">{formatCount(worker.held)}</td>
                    <td class="num">{formatCount(worker.poolSize)}</td>
                    <td class={`nowrap${now.value - Date.parse(worker.lastHeartbeat) > 30000 ? " bad" : ""}`}><Age at={worker.lastHeartbeat} /></td>
                    <td class="nowrap"><Age at={worker.startedAt} /></td>
                    <td class="message">{worker.poolSize ? <TypeTags names={(worker.types ?? []) as string[]} /> : <span class="faint">none</span>}</td>
                    <td>{worker.version ?? <span class="faint">–</span>}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </Scroll>
        </Panel>
      )}
      <Leases />
    </Page>
  );
}

const LEASES_READ = 500;
const LEASES_SHOWN = 20;

/** The held tasks whose leases end first. A worker that is alive renews them. */
function Leases() {
  const answer = useQuery<List<Task>>(`/tasks${query({ namespace: namespace.value, status: "claimed,running", limit: LEASES_READ, brief: true })}`, { every: 5000 });
  const items = (answer.data?.items ?? []).filter((task) => task.leaseExpiresAt).sort((a, b) => a.leaseExpiresAt!.localeCompare(b.leaseExpiresAt!)).slice(0, LEASES_SHOWN);
  if (!items.length) return null;
  return (
    <Panel title="Leases that end next" note={answer.data?.nextCursor ? `of the ${formatCount(LEASES_READ)} newest held tasks` : "a lease that is not renewed gives the task back"}>
      <Scroll label="Leases that end next">
        <table class="table">
          <thead><tr><th>Lease</th><th>Task</th><th>Type</th><th>Status</th><th>Worker</th><th class="num">Attempt</th></tr></thead>
          <tbody>
            {items.map((task) => {
              const left = Date.parse(task.leaseExpiresAt!) - now.value;
              return (
                <tr key={task.id}>
                  <td class={`nowrap${left < 5000 ? " bad" : ""}`}>{left < 0 ? `ended ${formatSpan(-left)} ago` : <Age at={task.leaseExpiresAt} />}</td>
                  <td><ShortId id={task.id} to /></td>
                  <td>{task.type}</td>
                  <td><Status status={task.status!} /></td>
                  <td class="nowrap"><a href={link(["tasks"], { q: `worker:${quote(task.workerId ?? "")}` })}>{task.workerId}</a></td>
                  <td class="num">{task.attempts}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </Scroll>
    </Panel>
  );
}

function TypeTags({ names }: { names: string[] }) {
  const [isWhole, setWhole] = useState(false);
  if (!names.length) return <span class="faint">any</span>;
  const shown = isWhole ? names : names.slice(0, 8);
  return <>{shown.map((name) => <span class="tag" key={name}>{name}</span>)}{shown.length < names.length && <button type="button" class="link" onClick={() => setWhole(true)}>and {names.length - shown.length} more</button>}</>;
}

function rateText(rate: Resource["rate"]): string {
  if (!rate) return "–";
  return `${rate.count} per ${typeof rate.per === "number" ? `${rate.per}s` : rate.per}${rate.burst !== undefined && rate.burst !== rate.count ? `, burst ${rate.burst}` : ""}`;
}

function Resources() {
  const answer = useQuery<List<Resource>>("/resources?limit=1000", { every: 3000 });
  const [editing, setEditing] = useState<Resource | "new" | null>(null);
  const remove = (resource: Resource) => ask({
    title: `Remove the limit of ${resource.name}`, act: "Remove the limit", isDangerous: true, needsReason: true, body: <p>Any number of tasks may then use it at once.</p>,
    onYes: async (reason) => {
      await withReason(reason, (why) => send("DELETE", `/resources/${encodeURIComponent(resource.name)}${query({ reason: why })}`));
      notify("Removed");
      answer.reload();
    },
  });
  return (
    <Page title="Workers and resources" answer={answer} actions={<>
      {can("admin") && <Button icon="plus" onClick={() => setEditing("new")}>Set a limit</Button>}<TABS /></>}>
      {!answer.data ? <Pending answer={answer} what="resources" /> : answer.data.items.length === 0 ? (
        <Empty title="No resource has a limit." command="faina resource set gpu 2"><p class="faint">A limit is how many tasks may use a resource at once, on all nodes together.</p></Empty>
      ) : (
        <Panel>
          <Scroll label="Resources">
            <table class="table">
              <thead><tr><th>Resource</th><th>Use</th><th class="num">In use</th><th class="num">Limit</th><th>Rate</th><th>Holders</th><th><span class="hidden">Acts</span></th></tr></thead>
              <tbody>
                {answer.data.items.map((resource) => (
                  <tr key={resource.name}>
                    <td><a href={link(["tasks"], { q: `resource:${quote(resource.name)}` })}>{resource.name}</a></td>
                    <td>{resource.maxConcurrency !== null && resource.maxConcurrency !== undefined ? <Bar value={resource.inUse} max={resource.maxConcurrency} label={`${resource.inUse} of ${resource.maxConcurrency}`} /> : <span class="faint">no limit</span>}</td>
                    <td class="num">{formatCount(resource.inUse)}</td>
                    <td class="num">{resource.maxConcurrency === null ? "∞" : formatCount(resource.maxConcurrency)}</td>
                    <td>{rateText(resource.rate)}</td>
                    <td class="message">{(resource.holders as string[]).slice(0, 6).map((id) => <><ShortId key={id} id={id} to />{" "}</>)}{resource.holders.length > 6 && <span class="faint">and {resource.holders.length - 6} more</span>}</td>
                    <td><div class="row-actions">{can("admin") && <>
                      <Button small onClick={() => setEditing(resource)} label={`Change ${resource.name}`}>Change</Button>
                      <Menu label={`More for ${resource.name}`} items={[{ text: "Remove the limit", icon: "close", isDangerous: true, run: () => remove(resource) }]} />
                    </>}</div></td>
                  </tr>
                ))}
              </tbody>
            </table>
          </Scroll>
        </Panel>
      )}
      {editing && <ResourceDialog resource={editing === "new" ? null : editing} onClose={() => { setEditing(null); answer.reload(); }} />}
    </Page>
  );
}

function ResourceDialog({ resource, onClose }: { resource: Resource | null; onClose: () => void }) {
  const rate = resource?.rate;
  const [values, setValues] = useState({
    name: resource?.name ?? "", limit: resource?.maxConcurrency === null || !resource ? "" : String(resource.maxConcurrency),
    count: rate ? String(rate.count) : "", per: rate ? String(rate.per) : "1s", burst: rate?.burst !== undefined ? String(rate.burst) : "", reason: "",
  });
  const [error, setError] = useState<Error | null>(null);
  const field = (key: keyof typeof values, label: string, hint: string, more: { required?: boolean; disabled?: boolean } = {}) => (
    <label class="field"><span>{label}</span><input value={values[key]} placeholder={hint} {...more} onInput={(event) => setValues({ ...values, [key]: event.currentTarget.value })} /></label>
  );
  const save = async (event: Event) => {
    event.preventDefault();
    const body: Record<string, unknown> = { maxConcurrency: values.limit.trim() === "" ? null : Number(values.limit) };
    if (values.count.trim()) body.rate = { count: Number(values.count), per: values.per.trim() || "1s", ...(values.burst.trim() ? { burst: Number(values.burst) } : {}) };
    try {
      await withReason(values.reason.trim(), (why) => send("PUT", `/resources/${encodeURIComponent(values.name.trim())}`, { ...body, ...(why ? { reason: why } : {}) }));
      notify("Saved");
      onClose();
    } catch (problem) {
      setError(problem as Error);
    }
  };
  return (
    <Dialog title={resource ? `Limit of ${resource.name}` : "Set a limit"} onClose={onClose}>
      <form onSubmit={save}>
        {!resource && field("name", "Resource", "smtp", { required: true })}
        {field("limit", "Tasks at once", "no limit")}
        <div class="fields">{field("count", "Starts", "no rate")}{field("per", "per", "1s")}{field("burst", "Burst", "as starts")}</div>
        {field("reason", "Reason (optional)", "Shown in the activity log")}
        {error && <ErrorBox error={error} />}
        <footer class="dialog-foot"><Button onClick={onClose}>Close</Button><Button type="submit" kind="primary">Save</Button></footer>
      </form>
    </Dialog>
  );
}

// ---- activity ----

export function ActivityView() {
  const [pages, setPages] = useState<string[]>([]);
  const audit = useQuery<List<AuditEntry>>("/audit?limit=100", { every: 10000 });
  const older = useQuery<List<AuditEntry>>(pages.length ? `/audit${query({ limit: 100, cursor: pages.at(-1) })}` : null);
  const operations = useQuery<List<Operation>>("/operations?limit=50", { every: 2000 });
  const shown = pages.length ? older : audit;
  const entries = shown.data?.items ?? [];
  const stop = (operation: Operation) => attempt("Stopped", async () => {
    await send("POST", `/operations/${operation.id}:cancel`, {});
    operations.reload();
  });
  const running = (operations.data?.items ?? []).slice(0, 20);
  return (
    <Page title="Activity" answer={audit} lead="Who did what, when and why. Entries are only ever added, and each carries the hash of the one before: faina audit verify checks them.">
      {operations.data && running.length > 0 && (
        <Panel title="Operations on many tasks">
          <Scroll label="Operations">
            <table class="table">
              <thead><tr><th>Act</th><th>Status</th><th>Progress</th><th class="num">Done</th><th class="num">Not</th><th class="num">Matched</th><th>By</th><th>Reason</th><th><span class="hidden">Acts</span></th></tr></thead>
              <tbody>
                {running.map((operation) => (
                  <tr key={operation.id}>
                    <td>{operation.kind}</td>
                    <td>{operation.status}</td>
                    <td><progress max={Math.max(1, operation.matched)} value={operation.done + operation.failed} aria-label="Progress" /></td>
                    <td class="num">{formatCount(operation.done)}</td><td class="num">{formatCount(operation.failed)}</td><td class="num">{formatCount(operation.matched)}</td>
                    <td>{operation.createdBy ?? <span class="faint">–</span>}</td>
                    <td class="message">{operation.reason ?? <span class="faint">–</span>}</td>
                    <td><div class="row-actions">{operation.status === "running" && can("operate") && <Button small onClick={() => void stop(operation)}>Stop</Button>}</div></td>
                  </tr>
                ))}
              </tbody>
            </table>
          </Scroll>
        </Panel>
      )}
      {!shown.data ? <Pending answer={shown} what="log of acts" /> : entries.length === 0 ? (
        <Empty title="Nothing was done by hand yet." command={`faina pause mail.send --reason "the mail server is down"`} />
      ) : (
        <Panel title="Acts">
          <Scroll label="Acts">
            <table class="table">
              <thead><tr><th>Time</th><th>Who</th><th>Act</th><th>Target</th><th>Reason</th><th>Request</th></tr></thead>
              <tbody>
                {entries.map((entry) => (
                  <tr key={entry.id}>
                    <td class="nowrap"><Time at={entry.at} /></td>
                    <td>{entry.who ?? <span class="faint">no token</span>}</td>
                    <td>{entry.act}</td>
                    <td class="message"><Target entry={entry} /></td>
                    <td class="message">{entry.reason ?? <span class="faint">–</span>}</td>
                    <td class="mono faint">{entry.requestId}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </Scroll>
          <div class="pad row-actions">
            {pages.length > 0 && <Button small onClick={() => setPages(pages.slice(0, -1))}>Newer</Button>}
            {shown.data.nextCursor && <Button small onClick={() => setPages([...pages, shown.data!.nextCursor!])}>Older</Button>}
          </div>
        </Panel>
      )}
    </Page>
  );
}

function Target({ entry }: { entry: AuditEntry }) {
  const text = entry.target;
  if (!text) return <span class="faint">–</span>;
  const isTask = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text) && !/^(team|token|operation)/.test(entry.act);
  if (isTask) return <a class="mono" href={link(["tasks", text])}>{`…${text.slice(-8)}`}</a>;
  return <span class="wrap">{text}</span>;
}

// ---- settings ----

const SCOPES: [string, string][] = [
  ["read", "see everything, with payloads"],
  ["view", "see everything without payloads"],
  ["submit", "submit and emit"],
  ["work", "claim and report, for workers"],
  ["operate", "cancel, retry, delete, pause"],
  ["admin", "everything"],
];

export function SettingsView() {
  const info = useQuery<Info>("/info", { every: 30000 });
  const isAll = !session.value?.namespaces;
  const tokens = useQuery<List<TokenInfo>>(can("admin") && isAll ? "/tokens?limit=1000" : null);
  const [isMaking, setMaking] = useState(false);
  const [check, setCheck] = useState<Info | "busy" | Error | null>(null);
  const revoke = (token: TokenInfo) => ask({
    title: `Revoke ${token.name ?? token.id.slice(-8)}`, act: "Revoke the token", isDangerous: true, needsReason: true, body: <p>What uses it is refused at once.</p>,
    onYes: async (reason) => {
      await withReason(reason, (why) => send("DELETE", `/tokens/${token.id}${query({ reason: why })}`));
      notify("Revoked");
      tokens.reload();
    },
  });
  const checkAll = async () => {
    setCheck("busy");
    try {
      setCheck(await get<Info>("/info?thorough=true"));
    } catch (error) {
      setCheck(error as Error);
    }
  };
  const data = info.data;
  return (
    <Page title="Settings" answer={info}>
      <div class="columns">
        <Panel title="Store">
          {!data ? <Pending answer={info} what="description" /> : (
            <Facts items={([
              ["Engine", `${data.engine} ${data.engineVersion ?? ""}`],
              ["Server", data.version],
              ["Schema", data.schemaVersion],
              ["Size", data.sizeBytes ? formatBytes(data.sizeBytes) : null],
              ["Transactions", data.commits !== undefined ? `${formatShort(data.commits)}, with ${formatShort(data.operations)} operations` : null],
              ["Durability", data.durability],
              ["Disk", data.full ? <span class="bad">{data.full}</span> : null],
            ] as [string, ComponentChildren][]).filter(([, value]) => value !== null && value !== undefined && value !== "")} />
          )}
        </Panel>
        <Panel title="Findings" actions={can("admin") && isAll && <Button small disabled={check === "busy"} onClick={() => void checkAll()}>{check === "busy" ? "Checking…" : "Check the whole store"}</Button>}>
          <div class="pad"><Findings info={check !== null && check !== "busy" && !(check instanceof Error) ? check : data} isThorough={check !== null && check !== "busy"} />
            {check instanceof Error && <ErrorBox error={check} />}</div>
        </Panel>
        {session.value && (
          <Panel title="This session">
            <Facts items={[
              ["Token", session.value.name ?? "–"], ["Scopes", session.value.scopes.join(", ")],
              ["Namespaces", session.value.namespaces?.join(", ") ?? "all"],
              ["Ends", session.value.expiresAt ? <Time at={session.value.expiresAt} /> : "–"],
            ]} />
          </Panel>
        )}
      </div>
      {can("admin") && isAll && (
        <Panel title="Tokens" actions={<Button small icon="plus" onClick={() => setMaking(true)}>Create a token</Button>}>
          {!tokens.data ? <Pending answer={tokens} what="tokens" /> : tokens.data.items.length === 0 ? (
            <Empty title="There are no tokens, so every request from this machine is allowed." command="faina token create --scope admin --name me"><p class="faint">As soon as there is one, every request needs one.</p></Empty>
          ) : (
            <Scroll label="Tokens">
              <table class="table">
                <thead><tr><th>Name</th><th>Scopes</th><th>Namespaces</th><th>Created</th><th>Expires</th><th><span class="hidden">Acts</span></th></tr></thead>
                <tbody>
                  {tokens.data.items.map((token) => (
                    <tr key={token.id}>
                      <td>{token.name ?? <span class="mono faint">{token.id.slice(-8)}</span>}</td>
                      <td>{token.scopes.map((scope) => <span class="tag" key={scope}>{scope}</span>)}</td>
                      <td>{token.namespaces?.join(", ") ?? <span class="faint">all</span>}</td>
                      <td class="nowrap"><Age at={token.createdAt} /></td>
                      <td class="nowrap">{token.expiresAt ? <Age at={token.expiresAt} /> : <span class="faint">never</span>}</td>
                      <td><div class="row-actions"><Button small kind="danger" onClick={() => revoke(token)}>Revoke</Button></div></td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </Scroll>
          )}
        </Panel>
      )}
      {can("admin") && isAll && <RedactPanel />}
      {data?.migrations && data.migrations.length > 0 && (
        <Panel title="Changes of the schema" note={`${data.migrations.length} of them`}>
          <details class="pad"><summary>Show all</summary><Facts items={data.migrations.map((item) => [String(item.id), <>{item.description} <span class="faint">{item.executedAt && formatTime(item.executedAt)}</span></>])} /></details>
        </Panel>
      )}
      {isMaking && <TokenDialog onClose={() => { setMaking(false); tokens.reload(); }} />}
    </Page>
  );
}

function RedactPanel() {
  const answer = useQuery<{ redact: string[] }>("/settings");
  const [text, setText] = useState<string | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const save = async (event: Event) => {
    event.preventDefault();
    try {
      await send("PUT", "/settings", { redact: (text ?? "").split(/[\s,]+/).filter(Boolean) });
      notify("Saved");
      setText(null);
      setError(null);
      answer.reload();
    } catch (problem) {
      setError(problem as Error);
    }
  };
  if (answer.error && !answer.data) return null; // an engine without settings
  return (
    <Panel title="Hidden values">
      <form class="pad form" onSubmit={(event) => void save(event)}>
        <label class="field"><span>Paths of values in payloads that no page and no answer shows</span>
          <textarea rows={3} spellcheck={false} placeholder={"password\n*.secret"} value={text ?? answer.data?.redact.join("\n") ?? ""}
            onInput={(event) => setText(event.currentTarget.value)} />
        </label>
        <p class="faint">Names with dots between, <code>*</code> for any name, at any depth. Workers still get these values. Logs are shown as they are.</p>
        {error && <ErrorBox error={error} />}
        <div><Button type="submit" small kind="primary" disabled={text === null}>Save</Button></div>
      </form>
    </Panel>
  );
}

function Findings({ info, isThorough }: { info: Info | undefined; isThorough: boolean }) {
  if (!info) return <p class="faint">Reading…</p>;
  const bad = info.findings ?? [];
  const warnings = info.warnings ?? [];
  if (!bad.length && !warnings.length) return <p class="faint">{isThorough ? "The whole store was checked. Nothing is wrong with it." : "No warnings. The check of the whole store takes time."}</p>;
  return <>{bad.map((text) => <div class="notice bad" key={text}>{text}</div>)}{warnings.map((text) => <div class="notice" key={text}>{text}</div>)}</>;
}

function TokenDialog({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState("");
  const [scopes, setScopes] = useState<string[]>(["read"]);
  const [where, setWhere] = useState("");
  const [expires, setExpires] = useState("");
  const [made, setMade] = useState<TokenInfo | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const make = async (event: Event) => {
    event.preventDefault();
    const namespaces = where.split(",").map((item) => item.trim()).filter(Boolean);
    try {
      setMade(await send<TokenInfo>("POST", "/tokens", { name: name.trim() || undefined, scopes, ...(namespaces.length ? { namespaces } : {}), ...(expires.trim() ? { expires: expires.trim() } : {}) }));
    } catch (problem) {
      setError(problem as Error);
    }
  };
  if (made) {
    return (
      <Dialog title="The new token" onClose={onClose}>
        <p>Copy it now: it is shown this once.</p>
        <div class="secret"><code>{made.token}</code> <Copy text={made.token ?? ""} label="Copy the token" /></div>
        <footer class="dialog-foot"><Button kind="primary" onClick={onClose}>Done</Button></footer>
      </Dialog>
    );
  }
  return (
    <Dialog title="Create a token" onClose={onClose}>
      <form onSubmit={make}>
        <label class="field"><span>Name</span><input value={name} onInput={(event) => setName(event.currentTarget.value)} placeholder="ci" required autofocus /></label>
        <div class="field"><span>Scopes</span>
          <div class="checks">{SCOPES.map(([scope, text]) => (
            <label key={scope} title={text}><input type="checkbox" checked={scopes.includes(scope)} onChange={(event) => setScopes(event.currentTarget.checked ? [...scopes, scope] : scopes.filter((item) => item !== scope))} />{scope}</label>
          ))}</div>
        </div>
        <div class="fields">
          <label class="field"><span>Namespaces, with commas</span><input value={where} onInput={(event) => setWhere(event.currentTarget.value)} placeholder="all" /></label>
          <label class="field"><span>Expires after</span><input value={expires} onInput={(event) => setExpires(event.currentTarget.value)} placeholder="never" /></label>
        </div>
        {error && <ErrorBox error={error} />}
        <footer class="dialog-foot"><Button onClick={onClose}>Close</Button><Button type="submit" kind="primary" disabled={!scopes.length}>Create</Button></footer>
      </form>
    </Dialog>
  );
}

