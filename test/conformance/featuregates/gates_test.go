package featuregates

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	_ "k8s.io/kubernetes/pkg/features"
)

// recording is the file of gates that test/conformance/releases has read from the sources of the
// releases.
const recording = "../../../internal/releases/gates.txt"

// TestRecording compares the recorded state of the newest release with upstream's gates.
func TestRecording(t *testing.T) {
	data, err := os.ReadFile(recording)
	if err != nil {
		t.Fatal(err)
	}
	recorded := map[string]string{}
	for line := range strings.Lines(string(data)) {
		words := strings.Fields(line)
		if _, state, _ := strings.Cut(words[len(words)-1], "="); state != "gone" {
			recorded[words[0]] = state
		}
	}
	gates := feature.DefaultMutableFeatureGate.GetAll()
	for _, name := range slices.Sorted(maps.Keys(gates)) {
		if name == "AllAlpha" || name == "AllBeta" {
			continue
		}
		if want := stateOf(gates[name]); recorded[string(name)] != want {
			t.Errorf("%s is recorded as %q, and is %q", name, recorded[string(name)], want)
		}
	}
}

func stateOf(spec featuregate.FeatureSpec) string {
	stage := strings.ToLower(string(spec.PreRelease))
	if spec.PreRelease == featuregate.GA {
		stage = "ga"
	}
	state := fmt.Sprintf("%s:%s", stage, map[bool]string{true: "on", false: "off"}[spec.Default])
	if spec.LockToDefault {
		state += "!"
	}
	return state
}
