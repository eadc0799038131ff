// The list of tasks: filter, live rows, selection, acts on many.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { ApiError, can, get, query } from "../lib/api";
import { go, link, namespace, param, setParams } from "../lib/route";
import { useQuery } from "../lib/query";
import { parseFilter, toParams, withTerm, type Term } from "../lib/filter";
import { formatCount, formatSpan, now, recall, since, store } from "../lib/time";
import { ENDED, type List, type Stats, type Task } from "../lib/types";
import { changes } from "../live/client";
import { useKeys } from "../lib/keys";
import { Age, Button, Dialog, Empty, ErrorBox, Menu, Page, ShortId, Status, type MenuItem } from "../parts/basic";
import { BulkDialog, bulk, type Act } from "../parts/bulk";
import { FilterBox } from "../parts/filterbox";
import { Icon } from "../parts/icons";
import { useCommands } from "../parts/palette";

const ROW = 34;
const PAGE = 100;
const TYPES_MAX = 20;

interface Column {
  name: string;
  title: string;
  isNumber?: boolean;
  sort?: string;
  width: string;
  cell: (task: Task) => ComponentChildren;
}

export function errorText(error: unknown): string {
  if (!error) return "";
  if (typeof error === "string") return error;
  const { message, kind } = error as { message?: string; kind?: string };
  return `${kind && kind !== message ? `${kind}: ` : ""}${message ?? JSON.stringify(error)}`;
}

const COLUMNS: Column[] = [
  { name: "status", title: "Status", width: "118px", cell: (task) => <Status status={task.status!} /> },
  { name: "type", title: "Type", width: "minmax(120px, 1.4fr)", cell: (task) => <a href={link(["tasks", task.id])} class="cell-main" title={task.type}>{task.type}</a> },
  { name: "name", title: "Name", width: "minmax(100px, 1.2fr)", cell: (task) => (task.name === task.type ? <span class="faint">–</span> : <span title={task.name}>{task.name}</span>) },
  { name: "id", title: "Id", width: "92px", cell: (task) => <ShortId id={task.id} /> },
  { name: "note", title: "State or error", width: "minmax(140px, 2fr)", cell: (task) => <Note task={task} /> },
  { name: "priority", title: "Priority", isNumber: true, sort: "priority", width: "92px", cell: (task) => task.priority },
  { name: "attempts", title: "Attempts", isNumber: true, width: "84px", cell: (task) => <>{task.attempts}<span class="faint">/{task.maxAttempts || "∞"}</span></> },
  { name: "wait", title: "Waited", isNumber: true, width: "84px", cell: (task) => formatSpan(since(task.createdAt, task.startedAt ?? task.completedAt)) },
  { name: "run", title: "Ran", isNumber: true, width: "84px", cell: (task) => (task.startedAt && !["pending", "blocked"].includes(task.status!) ? formatSpan(since(task.startedAt, task.completedAt)) : "–") },
  { name: "created", title: "Created", isNumber: true, sort: "createdAt", width: "96px", cell: (task) => <Age at={task.createdAt} /> },
  { name: "updated", title: "Changed", isNumber: true, sort: "updatedAt", width: "98px", cell: (task) => <Age at={task.updatedAt} /> },
  { name: "runAt", title: "Due", isNumber: true, sort: "runAt", width: "84px", cell: (task) => <Age at={task.runAt} /> },
  { name: "worker", title: "Worker", width: "minmax(90px, 1fr)", cell: (task) => task.workerId ?? <span class="faint">–</span> },
  { name: "key", title: "Key", width: "minmax(90px, 1fr)", cell: (task) => task.idempotencyKey ?? <span class="faint">–</span> },
  { name: "namespace", title: "Namespace", width: "110px", cell: (task) => task.namespace },
];
const DEFAULT_COLUMNS = ["status", "type", "name", "id", "note", "attempts", "wait", "run", "created"];

function Note({ task }: { task: Task }) {
  if (task.status === "running" && task.progress) return <span><progress max={100} value={task.progress} aria-label={`${task.progress} percent`} /> {task.progress}% <span class="faint">{task.state}</span></span>;
  const text = errorText(task.error);
  if (text && task.status !== "completed") return <span class="note-error" title={text}>{text}</span>;
  return <span class="faint" title={task.state ?? ""}>{task.state && task.state !== task.status ? task.state : ""}</span>;
}

