package clock

// Retries are how other people's libraries wait before they try again, where that is
// not left to the machine's clock.
type Retries struct {
	Clock Clock
	// Random spreads them: Keyed by who it is that waits.
	Random *Random
}

// RetryOn lets work that the ledger counts, and that a library would begin again after
// a while by the machine's clock, wait on c. It is called before anything else, and not
// at all where the machine's clock is the cluster's.
func (l *Ledger) RetryOn(c Clock, random *Random) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.retries = &Retries{Clock: c, Random: random}
}

// Retries is what RetryOn was given; nil: retries are made by the machine's clock.
func (l *Ledger) Retries() *Retries {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.retries
}
