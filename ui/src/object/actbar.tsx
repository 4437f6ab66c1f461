import { useState } from "preact/hooks";
import type { Actions } from "../actions.ts";
import { cordon, type Earlier, earlierOf, imageContainers, type Of, pauseRollout, remove, restart, scale, setImage, suspend, undo } from "../acts.ts";
import { BreakMenu, canBreak } from "../breakmenu.tsx";
import { useChanges } from "../changes.ts";
import type { Clock } from "../clock.ts";
import { Lasting } from "../faultmenu.tsx";
import { concerning, type Faults, type Injection, isDone } from "../faults.ts";
import { meeting, type Of as Broken } from "../netfaults.ts";
import { useList } from "../reading.ts";
import { podRow } from "../rows.ts";
import { ActForm } from "./actform.tsx";
import { Drain } from "./drain.tsx";
import { type Plain, say } from "../language.ts";

interface ActsProps extends Of {
  actions: Actions;
  clock: Clock;
  faults: Faults;
  report: (error: unknown) => void;
  edit: () => void;
}
interface FormProps extends ActsProps {
  close: () => void;
}

const forms: { name: string; title: Plain | [Plain, Plain]; fits: (p: Of) => boolean; form: (p: FormProps) => preact.JSX.Element | null }[] = [
  { name: "scale", title: "scale", fits: (p) => p.kind.scales && !p.object.metadata.ownerReferences?.some((r) => r.controller), form: Scale },
  { name: "image", title: "setImage", fits: (p) => imageContainers(p.object).length > 0 && p.object.kind !== "Job" && p.object.kind !== "ReplicaSet", form: Image },
  { name: "restart", title: "restart", fits: rolls, form: (p) => <Simple {...p} title={say("restart")} says={say("replacesThePodsAs")} act={restart(p, p.clock.now())} /> },
  { name: "undo", title: "undo", fits: rolls, form: Undo },
  {
    name: "pause", title: ["pause", "resume"], fits: (p) => p.object.kind === "Deployment",
    form: (p) => (p.object.spec?.paused ? <Simple {...p} title={say("resume")} says={say("theRolloutGoesOn")} act={pauseRollout(p, false)} /> : <Simple {...p} title={say("pause")} says={say("changesOfTheTemplate")} act={pauseRollout(p, true)} />),
  },
  {
    name: "suspend", title: ["suspend", "resume"], fits: (p) => p.object.kind === "CronJob" || p.object.kind === "Job",
    form: (p) => (p.object.spec?.suspend ? <Simple {...p} title={say("resume")} says={say("itGoesOn")} act={suspend(p, false)} /> : <Simple {...p} title={say("suspend")} says={say(p.object.kind === "Job" ? "jobPodsDeleted" : "makesNoJobs")} act={suspend(p, true)} />),
  },
  {
    name: "cordon", title: ["cordon", "uncordon"], fits: (p) => p.object.kind === "Node",
    form: (p) => (p.object.spec?.unschedulable ? <Simple {...p} title={say("uncordon")} says={say("theSchedulerMayPlace")} act={cordon(p, false)} /> : <Simple {...p} title={say("cordon")} says={say("theSchedulerPlacesNo")} act={cordon(p, true)} />),
  },
  { name: "drain", title: "drain", fits: (p) => p.object.kind === "Node", form: (p) => <Drain {...p} /> },
  { name: "break", title: "breakButton", fits: (p) => (p as ActsProps).faults.known && canBreak(netOf(p)), form: (p) => <BreakMenu of={netOf(p)} pod={p.object.kind === "Pod" ? podRow(p.object) : undefined} actions={p.actions} report={p.report} /> },
  { name: "delete", title: "deleteButton", fits: () => true, form: (p) => <Simple {...p} title={say("deleteIt")} says={say("deletesIt", { name: p.of.name })} act={remove(p)} perform={p.object.kind === "Pod" ? () => p.actions.deletePod(podRow(p.object)) : undefined} danger /> },
];

function netOf({ object: o, of }: Of): Broken {
  const owner = o.metadata.ownerReferences?.find((r) => r.controller);
  return { kind: o.kind, namespace: of.namespace, name: of.name, labels: o.metadata.labels ?? {}, node: o.spec?.nodeName, ...(owner ? { owner: `${owner.kind}/${owner.name}` } : {}) };
}

/** lastingOn returns the faults that last and meet an object. */
export function lastingOn(faults: Injection[], p: Of): Injection[] {
  const on = netOf(p);
  const { kind, name } = on;
  const own = kind === "Pod" ? concerning(faults, { pod: on }) : kind === "Node" ? faults.filter((f) => !isDone(f) && f.fault.nodes && (f.fault.nodes.names?.includes(name) || f.notes?.some((n) => n.text.includes(`node/${name} `)))) : [];
  return [...own, ...meeting(faults, on)];
}

