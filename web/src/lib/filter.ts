// The filter language of the list of tasks: `type:mail.* status:failed metadata.tenant:acme ended<1h`.
import { STATUSES } from "./types";
import { parseSpan } from "./time";

export interface Term {
  field: string;
  op: ":" | "<" | ">";
  value: string;
  at: number;
}

export interface Parsed {
  terms: Term[];
  /** What is wrong, and where. */
  problems: { message: string; at: number; length: number }[];
}

interface Field {
  name: string;
  param: string;
  help: string;
  isTime?: boolean;
  values?: readonly string[];
}

export const FIELDS: Field[] = [
  { name: "type", param: "type", help: "type of the task; mail.* for all that begin so" },
  { name: "status", param: "status", help: "one or several, with commas", values: [...STATUSES, "active", "ended"] },
  { name: "name", param: "name", help: "display name" },
  { name: "error", param: "errorKind", help: "kind of the last error" },
  { name: "failure", param: "failureGroup", help: "id of the group of failures of the last error" },
  { name: "worker", param: "workerId", help: "the worker that holds it" },
  { name: "resource", param: "resource", help: "a resource that it uses" },
  { name: "group", param: "group", help: "fair share group" },
  { name: "key", param: "idempotencyKey", help: "idempotency key" },
  { name: "parent", param: "parentId", help: "id of the parent task" },
  { name: "team", param: "teamId", help: "id of the team" },
  { name: "by", param: "createdBy", help: "who submitted it" },
  { name: "origin", param: "origin", help: "workflow that made it" },
  { name: "schedule", param: "schedule", help: "schedule that made it" },
  { name: "metadata.", param: "metadata.", help: "a member of the metadata: metadata.tenant:acme" },
  { name: "created", param: "created", help: "created<1h: less than an hour ago", isTime: true },
  { name: "updated", param: "updated", help: "updated<5m: changed in the last five minutes", isTime: true },
  { name: "ended", param: "ended", help: "ended<1h: ended in the last hour", isTime: true },
  { name: "due", param: "due", help: "due<10m: starts within ten minutes", isTime: true },
  { name: "sort", param: "sort", help: "order", values: ["createdAt", "updatedAt", "priority", "runAt"] },
  { name: "order", param: "order", help: "desc or asc", values: ["desc", "asc"] },
];

const SETS: Record<string, string> = {
  active: "pending,claimed,running,blocked,background",
  ended: "completed,failed,dead_letter,cancelled",
};

export function fieldOf(name: string): Field | undefined {
  return FIELDS.find((field) => (field.name.endsWith(".") ? name.startsWith(field.name) && name.length > field.name.length : field.name === name));
}

/** Splits at spaces; "quoted text" may have spaces. */
export function parseFilter(text: string): Parsed {
  const parsed: Parsed = { terms: [], problems: [] };
  const words = /([\w.-]+)([:<>])("(?:[^"\\]|\\.)*"|\S*)|\S+/g;
  for (let match = words.exec(text); match; match = words.exec(text)) {
    const at = match.index;
    const length = match[0].length;
    if (!match[1]) {
      parsed.terms.push({ field: "type", op: ":", value: match[0], at });
      continue;
    }
    const name = match[1];
    const op = match[2] as Term["op"];
    const field = fieldOf(name);
    let value = match[3]!;
    if (value.startsWith('"') && value.endsWith('"') && value.length > 1) value = value.slice(1, -1).replace(/\\(.)/g, "$1");
    if (!field) {
      parsed.problems.push({ message: `there is no field "${name}"; there are ${FIELDS.map((item) => item.name).join(" ")}`, at, length });
    } else if (!value) {
      parsed.problems.push({ message: `${name} needs a value`, at, length });
    } else if (field.isTime && op === ":") {
      parsed.problems.push({ message: `write ${name}<1h, ${name}>2d or ${name}>2026-01-31`, at, length });
    } else if (!field.isTime && op !== ":") {
      parsed.problems.push({ message: `write ${name}:${value}`, at, length });
    } else if (field.isTime && parseSpan(value) === null && Number.isNaN(Date.parse(value))) {
      parsed.problems.push({ message: `"${value}" is neither a duration such as 90s, 5m, 1h, 7d nor a date such as 2026-01-31`, at, length });
    } else if (name === "status") {
      const bad = value.split(",").find((word) => !field.values!.includes(word));
      if (bad !== undefined) parsed.problems.push({ message: `there is no status "${bad}"; there are ${field.values!.join(" ")}`, at, length });
      else parsed.terms.push({ field: name, op, value, at });
    } else {
      parsed.terms.push({ field: name, op, value, at });
    }
  }
  const seen = new Set<string>();
  for (const term of parsed.terms) {
    const key = term.field + (term.op === ":" ? "" : term.op);
    if (seen.has(key)) parsed.problems.push({ message: `${term.field} is given twice`, at: term.at, length: term.value.length });
    seen.add(key);
  }
  return parsed;
}

