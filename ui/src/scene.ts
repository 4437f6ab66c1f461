// The scene is the picture of the cluster: boxes of nodes, cells of pods, and the moves
// between them. It knows no DOM but the context that it draws on.

import { hash, ownerColors, type Palette } from "./colors.ts";
import { fitting } from "./fitting.ts";
import { boxAt, type Cells, cells, enlarged, maxCell, naturally, type Rect, roomFor, Slots, type View, within, type Zone, zoned } from "./layout.ts";
import { type NodeRow, type PodRow, zoneLabel } from "./rows.ts";
import { list, type Plain, say } from "./language.ts";
import { bytes, cpu } from "./words.ts";

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
/** zoneTitle is the height of a zone's title, zoneGap what is between two zones. */
const zoneTitle = 20;
const zoneGap = 8;
/** largestCell is that of a picture that is enlarged. Cells of namedCell and more have the pod's name. */
const largestCell = 120;
const namedCell = 64;

export class Scene {
  private readonly boxes = new Map<string, Box>();
  private readonly sprites = new Map<string, Sprite>();
  private readonly leaving = new Set<Sprite>();
  private readonly tray: Box = this.newBox(unscheduled);
  private order: Box[] = [];
  private zones: Zone[] = [];
  /** starts are the indexes in order of the zones' first boxes. */
  private starts: number[] = [];
  /** g is the size of boxes. */
  private g = { w: 1, h: 1 };
  view: View = { scale: 1, x: 0, y: 0 };
  private jump = false;
  private cell: Cells = cells(1, 1, 1);
  private trayCell: Cells = cells(1, 1, 1);
  private window = { w: 1, h: 1 };
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
    const b = this.box(row.name);
    if (zoneOf(b) !== (row.labels[zoneLabel] ?? "")) this.stale = true;
    b.row = row;
  }

  /** zoom enlarges the picture about a point of the window; a factor of 0 shows all. */
  zoom(factor: number, x: number, y: number): void {
    this.look(factor === 0 ? { scale: 1, x: 0, y: 0 } : enlarged(this.view, factor, x, y, this.window.w, this.window.h));
  }

  pan(dx: number, dy: number): void {
    this.look(within({ ...this.view, x: this.view.x + dx, y: this.view.y + dy }, this.window.w, this.window.h));
  }

  private look(v: View): void {
    if (v.scale !== this.view.scale) this.stale = this.jump = true;
    this.view = v;
  }

  /** centerOf returns the middle of a node in the window; undefined if there is none. */
  centerOf(node: string): { x: number; y: number } | undefined {
    const r = this.boxes.get(node)?.rect;
    return r && { x: r.x + r.w / 2 - this.view.x, y: r.y + r.h / 2 - this.view.y };
  }

  /** reveal moves the window to a node that is not in it. */
  reveal(node: string): void {
    const r = this.boxes.get(node)?.rect;
    const { x, y } = this.view;
    if (!r || (r.x >= x && r.y >= y && r.x + r.w <= x + this.window.w && r.y + r.h <= y + this.window.h)) return;
    this.pan(r.x + r.w / 2 - x - this.window.w / 2, r.y + r.h / 2 - y - this.window.h / 2);
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
    const bars = this.hasLabels() ? 2 * labelHeight + 2 : this.barHeight() * 2 + pad;
    return { x: b.rect.x + pad, y: b.rect.y + title, w: b.rect.w - 2 * pad, h: b.rect.h - title - bars - 1 };
  }

  private hasTitles(): boolean {
    return this.g.w >= 64 && this.g.h >= 44;
  }
  /** hasLabels reports whether the bars of CPU and memory have words and amounts. */
  private hasLabels(): boolean {
    return this.g.w >= 150 && this.g.h >= 96;
  }
  private barHeight(): number {
    return Math.max(1, Math.min(4, this.g.h / 16));
  }

  /** arrange computes the layout again if the size or what is in it requires it. */
  private arrange(windowWidth: number, windowHeight: number, now: number): void {
    let most = 0;
    for (const b of this.boxes.values()) most = Math.max(most, b.slots.uids.length);
    const room = roomFor(most);
    const trayRoom = roomFor(this.tray.slots.uids.length);
    const fits = room === this.room || (room < this.room && most * 3 > this.room);
    const trayFits = trayRoom === this.trayRoom || (trayRoom < this.trayRoom && this.tray.slots.count > 0);
    if (!this.stale && fits && trayFits && windowWidth === this.window.w && windowHeight === this.window.h) return;
    this.stale = false;
    [this.room, this.trayRoom] = [room, trayRoom];
    this.window = { w: windowWidth, h: windowHeight };
    this.view = within(this.view, windowWidth, windowHeight);
    const [width, height] = [windowWidth * this.view.scale, windowHeight * this.view.scale];
    const trayHeight = Math.min(windowHeight * 0.2, 44 + Math.sqrt(this.trayRoom) * 4);
    this.tray.rect = { x: 0, y: 0, w: width, h: trayHeight };
    this.placeBoxes(width, height - trayHeight - margin, trayHeight + margin);
    const trayInner = this.inner(this.tray);
    this.trayCell = cells(this.trayRoom, trayInner.w, trayInner.h);
    const first = this.order[0];
    if (first) {
      const inner = this.inner(first);
      this.cell = cells(this.room, inner.w, inner.h, Math.min(largestCell, maxCell * this.view.scale));
    }
    for (const s of this.sprites.values()) {
      if (!this.jump) this.begin(s, now);
      else if (s.begun !== 0) this.rest(s);
      this.place(s, now);
    }
    this.jump = false;
  }

  /** placeBoxes gives each zone its region, and each node its box, beneath a height. */
  private placeBoxes(width: number, height: number, top: number): void {
    const sorted = [...this.boxes.values()].sort((a, b) => naturally(a.name, b.name));
    const names = [...new Set(sorted.map(zoneOf))].sort(naturally);
    const groups = names.map((name) => sorted.filter((b) => zoneOf(b) === name));
    this.order = groups.flat();
    this.zones = zoned(names.map((name, i) => ({ name, count: groups[i]!.length })), width, height, zoneTitle, zoneGap);
    this.g = this.zones[0]?.grid ?? { w: 1, h: 1 };
    const gap = Math.min(margin, this.g.w * 0.08);
    const titled = this.hasZones() ? zoneTitle : 0;
    this.starts = [];
    let i = 0;
    for (const z of this.zones) {
      z.rect.y += top;
      this.starts.push(i);
      for (let k = 0; k < z.count; k++) {
        this.order[i++]!.rect = { x: z.rect.x + (k % z.grid.cols) * z.grid.w, y: z.rect.y + titled + Math.floor(k / z.grid.cols) * z.grid.h, w: z.grid.w - gap, h: z.grid.h - gap };
      }
    }
  }

  private hasZones(): boolean {
    return this.zones.length > 1 || (this.zones[0]?.name ?? "") !== "";
  }

  /** rest ends the move of a sprite. */
  private rest(s: Sprite): void {
    s.begun = 0;
    this.moving--;
    this.leaving.delete(s);
  }

  /** isSeen reports whether a rectangle is in the window. */
  private isSeen(x: number, y: number, w: number, h: number): boolean {
    return x < this.view.x + this.window.w && y < this.view.y + this.window.h && x + w > this.view.x && y + h > this.view.y;
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
    ctx.save();
    ctx.translate(-this.view.x, -this.view.y);
    this.drawBoxes(ctx, colors, look);
    this.drawPods(ctx, now, colors, look);
    for (const b of this.order) if (look.truths.has(b.name)) this.hatch(ctx, { ...b.rect, y: b.rect.y + (this.hasTitles() ? 17 : 0), h: b.rect.h - (this.hasTitles() ? 17 : 0) }, colors.bad);
    this.drawSelection(ctx, colors, look);
    ctx.restore();
    return this.moving > 0;
  }

  private drawBoxes(ctx: CanvasRenderingContext2D, colors: Palette, look: Look): void {
    const seen = this.order.filter((b) => this.isSeen(b.rect.x, b.rect.y, b.rect.w, b.rect.h));
    ctx.textBaseline = "middle";
    ctx.lineWidth = 1;
    ctx.fillStyle = colors.box;
    for (const b of seen) ctx.fillRect(b.rect.x, b.rect.y, b.rect.w, b.rect.h);
    for (const b of seen) {
      const { x, y, w, h } = b.rect;
      const row = b.row;
      ctx.strokeStyle = row && !row.ready ? colors.bad : row?.schedulable === false || !this.hasTitles() ? colors.line : colors.rule;
      ctx.setLineDash(row?.schedulable === false ? [4, 3] : []);
      ctx.lineWidth = row && !row.ready ? 2 : 1;
      ctx.strokeRect(x + 0.5, y + 0.5, w - 1, h - 1);
      if (row && this.hasLabels()) this.drawLabels(ctx, b, row, colors);
      else if (row) this.drawBars(ctx, b, row, colors);
    }
    ctx.setLineDash([]);
    const size = this.window.w > 1200 ? 15 : 13;
    ctx.font = `${size}px system-ui, sans-serif`;
    ctx.fillStyle = colors.dim;
    ctx.fillText(say("unscheduledCount", { n: this.tray.slots.count }), this.view.x + 4, 11);
    ctx.strokeStyle = colors.line;
    ctx.strokeRect(0.5, 0.5, this.tray.rect.w - 1, this.tray.rect.h - 1);
    if (this.hasTitles()) for (const b of seen) this.drawTitle(ctx, b, colors, look);
    if (this.hasZones()) this.drawZones(ctx, size, colors);
  }

  /** drawBars draws the requested shares of CPU and memory where there is no room for words. */
  private drawBars(ctx: CanvasRenderingContext2D, b: Box, row: NodeRow, colors: Palette): void {
    const { x, y, w, h } = b.rect;
    const bar = this.barHeight();
    const inside = w - 4;
    if (bar >= 2) {
      ctx.fillStyle = colors.page;
      ctx.fillRect(x + 2, y + h - 2 * bar - 2, inside, bar - 0.5);
      ctx.fillRect(x + 2, y + h - bar - 2, inside, bar - 0.5);
    }
    ctx.fillStyle = colors.use;
    ctx.fillRect(x + 2, y + h - 2 * bar - 2, inside * share(b.cpu, row.cpu), bar - 0.5);
    ctx.fillRect(x + 2, y + h - bar - 2, inside * share(b.memory, row.memory), bar - 0.5);
  }

  /** drawLabels draws them with words and amounts. */
  private drawLabels(ctx: CanvasRenderingContext2D, b: Box, row: NodeRow, colors: Palette): void {
    const { x, y, w, h } = b.rect;
    const lines: [string, string, number][] = [
      [say("cpu"), `${cpu(b.cpu)} / ${cpu(row.cpu)}`, share(b.cpu, row.cpu)],
      [say("memory"), `${bytes(b.memory)} / ${bytes(row.memory)}`, share(b.memory, row.memory)],
    ];
    ctx.font = "11px system-ui, sans-serif";
    const word = Math.max(...lines.map(([t]) => ctx.measureText(t).width)) + 8;
    const amount = Math.max(104, ...lines.map(([, t]) => ctx.measureText(t).width + 8));
    lines.forEach(([name, text, part], i) => {
      const middle = y + h - (2 - i) * labelHeight + labelHeight / 2 - 2;
      ctx.fillStyle = colors.dim;
      ctx.fillText(name, x + 5, middle);
      ctx.textAlign = "right";
      ctx.fillText(text, x + w - 5, middle);
      ctx.textAlign = "start";
      const inside = w - word - amount - 8;
      if (inside < 16) return;
      ctx.fillStyle = colors.rule;
      ctx.fillRect(x + word + 2, middle - 2.5, inside, 5);
      ctx.fillStyle = colors.use;
      ctx.fillRect(x + word + 2, middle - 2.5, inside * part, 5);
    });
  }

  private drawTitle(ctx: CanvasRenderingContext2D, b: Box, colors: Palette, look: Look): void {
    ctx.fillStyle = b.row && !b.row.ready ? colors.bad : b.name === look.selectedNode ? colors.accent : colors.text;
    const believed = b.row?.ready === false ? say("notReady") : b.row?.schedulable === false ? say("cordoned") : "";
    // What is true, and what the API says of it.
    const truth = list((look.truths.get(b.name) ?? []).map((t) => say(t.says)));
    const state = truth ? ` ${say("truthAndApi", { truth, api: believed || say("phase_ready") })}` : believed && ` ${believed}`;
    if (truth) ctx.fillStyle = colors.bad;
    ctx.fillText(fitting(ctx, `${b.name}${state}`, b.rect.w - 8), b.rect.x + 4, b.rect.y + 9);
  }

  /** drawZones writes the zones' names above their nodes, in the window's part of each. */
  private drawZones(ctx: CanvasRenderingContext2D, size: number, colors: Palette): void {
    ctx.font = `bold ${size}px system-ui, sans-serif`;
    for (const z of this.zones) {
      if (!this.isSeen(z.rect.x, z.rect.y, z.rect.w, z.rect.h)) continue;
      const x = Math.max(z.rect.x, this.view.x);
      const right = Math.min(z.rect.x + z.rect.w, this.view.x + this.window.w);
      ctx.fillStyle = colors.text;
      ctx.fillText(fitting(ctx, `${z.name || say("noZone")} · ${say("nodesCount", { n: z.count })}`, right - x - 8), x + 4, z.rect.y + zoneTitle / 2);
      ctx.strokeStyle = colors.line;
      ctx.lineWidth = 1;
      ctx.beginPath();
      ctx.moveTo(z.rect.x, z.rect.y + 0.5);
      ctx.lineTo(z.rect.x + z.rect.w, z.rect.y + 0.5);
      ctx.stroke();
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
      if (s.begun !== 0 && now - s.begun >= moveTime) this.rest(s);
      const [x, y, size] = this.at(s, now);
      if (this.view.scale > 1 && !this.isSeen(x, y, size, size)) continue;
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
    const bold = `bold ${Math.floor(Math.min(40, this.cell.size * 0.7))}px system-ui, sans-serif`;
    ctx.font = bold;
    for (const s of this.sprites.values()) {
      if (s.size < 9 || (look.filtered && !look.matches(s.row))) continue;
      const [x, y, size] = this.at(s, now);
      if (this.view.scale > 1 && !this.isSeen(x, y, size, size)) continue;
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
      const named = size >= namedCell;
      if (named) this.drawName(ctx, s.row.name, x, y, size, colors);
      const mark = marks[s.row.phase];
      if (!mark) continue;
      ctx.font = bold;
      ctx.fillStyle = colors.box;
      ctx.fillText(mark, x + size / 2, named ? y + size * 0.6 : y + size / 2 - 1);
    }
    ctx.textAlign = "start";
  }

  /** drawName writes a pod's name into its cell, in up to three lines. */
  private drawName(ctx: CanvasRenderingContext2D, name: string, x: number, y: number, size: number, colors: Palette): void {
    ctx.font = "11px system-ui, sans-serif";
    ctx.fillStyle = colors.box;
    const letters = Math.max(4, Math.floor((size - 6) / 6.3));
    for (let i = 0; i < 3 && i * letters < name.length; i++) ctx.fillText(name.slice(i * letters, (i + 1) * letters), x + size / 2, y + 10 + i * 12, size - 4);
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

  /** find returns the node and the pod at a point of the window. */
  find(windowX: number, windowY: number): { node?: string; pod?: PodRow } {
    const [x, y] = [windowX + this.view.x, windowY + this.view.y];
    if (y < this.tray.rect.h) return { pod: this.podIn(this.tray, this.trayCell, x, y) };
    const i = this.zones.findIndex(({ rect: r }) => x >= r.x && x < r.x + r.w && y >= r.y && y < r.y + r.h);
    const z = this.zones[i];
    if (!z) return {};
    const k = boxAt(z.grid, z.count, x - z.rect.x, y - z.rect.y - (this.hasZones() ? zoneTitle : 0));
    const b = k < 0 ? undefined : this.order[this.starts[i]! + k];
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
    const from = this.boxes.get(node)?.rect;
    if (!from) return this.order[0]?.name ?? "";
    const [x, y] = [from.x + dx * this.g.w, from.y + dy * this.g.h];
    let [best, least] = [node, Infinity];
    for (const b of this.order) {
      const [ahead, aside] = dx ? [(b.rect.x - from.x) * dx, Math.abs(b.rect.y - y)] : [(b.rect.y - from.y) * dy, Math.abs(b.rect.x - x)];
      if (ahead <= 1) continue;
      const far = ahead + aside * 3;
      if (far < least) [best, least] = [b.name, far];
    }
    return best;
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

/** labelHeight is the height of a bar with words. */
const labelHeight = 16;

/** share is the part of a whole, at most 1. */
function share(part: number, whole: number): number {
  return whole ? Math.min(1, part / whole) : 0;
}

/** zoneOf is the zone of a box's node; empty without one. */
function zoneOf(b: Box): string {
  return b.row?.labels[zoneLabel] ?? "";
}

const marks: Partial<Record<PodRow["phase"], string>> = { failed: "!", terminating: "×", starting: "…", unready: "?" };
