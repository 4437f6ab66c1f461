// Scenarios at /minikcm/v1/scenarios: those that are shipped, and the runs in this cluster.

import type { ScenarioReport } from "../../client/typescript/minikcm.ts";
import { getJSON, lines, request } from "./api.ts";
import { followVisible } from "./streams.ts";
import { say } from "./language.ts";

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
  /** realSeconds is how long it took by the machine's clock. */
  realSeconds?: number;
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
  /** report is set at the end of a run that could begin. */
  report?: ScenarioReport;
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

/** reportPage returns the report of a run that is over as a page. */
export async function reportPage(id: string): Promise<Blob> {
  return new Blob([await (await request("GET", `${path}/runs/${id}/report`)).text()], { type: "text/html;charset=utf-8" });
}

/** summary says how many checks passed. */
export function summary(r: ScenarioReport): string {
  if (r.failed > 0) return say("checksFailed", { failed: r.failed, passed: r.passed });
  return r.passed > 0 ? say("checksPassed", { n: r.passed }) : say("noChecks");
}

/** differing returns what a line of a failed check says of a field; undefined if it is another text. */
export function differing(line: string): { field: string; expected: string; found: string } | undefined {
  const unset = /^(.+?): expected (.+), but it is not set$/.exec(line);
  if (unset) return { field: unset[1]!, expected: unset[2]!, found: say("notSet") };
  const named = /^(.+?): expected, but there is (only .+)$/.exec(line);
  if (named) return { field: named[1]!, expected: say("toBeThere"), found: named[2]! };
  const item = /^(.+?): expected (an item .+) among (.+)$/.exec(line);
  if (item) return { field: item[1]!, expected: item[2]!, found: item[3]! };
  const other = /^(.+?): expected (.+?), found (.+)$/.exec(line);
  return other ? { field: other[1]!, expected: other[2]!, found: other[3]! } : undefined;
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
