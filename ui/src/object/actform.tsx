import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { getJSON } from "../api.ts";
import type { Actions } from "../actions.ts";
import type { Act } from "../acts.ts";
import { toYaml } from "../printyaml.ts";
import type { KubeObject } from "../reflector.ts";
import { Command, Difference, Problem } from "./parts.tsx";
import { shown } from "./shown.ts";
import { say } from "../language.ts";

/** ActForm does an act, or performs it otherwise. It shows the command before, and what the act would change if that is asked for. */
export function ActForm(p: { title: string; act: Act | undefined; actions: Actions; close: () => void; perform?: (() => Promise<void>) | undefined; danger?: boolean; children?: ComponentChildren }) {
  const [tried, setTried] = useState<{ act: string; before: string; after: string }>();
  const [problem, setProblem] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const { act } = p;
  const key = JSON.stringify(act);
  const run = async (what: () => Promise<void>) => {
    setBusy(true);
    setProblem(undefined);
    try {
      await what();
    } catch (error) {
      setTried(undefined);
      setProblem(error);
    } finally {
      setBusy(false);
    }
  };
  const attempt = () =>
    run(async () => {
      const before = await getJSON<KubeObject>(act!.sent.path);
      const after = await p.actions.attempt(act!.sent);
      setTried({ act: key, before: toYaml(shown(before)), after: toYaml(shown({ ...after, metadata: { ...after.metadata, resourceVersion: before.metadata.resourceVersion } })) });
    });
  const perform = () =>
    run(async () => {
      await (p.perform?.() ?? p.actions.perform(act!));
      p.close();
    });
  return (
    <form
      class="act" aria-label={p.title}
      onSubmit={(e) => {
        e.preventDefault();
        if (act) void perform();
      }}
    >
      {p.children}
      {problem !== undefined && <Problem error={problem} />}
      {act && <Command text={act.command} />}
      {act && tried?.act === key && <Difference before={tried.before} after={tried.after} same={say("itChangesNothing")} />}
      <p class="buttons">
        <button type="submit" class={p.danger ? "danger" : "primary"} disabled={!act || busy}>
          {p.title}
        </button>
        {act && act.sent.method !== "DELETE" && (
          <button type="button" disabled={busy} onClick={() => void attempt()}>
            {say("whatWouldChange")}
          </button>
        )}
        <button type="button" onClick={p.close}>
          {say("cancel")}
        </button>
      </p>
    </form>
  );
}
