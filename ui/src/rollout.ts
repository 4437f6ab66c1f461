// How far a workload is: done where "kubectl rollout status" is, and stuck with a reason where it
// would wait for ever.

import type { KubeObject } from "./reflector.ts";
import { type Message, message, say } from "./language.ts";

/** State is what a workload's progress is called. */
export type State = "done" | "moving" | "stuck" | "failed" | "paused";

export interface Rollout {
  state: State;
  /** done of wanted pods new and available; of a Job, they have succeeded. */
  done: number;
  wanted: number;
  /** says what it waits for; undefined when it is done. */
  says?: Message | undefined;
  /** reason is why it is stuck, or has failed. */
  reason?: string;
}

interface Condition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
}

function condition(o: KubeObject, type: string, status = "True"): Condition | undefined {
  return ((o.status?.conditions ?? []) as Condition[]).find((c) => c.type === type && c.status === status);
}

function text(c: Condition): string {
  return [c.reason, c.message].filter(Boolean).join(": ");
}

/** clamp limits a number of pods to what is possible. */
function clamp(n: number, most: number): number {
  return Math.max(0, Math.min(n, most));
}

/** isUnseen reports whether the controller has not seen the object as it is. */
function isUnseen(o: KubeObject): boolean {
  return (o.metadata.generation ?? 0) > (o.status?.observedGeneration ?? 0);
}

/** waiting returns the rollout of a workload that waits for something, unless says is undefined. */
function waiting(done: number, wanted: number, says: Message | undefined): Rollout {
  return { state: says ? "moving" : "done", done, wanted, ...(says ? { says } : {}) };
}

const unseen = message("unseenSpec");

function deployment(o: KubeObject): Rollout {
  const { replicas = 0, updatedReplicas: updated = 0, availableReplicas: available = 0 } = o.status ?? {};
  const wanted: number = o.spec?.replicas ?? 1;
  // The available pods may all be old ones.
  const done = clamp(available - Math.max(0, replicas - updated), Math.min(updated, wanted));
  let says: Message | undefined;
  if (isUnseen(o)) says = unseen;
  else if (updated < wanted) says = message("podsNew", { n: updated, all: wanted });
  else if (replicas > updated) says = message("podsToEnd", { n: replicas - updated });
  else if (available < updated) says = message("podsAvailable", { n: available, all: updated });
  else if (replicas > wanted) says = message("podsTooMany", { n: replicas - wanted });
  const result = waiting(done, wanted, says);
  const failure = condition(o, "ReplicaFailure");
  const late = condition(o, "Progressing", "False");
  if (says && failure) return { ...result, state: "stuck", reason: text(failure) };
  if (late?.reason === "ProgressDeadlineExceeded") return { ...result, state: "stuck", reason: text(late) };
  return says && o.spec?.paused ? { ...result, state: "paused" } : result;
}

function statefulSet(o: KubeObject): Rollout {
  const { replicas = 0, updatedReplicas: updated = 0, readyReplicas: ready = 0, currentRevision, updateRevision } = o.status ?? {};
  const wanted: number = o.spec?.replicas ?? 1;
  const { type = "RollingUpdate", rollingUpdate } = o.spec?.updateStrategy ?? {};
  const rolls = updateRevision !== currentRevision && type !== "OnDelete";
  const partition: number = rollingUpdate?.partition ?? 0;
  const toUpdate = Math.max(0, wanted - partition);
  let says: Message | undefined;
  if (isUnseen(o)) says = unseen;
  else if (ready < wanted) says = message("podsReady", { n: ready, all: wanted });
  else if (rolls && updated < toUpdate) says = message("podsNew", { n: updated, all: toUpdate });
  else if (rolls && partition === 0) says = message("podsNew", { n: updated, all: wanted });
  else if (replicas > wanted) says = message("podsTooMany", { n: replicas - wanted });
  const old = rolls ? Math.max(0, Math.min(replicas - updated, wanted) - partition) : 0;
  return waiting(clamp(ready - old, wanted), wanted, says);
}

