// Lines over time, by uPlot.
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { formatSeconds, formatShort, zone } from "../lib/time";
import { themeAt } from "../lib/theme";
import type { Bucket } from "../lib/types";

export interface ChartProps {
  buckets: Bucket[] | undefined;
  kind: "rates" | "backlog" | "wait" | "run";
  label: string;
}

interface Line {
  name: string;
  color: string;
  of: (bucket: Bucket) => number | null;
  fill?: boolean;
  dash?: number[];
}

const value = (number: number | null | undefined) => (number === undefined ? null : number);

const LINES: Record<ChartProps["kind"], Line[]> = {
  rates: [
    { name: "submitted", color: "--c-line-1", of: (b) => value(b.submitted) },
    { name: "completed", color: "--c-line-2", of: (b) => value(b.completed), fill: true },
    { name: "failed", color: "--c-line-3", of: (b) => (b.failed ?? 0) + (b.deadLettered ?? 0) },
  ],
  backlog: [
    { name: "waiting", color: "--c-line-1", of: (b) => value(b.waiting), fill: true },
    { name: "running", color: "--c-line-2", of: (b) => value(b.running) },
  ],
  wait: times("wait"),
  run: times("run"),
};

function times(key: "wait" | "run"): Line[] {
  return [
    { name: "p50", color: "--c-line-2", of: (b) => value(b[key]?.p50) },
    { name: "p95", color: "--c-line-1", of: (b) => value(b[key]?.p95), dash: [5, 3] },
    { name: "p99", color: "--c-line-3", of: (b) => value(b[key]?.p99), dash: [2, 3] },
  ];
}

const HEIGHT = 168;

/** The present step has only a part of its counts, and would end each line with a drop. */
function whole(buckets: Bucket[], kind: ChartProps["kind"]): Bucket[] {
  const full = buckets.slice(0, -1);
  return kind === "rates" && full.some((b) => b.submitted || b.completed || b.failed || b.deadLettered) ? full : buckets;
}

export function UPlotChart({ buckets: all, kind, label }: ChartProps) {
  const buckets = all && whole(all, kind);
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const isTime = kind === "wait" || kind === "run";
  const lines = LINES[kind];
  const data = [
    (buckets ?? []).map((bucket) => Date.parse(bucket.at) / 1000),
    ...lines.map((line) => (buckets ?? []).map(line.of)),
  ] as uPlot.AlignedData;
  const latest = useRef(data);
  latest.current = data;

  useEffect(() => {
    const element = box.current!;
    const style = getComputedStyle(element);
    const color = (name: string) => style.getPropertyValue(name).trim();
    const format = (v: number | null) => (v === null || v === undefined ? "–" : isTime ? formatSeconds(v) : formatShort(v));
    const axis = { stroke: color("--c-faint"), grid: { stroke: color("--c-grid"), width: 1 }, ticks: { show: false }, font: "11px system-ui, sans-serif" };
    plot.current = new uPlot({
      width: Math.max(160, element.clientWidth),
      height: HEIGHT,
      legend: { live: true },
      cursor: { points: { size: 6 }, drag: { x: false, y: false }, y: false },
      tzDate: zone.value === "utc" ? (ts) => uPlot.tzDate(new Date(ts * 1000), "UTC") : undefined,
      scales: { y: { range: (_self, _min, max) => [0, max > 0 ? max * 1.1 : 1] } },
      axes: [
        { ...axis, size: 34, space: 60, values: [[86400, "{MM}-{DD}", null, null, null, null, null, null, 1], [3600, "{HH}:{mm}", "\n{MM}-{DD}", null, null, null, null, null, 1], [60, "{HH}:{mm}", null, null, null, null, null, null, 1]] as never },
        { ...axis, size: 52, values: (_self, splits) => splits.map(format) },
      ],
      series: [
        { label: "time", value: (_self, v) => (v === null ? "–" : new Date(v * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", timeZone: zone.value === "utc" ? "UTC" : undefined })) },
        ...lines.map((line) => ({
          label: line.name, stroke: color(line.color), width: 1.5, dash: line.dash, spanGaps: true,
          points: { size: 5, show: (self: uPlot, i: number) => (self.data[i] as (number | null | undefined)[]).filter((v) => v !== null && v !== undefined).length === 1 }, // a line needs two

          fill: line.fill ? color(`${line.color}-fill`) : undefined,
          // Without a pointer, the last value.
          value: (self: uPlot, v: number | null, at: number, i: number | null) => format(i === null || i === undefined ? (self.data[at]!.at(-1) as number | null) : v),
        })),
      ],
    }, latest.current, element);
    const observer = new ResizeObserver(() => plot.current?.setSize({ width: Math.max(160, element.clientWidth), height: HEIGHT }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [kind, themeAt.value, zone.value]);

  useEffect(() => {
    plot.current?.setData(latest.current);
  }, [all]);

  return <div class="plot" ref={box} role="img" aria-label={label} />;
}
