// Components that follow what changes outside of them.
import { useEffect, useState } from "preact/hooks";

/** useChanges renders a component again when source changes, also if that was between its render and its first effect. */
export function useChanges(source: { listen(f: () => void): () => void }): void {
  const [, render] = useState(0);
  useEffect(() => {
    const again = () => render((n) => n + 1);
    again();
    return source.listen(again);
  }, [source]);
}
