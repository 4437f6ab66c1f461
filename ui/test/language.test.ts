import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { type Node, parse } from "acorn";
import { catalogs, type Key, number, say, sentence, setLanguage, suited } from "../src/language.ts";
import { duration, span } from "../src/words.ts";
import { programs } from "../src/writes.ts";

const keys = Object.keys(catalogs.en) as Key[];
/** same are messages that are the same in both languages: names of kinds, code, units. */
const same = new Set<Key>(["cpu", "cpuAndMemory", "truthAndApi", "init", "thePod", "fieldPercent", "yaml", "dnsWord", "httpWord", "informers", "indexer", "pods", "stageInformer", "replicaSets", "factService", "factKubelet", "templateStatefulSet", "templateCronJob", "templateNetworkPolicy", "formConfigMap", "formJob", "serviceWord"]);

test("each message is in each language, with the same values", () => {
  const values = (text: string, of: RegExp) => new Set([...text.matchAll(of)].map((m) => m[1]));
  for (const key of keys) {
    const [en, zh] = [catalogs.en[key], catalogs.zh[key]];
    assert.ok(en && zh, `${key} is missing`);
    assert.deepEqual(values(zh, /\{(\w+)\}/g), values(en, /\{(\w+)\}/g), key); // deep equality of sets has no order
    for (const v of values(zh, /\{(\w+)/g)) assert.ok(values(en, /\{(\w+)/g).has(v), key);
    for (const [, forms] of en.matchAll(/\{\w+\|([^}]*)\}/g)) assert.match(forms!, /(^|\|)other:/, key);
    if (!same.has(key) && /[a-zA-Z]{2}/.test(zh.replace(/\{[^}]*\}/g, ""))) assert.match(zh, /\p{Script=Han}/u, `${key} is not translated: ${zh}`);
  }
  assert.deepEqual(Object.keys(catalogs.zh), keys);
});

test("numbers, plurals and durations are those of the language", () => {
  assert.equal(say("nodesAndPods", { nodes: 1, pods: 10_000 }), "1 node, 10,000 pods");
  assert.equal(say("revisionN", { revision: "10000" }), "revision 10000");
  assert.equal(duration(125_000), "2 min 5 s");
  assert.deepEqual([span(10_000), span(3_600_000), number(0.3)], ["10 s", "1 h", "0.3"]);
  assert.deepEqual(sentence("orCreate", { create: "+", scenarios: 1 }), ["Or press “", "+", "” above, or run one of the ", "1", "."]);
  setLanguage("zh");
  assert.equal(say("nodesAndPods", { nodes: 1, pods: 10_000 }), "1 个节点，10,000 个 Pod");
  assert.equal(duration(125_000), "2 分 5 秒");
  setLanguage("en");
});

test("the browser's languages choose the page's", () => {
  assert.equal(suited(["de-DE", "zh-CN", "en"]), "zh");
  assert.equal(suited(["", "en-GB", "zh"]), "en");
  assert.equal(suited(["fr"]), "en");
});

type Tree = Node & Record<string, unknown>;
/** attributes are those whose values users read or hear. */
const attributes = /^(title|aria-(label|valuetext|description)|placeholder|label|alt)$/;
/** code is what stands in a text field or in code as an example, and no sentence. */
const code = /^[\w*]+[=/:.][^ ]*$|^apiVersion: |^managedFields: $|^logs pod\/$|^(set image|rollout [a-z]+)$|^app=web,tier in \(a,b\)$|^(minikcm|default|YAML)$|^(kubectl|minikcm|export|echo) /;
/** prose is a text of words: no class, path, font or query of a style sheet. */
const prose = /[A-Za-z]{2,}[,;]? [a-z]{2,}/;

/** literals returns the texts of compiled sources that a user would read. */
function literals(source: string): string[] {
  const found: string[] = [];
  const visit = (node: Tree, place: { shown: boolean; passed: boolean }): void => {
    const text = node.type === "Literal" ? node.value : node.type === "TemplateElement" ? (node.value as { cooked: string }).cooked : undefined;
    if (typeof text === "string" && !place.passed && (place.shown ? /[A-Za-z]{2}/ : prose).test(text) && !code.test(text) && !Object.hasOwn(catalogs.en, text)) found.push(text);
    for (const [name, child] of Object.entries(node)) {
      const below = { ...place };
      if (node.type === "ImportDeclaration") continue;
      if (node.type === "Property" && name === "value") {
        const key = ((node.key as Tree).name ?? (node.key as Tree).value) as string;
        below.shown = key === "children" || attributes.test(key);
        if (key === "class") below.passed = true;
      }
      // What is called, compared or chosen from is shown by its result only.
      if (["CallExpression", "BinaryExpression", "MemberExpression", "ConditionalExpression"].includes(node.type) && !(node.type === "ConditionalExpression" && name !== "test")) below.shown = false;
      if (node.type === "CallExpression" && (node.arguments as Tree[])[0]?.value === "code") below.passed = true;
      for (const c of Array.isArray(child) ? child : [child]) if (c && typeof (c as Tree).type === "string") visit(c as Tree, below);
    }
  };
  visit(parse(source, { ecmaVersion: 2022, sourceType: "module" }) as unknown as Tree, { shown: false, passed: false });
  return found;
}

test("no view has a literal text", () => {
  assert.deepEqual(literals(`jsx("p", { class: "a b", title: "Hi", children: [say("x"), " more ", cond ? "Yes" : t] }); f("two words"); jsx("code", { children: "kubectl get" })`), ["Hi", " more ", "Yes", "two words"]);
  const compiled = "bin/ui-src/"; // made by "make ui"
  assert.ok(existsSync(compiled));
  // Templates are YAML, colours and fonts are the canvas's, and the names of programs those of minikcm why.
  const passed = /^(messages\/.*|templates)\.js$/;
  const found = (readdirSync(compiled, { recursive: true }) as string[]).filter((f) => f.endsWith(".js") && !passed.test(f)).flatMap((f) => literals(readFileSync(compiled + f, "utf8")).filter((t) => !/px system-ui|^\(prefers-|^\(max-width/.test(t) && !Object.values(programs).includes(t)).map((t) => `${f}: ${JSON.stringify(t)}`));
  assert.deepEqual(found, []);
});
