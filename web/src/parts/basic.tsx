// The small parts that all views are made of.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { signal } from "@preact/signals";
import { Icon } from "./icons";
import { ApiError } from "../lib/api";
import { formatAge, formatTime, now } from "../lib/time";
import type { Answer } from "../lib/query";
import { link } from "../lib/route";

const WORDS: Record<string, string> = { dead_letter: "dead letter" };

export function Status({ status, bare }: { status: string; bare?: boolean }) {
  return (
    <span class={`status s-${status}`} title={bare ? WORDS[status] ?? status : undefined}>
      <Icon name={status} size={14} />
      <span class={bare ? "hidden" : ""}>{WORDS[status] ?? status}</span>
    </span>
  );
}

export function Age({ at, prefix }: { at: string | null | undefined; prefix?: string }) {
  if (!at) return <span class="faint">–</span>;
  return <time dateTime={at} title={formatTime(at, { ms: true })}>{prefix}{formatAge(at, now.value)}</time>;
}

export function Time({ at, ms }: { at: string | null | undefined; ms?: boolean }) {
  if (!at) return <span class="faint">–</span>;
  return <time dateTime={at} title={`${formatAge(at, now.value)}`}>{formatTime(at, { ms })}</time>;
}

/** The last characters of an id, which is enough to tell tasks apart. */
export function ShortId({ id, to }: { id: string; to?: boolean }) {
  const text = id.slice(-8);
  return to ? <a class="mono id" href={link(["tasks", id])} title={id}>{text}</a> : <span class="mono id" title={id}>{text}</span>;
}

interface ButtonProps extends Omit<JSX.HTMLAttributes<HTMLButtonElement>, "icon"> {
  icon?: string;
  kind?: "plain" | "primary" | "danger" | "ghost";
  small?: boolean;
  disabled?: boolean;
  type?: "button" | "submit";
  label?: string;
  children?: ComponentChildren;
}

export function Button({ icon, kind = "plain", small, label, children, class: extra, ...rest }: ButtonProps) {
  return (
    <button type="button" {...rest} class={`button ${kind}${small ? " small" : ""}${children ? "" : " only"} ${extra ?? ""}`}
      aria-label={label} title={label && !children ? label : rest.title}>
      {icon && <Icon name={icon} size={small ? 14 : 16} />}
      {children && <span>{children}</span>}
    </button>
  );
}

export function Copy({ text, label = "Copy" }: { text: string; label?: string }) {
  const [isDone, setDone] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // Without a secure context there is only the selection.
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    setDone(true);
    setTimeout(() => setDone(false), 1200);
  };
  return <Button kind="ghost" small icon={isDone ? "check" : "copy"} label={isDone ? "Copied" : label} onClick={copy} />;
}

export function Page({ title, actions, answer, children, lead }: {
  title: ComponentChildren; actions?: ComponentChildren; answer?: Answer<unknown>; children: ComponentChildren; lead?: ComponentChildren;
}) {
  return (
    <main class="page" id="main" tabIndex={-1}>
      <header class="page-head">
        <h1>{title}</h1>
        {answer && <Freshness answer={answer} />}
        <div class="spring" />
        {actions && <div class="actions">{actions}</div>}
      </header>
      {lead && <p class="lead">{lead}</p>}
      {children}
    </main>
  );
}

/** How old what is shown is. */
export function Freshness({ answer }: { answer: Answer<unknown> }) {
  if (!answer.at) return null;
  const age = Math.max(0, Math.round((now.value - answer.at) / 1000));
  const isOld = age > 30;
  const text = age < 5 ? "now" : age < 60 ? `${age}s ago` : `${Math.floor(age / 60)}m ago`;
  return (
    <button type="button" class={`freshness${isOld ? " old" : ""}`} onClick={answer.reload} title={`Read ${formatTime(new Date(answer.at).toISOString())}. Read again.`}>
      <span class="dot" />{text}
    </button>
  );
}

export function Panel({ title, actions, children, class: extra, note }: {
  title?: ComponentChildren; actions?: ComponentChildren; children: ComponentChildren; class?: string; note?: ComponentChildren;
}) {
  const id = useId();
  return (
    <section class={`panel ${extra ?? ""}`} aria-labelledby={title ? id : undefined}>
      {title && (
        <header class="panel-head">
          <h2 id={id}>{title}</h2>
          {note && <span class="faint note">{note}</span>}
          <div class="spring" />
          {actions}
        </header>
      )}
      {children}
    </section>
  );
}

