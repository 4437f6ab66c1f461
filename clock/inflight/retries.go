package inflight

import utilclock "k8s.io/utils/clock"

// Retries say how a library waits before it tries again, where that is not left to
// the machine's clock.
type Retries struct {
	Clock utilclock.WithTickerAndDelayedExecution
	// Chances spread the retries.
	Chances Chances
}

// Chances are where chance comes from. Fractions returns a source of numbers in
// [0, 1) that follow from the key and the seed only.
type Chances interface {
	Fractions(key string) (next func() float64)
}

// RetryOn makes work that the ledger counts, and that a library would begin again
// after a while by the machine's clock, wait on c. It is called before anything else,
// and not at all where the machine's clock is the cluster's.
func (l *Ledger) RetryOn(c utilclock.WithTickerAndDelayedExecution, chances Chances) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.retries = &Retries{Clock: c, Chances: chances}
}

// Retries returns what RetryOn was given; nil: retries are made by the machine's clock.
func (l *Ledger) Retries() *Retries {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.retries
}