function rolls(p: Of): boolean {
  return p.kind.group === "apps" && ["Deployment", "StatefulSet", "DaemonSet"].includes(p.object.kind);
}

/** Acts are what can be done with an object. Each shows its command before it is done. */
export function Acts(p: ActsProps) {
  const [shown, show] = useState("");
  useChanges(p.faults);
  const fitting = forms.filter((f) => f.fits(p));
  const Form = fitting.find((f) => f.name === shown)?.form;
  return (
    <div class="acts">
      <div class="buttons" role="group" aria-label={say("whatToDoWith")}>
        <button type="button" onClick={p.edit}>
          {say("edit")}
        </button>
        {fitting.map((f) => (
          <button key={f.name} type="button" class={f.name === "delete" ? "danger" : ""} aria-expanded={shown === f.name} onClick={() => show(shown === f.name ? "" : f.name)}>
            {titleOf(f, p)}
          </button>
        ))}
      </div>
      <Lasting faults={lastingOn(p.faults.items, p)} stop={(id) => p.actions.stop(id)} report={p.report} />
      {Form && <Form key={shown} {...p} close={() => show("")} />}
    </div>
  );
}

/** titleOf is the one of two titles that fits the object as it is. */
function titleOf(f: { name: string; title: Plain | [Plain, Plain] }, { object: o }: Of): string {
  if (typeof f.title === "string") return say(f.title);
  const on = f.name === "cordon" ? o.spec?.unschedulable : f.name === "pause" ? o.spec?.paused : o.spec?.suspend;
  return say(f.title[on ? 1 : 0]);
}

function Simple(p: FormProps & { title: string; says: string; act: ReturnType<typeof restart>; perform?: (() => Promise<void>) | undefined; danger?: boolean }) {
  const [act] = useState(p.act); // as it was when the form was opened: a restart has its time
  return (
    <ActForm title={p.title} act={p.danger ? p.act : act} actions={p.actions} close={p.close} perform={p.perform} danger={p.danger ?? false}>
      <p>{p.says}</p>
    </ActForm>
  );
}

function Scale(p: FormProps) {
  const [text, setText] = useState(String(p.object.spec?.replicas ?? 1));
  const replicas = /^\d+$/.test(text.trim()) ? Number(text) : undefined;
  return (
    <ActForm title={say("scale")} act={replicas === undefined ? undefined : scale(p, replicas)} actions={p.actions} close={p.close}>
      <label>
        {say("replicas")}{" "}<input type="number" min={0} required name="replicas" value={text} onInput={(e) => setText(e.currentTarget.value)} />
      </label>
    </ActForm>
  );
}

function Image(p: FormProps) {
  const containers = imageContainers(p.object);
  const [name, setName] = useState(containers[0]!.name);
  const current = containers.find((c) => c.name === name)?.image ?? "";
  const [image, setImageText] = useState<string>();
  const text = (image ?? current).trim();
  return (
    <ActForm title={say("setImage")} act={text ? setImage(p, name, text) : undefined} actions={p.actions} close={p.close}>
      {containers.length > 1 && (
        <label>
          {say("container")}{" "}
          <select
            value={name}
            onChange={(e) => {
              setName(e.currentTarget.value);
              setImageText(undefined);
            }}
          >
            {containers.map((c) => (
              <option key={c.name}>{c.name}</option>
            ))}
          </select>
        </label>
      )}
      <label>
        {say("image")}{" "}<input required name="image" size={36} value={image ?? current} onInput={(e) => setImageText(e.currentTarget.value)} />
      </label>
    </ActForm>
  );
}

function Undo(p: FormProps) {
  const path = `/apis/apps/v1/namespaces/${p.of.namespace}/${p.object.kind === "Deployment" ? "replicasets" : "controllerrevisions"}`;
  const { items, complete } = useList(path, "labelSelector=");
  const earlier: Earlier[] = earlierOf(p.object, items);
  const [revision, choose] = useState<number>();
  const to = earlier.find((e) => e.revision === revision) ?? earlier[0];
  return (
    <ActForm title={say("undo")} act={to && undo(p, to)} actions={p.actions} close={p.close}>
      {complete && earlier.length === 0 && <p>{say("itHasNoEarlier")}</p>}
      {earlier.length > 0 && (
        <label>
          {say("backTo")}{" "}
          <select value={String(to?.revision)} onChange={(e) => choose(Number(e.currentTarget.value))}>
            {earlier.map((e) => (
              <option key={e.revision} value={e.revision}>
                {say("revisionImages", { revision: String(e.revision), images: e.images })}
              </option>
            ))}
          </select>
        </label>
      )}
    </ActForm>
  );
}
