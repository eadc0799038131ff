// What a tab and the shared connection say to each other.

export interface Change {
  taskId: string;
  namespace: string;
  type: string;
  name: string;
  event: string;
  status: string;
  createdAt: string;
}

/** How the connection is. */
export type Link = "connecting" | "open" | "closed" | "refused" | "missing";

export interface CountItem {
  type: string;
  status: string;
  count: number;
}

export type FromStream =
  | { kind: "events"; items: Change[]; total: number; isGap: boolean }
  | { kind: "counts"; items: CountItem[] }
  | { kind: "link"; link: Link; isAggregated: boolean };

export type ToStream =
  | { kind: "hello"; base: string; namespace: string }
  | { kind: "visible"; isVisible: boolean }
  | { kind: "again" }
  | { kind: "bye" };
