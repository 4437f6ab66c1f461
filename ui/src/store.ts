// The rows that the worker sends, and the listeners that are called when they change.

import { useEffect, useState } from "preact/hooks";
import type { NodeRow, PodRow, Row, ScalerRow, WorkloadRow } from "./rows.ts";
import { type Batch, type Command, resourceOf, type TopicName } from "./topics.ts";

/** settle is how long the shown revision has to stay the same before it is read, in milliseconds, if it was changed shortly before: a key that is held down sends no list for each step. */
const settle = 150;

export class Topic<T extends Row> {
  readonly rows = new Map<string, T>();
  state: Batch["state"] = "listing";
  /** complete is set once all of a list has come. */
  complete = false;
  error = "";
  code = 0;
  private readonly listeners = new Set<(b: Batch) => void>();
  private users = 0;
  private at = 0;

  constructor(
    readonly name: TopicName,
    private readonly send: (c: Command) => void,
  ) {}

  /** show changes the revision of the rows, and reports whether they have to be read again. Those of another one stay until they are replaced. */
  show(at: number, isSame: boolean): boolean {
    const again = !(isSame && this.state === "past");
    this.at = at;
    if (again) {
      this.state = "listing";
      this.error = "";
      this.code = 0;
    }
    for (const listen of this.listeners) listen({ topic: this.name, at, rows: [], removed: [], state: this.state });
    return again;
  }

  apply(b: Batch) {
    if (b.at !== this.at) return;
    if (b.all) {
      const kept = new Set(b.all);
      for (const uid of this.rows.keys()) {
        if (!kept.has(uid)) {
          this.rows.delete(uid);
          b.removed.push(uid);
        }
      }
      this.complete = true;
    }
    for (const uid of b.removed) this.rows.delete(uid);
    for (const row of b.rows) this.rows.set(row.uid, row as T);
    this.state = b.state;
    this.error = b.error ?? "";
    this.code = b.code ?? 0;
    for (const listen of this.listeners) listen(b);
  }

  /** listen keeps the topic watched until the returned function is called. */
  listen(f: (b: Batch) => void): () => void {
    this.listeners.add(f);
    if (this.users++ === 0) this.send({ topic: this.name, watch: true });
    return () => {
      this.listeners.delete(f);
      if (--this.users === 0) this.send({ topic: this.name, watch: false });
    };
  }
}

export class Store {
  /** at is the revision that is shown, 0 is now. */
  at = 0;
  /** changed returns which resources were written between two revisions; undefined if that is not known. */
  changed: (a: number, b: number) => Set<string> | undefined = () => undefined;
  private again = new Set<TopicName>();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private shownAt = -Infinity;
  private readonly send: (c: Command) => void;
  private readonly all: Topic<never>[];
  readonly nodes: Topic<NodeRow>;
  readonly pods: Topic<PodRow>;
  readonly scalers: Topic<ScalerRow>;
  readonly workloads: Record<"deployments" | "replicasets" | "statefulsets" | "daemonsets" | "jobs", Topic<WorkloadRow>>;

  constructor(worker: Worker) {
    const send = (c: Command) => worker.postMessage(c);
    this.send = send;
    const workload = (name: TopicName) => new Topic<WorkloadRow>(name, send);
    this.nodes = new Topic("nodes", send);
    this.pods = new Topic("pods", send);
    this.scalers = new Topic("scalers", send);
    this.workloads = {
      deployments: workload("deployments"), replicasets: workload("replicasets"), statefulsets: workload("statefulsets"),
      daemonsets: workload("daemonsets"), jobs: workload("jobs"),
    };
    const byName: Partial<Record<TopicName, { apply(b: Batch): void }>> = { nodes: this.nodes, pods: this.pods, scalers: this.scalers, ...this.workloads };
    this.all = Object.values(byName) as Topic<never>[];
    worker.onmessage = (m: MessageEvent<Batch>) => byName[m.data.topic]?.apply(m.data);
  }

  /** show shows the cluster as of a revision; 0 is now. */
  show(at: number): void {
    if (at === this.at) return;
    const changed = this.at && at ? this.changed(this.at, at) : undefined;
    this.at = at;
    for (const topic of this.all) if (topic.show(at, changed?.has(resourceOf(topic.name)) === false)) this.again.add(topic.name);
    clearTimeout(this.timer);
    const now = performance.now();
    if (now - this.shownAt > settle) this.read();
    else this.timer = setTimeout(() => this.read(), settle);
    this.shownAt = now;
  }

  /** read makes the worker read what differs at the revision. */
  private read(): void {
    this.send({ at: this.at, again: [...this.again] });
    this.again.clear();
  }
}

/** useTopics renders a component again after changes, at most every ms milliseconds. */
export function useTopics(topics: Topic<never>[] | Topic<any>[], ms = 250): void {
  const [, render] = useState(0);
  useEffect(() => {
    let timer = 0;
    const soon = () => {
      timer ||= window.setTimeout(() => {
        timer = 0;
        render((n) => n + 1);
      }, ms);
    };
    const stops = topics.map((t) => t.listen(soon));
    soon(); // for a change between the render and this effect
    return () => {
      window.clearTimeout(timer);
      for (const stop of stops) stop();
    };
  }, topics);
}
