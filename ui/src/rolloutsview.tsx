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
import { Revisions } from "./revisions.tsx";
import { go, type Route } from "./route.ts";
import type { WorkloadRow } from "./rows.ts";
import { Samples } from "./samples.ts";
import { type Store, useTopics } from "./store.ts";
import { Reasons } from "./whyview.tsx";
import { duration } from "./words.ts";
import { explain, type Explanation } from "./writes.ts";
import { list, say, saying } from "./language.ts";

/** samples are those of the page's store. */
let samples: Samples | undefined;

/** RolloutsView shows workloads with their progress, replica sets side by side, jobs and autoscalers, with charts that reach back as far as the store's history. */
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
      <ul class="list" aria-label={say("workloads")}>
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
        {top.length === 0 && <li class="dim">{say("thereAreNoWorkloads")}</li>}
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
      <Bar rollout={r} /> {say("ofTotal", { n: r.done, all: r.wanted })}
      {r.state !== "done" && (
        <span class="state">
          {r.state === "moving" ? "" : `${say(`rollout_${r.state}`)}: `}
          {saying(r.says)}
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
    <span class={`bar ${r.state}`} role="meter" aria-label={say("progress")} aria-valuemin={0} aria-valuemax={Math.max(1, r.wanted)} aria-valuenow={r.done} aria-valuetext={list([say(`rollout_${r.state}`), say("ofTotal", { n: r.done, all: r.wanted })])}>
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
    <section class="stuck" aria-label={say("whyItIsStuck")}>
      {reasons?.length ? <Reasons reasons={reasons} /> : <p>{reason}</p>}
    </section>
  );
}

/** Past reads the samples of a workload from before the view was opened. */
function Past({ row, group, resource, samples }: { row: WorkloadRow; group: string; resource: string; samples: Samples }) {
  useEffect(() => {
    const end = new AbortController();
    void samples.readPast(row, group, resource, end.signal);
    return () => end.abort();
  }, [row.uid]);
  return null;
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
  const age = duration(Math.max(0, clock.now() - row.created));
  return (
    <div class="scroll">
      <h2>
        <NamedLink named={`${row.kind}/${row.name}`} namespace={row.namespace} /> <span class="dim">{say("inNamespace", { namespace: row.namespace })}</span>{" "}
        <button type="button" onClick={() => go("why", { group, resource, namespace: row.namespace, name: row.name })}>
          {say("why")}
        </button>
      </h2>
      <p>
        {row.kind === "Job"
          ? say("jobCounts", { succeeded: row.succeeded, desired: row.desired, active: row.replicas, failed: row.failed, age })
          : say("workloadCounts", { desired: row.desired, exist: row.replicas, updated: row.updated, ready: row.ready, available: row.available, age })}
      </p>
      <Progress rollout={rollout} short />
      {p.lasting}
      {rollout.reason && <StuckBecause of={{ group, resource, namespace: row.namespace, name: row.name }} reason={rollout.reason} />}
      <Past row={row} group={group} resource={resource} samples={p.samples} />
      <Chart label={say("overTime", { name: `${row.kind}/${row.name}` })} clock={clock} history={p.samples.of(row.uid)} />
      {sets.length > 0 && (
        <table class="sets">
          <caption>{say("replicaSets")}</caption>
          <thead>
            <tr>
              <th scope="col">{say("revision")}</th>
              <th scope="col">{say("name")}</th>
              <th scope="col">{say("desired")}</th>
              <th scope="col">{say("exist")}</th>
              <th scope="col">{say("ready")}</th>
              <th scope="col">{say("progress")}</th>
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
      <Revisions row={row} />
      {scaler && (
        <section>
          <h3>
            <NamedLink named={`HorizontalPodAutoscaler/${scaler.name}`} namespace={scaler.namespace} />
          </h3>
          <p>
            {say("scalerCounts", { n: scaler.current, wanted: scaler.desired, min: scaler.min, max: scaler.max })}
          </p>
          <Chart label={say("metricsAndTargets")} clock={clock} history={p.samples.of(scaler.uid)} />
        </section>
      )}
    </div>
  );
}
