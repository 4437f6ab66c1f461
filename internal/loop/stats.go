package loop

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Stats and InProgress are the types for loops of controllers.
type (
	Stats      = TypedStats[types.NamespacedName]
	InProgress = TypedInProgress[types.NamespacedName]
)

// TypedStats are the counters of a loop, for status and metrics.
type TypedStats[K comparable] struct {
	// Name is the loop's name.
	Name string
	// Queued is the number of keys that wait for a worker.
	Queued int
	// InProgress are the running reconciles, the longest running first.
	InProgress []TypedInProgress[K]
	// Reconciles, Failures and Panics count reconciles that have ended; a panic is also a
	// failure. Retries counts the failures that are retried.
	Reconciles, Failures, Panics, Retries int64
	// Failing is the number of consecutive failures of each key whose last reconcile failed.
	Failing map[K]int
	// LastError is the text of the last failure, LastErrorKey its key, and LastErrorTime its
	// time on the cluster's clock.
	LastError     string
	LastErrorKey  K
	LastErrorTime time.Time
}

// TypedInProgress is a running reconcile.
type TypedInProgress[K comparable] struct {
	Key K
	// Since is the time at which it began, on the cluster's clock.
	Since time.Time
}

func (l *typed[K]) Stats() TypedStats[K] {
	s := l.stats.snapshot()
	s.Name = l.opts.Name
	s.Queued = l.queue.Len()
	return s
}

type stats[K comparable] struct {
	mu      sync.Mutex
	s       TypedStats[K]
	running map[K]time.Time
}

func (t *stats[K]) began(key K, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running == nil {
		t.running = map[K]time.Time{}
	}
	t.running[key] = now
}

func (t *stats[K]) succeeded(key K) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.s.Reconciles++
	delete(t.s.Failing, key)
	delete(t.running, key)
}

func (t *stats[K]) failed(key K, failures int, err error, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.s.Reconciles++
	t.s.Failures++
	if t.s.Failing == nil {
		t.s.Failing = map[K]int{}
	}
	t.s.Failing[key] = failures
	t.s.LastError, t.s.LastErrorKey, t.s.LastErrorTime = err.Error(), key, now
	delete(t.running, key)
}

// interrupted removes a reconcile that was ended by the end of the loop.
func (t *stats[K]) interrupted(key K) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.running, key)
}

func (t *stats[K]) retried() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.s.Retries++
}

func (t *stats[K]) panicked() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.s.Panics++
}

func (t *stats[K]) snapshot() TypedStats[K] {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.s
	s.Failing = maps.Clone(t.s.Failing)
	for key, since := range t.running {
		s.InProgress = append(s.InProgress, TypedInProgress[K]{key, since})
	}
	slices.SortFunc(s.InProgress, func(a, b TypedInProgress[K]) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(fmt.Sprint(a.Key), fmt.Sprint(b.Key)))
	})
	return s
}
