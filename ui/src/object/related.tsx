import { useEffect, useState } from "preact/hooks";
import { getJSON } from "../api.ts";
import type { Kind } from "../kinds.ts";
import { objectsAt } from "../lists.ts";
import { collectionPath, type ObjectRef } from "../objectref.ts";
import { allKinds, findKind } from "../reading.ts";
import type { KubeObject, Page } from "../reflector.ts";
import { children, namedBy, podLabels, selectsPods } from "../relations.ts";
import { healthOf } from "./health.ts";
import { ObjectLink } from "./link.tsx";
import { Part } from "./parts.tsx";
import { type Plain, list, say } from "../language.ts";

/** Related is another object, and how it is related. */
interface Found {
  ref: ObjectRef;
  kind: string;
  object?: KubeObject;
  as?: Plain;
}
interface Answer {
  owns: Found[];
  selectedBy: Found[];
  names: Found[];
  /** failed are the kinds that could not be listed. */
  failed: string[];
}

/** passed are resources whose objects are not looked through for owners: there are many, and no controller's plan is in them. */
const passed = new Set(["events", "leases", "componentstatuses", "endpoints"]);
const listed = 500;

async function listAll(kind: Kind, namespace: string, at: number): Promise<KubeObject[]> {
  const path = collectionPath(kind, namespace);
  const items: KubeObject[] = [];
  if (at) for await (const o of objectsAt(path, String(at))) items.push(o);
  else {
    let token = "";
    do {
      const page = await getJSON<Page>(`${path}?limit=${listed}${token ? `&continue=${encodeURIComponent(token)}` : ""}`);
      items.push(...page.items);
      token = page.metadata.continue ?? "";
    } while (token);
  }
  return items.map((o) => ({ ...o, kind: kind.kind, apiVersion: kind.groupVersion }));
}

const refOf = (kind: Kind, o: KubeObject): ObjectRef => ({ group: kind.group, resource: kind.name, namespace: o.metadata.namespace ?? "", name: o.metadata.name });

async function read(o: KubeObject, at: number): Promise<Answer> {
  const answer: Answer = { owns: [], selectedBy: [], names: [], failed: [] };
  const kinds = await allKinds();
  const namespace = o.metadata.namespace ?? "";
  const known = children[o.kind];
  const of = (group: string, resource: string) => kinds.find((k) => k.group === group && k.name === resource);
  const owners = known ? known.flatMap(([g, r]) => of(g, r) ?? []) : kinds.filter((k) => k.listable && (k.namespaced || !namespace) && !passed.has(k.name) && !/(^|\.)metrics\.k8s\.io$|^simulation\.minikcm\.dev$/.test(k.group));
  const labels = podLabels(o);
  const selecting = labels ? [of("", "services"), of("networking.k8s.io", "networkpolicies"), of("policy", "poddisruptionbudgets")].flatMap((k) => k ?? []) : [];
  const scaling = labels || o.spec?.replicas !== undefined ? of("autoscaling", "horizontalpodautoscalers") : undefined;
  const each = async (kind: Kind, use: (found: KubeObject) => void) => {
    try {
      for (const found of await listAll(kind, namespace, at)) use(found);
    } catch {
      answer.failed.push(kind.name);
    }
  };
  await Promise.all([
    ...owners.map((k) => each(k, (x) => {
      if (x.metadata.ownerReferences?.some((r) => r.uid === o.metadata.uid)) answer.owns.push({ ref: refOf(k, x), kind: k.kind, object: x });
    })),
    ...selecting.map((k) => each(k, (x) => {
      if (selectsPods(x, labels!)) answer.selectedBy.push({ ref: refOf(k, x), kind: k.kind, object: x });
    })),
    ...(scaling ? [each(scaling, (x) => {
      if (x.spec?.scaleTargetRef?.kind === o.kind && x.spec.scaleTargetRef.name === o.metadata.name) answer.selectedBy.push({ ref: refOf(scaling, x), kind: scaling.kind, object: x, as: "scalesIt" });
    })] : []),
  ]);
  for (const n of namedBy(o)) {
    const kind = await findKind((k) => k.group === "" && k.name === n.resource);
    if (kind) answer.names.push({ ref: { group: "", resource: n.resource, namespace: kind.namespaced ? namespace : "", name: n.name }, kind: kind.kind, as: n.as });
  }
  const byName = (a: Found, b: Found) => a.kind.localeCompare(b.kind) || a.ref.name.localeCompare(b.ref.name);
  answer.owns.sort(byName);
  answer.selectedBy.sort(byName);
  return answer;
}

