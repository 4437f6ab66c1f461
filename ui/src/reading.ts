// Objects and lists that a part of the page follows while it is shown.

import { useEffect, useState } from "preact/hooks";
import { StatusError } from "./api.ts";
import { type Kind, kindsOf } from "./kinds.ts";
import { objectsAt } from "./lists.ts";
import { type KubeObject, reflect } from "./reflector.ts";
import { problemText } from "./language.ts";
import { watchable } from "./watchable.ts";

export interface Reading {
  items: KubeObject[];
  /** complete is set once a list has come. */
  complete: boolean;
  error?: string;
  code?: number;
}

const nothing: Reading = { items: [], complete: false };
/** settle is how long changes are collected before the page is drawn again, in milliseconds. */
const settle = 100;

/** useList follows the objects of a path that a query selects, or reads them as of a revision. Without a path it reads nothing. */
export function useList(path: string | undefined, query = "", at = 0): Reading {
  const [reading, set] = useState<Reading>(nothing);
  useEffect(() => {
    set(nothing);
    if (!path) return;
    if (at) return listAt(path, query, at, set);
    const items = new Map<string, KubeObject>();
    const now: Reading = { items: [], complete: false };
    let timer = 0;
    const soon = () => {
      timer ||= window.setTimeout(() => {
        timer = 0;
        set({ ...now, items: [...items.values()] });
      }, now.complete ? settle : 0);
    };
    const stop = reflect(
      watchable(path, query),
      {
        upsert(o) {
          items.set(o.metadata.uid, o);
          soon();
        },
        remove(uid) {
          items.delete(uid);
          soon();
        },
        replaced(uids) {
          for (const uid of items.keys()) if (!uids.has(uid)) items.delete(uid);
          now.complete = true;
          soon();
        },
        state(_, error) {
          delete now.error;
          delete now.code;
          if (error !== undefined && !now.complete) Object.assign(now, problemOf(error));
          soon();
        },
      },
      {
        wait(ms, f) {
          const id = window.setTimeout(f, ms);
          return () => clearTimeout(id);
        },
        chance: Math.random,
      },
    );
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [path, query, at]);
  return reading;
}

function problemOf(error: unknown): Pick<Reading, "error" | "code"> {
  return { error: problemText(error instanceof Error ? error.message : String(error)), ...(error instanceof StatusError ? { code: error.code } : {}) };
}

function listAt(path: string, query: string, at: number, set: (r: Reading) => void): () => void {
  const end = new AbortController();
  const list = async () => {
    const items: KubeObject[] = [];
    for await (const o of objectsAt(path, String(at), end.signal, query)) items.push(o);
    return items;
  };
  list().then(
    (items) => end.signal.aborted || set({ items, complete: true }),
    (error) => end.signal.aborted || set({ items: [], complete: true, ...problemOf(error) }),
  );
  return () => end.abort();
}

let kinds: Promise<Kind[]> | undefined;

/** findKind returns a kind that the cluster serves. Definitions that came later are found, too. */
export async function findKind(is: (k: Kind) => boolean): Promise<Kind | undefined> {
  const known = (await (kinds ??= kindsOf())).find(is);
  if (known) return known;
  kinds = kindsOf();
  kinds.catch(() => {
    kinds = undefined;
  });
  return (await kinds).find(is);
}

export async function allKinds(): Promise<Kind[]> {
  return (kinds ??= kindsOf());
}

/** useKind is findKind by a group and a resource. It is null if there is none. */
export function useKind(group: string, resource: string): Kind | null | undefined {
  const [kind, set] = useState<Kind | null>();
  useEffect(() => {
    let stale = false;
    set(undefined);
    findKind((k) => k.group === group && k.name === resource).then((k) => stale || set(k ?? null), () => stale || set(null));
    return () => {
      stale = true;
    };
  }, [group, resource]);
  return kind;
}
