// One task: why it isn't running, its attempts, log, relatives, payloads and events.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ApiError, can, get, request, send } from "../lib/api";
import { go, link, param, setParams } from "../lib/route";
import { useQuery, type Answer } from "../lib/query";
import { formatSpan, formatTime, now, since } from "../lib/time";
import { member, parseJson, printJson, type Json } from "../lib/json";
import { ENDED, type Explanation, type List, type Task, type TaskEvent } from "../lib/types";
import { quote } from "../lib/filter";
import { useKeys } from "../lib/keys";
import { Age, ask, attempt, Button, Copy, Dialog, ErrorBox, Facts, Menu, Page, Panel, Pending, ShortId, Status, Tabs, Time, notify, type MenuItem } from "../parts/basic";
import { withReason } from "../parts/bulk";
import { Graph, type GraphData } from "../parts/graph";
import { Icon } from "../parts/icons";
import { JsonView } from "../parts/jsonview";
import { useCommands } from "../parts/palette";
import { errorText } from "./tasks";

interface Whole {
  task: Task;
  json: Json;
}

/** The text is kept, so that numbers are shown as they are stored. */
async function readWhole(path: string, signal: AbortSignal): Promise<Whole> {
  const text = await (await request(path, { signal })).text();
  return { task: JSON.parse(text) as Task, json: parseJson(text) };
}

const UUIDS = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi;

/** Ids in a sentence are links to their tasks. */
function Linked({ text }: { text: string }) {
  const out = [];
  let at = 0;
  for (const match of text.matchAll(UUIDS)) {
    out.push(text.slice(at, match.index), <a key={match.index} href={link(["tasks", match[0]])} class="mono" title={match[0]}>…{match[0].slice(-8)}</a>);
    at = match.index! + match[0].length;
  }
  out.push(text.slice(at));
  return <>{out}</>;
}

