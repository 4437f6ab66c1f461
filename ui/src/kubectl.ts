// The commands that do what the page does.

import type { Kind } from "./kinds.ts";
import type { ObjectRef } from "./objectref.ts";

/** quoted makes one word of a shell's command. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** target names an object as kubectl takes it: deployment/web, or caches.example.com/main for kinds of a definition. */
export function target(kind: Pick<Kind, "group" | "name" | "kind">, name: string): string {
  const own = !kind.group.includes(".") || /\.k8s\.io$/.test(kind.group);
  return `${own ? kind.kind.toLowerCase() : `${kind.name}.${kind.group}`}/${name}`;
}

/** inNamespace is the flag of a namespace that is not the default. */
export function inNamespace(namespace: string): string {
  return namespace && namespace !== "default" ? ` -n ${quoted(namespace)}` : "";
}

export function kubectl(verb: string, kind: Pick<Kind, "group" | "name" | "kind">, ref: ObjectRef, flags = ""): string {
  return `kubectl ${verb} ${quoted(target(kind, ref.name))}${inNamespace(ref.namespace)}${flags ? ` ${flags}` : ""}`;
}
