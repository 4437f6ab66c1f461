package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/controllers"
	"minikcm.dev/minikcm/internal/golden"
	"minikcm.dev/minikcm/internal/scenario/faultapi"
)

func TestStatusText(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	until := now.Add(4 * time.Minute)
	quiet := &clusterStatus{
		Server: "https://127.0.0.1:6443", Info: minikcm.Info{Version: "v1.0.0", Kubernetes: "v1.37.2", Seed: 7, Clock: minikcm.ClockInfo{Mode: clock.ModeReal, Now: now}},
		Controllers: controllerCounts{States: map[controllers.State]int{"Running": 30}},
	}
	busy := &clusterStatus{
		Server: "https://127.0.0.1:6443", Info: minikcm.Info{Version: "v1.0.0", Kubernetes: "v1.37.2", Seed: 8, Clock: minikcm.ClockInfo{Mode: clock.ModeScaled, Factor: 60, Now: now}},
		Nodes:       nodeCounts{Total: 9, Ready: 2, NotReady: []string{"a", "b", "c", "d", "e", "f", "g"}, Cordoned: []string{"a"}},
		Pods:        map[string]int{"Pending": 3, "Running": 12, "Terminating": 1, "Unknown": 2},
		Controllers: controllerCounts{States: map[controllers.State]int{"Running": 29, "Stopped": 1}, Failing: []string{"deployment-controller"}},
		Faults: []faultapi.Injection{
			{ID: "f-1", Title: "crash nodes a for 5m0s", State: faultapi.Active, Since: now.Add(-time.Minute), Until: &until},
			{ID: "f-2", Title: "slow etcd by 1s", State: faultapi.Active, Since: now.Add(-time.Second)},
		},
	}
	var text strings.Builder
	for _, s := range []*clusterStatus{quiet, busy} {
		if err := s.print(&text); err != nil {
			t.Fatal(err)
		}
		text.WriteString("\n")
	}
	golden.Compare(t, "testdata/status.golden", text.String())
}

func TestCountPods(t *testing.T) {
	pod := func(phase corev1.PodPhase, deleted *metav1.Time) corev1.Pod {
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: deleted}, Status: corev1.PodStatus{Phase: phase}}
	}
	got := countPods([]corev1.Pod{pod("Running", nil), pod("Running", nil), pod("Running", &metav1.Time{}), pod("Pending", nil)})
	if text := inOrder(got, nil); text != "1 Pending, 2 Running, 1 Terminating" {
		t.Error(text)
	}
}

// The status is printed as text and as JSON, and is an error without a cluster.
func TestStatusOfACluster(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	none := launch(t, home, "run", "status")
	if code, _ := none.end(); code == 0 || !strings.Contains(none.stderr.String(), "minikcm up") {
		t.Errorf("without a cluster it ends with %d: %s", code, none.stderr.String())
	}
	up, _ := launchUp(t, home, "--nodes", "2", "--seed", "77")
	text := launch(t, home, "run", "status")
	if code, out := text.end(); code != 0 || !strings.Contains(out, "2 Ready") || !strings.Contains(out, "77") {
		t.Errorf("it ends with %d: %s%s", code, out, text.stderr.String())
	}
	p := launch(t, home, "run", "status", "-o", "json")
	code, out := p.end()
	var status clusterStatus
	if err := json.Unmarshal([]byte(out), &status); err != nil || code != 0 {
		t.Fatalf("it ends with %d: %v: %s%s", code, err, out, p.stderr.String())
	}
	if status.Seed != 77 || status.Nodes.Ready != 2 || status.Clock.Mode != clock.ModeReal || !strings.HasPrefix(status.Server, "https://127.0.0.1:") {
		t.Errorf("the status is %+v", status)
	}
	up.stop()
}
