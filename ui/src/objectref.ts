// References to objects, as routes have them: #cluster?object=apps/deployments/default/web.

import { type Kind, versionPath } from "./kinds.ts";
import type { Route } from "./route.ts";

export interface ObjectRef {
  group: string;
  /** resource is the plural name, namespace empty for objects of the cluster. */
  resource: string;
  namespace: string;
  name: string;
}

/** tabs are the parts of an object's panel, in their order. */
export const tabs = ["overview", "yaml", "events", "related", "logs", "why", "history"] as const;
export type Tab = (typeof tabs)[number];

export function formatRef(r: ObjectRef): string {
  return [r.group, r.resource, r.namespace, r.name].map(encodeURIComponent).join("/");
}

/** parseRef reads what formatRef writes; undefined if it is none. */
export function parseRef(text: string | null): ObjectRef | undefined {
  const parts = (text ?? "").split("/");
  if (parts.length !== 4) return undefined;
  try {
    const [group, resource, namespace, name] = parts.map(decodeURIComponent) as [string, string, string, string];
    return resource && name ? { group, resource, namespace, name } : undefined;
  } catch {
    return undefined;
  }
}

/** addressOf returns the address of a route whose panel shows an object; without one, of the route without its panel. */
export function addressOf({ view, query }: Route, ref?: ObjectRef, tab?: Tab, revision?: number): string {
  const next = new URLSearchParams(query);
  for (const name of ["object", "tab", "rev", "create"]) next.delete(name);
  if (ref) next.set("object", formatRef(ref));
  if (tab && tab !== "overview") next.set("tab", tab);
  if (revision) next.set("rev", String(revision));
  const text = next.toString();
  // Beginning with ./ it is no link to a part of the page, which it is not.
  return `./#${view}${text ? `?${text}` : ""}`;
}

/** collectionPath is where the objects of a kind are: in a namespace, or in all. */
export function collectionPath(kind: Kind, namespace: string): string {
  return `${versionPath(kind.groupVersion)}${kind.namespaced && namespace ? `/namespaces/${namespace}` : ""}/${kind.name}`;
}

export function objectPath(kind: Kind, r: ObjectRef): string {
  return `${collectionPath(kind, r.namespace)}/${r.name}`;
}
