import { useEffect, useState } from "preact/hooks";
import { stopText } from "./stoptext.ts";
import { useChanges } from "./changes.ts";
import type { Clock } from "./clock.ts";
import { type Breakpoint, type Debugging, type DebugStage, type Passed, type Read, requestsOf, type Stop } from "./debugger.ts";
import { NamedLink } from "./object/link.tsx";
import { go } from "./route.ts";
import { objectName, writer } from "./writes.ts";
import { duration } from "./words.ts";
import { type Plain, list, say, sentence } from "./language.ts";

type Report = (error: unknown) => void;

/** stations are the stages in their order, with what is there in client-go's words. */
const stations: [stage: DebugStage, title: Plain, code: string][] = [
  ["event", "stageEvent", "Reflector.ListAndWatch"],
  ["queue", "stageInformer", "RealFIFO → Indexer"],
  ["handler", "stageHandler", "OnAdd, OnUpdate, OnDelete"],
  ["key", "workQueue", "workqueue.Get"],
  ["decision", "reconcile", "Reconcile"],
  ["write", "write", "rest.Request.Do"],
];
/** slow are the intervals between steps in slow motion, in milliseconds of this machine. */
const slow = [300, 1000, 3000, 10_000];
/** travel is the share of an interval for which the token travels, and longest its most, in milliseconds. */
const travel = 0.6;
const longest = 3000;

/** DebugButton begins to debug. */
export function DebugButton({ debugging, clock, report }: { debugging: Debugging; clock: Clock; report: Report }) {
  useChanges(debugging);
  useChanges(clock);
  if (!clock.controllable || debugging.on) return null;
  return (
    <button type="button" class="primary" title={say("holdTimeAndWork")} onClick={() => debugging.start(report)}>
      {say("debugTheLoops")}
    </button>
  );
}

/** DebugView shows where the cluster's work waits, and lets it go on stage by stage. */
export function DebugView({ debugging, report }: { debugging: Debugging; report: Report }) {
  useChanges(debugging);
  const [every, setEvery] = useState(0);
  const [others, setOthers] = useState(false);
  const { state } = debugging;
  const step = () => void (others ? debugging.step() : debugging.stepThread()).catch(report);
  useEffect(() => {
    if (!every) return;
    const timer = setInterval(step, every);
    return () => clearInterval(timer);
  }, [every, others, debugging]);
  if (!debugging.on) return null;
  return (
    <section class="debugger" aria-label={say("debugger")}>
      <h2>{say("debugger")}</h2>
      <div class="toolbar">
        <button type="button" class="primary" disabled={debugging.busy} onClick={step} title={say("letTheWorkGo")}>
          {!state?.next && state?.nextTimer ? say("stepToNextTimer") : say("step")}
        </button>
        <label title={say("stopAlsoAtWork")}>
          <input type="checkbox" checked={others} onChange={(e) => setOthers(e.currentTarget.checked)} />{" "}{say("stopAtOtherWork")}
        </label>
        <label>
          {say("slowMotion")}{" "}
          <select value={every} onChange={(e) => setEvery(Number(e.currentTarget.value))}>
            <option value={0}>{say("off")}</option>
            {slow.map((ms) => (
              <option key={ms} value={ms}>
                {say("aStepEvery", { n: ms / 1000 })}
              </option>
            ))}
          </select>
        </label>
        <button type="button" onClick={() => debugging.stop()} title={say("theWorkGoesOn")}>
          {say("letItRun")}
        </button>
      </div>
      <RunTo debugging={debugging} report={report} />
      <Stations stop={state?.next} followed={!!state?.next && debugging.thread.has(state.next)} travels={Math.min(longest, (every || 500) * travel)} />
      {state?.next ? <Current stop={state.next} waiting={state.waiting} /> : <Idle debugging={debugging} />}
      {debugging.why && <p role="status">{debugging.why}</p>}
      <Trail debugging={debugging} />
    </section>
  );
}

function Idle({ debugging }: { debugging: Debugging }) {
  const { state } = debugging;
  const example = <code>kubectl scale deployment web --replicas 3</code>;
  if (!state) return <p class="dim">{say("theWorkThatIs")}</p>;
  return (
    <p class="says">
      {state.nextTimer
        ? sentence("nothingWaitsTimer", { command: example, time: duration(Date.parse(state.nextTimer) - Date.parse(state.now)) })
        : sentence("nothingWaits", { command: example })}
    </p>
  );
}

/** Stations draws the stages, and a token that travels to where the work waits: the object of an event, or a key. */
function Stations({ stop, followed, travels }: { stop?: Stop; followed: boolean; travels: number }) {
  const at = stop?.stage === "failure" ? "key" : stop?.stage;
  const index = stations.findIndex(([stage]) => stage === at);
  const name = stop?.key?.split("/").at(-1) ?? stop?.object?.name;
  return (
    <ol class="stations stages" aria-label={say("stages")}>
      {stations.map(([stage, title, code]) => (
        <li key={stage} class={`station ${stage === at ? "here" : ""} ${stage === at && followed ? "followed" : ""}`} aria-current={stage === at ? "step" : undefined}>
          <h3>{say(title)}</h3>
          <code>{code}</code>
        </li>
      ))}
      {stop && index >= 0 && (
        <li class={`token ${followed ? "followed" : ""}`} aria-hidden style={{ "--at": index, "--travel": `${travels}ms` }}>
          {name}
        </li>
      )}
    </ol>
  );
}

