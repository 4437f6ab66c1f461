// What the debugger's stops say, in the page's language. The server says the same in English.

import type { Decision, Read, Stop } from "./debugger.ts";
import { list, say } from "./language.ts";

/** maxListed is the number of keys that a sentence names. */
const maxListed = 3;

function objectOf(r: Read | undefined): string {
  return r ? [r.kind, r.name].filter(Boolean).join(" ") : say("anObject");
}

function numbers(d: Decision): string {
  const values = { owner: d.owner, n: d.wants ?? 0, has: d.has ?? 0 };
  return d.counts === "pod" ? say("wantsPods", values) : d.counts === "replica" ? say("wantsReplicas", values) : d.owner;
}

function actionOf(a: NonNullable<Decision["actions"]>[number]): string {
  const what = !a.count ? a.verb : a.verb === "updateStatus" ? say("writeStatus") : a.name ? `${a.verb} ${a.kind} ${a.name}` : say("verbCount", { verb: a.verb, n: a.count, kind: a.kind ?? "" });
  const changes = (a.changes ?? []).map((c) => `${c.field} ${c.was} → ${c.now}`);
  return changes.length > 0 ? say("withChanges", { what, changes: list(changes) }) : what;
}

function handled(s: Stop): string {
  const keys = s.keys ?? [];
  const named = keys.length > maxListed ? say("andMoreKeys", { keys: list(keys.slice(0, maxListed)), n: keys.length - maxListed }) : list(keys);
  const values = { object: objectOf(s.object), controller: s.controller ?? "", keys: named };
  if (!s.merged) return say("stopHandled", values);
  return s.merged === keys.length ? say("stopHandledMerged", values) : say("stopHandledSome", { ...values, n: s.merged });
}

/** events are what an event of a watch says of its object. */
const events = { added: "eventAdded", modified: "eventModified", deleted: "eventDeleted" } as const;

/** stopText says what happens next at a stop, and why. */
export function stopText(s: Stop): string {
  const [key, controller, object] = [s.key ?? "", s.controller ?? "", objectOf(s.object)];
  switch (s.stage) {
    case "event":
      return say(events[s.event as keyof typeof events] ?? "eventModified", { object });
    case "queue":
      return say("stopQueue", { object });
    case "handler":
      return handled(s);
    case "key":
      return say("stopKey", { controller, key });
    case "decision": {
      if (!s.decision) return say("nothingToWriteFor", { key });
      const why = numbers(s.decision);
      const does = (s.decision.actions ?? []).map(actionOf);
      return does.length > 0 ? say("decidedTo", { why, does: does.join(say("thenJoin")) }) : say("decidedNothing", { why });
    }
    case "write": {
      const values = { controller, verb: s.verb ?? "", object };
      return s.decision ? say("stopWriteSince", { ...values, why: numbers(s.decision) }) : say("stopWrite", values);
    }
    case "failure":
      return say("stopFailed", { key, n: s.failures ?? 1 });
    case "work":
      return s.code === "scheduleOne" ? say("stopSchedules", { key }) : s.code === "EventRecorder" ? say("stopRecords", { key }) : s.code === "syncPod" ? say("stopKubelet", { key }) : s.says;
  }
}
