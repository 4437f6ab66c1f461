import { useEffect, useState } from "preact/hooks";
import { useChanges } from "./changes.ts";
import type { Clock, ClockState } from "./clock.ts";
import type { Store } from "./store.ts";
import { span, time } from "./words.ts";
import { say } from "./language.ts";

const speeds = [0.1, 1, 10, 100, 1000];
const jumps = [60e3, 3600e3, 86400e3];

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
    <div class="clock" role="group" aria-label={fork ? say("timeOf", { fork }) : say("timeWord")}>
      <time class={state.moving ? "moving" : ""} title={titleOf(state)}>
        {time(clock.now())}
      </time>
      {clock.controllable ? (
        <>
          <button type="button" onClick={() => act(state.paused ? clock.ask("resume") : clock.ask("pause"))} title={say("pauseOrResume") + key(say("keySpace"))}>
            {state.paused ? say("resume") : say("pause")}
          </button>
          <button type="button" onClick={() => act(step ? step() : clock.ask("step"))} title={(state.pausedWork ? stepText(state) : say("goToNextTimer")) + key(".")}>
            {say("step")}
          </button>
          <select aria-label={say("speed")} title={say("speedAsAMultiple")} value={String(state.factor ?? 1)} onChange={(e) => act(clock.ask("speed", { speed: Number(e.currentTarget.value) }))}>
            {[...new Set([...speeds, state.factor ?? 1])].map((s) => (
              <option key={s} value={String(s)}>
                {s}×
              </option>
            ))}
          </select>
          {jumps.map((ms) => (
            <button key={ms} type="button" class="jump" title={say("jumpBy", { by: `+${span(ms)}` })} onClick={() => act(clock.ask("advance", { duration: `${ms / 1000}s` }))}>
              +{span(ms)}
            </button>
          ))}
        </>
      ) : (
        <span class="dim">{state.mode === "scaled" ? say("timesReal", { factor: state.factor ?? 1 }) : say(state.mode === "real" ? "realTime" : "virtualTime")}</span>
      )}
    </div>
  );
}

/** Stall says for which work the time stands still although it is not paused. */
export function Stall({ clock }: { clock: Clock }) {
  useChanges(clock);
  if (!clock.stalled) return null;
  return (
    <p class="notice" role="status" aria-label={say("timeWord")}>
      {say("timeStandsStillUntil", { work: clock.stalled })}
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
        <button type="button" title={say("timeAndWorkStand")} onClick={() => void clock.ask("pause", { work: true }).catch(report)}>
          {say("pauseTimeAndWork")}
        </button>{" "}
        <span class="dim">{say("toDoWhatA")}</span>
      </span>
    );
  }
  return (
    <span role="status" aria-label={say("nextStep")}>
      {state.waiting ? say("piecesWait", { n: state.waiting }) : say("noWorkWaits")}{" "}
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
  return next ? say("doNext", { next }) : say("goToNextTimer");
}

/** titleOf explains the time. Its words take no room in the header, whose controls stay on one line. */
function titleOf(state: ClockState): string {
  if (state.moving) return say("timeMoves");
  return state.nextTimer ? say("clusterTimeNext", { time: time(Date.parse(state.nextTimer)) }) : say("clusterTime");
}