export function TaskView({ id }: { id: string }) {
  const path = `/tasks/${encodeURIComponent(id)}`;
  const mine = { on: (change: { taskId: string }) => !change.taskId || change.taskId === id, pause: 400 };
  const answer = useQuery<Whole>(path, { ...mine, every: 15000, read: readWhole });
  const task = answer.data?.task;
  const isOpen = task !== undefined && !ENDED.includes(task.status!);
  const explain = useQuery<Explanation>(task && (task.status === "pending" || task.status === "blocked") ? `${path}/explain` : null, { ...mine, every: 5000 });
  const events = useQuery<List<TaskEvent>>(`${path}/events?limit=200`, mine);
  const [isEditing, setEditing] = useState(false);
  const tab = param("tab") || "payload";

  const done = () => answer.reload();
  const act = (verb: string, word: string) => async (reason: string) => {
    await conflict(answer, () => withReason(reason, (why) => send("POST", `${path}:${verb}`, why ? { reason: why } : {}, { ifMatch: task?.version })));
    notify(word);
    done();
  };
  const retry = () => task && attempt("The task is ready again", async () => {
    await conflict(answer, () => send("POST", `${path}:retry`, {}, { ifMatch: task.version }));
    done();
  });
  const cancel = () => ask({ title: "Cancel this task", act: "Cancel the task", isDangerous: true, needsReason: true, body: <p>Its subtasks are cancelled too. A worker that runs it is asked to stop.</p>, onYes: act("cancel", "Cancelled") });
  const promote = () => attempt("It may start now", async () => {
    await conflict(answer, () => send("PATCH", path, { runAt: "now" }, { ifMatch: task?.version }));
    done();
  });
  const remove = () => ask({
    title: "Delete this task", act: "Delete the task", isDangerous: true, needsReason: true,
    body: <p>It disappears from lists, and its key is free again.</p>,
    onYes: async (reason) => {
      await conflict(answer, () => withReason(reason, (why) => send("DELETE", `${path}${why ? `?reason=${encodeURIComponent(why)}` : ""}`, undefined, { ifMatch: task?.version })));
      notify("Deleted");
      go(link(["tasks"]));
    },
  });
  const mayRetry = task && ["failed", "dead_letter", "cancelled", "claimed", "running"].includes(task.status!);
  const isLater = task?.status === "pending" && task.runAt && Date.parse(task.runAt) > now.value;
  const items: MenuItem[] = task ? [
    ...(can("operate") && isLater ? [{ text: "Start now", icon: "play", run: () => void promote() }] : []),
    ...(can("submit") && !task.redacted ? [{ text: "Edit and submit again", icon: "plus", run: () => setEditing(true) }] : []),
    ...(can("operate", "submit") && isOpen ? [{ text: "Cancel", icon: "cancelled", isDangerous: true, run: cancel }] : []),
    ...(can("operate") && !isOpen ? [{ text: "Delete", icon: "close", isDangerous: true, run: remove }] : []),
  ] : [];
  useKeys({
    r: () => { if (mayRetry && can("operate")) void retry(); },
    ".": () => document.getElementById("task-actions")?.click(),
  });
  useCommands([...(mayRetry && can("operate") ? [{ text: "Retry this task", icon: "retry", run: () => void retry() }] : []), ...items.map((item) => ({ text: `${item.text} (this task)`, icon: item.icon ?? "tasks", run: item.run }))], `${id} ${task?.version}`);

  if (!task) {
    const missing = answer.error?.status === 404;
    return (
      <Page title="Task">
        {missing ? <div class="empty"><p><strong>There is no task {id}.</strong></p><p class="faint">It may have been deleted or removed by retention, or the id is of another namespace.</p><p><a href={link(["tasks"])}>All tasks</a></p></div>
          : <Pending answer={answer} what="tasks" />}
      </Page>
    );
  }
  const json = answer.data!.json;
  return (
    <Page answer={answer} title={<><a class="crumb" href={link(["tasks"])}>Tasks</a><span class="task-title">{task.name}</span></>}
      actions={<>
        {mayRetry && can("operate") && <Button kind={isOpen ? "plain" : "primary"} icon="retry" onClick={() => void retry()}>Retry</Button>}
        {isLater && can("operate") && <Button icon="play" onClick={() => void promote()}>Start now</Button>}
        {isOpen && can("operate", "submit") && <Button icon="cancelled" onClick={cancel}>Cancel</Button>}
        <Menu id="task-actions" label="Actions" items={items} />
      </>}>
      <div class="task-line">
        <Status status={task.status!} />
        <span class="mono id-whole">{task.id}</span><Copy text={task.id} label="Copy the id" />
        {task.progress !== null && task.progress !== undefined && task.progress > 0 && isOpen && <span class="inline"><progress max={100} value={task.progress} aria-label="Progress" /> {task.progress}%</span>}
        {task.state && task.state !== task.status && <span class="faint">{task.state}</span>}
      </div>
      {explain.data && <Why data={explain.data} task={task} />}
      {explain.error && !explain.data && !explain.error.isMissing && <ErrorBox error={explain.error} />}
      {task.status !== "completed" && task.error ? <TaskError error={member(json, "error")} text={errorText(task.error)} /> : null}
      <div class="task-grid">
        <div class="task-main">
          <Attempts task={task} events={events} />
          <Tabs label="Parts of the task" value={tab} onPick={(value) => setParams({ tab: value })}
            items={[["payload", "Payload"], ["log", "Log"], ["graph", "Graph"], ["events", "Events"]]} />
          {tab === "payload" && <>
            <Panel title="Input"><JsonView label="input" value={member(json, "input")} isRedacted={task.redacted} /></Panel>
            {(task.output !== null || task.status === "completed") && <Panel title="Output"><JsonView label="output" value={member(json, "output")} isRedacted={task.redacted} /></Panel>}
            <Panel title="Metadata"><JsonView label="metadata" value={member(json, "metadata")} isRedacted={task.redacted} /></Panel>
            {task.spec && Object.keys(task.spec).length > 0 ? <Panel title="Spec"><JsonView label="spec" value={member(json, "spec")} /></Panel> : null}
          </>}
          {tab === "log" && <Log task={task} />}
          {tab === "graph" && <TaskGraph id={id} isOpen={isOpen} />}
          {tab === "events" && <Events answer={events} />}
        </div>
        <aside class="task-side" aria-label="Facts">
          <Panel title="Facts"><Facts items={facts(task, attemptsOf(task, events.data?.items ?? []))} /></Panel>
        </aside>
      </div>
      {isEditing && <EditAgain task={task} json={json} onClose={() => setEditing(false)} />}
    </Page>
  );
}

