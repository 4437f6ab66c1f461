// What can be done with an object: the requests, the command that makes the same, and the step of a scenario that repeats it.

import type { Kind } from "./kinds.ts";
import { inNamespace, kubectl, quoted, target } from "./kubectl.ts";
import { type ObjectRef, objectPath } from "./objectref.ts";
import type { KubeObject } from "./reflector.ts";
import type { Value } from "./yaml.ts";
import { say } from "./language.ts";

export interface Sent {
  method: "PATCH" | "POST" | "PUT" | "DELETE";
  path: string;
  body: unknown;
  type: string;
}
export interface Act {
  command: string;
  sent: Sent;
  /** step repeats it in a scenario. */
  step: Record<string, Value>;
}

const merge = "application/merge-patch+json";
const strategic = "application/strategic-merge-patch+json";
const jsonPatch = "application/json-patch+json";

/** of are an act's object, its kind and its reference. */
export interface Of {
  object: KubeObject;
  kind: Kind;
  of: ObjectRef;
}

function place({ kind, of }: Of): { target: string; namespace?: string } {
  return { target: target(kind, of.name), ...(of.namespace ? { namespace: of.namespace } : {}) };
}

function patch(on: Of, body: unknown, type: string, command: string): Act {
  const name = type === merge ? "merge" : type === strategic ? "strategic" : "json";
  return { command, sent: { method: "PATCH", path: objectPath(on.kind, on.of), body, type }, step: { patch: { ...place(on), type: name, patch: body as Value } } };
}

export function scale(on: Of, replicas: number): Act {
  return {
    command: kubectl("scale", on.kind, on.of, `--replicas=${replicas}`),
    sent: { method: "PATCH", path: `${objectPath(on.kind, on.of)}/scale`, body: { spec: { replicas } }, type: merge },
    step: { scale: { ...place(on), replicas } },
  };
}

type Container = { name: string; image?: string };

/** imageContainers returns the containers whose images can be set: a pod's, or those of a workload's template. */
export function imageContainers(o: KubeObject): Container[] {
  const spec = o.kind === "Pod" ? o.spec : o.spec?.template?.spec;
  return Array.isArray(spec?.containers) ? spec.containers : [];
}

export function setImage(on: Of, container: string, image: string): Act {
  const containers = [{ name: container, image }];
  const body = { spec: on.object.kind === "Pod" ? { containers } : { template: { spec: { containers } } } };
  return patch(on, body, strategic, kubectl("set image", on.kind, on.of, quoted(`${container}=${image}`)));
}

/** restart does what "kubectl rollout restart" does: the template gets a time. */
export function restart(on: Of, now: number): Act {
  const at = `${new Date(now).toISOString().slice(0, 19)}Z`;
  return patch(on, { spec: { template: { metadata: { annotations: { "kubectl.kubernetes.io/restartedAt": at } } } } }, strategic, kubectl("rollout restart", on.kind, on.of));
}

export function pauseRollout(on: Of, paused: boolean): Act {
  return patch(on, { spec: { paused: paused || null } }, strategic, kubectl(paused ? "rollout pause" : "rollout resume", on.kind, on.of));
}

export function suspend(on: Of, suspended: boolean): Act {
  return patch(on, { spec: { suspend: suspended } }, merge, kubectl("patch", on.kind, on.of, `--type=merge -p '{"spec":{"suspend":${suspended}}}'`));
}

export function cordon(on: Of, cordoned: boolean): Act {
  return patch(on, { spec: { unschedulable: cordoned || null } }, strategic, `kubectl ${cordoned ? "cordon" : "uncordon"} ${quoted(on.of.name)}`);
}

/** Earlier is a revision of a workload's template. */
export interface Earlier {
  revision: number;
  images: string;
  template: unknown;
  /** data is a ControllerRevision's patch. */
  data?: unknown;
}

/** earlierOf returns the revisions that a workload can go back to, newest first. */
export function earlierOf(o: { metadata: { uid: string } }, owned: KubeObject[]): Earlier[] {
  return templatesOf(o, owned).slice(1); // the newest is the one that it has
}

/** templatesOf returns the revisions of a workload's template, newest first, from its ReplicaSets or ControllerRevisions. */
export function templatesOf(o: { metadata: { uid: string } }, owned: KubeObject[]): Earlier[] {
  const mine = owned.filter((x) => x.metadata.ownerReferences?.some((r) => r.uid === o.metadata.uid));
  const images = (t: { spec?: { containers?: Container[] } } | undefined) => (t?.spec?.containers ?? []).map((c) => c.image).join(", ");
  const all = mine.map((x): Earlier => {
    if (x.data) return { revision: x.revision, images: images(x.data.spec?.template), template: x.data.spec?.template, data: x.data };
    return { revision: Number(x.metadata.annotations?.["deployment.kubernetes.io/revision"] ?? 0), images: images(x.spec?.template), template: x.spec?.template };
  });
  return all.filter((e) => e.revision > 0).sort((a, b) => b.revision - a.revision);
}

/** undo goes back to a revision as "kubectl rollout undo" does. */
export function undo(on: Of, to: Earlier): Act {
  const command = kubectl("rollout undo", on.kind, on.of, `--to-revision=${to.revision}`);
  if (to.data) return patch(on, to.data, strategic, command);
  const template = structuredClone(to.template) as { metadata?: { labels?: Record<string, string> } };
  delete template.metadata?.labels?.["pod-template-hash"];
  return patch(on, [{ op: "replace", path: "/spec/template", value: template }], jsonPatch, command);
}

