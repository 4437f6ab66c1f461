import { useEffect, useState } from "preact/hooks";
import { useChanges } from "./changes.ts";
import type { Clock, ClockState } from "./clock.ts";
import type { Store } from "./store.ts";
import { time } from "./words.ts";

const speeds = [1, 10, 100, 1000];
const jumps = { "+1 min": "1m", "+1 h": "1h", "+1 d": "24h" };

/** ClockBar shows the time of the cluster, or of a fork by its name, and the controls if the clock has them. Keys control the cluster's clock only. If step is given, it is what Step does. */
export function ClockBar({ clock, fork, step, report }: { clock: Clock; fork?: string; step?: () => Promise<void>; report: (error: unknown) => void }) {
  const [, render] = useState(0);
  useEffect(() => {
    const again = () => render((n) => n + 1);
    again();
    const stop = clock.listen(again);
    const timer = setInterval(again, 500);
    return () => {
      stop();
      clearInterval(timer);
    };
  }, [clock]);
  const state = clock.state;
  if (!state) return null;
  const act = (p: Promise<void>) => void p.catch(report);
  const key = (name: string) => (fork ? "" : ` (${name})`);
  return (
    <div class="clock" role="group" aria-label={fork ? `Time of ${fork}` : "Time"}>
      <time class={state.moving ? "moving" : ""} title={titleOf(state)}>
        {time(clock.now())}
      </time>
      {clock.controllable ? (
        <>
          <button type="button" onClick={() => act(state.paused ? clock.ask("resume") : clock.ask("pause"))} title={`Pause or resume time${key("space")}`}>
            {state.paused ? "Resume" : "Pause"}
          </button>
          <button type="button" onClick={() => act(step ? step() : clock.ask("step"))} title={`${state.pausedWork ? stepText(state) : "Go on to the next timer"}${key(".")}`}>
            Step
          </button>
          <select aria-label="Speed" title="Speed, as a multiple of real time" value={String(state.factor ?? 1)} onChange={(e) => act(clock.ask("speed", { speed: Number(e.currentTarget.value) }))}>
            {[...new Set([...speeds, state.factor ?? 1])].map((s) => (
              <option key={s} value={String(s)}>
                {s}×
              </option>
            ))}
          </select>
          {Object.entries(jumps).map(([label, duration]) => (
            <button key={label} type="button" title={`Jump: ${label}`} onClick={() => act(clock.ask("advance", { duration }))}>
              {label}
            </button>
          ))}
        </>
      ) : (
        <span class="dim">{state.mode === "scaled" ? `${state.factor}× real time` : `${state.mode} time`}</span>
      )}
    </div>
  );
}

/** Stall says for which work the time stands still although it is not paused. */
export function Stall({ clock }: { clock: Clock }) {
  useChanges(clock);
  if (!clock.stalled) return null;
  return (
    <p class="notice" role="status" aria-label="Time">
      Time stands still until this work is done: {clock.stalled}
    </p>
  );
}

/** StepWork pauses the cluster's work, too, and shows which piece of it the next step does. */
export function StepWork({ clock, store, report }: { clock: Clock; store: Store; report: (error: unknown) => void }) {
  useChanges(clock);
  const { state } = clock;
  if (!clock.controllable || !state) return null;
  if (!state.pausedWork) {
    return (
      <span>
        <button type="button" title="Time and work stand still; each step does one piece of work" onClick={() => void clock.ask("pause", { work: true }).catch(report)}>
          Pause time and work
        </button>{" "}
        <span class="dim">to do what a write sets off step by step: a key, a pod to schedule, an action of a node.</span>
      </span>
    );
  }
  return (
    <span role="status" aria-label="Next step">
      {state.waiting ? `${state.waiting} ${state.waiting === 1 ? "piece" : "pieces"} of work ${state.waiting === 1 ? "waits" : "wait"}. ` : "No work waits. "}
      <button type="button" onClick={() => void clock.ask("step").catch(report)}>
        {stepText(state, store)}
      </button>
    </span>
  );
}

/** stepText says what a step does while the work is paused. Queues of pods have their UIDs. */
function stepText(state: ClockState, store?: Store): string {
  const next = state.nextStep?.replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/, (uid) => {
    const pod = store?.pods.rows.get(uid);
    return pod ? `${pod.namespace}/${pod.name}` : uid;
  });
  return next ? `Do ${next}` : "Go on to the next timer";
}

/** titleOf explains the time. Its words take no room in the header, whose controls stay on one line. */
function titleOf(state: ClockState): string {
  if (state.moving) return "The cluster's time moves until the work that is due is done";
  return state.nextTimer ? `The cluster's time. Next timer: ${time(Date.parse(state.nextTimer))}` : "The cluster's time";
}
