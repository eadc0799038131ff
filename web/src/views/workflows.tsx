// Workflows: the definitions as one graph, an editor with a backtest, the joins; and the events.
import { useEffect, useMemo, useState } from "preact/hooks";
import { ApiError, can, get, query, request, send } from "../lib/api";
import { go, link, namespace, param, parts, setParams } from "../lib/route";
import { useQuery } from "../lib/query";
import { formatCount } from "../lib/time";
import { parseJson, type Json } from "../lib/json";
import type { EmittedEvent, Join, List, Workflow } from "../lib/types";
import { quote } from "../lib/filter";
import { Age, ask, attempt, Button, Command, Dialog, Empty, ErrorBox, Facts, Menu, notify, Page, Panel, Pending, ShortId, Status, Tabs, Time } from "../parts/basic";
import { withReason } from "../parts/bulk";
import { Graph, type GraphData, type GraphNode } from "../parts/graph";
import { JsonView } from "../parts/jsonview";

interface TaskPart {
  type?: string;
}

interface Definition {
  workflow?: string;
  enabled?: boolean;
  triggers?: { name: string; on: string; match?: string; task?: TaskPart }[];
  joins?: { name: string; taskTypes?: string[]; joinKey?: string; on?: unknown[]; task?: TaskPart }[];
}

/** Events, triggers, joins and types of all definitions as one graph. */
export function workflowGraph(workflows: Workflow[]): GraphData {
  const nodes = new Map<string, GraphNode>();
  const edges: GraphData["edges"] = [];
  const add = (id: string, node: Omit<GraphNode, "id">) => {
    if (!nodes.has(id)) nodes.set(id, { id, ...node });
    return id;
  };
  const type = (name: string) => add(`type ${name.toLowerCase()}`, { title: name, note: "type", kind: "tasks", href: link(["tasks"], { q: `type:${quote(name)}` }) });
  const source = (on: string, match: string | undefined) => {
    // The end of a task of one type comes from that type.
    const ended = /^task\./.test(on) ? /(?:^|[\s(])type\s*=\s*'([^']+)'/i.exec(match ?? "")?.[1] : undefined;
    return ended ? type(ended) : add(`event ${on}`, { title: on, note: "event", kind: "events", href: link(["events"], { type: on }) });
  };
  for (const workflow of workflows) {
    const definition = (workflow.definition ?? {}) as Definition;
    for (const trigger of definition.triggers ?? []) {
      const id = add(`trigger ${workflow.name} ${trigger.name}`, { title: trigger.name, note: `${workflow.name}${workflow.enabled ? "" : ", off"}`, kind: "workflows", href: link(["workflows", workflow.name]) });
      edges.push({ from: source(trigger.on, trigger.match), to: id, label: trigger.match });
      edges.push({ from: id, to: type(trigger.task?.type ?? "default") });
    }
    for (const join of definition.joins ?? []) {
      const id = add(`join ${workflow.name} ${join.name}`, { title: join.name, note: `${workflow.name}, join`, kind: "workflows", href: link(["workflows", workflow.name], { tab: "joins" }) });
      for (const name of join.taskTypes ?? []) edges.push({ from: type(name), to: id, label: join.joinKey });
      edges.push({ from: id, to: type(join.task?.type ?? "default") });
    }
  }
  return { nodes: [...nodes.values()], edges };
}

