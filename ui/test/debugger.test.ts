import assert from "node:assert/strict";
import { test } from "node:test";
import { type Passed, requestsOf, type Stop, Thread } from "../src/debugger.ts";
import type { Write } from "../src/writes.ts";

const write = (revision: number, name: string, causes?: number[]) => ({ revision, name, namespace: "default", verb: "update", causes }) as Write;
const stop = (s: Partial<Stop>): Stop => ({ stage: "event", code: "", says: "", ...s });
const passed = (s: Stop, ...writes: Write[]): Passed => ({ number: 1, time: "", stop: s, writes });

test("a thread goes from a write through the keys and writes that follow from it", () => {
  const t = new Thread();
  assert.equal(t.started, false);
  t.start([write(7, "web")]);
  assert.equal(t.has(stop({ object: { revision: "6" } })), false);
  const key = stop({ stage: "key", controller: "deployment-controller", key: "default/web" });
  assert.equal(t.has(key), false);
  assert.equal(t.passes(passed(stop({ stage: "handler", controller: "deployment-controller", keys: ["default/web"], object: { revision: "7" } }))), true);
  assert.equal(t.has(key), true);
  assert.equal(t.has(stop({ stage: "key", controller: "replicaset-controller", key: "default/web" })), false);
  assert.equal(t.passes(passed(stop({ stage: "write", controller: "deployment-controller", key: "default/web", causes: [7] }), write(8, "web-1", [7]))), true);
  assert.equal(t.has(stop({ stage: "decision", controller: "replicaset-controller", key: "default/web-1", causes: [8] })), true);
  assert.equal(t.has(stop({ stage: "work", controller: "default-scheduler", key: "default/web-1" })), true);
  assert.equal(t.has(stop({ stage: "work", key: "default/web" })), true);
  assert.equal(t.has(stop({ stage: "work", key: "default/other" })), false);
});

test("only what clients wrote between steps can be followed", () => {
  const own = { ...write(7, "web"), userAgent: "minikcm/replicaset-controller" };
  const theirs = { ...write(8, "web"), userAgent: "kubectl/v1.36.0" };
  assert.deepEqual(requestsOf({ number: 1, time: "", writes: [own, theirs] }), [theirs]);
  assert.deepEqual(requestsOf(passed(stop({}), theirs)), []);
  assert.deepEqual(requestsOf({ number: 1, time: "", timer: true, writes: [theirs] }), []);
});

test("work without stages belongs to a thread by the causes of its writes", () => {
  const t = new Thread();
  t.start([write(7, "web")]);
  assert.equal(t.passes(passed(stop({ stage: "work", key: "kubelet default/x" }), write(9, "x", [7]))), true);
  assert.equal(t.has(stop({ object: { revision: "9" } })), true);
  assert.equal(t.passes({ number: 2, time: "", timer: true, writes: [write(10, "y")] }), false);
});
