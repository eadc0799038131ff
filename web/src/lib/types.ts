// What the views use of the server's answers. tests/browser/test_types.mjs checks the sources against
// types that are generated from /openapi.json; members of routes that an engine may lack are optional.
import type { Schemas } from "../generated/api";

export type Task = Schemas["Task"];
export type TaskEvent = Schemas["Event"];
export type Worker = Schemas["Worker"];
export type Resource = Schemas["Resource"] & {
  rate?: { count: number; per: string | number; burst?: number } | null;
};
export type Cron = Schemas["Cron"];
export type Workflow = Schemas["Workflow"];
export type EmittedEvent = Schemas["EmittedEvent"];
export type Join = Schemas["Join"];

export const STATUSES = [
  "pending", "claimed", "running", "blocked", "background", "completed", "failed", "dead_letter", "cancelled",
] as const;
export type Status = (typeof STATUSES)[number];
export const ENDED: readonly string[] = ["completed", "failed", "dead_letter", "cancelled"];

export interface List<T> {
  items: T[];
  nextCursor?: string | null;
}

export interface TypeCount {
  namespace: string;
  type: string;
  paused: boolean;
  oldestReadyAt: string | null;
  byStatus: Record<Status, number>;
  total: number;
}

export interface Stats {
  byStatus: Record<Status, number>;
  total: number;
  types: TypeCount[];
  moreTypes?: boolean;
  /** Of the last minute, by the server that answers. */
  rates?: Record<string, number>;
}

export interface Times {
  p50?: number | null;
  p95?: number | null;
  p99?: number | null;
}

export interface Bucket {
  at: string;
  submitted?: number;
  completed?: number;
  failed?: number;
  deadLettered?: number;
  cancelled?: number;
  retried?: number;
  waiting?: number;
  running?: number;
  oldestReadySeconds?: number | null;
  wait?: Times | null;
  run?: Times | null;
}

export interface FailureGroup {
  id: string;
  namespace?: string;
  type: string;
  kind: string | null;
  message: string;
  count: number;
  firstAt: string;
  lastAt: string;
  taskIds: string[];
}

export interface AuditEntry {
  id: string | number;
  at: string;
  who: string | null;
  act: string;
  target: string | null;
  reason: string | null;
  requestId: string | null;
}

export interface Operation {
  id: string;
  kind: string;
  status: "running" | "completed" | "cancelled" | "failed";
  matched: number;
  done: number;
  failed: number;
  createdBy?: string | null;
  reason?: string | null;
  createdAt?: string;
}

export interface Session {
  name: string | null;
  tokenId: string | null;
  scopes: string[];
  namespaces: string[] | null;
  expiresAt?: string | null;
}

export interface Explanation {
  summary: string;
  line?: string | null;
  reasons: { kind: string; message: string; until: string | null }[];
}

export interface Info {
  engine: string;
  engineVersion?: string | null;
  version?: string | null;
  schemaVersion?: number | null;
  sizeBytes?: number | null;
  commits?: number;
  operations?: number;
  durability?: string;
  full?: string | null;
  findings?: string[];
  warnings?: string[];
  migrations?: { id: string; description: string; executedAt: string | null }[];
}

export interface TokenInfo {
  id: string;
  name: string | null;
  scopes: string[];
  namespaces: string[] | null;
  createdAt: string;
  expiresAt: string | null;
  token?: string;
}
