// The line of the filter language, with completion.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { complete, type Completion, type Parsed } from "../lib/filter";
import { Icon } from "./icons";

export function FilterBox({ text, onChange, known, problems }: {
  text: string; onChange: (text: string) => void; known: Record<string, string[]>; problems: Parsed["problems"];
}) {
  const [value, setValue] = useState(text);
  const [cursor, setCursor] = useState(0);
  const [isOpen, setOpen] = useState(false);
  const [at, setAt] = useState(-1);
  const ref = useRef<HTMLInputElement>(null);
  const timer = useRef<ReturnType<typeof setTimeout>>();
  const sent = useRef(text);
  useEffect(() => {
    if (text !== sent.current) {
      sent.current = text;
      setValue(text);
    }
  }, [text]);
  const apply = (next: string, isNow: boolean) => {
    clearTimeout(timer.current);
    const run = () => {
      sent.current = next.trim();
      onChange(next.trim());
    };
    if (isNow) run();
    else timer.current = setTimeout(run, 450);
  };
  const options = useMemo(() => (isOpen ? complete(value, cursor, known) : []), [value, cursor, isOpen, known]);
  const change = (next: string, place: number) => {
    setValue(next);
    setCursor(place);
    setAt(-1);
    setOpen(true);
  };
  const pick = (option: Completion) => {
    const isWhole = !/[:<.]$/.test(option.text);
    const put = option.text + (isWhole ? " " : "");
    const next = value.slice(0, option.from) + put + value.slice(option.to).replace(/^ /, isWhole ? "" : " ");
    const place = option.from + put.length;
    if (ref.current) { // at once, not after the next frame: the next key may come before it
      ref.current.focus();
      ref.current.value = next;
      ref.current.setSelectionRange(place, place);
    }
    change(next, place);
    if (isWhole) apply(next, true);
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown" && options.length) setAt((at + 1) % options.length);
    else if (event.key === "ArrowUp" && options.length) setAt((at + options.length) % (options.length + 1) - 1);
    else if (event.key === "Tab" && options.length && isOpen && value && at >= 0) pick(options[at]!);
    else if (event.key === "Enter") {
      if (at >= 0 && options[at]) pick(options[at]!);
      else {
        setOpen(false);
        apply(value, true);
      }
    } else if (event.key === "Escape") {
      if (isOpen) setOpen(false);
      else ref.current?.blur();
    } else return;
    event.preventDefault();
  };
  const problem = problems[0];
  return (
    <div class="filter">
      <div class={`filter-line${problem ? " wrong" : ""}`}>
        <Icon name="search" />
        <input id="filter" ref={ref} type="text" spellcheck={false} autocomplete="off" placeholder="type:mail.* status:failed ended<1h" aria-label="Filter"
          role="combobox" aria-expanded={isOpen && options.length > 0} aria-controls="filter-options" aria-autocomplete="list"
          aria-activedescendant={at >= 0 ? `filter-option-${at}` : undefined} aria-invalid={Boolean(problem)} aria-describedby={problem ? "filter-problem" : undefined}
          value={value}
          onInput={(event) => { change(event.currentTarget.value, event.currentTarget.selectionStart ?? 0); apply(event.currentTarget.value, false); }}
          onFocus={() => { setCursor(ref.current?.selectionStart ?? value.length); setOpen(true); }}
          onBlur={() => setOpen(false)} onKeyDown={onKey} />
        {value && <button type="button" class="clear" aria-label="Clear the filter" onClick={() => { change("", 0); setOpen(false); apply("", true); }}><Icon name="close" size={14} /></button>}
        <kbd>/</kbd>
      </div>
      {problem && <p class="filter-problem" id="filter-problem" role="alert">{problem.message}</p>}
      <ul class={`filter-options${isOpen && options.length ? "" : " closed"}`} id="filter-options" role="listbox" aria-label="Completions">
        {options.map((option, i) => (
          <li key={option.text} id={`filter-option-${i}`} role="option" aria-selected={i === at} onPointerDown={(event) => { event.preventDefault(); pick(option); }}>
            <code>{option.text}</code><span>{option.help}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}
