// How the cluster is, in a sentence, and what to look at.

import type { ObjectRef } from "./objectref.ts";
import type { NodeRow, PodRow } from "./rows.ts";

export interface Headline {
  tone: "good" | "busy" | "bad" | "quiet";
  says: string;
  /** problems are the objects to look at, the worst first, each with what is wrong. */
  problems: { ref: ObjectRef; name: string; says: string }[];
}

/** shownProblems is the number of problems that are named. */
export const shownProblems = 4;

const count = (n: number, one: string, many = `${one}s`) => `${n} ${n === 1 ? one : many}`;
const nodeRef = (name: string): ObjectRef => ({ group: "", resource: "nodes", namespace: "", name });
const podRef = (p: PodRow): ObjectRef => ({ group: "", resource: "pods", namespace: p.namespace, name: p.name });

/** headlineOf says how nodes and pods are. down are the nodes that are broken, whatever the API server believes of them; faults is how many last. */
export function headlineOf(nodes: Iterable<NodeRow>, pods: Iterable<PodRow>, down: ReadonlyMap<string, { says: string }[]>, faults = 0): Headline {
  const problems: Headline["problems"] = [];
  let [allNodes, allPods, moving, unready] = [0, 0, 0, 0];
  for (const n of nodes) {
    allNodes++;
    const truth = down.get(n.name)?.map((t) => t.says).join(", ");
    if (truth || !n.ready) problems.push({ ref: nodeRef(n.name), name: n.name, says: truth ?? "not ready" });
  }
  const waiting: Headline["problems"] = [];
  for (const p of pods) {
    allPods++;
    if (p.phase === "starting" || p.phase === "terminating") moving++;
    else if (p.phase === "unready") unready++;
    if (p.phase === "failed") problems.push({ ref: podRef(p), name: p.name, says: p.status });
    else if (p.phase === "unscheduled") {
      if (p.problem) waiting.push({ ref: podRef(p), name: p.name, says: "no node takes it" });
      else moving++;
    }
  }
  problems.push(...waiting);
  const rest = [faults > 0 ? count(faults, "fault lasts", "faults last") : "", moving > 0 ? `${count(moving, "pod")} on the move` : "", unready > 0 ? `${count(unready, "pod")} not ready` : ""].filter(Boolean);
  if (problems.length > 0) return { tone: "bad", says: [`${count(problems.length, "thing needs", "things need")} a look`, ...rest].join(", "), problems };
  if (rest.length > 0) return { tone: "busy", says: moving + unready > 0 ? `Working: ${rest.join(", ")}` : `${rest.join(", ")}: ${count(allNodes, "node")}, ${count(allPods, "pod")}`, problems };
  if (allNodes === 0) return { tone: "quiet", says: "No nodes yet", problems };
  if (allPods === 0) return { tone: "quiet", says: `${count(allNodes, "node is", "nodes are")} ready, and nothing runs`, problems };
  return { tone: "good", says: `All is well: ${count(allNodes, "node")}, ${count(allPods, "pod")}`, problems };
}
