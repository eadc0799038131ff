// A worker that does nothing, for tools/bench-sdk.
import { Client, Worker } from "../../sdk/typescript/dist/index.js";

const worker = new Worker(new Client(), { concurrency: 100 });
worker.task("nothing", () => null);
await worker.run();
