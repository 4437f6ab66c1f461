// The time of the cluster, or of a fork of it, and what the user may do with it at /minikcm/v1/clock.

import { getJSON, lines, request, StatusError } from "./api.ts";

export interface ClockState {
  mode: string;
  now: string;
  /** factor is the speed, as a multiple of real time. */
  factor?: number;
  paused?: boolean;
  /** moving is set while a request advances the clock, whatever its speed. */
  moving?: boolean;
  /** pausedWork is set while the cluster's work waits for steps; waiting is how many pieces, nextStep the first. */
  pausedWork?: boolean;
  waiting?: number;
  nextStep?: string;
  nextTimer?: string;
  inFlight?: string;
}

/** stallAfter is the machine's time in milliseconds after which a clock that does not move is said to stand still. */
const stallAfter = 900;
const clusterPath = "/minikcm/v1/clock";
const retryAfter = 2000;

/** Clock follows the cluster's clock, or with its path that of a fork. */
export class Clock {
  state?: ClockState;
  /** controllable is set if time can be paused and moved. */
  controllable = false;
  /** onAdvance is called before the user moves the clock by a duration. */
  onAdvance?: (duration: string) => Promise<void>;
  /** stalled is the work for which time stands still although it should pass; empty if it passes, or is not to. */
  stalled = "";
  private readAt = 0;
  /** sameSince is when the time that was read last was read first. */
  private sameSince = 0;
  private speed = 1;
  private readonly listeners = new Set<() => void>();

  constructor(private readonly path = clusterPath) {}

  listen(f: () => void): () => void {
    this.listeners.add(f);
    return () => this.listeners.delete(f);
  }

  /** set takes a state that was read at a time of this machine. */
  set(state: ClockState, at = performance.now()) {
    const virtual = state.mode === "virtual";
    const runs = virtual && state.factor !== undefined && !state.paused && !state.moving;
    if (state.now !== this.state?.now || !runs) this.sameSince = at;
    this.stalled = runs && at - this.sameSince >= stallAfter ? (state.inFlight ?? "") : "";
    this.state = state;
    this.readAt = at;
    // A virtual clock without a speed is moved by a scenario, in jumps.
    this.controllable = virtual && state.factor !== undefined;
    this.speed = state.paused || state.moving || this.stalled ? 0 : (state.factor ?? (virtual ? 0 : 1));
    for (const f of this.listeners) f();
  }

  /** now estimates the cluster's time in milliseconds from the state that was read last. */
  now(): number {
    if (!this.state) return Date.now();
    const since = performance.now() - this.readAt;
    return Date.parse(this.state.now) + since * this.speed;
  }

  /** follow reads the state, and its changes if the cluster serves them, until signal. */
  async follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        const state = await getJSON<ClockState>(this.path, signal);
        this.set(state);
        if (state.mode !== "virtual") return;
        await lines<ClockState>(`${this.path}?follow=true`, (s) => this.set(s), signal);
      } catch (error) {
        if (error instanceof StatusError && error.code === 404) {
          if (this.path !== clusterPath) return; // the fork has ended
          const info = await getJSON<{ clock: ClockState }>("/minikcm/v1", signal).catch(() => undefined);
          if (info) {
            this.set(info.clock);
            return;
          }
        }
      }
      await new Promise((done) => setTimeout(done, retryAfter));
    }
  }

  async ask(what: "pause" | "resume" | "step"): Promise<void>;
  async ask(what: "pause", body: { work: boolean }): Promise<void>;
  async ask(what: "speed", body: { speed: number }): Promise<void>;
  async ask(what: "advance", body: { duration: string }): Promise<void>;
  async ask(what: string, body?: { duration: string } | { speed: number } | { work: boolean }): Promise<void> {
    if (body && "duration" in body) await this.onAdvance?.(body.duration);
    await request("POST", `${this.path}/${what}`, body);
  }
}
