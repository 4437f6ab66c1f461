// The moments that the cluster can be shown at: its writes, back to where the history begins.

import { getJSON } from "./api.ts";
import { effectOf, objectName, type Write, writer, writesSince } from "./writes.ts";
import { say } from "./language.ts";

/** backlog is the number of revisions that the page looks back, and longBacklog that with “up --history”. */
const backlog = 5000;
const longBacklog = 50_000;
const noise = new Set(["leases", "events"]);

export interface Moment {
  revision: number;
  at: number;
  text: string;
}

export interface Past {
  moments: Moment[];
  /** oldest is the first revision that can be listed. */
  oldest: number;
  /** newest is the cluster's revision when the history was read. */
  newest: number;
  /** changed returns the resources that were written between two revisions; undefined if that is not known. */
  changed: (a: number, b: number) => Set<string> | undefined;
}

/** changesOf returns which resources the writes between two revisions were to. It is known between the first and the last one. */
export function changesOf(writes: Write[]): Past["changed"] {
  const sorted = [...writes].sort((a, b) => a.revision - b.revision);
  const last = sorted.at(-1)?.revision ?? 0;
  return (a, b) => {
    const [from, to] = [Math.min(a, b), Math.max(a, b)];
    if (sorted.length === 0 || from < sorted[0]!.revision || to > last) return undefined;
    return new Set(sorted.filter((w) => w.revision > from && w.revision <= to).map((w) => w.resource.resource));
  };
}

/**
 * momentsOf returns the moments of writes from a revision on, in the order of their revisions. Heartbeats and Events are
 * none. Writes are recorded when they end, which concurrent ones do in any order; one that changes nothing has the
 * revision of the write before it.
 */
export function momentsOf(writes: Write[], oldest: number): Moment[] {
  return writes
    .filter((w) => w.revision >= oldest && !noise.has(w.resource.resource))
    .sort((a, b) => a.revision - b.revision)
    .filter((w, i, sorted) => w.revision !== sorted[i - 1]?.revision)
    .map((w) => ({ revision: w.revision, at: Date.parse(w.time), text: say("wroteWhat", { writer: writer(w), verb: effectOf(w), object: objectName(w) + (w.subresource ? ` (${w.subresource})` : "") }) }));
}

/** indexAt returns the index of the last moment that is not after a revision; 0 if there is none. */
export function indexAt(moments: Moment[], revision: number): number {
  return Math.max(0, moments.findLastIndex((m) => m.revision <= revision));
}

/** backlogOf returns how many revisions the page looks back on a cluster that keeps this history: a duration, a number of revisions or the default. */
export function backlogOf(history?: string): number {
  if (!history) return backlog;
  return /^\d+$/.test(history) ? Math.min(Number(history), longBacklog) : longBacklog;
}

/** readPast reads what the page can go back to. */
export async function readPast(): Promise<Past> {
  const { history, roles } = await getJSON<{ history?: string; roles?: string[] }>("/minikcm/v1");
  const kept = await getJSON<{ oldest: number; newest: number }>("/minikcm/v1/revisions");
  const oldest = Math.max(kept.oldest, kept.newest - backlogOf(history), 1);
  const writes = await writesSince(oldest - 1);
  return { oldest, newest: kept.newest, moments: momentsOf(writes, oldest), changed: roles ? () => undefined : changesOf(writes) };
}
