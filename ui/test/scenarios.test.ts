import assert from "node:assert/strict";
import { test } from "node:test";
import { isOver, mark, progress, type Run, type StepState, took } from "../src/scenarios.ts";

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
