import type { Clock } from "../clock.ts";
import { podSelector } from "../relations.ts";
import { useList } from "../reading.ts";
import type { KubeObject } from "../reflector.ts";
import type { Kind } from "../kinds.ts";
import { conditionsOf, containersOf, healthOf, toneOf } from "./health.ts";
import { open, ObjectLink } from "./link.tsx";
import { Age, Part } from "./parts.tsx";
import { type Plain, list, say } from "../language.ts";

/** shownPods is the number of pods that are listed. */
const shownPods = 100;

/** Overview shows what one asks first: conditions, containers, pods, labels. */
export function Overview({ object: o, kind, at, clock }: { object: KubeObject; kind: Kind; at: number; clock: Clock }) {
  const selector = podSelector(o);
  return (
    <>
      <Facts object={o} clock={clock} />
      {o.kind === "Pod" && <Containers pod={o} clock={clock} />}
      <Conditions object={o} clock={clock} />
      {selector !== undefined && <Pods of={o} selector={selector} at={at} clock={clock} />}
      {kind.name === "configmaps" && <Keys object={o} />}
    </>
  );
}

/** facts are a few fields of the kinds whose specs are asked for most. */
function factsOf(o: KubeObject): [Plain, string][] {
  const s = o.spec ?? {};
  const status = o.status ?? {};
  const ports = (s.ports ?? []) as { port: number; targetPort?: number | string; protocol?: string }[];
  const all: Record<string, [Plain, unknown][]> = {
    Pod: [["node", s.nodeName], ["factAddress", status.podIP], ["factQos", status.qosClass], ["factPhase", status.phase]],
    Deployment: [["replicas", s.replicas], ["factStrategy", s.strategy?.type], ["factImages", images(s.template?.spec)]],
    ReplicaSet: [["replicas", s.replicas], ["factImages", images(s.template?.spec)]],
    StatefulSet: [["replicas", s.replicas], ["factService", s.serviceName], ["factImages", images(s.template?.spec)]],
    DaemonSet: [["factImages", images(s.template?.spec)]],
    Job: [["factCompletions", s.completions], ["factParallelism", s.parallelism], ["factImages", images(s.template?.spec)]],
    CronJob: [["factSchedule", s.schedule], ["factSuspended", say(s.suspend ? "yes" : "no")]],
    Service: [["factType", s.type], ["factClusterIp", s.clusterIP], ["factPorts", ports.map((p) => `${p.port}${p.targetPort && p.targetPort !== p.port ? ` → ${p.targetPort}` : ""}/${p.protocol ?? "TCP"}`).join(", ")]],
    Node: [["factSchedulable", s.unschedulable ? list([say("no"), say("cordoned")]) : say("yes")], ["factAddresses", ((status.addresses ?? []) as { address: string }[]).map((a) => a.address).join(", ")], ["factKubelet", status.nodeInfo?.kubeletVersion]],
    NetworkPolicy: [["factTypes", (s.policyTypes ?? []).join(", ")]],
  };
  return (all[o.kind] ?? []).filter(([, v]) => v !== undefined && v !== "").map(([k, v]) => [k, String(v)]);
}

function images(spec: { containers?: { image?: string }[] } | undefined): string {
  return (spec?.containers ?? []).map((c) => c.image).join(", ");
}

function Facts({ object: o, clock }: { object: KubeObject; clock: Clock }) {
  const labels = Object.entries(o.metadata.labels ?? {});
  const meta = o.metadata as KubeObject["metadata"] & { finalizers?: string[] };
  return (
    <dl class="facts">
      {o.metadata.creationTimestamp && (
        <>
          <dt>{say("age")}</dt>
          <dd>
            <Age since={o.metadata.creationTimestamp} clock={clock} />
          </dd>
        </>
      )}
      {factsOf(o).map(([name, value]) => [
        <dt key={name}>{say(name)}</dt>,
        <dd key={`${name}=`}>{name === "node" ? <ObjectLink of={{ group: "", resource: "nodes", namespace: "", name: value }}>{value}</ObjectLink> : value}</dd>,
      ])}
      {labels.length > 0 && (
        <>
          <dt>{say("labels")}</dt>
          <dd class="chips">
            {labels.map(([k, v]) => (
              <code key={k}>
                {k}={v}
              </code>
            ))}
          </dd>
        </>
      )}
      {meta.finalizers && (
        <>
          <dt>{say("finalizers")}</dt>
          <dd>{meta.finalizers.join(", ")}</dd>
        </>
      )}
    </dl>
  );
}

