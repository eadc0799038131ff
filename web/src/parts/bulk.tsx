// Acts on many tasks: on a selection one by one, on a whole filter as an operation of the server.
import { useEffect, useRef, useState } from "preact/hooks";
import { signal } from "@preact/signals";
import { ApiError, get, send } from "../lib/api";
import { formatCount } from "../lib/time";
import type { Operation } from "../lib/types";
import { Button, Dialog, ErrorBox, notify } from "./basic";

export type Act = "retry" | "cancel" | "delete" | "update";

export interface BulkQuestion {
  act: Act;
  /** The whole filter, one for each type that a pattern stands for; or ... */
  filters?: Record<string, unknown>[];
  /** ... these tasks. */
  ids?: string[];
  /** The versions of them that were shown: a task that has changed since is left as it is. */
  versions?: Record<string, number | undefined>;
  /** The update starts them now. */
  isNow?: boolean;
  /** In words. */
  what: string;
  onDone?: () => void;
}

export const bulk = signal<BulkQuestion | null>(null);
/** Operations that this page has started, for the progress at the bottom. */
export const operations = signal<Operation[]>([]);

const NAMES: Record<Act, string> = { retry: "Retry", cancel: "Cancel", delete: "Delete", update: "Change" };

/** One task of a selection. */
async function actOn(act: Act, id: string, ifMatch: number | undefined, reason: string, set?: Record<string, unknown>) {
  if (act === "delete") {
    await withReason(reason, (why) => send("DELETE", `/tasks/${id}${why ? `?reason=${encodeURIComponent(why)}` : ""}`, undefined, { ifMatch }));
  } else if (act === "update") await withReason(reason, (why) => send("PATCH", `/tasks/${id}`, { ...set, ...(why ? { reason: why } : {}) }, { ifMatch }));
  else await withReason(reason, (why) => send("POST", `/tasks/${id}:${act}`, why ? { reason: why } : {}, { ifMatch }));
}

/** An older server refuses a reason by name; the act counts more than its reason. */
export async function withReason<T>(reason: string, run: (reason: string) => Promise<T>): Promise<T> {
  try {
    return await run(reason);
  } catch (error) {
    if (reason && error instanceof ApiError && error.status === 400 && /reason/.test(error.message)) return run("");
    throw error;
  }
}

