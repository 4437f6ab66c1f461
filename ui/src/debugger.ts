// The debugger at /minikcm/v1/debugger. The cluster's work waits at each stage while the page reads its stream.

import { lines, request } from "./api.ts";
import type { Write } from "./writes.ts";
import { say } from "./language.ts";

export type DebugStage = "event" | "queue" | "handler" | "key" | "decision" | "write" | "failure" | "work";

export interface Read {
  kind?: string;
  namespace?: string;
  name?: string;
  revision?: string;
}
/** Decision says what a reconcile decided; of a write, by which numbers. */
export interface Decision {
  owner: string;
  /** counts is what wants and has count: pod, or replica. */
  counts?: "pod" | "replica";
  wants?: number;
  has?: number;
  actions?: { verb: string; kind?: string; name?: string; count?: number; changes?: { field: string; was: number; now: number }[] }[];
}
export interface Stop {
  stage: DebugStage;
  code: string;
  says: string;
  controller?: string;
  key?: string;
  keys?: string[];
  merged?: number;
  object?: Read;
  event?: string;
  verb?: string;
  decision?: Decision;
  reads?: Read[];
  causes?: number[];
  behind?: number;
  failures?: number;
  error?: string;
}
export interface Passed {
  number: number;
  time: string;
  stop?: Stop;
  timer?: boolean;
  writes?: Write[];
}
export interface State {
  now: string;
  holding: boolean;
  next?: Stop;
  waiting: number;
  nextTimer?: string;
  passed: Passed[];
  reason?: "steps" | "breakpoint" | "idle" | "limit";
}
export interface Breakpoint {
  controller?: string;
  key?: string;
  verb?: string;
  kind?: string;
  error?: boolean;
}

const path = "/minikcm/v1/debugger";
/** kept is the number of passed stops that the page keeps; maxOver is how many a step of the thread passes at most. */
const kept = 300;
const maxOver = 2000;

/** Thread is what follows from some writes: their revisions, the keys that they woke, and the objects that were written. */
export class Thread {
  private revisions = new Set<string>();
  private keys = new Set<string>();
  private objects = new Set<string>();

  /** start follows the writes. */
  start(writes: Write[]): void {
    for (const w of writes) this.add(w);
  }

  get started(): boolean {
    return this.revisions.size > 0;
  }

  /** has reports whether work follows from the thread's writes. */
  has(stop: Stop): boolean {
    switch (stop.stage) {
      case "event":
      case "queue":
      case "handler":
        return this.revisions.has(stop.object?.revision ?? "");
      case "work":
        return [...this.objects].some((o) => stop.key === o || stop.key?.endsWith(` ${o}`));
      default:
        return this.keys.has(`${stop.controller} ${stop.key}`) || (stop.causes ?? []).some((r) => this.revisions.has(String(r)));
    }
  }

  /** passes takes what a passed stop led to into the thread, and reports whether the stop is part of it. Writes show by their causes what work without stages followed from. */
  passes(p: Passed): boolean {
    const caused = (p.writes ?? []).some((w) => (w.causes ?? []).some((r) => this.revisions.has(String(r))));
    if (!p.stop || !(caused || this.has(p.stop))) return false;
    for (const key of p.stop.keys ?? []) this.keys.add(`${p.stop.controller} ${key}`);
    for (const w of p.writes ?? []) this.add(w);
    return true;
  }

  private add(w: Write): void {
    this.revisions.add(String(w.revision));
    this.objects.add([w.namespace, w.name].filter(Boolean).join("/"));
  }
}

/** requestsOf returns the writes that clients made between steps, and not the cluster's own parts, whose work was under way. */
export function requestsOf(p: Passed): Write[] {
  return p.stop || p.timer ? [] : (p.writes ?? []).filter((w) => !w.userAgent?.startsWith("minikcm/"));
}

/** Debugging is a session of the page, from its start to its end. */
export class Debugging {
  state?: State;
  passed: (Passed & { followed?: boolean })[] = [];
  thread = new Thread();
  /** why says why the last run ended. */
  why = "";
  busy = false;
  private end?: AbortController;
  private seen = new Set<number>();
  private readonly listeners = new Set<() => void>();

  listen(f: () => void): () => void {
    this.listeners.add(f);
    return () => this.listeners.delete(f);
  }

  private changed(): void {
    for (const f of this.listeners) f();
  }

  get on(): boolean {
    return this.end !== undefined;
  }

  /** start holds the cluster's work until stop is called or the page goes. */
  start(failed: (error: unknown) => void): void {
    if (this.end) return;
    const end = new AbortController();
    this.end = end;
    this.passed = [];
    this.seen = new Set();
    this.thread = new Thread();
    this.why = "";
    lines<State>(`${path}?follow=true`, (s) => this.take(s), end.signal)
      .catch((error: unknown) => {
        if (!end.signal.aborted) failed(error);
      })
      .finally(() => {
        if (this.end === end) this.stop();
      });
    this.changed();
  }

  /** stop lets the work go on. */
  stop(): void {
    this.end?.abort();
    this.end = undefined;
    this.state = undefined;
    this.changed();
  }

  /** take adds what the stream or an answer has: either may come first. */
  private take(s: State): void {
    for (const p of s.passed) {
      if (this.seen.has(p.number)) continue;
      this.seen.add(p.number);
      // The first write of a client is followed, unless another one is.
      const requests = requestsOf(p);
      if (requests.length && !this.thread.started) this.thread.start(requests);
      this.passed.push({ ...p, followed: this.thread.passes(p) || requests.some((w) => this.follows(w)) });
    }
    this.passed = this.passed.sort((a, b) => a.number - b.number).slice(-kept);
    this.state = s;
    this.changed();
  }

  private follows(w: Write): boolean {
    return this.thread.has({ stage: "event", code: "", says: "", object: { revision: String(w.revision) } });
  }

  /** follow follows other writes from now on. */
  follow(writes: Write[]): void {
    this.thread = new Thread();
    this.thread.start(writes);
    for (const p of this.passed) p.followed = this.thread.passes(p) || requestsOf(p).some((w) => this.follows(w));
    this.changed();
  }

  /** step passes one stop or, with until, runs to a breakpoint. */
  async step(until?: Breakpoint): Promise<State | undefined> {
    if (this.busy || !this.on) return undefined;
    this.busy = true;
    this.why = "";
    this.changed();
    try {
      const s = (await (await request("POST", `${path}/step`, until ? { until } : {}, this.end!.signal)).json()) as State;
      this.take(s);
      if (until) this.why = { steps: "", breakpoint: say("breakpointReached"), idle: say("nothingWaitsAnyMore"), limit: say("stepsLimit", { n: 100_000 }) }[s.reason ?? "steps"];
      return s;
    } finally {
      this.busy = false;
      this.changed();
    }
  }

  /** stepThread passes stops until the next one is part of the thread, or none waits. */
  async stepThread(): Promise<void> {
    for (let i = 0; i < maxOver; i++) {
      const s = await this.step();
      if (!s || !this.thread.started) return;
      if (!s.next || this.thread.has(s.next)) return;
    }
  }
}
