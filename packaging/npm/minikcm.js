#!/usr/bin/env node
// Runs the program of the package for this platform, which npm installs as an optional dependency.
"use strict";

const { spawn } = require("child_process");
const os = require("os");

const platform = `${process.platform}-${process.arch}`;
const name = process.platform === "win32" ? "minikcm.exe" : "minikcm";

let program;
try {
  program = require.resolve(`@minikcm/${platform}/bin/${name}`);
} catch {
  console.error(`minikcm: the package @minikcm/${platform} is not installed.`);
  console.error("There are programs for Linux, macOS and Windows on x64 and arm64. npm leaves theirs out with --omit=optional, if the registry does not have it,");
  console.error(`and in a node_modules that was copied from another system. On one of these systems: npm install @minikcm/${platform}`);
  process.exit(1);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
// A terminal sends Ctrl-C to both processes: this one waits for the end of the other. What is sent to
// this process alone is passed on.
process.on("SIGINT", () => {
  if (!process.stdin.isTTY) child.kill("SIGINT");
});
for (const signal of ["SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("error", (err) => {
  console.error(`minikcm: starting ${program}: ${err.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => process.exit(signal ? 128 + os.constants.signals[signal] : code));
