/** A private server for tests: `const server = await Server.start(); ... await server.close();` */
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "./client.js";
/** `faina serve` on a free port of this machine, in a temporary folder, until close(). */
export class Server {
    folder;
    options;
    url = "";
    client;
    process;
    listen = "127.0.0.1:0";
    constructor(folder, options) {
        this.folder = folder;
        this.options = options;
    }
    static async start(options = {}) {
        const server = new Server(await mkdtemp(join(tmpdir(), "faina-")), options);
        await server.begin();
        server.client = new Client({ url: server.url });
        return server;
    }
    /** Starts the program again, on the same port, after stop() or kill(). */
    async begin() {
        const program = this.options.program ?? process.env.FAINA_BIN ?? "faina";
        const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("FAINA_")));
        const args = ["serve", "--listen", this.listen, "--url", this.options.url ?? "memory:", ...this.options.args ?? []];
        this.process = spawn(program, args, { cwd: this.folder, env, stdio: ["ignore", "ignore", "pipe"] });
        let text = "";
        this.url = await new Promise((resolve, reject) => {
            this.process.on("error", reject);
            this.process.on("exit", () => reject(new Error(`faina serve has ended: ${text}`)));
            this.process.stderr.on("data", (chunk) => {
                text += chunk;
                const found = /https?:\/\/[0-9.]+:[0-9]+/.exec(text);
                if (found !== null)
                    resolve(found[0]);
            });
        });
        this.listen = this.url.split("//")[1];
    }
    stop() {
        return this.finish("SIGTERM");
    }
    kill() {
        return this.finish("SIGKILL");
    }
    /** Lets it hang: it accepts connections and doesn't answer, until resume(). */
    pause() {
        this.process.kill("SIGSTOP");
    }
    resume() {
        this.process.kill("SIGCONT");
    }
    async close() {
        this.resume(); // a stopped process doesn't end
        await this.stop();
        await rm(this.folder, { recursive: true, force: true });
    }
    finish(signal) {
        return new Promise((resolve) => {
            if (this.process.exitCode !== null || this.process.signalCode !== null)
                return resolve();
            this.process.once("exit", () => resolve());
            this.process.kill(signal);
        });
    }
}
