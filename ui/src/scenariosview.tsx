import { useEffect, useState } from "preact/hooks";
import { StatusError } from "./api.ts";
import type { Clock } from "./clock.ts";
import { ReportPanel } from "./reportpanel.tsx";
import { go, type Route } from "./route.ts";
import { followRun, followRuns, isOver, listShipped, mark, progress, type Run, run, type Shipped, source, type Step, stopRun, took, type Wanted } from "./scenarios.ts";
import { clockTime, duration } from "./words.ts";

type Report = (error: unknown) => void;

/** ScenariosView runs scenarios in this cluster: shipped ones and the user's own. */
export function ScenariosView({ route, clock, report }: { route: Route; clock: Clock; report: Report }) {
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
      <Choices shipped={shipped} runs={runs ?? []} id={id} chosen={chosen} own={own} />
      <div class="scroll">
        {own ? (
          <OwnForm busy={busy} start={start} from={route.query.get("from") ?? ""} />
        ) : one ? (
          <ShippedPanel one={one} busy={busy} start={start} report={report} />
        ) : id ? (
          <RunPanel key={id} id={id} clock={clock} report={report} />
        ) : (
          <p class="dim">Choose a scenario. It runs in this cluster, in its time, and one runs at a time.</p>
        )}
      </div>
    </div>
  );
}

function Choices({ shipped, runs, id, chosen, own }: { shipped: Shipped[]; runs: Run[]; id: string; chosen: string; own: boolean }) {
  return (
    <div class="list" role="navigation" aria-label="Scenarios">
      {runs.length > 0 && <h2>Runs</h2>}
      <ul aria-label="Runs">
        {runs.map((r) => (
          <li key={r.id}>
            <button type="button" aria-pressed={r.id === id} onClick={() => go("scenarios", { run: r.id })}>
              {r.scenario} <span class={`run ${r.state}`}>{r.state}</span>
              <span class="progress">
                {r.id}, {clockTime(Date.parse(r.since))}
              </span>
            </button>
          </li>
        ))}
      </ul>
      <h2>Run a scenario</h2>
      <ul aria-label="Shipped scenarios">
        <li>
          <button type="button" aria-pressed={own} onClick={() => go("scenarios", { own: "1" })}>
            Your own…
          </button>
        </li>
        {shipped.map((s) => (
          <li key={s.name}>
            <button type="button" aria-pressed={s.name === chosen} onClick={() => go("scenarios", { scenario: s.name })}>
              {s.name}
              {s.refused && <span class="dim"> (not here)</span>}
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
          It cannot run in this cluster: {one.refused}. <code>minikcm scenario run {one.name}</code> gives it a cluster of its own.
        </p>
      ) : (
        <p class="dim">Its objects are in a namespace of its own, which is deleted at the end.</p>
      )}
      <p>
        <button type="button" disabled={busy || one.refused !== undefined} onClick={() => void start({ name: one.name }).catch(report)}>
          Run
        </button>{" "}
        <button type="button" onClick={() => go("scenarios", { own: "1", from: one.name })}>
          Edit a copy
        </button>{" "}
        {busy && <span class="dim">Another scenario runs.</span>}
      </p>
      <h3>Steps</h3>
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
    <form class="own" aria-label="Your own scenario" onSubmit={submit}>
      <h2>Your own scenario</h2>
      <div class="toolbar">
        <label>
          File <input type="file" accept=".yaml,.yml,.json" onChange={read} />
        </label>
        <label title="Takes the place of the namespace default. It is deleted at the end if it did not exist.">
          Namespace <input value={namespace} placeholder="default" pattern="[a-z0-9]([\-a-z0-9]*[a-z0-9])?" onInput={(e) => setNamespace(e.currentTarget.value)} />
        </label>
        <button type="submit" disabled={busy || !text.trim()}>
          Run
        </button>
        {busy && <span class="dim">Another scenario runs.</span>}
      </div>
      {problem && (
        <p class="bad text" role="alert">
          {problem}
        </p>
      )}
      <textarea aria-label="Scenario in YAML" placeholder="apiVersion: minikcm.dev/v1alpha1&#10;kind: Scenario&#10;…" spellcheck={false} value={text} onInput={(e) => setText(e.currentTarget.value)} />
      <p class="dim">Steps that run programs or read files of this machine are refused: “minikcm scenario run FILE --kubeconfig …” does those.</p>
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
  if (!shown) return <p class="dim">One moment…</p>;
  const { done, all } = progress(shown);
  const over = isOver(shown);
  return (
    <section aria-label={`Run of ${shown.scenario}`}>
      <h2>
        {shown.scenario} <span class={`run ${shown.state}`}>{shown.state}</span>
      </h2>
      <p>{shown.description}</p>
      <p>
        {done} of {all} steps, {!shown.report && `${duration(took(shown, clock.now()) ?? 0)} of the cluster's time, `}seed {shown.seed}.{" "}
        {!over && (
          <button type="button" onClick={() => void stopRun(id).catch(report)}>
            Stop
          </button>
        )}
        {over && (
          <button type="button" onClick={() => go("scenarios", { scenario: shown.scenario })}>
            Again…
          </button>
        )}
        {!over && clock.state?.paused && <span class="bad"> Time stands still: press Resume or Step.</span>}
      </p>
      {shown.notes?.map((n) => (
        <p key={n} class="dim">
          {n}
        </p>
      ))}
      {shown.failure && !shown.steps?.some((s) => s.failure) && !shown.report?.failures?.length && <p class="bad text">{shown.failure}</p>}
      {shown.report && <ReportPanel run={shown} of={shown.report} report={report} />}
      {shown.invariants && <Invariants run={shown} />}
      <h3>Steps</h3>
      <ol class="steps" aria-label="Steps">
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
      <h3>Invariants</h3>
      <ul class="steps" aria-label="Invariants">
        {run.invariants!.map((i) => (
          <li key={i.name} class={i.state}>
            <span aria-label={i.state}>{mark(i.state)}</span> {i.name} <span class="dim">{{ Waiting: "not watched yet", Active: "holds", Failed: "is violated", Done: "held" }[i.state as "Waiting"]}</span>
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
      <span aria-label={step.state}>{mark(step.state)}</span> {step.title}{" "}
      <span class="dim">
        {step.last && "(at the end) "}
        {ms !== undefined && duration(ms)}
        {step.realSeconds !== undefined && `, ${duration(step.realSeconds * 1000)} of real time`}
      </span>
      {step.failure ? (
        <pre class="bad">{step.failure}</pre>
      ) : step.differs ? (
        <pre class="waits">waits: {step.differs}</pre>
      ) : null}
      {step.notes && (
        <ul class="notes">
          {step.forgotten ? <li class="dim">{step.forgotten} older ones</li> : null}
          {step.notes.map((n, i) => (
            <li key={i}>{n}</li>
          ))}
        </ul>
      )}
    </li>
  );
}
