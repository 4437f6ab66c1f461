// The language of the page. Its texts are the messages of catalogs, one a language; views have only their keys.

import type { ComponentChild } from "preact";
import { en } from "./messages/en.ts";
import { zh } from "./messages/zh.ts";

export type Language = "en" | "zh";
export type Key = keyof typeof en;
/** languages are those that the page speaks, each by its own name. */
export const languages: Record<Language, string> = { en: "English", zh: "中文" };
export const catalogs: Record<Language, Record<Key, string>> = { en, zh };
const tags: Record<Language, string> = { en: "en", zh: "zh-Hans" };

/** Names are the values that a message takes: {name}, and {name|one:pod|other:pods}, which is the form for a number. */
type Names<S> = S extends `${string}{${infer In}}${infer Rest}` ? (In extends `${infer Name}|${string}` ? Name : In) | Names<Rest> : never;
type Values<K extends Key, V> = [Names<(typeof en)[K]>] extends [never] ? [] : [values: Record<Names<(typeof en)[K]>, V>];

/** Plain are the messages without values. */
export type Plain = { [K in Key]: [Names<(typeof en)[K]>] extends [never] ? K : never }[Key];

/** Message is a message with its values, for what is computed where the language is not known. */
export interface Message {
  key: Key;
  values: Record<string, string | number>;
}

/** suited returns the first of some languages, as browsers name them, that the page speaks. */
export function suited(wanted: readonly string[]): Language {
  for (const w of wanted) {
    const found = (Object.keys(languages) as Language[]).find((l) => w.toLowerCase().split("-")[0] === l);
    if (found) return found;
  }
  return "en";
}

let current: Language = "en";
let plural = new Intl.PluralRules(tags.en);

export function language(): Language {
  return current;
}

/** setLanguage changes the language of what is drawn from now on. */
export function setLanguage(to: Language): void {
  current = to;
  plural = new Intl.PluralRules(tags[to]);
  if (globalThis.document) document.documentElement.lang = tags[to];
}

const stored = "language";

/** beginLanguage sets the language that was chosen last, or the browser's. */
export function beginLanguage(): void {
  setLanguage(suited([localStorage.getItem(stored) ?? "", ...navigator.languages]));
}

export function chooseLanguage(to: Language): void {
  localStorage.setItem(stored, to);
  setLanguage(to);
}

/** number writes a number with some digits after the point. */
export function number(n: number, digits?: number): string {
  return new Intl.NumberFormat(tags[current], digits === undefined ? {} : { minimumFractionDigits: digits, maximumFractionDigits: digits }).format(n);
}

function parts(key: Key, values: Record<string, unknown>): unknown[] {
  return catalogs[current][key].split(/\{([^}]*)\}/).map((part, i) => {
    if (i % 2 === 0) return part;
    const [name = "", ...forms] = part.split("|");
    const value = values[name];
    if (forms.length === 0) return typeof value === "number" ? number(value) : value;
    const form = (category: string) => forms.find((f) => f.startsWith(`${category}:`))?.slice(category.length + 1);
    return form(plural.select(Number(value))) ?? form("other");
  });
}

/** say is a message as text. Numbers are written as the language does; what is no amount, such as a revision, is passed as text. */
export function say<K extends Key>(key: K, ...[values]: Values<K, string | number>): string {
  return parts(key, values ?? {}).join("");
}

/** sentence is a message some of whose values are elements. */
export function sentence<K extends Key>(key: K, ...[values]: Values<K, ComponentChild>): ComponentChild[] {
  return parts(key, values ?? {}) as ComponentChild[];
}

export function message<K extends Key>(key: K, ...[values]: Values<K, string | number>): Message {
  return { key, values: values ?? {} };
}

export function saying(m: Message | undefined): string {
  return m ? parts(m.key, m.values).join("") : "";
}

/** problemText is the text of an error, which the worker names by its message. */
export function problemText(text: string): string {
  return Object.hasOwn(en, text) ? say(text as Plain) : text;
}

/** list joins what is not empty. */
export function list(items: (string | undefined | false)[]): string {
  return items.filter(Boolean).join(say("comma"));
}
