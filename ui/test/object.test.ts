import assert from "node:assert/strict";
import { test } from "node:test";
import { diff, hunks } from "../src/diff.ts";
import { inNamespace, kubectl, quoted, target } from "../src/kubectl.ts";
import { conditionsOf, containersOf, healthOf, toneOf } from "../src/object/health.ts";
import { LogLines, maxLength, maxLines } from "../src/object/loglines.ts";
import { shown } from "../src/object/shown.ts";
import { addressOf, formatRef, parseRef } from "../src/objectref.ts";
import { toYaml } from "../src/printyaml.ts";
import type { KubeObject } from "../src/reflector.ts";
import { namedBy, podLabels, podSelector, selects, selectorText, selectsPods } from "../src/relations.ts";

const object = (kind: string, fields: object = {}, metadata: object = {}) => ({ apiVersion: "v1", kind, metadata: { name: "web", namespace: "shop", uid: "u", resourceVersion: "1", ...metadata }, ...fields }) as KubeObject;

test("the address of an object is read as it was written", () => {
  for (const ref of [
    { group: "apps", resource: "deployments", namespace: "shop", name: "web" },
    { group: "", resource: "nodes", namespace: "", name: "node-0" },
    { group: "rbac.authorization.k8s.io", resource: "clusterroles", namespace: "", name: "system:node/x" },
  ]) assert.deepEqual(parseRef(formatRef(ref)), ref);
  for (const bad of [null, "", "web", "a/b/c", "///", "/pods/x/", "/pods/x/%E0%A4%A", "a/b/c/d/e"]) assert.equal(parseRef(bad), undefined, String(bad));
});

test("the panel's address keeps the view's own", () => {
  const at = { view: "rollouts", query: new URLSearchParams({ uid: "7", tab: "yaml", rev: "5", object: "x" }) };
  const ref = { group: "", resource: "pods", namespace: "shop", name: "web-0" };
  assert.equal(addressOf(at), "./#rollouts?uid=7");
  assert.equal(addressOf(at, ref, "logs"), "./#rollouts?uid=7&object=%2Fpods%2Fshop%2Fweb-0&tab=logs");
  assert.equal(addressOf(at, ref, "overview", 12), "./#rollouts?uid=7&object=%2Fpods%2Fshop%2Fweb-0&rev=12");
});

test("objects are printed as YAML that reads back as the same", () => {
  const text = toYaml({
    spec: { list: [{ b: 1, a: "x" }, "y", [1, [2]], {}, []], empty: {}, none: [], text: "a\nb\n", short: "a\nb", odd: " a\nb", port: 80, on: true, nothing: null },
    metadata: { name: "web", labels: { "a/b": "true", n: "1", at: "2026-01-01T00:00:00Z", tilde: "~", colon: "a: b", hash: "a #b", dash: "-", url: "http://x/y", quote: "it's" } },
    kind: "Thing", apiVersion: "v1",
  });
  assert.equal(text, `apiVersion: v1
kind: Thing
metadata:
  labels:
    a/b: "true"
    at: "2026-01-01T00:00:00Z"
    colon: "a: b"
    dash: "-"
    hash: "a #b"
    "n": "1"
    quote: "it's"
    tilde: "~"
    url: http://x/y
  name: web
spec:
  empty: {}
  list:
  - a: x
    b: 1
  - "y"
  - - 1
    - - 2
  - {}
  - []
  none: []
  nothing: null
  odd: " a\\nb"
  "on": true
  port: 80
  short: |-
    a
    b
  text: |
    a
    b
`);
});

test("a difference has the changed lines and a few around them", () => {
  const before = Array.from({ length: 30 }, (_, i) => `line ${i}`);
  const after = [...before];
  after[10] = "changed";
  after.splice(25, 1);
  const lines = diff(before.join("\n"), after.join("\n"));
  assert.deepEqual(lines.filter((l) => l.sign !== " ").map((l) => l.sign + l.text), ["-line 10", "+changed", "-line 25"]);
  assert.equal(lines.filter((l) => l.sign !== "+").map((l) => l.text).join("\n"), before.join("\n"));
  assert.equal(lines.filter((l) => l.sign !== "-").map((l) => l.text).join("\n"), after.join("\n"));
  assert.deepEqual(hunks(lines).map((h) => [h.skipped, h.lines.length]), [[7, 8], [8, 7]]);
  assert.deepEqual(hunks(diff("a\n", "a\n")), []);
  assert.deepEqual(diff("", "a\n"), [{ sign: "+", text: "a" }]);
  assert.deepEqual(diff("a\nb\nc", "b").map((l) => l.sign).join(""), "- -");
});

test("selectors match as the API server's do", () => {
  const s = { matchLabels: { app: "web" }, matchExpressions: [{ key: "tier", operator: "NotIn", values: ["db"] }, { key: "x", operator: "DoesNotExist" }] };
  assert.ok(selects(s, { app: "web" }) && selects(s, { app: "web", tier: "front" }));
  assert.ok(!selects(s, { app: "web", tier: "db" }) && !selects(s, { app: "web", x: "" }) && !selects(s, {}));
  assert.ok(selects({}, {}) && !selects({ matchExpressions: [{ key: "constructor", operator: "Exists" }] }, {}));
  assert.equal(selectorText(s), "app=web,tier notin (db),!x");
  assert.equal(podSelector(object("Node")), "fieldSelector=spec.nodeName%3Dweb");
  assert.equal(podSelector(object("Service", { spec: {} })), undefined);
  assert.equal(podSelector(object("NetworkPolicy", { spec: { podSelector: {} } })), "");
  assert.equal(podSelector(object("ConfigMap")), undefined);
});