/** Filters of the server for the terms: several when the type is a pattern. */
export function serverFilters(terms: Term[], types: string[]): { filters: Record<string, string>[]; isCut: boolean } {
  const params = toParams(terms);
  if (!params.type?.includes("*")) return { filters: [params], isCut: false };
  const pattern = new RegExp(`^${params.type.replace(/[.+?^${}()|[\]\\]/g, "\\$&").replace(/\*/g, ".*")}$`, "i");
  const found = types.filter((type) => pattern.test(type));
  return { filters: found.slice(0, TYPES_MAX).map((type) => ({ ...params, type })), isCut: found.length > TYPES_MAX };
}

interface Row {
  task: Task;
  /** It was in the list, and is not any more. */
  isGone: boolean;
}

interface Loaded {
  key: string;
  rows: Row[];
  cursors: (string | null)[];
  fresh: Task[];
  error: ApiError | null;
  at: number;
  isLoading: boolean;
}

const EMPTY: Loaded = { key: "", rows: [], cursors: [], fresh: [], error: null, at: 0, isLoading: true };

/** Pages of all filters, merged in the order of the list. */
function useTaskList(key: string, filters: Record<string, string>[] | null, isFrozen: boolean) {
  const [state, setState] = useState<Loaded>(EMPTY);
  const current = useRef(state);
  current.current = state;
  const frozen = useRef(isFrozen);
  frozen.current = isFrozen;
  const set = (next: Partial<Loaded>) => setState((old) => (old.key === key ? { ...old, ...next } : { ...EMPTY, key, ...next }));

  const order = filters?.[0]?.order ?? "desc";
  const sort = filters?.[0]?.sort ?? "createdAt";
  const value = (task: Task) => {
    const field = (task as unknown as Record<string, unknown>)[sort];
    return typeof field === "number" ? field : Date.parse(String(field ?? 0)) || 0;
  };
  const merge = (lists: Task[][]) => (lists.length === 1 ? lists[0]! : lists.flat().sort((a, b) => (order === "asc" ? value(a) - value(b) : value(b) - value(a))));

  const page = (filter: Record<string, string>, limit: number, cursor?: string | null, signal?: AbortSignal) =>
    get<List<Task>>(`/tasks${query({ ...filter, namespace: namespace.value, limit, cursor, brief: true })}`, signal);

  /** A page may be empty and still have a next one: some are read on. */
  const readFirst = async (filter: Record<string, string>, limit: number, signal: AbortSignal) => {
    const out: List<Task> = { items: [], nextCursor: null };
    let cursor: string | null | undefined;
    for (let i = 0; i < 10; i++) {
      const found = await page(filter, limit - out.items.length, cursor, signal);
      out.items.push(...found.items);
      cursor = out.nextCursor = found.nextCursor;
      if (!cursor || out.items.length >= limit) break;
    }
    return out;
  };

  useEffect(() => {
    if (!filters) return;
    const abort = new AbortController();
    setState((old) => ({ ...EMPTY, key, rows: old.rows, isLoading: true }));
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isBusy = false;
    let isStale = false;
    let lastAt = 0;
    const load = async () => {
      try {
        const lists = await Promise.all(filters.map((filter) => readFirst(filter, PAGE, abort.signal)));
        setState({ ...EMPTY, key, rows: merge(lists.map((list) => list.items)).map((task) => ({ task, isGone: false })), cursors: lists.map((list) => list.nextCursor ?? null), at: Date.now(), isLoading: false });
      } catch (error) {
        if (!abort.signal.aborted) set({ error: error as ApiError, isLoading: false });
      }
      lastAt = Date.now();
    };
    // The rows that are shown keep their place. What is new is announced, and what no longer fits is marked.
    const refresh = async () => {
      const old = current.current;
      if (old.key !== key || old.isLoading || isBusy || document.hidden) {
        isStale = true;
        return;
      }
      isBusy = true;
      isStale = false;
      lastAt = Date.now();
      try {
        const shown = Math.min(Math.max(PAGE, old.rows.length), 300);
        const lists = await Promise.all(filters.map((filter) => readFirst(filter, shown, abort.signal)));
        const found = merge(lists.map((list) => list.items));
        setState((state) => {
          if (state.key !== key) return state;
          const byId = new Map(found.map((task) => [task.id, task]));
          const isWhole = lists.every((list) => !list.nextCursor);
          const last = found.at(-1);
          const covers = (task: Task) => isWhole || (last !== undefined && (order === "asc" ? value(task) < value(last) : value(task) > value(last)));
          const rows = state.rows.map((row) => {
            const task = byId.get(row.task.id);
            return task ? { task, isGone: false } : covers(row.task) ? { ...row, isGone: true } : row;
          });
          const known = new Set(rows.map((row) => row.task.id));
          const fresh = found.filter((task) => !known.has(task.id));
          if (!rows.length && !frozen.current) return { ...state, rows: fresh.map((task) => ({ task, isGone: false })), fresh: [], at: Date.now(), error: null };
          return { ...state, rows, fresh: isWhole || state.rows.length <= shown ? fresh : fresh.slice(0, PAGE), at: Date.now(), error: null };
        });
      } catch (error) {
        if (!abort.signal.aborted) set({ error: error as ApiError });
      }
      isBusy = false;
      if (isStale) soon();
    };
    const soon = () => {
      clearTimeout(timer);
      timer = setTimeout(() => void refresh(), Math.max(120, lastAt + 1200 - Date.now()));
    };
    const stop = changes.subscribe(soon);
    const every = setInterval(() => {
      if (Date.now() - lastAt > 10000) soon();
    }, 5000);
    const onShow = () => {
      if (!document.hidden) soon();
    };
    document.addEventListener("visibilitychange", onShow);
    void load();
    return () => {
      abort.abort();
      clearTimeout(timer);
      clearInterval(every);
      stop();
      document.removeEventListener("visibilitychange", onShow);
    };
  }, [key]);

  const loadMore = async () => {
    if (!filters || state.isLoading) return;
    set({ isLoading: true });
    try {
      const lists = await Promise.all(filters.map(async (filter, i) => {
        const out: List<Task> = { items: [], nextCursor: state.cursors[i] };
        for (let tries = 0; tries < 10 && out.nextCursor && out.items.length < PAGE; tries++) {
          const found = await page(filter, PAGE, out.nextCursor);
          out.items.push(...found.items);
          out.nextCursor = found.nextCursor;
        }
        return out;
      }));
      setState((old) => {
        if (old.key !== key) return old;
        const known = new Set(old.rows.map((row) => row.task.id));
        const added = merge(lists.map((list) => list.items)).filter((task) => !known.has(task.id));
        return { ...old, rows: [...old.rows, ...added.map((task) => ({ task, isGone: false }))], cursors: lists.map((list) => list.nextCursor ?? null), isLoading: false };
      });
    } catch (error) {
      set({ error: error as ApiError, isLoading: false });
    }
  };
  const showFresh = () => setState((old) => ({ ...old, rows: [...old.fresh.map((task) => ({ task, isGone: false })), ...old.rows.filter((row) => !row.isGone)], fresh: [] }));
  return { state, loadMore, showFresh };
}

