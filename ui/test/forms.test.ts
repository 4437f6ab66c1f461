import assert from "node:assert/strict";
import { test } from "node:test";
import { documentsOf } from "../src/acts.ts";
import { begun, containerName, type FormName, formOf, forms, type Pools } from "../src/forms.ts";
import { toYaml } from "../src/printyaml.ts";

const fill = (name: FormName, values: Record<string, string> = {}, namespace = "default", pools: Pools = {}) => formOf(name).make({ ...begun(formOf(name)), ...values }, namespace, pools);

test("a form makes objects, and the commands that make the same", () => {
  const made = fill("templateService", { name: "web", image: "registry.example.com/team/web_app:2@sha256:1", cpu: "", memory: "", service: "NodePort" }, "shop");
  assert.deepEqual(made.commands, [
    "kubectl create deployment web -n shop --image=registry.example.com/team/web_app:2@sha256:1 --replicas=3 --port=80",
    "kubectl expose deployment web -n shop --port=80 --type=NodePort",
  ]);
  const [deployment, service] = made.objects as any[];
  assert.deepEqual(deployment.spec.template.spec.containers, [{ name: "web-app", image: "registry.example.com/team/web_app:2@sha256:1", ports: [{ containerPort: 80 }] }]);
  assert.deepEqual(service.spec, { type: "NodePort", selector: { app: "web" }, ports: [{ port: 80, protocol: "TCP", targetPort: 80 }] });
  assert.equal(fill("templateService", { port: "" }).objects.length, 1, "a Service needs a port");
  assert.equal(fill("templateService").commands[1], "kubectl set resources deployment/shop --requests=cpu=100m,memory=64Mi");
  const settings = fill("formConfigMap", { data: "a=b=c\n\nnote=it's so\n" });
  assert.deepEqual((settings.objects as any[])[0].data, { a: "b=c", note: "it's so" });
  assert.deepEqual(settings.commands, ["kubectl create configmap settings --from-literal=a=b=c --from-literal='note=it'\\''s so'"]);
  assert.deepEqual(fill("formJob").commands, ["kubectl create job report --image=busybox -- sh -c 'echo done'"]);
});

test("nodes are added to a pool, or make a new one", () => {
  const more = fill("formNodes", { pool: "web", cpu: "4", zones: "a b" }, "", { web: 6 });
  assert.deepEqual((more.objects as any[])[0].spec, { nodes: 9 }, "what is there keeps its size and zones");
  assert.deepEqual(more.commands, ["kubectl scale nodepool/web --replicas=9", "minikcm node add --pool=web --count=3"]);
  const pool = fill("formNodes", { pool: "big", cpu: "64", zones: "a, b" }, "", { web: 6 });
  assert.deepEqual((pool.objects as any[])[0].spec, { nodes: 3, capacity: { cpu: "64" }, zones: ["a", "b"] });
  assert.deepEqual(pool.commands, [], "no flag of node add takes zones in turn");
  assert.deepEqual(fill("formNodes", { pool: "far", zones: "z" }).commands, ["minikcm node add --pool=far --count=3 --label=topology.kubernetes.io/zone=z"]);
});

test("what forms make can be applied", () => {
  for (const name of Object.keys(forms) as FormName[]) assert.ok(documentsOf(fill(name).objects.map(toYaml).join("---\n")).every((d) => d.name), name);
  assert.deepEqual(["nginx", "a/b:1", "x.y/Web_App", "_"].map(containerName), ["nginx", "b", "web-app", "main"]);
});
