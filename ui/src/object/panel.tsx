import { useEffect, useRef, useState } from "preact/hooks";
import type { Actions } from "../actions.ts";
import type { Clock } from "../clock.ts";
import type { Faults } from "../faults.ts";
import type { Kind } from "../kinds.ts";
import { inNamespace, kubectl, quoted, target } from "../kubectl.ts";
import { collectionPath, formatRef, addressOf, type ObjectRef, parseRef, type Tab, tabs } from "../objectref.ts";
import { type Reading, useKind, useList } from "../reading.ts";
import type { KubeObject } from "../reflector.ts";
import { route as routeNow, type Route } from "../route.ts";
import { revisionOf } from "../scrubber.tsx";
import { Explained } from "../whyview.tsx";
import { Acts } from "./actbar.tsx";
import { Create } from "./create.tsx";
import { Editor } from "./edit.tsx";
import { Events } from "./events.tsx";
import { healthOf } from "./health.ts";
import { History } from "./history.tsx";
import { Logs } from "./logs.tsx";
import { Overview } from "./overview.tsx";
import { Command, Empty, useTick, Yaml } from "./parts.tsx";
import { OwnerChain, Related } from "./related.tsx";
import { Shell } from "./shell.tsx";
import { managedFields, shown } from "./shown.ts";
import { say } from "../language.ts";

const titles = { overview: "tabOverview", yaml: "yaml", events: "events", related: "tabRelated", logs: "logs", why: "whyWord", history: "tabHistory" } as const;

export interface PanelProps {
  route: Route;
  clock: Clock;
  faults: Faults;
  actions: Actions;
  report: (error: unknown) => void;
}

/** ObjectPanel shows the object that the route names, or the form that creates objects, beside the view. */
export function ObjectPanel(p: PanelProps) {
  const of = parseRef(p.route.query.get("object"));
  if (p.route.query.has("create")) return <Create actions={p.actions} />;
  return of ? <Panel key={formatRef(of)} {...p} of={of} /> : null;
}

function Panel(p: PanelProps & { of: ObjectRef }) {
  const { of, route, clock } = p;
  const dirty = useRef(false);
  const at = Number(route.query.get("rev")) || (route.view === "cluster" ? revisionOf(route) : 0);
  const kind = useKind(of.group, of.resource);
  const query = `fieldSelector=${encodeURIComponent(`metadata.name=${of.name}`)}`;
  const reading = useList(kind ? collectionPath(kind, of.namespace) : undefined, query, at);
  const last = useRef<KubeObject | undefined>(undefined);
  const [found] = reading.items;
  const object = found && kind ? { ...found, kind: kind.kind, apiVersion: kind.groupVersion } : undefined;
  if (object) last.current = object;
  useTick();
  const health = object && healthOf(object);
  return (
    <Shell
      dirty={dirty} title={of.name} above={[kind?.kind ?? of.resource, of.namespace && say("inNamespace", { namespace: of.namespace })].filter(Boolean).join(" ")}
      beside={
        <>
          {health?.word && <span class={`tone ${health.tone}`}>{health.word}</span>}
          {at > 0 && (
            <span class="tone past">
              {say("asOfRevisionLower", { revision: String(at) })} <a href={addressOf({ ...routeNow(), query: withoutAt() }, of, (routeNow().query.get("tab") ?? "overview") as Tab)}>{say("now")}</a>
            </span>
          )}
        </>
      }
    >
      {kind === null && <Empty>{say("servesNoResource", { resource: of.group ? `${of.resource}.${of.group}` : of.resource })}</Empty>}
      {kind && <Body {...p} kind={kind} object={object} last={at ? undefined : last.current} reading={reading} at={at} clock={clock} setDirty={(d) => (dirty.current = d)} />}
    </Shell>
  );
}

function withoutAt(): URLSearchParams {
  const query = new URLSearchParams(routeNow().query);
  query.delete("at");
  return query;
}

interface BodyProps extends PanelProps {
  of: ObjectRef;
  kind: Kind;
  object: KubeObject | undefined;
  /** last is the object as it was seen last, for one that is gone. */
  last: KubeObject | undefined;
  reading: Reading;
  at: number;
  setDirty: (dirty: boolean) => void;
}