/** 412: the task has changed since it was shown. */
async function conflict<T>(answer: Answer<Whole>, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof ApiError && error.status === 412) {
      answer.reload();
      const id = answer.data?.task.id;
      const last = id ? await get<List<TaskEvent>>(`/tasks/${id}/events?limit=1`).catch(() => null) : null;
      const event = last?.items[0];
      const who = event && (event.workerId ?? event.actor?.toLowerCase());
      throw new ApiError(412, error.code, `The task was changed${who ? ` by ${who} (${event.event.replace("_", " ")})` : ""} meanwhile. Nothing was done; look at it again.`);
    }
    throw error;
  }
}

function facts(task: Task, bars: AttemptBar[]): [string, preact.ComponentChildren][] {
  const out: [string, preact.ComponentChildren][] = [
    ["Type", <a href={link(["tasks"], { q: `type:${task.type}` })}>{task.type}</a>],
    ["Namespace", task.namespace],
    ["Priority", task.priority],
    ["Attempts", `${task.attempts} of ${task.maxAttempts || "any number"}`],
    ["Created", <Time at={task.createdAt} />],
  ];
  const add = (name: string, value: preact.ComponentChildren) => {
    if (value !== null && value !== undefined && value !== "") out.push([name, value]);
  };
  const extra = task as unknown as Record<string, unknown>;
  if (task.runAt && task.status === "pending") add("Due", <><Time at={task.runAt} /> <span class="faint">(<Age at={task.runAt} />)</span></>);
  if (task.startedAt) add("Started", <Time at={task.startedAt} />);
  if (task.completedAt) add("Ended", <Time at={task.completedAt} />);
  const first = bars.find((bar) => bar.number);
  add("Waited", formatSpan(first?.number === 1 ? first.begin - Date.parse(task.createdAt) : since(task.createdAt, task.startedAt ?? task.completedAt)));
  if (bars.length) add("Ran", formatSpan(bars.reduce((sum, bar) => sum + (bar.end ?? now.value) - bar.begin, 0)));
  if (task.workerId) add("Worker", <a href={link(["tasks"], { q: `worker:${task.workerId}` })}>{task.workerId}</a>);
  if (task.leaseExpiresAt) add("Lease", <>ends <Age at={task.leaseExpiresAt} /></>);
  add("Key", task.idempotencyKey && <span class="mono wrap">{task.idempotencyKey}</span>);
  add("Group", extra.group as string | null);
  if (extra.timeout) add("Time limit", String(extra.timeout));
  if (extra.startBy) add("Start by", <Time at={extra.startBy as string} />);
  if (task.parentId) add("Parent", <ShortId id={task.parentId} to />);
  if (task.dependsOn?.length) add("Depends on", <>{task.dependsOn.slice(0, 20).map((other) => <><ShortId key={other} id={other as string} to />{" "}</>)}{task.dependsOn.length > 20 && `and ${task.dependsOn.length - 20} more`}</>);
  if (task.resources?.length) add("Resources", task.resources.map((name) => <a key={name as string} class="tag" href={link(["workers"], { tab: "resources" })}>{name as string}</a>));
  if (task.origin) {
    add("Made by", <><a href={link(["workflows", task.origin.workflow])}>{task.origin.workflow}</a> · {task.origin.trigger}</>);
    if (task.origin.eventId) add("Event", <a class="mono wrap" href={link(["events", task.origin.eventId])}>{task.origin.eventId}</a>);
  }
  add("Submitted by", task.createdBy);
  add("Team", task.teamId && <span class="mono">{task.teamId.slice(-8)}</span>);
  add("Phase", task.phase === "start" ? null : task.phase);
  add("Version", task.version);
  return out;
}

/** What a reason is about. */
function reasonLink(kind: string, task: Task): [string, string] | null {
  if (kind === "paused") return ["The type", link(["types"], { q: task.type })];
  if (kind === "resource") return ["Resources", link(["workers"], { tab: "resources" })];
  if (kind === "worker" || kind === "service") return ["Workers", link(["workers"])];
  if (kind === "ready" || kind === "turn") return ["Tasks of this type", link(["tasks"], { q: `type:${quote(task.type)} status:pending sort:priority` })];
  return null;
}

