// Now: is it healthy, how much waits, what is stuck and why.
import { useEffect, useState } from "preact/hooks";
import type { ComponentType } from "preact";
import { can, query, send } from "../lib/api";
import { go, link, namespace, param, setParams } from "../lib/route";
import { useQuery } from "../lib/query";
import { formatCount, formatSeconds, formatShort, formatSpan, now } from "../lib/time";
import type { Bucket, List, Resource, Stats, TypeCount, Worker } from "../lib/types";
import { attempt, Button, Command, ErrorBox, Page, Panel, Pending, Status, Tabs } from "../parts/basic";
import { Icon } from "../parts/icons";
import type { ChartProps } from "../parts/chart";

const RANGES: Record<string, { hours: number; step: string }> = {
  "1h": { hours: 1, step: "1m" },
  "24h": { hours: 24, step: "15m" },
  "7d": { hours: 168, step: "1h" },
};

export interface Stuck {
  kind: "paused" | "unhandled" | "full" | "failing" | "late";
  /** Of the type or the resource. */
  name: string;
  title: string;
  text: string;
  href: string;
}

/** What keeps tasks from running, or makes many fail. */
export function findStuck(stats: Stats, workers: Worker[] | undefined, resources: Resource[] | undefined, history: Bucket[] | undefined): Stuck[] {
  const found: Stuck[] = [];
  const handled = new Set((workers ?? []).flatMap((worker) => (worker.types ?? []) as string[]).map((type) => type.toLowerCase()));
  // A worker over HTTP may claim any type and name none.
  const takesAll = (workers ?? []).some((worker) => (worker.poolSize ?? 0) > 0 && !(worker.types ?? []).length);
  for (const type of stats.types) {
    const waiting = type.byStatus.pending;
    if (!waiting) continue;
    const href = link(["tasks"], { q: `type:${type.type} status:pending` });
    const held = type.byStatus.claimed + type.byStatus.running;
    if (type.paused) {
      found.push({ kind: "paused", name: type.type, title: `${type.type} is paused`, text: `${formatCount(waiting)} waiting. Resume the type to let them run.`, href: link(["types"], { q: type.type }) });
    } else if (type.oldestReadyAt && workers && !takesAll && !handled.has(type.type.toLowerCase()) && !held) {
      found.push({ kind: "unhandled", name: type.type, title: `No worker handles ${type.type}`, text: `${formatCount(waiting)} waiting. No live worker has a handler for this type.`, href });
    } else if (type.oldestReadyAt && now.value - Date.parse(type.oldestReadyAt) > 10 * 60000) {
      found.push({ kind: "late", name: type.type, title: `${type.type} is behind`, text: `The oldest ready task has waited for ${formatSpan(now.value - Date.parse(type.oldestReadyAt))}.`, href });
    }
  }
  for (const resource of resources ?? []) {
    if (resource.maxConcurrency !== null && resource.maxConcurrency !== undefined && resource.inUse >= resource.maxConcurrency) {
      found.push({ kind: "full", name: resource.name, title: `${resource.name} is full`, text: `${formatCount(resource.inUse)} of ${formatCount(resource.maxConcurrency)} in use.`, href: link(["workers"], { tab: "resources" }) });
    }
  }
  const recent = (history ?? []).slice(-15);
  const bad = recent.reduce((sum, bucket) => sum + (bucket.failed ?? 0) + (bucket.deadLettered ?? 0), 0);
  const good = recent.reduce((sum, bucket) => sum + (bucket.completed ?? 0), 0);
  if (bad >= 3 && bad > good / 10) {
    found.push({ kind: "failing", name: "", title: `${formatCount(bad)} tasks failed lately`, text: `${formatCount(good)} completed in the same time.`, href: link(["failures"]) });
  }
  return found;
}

const STUCK_ICON: Record<Stuck["kind"], string> = { paused: "pause", unhandled: "workers", full: "blocked", failing: "failures", late: "clock" };