export function WorkflowsView() {
  const name = parts.value[1];
  const answer = useQuery<List<Workflow>>(`/workflows${query({ namespace: namespace.value, limit: 1000 })}`, { every: 20000 });
  const [isNew, setNew] = useState(false);
  const found = name ? answer.data?.items.find((item) => item.name === name) : undefined;
  if (name && found) return <OneWorkflow key={`${name}`} workflow={found} reload={answer.reload} />;
  const items = answer.data?.items ?? [];
  return (
    <Page title="Workflows" answer={answer} lead={name && answer.data ? `There is no workflow ${name} any more.` : undefined}
      actions={can("admin") && <Button icon="plus" onClick={() => setNew(true)}>New workflow</Button>}>
      {!answer.data ? <Pending answer={answer} what="workflows" /> : items.length === 0 ? (
        <Empty title="There are no workflows." command="faina workflow apply workflows/content-analysis.yaml"><p class="faint">A workflow makes tasks from events and from the ends of tasks.</p></Empty>
      ) : <>
        <Panel title="All triggers, joins and types"><Graph data={workflowGraph(items)} label="Workflows as a graph" /></Panel>
        <Panel>
          <div class="scroll" tabIndex={0} role="group" aria-label="Workflows">
            <table class="table">
              <thead><tr><th>Name</th><th class="num">Triggers</th><th class="num">Joins</th><th class="num">Version</th><th>Changed</th></tr></thead>
              <tbody>
                {items.map((workflow) => {
                  const definition = workflow.definition as Definition | null;
                  return (
                    <tr key={`${workflow.namespace} ${workflow.name}`}>
                      <td><a href={link(["workflows", workflow.name])}>{workflow.name}</a>{!workflow.enabled && <span class="tag warn">off</span>}{namespace.value === "*" && <span class="tag">{workflow.namespace}</span>}</td>
                      <td class="num">{definition?.triggers?.length ?? 0}</td>
                      <td class="num">{definition?.joins?.length ?? 0}</td>
                      <td class="num">{workflow.version}</td>
                      <td><Age at={workflow.updatedAt} /></td>
                    </tr>
                  );
                })}
              </tbody>
            </table>
          </div>
        </Panel>
      </>}
      {isNew && <NewWorkflow onClose={() => setNew(false)} onMade={(made) => { setNew(false); answer.reload(); go(link(["workflows", made])); }} />}
    </Page>
  );
}

function OneWorkflow({ workflow, reload }: { workflow: Workflow; reload: () => void }) {
  const tab = param("tab") || "graph";
  const where = query({ namespace: workflow.namespace });
  const path = `/workflows/${encodeURIComponent(workflow.name)}`;
  const toggle = () => attempt(workflow.enabled ? "Its triggers don't fire any more" : "Its triggers fire", async () => {
    await send("POST", `${path}:${workflow.enabled ? "disable" : "enable"}${where}`);
    reload();
  });
  const remove = () => ask({
    title: `Remove ${workflow.name}`, act: "Remove the workflow", isDangerous: true, needsReason: true, body: <p>Tasks that it made stay. Open joins are deleted.</p>,
    onYes: async (reason) => {
      await withReason(reason, (why) => send("DELETE", `${path}${query({ namespace: workflow.namespace, reason: why })}`));
      notify("Removed");
      go(link(["workflows"]));
      reload();
    },
  });
  return (
    <Page title={<><a class="crumb" href={link(["workflows"])}>Workflows</a><span>{workflow.name}</span>{!workflow.enabled && <span class="tag warn">off</span>}</>}
      actions={can("admin") && <>
        <Button icon={workflow.enabled ? "pause" : "play"} onClick={() => void toggle()}>{workflow.enabled ? "Disable" : "Enable"}</Button>
        <Menu label="Actions" items={[{ text: "Remove", icon: "close", isDangerous: true, run: remove }]} />
      </>}
      lead={<>Version {workflow.version}, changed <Age at={workflow.updatedAt} /> ago. <a href={link(["tasks"], { q: `origin:${quote(workflow.name)}` })}>Tasks that it made</a></>}>
      <Tabs label="Part" value={tab} onPick={(value) => setParams({ tab: value })} items={[["graph", "Graph"], ["definition", can("admin") ? "Editor" : "Definition"], ["joins", "Joins"], ["test", "Try a condition"]]} />
      {tab === "graph" && <Panel title="Graph"><Graph data={workflowGraph([workflow])} label={`Graph of ${workflow.name}`} /><Triggers workflow={workflow} /></Panel>}
      {tab === "definition" && <Editor name={workflow.name} where={workflow.namespace} start={workflow.redacted ? "" : JSON.stringify(workflow.definition, null, 2)} version={workflow.version ?? 0} enabled={workflow.enabled ?? true} onSaved={reload} />}
      {tab === "joins" && <Joins workflow={workflow} />}
      {tab === "test" && <TryCondition start={((workflow.definition as Definition | null)?.triggers ?? []).find((item) => item.match)?.match ?? ""} />}
    </Page>
  );
}

