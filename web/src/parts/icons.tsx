// Icons of 16 by 16, drawn with strokes in the color of the text.
const PATHS: Record<string, string> = {
  now: "M2 9h3l2-5 3 9 2-4h2",
  types: "M2.5 4.5h11M2.5 8h11M2.5 11.5h7",
  tasks: "M2.5 3.5h3v3h-3zM2.5 9.5h3v3h-3zM8 5h5.5M8 11h5.5",
  failures: "M8 2.5 14 13H2zM8 6.5v3M8 11.2v.1",
  workflows: "M2.5 2.5h4v3h-4zM9.5 6.5h4v3h-4zM2.5 10.5h4v3h-4zM6.5 4H8v8H6.5M8 8h1.5",
  events: "M9 1.5 3.5 9H8l-1 5.5L12.5 7H8z",
  schedules: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM8 4.8V8l2.2 1.6",
  workers: "M3 2.5h10v4H3zM3 9.5h10v4H3zM5.2 4.5h.1M5.2 11.5h.1",
  activity: "M8 8.2a2.7 2.7 0 1 0 0-5.4 2.7 2.7 0 0 0 0 5.4zM2.8 13.8c.6-2.6 2.6-3.8 5.2-3.8s4.600 1.200 5.200 3.800",
  settings: "M2 5h7M12 5h2M2 11h2M7 11h7M10.500 3.500v3M5.500 9.500v3",
  search: "M7 2.500a4.500 4.500 0 1 0 0 9 4.500 4.500 0 0 0 0-9zM10.300 10.300 14 14",
  menu: "M2 4h12M2 8h12M2 12h12",
  close: "M3.500 3.500l9 9M12.500 3.500l-9 9",
  check: "M3 8.500 6.500 12 13 4.500",
  copy: "M5.500 5.500h8v8h-8zM10.500 5.500v-3h-8v8h3",
  retry: "M13 8a5 5 0 1 1-1.600-3.700M13.500 2v3h-3",
  pause: "M5.500 3.500v9M10.500 3.500v9",
  play: "M5 3.200v9.600L12.500 8z",
  more: "M3.500 8h.1M8 8h.1M12.500 8h.1",
  left: "M10 3 5 8l5 5",
  right: "M6 3l5 5-5 5",
  down: "M3 6l5 5 5-5",
  up: "M3 10l5-5 5 5",
  plus: "M8 3v10M3 8h10",
  sun: "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM8 1.200v1.300M8 13.500v1.300M1.200 8h1.300M13.500 8h1.300M3.200 3.200l.9.9M11.900 11.900l.9.9M3.200 12.800l.9-.9M11.900 4.100l.9-.9",
  moon: "M13 9.500A5.500 5.500 0 0 1 6.500 3 5.500 5.500 0 1 0 13 9.500z",
  clock: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM8 5v3.300l2 1.200",
  link: "M6.500 9.500l3-3M7 4.500l1.500-1.500a2.800 2.800 0 0 1 4 4L11 8.500M9 11.500 7.500 13a2.800 2.800 0 0 1-4-4L5 7.500",
  exit: "M6.500 2.500h-4v11h4M10 5l3 3-3 3M13 8H6",
  pending: "M8 2.500a5.500 5.500 0 1 0 0 11 5.500 5.500 0 0 0 0-11z",
  claimed: "M8 2.500a5.500 5.500 0 1 0 0 11 5.500 5.500 0 0 0 0-11zM8 7.500a.5.5 0 1 0 0 1 .5.5 0 0 0 0-1z",
  running: "M5.500 3.500 12 8l-6.500 4.500z",
  blocked: "M3.500 7.500h9v6h-9zM5.500 7.500V5a2.500 2.500 0 0 1 5 0v2.500",
  background: "M4.500 12.500a3 3 0 0 1-.3-6 4 4 0 0 1 7.700 0 3 3 0 0 1 0 6z",
  completed: "M3 8.500 6.500 12 13 4.500",
  failed: "M4 4l8 8M12 4l-8 8",
  dead_letter: "M2.500 4h11v8h-11zM2.500 4.500 8 9l5.500-4.500",
  cancelled: "M8 2.500a5.500 5.500 0 1 0 0 11 5.500 5.500 0 0 0 0-11zM4.200 11.800l7.600-7.600",
  snow: "M8 2v12M3 5l10 6M13 5 3 11",
};

export function Icon({ name, size = 16 }: { name: string; size?: number }) {
  return (
    <svg class="icon" width={size} height={size} viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={PATHS[name] ?? PATHS.pending} />
    </svg>
  );
}
