import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot.css";
import type { Clock } from "./clock.ts";
import { onTheme, palette } from "./colors.ts";
import { History } from "./history.ts";
import { go, type Route } from "./route.ts";
import type { WorkloadRow } from "./rows.ts";
import { type Store, useTopics } from "./store.ts";
import { clockTime, duration } from "./words.ts";

const sampleEvery = 250;
/** minRange is the least time that a chart shows, in milliseconds. */
const minRange = 10_000;

/** RolloutsView shows workloads, their replica sets side by side, jobs and autoscalers, with charts since the view was opened. */
export function RolloutsView({ store, clock, route }: { store: Store; clock: Clock; route: Route }) {
  const topics = [...Object.values(store.workloads), store.scalers];
  useTopics(topics);
  const top = [store.workloads.deployments, store.workloads.statefulsets, store.workloads.daemonsets, store.workloads.jobs]
    .flatMap((t) => [...t.rows.values()])
    .sort((a, b) => a.namespace.localeCompare(b.namespace) || a.name.localeCompare(b.name));
  const chosen = top.find((r) => r.uid === route.query.get("uid")) ?? top[0];
  return (
    <div class="rollouts">
      <ul class="list" aria-label="Workloads">
        {top.map((r) => (
          <li key={r.uid}>
            <button type="button" aria-pressed={r === chosen} onClick={() => go("rollouts", { uid: r.uid })}>
              <span>
                {r.kind}/{r.name} <span class="dim">{r.namespace}</span>
              </span>
              <Progress row={r} />
            </button>
          </li>
        ))}
        {top.length === 0 && <li class="dim">There are no workloads.</li>}
      </ul>
      {chosen && <Workload key={chosen.uid} row={chosen} store={store} clock={clock} />}
    </div>
  );
}

function done(r: WorkloadRow): number {
  return r.kind === "Job" ? r.succeeded : r.available;
}

function Progress({ row }: { row: WorkloadRow }) {
  return (
    <span class="progress">
      <meter min={0} max={Math.max(1, row.desired)} value={Math.min(done(row), row.desired)} /> {done(row)} of {row.desired}
    </span>
  );
}

/** series names what a chart of a workload shows now. */
function series(row: WorkloadRow, store: Store): Record<string, number> {
  if (row.kind === "Job") return { active: row.replicas, succeeded: row.succeeded, failed: row.failed };
  const values: Record<string, number> = { desired: row.desired, available: row.available };
  for (const set of store.workloads.replicasets.rows.values()) {
    if (set.namespace === row.namespace && set.owner === `${row.kind}/${row.name}`) values[`revision ${set.revision}`] = set.replicas;
  }
  return values;
}

