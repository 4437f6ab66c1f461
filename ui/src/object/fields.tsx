import type { Field } from "../forms.ts";
import { say } from "../language.ts";
import { noService } from "../forms.ts";

/** Fields are the inputs of a form. Fields that are settled cannot be changed. */
export function Fields(p: { fields: Field[]; values: Record<string, string>; settled: string[]; suggestions: Record<string, string[]>; change: (name: string, value: string) => void }) {
  return (
    <div class="fields">
      {p.fields.map((f) => {
        const own = { name: f.name, required: !f.optional, disabled: p.settled.includes(f.name), value: p.settled.includes(f.name) ? "" : p.values[f.name] };
        const input = (e: { currentTarget: { value: string } }) => p.change(f.name, e.currentTarget.value);
        return (
          <label key={f.name} class={f.type === "lines" ? "wide" : undefined}>
            {say(f.label)}
            {f.type === "choice" ? (
              <select {...own} onChange={input}>
                {f.choices!.map((c) => (
                  <option key={c} value={c}>
                    {c === noService ? say("none") : c}
                  </option>
                ))}
              </select>
            ) : f.type === "lines" ? (
              <textarea {...own} rows={4} spellcheck={false} onInput={input} />
            ) : (
              <input
                {...own} {...(f.type === "number" ? { type: "number", min: f.name === "replicas" ? 0 : 1 } : {})}
                {...(p.suggestions[f.name] ? { list: `suggested-${f.name}` } : {})} placeholder={own.disabled ? "" : f.example} spellcheck={false} autocomplete="off" onInput={input}
              />
            )}
            {p.suggestions[f.name] && (
              <datalist id={`suggested-${f.name}`}>
                {p.suggestions[f.name]!.map((s) => (
                  <option key={s} value={s} />
                ))}
              </datalist>
            )}
          </label>
        );
      })}
    </div>
  );
}
