// The SharedWorker: all tabs of one browser share one connection per namespace. It is open while one of
// these tabs is visible, and continues by the id of the last event.
import { Connection } from "./connection";
import type { FromStream, ToStream } from "./protocol";

interface Tab {
  port: MessagePort;
  isVisible: boolean;
  seenAt: number;
}

class Channel {
  readonly tabs = new Set<Tab>();
  readonly connection: Connection;

  constructor(base: string, namespace: string) {
    this.connection = new Connection(base, namespace, (message) => this.send(message));
  }

  send(message: FromStream) {
    for (const tab of this.tabs) tab.port.postMessage(message);
  }

  update() {
    if ([...this.tabs].some((tab) => tab.isVisible)) this.connection.start();
    else this.connection.stop();
  }
}

const channels = new Map<string, Channel>();

(self as unknown as { onconnect: (event: MessageEvent) => void }).onconnect = (event) => {
  const tab: Tab = { port: event.ports[0]!, isVisible: true, seenAt: Date.now() };
  let channel: Channel | null = null;
  const leave = () => {
    channel?.tabs.delete(tab);
    channel?.update();
  };
  tab.port.onmessage = ({ data }: MessageEvent<ToStream>) => {
    if (data.kind === "hello") {
      leave();
      const key = `${data.base} ${data.namespace}`;
      channel = channels.get(key) ?? new Channel(data.base, data.namespace);
      channels.set(key, channel);
      channel.tabs.add(tab);
      tab.port.postMessage(channel.connection.state);
      channel.update();
    } else if (data.kind === "visible") {
      tab.isVisible = data.isVisible;
      channel?.update();
      if (data.isVisible) channel?.connection.wake();
    } else if (data.kind === "again") {
      channel?.connection.again();
    } else {
      leave();
    }
  };
  tab.port.start();
};
