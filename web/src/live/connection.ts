// One stream of events, with its reconnects: used by the SharedWorker for all tabs, or by a tab itself
// where there is none. Events are handed on a few times a second. Above RATE_MAX events a second only
// counts by type and status are read until the rate has fallen.
import type { Change, FromStream, Link } from "./protocol";

const FLUSH_MS = 250;
const RATE_MAX = 2000;
const AGGREGATED_MS = 15000;
const SILENT_MS = 60000; // the server sends its position more often
const KEPT_MAX = 500; // of one flush; the rest is only counted

export class Connection {
  private abort: AbortController | null = null;
  private lastId = "";
  private link: Link = "closed";
  private items: Change[] = [];
  private total = 0;
  private isGap = false;
  private flushTimer: ReturnType<typeof setTimeout> | undefined;
  private retryTimer: ReturnType<typeof setTimeout> | undefined;
  private retryMs = 500;
  private secondAt = 0;
  private secondCount = 0;
  private isAggregated = false;
  private isWanted = false;
  private byteAt = 0;

  constructor(
    readonly base: string,
    readonly namespace: string,
    private readonly out: (message: FromStream) => void,
  ) {}

  get state(): FromStream {
    return { kind: "link", link: this.link, isAggregated: this.isAggregated };
  }

  start() {
    if (this.isWanted) return;
    this.isWanted = true;
    this.retryMs = 500;
    void this.run();
  }

  stop() {
    this.isWanted = false;
    clearTimeout(this.retryTimer);
    this.abort?.abort();
    this.abort = null;
    this.setLink("closed");
  }

  /** Connects at once, for example after a login. */
  again() {
    if (!this.isWanted || this.abort) return;
    clearTimeout(this.retryTimer);
    this.retryMs = 500;
    void this.run();
  }

  /** After a sleep of the machine the connection may be dead without a sign. */
  wake() {
    if (this.link === "open" && Date.now() - this.byteAt > SILENT_MS) this.abort?.abort();
  }

  private setLink(link: Link) {
    if (this.link === link) return;
    this.link = link;
    this.out(this.state);
  }

  private async run() {
    const abort = new AbortController();
    this.abort = abort;
    this.setLink("connecting");
    const query = new URLSearchParams();
    if (this.namespace) query.set("namespace", this.namespace);
    if (this.isAggregated) query.set("aggregate", "1s");
    else if (this.lastId) query.set("lastEventId", this.lastId);
    const switchBack = this.isAggregated
      ? setTimeout(() => {
          this.isAggregated = false;
          abort.abort();
        }, AGGREGATED_MS)
      : undefined;
    let status = 0;
    try {
      const response = await fetch(`${this.base}api/v1/stream?${query}`, {
        signal: abort.signal,
        headers: { Accept: "text/event-stream" },
        credentials: "same-origin",
        cache: "no-store",
      });
      status = response.status;
      if (response.ok && response.body) {
        this.retryMs = 500;
        this.byteAt = Date.now();
        this.setLink("open");
        await this.readAll(response.body.getReader());
      } else if (status === 400) {
        // The position is of another store, or the server doesn't aggregate.
        this.lastId = "";
        this.isAggregated = false;
        this.isGap = true;
      }
    } catch {
      // Closed, or unreachable: as below.
    }
    clearTimeout(switchBack);
    this.flush();
    if (this.abort !== abort || !this.isWanted) return;
    this.abort = null;
    this.setLink(status === 401 || status === 403 ? "refused" : status === 501 || status === 404 ? "missing" : "closed");
    const wait = this.link === "missing" ? 60000 : this.retryMs;
    this.retryMs = Math.min(this.retryMs * 2, 10000);
    this.retryTimer = setTimeout(() => void this.run(), wait);
  }

  private async readAll(reader: ReadableStreamDefaultReader<Uint8Array>) {
    const decoder = new TextDecoder();
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      this.byteAt = Date.now();
      rest += decoder.decode(value, { stream: true });
      const blocks = rest.split("\n\n");
      rest = blocks.pop()!;
      for (const block of blocks) this.readBlock(block);
    }
  }

  private readBlock(block: string) {
    let event = "message";
    let data = "";
    for (const line of block.split("\n")) {
      if (line.startsWith("id: ")) this.lastId = line.slice(4);
      else if (line.startsWith("event: ")) event = line.slice(7);
      else if (line.startsWith("data: ")) data += line.slice(6);
    }
    if (!data) return;
    if (event === "gap" || event === "dropped") {
      this.isGap = true;
      this.later();
      return;
    }
    if (event === "end") return;
    let parsed: unknown;
    try {
      parsed = JSON.parse(data);
    } catch {
      return;
    }
    if (event === "counts") {
      this.out({ kind: "counts", items: (parsed as { items: [] }).items ?? [] });
      return;
    }
    this.total++;
    this.secondCount++;
    const now = Date.now();
    if (now - this.secondAt >= 1000) {
      if (this.secondCount > RATE_MAX && !this.isAggregated) {
        this.isAggregated = true;
        this.isGap = true;
        this.out(this.state);
        this.abort?.abort();
      }
      this.secondAt = now;
      this.secondCount = 0;
    }
    if (this.items.length < KEPT_MAX) this.items.push(parsed as Change);
    else this.isGap = true;
    this.later();
  }

  private later() {
    this.flushTimer ??= setTimeout(() => this.flush(), FLUSH_MS);
  }

  private flush() {
    clearTimeout(this.flushTimer);
    this.flushTimer = undefined;
    if (!this.total && !this.isGap) return;
    this.out({ kind: "events", items: this.items, total: this.total, isGap: this.isGap });
    this.items = [];
    this.total = 0;
    this.isGap = false;
  }
}
