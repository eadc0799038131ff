// The state of the page is its URL: #/view/part?name=value.
import { computed, signal } from "@preact/signals";
import { recall, store } from "./time";

function read(): string {
  const hash = location.hash.replace(/^#/, "");
  return hash.startsWith("/") ? hash : "/";
}

const current = signal(read());
addEventListener("hashchange", () => {
  current.value = read();
});

export const path = computed(() => current.value.split("?", 1)[0]!);
export const parts = computed(() => path.value.split("/").filter(Boolean).map(decode));
export const view = computed(() => parts.value[0] ?? "now");
export const params = computed(() => new URLSearchParams(current.value.slice(path.value.length + 1)));

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** "#/tasks/ID?..." */
export function link(to: (string | null | undefined)[], query: Record<string, string | null | undefined> = {}): string {
  const pathText = to.filter((part): part is string => Boolean(part)).map(encodeURIComponent).join("/");
  const pairs = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value) pairs.set(name, value);
  const text = pairs.toString();
  return `#/${pathText}${text ? `?${text}` : ""}`;
}

export function go(to: string) {
  location.hash = to.replace(/^#/, "");
}

/** Changes parameters of the present view, without a new entry of the history. */
export function setParams(values: Record<string, string | null | undefined>, push = false) {
  const next = new URLSearchParams(params.value);
  for (const [name, value] of Object.entries(values)) {
    if (value) next.set(name, value);
    else next.delete(name);
  }
  const text = next.toString();
  const hash = `#${path.value}${text ? `?${text}` : ""}`;
  if (hash === location.hash) return;
  if (push) {
    location.hash = hash.slice(1);
    return;
  }
  history.replaceState(null, "", hash);
  current.value = read();
}

export const param = (name: string) => params.value.get(name) ?? "";

const chosen = signal(recall("faina-namespace", ""));
/** The chosen namespace; "" is the server's default. */
export const namespace = computed(() => params.value.get("ns") ?? chosen.value);

export function setNamespace(value: string) {
  chosen.value = value;
  store("faina-namespace", value);
  if (params.value.has("ns")) setParams({ ns: null });
}
