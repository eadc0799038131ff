// The keyboard: letters act where no text is typed. Views add their own keys while they are shown.
import { useEffect, useRef } from "preact/hooks";
import { go, link } from "./route";
import { isHelpOpen, isPaletteOpen } from "../parts/palette";

type Keys = Record<string, () => void>;
const layers: { current: Keys }[] = [];

const PLACES: Record<string, string> = {
  n: "", y: "types", t: "tasks", f: "failures", w: "workflows", e: "events", s: "schedules", o: "workers", a: "activity", ",": "settings",
};

/** Keys of a view; the last view that was opened comes first. */
export function useKeys(keys: Keys) {
  const ref = useRef(keys);
  ref.current = keys;
  useEffect(() => {
    layers.push(ref);
    return () => {
      layers.splice(layers.indexOf(ref), 1);
    };
  }, []);
}

function isTyping(target: EventTarget | null): boolean {
  const element = target as HTMLElement | null;
  return Boolean(element?.closest?.("input, textarea, select, [contenteditable]"));
}

export function listenToKeys(): () => void {
  let goUntil = 0;
  const onKey = (event: KeyboardEvent) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      isPaletteOpen.value = !isPaletteOpen.value;
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    if (document.querySelector("dialog[open]")) return;
    if (goUntil > Date.now()) {
      goUntil = 0;
      if (event.key in PLACES) {
        event.preventDefault();
        go(link([PLACES[event.key]!]));
      }
      return;
    }
    if (event.key === "g") {
      goUntil = Date.now() + 1500;
      return;
    }
    if (event.key === "?") {
      event.preventDefault();
      isHelpOpen.value = true;
      return;
    }
    // Enter and space belong to what has the focus.
    if ((event.key === "Enter" || event.key === " ") && (event.target as HTMLElement).closest?.("a, button, summary, [role=menuitem]")) return;
    for (let i = layers.length - 1; i >= 0; i--) {
      const run = layers[i]!.current[event.key];
      if (run) {
        event.preventDefault();
        run();
        return;
      }
    }
  };
  document.addEventListener("keydown", onKey);
  return () => document.removeEventListener("keydown", onKey);
}
