"""Starts the minikcm binary and controls the cluster that it runs.

Only the standard library is used (Python 3.9 or later): copy this file, or put its folder on
the path. A test uses a cluster like this:

    with minikcm.Cluster(nodes=3) as mk:
        kubernetes.config.load_kube_config(mk.kubeconfig)
        ...
        mk.advance("24h")
        mk.fail({"nodes": {"action": "crash", "names": ["node-1"]}, "for": "5m"})
        print(mk.why("deployments", "web", namespace="default"))

The binary is the file that the environment variable MINIKCM names, or "minikcm" in PATH. The
methods return the JSON objects of the OpenAPI document at /minikcm/v1/openapi.json.
"""

import base64
import collections
import http.client
import json
import os
import shutil
import ssl
import subprocess
import tempfile
import threading
import time
import urllib.parse

__all__ = ["Cluster", "MinikcmError", "StatusError"]

_STOP_TIMEOUT = 30  # seconds until a cluster that does not stop is killed
_RESET_RETRY = 0.02  # seconds until a refused connection is tried again
_TAIL_LINES = 100  # of standard error are kept for errors


class MinikcmError(Exception):
    """A cluster could not be started, or has ended."""


class StatusError(MinikcmError):
    """The cluster refused a request. code is the HTTP status, reason that of the Status."""

    def __init__(self, code, reason, message):
        super().__init__(message)
        self.code, self.reason = code, reason


