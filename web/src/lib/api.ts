// Requests to the server that the page came from. All URLs are relative, so a path prefix of a proxy
// doesn't matter.
import { signal } from "@preact/signals";
import type { Session } from "./types";

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly errors: { field?: string; message: string; line?: number; column?: number }[] = [],
  ) {
    super(message);
  }

  /** The engine or the server doesn't have this at all. */
  get isMissing() {
    return this.status === 501 || (this.status === 404 && /^there is nothing at/.test(this.message)) ||
      (this.status === 405);
  }
}

/** The server doesn't answer. */
export const isGone = signal(false);
/** "login": a token is needed. */
export const access = signal<"unknown" | "open" | "login" | "session">("unknown");
export const session = signal<Session | null>(null);
export const lastAnswerAt = signal(0);

export const API = "api/v1";

export function can(...scopes: string[]): boolean {
  const have = session.value?.scopes;
  if (!have) return access.value !== "login";
  return have.includes("admin") || scopes.some((scope) => have.includes(scope));
}

export interface Sent {
  method?: string;
  body?: unknown;
  text?: string;
  type?: string;
  ifMatch?: string | number | null;
  signal?: AbortSignal;
  quiet?: boolean;
}

async function problemOf(response: Response): Promise<ApiError> {
  let problem: { code?: string; detail?: string; title?: string; errors?: ApiError["errors"] } = {};
  try {
    problem = (await response.json()) as typeof problem;
  } catch {
    // Not from the server: a proxy in between.
  }
  const text = problem.detail ?? problem.title ?? `the server answered ${response.status} ${response.statusText}`;
  return new ApiError(response.status, problem.code ?? "", text, problem.errors ?? []);
}

export async function request(path: string, sent: Sent = {}): Promise<Response> {
  const headers: Record<string, string> = {};
  let body: string | undefined;
  if (sent.text !== undefined) {
    body = sent.text;
    headers["Content-Type"] = sent.type ?? "application/json";
  } else if (sent.body !== undefined) {
    body = JSON.stringify(sent.body);
    headers["Content-Type"] = "application/json";
  }
  if (sent.ifMatch !== undefined && sent.ifMatch !== null) {
    headers["If-Match"] = typeof sent.ifMatch === "number" ? `"${sent.ifMatch}"` : sent.ifMatch;
  }
  let response: Response;
  try {
    response = await fetch(path.startsWith("/") ? API + path : path, {
      method: sent.method ?? "GET",
      headers,
      body,
      signal: sent.signal,
      credentials: "same-origin",
      cache: "no-store",
    });
  } catch (error) {
    if ((error as Error).name === "AbortError") throw error;
    isGone.value = true;
    throw new ApiError(0, "unreachable", "the server does not answer");
  }
  // A proxy answers for a server that is away.
  if (response.status === 502 || response.status === 504) isGone.value = true;
  else if (isGone.value) isGone.value = false;
  lastAnswerAt.value = Date.now();
  if (response.status === 401 && !sent.quiet) access.value = "login";
  if (!response.ok) throw await problemOf(response);
  return response;
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await (await request(path, { signal })).json()) as T;
}

export async function send<T = unknown>(method: string, path: string, body?: unknown, more: Sent = {}): Promise<T> {
  const response = await request(path, { ...more, method, body });
  return (response.status === 204 ? null : await response.json()) as T;
}

export function query(values: Record<string, string | number | boolean | null | undefined>): string {
  const pairs = Object.entries(values).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const text = pairs.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`).join("&");
  return text ? `?${text}` : "";
}

/** Whether a token is needed, and what it allows. */
export async function loadSession() {
  try {
    session.value = (await (await request("/session", { quiet: true })).json()) as Session;
    // Without tokens everything is allowed, and there is nothing to log out of.
    access.value = session.value?.tokenId ? "session" : "open";
    if (access.value === "open") session.value = null;
    return;
  } catch (error) {
    if (!(error instanceof ApiError) || error.status === 0) return;
    if (error.status !== 401 && error.status !== 404 && error.status !== 405 && error.status !== 501) return;
  }
  session.value = null;
  try {
    await request("/stats", { quiet: true });
    access.value = "open";
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) access.value = "login";
  }
}

export async function logIn(token: string) {
  await request("/session", { method: "POST", body: { token }, quiet: true });
  access.value = "unknown";
  await loadSession();
}

export async function logOut() {
  await request("/session", { method: "DELETE", quiet: true });
  session.value = null;
  access.value = "login";
}
