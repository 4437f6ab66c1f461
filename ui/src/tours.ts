// Guided tours: texts with things to do, and checks of what the learner did. They come from the same
// scenarios as those of "minikcm demo".

import type { Injection } from "./faults.ts";
import { type Language, number, say } from "./language.ts";
import type { KubeObject } from "./reflector.ts";
import { rolloutOf } from "./rollout.ts";

export interface Check {
  /** target is KIND/NAME or KIND; of a fault its part. */
  target: string;
  selector?: string;
  /** for is create, delete, rollout, count=N, condition=TYPE[=STATUS], jsonpath={PATH}=VALUE, changed, killed or fault=ACTION. */
  for: string;
}
export interface Do {
  command?: string;
  objects?: KubeObject[];
  check?: Check;
}
export interface TourStep {
  say: Record<Language, string>;
  do?: Do[];
}
export interface Tour {
  name: string;
  description: Record<Language, string>;
  steps: TourStep[];
}

/** Seen is what a check remembers: how things were when its step was opened. */
export interface Seen {
  done: boolean;
  generation?: number;
  uids?: string[];
  faults?: string[];
}

export interface Found {
  objects: KubeObject[];
  faults: Injection[];
}

const path = /^\{\.([\w.]+)\}=(.*)$/;
const conditionPath = /^\{\.status\.conditions\[\?\(@\.type=="(\w+)"\)\]\.(\w+)\}=(.*)$/;

/** begin returns what a check remembers of what is there when its step is opened. */
export function begin(check: Check, found: Found): Seen {
  if (check.for === "changed") return { done: false, generation: found.objects[0]?.metadata.generation ?? 0 };
  if (check.for === "killed") return { done: false, uids: found.objects.map((o) => o.metadata.uid) };
  if (check.for.startsWith("fault=")) return { done: false, faults: found.faults.map((f) => f.id) };
  return { done: false };
}

type Conditions = Record<string, string>[];

/** holds reports whether what a check wants is there. found.objects are those that its target and selector name. */
export function holds(check: Check, found: Found, seen: Seen): boolean {
  const { objects } = found;
  const [kind = "", rest = ""] = [check.for.split("=")[0], check.for.slice(check.for.indexOf("=") + 1)];
  switch (kind) {
    case "create":
      return objects.length > 0;
    case "delete":
      return objects.length === 0;
    case "count":
      return objects.length === Number(rest);
    case "rollout":
      return objects.length > 0 && objects.every((o) => rolloutOf(o.kind!, o).state === "done");
    case "condition": {
      const [type, status = "True"] = rest.split("=");
      return objects.length > 0 && objects.every((o) => (o.status?.conditions as Conditions | undefined)?.some((c) => c.type === type && c.status === status));
    }
    case "jsonpath": {
      const [, type, field, value] = conditionPath.exec(rest) ?? [];
      if (type) return objects.some((o) => (o.status?.conditions as Conditions | undefined)?.some((c) => c.type === type && c[field!] === value));
      const [, fields = "", wanted] = path.exec(rest) ?? [];
      const at = (o: unknown) => fields.split(".").reduce((v: unknown, f) => (v as Record<string, unknown> | undefined)?.[f], o);
      return objects.some((o) => String(at(o)) === wanted);
    }
    case "changed":
      return objects.some((o) => (o.metadata.generation ?? 0) > (seen.generation ?? 0));
    case "killed": {
      const there = new Set(objects.filter((o) => !o.metadata.deletionTimestamp).map((o) => o.metadata.uid));
      return (seen.uids ?? []).some((uid) => !there.has(uid));
    }
    case "fault":
      return found.faults.some((f) => !seen.faults?.includes(f.id) && (f.fault[check.target] as { action?: string } | undefined)?.action === rest);
  }
  return false;
}

/** wants says what a check waits for. */
export function wants(check: Check): string {
  const what = [check.target, check.selector].filter(Boolean).join(" ");
  const rest = check.for.slice(check.for.indexOf("=") + 1);
  switch (check.for.split("=")[0]) {
    case "create":
      return say("checkCreate", { what });
    case "delete":
      return say("checkDelete", { what });
    case "rollout":
      return say("checkRollout", { what });
    case "count":
      return say("checkCount", { n: number(Number(rest)), what });
    case "changed":
      return say("checkChanged", { what });
    case "killed":
      return say("checkKilled", { what });
    case "fault":
      return say("checkFault", { what: `${check.target} ${rest}` });
    default:
      return say("checkState", { what, state: rest.replace(conditionPath, "$1 $2=$3").replace(path, "$1=$2") });
  }
}

/** paragraphs splits a text; those that are code are indented. Lines of the others are filled by the browser. */
export function paragraphs(text: string): { code: boolean; text: string }[] {
  return text.split("\n\n").map((p) => (p.startsWith("    ") ? { code: true, text: p.replace(/^ {4}/gm, "") } : { code: false, text: p }));
}

/** read reads the tours, which are a file of the page. */
export async function readTours(): Promise<Tour[]> {
  return (await (await fetch("tours.json")).json()) as Tour[];
}

const stored = "tour";

/** TourGuide is where the learner is: in no tour, in the list of them (without a name), or at a step. It stays in other views, and when the page is loaded again. */
export class TourGuide {
  open = false;
  name = "";
  step = 0;
  /** seen are what the checks remember, by step and place. */
  readonly seen = new Map<string, Seen>();
  private readonly listeners = new Set<() => void>();

  constructor() {
    const [open, name = "", step] = (globalThis.localStorage?.getItem(stored) ?? "").split(" ");
    this.open = open === "open";
    this.name = name;
    this.step = Number(step) || 0;
  }

  listen(f: () => void): () => void {
    this.listeners.add(f);
    return () => this.listeners.delete(f);
  }

  private changed(): void {
    globalThis.localStorage?.setItem(stored, `${this.open ? "open" : "closed"} ${this.name} ${this.step}`);
    for (const f of this.listeners) f();
  }

  /** go shows a step of a tour, or without a name the list. */
  go(name = "", step = 0): void {
    if (name !== this.name) this.seen.clear();
    Object.assign(this, { open: true, name, step });
    this.changed();
  }

  close(): void {
    this.open = false;
    this.changed();
  }

  begin(key: string, seen: Seen): void {
    this.seen.set(key, seen);
    this.changed();
  }

  /** done marks a check, and draws what follows from it. */
  done(key: string): void {
    const seen = this.seen.get(key);
    if (!seen || seen.done) return;
    seen.done = true;
    this.changed();
  }
}
