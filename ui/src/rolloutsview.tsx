import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Actions } from "./actions.ts";
import { useChanges } from "./changes.ts";
import { Chart } from "./chart.tsx";
import type { Clock } from "./clock.ts";
import { Lasting } from "./faultmenu.tsx";
import type { Faults } from "./faults.ts";
import { meeting } from "./netfaults.ts";
import { NamedLink, ObjectLink } from "./object/link.tsx";
import { type Rollout, withPods } from "./rollout.ts";
import { go, type Route } from "./route.ts";
import type { WorkloadRow } from "./rows.ts";
import { Samples } from "./samples.ts";
import { type Store, useTopics } from "./store.ts";
import { Reasons } from "./whyview.tsx";
import { duration } from "./words.ts";
import { explain, type Explanation } from "./writes.ts";

/** samples are those of the page's store. */
let samples: Samples | undefined;

/** RolloutsView shows workloads with their progress, replica sets side by side, jobs and autoscalers, with charts since it was opened first. */
export function RolloutsView({ store, clock, route, faults, actions, report }: { store: Store; clock: Clock; route: Route; faults: Faults; actions: Actions; report: (error: unknown) => void }) {
  const topics = [...Object.values(store.workloads), store.scalers, store.pods];
  samples ??= new Samples(store, clock);
  useTopics(topics);
  useChanges(faults);
  const top = [store.workloads.deployments, store.workloads.statefulsets, store.workloads.daemonsets, store.workloads.jobs]
    .flatMap((t) => [...t.rows.values()])
    .sort((a, b) => a.namespace.localeCompare(b.namespace) || a.name.localeCompare(b.name));
  const chosen = top.find((r) => r.uid === route.query.get("uid")) ?? top[0];
  const problems = problemsByOwner(store);
  const rollout = (r: WorkloadRow) => withPods(r.rollout, problems.get(`${r.namespace}/${r.kind}/${r.name}`) ?? []);
  return (
    <div class="rollouts">
      <ul class="list" aria-label="Workloads">
        {top.map((r) => (
          <li key={r.uid}>
            <button type="button" aria-pressed={r === chosen} onClick={() => go("rollouts", { uid: r.uid })}>
              <span>
                {r.kind}/{r.name} <span class="dim">{r.namespace}</span>
              </span>
              <Progress rollout={rollout(r)} />
            </button>
          </li>
        ))}
        {top.length === 0 && <li class="dim">There are no workloads.</li>}
      </ul>
      {chosen && <Workload key={chosen.uid} row={chosen} rollout={rollout} store={store} clock={clock} samples={samples} lasting={<Lasting faults={meeting(faults.items, chosen)} stop={(id) => actions.stop(id)} report={report} />} />}
    </div>
  );
}

/** problemsByOwner returns the problems of pods by the workloads that own them: as NAMESPACE/KIND/NAME, a ReplicaSet's also by its Deployment. */
function problemsByOwner(store: Store): Map<string, string[]> {
  const deployments = new Map([...store.workloads.replicasets.rows.values()].filter((s) => s.owner).map((s) => [`${s.namespace}/${s.kind}/${s.name}`, `${s.namespace}/${s.owner}`]));
  const found = new Map<string, string[]>();
  const add = (owner: string | undefined, problem: string) => {
    if (owner) found.set(owner, [...(found.get(owner) ?? []), problem]);
  };
  for (const pod of store.pods.rows.values()) {
    if (!pod.problem || !pod.owner) continue;
    const owner = `${pod.namespace}/${pod.owner}`;
    add(owner, pod.problem);
    add(deployments.get(owner), pod.problem);
  }
  return found;
}

/** Progress is a bar, a count, and unless it is short why the rollout is stuck. */
function Progress({ rollout: r, short }: { rollout: Rollout; short?: boolean }) {
  return (
    <span class={`progress ${r.state}`}>
      <Bar rollout={r} /> {r.done} of {r.wanted}
      {r.state !== "done" && (
        <span class="state">
          {r.state === "moving" ? "" : `${r.state}: `}
          {r.says}
        </span>
      )}
      {!short && r.reason && <span class="reason">{r.reason}</span>}
    </span>
  );
}

