// The address of a view is in the location's hash: #why?resource=pods&namespace=default&name=web.

import { useEffect, useState } from "preact/hooks";

export interface Route {
  view: string;
  query: URLSearchParams;
}

export function route(): Route {
  const [view = "", query = ""] = location.hash.slice(1).split("?");
  return { view: view || "cluster", query: new URLSearchParams(query) };
}

export function go(view: string, query: Record<string, string> = {}): void {
  const text = new URLSearchParams(query).toString();
  location.hash = text ? `${view}?${text}` : view;
}

export function useRoute(): Route {
  const [now, set] = useState(route);
  useEffect(() => {
    const changed = () => set(route());
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return now;
}
