package spell

import (
	"slices"
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	t.Parallel()
	known := []string{"web-5fc9f4bf66-abcde", "web-5fc9f4bf66-fghij", "db-0", "db-1", "Node", "deployment", "nodes-of-a-pool", "nodes"}
	for written, want := range map[string][]string{
		"web":                  {"web-5fc9f4bf66-abcde", "web-5fc9f4bf66-fghij"},
		"web-5fc9f4bf66-abcdf": {"web-5fc9f4bf66-abcde", "web-5fc9f4bf66-fghij"},
		"db-2":                 {"db-0", "db-1"},
		"deplo":                {"deployment"},
		"de":                   nil,
		"dbb":                  nil,
		"noed":                 {"Node", "nodes"},
		"node":                 {"Node", "nodes"},
		"deplyoment":           {"deployment"},
		"gardener":             nil,
		"":                     nil,
	} {
		if got := NearestN(written, known, 2); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", written, got, want)
		}
		first := ""
		if len(want) > 0 {
			first = want[0]
		}
		if got := Nearest(written, known); got != first {
			t.Errorf("%q: the nearest is %q, want %q", written, got, first)
		}
	}
}

func BenchmarkNearest(b *testing.B) {
	known := make([]string, 20000)
	for i := range known {
		known[i] = strings.Repeat("x", i%60)
	}
	for b.Loop() {
		Nearest("some-pod-of-a-deployment-5fc9f4bf66-abcde", known)
	}
}
