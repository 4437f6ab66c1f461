package featuregates

import (
	"flag"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/util/feature"
	_ "k8s.io/kubernetes/pkg/features"
)

var update = flag.Bool("update", false, "write the recording")

const recording = "../../../internal/featuregates/upstream.txt"

// TestRecording compares the recorded names with upstream's gates.
func TestRecording(t *testing.T) {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(feature.DefaultMutableFeatureGate.GetAll())) {
		names = append(names, string(name))
	}
	text := strings.Join(names, "\n") + "\n"
	if *update {
		if err := os.WriteFile(recording, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	recorded, err := os.ReadFile(recording)
	if err != nil {
		t.Fatal(err)
	}
	if string(recorded) != text {
		t.Errorf("%s differs from upstream: -update rewrites it", recording)
	}
}
