// The samples of all workloads since the Rollouts view was opened first, so that a chart goes on
// when another one was looked at meanwhile.

import type { Clock } from "./clock.ts";
import { History } from "./history.ts";
import type { ScalerRow, WorkloadRow } from "./rows.ts";
import type { Store } from "./store.ts";
import type { Batch } from "./topics.ts";

/** maxHistories is the number of workloads and autoscalers of which samples are kept. */
const maxHistories = 1000;

/** Samples has a history for each workload and autoscaler, by UID. */
export class Samples {
  private readonly histories = new Map<string, History>();

  constructor(
    private readonly store: Store,
    private readonly clock: Clock,
  ) {
    const { replicasets, ...others } = store.workloads;
    for (const topic of Object.values(others)) topic.listen((b: Batch) => b.rows.forEach((r) => this.sample(r as WorkloadRow)));
    replicasets.listen((b: Batch) => {
      const owners = new Set((b.rows as WorkloadRow[]).map((r) => `${r.namespace}/${r.owner}`));
      for (const d of store.workloads.deployments.rows.values()) if (owners.has(`${d.namespace}/${d.kind}/${d.name}`)) this.sample(d);
    });
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

  private sample(row: WorkloadRow): void {
    if (this.store.at === 0) this.of(row.uid).add(this.clock.now(), series(row, this.store));
  }
}

/** series names what a chart of a workload shows now. */
function series(row: WorkloadRow, store: Store): Record<string, number> {
  if (row.kind === "Job") return { active: row.replicas, succeeded: row.succeeded, failed: row.failed };
  const values: Record<string, number> = { desired: row.desired, available: row.available };
  for (const set of store.workloads.replicasets.rows.values()) {
    if (set.namespace === row.namespace && set.owner === `${row.kind}/${row.name}`) values[`revision ${set.revision}`] = set.replicas;
  }
  return values;
}

function metrics(row: ScalerRow): Record<string, number> {
  return Object.fromEntries(row.metrics.flatMap((m) => [[m.name, m.value], [`${m.name} target`, m.target]]));
}
