// The scene is the picture of the cluster: boxes of nodes, cells of pods, and the moves
// between them. It knows no DOM but the context that it draws on.

import { hash, ownerColors, type Palette } from "./colors.ts";
import { boxAt, type Cells, cells, type Grid, grid, naturally, type Rect, roomFor, Slots } from "./layout.ts";
import type { NodeRow, PodRow } from "./rows.ts";
import { list, type Plain, say } from "./language.ts";

interface Box {
  name: string;
  row?: NodeRow;
  slots: Slots;
  rect: Rect;
  cpu: number;
  memory: number;
}
interface Sprite {
  row: PodRow;
  box: Box;
  slot: number;
  x: number;
  y: number;
  size: number;
  /** begun is when the sprite left fromX, fromY; 0 if it stands still. */
  begun: number;
  fromX: number;
  fromY: number;
  fromSize: number;
  shown: boolean;
  color: number;
}
export interface Look {
  by: "phase" | "owner";
  matches: (p: PodRow) => boolean;
  filtered: boolean;
  selectedNode: string;
  selectedPod: string;
  /** truths are what faults do to nodes, by name. */
  truths: ReadonlyMap<string, { says: Plain }[]>;
  /** met reports whether a fault of the network meets a pod, if there are such faults. */
  met: ((p: PodRow) => boolean) | undefined;
}

/** stillness is what a user asks for to whom motion is unwelcome. */
const stillness = typeof matchMedia === "function" ? matchMedia("(prefers-reduced-motion: reduce)") : undefined;
const moveTime = 450;
/** round is the size from which cells have round corners. */
const round = 14;
/** maxMoving is the number of sprites that move at a time; others jump. */
const maxMoving = 4000;
const margin = 3;
const unscheduled = "";

export class Scene {
  private readonly boxes = new Map<string, Box>();
  private readonly sprites = new Map<string, Sprite>();
  private readonly leaving = new Set<Sprite>();
  private readonly tray: Box = this.newBox(unscheduled);
  private order: Box[] = [];
  private g: Grid = grid(1, 1, 1);
  private cell: Cells = cells(1, 1, 1);
  private trayCell: Cells = cells(1, 1, 1);
  private area: Rect = { x: 0, y: 0, w: 1, h: 1 };
  private room = 0;
  private trayRoom = 0;
  private stale = true;
  private moving = 0;

  private newBox(name: string): Box {
    return { name, slots: new Slots(), rect: { x: 0, y: 0, w: 0, h: 0 }, cpu: 0, memory: 0 };
  }

  private box(name: string): Box {
    if (name === unscheduled) return this.tray;
    let b = this.boxes.get(name);
    if (!b) {
      b = this.newBox(name);
      this.boxes.set(name, b);
      this.stale = true;
    }
    return b;
  }

  setNode(row: NodeRow): void {
    this.box(row.name).row = row;
  }

  removeNode(name: string): void {
    const b = this.boxes.get(name);
    if (!b) return;
    b.row = undefined;
    if (b.slots.count === 0) this.boxes.delete(name);
    this.stale = true;
  }

  setPod(row: PodRow, now: number): void {
    const target = this.box(row.node);
    let s = this.sprites.get(row.uid);
    const color = hash(row.owner || row.name) % ownerColors;
    if (s && s.box === target) {
      this.count(s, -1);
      s.row = row;
      this.count(s, 1);
      s.color = color;
      return;
    }
    if (s) {
      this.count(s, -1);
      this.vacate(s);
      s.row = row;
      s.box = target;
      s.slot = target.slots.add(row.uid);
      s.color = color;
      this.begin(s, now);
    } else {
      s = { row, box: target, slot: target.slots.add(row.uid), x: 0, y: 0, size: 0, begun: 0, fromX: 0, fromY: 0, fromSize: 0, shown: false, color };
      this.sprites.set(row.uid, s);
    }
    this.count(s, 1);
    this.place(s, now);
  }

