import { useEffect, useMemo, useState } from "preact/hooks";
import { useChanges } from "./changes.ts";
import type { Actions } from "./actions.ts";
import { getJSON } from "./api.ts";
import { BreakMenu } from "./breakmenu.tsx";
import { Lasting } from "./faultmenu.tsx";
import { belief, concerning, type Faults, type Injection } from "./faults.ts";
import { type Filter, matcher, noFilter } from "./filter.ts";
import { headlineOf, shownProblems } from "./headline.ts";
import { isNet, meeting } from "./netfaults.ts";
import { openCreate } from "./object/create.tsx";
import { NamedLink, ObjectLink } from "./object/link.tsx";
import { Command } from "./object/parts.tsx";
import { nodeRef, Picture, podRef, type Selection } from "./picture.tsx";
import { go } from "./route.ts";
import { type NodeRow, phases, type PodRow, quantity, statusWord } from "./rows.ts";
import { type Look, Scene } from "./scene.ts";
import { Owners, Scrubber } from "./scrubber.tsx";
import { type Store, useTopics } from "./store.ts";
import { TourButton } from "./tourpanel.tsx";
import type { TourGuide } from "./tours.ts";
import { bytes, cpu } from "./words.ts";
import { type Plain, list, say, sentence } from "./language.ts";

/** ClusterView draws the nodes with their pods. */
export function ClusterView({ store, faults, at, actions, guide, report }: { guide: TourGuide; store: Store; faults: Faults; at: number; actions: Actions; report: (error: unknown) => void }) {
  const [filter, setFilter] = useState<Filter>(noFilter);
  const [by, setBy] = useState<Look["by"]>("phase");
  const [selection, select] = useState<Selection>({ node: "", pod: "" });
  const scene = useMemo(() => new Scene(), []);
  useTopics([store.nodes, store.pods]);
  useChanges(faults);
  const matches = matcher(filter);
  const look: Look = {
    by, matches: matches ?? (() => true), filtered: Object.values(filter).some(Boolean), selectedNode: selection.node, selectedPod: selection.pod,
    truths: at ? new Map() : faults.truths, met: metBy(at ? [] : faults.lasting().filter(isNet)),
  };
  return (
    <div class="cluster">
      <Summary store={store} faults={faults} at={at} />
      <div class="bars">
        <Toolbar store={store} filter={filter} setFilter={setFilter} valid={matches !== undefined} by={by} setBy={setBy} />
        <Scrubber store={store} at={at} report={report} />
      </div>
      <div class="stage">
        <Picture store={store} scene={scene} look={look} selection={selection} select={select} />
        <Details guide={guide} store={store} faults={faults} scene={scene} selection={selection} actions={at ? undefined : actions} report={report} />
      </div>
      <Legend store={store} matches={look.matches} />
    </div>
  );
}

/** metBy returns which pods faults of the network meet; undefined if there are no such faults. */
function metBy(faults: Injection[]): Look["met"] {
  return faults.length > 0 ? (pod) => meeting(faults, { ...pod, kind: "Pod" }).length > 0 : undefined;
}

/** tries are what a new user may do, with the command that does it. */
const tries: [says: Plain, command: string][] = [
  ["runSomething", "kubectl create deployment web --image=nginx --replicas=12"],
  ["replaceItsPods", "kubectl set image deployment/web nginx=nginx:2"],
  ["loseANode", "minikcm fault node crash node-1 --for 5m"],
  ["loadAShop", "minikcm sample shop"],
  ["seeWhy", "minikcm why deployment/web"],
];

/** Summary says in a sentence how the cluster is, and what to look at. */
function Summary({ store, faults, at }: { store: Store; faults: Faults; at: number }) {
  if (!store.nodes.complete || !store.pods.complete) return <p class="headline dim">{say("readingTheCluster")}</p>;
  const h = headlineOf(store.nodes.rows.values(), store.pods.rows.values(), at ? new Map() : faults.truths, at ? 0 : faults.lasting().length);
  return (
    <div class={`headline ${h.tone}`}>
      <b class={`tone ${h.tone}`}>{h.says}</b>
      {h.problems.slice(0, shownProblems).map((p) => (
        <span key={`${p.ref.namespace}/${p.name}`}>
          <ObjectLink of={p.ref}>{p.name}</ObjectLink> {p.says}
        </span>
      ))}
      {h.problems.length > shownProblems && <span class="dim">{say("andMore", { n: h.problems.length - shownProblems })}</span>}
    </div>
  );
}

