/**
 * Starts the minikcm binary and controls the cluster that it runs.
 *
 * Only Node's own modules are used (version 18 or later): copy this file. A test uses a cluster
 * like this:
 *
 *     const mk = await Cluster.start({ nodes: 3 });
 *     try {
 *       kubeConfig.loadFromFile(mk.kubeconfig);
 *       ...
 *       await mk.advance("24h");
 *       await mk.fail({ nodes: { action: "crash", names: ["node-1"] }, for: "5m" });
 *       console.log(await mk.why("deployments", "web", "default"));
 *     } finally {
 *       await mk.close();
 *     }
 *
 * The binary is the file that the environment variable MINIKCM names, or "minikcm" in PATH. The
 * types are those of the OpenAPI document at /minikcm/v1/openapi.json.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { createWriteStream } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { Agent, request } from "node:https";
import type { IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pipeline } from "node:stream/promises";
import { setTimeout as delay } from "node:timers/promises";

export interface Options {
  /** The path of the minikcm binary. */
  binary?: string;
  /** The number of simulated nodes; 1 by default. */
  nodes?: number;
  /** Determines names, UIDs and all other random choices; 0 selects a new seed. */
  seed?: number | bigint;
  /** "virtual" (the default), "virtual=N" for N times as fast, or "real", which cannot be controlled. */
  clock?: string;
  /** Further flags of "minikcm up". */
  args?: string[];
  /** Limits the start, in milliseconds; 60,000 by default. */
  timeout?: number;
}

export interface Clock {
  mode: "real" | "scaled" | "virtual";
  /** The speed, as a multiple of the machine's time; absent for a real clock. */
  factor?: number;
  paused?: boolean;
  /** Whether the cluster's work is paused, too, how many pieces of it wait, and which the next step does. */
  pausedWork?: boolean;
  waiting?: number;
  nextStep?: string;
  /** Whether a request moves the clock, whatever its speed. */
  moving?: boolean;
  now: string;
  nextTimer?: string;
  /** The work for which virtual time stands still. */
  inFlight?: string;
}

export interface Info {
  version: string;
  kubernetes: string;
  features: string[];
  /** An unsigned number of 64 bits, of which JavaScript keeps 53. */
  seed: number;
  clock: Clock;
  /** How much of the store's history is kept, if that was chosen. */
  history?: string;
  roles?: string[];
  /** Of which moment of another cluster this one is a fork, if it is one. */
  fork?: { id: string; revision: number; time: string };
}

export interface Controller {
  name: string;
  about: string;
  state: string;
  queued: number;
  reconciles: number;
  failures: number;
  [field: string]: unknown;
}

/** A cluster in the same process that began with the objects of one revision. */
export interface Fork {
  id: string;
  revision: number;
  time: string;
  server: string;
  kubeconfig: string;
  /** Opens its page once; only fork returns it. */
  link?: string;
  leftOut: number;
}

/** What a comparison shows of one cluster. */
export interface Compared {
  clock: { mode: string; now: string; factor?: number; paused?: boolean };
  revision: number;
  nodes: number;
  nodesReady: number;
  /** The number of pods by phase. */
  pods: Record<string, number>;
  /** The newest, oldest first. */
  writes: Write[];
}

/** Compares the objects of a kind; its lists have the first 100. */
export interface ComparedKind {
  group?: string;
  kind: string;
  here: number;
  there: number;
  both: number;
  differ: number;
  onlyHere?: string[];
  onlyThere?: string[];
  objects?: { name: string; fields: { path: string; here?: string; there?: string }[]; more?: number }[];
}

/** Compares a cluster (here) with a fork of it (there). */
export interface Comparison {
  fork: Fork;
  here: Compared;
  there: Compared;
  kinds: ComparedKind[];
}

/** Which scenario to run: a shipped one by its name, or the YAML of another one. */
export interface Scenario {
  name?: string;
  document?: string;
  seed?: number;
  set?: Record<string, string>;
  namespace?: string;
  overwrite?: boolean;
}

/** A scenario that is shipped; refused says why it cannot run on this cluster. */
export interface ShippedScenario {
  name: string;
  description: string;
  nodes: number;
  steps: string[];
  refused?: string;
}

