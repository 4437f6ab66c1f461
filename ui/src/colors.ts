// The colours of a canvas are those of the style sheet, in light and dark.

import { type Phase, phases } from "./rows.ts";

export interface Palette {
  phase: Record<Phase, string>;
  owners: string[];
  text: string;
  dim: string;
  line: string;
  box: string;
  rule: string;
  page: string;
  accent: string;
  bad: string;
  use: string;
  effects: Record<string, string>;
}

export const ownerColors = 12;

export function palette(element: Element): Palette {
  const style = getComputedStyle(element);
  const get = (name: string) => style.getPropertyValue(name).trim();
  return {
    phase: Object.fromEntries(phases.map((p) => [p, get(`--${p}`)])) as Record<Phase, string>,
    owners: Array.from({ length: ownerColors }, (_, i) => get(`--owner-${i}`)),
    text: get("--text"), dim: get("--dim"), line: get("--line"), box: get("--box"), rule: get("--rule"), page: get("--page"), accent: get("--accent"), bad: get("--failed"), use: get("--use"),
    effects: { created: get("--ready"), changed: get("--starting"), removed: get("--failed") },
  };
}

/** onTheme calls f when the colours change, until the returned function is called. */
export function onTheme(f: () => void): () => void {
  const media = matchMedia("(prefers-color-scheme: dark)");
  const observer = new MutationObserver(f);
  media.addEventListener("change", f);
  observer.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  return () => {
    media.removeEventListener("change", f);
    observer.disconnect();
  };
}

export function hash(text: string): number {
  let h = 2166136261;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 16777619);
  return h >>> 0;
}