test("related objects are found by selectors and names", () => {
  const labels = podLabels(object("Deployment", { spec: { template: { metadata: { labels: { app: "web" } }, spec: { containers: [] } } } }))!;
  assert.deepEqual(labels, { app: "web" });
  assert.equal(podLabels(object("Service")), undefined);
  assert.ok(selectsPods(object("Service", { spec: { selector: { app: "web" } } }), labels));
  assert.ok(!selectsPods(object("Service", { spec: {} }), labels) && selectsPods(object("NetworkPolicy", { spec: { podSelector: {} } }), labels));
  assert.ok(!selectsPods(object("PodDisruptionBudget", { spec: {} }), labels));
  const spec = { nodeName: "n", volumes: [{ configMap: { name: "c" } }, { secret: { secretName: "s" } }], containers: [{ envFrom: [{ configMapRef: { name: "c" } }], env: [{ valueFrom: { secretKeyRef: { name: "t" } } }] }] };
  assert.deepEqual(namedBy(object("Pod", { spec })).map((n) => `${n.resource}/${n.name}`), ["nodes/n", "configmaps/c", "secrets/s", "secrets/t"]);
});

test("how an object is", () => {
  assert.deepEqual(healthOf(object("Node", { status: { conditions: [{ type: "Ready", status: "Unknown" }] } })), { word: "Ready unknown", tone: "warn" });
  assert.deepEqual(healthOf(object("Cache", { status: { conditions: [{ type: "Ready", status: "False" }] } })), { word: "Not ready", tone: "bad" });
  assert.deepEqual(healthOf(object("ConfigMap")), { word: "", tone: "quiet" });
  assert.deepEqual(healthOf(object("Namespace", { status: { phase: "Active" } })), { word: "Active", tone: "quiet" });
  assert.deepEqual(conditionsOf(object("X", { status: { conditions: "none" } })), []);
  assert.deepEqual(["MemoryPressure", "Ready", "ReplicaFailure"].map((type) => toneOf({ type, status: "True" })), ["bad", "good", "bad"]);
  assert.deepEqual(["MemoryPressure", "Ready", "Paused"].map((type) => toneOf({ type, status: "False" })), ["quiet", "warn", "quiet"]);
  const pod = object("Pod", {
    spec: { initContainers: [{ name: "i", image: "a" }], containers: [{ name: "c", image: "b" }, { name: "d" }] },
    status: {
      initContainerStatuses: [{ name: "i", state: { terminated: { exitCode: 0, reason: "Completed" } } }],
      containerStatuses: [{ name: "c", restartCount: 3, state: { waiting: { reason: "CrashLoopBackOff", message: "back-off 40s" } }, lastState: { terminated: { exitCode: 137, reason: "OOMKilled" } } }],
    },
  });
  assert.deepEqual(containersOf(pod).map((c) => [c.name, c.says, c.tone, c.restarts, c.last]), [
    ["i", "Completed, exit code 0", "quiet", 0, undefined], ["c", "CrashLoopBackOff: back-off 40s", "bad", 3, "OOMKilled, exit code 137"], ["d", "not started", "busy", 0, undefined],
  ]);
});

test("a log keeps its newest lines", () => {
  const log = new LogLines();
  for (const piece of ["a", "b\nc", "", "\n", "\nd\n"]) log.add(piece);
  assert.deepEqual(log.lines, ["ab", "c", "", "d"]);
  log.add("x".repeat(maxLength + 9));
  log.add("y\n");
  assert.equal(log.lines.at(-1)!.length, maxLength + 1);
  log.add("z\n".repeat(maxLines));
  assert.deepEqual([log.lines.length, log.forgotten, log.lines[0]], [maxLines, 5, "z"]);
});

test("commands name objects as kubectl takes them", () => {
  const ref = { group: "example.com", resource: "caches", namespace: "shop", name: "main" };
  assert.equal(kubectl("get", { group: "example.com", name: "caches", kind: "Cache" }, ref, "-o yaml"), "kubectl get caches.example.com/main -n shop -o yaml");
  assert.equal(target({ group: "networking.k8s.io", name: "networkpolicies", kind: "NetworkPolicy" }, "x"), "networkpolicy/x");
  assert.equal(inNamespace("default"), "");
  assert.equal(quoted("it's"), `'it'\\''s'`);
});

test("the values of Secrets are hidden until they are asked for", () => {
  const secret = object("Secret", { data: { password: "aHVudGVy" } }, { managedFields: [{}], annotations: { "kubectl.kubernetes.io/last-applied-configuration": "hunter", a: "b" } });
  assert.doesNotMatch(JSON.stringify(shown(secret)), /aHVudGVy|hunter|managedFields/);
  assert.match(JSON.stringify(shown(secret, true)), /aHVudGVy/);
  assert.equal(secret.data.password, "aHVudGVy");
});
