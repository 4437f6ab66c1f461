// How the page writes times, durations, amounts.

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

/** duration has at most two units, as kubectl's ages. It is rounded to the smaller one before it is divided. */
export function duration(ms: number): string {
  if (Math.round(ms) < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  const s = ms / 1000;
  if (s < 9.95) return `${s.toFixed(1)} s`;
  if (Math.round(s) < 60) return `${Math.round(s)} s`;
  const pair = (n: number, size: number, larger: string, smaller: string) => `${Math.floor(n / size)} ${larger} ${n % size} ${smaller}`;
  if (Math.round(s) < 3600) return pair(Math.round(s), 60, "min", "s");
  if (Math.round(s / 60) < 1440) return pair(Math.round(s / 60), 60, "h", "min");
  return pair(Math.round(s / 3600), 24, "d", "h");
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
