// The loop of a controller as /minikcm/v1/loops/NAME streams it.

import { lines } from "./api.ts";
import { followVisible } from "./streams.ts";
import { say } from "./language.ts";

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
  const { key = "", object = "" } = s;
  switch (s.stage) {
    case "handled":
      return say("loopHandled", { event: s.event ?? "", object, revision: s.revision ?? "", keys: s.keys?.join(", ") ?? say("noKey") });
    case "delayed":
      return s.failures ? say("loopRetried", { key, n: s.failures }) : say("loopDelayed", { key });
    case "queued":
      return say("loopQueued", { key });
    case "merged":
      return say("loopMerged", { key });
    case "held":
      return say("loopHeld", { key });
    case "began":
      return s.causes?.length ? say("loopBeganBecause", { key, n: s.causes.length, list: `${s.causes.slice(0, 6).join(", ")}${s.causes.length > 6 ? " …" : ""}` }) : say("loopBegan", { key });
    case "planned":
      return `${key}: ${s.verb} ${object}`;
    case "wrote":
      return s.error ? say("loopWriteFailed", { key, verb: s.verb ?? "", object, error: s.error }) : say("loopWrote", { key, verb: s.verb ?? "", object, revision: s.revision ?? "" });
    case "ended":
      return say("loopEnded", { key });
    case "failed":
      return say("loopFailed", { key, n: s.failures ?? 0, error: s.error ?? "" });
  }
}

/** followLoop calls each with the lines of a controller, until signal. */
export function followLoop(controller: string, each: (line: Line) => void, failed: (error: unknown) => void, signal: AbortSignal): void {
  followVisible((s) => lines<Line>(`/minikcm/v1/loops/${encodeURIComponent(controller)}?follow=true`, each, s), failed, signal);
}
