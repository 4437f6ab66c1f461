import assert from "node:assert/strict";
import { test } from "node:test";
import { backlogOf, changesOf, indexAt, momentsOf } from "../src/past.ts";
import { Store } from "../src/store.ts";
import type { Batch, Command, TopicName } from "../src/topics.ts";
import type { Write } from "../src/writes.ts";

const written = (revision: number, resource: string) => ({ revision, time: "2026-01-05T00:00:01Z", actor: "a", verb: "update", resource: { group: "", version: "v1", resource }, name: "a" }) as unknown as Write;

test("what was written between two revisions is known within the record", () => {
  const changed = changesOf([written(9, "nodes"), written(5, "pods"), written(7, "events"), written(6, "pods")]);
  assert.deepEqual([...changed(5, 6)!], ["pods"]);
  assert.deepEqual([...changed(7, 5)!], ["pods", "events"]);
  assert.deepEqual([...changed(7, 7)!], []);
  assert.deepEqual([...changed(7, 9)!], ["nodes"]);
  assert.equal(changed(4, 6), undefined);
  assert.equal(changed(6, 10), undefined);
  assert.equal(changesOf([])(1, 2), undefined);
});

test("a step of the slider reads only what was written, and steps in a row are one", async () => {
  const sent: Command[] = [];
  const worker = { postMessage: (c: Command) => sent.push(c) } as unknown as Worker & { onmessage: (m: { data: Batch }) => void };
  const store = new Store(worker);
  const quiet = () => new Promise((done) => setTimeout(done, 200));
  const read = () => {
    const last = sent.at(-1) as { at: number; again: TopicName[] };
    for (const topic of last.again) worker.onmessage({ data: { topic, at: last.at, rows: [], removed: [], state: "past" } });
    return `${last.at} ${last.again}`;
  };
  store.changed = changesOf([5, 6, 7, 8, 9].map((r) => written(r, r % 2 ? "pods" : "endpointslices")));
  store.show(9);
  assert.match(read(), /^9 nodes,pods,scalers,deployments,/);
  await quiet();
  store.show(8);
  assert.equal(read(), "8 pods");
  await quiet();
  store.show(7); // an EndpointSlice, which no topic has
  assert.equal(read(), "7 ");
  assert.ok(store.pods.state === "past" && store.nodes.state === "past");
  await quiet();
  for (const at of [6, 5, 6, 7, 6, 5]) store.show(at);
  assert.equal(sent.length, 4); // the first step at once
  await quiet();
  assert.equal(sent.length, 5);
  assert.equal(read(), "5 pods");
  assert.equal(store.pods.state, "past");
});

test("the moments are the writes since then, but for heartbeats and Events", () => {
  const write = (revision: number, resource: string) => ({ revision, time: "2026-01-05T00:00:01Z", actor: "a", userAgent: "minikcm/scheduler", verb: "create", effect: "created", resource: { group: "", version: "v1", resource }, kind: "Pod", name: "web" }) as unknown as Write;
  const moments = momentsOf([write(3, "pods"), write(5, "leases"), write(6, "pods"), write(7, "events"), write(9, "pods")], 5);
  assert.deepEqual(moments.map((m) => m.revision), [6, 9]);
  assert.equal(moments[0]!.text, "scheduler created Pod/web");
  assert.deepEqual([1, 6, 8, 9, 99].map((r) => indexAt(moments, r)), [0, 0, 0, 1, 1]);
});

test("the moments are in the order of their revisions, one for each", () => {
  const write = (revision: number, name: string) => ({ revision, time: "2026-01-05T00:00:01Z", actor: "a", userAgent: "minikcm/scheduler", verb: "update", resource: { group: "", version: "v1", resource: "pods" }, kind: "Pod", name }) as unknown as Write;
  // Concurrent writes are recorded as they end, and one that changes nothing has the revision of its object.
  const moments = momentsOf([write(7, "a"), write(9, "c"), write(8, "b"), write(7, "late")], 1);
  assert.deepEqual(moments.map((m) => m.revision), [7, 8, 9]);
  assert.match(moments[0]!.text, /\/a$/);
});

test("the page looks back as far as the history that was chosen, up to a limit", () => {
  for (const [history, want] of [[undefined, 5000], ["1h0m0s", 50_000], ["2000", 2000], ["900000", 50_000]] as const) assert.equal(backlogOf(history), want);
});
