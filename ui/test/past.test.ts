import assert from "node:assert/strict";
import { test } from "node:test";
import { backlogOf, firstKept, indexAt, momentsOf } from "../src/past.ts";
import type { Write } from "../src/writes.ts";

test("the history begins at the first revision that is kept", async () => {
  for (const [low, high, first] of [[1, 1, 1], [1, 5000, 1], [1, 5000, 5000], [10, 99, 37]] as const) {
    let asked = 0;
    assert.equal(await firstKept(async (n) => (asked++, n >= first), low, high), first);
    assert.ok(asked <= 14, `${asked} requests`);
  }
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
