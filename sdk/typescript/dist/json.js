/**
 * JSON in which integers beyond 2^53 are kept exactly: they are read as bigint, and a bigint is written as a number.
 */
// A run of 16 digits may be an integer that a number can't hold. Most texts have none.
const LONG = /[0-9]{16}/;
const TOKEN = /"(?:[^"\\]|\\.)*"|-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/g;
const MARK = "\u0000bigint:";
/** Reads a text. SyntaxError: it isn't JSON. */
export function parse(text) {
    if (!LONG.test(text))
        return JSON.parse(text);
    const marked = text.replace(TOKEN, (token) => {
        if (token[0] === '"' || !LONG.test(token) || /[.eE]/.test(token))
            return token;
        return Number.isSafeInteger(Number(token)) ? token : `"\\u0000bigint:${token}"`;
    });
    // The engine refuses \u0000 in payloads, so no text of a task begins with the mark.
    return JSON.parse(marked, (_, value) => typeof value === "string" && value.startsWith(MARK) ? BigInt(value.slice(MARK.length)) : value);
}
/** Writes a value. TypeError: it can't be written as JSON. */
export function stringify(value) {
    let hasBig = false;
    const text = JSON.stringify(value, (_, part) => {
        if (typeof part !== "bigint")
            return part;
        hasBig = true;
        return MARK + part.toString();
    });
    return hasBig ? text.replace(/"\\u0000bigint:(-?[0-9]+)"/g, "$1") : text;
}
