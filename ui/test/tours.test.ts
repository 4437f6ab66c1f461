import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { Injection } from "../src/faults.ts";
import type { KubeObject } from "../src/reflector.ts";
import { begin, type Check, type Found, holds, paragraphs, type Tour, TourGuide, wants } from "../src/tours.ts";

const object = (kind: string, uid: string, more: object = {}, generation = 1) => ({ kind, metadata: { uid, name: uid, resourceVersion: "1", generation }, ...more }) as KubeObject;
const found = (objects: KubeObject[], faults: Injection[] = []): Found => ({ objects, faults });
const check = (f: string, target = "pods"): Check => ({ target, for: f });
const is = (f: string, objects: KubeObject[]) => holds(check(f), found(objects), { done: false });

test("checks see the state", () => {
  const ready = { status: { phase: "Running", conditions: [{ type: "Ready", status: "True", reason: "Late" }] } };
  assert.ok(is("create", [object("Pod", "a")]) && !is("create", []));
  assert.ok(is("delete", []) && !is("delete", [object("Pod", "a")]));
  assert.ok(is("count=2", [object("Pod", "a"), object("Pod", "b")]) && !is("count=2", []));
  assert.ok(is("condition=Ready", [object("Pod", "a", ready)]) && !is("condition=Ready", [object("Pod", "a", ready), object("Pod", "b")]));
  assert.ok(!is("condition=Ready=Unknown", [object("Pod", "a", ready)]));
  assert.ok(is('jsonpath={.status.conditions[?(@.type=="Ready")].reason}=Late', [object("Pod", "a", ready)]));
  assert.ok(is("jsonpath={.status.phase}=Running", [object("Pod", "a", ready)]) && !is("jsonpath={.status.phase}=Failed", [object("Pod", "a", ready)]));
  const done = { spec: { replicas: 1 }, status: { observedGeneration: 1, replicas: 1, updatedReplicas: 1, availableReplicas: 1 } };
  assert.ok(is("rollout", [object("Deployment", "d", done)]) && !is("rollout", [object("Deployment", "d", done, 2)]) && !is("rollout", []));
});

test("checks see what was done since their step was opened", () => {
  const since = (c: Check, before: Found, after: Found) => holds(c, after, begin(c, before));
  const [a, b] = [object("Pod", "a"), object("Pod", "b")];
  assert.ok(!since(check("killed"), found([a, b]), found([a, b])) && since(check("killed"), found([a, b]), found([a, object("Pod", "c")])));
  assert.ok(!since(check("changed"), found([a]), found([a])) && since(check("changed"), found([a]), found([object("Pod", "a", {}, 2)])));
  const fault = (id: string, action: string) => ({ id, title: "", state: "Over", since: "", times: 1, fault: { nodes: { action, names: [] } } }) as Injection;
  const crash = check("fault=crash", "nodes");
  assert.ok(!since(crash, found([], [fault("f-1", "crash")]), found([], [fault("f-1", "crash"), fault("f-2", "hang")])));
  assert.ok(since(crash, found([], [fault("f-1", "crash")]), found([], [fault("f-1", "crash"), fault("f-2", "crash")])));
});

test("each check of the tours has words, and each step a text in each language", () => {
  const tours = JSON.parse(readFileSync("ui/bundle/tours.json", "utf8")) as Tour[];
  for (const t of tours) {
    for (const s of t.steps) {
      assert.ok(s.say.en && s.say.zh, t.name);
      for (const d of s.do ?? []) if (d.check) assert.doesNotMatch(wants(d.check), /jsonpath|undefined|NaN/);
    }
  }
});

test("code in a text stays as it is", () => {
  assert.deepEqual(paragraphs("One\ntwo\n\n    code\n      more\n\nthree"), [{ code: false, text: "One\ntwo" }, { code: true, text: "code\n  more" }, { code: false, text: "three" }]);
});

test("a guide forgets what was seen with the tour", () => {
  const guide = new TourGuide();
  guide.go("rollout", 1);
  guide.begin("1 0", { done: false });
  guide.done("1 0");
  guide.go("rollout", 0);
  assert.equal(guide.seen.get("1 0")?.done, true);
  guide.go("node-dies");
  assert.equal(guide.seen.size, 0);
});
