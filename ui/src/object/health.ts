// How an object is, in a word and a colour.

import type { KubeObject } from "../reflector.ts";
import { rolloutOf } from "../rollout.ts";
import { podStatus, statusWord } from "../rows.ts";
import { list, say } from "../language.ts";

export type Tone = "good" | "busy" | "warn" | "bad" | "quiet";
export interface Health {
  word: string;
  tone: Tone;
}
export interface Condition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
  lastTransitionTime?: string | null;
}

const ofPhase: Record<string, Tone> = { ready: "good", succeeded: "quiet", failed: "bad", unready: "warn", terminating: "quiet" };
const ofRollout: Record<string, Tone> = { done: "good", moving: "busy", stuck: "bad", failed: "bad", paused: "warn" };

/** conditionsOf returns the conditions of an object, of whatever kind it is. */
export function conditionsOf(o: KubeObject): Condition[] {
  const found: unknown = o.status?.conditions;
  return Array.isArray(found) ? found.filter((c): c is Condition => typeof c?.type === "string" && typeof c.status === "string") : [];
}

/** isUnwelcome reports whether a condition is bad news when it is True. */
function isUnwelcome(type: string): boolean {
  return /Pressure$|Unavailable$|Fail|Degraded|Stalled|Unsafe|Violation|NonStructural|Disrupt|Unhealthy|Error/i.test(type) && !/^(Not|No)/.test(type);
}

/** toneOf colours a condition. Types that nothing is known of are good if they are True. */
export function toneOf(c: Condition): Tone {
  if (c.status === "Unknown") return "warn";
  if (isUnwelcome(c.type)) return c.status === "True" ? "bad" : "quiet";
  if (c.status === "True") return "good";
  return /^(Ready|Available|Progressing|ContainersReady|PodScheduled|Established|Synced|Healthy|Accepted|Programmed)/.test(c.type) ? "warn" : "quiet";
}

export function healthOf(o: KubeObject): Health {
  if (o.metadata.deletionTimestamp) return { word: "Terminating", tone: "quiet" };
  if (o.kind === "Pod") {
    const [phase, word] = podStatus(o);
    return { word: statusWord({ phase, status: word }), tone: phase === "unscheduled" || phase === "starting" ? "busy" : (ofPhase[phase] ?? "quiet") };
  }
  if (["Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job"].includes(o.kind)) {
    const r = rolloutOf(o.kind, o);
    return { word: list([say(`rollout_${r.state}`), say("ofTotal", { n: r.done, all: r.wanted })]), tone: ofRollout[r.state] ?? "quiet" };
  }
  const conditions = conditionsOf(o);
  const main = ["Ready", "Available", "Established", "Healthy", "Synced"].flatMap((t) => conditions.find((c) => c.type === t) ?? [])[0];
  if (main) {
    const tone = toneOf(main);
    return { word: main.status === "True" ? main.type : main.status === "Unknown" ? say("conditionUnknown", { type: main.type }) : say("conditionNot", { type: main.type.toLowerCase() }), tone: tone === "warn" && main.status === "False" ? "bad" : tone };
  }
  const phase: unknown = o.status?.phase;
  return typeof phase === "string" ? { word: phase, tone: phase === "Failed" ? "bad" : "quiet" } : { word: "", tone: "quiet" };
}

interface ContainerState {
  running?: { startedAt?: string };
  waiting?: { reason?: string; message?: string };
  terminated?: { reason?: string; exitCode?: number; finishedAt?: string; message?: string };
}
export interface ContainerRow {
  name: string;
  init: boolean;
  image: string;
  ready: boolean;
  restarts: number;
  says: string;
  since?: string;
  /** notStarted is set while the kubelet has not said anything of it. */
  notStarted?: boolean;
  /** last is how it ended before it was restarted. */
  last?: string;
  tone: Tone;
}

function saysOf(s: ContainerState): { says: string; tone: Tone; since?: string } {
  if (s.running) return { says: say("running"), tone: "good", ...(s.running.startedAt ? { since: s.running.startedAt } : {}) };
  if (s.terminated) {
    const { reason = say("ended"), exitCode = 0, finishedAt, message } = s.terminated;
    return { says: `${say("exitCode", { reason, code: String(exitCode) })}${message ? `: ${message}` : ""}`, tone: exitCode === 0 ? "quiet" : "bad", ...(finishedAt ? { since: finishedAt } : {}) };
  }
  const { reason, message } = s.waiting ?? {};
  return { says: [reason ?? say("waitingWord"), message].filter(Boolean).join(": "), tone: /BackOff|Err|Invalid/.test(reason ?? "") ? "bad" : "busy" };
}

/** containersOf returns the containers of a pod with their states, the init containers first. */
export function containersOf(pod: KubeObject): ContainerRow[] {
  type Spec = { name: string; image?: string };
  type Status = { name: string; ready?: boolean; restartCount?: number; state?: ContainerState; lastState?: ContainerState };
  const rows = (specs: Spec[] | undefined, statuses: Status[] | undefined, init: boolean) =>
    (specs ?? []).map((c): ContainerRow => {
      const s = statuses?.find((x) => x.name === c.name);
      const last = s?.lastState?.terminated ? saysOf(s.lastState).says : undefined;
      return {
        name: c.name, init, image: c.image ?? "", ready: s?.ready ?? false, restarts: s?.restartCount ?? 0,
        ...(s?.state ? saysOf(s.state) : { says: say("notStarted"), tone: "busy" as const, notStarted: true }), ...(last ? { last } : {}),
      };
    });
  return [
    ...rows(pod.spec?.initContainers, pod.status?.initContainerStatuses, true),
    ...rows(pod.spec?.containers, pod.status?.containerStatuses, false),
    ...rows(pod.spec?.ephemeralContainers, pod.status?.ephemeralContainerStatuses, false),
  ];
}