/** A step of a run of a scenario. */
export interface ScenarioStep {
  title: string;
  state: "Waiting" | "Active" | "Background" | "Done" | "Failed" | "Skipped";
  last?: boolean;
  since?: string;
  until?: string;
  /** How long it took by the machine's clock. */
  realSeconds?: number;
  /** What its check waits for. */
  differs?: string;
  notes?: string[];
  forgotten?: number;
  failure?: string;
}

/** A check of a run. Stopped: the run ended before the check did. */
export interface ScenarioCheck {
  title: string;
  state: "Passed" | "Failed" | "Stopped";
  since: string;
  until?: string;
}

/** What failed in a run. */
export interface ScenarioFailure {
  time: string;
  /** What should have held or been done. */
  expected?: string;
  /** What was there instead. */
  found: string;
  /** Each difference, such as "spec.replicas: expected 2, found 1". */
  differs?: string[];
  forgottenDiffers?: number;
  /** The writes that led to it, a text for each object. */
  causes?: string[];
}

/** What a run that is over led to. */
export interface ScenarioReport {
  /** How long it took by the cluster's clock. */
  clusterSeconds: number;
  /** How long it took by the machine's clock. */
  realSeconds: number;
  passed: number;
  failed: number;
  /** The first 200. */
  checks: ScenarioCheck[];
  /** The first 20. */
  failures?: ScenarioFailure[];
  /** Whether scenarioReport returns it as a page. */
  page: boolean;
}

/** A run of a scenario. Lists have no steps and no reports. */
export interface ScenarioRun {
  id: string;
  scenario: string;
  description?: string;
  user?: string;
  seed: number;
  state: "Running" | "Stopping" | "Passed" | "Failed" | "Stopped";
  since: string;
  until?: string;
  steps?: ScenarioStep[];
  invariants?: { name: string; state: string; failure?: string }[];
  notes?: string[];
  failure?: string;
  causes?: string[];
  /** Set at the end of a run that could begin. */
  report?: ScenarioReport;
}

/** Whether a connection arrives, and why. */
export interface Reach {
  from: string;
  to: string;
  protocol: string;
  reached: boolean;
  outcome: string;
  /** What the source sees if it does not arrive, and the reason. */
  error?: string;
  why?: string;
  service?: string;
  endpoint?: string;
  pod?: string;
  node?: string;
  candidates?: string[];
  /** The way in words. */
  steps: { step: string; text: string }[];
}

/** Which workloads, or namespaces, reach which. */
export interface ReachMatrix {
  /** The rows and, in the same order, the columns. The last one is the outside of the cluster. */
  ends: { namespace?: string; name?: string }[];
  cells: { reached: string[]; denied: { port: string; outcome: string; why: string; policies?: string[]; reasons?: string[] }[] }[][];
}

/** The ways into a cluster's network from its machine. */
export interface Entrances {
  /** The address of the proxy, which speaks HTTP and SOCKS5. */
  proxy?: string;
  publishes: boolean;
  /** The published ports of Services. Without an address, nothing listens, because of the problem. */
  services: { namespace: string; service: string; port: number; portName?: string; nodePort?: boolean; address?: string; problem?: string }[];
}

/** What is in one loop of a controller. */
/** DebugStop is where a cluster's work waits for a step. */
export interface DebugStop {
  stage: "event" | "queue" | "handler" | "key" | "decision" | "write" | "failure" | "work";
  code: string;
  says: string;
  controller?: string;
  key?: string;
  error?: string;
}

/** Debugging is the state of the debugger. */
export interface Debugging {
  now: string;
  holding: boolean;
  next?: DebugStop;
  waiting: number;
  passed: { number: number; stop?: DebugStop }[];
  reason?: "steps" | "breakpoint" | "idle" | "limit";
}

/** Breakpoint has conditions that all have to hold; verb and kind describe a write. */
export interface Breakpoint {
  controller?: string;
  key?: string;
  verb?: string;
  kind?: string;
  error?: boolean;
}

export interface Loop {
  name: string;
  workers: number;
  watches: { kind?: string; objects: number; received: number; undelivered: number }[];
  queued: string[];
  queuedCount: number;
  processing: { key: string; since: string }[];
  delayed: { key: string; due: string; failures?: number }[];
  delayedCount: number;
  reconciles: number;
  failures: number;
  retries: number;
}