function Why({ data, task }: { data: Explanation; task: Task }) {
  const links = data.reasons.map((reason) => reasonLink(reason.kind, task)).filter((item): item is [string, string] => item !== null);
  const { length } = data.reasons;
  return (
    <section class="why" aria-label="Why it is not running">
      <Icon name="clock" />
      <div>
        <strong>{length < 2 ? <Linked text={data.summary} /> : `${length} reasons why it is not running:`}</strong>
        {length > 1 && (
          <ul>{data.reasons.map((reason) => (
            <li key={reason.message}><Linked text={reason.message} />{reason.until && <span class="faint"> at {formatTime(reason.until)}</span>}</li>
          ))}</ul>
        )}
        {(data.line || links.length > 0) && <p class="why-line">{data.line && <span>{data.line}</span>}
          {[...new Map(links)].map(([text, href]) => <a key={text} href={href}>{text}</a>)}</p>}
      </div>
    </section>
  );
}

function TaskError({ error, text }: { error: Json | undefined; text: string }) {
  const detail = member(error, "detail");
  return (
    <section class="task-error" aria-label="Error">
      <Icon name="failures" />
      <div>
        <pre tabIndex={0}>{text}</pre>
        {detail !== undefined && detail !== null && <details><summary>Detail</summary><JsonView label="error detail" value={detail} /></details>}
      </div>
    </section>
  );
}

interface AttemptBar {
  /** 0: it didn't count. A task that goes on after its subtasks is in the same attempt. */
  number: number;
  begin: number;
  end: number | null;
  outcome: string;
  worker: string | null;
  text: string;
}

/** The attempts, from the events: claimed or started, until something ended it. */
export function attemptsOf(task: Task, events: TaskEvent[]): AttemptBar[] {
  const out: AttemptBar[] = [];
  let open: AttemptBar | null = null;
  let count = 0;
  for (const event of [...events].reverse()) {
    const at = Date.parse(event.createdAt);
    if (event.status === "claimed" || event.status === "running") {
      if (!open) {
        if (out.at(-1)?.outcome !== "blocked") count++;
        open = { number: count, begin: at, end: null, outcome: event.status, worker: event.workerId ?? null, text: "" };
        out.push(open);
      }
      open.outcome = event.status;
    } else if (event.status === "background" && open) {
      open.outcome = "background";
    } else if (open) {
      open.end = at;
      open.outcome = event.status === "pending" ? (event.event === "released" || event.event === "snoozed" ? event.event : "failed") : event.status!;
      const detail = event.detail as { message?: string; error?: { message?: string } } | null;
      open.text = detail?.message ?? detail?.error?.message ?? "";
      if (open.outcome === "released" || open.outcome === "snoozed") {
        open.number = 0;
        count--;
      }
      open = null;
    }
  }
  // Older events may be gone: the last number is that of the task.
  const missing = Math.max(0, (task.attempts ?? 0) - count);
  for (const bar of out) if (bar.number) bar.number += missing;
  return out;
}

const SHOWN_MAX = 12;

function Attempts({ task, events }: { task: Task; events: Answer<List<TaskEvent>> }) {
  const bars = useMemo(() => attemptsOf(task, events.data?.items ?? []), [task, events.data]);
  if (!bars.length) return null;
  const begin = Date.parse(task.createdAt);
  // The lease of a held task reaches into the future.
  const lease = !task.completedAt && task.leaseExpiresAt ? Date.parse(task.leaseExpiresAt) : null;
  const present = Math.max(now.value, ...bars.map((bar) => bar.end ?? 0));
  const end = task.completedAt ? Date.parse(task.completedAt) : Math.max(present, lease ?? 0);
  const span = Math.max(1, end - begin);
  const at = (time: number) => `${Math.max(0, Math.min(100, ((time - begin) / span) * 100))}%`;
  const shown = bars.slice(-SHOWN_MAX);
  return (
    <Panel title="Attempts" note={`${formatSpan((task.completedAt ? end : present) - begin)} since it was created${lease !== null && lease > present ? `; the lease ends in ${formatSpan(lease - present)}` : ""}`}>
      <ol class="attempts">
        {shown.map((bar) => (
          <li key={bar.begin}>
            <span class="attempt-number">{bar.number || ""}</span>
            <span class="attempt-track">
              <span class={`attempt-bar s-${bar.outcome}`} style={{ left: at(bar.begin), width: `max(4px, ${(((bar.end ?? present) - bar.begin) / span) * 100}%)` }}
                title={`${formatTime(new Date(bar.begin).toISOString(), { ms: true })}, ${formatSpan((bar.end ?? present) - bar.begin)}`} />
              {bar.end === null && lease !== null && lease > present && (
                <span class="attempt-lease" style={{ left: at(present), width: `${((lease - present) / span) * 100}%` }} title={`the lease ends ${formatTime(task.leaseExpiresAt, { ms: true })}`} />
              )}
            </span>
            <span class="attempt-text">
              <Status status={bar.outcome} bare /> {formatSpan((bar.end ?? present) - bar.begin)}{!bar.number && ` ${bar.outcome}, not counted`}
              {bar.worker && <span class="faint"> on {bar.worker}</span>}
            </span>
          </li>
        ))}
      </ol>
      {bars.length > SHOWN_MAX && <p class="faint pad">The last {SHOWN_MAX} of {bars.length}.</p>}
    </Panel>
  );
}

