// Lists and watches of a resource, for reflectors.

import { getJSON, prefix, sharedPrefix } from "./api.ts";
import type { Page, Source, WatchEvent } from "./reflector.ts";

/** watchable reads a resource. Its watch is one that all pages share, or with a query that selects objects one of its own. */
export function watchable(path: string, query = ""): Source {
  const and = query ? `&${query}` : "";
  return {
    list: (limit, token) => getJSON<Page>(`${path}?limit=${limit}${token ? `&continue=${encodeURIComponent(token)}` : ""}${and}`),
    watch(version, onEvent, onEnd) {
      const address = `${query ? prefix : sharedPrefix}${path}?resourceVersion=${encodeURIComponent(version)}${query ? `&watch=true${and}` : ""}`;
      const socket = new WebSocket(`ws://${self.location.host}${address}`);
      let opened = false;
      let over = false;
      const end = () => {
        if (over) return;
        over = true;
        onEnd(opened);
      };
      socket.onopen = () => {
        opened = true;
      };
      socket.onmessage = (m: MessageEvent<string>) => {
        for (const line of m.data.split("\n")) if (line) onEvent(JSON.parse(line) as WatchEvent);
      };
      socket.onclose = end;
      return () => {
        socket.close();
        end();
      };
    },
  };
}
