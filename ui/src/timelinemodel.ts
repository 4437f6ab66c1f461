// The timeline's lanes: which writes are in which, and which of them are near a point.

import { byHand, type Write, writer } from "./writes.ts";

/** Axis is what the timeline's width stands for: when a write was made, or its revision. Virtual time stands still while work is done, so that many writes have one time. */
export type Axis = "time" | "revision";

export interface Mark {
  /** at is the place on the axis: milliseconds, or a revision. */
  at: number;
  write: Write;
}
export interface Lane {
  name: string;
  /** own are lanes of a person's tools. They are first. */
  own: boolean;
  marks: Mark[];
}

/** Choice is which writes are shown. Empty fields choose all. */
export interface Choice {
  /** text is a part of the object's kind, namespace and name, as in Pod/web or shop/web. */
  text: string;
  kind: string;
  /** lane is a program, or ownWrites. */
  lane: string;
}
export const noChoice: Choice = { text: "", kind: "", lane: "" };
/** ownWrites chooses the writes of a person's tools. */
export const ownWrites = "*";

/** scenarioRunner is the program that makes the steps of scenarios. */
const scenarioRunner = "minikcm-scenario";

/** isOwn reports whether a person's tool made a write: kubectl, a browser, curl; neither an operator nor a scenario, whose steps are bands above the lanes. */
export function isOwn(w: Pick<Write, "actor" | "userAgent">): boolean {
  return byHand(w) && writer(w) !== scenarioRunner;
}

/** chooser returns whether a choice has a write; undefined if it has all. */
export function chooser(c: Choice): ((w: Write) => boolean) | undefined {
  const text = c.text.trim().toLowerCase();
  if (!text && !c.kind && !c.lane) return undefined;
  return (w) => {
    if (c.kind && (w.kind || w.resource.resource) !== c.kind) return false;
    if (c.lane && (c.lane === ownWrites ? !isOwn(w) : writer(w) !== c.lane)) return false;
    return !text || `${w.kind || w.resource.resource}/${w.name}\n${w.namespace ?? ""}/${w.name}`.toLowerCase().includes(text);
  };
}

/** maxMarks is the number of writes that the page keeps. */
export const maxMarks = 20_000;
/** maxSeen is the number of revisions by which a write that comes again is known. */
const maxSeen = 100_000;

export class Lanes {
  readonly lanes = new Map<string, Lane>();
  /** last is the newest revision that was added. */
  last = 0;
  total = 0;
  begin = Infinity;
  end = -Infinity;
  private order: Lane[] = [];
  private chosen: Lane[] | undefined;
  private choice: ((w: Write) => boolean) | undefined;
  private seen = new Set<number>();

  constructor(
    private readonly hidden: ReadonlySet<string>,
    private readonly axis: Axis = "time",
  ) {}

  /** add adds writes that it does not have, in any order: a write is recorded when it ends, and concurrent ones end in any order. */
  add(writes: Write[]): void {
    for (const write of writes) {
      if (this.seen.has(write.revision)) continue;
      this.seen.add(write.revision);
      this.last = Math.max(this.last, write.revision);
      if (this.hidden.has(write.resource.resource)) continue;
      const name = writer(write);
      let lane = this.lanes.get(name);
      if (!lane) {
        lane = { name, own: isOwn(write), marks: [] };
        this.lanes.set(name, lane);
      }
      insert(lane.marks, { at: this.axis === "time" ? Date.parse(write.time) : write.revision, write });
      this.total++;
    }
    if (this.total > maxMarks) this.forget();
    if (this.seen.size > maxSeen) for (const revision of this.seen) if (revision < this.last - maxSeen / 2) this.seen.delete(revision);
    this.order = [...this.lanes.values()].filter((l) => l.marks.length > 0).sort((a, b) => Number(b.own) - Number(a.own) || a.name.localeCompare(b.name));
    this.chosen = undefined;
    this.begin = this.order.reduce((at, l) => Math.min(at, l.marks[0]!.at), Infinity);
    this.end = this.order.reduce((at, l) => Math.max(at, l.marks.at(-1)!.at), -Infinity);
  }

