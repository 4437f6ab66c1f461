import assert from "node:assert/strict";
import { test } from "node:test";
import { applied, cordon, documentsOf, drainedPods, earlierOf, edited, type Of, remove, restart, scale, setImage, undo } from "../src/acts.ts";
import type { Kind } from "../src/kinds.ts";
import type { KubeObject } from "../src/reflector.ts";
import { templates } from "../src/templates.ts";

const deployments: Kind = { name: "deployments", kind: "Deployment", group: "apps", groupVersion: "apps/v1", namespaced: true, listable: true, scales: true };
const object = (kind: string, fields: object = {}, metadata: object = {}) => ({ kind, metadata: { name: "web", namespace: "shop", uid: "u", resourceVersion: "1", ...metadata }, ...fields }) as KubeObject;
const on: Of = { object: object("Deployment"), kind: deployments, of: { group: "apps", resource: "deployments", namespace: "shop", name: "web" } };

test("an act has its request, its command and its step", () => {
  const path = "/apis/apps/v1/namespaces/shop/deployments/web";
  const s = scale(on, 4);
  assert.equal(s.command, "kubectl scale deployment/web -n shop --replicas=4");
  assert.deepEqual(s.sent, { method: "PATCH", path: `${path}/scale`, body: { spec: { replicas: 4 } }, type: "application/merge-patch+json" });
  assert.deepEqual(s.step, { scale: { target: "deployment/web", namespace: "shop", replicas: 4 } });
  const i = setImage(on, "c", "nginx:2");
  assert.equal(i.command, "kubectl set image deployment/web -n shop c=nginx:2");
  assert.deepEqual(i.step, { patch: { target: "deployment/web", namespace: "shop", type: "strategic", patch: { spec: { template: { spec: { containers: [{ name: "c", image: "nginx:2" }] } } } } } });
  assert.match(JSON.stringify(restart(on, 1_800_000_000_000).sent.body), /restartedAt":"2027-01-15T08:00:00Z"/);
  assert.equal(remove(on).command, "kubectl delete deployment/web -n shop");
  const node: Of = { object: object("Node"), kind: { ...deployments, name: "nodes", kind: "Node", group: "", groupVersion: "v1", namespaced: false }, of: { group: "", resource: "nodes", namespace: "", name: "node-1" } };
  assert.equal(cordon(node, true).command, "kubectl cordon node-1");
  assert.deepEqual(cordon(node, false).sent.body, { spec: { unschedulable: null } });
});

test("undo goes back to the template of an earlier revision", () => {
  const set = (revision: string, image: string, owner = "u") => object("ReplicaSet", { spec: { template: { metadata: { labels: { app: "web", "pod-template-hash": "x" } }, spec: { containers: [{ image }] } } } }, { annotations: { "deployment.kubernetes.io/revision": revision }, ownerReferences: [{ uid: owner, kind: "Deployment", name: "web" }] });
  const earlier = earlierOf(on.object, [set("1", "a"), set("10", "c"), set("9", "b"), set("99", "z", "other")]);
  assert.deepEqual(earlier.map((e) => [e.revision, e.images]), [[9, "b"], [1, "a"]]);
  const u = undo(on, earlier[0]!);
  assert.equal(u.command, "kubectl rollout undo deployment/web -n shop --to-revision=9");
  assert.deepEqual(u.sent.body, [{ op: "replace", path: "/spec/template", value: { metadata: { labels: { app: "web" } }, spec: { containers: [{ image: "b" }] } } }]);
});

test("a drain evicts what kubectl's would", () => {
  const pod = (name: string, fields: object, metadata: object = {}) => object("Pod", fields, { name, ...metadata });
  const by = (kind: string) => ({ ownerReferences: [{ kind, name: "x", controller: true }] });
  const pods = [
    pod("own", {}), pod("set", {}, by("ReplicaSet")), pod("daemon", {}, by("DaemonSet")), pod("data", { spec: { volumes: [{ emptyDir: {} }] } }, by("Job")),
    pod("done", { status: { phase: "Succeeded" } }), pod("mirror", {}, { annotations: { "kubernetes.io/config.mirror": "x" } }),
  ];
  const plan = drainedPods(pods, false, false);
  assert.deepEqual([plan.evict.map((p) => p.metadata.name), plan.stays, plan.refuses.map((r) => r.name)], [["set", "done"], 2, ["own", "data"]]);
  assert.equal(drainedPods(pods, true, true).evict.length, 4);
});

test("objects are found in YAML and JSON", () => {
  const short = (text: string) => documentsOf(text).map((d) => `${d.apiVersion} ${d.kind} ${d.namespace}/${d.name}`);
  assert.deepEqual(short('# first\napiVersion: apps/v1\nkind: "Deployment" # the shop\nmetadata:\n  labels:\n    name: no\n  name: web\n  namespace: shop\nspec:\n  name: no\n---\n---\nkind: Pod\napiVersion: v1\nmetadata: {labels: {name: no}, name: a, namespace: b}\n'), ["apps/v1 Deployment shop/web", "v1 Pod b/a"]);
  assert.deepEqual(short('{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"}}'), ["v1 Pod /x"]);
  assert.throws(() => documentsOf("kind: Pod\n"), /the object has no apiVersion and kind/);
  assert.throws(() => documentsOf("apiVersion: v1\nkind: Pod\n---\napiVersion: v1\nkind: Pod\nmetadata:\n  generateName: a-\n"), /object 1, a Pod, has no metadata.name/);
  assert.deepEqual(documentsOf("\n# nothing\n"), []);
  for (const [name, text] of Object.entries(templates)) assert.ok(documentsOf(text).every((d) => d.name), name);
});

test("an edit and an apply are recorded as steps that repeat them", () => {
  const before = object("Deployment", { spec: { replicas: 1 }, status: { a: 1 } }, { labels: { a: "b" } });
  const after = object("Deployment", { spec: { replicas: 2 }, status: { a: 2 } }, { resourceVersion: "2" });
  assert.deepEqual(edited({ ...on, object: before }, after), { patch: { target: "deployment/web", namespace: "shop", type: "json", patch: [{ op: "add", path: "/spec", value: { replicas: 2 } }, { op: "remove", path: "/metadata/labels" }] } });
  assert.deepEqual(applied(after), { apply: { objects: [{ kind: "Deployment", metadata: { name: "web", namespace: "shop" }, spec: { replicas: 2 } }] } });
});