/** The state of an answer that has no data: reading, refused, or not there on this engine. */
export function Pending({ answer, what }: { answer: Answer<unknown>; what: string }) {
  const { error } = answer;
  if (error?.isMissing) {
    return (
      <div class="empty">
        <p><strong>This engine has no {what}.</strong></p>
        <p class="faint">{error.status === 501 ? error.message : "The server answered that it does not know this route."}</p>
      </div>
    );
  }
  if (error) return <ErrorBox error={error} retry={answer.reload} />;
  return <div class="empty loading" role="status">Reading…</div>;
}

export function ErrorBox({ error, retry }: { error: ApiError | Error; retry?: () => void }) {
  return (
    <div class="notice bad" role="alert">
      <Icon name="failures" />
      <div>
        <strong>{error.message}</strong>
        {error instanceof ApiError && error.errors.filter((item) => !error.message.includes(item.message)).map((item) => (
          <div key={item.message}>{item.line ? `line ${item.line}, column ${item.column}: ` : ""}{item.message}</div>
        ))}
      </div>
      {retry && <Button small onClick={retry}>Try again</Button>}
    </div>
  );
}

/** An empty list says how to make it not empty. */
export function Empty({ title, command, children }: { title: string; command?: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p><strong>{title}</strong></p>
      {children}
      {command && <Command text={command} />}
    </div>
  );
}

export function Command({ text }: { text: string }) {
  return <div class="command"><code tabIndex={0}>{text}</code><Copy text={text} label="Copy the command" /></div>;
}

// ---- dialogs ----

export function Dialog({ title, onClose, children, wide }: {
  title: string; onClose: () => void; children: ComponentChildren; wide?: boolean;
}) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const dialog = ref.current!;
    const before = document.activeElement as HTMLElement | null;
    dialog.showModal();
    return () => {
      dialog.close();
      before?.focus?.();
    };
  }, []);
  return (
    <dialog ref={ref} class={wide ? "dialog wide" : "dialog"} aria-labelledby={id}
      onCancel={(event) => { event.preventDefault(); onClose(); }}
      onClick={(event) => { if (event.target === ref.current) onClose(); }}>
      <div class="dialog-body">
        <header class="dialog-head">
          <h2 id={id}>{title}</h2>
          <Button kind="ghost" icon="close" label="Close" onClick={onClose} />
        </header>
        {children}
      </div>
    </dialog>
  );
}

interface Asked {
  title: string;
  body?: ComponentChildren;
  act: string;
  isDangerous?: boolean;
  needsReason?: boolean;
  takesReason?: boolean;
  onYes: (reason: string) => Promise<unknown> | unknown;
}

const asked = signal<Asked | null>(null);
export const ask = (question: Asked) => {
  asked.value = question;
};

/** The one confirmation that is open. */
export function Confirmation() {
  const question = asked.value;
  return question ? <ConfirmationDialog key={question.title} question={question} /> : null;
}

function ConfirmationDialog({ question }: { question: Asked }) {
  const [reason, setReason] = useState("");
  const [error, setError] = useState<Error | null>(null);
  const [isBusy, setBusy] = useState(false);
  const close = () => {
    asked.value = null;
  };
  const yes = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      await question.onYes(reason.trim());
      if (asked.value === question) close();
    } catch (problem) {
      setError(problem as Error);
    }
    setBusy(false);
  };
  return (
    <Dialog title={question.title} onClose={close}>
      <form onSubmit={yes}>
        {question.body}
        {(question.needsReason || question.takesReason) && (
          <label class="field">
            <span>Reason{question.needsReason ? "" : " (optional)"}</span>
            <input value={reason} onInput={(event) => setReason(event.currentTarget.value)} required={question.needsReason}
              placeholder="Shown in the activity log" maxLength={500} autofocus />
          </label>
        )}
        {error && <ErrorBox error={error} />}
        <footer class="dialog-foot">
          <Button onClick={close}>Close</Button>
          <Button type="submit" kind={question.isDangerous ? "danger" : "primary"} disabled={isBusy}>{question.act}</Button>
        </footer>
      </form>
    </Dialog>
  );
}

// ---- short messages ----

interface Toast {
  id: number;
  text: string;
  isBad: boolean;
  href?: string;
}

const toasts = signal<Toast[]>([]);
let toastCount = 0;

export function notify(text: string, options: { isBad?: boolean; href?: string } = {}) {
  const id = ++toastCount;
  toasts.value = [...toasts.value.slice(-3), { id, text, isBad: options.isBad ?? false, href: options.href }];
  setTimeout(() => {
    toasts.value = toasts.value.filter((toast) => toast.id !== id);
  }, options.isBad ? 9000 : 4500);
}

