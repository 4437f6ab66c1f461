// How the cluster is, in a sentence, and what to look at.

import type { ObjectRef } from "./objectref.ts";
import type { NodeRow, PodRow } from "./rows.ts";
import { type Plain, list, say } from "./language.ts";

export interface Headline {
  tone: "good" | "busy" | "bad" | "quiet";
  says: string;
  /** problems are the objects to look at, the worst first, each with what is wrong. */
  problems: { ref: ObjectRef; name: string; says: string }[];
}

/** shownProblems is the number of problems that are named. */
export const shownProblems = 4;

const nodeRef = (name: string): ObjectRef => ({ group: "", resource: "nodes", namespace: "", name });
const podRef = (p: PodRow): ObjectRef => ({ group: "", resource: "pods", namespace: p.namespace, name: p.name });

/** headlineOf says how nodes and pods are. down are the nodes that are broken, whatever the API server believes of them; faults is how many last. */
export function headlineOf(nodes: Iterable<NodeRow>, pods: Iterable<PodRow>, down: ReadonlyMap<string, { says: Plain }[]>, faults = 0): Headline {
  const problems: Headline["problems"] = [];
  let [allNodes, allPods, moving, unready] = [0, 0, 0, 0];
  for (const n of nodes) {
    allNodes++;
    const truth = list((down.get(n.name) ?? []).map((t) => say(t.says)));
    if (truth || !n.ready) problems.push({ ref: nodeRef(n.name), name: n.name, says: truth || say("notReady") });
  }
  const waiting: Headline["problems"] = [];
  for (const p of pods) {
    allPods++;
    if (p.phase === "starting" || p.phase === "terminating") moving++;
    else if (p.phase === "unready") unready++;
    if (p.phase === "failed") problems.push({ ref: podRef(p), name: p.name, says: p.status });
    else if (p.phase === "unscheduled") {
      if (p.problem) waiting.push({ ref: podRef(p), name: p.name, says: say("noNodeTakesIt") });
      else moving++;
    }
  }
  problems.push(...waiting);
  const all = say("nodesAndPods", { nodes: allNodes, pods: allPods });
  const rest = [faults > 0 && say("faultsLast", { n: faults }), moving > 0 && say("podsOnTheMove", { n: moving }), unready > 0 && say("podsNotReady", { n: unready })].filter((s) => s !== false);
  if (problems.length > 0) return { tone: "bad", says: list([say("needALook", { n: problems.length }), ...rest]), problems };
  if (rest.length > 0) return { tone: "busy", says: moving + unready > 0 ? say("working", { what: list(rest) }) : say("withAll", { what: list(rest), all }), problems };
  if (allNodes === 0) return { tone: "quiet", says: say("noNodesYet"), problems };
  if (allPods === 0) return { tone: "quiet", says: say("nothingRuns", { n: allNodes }), problems };
  return { tone: "good", says: say("allIsWell", { all }), problems };
}