const NONE: Set<string> = new Set();

export function TasksView() {
  const text = param("q");
  const parsed = useMemo(() => parseFilter(text), [text]);
  const stats = useQuery<Stats>(`/stats${query({ namespace: namespace.value })}`, { every: 30000 });
  const types = useMemo(() => (stats.data?.types ?? []).map((type) => type.type), [stats.data]);
  const isPattern = parsed.terms.some((term) => term.field === "type" && term.value.includes("*"));
  const usable = parsed.problems.length === 0 && (!isPattern || stats.data !== undefined);
  const minute = useMemo(() => Date.now(), [text, namespace.value]);
  const { filters, isCut } = useMemo(() => (usable ? serverFilters(parsed.terms, types) : { filters: [], isCut: false }), [text, usable, isPattern ? types.join() : "", minute]);
  // They belong to the list that they were made in: another filter has none, from its first render on.
  const owner = `${namespace.value} ${text}`;
  const [chosen, setChosen] = useState<{ owner: string; selected: Set<string>; cursor: number }>({ owner, selected: new Set(), cursor: -1 });
  const { selected, cursor } = chosen.owner === owner ? chosen : { selected: NONE, cursor: -1 };
  const setSelected = (next: Set<string>) => setChosen((old) => ({ owner, selected: next, cursor: old.owner === owner ? old.cursor : -1 }));
  const setCursor = (next: number) => setChosen((old) => ({ owner, selected: old.owner === owner ? old.selected : NONE, cursor: next }));
  const { state, loadMore, showFresh } = useTaskList(`${namespace.value} ${text} ${JSON.stringify(filters)}`, usable ? filters : null, selected.size > 0);
  const [columns, setColumns] = useState(() => (param("cols") || recall("faina-columns", DEFAULT_COLUMNS.join())).split(",").filter((name) => COLUMNS.some((column) => column.name === name)));
  const [isChoosing, setChoosing] = useState(false);
  const rows = state.rows;
  const shown = columns.map((name) => COLUMNS.find((column) => column.name === name)!);
  const sort = toParams(parsed.terms).sort ?? "createdAt";
  const isAscending = toParams(parsed.terms).order === "asc";
  const setText = (value: string) => setParams({ q: value }, true);

  const toggle = (id: string, isRange = false) => {
    const next = new Set(selected);
    if (isRange && cursor >= 0) {
      const to = rows.findIndex((row) => row.task.id === id);
      for (let i = Math.min(cursor, to); i <= Math.max(cursor, to); i++) next.add(rows[i]!.task.id);
    } else if (!next.delete(id)) next.add(id);
    setSelected(next);
    setCursor(rows.findIndex((row) => row.task.id === id));
  };
  const allSelected = rows.length > 0 && rows.every((row) => selected.has(row.task.id));
  const onSelection = (act: Act) => {
    const ids = selected.size ? [...selected] : cursor >= 0 && rows[cursor] ? [rows[cursor]!.task.id] : [];
    const versions = Object.fromEntries(rows.map((row) => [row.task.id, row.task.version]));
    if (ids.length) bulk.value = { act, ids, versions, what: ids.length === 1 ? "one task" : `${formatCount(ids.length)} selected tasks`, onDone: () => setSelected(new Set()) };
  };
  const onFilter = (act: Act) => {
    const bare = filters.map(({ sort: _sort, order: _order, ...rest }) => {
      const { status, ...others } = rest;
      const namespaced = namespace.value ? { ...others, namespace: namespace.value } : others;
      const filter = { ...namespaced, ...(status ? { status } : {}) };
      return Object.keys(filter).some((key) => key !== "namespace") ? filter : { ...filter, all: true };
    });
    bulk.value = { act, filters: bare, what: text.trim() ? `all tasks that match ${text.trim()}` : "all tasks" };
  };
  const items = (on: (act: Act) => void): MenuItem[] => (can("operate") ? [
    { text: "Retry", icon: "retry", keys: "r", run: () => on("retry") },
    { text: "Change priority or start", icon: "settings", run: () => on("update") },
    { text: "Cancel", icon: "cancelled", isDangerous: true, run: () => on("cancel") },
    { text: "Delete", icon: "close", isDangerous: true, run: () => on("delete") },
  ] : []);

  const list = useRef<HTMLDivElement>(null);
  const move = (by: number) => {
    const next = Math.max(0, Math.min(rows.length - 1, cursor + by));
    setCursor(next);
    const box = list.current;
    if (!box) return;
    const top = next * ROW;
    if (top < box.scrollTop) box.scrollTop = top;
    else if (top + 2 * ROW > box.scrollTop + box.clientHeight) box.scrollTop = top + 2 * ROW - box.clientHeight;
  };
  useKeys({
    "/": () => document.getElementById("filter")?.focus(),
    j: () => move(1),
    k: () => move(-1),
    x: () => { if (rows[cursor]) toggle(rows[cursor]!.task.id); },
    Enter: () => { if (rows[cursor]) go(link(["tasks", rows[cursor]!.task.id])); },
    r: () => { if (can("operate")) onSelection("retry"); },
    ".": () => document.getElementById(selected.size ? "actions-selected" : "actions-filter")?.click(),
    Escape: () => setSelected(new Set()),
  });
  useCommands(can("operate") ? [
    { text: "Retry all tasks of this filter", icon: "retry", run: () => onFilter("retry") },
    { text: "Cancel all tasks of this filter", icon: "cancelled", run: () => onFilter("cancel") },
  ] : [], `tasks ${text}`);

  const known = { type: types, worker: [...new Set(rows.map((row) => row.task.workerId).filter((id): id is string => Boolean(id)))] };
  const total = parsed.terms.length === 0 ? stats.data?.total : undefined;
  return (
    <Page title="Tasks" answer={{ data: rows, error: state.error, at: state.at, isLoading: state.isLoading, reload: showFresh }}
      actions={<>
        <Button small icon="settings" onClick={() => setChoosing(true)}>Columns</Button>
        {selected.size === 0 && <Menu id="actions-filter" text="All of this filter" label="Actions on all tasks of this filter" items={items(onFilter)} />}
      </>}>
      <FilterBox text={text} onChange={setText} known={known} problems={parsed.problems} />
      <QuickFilters text={text} stats={stats.data} onPick={setText} />
      {isCut && <p class="faint">More than {TYPES_MAX} types match; the first {TYPES_MAX} are shown.</p>}
      {state.error && <ErrorBox error={state.error} />}
      <div class="list-head" role="status">
        {selected.size > 0 ? (
          <div class="selection">
            <strong>{formatCount(selected.size)} selected</strong>
            <Menu id="actions-selected" text="Actions" label="Actions on the selection" items={items(onSelection)} />
            <Button small kind="ghost" onClick={() => setSelected(new Set())}>Clear</Button>
          </div>
        ) : (
          <span class="faint">{!usable && parsed.problems.length > 0 ? "The filter has a mistake; below is the list before it" : rows.length === 0 && state.isLoading ? "Reading…" : `${formatCount(rows.length)}${state.cursors.some(Boolean) ? "+" : ""} shown${total !== undefined ? ` of ${formatCount(total)}` : ""}`}</span>
        )}
        {state.fresh.length > 0 && <button type="button" class="fresh" onClick={showFresh}><Icon name="up" size={14} />{formatCount(state.fresh.length)}{state.fresh.length >= PAGE ? "+" : ""} new</button>}
      </div>
      {rows.length === 0 && !state.isLoading && !state.error && usable ? (
        text ? <Empty title="No task matches this filter."><p><Button small onClick={() => setText("")}>Clear the filter</Button></p></Empty>
          : <Empty title="There are no tasks here." command={`faina submit hello '{"name":"Ann"}'`} />
      ) : (
        <TaskTable rows={rows} columns={shown} selected={selected} cursor={cursor} toggle={toggle} listRef={list}
          sort={sort} isAscending={isAscending} onSort={(name) => {
            const next = withTerm(withTerm(text, "sort", name === "createdAt" ? "" : name), "order", sort === name && !isAscending ? "asc" : "");
            setText(next);
          }}
          allSelected={allSelected} onAll={() => setSelected(allSelected ? new Set() : new Set(rows.map((row) => row.task.id)))}
          end={state.cursors.some(Boolean) ? loadMore : null} isLoading={state.isLoading} />
      )}
      {isChoosing && <ColumnChoice chosen={columns} onClose={() => setChoosing(false)} onChange={(next) => {
        setColumns(next);
        store("faina-columns", next.join());
        setParams({ cols: next.join() === DEFAULT_COLUMNS.join() ? null : next.join() });
      }} />}
      {bulk.value && <BulkDialog question={bulk.value} />}
    </Page>
  );
}

