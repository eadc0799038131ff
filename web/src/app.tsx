// The frame around the views: navigation, banner, keyboard, palette.
import { useEffect, useState } from "preact/hooks";
import type { ComponentType } from "preact";
import { access, can, isGone, lastAnswerAt, loadSession, logIn, logOut, request, session, get, ApiError } from "./lib/api";
import { go, link, namespace, parts, path, setNamespace, view } from "./lib/route";
import { forget, useQuery } from "./lib/query";
import { formatSpan, now, setZone, zone } from "./lib/time";
import { setTheme, theme } from "./lib/theme";
import { eventRate, gapAt, isAggregated, link as streamLink, reconnect } from "./live/client";
import { Button, Confirmation, ErrorBox, Toasts } from "./parts/basic";
import { Icon } from "./parts/icons";
import { Help, Palette, isHelpOpen, isPaletteOpen } from "./parts/palette";
import { listenToKeys } from "./lib/keys";
import { NowView } from "./views/now";
import { TasksView } from "./views/tasks";
import { TaskView } from "./views/task";

export interface Place {
  view: string;
  title: string;
  key: string;
}

export const PLACES: Place[] = [
  { view: "now", title: "Now", key: "n" },
  { view: "types", title: "Types", key: "y" },
  { view: "tasks", title: "Tasks", key: "t" },
  { view: "failures", title: "Failures", key: "f" },
  { view: "workflows", title: "Workflows", key: "w" },
  { view: "events", title: "Events", key: "e" },
  { view: "schedules", title: "Schedules", key: "s" },
  { view: "workers", title: "Workers", key: "o" },
  { view: "activity", title: "Activity", key: "a" },
  { view: "settings", title: "Settings", key: "," },
];

const more = () => import("./views/more");
const LAZY: Record<string, () => Promise<ComponentType>> = {
  types: () => more().then((module) => module.TypesView),
  failures: () => more().then((module) => module.FailuresView),
  schedules: () => more().then((module) => module.SchedulesView),
  workers: () => more().then((module) => module.WorkersView),
  activity: () => more().then((module) => module.ActivityView),
  settings: () => more().then((module) => module.SettingsView),
  workflows: () => import("./views/workflows").then((module) => module.WorkflowsView),
  events: () => import("./views/workflows").then((module) => module.EventsView),
};

const loaded = new Map<string, ComponentType>();

function Lazy({ name }: { name: string }) {
  const [, redraw] = useState(0);
  const [error, setError] = useState<Error | null>(null);
  const Found = loaded.get(name);
  useEffect(() => {
    if (loaded.has(name)) return;
    setError(null);
    LAZY[name]!().then(
      (component) => {
        loaded.set(name, component);
        redraw((n) => n + 1);
      },
      () => setError(new Error("This part of the page could not be read. Was the server updated? Reload the page.")),
    );
  }, [name]);
  if (Found) return <Found />;
  return <main class="page" id="main" tabIndex={-1}>{error ? <ErrorBox error={error} retry={() => location.reload()} /> : <h1 class="faint">…</h1>}</main>;
}

function View() {
  const name = view.value;
  if (name === "tasks" && parts.value[1]) return <TaskView key={parts.value[1]} id={parts.value[1]} />;
  if (name === "tasks") return <TasksView />;
  if (name === "now") return <NowView />;
  if (name in LAZY) return <Lazy name={name} />;
  return (
    <main class="page" id="main" tabIndex={-1}>
      <h1>There is no such page</h1>
      <p><a href="#/">To the start</a></p>
    </main>
  );
}

function Navigation({ isOpen, close }: { isOpen: boolean; close: () => void }) {
  return (
    <nav class={`side${isOpen ? " open" : ""}`} aria-label="Views">
      <a class="brand" href="#/" onClick={close}>
        <img src="assets/icon.svg" width="22" height="22" alt="" />
        <span>Faina</span>
      </a>
      <ul>
        {PLACES.map((place) => (
          <li key={place.view}>
            <a href={place.view === "now" ? "#/" : link([place.view])} aria-current={view.value === place.view ? "page" : undefined} onClick={close}
              title={`g ${place.key}`}>
              <Icon name={place.view} />
              <span>{place.title}</span>
            </a>
          </li>
        ))}
      </ul>
      <div class="spring" />
      <NamespaceChoice />
      <Choices />
    </nav>
  );
}

function NamespaceChoice() {
  const own = session.value?.namespaces;
  const answer = useQuery<{ items: (string | { name?: string; namespace?: string })[] }>(own ? null : "/namespaces");
  const names = own ?? answer.data?.items?.map((item) => (typeof item === "string" ? item : item.name ?? item.namespace ?? "")).filter(Boolean) ?? [];
  const all = [...new Set(["default", ...names, ...(namespace.value && namespace.value !== "*" ? [namespace.value] : [])])];
  if (own) all.splice(0, all.length, ...own);
  if (all.length < 2 && !namespace.value) return null;
  return (
    <label class="choice">
      <span>Namespace</span>
      <select value={namespace.value} onChange={(event) => { setNamespace(event.currentTarget.value); forget(); }}>
        {!own && <option value="">default</option>}
        {all.filter((name) => own || name !== "default").map((name) => <option key={name} value={name}>{name}</option>)}
        {!own && <option value="*">all namespaces</option>}
      </select>
    </label>
  );
}

