package inflight

import utilclock "k8s.io/utils/clock"

// Retries configure how libraries wait before they retry, if not on the machine's clock.
type Retries struct {
	Clock utilclock.WithTickerAndDelayedExecution
	// Chances add jitter to the retries.
	Chances Chances
}

// Chances is a source of randomness. Fractions returns a source of numbers in [0, 1) that depend
// only on the key and the seed.
type Chances interface {
	Fractions(key string) (next func() float64)
}

// RetryOn makes libraries, whose counted work would wait on the machine's clock before a retry,
// wait on c. It must be called before all other methods. It is not called if the machine's
// clock is the cluster's clock.
func (l *Ledger) RetryOn(c utilclock.WithTickerAndDelayedExecution, chances Chances) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.retries = &Retries{Clock: c, Chances: chances}
}

// Retries returns the argument of RetryOn; nil: libraries use the machine's clock.
func (l *Ledger) Retries() *Retries {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.retries
}
