import assert from "node:assert/strict";
import { test } from "node:test";
import { beside, diff } from "../src/diff.ts";
import { History, maxSamples } from "../src/history.ts";
import type { WorkloadRow } from "../src/rows.ts";
import { byChange, evenly, marked, series, stacked } from "../src/series.ts";
import { chooser, firstAt, isOwn, Lanes, maxMarks, nearest, noChoice, ownWrites, pinched, ticks, zoomed } from "../src/timelinemodel.ts";
import { cpu, duration } from "../src/words.ts";
import { byHand, type Write, writer } from "../src/writes.ts";
import writers from "../../internal/writerecord/testdata/writers.json";

const write = (revision: number, userAgent = "minikcm/kubelet", resource = "pods"): Write => ({
  revision, time: new Date(revision * 1000).toISOString(), actor: "a", userAgent, verb: "update", resource: { group: "", version: "v1", resource }, name: "x",
});

test("writers are named, and known as a person's tools, as by minikcm why", () => {
  for (const { userAgent, writer: name, byHand: hand } of writers) assert.deepEqual([writer({ actor: "alice", userAgent }), byHand({ actor: "alice", userAgent })], [name, hand], userAgent);
  const own = (userAgent: string) => isOwn({ actor: "alice", userAgent });
  assert.deepEqual([own("minikcm-scenario"), own("minikcm-fault/1"), own("manager/v0.0.0 (linux/amd64) kubernetes/$Format"), own("kubectl/v1")], [false, true, false, true]);
});

test("lanes take each write once, and leave out what is hidden", () => {
  const lanes = new Lanes(new Set(["leases"]));
  lanes.add([write(1), write(2, "kubectl/v1"), write(3, "minikcm/kubelet", "leases")]);
  lanes.add([write(2, "kubectl/v1"), write(3, "minikcm/kubelet", "leases"), write(5)]);
  assert.deepEqual(lanes.shown().map((l) => [l.name, l.marks.map((m) => m.write.revision)]), [["kubectl", [2]], ["kubelet", [1, 5]]]);
  assert.deepEqual([lanes.last, lanes.total, lanes.begin, lanes.end], [5, 3, 1000, 5000]);
});

test("writes are chosen by object, kind and program, and the user's are first", () => {
  const lanes = new Lanes(new Set());
  const of = (revision: number, agent: string, kind: string, namespace: string, name: string): Write => ({ ...write(revision, agent), kind, namespace, name });
  lanes.add([of(1, "minikcm/a-controller", "ReplicaSet", "shop", "web-1"), of(2, "kubectl/v1", "Deployment", "shop", "web"), of(3, "minikcm/kubelet", "Pod", "default", "api-1"), of(4, "Mozilla/5.0 Firefox/1", "Pod", "shop", "web-1-x")]);
  const chosen = (c: Partial<typeof noChoice>) => {
    lanes.choose(chooser({ ...noChoice, ...c }));
    return lanes.shown().flatMap((l) => l.marks.map((m) => m.write.revision));
  };
  assert.deepEqual(lanes.shown().map((l) => l.name), ["Firefox", "kubectl", "a-controller", "kubelet"]);
  assert.deepEqual([chosen({ text: "WEB" }), chosen({ text: "pod/web" }), chosen({ text: "shop/web-1" }), chosen({ kind: "Pod" }), chosen({ lane: "kubelet" }), chosen({ lane: ownWrites, kind: "Pod" })], [[4, 2, 1], [4], [4, 1], [4, 3], [3], [4]]);
  lanes.add([of(5, "kubectl/v1", "Pod", "shop", "new")]);
  assert.deepEqual(lanes.shown().flatMap((l) => l.marks.map((m) => m.write.revision)), [4, 5], "what comes later is chosen, too");
  assert.equal(chooser({ ...noChoice, text: "  " }), undefined);
  assert.deepEqual([chosen({}).length, lanes.total], [5, 5]);
});

