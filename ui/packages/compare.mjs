// Compares the copies of packages in this folder with those that npm has installed.
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
const installed = fileURLToPath(new URL("../node_modules", import.meta.url));
let differs = 0;
for (const entry of readdirSync(here, { recursive: true, withFileTypes: true })) {
  const path = join(entry.parentPath ?? entry.path, entry.name).slice(here.length);
  if (!entry.isFile() || path === "compare.mjs") continue;
  if (!readFileSync(join(here, path)).equals(readFileSync(join(installed, path)))) {
    console.error(`packages/${path} is not that of the package`);
    differs++;
  }
}
process.exit(differs ? 1 : 0);
