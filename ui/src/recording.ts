// A recording of what the user does, and the scenario that repeats it: the cluster as it was
// when the recording began, and then the user's steps with the times between them.

import type { FaultDocument } from "./faults.ts";
import { escaped, inline, type Value } from "./yaml.ts";
import { say } from "./language.ts";

interface DoneAt {
  /** at is the cluster's time in milliseconds. */
  at: number;
}
interface PodAction {
  kind: "delete";
  namespace: string;
  name: string;
  labels: Record<string, string>;
  owner: string;
}
interface FaultAction {
  kind: "fault";
  id: string;
  fault: FaultDocument;
  lasts: boolean;
  /** pod is the pod of a fault that breaks one. */
  pod?: Omit<PodAction, "kind">;
}
interface AdvanceAction {
  kind: "advance";
  ms: number;
}
interface StepAction {
  kind: "step";
  /** step is a step of a scenario, with one field. */
  step: Record<string, Value>;
  says: string;
}
export type Done = PodAction | FaultAction | AdvanceAction | StepAction;

/** Start is the cluster when a recording began. objects are their JSON. */
export interface Start {
  at: number;
  revision: string;
  objects: string[];
  /** pods are the names, with their namespaces, of the pods among the objects. */
  pods: Set<string>;
}

/** goDuration writes milliseconds as scenarios do. */
export function goDuration(ms: number): string {
  const seconds = Math.round(ms) / 1000;
  const whole = Math.floor(seconds);
  const [h, m] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60)];
  const s = Math.round((seconds - h * 3600 - m * 60) * 1000) / 1000;
  return `${h ? `${h}h` : ""}${m ? `${m}m` : ""}${s || (!h && !m) ? `${s}s` : ""}`;
}

const unit: Record<string, number> = { h: 3600e3, m: 60e3, s: 1e3, ms: 1 };

/** milliseconds reads a duration of Go with the units from ms to h; others count as 0. */
export function milliseconds(duration: string): number {
  let sum = 0;
  for (const [, n, u] of duration.matchAll(/([\d.]+)(ms|h|m|s)/g)) sum += Number(n) * unit[u!]!;
  return sum;
}

/** Recording collects what the user does. */
export class Recording {
  readonly done: (Done & DoneAt)[] = [];
  /** notes are what a scenario cannot repeat. */
  readonly notes: string[] = [];

  constructor(readonly start: Start) {}

  add(done: Done, at: number): void {
    this.done.push({ ...done, at: Math.max(at, this.start.at) });
  }

  /** stopped ends a fault early. */
  stopped(id: string, at: number): void {
    const fault = this.done.find((d) => d.kind === "fault" && d.id === id);
    if (fault?.kind === "fault") fault.fault = { ...fault.fault, for: goDuration(Math.max(1, at - fault.at)) };
    else this.notes.push(say("unknownFaultStopped", { id }));
  }

  /** scenario returns the YAML that repeats what was done until a time. */
  scenario(name: string, now: number): string {
    const steps: string[] = [];
    let at = this.start.at;
    let end = now;
    const sleep = (until: number) => {
      if (until > at) steps.push(`    - sleep: ${goDuration(until - at)}`);
      at = Math.max(at, until);
    };
    for (const d of [...this.done].sort((a, b) => a.at - b.at)) {
      sleep(d.at);
      steps.push(...step(d, this.start.pods));
      if (d.kind === "advance") at += d.ms;
      if (d.kind === "fault") end = Math.max(end, d.at + milliseconds(d.fault.for ?? ""));
    }
    sleep(end);
    return [
      "apiVersion: minikcm.dev/v1alpha1",
      "kind: Scenario",
      "metadata:",
      `  name: ${name}`,
      "spec:",
      `  description: ${say("recordedFrom", { revision: this.start.revision })}`,
      `  timeout: ${goDuration(at - this.start.at + 3600e3)}`,
      "  cluster:",
      `    nodes: 0 # ${say("amongTheObjects")}`,
      `    start: ${JSON.stringify(new Date(Math.ceil(this.start.at / 1000) * 1000).toISOString().replace(".000", ""))}`,
      "  steps:",
      `    - name: ${say("clusterAsItWas")}`,
      "      apply:",
      "        objects:",
      ...this.start.objects.map((o) => `          - ${escaped(o)}`),
      `    - sleep: 1ms # ${say("nodesBeginToRun")}`,
      ...this.notes.map((n) => `    # ${n}`),
      ...steps,
      "",
    ].join("\n");
  }
}

/** named returns how a pod is found again. The names of pods that controllers made meanwhile are others in each run. */
function named(pod: Omit<PodAction, "kind">, known: Set<string>): { names: string[] } | { selector: string; count: number } {
  const labels = Object.entries(pod.labels);
  if (known.has(`${pod.namespace}/${pod.name}`) || !pod.owner || pod.owner.startsWith("StatefulSet/") || labels.length === 0) return { names: [pod.name] };
  return { selector: labels.map(([k, v]) => `${k}=${v}`).join(","), count: 1 };
}

function step(d: Done, known: Set<string>): string[] {
  if (d.kind === "advance") return [`    - advance: ${goDuration(d.ms)}`];
  if (d.kind === "step") return Object.entries(d.step).map(([name, of]) => `    - ${name}: ${inline(of)}`);
  if (d.kind === "delete") {
    const pod = named(d, known);
    if ("names" in pod) return [`    - delete: ${inline({ target: `pod/${d.name}`, namespace: d.namespace })}`];
    return [`    - fault: ${inline({ pods: { action: "kill", namespace: d.namespace, ...pod, grace: "30s" } })}`];
  }
  let fault = d.fault;
  if (d.pod && fault.pods) {
    const { names: _, ...rest } = fault.pods;
    fault = { ...fault, pods: { ...rest, ...named(d.pod, known) } };
  }
  return [`    - fault: ${inline(fault as Value)}`, ...(d.lasts ? ["      background: true"] : [])];
}
