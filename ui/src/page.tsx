import { render } from "preact";
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import type { Info } from "../../client/typescript/minikcm.ts";
import { Actions } from "./actions.ts";
import { getJSON } from "./api.ts";
import { Clock } from "./clock.ts";
import { ClockBar, Stall } from "./clockbar.tsx";
import { ClusterView } from "./clusterview.tsx";
import { CompareView } from "./compareview.tsx";
import { useChanges } from "./changes.ts";
import { Debugging } from "./debugger.ts";
import { Faults } from "./faults.ts";
import { FaultsView } from "./faultsview.tsx";
import { LoopView } from "./loopview.tsx";
import { openCreate } from "./object/create.tsx";
import { ObjectPanel } from "./object/panel.tsx";
import { RolloutsView } from "./rolloutsview.tsx";
import { go, useRoute } from "./route.ts";
import { ScenariosView } from "./scenariosview.tsx";
import { revisionOf } from "./scrubber.tsx";
import { Store, useTopics } from "./store.ts";
import { TimelineView } from "./timelineview.tsx";
import { TourPanel } from "./tourpanel.tsx";
import { TourGuide } from "./tours.ts";
import { time } from "./words.ts";
import { WhyView } from "./whyview.tsx";
import { beginLanguage, chooseLanguage, type Language, language, languages, type Plain, problemText, say } from "./language.ts";
import "./page.css";

/** short are the languages in the header, where there is room for two letters. */
const short: Record<Language, string> = { en: "En", zh: "中" };
const others = () => (Object.keys(languages) as Language[]).filter((l) => l !== language());

/** views are shown if the cluster has the feature that they need. */
const views: { name: string; title: Plain; feature?: string }[] = [
  { name: "cluster", title: "viewCluster" },
  { name: "why", title: "whyWord" },
  { name: "timeline", title: "viewTimeline" },
  { name: "rollouts", title: "viewRollouts" },
  { name: "faults", title: "faults", feature: "faults" },
  { name: "loop", title: "viewLoop", feature: "loops" },
  { name: "scenarios", title: "scenarios", feature: "scenarios" },
];

/** forkColors is the number of colours that tell forks apart: those that may run at a time. */
const forkColors = 4;

/** markFork tells the page of a fork from its cluster's: by its title, and by colours. */
function markFork(id: string): void {
  document.title = `${id} – minikcm`;
  document.documentElement.dataset.fork = String((Number(/\d+$/.exec(id)?.[0] ?? 1) - 1) % forkColors);
}

/** themes are those of colours, and of a projector: large type, and nothing beside what is shown. */
const themes = ["auto", "light", "dark", "projector"] as const;

function Page({ store, clock, faults, actions }: { store: Store; clock: Clock; faults: Faults; actions: Actions }) {
  const route = useRoute();
  const { view } = route;
  const at = view === "cluster" ? revisionOf(route) : 0;
  useLayoutEffect(() => store.show(at), [store, at]);
  useEffect(() => {
    if (route.query.has("tour")) guide.go(route.query.get("tour")!);
  }, [route.query.get("tour")]);
  const [problem, setProblem] = useState("");
  const [, speak] = useState(language()); // all is drawn again in another language
  const [theme, setTheme] = useState(localStorage.getItem("theme") ?? "auto");
  const [{ features, fork }, setInfo] = useState<Partial<Info>>({});
  useEffect(() => {
    getJSON<Info>("/minikcm/v1").then(setInfo, () => {});
  }, []);
  useEffect(() => {
    if (!features?.includes("faults")) return;
    const end = new AbortController();
    faults.follow(() => {}, end.signal); // the connection is shown beside the clock
    return () => end.abort();
  }, [features]);
  useEffect(() => {
    if (fork) markFork(fork.id);
  }, [fork]);
  const report = (error: unknown) => setProblem(error instanceof Error ? error.message : String(error));
  useEffect(() => {
    localStorage.setItem("theme", theme);
    const { dataset } = document.documentElement;
    delete dataset.theme;
    delete dataset.projector;
    if (theme === "projector") dataset.projector = "";
    else if (theme !== "auto") dataset.theme = theme;
  }, [theme]);
  useEffect(() => {
    document.querySelector("nav [aria-current]")?.scrollIntoView({ block: "nearest" }); // on a phone, not all views have room
  }, [view, features]);
  useEffect(() => {
    const key = (e: KeyboardEvent) => shortcut(e, clock, report);
    addEventListener("keydown", key);
    return () => removeEventListener("keydown", key);
  }, [clock]);
  return (
    <>
      <header>
        <h1 data-note={say("viewOnly")}>minikcm</h1>
        {fork && (
          <span class="badge" title={say("thisIsAFork", { id: fork.id, revision: String(fork.revision), time: time(Date.parse(fork.time)) })}>
            {fork.id}
          </span>
        )}
        <nav aria-label={say("views")}>
          {views.map((v, i) => (v.feature && features?.includes(v.feature) === false ? null : (
            <a key={v.name} href={`#${v.name}`} aria-current={v.name === view ? "page" : undefined} title={`${say(v.title)} (${i + 1})`}>
              {say(v.title)}
              {v.name === "faults" && <FaultCount faults={faults} />}
            </a>
          )))}
        </nav>
        <ClockBar clock={clock} step={() => (debugging.on ? debugging.stepThread() : clock.ask("step"))} report={report} />
        <button
          type="button" title={say("createOrChangeObjectsFrom")} aria-label={say("create")}
          onClick={() => openCreate()}
        >
          +<span class="spacious"> {say("create")}</span>
        </button>
        <RecordingSign actions={actions} />
        <Connection store={store} />
        <select class="theme" aria-label={say("theme")} title={say("theme")} value={theme} onChange={(e) => setTheme(e.currentTarget.value)}>
          {themes.map((t) => (
            <option key={t} value={t}>
                {say(`theme_${t}`)}
              </option>
          ))}
        </select>
        {others().map((l) => (
          <button
            key={l} type="button" class="language" lang={l} aria-label={languages[l]} title={languages[l]}
            onClick={() => {
              chooseLanguage(l);
              speak(l);
            }}
          >
            {short[l]}
          </button>
        ))}
      </header>
      <NoSession store={store} />
      <Stall clock={clock} />
      {problem && (
        <p class="problem" role="alert">
          {problem}{" "}
          <button type="button" onClick={() => setProblem("")}>
            {say("dismiss")}
          </button>
        </p>
      )}
      <div class="body">
      <TourPanel guide={guide} faults={faults} report={report} />
      <main>
        {view === "why" ? (
          <WhyView route={route} />
        ) : view === "timeline" ? (
          <TimelineView clock={clock} faults={faults} report={report} />
        ) : view === "rollouts" ? (
          <RolloutsView store={store} clock={clock} route={route} faults={faults} actions={actions} report={report} />
        ) : view === "loop" ? (
          <LoopView guide={guide} route={route} clock={clock} store={store} faults={faults} actions={actions} debugging={debugging} report={report} />
        ) : view === "compare" ? (
          <CompareView route={route} clock={clock} report={report} />
        ) : view === "scenarios" ? (
          <ScenariosView guide={guide} route={route} clock={clock} report={report} />
        ) : view === "faults" ? (
          <FaultsView store={store} faults={faults} actions={actions} report={report} />
        ) : (
          <ClusterView guide={guide} store={store} faults={faults} at={at} actions={actions} report={report} />
        )}
      </main>
      <ObjectPanel route={route} clock={clock} faults={faults} actions={actions} report={report} />
      </div>
    </>
  );
}

