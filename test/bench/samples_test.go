//go:build unix

package bench

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

// samples holds all measurements of all runs of each benchmark.
type samples struct {
	mu     sync.Mutex
	names  []string
	values map[string][]float64
	unit   map[string]string
	// base maps a figure to the figure that it is shown as a ratio of.
	base map[string]string
}

var measured = samples{values: map[string][]float64{}, unit: map[string]string{}, base: map[string]string{}}

func (s *samples) add(name, unit string, value float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.values[name] == nil {
		s.names = append(s.names, name)
	}
	s.values[name] = append(s.values[name], value)
	s.unit[name] = unit
}

// compare shows a figure together with its ratio to another.
func (s *samples) compare(name, base string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.base[name] = base
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	if n := len(sorted); n%2 == 0 {
		return (sorted[n/2-1] + sorted[n/2]) / 2
	}
	return sorted[len(sorted)/2]
}

// print prints the medians, and the ratios that compare requested.
func (s *samples) print() {
	if len(s.names) == 0 {
		return
	}
	fmt.Println()
	for _, name := range s.names {
		values := s.values[name]
		fmt.Printf("%-58s median %10.1f %-12s (%d runs, %.1f to %.1f)\n",
			name, median(values), s.unit[name], len(values), slices.Min(values), slices.Max(values))
		if base := s.values[s.base[name]]; len(base) > 0 {
			fmt.Printf("%-58s %.2f\n", "  of "+s.base[name], median(values)/median(base))
		}
	}
	raw, writes := s.values[rawPuts], s.values[deploymentWrites]
	if len(raw) > 0 && len(writes) > 0 {
		fmt.Printf("%-58s %.2f\n", "writes a second of the Deployment / raw puts a second", median(writes)/median(raw))
	}
}

// binary returns the path of the command, which is built on the first call.
var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "minikcm-bench-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "minikcm")
	// The flags are the same as in "make build".
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", path, "minikcm.dev/minikcm/cmd/minikcm")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", errors.Join(fmt.Errorf("building minikcm: %w\n%s", err, out), os.RemoveAll(dir))
	}
	built = dir
	return path, nil
})

// built is the directory of the command, which is removed at the end.
var built string

func TestMain(m *testing.M) {
	code := m.Run()
	measured.print()
	if err := measured.printComparison(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	if err := os.RemoveAll(built); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}
