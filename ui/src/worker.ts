// The worker lists and watches, decodes objects to rows, and sends what has changed to the
// page at most every flushEvery milliseconds: a burst of events leaves the page's frames alone.

import { StatusError } from "./api.ts";
import { objectsAt } from "./lists.ts";
import { reflect } from "./reflector.ts";
import type { Row } from "./rows.ts";
import { type Batch, type Command, type TopicName, topics } from "./topics.ts";
import { watchable } from "./watchable.ts";

const flushEvery = 40;

const running = new Map<TopicName, () => void>();
/** at is the revision that is shown, 0 is now. */
let at = 0;

function problemOf(error: unknown): Pick<Batch, "error" | "code"> {
  return { error: error instanceof Error ? error.message : String(error), code: error instanceof StatusError ? error.code : 0 };
}

/** startPast lists a topic once, as of a revision. */
function startPast(topic: TopicName, revision: number): () => void {
  const { path, row } = topics[topic];
  const end = new AbortController();
  const list = async () => {
    const batch: Batch = { topic, at: revision, rows: [], removed: [], state: "past" };
    try {
      for await (const o of objectsAt(path, String(revision), end.signal)) batch.rows.push(row(o));
      batch.all = batch.rows.map((r) => r.uid);
    } catch (error) {
      Object.assign(batch, { rows: [], state: "waiting", ...problemOf(error) });
    }
    if (!end.signal.aborted) self.postMessage(batch);
  };
  void list();
  return () => end.abort();
}

function start(topic: TopicName): () => void {
  if (at !== 0) return startPast(topic, at);
  const { path, row } = topics[topic];
  let changed = new Map<string, Row>();
  let removed = new Set<string>();
  let all: string[] | undefined;
  let state: Batch["state"] = "listing";
  let error: unknown;
  let timer = 0;

  function flush() {
    timer = 0;
    const batch: Batch = { topic, at: 0, rows: [...changed.values()], removed: [...removed], state };
    if (all) batch.all = all;
    if (error !== undefined) Object.assign(batch, problemOf(error));
    changed = new Map();
    removed = new Set();
    all = undefined;
    self.postMessage(batch);
  }
  function soon() {
    timer ||= self.setTimeout(flush, flushEvery);
  }

  const stop = reflect(
    watchable(path),
    {
      upsert(o) {
        removed.delete(o.metadata.uid);
        changed.set(o.metadata.uid, row(o));
        soon();
      },
      remove(uid) {
        changed.delete(uid);
        removed.add(uid);
        soon();
      },
      replaced(uids) {
        all = [...uids];
        flush(); // before the events that follow the list
      },
      state(next, problem) {
        state = next;
        error = problem;
        soon();
      },
    },
    {
      wait(ms, f) {
        const id = self.setTimeout(f, ms);
        return () => self.clearTimeout(id);
      },
      chance: Math.random,
    },
  );
  return () => {
    stop();
    self.clearTimeout(timer);
  };
}

self.onmessage = (m: MessageEvent<Command>) => {
  if ("at" in m.data) {
    at = m.data.at;
    const again = new Set(m.data.again);
    for (const [topic, stop] of running) {
      if (!again.has(topic)) continue;
      stop();
      running.set(topic, start(topic));
    }
    return;
  }
  const { topic, watch } = m.data;
  if (!watch) {
    running.get(topic)?.();
    running.delete(topic);
  } else if (!running.has(topic)) {
    running.set(topic, start(topic));
  }
};
