import { useEffect, useRef, useState } from "preact/hooks";
import { request } from "../api.ts";
import type { KubeObject } from "../reflector.ts";
import { LogLines } from "./loglines.ts";
import { containersOf } from "./health.ts";
import { Empty } from "./parts.tsx";
import { list, say } from "../language.ts";

/** begin is the number of lines that a log begins with. */
const begin = 500;

/** Logs follows the log of a container. */
export function Logs({ pod }: { pod: KubeObject }) {
  const containers = containersOf(pod);
  const [chosen, choose] = useState("");
  const [previous, setPrevious] = useState(false);
  const [find, setFind] = useState("");
  const container = containers.some((c) => c.name === chosen) ? chosen : (containers.find((c) => !c.init)?.name ?? "");
  const started = containers.find((c) => c.name === container);
  const restarted = (started?.restarts ?? 0) > 0;
  return (
    <div class="logs">
      <form class="toolbar" onSubmit={(e) => e.preventDefault()}>
        <label>
          {say("container")}{" "}
          <select value={container} onChange={(e) => choose(e.currentTarget.value)}>
            {containers.map((c) => (
              <option key={c.name}>{c.name}</option>
            ))}
          </select>
        </label>
        <label>
          {say("linesWith")}{" "}<input value={find} onInput={(e) => setFind(e.currentTarget.value)} />
        </label>
        {restarted && (
          <label>
            <input type="checkbox" checked={previous} onChange={(e) => setPrevious(e.currentTarget.checked)} />{" "}{say("beforeTheRestart")}
          </label>
        )}
      </form>
      {started?.notStarted || (started?.tone === "busy" && !restarted) ? (
        <Empty>{say("hasNotStarted", { says: started.says })}</Empty>
      ) : (
        <Log key={`${pod.metadata.uid} ${container} ${previous} ${started?.since}`} path={`/api/v1/namespaces/${pod.metadata.namespace}/pods/${pod.metadata.name}/log`} container={container} previous={previous && restarted} find={find} />
      )}
    </div>
  );
}

function Log({ path, container, previous, find }: { path: string; container: string; previous: boolean; find: string }) {
  const [log] = useState(() => new LogLines());
  const [state, setState] = useState(say("loading"));
  const [, render] = useState(0);
  const box = useRef<HTMLPreElement>(null);
  const atEnd = useRef(true);
  useEffect(() => {
    const end = new AbortController();
    let frame = 0;
    const read = async () => {
      const query = new URLSearchParams({ container, tailLines: String(begin), ...(previous ? { previous: "true" } : { follow: "true" }) });
      const response = await request("GET", `${path}?${query}`, undefined, end.signal);
      setState(previous ? "" : say("following"));
      const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        log.add(value);
        frame ||= requestAnimationFrame(() => {
          frame = 0;
          render((n) => n + 1);
        });
      }
      setState(say("logHasEnded"));
    };
    read().catch((error: unknown) => end.signal.aborted || setState(error instanceof Error ? error.message : String(error)));
    return () => {
      end.abort();
      cancelAnimationFrame(frame);
    };
  }, []);
  useEffect(() => {
    if (atEnd.current && box.current) box.current.scrollTop = box.current.scrollHeight;
  });
  const lines = find ? log.lines.filter((l) => l.includes(find)) : log.lines;
  return (
    <>
      {/* biome-ignore lint: what scrolls can be reached by keys */}
      <pre
        class="log" ref={box} tabIndex={0} aria-label={say("logOf", { container })}
        onScroll={(e) => {
          const b = e.currentTarget;
          atEnd.current = b.scrollHeight - b.scrollTop - b.clientHeight < 30;
        }}
      >
        {lines.join("\n")}
      </pre>
      <p class="dim" role="status">
        {list([
          state, find ? say("linesOf", { n: lines.length, all: log.lines.length }) : say("linesCount", { n: lines.length }),
          log.forgotten > 0 && say("olderNotShown", { n: log.forgotten }),
        ])}
      </p>
    </>
  );
}