function Choices() {
  return (
    <div class="choices">
      <label class="choice">
        <span>Time zone</span>
        <select value={zone.value} onChange={(event) => setZone(event.currentTarget.value)}>
          <option value="local">Local time</option>
          <option value="utc">UTC</option>
        </select>
      </label>
      <label class="choice">
        <span>Theme</span>
        <select value={theme.value} onChange={(event) => setTheme(event.currentTarget.value)}>
          <option value="system">As the system</option>
          <option value="light">Light</option>
          <option value="dark">Dark</option>
        </select>
      </label>
      {access.value === "session" && (
        <button type="button" class="leave" onClick={() => void logOut()}>
          <Icon name="exit" /> <span>Log out{session.value?.name ? ` ${session.value.name}` : ""}</span>
        </button>
      )}
    </div>
  );
}

function Live() {
  const state = isGone.value ? "closed" : streamLink.value;
  const rate = eventRate.value;
  const text = state === "open"
    ? isAggregated.value ? "Live, counts only" : rate >= 1 ? `Live, ${Math.round(rate)}/s` : "Live"
    : state === "connecting" ? "Connecting" : state === "missing" ? "No stream" : "Not live";
  const why = state === "open"
    ? isAggregated.value ? "More than 2,000 events a second: counts are read instead of single events." : "Changes are shown as they happen."
    : state === "missing" ? "This engine has no stream of events. Lists are read again every few seconds." : "The stream of events is not connected. It connects again by itself.";
  return <span class={`live ${state}`} title={why} role="status"><span class="dot" />{text}</span>;
}

function Top({ openMenu }: { openMenu: () => void }) {
  const gap = now.value - gapAt.value < 8000;
  return (
    <div class="top">
      <Button kind="ghost" icon="menu" label="Menu" class="burger" onClick={openMenu} />
      <button type="button" class="find" onClick={() => { isPaletteOpen.value = true; }}>
        <Icon name="search" /><span>Find or do…</span><kbd>Ctrl K</kbd>
      </button>
      <div class="spring" />
      {gap && <span class="gap-note" role="status">Events were missed; lists were read again</span>}
      <Live />
      <Button kind="ghost" small label="Keyboard help" onClick={() => { isHelpOpen.value = true; }}>?</Button>
    </div>
  );
}

function GoneBanner() {
  // A stream that ends is the first sign of a server that is gone.
  useEffect(() => {
    if (streamLink.value === "closed" && !document.hidden) request("healthz", { quiet: true }).catch(() => {});
  }, [streamLink.value]);
  useEffect(() => {
    if (!isGone.value) return;
    const timer = setInterval(() => {
      request("healthz", { quiet: true }).then(() => reconnect(), () => {});
    }, 1500);
    return () => clearInterval(timer);
  }, [isGone.value]);
  if (!isGone.value) return null;
  const age = lastAnswerAt.value ? formatSpan(now.value - lastAnswerAt.value) : "";
  return (
    <div class="banner" role="alert">
      <Icon name="failures" />
      <span>The server does not answer{age && `; what is shown is ${age} old`}. The page connects again by itself.</span>
    </div>
  );
}

function Login() {
  const [token, setToken] = useState("");
  const [error, setError] = useState<string>("");
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setError("");
    try {
      await logIn(token.trim());
      forget();
    } catch (problem) {
      const status = problem instanceof ApiError ? problem.status : 0;
      setError(status === 429 ? "Too many wrong tokens came from this address. Wait a moment, then try again."
        : status === 404 || status === 405 ? "This server has no sessions for browsers, so the dashboard can't be used with tokens here."
        : (problem as Error).message);
    }
    setBusy(false);
  };
  return (
    <main class="login" id="main">
      <form onSubmit={submit} class="login-box">
        <img src="assets/icon.svg" width="36" height="36" alt="" />
        <h1>Log in to Faina</h1>
        <p>This server needs a token. It is exchanged for a cookie of this browser and is not kept in the page.</p>
        <label class="field">
          <span>Token</span>
          <input type="password" autocomplete="current-password" value={token} onInput={(event) => setToken(event.currentTarget.value)} required autofocus />
        </label>
        {error && <div class="notice bad" role="alert"><Icon name="failures" /><div>{error}</div></div>}
        <Button type="submit" kind="primary" disabled={isBusy || !token.trim()}>Log in</Button>
        <p class="faint">Make one where the server runs: <code>faina token create --scope read,operate --name dashboard</code></p>
      </form>
    </main>
  );
}

export function App() {
  const [isMenuOpen, setMenuOpen] = useState(false);
  useEffect(() => listenToKeys(), []);
  useEffect(() => {
    setMenuOpen(false);
    const place = PLACES.find((item) => item.view === view.value);
    document.title = `${parts.value[1] ? `${parts.value[1].slice(-8)} · ` : ""}${place?.title ?? "Faina"} · Faina`;
    document.getElementById("main")?.focus({ preventScroll: true });
    window.scrollTo(0, 0);
  }, [path.value]);
  // The session may end or lose scopes while the page is open.
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden && access.value === "session") void loadSession();
      if (!document.hidden && access.value === "open" && isGone.value === false && Date.now() - lastAnswerAt.value > 60000) void get("/stats").catch(() => {});
    }, 30000);
    return () => clearInterval(timer);
  }, []);
  if (access.value === "login") return <><Login /><Toasts /></>;
  return (
    <div class={`frame${isGone.value ? " gone" : ""}`}>
      <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); document.getElementById("main")?.focus(); }}>To the content</a>
      <Navigation isOpen={isMenuOpen} close={() => setMenuOpen(false)} />
      {isMenuOpen && <div class="shade" onClick={() => setMenuOpen(false)} />}
      <div class="body">
        <Top openMenu={() => setMenuOpen(true)} />
        <GoneBanner />
        <View />
      </div>
      <Confirmation />
      {isPaletteOpen.value && <Palette places={PLACES} />}
      {isHelpOpen.value && <Help places={PLACES} />}
      <Toasts />
    </div>
  );
}

export { can, go };
