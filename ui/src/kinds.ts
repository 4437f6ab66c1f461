// The kinds of objects that the cluster serves.

import { getJSON } from "./api.ts";

export interface Kind {
  name: string;
  kind: string;
  group: string;
  groupVersion: string;
  namespaced: boolean;
  listable: boolean;
  /** scales is set if the kind has the subresource scale. */
  scales: boolean;
}

/** kindsOf returns the kinds in the versions that their groups prefer. A group that does not respond is left out. */
export async function kindsOf(): Promise<Kind[]> {
  const groups = await getJSON<{ groups: { name: string; preferredVersion: { groupVersion: string } }[] }>("/apis");
  const versions = ["v1", ...groups.groups.map((g) => g.preferredVersion.groupVersion)];
  type List = { groupVersion: string; resources: { name: string; kind: string; namespaced: boolean; verbs: string[] }[] };
  const lists = await Promise.all(versions.map((v) => getJSON<List>(versionPath(v)).catch(() => undefined)));
  return lists.flatMap((l) =>
    (l?.resources ?? [])
      .filter((r) => !r.name.includes("/"))
      .map((r) => ({
        name: r.name, kind: r.kind, namespaced: r.namespaced, listable: r.verbs.includes("list"), scales: l!.resources.some((s) => s.name === `${r.name}/scale`),
        groupVersion: l!.groupVersion, group: l!.groupVersion.includes("/") ? l!.groupVersion.split("/")[0]! : "",
      })),
  );
}

/** versionPath returns the path of a group's version: v1 is the core group's. */
export function versionPath(groupVersion: string): string {
  return groupVersion.includes("/") ? `/apis/${groupVersion}` : `/api/${groupVersion}`;
}
