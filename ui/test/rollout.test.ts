import assert from "node:assert/strict";
import { test } from "node:test";
import { podProblem, type Rollout, rolloutOf, withPods } from "../src/rollout.ts";
import { saying } from "../src/language.ts";

const object = (spec: object, status: object, generation = 1) => ({ metadata: { uid: "u", name: "n", resourceVersion: "1", generation }, spec, status: { observedGeneration: 1, ...status } });
const short = (r: Rollout) => `${r.state} ${r.done}/${r.wanted} ${saying(r.says)}${r.reason ? ` (${r.reason})` : ""}`.trim();
const of = (kind: string, spec: object, status: object, generation = 1) => short(rolloutOf(kind, object(spec, status, generation)));

test("a Deployment is done when kubectl rollout status is", () => {
  const d = (replicas: number, status: object, generation?: number) => of("Deployment", { replicas }, status, generation);
  assert.equal(d(3, { replicas: 3, updatedReplicas: 3, readyReplicas: 3, availableReplicas: 3 }), "done 3/3");
  assert.equal(d(0, {}), "done 0/0");
  assert.equal(d(3, { replicas: 3, updatedReplicas: 3, availableReplicas: 3 }, 2), "moving 3/3 its controller has not seen the newest spec");
  // The new pod is unschedulable, and the old one is available.
  assert.equal(d(1, { replicas: 2, updatedReplicas: 1, availableReplicas: 1 }), "moving 0/1 1 pod of older revisions has still to end");
  assert.equal(d(4, { replicas: 5, updatedReplicas: 2, availableReplicas: 4 }), "moving 1/4 2 of 4 pods new");
  assert.equal(d(15, { replicas: 16, updatedReplicas: 15, availableReplicas: 16 }), "moving 15/15 1 pod of older revisions has still to end");
  assert.equal(d(15, { replicas: 16, updatedReplicas: 16, availableReplicas: 16 }), "moving 15/15 1 pod too many");
  assert.equal(d(2, { replicas: 2, updatedReplicas: 2, availableReplicas: 1 }), "moving 1/2 1 of 2 pods available");
  assert.equal(of("Deployment", { replicas: 2, paused: true }, { replicas: 2, updatedReplicas: 1, availableReplicas: 2 }), "paused 1/2 1 of 2 pods new");
  const late = { type: "Progressing", status: "False", reason: "ProgressDeadlineExceeded", message: "it took too long" };
  assert.equal(d(2, { replicas: 3, updatedReplicas: 1, availableReplicas: 2, conditions: [late] }), "stuck 0/2 1 of 2 pods new (ProgressDeadlineExceeded: it took too long)");
  const quota = { type: "ReplicaFailure", status: "True", reason: "FailedCreate", message: "exceeded quota" };
  assert.equal(d(2, { replicas: 1, updatedReplicas: 1, availableReplicas: 1, conditions: [quota] }), "stuck 1/2 1 of 2 pods new (FailedCreate: exceeded quota)");
});

test("a StatefulSet is done when its pods ready and of its revision", () => {
  const s = (spec: object, status: object) => of("StatefulSet", { replicas: 3, ...spec }, { replicas: 3, currentRevision: "a", updateRevision: "a", ...status });
  assert.equal(s({}, { readyReplicas: 3 }), "done 3/3");
  assert.equal(s({}, { readyReplicas: 2 }), "moving 2/3 2 of 3 pods ready");
  assert.equal(s({}, { readyReplicas: 3, updateRevision: "b", updatedReplicas: 1 }), "moving 1/3 1 of 3 pods new");
  assert.equal(s({ updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 2 } } }, { readyReplicas: 3, updateRevision: "b", updatedReplicas: 1 }), "done 3/3");
  assert.equal(s({ updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 1 } } }, { readyReplicas: 3, updateRevision: "b", updatedReplicas: 1 }), "moving 2/3 1 of 2 pods new");
  assert.equal(s({ updateStrategy: { type: "OnDelete" } }, { readyReplicas: 3, updateRevision: "b", updatedReplicas: 0 }), "done 3/3");
  assert.equal(s({}, { replicas: 5, readyReplicas: 5 }), "moving 3/3 2 pods too many");
});

