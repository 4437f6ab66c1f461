package capacity

import (
	"fmt"
	"strings"
	"testing"

	"minikcm.dev/minikcm/internal/dump"
)

// BenchmarkWhatIf answers a question about a dump of 915 pods on 60 nodes, from the objects to the report.
func BenchmarkWhatIf(b *testing.B) {
	var text strings.Builder
	text.WriteString(nodesYAML(60))
	for i := range 35 {
		name := fmt.Sprintf("web-%d", i)
		text.WriteString(workloadYAML("Deployment", name, 18, "100m", ""))
		text.WriteString(budgetYAML(name, "maxUnavailable: 1"))
	}
	for i := range 15 {
		text.WriteString(workloadYAML("StatefulSet", fmt.Sprintf("db-%d", i), 3, "200m", ""))
	}
	for i := range 4 {
		text.WriteString(strings.Replace(workloadYAML("DaemonSet", fmt.Sprintf("agent-%d", i), 0, "10m", ""), "replicas: 0, ", "", 1))
	}
	objects, err := dump.Decode([]byte(text.String()), dump.MaxObjects)
	if err != nil {
		b.Fatal(err)
	}
	original, err := Open(b.Context(), Options{Objects: dump.New("the benchmark", objects)})
	if err != nil {
		b.Fatal(err)
	}
	taken, err := dump.FromCluster(b.Context(), original.cluster.Config())
	if err != nil {
		b.Fatal(err)
	}
	if err := original.Close(); err != nil {
		b.Fatal(err)
	}
	changes, err := ParseChanges([]string{"drain", "n7"}, "default")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		f, err := Open(b.Context(), Options{Objects: taken})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := f.WhatIf(b.Context(), changes); err != nil {
			b.Fatal(err)
		}
		if err := f.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
