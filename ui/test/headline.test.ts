import assert from "node:assert/strict";
import { test } from "node:test";
import { headlineOf } from "../src/headline.ts";
import { type Plain } from "../src/language.ts";
import type { NodeRow, PodRow } from "../src/rows.ts";

const node = (name: string, ready = true) => ({ name, ready, schedulable: true }) as NodeRow;
const pod = (name: string, phase: PodRow["phase"], more: Partial<PodRow> = {}) => ({ name, namespace: "default", phase, status: phase, ...more }) as PodRow;
const says = (nodes: NodeRow[], pods: PodRow[], down = new Map<string, { says: Plain }[]>()) => {
  const h = headlineOf(nodes, pods, down);
  return [h.tone, h.says, ...h.problems.map((p) => `${p.name}: ${p.says}`)].join("; ");
};

test("the headline says how the cluster is", () => {
  assert.equal(says([], []), "quiet; No nodes yet");
  assert.equal(says([node("a")], []), "quiet; 1 node is ready, and nothing runs");
  assert.equal(says([node("a"), node("b")], [pod("x", "ready"), pod("y", "succeeded")]), "good; All is well: 2 nodes, 2 pods");
  assert.equal(says([node("a")], [pod("x", "starting"), pod("y", "terminating"), pod("z", "unready")]), "busy; Working: 2 pods on the move, 1 pod not ready");
  assert.equal(headlineOf([node("a")], [pod("x", "ready")], new Map(), 2).says, "2 faults last: 1 node, 1 pod");
  assert.equal(says([node("a")], [pod("x", "unscheduled")]), "busy; Working: 1 pod on the move");
});

test("it names what is wrong, nodes first", () => {
  assert.equal(says([node("a"), node("b", false)], [pod("w", "unscheduled", { problem: "Unschedulable" }), pod("x", "failed", { status: "CrashLoopBackOff" })]), "bad; 3 things need a look; b: not ready; x: CrashLoopBackOff; w: no node takes it");
  assert.equal(says([node("a")], [], new Map([["a", [{ says: "truthDown" as const }]]])), "bad; 1 thing needs a look; a: down");
});