  removePod(uid: string, now: number): void {
    const s = this.sprites.get(uid);
    if (!s) return;
    this.sprites.delete(uid);
    this.count(s, -1);
    this.vacate(s);
    this.begin(s, now);
    if (s.begun === 0) return;
    s.x += s.size / 2;
    s.y += s.size / 2;
    s.size = 0;
    this.leaving.add(s);
  }

  private vacate(s: Sprite): void {
    s.box.slots.remove(s.slot);
    if (s.box.slots.count === 0 && !s.box.row && s.box !== this.tray) {
      this.boxes.delete(s.box.name);
      this.stale = true;
    }
  }

  /** count adds what a pod requests to its node, unless the pod has ended. */
  private count(s: Sprite, sign: number): void {
    if (s.row.phase === "succeeded" || s.row.phase === "failed") return;
    s.box.cpu += sign * s.row.cpu;
    s.box.memory += sign * s.row.memory;
  }

  private begin(s: Sprite, now: number): void {
    if (!s.shown || stillness?.matches || (s.begun === 0 && this.moving >= maxMoving)) return;
    const at = this.at(s, now);
    [s.fromX, s.fromY, s.fromSize] = at;
    if (s.begun === 0) this.moving++;
    s.begun = now;
  }

  /** place sets where a sprite goes to. New ones grow at their place. */
  private place(s: Sprite, now: number): void {
    const c = s.box === this.tray ? this.trayCell : this.cell;
    const inner = this.inner(s.box);
    s.x = inner.x + (s.slot % c.cols) * c.size;
    s.y = inner.y + Math.floor(s.slot / c.cols) * c.size;
    s.size = Math.max(1, c.size - (c.size > 4 ? 1 : 0.5));
    if (!s.shown) {
      s.shown = true;
      if (this.moving < maxMoving && !stillness?.matches) {
        [s.fromX, s.fromY, s.fromSize] = [s.x + s.size / 2, s.y + s.size / 2, 0];
        if (s.begun === 0) this.moving++;
        s.begun = now;
      }
    }
  }

  /** inner is the part of a box that has the pods: below the title and above the bars. */
  private inner(b: Box): Rect {
    const pad = Math.min(margin, b.rect.w * 0.06);
    if (b === this.tray) return { x: b.rect.x + pad, y: b.rect.y + 20, w: b.rect.w - 2 * pad, h: b.rect.h - 22 };
    const title = this.hasTitles() ? 16 : pad;
    const bars = this.barHeight() * 2 + pad;
    return { x: b.rect.x + pad, y: b.rect.y + title, w: b.rect.w - 2 * pad, h: b.rect.h - title - bars - 1 };
  }

  private hasTitles(): boolean {
    return this.g.w >= 64 && this.g.h >= 44;
  }
  private barHeight(): number {
    return Math.max(1, Math.min(4, this.g.h / 16));
  }

  /** arrange computes the layout again if the size or what is in it requires it. */
  private arrange(width: number, height: number, now: number): void {
    let most = 0;
    for (const b of this.boxes.values()) most = Math.max(most, b.slots.uids.length);
    const room = roomFor(most);
    const trayRoom = roomFor(this.tray.slots.uids.length);
    const fits = room === this.room || (room < this.room && most * 3 > this.room);
    const trayFits = trayRoom === this.trayRoom || (trayRoom < this.trayRoom && this.tray.slots.count > 0);
    if (!this.stale && fits && trayFits && width === this.area.w && height === this.area.h) return;
    this.stale = false;
    [this.room, this.trayRoom] = [room, trayRoom];
    this.area = { x: 0, y: 0, w: width, h: height };
    const trayHeight = Math.min(height * 0.2, 44 + Math.sqrt(this.trayRoom) * 4);
    this.tray.rect = { x: 0, y: 0, w: width, h: trayHeight };
    this.order = [...this.boxes.values()].sort((a, b) => naturally(a.name, b.name));
    this.g = grid(this.order.length, width, height - trayHeight - margin);
    this.order.forEach((b, i) => {
      const gap = Math.min(margin, this.g.w * 0.08);
      b.rect = {
        x: (i % this.g.cols) * this.g.w, y: trayHeight + margin + Math.floor(i / this.g.cols) * this.g.h,
        w: this.g.w - gap, h: this.g.h - gap,
      };
    });
    const trayInner = this.inner(this.tray);
    this.trayCell = cells(this.trayRoom, trayInner.w, trayInner.h);
    const first = this.order[0];
    if (first) {
      const inner = this.inner(first);
      this.cell = cells(this.room, inner.w, inner.h);
    }
    for (const s of this.sprites.values()) {
      this.begin(s, now);
      this.place(s, now);
    }
  }