export interface Fault {
  id: string;
  title: string;
  fault: Record<string, unknown>;
  user?: string;
  state: "Pending" | "Active" | "Ending" | "Over" | "Stopped" | "Failed";
  since: string;
  until?: string;
  times: number;
  notes?: { time: string; text: string }[];
  forgotten?: number;
  error?: string;
}

export interface Write {
  revision: number;
  time: string;
  actor: string;
  userAgent?: string;
  verb: string;
  resource: { group: string; version: string; resource: string };
  subresource?: string;
  kind?: string;
  effect?: "created" | "changed" | "removed";
  namespace?: string;
  name: string;
  uid?: string;
  causes?: number[];
  controller?: { kind: string; name: string; uid: string };
  changes?: { path: string; from?: string; to?: string }[];
}

/** Counts the requests of one user for one object, or for new objects of one owner, that the same thing refused. */
export interface Refusal {
  actor: string;
  userAgent?: string;
  verb: string;
  resource: { group: string; version: string; resource: string };
  subresource?: string;
  kind?: string;
  namespace?: string;
  name?: string;
  controller?: { kind: string; name: string; uid: string };
  by: {
    kind: "webhook" | "policy" | "quota" | "budget" | "admissionPlugin" | "authorization" | "flowControl" | "timeout" | "store" | "fault";
    name?: string;
    /** The name of a webhook's configuration, or of a policy's binding. */
    of?: string;
  };
  code: number;
  message?: string;
  count: number;
  first: string;
  last: string;
  /** When such a request succeeded after the last refusal. */
  succeeded?: string;
}

export interface Link extends Write {
  because?: Link[];
  inferred?: string;
  note?: string;
}

export interface Reason {
  object?: string;
  others?: number;
  source: string;
  reason?: string;
  message?: string;
  count?: number;
}

export interface Explanation {
  object: Write;
  creation?: Link;
  change?: Link;
  deletion?: Link;
  now?: { state?: string; reasons?: Reason[]; more?: number };
  /** Refused requests for the object, or that it depends on. */
  refused?: Refusal[];
  writes: number;
  forgotten?: number;
  since: number;
}

/** The cluster refused a request. */
export class StatusError extends Error {
  constructor(
    readonly code: number,
    readonly reason: string,
    message: string,
  ) {
    super(message);
    this.name = "StatusError";
  }
}

const stopTimeout = 30_000; // milliseconds until a cluster that does not stop is killed
const resetRetry = 20; // milliseconds until a refused connection is tried again
const tailSize = 8 << 10; // characters of standard error that errors contain at most

/** A cluster that a minikcm process runs, until close() or the end of this process. */
export class Cluster {
  /** The address of the API server. */
  readonly url: string;
  readonly #process: Process;
  readonly #agent: Agent;