export function Related({ object, at }: { object: KubeObject; at: number }) {
  const [answer, set] = useState<Answer>();
  const [error, setError] = useState("");
  useEffect(() => {
    let stale = false;
    read(object, at).then((a) => stale || set(a), (e: Error) => stale || setError(e.message));
    return () => {
      stale = true;
    };
  }, [object.metadata.uid, object.metadata.resourceVersion, at]);
  if (error) return <p role="alert">{error}</p>;
  if (!answer) return <p class="dim">{say("lookingThroughTheObjects")}</p>;
  return (
    <>
      <Links title={say("itOwns")} found={answer.owns} none={say("noObjectsAreOwned")} />
      <Links title={say("servicesPoliciesBudgetsAnd")} found={answer.selectedBy} none={say("noneSelectsIt")} />
      {answer.names.length > 0 && <Links title={say("itNames")} found={answer.names} none="" />}
      {answer.failed.length > 0 && <p class="dim">{say("notListed", { kinds: list(answer.failed) })}</p>}
    </>
  );
}

function Links({ title, found, none }: { title: string; found: Found[]; none: string }) {
  return (
    <Part title={title}>
      {found.length === 0 && <p class="dim">{none}</p>}
      <ul class="plain">
        {found.map((f) => {
          const health = f.object && healthOf(f.object);
          return (
            <li key={`${f.kind}/${f.ref.name}`}>
              <span class="dim">{f.kind}</span> <ObjectLink of={f.ref}>{f.ref.name}</ObjectLink> {f.as && <span class="dim">{say(f.as)}</span>}
              {health?.word && <span class={`tone ${health.tone}`}>{health.word}</span>}
            </li>
          );
        })}
      </ul>
    </Part>
  );
}

interface Owner {
  kind: string;
  ref: ObjectRef;
}

/** Owners is the chain of an object's controllers, the outermost first. */
export function OwnerChain({ object, at }: { object: KubeObject; at: number }) {
  const [chain, set] = useState<Owner[]>([]);
  const references = JSON.stringify(object.metadata.ownerReferences ?? []);
  useEffect(() => {
    let stale = false;
    ownersOf(object, at).then((c) => stale || set(c), () => {});
    return () => {
      stale = true;
    };
  }, [object.metadata.uid, references, at]);
  if (chain.length === 0) return null;
  return (
    <nav class="owners" aria-label={say("owners")}>
      {chain.map((o) => (
        <span key={o.ref.name}>
          <ObjectLink of={o.ref}>
            {o.kind}/{o.ref.name}
          </ObjectLink>
          <span class="dim"> → </span>
        </span>
      ))}
      <span>
        {object.kind}/{object.metadata.name}
      </span>
    </nav>
  );
}

/** deepest limits the length of a chain of owners. */
const deepest = 8;

async function ownersOf(o: KubeObject, at: number): Promise<Owner[]> {
  const chain: Owner[] = [];
  const seen = new Set([o.metadata.uid]);
  for (let of: KubeObject | undefined = o; of && chain.length < deepest; ) {
    type Reference = { apiVersion?: string; kind: string; name: string; uid?: string; controller?: boolean };
    const all: Reference[] = of.metadata.ownerReferences ?? [];
    const owner: Reference | undefined = all.find((r) => r.controller) ?? all[0];
    if (!owner || seen.has(owner.uid ?? "")) break;
    seen.add(owner.uid ?? "");
    const group = owner.apiVersion?.includes("/") ? owner.apiVersion.split("/")[0]! : "";
    const kind = await findKind((k) => k.kind === owner.kind && k.group === group);
    if (!kind) break;
    const ref: ObjectRef = { group, resource: kind.name, namespace: kind.namespaced ? (of.metadata.namespace ?? "") : "", name: owner.name };
    chain.unshift({ kind: kind.kind, ref });
    const query = `fieldSelector=${encodeURIComponent(`metadata.name=${owner.name}`)}${at ? `&resourceVersion=${at}&resourceVersionMatch=Exact` : ""}`;
    of = (await getJSON<Page>(`${collectionPath(kind, ref.namespace)}?${query}&limit=1`).catch(() => undefined))?.items[0];
  }
  return chain;
}