const LOG_MAX = 512 * 1024;

function Log({ task }: { task: Task }) {
  const [text, setText] = useState("");
  const [error, setError] = useState<ApiError | null>(null);
  const [isLive, setLive] = useState(false);
  const [attemptNumber, setAttempt] = useState("");
  const box = useRef<HTMLPreElement>(null);
  const isHeld = ["claimed", "running"].includes(task.status!);
  useEffect(() => {
    const abort = new AbortController();
    setText("");
    setError(null);
    (async () => {
      const query = new URLSearchParams();
      if (attemptNumber) query.set("attempt", attemptNumber);
      else if (isHeld) query.set("follow", "true");
      try {
        const response = await request(`/tasks/${task.id}/log?${query}`, { signal: abort.signal });
        const reader = response.body!.getReader();
        const decoder = new TextDecoder();
        setLive(query.has("follow"));
        for (;;) {
          const { done, value } = await reader.read();
          if (done) break;
          const more = decoder.decode(value, { stream: true });
          setText((old) => (old + more).slice(-LOG_MAX));
        }
        setLive(false);
      } catch (problem) {
        setLive(false);
        if (problem instanceof ApiError) setError(problem);
      }
    })();
    return () => abort.abort();
  }, [task.id, isHeld, task.attempts, attemptNumber]);
  useEffect(() => {
    const element = box.current;
    if (element && isLive) element.scrollTop = element.scrollHeight;
  }, [text]);
  const attempts = Array.from({ length: Math.min(task.attempts ?? 0, 50) }, (_, i) => (task.attempts ?? 0) - i);
  return (
    <Panel title="Log" note={isLive ? "live" : undefined} actions={<>
      {attempts.length > 1 && (
        <select aria-label="Attempt" value={attemptNumber} onChange={(event) => setAttempt(event.currentTarget.value)}>
          <option value="">last attempt</option>
          {attempts.map((number) => <option key={number} value={String(number)}>attempt {number}</option>)}
        </select>
      )}
      {text && <Copy text={text} label="Copy the log" />}
    </>}>
      {error?.isMissing ? <Missing error={error} what="logs of attempts" /> : error && error.status !== 404 ? <ErrorBox error={error} />
        : text ? <pre class="log" ref={box} tabIndex={0}>{text}</pre>
        : <p class="faint pad">{isLive ? "Nothing was written yet." : "This attempt wrote nothing. What a handler writes to stderr is kept here."}</p>}
    </Panel>
  );
}

export function Missing({ error, what }: { error: ApiError; what: string }) {
  return <p class="faint pad">This engine has no {what}. {error.status === 501 ? error.message : ""}</p>;
}

interface GraphAnswer {
  nodes: { id: string; type: string; name: string | null; status: string; workflow: string | null; trigger: string | null }[];
  edges: { from: string; to: string; kind: string }[];
  truncated: boolean;
}