function daemonSet(o: KubeObject): Rollout {
  const { desiredNumberScheduled: wanted = 0, currentNumberScheduled: current = 0, updatedNumberScheduled: updated = 0, numberAvailable: available = 0 } = o.status ?? {};
  const rolls = o.spec?.updateStrategy?.type !== "OnDelete";
  let says: Message | undefined;
  if (isUnseen(o)) says = unseen;
  else if (rolls && updated < wanted) says = message("podsNew", { n: updated, all: wanted });
  else if (available < wanted) says = message("podsAvailable", { n: available, all: wanted });
  const old = rolls ? Math.max(0, current - updated) : 0;
  return waiting(clamp(available - old, wanted), wanted, says);
}

function replicaSet(o: KubeObject): Rollout {
  const { replicas = 0, availableReplicas: available = 0 } = o.status ?? {};
  const wanted: number = o.spec?.replicas ?? 1;
  let says: Message | undefined;
  if (isUnseen(o)) says = unseen;
  else if (replicas < wanted) says = message("podsCreated", { n: replicas, all: wanted });
  else if (available < wanted) says = message("podsAvailable", { n: available, all: wanted });
  else if (replicas > wanted) says = message("podsTooMany", { n: replicas - wanted });
  const result = waiting(clamp(available, wanted), wanted, says);
  const failure = condition(o, "ReplicaFailure");
  return says && failure ? { ...result, state: "stuck", reason: text(failure) } : result;
}

function job(o: KubeObject): Rollout {
  const { succeeded = 0, active = 0, failed = 0 } = o.status ?? {};
  const wanted: number = o.spec?.completions ?? o.spec?.parallelism ?? 1;
  const failure = condition(o, "Failed") ?? condition(o, "FailureTarget");
  if (failure) return { state: "failed", done: succeeded, wanted, says: message("failedWord"), reason: text(failure) };
  if (condition(o, "Complete")) return { state: "done", done: succeeded, wanted };
  const result = waiting(succeeded, wanted, failed > 0 ? message("jobWithFailed", { n: succeeded, all: wanted, active, failed }) : message("jobActive", { n: succeeded, all: wanted, active }));
  return o.spec?.suspend ? { ...result, state: "paused", says: message("suspendedWord") } : result;
}

const kinds: Record<string, (o: KubeObject) => Rollout> = { Deployment: deployment, StatefulSet: statefulSet, DaemonSet: daemonSet, ReplicaSet: replicaSet, Job: job };

/** rolloutOf returns how far a workload is, by its own status. */
export function rolloutOf(kind: string, o: KubeObject): Rollout {
  return kinds[kind]!(o);
}

/** withPods returns the rollout of a workload some of whose pods cannot run: it is stuck with their reason unless it is done. */
export function withPods(rollout: Rollout, problems: string[]): Rollout {
  if (problems.length === 0 || rollout.state === "done" || rollout.state === "failed") return rollout;
  const reason = problems.length === 1 ? problems[0]! : say("podsOne", { n: problems.length, problem: problems[0]! });
  return { ...rollout, state: "stuck", reason: rollout.reason ? `${rollout.reason}; ${reason}` : reason };
}

/** podProblem returns why a pod cannot run, from its status; empty if nothing says that it cannot. */
export function podProblem(o: KubeObject): string {
  if (o.metadata.deletionTimestamp || o.status?.phase === "Succeeded") return "";
  const unscheduled = condition(o, "PodScheduled", "False");
  if (unscheduled) return text(unscheduled);
  if (o.status?.phase === "Failed") return [o.status.reason ?? "Failed", o.status.message].filter(Boolean).join(": ");
  const states: { state?: { waiting?: { reason?: string; message?: string } } }[] = [...(o.status?.initContainerStatuses ?? []), ...(o.status?.containerStatuses ?? [])];
  const waits = states.map((s) => s.state?.waiting).find((w) => w?.reason && /BackOff|Err|Invalid/.test(w.reason));
  return waits ? [waits.reason, waits.message].filter(Boolean).join(": ") : "";
}
