import type { ComponentChildren } from "preact";
import { addressOf, type ObjectRef, type Tab } from "../objectref.ts";
import { route } from "../route.ts";

/** open shows an object in the panel, beside the view that is shown. */
export function open(of: ObjectRef, tab?: Tab): void {
  location.href = addressOf(route(), of, tab);
}

/** isOpen reports whether the panel shows an object. */
export function isOpen(): boolean {
  return route().query.has("object");
}

/** ObjectLink opens an object's panel. Its address works in another tab, too. */
export function ObjectLink(p: { of: ObjectRef; tab?: Tab; rev?: number; children: ComponentChildren }) {
  return (
    <a
      class="object-link" href={addressOf(route(), p.of, p.tab, p.rev)}
      onClick={(e) => {
        if (e.ctrlKey || e.metaKey || e.shiftKey) return;
        e.preventDefault();
        location.href = addressOf(route(), p.of, p.tab, p.rev);
      }}
    >
      {p.children}
    </a>
  );
}

/** resources are those of the kinds that the views' rows name. */
const resources: Record<string, [group: string, resource: string]> = {
  Deployment: ["apps", "deployments"], ReplicaSet: ["apps", "replicasets"], StatefulSet: ["apps", "statefulsets"], DaemonSet: ["apps", "daemonsets"],
  Job: ["batch", "jobs"], CronJob: ["batch", "cronjobs"], Pod: ["", "pods"], Node: ["", "nodes"], HorizontalPodAutoscaler: ["autoscaling", "horizontalpodautoscalers"],
};

/** NamedLink is a link to a KIND/NAME if the kind is known. Otherwise it is the name as text, or with known nothing. */
export function NamedLink({ named, namespace, known: only, children }: { named: string; namespace: string; known?: boolean; children?: ComponentChildren }) {
  const [kind = "", name = ""] = named.split("/");
  const known = resources[kind];
  if (!known || !name) return only ? null : <>{named}</>;
  return <ObjectLink of={{ group: known[0], resource: known[1], namespace: kind === "Node" ? "" : namespace, name }}>{children ?? named}</ObjectLink>;
}
