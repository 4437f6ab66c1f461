import assert from "node:assert/strict";
import { test } from "node:test";
import { belief, concerning, endOf, Faults, type Injection, truthsOf } from "../src/faults.ts";
import { say } from "../src/language.ts";
import { bandsOf } from "../src/bands.ts";
import type { Run } from "../src/scenarios.ts";
import { Lanes } from "../src/timelinemodel.ts";
import type { Write } from "../src/writes.ts";

const at = (s: number) => new Date(s * 1000).toISOString();
const fault = (nodes: object, notes: string[] | undefined, more: object = {}): Injection =>
  ({ id: "f-1", title: "a fault", fault: { nodes }, state: "Active", since: at(1), times: 1, ...(notes ? { notes: notes.map((text, i) => ({ time: at(i + 1), text })) } : {}), ...more }) as Injection;
const short = (faults: Injection[]) => [...truthsOf(faults)].map(([node, truths]) => `${node} ${truths.map((t) => say(t.says))}`);

test("what faults do to nodes is told by their notes until the nodes are back", () => {
  assert.deepEqual(short([fault({ action: "crash", names: ["a", "b"] }, ["node/a crashed", "node/b crashed"])]), ["a down", "b down"]);
  assert.deepEqual(short([fault({ action: "crash", selector: "x=y" }, ["node/a crashed", "node/b crashed", "node/a is back"], { state: "Ending" })]), ["b down"]);
  assert.deepEqual(short([fault({ action: "partition", names: ["a"] }, ["node/a is cut off"]), fault({ action: "hang", names: ["a"] }, ["node/a hangs"], { id: "f-2" })]), ["a cut off,container runtime hangs"]);
  assert.deepEqual(short([fault({ action: "stopInstance", names: ["a"] }, ["the instance of node/a was stopped"])]), ["a instance stopped"]);
  assert.deepEqual(short([fault({ action: "crash", names: ["a"] }, ["node/a crashed"], { state: "Over" })]), []);
  assert.deepEqual(short([fault({ action: "cordon", names: ["a"] }, ["node/a cordoned"])]), []); // the API shows it
  assert.deepEqual(short([fault({ action: "crash", names: ["a"] }, undefined)]), ["a down"]);
});

test("the truth stands beside what the API server believes", () => {
  const truth = { fault: "f-1", action: "crash", says: "truthDown" as const };
  assert.equal(belief(truth, true), "down; the API server does not know yet");
  assert.match(belief(truth, false), /^down; the API server knows/);
});

test("faults are shown where they work", () => {
  const pause = { ...fault({}, undefined), fault: { controllers: { action: "pause", names: ["job-controller"] } } } as Injection;
  const pod = { ...fault({}, ["pod/web-1 fails its readiness probe"]), fault: { pods: { action: "notReady", selector: "app=web", namespace: "shop" } } } as Injection;
  assert.deepEqual(concerning([pause, pod], { controller: "job-controller" }), [pause]);
  assert.deepEqual(concerning([pause, pod], { pod: { namespace: "shop", name: "web-1" } }), [pod]);
  assert.deepEqual(concerning([pause, pod], { pod: { namespace: "shop", name: "web-10" } }), []);
  assert.deepEqual(concerning([{ ...pause, state: "Stopped" }], { controller: "job-controller" }), []);
  const all = new Faults();
  all.set([pause, { ...pod, state: "Over" }]);
  assert.equal(all.lasting().length, 1);
});

test("a fault has its place on the timeline", () => {
  assert.equal(endOf(fault({}, undefined)), undefined);
  assert.equal(endOf(fault({}, undefined, { until: at(9) })), 9000);
  assert.equal(endOf(fault({}, ["x", "y"], { until: at(9), state: "Stopped" })), 2000);
  const write = (revision: number, time: number) => ({ revision, time: at(time), actor: "a", verb: "update", resource: { group: "", version: "v1", resource: "pods" }, name: "x" }) as Write;
  const lanes = new Lanes(new Set(), "revision");
  lanes.add([write(10, 1), write(20, 5), write(30, 9)]);
  assert.deepEqual([500, 1000, 5500, 9000].map((t) => lanes.placeOf(t)), [10, 20, 30, 31]);
  assert.equal(new Lanes(new Set()).placeOf(42), 42);
});

test("faults and the steps of scenarios are bands of the timeline", () => {
  const run = { id: "r", scenario: "node-loss", seed: 1, state: "Stopped", since: at(1), until: at(9), steps: [{ title: "one", state: "Done", since: at(2), until: at(3) }, { title: "two", state: "Failed", since: at(3) }, { title: "three", state: "Waiting" }] } as Run;
  assert.deepEqual(bandsOf([], []), []);
  const [faults, steps] = bandsOf([fault({}, undefined, { id: "f-2", since: at(5) }), fault({}, undefined)], [run]);
  assert.deepEqual(faults!.spans.map((s) => [s.text, s.from, s.to]), [["f-1 a fault", 1000, undefined], ["f-2 a fault", 5000, undefined]]);
  assert.deepEqual(steps!.spans, [{ text: "node-loss: one", from: 2000, to: 3000, tone: "good" }, { text: "two", from: 3000, to: 9000, tone: "bad" }]);
});
