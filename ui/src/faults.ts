// Faults at /minikcm/v1/faults: those that menus offer, and those that the cluster has.

import { getJSON, lines, request } from "./api.ts";
import { followVisible } from "./streams.ts";

/** FaultDocument is a fault as the step "fault" of a scenario has it. */
export interface FaultDocument {
  nodes?: { action: string; names: string[] };
  pods?: { action: string; namespace?: string; names?: string[]; selector?: string; count?: number; grace?: string };
  controllers?: { action: string; names: string[]; delay?: string };
  apiserver?: { action: string; percent?: number; code?: number; delay?: string; verbs?: string[]; resources?: string[] };
  for?: string;
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

const path = "/minikcm/v1/faults";

/** Action is what a menu offers. Those that last have a duration. */
export interface Action {
  name: string;
  label: string;
  lasts: boolean;
}
export const nodeActions: Action[] = [
  { name: "crash", label: "Crash (the machine goes down)", lasts: true },
  { name: "hang", label: "Hang (its container runtime)", lasts: true },
  { name: "partition", label: "Partition (cut off from the API server)", lasts: true },
  { name: "cordon", label: "Cordon", lasts: true },
];
export const podActions: Action[] = [
  { name: "kill", label: "Kill (without grace)", lasts: false },
  { name: "crash", label: "Crash its containers", lasts: false },
  { name: "notReady", label: "Fail its readiness probe", lasts: true },
];
export const controllerActions: Action[] = [
  { name: "slow", label: "Slow: 2 s more a reconcile", lasts: true },
  { name: "pause", label: "Pause: its keys wait", lasts: true },
  { name: "crash", label: "Crash and restart it", lasts: false },
  { name: "loseEvents", label: "Lose its events", lasts: true },
];
export const serverActions: Action[] = [
  { name: "error", label: "Errors", lasts: true },
  { name: "latency", label: "Latency", lasts: true },
  { name: "tooManyRequests", label: "Too many requests (429)", lasts: true },
  { name: "conflicts", label: "Conflicts of updates (409)", lasts: true },
];
export const durations: Record<string, string> = { "10 s": "10s", "1 min": "1m", "5 min": "5m", "1 h": "1h", "until stopped": "" };

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
