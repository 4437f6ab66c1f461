// Bands are what lasts on the timeline, above the lanes: faults, and the steps of scenarios.

import { useEffect, useState } from "preact/hooks";
import { getJSON } from "./api.ts";
import { endOf, type Injection } from "./faults.ts";
import type { Plain } from "./language.ts";
import { followRuns, isOver, type Run } from "./scenarios.ts";

export interface Span {
  text: string;
  from: number;
  /** to is undefined for what lasts. */
  to: number | undefined;
  tone: "bad" | "busy" | "good";
}
export interface Band {
  title: Plain;
  spans: Span[];
}
/** maxRuns is the number of runs, the newest ones, whose steps are shown. */
const maxRuns = 5;

/** bandsOf returns the bands that have something, spans in the order in which they began. */
export function bandsOf(faults: Injection[], runs: Run[]): Band[] {
  const ordered = (spans: Span[]) => spans.sort((a, b) => a.from - b.from);
  const injected = faults.map((f): Span => ({ text: `${f.id} ${f.title}`, from: Date.parse(f.since), to: endOf(f), tone: "bad" }));
  const steps = runs.flatMap((r) => (r.steps ?? []).filter((s) => s.since).map((s, i): Span => ({
    text: i === 0 ? `${r.scenario}: ${s.title}` : s.title, from: Date.parse(s.since!), to: s.until ? Date.parse(s.until) : isOver(r) && r.until ? Date.parse(r.until) : undefined,
    tone: s.state === "Failed" ? "bad" : s.state === "Done" ? "good" : "busy",
  })));
  const bands: Band[] = [{ title: "faultsLane", spans: ordered(injected) }, { title: "stepsLane", spans: ordered(steps) }];
  return bands.filter((b) => b.spans.length > 0);
}

/** useRuns returns the newest runs of scenarios with their steps, as they go on. */
export function useRuns(): Run[] {
  const [runs, set] = useState<Run[]>([]);
  useEffect(() => {
    const end = new AbortController();
    const known = new Map<string, Run>();
    const read = async (list: Run[]) => {
      for (const { id } of list.slice(0, maxRuns)) {
        if (!known.has(id) || !isOver(known.get(id)!)) known.set(id, await getJSON<Run>(`/minikcm/v1/scenarios/runs/${id}`, end.signal));
      }
      set(list.flatMap(({ id }) => known.get(id) ?? []));
    };
    void getJSON<{ features?: string[] }>("/minikcm/v1", end.signal).then(({ features }) => {
      if (features?.includes("scenarios")) followRuns((list) => void read(list).catch(() => {}), () => {}, end.signal); // what fails is read again with the next change
    }, () => {});
    return () => end.abort();
  }, []);
  return runs;
}