function Conditions({ object, clock }: { object: KubeObject; clock: Clock }) {
  const conditions = conditionsOf(object);
  if (conditions.length === 0) return null;
  return (
    <Part title={say("conditions")}>
      <table class="rows">
        <thead>
          <tr>
            <th scope="col">{say("condition")}</th>
            <th scope="col">{say("status")}</th>
            <th scope="col">{say("reason")}</th>
            <th scope="col">{say("forTime")}</th>
          </tr>
        </thead>
        <tbody>
          {conditions.map((c) => (
            <tr key={c.type}>
              <th scope="row">{c.type}</th>
              <td>
                <span class={`tone ${toneOf(c)}`}>{c.status}</span>
              </td>
              <td>
                {c.reason}
                {c.message && <div class="dim">{c.message}</div>}
              </td>
              <td>
                <Age since={c.lastTransitionTime} clock={clock} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Part>
  );
}

function Containers({ pod, clock }: { pod: KubeObject; clock: Clock }) {
  return (
    <Part title={say("containers")}>
      <ul class="cards">
        {containersOf(pod).map((c) => (
          <li key={c.name} class={`card ${c.tone}`}>
            <div>
              <b>{c.name}</b> {c.init && <span class="dim">{say("init")}</span>} <code>{c.image}</code>
            </div>
            <div>
              <span class={`tone ${c.tone}`}>{c.says}</span> <Age since={c.since} clock={clock} />
              {!c.init && !c.ready && c.tone === "good" && <span class="tone warn">{say("notReady")}</span>}
              <span class="dim">
                {" "}
                {say("restartsCount", { n: c.restarts })}
              </span>
            </div>
            {c.last && <div class="dim">{say("beforeThat", { says: c.last })}</div>}
          </li>
        ))}
      </ul>
    </Part>
  );
}

function Pods({ of, selector, at, clock }: { of: KubeObject; selector: string; at: number; clock: Clock }) {
  const path = of.kind === "Node" ? "/api/v1/pods" : `/api/v1/namespaces/${of.metadata.namespace}/pods`;
  const { items, complete, error } = useList(path, selector || "labelSelector=", at);
  const pods = items.sort((a, b) => a.metadata.name.localeCompare(b.metadata.name));
  return (
    <Part title={complete ? `${say("pods")} (${pods.length})` : say("pods")}>
      {error && <p role="alert">{error}</p>}
      {complete && pods.length === 0 && !error && <p class="dim">{say("thereAreNone")}</p>}
      {pods.length > 0 && (
        <table class="rows">
          <tbody>
            {pods.slice(0, shownPods).map((p) => (
              <tr key={p.metadata.uid}>
                <td>
                  <ObjectLink of={{ group: "", resource: "pods", namespace: p.metadata.namespace ?? "", name: p.metadata.name }}>{p.metadata.name}</ObjectLink>
                </td>
                <td>
                  <span class={`tone ${healthOf({ ...p, kind: "Pod" }).tone}`}>{healthOf({ ...p, kind: "Pod" }).word}</span>
                </td>
                <td>{of.kind === "Node" ? p.metadata.namespace : p.spec?.nodeName}</td>
                <td>
                  <Age since={p.metadata.creationTimestamp} clock={clock} />
                </td>
                <td>
                  <button type="button" aria-label={say("logsOf", { name: p.metadata.name })} onClick={() => open({ group: "", resource: "pods", namespace: p.metadata.namespace ?? "", name: p.metadata.name }, "logs")}>
                    {say("logs")}
                  </button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {pods.length > shownPods && <p class="dim">{say("andMore", { n: pods.length - shownPods })}</p>}
    </Part>
  );
}

function Keys({ object }: { object: KubeObject }) {
  const keys = Object.entries((object.data ?? {}) as Record<string, string>);
  return (
    <Part title={`${say("keysWord")} (${keys.length})`}>
      {keys.map(([k, v]) => (
        <details key={k}>
          <summary>
            {k} <span class="dim">{say("characters", { n: v.length })}</span>
          </summary>
          <pre>{v}</pre>
        </details>
      ))}
    </Part>
  );
}
