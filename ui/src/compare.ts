// Comparisons of this cluster with a fork of it, at /minikcm/v1/forks/ID/comparison.

import type { Compared, ComparedKind, Comparison } from "../../client/typescript/minikcm.ts";
import { lines } from "./api.ts";
import type { Clock } from "./clock.ts";
import { followVisible } from "./streams.ts";
import { say } from "./language.ts";

export type { Compared, ComparedKind, Comparison };

/** followComparison calls each with the comparison now and after changes, until signal. */
export function followComparison(fork: string, each: (c: Comparison) => void, failed: (error: unknown) => void, signal: AbortSignal): void {
  followVisible((s) => lines<Comparison>(`/minikcm/v1/forks/${encodeURIComponent(fork)}/comparison?follow=true`, each, s), failed, signal);
}

/** forkClockPath is the path of a fork's own clock. */
export function forkClockPath(fork: string): string {
  return `/minikcm/v1/forks/${encodeURIComponent(fork)}/clock`;
}

/** followForkClock keeps the state of a fork's clock up to date while the page is seen, until signal. */
export function followForkClock(clock: Clock, signal: AbortSignal): void {
  followVisible((s) => clock.follow(s), () => {}, signal);
}

/** only counts the objects that one side has alone. */
export function only(k: ComparedKind): { here: number; there: number } {
  return { here: k.here - k.both, there: k.there - k.both };
}

export function isSame(k: ComparedKind): boolean {
  return k.differ === 0 && k.here === k.both && k.there === k.both;
}

/** nowOf returns the time of a cluster whose clock was read at a time of this machine. */
export function nowOf(c: Compared, readAt: number, machine: number): number {
  const { mode, now, factor, paused } = c.clock;
  const speed = paused ? 0 : mode === "real" ? 1 : (factor ?? 0);
  return Date.parse(now) + Math.max(0, machine - readAt) * speed;
}

/** pace is how fast the time of a clock passes, in a word. */
export function pace(c: { mode: string; factor?: number; paused?: boolean }): string {
  if (c.paused) return say("pausedWord");
  return c.mode === "real" ? say("realTime") : `${c.factor ?? 1}×`;
}

/** phases are the phases of both sides' pods, in the order of a pod's life. */
export function phases(c: Comparison): string[] {
  const order = ["Pending", "Running", "Succeeded", "Failed"];
  const all = new Set([...Object.keys(c.here.pods), ...Object.keys(c.there.pods)]);
  return [...order.filter((p) => all.has(p)), ...[...all].filter((p) => !order.includes(p)).sort()];
}
