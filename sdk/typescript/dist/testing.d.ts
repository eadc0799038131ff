import { Client } from "./client.js";
export interface ServerOptions {
    /** Of its store; `memory:` by default. */
    url?: string;
    /** The program; by default $FAINA_BIN, else `faina` in the PATH. */
    program?: string;
    args?: string[];
}
/** `faina serve` on a free port of this machine, in a temporary folder, until close(). */
export declare class Server {
    readonly folder: string;
    private readonly options;
    url: string;
    client: Client;
    private process;
    private listen;
    private constructor();
    static start(options?: ServerOptions): Promise<Server>;
    /** Starts the program again, on the same port, after stop() or kill(). */
    begin(): Promise<void>;
    stop(): Promise<void>;
    kill(): Promise<void>;
    /** Lets it hang: it accepts connections and doesn't answer, until resume(). */
    pause(): void;
    resume(): void;
    close(): Promise<void>;
    private finish;
}