/** The query parameters of GET /tasks, which are also the members of the filter of a bulk operation. */
export function toParams(terms: Term[], nowMs = Date.now()): Record<string, string> {
  const out: Record<string, string> = {};
  for (const term of terms) {
    const field = fieldOf(term.field)!;
    if (field.isTime) {
      const span = parseSpan(term.value);
      // `ended<1h` is an age; due<10m is a time ahead; a date is itself.
      const isAhead = term.field === "due";
      const at = span === null ? Date.parse(term.value) : isAhead ? nowMs + span : nowMs - span;
      const isBefore = span === null || isAhead ? term.op === "<" : term.op === ">";
      if (isAhead && !isBefore) continue;
      out[`${field.param}${isBefore ? "Before" : "After"}`] = new Date(at).toISOString();
    } else if (term.field === "status") {
      out.status = term.value.split(",").map((word) => SETS[word] ?? word).join(",");
    } else if (field.param === "metadata.") {
      out[term.field] = term.value;
    } else {
      out[field.param] = term.value;
    }
  }
  return out;
}

export function quote(value: string): string {
  return /[\s"]/.test(value) || value === "" ? `"${value.replace(/["\\]/g, "\\$&")}"` : value;
}

/** Replaces, adds or (with "") removes a term. */
export function withTerm(text: string, field: string, value: string): string {
  const { terms } = parseFilter(text);
  const others = terms.filter((term) => term.field !== field).map((term) => `${term.field}${term.op}${quote(term.value)}`);
  if (value) others.push(`${field}:${quote(value)}`);
  return others.join(" ");
}

export interface Completion {
  text: string;
  help: string;
  from: number;
  to: number;
}

/** What can be typed at the cursor. `known` has the values from the server, by field. */
export function complete(text: string, cursor: number, known: Record<string, string[]>): Completion[] {
  let from = cursor;
  while (from > 0 && !/\s/.test(text[from - 1]!)) from--;
  let to = cursor;
  while (to < text.length && !/\s/.test(text[to]!)) to++;
  const word = text.slice(from, cursor);
  const match = /^([\w.-]+)([:<>])(.*)$/.exec(word);
  if (!match) {
    return FIELDS.filter((field) => field.name.startsWith(word.toLowerCase()))
      .map((field) => ({ text: field.name + (field.isTime ? "<" : field.name.endsWith(".") ? "" : ":"), help: field.help, from, to }));
  }
  const [, name, op, value] = match as unknown as [string, string, string, string];
  const field = fieldOf(name);
  if (!field) return [];
  if (field.isTime) {
    return ["5m", "1h", "24h", "7d"].filter((span) => span.startsWith(value))
      .map((span) => ({ text: `${name}${op}${span}`, help: `${name} ${op === "<" ? "within" : "more than"} ${span}`, from, to }));
  }
  const head = name === "status" && value.includes(",") ? value.slice(0, value.lastIndexOf(",") + 1) : "";
  const tail = value.slice(head.length).toLowerCase();
  const values = [...(field.values ?? []), ...(known[name] ?? [])];
  return values.filter((item) => item.toLowerCase().startsWith(tail) && item.toLowerCase() !== tail).slice(0, 12)
    .map((item) => ({ text: `${name}:${head}${quote(item)}`, help: "", from, to }));
}