function QuickFilters({ text, stats, onPick }: { text: string; stats?: Stats; onPick: (text: string) => void }) {
  const by = stats?.byStatus;
  const present = parseFilter(text).terms.find((term) => term.field === "status")?.value ?? "";
  const sets: [string, string, number | undefined][] = [
    ["All", "", undefined],
    ["Waiting", "pending", by?.pending],
    ["Running", "claimed,running", by && by.claimed + by.running],
    ["Blocked", "blocked,background", by && by.blocked + by.background],
    ["Failed", "failed,dead_letter", by && by.failed + by.dead_letter],
    ["Completed", "completed", by?.completed],
    ["Cancelled", "cancelled", by?.cancelled],
  ];
  const isPlain = !parseFilter(text).terms.some((term) => term.field !== "status");
  return (
    <div class="chips" role="group" aria-label="Status">
      {sets.map(([name, value, count]) => (
        <button type="button" key={name} aria-pressed={present === value} onClick={() => onPick(withTerm(text, "status", value))}>
          {name}{isPlain && count !== undefined && <span class="count">{formatCount(count)}</span>}
        </button>
      ))}
    </div>
  );
}

function ColumnChoice({ chosen, onChange, onClose }: { chosen: string[]; onChange: (names: string[]) => void; onClose: () => void }) {
  return (
    <Dialog title="Columns" onClose={onClose}>
      <div class="checks">
        {COLUMNS.map((column) => (
          <label key={column.name}>
            <input type="checkbox" checked={chosen.includes(column.name)} onChange={(event) => {
              const on = event.currentTarget.checked;
              onChange(COLUMNS.map((item) => item.name).filter((name) => (name === column.name ? on : chosen.includes(name))));
            }} /> {column.title}
          </label>
        ))}
      </div>
      <footer class="dialog-foot">
        <Button onClick={() => onChange(DEFAULT_COLUMNS)}>Default</Button>
        <Button kind="primary" onClick={onClose}>Done</Button>
      </footer>
    </Dialog>
  );
}

