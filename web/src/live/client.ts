// The tab's end of the shared connection.
import { effect, signal } from "@preact/signals";
import { Connection } from "./connection";
import type { Change, CountItem, FromStream, Link, ToStream } from "./protocol";
import { access, isGone } from "../lib/api";
import { namespace } from "../lib/route";

export type { Change } from "./protocol";

declare const STREAM_WORKER: string;

/** The last event of each task in a batch, one after the other. Subscribers are called for each. */
class Changes {
  private readonly calls = new Set<(change: Change) => void>();
  subscribe(call: (change: Change) => void): () => void {
    this.calls.add(call);
    return () => this.calls.delete(call);
  }
  publish(change: Change) {
    for (const call of [...this.calls]) call(change);
  }
}

export const changes = new Changes();
export const link = signal<Link>("connecting");
export const isAggregated = signal(false);
/** Events in the last seconds, for the indicator. */
export const eventRate = signal(0);
/** When events were missed: everything shown is read again. */
export const gapAt = signal(0);
/** Something changed, whatever it was. */
export const anything: Change = {
  taskId: "", namespace: "", type: "", name: "", event: "", status: "", createdAt: "",
};

let counted = 0;
setInterval(() => {
  eventRate.value = counted / 2;
  counted = 0;
}, 2000);

function receive(message: FromStream) {
  if (message.kind === "link") {
    link.value = message.link;
    isAggregated.value = message.isAggregated;
    if (message.link === "open") isGone.value = false;
    if (message.link === "refused") access.value = access.value === "session" ? "login" : access.value;
    return;
  }
  if (message.kind === "counts") {
    counted += message.items.reduce((sum: number, item: CountItem) => sum + Math.abs(item.count), 0);
    changes.publish(anything);
    return;
  }
  counted += message.total;
  if (message.isGap) {
    gapAt.value = Date.now();
    changes.publish(anything);
  }
  for (const change of message.items) changes.publish(change);
}

const base = new URL(".", location.href.split("#")[0]).href;
let say: (message: ToStream) => void;

function openDirect() {
  let connection: Connection | null = null;
  say = (message) => {
    if (message.kind === "hello") {
      connection?.stop();
      connection = new Connection(message.base, message.namespace, receive);
      connection.start();
    } else if (message.kind === "visible") {
      if (message.isVisible) {
        connection?.start();
        connection?.wake();
      } else connection?.stop();
    } else if (message.kind === "again") {
      connection?.again();
    } else {
      connection?.stop();
    }
  };
}

function openShared() {
  const worker = new SharedWorker(new URL(`./${STREAM_WORKER}`, import.meta.url), { name: "faina" });
  worker.port.onmessage = ({ data }: MessageEvent<FromStream>) => receive(data);
  worker.port.start();
  say = (message) => worker.port.postMessage(message);
}

export function openStream() {
  try {
    if (typeof SharedWorker === "function") openShared();
    else openDirect();
  } catch {
    openDirect();
  }
  effect(() => {
    say({ kind: "hello", base, namespace: namespace.value });
    if (document.hidden) say({ kind: "visible", isVisible: false });
  });
  effect(() => {
    if (access.value === "open" || access.value === "session") say({ kind: "again" });
  });
  effect(() => {
    if (!isGone.value) say({ kind: "again" });
  });
  document.addEventListener("visibilitychange", () => say({ kind: "visible", isVisible: !document.hidden }));
  addEventListener("pagehide", () => say({ kind: "bye" }));
  addEventListener("pageshow", (event) => {
    if (event.persisted) say({ kind: "hello", base, namespace: namespace.value });
  });
}

export function reconnect() {
  say({ kind: "again" });
}
