import { useState } from "preact/hooks";
import { useChanges } from "./changes.ts";
import type { Actions } from "./actions.ts";
import { download } from "./download.ts";
import { Duration, FaultMenu } from "./faultmenu.tsx";
import { type Action, type FaultDocument, type Faults, type Injection, isDone, lasting, nodeActions, serverActions } from "./faults.ts";
import { naturally } from "./layout.ts";
import { faultCommand, netActions } from "./netfaults.ts";
import type { Done } from "./recording.ts";
import { type Store, useTopics } from "./store.ts";
import { clockTime, duration } from "./words.ts";

type Report = (error: unknown) => void;

/** FaultsView breaks things, lists what is broken, and records what the user does. */
export function FaultsView({ store, faults: all, actions, report }: { store: Store; faults: Faults; actions: Actions; report: Report }) {
  useChanges(all);
  const faults = all.known ? all.items : undefined;
  return (
    <div class="faults scroll">
      <section aria-label="Break something">
        <h2>Break something</h2>
        <NodeForm store={store} actions={actions} report={report} />
        <ServerForm actions={actions} report={report} />
        <NetForm actions={actions} report={report} />
        <p class="dim">Pods, workloads and Services are broken in their panels: click their names. “minikcm fault” has more faults than these menus.</p>
      </section>
      <RecordingPanel actions={actions} report={report} />
      <section aria-label="Faults">
        <h2>Faults</h2>
        {faults?.length === 0 && <p class="dim">Nothing was broken yet.</p>}
        {faults && faults.length > 0 && <FaultTable faults={faults} stop={(id) => void actions.stop(id).catch(report)} />}
      </section>
    </div>
  );
}

function NodeForm({ store, actions, report }: { store: Store; actions: Actions; report: Report }) {
  useTopics([store.nodes], 1000);
  const [chosen, choose] = useState("");
  const names = [...store.nodes.rows.values()].map((n) => n.name).sort(naturally);
  const node = names.includes(chosen) ? chosen : (names[0] ?? "");
  return (
    <div class="toolbar">
      <label>
        Node{" "}
        <select value={node} onChange={(e) => choose(e.currentTarget.value)}>
          {names.map((n) => (
            <option key={n}>{n}</option>
          ))}
        </select>
      </label>
      <FaultMenu what="the node" actions={nodeActions} report={report} act={(a, d) => actions.inject(lasting({ nodes: { action: a.name, names: [node] } }, d), a.lasts)} />
    </div>
  );
}

/** NetForm breaks the network, DNS or HTTP between two ends, as “minikcm fault network” does. */
function NetForm({ actions, report }: { actions: Actions; report: Report }) {
  const [from, setFrom] = useState("*");
  const [to, setTo] = useState("*");
  const [namespace, setNamespace] = useState("default");
  const list = (text: string) => text.split(",").map((t) => t.trim()).filter(Boolean);
  const fault = (a: Action, d: string, value: string): FaultDocument => {
    const extra = a.field ? { [a.field.name]: /^(percent|code)$/.test(a.field.name) ? Number(value) : value } : {};
    const ends = a.part === "dns" ? (to.trim() === "*" ? {} : { hosts: list(to) }) : { to: list(to) };
    return lasting({ [a.part!]: { action: a.name, namespace, from: list(from), ...ends, ...extra } }, d);
  };
  return (
    <div class="toolbar">
      <label>
        Network from <input name="from" size={14} value={from} title="*, app=web, deploy/web, svc/web, pod/web-0, node/node-1, zone/a, an address; several with commas" onInput={(e) => setFrom(e.currentTarget.value)} />
      </label>
      <label>
        to <input name="to" size={14} value={to} title="The other ends; for DNS patterns of names, such as db.*" onInput={(e) => setTo(e.currentTarget.value)} />
      </label>
      <label>
        Namespace <input name="namespace" size={10} value={namespace} onInput={(e) => setNamespace(e.currentTarget.value.trim())} />
      </label>
      <FaultMenu what="the network" actions={netActions} report={report} command={(a, d, v) => faultCommand(fault(a, d, v))} act={(a, d, v) => actions.inject(fault(a, d, v), true)} />
    </div>
  );
}