/** Rows have one height, and only those in sight are in the document. */
function TaskTable({ rows, columns, selected, cursor, toggle, listRef, sort, isAscending, onSort, allSelected, onAll, end, isLoading }: {
  rows: Row[]; columns: Column[]; selected: Set<string>; cursor: number; toggle: (id: string, isRange?: boolean) => void;
  listRef: { current: HTMLDivElement | null }; sort: string; isAscending: boolean; onSort: (name: string) => void;
  allSelected: boolean; onAll: () => void; end: (() => void) | null; isLoading: boolean;
}) {
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(800);
  useEffect(() => {
    const box = listRef.current!;
    const observer = new ResizeObserver(() => setHeight(box.clientHeight));
    observer.observe(box);
    return () => observer.disconnect();
  }, []);
  const first = Math.max(0, Math.floor(top / ROW) - 8);
  const last = Math.min(rows.length, Math.ceil((top + height) / ROW) + 8);
  const style = { gridTemplateColumns: `34px ${columns.map((column) => column.width).join(" ")}` };
  void now.value;
  return (
    <div class="tasks" ref={listRef} tabIndex={0} role="group" aria-label="List of tasks"
      onScroll={(event) => {
        const box = event.currentTarget;
        setTop(box.scrollTop);
        if (end && !isLoading && box.scrollTop + box.clientHeight > box.scrollHeight - 400) end();
      }}>
      <div role="table" aria-label="Tasks" aria-rowcount={rows.length + 1} class="tasks-table">
      <div class="tasks-head" role="row" aria-rowindex={1} style={style}>
        <div role="columnheader"><input type="checkbox" checked={allSelected} onChange={onAll} aria-label="Select all rows" /></div>
        {columns.map((column) => (
          <div role="columnheader" key={column.name} class={column.isNumber ? "num" : ""} aria-sort={column.sort && column.sort === sort ? (isAscending ? "ascending" : "descending") : undefined}>
            {column.sort ? (
              <button type="button" class="sort" onClick={() => onSort(column.sort!)}>
                {column.title}{column.sort === sort && <Icon name={isAscending ? "up" : "down"} size={12} />}
              </button>
            ) : column.title}
          </div>
        ))}
      </div>
      <div class="tasks-body" role="rowgroup" style={{ height: `${rows.length * ROW}px` }}>
        {rows.slice(first, last).map((row, i) => {
          const at = first + i;
          const { task } = row;
          return (
            <div role="row" aria-rowindex={at + 2} key={task.id} data-id={task.id} aria-selected={selected.has(task.id)}
              class={`tasks-row${at === cursor ? " cursor" : ""}${row.isGone ? " moved" : ""}${ENDED.includes(task.status!) ? " ended" : ""}`}
              style={{ ...style, transform: `translateY(${at * ROW}px)` }}
              onClick={(event) => {
                if ((event.target as HTMLElement).closest("a, input, button") || getSelection()?.toString()) return;
                if (event.metaKey || event.ctrlKey) open(link(["tasks", task.id]));
                else go(link(["tasks", task.id]));
              }}>
              <div role="cell"><input type="checkbox" checked={selected.has(task.id)} aria-label={`Select ${task.type} ${task.id.slice(-8)}`}
                onClick={(event) => { event.stopPropagation(); toggle(task.id, event.shiftKey); }} /></div>
              {columns.map((column) => <div role="cell" key={column.name} class={column.isNumber ? "num" : ""}>{column.cell(task)}</div>)}
            </div>
          );
        })}
      </div>
      </div>
      {end && <div class="more"><Button small disabled={isLoading} onClick={end}>{isLoading ? "Reading…" : "Show more"}</Button></div>}
    </div>
  );
}
