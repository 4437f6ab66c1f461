// How objects refer to each other: owners, selectors, names.

import type { KubeObject } from "./reflector.ts";
import { type Plain } from "./language.ts";

export interface LabelSelector {
  matchLabels?: Record<string, string>;
  matchExpressions?: { key: string; operator: string; values?: string[] }[];
}
type Labels = Record<string, string>;

/** selects reports whether a selector matches labels. An empty one matches all. */
export function selects(s: LabelSelector, labels: Labels): boolean {
  const has = (key: string) => Object.hasOwn(labels, key);
  return (
    Object.entries(s.matchLabels ?? {}).every(([k, v]) => has(k) && labels[k] === v) &&
    (s.matchExpressions ?? []).every(({ key, operator, values = [] }) => {
      if (operator === "Exists") return has(key);
      if (operator === "DoesNotExist") return !has(key);
      const is = has(key) && values.includes(labels[key]!);
      return operator === "In" ? is : operator === "NotIn" && !is;
    })
  );
}

/** selectorText writes a selector as lists take it. */
export function selectorText(s: LabelSelector): string {
  return [
    ...Object.entries(s.matchLabels ?? {}).map(([k, v]) => `${k}=${v}`),
    ...(s.matchExpressions ?? []).map(({ key, operator, values = [] }) =>
      operator === "Exists" ? key : operator === "DoesNotExist" ? `!${key}` : `${key} ${operator.toLowerCase()} (${values.join(",")})`),
  ].join(",");
}

/** podSelector returns what selects the pods of an object: a list's query, or undefined if it has none. */
export function podSelector(o: KubeObject): string | undefined {
  const by = (text: string) => (text ? `labelSelector=${encodeURIComponent(text)}` : undefined);
  switch (o.kind) {
    case "Node":
      return `fieldSelector=${encodeURIComponent(`spec.nodeName=${o.metadata.name}`)}`;
    case "Service":
    case "ReplicationController":
      return by(selectorText({ matchLabels: o.spec?.selector ?? {} }));
    case "NetworkPolicy":
      return by(selectorText(o.spec?.podSelector ?? {})) ?? "";
    case "PodDisruptionBudget":
      return o.spec?.selector ? (by(selectorText(o.spec.selector)) ?? "") : undefined;
    case "Deployment":
    case "ReplicaSet":
    case "StatefulSet":
    case "DaemonSet":
    case "Job":
      return by(selectorText(o.spec?.selector ?? {}));
  }
  return undefined;
}

/** podLabels are the labels by which an object's pods are selected: its own if it is a pod, or its template's. */
export function podLabels(o: KubeObject): Labels | undefined {
  if (o.kind === "Pod") return o.metadata.labels ?? {};
  const template = o.kind === "CronJob" ? o.spec?.jobTemplate?.spec?.template : o.spec?.template;
  return template?.spec?.containers ? (template.metadata?.labels ?? {}) : undefined;
}

/** selectsPods reports whether a Service, NetworkPolicy or PodDisruptionBudget selects pods with these labels. */
export function selectsPods(o: KubeObject, labels: Labels): boolean {
  if (o.kind === "Service") return Object.keys(o.spec?.selector ?? {}).length > 0 && selects({ matchLabels: o.spec.selector }, labels);
  if (o.kind === "NetworkPolicy") return selects(o.spec?.podSelector ?? {}, labels);
  return o.kind === "PodDisruptionBudget" && o.spec?.selector !== undefined && selects(o.spec.selector, labels);
}

/** Named is another object that an object names, in its namespace unless the kind has none. */
export interface Named {
  resource: string;
  name: string;
  as: Plain;
}

/** namedBy returns the objects that a pod, or a workload's template, names. */
export function namedBy(o: KubeObject): Named[] {
  const spec = o.kind === "Pod" ? o.spec : o.kind === "CronJob" ? o.spec?.jobTemplate?.spec?.template?.spec : o.spec?.template?.spec;
  const found: Named[] = [];
  const add = (resource: string, name: string | undefined, as: Plain) => {
    if (name && !found.some((f) => f.resource === resource && f.name === name)) found.push({ resource, name, as });
  };
  if (o.kind === "Ingress") for (const r of o.spec?.rules ?? []) for (const p of r.http?.paths ?? []) add("services", p.backend?.service?.name, "asBackend");
  if (!spec?.containers) return found;
  add("nodes", spec.nodeName, "asNode");
  add("serviceaccounts", spec.serviceAccountName, "asServiceAccount");
  for (const v of spec.volumes ?? []) {
    add("configmaps", v.configMap?.name, "asVolume");
    add("secrets", v.secret?.secretName, "asVolume");
    add("persistentvolumeclaims", v.persistentVolumeClaim?.claimName, "asVolume");
  }
  for (const c of [...(spec.initContainers ?? []), ...spec.containers]) {
    for (const e of c.envFrom ?? []) {
      add("configmaps", e.configMapRef?.name, "asEnvironment");
      add("secrets", e.secretRef?.name, "asEnvironment");
    }
    for (const e of c.env ?? []) {
      add("configmaps", e.valueFrom?.configMapKeyRef?.name, "asEnvironment");
      add("secrets", e.valueFrom?.secretKeyRef?.name, "asEnvironment");
    }
  }
  return found;
}

/** children are the resources whose objects a kind's controllers own; for others, all are looked through. */
export const children: Record<string, [group: string, resource: string][]> = {
  Deployment: [["apps", "replicasets"]],
  ReplicaSet: [["", "pods"]],
  StatefulSet: [["", "pods"], ["apps", "controllerrevisions"]],
  DaemonSet: [["", "pods"], ["apps", "controllerrevisions"]],
  Job: [["", "pods"]],
  CronJob: [["batch", "jobs"]],
  Service: [["discovery.k8s.io", "endpointslices"]],
  Pod: [],
  Node: [],
};
