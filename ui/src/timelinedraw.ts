// The timeline's picture: an axis, bands of what lasts, and lanes of writes.

import type { Band } from "./bands.ts";
import type { Palette } from "./colors.ts";
import { fitting } from "./fitting.ts";
import { say } from "./language.ts";
import { type Axis, firstAt, type Lane, type Lanes, type Mark, nearest, type Range, ticks } from "./timelinemodel.ts";
import { clockTime } from "./words.ts";
import { writer } from "./writes.ts";

export const laneHeight = 26;
/** nameWidthOf is the room for the lanes' names on a strip of some width. */
export const nameWidthOf = (width: number) => (width < 600 ? 96 : 210);
const axisHeight = 24;
const bandHeight = 18;
/** topOf is where the lanes begin, below the axis and the bands. */
export const topOf = (bands: Band[]) => axisHeight + bands.length * bandHeight;

/** Drawn is what a strip shows. */
export interface Drawn {
  lanes: Lanes;
  axis: Axis;
  bands: Band[];
  win: Range;
  selected: Mark | undefined;
}

export function drawLanes(element: HTMLCanvasElement, { lanes, axis, bands, win, selected }: Drawn, colors: Palette): void {
  const { clientWidth: w, clientHeight: h } = element;
  const nameWidth = nameWidthOf(w);
  const ratio = Math.min(2, devicePixelRatio);
  element.width = Math.round(w * ratio);
  element.height = Math.round(h * ratio);
  const ctx = element.getContext("2d")!;
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  ctx.font = "12px system-ui, sans-serif";
  ctx.textBaseline = "middle";
  const scale = Math.max(1, w - nameWidth) / (win.to - win.from);
  const xOf = (t: number) => nameWidth + (t - win.from) * scale;
  const shown = lanes.shown();
  const top = topOf(bands);
  ctx.strokeStyle = colors.line;
  ctx.fillStyle = colors.dim;
  ctx.lineWidth = 0.5;
  for (const t of ticks(win.from, win.to, Math.max(2, (w - nameWidth) / 130), axis)) {
    const x = Math.round(xOf(t)) + 0.5;
    ctx.beginPath();
    ctx.moveTo(x, axisHeight - 4);
    ctx.lineTo(x, top + shown.length * laneHeight);
    ctx.stroke();
    ctx.fillText(axis === "time" ? clockTime(t, win.to - win.from < 10_000) : revisionLabel(shown, t), x + 3, axisHeight / 2);
  }
  bands.forEach((b, i) => drawBand(ctx, lanes, b, axisHeight + i * bandHeight, xOf, [nameWidth, w, top + shown.length * laneHeight], colors));
  shown.forEach((lane, i) => {
    const y = top + i * laneHeight;
    if (i % 2 === 0) {
      ctx.fillStyle = colors.box;
      ctx.globalAlpha = 0.5;
      ctx.fillRect(0, y, w, laneHeight);
      ctx.globalAlpha = 1;
    }
    ctx.fillStyle = lane.own ? colors.accent : colors.text;
    ctx.font = `${lane.own ? "bold " : ""}12px system-ui, sans-serif`;
    ctx.fillText(fitting(ctx, lane.name, nameWidth - 12), 6, y + laneHeight / 2);
    let lastX = -1;
    let lastEffect = "";
    for (let k = firstAt(lane.marks, win.from); k < lane.marks.length; k++) {
      const m = lane.marks[k]!;
      if (m.at > win.to) break;
      const x = Math.round(xOf(m.at));
      const effect = m.write.effect ?? "changed";
      if (x === lastX && effect === lastEffect) continue;
      [lastX, lastEffect] = [x, effect];
      ctx.fillStyle = colors.effects[effect] ?? colors.text;
      // Effects differ in height, too.
      const [above, height] = effect === "created" ? [3, laneHeight - 6] : effect === "removed" ? [3, (laneHeight - 6) / 2] : [laneHeight / 2, (laneHeight - 6) / 2];
      ctx.fillRect(x - 1, y + above, 2.5, height);
    }
  });
  ctx.font = "12px system-ui, sans-serif";
  if (selected) drawSelected(ctx, lanes, selected, top, xOf, colors);
}

/** drawBand draws what lasts from its begin to its end, and a line down to the lowest lane where it began. */
function drawBand(ctx: CanvasRenderingContext2D, lanes: Lanes, band: Band, y: number, xOf: (t: number) => number, [left, right, bottom]: [number, number, number], colors: Palette): void {
  ctx.fillStyle = colors.text;
  ctx.fillText(say(band.title), 6, y + bandHeight / 2, left - 12);
  const tones = { bad: colors.bad, busy: colors.effects.changed!, good: colors.effects.created! };
  band.spans.forEach((s, i) => {
    const from = xOf(lanes.placeOf(s.from));
    const to = Math.min(right, s.to === undefined ? right : xOf(lanes.placeOf(s.to)));
    if (to < left || from > right) return;
    const x = Math.max(left, from);
    ctx.fillStyle = tones[s.tone];
    ctx.globalAlpha = 0.25;
    ctx.fillRect(x, y + 1, Math.max(3, to - x), bandHeight - 2);
    ctx.globalAlpha = 1;
    if (from >= left) ctx.fillRect(from - 1, y + 1, 2, s.tone === "bad" ? bottom - y : bandHeight - 2);
    const next = band.spans[i + 1];
    const room = Math.min(right, next ? xOf(lanes.placeOf(next.from)) : right) - x - 6;
    if (room < 30) return;
    ctx.fillStyle = colors.text;
    ctx.fillText(fitting(ctx, s.text, room), x + 4, y + bandHeight / 2);
  });
}

/** revisionLabel is a revision with the time of the write that is next to it. */
function revisionLabel(lanes: Lane[], revision: number): string {
  const near = lanes.flatMap((l) => nearest(l.marks, revision, Infinity) ?? []).sort((a, b) => Math.abs(a.at - revision) - Math.abs(b.at - revision))[0];
  return near ? `${revision} · ${clockTime(Date.parse(near.write.time))}` : String(revision);
}

/** drawSelected marks a write, and connects it with its causes. */
function drawSelected(ctx: CanvasRenderingContext2D, lanes: Lanes, selected: Mark, top: number, xOf: (t: number) => number, colors: Palette): void {
  const shown = lanes.shown();
  const yOf = (m: Mark) => top + shown.findIndex((l) => l.name === writer(m.write)) * laneHeight + laneHeight / 2;
  const causes = new Set(selected.write.causes ?? []);
  ctx.strokeStyle = colors.accent;
  ctx.lineWidth = 2;
  ctx.strokeRect(xOf(selected.at) - 5, yOf(selected) - laneHeight / 2 + 1, 10, laneHeight - 2);
  ctx.lineWidth = 1;
  for (const lane of shown) {
    for (const m of lane.marks) {
      if (!causes.has(m.write.revision)) continue;
      ctx.beginPath();
      ctx.moveTo(xOf(m.at), yOf(m));
      ctx.lineTo(xOf(selected.at), yOf(selected));
      ctx.stroke();
    }
  }
}