function Triggers({ workflow }: { workflow: Workflow }) {
  const triggers = (workflow.definition as Definition | null)?.triggers ?? [];
  if (!triggers.length) return null;
  return (
    <div class="scroll" tabIndex={0} role="group" aria-label="Triggers">
      <table class="table">
        <thead><tr><th>Trigger</th><th>Event</th><th>Condition</th><th>Makes</th></tr></thead>
        <tbody>{triggers.map((item) => (
          <tr key={item.name}><td>{item.name}</td><td><a href={link(["events"], { type: item.on })}>{item.on}</a></td><td class="message"><code>{item.match ?? ""}</code></td><td>{item.task?.type}</td></tr>
        ))}</tbody>
      </table>
    </div>
  );
}

interface Difference {
  eventId: string;
  trigger: string;
  taskId: string | null;
  task: unknown;
}

interface Backtest {
  events: number;
  truncated: boolean;
  counts: { same: number; added: number; missing: number; changed: number; gone?: number };
  triggers: { name: string; on: string; events: number; tasks: number; failed: number; failure: string | null }[];
  added: Difference[];
  missing: Difference[];
  changed: Difference[];
}

function Editor({ name, where, start, version, enabled, onSaved }: { name: string; where: string; start: string; version: number; enabled: boolean; onSaved: (name: string) => void }) {
  const [text, setText] = useState(start);
  const [from, setFrom] = useState(version);
  const [error, setError] = useState<ApiError | null>(null);
  const [tested, setTested] = useState<{ text: string; result: Backtest } | null>(null);
  const [isBusy, setBusy] = useState(false);
  const type = text.trim().startsWith("{") ? "application/json" : "application/yaml";
  useEffect(() => {
    if (from === 0 && version > 0) setFrom(version);
  }, [version]);
  const backtest = async () => {
    setBusy(true);
    setError(null);
    try {
      // JSON is sent as it is, so that its numbers stay exact; YAML as a text.
      const definition = text.trim().startsWith("{") ? text : JSON.stringify(text);
      const answer = await request(`/workflows:backtest${query({ namespace: where })}`, { method: "POST", text: `{"definition":${definition},"last":"7d"}` });
      setTested({ text, result: (await answer.json()) as Backtest });
    } catch (problem) {
      setError(problem as ApiError);
    }
    setBusy(false);
  };
  const save = async () => {
    setBusy(true);
    setError(null);
    try {
      const saved = (await (await request(`/workflows/${encodeURIComponent(name)}${query({ namespace: where })}`, { method: "PUT", text, type, ifMatch: from ? (enabled ? from : `"${from}-disabled"`) : undefined })).json()) as Workflow;
      setFrom(saved.version ?? from + 1);
      notify(`Saved as version ${saved.version}`);
      onSaved(saved.name);
    } catch (problem) {
      const failure = problem as ApiError;
      setError(failure.status === 412 ? new ApiError(412, failure.code, "It was changed by someone else meanwhile. Nothing was saved; open it again to see the change.") : failure);
    }
    setBusy(false);
  };
  const problemAt = error?.errors.find((item) => item.line);
  return (
    <Panel title={can("admin") ? "Editor" : "Definition"} note="JSON or YAML">
      <div class="editor">
        <textarea class="code" rows={24} spellcheck={false} aria-label="Definition" readOnly={!can("admin")} value={text} aria-invalid={Boolean(error)} onInput={(event) => setText(event.currentTarget.value)} />
        {error && <ErrorBox error={error} />}
        {problemAt?.line && <pre class="bad">{text.split("\n")[problemAt.line - 1]}{"\n"}{" ".repeat(Math.max(0, (problemAt.column ?? 1) - 1))}^</pre>}
        {tested && <BacktestResult result={tested.result} isStale={tested.text !== text} />}
        <div class="row-actions">
          <Button disabled={isBusy || !text.trim()} onClick={() => void backtest()}>Backtest on the last 7 days</Button>
          {can("admin") && <Button kind="primary" disabled={isBusy || text === start || !text.trim()} onClick={() => void save()}>Save</Button>}
        </div>
      </div>
    </Panel>
  );
}