  private at(s: Sprite, now: number): [number, number, number] {
    if (s.begun === 0) return [s.x, s.y, s.size];
    const t = Math.min(1, (now - s.begun) / moveTime);
    const e = 1 - (1 - t) ** 3;
    return [s.fromX + (s.x - s.fromX) * e, s.fromY + (s.y - s.fromY) * e, s.fromSize + (s.size - s.fromSize) * e];
  }

  /** draw draws the scene at a time, and reports whether something still moves. */
  draw(ctx: CanvasRenderingContext2D, width: number, height: number, now: number, colors: Palette, look: Look): boolean {
    this.arrange(width, height, now);
    ctx.clearRect(0, 0, width, height);
    this.drawBoxes(ctx, colors, look);
    this.drawPods(ctx, now, colors, look);
    for (const b of this.order) if (look.truths.has(b.name)) this.hatch(ctx, { ...b.rect, y: b.rect.y + (this.hasTitles() ? 17 : 0), h: b.rect.h - (this.hasTitles() ? 17 : 0) }, colors.bad);
    this.drawSelection(ctx, colors, look);
    return this.moving > 0;
  }

  private drawBoxes(ctx: CanvasRenderingContext2D, colors: Palette, look: Look): void {
    ctx.lineWidth = 1;
    ctx.fillStyle = colors.box;
    for (const b of this.order) ctx.fillRect(b.rect.x, b.rect.y, b.rect.w, b.rect.h);
    const bar = this.barHeight();
    for (const b of this.order) {
      const { x, y, w, h } = b.rect;
      const row = b.row;
      ctx.strokeStyle = row && !row.ready ? colors.bad : row?.schedulable === false || !this.hasTitles() ? colors.line : colors.rule;
      ctx.setLineDash(row?.schedulable === false ? [4, 3] : []);
      ctx.lineWidth = row && !row.ready ? 2 : 1;
      ctx.strokeRect(x + 0.5, y + 0.5, w - 1, h - 1);
      if (!row) continue;
      const inside = w - 4;
      if (bar >= 2) {
        ctx.fillStyle = colors.page;
        ctx.fillRect(x + 2, y + h - 2 * bar - 2, inside, bar - 0.5);
        ctx.fillRect(x + 2, y + h - bar - 2, inside, bar - 0.5);
      }
      ctx.fillStyle = colors.use;
      ctx.fillRect(x + 2, y + h - 2 * bar - 2, inside * Math.min(1, row.cpu ? b.cpu / row.cpu : 0), bar - 0.5);
      ctx.fillRect(x + 2, y + h - bar - 2, inside * Math.min(1, row.memory ? b.memory / row.memory : 0), bar - 0.5);
    }
    ctx.setLineDash([]);
    ctx.textBaseline = "middle";
    ctx.font = `${this.area.w > 1200 ? 15 : 12}px system-ui, sans-serif`;
    ctx.fillStyle = colors.dim;
    ctx.fillText(say("unscheduledCount", { n: this.tray.slots.count }), 4, 11);
    ctx.strokeStyle = colors.line;
    ctx.strokeRect(0.5, 0.5, this.tray.rect.w - 1, this.tray.rect.h - 1);
    if (!this.hasTitles()) return;
    for (const b of this.order) {
      ctx.fillStyle = b.row && !b.row.ready ? colors.bad : b.name === look.selectedNode ? colors.accent : colors.text;
      const believed = b.row?.ready === false ? say("notReady") : b.row?.schedulable === false ? say("cordoned") : "";
      // What is true, and what the API says of it.
      const truth = list((look.truths.get(b.name) ?? []).map((t) => say(t.says)));
      const state = truth ? ` ${say("truthAndApi", { truth, api: believed || say("phase_ready") })}` : believed && ` ${believed}`;
      if (truth) ctx.fillStyle = colors.bad;
      ctx.fillText(`${b.name}${state}`, b.rect.x + 4, b.rect.y + 9, b.rect.w - 8);
    }
  }

