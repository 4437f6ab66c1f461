import { useEffect, useState } from "preact/hooks";
import { useChanges } from "./changes.ts";
import type { Clock } from "./clock.ts";
import { type Breakpoint, type Debugging, type DebugStage, type Passed, type Read, requestsOf, type Stop } from "./debugger.ts";
import { NamedLink } from "./object/link.tsx";
import { go } from "./route.ts";
import { objectName, writer } from "./writes.ts";
import { duration } from "./words.ts";

type Report = (error: unknown) => void;

/** stations are the stages in their order, with what is there in client-go's words. */
const stations: [stage: DebugStage, title: string, code: string][] = [
  ["event", "Watch event", "Reflector.ListAndWatch"],
  ["queue", "Informer", "RealFIFO → Indexer"],
  ["handler", "Handler", "OnAdd, OnUpdate, OnDelete"],
  ["key", "Work queue", "workqueue.Get"],
  ["decision", "Reconcile", "snapshot, decision, plan"],
  ["write", "Write", "rest.Request.Do"],
];
/** slow are the intervals between steps in slow motion, in milliseconds of this machine. */
const slow: Record<string, number> = { "a step every 0.3 s": 300, "every second": 1000, "every 3 s": 3000 };

/** DebugButton begins to debug. */
export function DebugButton({ debugging, clock, report }: { debugging: Debugging; clock: Clock; report: Report }) {
  useChanges(debugging);
  useChanges(clock);
  if (!clock.controllable || debugging.on) return null;
  return (
    <button type="button" class="primary" title="Hold time and work at each stage, from a watch event to a write, and step through them" onClick={() => debugging.start(report)}>
      Debug the loops
    </button>
  );
}

/** DebugView shows where the cluster's work waits, and lets it go on stage by stage. */
export function DebugView({ debugging, report }: { debugging: Debugging; report: Report }) {
  useChanges(debugging);
  const [every, setEvery] = useState("");
  const [others, setOthers] = useState(false);
  const { state } = debugging;
  const step = () => void (others ? debugging.step() : debugging.stepThread()).catch(report);
  useEffect(() => {
    if (!every) return;
    const timer = setInterval(step, slow[every]);
    return () => clearInterval(timer);
  }, [every, others, debugging]);
  if (!debugging.on) return null;
  return (
    <section class="debugger" aria-label="Debugger">
      <h2>Debugger</h2>
      <div class="toolbar">
        <button type="button" class="primary" disabled={debugging.busy} onClick={step} title="Let the work go on to its next stop (.)">
          {state?.next ? "Step" : state?.nextTimer ? "Step to the next timer" : "Step"}
        </button>
        <label title="Stop also at work that does not follow from the write that is followed">
          <input type="checkbox" checked={others} onChange={(e) => setOthers(e.currentTarget.checked)} /> stop at other work, too
        </label>
        <label>
          Slow motion{" "}
          <select value={every} onChange={(e) => setEvery(e.currentTarget.value)}>
            <option value="">off</option>
            {Object.keys(slow).map((s) => (
              <option key={s}>{s}</option>
            ))}
          </select>
        </label>
        <button type="button" onClick={() => debugging.stop()} title="The work goes on as before">
          Let it run
        </button>
      </div>
      <RunTo debugging={debugging} report={report} />
      <Stations stop={state?.next} followed={!!state?.next && debugging.thread.has(state.next)} />
      {state?.next ? <Current stop={state.next} waiting={state.waiting} /> : <Idle debugging={debugging} />}
      {debugging.why && <p role="status">{debugging.why}</p>}
      <Trail debugging={debugging} />
    </section>
  );
}