class Cluster:
    """A cluster that a minikcm process runs, from its construction until close().

    nodes is the number of simulated nodes; seed determines names, UIDs and all other random
    choices; clock is "virtual", "virtual=N" for time that runs N times as fast, or "real" for
    the machine's time, which cannot be controlled; args are further flags of "minikcm up";
    timeout limits the start, in seconds. The cluster also ends when this process ends.

    kubeconfig is the path of the administrator's kubeconfig, url the API server's address.
    """

    def __init__(self, nodes=1, seed=0, clock="virtual", args=(), binary=None, timeout=60):
        binary = binary or os.environ.get("MINIKCM") or shutil.which("minikcm")
        if not binary:
            raise MinikcmError('minikcm is not in PATH: install it with "go install minikcm.dev/minikcm/cmd/minikcm@latest", or set MINIKCM to its path')
        self._dir = tempfile.TemporaryDirectory(prefix="minikcm-")
        self.kubeconfig = os.path.join(self._dir.name, "kubeconfig.json")
        self._stderr = collections.deque(maxlen=_TAIL_LINES)
        command = [binary, "up", "--stop-with-stdin", "--kubeconfig", self.kubeconfig, "--clock", clock, "--nodes", str(nodes), "--seed", str(seed), *args]
        self._process = None
        try:
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            self._reader = threading.Thread(target=self._stderr.extend, args=(self._process.stderr,), daemon=True)
            self._reader.start()
            self._await_ready(timeout)
            self._connect()
        except BaseException:
            self.close()
            raise

    def _await_ready(self, timeout):
        timer = threading.Timer(timeout, self._process.kill)
        timer.start()
        try:
            if not self._process.stdout.readline().startswith("export KUBECONFIG="):
                raise self._ended()
        finally:
            timer.cancel()

    def _ended(self):
        code = self._process.wait()
        self._reader.join()
        return MinikcmError(f"minikcm ended with exit code {code}: {''.join(self._stderr).strip()}")

    def _connect(self):
        with open(self.kubeconfig, encoding="utf-8") as file:
            config = json.load(file)
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self.url = cluster["server"]
        self._tls = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
        pair = os.path.join(self._dir.name, "client.pem")
        with open(os.open(pair, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(base64.b64decode(user["client-certificate-data"]))
            file.write(base64.b64decode(user["client-key-data"]))
        self._tls.load_cert_chain(pair)
        os.remove(pair)

    def close(self):
        """Stops the cluster and removes its kubeconfig. It may be called more than once."""
        if self._process is not None:
            self._process.stdin.close()
            try:
                self._process.wait(_STOP_TIMEOUT)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._reader.join()
            self._process.stdout.close()
            self._process.stderr.close()
        self._dir.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # What the cluster is.

    def info(self):
        """Describes the cluster: version, kubernetes, features, seed, clock."""
        return self._ask("GET", "")

    def controllers(self):
        """Returns the state of every controller."""
        return self._ask("GET", "/controllers")

    def resets(self):
        """Waits until the cluster is ready, and returns how often it has been reset."""
        return self._ask("GET", "/reset")["resets"]

    def reset(self):
        """Resets the cluster to its initial state, and returns when it is ready again."""
        wanted = self._ask("POST", "/reset")["resets"]
        while True:
            try:
                if self.resets() >= wanted:
                    return
            except StatusError as error:
                if error.code != http.client.SERVICE_UNAVAILABLE:  # the cluster is starting
                    raise
            except OSError:  # between the two clusters, connections are refused
                if self._process.poll() is not None:
                    raise self._ended() from None
            time.sleep(_RESET_RETRY)

    def snapshot(self, path):
        """Writes a snapshot of the store to a new file, in etcd's format."""
        connection, response = self._send("GET", "/snapshot")
        try:
            with open(path, "xb") as file:
                shutil.copyfileobj(response, file)
        finally:
            connection.close()

    # Its clock.

    def clock(self):
        """Returns the state of the clock: mode, factor, paused, now, nextTimer, inFlight."""
        return self._ask("GET", "/clock")

    def pause(self):
        """Makes time stand still, except during advance and step."""
        return self._ask("POST", "/clock/pause")

    def pause_work(self):
        """Makes the cluster's work stand still, too: what a write sets off waits for step, which
        does one piece of it."""
        return self._ask("POST", "/clock/pause", body={"work": True})

    def resume(self):
        """Lets time pass again, at the speed that it had."""
        return self._ask("POST", "/clock/resume")

    def step(self):
        """Moves the clock to its next timer, and returns when the work that it starts is done."""
        return self._ask("POST", "/clock/step")

    def set_speed(self, speed):
        """Sets the speed of the clock, as a multiple of the machine's time."""
        return self._ask("POST", "/clock/speed", body={"speed": speed})

    def advance(self, duration):
        """Moves the clock by a duration: a number of seconds, a timedelta, or a text such as
        "24h". Returns when all work that was due by then is done."""
        return self._ask("POST", "/clock/advance", body={"duration": _duration(duration)})

    def settle(self):
        """Waits until nothing is in flight in the cluster."""
        return self.advance("0s")

    # Its faults.

    def fail(self, fault, seed=None):
        """Injects a fault, a dict or a text in YAML, and returns when the cluster has accepted
        it. docs/faults.md of minikcm describes all faults."""
        return self._ask("POST", "/faults", {"seed": seed}, fault)

    def fault(self, id):
        """Returns the state of a fault."""
        return self._ask("GET", "/faults/" + urllib.parse.quote(id, safe=""))

    def faults(self):
        """Returns the faults that are not over and the newest of those that are."""
        return self._ask("GET", "/faults")["items"]

    def stop_fault(self, id):
        """Takes a fault back, and returns when that is done."""
        return self._ask("DELETE", "/faults/" + urllib.parse.quote(id, safe=""))

    # Scenarios.

    def scenarios(self):
        """Returns the scenarios that are shipped, with what keeps them from running here."""
        return self._ask("GET", "/scenarios")

    def scenario_source(self, name):
        """Returns the YAML of a shipped scenario."""
        connection, response = self._send("GET", "/scenarios/" + urllib.parse.quote(name, safe=""))
        try:
            return response.read().decode()
        finally:
            connection.close()

    def run_scenario(self, name=None, document=None, **options):
        """Begins to run a shipped scenario, or the YAML of another one, in the cluster. The options are
        seed, set, namespace and overwrite. Returns the run before its first step; one runs at a time."""
        body = {"name": name, "document": document, **options}
        return self._ask("POST", "/scenarios", None, {k: v for k, v in body.items() if v is not None})

    def scenario_runs(self):
        """Returns the newest runs, oldest first, without their steps."""
        return self._ask("GET", "/scenarios/runs")

    def scenario_run(self, id):
        """Returns a run. Its state is Running or Stopping, and finally Passed, Failed or Stopped."""
        return self._ask("GET", "/scenarios/runs/" + urllib.parse.quote(id, safe=""))

    def stop_scenario(self, id):
        """Stops a run, which takes back its faults, and returns it when it has ended."""
        return self._ask("DELETE", "/scenarios/runs/" + urllib.parse.quote(id, safe=""))

    def scenario_report(self, id):
        """Returns the report of a run that is over: a page in HTML, which needs no other file."""
        connection, response = self._send("GET", "/scenarios/runs/" + urllib.parse.quote(id, safe="") + "/report")
        try:
            return response.read().decode()
        finally:
            connection.close()

    # Its forks, and the loops of its controllers.

    def fork(self, revision=0):
        """Starts a cluster with the objects of a revision, 0 for the newest, and returns it when
        its nodes are Ready. Only a cluster of "minikcm up" can be forked."""
        return self._ask("POST", "/forks", None, {"revision": revision})

    def forks(self):
        """Returns the forks that run."""
        return self._ask("GET", "/forks")

    def end_fork(self, id):
        """Ends a fork, and returns when it has ended."""
        return self._ask("DELETE", "/forks/" + urllib.parse.quote(id, safe=""))

    def compare_fork(self, id):
        """Compares the cluster (here) with a fork of it (there): clocks, counts, objects by kind, newest writes."""
        return self._ask("GET", "/forks/" + urllib.parse.quote(id, safe="") + "/comparison")

    def fork_clock(self, id):
        """Returns the state of a fork's own clock."""
        return self._ask("GET", _fork_clock(id))

    def pause_fork(self, id):
        """Makes time stand still in a fork, except during advance_fork and step_fork."""
        return self._ask("POST", _fork_clock(id) + "/pause")

    def resume_fork(self, id):
        """Lets time pass again in a fork, at the speed that it had."""
        return self._ask("POST", _fork_clock(id) + "/resume")

    def step_fork(self, id):
        """Moves a fork's clock to its next timer, and returns when the work that it starts is done."""
        return self._ask("POST", _fork_clock(id) + "/step")

    def set_fork_speed(self, id, speed):
        """Sets the speed of a fork's clock, as a multiple of the machine's time."""
        return self._ask("POST", _fork_clock(id) + "/speed", body={"speed": speed})

    def advance_fork(self, id, duration):
        """Moves a fork's clock by a duration, as advance does the cluster's."""
        return self._ask("POST", _fork_clock(id) + "/advance", body={"duration": _duration(duration)})

    def loops(self, controller):
        """Returns what is in the informers, queues and workers of a controller."""
        return self._ask("GET", "/loops/" + urllib.parse.quote(controller, safe=""))["loops"]

    def debugger(self):
        """Returns where the cluster's work waits for a step, while a client such as the live page debugs it."""
        return self._ask("GET", "/debugger")

    def step_debugger(self, until=None):
        """Lets the work go on to its next stop, or to a breakpoint: a dict with some of controller, key,
        verb, kind and error."""
        return self._ask("POST", "/debugger/step", body={"until": until})

    def reach(self, source, to, namespace=None, to_namespace=None, protocol=None):
        """Says whether a connection in the cluster arrives, on which way, and what decides. source
        is a pod, deploy/NAME and the like, node/NAME or an address."""
        return self._ask("GET", "/reach", {"from": source, "to": to, "namespace": namespace, "toNamespace": to_namespace, "protocol": protocol})

    def reach_matrix(self, namespaces=None, by=None, protocol=None, port=None):
        """Says which workloads, or with by="namespace" which namespaces, reach which: a row for each
        source. namespaces are separated by commas; without a port, each one that a destination declares
        is asked about."""
        return self._ask("GET", "/reach/matrix", {"namespaces": namespaces, "by": by, "protocol": protocol, "port": port})

    def entrances(self):
        """Returns the ways into the cluster's network from its machine, which up --proxy and
        --publish open: the address of the proxy, and the published ports of Services."""
        return self._ask("GET", "/entrances")

    # What was written, and why.

    def writes(self, resource=None, namespace=None, name=None, since=None):
        """Returns the write record, in the order of revisions. resource is a plural name, such as
        pods; since selects later revisions, and writes that were recorded after the one of this
        revision: concurrent writes are recorded as they end. A reader that passes its newest
        revision misses none, and may get a write again."""
        return self._ask("GET", "/writes", {"resource": resource, "namespace": namespace, "name": name, "since": since})

    def revisions(self):
        """Returns the oldest and the newest revision at which objects can be listed."""
        return self._ask("GET", "/revisions")

    def refusals(self, resource=None, namespace=None, name=None, user=None):
        """Returns the requests that were refused, those of the first refusals first."""
        return self._ask("GET", "/refusals", {"resource": resource, "namespace": namespace, "name": name, "user": user})

    def why(self, resource, name, namespace=None):
        """Explains an object by the causes of its writes. resource is a plural name."""
        return self._ask("GET", "/why", {"resource": resource, "namespace": namespace, "name": name})

    def _send(self, method, path, query=None, body=None):
        """Returns a connection, which the caller closes, and the response."""
        target = "/minikcm/v1" + path
        query = {name: value for name, value in (query or {}).items() if value is not None}
        if query:
            target += "?" + urllib.parse.urlencode(query)
        headers = {"Accept": "application/json, */*;q=0.5"}
        if isinstance(body, str):
            headers["Content-Type"] = "application/yaml"
            body = body.encode()
        elif body is not None:
            headers["Content-Type"] = "application/json"
            body = json.dumps(body).encode()
        connection = http.client.HTTPSConnection(urllib.parse.urlsplit(self.url).netloc, context=self._tls)
        try:
            connection.request(method, target, body, headers)
            response = connection.getresponse()
            if response.status >= 300:
                raise _status_error(response)
            return connection, response
        except BaseException:
            connection.close()
            raise

    def _ask(self, method, path, query=None, body=None):
        connection, response = self._send(method, path, query, body)
        try:
            return json.load(response)
        finally:
            connection.close()


def _duration(duration):
    """Returns a number of seconds, a timedelta or a text as a duration of Go."""
    if hasattr(duration, "total_seconds"):
        duration = duration.total_seconds()
    return duration if isinstance(duration, str) else f"{duration:.9f}s"


def _fork_clock(id):
    return "/forks/" + urllib.parse.quote(id, safe="") + "/clock"


def _status_error(response):
    text = response.read().decode(errors="replace")
    try:
        status = json.loads(text)
        return StatusError(response.status, status.get("reason", ""), status["message"])
    except (ValueError, KeyError, AttributeError):
        return StatusError(response.status, "", f"{response.status} {response.reason}: {text.strip()}")