  private constructor(
    /** The path of the administrator's kubeconfig. */
    readonly kubeconfig: string,
    process: Process,
    config: Kubeconfig,
  ) {
    const { cluster } = config.clusters[0]!;
    const { user } = config.users[0]!;
    const decode = (text: string) => Buffer.from(text, "base64");
    this.url = cluster.server;
    this.#process = process;
    this.#agent = new Agent({
      ca: decode(cluster["certificate-authority-data"]),
      cert: decode(user["client-certificate-data"]),
      key: decode(user["client-key-data"]),
      keepAlive: true,
    });
  }

  /** Starts a cluster, and resolves when it is ready. */
  static async start(options: Options = {}): Promise<Cluster> {
    const dir = await mkdtemp(join(tmpdir(), "minikcm-"));
    const kubeconfig = join(dir, "kubeconfig.json");
    const process = new Process(dir, kubeconfig, options);
    try {
      await process.ready(options.timeout ?? 60_000);
      return new Cluster(kubeconfig, process, JSON.parse(await readFile(kubeconfig, "utf8")) as Kubeconfig);
    } catch (error) {
      await process.close();
      throw error;
    }
  }

  /** Stops the cluster and removes its kubeconfig. It may be called more than once. */
  async close(): Promise<void> {
    this.#agent.destroy();
    await this.#process.close();
  }

  /** Describes the cluster. */
  info(): Promise<Info> {
    return this.#ask("GET", "");
  }

  /** Returns the state of every controller. */
  controllers(): Promise<Controller[]> {
    return this.#ask("GET", "/controllers");
  }

  /** Waits until the cluster is ready, and returns how often it has been reset. */
  async resets(): Promise<number> {
    return (await this.#ask<{ resets: number }>("GET", "/reset")).resets;
  }

  /** Resets the cluster to its initial state, and resolves when it is ready again. */
  async reset(): Promise<void> {
    const wanted = (await this.#ask<{ resets: number }>("POST", "/reset")).resets;
    for (;;) {
      try {
        if ((await this.resets()) >= wanted) return;
      } catch (error) {
        const starting = !(error instanceof StatusError) || error.code === 503;
        if (!starting || this.#process.ended) throw error;
      }
      await delay(resetRetry); // between the two clusters, connections are refused
    }
  }

  /** Writes a snapshot of the store to a new file, in etcd's format. */
  async snapshot(path: string): Promise<void> {
    await pipeline(await this.#send("GET", "/snapshot"), createWriteStream(path, { flags: "wx", mode: 0o600 }));
  }

  /** Returns the state of the clock. */
  clock(): Promise<Clock> {
    return this.#ask("GET", "/clock");
  }

  /** Makes time stand still, except during advance and step. */
  pause(): Promise<Clock> {
    return this.#ask("POST", "/clock/pause");
  }

  /** Makes the cluster's work stand still, too: what a write sets off waits for step, which does one piece of it. */
  pauseWork(): Promise<Clock> {
    return this.#ask("POST", "/clock/pause", {}, { work: true });
  }

  /** Lets time pass again, at the speed that it had. */
  resume(): Promise<Clock> {
    return this.#ask("POST", "/clock/resume");
  }

  /** Moves the clock to its next timer, and resolves when the work that it starts is done. */
  step(): Promise<Clock> {
    return this.#ask("POST", "/clock/step");
  }

  /** Sets the speed of the clock, as a multiple of the machine's time. */
  setSpeed(speed: number): Promise<Clock> {
    return this.#ask("POST", "/clock/speed", {}, { speed });
  }

  /** Moves the clock by a duration such as "24h", and resolves when all work that was due by then is done. */
  advance(duration: string): Promise<Clock> {
    return this.#ask("POST", "/clock/advance", {}, { duration });
  }

  /** Waits until nothing is in flight in the cluster. */
  settle(): Promise<Clock> {
    return this.advance("0s");
  }

  /** Injects a fault, an object or a text in YAML, and resolves when the cluster has accepted it. */
  fail(fault: object | string, seed?: number | bigint): Promise<Fault> {
    return this.#ask("POST", "/faults", { seed }, fault);
  }

  /** Returns the state of a fault. */
  fault(id: string): Promise<Fault> {
    return this.#ask("GET", `/faults/${encodeURIComponent(id)}`);
  }

  /** Returns the faults that are not over and the newest of those that are. */
  async faults(): Promise<Fault[]> {
    return (await this.#ask<{ items: Fault[] }>("GET", "/faults")).items;
  }

  /** Takes a fault back, and resolves when that is done. */
  stopFault(id: string): Promise<Fault> {
    return this.#ask("DELETE", `/faults/${encodeURIComponent(id)}`);
  }

  /** Returns the scenarios that are shipped. */
  scenarios(): Promise<ShippedScenario[]> {
    return this.#ask("GET", "/scenarios");
  }

  /** Returns the YAML of a shipped scenario. */
  async scenarioSource(name: string): Promise<string> {
    return text(await this.#send("GET", `/scenarios/${encodeURIComponent(name)}`));
  }

  /** Begins to run a scenario in the cluster, and resolves before its first step. One runs at a time. */
  runScenario(what: Scenario): Promise<ScenarioRun> {
    return this.#ask("POST", "/scenarios", {}, what);
  }

  /** Returns the newest runs, oldest first, without their steps. */
  scenarioRuns(): Promise<ScenarioRun[]> {
    return this.#ask("GET", "/scenarios/runs");
  }

  /** Returns a run. */
  scenarioRun(id: string): Promise<ScenarioRun> {
    return this.#ask("GET", `/scenarios/runs/${encodeURIComponent(id)}`);
  }

  /** Stops a run, which takes back its faults, and resolves when it has ended. */
  stopScenario(id: string): Promise<ScenarioRun> {
    return this.#ask("DELETE", `/scenarios/runs/${encodeURIComponent(id)}`);
  }

  /** Returns the report of a run that is over: a page in HTML, which needs no other file. */
  async scenarioReport(id: string): Promise<string> {
    return text(await this.#send("GET", `/scenarios/runs/${encodeURIComponent(id)}/report`));
  }

  /** Starts a cluster with the objects of a revision, 0 for the newest. Only a cluster of "minikcm up" can be forked. */
  fork(revision = 0): Promise<Fork> {
    return this.#ask("POST", "/forks", {}, { revision });
  }

  /** Returns the forks that run. */
  forks(): Promise<Fork[]> {
    return this.#ask("GET", "/forks");
  }

  /** Ends a fork, and resolves when it has ended. */
  endFork(id: string): Promise<Fork> {
    return this.#ask("DELETE", `/forks/${encodeURIComponent(id)}`);
  }

  /** Compares the cluster (here) with a fork of it (there). */
  compareFork(id: string): Promise<Comparison> {
    return this.#ask("GET", `/forks/${encodeURIComponent(id)}/comparison`);
  }

  /** Returns the state of a fork's own clock. */
  forkClock(id: string): Promise<Clock> {
    return this.#ask("GET", `/forks/${encodeURIComponent(id)}/clock`);
  }

  /** Makes time stand still in a fork, except during advanceFork and stepFork. */
  pauseFork(id: string): Promise<Clock> {
    return this.#ask("POST", `/forks/${encodeURIComponent(id)}/clock/pause`);
  }

  /** Lets time pass again in a fork, at the speed that it had. */
  resumeFork(id: string): Promise<Clock> {
    return this.#ask("POST", `/forks/${encodeURIComponent(id)}/clock/resume`);
  }

  /** Moves a fork's clock to its next timer, and resolves when the work that it starts is done. */
  stepFork(id: string): Promise<Clock> {
    return this.#ask("POST", `/forks/${encodeURIComponent(id)}/clock/step`);
  }

  /** Sets the speed of a fork's clock, as a multiple of the machine's time. */
  setForkSpeed(id: string, speed: number): Promise<Clock> {
    return this.#ask("POST", `/forks/${encodeURIComponent(id)}/clock/speed`, {}, { speed });
  }

  /** Moves a fork's clock by a duration, as advance does the cluster's. */
  advanceFork(id: string, duration: string): Promise<Clock> {
    return this.#ask("POST", `/forks/${encodeURIComponent(id)}/clock/advance`, {}, { duration });
  }

  /** Returns what is in the loops of a controller. */
  async loops(controller: string): Promise<Loop[]> {
    return (await this.#ask<{ loops: Loop[] }>("GET", `/loops/${encodeURIComponent(controller)}`)).loops;
  }

  /** Returns where the cluster's work waits for a step, while a client such as the live page debugs it. */
  debugger(): Promise<Debugging> {
    return this.#ask("GET", "/debugger");
  }

  /** Lets the work go on to its next stop, or to a breakpoint. */
  stepDebugger(until?: Breakpoint): Promise<Debugging> {
    return this.#ask("POST", "/debugger/step", {}, { until });
  }

  /** Says whether a connection in the cluster arrives, on which way, and what decides. */
  reach(of: { from: string; to: string; namespace?: string; toNamespace?: string; protocol?: string }): Promise<Reach> {
    return this.#ask("GET", "/reach", { ...of });
  }

  /** Says which workloads, or namespaces, reach which. namespaces are separated by commas. */
  reachMatrix(of: { namespaces?: string; by?: "workload" | "namespace"; protocol?: string; port?: number | string } = {}): Promise<ReachMatrix> {
    return this.#ask("GET", "/reach/matrix", { ...of });
  }

  /** Returns the ways into the cluster's network from its machine, which up --proxy and --publish open. */
  entrances(): Promise<Entrances> {
    return this.#ask("GET", "/entrances");
  }

  /**
   * Returns the write record, in the order of revisions. since selects later revisions, and writes that were recorded
   * after the one of this revision: concurrent writes are recorded as they end. A reader that passes its newest revision
   * misses none, and may get a write again.
   */
  writes(of: { resource?: string; namespace?: string; name?: string; since?: number } = {}): Promise<Write[]> {
    return this.#ask("GET", "/writes", { ...of });
  }

  /** Returns the oldest and the newest revision at which objects can be listed. */
  revisions(): Promise<{ oldest: number; newest: number }> {
    return this.#ask("GET", "/revisions");
  }

  /** Returns the requests that were refused, those of the first refusals first. */
  refusals(of: { resource?: string; namespace?: string; name?: string; user?: string } = {}): Promise<Refusal[]> {
    return this.#ask("GET", "/refusals", { ...of });
  }

  /** Explains an object by the causes of its writes. resource is a plural name, such as pods. */
  why(resource: string, name: string, namespace?: string): Promise<Explanation> {
    return this.#ask("GET", "/why", { resource, name, namespace });
  }

  async #ask<T>(method: string, path: string, query: Query = {}, body?: object | string): Promise<T> {
    return JSON.parse(await text(await this.#send(method, path, query, body))) as T;
  }

  async #send(method: string, path: string, query: Query = {}, body?: object | string): Promise<IncomingMessage> {
    const target = new URL(`${this.url}/minikcm/v1${path}`);
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) target.searchParams.set(name, String(value));
    }
    const headers: Record<string, string> = { Accept: "application/json, */*;q=0.5" };
    if (body !== undefined) headers["Content-Type"] = typeof body === "string" ? "application/yaml" : "application/json";
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const sent = request(target, { agent: this.#agent, method, headers }, resolve);
      sent.on("error", reject);
      sent.end(body === undefined || typeof body === "string" ? body : JSON.stringify(body));
    });
    if ((response.statusCode ?? 0) < 300) return response;
    throw statusError(response.statusCode ?? 0, await text(response));
  }
}

type Query = Record<string, string | number | bigint | undefined>;

interface Kubeconfig {
  clusters: { cluster: { server: string; "certificate-authority-data": string } }[];
  users: { user: { "client-certificate-data": string; "client-key-data": string } }[];
}

/** The process of a cluster. */
class Process {
  readonly #child: ChildProcess;
  readonly #exit: Promise<void>;
  #stderr = "";
  ended = false;

  constructor(
    readonly dir: string,
    kubeconfig: string,
    options: Options,
  ) {
    const binary = options.binary ?? (process.env["MINIKCM"] || "minikcm");
    const args = ["up", "--stop-with-stdin", "--kubeconfig", kubeconfig, "--clock", options.clock ?? "virtual"];
    args.push("--nodes", String(options.nodes ?? 1), "--seed", String(options.seed ?? 0), ...(options.args ?? []));
    this.#child = spawn(binary, args, { stdio: "pipe" });
    this.#child.stdin!.on("error", () => {}); // the process may end first
    this.#child.stderr!.setEncoding("utf8").on("data", (data: string) => (this.#stderr = (this.#stderr + data).slice(-tailSize)));
    this.#exit = new Promise((resolve) => {
      const end = (why: string) => {
        this.#stderr += why;
        this.ended = true;
        resolve();
      };
      this.#child.once("error", (error) => end(`${error.message}: is minikcm in PATH, or MINIKCM set to its path?`));
      this.#child.once("close", () => end(""));
    });
  }

  /** Resolves when the cluster is ready. */
  async ready(timeout: number): Promise<void> {
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), timeout);
    const lines = createInterface(this.#child.stdout!);
    const first = new Promise<string>((resolve) => lines.once("line", resolve));
    const line = await Promise.race([first, this.#exit.then(() => "")]);
    clearTimeout(timer);
    if (line.startsWith("export KUBECONFIG=")) return;
    await this.#exit;
    throw new Error(`minikcm ended: ${this.#stderr.trim()}`);
  }

  async close(): Promise<void> {
    this.#child.stdin!.end();
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), stopTimeout);
    await this.#exit;
    clearTimeout(timer);
    await rm(this.dir, { recursive: true, force: true });
  }
}

async function text(response: IncomingMessage): Promise<string> {
  let data = "";
  for await (const chunk of response.setEncoding("utf8")) data += chunk as string;
  return data;
}

function statusError(code: number, data: string): StatusError {
  try {
    const { reason, message } = JSON.parse(data) as { reason?: string; message?: string };
    if (message) return new StatusError(code, reason ?? "", message);
  } catch {
    // it is no Status
  }
  return new StatusError(code, "", `${code}: ${data.trim()}`);
}
