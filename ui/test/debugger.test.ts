import assert from "node:assert/strict";
import { setLanguage } from "../src/language.ts";
import { stopText } from "../src/stoptext.ts";
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

test("a stop says in each language what happens, from what the server has sent", () => {
  const decided = stop({ stage: "decision", key: "default/web-1", decision: { owner: "web-1", counts: "pod", wants: 3, has: 1, actions: [{ verb: "create", kind: "Pod", count: 2 }, { verb: "updateStatus", kind: "ReplicaSet", count: 1, changes: [{ field: "replicas", was: 1, now: 3 }] }] } });
  const wrote = stop({ stage: "write", controller: "deployment-controller", verb: "update", object: { kind: "ReplicaSet", name: "web-1" }, decision: { owner: "web", counts: "replica", wants: 1, has: 2 } });
  const merged = stop({ stage: "handler", controller: "c", keys: ["a", "b", "d", "e"], merged: 1, object: { kind: "Pod", name: "x" } });
  assert.equal(stopText(decided), "web-1 wants 3 pods and has 1: create 2 Pods, then write its status (replicas 1 → 3).");
  assert.equal(stopText(wrote), "deployment-controller sends the write to the API server: update ReplicaSet web-1, since web wants 1 replica, and its ReplicaSets want 2.");
  assert.equal(stopText(merged), "The Indexer has Pod x. The handler of c maps the event to a, b, d and 1 more key; 1 of them waits already, and the queue keeps each once.");
  assert.equal(stopText(stop({ stage: "event", event: "deleted", object: { kind: "Pod", name: "x" } })), "The API server has sent the event that Pod x was deleted; the Reflector of the controllers reads it from the watch.");
  assert.equal(stopText(stop({ stage: "decision", key: "k" })), "Nothing to write for k.");
  assert.equal(stopText(stop({ stage: "work", code: "new", says: "as the server says" })), "as the server says");
  setLanguage("zh");
  assert.equal(stopText(decided), "web-1 需要 3 个 Pod，现有 1 个：create 2 个 Pod，然后 写入其状态（replicas 1 → 3）。");
  setLanguage("en");
});
