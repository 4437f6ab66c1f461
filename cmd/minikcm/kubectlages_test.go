package main

import (
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericclioptions"
	kubectl "k8s.io/kubectl/pkg/cmd"
)

// Only timestamps that kubectl prints as ages are shifted.
func TestMovedTimes(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"a deployment": {
			`{"kind":"Deployment","metadata":{"creationTimestamp":"2026-01-01T00:00:00Z"}}`,
			`{"kind":"Deployment","metadata":{"creationTimestamp":"2026-01-01T00:00:00Z"}}`,
		},
		"a deployment that is being deleted": {
			`{"kind":"Deployment","metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z"}}`,
			`{"kind":"Deployment","metadata":{"deletionTimestamp":"2026-01-01T01:00:00Z"}}`,
		},
		"pods": {
			`{"items":[{"metadata":{"creationTimestamp":"2026-01-01T00:00:00Z"},"status":{"startTime":"2026-01-01T00:00:00Z"}}],"kind":"PodList"}`,
			`{"items":[{"metadata":{"creationTimestamp":"2026-01-01T01:00:00Z"},"status":{"startTime":"2026-01-01T00:00:00Z"}}],"kind":"PodList"}`,
		},
		"events": {
			`{"items":[{"count":12345678901234567,"eventTime":"2026-01-01T00:00:00.500000Z","firstTimestamp":null,"series":{"lastObservedTime":"2026-01-01T00:00:01.000000Z"}}],"kind":"EventList"}`,
			`{"items":[{"count":12345678901234567,"eventTime":"2026-01-01T01:00:00.500000Z","firstTimestamp":null,"series":{"lastObservedTime":"2026-01-01T01:00:01.000000Z"}}],"kind":"EventList"}`,
		},
		"an event of a watch": {
			`{"object":{"kind":"Event","lastTimestamp":"2026-01-01T00:00:00Z"},"type":"ADDED"}`,
			`{"object":{"kind":"Event","lastTimestamp":"2026-01-01T01:00:00Z"},"type":"ADDED"}`,
		},
		"no object": {`[1, 2]`, `[1, 2]`},
		"odd types": {
			`{"items":["x",{"metadata":7}],"kind":"EventList"}`,
			`{"items":["x",{"metadata":7}],"kind":"EventList"}`,
		},
	} {
		if got := string(movedTimes([]byte(c.in), time.Hour)); got != c.want {
			t.Errorf("%s: %s\nwant %s", name, got, c.want)
		}
	}
}

func TestComputesAges(t *testing.T) {
	root := kubectl.NewDefaultKubectlCommandWithArgs(kubectl.KubectlOptions{Arguments: []string{"kubectl"}, ConfigFlags: genericclioptions.NewConfigFlags(true)})
	for args, want := range map[string]bool{
		"describe pod web": true, "-n x describe pod": true, "events -w": true, "events -o json": false, "get pods": false, "get pods -o yaml": false,
		"get events": false, "-n x get events -w": false, "get pod describe": false,
	} {
		if got := computesAges(root, strings.Fields(args)); got != want {
			t.Errorf("kubectl %s: %v", args, got)
		}
	}
}

func TestReadsObjects(t *testing.T) {
	for path, want := range map[string]bool{
		"/api": false, "/apis": false, "/api/v1": false, "/apis/apps/v1": false, "/apis/apps": false, "/openapi/v3/apis": false, "/version": false,
		"/api/v1/nodes": true, "/apis/apps/v1/deployments": true, "/api/v1/namespaces/default/events": true, "/prefix/api/v1/pods": true, "/prefix/api/v1": false,
	} {
		if got := readsObjects(path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}

// If the cluster's clock is far ahead of the machine's, kubectl prints ages on the cluster's
// clock.
func TestAgesOnAScaledClock(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	up, _ := launchUp(t, home, "--clock", "scaled=20") // events expire after an hour, which takes three minutes
	for _, args := range [][]string{
		{"create", "deployment", "web", "--image=nginx"},
		{"rollout", "status", "deployment/web"},
		{"describe", "deployment", "web"},
		{"describe", "node", "node-0"},
		{"events"},
		{"get", "events"},
		{"get", "pods"},
	} {
		p := launch(t, home, "run", append([]string{"kubectl"}, args...)...)
		code, out := p.end()
		if code != 0 || strings.Contains(out, "<invalid>") || strings.Contains(out, "<unknown>") || args[len(args)-1] == "events" && !strings.HasPrefix(out, "LAST SEEN") {
			t.Errorf("kubectl %s ends with %d and prints:\n%s%s", strings.Join(args, " "), code, out, p.stderr.String())
		}
	}
	watch := launch(t, home, "run", "kubectl", "events", "--watch")
	for _, line := range []string{watch.line(), watch.line(), watch.line()} {
		if strings.Contains(line, "<invalid>") {
			t.Errorf("kubectl events --watch prints %s", line)
		}
	}
	_ = watch.Process.Kill() // --watch does not end otherwise
	_, _ = watch.end()
	up.stop()
}
