import { useState } from "preact/hooks";
import { type Earlier, templatesOf } from "./acts.ts";
import { beside, diff } from "./diff.ts";
import { say } from "./language.ts";
import { toYaml } from "./printyaml.ts";
import { useList } from "./reading.ts";
import type { WorkloadRow } from "./rows.ts";

/** Revisions shows two revisions of a workload's pods side by side. */
export function Revisions({ row }: { row: WorkloadRow }) {
  const resource = { Deployment: "replicasets", StatefulSet: "controllerrevisions", DaemonSet: "controllerrevisions" }[row.kind];
  const { items } = useList(resource && `/apis/apps/v1/namespaces/${row.namespace}/${resource}`);
  const [chosen, choose] = useState<{ left?: number; right?: number }>({});
  const all = templatesOf({ metadata: { uid: row.uid } }, items);
  if (all.length < 2) return null;
  const right = all.find((e) => e.revision === chosen.right) ?? all[0]!;
  const left = all.find((e) => e.revision === chosen.left) ?? all.find((e) => e.revision < right.revision) ?? all[1]!;
  const side = (label: string, of: Earlier, set: (revision: number) => void) => (
    <label>
      {label}{" "}
      <select aria-label={label} value={of.revision} onChange={(e) => set(Number(e.currentTarget.value))}>
        {all.map((e) => (
          <option key={e.revision} value={e.revision}>
            {`${e.revision}: ${e.images}`}
          </option>
        ))}
      </select>
    </label>
  );
  const rows = beside(diff(yamlOf(left), yamlOf(right)));
  return (
    <section aria-label={say("twoRevisions")}>
      <h3>{say("twoRevisions")}</h3>
      <p class="toolbar">
        {side(say("fromWord"), left, (n) => choose({ left: n, right: right.revision }))}
        {side(say("toWord"), right, (n) => choose({ left: left.revision, right: n }))}
        {rows.every((r) => r.same) && <span class="dim">{say("templatesSame")}</span>}
      </p>
      {/* biome-ignore lint: what scrolls can be reached by keys */}
      <div class="beside" tabIndex={0} role="group" aria-label={say("difference")}>
        {rows.map((r, i) => [
          <span key={`l${i}`} class={r.same ? undefined : r.left === undefined ? "gone" : "del"}>{r.left ?? ""}</span>,
          <span key={`r${i}`} class={r.same ? undefined : r.right === undefined ? "gone" : "ins"}>{r.right ?? ""}</span>,
        ])}
      </div>
    </section>
  );
}

/** yamlOf is a revision's template without the label that each revision has of its own. */
function yamlOf(e: Earlier): string {
  const template = structuredClone(e.template) as { metadata?: { labels?: Record<string, string>; creationTimestamp?: unknown } };
  delete template.metadata?.labels?.["pod-template-hash"];
  delete template.metadata?.creationTimestamp;
  return toYaml(template);
}