test("a range is zoomed about a place, and follows two fingers", () => {
  assert.deepEqual(zoomed({ from: 0, to: 1000 }, 0.5, 250), { from: 125, to: 625 });
  assert.deepEqual(zoomed({ from: 0, to: 30 }, 0.1, 15), { from: 5, to: 25 }, "20 is the least");
  const r = { from: 0, to: 1000 };
  const rounded = (a: [number, number], b: [number, number]) => Object.values(pinched(r, a, b)).map(Math.round);
  assert.deepEqual(rounded([0.4, 0.6], [0.3, 0.7]), [250, 750]);
  assert.deepEqual(rounded([0.6, 0.4], [0.7, 0.3]), [250, 750]);
  assert.deepEqual(rounded([0.4, 0.6], [0.5, 0.7]), [-100, 900], "both move it");
  assert.equal(pinched(r, [0.4, 0.6], [0.6, 0.4]), r, "fingers that cross change nothing");
});

test("writes that come late have their place, and none is lost or shown twice", () => {
  for (const axis of ["time", "revision"] as const) {
    const lanes = new Lanes(new Set(), axis);
    for (const batch of [[4, 2], [7, 3, 5], [], [1, 8, 7], [6]]) lanes.add(batch.map((r) => write(r)));
    assert.deepEqual(lanes.shown()[0]!.marks.map((m) => m.write.revision), [1, 2, 3, 4, 5, 6, 7, 8]);
    assert.deepEqual([lanes.last, lanes.total], [8, 8]);
    assert.deepEqual([lanes.begin, lanes.end], axis === "time" ? [1000, 8000] : [1, 8]);
  }
});

test("a lane of few writes is not halved for one of many, and what is forgotten stays so", () => {
  const lanes = new Lanes(new Set());
  const many = Array.from({ length: maxMarks }, (_, i) => write(i + 1));
  lanes.add(many);
  lanes.add([write(maxMarks + 1, "kubectl/v1"), write(maxMarks + 2, "kubectl/v1")]);
  assert.equal(lanes.lanes.get("kubectl")!.marks.length, 2);
  const total = lanes.total;
  lanes.add(many);
  assert.equal(lanes.total, total);
});

test("writes of one instant are apart by revision", () => {
  const at = "2026-01-05T00:00:00Z";
  const lanes = new Lanes(new Set(), "revision");
  lanes.add([3, 1, 2].map((r) => ({ ...write(r), time: at })));
  assert.deepEqual(lanes.shown()[0]!.marks.map((m) => m.at), [1, 2, 3]);
  assert.deepEqual(ticks(93, 127, 5, "revision"), [100, 110, 120]);
  assert.deepEqual(ticks(3, 5, 9, "revision"), [3, 4, 5]);
});

test("lanes are bounded", () => {
  const lanes = new Lanes(new Set());
  lanes.add(Array.from({ length: maxMarks + 1 }, (_, i) => write(i + 1)));
  assert.ok(lanes.total <= maxMarks && lanes.total > 0 && lanes.begin > 1000);
  assert.equal(lanes.shown()[0]!.marks.at(-1)!.write.revision, maxMarks + 1);
});

test("marks are found by time", () => {
  const marks = [10, 20, 20, 40].map((at) => ({ at, write: write(at) }));
  assert.deepEqual([0, 10, 11, 20, 41].map((t) => firstAt(marks, t)), [0, 0, 1, 1, 4]);
  assert.deepEqual([12, 31, 100].map((t) => nearest(marks, t, 15)?.at), [10, 40, undefined]);
  assert.equal(nearest([], 5, 10), undefined);
});

test("ticks are round and few", () => {
  assert.deepEqual(ticks(950, 5100, 5), [1000, 2000, 3000, 4000, 5000]);
  for (const span of [20, 3e3, 6e5, 864e5, 40 * 864e5]) assert.ok(ticks(0, span, 8).length <= 10 && ticks(0, span, 8).length >= 1, String(span));
});

