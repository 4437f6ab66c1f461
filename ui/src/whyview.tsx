import { useEffect, useState } from "preact/hooks";
import { type Kind, kindsOf } from "./kinds.ts";
import { ObjectLink } from "./object/link.tsx";
import type { ObjectRef } from "./objectref.ts";
import { go, type Route } from "./route.ts";
import { clockTime, duration } from "./words.ts";
import { effectOf, explain, type Explanation, type Link, objectName, type Reason, type Write, writer } from "./writes.ts";
import { type Plain, list, problemText, say } from "./language.ts";

/** WhyView shows the causes of an object's writes, back to the first one. */
export function WhyView({ route }: { route: Route }) {
  const q = Object.fromEntries(route.query) as { group?: string; resource?: string; namespace?: string; name?: string };
  const key = JSON.stringify([q.group, q.resource, q.namespace, q.name]);
  return (
    <div class="why scroll">
      <Question key={key} q={q} />
      {q.resource && q.name ? (
        <Explained of={{ ...q, resource: q.resource, name: q.name }} />
      ) : (
        <p class="dim">{say("nameAnObjectOr")}</p>
      )}
    </div>
  );
}

/** Explained is the explanation of an object, again when it has another revision. */
export function Explained({ of, revision = "" }: { of: { group?: string; resource: string; namespace?: string; name: string }; revision?: string }) {
  const [explanation, set] = useState<Explanation>();
  const [error, setError] = useState("");
  const key = [of.group, of.resource, of.namespace, of.name].join("/");
  useEffect(() => {
    set(undefined);
  }, [key]);
  useEffect(() => {
    let stale = false;
    setError("");
    explain(of).then((e) => stale || set(e), (e: Error) => stale || setError(e.message));
    return () => {
      stale = true;
    };
  }, [key, revision]);
  if (error) return <p role="alert">{error}</p>;
  return explanation ? <Answer e={explanation} /> : null;
}

/** Question asks for an object, of the kinds that the cluster serves. */
function Question({ q }: { q: { group?: string; resource?: string; namespace?: string; name?: string } }) {
  const [kinds, setKinds] = useState<Kind[]>([]);
  useEffect(() => {
    kindsOf().then(setKinds, () => {});
  }, []);
  const submit = (e: SubmitEvent) => {
    e.preventDefault();
    const data = new FormData(e.currentTarget as HTMLFormElement);
    const text = (name: string) => String(data.get(name) ?? "").trim();
    const [word = "", name = ""] = text("object").split("/");
    const kind = kinds.find((k) => [k.name, k.kind.toLowerCase()].includes(word.toLowerCase()));
    go("why", { ...(kind?.group ? { group: kind.group } : {}), resource: kind?.name ?? word, ...(kind?.namespaced === false ? {} : { namespace: text("namespace") || "default" }), name });
  };
  return (
    <form class="toolbar" onSubmit={submit}>
      <label>
        {say("object")}{" "}<input name="object" required pattern="[^\/]+\/[^\/]+" placeholder="pod/web-0" defaultValue={q.name ? `${q.resource}/${q.name}` : ""} list="kinds" size={36} />
      </label>
      <datalist id="kinds">
        {kinds.map((k) => (
          <option key={`${k.group}/${k.name}`} value={`${k.kind.toLowerCase()}/`} />
        ))}
      </datalist>
      <label>
        {say("namespace")}{" "}<input name="namespace" defaultValue={q.namespace ?? "default"} />
      </label>
      <button type="submit">{say("why")}</button>
    </form>
  );
}

/** stateText is a state that the server knows (internal/reasons) in the page's language. */
function stateText(state: string): string {
  const key = `state_${state.replaceAll(" ", "_")}`;
  const text = problemText(key);
  return text === key ? state : text;
}

