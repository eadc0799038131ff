/**
 * JSON in which integers beyond 2^53 are kept exactly: they are read as bigint, and a bigint is written as a number.
 */
export type Json = null | boolean | number | bigint | string | Json[] | {
    [name: string]: Json | undefined;
};
/** Reads a text. SyntaxError: it isn't JSON. */
export declare function parse(text: string): any;
/** Writes a value. TypeError: it can't be written as JSON. */
export declare function stringify(value: unknown): string;
