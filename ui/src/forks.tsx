import { useEffect, useState } from "preact/hooks";
import { getJSON, request } from "./api.ts";
import { clockTime } from "./words.ts";
import { say, sentence } from "./language.ts";

interface Fork {
  id: string;
  revision: number;
  time: string;
  server: string;
  kubeconfig: string;
  /** link opens the fork's page. Only the response to its creation has it. */
  link?: string;
  leftOut: number;
}
const path = "/minikcm/v1/forks";

/** Forks are the clusters that were forked from this one, and what makes another from a revision. */
export function Forks({ at, report }: { at: number; report: (error: unknown) => void }) {
  const [forks, setForks] = useState<Fork[]>();
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    void getJSON<{ features: string[] }>("/minikcm/v1")
      .then(async (info) => {
        if (info.features.includes("forks")) setForks(withLinks(await getJSON<Fork[]>(path)));
      })
      .catch(report);
  }, []);
  if (!forks) return null; // a fork's page has none
  const act = async (what: () => Promise<unknown>) => {
    setBusy(true);
    try {
      await what();
      setForks(withLinks(await getJSON<Fork[]>(path)));
    } catch (error) {
      report(error);
    } finally {
      setBusy(false);
    }
  };
  const fork = async () => {
    const made = (await (await request("POST", path, { revision: at })).json()) as Fork;
    if (made.link) links.set(made.id, made.link);
  };
  return (
    <div class="forks">
      <button type="button" disabled={busy} onClick={() => void act(fork)}>
        {say("forkFromHere")}
      </button>
      {busy && <span class="dim">{say("oneMoment")}</span>}
      <ul aria-label={say("forks")}>
        {forks.map((f) => (
          <li key={f.id}>
            {sentence("forkOf", { id: <b>{f.id}</b>, revision: String(f.revision), time: clockTime(Date.parse(f.time)) })}{" "}
            {f.link ? (
              <a href={f.link} target="_blank" rel="noopener">
                {say("openItsPage")}
              </a>
            ) : (
              <code>minikcm ui --kubeconfig {f.kubeconfig}</code>
            )}{" "}
            <code>export KUBECONFIG={f.kubeconfig}</code> <a href={`#compare?fork=${f.id}`}>{say("compare")}</a>{" "}
            <button type="button" disabled={busy} aria-label={say("endFork", { id: f.id })} onClick={() => void act(() => request("DELETE", `${path}/${f.id}`))}>
              {say("endButton")}
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** links are those of the forks that this page has made. */
const links = new Map<string, string>();

function withLinks(forks: Fork[]): Fork[] {
  return forks.map((f) => ({ ...f, ...(links.has(f.id) ? { link: links.get(f.id)! } : {}) }));
}