function Answer({ e }: { e: Explanation }) {
  const now = e.now;
  return (
    <>
      <h2>
        <ObjectLink of={refOf(e.object)}>{objectName(e.object)}</ObjectLink>
        {e.object.namespace && <span class="dim"> {say("inNamespace", { namespace: e.object.namespace })}</span>}
        {now?.state && <span class={now.state === "ready" ? "state" : "state bad"}> {stateText(now.state)}</span>}
      </h2>
      {now?.reasons && <Reasons reasons={now.reasons} />}
      <Chain title={say("deletedBecause")} link={e.deletion} />
      <Chain title={say("lastChangedBecause")} link={e.change?.revision === e.creation?.revision ? undefined : e.change} />
      <Chain title={say("createdBecause")} link={e.creation} />
      <p class="dim">
        {e.forgotten ? say("writesRecordedForgotten", { n: e.writes, since: String(e.since), forgotten: e.forgotten }) : say("writesRecorded", { n: e.writes, since: String(e.since) })}
      </p>
    </>
  );
}

/** Reasons says why an object is not in the state that is expected of it. */
export function Reasons({ reasons }: { reasons: Reason[] }) {
  return (
    <ul class="reasons" aria-label={say("reasons")}>
      {reasons.map((r, i) => (
        <li key={i}>
          {r.object && <b>{r.object}: </b>}
          {r.source}
          {r.reason && <b> {r.reason}</b>}
          {r.message && `: ${r.message}`}
          {(r.count ?? 0) > 1 && ` ${say("timesCount", { n: r.count! })}`}
        </li>
      ))}
    </ul>
  );
}

function Chain({ title, link }: { title: string; link: Link | undefined }) {
  if (!link) return null;
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      <ol class="chain">
        <Step link={link} />
      </ol>
    </section>
  );
}

const relations: Record<string, Plain> = { owner: "relationOwner", itself: "relationItself", sameOwner: "relationSameOwner", part: "relationPart" };

/** Step is a write, and below it what caused it. */
function Step({ link, after }: { link: Link; after?: Write }) {
  const before = after ? Date.parse(after.time) - Date.parse(link.time) : 0;
  return (
    <li>
      <div class={`step ${link.effect ?? ""}`}>
        <div>
          <b>{writer(link)}</b> {effectOf(link)}{" "}
          <a href={whyLink(link)}>
            {objectName(link)}
            {link.subresource ? ` (${link.subresource})` : ""}
          </a>{" "}
          <span class="open">
            <ObjectLink of={refOf(link)}>{say("openLink")}</ObjectLink>
          </span>{" "}
          <span class="dim">
            {list([
              clockTime(Date.parse(link.time), true), before > 0 && say("timeBefore", { time: duration(before) }),
              say("revisionN", { revision: String(link.revision) }), !link.actor.endsWith(writer(link)) && say("asActor", { actor: link.actor }),
            ])}
          </span>
        </div>
        {link.inferred && <div class="dim">{say("probableCause", { relation: relations[link.inferred] ? say(relations[link.inferred]!) : link.inferred })}</div>}
        <Changes write={link} />
        {link.note && <div class="dim">{link.note}</div>}
      </div>
      {link.because && link.because.length > 0 && (
        <ol>
          {link.because.map((l) => (
            <Step key={l.revision} link={l} after={link} />
          ))}
        </ol>
      )}
    </li>
  );
}

/** refOf names the object of a write for the panel. */
export function refOf(w: Pick<Write, "resource" | "namespace" | "name">): ObjectRef {
  return { group: w.resource.group ?? "", resource: w.resource.resource, namespace: w.namespace ?? "", name: w.name };
}

export function whyLink(w: Write): string {
  const query = new URLSearchParams({ resource: w.resource.resource, name: w.name });
  if (w.resource.group) query.set("group", w.resource.group);
  if (w.namespace) query.set("namespace", w.namespace);
  return `#why?${query}`;
}

/** Changes are the fields that a write changed. */
export function Changes({ write }: { write: Write }) {
  if (!write.changes?.length) return null;
  return (
    <details>
      <summary>{write.changes.length === 1 ? write.changes[0]!.path : say("fieldsChanged", { n: write.changes.length })}</summary>
      <table>
        <tbody>
          {write.changes.map((c) => (
            <tr key={c.path}>
              <th scope="row">{c.path}</th>
              <td>
                {c.from !== undefined && <del>{c.from}</del>} {c.to !== undefined && <ins>{c.to}</ins>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}
