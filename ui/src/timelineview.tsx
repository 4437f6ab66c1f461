import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { getJSON } from "./api.ts";
import type { Clock } from "./clock.ts";
import { useChanges } from "./changes.ts";
import { type Band, bandsOf, useRuns } from "./bands.ts";
import type { Faults } from "./faults.ts";
import { onTheme, type Palette, palette } from "./colors.ts";
import type { KubeObject, Page } from "./reflector.ts";
import { type Axis, type Choice, chooser, Lanes, type Mark, minSpan, nearest, noChoice, ownWrites, pinched, type Range, zoomed } from "./timelinemodel.ts";
import { drawLanes, laneHeight, nameWidthOf, topOf } from "./timelinedraw.ts";
import { route } from "./route.ts";
import { ObjectLink } from "./object/link.tsx";
import { Changes, refOf, whyLink } from "./whyview.tsx";
import { clockTime } from "./words.ts";
import { effectOf, objectName, type Write, writer, writesSince } from "./writes.ts";
import { list, say } from "./language.ts";

/** backlog is the number of revisions that the view begins with. */
const backlog = 5000;
const pollEvery = 1000;

interface Window extends Range {
  /** live keeps the end of the record in view. */
  live: boolean;
}
const noise = { leases: "heartbeats", events: "events" } as const;

/** TimelineView shows the writes on a lane for each program that makes some. */
export function TimelineView({ clock, faults, report }: { clock: Clock; faults: Faults; report: (error: unknown) => void }) {
  const [shown, show] = useState<Record<string, boolean>>({ leases: false, events: true });
  const [chosen, choose] = useState<Axis>();
  const [choice, setChoice] = useState<Choice>(() => ({ ...noChoice, text: route().query.get("q") ?? "" }));
  useChanges(faults);
  const bands = bandsOf(faults.items, useRuns());
  const suited = useAxis(clock);
  const axis = chosen ?? suited;
  // After a reset, the cluster is another one, whose revisions begin again.
  const cluster = useRef("");
  const [resets, setResets] = useState(0);
  const lanes = useMemo(() => new Lanes(new Set(Object.keys(noise).filter((r) => !shown[r])), axis), [shown, axis, resets]);
  lanes.choose(useMemo(() => chooser(choice), [choice]));
  const [count, setCount] = useState(0);
  const [selected, select] = useState<Mark>();
  const [win, setWin] = useState<Window>({ from: 0, to: 1, live: true });
  useEffect(() => {
    let stopped = false;
    let timer = 0;
    const poll = async () => {
      try {
        if (lanes.last === 0) {
          const now = await getJSON<Page>("/api/v1/namespaces?limit=1");
          lanes.last = Math.max(0, Number(now.metadata.resourceVersion) - backlog);
        }
        const { uid } = (await getJSON<KubeObject>("/api/v1/namespaces/kube-system")).metadata;
        const writes = await writesSince(lanes.last);
        if (stopped) return;
        const known = cluster.current;
        cluster.current = uid;
        if (known && uid !== known) {
          select(undefined);
          setResets((n) => n + 1);
          return; // other lanes go on
        }
        lanes.add(writes);
        if (writes.length > 0) setCount((n) => n + 1);
      } catch (error) {
        if (!stopped) report(error);
      }
      if (!stopped) timer = window.setTimeout(poll, pollEvery);
    };
    void poll();
    return () => {
      stopped = true;
      clearTimeout(timer);
    };
  }, [lanes]);
  useEffect(() => setWin({ from: 0, to: 1, live: true }), [lanes]);
  useEffect(() => {
    if (win.live && lanes.total > 0) {
      const span = win.to - win.from > 1 ? win.to - win.from : Math.max(minSpan, lanes.end - lanes.begin);
      setWin({ from: lanes.end - span * 0.97, to: lanes.end + span * 0.03, live: true });
    }
  }, [count, lanes, win.live]);
  return (
    <div class="timeline">
      <form class="toolbar" onSubmit={(e) => e.preventDefault()}>
        <label>
          {say("by")}{" "}
          <select aria-label={say("axis")} value={axis} onChange={(e) => choose(e.currentTarget.value as Axis)}>
            <option value="time">{say("timeAxis")}</option>
            <option value="revision">{say("revisionAxis")}</option>
          </select>
        </label>
        <label>
          <input type="checkbox" checked={win.live} onChange={(e) => setWin({ ...win, live: e.currentTarget.checked })} />{" "}{say("followNewest")}
        </label>
        <button type="button" onClick={() => setWin({ from: lanes.begin, to: lanes.end + 1, live: false })}>
          {say("wholeRecord")}
        </button>
        <span class="dim hint">{say("zoomHint")}</span>
        <span class="key created">{say("created")}</span> <span class="key changed">{say("changed")}</span> <span class="key removed">{say("removed")}</span>
      </form>
      <Chooser lanes={lanes} choice={choice} choose={setChoice}>
        {Object.entries(noise).map(([resource, label]) => (
          <label key={resource}>
            <input type="checkbox" checked={shown[resource]} onChange={(e) => show({ ...shown, [resource]: e.currentTarget.checked })} /> {say(label)}
          </label>
        ))}
      </Chooser>
      <div class="stage">
        <Strip lanes={lanes} axis={axis} bands={bands} win={win} setWin={setWin} selected={selected} select={select} />
        <aside aria-live="polite" aria-label={say("selectedWrite")}>
          {selected ? <Selected write={selected.write} only={(text) => setChoice({ ...noChoice, text })} /> : <p class="dim">{say("selectAWriteClick")}</p>}
        </aside>
      </div>
    </div>
  );
}