  /** forget drops the older half of the marks. */
  private forget(): void {
    const all = [...this.lanes.values()].flatMap((l) => l.marks.map((m) => m.write.revision)).sort((a, b) => a - b);
    const first = all[all.length >> 1]!;
    this.total = 0;
    for (const lane of this.lanes.values()) {
      lane.marks = lane.marks.filter((m) => m.write.revision >= first);
      this.total += lane.marks.length;
    }
  }

  /** placeOf returns where a time is on the axis: by revision, at the first write that is later. */
  placeOf(time: number): number {
    if (this.axis === "time") return time;
    let place = this.end + 1;
    for (const lane of this.order) {
      const later = lane.marks.find((m) => m.at < place && Date.parse(m.write.time) > time);
      if (later) place = later.at;
    }
    return place;
  }

  /** choose limits what is shown; undefined is all. */
  choose(choice: ((w: Write) => boolean) | undefined): void {
    if (choice !== this.choice) this.chosen = undefined;
    this.choice = choice;
  }

  shown(): Lane[] {
    const { choice } = this;
    if (!choice) return this.order;
    this.chosen ??= this.order.map((l) => ({ ...l, marks: l.marks.filter((m) => choice(m.write)) })).filter((l) => l.marks.length > 0);
    return this.chosen;
  }

  /** all are the lanes whatever is shown. */
  all(): Lane[] {
    return this.order;
  }
}

/** insert puts a mark in its place: most are the newest. */
function insert(marks: Mark[], mark: Mark): void {
  let i = marks.length;
  while (i > 0 && (marks[i - 1]!.at - mark.at || marks[i - 1]!.write.revision - mark.write.revision) > 0) i--;
  marks.splice(i, 0, mark);
}

/** firstAt returns the index of the first mark that is not before a place on the axis. */
export function firstAt(marks: Mark[], time: number): number {
  let [low, high] = [0, marks.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (marks[middle]!.at < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** nearest returns the mark that is next to a place on the axis, within some distance. */
export function nearest(marks: Mark[], time: number, within: number): Mark | undefined {
  const i = firstAt(marks, time);
  const [before, after] = [marks[i - 1], marks[i]];
  const best = !before || (after && after.at - time < time - before.at) ? after : before;
  return best && Math.abs(best.at - time) <= within ? best : undefined;
}

/** Range is the part of the axis that is in view. */
export interface Range {
  from: number;
  to: number;
}
/** minSpan is the least part of the axis that is shown: milliseconds, or revisions. */
export const minSpan = 20;

/** zoomed returns a range that is wider by a factor, and has a place where it was. */
export function zoomed({ from, to }: Range, factor: number, center: number): Range {
  const span = Math.max(minSpan, (to - from) * factor);
  const share = (center - from) / (to - from);
  return { from: center - span * share, to: center + span * (1 - share) };
}

/** pinched returns the range for which two fingers are at the places that they have touched. Fingers are at shares of the width: where they began, and where they are. */
export function pinched(r: Range, began: [number, number], are: [number, number]): Range {
  const places = began.map((share) => r.from + (r.to - r.from) * share);
  const apart = are[1] - are[0];
  if (Math.sign(apart) !== Math.sign(began[1] - began[0]) || Math.abs(apart) < 0.02) return r;
  const span = Math.max(minSpan, (places[1]! - places[0]!) / apart);
  const from = (places[0]! + places[1]!) / 2 - (span * (are[0] + are[1])) / 2;
  return { from, to: from + span };
}

/** ticks returns round times or revisions in a range, at most about n. */
export function ticks(from: number, to: number, n: number, axis: Axis = "time"): number[] {
  const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 3e4, 6e4, 12e4, 3e5, 6e5, 18e5, 36e5, 72e5, 216e5, 432e5, 864e5, 7 * 864e5];
  const step = axis === "revision" ? roundStep((to - from) / n) : (steps.find((s) => (to - from) / s <= n) ?? 30 * 864e5);
  const out: number[] = [];
  for (let t = Math.ceil(from / step) * step; t <= to; t += step) out.push(t);
  return out;
}

/** roundStep returns 1, 2 or 5 times a power of ten that is not less than a number, and at least 1. */
function roundStep(least: number): number {
  const power = 10 ** Math.max(0, Math.floor(Math.log10(Math.max(1, least))));
  return [1, 2, 5, 10].map((f) => f * power).find((step) => step >= least) ?? 10 * power;
}
