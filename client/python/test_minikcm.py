"""Tests of minikcm.py: python3 -m unittest test_minikcm, with MINIKCM or minikcm in PATH."""

import datetime
import os
import tempfile
import unittest

import minikcm


SCENARIO = """apiVersion: minikcm.dev/v1alpha1
kind: Scenario
metadata: {name: own}
spec:
  timeout: 1000h
  cluster: {nodes: 1}
  steps: [{sleep: 100h}]
"""


class TestCluster(unittest.TestCase):
    def test_cluster(self):
        with minikcm.Cluster(nodes=2, seed=7) as mk:
            self.assertEqual(mk.info()["seed"], 7)
            self.assertGreater(len(mk.controllers()), 30)
            self.check_clock(mk)
            self.check_faults(mk)
            self.check_scenarios(mk)
            self.check_record(mk)
            before = len(mk.writes(resource="nodes"))
            mk.reset()
            self.assertEqual(mk.resets(), 1)
            self.assertLess(len(mk.writes(resource="nodes")), before)
            directory = os.path.dirname(mk.kubeconfig)
        self.assertFalse(os.path.exists(directory))

    def check_clock(self, mk):
        paused = mk.pause()
        self.assertTrue(paused["paused"])
        self.assertEqual(mk.clock()["now"], paused["now"])
        later = mk.advance(datetime.timedelta(hours=1))
        self.assertGreater(later["now"], paused["now"])
        self.assertEqual(mk.step()["now"], later["nextTimer"])
        self.assertEqual(mk.set_speed(10)["factor"], 10)
        mk.settle()
        with self.assertRaises(minikcm.StatusError) as caught:
            mk.set_speed(-1)
        self.assertEqual((caught.exception.code, caught.exception.reason), (422, "Invalid"))

    def check_faults(self, mk):
        fault = mk.fail({"nodes": {"action": "crash", "names": ["node-1"]}, "for": "5m"}, seed=3)
        mk.advance("2m")
        self.assertEqual(mk.fault(fault["id"])["state"], "Active")
        self.assertEqual(len(mk.faults()), 1)
        self.assertEqual(mk.stop_fault(fault["id"])["state"], "Stopped")
        mk.fail("nodes: {action: slow, names: [node-0], delay: 1s}\nfor: 1s")

    def check_scenarios(self, mk):
        shipped = {s["name"]: s for s in mk.scenarios()}
        self.assertIn("needs 3 nodes", shipped["pod-kill"]["refused"])
        self.assertNotIn("refused", shipped["job-backoff"])
        self.assertIn("name: job-backoff", mk.scenario_source("job-backoff"))
        run = mk.run_scenario(document=SCENARIO, seed=5)
        self.assertEqual((run["scenario"], run["seed"], run["steps"][0]["title"]), ("own", 5, "sleep 100h0m0s"))
        self.assertEqual([r["id"] for r in mk.scenario_runs()], [run["id"]])
        self.assertEqual(mk.scenario_run(run["id"])["state"], "Running")
        self.assertEqual(mk.stop_scenario(run["id"])["state"], "Stopped")
        mk.resume()

    def check_record(self, mk):
        writes = mk.writes(resource="nodes", name="node-1")
        self.assertEqual(writes[0]["effect"], "created")
        later = mk.writes(resource="nodes", name="node-1", since=writes[0]["revision"])
        self.assertEqual(later[: len(writes) - 1], writes[1:])
        self.assertEqual(mk.why("nodes", "node-1")["object"]["name"], "node-1")
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "snapshot.db")
            mk.snapshot(file)
            self.assertGreater(os.path.getsize(file), 0)
            with self.assertRaises(FileExistsError):
                mk.snapshot(file)

    def test_real_clock(self):
        with minikcm.Cluster(clock="real") as mk, self.assertRaisesRegex(minikcm.StatusError, "the cluster's clock is real"):
            mk.pause()

    def test_cluster_that_does_not_start(self):
        with self.assertRaisesRegex(minikcm.MinikcmError, "--nodes must not be negative"):
            minikcm.Cluster(nodes=-1)
        with self.assertRaises(FileNotFoundError):
            minikcm.Cluster(binary="no-such-program")


if __name__ == "__main__":
    unittest.main()
