// What the user does to the cluster in the page, and the recording of it.

import type { Act, Sent } from "./acts.ts";
import { getJSON, request } from "./api.ts";
import type { Clock } from "./clock.ts";
import { type FaultDocument, inject, type Injection, isDone, listFaults, stop } from "./faults.ts";
import { goDuration, milliseconds, Recording } from "./recording.ts";
import type { KubeObject } from "./reflector.ts";
import type { PodRow } from "./rows.ts";
import { readState } from "./state.ts";
import type { Value } from "./yaml.ts";

/** Actions does what the user asks for, and records it if there is a recording. */
export class Actions {
  recording?: Recording;
  /** preparing is set while the state is read with which a recording begins. */
  preparing = false;
  private readonly listeners = new Set<() => void>();

  constructor(clock: Clock) {
    clock.onAdvance = async (duration) => {
      if (!this.recording) return;
      this.recording.add({ kind: "advance", ms: milliseconds(duration) }, await now());
      this.changed();
    };
  }

  listen(f: () => void): () => void {
    this.listeners.add(f);
    return () => this.listeners.delete(f);
  }

  private changed(): void {
    for (const f of this.listeners) f();
  }

  /** record begins a recording, with the cluster as it is and the faults that it has. */
  async record(): Promise<void> {
    this.preparing = true;
    this.changed();
    try {
      const recording = new Recording(await readState());
      for (const i of await listFaults()) {
        if (isDone(i)) continue;
        const left = i.until ? Date.parse(i.until) - recording.start.at : 0;
        recording.add({ kind: "fault", id: i.id, fault: left > 0 ? { ...i.fault, for: goDuration(left) } : i.fault, lasts: true }, recording.start.at);
      }
      this.recording = recording;
    } finally {
      this.preparing = false;
      this.changed();
    }
  }

  discard(): void {
    this.recording = undefined;
    this.changed();
  }

  /** scenario returns what was recorded, and ends the recording. */
  async scenario(name: string): Promise<string> {
    const text = this.recording!.scenario(name, await now());
    this.discard();
    return text;
  }

  async inject(fault: FaultDocument, lasts: boolean, pod?: PodRow): Promise<Injection> {
    const injection = await inject(fault);
    this.recording?.add({ kind: "fault", id: injection.id, fault, lasts, ...(pod ? { pod } : {}) }, Date.parse(injection.since));
    this.changed();
    return injection;
  }

  async stop(id: string): Promise<void> {
    const at = this.recording && (await now());
    await stop(id);
    if (at !== undefined) this.recording?.stopped(id, at);
    this.changed();
  }

  async deletePod(pod: PodRow): Promise<void> {
    const at = this.recording && (await now());
    await request("DELETE", `/api/v1/namespaces/${pod.namespace}/pods/${pod.name}`);
    if (at !== undefined) this.recording?.add({ kind: "delete", namespace: pod.namespace, name: pod.name, labels: pod.labels, owner: pod.owner }, at);
    this.changed();
  }

  /** attempt asks the API server what a request would make of an object. */
  async attempt(sent: Sent): Promise<KubeObject> {
    return this.send(sent, `${sent.path.includes("?") ? "&" : "?"}dryRun=All`);
  }

  /** perform does an act. */
  async perform(act: Act): Promise<void> {
    await this.recorded(() => this.send(act.sent, ""), () => act.step, act.command);
  }

  /** recorded does something, and records the step that repeats it. */
  async recorded<T>(what: () => Promise<T>, stepOf: (result: T) => Record<string, Value>, says: string): Promise<T> {
    const at = this.recording && (await now());
    const result = await what();
    if (at !== undefined) this.recording?.add({ kind: "step", step: stepOf(result), says }, at);
    this.changed();
    return result;
  }

  /** note says what a recording does not have. */
  note(text: string): void {
    this.recording?.notes.push(text);
  }

  private async send(sent: Sent, query: string): Promise<KubeObject> {
    return (await (await request(sent.method, sent.path + query, sent.body, undefined, sent.type)).json()) as KubeObject;
  }
}

/** now reads the cluster's time. */
async function now(): Promise<number> {
  return Date.parse((await getJSON<{ clock: { now: string } }>("/minikcm/v1")).clock.now);
}
