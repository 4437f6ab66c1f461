// Objects as YAML, line by line with the kinds of their parts, so that the page can colour them.

import type { Value } from "./yaml.ts";

export interface YamlLine {
  /** lead is the indentation with the dashes of lists. */
  lead: string;
  key?: string;
  value?: string;
  /** type colours the value. */
  type?: "string" | "number" | "word" | "block";
  /** path is the field of the line, as spec.containers[0].image. */
  path: string;
}

const plain = /^[A-Za-z_/.][\w./@%+-]*(?::[\w./@%+-]+)*$/;
const reserved = /^(true|false|null|yes|no|on|off|y|n|~)$/i;
const numeric = /^[-+.]?[\d.]/;

function scalar(v: string): string {
  return plain.test(v) && !reserved.test(v) && !numeric.test(v) ? v : JSON.stringify(v);
}

function typeOf(v: Value): NonNullable<YamlLine["type"]> {
  return typeof v === "string" ? "string" : typeof v === "number" ? "number" : "word";
}

/** first are the fields with which an object begins, as kubectl prints them. */
const first = ["apiVersion", "kind", "metadata", "spec"];

function sorted(entries: [string, Value][], top: boolean): [string, Value][] {
  const rank = (k: string) => (top && first.includes(k) ? first.indexOf(k) : first.length);
  return entries.sort(([a], [b]) => rank(a) - rank(b) || (a < b ? -1 : a > b ? 1 : 0));
}

/** yamlLines prints an object. Values that are not set are left out. */
export function yamlLines(object: unknown): YamlLine[] {
  const lines: YamlLine[] = [];
  const block = (lead: string, indent: string, key: string | undefined, text: string, path: string) => {
    const own = key === undefined ? {} : { key };
    // Only text whose lines do not begin or end with a space is the same as a block.
    if (!text.includes("\n") || /^\s|[ \t\r]\n|[^\n]\n\n+$/.test(text)) {
      lines.push({ lead, ...own, value: scalar(text), type: "string", path });
      return;
    }
    const ended = text.endsWith("\n");
    lines.push({ lead, ...own, value: ended ? "|" : "|-", type: "word", path });
    for (const line of (ended ? text.slice(0, -1) : text).split("\n")) lines.push({ lead: line ? `${indent}  ` : "", value: line, type: "block", path });
  };
  const walk = (v: Value, lead: string, indent: string, key: string | undefined, path: string) => {
    const own = key === undefined ? {} : { key };
    if (Array.isArray(v) && v.length > 0) {
      if (key !== undefined) lines.push({ lead, key, path });
      const inner = key === undefined ? lead : indent; // lists are not indented beneath their key, as kubectl prints them
      v.forEach((e, i) => walk(e, `${i === 0 && key === undefined ? inner : indent}- `, `${indent}  `, undefined, `${path}[${i}]`));
      return;
    }
    const entries = v && typeof v === "object" && !Array.isArray(v) ? sorted(Object.entries(v).filter(([, e]) => e !== undefined), path === "") : undefined;
    if (entries && entries.length > 0) {
      if (key !== undefined) lines.push({ lead, key, path });
      const deeper = key === undefined ? indent : `${indent}  `;
      entries.forEach(([k, e], i) => walk(e, key === undefined && i === 0 ? lead : deeper, deeper, k, path ? `${path}.${k}` : k));
      return;
    }
    if (typeof v === "string") block(lead, indent, key, v, path);
    else lines.push({ lead, ...own, value: Array.isArray(v) ? "[]" : entries ? "{}" : String(v), type: typeOf(v ?? null), path });
  };
  walk(object as Value, "", "", undefined, "");
  return lines;
}

function quotedKey(key: string): string {
  return scalar(key);
}

export function lineText(l: YamlLine): string {
  return `${l.lead}${l.key === undefined ? "" : `${quotedKey(l.key)}:${l.value === undefined ? "" : " "}`}${l.value ?? ""}`;
}

export function toYaml(object: unknown): string {
  return `${yamlLines(object).map(lineText).join("\n")}\n`;
}
