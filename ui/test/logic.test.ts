import assert from "node:assert/strict";
import { test } from "node:test";
import { matcher, noFilter, selector } from "../src/filter.ts";
import { boxAt, cells, enlarged, grid, maxScale, naturally, roomFor, Slots, within, zoned } from "../src/layout.ts";
import { type PodRow, podRow, quantity, scalerRow } from "../src/rows.ts";

test("every box of a grid is in the area and found again", () => {
  for (const [n, w, h] of [[1, 1000, 600], [2, 300, 900], [7, 1280, 640], [1000, 1000, 600], [1000, 1920, 1000]] as const) {
    const g = grid(n, w, h);
    assert.ok(g.cols * g.rows >= n, `${n} boxes in ${g.cols}x${g.rows}`);
    for (let i = 0; i < n; i++) {
      const [x, y] = [((i % g.cols) + 0.5) * g.w, (Math.floor(i / g.cols) + 0.5) * g.h];
      assert.ok(x < w && y < h);
      assert.equal(boxAt(g, n, x, y), i);
    }
    assert.equal(boxAt(g, n, -1, 5), -1);
    assert.equal(boxAt(g, n, w + 1, 5), -1);
  }
});

test("cells fit", () => {
  for (const [n, w, h] of [[6, 240, 120], [110, 240, 120], [14, 22, 14], [500, 1000, 20]] as const) {
    const c = cells(n, w, h);
    assert.ok(c.size === 1 || c.cols * Math.floor(h / c.size) >= n, `${n} in ${w}x${h}: ${JSON.stringify(c)}`);
  }
  assert.ok(roomFor(0) >= 1 && roomFor(100) >= 100);
});

test("a pod keeps its slot, and free slots are used again", () => {
  const s = new Slots();
  assert.deepEqual(["a", "b", "c"].map((u) => s.add(u)), [0, 1, 2]);
  s.remove(1);
  s.remove(1);
  assert.equal(s.count, 2);
  assert.equal(s.add("d"), 1);
  assert.equal(s.add("e"), 3);
  s.remove(3);
  assert.equal(s.uids.length, 3);
});

test("names are in natural order", () => {
  assert.deepEqual(["node-10", "node-2", "a-1", "node-1b", "node-1"].sort(naturally), ["a-1", "node-1", "node-1b", "node-2", "node-10"]);
});

test("selectors are kubectl's", () => {
  const fits = (text: string, labels: Record<string, string>) => selector(text)?.every((r) => r(labels));
  const labels = { app: "web", tier: "front" };
  for (const text of ["", "app=web", "app==web,tier", "app!=api", "!gone", "app in (api, web)", "tier notin (back),app", "gone!=x", "gone notin (x)"]) assert.equal(fits(text, labels), true, text);
  for (const text of ["app=api", "gone", "!app", "app in (api)", "app notin (web)"]) assert.equal(fits(text, labels), false, text);
  for (const text of ["a=b=c", "app in web", "a b"]) assert.equal(selector(text), undefined, text);
});

test("a pod is matched by all parts of a filter", () => {
  const pod = { namespace: "shop", owner: "ReplicaSet/web-1", labels: { app: "web" } } as unknown as PodRow;
  assert.equal(matcher(noFilter)!(pod), true);
  assert.equal(matcher({ namespace: "shop", labels: "app=web", owner: "replicaset/WEB" })!(pod), true);
  assert.equal(matcher({ namespace: "", labels: "app=web", owner: "Job/" })!(pod), false);
  assert.equal(matcher({ namespace: "default", labels: "", owner: "" })!(pod), false);
});

test("quantities", () => {
  for (const [text, want] of [["100m", 0.1], ["2", 2], ["64Mi", 64 * 2 ** 20], ["1e3", 1000], ["1.5Gi", 1.5 * 2 ** 30], ["12E", 12e18], ["", 0], ["x", 0], [undefined, 0]] as const) assert.equal(quantity(text), want, text);
});

