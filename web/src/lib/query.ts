// Reading from the server: each answer is kept by its path, is shown at once when a view is opened
// again, and is read again when something changed.
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, access, get, isGone } from "./api";
import { changes, type Change } from "../live/client";

export interface Answer<T> {
  data: T | undefined;
  error: ApiError | null;
  /** When the data was read. */
  at: number;
  isLoading: boolean;
  reload: () => void;
}

interface Kept {
  data: unknown;
  at: number;
}

const KEPT_MAX = 60;
const kept = new Map<string, Kept>();

function keep(path: string, entry: Kept) {
  kept.delete(path);
  kept.set(path, entry);
  for (const key of kept.keys()) {
    if (kept.size <= KEPT_MAX) break;
    kept.delete(key);
  }
}

export function forget() {
  kept.clear();
}

export interface QueryOptions {
  /** Read again after so many milliseconds; 0: only when something changed. */
  every?: number;
  /** Which events make a new read necessary; unset: none. */
  on?: (change: Change) => boolean;
  /** At least so long between two reads. */
  pause?: number;
  read?: (path: string, signal: AbortSignal) => Promise<unknown>;
}

/** The answer of GET `path`; null: nothing is read. */
export function useQuery<T>(path: string | null, options: QueryOptions = {}): Answer<T> {
  const [, redraw] = useState(0);
  const state = useRef<{ path: string | null; error: ApiError | null; isLoading: boolean; run: () => void }>({
    path: null, error: null, isLoading: false, run: () => {},
  });
  const settings = useRef(options);
  settings.current = options;

  useEffect(() => {
    const own = state.current;
    own.path = path;
    own.error = null;
    if (path === null) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let abort: AbortController | null = null;
    let lastAt = 0;
    let isOver = false;
    let isStale = false;

    const plan = () => {
      clearTimeout(timer);
      const every = settings.current.every ?? 0;
      const missing = own.error?.isMissing;
      const wait = own.error && !missing ? Math.max(every, 3000) : every;
      if (wait > 0 && !missing) timer = setTimeout(() => (document.hidden ? plan() : run()), wait);
    };
    const run = async () => {
      if (abort || isOver) {
        isStale = true;
        return;
      }
      isStale = false;
      abort = new AbortController();
      own.isLoading = true;
      lastAt = Date.now();
      try {
        const read = settings.current.read ?? get;
        keep(path, { data: await read(path, abort.signal), at: Date.now() });
        own.error = null;
      } catch (error) {
        if (isOver) return;
        own.error = error instanceof ApiError ? error : new ApiError(0, "", String(error));
      }
      abort = null;
      own.isLoading = false;
      if (isOver) return;
      redraw((n) => n + 1);
      if (isStale) soon();
      else plan();
    };
    // Many events are one read, and a read takes place at most every `pause`.
    const soon = () => {
      if (isOver || document.hidden) {
        isStale = true;
        return;
      }
      clearTimeout(timer);
      timer = setTimeout(run, Math.max(50, lastAt + (settings.current.pause ?? 1500) - Date.now()));
    };
    own.run = () => void run();
    const stop = changes.subscribe((change) => {
      if (change && settings.current.on?.(change)) soon();
    });
    const stopGone = isGone.subscribe((gone) => {
      if (!gone && own.error?.status === 0) void run();
    });
    const stopAccess = access.subscribe((value) => {
      if (value !== "login" && own.error?.status === 401) void run();
    });
    const onShow = () => {
      if (!document.hidden && (isStale || settings.current.every)) soon();
    };
    document.addEventListener("visibilitychange", onShow);
    void run();
    return () => {
      isOver = true;
      clearTimeout(timer);
      abort?.abort();
      stop();
      stopGone();
      stopAccess();
      document.removeEventListener("visibilitychange", onShow);
    };
  }, [path]);

  const entry = path === null ? undefined : kept.get(path);
  const own = state.current;
  return {
    data: entry?.data as T | undefined,
    error: own.path === path ? own.error : null,
    at: entry?.at ?? 0,
    isLoading: own.isLoading || (path !== null && own.path !== path),
    reload: () => own.run(),
  };
}
