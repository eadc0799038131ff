// JSON that keeps every number exactly as it was written. JSON.parse would round 12345678901234567890.

/** A number that a double can't hold, or that JavaScript would write in another form. */
export class ExactNumber {
  constructor(readonly text: string) {}
  toString() {
    return this.text;
  }
}

export type Json = null | boolean | number | string | ExactNumber | Json[] | { [key: string]: Json };

class Reader {
  at = 0;
  constructor(readonly text: string) {}

  fail(): never {
    throw new SyntaxError(`invalid JSON at position ${this.at}`);
  }

  space() {
    while (this.at < this.text.length && " \t\n\r".includes(this.text[this.at]!)) this.at++;
  }

  value(depth: number): Json {
    if (depth > 2000) this.fail();
    this.space();
    const c = this.text[this.at];
    if (c === "{") return this.object(depth);
    if (c === "[") return this.array(depth);
    if (c === '"') return this.string();
    for (const [word, value] of [["true", true], ["false", false], ["null", null]] as const) {
      if (this.text.startsWith(word, this.at)) {
        this.at += word.length;
        return value;
      }
    }
    return this.number();
  }

  number(): Json {
    const match = /-?\d+(\.\d+)?([eE][-+]?\d+)?/y;
    match.lastIndex = this.at;
    const found = match.exec(this.text);
    if (!found) this.fail();
    this.at += found[0].length;
    const value = Number(found[0]);
    return String(value) === found[0] ? value : new ExactNumber(found[0]);
  }

  string(): string {
    const begin = this.at++;
    for (;;) {
      const c = this.text[this.at++];
      if (c === undefined) this.fail();
      if (c === "\\") this.at++;
      if (c === '"') break;
    }
    return JSON.parse(this.text.slice(begin, this.at)) as string;
  }

  array(depth: number): Json[] {
    const items: Json[] = [];
    this.at++;
    this.space();
    if (this.text[this.at] === "]") {
      this.at++;
      return items;
    }
    for (;;) {
      items.push(this.value(depth + 1));
      this.space();
      const c = this.text[this.at++];
      if (c === "]") return items;
      if (c !== ",") this.fail();
    }
  }

  object(depth: number): Json {
    // Without a prototype: a member may be called __proto__.
    const out = Object.create(null) as { [key: string]: Json };
    this.at++;
    this.space();
    if (this.text[this.at] === "}") {
      this.at++;
      return out;
    }
    for (;;) {
      this.space();
      if (this.text[this.at] !== '"') this.fail();
      const key = this.string();
      this.space();
      if (this.text[this.at++] !== ":") this.fail();
      out[key] = this.value(depth + 1);
      this.space();
      const c = this.text[this.at++];
      if (c === "}") return out;
      if (c !== ",") this.fail();
    }
  }
}

export function parseJson(text: string): Json {
  const reader = new Reader(text);
  const value = reader.value(0);
  reader.space();
  if (reader.at !== text.length) reader.fail();
  return value;
}

export function printJson(value: Json, indent = ""): string {
  const inner = indent + "  ";
  if (value instanceof ExactNumber) return value.text;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  if (Array.isArray(value)) {
    if (!value.length) return "[]";
    return `[\n${value.map((item) => inner + printJson(item, inner)).join(",\n")}\n${indent}]`;
  }
  const keys = Object.keys(value);
  if (!keys.length) return "{}";
  const lines = keys.map((key) => `${inner}${JSON.stringify(key)}: ${printJson(value[key]!, inner)}`);
  return `{\n${lines.join(",\n")}\n${indent}}`;
}

export function member(value: Json | undefined, ...path: string[]): Json | undefined {
  for (const key of path) {
    if (value === null || typeof value !== "object" || Array.isArray(value) || value instanceof ExactNumber) return undefined;
    value = value?.[key];
  }
  return value;
}
