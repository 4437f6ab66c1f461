import assert from "node:assert/strict";
import { test } from "node:test";
import { differing, isOver, mark, progress, type Run, type StepState, summary, took } from "../src/scenarios.ts";

const at = (s: number) => new Date(Date.parse("2026-01-05T00:00:00Z") + s * 1000).toISOString();
const run = (state: Run["state"], ...states: StepState[]): Run => ({ id: "run-1", scenario: "s", seed: 1, state, since: at(0), steps: states.map((s) => ({ title: s, state: s })) });

test("the progress of a run counts the steps that are over", () => {
  assert.deepEqual(progress(run("Running", "Done", "Background", "Active", "Waiting")), { done: 1, all: 4 });
  assert.deepEqual(progress(run("Failed", "Done", "Failed", "Skipped", "Done")), { done: 3, all: 4 });
  assert.deepEqual(progress({ ...run("Passed"), steps: undefined as never }), { done: 0, all: 0 });
});

test("a run is over in its final states", () => {
  for (const [state, over] of [["Running", false], ["Stopping", false], ["Passed", true], ["Failed", true], ["Stopped", true]] as const) assert.equal(isOver(run(state)), over);
});

test("times are the cluster's, also when they are read from a clock that is behind", () => {
  assert.equal(took({ since: at(1), until: at(4) }, 0), 3000);
  assert.equal(took({ since: at(1) }, Date.parse(at(3))), 2000);
  assert.equal(took({ since: at(1) }, Date.parse(at(0))), 0);
  assert.equal(took({}, 0), undefined);
});

test("each state has a mark of its own", () => {
  const states: StepState[] = ["Waiting", "Active", "Background", "Done", "Failed", "Skipped"];
  assert.equal(new Set(states.map(mark)).size, states.length);
});

test("the report counts the checks", () => {
  const of = (passed: number, failed: number) => summary({ clusterSeconds: 1, realSeconds: 1, passed, failed, checks: [], page: true });
  assert.equal(of(0, 0), "It has made no checks.");
  assert.equal(of(1, 0), "1 check passed.");
  assert.equal(of(3, 0), "3 checks passed.");
  assert.equal(of(3, 1), "1 check failed, 3 passed.");
});

test("what differs in a field is taken apart, and other texts are left as they are", () => {
  const cases: [string, [string, string, string] | undefined][] = [
    ["spec.replicas: expected 3, found 2", ["spec.replicas", "3", "2"]],
    ["status.conditions[Ready].status: expected \"True\", but it is not set", ["status.conditions[Ready].status", '"True"', "not set"]],
    ["spec.paused: expected not to be set, found true", ["spec.paused", "not to be set", "true"]],
    ["spec.containers[web]: expected, but there is only a, b", ["spec.containers[web]", "to be there", "only a, b"]],
    ['spec.taints[0]: expected an item {"key":"a"} among [{"key":"b"}]', ["spec.taints[0]", 'an item {"key":"a"}', '[{"key":"b"}]']],
    ["size(pods) = 3", undefined],
    ["--- expected\n+++ found\n-a\n+b", undefined],
  ];
  for (const [line, want] of cases) {
    const got = differing(line);
    assert.deepEqual(got && [got.field, got.expected, got.found], want, line);
  }
});
