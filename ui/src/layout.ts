// Where nodes and pods are drawn: pure functions of counts and sizes.

export interface Rect {
  x: number;
  y: number;
  w: number;
  h: number;
}
export interface Grid {
  cols: number;
  rows: number;
  w: number;
  h: number;
}

/** aspect is the width of a node's box by its height that a grid comes close to. */
const aspect = 1.5;

/** grid divides an area into n equal boxes. */
export function grid(n: number, width: number, height: number): Grid {
  let best: Grid = { cols: 1, rows: Math.max(1, n), w: width, h: height / Math.max(1, n) };
  let bestScore = Infinity;
  const guess = Math.sqrt((n * width) / (height * aspect));
  for (let cols = Math.max(1, Math.floor(guess) - 3); cols <= Math.max(1, Math.min(n, Math.ceil(guess) + 3)); cols++) {
    const rows = Math.max(1, Math.ceil(n / cols));
    const g = { cols, rows, w: width / cols, h: height / rows };
    // The log of the aspect's error, and what the last row wastes.
    const score = Math.abs(Math.log(g.w / g.h / aspect)) + (cols * rows - n) / (cols * rows);
    if (score < bestScore) {
      best = g;
      bestScore = score;
    }
  }
  return best;
}

/** Zone is a group of boxes: a region of the area with a grid of its own, below a title if it has a name. */
export interface Zone {
  name: string;
  rect: Rect;
  grid: Grid;
  count: number;
}

/** zoned divides an area into a region for each group, so that all boxes have one size: as rows of regions below each other, or as columns. */
export function zoned(groups: { name: string; count: number }[], width: number, height: number, title: number, gap: number): Zone[] {
  const whole = groups.length === 1 && groups[0]!.name === "";
  if (whole) {
    const g = grid(groups[0]!.count, width, height);
    return [{ name: "", rect: { x: 0, y: 0, w: width, h: height }, grid: g, count: groups[0]!.count }];
  }
  const n = groups.reduce((sum, g) => sum + g.count, 0);
  const most = Math.max(1, ...groups.map((g) => g.count));
  let best: { score: number; zones: Zone[] } | undefined;
  for (let lines = 1; lines <= most; lines++) {
    for (const down of [true, false]) {
      // lines is the number of columns of each region if they are below each other, else of rows.
      const other = groups.map((g) => Math.ceil(g.count / lines));
      const sum = other.reduce((a, b) => a + b, 0);
      const w = down ? width / lines : (width - gap * (groups.length - 1)) / sum;
      const h = down ? (height - title * groups.length) / sum : (height - title) / lines;
      if (w <= 0 || h <= 0) continue;
      const score = Math.abs(Math.log(w / h / aspect)) + (lines * sum - n) / (lines * sum);
      if (best && score >= best.score) continue;
      let at = 0;
      const zones = groups.map((g, i): Zone => {
        const [cols, rows] = down ? [lines, other[i]!] : [other[i]!, lines];
        const rect = down ? { x: 0, y: at, w: width, h: title + rows * h } : { x: at, y: 0, w: cols * w, h: height };
        at += down ? rect.h : rect.w + gap;
        return { name: g.name, rect, grid: { cols, rows, w, h }, count: g.count };
      });
      best = { score, zones };
    }
  }
  return best?.zones ?? [];
}

/** View is the part of a picture that is shown: how much it is enlarged, and what is at the upper left. */
export interface View {
  scale: number;
  x: number;
  y: number;
}
/** maxScale is the greatest enlargement. */
export const maxScale = 40;

/** enlarged returns a view that is enlarged further by a factor, with a point of the window where it was. The whole is the least. */
export function enlarged(v: View, factor: number, x: number, y: number, width: number, height: number): View {
  const scale = Math.min(maxScale, Math.max(1, v.scale * factor));
  const by = scale / v.scale;
  return within({ scale, x: (v.x + x) * by - x, y: (v.y + y) * by - y }, width, height);
}

/** within moves a view so that nothing beyond the picture is shown. */
export function within(v: View, width: number, height: number): View {
  const limit = (at: number, size: number) => Math.max(0, Math.min(at, size * (v.scale - 1)));
  return { scale: v.scale, x: limit(v.x, width), y: limit(v.y, height) };
}

/** boxAt returns the box of a grid in which a point is, or -1. */
export function boxAt(g: Grid, n: number, x: number, y: number): number {
  const col = Math.floor(x / g.w);
  const row = Math.floor(y / g.h);
  const i = row * g.cols + col;
  return x < 0 || y < 0 || col >= g.cols || i >= n ? -1 : i;
}

export interface Cells {
  size: number;
  cols: number;
}
export const maxCell = 36;

/** cells returns the largest square cells of which n fit into an area. */
export function cells(n: number, width: number, height: number, largest = maxCell): Cells {
  let size = Math.min(largest, width, height);
  for (; size > 1; size -= size > 8 ? 1 : 0.5) {
    const cols = Math.floor(width / size);
    if (cols * Math.floor(height / size) >= n) return { size, cols };
  }
  return { size: 1, cols: Math.max(1, Math.floor(width)) };
}

/** roomFor rounds a number of pods up, so that boxes are not divided again for each pod. */
export function roomFor(pods: number): number {
  let room = 6;
  while (room < pods) room = Math.ceil(room * 1.5);
  return room;
}

/** Slots gives each pod of a node a place that it keeps. */
export class Slots {
  readonly uids: (string | undefined)[] = [];
  count = 0;
  private firstFree = 0;

  add(uid: string): number {
    let i = this.firstFree;
    while (this.uids[i] !== undefined) i++;
    this.uids[i] = uid;
    this.firstFree = i + 1;
    this.count++;
    return i;
  }
  remove(i: number): void {
    if (this.uids[i] === undefined) return;
    this.uids[i] = undefined;
    this.count--;
    this.firstFree = Math.min(this.firstFree, i);
    while (this.uids.length > 0 && this.uids[this.uids.length - 1] === undefined) this.uids.pop();
  }
}

/** naturally compares names so that node-2 comes before node-10. */
export function naturally(a: string, b: string): number {
  const digits = /(\d+)/;
  const left = a.split(digits);
  const right = b.split(digits);
  for (let i = 0; i < Math.min(left.length, right.length); i++) {
    const l = left[i]!;
    const r = right[i]!;
    if (l === r) continue;
    const n = i % 2 === 1 ? Number(l) - Number(r) : 0;
    return n || (l < r ? -1 : 1);
  }
  return left.length - right.length;
}