export function BulkDialog({ question }: { question: BulkQuestion }) {
  const [matched, setMatched] = useState<number | null>(question.ids ? question.ids.length : null);
  const [reason, setReason] = useState("");
  const [error, setError] = useState<Error | null>(null);
  const [progress, setProgress] = useState<{ done: number; failed: number; total: number; isOver: boolean } | null>(null);
  const [failure, setFailure] = useState("");
  const [priority, setPriority] = useState("");
  const [isNow, setNow] = useState(question.isNow ?? false);
  const set = question.act === "update" ? { ...(priority.trim() ? { priority: Number(priority) } : {}), ...(isNow ? { runAt: "now" } : {}) } : undefined;
  const isStopped = useRef(false);
  const running = useRef<string[]>([]);
  const name = NAMES[question.act];
  const close = () => {
    isStopped.current = true;
    bulk.value = null;
    question.onDone?.();
  };

  useEffect(() => {
    if (!question.filters) return;
    Promise.all(question.filters.map((filter) => send<{ matched: number }>("POST", `/tasks:${question.act}`, { filter, dryRun: true, ...(question.act === "update" ? { set: { priority: 0 } } : {}) })))
      .then((answers) => setMatched(answers.reduce((sum, answer) => sum + answer.matched, 0)), setError);
  }, []);

  const runIds = async (ids: string[]) => {
    let done = 0;
    let failed = 0;
    const queue = [...ids];
    const work = async () => {
      for (let id = queue.shift(); id && !isStopped.current; id = queue.shift()) {
        try {
          await actOn(question.act, id, question.versions?.[id], reason.trim(), set);
          done++;
        } catch (problem) {
          failed++;
          setFailure(problem instanceof ApiError && problem.status === 412 ? "the task was changed meanwhile; look at it again" : (problem as Error).message);
        }
        setProgress({ done, failed, total: ids.length, isOver: false });
      }
    };
    await Promise.all([work(), work(), work(), work()]);
    setProgress({ done, failed, total: ids.length, isOver: true });
  };

  const runFilters = async (filters: Record<string, unknown>[]) => {
    const started: Operation[] = [];
    for (const filter of filters) {
      const body = { filter, reason: reason.trim() || undefined, set: set };
      started.push((await send<{ operation: Operation }>("POST", `/tasks:${question.act}`, body)).operation);
    }
    running.current = started.map((operation) => operation.id);
    for (;;) {
      const sum = (key: "done" | "failed" | "matched") => started.reduce((total, operation) => total + (operation[key] ?? 0), 0);
      const isOver = started.every((operation) => operation.status !== "running");
      setProgress({ done: sum("done"), failed: sum("failed"), total: Math.max(sum("matched"), sum("done") + sum("failed")), isOver });
      if (isOver || isStopped.current) return;
      await new Promise((resolve) => setTimeout(resolve, 400));
      for (let i = 0; i < started.length; i++) {
        if (started[i]!.status === "running") started[i] = await get<Operation>(`/operations/${started[i]!.id}`);
      }
    }
  };

  const start = async (event: Event) => {
    event.preventDefault();
    setError(null);
    setProgress({ done: 0, failed: 0, total: matched ?? 0, isOver: false });
    try {
      if (question.ids) await runIds(question.ids);
      else await runFilters(question.filters!);
    } catch (problem) {
      setError(problem as Error);
      setProgress(null);
    }
  };
  const stop = async () => {
    isStopped.current = true;
    for (const id of running.current) await send("POST", `/operations/${id}:cancel`, {}).catch(() => {});
    notify("Stopped");
    close();
  };
  const isDangerous = question.act === "delete" || question.act === "cancel";
  const missing = error instanceof ApiError && error.isMissing;
  return (
    <Dialog title={`${name} ${question.what}`} onClose={close}>
      <form onSubmit={start}>
        {missing ? <p>This server has no operations on a whole filter. Select the tasks, and act on the selection.</p>
          : error ? <ErrorBox error={error} />
          : matched === null ? <p role="status">Counting…</p>
          : <p class="bulk-count" data-test="matched"><strong>{formatCount(matched)}</strong> {matched === 1 ? "task" : "tasks"} {question.ids ? "selected" : "match now"}{question.act === "delete" && ". Tasks that have not ended are left out"}.</p>}
        {!progress && !missing && question.act === "update" && (
          <div class="fields">
            <label class="field"><span>Priority</span><input type="number" value={priority} placeholder="as it is" onInput={(event) => setPriority(event.currentTarget.value)} /></label>
            <div class="field"><span>Start</span><label class="inline"><input type="checkbox" checked={isNow} onChange={(event) => setNow(event.currentTarget.checked)} /> now, instead of later</label></div>
          </div>
        )}
        {!progress && !missing && (
          <label class="field">
            <span>Reason{isDangerous ? "" : " (optional)"}</span>
            <input value={reason} onInput={(event) => setReason(event.currentTarget.value)} required={isDangerous} maxLength={500}
              placeholder="Shown in the activity log" autofocus />
          </label>
        )}
        {progress && (
          <div class="progress" role="status">
            <progress max={Math.max(1, progress.total)} value={progress.done + progress.failed} aria-label="Progress" />
            <p>{formatCount(progress.done)} of {formatCount(progress.total)} done{progress.failed > 0 && `, ${formatCount(progress.failed)} not`}{progress.isOver && "."}</p>
            {failure && progress.failed > 0 && <p class="faint">The last refusal: {failure}</p>}
          </div>
        )}
        <footer class="dialog-foot">
          {progress && !progress.isOver && <Button onClick={() => void stop()}>Stop</Button>}
          <Button onClick={close}>{progress?.isOver ? "Done" : "Close"}</Button>
          {!progress && !missing && (
            <Button type="submit" kind={isDangerous ? "danger" : "primary"} disabled={matched === null || matched === 0 || (set !== undefined && !Object.keys(set).length)}>
              {`${name} ${matched === null ? "" : formatCount(matched)} ${matched === 1 ? "task" : "tasks"}`}
            </Button>
          )}
        </footer>
      </form>
    </Dialog>
  );
}