export function NowView() {
  const range = param("range") in RANGES ? param("range") : "1h";
  const ns = namespace.value;
  const stats = useQuery<Stats>(`/stats${query({ namespace: ns })}`, { every: 5000, on: () => true, pause: 1000 });
  const workers = useQuery<List<Worker>>("/workers?limit=1000", { every: 10000 });
  const resources = useQuery<List<Resource>>("/resources?limit=1000", { every: 10000 });
  const { hours, step } = RANGES[range]!;
  const [from, setFrom] = useState(() => Date.now());
  useEffect(() => setFrom(Date.now()), [range]);
  const history = useQuery<{ items: Bucket[] }>(
    `/stats/history${query({ namespace: ns, from: new Date(Math.floor((from - hours * 3600000) / 60000) * 60000).toISOString(), step })}`, { every: 15000 });
  const data = stats.data;
  if (data && data.total === 0 && !(history.data?.items ?? []).some((bucket) => bucket.submitted)) return <FirstTask />;
  const by = data?.byStatus;
  const items = history.data?.items;
  const last = items?.at(-1);
  const recent = items?.slice(-6) ?? [];
  const perMinute = (key: "submitted" | "completed" | "failed" | "deadLettered") => {
    if (!items || items.length < 2) return null;
    const minutes = Math.max(1, (now.value - Date.parse(recent[0]!.at)) / 60000);
    return recent.reduce((sum, bucket) => sum + (bucket[key] ?? 0), 0) / minutes;
  };
  const oldest = data ? oldestReady(data) : null;
  const stuck = data ? findStuck(data, workers.data?.items, resources.data?.items, items) : [];
  const slots = (workers.data?.items ?? []).reduce((sum, worker) => sum + (worker.poolSize ?? 0), 0);
  const alive = (workers.data?.items ?? []).filter((worker) => (worker.poolSize ?? 0) > 0).length;
  const held = (by?.claimed ?? 0) + (by?.running ?? 0);
  return (
    <Page title="Now" answer={stats} actions={<Tabs label="History" items={Object.keys(RANGES).map((key) => [key, key])} value={range} onPick={(value) => setParams({ range: value })} />}>
      {stats.error && !data && <ErrorBox error={stats.error} retry={stats.reload} />}
      <Health stuck={stuck} isKnown={Boolean(data)} />
      <div class="tiles">
        <Tile name="Waiting" value={formatShort(by?.pending)} note={oldest !== null ? `oldest ready ${formatSpan(oldest)}` : "none ready"} href={link(["tasks"], { q: "status:pending" })} icon="pending" />
        <Tile name="Running" value={formatShort(by && held)} note={slots ? `${formatCount(slots)} slots on ${alive} ${alive === 1 ? "worker" : "workers"}` : "no workers"} href={link(["tasks"], { q: "status:claimed,running" })} icon="running" />
        <Tile name="Blocked" value={formatShort(by && by.blocked + by.background)} note="or in the background" href={link(["tasks"], { q: "status:blocked,background" })} icon="blocked" />
        <Tile name="Failed" value={formatShort(by && by.failed + by.dead_letter)} note="kept, not retried any more" href={link(["failures"])} icon="failed" isBad={Boolean(by && by.failed + by.dead_letter)} />
        <Tile name="Completed" value={formatShort(by?.completed)} note="kept" href={link(["tasks"], { q: "status:completed" })} icon="completed" />
      </div>
      {history.error && !history.data ? <Pending answer={history} what="history of counts" /> : (
        <div class="charts">
          <Panel title="Throughput" note={rateNote(perMinute("submitted"), perMinute("completed"))}>
            <Chart buckets={items} kind="rates" label="Tasks submitted, completed and failed over time" />
          </Panel>
          <Panel title="Backlog" note={last ? `${formatShort(last.waiting ?? 0)} waiting` : ""}>
            <Chart buckets={items} kind="backlog" label="Tasks waiting and running over time" />
          </Panel>
          <Panel title="Time waited" note={times(last?.wait ?? lastTimes(items, "wait"))}>
            <Chart buckets={items} kind="wait" label="Percentiles of the time that tasks waited" />
          </Panel>
          <Panel title="Time run" note={times(last?.run ?? lastTimes(items, "run"))}>
            <Chart buckets={items} kind="run" label="Percentiles of the time that attempts ran" />
          </Panel>
        </div>
      )}
      <Panel title="Busiest types" actions={<a href={link(["types"])}>All types</a>}>
        {data ? <TypeRows types={data.types} /> : <Pending answer={stats} what="counts" />}
      </Panel>
    </Page>
  );
}

function lastTimes(items: Bucket[] | undefined, key: "wait" | "run") {
  return items?.slice().reverse().find((bucket) => bucket[key]?.p50 !== null && bucket[key]?.p50 !== undefined)?.[key];
}

function times(value: Bucket["wait"]) {
  if (!value || value.p50 === null || value.p50 === undefined) return "";
  return `p50 ${formatSeconds(value.p50)} · p95 ${formatSeconds(value.p95)} · p99 ${formatSeconds(value.p99)}`;
}

function rateNote(submitted: number | null, completed: number | null) {
  if (submitted === null || completed === null) return "";
  return `${formatShort(submitted)}/min in · ${formatShort(completed)}/min done`;
}

export function oldestReady(stats: Stats): number | null {
  const all = stats.types.filter((type) => !type.paused && type.oldestReadyAt).map((type) => Date.parse(type.oldestReadyAt!));
  return all.length ? Math.max(0, now.value - Math.min(...all)) : null;
}

function Tile({ name, value, note, href, icon, isBad }: { name: string; value: string; note: string; href: string; icon: string; isBad?: boolean }) {
  return (
    <a class={`tile${isBad ? " bad" : ""}`} href={href}>
      <span class="tile-name"><Icon name={icon} size={14} />{name}</span>
      <span class="tile-value">{value}</span>
      <span class="tile-note">{note}</span>
    </a>
  );
}

