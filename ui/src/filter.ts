// Filters of pods: by namespace, by labels with kubectl's selectors, by owner.

import type { PodRow } from "./rows.ts";

export interface Filter {
  namespace: string;
  labels: string;
  owner: string;
}
export const noFilter: Filter = { namespace: "", labels: "", owner: "" };

type Requirement = (labels: Record<string, string>) => boolean;

/** selector parses a=b, a!=b, a in (b,c), a notin (b,c), a and !a, joined by commas. It returns undefined for what is none. */
export function selector(text: string): Requirement[] | undefined {
  const requirements: Requirement[] = [];
  const parts = text.match(/(?:[^,(]|\([^)]*\))+/g) ?? [];
  for (const part of parts.map((p) => p.trim()).filter(Boolean)) {
    const set = /^(\S+)\s+(in|notin)\s*\(([^)]*)\)$/.exec(part);
    const equal = /^([^\s!=]+)\s*(=|==|!=)\s*([^\s!=]*)$/.exec(part);
    const exists = /^(!?)\s*([^\s!=()]+)$/.exec(part);
    if (set) {
      const [, key, word, list] = set as unknown as [string, string, string, string];
      const values = new Set(list.split(",").map((v) => v.trim()));
      requirements.push((l) => (key in l && values.has(l[key]!)) === (word === "in"));
    } else if (equal) {
      const [, key, sign, value] = equal as unknown as [string, string, string, string];
      requirements.push((l) => (l[key] === value) === (sign !== "!="));
    } else if (exists) {
      const [, not, key] = exists as unknown as [string, string, string];
      requirements.push((l) => key in l === (not === ""));
    } else {
      return undefined;
    }
  }
  return requirements;
}

/** matcher returns what a pod must be to be shown in full; undefined if the labels are no selector. */
export function matcher(f: Filter): ((p: PodRow) => boolean) | undefined {
  const requirements = selector(f.labels);
  if (!requirements) return undefined;
  const owner = f.owner.trim().toLowerCase();
  return (p) =>
    (f.namespace === "" || p.namespace === f.namespace) &&
    (owner === "" || p.owner.toLowerCase().includes(owner)) &&
    requirements.every((r) => r(p.labels));
}
