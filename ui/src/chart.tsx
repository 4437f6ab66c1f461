import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot.css";
import type { Clock } from "./clock.ts";
import { onTheme, palette } from "./colors.ts";
import type { History } from "./history.ts";
import { areas, stacked } from "./series.ts";
import { clockTime } from "./words.ts";
import { say } from "./language.ts";

const drawEvery = 250;
/** minRange is the least time that a chart shows, in milliseconds. */
const minRange = 10_000;
const height = 240;
/** timeSpace and valueSpace are the least pixels between two labels of an axis. */
const timeSpace = 90;
const valueSpace = 30;

/** Chart draws a history up to the cluster's time. */
export function Chart({ label, clock, history }: { label: string; clock: Clock; history: History }) {
  const root = useRef<HTMLDivElement>(null);
  const [summary, setSummary] = useState("");
  useEffect(() => {
    const element = root.current!;
    let plot: uPlot | undefined;
    let names = "";
    const now = () => stacked(history.names, history.until(clock.now()));
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
          scales: { x: { time: false, range: (_u, min, max) => [Math.min(min, max - minRange), max] }, y: { range: (_u, _min, max) => [0, Math.max(1, max * 1.05)] } },
          axes: [{ ...line, space: timeSpace, incrs: timeSteps, values: (_u, at) => at.map((t) => clockTime(t)) }, { ...line, space: valueSpace, ...(drawn.names.some((n) => areas[n]) ? { incrs: podSteps } : {}) }],
          series: [
            { label: say("timeAxis"), value: (_u, v) => (v == null ? "" : clockTime(v)) },
            ...drawn.names.map((name, i) => {
              const phase = areas[name];
              const color = phase ? colors.phase[phase] : name === "desired" ? colors.text : colors.owners[i % colors.owners.length]!;
              const value = (_u: uPlot, _v: number, series: number, at: number | null) => String((at == null ? own[series]?.at(-1) : own[series]?.[at]) ?? "");
              return { label: seriesName(name), stroke: color, value, ...(phase ? { fill: mixed(color, colors.box) } : {}), width: phase ? 1.5 : 2, points: { show: false }, dash: /desired|target/.test(name) ? [6, 4] : undefined, paths: uPlot.paths.stepped!({ align: 1 }) };
            }),
          ],
        },
        drawn.data as uPlot.AlignedData,
        element,
      );
    };
    const draw = () => {
      if (history.names.length === 0) return;
      setSummary(history.names.map((name, i) => `${seriesName(name)} ${history.data[i + 1]!.at(-1) ?? 0}`).join(", "));
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
  }, [clock, history]);
  return <div class="chart" ref={root} role="img" aria-label={`${label}: ${summary}`} />;
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
