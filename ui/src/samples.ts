// The samples of all workloads since the Rollouts view was opened first, so that a chart goes on
// when another one was looked at meanwhile, and before that from the revisions that the store still has.

import { getJSON, StatusError } from "./api.ts";
import type { Clock } from "./clock.ts";
import { History } from "./history.ts";
import { objectsAt } from "./lists.ts";
import { type ScalerRow, type WorkloadRow, workloadRow } from "./rows.ts";
import { evenly, series } from "./series.ts";
import type { Store } from "./store.ts";
import type { Batch } from "./topics.ts";
import type { Write } from "./writes.ts";

/** maxHistories is the number of workloads and autoscalers of which samples are kept. */
const maxHistories = 1000;

/** maxPast is the number of earlier revisions of an object that are read. */
const maxPast = 60;

/** Samples has a history for each workload and autoscaler, by UID. */
export class Samples {
  private readonly histories = new Map<string, History>();
  private readonly read = new Set<string>();

  constructor(
    store: Store,
    private readonly clock: Clock,
  ) {
    const { replicasets: _, ...others } = store.workloads;
    for (const topic of Object.values(others)) topic.listen((b: Batch) => b.rows.forEach((r) => store.at === 0 && this.of(r.uid).add(this.clock.now(), series(r as WorkloadRow))));
    store.scalers.listen((b: Batch) => b.rows.forEach((r) => this.of(r.uid).add(this.clock.now(), metrics(r as ScalerRow))));
  }

  of(uid: string): History {
    let history = this.histories.get(uid);
    if (!history) {
      history = new History();
      this.histories.set(uid, history);
      if (this.histories.size > maxHistories) this.histories.delete(this.histories.keys().next().value!);
    }
    return history;
  }

  /** readPast reads what a workload was at its earlier writes, once. */
  async readPast(row: WorkloadRow, group: string, resource: string, signal: AbortSignal): Promise<void> {
    if (this.read.has(row.uid)) return;
    this.read.add(row.uid);
    try {
      const { oldest } = await getJSON<{ oldest: number }>("/minikcm/v1/revisions", signal);
      const writes = await getJSON<Write[]>(`/minikcm/v1/writes?${new URLSearchParams({ resource, name: row.name, namespace: row.namespace })}`, signal);
      const path = `/apis/${group}/v1/namespaces/${row.namespace}/${resource}`;
      const past: { time: number; values: Record<string, number> }[] = [];
      for (const w of evenly(writes.filter((x) => x.revision >= oldest && x.uid === row.uid && x.effect !== "removed").sort((a, b) => a.revision - b.revision), maxPast)) {
        for await (const o of objectsAt(path, String(w.revision), signal, `fieldSelector=metadata.name=${row.name}`)) past.push({ time: Date.parse(w.time), values: series(workloadRow(row.kind)(o)) });
      }
      this.of(row.uid).before(past);
    } catch (error) {
      this.read.delete(row.uid); // a history that was compacted meanwhile is read again when it is looked at again
      if (!signal.aborted && !(error instanceof StatusError)) throw error;
    }
  }
}

function metrics(row: ScalerRow): Record<string, number> {
  return Object.fromEntries(row.metrics.flatMap((m) => [[m.name, m.value], [`${m.name} target`, m.target]]));
}