  /** hatch draws lines across a box, for a node that is not what the API says. */
  private hatch(ctx: CanvasRenderingContext2D, r: Rect, color: string): void {
    ctx.save();
    ctx.beginPath();
    ctx.rect(r.x, r.y, r.w, r.h);
    ctx.clip();
    ctx.strokeStyle = color;
    ctx.lineWidth = 1.5;
    ctx.beginPath();
    for (let x = r.x - r.h; x < r.x + r.w; x += 12) {
      ctx.moveTo(x, r.y + r.h);
      ctx.lineTo(x + r.h, r.y);
    }
    ctx.stroke();
    ctx.restore();
  }

  private drawPods(ctx: CanvasRenderingContext2D, now: number, colors: Palette, look: Look): void {
    // Rectangles of one colour are filled together.
    const groups = new Map<string, Sprite[]>();
    const dimmed: Sprite[] = [];
    for (const s of this.sprites.values()) {
      if (look.filtered && !look.matches(s.row)) {
        dimmed.push(s);
        continue;
      }
      const color = look.by === "phase" ? colors.phase[s.row.phase] : colors.owners[s.color]!;
      const group = groups.get(color);
      if (group) group.push(s);
      else groups.set(color, [s]);
    }
    groups.set(colors.bad, [...(groups.get(colors.bad) ?? []), ...this.leaving]);
    ctx.globalAlpha = 0.15;
    this.fill(ctx, colors.dim, dimmed, now);
    ctx.globalAlpha = 1;
    for (const [color, group] of groups) this.fill(ctx, color, group, now);
    if (this.cell.size >= 10) this.drawMarks(ctx, now, colors, look);
  }

  private fill(ctx: CanvasRenderingContext2D, color: string, sprites: Sprite[], now: number): void {
    ctx.fillStyle = color;
    for (const s of sprites) {
      if (s.begun !== 0 && now - s.begun >= moveTime) {
        s.begun = 0;
        this.moving--;
        this.leaving.delete(s);
      }
      const [x, y, size] = this.at(s, now);
      if (size < round) ctx.fillRect(x, y, size, size);
      else {
        ctx.beginPath();
        ctx.roundRect(x, y, size, size, 4);
        ctx.fill();
      }
    }
  }

  /** drawMarks adds to large cells what colours alone do not show to everyone: a stripe of the owner's colour, and a sign of trouble. */
  private drawMarks(ctx: CanvasRenderingContext2D, now: number, colors: Palette, look: Look): void {
    ctx.textAlign = "center";
    ctx.font = `bold ${Math.floor(this.cell.size * 0.7)}px system-ui, sans-serif`;
    for (const s of this.sprites.values()) {
      if (s.size < 9 || (look.filtered && !look.matches(s.row))) continue;
      const [x, y, size] = this.at(s, now);
      ctx.fillStyle = look.by === "phase" ? colors.owners[s.color]! : colors.phase[s.row.phase];
      if (size < round) ctx.fillRect(x, y + size * 0.78, size, size * 0.22);
      else {
        // A line of the ground sets the stripe apart, whatever the two colours are.
        ctx.beginPath();
        ctx.roundRect(x + 2, y + size * 0.74, size - 4, size * 0.2, 2);
        ctx.fill();
        ctx.strokeStyle = colors.box;
        ctx.lineWidth = 1;
        ctx.stroke();
      }
      if (look.met?.(s.row)) this.frame(ctx, x, y, size, colors);
      const mark = marks[s.row.phase];
      if (!mark) continue;
      ctx.fillStyle = colors.box;
      ctx.fillText(mark, x + size / 2, y + size / 2 - 1);
    }
    ctx.textAlign = "start";
  }

