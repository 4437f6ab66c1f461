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
import { say } from "./language.ts";

type Report = (error: unknown) => void;

/** FaultsView breaks things, lists what is broken, and records what the user does. */
export function FaultsView({ store, faults: all, actions, report }: { store: Store; faults: Faults; actions: Actions; report: Report }) {
  useChanges(all);
  const faults = all.known ? all.items : undefined;
  return (
    <div class="faults scroll">
      <section aria-label={say("breakSomething")}>
        <h2>{say("breakSomething")}</h2>
        <NodeForm store={store} actions={actions} report={report} />
        <ServerForm actions={actions} report={report} />
        <NetForm actions={actions} report={report} />
        <p class="dim">{say("podsWorkloadsAndServices")}</p>
      </section>
      <RecordingPanel actions={actions} report={report} />
      <section aria-label={say("faults")}>
        <h2>{say("faults")}</h2>
        {faults?.length === 0 && <p class="dim">{say("nothingWasBrokenYet")}</p>}
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
        {say("node")}{" "}
        <select value={node} onChange={(e) => choose(e.currentTarget.value)}>
          {names.map((n) => (
            <option key={n}>{n}</option>
          ))}
        </select>
      </label>
      <FaultMenu what={say("theNode")} actions={nodeActions} report={report} act={(a, d) => actions.inject(lasting({ nodes: { action: a.name, names: [node] } }, d), a.lasts)} />
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
        {say("networkFrom")}{" "}<input name="from" size={14} value={from} title={say("appWebDeployWeb")} onInput={(e) => setFrom(e.currentTarget.value)} />
      </label>
      <label>
        {say("toEnd")}{" "}<input name="to" size={14} value={to} title={say("theOtherEndsFor")} onInput={(e) => setTo(e.currentTarget.value)} />
      </label>
      <label>
        {say("namespace")}{" "}<input name="namespace" size={10} value={namespace} onInput={(e) => setNamespace(e.currentTarget.value.trim())} />
      </label>
      <FaultMenu what={say("theNetwork")} actions={netActions} report={report} command={(a, d, v) => faultCommand(fault(a, d, v))} act={(a, d, v) => actions.inject(fault(a, d, v), true)} />
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
    <form class="toolbar" aria-label={say("breakTheApiServer")} onSubmit={submit}>
      <label>
        {say("apiServer")}{" "}
        <select value={name} onChange={(e) => setName(e.currentTarget.value)}>
          {serverActions.map((a) => (
            <option key={a.name} value={a.name}>
              {say(a.label)}
            </option>
          ))}
        </select>
      </label>
      {name === "error" && (
        <label>
          {say("code")}{" "}<input type="number" min={400} max={599} required value={code} onInput={(e) => setCode(e.currentTarget.value)} />
        </label>
      )}
      {name === "latency" && (
        <label>
          {say("delay")}{" "}<input pattern="([0-9.]+(ms|s|m))+" required size={6} value={delay} onInput={(e) => setDelay(e.currentTarget.value)} />
        </label>
      )}
      <label>
        {say("requestsIn")}{" "}<input type="number" min={1} max={100} required value={percent} onInput={(e) => setPercent(e.currentTarget.value)} />
      </label>
      <Duration value={length} set={setLength} />
      <button type="submit">{say("breakButton")}</button>
    </form>
  );
}

function FaultTable({ faults, stop }: { faults: Injection[]; stop: (id: string) => void }) {
  return (
    <table class="rows">
      <thead>
        <tr>
          <th>{say("fault")}</th>
          <th>{say("state")}</th>
          <th>{say("since")}</th>
          <th>{say("until")}</th>
          <th>{say("whatHappened")}</th>
          <th>{say("stopButton")}</th>
        </tr>
      </thead>
      <tbody>
        {faults.map((f) => (
          <tr key={f.id}>
            <td>
              <b>{f.id}</b> {f.title}
            </td>
            <td class={f.state === "Failed" ? "bad" : ""}>{say(`state_${f.state}`)}</td>
            <td>{clockTime(Date.parse(f.since))}</td>
            <td>{f.until ? clockTime(Date.parse(f.until)) : ""}</td>
            <td>
              {f.error ? <span class="bad">{f.error}</span> : f.notes?.at(-1)?.text}
              {f.user && f.notes === undefined && <span class="dim">{say("byUser", { user: f.user })}</span>}
            </td>
            <td>
              {!isDone(f) && (
                <button type="button" aria-label={say("stopWhat", { what: f.id })} onClick={() => stop(f.id)}>
                  {say("stopButton")}
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
    <section aria-label={say("recording")}>
      <h2>{say("saveWhatIDo")}</h2>
      {recording ? (
        <>
          <p>
            {say("recordingSince", { time: clockTime(recording.start.at), n: recording.start.objects.length })}{" "}
            <button type="button" onClick={() => void save().catch(report)}>
              {say("saveAsScenario")}
            </button>{" "}
            <button type="button" onClick={() => actions.discard()}>
              {say("discard")}
            </button>
          </p>
          <ol aria-label={say("recordedSteps")}>
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
            {say("record")}
          </button>{" "}
          <span class="dim">
            {actions.preparing ? say("readingTheCluster") : say("keepsTheCluster")}
          </span>
        </p>
      )}
    </section>
  );
}

/** says describes a recorded step. */
function says(d: Done): string {
  if (d.kind === "advance") return say("timeJumps", { by: duration(d.ms) });
  if (d.kind === "delete") return say("podIsDeleted", { pod: `${d.namespace}/${d.name}` });
  if (d.kind === "step") return d.says;
  const { for: length, ...parts } = d.fault;
  const [part, how] = Object.entries(parts)[0] as [string, { action: string; names?: string[] }];
  const fault = [part, how.action, how.names?.join(", ")].filter(Boolean).join(" ");
  return length ? say("faultFor", { fault, length }) : fault;
}
