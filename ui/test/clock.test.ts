import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { Clock } from "../src/clock.ts";
import { forkClockPath } from "../src/compare.ts";

const real = globalThis.fetch;
afterEach(() => {
  globalThis.fetch = real;
});

/** serve answers requests, and returns which ones there were. */
function serve(answer: (path: string) => [number, object]): string[] {
  const asked: string[] = [];
  globalThis.fetch = (async (path: string, init: RequestInit) => {
    asked.push(`${init.method} ${path} ${init.body ?? ""}`.trim());
    const [status, body] = answer(path);
    return new Response(JSON.stringify(body), { status });
  }) as typeof fetch;
  return asked;
}

const state = { mode: "virtual", now: "2026-01-05T00:00:00Z", factor: 10, paused: true };

test("a fork's clock is controlled beneath the fork, and the cluster's is not", async () => {
  const asked = serve(() => [200, state]);
  const clock = new Clock(forkClockPath("fork-1"));
  await clock.ask("pause");
  await clock.ask("speed", { speed: 100 });
  await clock.ask("advance", { duration: "1h" });
  await new Clock().ask("step");
  const path = "/ui/cluster/minikcm/v1/forks/fork-1/clock";
  assert.deepEqual(asked, [`POST ${path}/pause`, `POST ${path}/speed {"speed":100}`, `POST ${path}/advance {"duration":"1h"}`, "POST /ui/cluster/minikcm/v1/clock/step"]);
});

test("a jump of a fork's clock is not recorded", async () => {
  serve(() => [200, state]);
  const recorded: string[] = [];
  const cluster = new Clock();
  cluster.onAdvance = async (duration) => void recorded.push(duration);
  await new Clock(forkClockPath("fork-1")).ask("advance", { duration: "1h" });
  await cluster.ask("advance", { duration: "24h" });
  assert.deepEqual(recorded, ["24h"]);
});

test("the clock of a fork that has ended is not taken for the cluster's", async () => {
  const asked = serve((path) => (path.endsWith("/v1") ? [200, { clock: state }] : [404, { reason: "NotFound", message: "no fork" }]));
  const clock = new Clock(forkClockPath("fork-1"));
  await clock.follow(new AbortController().signal);
  assert.equal(clock.state, undefined);
  assert.equal(asked.length, 1);
  const cluster = new Clock(); // of a minikcm whose clock cannot be asked for
  await cluster.follow(new AbortController().signal);
  assert.equal(cluster.state?.factor, 10);
  assert.equal(cluster.now(), Date.parse(state.now));
});

test("a clock that stands still for work says so, and one that is paused or moves does not", () => {
  const clock = new Clock();
  const running = { mode: "virtual", now: "2026-01-05T00:00:00Z", factor: 1, inFlight: "1 request" };
  const stalled = (...states: [number, object][]) => {
    for (const [at, change] of states) clock.set({ ...running, ...change }, at);
    return clock.stalled;
  };
  assert.equal(stalled([0, {}], [100, {}]), ""); // a change of the speed, say
  assert.equal(stalled([1000, {}]), "1 request");
  const still = clock.now();
  assert.equal(still, Date.parse(running.now));
  assert.equal(stalled([2000, { now: "2026-01-05T00:00:01Z" }]), "");
  assert.equal(stalled([3000, { paused: true, now: "2026-01-05T00:00:01Z" }], [4000, { paused: true, now: "2026-01-05T00:00:01Z" }]), "");
  assert.equal(stalled([4100, { now: "2026-01-05T00:00:01Z" }]), ""); // just resumed
  assert.equal(stalled([5100, { now: "2026-01-05T00:00:01Z", inFlight: "" }]), ""); // nothing is known to hold it
});
