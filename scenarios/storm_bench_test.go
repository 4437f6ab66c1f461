package scenarios

import (
	"strconv"
	"testing"
)

// The storm of pod-kill-storm, b.N evictions a second apart in virtual time: what one
// costs, whoever has to do with it. The cluster's start counts too.
func BenchmarkPodKillStorm(b *testing.B) {
	found, err := Find("pod-kill-storm", map[string]string{"KILLS": strconv.Itoa(b.N)})
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
