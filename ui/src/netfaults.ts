// Faults of the network, of DNS and of HTTP: what menus offer for an object, and which objects a fault meets.

import { type Action, type FaultDocument, type Injection, isDone } from "./faults.ts";
import { quoted } from "./kubectl.ts";
import { type Plain } from "./language.ts";

/** Of is an object that faults are about. */
export interface Of {
  kind: string;
  namespace: string;
  name: string;
  labels?: Record<string, string>;
  /** node is where a pod is, owner its controller as KIND/NAME. */
  node?: string;
  owner?: string;
}

const field = (name: string, label: Plain | "", value: string, pattern: string) => ({ name, label, value, pattern });
const time = (value: string) => field("delay", "fieldBy", value, "([0-9.]+(ms|s|m|h))+");
const share = (value: string) => field("percent", "fieldPercent", value, "[1-9][0-9]?|100");
const rate = field("rate", "fieldTo", "64kbit", "[0-9.]+[kmg]?(bit|bps)");

/** netActions are what the menu of each object offers. */
export const netActions: Action[] = [
  { part: "network", name: "partition", label: "netPartition" },
  { part: "network", name: "delay", label: "netDelay", field: time("200ms") },
  { part: "network", name: "loss", label: "netLoss", field: share("30") },
  { part: "network", name: "corrupt", label: "netCorrupt", field: share("30") },
  { part: "network", name: "bandwidth", label: "netBandwidth", field: rate },
  { part: "network", name: "reset", label: "netReset", field: share("100") },
  { part: "dns", name: "nxdomain", label: "dnsNxdomain" },
  { part: "dns", name: "servfail", label: "dnsServfail" },
  { part: "dns", name: "timeout", label: "dnsTimeout" },
  { part: "dns", name: "wrong", label: "dnsWrong" },
  { part: "http", name: "abort", label: "httpAbort" },
  { part: "http", name: "delay", label: "httpDelay", field: time("2s") },
  { part: "http", name: "replace", label: "httpReplace", field: field("code", "", "503", "[1-5][0-9][0-9]") },
].map((a) => ({ ...a, lasts: true })) as Action[];

const ends: Record<string, string> = { Pod: "pod", Deployment: "deploy", ReplicaSet: "rs", StatefulSet: "sts", DaemonSet: "ds", Job: "job", Service: "svc", Node: "node", Namespace: "namespace" };

/** endOf writes an object as an end of a connection; undefined if it is none. */
export function endOf(of: Pick<Of, "kind" | "name">): string | undefined {
  const word = ends[of.kind];
  return word && `${word}/${of.name}`;
}

/** netFault is the fault of a menu. Connections to a Service are met from everywhere, and queries of its name. */
export function netFault(action: Action, of: Of, value: string): FaultDocument {
  const end = endOf(of)!;
  const place = of.namespace ? { namespace: of.namespace } : {};
  const extra: Record<string, string | number> = action.field ? { [action.field.name]: /^(percent|code)$/.test(action.field.name) ? Number(value) : value } : {};
  const service = of.kind === "Service";
  if (action.part === "dns") return { dns: { action: action.name, ...place, ...(service ? { hosts: [`${of.name}.${of.namespace}.svc.*`] } : { from: [end] }), ...extra } };
  const between = service ? { from: ["*"], to: [end] } : { from: [end] };
  return { [action.part as "network" | "http"]: { action: action.name, ...place, ...between, ...extra } };
}

/** faultCommand is the command that injects a fault with one part. */
export function faultCommand(fault: FaultDocument): string {
  const { for: length, ...parts } = fault;
  const [part, { action, names, ...rest }] = Object.entries(parts)[0] as unknown as [string, { action: string; names?: string[] } & Record<string, unknown>];
  const word = { nodes: "node", pods: "pod", controllers: "controller" }[part] ?? part;
  const flags = Object.entries(rest).flatMap(([name, v]) =>
    name === "namespace" ? (v === "default" ? [] : ["-n", quoted(String(v))]) : [`--${name.replace(/[A-Z]/g, (c) => `-${c.toLowerCase()}`)}`, quoted(Array.isArray(v) ? v.join(",") : String(v))]);
  return ["minikcm fault", word, action, ...(names ?? []).map(quoted), ...flags, ...(length ? ["--for", length] : [])].join(" ");
}

type Ends = { namespace?: string; toNamespace?: string; from?: string[]; to?: string[]; hosts?: string[] };

/** ownersOf are the workloads that a pod belongs to: a ReplicaSet's name is its Deployment's and a hash. */
function ownersOf(of: Of): string[] {
  if (of.kind !== "Pod" || !of.owner) return [];
  const hash = of.labels?.["pod-template-hash"];
  const [kind, name = ""] = of.owner.split("/");
  return kind === "ReplicaSet" && hash && name.endsWith(`-${hash}`) ? [of.owner, `Deployment/${name.slice(0, -hash.length - 1)}`] : [of.owner];
}

/** isEnd reports whether an end of a fault is an object, or has it among others. Services are looked up by nothing: only they themselves are found. */
function isEnd(end: string, namespace: string, of: Of): boolean {
  if (end === "*") return false; // it is everything, and says nothing of one object
  const label = /^([^/=]+(?:\/[^/=]+)?)=(.*)$/.exec(end);
  if (label) return of.namespace === namespace && of.kind === "Pod" && of.labels?.[label[1]!] === label[2];
  const parts = end.split("/");
  const [word = "", name = ""] = [parts[0], parts.at(-1)];
  const space = parts.length === 3 ? parts[1] : namespace;
  const kind = Object.entries(ends).find(([k, short]) => word === short || word.toLowerCase() === k.toLowerCase() || word.toLowerCase() === `${k.toLowerCase()}s`)?.[0];
  if (kind === "Node") return (of.kind === "Node" && of.name === name) || of.node === name;
  if (kind === "Namespace") return of.namespace === name || (of.kind === "Namespace" && of.name === name);
  if (!kind || space !== of.namespace) return false;
  return (of.kind === kind && of.name === name) || ownersOf(of).includes(`${kind}/${name}`);
}

/** meeting returns the faults of the network, DNS and HTTP that last and name an object, or what it belongs to. */
export function meeting(faults: Injection[], of: Of): Injection[] {
  return faults.filter((f) => {
    if (isDone(f)) return false;
    return ["network", "dns", "http"].some((part) => {
      const e = f.fault[part] as Ends | undefined;
      if (!e) return false;
      const from = e.namespace ?? "default";
      return (
        e.from?.some((x) => isEnd(x, from, of)) || e.to?.some((x) => isEnd(x, e.toNamespace ?? from, of)) ||
        (of.kind === "Service" && (e.hosts?.some((h) => h.startsWith(`${of.name}.${of.namespace}.`)) ?? false))
      );
    });
  });
}

/** isNet reports whether a fault is one of the network, DNS or HTTP. */
export function isNet(f: Injection): boolean {
  return ["network", "dns", "http"].some((part) => f.fault[part] !== undefined);
}
