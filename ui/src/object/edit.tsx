import { useState } from "preact/hooks";
import type { Actions } from "../actions.ts";
import { edited } from "../acts.ts";
import { request, StatusError } from "../api.ts";
import type { Kind } from "../kinds.ts";
import { kubectl } from "../kubectl.ts";
import { type ObjectRef, objectPath } from "../objectref.ts";
import { toYaml } from "../printyaml.ts";
import type { KubeObject } from "../reflector.ts";
import { shown } from "./shown.ts";
import { Command, Difference, Problem } from "./parts.tsx";
import { say } from "../language.ts";

/** Editor changes an object as text. The API server tries each change before it is made. */
export function Editor(p: { object: KubeObject; of: ObjectRef; kind: Kind; actions: Actions; close: () => void; setDirty: (dirty: boolean) => void }) {
  const [begun, begin] = useState(p.object);
  const original = toYaml(shown(begun, true));
  const [text, setText] = useState(original);
  const [tried, setTried] = useState<{ text: string; result: KubeObject }>();
  const [problem, setProblem] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const newer = p.object.metadata.resourceVersion !== begun.metadata.resourceVersion;
  const put = async (dryRun: boolean) => {
    setBusy(true);
    setProblem(undefined);
    try {
      const path = `${objectPath(p.kind, p.of)}?fieldValidation=Strict&fieldManager=kubectl-edit${dryRun ? "&dryRun=All" : ""}`;
      const send = async () => (await (await request("PUT", path, text, undefined, "application/yaml")).json()) as KubeObject;
      if (dryRun) return setTried({ text, result: await send() });
      const on = { object: begun, kind: p.kind, of: p.of };
      await p.actions.recorded(send, (after) => edited(on, after), kubectl("edit", p.kind, p.of));
      p.setDirty(false);
      p.close();
    } catch (error) {
      setTried(undefined);
      setProblem(error);
    } finally {
      setBusy(false);
    }
  };
  const change = (next: string) => {
    setText(next);
    p.setDirty(next !== original);
  };
  const reload = () => {
    begin(p.object);
    setText(toYaml(shown(p.object, true)));
    setTried(undefined);
    setProblem(undefined);
    p.setDirty(false);
  };
  const ready = tried?.text === text;
  return (
    <form
      class="editor" aria-label={say("edit")}
      onSubmit={(e) => {
        e.preventDefault();
        void put(!ready);
      }}
    >
      <textarea aria-label={say("yamlOfTheObject")} spellcheck={false} value={text} onInput={(e) => change(e.currentTarget.value)} />
      {newer && !(problem instanceof StatusError && problem.code === 409) && <p class="dim">{say("theObjectHasBeen")}</p>}
      {problem !== undefined && <Problem error={problem} />}
      {ready && (
        <section aria-label={say("whatWouldChangeTitle")}>
          <h3>{say("theApiServerAccepts")}</h3>
          <Difference before={original} after={toYaml(shown({ ...tried.result, metadata: { ...tried.result.metadata, resourceVersion: begun.metadata.resourceVersion } }, true))} same={say("itChangesNothing")} />
        </section>
      )}
      <p class="buttons">
        {ready ? (
          <button type="submit" class="primary" disabled={busy}>
            {say("apply")}
          </button>
        ) : (
          <button type="submit" class="primary" disabled={busy || text === original}>
            {say("tryIt")}
          </button>
        )}
        {newer && (
          <button type="button" onClick={reload}>
            {say("loadTheNewest")}
          </button>
        )}
        <button
          type="button"
          onClick={() => {
            p.setDirty(false);
            p.close();
          }}
        >
          {say("discard")}
        </button>
      </p>
      <Command text={kubectl("edit", p.kind, p.of)} />
    </form>
  );
}