function TaskGraph({ id, isOpen }: { id: string; isOpen: boolean }) {
  const depth = param("depth") || "2";
  const answer = useQuery<GraphAnswer>(`/tasks/${encodeURIComponent(id)}/graph?depth=${depth}`, { on: () => isOpen, pause: 2000 });
  const data = useMemo(() => (answer.data ? graphOf(answer.data, id) : null), [answer.data]);
  return (
    <Panel title="Graph" note="parents, children, dependencies and what its end started" actions={
      <Tabs label="Depth" value={depth} onPick={(value) => setParams({ depth: value })} items={[["1", "1"], ["2", "2"], ["4", "4"]]} />
    }>
      {!data ? <Pending answer={answer} what="graph of a task" />
        : data.nodes.length < 2 ? <p class="faint pad">It has no parent, no children and no dependencies, and its end started nothing.</p>
        : <Graph data={data} label="Graph of this task" />}
      {answer.data?.truncated && <p class="faint pad">The graph is larger; only a part is shown.</p>}
    </Panel>
  );
}

function graphOf(answer: GraphAnswer, self: string): GraphData {
  return {
    nodes: answer.nodes.map((node) => ({
      id: node.id, status: node.status, isSelf: node.id === self, title: node.name ?? node.type, href: link(["tasks", node.id]),
      note: node.trigger ? `by ${node.workflow} · ${node.trigger}` : `${node.name && node.name !== node.type ? `${node.type} ` : ""}${node.id.slice(-8)}`,
    })),
    edges: answer.edges.map((edge) => ({ from: edge.from, to: edge.to, label: edge.kind })),
  };
}

function Events({ answer }: { answer: Answer<List<TaskEvent>> }) {
  const [open, setOpen] = useState<string | null>(null);
  if (!answer.data) return <Pending answer={answer} what="events" />;
  return (
    <Panel title="Events" note="newest first">
      <div class="scroll" tabIndex={0} role="group" aria-label="Events">
        <table class="table">
          <thead><tr><th>Time</th><th>Event</th><th>Status after</th><th>By</th><th>Detail</th></tr></thead>
          <tbody>
            {answer.data.items.map((event) => {
              const hasDetail = event.detail !== null && event.detail !== undefined && JSON.stringify(event.detail) !== "{}";
              const detail = hasDetail ? JSON.stringify(event.detail) : "";
              return (
                <tr key={event.id}>
                  <td class="nowrap"><Time at={event.createdAt} ms /></td>
                  <td>{event.event}</td>
                  <td><Status status={event.status!} /></td>
                  <td class="nowrap">{event.workerId ?? event.actor}</td>
                  <td class="detail">{hasDetail && (open === event.id ? <pre>{JSON.stringify(event.detail, null, 2)}</pre> : <button type="button" class="link clip" onClick={() => setOpen(event.id)}>{detail.slice(0, 120)}</button>)}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      {answer.data.nextCursor && <p class="faint pad">There are older events: <code>faina events</code> lists all.</p>}
    </Panel>
  );
}

const AGAIN = ["type", "name", "input", "metadata", "priority", "maxAttempts", "resources", "group", "spec", "teamId"];

function EditAgain({ task, json, onClose }: { task: Task; json: Json; onClose: () => void }) {
  const start = useMemo(() => {
    const body = Object.create(null) as { [key: string]: Json };
    for (const key of AGAIN) {
      const value = member(json, key);
      if (value !== undefined && value !== null && !(Array.isArray(value) && !value.length) && !(key === "name" && value === task.type)) body[key] = value;
    }
    if (task.namespace !== "default") body.namespace = task.namespace;
    return printJson(body);
  }, []);
  const [text, setText] = useState(start);
  const [error, setError] = useState<Error | null>(null);
  const submit = async (event: Event) => {
    event.preventDefault();
    setError(null);
    try {
      parseJson(text);
      const made = (await (await request("/tasks", { method: "POST", text })).json()) as Task;
      onClose();
      notify("Submitted", { href: link(["tasks", made.id]) });
      go(link(["tasks", made.id]));
    } catch (problem) {
      setError(problem as Error);
    }
  };
  return (
    <Dialog title="Edit and submit again" wide onClose={onClose}>
      <form onSubmit={submit}>
        <p class="faint">A new task with this body. The task shown here stays as it is.</p>
        <label class="field"><span>Body</span><textarea class="code" rows={16} spellcheck={false} value={text} onInput={(event) => setText(event.currentTarget.value)} /></label>
        {error && <ErrorBox error={error} />}
        <footer class="dialog-foot"><Button onClick={onClose}>Close</Button><Button type="submit" kind="primary">Submit</Button></footer>
      </form>
    </Dialog>
  );
}