test("pods by phase", () => {
  const pod = (status: object, spec: object = { nodeName: "n" }, deletionTimestamp?: string) => {
    const row = podRow({ metadata: { uid: "u", name: "n", resourceVersion: "1", ...(deletionTimestamp ? { deletionTimestamp } : {}) }, spec, status });
    return `${row.phase} ${row.status}`;
  };
  const ready = { conditions: [{ type: "Ready", status: "True" }] };
  assert.equal(pod({ phase: "Pending" }, {}), "unscheduled Pending");
  assert.equal(pod({ phase: "Pending" }), "starting Starting");
  assert.equal(pod({ phase: "Pending", containerStatuses: [{ state: { waiting: { reason: "ContainerCreating" } } }] }), "starting ContainerCreating");
  assert.equal(pod({ phase: "Pending", containerStatuses: [{ state: { waiting: { reason: "ImagePullBackOff" } } }] }), "failed ImagePullBackOff");
  assert.equal(pod({ phase: "Running" }), "unready NotReady");
  assert.equal(pod({ phase: "Running", ...ready }), "ready Running");
  assert.equal(pod({ phase: "Failed", reason: "Evicted" }), "failed Evicted");
  assert.equal(pod({ phase: "Succeeded" }), "succeeded Succeeded");
  assert.equal(pod({ phase: "Running", ...ready }, { nodeName: "n" }, "2026-01-01T00:00:00Z"), "terminating Terminating");
});

test("an autoscaler's metrics stand beside their targets", () => {
  const row = scalerRow({
    metadata: { uid: "u", name: "web", resourceVersion: "1" },
    spec: { scaleTargetRef: { kind: "Deployment", name: "web" }, maxReplicas: 9, metrics: [{ type: "Resource", resource: { name: "cpu", target: { averageUtilization: 50 } } }] },
    status: { currentReplicas: 2, desiredReplicas: 4, currentMetrics: [{ type: "Resource", resource: { name: "cpu", current: { averageUtilization: 80, averageValue: "80m" } } }] },
  });
  assert.deepEqual(row.metrics, [{ name: "cpu", value: 80, target: 50 }]);
  assert.equal(row.target, "Deployment/web");
});

test("zones have regions of their own, and boxes of one size", () => {
  const groups = (counts: number[]) => counts.map((count, i) => ({ name: `z${i}`, count }));
  for (const counts of [[3, 3, 3], [900, 50, 50], [1, 1], [7]]) {
    const zones = zoned(groups(counts), 1200, 700, 20, 8);
    const { w, h } = zones[0]!.grid;
    assert.ok(w / h > 0.4 && w / h < 4, `${counts}: ${w} x ${h}`);
    for (const [i, z] of zones.entries()) {
      assert.deepEqual([z.grid.w, z.grid.h], [w, h]);
      assert.ok(z.grid.cols * z.grid.rows >= z.count && z.grid.cols * w <= z.rect.w + 0.01 && 20 + z.grid.rows * h <= z.rect.h + 0.01);
      assert.ok(z.rect.x >= 0 && z.rect.x + z.rect.w <= 1200.01 && z.rect.y >= 0 && z.rect.y + z.rect.h <= 700.01);
      const next = zones[i + 1];
      if (next) assert.ok(next.rect.x >= z.rect.x + z.rect.w || next.rect.y >= z.rect.y + z.rect.h - 0.01, "regions do not overlap");
    }
  }
  assert.deepEqual(zoned([{ name: "", count: 12 }], 600, 400, 20, 8)[0]!.grid, grid(12, 600, 400), "without zones there is no title");
});

test("a picture is enlarged about a point, and stays within its bounds", () => {
  const v = enlarged({ scale: 1, x: 0, y: 0 }, 2, 100, 50, 600, 400);
  assert.deepEqual(v, { scale: 2, x: 100, y: 50 });
  assert.deepEqual(enlarged(v, 0.1, 0, 0, 600, 400), { scale: 1, x: 0, y: 0 });
  assert.deepEqual(within({ scale: 2, x: 5000, y: -3 }, 600, 400), { scale: 2, x: 600, y: 0 });
  assert.equal(enlarged(v, 1000, 0, 0, 600, 400).scale, maxScale);
});
