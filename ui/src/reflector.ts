// A reflector keeps a client up to date with a resource by list and watch, as client-go's
// does: it lists in pages, watches from the list's resourceVersion, resumes a watch that
// ends, and lists again when its resourceVersion has expired (410).

import type { Plain } from "./language.ts";

export interface Meta {
  uid: string;
  name: string;
  namespace?: string;
  resourceVersion: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: { kind: string; name: string; uid: string; controller?: boolean }[];
}
export interface KubeObject {
  metadata: Meta;
  // biome-ignore lint: the fields of kinds differ
  [field: string]: any;
}
export interface Page {
  metadata: { resourceVersion: string; continue?: string };
  items: KubeObject[];
}
export interface WatchEvent {
  type: string;
  object: KubeObject & { code?: number };
}

/** Source makes the requests. watch calls onEnd once, with opened false if no event can have come. */
export interface Source {
  list(limit: number, continueToken: string): Promise<Page>;
  watch(resourceVersion: string, onEvent: (e: WatchEvent) => void, onEnd: (opened: boolean) => void): () => void;
}

/** Sink gets what changes. replaced names all objects that a complete list contained. */
export interface Sink {
  upsert(object: KubeObject): void;
  remove(uid: string): void;
  replaced(uids: Set<string>): void;
  state(state: "listing" | "live" | "waiting", error?: unknown): void;
}

export interface Timing {
  /** wait calls f after ms milliseconds unless the returned function is called first. */
  wait(ms: number, f: () => void): () => void;
  /** chance is a number from 0 to 1. */
  chance(): number;
}

export const pageSize = 500;
const minBackoff = 250;
const maxBackoff = 10_000;

/** backoff doubles with each failure, and is spread so that pages do not return together. */
export function backoff(failures: number, chance: number): number {
  const full = Math.min(maxBackoff, minBackoff * 2 ** Math.max(0, failures - 1));
  return full / 2 + (full / 2) * chance;
}

/** reflect runs until the returned function is called. */
export function reflect(source: Source, sink: Sink, timing: Timing): () => void {
  let stopped = false;
  let failures = 0;
  let cancel = () => {};

  function retry(error: unknown, next: () => void) {
    if (stopped) return;
    failures++;
    sink.state("waiting", error);
    cancel = timing.wait(backoff(failures, timing.chance()), next);
  }

  async function list() {
    if (stopped) return;
    sink.state("listing");
    try {
      const seen = new Set<string>();
      let token = "";
      let version = "";
      do {
        const page = await source.list(pageSize, token);
        if (stopped) return;
        for (const object of page.items) {
          seen.add(object.metadata.uid);
          sink.upsert(object);
        }
        version = page.metadata.resourceVersion;
        token = page.metadata.continue ?? "";
      } while (token);
      sink.replaced(seen);
      watch(version);
    } catch (error) {
      retry(error, () => void list());
    }
  }

  function watch(version: string) {
    if (stopped) return;
    let expired = false;
    let got = false;
    sink.state("live");
    const close = source.watch(
      version,
      (e) => {
        if (stopped || expired) return;
        if (e.type === "ERROR") {
          // 410, or another end of the history that the watch resumes from.
          expired = true;
          close();
          return;
        }
        got = true;
        failures = 0;
        version = e.object.metadata.resourceVersion;
        if (e.type === "DELETED") sink.remove(e.object.metadata.uid);
        else if (e.type !== "BOOKMARK") sink.upsert(e.object);
      },
      (opened) => {
        if (stopped) return;
        if (expired) retry(new Error("watchExpired" satisfies Plain), () => void list());
        // A handshake that fails does not say why; a list does.
        else if (!opened) retry(new Error("watchNotOpened" satisfies Plain), () => void list());
        else if (got) watch(version);
        else retry(undefined, () => watch(version));
      },
    );
    cancel = close;
  }

  void list();
  return () => {
    stopped = true;
    cancel();
  };
}
