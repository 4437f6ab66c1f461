// Lists of the cluster as it was.

import { getJSON } from "./api.ts";
import type { KubeObject, Page } from "./reflector.ts";

const pageSize = 500;

/** objectsAt lists a resource in pages as of a revision; a query selects objects. The error is a StatusError with code 410 if that is forgotten. */
export async function* objectsAt(path: string, revision: string, signal?: AbortSignal, query = ""): AsyncGenerator<KubeObject> {
  let token = "";
  do {
    const at = token ? `continue=${encodeURIComponent(token)}` : `resourceVersion=${revision}&resourceVersionMatch=Exact`;
    const page = await getJSON<Page>(`${path}?limit=${pageSize}&${at}${query ? `&${query}` : ""}`, signal);
    yield* page.items;
    token = page.metadata.continue ?? "";
  } while (token);
}
