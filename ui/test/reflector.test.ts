import assert from "node:assert/strict";
import { test } from "node:test";
import { backoff, type KubeObject, type Page, reflect, type WatchEvent } from "../src/reflector.ts";

const object = (uid: string, resourceVersion = "1"): KubeObject => ({ metadata: { uid, name: uid, resourceVersion } });
const page = (version: string, uids: string[], next = ""): Page => ({ metadata: { resourceVersion: version, continue: next }, items: uids.map((u) => object(u)) });
const settled = () => new Promise((done) => setImmediate(done));

/** Bench is a source whose lists are prepared, whose watches the test ends, and whose timers it fires. */
class Bench {
  lists: (Page | Error)[] = [];
  asked: string[] = [];
  log: string[] = [];
  timers: { ms: number; f: () => void }[] = [];
  event: (e: WatchEvent) => void = () => {};
  end: (opened: boolean) => void = () => {};
  readonly stop: () => void;
  constructor(...lists: (Page | Error)[]) {
    this.lists = lists;
    this.stop = reflect(
      {
        list: async (_limit, token) => {
          this.asked.push(`list ${token}`);
          const next = this.lists.shift();
          if (!next) throw new Error("no list is left");
          if (next instanceof Error) throw next;
          return next;
        },
        watch: (version, onEvent, onEnd) => {
          this.asked.push(`watch ${version}`);
          let over = false;
          this.event = onEvent;
          this.end = (opened) => {
            if (!over) onEnd(opened);
            over = true;
          };
          return () => this.end(true);
        },
      },
      {
        upsert: (o) => this.log.push(`+${o.metadata.uid}`),
        remove: (uid) => this.log.push(`-${uid}`),
        replaced: (uids) => this.log.push(`all ${[...uids].join(",")}`),
        state: (s) => this.log.push(s),
      },
      {
        wait: (ms, f) => {
          const timer = { ms, f };
          this.timers.push(timer);
          return () => this.timers.splice(this.timers.indexOf(timer), 1);
        },
        chance: () => 1,
      },
    );
  }
  async fire() {
    this.timers.shift()!.f();
    await settled();
  }
}

async function bench(...lists: (Page | Error)[]): Promise<Bench> {
  const b = new Bench(...lists);
  await settled();
  return b;
}

test("lists all pages, then watches from the list's version", async () => {
  const b = await bench(page("5", ["a", "b"], "next"), page("5", ["c"]));
  assert.deepEqual(b.asked, ["list ", "list next", "watch 5"]);
  assert.deepEqual(b.log, ["listing", "+a", "+b", "+c", "all a,b,c", "live"]);
});

test("resumes a watch at the last version that it saw, bookmarks included", async () => {
  const b = await bench(page("5", []));
  b.event({ type: "ADDED", object: object("a", "6") });
  b.event({ type: "DELETED", object: object("a", "7") });
  b.event({ type: "BOOKMARK", object: object("", "9") });
  b.end(true);
  assert.deepEqual(b.asked, ["list ", "watch 5", "watch 9"]);
  assert.deepEqual(b.log.slice(2), ["live", "+a", "-a", "live"]);
});

test("lists again after 410", async () => {
  const b = await bench(page("5", ["a"]), page("20", ["b"]));
  b.event({ type: "ERROR", object: { ...object(""), code: 410 } });
  assert.equal(b.timers.length, 1);
  await b.fire();
  assert.deepEqual(b.asked.slice(2), ["list ", "watch 20"]);
  assert.deepEqual(b.log.slice(-3), ["+b", "all b", "live"]);
});

test("lists again if a watch cannot be opened, with longer and longer waits", async () => {
  const b = await bench(page("5", []), new Error("down"), new Error("down"), page("6", []));
  b.end(false);
  const waits: number[] = [];
  while (b.timers.length > 0) {
    waits.push(b.timers[0]!.ms);
    await b.fire();
  }
  assert.equal(b.asked.at(-1), "watch 6");
  assert.ok(waits.every((w, i) => i === 0 || w > waits[i - 1]!), String(waits));
});

test("does nothing after its end", async () => {
  const b = await bench(page("5", []));
  b.stop();
  b.event({ type: "ADDED", object: object("a", "6") });
  assert.equal(b.timers.length, 0);
  assert.deepEqual(b.log.slice(-1), ["live"]);
});

test("backoff grows to a limit and is spread", () => {
  assert.equal(backoff(1, 1), 250);
  assert.equal(backoff(3, 1), 1000);
  assert.equal(backoff(3, 0), 500);
  assert.equal(backoff(40, 1), 10_000);
});
