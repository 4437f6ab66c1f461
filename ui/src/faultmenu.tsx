import { useState } from "preact/hooks";
import { Command } from "./object/parts.tsx";
import { type Action, durations, type Injection } from "./faults.ts";
import { span } from "./words.ts";
import { say } from "./language.ts";

/** Lasting lists faults where they work, each with a button to stop it. */
export function Lasting({ faults, stop, report }: { faults: Injection[]; stop: (id: string) => Promise<void>; report: (error: unknown) => void }) {
  if (faults.length === 0) return null;
  return (
    <ul class="lasting" aria-label={say("faultsHere")}>
      {faults.map((f) => (
        <li key={f.id}>
          <b>{f.id}</b> {f.title}{" "}
          <button type="button" aria-label={say("stopWhat", { what: f.id })} onClick={() => void stop(f.id).catch(report)}>
            {say("stopButton")}
          </button>
        </li>
      ))}
    </ul>
  );
}

/** FaultMenu is a menu of what can be broken, with a duration for what lasts. */
export function FaultMenu(p: { what: string; actions: Action[]; act: (action: Action, duration: string, value: string) => Promise<unknown>; command?: (action: Action, duration: string, value: string) => string; report: (error: unknown) => void }) {
  const [name, setName] = useState(p.actions[0]!.name);
  const [duration, setDuration] = useState("1m");
  const action = p.actions.find((a) => (a.part ? `${a.part} ${a.name}` : a.name) === name) ?? p.actions[0]!;
  const [values, setValues] = useState<Record<string, string>>({});
  const value = values[`${action.part} ${action.name}`] ?? action.field?.value ?? "";
  const length = action.lasts ? duration : "";
  const groups = [...new Set(p.actions.map((a) => a.part))];
  const keyOf = (a: Action) => (a.part ? `${a.part} ${a.name}` : a.name);
  const submit = (e: SubmitEvent) => {
    e.preventDefault();
    p.act(action, length, value).catch(p.report);
  };
  return (
    <form class="menu" aria-label={say("breakWhat", { what: p.what })} onSubmit={submit}>
      <select aria-label={say("fault")} value={keyOf(action)} onChange={(e) => setName(e.currentTarget.value)}>
        {groups.map((g) => {
          const options = p.actions.filter((a) => a.part === g).map((a) => (
            <option key={keyOf(a)} value={keyOf(a)}>
              {say(a.label)}
            </option>
          ));
          return g && groups.length > 1 ? (
            <optgroup key={g} label={say(titles[g])}>
              {options}
            </optgroup>
          ) : (
            options
          );
        })}
      </select>
      {action.field && (
        <label>
          {action.field.label && say(action.field.label)}{" "}
          <input aria-label={action.field.name} required size={6} pattern={action.field.pattern} value={value} onInput={(e) => setValues({ ...values, [`${action.part} ${action.name}`]: e.currentTarget.value })} />
        </label>
      )}
      {action.lasts && <Duration value={duration} set={setDuration} />}
      <button type="submit">{say("breakButton")}</button>
      {p.command && (
        <details>
          <summary>{say("asACommand")}</summary>
          <Command text={p.command(action, length, value)} />
        </details>
      )}
    </form>
  );
}

const titles = { network: "networkWord", dns: "dnsWord", http: "httpWord" } as const;

export function Duration({ value, set }: { value: string; set: (duration: string) => void }) {
  return (
    <select aria-label={say("duration")} value={value} onChange={(e) => set(e.currentTarget.value)}>
      {Object.entries(durations).map(([d, ms]) => (
        <option key={d} value={d}>
          {ms ? span(ms) : say("untilStopped")}
        </option>
      ))}
    </select>
  );
}
