import assert from "node:assert/strict";
import { test } from "node:test";
import { type Line, type LoopState, maxSteps, says, type Step, Trail, watchesOf } from "../src/loopmodel.ts";

const step = (n: number, stage: Step["stage"] = "queued"): Step => ({ time: "2026-01-05T00:00:00Z", stage, key: `k-${n}` });
const line = (steps: Step[], forgotten = 0): Line => ({ now: "", controller: "c", loops: [], steps, forgotten });

test("a trail keeps the newest steps, and counts the others", () => {
  const t = new Trail();
  t.add(line(Array.from({ length: maxSteps }, (_, i) => step(i)), 3));
  t.add(line([step(-1, "wrote"), step(-2, "ended")]));
  assert.equal(t.steps.length, maxSteps);
  assert.equal(t.forgotten, 5);
  assert.deepEqual(t.newest(["wrote", "ended"], 5).map((s) => s.key), ["k--2", "k--1"]);
  assert.equal(t.newest(["queued"], 5)[0]!.key, `k-${maxSteps - 1}`);
});

test("loops share informers", () => {
  const loop = (watches: LoopState["watches"]) => ({ watches }) as LoopState;
  assert.deepEqual(watchesOf([loop([{ kind: "Pod", objects: 3, received: 0, undelivered: 1 }, { objects: 0, received: 0, undelivered: 0 }]), loop([{ kind: "Pod", objects: 3, received: 2, undelivered: 0 }, { kind: "Job", objects: 1, received: 0, undelivered: 0 }])]), [
    { kind: "Job", objects: 1, received: 0, undelivered: 0 },
    { kind: "Pod", objects: 3, received: 2, undelivered: 1 },
  ]);
});

test("steps in words", () => {
  assert.equal(says({ ...step(1, "handled"), event: "Added", object: "Pod/a", revision: "7", keys: ["default/web"] }), "Added Pod/a at revision 7: default/web");
  assert.equal(says({ ...step(1, "handled"), event: "Deleted", object: "Pod/a", revision: "7" }), "Deleted Pod/a at revision 7: no key");
  assert.equal(says({ ...step(1, "began"), causes: [7, 9] }), "k-1 is reconciled, because of revisions 7, 9");
  assert.equal(says({ ...step(1, "delayed"), failures: 2 }), "k-1 is retried after failure 2");
  assert.equal(says({ ...step(1, "wrote"), verb: "create", object: "Pod/a", error: "no" }), "k-1: create Pod/a fails: no");
});