test("a history has a column a name, and gets coarser when it is long", () => {
  const h = new History();
  assert.equal(h.add(1, {}), false);
  assert.equal(h.add(1, { a: 1 }), true);
  assert.equal(h.add(0, { a: 2 }), false);
  assert.equal(h.add(1, { a: 3 }), true);
  assert.equal(h.add(1, { a: 1 }), true);
  assert.equal(h.add(1.5, { a: 1 }), false);
  assert.equal(h.add(2, { a: 2, b: 5 }), true);
  assert.equal(h.add(3, { b: 6 }), true);
  assert.deepEqual(h.data, [[1, 1, 1, 2, 3], [1, 3, 1, 2, null], [null, null, null, 5, 6]]);
  assert.deepEqual(h.until(4), [[1, 1, 1, 2, 3, 4], [1, 3, 1, 2, null, null], [null, null, null, 5, 6, 6]]);
  assert.equal(h.until(3), h.data);
  for (let t = 4; t < 3 * maxSamples; t++) h.add(t, { b: t });
  assert.ok(h.data.every((c) => c.length === h.data[0]!.length && c.length <= maxSamples));
  assert.equal(h.data[0]![0], 1);
  assert.equal(h.data[0]!.at(-1), 3 * maxSamples - 1);
});

test("durations and amounts", () => {
  assert.deepEqual([40, 1500, 61_000, 7_260_000, 90_000_000].map(duration), ["40 ms", "1.5 s", "1 min 1 s", "2 h 1 min", "1 d 1 h"]);
  assert.deepEqual(
    [999.7, 9_960, 59_700, 299_700, 300_000, 3_599_600, 7_199_000, 86_399_000, 172_799_000].map(duration),
    ["1.0 s", "10 s", "1 min 0 s", "5 min 0 s", "5 min 0 s", "1 h 0 min", "2 h 0 min", "1 d 0 h", "2 d 0 h"],
  );
  assert.deepEqual([0.1, 2, 12.55].map(cpu), ["100m", "2", "12.6"]);
});

test("samples from before are put before those that there are", () => {
  const h = new History();
  h.add(10, { a: 1 });
  h.add(20, { a: 2, b: 5 });
  h.before([{ time: 5, values: { a: 7 } }, { time: 15, values: { a: 9 } }]);
  assert.deepEqual([h.names, h.data], [["a", "b"], [[5, 10, 20], [7, 1, 2], [null, null, 5]]]);
});

test("a rollout's pods are areas on top of each other", () => {
  const row = { kind: "Deployment", desired: 4, replicas: 5, updated: 2, available: 4, generation: 7 } as WorkloadRow;
  assert.deepEqual(series(row), { desired: 4, newReady: 1, newStarting: 1, oldPods: 3, generation: 7 });
  const names = ["desired", "newReady", "newStarting", "oldPods"];
  const drawn = stacked(names, [[1, 2], [4, 4], [1, 2], [1, 2], [3, null]]);
  assert.deepEqual([drawn.names, drawn.data], [["oldPods", "newStarting", "newReady", "desired"], [[1, 2], [5, 4], [2, 4], [1, 2], [4, 4]]]);
  assert.deepEqual(evenly([1, 2, 3, 4, 5, 6], 3), [1, 4, 6]);
});

test("rollouts that were shorter than a pixel are marked, and as wide as the time between them", () => {
  const h = new History();
  const row = (generation: number, updated: number, available: number) => series({ kind: "Deployment", desired: 2, replicas: 2, updated, available, generation } as WorkloadRow);
  h.add(600_000, row(3, 2, 2));
  h.before([
    ...[0, 300_000].flatMap((at, i) => [{ time: at, values: row(i + 2, 0, 2) }, { time: at + 30, values: row(i + 2, 1, 2) }, { time: at + 30, values: row(i + 2, 2, 2) }]),
    { time: 600_000, values: row(3, 2, 2) },
  ]);
  assert.deepEqual(h.data[0], [0, 30, 30, 300_000, 300_030, 300_030]);
  assert.deepEqual(marked(h.names, h.data), [3]);
  const drawn = stacked(h.names, byChange(h.data));
  assert.deepEqual(drawn.names, ["oldPods", "newStarting", "newReady", "desired"]);
  assert.deepEqual(drawn.own[1], [2, 1, 0, 2, 1, 0, 0]);
  assert.deepEqual(drawn.data[0], [0, 1, 2, 3, 4, 5, 6]);
  assert.deepEqual(marked(["a"], [[1, 2], [1, 2]]), []);
});

test("two texts are put beside each other", () => {
  const rows = beside(diff("a\nb\nc\n", "a\nB\nB2\nc\n"));
  assert.deepEqual(rows.map((r) => [r.left, r.right, r.same]), [["a", "a", true], ["b", "B", false], [undefined, "B2", false], ["c", "c", true]]);
});
