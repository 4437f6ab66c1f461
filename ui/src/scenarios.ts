// Scenarios at /minikcm/v1/scenarios: those that are shipped, and the runs in this cluster.

import { getJSON, lines, request } from "./api.ts";
import { followVisible } from "./streams.ts";

export interface Shipped {
  name: string;
  description: string;
  nodes: number;
  steps: string[];
  /** refused says why it cannot run on this cluster. */
  refused?: string;
}
export type StepState = "Waiting" | "Active" | "Background" | "Done" | "Failed" | "Skipped";
export interface Step {
  title: string;
  state: StepState;
  last?: boolean;
  since?: string;
  until?: string;
  differs?: string;
  notes?: string[];
  forgotten?: number;
  failure?: string;
}
export interface Invariant {
  name: string;
  state: StepState;
  failure?: string;
}
export interface Run {
  id: string;
  scenario: string;
  description?: string;
  user?: string;
  seed: number;
  state: "Running" | "Stopping" | "Passed" | "Failed" | "Stopped";
  since: string;
  until?: string;
  steps?: Step[];
  invariants?: Invariant[];
  notes?: string[];
  failure?: string;
  causes?: string[];
}
/** Wanted is what to run: a shipped scenario by its name, or the text of another one. */
export type Wanted = ({ name: string } | { document: string }) & { seed?: number; namespace?: string; overwrite?: boolean };

const path = "/minikcm/v1/scenarios";

export function isOver(r: Run): boolean {
  return r.state === "Passed" || r.state === "Failed" || r.state === "Stopped";
}

export function listShipped(): Promise<Shipped[]> {
  return getJSON<Shipped[]>(path);
}

export async function source(name: string): Promise<string> {
  return (await request("GET", `${path}/${encodeURIComponent(name)}`)).text();
}

export async function run(wanted: Wanted): Promise<Run> {
  return (await (await request("POST", path, wanted)).json()) as Run;
}

export async function stopRun(id: string): Promise<Run> {
  return (await (await request("DELETE", `${path}/runs/${id}`)).json()) as Run;
}

/** followRuns calls each with the runs, newest first, now and after changes, until signal. */
export function followRuns(each: (runs: Run[]) => void, failed: (error: unknown) => void, signal: AbortSignal): void {
  followVisible((s) => lines<Run[]>(`${path}/runs?follow=true`, (l) => each([...l].reverse()), s), failed, signal);
}

/** followRun calls each with a run, now and after changes, until it is over or signal. */
export function followRun(id: string, each: (run: Run) => void, failed: (error: unknown) => void, signal: AbortSignal): void {
  const over = new AbortController();
  const until = AbortSignal.any([signal, over.signal]);
  const stream = (s: AbortSignal) =>
    lines<Run>(
      `${path}/runs/${id}?follow=true`,
      (r) => {
        each(r);
        if (isOver(r)) over.abort();
      },
      s,
    );
  followVisible(stream, failed, until);
}

/** progress counts the steps of a run that are over, and all. */
export function progress(r: Run): { done: number; all: number } {
  const steps = r.steps ?? [];
  return { done: steps.filter((s) => s.state === "Done" || s.state === "Failed").length, all: steps.length };
}

/** mark returns the sign of a step's state, which a screen reader reads as the state itself. */
export function mark(state: StepState): string {
  return { Waiting: "○", Active: "▶", Background: "⋯", Done: "✓", Failed: "✗", Skipped: "–" }[state];
}

/** took returns how long something took or takes, in milliseconds of the cluster's time. */
export function took(what: { since?: string; until?: string }, now: number): number | undefined {
  if (!what.since) return undefined;
  return Math.max(0, (what.until ? Date.parse(what.until) : now) - Date.parse(what.since));
}
