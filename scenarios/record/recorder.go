package record

import (
	"sync"
	"time"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
)

// Options of a Recorder. The zero value is good.
type Options struct {
	// Scenario is what is run.
	Scenario Scenario
	// Writes and Events are how many of each are kept; 0 is a sane number.
	Writes, Events int
}

// Recorder collects what happens. Its methods may be called from several goroutines,
// and on a nil Recorder, which keeps nothing.
type Recorder struct {
	clock   clock.Clock
	start   time.Time
	elapsed func() time.Duration
	cluster *minikcm.Cluster

	mu       sync.Mutex
	run      Run
	realtime []func() time.Duration
	stop     []func()
}

// Start begins to record what happens on a cluster. The caller calls Stop before it
// closes the cluster.
func Start(cluster *minikcm.Cluster, opts Options) *Recorder {
	r := newRecorder(cluster.Clock(), opts)
	r.cluster = cluster
	return r
}

func newRecorder(c clock.Clock, opts Options) *Recorder {
	return &Recorder{
		clock: c, start: c.Now(), elapsed: clock.Stopwatch(),
		run: Run{APIVersion: APIVersion, Kind: Kind, Scenario: opts.Scenario, Start: c.Now()},
	}
}

// Fail keeps a check that did not hold. At is set here, and span may be nil.
func (r *Recorder) Fail(span *ActiveSpan, failure Failure) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	failure.At, failure.Span = r.now(), span.index()
	r.run.Failures = append(r.run.Failures, failure)
}

// Stop ends the record and returns it, with the verdict and why. A span that has not
// ended never will.
func (r *Recorder) Stop(verdict Verdict, message string) *Run {
	if r == nil {
		return nil
	}
	for _, stop := range r.stop {
		stop()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.run.Verdict, r.run.Message = verdict, message
	r.run.Cluster, r.run.Real = r.now(), r.elapsed()
	return &r.run
}

// now is the offset from the start. It never goes back, as a clock that a fault sets
// back does not.
func (r *Recorder) now() time.Duration { return max(r.clock.Since(r.start), 0) }
