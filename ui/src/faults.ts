// Faults at /minikcm/v1/faults: those that menus offer, and those that the cluster has.

import { getJSON, lines, request } from "./api.ts";
import { followVisible } from "./streams.ts";
import { type Plain, say } from "./language.ts";

/** FaultDocument is a fault as the step "fault" of a scenario has it. */
export interface FaultDocument {
  nodes?: { action: string; names: string[] };
  pods?: { action: string; namespace?: string; names?: string[]; selector?: string; count?: number; grace?: string };
  controllers?: { action: string; names: string[]; delay?: string };
  apiserver?: { action: string; percent?: number; code?: number; delay?: string; verbs?: string[]; resources?: string[] };
  network?: NetFault;
  dns?: NetFault;
  http?: NetFault;
  for?: string;
}
interface NetFault {
  action: string;
  namespace?: string;
  from?: string[];
  to?: string[];
  hosts?: string[];
  [field: string]: string | number | string[] | undefined;
}
export interface Injection {
  id: string;
  title: string;
  fault: FaultDocument & Record<string, unknown>;
  user?: string;
  state: "Pending" | "Active" | "Ending" | "Over" | "Stopped" | "Failed";
  since: string;
  until?: string;
  times: number;
  notes?: { time: string; text: string }[];
  error?: string;
}
interface List {
  now: string;
  items: Injection[];
}

/** Truth is what a fault does to a node now, which the API may not show. */
export interface Truth {
  fault: string;
  action: string;
  /** says what the node is: down. */
  says: Plain;
}

/** hidden are the faults that the API does not show at once, or at all. */
const hidden: Record<string, Plain> = {
  crash: "truthDown", partition: "truthCutOff", hang: "truthHangs", slow: "truthSlow", stopInstance: "truthInstanceStopped", stopProxy: "truthProxyStopped", deleteInstance: "truthInstanceDeleted",
};

/** truthsOf returns what the faults that last do to nodes, by node. Their notes say which nodes were hit, and which of them are back. */
export function truthsOf(faults: Injection[]): Map<string, Truth[]> {
  const truths = new Map<string, Truth[]>();
  for (const f of faults) {
    const action = f.fault.nodes?.action;
    const says = action && hidden[action];
    if (!says || isDone(f) || f.state === "Pending") continue;
    const hit = new Set<string>(f.notes ? [] : f.fault.nodes!.names);
    for (const note of f.notes ?? []) {
      const [, name, what] = /^(?:the instance of )?node\/(\S+) (.*)$/.exec(note.text) ?? [];
      if (!name) continue;
      if (/^(is back|is gone|was started)/.test(what!)) hit.delete(name);
      else hit.add(name);
    }
    for (const name of hit) truths.set(name, [...(truths.get(name) ?? []), { fault: f.id, action: action!, says }]);
  }
  return truths;
}

/** belief says what the API server knows of a truth about a node that it believes to be Ready or not. */
export function belief(truth: Truth, ready: boolean): string {
  if (truth.action === "slow" || truth.action === "stopProxy") return say(truth.says); // the API has nothing to say of it
  return say(ready ? "apiDoesNotKnow" : "apiKnows", { truth: say(truth.says) });
}

/** concerning returns the faults that last and name a controller or a pod. */
export function concerning(faults: Injection[], of: { controller?: string; pod?: { namespace: string; name: string } }): Injection[] {
  return faults.filter((f) => {
    const { controllers, pods } = f.fault;
    if (isDone(f)) return false;
    if (of.controller) return controllers?.names?.includes(of.controller) ?? false;
    return pods !== undefined && (pods.namespace ?? "default") === of.pod?.namespace && (pods.names?.includes(of.pod.name) || (f.notes?.some((n) => n.text.startsWith(`pod/${of.pod!.name} `)) ?? false));
  });
}

