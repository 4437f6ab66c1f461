import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot.css";
import type { Clock } from "./clock.ts";
import { onTheme, palette } from "./colors.ts";
import type { History } from "./history.ts";
import { areas, byChange, marked, stacked } from "./series.ts";
import { clockTime } from "./words.ts";
import { list, say } from "./language.ts";

const drawEvery = 250;
/** minRange is the least time that a chart shows, in milliseconds. */
const minRange = 10_000;
const height = 240;
/** timeSpace and valueSpace are the least pixels between two labels of an axis. */
const timeSpace = 90;
const valueSpace = 30;

type Axis = "time" | "change";

/** Chart draws a history up to the cluster's time, or with the same width for each state, and marks where the spec was changed. */
export function Chart({ label, clock, history }: { label: string; clock: Clock; history: History }) {
  const root = useRef<HTMLDivElement>(null);
  const [summary, setSummary] = useState("");
  const [axis, setAxis] = useState<Axis>("time");
  const [counts, setCounts] = useState("");
  useEffect(() => {
    const element = root.current!;
    let plot: uPlot | undefined;
    let names = "";
    const now = () => stacked(history.names, axis === "time" ? history.until(clock.now()) : byChange(history.data));
    const timeAt = (at: number) => (axis === "time" ? at : (history.data[0]![Math.min(at, history.data[0]!.length - 1)] ?? clock.now()));
    let own: (number | null)[][] = [];
    const make = () => {
      plot?.destroy();
      const drawn = now();
      own = drawn.own;
      const colors = palette(element);
      const line = { stroke: colors.dim, grid: { stroke: colors.line, width: 0.3 }, ticks: { stroke: colors.line, width: 0.5 } };
      plot = new uPlot(
        {
          width: element.clientWidth, height, legend: { live: true }, cursor: { drag: { x: false } },
          scales: { x: { time: false, range: (_u, min, max) => [axis === "time" ? Math.min(min, max - minRange) : min, max] }, y: { range: (_u, _min, max) => [0, Math.max(1, max * 1.05)] } },
          axes: [{ ...line, space: timeSpace, incrs: axis === "time" ? timeSteps : podSteps, values: (_u, at) => at.map((t) => clockTime(timeAt(t))) }, { ...line, space: valueSpace, ...(drawn.names.some((n) => areas[n]) ? { incrs: podSteps } : {}) }],
          series: [
            { label: say("timeAxis"), value: (_u, v) => (v == null ? "" : clockTime(timeAt(v))) },
            ...drawn.names.map((name, i) => {
              const phase = areas[name];
              const color = phase ? colors.phase[phase] : name === "desired" ? colors.text : colors.owners[i % colors.owners.length]!;
              const value = (_u: uPlot, _v: number, series: number, at: number | null) => String((at == null ? own[series]?.at(-1) : own[series]?.[at]) ?? "");
              return { label: seriesName(name), stroke: color, value, ...(phase ? { fill: mixed(color, colors.box) } : {}), width: phase ? 1.5 : 2, points: { show: false }, dash: /desired|target/.test(name) ? [6, 4] : undefined, paths: uPlot.paths.stepped!({ align: 1 }) };
            }),
          ],
          hooks: { draw: [(u) => drawMarks(u, marked(history.names, history.data).map((i) => (axis === "time" ? history.data[0]![i]! : i)), colors.accent)] },
        },
        drawn.data as uPlot.AlignedData,
        element,
      );
    };
    const draw = () => {
      if (history.names.length === 0) return;
      const all = now().names;
      setSummary(all.map((name) => `${seriesName(name)} ${history.data[history.names.indexOf(name) + 1]!.at(-1) ?? 0}`).join(", "));
      const marks = marked(history.names, history.data).length;
      setCounts(list([say("statesShown", { n: history.data[0]!.length }), ...(marks ? [say("specChanges", { n: marks })] : [])]));
      if (names !== history.names.join()) {
        names = history.names.join();
        make();
      } else {
        const drawn = now();
        own = drawn.own;
        plot?.setData(drawn.data as uPlot.AlignedData);
      }
    };
    draw();
    const timer = setInterval(draw, drawEvery);
    const observer = new ResizeObserver(() => plot?.setSize({ width: element.clientWidth, height }));
    observer.observe(element);
    const stop = onTheme(make);
    return () => {
      clearInterval(timer);
      observer.disconnect();
      stop();
      plot?.destroy();
    };
  }, [clock, history, axis]);
  return (
    <>
      <p class="chart-axis">
        <select aria-label={say("axis")} value={axis} onChange={(e) => setAxis(e.currentTarget.value as Axis)}>
          <option value="time">{say("timeAxis")}</option>
          <option value="change">{say("changeAxis")}</option>
        </select>{" "}
        <span class="dim">{counts}</span>
      </p>
      <div class="chart" ref={root} role="img" aria-label={`${label}: ${summary}`} />
    </>
  );
}

/** drawMarks draws a dashed line at each place. */
function drawMarks(u: uPlot, places: number[], color: string): void {
  const { left, top, width, height: high } = u.bbox;
  u.ctx.save();
  u.ctx.strokeStyle = color;
  u.ctx.lineWidth = devicePixelRatio;
  u.ctx.setLineDash([4 * devicePixelRatio, 4 * devicePixelRatio]);
  u.ctx.beginPath();
  for (const x of places.map((at) => Math.round(u.valToPos(at, "x", true)) + 0.5).filter((x) => x >= left && x <= left + width)) {
    u.ctx.moveTo(x, top);
    u.ctx.lineTo(x, top + high);
  }
  u.ctx.stroke();
  u.ctx.restore();
}

/** mixed is a colour that is light on a ground, and hides what is below it. */
function mixed(color: string, ground: string): string {
  const parts = (c: string) => [1, 3, 5].map((i) => Number.parseInt(c.slice(i, i + 2), 16));
  const under = parts(ground);
  return `rgb(${parts(color).map((v, i) => Math.round(v * 0.55 + under[i]! * 0.45)).join(" ")})`;
}

/** seriesName is the name of a series in the page's language. */
function seriesName(name: string): string {
  if (name === "desired" || name === "active" || name === "succeeded" || name === "failed" || name === "newReady" || name === "newStarting" || name === "oldPods") return say(`series_${name}`);
  const [, target] = /^(.+) target$/.exec(name) ?? [];
  return target ? say("targetOf", { name: target }) : name;
}

/** podSteps are the differences between two labels of numbers of pods: there are no halves of one. */
const podSteps = [1, 2, 5].flatMap((f) => Array.from({ length: 7 }, (_, i) => f * 10 ** i)).sort((a, b) => a - b);

/** timeSteps are the milliseconds between two labels of the time: whole seconds, since labels have no less. */
const timeSteps = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 3 * 3600, 6 * 3600, 12 * 3600, 86400, 7 * 86400, 30 * 86400].map((s) => s * 1000);
