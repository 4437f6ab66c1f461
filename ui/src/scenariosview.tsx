import { useEffect, useState } from "preact/hooks";
import { StatusError } from "./api.ts";
import type { Clock } from "./clock.ts";
import { ReportPanel } from "./reportpanel.tsx";
import { go, type Route } from "./route.ts";
import { followRun, followRuns, isOver, listShipped, mark, progress, type Run, run, type Shipped, source, type Step, stopRun, took, type Wanted } from "./scenarios.ts";
import { TourButton } from "./tourpanel.tsx";
import type { TourGuide } from "./tours.ts";
import { clockTime, duration } from "./words.ts";
import { say, sentence } from "./language.ts";

type Report = (error: unknown) => void;

/** ScenariosView runs scenarios in this cluster: shipped ones and the user's own. */
export function ScenariosView({ route, clock, guide, report }: { guide: TourGuide; route: Route; clock: Clock; report: Report }) {
  const [shipped, setShipped] = useState<Shipped[]>([]);
  const [runs, setRuns] = useState<Run[]>();
  useEffect(() => {
    listShipped().then(setShipped, report);
    const end = new AbortController();
    followRuns(setRuns, report, end.signal);
    return () => end.abort();
  }, []);
  const chosen = route.query.get("scenario") ?? "";
  const own = route.query.has("own");
  const id = route.query.get("run") ?? (chosen || own ? "" : (runs?.[0]?.id ?? ""));
  const busy = runs?.some((r) => !isOver(r)) ?? true;
  const start = async (wanted: Wanted) => go("scenarios", { run: (await run(wanted)).id });
  const one = shipped.find((s) => s.name === chosen);
  return (
    <div class="rollouts scenarios">
      <Choices guide={guide} shipped={shipped} runs={runs ?? []} id={id} chosen={chosen} own={own} />
      <div class="scroll">
        {own ? (
          <OwnForm busy={busy} start={start} from={route.query.get("from") ?? ""} />
        ) : one ? (
          <ShippedPanel one={one} busy={busy} start={start} report={report} />
        ) : id ? (
          <RunPanel key={id} id={id} clock={clock} report={report} />
        ) : (
          <p class="dim">{say("chooseAScenarioIt")}</p>
        )}
      </div>
    </div>
  );
}

