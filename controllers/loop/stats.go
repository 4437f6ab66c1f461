package loop

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Stats is what a loop has done so far, for people to look at.
type Stats struct {
	// Name is the loop's.
	Name string
	// Queued is the number of keys that wait for a worker.
	Queued int
	// InProgress are the reconciles that run, the longest running first.
	InProgress []InProgress
	// Reconciles, Failures and Panics count reconciles that ended; a panic is
	// also a failure. Retries counts the failures that are tried again.
	Reconciles, Failures, Panics, Retries int64
	// Failing has the failures in a row of each key whose last reconcile failed.
	Failing map[types.NamespacedName]int
	// LastError is the last failure's text, LastErrorKey its key, and LastErrorTime
	// the cluster's time of it.
	LastError     string
	LastErrorKey  types.NamespacedName
	LastErrorTime time.Time
}

// InProgress is a reconcile that runs.
type InProgress struct {
	Key types.NamespacedName
	// Since is the cluster's time at which it began.
	Since time.Time
}

// Stats returns the current figures.
func (l *Loop) Stats() Stats {
	s := l.stats.snapshot()
	s.Name = l.opts.Name
	s.Queued = l.queue.Len()
	return s
}

type stats struct {
	mu      sync.Mutex
	s       Stats
	running map[types.NamespacedName]time.Time
}

func (t *stats) began(key types.NamespacedName, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running == nil {
		t.running = map[types.NamespacedName]time.Time{}
	}
	t.running[key] = now
}

func (t *stats) succeeded(key types.NamespacedName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.s.Reconciles++
	delete(t.s.Failing, key)
	delete(t.running, key)
}

func (t *stats) failed(key types.NamespacedName, failures int, err error, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.s.Reconciles++
	t.s.Failures++
	if t.s.Failing == nil {
		t.s.Failing = map[types.NamespacedName]int{}
	}
	t.s.Failing[key] = failures
	t.s.LastError, t.s.LastErrorKey, t.s.LastErrorTime = err.Error(), key, now
	delete(t.running, key)
}

// interrupted forgets a reconcile that the loop's end has ended.
func (t *stats) interrupted(key types.NamespacedName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.running, key)
}

func (t *stats) retried() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.s.Retries++
}

func (t *stats) panicked() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.s.Panics++
}

func (t *stats) snapshot() Stats {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.s
	s.Failing = maps.Clone(t.s.Failing)
	for key, since := range t.running {
		s.InProgress = append(s.InProgress, InProgress{key, since})
	}
	slices.SortFunc(s.InProgress, func(a, b InProgress) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Key.String(), b.Key.String()))
	})
	return s
}
