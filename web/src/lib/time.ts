// Times, durations and numbers as text.
import { signal } from "@preact/signals";

function stored(name: string, fallback: string): string {
  try {
    return localStorage.getItem(name) ?? fallback;
  } catch {
    return fallback;
  }
}

export function store(name: string, value: string) {
  try {
    localStorage.setItem(name, value);
  } catch {
    // A browser may refuse to keep anything; the choice then lasts as long as the page.
  }
}

export const recall = stored;
export const zone = signal(stored("faina-zone", "local"));

export function setZone(value: string) {
  zone.value = value;
  store("faina-zone", value);
}

/** Changes once a second, for ages. */
export const now = signal(Date.now());
setInterval(() => {
  if (!document.hidden) now.value = Date.now();
}, 1000);
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) now.value = Date.now();
});

const two = (value: number) => String(value).padStart(2, "0");

/** 2026-11-19 13:30:05.123, in the chosen zone. */
export function formatTime(text: string | null | undefined, options: { ms?: boolean; date?: boolean } = {}): string {
  if (!text) return "";
  const at = new Date(text);
  if (Number.isNaN(at.getTime())) return text;
  const utc = zone.value === "utc";
  const day = utc
    ? `${at.getUTCFullYear()}-${two(at.getUTCMonth() + 1)}-${two(at.getUTCDate())}`
    : `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  const clock = utc
    ? `${two(at.getUTCHours())}:${two(at.getUTCMinutes())}:${two(at.getUTCSeconds())}`
    : `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
  const ms = options.ms ? `.${String(at.getMilliseconds()).padStart(3, "0")}` : "";
  return options.date === false ? clock + ms : `${day} ${clock}${ms}`;
}

/** 850ms, 4.2s, 3m 10s, 2h 5m, 4d 3h */
export function formatSpan(ms: number | null | undefined): string {
  if (ms === null || ms === undefined || Number.isNaN(ms)) return "–";
  if (ms < 0) ms = 0;
  if (ms < 1) return ms === 0 ? "0ms" : `${ms.toFixed(1)}ms`;
  if (ms < 1000) return `${Math.round(ms)}ms`;
  const s = ms / 1000;
  if (s < 10) return `${s.toFixed(1)}s`;
  if (s < 60) return `${Math.round(s)}s`;
  const m = Math.floor(s / 60);
  if (m < 60) return m < 10 ? `${m}m ${Math.floor(s % 60)}s` : `${m}m`;
  const h = Math.floor(m / 60);
  if (h < 24) return `${h}h ${m % 60}m`;
  const d = Math.floor(h / 24);
  return `${d}d ${h % 24}h`;
}

export const formatSeconds = (s: number | null | undefined) => formatSpan(s === null || s === undefined ? null : s * 1000);

/** Short: 4s, 3m, 2h, 5d. */
export function formatAge(text: string | null | undefined, at = now.value): string {
  if (!text) return "–";
  const ms = at - Date.parse(text);
  const s = Math.abs(Math.round(ms / 1000));
  const short = s < 60 ? `${s}s` : s < 3600 ? `${Math.floor(s / 60)}m` : s < 86400 ? `${Math.floor(s / 3600)}h` : `${Math.floor(s / 86400)}d`;
  return ms < -1000 ? `in ${short}` : short;
}

export function since(text: string | null | undefined, end?: string | null): number | null {
  if (!text) return null;
  return (end ? Date.parse(end) : now.value) - Date.parse(text);
}

const whole = new Intl.NumberFormat("en-US");

export function formatCount(value: number | null | undefined): string {
  return value === null || value === undefined ? "–" : whole.format(value);
}

/** 1,234 up to 9,999; then 12.3k, 4.5M. */
export function formatShort(value: number | null | undefined): string {
  if (value === null || value === undefined) return "–";
  if (Math.abs(value) < 10000) return Number.isInteger(value) ? whole.format(value) : value.toFixed(value < 10 ? 1 : 0);
  for (const [size, unit] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]] as const) {
    if (Math.abs(value) >= size) return `${(value / size).toFixed(value / size < 100 ? 1 : 0)}${unit}`;
  }
  return String(value);
}

export function formatBytes(value: number | null | undefined): string {
  if (value === null || value === undefined) return "–";
  for (const [size, unit] of [[1 << 30, "GB"], [1 << 20, "MB"], [1 << 10, "kB"]] as const) {
    if (value >= size) return `${(value / size).toFixed(1)} ${unit}`;
  }
  return `${value} B`;
}

/** Parses 50ms, 90s, 5m, 1h, 7d to milliseconds. */
export function parseSpan(text: string): number | null {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d|w)$/.exec(text);
  if (!match) return null;
  const unit = { ms: 1, s: 1e3, m: 6e4, h: 36e5, d: 864e5, w: 6048e5 }[match[2] as "ms"];
  return Number(match[1]) * unit;
}