/** Runs an act of a button; a failure is shown. */
export async function attempt(done: string, run: () => Promise<unknown>, href?: string): Promise<boolean> {
  try {
    await run();
    if (done) notify(done, { href });
    return true;
  } catch (error) {
    notify((error as Error).message, { isBad: true });
    return false;
  }
}

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map((toast) => (
        <div key={toast.id} class={toast.isBad ? "toast bad" : "toast"}>
          <Icon name={toast.isBad ? "failures" : "check"} />
          {toast.href ? <a href={toast.href}>{toast.text}</a> : <span>{toast.text}</span>}
        </div>
      ))}
    </div>
  );
}

// ---- menus ----

export interface MenuItem {
  text: string;
  icon?: string;
  keys?: string;
  isDangerous?: boolean;
  run: () => void;
}

export function Menu({ items, label, icon = "more", text, id }: {
  items: MenuItem[]; label: string; icon?: string; text?: string; id?: string;
}) {
  const [isOpen, setOpen] = useState(false);
  const ref = useRef<HTMLDivElement>(null);
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!isOpen) return;
    // Fixed, so that a table that scrolls doesn't cut it.
    const button = ref.current!.getBoundingClientRect();
    const box = list.current!;
    box.style.left = `${Math.max(8, Math.min(button.left, innerWidth - box.offsetWidth - 8))}px`;
    box.style.top = `${button.bottom + 4 + box.offsetHeight > innerHeight ? Math.max(8, button.top - 4 - box.offsetHeight) : button.bottom + 4}px`;
    const close = () => setOpen(false);
    document.addEventListener("scroll", close, true);
    addEventListener("resize", close);
    const away = (event: Event) => {
      if (!ref.current?.contains(event.target as Node)) setOpen(false);
    };
    document.addEventListener("pointerdown", away);
    ref.current?.querySelector<HTMLElement>("[role=menuitem]")?.focus({ preventScroll: true });
    return () => {
      document.removeEventListener("pointerdown", away);
      document.removeEventListener("scroll", close, true);
      removeEventListener("resize", close);
    };
  }, [isOpen]);
  if (!items.length) return null;
  const onKey = (event: KeyboardEvent) => {
    const all = [...(ref.current?.querySelectorAll<HTMLElement>("[role=menuitem]") ?? [])];
    const at = all.indexOf(document.activeElement as HTMLElement);
    if (event.key === "Escape") {
      setOpen(false);
      ref.current?.querySelector("button")?.focus();
    } else if (event.key === "ArrowDown") all[(at + 1) % all.length]?.focus();
    else if (event.key === "ArrowUp") all[(at + all.length - 1) % all.length]?.focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="menu" ref={ref} onKeyDown={isOpen ? onKey : undefined}>
      <Button icon={icon} id={id} label={text ? undefined : label} aria-haspopup="menu" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>{text}</Button>
      {isOpen && (
        <div class="menu-list" ref={list} role="menu" aria-label={label}>
          {items.map((item) => (
            <button type="button" role="menuitem" key={item.text} class={item.isDangerous ? "danger" : ""}
              onClick={() => { setOpen(false); item.run(); }}>
              {item.icon && <Icon name={item.icon} size={14} />}
              <span>{item.text}</span>
              {item.keys && <kbd>{item.keys}</kbd>}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}

export function Tabs({ items, value, onPick, label }: {
  items: [string, string][]; value: string; onPick: (value: string) => void; label: string;
}) {
  return (
    <div class="segments" role="group" aria-label={label}>
      {items.map(([key, text]) => (
        <button type="button" key={key} aria-pressed={value === key} onClick={() => onPick(key)}>{text}</button>
      ))}
    </div>
  );
}

/** A small line of numbers. */
export function Sparkline({ values, width = 96, height = 22, label }: {
  values: number[]; width?: number; height?: number; label: string;
}) {
  if (values.length < 2) return <span class="faint">–</span>;
  const max = Math.max(...values, 1);
  const step = width / (values.length - 1);
  const points = values.map((value, i) => `${(i * step).toFixed(1)},${(height - 2 - (value / max) * (height - 4)).toFixed(1)}`);
  return (
    <svg class="spark" width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="img" aria-label={label}>
      <polygon points={`0,${height} ${points.join(" ")} ${width},${height}`} class="fill" />
      <polyline points={points.join(" ")} />
    </svg>
  );
}

export function Bar({ value, max, label }: { value: number; max: number; label: string }) {
  const part = max > 0 ? Math.min(1, value / max) : 0;
  return (
    <span class={`bar${part >= 1 ? " full" : ""}`} role="img" aria-label={label}>
      <span style={{ width: `${part * 100}%` }} />
    </span>
  );
}

export function Facts({ items }: { items: [string, ComponentChildren][] }) {
  return (
    <dl class="facts">
      {items.map(([name, value]) => (
        <div key={name}><dt>{name}</dt><dd>{value}</dd></div>
      ))}
    </dl>
  );
}
