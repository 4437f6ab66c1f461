import { useRef, useState } from "preact/hooks";
import type { Actions } from "../actions.ts";
import { applied, applyCommand, type Document, documentsOf } from "../acts.ts";
import { getJSON, request, StatusError } from "../api.ts";
import type { Kind } from "../kinds.ts";
import { addressOf, type ObjectRef, objectPath } from "../objectref.ts";
import { toYaml } from "../printyaml.ts";
import { findKind } from "../reading.ts";
import type { KubeObject } from "../reflector.ts";
import { route } from "../route.ts";
import { templates } from "../templates.ts";
import { ObjectLink } from "./link.tsx";
import { Command, Difference, Problem } from "./parts.tsx";
import { Shell } from "./shell.tsx";
import { shown } from "./shown.ts";
import { say } from "../language.ts";

interface Result {
  document: Document;
  ref?: ObjectRef;
  /** before is empty for an object that is new. */
  before?: string;
  after?: string;
  problem?: unknown;
}

type Template = keyof typeof templates;

const none = { metadata: { name: "", uid: "", resourceVersion: "" } } as KubeObject;

async function kindOf(d: Document): Promise<Kind> {
  const group = d.apiVersion.includes("/") ? d.apiVersion.split("/")[0]! : "";
  const kind = await findKind((k) => k.kind === d.kind && k.group === group);
  if (!kind) throw new Error(say("servesNo", { kind: d.kind, version: d.apiVersion }));
  return { ...kind, groupVersion: d.apiVersion };
}

/** draft is the text with which the form is opened next. */
let draft = "";

/** createFrom opens the form with a text. */
export function createFrom(text: string): void {
  draft = text;
  const now = route();
  location.href = `${addressOf(now)}${now.query.toString() ? "&" : "?"}create=1`;
}

/** Create applies objects from YAML, and shows first what the API server would make of them. */
export function Create({ actions }: { actions: Actions }) {
  const [text, setText] = useState(() => draft || templates.templateService);
  const [namespace, setNamespace] = useState("default");
  const [force, setForce] = useState(false);
  const [results, setResults] = useState<{ of: string; done: boolean; list: Result[] }>();
  const [problem, setProblem] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const dirty = useRef(false);
  const state = JSON.stringify([text, namespace, force]);
  const one = async (document: Document, dryRun: boolean): Promise<Result> => {
    try {
      const kind = await kindOf(document);
      const ref: ObjectRef = { group: kind.group, resource: kind.name, namespace: kind.namespaced ? document.namespace || namespace : "", name: document.name };
      const path = objectPath(kind, ref);
      const before = await getJSON<KubeObject>(path).catch((e) => {
        if (e instanceof StatusError && e.code === 404) return undefined;
        throw e;
      });
      const query = `fieldManager=kubectl&fieldValidation=Strict${force ? "&force=true" : ""}${dryRun ? "&dryRun=All" : ""}`;
      const send = async () => (await (await request("PATCH", `${path}?${query}`, document.text, undefined, "application/apply-patch+yaml")).json()) as KubeObject;
      const after = dryRun ? await send() : await actions.recorded(send, applied, say("isApplied", { name: `${document.kind}/${document.name}` }));
      return { document, ref, before: before ? toYaml(shown(before)) : "", after: toYaml(shown({ ...after, metadata: { ...after.metadata, resourceVersion: (before ?? none).metadata.resourceVersion } })) };
    } catch (error) {
      return { document, problem: error };
    }
  };
  const all = async (dryRun: boolean) => {
    setBusy(true);
    setProblem(undefined);
    try {
      const list: Result[] = [];
      for (const d of documentsOf(text)) list.push(await one(d, dryRun));
      setResults({ of: state, done: !dryRun, list });
      if (!dryRun && list.every((r) => r.problem === undefined)) dirty.current = false;
    } catch (error) {
      setResults(undefined);
      setProblem(error);
    } finally {
      setBusy(false);
    }
  };
  const current = results?.of === state ? results : undefined;
  return (
    <Shell dirty={dirty} title={say("createOrChangeObjects")}>
      <form
        class="editor" aria-label={say("create")}
        onSubmit={(e) => {
          e.preventDefault();
          void all(!current || current.done);
        }}
      >
        <p class="buttons">
          <label>
            {say("beginWith")}{" "}
            <select
              onChange={(e) => {
                setText(templates[e.currentTarget.value as Template]);
                dirty.current = false;
              }}
            >
              {(Object.keys(templates) as Template[]).map((t) => (
                <option key={t} value={t}>
                  {say(t)}
                </option>
              ))}
            </select>
          </label>
          <label>
            {say("namespace")}{" "}<input name="namespace" size={14} required value={namespace} onInput={(e) => setNamespace(e.currentTarget.value.trim())} />
          </label>
          <label>
            <input type="checkbox" checked={force} onChange={(e) => setForce(e.currentTarget.checked)} />{" "}{say("takeFieldsOverFrom")}
          </label>
        </p>
        <textarea
          aria-label={say("yamlOfTheObjects")} spellcheck={false} value={text}
          onInput={(e) => {
            setText(e.currentTarget.value);
            dirty.current = true;
          }}
        />
        {problem !== undefined && <Problem error={problem} />}
        {current && <Results results={current.list} done={current.done} />}
        <p class="buttons">
          <button type="submit" class="primary" disabled={busy}>
            {say(current && !current.done ? "apply" : "tryIt")}
          </button>
        </p>
        <Command text={applyCommand(namespace, force)} />
      </form>
    </Shell>
  );
}

function Results({ results, done }: { results: Result[]; done: boolean }) {
  return (
    <ul class="cards" aria-label={say(done ? "whatWasDone" : "whatWouldBeDone")}>
      {results.map((r, i) => {
        const name = `${r.document.kind}/${r.document.name}`;
        if (r.problem !== undefined) {
          return (
            <li key={i} class="card bad">
              <b>{name}</b>
              <Problem error={r.problem} />
            </li>
          );
        }
        const same = r.before === r.after;
        const says = say(r.before === "" ? (done ? "created" : "wouldBeCreated") : same ? "staysAsItIs" : done ? "changed" : "wouldBeChanged");
        return (
          <li key={i} class={`card ${done ? "good" : "busy"}`}>
            {done && r.ref ? <ObjectLink of={r.ref}>{name}</ObjectLink> : <b>{name}</b>} {says}
            {!done && !same && (
              <details open={r.before !== ""}>
                <summary>{say(r.before === "" ? "withItsDefaults" : "theDifference")}</summary>
                <Difference before={r.before!} after={r.after!} same="" />
              </details>
            )}
          </li>
        );
      })}
    </ul>
  );
}
