import { useEffect, useRef, useState } from "preact/hooks";
import { request, StatusError } from "../api.ts";
import type { Actions } from "../actions.ts";
import { cordon, drainCommand, drainedPods, type Of } from "../acts.ts";
import { useList } from "../reading.ts";
import type { KubeObject } from "../reflector.ts";
import { Command, Problem } from "./parts.tsx";
import { say } from "../language.ts";

/** retryAfter is the time between two attempts of an eviction that a budget refuses: kubectl's, on the machine's clock. */
const retryAfter = 5000;

/** Drain cordons a node and evicts its pods, as "kubectl drain" does, until they are gone or the form is closed. */
export function Drain(p: Of & { actions: Actions; close: () => void }) {
  const { items: pods, complete } = useList("/api/v1/pods", `fieldSelector=${encodeURIComponent(`spec.nodeName=${p.of.name}`)}`);
  const [force, setForce] = useState(false);
  const [emptyDir, setEmptyDir] = useState(false);
  const [running, run] = useState(false);
  const [problem, setProblem] = useState<unknown>();
  const [refused, setRefused] = useState<Record<string, string>>({});
  const asked = useRef(new Set<string>());
  const plan = drainedPods(pods, force, emptyDir);
  const leaving = plan.evict;
  useEffect(() => {
    if (!running) return;
    const evict = () => {
      for (const pod of leaving) if (!asked.current.has(pod.metadata.uid) && !pod.metadata.deletionTimestamp) void ask(pod);
    };
    const ask = async (pod: KubeObject) => {
      const { name, namespace, uid } = pod.metadata;
      asked.current.add(uid);
      try {
        await request("POST", `/api/v1/namespaces/${namespace}/pods/${name}/eviction`, { apiVersion: "policy/v1", kind: "Eviction", metadata: { name, namespace } });
        setRefused(({ [uid]: _, ...rest }) => rest);
      } catch (error) {
        if (error instanceof StatusError && error.code === 404) return;
        asked.current.delete(uid);
        setRefused((r) => ({ ...r, [uid]: `${name}: ${error instanceof Error ? error.message : error}` }));
      }
    };
    evict();
    const timer = setInterval(evict, retryAfter);
    return () => clearInterval(timer);
  }, [running, leaving.map((l) => l.metadata.uid).join()]);
  const begin = async () => {
    try {
      await p.actions.perform(cordon(p, true));
      p.actions.note(say("drainedNote", { node: p.of.name }));
      run(true);
    } catch (error) {
      setProblem(error);
    }
  };
  const waiting = leaving.map((l) => refused[l.metadata.uid]).filter(Boolean);
  return (
    <form
      class="act" aria-label={say("drain")}
      onSubmit={(e) => {
        e.preventDefault();
        void begin();
      }}
    >
      {running ? (
        <p role="status">{complete && leaving.length === 0 ? say("nodeIsDrained", { n: plan.stays }) : say("podsAreLeaving", { n: leaving.length })}</p>
      ) : (
        <>
          <p>
            {say("cordonsAndEvicts", { n: leaving.length, stays: plan.stays })}
          </p>
          <label>
            <input type="checkbox" checked={force} onChange={(e) => setForce(e.currentTarget.checked)} />{" "}{say("alsoPodsThatNo")}
          </label>
          <label>
            <input type="checkbox" checked={emptyDir} onChange={(e) => setEmptyDir(e.currentTarget.checked)} />{" "}{say("alsoPodsWithData")}
          </label>
          {plan.refuses.map((r) => (
            <p key={r.name} class="bad">
              {r.name}: {r.why}
            </p>
          ))}
        </>
      )}
      {problem !== undefined && <Problem error={problem} />}
      {waiting.length > 0 && (
        <ul aria-label={say("evictionsThatAreRefused")}>
          {waiting.map((w) => (
            <li key={w}>{w}</li>
          ))}
        </ul>
      )}
      <Command text={drainCommand(p.of.name, force, emptyDir)} />
      <p class="buttons">
        {!running && (
          <button type="submit" class="danger" disabled={!complete || plan.refuses.length > 0}>
            {say("drain")}
          </button>
        )}
        <button type="button" onClick={p.close}>
          {say(running ? (leaving.length > 0 ? "stopButton" : "close") : "cancel")}
        </button>
      </p>
    </form>
  );
}
