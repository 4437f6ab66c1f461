import { useEffect, useRef, useState } from "preact/hooks";
import { onTheme, palette } from "./colors.ts";
import { list, say } from "./language.ts";
import { isOpen, open } from "./object/link.tsx";
import type { ObjectRef } from "./objectref.ts";
import { type PodRow, type Row, statusWord, zoneLabel } from "./rows.ts";
import type { Look, Scene } from "./scene.ts";
import type { Store } from "./store.ts";
import type { Batch } from "./topics.ts";
import { bytes, cpu } from "./words.ts";

export const podRef = (p: PodRow): ObjectRef => ({ group: "", resource: "pods", namespace: p.namespace, name: p.name });
export const nodeRef = (name: string): ObjectRef => ({ group: "", resource: "nodes", namespace: "", name });

export interface Selection {
  node: string;
  pod: string;
}

/** Picture is the canvas. It draws when something has changed or moves, at most once a frame. */
export function Picture(p: { store: Store; scene: Scene; look: Look; selection: Selection; select: (s: Selection) => void }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const look = useRef(p.look);
  const redraw = useRef(() => {});
  const fingers = useRef(new Map<number, { x: number; y: number }>());
  /** dragged is set by a drag until the next touch: the click at its end selects nothing. */
  const dragged = useRef(false);
  const [scale, setScale] = useState(1);
  const [pointed, point] = useState<Pointed>();
  look.current = p.look;
  useEffect(() => redraw.current());
  useEffect(() => {
    const element = canvas.current!;
    const ctx = element.getContext("2d", { alpha: true })!;
    let colors = palette(element);
    let frame = 0;
    const draw = () => {
      frame = 0;
      const { clientWidth: w, clientHeight: h } = element;
      const ratio = Math.min(2, devicePixelRatio);
      if (element.width !== Math.round(w * ratio) || element.height !== Math.round(h * ratio)) {
        element.width = Math.round(w * ratio);
        element.height = Math.round(h * ratio);
      }
      ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
      const begun = performance.now();
      const moves = p.scene.draw(ctx, w, h, begun, colors, look.current);
      if (element.dataset.drawn === undefined && p.store.nodes.rows.size > 0) performance.mark("cluster-drawn");
      if (p.store.nodes.rows.size > 0) element.dataset.drawn = (performance.now() - begun).toFixed(1);
      if (moves) dirty();
    };
    const dirty = () => {
      frame ||= requestAnimationFrame(draw);
    };
    redraw.current = dirty;
    const names = new Map<string, string>();
    const node = (r: Row) => {
      names.set(r.uid, r.name);
      p.scene.setNode(r as never);
    };
    const now = () => performance.now();
    for (const r of p.store.nodes.rows.values()) node(r);
    for (const r of p.store.pods.rows.values()) p.scene.setPod(r, now());
    const stops = [
      p.store.nodes.listen((b: Batch) => {
        for (const uid of b.removed) p.scene.removeNode(names.get(uid) ?? "");
        b.rows.forEach(node);
        dirty();
      }),
      p.store.pods.listen((b: Batch) => {
        for (const uid of b.removed) p.scene.removePod(uid, now());
        for (const r of b.rows) p.scene.setPod(r as PodRow, now());
        dirty();
      }),
      onTheme(() => {
        colors = palette(element);
        dirty();
      }),
    ];
    const size = new ResizeObserver(dirty);
    size.observe(element);
    dirty();
    return () => {
      cancelAnimationFrame(frame);
      size.disconnect();
      for (const stop of stops) stop();
    };
  }, [p.store, p.scene]);

  const openSelected = (s: Selection) => {
    const pod = p.store.pods.rows.get(s.pod);
    if (pod) open(podRef(pod));
    else if (s.node) open(nodeRef(s.node));
  };
  const zoom = (factor: number, at?: { x: number; y: number }) => {
    const { clientWidth: w, clientHeight: h } = canvas.current!;
    p.scene.zoom(factor, at?.x ?? w / 2, at?.y ?? h / 2);
    setScale(p.scene.view.scale);
    point(undefined);
    redraw.current();
  };
  const pick = (e: MouseEvent) => {
    if (dragged.current) return;
    const found = p.scene.find(e.offsetX, e.offsetY);
    const picked = { node: found.node ?? found.pod?.node ?? "", pod: found.pod?.uid ?? "" };
    p.select(picked);
    if (isOpen()) openSelected(picked);
  };
  const hover = (e: PointerEvent) => {
    const { node, pod } = p.scene.find(e.offsetX, e.offsetY);
    point(node || pod ? { x: e.offsetX, y: e.offsetY, node: node ?? "", pod: pod?.uid ?? "" } : undefined);
  };
  const move = (e: PointerEvent) => {
    const before = fingers.current.get(e.pointerId);
    if (!before) return hover(e);
    const other = [...fingers.current].find(([id]) => id !== e.pointerId)?.[1];
    const now = { x: e.offsetX, y: e.offsetY };
    if (other) {
      const apart = (a: typeof now) => Math.hypot(a.x - other.x, a.y - other.y);
      zoom(apart(now) / Math.max(1, apart(before)), { x: (now.x + other.x) / 2, y: (now.y + other.y) / 2 });
      dragged.current = true;
    } else {
      if (!dragged.current && Math.hypot(now.x - before.x, now.y - before.y) < 4) return;
      dragged.current = p.scene.view.scale > 1;
      p.scene.pan(before.x - now.x, before.y - now.y);
      redraw.current();
    }
    point(undefined);
    fingers.current.set(e.pointerId, now);
  };
  const lift = (e: PointerEvent) => fingers.current.delete(e.pointerId);
  const key = (e: KeyboardEvent) => {
    if (e.key === "o") return openSelected(p.selection);
    const factor = zoomKeys[e.key];
    const to = keyStep(e.key, p.selection, p.scene);
    if (factor !== undefined) zoom(factor, p.scene.centerOf(p.selection.node));
    else if (to) {
      p.select(to);
      p.scene.reveal(to.node);
    } else return;
    e.preventDefault();
  };
  return (
    <div class="picture" data-scale={scale}>
      {/* biome-ignore lint: the canvas is operated by keys, and described by the panel beside it */}
      <canvas
        ref={canvas} tabIndex={0} role="img" aria-label={say("nodesAndTheirPods")} class={scale > 1 ? "enlarged" : undefined} onClick={pick} onDblClick={() => openSelected(p.selection)} onKeyDown={key}
        onPointerDown={(e) => {
          if (fingers.current.size === 0) dragged.current = false;
          fingers.current.set(e.pointerId, { x: e.offsetX, y: e.offsetY });
        }}
        onPointerMove={move} onPointerUp={lift} onPointerCancel={lift}
        onPointerLeave={(e) => {
          lift(e);
          point(undefined);
        }}
        onWheel={(e) => {
          e.preventDefault();
          zoom(e.deltaY > 0 ? 0.8 : 1.25, { x: e.offsetX, y: e.offsetY });
        }}
      />
      <div class="zoom">
        <button type="button" aria-label={say("zoomIn")} title={say("zoomIn")} onClick={() => zoom(1.5)}>
          +
        </button>
        <button type="button" aria-label={say("zoomOut")} title={say("zoomOut")} disabled={scale === 1} onClick={() => zoom(1 / 1.5)}>
          −
        </button>
        {scale > 1 && (
          <button type="button" aria-label={say("zoomAll")} title={say("zoomAll")} onClick={() => zoom(0)}>
            ⤢
          </button>
        )}
      </div>
      {pointed && <Tip at={pointed} store={p.store} scene={p.scene} canvas={canvas.current!} />}
    </div>
  );
}