function Idle({ debugging }: { debugging: Debugging }) {
  const { state } = debugging;
  if (!state) return <p class="dim">The work that is under way ends…</p>;
  return (
    <p class="says">
      Nothing waits. Change something, for example <code>kubectl scale deployment web --replicas 3</code>
      {state.nextTimer && <>, or step to the next timer, in {duration(Date.parse(state.nextTimer) - Date.parse(state.now))} of the cluster's time</>}.
    </p>
  );
}

/** Stations draws the stages, with a token where the work waits. */
function Stations({ stop, followed }: { stop?: Stop; followed: boolean }) {
  const at = stop?.stage === "failure" ? "key" : stop?.stage;
  return (
    <ol class="stations stages" aria-label="Stages">
      {stations.map(([stage, title, code]) => (
        <li key={stage} class={`station ${stage === at ? "here" : ""} ${stage === at && followed ? "followed" : ""}`} aria-current={stage === at ? "step" : undefined}>
          <h3>{title}</h3>
          <code>{code}</code>
        </li>
      ))}
    </ol>
  );
}

/** Current says where the work waits, and why. */
function Current({ stop, waiting }: { stop: Stop; waiting: number }) {
  return (
    <div class="current" role="status" aria-label="Next stop">
      <p class="says">{stop.says}</p>
      <dl>
        <dt>Code</dt>
        <dd>
          <code>{stop.code}</code>
          {stop.controller && stop.stage !== "work" && (
            <>
              {" of "}
              <a href={`#loop?controller=${encodeURIComponent(stop.controller)}`} onClick={(e) => { e.preventDefault(); go("loop", { controller: stop.controller! }); }}>{stop.controller}</a>
            </>
          )}
        </dd>
        {stop.object?.revision && (
          <>
            <dt>Object</dt>
            <dd><ReadOf read={stop.object} /></dd>
          </>
        )}
        {stop.reads && (
          <>
            <dt>It read</dt>
            <dd>
              <ul class="reads">
                {stop.reads.map((r, i) => (
                  <li key={i}><ReadOf read={r} /></li>
                ))}
              </ul>
            </dd>
          </>
        )}
        {!!stop.causes?.length && (
          <>
            <dt>Because of</dt>
            <dd>revision{stop.causes.length > 1 ? "s" : ""} {stop.causes.join(", ")}</dd>
          </>
        )}
        {stop.failures && (
          <>
            <dt>Failures</dt>
            <dd class="bad">{stop.failures}: {stop.error}</dd>
          </>
        )}
        <dt>Waiting</dt>
        <dd>
          {waiting} piece{waiting === 1 ? "" : "s"} of work
          {stop.behind ? `, and ${stop.behind} more event${stop.behind === 1 ? "" : "s"} of this watch behind it` : ""}
          {stop.merged ? `; ${stop.merged} key${stop.merged === 1 ? "" : "s"} joined with what waits already` : ""}
        </dd>
      </dl>
    </div>
  );
}

function ReadOf({ read }: { read: Read }) {
  if (!read.name) return <span class="dim">the cache of {read.kind}s at revision {read.revision}</span>;
  return (
    <>
      <NamedLink named={`${read.kind}/${read.name}`} namespace={read.namespace ?? ""} /> <span class="dim">at revision {read.revision}</span>
    </>
  );
}

/** RunTo is the form of a breakpoint. */
function RunTo({ debugging, report }: { debugging: Debugging; report: Report }) {
  const [b, setB] = useState<Breakpoint>({});
  const set = (part: Breakpoint) => setB((old) => ({ ...old, ...part }));
  return (
    <form
      class="toolbar" aria-label="Breakpoint"
      onSubmit={(e) => {
        e.preventDefault();
        void debugging.step(Object.fromEntries(Object.entries(b).filter(([, v]) => v)) as Breakpoint).catch(report);
      }}
    >
      Run to{" "}
      <input aria-label="Controller" placeholder="controller" size={22} value={b.controller ?? ""} onInput={(e) => set({ controller: e.currentTarget.value })} />
      <input aria-label="Key" placeholder="namespace/name" size={16} value={b.key ?? ""} onInput={(e) => set({ key: e.currentTarget.value })} />
      <select aria-label="Verb" value={b.verb ?? ""} onChange={(e) => set({ verb: e.currentTarget.value })}>
        <option value="">any stop</option>
        {["create", "update", "patch", "delete"].map((v) => (
          <option key={v} value={v}>{v}</option>
        ))}
      </select>
      <input aria-label="Kind" placeholder="kind, as Pod" size={12} value={b.kind ?? ""} onInput={(e) => set({ kind: e.currentTarget.value })} />
      <label>
        <input type="checkbox" checked={!!b.error} onChange={(e) => set({ error: e.currentTarget.checked })} /> a failure
      </label>
      <button disabled={debugging.busy}>Run to it</button>
    </form>
  );
}

/** Trail lists what was passed, the newest first. */
function Trail({ debugging }: { debugging: Debugging }) {
  if (debugging.passed.length === 0) return null;
  return (
    <table class="rows trail" aria-label="Passed">
      <tbody>
        {debugging.passed.slice(-100).reverse().map((p) => (
          <tr key={p.number} class={p.followed ? "followed" : ""}>
            <td>{p.number}</td>
            <td>
              <code>{p.stop ? p.stop.code : p.timer ? "timer" : "writes"}</code>
            </td>
            <td class={p.stop?.error ? "bad" : ""}>
              {p.stop?.says ?? (p.timer ? "The clock went on to its next timer." : "Written meanwhile.")}
              <Writes passed={p} debugging={debugging} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Writes({ passed, debugging }: { passed: Passed; debugging: Debugging }) {
  if (!passed.writes?.length) return null;
  return (
    <ul class="writes">
      {passed.writes.map((w) => (
        <li key={w.revision}>
          {w.verb} <NamedLink named={objectName(w)} namespace={w.namespace ?? ""} />{w.subresource ? ` (${w.subresource})` : ""} by {writer(w)} <span class="dim">revision {w.revision}</span>{" "}
          {requestsOf(passed).includes(w) && (
            <button type="button" onClick={() => debugging.follow([w])}>
              Follow
            </button>
          )}
        </li>
      ))}
    </ul>
  );
}