function ServerForm({ actions, report }: { actions: Actions; report: Report }) {
  const [name, setName] = useState("error");
  const [percent, setPercent] = useState("20");
  const [code, setCode] = useState("503");
  const [delay, setDelay] = useState("2s");
  const [length, setLength] = useState("1m");
  const submit = (e: SubmitEvent) => {
    e.preventDefault();
    const extra = name === "error" ? { code: Number(code) } : name === "latency" ? { delay } : {};
    const fault: FaultDocument = { apiserver: { action: name, percent: Number(percent), ...extra } };
    actions.inject(lasting(fault, length), true).catch(report);
  };
  return (
    <form class="toolbar" aria-label="Break the API server" onSubmit={submit}>
      <label>
        API server{" "}
        <select value={name} onChange={(e) => setName(e.currentTarget.value)}>
          {serverActions.map((a) => (
            <option key={a.name} value={a.name}>
              {a.label}
            </option>
          ))}
        </select>
      </label>
      {name === "error" && (
        <label>
          Code <input type="number" min={400} max={599} required value={code} onInput={(e) => setCode(e.currentTarget.value)} />
        </label>
      )}
      {name === "latency" && (
        <label>
          Delay <input pattern="([0-9.]+(ms|s|m))+" required size={6} value={delay} onInput={(e) => setDelay(e.currentTarget.value)} />
        </label>
      )}
      <label>
        Requests in % <input type="number" min={1} max={100} required value={percent} onInput={(e) => setPercent(e.currentTarget.value)} />
      </label>
      <Duration value={length} set={setLength} />
      <button type="submit">Break</button>
    </form>
  );
}

function FaultTable({ faults, stop }: { faults: Injection[]; stop: (id: string) => void }) {
  return (
    <table class="rows">
      <thead>
        <tr>
          <th>Fault</th>
          <th>State</th>
          <th>Since</th>
          <th>Until</th>
          <th>What happened</th>
          <th>Stop</th>
        </tr>
      </thead>
      <tbody>
        {faults.map((f) => (
          <tr key={f.id}>
            <td>
              <b>{f.id}</b> {f.title}
            </td>
            <td class={f.state === "Failed" ? "bad" : ""}>{f.state}</td>
            <td>{clockTime(Date.parse(f.since))}</td>
            <td>{f.until ? clockTime(Date.parse(f.until)) : ""}</td>
            <td>
              {f.error ? <span class="bad">{f.error}</span> : f.notes?.at(-1)?.text}
              {f.user && f.notes === undefined && <span class="dim">by {f.user}</span>}
            </td>
            <td>
              {!isDone(f) && (
                <button type="button" aria-label={`Stop ${f.id}`} onClick={() => stop(f.id)}>
                  Stop
                </button>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** RecordingPanel begins a recording, shows it, and saves it as a scenario. */
function RecordingPanel({ actions, report }: { actions: Actions; report: Report }) {
  useChanges(actions);
  const recording = actions.recording;
  const save = async () => download("recorded.yaml", new Blob([await actions.scenario("recorded")], { type: "application/yaml" }));
  return (
    <section aria-label="Recording">
      <h2>Save what I do as a scenario</h2>
      {recording ? (
        <>
          <p>
            Recording since {clockTime(recording.start.at)}, with {recording.start.objects.length} objects.{" "}
            <button type="button" onClick={() => void save().catch(report)}>
              Save as scenario
            </button>{" "}
            <button type="button" onClick={() => actions.discard()}>
              Discard
            </button>
          </p>
          <ol aria-label="Recorded steps">
            {recording.done.map((d, i) => (
              <li key={i}>
                <span class="dim">+{duration(d.at - recording.start.at)}</span> {says(d)}
              </li>
            ))}
          </ol>
        </>
      ) : (
        <p>
          <button type="button" disabled={actions.preparing} onClick={() => void actions.record().catch(report)}>
            Record
          </button>{" "}
          <span class="dim">
            {actions.preparing ? "Reading the cluster…" : "Keeps the cluster as it is now, and the faults, changes of objects and jumps of time that you make in this page from then on."}
          </span>
        </p>
      )}
    </section>
  );
}

/** says describes a recorded step. */
function says(d: Done): string {
  if (d.kind === "advance") return `time jumps by ${duration(d.ms)}`;
  if (d.kind === "delete") return `pod ${d.namespace}/${d.name} is deleted`;
  if (d.kind === "step") return d.says;
  const { for: length, ...fault } = d.fault;
  const [part, how] = Object.entries(fault)[0] as [string, { action: string; names?: string[] }];
  return `${part} ${how.action} ${how.names?.join(", ") ?? ""}${length ? ` for ${length}` : ""}`;
}
