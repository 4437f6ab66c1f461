import assert from "node:assert/strict";
import { test } from "node:test";
import { goDuration, milliseconds, Recording } from "../src/recording.ts";
import { kept, own } from "../src/state.ts";
import { escaped, inline } from "../src/yaml.ts";

const begin = Date.parse("2026-01-05T00:00:10.250Z");
const begun = () => new Recording({ at: begin, revision: "700", objects: ['{"kind":"Pod"}'], pods: new Set(["default/web-1"]) });
const stepsOf = (r: Recording, now: number) => {
  const text = r.scenario("mine", now);
  const begun = "- sleep: 1ms # the loaded nodes begin to run\n";
  assert.ok(text.includes(begun));
  return text.slice(text.indexOf(begun) + begun.length).trim().split("\n").map((l) => l.trim());
};

test("durations are those of scenarios", () => {
  for (const [ms, text] of [[0, "0s"], [1, "0.001s"], [1500, "1.5s"], [60_000, "1m"], [3_600_000, "1h"], [3_661_000, "1h1m1s"], [86_400_000, "24h"]] as const) {
    assert.equal(goDuration(ms), text);
    assert.equal(milliseconds(text), ms);
  }
  assert.equal(milliseconds("250ms"), 250);
  assert.equal(milliseconds(""), 0);
});

test("a scenario repeats the steps with the times between them", () => {
  const r = begun();
  r.add({ kind: "fault", id: "f-1", lasts: true, fault: { nodes: { action: "crash", names: ["node-1"] }, for: "5m" } }, begin + 2000);
  r.add({ kind: "delete", namespace: "default", name: "web-1", labels: { app: "web" }, owner: "ReplicaSet/web" }, begin + 3500);
  r.add({ kind: "advance", ms: 3600_000 }, begin + 4000);
  r.add({ kind: "fault", id: "f-2", lasts: true, fault: { apiserver: { action: "error", code: 503, percent: 20 } } }, begin + 3605_000);
  assert.deepEqual(stepsOf(r, begin + 3606_000), [
    "- sleep: 2s",
    '- fault: {nodes: {action: crash, names: [node-1]}, for: "5m"}',
    "background: true",
    "- sleep: 1.5s",
    "- delete: {target: pod/web-1, namespace: default}",
    "- sleep: 0.5s",
    "- advance: 1h",
    "- sleep: 1s",
    "- fault: {apiserver: {action: error, code: 503, percent: 20}}",
    "background: true",
    "- sleep: 1s",
  ]);
  assert.match(r.scenario("mine", begin), /start: "2026-01-05T00:00:11Z"/);
});

test("a fault that was stopped lasts as long as it did, and the scenario until faults have ended", () => {
  const r = begun();
  r.add({ kind: "fault", id: "f-1", lasts: true, fault: { nodes: { action: "hang", names: ["a"] } } }, begin);
  r.stopped("f-1", begin + 7000);
  assert.deepEqual(stepsOf(r, begin + 1000), ['- fault: {nodes: {action: hang, names: [a]}, for: "7s"}', "background: true", "- sleep: 7s"]);
  r.stopped("f-9", begin);
  assert.match(r.scenario("mine", begin), /# A fault that the recording does not have was stopped: f-9/);
});

test("a pod that controllers made meanwhile is found by its labels", () => {
  const pod = { namespace: "default", labels: { app: "web", tier: "front" } };
  const kill = (name: string, owner: string, labels = pod.labels) => {
    const r = begun();
    r.add({ kind: "fault", id: "f", lasts: false, fault: { pods: { action: "kill", namespace: "default", names: [name] } }, pod: { ...pod, labels, name, owner } }, begin);
    return stepsOf(r, begin);
  };
  assert.deepEqual(kill("web-1", "ReplicaSet/web"), ["- fault: {pods: {action: kill, namespace: default, names: [web-1]}}"]);
  assert.deepEqual(kill("web-new", "ReplicaSet/web"), ['- fault: {pods: {action: kill, namespace: default, selector: "app=web,tier=front", count: 1}}']);
  assert.deepEqual(kill("db-0", "StatefulSet/db"), ["- fault: {pods: {action: kill, namespace: default, names: [db-0]}}"]);
  const r = begun();
  r.add({ kind: "delete", name: "web-new", owner: "ReplicaSet/web", ...pod }, begin);
  assert.deepEqual(stepsOf(r, begin), ['- fault: {pods: {action: kill, namespace: default, selector: "app=web,tier=front", count: 1, grace: "30s"}}']);
});

test("texts are no variables, numbers or words of YAML", () => {
  assert.equal(escaped("${HOME} $HOME $(x) ${a-b}"), "$${HOME} $HOME $(x) ${a-b}");
  assert.equal(inline({ a: "yes", b: "1e3", c: "web-1", d: ["x", true, null], e: undefined, "f g": "${X}" }), '{a: "yes", b: "1e3", c: web-1, d: [x, true, null], "f g": "$${X}"}');
});

test("a recording has no secrets, and nothing that every cluster has", () => {
  const meta = { uid: "u", name: "n", namespace: "default", resourceVersion: "1" };
  const secret = kept({ kind: "Secret", metadata: { ...meta, annotations: { "kubectl.kubernetes.io/last-applied-configuration": "s3cret", a: "b" } }, data: { password: "czNjcmV0" } });
  assert.doesNotMatch(JSON.stringify(secret), /s3cret|czNjcmV0/);
  assert.equal(secret.metadata.annotations?.a, "b");
  for (const [resource, name, is] of [["namespaces", "default", true], ["namespaces", "shop", false], ["services", "kubernetes", true], ["services", "kubernetes-dashboard", false], ["configmaps", "settings", false]] as const) {
    assert.equal(own(resource, { metadata: { ...meta, name } }), is, name);
  }
});