/** Tries are shown while nothing runs. */
function Tries({ guide }: { guide: TourGuide }) {
  return (
    <section aria-label={say("whatToTry")}>
      <h2>{say("nothingRunsYetTry")}</h2>
      {tries.map(([says, command]) => (
        <div key={says} class="try">
          <p>{say(says)}</p>
          <Command text={command} />
        </div>
      ))}
      <p class="dim">
        {sentence("orCreate", { create: `+ ${say("create")}`, scenarios: <a href="#scenarios">{say("scenariosLink")}</a> })}
      </p>
      <TourButton guide={guide} />
    </section>
  );
}

function Toolbar(p: { store: Store; filter: Filter; setFilter: (f: Filter) => void; valid: boolean; by: Look["by"]; setBy: (by: Look["by"]) => void }) {
  const namespaces = [...new Set([...p.store.pods.rows.values()].map((r) => r.namespace))].sort();
  const change = (part: Partial<Filter>) => p.setFilter({ ...p.filter, ...part });
  return (
    <form class="toolbar" onSubmit={(e) => e.preventDefault()}>
      <label>
        {say("namespace")}{" "}
        <select value={p.filter.namespace} onChange={(e) => change({ namespace: e.currentTarget.value })}>
          <option value="">{say("allNamespaces")}</option>
          {namespaces.map((n) => (
            <option key={n}>{n}</option>
          ))}
        </select>
      </label>
      <label>
        {say("labels")}{" "}
        <input value={p.filter.labels} placeholder="app=web,tier in (a,b)" aria-invalid={!p.valid} onInput={(e) => change({ labels: e.currentTarget.value })} />
      </label>
      <label>
        {say("owner")}{" "}<input value={p.filter.owner} placeholder="ReplicaSet/web" onInput={(e) => change({ owner: e.currentTarget.value })} />
      </label>
      <label>
        {say("colours")}{" "}
        <select value={p.by} onChange={(e) => p.setBy(e.currentTarget.value as Look["by"])}>
          <option value="phase">{say("byPhase")}</option>
          <option value="owner">{say("byOwner")}</option>
        </select>
      </label>
      {!p.valid && <span role="alert">{say("notALabelSelector")}</span>}
      {p.store.at === 0 && (
        <button type="button" class="add-nodes" onClick={() => openCreate("formNodes")}>
          {say("addNodes")}
        </button>
      )}
    </form>
  );
}

function Legend({ store, matches }: { store: Store; matches: (p: PodRow) => boolean }) {
  const counts = Object.fromEntries(phases.map((p) => [p, 0])) as Record<string, number>;
  for (const pod of store.pods.rows.values()) if (matches(pod)) counts[pod.phase]!++;
  return (
    <ul class="legend" aria-label={say("podsByPhase")}>
      <li>
        {say("nodesAndPods", { nodes: store.nodes.rows.size, pods: store.pods.rows.size })}
      </li>
      {phases.map((p) => (
        <li key={p}>
          <span class={`swatch ${p}`} /> {say(`phase_${p}`)} <b data-phase={p}>{counts[p]}</b>
        </li>
      ))}
    </ul>
  );
}

interface DetailsProps {
  guide: TourGuide;
  store: Store;
  faults: Faults;
  scene: Scene;
  selection: Selection;
  /** actions are undefined where the cluster is shown as it was: the past cannot be changed. */
  actions: Actions | undefined;
  report: (error: unknown) => void;
}

function Details({ guide, store, faults, scene, selection, actions, report }: DetailsProps) {
  const pod = store.pods.rows.get(selection.pod);
  const node = [...store.nodes.rows.values()].find((n) => n.name === (pod?.node || selection.node));
  return (
    <aside aria-live="polite" aria-label={say("selected")}>
      {!pod && !node && actions && store.pods.complete && store.pods.rows.size === 0 && <Tries guide={guide} />}
      {!pod && !node && !actions && <Owners store={store} />}
      {!pod && !node && <p class="dim">{say("selectANodeOr")}</p>}
      {pod && <PodDetails pod={pod} faults={faults} actions={actions} report={report} />}
      {node && <NodeDetails node={node} faults={faults} use={scene.use(node.name)} actions={actions} report={report} />}
    </aside>
  );
}