export function remove(on: Of): Act {
  return {
    command: kubectl("delete", on.kind, on.of),
    sent: { method: "DELETE", path: objectPath(on.kind, on.of), body: { kind: "DeleteOptions", apiVersion: "v1", propagationPolicy: "Background" }, type: "application/json" },
    step: { delete: place(on) },
  };
}

/** serverFields are those of the metadata that a scenario's step must not have. */
const serverFields = ["uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "selfLink"];

export function applied(o: KubeObject): Record<string, Value> {
  const { status: _, metadata, ...rest } = o;
  const own = Object.fromEntries(Object.entries(metadata).filter(([k]) => !serverFields.includes(k)));
  return { apply: { objects: [{ ...rest, metadata: own } as Value] } };
}

/** edited repeats an edit: the fields of the object, its labels and annotations become those that it has then. */
export function edited(on: Of, after: KubeObject): Record<string, Value> {
  const same = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);
  const changes: Value[] = [];
  const change = (path: string, before: unknown, value: unknown) => {
    if (same(before, value)) return;
    changes.push(value === undefined ? { op: "remove", path } : { op: "add", path, value: value as Value });
  };
  for (const field of new Set([...Object.keys(on.object), ...Object.keys(after)])) {
    if (!["apiVersion", "kind", "metadata", "status"].includes(field)) change(`/${field}`, on.object[field], after[field]);
  }
  for (const field of ["labels", "annotations"] as const) change(`/metadata/${field}`, on.object.metadata[field], after.metadata[field]);
  return { patch: { ...place(on), type: "json", patch: changes } };
}

/** Drained is what a drain does with a pod of the node. */
export interface Drained {
  evict: KubeObject[];
  /** stays are pods that a drain leaves, refuses are those for which it does not begin, with the flag that it wants. */
  stays: number;
  refuses: { name: string; why: string }[];
}

/** drainedPods decides as "kubectl drain --ignore-daemonsets" does. */
export function drainedPods(pods: KubeObject[], force: boolean, emptyDir: boolean): Drained {
  const plan: Drained = { evict: [], stays: 0, refuses: [] };
  for (const p of pods) {
    const controller: { kind: string } | undefined = p.metadata.ownerReferences?.find((r) => r.controller);
    const finished = p.status?.phase === "Succeeded" || p.status?.phase === "Failed";
    if (p.metadata.annotations?.["kubernetes.io/config.mirror"] || (controller?.kind === "DaemonSet" && !finished)) plan.stays++;
    else if (!controller && !finished && !force) plan.refuses.push({ name: p.metadata.name, why: say("noControllerMakes") });
    else if (!finished && !emptyDir && (p.spec?.volumes ?? []).some((v: { emptyDir?: unknown }) => v.emptyDir)) plan.refuses.push({ name: p.metadata.name, why: say("emptyDirLost") });
    else plan.evict.push(p);
  }
  return plan;
}

export function drainCommand(node: string, force: boolean, emptyDir: boolean): string {
  return `kubectl drain ${quoted(node)} --ignore-daemonsets${emptyDir ? " --delete-emptydir-data" : ""}${force ? " --force" : ""}`;
}

export interface Document {
  text: string;
  apiVersion: string;
  kind: string;
  namespace: string;
  name: string;
}

const value = (text: string) => text.trim().replace(/\s#.*$/, "").replace(/^(["'])(.*)\1$/, "$2");

/** documentsOf splits YAML or JSON into objects, and reads their kinds and names, which the path of a request needs; the API server reads the rest. It throws an error for a text that has none. */
export function documentsOf(text: string): Document[] {
  const parts = text.split(/^---.*$/m).filter((p) => p.replace(/^\s*#.*$/gm, "").trim());
  return parts.map((part, i) => {
    const which = parts.length > 1 ? say("objectN", { n: i + 1 }) : say("theObject");
    let found: Omit<Document, "text">;
    if (part.trim().startsWith("{")) {
      const o = JSON.parse(part) as KubeObject;
      found = { apiVersion: o.apiVersion ?? "", kind: o.kind ?? "", namespace: o.metadata?.namespace ?? "", name: o.metadata?.name ?? "" };
    } else {
      const field = (name: string, of = part) => value(new RegExp(`^${name}:[ \\t]+(.+)$`, "m").exec(of)?.[1] ?? "");
      const block = /^metadata:[ \t]*(?:#.*)?\n((?:[ \t]+.*\n?|[ \t]*\n|#.*\n)*)/m.exec(part)?.[1] ?? "";
      const indent = /^([ \t]+)\S/m.exec(block)?.[1] ?? "  ";
      const inner = block.split("\n").filter((l) => l.startsWith(indent)).map((l) => l.slice(indent.length)).join("\n");
      const flow = /^metadata:[ \t]*\{(.*)\}/m.exec(part)?.[1] ?? "";
      const ofFlow = (name: string) => value(new RegExp(`(?:^|[,{]\\s*|\\s)${name}:\\s*([^,}]+)`).exec(flow.replace(/\{[^}]*\}/g, ""))?.[1] ?? "");
      found = { apiVersion: field("apiVersion"), kind: field("kind"), namespace: field("namespace", inner) || ofFlow("namespace"), name: field("name", inner) || ofFlow("name") };
    }
    if (!found.apiVersion || !found.kind) throw new Error(say("noApiVersion", { which }));
    if (!found.name) throw new Error(say("noName", { which, kind: found.kind }));
    return { text: part, ...found };
  });
}

export function applyCommand(namespace: string, force: boolean): string {
  return `kubectl apply --server-side${force ? " --force-conflicts" : ""}${inNamespace(namespace)} -f FILE`;
}
