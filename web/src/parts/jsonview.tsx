// JSON as text: folded, searched, copied; numbers as they were written.
import { useMemo, useState } from "preact/hooks";
import { ExactNumber, printJson, type Json } from "../lib/json";
import { formatBytes } from "../lib/time";
import { Copy } from "./basic";

const LINES_MAX = 400;
const TEXT_MAX = 2000;

function Scalar({ value, find }: { value: Json; find: string }) {
  const isText = typeof value === "string";
  const text = value instanceof ExactNumber ? value.text : JSON.stringify(value);
  const kind = isText ? "str" : value === null ? "null" : typeof value === "boolean" ? "bool" : "num";
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole || text.length <= TEXT_MAX ? text : text.slice(0, TEXT_MAX);
  return (
    <span class={`j-${kind}`}>
      <Marked text={shown} find={find} />
      {shown !== text && <button type="button" class="link" onClick={() => setWhole(true)}>… {formatBytes(text.length)}, show all</button>}
    </span>
  );
}

function Marked({ text, find }: { text: string; find: string }) {
  if (!find) return <>{text}</>;
  const at = text.toLowerCase().indexOf(find.toLowerCase());
  if (at < 0) return <>{text}</>;
  return <>{text.slice(0, at)}<mark>{text.slice(at, at + find.length)}</mark>{text.slice(at + find.length)}</>;
}

const isBranch = (value: Json): value is Json[] | { [key: string]: Json } =>
  value !== null && typeof value === "object" && !(value instanceof ExactNumber);

function Node({ name, value, depth, find, last }: { name?: string; value: Json; depth: number; find: string; last: boolean }) {
  const [isOpen, setOpen] = useState(depth < 3);
  const [shown, setShown] = useState(LINES_MAX);
  const key = name !== undefined ? <><span class="j-key"><Marked text={JSON.stringify(name)} find={find} /></span>: </> : null;
  const comma = last ? "" : ",";
  if (!isBranch(value)) return <div class="j-line">{key}<Scalar value={value} find={find} />{comma}</div>;
  const isList = Array.isArray(value);
  const entries: [string | undefined, Json][] = isList ? value.map((item) => [undefined, item]) : Object.entries(value);
  const [open, close] = isList ? ["[", "]"] : ["{", "}"];
  if (!entries.length) return <div class="j-line">{key}{open}{close}{comma}</div>;
  const isShown = isOpen || (find !== "" && printJson(value).toLowerCase().includes(find.toLowerCase()));
  return (
    <div class="j-node">
      <div class="j-line">
        <button type="button" class="j-fold" aria-expanded={isShown} aria-label={`${isShown ? "Fold" : "Unfold"} ${name ?? (isList ? "list" : "object")}`}
          onClick={() => setOpen(!isOpen)}>{isShown ? "▾" : "▸"}</button>
        {key}{open}
        {!isShown && <button type="button" class="link" onClick={() => setOpen(true)}>{entries.length} {isList ? "items" : "members"}</button>}
        {!isShown && `${close}${comma}`}
      </div>
      {isShown && (
        <div class="j-inner">
          {entries.slice(0, shown).map(([inner, item], i) => (
            <Node key={inner ?? i} name={inner} value={item} depth={depth + 1} find={find} last={i === entries.length - 1} />
          ))}
          {entries.length > shown && (
            <button type="button" class="link" onClick={() => setShown(shown + LINES_MAX)}>{entries.length - shown} more</button>
          )}
        </div>
      )}
      {isShown && <div class="j-line">{close}{comma}</div>}
    </div>
  );
}

export function JsonView({ value, label, isRedacted }: { value: Json | undefined; label: string; isRedacted?: boolean }) {
  const [find, setFind] = useState("");
  const text = useMemo(() => (value === undefined ? "" : printJson(value)), [value]);
  if (isRedacted && (value === undefined || value === null)) return <p class="faint pad">Hidden: this token may not see payloads.</p>;
  if (value === undefined || value === null) return <p class="faint pad">null</p>;
  const isLong = text.length > 300;
  return (
    <div class="json">
      <div class="json-tools">
        {isLong && (
          <input type="search" placeholder="Search" aria-label={`Search in ${label}`} value={find}
            onInput={(event) => setFind(event.currentTarget.value)} />
        )}
        <span class="faint">{formatBytes(new Blob([text]).size)}</span>
        <Copy text={text} label={`Copy ${label}`} />
      </div>
      <div class="json-body" tabIndex={0} role="group" aria-label={label}>
        <Node value={value} depth={0} find={find} last />
      </div>
    </div>
  );
}
