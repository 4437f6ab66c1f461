// What the page keeps of the objects: rows are small, so that 10,000 pods are cheap to pass
// from the worker and to hold.

import type { KubeObject } from "./reflector.ts";
import { podProblem, type Rollout, rolloutOf } from "./rollout.ts";
import { say } from "./language.ts";

export type Phase = "unscheduled" | "starting" | "unready" | "ready" | "succeeded" | "failed" | "terminating";
export const phases: Phase[] = ["unscheduled", "starting", "unready", "ready", "succeeded", "failed", "terminating"];

/** zoneLabel is the label of a node's zone. */
export const zoneLabel = "topology.kubernetes.io/zone";

export interface Row {
  uid: string;
  name: string;
  namespace: string;
  labels: Record<string, string>;
  created: number;
}
export interface PodRow extends Row {
  node: string;
  phase: Phase;
  /** status is the word that kubectl shows. */
  status: string;
  owner: string;
  cpu: number;
  memory: number;
  restarts: number;
  /** problem is why it cannot run; absent if nothing is known to be wrong. */
  problem?: string;
}
export interface NodeRow extends Row {
  ready: boolean;
  schedulable: boolean;
  cpu: number;
  memory: number;
  pods: number;
}
export interface WorkloadRow extends Row {
  kind: string;
  owner: string;
  revision: string;
  /** generation counts the changes of the spec. */
  generation: number;
  desired: number;
  replicas: number;
  updated: number;
  ready: number;
  available: number;
  /** succeeded and failed are a Job's. */
  succeeded: number;
  failed: number;
  rollout: Rollout;
}
export interface ScalerRow extends Row {
  target: string;
  min: number;
  max: number;
  current: number;
  desired: number;
  /** metrics are named values beside their targets, in the same unit. */
  metrics: { name: string; value: number; target: number }[];
}

const suffixes: Record<string, number> = {
  n: 1e-9, u: 1e-6, m: 1e-3, "": 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18,
  Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50, Ei: 2 ** 60,
};

