// The state of the cluster for a recording: all objects of one revision.

import { getJSON, StatusError } from "./api.ts";
import { kindsOf, versionPath } from "./kinds.ts";
import { objectsAt } from "./lists.ts";
import type { Start } from "./recording.ts";
import type { KubeObject, Page } from "./reflector.ts";

/** omitted are resources that every cluster makes for itself, or that are its history. */
const omitted = new Set([
  "events", "leases", "componentstatuses", "apiservices", "flowschemas", "prioritylevelconfigurations", "ipaddresses", "servicecidrs",
  "certificatesigningrequests", "mutatingwebhookconfigurations", "validatingwebhookconfigurations", "endpoints",
]);

/** live are the groups of objects that are not in the store, and so have no revision: metrics, faults, the clock. */
const live = /(^|\.)metrics\.k8s\.io$|^simulation\.minikcm\.dev$/;

/** own reports whether every cluster has such an object of its own. */
export function own(resource: string, o: KubeObject): boolean {
  const { name, namespace, labels } = o.metadata;
  if (labels?.["kubernetes.io/bootstrapping"] === "rbac-defaults") return true;
  if (resource === "namespaces") return /^(default|kube-system|kube-public|kube-node-lease)$/.test(name);
  if (resource === "configmaps") return name === "kube-root-ca.crt" || namespace === "kube-system";
  if (resource === "serviceaccounts") return name === "default" || namespace === "kube-system";
  if (resource === "services" || resource === "endpointslices") return namespace === "default" && name === "kubernetes";
  return resource === "priorityclasses" && name.startsWith("system-");
}

/** kept returns an object as a recording keeps it: without managed fields, and without the values of Secrets. */
export function kept(o: KubeObject): KubeObject {
  const { managedFields: _, ...metadata } = o.metadata as KubeObject["metadata"] & { managedFields?: unknown };
  const copy: KubeObject = { ...o, metadata };
  if (o.kind === "Secret") {
    copy.data = Object.fromEntries(Object.keys(o.data ?? {}).map((k) => [k, btoa(k === ".dockerconfigjson" ? '{"auths":{}}' : k === ".dockercfg" ? "{}" : "REDACTED")]));
    const { "kubectl.kubernetes.io/last-applied-configuration": _, ...annotations } = metadata.annotations ?? {};
    copy.metadata.annotations = annotations;
  }
  return copy;
}

/** readState lists the objects of the newest revision, and the cluster's time. */
export async function readState(): Promise<Start> {
  const info = await getJSON<{ clock: { now: string } }>("/minikcm/v1");
  const revision = (await getJSON<Page>("/api/v1/namespaces?limit=1")).metadata.resourceVersion;
  const start: Start = { at: Date.parse(info.clock.now), revision, objects: [], pods: new Set() };
  for (const k of await kindsOf()) {
    if (!k.listable || omitted.has(k.name) || live.test(k.group)) continue;
    try {
      for await (const o of objectsAt(`${versionPath(k.groupVersion)}/${k.name}`, revision)) {
        if (own(k.name, o)) continue;
        if (k.name === "pods" && k.group === "") start.pods.add(`${o.metadata.namespace}/${o.metadata.name}`);
        start.objects.push(JSON.stringify({ ...kept(o), apiVersion: k.groupVersion, kind: k.kind }));
      }
    } catch (error) {
      // A kind that cannot be listed is none of a scenario's, either.
      if (!(error instanceof StatusError) || error.code === 410 || error.code >= 500) throw error;
    }
  }
  return start;
}
