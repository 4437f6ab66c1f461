import { useEffect, useRef, useState } from "preact/hooks";
import type { Actions } from "../actions.ts";
import { applied, applyCommand, type Document, documentsOf } from "../acts.ts";
import { getJSON, request, StatusError } from "../api.ts";
import { begun, formOf, forms, type FormName, type Made, type Pools } from "../forms.ts";
import type { Kind } from "../kinds.ts";
import { addressOf, type ObjectRef, objectPath } from "../objectref.ts";
import { toYaml } from "../printyaml.ts";
import { findKind } from "../reading.ts";
import type { KubeObject } from "../reflector.ts";
import { route } from "../route.ts";
import { templates } from "../templates.ts";
import { Fields } from "./fields.tsx";
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
type Begin = FormName | Template;
const isForm = (b: Begin): b is FormName => Object.hasOwn(forms, b);

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
  openCreate();
}

/** openCreate opens the form beside the view, with one of the forms if it is named. */
export function openCreate(form: FormName | "" = ""): void {
  const address = addressOf(route());
  location.href = `${address}${address.includes("?") ? "&" : "?"}create=${form || 1}`;
}

const poolsPath = "/apis/simulation.minikcm.dev/v1alpha1/nodepools";

/** usePools reads the pools, again when something was done; undefined where the cluster has none, as forks do. */
function usePools(done: unknown): Pools | undefined {
  const [pools, set] = useState<Pools>();
  useEffect(() => {
    getJSON<{ items: KubeObject[] }>(poolsPath).then((l) => set(Object.fromEntries(l.items.map((p) => [p.metadata.name, p.spec.nodes as number]))), () => set(undefined));
  }, [done]);
  return pools;
}

/** make returns what a form makes, and its YAML. */
function make(begin: Begin, values: Record<string, string>, namespace: string, pools: Pools): Made & { text: string } {
  if (!isForm(begin)) return { objects: [], commands: [], text: templates[begin] };
  const made = formOf(begin).make(values, namespace, pools);
  return { ...made, text: made.objects.map(toYaml).join("---\n") };
}

/** Create applies objects from a form or from YAML, and shows first what the API server would make of them. */
export function Create({ actions }: { actions: Actions }) {
  const asked = route().query.get("create") as Begin;
  const [begin, setBegin] = useState<Begin>(() => (Object.hasOwn(forms, asked) ? asked : "templateService"));
  const [values, setValues] = useState(() => begun(formOf(isForm(begin) ? begin : "templateService")));
  const [own, setOwn] = useState(() => {
    const text = draft || undefined;
    draft = "";
    return text;
  });
  const [namespace, setNamespace] = useState("default");
  const [taken, setTaken] = useState(false);
  const [results, setResults] = useState<{ of: string; done: boolean; list: Result[] }>();
  const pools = usePools(results);
  const made = make(begin, values, namespace, pools ?? {});
  const text = own ?? made.text;
  const settled = isForm(begin) ? (formOf(begin).settled?.(values, pools ?? {}) ?? []) : [];
  const force = taken || settled.length > 0; // a pool's number of nodes belongs to the last who has set it
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
              value={begin}
              onChange={(e) => {
                const next = e.currentTarget.value as Begin;
                setBegin(next);
                if (isForm(next)) setValues(begun(formOf(next)));
                setOwn(undefined);
                dirty.current = false;
              }}
            >
              <optgroup label={say("aForm")}>
                {(Object.keys(forms) as FormName[]).filter((t) => t !== "formNodes" || pools).map((t) => (
                  <option key={t} value={t}>
                    {say(t)}
                  </option>
                ))}
              </optgroup>
              <optgroup label={say("yaml")}>
                {(Object.keys(templates) as Template[]).map((t) => (
                  <option key={t} value={t}>
                    {say(t)}
                  </option>
                ))}
              </optgroup>
            </select>
          </label>
          {begin !== "formNodes" && (
            <label>
              {say("namespace")}{" "}<input name="namespace" size={14} required value={namespace} onInput={(e) => setNamespace(e.currentTarget.value.trim())} />
            </label>
          )}
          {begin !== "formNodes" && (
            <label>
              <input type="checkbox" checked={taken} onChange={(e) => setTaken(e.currentTarget.checked)} />{" "}{say("takeFieldsOverFrom")}
            </label>
          )}
        </p>
        {isForm(begin) && own === undefined && (
          <Fields
            fields={formOf(begin).fields} values={values} settled={settled} suggestions={begin === "formNodes" ? { pool: Object.keys(pools ?? {}) } : {}}
            change={(name, value) => {
              setValues({ ...values, [name]: value });
              dirty.current = true;
            }}
          />
        )}
        {isForm(begin) && own !== undefined && (
          <p class="dim">
            {say("yamlIsYours")}{" "}
            <button
              type="button"
              onClick={() => {
                setOwn(undefined);
                dirty.current = false;
              }}
            >
              {say("backToTheForm")}
            </button>
          </p>
        )}
        <textarea
          class={isForm(begin) && own === undefined ? "made" : undefined} aria-label={say("yamlOfTheObjects")} spellcheck={false} value={text}
          onInput={(e) => {
            setOwn(e.currentTarget.value);
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
        {own === undefined && made.commands.length > 0 ? made.commands.map((c) => <Command key={c} text={c} />) : <Command text={applyCommand(namespace, force)} />}
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