/** endOf is when a fault was over, or will be; undefined if only a request ends it. */
export function endOf(f: Injection): number | undefined {
  if (f.state === "Over" || !isDone(f)) return f.until ? Date.parse(f.until) : undefined;
  return Date.parse(f.notes?.at(-1)?.time ?? f.since);
}

const path = "/minikcm/v1/faults";

/** Action is what a menu offers. Those that last have a duration. */
export interface Action {
  name: string;
  label: Plain;
  lasts: boolean;
  /** part is the part of a fault's document, if it is not that of the object: network, dns or http. */
  part?: "network" | "dns" | "http";
  /** field is a value that the user may change. */
  field?: { name: string; label: Plain | ""; value: string; pattern: string };
}
export const nodeActions: Action[] = [
  { name: "crash", label: "nodeCrash", lasts: true },
  { name: "hang", label: "nodeHang", lasts: true },
  { name: "partition", label: "nodePartition", lasts: true },
  { name: "stopProxy", label: "nodeStopProxy", lasts: true },
  { name: "cordon", label: "cordon", lasts: true },
];
export const podActions: Action[] = [
  { name: "kill", label: "podKill", lasts: false },
  { name: "crash", label: "podCrash", lasts: false },
  { name: "notReady", label: "podNotReady", lasts: true },
];
export const controllerActions: Action[] = [
  { name: "slow", label: "controllerSlow", lasts: true },
  { name: "pause", label: "controllerPause", lasts: true },
  { name: "crash", label: "controllerCrash", lasts: false },
  { name: "loseEvents", label: "controllerLoseEvents", lasts: true },
];
export const serverActions: Action[] = [
  { name: "error", label: "apiErrors", lasts: true },
  { name: "latency", label: "apiLatency", lasts: true },
  { name: "tooManyRequests", label: "apiTooMany", lasts: true },
  { name: "conflicts", label: "apiConflicts", lasts: true },
];
/** durations are those that menus offer, in milliseconds; 0 is until the fault is stopped. */
export const durations: Record<string, number> = { "10s": 10e3, "1m": 60e3, "5m": 300e3, "1h": 3600e3, "": 0 };

export function isDone(i: Injection): boolean {
  return i.state === "Over" || i.state === "Stopped" || i.state === "Failed";
}

/** lasting adds a duration to a fault; an empty one lasts until the fault is stopped. */
export function lasting(fault: FaultDocument, duration: string): FaultDocument {
  return duration ? { ...fault, for: duration } : fault;
}

export async function inject(fault: FaultDocument): Promise<Injection> {
  return (await (await request("POST", path, fault)).json()) as Injection;
}

export async function stop(id: string): Promise<Injection> {
  return (await (await request("DELETE", `${path}/${id}`)).json()) as Injection;
}

export async function listFaults(): Promise<Injection[]> {
  return (await getJSON<List>(path)).items;
}

/** followFaults calls each with the faults, newest first, now and after changes, until signal. */
export function followFaults(each: (faults: Injection[]) => void, failed: (error: unknown) => void, signal: AbortSignal): void {
  followVisible((s) => lines<List>(`${path}?follow=true`, (l) => each([...l.items].reverse()), s), failed, signal);
}

/** Faults are the cluster's, newest first, for all views of a page. */
export class Faults {
  items: Injection[] = [];
  truths = new Map<string, Truth[]>();
  /** known is set once they have been read. */
  known = false;
  private readonly listeners = new Set<() => void>();

  listen(f: () => void): () => void {
    this.listeners.add(f);
    return () => this.listeners.delete(f);
  }

  follow(failed: (error: unknown) => void, signal: AbortSignal): void {
    followFaults((items) => this.set(items), failed, signal);
  }

  set(items: Injection[]): void {
    this.items = items;
    this.truths = truthsOf(items);
    this.known = true;
    for (const f of this.listeners) f();
  }

  /** lasting returns those that are not over. */
  lasting(): Injection[] {
    return this.items.filter((f) => !isDone(f));
  }
}