/** useAxis returns the axis that suits a clock: on a virtual one, most writes share their time with others. */
function useAxis(clock: Clock): Axis {
  const of = () => (clock.state?.mode === "virtual" ? "revision" : "time");
  const [axis, set] = useState<Axis>(of);
  useEffect(() => {
    const again = () => set(of());
    again(); // for a change between the render and this effect
    return clock.listen(again);
  }, [clock]);
  return axis;
}

/** Chooser is the form that limits which writes are shown. */
function Chooser({ lanes, choice, choose, children }: { lanes: Lanes; choice: Choice; choose: (c: Choice) => void; children: ComponentChildren }) {
  const all = lanes.all();
  const kinds = useMemo(() => [...new Set(all.flatMap((l) => l.marks.map((m) => m.write.kind || m.write.resource.resource)))].sort(), [all]);
  const shown = lanes.shown().reduce((n, l) => n + l.marks.length, 0);
  const change = (part: Partial<Choice>) => choose({ ...choice, ...part });
  return (
    <form class="toolbar" aria-label={say("filterWrites")} onSubmit={(e) => e.preventDefault()}>
      <label>
        {say("objectWord")}{" "}
        <input type="search" value={choice.text} placeholder="Pod/web" onInput={(e) => change({ text: e.currentTarget.value })} />
      </label>
      <label>
        {say("kind")}{" "}
        <select aria-label={say("kind")} value={choice.kind} onChange={(e) => change({ kind: e.currentTarget.value })}>
          <option value="">{say("allKinds")}</option>
          {kinds.map((k) => (
            <option key={k}>{k}</option>
          ))}
        </select>
      </label>
      <label>
        {say("writtenBy")}{" "}
        <select aria-label={say("writtenBy")} value={choice.lane} onChange={(e) => change({ lane: e.currentTarget.value })}>
          <option value="">{say("allPrograms")}</option>
          <option value={ownWrites}>{say("yourPrograms")}</option>
          {all.map((l) => (
            <option key={l.name}>{l.name}</option>
          ))}
        </select>
      </label>
      {children}
      <span class="dim" role="status">
        {say("writesOfAll", { n: shown, all: lanes.total })}
      </span>
      {choice !== noChoice && (choice.text || choice.kind || choice.lane) && (
        <button type="button" onClick={() => choose(noChoice)}>
          {say("showAll")}
        </button>
      )}
    </form>
  );
}

function Selected({ write: w, only }: { write: Write; only: (text: string) => void }) {
  return (
    <section>
      <h2>
        <ObjectLink of={refOf(w)}>{objectName(w)}</ObjectLink>
      </h2>
      <dl>
        <dt>{say("writtenBy")}</dt>
        <dd>{writer(w)}</dd>
        <dt>{say("effect")}</dt>
        <dd>
          {effectOf(w)} {w.subresource ? `(${w.subresource})` : ""}
        </dd>
        <dt>{say("timeWord")}</dt>
        <dd>{clockTime(Date.parse(w.time), true)}</dd>
        <dt>{say("revision")}</dt>
        <dd>{w.revision}</dd>
        {w.causes && (
          <>
            <dt>{say("causedBy")}</dt>
            <dd>{w.causes.length > 8 ? `${w.causes.slice(0, 8).join(", ")} …` : w.causes.join(", ")}</dd>
          </>
        )}
        <dt>{say("namespace")}</dt>
        <dd>{w.namespace || say("none")}</dd>
      </dl>
      <Changes write={w} />
      <p>
        <a href={whyLink(w)}>{say("why")}</a> ·{" "}
        <ObjectLink of={refOf(w)} tab="yaml" rev={w.revision}>
          {say("theObjectAfterThis")}
        </ObjectLink>{" "}
        · <a href={`#cluster?at=${w.revision}`}>{say("theClusterAfterThis")}</a>{" "}
        <button type="button" onClick={() => only(objectName(w))}>
          {say("onlyThisObject")}
        </button>
      </p>
    </section>
  );
}

/** titleOf is what a mark is, when the mouse is over it. */
function titleOf(m: Mark | undefined): string {
  return m ? list([objectName(m.write), effectOf(m.write), writer(m.write), clockTime(Date.parse(m.write.time), true), String(m.write.revision)]) : "";
}

interface StripProps {
  lanes: Lanes;
  axis: Axis;
  bands: Band[];
  win: Window;
  setWin: (w: Window) => void;
  selected: Mark | undefined;
  select: (m: Mark | undefined) => void;
}

