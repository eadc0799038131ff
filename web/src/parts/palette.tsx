// The palette (Ctrl-K) with everything, and the help for the keyboard.
import { signal } from "@preact/signals";
import { useEffect, useMemo, useState } from "preact/hooks";
import { get, query } from "../lib/api";
import { go, link, namespace } from "../lib/route";
import { setTheme } from "../lib/theme";
import { setZone, zone } from "../lib/time";
import type { Stats } from "../lib/types";
import { FIELDS, parseFilter } from "../lib/filter";
import { Dialog } from "./basic";
import { Icon } from "./icons";

export const isPaletteOpen = signal(false);
export const isHelpOpen = signal(false);
/** What the present view offers. */
export const viewCommands = signal<{ text: string; icon: string; run: () => void }[]>([]);

export function useCommands(commands: { text: string; icon: string; run: () => void }[], key: string) {
  useEffect(() => {
    viewCommands.value = commands;
    return () => {
      viewCommands.value = [];
    };
  }, [key]);
}

interface Command {
  text: string;
  hint?: string;
  icon: string;
  run: () => void;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export function Palette({ places }: { places: { view: string; title: string; key: string }[] }) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const [types, setTypes] = useState<string[]>([]);
  const close = () => {
    isPaletteOpen.value = false;
  };
  useEffect(() => {
    get<Stats>(`/stats${query({ namespace: namespace.value })}`).then((stats) => setTypes(stats.types.map((item) => item.type)), () => {});
  }, []);
  const commands = useMemo(() => {
    const all: Command[] = [
      ...viewCommands.value,
      ...places.map((place) => ({ text: place.title, hint: `g ${place.key}`, icon: place.view, run: () => go(link([place.view === "now" ? "" : place.view])) })),
      { text: "Failed tasks", icon: "failed", run: () => go(link(["tasks"], { q: "status:failed,dead_letter" })) },
      { text: "Running tasks", icon: "running", run: () => go(link(["tasks"], { q: "status:claimed,running" })) },
      { text: "Waiting tasks", icon: "pending", run: () => go(link(["tasks"], { q: "status:pending" })) },
      { text: "Dark theme", icon: "moon", run: () => setTheme("dark") },
      { text: "Light theme", icon: "sun", run: () => setTheme("light") },
      { text: "Theme of the system", icon: "sun", run: () => setTheme("system") },
      { text: zone.value === "utc" ? "Local time" : "Times in UTC", icon: "clock", run: () => setZone(zone.value === "utc" ? "local" : "utc") },
      { text: "Keyboard help", hint: "?", icon: "settings", run: () => { isHelpOpen.value = true; } },
      ...types.map((type) => ({ text: type, hint: "type", icon: "types", run: () => go(link(["tasks"], { q: `type:${type}` })) })),
    ];
    const word = text.trim();
    const lower = word.toLowerCase();
    const found = all.filter((command) => command.text.toLowerCase().includes(lower));
    found.sort((a, b) => Number(b.text.toLowerCase().startsWith(lower)) - Number(a.text.toLowerCase().startsWith(lower)));
    if (UUID.test(word)) found.unshift({ text: `Task ${word}`, icon: "tasks", run: () => go(link(["tasks", word.toLowerCase()])) });
    else if (/[:<>]/.test(word) && !parseFilter(word).problems.length) {
      found.unshift({ text: `Tasks with ${word}`, icon: "search", run: () => go(link(["tasks"], { q: word })) });
    }
    return found.slice(0, 50);
  }, [text, types]);
  const run = (command: Command | undefined) => {
    if (!command) return;
    close();
    command.run();
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown") setAt(Math.min(at + 1, commands.length - 1));
    else if (event.key === "ArrowUp") setAt(Math.max(at - 1, 0));
    else if (event.key === "Enter") run(commands[at]);
    else return;
    event.preventDefault();
  };
  useEffect(() => {
    document.getElementById(`command-${at}`)?.scrollIntoView({ block: "nearest" });
  }, [at]);
  return (
    <Dialog title="Find or do" onClose={close}>
      <input class="palette-input" placeholder="A view, a type, an id, or a filter such as status:failed" aria-label="Find or do"
        role="combobox" aria-expanded="true" aria-controls="commands" aria-activedescendant={commands.length ? `command-${at}` : undefined}
        value={text} autofocus onInput={(event) => { setText(event.currentTarget.value); setAt(0); }} onKeyDown={onKey} />
      <ul class="palette-list" role="listbox" id="commands" aria-label="Commands">
        {commands.map((command, i) => (
          <li key={`${command.icon} ${command.text}`} id={`command-${i}`} role="option" aria-selected={i === at} onPointerMove={() => setAt(i)} onClick={() => run(command)}>
            <Icon name={command.icon} /><span>{command.text}</span>{command.hint && <kbd>{command.hint}</kbd>}
          </li>
        ))}
      </ul>
      {!commands.length && <p class="faint pad">Nothing has this name.</p>}
    </Dialog>
  );
}

const KEYS: [string, string][] = [
  ["Ctrl K", "find or do anything"],
  ["/", "the filter"],
  ["j  k", "next and previous row"],
  ["x", "select the row"],
  ["Enter", "open the row"],
  ["r", "retry the selected tasks, or this one"],
  [".", "actions"],
  ["Esc", "clear the selection, close"],
  ["?", "this help"],
];

export function Help({ places }: { places: { title: string; key: string }[] }) {
  return (
    <Dialog title="Keyboard and filter" wide onClose={() => { isHelpOpen.value = false; }}>
      <div class="help">
        <div>
          <h3>Keys</h3>
          <dl>{KEYS.map(([keys, text]) => <div key={keys}><dt>{keys.split("  ").map((key) => <kbd key={key}>{key}</kbd>)}</dt><dd>{text}</dd></div>)}</dl>
          <h3>Go to</h3>
          <dl>{places.map((place) => <div key={place.key}><dt><kbd>g</kbd><kbd>{place.key}</kbd></dt><dd>{place.title}</dd></div>)}</dl>
        </div>
        <div>
          <h3>Filter</h3>
          <dl class="filter-help">{FIELDS.map((field) => <div key={field.name}><dt><code>{field.name}{field.isTime ? "<" : field.name.endsWith(".") ? "X:" : ":"}</code></dt><dd>{field.help}</dd></div>)}</dl>
          <p class="faint">Example: <code>type:mail.send status:failed metadata.tenant:acme ended&lt;1h</code></p>
        </div>
      </div>
    </Dialog>
  );
}
