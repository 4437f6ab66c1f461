// The moments that the cluster can be shown at: its writes, back to where the history begins.

import { getJSON, StatusError } from "./api.ts";
import type { Page } from "./reflector.ts";
import { objectName, type Write, writer, writesSince } from "./writes.ts";

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
    .map((w) => ({ revision: w.revision, at: Date.parse(w.time), text: `${writer(w)} ${w.effect ?? w.verb} ${objectName(w)}${w.subresource ? ` (${w.subresource})` : ""}` }));
}

/** firstKept returns the first number from low to high that is kept; high is known to be. All after a kept one are kept, too. */
export async function firstKept(kept: (n: number) => Promise<boolean>, low: number, high: number): Promise<number> {
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (await kept(middle)) high = middle;
    else low = middle + 1;
  }
  return high;
}

/** indexAt returns the index of the last moment that is not after a revision; 0 if there is none. */
export function indexAt(moments: Moment[], revision: number): number {
  return Math.max(0, moments.findLastIndex((m) => m.revision <= revision));
}

async function canList(revision: number): Promise<boolean> {
  try {
    await getJSON<Page>(`/api/v1/nodes?limit=1&resourceVersion=${revision}&resourceVersionMatch=Exact`);
    return true;
  } catch (error) {
    if (error instanceof StatusError && error.code === 410) return false;
    throw error;
  }
}

/** backlogOf returns how many revisions the page looks back on a cluster that keeps this history: a duration, a number of revisions or the default. */
export function backlogOf(history?: string): number {
  if (!history) return backlog;
  return /^\d+$/.test(history) ? Math.min(Number(history), longBacklog) : longBacklog;
}

/** readPast reads what the page can go back to. */
export async function readPast(): Promise<Past> {
  const newest = Number((await getJSON<Page>("/api/v1/nodes?limit=1")).metadata.resourceVersion);
  const { history } = await getJSON<{ history?: string }>("/minikcm/v1");
  const oldest = await firstKept(canList, Math.max(1, newest - backlogOf(history)), newest);
  return { oldest, newest, moments: momentsOf(await writesSince(oldest - 1), oldest) };
}
