import assert from "node:assert/strict";
import { test } from "node:test";
import { type FaultDocument, type Injection, lasting } from "../src/faults.ts";
import { endOf, faultCommand, meeting, netActions, netFault, type Of } from "../src/netfaults.ts";

const action = (part: string, name: string) => netActions.find((a) => a.part === part && a.name === name)!;
const injected = (fault: FaultDocument, state = "Active") => ({ id: "f-1", title: "", fault, state, since: "2026-01-01T00:00:00Z", times: 1 }) as Injection;
const pod: Of = { kind: "Pod", namespace: "shop", name: "web-5fc9f-x7", labels: { app: "web", "pod-template-hash": "5fc9f" }, node: "node-1", owner: "ReplicaSet/web-5fc9f" };

test("the menu's faults name their object", () => {
  const web: Of = { kind: "Deployment", namespace: "shop", name: "web" };
  const service: Of = { kind: "Service", namespace: "shop", name: "db" };
  assert.deepEqual(netFault(action("network", "delay"), web, "200ms"), { network: { action: "delay", namespace: "shop", from: ["deploy/web"], delay: "200ms" } });
  assert.deepEqual(netFault(action("network", "loss"), { kind: "Node", namespace: "", name: "node-1" }, "30"), { network: { action: "loss", from: ["node/node-1"], percent: 30 } });
  assert.deepEqual(netFault(action("http", "replace"), service, "503"), { http: { action: "replace", namespace: "shop", from: ["*"], to: ["svc/db"], code: 503 } });
  assert.deepEqual(netFault(action("dns", "nxdomain"), service, ""), { dns: { action: "nxdomain", namespace: "shop", hosts: ["db.shop.svc.*"] } });
  assert.equal(endOf({ kind: "ConfigMap", name: "x" }), undefined);
});

test("each fault has its command", () => {
  assert.equal(faultCommand(lasting(netFault(action("network", "delay"), { kind: "StatefulSet", namespace: "shop", name: "db" }, "1s"), "5m")), "minikcm fault network delay -n shop --from sts/db --delay 1s --for 5m");
  assert.equal(faultCommand({ http: { action: "abort", namespace: "default", from: ["*"], to: ["svc/db"] } }), "minikcm fault http abort --from '*' --to svc/db");
  assert.equal(faultCommand({ nodes: { action: "crash", names: ["node-1"] }, for: "1m" }), "minikcm fault node crash node-1 --for 1m");
  assert.equal(faultCommand({ pods: { action: "kill", namespace: "shop", names: ["web-0"] } }), "minikcm fault pod kill web-0 -n shop");
});

test("a fault meets the objects that its ends name, and what belongs to them", () => {
  const meets = (end: string, of: Of, namespace = "shop") => meeting([injected({ network: { action: "partition", namespace, from: [end] } })], of).length === 1;
  for (const end of ["pod/web-5fc9f-x7", "deploy/web", "deployment/web", "rs/web-5fc9f", "app=web", "node/node-1", "namespace/shop", "deploy/shop/web"]) assert.ok(meets(end, pod), end);
  for (const end of ["*", "outside", "10.0.0.0/8", "10.0.0.1", "deploy/we", "sts/web", "app=api", "node/node-2", "svc/web", "zone/a", "deploy/other/web"]) assert.ok(!meets(end, pod), end);
  assert.ok(!meets("deploy/web", pod, "default") && meets("node/node-1", pod, "default"));
  assert.ok(meets("node/node-1", { kind: "Node", namespace: "", name: "node-1" }));
  const service: Of = { kind: "Service", namespace: "shop", name: "db" };
  assert.ok(meets("svc/db", service));
  assert.equal(meeting([injected({ dns: { action: "timeout", hosts: ["db.shop.svc.*"] } }), injected({ http: { action: "abort", namespace: "shop", from: ["*"], to: ["svc/db"] } }, "Over")], service).length, 1);
  assert.equal(meeting([injected({ network: { action: "delay", namespace: "default", toNamespace: "shop", from: ["app=x"], to: ["svc/db"] } })], service).length, 1);
});
