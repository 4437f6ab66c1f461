package lifecycle

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"minikcm.dev/minikcm/kubeletsim/internal/podtest"
)

// BenchmarkStart measures the decisions that take one pod from bound to ready.
func BenchmarkStart(b *testing.B) {
	pod := podtest.Pod("web", "node-0")
	var lat Latencies
	var backoff Backoff
	backoff.SetDefaults()
	b.ReportAllocs()
	for b.Loop() {
		out := Step(Input{
			Pod: pod, State: Adopt(pod, nil, &lat, &backoff), Now: podtest.Epoch, TakeAddress: podtest.Address("10.244.0.2"),
			HasImage: func(string) bool { return true }, PullError: func(string) string { return "" },
			Latencies: &lat, Backoff: &backoff,
		})
		status := PodStatus(pod, &out.State, []string{"172.18.0.2"}, podtest.Epoch)
		if equality.Semantic.DeepEqual(&pod.Status, &status) {
			b.Fatal("nothing changed")
		}
	}
}

// BenchmarkNothingNew measures a step of a pod that changes nothing.
func BenchmarkNothingNew(b *testing.B) {
	w := newWorld(podtest.Pod("web", "node-0"))
	w.step()
	b.ReportAllocs()
	for b.Loop() {
		out := Step(Input{Pod: w.pod, State: w.state, Now: podtest.Epoch.Add(time.Second), Latencies: &w.lat, Backoff: &w.backoff})
		status := PodStatus(w.pod, &out.State, []string{"172.18.0.2"}, podtest.Epoch)
		if !equality.Semantic.DeepEqual(&w.pod.Status, &status) {
			b.Fatal("something changed")
		}
	}
}
