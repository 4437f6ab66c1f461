import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const css = readFileSync("ui/src/page.css", "utf8");

/** colors returns the custom properties of a rule. */
function colors(selector: string): Record<string, string> {
  const rule = css.slice(css.indexOf(`${selector} {`));
  return Object.fromEntries([...rule.slice(0, rule.indexOf("}")).matchAll(/--([\w-]+): (#[0-9a-f]{6});/g)].map((m) => [m[1]!, m[2]!]));
}

function luminance(color: string): number {
  const [r, g, b] = [1, 3, 5].map((i) => {
    const c = Number.parseInt(color.slice(i, i + 2), 16) / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(a: string, b: string): number {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

const light = colors(":root");
const dark = colors(':root[data-theme="dark"]');

test("text has WCAG's AA contrast, and what is drawn that of graphics", () => {
  for (const [name, theme] of Object.entries({ light, dark })) {
    for (const ground of ["page", "box", "code"]) {
      for (const [color, value] of Object.entries(theme)) {
        if (/^(page|box|code|rule)$/.test(color)) continue; // grounds, and lines that only decorate
        const least = /^(text|dim|accent|failed|ready|starting|unready|terminating)$/.test(color) ? 4.5 : 3;
        const found = contrast(value, theme[ground]!);
        assert.ok(found >= least, `${name}: ${color} on ${ground} has ${found.toFixed(2)}`);
      }
    }
    assert.ok(contrast(theme.box!, theme.accent!) >= 4.5, `${name}: the view that is shown`);
  }
});

test("the dark theme has the same colours whether it is chosen or the system's", () => {
  assert.deepEqual(colors(":root:not([data-theme])"), dark);
  assert.deepEqual(Object.keys(dark), Object.keys(light));
});
