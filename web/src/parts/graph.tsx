// A layered layout of a directed graph: columns by the longest path, crossings reduced by medians.
import { useMemo } from "preact/hooks";
import { Icon } from "./icons";

export interface GraphNode {
  id: string;
  title: string;
  note?: string;
  status?: string;
  kind?: string;
  isSelf?: boolean;
  href?: string;
}

export interface GraphData {
  nodes: GraphNode[];
  edges: { from: string; to: string; label?: string }[];
}

export interface Placed {
  node: GraphNode;
  x: number;
  y: number;
}

export interface Layout {
  placed: Placed[];
  edges: { path: string; label?: string; key: string }[];
  width: number;
  height: number;
}

export const NODE_WIDTH = 176;
export const NODE_HEIGHT = 42;
const GAP_X = 56;
const GAP_Y = 14;

/** The column of each node: one more than the last of those before it. Edges that close a cycle are left out. */
function layersOf(ids: string[], edges: { from: string; to: string }[]): Map<string, number> {
  const next = new Map<string, string[]>(ids.map((id) => [id, []]));
  for (const edge of edges) next.get(edge.from)!.push(edge.to);
  const state = new Map<string, number>(); // 1: open, 2: done
  const order: string[] = [];
  const back = new Set<string>();
  for (const root of ids) {
    if (state.has(root)) continue;
    const stack: [string, number][] = [[root, 0]];
    state.set(root, 1);
    while (stack.length) {
      const top = stack[stack.length - 1]!;
      const child = next.get(top[0])![top[1]++];
      if (child === undefined) {
        state.set(top[0], 2);
        order.push(top[0]);
        stack.pop();
      } else if (!state.has(child)) {
        state.set(child, 1);
        stack.push([child, 0]);
      } else if (state.get(child) === 1) {
        back.add(`${top[0]} ${child}`);
      }
    }
  }
  const layer = new Map<string, number>(ids.map((id) => [id, 0]));
  for (const id of order.reverse()) {
    for (const child of next.get(id)!) {
      if (!back.has(`${id} ${child}`)) layer.set(child, Math.max(layer.get(child)!, layer.get(id)! + 1));
    }
  }
  return layer;
}

export function layOut(data: GraphData): Layout {
  const known = new Set(data.nodes.map((node) => node.id));
  const edges = data.edges.filter((edge) => known.has(edge.from) && known.has(edge.to) && edge.from !== edge.to);
  const layer = layersOf(data.nodes.map((node) => node.id), edges);
  const columns: GraphNode[][] = [];
  for (const node of data.nodes) (columns[layer.get(node.id)!] ??= []).push(node);
  const row = new Map<string, number>();
  const number = () => columns.forEach((column) => column.forEach((node, i) => row.set(node.id, i - column.length / 2)));
  number();
  const neighbours = (id: string, isBefore: boolean) => edges.filter((edge) => (isBefore ? edge.to : edge.from) === id).map((edge) => row.get(isBefore ? edge.from : edge.to)!).sort((a, b) => a - b);
  for (let round = 0; round < 4; round++) {
    const isBefore = round % 2 === 0;
    for (const column of isBefore ? columns : [...columns].reverse()) {
      const place = new Map(column.map((node) => {
        const near = neighbours(node.id, isBefore);
        return [node.id, near.length ? near[near.length >> 1]! : row.get(node.id)!];
      }));
      column.sort((a, b) => place.get(a.id)! - place.get(b.id)!);
      column.forEach((node, i) => row.set(node.id, i - column.length / 2));
    }
  }
  const rows = Math.max(1, ...columns.map((column) => column.length));
  const height = rows * (NODE_HEIGHT + GAP_Y) + GAP_Y;
  const placed: Placed[] = [];
  const at = new Map<string, Placed>();
  columns.forEach((column, x) => {
    const top = (height - column.length * (NODE_HEIGHT + GAP_Y) + GAP_Y) / 2;
    column.forEach((node, i) => {
      const place = { node, x: 8 + x * (NODE_WIDTH + GAP_X), y: top + i * (NODE_HEIGHT + GAP_Y) };
      placed.push(place);
      at.set(node.id, place);
    });
  });
  const paths = edges.map((edge, i) => {
    const from = at.get(edge.from)!;
    const to = at.get(edge.to)!;
    const x1 = from.x + NODE_WIDTH;
    const y1 = from.y + NODE_HEIGHT / 2;
    const x2 = to.x;
    const y2 = to.y + NODE_HEIGHT / 2;
    const bend = Math.max(24, Math.abs(x2 - x1) / 2);
    return { path: `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`, label: edge.label, key: `${edge.from} ${edge.to} ${i}` };
  });
  return { placed, edges: paths, width: columns.length * (NODE_WIDTH + GAP_X) - GAP_X + 16, height };
}

export function Graph({ data, label }: { data: GraphData; label: string }) {
  const layout = useMemo(() => layOut(data), [data]);
  return (
    <div class="graph" tabIndex={0} role="group" aria-label={label}>
      <div class="graph-inner" style={{ width: `${layout.width}px`, height: `${layout.height}px` }}>
        <svg width={layout.width} height={layout.height} aria-hidden="true">
          <defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" /></marker></defs>
          {layout.edges.map((edge) => <path key={edge.key} class={`edge ${edge.label ?? ""}`} d={edge.path} marker-end="url(#arrow)"><title>{edge.label}</title></path>)}
        </svg>
        {layout.placed.map(({ node, x, y }) => {
          const inner = <>
            {node.status && <span class={`status s-${node.status}`}><Icon name={node.status} size={14} /><span class="hidden">{node.status}</span></span>}
            {!node.status && node.kind && <Icon name={node.kind} size={14} />}
            <span class="node-text"><span class="node-title">{node.title}</span>{node.note && <span class="node-note">{node.note}</span>}</span>
          </>;
          const style = { left: `${x}px`, top: `${y}px`, width: `${NODE_WIDTH}px`, height: `${NODE_HEIGHT}px` };
          const name = `node${node.isSelf ? " self" : ""}${node.kind ? ` k-${node.kind}` : ""}`;
          return node.href ? <a key={node.id} class={name} style={style} href={node.href} title={node.title}>{inner}</a> : <div key={node.id} class={name} style={style} title={node.title}>{inner}</div>;
        })}
      </div>
    </div>
  );
}