  /** frame draws a dashed frame within a cell: the pod's network is broken, which its colour does not show. */
  private frame(ctx: CanvasRenderingContext2D, x: number, y: number, size: number, colors: Palette): void {
    ctx.strokeStyle = colors.box;
    ctx.lineWidth = 3;
    ctx.strokeRect(x + 2.5, y + 2.5, size - 5, size - 5);
    ctx.strokeStyle = colors.bad;
    ctx.setLineDash([3, 2]);
    ctx.lineWidth = 2;
    ctx.strokeRect(x + 2.5, y + 2.5, size - 5, size - 5);
    ctx.setLineDash([]);
  }

  private drawSelection(ctx: CanvasRenderingContext2D, colors: Palette, look: Look): void {
    ctx.strokeStyle = colors.accent;
    ctx.lineWidth = 2;
    const b = this.boxes.get(look.selectedNode);
    if (b) ctx.strokeRect(b.rect.x, b.rect.y, b.rect.w, b.rect.h);
    const s = this.sprites.get(look.selectedPod);
    if (s) ctx.strokeRect(s.x - 1.5, s.y - 1.5, s.size + 3, s.size + 3);
  }

  /** find returns the node and the pod at a point. */
  find(x: number, y: number): { node?: string; pod?: PodRow } {
    if (y < this.tray.rect.h) return { pod: this.podIn(this.tray, this.trayCell, x, y) };
    const b = this.order[boxAt(this.g, this.order.length, x, y - this.tray.rect.h - margin)];
    if (!b || x > b.rect.x + b.rect.w || y > b.rect.y + b.rect.h) return {};
    return { node: b.name, pod: this.podIn(b, this.cell, x, y) };
  }

  private podIn(b: Box, c: Cells, x: number, y: number): PodRow | undefined {
    const inner = this.inner(b);
    const col = Math.floor((x - inner.x) / c.size);
    const line = Math.floor((y - inner.y) / c.size);
    if (col < 0 || col >= c.cols || line < 0) return undefined;
    const uid = b.slots.uids[line * c.cols + col];
    return uid === undefined ? undefined : this.sprites.get(uid)?.row;
  }

  /** step returns the name of the node beside another in a direction. */
  step(node: string, dx: number, dy: number): string {
    const i = this.order.findIndex((b) => b.name === node);
    if (i < 0) return this.order[0]?.name ?? "";
    return (this.order[i + dx + dy * this.g.cols] ?? this.order[i])!.name;
  }

  /** stepPod returns the pod before or after another on a node. */
  stepPod(node: string, pod: string, by: number): string {
    const uids = (this.boxes.get(node)?.slots.uids ?? []).filter((u) => u !== undefined);
    const i = uids.indexOf(pod);
    return uids[i < 0 ? 0 : Math.min(uids.length - 1, Math.max(0, i + by))] ?? "";
  }

  use(node: string): { cpu: number; memory: number; pods: number } {
    const b = this.boxes.get(node);
    return { cpu: b?.cpu ?? 0, memory: b?.memory ?? 0, pods: b?.slots.count ?? 0 };
  }
}

const marks: Partial<Record<PodRow["phase"], string>> = { failed: "!", terminating: "×", starting: "…", unready: "?" };