test("a DaemonSet is done when each node has a new pod", () => {
  const d = (status: object, spec: object = {}) => of("DaemonSet", spec, { desiredNumberScheduled: 3, currentNumberScheduled: 3, ...status });
  assert.equal(d({ updatedNumberScheduled: 3, numberAvailable: 3 }), "done 3/3");
  assert.equal(d({ updatedNumberScheduled: 1, numberAvailable: 3 }), "moving 1/3 1 of 3 pods new");
  assert.equal(d({ updatedNumberScheduled: 3, numberAvailable: 2 }), "moving 2/3 2 of 3 pods available");
  assert.equal(d({ updatedNumberScheduled: 0, numberAvailable: 3 }, { updateStrategy: { type: "OnDelete" } }), "done 3/3");
});

test("a ReplicaSet is done when its pods available", () => {
  assert.equal(of("ReplicaSet", { replicas: 1 }, { replicas: 1, readyReplicas: 0 }), "moving 0/1 0 of 1 pod available");
  assert.equal(of("ReplicaSet", { replicas: 2 }, { replicas: 2, availableReplicas: 2 }), "done 2/2");
  assert.equal(of("ReplicaSet", { replicas: 0 }, { replicas: 1, availableReplicas: 1 }), "moving 0/0 1 pod too many");
});

test("a Job is done by its conditions", () => {
  const j = (status: object, spec: object = {}) => of("Job", { completions: 5, ...spec }, status);
  assert.equal(j({ active: 2, succeeded: 1, failed: 1 }), "moving 1/5 1 of 5 succeeded, 2 pods active, 1 failed");
  assert.equal(j({ succeeded: 5 }), "moving 5/5 5 of 5 succeeded, 0 pods active");
  assert.equal(j({ succeeded: 5, conditions: [{ type: "Complete", status: "True" }] }), "done 5/5");
  assert.equal(j({ failed: 7, conditions: [{ type: "Failed", status: "True", reason: "BackoffLimitExceeded", message: "too often" }] }), "failed 0/5 failed (BackoffLimitExceeded: too often)");
  assert.equal(j({}, { suspend: true }), "paused 0/5 suspended");
});

test("pods that cannot run make a rollout stuck, with their reason", () => {
  const pod = (status: object, metadata: object = {}) => podProblem({ metadata: { uid: "u", name: "n", resourceVersion: "1", ...metadata }, status });
  const full = { phase: "Pending", conditions: [{ type: "PodScheduled", status: "False", reason: "Unschedulable", message: "no room" }] };
  assert.equal(pod(full), "Unschedulable: no room");
  assert.equal(pod(full, { deletionTimestamp: "2026-01-01T00:00:00Z" }), "");
  assert.equal(pod({ phase: "Pending", containerStatuses: [{ state: { waiting: { reason: "ContainerCreating" } } }] }), "");
  assert.equal(pod({ phase: "Running", containerStatuses: [{ state: { running: {} } }, { state: { waiting: { reason: "CrashLoopBackOff", message: "back-off 10s" } } }] }), "CrashLoopBackOff: back-off 10s");
  assert.equal(pod({ phase: "Pending", initContainerStatuses: [{ state: { waiting: { reason: "ErrImagePull" } } }] }), "ErrImagePull");
  const moving = rolloutOf("Deployment", object({ replicas: 1 }, { replicas: 2, updatedReplicas: 1, availableReplicas: 1 }));
  assert.equal(short(withPods(moving, ["Unschedulable: no room"])), "stuck 0/1 1 pod of older revisions has still to end (Unschedulable: no room)");
  assert.equal(withPods(moving, ["a", "b"]).reason, "2 pods, one: a");
  assert.equal(withPods(moving, []), moving);
  const done = rolloutOf("Deployment", object({ replicas: 1 }, { replicas: 1, updatedReplicas: 1, availableReplicas: 1 }));
  assert.equal(withPods(done, ["a"]), done);
});