function BacktestResult({ result, isStale }: { result: Backtest; isStale: boolean }) {
  const { counts } = result;
  const lists: [string, string, Difference[], number][] = [
    ["would be added", "diff-add", result.added, counts.added],
    ["would be missing", "diff-less", result.missing, counts.missing],
    ["would be different", "", result.changed, counts.changed],
  ];
  return (
    <section aria-label="Backtest" class="panel">
      <header class="panel-head"><h2>With the {formatCount(result.events)} events of the last 7 days</h2>
        <span class="faint">{isStale ? "before the last edits" : ""}{result.truncated ? " only the first of them" : ""}</span></header>
      <p class="pad">
        {formatCount(counts.same)} tasks as before, <span class="diff-add">+{formatCount(counts.added)} added</span>, <span class="diff-less">−{formatCount(counts.missing)} missing</span>, {formatCount(counts.changed)} different{counts.gone ? `, ${formatCount(counts.gone)} deleted and not compared` : ""}.
      </p>
      <div class="scroll" tabIndex={0} role="group" aria-label="Triggers in the backtest">
        <table class="table">
          <thead><tr><th>Trigger</th><th>Event</th><th class="num">Events</th><th class="num">Tasks</th><th class="num">Failed</th></tr></thead>
          <tbody>{result.triggers.map((row) => <tr key={row.name}><td>{row.name}</td><td>{row.on}</td><td class="num">{formatCount(row.events)}</td><td class="num">{formatCount(row.tasks)}</td><td class={`num ${row.failed ? "bad" : ""}`} title={row.failure ?? ""}>{formatCount(row.failed)}</td></tr>)}</tbody>
        </table>
      </div>
      {lists.filter(([, , items]) => items.length > 0).map(([title, name, items, count]) => (
        <details key={title} class="pad"><summary class={name}>{formatCount(count)} {title}</summary>
          <ul>{items.map((item) => <li key={`${item.eventId} ${item.trigger}`}><a href={link(["events", item.eventId])} class="mono">{item.eventId}</a> · {item.trigger} {item.taskId && <ShortId id={item.taskId} to />} <code class="faint wrap">{item.task ? JSON.stringify(item.task).slice(0, 200) : ""}</code></li>)}</ul>
        </details>
      ))}
    </section>
  );
}

const EXAMPLE = `workflow: content
triggers:
  - name: mp3
    on: object.created
    match: mimeType = 'audio/mpeg'
    task: { type: extract.id3, input: { hash: "\${hash}" } }
`;

function NewWorkflow({ onClose, onMade }: { onClose: () => void; onMade: (name: string) => void }) {
  const [name, setName] = useState("content");
  return (
    <Dialog title="New workflow" wide onClose={onClose}>
      <label class="field"><span>Name, as in the definition</span><input value={name} onInput={(event) => setName(event.currentTarget.value)} /></label>
      <Editor name={name} where={namespace.value === "*" ? "" : namespace.value} start="" version={0} enabled onSaved={onMade} key="new" />
      <p class="faint">An example:</p>
      <Command text={EXAMPLE} />
    </Dialog>
  );
}