function Strip(p: StripProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const colors = useRef<Palette | undefined>(undefined);
  const [size, setSize] = useState({ w: 0, h: 0 });
  const drag = useRef<{ began: number[]; win: Window; moved: boolean } | undefined>(undefined);
  const fingers = useRef(new Map<number, number>());
  useEffect(() => {
    const element = canvas.current!;
    const observer = new ResizeObserver(() => setSize({ w: element.clientWidth, h: element.clientHeight }));
    observer.observe(element);
    const stop = onTheme(() => {
      colors.current = palette(element);
      setSize((s) => ({ ...s }));
    });
    return () => {
      observer.disconnect();
      stop();
    };
  }, []);
  useEffect(() => {
    const element = canvas.current!;
    colors.current ??= palette(element);
    const frame = requestAnimationFrame(() => drawLanes(element, p, colors.current!));
    return () => cancelAnimationFrame(frame);
  });
  const nameWidth = nameWidthOf(size.w);
  const width = Math.max(1, size.w - nameWidth);
  const span = p.win.to - p.win.from;
  const timeAt = (x: number) => p.win.from + ((x - nameWidth) / width) * span;
  const zoom = (factor: number, center: number) => p.setWin({ ...zoomed(p.win, factor, center), live: p.win.live && factor > 1 });
  /** places are those of the fingers or the mouse, as shares of the width. */
  const places = () => [...fingers.current.values()].map((x) => (x - nameWidth) / width);
  const lift = (id: number) => {
    fingers.current.delete(id);
    drag.current = undefined; // a finger that stays begins again when it is put down again
  };
  const markAt = (e: { offsetX: number; offsetY: number }) => {
    const lane = p.lanes.shown()[Math.floor((e.offsetY - topOf(p.bands)) / laneHeight)];
    return lane && nearest(lane.marks, timeAt(e.offsetX), (span / width) * 8);
  };
  const move = (share: number) => p.setWin({ from: p.win.from + span * share, to: p.win.to + span * share, live: false });
  const all = () => p.lanes.shown().flatMap((l) => l.marks).sort((a, b) => a.write.revision - b.write.revision);
  const step = (by: number) => {
    const marks = all();
    const i = p.selected ? marks.findIndex((m) => m.write.revision === p.selected!.write.revision) + by : marks.findLastIndex((m) => m.at <= p.win.to);
    const mark = marks[i];
    if (!mark) return;
    p.select(mark);
    if (mark.at < p.win.from || mark.at > p.win.to) p.setWin({ from: mark.at - span / 2, to: mark.at + span / 2, live: false });
  };
  const keys: Record<string, () => void> = {
    "+": () => zoom(0.6, (p.win.from + p.win.to) / 2), "=": () => zoom(0.6, (p.win.from + p.win.to) / 2), "-": () => zoom(1 / 0.6, (p.win.from + p.win.to) / 2),
    ArrowLeft: () => move(-0.15), ArrowRight: () => move(0.15), Enter: () => step(0), n: () => step(1), p: () => step(-1), Escape: () => p.select(undefined),
  };
  return (
    <canvas
      ref={canvas} tabIndex={0} role="img" data-range={`${p.win.from} ${p.win.to}`} aria-label={list([say("writesByProgram", { lanes: list(p.lanes.shown().map((l) => `${l.name} ${l.marks.length}`)) }), ...p.bands.map((b) => `${say(b.title)}: ${list(b.spans.map((x) => x.text))}`)])}
      onWheel={(e) => {
        e.preventDefault();
        if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) move((e.deltaX || e.deltaY) / width);
        else zoom(e.deltaY > 0 ? 1.25 : 0.8, timeAt(e.offsetX));
      }}
      onPointerDown={(e) => {
        fingers.current.set(e.pointerId, e.offsetX);
        if (fingers.current.size === 2) drag.current = { began: places(), win: p.win, moved: true };
        else if (fingers.current.size === 1) drag.current = { began: places(), win: p.win, moved: false };
        canvas.current!.setPointerCapture(e.pointerId);
      }}
      onPointerMove={(e) => {
        const d = drag.current;
        if (!d) return void (canvas.current!.title = titleOf(markAt(e)));
        if (!fingers.current.has(e.pointerId)) return;
        fingers.current.set(e.pointerId, e.offsetX);
        const now = places();
        if (now.length === 2 && d.began.length === 2) return p.setWin({ ...pinched(d.win, d.began as [number, number], now as [number, number]), live: false });
        const by = d.began[0]! - now[0]!;
        if (d.began.length !== 1 || (!d.moved && Math.abs(by) * width < 4)) return;
        d.moved = true;
        const whole = d.win.to - d.win.from;
        p.setWin({ from: d.win.from + by * whole, to: d.win.to + by * whole, live: false });
      }}
      onPointerCancel={(e) => lift(e.pointerId)}
      onPointerUp={(e) => {
        const moved = drag.current?.moved;
        lift(e.pointerId);
        if (!moved) p.select(markAt(e));
      }}
      onKeyDown={(e) => {
        const act = keys[e.key];
        if (!act) return;
        e.preventDefault();
        act();
      }}
    />
  );
}
