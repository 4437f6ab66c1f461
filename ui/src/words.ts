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

/** duration has at most two units, as kubectl's ages. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  const s = ms / 1000;
  if (s < 60) return `${s < 10 ? s.toFixed(1) : Math.round(s)} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${Math.round(s % 60)} s`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ${Math.round((s % 3600) / 60)} min`;
  return `${Math.floor(s / 86400)} d ${Math.round((s % 86400) / 3600)} h`;
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
