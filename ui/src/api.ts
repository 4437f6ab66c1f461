// Requests to the API server, which the page's server passes on beneath prefix.

export const prefix = "/ui/cluster";
/** sharedPrefix is that of watches that all pages share: only the latest events of objects arrive, a few times a second. */
export const sharedPrefix = "/ui/shared";
const headers = { "X-Minikcm-Page": "1", Accept: "application/json" };

/** StatusError is a response that is not a success: an API Status or another text. */
export class StatusError extends Error {
  constructor(
    readonly code: number,
    readonly reason: string,
    message: string,
    /** causes name the fields that are wrong. */
    readonly causes: { field?: string; message?: string; reason?: string }[] = [],
  ) {
    super(message);
  }
}

async function failure(response: Response): Promise<StatusError> {
  const text = await response.text();
  try {
    const status = JSON.parse(text) as { reason?: string; message?: string; details?: { causes?: StatusError["causes"] } };
    return new StatusError(response.status, status.reason ?? "", status.message ?? text, status.details?.causes);
  } catch {
    return new StatusError(response.status, "", text.trim() || response.statusText);
  }
}

/** request sends a body as JSON, or text as it is with its type. */
export async function request(method: string, path: string, body?: unknown, signal?: AbortSignal, type = "application/json"): Promise<Response> {
  const init: RequestInit = { method, headers, cache: "no-store" };
  if (body !== undefined) {
    init.body = typeof body === "string" ? body : JSON.stringify(body);
    init.headers = { ...headers, "Content-Type": type };
  }
  if (signal) init.signal = signal;
  const response = await fetch(prefix + path, init);
  if (response.headers.has("X-Minikcm-Looks") && globalThis.document) document.documentElement.dataset.looks = "";
  if (!response.ok) throw await failure(response);
  return response;
}

export async function getJSON<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await (await request("GET", path, undefined, signal)).json()) as T;
}

/** lines calls each with the JSON objects of a streamed response, one a line, until it ends. */
export async function lines<T>(path: string, each: (value: T) => void, signal: AbortSignal): Promise<void> {
  const response = await request("GET", path, undefined, signal);
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n");
    rest = parts.pop()!;
    for (const line of parts) if (line.trim()) each(JSON.parse(line) as T);
  }
}