/** Current says where the work waits, and why. */
function Current({ stop, waiting }: { stop: Stop; waiting: number }) {
  return (
    <div class="current" role="status" aria-label={say("nextStop")}>
      <p class="says">{stopText(stop)}</p>
      <dl>
        <dt>{say("code")}</dt>
        <dd>
          {stop.controller && stop.stage !== "work"
            ? sentence("codeOf", {
                code: <code>{stop.code}</code>,
                controller: <a href={`#loop?controller=${encodeURIComponent(stop.controller)}`} onClick={(e) => { e.preventDefault(); go("loop", { controller: stop.controller! }); }}>{stop.controller}</a>,
              })
            : <code>{stop.code}</code>}
        </dd>
        {stop.object?.revision && (
          <>
            <dt>{say("object")}</dt>
            <dd><ReadOf read={stop.object} /></dd>
          </>
        )}
        {stop.reads && (
          <>
            <dt>{say("itRead")}</dt>
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
            <dt>{say("becauseOf")}</dt>
            <dd>{say("revisionsList", { n: stop.causes.length, list: stop.causes.join(", ") })}</dd>
          </>
        )}
        {stop.failures && (
          <>
            <dt>{say("failures")}</dt>
            <dd class="bad">{stop.failures}: {stop.error}</dd>
          </>
        )}
        <dt>{say("waiting")}</dt>
        <dd>
          {list([say("piecesOfWork", { n: waiting }), !!stop.behind && say("eventsBehind", { n: stop.behind }), !!stop.merged && say("keysJoined", { n: stop.merged })])}
        </dd>
      </dl>
    </div>
  );
}

function ReadOf({ read }: { read: Read }) {
  if (!read.name) return <span class="dim">{say("cacheAt", { kind: read.kind ?? "", revision: read.revision ?? "" })}</span>;
  return (
    <>
      <NamedLink named={`${read.kind}/${read.name}`} namespace={read.namespace ?? ""} /> <span class="dim">{say("atRevision", { revision: read.revision ?? "" })}</span>
    </>
  );
}

/** RunTo is the form of a breakpoint. */
function RunTo({ debugging, report }: { debugging: Debugging; report: Report }) {
  const [b, setB] = useState<Breakpoint>({});
  const set = (part: Breakpoint) => setB((old) => ({ ...old, ...part }));
  return (
    <form
      class="toolbar" aria-label={say("breakpoint")}
      onSubmit={(e) => {
        e.preventDefault();
        void debugging.step(Object.fromEntries(Object.entries(b).filter(([, v]) => v)) as Breakpoint).catch(report);
      }}
    >
      {say("runTo")}{" "}
      <input aria-label={say("controller")} placeholder={say("placeholderController")} size={22} value={b.controller ?? ""} onInput={(e) => set({ controller: e.currentTarget.value })} />
      <input aria-label={say("key")} placeholder="namespace/name" size={16} value={b.key ?? ""} onInput={(e) => set({ key: e.currentTarget.value })} />
      <select aria-label={say("verb")} value={b.verb ?? ""} onChange={(e) => set({ verb: e.currentTarget.value })}>
        <option value="">{say("anyStop")}</option>
        {["create", "update", "patch", "delete"].map((v) => (
          <option key={v} value={v}>{v}</option>
        ))}
      </select>
      <input aria-label={say("kind")} placeholder={say("kindAsPod")} size={12} value={b.kind ?? ""} onInput={(e) => set({ kind: e.currentTarget.value })} />
      <label>
        <input type="checkbox" checked={!!b.error} onChange={(e) => set({ error: e.currentTarget.checked })} />{" "}{say("aFailure")}
      </label>
      <button disabled={debugging.busy}>{say("runToIt")}</button>
    </form>
  );
}

/** Trail lists what was passed, the newest first. */
function Trail({ debugging }: { debugging: Debugging }) {
  if (debugging.passed.length === 0) return null;
  return (
    <table class="rows trail" aria-label={say("passed")}>
      <tbody>
        {debugging.passed.slice(-100).reverse().map((p) => (
          <tr key={p.number} class={p.followed ? "followed" : ""}>
            <td>{p.number}</td>
            <td>
              <code>{p.stop ? p.stop.code : p.timer ? say("timerWord") : say("writesWord")}</code>
            </td>
            <td class={p.stop?.error ? "bad" : ""}>
              {p.stop ? stopText(p.stop) : (p.timer ? say("clockWentOn") : say("writtenMeanwhile"))}
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
          {sentence("wroteWhat", {
            writer: writer(w), verb: w.verb,
            object: <><NamedLink named={objectName(w)} namespace={w.namespace ?? ""} />{w.subresource ? ` (${w.subresource})` : ""}</>,
          })}{" "}
          <span class="dim">{say("revisionN", { revision: String(w.revision) })}</span>{" "}
          {requestsOf(passed).includes(w) && (
            <button type="button" onClick={() => debugging.follow([w])}>
              {say("follow")}
            </button>
          )}
        </li>
      ))}
    </ul>
  );
}