const SAME_KIND_MAX = 3;
const MANY: Partial<Record<Stuck["kind"], string>> = { paused: "types are paused", unhandled: "types have no worker", late: "types are behind", full: "resources are full" };

/** Many of one kind are one line, so that they don't hide the others. */
export function gather(stuck: Stuck[]): Stuck[] {
  const out: Stuck[] = [];
  for (const kind of ["failing", "full", "paused", "late", "unhandled"] as const) {
    const same = stuck.filter((item) => item.kind === kind);
    if (same.length <= SAME_KIND_MAX) out.push(...same);
    else {
      const names = same.slice(0, SAME_KIND_MAX).map((item) => item.name).join(", ");
      out.push({ kind, name: "", title: `${formatCount(same.length)} ${MANY[kind]}`, text: `${names} and ${formatCount(same.length - SAME_KIND_MAX)} more.`, href: kind === "full" ? link(["workers"], { tab: "resources" }) : link(["types"]) });
    }
  }
  return out;
}

function Health({ stuck: all, isKnown }: { stuck: Stuck[]; isKnown: boolean }) {
  if (!isKnown) return null;
  const stuck = gather(all);
  if (!stuck.length) {
    return <div class="notice good"><Icon name="completed" /><div><strong>Nothing is stuck.</strong> Every type with waiting tasks has a worker, and no limit is reached.</div></div>;
  }
  return (
    <ul class="stuck" aria-label="What is stuck">
      {stuck.map((item) => (
        <li key={item.title}>
          <a href={item.href}><Icon name={STUCK_ICON[item.kind]} /><div><strong>{item.title}</strong><span>{item.text}</span></div></a>
        </li>
      ))}
    </ul>
  );
}

function TypeRows({ types }: { types: TypeCount[] }) {
  const busy = [...types].sort((a, b) => active(b) - active(a) || b.total - a.total).slice(0, 8);
  return (
    <div class="scroll" tabIndex={0} role="group" aria-label="Busiest types">
      <table class="table">
        <thead><tr><th>Type</th><th class="num">Waiting</th><th class="num">Running</th><th class="num">Failed</th><th class="num">Oldest ready</th></tr></thead>
        <tbody>
          {busy.map((type) => (
            <tr key={`${type.namespace} ${type.type}`}>
              <td><a href={link(["tasks"], { q: `type:${type.type}` })}>{type.type}</a>{type.paused && <span class="tag">paused</span>}</td>
              <td class="num">{formatCount(type.byStatus.pending)}</td>
              <td class="num">{formatCount(type.byStatus.claimed + type.byStatus.running)}</td>
              <td class={`num${type.byStatus.failed + type.byStatus.dead_letter ? " bad" : ""}`}>{formatCount(type.byStatus.failed + type.byStatus.dead_letter)}</td>
              <td class="num">{type.oldestReadyAt ? formatSpan(now.value - Date.parse(type.oldestReadyAt)) : "–"}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const active = (type: TypeCount) => type.byStatus.pending + type.byStatus.claimed + type.byStatus.running + type.byStatus.blocked;

/** Charts are read when they are first shown: numbers come before lines. */
function Chart(props: ChartProps) {
  const [Found, setFound] = useState<{ component: ComponentType<ChartProps> } | null>(null);
  useEffect(() => {
    import("../parts/chart").then((module) => setFound({ component: module.UPlotChart }), () => {});
  }, []);
  return <div class="chart">{Found && props.buckets ? <Found.component {...props} /> : null}</div>;
}

const FIRST_HANDLER = `mkdir -p handlers; printf '#!/bin/sh\\ncat\\n' >handlers/hello; chmod +x handlers/hello`;

function FirstTask() {
  const submit = () => attempt("", async () => {
    const task = await send<{ id: string }>("POST", "/tasks", { type: "hello", name: "First task", input: { name: "Ann" }, namespace: namespace.value && namespace.value !== "*" ? namespace.value : undefined });
    go(link(["tasks", task.id]));
  });
  return (
    <Page title="Now">
      <div class="first">
        <h2>No task yet</h2>
        <p>Submit one on the command line, or over HTTP. It appears here at once.</p>
        <Command text={`faina submit hello '{"name":"Ann"}'`} />
        <Command text={`curl ${location.origin}${location.pathname.replace(/[^/]*$/, "")}api/v1/tasks -H 'Content-Type: application/json' -d '{"type":"hello","input":{"name":"Ann"}}'`} />
        <p>Then let a worker run it. An executable file <code>handlers/hello</code> handles the type <code>hello</code>; this one returns its input:</p>
        <Command text={FIRST_HANDLER} />
        <Command text="faina worker" />
        {can("submit") && <p><Button kind="primary" icon="plus" onClick={() => void submit()}>Submit the first task</Button></p>}
        <p class="faint"><Status status="pending" /> A task waits until a worker claims it; its page says why it is not running.</p>
      </div>
    </Page>
  );
}
