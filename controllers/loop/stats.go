package loop

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Stats is what a loop has done so far, for people to look at.
type Stats struct {
	// Queued is the number of keys that wait for a worker.
	Queued int
	// Reconciles, Failures and Panics count reconciles that ended; a panic is
	// also a failure.
	Reconciles, Failures, Panics int64
	// Failing has the failures in a row of each key whose last reconcile failed.
	Failing map[types.NamespacedName]int
	// LastError is the last failure's text, and LastErrorKey its key.
	LastError    string
	LastErrorKey types.NamespacedName
}

// Stats returns the current figures.
func (l *Loop) Stats() Stats {
	s := l.stats.snapshot()
	s.Queued = l.queue.Len()
	return s
}

type stats struct {
	mu sync.Mutex
	s  Stats
}

func (t *stats) succeeded(key types.NamespacedName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.s.Reconciles++
	delete(t.s.Failing, key)
}

func (t *stats) failed(key types.NamespacedName, failures int, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.s.Reconciles++
	t.s.Failures++
	if t.s.Failing == nil {
		t.s.Failing = map[types.NamespacedName]int{}
	}
	t.s.Failing[key] = failures
	t.s.LastError, t.s.LastErrorKey = err.Error(), key
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
	s.Failing = make(map[types.NamespacedName]int, len(t.s.Failing))
	for k, v := range t.s.Failing {
		s.Failing[k] = v
	}
	return s
}
