// YAML of a scenario, written so that it can be read and edited.

export type Value = string | number | boolean | null | undefined | Value[] | { [key: string]: Value };

const plain = /^[A-Za-z][\w./-]*$/;
const words = /^(true|false|null|yes|no|on|off|y|n)$/i;

/** escaped keeps a text from being read as a variable of a scenario. */
export function escaped(text: string): string {
  return text.replace(/\$\{(\w+)\}/g, "$$$${$1}");
}

function scalar(v: string | number | boolean | null): string {
  if (typeof v !== "string") return String(v);
  return plain.test(v) && !words.test(v) ? v : JSON.stringify(escaped(v));
}

/** inline writes a value on one line. */
export function inline(v: Value): string {
  if (Array.isArray(v)) return `[${v.map(inline).join(", ")}]`;
  if (v === null || v === undefined) return "null";
  if (typeof v !== "object") return scalar(v);
  return `{${Object.entries(v).filter(([, e]) => e !== undefined).map(([k, e]) => `${scalar(k)}: ${inline(e)}`).join(", ")}}`;
}
