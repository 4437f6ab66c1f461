// Streams of a page that is seen. A browser has six connections for all its pages of a host,
// so a page in the background gives its own back.

const retryAfter = 2000;

/** followVisible runs a stream while the page is visible, again whenever it ends, until signal. */
export function followVisible(stream: (signal: AbortSignal) => Promise<void>, failed: (error: unknown) => void, signal: AbortSignal): void {
  let current: AbortController | undefined;
  let timer = 0;
  const run = async (own: AbortController) => {
    try {
      await stream(own.signal);
    } catch (error) {
      if (!own.signal.aborted) failed(error);
    }
    if (own.signal.aborted) return;
    timer = window.setTimeout(() => void run(own), retryAfter);
  };
  const update = () => {
    const wanted = !signal.aborted && document.visibilityState === "visible";
    if (wanted === (current !== undefined)) return;
    clearTimeout(timer);
    current?.abort();
    current = wanted ? new AbortController() : undefined;
    if (current) void run(current);
  };
  document.addEventListener("visibilitychange", update);
  signal.addEventListener("abort", () => {
    document.removeEventListener("visibilitychange", update);
    update();
  });
  update();
}
