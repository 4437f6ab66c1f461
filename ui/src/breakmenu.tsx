import type { Actions } from "./actions.ts";
import { FaultMenu } from "./faultmenu.tsx";
import { type Action, type FaultDocument, lasting, nodeActions, podActions } from "./faults.ts";
import { endOf, faultCommand, netActions, netFault, type Of } from "./netfaults.ts";
import type { PodRow } from "./rows.ts";
import { say } from "./language.ts";

/** breaks returns what the menu of an object offers. */
function breaks(of: Of): Action[] {
  if (!endOf(of)) return [];
  return [...(of.kind === "Pod" ? podActions : of.kind === "Node" ? nodeActions : []), ...netActions];
}

function faultOf(a: Action, of: Of, value: string): FaultDocument {
  if (a.part) return netFault(a, of, value);
  return of.kind === "Node" ? { nodes: { action: a.name, names: [of.name] } } : { pods: { action: a.name, namespace: of.namespace, names: [of.name] } };
}

/** canBreak reports whether there is a menu for an object. */
export function canBreak(of: Of): boolean {
  return breaks(of).length > 0;
}

/** BreakMenu breaks an object, or its network. pod is the row of a pod, by which a recording finds it again. */
export function BreakMenu({ of, pod, actions, report }: { of: Of; pod?: PodRow | undefined; actions: Actions; report: (error: unknown) => void }) {
  const what = of.kind === "Pod" ? say("thePod") : of.kind === "Node" ? say("theNode") : say("theKind", { kind: of.kind });
  return (
    <FaultMenu
      what={what} actions={breaks(of)} report={report} command={(a, d, v) => faultCommand(lasting(faultOf(a, of, v), d))}
      act={(a, d, v) => actions.inject(lasting(faultOf(a, of, v), d), a.lasts, a.part ? undefined : pod)}
    />
  );
}
