// Objects as the panel prints them.

import type { KubeObject } from "../reflector.ts";

type Meta = KubeObject["metadata"] & { managedFields?: unknown[] };

const hiddenValue = "••••••";

/** shown is an object without its managed fields, and with the values of a Secret hidden. */
export function shown(o: KubeObject, secrets = false): KubeObject {
  const { managedFields: _, ...metadata } = o.metadata as Meta;
  const copy: KubeObject = { ...o, metadata };
  if (o.kind !== "Secret" || secrets) return copy;
  for (const field of ["data", "stringData"]) if (o[field]) copy[field] = Object.fromEntries(Object.keys(o[field]).map((k) => [k, hiddenValue]));
  const { "kubectl.kubernetes.io/last-applied-configuration": applied, ...annotations } = metadata.annotations ?? {};
  if (applied) copy.metadata = { ...metadata, annotations };
  return copy;
}

export function managedFields(o: KubeObject): { manager?: string; operation?: string; subresource?: string; time?: string; fieldsV1?: unknown }[] {
  return ((o.metadata as Meta).managedFields ?? []) as { manager?: string }[];
}
