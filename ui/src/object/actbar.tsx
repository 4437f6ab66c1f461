import { useState } from "preact/hooks";
import { request } from "../api.ts";
import type { Actions } from "../actions.ts";
import type { Kind } from "../kinds.ts";
import { kubectl } from "../kubectl.ts";
import { type ObjectRef, objectPath } from "../objectref.ts";
import type { KubeObject } from "../reflector.ts";
import { podRow } from "../rows.ts";
import { Command, Problem } from "./parts.tsx";

interface ActsProps {
  of: ObjectRef;
  kind: Kind;
  object: KubeObject;
  actions: Actions;
  edit: () => void;
}

/** Acts are what can be done with an object. Each shows its command before it is done. */
export function Acts(p: ActsProps) {
  const [shown, show] = useState("");
  const toggle = (name: string) => show(shown === name ? "" : name);
  return (
    <div class="acts">
      <div class="buttons" role="group" aria-label="What to do with it">
        <button type="button" onClick={p.edit}>
          Edit
        </button>
        <button type="button" class="danger" aria-expanded={shown === "delete"} onClick={() => toggle("delete")}>
          Delete
        </button>
      </div>
      {shown === "delete" && <Delete {...p} close={() => show("")} />}
    </div>
  );
}

/** Delete asks before it deletes. */
function Delete({ of, kind, object, actions, close }: ActsProps & { close: () => void }) {
  const [problem, setProblem] = useState<unknown>();
  const remove = async () => {
    try {
      if (object.kind === "Pod") await actions.deletePod(podRow(object));
      else await request("DELETE", objectPath(kind, of), { kind: "DeleteOptions", apiVersion: "v1", propagationPolicy: "Background" });
      close();
    } catch (error) {
      setProblem(error);
    }
  };
  return (
    <form
      class="act" aria-label="Delete"
      onSubmit={(e) => {
        e.preventDefault();
        void remove();
      }}
    >
      <p>Delete {of.name}, and then what it owns?</p>
      {problem !== undefined && <Problem error={problem} />}
      <Command text={kubectl("delete", kind, of)} />
      <p class="buttons">
        <button type="submit" class="danger">
          Delete it
        </button>
        <button type="button" onClick={close}>
          Cancel
        </button>
      </p>
    </form>
  );
}