function Body(p: BodyProps) {
  const { of, kind, object, reading, at, clock } = p;
  const [editing, edit] = useState(false);
  const asked = p.route.query.get("tab") as Tab | null;
  const own = tabs.filter((t) => t !== "logs" || (of.group === "" && of.resource === "pods"));
  const tab = asked && own.includes(asked) ? asked : "overview";
  const gone = reading.complete && !object;
  const o = object ?? p.last;
  useEffect(() => {
    if (tab !== "yaml") edit(false);
  }, [tab]);
  const show = (t: Tab) => {
    p.setDirty(false);
    location.href = addressOf(routeNow(), of, t, Number(routeNow().query.get("rev")) || undefined);
  };
  return (
    <>
      {o && <OwnerChain object={o} at={at} />}
      {object && !at && (
        <Acts
          {...p} object={object}
          edit={() => {
            show("yaml");
            edit(true);
          }}
        />
      )}
      {gone && (
        <p class="notice" role="status">
          {reading.error ?? (at ? say("notThereAt", { revision: String(at) }) : p.last ? say("deletedLastState") : say("doesNotExist"))}
        </p>
      )}
      {!gone && reading.error && <p role="alert">{reading.error}</p>}
      <TabList tabs={own} tab={tab} show={show} />
      <div class="tab-panel" role="tabpanel" aria-label={say(titles[tab])}>
        {tab === "why" ? (
          <Why {...p} />
        ) : tab === "history" ? (
          <History of={of} kind={kind} revision={object?.metadata.resourceVersion ?? "gone"} clock={clock} />
        ) : !o ? (
          !gone && <p class="dim">{say("loading")}</p>
        ) : tab === "yaml" ? (
          editing && object && !at ? (
            <Editor object={object} of={of} kind={kind} actions={p.actions} close={() => edit(false)} setDirty={p.setDirty} />
          ) : (
            <YamlTab object={o} edit={object && !at ? () => edit(true) : undefined} />
          )
        ) : tab === "events" ? (
          <Events object={o} at={at} clock={clock} />
        ) : tab === "related" ? (
          <Related object={o} at={at} />
        ) : tab === "logs" ? (
          at ? <Empty>{say("logsAreThoseOf")}</Empty> : <Logs pod={o} />
        ) : (
          <Overview object={o} kind={kind} at={at} clock={clock} />
        )}
      </div>
      {!editing && <Command text={commandOf(tab, kind, of)} />}
    </>
  );
}

/** commandOf is the command that shows what a tab does. */
function commandOf(tab: Tab, kind: Kind, of: ObjectRef): string {
  switch (tab) {
    case "yaml":
      return kubectl("get", kind, of, "-o yaml");
    case "events":
      return `kubectl events${inNamespace(of.namespace)} --for ${quoted(target(kind, of.name))}`;
    case "logs":
      return kubectl("logs", kind, of, "-f").replace("logs pod/", "logs ");
    case "why":
      return `minikcm why ${quoted(target(kind, of.name))}${inNamespace(of.namespace)}`;
    case "history":
      return `minikcm writes --resource ${quoted(kind.name)} --name ${quoted(of.name)}${inNamespace(of.namespace)}`;
    default:
      return kubectl("describe", kind, of);
  }
}

function TabList({ tabs: own, tab, show }: { tabs: Tab[]; tab: Tab; show: (t: Tab) => void }) {
  const list = useRef<HTMLDivElement>(null);
  const key = (e: KeyboardEvent) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
    if (!by) return;
    e.preventDefault();
    const next = own[(own.indexOf(tab) + by + own.length) % own.length]!;
    show(next);
    list.current?.querySelector<HTMLElement>(`[data-tab=${next}]`)?.focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label={say("partsOfTheObject")} ref={list} onKeyDown={key}>
      {own.map((t) => (
        <button key={t} type="button" role="tab" data-tab={t} aria-selected={t === tab} tabIndex={t === tab ? 0 : -1} onClick={() => show(t)}>
          {say(titles[t])}
        </button>
      ))}
    </div>
  );
}

function Why({ of, object, at }: BodyProps) {
  return (
    <>
      {at > 0 && <p class="dim">{say("causesOfNow", { revision: String(at) })}</p>}
      <Explained of={of} revision={object?.metadata.resourceVersion ?? ""} />
    </>
  );
}

function YamlTab({ object, edit }: { object: KubeObject; edit: (() => void) | undefined }) {
  const [secrets, show] = useState(false);
  const fields = managedFields(object);
  return (
    <>
      <p class="buttons">
        {edit && (
          <button type="button" onClick={edit}>
            {say("edit")}
          </button>
        )}
        {object.kind === "Secret" && (
          <button type="button" aria-pressed={secrets} onClick={() => show(!secrets)}>
            {say(secrets ? "hideTheValues" : "showTheValues")}
          </button>
        )}
      </p>
      <Yaml object={shown(object, secrets)} />
      {fields.length > 0 && (
        <details>
          <summary>managedFields: {[...new Set(fields.map((f) => f.manager))].join(", ")}</summary>
          <Yaml object={{ managedFields: fields }} />
        </details>
      )}
    </>
  );
}
