import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { getJSON } from "./api.ts";
import type { Clock } from "./clock.ts";
import { useChanges } from "./changes.ts";
import { endOf, type Faults, type Injection } from "./faults.ts";
import { onTheme, type Palette, palette } from "./colors.ts";
import type { KubeObject, Page } from "./reflector.ts";
import { type Axis, firstAt, type Lane, Lanes, type Mark, nearest, ticks } from "./timelinemodel.ts";
import { ObjectLink } from "./object/link.tsx";
import { Changes, refOf, whyLink } from "./whyview.tsx";
import { clockTime } from "./words.ts";
import { effectOf, objectName, type Write, writer, writesSince } from "./writes.ts";
import { list, say } from "./language.ts";

const laneHeight = 26;
/** nameWidthOf is the room for the lanes' names on a strip of some width. */
const nameWidthOf = (width: number) => (width < 600 ? 96 : 190);
const axisHeight = 24;
const faultHeight = 18;
/** topOf is where the lanes begin, below the axis and the faults. */
const topOf = (faults: Injection[]) => axisHeight + (faults.length > 0 ? faultHeight : 0);
/** backlog is the number of revisions that the view begins with. */
const backlog = 5000;
const pollEvery = 1000;
const minSpan = 20;

interface Window {
  from: number;
  to: number;
  /** live keeps the end of the record in view. */
  live: boolean;
}
const noise = { leases: "heartbeats", events: "events" } as const;

/** TimelineView shows the writes on a lane for each program that makes some. */
export function TimelineView({ clock, faults, report }: { clock: Clock; faults: Faults; report: (error: unknown) => void }) {
  const [shown, show] = useState<Record<string, boolean>>({ leases: false, events: true });
  const [chosen, choose] = useState<Axis>();
  useChanges(faults);
  const suited = useAxis(clock);
  const axis = chosen ?? suited;
  // After a reset, the cluster is another one, whose revisions begin again.
  const cluster = useRef("");
  const [resets, setResets] = useState(0);
  const lanes = useMemo(() => new Lanes(new Set(Object.keys(noise).filter((r) => !shown[r])), axis), [shown, axis, resets]);
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
        {Object.entries(noise).map(([resource, label]) => (
          <label key={resource}>
            <input type="checkbox" checked={shown[resource]} onChange={(e) => show({ ...shown, [resource]: e.currentTarget.checked })} /> {say(label)}
          </label>
        ))}
        <label>
          <input type="checkbox" checked={win.live} onChange={(e) => setWin({ ...win, live: e.currentTarget.checked })} />{" "}{say("followNewest")}
        </label>
        <button type="button" onClick={() => setWin({ from: lanes.begin, to: lanes.end + 1, live: false })}>
          {say("wholeRecord")}
        </button>
        <span class="dim">{say("writesHint", { n: lanes.total })}</span>
        <span class="key created">{say("created")}</span> <span class="key changed">{say("changed")}</span> <span class="key removed">{say("removed")}</span>
      </form>
      <div class="stage">
        <Strip lanes={lanes} axis={axis} faults={faults.items} win={win} setWin={setWin} selected={selected} select={select} />
        <aside aria-live="polite" aria-label={say("selectedWrite")}>
          {selected ? <Selected write={selected.write} /> : <p class="dim">{say("selectAWriteClick")}</p>}
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

function Selected({ write: w }: { write: Write }) {
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
        · <a href={`#cluster?at=${w.revision}`}>{say("theClusterAfterThis")}</a>
      </p>
    </section>
  );
}

interface StripProps {
  lanes: Lanes;
  axis: Axis;
  faults: Injection[];
  win: Window;
  setWin: (w: Window) => void;
  selected: Mark | undefined;
  select: (m: Mark | undefined) => void;
}

