// The timeline's lanes: which writes are in which, and which of them are near a point.

import { type Write, writer } from "./writes.ts";

export interface Mark {
  at: number;
  write: Write;
}
export interface Lane {
  name: string;
  marks: Mark[];
}

/** maxMarks is the number of writes that the page keeps. */
export const maxMarks = 20_000;

export class Lanes {
  readonly lanes = new Map<string, Lane>();
  last = 0;
  total = 0;
  begin = Infinity;
  end = -Infinity;
  private order: Lane[] = [];

  constructor(private readonly hidden: ReadonlySet<string>) {}

  /** add adds writes that are newer than those that it has. */
  add(writes: Write[]): void {
    for (const write of writes) {
      if (write.revision <= this.last) continue;
      this.last = write.revision;
      if (this.hidden.has(write.resource.resource)) continue;
      const name = writer(write);
      let lane = this.lanes.get(name);
      if (!lane) {
        lane = { name, marks: [] };
        this.lanes.set(name, lane);
      }
      const at = Date.parse(write.time);
      lane.marks.push({ at, write });
      this.begin = Math.min(this.begin, at);
      this.end = Math.max(this.end, at);
      this.total++;
    }
    if (this.total > maxMarks) this.forget();
    this.order = [...this.lanes.values()].filter((l) => l.marks.length > 0).sort((a, b) => a.name.localeCompare(b.name));
  }

  /** forget drops the older half of each lane's marks. */
  private forget(): void {
    this.total = 0;
    this.begin = Infinity;
    for (const lane of this.lanes.values()) {
      lane.marks = lane.marks.slice(lane.marks.length >> 1);
      this.total += lane.marks.length;
      if (lane.marks[0]) this.begin = Math.min(this.begin, lane.marks[0].at);
    }
  }

  shown(): Lane[] {
    return this.order;
  }
}

/** firstAt returns the index of the first mark that is not before a time. */
export function firstAt(marks: Mark[], time: number): number {
  let [low, high] = [0, marks.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (marks[middle]!.at < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** nearest returns the mark that is next to a time, within some distance. */
export function nearest(marks: Mark[], time: number, within: number): Mark | undefined {
  const i = firstAt(marks, time);
  const [before, after] = [marks[i - 1], marks[i]];
  const best = !before || (after && after.at - time < time - before.at) ? after : before;
  return best && Math.abs(best.at - time) <= within ? best : undefined;
}

/** ticks returns round times in a range, at most about n. */
export function ticks(from: number, to: number, n: number): number[] {
  const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 3e4, 6e4, 12e4, 3e5, 6e5, 18e5, 36e5, 72e5, 216e5, 432e5, 864e5, 7 * 864e5];
  const step = steps.find((s) => (to - from) / s <= n) ?? 30 * 864e5;
  const out: number[] = [];
  for (let t = Math.ceil(from / step) * step; t <= to; t += step) out.push(t);
  return out;
}
