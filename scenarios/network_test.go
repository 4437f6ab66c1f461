package scenarios

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// talking is a scenario in which a pod sends requests to a Service while its Deployment is rolled out and the network is
// disturbed.
const talking = header + `
  cluster: {nodes: 3, serviceSync: SYNC, readyDelay: 300ms}
  steps:
    - apply:
        objects:
          - apiVersion: apps/v1
            kind: Deployment
            metadata: {name: web, namespace: default}
            spec: {replicas: 3, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: nginx, ports: [{containerPort: 80}]}]}}}
          - {apiVersion: v1, kind: Service, metadata: {name: web, namespace: default}, spec: {selector: {app: web}, ports: [{port: 80}]}}
    - wait: {target: deployment/web, for: rollout}
    - apply:
        objects:
          - apiVersion: v1
            kind: Pod
            metadata: {name: client, namespace: default}
            spec: {containers: [{name: c, image: busybox, command: [sh, -c, "while true; do wget -q -T 4 -O- web | grep address; date +%T.%N; sleep 0.05; done"]}]}
    - reachable: {from: client, to: web}
    - sleep: 5s
    - patch: {target: deployment/web, patch: {spec: {template: {metadata: {labels: {version: "2"}}}}}}
    - wait: {target: deployment/web, for: rollout}
    - sleep: 5s
    - fault: {network: {action: loss, from: [pod/client], to: [svc/web], percent: 30}, for: 20s}
    - fault: {network: {action: delay, from: [node/node-0], delay: 20ms, spread: 10ms}, for: 5s}
    - fault: {dns: {action: servfail, percent: 50}, for: 5s}
`

// trafficOf runs the scenario, and returns its writes and the client's log.
func trafficOf(t *testing.T, sync string) (writes []string, log string) {
	t.Helper()
	found, err := Parse("scenario.yaml", []byte(strings.Replace(talking, "SYNC", sync, 1)), nil)
	if err != nil {
		t.Fatal(err)
	}
	ran(t, found[0], Options{Seed: 7}, func(w *world) {
		writes = writesOf(w)
		data, err := w.client.CoreV1().Pods("default").GetLogs("client", &corev1.PodLogOptions{}).DoRaw(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		log = string(data)
	})
	return writes, log
}

// Traffic and faults of one seed are the same in each run, byte by byte.
func TestTrafficIsReproducible(t *testing.T) {
	t.Parallel()
	writes, log := trafficOf(t, "1s")
	again, logAgain := trafficOf(t, "1s")
	if diff := cmp.Diff(writes, again); diff != "" {
		t.Errorf("the writes of two runs differ:\n%s", diff)
	}
	if diff := cmp.Diff(strings.Split(log, "\n"), strings.Split(logAgain, "\n")); diff != "" {
		t.Errorf("the logs of two runs differ:\n%s", diff)
	}
	for _, text := range []string{"address: ", "bad address 'web'", "download timed out"} {
		if !strings.Contains(log, text) {
			t.Errorf("the log has no %q", text)
		}
	}
}

// During a rollout, pods that are gone get requests as long as nodes do not know it, and none if they know it at once.
func TestRolloutRace(t *testing.T) {
	t.Parallel()
	lost := func(sync string) bool {
		_, log := trafficOf(t, sync)
		return slices.ContainsFunc(strings.Split(log, "\n"), func(line string) bool {
			return strings.Contains(line, "No route to host") || strings.Contains(line, "Connection refused")
		})
	}
	if !lost("1s") {
		t.Error("no request is lost although nodes know changes late")
	}
	if lost("0s") {
		t.Error("a request is lost although nodes know changes at once")
	}
}