function Choices({ guide, shipped, runs, id, chosen, own }: { guide: TourGuide; shipped: Shipped[]; runs: Run[]; id: string; chosen: string; own: boolean }) {
  return (
    <div class="list" role="navigation" aria-label={say("scenarios")}>
      <p>
        <TourButton guide={guide} />
      </p>
      {runs.length > 0 && <h2>{say("runs")}</h2>}
      <ul aria-label={say("runs")}>
        {runs.map((r) => (
          <li key={r.id}>
            <button type="button" aria-pressed={r.id === id} onClick={() => go("scenarios", { run: r.id })}>
              {r.scenario} <span class={`run ${r.state}`}>{say(`state_${r.state}`)}</span>
              <span class="progress">
                {r.id}, {clockTime(Date.parse(r.since))}
              </span>
            </button>
          </li>
        ))}
      </ul>
      <h2>{say("runAScenario")}</h2>
      <ul aria-label={say("shippedScenarios")}>
        <li>
          <button type="button" aria-pressed={own} onClick={() => go("scenarios", { own: "1" })}>
            {say("yourOwn")}
          </button>
        </li>
        {shipped.map((s) => (
          <li key={s.name}>
            <button type="button" aria-pressed={s.name === chosen} onClick={() => go("scenarios", { scenario: s.name })}>
              {s.name}
              {s.refused && <span class="dim"> {say("notHere")}</span>}
              <span class="progress">{s.description}</span>
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}

function ShippedPanel({ one, busy, start, report }: { one: Shipped; busy: boolean; start: (w: Wanted) => Promise<void>; report: Report }) {
  return (
    <section aria-label={one.name}>
      <h2>{one.name}</h2>
      <p>{one.description}.</p>
      {one.refused ? (
        <p class="bad">
          {sentence("cannotRun", { why: one.refused, command: <code>{`minikcm scenario run ${one.name}`}</code> })}
        </p>
      ) : (
        <p class="dim">{say("itsObjectsAreIn")}</p>
      )}
      <p>
        <button type="button" disabled={busy || one.refused !== undefined} onClick={() => void start({ name: one.name }).catch(report)}>
          {say("runButton")}
        </button>{" "}
        <button type="button" onClick={() => go("scenarios", { own: "1", from: one.name })}>
          {say("editACopy")}
        </button>{" "}
        {busy && <span class="dim">{say("anotherScenarioRuns")}</span>}
      </p>
      <h3>{say("steps")}</h3>
      <ol>
        {one.steps.map((s, i) => (
          <li key={i}>{s}</li>
        ))}
      </ol>
    </section>
  );
}

/** OwnForm takes a scenario as text or from a file, and shows what is wrong with it. */
function OwnForm({ busy, start, from }: { busy: boolean; start: (w: Wanted) => Promise<void>; from: string }) {
  const [text, setText] = useState("");
  const [namespace, setNamespace] = useState("");
  const [problem, setProblem] = useState("");
  const failed = (error: unknown) => setProblem(error instanceof Error ? error.message : String(error));
  useEffect(() => {
    if (from) source(from).then(setText, failed);
  }, [from]);
  const submit = (e: SubmitEvent) => {
    e.preventDefault();
    setProblem("");
    start({ document: text, ...(namespace ? { namespace } : {}) }).catch((error) => failed(explained(error)));
  };
  const read = (e: Event & { currentTarget: HTMLInputElement }) => {
    const file = e.currentTarget.files?.[0];
    if (file) file.text().then(setText, failed);
  };
  return (
    <form class="own" aria-label={say("yourOwnScenario")} onSubmit={submit}>
      <h2>{say("yourOwnScenario")}</h2>
      <div class="toolbar">
        <label>
          {say("file")}{" "}<input type="file" accept=".yaml,.yml,.json" onChange={read} />
        </label>
        <label title={say("takesThePlaceOf")}>
          {say("namespace")}{" "}<input value={namespace} placeholder="default" pattern="[a-z0-9]([\-a-z0-9]*[a-z0-9])?" onInput={(e) => setNamespace(e.currentTarget.value)} />
        </label>
        <button type="submit" disabled={busy || !text.trim()}>
          {say("runButton")}
        </button>
        {busy && <span class="dim">{say("anotherScenarioRuns")}</span>}
      </div>
      {problem && (
        <p class="bad text" role="alert">
          {problem}
        </p>
      )}
      <textarea aria-label={say("scenarioInYaml")} placeholder="apiVersion: minikcm.dev/v1alpha1&#10;kind: Scenario&#10;…" spellcheck={false} value={text} onInput={(e) => setText(e.currentTarget.value)} />
      <p class="dim">{say("stepsThatRunPrograms")}</p>
    </form>
  );
}

/** explained puts each problem of a Status on a line of its own. */
function explained(error: unknown): unknown {
  return error instanceof StatusError && error.reason === "Invalid" ? new Error(error.message.replaceAll("; ", "\n")) : error;
}

/** RunPanel shows a run as it goes on. */
function RunPanel({ id, clock, report }: { id: string; clock: Clock; report: Report }) {
  const [shown, show] = useState<Run>();
  const [, tick] = useState(0);
  useEffect(() => {
    const end = new AbortController();
    followRun(id, show, report, end.signal);
    const timer = setInterval(() => tick((n) => n + 1), 500);
    return () => {
      clearInterval(timer);
      end.abort();
    };
  }, [id]);
  if (!shown) return <p class="dim">{say("oneMomentPlease")}</p>;
  const { done, all } = progress(shown);
  const over = isOver(shown);
  return (
    <section aria-label={say("runOf", { name: shown.scenario })}>
      <h2>
        {shown.scenario} <span class={`run ${shown.state}`}>{say(`state_${shown.state}`)}</span>
      </h2>
      <p>{shown.description}</p>
      <p>
        {shown.report ? say("stepsOf", { n: done, all, seed: String(shown.seed) }) : say("stepsOfIn", { n: done, all, time: duration(took(shown, clock.now()) ?? 0), seed: String(shown.seed) })}{" "}
        {!over && (
          <button type="button" onClick={() => void stopRun(id).catch(report)}>
            {say("stopButton")}
          </button>
        )}
        {over && (
          <button type="button" onClick={() => go("scenarios", { scenario: shown.scenario })}>
            {say("again")}
          </button>
        )}
        {!over && clock.state?.paused && <span class="bad"> {say("timeStandsStillPress")}</span>}
      </p>
      {shown.notes?.map((n) => (
        <p key={n} class="dim">
          {n}
        </p>
      ))}
      {shown.failure && !shown.steps?.some((s) => s.failure) && !shown.report?.failures?.length && <p class="bad text">{shown.failure}</p>}
      {shown.report && <ReportPanel run={shown} of={shown.report} report={report} />}
      {shown.invariants && <Invariants run={shown} />}
      <h3>{say("steps")}</h3>
      <ol class="steps" aria-label={say("steps")}>
        {shown.steps?.map((s, i) => (
          <StepItem key={i} step={s} now={clock.now()} />
        ))}
      </ol>
    </section>
  );
}

function Invariants({ run }: { run: Run }) {
  return (
    <>
      <h3>{say("invariants")}</h3>
      <ul class="steps" aria-label={say("invariants")}>
        {run.invariants!.map((i) => (
          <li key={i.name} class={i.state}>
            <span aria-label={say(`state_${i.state}`)}>{mark(i.state)}</span> {i.name} <span class="dim">{say(({ Waiting: "notWatchedYet", Active: "holds", Failed: "isViolated", Done: "held" } as const)[i.state as "Waiting"])}</span>
            {i.failure && <pre class="bad">{i.failure}</pre>}
          </li>
        ))}
      </ul>
    </>
  );
}

function StepItem({ step, now }: { step: Step; now: number }) {
  const ms = took(step, now);
  return (
    <li class={step.state}>
      <span aria-label={say(`state_${step.state}`)}>{mark(step.state)}</span> {step.title}{" "}
      <span class="dim">
        {step.last && `${say("atTheEnd")} `}
        {ms !== undefined && duration(ms)}
        {step.realSeconds !== undefined && say("comma") + say("ofRealTime", { time: duration(step.realSeconds * 1000) })}
      </span>
      {step.failure ? (
        <pre class="bad">{step.failure}</pre>
      ) : step.differs ? (
        <pre class="waits">{say("waitsFor", { what: step.differs })}</pre>
      ) : null}
      {step.notes && (
        <ul class="notes">
          {step.forgotten ? <li class="dim">{say("olderOnes", { n: step.forgotten })}</li> : null}
          {step.notes.map((n, i) => (
            <li key={i}>{n}</li>
          ))}
        </ul>
      )}
    </li>
  );
}
