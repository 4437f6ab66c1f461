import { useState } from "preact/hooks";
import { type Action, durations, type Injection } from "./faults.ts";

/** Lasting lists faults where they work, each with a button to stop it. */
export function Lasting({ faults, stop, report }: { faults: Injection[]; stop: (id: string) => Promise<void>; report: (error: unknown) => void }) {
  if (faults.length === 0) return null;
  return (
    <ul class="lasting" aria-label="Faults here">
      {faults.map((f) => (
        <li key={f.id}>
          <b>{f.id}</b> {f.title}{" "}
          <button type="button" aria-label={`Stop ${f.id}`} onClick={() => void stop(f.id).catch(report)}>
            Stop
          </button>
        </li>
      ))}
    </ul>
  );
}

/** FaultMenu is a menu of what can be broken, with a duration for what lasts. */
export function FaultMenu(p: { what: string; actions: Action[]; act: (action: Action, duration: string) => Promise<unknown>; report: (error: unknown) => void }) {
  const [name, setName] = useState(p.actions[0]!.name);
  const [duration, setDuration] = useState("1m");
  const action = p.actions.find((a) => a.name === name) ?? p.actions[0]!;
  const submit = (e: SubmitEvent) => {
    e.preventDefault();
    p.act(action, action.lasts ? duration : "").catch(p.report);
  };
  return (
    <form class="menu" aria-label={`Break ${p.what}`} onSubmit={submit}>
      <select aria-label="Fault" value={action.name} onChange={(e) => setName(e.currentTarget.value)}>
        {p.actions.map((a) => (
          <option key={a.name} value={a.name}>
            {a.label}
          </option>
        ))}
      </select>
      {action.lasts && <Duration value={duration} set={setDuration} />}
      <button type="submit">Break</button>
    </form>
  );
}

export function Duration({ value, set }: { value: string; set: (duration: string) => void }) {
  return (
    <select aria-label="Duration" value={value} onChange={(e) => set(e.currentTarget.value)}>
      {Object.entries(durations).map(([label, d]) => (
        <option key={d} value={d}>
          {label}
        </option>
      ))}
    </select>
  );
}
