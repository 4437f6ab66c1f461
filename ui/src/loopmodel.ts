// The loop of a controller as /minikcm/v1/loops/NAME streams it.

import { lines } from "./api.ts";
import { followVisible } from "./streams.ts";

export type Stage = "handled" | "delayed" | "queued" | "merged" | "held" | "began" | "planned" | "wrote" | "ended" | "failed";

export interface Step {
  time: string;
  stage: Stage;
  key?: string;
  keys?: string[];
  event?: string;
  verb?: string;
  object?: string;
  revision?: string;
  due?: string;
  causes?: number[];
  failures?: number;
  error?: string;
}
export interface Watch {
  kind?: string;
  objects: number;
  received: number;
  undelivered: number;
}
export interface Waiting {
  key: string;
  due: string;
  failures?: number;
}
export interface LoopState {
  name: string;
  workers: number;
  watches: Watch[];
  queued: string[];
  queuedCount: number;
  processing: { key: string; since: string }[];
  delayed: Waiting[];
  delayedCount: number;
  reconciles: number;
  failures: number;
  retries: number;
}
export interface Line {
  now: string;
  controller: string;
  loops: LoopState[];
  steps?: Step[];
  forgotten?: number;
}

/** maxSteps is the number of steps that the page keeps. */
export const maxSteps = 400;

/** Trail keeps the newest steps. */
export class Trail {
  steps: Step[] = [];
  last?: Line;
  /** forgotten counts the steps that are not shown. */
  forgotten = 0;

  add(line: Line): void {
    this.last = line;
    const all = [...this.steps, ...(line.steps ?? [])];
    this.forgotten += (line.forgotten ?? 0) + Math.max(0, all.length - maxSteps);
    this.steps = all.slice(-maxSteps);
  }

  /** newest returns the last n steps of some stages, the newest first. */
  newest(stages: Stage[], n: number): Step[] {
    const found: Step[] = [];
    for (let i = this.steps.length - 1; i >= 0 && found.length < n; i--) if (stages.includes(this.steps[i]!.stage)) found.push(this.steps[i]!);
    return found;
  }
}

/** watchesOf joins the watches of a controller's loops, one a kind. */
export function watchesOf(loops: LoopState[]): Watch[] {
  const byKind = new Map<string, Watch>();
  for (const w of loops.flatMap((l) => l.watches)) {
    const known = byKind.get(w.kind ?? "");
    if (!known) byKind.set(w.kind ?? "", { ...w });
    else {
      // The loops share their informers.
      known.objects = Math.max(known.objects, w.objects);
      known.received = Math.max(known.received, w.received);
      known.undelivered = Math.max(known.undelivered, w.undelivered);
    }
  }
  return [...byKind.values()].filter((w) => w.kind).sort((a, b) => a.kind!.localeCompare(b.kind!));
}

/** says describes a step in words. */
export function says(s: Step): string {
  switch (s.stage) {
    case "handled":
      return `${s.event} ${s.object} at revision ${s.revision}: ${s.keys?.join(", ") ?? "no key"}`;
    case "delayed":
      return `${s.key} ${s.failures ? `is retried after failure ${s.failures}` : "waits for its time"}`;
    case "queued":
      return `${s.key} waits for a worker`;
    case "merged":
      return `${s.key} waits already`;
    case "held":
      return `${s.key} is held back by a fault`;
    case "began":
      return `${s.key} is reconciled${s.causes?.length ? `, because of revision${s.causes.length > 1 ? "s" : ""} ${s.causes.slice(0, 6).join(", ")}${s.causes.length > 6 ? " …" : ""}` : ""}`;
    case "planned":
      return `${s.key}: ${s.verb} ${s.object}`;
    case "wrote":
      return `${s.key}: ${s.verb} ${s.object} ${s.error ? `fails: ${s.error}` : `is revision ${s.revision}`}`;
    case "ended":
      return `${s.key} is done`;
    case "failed":
      return `${s.key} fails (${s.failures}): ${s.error}`;
  }
}

/** followLoop calls each with the lines of a controller, until signal. */
export function followLoop(controller: string, each: (line: Line) => void, failed: (error: unknown) => void, signal: AbortSignal): void {
  followVisible((s) => lines<Line>(`/minikcm/v1/loops/${encodeURIComponent(controller)}?follow=true`, each, s), failed, signal);
}
