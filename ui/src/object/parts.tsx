import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { StatusError } from "../api.ts";
import type { Clock } from "../clock.ts";
import { diff, hunks } from "../diff.ts";
import { lineText, yamlLines } from "../printyaml.ts";
import { duration } from "../words.ts";
import { say } from "../language.ts";

/** Command is a command that does the same, with a button that copies it. */
export function Command({ text }: { text: string }) {
  const [copied, setCopied] = useState(false);
  const copy = () => {
    void navigator.clipboard.writeText(text).then(() => {
      setCopied(true);
      setTimeout(() => setCopied(false), 1500);
    });
  };
  return (
    <div class="command">
      <code>{text}</code>
      <button type="button" aria-label={say("copyText", { text })} onClick={copy}>
        {say(copied ? "copied" : "copy")}
      </button>
    </div>
  );
}

/** Age is the time since a moment, on the cluster's clock. The panel draws it again every second. */
export function Age({ since, clock }: { since: string | null | undefined; clock: Clock }) {
  if (!since) return null;
  return (
    <time dateTime={since} title={since}>
      {duration(Math.max(0, clock.now() - Date.parse(since)))}
    </time>
  );
}

/** useTick draws a component again every second, while time passes. */
export function useTick(on = true): void {
  const [, render] = useState(0);
  useEffect(() => {
    if (!on) return;
    const timer = setInterval(() => render((n) => n + 1), 1000);
    return () => clearInterval(timer);
  }, [on]);
}

/** Problem is an error with the causes that the API server gives. */
export function Problem({ error }: { error: unknown }) {
  const causes = error instanceof StatusError ? error.causes.filter((c) => c.field || c.message) : [];
  return (
    <div class="error" role="alert">
      <p>{error instanceof Error ? error.message : String(error)}</p>
      {causes.length > 0 && (
        <ul aria-label={say("causes")}>
          {causes.map((c, i) => (
            <li key={i}>
              {c.field && <code>{c.field}</code>} {c.message}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** Yaml is an object as coloured YAML. */
export function Yaml({ object }: { object: unknown }) {
  return (
    // biome-ignore lint: what scrolls can be reached by keys
    <pre class="yaml" tabIndex={0} aria-label={say("yaml")}>
      {yamlLines(object).map((l, i) => (
        <span key={i}>
          {l.lead}
          {l.key !== undefined && <span class="key-name">{lineText({ lead: "", key: l.key, path: "" })}</span>}
          {l.key !== undefined && l.value !== undefined && " "}
          {l.value !== undefined && <span class={`is-${l.type}`}>{l.value}</span>}
          {"\n"}
        </span>
      ))}
    </pre>
  );
}

/** Difference shows the lines that differ, and a few around them. */
export function Difference({ before, after, same }: { before: string; after: string; same: string }) {
  const found = hunks(diff(before, after));
  if (found.length === 0) return <p class="dim">{same}</p>;
  return (
    // biome-ignore lint: what scrolls can be reached by keys
    <pre class="diff" tabIndex={0} aria-label={say("difference")}>
      {found.map((h, i) => (
        <span key={i}>
          {h.skipped > 0 && <span class="dim">{`  ··· ${say("linesSame", { n: h.skipped })}\n`}</span>}
          {h.lines.map((l, k) =>
            l.sign === "+" ? <ins key={k}>{`+ ${l.text}\n`}</ins> : l.sign === "-" ? <del key={k}>{`- ${l.text}\n`}</del> : <span key={k}>{`  ${l.text}\n`}</span>,
          )}
        </span>
      ))}
    </pre>
  );
}

export function Part({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <section class="part" aria-label={title}>
      <h3>{title}</h3>
      {children}
    </section>
  );
}

/** Empty says that there is nothing, and what would show more. */
export function Empty({ children, command }: { children: ComponentChildren; command?: string }) {
  return (
    <div class="empty">
      <p>{children}</p>
      {command && <Command text={command} />}
    </div>
  );
}
