// How the page writes times, durations, amounts.

import { number, say } from "./language.ts";

const two = (n: number) => String(n).padStart(2, "0");

/** time is a time of the cluster, in UTC as kubectl's output is. */
export function time(ms: number): string {
  const d = new Date(ms);
  return `${d.getUTCFullYear()}-${two(d.getUTCMonth() + 1)}-${two(d.getUTCDate())} ${clockTime(ms)}`;
}

export function clockTime(ms: number, withMillis = false): string {
  const d = new Date(ms);
  const text = `${two(d.getUTCHours())}:${two(d.getUTCMinutes())}:${two(d.getUTCSeconds())}`;
  return withMillis ? `${text}.${String(d.getUTCMilliseconds()).padStart(3, "0")}` : text;
}

type Unit = "unitMs" | "unitS" | "unitMin" | "unitH" | "unitD";
const lengths: Record<Unit, number> = { unitMs: 1, unitS: 1e3, unitMin: 60e3, unitH: 3600e3, unitD: 86400e3 };

/** span is a duration of one unit, the largest of which it has a whole number. */
export function span(ms: number): string {
  const unit = (Object.keys(lengths) as Unit[]).findLast((u) => ms % lengths[u] === 0) ?? "unitMs";
  return say(unit, { n: ms / lengths[unit] });
}

/** duration has at most two units, as kubectl's ages. It is rounded to the smaller one before it is divided. */
export function duration(ms: number): string {
  if (Math.round(ms) < 1000) return say("unitMs", { n: Math.max(0, Math.round(ms)) });
  const s = ms / 1000;
  if (s < 9.95) return say("unitS", { n: number(s, 1) });
  if (Math.round(s) < 60) return say("unitS", { n: Math.round(s) });
  const pair = (n: number, size: number, larger: Unit, smaller: Unit) => `${say(larger, { n: Math.floor(n / size) })} ${say(smaller, { n: n % size })}`;
  if (Math.round(s) < 3600) return pair(Math.round(s), 60, "unitMin", "unitS");
  if (Math.round(s / 60) < 1440) return pair(Math.round(s / 60), 60, "unitH", "unitMin");
  return pair(Math.round(s / 3600), 24, "unitD", "unitH");
}

export function cpu(cores: number): string {
  return cores < 10 && cores % 1 !== 0 ? `${Math.round(cores * 1000)}m` : String(Math.round(cores * 10) / 10);
}

export function bytes(n: number): string {
  const units = ["B", "Ki", "Mi", "Gi", "Ti"];
  let i = 0;
  while (n >= 1024 && i < units.length - 1) {
    n /= 1024;
    i++;
  }
  return `${Math.round(n * 10) / 10}${units[i]}`;
}
