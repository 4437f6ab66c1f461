// Samples of named values over time, in the columns that uPlot draws.

export const maxSamples = 4000;

export class History {
  names: string[] = [];
  data: (number | null)[][] = [[]];

  /**
   * add adds a sample. Names may appear at any time. It returns false for a sample that
   * changes nothing: a time that does not move on, or no names.
   */
  add(time: number, values: Record<string, number>): boolean {
    const times = this.data[0]!;
    const last = times.at(-1) ?? -Infinity;
    if (time <= last || Object.keys(values).length === 0) return false;
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

  /** thin drops every second sample of the older half: the past gets coarser, not shorter. */
  private thin(): void {
    const half = maxSamples / 2;
    this.data = this.data.map((column) => column.filter((_v, i) => i >= half || i % 2 === 0));
  }
}
