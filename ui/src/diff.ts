// Differences between two texts, by lines.

export interface DiffLine {
  sign: " " | "+" | "-";
  text: string;
}
/** Hunk is a part with changes and the lines around it; skipped is the number of equal lines before it. */
export interface Hunk {
  skipped: number;
  lines: DiffLine[];
}

/** maxCells limits the table of the longest common subsequence; a change with more is shown as removed and added. */
const maxCells = 4_000_000;

function changed(a: string[], b: string[]): DiffLine[] {
  const removed = a.map((text): DiffLine => ({ sign: "-", text }));
  const added = b.map((text): DiffLine => ({ sign: "+", text }));
  if (a.length * b.length > maxCells) return [...removed, ...added];
  const width = b.length + 1;
  const length = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      length[i * width + j] = a[i] === b[j] ? length[(i + 1) * width + j + 1]! + 1 : Math.max(length[(i + 1) * width + j]!, length[i * width + j + 1]!);
    }
  }
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < a.length && j < b.length) {
    if (a[i] === b[j]) {
      lines.push({ sign: " ", text: a[i]! });
      i++;
      j++;
    } else if (length[(i + 1) * width + j]! >= length[i * width + j + 1]!) lines.push(removed[i++]!);
    else lines.push(added[j++]!);
  }
  return [...lines, ...removed.slice(i), ...added.slice(j)];
}

/** diff returns the lines of both texts. */
export function diff(before: string, after: string): DiffLine[] {
  const [a, b] = [before, after].map((t) => (t === "" ? [] : t.replace(/\n$/, "").split("\n"))) as [string[], string[]];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end++;
  const same = (lines: string[]) => lines.map((text): DiffLine => ({ sign: " ", text }));
  return [...same(a.slice(0, start)), ...changed(a.slice(start, a.length - end), b.slice(start, b.length - end)), ...same(a.slice(a.length - end))];
}

/** hunks returns the changes with some equal lines around them. */
export function hunks(lines: DiffLine[], around = 3): Hunk[] {
  const found: Hunk[] = [];
  let shownTo = 0;
  let current: Hunk | undefined;
  lines.forEach((l, i) => {
    if (l.sign === " ") return;
    const from = Math.max(shownTo, i - around);
    if (!current || from > shownTo) {
      current = { skipped: from - shownTo, lines: [] };
      found.push(current);
    }
    const to = Math.min(lines.length, i + around + 1);
    current.lines.push(...lines.slice(Math.max(from, shownTo), to));
    shownTo = Math.max(shownTo, to);
  });
  return found;
}

/** Row is a line of two texts beside each other; a side that has no such line is undefined. */
export interface Row {
  left: string | undefined;
  right: string | undefined;
  same: boolean;
}

/** beside puts the lines of a difference beside each other: what was removed at the left of what was added in its place. */
export function beside(lines: DiffLine[]): Row[] {
  const rows: Row[] = [];
  let [removed, added]: [string[], string[]] = [[], []];
  const flush = () => {
    for (let i = 0; i < Math.max(removed.length, added.length); i++) rows.push({ left: removed[i], right: added[i], same: false });
    [removed, added] = [[], []];
  };
  for (const l of lines) {
    if (l.sign === "-") removed.push(l.text);
    else if (l.sign === "+") added.push(l.text);
    else {
      flush();
      rows.push({ left: l.text, right: l.text, same: true });
    }
  }
  flush();
  return rows;
}
