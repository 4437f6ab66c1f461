// Samples of named values over time, in the columns that uPlot draws.

export const maxSamples = 4000;

export class History {
  names: string[] = [];
  data: (number | null)[][] = [[]];

  /**
   * add adds a sample. Names may appear at any time. Samples may share their time: virtual time
   * stands still while work is done. It returns false for one that changes nothing: an earlier time,
   * the values of the last sample, or no names.
   */
  add(time: number, values: Record<string, number>): boolean {
    const times = this.data[0]!;
    const last = times.at(-1) ?? -Infinity;
    if (time < last || Object.keys(values).length === 0) return false;
    const known = this.names.every((name, i) => (values[name] ?? null) === (this.data[i + 1]!.at(-1) ?? null));
    if (times.length > 0 && known && Object.keys(values).every((name) => this.names.includes(name))) return false;
    for (const name of Object.keys(values)) {
      if (this.names.includes(name)) continue;
      this.names.push(name);
      this.data.push(times.map(() => null));
    }
    times.push(time);
    this.names.forEach((name, i) => this.data[i + 1]!.push(values[name] ?? null));
    if (times.length > maxSamples) this.thin();
    return true;
  }

  /** before puts samples before those that there are; one at the time of the first was before it. */
  before(samples: { time: number; values: Record<string, number> }[]): void {
    const [times, ...columns] = this.data;
    const own = times!.map((time, i) => ({ time: time!, values: Object.fromEntries(this.names.flatMap((name, n) => (columns[n]![i] == null ? [] : [[name, columns[n]![i]!]]))) }));
    const first = own[0]?.time ?? Infinity;
    this.names = [];
    this.data = [[]];
    for (const s of [...samples.filter((x) => x.time <= first), ...own]) this.add(s.time, s.values);
  }

  /** until returns the columns with the last values also at a time. */
  until(time: number): (number | null)[][] {
    const last = this.data[0]!.at(-1);
    if (last == null || time <= last) return this.data;
    return this.data.map((column, i) => [...column, i === 0 ? time : (column.at(-1) ?? null)]);
  }

  /** thin drops every second sample of the older half: the past gets coarser, not shorter. */
  private thin(): void {
    const half = maxSamples / 2;
    this.data = this.data.map((column) => column.filter((_v, i) => i >= half || i % 2 === 0));
  }
}
