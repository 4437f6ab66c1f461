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

const forms: { name: string; title: string; fits: (p: Of) => boolean; form: (p: FormProps) => preact.JSX.Element | null }[] = [
  { name: "scale", title: "Scale", fits: (p) => p.kind.scales && !p.object.metadata.ownerReferences?.some((r) => r.controller), form: Scale },
  { name: "image", title: "Set image", fits: (p) => imageContainers(p.object).length > 0 && p.object.kind !== "Job" && p.object.kind !== "ReplicaSet", form: Image },
  { name: "restart", title: "Restart", fits: rolls, form: (p) => <Simple {...p} title="Restart" says="Replaces the pods, as the strategy of its updates says." act={restart(p, p.clock.now())} /> },
  { name: "undo", title: "Undo", fits: rolls, form: Undo },
  {
    name: "pause", title: "Pause or resume", fits: (p) => p.object.kind === "Deployment",
    form: (p) => (p.object.spec?.paused ? <Simple {...p} title="Resume" says="The rollout goes on." act={pauseRollout(p, false)} /> : <Simple {...p} title="Pause" says="Changes of the template wait until the rollout is resumed." act={pauseRollout(p, true)} />),
  },
  {
    name: "suspend", title: "Suspend or resume", fits: (p) => p.object.kind === "CronJob" || p.object.kind === "Job",
    form: (p) => (p.object.spec?.suspend ? <Simple {...p} title="Resume" says="It goes on." act={suspend(p, false)} /> : <Simple {...p} title="Suspend" says={p.object.kind === "Job" ? "Its pods are deleted until it is resumed." : "It makes no Jobs until it is resumed."} act={suspend(p, true)} />),
  },
  {
    name: "cordon", title: "Cordon or uncordon", fits: (p) => p.object.kind === "Node",
    form: (p) => (p.object.spec?.unschedulable ? <Simple {...p} title="Uncordon" says="The scheduler may place pods on it again." act={cordon(p, false)} /> : <Simple {...p} title="Cordon" says="The scheduler places no more pods on it." act={cordon(p, true)} />),
  },
  { name: "drain", title: "Drain", fits: (p) => p.object.kind === "Node", form: (p) => <Drain {...p} /> },
  { name: "break", title: "Break", fits: (p) => (p as ActsProps).faults.known && canBreak(netOf(p)), form: (p) => <BreakMenu of={netOf(p)} pod={p.object.kind === "Pod" ? podRow(p.object) : undefined} actions={p.actions} report={p.report} /> },
  { name: "delete", title: "Delete", fits: () => true, form: (p) => <Simple {...p} title="Delete it" says={`Deletes ${p.of.name}, and then what it owns.`} act={remove(p)} perform={p.object.kind === "Pod" ? () => p.actions.deletePod(podRow(p.object)) : undefined} danger /> },
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
      <div class="buttons" role="group" aria-label="What to do with it">
        <button type="button" onClick={p.edit}>
          Edit
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
function titleOf(f: { name: string; title: string }, { object: o }: Of): string {
  const [first, second] = f.title.split(" or ");
  if (!second) return f.title;
  const on = f.name === "cordon" ? o.spec?.unschedulable : f.name === "pause" ? o.spec?.paused : o.spec?.suspend;
  return on ? second.charAt(0).toUpperCase() + second.slice(1) : first!;
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
    <ActForm title="Scale" act={replicas === undefined ? undefined : scale(p, replicas)} actions={p.actions} close={p.close}>
      <label>
        Replicas <input type="number" min={0} required name="replicas" value={text} onInput={(e) => setText(e.currentTarget.value)} />
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
    <ActForm title="Set image" act={text ? setImage(p, name, text) : undefined} actions={p.actions} close={p.close}>
      {containers.length > 1 && (
        <label>
          Container{" "}
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
        Image <input required name="image" size={36} value={image ?? current} onInput={(e) => setImageText(e.currentTarget.value)} />
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
    <ActForm title="Undo" act={to && undo(p, to)} actions={p.actions} close={p.close}>
      {complete && earlier.length === 0 && <p>It has no earlier revision.</p>}
      {earlier.length > 0 && (
        <label>
          Back to{" "}
          <select value={String(to?.revision)} onChange={(e) => choose(Number(e.currentTarget.value))}>
            {earlier.map((e) => (
              <option key={e.revision} value={e.revision}>
                revision {e.revision}: {e.images}
              </option>
            ))}
          </select>
        </label>
      )}
    </ActForm>
  );
}
