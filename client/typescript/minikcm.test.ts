// Tests of minikcm.ts for "node --test", with MINIKCM or minikcm in PATH. esbuild translates them.
import assert from "node:assert/strict";
import { access, mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";

import { Cluster, StatusError, type Options } from "./minikcm";

/** Runs a function with a cluster, which it closes. */
async function withCluster(options: Options, run: (mk: Cluster) => Promise<void>): Promise<void> {
  const mk = await Cluster.start(options);
  try {
    await run(mk);
  } finally {
    await mk.close();
  }
  await assert.rejects(access(dirname(mk.kubeconfig)));
}

test("a cluster is described and reset", () =>
  withCluster({ nodes: 2, seed: 7 }, async (mk) => {
    assert.equal((await mk.info()).seed, 7);
    assert.ok((await mk.controllers()).length > 30);
    await mk.advance("1h");
    const before = (await mk.writes({ resource: "nodes" })).length;
    await mk.reset();
    assert.equal(await mk.resets(), 1);
    assert.ok((await mk.writes({ resource: "nodes" })).length < before);
  }));

test("the clock is controlled", () =>
  withCluster({}, async (mk) => {
    const paused = await mk.pause();
    assert.equal(paused.paused, true);
    assert.equal((await mk.clock()).now, paused.now);
    const later = await mk.advance("1h");
    assert.equal(Date.parse(later.now) - Date.parse(paused.now), 3_600_000);
    assert.equal((await mk.step()).now, later.nextTimer);
    assert.equal((await mk.setSpeed(10)).factor, 10);
    await mk.settle();
    assert.ok(!(await mk.resume()).paused);
    await assert.rejects(mk.setSpeed(-1), (error) => error instanceof StatusError && error.code === 422 && error.reason === "Invalid");
  }));

test("scenarios run in the cluster", () =>
  withCluster({}, async (mk) => {
    const shipped = new Map((await mk.scenarios()).map((s) => [s.name, s]));
    assert.equal(shipped.get("crashloop")?.refused, undefined);
    assert.match(await mk.scenarioSource("crashloop"), /name: crashloop/);
    const document = "apiVersion: minikcm.dev/v1alpha1\nkind: Scenario\nmetadata: {name: own}\nspec:\n  timeout: 1000h\n  cluster: {nodes: 1}\n  steps: [{sleep: 100h}]\n";
    const run = await mk.runScenario({ document });
    assert.equal(run.steps?.[0]?.title, "sleep 100h0m0s");
    assert.equal((await mk.scenarioRuns()).length, 1);
    assert.equal((await mk.scenarioRun(run.id)).state, "Running");
    assert.equal((await mk.stopScenario(run.id)).state, "Stopped");
  }));

test("faults are injected, and the record explains them", () =>
  withCluster({ nodes: 2 }, async (mk) => {
    const fault = await mk.fail({ nodes: { action: "crash", names: ["node-1"] }, for: "5m" }, 3);
    await mk.advance("2m");
    assert.equal((await mk.fault(fault.id)).state, "Active");
    assert.equal((await mk.faults()).length, 1);
    assert.equal((await mk.stopFault(fault.id)).state, "Stopped");
    await mk.fail("nodes: {action: slow, names: [node-0], delay: 1s}\nfor: 1s");
    const [first] = await mk.writes({ resource: "nodes", name: "node-1" });
    assert.equal(first?.effect, "created");
    assert.equal((await mk.why("nodes", "node-1")).object.name, "node-1");
    const folder = await mkdtemp(join(tmpdir(), "minikcm-test-"));
    try {
      await mk.snapshot(join(folder, "snapshot.db"));
      assert.ok((await stat(join(folder, "snapshot.db"))).size > 0);
      await assert.rejects(mk.snapshot(join(folder, "snapshot.db")), /EEXIST/);
    } finally {
      await rm(folder, { recursive: true });
    }
  }));

test("a real clock cannot be paused", () =>
  withCluster({ clock: "real" }, async (mk) => {
    await assert.rejects(mk.pause(), /the cluster's clock is real/);
  }));

test("a cluster that does not start says why", async () => {
  await assert.rejects(Cluster.start({ nodes: -1 }), /--nodes must not be negative/);
  await assert.rejects(Cluster.start({ binary: "no-such-program" }), /no-such-program.*MINIKCM/);
});
