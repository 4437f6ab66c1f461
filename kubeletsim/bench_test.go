package kubeletsim

import (
	"net/netip"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
)

// BenchmarkStart is what the decisions cost that take one pod from bound to ready.
func BenchmarkStart(b *testing.B) {
	pod := testPod("web", "node-0")
	var lat Latencies
	var backoff Backoff
	backoff.complete()
	b.ReportAllocs()
	for b.Loop() {
		out := step(input{
			pod: pod, state: adopt(pod, &lat, &backoff), now: epoch, address: netip.MustParseAddr("10.244.0.2"),
			present: func(string) bool { return true }, pullError: func(string) string { return "" },
			lat: &lat, backoff: &backoff,
		})
		status := podStatus(pod, &out.state, "172.18.0.2", epoch)
		if equality.Semantic.DeepEqual(&pod.Status, &status) {
			b.Fatal("nothing changed")
		}
	}
}

// BenchmarkNothingNew is what a pod costs that is looked at for nothing.
func BenchmarkNothingNew(b *testing.B) {
	w := newWorld(testPod("web", "node-0"))
	w.step()
	b.ReportAllocs()
	for b.Loop() {
		out := step(input{pod: w.pod, state: w.state, now: epoch.Add(time.Second), lat: &w.lat, backoff: &w.backoff})
		status := podStatus(w.pod, &out.state, "172.18.0.2", epoch)
		if !equality.Semantic.DeepEqual(&w.pod.Status, &status) {
			b.Fatal("something changed")
		}
	}
}
