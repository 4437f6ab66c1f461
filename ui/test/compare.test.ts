import assert from "node:assert/strict";
import { test } from "node:test";
import { type Compared, type Comparison, isSame, nowOf, only, pace, phases } from "../src/compare.ts";

const side = (clock: Compared["clock"], pods: Record<string, number> = {}): Compared => ({ clock, revision: 1, nodes: 1, nodesReady: 1, pods, writes: [] });

test("each cluster's time goes on with its own clock", () => {
  const now = "2026-01-05T00:00:00Z";
  const at = Date.parse(now);
  assert.equal(nowOf(side({ mode: "virtual", now, factor: 10 }), 1000, 3000), at + 20_000);
  assert.equal(nowOf(side({ mode: "virtual", now, factor: 10, paused: true }), 1000, 3000), at);
  assert.equal(nowOf(side({ mode: "real", now }), 1000, 3000), at + 2000);
  assert.equal(nowOf(side({ mode: "virtual", now }), 1000, 3000), at);
  assert.equal(nowOf(side({ mode: "real", now }), 3000, 1000), at);
});

test("the counts are of all objects, also those that are not listed", () => {
  const kind = { kind: "Pod", here: 7, there: 5, both: 4, differ: 0, onlyHere: ["a"] };
  assert.deepEqual(only(kind), { here: 3, there: 1 });
  assert.equal(isSame(kind), false);
  assert.equal(isSame({ ...kind, here: 4, there: 4 }), true);
  assert.equal(isSame({ ...kind, here: 4, there: 4, differ: 1 }), false);
});

test("the phases of both sides have one order", () => {
  const clock = { mode: "real", now: "" };
  const c = { here: side(clock, { Running: 1, Unknown: 2 }), there: side(clock, { Failed: 1, Pending: 3 }) } as Comparison;
  assert.deepEqual(phases(c), ["Pending", "Running", "Failed", "Unknown"]);
});

test("the pace of a clock is its speed, unless it stands still", () => {
  assert.equal(pace({ mode: "virtual", factor: 10 }), "10×");
  assert.equal(pace({ mode: "virtual", factor: 10, paused: true }), "paused");
  assert.equal(pace({ mode: "real" }), "real time");
});
