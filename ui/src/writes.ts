// The write record at /minikcm/v1/writes, and the explanations at /minikcm/v1/why.

import type { Explanation, Link, Reason, Write } from "../../client/typescript/minikcm.ts";
import { getJSON } from "./api.ts";
import { say } from "./language.ts";

export type { Explanation, Link, Reason, Write };

const browsers: [string, string][] = [["Edg/", "Edge"], ["OPR/", "Opera"], ["Firefox/", "Firefox"], ["Chromium/", "Chromium"], ["Chrome/", "Chrome"], ["Safari/", "Safari"]];

/** programs are those whose user agents begin with another name, by that in lower case. */
export const programs: Record<string, string> = {
  helm: "helm", "go-http-client": "Go program", "openapi-generator": "OpenAPI client", postmanruntime: "Postman", "python-requests": "Python program", "python-urllib": "Python program", hashicorp: "Terraform",
};

/** writer names the program that made a write, as "minikcm why" does (internal/writerecord). */
export function writer(w: Pick<Write, "actor" | "userAgent">): string {
  const agent = (w.userAgent ?? "").replace(/\p{Cc}/gu, " ");
  const own = /^minikcm\/([a-z0-9-]+)$/.exec(agent);
  if (own) return own[1]!.replace(/^default-/, "");
  const name = agent.split("/")[0]!.trim();
  const program = programs[name.toLowerCase()] ?? name;
  if (program === "Mozilla") return browsers.find(([token]) => agent.includes(token))?.[1] ?? say("browser");
  const component = /\) kubernetes\/[^/]*\/(?:.*:)?(.+)$/.exec(agent)?.[1];
  return [program || w.actor, component].filter(Boolean).join("/").slice(0, 60);
}

const handTools = new Set(["helm", "curl", "wget", "httpie", "postman", "insomnia", "terraform", "kustomize", "kapp", "k9s", "lens", "headlamp", "oc", "edge", "opera", "firefox", "chromium", "chrome", "safari", "browser"]);

/** byHand reports whether a tool that a person or a script runs made a write, as "minikcm why" decides it. */
export function byHand(w: Pick<Write, "actor" | "userAgent">): boolean {
  const agent = w.userAgent ?? "";
  if (/^minikcm\/[a-z0-9-]+$/.test(agent)) return false;
  if (agent.startsWith("Mozilla/")) return true; // a browser, whatever the page's language calls it
  const name = writer(w).toLowerCase();
  return name === "" || handTools.has(name) || /^(kubectl|minikcm)/.test(name);
}

/** effectOf says what a write did with its object, or if that is not known its verb. */
export function effectOf(w: Pick<Write, "effect" | "verb">): string {
  return w.effect === "created" || w.effect === "changed" || w.effect === "removed" ? say(w.effect) : (w.effect ?? w.verb);
}

export function objectName(w: Write): string {
  return `${w.kind || w.resource.resource}/${w.name}`;
}

export function explain(q: { group?: string; resource: string; namespace?: string; name: string }): Promise<Explanation> {
  const query = new URLSearchParams(Object.entries(q).filter(([, v]) => v) as [string, string][]);
  return getJSON<Explanation>(`/minikcm/v1/why?${query}`);
}

export function writesSince(revision: number): Promise<Write[]> {
  return getJSON<Write[]>(`/minikcm/v1/writes?since=${Math.max(0, revision)}`);
}
