package soak

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/scenarios"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	hours = flag.Int("hours", 1, "how many simulated hours of random faults")
	seed  = flag.Uint64("seed", 1, "what follows what")
	seeds = flag.Uint64("seeds", 1, "how many seeds, from -seed on, one after another")
)

// After hours of simulated random faults, a week if requested, every invariant holds and
// nothing has leaked: neither objects, which the scenario counts after each hour, nor
// goroutines, memory and files, which are counted here.
func TestRandomFaults(t *testing.T) {
	text, err := os.ReadFile("testdata/week.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	all.Write(text)
	for hour := range *hours {
		fmt.Fprintf(&all, "    - include: {file: hour.yaml, vars: {HOUR: %q}}\n", fmt.Sprint(hour))
	}
	found, err := scenarios.Parse("testdata/week.yaml", []byte(all.String()), nil)
	if err != nil {
		t.Fatal(err)
	}
	for n := range *seeds {
		t.Run(fmt.Sprintf("seed %d", *seed+n), func(t *testing.T) { runSeed(t, found[0], *seed+n) })
	}
}

// runSeed runs the scenario once.
func runSeed(t *testing.T, scenario *scenarios.Scenario, seed uint64) {
	w := &watcher{t: t, elapsed: clock.Stopwatch()}
	before := filesOpen(t)
	result, err := scenarios.Run(t.Context(), scenario, scenarios.Options{Seed: seed, Progress: w})
	if err != nil {
		t.Fatal(err)
	}
	if len(w.samples) > 0 {
		t.Logf("seed %d: %d hours in %v\n%s", seed, len(w.samples), w.elapsed().Round(time.Second), chart(w.samples))
	}
	if result.Failure != nil {
		t.Fatalf("%s\n%v", result.Text(), result.Failure)
	}
	if len(w.samples) != *hours {
		t.Fatalf("%d hours were looked at", len(w.samples))
	}
	if after := filesOpen(t); after > before {
		t.Errorf("%d files are open, %d were before", after, before)
	}
	w.compare()
}

// sample is the use of resources after an hour.
type sample struct {
	goroutines, files int
	heap              uint64 // bytes in use
}

// watcher takes a sample after each hour.
type watcher struct {
	t       *testing.T
	elapsed func() time.Duration
	samples []sample
}

func (w *watcher) Begin(*scenarios.Scenario)     {}
func (w *watcher) StepBegins(string)             {}
func (w *watcher) BackgroundNote(string, string) {}
func (w *watcher) End(*scenarios.Result)         {}

// Stalled keeps the stack of every goroutine, which say what holds the work in flight.
func (w *watcher) Stalled(d time.Duration, inFlight string) {
	w.t.Logf("no progress for %v; in flight: %s", d, inFlight)
	file, err := os.CreateTemp("", "minikcm-soak-*.goroutines")
	if err != nil {
		w.t.Log(err)
		return
	}
	if err := errors.Join(pprof.Lookup("goroutine").WriteTo(file, 2), file.Close()); err != nil {
		w.t.Log(err)
	}
	w.t.Logf("the stacks of all goroutines are in %s", file.Name())
}

func (w *watcher) StepEnded(step scenarios.StepResult) {
	if !strings.HasPrefix(step.Title, "include") {
		return
	}
	if step.Failure != nil {
		w.t.Log(strings.Join(step.Notes, "\n"))
	}
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	s := sample{runtime.NumGoroutine(), filesOpen(w.t), memory.HeapAlloc}
	w.samples = append(w.samples, s)
	w.t.Logf("hour %d: %d goroutines, %d files, %d MiB, after %v", len(w.samples), s.goroutines, s.files, s.heap>>20, w.elapsed())
}

// day is the number of samples in a compared period. settled is the number of samples after
// which all bounded histories are full, so that nothing may grow any more.
const (
	day     = 24
	settled = 2 * day
)

// compare reports as errors what has grown between the third day and the last.
func (w *watcher) compare() {
	if len(w.samples) < settled+2*day {
		return
	}
	first, last := most(w.samples[settled:settled+day]), most(w.samples[len(w.samples)-day:])
	if last.goroutines > first.goroutines*11/10 {
		w.t.Errorf("%d goroutines on the third day, %d on the last", first.goroutines, last.goroutines)
	}
	if last.files > first.files+8 {
		w.t.Errorf("%d files on the third day, %d on the last", first.files, last.files)
	}
	if last.heap > first.heap*5/4 {
		w.t.Errorf("%d MiB on the third day, %d on the last", first.heap>>20, last.heap>>20)
	}
}

// most returns the maximum of each value.
func most(samples []sample) (m sample) {
	for _, s := range samples {
		m = sample{max(m.goroutines, s.goroutines), max(m.files, s.files), max(m.heap, s.heap)}
	}
	return m
}

// filesOpen returns the number of open files of the process, or 0 if it is unknown.
func filesOpen(t *testing.T) int {
	t.Helper()
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil && !os.IsNotExist(err) {
		t.Error(err)
	}
	return len(open)
}
