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
    close(): Promise<void>;
    private finish;
}
