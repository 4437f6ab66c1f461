import type { Clock } from "../clock.ts";
import { useList } from "../reading.ts";
import type { KubeObject } from "../reflector.ts";
import { Age, Empty } from "./parts.tsx";
import { say, sentence } from "../language.ts";

/** lastOf is when an event was seen last. */
function lastOf(e: KubeObject): string {
  return e.series?.lastObservedTime ?? e.lastTimestamp ?? e.eventTime ?? e.metadata.creationTimestamp ?? "";
}

export function Events({ object: o, at, clock }: { object: KubeObject; at: number; clock: Clock }) {
  const { name, namespace } = o.metadata;
  const selector = `fieldSelector=${encodeURIComponent(`involvedObject.kind=${o.kind},involvedObject.name=${name}`)}`;
  const { items, complete, error } = useList(namespace ? `/api/v1/namespaces/${namespace}/events` : "/api/v1/events", selector, at);
  const events = items.sort((a, b) => Date.parse(lastOf(b)) - Date.parse(lastOf(a)));
  if (error) return <p role="alert">{error}</p>;
  if (complete && events.length === 0) return <Empty>{say("noEventsTheApi")}</Empty>;
  return (
    <ul class="cards" aria-label={say("events")}>
      {events.map((e) => (
        <li key={e.metadata.uid} class={`card ${e.type === "Warning" ? "warn" : "quiet"}`}>
          <div>
            <b>{e.reason}</b>
            {(e.series?.count ?? e.count ?? 1) > 1 && <span class="dim"> {say("times", { n: e.series?.count ?? e.count ?? 1 })}</span>}
            <span class="dim">
              {" "}
              {sentence("agoBy", { age: <Age since={lastOf(e)} clock={clock} />, by: e.source?.component || e.reportingComponent })}
            </span>
          </div>
          <div>{e.message}</div>
        </li>
      ))}
    </ul>
  );
}
