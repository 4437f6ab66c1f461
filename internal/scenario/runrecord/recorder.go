package runrecord

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
)

// Options of a Recorder. The zero value is good.
type Options struct {
	// Scenario is the scenario that is run.
	Scenario Scenario
	// Writes and Events are the numbers of writes and events to keep; 0 is a sane number.
	Writes, Events int
	// NoCurves leaves out how much the controllers worked when; the totals are kept.
	NoCurves bool
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
	seen     *observations
	stopped  bool
	timer    interface{ Stop() bool }
	// forget ends what was begun to learn of the cluster.
	forget []func()
}

// Start begins to record what happens on a cluster. The caller calls Stop before it
// closes the cluster.
func Start(cluster *minikcm.Cluster, opts Options) *Recorder {
	r := newRecorder(cluster.Clock(), opts)
	r.cluster = cluster
	r.forget = append(r.forget, cluster.Writes().ObserveObjects(func(w *minikcm.Write, old, obj runtime.Object) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if !r.stopped {
			r.seen.wrote(max(w.Time.Sub(r.start), 0), w, old, obj)
		}
	}))
	if !opts.NoCurves {
		r.sampleLater()
	}
	return r
}

// sampleLater looks at the controllers' figures after each of the curves' intervals,
// which are so few that it costs nothing.
func (r *Recorder) sampleLater() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped {
		return
	}
	r.timer = r.clock.AfterFunc(r.seen.curves.width, func() {
		r.sample()
		r.sampleLater()
	})
}

func (r *Recorder) sample() {
	all := r.cluster.Controllers()
	r.mu.Lock()
	defer r.mu.Unlock()
	at := r.now()
	for i := range all {
		if s := &all[i]; s.Reconciles > 0 {
			r.seen.sampled(max(at-1, 0), s.Name, activity{s.Reconciles, s.Failures})
		}
	}
}

// StartElsewhere begins to record what a scenario does to a cluster that is none of
// ours: its steps, faults and checks.
func StartElsewhere(c clock.Clock, opts Options) *Recorder { return newRecorder(c, opts) }

func newRecorder(c clock.Clock, opts Options) *Recorder {
	return &Recorder{
		clock: c, start: c.Now(), elapsed: clock.Stopwatch(), seen: newObservations(opts),
		run: Run{APIVersion: APIVersion, Kind: Kind, Scenario: opts.Scenario, Start: c.Now(), Began: clock.Real().Now().UTC()},
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

// NotReached notes the steps that a failure has kept from beginning.
func (r *Recorder) NotReached(titles ...string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.run.NotReached = append(r.run.NotReached, titles...)
}

// NotReproducible notes a step from which on another run with the same seed may differ.
func (r *Recorder) NotReproducible(step string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Contains(r.run.NotReproducible, step) && len(r.run.NotReproducible) < maxNames {
		r.run.NotReproducible = append(r.run.NotReproducible, step)
	}
}

// Stop ends the record and returns it, with the verdict and why. A span that has not
// ended never will.
func (r *Recorder) Stop(verdict Verdict, message string) *Run {
	if r == nil {
		return nil
	}
	for _, end := range r.forget {
		end()
	}
	var unexpected []Reasons
	var refused []minikcm.Refusal
	if r.cluster != nil {
		r.sample()
		refused = r.refusals()
		if verdict != Passed {
			unexpected = r.notAsExpected(r.cluster)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped {
		return &r.run
	}
	r.stopped, r.run.NotAsExpected, r.run.Refusals = true, unexpected, refused
	if r.timer != nil {
		r.timer.Stop()
	}
	r.run.Verdict, r.run.Message = verdict, message
	r.run.Cluster, r.run.Real = r.now(), r.elapsed()
	r.seen.into(&r.run, r.run.Cluster)
	r.run.explainFailures()
	return &r.run
}

// refusals returns the requests that were refused since the start.
func (r *Recorder) refusals() []minikcm.Refusal {
	return r.cluster.Writes().Refusals().All(func(refusal *minikcm.Refusal) bool { return !refusal.Last.Before(r.start) })
}

// now is the offset from the start. It never goes back, as a clock that a fault sets
// back does not.
func (r *Recorder) now() time.Duration { return max(r.clock.Since(r.start), 0) }
