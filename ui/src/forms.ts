// Forms that make objects: what is asked for, the objects, and the commands that make the same ones.

import { inNamespace, quoted } from "./kubectl.ts";
import type { Plain } from "./language.ts";
import { zoneLabel } from "./rows.ts";

export interface Field {
  name: string;
  label: Plain;
  type: "text" | "number" | "lines" | "choice";
  begin: string;
  choices?: string[];
  /** example is shown while the field is empty. */
  example?: string;
  optional?: boolean;
}
/** Pools are the numbers of nodes of the cluster's NodePools, by name. */
export type Pools = Record<string, number>;
export interface Made {
  objects: object[];
  commands: string[];
}
interface Form {
  fields: Field[];
  make: (v: Record<string, string>, namespace: string, pools: Pools) => Made;
  /** settled are fields that cannot be chosen for what exists already. */
  settled?: (v: Record<string, string>, pools: Pools) => string[];
}

/** containerName is the name that "kubectl create" gives the container of an image. */
export function containerName(image: string): string {
  const last = image.split("/").pop()!.split(/[:@]/)[0]!;
  return last.toLowerCase().replace(/[^a-z0-9-]+/g, "-").replace(/^-+|-+$/g, "") || "main";
}

/** amounts are resources without those that are not given. */
function amounts(v: Record<string, string>): Record<string, string> | undefined {
  const given = ["cpu", "memory"].filter((r) => v[r]?.trim()).map((r) => [r, v[r]!.trim()]);
  return given.length > 0 ? Object.fromEntries(given) : undefined;
}

function deployment(v: Record<string, string>, namespace: string): Made {
  const labels = { app: v.name };
  const port = Number(v.port) || undefined;
  const requests = amounts(v);
  const container = {
    name: containerName(v.image!), image: v.image,
    ...(port ? { ports: [{ containerPort: port }] } : {}),
    ...(requests ? { resources: { requests } } : {}),
  };
  const objects: object[] = [{
    apiVersion: "apps/v1", kind: "Deployment", metadata: { name: v.name, labels },
    spec: { replicas: Number(v.replicas), selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers: [container] } } },
  }];
  const at = inNamespace(namespace);
  const commands = [`kubectl create deployment ${quoted(v.name!)}${at} --image=${quoted(v.image!)} --replicas=${v.replicas}${port ? ` --port=${port}` : ""}`];
  if (requests) commands.push(`kubectl set resources deployment/${quoted(v.name!)}${at} --requests=${Object.entries(requests).map(([k, a]) => `${k}=${quoted(a)}`).join(",")}`);
  if (port && v.service !== noService) {
    const type = v.service === "ClusterIP" ? {} : { type: v.service };
    objects.push({ apiVersion: "v1", kind: "Service", metadata: { name: v.name, labels }, spec: { ...type, selector: labels, ports: [{ port, protocol: "TCP", targetPort: port }] } });
    commands.push(`kubectl expose deployment ${quoted(v.name!)}${at} --port=${port}${type.type ? ` --type=${type.type}` : ""}`);
  }
  return { objects, commands };
}

/** noService is the choice of a Deployment without a Service. */
export const noService = "-";

function configMap(v: Record<string, string>, namespace: string): Made {
  const pairs = v.data!.split("\n").filter((l) => l.trim()).map((l) => [l.split("=")[0]!.trim(), l.includes("=") ? l.slice(l.indexOf("=") + 1) : ""] as const);
  const literals = pairs.map(([k, value]) => ` --from-literal=${quoted(`${k}=${value}`)}`).join("");
  return {
    objects: [{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: v.name }, data: Object.fromEntries(pairs) }],
    commands: [`kubectl create configmap ${quoted(v.name!)}${inNamespace(namespace)}${literals}`],
  };
}

function job(v: Record<string, string>, namespace: string): Made {
  const command = v.command!.trim();
  const container = { name: v.name, image: v.image, ...(command ? { command: ["sh", "-c", command] } : {}) };
  return {
    objects: [{ apiVersion: "batch/v1", kind: "Job", metadata: { name: v.name }, spec: { template: { spec: { restartPolicy: "Never", containers: [container] } } } }],
    commands: [`kubectl create job ${quoted(v.name!)}${inNamespace(namespace)} --image=${quoted(v.image!)}${command ? ` -- sh -c ${quoted(command)}` : ""}`],
  };
}

function nodes(v: Record<string, string>, _: string, pools: Pools): Made {
  const pool = v.pool!;
  const have = pools[pool];
  const zones = have === undefined ? v.zones!.split(/[\s,]+/).filter(Boolean) : [];
  const capacity = have === undefined ? amounts(v) : undefined;
  const total = (have ?? 0) + Number(v.count);
  const spec = { nodes: total, ...(capacity ? { capacity } : {}), ...(zones.length > 0 ? { zones } : {}) };
  const commands = have === undefined ? [] : [`kubectl scale nodepool/${quoted(pool)} --replicas=${total}`];
  if (zones.length <= 1) {
    const flags = [...Object.entries(capacity ?? {}).map(([k, a]) => ` --${k}=${quoted(a)}`), ...zones.map((z) => ` --label=${quoted(`${zoneLabel}=${z}`)}`)];
    commands.push(`minikcm node add --pool=${quoted(pool)} --count=${v.count}${flags.join("")}`);
  }
  return { objects: [{ apiVersion: "simulation.minikcm.dev/v1alpha1", kind: "NodePool", metadata: { name: pool }, spec }], commands };
}

const text = (name: string, label: Plain, begin: string): Field => ({ name, label, type: "text", begin });
const perhaps = (name: string, label: Plain, example: string): Field => ({ name, label, type: "text", begin: "", example, optional: true });

export const forms = {
  templateService: {
    fields: [
      text("name", "name", "shop"), text("image", "image", "nginx:1.27"), { name: "replicas", label: "replicas", type: "number", begin: "3" },
      { name: "port", label: "portWord", type: "number", begin: "80", optional: true },
      { name: "service", label: "serviceWord", type: "choice", begin: "ClusterIP", choices: ["ClusterIP", "NodePort", "LoadBalancer", noService] },
      { ...perhaps("cpu", "cpuRequest", "100m"), begin: "100m" }, { ...perhaps("memory", "memoryRequest", "64Mi"), begin: "64Mi" },
    ],
    make: deployment,
  },
  formConfigMap: { fields: [text("name", "name", "settings"), { name: "data", label: "dataLines", type: "lines", begin: "mode=fast\nlevel=3" }], make: configMap },
  formJob: { fields: [text("name", "name", "report"), text("image", "image", "busybox"), { ...perhaps("command", "shellCommand", "echo done"), begin: "echo done" }], make: job },
  formNodes: {
    fields: [
      text("pool", "poolWord", "node"), { name: "count", label: "nodesToAdd", type: "number", begin: "3" },
      perhaps("cpu", "cpu", "32"), perhaps("memory", "memory", "256Gi"), perhaps("zones", "zonesWord", "a, b, c"),
    ],
    make: nodes,
    settled: (v, pools) => (pools[v.pool!] === undefined ? [] : ["cpu", "memory", "zones"]),
  },
} satisfies Record<string, Form>;

export type FormName = keyof typeof forms;

/** formOf is a form by its name. */
export function formOf(name: FormName): Form {
  return forms[name];
}

/** begun are the values with which a form begins. */
export function begun(form: Form): Record<string, string> {
  return Object.fromEntries(form.fields.map((f) => [f.name, f.begin]));
}
