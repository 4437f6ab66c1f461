// The resources that the page watches, and what it keeps of their objects.

import type { KubeObject } from "./reflector.ts";
import { nodeRow, podRow, type Row, scalerRow, workloadRow } from "./rows.ts";

export const topics: Record<TopicName, { path: string; row: (o: KubeObject) => Row }> = {
  nodes: { path: "/api/v1/nodes", row: nodeRow },
  pods: { path: "/api/v1/pods", row: podRow },
  deployments: { path: "/apis/apps/v1/deployments", row: workloadRow("Deployment") },
  replicasets: { path: "/apis/apps/v1/replicasets", row: workloadRow("ReplicaSet") },
  statefulsets: { path: "/apis/apps/v1/statefulsets", row: workloadRow("StatefulSet") },
  daemonsets: { path: "/apis/apps/v1/daemonsets", row: workloadRow("DaemonSet") },
  jobs: { path: "/apis/batch/v1/jobs", row: workloadRow("Job") },
  scalers: { path: "/apis/autoscaling/v2/horizontalpodautoscalers", row: scalerRow },
};
export type TopicName = "nodes" | "pods" | "deployments" | "replicasets" | "statefulsets" | "daemonsets" | "jobs" | "scalers";

/** resourceOf returns the plural name of a topic's resource. */
export function resourceOf(topic: TopicName): string {
  return topics[topic].path.split("/").at(-1)!;
}

/** Command is a message to the worker; Batch is one from it. at is a revision, 0 is now: the topics of again are read at it. The others have the same rows there. */
export type Command = { topic: TopicName; watch: boolean } | { at: number; again: TopicName[] };
export interface Batch {
  topic: TopicName;
  /** at is the revision of the rows, 0 if they are those of now. */
  at: number;
  rows: Row[];
  removed: string[];
  /** all is set after a list: rows that are not named are gone. */
  all?: string[];
  state: "listing" | "live" | "waiting" | "past";
  error?: string;
  /** code is the HTTP code of the error, 0 if there was no response. */
  code?: number;
}