function Workload({ row, store, clock }: { row: WorkloadRow; store: Store; clock: Clock }) {
  const latest = useRef(row);
  latest.current = row;
  const sets = [...store.workloads.replicasets.rows.values()]
    .filter((s) => s.namespace === row.namespace && s.owner === `${row.kind}/${row.name}`)
    .sort((a, b) => Number(b.revision) - Number(a.revision));
  const scaler = [...store.scalers.rows.values()].find((s) => s.namespace === row.namespace && s.target === `${row.kind}/${row.name}`);
  const resource = { Deployment: "deployments", StatefulSet: "statefulsets", DaemonSet: "daemonsets", Job: "jobs" }[row.kind] ?? "";
  const group = row.kind === "Job" ? "batch" : "apps";
  return (
    <div class="scroll">
      <h2>
        {row.kind}/{row.name} <span class="dim">in {row.namespace}</span>{" "}
        <button type="button" onClick={() => go("why", { group, resource, namespace: row.namespace, name: row.name })}>
          Why?
        </button>
      </h2>
      <p>
        {row.kind === "Job"
          ? `${row.succeeded} of ${row.desired} succeeded, ${row.replicas} active, ${row.failed} failed`
          : `${row.desired} desired, ${row.replicas} exist, ${row.updated} updated, ${row.ready} ready, ${row.available} available`}
        ; age {duration(Math.max(0, clock.now() - row.created))}
      </p>
      <Chart label={`${row.kind}/${row.name} over time`} clock={clock} values={() => series(latest.current, store)} />
      {sets.length > 0 && (
        <table class="sets">
          <caption>Replica sets</caption>
          <thead>
            <tr>
              <th scope="col">Revision</th>
              <th scope="col">Name</th>
              <th scope="col">Desired</th>
              <th scope="col">Exist</th>
              <th scope="col">Ready</th>
              <th scope="col">Share</th>
            </tr>
          </thead>
          <tbody>
            {sets.map((s) => (
              <tr key={s.uid}>
                <td>{s.revision}</td>
                <th scope="row">{s.name}</th>
                <td>{s.desired}</td>
                <td>{s.replicas}</td>
                <td>{s.ready}</td>
                <td>
                  <meter min={0} max={Math.max(1, row.desired)} value={s.replicas} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {scaler && (
        <section>
          <h3>HorizontalPodAutoscaler/{scaler.name}</h3>
          <p>
            {scaler.current} replicas, {scaler.desired} wanted, between {scaler.min} and {scaler.max}
          </p>
          <Chart
            label="Metrics and targets" clock={clock}
            values={() => Object.fromEntries((store.scalers.rows.get(scaler.uid)?.metrics ?? []).flatMap((m) => [[m.name, m.value], [`${m.name} target`, m.target]]))}
          />
        </section>
      )}
    </div>
  );
}

/** Chart samples values while it is shown. */
function Chart({ label, clock, values }: { label: string; clock: Clock; values: () => Record<string, number> }) {
  const root = useRef<HTMLDivElement>(null);
  const read = useRef(values);
  read.current = values;
  const [summary, setSummary] = useState("");
  useEffect(() => {
    const element = root.current!;
    const history = new History();
    let plot: uPlot | undefined;
    let names = "";
    const make = () => {
      plot?.destroy();
      const colors = palette(element);
      const line = { stroke: colors.dim, grid: { stroke: colors.line, width: 0.3 }, ticks: { stroke: colors.line, width: 0.5 } };
      plot = new uPlot(
        {
          width: element.clientWidth, height: 240, legend: { live: true }, cursor: { drag: { x: false } },
          scales: { x: { time: false, range: (_u, min, max) => [Math.min(min, max - minRange), max] }, y: { range: (_u, _min, max) => [0, Math.max(1, max * 1.05)] } },
          axes: [{ ...line, values: (_u, at) => at.map((t) => clockTime(t)) }, line],
          series: [
            { label: "time", value: (_u, v) => (v == null ? "" : clockTime(v)) },
            ...history.names.map((name, i) => ({ label: name, stroke: colors.owners[i % colors.owners.length]!, width: 2, points: { show: false }, dash: /desired|target/.test(name) ? [6, 4] : undefined, paths: uPlot.paths.stepped!({ align: 1 }) })),
          ],
        },
        history.data as uPlot.AlignedData,
        element,
      );
    };
    const sample = () => {
      const now = read.current();
      if (!history.add(clock.now(), now)) return;
      setSummary(Object.entries(now).map(([k, v]) => `${k} ${v}`).join(", "));
      if (names !== history.names.join()) {
        names = history.names.join();
        make();
      } else {
        plot?.setData(history.data as uPlot.AlignedData);
      }
    };
    sample();
    const timer = setInterval(sample, sampleEvery);
    const observer = new ResizeObserver(() => plot?.setSize({ width: element.clientWidth, height: 240 }));
    observer.observe(element);
    const stop = onTheme(make);
    return () => {
      clearInterval(timer);
      observer.disconnect();
      stop();
      plot?.destroy();
    };
  }, [clock]);
  return <div class="chart" ref={root} role="img" aria-label={`${label}: ${summary}`} />;
}
