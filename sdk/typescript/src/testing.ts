/** A private server for tests: `const server = await Server.start(); ... await server.close();` */
import { spawn, type ChildProcess } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "./client.js";

export interface ServerOptions {
    /** Of its store; `memory:` by default. */
    url?: string;
    /** The program; by default $FAINA_BIN, else `faina` in the PATH. */
    program?: string;
    args?: string[];
}

/** `faina serve` on a free port of this machine, in a temporary folder, until close(). */
export class Server {
    url = "";
    client!: Client;
    private process!: ChildProcess;
    private listen = "127.0.0.1:0";

    private constructor(readonly folder: string, private readonly options: ServerOptions) {}

    static async start(options: ServerOptions = {}): Promise<Server> {
        const server = new Server(await mkdtemp(join(tmpdir(), "faina-")), options);
        await server.begin();
        server.client = new Client({ url: server.url });
        return server;
    }

    /** Starts the program again, on the same port, after stop() or kill(). */
    async begin(): Promise<void> {
        const program = this.options.program ?? process.env.FAINA_BIN ?? "faina";
        const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("FAINA_")));
        const args = ["serve", "--listen", this.listen, "--url", this.options.url ?? "memory:", ...this.options.args ?? []];
        this.process = spawn(program, args, { cwd: this.folder, env, stdio: ["ignore", "ignore", "pipe"] });
        let text = "";
        this.url = await new Promise<string>((resolve, reject) => {
            this.process.on("error", reject);
            this.process.on("exit", () => reject(new Error(`faina serve has ended: ${text}`)));
            this.process.stderr!.on("data", (chunk) => {
                text += chunk;
                const found = /https?:\/\/[0-9.]+:[0-9]+/.exec(text);
                if (found !== null) resolve(found[0]);
            });
        });
        this.listen = this.url.split("//")[1];
    }

    stop(): Promise<void> {
        return this.finish("SIGTERM");
    }

    kill(): Promise<void> {
        return this.finish("SIGKILL");
    }

    /** Lets it hang: it accepts connections and doesn't answer, until resume(). */
    pause(): void {
        this.process.kill("SIGSTOP");
    }

    resume(): void {
        this.process.kill("SIGCONT");
    }

    async close(): Promise<void> {
        this.resume(); // a stopped process doesn't end
        await this.stop();
        await rm(this.folder, { recursive: true, force: true });
    }

    private finish(signal: NodeJS.Signals): Promise<void> {
        return new Promise((resolve) => {
            if (this.process.exitCode !== null || this.process.signalCode !== null) return resolve();
            this.process.once("exit", () => resolve());
            this.process.kill(signal);
        });
    }
}
