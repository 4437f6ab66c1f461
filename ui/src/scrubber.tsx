import { useEffect, useState } from "preact/hooks";
import { Forks } from "./forks.tsx";
import { NamedLink } from "./object/link.tsx";
import { indexAt, type Past, readPast } from "./past.ts";
import { go, type Route } from "./route.ts";
import { type Store, useTopics } from "./store.ts";
import { clockTime } from "./words.ts";
import { list, say, saying } from "./language.ts";

/** revisionOf returns the revision that a route shows; 0 is now. */
export function revisionOf(route: Route): number {
  const at = Number(route.query.get("at"));
  return Number.isSafeInteger(at) && at > 0 ? at : 0;
}

/** Scrubber shows the cluster as it was after a write, which a slider chooses. */
export function Scrubber({ store, at, report }: { store: Store; at: number; report: (error: unknown) => void }) {
  const [past, setPast] = useState<Past>();
  const [ended, setEnded] = useState("");
  useTopics([store.nodes, store.pods]);
  const read = async (then: (p: Past) => void) => {
    try {
      const p = await readPast();
      setPast(p);
      store.changed = p.changed;
      then(p);
    } catch (error) {
      report(error);
    }
  };
  const show = (revision: number) => go("cluster", { at: String(revision) });
  const open = () => {
    setEnded("");
    void read((p) => show(p.moments.at(-1)?.revision ?? p.newest));
  };
  useEffect(() => {
    if (at && !past) void read(() => {});
    if (!at) setPast(undefined);
  }, [at]);
  // The history ends where lists fail; the slider begins there from then on.
  const forgotten = at !== 0 && [store.nodes, store.pods].some((t) => t.code === 410);
  useEffect(() => {
    if (!forgotten) return;
    void read((p) => {
      setEnded(say("revisionForgotten", { at: String(at), oldest: String(p.oldest) }));
      show(p.moments[0]?.revision ?? p.newest);
    });
  }, [forgotten, at]);
  if (!at) {
    return (
      <div class="scrubber">
        <button type="button" onClick={open}>
          {say("lookBack")}
        </button>
      </div>
    );
  }
  const moments = past?.moments ?? [];
  const index = indexAt(moments, at);
  const moment = moments[index];
  const is = moment?.revision === at;
  return (
    <div class="scrubber past" role="group" aria-label={say("theClusterAsIt")}>
      <button type="button" onClick={() => go("cluster")}>
        {say("now")}
      </button>
      <input
        type="range" aria-label={say("revision")} min={0} max={Math.max(0, moments.length - 1)} value={index} disabled={moments.length === 0}
        aria-valuetext={moment && list([say("revisionN", { revision: String(moment.revision) }), `${clockTime(moment.at)}: ${moment.text}`])}
        onInput={(e) => {
          const m = moments[Number(e.currentTarget.value)];
          if (m) show(m.revision);
        }}
      />
      <output>
        {say("asOfRevision", { revision: String(at) })}
        {moment && is && `${say("comma")}${clockTime(moment.at, true)}: ${moment.text}`}
        {past && <span class="dim"> {say("historyFrom", { from: String(past.oldest), to: String(past.newest) })}</span>}
      </output>
      {ended && <span role="alert">{ended}</span>}
      <Forks at={at} report={report} />
    </div>
  );
}

/** Owners lists the workloads of the moment that is shown. */
export function Owners({ store }: { store: Store }) {
  const topics = Object.values(store.workloads).filter((t) => t.name !== "replicasets");
  useTopics(topics);
  const rows = topics.flatMap((t) => [...t.rows.values()]).sort((a, b) => a.name.localeCompare(b.name));
  return (
    <section>
      <h2>{say("workloads")}</h2>
      <dl>
        {rows.map((r) => [
          <dt key={r.uid}>
            <NamedLink named={`${r.kind}/${r.name}`} namespace={r.namespace} />
          </dt>,
          <dd key={`${r.uid}=`}>
            {say("ofTotal", { n: r.rollout.done, all: r.rollout.wanted })}
            {r.rollout.says && `: ${saying(r.rollout.says)}`}
          </dd>,
        ])}
      </dl>
      {rows.length === 0 && <p class="dim">{say("thereAreNone")}</p>}
    </section>
  );
}