function TryCondition({ start }: { start: string }) {
  const [match, setMatch] = useState(start);
  const [data, setData] = useState("{}");
  const [answer, setAnswer] = useState<{ matched: boolean; decidedBy: string } | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const run = async (event: Event) => {
    event.preventDefault();
    setError(null);
    setAnswer(null);
    try {
      parseJson(data);
      setAnswer((await (await request("/workflows:test", { method: "POST", text: `{"match":${JSON.stringify(match)},"data":${data}}` })).json()) as { matched: boolean; decidedBy: string });
    } catch (problem) {
      setError(problem as Error);
    }
  };
  return (
    <Panel title="Try a condition">
      <form class="editor" onSubmit={run}>
        <label class="field"><span>Condition</span><input class="code" value={match} onInput={(event) => setMatch(event.currentTarget.value)} required /></label>
        <label class="field"><span>Data of an event</span><textarea class="code" rows={6} value={data} onInput={(event) => setData(event.currentTarget.value)} /></label>
        {error && <ErrorBox error={error} />}
        {answer && <div class={`notice ${answer.matched ? "good" : ""}`}><div><strong>{answer.matched ? "It matches." : "It does not match."}</strong> Decided by <code>{answer.decidedBy}</code></div></div>}
        <div class="row-actions"><Button type="submit" kind="primary">Try</Button></div>
      </form>
    </Panel>
  );
}