/** quantity parses a Kubernetes quantity; what is none counts as 0. */
export function quantity(text: unknown): number {
  const match = /^([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)([numkMGTPE]|[KMGTPE]i)?$/.exec(String(text ?? ""));
  return match ? Number(match[1]) * suffixes[match[2] ?? ""]! || 0 : 0;
}

function base(o: KubeObject): Row {
  const m = o.metadata;
  return {
    uid: m.uid, name: m.name, namespace: m.namespace ?? "", labels: m.labels ?? {},
    created: Date.parse(m.creationTimestamp ?? "") || 0,
  };
}

function owner(o: KubeObject): string {
  const reference = o.metadata.ownerReferences?.find((r) => r.controller) ?? o.metadata.ownerReferences?.[0];
  return reference ? `${reference.kind}/${reference.name}` : "";
}

interface Container {
  resources?: { requests?: Record<string, string>; limits?: Record<string, string> };
}

function requested(containers: Container[] | undefined, resource: string): number {
  let sum = 0;
  for (const c of containers ?? []) sum += quantity(c.resources?.requests?.[resource] ?? c.resources?.limits?.[resource]);
  return sum;
}

/** podStatus returns a pod's phase for its colour, and the word that kubectl shows. */
export function podStatus(o: KubeObject): [Phase, string] {
  const status = o.status ?? {};
  const conditions: { type: string; status: string }[] = status.conditions ?? [];
  const states: { state?: Record<string, { reason?: string }> }[] = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
  const waiting = states.find((c) => c.state?.waiting?.reason)?.state?.waiting?.reason;
  if (o.metadata.deletionTimestamp) return ["terminating", "Terminating"];
  if (status.phase === "Succeeded") return ["succeeded", "Succeeded"];
  if (status.phase === "Failed") return ["failed", status.reason ?? "Failed"];
  if (waiting && /BackOff|Err|Invalid/.test(waiting)) return ["failed", waiting];
  if (!o.spec?.nodeName) return ["unscheduled", "Pending"];
  if (status.phase !== "Running") return ["starting", waiting ?? "Starting"];
  const ready = conditions.some((c) => c.type === "Ready" && c.status === "True");
  return ready ? ["ready", "Running"] : ["unready", "NotReady"];
}

/** statusWord is the word of a pod's status: kubectl's, or for a pod that is not ready the page's. */
export function statusWord(p: Pick<PodRow, "phase" | "status">): string {
  if (p.phase === "unready") return say("nodeNotReady");
  return p.phase === "starting" && p.status === "Starting" ? say("starting") : p.status;
}

export function podRow(o: KubeObject): PodRow {
  const [phase, status] = podStatus(o);
  const containers: { restartCount?: number }[] = o.status?.containerStatuses ?? [];
  const problem = podProblem(o);
  return {
    ...(problem ? { problem } : {}),
    ...base(o), node: o.spec?.nodeName ?? "", phase, status, owner: owner(o),
    cpu: requested(o.spec?.containers, "cpu"), memory: requested(o.spec?.containers, "memory"),
    restarts: containers.reduce((sum, c) => sum + (c.restartCount ?? 0), 0),
  };
}

export function nodeRow(o: KubeObject): NodeRow {
  const conditions: { type: string; status: string }[] = o.status?.conditions ?? [];
  const allocatable = o.status?.allocatable ?? {};
  return {
    ...base(o), ready: conditions.some((c) => c.type === "Ready" && c.status === "True"), schedulable: !o.spec?.unschedulable,
    cpu: quantity(allocatable.cpu), memory: quantity(allocatable.memory), pods: quantity(allocatable.pods),
  };
}

export function workloadRow(kind: string): (o: KubeObject) => WorkloadRow {
  return (o) => {
    const s = o.status ?? {};
    const job = kind === "Job";
    return {
      ...base(o), kind, owner: owner(o), revision: o.metadata.annotations?.["deployment.kubernetes.io/revision"] ?? "", generation: o.metadata.generation ?? 0,
      desired: job ? (o.spec?.completions ?? o.spec?.parallelism ?? 1) : (o.spec?.replicas ?? s.desiredNumberScheduled ?? 0),
      replicas: job ? (s.active ?? 0) : (s.replicas ?? s.currentNumberScheduled ?? 0), updated: s.updatedReplicas ?? s.updatedNumberScheduled ?? 0,
      ready: s.readyReplicas ?? s.numberReady ?? s.ready ?? 0, available: s.availableReplicas ?? s.numberAvailable ?? 0,
      succeeded: s.succeeded ?? 0, failed: s.failed ?? 0, rollout: rolloutOf(kind, o),
    };
  };
}

interface MetricValue {
  averageUtilization?: number;
  averageValue?: string;
  value?: string;
}
type Metric = { type: string } & Record<string, { name?: string; metric?: { name: string }; target?: MetricValue; current?: MetricValue }>;

function metricSource(m: Metric) {
  return m[m.type.charAt(0).toLowerCase() + m.type.slice(1)];
}

function metricValue(v: MetricValue | undefined): number {
  return v?.averageUtilization ?? quantity(v?.averageValue ?? v?.value);
}

export function scalerRow(o: KubeObject): ScalerRow {
  const current: Metric[] = o.status?.currentMetrics ?? [];
  const metrics = ((o.spec?.metrics ?? []) as Metric[]).map((m, i) => {
    const wanted = metricSource(m);
    const got = current[i]?.type === m.type ? metricSource(current[i]!) : undefined;
    return { name: wanted?.name ?? wanted?.metric?.name ?? m.type, value: metricValue(got?.current), target: metricValue(wanted?.target) };
  });
  const ref = o.spec?.scaleTargetRef ?? {};
  return {
    ...base(o), target: `${ref.kind}/${ref.name}`, min: o.spec?.minReplicas ?? 1, max: o.spec?.maxReplicas ?? 0,
    current: o.status?.currentReplicas ?? 0, desired: o.status?.desiredReplicas ?? 0, metrics,
  };
}