interface Pointed extends Selection {
  x: number;
  y: number;
}

/** Tip says what is under the mouse. */
function Tip({ at, store, scene, canvas }: { at: Pointed; store: Store; scene: Scene; canvas: HTMLElement }) {
  const pod = store.pods.rows.get(at.pod);
  const node = pod ? undefined : [...store.nodes.rows.values()].find((n) => n.name === at.node);
  if (!pod && !node) return null;
  const use = scene.use(at.node);
  const below = at.y < canvas.clientHeight - 120;
  const left = at.x < canvas.clientWidth / 2;
  const lines = pod
    ? [statusWord(pod), pod.owner && say("ownerOf", { owner: pod.owner }), say("cpuAndMemory", { cpu: cpu(pod.cpu), memory: bytes(pod.memory) }), pod.node]
    : [
        list([say(node!.ready ? "nodeReady" : "nodeNotReady"), !node!.schedulable && say("cordoned"), node!.labels[zoneLabel]]), say("podsOf", { n: use.pods, all: node!.pods }),
        `${say("cpu")} ${cpu(use.cpu)} / ${cpu(node!.cpu)}`, `${say("memory")} ${bytes(use.memory)} / ${bytes(node!.memory)}`,
      ];
  return (
    <div class="tip" style={{ [left ? "left" : "right"]: `${left ? at.x + 22 : canvas.clientWidth - at.x + 14}px`, [below ? "top" : "bottom"]: `${below ? at.y + 16 : canvas.clientHeight - at.y + 10}px` }}>
      <b>{pod ? `${pod.namespace}/${pod.name}` : node!.name}</b>
      {lines.filter(Boolean).map((l, i) => (
        <span key={i}>{l}</span>
      ))}
    </div>
  );
}

const zoomKeys: Record<string, number> = { "+": 1.5, "=": 1.5, "-": 1 / 1.5, "0": 0 };
const arrows: Record<string, [number, number]> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

function keyStep(key: string, s: Selection, scene: Scene): Selection | undefined {
  const arrow = arrows[key];
  if (arrow && s.pod) return { ...s, pod: scene.stepPod(s.node, s.pod, arrow[0] + arrow[1]) };
  if (arrow) return { node: scene.step(s.node, ...arrow), pod: "" };
  if (key === "Enter" && s.node) return { ...s, pod: s.pod || scene.stepPod(s.node, "", 0) };
  if (key === "Escape" && s.node) return s.pod ? { ...s, pod: "" } : { node: "", pod: "" };
  return undefined;
}
