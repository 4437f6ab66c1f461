import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { useChanges } from "./changes.ts";
import type { Actions } from "./actions.ts";
import { getJSON } from "./api.ts";
import type { Clock } from "./clock.ts";
import { StepWork } from "./clockbar.tsx";
import { FaultMenu, Lasting } from "./faultmenu.tsx";
import { concerning, controllerActions, type Faults, lasting } from "./faults.ts";
import type { Debugging } from "./debugger.ts";
import { DebugButton, DebugView } from "./debugview.tsx";
import { followLoop, says, type Stage, Trail, watchesOf } from "./loopmodel.ts";
import { NamedLink } from "./object/link.tsx";
import { go, type Route } from "./route.ts";
import type { Store } from "./store.ts";
import { TourButton } from "./tourpanel.tsx";
import type { TourGuide } from "./tours.ts";
import { clockTime, duration } from "./words.ts";
import { say } from "./language.ts";

type Report = (error: unknown) => void;
const preferred = "replicaset-controller";
/** shownKeys is the number of keys that a box lists. */
const shownKeys = 12;

/** LoopView shows the way from a watch event to the writes of a controller. */
export function LoopView({ route, clock, store, faults, actions, debugging, guide, report }: { guide: TourGuide; route: Route; clock: Clock; store: Store; faults: Faults; actions: Actions; debugging: Debugging; report: Report }) {
  const [names, setNames] = useState<string[]>([]);
  const [trail, setTrail] = useState(new Trail());
  const [, render] = useState(0);
  const [stages, setStages] = useState<"all" | "writes">("all");
  const name = route.query.get("controller") ?? preferred;
  useChanges(faults);
  useChanges(debugging);
  useEffect(() => {
    getJSON<{ name: string; state: string }[]>("/minikcm/v1/controllers").then((all) => setNames(all.filter((c) => c.state === "Running").map((c) => c.name)), report);
  }, []);
  useEffect(() => {
    const end = new AbortController();
    const own = new Trail();
    setTrail(own);
    followLoop(name, (line) => {
      own.add(line);
      render((n) => n + 1);
    }, report, end.signal);
    const tick = setInterval(() => render((n) => n + 1), 1000); // of the times that are left
    return () => {
      end.abort();
      clearInterval(tick);
    };
  }, [name]);
  const shown = stages === "all" ? trail.steps : trail.steps.filter((s) => s.stage === "wrote" || s.stage === "failed");
  return (
    <div class="scroll loop">
      <div class="toolbar">
        <label>
          {say("controller")}{" "}
          <select value={name} onChange={(e) => go("loop", { controller: e.currentTarget.value })}>
            {[...new Set([name, ...names])].map((n) => (
              <option key={n}>{n}</option>
            ))}
          </select>
        </label>
        <FaultMenu what={say("theController")} actions={controllerActions} report={report} act={(a, d) => actions.inject(lasting({ controllers: { action: a.name, names: [name], ...(a.name === "slow" ? { delay: "2s" } : {}) } }, d), a.lasts)} />
        {!debugging.on && <StepWork clock={clock} store={store} report={report} />}
        <DebugButton debugging={debugging} clock={clock} report={report} />
        <TourButton guide={guide} />
      </div>
      <DebugView debugging={debugging} report={report} />
      <Lasting faults={concerning(faults.items, { controller: name })} stop={(id) => actions.stop(id)} report={report} />
      {trail.last && <Chain trail={trail} clock={clock} />}
      <section aria-label={say("steps")}>
        <h2>{say("stepsNewestFirst")}</h2>
        <label>
          {say("show")}{" "}
          <select value={stages} onChange={(e) => setStages(e.currentTarget.value as "all" | "writes")}>
            <option value="all">{say("allNamespaces")}</option>
            <option value="writes">{say("writesAndFailures")}</option>
          </select>
        </label>
        {trail.forgotten > 0 && <span class="dim"> {say("olderSteps", { n: trail.forgotten })}</span>}
        <table class="rows">
          <tbody>
            {shown.slice(-100).reverse().map((s, i) => (
              <tr key={trail.forgotten + trail.steps.length - i}>
                <td>{clockTime(Date.parse(s.time), true)}</td>
                <td>
                  <span class={`mark ${s.stage}`}>{say(`loop_${s.stage}`)}</span>
                </td>
                <td class={s.error ? "bad" : ""}>
                  {says(s)} {s.object && <NamedLink named={s.object} namespace={(s.key ?? s.keys?.[0] ?? "").split("/").slice(0, -1).join()} known>{say("openLink")}</NamedLink>}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
        {trail.steps.length === 0 && <p class="dim">{say("theControllerHasDone")}</p>}
      </section>
    </div>
  );
}

/** Chain draws the stages from left to right. */
function Chain({ trail, clock }: { trail: Trail; clock: Clock }) {
  const { loops } = trail.last!;
  const watches = watchesOf(loops);
  const queued = loops.flatMap((l) => l.queued);
  const delayed = loops.flatMap((l) => l.delayed);
  const processing = loops.flatMap((l) => l.processing);
  const sum = (of: (l: (typeof loops)[number]) => number) => loops.reduce((n, l) => n + of(l), 0);
  const now = clock.now();
  return (
    <ol class="stations" aria-label={say("theLoop")}>
      <Station title={say("informers")} what={say("watchEventReflectorDeltafifo")}>
        <table>
          <thead>
            <tr>
              <th>{say("kind")}</th>
              <th title={say("eventsOfTheWatch")}>{say("watch")}</th>
              <th title={say("changesBetweenTheDeltafifo")}>{say("queue")}</th>
              <th title={say("objectsInTheIndexer")}>{say("indexer")}</th>
            </tr>
          </thead>
          <tbody>
            {watches.map((w) => (
              <tr key={w.kind}>
                <th scope="row">{w.kind}</th>
                <td>{w.received}</td>
                <td>{w.undelivered}</td>
                <td>{w.objects}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Station>
      <Station title={say("handlers")} what={say("mapAnEventTo")}>
        <Newest trail={trail} stages={["handled"]} />
      </Station>
      <Station title={say("workQueue")} what={say("queueCounts", { waiting: sum((l) => l.queuedCount), delayed: sum((l) => l.delayedCount), retries: sum((l) => l.retries) })}>
        <Keys keys={queued} />
        {delayed.length > 0 && (
          <ul class="keys delayed">
            {delayed.slice(0, shownKeys).map((d) => (
              <li key={d.key}>
                {d.failures ? <Backoff left={Date.parse(d.due) - now} failures={d.failures} /> : null}
                {d.key} <span class="dim">{d.failures ? say("inTimeAfterFailure", { time: duration(Math.max(0, Date.parse(d.due) - now)), n: d.failures }) : say("inTime", { time: duration(Math.max(0, Date.parse(d.due) - now)) })}</span>
              </li>
            ))}
          </ul>
        )}
      </Station>
      <Station title={say("reconcile")} what={say("workerCounts", { workers: sum((l) => l.workers), reconciles: sum((l) => l.reconciles), failures: sum((l) => l.failures) })}>
        <ul class="keys">
          {processing.slice(0, shownKeys).map((p) => (
            <li key={p.key}>
              {p.key} <span class="dim">{say("forDuration", { time: duration(Math.max(0, now - Date.parse(p.since))) })}</span>
            </li>
          ))}
        </ul>
        <Newest trail={trail} stages={["began", "ended", "failed"]} />
      </Station>
      <Station title={say("planAndWrites")} what={say("whatTheReconcileDecides")}>
        <Newest trail={trail} stages={["planned", "wrote"]} />
      </Station>
    </ol>
  );
}

/** Backoff is a clock on a key that is retried: how much of its back-off is left, which doubles with each failure, from 5 ms to 1000 s. */
function Backoff({ left, failures }: { left: number; failures: number }) {
  const whole = Math.min(5 * 2 ** (failures - 1), 1000_000);
  const share = Math.max(0, Math.min(1, left / whole));
  return (
    <svg class="backoff" viewBox="0 0 20 20" role="img" aria-label={say("backoffLeft", { n: Math.round(share * 100) })}>
      <circle cx="10" cy="10" r="9" />
      <circle class="left" cx="10" cy="10" r="4.5" pathLength="100" stroke-dasharray={`${share * 100} 100`} transform="rotate(-90 10 10)" />
    </svg>
  );
}

function Station({ title, what, children }: { title: string; what: string; children: ComponentChildren }) {
  return (
    <li class="station">
      <h2>{title}</h2>
      <p class="dim">{what}</p>
      {children}
    </li>
  );
}

function Keys({ keys }: { keys: string[] }) {
  return (
    <ul class="keys">
      {keys.slice(0, shownKeys).map((k) => (
        <li key={k}>{k}</li>
      ))}
      {keys.length > shownKeys && <li class="dim">{say("andMore", { n: keys.length - shownKeys })}</li>}
    </ul>
  );
}

function Newest({ trail, stages }: { trail: Trail; stages: Stage[] }) {
  return (
    <ul class="newest">
      {trail.newest(stages, 6).map((s, i) => (
        <li key={i} class={s.error ? "bad" : ""}>
          {says(s)}
        </li>
      ))}
    </ul>
  );
}
