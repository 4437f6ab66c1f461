import { useEffect, useMemo, useState } from "preact/hooks";
import { StatusError } from "./api.ts";
import { Clock } from "./clock.ts";
import { ClockBar } from "./clockbar.tsx";
import { type Compared, type ComparedKind, type Comparison, followComparison, followForkClock, forkClockPath, isSame, nowOf, only, pace, phases } from "./compare.ts";
import type { Route } from "./route.ts";
import { clockTime, time } from "./words.ts";
import { objectName, writer } from "./writes.ts";
import { list, say, sentence } from "./language.ts";

/** CompareView shows this cluster beside a fork of it, whose time it controls, and in what they differ. */
export function CompareView({ route, clock, report }: { route: Route; clock: Clock; report: (error: unknown) => void }) {
  const fork = route.query.get("fork") ?? "";
  const [shown, show] = useState<{ comparison: Comparison; readAt: number }>();
  const [gone, setGone] = useState(false);
  const own = useMemo(() => new Clock(forkClockPath(fork)), [fork]);
  const [, tick] = useState(0);
  useEffect(() => {
    show(undefined);
    setGone(false);
    const end = new AbortController();
    const failed = (error: unknown) => {
      if (!(error instanceof StatusError && error.code === 404)) return report(error);
      setGone(true);
      end.abort();
    };
    followComparison(fork, (comparison) => show({ comparison, readAt: performance.now() }), failed, end.signal);
    followForkClock(own, end.signal);
    const timer = setInterval(() => tick((n) => n + 1), 500);
    return () => {
      clearInterval(timer);
      end.abort();
    };
  }, [fork]);
  if (gone) return <p class="scroll">{say("noSuchFork", { fork })}</p>;
  if (!shown) return <p class="scroll dim">{say("comparing", { fork })}</p>;
  const { comparison, readAt } = shown;
  const now = (c: Compared, of: Clock) => (of.state ? of.now() : nowOf(c, readAt, performance.now()));
  const different = comparison.kinds.filter((k) => !isSame(k));
  const same = comparison.kinds.filter(isSame);
  return (
    <div class="scroll compare">
      <div class="sides">
        <SideCard title={say("thisCluster")} side={comparison.here} pace={pace(clock.state ?? comparison.here.clock)} phases={phases(comparison)}>
          <time>{time(now(comparison.here, clock))}</time>
        </SideCard>
        <SideCard
          title={comparison.fork.id}
          side={comparison.there}
          pace={pace(own.state ?? comparison.there.clock)}
          phases={phases(comparison)}
          about={say("forkedAt", { revision: String(comparison.fork.revision), time: time(Date.parse(comparison.fork.time)) })}
        >
          {own.state ? <ClockBar clock={own} fork={comparison.fork.id} report={report} /> : <time>{time(now(comparison.there, own))}</time>}
        </SideCard>
      </div>
      <h2>{say("whatDiffers")}</h2>
      {different.length === 0 ? <p>{say("nothingBothHaveThe")}</p> : <KindTable kinds={different} fork={comparison.fork.id} />}
      <p class="dim">
        {same.length > 0 && `${say("theSame", { kinds: list(same.map((k) => `${k.both} ${k.kind}`)) })} `}
        {say("noDifferences")}
      </p>
    </div>
  );
}

/** SideCard shows one cluster; its children show the time. */
function SideCard(p: { title: string; side: Compared; pace: string; phases: string[]; about?: string; children: preact.ComponentChildren }) {
  const { nodes, nodesReady, pods, writes, revision } = p.side;
  return (
    <section class="side" aria-label={p.title}>
      <h2>{p.title}</h2>
      <div class="pace">
        {p.children} <span class={p.pace === say("pausedWord") ? "bad" : "dim"}>{p.pace}</span>
      </div>
      {p.about && <p class="dim">{p.about}</p>}
      <dl>
        <dt>{say("nodes")}</dt>
        <dd class={nodesReady < nodes ? "bad" : ""}>
          {say("readyOf", { n: nodesReady, all: nodes })}
        </dd>
        {p.phases.map((phase) => (
          <Fragments key={phase} name={say("podsIn", { phase })} value={pods[phase] ?? 0} />
        ))}
        <dt>{say("revision")}</dt>
        <dd>{revision}</dd>
      </dl>
      <h3>{say("newestWrites")}</h3>
      <ul class="newest">
        {[...writes].reverse().slice(0, shownWrites).map((w) => (
          <li key={w.revision}>
            <span class="dim">{clockTime(Date.parse(w.time))}</span> {sentence("wroteWhat", { writer: writer(w), verb: w.verb, object: <b>{objectName(w)}</b> })}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Fragments({ name, value }: { name: string; value: number }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </>
  );
}

function KindTable({ kinds, fork }: { kinds: ComparedKind[]; fork: string }) {
  return (
    <table class="rows">
      <thead>
        <tr>
          <th>{say("kind")}</th>
          <th>{say("here")}</th>
          <th>{fork}</th>
          <th>{say("onlyHere")}</th>
          <th>{say("onlyIn", { fork })}</th>
          <th>{say("differingFields")}</th>
        </tr>
      </thead>
      <tbody>
        {kinds.map((k) => (
          <tr key={`${k.kind}.${k.group ?? ""}`}>
            <td>
              <b>{k.kind}</b>
              {k.group && <span class="progress">{k.group}</span>}
            </td>
            <td>{k.here}</td>
            <td>{k.there}</td>
            <td>
              <Names names={k.onlyHere} count={only(k).here} />
            </td>
            <td>
              <Names names={k.onlyThere} count={only(k).there} />
            </td>
            <td>
              <Fields kind={k} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const shownNames = 5;
const shownWrites = 6;

/** Names shows the first names, and the others when it is opened. */
function Names({ names = [], count }: { names?: string[] | undefined; count: number }) {
  if (count === 0) return null;
  const list = (some: string[]) => (
    <ul class="names">
      {some.map((n) => (
        <li key={n}>{n}</li>
      ))}
    </ul>
  );
  return (
    <>
      {list(names.slice(0, shownNames))}
      {count > shownNames && (
        <details>
          <summary>{say("moreCount", { n: count - shownNames })}</summary>
          {list(names.slice(shownNames))}
          {count > names.length && <span class="dim">{say("andNotListed", { n: count - names.length })}</span>}
        </details>
      )}
    </>
  );
}

function Fields({ kind }: { kind: ComparedKind }) {
  return (
    <>
      {kind.objects?.map((o, i) => (
        <details key={o.name} open={i < shownNames}>
          <summary>{o.name}</summary>
          <ul class="names">
            {o.fields.map((f) => (
              <li key={f.path}>
                {f.path}: <del>{f.here ?? say("unset")}</del> <ins>{f.there ?? say("unset")}</ins>
              </li>
            ))}
            {o.more ? <li class="dim">{say("moreFields", { n: o.more })}</li> : null}
          </ul>
        </details>
      ))}
      {kind.differ > (kind.objects?.length ?? 0) && <span class="dim">{say("andObjectsNotListed", { n: kind.differ - (kind.objects?.length ?? 0) })}</span>}
    </>
  );
}