function Joins({ workflow }: { workflow: Workflow }) {
  const key = param("key");
  const answer = useQuery<List<Join>>(`/workflows/${encodeURIComponent(workflow.name)}/joins${query({ namespace: workflow.namespace, key, limit: 200 })}`, { every: 5000 });
  // Open rounds first. A round that has ended waits for nothing until a task with its key ends again.
  const items = [...(answer.data?.items ?? [])].sort((a, b) => Number(b.waitsFor.length > 0) - Number(a.waitsFor.length > 0));
  const open = items.filter((join) => join.waitsFor.length > 0).length;
  return (
    <Panel title="Keys of the joins" note={answer.data ? `${formatCount(open)}${answer.data.nextCursor ? "+" : ""} of them wait for something` : ""} actions={<input type="search" placeholder="Key" aria-label="Key" value={key} onInput={(event) => setParams({ key: event.currentTarget.value })} />}>
      {!answer.data ? <Pending answer={answer} what="joins" /> : items.length === 0 ? <p class="faint pad">{key ? "There is no such key." : "No task of these joins has ended yet."}</p> : (
        <div class="scroll" tabIndex={0} role="group" aria-label="Keys of the joins">
          <table class="table">
            <thead><tr><th>Join</th><th>Key</th><th>Here</th><th>Waits for</th><th>Last round</th><th>Changed</th><th>Until</th></tr></thead>
            <tbody>
              {items.map((join) => {
                const members = (join.members ?? {}) as Record<string, unknown>;
                return (
                  <tr key={`${join.join} ${JSON.stringify(join.key)}`}>
                    <td>{join.join}</td>
                    <td class="mono wrap">{typeof join.key === "string" ? join.key : JSON.stringify(join.key)}</td>
                    <td><span class="join-key">{Object.keys(members).map((name) => {
                      const id = idIn(members[name]);
                      return <span key={name} class="tag good">{id ? <a href={link(["tasks", id])}>{name}</a> : name}</span>;
                    })}</span></td>
                    <td>{join.waitsFor.length === 0 ? <span class="faint">nothing</span>
                      : <span class="join-key">{join.waitsFor.map((name) => <span key={name} class="tag warn">{name}</span>)}</span>}</td>
                    <td class="nowrap">{!join.last ? <span class="faint">–</span> : <>{join.last.outcome} {join.last.taskId && <ShortId id={join.last.taskId} to />}{join.last.error && <div class="bad">{join.last.error}</div>}</>}</td>
                    <td class="nowrap"><Age at={join.updatedAt} /></td>
                    <td class="nowrap">{join.deadline ? <Age at={join.deadline} /> : <span class="faint">–</span>}</td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </div>
      )}
      {answer.data?.nextCursor && <p class="faint pad">There are more; find one by its key.</p>}
    </Panel>
  );
}

function idIn(value: unknown): string | null {
  const text = typeof value === "string" ? value : value && typeof value === "object" ? String((value as { id?: string; taskId?: string }).id ?? (value as { taskId?: string }).taskId ?? "") : "";
  return /^[0-9a-f-]{36}$/i.test(text) ? text : null;
}

// ---- events ----

interface Why {
  triggers: { workflow: string; trigger: string; result: string; decidedBy: string | null; error: string | null }[];
}

export function EventsView() {
  const id = parts.value[1];
  return id ? <OneEvent id={id} /> : <AllEvents />;
}

const EVENT_SINCE: [string, string, number][] = [["1h", "1 hour", 1], ["24h", "24 hours", 24], ["7d", "7 days", 168]];

function AllEvents() {
  const type = param("type");
  const range = EVENT_SINCE.find(([key]) => key === param("since")) ?? EVENT_SINCE[1]!;
  const since = useMemo(() => new Date(Math.floor(Date.now() / 60000) * 60000 - range[2] * 3600000).toISOString(), [range[0]]);
  const [more, setMore] = useState<{ key: string; items: EmittedEvent[]; cursor: string | null }>({ key: "", items: [], cursor: null });
  const where = namespace.value === "*" ? "" : namespace.value;
  const path = `/events${query({ namespace: where, type, since, order: "desc", limit: 200 })}`;
  const answer = useQuery<List<EmittedEvent>>(path, { every: 10000 });
  const added = more.key === path ? more : { items: [], cursor: answer.data?.nextCursor ?? null };
  const newest = answer.data?.items ?? [];
  const known = new Set(newest.map((event) => event.id));
  const items = [...newest, ...added.items.filter((event) => !known.has(event.id))];
  const readMore = () => attempt("", async () => {
    const found = await get<List<EmittedEvent>>(`${path}&cursor=${encodeURIComponent(added.cursor!)}`);
    setMore({ key: path, items: [...added.items, ...found.items], cursor: found.nextCursor ?? null });
  });
  return (
    <Page title="Events" answer={answer} lead="Emitted events that are kept, and ends of tasks that fired a trigger; newest first."
      actions={<Tabs label="Time" value={range[0]} onPick={(value) => setParams({ since: value })} items={EVENT_SINCE.map(([key, text]) => [key, text])} />}>
      <div class="list-head"><input type="search" placeholder="Event type, such as object.created" aria-label="Event type" value={type} onChange={(event) => setParams({ type: event.currentTarget.value })} /></div>
      {!answer.data ? <Pending answer={answer} what="kept events" /> : items.length === 0 ? (
        <Empty title={type ? `No event ${type} in the last ${range[1]}.` : `No event in the last ${range[1]}.`} command={`faina emit object.created '{"hash":"f00","mimeType":"audio/mpeg"}'`} />
      ) : (
        <Panel>
          <div class="scroll" tabIndex={0} role="group" aria-label="Events">
            <table class="table">
              <thead><tr><th>Time</th><th>Type</th><th>Id</th><th>Tasks that it made</th><th>Failures</th></tr></thead>
              <tbody>
                {items.map((event) => {
                  const tasks = (event.tasks ?? []) as unknown as string[];
                  const failures = (event.failures ?? []) as unknown as { message: string }[];
                  return (
                    <tr key={event.id}>
                      <td class="nowrap"><Time at={event.createdAt} /></td>
                      <td class="nowrap">{event.type}</td>
                      <td class="message"><a class="mono" href={link(["events", event.id], { ns: event.namespace === namespace.value ? null : event.namespace === "default" ? null : event.namespace })}>{event.id}</a></td>
                      <td>{tasks.length === 0 ? <span class="faint">none</span> : tasks.slice(0, 5).map((task) => <><ShortId key={task} id={task} to />{" "}</>)}{tasks.length > 5 && `and ${tasks.length - 5} more`}</td>
                      <td class="message bad">{failures.map((failure) => failure.message).join("; ")}</td>
                    </tr>
                  );
                })}
              </tbody>
            </table>
          </div>
          {added.cursor && <p class="pad"><Button small onClick={() => void readMore()}>Older events</Button></p>}
        </Panel>
      )}
    </Page>
  );
}

function OneEvent({ id }: { id: string }) {
  const where = query({ namespace: namespace.value === "*" ? "" : namespace.value });
  const read = async (path: string, signal: AbortSignal) => {
    const text = await (await request(path, { signal })).text();
    return { event: JSON.parse(text) as EmittedEvent, data: (parseJson(text) as { [key: string]: Json }).data };
  };
  const answer = useQuery<{ event: EmittedEvent; data: Json | undefined }>(`/events/${encodeURIComponent(id)}${where}`, { read });
  const why = useQuery<Why>(`/events/${encodeURIComponent(id)}/why${where}`);
  const workflows = useQuery<List<Workflow>>(`/workflows${query({ namespace: namespace.value === "*" ? "" : namespace.value, limit: 1000 })}`);
  const event = answer.data?.event;
  if (!event) {
    return <Page title="Event">{answer.error?.status === 404 && !answer.error.isMissing ? <Empty title={`There is no event ${id}.`}><p class="faint">Events are kept for 7 days.</p></Empty> : <Pending answer={answer} what="kept events" />}</Page>;
  }
  const tasks = (event.tasks ?? []) as unknown as string[];
  const reasons = why.data?.triggers ?? [];
  const matchOf = (workflow: string, trigger: string) => ((workflows.data?.items.find((item) => item.name === workflow)?.definition as Definition | null)?.triggers ?? []).find((item) => item.name === trigger)?.match ?? "";
  return (
    <Page title={<><a class="crumb" href={link(["events"])}>Events</a><span>{event.type}</span></>} answer={answer}>
      <div class="columns">
        <Panel title="Event"><Facts items={[["Id", <span class="mono wrap">{event.id}</span>], ["Type", event.type], ["Namespace", event.namespace], ["Time", <><Time at={event.createdAt} /> <span class="faint"><Age at={event.createdAt} /></span></>]]} /></Panel>
        <Panel title="Tasks that it made" note={String(tasks.length)}>
          {tasks.length === 0 ? <p class="faint pad">None. Below is which clause decided.</p> : <div class="scroll" tabIndex={0} role="group" aria-label="Tasks that it made"><table class="table"><tbody>{tasks.map((task) => <EventTask key={task} id={task} />)}</tbody></table></div>}
        </Panel>
      </div>
      <Panel title="Data"><JsonView label="data" value={answer.data!.data} isRedacted={event.redacted} /></Panel>
      <Panel title="Triggers" note="the deciding clause is marked">
        {!why.data ? <Pending answer={why} what="explanation of events" /> : reasons.length === 0 ? <p class="faint pad">No trigger is on this type of event.</p> : reasons.map((item) => (
          <div class="clause" key={`${item.workflow} ${item.trigger}`}>
            <div><strong><a href={link(["workflows", item.workflow])}>{item.workflow}</a> · {item.trigger}</strong> <span class={item.result === "matched" ? "diff-add" : item.result === "failed" ? "bad" : "faint"}>{item.result}</span></div>
            {item.decidedBy && <code><MarkedClause text={matchOf(item.workflow, item.trigger) || item.decidedBy} clause={item.decidedBy} /></code>}
            {item.error && <div class="bad">{item.error}</div>}
          </div>
        ))}
      </Panel>
    </Page>
  );
}

function EventTask({ id }: { id: string }) {
  const answer = useQuery<{ type: string; status: string; createdAt: string }>(`/tasks/${id}`, { on: (change) => change.taskId === id });
  return (
    <tr><td><ShortId id={id} to /></td><td>{answer.data?.type}</td><td>{answer.data && <Status status={answer.data.status} />}</td><td class="num">{answer.data && <Age at={answer.data.createdAt} />}</td></tr>
  );
}

function MarkedClause({ text, clause }: { text: string; clause: string }) {
  const at = clause ? text.indexOf(clause) : -1;
  if (at < 0) return <>{text}{clause && clause !== text && <> <mark>{clause}</mark></>}</>;
  return <>{text.slice(0, at)}<mark>{clause}</mark>{text.slice(at + clause.length)}</>;
}