function Strip(p: StripProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const colors = useRef<Palette | undefined>(undefined);
  const [size, setSize] = useState({ w: 0, h: 0 });
  const drag = useRef<{ x: number; win: Window; moved: boolean } | undefined>(undefined);
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
  const zoom = (factor: number, center: number) => {
    const next = Math.max(minSpan, span * factor);
    const share = (center - p.win.from) / span;
    p.setWin({ from: center - next * share, to: center + next * (1 - share), live: p.win.live && factor > 1 });
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
      ref={canvas} tabIndex={0} role="img" aria-label={list([say("writesByProgram", { lanes: list(p.lanes.shown().map((l) => `${l.name} ${l.marks.length}`)) }), p.faults.length > 0 && say("faultsList", { faults: list(p.faults.map((f) => f.title)) })])}
      onWheel={(e) => {
        e.preventDefault();
        zoom(e.deltaY > 0 ? 1.25 : 0.8, timeAt(e.offsetX));
      }}
      onPointerDown={(e) => {
        drag.current = { x: e.offsetX, win: p.win, moved: false };
        canvas.current!.setPointerCapture(e.pointerId);
      }}
      onPointerMove={(e) => {
        const d = drag.current;
        if (!d || (!d.moved && Math.abs(e.offsetX - d.x) < 4)) return;
        d.moved = true;
        const by = ((d.x - e.offsetX) / width) * span;
        p.setWin({ from: d.win.from + by, to: d.win.to + by, live: false });
      }}
      onPointerUp={(e) => {
        const moved = drag.current?.moved;
        drag.current = undefined;
        if (moved) return;
        const lane = p.lanes.shown()[Math.floor((e.offsetY - topOf(p.faults)) / laneHeight)];
        p.select(lane && nearest(lane.marks, timeAt(e.offsetX), (span / width) * 8));
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

function drawLanes(element: HTMLCanvasElement, { lanes, axis, faults, win, selected }: StripProps, colors: Palette): void {
  const { clientWidth: w, clientHeight: h } = element;
  const nameWidth = nameWidthOf(w);
  const ratio = Math.min(2, devicePixelRatio);
  element.width = Math.round(w * ratio);
  element.height = Math.round(h * ratio);
  const ctx = element.getContext("2d")!;
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  ctx.font = "12px system-ui, sans-serif";
  ctx.textBaseline = "middle";
  const scale = Math.max(1, w - nameWidth) / (win.to - win.from);
  const xOf = (t: number) => nameWidth + (t - win.from) * scale;
  const shown = lanes.shown();
  const top = topOf(faults);
  ctx.strokeStyle = colors.line;
  ctx.fillStyle = colors.dim;
  ctx.lineWidth = 0.5;
  for (const t of ticks(win.from, win.to, Math.max(2, (w - nameWidth) / 130), axis)) {
    const x = Math.round(xOf(t)) + 0.5;
    ctx.beginPath();
    ctx.moveTo(x, axisHeight - 4);
    ctx.lineTo(x, top + shown.length * laneHeight);
    ctx.stroke();
    ctx.fillText(axis === "time" ? clockTime(t, win.to - win.from < 10_000) : revisionLabel(shown, t), x + 3, axisHeight / 2);
  }
  drawFaults(ctx, lanes, faults, xOf, [nameWidth, w, top + shown.length * laneHeight], colors);
  shown.forEach((lane, i) => {
    const y = top + i * laneHeight;
    if (i % 2 === 0) {
      ctx.fillStyle = colors.box;
      ctx.globalAlpha = 0.5;
      ctx.fillRect(0, y, w, laneHeight);
      ctx.globalAlpha = 1;
    }
    ctx.fillStyle = colors.text;
    ctx.fillText(lane.name, 6, y + laneHeight / 2, nameWidth - 12);
    let lastX = -1;
    let lastEffect = "";
    for (let k = firstAt(lane.marks, win.from); k < lane.marks.length; k++) {
      const m = lane.marks[k]!;
      if (m.at > win.to) break;
      const x = Math.round(xOf(m.at));
      const effect = m.write.effect ?? "changed";
      if (x === lastX && effect === lastEffect) continue;
      [lastX, lastEffect] = [x, effect];
      ctx.fillStyle = colors.effects[effect] ?? colors.text;
      // Effects differ in height, too.
      const [above, height] = effect === "created" ? [3, laneHeight - 6] : effect === "removed" ? [3, (laneHeight - 6) / 2] : [laneHeight / 2, (laneHeight - 6) / 2];
      ctx.fillRect(x - 1, y + above, 2.5, height);
    }
  });
  if (selected) drawSelected(ctx, lanes, selected, top, xOf, colors);
}

/** drawFaults draws each fault from its injection to its end, and a line down to the lowest lane where it began. */
function drawFaults(ctx: CanvasRenderingContext2D, lanes: Lanes, faults: Injection[], xOf: (t: number) => number, [left, right, bottom]: [number, number, number], colors: Palette): void {
  if (faults.length === 0) return;
  ctx.fillStyle = colors.text;
  ctx.fillText(say("faultsLane"), 6, axisHeight + faultHeight / 2);
  for (const f of faults) {
    const from = xOf(lanes.placeOf(Date.parse(f.since)));
    const end = endOf(f);
    const to = Math.min(right, end === undefined ? right : xOf(lanes.placeOf(end)));
    if (to < left || from > right) continue;
    const x = Math.max(left, from);
    ctx.fillStyle = colors.bad;
    ctx.globalAlpha = 0.25;
    ctx.fillRect(x, axisHeight + 1, Math.max(3, to - x), faultHeight - 2);
    ctx.globalAlpha = 1;
    if (from >= left) ctx.fillRect(from - 1, axisHeight + 1, 2, bottom - axisHeight);
    ctx.fillStyle = colors.text;
    ctx.fillText(`${f.id} ${f.title}`, x + 4, axisHeight + faultHeight / 2, Math.max(40, right - x - 4));
  }
}

/** revisionLabel is a revision with the time of the write that is next to it. */
function revisionLabel(lanes: Lane[], revision: number): string {
  const near = lanes.flatMap((l) => nearest(l.marks, revision, Infinity) ?? []).sort((a, b) => Math.abs(a.at - revision) - Math.abs(b.at - revision))[0];
  return near ? `${revision} · ${clockTime(Date.parse(near.write.time))}` : String(revision);
}

/** drawSelected marks a write, and connects it with its causes. */
function drawSelected(ctx: CanvasRenderingContext2D, lanes: Lanes, selected: Mark, top: number, xOf: (t: number) => number, colors: Palette): void {
  const shown = lanes.shown();
  const yOf = (m: Mark) => top + shown.findIndex((l) => l.name === writer(m.write)) * laneHeight + laneHeight / 2;
  const causes = new Set(selected.write.causes ?? []);
  ctx.strokeStyle = colors.accent;
  ctx.lineWidth = 2;
  ctx.strokeRect(xOf(selected.at) - 5, yOf(selected) - laneHeight / 2 + 1, 10, laneHeight - 2);
  ctx.lineWidth = 1;
  for (const lane of shown) {
    for (const m of lane.marks) {
      if (!causes.has(m.write.revision)) continue;
      ctx.beginPath();
      ctx.moveTo(xOf(m.at), yOf(m));
      ctx.lineTo(xOf(selected.at), yOf(selected));
      ctx.stroke();
    }
  }
}