function PodDetails({ pod, faults, actions, report }: { pod: PodRow; faults: Faults; actions: Actions | undefined; report: (error: unknown) => void }) {
  return (
    <section>
      <h2>
        <ObjectLink of={podRef(pod)}>{pod.name}</ObjectLink>
      </h2>
      <dl>
        <dt>{say("namespace")}</dt>
        <dd>{pod.namespace}</dd>
        <dt>{say("status")}</dt>
        <dd>{statusWord(pod)}</dd>
        <dt>{say("owner")}</dt>
        <dd>{pod.owner ? <NamedLink named={pod.owner} namespace={pod.namespace} /> : say("none")}</dd>
        <dt>{say("restarts")}</dt>
        <dd>{pod.restarts}</dd>
        <dt>{say("requests")}</dt>
        <dd>
          {say("cpuAndMemory", { cpu: cpu(pod.cpu), memory: bytes(pod.memory) })}
        </dd>
        <dt>{say("labels")}</dt>
        <dd>{Object.entries(pod.labels).map(([k, v]) => `${k}=${v}`).join(", ") || say("none")}</dd>
      </dl>
      <p>
        <button type="button" onClick={() => go("why", { resource: "pods", namespace: pod.namespace, name: pod.name })}>
          {say("why")}
        </button>{" "}
        {actions && (
          <button type="button" onClick={() => void actions.deletePod(pod).catch(report)}>
            {say("deletePod")}
          </button>
        )}
      </p>
      {actions && <Lasting faults={[...concerning(faults.items, { pod }), ...meeting(faults.items, { ...pod, kind: "Pod" })]} stop={(id) => actions.stop(id)} report={report} />}
      {actions && faults.known && <BreakMenu of={{ ...pod, kind: "Pod" }} pod={pod} actions={actions} report={report} />}
    </section>
  );
}

/** usageEvery is how often the metrics API has other values, in milliseconds of a clock that runs as the machine's does. */
const usageEvery = 15_000;

/** Usage is what a node uses now, by the metrics API, as "kubectl top node" shows it. Nothing, where it has no metrics. */
function Usage({ node }: { node: string }) {
  const [usage, set] = useState<{ cpu: string; memory: string }>();
  useEffect(() => {
    set(undefined);
    const end = new AbortController();
    const read = () => getJSON<{ usage: { cpu: string; memory: string } }>(`/apis/metrics.k8s.io/v1beta1/nodes/${node}`, end.signal).then((m) => set(m.usage), () => {});
    void read();
    const timer = setInterval(read, usageEvery);
    return () => {
      end.abort();
      clearInterval(timer);
    };
  }, [node]);
  if (!usage) return null;
  return (
    <>
      <dt>{say("usedNow")}</dt>
      <dd>{say("cpuAndMemory", { cpu: cpu(quantity(usage.cpu)), memory: bytes(quantity(usage.memory)) })}</dd>
    </>
  );
}

function NodeDetails(p: { node: NodeRow; faults: Faults; use: ReturnType<Scene["use"]>; actions: Actions | undefined; report: (error: unknown) => void }) {
  const { node, faults, use, actions } = p;
  const truths = actions ? (faults.truths.get(node.name) ?? []) : [];
  return (
    <section>
      <h2>
        <ObjectLink of={nodeRef(node.name)}>{node.name}</ObjectLink>
      </h2>
      <dl>
        <dt>{say("status")}</dt>
        <dd>
          {list([say(node.ready ? "nodeReady" : "nodeNotReady"), !node.schedulable && say("cordoned")])}
        </dd>
        {truths.length > 0 && (
          <>
            <dt>{say("inTruth")}</dt>
            <dd class="bad">{list(truths.map((t) => belief(t, node.ready)))}</dd>
          </>
        )}
        <dt>{say("pods")}</dt>
        <dd>
          {say("ofTotal", { n: use.pods, all: node.pods })}
        </dd>
        <dt>{say("cpu")}</dt>
        <dd>
          {say("requestedOf", { part: cpu(use.cpu), all: cpu(node.cpu) })}
        </dd>
        <dt>{say("memory")}</dt>
        <dd>
          {say("requestedOf", { part: bytes(use.memory), all: bytes(node.memory) })}
        </dd>
        {actions && <Usage node={node.name} />}
      </dl>
      <p>
        <button type="button" onClick={() => go("why", { resource: "nodes", name: node.name })}>
          {say("why")}
        </button>
      </p>
      {actions && <Lasting faults={[...faults.items.filter((f) => truths.some((t) => t.fault === f.id)), ...meeting(faults.items, { kind: "Node", namespace: "", name: node.name })]} stop={(id) => actions.stop(id)} report={p.report} />}
      {actions && faults.known && <BreakMenu of={{ kind: "Node", namespace: "", name: node.name }} actions={actions} report={p.report} />}
    </section>
  );
}
