// The series of charts: what they count, and which are parts of a whole.

import type { WorkloadRow } from "./rows.ts";

/** areas are series that are parts of a whole, drawn on top of each other from the first, with the colours of phases. */
export const areas: Record<string, "ready" | "starting" | "unready" | "succeeded" | "failed"> = {
  newReady: "ready", newStarting: "starting", oldPods: "unready", succeeded: "ready", active: "starting", failed: "failed",
};

/** stacked returns the columns to draw for a history: the sums of areas from the last to the first, each of which covers a part of the one before, and then the lines. */
export function stacked(names: string[], data: (number | null)[][]): { names: string[]; data: (number | null)[][]; own: (number | null)[][] } {
  const parts = Object.keys(areas).filter((n) => names.includes(n));
  const columnOf = (name: string) => data[names.indexOf(name) + 1]!;
  let sum = data[0]!.map((): number => 0);
  const sums = parts.map((n) => (sum = sum.map((v, i) => v + (columnOf(n)[i] ?? 0))));
  const order = [...parts.reverse(), ...names.filter((n) => !(n in areas) && n !== generation)];
  sums.reverse();
  return { names: order, data: [data[0]!, ...sums, ...order.slice(sums.length).map(columnOf)], own: [data[0]!, ...order.map(columnOf)] };
}

/** generation is the series that counts the changes of a workload's spec. Charts mark where it changes. */
export const generation = "generation";

/** marked returns the samples of a history at which the spec was changed, after the first one. */
export function marked(names: string[], data: (number | null)[][]): number[] {
  const column = data[names.indexOf(generation) + 1];
  if (!names.includes(generation) || !column) return [];
  return column.flatMap((v, i) => (i > 0 && column[i - 1] != null && v !== column[i - 1] ? [i] : []));
}

/** byChange returns columns in which each sample has the same width, and the last one, too. Most states of a workload last for milliseconds, which are less than a pixel of some minutes. */
export function byChange(data: (number | null)[][]): (number | null)[][] {
  const n = data[0]!.length;
  return data.map((column, i) => (i === 0 ? Array.from({ length: n + 1 }, (_, at) => at) : [...column, column.at(-1) ?? null]));
}

/** evenly chooses at most n of a list, with the first and the last. */
export function evenly<T>(list: T[], n: number): T[] {
  if (list.length <= n) return list;
  return Array.from({ length: n }, (_, i) => list[Math.round((i * (list.length - 1)) / (n - 1))]!);
}

/** series names what a chart of a workload shows: how many of its pods are new and available, new, and old. */
export function series(row: WorkloadRow): Record<string, number> {
  if (row.kind === "Job") return { succeeded: row.succeeded, active: row.replicas, failed: row.failed, [generation]: row.generation };
  const old = Math.max(0, row.replicas - row.updated);
  const ready = Math.max(0, Math.min(row.available - old, row.updated)); // the available pods may all be old ones
  return { desired: row.desired, newReady: ready, newStarting: row.updated - ready, oldPods: old, [generation]: row.generation };
}
