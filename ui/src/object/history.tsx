import { useEffect, useState } from "preact/hooks";
import { getJSON, StatusError } from "../api.ts";
import type { Clock } from "../clock.ts";
import type { Kind } from "../kinds.ts";
import { objectsAt } from "../lists.ts";
import { collectionPath, type ObjectRef } from "../objectref.ts";
import { toYaml } from "../printyaml.ts";
import type { KubeObject } from "../reflector.ts";
import { Changes } from "../whyview.tsx";
import { clockTime } from "../words.ts";
import { effectOf, type Write, writer } from "../writes.ts";
import { shown } from "./shown.ts";
import { Age, Difference, Empty } from "./parts.tsx";
import { ObjectLink } from "./link.tsx";
import { say } from "../language.ts";

/** shownWrites is the number of writes that are listed. */
const shownWrites = 100;

/** History lists an object's writes, and shows what differs between two of its revisions. */
export function History({ of, kind, revision, clock }: { of: ObjectRef; kind: Kind; revision: string; clock: Clock }) {
  const [writes, set] = useState<Write[]>();
  const [error, setError] = useState("");
  const [chosen, choose] = useState<{ from?: number; to?: number }>({});
  useEffect(() => {
    let stale = false;
    const query = new URLSearchParams({ resource: of.resource, name: of.name, ...(of.namespace ? { namespace: of.namespace } : {}) });
    getJSON<Write[]>(`/minikcm/v1/writes?${query}`).then(
      (all) => stale || set(all.filter((w) => w.resource.group === of.group).sort((a, b) => b.revision - a.revision)),
      (e: Error) => stale || setError(e.message),
    );
    return () => {
      stale = true;
    };
  }, [of.group, of.resource, of.namespace, of.name, revision]);
  if (error) return <p role="alert">{error}</p>;
  if (!writes) return <p class="dim">{say("loading")}</p>;
  if (writes.length === 0) return <Empty>{say("theWriteRecordHas")}</Empty>;
  const to = chosen.to ?? writes[0]!.revision;
  const from = chosen.from ?? writes.find((w) => w.revision < to)?.revision ?? 0;
  return (
    <>
      {from > 0 && <Between key={`${from} ${to}`} of={of} kind={kind} from={Math.min(from, to)} to={Math.max(from, to)} />}
      <table class="rows history">
        <caption>{say("writesNewestFirst")}</caption>
        <thead>
          <tr>
            <th scope="col">{say("from")}</th>
            <th scope="col">{say("toRevision")}</th>
            <th scope="col">{say("revision")}</th>
            <th scope="col">{say("age")}</th>
            <th scope="col">{say("write")}</th>
          </tr>
        </thead>
        <tbody>
          {writes.slice(0, shownWrites).map((w) => (
            <tr key={w.revision}>
              <td>
                <input type="radio" name="from" aria-label={say("fromRevision", { revision: String(w.revision) })} checked={w.revision === from} onChange={() => choose((c) => ({ ...c, to: c.to ?? to, from: w.revision }))} />
              </td>
              <td>
                <input type="radio" name="to" aria-label={say("upToRevision", { revision: String(w.revision) })} checked={w.revision === to} onChange={() => choose((c) => ({ ...c, from: c.from ?? from, to: w.revision }))} />
              </td>
              <td>
                <ObjectLink of={of} tab="yaml" rev={w.revision}>
                  {w.revision}
                </ObjectLink>
              </td>
              <td title={clockTime(Date.parse(w.time), true)}>
                <Age since={w.time} clock={clock} />
              </td>
              <td>
                <b>{writer(w)}</b> {effectOf(w)} {w.subresource && <span class="dim">({w.subresource})</span>}
                <Changes write={w} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {writes.length > shownWrites && <p class="dim">{say("andOlderWrites", { n: writes.length - shownWrites })}</p>}
    </>
  );
}

/** yamlAt is the object at a revision; nothing if it was not there. */
async function yamlAt(kind: Kind, of: ObjectRef, revision: number): Promise<string> {
  const query = `fieldSelector=${encodeURIComponent(`metadata.name=${of.name}`)}`;
  for await (const o of objectsAt(collectionPath(kind, of.namespace), String(revision), undefined, query)) return toYaml(shown({ ...o, kind: kind.kind, apiVersion: kind.groupVersion } as KubeObject));
  return "";
}

function Between({ of, kind, from, to }: { of: ObjectRef; kind: Kind; from: number; to: number }) {
  const [texts, set] = useState<[string, string]>();
  const [problem, setProblem] = useState("");
  useEffect(() => {
    let stale = false;
    Promise.all([yamlAt(kind, of, from), yamlAt(kind, of, to)]).then(
      (t) => stale || set(t),
      (e: Error) => stale || setProblem(e instanceof StatusError && e.code === 410 ? say("oneIsForgotten") : e.message),
    );
    return () => {
      stale = true;
    };
  }, []);
  return (
    <section aria-label={say("differenceBetweenRevisions")}>
      <h3>
        {say("revisionTo", { from: String(from), to: String(to) })}
      </h3>
      {problem ? <p class="dim">{problem}</p> : !texts ? <p class="dim">{say("loading")}</p> : <Difference before={texts[0]} after={texts[1]} same={say("theObjectIsThe")} />}
    </section>
  );
}