/** Bar has the colour of the rollout's state, and a hatch beside it if it is stuck: colours alone do not show it to everyone. */
function Bar({ rollout: r }: { rollout: Rollout }) {
  const share = r.wanted > 0 ? r.done / r.wanted : r.state === "done" ? 1 : 0;
  return (
    <span class={`bar ${r.state}`} role="meter" aria-label="Progress" aria-valuemin={0} aria-valuemax={Math.max(1, r.wanted)} aria-valuenow={r.done} aria-valuetext={`${r.state}, ${r.done} of ${r.wanted}`}>
      <span style={{ width: `${100 * Math.min(1, share)}%` }} />
    </span>
  );
}

/** StuckBecause explains a workload that is stuck as "minikcm why" does, again when its reason changes. */
function StuckBecause({ of, reason }: { of: { group: string; resource: string; namespace: string; name: string }; reason: string }) {
  const [explanation, set] = useState<Explanation>();
  useEffect(() => {
    let stale = false;
    explain(of).then((e) => stale || set(e), () => stale || set(undefined));
    return () => {
      stale = true;
    };
  }, [of.resource, of.namespace, of.name, reason]);
  const reasons = explanation?.now?.reasons;
  return (
    <section class="stuck" aria-label="Why it is stuck">
      {reasons?.length ? <Reasons reasons={reasons} /> : <p>{reason}</p>}
    </section>
  );
}

function Workload(p: { row: WorkloadRow; rollout: (r: WorkloadRow) => Rollout; store: Store; clock: Clock; samples: Samples; lasting: ComponentChildren }) {
  const { row, store, clock } = p;
  const rollout = p.rollout(row);
  const sets = [...store.workloads.replicasets.rows.values()]
    .filter((s) => s.namespace === row.namespace && s.owner === `${row.kind}/${row.name}`)
    .sort((a, b) => Number(b.revision) - Number(a.revision));
  const scaler = [...store.scalers.rows.values()].find((s) => s.namespace === row.namespace && s.target === `${row.kind}/${row.name}`);
  const resource = { Deployment: "deployments", StatefulSet: "statefulsets", DaemonSet: "daemonsets", Job: "jobs" }[row.kind] ?? "";
  const group = row.kind === "Job" ? "batch" : "apps";
  return (
    <div class="scroll">
      <h2>
        <NamedLink named={`${row.kind}/${row.name}`} namespace={row.namespace} /> <span class="dim">in {row.namespace}</span>{" "}
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
      <Progress rollout={rollout} short />
      {p.lasting}
      {rollout.reason && <StuckBecause of={{ group, resource, namespace: row.namespace, name: row.name }} reason={rollout.reason} />}
      <Chart label={`${row.kind}/${row.name} over time`} clock={clock} history={p.samples.of(row.uid)} />
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
              <th scope="col">Progress</th>
            </tr>
          </thead>
          <tbody>
            {sets.map((s) => (
              <tr key={s.uid}>
                <td>{s.revision}</td>
                <th scope="row">
                  <ObjectLink of={{ group: "apps", resource: "replicasets", namespace: s.namespace, name: s.name }}>{s.name}</ObjectLink>
                </th>
                <td>{s.desired}</td>
                <td>{s.replicas}</td>
                <td>{s.ready}</td>
                <td>
                  <Progress rollout={p.rollout(s)} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {scaler && (
        <section>
          <h3>
            <NamedLink named={`HorizontalPodAutoscaler/${scaler.name}`} namespace={scaler.namespace} />
          </h3>
          <p>
            {scaler.current} replicas, {scaler.desired} wanted, between {scaler.min} and {scaler.max}
          </p>
          <Chart label="Metrics and targets" clock={clock} history={p.samples.of(scaler.uid)} />
        </section>
      )}
    </div>
  );
}