/** FaultCount is the number of faults that last. */
function FaultCount({ faults }: { faults: Faults }) {
  useChanges(faults);
  const count = faults.lasting().length;
  return count > 0 ? <span class="count" aria-label={say("countLast", { n: count })}>{count}</span> : null;
}

/** RecordingSign shows in every view that what the user does is recorded. */
function RecordingSign({ actions }: { actions: Actions }) {
  useChanges(actions);
  if (!actions.recording) return null;
  return (
    <a class="recording" href="#faults" title={say("whatYouDoIs")}>
      {say("rec", { n: actions.recording.done.length })}
    </a>
  );
}

/** failedTopic is a topic that cannot be read. */
function failedTopic(store: Store) {
  return [store.nodes, store.pods].find((t) => t.state === "waiting" && t.error);
}

/** NoSession says what to do if the browser is not admitted. */
function NoSession({ store }: { store: Store }) {
  useTopics([store.nodes, store.pods]);
  if (failedTopic(store)?.code !== 401) return null;
  return (
    <p class="problem" role="alert">
      {say("noSessionOpenA")}
    </p>
  );
}

/** Connection says whether the page is up to date, in words that fit into the header. */
function Connection({ store }: { store: Store }) {
  useTopics([store.nodes, store.pods]);
  const topics = [store.nodes, store.pods];
  const failed = failedTopic(store);
  const live = topics.every((t) => t.state === "live" && t.complete);
  const past = store.at !== 0 && topics.every((t) => t.state === "past");
  return (
    <span class={`connection ${failed ? "bad" : ""}`} role="status" title={failed ? problemText(failed.error) : (past ? say("revisionN", { revision: String(store.at) }) : undefined)}>
      {say(failed ? (store.at ? "noAnswer" : "offline") : live ? "live" : past ? "thePast" : "loading")}
    </span>
  );
}

function shortcut(e: KeyboardEvent, clock: Clock, report: (error: unknown) => void): void {
  const target = e.target as HTMLElement;
  if (e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName)) return;
  const view = views[Number(e.key) - 1];
  if (view) go(view.name);
  else if (e.key === " " && clock.controllable && target.tagName !== "BUTTON") {
    e.preventDefault();
    void (clock.state?.paused ? clock.ask("resume") : clock.ask("pause")).catch(report);
  } else if (e.key === "." && debugging.on) void debugging.stepThread().catch(report);
  else if (e.key === "." && clock.controllable) void clock.ask("step").catch(report);
}

beginLanguage();
const debugging = new Debugging();
const guide = new TourGuide();
const clock = new Clock();
void clock.follow(new AbortController().signal);
render(<Page store={new Store(new Worker("worker.js", { type: "module" }))} clock={clock} faults={new Faults()} actions={new Actions(clock)} />, document.getElementById("page")!);
