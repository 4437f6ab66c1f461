package scenarios

import (
	"strconv"
	"testing"
)

// BenchmarkPodKillStorm makes the b.N attempts of pod-kill-storm, a second apart in virtual
// time: once with nearly all of them refused, and once with each replacing a pod. One op is
// the work of all parts of the cluster for one attempt. The cluster's start counts too.
func BenchmarkPodKillStorm(b *testing.B) {
	for _, start := range []string{"2m", "0s"} {
		b.Run("start="+start, func(b *testing.B) { benchmarkStorm(b, start) })
	}
}

func benchmarkStorm(b *testing.B, start string) {
	found, err := Find("pod-kill-storm", map[string]string{"KILLS": strconv.Itoa(b.N), "START": start})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	result, err := Run(b.Context(), found[0], Options{})
	if err != nil {
		b.Fatal(err)
	}
	if result.Failure != nil {
		b.Error(result.Text())
	}
	b.ReportMetric(float64(result.Run.Totals.Writes)/float64(b.N), "writes/op")
}
